/* SPDX-License-Identifier: MIT */
#include <cli/check_observe.h>

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include <cli/fault_report.h>
#include <cli/findings_report.h>
#include <cli/output_file.h>
#include <cli/progress_line.h>
#include <cli/run_session.h>
#include <cli/verb.h>
#include <device/context_watch.h>
#include <runtime/control/control.h>

/* Lines of findings that people are told; --json has all. */
#define MAX_LINES 40u

int pto_check_observe_tasks(const char *text, struct pto_observe_options *observe, struct pto_error *error) {
  char first[24];
  const char *dash = strchr(text, '-');
  snprintf(first, sizeof first, "%.*s", (int)(dash ? dash - text : 23), text);
  int status = pto_parse_u64(first, 0, UINT64_MAX, &observe->first_task, error);
  if (status == PTO_OK) status = pto_parse_u64(dash ? dash + 1 : first, 0, UINT64_MAX, &observe->last_task, error);
  if (status == PTO_OK && observe->first_task > observe->last_task)
    status = pto_error_set(error, PTO_EINVAL, "\"%s\": the last task comes before the first", text);
  observe->has_tasks = status == PTO_OK;
  return status;
}

static struct observed {
  struct pto_run_session session;
  struct pto_findings findings;
  struct pto_observation *observation; /* of contexts: of the one that lives */
  /* Of a program that drives contexts of its own. */
  const struct pto_observe_options *options;
  struct pto_context_watch watch;
  struct pto_runtime *rt;            /* that the observation is of */
  struct pto_observe_summary so_far; /* of contexts that are gone */
  uint64_t task_count, most_tasks;   /* of all contexts that are gone, and of one: numbers begin anew with each */
  uint32_t context_count, contexts_left_out;
} observed;
static const char *json_path;

static int write_json(const struct pto_observe_summary *summary, const char *path, struct pto_error *error);

static struct pto_observe_summary summary_of_all(void) {
  struct pto_observe_summary all = observed.so_far;
  if (!observed.observation) return all;
  const struct pto_observe_summary last = pto_observation_summary(observed.observation);
  all.calls += last.calls;
  all.calls_left_out += last.calls_left_out;
  all.calls_too_large += last.calls_too_large;
  all.waiting_units += last.waiting_units;
  all.outputs_left += last.outputs_left;
  all.runs += last.runs;
  all.kernel_ns += last.kernel_ns;
  all.total_ns += last.total_ns;
  all.is_watched_by_tool |= last.is_watched_by_tool;
  return all;
}

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
  summary = summary_of_all();
  if (json_path) (void)write_json(&summary, json_path, &unused);
  _exit(PTO_EXIT_FAILED);
}

/* ---- contexts, one at a time ---- */

static int context_created(void *argument, struct pto_runtime *rt, void *memory, uint64_t memory_bytes,
                           struct pto_error *error) {
  (void)argument;
  if (observed.observation || strcmp(pto_runtime_port(rt)->name, "observe") != 0) {
    observed.contexts_left_out++;
    return PTO_OK;
  }
  const int status = pto_observation_create(rt, observed.options, &observed.findings, &observed.observation, error);
  if (status) return status;
  pto_observation_add_array(observed.observation, memory, memory_bytes, "device memory");
  observed.rt = rt;
  observed.context_count++;
  return PTO_OK;
}

static void context_destroyed(void *argument, struct pto_runtime *rt, const struct pto_context_counters *counters) {
  (void)argument;
  if (rt != observed.rt) return;
  observed.so_far = summary_of_all();
  observed.task_count += counters->tasks;
  observed.most_tasks = pto_max_u64(observed.most_tasks, counters->tasks);
  pto_observation_destroy(observed.observation);
  observed.observation = NULL;
  observed.rt = NULL;
}

/* ---- the run ---- */

