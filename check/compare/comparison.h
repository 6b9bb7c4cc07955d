/* SPDX-License-Identifier: MIT */
/*
 * What changed between two runs: their makespans, what their critical paths are spent on, kernels, accounts of
 * resources, and tasks, the largest change first.
 *
 * Each side is one or more results of `ptosim run --stats --json`, of the same program under the same settings.  In
 * virtual time one result a side is exact, and every difference counts.  On threads a value is the median of its side,
 * with the range from 10 to 90 % of its runs, and a change has an interval (shift.h); a difference counts where 0 is
 * not in it.  There a kernel takes as long in a run as its calls would if each took the median of those alike (rows.h).
 * Where nothing has changed, the chance that any of all rows counts is PTO_COMPARE_CHANCE at most: each row has its
 * part of that.
 *
 * Sums of the rows of the path are the makespans, so in virtual time its changes add up to that of the makespan.
 *
 * Tasks are matched as those of two graphs are (check/diff/task_match.h).  A row of them is of tasks that are alike in
 * both, or that one alone has; where all of a row are what all of another one were, such as a kernel under a new name,
 * the two are one row.
 *
 * Owns its rows until fini; labels, tensors and places are texts of the results, which must outlive it.  One thread.
 */
#ifndef PTO_CHECK_COMPARE_COMPARISON_H
#define PTO_CHECK_COMPARE_COMPARISON_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <check/compare/shift.h>
#include <check/predict/predict.h>
#include <formats/json_writer.h>
#include <runtime/base/error.h>

#define PTO_COMPARE_CHANCE 0.05
#define PTO_COMPARE_MOST PTO_SHIFT_MOST /* results a side */

enum pto_compared_table {
  PTO_COMPARED_PATH,     /* of the critical path, by activity; none on threads */
  PTO_COMPARED_KERNELS,  /* by name, summed over calls */
  PTO_COMPARED_ACCOUNTS, /* by resource and activity, what the control waits for, too; all of a kind summed */
  PTO_COMPARED_TASKS,    /* on cores, of tasks that are alike */
  PTO_COMPARED_TABLES
};

struct pto_compared {
  char name[128];
  struct pto_range times[2]; /* ps; of A and B */
  struct pto_shift shift;    /* ps, from A to B; on threads, where can_tell */
  uint64_t calls[2];         /* of kernels and tasks, in the first result */
  uint64_t alone[2];         /* ps; of kernels in virtual time, the same: what the chip says, without other cores */
  uint64_t tasks[2];
  const char *label, *tensors, *places[2]; /* of tasks; NULL: none, or not known */
  uint32_t resource_count;                 /* that its times are summed over */
  bool is_wait;                            /* of an account */
  bool is_own;                             /* no account, or one of what is done for itself: no wait, no look */
  double weight; /* how much longer the run takes, about, where a row of kernels or accounts takes 1 longer */
};

struct pto_compared_rows {
  struct pto_compared *items;
  size_t count;
};

struct pto_compared_tasks {
  bool is_known; /* both sides tell their tasks */
  bool is_by_number;
  uint64_t only[2]; /* that A alone has, and B alone */
  uint64_t moved;   /* that both have, in another order */
};

struct pto_run_comparison {
  char names[2][96]; /* program and case */
  char chips[2][64], engines[2][16];
  bool is_exact;                /* both in virtual time */
  bool can_tell;                /* exact, or enough runs a side */
  uint32_t runs[2], least_runs; /* on threads: with so many a side it could tell */
  uint64_t task_counts[2], edge_counts[2];
  struct pto_compared makespan;
  struct pto_compared_rows tables[PTO_COMPARED_TABLES];
  struct pto_compared_tasks tasks;
};

/* Makes the comparison of the results a[0 … a_count − 1] and b.  PTO_OK; PTO_EINVAL where one is no result with stats
 * of a run that ended well, or one side is in virtual time and the other is not; PTO_ENOMEM.  fini is due in any case.
 */
PTO_MUST_CHECK int pto_run_comparison_make(json_t *const *const sides[2], const uint32_t counts[2],
                                           struct pto_run_comparison *comparison, struct pto_error *error);
void pto_run_comparison_fini(struct pto_run_comparison *comparison);

/* Whether a difference counts. */
bool pto_compared_differs(const struct pto_run_comparison *comparison, const struct pto_compared *row);
/* Makespan, counts of tasks and edges, and all rows are the same. */
bool pto_run_comparison_is_same(const struct pto_run_comparison *comparison);
/* From A to B. */
static inline double pto_compared_change_us(const struct pto_compared *row) {
  return ((double)row->times[1].median_ps - (double)row->times[0].median_ps) / 1e6;
}
/* 0 where A has nothing. */
static inline double pto_compared_change_percent(const struct pto_compared *row) {
  const double before = (double)row->times[0].median_ps / 1e6;
  return before > 0 ? 100 * pto_compared_change_us(row) / before : 0;
}

/* Where the cause of the change stands: the row that explains most of it, and its table; NULL: none is known. */
const struct pto_compared *pto_run_comparison_cause(const struct pto_run_comparison *comparison,
                                                    enum pto_compared_table *table);
/* "B takes 2.34 us longer (+3.00 %); kernel matmul +7.10 us (+3.0 %)": tasks that one alone has, and the cause; at most
 * `size` bytes. */
void pto_run_comparison_verdict(const struct pto_run_comparison *comparison, char *text, size_t size);
void pto_run_comparison_print(const struct pto_run_comparison *comparison, FILE *to);
/* Members of the object that is open. */
void pto_run_comparison_put(const struct pto_run_comparison *comparison, struct pto_json_writer *w);

#endif
