/* SPDX-License-Identifier: MIT */
/*
 * Elementwise operations lowered on what numbers have at their ends: NaN, infinities, zeros of both signs, subnormals,
 * the largest of each dtype; against the reference.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/base/base.h>
#include <tests/support/lowered_graph.h>

/* ---- values ---- */

static const double float_values[] = {
    0,        -0.0,     1,         -1,   0.5,   -0.5,    1.5,      -1.5,     2.5,      -2.5,     3,
    -3,       6,        -6,        88.5, -88.5, 128,     -128,     255.5,    256,      65504,    -65504,
    0x1p31,   -0x1p31,  NAN,       1e30, -1e30, 0x1p63,  0x1p64,   -0x1p63,  1e-30,    -1e-7,    6e-8,
    0x1p-126, 0x1p-149, -0x1p-149, 0.1,  10,    3.14159, 16777216, 16777217, INFINITY, -INFINITY};
static const int64_t whole_values[] = {0,         1,         -1,         2,         -2,        3,       7,
                                       -8,        31,        32,         63,        64,        127,     128,
                                       -128,      -129,      255,        256,       32767,     65535,   65536,
                                       INT32_MAX, INT32_MIN, UINT32_MAX, INT64_MAX, INT64_MIN, 1000003, -77777777};
#define MOST_VALUES 64

static bool is_float(uint32_t dtype) { return (PTO_DTYPE_BIT(dtype) & PTO_DTYPES_FLOAT) != 0; }

/* As [n, 1, …] or […, n]: the values of the dtype, as it has them. */
static uint32_t fill_values(struct pto_reference_tensor *t, uint32_t dtype, uint32_t ndims, uint32_t dim) {
  const uint32_t count = (uint32_t)(is_float(dtype) ? PTO_ARRAY_LENGTH(float_values) : PTO_ARRAY_LENGTH(whole_values));
  struct pto_graph_desc desc = {.dtype = dtype, .ndims = ndims};
  for (uint32_t d = 0; d < ndims; d++) desc.shape[d] = d == dim ? count : 1;
  assert_true(pto_reference_tensor_init(t, &desc));
  for (uint32_t i = 0; i < count; i++) {
    if (t->values)
      t->values[i] = float_values[i];
    else
      t->whole[i] = whole_values[i];
  }
  pto_reference_tensor_round(t);
  return count;
}

/* ---- one call ---- */

/* Functions of two kinds: what is exact or rounded once, and the rest, some units in the last place off; near the ends
 * of a range what one of them overflows the other may not. */
static const struct lowered_graph_tolerance tolerance = {.f32 = 0x1p-20, .f16 = 0x1p-10};

static struct pto_context *context;

static void run_call(uint32_t op, const void *options, uint32_t dtype, uint32_t operand_count, const char *what) {
  struct pto_graph_builder *b;
  struct pto_graph *graph;
  struct pto_graph_operand operands[3] = {{0}}, result;
  void *inputs[3] = {0}, *wanted, *got;
  uint32_t made = 0;
  struct pto_error error = {0};
  char text[128];
  assert_int_equal(pto_graph_builder_create(NULL, &b), PTO_OK);
  for (uint32_t i = 0; i < operand_count; i++) {
    struct pto_reference_tensor t;
    const char *const names[] = {"a", "b", "c"};
    const uint64_t size = fill_values(&t, dtype, operand_count, i) * (uint64_t)pto_dtype_size(dtype);
    inputs[i] = calloc(1, size);
    pto_reference_tensor_store(&t, inputs[i]);
    operands[i] = pto_graph_builder_input(b, names[i], &t.desc);
    pto_reference_tensor_fini(&t);
  }
  const struct pto_graph_call call = {
      .op = op, .operands = operands, .operand_count = operand_count, .options = options};
  if (pto_graph_builder_call(b, &call, &result, 1, &made)) fail_msg("%s: %s", what, pto_graph_builder_error(b));
  const struct pto_graph_desc desc = pto_graph_builder_desc(b, result);
  const struct pto_graph_output output = {"y", result};
  if (pto_graph_builder_build(b, &output, 1, &graph)) fail_msg("%s", pto_graph_builder_error(b));
  pto_graph_builder_destroy(b);
  const uint64_t size = pto_graph_desc_numel(&desc) * pto_dtype_size(desc.dtype);
  wanted = calloc(1, size);
  got = calloc(1, size);
  if (pto_graph_reference_run(graph, (const void *const *)inputs, &wanted, NULL, NULL, &error))
    fail_msg("%s", error.sentence);
  if (lowered_graph_run(graph, context, inputs, &got)) fail_msg("%s: %s", what, pto_context_error(context));
  snprintf(text, sizeof text, "%s of %s", what, pto_dtype_name(dtype));
  lowered_graph_expect(&desc, got, wanted, false, &tolerance, text);
  pto_graph_destroy(graph);
  for (uint32_t i = 0; i < operand_count; i++) free(inputs[i]);
  free(wanted);
  free(got);
}

