/* SPDX-License-Identifier: MIT */
/*
 * `ptosim run`: runs a program, verifies it, and reports, records or draws the run.
 *
 * Whatever happens after the options were understood ends in one place, finish: the JSON is written and one sentence is
 * said.  A kernel that crashes or does not come back ends in last_words instead, on another thread.
 */
#include <errno.h>

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <check/predict/enough_rings.h>
#include <check/predict/gains.h>
#include <check/ranks/ranks.h>
#include <check/ranks/ranks_trace.h>
#include <check/session/refusals.h>
#include <cli/run/at_once.h>
#include <cli/run/judgement.h>
#include <cli/main/fault_report.h>
#include <cli/main/interrupt.h>
#include <cli/main/progress_line.h>
#include <cli/main/verb.h>
#include <cli/measure/run_counters.h>
#include <cli/run/options.h>
#include <cli/run/request.h>
#include <report/stopped/stopped.h>
#include <runtime/base/base.h>
#include <runtime/base/process.h>
#include <runtime/base/sanitizer.h>
#include <runtime/control/control.h>

#define PICTURE_SECONDS 2 /* that telling who waited for whom may take where a kernel is stuck or gone */

struct run {
  struct pto_run_options *options;
  struct pto_session session;
  struct pto_run_counters counters;
};

static int set_counters(void *target, const char *value, struct pto_error *error) {
  return pto_run_counters_parse(value, target, error);
}

static int set_counters_by(void *target, const char *value, struct pto_error *error) {
  return pto_run_counters_parse_by(value, target, error);
}

static const struct pto_option_spec own_options[] = {
    {"counters", "EVENTS", "counts events, with commas between them: thread::cpu_ns, pto::stalls, PAPI_TOT_CYC",
     .set = set_counters},
    {"counters-by", "WHAT", "kernel: events of each kernel, on all threads; run: of the control thread (default run)",
     .set = set_counters_by},
    {0}};

static void help(const struct pto_run_options *options) {
  printf("ptosim run PROGRAM [OPTION...]\n\n"
         "PROGRAM is a name of `ptosim list programs`, a path that ends in .so, a graph (.json, .webnn, .onnx, or\n"
         "--model NAME), a capture or a manifest (.json).\n\n");
  pto_run_options_help(PTO_VERB_run, own_options);
  if (options->programs.count)
    printf("\n`ptosim list programs %s` shows its own options and cases.\n", options->programs.items[0]);
  else
    puts("\n`ptosim list programs PROGRAM` shows the options and cases of a program.");
  puts("\nExit status 0 where the run is right (or nothing is known to compare it with), 1 where it ran and is wrong, "
       "2 for bad\n"
       "arguments or input or a chip that is too small, 3 where the run failed.");
}

/* ---- the end of a process whose kernel is stuck or gone ---- */

/* In a process forked for it, whose one thread this is: the runtime's state holds still, though perhaps in the middle
 * of a step.  Does not return; what goes wrong here is seen by the parent alone, which then does without. */
_Noreturn static void tell_picture(const struct run *run, struct pto_run_result *result) {
  static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
  const struct pto_run_options *options = run->options;
  struct pto_error error;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(faults); i++) signal(faults[i], SIG_DFL);
  pto_process_limit(PICTURE_SECONDS);
  result->stopped = pto_runtime_picture_now(pto_session_runtime(&run->session), result->error.status);
  if (!options->quiet) pto_stopped_say(result->stopped);
  int failed = options->json_path ? pto_run_result_write_json(result, options->json_path, &error) : 0;
  struct pto_export_info info = pto_session_info(&run->session);
  info.stopped = result->stopped;
  (void)!pto_exports_write(options->exports, NULL, &info, &error);
  _exit(failed ? 1 : 0);
}

/* True where a child has written the JSON, with the picture.  _Fork takes no locks: who holds them may be stuck. */
static bool has_told_picture(const struct run *run, struct pto_run_result *result) {
  int child_status = 0;
  if (PTO_HAS_SANITIZER || !pto_session_runtime(&run->session)) return false;
  const pid_t child = _Fork();
  if (child == 0) tell_picture(run, result);
  if (child < 0) return false;
  while (waitpid(child, &child_status, 0) < 0)
    if (errno != EINTR) return false;
  return WIFEXITED(child_status) && WEXITSTATUS(child_status) == 0;
}

