/* SPDX-License-Identifier: MIT */
/*
 * Kernels with indices: one that is out of range is named, and then nothing has been written; negative ones count from
 * the end; of several updates to one element the last stays.
 */
#include <kernels/move/index.h>
#include <kernels/api/list.h>
#include <tests/support/kernel_call.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SEED UINT64_C(404)

/* Every kernel of the list that takes indices, with the tensor that holds them. */
static const struct {
  const char *kernel;
  uint32_t indices;
} indexed[] = {
    {"gather", 1},           {"gather_elements", 1},          {"gather_nd", 1},
    {"scatter_elements", 1}, {"scatter_elements_inplace", 1}, {"scatter_add", 1},
    {"scatter_nd", 1},       {"scatter_nd_inplace", 1},       {"rope_positions", 3},
};

static const struct pto_reference_sizes sizes[] = {
    {2, {7, 12}, 0}, {3, {5, 3, 8}, 0}, {4, {2, 3, 4, 6}, 0}, {3, {9, 2, 64}, 0}, {5, {2, 2, 3, 2, 4}, 0},
};

static uint32_t number_of(const char *name) {
  for (uint32_t k = 0; k < pto_kernel_count(); k++)
    if (strcmp(pto_kernel_at(k)->name, name) == 0) return k;
  fail_msg("no kernel %s", name);
  return 0;
}

/* The indices out of range of the longest extent on either side, and those that only a dtype's width gives. */
static uint64_t bad_index(const struct pto_kernel_tensor *indices, uint64_t extent, uint64_t draw) {
  const uint64_t beyond = extent + draw / 4 % 3, before = -(extent + 1 + draw / 4 % 3);
  if (indices->dtype == PTO_UINT32) return draw % 2 == 0 ? beyond : UINT32_MAX;
  if (indices->dtype == PTO_INT32) return draw % 2 == 0 ? beyond : draw % 4 == 1 ? before : (uint64_t)INT32_MIN;
  return draw % 2 == 0 ? beyond : draw % 4 == 1 ? before : (uint64_t)INT64_MIN;
}

static void spoil_one(uint32_t k, uint32_t number, const struct pto_trial_case *c) {
  static struct pto_trial trial;
  pto_trial_init(&trial, number);
  assert_int_equal(pto_trial_make(&trial, c), PTO_OK);
  const struct pto_trial_tensor *indices = &trial.tensors[indexed[k].indices];
  const uint64_t numel = pto_trial_numel(indices);
  uint64_t longest = 0;
  const struct pto_kernel_tensor *table = indexed[k].indices == 3 ? &trial.tensors[1].t : &trial.tensors[0].t;
  for (uint32_t d = 0; d < table->ndims; d++) longest = table->shape[d] > longest ? table->shape[d] : longest;
  if (numel == 0) {
    pto_trial_fini(&trial);
    return;
  }
  const uint64_t at = pto_mix64(c->seed) % numel, bad = bad_index(&indices->t, longest, pto_mix64(c->seed + 1));
  pto_reference_set_whole(&indices->t, at, bad);
  for (uint32_t i = 0; i < trial.args.tensor_count; i++)
    assert_int_equal(pto_trial_tensor_snapshot(&trial.tensors[i]), PTO_OK);
  assert_int_equal(pto_trial_run(&trial), PTO_EKERNEL);
  char value[32], param[32];
  snprintf(value, sizeof value, "index %" PRId64 " at [", (int64_t)bad);
  snprintf(param, sizeof param, "(param %u)", indexed[k].indices);
  if (strncmp(trial.message, indexed[k].kernel, strlen(indexed[k].kernel)) != 0 ||
      strstr(trial.message, value) == NULL || strstr(trial.message, param) == NULL)
    fail_msg("%s: %s does not name index %" PRId64 " and its parameter", indexed[k].kernel, trial.message,
             (int64_t)bad);
  for (uint32_t i = 0; i < trial.args.tensor_count; i++)
    if (!pto_trial_tensor_is_unchanged(&trial.tensors[i], false))
      fail_msg("%s: tensor %u was written to before the error", indexed[k].kernel, i);
  pto_trial_fini(&trial);
}

