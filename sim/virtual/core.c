/* SPDX-License-Identifier: MIT */
/* The event loop's inner half: beginning of messages on cores, by the rules of sim/virtual/core.h, and what is not
 * every message's. */
#include <sim/virtual/core.h>
#include <sim/virtual/work_segments.h>

#include <stdio.h>

#define LONGEST_LOOK_PS UINT64_C(10000000000) /* 10 ms */

static char *sentence_at(const struct pto_virtual_cores *cores, uint32_t core, uint32_t number) {
  return cores->sentences +
         (size_t)(pto_virtual_slot_at(cores, core, number) - cores->slots) * PTO_VIRTUAL_SENTENCE_SIZE;
}

/* Sixteenths of the mean, with the quartiles of measured chips: half of the cores are nearly warm, a few take three
 * times the mean.  Neighbours differ. */
uint64_t pto_virtual_cold_start_ps(uint64_t mean_ps, uint32_t core) {
  static const uint8_t sixteenths[12] = {11, 0, 27, 5, 13, 40, 2, 17, 9, 38, 7, 23};
  return mean_ps * sixteenths[core % PTO_ARRAY_LENGTH(sixteenths)] / 16;
}

/* The group that this message belongs to, opened by its first message and closed by its last. */
static uint32_t join_group(struct pto_virtual_cores *cores, uint8_t flags) {
  if (!(flags & (PTO_MESSAGE_TOGETHER | PTO_MESSAGE_LAST))) return 0;
  if (!cores->open_group) {
    PTO_ASSERT(cores->free_group_count > 0);
    cores->open_group = cores->free_groups[--cores->free_group_count] + 1;
    cores->groups[cores->open_group - 1] = (struct pto_virtual_group){0};
  }
  uint32_t joined = cores->open_group;
  cores->groups[joined - 1].member_count++;
  if (flags & PTO_MESSAGE_LAST) {
    cores->groups[joined - 1].is_closed = true;
    cores->open_group = 0;
  }
  return joined;
}

void pto_virtual_cores_send_special(struct pto_virtual_cores *cores, struct pto_virtual_slot *slot) {
  slot->group = join_group(cores, slot->message.flags);
  if (!(slot->message.flags & PTO_MESSAGE_WAITS)) return;
  if (!cores->skips_kernels) pto_virtual_cores_settle(cores);
  slot->message.rendezvous = (uint16_t)pto_rendezvous_join(&cores->solo.waiting.rendezvous, &slot->message);
}

void pto_virtual_cores_wait_for_group(struct pto_virtual_cores *cores, uint32_t core, uint32_t joined, uint64_t base) {
  struct pto_virtual_group *group = &cores->groups[joined - 1];
  group->base = pto_max_u64(group->base, base);
  cores->cores[core].next_member = group->first_member;
  group->first_member = core + 1;
  group->ready_count++;
  if (!group->is_closed || group->ready_count < group->member_count) return;
  for (uint32_t member = group->first_member; member; member = cores->cores[member - 1].next_member)
    pto_event_queue_insert(&cores->begins, group->base + cores->kernel_start_ps, member - 1, member - 1);
  cores->free_groups[cores->free_group_count++] = joined - 1;
}

static PTO_COLD void store_sentence(struct pto_virtual_cores *cores, uint32_t core, uint32_t number,
                                    const char *sentence) {
  snprintf(sentence_at(cores, core, number), PTO_VIRTUAL_SENTENCE_SIZE, "%.*s", PTO_VIRTUAL_SENTENCE_SIZE - 1,
           sentence);
}

/* Of `bytes` that the kernel moves, those of an L2 cache that does not go by use: its part of what tasks allocated, as
 * far as all of that fits. */