/* On a thread of its own while the others still run: no lock, no allocation, nothing taken down. */
static void last_words(void *context, int status, const char *sentence) {
  const struct run *run = context;
  struct pto_run_result result = run->session.result;
  struct pto_error error;
  char line[PTO_SENTENCE_SIZE + 16];
  pto_error_set(&result.error, status, "%s", sentence);
  result.exit_code = pto_exit_of_run(status);
  result.verified = PTO_VERDICT_NONE;
  result.has_run = result.has_time = result.has_output_digest = result.has_trace_digest = false;
  result.timeline = NULL;
  result.stopped = NULL;
  int length = snprintf(line, sizeof line, "ptosim: %s\n", result.error.sentence);
  const char *path = run->options->json_path;
  if (length > 0 && (!path || !run->options->quiet)) (void)!write(STDERR_FILENO, line, strnlen(line, sizeof line));
  if (!has_told_picture(run, &result) && path && pto_run_result_write_json(&result, path, &error))
    (void)!write(STDERR_FILENO, "ptosim: no JSON\n", 16);
  _exit(result.exit_code);
}

/* Where to tell of it: a program that prints has standard output to itself. */
static FILE *stream_of(const struct pto_session *session) {
  return session->run && pto_program_run_has_printed(session->run) ? stderr : stdout;
}

/* ---- --dump: which tasks are kept where ---- */

static int refuse(struct pto_session *session, int status, const char *sentence) {
  struct pto_error error;
  pto_error_set(&error, status, "--dump: %.900s", sentence);
  return pto_session_end(session, pto_status_is_shortage(status) ? PTO_EXIT_FAILED : PTO_EXIT_USAGE, &error);
}

static int begin_dump(struct pto_session *session, const struct pto_run_options *options) {
  char sentence[PTO_SENTENCE_SIZE];
  if (!options->dump_tasks) return PTO_EXIT_OK;
  const int status = pto_session_capture(session, options->dump_tasks, options->dump_path, sentence, sizeof sentence);
  return status ? refuse(session, status, sentence) : PTO_EXIT_OK;
}

/* After the run, well or not: says what was kept, and where the run itself was right, notes what could not be kept as
 * the session's failure. */
static void end_dump(struct pto_session *session, const struct pto_run_options *options) {
  FILE *to = stream_of(session);
  char sentence[PTO_SENTENCE_SIZE];
  uint64_t count;
  const int status = pto_session_captured(session, &count, sentence, sizeof sentence);
  if (!options->dump_tasks || !session->result.has_time) return;
  if (!options->quiet && !pto_run_options_take_stdout(options))
    fprintf(to, "kept       %" PRIu64 " task%s in %s\n", count, count == 1 ? "" : "s", options->dump_path);
  if (status && session->result.exit_code == PTO_EXIT_OK) refuse(session, status, sentence);
}

/* ---- the run ---- */

/* What a wrong result is looked into with. */
static void print_next(const struct pto_run_options *options, FILE *to) {
  for (int is_observed = 0; is_observed <= 1; is_observed++) {
    fprintf(to, "%s ptosim check %s", is_observed ? "          " : "  next    ", options->programs.items[0]);
    if (options->case_name) fprintf(to, " --case %s", options->case_name);
    for (size_t i = 0; i < options->settings.count; i++) fprintf(to, " --set %s", options->settings.items[i]);
    fputs(is_observed ? " --observe\n" : "\n", to);
  }
}

/* The first submit that was refused of each session is what a run finds. */
static int write_judgement(const struct pto_run_options *options, const struct pto_session *sessions, uint32_t count,
                           struct pto_judgement judgement) {
  struct pto_findings findings;
  pto_findings_init(&findings);
  for (uint32_t i = 0; i < count; i++) pto_session_add_refusals(&sessions[i], &findings);
  judgement.verb = "run";
  judgement.findings = &findings;
  const int code = pto_write_judgement(options, &judgement);
  pto_findings_fini(&findings);
  return code;
}

static int finish(const struct run *run) {
  const struct pto_run_options *options = run->options;
  const struct pto_run_result *result = &run->session.result;
  struct pto_error error;
  FILE *to = stream_of(&run->session);
  bool has_text = !options->quiet && !pto_run_options_take_stdout(options);
  /* On a terminal both are one text. */
  if (to == stderr && has_text && pto_program_run_has_open_line(run->session.run) && isatty(STDOUT_FILENO))
    fputc('\n', stderr);
  if (result->has_time && has_text) pto_session_print_result(&run->session, to);
  if (result->verified == PTO_VERDICT_FALSE && has_text) print_next(options, to);
  fflush(to);
  if (result->error.sentence[0] && (!options->quiet || !options->json_path))
    pto_complain(0, "%s", result->error.sentence);
  if (!options->quiet) pto_stopped_say(result->stopped);
  if (options->json_path && pto_run_result_write_json(result, options->json_path, &error) &&
      result->exit_code != PTO_EXIT_USAGE) /* which has had its sentence, perhaps that one */
    return pto_complain(PTO_EXIT_FAILED, "%s", error.sentence);
  const struct pto_judgement judgement = {.program = result->program,
                                          .case_name = result->case_name,
                                          .error = result->error.sentence,
                                          .seconds = result->wall_seconds,
                                          .exit_code = result->exit_code};
  return write_judgement(options, &run->session, 1, judgement);
}

