/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a graph file: read or refused with a sentence; what is read is saved, read again, and is the same graph.
 */
#include <tests/fuzz/fuzz_file.h>

#include <string.h>

#include <graph/graph_json.h>
#include <tests/support/graph_same.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void save_and_compare(const struct pto_graph *graph) {
  static char path[64];
  struct pto_graph *again = NULL;
  char sentence[1024] = "", why[256];
  if (!path[0]) {
    strcpy(path, "/dev/shm/graph_fuzz_XXXXXX");
    FUZZ_HOLDS(mkdtemp(path));
    strcat(path, "/graph.json");
  }
  if (pto_graph_save(graph, path, NULL, sentence, sizeof sentence) != PTO_OK) {
    FUZZ_HOLDS(sentence[0] != '\0');
    return;
  }
  if (pto_graph_load(NULL, path, NULL, &again, sentence, sizeof sentence) != PTO_OK) fputs(sentence, stderr);
  FUZZ_HOLDS(again);
  if (!pto_graph_is_same(graph, again, why)) {
    fputs(why, stderr);
    FUZZ_HOLDS(!"the same graph");
  }
  pto_graph_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_file file;
  struct pto_graph *graph = NULL;
  char sentence[1024] = "";
  fuzz_file_open(&file, data, size);
  const int status = pto_graph_load(NULL, file.path, NULL, &graph, sentence, sizeof sentence);
  fuzz_file_close(&file);
  FUZZ_HOLDS((status == PTO_OK) == (graph != NULL));
  FUZZ_HOLDS((status == PTO_OK) == (sentence[0] == '\0'));
  if (!graph) return 0;
  FUZZ_HOLDS(graph->output_count > 0);
  save_and_compare(graph);
  pto_graph_destroy(graph);
  return 0;
}
