/* SPDX-License-Identifier: MIT */
/*
 * What a descriptor's strides amount to: whether elements share bytes, how many there are, whether they are contiguous,
 * and the canonical form of the bytes that they cover.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <runtime/tensor/region.h>
#include <runtime/tensor/tensor_make.h>
#include <tests/support/tensor_checks.h>

/* ---- shared bytes ---- */

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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_element_that_is_broadcast_to_several_shares_its_bytes),
      cmocka_unit_test(test_a_broadcast_tensor_shares_bytes_and_a_view_of_one_index_does_not),
      cmocka_unit_test(test_strides_by_hand_share_bytes_only_where_two_indices_meet),
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
  };
  return cmocka_run_group_tests_name("tensor_layout", tests, NULL, NULL);
}
