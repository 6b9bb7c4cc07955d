/* SPDX-License-Identifier: MIT */
/*
 * `ptosim perf`: runs a program with perf attached, and says whose time the samples were.
 *
 * perf samples this process while the rounds go on; the timeline of each round, or of each context that the program
 * drives and reports, is kept when it ends, by perf's own clock, and the samples are joined with it afterwards.  Making
 * inputs and verifying are outside of it.
 *
 * Whatever happens after the options were understood ends in one place, finish; a kernel that crashes or does not come
 * back ends in last_words, on another thread.
 */
#include <cli/main/verb.h>

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cli/main/fault_report.h>
#include <cli/measure/perf_join.h>
#include <cli/measure/perf_recording.h>
#include <cli/measure/perf_report.h>
#include <cli/main/progress_line.h>
#include <cli/run/request.h>
#include <report/file/output_file.h>
#include <runtime/base/base.h>

#define DEFAULT_FREQUENCY_HZ 4999u /* prime: out of step with whatever repeats */
#define DEFAULT_TOP 5u
#define LANES 3u

struct perf {
  struct pto_run_options options;
  struct pto_perf_request request;
  uint32_t top;
  struct pto_session session;
  struct pto_perf_recording recording;
  struct pto_perf_join join;
  bool has_join; /* finished: there is something to report */
};

/* ---- options of its own ---- */

static int set_event(void *target, const char *value, struct pto_error *error) {
  if (!value[0] || value[0] == '-' || strpbrk(value, ", {}"))
    return pto_error_set(error, PTO_EINVAL, "\"%s\" is not one event", value);
  ((struct perf *)target)->request.event = value;
  return PTO_OK;
}
static int set_data(void *target, const char *value, struct pto_error *error) {
  if (strcmp(value, "-") == 0) return pto_error_set(error, PTO_EINVAL, "perf's data need a file");
  ((struct perf *)target)->request.data_path = value;
  return PTO_OK;
}
static const struct pto_option_spec extra[] = {
    {"event", "EVENT", "what to sample by, of `perf list` (default: cycles, else cpu-clock)", .set = set_event},
    {"frequency", "HZ", "samples a second and thread (default 4999)",
     PTO_OPTION_NUMBER(struct perf, request.frequency_hz, 1, 1000000)},
    {"data", "FILE", "keeps perf's samples, for `perf report` and `perf annotate`", .set = set_data},
    {"top", "N", "symbols of a kernel, and tasks, that are shown (default 5)",
     PTO_OPTION_NUMBER(struct perf, top, 0, 1000000)},
    {0}};

static void help(const struct pto_run_options *options) {
  puts(
      "ptosim perf PROGRAM [OPTION...]\n\n"
      "Runs the program on threads under perf, and says how much of the time went into each kernel (and which symbols\n"
      "in it), each core and task, and each kind of control work.  --json writes that report; the other options are\n"
      "those of `ptosim run`.  Short programs need many rounds: --rounds 100.\n");
  pto_run_options_help(PTO_VERB_perf, extra);
  puts("\nLeaves as `ptosim run` does, and with 2 where perf is missing or may not sample.");
}

/* ---- the end of a process whose kernel is stuck or gone ---- */

static void last_words(void *context, int status, const char *sentence) {
  struct perf *perf = context;
  struct pto_run_result result = perf->session.result;
  struct pto_error error;
  const char *path = perf->options.json_path;
  char line[PTO_SENTENCE_SIZE + 16];
  pto_error_set(&result.error, status, "%s", sentence);
  result.exit_code = PTO_EXIT_FAILED;
  result.has_time = false;
  int length = snprintf(line, sizeof line, "ptosim: %s\n", result.error.sentence);
  if (length > 0) (void)!write(STDERR_FILENO, line, strnlen(line, sizeof line));
  const struct pto_perf_report report = {.result = &result};
  if (path && pto_output_json(path, pto_perf_report_put, &report, &error))
    (void)!write(STDERR_FILENO, "ptosim: no JSON\n", 16);
  _exit(PTO_EXIT_FAILED); /* perf ends by itself when what it samples is gone */
}

/* ---- the run ---- */

/* Workers name their threads, so those are found that have not run a kernel; the program's own thread is this one. */
static void find_threads(struct pto_perf_join *join) {
  pto_perf_join_add_thread(join, (uint32_t)gettid(), true);
  DIR *threads = opendir("/proc/self/task");
  if (!threads) return;
  for (struct dirent *entry = readdir(threads); entry; entry = readdir(threads)) {
    char path[300], name[32] = "";
    unsigned worker;
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
    FILE *file = fopen(path, "re");
    if (!file) continue;
    if (fgets(name, sizeof name, file) && sscanf(name, "pto-worker-%u", &worker) == 1)
      pto_perf_join_add_thread(join, (uint32_t)strtoul(entry->d_name, NULL, 10), false);
    fclose(file);
  }
  closedir(threads);
}

static void keep_context(void *context, const struct pto_trace *trace, uint64_t first_task) {
  struct perf *perf = context;
  pto_perf_join_add_round(&perf->join, trace, first_task, trace->start_ns + pto_trace_now_ns(trace));
  find_threads(&perf->join); /* its workers end with it */
}

static void keep_round(void *context, const struct pto_trace *trace) {
  struct perf *perf = context;
  if (!trace) return;
  pto_perf_join_add_round(&perf->join, trace, 0, trace->start_ns + pto_trace_now_ns(trace));
  find_threads(&perf->join);
}

