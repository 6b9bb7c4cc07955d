/* SPDX-License-Identifier: MIT */
/*
 * pto_tensor_overlap against byte sets: random descriptors over 4 KiB of memory, made by random chains of constructors
 * and views, compared with a set of bytes that is filled element by element from the public definition of a descriptor.
 *
 * PTO_PROPERTY_PAIRS (default 200000, 50000 with a sanitizer, 10 million where PTO_TEST_LONG is set) pairs from
 * PTO_SEED (default 1).  Each pair also checks the canonical form (same bytes, size, invariants),
 * pto_region_intersects, the mirrored question, and that the step budget is never reached. The mix of pairs is such
 * that no relation is rare; the test fails if one becomes so.  A wrong answer is shrunk and printed with its seed.
 *
 * A new way to relate two tensors is a case of make_pair, a new view one of random_view.
 *
 * Long by its oracle, which shares nothing with the library.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <runtime/base/sanitizer.h>
#include <runtime/tensor/region.h>
#include <runtime/tensor/tensor_make.h>

enum { MEMORY_BYTES = 4096, WORDS = MEMORY_BYTES / 64, MAX_ELEMENTS = 4096 };
#define MEMORY_BASE UINT64_C(0x7000000)

static const char *const relation_names[] = {"DISJOINT", "EQUAL", "COVERS", "COVERED", "PARTIAL"};

/* ---- the oracle ---- */

struct byte_set {
  uint64_t words[WORDS];
};

static void add_bytes(struct byte_set *set, uint64_t offset, uint64_t count) {
  assert_true(offset + count <= MEMORY_BYTES);
  for (uint64_t k = offset; k < offset + count; k++) set->words[k / 64] |= UINT64_C(1) << (k % 64);
}

/* All elements of the descriptor, from the formula in tensor.h. */
static void fill_from_tensor(const struct pto_tensor *t, struct byte_set *set) {
#define X(constant, value, name, bits, class_) [value] = bits,
  static const uint64_t bits_of[] = {PTO_DTYPE_LIST(X)};
#undef X
  uint64_t bits = bits_of[t->dtype], index[PTO_MAX_DIMS] = {0};
  uint64_t base = t->buffer.base ? t->buffer.base - MEMORY_BASE : 0;
  memset(set, 0, sizeof *set);
  for (uint32_t i = 0; i < t->ndims; i++)
    if (t->shape[i] == 0) return;
  for (;;) {
    uint64_t element = t->start_offset;
    for (uint32_t i = 0; i < t->ndims; i++) element += index[i] * t->strides[i];
    uint64_t first_bit = element * bits;
    add_bytes(set, base + first_bit / 8, bits < 8 ? 1 : bits / 8);
    uint32_t k = t->ndims;
    while (k > 0 && ++index[k - 1] == t->shape[k - 1]) index[--k] = 0;
    if (k == 0) return;
  }
}

static void fill_from_region(const struct pto_region *r, uint64_t base, struct byte_set *set) {
  uint64_t index[PTO_MAX_DIMS] = {0};
  memset(set, 0, sizeof *set);
  if (r->run_bytes == 0) return;
  for (;;) {
    uint64_t at = r->start - base;
    for (uint32_t i = 0; i < r->ndims; i++) at += index[i] * r->strides[i];
    add_bytes(set, at, r->run_bytes);
    uint32_t k = r->ndims;
    while (k > 0 && ++index[k - 1] == r->extents[k - 1]) index[--k] = 0;
    if (k == 0) return;
  }
}

static uint64_t size_of_set(const struct byte_set *set) {
  uint64_t count = 0;
  for (int i = 0; i < WORDS; i++) count += (uint64_t)__builtin_popcountll(set->words[i]);
  return count;
}

/* One past the last byte where `is_end`, else the first byte; the set is not empty. */
static uint64_t bound_of_set(const struct byte_set *set, bool is_end) {
  int word = is_end ? WORDS - 1 : 0;
  while (set->words[word] == 0) word += is_end ? -1 : 1;
  uint64_t bits = set->words[word], first = (uint64_t)word * 64;
  return is_end ? first + 64 - (uint64_t)__builtin_clzll(bits) : first + (uint64_t)__builtin_ctzll(bits);
}

