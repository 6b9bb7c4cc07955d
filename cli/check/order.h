/* SPDX-License-Identifier: MIT */
/*
 * `ptosim check PROGRAM`: runs a program once and says what is wrong with its order by its declared accesses alone
 * (check/order/order_check.h), and whether its output is right.
 *
 * Owns nothing beyond the call.  Control thread.
 */
#ifndef PTO_CLI_CHECK_ORDER_H
#define PTO_CLI_CHECK_ORDER_H

#include <cli/run/options.h>

/* Of the one program in `options`.  An enum pto_exit; has said why where that is not 0. */
int pto_check_order(const struct pto_run_options *options);

#endif
