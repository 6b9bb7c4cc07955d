/* SPDX-License-Identifier: MIT */
/*
 * The output of a task is used after the scope that it lived in: refused as PTO_ESTALE, never another buffer's data.
 */
#include <orchestration/support/mark.h>

static int read_run(const struct pto_kernel_args *a) { return 0; }
static const struct pto_kernel_param read_params[] = {{.name = "x", .mode = PTO_INPUT}};
static const struct pto_kernel reader = {
    .name = "reader", .cores = PTO_AIV, .params = read_params, .param_count = 1, .run = read_run};

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const uint64_t shape[] = {16};
  int status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
  if (status != PTO_OK) return status;
  struct pto_tensor z = pto_managed_tensor(rt, pto_create_buffer(rt, 64), PTO_UINT32, 1, shape);
  status = submit_mark_of(rt, &z);
  if (status == PTO_OK) status = pto_scope_end(rt);
  if (status != PTO_OK) return status;
  status = pto_submit_aiv(rt, &reader, (struct pto_param[]){pto_input(&z)}, 1);
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
