/* SPDX-License-Identifier: MIT */
/*
 * Rows that local memory does not hold, in every layout, on every instruction set of this machine.
 *
 * Oracles: the references, in double; for the order of sums, the sentence of docs/numerics.md written out in scalar
 * f32.
 */
#include <kernels/levels/level.h>
#include <kernels/api/list.h>
#include <tests/support/kernel_call.h>
#include <kernels/rows/fold.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SEED UINT64_C(31337)
#define UB_BYTES (UINT64_C(192) << 10)
#define LONG 20011  /* more than PTO_ROW_ELEMS, of no round number of blocks, lanes or parts */
#define MIDDLE 6007 /* rows that fit, with operands that do not */
#define ROWS 11     /* enough side by side to be taken across */

static struct pto_rng rng;

/* x [ROWS, LONG], which the kernel joins, scans or normalises along its last dimension. */
struct long_case {
  const char *kernel;
  enum { REDUCED, SAME, SCALED } form;
  uint32_t operand_count;
  uint32_t passes; /* how often the row is read */
  union pto_scalar scalars[3];
};

static const struct long_case long_cases[] = {
    {"reduce_sum", REDUCED, 0, 1, {{0}}},
    {"reduce_mean", REDUCED, 0, 1, {{0}}},
    {"reduce_max", REDUCED, 0, 1, {{0}}},
    {"reduce_min", REDUCED, 0, 1, {{0}}},
    {"reduce_sum_square", REDUCED, 0, 1, {{0}}},
    {"reduce_l1", REDUCED, 0, 1, {{0}}},
    {"reduce_l2", REDUCED, 0, 1, {{0}}},
    {"reduce_log_sum", REDUCED, 0, 1, {{0}}},
    {"reduce_log_sum_exp", REDUCED, 0, 2, {{0}}},
    {"arg_max", REDUCED, 0, 2, {{.i64 = 1}}},
    {"arg_min", REDUCED, 0, 2, {{.i64 = -1}}},
    {"softmax", SAME, 0, 3, {{.i64 = -1}}},
    {"log_softmax", SAME, 0, 3, {{.i64 = 1}}},
    {"cumulative_sum", SAME, 0, 1, {{.i64 = 1}, {.i64 = 0}, {.i64 = 0}}},
    {"cumulative_sum", SAME, 0, 1, {{.i64 = 1}, {.i64 = 1}, {.i64 = 1}}},
    {"layernorm", SCALED, 2, 3, {{.f32 = 1e-5f}}},
    {"rmsnorm", SCALED, 1, 2, {{.f32 = 1e-5f}}},
};

static uint32_t index_of(const char *name) {
  uint32_t i = 0;
  while (i < pto_kernel_count() && strcmp(pto_kernel_at(i)->name, name) != 0) i++;
  assert_true(i < pto_kernel_count());
  return i;
}

static void case_of(const struct long_case *l, uint64_t length, uint32_t dtype, struct pto_trial_case *c) {
  const struct pto_kernel *kernel = pto_kernel_find(l->kernel);
  const uint32_t last = l->operand_count + 1;
  memset(c, 0, sizeof *c);
  memcpy(c->scalars, l->scalars, sizeof l->scalars);
  c->seed = pto_rng_next(&rng);
  for (uint32_t i = 0; i <= last; i++) {
    c->shapes[i] = (struct pto_reference_shape){2, {ROWS, i == last && l->form == REDUCED ? 1 : length}};
    if (i > 0 && i < last) c->shapes[i] = (struct pto_reference_shape){1, {length}};
    c->dtypes[i] = kernel->params[i].dtypes & PTO_DTYPE_BIT(dtype) ? dtype : PTO_INT64;
  }
}