static void test_an_index_out_of_range_is_named_and_nothing_is_written(void **state) {
  (void)state;
  static struct pto_trial trial;
  static struct pto_trial_case c;
  static struct pto_dtype_tuple tuples[256];
  print_message("seed %" PRIu64 "\n", SEED);
  for (uint32_t k = 0; k < PTO_ARRAY_LENGTH(indexed); k++) {
    const uint32_t number = number_of(indexed[k].kernel);
    for (uint32_t turn = 0; turn < 10 * PTO_ARRAY_LENGTH(sizes); turn++) {
      struct pto_reference_sizes free_sizes = sizes[turn % PTO_ARRAY_LENGTH(sizes)];
      uint32_t uniform_count;
      free_sizes.draw = pto_mix64(SEED + turn * 31 + k);
      pto_trial_init(&trial, number);
      if (!pto_trial_sizes(&trial, &free_sizes, &c)) continue;
      c.layout = turn % 2 == 0 ? PTO_LAYOUT_MIXED : PTO_LAYOUT_CONTIGUOUS;
      const uint32_t count = pto_trial_dtype_tuples(&trial, &c, tuples, PTO_ARRAY_LENGTH(tuples), &uniform_count);
      for (uint32_t t = turn % 5; t < count; t += 5) {
        for (uint32_t i = 0; i < trial.args.tensor_count; i++) c.dtypes[i] = tuples[t].dtypes[i];
        c.seed = pto_mix64(SEED + turn * 1000 + t);
        spoil_one(k, number, &c);
      }
    }
  }
}

/* A dense tensor of at most two dimensions over the caller's elements. */
static struct pto_kernel_tensor dense(void *addr, uint32_t dtype, uint32_t ndims, const uint64_t *shape) {
  static const uint64_t one[] = {1};
  static uint64_t strides[16][2];
  static uint32_t used;
  if (ndims < 2) return (struct pto_kernel_tensor){addr, shape, one, ndims, dtype};
  uint64_t *mine = strides[used++ % 16];
  mine[0] = shape[1];
  mine[1] = 1;
  return (struct pto_kernel_tensor){addr, shape, mine, ndims, dtype};
}

static void test_the_sentence_gives_index_position_and_bounds(void **state) {
  (void)state;
  struct pto_test_call call;
  float data[5] = {0}, y[4] = {0};
  int32_t indices[] = {0, -5, 4, 5};
  pto_test_call_init(&call, &pto_general_gather);
  call.tensors[0] = dense(data, PTO_FLOAT32, 1, (uint64_t[]){5});
  call.tensors[1] = dense(indices, PTO_INT32, 2, (uint64_t[]){2, 2});
  call.tensors[2] = dense(y, PTO_FLOAT32, 2, (uint64_t[]){2, 2});
  assert_int_equal(pto_test_call_run(&pto_general_gather, &call.args), PTO_EKERNEL);
  assert_string_equal(call.message, "gather: index 5 at [1,1] is not in -5 … 4 (param 1)");
  indices[3] = -6;
  assert_int_equal(pto_test_call_run(&pto_general_gather, &call.args), PTO_EKERNEL);
  assert_string_equal(call.message, "gather: index -6 at [1,1] is not in -5 … 4 (param 1)");
  call.tensors[1].dtype = PTO_UINT32;
  indices[1] = 7;
  assert_int_equal(pto_test_call_run(&pto_general_gather, &call.args), PTO_EKERNEL);
  assert_string_equal(call.message, "gather: index 7 at [0,1] is not in 0 … 4 (param 1)");
}

static void test_negative_indices_count_from_the_end(void **state) {
  (void)state;
  struct pto_test_call call;
  float data[5] = {10, 11, 12, 13, 14}, y[4] = {0};
  int64_t indices[] = {-1, -5, 4, 0};
  pto_test_call_init(&call, &pto_general_gather);
  call.tensors[0] = dense(data, PTO_FLOAT32, 1, (uint64_t[]){5});
  call.tensors[1] = dense(indices, PTO_INT64, 1, (uint64_t[]){4});
  call.tensors[2] = dense(y, PTO_FLOAT32, 1, (uint64_t[]){4});
  assert_int_equal(pto_test_call_run(&pto_general_gather, &call.args), 0);
  assert_memory_equal(y, ((float[]){14, 10, 14, 10}), sizeof y);
}

