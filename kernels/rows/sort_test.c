/* SPDX-License-Identifier: MIT */
/*
 * sort and top_k beyond what the registry test draws: rows of several parts against a stable insertion of doubles, the
 * order of NaN and of the two zeros with the bits of each, what local memory bounds, and the refusals.
 */
#include <kernels/api/list.h>
#include <tests/support/kernel_call.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct trio {
  struct pto_test_tensor x, values, indices;
  struct pto_test_call call;
  const struct pto_kernel *kernel;
};
static struct trio trio;

static void trio_init(const char *kernel, uint32_t dtype, uint32_t index_dtype, const uint64_t *shape, uint64_t k) {
  const struct pto_reference_shape x = {2, {shape[0], shape[1]}}, y = {2, {shape[0], k}};
  trio.kernel = pto_kernel_find(kernel);
  pto_test_call_init(&trio.call, trio.kernel);
  pto_test_tensor_init(&trio.x, dtype, &x, PTO_TEST_CONTIGUOUS, false, NULL);
  pto_test_tensor_init(&trio.values, dtype, &y, PTO_TEST_CONTIGUOUS, true, NULL);
  pto_test_tensor_init(&trio.indices, index_dtype, &y, PTO_TEST_CONTIGUOUS, true, NULL);
  trio.call.tensors[0] = trio.x.t;
  trio.call.tensors[1] = trio.values.t;
  trio.call.tensors[2] = trio.indices.t;
  trio.call.scalars[0].i64 = -1;
}
static void trio_run(bool is_descending) {
  trio.call.scalars[1].i64 = is_descending;
  if (trio.kernel->check(&trio.call.args) != 0) fail_msg("%s", trio.call.message);
  assert_int_equal(pto_test_call_run(trio.kernel, &trio.call.args), 0);
}
static void trio_fini(void) {
  pto_test_tensor_fini(&trio.x);
  pto_test_tensor_fini(&trio.values);
  pto_test_tensor_fini(&trio.indices);
}

struct numbered {
  double value;
  uint64_t at;
};
static int ascending(const void *l, const void *r) {
  const struct numbered *a = l, *b = r;
  return a->value != b->value ? (a->value < b->value ? -1 : 1) : (a->at > b->at) - (a->at < b->at);
}
static int descending(const void *l, const void *r) {
  const struct numbered *a = l, *b = r;
  return a->value != b->value ? (a->value > b->value ? -1 : 1) : (a->at > b->at) - (a->at < b->at);
}

/* Few different values, so that equals decide; the library's sort of numbered values is the truth. */
static void test_long_rows_are_in_order_and_equals_stand_as_they_did(void **state) {
  (void)state;
  enum { ROWS = 2, N = 5001 };
  static struct numbered expected[N];
  static const struct {
    const char *kernel;
    uint32_t dtype, index_dtype;
    uint64_t k;
  } cases[] = {{"sort", PTO_FLOAT32, PTO_INT32, N},
               {"sort", PTO_INT16, PTO_INT64, N},
               {"top_k", PTO_FLOAT16, PTO_INT32, 1},
               {"top_k", PTO_BFLOAT16, PTO_INT32, 77},
               {"top_k", PTO_INT64, PTO_INT64, 4999}};
  struct pto_rng rng = {77};
  for (uint32_t c = 0; c < 2 * PTO_ARRAY_LENGTH(cases); c++) {
    const bool is_descending = c % 2 == 1;
    trio_init(cases[c / 2].kernel, cases[c / 2].dtype, cases[c / 2].index_dtype, (const uint64_t[]){ROWS, N},
              cases[c / 2].k);
    for (uint64_t i = 0; i < ROWS * N; i++) pto_test_set(&trio.x, i, (double)pto_rng_below(&rng, 200) - 100);
    trio_run(is_descending);
    for (uint64_t row = 0; row < ROWS; row++) {
      for (uint64_t i = 0; i < N; i++)
        expected[i] = (struct numbered){pto_reference_element(&trio.x.t, row * N + i), i};
      qsort(expected, N, sizeof *expected, is_descending ? descending : ascending);
      for (uint64_t i = 0; i < cases[c / 2].k; i++) {
        assert_true(pto_reference_element(&trio.values.t, row * cases[c / 2].k + i) == expected[i].value);
        assert_int_equal(pto_reference_whole(&trio.indices.t, row * cases[c / 2].k + i), expected[i].at);
      }
    }
    trio_fini();
  }
}

