/* SPDX-License-Identifier: MIT */
/*
 * Overlap of large tensors: the answer is known without listing bytes, and the work is bounded by a count of steps.
 *
 * Two kinds of truth.  Where two pitches are coprime, the Chinese remainder theorem says in which row they meet first;
 * one row less is disjoint.  And for any two nested regions |A ∩ B| = Σ over the runs of A of (bytes of B before the
 * run's end − bytes of B before its start), where "bytes of B before x" is a division a dimension; that takes A's runs
 * one by one, which is what the code under test never does.  Fixed seeds; nothing depends on wall time.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include <runtime/tensor/region.h>
#include <runtime/tensor/tensor_make.h>
#include <tests/support/shape_list.h>

static const char *const relation_names[] = {"DISJOINT", "EQUAL", "COVERS", "COVERED", "PARTIAL"};

static struct pto_tensor memory_as(uint64_t size_bytes, uint32_t dtype, uint32_t ndims, const uint64_t *shape) {
  return pto_tensor_dense((struct pto_buffer){.id = 1, .generation = 1, .base = 1 << 20, .size_bytes = size_bytes},
                          dtype, ndims, shape);
}

/* Rows first … end of columns left … right of memory with rows of `pitch` bytes. */
static struct pto_tensor columns(uint64_t pitch, uint64_t first, uint64_t end, uint64_t left, uint64_t right) {
  struct pto_tensor t = memory_as(UINT64_C(1) << 40, PTO_UINT8, SHAPE((UINT64_C(1) << 40) / pitch, pitch));
  return pto_tensor_view(&t, LIST(first, left), LIST(end - first, right - left));
}

static enum pto_overlap relate(const struct pto_tensor *a, const struct pto_tensor *b, uint64_t *steps) {
  struct pto_region ra, rb;
  uint64_t exhausted = 0;
  assert_int_equal(pto_tensor_status(a), PTO_OK);
  assert_int_equal(pto_tensor_status(b), PTO_OK);
  pto_region_from_tensor(a, a->buffer.base, &ra);
  pto_region_from_tensor(b, b->buffer.base, &rb);
  enum pto_overlap relation = pto_region_overlap_steps(&ra, &rb, &exhausted, steps);
  assert_int_equal(pto_region_intersects(&ra, &rb, &exhausted), relation != PTO_DISJOINT);
  assert_int_equal(exhausted, 0);
  return relation;
}

static void expect(enum pto_overlap expected, struct pto_tensor a, struct pto_tensor b, uint64_t most_steps) {
  static const enum pto_overlap mirror[] = {PTO_DISJOINT, PTO_EQUAL, PTO_COVERED, PTO_COVERS, PTO_PARTIAL};
  uint64_t steps = 0;
  assert_int_equal(relate(&a, &b, &steps), expected);
  assert_int_equal(relate(&b, &a, &steps), mirror[expected]);
  if (steps > 2 * most_steps)
    fail_msg("%" PRIu64 " steps for two questions, at most %" PRIu64 " for one expected", steps, most_steps);
}

/* The least i ≥ 0 with i · a ≡ c (mod m), by trying. */
static uint64_t solve_congruence(uint64_t a, uint64_t m, uint64_t c) {
  uint64_t residue = 0;
  for (uint64_t i = 0; i < m; i++, residue = (residue + a) % m)
    if (residue == c % m) return i;
  fail();
  return 0;
}

enum { WIDE = 100003, NARROW = 65536 }; /* 100003 is prime */

