/* SPDX-License-Identifier: MIT */
#include <cli/check/check.h>

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include <check/order/order_coverage.h>
#include <check/predict/enough_rings.h>
#include <check/ranks/ranks_observed.h>
#include <check/session/observed.h>
#include <cli/run/judgement.h>
#include <cli/main/fault_report.h>
#include <formats/units.h>
#include <report/findings/coverage.h>
#include <report/findings/findings.h>
#include <report/file/output_file.h>
#include <cli/main/progress_line.h>
#include <cli/run/request.h>
#include <cli/main/verb.h>

/* Lines of findings that people are told; --json has all. */
#define MAX_LINES 40u

/* last_words reads them while other threads run: one chip, or several ranks. */
static struct pto_observed observed;
static struct pto_ranks_observed ranked;
static uint32_t rank_count; /* 0: one chip */
static const char *json_path, *subject;

/* What is told, of either. */
struct told {
  const struct pto_run_result *result; /* of several ranks, the first one's */
  const struct pto_findings *findings;
  const struct pto_error *error;
  struct pto_observe_summary summary;
  uint64_t tasks, contexts, contexts_left_out;
  bool is_known; /* the run began */
  int exit_code;
};

static struct told told_now(void) {
  const struct pto_observed_session *its = &observed.its;
  if (!rank_count)
    return (struct told){.result = &observed.session.result,
                         .findings = &observed.findings,
                         .error = &observed.session.result.error,
                         .summary = pto_observed_summary(&observed),
                         .tasks = pto_observed_tasks(&observed),
                         .contexts = its->context_count,
                         .contexts_left_out = its->contexts_left_out,
                         .is_known = its->observation || its->context_count || its->contexts_left_out,
                         .exit_code = pto_observed_exit(&observed)};
  static const struct pto_run_result none;
  uint64_t contexts, left_out;
  pto_ranks_observed_contexts(&ranked, &contexts, &left_out);
  return (struct told){.result = ranked.ranks.sessions ? &ranked.ranks.sessions[0].result : &none,
                       .findings = &ranked.findings,
                       .error = &ranked.ranks.error,
                       .summary = pto_ranks_observed_summary(&ranked),
                       .tasks = pto_ranks_observed_tasks(&ranked),
                       .contexts = contexts,
                       .contexts_left_out = left_out,
                       .is_known = ranked.is_open,
                       .exit_code = pto_ranks_observed_exit(&ranked)};
}

static void put_report(struct pto_json_writer *w, const void *context);

/* The sentence first: what the JSON needs may be what the kernel wrote over, and a fault in here ends the process. */
static void last_words(void *context, int status, const char *sentence) {
  char line[PTO_SENTENCE_SIZE + 16];
  struct pto_error *error = rank_count ? &ranked.ranks.error : &observed.session.result.error, unused;
  (void)context;
  const int length = snprintf(line, sizeof line, "ptosim: %s\n", sentence);
  if (length > 0) (void)!write(STDERR_FILENO, line, strnlen(line, sizeof line));
  *(rank_count ? &ranked.ranks.exit_code : &observed.session.result.exit_code) = PTO_EXIT_FAILED;
  pto_error_set(error, status, "%s", sentence);
  const struct told told = told_now();
  if (json_path && pto_output_json(json_path, put_report, &told, &unused)) _exit(PTO_EXIT_FAILED);
  _exit(PTO_EXIT_FAILED);
}

/* ---- the report ---- */

static double factor_of(const struct pto_observe_summary *summary) {
  return summary->kernel_ns ? (double)summary->total_ns / (double)summary->kernel_ns : 0;
}

/* Kernels may read them and write them: what they do to them is asked of none. */
static void cover_held(const struct pto_session *session, struct pto_coverage *coverage) {
  struct pto_coverage declared = {0};
  const struct pto_coverage_row *row = &declared.rows[PTO_COVERAGE_HELD];
  const struct pto_trace *trace = pto_session_trace(session);
  if (trace && pto_trace_has_graph(trace)) pto_order_cover(trace, rank_count > 0, &declared);
  if (row->command)
    pto_coverage_leave(coverage, PTO_COVERAGE_HELD, row->not_judged, row->command);
  else
    pto_coverage_leave_because(coverage, PTO_COVERAGE_HELD, row->not_judged, row->reason);
}

