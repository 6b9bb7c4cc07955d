/* SPDX-License-Identifier: MIT */
/*
 * `ptosim check PROGRAM --observe`: runs a program on the engine that is looked at, and tells what its kernels touch
 * against what they declare (check/observe.h).
 *
 * Owns nothing beyond the call.  Control thread.
 */
#ifndef PTO_CHECK_OBSERVE_H
#define PTO_CHECK_OBSERVE_H

#include <check/observe.h>
#include <cli/run_options.h>

/* "A-B", or one number. */
PTO_MUST_CHECK int pto_check_observe_tasks(const char *text, struct pto_observe_options *observe,
                                           struct pto_error *error);

/* An enum pto_exit; has said why where that is not 0. */
int pto_check_observe(const struct pto_run_options *options, const struct pto_observe_options *observe);

#endif
