/* SPDX-License-Identifier: MIT */
/*
 * A signal in a kernel: it writes to an address where nothing is.  The report names the task, the kernel, the core and
 * the parameters.
 */
#include <pto/pto.h>

static int crash_run(const struct pto_kernel_args *a) {
  *(uint32_t *)(uintptr_t)a->scalars[0].u64 = 1;
  return 0;
}
static const struct pto_kernel_param params[] = {{.name = "z", .mode = PTO_OUTPUT},
                                                 {.name = "address", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64}};
static const struct pto_kernel crasher = {
    .name = "crasher", .cores = PTO_AIV, .params = params, .param_count = 2, .run = crash_run};

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const uint64_t shape[] = {16};
  struct pto_tensor z = pto_managed_tensor(rt, pto_create_buffer(rt, 64), PTO_UINT32, 1, shape);
  return pto_submit_aiv(rt, &crasher, (struct pto_param[]){pto_output(&z), pto_scalar_u64(64)}, 2);
}

const struct pto_program pto_program = {
    .abi = PTO_PROGRAM_ABI,
    .name = "errors/crash",
    .summary = "a signal in a kernel: a write to where nothing is",
    .expected_status = PTO_EKERNEL,
    .orchestrate = orchestrate,
};