static int watch(const struct pto_observe_options *observe) {
  struct pto_run_result *result = &observed.session.result;
  const uint64_t margin = observed.session.options->array_margin_bytes;
  if (!observed.session.rt) {
    observed.options = observe;
    observed.watch = (struct pto_context_watch){.created = context_created, .destroyed = context_destroyed};
    observed.session.config.context_watch = &observed.watch;
    return PTO_EXIT_OK;
  }
  int status =
      pto_observation_create(observed.session.rt, observe, &observed.findings, &observed.observation, &result->error);
  if (status) return result->exit_code = PTO_EXIT_FAILED;
  const struct pto_array *array;
  for (uint32_t i = 0; margin && (array = pto_program_run_array(observed.session.run, i)) != NULL; i++)
    pto_observation_add_array(observed.observation, (char *)array->data - margin,
                              pto_align_up(array->size_bytes, margin) + 2 * margin, array->name);
  return PTO_EXIT_OK;
}

/* What it leaves with: a run that failed or is wrong counts more than a finding. */
static int exit_code(void) {
  const int code = observed.session.result.exit_code;
  return code != PTO_EXIT_OK || pto_findings_is_clean(&observed.findings) ? code : PTO_EXIT_FINDINGS;
}

/* Once the run is known, which has told its number of tasks. */
static int check_range(const struct pto_observe_options *observe) {
  struct pto_run_result *result = &observed.session.result;
  const uint64_t tasks = observed.most_tasks ? observed.most_tasks : result->stats.tasks;
  if (!observe->has_tasks || observe->last_task < tasks) return result->exit_code;
  pto_error_set(&result->error, PTO_EINVAL,
                "--observe-tasks: there is no task %" PRIu64 ": the run has %" PRIu64 ", and the first is 0",
                observe->last_task, tasks);
  return result->exit_code = PTO_EXIT_USAGE;
}

/* ---- the report ---- */

/* Those of contexts are counted as they are observed: the program need not report all. */
static uint64_t task_count(void) {
  return observed.context_count ? observed.task_count : observed.session.result.stats.tasks;
}

static double factor_of(const struct pto_observe_summary *summary) {
  return summary->kernel_ns ? (double)summary->total_ns / (double)summary->kernel_ns : 0;
}

static void print_left_out(const struct pto_observe_summary *summary) {
  if (observed.context_count > 1) printf("  in %" PRIu32 " contexts, one after another\n", observed.context_count);
  if (observed.contexts_left_out)
    printf("  %" PRIu32 " contexts were not observed: of the host, or made while another one lived\n",
           observed.contexts_left_out);
  if (summary->calls_left_out) printf("  %" PRIu64 " calls were not looked at, as asked\n", summary->calls_left_out);
  if (summary->calls_too_large)
    printf("  %" PRIu64 " calls were not looked at: they write more pages than there is room for\n",
           summary->calls_too_large);
  if (summary->outputs_left && pto_findings_is_clean(&observed.findings))
    printf("  %" PRIu64 " outputs were written in part; nobody reads the rest\n", summary->outputs_left);
  if (summary->waiting_units)
    printf("  in %" PRIu64
           " of these calls cores wait for each other: observed together, not which of them touches what\n",
           summary->waiting_units);
}

static void print(const struct pto_observe_summary *summary) {
  const struct pto_run_result *result = &observed.session.result;
  printf("%s%s%s\n", result->program, result->case_name ? " " : "", result->case_name ? result->case_name : "");
  pto_findings_print(&observed.findings, stdout, MAX_LINES);
  if (summary->is_watched_by_tool) {
    printf("  not compared: each kernel ran once, one at a time, under the tool that watches this process and reports "
           "for itself\n");
  } else {
    printf("  observed %" PRIu64 " kernel calls of %" PRIu64 " tasks in %" PRIu64 " runs, %.1f times what the kernels "
           "take alone\n",
           summary->calls, task_count(), summary->runs, factor_of(summary));
    print_left_out(summary);
  }
  if (pto_findings_is_clean(&observed.findings))
    puts(result->exit_code == PTO_EXIT_FAILED ? "  the run failed; until then nothing was found" : "  nothing found");
  else
    printf("  %" PRIu64 " found\n", observed.findings.total);
}

