/* SPDX-License-Identifier: MIT */
/* Oracle: the address of each index, one index after the other in the order asked for. */
#include <kernels/move/cursor.h>
#include <tests/support/kernel_call.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SEED UINT64_C(31337)

/* Address of the n-th element where order[i] is the i-th dimension from outside. */
static char *expected_at(const struct pto_kernel_tensor *t, const uint32_t *order, uint64_t n) {
  uint64_t at = 0;
  for (uint32_t i = t->ndims; i-- > 0; n /= t->shape[order[i]]) at += n % t->shape[order[i]] * t->strides[order[i]];
  return (char *)t->addr + at * pto_dtype_size(t->dtype);
}

static void random_tensor(struct pto_test_tensor *tensor, struct pto_rng *rng) {
  struct pto_reference_shape shape = {.ndims = (uint32_t)pto_rng_below(rng, PTO_MAX_DIMS + 1)};
  for (uint32_t d = 0; d < shape.ndims; d++) shape.shape[d] = 1 + pto_rng_below(rng, shape.ndims > 4 ? 3 : 6);
  pto_test_tensor_init(tensor, PTO_INT32, &shape, (uint32_t)pto_rng_below(rng, PTO_TEST_LAYOUT_COUNT), false, rng);
}

static void random_order(uint32_t ndims, uint32_t *order, struct pto_rng *rng) {
  for (uint32_t d = 0; d < ndims; d++) {
    const uint64_t at = pto_rng_below(rng, d + 1);
    order[d] = order[at];
    order[at] = d;
  }
}

static void test_a_cursor_visits_every_element_in_the_order_asked_for(void **state) {
  (void)state;
  struct pto_rng rng = {SEED};
  for (uint32_t turn = 0; turn < 2000; turn++) {
    struct pto_test_tensor tensor;
    uint32_t order[PTO_MAX_DIMS] = {0};
    struct pto_cursor cursor;
    random_tensor(&tensor, &rng);
    random_order(tensor.t.ndims, order, &rng);
    pto_cursor_init(&cursor, &tensor.t, order);
    const uint64_t numel = pto_test_numel(&tensor);
    for (uint64_t done = 0; done < numel;) {
      const uint64_t count = 1 + pto_rng_below(&rng, cursor.run_left);
      for (uint64_t i = 0; i < count; i++)
        assert_ptr_equal(cursor.at + i * cursor.run_step, expected_at(&tensor.t, order, done + i));
      pto_cursor_advance(&cursor, count);
      done += count;
    }
    assert_int_equal(cursor.run_left, 0);
    pto_test_tensor_fini(&tensor);
  }
}

static void test_whole_rows_are_one_step_apart_and_may_be_passed_at_once(void **state) {
  (void)state;
  struct pto_rng rng = {SEED + 1};
  uint32_t several = 0;
  for (uint32_t turn = 0; turn < 2000; turn++) {
    struct pto_trial_tensor tensor;
    uint32_t order[PTO_MAX_DIMS] = {0};
    struct pto_cursor cursor;
    random_tensor(&tensor, &rng);
    random_order(tensor.t.ndims, order, &rng);
    pto_cursor_init(&cursor, &tensor.t, order);
    const uint64_t numel = pto_trial_numel(&tensor);
    for (uint64_t done = 0; done < numel;) {
      const uint64_t rows = pto_cursor_rows(&cursor, pto_rng_below(&rng, numel - done + 1));
      if (rows == 0) {
        pto_cursor_advance(&cursor, 1);
        done++;
        continue;
      }
      several += rows > 1 ? 1 : 0;
      for (uint64_t row = 0; row < rows; row++)
        for (uint64_t i = 0; i < cursor.run_elems; i++)
          assert_ptr_equal(cursor.at + row * pto_cursor_row_step(&cursor) + i * cursor.run_step,
                           expected_at(&tensor.t, order, done + row * cursor.run_elems + i));
      done += rows * cursor.run_elems;
      pto_cursor_advance_rows(&cursor, rows);
    }
    assert_int_equal(cursor.run_left, 0);
    pto_trial_tensor_fini(&tensor);
  }
  assert_true(several > 100);
}

static void test_without_an_order_a_cursor_is_row_major(void **state) {
  (void)state;
  struct pto_rng rng = {SEED};
  for (uint32_t turn = 0; turn < 200; turn++) {
    struct pto_test_tensor tensor;
    struct pto_cursor cursor;
    random_tensor(&tensor, &rng);
    pto_cursor_init(&cursor, &tensor.t, NULL);
    for (uint64_t i = 0; i < pto_test_numel(&tensor); i++) {
      assert_ptr_equal(cursor.at, pto_test_addr(&tensor, i));
      pto_cursor_advance(&cursor, 1);
    }
    pto_test_tensor_fini(&tensor);
  }
}

static void test_whatever_lies_without_gaps_is_one_run(void **state) {
  (void)state;
  const uint64_t shape[] = {3, 1, 4, 5}, dense[] = {20, 77, 5, 1}, turned[] = {4, 1, 1, 12}, box[] = {40, 1, 10, 1};
  struct pto_kernel_tensor t = {.shape = shape, .strides = dense, .ndims = 4, .dtype = PTO_FLOAT32};
  struct pto_cursor cursor;
  uint32_t order[PTO_MAX_DIMS];
  pto_cursor_init(&cursor, &t, NULL);
  assert_int_equal(cursor.run_left, 60);
  assert_int_equal(cursor.run_step, 4);
  t.strides = turned;
  pto_cursor_order(&t, order);
  pto_cursor_init(&cursor, &t, order);
  assert_int_equal(cursor.run_left, 60);
  t.strides = box;
  pto_cursor_init(&cursor, &t, NULL);
  assert_int_equal(cursor.run_left, 5);
  assert_int_equal(cursor.ndims, 1); /* 3 × 4 rows, 10 apart */
}

static void test_a_rank_0_tensor_is_one_element(void **state) {
  (void)state;
  int32_t value = 7, loaded = 0;
  const struct pto_kernel_tensor t = {.addr = &value, .dtype = PTO_INT32};
  struct pto_cursor cursor;
  int64_t wide = 0;
  pto_cursor_init(&cursor, &t, NULL);
  assert_int_equal(cursor.run_left, 1);
  pto_cursor_load(&cursor, pto_loops_best()->load[PTO_CLASS_I64][PTO_INT32], &wide, sizeof wide, 1);
  assert_int_equal(wide, 7);
  wide = -9;
  pto_cursor_init(&cursor, &t, NULL);
  pto_cursor_store(&cursor, pto_loops_best()->store[PTO_CLASS_I64][PTO_INT32], &wide, sizeof wide, 1);
  memcpy(&loaded, t.addr, sizeof loaded);
  assert_int_equal(loaded, -9);
}

int main(void) {
  print_message("seed %" PRIu64 "\n", SEED);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_cursor_visits_every_element_in_the_order_asked_for),
      cmocka_unit_test(test_whole_rows_are_one_step_apart_and_may_be_passed_at_once),
      cmocka_unit_test(test_without_an_order_a_cursor_is_row_major),
      cmocka_unit_test(test_whatever_lies_without_gaps_is_one_run),
      cmocka_unit_test(test_a_rank_0_tensor_is_one_element),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
