/* SPDX-License-Identifier: MIT */
/*
 * The truth table of pto_tensor_overlap, continued: descriptors that differ in more than their place. Reshaped,
 * transposed, stepped and broadcast views, other dtypes, buffers and registrations, fuzzy ones and empty ones. The
 * answers follow from the picture that each test draws; the same question the other way round, and
 * pto_region_intersects, have to agree.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <runtime/tensor/tensor_make.h>
#include <tests/support/overlap_checks.h>

/* ---- reshape: another pitch over the same memory ---- */

static void test_the_whole_8x8_equals_its_reshape_to_64(void **state) {
  expect(PTO_EQUAL, f32(SHAPE(8, 8)), reshaped(f32(SHAPE(8, 8)), SHAPE(64)));
}

static void test_a_column_of_another_pitch_that_stays_out_of_a_tile_is_disjoint(void **state) {
  expect(PTO_DISJOINT, tile(f32(SHAPE(8, 12)), 0, 8, 0, 4),
         tile(reshaped(f32(SHAPE(8, 12)), SHAPE(16, 6)), 0, 16, 4, 6));
}

static void test_half_columns_of_half_the_pitch_are_covered(void **state) {
  expect(PTO_COVERS, tile(reshaped(f32(SHAPE(8, 12)), SHAPE(16, 6)), 0, 16, 0, 4), tile(f32(SHAPE(8, 12)), 0, 8, 0, 4));
}

static void test_both_halves_of_the_pitch_together_are_equal(void **state) {
  struct pto_tensor halves = reshaped(f32(SHAPE(8, 12)), SHAPE(8, 2, 6));
  expect(PTO_EQUAL, pto_tensor_view(&halves, LIST(2, 0, 1), LIST(3, 2, 4)),
         tile(reshaped(halves, SHAPE(16, 6)), 4, 10, 1, 5));
}

static void test_tiles_of_coprime_pitches_are_partial(void **state) {
  expect(PTO_PARTIAL, tile(f32(SHAPE(7, 11)), 0, 7, 0, 3),
         tile(reshaped(f32(SHAPE(7, 11)), SHAPE(11, 7)), 0, 11, 5, 7));
}

static void test_tiles_of_coprime_pitches_can_miss_each_other(void **state) {
  expect(PTO_DISJOINT, tile(f32(SHAPE(7, 11)), 1, 3, 0, 1),
         tile(reshaped(f32(SHAPE(7, 11)), SHAPE(11, 7)), 0, 4, 5, 6));
}

static void test_a_box_equals_the_box_of_its_merged_dimensions(void **state) {
  struct pto_tensor t = f32(SHAPE(4, 6, 8)), r = reshaped(t, SHAPE(24, 8));
  expect(PTO_EQUAL, pto_tensor_view(&t, LIST(1, 0, 2), LIST(2, 6, 4)), tile(r, 6, 18, 2, 6));
}

/* ---- transposed ---- */

static void test_a_transposed_tensor_equals_itself(void **state) {
  expect(PTO_EQUAL, f32(SHAPE(6, 9)), turned(f32(SHAPE(6, 9))));
}

static void test_a_transposed_tile_equals_the_tile(void **state) {
  expect(PTO_EQUAL, tile(f32(SHAPE(6, 9)), 1, 4, 2, 7), tile(turned(f32(SHAPE(6, 9))), 2, 7, 1, 4));
}

static void test_transposed_column_halves_are_disjoint(void **state) {
  expect(PTO_DISJOINT, tile(turned(f32(SHAPE(8, 8))), 0, 4, 0, 8), tile(turned(f32(SHAPE(8, 8))), 4, 8, 0, 8));
  expect(PTO_DISJOINT, tile(turned(f32(SHAPE(8, 8))), 0, 4, 0, 8), tile(f32(SHAPE(8, 8)), 0, 8, 4, 8));
}