static bool is_same_memory(const struct pto_tensor *a, const struct pto_tensor *b) {
  if (a->buffer.base != 0 && b->buffer.base != 0) return true;
  return a->buffer.base == b->buffer.base && a->buffer.id == b->buffer.id &&
         a->buffer.generation == b->buffer.generation;
}

static enum pto_overlap true_relation(const struct pto_tensor *a, const struct pto_tensor *b) {
  struct byte_set sa, sb;
  bool has_common = false, has_only_a = false, has_only_b = false;
  fill_from_tensor(a, &sa);
  fill_from_tensor(b, &sb);
  for (int i = 0; i < WORDS; i++) {
    has_common |= (sa.words[i] & sb.words[i]) != 0;
    has_only_a |= (sa.words[i] & ~sb.words[i]) != 0;
    has_only_b |= (sb.words[i] & ~sa.words[i]) != 0;
  }
  if (!is_same_memory(a, b)) return PTO_DISJOINT;
  if (a->overlap == PTO_OVERLAP_FUZZY || b->overlap == PTO_OVERLAP_FUZZY) {
    if (size_of_set(&sa) == 0 || size_of_set(&sb) == 0) return PTO_DISJOINT;
    bool overlaps =
        bound_of_set(&sa, false) < bound_of_set(&sb, true) && bound_of_set(&sb, false) < bound_of_set(&sa, true);
    return overlaps ? PTO_PARTIAL : PTO_DISJOINT;
  }
  if (!has_common) return PTO_DISJOINT;
  if (has_only_a && has_only_b) return PTO_PARTIAL;
  return has_only_a ? PTO_COVERS : has_only_b ? PTO_COVERED : PTO_EQUAL;
}

/* ---- random descriptors ---- */

static uint64_t below(struct pto_rng *rng, uint64_t bound) { return pto_rng_below(rng, bound); }
static bool one_in(struct pto_rng *rng, uint64_t n) { return below(rng, n) == 0; }

/* A shape with at most `limit` elements. */
static uint32_t random_shape(struct pto_rng *rng, uint64_t limit, uint64_t *shape) {
  uint32_t ndims = (uint32_t)(one_in(rng, 4) ? below(rng, PTO_MAX_DIMS + 1) : 1 + below(rng, 4));
  for (uint32_t i = 0; i < ndims; i++) {
    uint64_t most = i + 1 == ndims ? limit : pto_min_u64(limit, one_in(rng, 8) ? 64 : 12);
    shape[i] = 1 + below(rng, most);
    if (one_in(rng, 100)) shape[i] = 0;
    limit /= shape[i] ? shape[i] : 1;
  }
  for (uint32_t i = ndims; i-- > 1;) { /* any dimension may be the long one */
    uint64_t k = below(rng, i + 1), swapped = shape[i];
    shape[i] = shape[k];
    shape[k] = swapped;
  }
  return ndims;
}

/* A factorisation of `count`. */
static uint32_t random_factors(struct pto_rng *rng, uint64_t count, uint64_t *shape) {
  uint32_t ndims = 1 + (uint32_t)below(rng, 5);
  for (uint32_t i = 0; i + 1 < ndims; i++) {
    uint64_t divisor = 1 + below(rng, 12);
    while (count == 0 ? false : count % divisor != 0) divisor--;
    shape[i] = divisor;
    count /= divisor;
  }
  shape[ndims - 1] = count;
  return ndims;
}

