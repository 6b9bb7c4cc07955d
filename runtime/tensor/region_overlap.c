/* SPDX-License-Identifier: MIT */
/*
 * The exact relation of two byte sets in canonical form.
 *
 * From cheap to dear: bounding ranges; equal fields; a run with anything of one stride; rows of one pitch; boxes of one
 * stride system; then number theory.  A and B overlap where a linear form takes a value in an interval (linear_form.h).
 * A covers B where B overlaps none of A's gaps, and the gaps of nested progressions are progressions of the same kind,
 * one for each dimension of A.  Only the larger set can cover the other, and where sizes are equal, to cover means to
 * be equal.
 *
 * So nothing is counted or listed.  Only strides that fold onto each other, which no view makes, have gaps that are no
 * progressions: for those each byte of B is looked up in A, within the budget, and an exhausted budget answers
 * PTO_PARTIAL.
 *
 * Values only, any thread.
 */
#include <runtime/tensor/region.h>

#include <runtime/base/base.h>
#include <runtime/tensor/linear_form.h>

static enum pto_overlap mirrored(enum pto_overlap relation) {
  return relation == PTO_COVERS ? PTO_COVERED : relation == PTO_COVERED ? PTO_COVERS : relation;
}

static bool range_contains(const struct pto_region *a, const struct pto_region *b) {
  return a->start <= b->start && b->end <= a->end;
}

static bool has_equal_fields(const struct pto_region *a, const struct pto_region *b) {
  bool is_equal = a->start == b->start && a->run_bytes == b->run_bytes && a->ndims == b->ndims;
  for (uint32_t k = 0; is_equal && k < a->ndims; k++)
    is_equal = a->extents[k] == b->extents[k] && a->strides[k] == b->strides[k];
  return is_equal;
}

/* ---- closed forms: at most one strided dimension; bounding ranges meet, fields differ ---- */

static enum pto_overlap relate_runs(const struct pto_region *a, const struct pto_region *b) {
  return range_contains(a, b) ? PTO_COVERS : range_contains(b, a) ? PTO_COVERED : PTO_PARTIAL;
}

/* `run` is one run, `rows` has one strided dimension of runs that do not meet. */
static enum pto_overlap relate_run_to_rows(const struct pto_region *run, const struct pto_region *rows) {
  uint64_t pitch = rows->strides[0], r = rows->run_bytes;
  /* The first row that ends behind the start of the run; there is one, for the ranges meet. */
  uint64_t index = run->start < rows->start + r ? 0 : (run->start - rows->start - r) / pitch + 1;
  uint64_t row = rows->start + index * pitch;
  if (row >= run->end) return PTO_DISJOINT;
  if (range_contains(run, rows)) return PTO_COVERS;
  return row <= run->start && run->end <= row + r ? PTO_COVERED : PTO_PARTIAL;
}

/* Rows of one pitch, both with runs shorter than it.  In units of b's rows, a begins `down` rows and `right` bytes
 * after b; its runs have a part at `right` and, if they reach into the next row of b, a part at column 0 of that row:
 *
 *     column      0     rb      right     pitch
 *     row of b    bbbbbb..........aaaaaaaaa        the part at `right`
 *     next row    aaabbb...................        the wrapped part: right + ra − pitch bytes
 */
static enum pto_overlap relate_rows(const struct pto_region *a, const struct pto_region *b) {
  if (a->start < b->start) return mirrored(relate_rows(b, a));
  uint64_t pitch = a->strides[0], ra = a->run_bytes, rb = b->run_bytes;
  uint64_t down = (a->start - b->start) / pitch, right = (a->start - b->start) % pitch;
  uint64_t last_row = down + a->extents[0] - 1, last_b = b->extents[0] - 1;
  /* The ranges meet: a begins in a row of b, and in its last one only inside the run. */
  uint64_t wrapped = right + ra > pitch ? right + ra - pitch : 0;
  if (right >= rb && wrapped == 0) return PTO_DISJOINT;
  if (wrapped == 0) {
    if (right == 0 && ra >= rb && down == 0 && last_row >= last_b) return PTO_COVERS;
    if (right + ra <= rb && last_row <= last_b) return PTO_COVERED;
  }
  /* A wrapped part covers no row 0 of b, and the gap of b lies inside a's run: neither covers the other. */
  return PTO_PARTIAL;
}

/* Boxes of one stride system: `b`, which does not start before `a`, begins at index q[k] of each dimension of `a` and
 * `rest` bytes into the run.  As long as no block of `b`, moved by that, reaches into the next block outside it, both
 * are boxes of the same indices, and equal bytes have equal indices: the relation of two boxes.  False where a block
 * does reach. */
