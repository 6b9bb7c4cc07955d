/* SPDX-License-Identifier: MIT */
#include <graph/run/explain.h>

#include <stdlib.h>
#include <string.h>

#include <graph/lower/lowering.h>
#include <sim/chips/timing.h>

static const char *const bound_names[PTO_BOUND_COUNT] = {"memory", "vector", "cube"};

const char *pto_explained_bound_name(uint32_t bound) {
  return bound < PTO_BOUND_COUNT ? bound_names[bound] : "nothing";
}

uint64_t pto_explained_ps(const struct pto_explained_node *node) {
  uint64_t sum = 0;
  for (uint32_t b = 0; b < PTO_BOUND_COUNT; b++) sum += node->bound_ps[b];
  return sum;
}

uint32_t pto_explained_bound(const struct pto_explained_node *node) {
  uint32_t most = PTO_BOUND_COUNT;
  for (uint32_t b = 0; b < PTO_BOUND_COUNT; b++)
    if (node->bound_ps[b] > (most == PTO_BOUND_COUNT ? 0 : node->bound_ps[most])) most = b;
  return most;
}

/* ---- a task ---- */

struct explaining {
  struct pto_graph *graph;
  struct pto_explained_node *nodes;
  struct pto_core cores[2]; /* AIV, AIC */
  struct pto_timing timing;
};

static void count_kernel(struct pto_explained_node *node, const struct pto_kernel *kernel) {
  uint32_t k = 0;
  while (k < node->kernel_count && node->kernels[k].kernel != kernel) k++;
  if (k == PTO_EXPLAINED_KERNELS) return;
  if (k == node->kernel_count) node->kernels[node->kernel_count++].kernel = kernel;
  node->kernels[k].tasks++;
}

static struct pto_cost cost_of(const struct pto_lowered_task *task, const struct pto_core *core) {
  struct pto_kernel_tensor tensors[PTO_MAX_PARAMS];
  union pto_scalar scalars[PTO_MAX_PARAMS];
  struct pto_kernel_args args = {.tensors = tensors, .scalars = scalars, .core = core};
  for (uint32_t i = 0; i < task->param_count && i < PTO_MAX_PARAMS; i++) {
    const struct pto_param *param = &task->params[i];
    if (param->mode == PTO_SCALAR) {
      scalars[args.scalar_count++] = param->value.scalar;
      continue;
    }
    const struct pto_tensor *t = param->value.tensor;
    tensors[args.tensor_count++] =
        (struct pto_kernel_tensor){.shape = t->shape, .strides = t->strides, .ndims = t->ndims, .dtype = t->dtype};
  }
  return pto_timing_cost(task->kernel, &args);
}

static void observe(void *context, const struct pto_lowered_task *task) {
  struct explaining *e = context;
  struct pto_explained_node *node = &e->nodes[task->node_index];
  const bool is_aic = (task->kernel->cores & PTO_AIV) == 0; /* as pto_graph_lowering_submit chooses */
  const struct pto_core *core = &e->cores[is_aic];
  const struct pto_cost cost = cost_of(task, core);
  const struct pto_timing_bound bound = pto_timing_bound(&e->timing, &cost, core->kind);
  node->tasks++;
  count_kernel(node, task->kernel);
  node->bytes_in += cost.bytes_in;
  node->bytes_out += cost.bytes_out;
  node->vector_elems += cost.vector_elems;
  node->multiply_adds += cost.multiply_adds;
  if (cost.local_bytes > node->local_bytes) node->local_bytes = cost.local_bytes;
  for (uint32_t b = 0; b < PTO_BOUND_COUNT; b++)
    if (strcmp(bound.resource, bound_names[b]) == 0) node->bound_ps[b] += bound.ps;
}

/* ---- the run ---- */

static bool zeroed(const struct pto_graph *graph, const uint32_t *values, const struct pto_operand *operands,
                   uint32_t count, struct pto_host_array *arrays) {
  for (uint32_t i = 0; i < count; i++) {
    const uint64_t bytes = graph->values[values[i]].size_bytes;
    arrays[i] = (struct pto_host_array){operands[i].name, calloc(1, bytes + 1), bytes};
    if (!arrays[i].data) return false;
  }
  return true;
}

static int run(struct explaining *e, struct pto_context *context, struct pto_error *error) {
  struct pto_graph *graph = e->graph;
  struct pto_host_array *in = calloc(graph->input_count + 1u, sizeof *in),
                        *out = calloc(graph->output_count + 1u, sizeof *out);
  int status = in && out && zeroed(graph, graph->inputs, graph->input_operands, graph->input_count, in) &&
                       zeroed(graph, graph->outputs, graph->output_operands, graph->output_count, out)
                   ? PTO_OK
                   : pto_error_set(error, PTO_ENOMEM, "out of memory");
  if (status == PTO_OK) {
    const struct pto_compute_arrays arrays = {in, out, graph->input_count, graph->output_count};
    graph->watch = &(struct pto_graph_lowering_watch){observe, e};
    status = pto_graph_compute(graph, context, &arrays);
    graph->watch = NULL;
    if (status) {
      const char *sentence = pto_context_error(context); /* none where memory ran out before the context was asked */
      (void)pto_error_set(error, status, "%s", sentence[0] ? sentence : pto_strerror(status));
    }
  }
  for (uint32_t i = 0; in && i < graph->input_count; i++) free(in[i].data);
  for (uint32_t i = 0; out && i < graph->output_count; i++) free(out[i].data);
  free(in);
  free(out);
  return status;
}

int pto_graph_explain(struct pto_graph *graph, struct pto_context *context, const struct pto_chip *chip,
                      struct pto_graph_explanation *explanation_out, struct pto_error *error) {
  struct explaining e = {.graph = graph};
  struct pto_graph_explanation explanation = {.node_count = graph->node_count + 1};
  explanation.nodes = calloc(explanation.node_count, sizeof *explanation.nodes);
  if (!explanation.nodes) return pto_error_set(error, PTO_ENOMEM, "out of memory");
  e.nodes = explanation.nodes;
  e.cores[0] = (struct pto_core){.kind = PTO_AIV, .block_count = 1, .local.size_bytes = chip->ub_bytes};
  e.cores[1] = (struct pto_core){.kind = PTO_AIC,
                                 .block_count = 1,
                                 .local.size_bytes = chip->l1_bytes,
                                 .l0a.size_bytes = chip->l0a_bytes,
                                 .l0b.size_bytes = chip->l0b_bytes,
                                 .l0c.size_bytes = chip->l0c_bytes};
  pto_timing_init(&e.timing, chip);
  int status = pto_fusion_plan_init(&explanation.plan, graph);
  status = status ? pto_error_set(error, status, "out of memory") : run(&e, context, error);
  if (status)
    pto_graph_explanation_fini(&explanation);
  else
    *explanation_out = explanation;
  return status;
}

void pto_graph_explanation_fini(struct pto_graph_explanation *explanation) {
  pto_fusion_plan_fini(&explanation->plan);
  free(explanation->nodes);
  *explanation = (struct pto_graph_explanation){0};
}
