/* SPDX-License-Identifier: MIT */
/*
 * --stats: where the time of a run went.
 *
 * Owns the rows of a pto_timeline_stats until fini.  Made from a trace after the run; kernels are borrowed from the
 * program.
 *
 * Always true: busy[kind] + idle_ready[kind] ≤ makespan · cores of that kind; the kernels' times add up to the busy
 * times.
 */
#ifndef PTO_REPORT_RUN_TIMELINE_STATS_H
#define PTO_REPORT_RUN_TIMELINE_STATS_H

#include <stdio.h>

#include <formats/json_writer.h>
#include <runtime/base/error.h>
#include <runtime/trace/trace.h>

/* One kernel, summed over its calls.  Times in seconds, real or virtual as the trace's are. */
struct pto_kernel_time {
  const struct pto_kernel *kernel;
  uint64_t calls;
  double total, longest;
};

struct pto_timeline_stats {
  bool is_virtual;
  double makespan;        /* from the first begin to the last end of a call */
  uint32_t core_count[2]; /* AIC, AIV, of the chip */
  uint32_t used_count[2]; /* cores that ran something */
  double busy[2];         /* summed over cores of the kind */
  double idle_ready[2];   /* of cores that were idle while a call was ready for them, summed; ready_waits.h */
  double any_ready[2];    /* while there was such a core */
  uint64_t calls;
  double submitting, waiting; /* of the control CPU */
  struct pto_stall_time {
    uint64_t count;
    double seconds;
  } stalls[PTO_STALL_COUNT]; /* of the orchestration, by enum pto_stall_reason */
  double critical_path;      /* critical_path.h; of critical_tasks tasks, 0 where no graph was recorded */
  uint64_t critical_tasks, critical_last;
  struct pto_kernel_time *kernels; /* longest total first */
  size_t kernel_count, kernel_capacity;
  uint64_t dropped; /* records that did not fit: then all of this is of a part of the run */
};

/* PTO_OK or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_timeline_stats_init(const struct pto_trace *trace, uint32_t cluster_count,
                                           struct pto_timeline_stats *timeline, struct pto_error *error);
/* Takes zeroed structs too. */
void pto_timeline_stats_fini(struct pto_timeline_stats *timeline);

void pto_timeline_stats_print(const struct pto_timeline_stats *timeline, const struct pto_stats *stats, FILE *to);
/* The key "stats" and its object. */
void pto_timeline_stats_write_json(const struct pto_timeline_stats *timeline, const struct pto_stats *stats,
                                   struct pto_json_writer *w);

#endif