/* Nothing is known of a run that did not begin. */
static struct pto_coverage coverage_of(const struct told *told) {
  const struct pto_observe_summary *summary = &told->summary;
  struct pto_coverage coverage = {.subject = subject};
  if (!told->is_known) return coverage;
  pto_coverage_add(&coverage, PTO_COVERAGE_CALLS, summary->calls);
  if (summary->is_watched_by_tool)
    pto_coverage_leave_because(&coverage, PTO_COVERAGE_CALLS, PTO_COVERAGE_UNCOUNTED,
                               "the tool that watches this process looks at them");
  pto_coverage_leave(&coverage, PTO_COVERAGE_REMOTE_CALLS, summary->calls_remote, "check");
  pto_coverage_leave_because(&coverage, PTO_COVERAGE_WAITING_TOUCH, summary->calls_waiting,
                             "such a call is not made alone");
  pto_coverage_add(&coverage, PTO_COVERAGE_WAITING_CALLS, summary->units_judged);
  pto_coverage_leave_because(&coverage, PTO_COVERAGE_WAITING_CALLS, summary->waiting_units - summary->units_judged,
                             "it failed, or four of its form are judged, and one whose cores call the same");
  pto_coverage_leave_because(&coverage, PTO_COVERAGE_POLLS, summary->units_polling,
                             "the value that a core polls is taken for a signal");
  if (!rank_count) cover_held(&observed.session, &coverage);
  for (uint32_t i = 0; i < rank_count; i++) cover_held(&ranked.ranks.sessions[i], &coverage);
  pto_coverage_leave(&coverage, PTO_COVERAGE_TASK_ORDER, told->tasks, "check");
  pto_coverage_leave(&coverage, PTO_COVERAGE_LEFT_OUT, summary->calls_left_out, "check --observe");
  pto_coverage_leave_because(&coverage, PTO_COVERAGE_TOO_LARGE, summary->calls_too_large,
                             "their pages are kept to be compared");
  pto_coverage_add(&coverage, PTO_COVERAGE_CONTEXTS, summary->is_watched_by_tool ? 0 : told->contexts);
  pto_coverage_leave_because(&coverage, PTO_COVERAGE_CONTEXTS, told->contexts_left_out, PTO_COVERAGE_ONE_CONTEXT);
  if (!rank_count) pto_coverage_leave(&coverage, PTO_COVERAGE_BORROWED, observed.session.dispatches, "explore");
  pto_coverage_add(&coverage, PTO_COVERAGE_SEEDS, summary->calls > 0);
  pto_coverage_leave(&coverage, PTO_COVERAGE_SEEDS, PTO_COVERAGE_UNCOUNTED, "check --observe --seed N");
  pto_session_cover_seeds(rank_count ? &ranked.ranks.sessions[0] : &observed.session, &coverage);
  return coverage;
}

static void print(const struct told *told) {
  const struct pto_observe_summary *summary = &told->summary;
  const struct pto_coverage coverage = coverage_of(told);
  const struct pto_run_result *result = told->result;
  printf("%s%s%s\n", result->program, result->case_name ? " " : "", result->case_name ? result->case_name : "");
  pto_findings_print(told->findings, stdout, MAX_LINES);
  if (summary->is_watched_by_tool) {
    printf("  not compared: each kernel ran once, one at a time, under the tool that watches this process and reports "
           "for itself\n");
  } else {
    printf("  observed %" PRIu64 " kernel call%s of %" PRIu64 " task%s", summary->calls, pto_plural(summary->calls),
           told->tasks, pto_plural(told->tasks));
    if (rank_count) printf(" on %" PRIu32 " rank%s", rank_count, pto_plural(rank_count));
    if (summary->calls)
      printf(" in %" PRIu64 " run%s, %.1f times what the kernels take alone", summary->runs, pto_plural(summary->runs),
             factor_of(summary));
    putchar('\n');
    if (summary->outputs_left && pto_findings_is_clean(told->findings))
      printf("  %" PRIu64 " output%s written in part; no task reads the rest before another writes it\n",
             summary->outputs_left, summary->outputs_left == 1 ? " was" : "s were");
  }
  if (pto_findings_is_clean(told->findings) && !summary->calls && !summary->is_watched_by_tool &&
      told->exit_code != PTO_EXIT_FAILED)
    puts("  nothing was observed");
  else if (pto_findings_is_clean(told->findings))
    puts(told->exit_code == PTO_EXIT_FAILED ? "  the run failed; until then nothing was found" : "  nothing found");
  else
    printf("  %" PRIu64 " found\n", told->findings->total);
  pto_coverage_print(&coverage, stdout);
}