static void test_a_nan_is_larger_than_any_number_and_bits_are_kept(void **state) {
  (void)state;
  static const uint32_t x[] = {0x7f800000, 0xffc00001, 0x80000000, 0x00000000, 0x7fc00002, 0xff800000, 0x80000000};
  static const uint64_t up[] = {5, 2, 3, 6, 0, 1, 4}, down[] = {1, 4, 0, 2, 3, 6, 5};
  for (uint32_t is_descending = 0; is_descending < 2; is_descending++) {
    trio_init("sort", PTO_FLOAT32, PTO_INT32, (const uint64_t[]){1, 7}, 7);
    memcpy(trio.x.memory, x, sizeof x);
    trio_run(is_descending);
    for (uint64_t i = 0; i < 7; i++) {
      const uint64_t at = is_descending ? down[i] : up[i];
      assert_int_equal(pto_reference_whole(&trio.indices.t, i), at);
      assert_int_equal(pto_reference_bits(&trio.values.t, i), x[at]);
    }
    trio_fini();
  }
}

static void test_the_extremes_of_64_bits_compare_as_what_they_are(void **state) {
  (void)state;
  static const uint64_t x[] = {5, UINT64_MAX, UINT64_C(1) << 63, 0};
  static const uint64_t as_unsigned[] = {3, 0, 2, 1}, as_signed[] = {2, 1, 3, 0};
  for (uint32_t is_signed = 0; is_signed < 2; is_signed++) {
    trio_init("sort", is_signed ? PTO_INT64 : PTO_UINT64, PTO_INT64, (const uint64_t[]){1, 4}, 4);
    memcpy(trio.x.memory, x, sizeof x);
    trio_run(false);
    for (uint64_t i = 0; i < 4; i++)
      assert_int_equal(pto_reference_whole(&trio.indices.t, i), (is_signed ? as_signed : as_unsigned)[i]);
    trio_fini();
  }
}

/* 16 bytes an element that is kept, whatever the length of the row. */
static void test_local_memory_grows_with_what_is_kept_alone(void **state) {
  (void)state;
  trio_init("top_k", PTO_FLOAT32, PTO_INT32, (const uint64_t[]){1, 100000}, 64);
  assert_int_equal(trio.kernel->cost(&trio.call.args).local_bytes, 2048 * 4 + 64 * 16);
  trio_fini();
  trio_init("sort", PTO_FLOAT32, PTO_INT32, (const uint64_t[]){1, 8192}, 8192);
  assert_int_equal(trio.kernel->cost(&trio.call.args).local_bytes, 2048 * 4 + 8192 * 16);
  trio_fini();
}

static void refused(const char *kernel, const uint64_t *shape, uint64_t k, int64_t axis, const char *sentence) {
  trio_init(kernel, PTO_FLOAT32, PTO_INT32, shape, k);
  trio.call.scalars[0].i64 = axis;
  assert_int_equal(trio.kernel->check(&trio.call.args), PTO_EKERNEL);
  assert_string_equal(trio.call.message, sentence);
  trio_fini();
}

static void test_refusals_name_kernel_parameters_and_values(void **state) {
  (void)state;
  const uint64_t shape[] = {4, 5};
  refused("top_k", shape, 6, -1, "top_k: 6 elements of 5 along axis 1 (params 1 and 0)");
  refused("top_k", shape, 3, 0, "top_k: extents 5 and 3 differ (params 0 and 1)");
  refused("top_k", shape, 5, 2, "top_k: axis 2 of rank 2 (params 0 and 3)");
  refused("sort", shape, 4, 1, "sort: shapes [4,5] and [4,4] differ (params 0 and 1)");
  refused("sort", shape, 5, -3, "sort: axis -3 of rank 2 (params 0 and 3)");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_long_rows_are_in_order_and_equals_stand_as_they_did),
      cmocka_unit_test(test_a_nan_is_larger_than_any_number_and_bits_are_kept),
      cmocka_unit_test(test_the_extremes_of_64_bits_compare_as_what_they_are),
      cmocka_unit_test(test_local_memory_grows_with_what_is_kept_alone),
      cmocka_unit_test(test_refusals_name_kernel_parameters_and_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
