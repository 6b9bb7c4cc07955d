/* SPDX-License-Identifier: MIT */
/*
 * What changed between two runs: their makespans, what their critical paths are spent on, kernels and resources, the
 * largest change first.
 *
 * Each side is one or more results of `ptosim run --stats --json`, of the same program under the same settings.  In
 * virtual time one result a side is exact, and every difference counts.  On threads a value is the median of its side,
 * with the range from 10 to 90 % of its runs; a difference counts where the two ranges are apart, and nothing does with
 * fewer than PTO_COMPARE_LEAST runs a side.
 *
 * Sums of the rows of the path are the makespans, so in virtual time its changes add up to that of the makespan.
 *
 * Owns its rows until fini; names are copied.  One thread.
 */
#ifndef PTO_CHECK_COMPARE_COMPARISON_H
#define PTO_CHECK_COMPARE_COMPARISON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <check/predict/predict.h>
#include <formats/json_writer.h>
#include <runtime/base/error.h>

#define PTO_COMPARE_LEAST 3u
#define PTO_COMPARE_MOST 64u /* results a side */

enum pto_compared_table {
  PTO_COMPARED_PATH,      /* of the critical path, by activity; none on threads */
  PTO_COMPARED_KERNELS,   /* by name, summed over calls */
  PTO_COMPARED_RESOURCES, /* busy: all but waiting; kinds of cores summed */
  PTO_COMPARED_TABLES
};

struct pto_compared {
  char name[96];
  struct pto_range times[2]; /* ps; of A and B */
  uint64_t calls[2];         /* of kernels, in the first result */
};

struct pto_compared_rows {
  struct pto_compared *items;
  size_t count, capacity;
};

struct pto_run_comparison {
  char names[2][96]; /* program and case */
  char chips[2][64], engines[2][16];
  bool is_exact; /* both in virtual time */
  bool can_tell; /* exact, or enough runs a side */
  uint32_t runs[2];
  uint64_t tasks[2], edges[2];
  struct pto_compared makespan;
  struct pto_compared_rows tables[PTO_COMPARED_TABLES];
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

/* "B takes 2.34 us longer (+3.0 %): kernel matmul +7.1 us (+3.0 %, 64 calls)"; at most `size` bytes. */
void pto_run_comparison_verdict(const struct pto_run_comparison *comparison, char *text, size_t size);
void pto_run_comparison_print(const struct pto_run_comparison *comparison, FILE *to);
/* Members of the object that is open. */
void pto_run_comparison_put(const struct pto_run_comparison *comparison, struct pto_json_writer *w);

#endif
