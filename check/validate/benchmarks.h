/* SPDX-License-Identifier: MIT */
/*
 * The programs of published benchmarks: what `ptosim run` takes for a row of measurements that does not say it.
 *
 * Constant; any thread.  To add one: a line of the list in check/validate/benchmarks.c.
 */
#ifndef PTO_CHECK_VALIDATE_BENCHMARKS_H
#define PTO_CHECK_VALIDATE_BENCHMARKS_H

/* "bgemm --case C0" of the row "bgemm C0"; NULL: the list does not have it. */
const char *pto_benchmark_words(const char *row);
/* What the error of its makespan may be, in percent, where that is less than its set allows; 0: it is not. */
double pto_benchmark_limit(const char *row);

#endif