static uint64_t static_l2_part(const struct pto_virtual_cores *cores, const struct pto_message *message,
                               const struct pto_kernel_args *args, uint64_t all_bytes, uint64_t bytes) {
  const struct pto_port *port = cores->port;
  const uint64_t within = pto_min_u64(
      pto_timing_bytes_within(message->payload->kernels[message->role], args, cores->allocated_lo, cores->allocated_hi),
      all_bytes);
  if (within == 0) return 0;
  unsigned __int128 part = (unsigned __int128)bytes * within / all_bytes;
  const uint64_t allocated = port->allocated_bytes ? port->allocated_bytes(port->allocated_context) : 0;
  if (allocated > cores->l2_bytes) part = part * cores->l2_bytes / allocated;
  return (uint64_t)part;
}

/* What a core moves: of the global memory, and then of the L2 cache. */
struct split {
  uint64_t global_bytes, l2_bytes;
};

/* Of `bytes`, a part of what the call moves, where the L2 goes by use. */
static struct split split_by_use(const struct pto_l2_share *share, uint64_t bytes) {
  if (share->bytes == 0) return (struct split){bytes, 0};
  const unsigned __int128 missed = (unsigned __int128)bytes * share->missed / share->bytes;
  const unsigned __int128 written_back = (unsigned __int128)bytes * share->written_back / share->bytes;
  return (struct split){pto_timing_add_saturating((uint64_t)missed, (uint64_t)written_back), bytes - (uint64_t)missed};
}

static const struct pto_kernel *kernel_of(const struct pto_message *message) {
  return message->payload->kernels[message->role];
}

/* Of all bytes of a call that begins. */
static inline struct split split_call(struct pto_virtual_cores *cores, const struct pto_message *message,
                                      const struct pto_kernel_args *args, uint64_t bytes) {
  if (cores->l2.pieces) {
    const struct pto_l2_share share = pto_l2_share(&cores->l2, kernel_of(message), args, bytes);
    return (struct split){pto_timing_add_saturating(share.missed, share.written_back), bytes - share.missed};
  }
  const uint64_t l2_bytes = cores->l2_bytes ? static_l2_part(cores, message, args, bytes, bytes) : 0;
  return (struct split){bytes - l2_bytes, l2_bytes};
}

/* What a call brings to core `index`; counts it among the sharers. */
static inline struct pto_call_time load_call(struct pto_virtual_cores *cores, uint32_t index,
                                             const struct pto_message *message, const struct pto_kernel_args *args) {
  struct pto_virtual_core *core = &cores->cores[index];
  const struct pto_cost cost = pto_timing_cost(kernel_of(message), args);
  const struct pto_call_time call =
      PTO_UNLIKELY(cores->call_times.places != NULL)
          ? pto_call_times_find(&cores->call_times, kernel_of(message), args, &cost)
          : (struct pto_call_time){.load = pto_timing_load(&cores->timing, &cost, args->core->kind),
                                   .origin = pto_kernel_cost_origin(kernel_of(message), PTO_ORIGIN_ASSUMED)};
  if (PTO_UNLIKELY(cores->segments != NULL))
    pto_virtual_add_cost(cores, kernel_of(message), args->core->kind, &cost, call.halvings);
  core->moves_bytes = call.load.bytes > 0;
  cores->sharers += core->moves_bytes;
  return call;
}

/* ⌈bytes · part / all⌉ */
static uint64_t part_of(uint64_t bytes, uint64_t part, uint64_t all) {
  return pto_min_u64(pto_timing_scale_wide(bytes, part, all), UINT64_C(1) << 48);
}

