/* SPDX-License-Identifier: MIT */
/*
 * A signal in a kernel: it writes to an address where nothing is.  The report names the task, the kernel, the core and
 * the parameters.
 */
#include <orchestration/support/program.h>

static int crash_run(const struct pto_kernel_args *a) {
  *(uint32_t *)(uintptr_t)a->scalars[0].u64 = 1;
  return 0;
}
static const struct pto_kernel_param params[] = {{.name = "z", .mode = PTO_OUTPUT}, SCALAR("address", PTO_SCALAR_U64)};
KERNEL(crasher, params, .name = "crasher", .cores = PTO_AIV, .run = crash_run);

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  struct pto_tensor z = temporary_vector(rt, PTO_UINT32, 16);
  return pto_submit_aiv(rt, &crasher, PARAMS(pto_output(&z), pto_scalar_u64(64)));
}

const struct pto_program pto_program = {
    .abi = PTO_PROGRAM_ABI,
    .name = "errors/crash",
    .summary = "a signal in a kernel: a write to where nothing is",
    .expected_status = PTO_EKERNEL,
    .orchestrate = orchestrate,
};
