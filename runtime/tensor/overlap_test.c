/* SPDX-License-Identifier: MIT */
/*
 * The truth table of pto_tensor_overlap: ranges, tiles and boxes of one layout with each relation that it allows, and
 * the cases by which other implementations were found wrong. The answers follow from the picture that each test draws;
 * the same question the other way round, and pto_region_intersects, have to agree. Views of unlike layouts are in
 * overlap_views_test.c.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <runtime/tensor/tensor_make.h>
#include <tests/support/overlap_checks.h>

/* ---- one dimension ---- */

static void test_touching_ranges_are_disjoint(void **state) {
  expect(PTO_DISJOINT, part(f32(SHAPE(100)), 0, 40), part(f32(SHAPE(100)), 40, 60));
}

static void test_ranges_apart_are_disjoint(void **state) {
  expect(PTO_DISJOINT, part(f32(SHAPE(100)), 0, 10), part(f32(SHAPE(100)), 40, 60));
}

static void test_the_same_range_is_equal(void **state) {
  expect(PTO_EQUAL, part(f32(SHAPE(100)), 10, 40), part(f32(SHAPE(100)), 10, 40));
}

static void test_a_range_covers_its_middle(void **state) {
  expect(PTO_COVERS, part(f32(SHAPE(100)), 10, 40), part(f32(SHAPE(100)), 11, 38));
}

static void test_a_range_covers_its_head_and_its_tail(void **state) {
  expect(PTO_COVERS, part(f32(SHAPE(100)), 10, 40), part(f32(SHAPE(100)), 10, 39));
  expect(PTO_COVERS, part(f32(SHAPE(100)), 10, 40), part(f32(SHAPE(100)), 11, 39));
}

static void test_ranges_that_share_one_element_are_partial(void **state) {
  expect(PTO_PARTIAL, part(f32(SHAPE(100)), 0, 41), part(f32(SHAPE(100)), 40, 60));
}

static void test_a_scalar_equals_the_range_of_its_element(void **state) {
  struct pto_tensor one = part(f32(SHAPE(100)), 7, 1);
  expect(PTO_EQUAL, one, reshaped(one, 0, NULL));
  expect(PTO_COVERED, reshaped(one, 0, NULL), f32(SHAPE(100)));
}

/* ---- two dimensions, same strides ---- */

static void test_side_by_side_tiles_of_a_4x12_parent_are_disjoint(void **state) {
  expect(PTO_DISJOINT, tile(f32(SHAPE(4, 12)), 0, 4, 0, 4), tile(f32(SHAPE(4, 12)), 0, 4, 8, 12));
}

static void test_touching_column_halves_are_disjoint(void **state) {
  expect(PTO_DISJOINT, tile(f32(SHAPE(4, 12)), 0, 4, 0, 6), tile(f32(SHAPE(4, 12)), 0, 4, 6, 12));
}

static void test_tiles_above_each_other_are_disjoint(void **state) {
  expect(PTO_DISJOINT, tile(f32(SHAPE(8, 12)), 0, 4, 2, 6), tile(f32(SHAPE(8, 12)), 4, 8, 2, 6));
}

static void test_diagonal_tiles_are_disjoint(void **state) {
  expect(PTO_DISJOINT, tile(f32(SHAPE(8, 12)), 0, 4, 0, 6), tile(f32(SHAPE(8, 12)), 4, 8, 6, 12));
  expect(PTO_DISJOINT, tile(f32(SHAPE(8, 12)), 0, 4, 6, 12), tile(f32(SHAPE(8, 12)), 4, 8, 0, 6));
}

static void test_the_same_tile_is_equal(void **state) {
  expect(PTO_EQUAL, tile(f32(SHAPE(8, 12)), 1, 5, 2, 9), tile(f32(SHAPE(8, 12)), 1, 5, 2, 9));
}

static void test_a_tile_covers_a_smaller_one(void **state) {
  expect(PTO_COVERS, tile(f32(SHAPE(8, 12)), 1, 7, 2, 9), tile(f32(SHAPE(8, 12)), 2, 6, 3, 8));
}

static void test_a_tile_covers_its_first_and_its_last_row(void **state) {
  expect(PTO_COVERS, tile(f32(SHAPE(8, 12)), 1, 7, 2, 9), tile(f32(SHAPE(8, 12)), 1, 2, 2, 9));
  expect(PTO_COVERS, tile(f32(SHAPE(8, 12)), 1, 7, 2, 9), tile(f32(SHAPE(8, 12)), 6, 7, 2, 9));
}

