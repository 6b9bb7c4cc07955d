/* SPDX-License-Identifier: MIT */
/* What the registry's test does not reach: costs as numbers, extremes of the integers, NaN payloads, long runs. */
#include <kernels/api/list.h>
#include <tests/support/kernel_call.h>

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
                                                             .local_bytes = 2048 * (4 + (4 + 2) + 4)});
  assert_cost(pto_general_add_inplace.cost(&args), (struct pto_cost){.bytes_in = 4 * n + 2 * 16384,
                                                                     .bytes_out = 2 * 16384,
                                                                     .vector_elems = n,
                                                                     .local_bytes = 2048 * (4 + 2 * (4 + 2))});
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

/* Runs `kernel` on dense vectors: tensors in the kernel's order, all of `count` elements. */
static void run_dense(const struct pto_kernel *kernel, uint64_t count, const uint32_t *dtypes, void *const *addrs,
                      const union pto_scalar *scalars) {
  const uint64_t stride = 1;
  struct pto_kernel_tensor t[4];
  struct pto_kernel_args args = {.tensors = t, .scalars = scalars};
  for (uint32_t i = 0; i < kernel->param_count; i++) {
    if (kernel->params[i].mode == PTO_SCALAR) {
      args.scalar_count++;
      continue;
    }
    dense(&t[i], dtypes[i], addrs[i], &count, &stride, 1);
    args.tensor_count++;
  }
  assert_int_equal(kernel->check(&args), 0);
  assert_int_equal(pto_test_call_run(kernel, &args), 0);
}

/* What docs/numerics.md says, number by number. */
static void test_remainders_shifts_and_bounds_are_as_documented(void **state) {
  (void)state;
  static const uint32_t i32[] = {PTO_INT32, PTO_INT32, PTO_INT32}, i8[] = {PTO_INT8, PTO_INT8, PTO_INT8};
  int32_t a[] = {7, -7, 7, INT32_MIN, 5}, b[] = {2, 2, -2, -1, 0}, y[5];
  run_dense(&pto_general_rem, 5, i32, (void *[]){a, b, y}, NULL);
  assert_memory_equal(y, ((int32_t[]){1, -1, 1, 0, 5}), sizeof y);
  int32_t x[] = {1, -1, -8, -8, 3}, counts[] = {31, 32, 2, 99, -1};
  run_dense(&pto_general_shift_left, 5, i32, (void *[]){x, counts, y}, NULL);
  assert_memory_equal(y, ((int32_t[]){INT32_MIN, 0, -32, 0, 0}), sizeof y);
  run_dense(&pto_general_shift_right, 5, i32, (void *[]){x, counts, y}, NULL);
  assert_memory_equal(y, ((int32_t[]){0, -1, -2, -1, 0}), sizeof y);
  int8_t small[] = {-128, -1, 0, 100, 127}, result[5];
  const union pto_scalar bounds[2] = {{.i64 = -5}, {.i64 = 300}};
  run_dense(&pto_general_clamp_int, 5, i8, (void *[]){small, result}, bounds);
  assert_memory_equal(result, ((int8_t[]){-5, -1, 0, 100, 127}), sizeof result);
  run_dense(&pto_general_maximum_scalar_int, 5, i8, (void *[]){small, result}, &bounds[1]);
  assert_memory_equal(result, ((int8_t[]){127, 127, 127, 127, 127}), sizeof result);
}

