/* SPDX-License-Identifier: MIT */
/*
 * One program, ready to run and judged: what `run` does between its options and its report, and what other verbs that
 * judge a program build on.
 *
 *   open (program, chip, options, inputs, runtime) → execute (all rounds) → verify → close
 *
 * Owns program, program run and runtime until close.  Options are borrowed until then.
 *
 * Always true: result.exit_code and result.error say what it came to so far; after the first step that did not answer
 * PTO_EXIT_OK no further step is due but close.
 *
 * Threads: the one that will be the control thread.
 */
#ifndef PTO_RUN_SESSION_H
#define PTO_RUN_SESSION_H

#include <stdio.h>

#include <cli/export.h>
#include <cli/run_options.h>
#include <cli/run_result.h>
#include <cli/timeline_stats.h>
#include <orchestration/loader/loader.h>
#include <orchestration/loader/program_run.h>
#include <runtime/trace/trace.h>
#include <sim/chip.h>

struct pto_run_session {
  const struct pto_run_options *options;
  struct pto_loaded_program *loaded;
  struct pto_program_run *run;
  struct pto_runtime *rt; /* NULL for programs that drive contexts of their own */
  struct pto_config config;
  struct pto_trace recording; /* of contexts that the program drives and reports, where it is asked for; else zeroed */
  uint64_t reported_ps, reported_count; /* virtual time of the contexts in it, and how many they are */
  FILE *nowhere;                        /* where the program's text goes that is to be seen by nobody */
  struct pto_chip chip;
  struct pto_timeline_stats timeline;
  struct pto_run_result result;
  /* Called when a round has ended, well or not, while its trace is there; NULL: nobody is.  Set it after open. */
  void (*after_round)(void *context, const struct pto_trace *trace);
  /* Called instead with what a context that the program drives has recorded, when the program reports it, before it is
   * destroyed; `first_task` is the number of its first task among those of all contexts of the round. */
  void (*after_context)(void *context, const struct pto_trace *trace, uint64_t first_task);
  void *after_argument; /* of both */
};

/* `record` is added to what the options need.  Returns an enum pto_exit, as do the others; close is due in any case. */
int pto_run_session_open(struct pto_run_session *session, const struct pto_run_options *options, const char *program,
                         uint32_t record);
int pto_run_session_execute(struct pto_run_session *session);
int pto_run_session_verify(struct pto_run_session *session);
/* Writes the outputs of --output, those of the last round.  PTO_OK, or the status of the first file that cannot be
 * written. */
PTO_MUST_CHECK int pto_run_session_write_outputs(struct pto_run_session *session, struct pto_error *error);
/* Writes the files of --trace, --dot, --deps-json and --waits-dot.  PTO_OK, or the status of the first one that cannot
 * be written.
 */
PTO_MUST_CHECK int pto_run_session_write_records(struct pto_run_session *session, struct pto_error *error);
void pto_run_session_close(struct pto_run_session *session);

/* What was recorded; NULL where nothing was. */
const struct pto_trace *pto_run_session_trace(const struct pto_run_session *session);
struct pto_export_info pto_run_session_info(const struct pto_run_session *session);

#endif
