/* SPDX-License-Identifier: MIT */
#include <bench/support/graph_run.h>
#include <runtime/base/base.h>

#include <stdio.h>

/* ---- kernels: tensors as the access says; scalars: the task's number, the steps of its body ---- */

static int apply(const struct pto_kernel_args *a, enum pto_task_access access) {
  uint32_t *z = a->tensor_count > 2 ? a->tensors[2].addr : NULL;
  if (a->scalars[1].u64) pto_task_body(a->scalars[1].u64);
  pto_task_apply(access, (uint32_t)a->scalars[0].u64, a->tensors[0].addr, a->tensors[1].addr, z);
  return 0;
}

static int read_write_run(const struct pto_kernel_args *a) { return apply(a, PTO_TASK_READ_WRITE); }
static int read_read_write_run(const struct pto_kernel_args *a) { return apply(a, PTO_TASK_READ_READ_WRITE); }
static int read_update_run(const struct pto_kernel_args *a) { return apply(a, PTO_TASK_READ_UPDATE); }
static int read_read_update_run(const struct pto_kernel_args *a) { return apply(a, PTO_TASK_READ_READ_UPDATE); }
static int row_update_run(const struct pto_kernel_args *a) { return apply(a, PTO_TASK_ROW_UPDATE); }

#define TILE(name_, mode_)                                                                                             \
  { .name = name_, .mode = mode_, .dtypes = PTO_DTYPE_BIT(PTO_UINT32), .min_rank = 1, .max_rank = 1 }
#define U64(name_)                                                                                                     \
  { .name = name_, .mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64 }
#define TWO(name_, x, y)                                                                                               \
  static const struct pto_kernel_param name_##_params[] = {TILE("x", x), TILE("y", y), U64("task"), U64("steps")};
#define THREE(name_, x, y, z)                                                                                          \
  static const struct pto_kernel_param name_##_params[] = {TILE("x", x), TILE("y", y), TILE("z", z), U64("task"),      \
                                                           U64("steps")};
TWO(read_write, PTO_INPUT, PTO_OUTPUT)
THREE(read_read_write, PTO_INPUT, PTO_INPUT, PTO_OUTPUT)
TWO(read_update, PTO_INPUT, PTO_INOUT)
THREE(read_read_update, PTO_INPUT, PTO_INPUT, PTO_INOUT)
TWO(row_update, PTO_INOUT, PTO_INOUT)

#define KERNEL(name_)                                                                                                  \
  {                                                                                                                    \
    .name = #name_, .cores = PTO_AIC | PTO_AIV, .params = name_##_params,                                              \
    .param_count = sizeof name_##_params / sizeof name_##_params[0], .run = name_##_run                                \
  }
static const struct pto_kernel kernels[] = {
    [PTO_TASK_READ_WRITE] = KERNEL(read_write),   [PTO_TASK_READ_READ_WRITE] = KERNEL(read_read_write),
    [PTO_TASK_READ_UPDATE] = KERNEL(read_update), [PTO_TASK_READ_READ_UPDATE] = KERNEL(read_read_update),
    [PTO_TASK_ROW_UPDATE] = KERNEL(row_update),
};

/* ---- the orchestration ---- */

/* Made once: views of one tile differ in start_offset alone, so a parameter's is moved from task to task. */
struct views {
  struct pto_tensor tiles[3][2]; /* by parameter and buffer */
  struct pto_tensor rows[2];     /* by buffer */
};

static void make_views(struct pto_runtime *rt, const struct pto_task_graph *graph, struct views *views) {
  static const uint64_t zero[] = {0}, one_tile[] = {PTO_TASK_TILE_ELEMS}, row[] = {PTO_TASK_ROW_ELEMS};
  for (uint32_t buffer = 0; buffer < 2; buffer++) {
    const uint64_t shape[] = {(uint64_t)graph->tile_counts[buffer] * PTO_TASK_TILE_ELEMS};
    struct pto_tensor whole = pto_external_tensor(rt, graph->buffers[buffer], PTO_UINT32, 1, shape);
    for (uint32_t place = 0; place < 3; place++) views->tiles[place][buffer] = pto_tensor_view(&whole, zero, one_tile);
    views->rows[buffer] = pto_tensor_view(&whole, zero, row); /* of a buffer that has as many tiles */
  }
}

