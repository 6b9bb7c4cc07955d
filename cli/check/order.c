/* SPDX-License-Identifier: MIT */
#include <cli/check/check.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <check/order/order_coverage.h>
#include <check/session/explored.h>
#include <cli/run/judgement.h>
#include <formats/units.h>
#include <report/findings/findings.h>
#include <cli/run/request.h>
#include <report/stopped/stopped.h>
#include <cli/main/verb.h>
#include <runtime/base/clock.h>

/* Lines of findings for people; --json has all. */
#define MAX_LINES 20u
#define USED_MEANWHILE                                                                                                 \
  "let the orchestration wait for a task before it changes, frees or leaves what that uses, as " PTO_FINDING_READ_LINE \
  " does for an element t that it writes: `ptosim explore` names the task"

struct check {
  struct pto_session session;
  struct pto_findings findings;
  struct pto_order_counts counts;
  struct pto_coverage coverage;
  double seconds; /* of the judgement, without the run */
  int exit_code;  /* for the report */
};

/* ---- steps ---- */

static void cover(struct check *check) {
  const struct pto_session *session = &check->session;
  const uint64_t made = session->context_count, reported = pto_min_u64(session->reported_count, made);
  pto_order_cover(pto_session_trace(session), false, &check->coverage);
  pto_session_cover_seeds(session, &check->coverage);
  pto_coverage_add(&check->coverage, PTO_COVERAGE_CONTEXTS, reported);
  pto_coverage_leave(&check->coverage, PTO_COVERAGE_CONTEXTS, made - reported, "explore");
  pto_coverage_leave(&check->coverage, PTO_COVERAGE_BORROWED, session->dispatches, "explore");
}

static int check_order(struct check *check, struct pto_error *error) {
  const double begin = pto_clock_seconds();
  const int status =
      pto_session_check_order(&check->session, check->session.rules, &check->findings, &check->counts, error);
  check->seconds = pto_clock_seconds() - begin;
  if (status == PTO_OK) cover(check);
  return status;
}

/* A run that ended well and is wrong has something that the accesses do not say. */
static void check_result(struct check *check) {
  const struct pto_finding wrong = {PTO_FINDING_OF_RUN(PTO_FINDING_WRONG)};
  const struct pto_session *session = &check->session;
  if (pto_session_judge(&check->session) != PTO_EXIT_FINDINGS) return;
  /* refused submits are a finding already, where they are all that is wrong */
  if (session->result.verified != PTO_VERDICT_FALSE && pto_session_has_bad_refusals(session)) return;
  /* with no finding before it, what tasks declare is ordered */
  if (session->rt && pto_findings_is_clean(&check->findings) && pto_session_is_right_in_sequence(session))
    pto_findings_add(&check->findings, &wrong, USED_MEANWHILE,
                     "%s, under rules exact; right where each task runs within its submit, so the orchestration "
                     "changes, frees or reads memory by itself that tasks use, without waiting, or a kernel touches "
                     "what its task does not declare (`ptosim check --observe` tells whether one does)",
                     session->result.error.sentence);
  else
    pto_session_add_wrong(session, &check->findings, &wrong, "", ", under rules exact");
}

/* PTO_OK, or the status of the first step that could not be made. */
static int judge(struct check *check, bool has_ended_well, struct pto_error *error) {
  int status = check_order(check, error);
  if (status == PTO_OK && has_ended_well) check_result(check);
  return status;
}

/* ---- the report ---- */

/* "2 findings"; of a run that failed, that this is not all. */
static const char *format_found(const struct check *check, int code, char *text, size_t size) {
  const uint64_t total = check->findings.total;
  if (code >= PTO_EXIT_FAILED && total == 0) return "the run failed; until then nothing was found";
  snprintf(text, size, "%" PRIu64 " finding%s%s", total, pto_plural(total),
           code >= PTO_EXIT_FAILED ? " until the run failed" : "");
  return text;
}

static void print(const struct check *check, int code) {
  char found[64];
  const struct pto_run_result *result = &check->session.result;
  const struct pto_order_counts *counts = &check->counts;
  pto_findings_print(&check->findings, stdout, MAX_LINES);
  printf("check: %s%s%s: %" PRIu64 " task%s, %" PRIu64 " edge%s and %" PRIu64 " pair%s under rules %s, %s, %.3f s\n",
         result->program, result->case_name ? " " : "", result->case_name ? result->case_name : "", counts->tasks,
         pto_plural(counts->tasks), counts->edges, pto_plural(counts->edges), counts->pairs, pto_plural(counts->pairs),
         pto_deps_rules_name(check->session.rules).text, format_found(check, code, found, sizeof found),
         check->seconds);
  pto_coverage_print(&check->coverage, stdout);
}

static void put_report(struct pto_json_writer *w, const void *context) {
  const struct check *check = context;
  const struct pto_run_result *result = &check->session.result;
  pto_json_put_format(w, "pto-check", 1);
  pto_json_put_string(w, "program", result->program);
  pto_json_put_string(w, "case", result->case_name);
  pto_json_put_string(w, "deps", pto_deps_rules_list(check->session.rules).text);
  pto_json_put_u64(w, "tasks", check->counts.tasks);
  pto_json_put_u64(w, "edges", check->counts.edges);
  pto_json_put_u64(w, "pairs", check->counts.pairs);
  pto_json_put_double(w, "seconds", check->seconds);
  pto_findings_put_json(&check->findings, w);
  pto_coverage_put_json(&check->coverage, w);
  pto_json_put_string(w, "error", check->exit_code > PTO_EXIT_FINDINGS ? result->error.sentence : NULL);
  pto_json_put_u64(w, "exit", (uint64_t)check->exit_code);
}

static int finish(struct check *check, const struct pto_run_options *options, int code) {
  const struct pto_error *failure = &check->session.result.error;
  if (code == PTO_EXIT_OK && !pto_findings_is_clean(&check->findings)) code = PTO_EXIT_FINDINGS;
  if (pto_session_trace(&check->session) && !options->quiet && !pto_run_options_take_stdout(options))
    print(check, code);
  fflush(stdout);
  if (code > PTO_EXIT_FINDINGS) pto_complain(0, "%s", failure->sentence);
  if (!options->quiet) pto_stopped_say(check->session.result.stopped);
  check->exit_code = code;
  const struct pto_run_result *result = &check->session.result;
  const struct pto_judgement judgement = {.verb = "check",
                                          .program = result->program,
                                          .case_name = result->case_name,
                                          .findings = &check->findings,
                                          .error = code > PTO_EXIT_FINDINGS ? failure->sentence : NULL,
                                          .seconds = check->seconds,
                                          .exit_code = pto_write_report(options->json_path, put_report, check, code)};
  return pto_write_judgement(options, &judgement);
}

int pto_check_order(const struct pto_run_options *options) {
  static struct check check;
  struct pto_error error;
  pto_findings_init(&check.findings);
  check.findings.command = options->again;
  check.coverage.subject = options->subject;
  int code = pto_judged_run_open(&check.session, options);
  if (pto_session_trace(&check.session) && judge(&check, code == PTO_EXIT_OK, &error) && code == PTO_EXIT_OK)
    code = pto_session_end(&check.session, PTO_EXIT_FAILED, &error);
  pto_judged_run_page(&check.session, options, &check.findings);
  if (code == PTO_EXIT_OK) code = check.session.result.exit_code;
  code = finish(&check, options, code);
  pto_judged_run_close(&check.session);
  pto_findings_fini(&check.findings);
  return code;
}