static void test_single_columns_of_coprime_pitches_meet_exactly_where_the_remainders_say(void **state) {
  static const uint64_t remainders[] = {1, 2, 77, 4096, 30000, 65535};
  for (size_t k = 0; k < PTO_ARRAY_LENGTH(remainders); k++) {
    uint64_t c = remainders[k], row = solve_congruence(WIDE, NARROW, c); /* row · WIDE = … · NARROW + c */
    struct pto_tensor narrow = columns(NARROW, 0, 1 << 23, c, c + 1);
    expect(PTO_DISJOINT, columns(WIDE, 0, row, 0, 1), narrow, 64);
    expect(PTO_PARTIAL, columns(WIDE, 0, row + 1, 0, 1), narrow, 64);
    expect(PTO_DISJOINT, columns(WIDE, row + 1, row + NARROW, 0, 1), narrow, 64);
    expect(PTO_PARTIAL, columns(WIDE, row + 1, row + NARROW + 1, 0, 1), narrow, 64);
  }
}

static void test_a_missing_column_of_another_pitch_decides_covering_exactly(void **state) {
  static const uint64_t lefts[] = {0, 1, 1000, 65535};
  for (size_t k = 0; k < PTO_ARRAY_LENGTH(lefts); k++) {
    uint64_t c = lefts[k]; /* row · NARROW + c ≡ WIDE − 1: the byte that the wide rows leave out */
    uint64_t row = solve_congruence(NARROW, WIDE, (2 * (uint64_t)WIDE - 1 - c) % WIDE);
    struct pto_tensor wide = columns(WIDE, 0, 10000000, 0, WIDE - 1);
    expect(PTO_COVERS, wide, columns(NARROW, 0, row, c, c + 1), 200);
    expect(PTO_PARTIAL, wide, columns(NARROW, 0, row + 1, c, c + 1), 200);
  }
}

static void test_65536_rows_against_another_pitch_take_few_steps(void **state) {
  expect(PTO_PARTIAL, columns(WIDE, 0, 65536, 0, 50000), columns(NARROW, 0, 65536, 0, 30000), 200);
  expect(PTO_PARTIAL, columns(WIDE, 0, 65536, 0, WIDE - 1), columns(NARROW, 0, 65536, 1, NARROW), 200);
  expect(PTO_COVERED, columns(WIDE, 0, 65536, 0, 50000), columns(WIDE, 0, 65537, 0, 50001), 0);
  expect(PTO_COVERED, columns(2 * NARROW, 0, 65536, 0, 50000), columns(NARROW, 0, 2 * 65536, 0, 50000), 200);
}

static void test_even_and_odd_columns_of_even_pitches_never_meet(void **state) {
  struct pto_tensor a = columns(WIDE + 1, 0, 65536, 0, 40000), b = columns(NARROW, 0, 65536, 0, 60000);
  a = pto_tensor_slice(&a, 1, 0, 40000, 2);
  struct pto_tensor odd = pto_tensor_slice(&b, 1, 1, 60000, 2), even = pto_tensor_slice(&b, 1, 0, 60000, 2);
  expect(PTO_DISJOINT, a, odd, 200);
  expect(PTO_PARTIAL, a, even, 200);
}

static void test_sparse_columns_of_odd_pitches_take_about_the_root_of_the_rows(void **state) {
  struct pto_tensor a = columns(WIDE, 0, 65536, 0, 64 * 700), b = columns(65537, 0, 65536, 0, 64 * 500);
  a = pto_tensor_slice(&a, 1, 0, 64 * 700, 64);
  b = pto_tensor_slice(&b, 1, 1, 64 * 500, 64);
  expect(PTO_PARTIAL, a, b, 5000);
}

static void test_the_largest_addresses_do_not_overflow(void **state) {
  uint64_t size = UINT64_C(1) << 61, pitch = (UINT64_C(1) << 30) + 7;
  struct pto_buffer buffer = {.id = 1, .generation = 1, .base = size, .size_bytes = size};
  struct pto_tensor a = pto_tensor_dense(buffer, PTO_UINT8, SHAPE(size / pitch, pitch));
  struct pto_tensor b = pto_tensor_dense(buffer, PTO_UINT8, SHAPE(size / (pitch + 6), pitch + 6));
  a = pto_tensor_view(&a, LIST(0, 0), LIST(a.shape[0], pitch - 1));
  b = pto_tensor_view(&b, LIST(1, 0), LIST(b.shape[0] - 1, 1));
  expect(PTO_PARTIAL, a, b, 500);
  b = pto_tensor_slice(&b, 0, 0, 1000, 1);
  /* Column 0 of row i is at i·(pitch + 6): column 6·i of row i of `a`, inside it. */
  expect(PTO_COVERS, a, b, 500);
}

