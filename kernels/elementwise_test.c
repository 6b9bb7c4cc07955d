/* SPDX-License-Identifier: MIT */
/* What the registry's test does not reach: costs as numbers, extremes of the integers, NaN payloads, long runs. */
#include <kernels/kernel_list.h>
#include <kernels/kernel_test_support.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct pto_kernel_tensor *dense(struct pto_kernel_tensor *t, uint32_t dtype, void *addr,
                                             const uint64_t *shape, const uint64_t *strides, uint32_t ndims) {
  *t = (struct pto_kernel_tensor){.addr = addr, .shape = shape, .strides = strides, .ndims = ndims, .dtype = dtype};
  return t;
}

static void assert_cost(struct pto_cost got, struct pto_cost wanted) {
  assert_int_equal(got.bytes_in, wanted.bytes_in);
  assert_int_equal(got.bytes_out, wanted.bytes_out);
  assert_int_equal(got.vector_elems, wanted.vector_elems);
  assert_int_equal(got.multiply_adds, wanted.multiply_adds);
  assert_int_equal(got.local_bytes, wanted.local_bytes);
}

/* Tensors of half a gigabyte without an address. */
static void test_costs_follow_from_descriptors_alone(void **state) {
  (void)state;
  static const uint64_t shape[] = {8192, 16384}, strides[] = {16384, 1}, row[] = {0, 1}, small[] = {10, 3};
  static const uint64_t n = 8192 * 16384;
  struct pto_kernel_tensor t[3];
  const struct pto_kernel_args args = {.tensors = t, .tensor_count = 3};
  dense(&t[0], PTO_FLOAT32, NULL, shape, strides, 2);
  dense(&t[1], PTO_FLOAT16, NULL, shape, row, 2);
  dense(&t[2], PTO_FLOAT32, NULL, shape, strides, 2);
  assert_cost(pto_general_add.cost(&args), (struct pto_cost){.bytes_in = 4 * n + 2 * 16384,
                                                             .bytes_out = 4 * n,
                                                             .vector_elems = n,
                                                             .local_bytes = 1024 * (4 + (4 + 2) + 4)});
  assert_cost(pto_general_add_inplace.cost(&args), (struct pto_cost){.bytes_in = 4 * n + 2 * 16384,
                                                                     .bytes_out = 2 * 16384,
                                                                     .vector_elems = n,
                                                                     .local_bytes = 1024 * (4 + 2 * (4 + 2))});
  dense(&t[1], PTO_FLOAT32, NULL, small, strides, 2);
  dense(&t[0], PTO_FLOAT32, NULL, small, strides, 2);
  assert_cost(pto_general_exp.cost(&args),
              (struct pto_cost){.bytes_in = 120, .bytes_out = 120, .vector_elems = 30, .local_bytes = 2 * 128});
}

static void test_the_cost_of_a_product_counts_its_multiply_adds_and_a_tile(void **state) {
  (void)state;
  static const uint64_t a[] = {1000, 256}, b[] = {256, 64}, c[] = {1000, 64}, strides[] = {1000, 1};
  struct pto_kernel_tensor t[3];
  const struct pto_kernel_args args = {.tensors = t, .tensor_count = 3};
  dense(&t[0], PTO_FLOAT16, NULL, a, strides, 2);
  dense(&t[1], PTO_FLOAT16, NULL, b, strides, 2);
  dense(&t[2], PTO_FLOAT32, NULL, c, strides, 2);
  struct pto_cost wanted = {.bytes_in = 2 * (1000 * 256 + 256 * 64),
                            .bytes_out = 4 * 1000 * 64,
                            .multiply_adds = 1000 * 256 * 64,
                            .local_bytes = 2 * 128 * (128 + 64)};
  assert_cost(pto_general_matmul.cost(&args), wanted);
  wanted.bytes_in += wanted.bytes_out;
  assert_cost(pto_general_matmul_accumulate.cost(&args), wanted);
}

static void test_small_integers_wrap_at_their_own_width(void **state) {
  (void)state;
  static const uint64_t shape[] = {4}, strides[] = {1};
  int8_t a[] = {127, -128, 100, -128}, b[] = {1, -1, 3, -1}, y[4];
  struct pto_kernel_tensor t[3];
  const struct pto_kernel_args args = {.tensors = t, .tensor_count = 3};
  dense(&t[0], PTO_INT8, a, shape, strides, 1);
  dense(&t[1], PTO_INT8, b, shape, strides, 1);
  dense(&t[2], PTO_INT8, y, shape, strides, 1);
  assert_int_equal(pto_test_call_run(&pto_general_add, &args), 0);
  assert_memory_equal(y, ((int8_t[]){-128, 127, 103, 127}), 4);
  assert_int_equal(pto_test_call_run(&pto_general_mul, &args), 0);
  assert_memory_equal(y, ((int8_t[]){127, -128, 44, -128}), 4);
  assert_int_equal(pto_test_call_run(&pto_general_div, &args), 0);
  assert_memory_equal(y, ((int8_t[]){127, -128, 33, -128}), 4);
}

