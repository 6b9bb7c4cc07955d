/* SPDX-License-Identifier: MIT */
/*
 * A program whose reader crashes, or never ends, where it comes before the writer that nothing orders it after: for
 * explore_crash_test.sh.  In sequence it is right.
 */
#include <pto/pto.h>

#define NUMEL 16u

static int fill_run(const struct pto_kernel_args *a) {
  int32_t *x = a->tensors[0].addr;
  for (uint32_t i = 0; i < NUMEL; i++) x[i] = 5;
  return 0;
}
static int follow_run(const struct pto_kernel_args *a) {
  const int32_t *x = a->tensors[0].addr;
  int32_t *y = a->tensors[1].addr;
  static const int32_t known[8];
  const int32_t *table = x[0] == 5 ? known : (const int32_t *)(uintptr_t)64;
  y[0] = table[5];
  return 0;
}
static int hang_run(const struct pto_kernel_args *a) {
  const int32_t *x = a->tensors[0].addr;
  int32_t *y = a->tensors[1].addr;
  while (__atomic_load_n(x, __ATOMIC_RELAXED) != 5) { /* for ever: nothing else runs meanwhile */
  }
  y[0] = 1;
  return 0;
}

#define I32(name_, mode_)                                                                                              \
  { .name = name_, .mode = mode_, .dtypes = PTO_DTYPE_BIT(PTO_INT32), .min_rank = 1, .max_rank = 1 }
static const struct pto_kernel_param fill_params[] = {I32("x", PTO_OUTPUT)};
static const struct pto_kernel_param follow_params[] = {I32("x", PTO_INPUT), I32("y", PTO_OUTPUT)};
static const struct pto_kernel fill = {
    .name = "fill", .cores = PTO_AIV, .params = fill_params, .param_count = 1, .run = fill_run};
static const struct pto_kernel follow = {
    .name = "follow", .cores = PTO_AIV, .params = follow_params, .param_count = 2, .run = follow_run};
static const struct pto_kernel hang = {
    .name = "hang", .cores = PTO_AIV, .params = follow_params, .param_count = 2, .run = hang_run};

static const uint64_t shape[] = {NUMEL};

static int prepare(struct pto_program_run *run) {
  pto_program_array(run, "y", PTO_ARRAY_OUTPUT, PTO_INT32, 1, shape);
  return PTO_OK;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct pto_tensor y = pto_array_tensor(rt, pto_program_find(run, "y"));
  struct pto_task filled;
  int status = pto_scope_begin(rt, PTO_SCOPE_MANUAL);
  const struct pto_tensor x =
      pto_managed_tensor(rt, pto_create_buffer(rt, NUMEL * sizeof(int32_t)), PTO_INT32, 1, shape);
  const struct pto_launch first = {.aiv0 = &fill};
  if (status == PTO_OK) status = pto_submit(rt, &first, (struct pto_param[]){pto_output(&x)}, 1, &filled);
  const struct pto_launch second = {.aiv0 = pto_option_bool(run, "hangs") ? &hang : &follow,
                                    .after = &filled,
                                    .after_count = pto_option_bool(run, "edge")};
  if (status == PTO_OK) status = pto_submit(rt, &second, (struct pto_param[]){pto_input(&x), pto_output(&y)}, 2, NULL);
  return status ? status : pto_scope_end(rt);
}

const struct pto_program pto_program = {
    .abi = PTO_PROGRAM_ABI,
    .name = "planted_order",
    .summary = "a reader that crashes or hangs where it comes first",
    .options = (const struct pto_option[]){{"edge", PTO_OPTION_BOOL, "false", "the edge that is missing"},
                                           {"hangs", PTO_OPTION_BOOL, "false", "hangs instead of crashing"},
                                           {0}},
    .prepare = prepare,
    .orchestrate = orchestrate,
};