/* Makes of a time of a table what it is, its bytes being split so: all of it a stream, or a time beside one. */
static PTO_NOINLINE void settle(const struct pto_virtual_cores *cores, struct pto_call_time *call,
                                struct split *split) {
  const struct pto_timing_load global = {.bytes = split->global_bytes};
  const uint64_t whole_ps = call->load.compute_ps;
  uint64_t shared_ps = pto_timing_work_ps(&cores->timing, &global, call->active_cores);
  if (split->l2_bytes)
    shared_ps += pto_max_u64(
        pto_timing_scale_wide(split->l2_bytes, UINT64_C(1000000), cores->l2_core_bandwidth_mbps),
        pto_timing_scale_wide(split->l2_bytes, UINT64_C(1000000) * call->active_cores, cores->l2_chip_bandwidth_mbps));
  if (!pto_call_time_is_stream(call, shared_ps)) return;
  split->global_bytes = part_of(split->global_bytes, whole_ps, shared_ps);
  split->l2_bytes = part_of(split->l2_bytes, whole_ps, shared_ps);
  call->load.bytes = split->global_bytes + split->l2_bytes;
  call->load.compute_ps = 0;
}

/* Half of each time and of the bytes, so often.  The L2 cache has seen all bytes; of some, some are left. */
static PTO_NOINLINE void halve(uint32_t times, struct pto_timing_load *load, struct split *split) {
  for (; times > 0; times--) {
    load->bytes -= load->bytes / 2;
    load->compute_ps /= 2;
    load->serial_ps /= 2;
    split->global_bytes -= split->global_bytes / 2;
    split->l2_bytes -= split->l2_bytes / 2;
  }
}

/* What moving bytes takes one core alone. */
static uint64_t stream_alone_ps(const struct pto_virtual_cores *cores, struct split split) {
  const struct pto_timing_load global = {.bytes = split.global_bytes};
  const uint64_t l2_ps =
      split.l2_bytes ? pto_timing_scale_wide(split.l2_bytes, UINT64_C(1000000), cores->l2_core_bandwidth_mbps) : 0;
  return pto_timing_work_ps(&cores->timing, &global, 1) + l2_ps;
}

/* The span, whose end may change; NULL where it is not recorded. */
static inline struct pto_trace_span *record_span(const struct pto_virtual_cores *cores,
                                                 const struct pto_message *message, uint64_t begin, uint64_t end) {
  struct pto_trace_span *span = cores->spans ? pto_trace_log_append(cores->spans) : NULL;
  if (span)
    *span = (struct pto_trace_span){.begin = begin,
                                    .end = end,
                                    .task = (uint32_t)message->payload->task_number,
                                    .block_index = message->block_index,
                                    .core = message->core,
                                    .role = message->role};
  return span;
}

/* What the noise makes of a time of the message's kernel, or of bytes that it moves. */
static PTO_NOINLINE uint64_t jitter(const struct pto_virtual_cores *cores, const struct pto_message *message,
                                    uint64_t value) {
  return pto_jitter_scale(&cores->jitter, message->payload->task_number, message->block_index, value);
}

static inline void find_next_stream(struct pto_virtual_cores *cores) {
  cores->streams_next_at = pto_min_u64(cores->streams.next_at, cores->l2_streams.next_at);
}

/* From now on `message` moves what `split` says; at the end of that, its other work may go on. */
static PTO_INLINE void begin_stream(struct pto_virtual_cores *cores, const struct pto_message *message,
                                    struct split split, const struct pto_call_time *call, struct pto_trace_span *span) {
  struct pto_virtual_transfer *transfer = &cores->transfers[message->core];
  uint64_t compute_ps = call->load.compute_ps, serial_ps = call->load.serial_ps;
  if (PTO_UNLIKELY(cores->jitter.ppm)) {
    split.global_bytes = jitter(cores, message, split.global_bytes);
    split.l2_bytes = jitter(cores, message, split.l2_bytes);
    compute_ps = jitter(cores, message, compute_ps);
    serial_ps = jitter(cores, message, serial_ps);
  }
  const bool is_global = split.global_bytes > 0;
  transfer->l2_bytes = is_global ? split.l2_bytes : 0;
  transfer->compute_end = cores->now + compute_ps;
  transfer->serial_ps = serial_ps;
  transfer->begin = cores->now;
  transfer->origin = call->origin;
  if (PTO_UNLIKELY(cores->segments != NULL)) {
    transfer->compute_ps = compute_ps;
    transfer->memory_ps = stream_alone_ps(cores, split);
  }
  transfer->span = span;
  pto_streams_begin(is_global ? &cores->streams : &cores->l2_streams, cores->now,
                    is_global ? split.global_bytes : split.l2_bytes, message->core);
  find_next_stream(cores);
}

