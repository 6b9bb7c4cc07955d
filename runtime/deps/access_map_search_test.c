/* SPDX-License-Identifier: MIT */
/*
 * What a lookup in the map of accesses finds and how much it looks at: regions by their geometry, among disjoint tiles
 * and random ones, against comparing with all entries.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include <runtime/deps/access_map.h>
#include <tests/support/access_map_fixture.h>

static void the_same_region_is_found_by_its_geometry(void **state) {
  struct fixture f;
  make(&f, 64, 1024);
  uint32_t space = pto_access_map_add_space(&f.map, 0x10000, 4096, 64, 4096);
  struct pto_region a = box(0x10000, 16, 4, 64), b = box(0x10010, 16, 4, 64);
  uint32_t entry = enter(&f, space, &a, PTO_TAG_WRITE);
  assert_int_equal(pto_access_map_find(&f.map, PTO_ANY_SPACE, &a, pto_access_map_bucket(&f.map, &a)), entry);
  assert_int_equal(pto_access_map_find(&f.map, PTO_ANY_SPACE, &b, pto_access_map_bucket(&f.map, &b)), 0);
  assert_true(pto_access_map_is_valid(&f.map));
  drop(&f);
}

static void regions_of_more_than_two_dimensions_keep_all_of_them(void **state) {
  struct fixture f;
  make(&f, 64, 1024);
  uint32_t space = pto_access_map_add_space(&f.map, 0, 1 << 20, 64, 4096);
  struct pto_region r = {
      .start = 128, .run_bytes = 8, .ndims = 4, .extents = {2, 3, 2, 2}, .strides = {65536, 4096, 128, 16}};
  r.end = 128 + 65536 + 2 * 4096 + 128 + 16 + 8;
  uint32_t entry = enter(&f, space, &r, PTO_TAG_READ);
  struct pto_region back;
  pto_access_map_region(&f.map, entry, &back);
  assert_int_equal(back.ndims, 4);
  assert_memory_equal(back.extents, r.extents, 4 * sizeof back.extents[0]);
  assert_memory_equal(back.strides, r.strides, 4 * sizeof back.strides[0]);
  r.extents[3] = 3;
  assert_int_equal(pto_access_map_find(&f.map, PTO_ANY_SPACE, &r, pto_access_map_bucket(&f.map, &r)), 0);
  pto_access_map_remove(&f.map, entry);
  assert_int_equal(f.map.live_entries, 0);
  assert_true(pto_access_map_is_valid(&f.map));
  drop(&f);
}

/* ---- flat lookup ---- */

enum tiling { TILING_LINES, TILING_TILES, TILING_STRIPS };

/* Tile `i` of `count` disjoint ones that fill a space. */
static struct pto_region tile(enum tiling tiling, uint32_t i, uint32_t count) {
  if (tiling == TILING_LINES) return box((uint64_t)i * 64, 64, 1, 0);
  if (tiling == TILING_STRIPS) return box((uint64_t)i * 16, 16, 64, (uint64_t)count * 16);
  uint32_t side = 1;
  while (side * side < count) side *= 2;
  uint64_t pitch = (uint64_t)side * 32;
  return box((uint64_t)(i / side) * 8 * pitch + (uint64_t)(i % side) * 32, 32, 8, pitch);
}

static uint32_t tiled_space(struct fixture *f, enum tiling tiling, uint32_t count) {
  struct pto_region last = tile(tiling, count - 1, count);
  uint64_t pitch = tiling == TILING_LINES ? last.end : last.strides[0];
  return pto_access_map_add_space(&f->map, 0, last.end, pitch, pto_align_up(last.end, 1) / pitch * pitch + pitch);
}

/* Candidates a search, over all tiles: those met by a region of the tiling that is already in (hit), and by one that is
 * new (miss). */