static void put_report(struct pto_json_writer *w, const void *context) {
  const struct told *told = context;
  const struct pto_observe_summary *summary = &told->summary;
  const struct pto_coverage coverage = coverage_of(told);
  const struct pto_run_result *result = told->result;
  pto_json_put_format(w, "pto-observe", 1);
  pto_json_put_string(w, "program", result->program);
  pto_json_put_string(w, "case", result->case_name);
  if (rank_count) pto_json_put_u64(w, "ranks", rank_count);
  pto_json_put_string(w, "chip", result->chip);
  pto_json_put_u64(w, "seed", result->seed);
  pto_json_put_u64(w, "tasks", told->tasks);
  pto_json_put_u64(w, "contexts", told->contexts);
  pto_json_put_u64(w, "contexts_left_out", told->contexts_left_out);
  pto_json_put_bool(w, "compared", !summary->is_watched_by_tool);
  pto_json_put_u64(w, "calls", summary->calls);
  pto_json_put_u64(w, "calls_left_out", summary->calls_left_out);
  pto_json_put_u64(w, "calls_too_large", summary->calls_too_large);
  if (rank_count) pto_json_put_u64(w, "calls_remote", summary->calls_remote);
  if (rank_count) pto_json_put_u64(w, "calls_waiting", summary->calls_waiting);
  pto_json_put_u64(w, "waiting_units", summary->waiting_units);
  pto_json_put_u64(w, "units_judged", summary->units_judged);
  pto_json_put_u64(w, "outputs_left", summary->outputs_left);
  pto_json_put_u64(w, "runs", summary->runs);
  pto_json_put_double(w, "cost_factor", factor_of(summary));
  pto_findings_put_json(told->findings, w);
  pto_coverage_put_json(&coverage, w);
  pto_put_end(w, told->error, told->exit_code);
}

static int finish(const struct pto_run_options *options) {
  const struct told told = told_now();
  const bool has_text = !options->quiet && !pto_run_options_take_stdout(options) && told.result->has_time &&
                        told.exit_code != PTO_EXIT_USAGE;
  if (has_text) print(&told);
  fflush(stdout);
  const bool is_told_here = !rank_count || ranked.ranks.is_told_here;
  /* Cores that wait for ever are a finding, and end the run. */
  const bool is_found = has_text && !rank_count && told.findings->by_kind[PTO_FINDING_STUCK] > 0;
  if (told.error->sentence[0] && is_told_here && !is_found && (!options->quiet || !options->json_path))
    pto_complain(0, "%s", told.error->sentence);
  const struct pto_judgement judgement = {.verb = "check --observe",
                                          .program = told.result->program,
                                          .case_name = told.result->case_name,
                                          .findings = told.findings,
                                          .error = told.error->sentence,
                                          .seconds = (double)told.summary.total_ns * 1e-9,
                                          .exit_code =
                                              pto_write_report(options->json_path, put_report, &told, told.exit_code)};
  return pto_write_judgement(options, &judgement);
}

int pto_check_observe(const struct pto_run_options *options, const struct pto_observe_options *observe) {
  struct pto_config config;
  const struct pto_session_options asked = pto_run_options_session(options, &config);
  json_path = options->json_path;
  subject = options->subject;
  rank_count = options->ranks ? options->ranks : pto_ranks_wanted(&asked);
  pto_fault_report_take(last_words, NULL);
  if (rank_count)
    pto_fault_report_set_describer(pto_describe_call_of_rank, &ranked.ranks);
  else
    pto_fault_report_set_describer(pto_describe_call, &observed.session);
  pto_progress_line_begin(options->programs.items[0], !options->quiet);
  if (!rank_count) {
    const bool is_open = pto_observed_open(&observed, &asked, observe) == PTO_EXIT_OK;
    observed.findings.command = options->again;
    if (is_open) (void)pto_observed_run(&observed);
    if (is_open) pto_enough_rings_say(&observed.session, &observed.session.result.error);
  } else {
    const bool is_open = pto_ranks_observed_open(&ranked, &asked, rank_count, observe) == PTO_EXIT_OK;
    ranked.findings.command = options->again;
    if (is_open) (void)pto_ranks_observed_run(&ranked);
  }
  pto_progress_line_end();
  const int code = finish(options);
  if (rank_count)
    pto_ranks_observed_close(&ranked);
  else
    pto_observed_close(&observed);
  pto_fault_report_give_back();
  return code;
}
