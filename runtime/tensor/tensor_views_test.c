/* SPDX-License-Identifier: MIT */
/*
 * Views: slices, permutations, reshapes, broadcasts and reinterpretations, what each gives and the sentence that each
 * refusal leaves.
 *
 * They are checked against the elements themselves: element i of a view has to be the element of the source that the
 * operation's definition names, found through offsets and not through strides.
 *
 * Long: one list of sentences, a test a rule.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <runtime/tensor/tensor_make.h>
#include <tests/support/tensor_checks.h>

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

static void test_a_broadcast_to_no_shape_is_refused(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 1));
  expect_invalid(pto_tensor_broadcast(&t, 2, NULL), "broadcast: no list of 2 numbers given");
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
  expect_invalid(pto_tensor_reinterpret(&t, PTO_DTYPE_COUNT), "reinterpret: 18 is no dtype");
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

int main(void) {
  const struct CMUnitTest tests[] = {
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
      cmocka_unit_test(test_a_broadcast_to_no_shape_is_refused),
      cmocka_unit_test(test_a_broadcast_to_the_same_shape_changes_nothing),
      cmocka_unit_test(test_a_scalar_broadcasts_to_any_shape),
      cmocka_unit_test(test_a_broadcast_to_no_index_is_empty),
      cmocka_unit_test(test_a_broadcast_of_another_extent_is_refused),
      cmocka_unit_test(test_a_broadcast_to_too_many_elements_is_refused),
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
  };
  return cmocka_run_group_tests_name("tensor_views", tests, NULL, NULL);
}