/* The core has moved its bytes. */
static void end_transfer(struct pto_virtual_cores *cores, uint32_t index) {
  const struct pto_virtual_transfer *transfer = &cores->transfers[index];
  struct pto_virtual_core *core = &cores->cores[index];
  /* the end; on a fiber, the next resume */
  uint64_t next = pto_max_u64(cores->now, transfer->compute_end) + transfer->serial_ps;
  if (transfer->span) transfer->span->end = next;
  if (PTO_UNLIKELY(cores->segments != NULL)) {
    const struct pto_message *message = &pto_virtual_slot_at(cores, index, core->begun - 1)->message;
    const uint64_t serial_ps = transfer->serial_ps;
    pto_virtual_add_work(cores, message, transfer->begin, next, transfer->compute_ps + serial_ps,
                         transfer->memory_ps + serial_ps);
    if (core->call != PTO_CALL_ON_FIBER) pto_virtual_add_end(cores, message, next);
  }
  if (core->call != PTO_CALL_ON_FIBER) {
    cores->origin_ps[transfer->origin] += next - transfer->begin;
    next = core->free_at = next + cores->kernel_end_ps;
  }
  pto_event_queue_insert(&cores->ends, next, index, index);
}

void pto_virtual_cores_end_streams(struct pto_virtual_cores *cores) {
  const bool is_l2 = cores->l2_streams.next_at == cores->streams_next_at;
  cores->now = cores->streams_next_at;
  const uint32_t count = pto_streams_end(is_l2 ? &cores->l2_streams : &cores->streams, cores->instant);
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t index = cores->instant[i];
    struct pto_virtual_transfer *transfer = &cores->transfers[index];
    if (transfer->l2_bytes > 0)
      pto_streams_begin(&cores->l2_streams, cores->now, transfer->l2_bytes, index);
    else
      end_transfer(cores, index);
    transfer->l2_bytes = 0;
  }
  find_next_stream(cores);
}

/* Other threads may call the kernel of the front message of `index`, which begins; its status so far. */
static PTO_NOINLINE int open_call(struct pto_virtual_cores *cores, uint32_t index, struct pto_virtual_slot *slot) {
  struct pto_virtual_core *core = &cores->cores[index];
  const int refused = pto_solo_guard(&cores->solo, &cores->views[index]);
  if (refused) return refused;
  pto_kernel_calls_open(&cores->kernel_calls, &slot->message, &cores->views[index],
                        sentence_at(cores, index, core->begun), PTO_VIRTUAL_SENTENCE_SIZE);
  core->call = PTO_CALL_OPEN;
  return 0;
}

/* What begins now; of a stream the end is not known yet. */
static PTO_COLD void record_call(const struct pto_virtual_cores *cores, const struct pto_message *message,
                                 const struct pto_timing_load *load, uint64_t end, bool is_stream) {
  uint64_t compute_ps = load->compute_ps + load->serial_ps;
  uint64_t memory_ps = load->bytes ? pto_timing_work_ps(&cores->timing, load, 1) : 0;
  pto_virtual_add_segment(cores, message, PTO_ACTIVITY_start, cores->now, cores->now);
  if (is_stream) return;
  if (cores->jitter.ppm) {
    compute_ps = jitter(cores, message, compute_ps);
    memory_ps = jitter(cores, message, memory_ps);
  }
  pto_virtual_add_work(cores, message, cores->now, end, compute_ps, memory_ps);
  pto_virtual_add_end(cores, message, end);
}

