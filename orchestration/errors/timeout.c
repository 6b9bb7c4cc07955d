/* SPDX-License-Identifier: MIT */
/*
 * A kernel that outlives the time-out: a watchdog reports it, and the process leaves.  The kernel gives up after half a
 * minute, so that a run without a watchdog ends too (and is then seen not to have failed).
 */
#include <pto/pto.h>

#include <time.h>

static int sleep_run(const struct pto_kernel_args *a) {
  struct timespec pause = {.tv_nsec = 10000000};
  for (int i = 0; i < 3000; i++) nanosleep(&pause, NULL);
  *(uint32_t *)a->tensors[0].addr = 1;
  return 0;
}
static const struct pto_kernel_param params[] = {
    {.name = "z", .mode = PTO_OUTPUT, .dtypes = PTO_DTYPE_BIT(PTO_UINT32)}};
static const struct pto_kernel sleeper = {
    .name = "sleeper", .cores = PTO_AIV, .params = params, .param_count = 1, .run = sleep_run};

static const struct pto_config config = {.size = sizeof config, .timeout_ms = 200};

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const uint64_t shape[] = {16};
  struct pto_tensor z = pto_managed_tensor(rt, pto_create_buffer(rt, 64), PTO_UINT32, 1, shape);
  return pto_submit_aiv(rt, &sleeper, (struct pto_param[]){pto_output(&z)}, 1);
}

const struct pto_program pto_program = {
    .abi = PTO_PROGRAM_ABI,
    .name = "errors/timeout",
    .summary = "PTO_ETIMEOUT: a kernel takes 30 s where 0.2 s are allowed",
    .config = &config,
    .expected_status = PTO_ETIMEOUT,
    .orchestrate = orchestrate,
};
