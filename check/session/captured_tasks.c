/* SPDX-License-Identifier: MIT */
#include <check/session/captured_tasks.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check/session/session.h>
#include <check/task/capture.h>
#include <runtime/base/closest.h>
#include <runtime/trace/trace_words.h>

struct pto_captured_tasks {
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

static int attach(struct pto_captured_tasks *captured, struct pto_runtime *rt, struct pto_error *error) {
  const struct pto_session *session = captured->session;
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
  const struct pto_task_capture_request request = {.path = captured->path,
                                                   .choice = &captured->choice,
                                                   .program_handle = session->subject.handle,
                                                   .first_task = captured->first_task,
                                                   .about = &about};
  return pto_task_capture_create(rt, &request, &captured->capture, error);
}

/* ---- contexts, one at a time ---- */

static int context_created(void *argument, struct pto_runtime *rt, void *memory, uint64_t memory_bytes,
                           struct pto_error *error) {
  struct pto_captured_tasks *captured = argument;
  if (captured->capture) return PTO_OK;
  captured->rt = rt;
  return attach(captured, rt, error);
}

static void detach(struct pto_captured_tasks *captured) {
  if (!captured->capture) return;
  const struct pto_error *error = pto_task_capture_error(captured->capture);
  if (error->status && !captured->error.status) captured->error = *error;
  captured->count += pto_task_capture_count(captured->capture);
  pto_task_capture_destroy(captured->capture);
  captured->capture = NULL;
}

static void context_destroyed(void *argument, struct pto_runtime *rt, const struct pto_context_counters *counters) {
  struct pto_captured_tasks *captured = argument;
  if (rt == captured->rt) detach(captured);
  captured->first_task += counters->tasks;
}

/* ---- around the run ---- */

static int begin(struct pto_session *session, const char *tasks, const char *path, struct pto_error *error) {
  if (!(session->config.record & PTO_RECORD_GRAPH))
    return pto_error_set(error, PTO_ENOTSUP, "%s: the graph of the run is not recorded", session->result.program);
  struct pto_captured_tasks *captured = calloc(1, sizeof *captured);
  if (!captured) return pto_error_set(error, PTO_ENOMEM, "out of memory");
  pto_captured_tasks_destroy(session->captured);
  session->captured = captured;
  captured->session = session;
  captured->path = strdup(path);
  const int status = captured->path ? pto_task_choice_init(&captured->choice, tasks, error) : PTO_ENOMEM;
  if (status) return captured->path ? status : pto_error_set(error, status, "out of memory");
  if (session->rt) return attach(captured, session->rt, error);
  session->listener = (struct pto_session_listener){
      .context_created = context_created, .context_destroyed = context_destroyed, .argument = captured};
  return PTO_OK;
}

int pto_session_capture(struct pto_session *session, const char *tasks, const char *path, char *sentence,
                        size_t sentence_size) {
  struct pto_error error;
  return begin(session, tasks, path, &error) ? pto_error_tell(&error, sentence, sentence_size) : PTO_OK;
}

/* What ran instead of a kernel that did not. */
static void ask_for_kernel(const struct pto_session *session, const struct pto_task_term *term,
                           struct pto_error *error) {
  const struct pto_trace *trace = pto_session_trace(session);
  struct pto_closest closest;
  char question[PTO_CLOSEST_TEXT];
  if (!term->name || !trace) return;
  pto_closest_begin(&closest, term->name);
  for (uint64_t i = 0; i < trace->tasks.count; i++)
    for (uint32_t role = 0; role < 3; role++) {
      const struct pto_kernel *kernel = pto_trace_task_kernel(trace, i, role);
      if (kernel) pto_closest_consider(&closest, kernel->name);
    }
  pto_error_append(error, "%s", pto_closest_question(&closest, question));
}

int pto_session_captured(struct pto_session *session, uint64_t *count_out, char *sentence, size_t sentence_size) {
  struct pto_captured_tasks *captured = session->captured;
  char term[128];
  *count_out = 0;
  if (!captured) return PTO_OK;
  detach(captured);
  *count_out = captured->count;
  const struct pto_task_term *unmet = pto_task_choice_unmet(&captured->choice);
  if (unmet && !captured->error.status) {
    pto_error_set(&captured->error, PTO_EINVAL, "no kernel ran for %s", pto_task_term_format(unmet, term, sizeof term));
    ask_for_kernel(session, unmet, &captured->error);
  }
  return captured->error.status ? pto_error_tell(&captured->error, sentence, sentence_size) : PTO_OK;
}

void pto_captured_tasks_destroy(struct pto_captured_tasks *captured) {
  if (!captured) return;
  detach(captured);
  if (captured->session->listener.argument == captured) captured->session->listener = (struct pto_session_listener){0};
  pto_task_choice_fini(&captured->choice);
  free(captured->path);
  free(captured);
}