/* The node's tile at `place`. */
static inline const struct pto_tensor *tile(struct views *views, const struct pto_task_node *node, uint32_t place) {
  struct pto_tensor *view = &views->tiles[place][node->buffers[place]];
  view->start_offset = (uint64_t)node->tiles[place] * PTO_TASK_TILE_ELEMS;
  return view;
}
static inline const struct pto_tensor *row(struct views *views, const struct pto_task_node *node) {
  struct pto_tensor *view = &views->rows[node->buffers[0]];
  view->start_offset = (uint64_t)node->tiles[0] * PTO_TASK_TILE_ELEMS;
  return view;
}

static inline int submit_to(struct pto_runtime *rt, const struct pto_task_node *node, const struct pto_param *params,
                            uint32_t count) {
  const struct pto_kernel *kernel = &kernels[node->access];
  return node->is_matrix ? pto_submit_aic(rt, kernel, params, count) : pto_submit_aiv(rt, kernel, params, count);
}
static inline int submit_two(struct pto_runtime *rt, const struct pto_task_node *node, struct pto_param x,
                             struct pto_param y, uint32_t task, uint64_t steps) {
  const struct pto_param params[] = {x, y, pto_scalar_u64(task), pto_scalar_u64(steps)};
  return submit_to(rt, node, params, PTO_ARRAY_LENGTH(params));
}
static inline int submit_three(struct pto_runtime *rt, const struct pto_task_node *node, struct views *views,
                               struct pto_param z, uint32_t task, uint64_t steps) {
  const struct pto_param params[] = {pto_input(tile(views, node, 0)), pto_input(tile(views, node, 1)), z,
                                     pto_scalar_u64(task), pto_scalar_u64(steps)};
  return submit_to(rt, node, params, PTO_ARRAY_LENGTH(params));
}

static int submit(struct pto_runtime *rt, const struct pto_task_graph *graph, struct views *v, uint32_t task) {
  const struct pto_task_node *node = &graph->nodes[task];
  const uint64_t steps = graph->body_steps;
  switch ((enum pto_task_access)node->access) {
  case PTO_TASK_READ_WRITE:
    return submit_two(rt, node, pto_input(tile(v, node, 0)), pto_output(tile(v, node, 1)), task, steps);
  case PTO_TASK_READ_UPDATE:
    return submit_two(rt, node, pto_input(tile(v, node, 0)), pto_inout(tile(v, node, 1)), task, steps);
  case PTO_TASK_ROW_UPDATE:
    return submit_two(rt, node, pto_inout(row(v, node)), pto_inout(tile(v, node, 1)), task, steps);
  case PTO_TASK_READ_READ_WRITE:
    return submit_three(rt, node, v, pto_output(tile(v, node, 2)), task, steps);
  case PTO_TASK_READ_READ_UPDATE:
    break;
  }
  return submit_three(rt, node, v, pto_inout(tile(v, node, 2)), task, steps);
}

int pto_graph_run_orchestrate(struct pto_runtime *rt, void *context) {
  const struct pto_graph_run *run = context;
  struct views views;
  make_views(rt, run->graph, &views);
  uint32_t left_in_scope = run->scope_tasks;
  int status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
  for (uint32_t i = 0; i < run->graph->task_count && status == PTO_OK; i++) {
    status = submit(rt, run->graph, &views, i);
    if (--left_in_scope > 0 || status != PTO_OK) continue;
    left_in_scope = run->scope_tasks;
    status = pto_scope_end(rt);
    if (status == PTO_OK) status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
  }
  return status == PTO_OK ? pto_scope_end(rt) : status;
}

double pto_graph_run_ns(struct pto_runtime *rt, struct pto_task_graph *graph, uint32_t scope_tasks) {
  struct pto_graph_run run = {graph, scope_tasks};
  struct pto_stats stats = {.size = sizeof stats};
  pto_task_graph_rewind(graph);
  if (pto_run(rt, pto_graph_run_orchestrate, &run) != PTO_OK) {
    fprintf(stderr, "a run of %u tasks failed: %s\n", graph->task_count, pto_last_error(rt));
    return -1;
  }
  pto_runtime_stats(rt, &stats);
  if (stats.tasks == graph->task_count && pto_task_graph_is_right(graph))
    return (double)stats.wall_ns / graph->task_count;
  fprintf(stderr, "a run of %u tasks left a wrong result\n", graph->task_count);
  return -1;
}