/* Runs the front message of `index`; `is_special` is the cores'. */
static PTO_INLINE void run_front(struct pto_virtual_cores *cores, uint32_t index, const struct pto_kernel_args *args,
                                 struct pto_call_time *call, bool is_special) {
  struct pto_virtual_core *core = &cores->cores[index];
  struct pto_virtual_slot *slot = pto_virtual_slot_at(cores, index, core->begun);
  struct pto_timing_load *load = &call->load;
  const bool is_stream = is_special && cores->shares_anew && load->bytes > 0;
  struct split split = {load->bytes, 0};
  if (is_stream) split = split_call(cores, &slot->message, args, load->bytes);
  if (PTO_UNLIKELY(call->active_cores > 0) && load->bytes > 0) settle(cores, call, &split);
  if (PTO_UNLIKELY(call->halvings > 0)) halve(call->halvings, load, &split);
  uint64_t work = 0; /* of a stream it is not known yet */
  if (!is_stream) {
    work = pto_timing_work_ps(&cores->timing, load, cores->sharers);
    if (is_special && cores->jitter.ppm) work = jitter(cores, &slot->message, work);
  }
  const uint64_t end = cores->now + work;
  struct pto_trace_span *span = record_span(cores, &slot->message, cores->now, end);
  if (PTO_UNLIKELY(cores->segments != NULL)) record_call(cores, &slot->message, load, end, is_stream);
  if (is_special && !cores->calls_at_begin)
    slot->status = cores->skips_kernels       ? 0
                   : cores->observed.observer ? pto_virtual_cores_observe(cores, &slot->message)
                                              : open_call(cores, index, slot);
  else
    slot->status = pto_solo_run(&cores->solo, &cores->views[index], &slot->message, args);
  if (PTO_UNLIKELY(slot->status != 0)) store_sentence(cores, index, core->begun, cores->solo.message);
  if (PTO_UNLIKELY(cores->solo.waiting.rendezvous.polling_count))
    pto_rendezvous_change(&cores->solo.waiting.rendezvous);
  core->begun++;
  if (is_stream) {
    begin_stream(cores, &slot->message, split, call, span);
    return;
  }
  cores->origin_ps[call->origin] += end - cores->now;
  core->free_at = end + cores->kernel_end_ps;
  pto_event_queue_insert(&cores->ends, core->free_at, index, index);
}

/* ---- kernels that wait ---- */

static void wake_core(void *engine, uint32_t core) {
  struct pto_virtual_cores *cores = engine;
  if (PTO_UNLIKELY(cores->segments != NULL))
    pto_trace_add_segment(cores->segments, (struct pto_trace_segment){.begin = cores->now,
                                                                      .end = cores->now,
                                                                      .resource = {PTO_RESOURCE_CORE, (uint16_t)core},
                                                                      .task = PTO_SEGMENT_NO_TASK,
                                                                      .core = (uint16_t)cores->resumed,
                                                                      .activity = PTO_MARK_WAKE});
  pto_event_queue_insert(&cores->ends, cores->now, core, core);
}

/* On the fiber: lets `duration_ps` pass. */
static void spend(struct pto_waiting_core *waiting, uint64_t duration_ps) {
  struct pto_virtual_cores *cores = waiting->all->engine;
  if (duration_ps == 0) return;
  pto_event_queue_insert(&cores->ends, cores->now + duration_ps, waiting->message.core, waiting->message.core);
  pto_fiber_suspend(&waiting->fiber);
}

static void spend_signal(struct pto_waiting_core *waiting, uint64_t duration_ps) {
  const struct pto_virtual_cores *cores = waiting->all->engine;
  if (PTO_UNLIKELY(cores->segments != NULL) && duration_ps)
    pto_virtual_add_segment(cores, &waiting->message, PTO_ACTIVITY_signal, cores->now, cores->now + duration_ps);
  spend(waiting, duration_ps);
}

