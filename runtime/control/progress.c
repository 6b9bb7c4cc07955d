/* SPDX-License-Identifier: MIT */
#include <runtime/control/runtime_state.h>
#include <runtime/control/value_source.h>

#include <stdio.h>
#include <string.h>

#include <runtime/base/probe.h>
#include <runtime/trace/trace_words.h>

static void sample(struct pto_runtime *rt, uint32_t taken_core, uint64_t taken_time) {
  struct pto_trace_sample *s = pto_trace_log_append(&rt->trace.samples);
  if (!s) return;
  uint64_t window_used = 0, heap_used_bytes = 0;
#pragma GCC unroll 4
  for (uint32_t i = 0; i < PTO_RING_COUNT; i++) {
    window_used = pto_max_u64(window_used, rt->rings.rings[i].head - rt->rings.rings[i].tail);
    heap_used_bytes = pto_max_u64(heap_used_bytes, pto_heap_ring_used(&rt->rings.rings[i].heap));
  }
  *s = (struct pto_trace_sample){.time = rt->port->is_virtual ? rt->port->clock : pto_trace_now(&rt->trace),
                                 .ready = rt->scheduler.ready_count,
                                 .window_used = (uint32_t)window_used,
                                 .in_flight = rt->scheduler.cores.in_flight,
                                 .taken_core = taken_core,
                                 .taken_time = taken_time,
                                 .heap_used_bytes = heap_used_bytes};
}

void pto_progress_sample(struct pto_runtime *rt) {
  if (pto_trace_has_timeline(&rt->trace)) sample(rt, 0, 0);
}

/* What the control thread does after each batch of completions, for those who look on. */
static inline void note_progress(struct pto_runtime *rt, uint32_t taken_core, uint64_t taken_time) {
  if (pto_trace_has_timeline(&rt->trace)) sample(rt, taken_core, taken_time);
  if (PTO_UNLIKELY(rt->published != NULL)) pto_published_counters_update(rt->published);
}

void pto_add_segment(struct pto_runtime *rt, enum pto_actor actor, enum pto_activity activity, uint64_t begin,
                     uint32_t task) {
  const struct pto_port *port = rt->port;
  const bool is_scheduler = actor == PTO_ACTOR_CURRENT && port->is_scheduler;
  pto_trace_add_segment(&rt->trace.segments,
                        (struct pto_trace_segment){.begin = begin,
                                                   .end = is_scheduler ? port->clock : pto_orchestrator_clock(rt),
                                                   .resource = pto_segment_actor(is_scheduler, port->actor),
                                                   .task = task,
                                                   .core = PTO_SEGMENT_NO_CORE,
                                                   .activity = (uint8_t)activity});
}

/* Where time is virtual: `count` pieces of work of a task's completion. */
static inline void charge(struct pto_runtime *rt, enum pto_work kind, uint32_t count,
                          const struct pto_task_slot *slot) {
  if (PTO_LIKELY(!rt->port->is_virtual)) return;
  const uint64_t begin = rt->port->clock;
  pto_port_charge(rt->port, PTO_ACTOR_CURRENT, kind, count);
  if (pto_trace_has_segments(&rt->trace))
    pto_add_segment(rt, PTO_ACTOR_CURRENT, kind == PTO_WORK_COMPLETE ? PTO_ACTIVITY_completion : PTO_ACTIVITY_fan_out,
                    begin, slot->payload ? (uint32_t)slot->payload->task_number : slot->number);
}

/* ---- readiness ---- */

_Static_assert(PTO_DTYPE_COUNT == 18, "a dtype more: how a predicate's element is read goes here");
static int64_t load_integer(const void *addr, uint32_t dtype) {
  switch (dtype) {
  case PTO_INT8:
    return *(const int8_t *)addr;
  case PTO_UINT8:
  case PTO_BOOL:
    return *(const uint8_t *)addr;
  case PTO_INT16:
    return *(const int16_t *)addr;
  case PTO_UINT16:
    return *(const uint16_t *)addr;
  case PTO_INT32:
    return *(const int32_t *)addr;
  case PTO_UINT32:
    return *(const uint32_t *)addr;
  default:
    return *(const int64_t *)addr; /* INT64; UINT64 compares as its two's complement */
  }
}

