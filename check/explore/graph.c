/* SPDX-License-Identifier: MIT */
#include <check/explore/graph.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/text.h>

/* ---- resources ---- */

/* Memory of external buffers, by address; ranges that intersect are one. */
struct range {
  uint64_t begin, end, id;
};
struct ranges {
  struct range *items;
  uint64_t count;
};
struct source {
  const struct pto_trace *trace;
  const struct pto_runtime *rt;
};

static const struct pto_trace_param *param_at(const struct source *source, uint64_t index) {
  return pto_trace_log_at(&source->trace->params, index);
}

/* Of an external buffer with bytes; managed ones have a number that is theirs alone. */
static bool is_external(const struct source *source, const struct pto_trace_param *param) {
  const struct pto_buffer *buffer = &param->tensor.buffer;
  return buffer->base && buffer->size_bytes && !pto_runtime_owns_address(source->rt, buffer->base);
}

static int order_ranges(const void *left, const void *right) {
  const struct range *a = left, *b = right;
  return (a->begin > b->begin) - (a->begin < b->begin);
}

/* One resource a union of ranges: id is the place of the union's first. */
static bool collect_ranges(const struct source *source, struct ranges *ranges) {
  const uint64_t params = source->trace->params.count;
  ranges->items = malloc((params + 1) * sizeof *ranges->items);
  ranges->count = 0;
  if (!ranges->items) return false;
  for (uint64_t i = 0; i < params; i++) {
    const struct pto_trace_param *param = param_at(source, i);
    if (!is_external(source, param)) continue;
    const struct pto_buffer *buffer = &param->tensor.buffer;
    ranges->items[ranges->count++] = (struct range){buffer->base, buffer->base + buffer->size_bytes, 0};
  }
  qsort(ranges->items, ranges->count, sizeof *ranges->items, order_ranges);
  uint64_t last = 0;
  for (uint64_t i = 1; i < ranges->count; i++) {
    if (ranges->items[i].begin < ranges->items[last].end)
      ranges->items[last].end = pto_max_u64(ranges->items[last].end, ranges->items[i].end);
    else
      ranges->items[++last] = ranges->items[i];
  }
  if (ranges->count) ranges->count = last + 1;
  return true;
}

/* The union that holds `address`. */
static uint64_t find_range(const struct ranges *ranges, uint64_t address) {
  uint64_t low = 0, high = ranges->count;
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    if (ranges->items[middle].begin <= address)
      low = middle;
    else
      high = middle;
  }
  return low;
}

static uint64_t resource_of(const struct source *source, const struct ranges *ranges,
                            const struct pto_trace_param *param) {
  if (is_external(source, param)) return 2 * find_range(ranges, param->tensor.buffer.base);
  return 2 * param->buffer_number + 1;
}

/* ---- tasks ---- */

static void name_task(const struct pto_trace_task *record, struct pto_explore_task *task) {
  static const char *const kinds[] = {"kernel", "barrier", "alloc"};
  if (record->kind != PTO_TASK_KERNEL) snprintf(task->name, sizeof task->name, "%s", kinds[record->kind]);
  for (int i = 0; record->kind == PTO_TASK_KERNEL && i < 3; i++) {
    const struct pto_kernel *kernel = record->kernels[i];
    if (kernel) pto_text_append(task->name, sizeof task->name, "%s%s", task->name[0] ? "+" : "", kernel->name);
  }
}

static bool takes_turns(const struct pto_trace_task *record) {
  for (int i = 0; i < 3; i++)
    if (record->kernels[i] && record->kernels[i]->flags & PTO_KERNEL_TURNS) return true;
  return false;
}

static void take_params(struct pto_explore_graph *graph, const struct source *source, const struct ranges *ranges,
                        const struct pto_trace_task *record, struct pto_explore_task *task) {
  bool accumulates = false;
  task->first_touch = record->first_param;
  for (uint32_t i = 0; i < record->param_count; i++) {
    if (record->first_param + i >= source->trace->params.count) break;
    const struct pto_trace_param *param = param_at(source, record->first_param + i);
    accumulates |= param->mode == PTO_ACCUMULATE;
    if (pto_tensor_numel(&param->tensor) == 0) continue;
    struct pto_explore_touch *touch = &graph->touches[task->first_touch + task->touch_count++];
    *touch = (struct pto_explore_touch){.resource = resource_of(source, ranges, param),
                                        .buffer_number = param->buffer_number,
                                        .mode = param->mode,
                                        .param = param->index};
    pto_region_from_tensor(&param->tensor, param->tensor.buffer.base, &touch->region);
    touch->region.is_fuzzy = 0;
  }
  task->is_serial = accumulates && !takes_turns(record);
}

static void take_edges(struct pto_explore_graph *graph, const struct source *source,
                       const struct pto_trace_task *record, struct pto_explore_task *task) {
  task->first_producer = record->first_edge;
  for (uint64_t i = 0; i < record->edge_count && record->first_edge + i < source->trace->edges.count; i++) {
    const struct pto_trace_edge *edge = pto_trace_log_at(&source->trace->edges, record->first_edge + i);
    if (edge->is_first) graph->producers[task->first_producer + task->producer_count++] = edge->producer;
  }
}

