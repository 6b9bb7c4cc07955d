/* SPDX-License-Identifier: MIT */
/*
 * A kernel that fails: the run ends with its sentence, and the task that depends on it does not run.
 */
#include <orchestration/support/program.h>

static int check_positive_run(const struct pto_kernel_args *a) {
  const int32_t *x = a->tensors[0].addr;
  int32_t *z = a->tensors[1].addr;
  for (uint64_t i = 0; i < a->tensors[0].shape[0]; i++) {
    if (x[i] <= 0) return pto_kernel_error(a, "element %llu is %d, not positive", (unsigned long long)i, x[i]);
    z[i] = x[i];
  }
  return 0;
}
static const struct pto_kernel_param params[] = {TENSOR("x", PTO_INPUT, I32, 1), TENSOR("z", PTO_OUTPUT, I32, 1)};
KERNEL(check_positive, params, .name = "check_positive", .cores = PTO_AIV, .run = check_positive_run);

static int prepare(struct pto_program_run *run) {
  const int status =
      DECLARE_ARRAYS(run, INPUT("x", PTO_INT32, 1, 2, 16), SCRATCH("y", PTO_INT32, 16), OUTPUT("z", PTO_INT32, 16));
  if (status == PTO_OK) pto_array_set(pto_program_find(run, "x"), 11, -3);
  return status;
}

static int submit_check(struct pto_runtime *rt, const struct pto_tensor *x, const struct pto_tensor *z) {
  return pto_submit_aiv(rt, &check_positive, PARAMS(pto_input(x), pto_output(z)));
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  struct pto_tensor x = tensor_of(rt, run, "x"), y = tensor_of(rt, run, "y"), z = tensor_of(rt, run, "z");
  int status = submit_check(rt, &x, &y);
  return status == PTO_OK ? submit_check(rt, &y, &z) : status;
}

const struct pto_program pto_program = {
    .abi = PTO_PROGRAM_ABI,
    .name = "errors/kernel",
    .summary = "PTO_EKERNEL: a kernel reports an error",
    .prepare = prepare,
    .expected_status = PTO_EKERNEL,
    .orchestrate = orchestrate,
};
