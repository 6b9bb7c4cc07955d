/* SPDX-License-Identifier: MIT */
/* The cache of pieces against one of single bytes, over random uses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sim/virtual/l2_cache.h>

#include <stdlib.h>
#include <string.h>

#define BYTES 200u

/* used_at: the number of the last use; 0: not there.  Of one use the lower address is the older. */
struct by_bytes {
  uint64_t used_at[BYTES], uses;
  bool is_written[BYTES];
  uint64_t bytes, missed, written_back;
};

static void use(struct by_bytes *cache, uint64_t lo, uint64_t hi, bool is_read, bool is_written) {
  uint64_t count = 0;
  cache->uses++;
  for (uint64_t i = lo; i < hi; i++) {
    if (!cache->used_at[i]) cache->is_written[i] = false;
    if (!cache->used_at[i] && is_read) cache->missed++;
    cache->used_at[i] = cache->uses;
    cache->is_written[i] |= is_written;
  }
  for (uint64_t i = 0; i < BYTES; i++) count += cache->used_at[i] != 0;
  for (; count > cache->bytes; count--) {
    uint64_t oldest = BYTES;
    for (uint64_t i = 0; i < BYTES; i++)
      if (cache->used_at[i] && (oldest == BYTES || cache->used_at[i] < cache->used_at[oldest])) oldest = i;
    cache->written_back += cache->is_written[oldest];
    cache->used_at[oldest] = 0;
  }
}

/* As a kernel's call does. */
static void use_pieces(struct pto_l2_cache *cache, uint64_t lo, uint64_t hi, uint64_t kind,
                       struct pto_l2_traffic *traffic) {
  if (!pto_l2_cache_touch(cache, lo, hi, kind & 2)) pto_l2_cache_use(cache, lo, hi, kind & 1, kind & 2, traffic);
}

static void test_pieces_are_as_single_bytes(void **state) {
  static struct by_bytes model;
  struct pto_rng rng = {7};
  struct pto_l2_cache cache = {.pieces = malloc(PTO_L2_PIECES * sizeof *cache.pieces)};
  uint64_t missed = 0, written_back = 0;
  assert_non_null(cache.pieces);
  print_message("seed 7\n");
  for (uint32_t round = 0; round < 200; round++) {
    struct pto_l2_traffic traffic = {0};
    memset(&model, 0, sizeof model);
    model.bytes = 1 + pto_rng_below(&rng, BYTES);
    pto_l2_cache_reset(&cache, model.bytes);
    for (uint32_t i = 0; i < 200; i++) {
      const uint64_t lo = pto_rng_below(&rng, BYTES);
      const uint64_t most = BYTES - lo < model.bytes ? BYTES - lo : model.bytes;
      const uint64_t hi = lo + 1 + pto_rng_below(&rng, most), kind = 1 + pto_rng_below(&rng, 3);
      use(&model, lo, hi, kind & 1, kind & 2);
      /* Where the memory lies makes no difference. */
      use_pieces(&cache, lo + (UINT64_C(1) << (round % 60)), hi + (UINT64_C(1) << (round % 60)), kind, &traffic);
      assert_true(pto_l2_cache_is_valid(&cache));
      assert_int_equal(traffic.missed, model.missed);
      assert_int_equal(traffic.written_back, model.written_back);
    }
    missed += traffic.missed;
    written_back += traffic.written_back;
  }
  assert_true(missed > 1000 && written_back > 1000);
  free(cache.pieces);
}

/* More pieces than there is room for: the oldest go, whatever would fit. */
static void test_the_oldest_pieces_go_where_there_are_too_many(void **state) {
  struct pto_l2_cache cache = {.pieces = malloc(PTO_L2_PIECES * sizeof *cache.pieces)};
  struct pto_l2_traffic traffic = {0};
  assert_non_null(cache.pieces);
  pto_l2_cache_reset(&cache, UINT64_C(1) << 40);
  for (uint64_t i = 0; i < PTO_L2_PIECES; i++) pto_l2_cache_use(&cache, 2 * i, 2 * i + 1, false, true, &traffic);
  assert_int_equal(traffic.written_back, 3);
  pto_l2_cache_use(&cache, 2 * (uint64_t)PTO_L2_PIECES - 2, 2 * (uint64_t)PTO_L2_PIECES - 1, true, false, &traffic);
  assert_int_equal(traffic.missed, 0);
  pto_l2_cache_use(&cache, 4, 5, true, false, &traffic);
  assert_int_equal(traffic.missed, 1);
  pto_l2_cache_use(&cache, 0, 2 * (uint64_t)PTO_L2_PIECES, true, true, &traffic); /* one piece of it all */
  assert_int_equal(cache.in_tree, 1);
  assert_true(pto_l2_cache_is_valid(&cache));
  free(cache.pieces);
}

/* What a small cache has a larger one has too: it misses and writes back no more. */
static void test_a_larger_cache_moves_no_more(void **state) {
  struct pto_rng rng = {11};
  struct pto_l2_cache caches[2];
  print_message("seed 11\n");
  for (uint32_t i = 0; i < 2; i++) {
    caches[i].pieces = malloc(PTO_L2_PIECES * sizeof *caches[i].pieces);
    assert_non_null(caches[i].pieces);
  }
  for (uint32_t round = 0; round < 100; round++) {
    struct pto_l2_traffic traffic[2] = {{0}};
    const uint64_t bytes = 1 + pto_rng_below(&rng, BYTES);
    pto_l2_cache_reset(&caches[0], bytes);
    pto_l2_cache_reset(&caches[1], bytes + pto_rng_below(&rng, BYTES));
    for (uint32_t i = 0; i < 200; i++) {
      const uint64_t lo = pto_rng_below(&rng, 3 * BYTES), hi = lo + 1 + pto_rng_below(&rng, bytes);
      const uint64_t kind = 1 + pto_rng_below(&rng, 3);
      for (uint32_t k = 0; k < 2; k++) use_pieces(&caches[k], lo, hi, kind, &traffic[k]);
      assert_true(traffic[1].missed <= traffic[0].missed && traffic[1].written_back <= traffic[0].written_back);
    }
  }
  for (uint32_t i = 0; i < 2; i++) free(caches[i].pieces);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_pieces_are_as_single_bytes),
                                     cmocka_unit_test(test_a_larger_cache_moves_no_more),
                                     cmocka_unit_test(test_the_oldest_pieces_go_where_there_are_too_many)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
