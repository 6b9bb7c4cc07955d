/* SPDX-License-Identifier: MIT */
/*
 * A kernel that outlives the time-out: a watchdog reports it, and the process leaves.  The kernel gives up after half a
 * minute, so that a run without a watchdog ends too (and is then seen not to have failed).
 */
#include <orchestration/support/program.h>

#include <time.h>

static int sleep_run(const struct pto_kernel_args *a) {
  struct timespec pause = {.tv_nsec = 10000000};
  for (int i = 0; i < 3000; i++) nanosleep(&pause, NULL);
  *(uint32_t *)a->tensors[0].addr = 1;
  return 0;
}
static const struct pto_kernel_param params[] = {{.name = "z", .mode = PTO_OUTPUT, .dtypes = U32}};
KERNEL(sleeper, params, .name = "sleeper", .cores = PTO_AIV, .run = sleep_run);

static const struct pto_config config = {.size = sizeof config, .timeout_ms = 200};

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  struct pto_tensor z = temporary_vector(rt, PTO_UINT32, 16);
  return pto_submit_aiv(rt, &sleeper, PARAMS(pto_output(&z)));
}

const struct pto_program pto_program = {
    .abi = PTO_PROGRAM_ABI,
    .name = "errors/timeout",
    .summary = "PTO_ETIMEOUT: a kernel takes 30 s where 0.2 s are allowed",
    .config = &config,
    .expected_status = PTO_ETIMEOUT,
    .orchestrate = orchestrate,
};
