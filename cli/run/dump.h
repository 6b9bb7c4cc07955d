/* SPDX-License-Identifier: MIT */
/*
 * --dump of `ptosim run`: which tasks are kept where, around the execution of a session.
 *
 * Of a program that drives contexts the tasks are numbered from one context to the next, as they are made: contexts
 * that live at the same time are not told apart, and the second of them is left alone.
 *
 * Owns the choice of tasks and the capture between begin and end.  One thread, the control thread.
 */
#ifndef PTO_CLI_RUN_DUMP_H
#define PTO_CLI_RUN_DUMP_H

#include <check/task/capture.h>
#include <check/session/session.h>
#include <cli/run/options.h>

struct pto_run_dump {
  const struct pto_run_options *options;
  struct pto_session *session;
  struct pto_task_choice choice;
  struct pto_task_capture *capture; /* of contexts: of the one that lives */
  struct pto_runtime *rt;           /* of that context */
  uint64_t first_task;              /* of that context */
  uint64_t kept_count;              /* of contexts that are gone, as what follows */
  struct pto_error error;           /* the first; PTO_OK: none */
};

/* After the session was opened.  Returns an enum pto_exit, which the session's result then has too, with the reason;
 * PTO_EXIT_OK where nothing was asked for.  end is due in any case. */
int pto_run_dump_begin(struct pto_run_dump *dump, struct pto_session *session, const struct pto_run_options *options);
/* After the run, well or not: says on standard output what was kept, and where the run itself was right, notes what
 * could not be kept as the session's failure. */
void pto_run_dump_end(struct pto_run_dump *dump, struct pto_session *session);

#endif
