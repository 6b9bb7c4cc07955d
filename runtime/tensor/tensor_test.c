/* SPDX-License-Identifier: MIT */
/*
 * Descriptors: what is valid, what views give, counts and contiguity, and the sentence that each refusal leaves.
 *
 * Views are checked against the elements themselves: element i of a view has to be the element of the source that the
 * operation's definition names, found through offsets and not through strides.
 *
 * Long: one list of sentences, a test a rule.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include <runtime/tensor/region.h>
#include <runtime/tensor/tensor_make.h>

#define SHAPE(...)                                                                                                     \
  (uint32_t) PTO_ARRAY_LENGTH(((const uint64_t[]){__VA_ARGS__})), (const uint64_t[]) { __VA_ARGS__ }
#define LIST(...)                                                                                                      \
  (const uint64_t[]) { __VA_ARGS__ }
#define ORDER(...)                                                                                                     \
  (const uint32_t[]) { __VA_ARGS__ }

static struct pto_buffer memory(uint64_t base, uint64_t size_bytes) {
  return (struct pto_buffer){.id = 5, .generation = 1, .base = base, .size_bytes = size_bytes};
}

static struct pto_tensor dense(uint32_t dtype, uint32_t ndims, const uint64_t *shape) {
  return pto_tensor_dense(memory(0x10000, 1 << 20), dtype, ndims, shape);
}

static struct pto_tensor f32(uint32_t ndims, const uint64_t *shape) { return dense(PTO_FLOAT32, ndims, shape); }

static void expect_invalid(struct pto_tensor t, const char *sentence) {
  char text[512];
  int length = pto_tensor_explain(&t, text, sizeof text);
  assert_string_equal(text, sentence);
  assert_int_equal(length, strlen(sentence));
  assert_int_equal(pto_tensor_status(&t), PTO_EINVAL);
  assert_int_equal(pto_tensor_numel(&t), 0);
  assert_false(pto_tensor_is_contiguous(&t));
}

static void expect_valid(struct pto_tensor t) {
  char text[512];
  if (pto_tensor_status(&t) == PTO_OK) return;
  pto_tensor_explain(&t, text, sizeof text);
  fail_msg("%s", text);
}

static void expect_layout(struct pto_tensor t, uint64_t offset, uint32_t ndims, const uint64_t *shape,
                          const uint64_t *strides) {
  expect_valid(t);
  assert_int_equal(t.start_offset, offset);
  assert_int_equal(t.ndims, ndims);
  for (uint32_t i = 0; i < ndims; i++) {
    assert_int_equal(t.shape[i], shape[i]);
    assert_int_equal(t.strides[i], strides[i]);
  }
}

/* Offset of the element at `index`. */
static uint64_t at(const struct pto_tensor *t, const uint64_t *index) {
  uint64_t offset = t->start_offset;
  for (uint32_t i = 0; i < t->ndims; i++) offset += index[i] * t->strides[i];
  return offset;
}

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

static void test_a_missing_shape_is_refused(void **state) {
  expect_invalid(f32(2, NULL), "external tensor: no list of 2 numbers given");
}

static void test_an_unknown_dtype_is_refused(void **state) {
  expect_invalid(dense(PTO_DTYPE_COUNT, SHAPE(4)), "external tensor: 14 is no dtype");
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
  t.dtype = 14;
  expect_invalid(t, "tensor: 14 is no dtype");
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

/* ---- view ---- */

static void test_a_view_keeps_strides_and_moves_the_offset(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 12));
  expect_layout(pto_tensor_view(&t, LIST(1, 8), LIST(2, 4)), 20, SHAPE(2, 4), LIST(12, 1));
}

static void test_a_view_of_everything_is_the_tensor(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 12)), v = pto_tensor_view(&t, LIST(0, 0), LIST(4, 12));
  assert_memory_equal(&t, &v, sizeof t);
}

static void test_a_view_of_a_view_adds_the_offsets(void **state) {
  struct pto_tensor t = f32(SHAPE(10, 20)), v = pto_tensor_view(&t, LIST(2, 3), LIST(7, 11));
  struct pto_tensor w = pto_tensor_view(&v, LIST(1, 4), LIST(2, 5)),
                    direct = pto_tensor_view(&t, LIST(3, 7), LIST(2, 5));
  assert_memory_equal(&w, &direct, sizeof w);
}

static void test_a_view_may_end_where_its_tensor_ends(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 12));
  expect_layout(pto_tensor_view(&t, LIST(3, 11), LIST(1, 1)), 47, SHAPE(1, 1), LIST(12, 1));
}

static void test_a_view_beyond_the_end_says_by_how_much(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 12));
  expect_invalid(pto_tensor_view(&t, LIST(0, 8), LIST(4, 8)), "view: dimension 1: offset 8 + extent 8 exceeds 12");
  expect_invalid(pto_tensor_view(&t, LIST(5, 0), LIST(0, 1)), "view: dimension 0: offset 5 + extent 0 exceeds 4");
}

static void test_a_view_whose_end_overflows_is_refused(void **state) {
  struct pto_tensor t = f32(SHAPE(12));
  expect_invalid(pto_tensor_view(&t, LIST(2), LIST(UINT64_MAX)),
                 "view: dimension 0: offset 2 + extent 18446744073709551615 exceeds 12");
}

static void test_a_view_without_its_lists_is_refused(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 12));
  expect_invalid(pto_tensor_view(&t, NULL, LIST(4, 8)), "view: no list of 2 numbers given");
  expect_invalid(pto_tensor_view(&t, LIST(0, 0), NULL), "view: no list of 2 numbers given");
}

