/* SPDX-License-Identifier: MIT */
#include <runtime/trace/trace_append.h>

#include <string.h>

#include <runtime/trace/remote.h>
#include <runtime/trace/segment.h>

/* What is added to the numbers of the part. */
struct shift {
  uint64_t time, task, param, edge, scope, buffer, segment, region;
  uint64_t buffer_end; /* one more than the highest number of a buffer, as in the sum */
};

static void shift_buffer(uint64_t *buffer_number, struct shift *shift) {
  *buffer_number += shift->buffer;
  shift->buffer_end = pto_max_u64(shift->buffer_end, *buffer_number + 1);
}

/* ---- one record ---- */

typedef void shift_record(void *record, struct shift *shift);

static void shift_task(void *record, struct shift *shift) {
  struct pto_trace_task *task = record;
  task->number += shift->task;
  task->scope_serial += (uint32_t)shift->scope;
  task->first_param += shift->param;
  task->first_edge += shift->edge;
  task->submit_time += shift->time;
}

static void shift_param(void *record, struct shift *shift) {
  shift_buffer(&((struct pto_trace_param *)record)->buffer_number, shift);
}

static void shift_edge(void *record, struct shift *shift) {
  struct pto_trace_edge *edge = record;
  edge->producer += shift->task;
  edge->consumer += shift->task;
  if (edge->end) edge->buffer_number += shift->buffer;
}

static void shift_scope(void *record, struct shift *shift) {
  struct pto_trace_scope *scope = record;
  scope->serial += (uint32_t)shift->scope;
  if (scope->parent != UINT32_MAX) scope->parent += (uint32_t)shift->scope;
  scope->first_task += shift->task;
  if (scope->end_task != UINT64_MAX) scope->end_task += shift->task;
}

static void shift_access(void *record, struct shift *shift) {
  struct pto_trace_host_access *access = record;
  shift_buffer(&access->buffer_number, shift);
  access->task_count += shift->task;
}

static void shift_sample(void *record, struct shift *shift) {
  struct pto_trace_sample *sample = record;
  sample->time += shift->time;
  if (sample->taken_core) sample->taken_time += shift->time;
}

static void shift_control(void *record, struct shift *shift) {
  struct pto_trace_control *control = record;
  control->begin += shift->time;
  control->end += shift->time;
  control->task += (uint32_t)shift->task;
}

static void shift_span(void *record, struct shift *shift) {
  struct pto_trace_span *span = record;
  span->begin += shift->time;
  span->end += shift->time;
  span->task += (uint32_t)shift->task;
}

static void shift_segment(void *record, struct shift *shift) {
  struct pto_trace_segment *segment = record;
  segment->begin += shift->time;
  segment->end += shift->time;
  if (segment->task != PTO_SEGMENT_NO_TASK && segment->activity != PTO_MARK_BEGIN)
    segment->task += (uint32_t)shift->task;
}

static void shift_remote(void *record, struct shift *shift) {
  struct pto_trace_remote *remote = record;
  remote->begin += shift->time;
  remote->end += shift->time;
  remote->segment += shift->segment;
  if (remote->task != PTO_SEGMENT_NO_TASK) remote->task += (uint32_t)shift->task;
  if (remote->kind == PTO_REMOTE_READ || remote->kind == PTO_REMOTE_WRITE) remote->sequence += shift->region;
  if (remote->kind == PTO_REMOTE_MAKE) remote->sequence += shift->task;
}

static void shift_nothing(void *record, struct shift *shift) { (void)record, (void)shift; }

/* ---- all of a log ---- */

static void shift_from(struct pto_trace_log *log, uint64_t first, shift_record *one, struct shift *shift) {
  for (uint64_t i = first; i < log->count; i++) one(pto_trace_log_at(log, i), shift);
}

static void append(struct pto_trace_log *sum, const struct pto_trace_log *part, shift_record *one,
                   struct shift *shift) {
  const uint64_t first = sum->count, count = pto_min_u64(part->count, sum->capacity - first);
  if (count) memcpy((char *)sum->memory.addr + first * sum->record_bytes, part->memory.addr, count * sum->record_bytes);
  sum->count += count;
  sum->dropped += part->dropped + (part->count - count);
  if (part->writer_tid) sum->writer_tid = part->writer_tid;
  shift_from(sum, first, one, shift);
}

int pto_trace_append(struct pto_trace *sum, const struct pto_trace *part, uint64_t time) {
  if (sum->record == 0) {
    int status = pto_trace_init(sum, part->record, part->span_log_count);
    if (status) return status;
    sum->is_virtual = part->is_virtual;
    sum->start_ns = part->start_ns;
  }
  /* A record that was dropped has no number that others could refer to wrongly: the logs end there. */
  struct shift shift = {.time = time,
                        .task = sum->tasks.count,
                        .param = sum->params.count,
                        .edge = sum->edges.count,
                        .scope = sum->scopes.count,
                        .buffer = sum->buffer_end,
                        .segment = sum->segments.count,
                        .region = sum->remote_regions.count,
                        .buffer_end = sum->buffer_end};
  append(&sum->tasks, &part->tasks, shift_task, &shift);
  append(&sum->params, &part->params, shift_param, &shift);
  append(&sum->edges, &part->edges, shift_edge, &shift);
  append(&sum->scopes, &part->scopes, shift_scope, &shift);
  append(&sum->host_accesses, &part->host_accesses, shift_access, &shift);
  append(&sum->samples, &part->samples, shift_sample, &shift);
  append(&sum->control, &part->control, shift_control, &shift);
  append(&sum->segments, &part->segments, shift_segment, &shift);
  append(&sum->costs, &part->costs, shift_nothing, &shift);
  append(&sum->remotes, &part->remotes, shift_remote, &shift);
  append(&sum->remote_regions, &part->remote_regions, shift_nothing, &shift);
  sum->rates = part->rates;
  for (uint32_t i = 0; i < PTO_SUBMIT_PARTS; i++) sum->submit_parts[i] += part->submit_parts[i];
  for (uint32_t worker = 0; worker < part->span_log_count && sum->span_log_count; worker++)
    append(&sum->spans[worker % sum->span_log_count], &part->spans[worker], shift_span, &shift);
  sum->buffer_end = shift.buffer_end;
  return PTO_OK;
}

void pto_trace_append_sync(struct pto_trace *sum) {
  struct pto_trace_host_access *sync = pto_trace_has_tasks(sum) ? pto_trace_log_append(&sum->host_accesses) : NULL;
  if (sync) *sync = (struct pto_trace_host_access){.task_count = sum->tasks.count, .is_sync = true};
}

uint64_t pto_trace_append_shift(struct pto_trace *sum, uint64_t start_ns) {
  if (start_ns >= sum->start_ns) return start_ns - sum->start_ns;
  struct shift later = {.time = sum->start_ns - start_ns};
  shift_from(&sum->tasks, 0, shift_task, &later);
  shift_from(&sum->samples, 0, shift_sample, &later);
  shift_from(&sum->control, 0, shift_control, &later);
  for (uint32_t worker = 0; worker < sum->span_log_count; worker++)
    shift_from(&sum->spans[worker], 0, shift_span, &later);
  sum->start_ns = start_ns;
  return 0;
}
