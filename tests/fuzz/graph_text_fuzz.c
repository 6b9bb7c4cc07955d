/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a graph in text form: read or refused with a sentence that has file and place; what is read is written
 * as text and as JSON, each is read again, and is the same graph.
 */
#include <tests/fuzz/fuzz_file.h>

#include <string.h>

#include <graph/file/json.h>
#include <tests/support/graph_same.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[FUZZ_FOLDER_BYTES];

static const char *path_of(const char *name) {
  static char path[64];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static int load(const char *name, struct pto_graph **graph, char *sentence, size_t size) {
  return pto_graph_load(NULL, path_of(name), NULL, graph, sentence, size);
}

static void write_input(const uint8_t *data, size_t size) {
  FILE *file = fopen(path_of("in.webnn"), "w");
  FUZZ_HOLDS(file);
  FUZZ_HOLDS(size == 0 || fwrite(data, 1, size, file) == size);
  FUZZ_HOLDS(fclose(file) == 0);
}

static void save_and_compare(const struct pto_graph *graph, const char *name, uint32_t weights) {
  const struct pto_graph_file_options options = {.size = sizeof options, .weights = weights};
  struct pto_graph *again = NULL;
  char sentence[1024] = "", why[256];
  if (pto_graph_save(graph, path_of(name), &options, sentence, sizeof sentence) != PTO_OK) {
    FUZZ_HOLDS(sentence[0] != '\0');
    return;
  }
  if (load(name, &again, sentence, sizeof sentence) != PTO_OK) fputs(sentence, stderr);
  FUZZ_HOLDS(again);
  if (!pto_graph_is_same(graph, again, why)) {
    fputs(why, stderr);
    FUZZ_HOLDS(!"the same graph");
  }
  pto_graph_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct pto_graph *graph = NULL;
  char sentence[1024] = "";
  if (!folder[0]) fuzz_folder_open(folder);
  write_input(data, size);
  const int status = load("in.webnn", &graph, sentence, sizeof sentence);
  FUZZ_HOLDS((status == PTO_OK) == (graph != NULL));
  FUZZ_HOLDS((status == PTO_OK) == (sentence[0] == '\0'));
  FUZZ_HOLDS(status == PTO_OK || strstr(sentence, "in.webnn: "));
  if (!graph) return 0;
  save_and_compare(graph, "again.webnn", size % 2 ? PTO_GRAPH_WEIGHTS_MANIFEST : PTO_GRAPH_WEIGHTS_INLINE);
  save_and_compare(graph, "again.json", PTO_GRAPH_WEIGHTS_INLINE);
  pto_graph_destroy(graph);
  return 0;
}
