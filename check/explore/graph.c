/* SPDX-License-Identifier: MIT */
#include <check/explore/graph.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/text.h>
#include <runtime/port/core_port.h>
#include <runtime/trace/trace_words.h>

/* ---- tasks ---- */

static void name_task(const struct pto_trace_task *record, struct pto_explore_task *task) {
  if (record->kind != PTO_TASK_KERNEL)
    snprintf(task->name, sizeof task->name, "%s", pto_trace_task_kind_name(record->kind));
  for (int i = 0; record->kind == PTO_TASK_KERNEL && i < 3; i++) {
    const struct pto_kernel *kernel = record->kernels[i];
    if (kernel) pto_text_append(task->name, sizeof task->name, "%s%s", task->name[0] ? "+" : "", kernel->name);
  }
  if (record->label) pto_text_append(task->name, sizeof task->name, " \"%s\"", record->label);
}

static void take_params(struct pto_explore_graph *graph, const struct pto_trace *trace,
                        const struct pto_trace_task *record, struct pto_explore_task *task) {
  task->first_touch = record->first_param;
  for (uint32_t i = 0; i < record->param_count; i++) {
    if (record->first_param + i >= trace->params.count) break;
    const struct pto_trace_param *param = pto_trace_log_at(&trace->params, record->first_param + i);
    const struct pto_buffer *buffer = &param->tensor.buffer;
    const bool is_managed = param->is_managed;
    if (pto_tensor_numel(&param->tensor) == 0) continue;
    struct pto_explore_touch *touch = &graph->touches[task->first_touch + task->touch_count++];
    *touch =
        (struct pto_explore_touch){.is_managed = is_managed,
                                   .begin = is_managed ? param->buffer_number : buffer->base,
                                   .end = is_managed ? param->buffer_number + 1 : buffer->base + buffer->size_bytes,
                                   .base = buffer->base,
                                   .buffer_number = param->buffer_number,
                                   .mode = param->mode == PTO_HOLD ? PTO_INOUT : param->mode, /* it may do either */
                                   .param = param->index};
    pto_region_from_tensor(&param->tensor, buffer->base, &touch->region);
    touch->region.is_fuzzy = 0;
  }
}

/* Of the reasons of an edge, the first of which is record `i`. */
static bool is_given(const struct pto_trace *trace, uint64_t i, uint64_t end) {
  const struct pto_trace_edge *edge;
  const uint64_t first = i;
  do {
    edge = pto_trace_log_at(&trace->edges, i);
    if (i > first && edge->is_first) return false;
    if (edge->reason == PTO_EDGE_EXPLICIT) return true;
  } while (++i < end);
  return false;
}

/* Those that the program gives stand before the others. */
static void take_edges(struct pto_explore_graph *graph, const struct pto_trace *trace,
                       const struct pto_trace_task *record, struct pto_explore_task *task) {
  const uint64_t end = pto_min_u64(record->first_edge + record->edge_count, trace->edges.count);
  task->first_producer = record->first_edge;
  for (int given = 1; given >= 0; given--)
    for (uint64_t i = record->first_edge; i < end; i++) {
      const struct pto_trace_edge *edge = pto_trace_log_at(&trace->edges, i);
      if (!edge->is_first || is_given(trace, i, end) != given) continue;
      graph->producers[task->first_producer + task->producer_count++] = edge->producer;
      task->given_count += given;
    }
}

/* Tasks below this number were over before task b was submitted.  *next: where to look on for a later one. */
static uint64_t synced_before(const struct pto_trace *trace, uint64_t b, uint64_t *next, uint64_t so_far) {
  for (; *next < trace->host_accesses.count; ++*next) {
    const struct pto_trace_host_access *access = pto_trace_log_at(&trace->host_accesses, *next);
    if (access->task_count > b) break;
    if (access->is_sync) so_far = access->task_count;
  }
  return so_far;
}

/* Row b holds the tasks before b. */
static bool close_over(struct pto_explore_graph *graph, const struct pto_trace *trace) {
  uint64_t synced = 0, next = 0;
  if (graph->task_count == 0 || graph->task_count > PTO_EXPLORE_CLOSURE_MAX) return true;
  graph->row_words = (graph->task_count + 63) / 64;
  graph->before = calloc(graph->task_count * graph->row_words, sizeof *graph->before);
  if (!graph->before) return false;
  for (uint64_t b = 0; b < graph->task_count; b++) {
    uint64_t *row = &graph->before[b * graph->row_words];
    synced = synced_before(trace, b, &next, synced);
    for (uint64_t a = 0; a < synced; a++) row[a / 64] |= UINT64_C(1) << (a & 63);
    for (uint32_t i = 0; i < graph->tasks[b].producer_count; i++) {
      const uint64_t a = graph->producers[graph->tasks[b].first_producer + i];
      row[a / 64] |= UINT64_C(1) << (a & 63);
      for (uint64_t word = 0; word < graph->row_words; word++) row[word] |= graph->before[a * graph->row_words + word];
    }
  }
  return true;
}