/* The element that the predicate of a task compares; 0 where the run has failed for want of it. */
static int64_t predicate_element(struct pto_runtime *rt, uint32_t index) {
  const struct pto_task_cold *cold = &rt->rings.cold[index];
  if (PTO_LIKELY(!rt->config.no_compute)) return load_integer(cold->predicate_addr, cold->predicate_dtype);
  const struct pto_value_question question = {.addr = cold->predicate_addr,
                                              .dtype = cold->predicate_dtype,
                                              .is_predicate = true,
                                              .task = rt->rings.slots[index].payload->task_number};
  int64_t value = 0;
  return pto_value_ask(rt, &question, &value) ? 0 : load_integer(&value, cold->predicate_dtype);
}

static bool predicate_holds(struct pto_runtime *rt, uint32_t index) {
  enum { LESS = 1, EQUAL = 2, GREATER = 4 };
  static const uint8_t holds[] = {[PTO_ALWAYS] = LESS | EQUAL | GREATER,
                                  [PTO_IF_EQ] = EQUAL,
                                  [PTO_IF_NE] = LESS | GREATER,
                                  [PTO_IF_LT] = LESS,
                                  [PTO_IF_LE] = LESS | EQUAL,
                                  [PTO_IF_GT] = GREATER,
                                  [PTO_IF_GE] = EQUAL | GREATER};
  struct pto_task_cold *cold = &rt->rings.cold[index];
  const int64_t x = predicate_element(rt, index), y = cold->predicate_value;
  const bool is_less = cold->predicate_dtype == PTO_UINT64 ? (uint64_t)x < (uint64_t)y : x < y;
  const bool is_held = holds[cold->predicate_compare] & (x == y ? EQUAL : is_less ? LESS : GREATER);
  if (rt->watch) rt->watch->decided(rt->watch->context, index, x, is_held);
  if (is_held) return true;
  cold->predicate_found = x;
  cold->predicate_compare |= PTO_PREDICATE_SKIPPED;
  return false;
}

static inline bool has_nothing_to_run(struct pto_runtime *rt, uint32_t index) {
  const uint8_t flags = rt->rings.slots[index].flags;
  if (PTO_LIKELY(!(flags & (PTO_TASK_NO_KERNEL | PTO_TASK_HAS_PREDICATE)))) return false;
  return (flags & PTO_TASK_NO_KERNEL) || !predicate_holds(rt, index);
}

/* ---- completion ---- */

static inline void notify(struct pto_runtime *rt, uint32_t consumer) {
  struct pto_task_slot *slot = &rt->rings.slots[consumer];
  PTO_ASSERT(slot->pending > 0);
  if (--slot->pending) return;
  if (has_nothing_to_run(rt, consumer))
    rt->finished[rt->finished_count++] = consumer;
  else
    pto_scheduler_enqueue(&rt->scheduler, consumer);
}

/* The list has its newest chunk first; consumers are notified oldest first. */
static uint32_t oldest_first(struct pto_list_chunks *pool, uint32_t newest) {
  uint32_t first = 0;
  for (uint32_t i = newest; i;) {
    uint32_t next = pool->chunks[i].next;
    pool->chunks[i].next = first;
    first = i;
    i = next;
  }
  return first;
}

static PTO_NOINLINE uint32_t notify_chunks(struct pto_runtime *rt, struct pto_task_slot *slot) {
  uint32_t notified = 0;
  for (uint32_t i = oldest_first(&rt->chunks, slot->more_consumers); i;) {
    struct pto_list_chunk *chunk = &rt->chunks.chunks[i];
    for (uint32_t k = 0; k < chunk->count; k++) notify(rt, chunk->items.slots[k]);
    notified += chunk->count;
    uint32_t next = chunk->next;
    pto_list_chunks_free(&rt->chunks, i);
    i = next;
  }
  slot->more_consumers = 0;
  return notified;
}

