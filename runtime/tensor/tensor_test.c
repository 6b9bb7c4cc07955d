/* SPDX-License-Identifier: MIT */
/*
 * Descriptors: what is valid, the sentence that each refusal leaves, and descriptors as text.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include <runtime/tensor/tensor_make.h>
#include <tests/support/tensor_checks.h>

/* ---- validity ---- */

static void test_a_rank_0_tensor_is_one_element(void **state) {
  struct pto_tensor t = f32(0, NULL);
  expect_layout(t, 0, 0, NULL, NULL);
  assert_int_equal(pto_tensor_numel(&t), 1);
}

static void test_rank_8_is_valid(void **state) {
  struct pto_tensor t = f32(SHAPE(2, 1, 3, 1, 2, 1, 2, 5));
  expect_layout(t, 0, SHAPE(2, 1, 3, 1, 2, 1, 2, 5), LIST(60, 60, 20, 20, 10, 10, 5, 1));
}

static void test_rank_9_is_refused(void **state) {
  expect_invalid(f32(SHAPE(1, 1, 1, 1, 1, 1, 1, 1, 1)), "external tensor: rank 9 exceeds 8");
}

static void test_a_huge_rank_is_refused_without_reading_a_shape(void **state) {
  expect_invalid(f32(UINT32_MAX, NULL), "external tensor: rank 4294967295 exceeds 8");
}

static void test_a_reason_that_is_none_is_still_a_sentence(void **state) {
  struct pto_tensor t = pto_tensor_dense(memory(0x10000, 3), PTO_FLOAT32, 0, NULL);
  char text[128];
  t.version = 99; /* who refused it */
  pto_tensor_explain(&t, text, sizeof text);
  assert_string_equal(text, "tensor: bad argument (runtime error 5)");
}

static void test_a_missing_shape_is_refused(void **state) {
  uint64_t bytes;
  assert_false(pto_tensor_dense_bytes(PTO_FLOAT32, 2, NULL, &bytes));
  expect_invalid(f32(2, NULL), "external tensor: no list of 2 numbers given");
}

static void test_an_unknown_dtype_is_refused(void **state) {
  expect_invalid(dense(PTO_DTYPE_COUNT, SHAPE(4)), "external tensor: 18 is no dtype");
  expect_invalid(dense(UINT32_MAX, SHAPE(4)), "external tensor: 4294967295 is no dtype");
}

static void test_a_zero_extent_is_valid_and_empty(void **state) {
  struct pto_tensor t = f32(SHAPE(3, 0, 5));
  expect_valid(t);
  assert_int_equal(pto_tensor_numel(&t), 0);
}

static void test_an_empty_tensor_fits_a_buffer_of_no_bytes(void **state) {
  expect_valid(pto_tensor_dense(memory(0x10000, 0), PTO_FLOAT32, SHAPE(0)));
}

static void test_a_zero_extent_excuses_the_overflow_of_the_others(void **state) {
  expect_valid(f32(SHAPE(UINT64_MAX, 0, UINT64_MAX)));
  expect_valid(f32(SHAPE(UINT64_MAX, UINT64_MAX, 0)));
}

static void test_a_product_of_the_shape_over_64_bits_is_refused(void **state) {
  expect_invalid(f32(SHAPE(UINT64_C(1) << 32, UINT64_C(1) << 32)),
                 "external tensor: shape [4294967296,4294967296] has more than 2^64 - 1 elements");
}

static void test_a_byte_count_over_64_bits_is_refused(void **state) {
  expect_invalid(f32(SHAPE(UINT64_C(1) << 62)),
                 "external tensor: shape [4611686018427387904] of f32 has 2^62 bytes or more");
}

static void test_the_whole_buffer_is_valid(void **state) {
  expect_valid(pto_tensor_dense(memory(0x10000, 48), PTO_FLOAT32, SHAPE(3, 4)));
}

static void test_one_byte_too_few_in_the_buffer_is_refused(void **state) {
  expect_invalid(pto_tensor_dense(memory(0x10000, 47), PTO_FLOAT32, SHAPE(3, 4)),
                 "external tensor: needs 48 bytes, its buffer has 47");
  expect_invalid(pto_tensor_dense(memory(0, 47), PTO_FLOAT32, SHAPE(3, 4)),
                 "managed tensor: needs 48 bytes, its buffer has 47");
}

