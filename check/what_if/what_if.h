/* SPDX-License-Identifier: MIT */
/*
 * What a program would take on another chip: with each part of the run in half the time, as a verdict proposes it
 * (report/run/run_path.h); with each number of the chip file halved and doubled, one at a time; and curves over its
 * clusters and the slots of a task ring.  Each is a run of its own in virtual time, exact, as
 * check/predict/forecast.h makes them.
 *
 * A pto_what_if is made by begin, and whole by run.  It owns its lists until fini.  Times are those that `ptosim run`
 * tells as virtual_us, handshake and transfers included.
 *
 * Threads: as of a forecast.
 */
#ifndef PTO_CHECK_WHAT_IF_WHAT_IF_H
#define PTO_CHECK_WHAT_IF_WHAT_IF_H

#include <stdio.h>

#include <check/predict/forecast.h>
#include <formats/json_writer.h>
#include <report/file/shard.h>

/* One run with one number changed. */
struct pto_what_if_run {
  uint64_t value;
  int exit_code, status; /* of the run; what follows is there where it is PTO_EXIT_OK */
  uint64_t makespan_ps;
  char sentence[160]; /* why it is not; cut */
};

/* A part of the run that takes half as long: "lookups", "kernel matmul". */
struct pto_what_if_part {
  char what[96];
  char chip_set[512]; /* as --chip-set takes it */
  struct pto_what_if_run half;
};

/* A key of the chip file with a number that is not 0. */
struct pto_what_if_key {
  struct pto_chip_note note; /* as the chip has it */
  struct pto_what_if_run half, twice;
};

struct pto_what_if_curve {
  const char *name, *unit; /* "clusters", "window" */
  struct pto_what_if_run points[16];
  uint32_t count;
};

struct pto_what_if {
  char chip[64];
  uint32_t ranks;            /* 0: it is of one chip */
  struct pto_forecast plain; /* the run as it is; the rest is there where its exit_code is PTO_EXIT_OK */
  uint64_t makespan_ps;
  struct pto_what_if_part parts[32]; /* largest effect first, as the next */
  uint32_t part_count;
  struct pto_what_if_key *keys;
  uint32_t key_count;
  uint32_t planned_count, run_count; /* other runs: after begin, after run */
  uint64_t digest;                   /* of the plain run and of what is changed in the others */
  struct pto_what_if_plan *plan;     /* between begin and run */
  bool is_interrupted;               /* some runs have not begun */
  struct pto_what_if_curve clusters, window;
};

/* Runs the plain one, on so many ranks or (0) on one chip, and finds out which others there are.  options.config names
 * the chip; options are borrowed until the others are run.  PTO_OK also where the program fails; fini is due in either
 * case. */
PTO_MUST_CHECK int pto_what_if_begin(const struct pto_session_options *options, uint32_t ranks,
                                     struct pto_what_if *asked, struct pto_error *error);
/* Runs the others, `at_once` processes at a time: all, those of a shard, which are put, or none where `share` has them
 * already. */
PTO_MUST_CHECK int pto_what_if_run(struct pto_what_if *asked, uint32_t at_once, struct pto_share *share,
                                   struct pto_error *error);
void pto_what_if_fini(struct pto_what_if *asked);

/* How the makespan goes with the number: the exponent of value^e between the halved and the doubled one.  −1: half as
 * long with twice the number.  NaN where one of the two did not run. */
double pto_what_if_elasticity(const struct pto_what_if_key *key);

void pto_what_if_print(const struct pto_what_if *asked, FILE *to);
/* Members of the object that is open. */
void pto_what_if_put(const struct pto_what_if *asked, struct pto_json_writer *w);

#endif