/* The right results; no byte elsewhere; local memory that a core has; as many readings as the cost says. */
static void run_long(const struct long_case *l, uint64_t length, uint32_t dtype, uint32_t layout) {
  static struct pto_trial trial;
  struct pto_trial_case c;
  struct pto_trial_error error;
  char text[256];
  case_of(l, length, dtype, &c);
  c.layout = layout;
  pto_trial_init(&trial, index_of(l->kernel));
  pto_trial_describe(&trial, &c, text, sizeof text);
  if (pto_trial_check(&trial, &c) != PTO_OK) fail_msg("%s: %s", text, trial.message);
  assert_int_equal(pto_trial_make(&trial, &c), PTO_OK);
  assert_int_equal(pto_trial_expect(&trial), PTO_OK);
  const struct pto_cost cost = trial.kernel->cost(&trial.args);
  if (length == LONG && layout != PTO_LAYOUT_BROADCAST &&
      cost.bytes_in < l->passes * ROWS * LONG * pto_dtype_size(dtype))
    fail_msg("%s: cost says %" PRIu64 " bytes in", text, cost.bytes_in);
  assert_true(cost.local_bytes <= UB_BYTES);
  assert_int_equal(pto_trial_run(&trial), PTO_OK);
  assert_int_equal(pto_trial_stray(&trial), -1);
  pto_trial_judge(&trial, l->operand_count + 1, &error);
  if (error.wrong_count > 0)
    fail_msg("%s: element %" PRIu64 ": got %.9g, reference %.17g", text, error.index, error.got, error.value);
  pto_trial_fini(&trial);
}

static void test_rows_that_local_memory_does_not_hold_are_worked_through_in_parts(void **state) {
  (void)state;
  static const uint32_t dtypes[] = {PTO_FLOAT32, PTO_FLOAT16, PTO_BFLOAT16};
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(long_cases); i++)
    for (uint32_t layout = 0; layout < PTO_LAYOUT_COUNT; layout++)
      run_long(&long_cases[i], LONG, dtypes[(i + layout) % 3], layout);
}

static void test_operands_that_local_memory_does_not_hold_come_in_parts(void **state) {
  (void)state;
  static const uint32_t dtypes[] = {PTO_FLOAT32, PTO_FLOAT16, PTO_BFLOAT16};
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(long_cases); i++)
    for (uint32_t layout = 0; long_cases[i].form == SCALED && layout < PTO_LAYOUT_COUNT; layout++)
      for (uint32_t d = 0; d < 3; d++) run_long(&long_cases[i], MIDDLE, dtypes[d], layout);
}

static void test_long_rows_of_integers_are_worked_through_in_parts(void **state) {
  (void)state;
  static const uint32_t dtypes[] = {PTO_INT8, PTO_UINT64, PTO_INT64, PTO_UINT16};
  static const uint32_t cases[] = {0, 2, 3, 4, 5, 9, 10, 13, 14};
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++)
    for (uint32_t layout = 0; layout < PTO_LAYOUT_COUNT; layout++)
      run_long(&long_cases[cases[i]], LONG, dtypes[(i + layout) % 4], layout);
}

/* ---- the order ---- */

/* What docs/numerics.md says, one f32 addition at a time. */
static float ordered_sum(const float *x, uint64_t n) {
  float sums[64];
  uint32_t count = 0;
  uint64_t sizes[64];
  for (uint64_t first = 0; first < n; first += 1024) {
    float lanes[16] = {0};
    for (uint64_t i = first; i < n && i < first + 1024; i++) lanes[i % 16] += x[i];
    for (uint32_t half = 8; half > 0; half /= 2)
      for (uint32_t i = 0; i < half; i++) lanes[i] += lanes[i + half];
    sums[count] = lanes[0];
    sizes[count++] = 1;
    while (count > 1 && sizes[count - 1] == sizes[count - 2]) {
      sums[count - 2] += sums[count - 1];
      sizes[count - 2] *= 2;
      count--;
    }
  }
  while (count > 1) {
    sums[count - 2] += sums[count - 1];
    count--;
  }
  return count == 0 ? 0 : sums[0];
}