static void test_an_element_larger_than_the_buffer_is_refused(void **state) {
  expect_invalid(pto_tensor_dense(memory(0x10000, 3), PTO_FLOAT32, 0, NULL),
                 "external tensor: needs 4 bytes, its buffer has 3");
}

static void test_an_address_off_its_element_size_is_refused(void **state) {
  expect_invalid(pto_tensor_dense(memory(0x10002, 64), PTO_FLOAT32, SHAPE(4)),
                 "external tensor: address 0x10002 is not aligned to the 4 bytes of f32");
  expect_invalid(pto_tensor_dense(memory(0x10004, 64), PTO_INT64, SHAPE(4)),
                 "external tensor: address 0x10004 is not aligned to the 8 bytes of i64");
  expect_valid(pto_tensor_dense(memory(0x10002, 64), PTO_FLOAT16, SHAPE(4)));
  expect_valid(pto_tensor_dense(memory(0x10001, 64), PTO_INT8, SHAPE(4)));
}

static void test_addresses_and_sizes_beyond_the_limit_are_refused(void **state) {
  expect_invalid(pto_tensor_dense(memory(UINT64_MAX - 63, 64), PTO_INT8, SHAPE(4)),
                 "external tensor: 64 bytes at address 0xffffffffffffffc0 reach beyond 2^62");
  expect_invalid(pto_tensor_dense(memory(0, UINT64_C(1) << 62), PTO_INT8, SHAPE(4)),
                 "managed tensor: 4611686018427387904 bytes at address 0x0 reach beyond 2^62");
}

static void test_a_size_beyond_32_bits_is_valid(void **state) {
  struct pto_tensor t =
      pto_tensor_dense(memory(0, UINT64_C(1) << 40), PTO_FLOAT32, SHAPE(UINT64_C(1) << 20, UINT64_C(1) << 18));
  expect_valid(t);
  assert_int_equal(pto_tensor_numel(&t), UINT64_C(1) << 38);
}

static void test_an_odd_count_of_4_bit_elements_takes_its_last_byte_whole(void **state) {
  expect_valid(pto_tensor_dense(memory(0x10000, 3), PTO_INT4, SHAPE(5)));
  expect_valid(pto_tensor_dense(memory(0x10000, 3), PTO_UINT4, SHAPE(6)));
  expect_invalid(pto_tensor_dense(memory(0x10000, 3), PTO_INT4, SHAPE(7)),
                 "external tensor: needs 4 bytes, its buffer has 3");
}

/* Fields filled in by hand: pto_tensor_status is asked, not a constructor. */

static void test_an_offset_by_hand_outside_the_buffer_is_found(void **state) {
  struct pto_tensor t = f32(SHAPE(4));
  t.start_offset = 1 << 18;
  expect_invalid(t, "tensor: offset 262144 f32 lies outside its buffer of 1048576 bytes");
  t.start_offset = UINT64_MAX;
  expect_invalid(t, "tensor: offset 18446744073709551615 f32 lies outside its buffer of 1048576 bytes");
  t.start_offset = (1 << 18) - 4;
  expect_valid(t);
  t.start_offset++;
  expect_invalid(t, "tensor: needs 1048580 bytes, its buffer has 1048576");
}

static void test_a_stride_by_hand_that_leaves_the_buffer_is_found(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 4));
  t.strides[0] = 87380;
  expect_valid(t);
  t.strides[0] = 87381;
  expect_invalid(t, "tensor: needs 1048588 bytes, its buffer has 1048576");
}

static void test_a_stride_by_hand_that_overflows_is_found(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 4));
  t.strides[0] = UINT64_MAX / 2;
  expect_invalid(t, "tensor: dimension 0: extent 4 with stride 9223372036854775807 overflows");
  t.shape[0] = 2;
  t.strides[1] = UINT64_MAX / 4;
  assert_int_equal(pto_tensor_status(&t), PTO_EINVAL);
}

static void test_a_stride_by_hand_of_a_single_index_does_not_matter(void **state) {
  struct pto_tensor t = f32(SHAPE(1, 4));
  t.strides[0] = UINT64_MAX;
  expect_valid(t);
}