static PTO_NOINLINE void release_held(struct pto_runtime *rt, const struct pto_task_slot *slot) {
  const uint32_t *held = slot->payload->held;
  const uint32_t count = pto_payload_held_count(slot->payload);
  for (uint32_t i = 0; i < count; i++) {
    PTO_ASSERT(rt->rings.slots[held[i]].holders > 0);
    rt->rings.slots[held[i]].holders--;
  }
}

/* What reports know of a completed task, in place of its payload. */
static inline void note_for_reports(struct pto_task_slot *slot, const struct pto_payload *payload) {
  slot->number = (uint32_t)payload->task_number;
  slot->kernel = payload->kernels[payload->first_role];
}

/* A task is over: what it held is free, and its payload another task's. */
static PTO_INLINE void finish(struct pto_runtime *rt, struct pto_task_slot *slot, uint32_t index) {
  struct pto_payload *payload = slot->payload;
  slot->state = PTO_TASK_COMPLETED;
  rt->completed_count++;
  if (PTO_UNLIKELY(slot->flags & PTO_TASK_HAS_HELD)) release_held(rt, slot);
  if (payload) note_for_reports(slot, payload);
  PTO_PROBE2(complete, slot->number, index);
  if (payload) pto_payload_pool_free(&rt->payloads, payload);
}

/* Consumers are notified in the order of their submits, so what becomes ready at once is queued in that order, however
 * many. */
static PTO_INLINE void notify_and_finish(struct pto_runtime *rt, uint32_t index) {
  struct pto_task_slot *slot = &rt->rings.slots[index];
  const uint32_t inline_count = slot->consumer_count;
  uint32_t notified = inline_count;
  charge(rt, PTO_WORK_COMPLETE, 1, slot);
  for (uint32_t i = 0; i < inline_count; i++) notify(rt, slot->consumers[i]);
  if (PTO_UNLIKELY(slot->more_consumers)) notified += notify_chunks(rt, slot);
  if (notified) charge(rt, PTO_WORK_FANOUT, notified, slot);
  finish(rt, slot, index);
}

/* Without recursion: a chain of barriers may be as long as the window.  First in, first out, so that what they let go
 * is queued in the order of submits; a slot finishes once between two retirements, so there is a place for each. */
static PTO_NOINLINE void finish_all(struct pto_runtime *rt) {
  for (uint32_t i = 0; i < rt->finished_count; i++) notify_and_finish(rt, rt->finished[i]);
  rt->finished_count = 0;
}

/* The task's kernel on a core of a cluster: two AIV kernels stand on lanes of their own, a lone one on either. */
static const struct pto_kernel *kernel_on_lane(const struct pto_payload *payload, uint32_t lane) {
  const struct pto_kernel *const *kernels = payload->kernels;
  if (lane == 0 || (kernels[1] && kernels[2])) return kernels[lane];
  return kernels[1] ? kernels[1] : kernels[2];
}

static PTO_COLD void note_failed_kernel(struct pto_runtime *rt, uint64_t task_number, const struct pto_kernel *kernel) {
  struct pto_failed_kernel *failed = &rt->failed_kernel;
  struct pto_core_waits *waits = &rt->stopped->waits;
  const struct pto_trace_task *task =
      pto_trace_has_tasks(&rt->trace) ? pto_trace_task_at(&rt->trace, task_number) : NULL;
  *failed = (struct pto_failed_kernel){.task_number = task_number, .kernel = kernel};
  if (task) {
    failed->call = task->call;
    failed->outer_call = task->outer_call;
    failed->dispatch = task->dispatch;
  }
  if (!rt->port->ops->find_waits) return;
  rt->port->ops->find_waits(rt->port, waits);
  if (waits->refused_task == task_number) failed->refused_call = waits->refused_call;
}

