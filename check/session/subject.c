/* SPDX-License-Identifier: MIT */
#include <check/session/subject.h>

#include <string.h>

#include <check/adopt/program.h>
#include <check/capture/capture_program.h>
#include <check/session/graph_program.h>
#include <check/session/onnx_file.h>
#include <check/session/watched_step.h>

static bool ends_with(const char *text, const char *ending) {
  const size_t length = strlen(text), end = strlen(ending);
  return length > end && strcmp(text + length - end, ending) == 0;
}

static int take_graph(struct pto_subject *subject, const struct pto_session_options *options, struct pto_error *error) {
  const bool has_name = strncmp(options->program, PTO_SUBJECT_MODEL, strlen(PTO_SUBJECT_MODEL)) == 0;
  const struct pto_graph_program_source source = {.path = has_name ? NULL : options->program,
                                                  .model =
                                                      has_name ? options->program + strlen(PTO_SUBJECT_MODEL) : NULL,
                                                  .settings = options->settings,
                                                  .seed = options->seed};
  const int status = pto_graph_program_load(&source, &subject->graph, error);
  if (status) return status;
  subject->owns_graph = true;
  subject->program = &subject->graph->program;
  subject->name = subject->graph->program.name;
  return PTO_OK;
}

static int take_capture(struct pto_subject *subject, const struct pto_session_options *options,
                        struct pto_error *error) {
  const int status = pto_capture_program_load(options->program, &subject->capture, error);
  if (status) return status;
  subject->program = pto_capture_program_program(subject->capture);
  subject->name = subject->program->name;
  return PTO_OK;
}

static int take_adopted(struct pto_subject *subject, const struct pto_session_options *options,
                        struct pto_error *error) {
  const int status = pto_adopted_program_load(options->program, !options->config || !options->config->no_compute,
                                              &subject->adopted, error);
  if (status) return status;
  subject->program = &subject->adopted->program;
  subject->name = subject->program->name;
  subject->handle = subject->adopted->build.handle;
  return PTO_OK;
}

static int take_loaded(struct pto_subject *subject, const struct pto_session_options *options,
                       struct pto_error *error) {
  struct pto_watched_step loading; /* constructors are the program's */
  pto_watched_step_begin(&loading, options, "loading");
  const int status = pto_program_load(options->program, &subject->loaded, error);
  pto_watched_step_end(&loading);
  if (status) return status;
  subject->program = subject->loaded->program;
  subject->name = subject->loaded->name;
  subject->handle = subject->loaded->handle;
  return PTO_OK;
}

/* ---- the list ---- */

static bool is_model(const char *program) {
  return strncmp(program, PTO_SUBJECT_MODEL, strlen(PTO_SUBJECT_MODEL)) == 0;
}
static bool is_capture(const char *program) { return ends_with(program, ".json") && pto_capture_is_file(program); }
bool pto_subject_is_adopted(const char *program) { return ends_with(program, ".json") && pto_adopted_is_file(program); }
static bool is_graph(const char *program) {
  return ends_with(program, ".json") || ends_with(program, ".webnn") || pto_is_onnx_file(program);
}
static bool is_any(const char *program) { return true; }

/* The first that matches decides. */
static const struct {
  bool (*matches)(const char *program);
  int (*take)(struct pto_subject *subject, const struct pto_session_options *options, struct pto_error *error);
} kinds[] = {
    {is_model, take_graph}, {is_capture, take_capture}, {pto_subject_is_adopted, take_adopted},
    {is_graph, take_graph}, {is_any, take_loaded},
};

int pto_subject_init(struct pto_subject *subject, const struct pto_session_options *options, struct pto_error *error) {
  *subject = (struct pto_subject){.program = options->made};
  if (!options->program && !options->made) return pto_error_set(error, PTO_EINVAL, "no program is named");
  subject->name = options->program ? options->program : options->made->name;
  if (options->made) {
    subject->graph = pto_graph_program_of(options->made);
    return pto_program_check(options->made, subject->name ? subject->name : "made at run time", error);
  }
  size_t kind = 0;
  while (!kinds[kind].matches(options->program)) kind++;
  return kinds[kind].take(subject, options, error);
}

bool pto_subject_wants_thread(const struct pto_session_options *options) {
  return options->made || (options->program && pto_subject_is_adopted(options->program));
}

void pto_subject_fini(struct pto_subject *subject) {
  if (subject->owns_graph) pto_graph_program_destroy(subject->graph);
  pto_adopted_program_destroy(subject->adopted);
  pto_capture_program_destroy(subject->capture);
  pto_program_unload(subject->loaded);
  *subject = (struct pto_subject){0};
}