static void test_a_rank_dtype_or_mode_by_hand_is_found(void **state) {
  struct pto_tensor t = f32(SHAPE(4));
  t.ndims = 9;
  expect_invalid(t, "tensor: rank 9 exceeds 8");
  t.ndims = 1;
  t.dtype = 77;
  expect_invalid(t, "tensor: 77 is no dtype");
  t.dtype = PTO_INT32;
  t.overlap = 2;
  expect_invalid(t, "tensor: 2 is no overlap mode");
}

static void test_an_empty_shape_by_hand_still_needs_a_rank_and_a_dtype(void **state) {
  struct pto_tensor t = f32(SHAPE(0, 4));
  t.strides[1] = UINT64_MAX;
  t.start_offset = UINT64_MAX;
  expect_valid(t);
  t.dtype = PTO_DTYPE_COUNT;
  expect_invalid(t, "tensor: 18 is no dtype");
}

static void test_a_shape_by_hand_with_too_many_elements_is_found(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 4));
  t.shape[0] = t.shape[1] = UINT64_C(1) << 32;
  t.strides[0] = t.strides[1] = 0;
  expect_invalid(t, "tensor: shape [4294967296,4294967296] has more than 2^64 - 1 elements");
}

static void test_a_4_bit_layout_by_hand_that_is_not_dense_is_found(void **state) {
  struct pto_tensor t = dense(PTO_INT4, SHAPE(4, 4));
  t.strides[0] = 8;
  expect_invalid(t, "tensor: i4 holds two elements a byte: shape [4,4] has to be contiguous from a whole byte on");
  t.strides[0] = 4;
  t.start_offset = 1;
  expect_invalid(t, "tensor: i4 holds two elements a byte: shape [4,4] has to be contiguous from a whole byte on");
  t.start_offset = 2;
  expect_valid(t);
}

static void test_a_status_by_hand_is_not_believed_to_be_good(void **state) {
  struct pto_tensor t = f32(SHAPE(4));
  t.status = 3;
  expect_invalid(t, "tensor: status 3 is none of a tensor");
  t.status = PTO_EINVAL;
  t.start_offset = 9999;
  expect_invalid(t, "tensor: bad argument (runtime error 5)");
}

static void test_no_tensor_is_refused(void **state) {
  char text[64];
  assert_int_equal(pto_tensor_status(NULL), PTO_EINVAL);
  assert_int_equal(pto_tensor_numel(NULL), 0);
  assert_false(pto_tensor_is_contiguous(NULL));
  pto_tensor_explain(NULL, text, sizeof text);
  assert_string_equal(text, "tensor: no tensor given");
  expect_invalid(pto_tensor_view(NULL, LIST(0), LIST(0)), "view: no tensor given");
}

static void test_reasons_of_the_runtime_have_their_status(void **state) {
  struct pto_tensor t = pto_tensor_invalid(PTO_MAKER_MANAGED, PTO_REASON_BUFFER_STALE, 12);
  char text[64];
  assert_int_equal(pto_tensor_status(&t), PTO_ESTALE);
  pto_tensor_explain(&t, text, sizeof text);
  assert_string_equal(text, "managed tensor: buffer 12 is used after its life");
  expect_invalid(pto_tensor_invalid(PTO_MAKER_EXTERNAL, PTO_REASON_NULL_ADDRESS, 0),
                 "external tensor: the address is NULL");
}

static void test_bytes_of_a_dense_shape_are_known_before_its_buffer(void **state) {
  uint64_t bytes = 1;
  assert_true(pto_tensor_dense_bytes(PTO_FLOAT32, SHAPE(3, 4), &bytes));
  assert_int_equal(bytes, 48);
  assert_true(pto_tensor_dense_bytes(PTO_INT4, SHAPE(5), &bytes));
  assert_int_equal(bytes, 3);
  assert_true(pto_tensor_dense_bytes(PTO_INT64, 0, NULL, &bytes));
  assert_int_equal(bytes, 8);
  assert_true(pto_tensor_dense_bytes(PTO_INT64, SHAPE(0, UINT64_MAX), &bytes));
  assert_int_equal(bytes, 0);
  assert_false(pto_tensor_dense_bytes(PTO_INT64, SHAPE(UINT64_C(1) << 61), &bytes));
  assert_false(pto_tensor_dense_bytes(PTO_INT8, SHAPE(UINT64_C(1) << 62), &bytes));
  assert_false(pto_tensor_dense_bytes(PTO_INT8, SHAPE(UINT64_MAX, UINT64_MAX), &bytes));
  assert_false(pto_tensor_dense_bytes(99, SHAPE(1), &bytes));
  assert_false(pto_tensor_dense_bytes(PTO_INT8, 9, NULL, &bytes));
}