static PTO_COLD void kernel_failed(struct pto_runtime *rt, const struct pto_completion *completion) {
  if (rt->has_failed) return;
  rt->failed_slot = completion->ticket;
  const struct pto_task_slot *slot = &rt->rings.slots[completion->ticket];
  const struct pto_payload *payload = slot->payload;
  const struct pto_kernel *kernel = kernel_on_lane(payload, completion->core % PTO_LANES);
  const uint32_t core =
      rt->port->ops->failed_core ? rt->port->ops->failed_core(rt->port, completion->core) : completion->core;
  const uint32_t lane = core % PTO_LANES;
  const char *message = rt->port->ops->kernel_message(rt->port, completion->core);
  if (completion->status == PTO_EDEADLOCK && (slot->flags & PTO_TASK_WAITS)) { /* of others it is the kernel's own */
    rt->failed_slot = PTO_PICTURE_NONE;
    pto_runtime_fail(rt, PTO_EDEADLOCK, "%s", message);
    return;
  }
  pto_runtime_fail(rt, PTO_EKERNEL, "task %llu: kernel %s failed on core %u (cluster %u %s)%s%s, status %d; ",
                   (unsigned long long)payload->task_number, kernel ? kernel->name : "?", core, core / PTO_LANES,
                   lane == 0   ? "AIC"
                   : lane == 1 ? "AIV0"
                               : "AIV1",
                   message[0] ? ": " : "", message, completion->status);
  pto_params_describe(payload, &rt->error);
  note_failed_kernel(rt, payload->task_number, kernel);
}

static PTO_INLINE void complete(struct pto_runtime *rt, const struct pto_completion *completion) {
  struct pto_task_slot *slot = &rt->rings.slots[completion->ticket];
  if (PTO_UNLIKELY(completion->status)) kernel_failed(rt, completion);
  if (PTO_UNLIKELY(rt->has_failed)) return;
  PTO_ASSERT(slot->state == PTO_TASK_RUNNING && slot->messages_left > 0);
  if (--slot->messages_left == 0) {
    notify_and_finish(rt, completion->ticket);
    if (PTO_UNLIKELY(rt->finished_count)) finish_all(rt);
  } else if (PTO_UNLIKELY(slot->flags & PTO_TASK_SEQUENTIAL_BLOCKS) && slot->blocks_left &&
             slot->messages_left == slot->blocks_left * pto_shape_message_count(slot->shape)) {
    pto_scheduler_requeue(&rt->scheduler, completion->ticket);
  }
}

/* Out of line, so that the path of a kernel that succeeds stays short. */
static PTO_COLD void complete_failed(struct pto_runtime *rt, const struct pto_completion *completion) {
  complete(rt, completion);
}

/* Completes what ran within its dispatch.  True where anything did. */
static inline bool complete_done(struct pto_runtime *rt) {
  struct pto_scheduler *scheduler = &rt->scheduler;
  const uint32_t count = scheduler->done_count;
  for (uint32_t i = 0; i < count; i++) complete(rt, &scheduler->done[i]);
  scheduler->done_count = 0;
  return count != 0;
}

/* Sends what can be sent.  True where anything has completed by it. */
static bool dispatch(struct pto_runtime *rt) {
  if (!rt->scheduler.ready_count) return false;
  pto_scheduler_dispatch(&rt->scheduler);
  return complete_done(rt);
}

/* Another CPU may have read the payloads, which are written again soon: their lines come all at once so.  Without it a
 * shared task takes 60 ns more where a cache line takes 250 ns between CPUs. */
static inline void fetch_payloads(const struct pto_runtime *rt, const struct pto_completion *completions,
                                  uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    const struct pto_payload *payload = rt->rings.slots[completions[i].ticket].payload;
    for (uint32_t k = 1; k <= PTO_PAYLOAD_READ_LINES; k++)
      pto_prefetch_to_write((const char *)payload + k * PTO_CACHE_LINE);
  }
}

/* Takes in completions and sends what is ready.  True where anything completed. */
static bool take_in(struct pto_runtime *rt) {
  struct pto_completion completions[PTO_POLL_BATCH];
  const uint32_t count = rt->port->ops->poll(rt->port, completions, PTO_POLL_BATCH);
  const bool is_timed = count && rt->port->is_virtual; /* one at a time, and the clock is its scheduler's */
  const uint64_t taken_time = is_timed ? rt->port->clock : 0;
  if (!rt->port->is_virtual) fetch_payloads(rt, completions, count);
  for (uint32_t i = 0; i < count; i++) {
    pto_core_tracker_pop(&rt->scheduler.cores, completions[i].core);
    complete(rt, &completions[i]);
  }
  if (count == 0 && rt->port->is_virtual) return false; /* nothing has become ready since the last one */
  if (PTO_UNLIKELY(rt->has_failed)) return count != 0;
  if (count) pto_space_retire(rt);
  const bool has_completed = dispatch(rt) || count != 0;
  if (has_completed && !rt->has_failed) note_progress(rt, is_timed ? completions[0].core + 1 : 0, taken_time);
  return has_completed;
}

