/* SPDX-License-Identifier: MIT */
/*
 * What a program would take on a chip, and how sure that is: one run without jitter, the same with many seeds of
 * jitter, and what bounds it.
 *
 * Owns nothing but itself.  All times are of the virtual engine, so a prediction is the same on every machine and with
 * any number of processes.  Threads: as check/predict/forecast.h.
 */
#ifndef PTO_CHECK_PREDICT_PREDICT_H
#define PTO_CHECK_PREDICT_PREDICT_H

#include <stdio.h>

#include <check/predict/forecast.h>
#include <check/predict/limits.h>
#include <formats/json_writer.h>
#include <report/findings/coverage.h>
#include <sim/chips/chip.h>

#define PTO_PREDICT_RUNS 15u
#define PTO_PREDICT_JITTER_PPM 50000u
#define PTO_PREDICT_MOST_RUNS 1000u

/* Of runs in order of their time, the values at 10, 50 and 90 % of the way from the first to the last, between two runs
 * in proportion. */
struct pto_range {
  uint64_t low_ps, median_ps, high_ps;
};

struct pto_prediction_asked {
  const struct pto_session_options *options; /* the program; config->chip is where */
  uint32_t ranks;                            /* 0: one chip */
  uint32_t runs;                             /* with jitter; 0: none */
  uint32_t jitter_ppm;
  uint32_t at_once;      /* processes */
  bool is_prebuilt;      /* on that chip, but the graph is there before the run */
  bool is_without_bound; /* leaves out the trials of limits.h */
};

struct pto_prediction {
  struct pto_forecast plain;         /* without jitter; where its exit_code is not PTO_EXIT_OK nothing else is there */
  uint32_t ranks;                    /* as asked */
  uint32_t runs, jitter_ppm;         /* runs: that came to their end */
  bool is_interrupted;               /* some did not, and what bounds it is not known */
  struct pto_range makespan, window; /* of the runs with jitter */
  enum pto_limit bound;
  int64_t gain_ppm[PTO_LIMIT_COUNT]; /* of the makespan without jitter, where that thing is twice as good */
  char chip[64], era[64];
  uint32_t numbers[PTO_CHIP_TAG_COUNT]; /* of the chip file, by where they come from */
};

/* PTO_OK also where the program could not be run, or the machine has lost a run, which plain tells; PTO_EINVAL,
 * PTO_ESYSTEM or PTO_ENOMEM where the chip cannot be loaded or there are no processes. */
PTO_MUST_CHECK int pto_predict(const struct pto_prediction_asked *asked, struct pto_prediction *prediction,
                               struct pto_error *error);

/* The range of `count` ≥ 1 times, which it sorts. */
struct pto_range pto_range_of(uint64_t *times_ps, uint32_t count);

/* Parts of the core time by origin in tenths of a percent, which sum to 1000; all 0 where no core worked. */
void pto_origin_shares(const struct pto_forecast *forecast, uint32_t permille[PTO_ORIGIN_COUNT]);

/* What the times rest on, and what they were not tried with. */
struct pto_coverage pto_prediction_coverage(const struct pto_prediction *prediction, const char *subject);
/* A few aligned lines; the members of an object. */
void pto_prediction_print(const struct pto_prediction *prediction, FILE *to);
void pto_prediction_put(const struct pto_prediction *prediction, struct pto_json_writer *w);

#endif