/* ---- text ---- */

static void test_a_tensor_prints_as_one_line(void **state) {
  struct pto_tensor t = f32(SHAPE(64, 512)), v = pto_tensor_slice(&t, 1, 3, 512, 2);
  char text[128];
  pto_tensor_format(&t, text, sizeof text);
  assert_string_equal(text, "buffer 5 f32[64,512] strides [512,1] offset 0 v0");
  v = pto_tensor_with_overlap(&v, PTO_OVERLAP_FUZZY);
  v = pto_tensor_with_version(&v, 7);
  pto_tensor_format(&v, text, sizeof text);
  assert_string_equal(text, "buffer 5 f32[64,255] strides [512,2] offset 3 v7 fuzzy");
  t = dense(PTO_BFLOAT16, 0, NULL);
  pto_tensor_format(&t, text, sizeof text);
  assert_string_equal(text, "buffer 5 bf16[] strides [] offset 0 v0");
}

static void test_what_was_printed_parses_to_the_same_tensor(void **state) {
  struct pto_rng rng = {3};
  for (int i = 0; i < 3000; i++) {
    uint64_t shape[PTO_MAX_DIMS];
    uint32_t ndims = (uint32_t)pto_rng_below(&rng, 9);
    for (uint32_t k = 0; k < ndims; k++) shape[k] = pto_rng_below(&rng, 5);
    struct pto_tensor t = dense((uint32_t)pto_rng_below(&rng, PTO_DTYPE_COUNT), ndims, shape), parsed;
    char text[512];
    if (ndims > 0 && shape[0] > 0) {
      uint64_t start = pto_rng_below(&rng, shape[0]);
      struct pto_tensor s = pto_tensor_slice(&t, 0, start, shape[0], 1 + pto_rng_below(&rng, 3));
      if (s.status == PTO_OK) t = s;
    }
    t = pto_tensor_with_version(&t, (int32_t)pto_rng_next(&rng));
    t = pto_tensor_with_overlap(&t, (uint32_t)pto_rng_below(&rng, 2));
    int length = pto_tensor_format(&t, text, sizeof text);
    assert_int_equal(length, strlen(text));
    memset(&parsed, 0x55, sizeof parsed);
    assert_int_equal(pto_tensor_parse(text, t.buffer, &parsed), PTO_OK);
    for (uint32_t k = ndims; k < PTO_MAX_DIMS; k++) assert_int_equal(parsed.shape[k] | parsed.strides[k], 0);
    assert_int_equal(parsed.start_offset, t.start_offset);
    assert_int_equal(parsed.dtype, t.dtype);
    assert_int_equal(parsed.version, t.version);
    assert_int_equal(parsed.overlap, t.overlap);
    assert_int_equal(parsed.ndims, t.ndims);
    assert_memory_equal(parsed.shape, t.shape, sizeof t.shape);
    assert_memory_equal(parsed.strides, t.strides, sizeof t.strides);
  }
}