static void test_casts_saturate_truncate_and_round_once(void **state) {
  (void)state;
  float x[] = {NAN, INFINITY, -INFINITY, 2.9f, -2.9f, 300, -300, -0.5f};
  int8_t i8[8];
  uint8_t u8[8];
  int64_t i64[8];
  uint8_t i4[4];
  run_dense(&pto_general_cast, 8, (uint32_t[]){PTO_FLOAT32, PTO_INT8}, (void *[]){x, i8}, NULL);
  assert_memory_equal(i8, ((int8_t[]){0, 127, -128, 2, -2, 127, -128, 0}), sizeof i8);
  run_dense(&pto_general_cast, 8, (uint32_t[]){PTO_FLOAT32, PTO_UINT8}, (void *[]){x, u8}, NULL);
  assert_memory_equal(u8, ((uint8_t[]){0, 255, 0, 2, 0, 255, 0, 0}), sizeof u8);
  run_dense(&pto_general_cast, 8, (uint32_t[]){PTO_FLOAT32, PTO_INT64}, (void *[]){x, i64}, NULL);
  assert_memory_equal(i64, ((int64_t[]){0, INT64_MAX, INT64_MIN, 2, -2, 300, -300, 0}), sizeof i64);
  run_dense(&pto_general_cast, 8, (uint32_t[]){PTO_FLOAT32, PTO_INT4}, (void *[]){x, i4}, NULL);
  assert_memory_equal(i4, ((uint8_t[]){0x70, 0x28, 0x7e, 0x08}), sizeof i4);
  run_dense(&pto_general_cast, 8, (uint32_t[]){PTO_FLOAT32, PTO_BOOL}, (void *[]){x, u8}, NULL);
  assert_memory_equal(u8, ((uint8_t[]){1, 1, 1, 1, 1, 1, 1, 1}), sizeof u8);
  int64_t wide[] = {-1, INT64_MAX, 256}, unsigned_wide[3];
  run_dense(&pto_general_cast, 3, (uint32_t[]){PTO_INT64, PTO_UINT8}, (void *[]){wide, u8}, NULL);
  assert_memory_equal(u8, ((uint8_t[]){0, 255, 255}), 3);
  run_dense(&pto_general_cast, 3, (uint32_t[]){PTO_INT64, PTO_UINT64}, (void *[]){wide, unsigned_wide}, NULL);
  assert_memory_equal(unsigned_wide, ((int64_t[]){0, INT64_MAX, 256}), sizeof unsigned_wide);
  /* Just above a tie of bf16, and on one for who rounds to f32 first. */
  int64_t above[] = {INT64_C(0x0101000000000001)};
  uint16_t bf16;
  run_dense(&pto_general_cast, 1, (uint32_t[]){PTO_INT64, PTO_BFLOAT16}, (void *[]){above, &bf16}, NULL);
  assert_true(pto_bf16_to_f32(bf16) == 0x1.02p56f);
}

static void test_select_and_a_cast_to_the_same_dtype_move_the_bits_of_a_nan(void **state) {
  (void)state;
  uint8_t condition[] = {1, 0, 1, 0xff};
  uint32_t b[] = {0x7f800001, 1, 2, 0xffc12345}, c[] = {3, 0x7fa00001, 4, 5}, y[4];
  run_dense(&pto_general_select, 4, (uint32_t[]){PTO_BOOL, PTO_FLOAT32, PTO_FLOAT32, PTO_FLOAT32},
            (void *[]){condition, b, c, y}, NULL);
  assert_memory_equal(y, ((uint32_t[]){0x7f800001, 0x7fa00001, 2, 0xffc12345}), sizeof y);
  uint16_t half[] = {0x7c01, 0xfe77, 0x0001, 0x8000}, kept[4];
  run_dense(&pto_general_cast, 4, (uint32_t[]){PTO_FLOAT16, PTO_FLOAT16}, (void *[]){half, kept}, NULL);
  assert_memory_equal(kept, half, sizeof half);
}

static void test_what_is_read_as_bool_is_true_unless_it_is_0(void **state) {
  (void)state;
  static const uint32_t bools[] = {PTO_BOOL, PTO_BOOL, PTO_BOOL};
  uint8_t a[] = {0, 2, 4, 1}, b[] = {0, 1, 0, 0x80}, y[4];
  run_dense(&pto_general_logical_and, 4, bools, (void *[]){a, b, y}, NULL);
  assert_memory_equal(y, ((uint8_t[]){0, 1, 0, 1}), sizeof y);
  run_dense(&pto_general_logical_xor, 4, bools, (void *[]){a, b, y}, NULL);
  assert_memory_equal(y, ((uint8_t[]){0, 0, 1, 0}), sizeof y);
  run_dense(&pto_general_logical_not, 4, bools, (void *[]){a, y}, NULL);
  assert_memory_equal(y, ((uint8_t[]){1, 0, 0, 0}), sizeof y);
  uint8_t c[] = {2, 0x80, 0, 1}, d[] = {1, 2, 0, 0};
  run_dense(&pto_general_equal, 4, bools, (void *[]){c, d, y}, NULL);
  assert_memory_equal(y, ((uint8_t[]){1, 1, 1, 0}), sizeof y);
  run_dense(&pto_general_not_equal, 4, bools, (void *[]){c, d, y}, NULL);
  assert_memory_equal(y, ((uint8_t[]){0, 0, 0, 1}), sizeof y);
  int8_t numbers[4];
  run_dense(&pto_general_cast, 4, (uint32_t[]){PTO_BOOL, PTO_INT8}, (void *[]){a, numbers}, NULL);
  assert_memory_equal(numbers, ((int8_t[]){0, 1, 1, 1}), sizeof numbers);
}