static void test_an_empty_view_at_the_very_end_is_valid(void **state) {
  struct pto_tensor t = pto_tensor_dense(memory(0x10000, 48), PTO_FLOAT32, SHAPE(12));
  struct pto_tensor v = pto_tensor_view(&t, LIST(12), LIST(0));
  expect_valid(v);
  assert_int_equal(pto_tensor_numel(&v), 0);
}

static void test_a_view_of_a_scalar_is_the_scalar(void **state) {
  struct pto_tensor t = f32(0, NULL);
  expect_layout(pto_tensor_view(&t, NULL, NULL), 0, 0, NULL, NULL);
}

static void test_a_view_of_rank_8_takes_each_dimension(void **state) {
  struct pto_tensor t = f32(SHAPE(2, 2, 2, 2, 2, 2, 2, 2));
  expect_layout(pto_tensor_view(&t, LIST(1, 0, 1, 0, 1, 0, 1, 0), LIST(1, 2, 1, 2, 1, 2, 1, 2)), 128 + 32 + 8 + 2,
                SHAPE(1, 2, 1, 2, 1, 2, 1, 2), LIST(128, 64, 32, 16, 8, 4, 2, 1));
}

static void test_a_4_bit_view_has_to_stay_dense_and_on_whole_bytes(void **state) {
  struct pto_tensor t = dense(PTO_INT4, SHAPE(4, 6));
  expect_layout(pto_tensor_view(&t, LIST(1, 0), LIST(2, 6)), 6, SHAPE(2, 6), LIST(6, 1));
  expect_invalid(pto_tensor_view(&t, LIST(0, 0), LIST(4, 4)),
                 "view: i4 holds two elements a byte: shape [4,4] has to be contiguous from a whole byte on");
  expect_invalid(pto_tensor_view(&t, LIST(0, 1), LIST(1, 4)),
                 "view: i4 holds two elements a byte: shape [1,4] has to be contiguous from a whole byte on");
}

/* ---- slice ---- */

static void test_a_slice_takes_every_step_th_index(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 12)), s = pto_tensor_slice(&t, 1, 1, 12, 3);
  expect_layout(s, 1, SHAPE(4, 4), LIST(12, 3));
  for (uint64_t i = 0; i < 4; i++)
    for (uint64_t j = 0; j < 4; j++) assert_int_equal(at(&s, LIST(i, j)), at(&t, LIST(i, 1 + 3 * j)));
}

static void test_a_stepped_slice_keeps_its_last_index(void **state) {
  struct pto_tensor t = f32(SHAPE(10));
  expect_layout(pto_tensor_slice(&t, 0, 0, 10, 3), 0, SHAPE(4), LIST(3));
  expect_layout(pto_tensor_slice(&t, 0, 0, 9, 3), 0, SHAPE(3), LIST(3));
  expect_layout(pto_tensor_slice(&t, 0, 1, 10, 9), 1, SHAPE(1), LIST(9));
}

static void test_a_slice_of_step_1_is_a_view(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 12)), s = pto_tensor_slice(&t, 0, 1, 3, 1),
                    v = pto_tensor_view(&t, LIST(1, 0), LIST(2, 12));
  assert_memory_equal(&s, &v, sizeof s);
}

static void test_a_slice_of_a_slice_multiplies_the_steps(void **state) {
  struct pto_tensor t = f32(SHAPE(100)), s = pto_tensor_slice(&t, 0, 5, 100, 3);
  expect_layout(pto_tensor_slice(&s, 0, 1, 20, 4), 8, SHAPE(5), LIST(12));
}

static void test_a_slice_of_nothing_is_empty(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 12));
  for (uint64_t i = 0; i <= 12; i++) {
    struct pto_tensor s = pto_tensor_slice(&t, 1, i, i, 1);
    expect_valid(s);
    assert_int_equal(pto_tensor_numel(&s), 0);
  }
}

static void test_a_slice_with_a_huge_step_takes_its_first_index(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 12)), s = pto_tensor_slice(&t, 0, 2, 4, UINT64_MAX);
  expect_valid(s);
  assert_int_equal(s.shape[0], 1);
  assert_int_equal(at(&s, LIST(0, 5)), at(&t, LIST(2, 5)));
}

static void test_a_slice_out_of_its_extent_is_refused(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 12));
  expect_invalid(pto_tensor_slice(&t, 1, 0, 13, 1),
                 "slice: dimension 1: start 0, end 13 do not lie in order within 0 … 12");
  expect_invalid(pto_tensor_slice(&t, 1, 5, 4, 1),
                 "slice: dimension 1: start 5, end 4 do not lie in order within 0 … 12");
}

static void test_a_slice_of_step_0_is_refused(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 12));
  expect_invalid(pto_tensor_slice(&t, 1, 0, 12, 0), "slice: dimension 1: step 0");
}

static void test_a_slice_of_a_dimension_that_is_not_there_is_refused(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 12)), scalar = f32(0, NULL);
  expect_invalid(pto_tensor_slice(&t, 2, 0, 1, 1), "slice: dimension 2 of a tensor of rank 2");
  expect_invalid(pto_tensor_slice(&scalar, 0, 0, 1, 1), "slice: dimension 0 of a tensor of rank 0");
}

/* ---- permute, transpose ---- */