static void begin_counters(struct run *run) {
  char sentence[PTO_SENTENCE_SIZE];
  if (!run->counters.count) return;
  pto_run_counters_begin(&run->counters, run->session.rt, sentence, sizeof sentence);
  if (sentence[0] && !run->options->quiet) pto_complain(0, "--counters: %s", sentence);
  run->session.result.counters =
      (struct pto_result_part){pto_run_counters_print, pto_run_counters_write_json, &run->counters};
}

static int open_session(struct run *run) {
  struct pto_config config;
  const struct pto_session_options asked = pto_run_options_session(run->options, &config);
  struct pto_error error;
  const bool has_files = pto_run_files_probe(run->options, &error) == PTO_OK;
  const int code = pto_session_init(&run->session, &asked);
  return has_files ? code : pto_session_end(&run->session, PTO_EXIT_USAGE, &error);
}

/* ---- several ranks ---- */

static bool is_stdout(const char *path) { return path && strcmp(path, "-") == 0; }

/* What is told of one chip alone, of all that was asked for; NULL: nothing of it was. */
static const char *find_of_one_chip(const struct run *run) {
  const struct pto_run_options *options = run->options;
  if (options->dump_tasks) return "--dump";
  if (options->outputs.count) return "--output";
  return run->counters.count ? "--counters" : NULL;
}

static int finish_ranks(const struct run *run, const struct pto_ranks *ranks) {
  const struct pto_run_options *options = run->options;
  struct pto_error error;
  if (!ranks->is_told_here) return ranks->exit_code;
  FILE *to = ranks->has_run ? stream_of(&ranks->sessions[0]) : stdout;
  if (ranks->has_run && !options->quiet && !pto_run_options_take_stdout(options)) pto_ranks_print(ranks, to);
  fflush(to);
  if (ranks->error.sentence[0] && (!options->quiet || !options->json_path))
    pto_complain(0, "%s", ranks->error.sentence);
  if (options->json_path && pto_ranks_write_json(ranks, options->json_path, &error))
    return pto_complain(PTO_EXIT_FAILED, "%s", error.sentence);
  const struct pto_judgement judgement = {.program = ranks->program,
                                          .case_name = options->case_name,
                                          .error = ranks->error.sentence,
                                          .seconds = ranks->wall_seconds,
                                          .exit_code = ranks->exit_code};
  return write_judgement(options, ranks->sessions, ranks->has_run ? ranks->rank_count : 0, judgement);
}

static void keep_first(struct pto_error *first, int status, const struct pto_error *error) {
  if (status != PTO_OK && first->status == PTO_OK) *first = *error;
}

/* Each file, whichever failed before: a process has its part in those that the first one writes.  A failure counts
 * where the run itself was right. */
static void write_ranks_files(const struct run *run, struct pto_ranks *ranks) {
  const char *const *paths = run->options->exports;
  const char *trace = paths[PTO_EXPORT_trace], *page = paths[PTO_EXPORT_page], *waits = paths[PTO_EXPORT_waits_dot];
  struct pto_error first = {0}, error;
  if (!ranks->has_run) return;
  pto_progress_line_stage("writing", 0, 0);
  pto_interrupt_let_finish();
  if (trace) keep_first(&first, pto_ranks_write_trace(ranks, trace, &error), &error);
  if (page) keep_first(&first, pto_ranks_write_page(ranks, NULL, page, &error), &error);
  keep_first(&first, pto_ranks_write_graphs(ranks, paths, &error), &error);
  if (waits) keep_first(&first, pto_ranks_write_waits(ranks, waits, &error), &error);
  if (first.status == PTO_OK || ranks->exit_code != PTO_EXIT_OK) return;
  ranks->exit_code = PTO_EXIT_FAILED;
  ranks->error = first;
  if (!ranks->is_told_here) pto_complain(0, "%s", first.sentence); /* of a file of its own rank */
}