/* More updates than a piece of indices holds, all of them to two elements. */
static void test_of_several_updates_to_one_element_the_last_in_row_major_order_stays(void **state) {
  (void)state;
  enum { COUNT = 3 * PTO_INDEX_PIECE + 7 };
  static int32_t indices[COUNT], updates[COUNT];
  int32_t y[3] = {-1, -1, -1};
  struct pto_test_call call;
  for (int32_t i = 0; i < COUNT; i++) {
    indices[i] = i % 2 == 0 ? 2 : -3;
    updates[i] = i;
  }
  pto_test_call_init(&call, &pto_general_scatter_elements_inplace);
  call.tensors[0] = dense(y, PTO_INT32, 1, (uint64_t[]){3});
  call.tensors[1] = dense(indices, PTO_INT32, 1, (uint64_t[]){COUNT});
  call.tensors[2] = dense(updates, PTO_INT32, 1, (uint64_t[]){COUNT});
  assert_int_equal(pto_test_call_run(&pto_general_scatter_elements_inplace, &call.args), 0);
  assert_memory_equal(y, ((int32_t[]){COUNT - 2, -1, COUNT - 1}), sizeof y);
}

/* 2^24 is as far as f32 counts by ones: the order of the additions decides what is left of them. */
static void test_updates_are_added_in_row_major_order_and_each_sum_is_rounded(void **state) {
  (void)state;
  enum { COUNT = PTO_INDEX_PIECE + 8 };
  static int64_t indices[COUNT];
  static float updates[COUNT];
  float y[2] = {5, 0x1p24f};
  float expected = 0x1p24f;
  struct pto_test_call call;
  for (int32_t i = 0; i < COUNT; i++) {
    indices[i] = -1;
    updates[i] = i % 3 == 2 ? -2.0f : 1.0f;
    expected += updates[i];
  }
  assert_true(expected == 0x1p24f - 1); /* exact: 0x1p24 + 1 */
  pto_test_call_init(&call, &pto_general_scatter_add);
  call.tensors[0] = dense(y, PTO_FLOAT32, 1, (uint64_t[]){2});
  call.tensors[1] = dense(indices, PTO_INT64, 1, (uint64_t[]){COUNT});
  call.tensors[2] = dense(updates, PTO_FLOAT32, 1, (uint64_t[]){COUNT});
  assert_int_equal(pto_test_call_run(&pto_general_scatter_add, &call.args), 0);
  assert_true(y[0] == 5 && y[1] == expected);
  indices[COUNT - 1] = 2;
  assert_int_equal(pto_test_call_run(&pto_general_scatter_add, &call.args), PTO_EKERNEL);
  assert_string_equal(call.message, "scatter_add: index 2 at [519] is not in -2 … 1 (param 1)");
  assert_true(y[0] == 5 && y[1] == expected);
}

/* A cache of rows that a task writes some of: what scatter_nd_inplace is for. */
static void test_rows_of_a_cache_are_written_where_their_indices_say_and_no_others_change(void **state) {
  (void)state;
  uint16_t cache[6][3], rows[2][3] = {{1, 2, 3}, {4, 5, 6}};
  uint32_t slots[2][1] = {{4}, {1}};
  struct pto_test_call call;
  memset(cache, 0xff, sizeof cache);
  pto_test_call_init(&call, &pto_general_scatter_nd_inplace);
  call.tensors[0] = dense(cache, PTO_FLOAT16, 2, (uint64_t[]){6, 3});
  call.tensors[1] = dense(slots, PTO_UINT32, 2, (uint64_t[]){2, 1});
  call.tensors[2] = dense(rows, PTO_FLOAT16, 2, (uint64_t[]){2, 3});
  assert_int_equal(pto_test_call_run(&pto_general_scatter_nd_inplace, &call.args), 0);
  for (uint32_t row = 0; row < 6; row++)
    for (uint32_t col = 0; col < 3; col++)
      assert_int_equal(cache[row][col], row == 4 ? col + 1 : row == 1 ? col + 4 : 0xffff);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_an_index_out_of_range_is_named_and_nothing_is_written),
      cmocka_unit_test(test_the_sentence_gives_index_position_and_bounds),
      cmocka_unit_test(test_negative_indices_count_from_the_end),
      cmocka_unit_test(test_of_several_updates_to_one_element_the_last_in_row_major_order_stays),
      cmocka_unit_test(test_updates_are_added_in_row_major_order_and_each_sum_is_rounded),
      cmocka_unit_test(test_rows_of_a_cache_are_written_where_their_indices_say_and_no_others_change),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
