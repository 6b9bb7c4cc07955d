/* SPDX-License-Identifier: MIT */
#include <cli/check/check.h>

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include <check/session/observed.h>
#include <cli/run/judgement.h>
#include <cli/main/fault_report.h>
#include <report/findings/coverage.h>
#include <report/findings/findings.h>
#include <report/file/output_file.h>
#include <cli/main/progress_line.h>
#include <cli/run/request.h>
#include <cli/main/verb.h>

/* Lines of findings that people are told; --json has all. */
#define MAX_LINES 40u

static struct pto_observed observed; /* last_words reads it while other threads run */
static const char *json_path;

static void put_report(struct pto_json_writer *w, const void *context);

/* The sentence first: what the JSON needs may be what the kernel wrote over, and a fault in here ends the process. */
static void last_words(void *context, int status, const char *sentence) {
  char line[PTO_SENTENCE_SIZE + 16];
  struct pto_run_result *result = &observed.session.result;
  struct pto_observe_summary summary;
  struct pto_error unused;
  (void)context;
  const int length = snprintf(line, sizeof line, "ptosim: %s\n", sentence);
  if (length > 0) (void)!write(STDERR_FILENO, line, strnlen(line, sizeof line));
  result->exit_code = PTO_EXIT_FAILED;
  pto_error_set(&result->error, status, "%s", sentence);
  summary = pto_observed_summary(&observed);
  if (json_path && pto_output_json(json_path, put_report, &summary, &unused)) _exit(PTO_EXIT_FAILED);
  _exit(PTO_EXIT_FAILED);
}

/* ---- the report ---- */

static double factor_of(const struct pto_observe_summary *summary) {
  return summary->kernel_ns ? (double)summary->total_ns / (double)summary->kernel_ns : 0;
}

/* Nothing is known of a run that did not begin. */
static struct pto_coverage coverage_of(const struct pto_observe_summary *summary) {
  struct pto_coverage coverage = {0};
  if (!observed.observation && !observed.context_count && !observed.contexts_left_out) return coverage;
  pto_coverage_add(&coverage, PTO_COVERAGE_CALLS, summary->calls);
  if (summary->is_watched_by_tool)
    pto_coverage_leave(&coverage, PTO_COVERAGE_CALLS, PTO_COVERAGE_UNCOUNTED, "check --observe, without that tool");
  pto_coverage_add(&coverage, PTO_COVERAGE_WAITING_CALLS, summary->units_judged);
  pto_coverage_leave(&coverage, PTO_COVERAGE_WAITING_CALLS, summary->waiting_units - summary->units_judged, NULL);
  pto_coverage_leave(&coverage, PTO_COVERAGE_TASK_ORDER, pto_observed_tasks(&observed), "check");
  pto_coverage_leave(&coverage, PTO_COVERAGE_LEFT_OUT, summary->calls_left_out, "check --observe");
  pto_coverage_leave(&coverage, PTO_COVERAGE_TOO_LARGE, summary->calls_too_large, NULL);
  pto_coverage_add(&coverage, PTO_COVERAGE_CONTEXTS, summary->is_watched_by_tool ? 0 : observed.context_count);
  pto_coverage_leave(&coverage, PTO_COVERAGE_CONTEXTS, observed.contexts_left_out, NULL);
  pto_coverage_add(&coverage, PTO_COVERAGE_SEEDS, summary->calls > 0);
  pto_coverage_leave(&coverage, PTO_COVERAGE_SEEDS, PTO_COVERAGE_UNCOUNTED, "--seed N");
  return coverage;
}