static int run_ranks(struct run *run, const struct pto_session_options *asked, uint32_t rank_count) {
  struct pto_ranks ranks;
  struct pto_error error;
  const char *of_one_chip = find_of_one_chip(run);
  if (pto_run_files_probe(run->options, &error)) return pto_complain(PTO_EXIT_USAGE, "%s", error.sentence);
  if (of_one_chip)
    return pto_complain(PTO_EXIT_USAGE, "run: with several ranks, %s is not told yet: it is of one chip", of_one_chip);
  if (is_stdout(run->options->exports[PTO_EXPORT_dot]) || is_stdout(run->options->exports[PTO_EXPORT_deps_json]))
    return pto_complain(PTO_EXIT_USAGE, "run: with several ranks, a graph is a file a rank, and not standard output");
  pto_fault_report_take(last_words, run);
  pto_progress_line_begin(run->options->programs.items[0], !run->options->quiet);
  int code = pto_ranks_init(&ranks, asked, rank_count, run->options->world_threads);
  pto_fault_report_set_describer(pto_describe_call_of_rank, &ranks);
  ranks.wants_account = run->options->stats || run->options->exports[PTO_EXPORT_page];
  ranks.wants_gains = ranks.wants_account && !run->options->no_gains;
  ranks.wants_path = ranks.wants_account || run->options->exports[PTO_EXPORT_trace];
  ranks.wants_comm_stats = run->options->comm_stats;
  ranks.files = run->options->exports;
  ranks.command = run->options->again;
  if (code == PTO_EXIT_OK) (void)pto_ranks_execute(&ranks);
  if (code == PTO_EXIT_OK && ranks.wants_gains) pto_gains_run_ranks(&ranks, asked, pto_at_once_default());
  if (run->options->no_gains) snprintf(ranks.path.why_no_gains, sizeof ranks.path.why_no_gains, "--no-gains is given");
  if (code == PTO_EXIT_OK) write_ranks_files(run, &ranks);
  pto_progress_line_end();
  code = finish_ranks(run, &ranks);
  pto_ranks_fini(&ranks);
  pto_fault_report_give_back();
  return code;
}

static int run_program(struct run *run) {
  struct pto_session *session = &run->session;
  struct pto_run_options *options = run->options;
  struct pto_error error;
  if (pto_run_counters_check(&run->counters, &error))
    return pto_complain(PTO_EXIT_USAGE, "--counters: %s", error.sentence);
  if (pto_run_counters_prepare(&run->counters, &options->meter, &error))
    return pto_complain(PTO_EXIT_FAILED, "%s", error.sentence);
  pto_fault_report_take(last_words, run);
  pto_fault_report_set_describer(pto_describe_call, session);
  pto_progress_line_begin(options->programs.items[0], !options->quiet);
  int code = open_session(run);
  if (code == PTO_EXIT_OK) code = begin_dump(session, options);
  if (code == PTO_EXIT_OK) begin_counters(run);
  if (code == PTO_EXIT_OK) code = pto_session_execute(session);
  pto_enough_rings_say(session, &session->result.error);
  pto_run_counters_end(&run->counters);
  end_dump(session, options);
  if (code == PTO_EXIT_OK) (void)pto_session_judge(session);
  pto_progress_line_stage("writing", 0, 0);
  pto_run_files_write(session, options);
  pto_progress_line_end();
  code = finish(run);
  pto_session_fini(session);
  pto_run_counters_fini(&run->counters);
  pto_fault_report_give_back();
  return code;
}

static int run_any(struct run *run) {
  struct pto_config config;
  const struct pto_session_options asked = pto_run_options_session(run->options, &config);
  const uint32_t rank_count = run->options->ranks ? run->options->ranks : pto_ranks_wanted(&asked);
  if (!rank_count && (run->options->world_threads || run->options->comm_stats))
    return pto_complain(PTO_EXIT_USAGE, "run: --%s is for several ranks (--ranks)",
                        run->options->comm_stats ? "comm-stats" : "world-threads");
  return rank_count ? run_ranks(run, &asked, rank_count) : run_program(run);
}

int pto_cmd_run(int argc, char **argv) {
  static const struct pto_verb_form form = {PTO_VERB_run, own_options, help, true};
  static struct run run; /* last_words reads it while other threads run */
  struct pto_run_options options;
  int code;
  run = (struct run){.options = &options};
  if (pto_run_options_begin(&form, argc, argv, &run.counters, &options, &code)) {
    if (run.counters.is_by_kernel && !run.counters.count)
      code =
          pto_complain(PTO_EXIT_USAGE, "run: --counters-by kernel counts the events of --counters, which is not there");
    else
      code = run_any(&run);
  }
  pto_run_options_fini(&options);
  return code;
}