static void test_a_transposed_half_covers_its_tiles(void **state) {
  expect(PTO_COVERS, tile(turned(f32(SHAPE(8, 8))), 0, 4, 0, 8), tile(f32(SHAPE(8, 8)), 2, 5, 1, 4));
}

static void test_a_transposed_tile_is_covered_by_its_rows(void **state) {
  expect(PTO_COVERED, tile(turned(f32(SHAPE(8, 8))), 1, 4, 2, 5), tile(f32(SHAPE(8, 8)), 2, 5, 0, 8));
}

static void test_transposed_halves_of_the_other_direction_are_partial(void **state) {
  expect(PTO_PARTIAL, tile(turned(f32(SHAPE(8, 8))), 0, 4, 0, 8), tile(f32(SHAPE(8, 8)), 0, 4, 0, 8));
}

/* ---- stepped ---- */

static void test_even_and_odd_columns_are_disjoint(void **state) {
  expect(PTO_DISJOINT, step(f32(SHAPE(6, 8)), 1, 0, 2), step(f32(SHAPE(6, 8)), 1, 1, 2));
  expect(PTO_DISJOINT, step(f32(SHAPE(6, 7)), 1, 0, 2), step(f32(SHAPE(6, 7)), 1, 1, 2));
}

static void test_even_and_odd_rows_are_disjoint(void **state) {
  expect(PTO_DISJOINT, step(f32(SHAPE(6, 8)), 0, 0, 2), step(f32(SHAPE(6, 8)), 0, 1, 2));
}

static void test_even_columns_taken_twice_are_equal(void **state) {
  expect(PTO_EQUAL, step(f32(SHAPE(6, 8)), 1, 0, 2), step(reshaped(f32(SHAPE(6, 8)), SHAPE(48)), 0, 0, 2));
}

static void test_every_second_covers_every_fourth_and_every_sixth(void **state) {
  expect(PTO_COVERS, step(f32(SHAPE(48)), 0, 0, 2), step(f32(SHAPE(48)), 0, 2, 4));
  expect(PTO_COVERS, step(f32(SHAPE(48)), 0, 0, 2), step(f32(SHAPE(48)), 0, 4, 6));
}

static void test_every_second_and_every_third_are_partial(void **state) {
  expect(PTO_PARTIAL, step(f32(SHAPE(48)), 0, 0, 2), step(f32(SHAPE(48)), 0, 0, 3));
}

static void test_every_second_and_every_third_of_few_can_miss_each_other(void **state) {
  expect(PTO_DISJOINT, part(step(f32(SHAPE(48)), 0, 0, 2), 0, 2), part(step(f32(SHAPE(48)), 0, 1, 3), 0, 2));
}

static void test_steps_of_4_and_6_from_odd_distance_are_disjoint(void **state) {
  expect(PTO_DISJOINT, step(f32(SHAPE(480)), 0, 0, 4), step(f32(SHAPE(480)), 0, 1, 6));
}

static void test_the_remaining_columns_of_a_step_are_disjoint_from_it(void **state) {
  for (uint64_t start = 1; start < 5; start++)
    expect(PTO_DISJOINT, step(f32(SHAPE(6, 23)), 1, 0, 5), step(f32(SHAPE(6, 23)), 1, start, 5));
}

static void test_every_second_row_is_covered_by_all_rows_and_partial_to_a_tile(void **state) {
  expect(PTO_COVERED, step(f32(SHAPE(6, 8)), 0, 0, 2), f32(SHAPE(6, 8)));
  expect(PTO_PARTIAL, step(f32(SHAPE(6, 8)), 0, 0, 2), tile(f32(SHAPE(6, 8)), 0, 3, 0, 4));
}

static void test_a_step_without_its_last_index_is_covered_by_the_step(void **state) {
  expect(PTO_COVERS, step(f32(SHAPE(5, 9)), 1, 0, 2), tile(step(f32(SHAPE(5, 9)), 1, 0, 2), 0, 5, 0, 4));
}

/* ---- mixed dtype ---- */