static void test_a_tile_is_covered_by_its_whole_tensor(void **state) {
  expect(PTO_COVERED, tile(f32(SHAPE(8, 12)), 1, 7, 2, 9), f32(SHAPE(8, 12)));
}

static void test_tiles_that_share_a_corner_are_partial(void **state) {
  expect(PTO_PARTIAL, tile(f32(SHAPE(8, 12)), 0, 4, 0, 6), tile(f32(SHAPE(8, 12)), 3, 8, 5, 12));
}

static void test_a_row_block_and_a_column_block_are_partial(void **state) {
  expect(PTO_PARTIAL, tile(f32(SHAPE(8, 12)), 2, 4, 0, 12), tile(f32(SHAPE(8, 12)), 0, 8, 3, 5));
}

static void test_a_tile_moved_by_one_column_is_partial(void **state) {
  expect(PTO_PARTIAL, tile(f32(SHAPE(8, 12)), 2, 4, 3, 7), tile(f32(SHAPE(8, 12)), 2, 4, 4, 8));
}

static void test_a_tile_of_one_row_is_a_range(void **state) {
  expect(PTO_EQUAL, tile(f32(SHAPE(8, 12)), 2, 3, 4, 8), part(f32(SHAPE(96)), 28, 4));
}

/* ---- three dimensions, same strides ---- */

static void test_tiles_of_two_planes_are_disjoint(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 6, 8));
  expect(PTO_DISJOINT, pto_tensor_view(&t, LIST(0, 1, 2), LIST(2, 3, 4)),
         pto_tensor_view(&t, LIST(2, 1, 2), LIST(2, 3, 4)));
}

static void test_boxes_apart_in_the_middle_dimension_are_disjoint(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 6, 8));
  expect(PTO_DISJOINT, pto_tensor_view(&t, LIST(0, 0, 2), LIST(4, 3, 4)),
         pto_tensor_view(&t, LIST(0, 3, 2), LIST(4, 3, 4)));
}

static void test_the_same_box_is_equal(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 6, 8));
  expect(PTO_EQUAL, pto_tensor_view(&t, LIST(0, 1, 2), LIST(2, 3, 4)),
         pto_tensor_view(&t, LIST(0, 1, 2), LIST(2, 3, 4)));
}

static void test_a_box_covers_a_box_inside(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 6, 8));
  expect(PTO_COVERS, pto_tensor_view(&t, LIST(0, 1, 2), LIST(4, 4, 5)),
         pto_tensor_view(&t, LIST(1, 2, 2), LIST(2, 3, 4)));
}

static void test_a_box_is_covered_by_its_planes(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 6, 8));
  expect(PTO_COVERED, pto_tensor_view(&t, LIST(1, 2, 2), LIST(2, 3, 4)),
         pto_tensor_view(&t, LIST(1, 0, 0), LIST(2, 6, 8)));
}

static void test_boxes_that_share_an_edge_are_partial(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 6, 8));
  expect(PTO_PARTIAL, pto_tensor_view(&t, LIST(0, 0, 0), LIST(4, 3, 4)),
         pto_tensor_view(&t, LIST(0, 2, 3), LIST(4, 4, 5)));
}

static void test_a_box_longer_in_one_dimension_and_shorter_in_another_is_partial(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 6, 8));
  expect(PTO_PARTIAL, pto_tensor_view(&t, LIST(0, 0, 0), LIST(4, 3, 4)),
         pto_tensor_view(&t, LIST(1, 0, 0), LIST(2, 4, 4)));
}

static void test_boxes_of_the_same_rows_whose_columns_overlap_are_partial(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 6, 8));
  expect(PTO_PARTIAL, pto_tensor_view(&t, LIST(0, 1, 2), LIST(2, 3, 4)),
         pto_tensor_view(&t, LIST(0, 1, 4), LIST(2, 3, 4)));
}

/* Columns 6 to 10 of rows of 8 are columns 0 to 2 of the rows behind them too. */
static void test_a_box_whose_rows_run_on_into_the_next_overlaps_what_lies_there(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 6, 8)), later = external(BASE + 24, PTO_FLOAT32, 3, LIST(4, 6, 8));
  struct pto_tensor left = pto_tensor_view(&t, LIST(0, 0, 0), LIST(2, 3, 3));
  expect(PTO_PARTIAL, left, pto_tensor_view(&later, LIST(0, 0, 0), LIST(2, 3, 5)));
  expect(PTO_DISJOINT, left, pto_tensor_view(&later, LIST(0, 0, 0), LIST(2, 3, 2)));
}

