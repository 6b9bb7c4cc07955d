/* SPDX-License-Identifier: MIT */
#include <runtime/trace/trace.h>
#include <runtime/tensor/region.h>
#include <runtime/trace/remote.h>
#include <runtime/trace/segment.h>

#include <string.h>
#include <unistd.h>

/* A capacity costs address space until it is used; these hold runs of 16 M tasks. */
#define TASK_CAPACITY (UINT64_C(1) << 24)
#define PARAM_CAPACITY (UINT64_C(1) << 26)
#define EDGE_CAPACITY (UINT64_C(1) << 26)
#define SCOPE_CAPACITY (UINT64_C(1) << 24)
#define HOST_CAPACITY (UINT64_C(1) << 24)
#define SAMPLE_CAPACITY (UINT64_C(1) << 25)
#define CONTROL_CAPACITY (UINT64_C(1) << 25)
#define SPAN_CAPACITY (UINT64_C(1) << 26)
#define SEGMENT_CAPACITY (UINT64_C(1) << 28)
#define REMOTE_CAPACITY (UINT64_C(1) << 26)
#define REMOTE_REGION_CAPACITY (UINT64_C(1) << 25)
#define COST_CAPACITY LEAST_CAPACITY /* of kernels, not of calls */
/* Below this a log is not worth having. */
#define LEAST_CAPACITY (UINT64_C(1) << 14)
/* What of a log has small pages.  The first touch of one takes about 2 µs on the virtual machine of
 * docs/performance.md: more than what is written there. */
#define SMALL_BYTES (UINT64_C(1) << 17)
/* Of the factor from ticks to nanoseconds, which is between 0.1 and 10. */
#define RATE_BITS 32
/* A thread is interrupted for longer than a call of the clock takes, but not so often. */
#define CLOCK_TRIES 4

/* Systems that count address space (an RLIMIT_AS, strict overcommit) get a smaller log instead of none. */
static bool log_init(struct pto_trace_log *log, size_t record_bytes, uint64_t capacity) {
  for (; capacity >= LEAST_CAPACITY; capacity /= 2) {
    if (!pto_reserve_init_large(&log->memory, capacity * record_bytes, SMALL_BYTES)) continue;
    log->record_bytes = (uint32_t)record_bytes;
    log->capacity = capacity;
    return true;
  }
  return false;
}

static bool tasks_init(struct pto_trace *trace) {
  return log_init(&trace->tasks, sizeof(struct pto_trace_task), TASK_CAPACITY) &&
         log_init(&trace->params, sizeof(struct pto_trace_param), PARAM_CAPACITY) &&
         (!(trace->record & PTO_RECORD_GRAPH) ||
          log_init(&trace->edges, sizeof(struct pto_trace_edge), EDGE_CAPACITY)) &&
         log_init(&trace->scopes, sizeof(struct pto_trace_scope), SCOPE_CAPACITY) &&
         log_init(&trace->host_accesses, sizeof(struct pto_trace_host_access), HOST_CAPACITY);
}

static bool timeline_init(struct pto_trace *trace, uint32_t worker_count) {
  if (!log_init(&trace->samples, sizeof(struct pto_trace_sample), SAMPLE_CAPACITY)) return false;
  if (!log_init(&trace->control, sizeof(struct pto_trace_control), CONTROL_CAPACITY)) return false;
  if ((trace->record & PTO_RECORD_SEGMENTS) &&
      (!log_init(&trace->segments, sizeof(struct pto_trace_segment), SEGMENT_CAPACITY) ||
       !log_init(&trace->costs, sizeof(struct pto_trace_cost), COST_CAPACITY) ||
       !log_init(&trace->remotes, sizeof(struct pto_trace_remote), REMOTE_CAPACITY) ||
       !log_init(&trace->remote_regions, sizeof(struct pto_region), REMOTE_REGION_CAPACITY)))
    return false;
  if (!pto_reserve_init(&trace->span_logs, (uint64_t)worker_count * sizeof(struct pto_trace_log))) return false;
  trace->spans = trace->span_logs.addr;
  for (trace->span_log_count = 0; trace->span_log_count < worker_count; trace->span_log_count++)
    if (!log_init(&trace->spans[trace->span_log_count], sizeof(struct pto_trace_span), SPAN_CAPACITY)) return false;
  return true;
}

void pto_trace_set_record(struct pto_trace *trace, uint32_t record) {
  trace->record = record | (record & PTO_RECORD_GRAPH ? PTO_RECORD_TASKS : 0);
}

int pto_trace_init(struct pto_trace *trace, uint32_t record, uint32_t worker_count) {
  memset(trace, 0, sizeof *trace);
  pto_trace_set_record(trace, record);
  trace->has_steady_ticks = (record & PTO_RECORD_TIMELINE) && pto_ticks_are_steady();
  if ((!pto_trace_has_tasks(trace) || tasks_init(trace)) &&
      (!(record & PTO_RECORD_TIMELINE) || timeline_init(trace, worker_count)))
    return PTO_OK;
  pto_trace_fini(trace);
  return PTO_ENOMEM;
}

