/* SPDX-License-Identifier: MIT */
#include <cli/run/dump.h>

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <runtime/base/base.h>

static int refuse(struct pto_session *session, int status, const char *sentence) {
  struct pto_error error;
  pto_error_set(&error, status, "--dump: %.900s", sentence);
  return pto_session_end(session, status == PTO_ENOMEM || status == PTO_ESYSTEM ? PTO_EXIT_FAILED : PTO_EXIT_USAGE,
                         &error);
}

/* A path below the working folder as seen from there: folders are handed on, and other machines have other paths. */
static const char *relative_of(const char *path) {
  char folder[PATH_MAX];
  if (path[0] != '/' || !getcwd(folder, sizeof folder)) return path;
  size_t length = strlen(folder);
  return strncmp(path, folder, length) == 0 && path[length] == '/' ? path + length + 1 : path;
}

static int attach(struct pto_run_dump *dump, struct pto_runtime *rt, struct pto_error *error) {
  const struct pto_run_options *options = dump->options;
  const struct pto_session *session = dump->session;
  const struct pto_task_folder about = {.program = relative_of(options->programs.items[0]),
                                        .case_name = options->case_name,
                                        .engine = session->config.engine,
                                        .chip = relative_of(session->config.chip),
                                        .deps = session->result.deps,
                                        .seed = options->seed,
                                        .settings = options->settings.items,
                                        .setting_count = options->settings.count};
  const struct pto_task_capture_request request = {.path = options->dump_path,
                                                   .choice = &dump->choice,
                                                   .program_handle = session->subject.handle,
                                                   .first_task = dump->first_task,
                                                   .about = &about};
  return pto_task_capture_create(rt, &request, &dump->capture, error);
}

/* ---- contexts, one at a time ---- */

static int context_created(void *argument, struct pto_runtime *rt, void *memory, uint64_t memory_bytes,
                           struct pto_error *error) {
  struct pto_run_dump *dump = argument;
  if (dump->capture) return PTO_OK;
  dump->rt = rt;
  return attach(dump, rt, error);
}

static void detach(struct pto_run_dump *dump) {
  if (!dump->capture) return;
  const struct pto_error *error = pto_task_capture_error(dump->capture);
  if (error->status && !dump->error.status) dump->error = *error;
  dump->kept_count += pto_task_capture_count(dump->capture);
  pto_task_capture_destroy(dump->capture);
  dump->capture = NULL;
}

static void context_destroyed(void *argument, struct pto_runtime *rt, const struct pto_context_counters *counters) {
  struct pto_run_dump *dump = argument;
  if (rt == dump->rt) detach(dump);
  dump->first_task += counters->tasks;
}

/* ---- around the run ---- */

int pto_run_dump_begin(struct pto_run_dump *dump, struct pto_session *session, const struct pto_run_options *options) {
  struct pto_error error;
  *dump = (struct pto_run_dump){.options = options, .session = session};
  if (!options->dump_tasks) return PTO_EXIT_OK;
  int status = pto_task_choice_init(&dump->choice, options->dump_tasks, &error);
  if (!status && session->rt) status = attach(dump, session->rt, &error);
  if (!session->rt)
    session->listener = (struct pto_session_listener){
        .context_created = context_created, .context_destroyed = context_destroyed, .argument = dump};
  return status ? refuse(session, status, error.sentence) : PTO_EXIT_OK;
}

static void report(const struct pto_run_dump *dump, struct pto_session *session) {
  const struct pto_run_options *options = dump->options;
  const struct pto_task_term *unmet = pto_task_choice_unmet(&dump->choice);
  /* A program that prints has standard output to itself. */
  FILE *to = session->run && pto_program_run_has_printed(session->run) ? stderr : stdout;
  char term[128], sentence[200];
  const uint64_t count = dump->kept_count;
  if (!options->quiet && !pto_run_options_take_stdout(options))
    fprintf(to, "kept       %" PRIu64 " task%s in %s\n", count, count == 1 ? "" : "s", options->dump_path);
  if (session->result.exit_code != PTO_EXIT_OK) return;
  if (dump->error.status) {
    refuse(session, dump->error.status, dump->error.sentence);
  } else if (unmet) {
    snprintf(sentence, sizeof sentence, "no kernel ran for %s", pto_task_term_format(unmet, term, sizeof term));
    refuse(session, PTO_EINVAL, sentence);
  }
}

void pto_run_dump_end(struct pto_run_dump *dump, struct pto_session *session) {
  const bool is_wanted = dump->options && dump->options->dump_tasks && session->result.has_time;
  detach(dump);
  if (is_wanted) report(dump, session);
  pto_task_choice_fini(&dump->choice);
}
