/* SPDX-License-Identifier: MIT */
/*
 * Boxes against a count of every element: each is in one box and no more, boxes are no more than they may be, whole
 * dimensions stay whole, and views of other extents are right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <graph/lowering_tiles.h>

/* ---- counting ---- */

static uint64_t numel_of(uint32_t ndims, const uint64_t *shape) {
  uint64_t numel = 1;
  for (uint32_t d = 0; d < ndims; d++) numel *= shape[d];
  return numel;
}

/* A dense descriptor of no memory: boxes are arithmetic. */
static struct pto_tensor dense(uint32_t ndims, const uint64_t *shape) {
  struct pto_tensor t = {.dtype = PTO_UINT8, .ndims = ndims};
  uint64_t stride = 1;
  t.buffer.size_bytes = numel_of(ndims, shape);
  for (uint32_t d = ndims; d-- > 0; stride *= shape[d]) {
    t.shape[d] = shape[d];
    t.strides[d] = stride;
  }
  return t;
}

/* Adds one to each element of a view. */
static void count_view(const struct pto_tensor *view, uint8_t *counts) {
  uint64_t at[PTO_MAX_DIMS] = {0}, place = view->start_offset;
  const uint64_t numel = numel_of(view->ndims, view->shape);
  for (uint64_t i = 0; i < numel; i++) {
    counts[place]++;
    for (uint32_t d = view->ndims; d-- > 0;) {
      place += view->strides[d];
      if (++at[d] < view->shape[d]) break;
      place -= view->strides[d] * view->shape[d];
      at[d] = 0;
    }
  }
}

static void expect_cover(const struct pto_tiles *tiles, uint32_t ndims, const uint64_t *shape) {
  const uint64_t numel = numel_of(ndims, shape);
  const struct pto_tensor t = dense(ndims, shape);
  uint8_t *counts = calloc(1, numel);
  assert_non_null(counts);
  for (uint64_t i = 0; i < tiles->count; i++) {
    const struct pto_tensor view = pto_tiles_view(tiles, i, &t);
    assert_int_equal(view.status, PTO_OK);
    assert_int_equal(view.ndims, ndims);
    count_view(&view, counts);
    for (uint32_t d = 0; d < ndims; d++) {
      assert_true(view.shape[d] >= 1 && view.shape[d] <= tiles->step[d]);
      if (tiles->count > 1)
        assert_int_equal(view.start_offset / t.strides[d] % shape[d], pto_tiles_offset(tiles, i, d));
    }
  }
  for (uint64_t i = 0; i < numel; i++) assert_int_equal(counts[i], 1);
  free(counts);
}

static uint64_t random_below(uint64_t *state, uint64_t n) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (*state >> 33) % n;
}

/* ---- tests ---- */

static void test_boxes_are_disjoint_and_cover_the_shape_and_whole_dimensions_stay_whole(void **state) {
  uint64_t rng = 11;
  uint32_t cut = 0;
  for (int round = 0; round < 300; round++) {
    uint64_t shape[PTO_MAX_DIMS] = {0};
    const uint32_t ndims = (uint32_t)random_below(&rng, 6), whole = (uint32_t)random_below(&rng, 64);
    const uint64_t weight = 1 + random_below(&rng, 3) * 7;
    for (uint32_t d = 0; d < ndims; d++) shape[d] = 1 + random_below(&rng, d == 0 ? 400 : 30);
    if (numel_of(ndims, shape) > 2000000) continue;
    struct pto_tiles tiles;
    pto_tiles_make(&tiles, ndims, shape, whole, weight);
    expect_cover(&tiles, ndims, shape);
    uint64_t count = 1;
    for (uint32_t d = 0; d < ndims; d++) {
      count *= tiles.counts[d];
      if (whole >> d & 1) assert_int_equal(tiles.counts[d], 1);
    }
    assert_int_equal(tiles.count, count);
    assert_true(tiles.count <= PTO_TILE_MOST);
    cut += tiles.count > 1;
  }
  assert_true(cut > 50);
}

static void test_work_below_two_boxes_is_one_and_more_is_cut_evenly(void **state) {
  struct pto_tiles tiles;
  pto_tiles_make(&tiles, 1, (const uint64_t[]){2 * PTO_TILE_ELEMS - 1}, 0, 1);
  assert_int_equal(tiles.count, 1);
  pto_tiles_make(&tiles, 1, (const uint64_t[]){2 * PTO_TILE_ELEMS}, 0, 1);
  assert_int_equal(tiles.count, 2);
  assert_int_equal(tiles.step[0], PTO_TILE_ELEMS);
  pto_tiles_make(&tiles, 1, (const uint64_t[]){PTO_TILE_ELEMS}, 0, 2);
  assert_int_equal(tiles.count, 2);
  pto_tiles_make(&tiles, 2, (const uint64_t[]){3, 64 * PTO_TILE_ELEMS}, 0, 1);
  assert_int_equal(tiles.counts[0], 3);
  assert_int_equal(tiles.count, PTO_TILE_MOST / 3 * 3);
  pto_tiles_make(&tiles, 1, (const uint64_t[]){1000 * PTO_TILE_ELEMS}, 0, 1);
  assert_int_equal(tiles.count, PTO_TILE_MOST);
}

static void test_one_box_is_the_tensor_itself(void **state) {
  const uint64_t shape[] = {40, 50, 60};
  const struct pto_tensor t = dense(3, shape);
  struct pto_tiles tiles;
  pto_tiles_make_one(&tiles, 3, shape);
  const struct pto_tensor view = pto_tiles_view(&tiles, 0, &t);
  assert_int_equal(tiles.count, 1);
  assert_memory_equal(&view, &t, sizeof t);
  expect_cover(&tiles, 3, shape);
}

static void test_a_tensor_of_other_extents_is_whole_in_these_dimensions(void **state) {
  const uint64_t shape[] = {90, 7, 300}, other[] = {90, 1, 5};
  const struct pto_tensor t = dense(3, other);
  struct pto_tiles tiles;
  pto_tiles_make(&tiles, 3, shape, 0, 4);
  assert_true(tiles.counts[0] > 1);
  for (uint64_t i = 0; i < tiles.count; i++) {
    const struct pto_tensor view = pto_tiles_view(&tiles, i, &t);
    const uint64_t first = pto_tiles_offset(&tiles, i, 0);
    assert_int_equal(view.start_offset, first * 5);
    assert_int_equal(view.shape[0], first + tiles.step[0] <= 90 ? tiles.step[0] : 90 - first);
    assert_int_equal(view.shape[1], 1);
    assert_int_equal(view.shape[2], 5);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_boxes_are_disjoint_and_cover_the_shape_and_whole_dimensions_stay_whole),
      cmocka_unit_test(test_work_below_two_boxes_is_one_and_more_is_cut_evenly),
      cmocka_unit_test(test_one_box_is_the_tensor_itself),
      cmocka_unit_test(test_a_tensor_of_other_extents_is_whole_in_these_dimensions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
