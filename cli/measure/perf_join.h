/* SPDX-License-Identifier: MIT */
/*
 * Samples of a profiler joined with the timeline of the run that they were taken of: whose time was it?
 *
 * The threads that simulated cores live on do many kernels' work in turn, so a thread's name says nothing; the moment
 * does.  A sample of a thread at time t belongs to the kernel call on that thread that holds t (the one that began last
 * where kernels that wait have several open), unless it is in a function of the runtime that no kernel calls; else to
 * the control work of that moment.  All intervals are [begin, end).  A timeline says which thread wrote which of its
 * logs, so timelines of several runtimes, as contexts have them, at once or one after another, are joined alike; cores
 * of the same number are one row then.
 *
 * Owns its rows and lists until fini.  Kernels are borrowed from the program.
 *
 * Always true after the last sample: each sample is counted once, in `outside` (of every round), `strangers` (threads
 * that are no runtime's), one of `kernels` or one of `works`; rounds = strangers + kernels + works; the symbols of a
 * row add up to it, cores and tasks to the kernels.
 *
 * Use: init, threads, a round each, samples in any order, finish.  One thread.  Where memory ran out,
 * finish says so.  To add a kind of control work: a line in PTO_PERF_WORK_LIST, and what finds it in perf_join.c.
 */
#ifndef PTO_CLI_MEASURE_PERF_JOIN_H
#define PTO_CLI_MEASURE_PERF_JOIN_H

#include <cli/measure/perf_recording.h>
#include <runtime/base/error.h>
#include <runtime/trace/trace.h>

/* X(name, what is meant): work that is no kernel's. */
#define PTO_PERF_WORK_LIST(X)                                                                                          \
  X(orchestration, "the program's own code between submits")                                                           \
  X(submit, "submits: checks, memory, dependencies")                                                                   \
  X(dispatch, "choosing cores and sending messages to them")                                                           \
  X(completion, "taking completions in, making consumers ready, retiring")                                             \
  X(scope, "beginning and ending scopes")                                                                              \
  X(host_access, "the host's reads and writes of elements")                                                            \
  X(worker, "workers between kernels: messages in and out")                                                            \
  X(waiting, "control thread in a wait, in none of the above")                                                         \
  X(idle, "looking for something to do before sleeping")                                                               \
  X(system, "in the operating system: sleeping, waking, page faults")                                                  \
  X(recording, "the timeline itself: clock and records")

enum pto_perf_work {
#define X(name, meaning) PTO_PERF_WORK_##name,
  PTO_PERF_WORK_LIST(X)
#undef X
      PTO_PERF_WORK_COUNT
};

/* "submit", and what it means. */
const char *pto_perf_work_name(enum pto_perf_work work);
const char *pto_perf_work_meaning(enum pto_perf_work work);

/* `period` is the measure (cycles, or nanoseconds of CPU), `samples` how sure one can be of it. */
struct pto_perf_weight {
  uint64_t samples, period;
};

struct pto_perf_symbol {
  char *name, *module;
  struct pto_perf_weight weight;
};

/* A kernel, or a kind of control work. */
struct pto_perf_row {
  const struct pto_kernel *kernel; /* NULL: control work, or a kernel that was not recorded */
  struct pto_perf_weight weight;
  uint64_t calls, call_ns; /* of a kernel: of all rounds, sampled or not */
  struct pto_perf_symbol *symbols;
  size_t symbol_count, symbol_capacity;
};

struct pto_perf_core {
  struct pto_perf_weight weight;
  uint64_t calls, call_ns;
};

struct pto_perf_task {
  uint32_t task; /* low 32 bits of its number, which is the same in every round; of all contexts together */
  const struct pto_kernel *kernel;
  struct pto_perf_weight weight;
};

struct pto_perf_interval {
  uint64_t begin, end; /* monotonic ns */
  uint32_t task, row;  /* of a kernel call; of control work `row` is an enum pto_control_activity */
  uint32_t core;
};

/* latest_end[i] = max of end over items[0 … i], once sorted. */
struct pto_perf_intervals {
  struct pto_perf_interval *items;
  uint64_t *latest_end;
  size_t count, capacity;
};

/* One that a runtime's work is done on. */
struct pto_perf_thread {
  uint32_t tid;
  bool is_control; /* it has been a control thread, or is the program's own */
  struct pto_perf_intervals calls, control;
};

struct pto_perf_join {
  uint32_t core_count;
  struct pto_perf_thread *threads;
  size_t thread_count, thread_capacity;
  struct pto_perf_intervals round_spans;
  struct pto_perf_weight outside, strangers, rounds;
  struct pto_perf_row *kernels; /* heaviest first, once finished */
  size_t kernel_count, kernel_capacity;
  struct pto_perf_row works[PTO_PERF_WORK_COUNT];
  struct pto_perf_core *cores; /* by index; core_count of them */
  struct pto_perf_task *tasks; /* heaviest first, once finished */
  size_t task_count, task_capacity;
  uint64_t dropped; /* records that did not fit into the trace */
  char event[64];   /* of the first sample */
  bool is_sorted, is_out_of_memory;
};

/* PTO_OK or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_perf_join_init(struct pto_perf_join *join, uint32_t core_count, struct pto_error *error);
/* A thread that belongs to a runtime, or to the program itself (is_control), whether or not a timeline names it. */
void pto_perf_join_add_thread(struct pto_perf_join *join, uint32_t tid, bool is_control);
/* The round, or the life of a context, that `trace`, which is of real time, holds; it ended at `end_ns` of the
 * monotonic clock.  `first_task` is added to the numbers of its tasks. */
void pto_perf_join_add_round(struct pto_perf_join *join, const struct pto_trace *trace, uint64_t first_task,
                             uint64_t end_ns);
/* After all rounds and threads. */
void pto_perf_join_add_sample(struct pto_perf_join *join, const struct pto_perf_sample *sample);
/* Puts rows and symbols in order.  PTO_OK, or PTO_ENOMEM where something had no room. */
PTO_MUST_CHECK int pto_perf_join_finish(struct pto_perf_join *join, struct pto_error *error);
/* One that is zeroed or half made is allowed. */
void pto_perf_join_fini(struct pto_perf_join *join);

#endif