void pto_trace_fini(struct pto_trace *trace) {
  for (uint32_t i = 0; i < trace->span_log_count; i++) pto_reserve_fini(&trace->spans[i].memory);
  pto_reserve_fini(&trace->span_logs);
  struct pto_trace_log *const logs[] = {&trace->tasks,         &trace->params,  &trace->edges,         &trace->scopes,
                                        &trace->host_accesses, &trace->samples, &trace->control,       &trace->segments,
                                        &trace->costs,         &trace->remotes, &trace->remote_regions};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(logs); i++) pto_reserve_fini(&logs[i]->memory);
  memset(trace, 0, sizeof *trace);
}

static void log_empty(struct pto_trace_log *log) {
  log->count = log->dropped = log->last_time = 0;
  log->writer_tid = 0;
}

/* Both clocks at one moment: of some tries the one in which they were read closest to each other. */
static void read_clocks(uint64_t *ns, uint64_t *ticks) {
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < CLOCK_TRIES; i++) {
    const uint64_t before = pto_ticks_now(), now_ns = pto_clock_ns(), after = pto_ticks_now();
    if (after - before >= least) continue;
    least = after - before;
    *ns = now_ns;
    *ticks = before + least / 2;
  }
}

void pto_trace_begin_run(struct pto_trace *trace, bool is_virtual) {
  log_empty(&trace->tasks);
  log_empty(&trace->params);
  log_empty(&trace->edges);
  log_empty(&trace->scopes);
  log_empty(&trace->host_accesses);
  log_empty(&trace->samples);
  log_empty(&trace->control);
  log_empty(&trace->segments);
  log_empty(&trace->costs);
  log_empty(&trace->remotes);
  log_empty(&trace->remote_regions);
  trace->rates = (struct pto_trace_rates){0};
  memset(trace->submit_parts, 0, sizeof trace->submit_parts);
  for (uint32_t i = 0; i < trace->span_log_count; i++) log_empty(&trace->spans[i]);
  trace->buffer_end = 0;
  trace->is_virtual = is_virtual;
  trace->is_in_ticks = trace->has_steady_ticks && !is_virtual;
  if (!(trace->record & PTO_RECORD_TIMELINE)) {
    trace->start_ns = pto_clock_ns();
    return;
  }
  trace->control.writer_tid = (uint32_t)gettid();
  trace->spans[0].writer_tid = trace->control.writer_tid; /* worker 0 */
  read_clocks(&trace->start_ns, &trace->start_ticks);
}

/* A factor from ticks to nanoseconds: ns = ticks · rate / 2^RATE_BITS. */
static inline uint64_t scaled(uint64_t ticks, uint64_t rate) {
  return (uint64_t)((unsigned __int128)ticks * rate >> RATE_BITS);
}

static uint64_t rate_of(const struct pto_trace *trace) {
  uint64_t ns = 0, ticks = 0;
  read_clocks(&ns, &ticks);
  ns -= trace->start_ns;
  ticks -= trace->start_ticks;
  return (uint64_t)(((unsigned __int128)ns << RATE_BITS) / pto_max_u64(ticks, 1));
}

void pto_trace_end_run(struct pto_trace *trace) {
  if (!trace->is_in_ticks) return;
  const uint64_t rate = rate_of(trace);
  for (uint32_t w = 0; w < trace->span_log_count; w++)
    for (uint64_t i = 0; i < trace->spans[w].count; i++) {
      struct pto_trace_span *span = pto_trace_log_at(&trace->spans[w], i);
      span->begin = scaled(span->begin, rate);
      span->end = scaled(span->end, rate);
    }
  for (uint64_t i = 0; i < trace->control.count; i++) {
    struct pto_trace_control *control = pto_trace_log_at(&trace->control, i);
    control->begin = scaled(control->begin, rate);
    control->end = scaled(control->end, rate);
  }
  for (uint64_t i = 0; i < trace->samples.count; i++) {
    struct pto_trace_sample *sample = pto_trace_log_at(&trace->samples, i);
    sample->time = scaled(sample->time, rate);
  }
  for (uint64_t i = 0; i < trace->tasks.count; i++) {
    struct pto_trace_task *task = pto_trace_log_at(&trace->tasks, i);
    task->submit_time = scaled(task->submit_time, rate);
  }
  for (uint32_t i = 0; i < PTO_SUBMIT_PARTS; i++) trace->submit_parts[i] = scaled(trace->submit_parts[i], rate);
  trace->is_in_ticks = false;
}

uint64_t pto_trace_now_ns(const struct pto_trace *trace) { return pto_clock_ns() - trace->start_ns; }

uint64_t pto_trace_dropped(const struct pto_trace *trace) {
  uint64_t dropped = trace->tasks.dropped + trace->params.dropped + trace->edges.dropped + trace->scopes.dropped +
                     trace->host_accesses.dropped + trace->samples.dropped + trace->control.dropped +
                     trace->segments.dropped + trace->costs.dropped + trace->remotes.dropped +
                     trace->remote_regions.dropped;
  for (uint32_t i = 0; i < trace->span_log_count; i++) dropped += trace->spans[i].dropped;
  return dropped;
}