static void test_a_permutation_moves_pairs_of_extent_and_stride(void **state) {
  struct pto_tensor t = f32(SHAPE(2, 3, 4)), p = pto_tensor_permute(&t, ORDER(2, 0, 1));
  expect_layout(p, 0, SHAPE(4, 2, 3), LIST(1, 12, 4));
  assert_int_equal(at(&p, LIST(3, 1, 2)), at(&t, LIST(1, 2, 3)));
}

static void test_a_permutation_and_its_inverse_give_the_tensor_back(void **state) {
  struct pto_tensor t = f32(SHAPE(2, 3, 4, 5)), p = pto_tensor_permute(&t, ORDER(2, 0, 3, 1));
  struct pto_tensor back = pto_tensor_permute(&p, ORDER(1, 3, 0, 2));
  assert_memory_equal(&back, &t, sizeof t);
}

static void test_a_transpose_swaps_two_dimensions(void **state) {
  struct pto_tensor t = f32(SHAPE(2, 3, 4)), swapped = pto_tensor_transpose(&t, 0, 2);
  expect_layout(swapped, 0, SHAPE(4, 3, 2), LIST(1, 4, 12));
  swapped = pto_tensor_transpose(&swapped, 2, 0);
  assert_memory_equal(&swapped, &t, sizeof t);
}

static void test_a_transpose_of_a_dimension_with_itself_changes_nothing(void **state) {
  struct pto_tensor t = f32(SHAPE(2, 3)), same = pto_tensor_transpose(&t, 1, 1);
  assert_memory_equal(&same, &t, sizeof t);
}

static void test_an_order_that_is_no_permutation_is_refused(void **state) {
  struct pto_tensor t = f32(SHAPE(2, 3, 4));
  expect_invalid(pto_tensor_permute(&t, ORDER(0, 1, 1)), "permute: order [0,1,1] is no permutation");
  expect_invalid(pto_tensor_permute(&t, ORDER(0, 1, 3)), "permute: order [0,1,3] is no permutation");
  expect_invalid(pto_tensor_permute(&t, ORDER(UINT32_MAX, 1, 0)), "permute: order [4294967295,1,0] is no permutation");
  expect_invalid(pto_tensor_permute(&t, NULL), "permute: no list of 3 numbers given");
}

static void test_a_transpose_of_a_dimension_that_is_not_there_is_refused(void **state) {
  struct pto_tensor t = f32(SHAPE(2, 3));
  expect_invalid(pto_tensor_transpose(&t, 0, 2), "transpose: dimension 2 of a tensor of rank 2");
  expect_invalid(pto_tensor_transpose(&t, 7, 0), "transpose: dimension 7 of a tensor of rank 2");
}

static void test_a_scalar_has_one_permutation(void **state) {
  struct pto_tensor t = f32(0, NULL);
  expect_layout(pto_tensor_permute(&t, NULL), 0, 0, NULL, NULL);
}

/* ---- reshape ---- */

static void test_a_reshape_keeps_the_elements_in_row_major_order(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 6)), r = pto_tensor_reshape(&t, SHAPE(3, 8));
  expect_layout(r, 0, SHAPE(3, 8), LIST(8, 1));
  for (uint64_t k = 0; k < 24; k++) assert_int_equal(at(&r, LIST(k / 8, k % 8)), at(&t, LIST(k / 6, k % 6)));
}

static void test_a_reshape_there_and_back_gives_the_tensor_back(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 6)), r = pto_tensor_reshape(&t, SHAPE(2, 2, 2, 3));
  r = pto_tensor_reshape(&r, SHAPE(4, 6));
  assert_memory_equal(&r, &t, sizeof t);
}

static void test_a_reshape_of_a_contiguous_view_keeps_its_offset(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 6)), v = pto_tensor_view(&t, LIST(1, 0), LIST(2, 6));
  expect_layout(pto_tensor_reshape(&v, SHAPE(12)), 6, SHAPE(12), LIST(1));
}

static void test_a_reshape_to_a_scalar_and_back_takes_one_element(void **state) {
  struct pto_tensor t = f32(SHAPE(1, 1)), r = pto_tensor_reshape(&t, 0, NULL);
  expect_layout(r, 0, 0, NULL, NULL);
  expect_layout(pto_tensor_reshape(&r, SHAPE(1, 1, 1)), 0, SHAPE(1, 1, 1), LIST(1, 1, 1));
}

static void test_a_reshape_of_an_empty_tensor_may_be_empty_in_another_way(void **state) {
  struct pto_tensor t = f32(SHAPE(0, 6)), r = pto_tensor_reshape(&t, SHAPE(3, 0, 7));
  expect_valid(r);
  assert_int_equal(pto_tensor_numel(&r), 0);
}

static void test_a_reshape_to_another_count_is_refused(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 6));
  expect_invalid(pto_tensor_reshape(&t, SHAPE(5, 5)), "reshape: shape [5,5] has 25 elements, the tensor has 24");
  expect_invalid(pto_tensor_reshape(&t, SHAPE(0)), "reshape: shape [0] has 0 elements, the tensor has 24");
}

static void test_a_reshape_whose_count_wraps_to_the_right_one_is_refused(void **state) {
  struct pto_tensor t = f32(SHAPE(4));
  expect_invalid(pto_tensor_reshape(&t, SHAPE((UINT64_C(1) << 62) + 1, 4)),
                 "reshape: shape [4611686018427387905,4] has more than 2^64 - 1 elements");
}

static void test_a_reshape_of_a_tile_is_refused(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 16)), v = pto_tensor_view(&t, LIST(0, 0), LIST(4, 8));
  expect_invalid(pto_tensor_reshape(&v, SHAPE(32)),
                 "reshape: shape [4,8] is not contiguous: dimension 0 has stride 16, not 8");
}