/* ---- random large pairs ---- */

/* Bytes of a nested region at offsets below x from its start, dimensions from k on. */
static uint64_t bytes_before(const struct pto_region *r, uint32_t k, uint64_t x) {
  uint64_t block = r->run_bytes;
  if (k == r->ndims) return pto_min_u64(x, r->run_bytes);
  for (uint32_t l = k + 1; l < r->ndims; l++) block *= r->extents[l];
  uint64_t index = x / r->strides[k];
  if (index >= r->extents[k]) return r->extents[k] * block;
  return index * block + bytes_before(r, k + 1, x % r->strides[k]);
}

static uint64_t bytes_in_range(const struct pto_region *r, uint64_t start, uint64_t end) {
  uint64_t from = start > r->start ? start - r->start : 0, to = end > r->start ? end - r->start : 0;
  return bytes_before(r, 0, to) - bytes_before(r, 0, from);
}

static uint64_t runs_of(const struct pto_region *r) {
  return r->run_bytes == 0 ? 0 : pto_region_bytes(r) / r->run_bytes;
}

static uint64_t common_bytes(const struct pto_region *a, const struct pto_region *b) {
  uint64_t index[PTO_MAX_DIMS] = {0}, common = 0;
  if (runs_of(a) > runs_of(b)) return common_bytes(b, a);
  if (a->run_bytes == 0) return 0;
  for (;;) {
    uint64_t at = a->start;
    for (uint32_t k = 0; k < a->ndims; k++) at += index[k] * a->strides[k];
    common += bytes_in_range(b, at, at + a->run_bytes);
    uint32_t k = a->ndims;
    while (k > 0 && ++index[k - 1] == a->extents[k - 1]) index[--k] = 0;
    if (k == 0) return common;
  }
}

static enum pto_overlap true_relation(const struct pto_region *a, const struct pto_region *b) {
  uint64_t common = common_bytes(a, b), bytes_a = pto_region_bytes(a), bytes_b = pto_region_bytes(b);
  if (common == 0) return PTO_DISJOINT;
  if (common == bytes_a) return common == bytes_b ? PTO_EQUAL : PTO_COVERED;
  return common == bytes_b ? PTO_COVERS : PTO_PARTIAL;
}

static uint64_t below(struct pto_rng *rng, uint64_t bound) { return pto_rng_below(rng, bound); }

static struct pto_tensor random_root(struct pto_rng *rng, uint64_t size_bytes) {
  for (;;) {
    uint64_t shape[PTO_MAX_DIMS];
    uint32_t dtype = (uint32_t)below(rng, PTO_INT4), ndims = 2 + (uint32_t)below(rng, 4);
    uint64_t count = size_bytes / pto_dtype_size(dtype);
    for (uint32_t i = ndims; i-- > 1;) {
      shape[i] = pto_min_u64(2 + below(rng, UINT64_C(1) << (2 + below(rng, 17))), pto_max_u64(count, 1));
      count /= shape[i];
    }
    shape[0] = count;
    if (count > 0) return memory_as(size_bytes, dtype, ndims, shape);
  }
}

static void random_slices(struct pto_rng *rng, struct pto_tensor *t) {
  for (uint64_t i = below(rng, 6); i > 0; i--) {
    uint32_t dim = (uint32_t)below(rng, t->ndims);
    uint64_t extent = t->shape[dim], start = below(rng, 2) ? 0 : below(rng, extent);
    uint64_t end = below(rng, 2) ? extent : start + 1 + below(rng, extent - start);
    if (below(rng, 3) == 0) end = pto_min_u64(end, start + 1 + below(rng, 5));
    uint64_t by = below(rng, 2) ? 1 : 1 + below(rng, below(rng, 2) ? 4 : 200);
    *t = pto_tensor_slice(t, dim, start, end, by);
  }
}