static struct pto_tensor random_root(struct pto_rng *rng) {
  for (;;) {
    uint64_t shape[PTO_MAX_DIMS], bytes;
    uint32_t dtype = (uint32_t)below(rng, PTO_DTYPE_COUNT);
    uint64_t limit = MEMORY_BYTES / pto_dtype_size(dtype);
    uint32_t ndims = random_shape(rng, one_in(rng, 3) ? limit : pto_min_u64(limit, 200), shape);
    struct pto_buffer buffer = {.id = 1 + below(rng, 2), .generation = 1, .base = 0};
    if (!pto_tensor_dense_bytes(dtype, ndims, shape, &bytes) || bytes > MEMORY_BYTES) continue;
    uint64_t room = MEMORY_BYTES - bytes, at = one_in(rng, 2) ? 0 : below(rng, pto_min_u64(room + 1, 64));
    at -= at % pto_dtype_size(dtype);
    if (!one_in(rng, 8)) {
      buffer.base = MEMORY_BASE + at;
    } else {
      at = 0;
      if (!one_in(rng, 4)) buffer.id = 1;
    }
    buffer.size_bytes = bytes + below(rng, MEMORY_BYTES - at - bytes + 1);
    return pto_tensor_dense(buffer, dtype, ndims, shape);
  }
}

static struct pto_tensor random_box(struct pto_rng *rng, const struct pto_tensor *t) {
  uint64_t offsets[PTO_MAX_DIMS], shape[PTO_MAX_DIMS];
  for (uint32_t i = 0; i < t->ndims; i++) {
    offsets[i] = 0;
    shape[i] = t->shape[i];
    if (one_in(rng, 2) || t->shape[i] == 0) continue;
    offsets[i] = one_in(rng, 2) ? 0 : below(rng, t->shape[i]);
    shape[i] = one_in(rng, 60) ? 0 : 1 + below(rng, t->shape[i] - offsets[i]);
  }
  return pto_tensor_view(t, offsets, shape);
}

static struct pto_tensor random_slice(struct pto_rng *rng, const struct pto_tensor *t) {
  uint32_t dim = t->ndims ? (uint32_t)below(rng, t->ndims) : 0;
  uint64_t extent = t->ndims ? t->shape[dim] : 0;
  uint64_t start = one_in(rng, 2) ? below(rng, pto_min_u64(extent, 3) + 1) : 0;
  if (start > extent) start = extent;
  uint64_t end = one_in(rng, 2) ? extent : start + below(rng, extent - start + 1);
  return pto_tensor_slice(t, dim, start, end, 1 + below(rng, one_in(rng, 4) ? 12 : 3));
}

static struct pto_tensor random_order(struct pto_rng *rng, const struct pto_tensor *t) {
  uint32_t order[PTO_MAX_DIMS];
  if (t->ndims > 1 && one_in(rng, 2)) {
    uint32_t dim_a = (uint32_t)below(rng, t->ndims), dim_b = (uint32_t)below(rng, t->ndims);
    return pto_tensor_transpose(t, dim_a, dim_b);
  }
  for (uint32_t i = 0; i < t->ndims; i++) order[i] = i;
  for (uint32_t i = t->ndims; i-- > 1;) {
    uint32_t k = (uint32_t)below(rng, i + 1), swapped = order[i];
    order[i] = order[k];
    order[k] = swapped;
  }
  return pto_tensor_permute(t, order);
}

static struct pto_tensor random_broadcast(struct pto_rng *rng, const struct pto_tensor *t) {
  uint64_t shape[PTO_MAX_DIMS];
  uint32_t added = t->ndims < PTO_MAX_DIMS ? (uint32_t)below(rng, 2) : 0;
  for (uint32_t i = 0; i < added; i++) shape[i] = 1 + below(rng, 3);
  for (uint32_t i = 0; i < t->ndims; i++) shape[added + i] = t->shape[i] == 1 ? 1 + below(rng, 4) : t->shape[i];
  return pto_tensor_broadcast(t, t->ndims + added, shape);
}

/* Some view of `t`, which may turn out to be impossible; then the result is invalid. */
static struct pto_tensor random_view(struct pto_rng *rng, const struct pto_tensor *t) {
  uint64_t shape[PTO_MAX_DIMS];
  switch (below(rng, 8)) {
  case 0:
  case 1:
    return random_box(rng, t);
  case 2:
  case 3:
    return random_slice(rng, t);
  case 4:
    return random_order(rng, t);
  case 5:
    return random_broadcast(rng, t);
  case 6:
    return pto_tensor_reinterpret(t, (uint32_t)below(rng, PTO_DTYPE_COUNT));
  default: {
    uint32_t ndims = random_factors(rng, pto_tensor_numel(t), shape);
    return pto_tensor_reshape(t, ndims, shape);
  }
  }
}