static void test_a_reshape_of_a_transposed_tensor_is_refused(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 6)), v = pto_tensor_transpose(&t, 0, 1);
  expect_invalid(pto_tensor_reshape(&v, SHAPE(24)),
                 "reshape: shape [6,4] is not contiguous: dimension 1 has stride 6, not 1");
}

static void test_a_reshape_to_rank_9_is_refused(void **state) {
  struct pto_tensor t = f32(SHAPE(1));
  expect_invalid(pto_tensor_reshape(&t, SHAPE(1, 1, 1, 1, 1, 1, 1, 1, 1)), "reshape: rank 9 exceeds 8");
  expect_invalid(pto_tensor_reshape(&t, 1, NULL), "reshape: no list of 1 numbers given");
}

/* ---- broadcast ---- */

static void test_a_broadcast_repeats_extents_of_1_with_stride_0(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 1)), b = pto_tensor_broadcast(&t, SHAPE(3, 4, 5));
  expect_layout(b, 0, SHAPE(3, 4, 5), LIST(0, 1, 0));
  assert_int_equal(at(&b, LIST(2, 3, 4)), at(&t, LIST(3, 0)));
}

static void test_a_broadcast_to_the_same_shape_changes_nothing(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 1, 3)), b = pto_tensor_broadcast(&t, SHAPE(4, 1, 3));
  assert_memory_equal(&b, &t, sizeof t);
}

static void test_a_scalar_broadcasts_to_any_shape(void **state) {
  struct pto_tensor t = f32(0, NULL);
  expect_layout(pto_tensor_broadcast(&t, SHAPE(7, 9)), 0, SHAPE(7, 9), LIST(0, 0));
}

static void test_a_broadcast_to_no_index_is_empty(void **state) {
  struct pto_tensor t = f32(SHAPE(1, 4)), b = pto_tensor_broadcast(&t, SHAPE(0, 4));
  expect_valid(b);
  assert_int_equal(pto_tensor_numel(&b), 0);
}

static void test_a_broadcast_of_another_extent_is_refused(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 3));
  expect_invalid(pto_tensor_broadcast(&t, SHAPE(2, 4, 5)), "broadcast: dimension 2: extent 3 cannot become 5");
  expect_invalid(pto_tensor_broadcast(&t, SHAPE(3)), "broadcast: rank 1 is less than the tensor's 2");
  expect_invalid(pto_tensor_broadcast(&t, SHAPE(1, 1, 1, 1, 1, 1, 1, 4, 3)), "broadcast: rank 9 exceeds 8");
}

static void test_a_broadcast_to_too_many_elements_is_refused(void **state) {
  struct pto_tensor t = f32(SHAPE(1, 1));
  expect_invalid(pto_tensor_broadcast(&t, SHAPE(UINT64_C(1) << 40, UINT64_C(1) << 40)),
                 "broadcast: shape [1099511627776,1099511627776] has more than 2^64 - 1 elements");
}

static void test_one_element_that_is_broadcast_to_several_shares_its_bytes(void **state) {
  struct pto_tensor scalar = f32(0, NULL);
  struct pto_tensor line = pto_tensor_broadcast(&scalar, SHAPE(4)), plane = pto_tensor_broadcast(&scalar, SHAPE(3, 4));
  assert_true(pto_tensor_shares_bytes(&line));
  assert_true(pto_tensor_shares_bytes(&plane));
}

static void test_a_broadcast_tensor_shares_bytes_and_a_view_of_one_index_does_not(void **state) {
  struct pto_tensor t = f32(SHAPE(1, 4)), b = pto_tensor_broadcast(&t, SHAPE(3, 4)),
                    one = pto_tensor_slice(&b, 0, 1, 2, 1);
  struct pto_tensor none = pto_tensor_slice(&b, 1, 2, 2, 1);
  assert_false(pto_tensor_shares_bytes(&t));
  assert_true(pto_tensor_shares_bytes(&b));
  assert_false(pto_tensor_shares_bytes(&one));
  assert_false(pto_tensor_shares_bytes(&none));
}

static void test_strides_by_hand_share_bytes_only_where_two_indices_meet(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 4));
  t.strides[0] = 3; /* a sliding window */
  assert_true(pto_tensor_shares_bytes(&t));
  t.shape[1] = 3;
  assert_false(pto_tensor_shares_bytes(&t));
  t.strides[0] = 5, t.strides[1] = 3; /* they interleave, and meet first at 3·5 = 5·3 */
  assert_false(pto_tensor_shares_bytes(&t));
  t.shape[1] = 6;
  assert_true(pto_tensor_shares_bytes(&t));
}

/* ---- reinterpret ---- */

static void test_a_reinterpretation_of_equal_size_changes_the_dtype_alone(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 6)), v = pto_tensor_transpose(&t, 0, 1), r = pto_tensor_reinterpret(&v, PTO_INT32);
  assert_int_equal(r.dtype, PTO_INT32);
  r.dtype = PTO_FLOAT32;
  assert_memory_equal(&r, &v, sizeof v);
}

static void test_a_reinterpretation_to_smaller_elements_multiplies(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 6)), v = pto_tensor_view(&t, LIST(1, 2), LIST(2, 3));
  expect_layout(pto_tensor_reinterpret(&v, PTO_INT8), 32, SHAPE(2, 12), LIST(24, 1));
}

