/* SPDX-License-Identifier: MIT */
/*
 * A bench's results: one JSON line each on standard output, and how often a bench repeats what it measures.
 *
 * A line is an object without objects in it.  Its texts and sizes say what was measured (`bench` and `system` always;
 * our own system is "pto"); `runs`, `median`, `min`, `low` and `high` are of the samples.  scripts/bench_compare finds
 * the same line of another run by the texts and sizes, so these may not depend on what was measured.
 *
 * `make bench QUICK=1` sets PTO_BENCH_QUICK: fewer repeats of less, to see that everything runs.
 *
 * One thread.
 */
#ifndef PTO_BENCH_LINE_H
#define PTO_BENCH_LINE_H

#include <bench/support/samples.h>

#include <jansson.h>

#define PTO_BENCH_SYSTEM "pto"

/* Adds the figures of the samples to what json_pack made, and prints it; takes `line`. */
void pto_bench_line_print(json_t *line, const struct pto_samples *samples);
/* The same without samples. */
void pto_bench_line_print_plain(json_t *line);
/* "ns_per_task", what a task cost in the median; before the others. */
void pto_bench_line_print_ns_per_task(json_t *line, const struct pto_samples *samples);

/* The machine's load average of a minute, 0 where that is not known. */
double pto_bench_load(void);

bool pto_bench_is_quick(void);
/* `full`, or 3 where it shall be quick. */
uint32_t pto_bench_repeats(uint32_t full);
/* `full`, or a tenth of it where it shall be quick. */
uint32_t pto_bench_size(uint32_t full);

#endif