static double candidates_a_search(enum tiling tiling, uint32_t count) {
  static struct fixture f;
  make(&f, WINDOW * 2, WINDOW * 2);
  uint32_t space = tiled_space(&f, tiling, count);
  for (uint32_t i = 0; i < count; i++) {
    struct pto_region r = tile(tiling, i, count);
    enter(&f, space, &r, PTO_TAG_WRITE);
    assert_int_equal(f.map.hit_count, 0); /* disjoint from all others */
  }
  uint64_t before = f.map.candidates, searches = 0;
  for (uint32_t i = 0; i < count; i += 1 + count / 1024, searches++) {
    struct pto_region r = tile(tiling, i, count);
    f.map.hit_count = 0;
    pto_access_map_search(&f.map, space, &r, 0, NULL);
    assert_int_equal(f.map.hit_count, 1); /* itself */
    assert_true(f.map.hits[0].is_covered);
  }
  double result = (double)(f.map.candidates - before) / (double)searches;
  drop(&f);
  return result;
}

static void a_lookup_among_disjoint_tiles_tries_at_most_two_candidates_however_many_are_live(void **state) {
  static const char *const names[] = {"lines", "tiles", "strips"};
  for (int tiling = TILING_LINES; tiling <= TILING_STRIPS; tiling++)
    for (uint32_t count = 64; count <= 65536; count *= 32) {
      double candidates = candidates_a_search((enum tiling)tiling, count);
      printf("%s, %u live: %.2f candidates a search\n", names[tiling], count, candidates);
      assert_true(candidates <= 2.0);
    }
}

static void a_region_over_all_tiles_finds_every_one(void **state) {
  static const uint32_t counts[] = {20, 64, 391};
  for (uint32_t c = 0; c < PTO_ARRAY_LENGTH(counts); c++)
    for (int tiling = TILING_LINES; tiling <= TILING_STRIPS; tiling++) {
      struct fixture f;
      make(&f, 1024, 1024);
      uint32_t space = tiled_space(&f, (enum tiling)tiling, counts[c]);
      uint64_t end = 0;
      for (uint32_t i = 0; i < counts[c]; i++) {
        struct pto_region r = tile((enum tiling)tiling, i, counts[c]);
        enter(&f, space, &r, PTO_TAG_READ);
        end = pto_max_u64(end, r.end);
      }
      struct pto_region all = box(0, end, 1, 0);
      f.map.hit_count = 0;
      pto_access_map_search(&f.map, space, &all, 0, NULL);
      assert_int_equal(f.map.hit_count, counts[c]);
      for (uint32_t i = 0; i < f.map.hit_count; i++) assert_true(f.map.hits[i].is_covered);
      drop(&f);
    }
}

/* A submit has so many tensors, and a predicate. */
static void each_region_of_a_submit_may_meet_every_entry(void **state) {
  const uint32_t count = 64;
  struct fixture f;
  make(&f, count * 2, count);
  const uint32_t space = tiled_space(&f, TILING_LINES, count);
  for (uint32_t i = 0; i < count; i++) {
    struct pto_region r = tile(TILING_LINES, i, count);
    enter(&f, space, &r, PTO_TAG_READ);
  }
  const struct pto_region all = box(0, tile(TILING_LINES, count - 1, count).end, 1, 0);
  f.map.hit_count = 0;
  for (uint32_t i = 0; i < PTO_MAX_TENSORS + 1; i++) pto_access_map_search(&f.map, space, &all, 0, NULL);
  assert_int_equal(f.map.hit_count, (PTO_MAX_TENSORS + 1) * count);
  assert_true((uint64_t)((char *)f.map.buckets - (char *)f.map.hits) >= f.map.hit_count * sizeof *f.map.hits);
  drop(&f);
}

/* As a write does that covers what was there: between the search and the insert, the last entry of the class that was
 * found goes, or of the space. */
