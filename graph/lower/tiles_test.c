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

#include <graph/lower/tiles.h>

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

static void test_a_cut_is_even_and_has_as_few_boxes_as_it_may(void **state) {
  for (uint64_t extent = 1; extent <= 40; extent++)
    for (uint64_t most = 1; most <= 45; most++) {
      struct pto_tiles tiles;
      pto_tiles_make_one(&tiles, 1, &extent);
      pto_tiles_cut(&tiles, 0, most);
      assert_true(tiles.step[0] <= most);
      assert_int_equal(tiles.count, tiles.counts[0]);
      const uint64_t fewest = (extent + most - 1) / most;
      assert_int_equal(tiles.step[0], (extent + fewest - 1) / fewest);
      assert_true(tiles.count <= fewest);
      expect_cover(&tiles, 1, &extent);
    }
}

/* Panels of a product, or several whole products that are little work. */
static void test_boxes_of_products_are_panels_or_whole_products_of_little_work(void **state) {
  uint64_t rng = 12;
  uint32_t panels = 0, together = 0;
  for (int round = 0; round < 300; round++) {
    uint64_t shape[PTO_MAX_DIMS] = {0}, products = 1;
    const uint32_t ndims = 2 + (uint32_t)random_below(&rng, 3);
    const uint64_t most = round % 2 ? 200 : 20, depth = 1 + random_below(&rng, most);
    for (uint32_t d = 0; d < ndims; d++) shape[d] = 1 + random_below(&rng, d + 2 < ndims ? 12 : most);
    if (numel_of(ndims, shape) > 2000000) continue;
    struct pto_tiles tiles;
    pto_tiles_make_product(&tiles, ndims, shape, depth);
    expect_cover(&tiles, ndims, shape);
    for (uint32_t d = 0; d + 2 < ndims; d++) products *= tiles.step[d];
    assert_true(tiles.step[ndims - 2] <= PTO_TILE_ROWS && tiles.step[ndims - 1] <= PTO_TILE_COLUMNS);
    if (products > 1) {
      assert_int_equal(tiles.counts[ndims - 2] * tiles.counts[ndims - 1], 1);
      assert_true(products * shape[ndims - 2] * shape[ndims - 1] * depth <= PTO_TILE_WORK);
    }
    panels += tiles.counts[ndims - 2] * tiles.counts[ndims - 1] > 1;
    together += products > 1;
  }
  assert_true(panels > 20 && together > 20);
}

static void test_a_part_has_all_of_the_dimensions_that_are_whole_whatever_their_extents(void **state) {
  const uint64_t shape[] = {3, 200, 200}, shared[] = {1, 200, 200};
  const struct pto_tensor t = dense(3, shape), u = dense(3, shared);
  struct pto_tiles tiles;
  pto_tiles_make_product(&tiles, 3, shape, 200);
  assert_true(tiles.counts[0] == 3 && tiles.counts[1] > 1 && tiles.counts[2] > 1);
  for (uint64_t i = 0; i < tiles.count; i++) {
    const uint64_t head = pto_tiles_offset(&tiles, i, 0), row = pto_tiles_offset(&tiles, i, 1);
    const struct pto_tensor left = pto_tiles_part(&tiles, i, &t, 1u << 2), all = pto_tiles_part(&tiles, i, &t, 6);
    const struct pto_tensor of_all_heads = pto_tiles_part(&tiles, i, &u, 1u << 2);
    assert_int_equal(left.start_offset, (head * 200 + row) * 200);
    assert_int_equal(left.shape[1], pto_min_u64(tiles.step[1], 200 - row));
    assert_int_equal(left.shape[2], 200);
    assert_int_equal(all.start_offset, head * 40000);
    assert_true(all.shape[0] == 1 && all.shape[1] == 200 && all.shape[2] == 200);
    assert_int_equal(of_all_heads.start_offset, row * 200);
    assert_int_equal(of_all_heads.shape[0], 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_boxes_are_disjoint_and_cover_the_shape_and_whole_dimensions_stay_whole),
      cmocka_unit_test(test_work_below_two_boxes_is_one_and_more_is_cut_evenly),
      cmocka_unit_test(test_one_box_is_the_tensor_itself),
      cmocka_unit_test(test_a_tensor_of_other_extents_is_whole_in_these_dimensions),
      cmocka_unit_test(test_a_cut_is_even_and_has_as_few_boxes_as_it_may),
      cmocka_unit_test(test_boxes_of_products_are_panels_or_whole_products_of_little_work),
      cmocka_unit_test(test_a_part_has_all_of_the_dimensions_that_are_whole_whatever_their_extents),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
