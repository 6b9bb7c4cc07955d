/* SPDX-License-Identifier: MIT */
/*
 * What the ranks of a world run in its tests: one program for all, in virtual time, and what became of each.
 *
 * The fabric is that of the chip tiny, eight chips of one node: 200 ns away, 50 GB/s, a byte takes 20 ps.
 */
#ifndef PTO_WORLD_JOB_H
#define PTO_WORLD_JOB_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pto/pto.h>
#include <pto/world.h>

#define MOST_RANKS 8u

static inline struct pto_world *world_on(uint32_t ranks, uint32_t threads, bool rank_threads) {
  char sentence[256] = "";
  struct pto_world *world = NULL;
  const struct pto_world_config config = {.size = sizeof config,
                                          .ranks = ranks,
                                          .chip = "tiny,dies_per_package=1,nodes=1",
                                          .threads = threads,
                                          .rank_threads = rank_threads};
  if (pto_world_create(&config, &world, sentence, sizeof sentence) != PTO_OK) fail_msg("%s", sentence);
  return world;
}

static inline struct pto_world *world_of(uint32_t ranks, uint32_t threads) { return world_on(ranks, threads, false); }

/* What the ranks of a test run, one program for all. */
struct job {
  int (*orchestrate)(struct pto_runtime *rt, void *context);
  uint64_t virtual_ps[MOST_RANKS], created_ps[MOST_RANKS];
  int status[MOST_RANKS];
  float data[MOST_RANKS][64];
  int32_t found[MOST_RANKS];
  pthread_t thread[MOST_RANKS];
};

static inline int run_rank(struct pto_rank *rank, void *context) {
  struct job *job = context;
  struct pto_runtime *rt = NULL;
  const struct pto_config config = {.size = sizeof config, .engine = "virtual", .rank = rank};
  job->thread[pto_rank_index(rank)] = pthread_self();
  assert_int_equal(pto_runtime_create(&config, &rt), PTO_OK);
  const int status = pto_run(rt, job->orchestrate, job);
  struct pto_stats stats = {.size = sizeof stats};
  pto_runtime_stats(rt, &stats);
  job->virtual_ps[pto_rank_index(rank)] = stats.virtual_ps;
  job->status[pto_rank_index(rank)] = status;
  if (status) pto_rank_set_error(rank, pto_last_error(rt));
  pto_runtime_destroy(rt);
  return status;
}

static inline struct pto_cost costs_nothing(const struct pto_kernel_args *args) {
  (void)args;
  return (struct pto_cost){0};
}

#endif
