/* SPDX-License-Identifier: MIT */
/*
 * --dump of `ptosim run`: which tasks are kept where, around the execution of a session.
 *
 * Owns the choice of tasks and the capture between begin and end.  One thread, the control thread.
 */
#ifndef PTO_RUN_DUMP_H
#define PTO_RUN_DUMP_H

#include <check/task_capture.h>
#include <cli/run_session.h>

struct pto_run_dump {
  struct pto_task_choice choice;
  struct pto_task_capture *capture;
};

/* After the session was opened.  Returns an enum pto_exit, which the session's result then has too, with the reason;
 * PTO_EXIT_OK where nothing was asked for.  end is due in any case. */
int pto_run_dump_begin(struct pto_run_dump *dump, struct pto_run_session *session);
/* After the run, well or not: says on standard output what was kept, and where the run itself was right, notes what
 * could not be kept as the session's failure. */
void pto_run_dump_end(struct pto_run_dump *dump, struct pto_run_session *session);

#endif