static void test_text_that_is_no_tensor_does_not_parse_and_changes_nothing(void **state) {
  static const char *const texts[] = {"",
                                      "buffer",
                                      "buffer x f32[4] strides [1] offset 0 v0",
                                      "buffer 5 f33[4] strides [1] offset 0 v0",
                                      "buffer 5 f32[4 strides [1] offset 0 v0",
                                      "buffer 5 f32[4] strides [1,2] offset 0 v0",
                                      "buffer 5 f32[4,] strides [1,1] offset 0 v0",
                                      "buffer 5 f32[-4] strides [1] offset 0 v0",
                                      "buffer 5 f32[4] strides [1] offset 0",
                                      "buffer 5 f32[4] strides [1] offset 0 v2147483648",
                                      "buffer 5 f32[4] strides [1] offset 0 v0 fuzzy ",
                                      "buffer 5 f32[4] strides [1] offset 0 v0x",
                                      "buffer 5 f32[18446744073709551616] strides [1] offset 0 v0",
                                      "buffer 5 f32[1,1,1,1,1,1,1,1,1] strides [1,1,1,1,1,1,1,1,1] offset 0 v0",
                                      "buffer 5 a_name_that_is_too_long_for_any_dtype[4] strides [1] offset 0 v0",
                                      "buffer 5 f32[4] strides [1] offset 99999999 v0", /* outside the buffer */
                                      "invalid tensor (view: dimension 1: offset 8 + extent 8 exceeds 12)"};
  struct pto_tensor t, before;
  memset(&t, 0x11, sizeof t);
  before = t;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(texts); i++) {
    assert_int_equal(pto_tensor_parse(texts[i], memory(0x10000, 1024), &t), PTO_EINVAL);
    assert_memory_equal(&t, &before, sizeof t);
  }
  assert_int_equal(pto_tensor_parse(NULL, memory(0x10000, 1024), &t), PTO_EINVAL);
}

static void test_text_is_cut_to_its_room_and_says_how_long_it_would_be(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 12)), bad = pto_tensor_view(&t, LIST(0, 8), LIST(4, 8));
  static const char whole[] = "view: dimension 1: offset 8 + extent 8 exceeds 12";
  static const char line[] = "buffer 5 f32[4,12] strides [12,1] offset 0 v0";
  for (size_t size = 0; size <= sizeof whole + 2; size++) {
    char text[64];
    memset(text, '#', sizeof text);
    assert_int_equal(pto_tensor_explain(&bad, text, size), sizeof whole - 1);
    size_t kept = size == 0 ? 0 : pto_min_u64(size - 1, sizeof whole - 1);
    assert_memory_equal(text, whole, kept);
    assert_int_equal(text[kept], size == 0 ? '#' : '\0');
    assert_int_equal(text[pto_max_u64(size, kept + 1)], '#');
    memset(text, '#', sizeof text);
    assert_int_equal(pto_tensor_format(&t, text, size), sizeof line - 1);
    kept = size == 0 ? 0 : pto_min_u64(size - 1, sizeof line - 1);
    assert_memory_equal(text, line, kept);
    assert_int_equal(text[kept], size == 0 ? '#' : '\0');
  }
  assert_int_equal(pto_tensor_format(&t, NULL, 0), sizeof line - 1);
}

static void test_an_invalid_tensor_prints_its_reason(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 12)), bad = pto_tensor_view(&t, LIST(0, 8), LIST(4, 8));
  char text[128];
  pto_tensor_format(&bad, text, sizeof text);
  assert_string_equal(text, "invalid tensor (view: dimension 1: offset 8 + extent 8 exceeds 12)");
  pto_tensor_explain(&t, text, sizeof text);
  assert_string_equal(text, "valid tensor");
}

static void test_every_reason_can_be_told_with_any_values(void **state) {
  for (uint32_t maker = 0; maker < PTO_MAKER_COUNT; maker++)
    for (uint32_t reason = 0; reason < PTO_REASON_COUNT_OF; reason++) {
      uint64_t values[PTO_TENSOR_REASON_VALUES];
      char text[1024];
      for (uint32_t i = 0; i < PTO_TENSOR_REASON_VALUES; i++) values[i] = UINT64_MAX - i;
      struct pto_tensor t = pto_tensor_invalid_values(maker, reason, PTO_TENSOR_REASON_VALUES, values);
      assert_true(t.status < 0);
      int length = pto_tensor_explain(&t, text, sizeof text);
      assert_int_equal(length, strlen(text));
      assert_null(strchr(text, '%'));
    }
}

/* ---- the hot check ---- */

