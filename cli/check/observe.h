/* SPDX-License-Identifier: MIT */
/*
 * `ptosim check PROGRAM --observe`: runs a program on the engine "observe", and tells what its kernels touch
 * against what they declare (check/observe/observe.h).
 *
 * Owns nothing beyond the call.  Control thread.
 */
#ifndef PTO_CLI_CHECK_OBSERVE_H
#define PTO_CLI_CHECK_OBSERVE_H

#include <check/observe/observe.h>
#include <cli/run/options.h>

/* "A-B", or one number. */
PTO_MUST_CHECK int pto_check_observe_tasks(const char *text, struct pto_observe_options *observe,
                                           struct pto_error *error);

/* An enum pto_exit; has said why where that is not 0. */
int pto_check_observe(const struct pto_run_options *options, const struct pto_observe_options *observe);

#endif
