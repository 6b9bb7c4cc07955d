/* SPDX-License-Identifier: MIT */
/*
 * How long the lists of the access map are: of buckets, which lead to an entry by its geometry, and of cells, which
 * lead to those that a region may meet.  Nothing but time depends on that, so no other test sees it.
 */
#include <runtime/deps/access_grid.h>

#include <tests/support/access_map_fixture.h>

#define HEADS (1u << 17) /* of the fixture's tables */
#define LIVE (HEADS / 4) /* every other tile of the buffer */
#define BASE_ADDR (UINT64_C(1) << 40)

/* A buffer of `across` · `down` tiles of `rows` rows of `run_bytes`; of each `step` side by side, one is entered. */
struct tiles {
  const char *name;
  uint64_t run_bytes, rows, across, down, step;
};

static struct pto_region tile(const struct tiles *tiles, uint64_t x, uint64_t y) {
  const uint64_t pitch = tiles->across * tiles->run_bytes;
  struct pto_region region = {.start = BASE_ADDR + y * tiles->rows * pitch + x * tiles->run_bytes,
                              .run_bytes = tiles->run_bytes};
  region.end = region.start + region.run_bytes;
  if (tiles->rows > 1) {
    region.ndims = 1;
    region.extents[0] = tiles->rows;
    region.strides[0] = pitch;
    region.end += (tiles->rows - 1) * pitch;
  }
  return region;
}

/* Entries of the lists that a lookup of the region comes to. */
static void count_lists(struct fixture *f, uint32_t space, const struct pto_region *region, uint32_t *of_bucket,
                        uint32_t *of_cell) {
  *of_bucket = *of_cell = 0;
  for (uint32_t i = f->map.buckets[pto_access_map_bucket(&f->map, region)]; i; i = f->map.cold[i].next) ++*of_bucket;
  struct pto_access_position place;
  pto_access_map_search(&f->map, space, region, 0, &place);
  assert_true(place.has_cell);
  const uint32_t cell = place.cell;
  for (uint32_t i = f->map.cells[cell]; i; i = f->map.cold[i].next_in_cell) ++*of_cell;
}

struct lengths {
  uint32_t in_vain;          /* entries, other than its own, that lookups of all tiles come to, by bucket and by cell */
  uint32_t longest, lookups; /* list; and how many of these */
};

static struct lengths measure(struct fixture *f, const struct tiles *tiles) {
  const uint64_t pitch = tiles->across * tiles->run_bytes, size = pitch * tiles->rows * tiles->down;
  const uint32_t space = pto_access_map_add_space(&f->map, BASE_ADDR, size, pitch, size);
  struct lengths lengths = {0};
  for (uint32_t pass = 0; pass < 2; pass++)
    for (uint64_t y = 0; y < tiles->down; y++)
      for (uint64_t x = 0; x < tiles->across; x += tiles->step == 2 ? 1 : tiles->step) {
        const struct pto_region region = tile(tiles, x, y);
        const bool is_live = tiles->step != 2 || (x + y) % 2 == 0;
        uint32_t of_bucket, of_cell;
        if (pass == 0) {
          if (is_live) pto_access_map_insert(&f->map, space, &region, pto_access_map_bucket(&f->map, &region), NULL);
          continue;
        }
        count_lists(f, space, &region, &of_bucket, &of_cell);
        lengths.in_vain += of_bucket + of_cell - 2 * is_live;
        lengths.longest = (uint32_t)pto_max_u64(lengths.longest, pto_max_u64(of_bucket, of_cell));
        lengths.lookups++;
      }
  pto_access_map_remove_space(&f->map, space);
  return lengths;
}

/* Where tiles were spread by chance, a lookup would come to half an entry in vain. */
static void regular_tiles_share_hardly_a_list(void **state) {
  static const struct tiles tiles[] = {{"row", 64, 1, 2 * LIVE, 1, 2},
                                       {"row of large tiles", 4096, 1, 2 * LIVE, 1, 2},
                                       {"row of 100 bytes", 100, 1, 2 * LIVE, 1, 2},
                                       {"matrix", 64, 16, 256, 256, 2},
                                       {"matrix of high tiles", 256, 64, 512, 128, 2},
                                       {"matrix of 48 bytes", 48, 16, 512, 128, 2},
                                       {"strips", 64, 64, 2 * LIVE, 1, 2}};
  struct fixture f;
  (void)state;
  make(&f, LIVE, 2 * LIVE);
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(tiles); i++) {
    const struct lengths lengths = measure(&f, &tiles[i]);
    print_message("%s: %.3f entries in vain a lookup, the longest list has %u\n", tiles[i].name,
                  (double)lengths.in_vain / lengths.lookups, lengths.longest);
    assert_int_equal(lengths.lookups, 2 * LIVE);
    assert_true(lengths.in_vain <= lengths.lookups / 5);
    assert_true(lengths.longest <= 4);
  }
  drop(&f);
}

/* Steps of powers of two are what programs have. */
static void tiles_far_apart_have_short_lists(void **state) {
  static const struct tiles tiles[] = {{"every 16th of a row", 64, 1, 16 * LIVE, 1, 16},
                                       {"every 1024th of a row", 64, 1, UINT64_C(1024) * LIVE, 1, 1024},
                                       {"every 1000th of a row", 64, 1, UINT64_C(1000) * LIVE, 1, 1000},
                                       {"first column", 64, 16, 1024, LIVE, 1024},
                                       {"first column of runs", 64, 1, 4096, LIVE, 4096},
                                       {"four columns", 64, 16, 1024, LIVE / 4, 256}};
  struct fixture f;
  (void)state;
  make(&f, LIVE, 2 * LIVE);
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(tiles); i++) {
    const struct lengths lengths = measure(&f, &tiles[i]);
    print_message("%s: %.3f entries in vain a lookup, the longest list has %u\n", tiles[i].name,
                  (double)lengths.in_vain / lengths.lookups, lengths.longest);
    assert_int_equal(lengths.lookups, LIVE);
    assert_true(lengths.longest <= 8);
  }
  drop(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(regular_tiles_share_hardly_a_list),
                                     cmocka_unit_test(tiles_far_apart_have_short_lists)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