static void test_a_reinterpretation_to_larger_elements_divides(void **state) {
  struct pto_tensor t = dense(PTO_INT16, SHAPE(4, 8)), v = pto_tensor_view(&t, LIST(0, 4), LIST(4, 4));
  expect_layout(pto_tensor_reinterpret(&v, PTO_INT64), 1, SHAPE(4, 1), LIST(2, 1));
}

static void test_a_reinterpretation_there_and_back_gives_the_tensor_back(void **state) {
  for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++) {
    struct pto_tensor t = dense(PTO_INT64, SHAPE(4, 6)), r = pto_tensor_reinterpret(&t, dtype);
    expect_valid(r);
    r = pto_tensor_reinterpret(&r, PTO_INT64);
    assert_memory_equal(&r, &t, sizeof t);
  }
}

static void test_a_reinterpretation_between_4_bits_and_bytes_counts_two_a_byte(void **state) {
  struct pto_tensor t = dense(PTO_INT4, SHAPE(3, 6)), odd = dense(PTO_INT4, SHAPE(2, 3));
  expect_layout(pto_tensor_reinterpret(&t, PTO_UINT8), 0, SHAPE(3, 3), LIST(3, 1));
  expect_invalid(pto_tensor_reinterpret(&odd, PTO_UINT8),
                 "reinterpret: innermost extent: 3 i4 are no whole number of u8");
}

static void test_a_reinterpretation_to_4_bits_needs_a_dense_tensor(void **state) {
  struct pto_tensor t = dense(PTO_UINT8, SHAPE(4, 8)), v = pto_tensor_view(&t, LIST(0, 0), LIST(4, 4));
  expect_invalid(pto_tensor_reinterpret(&v, PTO_UINT4),
                 "reinterpret: u4 holds two elements a byte: shape [4,8] has to be contiguous from a whole byte on");
}

static void test_a_reinterpretation_of_gaps_is_refused(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 6)), v = pto_tensor_slice(&t, 1, 0, 6, 2);
  expect_invalid(pto_tensor_reinterpret(&v, PTO_INT8), "reinterpret: innermost stride is 2, not 1");
  v = pto_tensor_transpose(&t, 0, 1);
  expect_invalid(pto_tensor_reinterpret(&v, PTO_INT64), "reinterpret: innermost stride is 6, not 1");
}

static void test_a_reinterpretation_that_does_not_divide_is_refused(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 6)), v = pto_tensor_view(&t, LIST(0, 0), LIST(4, 3));
  expect_invalid(pto_tensor_reinterpret(&v, PTO_INT64),
                 "reinterpret: innermost extent: 3 f32 are no whole number of i64");
  v = pto_tensor_view(&t, LIST(0, 1), LIST(4, 4));
  expect_invalid(pto_tensor_reinterpret(&v, PTO_INT64), "reinterpret: an offset of 1 f32 is no whole number of i64");
  t = f32(SHAPE(4, 7)), v = pto_tensor_view(&t, LIST(0, 0), LIST(4, 4));
  expect_invalid(pto_tensor_reinterpret(&v, PTO_INT64),
                 "reinterpret: dimension 0: a stride of 7 f32 is no whole number of i64");
}

static void test_a_reinterpretation_of_one_odd_row_is_valid(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 7)), v = pto_tensor_view(&t, LIST(2, 0), LIST(1, 4));
  struct pto_tensor r = pto_tensor_reinterpret(&v, PTO_INT64);
  expect_valid(r);
  assert_int_equal(r.start_offset, 7);
  assert_int_equal(r.shape[1], 2);
}

static void test_a_reinterpretation_off_the_alignment_of_its_base_is_refused(void **state) {
  struct pto_tensor t = pto_tensor_dense(memory(0x10004, 64), PTO_FLOAT32, SHAPE(4));
  expect_invalid(pto_tensor_reinterpret(&t, PTO_INT64),
                 "reinterpret: address 0x10004 is not aligned to the 8 bytes of i64");
}

static void test_a_reinterpretation_of_a_scalar_keeps_its_size(void **state) {
  struct pto_tensor t = f32(0, NULL);
  expect_layout(pto_tensor_reinterpret(&t, PTO_UINT32), 0, 0, NULL, NULL);
  expect_invalid(pto_tensor_reinterpret(&t, PTO_INT16), "reinterpret: a scalar of f32 has 32 bits, i16 has 16");
  expect_invalid(pto_tensor_reinterpret(&t, 14), "reinterpret: 14 is no dtype");
}

static void test_a_reinterpretation_of_a_broadcast_keeps_stride_0(void **state) {
  struct pto_tensor t = f32(SHAPE(1, 6)), b = pto_tensor_broadcast(&t, SHAPE(5, 6));
  expect_layout(pto_tensor_reinterpret(&b, PTO_INT16), 0, SHAPE(5, 12), LIST(0, 1));
}

/* ---- version, overlap, chains ---- */

static void test_a_version_and_an_overlap_mode_go_with_every_view(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 6)), v = pto_tensor_with_version(&t, -3);
  v = pto_tensor_with_overlap(&v, PTO_OVERLAP_FUZZY);
  v = pto_tensor_view(&v, LIST(1, 0), LIST(2, 6));
  v = pto_tensor_reshape(&v, SHAPE(12));
  v = pto_tensor_reinterpret(&v, PTO_INT8);
  v = pto_tensor_slice(&v, 0, 0, 48, 2);
  assert_int_equal(v.version, -3);
  assert_int_equal(v.overlap, PTO_OVERLAP_FUZZY);
  assert_int_equal(v.buffer.id, 5);
  expect_valid(v);
}