static void spend_latency(struct pto_waiting_core *waiting) {
  const struct pto_virtual_cores *cores = waiting->all->engine;
  spend_signal(waiting, cores->signal_ps);
}

static void spend_transfer(struct pto_waiting_core *waiting, uint64_t bytes) {
  const struct pto_virtual_cores *cores = waiting->all->engine;
  spend_signal(waiting, pto_timing_fifo_ps(&cores->timing, bytes));
}

static uint64_t bytes_of_call(const struct pto_message *message, const struct pto_kernel_args *args) {
  const struct pto_cost all = pto_timing_cost(kernel_of(message), args);
  return pto_timing_add_saturating(all.bytes_in, all.bytes_out);
}

/* Of `bytes` that a kernel which waits moves now: the part that it is of all that it moves. */
static struct split split_work(const struct pto_virtual_cores *cores, const struct pto_waiting_core *waiting,
                               uint64_t bytes) {
  if (cores->l2.pieces) return split_by_use(&cores->transfers[waiting->message.core].share, bytes);
  if (!cores->l2_bytes) return (struct split){bytes, 0};
  struct pto_kernel_args args;
  pto_message_args(&waiting->message, waiting->view, &args);
  const uint64_t all_bytes = pto_max_u64(bytes_of_call(&waiting->message, &args), bytes);
  const uint64_t l2_bytes = static_l2_part(cores, &waiting->message, &args, all_bytes, bytes);
  return (struct split){bytes - l2_bytes, l2_bytes};
}

/* Of what a kernel that waits states while it runs. */
static uint32_t waiting_halvings(const struct pto_virtual_cores *cores, const struct pto_message *message) {
  const struct pto_call_times *times = &cores->call_times;
  return times->places ? pto_half_kernel_times(times->chip, kernel_of(message)->name) : 0;
}

static void spend_work(struct pto_waiting_core *waiting, const struct pto_cost *cost) {
  struct pto_virtual_cores *cores = waiting->all->engine;
  struct pto_virtual_core *core = &cores->cores[waiting->message.core];
  struct pto_timing_load load = pto_timing_load(&cores->timing, cost, waiting->view->kind);
  const bool is_stream = cores->shares_anew && load.bytes > 0;
  struct split split = is_stream ? split_work(cores, waiting, load.bytes) : (struct split){load.bytes, 0};
  halve(waiting_halvings(cores, &waiting->message), &load, &split);
  if (is_stream) {
    const struct pto_call_time call = {.load = load, .origin = PTO_ORIGIN_ASSUMED};
    begin_stream(cores, &waiting->message, split, &call, NULL);
    pto_fiber_suspend(&waiting->fiber);
    return;
  }
  core->moves_bytes = load.bytes > 0;
  cores->sharers += core->moves_bytes;
  uint64_t work = pto_timing_work_ps(&cores->timing, &load, cores->sharers);
  if (cores->jitter.ppm) work = jitter(cores, &waiting->message, work);
  if (PTO_UNLIKELY(cores->segments != NULL))
    pto_virtual_add_work(cores, &waiting->message, cores->now, cores->now + work, load.compute_ps + load.serial_ps,
                         load.bytes ? pto_timing_work_ps(&cores->timing, &load, 1) : 0);
  spend(waiting, work);
  cores->sharers -= core->moves_bytes;
  core->moves_bytes = false;
}

static uint64_t now_ns(struct pto_waiting_core *waiting) {
  const struct pto_virtual_cores *cores = waiting->all->engine;
  return cores->now / 1000;
}

const struct pto_waiting_hooks pto_virtual_waiting_hooks = {.wake = wake_core,
                                                            .latency = spend_latency,
                                                            .transfer = spend_transfer,
                                                            .work = spend_work,
                                                            .delay = spend,
                                                            .now_ns = now_ns};