/* A view that keeps the byte set, where one is found. */
static struct pto_tensor random_disguise(struct pto_rng *rng, const struct pto_tensor *t) {
  uint64_t shape[PTO_MAX_DIMS];
  switch (below(rng, 4)) {
  case 0:
    return random_order(rng, t);
  case 1:
    return random_broadcast(rng, t);
  case 2:
    return pto_tensor_reinterpret(t, (uint32_t)below(rng, PTO_DTYPE_COUNT));
  default: {
    uint32_t ndims = random_factors(rng, pto_tensor_numel(t), shape);
    return pto_tensor_reshape(t, ndims, shape);
  }
  }
}

typedef struct pto_tensor (*random_step)(struct pto_rng *rng, const struct pto_tensor *t);

static void apply(struct pto_rng *rng, struct pto_tensor *t, uint64_t steps, random_step step) {
  for (uint64_t i = 0; i < steps; i++) {
    struct pto_tensor next = step(rng, t);
    if (next.status == PTO_OK && pto_tensor_numel(&next) <= MAX_ELEMENTS) *t = next;
  }
}

/* The same tensor with one extent less by one, at either end, or moved by one element where there is room. */
static void nudge(struct pto_rng *rng, struct pto_tensor *t) {
  if (t->ndims == 0) return;
  uint32_t dim = (uint32_t)below(rng, t->ndims);
  if (t->shape[dim] > 1 && !one_in(rng, 3)) {
    uint64_t start = below(rng, 2);
    struct pto_tensor next = pto_tensor_slice(t, dim, start, t->shape[dim] - 1 + start, 1);
    if (next.status == PTO_OK) *t = next;
    return;
  }
  struct pto_tensor moved = *t;
  moved.start_offset += one_in(rng, 2) ? 1 : t->strides[dim];
  if (pto_tensor_status(&moved) == PTO_OK) *t = moved;
}

/* The two tensors as parts of one root that lie side by side or in turn: near misses of every kind. */
static void make_neighbours(struct pto_rng *rng, struct pto_tensor *a, struct pto_tensor *b) {
  struct pto_tensor root = *a;
  if (root.ndims == 0) return;
  uint32_t dim = (uint32_t)below(rng, root.ndims);
  uint64_t extent = root.shape[dim], step = 1 + below(rng, 4);
  struct pto_tensor first, second;
  if (one_in(rng, 2)) {
    uint64_t at = below(rng, extent + 1), skip = one_in(rng, 2) ? 0 : below(rng, 3);
    first = pto_tensor_slice(&root, dim, 0, at, 1);
    second = pto_tensor_slice(&root, dim, pto_min_u64(at + skip, extent), extent, 1);
  } else {
    uint64_t start_a = pto_min_u64(below(rng, step), extent), start_b = pto_min_u64(below(rng, step), extent);
    first = pto_tensor_slice(&root, dim, start_a, extent, step);
    second = pto_tensor_slice(&root, dim, start_b, extent, one_in(rng, 3) ? 1 + below(rng, 6) : step);
  }
  if (first.status == PTO_OK && second.status == PTO_OK) {
    *a = first;
    *b = second;
  }
}