static bool relate_boxes(const struct pto_region *a, const struct pto_region *b, enum pto_overlap *relation) {
  uint64_t rest = b->start - a->start, q[PTO_MAX_DIMS];
  for (uint32_t k = 0; k < a->ndims; k++) {
    if (a->strides[k] != b->strides[k]) return false;
    q[k] = rest / a->strides[k];
    rest %= a->strides[k];
  }
  uint64_t block_a = a->run_bytes, block_b = rest + b->run_bytes;
  bool is_overlapping = rest < a->run_bytes;
  bool is_covering = rest + b->run_bytes <= a->run_bytes, is_covered = rest == 0 && b->run_bytes >= a->run_bytes;
  for (uint32_t k = a->ndims; k-- > 0;) {
    if (block_a > a->strides[k] || block_b > a->strides[k]) return false;
    block_a += (a->extents[k] - 1) * a->strides[k];
    block_b += (q[k] + b->extents[k] - 1) * a->strides[k];
    is_overlapping &= q[k] < a->extents[k];
    is_covering &= q[k] + b->extents[k] <= a->extents[k];
    is_covered &= q[k] == 0 && b->extents[k] >= a->extents[k];
  }
  *relation = !is_overlapping ? PTO_DISJOINT : is_covering ? PTO_COVERS : is_covered ? PTO_COVERED : PTO_PARTIAL;
  return true;
}

/* False where only number theory can tell.  Bounding ranges meet, fields differ. */
static bool closed_form(const struct pto_region *a, const struct pto_region *b, enum pto_overlap *relation) {
  if (a->ndims == 0 || b->ndims == 0) {
    if (a->ndims > 1 || b->ndims > 1) return false;
    if (a->ndims == b->ndims)
      *relation = relate_runs(a, b);
    else
      *relation = a->ndims == 0 ? relate_run_to_rows(a, b) : mirrored(relate_run_to_rows(b, a));
    return true;
  }
  if (a->ndims != b->ndims) return false;
  if (a->ndims == 1) {
    if (a->strides[0] != b->strides[0]) return false;
    *relation = relate_rows(a, b);
    return true;
  }
  if (a->start <= b->start) return relate_boxes(a, b, relation);
  if (!relate_boxes(b, a, relation)) return false;
  *relation = mirrored(*relation);
  return true;
}

/* ---- general ---- */

/* Σ S·x + u = (b.start − a.start) + Σ T·y + v; with y turned round, T·(M − 1 − y) = T·y' up to the constant that moves
 * b's first run to its last. */
static enum pto_answer overlaps(const struct pto_region *a, const struct pto_region *b,
                                struct pto_step_budget *budget) {
  struct pto_linear_form form;
  int64_t distance = (int64_t)(b->end - b->run_bytes - a->start);
  form.count = 0;
  form.lo = distance - (int64_t)(a->run_bytes - 1);
  form.hi = distance + (int64_t)(b->run_bytes - 1);
  for (uint32_t k = 0; k < a->ndims; k++) pto_linear_form_add(&form, a->strides[k], a->extents[k] - 1);
  for (uint32_t k = 0; k < b->ndims; k++) pto_linear_form_add(&form, b->strides[k], b->extents[k] - 1);
  return pto_linear_form_reaches(&form, budget);
}

/* Whether each dimension steps over all that lies inside it; if so, each index vector is a run of its own. */
static bool is_nested(const struct pto_region *r) {
  uint64_t span = r->run_bytes;
  for (uint32_t k = r->ndims; k-- > 0;) {
    if (r->strides[k] < span) return false;
    span += (r->extents[k] - 1) * r->strides[k];
  }
  return true;
}

/* b ⊆ a, for nested `a` with a range that contains b's.  Dimension k of `a` leaves a gap behind each of its blocks but
 * the last, as long as what the stride is longer than the block; the dimensions outside repeat it. */
static enum pto_answer covers_nested(const struct pto_region *a, const struct pto_region *b,
                                     struct pto_step_budget *budget) {
  struct pto_region gap = *a;
  uint64_t block = a->run_bytes;
  for (uint32_t k = a->ndims; k-- > 0;) {
    gap.start = a->start + block;
    gap.run_bytes = a->strides[k] - block;
    gap.ndims = k + 1;
    gap.extents[k] = a->extents[k] - 1;
    if (gap.run_bytes > 0) {
      enum pto_answer answer = overlaps(&gap, b, budget);
      if (answer != PTO_ANSWER_NO) return answer == PTO_ANSWER_YES ? PTO_ANSWER_NO : PTO_ANSWER_UNKNOWN;
    }
    block += (a->extents[k] - 1) * a->strides[k];
  }
  return PTO_ANSWER_YES;
}