/* Runs the kernel that `index` is in until it waits or has returned. */
static void resume(struct pto_virtual_cores *cores, uint32_t index) {
  struct pto_virtual_core *core = &cores->cores[index];
  struct pto_waiting_core *waiting = &cores->solo.waiting.cores[index];
  const uint32_t number = core->begun - 1;
  struct pto_virtual_slot *slot = pto_virtual_slot_at(cores, index, number);
  cores->resumed = index;
  const bool is_over = pto_solo_resume(&cores->solo, waiting);
  cores->resumed = PTO_VIRTUAL_NO_CORE;
  if (!is_over) return;
  slot->status = waiting->status;
  if (PTO_UNLIKELY(slot->status != 0)) store_sentence(cores, index, number, waiting->sentence);
  record_span(cores, &slot->message, waiting->begin, cores->now);
  if (PTO_UNLIKELY(cores->segments != NULL)) pto_virtual_add_end(cores, &slot->message, cores->now);
  cores->origin_ps[PTO_ORIGIN_ASSUMED] += cores->now - waiting->begin;
  core->call = PTO_CALL_RETURNED;
  core->free_at = cores->now + cores->kernel_end_ps;
  pto_event_queue_insert(&cores->ends, core->free_at, index, index);
}

bool pto_virtual_cores_go_on(struct pto_virtual_cores *cores, uint32_t index) {
  struct pto_virtual_core *core = &cores->cores[index];
  if (core->call == PTO_CALL_ON_FIBER) {
    resume(cores, index);
    return false;
  }
  pto_virtual_slot_at(cores, index, core->done)->status = pto_kernel_calls_join(&cores->kernel_calls, index);
  core->call = PTO_CALL_RETURNED;
  return true;
}

void pto_virtual_cores_settle(struct pto_virtual_cores *cores) {
  pto_kernel_calls_finish(&cores->kernel_calls);
  cores->calls_at_begin = !cores->skips_kernels && !cores->observed.observer;
}

/* The next message of the core to begin. */
static inline const struct pto_message *front_of(const struct pto_virtual_cores *cores, uint32_t index) {
  return &pto_virtual_slot_at(cores, index, cores->cores[index].begun)->message;
}

static PTO_NOINLINE void begin_on_fiber(struct pto_virtual_cores *cores, uint32_t index) {
  struct pto_virtual_core *core = &cores->cores[index];
  const struct pto_engine_observer *observer = cores->observed.observer;
  struct pto_waiting_core *waiting = pto_solo_start(&cores->solo, front_of(cores, index), &cores->views[index]);
  if (PTO_UNLIKELY(observer != NULL)) observer->pass(observer->context, &waiting->message);
  if (cores->l2.pieces) {
    struct pto_kernel_args args;
    pto_message_args(&waiting->message, waiting->view, &args);
    const uint64_t bytes = bytes_of_call(&waiting->message, &args);
    cores->transfers[index].share = pto_l2_share(&cores->l2, kernel_of(&waiting->message), &args, bytes);
  }
  waiting->begin = cores->now;
  if (PTO_UNLIKELY(cores->segments != NULL)) {
    struct pto_kernel_args args;
    pto_message_args(&waiting->message, waiting->view, &args);
    const struct pto_cost cost = pto_timing_cost(kernel_of(&waiting->message), &args);
    pto_virtual_add_segment(cores, &waiting->message, PTO_ACTIVITY_start, cores->now, cores->now);
    pto_virtual_add_cost(cores, kernel_of(&waiting->message), args.core->kind, &cost,
                         waiting_halvings(cores, &waiting->message));
  }
  core->moves_bytes = false; /* until it states work */
  core->begun++;
  core->call = PTO_CALL_ON_FIBER;
  resume(cores, index);
}

/* ---- begins ---- */

