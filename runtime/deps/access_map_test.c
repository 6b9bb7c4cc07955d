/* SPDX-License-Identifier: MIT */
/*
 * The map of accesses over time: lists of readers, what expires and makes room, spaces that change, merge and die; and
 * creation without memory. What a lookup finds is in access_map_search_test.c.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <runtime/deps/access_map.h>
#include <tests/support/access_map_fixture.h>

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
    assert_null(f.map.memory.addr);
  }
  assert_int_equal(refused, 1);
  drop(&f);
}

static void its_arrays_lie_one_behind_the_other(void **state) {
  struct fixture f;
  make(&f, 64, 1024);
  const struct pto_access_map *m = &f.map;
  const uint64_t entries = (uint64_t)m->entry_capacity + 1;
  const void *const ends[] = {m->entries + entries,
                              m->cold + entries,
                              m->dims + entries,
                              m->links + m->link_capacity + 1,
                              m->spaces + m->space_capacity,
                              m->classes + entries,
                              m->hits + entries * (PTO_MAX_TENSORS + 1)};
  const void *const begins[] = {m->cold, m->dims, m->links, m->spaces, m->classes, m->hits, m->buckets};
  assert_ptr_equal(m->entries, m->memory.addr);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(ends); i++) assert_true((uintptr_t)ends[i] <= (uintptr_t)begins[i]);
  drop(&f);
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
  f.map.ample_chunks = 0;
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

/* A later access stops where no chunk behind has a kind that it asks for. */
static void a_chunk_tells_the_kinds_of_those_behind_it(void **state) {
  struct fixture f;
  (void)state;
  make(&f, 4096, 1024);
  const uint32_t space = pto_access_map_add_space(&f.map, 0, 4096, 4096, 4096);
  const struct pto_region r = box(0, 64, 1, 0);
  uint32_t entry = 0;
  for (uint32_t i = 0; i < PTO_ENTRY_ACCESSES + 3 * PTO_CHUNK_ACCESSES; i++) {
    entry = enter(&f, space, &r, i == PTO_ENTRY_ACCESSES ? PTO_TAG_WRITE : PTO_TAG_READ);
    assert_true(pto_access_map_is_valid(&f.map));
  }
  const uint32_t first = f.map.entries[entry].more;
  assert_int_equal(f.chunks.chunks[first].items.accesses.kinds, 1u << (PTO_TAG_READ >> 8) | 1u << (PTO_TAG_WRITE >> 8));
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
    const uint32_t entry = pto_access_map_insert(&f.map, space, &r, pto_access_map_bucket(&f.map, &r), NULL);
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
    pto_access_map_search(&f.map, space, &column, 0, NULL);
    assert_int_equal(f.map.hit_count, 3);
    f.map.hit_count = 0;
    pto_access_map_search(&f.map, space, &corner, 0, NULL);
    assert_int_equal(f.map.hit_count, 4);
    const uint64_t candidates = f.map.candidates;
    struct pto_region one = box(16, 16, 4, pitch);
    pto_access_map_search(&f.map, space, &one, 0, NULL);
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
    pto_access_map_search(&f.map, space, &across, 0, NULL);
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
                     entry = pto_access_map_insert(&f.map, space, &r, pto_access_map_bucket(&f.map, &r), NULL);
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
  assert_int_equal(pto_access_map_find(&f.map, PTO_ANY_SPACE, &shared, pto_access_map_bucket(&f.map, &shared)), entry);
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

static void after_very_many_submits_a_sweep_is_due(void **state) {
  struct fixture f;
  make(&f, 64, 100);
  f.map.submits_since_sweep = PTO_SWEEP_SUBMITS - 2;
  assert_true(pto_access_map_make_room(&f.map, 1));
  assert_int_equal(f.map.submits_since_sweep, PTO_SWEEP_SUBMITS - 1);
  assert_true(pto_access_map_make_room(&f.map, 1));
  assert_int_equal(f.map.submits_since_sweep, 0);
  assert_true(pto_access_map_sweep_for_room(&f.map, 1)); /* asked for without need, it sweeps nothing */
  drop(&f);
}

/* A submit may take one for each live task, of which there is none, and for each of its accesses. */
static void chunks_of_expired_readers_are_there_for_the_next_submit(void **state) {
  struct fixture f;
  make(&f, 64, 1024);
  const uint32_t space = pto_access_map_add_space(&f.map, 0, 4096, 4096, 4096);
  struct pto_region r = box(0, 64, 1, 0);
  for (uint32_t i = 0; i < 40; i++) enter(&f, space, &r, PTO_TAG_READ);
  f.rings.rings[0].tail = f.rings.rings[0].head += 64;
  const uint32_t taken = f.chunks.live_count;
  assert_true(taken > 0);
  f.chunks.capacity = taken + PTO_MAX_TENSORS + 1;
  assert_true(pto_access_map_sweep_for_room(&f.map, 1));
  assert_int_equal(f.chunks.live_count, taken);
  f.chunks.capacity--;
  assert_true(pto_access_map_sweep_for_room(&f.map, 1));
  assert_int_equal(f.chunks.live_count, 0);
  drop(&f);
}

static void a_space_counts_its_fuzzy_entries(void **state) {
  struct fixture f;
  make(&f, 64, 1024);
  const uint32_t space = pto_access_map_add_space(&f.map, 0, 4096, 4096, 4096);
  struct pto_region plain = box(0, 64, 1, 0), fuzzy = box(64, 64, 2, 128);
  fuzzy.is_fuzzy = true;
  enter(&f, space, &plain, PTO_TAG_WRITE);
  const uint32_t entry = enter(&f, space, &fuzzy, PTO_TAG_WRITE);
  assert_int_equal(f.map.spaces[space].fuzzy_count, 1);
  pto_access_map_remove(&f.map, entry);
  assert_int_equal(f.map.spaces[space].fuzzy_count, 0);
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
  assert_int_equal(pto_access_map_find(&f.map, PTO_ANY_SPACE, &a, pto_access_map_bucket(&f.map, &a)), 0);
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
  pto_access_map_search(&f.map, all, &whole, 0, NULL);
  assert_int_equal(f.map.hit_count, 2);
  assert_true(pto_access_map_is_valid(&f.map));
  drop(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_refused_reservation_is_reported_and_leaves_nothing),
      cmocka_unit_test(its_arrays_lie_one_behind_the_other),
      cmocka_unit_test(a_region_read_for_ever_keeps_the_readers_of_a_window_and_no_more),
      cmocka_unit_test(a_reader_takes_the_place_of_an_expired_one_where_no_chunk_is_left),
      cmocka_unit_test(the_first_chunk_counts_the_readers_behind_it),
      cmocka_unit_test(a_chunk_tells_the_kinds_of_those_behind_it),
      cmocka_unit_test(expired_entries_make_room_for_many_parameters_at_once),
      cmocka_unit_test(an_empty_space_may_change_its_coordinates),
      cmocka_unit_test(a_region_over_the_end_of_a_plane_is_met_whatever_planes_there_were_before),
      cmocka_unit_test(the_sweep_removes_what_no_task_can_wait_for_any_more),
      cmocka_unit_test(places_in_use_stay_below_twice_the_visible_entries),
      cmocka_unit_test(an_entry_keeps_its_place_for_one_visible_reader_behind_expired_ones),
      cmocka_unit_test(sweeps_do_not_put_off_that_expired_readers_are_dropped),
      cmocka_unit_test(expired_entries_never_exhaust_the_map),
      cmocka_unit_test(after_very_many_submits_a_sweep_is_due),
      cmocka_unit_test(chunks_of_expired_readers_are_there_for_the_next_submit),
      cmocka_unit_test(a_space_counts_its_fuzzy_entries),
      cmocka_unit_test(live_entries_that_fill_the_map_leave_no_room),
      cmocka_unit_test(a_dead_space_forgets_everything),
      cmocka_unit_test(merged_spaces_keep_the_entries_of_both),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
