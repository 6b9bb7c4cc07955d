/* SPDX-License-Identifier: MIT */
/*
 * Rows of a comparison while results are read: the times of one row in each result of a side, 0 where it has none.
 *
 * Owns its items until fini; texts are those of the results.  Internal to check/compare.
 */
#ifndef PTO_CHECK_COMPARE_ROWS_H
#define PTO_CHECK_COMPARE_ROWS_H

#include <check/compare/comparison.h>

struct pto_gathered {
  struct pto_compared row; /* without its times */
  uint32_t activity;       /* of an account */
  uint64_t times[2][PTO_COMPARE_MOST];
};

struct pto_gathered_rows {
  struct pto_gathered *items;
  size_t count, capacity;
};

/* A new row of that name; NULL where there is no memory. */
struct pto_gathered *pto_gathered_add(struct pto_gathered_rows *rows, const char *name);
/* The row of that name, which is new where there was none. */
struct pto_gathered *pto_gathered_find(struct pto_gathered_rows *rows, const char *name);
/* Makes rows of what was gathered, the largest change first, and frees that.  rank: of the intervals of shifts; 0:
 * there are none.  False where there is no memory. */
bool pto_gathered_take(struct pto_gathered_rows *rows, const uint32_t counts[2], uint32_t rank,
                       struct pto_compared_rows *to);

static inline uint64_t pto_ps_of(json_t *us) {
  return json_is_number(us) ? (uint64_t)llround(json_number_value(us) * 1e6) : 0;
}

/* Time on cores of a group of `alike_tasks`, in ps.  On threads it is the median of its calls as many times as there
 * are calls: noise of single calls says nothing. */
uint64_t pto_alike_ps(json_t *group);

/* Time on cores of one of `kernels`, in ps: what the groups of its tasks say. */
uint64_t pto_kernel_ps(json_t *result, json_t *kernel);

/* Matches the tasks of the first result of A with those of B, by what `alike_tasks` says, and gathers the times of
 * tasks that are alike.  `tasks` is zeroed where one has none.  PTO_OK; PTO_EINVAL where it is no such object;
 * PTO_ENOMEM. */
PTO_MUST_CHECK int pto_compare_tasks(json_t *const *const sides[2], const uint32_t counts[2],
                                     struct pto_gathered_rows *rows, struct pto_compared_tasks *tasks,
                                     struct pto_error *error);

#endif
