/* SPDX-License-Identifier: MIT */
#include <check/session/captured_tasks.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check/session/session.h>
#include <check/task/capture.h>
#include <pto/core.h>
#include <runtime/base/closest.h>
#include <runtime/trace/trace_words.h>

/* A runtime that tasks are kept of: that of the program, or of one of its contexts that live. */
struct captured_runtime {
  struct captured_runtime *next;
  struct pto_runtime *rt;
  struct pto_task_capture *capture;
  struct pto_task_choice choice; /* its own, as contexts run at the same time */
  char *path;
};

struct pto_captured_tasks {
  struct pto_session *session;
  char *path, *text;
  struct pto_task_choice choice; /* what all have met that are gone */
  struct captured_runtime *runtimes;
  uint64_t first_task;    /* of the next context that lives alone */
  uint32_t context_count; /* made so far */
  uint64_t count;         /* of contexts that are gone, as what follows */
  struct pto_error error; /* the first; PTO_OK: none */
};

/* A path below the working folder as seen from there: folders are handed on, and other machines have other paths. */
static const char *relative_of(const char *path) {
  char folder[PATH_MAX];
  if (path[0] != '/' || !getcwd(folder, sizeof folder)) return path;
  size_t length = strlen(folder);
  return strncmp(path, folder, length) == 0 && path[length] == '/' ? path + length + 1 : path;
}

static int create_capture(struct pto_captured_tasks *captured, struct captured_runtime *of, uint64_t first_task,
                          struct pto_error *error) {
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
  const struct pto_task_capture_request request = {.path = of->path,
                                                   .choice = &of->choice,
                                                   .program_handle = session->subject.handle,
                                                   .first_task = first_task,
                                                   .about = &about};
  int status = pto_task_choice_init(&of->choice, captured->text, error);
  for (uint32_t i = 0; i < of->choice.count && !status; i++)
    of->choice.terms[i].is_met = captured->choice.terms[i].is_met;
  return status ? status : pto_task_capture_create(of->rt, &request, &of->capture, error);
}

static void free_runtime(struct captured_runtime *of) {
  pto_task_capture_destroy(of->capture);
  pto_task_choice_fini(&of->choice);
  free(of->path);
  free(of);
}

/* What was kept of one runtime, added up. */
static void take(struct pto_captured_tasks *captured, const struct captured_runtime *of) {
  const struct pto_error *error = pto_task_capture_error(of->capture);
  if (error->status && !captured->error.status) captured->error = *error;
  captured->count += pto_task_capture_count(of->capture);
  for (uint32_t i = 0; i < of->choice.count; i++) captured->choice.terms[i].is_met |= of->choice.terms[i].is_met;
}

static int attach(struct pto_captured_tasks *captured, struct pto_runtime *rt, struct pto_error *error) {
  const bool is_alone = captured->runtimes == NULL;
  struct captured_runtime *of = calloc(1, sizeof *of);
  if (!of) return pto_error_set(error, PTO_ENOMEM, "out of memory");
  of->rt = rt;
  /* How tasks of contexts that live at the same time will be numbered in the record is not known yet. */
  if (asprintf(&of->path, is_alone ? "%s" : "%s/context%u", captured->path, captured->context_count) < 0)
    of->path = NULL;
  const int status = of->path ? create_capture(captured, of, is_alone ? captured->first_task : 0, error)
                              : pto_error_set(error, PTO_ENOMEM, "out of memory");
  if (status) {
    free_runtime(of);
    return status;
  }
  of->next = captured->runtimes;
  captured->runtimes = of;
  return PTO_OK;
}

/* That of `rt`; with NULL, all. */
static void detach(struct pto_captured_tasks *captured, const struct pto_runtime *rt) {
  for (struct captured_runtime **at = &captured->runtimes; *at;) {
    struct captured_runtime *of = *at;
    if (rt && of->rt != rt) {
      at = &of->next;
      continue;
    }
    *at = of->next;
    take(captured, of);
    free_runtime(of);
  }
}

/* ---- contexts ---- */

static int context_created(void *argument, struct pto_runtime *rt, void *memory, uint64_t memory_bytes,
                           struct pto_error *error) {
  struct pto_captured_tasks *captured = argument;
  captured->context_count++;
  return attach(captured, rt, error);
}

static void context_destroyed(void *argument, struct pto_runtime *rt, const struct pto_context_counters *counters,
                              const struct pto_trace *recording) {
  struct pto_captured_tasks *captured = argument;
  detach(captured, rt);
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
  captured->text = strdup(tasks);
  if (!captured->path || !captured->text) return pto_error_set(error, PTO_ENOMEM, "out of memory");
  const int status = pto_task_choice_init(&captured->choice, tasks, error);
  if (status) return status;
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
    for (uint32_t role = 0; role < PTO_ROLE_COUNT; role++) {
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
  detach(captured, NULL);
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
  detach(captured, NULL);
  if (captured->session->listener.argument == captured) captured->session->listener = (struct pto_session_listener){0};
  pto_task_choice_fini(&captured->choice);
  free(captured->path);
  free(captured->text);
  free(captured);
}
