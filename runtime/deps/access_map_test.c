/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <runtime/deps/access_map.h>

#define WINDOW 65536u

struct fixture {
  struct pto_reserve arena;
  struct pto_task_rings rings;
  struct pto_list_chunks chunks;
  struct pto_access_map map;
};

static void make(struct fixture *f, uint32_t window, uint32_t entries) {
  memset(f, 0, sizeof *f);
  assert_true(pto_reserve_init(&f->arena, 4 * 4096));
  assert_true(pto_task_rings_init(&f->rings, window, f->arena.addr, 4096));
  assert_true(pto_list_chunks_init(&f->chunks, 1 << 16));
  assert_true(pto_access_map_init(&f->map, entries, 1024, 1 << 17, &f->rings, &f->chunks));
}

static void drop(struct fixture *f) {
  pto_access_map_fini(&f->map);
  pto_list_chunks_fini(&f->chunks);
  pto_task_rings_fini(&f->rings);
  pto_reserve_fini(&f->arena);
}

/* The reference of a new task in ring 0, whose slot nobody looks at. */
static struct pto_task_ref submit(struct fixture *f) {
  return pto_task_ref_make(&f->rings, 0, f->rings.rings[0].head++);
}

static struct pto_region box(uint64_t start, uint64_t run, uint64_t rows, uint64_t pitch) {
  struct pto_region r = {.start = start, .run_bytes = run, .end = start + run};
  if (rows > 1) {
    r.ndims = 1;
    r.extents[0] = rows;
    r.strides[0] = pitch;
    r.end += (rows - 1) * pitch;
  }
  return r;
}

static uint32_t enter(struct fixture *f, uint32_t space, const struct pto_region *r, uint16_t tag) {
  assert_true(pto_access_map_make_room(&f->map, 1));
  const uint32_t bucket = pto_access_map_bucket(&f->map, r);
  uint32_t entry = pto_access_map_find(&f->map, r, bucket);
  f->map.hit_count = 0;
  if (!entry) {
    pto_access_map_search(&f->map, space, r, 0);
    entry = pto_access_map_insert_found(&f->map, space, r, bucket);
    if (f->map.hit_count == 0 && !r->is_fuzzy) f->map.entries[entry].flags |= PTO_ENTRY_ISOLATED;
    for (uint32_t i = 0; i < f->map.hit_count; i++)
      f->map.entries[f->map.hits[i].entry].flags &= (uint8_t)~PTO_ENTRY_ISOLATED;
  }
  assert_true(pto_access_map_append(&f->map, &f->map.entries[entry], submit(f), tag));
  return entry;
}

static void the_same_region_is_found_by_its_geometry(void **state) {
  struct fixture f;
  make(&f, 64, 1024);
  uint32_t space = pto_access_map_add_space(&f.map, 0x10000, 4096, 64, 4096);
  struct pto_region a = box(0x10000, 16, 4, 64), b = box(0x10010, 16, 4, 64);
  uint32_t entry = enter(&f, space, &a, PTO_TAG_WRITE);
  assert_int_equal(pto_access_map_find(&f.map, &a, pto_access_map_bucket(&f.map, &a)), entry);
  assert_int_equal(pto_access_map_find(&f.map, &b, pto_access_map_bucket(&f.map, &b)), 0);
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
  assert_int_equal(pto_access_map_find(&f.map, &r, pto_access_map_bucket(&f.map, &r)), 0);
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
    pto_access_map_search(&f.map, space, &r, 0);
    assert_int_equal(f.map.hit_count, 1); /* itself */
    assert_true(f.map.hits[0].is_covered);
  }
  double result = (double)(f.map.candidates - before) / (double)searches;
  drop(&f);
  return result;
}

static void a_lookup_among_disjoint_tiles_meets_at_most_two_candidates_however_many_are_live(void **state) {
  static const char *const names[] = {"lines", "tiles", "strips"};
  for (int tiling = TILING_LINES; tiling <= TILING_STRIPS; tiling++)
    for (uint32_t count = 64; count <= 65536; count *= 32) {
      double candidates = candidates_a_search((enum tiling)tiling, count);
      printf("%s, %u live: %.2f candidates a search\n", names[tiling], count, candidates);
      assert_true(candidates <= 2.0);
    }
}