static void test_a_box_equals_itself_with_any_two_dimensions_turned(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 6, 8)), box = pto_tensor_view(&t, LIST(0, 1, 2), LIST(2, 3, 4));
  for (uint32_t a = 0; a < 3; a++)
    for (uint32_t b = 0; b < 3; b++) expect(PTO_EQUAL, box, pto_tensor_transpose(&box, a, b));
}

/* Of strides 1, 32 and 8 the last two are one dimension. */
static void test_dimensions_that_merge_do_so_in_any_order(void **state) {
  struct pto_tensor t = f32(SHAPE(6, 4, 8)), left = pto_tensor_view(&t, LIST(0, 0, 0), LIST(6, 4, 4));
  expect(PTO_EQUAL, tile(f32(SHAPE(24, 8)), 0, 24, 0, 4), pto_tensor_permute(&left, (const uint32_t[]){2, 0, 1}));
  expect(PTO_EQUAL, tile(f32(SHAPE(24, 8)), 0, 24, 0, 4), pto_tensor_permute(&left, (const uint32_t[]){1, 2, 0}));
}

static void test_boxes_of_rank_8_compare_by_dimension(void **state) {
  struct pto_tensor t = f32(SHAPE(3, 3, 3, 3, 3, 3, 3, 3)),
                    a = pto_tensor_view(&t, LIST(0, 0, 0, 0, 0, 0, 0, 0), LIST(2, 2, 2, 2, 2, 2, 2, 2));
  expect(PTO_PARTIAL, a, pto_tensor_view(&t, LIST(1, 1, 1, 1, 1, 1, 1, 1), LIST(2, 2, 2, 2, 2, 2, 2, 2)));
  expect(PTO_DISJOINT, a, pto_tensor_view(&t, LIST(0, 0, 0, 0, 2, 0, 0, 0), LIST(2, 2, 2, 2, 1, 2, 2, 2)));
  expect(PTO_COVERS, a, pto_tensor_view(&t, LIST(1, 0, 1, 0, 1, 0, 1, 0), LIST(1, 2, 1, 2, 1, 2, 1, 2)));
}

/* ---- wrapped rows: runs that reach from one row of the other into the next ---- */

static void test_a_wrapped_run_between_the_tiles_rows_is_disjoint(void **state) {
  expect(PTO_DISJOINT, tile(f32(SHAPE(6, 10)), 1, 4, 3, 7), part(f32(SHAPE(60)), 17, 6));
}

static void test_a_run_that_touches_the_next_row_is_partial(void **state) {
  expect(PTO_PARTIAL, tile(f32(SHAPE(6, 10)), 1, 4, 3, 7), part(f32(SHAPE(60)), 17, 7));
}

static void test_a_run_over_all_rows_covers_the_tile(void **state) {
  expect(PTO_COVERED, tile(f32(SHAPE(6, 10)), 1, 4, 3, 7), part(f32(SHAPE(60)), 13, 24));
}

static void test_a_run_without_the_last_element_of_the_tile_is_partial(void **state) {
  expect(PTO_PARTIAL, tile(f32(SHAPE(6, 10)), 1, 4, 3, 7), part(f32(SHAPE(60)), 13, 23));
}

static void test_a_run_inside_a_row_is_covered_by_the_tile(void **state) {
  expect(PTO_COVERS, tile(f32(SHAPE(6, 10)), 1, 4, 3, 7), part(f32(SHAPE(60)), 23, 4));
}

static void test_shifted_rows_of_one_pitch_that_wrap_are_partial(void **state) {
  expect(PTO_PARTIAL, tile(f32(SHAPE(6, 10)), 0, 4, 0, 4),
         tile(reshaped(part(f32(SHAPE(60)), 5, 50), SHAPE(5, 10)), 0, 3, 3, 7));
}

static void test_shifted_rows_of_one_pitch_in_the_gap_are_disjoint(void **state) {
  expect(PTO_DISJOINT, tile(f32(SHAPE(6, 10)), 0, 4, 0, 4),
         tile(reshaped(part(f32(SHAPE(60)), 5, 50), SHAPE(5, 10)), 0, 3, 0, 5));
}

static void test_rows_that_wrap_only_behind_the_last_row_are_disjoint(void **state) {
  expect(PTO_DISJOINT, tile(f32(SHAPE(6, 10)), 0, 2, 0, 4),
         tile(reshaped(part(f32(SHAPE(60)), 17, 40), SHAPE(4, 10)), 0, 3, 0, 5));
}

