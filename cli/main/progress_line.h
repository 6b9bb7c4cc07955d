/* SPDX-License-Identifier: MIT */
/*
 * One line on a terminal about what goes on, for whatever takes more than a second.
 *
 * Owns a thread that writes to standard error while begin … end, and takes the line away again.  Does nothing where
 * standard error is no terminal.  One at a time in a process; the functions are for the thread that began.
 */
#ifndef PTO_CLI_MAIN_PROGRESS_LINE_H
#define PTO_CLI_MAIN_PROGRESS_LINE_H

#include <stdbool.h>

/* `title` is borrowed until end.  Where `is_wanted` is false, or a thread cannot be had, nothing is shown. */
void pto_progress_line_begin(const char *title, bool is_wanted);
/* What is being done now; a string that outlives end, NULL for nothing in particular.  `step` of `steps` where steps
 * > 1, with how many a second and how long for the rest; where steps is 1, the tasks of the run that goes on. */
void pto_progress_line_stage(const char *stage, unsigned step, unsigned steps);
void pto_progress_line_end(void);

#endif
