/* SPDX-License-Identifier: MIT */
/*
 * Ring advice: the smallest window and the smallest heap that a program completes with, what smaller rings cost, and
 * the pair to take.
 *
 * Owns nothing: the program is run by the caller's function, once for each pair of sizes that is asked about.  Knows of
 * a run whether it completed, how long it took, and how much it had in use at once.
 *
 * How: the first run has the largest rings and is what all others are compared with.  Windows are powers of two, so
 * each from 4 up to the first that is never full is tried.  Heaps are multiples of PTO_RING_HEAP_STEP: the least is
 * found by bisection below the first run's high water, then a few steps below and above it are tried, because
 * completion need not be monotonic (a block is never split across the end of a ring); then the powers of two above it
 * are. A size counts as least only if every larger one that was tried completes as well.
 *
 * Always true: least ≤ every row's size that completes and has no failing size above it; the recommended pair was run.
 *
 * One thread.
 */
#ifndef PTO_CHECK_ORDER_RING_ADVICE_H
#define PTO_CHECK_ORDER_RING_ADVICE_H

#include <stdbool.h>
#include <stdint.h>

#include <pto/status.h>

#define PTO_RING_HEAP_STEP 1024u /* PTO_OUTPUT_ALIGN */
#define PTO_RING_LEAST_WINDOW 4u
#define PTO_RING_STEPS_BESIDE 4u /* of PTO_RING_HEAP_STEP that are tried below and above the heap found */
#define PTO_RING_COST_PERCENT 5u
#define PTO_RING_TRIALS 192u

struct pto_ring_trial {
  uint64_t window, heap_bytes; /* asked: of each ring */
  bool completes;
  bool is_right; /* the same outputs as the first run; where it completes */
  int status;    /* of the run */
  uint64_t virtual_ps;
  uint64_t window_high_water, heap_high_water_bytes; /* of the ring that used most */
};

/* Runs the program with trial->window and heap_bytes and fills in the rest.  PTO_OK whatever the run came to; other
 * statuses end the search. */
typedef int pto_ring_run(void *context, struct pto_ring_trial *trial);

struct pto_ring_advice {
  struct pto_ring_trial trials[PTO_RING_TRIALS]; /* in the order of the runs; [0] has the largest rings */
  uint32_t trial_count;
  uint32_t windows[32], heaps[64]; /* rows of the two tables, smallest first: places in trials */
  uint32_t window_count, heap_count;
  uint64_t least_window, least_heap_bytes; /* 0: not even the first run completes */
  bool has_window_exception;               /* a window below the least completes */
  uint64_t window_exception;               /* the largest such */
  bool has_heap_exception;
  uint64_t heap_exception_bytes;
  uint32_t recommended; /* place in trials */
  uint32_t wrong_count; /* runs that completed with other outputs than the first */
};

/* How many percent slower than the first run; negative: faster. */
double pto_ring_advice_slower(const struct pto_ring_advice *advice, const struct pto_ring_trial *trial);

/* Of a run that has failed with the rings of `sizes` and its status: the first pair that the whole program completes
 * with, as the ring that was short is doubled, and its own need without limits is tried between.  `largest` are rings
 * that nothing fills.  False, with `sizes` as it was, where the program fails with these too, or no pair was found. */
bool pto_ring_enough(pto_ring_run *run, void *context, const struct pto_ring_trial *largest,
                     struct pto_ring_trial *sizes);

/* `window` and `heap_bytes` are the largest rings.  PTO_OK, or what `run` ended the search with. */
int pto_ring_advise(pto_ring_run *run, void *context, uint64_t window, uint64_t heap_bytes,
                    struct pto_ring_advice *advice);

#endif