static int prepare(struct perf *perf) {
  struct pto_session *session = &perf->session;
  struct pto_error error;
  struct pto_config config;
  struct pto_session_options asked = pto_run_options_session(&perf->options, &config);
  config.record |= PTO_RECORD_GRAPH | PTO_RECORD_TIMELINE;
  int code = pto_session_init(session, &asked);
  if (code) return code;
  if (pto_run_files_probe(&perf->options, &error)) return pto_session_end(session, PTO_EXIT_USAGE, &error);
  if (session->result.is_virtual) {
    pto_error_set(
        &error, PTO_ENOTSUP,
        "perf samples real time, which the virtual engine's timeline does not have: --engine threads, or `make "
        "valgrind TOOL=callgrind`");
    return pto_session_end(session, PTO_EXIT_USAGE, &error);
  }
  session->listener =
      (struct pto_session_listener){.round_ended = keep_round, .context_reported = keep_context, .argument = perf};
  if (pto_perf_join_init(&perf->join, session->chip.cluster_count * LANES, &error))
    return pto_session_end(session, PTO_EXIT_FAILED, &error);
  pto_progress_line_stage("starting perf", 0, 0);
  int status = pto_perf_recording_start(&perf->recording, &perf->request, &error);
  if (status) return pto_session_end(session, status == PTO_ENOTSUP ? PTO_EXIT_USAGE : PTO_EXIT_FAILED, &error);
  return PTO_EXIT_OK;
}

static int sample_rounds(struct perf *perf) {
  struct pto_error error;
  int status = pto_perf_recording_enable(&perf->recording, true, &error);
  if (status) return pto_session_end(&perf->session, PTO_EXIT_FAILED, &error);
  int code = pto_session_execute(&perf->session);
  status = pto_perf_recording_enable(&perf->recording, false, &error);
  if (status == PTO_OK) status = pto_perf_recording_stop(&perf->recording, &error);
  if (status && code == PTO_EXIT_OK) return pto_session_end(&perf->session, PTO_EXIT_FAILED, &error);
  return code;
}

static void visit_sample(void *context, const struct pto_perf_sample *sample) {
  pto_perf_join_add_sample(context, sample);
}

static int join_samples(struct perf *perf) {
  struct pto_error error;
  uint64_t refused_count;
  pto_progress_line_stage("reading the samples", 0, 0);
  int status = pto_perf_recording_read(&perf->recording, visit_sample, &perf->join, &refused_count, &error);
  if (status == PTO_OK) status = pto_perf_join_finish(&perf->join, &error);
  if (status == PTO_OK && refused_count > 0 && perf->join.rounds.samples == 0)
    status = pto_error_set(&error, PTO_ESYSTEM, "none of the %" PRIu64 " lines of perf script is a sample with %s",
                           refused_count, PTO_PERF_SAMPLE_FIELDS);
  if (status) return pto_session_end(&perf->session, PTO_EXIT_FAILED, &error);
  perf->has_join = true;
  return PTO_EXIT_OK;
}

static int finish(struct perf *perf) {
  const struct pto_run_options *options = &perf->options;
  const struct pto_run_result *result = &perf->session.result;
  const struct pto_perf_report report = {.result = result,
                                         .join = perf->has_join ? &perf->join : NULL,
                                         .frequency_hz = perf->request.frequency_hz,
                                         .top = perf->top};
  if (!options->quiet && !pto_run_options_take_stdout(options)) {
    if (result->has_time) pto_run_result_print(result, stdout);
    if (perf->has_join) pto_perf_report_print(&report);
  }
  fflush(stdout);
  if (result->error.sentence[0] && (!options->quiet || !options->json_path))
    pto_complain(0, "%s", result->error.sentence);
  return pto_write_report(options->json_path, pto_perf_report_put, &report, result->exit_code);
}

static int run_perf(struct perf *perf) {
  pto_fault_report_take(last_words, perf);
  pto_fault_report_set_describer(pto_describe_call, &perf->session);
  pto_progress_line_begin(perf->options.programs.items[0], !perf->options.quiet);
  int code = prepare(perf);
  if (code == PTO_EXIT_OK) code = sample_rounds(perf);
  if (code == PTO_EXIT_OK) code = join_samples(perf);
  if (code == PTO_EXIT_OK) (void)pto_session_judge(&perf->session);
  pto_run_files_write(&perf->session, &perf->options);
  pto_progress_line_end();
  code = finish(perf);
  pto_perf_recording_fini(&perf->recording);
  pto_perf_join_fini(&perf->join);
  pto_session_fini(&perf->session);
  pto_fault_report_give_back();
  return code;
}

int pto_cmd_perf(int argc, char **argv) {
  static const struct pto_verb_form form = {PTO_VERB_perf, extra, help, true};
  static struct perf perf; /* last_words reads it while other threads run */
  int code;
  perf = (struct perf){.request.frequency_hz = DEFAULT_FREQUENCY_HZ, .top = DEFAULT_TOP};
  if (pto_run_options_begin(&form, argc, argv, &perf, &perf.options, &code) &&
      (code = pto_complain_unwritable(perf.options.json_path)) == PTO_EXIT_OK)
    code = run_perf(&perf);
  pto_run_options_fini(&perf.options);
  return code;
}
