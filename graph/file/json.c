/* SPDX-License-Identifier: MIT */
#include <graph/file/json.h>

#include <errno.h>

#include <formats/new_file.h>
#include <runtime/base/base.h>
#include <runtime/base/sized.h>

static int take_options(const struct pto_graph_file_options *given, struct pto_graph_file_options *options,
                        struct pto_error *error) {
  *options = (struct pto_graph_file_options){0};
  const int status = pto_sized_take(options, sizeof *options, given, "options", error);
  if (status) return status;
  if (options->weights > PTO_GRAPH_WEIGHTS_MANIFEST)
    return pto_error_set(error, PTO_EINVAL, "%u is no form of weights", options->weights);
  return PTO_OK;
}

static int give_sentence(int status, const struct pto_error *error, char *sentence, size_t sentence_size) {
  return status ? pto_error_tell(error, sentence, sentence_size) : PTO_OK;
}

int pto_graph_load(struct pto_context *context, const char *path, const struct pto_graph_file_options *given,
                   struct pto_graph **graph_out, char *sentence, size_t sentence_size) {
  struct pto_graph_file_options options;
  struct pto_error error;
  int status = path && graph_out ? take_options(given, &options, &error)
                                 : pto_error_set(&error, PTO_EINVAL, "no path, or nowhere to put the graph");
  if (status == PTO_OK) status = pto_graph_json_load(context, path, &options, graph_out, &error);
  return give_sentence(status, &error, sentence, sentence_size);
}

int pto_graph_save(const struct pto_graph *graph, const char *path, const struct pto_graph_file_options *given,
                   char *sentence, size_t sentence_size) {
  struct pto_graph_file_options options;
  struct pto_error error;
  int status =
      graph && path ? take_options(given, &options, &error) : pto_error_set(&error, PTO_EINVAL, "no graph, or no path");
  if (status == PTO_OK) status = pto_graph_json_save(graph, path, &options, &error);
  return give_sentence(status, &error, sentence, sentence_size);
}

static int save_dot(const struct pto_graph *graph, const char *path, struct pto_error *error) {
  FILE *out = pto_new_file_create(path, error);
  if (!out) return PTO_ESYSTEM;
  const bool has_room = pto_graph_write_dot(graph, out) == PTO_OK;
  const int reason = fflush(out) != 0 || ferror(out) ? errno : 0,
            status = pto_new_file_finish(path, out, reason, error);
  if (has_room) return status;
  pto_new_file_remove(path);
  return pto_error_set(error, PTO_ENOMEM, "%.400s: %s", path, pto_strerror(PTO_ENOMEM));
}

int pto_graph_save_dot(const struct pto_graph *graph, const char *path, char *sentence, size_t sentence_size) {
  struct pto_error error;
  const int status =
      graph && path ? save_dot(graph, path, &error) : pto_error_set(&error, PTO_EINVAL, "no graph, or no path");
  return give_sentence(status, &error, sentence, sentence_size);
}