/* A large output, of a size that ends within a cache line, in f32 and converted. */
static void test_large_outputs_hold_the_same_values(void **state) {
  (void)state;
  const uint64_t count = (UINT64_C(1) << 19) + 13;
  float *x = malloc(count * sizeof *x), *y = malloc((count + 1) * sizeof *y);
  uint16_t *half = malloc((count + 1) * sizeof *half);
  assert_true(x != NULL && y != NULL && half != NULL);
  for (uint64_t i = 0; i < count; i++) x[i] = (float)(i % 2048);
  y[count] = -1;
  half[count] = 0xdead;
  run_dense(&pto_general_neg, count, (uint32_t[]){PTO_FLOAT32, PTO_FLOAT32}, (void *[]){x, y}, NULL);
  run_dense(&pto_general_neg, count, (uint32_t[]){PTO_FLOAT32, PTO_FLOAT16}, (void *[]){x, half}, NULL);
  for (uint64_t i = 0; i < count; i++)
    if (y[i] != -x[i] || pto_fp16_to_f32(half[i]) != -x[i]) fail_msg("element %" PRIu64, i);
  assert_true(y[count] == -1 && half[count] == 0xdead);
  run_dense(&pto_general_neg, count, (uint32_t[]){PTO_FLOAT32, PTO_FLOAT32}, (void *[]){y, y}, NULL);
  assert_memory_equal(x, y, count * sizeof *x);
  free(x);
  free(y);
  free(half);
}

static void test_dtypes_that_do_not_mix_are_refused(void **state) {
  (void)state;
  static const uint64_t shape[] = {4}, strides[] = {1};
  char message[128] = "";
  struct pto_core core = {.message = message, .message_size = sizeof message};
  struct pto_kernel_tensor t[4];
  const struct pto_kernel_args args = {.tensors = t, .tensor_count = 3, .core = &core};
  dense(&t[0], PTO_INT8, NULL, shape, strides, 1);
  dense(&t[1], PTO_UINT8, NULL, shape, strides, 1);
  dense(&t[2], PTO_BOOL, NULL, shape, strides, 1);
  assert_int_equal(pto_general_equal.check(&args), PTO_EKERNEL);
  assert_string_equal(message, "equal: dtypes i8 and u8 do not mix (params 0 and 1)");
  dense(&t[3], PTO_UINT8, NULL, shape, strides, 1);
  dense(&t[2], PTO_FLOAT32, NULL, shape, strides, 1);
  dense(&t[0], PTO_BOOL, NULL, shape, strides, 1);
  assert_int_equal(pto_general_select.check(&args), PTO_EKERNEL);
  assert_string_equal(message, "select: dtypes f32 and u8 do not mix (params 2 and 3)");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_costs_follow_from_descriptors_alone),
      cmocka_unit_test(test_the_cost_of_a_product_counts_its_multiply_adds_and_a_tile),
      cmocka_unit_test(test_small_integers_wrap_at_their_own_width),
      cmocka_unit_test(test_u64_compares_and_divides_without_a_sign),
      cmocka_unit_test(test_long_runs_and_chunks_of_one_call_meet_without_a_seam),
      cmocka_unit_test(test_copy_keeps_every_bit_of_a_nan),
      cmocka_unit_test(test_remainders_shifts_and_bounds_are_as_documented),
      cmocka_unit_test(test_casts_saturate_truncate_and_round_once),
      cmocka_unit_test(test_select_and_a_cast_to_the_same_dtype_move_the_bits_of_a_nan),
      cmocka_unit_test(test_what_is_read_as_bool_is_true_unless_it_is_0),
      cmocka_unit_test(test_large_outputs_hold_the_same_values),
      cmocka_unit_test(test_dtypes_that_do_not_mix_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
