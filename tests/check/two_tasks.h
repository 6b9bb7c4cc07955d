/* SPDX-License-Identifier: MIT */
/*
 * A program made at run time, for tests: two tasks with a buffer between them, which nothing orders unless `ordered`
 * does, in a manual scope; and one of a single task.  For the one source of a test program that includes this.
 */
#ifndef PTO_TESTS_CHECK_TWO_TASKS_H
#define PTO_TESTS_CHECK_TWO_TASKS_H

#include <pto/pto.h>

#define NUMEL 16u

static int twice_run(const struct pto_kernel_args *a) {
  const float *x = a->tensors[0].addr;
  float *z = a->tensors[1].addr;
  for (uint32_t i = 0; i < NUMEL; i++) z[i] = 2 * x[i];
  return 0;
}
static int twice_beyond_run(const struct pto_kernel_args *a) {
  ((float *)a->tensors[1].addr)[NUMEL] = 1;
  return twice_run(a);
}
#define F32(parameter, way)                                                                                            \
  { .name = parameter, .mode = way, .dtypes = PTO_DTYPE_BIT(PTO_FLOAT32) }
static const struct pto_kernel_param of_twice[] = {F32("x", PTO_INPUT), F32("z", PTO_INOUT)};
#define TWICE(function)                                                                                                \
  { .name = "twice", .cores = PTO_AIV, .params = of_twice, .param_count = 2, .run = function }
static const struct pto_kernel twice[] = {TWICE(twice_run), TWICE(twice_beyond_run)};

static int prepare(struct pto_program_run *run) {
  static const uint64_t shape[] = {NUMEL};
  pto_array_fill_uniform(run, pto_program_array(run, "x", PTO_ARRAY_INPUT, PTO_FLOAT32, 1, shape), -1, 1);
  (void)pto_program_array(run, "y", PTO_ARRAY_SCRATCH, PTO_FLOAT32, 1, shape);
  (void)pto_program_array(run, "z", PTO_ARRAY_OUTPUT, PTO_FLOAT32, 1, shape);
  return PTO_OK;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct pto_launch first = {.aiv0 = &twice[pto_option_bool(run, "beyond")]};
  struct pto_launch second = first;
  struct pto_tensor x = pto_array_tensor(rt, pto_program_find(run, "x"));
  struct pto_tensor y = pto_array_tensor(rt, pto_program_find(run, "y"));
  struct pto_tensor z = pto_array_tensor(rt, pto_program_find(run, "z"));
  const struct pto_param params[2][2] = {{pto_input(&x), pto_inout(&y)}, {pto_input(&y), pto_inout(&z)}};
  struct pto_task task;
  int status = pto_scope_begin(rt, PTO_SCOPE_MANUAL);
  if (status == PTO_OK) status = pto_submit(rt, &first, params[0], 2, &task);
  second.after = &task;
  second.after_count = pto_option_bool(run, "ordered");
  if (status == PTO_OK) status = pto_submit(rt, &second, params[1], 2, NULL);
  const int ended = pto_scope_end(rt);
  return status ? status : ended;
}

/* One task, of a kernel of the library: its constant is found again. */
static int orchestrate_copy(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct pto_launch launch = {.aiv0 = pto_kernel_find("copy")};
  struct pto_tensor x = pto_array_tensor(rt, pto_program_find(run, "x"));
  struct pto_tensor z = pto_array_tensor(rt, pto_program_find(run, "z"));
  const struct pto_param params[2] = {pto_input(&x), pto_output(&z)};
  return pto_submit(rt, &launch, params, 2, NULL);
}

static int expect(struct pto_program_run *run) {
  const struct pto_array *x = pto_program_find(run, "x");
  double *golden = pto_array_golden(run, pto_program_find(run, "z"));
  for (uint32_t i = 0; golden && i < NUMEL; i++) golden[i] = 4 * pto_array_get(x, i);
  return PTO_OK;
}

static const struct pto_option options_of_it[] = {
    {"ordered", PTO_OPTION_BOOL, "true", "the second task comes after the first"},
    {"beyond", PTO_OPTION_BOOL, "false", "kernels write one element too many"},
    {0}};
#define PROGRAM(function, golden)                                                                                      \
  {                                                                                                                    \
    .abi = PTO_PROGRAM_ABI, .name = "made", .summary = "two tasks", .options = options_of_it, .prepare = prepare,      \
    .orchestrate = function, .expect = golden                                                                          \
  }
static const struct pto_program made = PROGRAM(orchestrate, expect), copying = PROGRAM(orchestrate_copy, NULL);

#endif