static void print(const struct pto_observe_summary *summary) {
  const struct pto_coverage coverage = coverage_of(summary);
  const struct pto_run_result *result = &observed.session.result;
  printf("%s%s%s\n", result->program, result->case_name ? " " : "", result->case_name ? result->case_name : "");
  pto_findings_print(&observed.findings, stdout, MAX_LINES);
  if (summary->is_watched_by_tool) {
    printf("  not compared: each kernel ran once, one at a time, under the tool that watches this process and reports "
           "for itself\n");
  } else {
    printf("  observed %" PRIu64 " kernel calls of %" PRIu64 " tasks in %" PRIu64 " runs, %.1f times what the kernels "
           "take alone\n",
           summary->calls, pto_observed_tasks(&observed), summary->runs, factor_of(summary));
    if (summary->outputs_left && pto_findings_is_clean(&observed.findings))
      printf("  %" PRIu64 " outputs were written in part; the rest is never read\n", summary->outputs_left);
  }
  if (pto_findings_is_clean(&observed.findings))
    puts(result->exit_code == PTO_EXIT_FAILED ? "  the run failed; until then nothing was found" : "  nothing found");
  else
    printf("  %" PRIu64 " found\n", observed.findings.total);
  pto_coverage_print(&coverage, stdout);
}

static void put_report(struct pto_json_writer *w, const void *context) {
  const struct pto_observe_summary *summary = context;
  const struct pto_coverage coverage = coverage_of(summary);
  const struct pto_run_result *result = &observed.session.result;
  pto_json_put_format(w, "pto-observe", 1);
  pto_json_put_string(w, "program", result->program);
  pto_json_put_string(w, "case", result->case_name);
  pto_json_put_string(w, "chip", result->chip);
  pto_json_put_u64(w, "seed", result->seed);
  pto_json_put_u64(w, "tasks", pto_observed_tasks(&observed));
  pto_json_put_u64(w, "contexts", observed.context_count);
  pto_json_put_u64(w, "contexts_left_out", observed.contexts_left_out);
  pto_json_put_bool(w, "compared", !summary->is_watched_by_tool);
  pto_json_put_u64(w, "calls", summary->calls);
  pto_json_put_u64(w, "calls_left_out", summary->calls_left_out);
  pto_json_put_u64(w, "calls_too_large", summary->calls_too_large);
  pto_json_put_u64(w, "waiting_units", summary->waiting_units);
  pto_json_put_u64(w, "units_judged", summary->units_judged);
  pto_json_put_u64(w, "outputs_left", summary->outputs_left);
  pto_json_put_u64(w, "runs", summary->runs);
  pto_json_put_double(w, "cost_factor", factor_of(summary));
  pto_findings_put_json(&observed.findings, w);
  pto_coverage_put_json(&coverage, w);
  pto_put_end(w, &result->error, pto_observed_exit(&observed));
}

static int finish(const struct pto_run_options *options) {
  const struct pto_run_result *result = &observed.session.result;
  const struct pto_observe_summary summary = pto_observed_summary(&observed);
  const bool has_text = !options->quiet && !pto_run_options_take_stdout(options);
  if (has_text && result->has_time && result->exit_code != PTO_EXIT_USAGE) print(&summary);
  fflush(stdout);
  if (result->error.sentence[0] && (!options->quiet || !options->json_path))
    pto_complain(0, "%s", result->error.sentence);
  const struct pto_judgement judgement = {
      .verb = "check --observe",
      .program = result->program,
      .case_name = result->case_name,
      .findings = &observed.findings,
      .error = result->error.sentence,
      .seconds = (double)summary.total_ns * 1e-9,
      .exit_code = pto_write_report(options->json_path, put_report, &summary, pto_observed_exit(&observed))};
  return pto_write_judgement(options, &judgement);
}

int pto_check_observe(const struct pto_run_options *options, const struct pto_observe_options *observe) {
  struct pto_config config;
  const struct pto_session_options asked = pto_run_options_session(options, &config);
  json_path = options->json_path;
  pto_fault_report_take(last_words, NULL);
  pto_fault_report_set_describer(pto_describe_call, &observed.session);
  pto_progress_line_begin(options->programs.items[0], !options->quiet);
  const bool is_open = pto_observed_open(&observed, &asked, observe) == PTO_EXIT_OK;
  observed.findings.command = options->again;
  if (is_open) (void)pto_observed_run(&observed);
  pto_progress_line_end();
  const int code = finish(options);
  pto_observed_close(&observed);
  pto_fault_report_give_back();
  return code;
}