static void test_large_pairs_of_any_pitches_agree_with_counting(void **state) {
  enum { MOST_RUNS = 3000, PAIRS = 20000 };
  uint64_t relations[5] = {0}, most_steps = 0;
  for (uint64_t seed = 1, done = 0; done < PAIRS; seed++) {
    struct pto_rng rng = {seed << 20};
    uint64_t size = UINT64_C(1) << (12 + below(&rng, 28)), steps = 0;
    struct pto_tensor a = random_root(&rng, size + below(&rng, size)), b = random_root(&rng, a.buffer.size_bytes);
    struct pto_region ra, rb;
    if (below(&rng, 3) == 0) b = a;
    random_slices(&rng, &a);
    random_slices(&rng, &b);
    pto_region_from_tensor(&a, 0, &ra);
    pto_region_from_tensor(&b, 0, &rb);
    if (pto_min_u64(runs_of(&ra), runs_of(&rb)) > MOST_RUNS) continue;
    enum pto_overlap truth = true_relation(&ra, &rb), answer = relate(&a, &b, &steps);
    if (answer != truth) {
      char ta[256], tb[256];
      pto_tensor_format(&a, ta, sizeof ta);
      pto_tensor_format(&b, tb, sizeof tb);
      fail_msg("seed %" PRIu64 ": answer %s, truth %s\n  a: %s\n  b: %s", seed, relation_names[answer],
               relation_names[truth], ta, tb);
    }
    relations[truth]++;
    most_steps = pto_max_u64(most_steps, steps);
    done++;
  }
  print_message("%d large pairs:", PAIRS);
  for (int i = 0; i < 5; i++) print_message(" %s %" PRIu64, relation_names[i], relations[i]);
  print_message("; steps at most %" PRIu64 "\n", most_steps);
  for (int i = 0; i < 5; i++) assert_true(relations[i] >= PAIRS / 400);
  assert_true(most_steps < PTO_REGION_STEP_LIMIT / 10);
}

static void test_large_pairs_with_any_number_of_runs_stay_within_the_budget(void **state) {
  uint64_t most_steps = 0, total = 0;
  for (uint64_t seed = 1; seed <= 100000; seed++) {
    struct pto_rng rng = {seed << 24};
    uint64_t size = UINT64_C(1) << (10 + below(&rng, 34)), steps = 0;
    struct pto_tensor a = random_root(&rng, size + below(&rng, size)), b = random_root(&rng, a.buffer.size_bytes);
    random_slices(&rng, &a);
    random_slices(&rng, &b);
    relate(&a, &b, &steps);
    total += steps;
    most_steps = pto_max_u64(most_steps, steps);
  }
  print_message("100000 larger pairs: steps at most %" PRIu64 ", %" PRIu64 " in all\n", most_steps, total);
  assert_true(most_steps < PTO_REGION_STEP_LIMIT / 10);
}

/* Strides of 5 and thrice 3 fold onto each other: what `a` leaves out is no progression, and each byte of `b` has to be
 * looked up. */
static void test_hand_made_strides_that_exhaust_the_budget_answer_partial_and_are_counted(void **state) {
  uint64_t exhausted = 0, many = 1000000, few = 1000;
  struct pto_tensor a = memory_as(UINT64_C(1) << 30, PTO_UINT8, SHAPE(many, 3)), b = a;
  struct pto_region ra, rb;
  a.strides[0] = b.strides[0] = 5;
  a.strides[1] = 3;
  b.shape[1] = 1;
  pto_region_from_tensor(&a, 0, &ra);
  pto_region_from_tensor(&b, 0, &rb);
  assert_int_equal(pto_region_overlap(&ra, &rb, &exhausted), PTO_PARTIAL);
  assert_int_equal(pto_region_overlap(&rb, &ra, &exhausted), PTO_PARTIAL);
  assert_int_equal(exhausted, 2);
  assert_int_equal(pto_region_overlap(&ra, &rb, NULL), PTO_PARTIAL); /* and need not be counted */
  assert_int_equal(pto_region_overlap(&ra, &ra, &exhausted), PTO_EQUAL);
  b.shape[0] = few;
  pto_region_from_tensor(&b, 0, &rb);
  assert_int_equal(pto_region_overlap(&ra, &rb, &exhausted), PTO_COVERS);
  b.start_offset = 2; /* a has the remainders 0, 1 and 3 of 5 */
  pto_region_from_tensor(&b, 0, &rb);
  assert_int_equal(pto_region_overlap(&ra, &rb, &exhausted), PTO_DISJOINT);
  assert_int_equal(exhausted, 2);
}

