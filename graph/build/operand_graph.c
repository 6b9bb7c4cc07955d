/* SPDX-License-Identifier: MIT */
#include <graph/build/operand_graph.h>

#include <stdlib.h>
#include <string.h>

int pto_graph_instances_create(struct pto_graph_instances **instances_out) {
  struct pto_graph_instances *instances = calloc(1, sizeof *instances);
  if (!instances) return PTO_ENOMEM;
  if (pthread_mutex_init(&instances->lock, NULL)) {
    free(instances);
    return PTO_ESYSTEM;
  }
  *instances_out = instances;
  return PTO_OK;
}

void pto_graph_instances_destroy(struct pto_graph_instances *instances) {
  if (!instances) return;
  for (size_t i = 0; i < instances->bound_count; i++) {
    pto_graph_destroy(instances->bound[i].graph);
    free(instances->bound[i].values);
  }
  free(instances->bound);
  if (instances->first) instances->close_all(instances->first);
  pthread_mutex_destroy(&instances->lock);
  free(instances);
}

void pto_graph_value_fini(struct pto_graph_value *value) {
  if (value->is_borrowed) return;
  free((void *)(uintptr_t)value->data);
  free(value->laid);
}

void pto_graph_sizes_fini(struct pto_graph_sizes *sizes) {
  free(sizes->sizes);
  free(sizes->places);
  *sizes = (struct pto_graph_sizes){0};
}

void pto_graph_destroy(struct pto_graph *graph) {
  /* acq_rel: the thread that frees it has seen what the others did with it. */
  if (!graph || atomic_fetch_sub_explicit(&graph->references, 1, memory_order_acq_rel) != 1) return;
  pto_graph_instances_destroy(graph->instances);
  for (uint32_t i = 0; graph->values && i < graph->value_count; i++) pto_graph_value_fini(&graph->values[i]);
  pto_graph_arena_fini(&graph->arena);
  free(graph->values);
  free(graph->nodes);
  free(graph->inputs);
  pto_graph_sizes_fini(&graph->sizes);
  pto_graph_destroy(graph->origin);
  free(graph);
}

struct pto_operand pto_graph_value_operand(const struct pto_graph_value *value, const char *name) {
  struct pto_operand operand = {.name = name, .dtype = value->desc.dtype, .ndims = value->desc.ndims};
  memcpy(operand.shape, value->desc.shape, sizeof operand.shape);
  return operand;
}

uint32_t pto_graph_input_count(const struct pto_graph *graph) { return graph->input_count; }
uint32_t pto_graph_output_count(const struct pto_graph *graph) { return graph->output_count; }
const struct pto_operand *pto_graph_input(const struct pto_graph *graph, uint32_t index) {
  return index < graph->input_count ? &graph->input_operands[index] : NULL;
}
const struct pto_operand *pto_graph_output_at(const struct pto_graph *graph, uint32_t index) {
  return index < graph->output_count ? &graph->output_operands[index] : NULL;
}