static void test_f32_from_10_to_20_equals_int8_from_40_to_80(void **state) {
  expect(PTO_EQUAL, part(f32(SHAPE(100)), 10, 10), part(external(BASE, PTO_INT8, SHAPE(400)), 40, 40));
}

static void test_int8_around_an_f32_range_is_disjoint(void **state) {
  expect(PTO_DISJOINT, part(f32(SHAPE(100)), 10, 10), part(external(BASE, PTO_INT8, SHAPE(400)), 0, 40));
  expect(PTO_DISJOINT, part(f32(SHAPE(100)), 10, 10), part(external(BASE, PTO_INT8, SHAPE(400)), 80, 40));
}

static void test_int8_one_byte_into_an_f32_range_is_partial(void **state) {
  expect(PTO_PARTIAL, part(f32(SHAPE(100)), 10, 10), part(external(BASE, PTO_INT8, SHAPE(400)), 0, 41));
  expect(PTO_PARTIAL, part(f32(SHAPE(100)), 10, 10), part(external(BASE, PTO_INT8, SHAPE(400)), 79, 41));
}

static void test_an_f32_covers_any_of_its_bytes(void **state) {
  for (uint64_t byte = 40; byte < 44; byte++)
    expect(PTO_COVERS, part(f32(SHAPE(100)), 10, 1), part(external(BASE, PTO_UINT8, SHAPE(400)), byte, 1));
}

static void test_a_tile_reinterpreted_is_equal(void **state) {
  expect(PTO_EQUAL, tile(f32(SHAPE(8, 12)), 1, 7, 2, 8), as(tile(f32(SHAPE(8, 12)), 1, 7, 2, 8), PTO_INT64));
  expect(PTO_EQUAL, tile(f32(SHAPE(8, 12)), 1, 7, 2, 8), as(tile(f32(SHAPE(8, 12)), 1, 7, 2, 8), PTO_BFLOAT16));
}

static void test_the_low_halves_of_f32_are_covered_and_disjoint_from_the_high_halves(void **state) {
  struct pto_tensor halves = as(f32(SHAPE(20)), PTO_UINT16);
  expect(PTO_COVERED, step(halves, 0, 0, 2), f32(SHAPE(20)));
  expect(PTO_DISJOINT, step(halves, 0, 0, 2), step(halves, 0, 1, 2));
}

static void test_a_4_bit_tensor_equals_its_bytes(void **state) {
  expect(PTO_EQUAL, external(BASE, PTO_INT4, SHAPE(9)), external(BASE, PTO_UINT8, SHAPE(5)));
  expect(PTO_COVERED, external(BASE, PTO_INT4, SHAPE(8)), external(BASE, PTO_UINT8, SHAPE(5)));
}

/* ---- empty ---- */

static void test_an_empty_view_inside_a_tile_is_disjoint(void **state) {
  expect(PTO_DISJOINT, tile(f32(SHAPE(8, 12)), 1, 7, 2, 9), tile(f32(SHAPE(8, 12)), 3, 3, 4, 6));
  expect(PTO_DISJOINT, tile(f32(SHAPE(8, 12)), 1, 7, 2, 9), tile(f32(SHAPE(8, 12)), 3, 5, 4, 4));
}

static void test_two_empty_views_are_disjoint(void **state) {
  expect(PTO_DISJOINT, tile(f32(SHAPE(8, 12)), 3, 3, 4, 6), tile(f32(SHAPE(8, 12)), 3, 3, 4, 6));
}

static void test_an_empty_fuzzy_view_is_disjoint(void **state) {
  expect(PTO_DISJOINT, fuzzy(tile(f32(SHAPE(8, 12)), 3, 3, 4, 6)), f32(SHAPE(8, 12)));
}

/* ---- padded buffer ---- */

static void test_halves_of_a_padded_buffer_are_disjoint(void **state) {
  struct pto_tensor t = managed(3, 1, 2048, PTO_FLOAT32, SHAPE(3, 100));
  expect(PTO_DISJOINT, tile(t, 0, 3, 0, 50), tile(t, 0, 3, 50, 100));
}

