/* SPDX-License-Identifier: MIT */
/*
 * A program that ran once with its graph recorded, for the verbs that judge the record: check and why.
 *
 * Owns nothing: the session is the caller's, who ends it with pto_judged_run_close.  One at a time in a process (fault
 * handlers are the process's).
 */
#ifndef PTO_CLI_RUN_JUDGED_RUN_H
#define PTO_CLI_RUN_JUDGED_RUN_H

#include <cli/run/request.h>

/* Runs the program, and writes the files of its options.  An enum pto_exit: PTO_EXIT_OK; PTO_EXIT_FAILED where the run
 * failed, with what it had submitted by then in pto_session_trace; or the exit of a program that could not be run.  The
 * sentence is session->result.error's.  close is due in any case. */
int pto_judged_run_open(struct pto_session *session, const struct pto_run_options *options);
void pto_judged_run_close(struct pto_session *session);

#endif
