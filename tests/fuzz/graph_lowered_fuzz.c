/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a graph file; where it is read and small it is lowered and run on the virtual engine, on whatever bits:
 * that ends well, and a graph of integers alone gives what the reference gives.
 */
#include <tests/fuzz/fuzz_graph_bytes.h>

#include <string.h>

#include <graph/reference/reference.h>
#include <tests/fuzz/fuzz_graph_json.h>
#include <tests/support/lowered_graph.h>

static const char *const words[] = {"inputs", "consts", "nodes", "outputs", "dataType", "shape", "options", NULL};
static const struct fuzz_json_format fuzz_format = {.words = words, .change = fuzz_graph_change};

/* One for all inputs, closed at exit. */
static struct pto_context *context;
static void close_context(void) { pto_context_destroy(context); }

static bool is_whole(const struct pto_graph *graph) {
  for (uint32_t v = 1; v < graph->value_count; v++)
    if (graph->values[v].desc.dtype == PTO_FLOAT32 || graph->values[v].desc.dtype == PTO_FLOAT16) return false;
  return true;
}

static void run(struct pto_graph *graph) {
  static struct fuzz_graph_bytes lowered, reference;
  struct pto_error error;
  fuzz_graph_bytes_init(&lowered, graph);
  fuzz_graph_bytes_init(&reference, graph);
  const void *inputs[FUZZ_GRAPH_MOST_ELEMENTS];
  for (uint32_t i = 0; i < reference.input_count; i++) inputs[i] = reference.inputs[i];
  FUZZ_HOLDS(pto_graph_reference_run(graph, inputs, reference.outputs, NULL, NULL, &error) == PTO_OK);
  if (lowered_graph_run(graph, context, lowered.inputs, lowered.outputs)) {
    fputs(pto_context_error(context), stderr);
    FUZZ_HOLDS(!"a small graph runs");
  }
  for (uint32_t i = 0; i < graph->output_count && is_whole(graph); i++)
    FUZZ_HOLDS(memcmp(lowered.outputs[i], reference.outputs[i], graph->values[graph->outputs[i]].size_bytes) == 0);
  fuzz_graph_bytes_fini(&lowered);
  fuzz_graph_bytes_fini(&reference);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const struct pto_config config = {.size = sizeof config, .engine = "virtual", .chip = "tiny"};
  struct fuzz_file file;
  struct pto_graph *graph = NULL;
  char sentence[1024] = "";
  if (!context) {
    context = lowered_graph_open(&config);
    FUZZ_HOLDS(atexit(close_context) == 0);
  }
  fuzz_file_open(&file, data, size);
  const int status = pto_graph_load(NULL, file.path, NULL, &graph, sentence, sizeof sentence);
  fuzz_file_close(&file);
  if (status) return 0;
  if (fuzz_graph_is_small(graph)) run(graph);
  pto_graph_destroy(graph);
  return 0;
}
