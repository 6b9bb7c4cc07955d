/* SPDX-License-Identifier: MIT */
#include <runtime/trace/trace_append.h>

/* What is added to the numbers of the part. */
struct shift {
  uint64_t time, task, param, edge, scope, buffer;
};

static void append_tasks(struct pto_trace *sum, const struct pto_trace *part, const struct shift *shift) {
  for (uint64_t i = 0; i < part->tasks.count; i++) {
    struct pto_trace_task *task = pto_trace_log_append(&sum->tasks);
    if (!task) continue;
    *task = *(const struct pto_trace_task *)pto_trace_log_at(&part->tasks, i);
    task->number += shift->task;
    task->scope_serial += (uint32_t)shift->scope;
    task->first_param += shift->param;
    task->first_edge += shift->edge;
    task->submit_time += shift->time;
  }
}

/* Returns one more than the highest number of a buffer, as in the sum. */
static uint64_t append_params(struct pto_trace *sum, const struct pto_trace *part, const struct shift *shift) {
  uint64_t end = shift->buffer;
  for (uint64_t i = 0; i < part->params.count; i++) {
    struct pto_trace_param *param = pto_trace_log_append(&sum->params);
    if (!param) continue;
    *param = *(const struct pto_trace_param *)pto_trace_log_at(&part->params, i);
    param->buffer_number += shift->buffer;
    end = pto_max_u64(end, param->buffer_number + 1);
  }
  return end;
}

static void append_edges(struct pto_trace *sum, const struct pto_trace *part, const struct shift *shift) {
  for (uint64_t i = 0; i < part->edges.count; i++) {
    struct pto_trace_edge *edge = pto_trace_log_append(&sum->edges);
    if (!edge) continue;
    *edge = *(const struct pto_trace_edge *)pto_trace_log_at(&part->edges, i);
    edge->producer += shift->task;
    edge->consumer += shift->task;
    if (edge->end) edge->buffer_number += shift->buffer;
  }
}

static void append_scopes(struct pto_trace *sum, const struct pto_trace *part, const struct shift *shift) {
  for (uint64_t i = 0; i < part->scopes.count; i++) {
    struct pto_trace_scope *scope = pto_trace_log_append(&sum->scopes);
    if (!scope) continue;
    *scope = *(const struct pto_trace_scope *)pto_trace_log_at(&part->scopes, i);
    scope->serial += (uint32_t)shift->scope;
    if (scope->parent != UINT32_MAX) scope->parent += (uint32_t)shift->scope;
    scope->first_task += shift->task;
    if (scope->end_task != UINT64_MAX) scope->end_task += shift->task;
  }
}

/* As append_params. */
static uint64_t append_accesses(struct pto_trace *sum, const struct pto_trace *part, const struct shift *shift) {
  uint64_t end = shift->buffer;
  for (uint64_t i = 0; i < part->host_accesses.count; i++) {
    struct pto_trace_host_access *access = pto_trace_log_append(&sum->host_accesses);
    if (!access) continue;
    *access = *(const struct pto_trace_host_access *)pto_trace_log_at(&part->host_accesses, i);
    access->buffer_number += shift->buffer;
    access->task_count += shift->task;
    end = pto_max_u64(end, access->buffer_number + 1);
  }
  return end;
}

static void append_control(struct pto_trace *sum, const struct pto_trace *part, const struct shift *shift) {
  for (uint64_t i = 0; i < part->samples.count; i++) {
    struct pto_trace_sample *sample = pto_trace_log_append(&sum->samples);
    if (!sample) continue;
    *sample = *(const struct pto_trace_sample *)pto_trace_log_at(&part->samples, i);
    sample->time += shift->time;
  }
  if (part->control.writer_tid) sum->control.writer_tid = part->control.writer_tid;
  for (uint64_t i = 0; i < part->control.count; i++) {
    struct pto_trace_control *control = pto_trace_log_append(&sum->control);
    if (!control) continue;
    *control = *(const struct pto_trace_control *)pto_trace_log_at(&part->control, i);
    control->begin += shift->time;
    control->end += shift->time;
    control->task += (uint32_t)shift->task;
  }
}

static void append_spans(struct pto_trace *sum, const struct pto_trace *part, const struct shift *shift) {
  for (uint32_t worker = 0; worker < part->span_log_count && sum->span_log_count; worker++) {
    const struct pto_trace_log *from = &part->spans[worker];
    struct pto_trace_log *to = &sum->spans[worker % sum->span_log_count];
    to->dropped += from->dropped;
    if (from->writer_tid) to->writer_tid = from->writer_tid;
    for (uint64_t i = 0; i < from->count; i++) {
      struct pto_trace_span *span = pto_trace_log_append(to);
      if (!span) continue;
      *span = *(const struct pto_trace_span *)pto_trace_log_at(from, i);
      span->begin += shift->time;
      span->end += shift->time;
      span->task += (uint32_t)shift->task;
    }
  }
}

static void add_dropped(struct pto_trace *sum, const struct pto_trace *part) {
  sum->tasks.dropped += part->tasks.dropped;
  sum->params.dropped += part->params.dropped;
  sum->edges.dropped += part->edges.dropped;
  sum->scopes.dropped += part->scopes.dropped;
  sum->host_accesses.dropped += part->host_accesses.dropped;
  sum->samples.dropped += part->samples.dropped;
  sum->control.dropped += part->control.dropped;
}

int pto_trace_append(struct pto_trace *sum, const struct pto_trace *part, uint64_t time) {
  if (sum->record == 0) {
    int status = pto_trace_init(sum, part->record, part->span_log_count);
    if (status) return status;
    sum->is_virtual = part->is_virtual;
    sum->start_ns = part->start_ns;
  }
  /* A record that was dropped has no number that others could refer to wrongly: the logs end there. */
  const struct shift shift = {.time = time,
                              .task = sum->tasks.count,
                              .param = sum->params.count,
                              .edge = sum->edges.count,
                              .scope = sum->scopes.count,
                              .buffer = sum->buffer_end};
  append_tasks(sum, part, &shift);
  sum->buffer_end = append_params(sum, part, &shift);
  append_edges(sum, part, &shift);
  append_scopes(sum, part, &shift);
  sum->buffer_end = pto_max_u64(sum->buffer_end, append_accesses(sum, part, &shift));
  append_control(sum, part, &shift);
  append_spans(sum, part, &shift);
  add_dropped(sum, part);
  return PTO_OK;
}

/* Adds `by` to all times. */
static void delay(struct pto_trace *trace, uint64_t by) {
  for (uint64_t i = 0; i < trace->tasks.count; i++)
    ((struct pto_trace_task *)pto_trace_log_at(&trace->tasks, i))->submit_time += by;
  for (uint64_t i = 0; i < trace->samples.count; i++)
    ((struct pto_trace_sample *)pto_trace_log_at(&trace->samples, i))->time += by;
  for (uint64_t i = 0; i < trace->control.count; i++) {
    struct pto_trace_control *control = pto_trace_log_at(&trace->control, i);
    control->begin += by;
    control->end += by;
  }
  for (uint32_t worker = 0; worker < trace->span_log_count; worker++)
    for (uint64_t i = 0; i < trace->spans[worker].count; i++) {
      struct pto_trace_span *span = pto_trace_log_at(&trace->spans[worker], i);
      span->begin += by;
      span->end += by;
    }
}

uint64_t pto_trace_append_place(struct pto_trace *sum, uint64_t start_ns) {
  if (start_ns >= sum->start_ns) return start_ns - sum->start_ns;
  delay(sum, sum->start_ns - start_ns);
  sum->start_ns = start_ns;
  return 0;
}
