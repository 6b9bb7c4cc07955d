/* SPDX-License-Identifier: MIT */
#include <cli/check/check.h>

#include <inttypes.h>
#include <stdio.h>

#include <check/order/order_coverage.h>
#include <check/ranks/ranks_check.h>
#include <check/ranks/ranks_trace.h>
#include <cli/main/fault_report.h>
#include <cli/main/interrupt.h>
#include <cli/main/progress_line.h>
#include <cli/main/verb.h>
#include <cli/run/judgement.h>
#include <cli/run/request.h>
#include <formats/units.h>
#include <runtime/base/clock.h>

/* Lines of findings for people; --json has all. */
#define MAX_LINES 20u

struct check {
  struct pto_ranks ranks;
  struct pto_findings findings;
  struct pto_order_counts counts;
  struct pto_coverage coverage; /* sums over ranks */
  double seconds;               /* of the judgement, without the run */
  int exit_code;                /* for the report */
};

static const struct pto_session *first_of(const struct check *check) {
  return check->ranks.sessions ? &check->ranks.sessions[0] : NULL;
}

/* Outputs that are wrong, of a run that ended well: something that the accesses do not say. */
static void check_results(struct check *check) {
  for (uint32_t i = 0; i < check->ranks.rank_count; i++) {
    const struct pto_session *session = &check->ranks.sessions[i];
    struct pto_finding wrong = {PTO_FINDING_OF_RUN(PTO_FINDING_WRONG), .has_ranks = true};
    wrong.ranks[0] = i;
    wrong.ranks[1] = PTO_FINDING_NONE;
    if (session->result.verified == PTO_VERDICT_FALSE)
      pto_findings_add(&check->findings, &wrong, NULL, "rank %" PRIu32 ": %s, under rules exact", i,
                       session->result.error.sentence);
  }
}

static int judge(struct check *check, struct pto_error *error) {
  const double begin = pto_clock_seconds();
  const int status = pto_ranks_check(&check->ranks, &check->findings, &check->counts, error);
  check->seconds = pto_clock_seconds() - begin;
  if (status) return status;
  check_results(check);
  for (uint32_t i = 0; i < check->ranks.rank_count; i++)
    pto_order_cover(pto_session_trace(&check->ranks.sessions[i]), true, &check->coverage);
  pto_session_cover_seeds(&check->ranks.sessions[0], &check->coverage);
  return PTO_OK;
}

/* ---- the report ---- */

static void print(const struct check *check, int code) {
  const struct pto_run_result *result = &first_of(check)->result;
  const struct pto_order_counts *counts = &check->counts;
  pto_findings_print(&check->findings, stdout, MAX_LINES);
  printf("check: %s%s%s: %" PRIu32 " rank%s, %" PRIu64 " task%s, %" PRIu64 " edge%s and %" PRIu64
         " pair%s under rules %s, %" PRIu64 " finding%s%s, %.3f s\n",
         result->program, result->case_name ? " " : "", result->case_name ? result->case_name : "",
         check->ranks.rank_count, pto_plural(check->ranks.rank_count), counts->tasks, pto_plural(counts->tasks),
         counts->edges, pto_plural(counts->edges), counts->pairs, pto_plural(counts->pairs),
         pto_deps_rules_name(first_of(check)->rules).text, check->findings.total, pto_plural(check->findings.total),
         code >= PTO_EXIT_FAILED ? " until the run failed" : "", check->seconds);
  pto_coverage_print(&check->coverage, stdout);
}

static void put_report(struct pto_json_writer *w, const void *context) {
  const struct check *check = context;
  const struct pto_session *first = first_of(check);
  pto_json_put_format(w, "pto-check", 1);
  pto_json_put_string(w, "program", check->ranks.program);
  pto_json_put_string(w, "case", first ? first->result.case_name : NULL);
  pto_json_put_u64(w, "ranks", check->ranks.rank_count);
  pto_json_put_string(w, "deps", first ? pto_deps_rules_list(first->rules).text : "");
  pto_json_put_u64(w, "tasks", check->counts.tasks);
  pto_json_put_u64(w, "edges", check->counts.edges);
  pto_json_put_u64(w, "pairs", check->counts.pairs);
  pto_json_put_double(w, "seconds", check->seconds);
  pto_findings_put_json(&check->findings, w);
  pto_coverage_put_json(&check->coverage, w);
  pto_json_put_string(w, "error", check->exit_code > PTO_EXIT_FINDINGS ? check->ranks.error.sentence : NULL);
  pto_json_put_u64(w, "exit", (uint64_t)check->exit_code);
}

