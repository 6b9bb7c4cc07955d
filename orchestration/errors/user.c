/* SPDX-License-Identifier: MIT */
/*
 * An orchestration that finds out from the data that it cannot go on, and says so.
 */
#include <orchestration/support/program.h>

static int prepare(struct pto_program_run *run) { return DECLARE_ARRAYS(run, INPUT("length", PTO_INT32, 99, 100, 1)); }

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  struct pto_tensor length = tensor_of(rt, run, "length");
  const uint64_t index[] = {0};
  int32_t value = 0;
  int status = pto_read_element(rt, &length, index, &value);
  if (status == PTO_OK && value > 64) return pto_report_error(rt, "length is above 64: there is no block for it");
  return status;
}

const struct pto_program pto_program = {
    .abi = PTO_PROGRAM_ABI,
    .name = "errors/user",
    .summary = "PTO_EUSER: the orchestration reports an error of its own",
    .prepare = prepare,
    .expected_status = PTO_EUSER,
    .orchestrate = orchestrate,
};
