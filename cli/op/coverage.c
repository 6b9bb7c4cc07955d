/* SPDX-License-Identifier: MIT */
/* What `ptosim op test` has judged, of a kernel or an operation. */
#include <cli/op/op.h>

#include <stdio.h>

#include <cli/main/verb.h>

void pto_op_cover(const struct pto_op_options *options, struct pto_coverage *coverage, struct pto_json_writer *w) {
  coverage->subject = "test NAME";
  pto_coverage_leave(coverage, PTO_COVERAGE_SHAPES, PTO_COVERAGE_UNCOUNTED, "op --shape SHAPES");
  pto_coverage_add(coverage, PTO_COVERAGE_SEEDS, 1);
  pto_coverage_leave(coverage, PTO_COVERAGE_SEEDS, PTO_COVERAGE_UNCOUNTED, "op --seed N");
  if (!pto_json_takes_stdout(options->common.json_path)) pto_coverage_print(coverage, stdout);
  fflush(stdout);
  if (w != NULL) pto_coverage_put_json(coverage, w);
}
