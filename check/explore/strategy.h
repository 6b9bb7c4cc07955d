/* SPDX-License-Identifier: MIT */
/*
 * Strategies: in which order a schedule makes the steps of a run.
 *
 * A schedule has a name, "random:7": strategy and number.  With the program, its options and the rules the name is all
 * that the run depends on, so it replays it.  Strategies know the engine's candidates and the tasks' graph, and nothing
 * else.
 *
 * Sources: uniform choice; random priorities with change points after Burckhardt, Kothari, Musuvathi and Nagarakatte,
 * "A randomized scheduler with probabilistic guarantees of finding bugs" (ASPLOS 2010), where each kernel call and the
 * orchestration stand for a thread.
 *
 * One thread.  To add a strategy: a line in PTO_STRATEGY_LIST and a function in `choosers` of check/explore/strategy.c.
 */
#ifndef PTO_CHECK_EXPLORE_STRATEGY_H
#define PTO_CHECK_EXPLORE_STRATEGY_H

#include <check/explore/graph.h>
#include <sim/tools/explore.h>

/* X(constant, name, whether it has a number, meaning) */
#define PTO_STRATEGY_LIST(X)                                                                                           \
  X(PTO_STRATEGY_SEQUENTIAL, "sequential", false, "oldest first, the orchestration last: the reference")               \
  X(PTO_STRATEGY_AHEAD, "ahead", false, "the orchestration as far ahead as it gets, then oldest first")                \
  X(PTO_STRATEGY_NEWEST, "newest", false, "the orchestration as far ahead as it gets, then newest first")              \
  X(PTO_STRATEGY_DELAY, "delay", true, "task N as late as is legal, all else sequential")                              \
  X(PTO_STRATEGY_HURRY, "hurry", true, "task N as early as is legal, with nothing but what it needs before it")        \
  X(PTO_STRATEGY_RANDOM, "random", true, "uniform over all that can happen, from seed N")                              \
  X(PTO_STRATEGY_PRIORITY, "priority", true, "random priorities with up to three change points, from seed N")          \
  X(PTO_STRATEGY_ALL, "all", true, "the N-th run of --all")                                                            \
  X(PTO_STRATEGY_FILE, "file", false, "what --replay FILE has")

enum pto_strategy_kind {
#define X(constant, name, has_number, meaning) constant,
  PTO_STRATEGY_LIST(X)
#undef X
      PTO_STRATEGY_COUNT
};
const char *pto_strategy_name(uint32_t kind);
const char *pto_strategy_meaning(uint32_t kind);

struct pto_schedule_name {
  uint32_t kind; /* enum pto_strategy_kind */
  uint64_t number;
};
/* "random:7", "newest".  Returns `text`. */
const char *pto_schedule_name_format(struct pto_schedule_name name, char *text, size_t size);
/* A number alone is that of random.  False where it is no name. */
bool pto_schedule_name_parse(const char *text, struct pto_schedule_name *name);

/* The schedule of `index` < count when `count` of them are wanted: ahead, newest, then delay, random, hurry, priority
 * in turn.  Delays and hurries go through the tasks: each once where there is room for all, else evenly spread; what is
 * left over is random.  Seeds count up from `seed`. */
struct pto_schedule_name pto_schedule_plan(uint64_t index, uint64_t count, uint64_t seed, uint64_t task_count);

#define PTO_PRIORITY_MAX_CHANGES 3u

struct pto_strategy {
  struct pto_schedule_name name;
  const struct pto_explore_graph *graph;
  uint8_t *marks; /* hurry: what the task needs; the owner's, task_count bytes */
  bool is_done;   /* hurry: the task has begun */
  struct pto_rng rng;
  /* priority */
  uint64_t step, changes[PTO_PRIORITY_MAX_CHANGES];
  struct pto_explore_event lowered[PTO_PRIORITY_MAX_CHANGES];
  uint32_t change_count, lowered_count;
};

/* Makes ready for one run.  `marks` has room for graph->task_count bytes; `steps` is how many steps a run has, about.
 */
void pto_strategy_begin(struct pto_strategy *strategy, struct pto_schedule_name name,
                        const struct pto_explore_graph *graph, uint8_t *marks, uint64_t steps);
/* Of struct pto_explore_chooser; the context is the strategy.  Not for the last two, which are no strategies. */
uint32_t pto_strategy_choose(void *context, const struct pto_explore_event *candidates, uint32_t count,
                             uint64_t position);

#endif
