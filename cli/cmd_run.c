/* SPDX-License-Identifier: MIT */
/*
 * `ptosim run`: runs a program, verifies it, and reports, records or draws the run.
 *
 * Whatever happens after the options were understood ends in one place, finish: the JSON is written and one sentence is
 * said.  A kernel that crashes or does not come back ends in last_words instead, on another thread.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cli/fault_report.h>
#include <cli/progress_line.h>
#include <cli/run_counters.h>
#include <cli/run_dump.h>
#include <cli/run_session.h>
#include <cli/stopped.h>
#include <cli/verb.h>
#include <runtime/base/sanitizer.h>
#include <runtime/control/control.h>

#define PICTURE_SECONDS 2 /* that telling who waited for whom may take where a kernel is stuck or gone */

static int set_counters(void *target, const char *value, struct pto_error *error) {
  return pto_run_counters_parse(value, target, error);
}

static int set_counters_by(void *target, const char *value, struct pto_error *error) {
  return pto_run_counters_parse_by(value, target, error);
}

static const struct pto_option_spec own_options[] = {
    {"counters", "EVENTS", "counts events, with commas between them: thread::cpu_ns, pto::stalls, PAPI_TOT_CYC",
     set_counters, true},
    {"counters-by", "WHAT", "kernel: events of each kernel, on all threads; run: of the control thread (default run)",
     set_counters_by, true},
    {0}};

static int help(const char *program) {
  printf("ptosim run PROGRAM [OPTION...]\n\n"
         "PROGRAM is a name of `ptosim list programs`, or a path that ends in .so.\n\n");
  pto_run_options_help(own_options, true, NULL);
  if (program)
    printf("\n`ptosim list programs %s` shows its own options and cases.\n", program);
  else
    puts("\n`ptosim list programs PROGRAM` shows the options and cases of a program.");
  puts("\nLeaves with 0 where the run is right (or nothing is known to compare it with), 1 where it ran and is wrong, "
       "2 for bad\n"
       "arguments or input or a chip that is too small, 3 where the run failed.");
  return PTO_EXIT_OK;
}

/* ---- the end of a process whose kernel is stuck or gone ---- */

/* Ends this process after PICTURE_SECONDS.  The thread that was forked blocks every signal but faults (thread.c), and
 * whoever started ptosim may have ignored this one. */
static void begin_limit(void) {
  sigset_t alarms;
  signal(SIGALRM, SIG_DFL);
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
  alarm(PICTURE_SECONDS);
}

/* In a process forked for it, whose one thread this is: the runtime's state holds still, though perhaps in the middle
 * of a step.  Does not return; what goes wrong here is seen by nobody but the parent, which then does without. */
_Noreturn static void tell_picture(const struct pto_run_session *session, struct pto_run_result *result) {
  static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
  const struct pto_run_options *options = session->options;
  struct pto_error error;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(faults); i++) signal(faults[i], SIG_DFL);
  begin_limit();
  result->stopped = pto_runtime_picture_now(session->rt, result->error.status);
  if (!options->quiet) pto_stopped_say(result->stopped);
  int failed = options->json_path ? pto_run_result_write_json(result, options->json_path, &error) : 0;
  if (options->waits_path) (void)!pto_stopped_write_dot(result->stopped, result->program, options->waits_path, &error);
  _exit(failed ? 1 : 0);
}

/* True where a child has written the JSON, with the picture.  _Fork takes no locks: who holds them may be stuck. */
static bool has_told_picture(const struct pto_run_session *session, struct pto_run_result *result) {
  int child_status = 0;
  if (PTO_HAS_SANITIZER || !session->rt) return false;
  const pid_t child = _Fork();
  if (child == 0) tell_picture(session, result);
  if (child < 0) return false;
  while (waitpid(child, &child_status, 0) < 0)
    if (errno != EINTR) return false;
  return WIFEXITED(child_status) && WEXITSTATUS(child_status) == 0;
}

/* On a thread of its own while the others still run: no lock, no allocation, nothing taken down. */
static void last_words(void *context, int status, const char *sentence) {
  const struct pto_run_session *session = context;
  struct pto_run_result result = session->result;
  struct pto_error error;
  char line[PTO_SENTENCE_SIZE + 16];
  pto_error_set(&result.error, status, "%s", sentence);
  result.exit_code = PTO_EXIT_FAILED;
  result.verified = PTO_VERDICT_NONE;
  result.has_run = result.has_time = result.has_output_digest = result.has_trace_digest = false;
  result.timeline = NULL;
  result.stopped = NULL;
  int length = snprintf(line, sizeof line, "ptosim: %s\n", result.error.sentence);
  const char *path = session->options->json_path;
  if (length > 0 && (!path || !session->options->quiet)) (void)!write(STDERR_FILENO, line, strnlen(line, sizeof line));
  if (!has_told_picture(session, &result) && path && pto_run_result_write_json(&result, path, &error))
    (void)!write(STDERR_FILENO, "ptosim: no JSON\n", 16);
  _exit(PTO_EXIT_FAILED);
}

