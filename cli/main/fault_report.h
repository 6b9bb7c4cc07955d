/* SPDX-License-Identifier: MIT */
/*
 * The last words of a process whose kernel faulted or did not come back, or that its program ended.
 *
 * Owns the signal handlers of SIGSEGV, SIGBUS, SIGFPE, SIGILL and their kind, and of those that end a process where
 * nothing handles them, an alternate signal stack for the calling thread, and a reporter thread.  One in a process:
 * handlers are the process's.  A verb is between init and fini, and may take the report over meanwhile.
 *
 * A fault: the handler, on the faulting thread, does nothing that is not async-signal-safe; it describes the kernel
 * (pto_engine_describe_current), wakes the reporter and sleeps for ever.  The reporter, an ordinary thread, calls
 * `report`.  A time-out: the watchdog's thread calls `report` itself.  The first one wins; a later thread sleeps.
 * Before that, functions and lines of the fault, and what its tensors are called, are found in a process forked off,
 * for debug information takes memory, whose lock the faulting thread may hold; without an answer in time the sentence
 * does without.
 *
 * An end: exit() and its kin, exec, or a signal that the program sends to its own process.  The thread that does so
 * calls `report` itself.  What no process can see of its own end is left: SIGKILL, and a system call of the program's
 * own.
 *
 * `report` must end in _exit: the other threads still run, so nothing may be taken down, and no lock that they could
 * hold may be waited for (malloc's and stdio's among them).
 *
 * Under a sanitizer or valgrind no handler is installed: their report is the better one.  Time-outs are reported all
 * the same.
 */
#ifndef PTO_CLI_MAIN_FAULT_REPORT_H
#define PTO_CLI_MAIN_FAULT_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include <runtime/base/error.h>
#include <runtime/port/port.h>

/* Never returns.  `status` is PTO_EKERNEL, PTO_ETIMEOUT or PTO_EINTERRUPTED. */
typedef void pto_fault_reporter(void *context, int status, const char *sentence);

/* A reporter that says the sentence on standard error, behind the text that `context` is (NULL: none), and leaves as
 * a run that failed. */
pto_fault_reporter pto_fault_report_say;

/* PTO_OK, or PTO_ESYSTEM with nothing installed.  A process forked off has no report: a signal ends it. */
PTO_MUST_CHECK int pto_fault_report_init(pto_fault_reporter *report, void *context, struct pto_error *error);
/* Takes the handlers away and ends the reporter.  Also where init failed or was not called. */
void pto_fault_report_fini(void);

/* Another reporter, until the one of init has it back. */
void pto_fault_report_take(pto_fault_reporter *report, void *context);
void pto_fault_report_give_back(void);

/* What is known of a fault besides, "tensors a, l": for its sentence.  Called in a process forked off, whose one thread
 * it is on, with the message of the kernel that faulted (NULL: none did) and the address of a memory fault (else NULL).
 * NULL: nothing is. */
typedef void pto_fault_describer(void *context, const struct pto_message *message, const void *address, char *text,
                                 size_t size);
void pto_fault_report_set_describer(pto_fault_describer *describer, void *context);

/* For a signal handler: reports PTO_EINTERRUPTED.  False where nothing is installed. */
bool pto_fault_report_interrupt(void);

/* For pto_config.on_timeout; the context is not used. */
void pto_fault_report_on_timeout(void *context, const char *sentence);

#endif
