/* SPDX-License-Identifier: MIT */
/*
 * One run of a program in virtual time, for its times alone, in a process of its own.
 *
 * Where the program allows it kernels are priced and not run (no_compute): the lengths and tables by which an
 * orchestration goes are made all the same (small_inputs).  A program that drives contexts of its own, whose
 * orchestration reads what a kernel computed, or whose kernels wait for other cores, is run with its kernels; `why_run`
 * says why.
 *
 * A forecast is plain numbers, so that it can be left in memory that processes share.  Owns nothing.
 *
 * Threads: the caller's process has one; no other child of it may be waited for meanwhile.
 */
#ifndef PTO_CHECK_PREDICT_FORECAST_H
#define PTO_CHECK_PREDICT_FORECAST_H

#include <pto/tools.h>
#include <report/run/exit.h>
#include <report/run/result.h>
#include <runtime/base/error.h>
#include <runtime/port/port.h>
#include <sim/chips/chip.h>

#define PTO_FORECAST_KERNELS 8
struct pto_forecast {
  int exit_code; /* enum pto_exit; what follows is there where it is PTO_EXIT_OK */
  int status;
  char sentence[512];   /* why it is not */
  char program[64];     /* its name */
  char why_run[512];    /* why kernels were run; "": they were priced alone */
  uint64_t makespan_ps; /* from the end of the handshake to the end of the run */
  uint64_t window_ps; /* the orchestrator's: begin of the orchestration to its return; 0 where there is none: a prebuilt
                       * graph, a program that drives contexts of its own, whose dispatches have one each.  Of ranks
                       * the longest, as path_ps is */
  uint64_t tasks, kernel_tasks; /* submitted; those of them that have kernels */
  uint64_t edges, calls;
  uint64_t busy_ps[2]; /* of cores, summed: AIC, AIV */
  uint32_t cores[2], used[2];
  uint64_t window_high_water, heap_high_water_bytes; /* of the ring that used most */
  uint64_t path_ps;                                  /* the longest chain of dependent calls */
  char kernels[PTO_FORECAST_KERNELS][64];            /* names, the longest total first; "": there are no more */
  struct pto_priced priced;                          /* zeros where kernels were run */
  uint64_t origin_ps[PTO_ORIGIN_COUNT];              /* core time by where it comes from; sums to that of busy_ps */
};

/* What one run is asked for. */
struct pto_forecast_job {
  const struct pto_chip *chip; /* NULL: the one that options.config names */
  uint32_t jitter_ppm;
  uint64_t jitter_seed;
  uint64_t window;     /* slots of each task ring; 0: what options.config names */
  uint64_t heap_bytes; /* of each heap ring; 0: what options.config names */
  uint32_t ranks;      /* that the program runs on; 0: one chip.  Counts are sums over ranks, kernels the last one's */
  bool has_kernels;    /* run them, without a try to do without */
  bool no_kernels;     /* never run them: PTO_EXIT_USAGE where the program needs them */
  bool is_priced;      /* kernels are never run: refused where the program needs them.  makespan_ps alone is told */
};

/* Runs all jobs, `at_once` processes at a time; forecasts[i] is that of jobs[i], the same with any number of processes.
 * Tells options.progress how many have begun.  Where options.config.stop asks it to end, those that have not begun are
 * left as PTO_EINTERRUPTED.  PTO_OK also where runs failed; PTO_ESYSTEM or PTO_ENOMEM where no process could be had. */
PTO_MUST_CHECK int pto_forecast_all(const struct pto_session_options *options, const struct pto_forecast_job *jobs,
                                    uint32_t count, uint32_t at_once, struct pto_forecast *forecasts,
                                    struct pto_error *error);

/* The first of them that the machine has lost, for want of memory, a thread or the like: what it was to answer is not
 * known.  NULL: none was. */
const struct pto_forecast *pto_forecast_find_lost(const struct pto_forecast *forecasts, uint32_t count);

#endif