/* ---- the run ---- */

/* A failure of a report counts where the run itself was right. */
static void note_failure(struct pto_run_session *session, const struct pto_error *error) {
  if (session->result.exit_code != PTO_EXIT_OK) return;
  session->result.error = *error;
  session->result.exit_code = PTO_EXIT_FAILED;
}

/* A wrong output is written too: that is when it is needed. */
static void write_outputs(struct pto_run_session *session) {
  struct pto_error error;
  if (!session->result.has_output_digest) return;
  if (pto_run_session_write_outputs(session, &error)) note_failure(session, &error);
}

/* What was recorded is written also for a run that failed: that is when it is needed. */
static void write_records(struct pto_run_session *session) {
  const struct pto_run_options *options = session->options;
  const struct pto_trace *trace = pto_run_session_trace(session);
  const struct pto_export_info info = pto_run_session_info(session);
  struct pto_error error;
  if (!session->result.has_run) return;
  pto_progress_line_stage("writing", 0, 0);
  if (pto_run_session_write_records(session, &error)) note_failure(session, &error);
  if (!options->stats || !trace) return;
  if (pto_timeline_stats_init(trace, info.cluster_count, &session->timeline, &error) == PTO_OK)
    session->result.timeline = &session->timeline;
  else
    note_failure(session, &error);
}

static int finish(struct pto_run_session *session) {
  const struct pto_run_options *options = session->options;
  struct pto_run_result *result = &session->result;
  struct pto_error error;
  /* A program that prints has standard output to itself. */
  FILE *to = session->run && pto_program_run_has_printed(session->run) ? stderr : stdout;
  bool has_text = !options->quiet && !pto_run_options_take_stdout(options);
  if (result->has_time && has_text) pto_run_result_print(result, to);
  fflush(to);
  if (result->error.sentence[0] && (!options->quiet || !options->json_path))
    pto_complain(0, "%s", result->error.sentence);
  if (!options->quiet) pto_stopped_say(result->stopped);
  if (options->json_path && pto_run_result_write_json(result, options->json_path, &error) &&
      result->exit_code != PTO_EXIT_USAGE) /* which has had its sentence, perhaps that one */
    return pto_complain(PTO_EXIT_FAILED, "%s", error.sentence);
  return result->exit_code;
}

static void begin_counters(struct pto_run_counters *counters, struct pto_run_session *session) {
  char sentence[PTO_SENTENCE_SIZE];
  if (!counters->count) return;
  pto_run_counters_begin(counters, session->rt, sentence, sizeof sentence);
  if (sentence[0] && !session->options->quiet) pto_complain(0, "--counters: %s", sentence);
  session->result.counters = counters;
}

static int run_program(struct pto_run_options *options, struct pto_run_counters *counters) {
  static struct pto_run_session session; /* last_words reads it while other threads run */
  struct pto_error error;
  session.options = options;
  if (pto_run_counters_prepare(counters, &options->meter, &error))
    return pto_complain(PTO_EXIT_FAILED, "%s", error.sentence);
  if (pto_fault_report_init(last_words, &session, &error)) return pto_complain(PTO_EXIT_FAILED, "%s", error.sentence);
  pto_progress_line_begin(options->programs.items[0], !options->quiet);
  struct pto_run_dump dump = {.capture = NULL};
  int code = pto_run_session_open(&session, options, options->programs.items[0], 0);
  if (code == PTO_EXIT_OK) code = pto_run_dump_begin(&dump, &session);
  if (code == PTO_EXIT_OK) begin_counters(counters, &session);
  if (code == PTO_EXIT_OK) code = pto_run_session_execute(&session);
  pto_run_counters_end(counters);
  pto_run_dump_end(&dump, &session);
  if (code == PTO_EXIT_OK) (void)pto_run_session_verify(&session);
  write_outputs(&session);
  write_records(&session);
  pto_progress_line_end();
  code = finish(&session);
  pto_run_session_close(&session);
  pto_run_counters_fini(counters);
  pto_fault_report_fini();
  return code;
}

int pto_cmd_run(int argc, char **argv) {
  static struct pto_run_counters counters; /* last_words reads it while other threads run */
  struct pto_run_options options;
  struct pto_error error;
  int code;
  if (pto_run_options_parse(argc, argv, own_options, &counters, &options, &error))
    code = pto_complain(PTO_EXIT_USAGE, "run: %s", error.sentence);
  else if (options.help)
    code = help(options.programs.count ? options.programs.items[0] : NULL);
  else if (options.programs.count == 0)
    code = pto_complain(PTO_EXIT_USAGE, "run: which program?  `ptosim list programs` names them");
  else if (options.programs.count > 1)
    code = pto_complain(PTO_EXIT_USAGE, "run: one program at a time, not also \"%s\"", options.programs.items[1]);
  else if (counters.is_by_kernel && !counters.count)
    code =
        pto_complain(PTO_EXIT_USAGE, "run: --counters-by kernel counts the events of --counters, which is not there");
  else
    code = run_program(&options, &counters);
  pto_run_options_fini(&options);
  return code;
}