static void a_region_over_all_tiles_meets_every_one(void **state) {
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
      pto_access_map_search(&f.map, space, &all, 0);
      assert_int_equal(f.map.hit_count, counts[c]);
      for (uint32_t i = 0; i < f.map.hit_count; i++) assert_true(f.map.hits[i].is_covered);
      drop(&f);
    }
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
    pto_access_map_search(&f.map, space, &all, 0);
    assert_int_equal(f.map.hit_count, 1);
    assert_true(f.map.hits[0].is_covered);
    pto_access_map_remove(&f.map, victim);
    const uint32_t entry = pto_access_map_insert_found(&f.map, space, &all, pto_access_map_bucket(&f.map, &all));
    assert_true(pto_access_map_append(&f.map, &f.map.entries[entry], submit(&f), PTO_TAG_WRITE));
    assert_true(pto_access_map_is_valid(&f.map));
    f.map.hit_count = 0;
    pto_access_map_search(&f.map, space, &part, 0);
    assert_int_equal(f.map.hit_count, 1);
    assert_int_equal(f.map.hits[0].entry, entry);
    drop(&f);
  }
}

static void the_first_region_of_a_space_is_not_put_where_the_last_search_of_another_came_by(void **state) {
  struct fixture f;
  make(&f, 64, 1024);
  uint32_t space = pto_access_map_add_space(&f.map, 0, 4096, 4096, 4096);
  uint32_t empty = pto_access_map_add_space(&f.map, 8192, 4096, 4096, 4096);
  for (uint32_t i = 0; i < 3; i++) {
    struct pto_region r = box(i * 64, 64, 1, 0);
    enter(&f, space, &r, PTO_TAG_WRITE);
  }
  assert_true(f.map.place.has_cell);
  struct pto_region r = box(8192, 64, 1, 0);
  const uint32_t entry = pto_access_map_insert_found(&f.map, empty, &r, pto_access_map_bucket(&f.map, &r));
  assert_true(pto_access_map_append(&f.map, &f.map.entries[entry], submit(&f), PTO_TAG_WRITE));
  assert_true(pto_access_map_is_valid(&f.map));
  f.map.hit_count = 0;
  pto_access_map_search(&f.map, empty, &r, 0);
  assert_int_equal(f.map.hit_count, 1);
  drop(&f);
}