static void test_u64_compares_and_divides_without_a_sign(void **state) {
  (void)state;
  static const uint64_t shape[] = {3}, strides[] = {1};
  uint64_t a[] = {UINT64_MAX, UINT64_C(1) << 63, 7}, b[] = {2, 1, 0}, y[3];
  struct pto_kernel_tensor t[3];
  const struct pto_kernel_args args = {.tensors = t, .tensor_count = 3};
  dense(&t[0], PTO_UINT64, a, shape, strides, 1);
  dense(&t[1], PTO_UINT64, b, shape, strides, 1);
  dense(&t[2], PTO_UINT64, y, shape, strides, 1);
  assert_int_equal(pto_test_call_run(&pto_general_maximum, &args), 0);
  assert_memory_equal(y, a, sizeof a);
  assert_int_equal(pto_test_call_run(&pto_general_div, &args), 0);
  assert_memory_equal(y, ((uint64_t[]){INT64_MAX, UINT64_C(1) << 63, 0}), sizeof y);
}

/* Contiguous but for the inner gap of one operand: in place, gathered, and in place again across chunk borders. */
static void test_long_runs_and_chunks_of_one_call_meet_without_a_seam(void **state) {
  (void)state;
  enum { ROWS = 3, COLS = 1000 };
  static float a[ROWS * COLS * 2], b[ROWS * COLS], y[ROWS * (COLS + 5)];
  static const uint64_t shape[] = {ROWS, COLS}, gaps[] = {COLS * 2, 2}, none[] = {COLS, 1}, rows[] = {COLS + 5, 1};
  struct pto_kernel_tensor t[3];
  const struct pto_kernel_args args = {.tensors = t, .tensor_count = 3};
  for (uint32_t i = 0; i < ROWS * COLS; i++) {
    a[2 * i] = (float)i;
    b[i] = (float)(7 * i);
  }
  dense(&t[0], PTO_FLOAT32, a, shape, gaps, 2);
  dense(&t[1], PTO_FLOAT32, b, shape, none, 2);
  dense(&t[2], PTO_FLOAT32, y, shape, rows, 2);
  for (uint32_t turn = 0; turn < 2; turn++) {
    memset(y, 0, sizeof y);
    assert_int_equal(pto_test_call_run(&pto_general_add, &args), 0);
    for (uint32_t i = 0; i < ROWS; i++)
      for (uint32_t j = 0; j < COLS + 5; j++) {
        const float x = turn == 0 ? a[2 * (i * COLS + (j < COLS ? j : 0))] : b[i * COLS + (j < COLS ? j : 0)];
        assert_true(y[i * (COLS + 5) + j] == (j < COLS ? x + b[i * COLS + j] : 0));
      }
    t[0] = t[1];
  }
}

static void test_copy_keeps_every_bit_of_a_nan(void **state) {
  (void)state;
  static const uint64_t shape[] = {2, 2}, transposed[] = {1, 2}, strides[] = {2, 1};
  struct pto_kernel_tensor t[2];
  const struct pto_kernel_args args = {.tensors = t, .tensor_count = 2};
  uint32_t x32[] = {0x7f800001, 0xffc12345, 0x00000001, 0x80000000}, y32[4];
  dense(&t[0], PTO_FLOAT32, x32, shape, transposed, 2);
  dense(&t[1], PTO_FLOAT32, y32, shape, strides, 2);
  assert_int_equal(pto_test_call_run(&pto_general_copy, &args), 0);
  assert_memory_equal(y32, ((uint32_t[]){0x7f800001, 0x00000001, 0xffc12345, 0x80000000}), sizeof y32);
  uint16_t x16[] = {0x7c01, 0xfe77, 0x0001, 0x8000}, y16[4];
  dense(&t[0], PTO_FLOAT16, x16, shape, transposed, 2);
  dense(&t[1], PTO_FLOAT16, y16, shape, strides, 2);
  assert_int_equal(pto_test_call_run(&pto_general_copy, &args), 0);
  assert_memory_equal(y16, ((uint16_t[]){0x7c01, 0x0001, 0xfe77, 0x8000}), sizeof y16);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_costs_follow_from_descriptors_alone),
      cmocka_unit_test(test_the_cost_of_a_product_counts_its_multiply_adds_and_a_tile),
      cmocka_unit_test(test_small_integers_wrap_at_their_own_width),
      cmocka_unit_test(test_u64_compares_and_divides_without_a_sign),
      cmocka_unit_test(test_long_runs_and_chunks_of_one_call_meet_without_a_seam),
      cmocka_unit_test(test_copy_keeps_every_bit_of_a_nan),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