static void test_a_padded_buffer_equals_what_it_holds_and_not_its_padding(void **state) {
  struct pto_tensor t = managed(3, 1, 2048, PTO_FLOAT32, SHAPE(3, 100)),
                    all = managed(3, 1, 2048, PTO_UINT8, SHAPE(2048));
  expect(PTO_COVERED, t, all);
  expect(PTO_EQUAL, t, part(all, 0, 1200));
  expect(PTO_DISJOINT, t, part(all, 1200, 848));
}

static void test_tiles_of_a_padded_buffer_relate_as_without_padding(void **state) {
  struct pto_tensor t = managed(3, 1, 2048, PTO_FLOAT32, SHAPE(3, 100));
  expect(PTO_PARTIAL, tile(t, 0, 3, 0, 51), tile(t, 0, 3, 50, 100));
  expect(PTO_COVERS, tile(t, 0, 3, 0, 51), tile(t, 1, 3, 50, 51));
}

static void test_managed_buffers_of_other_identity_or_life_are_disjoint(void **state) {
  expect(PTO_DISJOINT, managed(3, 1, 64, PTO_INT8, SHAPE(64)), managed(4, 1, 64, PTO_INT8, SHAPE(64)));
  expect(PTO_DISJOINT, managed(3, 1, 64, PTO_INT8, SHAPE(64)), managed(3, 2, 64, PTO_INT8, SHAPE(64)));
}

static void test_managed_and_external_memory_are_disjoint(void **state) {
  expect(PTO_DISJOINT, managed(3, 1, 1 << 21, PTO_INT8, SHAPE(1 << 21)), f32(SHAPE(64)));
}

/* ---- other base address ---- */

static void test_registrations_apart_are_disjoint(void **state) {
  expect(PTO_DISJOINT, f32(SHAPE(64)), external(BASE + 256, PTO_FLOAT32, SHAPE(64)));
}

static void test_one_memory_registered_twice_is_equal(void **state) {
  struct pto_tensor second = f32(SHAPE(64));
  second.buffer.id = 77;
  second.buffer.generation = 9;
  expect(PTO_EQUAL, f32(SHAPE(64)), second);
}

static void test_a_registration_inside_another_is_covered(void **state) {
  expect(PTO_COVERED, external(BASE + 16, PTO_FLOAT32, SHAPE(8)), f32(SHAPE(64)));
}

static void test_a_part_of_one_registration_equals_the_same_bytes_of_another(void **state) {
  expect(PTO_EQUAL, part(f32(SHAPE(64)), 10, 20), part(external(BASE + 16, PTO_FLOAT32, SHAPE(60)), 6, 20));
}

static void test_registrations_that_overlap_are_partial(void **state) {
  expect(PTO_PARTIAL, f32(SHAPE(64)), external(BASE + 252, PTO_FLOAT32, SHAPE(64)));
}

static void test_columns_of_two_registrations_of_one_matrix_are_disjoint(void **state) {
  expect(PTO_DISJOINT, tile(f32(SHAPE(8, 12)), 0, 8, 0, 4),
         tile(external(BASE + 16, PTO_FLOAT32, SHAPE(7, 12)), 0, 7, 0, 8));
}

static void test_registrations_off_by_a_byte_interleave_within_elements(void **state) {
  struct pto_tensor bytes = external(BASE + 1, PTO_UINT8, SHAPE(240));
  expect(PTO_DISJOINT, step(as(f32(SHAPE(60)), PTO_UINT8), 0, 0, 2), step(bytes, 0, 0, 2));
  expect(PTO_PARTIAL, step(as(f32(SHAPE(60)), PTO_UINT8), 0, 0, 2), step(bytes, 0, 1, 2));
}

/* ---- fuzzy ---- */