static int write_json(const struct pto_observe_summary *summary, const char *path, struct pto_error *error) {
  const struct pto_run_result *result = &observed.session.result;
  struct pto_json_writer w;
  int fd, status = pto_output_open(path, &fd, error);
  if (status) return status;
  pto_json_init(&w, fd);
  pto_json_object_begin(&w);
  pto_json_put_string(&w, "program", result->program);
  pto_json_put_string(&w, "case", result->case_name);
  pto_json_put_string(&w, "chip", result->chip);
  pto_json_put_u64(&w, "seed", result->seed);
  pto_json_put_u64(&w, "tasks", task_count());
  pto_json_put_u64(&w, "contexts", observed.context_count);
  pto_json_put_u64(&w, "contexts_left_out", observed.contexts_left_out);
  pto_json_put_bool(&w, "compared", !summary->is_watched_by_tool);
  pto_json_put_u64(&w, "calls", summary->calls);
  pto_json_put_u64(&w, "calls_left_out", summary->calls_left_out);
  pto_json_put_u64(&w, "calls_too_large", summary->calls_too_large);
  pto_json_put_u64(&w, "waiting_units", summary->waiting_units);
  pto_json_put_u64(&w, "outputs_left", summary->outputs_left);
  pto_json_put_u64(&w, "runs", summary->runs);
  pto_json_put_double(&w, "cost_factor", factor_of(summary));
  pto_findings_put_json(&observed.findings, &w);
  pto_json_put_string(&w, "status", pto_status_name(result->error.status));
  pto_json_put_u64(&w, "exit", (uint64_t)exit_code());
  pto_json_put_string(&w, "error", result->error.sentence[0] ? result->error.sentence : NULL);
  pto_json_object_end(&w);
  return pto_output_close(path, fd, pto_json_finish(&w), error);
}

static int finish(void) {
  const struct pto_run_options *options = observed.session.options;
  const struct pto_run_result *result = &observed.session.result;
  const struct pto_observe_summary summary = summary_of_all();
  struct pto_error error;
  const bool has_text = !options->quiet && !(options->json_path && strcmp(options->json_path, "-") == 0);
  if (has_text && result->has_time && result->exit_code != PTO_EXIT_USAGE) print(&summary);
  fflush(stdout);
  if (result->error.sentence[0] && (!options->quiet || !options->json_path))
    pto_complain(0, "%s", result->error.sentence);
  if (options->json_path && write_json(&summary, options->json_path, &error))
    return pto_complain(PTO_EXIT_FAILED, "%s", error.sentence);
  return exit_code();
}

int pto_check_observe(const struct pto_run_options *given, const struct pto_observe_options *observe) {
  struct pto_run_options options = *given;
  struct pto_error error;
  options.engine = "observe";
  json_path = given->json_path;
  if (!pto_observation_is_left_to_tool()) options.array_margin_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
  if (pto_fault_report_init(last_words, NULL, &error)) return pto_complain(PTO_EXIT_FAILED, "%s", error.sentence);
  pto_findings_init(&observed.findings);
  observed = (struct observed){.findings = observed.findings};
  pto_progress_line_begin(options.programs.items[0], !options.quiet);
  int code = pto_run_session_open(&observed.session, &options, options.programs.items[0], PTO_RECORD_GRAPH);
  if (code == PTO_EXIT_OK) code = watch(observe);
  if (code == PTO_EXIT_OK) code = pto_run_session_execute(&observed.session);
  if (code == PTO_EXIT_OK) code = check_range(observe);
  if (code == PTO_EXIT_OK) (void)pto_run_session_verify(&observed.session);
  pto_progress_line_end();
  code = finish();
  pto_observation_destroy(observed.observation);
  pto_run_session_close(&observed.session);
  pto_findings_fini(&observed.findings);
  pto_fault_report_fini();
  return code;
}
