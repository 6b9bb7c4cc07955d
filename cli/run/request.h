/* SPDX-License-Identifier: MIT */
/*
 * From the options of the command line to what a session is asked for (pto/tools.h), and the files that options ask of
 * its run.
 *
 * Owns nothing: strings and lists are those of the options.  One thread.
 */
#ifndef PTO_CLI_RUN_REQUEST_H
#define PTO_CLI_RUN_REQUEST_H

#include <check/session/session.h>
#include <report/page/page.h>
#include <cli/run/options.h>

/* *config_out becomes its configuration.  The program is the first word.  Progress goes to the line of the terminal, a
 * kernel that does not come back to cli/main/fault_report.h. */
struct pto_session_options pto_run_options_session(const struct pto_run_options *options,
                                                   struct pto_config *config_out);

/* For pto_fault_report_set_describer: the array that the address is beside, and how far; labels of the task and of its
 * tensors, of the session's runtime. */
void pto_describe_call(void *session, const struct pto_message *message, const void *address, char *text, size_t size);

/* The same of a struct pto_ranks, with the rank whose kernel it is. */
void pto_describe_call_of_rank(void *ranks, const struct pto_message *message, const void *address, char *text,
                               size_t size);

/* Of a task without a session: how far the address is from the nearest parameter.  The context is not used. */
void pto_describe_nearest(void *context, const struct pto_message *message, const void *address, char *text,
                          size_t size);

/* What cannot be written afterwards is said before: PTO_OK, or PTO_EINVAL with the sentence. */
PTO_MUST_CHECK int pto_run_files_probe(const struct pto_run_options *options, struct pto_error *error);
/* Writes --output, of a run that ended well, and --trace, --dot, --deps-json and --waits-dot, of any that has run.  A
 * failure is the session's where the run itself was right. */
void pto_run_files_write(struct pto_session *session, const struct pto_run_options *options);

/* Writes a page of one document, which has no run; nothing where `path` is NULL.  Returns `exit_code`, or
 * PTO_EXIT_FAILED having said why. */
int pto_write_page(const char *path, const struct pto_report_page_document *document, int exit_code);

/* Prints what a judge has to tell, and writes it to --json, --sarif and --junit.  Returns `code`, or PTO_EXIT_FAILED
 * having said why.  Commands that judge more are of the program of the options. */
int pto_tell_report(const char *verb, struct pto_report *report, const struct pto_run_options *options, int code);

/* ---- a run that is judged: a program that ran once with its graph recorded, for check and why.  One at a time in a
 * process (fault handlers are the process's) ---- */

/* Runs the program, and writes the files of its options but the page.  An enum pto_exit: PTO_EXIT_OK; PTO_EXIT_FAILED
 * where the run failed, with what it had submitted by then in pto_session_trace; or the exit of a program that could
 * not be run.  The sentence is session->result.error's.  close is due in any case. */
int pto_judged_run_open(struct pto_session *session, const struct pto_run_options *options);
/* Writes the page, with the findings where the verb has any (else NULL); a failure as that of pto_run_files_write. */
void pto_judged_run_page(struct pto_session *session, const struct pto_run_options *options,
                         const struct pto_findings *findings);
void pto_judged_run_close(struct pto_session *session);

#endif
