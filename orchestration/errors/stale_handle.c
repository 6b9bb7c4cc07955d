/* SPDX-License-Identifier: MIT */
/*
 * The output of a task is used after the scope that it lived in: refused as PTO_ESTALE, never another buffer's data.
 */
#include <orchestration/support/mark.h>

static int read_run(const struct pto_kernel_args *a) { return 0; }
static const struct pto_kernel_param read_params[] = {{.name = "x", .mode = PTO_INPUT}};
KERNEL(reader, read_params, .name = "reader", .cores = PTO_AIV, .run = read_run);

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  int status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
  if (status != PTO_OK) return status;
  struct pto_tensor z = temporary_vector(rt, PTO_UINT32, 16);
  status = submit_mark_of(rt, &z);
  if (status == PTO_OK) status = pto_scope_end(rt);
  if (status != PTO_OK) return status;
  status = pto_submit_aiv(rt, &reader, PARAMS(pto_input(&z)));
  if (status != PTO_ESTALE)
    return pto_program_fail(run, "the use of an output after its scope was answered with %s", pto_status_name(status));
  return report_refusal(rt);
}

const struct pto_program pto_program = {
    .abi = PTO_PROGRAM_ABI,
    .name = "errors/stale_handle",
    .summary = "PTO_ESTALE, reported: an output is used after its scope",
    .expected_status = PTO_EUSER,
    .orchestrate = orchestrate,
};
