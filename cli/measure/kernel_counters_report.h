/* SPDX-License-Identifier: MIT */
/*
 * What was counted by kernel (cli/measure/kernel_counters.h), for people and as JSON, with the ratios that people look
 * for: instructions a cycle, and misses per 1000 instructions, where the events for them were asked for.
 *
 * Owns nothing.  docs/json.md explains each key.
 */
#ifndef PTO_CLI_MEASURE_KERNEL_COUNTERS_REPORT_H
#define PTO_CLI_MEASURE_KERNEL_COUNTERS_REPORT_H

#include <stdio.h>

#include <cli/measure/kernel_counters.h>
#include <formats/json_writer.h>

/* `names`: of the table's events, in its order.  A few lines a kernel, then the sums of each kind of core. */
void pto_kernel_counters_print(const struct pto_kernel_counters_table *table, const char *const *names, FILE *to);
/* The key "kernel_counters". */
void pto_kernel_counters_write_json(const struct pto_kernel_counters_table *table, const char *const *names,
                                    struct pto_json_writer *w);

#endif
