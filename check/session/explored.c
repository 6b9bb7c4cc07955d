/* SPDX-License-Identifier: MIT */
#include <check/session/explored.h>

#include <inttypes.h>
#include <stdlib.h>

#include <check/explore/run.h>
#include <check/session/refusals.h>
#include <check/session/remarks.h>
#include <runtime/control/control.h>

#define DEFAULT_WORKERS 3u /* more than most machines for a build have to spare, so that threads are interrupted */

static void make_threaded(struct pto_config *config) {
  config->engine = "delayed threads";
  config->record = 0;
  if (!config->workers) config->workers = DEFAULT_WORKERS;
}

static int open_threads(struct pto_explored *explored) {
  struct pto_config config = explored->session.config;
  make_threaded(&config);
  explored->error.status = pto_runtime_create_explained(&config, &explored->threads, explored->error.sentence,
                                                        sizeof explored->error.sentence);
  return explored->error.status ? PTO_EXIT_FAILED : PTO_EXIT_OK;
}

/* ---- contexts ---- */

/* Refusals are those of the last run. */
static int context_created(void *argument, struct pto_runtime *rt, void *memory, uint64_t memory_bytes,
                           struct pto_error *error) {
  struct pto_explored *explored = argument;
  if (!explored->explore.contexts.count && !explored->explore.contexts.left_out) explored->session.result.refused = 0;
  pto_explore_context_created(&explored->explore, rt);
  return PTO_OK;
}

static void context_destroyed(void *argument, struct pto_runtime *rt, const struct pto_context_counters *counters,
                              const struct pto_trace *recording) {
  struct pto_explored *explored = argument;
  pto_explore_context_destroyed(&explored->explore, rt, recording);
}

int pto_explored_open(struct pto_explored *explored, const struct pto_session_options *given, bool has_threads) {
  struct pto_session_options options;
  struct pto_config config;
  struct pto_session *session = &explored->session;
  pto_findings_init(&explored->findings);
  *session = (struct pto_session){0};
  if (pto_session_copy_options(&options, &config, given, &explored->error)) return PTO_EXIT_USAGE;
  options.text = NULL; /* it would print that with every run */
  config.engine = "explore";
  config.poison = true; /* or what one run leaves in memory is right for the next */
  config.record |= PTO_RECORD_GRAPH | PTO_RECORD_CALLERS;
  const int code = pto_session_init(session, &options);
  if (code != PTO_EXIT_OK) {
    explored->error = session->result.error;
    return code;
  }
  explored->has_threads = has_threads;
  if (session->rt) return has_threads ? open_threads(explored) : PTO_EXIT_OK;
  session->context_watch.asks = true;
  session->listener = (struct pto_session_listener){
      .context_created = context_created, .context_destroyed = context_destroyed, .argument = explored};
  return PTO_EXIT_OK;
}

/* Whether the program's own order is right in memory that does not begin as a pattern. */
static bool is_right_without_poison(const struct pto_session *session) {
  struct pto_config config = session->asked;
  struct pto_session_options options = session->options;
  struct pto_session plain = {0};
  config.size = sizeof config;
  config.engine = "virtual";
  config.poison = false;
  config.record = 0;
  options.config = &config;
  options.progress = NULL;
  int code = pto_session_init(&plain, &options);
  if (code == PTO_EXIT_OK) code = pto_session_execute(&plain);
  if (code == PTO_EXIT_OK) code = pto_session_judge(&plain);
  pto_session_fini(&plain);
  return code == PTO_EXIT_OK;
}

/* ---- what dispatches borrow ---- */

/* The sequential run again, in which the first `count` dispatches are carried out at once. */
static int run_hurried(struct pto_explored *explored, struct pto_context_hurry *hurry, uint64_t count,
                       struct pto_explore_outcome *outcome) {
  static const struct pto_explore_chooser sequential;
  *hurry = (struct pto_context_hurry){.left = count};
  explored->session.context_watch.hurry = hurry;
  const int status = pto_explore_run_once(&explored->explore, NULL, &sequential, outcome);
  explored->session.context_watch.hurry = NULL;
  if (status) explored->error = explored->explore.shortage;
  return status;
}

static void tell_borrowed(struct pto_explored *explored, const struct pto_context_hurry *hurry,
                          const struct pto_explore_outcome *outcome) {
  struct pto_finding finding = {PTO_FINDING_OF_RUN(PTO_FINDING_BORROWED)};
  struct pto_source_lines *lines = pto_source_lines_create();
  char text[2 * PTO_SOURCE_FILE_SIZE];
  pto_source_lines_find(lines, hurry->call, hurry->outer_call, &finding.places[0]);
  pto_source_lines_destroy(lines);
  pto_source_call_name(&finding.places[0], text, sizeof text);
  pto_findings_add(
      &explored->findings, &finding, NULL,
      "dispatch %" PRIu64 " of the run, of \"%s\": carried out before the program goes on, %s; so what it "
      "borrows until it is done is changed meanwhile, or read: its program, what `context` points to, or host memory "
      "that it registers%s%s",
      hurry->made, hurry->program, outcome->text, text[0] ? "; dispatched at " : "", text);
}