/* Seven strides, found at random, that take more steps than there are to tell whether they reach a byte. */
static void test_a_byte_among_strides_that_nothing_tells_of_may_be_shared(void **state) {
  const struct pto_region strided = {.end = UINT64_C(1) << 40,
                                     .run_bytes = 1,
                                     .ndims = 7,
                                     .extents = {21, 3887, 47, 501, 78, 184, 807},
                                     .strides = {2375, 106174423, 181, 39, 22, 4, 173071548}},
                          byte = {.start = UINT64_C(171672153250), .end = UINT64_C(171672153251), .run_bytes = 1};
  uint64_t exhausted = 0;
  assert_int_equal(pto_region_overlap(&strided, &byte, &exhausted), PTO_PARTIAL);
  assert_true(pto_region_intersects(&strided, &byte, &exhausted));
  assert_int_equal(exhausted, 2);
  assert_true(pto_region_intersects(&strided, &byte, NULL));
}

/* Fields that no tensor gives: dimensions that are one, and strides shorter than the run. */
static void test_equal_bytes_of_other_fields_are_equal(void **state) {
  const struct pto_region two = {.end = 16, .run_bytes = 1, .ndims = 2, .extents = {2, 2}, .strides = {10, 5}},
                          one = {.end = 16, .run_bytes = 1, .ndims = 1, .extents = {4}, .strides = {5}},
                          folded = {.end = 4, .run_bytes = 2, .ndims = 1, .extents = {3}, .strides = {1}},
                          bytes = {.end = 4, .run_bytes = 1, .ndims = 2, .extents = {2, 2}, .strides = {2, 1}};
  assert_int_equal(pto_region_overlap(&two, &one, NULL), PTO_EQUAL);
  assert_int_equal(pto_region_overlap(&one, &two, NULL), PTO_EQUAL);
  assert_int_equal(pto_region_overlap(&folded, &bytes, NULL), PTO_EQUAL);
  assert_int_equal(pto_region_overlap(&bytes, &folded, NULL), PTO_EQUAL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_single_columns_of_coprime_pitches_meet_exactly_where_the_remainders_say),
      cmocka_unit_test(test_a_missing_column_of_another_pitch_decides_covering_exactly),
      cmocka_unit_test(test_65536_rows_against_another_pitch_take_few_steps),
      cmocka_unit_test(test_even_and_odd_columns_of_even_pitches_never_meet),
      cmocka_unit_test(test_sparse_columns_of_odd_pitches_take_about_the_root_of_the_rows),
      cmocka_unit_test(test_the_largest_addresses_do_not_overflow),
      cmocka_unit_test(test_large_pairs_of_any_pitches_agree_with_counting),
      cmocka_unit_test(test_large_pairs_with_any_number_of_runs_stay_within_the_budget),
      cmocka_unit_test(test_hand_made_strides_that_exhaust_the_budget_answer_partial_and_are_counted),
      cmocka_unit_test(test_a_byte_among_strides_that_nothing_tells_of_may_be_shared),
      cmocka_unit_test(test_equal_bytes_of_other_fields_are_equal),
  };
  return cmocka_run_group_tests_name("overlap_scale", tests, NULL, NULL);
}