/* A fresh entry has the stamp 0, which no walk may have. */
static void walks_across_the_wrap_of_their_stamps_meet_every_entry_once(void **state) {
  struct fixture f;
  make(&f, 1024, 1024);
  const uint32_t space = pto_access_map_add_space(&f.map, 0, 64 * 64, 64 * 64, 64 * 64);
  f.map.visit = UINT32_MAX - 3;
  for (uint32_t i = 0; i < 64; i++) {
    struct pto_region r = box((uint64_t)i * 64, 64, 1, 0);
    enter(&f, space, &r, PTO_TAG_WRITE);
  }
  for (uint32_t i = 0; i < 8; i++) {
    struct pto_region across = box(32 + (uint64_t)i * 64, 128, 1, 0);
    f.map.hit_count = 0;
    pto_access_map_search(&f.map, space, &across, 0);
    assert_int_equal(f.map.hit_count, 3);
  }
  assert_true(f.map.visit < 8);
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

static void each_refused_reservation_is_reported_and_leaves_nothing(void **state) {
  struct fixture f;
  make(&f, 64, 1024);
  pto_access_map_fini(&f.map);
  uint32_t refused = 0;
  for (bool is_made = false; !is_made;) {
    pto_reserve_fail_countdown = refused + 1;
    is_made = pto_access_map_init(&f.map, 1024, 64, 1 << 10, &f.rings, &f.chunks);
    if (!is_made) refused++;
    if (is_made) assert_int_equal(pto_reserve_fail_countdown, 1); /* nothing was refused */
    pto_reserve_fail_countdown = 0;
    pto_access_map_fini(&f.map);
    assert_null(f.map.entries_memory.addr);
  }
  assert_int_equal(refused, 10);
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
      uint32_t own = pto_access_map_find(&f.map, &r, pto_access_map_bucket(&f.map, &r)), expected = 0;
      f.map.hit_count = 0;
      pto_access_map_search(&f.map, space, &r, own);
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

/* ---- lists, expiry, spaces ---- */

static void a_region_read_for_ever_keeps_the_readers_of_a_window_and_no_more(void **state) {
  struct fixture f;
  make(&f, 64, 1024);
  uint32_t space = pto_access_map_add_space(&f.map, 0, 4096, 4096, 4096);
  struct pto_region r = box(0, 64, 1, 0);
  for (int i = 0; i < 100000; i++) enter(&f, space, &r, PTO_TAG_READ);
  assert_true(f.chunks.live_count <= 2 * 64 / PTO_CHUNK_ACCESSES + 4);
  assert_int_equal(pto_access_map_filter(&f.map, &f.map.entries[1], NULL, NULL), 64);
  assert_true(pto_access_map_is_valid(&f.map));
  drop(&f);
}

/* The one chunk that there is holds eight accesses; those in the places of the entry itself have expired. */
static void a_reader_takes_the_place_of_an_expired_one_where_no_chunk_is_left(void **state) {
  struct fixture f;
  make(&f, 8, 1024);
  pto_list_chunks_fini(&f.chunks);
  assert_true(pto_list_chunks_init(&f.chunks, 1));
  const uint32_t space = pto_access_map_add_space(&f.map, 0, 4096, 4096, 4096);
  struct pto_region r = box(0, 64, 1, 0);
  for (uint32_t i = 0; i < 12; i++) enter(&f, space, &r, PTO_TAG_READ);
  assert_int_equal(f.chunks.live_count, 1);
  const uint32_t entry = enter(&f, space, &r, PTO_TAG_READ);
  assert_int_equal(pto_access_map_filter(&f.map, &f.map.entries[entry], NULL, NULL), 8);
  assert_true(pto_list_chunks_is_valid(&f.chunks));
  drop(&f);
}

static void the_first_chunk_counts_the_readers_behind_it(void **state) {
  struct fixture f;
  make(&f, 4096, 1024);
  const uint32_t space = pto_access_map_add_space(&f.map, 0, 4096, 4096, 4096);
  struct pto_region r = box(0, 64, 1, 0);
  for (int i = 0; i < 6000; i++) {
    const struct pto_access_entry *entry = &f.map.entries[enter(&f, space, &r, PTO_TAG_READ)];
    uint32_t behind = 0;
    for (uint32_t c = entry->more ? f.chunks.chunks[entry->more].next : 0; c && i % 100 == 0;
         c = f.chunks.chunks[c].next)
      behind += f.chunks.chunks[c].count;
    if (entry->more && i % 100 == 0) assert_int_equal(f.chunks.chunks[entry->more].total, behind);
  }
  drop(&f);
}

/* One task may have more accesses than the map has places left, most of them expired. */
static void expired_entries_make_room_for_many_parameters_at_once(void **state) {
  struct fixture f;
  make(&f, 8, 100);
  const uint32_t space = pto_access_map_add_space(&f.map, 0, 1 << 20, 1 << 20, 1 << 20);
  for (uint32_t i = 0; i < 90; i++) {
    struct pto_region r = box((uint64_t)i * 64, 64, 1, 0);
    assert_true(pto_access_map_make_room(&f.map, 1));
    const uint32_t entry = pto_access_map_insert(&f.map, space, &r, pto_access_map_bucket(&f.map, &r));
    const struct pto_task_ref ref = pto_task_ref_make(&f.rings, 0, f.rings.rings[0].head);
    assert_true(pto_access_map_append(&f.map, &f.map.entries[entry], ref, PTO_TAG_WRITE));
  }
  f.rings.rings[0].head++;
  assert_false(pto_access_map_make_room(&f.map, 32));
  for (uint32_t i = 0; i < 8; i++) submit(&f);
  assert_true(pto_access_map_make_room(&f.map, 32));
  assert_int_equal(f.map.live_entries, 0);
  assert_true(pto_access_map_is_valid(&f.map));
  drop(&f);
}

/* As of external memory that another shape is registered over. */
static void an_empty_space_may_change_its_coordinates(void **state) {
  struct fixture f;
  make(&f, 64, 1024);
  const uint32_t space = pto_access_map_add_space(&f.map, 0, 1 << 16, 64, 4096);
  for (uint32_t pitch = 64; pitch <= 1024; pitch *= 4) {
    pto_access_map_set_grid(&f.map, space, pitch, UINT64_C(16) * pitch);
    for (uint32_t i = 0; i < 12; i++) {
      struct pto_region r = box((uint64_t)(i / 4) * 4 * pitch + (i % 4) * 16, 16, 4, pitch);
      enter(&f, space, &r, PTO_TAG_WRITE);
      assert_int_equal(f.map.hit_count, 0);
    }
    struct pto_region column = box(16, 16, 12, pitch), corner = box(8 + UINT64_C(2) * pitch, 16, 4, pitch);
    f.map.hit_count = 0;
    pto_access_map_search(&f.map, space, &column, 0);
    assert_int_equal(f.map.hit_count, 3);
    f.map.hit_count = 0;
    pto_access_map_search(&f.map, space, &corner, 0);
    assert_int_equal(f.map.hit_count, 4);
    const uint64_t candidates = f.map.candidates;
    struct pto_region one = box(16, 16, 4, pitch);
    pto_access_map_search(&f.map, space, &one, 0);
    assert_int_equal(f.map.candidates - candidates, 1);
    assert_true(pto_access_map_is_valid(&f.map));
    pto_access_map_clear_space(&f.map, space);
  }
  drop(&f);
}

static void a_region_over_the_end_of_a_plane_is_met_whatever_planes_there_were_before(void **state) {
  struct fixture f;
  make(&f, 1024, 1024);
  const uint32_t space = pto_access_map_add_space(&f.map, 0, 1 << 16, 64, 4096);
  for (uint64_t rows = 64; rows >= 4; rows /= 4) {
    pto_access_map_set_grid(&f.map, space, 64, rows * 64);
    for (uint64_t i = 0; i < rows + 4; i++) {
      struct pto_region r = box(i * 64, 16, 1, 0);
      enter(&f, space, &r, PTO_TAG_WRITE);
    }
    struct pto_region across = box((rows - 2) * 64, 16, 4, 64);
    f.map.hit_count = 0;
    pto_access_map_search(&f.map, space, &across, 0);
    assert_int_equal(f.map.hit_count, 4);
    pto_access_map_clear_space(&f.map, space);
  }
  drop(&f);
}

static void the_sweep_removes_what_no_task_can_wait_for_any_more(void **state) {
  struct fixture f;
  make(&f, 64, 1024);
  uint32_t space = pto_access_map_add_space(&f.map, 0, 1 << 20, 64, 1 << 20);
  for (uint32_t i = 0; i < 60; i++) {
    struct pto_region r = box(i * 64, 64, 1, 0);
    enter(&f, space, &r, PTO_TAG_WRITE);
  }
  for (uint32_t i = 0; i < 20; i++) submit(&f);
  assert_int_equal(f.map.live_entries, 60);
  pto_access_map_sweep(&f.map);
  assert_int_equal(f.map.live_entries, 64 - 20);
  assert_true(pto_access_map_is_valid(&f.map));
  drop(&f);
}

/* Tasks of an outer scope, which stay visible, and of an inner one, which come and go. */
static void places_in_use_stay_below_twice_the_visible_entries(void **state) {
  static const uint32_t outer_counts[] = {0, 1, 50, 500};
  for (uint32_t k = 0; k < PTO_ARRAY_LENGTH(outer_counts); k++) {
    struct fixture f;
    make(&f, 512, 4096);
    const uint32_t outer = outer_counts[k], space = pto_access_map_add_space(&f.map, 0, 1 << 30, 1 << 30, 1 << 30);
    for (uint32_t i = 0; i < 40000; i++) {
      struct pto_region r = box((uint64_t)i * 64, 64, 1, 0);
      assert_true(pto_access_map_make_room(&f.map, 1));
      const uint32_t ring = i >= outer,
                     entry = pto_access_map_insert(&f.map, space, &r, pto_access_map_bucket(&f.map, &r));
      const struct pto_task_ref ref = pto_task_ref_make(&f.rings, ring, f.rings.rings[ring].head++);
      assert_true(pto_access_map_append(&f.map, &f.map.entries[entry], ref, PTO_TAG_WRITE));
    }
    assert_true(f.map.entries_used <= 2 * (outer + 513));
    assert_true(f.map.live_entries >= outer + 512);
    assert_true(pto_access_map_is_valid(&f.map));
    drop(&f);
  }
}

/* The places of the entry itself hold expired readers, its chunk a visible one. */
static void an_entry_keeps_its_place_for_one_visible_reader_behind_expired_ones(void **state) {
  struct fixture f;
  make(&f, 8, 1024);
  const uint32_t space = pto_access_map_add_space(&f.map, 0, 4096, 4096, 4096);
  struct pto_region shared = box(0, 64, 1, 0);
  for (uint32_t i = 0; i < PTO_ENTRY_ACCESSES; i++) enter(&f, space, &shared, PTO_TAG_READ);
  for (uint32_t i = 1; i <= 8; i++) {
    struct pto_region r = box(i * 64, 64, 1, 0);
    enter(&f, space, &r, PTO_TAG_WRITE);
  }
  const uint32_t entry = enter(&f, space, &shared, PTO_TAG_READ);
  struct pto_region next = box(1024, 64, 1, 0);
  enter(&f, space, &next, PTO_TAG_WRITE);
  assert_int_equal(f.map.hand, entry + 1); /* it has been met, and the next one taken */
  assert_int_equal(pto_access_map_find(&f.map, &shared, pto_access_map_bucket(&f.map, &shared)), entry);
  assert_int_equal(pto_access_map_filter(&f.map, &f.map.entries[entry], NULL, NULL), 1);
  drop(&f);
}

/* Each sweep goes through the accesses of all entries. */
static void sweeps_do_not_put_off_that_expired_readers_are_dropped(void **state) {
  struct fixture f;
  make(&f, 64, 1024);
  const uint32_t space = pto_access_map_add_space(&f.map, 0, 4096, 4096, 4096);
  struct pto_region r = box(0, 64, 1, 0);
  enter(&f, space, &r, PTO_TAG_READ);
  for (int i = 0; i < 12; i++) pto_access_map_sweep(&f.map);
  for (int i = 0; i < 2000; i++) enter(&f, space, &r, PTO_TAG_READ);
  assert_true(f.chunks.live_count <= 2 * 64 / PTO_CHUNK_ACCESSES + 4);
  drop(&f);
}

static void expired_entries_never_exhaust_the_map(void **state) {
  struct fixture f;
  make(&f, 64, 100);
  uint32_t space = pto_access_map_add_space(&f.map, 0, 1 << 30, 64, 1 << 30);
  for (uint32_t i = 0; i < 20000; i++) {
    struct pto_region r = box((uint64_t)i * 64, 64, 1, 0);
    enter(&f, space, &r, PTO_TAG_WRITE);
  }
  assert_true(f.map.live_entries <= 100);
  drop(&f);
}

static void live_entries_that_fill_the_map_leave_no_room(void **state) {
  struct fixture f;
  make(&f, 4096, 100);
  uint32_t space = pto_access_map_add_space(&f.map, 0, 1 << 20, 64, 1 << 20);
  for (uint32_t i = 0; i < 100; i++) {
    struct pto_region r = box(i * 64, 64, 1, 0);
    enter(&f, space, &r, PTO_TAG_WRITE);
  }
  assert_false(pto_access_map_make_room(&f.map, 1));
  drop(&f);
}

/* A hint may say anything: what it leads to is the region's own live entry, or none. */
static void a_hint_leads_to_the_entry_of_the_region_or_to_none(void **state) {
  struct fixture f;
  make(&f, 4096, 128);
  const uint32_t space = pto_access_map_add_space(&f.map, 0, 1 << 20, 64, 1 << 20);
  struct pto_access_hint hint = {0};
  uint32_t entries[32], led = 0;
  for (uint32_t i = 0; i < 32; i++) {
    struct pto_region r = box((uint64_t)i * 64 + 64, 64, 1, 0);
    entries[i] = enter(&f, space, &r, PTO_TAG_WRITE);
  }
  for (uint32_t i = 0; i < 64; i++) {
    struct pto_region r = box((uint64_t)(i % 32) * 64 + 64, 64, 1, 0);
    const uint32_t found = pto_access_map_find_next(&f.map, &r, pto_access_kind(&r), &hint);
    if (!found) pto_access_hint_learn(&hint, entries[i % 32]);
    led += found != 0;
    assert_int_equal(hint.entry, entries[i % 32]);
  }
  assert_true(led >= 64 - 2 * (PTO_HINT_REPEATS + 2));
  pto_access_map_remove(&f.map, entries[5]);
  for (uint32_t i = 0; i < 32; i++)
    for (uint32_t step = -40u; step != 40; step++) {
      struct pto_region r = box((uint64_t)i * 64 + 64, 64, 1, 0);
      hint = (struct pto_access_hint){.entry = entries[16], .step = step, .repeats = PTO_HINT_REPEATS};
      const uint32_t found = pto_access_map_find_next(&f.map, &r, pto_access_kind(&r), &hint);
      assert_int_equal(found, i != 5 && entries[16] + step == entries[i] ? entries[i] : 0);
    }
  hint = (struct pto_access_hint){.entry = UINT32_MAX - 3, .repeats = PTO_HINT_REPEATS};
  struct pto_region first = box(64, 64, 1, 0);
  assert_int_equal(pto_access_map_find_next(&f.map, &first, pto_access_kind(&first), &hint), 0);
  drop(&f);
}

static void a_dead_space_forgets_everything(void **state) {
  struct fixture f;
  make(&f, 64, 1024);
  uint32_t first = pto_access_map_add_space(&f.map, 0, 4096, 64, 4096);
  uint32_t second = pto_access_map_add_space(&f.map, 8192, 4096, 64, 4096);
  struct pto_region a = box(0, 64, 1, 0), b = box(8192, 64, 1, 0);
  enter(&f, first, &a, PTO_TAG_WRITE);
  enter(&f, second, &b, PTO_TAG_WRITE);
  pto_access_map_remove_space(&f.map, first);
  assert_int_equal(f.map.live_entries, 1);
  assert_int_equal(pto_access_map_find(&f.map, &a, pto_access_map_bucket(&f.map, &a)), 0);
  assert_int_equal(pto_access_map_add_space(&f.map, 0, 4096, 64, 4096), first); /* its place is free again */
  drop(&f);
}

static void merged_spaces_keep_the_entries_of_both(void **state) {
  struct fixture f;
  make(&f, 64, 1024);
  uint32_t low = pto_access_map_add_space(&f.map, 0, 4096, 64, 4096);
  uint32_t high = pto_access_map_add_space(&f.map, 8192, 4096, 256, 4096);
  struct pto_region a = box(128, 64, 1, 0), b = box(8192 + 256, 64, 4, 256);
  enter(&f, low, &a, PTO_TAG_WRITE);
  enter(&f, high, &b, PTO_TAG_WRITE);
  uint32_t all = pto_access_map_add_space(&f.map, 0, 12288, 128, 12288);
  pto_access_map_merge_space(&f.map, all, low);
  pto_access_map_merge_space(&f.map, all, high);
  struct pto_region whole = box(0, 12288, 1, 0);
  f.map.hit_count = 0;
  pto_access_map_search(&f.map, all, &whole, 0);
  assert_int_equal(f.map.hit_count, 2);
  assert_true(pto_access_map_is_valid(&f.map));
  drop(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_same_region_is_found_by_its_geometry),
      cmocka_unit_test(regions_of_more_than_two_dimensions_keep_all_of_them),
      cmocka_unit_test(a_lookup_among_disjoint_tiles_meets_at_most_two_candidates_however_many_are_live),
      cmocka_unit_test(a_region_over_all_tiles_meets_every_one),
      cmocka_unit_test(a_region_finds_its_place_where_what_it_covers_was_the_last_of_its_class),
      cmocka_unit_test(the_first_region_of_a_space_is_not_put_where_the_last_search_of_another_came_by),
      cmocka_unit_test(walks_across_the_wrap_of_their_stamps_meet_every_entry_once),
      cmocka_unit_test(a_region_longer_than_the_cells_of_a_class_begins_its_own),
      cmocka_unit_test(each_refused_reservation_is_reported_and_leaves_nothing),
      cmocka_unit_test(random_regions_are_found_as_by_comparing_with_all),
      cmocka_unit_test(a_region_read_for_ever_keeps_the_readers_of_a_window_and_no_more),
      cmocka_unit_test(a_reader_takes_the_place_of_an_expired_one_where_no_chunk_is_left),
      cmocka_unit_test(the_first_chunk_counts_the_readers_behind_it),
      cmocka_unit_test(expired_entries_make_room_for_many_parameters_at_once),
      cmocka_unit_test(an_empty_space_may_change_its_coordinates),
      cmocka_unit_test(a_region_over_the_end_of_a_plane_is_met_whatever_planes_there_were_before),
      cmocka_unit_test(the_sweep_removes_what_no_task_can_wait_for_any_more),
      cmocka_unit_test(places_in_use_stay_below_twice_the_visible_entries),
      cmocka_unit_test(an_entry_keeps_its_place_for_one_visible_reader_behind_expired_ones),
      cmocka_unit_test(sweeps_do_not_put_off_that_expired_readers_are_dropped),
      cmocka_unit_test(expired_entries_never_exhaust_the_map),
      cmocka_unit_test(live_entries_that_fill_the_map_leave_no_room),
      cmocka_unit_test(a_hint_leads_to_the_entry_of_the_region_or_to_none),
      cmocka_unit_test(a_dead_space_forgets_everything),
      cmocka_unit_test(merged_spaces_keep_the_entries_of_both),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