static void test_fuzzy_columns_side_by_side_are_partial(void **state) {
  expect(PTO_PARTIAL, fuzzy(tile(f32(SHAPE(4, 12)), 0, 4, 0, 4)), tile(f32(SHAPE(4, 12)), 0, 4, 8, 12));
}

static void test_fuzzy_equal_and_covering_tensors_are_partial_too(void **state) {
  expect(PTO_PARTIAL, fuzzy(f32(SHAPE(8, 12))), f32(SHAPE(8, 12)));
  expect(PTO_PARTIAL, fuzzy(f32(SHAPE(8, 12))), tile(f32(SHAPE(8, 12)), 1, 2, 3, 4));
}

static void test_fuzzy_ranges_that_touch_are_disjoint(void **state) {
  expect(PTO_DISJOINT, fuzzy(part(f32(SHAPE(8, 12)), 0, 4)), fuzzy(part(f32(SHAPE(8, 12)), 4, 4)));
}

/* ---- version ---- */

static void test_a_version_changes_no_relation(void **state) {
  struct pto_tensor t = f32(SHAPE(8, 12));
  expect(PTO_EQUAL, version(t, 0), version(t, 1));
  expect(PTO_DISJOINT, version(tile(t, 0, 8, 0, 4), 0), version(tile(t, 0, 8, 4, 8), 1));
  expect(PTO_COVERS, version(t, 5), version(tile(t, 0, 8, 4, 8), 1));
  expect(PTO_COVERED, version(tile(t, 0, 8, 4, 8), 1), version(t, 0));
  expect(PTO_PARTIAL, version(tile(t, 0, 8, 0, 5), 0), version(tile(t, 0, 8, 4, 8), 1));
}

/* ---- broadcast ---- */

static void test_a_broadcast_equals_its_source(void **state) {
  struct pto_tensor row = part(f32(SHAPE(6, 9)), 2, 1);
  expect(PTO_EQUAL, row, pto_tensor_broadcast(&row, SHAPE(5, 9)));
}

static void test_a_broadcast_scalar_is_covered_by_its_row(void **state) {
  struct pto_tensor one = tile(f32(SHAPE(6, 9)), 2, 3, 4, 5);
  expect(PTO_COVERED, pto_tensor_broadcast(&one, SHAPE(7, 8)), part(f32(SHAPE(6, 9)), 2, 1));
  expect(PTO_DISJOINT, pto_tensor_broadcast(&one, SHAPE(7, 8)), part(f32(SHAPE(6, 9)), 3, 1));
}