static PTO_NOINLINE void finish_without_kernel(struct pto_runtime *rt, uint32_t index) {
  notify_and_finish(rt, index);
  finish_all(rt);
  dispatch(rt);
}

/* A shortcut (bench_instructions: 262 of 1 442 instructions a task, in the mean of the six patterns): what the general
 * way does where one kernel is sent to one core and nothing else can be sent. */
static inline void submitted_single(struct pto_runtime *rt, struct pto_task_slot *slot, uint32_t index) {
  struct pto_completion done;
  const enum pto_placed placed = pto_scheduler_place_single(&rt->scheduler, slot, index, rt->port->clock, &done);
  if (PTO_LIKELY(placed == PTO_PLACED_AND_RUN)) {
    rt->since_poll += PTO_POLL_KERNEL;
    if (PTO_UNLIKELY(done.status)) {
      complete_failed(rt, &done);
      return;
    }
    finish(rt, slot, index); /* no task has come after it yet */
    if (PTO_LIKELY(!(slot->flags & PTO_TASK_HAS_HEAP))) pto_task_ring_note_done(rt->ring);
    return;
  }
  rt->trace.control.last_time = 0; /* no kernel begins where this submit ended */
  if (placed == PTO_NOT_PLACED) pto_scheduler_enqueue(&rt->scheduler, index);
}

static PTO_NOINLINE void submitted_other(struct pto_runtime *rt, uint32_t index) {
  struct pto_scheduler *scheduler = &rt->scheduler;
  if (has_nothing_to_run(rt, index)) {
    finish_without_kernel(rt, index);
    return;
  }
  pto_scheduler_enqueue(scheduler, index);
  pto_scheduler_dispatch(scheduler);
  if (complete_done(rt))
    rt->since_poll += PTO_POLL_KERNEL;
  else
    rt->trace.control.last_time = 0;
}

void pto_progress_submitted(struct pto_runtime *rt, uint32_t index) {
  struct pto_task_slot *slot = &rt->rings.slots[index];
  if (PTO_LIKELY(pto_scheduler_takes_single(&rt->scheduler, slot)))
    submitted_single(rt, slot, index);
  else
    submitted_other(rt, index);
}

/* Whether so much is unfinished that waiting for it is better than adding to it. */
static inline bool is_far_ahead(const struct pto_runtime *rt) {
  return rt->port->run_ahead && rt->task_count - rt->completed_count > rt->port->run_ahead;
}

void pto_progress_poll(struct pto_runtime *rt) {
  if (!rt->port->is_virtual) rt->since_poll = 0;
  if (PTO_UNLIKELY(rt->published != NULL)) pto_published_counters_update(rt->published);
  if (rt->port->clock < rt->port->quiet_until) return;
  if (!rt->port->is_virtual) pto_space_retire(rt); /* what completed within its submit */
  /* Virtual time asks even with nothing in flight: the poll that gives nothing leaves the clock to the orchestrator. */
  while (rt->port->is_virtual || (rt->scheduler.cores.in_flight | rt->scheduler.ready_count)) {
    while (take_in(rt)) {
    }
    if (!is_far_ahead(rt) || rt->has_failed || !rt->scheduler.cores.in_flight) return;
    rt->port->ops->wait(rt->port);
  }
}

void pto_stall_for(struct pto_runtime *rt, struct pto_stall *stall, enum pto_stall_reason reason) {
  if (stall->reason == reason) return;
  pto_stall_end(rt, stall);
  PTO_PROBE2(stall_begin, reason, rt->task_count);
  *stall = (struct pto_stall){.begin = pto_progress_now(rt), .reason = reason};
  rt->stall_count += reason != PTO_STALL_drain;
}

