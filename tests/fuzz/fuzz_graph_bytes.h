/* SPDX-License-Identifier: MIT */
/*
 * Whatever bits as the inputs of a small graph, and room for its outputs.
 *
 * Owns the bytes until fuzz_graph_bytes_fini.  The same graph gets the same bits.
 */
#ifndef PTO_FUZZ_GRAPH_BYTES_H
#define PTO_FUZZ_GRAPH_BYTES_H

#include <tests/fuzz/fuzz_file.h>

#include <graph/build/operand_graph.h>

/* Elements of all tensors: a convolution has fewer steps than the product of two of them. */
#define FUZZ_GRAPH_MOST_ELEMENTS 1024u

struct fuzz_graph_bytes {
  void *inputs[FUZZ_GRAPH_MOST_ELEMENTS], *outputs[FUZZ_GRAPH_MOST_ELEMENTS];
  uint32_t input_count, output_count;
};

static inline bool fuzz_graph_is_small(const struct pto_graph *graph) {
  uint64_t numel = graph->node_count;
  for (uint32_t v = 1; v < graph->value_count && numel <= FUZZ_GRAPH_MOST_ELEMENTS; v++)
    numel += pto_graph_desc_numel(&graph->values[v].desc);
  return numel <= FUZZ_GRAPH_MOST_ELEMENTS && graph->output_count <= FUZZ_GRAPH_MOST_ELEMENTS;
}

/* Of a small graph. */
static inline void fuzz_graph_bytes_init(struct fuzz_graph_bytes *bytes, const struct pto_graph *graph) {
  bytes->input_count = graph->input_count;
  bytes->output_count = graph->output_count;
  for (uint32_t i = 0; i < graph->input_count; i++) {
    const uint64_t size_bytes = graph->values[graph->inputs[i]].size_bytes;
    unsigned char *input = malloc(size_bytes);
    FUZZ_HOLDS(input);
    for (uint64_t k = 0; k < size_bytes; k++) input[k] = (unsigned char)(k * 37 + k % 4 * 16 + i);
    bytes->inputs[i] = input;
  }
  for (uint32_t i = 0; i < graph->output_count; i++)
    FUZZ_HOLDS(bytes->outputs[i] = malloc(graph->values[graph->outputs[i]].size_bytes));
}

static inline void fuzz_graph_bytes_fini(struct fuzz_graph_bytes *bytes) {
  for (uint32_t i = 0; i < bytes->input_count; i++) free(bytes->inputs[i]);
  for (uint32_t i = 0; i < bytes->output_count; i++) free(bytes->outputs[i]);
}

#endif
