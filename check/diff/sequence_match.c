/* SPDX-License-Identifier: MIT */
#include <check/diff/sequence_match.h>

#include <stdlib.h>

#include <runtime/base/base.h>

#define UNREACHED (-1)

struct search {
  const uint64_t *a, *b;
  int32_t a_count, b_count;
  int32_t *rows; /* row d at d², 2d + 1 of them: how far in `a` diagonal k = −d … d is reached with d edits */
};

static int32_t *reached(const struct search *s, int32_t edits, int32_t diagonal) {
  return &s->rows[(int64_t)edits * edits + diagonal + edits];
}

/* Where diagonal k is entered with d edits, one of which leads from diagonal *from: UNREACHED where from nowhere. */
static int32_t enter(const struct search *s, int32_t d, int32_t k, int32_t *from) {
  int32_t inserted = k < d - 1 ? *reached(s, d - 1, k + 1) : UNREACHED;
  int32_t removed = k > 1 - d ? *reached(s, d - 1, k - 1) : UNREACHED;
  if (inserted != UNREACHED && inserted - k > s->b_count) inserted = UNREACHED;
  removed = removed == UNREACHED || removed == s->a_count ? UNREACHED : removed + 1;
  *from = inserted > removed ? k + 1 : k - 1;
  return inserted > removed ? inserted : removed;
}

static int32_t follow(const struct search *s, int32_t x, int32_t k) {
  while (x != UNREACHED && x < s->a_count && x - k < s->b_count && s->a[x] == s->b[x - k]) x++;
  return x;
}

/* The fewest edits, or UNREACHED. */
static int32_t count_edits(const struct search *s, int32_t most) {
  const int32_t last = s->a_count - s->b_count;
  int32_t from;
  for (int32_t d = 0; d <= most; d++)
    for (int32_t k = -d; k <= d; k += 2) {
      int32_t x = follow(s, d == 0 ? 0 : enter(s, d, k, &from), k);
      *reached(s, d, k) = x;
      if (k == last && x == s->a_count) return d;
    }
  return UNREACHED;
}

static void walk_back(const struct search *s, int32_t edits, uint64_t *match) {
  int32_t k = s->a_count - s->b_count, x = s->a_count, from = 0;
  for (int32_t d = edits; d >= 0; d--) {
    int32_t entered = d == 0 ? 0 : enter(s, d, k, &from);
    for (; x > entered; x--) match[x - 1] = (uint64_t)(x - 1 - k);
    if (d == 0) break;
    if (from == k - 1) x--; /* the item that was removed */
    k = from;
  }
}

/* Of what lies between a common beginning and a common end. */
static int match_middle(struct search *s, uint64_t *match) {
  uint64_t most = pto_min_u64((uint64_t)s->a_count + (uint64_t)s->b_count, PTO_SEQUENCE_MOST_EDITS);
  s->rows = malloc((most + 1) * (most + 1) * sizeof *s->rows);
  if (!s->rows) return PTO_ENOMEM;
  int32_t edits = count_edits(s, (int32_t)most);
  if (edits != UNREACHED) walk_back(s, edits, match);
  free(s->rows);
  return edits == UNREACHED ? PTO_EFIT : PTO_OK;
}

int pto_sequence_match(const uint64_t *a, uint64_t a_count, const uint64_t *b, uint64_t b_count, uint64_t *match) {
  uint64_t shorter = pto_min_u64(a_count, b_count), head = 0, tail = 0;
  for (uint64_t i = 0; i < a_count; i++) match[i] = PTO_SEQUENCE_UNMATCHED;
  if (a_count > UINT64_C(1) << 30 || b_count > UINT64_C(1) << 30) return PTO_EFIT;
  while (head < shorter && a[head] == b[head]) head++;
  while (tail < shorter - head && a[a_count - 1 - tail] == b[b_count - 1 - tail]) tail++;
  struct search s = {a + head, b + head, (int32_t)(a_count - head - tail), (int32_t)(b_count - head - tail), NULL};
  int status = match_middle(&s, match + head);
  if (status) return status;
  for (uint64_t i = head; i < a_count - tail; i++)
    if (match[i] != PTO_SEQUENCE_UNMATCHED) match[i] += head;
  for (uint64_t i = 0; i < head; i++) match[i] = i;
  for (uint64_t i = 1; i <= tail; i++) match[a_count - i] = b_count - i;
  return PTO_OK;
}
