/* SPDX-License-Identifier: MIT */
/*
 * `ptosim check PROGRAM --advise`: the rings that a program needs, and what smaller ones cost.
 *
 * Runs the program once for each pair of sizes, in this process, in virtual time: check/order/ring_advice.h is the
 * search. Outputs of all runs are compared with the first run's, and those with the golden.
 */
#ifndef PTO_CLI_CHECK_ADVISE_H
#define PTO_CLI_CHECK_ADVISE_H

#include <cli/run/options.h>

/* Of the one program in `options`: prints the tables, or writes them to `json_path` (NULL: no; "-": instead of the
 * text).  Engine, rounds, and files of a run in `options` are ignored.  An enum pto_exit; has said why where that is
 * not 0: PTO_EXIT_FINDINGS where a run gave a wrong result. */
int pto_check_advise(const struct pto_run_options *options, const char *json_path);

#endif
