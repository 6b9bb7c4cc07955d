/* SPDX-License-Identifier: MIT */
#include <check/diff/task_match.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <check/diff/sequence_match.h>

_Static_assert(PTO_TASK_UNMATCHED == PTO_SEQUENCE_UNMATCHED, "what was not found stays unmatched");

struct matching {
  struct pto_task_list a, b;
  struct pto_task_match *match;
  uint64_t *a_numbers, *b_numbers, *found; /* what is compared of each task; where it was found */
};

/* Matches tasks begin … end − 1 of A with those of B by the numbers. */
static int match_range(struct matching *m, uint64_t a_begin, uint64_t a_end, uint64_t b_begin, uint64_t b_end) {
  int status =
      pto_sequence_match(m->a_numbers + a_begin, a_end - a_begin, m->b_numbers + b_begin, b_end - b_begin, m->found);
  for (uint64_t i = 0; i < a_end - a_begin && status == PTO_OK; i++) {
    if (m->found[i] == PTO_SEQUENCE_UNMATCHED) continue;
    m->match->to_b[a_begin + i] = b_begin + m->found[i];
    m->match->to_a[b_begin + m->found[i]] = a_begin + i;
  }
  return status;
}

/* Tasks of the same kernels in order; all of them where they are as many on both sides. */
static int pair_range(struct matching *m, uint64_t a_begin, uint64_t a_end, uint64_t b_begin, uint64_t b_end) {
  const bool is_even = a_end - a_begin == b_end - b_begin;
  for (uint64_t i = a_begin, j = b_begin; i < a_end && j < b_end; i++) {
    uint64_t k = j;
    while (!is_even && k < b_end && m->a.items[i].kernels != m->b.items[k].kernels) k++;
    if (k == b_end) continue;
    m->match->to_b[i] = k;
    m->match->to_a[k] = i;
    j = k + 1;
  }
  return PTO_OK;
}

typedef int on_gap(struct matching *m, uint64_t a_begin, uint64_t a_end, uint64_t b_begin, uint64_t b_end);

/* Calls `what` for each run of tasks of A, and of B, between matched ones. */
static int each_gap(struct matching *m, on_gap *what) {
  const uint64_t *to_b = m->match->to_b;
  uint64_t a_begin = 0, b_begin = 0;
  int status = PTO_OK;
  for (uint64_t i = 0; i <= m->a.count && status != PTO_ENOMEM; i++) {
    if (i < m->a.count && to_b[i] == PTO_TASK_UNMATCHED) continue;
    uint64_t b_end = i < m->a.count ? to_b[i] : m->b.count;
    if (i > a_begin && b_end > b_begin) status = what(m, a_begin, i, b_begin, b_end);
    a_begin = i + 1;
    b_begin = b_end + 1;
  }
  return status;
}

static int match_tasks(struct matching *m) {
  for (uint64_t i = 0; i < m->a.count; i++) m->a_numbers[i] = m->a.items[i].whole;
  for (uint64_t i = 0; i < m->b.count; i++) m->b_numbers[i] = m->b.items[i].whole;
  int status = match_range(m, 0, m->a.count, 0, m->b.count);
  if (status == PTO_ENOMEM) return status;
  for (uint64_t i = 0; i < m->a.count; i++) m->a_numbers[i] = m->a.items[i].form;
  for (uint64_t i = 0; i < m->b.count; i++) m->b_numbers[i] = m->b.items[i].form;
  if (status == PTO_EFIT) {
    status = match_range(m, 0, m->a.count, 0, m->b.count);
    m->match->is_by_number = status == PTO_EFIT;
  } else
    status = each_gap(m, match_range);
  if (status == PTO_ENOMEM) return status;
  for (uint64_t i = 0; m->match->is_by_number && i < pto_min_u64(m->a.count, m->b.count); i++)
    m->match->to_b[i] = m->match->to_a[i] = i;
  return each_gap(m, pair_range);
}

static uint64_t *numbers(uint64_t count) { return calloc(count ? count : 1, sizeof(uint64_t)); }

int pto_task_match_make(struct pto_task_list a, struct pto_task_list b, struct pto_task_match *match,
                        struct pto_error *error) {
  struct matching m = {.a = a, .b = b, .match = match};
  int status = PTO_ENOMEM;
  *match = (struct pto_task_match){.to_b = numbers(a.count), .to_a = numbers(b.count)};
  m.a_numbers = numbers(a.count);
  m.b_numbers = numbers(b.count);
  m.found = numbers(a.count);
  if (match->to_b && match->to_a && m.a_numbers && m.b_numbers && m.found) {
    for (uint64_t i = 0; i < a.count; i++) match->to_b[i] = PTO_TASK_UNMATCHED;
    for (uint64_t i = 0; i < b.count; i++) match->to_a[i] = PTO_TASK_UNMATCHED;
    status = match_tasks(&m);
  }
  free(m.a_numbers);
  free(m.b_numbers);
  free(m.found);
  if (status == PTO_OK) return PTO_OK;
  return pto_error_set(error, PTO_ENOMEM, "no memory to compare %" PRIu64 " tasks with %" PRIu64, a.count, b.count);
}

void pto_task_match_fini(struct pto_task_match *match) {
  free(match->to_b);
  free(match->to_a);
  memset(match, 0, sizeof *match);
}
