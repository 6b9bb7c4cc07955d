/* SPDX-License-Identifier: MIT */
#include <runtime/trace/trace.h>

#include <string.h>
#include <time.h>

/* A capacity costs address space until it is used; these hold runs of 16 M tasks. */
#define TASK_CAPACITY (UINT64_C(1) << 24)
#define PARAM_CAPACITY (UINT64_C(1) << 26)
#define EDGE_CAPACITY (UINT64_C(1) << 26)
#define SCOPE_CAPACITY (UINT64_C(1) << 24)
#define HOST_CAPACITY (UINT64_C(1) << 24)
#define SAMPLE_CAPACITY (UINT64_C(1) << 25)
#define CONTROL_CAPACITY (UINT64_C(1) << 25)
#define SPAN_CAPACITY (UINT64_C(1) << 26)
/* Below this a log is not worth having. */
#define LEAST_CAPACITY (UINT64_C(1) << 14)
/* What of a log has small pages.  The first touch of one takes about 2 µs on the virtual machine of
 * docs/performance.md: more than what is written there. */
#define SMALL_BYTES (UINT64_C(1) << 17)

static uint64_t monotonic_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Systems that count address space (an RLIMIT_AS, strict overcommit) get a smaller log instead of none. */
static bool log_init(struct pto_trace_log *log, size_t record_bytes, uint64_t capacity) {
  for (; capacity >= LEAST_CAPACITY; capacity /= 2) {
    if (!pto_reserve_init_log(&log->memory, capacity * record_bytes, SMALL_BYTES)) continue;
    log->record_bytes = (uint32_t)record_bytes;
    log->capacity = capacity;
    return true;
  }
  return false;
}

static bool graph_init(struct pto_trace *trace) {
  return log_init(&trace->tasks, sizeof(struct pto_trace_task), TASK_CAPACITY) &&
         log_init(&trace->params, sizeof(struct pto_trace_param), PARAM_CAPACITY) &&
         log_init(&trace->edges, sizeof(struct pto_trace_edge), EDGE_CAPACITY) &&
         log_init(&trace->scopes, sizeof(struct pto_trace_scope), SCOPE_CAPACITY) &&
         log_init(&trace->host_accesses, sizeof(struct pto_trace_host_access), HOST_CAPACITY);
}

static bool timeline_init(struct pto_trace *trace, uint32_t worker_count) {
  if (!log_init(&trace->samples, sizeof(struct pto_trace_sample), SAMPLE_CAPACITY)) return false;
  if (!log_init(&trace->control, sizeof(struct pto_trace_control), CONTROL_CAPACITY)) return false;
  if (!pto_reserve_init(&trace->span_logs, (uint64_t)worker_count * sizeof(struct pto_trace_log))) return false;
  trace->spans = trace->span_logs.addr;
  for (trace->span_log_count = 0; trace->span_log_count < worker_count; trace->span_log_count++)
    if (!log_init(&trace->spans[trace->span_log_count], sizeof(struct pto_trace_span), SPAN_CAPACITY)) return false;
  return true;
}

int pto_trace_init(struct pto_trace *trace, uint32_t record, uint32_t worker_count) {
  memset(trace, 0, sizeof *trace);
  trace->record = record;
  if ((!(record & PTO_RECORD_GRAPH) || graph_init(trace)) &&
      (!(record & PTO_RECORD_TIMELINE) || timeline_init(trace, worker_count)))
    return PTO_OK;
  pto_trace_fini(trace);
  return PTO_ENOMEM;
}

void pto_trace_fini(struct pto_trace *trace) {
  for (uint32_t i = 0; i < trace->span_log_count; i++) pto_reserve_fini(&trace->spans[i].memory);
  pto_reserve_fini(&trace->span_logs);
  struct pto_trace_log *const logs[] = {&trace->tasks,         &trace->params,  &trace->edges,  &trace->scopes,
                                        &trace->host_accesses, &trace->samples, &trace->control};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(logs); i++) pto_reserve_fini(&logs[i]->memory);
  memset(trace, 0, sizeof *trace);
}

static void log_empty(struct pto_trace_log *log) { log->count = log->dropped = 0; }

void pto_trace_begin_run(struct pto_trace *trace, bool is_virtual) {
  log_empty(&trace->tasks);
  log_empty(&trace->params);
  log_empty(&trace->edges);
  log_empty(&trace->scopes);
  log_empty(&trace->host_accesses);
  log_empty(&trace->samples);
  log_empty(&trace->control);
  for (uint32_t i = 0; i < trace->span_log_count; i++) log_empty(&trace->spans[i]);
  trace->buffer_end = 0;
  trace->is_virtual = is_virtual;
  trace->start_ns = monotonic_ns();
}

uint64_t pto_trace_now_ns(const struct pto_trace *trace) { return monotonic_ns() - trace->start_ns; }

uint64_t pto_trace_dropped(const struct pto_trace *trace) {
  uint64_t dropped = trace->tasks.dropped + trace->params.dropped + trace->edges.dropped + trace->scopes.dropped +
                     trace->host_accesses.dropped + trace->samples.dropped + trace->control.dropped;
  for (uint32_t i = 0; i < trace->span_log_count; i++) dropped += trace->spans[i].dropped;
  return dropped;
}
