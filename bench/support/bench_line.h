/* SPDX-License-Identifier: MIT */
/*
 * A bench's results: one JSON line each on standard output, and how often a bench repeats what it measures.
 *
 * A line is an object without objects in it.  Its texts and sizes say what was measured (`bench` and `system` always;
 * our own system is "pto"); `runs`, `median`, `min`, `low` and `high` are of the samples, in nanoseconds where there is
 * no `unit`.  A line of what follows from other lines has no samples and says so by `summary`.  scripts/bench_compare
 * finds the same line of another run by the texts and sizes, so these may not depend on what was measured.
 *
 * `make bench QUICK=1` sets PTO_BENCH_QUICK: fewer repeats of less, to see that everything runs.
 *
 * One thread.
 */
#ifndef PTO_BENCH_LINE_H
#define PTO_BENCH_LINE_H

#include <bench/support/samples.h>

struct pto_bench_line;

#define PTO_BENCH_SYSTEM "pto"

/* A line that begins with its bench and system (NULL: it is of none). */
struct pto_bench_line *pto_bench_line_begin(const char *bench, const char *system);
void pto_bench_line_text(struct pto_bench_line *line, const char *key, const char *value);
void pto_bench_line_count(struct pto_bench_line *line, const char *key, uint64_t value);
void pto_bench_line_real(struct pto_bench_line *line, const char *key, double value);
void pto_bench_line_bool(struct pto_bench_line *line, const char *key, bool value);
/* Adds runs, median, min, low and high; `samples` NULL: a summary.  Prints and frees the line. */
void pto_bench_line_print(struct pto_bench_line *line, const struct pto_samples *samples);

/* The machine's load average of a minute, 0 where that is not known. */
double pto_bench_load(void);

bool pto_bench_is_quick(void);
/* `full`, or 3 where it shall be quick. */
uint32_t pto_bench_repeats(uint32_t full);
/* `full`, or a tenth of it where it shall be quick. */
uint32_t pto_bench_size(uint32_t full);

#endif