static void test_the_inlined_check_agrees_with_the_whole_one(void **state) {
  struct pto_rng rng = {11};
  uint64_t valid = 0;
  for (int i = 0; i < 200000; i++) {
    struct pto_tensor t = {.buffer = memory(0x10000, pto_rng_below(&rng, 400))};
    t.buffer.base += pto_rng_below(&rng, 3) * 4;
    t.dtype = (uint32_t)pto_rng_below(&rng, 16);
    t.ndims = (uint32_t)pto_rng_below(&rng, 5);
    t.start_offset = pto_rng_below(&rng, 8) ? pto_rng_below(&rng, 20) : pto_rng_next(&rng);
    for (uint32_t k = 0; k < t.ndims; k++) {
      t.shape[k] = pto_rng_below(&rng, 20) ? pto_rng_below(&rng, 5) : pto_rng_next(&rng);
      t.strides[k] = pto_rng_below(&rng, 20) ? pto_rng_below(&rng, 12) : pto_rng_next(&rng);
    }
    assert_int_equal(pto_tensor_check(&t), pto_tensor_check_rare(&t));
    valid += pto_tensor_check(&t) == PTO_OK;
  }
  assert_in_range(valid, 20000, 180000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_rank_0_tensor_is_one_element),
      cmocka_unit_test(test_rank_8_is_valid),
      cmocka_unit_test(test_rank_9_is_refused),
      cmocka_unit_test(test_a_huge_rank_is_refused_without_reading_a_shape),
      cmocka_unit_test(test_a_reason_that_is_none_is_still_a_sentence),
      cmocka_unit_test(test_a_missing_shape_is_refused),
      cmocka_unit_test(test_an_unknown_dtype_is_refused),
      cmocka_unit_test(test_a_zero_extent_is_valid_and_empty),
      cmocka_unit_test(test_an_empty_tensor_fits_a_buffer_of_no_bytes),
      cmocka_unit_test(test_a_zero_extent_excuses_the_overflow_of_the_others),
      cmocka_unit_test(test_a_product_of_the_shape_over_64_bits_is_refused),
      cmocka_unit_test(test_a_byte_count_over_64_bits_is_refused),
      cmocka_unit_test(test_the_whole_buffer_is_valid),
      cmocka_unit_test(test_one_byte_too_few_in_the_buffer_is_refused),
      cmocka_unit_test(test_an_element_larger_than_the_buffer_is_refused),
      cmocka_unit_test(test_an_address_off_its_element_size_is_refused),
      cmocka_unit_test(test_addresses_and_sizes_beyond_the_limit_are_refused),
      cmocka_unit_test(test_a_size_beyond_32_bits_is_valid),
      cmocka_unit_test(test_an_odd_count_of_4_bit_elements_takes_its_last_byte_whole),
      cmocka_unit_test(test_an_offset_by_hand_outside_the_buffer_is_found),
      cmocka_unit_test(test_a_stride_by_hand_that_leaves_the_buffer_is_found),
      cmocka_unit_test(test_a_stride_by_hand_that_overflows_is_found),
      cmocka_unit_test(test_a_stride_by_hand_of_a_single_index_does_not_matter),
      cmocka_unit_test(test_a_rank_dtype_or_mode_by_hand_is_found),
      cmocka_unit_test(test_an_empty_shape_by_hand_still_needs_a_rank_and_a_dtype),
      cmocka_unit_test(test_a_shape_by_hand_with_too_many_elements_is_found),
      cmocka_unit_test(test_a_4_bit_layout_by_hand_that_is_not_dense_is_found),
      cmocka_unit_test(test_a_status_by_hand_is_not_believed_to_be_good),
      cmocka_unit_test(test_no_tensor_is_refused),
      cmocka_unit_test(test_reasons_of_the_runtime_have_their_status),
      cmocka_unit_test(test_bytes_of_a_dense_shape_are_known_before_its_buffer),
      cmocka_unit_test(test_a_tensor_prints_as_one_line),
      cmocka_unit_test(test_what_was_printed_parses_to_the_same_tensor),
      cmocka_unit_test(test_text_that_is_no_tensor_does_not_parse_and_changes_nothing),
      cmocka_unit_test(test_text_is_cut_to_its_room_and_says_how_long_it_would_be),
      cmocka_unit_test(test_an_invalid_tensor_prints_its_reason),
      cmocka_unit_test(test_every_reason_can_be_told_with_any_values),
      cmocka_unit_test(test_the_inlined_check_agrees_with_the_whole_one),
  };
  return cmocka_run_group_tests_name("tensor", tests, NULL, NULL);
}
