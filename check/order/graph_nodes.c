/* SPDX-License-Identifier: MIT */
#include <check/order/graph_nodes.h>

#include <runtime/tensor/tensor_make.h>

static bool share_bytes(const struct pto_trace_param *a, const struct pto_trace_param *b) {
  const struct pto_buffer *x = &a->tensor.buffer, *y = &b->tensor.buffer;
  if (x->base + x->size_bytes <= y->base || y->base + y->size_bytes <= x->base) return false;
  if (pto_tensor_is_empty(&a->tensor) || pto_tensor_is_empty(&b->tensor)) return false;
  struct pto_region left, right;
  pto_region_from_tensor(&a->tensor, x->base, &left);
  pto_region_from_tensor(&b->tensor, y->base, &right);
  left.is_fuzzy = right.is_fuzzy = 0;
  return pto_region_intersects(&left, &right, NULL);
}

/* Whether an INPUT and an OUTPUT of the task are one in place: where they share bytes they are, as the runtime refuses
 * all else. */
static bool is_in_place(const struct pto_access_graph *graph, const struct pto_trace_task *task,
                        const struct pto_trace_param *param) {
  const uint32_t other_mode = param->mode == PTO_INPUT ? PTO_OUTPUT : PTO_INPUT;
  if ((param->mode != PTO_INPUT && param->mode != PTO_OUTPUT) || param->index == UINT32_MAX) return false;
  for (uint32_t i = 0; i < task->param_count; i++) {
    const struct pto_trace_param *other = pto_trace_log_at(&graph->trace->params, task->first_param + i);
    if (other->mode == other_mode && other->index != UINT32_MAX && share_bytes(param, other)) return true;
  }
  return false;
}

static uint32_t space_of(bool is_managed, uint64_t buffer_number) { return is_managed ? (uint32_t)buffer_number : 0; }

static void add_task_accesses(struct pto_access_graph *graph, uint32_t node) {
  const struct pto_trace_task *task = pto_graph_task(graph, node);
  for (uint32_t i = 0; i < task->param_count; i++) {
    const struct pto_trace_param *param = pto_trace_log_at(&graph->trace->params, task->first_param + i);
    if (pto_tensor_is_empty(&param->tensor)) continue;
    const bool in_place = is_in_place(graph, task, param);
    if (in_place && param->mode == PTO_INPUT) continue; /* told with the output */
    graph->accesses[graph->access_count++] =
        (struct pto_graph_access){.param = param,
                                  .node = node,
                                  .space = space_of(param->is_managed, param->buffer_number),
                                  .reads = (param->mode & PTO_INPUT) || in_place,
                                  .writes = param->mode & PTO_OUTPUT};
  }
}

/* Whether explicit dependencies alone order it.  A launch of recorded tasks has a scope of its own, whose first task
 * comes after what the scope around it makes it come after. */
static bool is_manual(const struct pto_access_graph *graph, const struct pto_trace_task *task) {
  const struct pto_trace_scope *scope = pto_trace_log_at(&graph->trace->scopes, task->scope_serial);
  if (task->part_of && scope->first_task == task->number)
    scope = pto_trace_log_at(&graph->trace->scopes, scope->parent);
  return scope->kind == PTO_SCOPE_MANUAL;
}

static void add_node(struct pto_access_graph *graph, bool is_host, uint32_t index) {
  const uint32_t node = graph->node_count++;
  graph->nodes[node] = (struct pto_graph_node){.index = index, .is_host = is_host, .first_access = graph->access_count};
  if (is_host) {
    const struct pto_trace_host_access *host = pto_graph_host(graph, node);
    if (!host->is_sync)
      graph->accesses[graph->access_count++] =
          (struct pto_graph_access){.node = node,
                                    .space = space_of(host->is_managed, host->buffer_number),
                                    .reads = !host->is_write,
                                    .writes = host->is_write};
  } else {
    const struct pto_trace_task *task = pto_graph_task(graph, node);
    graph->node_of_task[index] = node;
    graph->nodes[node].is_manual = is_manual(graph, task);
    graph->nodes[node].is_part = task->part_of != 0;
    add_task_accesses(graph, node);
  }
  graph->nodes[node].access_count = (uint32_t)(graph->access_count - graph->nodes[node].first_access);
}

void pto_graph_add_nodes(struct pto_access_graph *graph) {
  const struct pto_trace *trace = graph->trace;
  uint64_t host = 0;
  for (uint64_t task = 0; task <= trace->tasks.count; task++) {
    for (; host < trace->host_accesses.count; host++) {
      const struct pto_trace_host_access *access = pto_trace_log_at(&trace->host_accesses, host);
      if (access->task_count > task) break;
      add_node(graph, true, (uint32_t)host);
    }
    if (task < trace->tasks.count) add_node(graph, false, (uint32_t)task);
  }
}
