/* SPDX-License-Identifier: MIT */
#include <cli/check/check.h>

#include <inttypes.h>
#include <stdio.h>

#include <check/ranks/delayed.h>
#include <cli/main/fault_report.h>
#include <cli/main/progress_line.h>
#include <cli/main/verb.h>
#include <cli/run/judgement.h>
#include <cli/run/request.h>
#include <cli/run/shared.h>
#include <formats/units.h>
#include <report/findings/coverage.h>
#include <runtime/base/clock.h>

#define MOST_LINES 20u

struct explored {
  const struct pto_run_options *options;
  struct pto_findings findings;
  struct pto_delays delays;
  double seconds;
  int exit_code; /* for the report */
};

static void show_progress(uint64_t done, uint64_t count) {
  pto_progress_line_stage("exploring", (unsigned)(done + 1), (unsigned)count);
}

/* Nothing is known where no run ended. */
static struct pto_coverage coverage_of(const struct explored *x) {
  struct pto_coverage coverage = {.subject = x->options->subject};
  if (!x->delays.runs) return coverage;
  pto_coverage_add(&coverage, PTO_COVERAGE_RUNS, x->delays.runs);
  pto_coverage_leave_because(&coverage, PTO_COVERAGE_ORDERS, PTO_COVERAGE_UNCOUNTED,
                             "they follow from when messages come");
  if (x->options->no_compute)
    pto_coverage_leave_because(&coverage, PTO_COVERAGE_OUTPUTS, PTO_COVERAGE_UNCOUNTED,
                               "without kernels there are none: how runs end is compared");
  pto_coverage_add(&coverage, PTO_COVERAGE_SEEDS, 1);
  pto_coverage_leave(&coverage, PTO_COVERAGE_SEEDS, PTO_COVERAGE_UNCOUNTED, "explore --seed N");
  return coverage;
}

/* The keys of other explorations; those of orders of calls are empty. */
static void put_report(struct pto_json_writer *w, const void *context) {
  const struct explored *x = context;
  const struct pto_coverage coverage = coverage_of(x);
  const struct pto_run_options *o = x->options;
  pto_json_put_format(w, "pto-explore", 1);
  pto_json_put_string(w, "program", o->programs.items[0]);
  pto_json_put_string(w, "case", o->case_name);
  pto_json_put_u64(w, "ranks", x->delays.rank_count);
  pto_json_put_string(w, "engine", "virtual");
  const bool has_run = x->delays.reference.chip[0] != '\0';
  pto_json_put_string(w, "chip", has_run ? x->delays.reference.chip : o->chip);
  pto_json_put_string(w, "deps", pto_deps_rules_list(has_run ? x->delays.reference.rules : o->deps).text);
  pto_json_put_u64(w, "seed", o->seed);
  pto_json_put_u64(w, "tasks", x->delays.reference.tasks);
  pto_json_put_u64(w, "calls", 0);
  pto_json_put_object(w, "strategies");
  pto_json_object_end(w);
  pto_json_put_u64(w, "schedules", x->delays.runs);
  pto_json_put_u64(w, "distinct_orders", 0);
  pto_json_put_u64(w, "decisions", 0);
  pto_json_put_u64(w, "thread_runs", 0);
  pto_json_put_u64(w, "differing", x->delays.differing);
  (void)pto_json_try_key(w, "all", false);
  pto_json_put_array(w, "differences");
  pto_json_array_end(w);
  pto_findings_put_json(&x->findings, w);
  pto_coverage_put_json(&coverage, w);
  pto_json_put_u64(w, "exit", (uint64_t)x->exit_code);
  pto_json_put_string(w, "error", x->delays.error.sentence[0] ? x->delays.error.sentence : NULL);
}

/* Whose arrays a fault is told of. */
static void describe(const struct pto_ranks *ranks) {
  pto_fault_report_set_describer(ranks ? pto_describe_call_of_rank : NULL, (void *)(uintptr_t)ranks);
}

static int report(struct explored *x, const char *page) {
  const struct pto_run_options *options = x->options;
  const uint32_t rank_count = x->delays.rank_count;
  if (!options->quiet && !pto_run_options_take_stdout(options) &&
      (x->exit_code <= PTO_EXIT_FINDINGS || x->delays.runs)) {
    pto_findings_print(&x->findings, stdout, MOST_LINES);
    printf("%s: %" PRIu32 " rank%s, %" PRIu64 " task%s; %" PRIu64 " run%s in which ranks are late, %" PRIu64
           " differ\n",
           options->programs.items[0], rank_count, pto_plural(rank_count), x->delays.reference.tasks,
           pto_plural(x->delays.reference.tasks), x->delays.runs, pto_plural(x->delays.runs), x->delays.differing);
    const struct pto_coverage coverage = coverage_of(x);
    pto_coverage_print(&coverage, stdout);
  }
  fflush(stdout);
  if (x->delays.error.sentence[0]) pto_complain(0, "%s", x->delays.error.sentence);
  const struct pto_report_page_document document = {"explore", put_report, x};
  const int exit_code = pto_write_page(page, &document, x->exit_code);
  const struct pto_judgement judgement = {.verb = "explore",
                                          .program = options->programs.items[0],
                                          .case_name = options->case_name,
                                          .findings = &x->findings,
                                          .error = x->delays.error.sentence,
                                          .seconds = x->seconds,
                                          .exit_code = pto_write_report(options->json_path, put_report, x, exit_code)};
  return pto_write_judgement(options, &judgement);
}

/* A shard tells nothing but why it failed. */
static int end_part(struct explored *x, struct pto_run_options *options) {
  if (x->delays.error.sentence[0]) pto_complain(0, "%s", x->delays.error.sentence);
  return pto_shared_end(options, x->exit_code);
}

int pto_explore_ranks(struct pto_run_options *options, const struct pto_session_options *asked, uint32_t rank_count,
                      uint64_t runs, const char *page) {
  struct explored x = {.options = options,
                       .delays = {.options = asked,
                                  .rank_count = rank_count,
                                  .run_count = runs,
                                  .seed = options->seed,
                                  .share = &options->share,
                                  .tell = show_progress,
                                  .running = describe}};
  pto_findings_init(&x.findings);
  x.findings.command = options->again;
  pto_progress_line_begin(options->programs.items[0], !options->quiet);
  const double begin = pto_clock_seconds();
  x.exit_code = pto_delays_begin(&x.delays);
  if (x.exit_code == PTO_EXIT_OK) x.exit_code = pto_shared_begin(options, runs, pto_delays_digest(&x.delays));
  if (x.exit_code == PTO_EXIT_OK) x.exit_code = pto_delays_run(&x.delays, &x.findings);
  x.seconds = pto_clock_seconds() - begin;
  pto_progress_line_end();
  const int code = pto_share_is_part(&options->share) ? end_part(&x, options) : report(&x, page);
  pto_findings_fini(&x.findings);
  return code;
}
