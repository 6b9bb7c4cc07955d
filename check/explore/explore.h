/* SPDX-License-Identifier: MIT */
/*
 * Explore: runs a program in many orders of its kernel calls and says where its outputs depend on the order.
 *
 *   init (the reference: sequential, twice) → schedules, or all, or replay; and threads → fini
 *
 * Every schedule is compared with the reference to the bit; so is how it ended.  One that differs is made again (else
 * it is unstable, and says so), its order is written as holds, and these are shrunk (check/explore/shrink.h) until they
 * name the tasks whose order matters.
 *
 * Needs a runtime on the engine "explore" with poison and PTO_RECORD_GRAPH: what a run leaves behind in the rings would
 * otherwise be right where the next one reads it too early.  A program that drives contexts makes these anew in every
 * run, on that engine; all that they do is one run then, with tasks numbered on from context to context.  Inputs are
 * not put back between runs: a kernel that writes one shows as unstable, or not at all.
 *
 * Owns the reference, the graph, orders and differences until fini; program run, runtimes and findings are the
 * caller's. Threads: the control thread.
 *
 * Schedules have numbers, and each is a run of its own, so they may be shared (report/file/shard.h): a shard puts how
 * each of its own ended, and who merges these counts, makes again and shrinks as if it had made them all.
 */
#ifndef PTO_CHECK_EXPLORE_EXPLORE_H
#define PTO_CHECK_EXPLORE_EXPLORE_H

#include <check/explore/all.h>
#include <check/explore/graph.h>
#include <check/explore/order.h>
#include <check/explore/strategy.h>
#include <report/file/shard.h>
#include <report/findings/findings.h>
#include <report/findings/source_lines.h>
#include <orchestration/loader/program_run.h>
#include <runtime/base/stop.h>

/* Runs that the shrinking of one difference may take. */
#define PTO_EXPLORE_SHRINK_RUNS 400u
/* Differences that are shrunk at most; and how many of these in a row that tell nothing new are enough. */
#define PTO_EXPLORE_MOST_SHRUNK 16u
#define PTO_EXPLORE_SHRUNK_IN_VAIN 3u

/* A schedule that differs, shrunk. */
struct pto_explore_difference {
  struct pto_schedule_name name;
  struct pto_explore_holds holds; /* what is enough */
  uint32_t decisions;             /* holds before they were shrunk */
  uint32_t runs;                  /* that this took */
};

struct pto_explore_counts {
  uint64_t schedules;                          /* made and compared; the reference not counted */
  uint64_t by_strategy[PTO_STRATEGY_COUNT];    /* of them */
  uint64_t distinct_orders;                    /* of kernel calls, that of the reference counted */
  uint64_t decisions;                          /* of all schedules: how often it was asked what comes next */
  uint64_t differing;                          /* schedules */
  uint64_t thread_runs;                        /* with delays planted */
  uint64_t tasks, calls;                       /* of the reference; of kernels that wait each piece is a call */
  uint64_t later_pieces;                       /* of these, pieces of kernels that wait, but for the first of each */
  uint64_t outputs;                            /* arrays that are compared */
  uint64_t external_buffers;                   /* that tasks touch */
  uint64_t contexts, contexts_left_out;        /* of the program's own, in a run */
  bool is_complete;                            /* --all: nothing is left */
  uint64_t orders, redundant_orders, at_least; /* --all */
};

/* Of a program that drives contexts: those of the run that goes on, or was made last; they are explored one behind the
 * other, and one that is made while another lives, or on another engine, is not. */
struct pto_explore_contexts {
  struct pto_runtime *rt; /* of the context that is explored now; NULL: none is */
  uint32_t count, left_out;
  bool is_on_threads; /* with delays: all are explored */
  uint64_t delay_seed;
  struct pto_trace recording; /* of all that the reference explored */
  bool is_short;              /* there was no memory for it */
};

struct pto_explore {
  struct pto_program_run *run;
  struct pto_runtime *rt; /* NULL: the program drives contexts, which the two functions below are told of */
  struct pto_findings *findings;
  const struct pto_stop *stop;                     /* no schedule begins once it is asked; NULL: none is */
  void (*progress)(uint64_t done, uint64_t count); /* NULL: none */
  struct pto_share *share;                         /* of schedules; a shard's differences are told by who merges */
  struct pto_explore_contexts contexts;
  struct pto_explore_log log; /* of the run made last */
  struct pto_explore_counts counts;
  struct pto_explore_difference *differences; /* PTO_EXPLORE_MOST_SHRUNK of them */
  uint32_t difference_count, in_vain;
  struct pto_schedule_name current; /* what runs now, for crash reports */
  bool has_reference;
  bool is_unstable;          /* the sequential order does not repeat itself: nothing else is told */
  struct pto_error shortage; /* of memory, threads or files, in a run after the reference: it ended the exploration */
  /* The reference. */
  void **outputs; /* array_count copies; NULL for what is no output */
  uint32_t array_count;
  struct pto_explore_graph graph;
  struct pto_source_lines *lines; /* NULL: none was needed yet */
  struct pto_explore_step *calls; /* in natural order */
  uint64_t call_count, reference_steps, reference_order;
  uint8_t *marks;
  uint64_t *orders; /* hashes: an open table of order_capacity, 0 empty */
  uint64_t order_capacity;
};

/* Makes the reference.  `run` is prepared, and has run nothing; `rt`, `findings` and the progress function are set by
 * the caller, all else is zero.  PTO_OK; what the reference run failed with, or the program's `expect`; PTO_ENOMEM;
 * with the sentence.  fini is due in any case. */
PTO_MUST_CHECK int pto_explore_init(struct pto_explore *explore, struct pto_error *error);
void pto_explore_fini(struct pto_explore *explore);

/* A run of the program has made a context, which has done nothing yet; and it is about to be destroyed, with what it
 * has recorded as of struct pto_context_watch. */
void pto_explore_context_created(struct pto_explore *explore, struct pto_runtime *rt);
void pto_explore_context_destroyed(struct pto_explore *explore, const struct pto_runtime *rt,
                                   const struct pto_trace *recording);

/* What the reference is known by: tasks, calls, their order, and the bytes of the outputs. */
uint64_t pto_explore_digest(const struct pto_explore *explore);

/* Each: PTO_OK, also where something was found, or PTO_ENOMEM with the sentence. */
/* `count` schedules by pto_schedule_plan. */
PTO_MUST_CHECK int pto_explore_schedules(struct pto_explore *explore, uint64_t count, uint64_t seed,
                                         struct pto_error *error);
/* All orders, at most `limit` runs. */
PTO_MUST_CHECK int pto_explore_all(struct pto_explore *explore, uint64_t limit, struct pto_error *error);
/* One schedule, by its name or by its holds (then `name` is NULL).  Also PTO_EINVAL, where a hold names a task that the
 * reference does not have. */
PTO_MUST_CHECK int pto_explore_replay(struct pto_explore *explore, const struct pto_schedule_name *name,
                                      const struct pto_explore_holds *holds, struct pto_error *error);
/* `count` runs on `threads`, a runtime whose engine can be asked for delays (sim/threads/delays.h); NULL where contexts
 * are made on that engine. */
PTO_MUST_CHECK int pto_explore_threads(struct pto_explore *explore, struct pto_runtime *threads, uint64_t count,
                                       uint64_t seed, struct pto_error *error);

#endif