/* A queued dispatch may be carried out at once or when it is waited for.  Where that makes a difference, the first one
 * is searched for that does. */
static int judge_borrowed(struct pto_explored *explored) {
  struct pto_context_hurry hurry;
  struct pto_explore_outcome outcome, last;
  if (explored->explore.is_unstable) return PTO_OK;
  int status = run_hurried(explored, &hurry, UINT64_MAX, &outcome);
  uint64_t alike = 0, differs = hurry.made;
  explored->dispatches = hurry.made;
  if (status || !outcome.is_different || !differs) return status;
  while (differs - alike > 1 && !status) {
    const uint64_t middle = alike + (differs - alike) / 2;
    status = run_hurried(explored, &hurry, middle, &last);
    *(last.is_different ? &differs : &alike) = middle;
  }
  if (!status) status = run_hurried(explored, &hurry, differs, &last);
  if (!status) tell_borrowed(explored, &hurry, &last);
  return status;
}

int pto_explored_begin(struct pto_explored *explored, void (*progress)(uint64_t done, uint64_t count)) {
  static const struct pto_finding wrong = {PTO_FINDING_OF_RUN(PTO_FINDING_WRONG)};
  struct pto_session *session = &explored->session;
  explored->explore = (struct pto_explore){.run = session->run,
                                           .rt = session->rt,
                                           .findings = &explored->findings,
                                           .progress = progress,
                                           .stop = session->config.stop};
  if (session->options.progress) session->options.progress("running in sequence", 0, 0);
  if (pto_explore_init(&explored->explore, &explored->error)) {
    pto_session_add_place(session, &explored->error);
    return pto_exit_of_run(explored->error.status);
  }
  if (!session->rt) {
    pto_session_take_counters(session);
  } else {
    session->result.stats.size = sizeof session->result.stats;
    pto_runtime_stats(session->rt, &session->result.stats);
    session->result.has_run = true; /* a case may state counts */
  }
  const uint64_t refused = session->result.refused; /* by contexts; a finding of its own */
  session->result.refused = 0;
  const int code = pto_session_judge(session);
  if (code == PTO_EXIT_FINDINGS)
    pto_session_add_wrong(
        session, &explored->findings, &wrong, "the sequential run already: ",
        is_right_without_poison(session)
            ? "; only here, where memory begins as a pattern (NaN in floats), so something reads bytes that "
              "no task has written: `ptosim check --observe` tells what"
            : "");
  session->result.refused = refused;
  if (session->rt) pto_session_take_refusals(session, pto_runtime_refusals(session->rt));
  pto_session_add_refusals(session, &explored->findings);
  pto_session_add_remarks(session, &explored->findings);
  if (!session->rt && judge_borrowed(explored)) return PTO_EXIT_FAILED;
  if (!session->rt && explored->has_threads) make_threaded(&session->config); /* of all contexts from here on */
  if (code == PTO_EXIT_OK || code == PTO_EXIT_FINDINGS) return PTO_EXIT_OK;
  explored->error = session->result.error;
  return PTO_EXIT_FAILED;
}

int pto_explored_exit(const struct pto_explored *explored, int status) {
  if (explored->explore.stop && pto_stop_is_asked(explored->explore.stop)) return PTO_EXIT_INTERRUPTED;
  if (status) return status == PTO_EINVAL ? PTO_EXIT_USAGE : PTO_EXIT_FAILED;
  return pto_findings_is_clean(&explored->findings) ? PTO_EXIT_OK : PTO_EXIT_FINDINGS;
}

void pto_explored_close(struct pto_explored *explored) {
  pto_explore_fini(&explored->explore);
  pto_runtime_destroy(explored->threads);
  pto_findings_fini(&explored->findings);
  pto_session_fini(&explored->session);
}

bool pto_session_is_right_in_sequence(const struct pto_session *session) {
  struct pto_explored *explored = calloc(1, sizeof *explored);
  struct pto_session_options options = session->options;
  struct pto_config config = session->asked;
  if (!explored) return false;
  config.size = sizeof config;
  config.engine = NULL;
  config.record = 0;
  options.config = &config;
  options.progress = NULL;
  int code = pto_explored_open(explored, &options, false);
  if (code == PTO_EXIT_OK) code = pto_explored_begin(explored, NULL);
  const bool is_right = code == PTO_EXIT_OK && pto_findings_is_clean(&explored->findings);
  pto_explored_close(explored);
  free(explored);
  return is_right;
}
