/* SPDX-License-Identifier: MIT */
/*
 * How long a trial's kernel takes on this machine: the same call again and again, in batches.
 *
 * Always true: what is timed is the kernel's run alone, with its local memory in place; check, cost and memory come
 * before.  The clock is the wall's (CLOCK_MONOTONIC), so other load counts: compare medians of the same run.  One
 * thread.
 */
#ifndef PTO_CHECK_TRIAL_TIME_H
#define PTO_CHECK_TRIAL_TIME_H

#include <check/trial/trial.h>

#define PTO_TRIAL_MAX_BATCHES 101

/* Nanoseconds a call over `calls` ≥ 1 calls; a negative status of the kernel as it is. */
double pto_trial_batch_ns(struct pto_trial *trial, uint64_t calls);

struct pto_trial_time {
  double median_ns, minimum_ns; /* a call */
  uint64_t calls;               /* a batch */
};
/* `batches` ≤ PTO_TRIAL_MAX_BATCHES batches of about batch_ns each, after one that warms up.  PTO_OK or the kernel's
 * status. */
int pto_trial_time(struct pto_trial *trial, uint32_t batches, double batch_ns, struct pto_trial_time *time);

/* The middle of `count` numbers, which it sorts. */
double pto_trial_median(double *values, uint32_t count);

#endif
