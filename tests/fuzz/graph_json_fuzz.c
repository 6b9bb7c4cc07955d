/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a graph file: read or refused with a sentence; what is read is saved, read again, and is the same graph;
 * where it is small, the reference runs it, on whatever bits.
 */
#include <tests/fuzz/fuzz_graph_bytes.h>

#include <string.h>

#include <graph/graph_json.h>
#include <graph/graph_reference.h>
#include <tests/fuzz/fuzz_graph_json.h>
#include <tests/support/graph_same.h>

static const char *const words[] = {"format",   "webnn-graph-json",
                                    "version",  "name",
                                    "inputs",   "consts",
                                    "nodes",    "outputs",
                                    "dataType", "shape",
                                    "init",     "kind",
                                    "scalar",   "value",
                                    "weights",  "inlineBytes",
                                    "bytes",    "ref",
                                    "id",       "op",
                                    "options",  "data",
                                    "manifest", "label",
                                    "maxSize",  "float32",
                                    "float16",  "int4",
                                    "uint4",    "int64",
                                    "uint64",   "axis",
                                    "axes",     "add",
                                    "concat",   NULL};
static const struct fuzz_json_format fuzz_format = {.words = words, .change = fuzz_graph_change};

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

static void run(const struct pto_graph *graph) {
  static struct fuzz_graph_bytes bytes;
  const void *inputs[FUZZ_GRAPH_MOST_ELEMENTS];
  struct pto_error error;
  if (!fuzz_graph_is_small(graph)) return;
  fuzz_graph_bytes_init(&bytes, graph);
  for (uint32_t i = 0; i < bytes.input_count; i++) inputs[i] = bytes.inputs[i];
  FUZZ_HOLDS(pto_graph_reference_run(graph, inputs, bytes.outputs, NULL, NULL, &error) == PTO_OK);
  fuzz_graph_bytes_fini(&bytes);
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
  run(graph);
  pto_graph_destroy(graph);
  return 0;
}
