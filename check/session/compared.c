/* SPDX-License-Identifier: MIT */
/* pto_tools_diff_programs of pto/tools.h: programs run here, and their graphs are read back as files are. */
#include <pto/tools.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <check/adopt/manifest.h>
#include <check/capture/capture.h>
#include <check/diff/graph_report.h>
#include <check/session/session.h>
#include <formats/mapped_file.h>
#include <runtime/base/text.h>

static bool holds(const char *path, const char *mark) {
  struct pto_mapped_file file;
  struct pto_error error;
  if (pto_mapped_file_init(&file, path, &error)) return false;
  const bool is_there = file.size_bytes && memmem(file.data, file.size_bytes, mark, strlen(mark));
  pto_mapped_file_fini(&file);
  return is_there;
}

/* What is no file of the export deps-json: a graph of operations, a manifest of an adopted program, a shared object, a
 * model, a name without a file. */
static bool is_program(const char *name) {
  if (strncmp(name, PTO_SUBJECT_MODEL, strlen(PTO_SUBJECT_MODEL)) == 0 || pto_text_ends_with(name, ".so") ||
      pto_text_ends_with(name, ".webnn") || pto_text_ends_with(name, ".onnx"))
    return true;
  if (pto_text_ends_with(name, ".json")) return holds(name, "\"webnn-graph-json\"") || pto_adopted_is_file(name);
  /* A name such as errors/scope has a slash, a path that is not there mostly begins with one. */
  return name[0] != '/' && name[0] != '.' && access(name, F_OK) != 0;
}

static int run(struct pto_session *session, const struct pto_session_options *options, const char *path,
               struct pto_error *error) {
  char sentence[PTO_SENTENCE_SIZE];
  if (pto_session_init(session, options) != PTO_EXIT_OK || pto_session_execute(session) != PTO_EXIT_OK) {
    *error = session->result.error;
    return error->status ? error->status : PTO_EINVAL;
  }
  const int status = pto_session_export(session, "deps-json", path, sentence, sizeof sentence);
  return status ? pto_error_set(error, status, "%s: %s", options->program, sentence) : PTO_OK;
}

/* Runs it with its graph recorded. */
static int run_side(const struct pto_session_options *options, struct pto_graph_side *side, struct pto_error *error) {
  struct pto_session_options asked;
  struct pto_config config;
  char path[64];
  int status = pto_session_copy_options(&asked, &config, options, error);
  if (status) return status;
  struct pto_session *session = calloc(1, sizeof *session);
  const int fd = memfd_create("graph", MFD_CLOEXEC);
  config.size = sizeof config;
  config.record |= PTO_RECORD_GRAPH | PTO_RECORD_CALLERS;
  if (!config.engine) config.engine = "virtual";
  if (side->is_capture) {
    asked.case_name = NULL;
    asked.settings = (struct pto_words){0};
  }
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  if (!session || fd < 0)
    status = pto_error_set(error, PTO_ENOMEM, "%s: no memory for its graph", options->program);
  else
    status = run(session, &asked, path, error);
  if (!status) status = pto_graph_file_read(path, &side->graph, error);
  if (session) pto_session_fini(session);
  free(session);
  if (fd >= 0) close(fd);
  return status;
}

static int take_side(const struct pto_session_options *options, struct pto_graph_side *side, struct pto_error *error) {
  if (!options->program) return pto_error_set(error, PTO_EINVAL, "no program is named");
  side->name = options->program;
  side->is_capture = pto_capture_is_file(options->program);
  return side->is_capture || is_program(options->program) ? run_side(options, side, error)
                                                          : pto_graph_file_read(options->program, &side->graph, error);
}

int pto_tools_diff_programs(const struct pto_session_options *a, const struct pto_session_options *b,
                            struct pto_report **report_out, char *sentence, size_t sentence_size) {
  struct pto_graph_side sides[2] = {0};
  struct pto_error error;
  int status = take_side(a, &sides[0], &error);
  if (status) return pto_error_tell(&error, sentence, sentence_size);
  status = take_side(b, &sides[1], &error);
  if (status)
    pto_graph_file_fini(&sides[0].graph);
  else
    status = pto_graph_report(sides, report_out, &error);
  return status ? pto_error_tell(&error, sentence, sentence_size) : PTO_OK;
}
