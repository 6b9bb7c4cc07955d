/* SPDX-License-Identifier: MIT */
#include <report/run/critical_path.h>

#include <stdlib.h>

#include <report/run/trace_view.h>
#include <runtime/base/base.h>

/* The longest path that ends with a task: how long, and of how many tasks. */
struct end {
  uint64_t length, task_count;
};

static void take_calls(const struct pto_trace *trace, struct end *ends) {
  const struct pto_trace_span *span;
  for (struct pto_span_walk walk = {0}; (span = pto_trace_next_span(trace, &walk)) != NULL;)
    if (span->task < trace->tasks.count)
      ends[span->task].length = pto_max_u64(ends[span->task].length, span->end - span->begin);
}

/* The longest of the paths that end with a producer. */
static struct end before(const struct pto_trace *trace, const struct end *ends, uint64_t number) {
  const struct pto_trace_task *task = pto_trace_log_at(&trace->tasks, number);
  struct end longest = {0, 0};
  for (uint64_t i = task->first_edge; i < task->first_edge + task->edge_count && i < trace->edges.count; i++) {
    const struct pto_trace_edge *edge = pto_trace_log_at(&trace->edges, i);
    if (edge->producer < number && ends[edge->producer].length > longest.length) longest = ends[edge->producer];
  }
  return longest;
}

int pto_critical_path_find(const struct pto_trace *trace, struct pto_critical_path *path, struct pto_error *error) {
  const uint64_t count = trace->tasks.count;
  *path = (struct pto_critical_path){0};
  struct end *ends = calloc(count + 1, sizeof *ends);
  if (!ends)
    return pto_error_set(error, PTO_ENOMEM, "no memory for the critical path of %llu tasks", (unsigned long long)count);
  take_calls(trace, ends);
  for (uint64_t number = 0; number < count; number++) {
    const struct end longest = before(trace, ends, number);
    ends[number].length += longest.length;
    ends[number].task_count = longest.task_count + 1;
    if (ends[number].length > path->length)
      *path = (struct pto_critical_path){ends[number].length, ends[number].task_count, number};
  }
  free(ends);
  return PTO_OK;
}
