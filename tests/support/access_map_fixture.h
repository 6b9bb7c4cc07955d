/* SPDX-License-Identifier: MIT */
/*
 * For tests of the map of accesses: a map with the rings and chunks that it needs, and regions entered as the accesses
 * of tasks that are never read.
 */
#ifndef PTO_ACCESS_MAP_FIXTURE_H
#define PTO_ACCESS_MAP_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include <runtime/deps/access_map.h>

#define WINDOW 65536u

struct fixture {
  struct pto_reserve arena;
  struct pto_task_rings rings;
  struct pto_list_chunks chunks;
  struct pto_access_map map;
};

static inline void make(struct fixture *f, uint32_t window, uint32_t entries) {
  memset(f, 0, sizeof *f);
  assert_true(pto_reserve_init(&f->arena, 4 * 4096));
  assert_true(pto_task_rings_init(&f->rings, window, f->arena.addr, 4096));
  assert_true(pto_list_chunks_init(&f->chunks, 1 << 16));
  assert_true(pto_access_map_init(&f->map, entries, 1024, 1 << 17, &f->rings, &f->chunks));
}

static inline void drop(struct fixture *f) {
  pto_access_map_fini(&f->map);
  pto_list_chunks_fini(&f->chunks);
  pto_task_rings_fini(&f->rings);
  pto_reserve_fini(&f->arena);
}

/* The reference of a new task in ring 0, whose slot is never read. */
static inline struct pto_task_ref submit(struct fixture *f) {
  return pto_task_ref_make(&f->rings, 0, f->rings.rings[0].head++);
}

static inline struct pto_region box(uint64_t start, uint64_t run, uint64_t rows, uint64_t pitch) {
  struct pto_region r = {.start = start, .run_bytes = run, .end = start + run};
  if (rows > 1) {
    r.ndims = 1;
    r.extents[0] = rows;
    r.strides[0] = pitch;
    r.end += (rows - 1) * pitch;
  }
  return r;
}

static inline uint32_t enter(struct fixture *f, uint32_t space, const struct pto_region *r, uint16_t tag) {
  assert_true(pto_access_map_make_room(&f->map, 1));
  const uint32_t bucket = pto_access_map_bucket(&f->map, r);
  uint32_t entry = pto_access_map_find(&f->map, PTO_ANY_SPACE, r, bucket);
  f->map.hit_count = 0;
  if (!entry) {
    struct pto_access_position place;
    pto_access_map_search(&f->map, space, r, 0, &place);
    entry = pto_access_map_insert(&f->map, space, r, bucket, &place);
    if (f->map.hit_count == 0 && !r->is_fuzzy) f->map.entries[entry].flags |= PTO_ENTRY_ISOLATED;
    for (uint32_t i = 0; i < f->map.hit_count; i++)
      f->map.entries[f->map.hits[i].entry].flags &= (uint8_t)~PTO_ENTRY_ISOLATED;
  }
  assert_true(pto_access_map_append(&f->map, &f->map.entries[entry], submit(f), tag));
  return entry;
}

#endif