/* b ⊆ a for any `a`: looks up every byte of b. */
static enum pto_answer covers_by_bytes(const struct pto_region *a, const struct pto_region *b,
                                       struct pto_step_budget *budget) {
  uint64_t index[PTO_MAX_DIMS] = {0};
  struct pto_region byte = {.start = b->start, .run_bytes = 1};
  uint64_t row = b->start;
  for (;;) {
    for (byte.start = row; byte.start < row + b->run_bytes; byte.start++) {
      if (budget->used >= budget->limit) return PTO_ANSWER_UNKNOWN;
      byte.end = byte.start + 1;
      enum pto_answer answer = overlaps(a, &byte, budget);
      if (answer != PTO_ANSWER_YES) return answer;
    }
    uint32_t k = b->ndims;
    while (k > 0 && ++index[k - 1] == b->extents[k - 1]) {
      k--;
      index[k] = 0;
      row -= (b->extents[k] - 1) * b->strides[k];
    }
    if (k == 0) return PTO_ANSWER_YES;
    row += b->strides[k - 1];
  }
}

static enum pto_answer covers(const struct pto_region *a, const struct pto_region *b, struct pto_step_budget *budget) {
  if (!range_contains(a, b)) return PTO_ANSWER_NO;
  return is_nested(a) ? covers_nested(a, b, budget) : covers_by_bytes(a, b, budget);
}

/* The relation of sets of which one at least folds, and whose size is therefore unknown. */
static enum pto_overlap relate_folding(const struct pto_region *a, const struct pto_region *b,
                                       struct pto_step_budget *budget, bool *is_exhausted) {
  enum pto_answer forth = covers(a, b, budget), back = covers(b, a, budget);
  if (forth == PTO_ANSWER_UNKNOWN || back == PTO_ANSWER_UNKNOWN) {
    *is_exhausted = true;
    return PTO_PARTIAL;
  }
  if (forth == PTO_ANSWER_YES) return back == PTO_ANSWER_YES ? PTO_EQUAL : PTO_COVERS;
  return back == PTO_ANSWER_YES ? PTO_COVERED : PTO_PARTIAL;
}

static enum pto_overlap relate(const struct pto_region *a, const struct pto_region *b, struct pto_step_budget *budget,
                               bool *is_exhausted) {
  enum pto_answer answer = overlaps(a, b, budget);
  if (answer == PTO_ANSWER_NO) return PTO_DISJOINT;
  if (answer == PTO_ANSWER_UNKNOWN) {
    *is_exhausted = true;
    return PTO_PARTIAL;
  }
  if (!range_contains(a, b) && !range_contains(b, a)) return PTO_PARTIAL;
  if (!is_nested(a) || !is_nested(b)) return relate_folding(a, b, budget, is_exhausted);
  uint64_t bytes_a = pto_region_bytes(a), bytes_b = pto_region_bytes(b);
  bool is_a_larger = bytes_a >= bytes_b;
  answer = is_a_larger ? covers(a, b, budget) : covers(b, a, budget);
  if (answer == PTO_ANSWER_NO) return PTO_PARTIAL;
  if (answer == PTO_ANSWER_UNKNOWN) {
    *is_exhausted = true;
    return PTO_PARTIAL;
  }
  if (bytes_a == bytes_b) return PTO_EQUAL;
  return is_a_larger ? PTO_COVERS : PTO_COVERED;
}

enum pto_overlap pto_region_overlap_steps(const struct pto_region *a, const struct pto_region *b,
                                          uint64_t *budget_exhausted, uint64_t *steps) {
  if (pto_region_is_empty(a) || pto_region_is_empty(b) || !pto_region_ranges_overlap(a, b)) return PTO_DISJOINT;
  if (a->is_fuzzy || b->is_fuzzy) return PTO_PARTIAL;
  if (has_equal_fields(a, b)) return PTO_EQUAL;
  enum pto_overlap relation;
  if (closed_form(a, b, &relation)) return relation;
  struct pto_step_budget budget = {0, PTO_REGION_STEP_LIMIT};
  bool is_exhausted = false;
  relation = relate(a, b, &budget, &is_exhausted);
  if (is_exhausted && budget_exhausted != NULL) ++*budget_exhausted;
  if (steps != NULL) *steps += budget.used;
  return relation;
}

enum pto_overlap pto_region_overlap(const struct pto_region *a, const struct pto_region *b,
                                    uint64_t *budget_exhausted) {
  return pto_region_overlap_steps(a, b, budget_exhausted, NULL);
}

bool pto_region_intersects(const struct pto_region *a, const struct pto_region *b, uint64_t *budget_exhausted) {
  if (pto_region_is_empty(a) || pto_region_is_empty(b) || !pto_region_ranges_overlap(a, b)) return false;
  if (a->is_fuzzy || b->is_fuzzy || (a->ndims == 0 && b->ndims == 0)) return true;
  if (has_equal_fields(a, b)) return true;
  enum pto_overlap relation;
  if (closed_form(a, b, &relation)) return relation != PTO_DISJOINT;
  struct pto_step_budget budget = {0, PTO_REGION_STEP_LIMIT};
  enum pto_answer answer = overlaps(a, b, &budget);
  if (answer == PTO_ANSWER_UNKNOWN && budget_exhausted != NULL) ++*budget_exhausted;
  return answer != PTO_ANSWER_NO;
}
