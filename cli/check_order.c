/* SPDX-License-Identifier: MIT */
#include <cli/check_order.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <check/order_check.h>
#include <cli/findings_report.h>
#include <cli/output_file.h>
#include <cli/recorded_run.h>
#include <cli/stopped.h>
#include <cli/verb.h>

/* Lines of findings for people; --json has all. */
#define MAX_LINES 20u

struct check {
  struct pto_recorded_run run;
  struct pto_findings findings;
  struct pto_order_counts counts;
  double seconds; /* of the judgement, without the run */
};

static double monotonic_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- steps ---- */

static int check_order(struct check *check, struct pto_error *error) {
  const struct pto_order_question question = {
      .trace = check->run.trace, .rules = check->run.rules, .name_of = pto_recorded_run_array, .context = &check->run};
  const double begin = monotonic_seconds();
  const int status = pto_order_check(&question, &check->findings, &check->counts, error);
  check->seconds = monotonic_seconds() - begin;
  return status;
}

/* A run that ended well and is wrong has something that the accesses do not say. */
static void check_result(struct check *check) {
  const struct pto_finding wrong = {.kind = PTO_FINDING_WRONG,
                                    .tasks = {PTO_FINDING_NONE, PTO_FINDING_NONE},
                                    .params = {PTO_FINDING_NONE, PTO_FINDING_NONE}};
  if (pto_run_session_verify(&check->run.session) == PTO_EXIT_FINDINGS)
    pto_findings_add(&check->findings, &wrong, NULL, "%s, under rules exact", check->run.session.result.error.sentence);
}

/* PTO_OK, or the status of the first step that could not be made. */
static int judge(struct check *check, bool has_ended_well, struct pto_error *error) {
  int status = check_order(check, error);
  if (status == PTO_OK && has_ended_well) check_result(check);
  return status;
}

/* ---- the report ---- */

static const char *plural(uint64_t count) { return count == 1 ? "" : "s"; }

/* "2 findings"; of a run that failed, that this is not all. */
static const char *format_found(const struct check *check, int code, char *text, size_t size) {
  const uint64_t total = check->findings.total;
  if (code == PTO_EXIT_FAILED && total == 0) return "the run failed; until then nothing was found";
  snprintf(text, size, "%" PRIu64 " finding%s%s", total, plural(total),
           code == PTO_EXIT_FAILED ? " until the run failed" : "");
  return text;
}

static void print(const struct check *check, int code) {
  char found[64];
  const struct pto_run_result *result = &check->run.session.result;
  const struct pto_order_counts *counts = &check->counts;
  pto_findings_print(&check->findings, stdout, MAX_LINES);
  printf("check: %s%s%s: %" PRIu64 " task%s, %" PRIu64 " edge%s and %" PRIu64 " pair%s under rules %s, %s, %.3f s\n",
         result->program, result->case_name ? " " : "", result->case_name ? result->case_name : "", counts->tasks,
         plural(counts->tasks), counts->edges, plural(counts->edges), counts->pairs, plural(counts->pairs),
         pto_deps_rules_name(check->run.rules), format_found(check, code, found, sizeof found), check->seconds);
}

static int write_json(const struct check *check, const char *path, int exit_code, struct pto_error *error) {
  const struct pto_run_result *result = &check->run.session.result;
  static struct pto_json_writer w;
  int fd, status = pto_output_open(path, &fd, error);
  if (status) return status;
  pto_json_init(&w, fd);
  pto_json_object_begin(&w);
  pto_json_put_string(&w, "program", result->program);
  pto_json_put_string(&w, "case", result->case_name);
  pto_json_put_string(&w, "deps", pto_deps_rules_name(check->run.rules));
  pto_json_put_u64(&w, "tasks", check->counts.tasks);
  pto_json_put_u64(&w, "edges", check->counts.edges);
  pto_json_put_u64(&w, "pairs", check->counts.pairs);
  pto_json_put_double(&w, "seconds", check->seconds);
  pto_findings_put_json(&check->findings, &w);
  pto_json_put_string(&w, "error", exit_code > PTO_EXIT_FINDINGS ? result->error.sentence : NULL);
  pto_json_put_u64(&w, "exit", (uint64_t)exit_code);
  pto_json_object_end(&w);
  return pto_output_close(path, fd, pto_json_finish(&w), error);
}

static int finish(struct check *check, const struct pto_run_options *options, int code) {
  const struct pto_error *failure = &check->run.session.result.error;
  struct pto_error error;
  if (code == PTO_EXIT_OK && !pto_findings_is_clean(&check->findings)) code = PTO_EXIT_FINDINGS;
  if (check->run.trace && !options->quiet && !pto_run_options_take_stdout(options)) print(check, code);
  fflush(stdout);
  if (code > PTO_EXIT_FINDINGS) pto_complain(0, "%s", failure->sentence);
  if (!options->quiet) pto_stopped_say(check->run.session.result.stopped);
  if (options->json_path && write_json(check, options->json_path, code, &error))
    return pto_complain(PTO_EXIT_FAILED, "%s", error.sentence);
  return code;
}

int pto_check_order(const struct pto_run_options *options) {
  static struct check check;
  struct pto_error error;
  pto_findings_init(&check.findings);
  int code = pto_recorded_run_open(&check.run, options, options->programs.items[0]);
  if (check.run.trace && judge(&check, code == PTO_EXIT_OK, &error) && code == PTO_EXIT_OK) {
    check.run.session.result.error = error;
    code = PTO_EXIT_FAILED;
  }
  code = finish(&check, options, code);
  pto_recorded_run_close(&check.run);
  pto_findings_fini(&check.findings);
  return code;
}
