/* SPDX-License-Identifier: MIT */
/*
 * Tasks of a session's run that are captured, each in a folder, to be run again alone.
 *
 * Contexts that live one after another number their tasks on.  Of contexts that live at the same time each but the
 * first has a folder contextN of its own, with tasks numbered from 0.
 *
 * The session owns it, from pto_session_capture (pto/tools.h) to its fini.  The control thread.
 */
#ifndef PTO_CHECK_SESSION_CAPTURED_TASKS_H
#define PTO_CHECK_SESSION_CAPTURED_TASKS_H

struct pto_captured_tasks;

/* Before the runtime is destroyed; NULL is allowed. */
void pto_captured_tasks_destroy(struct pto_captured_tasks *captured);

#endif