static void test_an_unknown_overlap_mode_is_refused(void **state) {
  struct pto_tensor t = f32(SHAPE(4));
  expect_invalid(pto_tensor_with_overlap(&t, 2), "with_overlap: 2 is no overlap mode");
}

static void test_every_view_of_an_invalid_tensor_keeps_the_first_reason(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 12)), bad = pto_tensor_view(&t, LIST(0, 8), LIST(4, 8));
  const struct pto_tensor views[] = {pto_tensor_view(&bad, LIST(0, 0), LIST(1, 1)),
                                     pto_tensor_slice(&bad, 0, 0, 1, 0),
                                     pto_tensor_permute(&bad, ORDER(5)),
                                     pto_tensor_transpose(&bad, 9, 9),
                                     pto_tensor_reshape(&bad, 9, NULL),
                                     pto_tensor_broadcast(&bad, SHAPE(2)),
                                     pto_tensor_reinterpret(&bad, 99),
                                     pto_tensor_with_version(&bad, 1),
                                     pto_tensor_with_overlap(&bad, 7)};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(views); i++)
    expect_invalid(views[i], "view: dimension 1: offset 8 + extent 8 exceeds 12");
}

static void test_a_view_of_fields_filled_in_by_hand_names_them(void **state) {
  struct pto_tensor t = f32(SHAPE(4));
  t.ndims = 12;
  expect_invalid(pto_tensor_slice(&t, 0, 0, 1, 1), "tensor: rank 12 exceeds 8");
}

/* ---- counts, contiguity, canonical form ---- */

static void test_the_element_count_is_the_product_of_the_shape(void **state) {
  struct pto_tensor t = f32(SHAPE(3, 5, 7)), b = f32(SHAPE(1, 7));
  assert_int_equal(pto_tensor_numel(&t), 105);
  t = pto_tensor_slice(&t, 1, 0, 5, 2);
  assert_int_equal(pto_tensor_numel(&t), 63);
  b = pto_tensor_broadcast(&b, SHAPE(1000, 7));
  assert_int_equal(pto_tensor_numel(&b), 7000);
}

static void test_dense_tensors_and_row_blocks_are_contiguous(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 6)), v = pto_tensor_view(&t, LIST(1, 0), LIST(2, 6));
  assert_true(pto_tensor_is_contiguous(&t));
  assert_true(pto_tensor_is_contiguous(&v));
}

static void test_tiles_steps_and_transposes_are_not_contiguous(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 6)), v = pto_tensor_view(&t, LIST(0, 1), LIST(4, 5));
  assert_false(pto_tensor_is_contiguous(&v));
  v = pto_tensor_slice(&t, 0, 0, 4, 2);
  assert_false(pto_tensor_is_contiguous(&v));
  v = pto_tensor_transpose(&t, 0, 1);
  assert_false(pto_tensor_is_contiguous(&v));
  t = f32(SHAPE(1));
  v = pto_tensor_broadcast(&t, SHAPE(3));
  assert_false(pto_tensor_is_contiguous(&v));
}

static void test_extents_of_1_do_not_break_contiguity(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 1, 6)), v = pto_tensor_permute(&t, ORDER(1, 0, 2));
  assert_true(pto_tensor_is_contiguous(&v));
  t = f32(SHAPE(4, 6));
  v = pto_tensor_view(&t, LIST(2, 1), LIST(1, 3));
  assert_true(pto_tensor_is_contiguous(&v));
  v = pto_tensor_slice(&t, 0, 0, 4, 4);
  assert_true(pto_tensor_is_contiguous(&v));
}

static void test_an_empty_tensor_is_contiguous_whatever_its_strides(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 6)), v = pto_tensor_transpose(&t, 0, 1);
  v = pto_tensor_slice(&v, 0, 3, 3, 1);
  assert_true(pto_tensor_is_contiguous(&v));
}

static void expect_region(struct pto_tensor t, uint64_t start, uint64_t run_bytes, uint32_t ndims,
                          const uint64_t *extents, const uint64_t *strides) {
  struct pto_region r;
  expect_valid(t);
  pto_region_from_tensor(&t, 1000, &r);
  assert_int_equal(r.start, 1000 + start);
  assert_int_equal(r.run_bytes, run_bytes);
  assert_int_equal(r.ndims, ndims);
  uint64_t end = r.start + run_bytes;
  for (uint32_t k = 0; k < ndims; k++) {
    assert_int_equal(r.extents[k], extents[k]);
    assert_int_equal(r.strides[k], strides[k]);
    end += (extents[k] - 1) * strides[k];
  }
  assert_int_equal(r.end, end);
}

static void test_a_dense_tensor_is_one_run(void **state) {
  expect_region(f32(SHAPE(12)), 0, 48, 0, NULL, NULL);
  expect_region(f32(SHAPE(3, 4)), 0, 48, 0, NULL, NULL);
  expect_region(f32(SHAPE(2, 3, 4)), 0, 96, 0, NULL, NULL);
  expect_region(f32(SHAPE(1, 2, 1, 3, 1, 4, 1, 1)), 0, 96, 0, NULL, NULL);
  expect_region(f32(0, NULL), 0, 4, 0, NULL, NULL);
  expect_region(dense(PTO_INT4, SHAPE(3, 5)), 0, 8, 0, NULL, NULL);
}

