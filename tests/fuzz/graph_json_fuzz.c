/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a graph file: read or refused with a sentence; what is read is saved, read again, and is the same graph;
 * where it is small, the reference runs it, on whatever bits.
 */
#include <tests/fuzz/fuzz_file.h>

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
static const struct fuzz_json_format fuzz_format = {words, fuzz_graph_change};

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

/* Elements of all tensors: a convolution has fewer steps than the product of two of them. */
#define MOST_ELEMENTS 1024u

static void run(const struct pto_graph *graph) {
  const void *inputs[MOST_ELEMENTS];
  void *outputs[MOST_ELEMENTS];
  struct pto_error error;
  uint64_t numel = graph->node_count;
  for (uint32_t v = 1; v < graph->value_count && numel <= MOST_ELEMENTS; v++)
    numel += pto_graph_desc_numel(&graph->values[v].desc);
  if (numel > MOST_ELEMENTS || graph->output_count > MOST_ELEMENTS) return;
  for (uint32_t i = 0; i < graph->input_count; i++) {
    const uint64_t size_bytes = graph->values[graph->inputs[i]].size_bytes;
    unsigned char *bytes = malloc(size_bytes);
    FUZZ_HOLDS(bytes);
    for (uint64_t k = 0; k < size_bytes; k++) bytes[k] = (unsigned char)(k * 37 + k % 4 * 16 + i);
    inputs[i] = bytes;
  }
  for (uint32_t i = 0; i < graph->output_count; i++)
    FUZZ_HOLDS(outputs[i] = malloc(graph->values[graph->outputs[i]].size_bytes));
  FUZZ_HOLDS(pto_graph_reference_run(graph, inputs, outputs, NULL, NULL, &error) == PTO_OK);
  for (uint32_t i = 0; i < graph->input_count; i++) free((void *)(uintptr_t)inputs[i]);
  for (uint32_t i = 0; i < graph->output_count; i++) free(outputs[i]);
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
