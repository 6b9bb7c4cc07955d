/* SPDX-License-Identifier: MIT */
/*
 * ^C: the first asks what goes on to end and to tell what is known so far, the second ends the process at once, both
 * with PTO_EXIT_INTERRUPTED.
 *
 * Owns the handler of SIGINT from begin on, that of SIGALRM from the first ^C on, and what runs look at
 * (pto_config.stop), which is told how far they have come as well.  A run that does not end by itself within some
 * seconds (its orchestration or a kernel does not come back) is told of by cli/main/fault_report.h, where that is
 * installed.  Whatever goes from one thing to the next, cases or schedules, asks pto_interrupted in between.
 *
 * One in a process, as handlers are the process's.  Any thread may ask.
 */
#ifndef PTO_CLI_MAIN_INTERRUPT_H
#define PTO_CLI_MAIN_INTERRUPT_H

#include <stdbool.h>

#include <runtime/base/stop.h>

/* Nothing happens where ^C is ignored, as by nohup. */
void pto_interrupt_begin(void);
bool pto_interrupted(void);
/* What goes on is ptosim's own work from here on, which ends by itself however long it takes: a report of what is
 * known.
 */
void pto_interrupt_let_finish(void);
/* For pto_config.stop. */
struct pto_stop *pto_interrupt_stop(void);

#endif