static void each_of(uint32_t dtypes, uint32_t op, const void *options, uint32_t operand_count) {
  const struct pto_op_info *info = pto_op_info(op);
  for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++)
    if (info->parameters[0].dtypes & dtypes & PTO_DTYPE_BIT(dtype))
      run_call(op, options, dtype, operand_count, info->name);
}
static void each_dtype(uint32_t op, const void *options, uint32_t operand_count) {
  each_of(PTO_DTYPES_ALL, op, options, operand_count);
}

/* ---- tests ---- */

static int open_context(void **state) {
  context = lowered_graph_open(&(struct pto_config){.engine = "threads", .chip = "tiny", .workers = 2});
  return 0;
}
static int close_context(void **state) {
  pto_context_destroy(context);
  return 0;
}

static void test_functions_of_one_number_are_the_reference_at_the_ends_of_their_ranges(void **state) {
#define X(id, ...) each_dtype(PTO_GRAPH_OP_##id, NULL, 1);
  PTO_UNARY_OP_LIST(X)
#undef X
  each_dtype(PTO_GRAPH_OP_elu, NULL, 1);
  each_dtype(PTO_GRAPH_OP_leaky_relu, NULL, 1);
  each_dtype(PTO_GRAPH_OP_hard_sigmoid, NULL, 1);
  each_dtype(PTO_GRAPH_OP_linear, NULL, 1);
}

static void test_functions_of_two_numbers_are_the_reference_at_the_ends_of_their_ranges(void **state) {
#define X(id, ...) each_dtype(PTO_GRAPH_OP_##id, NULL, 2);
  PTO_BINARY_OP_LIST(X)
#undef X
  each_dtype(PTO_GRAPH_OP_prelu, NULL, 2);
}

static void test_any_number_is_cast_to_any_dtype_as_in_the_reference(void **state) {
  const uint32_t dtypes = pto_op_info(PTO_GRAPH_OP_cast)->parameters[0].dtypes;
  for (uint32_t to = 0; to < PTO_DTYPE_COUNT; to++) {
    const struct pto_cast_options options = {.data_type = to};
    if (dtypes & PTO_DTYPE_BIT(to)) each_dtype(PTO_GRAPH_OP_cast, &options, 1);
  }
}

static void test_clamp_has_bounds_of_any_kind(void **state) {
  const struct pto_number bounds[] = {{0},
                                      pto_number_i64(-5),
                                      pto_number_f64(-0.5),
                                      pto_number_i64(100),
                                      pto_number_f64(200.75),
                                      pto_number_f64(1e10),
                                      pto_number_u64(UINT64_MAX - 5)};
  const double as_double[] = {0, -5, -0.5, 100, 200.75, 1e10, 0x1p64};
  for (size_t low = 0; low < PTO_ARRAY_LENGTH(bounds); low++)
    for (size_t high = 0; high < PTO_ARRAY_LENGTH(bounds); high++) {
      const struct pto_clamp_options options = {.min_value = bounds[low], .max_value = bounds[high]};
      if (low == 0 || high == 0 || as_double[low] <= as_double[high]) each_dtype(PTO_GRAPH_OP_clamp, &options, 1);
    }
}

static void test_reductions_see_the_ends_of_their_ranges(void **state) {
  const uint32_t one = 0;
  const struct pto_reduce_options none = {.axes = {&one, 0}};
#define X(id, ...) each_dtype(PTO_GRAPH_OP_##id, NULL, 1);
  PTO_REDUCE_OP_LIST(X)
#undef X
/* Squares of f32 are added in f32, where those of numbers beyond 2^64 are infinite. */
#define X(id, ...)                                                                                                     \
  each_of(PTO_GRAPH_OP_##id == PTO_GRAPH_OP_reduce_l2 ? ~PTO_DTYPE_BIT(PTO_FLOAT32) : ~0u, PTO_GRAPH_OP_##id, &none, 1);
  PTO_REDUCE_OP_LIST(X)
#undef X
  const struct pto_arg_reduce_options arg = {.axis = 0};
  each_dtype(PTO_GRAPH_OP_arg_max, &arg, 1);
  each_dtype(PTO_GRAPH_OP_arg_min, &arg, 1);
  const struct pto_cumulative_sum_options sum = {.axis = 0};
  each_dtype(PTO_GRAPH_OP_cumulative_sum, &sum, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_functions_of_one_number_are_the_reference_at_the_ends_of_their_ranges),
      cmocka_unit_test(test_functions_of_two_numbers_are_the_reference_at_the_ends_of_their_ranges),
      cmocka_unit_test(test_any_number_is_cast_to_any_dtype_as_in_the_reference),
      cmocka_unit_test(test_clamp_has_bounds_of_any_kind),
      cmocka_unit_test(test_reductions_see_the_ends_of_their_ranges),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