static void test_a_tile_is_runs_a_pitch_apart(void **state) {
  struct pto_tensor t = f32(SHAPE(8, 16)), v = pto_tensor_view(&t, LIST(2, 4), LIST(3, 8));
  expect_region(v, (2 * 16 + 4) * 4, 32, 1, LIST(3), LIST(64));
  t = f32(SHAPE(4, 8, 16)), v = pto_tensor_view(&t, LIST(1, 2, 4), LIST(2, 3, 8));
  expect_region(v, (128 + 2 * 16 + 4) * 4, 32, 2, LIST(2, 3), LIST(512, 64));
}

static void test_whole_rows_are_one_run_and_one_row_too(void **state) {
  struct pto_tensor t = f32(SHAPE(8, 16)), v = pto_tensor_view(&t, LIST(2, 0), LIST(3, 16));
  expect_region(v, 128, 192, 0, NULL, NULL);
  v = pto_tensor_view(&t, LIST(2, 3), LIST(1, 5));
  expect_region(v, 140, 20, 0, NULL, NULL);
}

static void test_a_column_is_its_elements(void **state) {
  struct pto_tensor t = f32(SHAPE(8, 16)), v = pto_tensor_view(&t, LIST(0, 5), LIST(8, 1));
  expect_region(v, 20, 4, 1, LIST(8), LIST(64));
}

static void test_a_step_through_whole_rows_is_one_dimension(void **state) {
  struct pto_tensor t = f32(SHAPE(8, 16)), v = pto_tensor_slice(&t, 1, 0, 16, 2);
  expect_region(v, 0, 4, 1, LIST(64), LIST(8));
  t = f32(SHAPE(8, 7)), v = pto_tensor_slice(&t, 1, 0, 7, 2);
  expect_region(v, 0, 4, 2, LIST(8, 4), LIST(28, 8));
}

static void test_a_transposed_tensor_has_the_region_of_its_source(void **state) {
  struct pto_tensor t = f32(SHAPE(8, 16)), v = pto_tensor_view(&t, LIST(2, 4), LIST(3, 8));
  v = pto_tensor_transpose(&v, 0, 1);
  expect_region(v, (2 * 16 + 4) * 4, 32, 1, LIST(3), LIST(64));
}

static void test_a_broadcast_has_the_region_of_its_source(void **state) {
  struct pto_tensor t = f32(SHAPE(1, 16)), v = pto_tensor_broadcast(&t, SHAPE(9, 16));
  expect_region(v, 0, 64, 0, NULL, NULL);
}

static void test_a_sliding_window_by_hand_is_the_run_that_it_covers(void **state) {
  struct pto_tensor t = f32(SHAPE(6, 4));
  t.strides[0] = 1;
  expect_region(t, 0, 36, 0, NULL, NULL);
  t.strides[0] = 2;
  expect_region(t, 0, 56, 0, NULL, NULL);
}

static void test_an_empty_tensor_has_an_empty_region(void **state) {
  struct pto_tensor t = f32(SHAPE(8, 16)), v = pto_tensor_view(&t, LIST(2, 4), LIST(0, 8));
  struct pto_region r;
  pto_region_from_tensor(&v, 1000, &r);
  assert_true(pto_region_is_empty(&r));
  assert_int_equal(pto_region_bytes(&r), 0);
  assert_int_equal(r.start, r.end);
  assert_int_equal(r.ndims, 0);
}

static void test_the_bytes_of_a_region_count_each_byte_once(void **state) {
  struct pto_tensor t = f32(SHAPE(8, 16)), v = pto_tensor_view(&t, LIST(2, 4), LIST(3, 8));
  struct pto_region r;
  pto_region_from_tensor(&v, 0, &r);
  assert_int_equal(pto_region_bytes(&r), 96);
}