static void make_pair(struct pto_rng *rng, struct pto_tensor *a, struct pto_tensor *b) {
  *a = random_root(rng);
  apply(rng, a, below(rng, 4), random_view);
  *b = *a;
  switch (below(rng, 8)) {
  case 0: /* anything against anything */
    *b = random_root(rng);
    apply(rng, b, below(rng, 5), random_view);
    break;
  case 1: /* two chains from one root */
  case 2:
    apply(rng, a, 1 + below(rng, 3), random_view);
    apply(rng, b, 1 + below(rng, 3), random_view);
    break;
  case 3: /* a part, in disguise */
    apply(rng, b, 1 + below(rng, 2), random_view);
    apply(rng, b, below(rng, 3), random_disguise);
    break;
  case 4: /* the same bytes in disguise */
    apply(rng, a, below(rng, 3), random_disguise);
    apply(rng, b, 1 + below(rng, 3), random_disguise);
    break;
  case 5: /* nearly the same bytes in disguise */
    nudge(rng, b);
    apply(rng, a, below(rng, 3), random_disguise);
    apply(rng, b, below(rng, 3), random_disguise);
    break;
  default:
    make_neighbours(rng, a, b);
    apply(rng, a, below(rng, 2), random_view);
    apply(rng, b, below(rng, 2), random_view);
    apply(rng, a, below(rng, 2), random_disguise);
    apply(rng, b, below(rng, 2), random_disguise);
  }
  if (one_in(rng, 2)) {
    struct pto_tensor swapped = *a;
    *a = *b;
    *b = swapped;
  }
  if (one_in(rng, 60)) *a = pto_tensor_with_overlap(a, PTO_OVERLAP_FUZZY);
  if (one_in(rng, 8)) *b = pto_tensor_with_version(b, 3);
}

/* ---- one pair ---- */

static enum pto_overlap mirrored(enum pto_overlap relation) {
  static const enum pto_overlap mirror[] = {PTO_DISJOINT, PTO_EQUAL, PTO_COVERED, PTO_COVERS, PTO_PARTIAL};
  return mirror[relation];
}

static bool is_wrong(const struct pto_tensor *a, const struct pto_tensor *b) {
  enum pto_overlap truth = true_relation(a, b);
  return pto_tensor_overlap(a, b) != truth || pto_tensor_overlap(b, a) != mirrored(truth);
}

/* Takes indices away from one side as long as the answer stays wrong. */
static bool shrink_once(struct pto_tensor *a, const struct pto_tensor *b) {
  for (uint32_t dim = 0; dim < a->ndims; dim++) {
    uint64_t n = a->shape[dim];
    const uint64_t tries[][3] = {{0, n / 2, 1}, {n / 2, n, 1}, {0, n ? n - 1 : 0, 1}, {n ? 1 : 0, n, 1}, {0, n, 2}};
    for (size_t i = 0; i < PTO_ARRAY_LENGTH(tries); i++) {
      struct pto_tensor less = pto_tensor_slice(a, dim, tries[i][0], tries[i][1], tries[i][2]);
      if (less.status != PTO_OK || less.shape[dim] >= n) continue;
      if (is_wrong(&less, b)) {
        *a = less;
        return true;
      }
    }
  }
  return false;
}

static void print_pair(const char *what, const struct pto_tensor *a, const struct pto_tensor *b) {
  char ta[256], tb[256];
  pto_tensor_format(a, ta, sizeof ta);
  pto_tensor_format(b, tb, sizeof tb);
  print_error("%s\n  a: %s, base +%" PRIu64 "\n  b: %s, base +%" PRIu64 "\n  answer %s, mirrored %s, truth %s\n", what,
              ta, a->buffer.base ? a->buffer.base - MEMORY_BASE : 0, tb,
              b->buffer.base ? b->buffer.base - MEMORY_BASE : 0, relation_names[pto_tensor_overlap(a, b)],
              relation_names[pto_tensor_overlap(b, a)], relation_names[true_relation(a, b)]);
}

static void fail_with(uint64_t seed, struct pto_tensor a, struct pto_tensor b) {
  print_error("seed of the pair: %" PRIu64 "\n", seed);
  print_pair("as made", &a, &b);
  while (is_wrong(&a, &b) && (shrink_once(&a, &b) || shrink_once(&b, &a))) continue;
  print_pair("shrunk", &a, &b);
  fail();
}

