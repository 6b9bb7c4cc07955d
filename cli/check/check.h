/* SPDX-License-Identifier: MIT */
/*
 * The three ways of `ptosim check PROGRAM`, a file each: by its declared accesses (check/order/order_check.h), by what
 * its kernels touch (--observe, check/observe/observe.h), by the rings that it needs (--advise,
 * check/order/ring_advice.h).
 *
 * Each runs the one program in `options`, and returns an enum pto_exit, having said why where that is not 0.  Owns
 * nothing beyond the call.  Control thread.
 */
#ifndef PTO_CLI_CHECK_CHECK_H
#define PTO_CLI_CHECK_CHECK_H

#include <check/observe/observe.h>
#include <cli/run/options.h>

/* Once; whether its output is right, too. */
int pto_check_order(const struct pto_run_options *options);

/* On the engine "observe". */
int pto_check_observe(const struct pto_run_options *options, const struct pto_observe_options *observe);
/* "A-B", or one number. */
PTO_MUST_CHECK int pto_check_observe_tasks(const char *text, struct pto_observe_options *observe,
                                           struct pto_error *error);

/* Once for each pair of sizes, in this process, in virtual time.  Outputs of all runs are compared with the first
 * run's, and those with the golden.  Engine, rounds, and files of a run in `options` are ignored. */
int pto_check_advise(const struct pto_run_options *options);

#endif
