/* SPDX-License-Identifier: MIT */
/*
 * `ptosim why`: why one task of a program comes before another, under either rules, or why nothing orders them; also of
 * two ranks.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cli/check/check.h>
#include <cli/main/verb.h>
#include <cli/run/request.h>
#include <report/stopped/stopped.h>

/* "17", or "3.17" of rank 3. */
static int parse_task(const char *text, uint32_t *rank, uint64_t *number, struct pto_error *error) {
  const char *dot = strchr(text, '.');
  char before[24];
  struct pto_error reason;
  uint64_t its_rank = 0;
  snprintf(before, sizeof before, "%.*s", dot ? (int)(dot - text) : 0, text);
  if ((dot && (dot - text >= (long)sizeof before || pto_parse_u64(before, 0, UINT32_MAX, &its_rank, &reason))) ||
      pto_parse_u64(dot ? dot + 1 : text, 0, UINT64_MAX, number, &reason))
    return pto_error_set(error, PTO_EINVAL, "\"%s\" is no task number, and no rank's, as 3.17", text);
  *rank = (uint32_t)its_rank;
  return PTO_OK;
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

/* On as many ranks as are asked for, or as the program wants. */
static int explain_any(const struct pto_run_options *options, struct pto_why_request *request,
                       const uint32_t ranks[2]) {
  struct pto_config config;
  const struct pto_session_options asked = pto_run_options_session(options, &config);
  const uint32_t rank_count = options->ranks ? options->ranks : pto_ranks_wanted(&asked);
  if (rank_count) {
    const struct pto_world_why_request of_ranks = {.ranks = {ranks[0], ranks[1]},
                                                   .tasks = {request->tasks[0], request->tasks[1]},
                                                   .has_rules = request->has_rules,
                                                   .rules = request->rules};
    return pto_why_ranks(options, &asked, rank_count, &of_ranks);
  }
  if (ranks[0] || ranks[1])
    return pto_complain(PTO_EXIT_USAGE, "why: there is one rank, 0, without --ranks, and no rank %" PRIu32,
                        ranks[0] ? ranks[0] : ranks[1]);
  return explain(options, request);
}

static void help(const struct pto_run_options *options) {
  puts("ptosim why PROGRAM A B [OPTION...]\n\n"
       "Runs PROGRAM once, under exact rules and in virtual time unless --engine says otherwise, and tells why task B\n"
       "comes after task A (numbers in order of submission, from 0): the edge and its reasons, else a shortest path, "
       "else\n"
       "what the two touch and why that orders nothing; under both rules, or those of --deps.\n"
       "On several ranks 3.17 is task 17 of rank 3; told is the way from one to the other over notifies and waits.\n");
  pto_run_options_help(PTO_VERB_why, NULL);
  puts("\nExit status 0 whatever the answer, 2 for bad arguments, 3 where the run failed.");
}

int pto_cmd_why(int argc, char **argv) {
  static const struct pto_verb_form form = {PTO_VERB_why, NULL, help, false};
  struct pto_run_options options;
  struct pto_why_request request = {.size = sizeof request};
  struct pto_error error;
  uint32_t ranks[2] = {0};
  int code;
  if (pto_run_options_begin(&form, argc, argv, NULL, &options, &code)) {
    request.has_rules = options.has_deps;
    request.rules = options.deps;
    if (options.programs.count != 3)
      code = pto_complain(PTO_EXIT_USAGE, "why: takes a program and two task numbers: ptosim why bgemm 3 17");
    else if (parse_task(options.programs.items[1], &ranks[0], &request.tasks[0], &error) ||
             parse_task(options.programs.items[2], &ranks[1], &request.tasks[1], &error))
      code = pto_complain(PTO_EXIT_USAGE, "why: %s", error.sentence);
    else if ((code = pto_complain_unwritable(options.json_path)) == PTO_EXIT_OK)
      code = explain_any(&options, &request, ranks);
  }
  pto_run_options_fini(&options);
  return code;
}