static void check_canonical_form(const struct pto_tensor *t, const struct pto_region *r) {
  struct byte_set expected, found;
  uint64_t span = r->run_bytes;
  fill_from_tensor(t, &expected);
  fill_from_region(r, t->buffer.base ? MEMORY_BASE : 0, &found);
  assert_memory_equal(&expected, &found, sizeof expected);
  assert_int_equal(pto_region_bytes(r), size_of_set(&expected));
  assert_int_equal(r->run_bytes == 0, size_of_set(&expected) == 0);
  if (r->run_bytes == 0) assert_int_equal(r->ndims, 0);
  for (uint32_t k = r->ndims; k-- > 0;) {
    assert_true(r->extents[k] >= 2);
    assert_true(k + 1 < r->ndims ? r->strides[k] != r->extents[k + 1] * r->strides[k + 1]
                                 : r->strides[k] > r->run_bytes);
    assert_true(r->strides[k] >= span);
    span += (r->extents[k] - 1) * r->strides[k];
  }
  assert_int_equal(r->end, r->start + span);
}

struct tally {
  uint64_t relations[5], exhausted, steps, most_steps;
};

static void check_pair(uint64_t seed, const struct pto_tensor *a, const struct pto_tensor *b, struct tally *tally) {
  struct pto_region ra, rb;
  uint64_t steps = 0;
  assert_int_equal(pto_tensor_status(a), PTO_OK);
  assert_int_equal(pto_tensor_status(b), PTO_OK);
  enum pto_overlap truth = true_relation(a, b);
  if (is_wrong(a, b)) fail_with(seed, *a, *b);
  tally->relations[truth]++;
  pto_region_from_tensor(a, a->buffer.base, &ra);
  pto_region_from_tensor(b, b->buffer.base, &rb);
  check_canonical_form(a, &ra);
  check_canonical_form(b, &rb);
  if (!is_same_memory(a, b)) return;
  if (pto_region_overlap_steps(&ra, &rb, &tally->exhausted, &steps) != truth) fail_with(seed, *a, *b);
  if (pto_region_intersects(&ra, &rb, &tally->exhausted) != (truth != PTO_DISJOINT)) fail_with(seed, *a, *b);
  tally->steps += steps;
  tally->most_steps = pto_max_u64(tally->most_steps, steps);
}

