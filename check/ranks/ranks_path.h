/* SPDX-License-Identifier: MIT */
/*
 * The critical path over all ranks: from the end of the last rank back, as report/run/run_path.h goes through one, and
 * where a rank waited for a message, on at the rank that sent it, which has it from the time at which it did.
 *
 *   a wait for a signal    → the way of the notify, then what its core did before
 *   pto_comm_create        → the way of the message of the rank that came last, then its orchestration
 *   a put or a get         is on the links, and of the rank that called it
 *
 * Always true: the steps follow each other without gaps, so they add up to the makespan, the last rank's end.
 *
 * Each process walks through its own ranks, and all go from rank to rank together.  Owns its steps until fini.
 */
#ifndef PTO_CHECK_RANKS_RANKS_PATH_H
#define PTO_CHECK_RANKS_RANKS_PATH_H

#include <stdio.h>

#include <formats/json_writer.h>
#include <pto/world.h>
#include <report/run/gains.h>

struct pto_ranks_path {
  uint64_t makespan; /* ps; 0: there is no path */
  uint64_t times[PTO_ACTIVITY_COUNT], groups[PTO_GROUP_COUNT];
  uint64_t rank_times[PTO_MAX_RANKS];                /* without links */
  uint64_t link_times[PTO_MAX_RANKS][PTO_MAX_RANKS]; /* [source][target] */
  uint32_t group;                                    /* that takes most of it */
  struct pto_rank_step *steps;
  size_t step_count, step_capacity;
  /* What pto_gains_run_ranks has found (check/predict/gains.h). */
  struct pto_path_gain gains[PTO_PATH_GAINS];
  uint32_t gain_count;
  struct pto_path_untried untried;
  char why_no_gains[256]; /* "": they were run */
};

struct pto_ranks;

/* Of a run that has ended; each process calls it.  PTO_OK or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_ranks_path_init(const struct pto_ranks *ranks, struct pto_ranks_path *path,
                                       struct pto_error *error);
/* A zeroed one is allowed. */
void pto_ranks_path_fini(struct pto_ranks_path *path);

/* `gains`: of the path, with what their commands need. */
void pto_ranks_path_print(const struct pto_ranks_path *path, const struct pto_gains *gains, FILE *to);
/* The key "path" and its object. */
void pto_ranks_path_put(const struct pto_ranks_path *path, const struct pto_gains *gains, struct pto_json_writer *w);

#endif