static void a_region_finds_its_place_where_what_it_covers_was_the_last_of_its_class(void **state) {
  for (uint32_t others = 0; others < 3; others++) {
    struct fixture f;
    make(&f, 64, 1024);
    uint32_t space = pto_access_map_add_space(&f.map, 0, 1 << 16, 1 << 16, 1 << 16);
    struct pto_region covered = box(110, 60, 1, 0), all = box(105, 80, 1, 0), part = box(108, 60, 1, 0);
    struct pto_region model = box(1000, 100, 1, 0); /* gives the class its cells, in which the others fit too */
    const uint32_t first = enter(&f, space, &model, PTO_TAG_WRITE);
    const uint32_t victim = enter(&f, space, &covered, PTO_TAG_WRITE);
    pto_access_map_remove(&f.map, first);
    for (uint32_t i = 0; i < others; i++) {
      struct pto_region far = box(4096 + i * 8, 8, 1, 0);
      enter(&f, space, &far, PTO_TAG_WRITE);
    }
    f.map.hit_count = 0;
    struct pto_access_position place;
    pto_access_map_search(&f.map, space, &all, 0, &place);
    assert_int_equal(f.map.hit_count, 1);
    assert_true(f.map.hits[0].is_covered);
    pto_access_map_remove(&f.map, victim);
    const uint32_t entry = pto_access_map_insert(&f.map, space, &all, pto_access_map_bucket(&f.map, &all), &place);
    assert_true(pto_access_map_append(&f.map, &f.map.entries[entry], submit(&f), PTO_TAG_WRITE));
    assert_true(pto_access_map_is_valid(&f.map));
    f.map.hit_count = 0;
    pto_access_map_search(&f.map, space, &part, 0, NULL);
    assert_int_equal(f.map.hit_count, 1);
    assert_int_equal(f.map.hits[0].entry, entry);
    drop(&f);
  }
}

/* A fresh entry has the stamp 0, which no walk may have. */
static void walks_across_the_wrap_of_their_stamps_meet_every_entry_once(void **state) {
  struct fixture f;
  make(&f, 1024, 1024);
  const uint32_t space = pto_access_map_add_space(&f.map, 0, 64 * 66, 64 * 66, 64 * 66);
  struct pto_region model = box(0, 64, 1, 0); /* gives the class its cells: of the others each lies in two */
  enter(&f, space, &model, PTO_TAG_WRITE);
  for (uint32_t i = 0; i < 63; i++) {
    struct pto_region r = box(96 + (uint64_t)i * 64, 64, 1, 0);
    enter(&f, space, &r, PTO_TAG_WRITE);
  }
  f.map.visit = UINT32_MAX - 3;
  for (uint32_t i = 0; i < 80; i++) { /* on to the stamps that entries have from before the wrap */
    struct pto_region across = box(128 + (uint64_t)(i % 8) * 64, 128, 1, 0);
    f.map.hit_count = 0;
    pto_access_map_search(&f.map, space, &across, 0, NULL);
    assert_int_equal(f.map.hit_count, 3);
  }
  assert_true(f.map.visit < 100);
  drop(&f);
}

/* ---- against comparing with all entries ---- */

static struct pto_region random_region(struct pto_rng *rng, uint64_t base) {
  uint64_t pitch = 64 << pto_rng_below(rng, 2), rows = 1 + pto_rng_below(rng, 6), run = 1 + pto_rng_below(rng, 40);
  struct pto_region r = box(base + pto_rng_below(rng, 2048), run, rows, pitch);
  if (pto_rng_below(rng, 8) == 0) r = box(base + pto_rng_below(rng, 1024), 1 + pto_rng_below(rng, 1024), 1, 0);
  if (pto_rng_below(rng, 5) == 0) {
    r.ndims = 2;
    r.run_bytes = run = 1 + pto_rng_below(rng, 7);
    r.extents[0] = 1 + rows;
    r.strides[0] = 256;
    r.extents[1] = 2 + pto_rng_below(rng, 6);
    r.strides[1] = 8 + pto_rng_below(rng, 20);
    r.end = r.start + rows * 256 + (r.extents[1] - 1) * r.strides[1] + run;
  }
  r.is_fuzzy = pto_rng_below(rng, 64) == 0;
  return r;
}

/* Cells that lead to an entry: at most two a coordinate, which is what the links are counted for. */
static uint32_t cell_count(const struct fixture *f, uint32_t entry) {
  uint32_t count = 1;
  for (uint32_t i = f->map.cold[entry].links; i; i = f->map.links[i].sibling) count++;
  return count;
}

