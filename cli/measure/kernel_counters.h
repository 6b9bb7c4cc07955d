/* SPDX-License-Identifier: MIT */
/*
 * Events counted by kernel: what each kernel cost on each kind of core, of all threads that run kernels.
 *
 * A kernel meter (pto/kernel_meter.h) whose two calls read the events of the calling thread; the difference is added to
 * the row of the kernel that ran between them.  So a kernel that waits is charged with what it does itself, and control
 * work with nothing.  Each thread has its own set of events, opened before its first kernel, and its own rows.
 *
 * Always true: counts of a row = Σ over its stretches of (events at the end − events at the begin), which contains what
 * the reading itself costs between the two, about `reading` a stretch; a call counts once, with its last stretch.  What
 * a thread cannot count, because its set does not open or its rows are full, is in `uncounted_calls`.
 *
 * Owns the sets and rows, from create to destroy.  A thread closes its set when it ends; that which destroys closes its
 * own.  Use: create, a runtime or contexts with pto_kernel_counters_meter, events before the first kernel, runs, take
 * (while no kernel runs), the end of the runtimes, destroy.
 */
#ifndef PTO_CLI_MEASURE_KERNEL_COUNTERS_H
#define PTO_CLI_MEASURE_KERNEL_COUNTERS_H

#include <stdbool.h>

#include <cli/measure/event_source.h>
#include <pto/kernel_meter.h>
#include <stdio.h>
#include <formats/json_writer.h>

#define PTO_KERNEL_COUNTERS_EVENTS 16u
#define PTO_KERNEL_COUNTERS_ROWS 255u /* kernels on kinds of cores */

struct pto_kernel_counters;

struct pto_kernel_counters_row {
  const struct pto_kernel *kernel;
  enum pto_core_kind kind;
  uint64_t calls, stretches; /* a kernel that never waited has as many of both */
  int64_t counts[PTO_KERNEL_COUNTERS_EVENTS];
};

/* All threads together. */
struct pto_kernel_counters_table {
  uint32_t event_count, row_count;
  struct pto_kernel_counters_row rows[PTO_KERNEL_COUNTERS_ROWS]; /* those with most of the first event first */
  int64_t reading[PTO_KERNEL_COUNTERS_EVENTS];                   /* what a stretch counts in which nothing happens */
  uint32_t thread_count;                                         /* that have counted */
  uint64_t uncounted_calls;
  char sentence[PTO_SENTENCE_SIZE]; /* why, of the first such thread; "" where none is uncounted */
};

/* Counts nothing yet.  `source` is borrowed.  PTO_OK or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_kernel_counters_create(const struct pto_event_source *source, struct pto_kernel_counters **out,
                                              struct pto_error *error);
/* For pto_config.meter; until destroy. */
const struct pto_kernel_meter *pto_kernel_counters_meter(const struct pto_kernel_counters *counters);
/* Which events are counted: at most PTO_KERNEL_COUNTERS_EVENTS, borrowed, before the first kernel runs.  Opens the
 * calling thread's set, so that what cannot be counted is known.  PTO_OK, or the source's status and sentence; then
 * kernels are not counted. */
PTO_MUST_CHECK int pto_kernel_counters_events(struct pto_kernel_counters *counters, const char *const *names,
                                              uint32_t count, struct pto_error *error);
/* What has been counted so far.  Kernels for which the table has no row are in uncounted_calls. */
void pto_kernel_counters_take(struct pto_kernel_counters *counters, struct pto_kernel_counters_table *table);
/* After the runtimes that have the meter, on the thread that called events.  NULL is allowed. */
void pto_kernel_counters_destroy(struct pto_kernel_counters *counters);

/* `names`: of the table's events, in its order.  A few lines a kernel, then the sums of each kind of core. */
void pto_kernel_counters_print(const struct pto_kernel_counters_table *table, const char *const *names, FILE *to);
/* The key "kernel_counters". */
void pto_kernel_counters_write_json(const struct pto_kernel_counters_table *table, const char *const *names,
                                    struct pto_json_writer *w);

#endif