/* ---- the whole ---- */

int pto_explore_graph_init(struct pto_explore_graph *graph, const struct pto_trace *trace) {
  memset(graph, 0, sizeof *graph);
  graph->task_count = trace->tasks.count;
  graph->is_partial = trace->tasks.dropped || trace->params.dropped || trace->edges.dropped;
  graph->tasks = calloc(graph->task_count + 1, sizeof *graph->tasks);
  graph->touches = calloc(trace->params.count + 1, sizeof *graph->touches);
  graph->producers = calloc(trace->edges.count + 1, sizeof *graph->producers);
  bool is_complete = graph->tasks && graph->touches && graph->producers;
  for (uint64_t i = 0; i < graph->task_count && is_complete; i++) {
    const struct pto_trace_task *record = pto_trace_log_at(&trace->tasks, i);
    struct pto_explore_task *task = &graph->tasks[i];
    name_task(record, task);
    task->block_count = record->block_count;
    task->is_sequential = record->is_sequential;
    for (int k = 0; k < 3; k++) task->waits |= record->kernels[k] && pto_kernel_waits(record->kernels[k]);
    task->call = record->call;
    task->outer = record->outer_call;
    task->dispatch = record->dispatch;
    task->part_of = record->part_of;
    take_params(graph, trace, record, task);
    take_edges(graph, trace, record, task);
  }
  if (is_complete && close_over(graph, trace)) return PTO_OK;
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

static bool is_one_memory(const struct pto_explore_touch *a, const struct pto_explore_touch *b) {
  return a->is_managed == b->is_managed && a->begin < b->end && b->begin < a->end;
}

/* Two touches of one memory, or of a byte of it, one of which writes. */
static bool find_conflict(const struct pto_explore_graph *graph, uint64_t a, uint64_t b, bool is_of_bytes,
                          const struct pto_explore_touch **touch_a, const struct pto_explore_touch **touch_b) {
  const struct pto_explore_task *task_a = &graph->tasks[a], *task_b = &graph->tasks[b];
  for (uint32_t i = 0; i < task_a->touch_count; i++)
    for (uint32_t k = 0; k < task_b->touch_count; k++) {
      *touch_a = &graph->touches[task_a->first_touch + i];
      *touch_b = &graph->touches[task_b->first_touch + k];
      if (!is_one_memory(*touch_a, *touch_b) || !(((*touch_a)->mode | (*touch_b)->mode) & WRITES)) continue;
      if (!is_of_bytes || pto_region_intersects(&(*touch_a)->region, &(*touch_b)->region, NULL)) return true;
    }
  return false;
}

static int order_addresses(const void *left, const void *right) {
  const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

int pto_explore_graph_external(const struct pto_explore_graph *graph, uint64_t *count_out) {
  uint64_t touches = 0, count = 0;
  for (uint64_t i = 0; i < graph->task_count; i++) touches += graph->tasks[i].touch_count;
  uint64_t *begins = malloc((touches + 1) * sizeof *begins);
  if (!begins) return PTO_ENOMEM;
  touches = 0;
  for (uint64_t i = 0; i < graph->task_count; i++)
    for (uint32_t k = 0; k < graph->tasks[i].touch_count; k++) {
      const struct pto_explore_touch *touch = &graph->touches[graph->tasks[i].first_touch + k];
      if (!touch->is_managed) begins[touches++] = touch->begin;
    }
  qsort(begins, touches, sizeof *begins, order_addresses);
  for (uint64_t i = 0; i < touches; i++) count += i == 0 || begins[i] != begins[i - 1];
  free(begins);
  *count_out = count;
  return PTO_OK;
}

bool pto_explore_graph_is_dependent(const struct pto_explore_graph *graph, uint64_t a, uint64_t b) {
  const struct pto_explore_touch *touch_a, *touch_b;
  if (a >= graph->task_count || b >= graph->task_count) return true; /* nothing is known of them */
  return find_conflict(graph, a, b, false, &touch_a, &touch_b);
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
