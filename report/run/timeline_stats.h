/* SPDX-License-Identifier: MIT */
/*
 * --stats: what bounds a run, where its time went by resource, and by kernel.
 *
 * Owns what it holds until fini.  Made from a trace after the run; kernels are borrowed from the program.
 *
 * Always true: each account adds up to the makespan (accounts.h), the path too (run_path.h); the kernels' times add up
 * to the busy times.  docs/schemas/pto-stats.json has the JSON.
 */
#ifndef PTO_REPORT_RUN_TIMELINE_STATS_H
#define PTO_REPORT_RUN_TIMELINE_STATS_H

#include <stdio.h>

#include <formats/json_writer.h>
#include <report/run/accounts.h>
#include <report/run/chip_keys.h>
#include <report/run/depths.h>
#include <report/run/roofline.h>
#include <report/run/gains.h>

/* What a kernel's time is made of.  X(name in JSON, with _us, head of its column) */
#define PTO_KERNEL_PART_LIST(X)                                                                                        \
  X(compute, "compute")                                                                                                \
  X(memory, "memory")                                                                                                  \
  X(contention, "contend") /* what others at the memory add */                                                         \
  X(links, "links")        /* puts and gets, between ranks */                                                          \
  X(ranks, "ranks")        /* waits for signals of other ranks */                                                      \
  X(cores, "cores")        /* the rest: waits for other cores of the task, and signals */
enum pto_kernel_part {
#define X(name, head) PTO_KERNEL_##name,
  PTO_KERNEL_PART_LIST(X)
#undef X
      PTO_KERNEL_PARTS
};

/* One kernel, summed over its calls.  Times in the trace's unit: ps of virtual time, else ns. */
struct pto_kernel_time {
  const struct pto_kernel *kernel;
  uint64_t calls, total, longest;
  uint64_t parts[PTO_KERNEL_PARTS]; /* of virtual time: they add up to the total */
  struct pto_roofline roofline;     /* in virtual time */
};

struct pto_timeline_stats {
  bool is_virtual;
  struct pto_accounts accounts; /* of virtual time where segments were recorded */
  struct pto_run_path path;     /* of virtual time, too; else its makespan is 0 */
  uint32_t core_count[2];       /* AIC, AIV, of the chip */
  uint32_t used_count[2];       /* cores that ran something */
  uint64_t busy[2];             /* summed over cores of the kind */
  uint64_t calls;
  struct pto_stall_time {
    uint64_t count, time;
  } stalls[PTO_STALL_COUNT];       /* of the orchestration, by enum pto_stall_reason */
  struct pto_kernel_time *kernels; /* longest total first */
  size_t kernel_count, kernel_capacity;
  struct pto_roofs roofs;
  struct pto_depths depths;
  uint64_t dropped;            /* records that did not fit: then all of this is of a part of the run */
  struct pto_chip_sheet *chip; /* of virtual time; NULL: not known */
  const char *command;         /* that does the run again; NULL: not known.  Borrowed */
};

/* has_gains: finds what would make the path shorter, which takes longer than all else.  PTO_OK or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_timeline_stats_init(const struct pto_trace *trace, uint32_t cluster_count, bool has_gains,
                                           struct pto_timeline_stats *timeline, struct pto_error *error);
/* Reads what the chip's file says, of which the verdict's proposals and the JSON are made.  PTO_OK, or as
 * pto_chip_load_sheet. */
PTO_MUST_CHECK int pto_timeline_stats_take_chip(struct pto_timeline_stats *timeline, const char *chip,
                                                struct pto_error *error);
/* A zeroed struct is allowed. */
void pto_timeline_stats_fini(struct pto_timeline_stats *timeline);

void pto_timeline_stats_print(const struct pto_timeline_stats *timeline, const struct pto_stats *stats, FILE *to);
/* All but what bounds the run: of a rank of a world, whose path is one over all ranks. */
void pto_timeline_stats_print_accounts(const struct pto_timeline_stats *timeline, const struct pto_stats *stats,
                                       FILE *to);
/* The key "stats" and its object. */
void pto_timeline_stats_write_json(const struct pto_timeline_stats *timeline, const struct pto_stats *stats,
                                   struct pto_json_writer *w);

#endif