void pto_virtual_cores_begin(struct pto_virtual_cores *cores) {
  struct pto_kernel_args args;
  uint32_t count = 0;
  cores->now = cores->begins.next_at;
  do { /* all of this instant: each counts as a sharer before the first one's work is known */
    const uint32_t index = pto_event_queue_pop(&cores->begins).core;
    const struct pto_message *message = front_of(cores, index);
    cores->instant[count] = index;
    pto_message_args(message, &cores->views[index], &args);
    if (PTO_LIKELY(!(message->flags & PTO_MESSAGE_WAITS)))
      cores->calls[count] = load_call(cores, index, message, &args);
    count++;
  } while (cores->begins.next_at == cores->now);
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t index = cores->instant[i];
    const struct pto_message *message = front_of(cores, index);
    if (PTO_UNLIKELY(message->flags & PTO_MESSAGE_WAITS)) {
      begin_on_fiber(cores, index);
      continue;
    }
    pto_message_args(message, &cores->views[index], &args);
    if (PTO_UNLIKELY(cores->is_special))
      run_front(cores, index, &args, &cores->calls[i], true);
    else
      run_front(cores, index, &args, &cores->calls[i], false);
  }
}

const char *pto_virtual_cores_sentence(const struct pto_virtual_cores *cores, uint32_t index) {
  const uint32_t last = cores->cores[index].polled - 1;
  const struct pto_virtual_slot *slot = pto_virtual_slot_at(cores, index, last);
  if (cores->cores[index].polled == 0 || slot->status == 0) return "";
  const bool is_verdict = slot->status == PTO_EDEADLOCK && (slot->message.flags & PTO_MESSAGE_WAITS);
  return is_verdict ? cores->solo.waiting.deadlock : sentence_at(cores, index, last);
}

/* Cores that poll the clock: before each look that nothing has led to, time goes on by a 16th of how long that has been
 * so.  So a wait for a time ends at most that much late, after some hundred looks. */
static void let_time_pass(struct pto_virtual_cores *cores) {
  const struct pto_rendezvous_table *table = &cores->solo.waiting.rendezvous;
  if (!table->looks) cores->idle_since = cores->now;
  if (table->has_read_clock) cores->now += pto_min_u64((cores->now - cores->idle_since) / 16, LONGEST_LOOK_PS);
}

bool pto_virtual_cores_break_deadlock(struct pto_virtual_cores *cores) {
  PTO_ASSERT(pto_virtual_cores_next_time(cores, true) == PTO_VIRTUAL_NEVER);
  let_time_pass(cores);
  pto_waiting_cores_break_deadlock(&cores->solo.waiting);
  return pto_virtual_cores_next_time(cores, true) != PTO_VIRTUAL_NEVER;
}

void pto_virtual_cores_look_again(struct pto_virtual_cores *cores) {
  let_time_pass(cores);
  (void)pto_rendezvous_look_again(&cores->solo.waiting.rendezvous);
}

bool pto_virtual_cores_is_valid(const struct pto_virtual_cores *cores) {
  uint32_t running = 0, sharers = 0;
  if (!pto_event_queue_is_valid(&cores->ends) || !pto_event_queue_is_valid(&cores->begins)) return false;
  for (uint32_t i = 0; i < cores->core_count; i++) {
    const struct pto_virtual_core *core = &cores->cores[i];
    uint32_t held = core->sent - core->polled, arrived = core->arrived - core->polled;
    uint32_t begun = core->begun - core->polled, done = core->done - core->polled;
    if (held > cores->slots_per_core || arrived > held || begun > arrived || done > begun || begun - done > 1)
      return false;
    if (core->call != PTO_CALL_ON_FIBER) running += begun - done; /* others have no event while they wait */
    sharers += begun != done && core->moves_bytes;
  }
  return sharers == cores->sharers && running <= cores->ends.tail - cores->ends.head +
                                                     pto_streams_count(&cores->streams) +
                                                     pto_streams_count(&cores->l2_streams);
}