void pto_stall_end(struct pto_runtime *rt, struct pto_stall *stall) {
  if (stall->reason == PTO_STALL_none) return;
  PTO_PROBE1(stall_end, stall->reason);
  if (pto_trace_has_segments(&rt->trace))
    pto_add_segment(rt, PTO_ACTOR_ORCHESTRATOR,
                    (enum pto_activity)(PTO_ACTIVITY_wait_window + (stall->reason - PTO_STALL_window)), stall->begin,
                    (uint32_t)rt->task_count);
  pto_progress_record(rt, (struct pto_trace_control){.begin = stall->begin,
                                                     .activity = PTO_CONTROL_WAIT,
                                                     .stall = (uint16_t)stall->reason,
                                                     .task = (uint32_t)rt->task_count});
  stall->reason = PTO_STALL_none;
}

void pto_progress_resume(struct pto_runtime *rt) {
  if (rt->port->ops->resume) rt->port->ops->resume(rt->port, rt->port->clock);
}

int pto_progress_wait(struct pto_runtime *rt) {
  if (PTO_UNLIKELY(rt->config.stop != NULL) && pto_runtime_stops(rt)) return rt->error.status;
  if (take_in(rt) || dispatch(rt)) return rt->has_failed ? rt->error.status : PTO_OK;
  if (!rt->scheduler.cores.in_flight)
    return pto_runtime_fail(
        rt, PTO_EDEADLOCK,
        "nothing runs and nothing is ready, but %llu of %llu tasks have not completed (%u ready, none can be "
        "placed)",
        (unsigned long long)(rt->task_count - rt->completed_count), (unsigned long long)rt->task_count,
        rt->scheduler.ready_count);
  rt->port->ops->wait(rt->port);
  return PTO_OK;
}

int pto_progress_pause(struct pto_runtime *rt, bool (*is_over)(const void *context), const void *context) {
  if (take_in(rt) || dispatch(rt)) return rt->has_failed ? rt->error.status : PTO_OK;
  if (is_over && is_over(context)) return PTO_OK;
  (void)rt->port->ops->pause(rt->port);
  return PTO_OK;
}

/* Once around: something completes, or the machine has gone on for a while. */
static int poll_once(struct pto_runtime *rt) {
  if (!rt->scheduler.cores.in_flight || !rt->port->ops->pause) return pto_progress_wait(rt);
  return pto_progress_pause(rt, NULL, NULL);
}

int pto_poll(struct pto_runtime *rt) {
  struct pto_stall stall = {0};
  int status = pto_runtime_check(rt);
  if (!status) status = pto_runtime_check_unrecorded(rt, "pto_poll");
  if (status) return status;
  if (rt->call_list) pto_call_list_spoil(rt->call_list); /* what follows may depend on memory */
  if (rt->port->ops->settle) rt->port->ops->settle(rt->port);
  rt->doing =
      (struct pto_doing){.kind = PTO_DOING_POLL, .task_number = rt->task_count, .awaited_slot = PTO_PICTURE_NONE};
  if (rt->completed_count == rt->task_count) {
    /* Other ranks may change a window all the same. */
    if (rt->idle_poll == rt->task_count + 1 && !(rt->config.rank && rt->port->ops->pause(rt->port)))
      return pto_runtime_fail(rt, PTO_EDEADLOCK,
                              "the orchestration polls memory, and all of its %llu tasks have completed: nothing is "
                              "left that could change it",
                              (unsigned long long)rt->task_count);
    rt->idle_poll = rt->task_count + 1;
  } else {
    pto_stall_for(rt, &stall, PTO_STALL_poll);
    status = poll_once(rt);
    if (status) return status;
    pto_progress_resume(rt);
    pto_stall_end(rt, &stall);
  }
  rt->doing = pto_doing_nothing;
  return PTO_OK;
}

void pto_progress_quiesce(struct pto_runtime *rt) {
  pto_scheduler_abandon(&rt->scheduler);
  while (rt->scheduler.cores.in_flight)
    if (!take_in(rt)) rt->port->ops->wait(rt->port);
}