static void test_a_region_knows_that_it_is_fuzzy(void **state) {
  struct pto_tensor t = f32(SHAPE(8, 16)), v = pto_tensor_with_overlap(&t, PTO_OVERLAP_FUZZY);
  struct pto_region r;
  pto_region_from_tensor(&v, 0, &r);
  assert_int_equal(r.is_fuzzy, 1);
  pto_region_from_tensor(&t, 0, &r);
  assert_int_equal(r.is_fuzzy, 0);
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
      cmocka_unit_test(test_a_view_keeps_strides_and_moves_the_offset),
      cmocka_unit_test(test_a_view_of_everything_is_the_tensor),
      cmocka_unit_test(test_a_view_of_a_view_adds_the_offsets),
      cmocka_unit_test(test_a_view_may_end_where_its_tensor_ends),
      cmocka_unit_test(test_a_view_beyond_the_end_says_by_how_much),
      cmocka_unit_test(test_a_view_whose_end_overflows_is_refused),
      cmocka_unit_test(test_a_view_without_its_lists_is_refused),
      cmocka_unit_test(test_an_empty_view_at_the_very_end_is_valid),
      cmocka_unit_test(test_a_view_of_a_scalar_is_the_scalar),
      cmocka_unit_test(test_a_view_of_rank_8_takes_each_dimension),
      cmocka_unit_test(test_a_4_bit_view_has_to_stay_dense_and_on_whole_bytes),
      cmocka_unit_test(test_a_slice_takes_every_step_th_index),
      cmocka_unit_test(test_a_stepped_slice_keeps_its_last_index),
      cmocka_unit_test(test_a_slice_of_step_1_is_a_view),
      cmocka_unit_test(test_a_slice_of_a_slice_multiplies_the_steps),
      cmocka_unit_test(test_a_slice_of_nothing_is_empty),
      cmocka_unit_test(test_a_slice_with_a_huge_step_takes_its_first_index),
      cmocka_unit_test(test_a_slice_out_of_its_extent_is_refused),
      cmocka_unit_test(test_a_slice_of_step_0_is_refused),
      cmocka_unit_test(test_a_slice_of_a_dimension_that_is_not_there_is_refused),
      cmocka_unit_test(test_a_permutation_moves_pairs_of_extent_and_stride),
      cmocka_unit_test(test_a_permutation_and_its_inverse_give_the_tensor_back),
      cmocka_unit_test(test_a_transpose_swaps_two_dimensions),
      cmocka_unit_test(test_a_transpose_of_a_dimension_with_itself_changes_nothing),
      cmocka_unit_test(test_an_order_that_is_no_permutation_is_refused),
      cmocka_unit_test(test_a_transpose_of_a_dimension_that_is_not_there_is_refused),
      cmocka_unit_test(test_a_scalar_has_one_permutation),
      cmocka_unit_test(test_a_reshape_keeps_the_elements_in_row_major_order),
      cmocka_unit_test(test_a_reshape_there_and_back_gives_the_tensor_back),
      cmocka_unit_test(test_a_reshape_of_a_contiguous_view_keeps_its_offset),
      cmocka_unit_test(test_a_reshape_to_a_scalar_and_back_takes_one_element),
      cmocka_unit_test(test_a_reshape_of_an_empty_tensor_may_be_empty_in_another_way),
      cmocka_unit_test(test_a_reshape_to_another_count_is_refused),
      cmocka_unit_test(test_a_reshape_whose_count_wraps_to_the_right_one_is_refused),
      cmocka_unit_test(test_a_reshape_of_a_tile_is_refused),
      cmocka_unit_test(test_a_reshape_of_a_transposed_tensor_is_refused),
      cmocka_unit_test(test_a_reshape_to_rank_9_is_refused),
      cmocka_unit_test(test_a_broadcast_repeats_extents_of_1_with_stride_0),
      cmocka_unit_test(test_a_broadcast_to_the_same_shape_changes_nothing),
      cmocka_unit_test(test_a_scalar_broadcasts_to_any_shape),
      cmocka_unit_test(test_a_broadcast_to_no_index_is_empty),
      cmocka_unit_test(test_a_broadcast_of_another_extent_is_refused),
      cmocka_unit_test(test_a_broadcast_to_too_many_elements_is_refused),
      cmocka_unit_test(test_one_element_that_is_broadcast_to_several_shares_its_bytes),
      cmocka_unit_test(test_a_broadcast_tensor_shares_bytes_and_a_view_of_one_index_does_not),
      cmocka_unit_test(test_strides_by_hand_share_bytes_only_where_two_indices_meet),
      cmocka_unit_test(test_a_reinterpretation_of_equal_size_changes_the_dtype_alone),
      cmocka_unit_test(test_a_reinterpretation_to_smaller_elements_multiplies),
      cmocka_unit_test(test_a_reinterpretation_to_larger_elements_divides),
      cmocka_unit_test(test_a_reinterpretation_there_and_back_gives_the_tensor_back),
      cmocka_unit_test(test_a_reinterpretation_between_4_bits_and_bytes_counts_two_a_byte),
      cmocka_unit_test(test_a_reinterpretation_to_4_bits_needs_a_dense_tensor),
      cmocka_unit_test(test_a_reinterpretation_of_gaps_is_refused),
      cmocka_unit_test(test_a_reinterpretation_that_does_not_divide_is_refused),
      cmocka_unit_test(test_a_reinterpretation_of_one_odd_row_is_valid),
      cmocka_unit_test(test_a_reinterpretation_off_the_alignment_of_its_base_is_refused),
      cmocka_unit_test(test_a_reinterpretation_of_a_scalar_keeps_its_size),
      cmocka_unit_test(test_a_reinterpretation_of_a_broadcast_keeps_stride_0),
      cmocka_unit_test(test_a_version_and_an_overlap_mode_go_with_every_view),
      cmocka_unit_test(test_an_unknown_overlap_mode_is_refused),
      cmocka_unit_test(test_every_view_of_an_invalid_tensor_keeps_the_first_reason),
      cmocka_unit_test(test_a_view_of_fields_filled_in_by_hand_names_them),
      cmocka_unit_test(test_the_element_count_is_the_product_of_the_shape),
      cmocka_unit_test(test_dense_tensors_and_row_blocks_are_contiguous),
      cmocka_unit_test(test_tiles_steps_and_transposes_are_not_contiguous),
      cmocka_unit_test(test_extents_of_1_do_not_break_contiguity),
      cmocka_unit_test(test_an_empty_tensor_is_contiguous_whatever_its_strides),
      cmocka_unit_test(test_a_dense_tensor_is_one_run),
      cmocka_unit_test(test_a_tile_is_runs_a_pitch_apart),
      cmocka_unit_test(test_whole_rows_are_one_run_and_one_row_too),
      cmocka_unit_test(test_a_column_is_its_elements),
      cmocka_unit_test(test_a_step_through_whole_rows_is_one_dimension),
      cmocka_unit_test(test_a_transposed_tensor_has_the_region_of_its_source),
      cmocka_unit_test(test_a_broadcast_has_the_region_of_its_source),
      cmocka_unit_test(test_a_sliding_window_by_hand_is_the_run_that_it_covers),
      cmocka_unit_test(test_an_empty_tensor_has_an_empty_region),
      cmocka_unit_test(test_the_bytes_of_a_region_count_each_byte_once),
      cmocka_unit_test(test_a_region_knows_that_it_is_fuzzy),
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