static void a_region_longer_than_the_cells_of_a_class_begins_its_own(void **state) {
  struct fixture f;
  make(&f, 64, 1024);
  const uint32_t space = pto_access_map_add_space(&f.map, 0, 4096, 4096, 4096);
  for (uint32_t i = 0; i < 4; i++) {
    struct pto_region r = box((uint64_t)i * 16, 16, 1, 0);
    assert_int_equal(cell_count(&f, enter(&f, space, &r, PTO_TAG_WRITE)), 1);
  }
  struct pto_region longer = box(15 + 8 * 16, 17 + 1, 1, 0), by_one = box(15 + 16 * 16, 17, 1, 0);
  assert_true(cell_count(&f, enter(&f, space, &by_one, PTO_TAG_WRITE)) <= 2);
  assert_true(cell_count(&f, enter(&f, space, &longer, PTO_TAG_WRITE)) <= 2);
  drop(&f);
}

static void random_regions_are_found_as_by_comparing_with_all(void **state) {
  struct pto_rng rng = {7};
  for (int round = 0; round < 60; round++) {
    struct fixture f;
    make(&f, 4096, 4096);
    uint64_t base = 4096;
    const uint64_t pitch = pto_rng_below(&rng, 4) ? 64 : 8192, plane = pitch << pto_rng_below(&rng, 8);
    uint32_t space = pto_access_map_add_space(&f.map, base, 8192, pitch, plane); /* one, two or three coordinates */
    uint32_t entries[512], count = 0;
    for (int step = 0; step < 400; step++) {
      struct pto_region r = random_region(&rng, base);
      uint32_t own = pto_access_map_find(&f.map, PTO_ANY_SPACE, &r, pto_access_map_bucket(&f.map, &r)), expected = 0;
      f.map.hit_count = 0;
      pto_access_map_search(&f.map, space, &r, own, NULL);
      for (uint32_t i = 0; i < count; i++) {
        struct pto_region other;
        pto_access_map_region(&f.map, entries[i], &other);
        enum pto_overlap relation = pto_region_overlap(&r, &other, NULL);
        if (entries[i] == own || relation == PTO_DISJOINT) continue;
        expected++;
        bool is_found = false;
        for (uint32_t h = 0; h < f.map.hit_count; h++)
          if (f.map.hits[h].entry == entries[i]) {
            is_found = true;
            assert_int_equal(f.map.hits[h].is_covered, relation == PTO_EQUAL || relation == PTO_COVERS);
          }
        assert_true(is_found);
      }
      assert_int_equal(f.map.hit_count, expected);
      if (count && pto_rng_below(&rng, 3) == 0) {
        uint32_t victim = (uint32_t)pto_rng_below(&rng, count);
        pto_access_map_remove(&f.map, entries[victim]);
        entries[victim] = entries[--count];
      } else if (!own) {
        entries[count] = enter(&f, space, &r, PTO_TAG_READ);
        assert_true(cell_count(&f, entries[count++]) <= 1u << f.map.spaces[space].coordinates);
      }
    }
    assert_true(pto_access_map_is_valid(&f.map));
    drop(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_same_region_is_found_by_its_geometry),
      cmocka_unit_test(regions_of_more_than_two_dimensions_keep_all_of_them),
      cmocka_unit_test(a_lookup_among_disjoint_tiles_tries_at_most_two_candidates_however_many_are_live),
      cmocka_unit_test(a_region_over_all_tiles_finds_every_one),
      cmocka_unit_test(each_region_of_a_submit_may_meet_every_entry),
      cmocka_unit_test(a_region_finds_its_place_where_what_it_covers_was_the_last_of_its_class),
      cmocka_unit_test(walks_across_the_wrap_of_their_stamps_meet_every_entry_once),
      cmocka_unit_test(a_region_longer_than_the_cells_of_a_class_begins_its_own),
      cmocka_unit_test(random_regions_are_found_as_by_comparing_with_all),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
