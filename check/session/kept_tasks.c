/* SPDX-License-Identifier: MIT */
#include <check/session/kept_tasks.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check/session/session.h>
#include <check/task/capture.h>

struct pto_kept_tasks {
  struct pto_session *session;
  char *path;
  struct pto_task_choice choice;
  struct pto_task_capture *capture; /* of contexts: of the one that lives */
  struct pto_runtime *rt;           /* of that context */
  uint64_t first_task;              /* of that context */
  uint64_t count;                   /* of contexts that are gone, as what follows */
  struct pto_error error;           /* the first; PTO_OK: none */
};

/* A path below the working folder as seen from there: folders are handed on, and other machines have other paths. */
static const char *relative_of(const char *path) {
  char folder[PATH_MAX];
  if (path[0] != '/' || !getcwd(folder, sizeof folder)) return path;
  size_t length = strlen(folder);
  return strncmp(path, folder, length) == 0 && path[length] == '/' ? path + length + 1 : path;
}

static int attach(struct pto_kept_tasks *kept, struct pto_runtime *rt, struct pto_error *error) {
  const struct pto_session *session = kept->session;
  const struct pto_session_options *options = &session->options;
  const struct pto_task_folder about = {.program =
                                            relative_of(options->program ? options->program : session->subject.name),
                                        .case_name = options->case_name,
                                        .engine = session->config.engine,
                                        .chip = relative_of(session->config.chip),
                                        .deps = session->result.deps,
                                        .seed = options->seed,
                                        .settings = options->settings.items,
                                        .setting_count = options->settings.count};
  const struct pto_task_capture_request request = {.path = kept->path,
                                                   .choice = &kept->choice,
                                                   .program_handle = session->subject.handle,
                                                   .first_task = kept->first_task,
                                                   .about = &about};
  return pto_task_capture_create(rt, &request, &kept->capture, error);
}

/* ---- contexts, one at a time ---- */

static int context_created(void *argument, struct pto_runtime *rt, void *memory, uint64_t memory_bytes,
                           struct pto_error *error) {
  struct pto_kept_tasks *kept = argument;
  if (kept->capture) return PTO_OK;
  kept->rt = rt;
  return attach(kept, rt, error);
}

static void detach(struct pto_kept_tasks *kept) {
  if (!kept->capture) return;
  const struct pto_error *error = pto_task_capture_error(kept->capture);
  if (error->status && !kept->error.status) kept->error = *error;
  kept->count += pto_task_capture_count(kept->capture);
  pto_task_capture_destroy(kept->capture);
  kept->capture = NULL;
}

static void context_destroyed(void *argument, struct pto_runtime *rt, const struct pto_context_counters *counters) {
  struct pto_kept_tasks *kept = argument;
  if (rt == kept->rt) detach(kept);
  kept->first_task += counters->tasks;
}

/* ---- around the run ---- */

static int begin(struct pto_session *session, const char *tasks, const char *path, struct pto_error *error) {
  if (!(session->config.record & PTO_RECORD_GRAPH))
    return pto_error_set(error, PTO_ENOTSUP, "%s: the graph of the run is not recorded", session->result.program);
  struct pto_kept_tasks *kept = calloc(1, sizeof *kept);
  if (!kept) return pto_error_set(error, PTO_ENOMEM, "out of memory");
  pto_kept_tasks_destroy(session->kept);
  session->kept = kept;
  kept->session = session;
  kept->path = strdup(path);
  const int status = kept->path ? pto_task_choice_init(&kept->choice, tasks, error) : PTO_ENOMEM;
  if (status) return kept->path ? status : pto_error_set(error, status, "out of memory");
  if (session->rt) return attach(kept, session->rt, error);
  session->listener = (struct pto_session_listener){
      .context_created = context_created, .context_destroyed = context_destroyed, .argument = kept};
  return PTO_OK;
}

int pto_session_capture(struct pto_session *session, const char *tasks, const char *path, char *sentence,
                        size_t sentence_size) {
  struct pto_error error;
  return begin(session, tasks, path, &error) ? pto_error_tell(&error, sentence, sentence_size) : PTO_OK;
}

int pto_session_captured(struct pto_session *session, uint64_t *count_out, char *sentence, size_t sentence_size) {
  struct pto_kept_tasks *kept = session->kept;
  char term[128];
  *count_out = 0;
  if (!kept) return PTO_OK;
  detach(kept);
  *count_out = kept->count;
  const struct pto_task_term *unmet = pto_task_choice_unmet(&kept->choice);
  if (unmet && !kept->error.status)
    pto_error_set(&kept->error, PTO_EINVAL, "no kernel ran for %s", pto_task_term_format(unmet, term, sizeof term));
  return kept->error.status ? pto_error_tell(&kept->error, sentence, sentence_size) : PTO_OK;
}

void pto_kept_tasks_destroy(struct pto_kept_tasks *kept) {
  if (!kept) return;
  detach(kept);
  if (kept->session->listener.argument == kept) kept->session->listener = (struct pto_session_listener){0};
  pto_task_choice_fini(&kept->choice);
  free(kept->path);
  free(kept);
}