static void test_rows_that_wrap_into_the_last_row_are_partial(void **state) {
  expect(PTO_PARTIAL, tile(f32(SHAPE(6, 10)), 0, 3, 0, 4),
         tile(reshaped(part(f32(SHAPE(60)), 17, 40), SHAPE(4, 10)), 0, 3, 0, 5));
}

/* ---- broadcast ---- */

static void test_a_whole_tensor_covers_each_of_a_grid_of_tiles_and_they_are_disjoint(void **state) {
  struct pto_tensor t = f32(SHAPE(12, 20)), tiles[12];
  for (uint64_t i = 0; i < 12; i++) tiles[i] = tile(t, i / 4 * 4, i / 4 * 4 + 4, i % 4 * 5, i % 4 * 5 + 5);
  for (int i = 0; i < 12; i++)
    for (int j = 0; j < 12; j++) expect(i == j ? PTO_EQUAL : PTO_DISJOINT, tiles[i], tiles[j]);
  for (int i = 0; i < 12; i++) expect(PTO_COVERS, t, tiles[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_touching_ranges_are_disjoint),
      cmocka_unit_test(test_ranges_apart_are_disjoint),
      cmocka_unit_test(test_the_same_range_is_equal),
      cmocka_unit_test(test_a_range_covers_its_middle),
      cmocka_unit_test(test_a_range_covers_its_head_and_its_tail),
      cmocka_unit_test(test_ranges_that_share_one_element_are_partial),
      cmocka_unit_test(test_a_scalar_equals_the_range_of_its_element),
      cmocka_unit_test(test_side_by_side_tiles_of_a_4x12_parent_are_disjoint),
      cmocka_unit_test(test_touching_column_halves_are_disjoint),
      cmocka_unit_test(test_tiles_above_each_other_are_disjoint),
      cmocka_unit_test(test_diagonal_tiles_are_disjoint),
      cmocka_unit_test(test_the_same_tile_is_equal),
      cmocka_unit_test(test_a_tile_covers_a_smaller_one),
      cmocka_unit_test(test_a_tile_covers_its_first_and_its_last_row),
      cmocka_unit_test(test_a_tile_is_covered_by_its_whole_tensor),
      cmocka_unit_test(test_tiles_that_share_a_corner_are_partial),
      cmocka_unit_test(test_a_row_block_and_a_column_block_are_partial),
      cmocka_unit_test(test_a_tile_moved_by_one_column_is_partial),
      cmocka_unit_test(test_a_tile_of_one_row_is_a_range),
      cmocka_unit_test(test_tiles_of_two_planes_are_disjoint),
      cmocka_unit_test(test_boxes_apart_in_the_middle_dimension_are_disjoint),
      cmocka_unit_test(test_the_same_box_is_equal),
      cmocka_unit_test(test_a_box_covers_a_box_inside),
      cmocka_unit_test(test_a_box_is_covered_by_its_planes),
      cmocka_unit_test(test_boxes_that_share_an_edge_are_partial),
      cmocka_unit_test(test_a_box_longer_in_one_dimension_and_shorter_in_another_is_partial),
      cmocka_unit_test(test_boxes_of_the_same_rows_whose_columns_overlap_are_partial),
      cmocka_unit_test(test_a_box_whose_rows_run_on_into_the_next_overlaps_what_lies_there),
      cmocka_unit_test(test_a_box_equals_itself_with_any_two_dimensions_turned),
      cmocka_unit_test(test_dimensions_that_merge_do_so_in_any_order),
      cmocka_unit_test(test_boxes_of_rank_8_compare_by_dimension),
      cmocka_unit_test(test_a_wrapped_run_between_the_tiles_rows_is_disjoint),
      cmocka_unit_test(test_a_run_that_touches_the_next_row_is_partial),
      cmocka_unit_test(test_a_run_over_all_rows_covers_the_tile),
      cmocka_unit_test(test_a_run_without_the_last_element_of_the_tile_is_partial),
      cmocka_unit_test(test_a_run_inside_a_row_is_covered_by_the_tile),
      cmocka_unit_test(test_shifted_rows_of_one_pitch_that_wrap_are_partial),
      cmocka_unit_test(test_shifted_rows_of_one_pitch_in_the_gap_are_disjoint),
      cmocka_unit_test(test_rows_that_wrap_only_behind_the_last_row_are_disjoint),
      cmocka_unit_test(test_rows_that_wrap_into_the_last_row_are_partial),
      cmocka_unit_test(test_a_whole_tensor_covers_each_of_a_grid_of_tiles_and_they_are_disjoint),
  };
  return cmocka_run_group_tests_name("overlap", tests, NULL, NULL);
}