static void test_invalid_tensors_are_disjoint_from_everything(void **state) {
  struct pto_tensor t = f32(SHAPE(8, 12)), bad = pto_tensor_slice(&t, 0, 0, 99, 1), by_hand = t;
  by_hand.strides[0] = 1 << 20;
  assert_int_equal(pto_tensor_overlap(&bad, &t), PTO_DISJOINT);
  assert_int_equal(pto_tensor_overlap(&t, &bad), PTO_DISJOINT);
  assert_int_equal(pto_tensor_overlap(&bad, &bad), PTO_DISJOINT);
  assert_int_equal(pto_tensor_overlap(&by_hand, &t), PTO_DISJOINT);
  assert_int_equal(pto_tensor_overlap(NULL, &t), PTO_DISJOINT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_whole_8x8_equals_its_reshape_to_64),
      cmocka_unit_test(test_a_column_of_another_pitch_that_stays_out_of_a_tile_is_disjoint),
      cmocka_unit_test(test_half_columns_of_half_the_pitch_are_covered),
      cmocka_unit_test(test_both_halves_of_the_pitch_together_are_equal),
      cmocka_unit_test(test_tiles_of_coprime_pitches_are_partial),
      cmocka_unit_test(test_tiles_of_coprime_pitches_can_miss_each_other),
      cmocka_unit_test(test_a_box_equals_the_box_of_its_merged_dimensions),
      cmocka_unit_test(test_a_transposed_tensor_equals_itself),
      cmocka_unit_test(test_a_transposed_tile_equals_the_tile),
      cmocka_unit_test(test_transposed_column_halves_are_disjoint),
      cmocka_unit_test(test_a_transposed_half_covers_its_tiles),
      cmocka_unit_test(test_a_transposed_tile_is_covered_by_its_rows),
      cmocka_unit_test(test_transposed_halves_of_the_other_direction_are_partial),
      cmocka_unit_test(test_even_and_odd_columns_are_disjoint),
      cmocka_unit_test(test_even_and_odd_rows_are_disjoint),
      cmocka_unit_test(test_even_columns_taken_twice_are_equal),
      cmocka_unit_test(test_every_second_covers_every_fourth_and_every_sixth),
      cmocka_unit_test(test_every_second_and_every_third_are_partial),
      cmocka_unit_test(test_every_second_and_every_third_of_few_can_miss_each_other),
      cmocka_unit_test(test_steps_of_4_and_6_from_odd_distance_are_disjoint),
      cmocka_unit_test(test_the_remaining_columns_of_a_step_are_disjoint_from_it),
      cmocka_unit_test(test_every_second_row_is_covered_by_all_rows_and_partial_to_a_tile),
      cmocka_unit_test(test_a_step_without_its_last_index_is_covered_by_the_step),
      cmocka_unit_test(test_f32_from_10_to_20_equals_int8_from_40_to_80),
      cmocka_unit_test(test_int8_around_an_f32_range_is_disjoint),
      cmocka_unit_test(test_int8_one_byte_into_an_f32_range_is_partial),
      cmocka_unit_test(test_an_f32_covers_any_of_its_bytes),
      cmocka_unit_test(test_a_tile_reinterpreted_is_equal),
      cmocka_unit_test(test_the_low_halves_of_f32_are_covered_and_disjoint_from_the_high_halves),
      cmocka_unit_test(test_a_4_bit_tensor_equals_its_bytes),
      cmocka_unit_test(test_an_empty_view_inside_a_tile_is_disjoint),
      cmocka_unit_test(test_two_empty_views_are_disjoint),
      cmocka_unit_test(test_an_empty_fuzzy_view_is_disjoint),
      cmocka_unit_test(test_halves_of_a_padded_buffer_are_disjoint),
      cmocka_unit_test(test_a_padded_buffer_equals_what_it_holds_and_not_its_padding),
      cmocka_unit_test(test_tiles_of_a_padded_buffer_relate_as_without_padding),
      cmocka_unit_test(test_managed_buffers_of_other_identity_or_life_are_disjoint),
      cmocka_unit_test(test_managed_and_external_memory_are_disjoint),
      cmocka_unit_test(test_registrations_apart_are_disjoint),
      cmocka_unit_test(test_one_memory_registered_twice_is_equal),
      cmocka_unit_test(test_a_registration_inside_another_is_covered),
      cmocka_unit_test(test_a_part_of_one_registration_equals_the_same_bytes_of_another),
      cmocka_unit_test(test_registrations_that_overlap_are_partial),
      cmocka_unit_test(test_columns_of_two_registrations_of_one_matrix_are_disjoint),
      cmocka_unit_test(test_registrations_off_by_a_byte_interleave_within_elements),
      cmocka_unit_test(test_fuzzy_columns_side_by_side_are_partial),
      cmocka_unit_test(test_fuzzy_equal_and_covering_tensors_are_partial_too),
      cmocka_unit_test(test_fuzzy_ranges_that_touch_are_disjoint),
      cmocka_unit_test(test_a_version_changes_no_relation),
      cmocka_unit_test(test_a_broadcast_equals_its_source),
      cmocka_unit_test(test_a_broadcast_scalar_is_covered_by_its_row),
      cmocka_unit_test(test_invalid_tensors_are_disjoint_from_everything),
  };
  return cmocka_run_group_tests_name("overlap_views", tests, NULL, NULL);
}
