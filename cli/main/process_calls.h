/* SPDX-License-Identifier: MIT */
/*
 * Calls that end the process, put another program into it or make two of it, and that a kernel or an orchestration may
 * make.
 *
 * Owns functions that stand in front of libc's for whatever is loaded: _exit, _Exit, and all of exec.  A call from
 * outside the executable is told to who watches, and does nothing else.  All others, those of ptosim itself and of
 * processes forked off, are done as libc does them.  Of exit and quick_exit their handlers tell.
 *
 * fork as well, of a kernel or of the object of a program: the child would come back into a run whose threads it has
 * not.  posix_spawn, system and popen do not come here.
 *
 * raise as well: the threads of the runtime block what others may send to the process (runtime/base/thread.h), and not
 * what the program raises there, which would wait for ever.
 */
#ifndef PTO_CLI_MAIN_PROCESS_CALLS_H
#define PTO_CLI_MAIN_PROCESS_CALLS_H

#include <stdbool.h>

/* While is_due() is true, end() gets what the program did, "ended the process by _exit(0)", on its thread, and never
 * returns. */
void pto_process_calls_watch(bool (*is_due)(void), void (*end)(const char *deed));

#endif