static int finish(struct check *check, const struct pto_run_options *options, bool is_judged, int code) {
  const char *sentence = check->ranks.error.sentence;
  if (is_judged && !options->quiet && !pto_run_options_take_stdout(options)) print(check, code);
  fflush(stdout);
  if (code > PTO_EXIT_FINDINGS && check->ranks.is_told_here) pto_complain(0, "%s", sentence);
  check->exit_code = code;
  const struct pto_judgement judgement = {.verb = "check",
                                          .program = check->ranks.program,
                                          .case_name = options->case_name,
                                          .findings = &check->findings,
                                          .error = code > PTO_EXIT_FINDINGS ? sentence : NULL,
                                          .seconds = check->seconds,
                                          .exit_code = pto_write_report(options->json_path, put_report, check, code)};
  return pto_write_judgement(options, &judgement);
}

/* A failure counts where the run itself was right. */
static int write_page(struct check *check, const char *path, int code) {
  struct pto_error error;
  if (!path) return code;
  pto_interrupt_let_finish();
  if (pto_ranks_write_page(&check->ranks, &check->findings, path, &error) == PTO_OK || code > PTO_EXIT_FINDINGS)
    return code;
  check->ranks.error = error;
  return PTO_EXIT_FAILED;
}

/* Runs and judges; whether it could be judged. */
static bool run(struct check *check, const struct pto_session_options *asked, uint32_t rank_count, bool wants_page,
                int *code) {
  struct pto_error error;
  *code = pto_ranks_init_judged(&check->ranks, asked, rank_count);
  check->ranks.wants_account = check->ranks.wants_path = wants_page;
  if (*code != PTO_EXIT_OK) return false;
  pto_fault_report_set_describer(pto_describe_call_of_rank, &check->ranks);
  *code = pto_ranks_execute(&check->ranks);
  pto_fault_report_set_describer(NULL, NULL);
  if (*code == PTO_EXIT_FINDINGS) *code = PTO_EXIT_OK; /* it is among them */
  snprintf(check->ranks.path.why_no_gains, sizeof check->ranks.path.why_no_gains, "a check runs the program once");
  if (judge(check, &error) == PTO_OK) {
    if (*code == PTO_EXIT_OK && !pto_findings_is_clean(&check->findings)) *code = PTO_EXIT_FINDINGS;
    return true;
  }
  if (*code == PTO_EXIT_OK) check->ranks.error = error;
  if (*code == PTO_EXIT_OK) *code = pto_exit_of_setup(error.status);
  return false;
}

int pto_check_ranks(const struct pto_run_options *options, const struct pto_session_options *asked,
                    uint32_t rank_count) {
  static struct check check;
  const char *page = options->exports[PTO_EXPORT_page];
  struct pto_error error;
  int code;
  for (size_t i = 0; i < PTO_EXPORT_COUNT; i++)
    if (options->exports[i] && i != PTO_EXPORT_page)
      return pto_complain(PTO_EXIT_USAGE, "check: with several ranks, a file of a run's timeline or graph is not told: "
                                          "it is of one chip");
  if (options->outputs.count) return pto_complain(PTO_EXIT_USAGE, "check: with several ranks there is no --output");
  if (pto_run_files_probe(options, &error)) return pto_complain(PTO_EXIT_USAGE, "%s", error.sentence);
  pto_findings_init(&check.findings);
  check.findings.command = options->again;
  check.coverage.subject = options->subject;
  pto_progress_line_begin(options->programs.items[0], !options->quiet);
  const bool is_judged = run(&check, asked, rank_count, page != NULL, &code);
  if (is_judged) code = write_page(&check, page, code);
  pto_progress_line_end();
  code = finish(&check, options, is_judged, code);
  pto_ranks_fini(&check.ranks);
  pto_findings_fini(&check.findings);
  return code;
}
