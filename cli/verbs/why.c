/* SPDX-License-Identifier: MIT */
/*
 * `ptosim why`: why one task of a program comes before another, under either rules, or why nothing orders them.
 */
#include <stdio.h>

#include <cli/main/verb.h>
#include <cli/run/request.h>
#include <report/stopped/stopped.h>

static int parse_task(const char *text, uint64_t *number, struct pto_error *error) {
  struct pto_error reason;
  if (pto_parse_u64(text, 0, UINT64_MAX, number, &reason) == PTO_OK) return PTO_OK;
  return pto_error_set(error, PTO_EINVAL, "\"%s\" is no task number", text);
}

static int answer(const struct pto_session *session, const struct pto_run_options *options,
                  const struct pto_why_request *request) {
  char sentence[PTO_SENTENCE_SIZE];
  struct pto_report *report;
  const int status = pto_session_why(session, request, &report, sentence, sizeof sentence);
  if (status) return pto_complain(status == PTO_EINVAL ? PTO_EXIT_USAGE : PTO_EXIT_FAILED, "why: %s", sentence);
  const int code = pto_tell_report("why", report, options, PTO_EXIT_OK);
  pto_report_destroy(report);
  return code;
}

static int explain(const struct pto_run_options *options, const struct pto_why_request *request) {
  static struct pto_session session;
  int code = pto_judged_run_open(&session, options);
  if (code != PTO_EXIT_OK) pto_complain(0, "%s", session.result.error.sentence);
  if (!options->quiet) pto_stopped_say(session.result.stopped);
  if (pto_session_trace(&session) && (code == PTO_EXIT_OK || code == PTO_EXIT_FAILED)) {
    const int answered = answer(&session, options, request);
    if (code == PTO_EXIT_OK) code = answered;
  }
  pto_judged_run_page(&session, options, NULL);
  pto_judged_run_close(&session);
  return code;
}

static void help(const struct pto_run_options *options) {
  puts("ptosim why PROGRAM A B [OPTION...]\n\n"
       "Runs PROGRAM once, under exact rules and in virtual time unless --engine says otherwise, and tells why task B\n"
       "comes after task A (numbers in order of submission, from 0): the edge and its reasons, else a shortest path, "
       "else\n"
       "what the two touch and why that orders nothing; under both rules, or those of --deps.\n");
  pto_run_options_help(PTO_VERB_why, NULL);
  puts("\nExit status 0 whatever the answer, 2 for bad arguments, 3 where the run failed.");
}

int pto_cmd_why(int argc, char **argv) {
  static const struct pto_verb_form form = {PTO_VERB_why, NULL, help, false};
  struct pto_run_options options;
  struct pto_why_request request = {.size = sizeof request};
  struct pto_error error;
  int code;
  if (pto_run_options_begin(&form, argc, argv, NULL, &options, &code)) {
    request.has_rules = options.has_deps;
    request.rules = options.deps;
    if (options.programs.count != 3)
      code = pto_complain(PTO_EXIT_USAGE, "why: takes a program and two task numbers: ptosim why bgemm 3 17");
    else if (parse_task(options.programs.items[1], &request.tasks[0], &error) ||
             parse_task(options.programs.items[2], &request.tasks[1], &error))
      code = pto_complain(PTO_EXIT_USAGE, "why: %s", error.sentence);
    else if ((code = pto_complain_unwritable(options.json_path)) == PTO_EXIT_OK)
      code = explain(&options, &request);
  }
  pto_run_options_fini(&options);
  return code;
}
