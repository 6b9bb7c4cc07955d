/* SPDX-License-Identifier: MIT */
/*
 * A program that ran once with its graph recorded: what check and why, which judge the record, begin with.
 *
 * The run is made under exact rules, whatever rules the judgement is about, so that what the orchestration reads of its
 * own results is right; in virtual time unless an engine was asked for.
 *
 * Owns the session until close; options are borrowed.  One at a time in a process (fault handlers are the process's).
 */
#ifndef PTO_RECORDED_RUN_H
#define PTO_RECORDED_RUN_H

#include <cli/run_session.h>

struct pto_recorded_run {
  struct pto_run_options options; /* of the run; lists are the caller's */
  struct pto_run_session session;
  uint32_t rules;                /* the caller's --deps, else the program's own, else exact */
  const struct pto_trace *trace; /* NULL: there is nothing to judge, and the sentence says why */
};

/* Runs the program.  An enum pto_exit: PTO_EXIT_OK; PTO_EXIT_FAILED where the run failed, with what it had submitted by
 * then in `trace`; or the exit of a program that could not be run.  The sentence is session.result.error's.  close is
 * due in any case. */
int pto_recorded_run_open(struct pto_recorded_run *run, const struct pto_run_options *options, const char *program);
void pto_recorded_run_close(struct pto_recorded_run *run);

/* The name of the program's array at an address, or NULL: for struct pto_order_question. */
const char *pto_recorded_run_array(void *run, uint64_t base);

#endif