static uint64_t number_from_environment(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

static uint64_t pair_count(void) {
  return number_from_environment("PTO_PROPERTY_PAIRS", getenv("PTO_TEST_LONG") ? 10000000
                                                       : PTO_HAS_SANITIZER     ? 50000
                                                                               : 200000);
}

static void test_overlap_of_whatever_views_can_make_agrees_with_byte_sets(void **state) {
  uint64_t pairs = pair_count(), seed = number_from_environment("PTO_SEED", 1);
  struct tally tally = {0};
  for (uint64_t i = 0; i < pairs; i++) {
    struct pto_rng rng = {seed + i};
    struct pto_tensor a, b;
    pto_rng_next(&rng);
    make_pair(&rng, &a, &b);
    check_pair(seed + i, &a, &b, &tally);
  }
  print_message("%" PRIu64 " pairs from seed %" PRIu64 ":", pairs, seed);
  for (int i = 0; i < 5; i++)
    print_message(" %s %.1f %%", relation_names[i], 100.0 * (double)tally.relations[i] / (double)pairs);
  print_message("; steps at most %" PRIu64 ", mean %.2f\n", tally.most_steps, (double)tally.steps / (double)pairs);
  assert_int_equal(tally.exhausted, 0);
  assert_true(tally.most_steps < PTO_REGION_STEP_LIMIT / 10);
  if (pairs >= 10000)
    for (int i = 0; i < 5; i++) assert_true(tally.relations[i] >= pairs / 12);
}

/* Descriptors that no view makes: any strides, as long as the bytes stay inside. */
static struct pto_tensor random_by_hand(struct pto_rng *rng) {
  for (;;) {
    struct pto_tensor t = {.buffer = {.id = 1, .generation = 1, .base = MEMORY_BASE, .size_bytes = 512}};
    t.dtype = (uint32_t)below(rng, PTO_INT4);
    t.ndims = 1 + (uint32_t)below(rng, 4);
    t.start_offset = below(rng, 16);
    for (uint32_t i = 0; i < t.ndims; i++) {
      t.shape[i] = 1 + below(rng, 6);
      t.strides[i] = below(rng, 14);
    }
    if (pto_tensor_status(&t) == PTO_OK) return t;
  }
}

/* Folding dimensions may remain in the form; it has to denote the same bytes all the same. */
static void check_bytes_of_region(const struct pto_tensor *t, const struct pto_region *r) {
  struct byte_set expected, found;
  fill_from_tensor(t, &expected);
  fill_from_region(r, MEMORY_BASE, &found);
  assert_memory_equal(&expected, &found, sizeof expected);
  assert_int_equal(r->end - MEMORY_BASE, bound_of_set(&expected, true));
}

static void test_overlap_of_strides_filled_in_by_hand_is_true_or_partial(void **state) {
  uint64_t pairs = pair_count() / 5, seed = number_from_environment("PTO_SEED", 1);
  uint64_t relations[5] = {0};
  for (uint64_t i = 0; i < pairs; i++) {
    struct pto_rng rng = {~(seed + i)};
    struct pto_tensor a = random_by_hand(&rng), b = random_by_hand(&rng), like_a = b;
    struct pto_region ra, rb;
    uint64_t exhausted = 0;
    if (one_in(&rng, 2)) { /* the strides of the other one, of which some may fold here and not there */
      like_a.ndims = a.ndims;
      like_a.dtype = a.dtype;
      memcpy(like_a.strides, a.strides, sizeof a.strides);
      for (uint32_t k = 0; k < a.ndims; k++) like_a.shape[k] = 1 + below(&rng, 6);
      if (pto_tensor_status(&like_a) == PTO_OK) b = like_a;
    }
    enum pto_overlap truth = true_relation(&a, &b);
    pto_region_from_tensor(&a, a.buffer.base, &ra);
    pto_region_from_tensor(&b, b.buffer.base, &rb);
    check_bytes_of_region(&a, &ra);
    enum pto_overlap answer = pto_region_overlap(&ra, &rb, &exhausted);
    if (answer != truth && !(answer == PTO_PARTIAL && exhausted == 1)) fail_with(seed + i, a, b);
    if (!pto_region_intersects(&ra, &rb, &exhausted) && truth != PTO_DISJOINT) fail_with(seed + i, a, b);
    relations[truth]++;
  }
  for (int i = 0; i < 5; i++) assert_true(pairs < 10000 || relations[i] > 0);
}

/* Two different index vectors with the same element: by looking at all of them. */
static bool truly_shares_bytes(const struct pto_tensor *t) {
  bool seen[512] = {false};
  uint64_t index[PTO_MAX_DIMS] = {0};
  for (;;) {
    uint64_t element = t->start_offset;
    for (uint32_t i = 0; i < t->ndims; i++) element += index[i] * t->strides[i];
    if (seen[element]) return true;
    seen[element] = true;
    uint32_t k = t->ndims;
    while (k > 0 && ++index[k - 1] == t->shape[k - 1]) index[--k] = 0;
    if (k == 0) return false;
  }
}

static void test_sharing_of_bytes_is_known_exactly(void **state) {
  uint64_t count = pair_count() / 4, seed = number_from_environment("PTO_SEED", 1);
  uint64_t sharing = 0;
  for (uint64_t i = 0; i < count; i++) {
    struct pto_rng rng = {seed ^ (i << 20)};
    struct pto_tensor t = random_by_hand(&rng);
    bool expected = truly_shares_bytes(&t);
    if (pto_tensor_shares_bytes(&t) != expected) {
      char text[256];
      pto_tensor_format(&t, text, sizeof text);
      fail_msg("%s: shares bytes: %d", text, expected);
    }
    sharing += expected;
  }
  if (count > 1000) assert_in_range(sharing, count / 10, count - count / 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_overlap_of_whatever_views_can_make_agrees_with_byte_sets),
      cmocka_unit_test(test_overlap_of_strides_filled_in_by_hand_is_true_or_partial),
      cmocka_unit_test(test_sharing_of_bytes_is_known_exactly),
  };
  return cmocka_run_group_tests_name("overlap_property", tests, NULL, NULL);
}
