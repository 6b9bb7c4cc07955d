/* SPDX-License-Identifier: MIT */
/*
 * A kernel that fails: the run ends with its sentence, and the task that depends on it does not run.
 */
#include <pto/pto.h>

static int check_positive_run(const struct pto_kernel_args *a) {
  const int32_t *x = a->tensors[0].addr;
  int32_t *z = a->tensors[1].addr;
  for (uint64_t i = 0; i < a->tensors[0].shape[0]; i++) {
    if (x[i] <= 0) return pto_kernel_error(a, "element %llu is %d, not positive", (unsigned long long)i, x[i]);
    z[i] = x[i];
  }
  return 0;
}
static const struct pto_kernel_param params[] = {
    {.name = "x", .mode = PTO_INPUT, .dtypes = PTO_DTYPE_BIT(PTO_INT32), .min_rank = 1, .max_rank = 1},
    {.name = "z", .mode = PTO_OUTPUT, .dtypes = PTO_DTYPE_BIT(PTO_INT32), .min_rank = 1, .max_rank = 1}};
static const struct pto_kernel check_positive = {
    .name = "check_positive", .cores = PTO_AIV, .params = params, .param_count = 2, .run = check_positive_run};

static int prepare(struct pto_program_run *run) {
  const uint64_t shape[] = {16};
  struct pto_array *x = pto_program_array(run, "x", PTO_ARRAY_INPUT, PTO_INT32, 1, shape);
  pto_program_array(run, "y", PTO_ARRAY_SCRATCH, PTO_INT32, 1, shape);
  pto_program_array(run, "z", PTO_ARRAY_OUTPUT, PTO_INT32, 1, shape);
  if (x) pto_array_fill(x, 1);
  if (x) pto_array_set(x, 11, -3);
  return PTO_OK;
}

static int submit_check(struct pto_runtime *rt, const struct pto_tensor *x, const struct pto_tensor *z) {
  return pto_submit_aiv(rt, &check_positive, (struct pto_param[]){pto_input(x), pto_output(z)}, 2);
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  struct pto_tensor x = pto_array_tensor(rt, pto_program_find(run, "x"));
  struct pto_tensor y = pto_array_tensor(rt, pto_program_find(run, "y"));
  struct pto_tensor z = pto_array_tensor(rt, pto_program_find(run, "z"));
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