static void sum_of_matrix(const float *x, uint64_t rows, uint64_t n, bool is_transposed, float *results) {
  const uint64_t shape[] = {rows, n}, along[] = {n, 1}, across[] = {1, rows}, sums[] = {rows, 1}, steps[] = {1, 1};
  static struct pto_test_call call;
  const struct pto_kernel *kernel = pto_kernel_find("reduce_sum");
  pto_test_call_init(&call, kernel);
  call.tensors[0] =
      (struct pto_kernel_tensor){(void *)(uintptr_t)x, shape, is_transposed ? across : along, 2, PTO_FLOAT32};
  call.tensors[1] = (struct pto_kernel_tensor){results, sums, steps, 2, PTO_FLOAT32};
  assert_int_equal(kernel->check(&call.args), 0);
  assert_int_equal(pto_test_call_run(kernel, &call.args), 0);
}

static void test_sums_go_in_the_order_that_is_documented_on_every_instruction_set(void **state) {
  (void)state;
  enum { N = 7000, WIDE = 37 };
  static const uint64_t lengths[] = {0, 1, 15, 16, 17, 1023, 1024, 1025, 2048, 3073, 5000, N};
  static float x[WIDE * N], y[WIDE * N], expected[WIDE], got[WIDE];
  for (uint32_t l = 0; l < PTO_ARRAY_LENGTH(lengths); l++) {
    const uint64_t n = lengths[l];
    for (uint64_t row = 0; row < WIDE; row++) {
      for (uint64_t i = 0; i < n; i++) y[i * WIDE + row] = x[row * n + i] = (float)(pto_rng_unit(&rng) - 0.3);
      expected[row] = ordered_sum(x + row * n, n);
    }
    for (uint32_t level = 0; level < PTO_LEVEL_COUNT; level++)
      for (uint32_t is_transposed = 0; is_transposed < 2; is_transposed++) {
        if (!pto_level_is_supported(level)) continue;
        pto_level_limit(level);
        sum_of_matrix(is_transposed ? y : x, WIDE, n, is_transposed, got);
        pto_level_limit(PTO_LEVEL_COUNT - 1);
        assert_memory_equal(got, expected, sizeof got);
      }
  }
}

/* A million equal terms: one chain of additions would be off by percents, and the bound is a hundred units. */
static void test_a_sum_of_a_million_terms_is_within_its_bound(void **state) {
  (void)state;
  enum { N = 1000003 };
  float *x = malloc(N * sizeof *x), sum, chain = 0;
  double exact = 0;
  assert_non_null(x);
  for (uint64_t i = 0; i < N; i++) {
    x[i] = (float)(0.1 + pto_rng_unit(&rng) * 1e-3);
    exact += (double)x[i];
    chain += x[i];
  }
  sum_of_matrix(x, 1, N, false, &sum);
  const double bound = (64 + 4 + 10) * 0x1p-24 * exact;
  print_message("a sum of %d terms is off by %g of itself, bound %g; one chain by %g\n", N,
                fabs((double)sum - exact) / exact, bound / exact, fabs((double)chain - exact) / exact);
  assert_true(fabs((double)sum - exact) <= bound);
  assert_true(fabs((double)chain - exact) > bound);
  free(x);
}

int main(void) {
  rng.state = SEED;
  print_message("seed %" PRIu64 "\n", SEED);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows_that_local_memory_does_not_hold_are_worked_through_in_parts),
      cmocka_unit_test(test_operands_that_local_memory_does_not_hold_come_in_parts),
      cmocka_unit_test(test_long_rows_of_integers_are_worked_through_in_parts),
      cmocka_unit_test(test_sums_go_in_the_order_that_is_documented_on_every_instruction_set),
      cmocka_unit_test(test_a_sum_of_a_million_terms_is_within_its_bound),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
