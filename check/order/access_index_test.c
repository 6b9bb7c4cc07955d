/* SPDX-License-Identifier: MIT */
/* The access index against a list that is walked from end to end: random regions, lookups, additions and removals. */
#include <check/order/access_index.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define SPACES 3u
#define MOST 400u

/* What the index should hold, in the order in which it came. */
struct entry {
  struct pto_region region;
  uint32_t space, node;
  bool is_write, is_gone;
};
static struct entry entries[MOST];
static uint32_t entry_count;

/* Runs of some bytes, some of them repeated at a stride; few places, so that equal ones come back. */
static struct pto_region draw_region(struct pto_rng *rng) {
  struct pto_region r = {.run_bytes = 1 + pto_rng_below(rng, 12)};
  r.start = 1000 + 4 * pto_rng_below(rng, 60);
  r.end = r.start + r.run_bytes;
  if (pto_rng_below(rng, 2)) {
    r.ndims = 1;
    r.strides[0] = 16 + 8 * pto_rng_below(rng, 3);
    r.extents[0] = 2 + pto_rng_below(rng, 4);
    r.end += (r.extents[0] - 1) * r.strides[0];
  }
  r.is_fuzzy = pto_rng_below(rng, 8) == 0;
  return r;
}

static bool is_in_list(const struct pto_access_index *index, uint32_t head, uint32_t node) {
  for (uint32_t i = head; i != PTO_INDEX_NONE; i = index->accesses[i].next)
    if (index->accesses[i].node == node) return true;
  return false;
}

static void expect_found(struct pto_access_index *index, uint32_t space, const struct pto_region *region) {
  uint32_t expected = 0, found = 0;
  assert_int_equal(pto_access_index_find(index, space, region), PTO_OK);
  for (uint32_t e = 0; e < entry_count; e++) {
    if (entries[e].is_gone || entries[e].space != space) continue;
    const enum pto_overlap relation = pto_region_overlap(region, &entries[e].region, NULL);
    uint32_t hits = 0;
    for (uint32_t h = 0; h < index->hit_count; h++) {
      const struct pto_index_region *r = &index->regions[index->hits[h].region];
      if (!is_in_list(index, entries[e].is_write ? r->writes : r->reads, e)) continue;
      hits++;
      assert_int_equal(index->hits[h].relation, relation);
    }
    assert_int_equal(hits, relation != PTO_DISJOINT);
    expected += hits;
  }
  for (uint32_t h = 0; h < index->hit_count; h++) {
    const struct pto_index_region *r = &index->regions[index->hits[h].region];
    if (h) assert_true(r->region.start >= index->regions[index->hits[h - 1].region].region.start);
    for (uint32_t i = r->writes; i != PTO_INDEX_NONE; i = index->accesses[i].next) found++;
    for (uint32_t i = r->reads; i != PTO_INDEX_NONE; i = index->accesses[i].next) found++;
  }
  assert_int_equal(found, expected);
}

static bool is_odd(void *context, const struct pto_index_access *access) {
  (void)context;
  return access->node % 2;
}

static void test_lookups_find_exactly_the_accesses_whose_bytes_meet_through_additions_and_removals(void **state) {
  (void)state;
  uint64_t removed = 0, hits = 0;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    struct pto_rng rng = {seed};
    struct pto_access_index index;
    assert_int_equal(pto_access_index_init(&index, SPACES), PTO_OK);
    entry_count = 0;
    while (entry_count < MOST) {
      const struct pto_region region = draw_region(&rng);
      const uint32_t space = (uint32_t)pto_rng_below(&rng, SPACES);
      expect_found(&index, space, &region);
      hits += index.hit_count;
      for (uint32_t h = 0; pto_rng_below(&rng, 4) == 0 && h < index.hit_count; h++) {
        const uint32_t hit = index.hits[h].region;
        for (uint32_t e = 0; e < entry_count; e++) {
          const struct pto_index_region *r = &index.regions[hit];
          if (entries[e].is_gone || e % 2) continue;
          entries[e].is_gone = is_in_list(&index, r->writes, e) || is_in_list(&index, r->reads, e);
          removed += entries[e].is_gone;
        }
        pto_access_index_filter(&index, hit, is_odd, NULL);
      }
      entries[entry_count] =
          (struct entry){.region = region, .space = space, .node = entry_count, .is_write = pto_rng_below(&rng, 2)};
      assert_int_equal(
          pto_access_index_add(&index, space, &region, entries[entry_count].is_write, entry_count, entry_count),
          PTO_OK);
      entry_count++;
    }
    pto_access_index_fini(&index);
  }
  print_message("%llu hits, %llu accesses removed\n", (unsigned long long)hits, (unsigned long long)removed);
  assert_true(hits > 10000 && removed > 1000);
}

static void test_equal_regions_are_one_with_the_newest_access_first(void **state) {
  (void)state;
  struct pto_access_index index;
  const struct pto_region region = {.start = 64, .end = 128, .run_bytes = 64};
  assert_int_equal(pto_access_index_init(&index, 1), PTO_OK);
  for (uint32_t node = 0; node < 5; node++) {
    assert_int_equal(pto_access_index_find(&index, 0, &region), PTO_OK);
    assert_int_equal(index.hit_count, node > 0);
    assert_int_equal(pto_access_index_add(&index, 0, &region, false, node, node), PTO_OK);
  }
  assert_int_equal(pto_access_index_find(&index, 0, &region), PTO_OK);
  assert_int_equal(index.hit_count, 1);
  uint32_t node = 5;
  for (uint32_t i = index.regions[index.own].reads; i != PTO_INDEX_NONE; i = index.accesses[i].next)
    assert_int_equal(index.accesses[i].node, --node);
  assert_int_equal(node, 0);
  pto_access_index_fini(&index);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lookups_find_exactly_the_accesses_whose_bytes_meet_through_additions_and_removals),
      cmocka_unit_test(test_equal_regions_are_one_with_the_newest_access_first),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
