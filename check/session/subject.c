/* SPDX-License-Identifier: MIT */
#include <check/session/subject.h>

#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include <check/adopt/manifest.h>
#include <check/adopt/program.h>
#include <check/capture/capture.h>
#include <check/capture/capture_program.h>
#include <check/session/graph_program.h>
#include <check/session/onnx_file.h>
#include <check/session/watched_step.h>
#include <formats/mapped_file.h>
#include <graph/file/json.h>
#include <runtime/base/text.h>

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

static bool is_regular(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

static int take_loaded(struct pto_subject *subject, const struct pto_session_options *options,
                       struct pto_error *error) {
  struct pto_watched_step loading; /* constructors are the program's */
  pto_watched_step_begin(&loading, options, "loading");
  const int status = pto_program_load(options->program, &subject->loaded, error);
  pto_watched_step_end(&loading);
  if (status && !pto_text_ends_with(options->program, ".so") && is_regular(options->program))
    return pto_error_set(error, status, "%.900s: a program's path ends in .so, .json, .webnn or .onnx",
                         options->program);
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
static bool is_capture(const char *program) {
  return pto_text_ends_with(program, ".json") && pto_capture_is_file(program);
}
static bool is_adopted(const char *program) {
  return pto_text_ends_with(program, ".json") && pto_adopted_is_file(program);
}
static bool is_graph(const char *program) {
  return pto_text_ends_with(program, ".json") || pto_text_ends_with(program, ".webnn") || pto_is_onnx_file(program);
}
static bool is_any(const char *program) { return true; }

/* An object that nowhere names a format of ours; what is no object, is cut or is not there, the reader of graphs tells.
 */
static bool is_other_json(const char *program) {
  struct pto_mapped_file file;
  struct pto_error error;
  if (!pto_text_ends_with(program, ".json") || pto_mapped_file_init(&file, program, &error)) return false;
  static const char mark[] = "\"" PTO_GRAPH_FORMAT "\"";
  const bool is_one = file.size_bytes && memmem(file.data, file.size_bytes, mark, sizeof mark - 1);
  json_t *root = file.size_bytes && !is_one ? json_loadb((const char *)file.data, file.size_bytes, 0, NULL) : NULL;
  const bool is_other = json_is_object(root);
  json_decref(root);
  pto_mapped_file_fini(&file);
  return is_other;
}

static int refuse_json(struct pto_subject *subject, const struct pto_session_options *options,
                       struct pto_error *error) {
  return pto_error_set(error, PTO_EINVAL,
                       "%.700s: \"format\" is none of " PTO_GRAPH_FORMAT " (a graph), " PTO_CAPTURE_FORMAT
                       " (`ptosim import`), " PTO_ADOPTED_FORMAT " (a manifest)",
                       options->program);
}

/* The first that matches decides. */
static const struct {
  bool (*matches)(const char *program);
  int (*take)(struct pto_subject *subject, const struct pto_session_options *options, struct pto_error *error);
} kinds[] = {
    {is_model, take_graph},       {is_capture, take_capture}, {is_adopted, take_adopted},
    {is_other_json, refuse_json}, {is_graph, take_graph},     {is_any, take_loaded},
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

bool pto_subject_names_chip(const char *program) { return is_capture(program) || is_adopted(program); }

/* The files alone: nothing is built. */
char *pto_subject_named_chip(const char *program) {
  struct pto_capture capture;
  struct pto_adopted adopted;
  struct pto_error error;
  char *name = NULL;
  if (is_capture(program)) {
    if (pto_capture_read(program, &capture, &error)) return NULL;
    name = strdup(pto_capture_program_chip(&capture));
    pto_capture_fini(&capture);
  } else if (is_adopted(program) && pto_adopted_read(program, &adopted, &error) == PTO_OK) {
    name = strdup(pto_adopted_chip(&adopted));
    pto_adopted_fini(&adopted);
  }
  return name;
}

bool pto_subject_wants_thread(const struct pto_session_options *options) {
  return options->made || (options->program && is_adopted(options->program));
}

void pto_subject_fini(struct pto_subject *subject) {
  if (subject->owns_graph) pto_graph_program_destroy(subject->graph);
  pto_adopted_program_destroy(subject->adopted);
  pto_capture_program_destroy(subject->capture);
  pto_program_unload(subject->loaded);
  *subject = (struct pto_subject){0};
}
