/* SPDX-License-Identifier: MIT */
#include <graph/run/watched.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <graph/fuse/fusion.h>

static void name_output(struct pto_watched_graph *watched, uint32_t value) {
  struct pto_graph *graph = &watched->graph;
  const struct pto_graph_desc *desc = &graph->values[value].desc;
  const uint32_t index = graph->output_count++;
  snprintf(watched->names[index], sizeof watched->names[index], "result %u", value);
  graph->outputs[index] = value;
  graph->output_operands[index] =
      (struct pto_operand){.name = watched->names[index], .dtype = desc->dtype, .ndims = desc->ndims};
  memcpy(graph->output_operands[index].shape, desc->shape, sizeof desc->shape);
}

/* Groups are those of the graph with its own outputs. */
static int name_outputs(struct pto_watched_graph *watched, const struct pto_graph *graph) {
  struct pto_fusion_plan plan;
  const int status = pto_fusion_plan_init(&plan, graph);
  if (status != PTO_OK) return status;
  for (uint32_t v = 1; v < graph->value_count; v++)
    if (graph->values[v].kind == PTO_VALUE_RESULT && !pto_fusion_is_inside(&plan, graph->values[v].producer - 1))
      name_output(watched, v);
  pto_fusion_plan_fini(&plan);
  return PTO_OK;
}

int pto_watched_graph_init(struct pto_watched_graph *watched, const struct pto_graph *graph) {
  uint32_t results = 0;
  for (uint32_t v = 1; v < graph->value_count; v++) results += graph->values[v].kind == PTO_VALUE_RESULT;
  *watched = (struct pto_watched_graph){.graph = *graph};
  watched->graph.output_count = 0;
  watched->graph.instances = NULL;
  watched->names = calloc(results + 1u, sizeof *watched->names);
  watched->graph.outputs = calloc(results + 1u, sizeof *watched->graph.outputs);
  watched->graph.output_operands = calloc(results + 1u, sizeof *watched->graph.output_operands);
  int status = watched->names && watched->graph.outputs && watched->graph.output_operands ? PTO_OK : PTO_ENOMEM;
  if (status == PTO_OK) status = pto_graph_instances_create(&watched->graph.instances);
  if (status != PTO_OK) {
    pto_watched_graph_fini(watched);
    return status;
  }
  status = name_outputs(watched, graph);
  if (status != PTO_OK) pto_watched_graph_fini(watched);
  return status;
}

void pto_watched_graph_fini(struct pto_watched_graph *watched) {
  pto_graph_instances_destroy(watched->graph.instances);
  free(watched->names);
  free(watched->graph.outputs);
  free(watched->graph.output_operands);
  *watched = (struct pto_watched_graph){0};
}