/* Row b holds the tasks before b. */
static bool close_over(struct pto_explore_graph *graph) {
  if (graph->task_count == 0 || graph->task_count > PTO_EXPLORE_CLOSURE_MAX) return true;
  graph->row_words = (graph->task_count + 63) / 64;
  graph->before = calloc(graph->task_count * graph->row_words, sizeof *graph->before);
  if (!graph->before) return false;
  for (uint64_t b = 0; b < graph->task_count; b++) {
    uint64_t *row = &graph->before[b * graph->row_words];
    for (uint32_t i = 0; i < graph->tasks[b].producer_count; i++) {
      const uint64_t a = graph->producers[graph->tasks[b].first_producer + i];
      row[a / 64] |= UINT64_C(1) << (a & 63);
      for (uint64_t word = 0; word < graph->row_words; word++) row[word] |= graph->before[a * graph->row_words + word];
    }
  }
  return true;
}

/* ---- the whole ---- */

int pto_explore_graph_init(struct pto_explore_graph *graph, const struct pto_runtime *rt) {
  const struct pto_trace *trace = pto_runtime_trace(rt);
  const struct source source = {trace, rt};
  struct ranges ranges;
  memset(graph, 0, sizeof *graph);
  graph->task_count = trace->tasks.count;
  graph->is_partial = trace->tasks.dropped || trace->params.dropped || trace->edges.dropped;
  graph->tasks = calloc(graph->task_count + 1, sizeof *graph->tasks);
  graph->touches = calloc(trace->params.count + 1, sizeof *graph->touches);
  graph->producers = calloc(trace->edges.count + 1, sizeof *graph->producers);
  bool is_complete = collect_ranges(&source, &ranges) && graph->tasks && graph->touches && graph->producers;
  for (uint64_t i = 0; i < graph->task_count && is_complete; i++) {
    const struct pto_trace_task *record = pto_trace_log_at(&trace->tasks, i);
    struct pto_explore_task *task = &graph->tasks[i];
    name_task(record, task);
    task->block_count = record->block_count;
    task->call = record->call;
    take_params(graph, &source, &ranges, record, task);
    take_edges(graph, &source, record, task);
  }
  free(ranges.items);
  if (is_complete && close_over(graph)) return PTO_OK;
  pto_explore_graph_fini(graph);
  return PTO_ENOMEM;
}

void pto_explore_graph_fini(struct pto_explore_graph *graph) {
  free(graph->tasks);
  free(graph->touches);
  free(graph->producers);
  free(graph->before);
  memset(graph, 0, sizeof *graph);
}

/* ---- questions ---- */

#define WRITES 2u /* a bit of enum pto_mode */

/* Two touches of one resource, or of a byte of it, one of which writes. */
static bool find_conflict(const struct pto_explore_graph *graph, uint64_t a, uint64_t b, bool is_of_bytes,
                          const struct pto_explore_touch **touch_a, const struct pto_explore_touch **touch_b) {
  const struct pto_explore_task *task_a = &graph->tasks[a], *task_b = &graph->tasks[b];
  for (uint32_t i = 0; i < task_a->touch_count; i++)
    for (uint32_t k = 0; k < task_b->touch_count; k++) {
      const struct pto_explore_touch *x = &graph->touches[task_a->first_touch + i];
      const struct pto_explore_touch *y = &graph->touches[task_b->first_touch + k];
      if (x->resource != y->resource || !((x->mode | y->mode) & WRITES)) continue;
      if (is_of_bytes && !pto_region_intersects(&x->region, &y->region, NULL)) continue;
      if (touch_a) *touch_a = x;
      if (touch_b) *touch_b = y;
      return true;
    }
  return false;
}

bool pto_explore_graph_is_dependent(const struct pto_explore_graph *graph, uint64_t a, uint64_t b,
                                    const struct pto_explore_touch **touch_a,
                                    const struct pto_explore_touch **touch_b) {
  if (a >= graph->task_count || b >= graph->task_count) return true; /* nothing is known of them */
  return find_conflict(graph, a, b, false, touch_a, touch_b);
}

bool pto_explore_graph_shares_bytes(const struct pto_explore_graph *graph, uint64_t a, uint64_t b,
                                    const struct pto_explore_touch **touch_a,
                                    const struct pto_explore_touch **touch_b) {
  return a < graph->task_count && b < graph->task_count && find_conflict(graph, a, b, true, touch_a, touch_b);
}

bool pto_explore_graph_is_before(const struct pto_explore_graph *graph, uint64_t a, uint64_t b) {
  if (a >= b || b >= graph->task_count) return false;
  if (graph->before) return graph->before[b * graph->row_words + a / 64] >> (a & 63) & 1;
  for (uint32_t i = 0; i < graph->tasks[b].producer_count; i++)
    if (graph->producers[graph->tasks[b].first_producer + i] == a) return true;
  return false;
}

void pto_explore_graph_mark_producers(const struct pto_explore_graph *graph, uint64_t task, uint8_t *marks) {
  if (graph->task_count) memset(marks, 0, graph->task_count);
  if (task >= graph->task_count) return;
  marks[task] = 1;
  for (uint64_t b = task + 1; b-- > 0;) /* producers have lower numbers, so one way down visits all */
    for (uint32_t i = 0; marks[b] && i < graph->tasks[b].producer_count; i++)
      marks[graph->producers[graph->tasks[b].first_producer + i]] = 1;
}
