/* SPDX-License-Identifier: MIT */
/*
 * The virtual-time engine: the port over simulated cores whose time is counted, not measured.
 *
 * One orchestrator clock, a clock for each scheduler, events of the cores.  Everything that happens has a time, and is
 * processed in order of it: first what cores do at that instant (sim/virtual/core.h), then what schedulers do, the
 * lowest scheduler first.  A scheduler does either of two things:
 *   - it sends a message that another actor requested: clock = max(clock, requested at) + dispatch price; it arrives
 * then
 *   - it takes in a completion: clock = max(clock, visible at) + poll price; the runtime handles it then
 * The first one may wire edges too: clock = max(clock, when the last of them was submitted) + their price.
 * Where the graph is prebuilt, a resolver does what the runtime does at a completion, beside the schedulers: its clock
 * = max(clock, the scheduler's) then, and is port.clock meanwhile; and nothing of a submit takes time. Elsewhere, while
 * the runtime handles a completion the scheduler's clock is port.clock and grows by what is charged; messages that it
 * then sends to its own cores go out at once.  Submits only request, at the orchestrator's clock.
 *
 * Nothing is processed past the orchestrator's clock unless it waits; so a completion whose turn comes later than that
 * is one that it cannot know of yet.  Of a rank of several, nothing is processed at the horizon of its world or later
 * (rank_clock.h).  No wall time, address, or hash decides anything: same calls, same times.
 *
 * One thread, but for the watchdog's and, with several workers, those that kernels are called on (kernel_calls.h).  All
 * memory is reserved at creation.
 */
#include <sim/engine/engine.h>

#include <sim/chips/chip.h>
#include <sim/virtual/core.h>
#include <sim/virtual/rank_clock.h>
#include <sim/virtual/scheduler_segments.h>
#include <sim/virtual/turns.h>

#include <stdio.h>
#include <string.h>

/* Whether the chip has rules that the usual loop does not look for. */
static bool has_more(const struct pto_chip *chip) {
  return chip->loop_ps > 0 || chip->is_graph_prebuilt || chip->shares_anew || chip->schedulers_wire ||
         chip->cold_start_ps > 0 || chip->pending_start_ps != chip->kernel_start_ps ||
         chip->dispatch_more_ps != chip->work_ps[PTO_WORK_DISPATCH];
}

/* One clock, and the things that it has yet to do, in the order in which they came up: completions that its cores made
 * visible, and messages that others requested, equal times in order of the requests.  It does one thing at a time, the
 * earliest first, a completion before a message of the same time. */
struct scheduler {
  uint64_t clock;

  struct pto_event_queue completions, messages; /* all of rank 0 */
};

/* Edges that wait for the scheduler that wires them, the first one. */
struct wiring {
  uint64_t at; /* when the last of them was submitted; PTO_VIRTUAL_NEVER: there are none */
  uint64_t ps; /* what they take */
};
#define WIRING_SCHEDULER 0u

struct engine_virtual {
  struct pto_port port; /* first: the port's address is the engine's */
  uint32_t scheduler_count;
  uint32_t first;    /* the scheduler that acts first, the lowest of equals */
  bool has_more;     /* rules that the usual loop does not look for */
  bool has_resolver; /* the graph is prebuilt */
  bool has_turns;    /* schedulers go round in a loop */
  /* By scheduler: stale of the one whose clock port.clock is; PTO_VIRTUAL_NEVER of those that the chip has not. */
  uint64_t next_at[PTO_CHIP_MAX_SCHEDULERS];
  uint64_t dispatch_ps, dispatch_more_ps, poll_ps, edge_ps, handshake_ps;
  struct wiring wiring;
  uint64_t last_tasks[PTO_CHIP_MAX_SCHEDULERS]; /* whose message each sent last; UINT64_MAX: it has sent none */
  uint64_t resolver_clock;
  struct scheduler schedulers[PTO_CHIP_MAX_SCHEDULERS];
  struct pto_turns turns[PTO_CHIP_MAX_SCHEDULERS]; /* where has_turns */
  struct pto_virtual_cores cores;
  uint64_t work_ps[PTO_WORK_COUNT]; /* what port.work_ps shows */
  struct pto_rank_clock *rank;      /* NULL: the chip is alone */
  struct pto_port_ops observed_ops; /* of engine observed virtual: the others, and `observed` */
  struct pto_reserve memory;        /* holds this struct too */
};

_Static_assert(PTO_CHIP_MAX_SCHEDULERS >= 4, "update_scheduler looks at four");

static struct engine_virtual *engine_of(struct pto_port *port) { return (struct engine_virtual *)(void *)port; }

/* ---- who is first ---- */

/* What the scheduler does next is at `time`. */
static PTO_INLINE void set_next(struct engine_virtual *engine, uint32_t index, uint64_t time) {
  uint64_t *at = engine->next_at;
  at[index] = time;
  /* Few chips have more than four, and these two comparisons do not wait for each other. */
  const uint32_t lower = at[1] < at[0], upper = 2 + (at[3] < at[2]);
  uint32_t first = at[upper] < at[lower] ? upper : lower;
  for (uint32_t i = 4; i < engine->scheduler_count; i++) first = at[i] < at[first] ? i : first;
  engine->first = first;
}

/* The time of the first thing beside completions that came up for the scheduler. */
static PTO_INLINE uint64_t next_asked(const struct engine_virtual *engine, uint32_t index, bool has_more) {
  const uint64_t next_at = engine->schedulers[index].messages.next_at;
  return has_more && index == WIRING_SCHEDULER ? pto_min_u64(next_at, engine->wiring.at) : next_at;
}

static inline uint64_t next_in_turns(const struct engine_virtual *engine, uint32_t index) {
  const struct scheduler *scheduler = &engine->schedulers[index];
  return pto_turns_next(&engine->turns[index], &scheduler->completions, scheduler->clock,
                        next_asked(engine, index, true));
}

static PTO_NOINLINE void update_in_turns(struct engine_virtual *engine, uint32_t index) {
  pto_turns_act(&engine->schedulers[index].completions);
  set_next(engine, index, next_in_turns(engine, index));
}

/* After something was taken from a scheduler's queues, or its clock moved. */
static PTO_INLINE void update_scheduler(struct engine_virtual *engine, uint32_t index, bool has_more) {
  struct scheduler *scheduler = &engine->schedulers[index];
  if (has_more && engine->has_turns) {
    update_in_turns(engine, index);
    return;
  }
  const uint64_t next_at = pto_min_u64(scheduler->completions.next_at, next_asked(engine, index, has_more));
  set_next(engine, index, pto_max_u64(scheduler->clock, next_at));
}

/* The scheduler may have something to do at `time`, earlier than it had. */
static PTO_INLINE void hurry_scheduler(struct engine_virtual *engine, uint32_t index, uint64_t time) {
  if (time >= engine->next_at[index]) return;
  engine->next_at[index] = time;
  const uint64_t first_at = engine->next_at[engine->first];
  if (time < first_at || (time == first_at && index < engine->first)) engine->first = index;
}

/* A message asked for at `time` was put into a scheduler's queue. */
static PTO_INLINE void note_message(struct engine_virtual *engine, uint32_t index, uint64_t time, bool has_more) {
  if (has_more && engine->has_turns)
    hurry_scheduler(engine, index, next_in_turns(engine, index));
  else
    hurry_scheduler(engine, index, pto_max_u64(engine->schedulers[index].clock, time));
}

/* A completion of `core`, visible at `time`. */
static PTO_INLINE void note_completion(struct engine_virtual *engine, uint32_t core, uint64_t time, bool has_more) {
  const uint32_t owner = engine->cores.cores[core].scheduler;
  struct scheduler *scheduler = &engine->schedulers[owner];
  if (has_more && engine->has_turns) {
    hurry_scheduler(engine, owner,
                    pto_turns_note(&engine->turns[owner], &scheduler->completions, scheduler->clock, time, core));
  } else {
    pto_event_queue_insert(&scheduler->completions, time, 0, core);
    hurry_scheduler(engine, owner, pto_max_u64(scheduler->clock, time));
  }
}

static inline uint64_t next_time(const struct engine_virtual *engine, bool has_more) {
  return pto_min_u64(pto_virtual_cores_next_time(&engine->cores, has_more), engine->next_at[engine->first]);
}

/* Nothing may be processed then or later. */
static inline uint64_t horizon(const struct engine_virtual *engine, bool has_more) {
  return has_more && PTO_UNLIKELY(engine->rank != NULL) ? engine->rank->horizon : PTO_VIRTUAL_NEVER;
}

/* port.clock becomes the orchestrator's. */
static PTO_INLINE void leave_scheduler(struct engine_virtual *engine, bool has_more) {
  if (!engine->port.is_scheduler) return;
  const bool is_resolver = has_more && engine->has_resolver;
  *(is_resolver ? &engine->resolver_clock : &engine->schedulers[engine->port.actor].clock) = engine->port.clock;
  engine->port.is_scheduler = false;
  engine->port.clock = engine->port.orchestrator_clock;
  if (!is_resolver) update_scheduler(engine, engine->port.actor, has_more);
}

static PTO_INLINE void enter_scheduler(struct engine_virtual *engine, uint32_t index, bool has_more) {
  engine->port.orchestrator_clock = engine->port.clock;
  engine->port.clock = engine->schedulers[index].clock;
  if (has_more && engine->has_resolver) { /* the scheduler itself has done what it does */
    update_scheduler(engine, index, true);
    engine->port.clock = pto_max_u64(engine->port.clock, engine->resolver_clock);
  }
  engine->port.is_scheduler = true;
  engine->port.actor = has_more && engine->has_resolver ? PTO_PORT_RESOLVER : index;
}

static PTO_NOINLINE void wire_edges(struct engine_virtual *engine) {
  const uint64_t begin = engine->next_at[WIRING_SCHEDULER];
  if (PTO_UNLIKELY(engine->cores.segments != NULL))
    pto_scheduler_add_segment(&engine->cores, WIRING_SCHEDULER, PTO_ACTIVITY_edges, begin, begin + engine->wiring.ps,
                              PTO_SEGMENT_NO_CORE, PTO_SEGMENT_NO_TASK);
  engine->schedulers[WIRING_SCHEDULER].clock = begin + engine->wiring.ps;
  engine->wiring = (struct wiring){.at = PTO_VIRTUAL_NEVER};
  update_scheduler(engine, WIRING_SCHEDULER, true);
}

/* What the next message of `core` takes its scheduler, which sends it now. */
static PTO_INLINE uint64_t dispatch_price(struct engine_virtual *engine, uint32_t index, uint32_t core, bool has_more) {
  if (!has_more) return engine->dispatch_ps;
  const uint64_t last_task = engine->last_tasks[index];
  engine->last_tasks[index] =
      pto_virtual_slot_at(&engine->cores, core, engine->cores.cores[core].arrived)->message.payload->task_number;
  return engine->last_tasks[index] == last_task ? engine->dispatch_more_ps : engine->dispatch_ps;
}

/* The first scheduler, whose turn it is to do something but a completion of its loop's: whether that is wiring. */
static inline bool is_wiring_next(const struct engine_virtual *engine, const struct scheduler *scheduler) {
  if (engine->has_turns) return engine->wiring.at <= scheduler->clock;
  return engine->wiring.at < scheduler->completions.next_at && engine->wiring.at <= scheduler->messages.next_at;
}

/* The scheduler sends the first message that was asked for; it begins that at `time`. */
static PTO_INLINE void send_first(struct engine_virtual *engine, uint32_t index, uint64_t time, bool has_more) {
  struct scheduler *scheduler = &engine->schedulers[index];
  const uint32_t core = pto_event_queue_pop(&scheduler->messages).core;
  scheduler->clock = time + dispatch_price(engine, index, core, has_more);
  if (PTO_UNLIKELY(engine->cores.segments != NULL))
    pto_scheduler_add_dispatch(&engine->cores, core, time, scheduler->clock);
  pto_virtual_cores_arrive(&engine->cores, core, scheduler->clock, has_more);
  if (has_more && engine->has_turns) pto_turns_add(&engine->turns[index], core);
  update_scheduler(engine, index, has_more);
}

/* Processes all that happens up to `limit` and before the next completion is taken in; true where there is one up to
 * then, and engine->first is the scheduler whose turn it is.  limit < PTO_VIRTUAL_NEVER. */
static PTO_INLINE bool advance(struct engine_virtual *engine, uint64_t limit, bool has_more) {
  struct pto_virtual_cores *cores = &engine->cores;
  for (;;) {
    const uint32_t first = engine->first;
    const uint64_t core_at = pto_virtual_cores_next_time(cores, has_more), scheduler_at = engine->next_at[first];
    const uint64_t next_at = pto_min_u64(core_at, scheduler_at);
    if (next_at > limit || next_at >= horizon(engine, has_more)) {
      engine->port.quiet_until = pto_min_u64(next_at, horizon(engine, has_more));
      return false;
    }
    if (core_at <= scheduler_at) {
      const uint32_t core = pto_virtual_cores_step(cores, has_more);
      if (core != PTO_VIRTUAL_NO_CORE) note_completion(engine, core, core_at, has_more);
      continue;
    }
    struct scheduler *scheduler = &engine->schedulers[first];
    if (has_more && engine->has_turns) {
      if (scheduler_at > scheduler->clock) { /* a turn's looks are over; what it does then it begins now */
        pto_turns_look(&scheduler->completions, scheduler_at);
        if (PTO_UNLIKELY(engine->cores.segments != NULL))
          pto_scheduler_add_segment(&engine->cores, first, PTO_ACTIVITY_look, scheduler->clock, scheduler_at,
                                    PTO_SEGMENT_NO_CORE, PTO_SEGMENT_NO_TASK);
        scheduler->clock = scheduler_at;
      }
      if (scheduler->completions.next_at == PTO_TURN_FOUND) return true;
    }
    if (has_more && first == WIRING_SCHEDULER && is_wiring_next(engine, scheduler)) {
      wire_edges(engine);
      continue;
    }
    if (!(has_more && engine->has_turns) && scheduler->completions.next_at <= scheduler->messages.next_at) return true;
    send_first(engine, first, scheduler_at, has_more);
  }
}

static PTO_INLINE bool dispatch(struct pto_port *port, const struct pto_message *message, uint64_t ready_at,
                                bool has_more) {
  struct engine_virtual *engine = engine_of(port);
  struct pto_virtual_core *core = &engine->cores.cores[message->core];
  const uint32_t owner = core->scheduler;
  /* Cores run in order, so nothing overtakes an earlier message to the same core. */
  const uint64_t requested_at = pto_max_u64(pto_max_u64(ready_at, port->clock), core->requested_at);
  core->requested_at = requested_at;
  pto_virtual_cores_send(&engine->cores, message);
  const bool is_own = port->is_scheduler && engine->port.actor == owner; /* and no resolver */
  const bool waits_for_turn = has_more && engine->has_turns;
  /* Its own scheduler sends it now, unless an earlier message to that core is still to be sent. */
  if (is_own && !waits_for_turn && requested_at == port->clock && core->sent - core->arrived == 1) {
    const uint64_t begin = port->clock;
    port->clock += dispatch_price(engine, owner, message->core, has_more);
    if (PTO_UNLIKELY(engine->cores.segments != NULL))
      pto_scheduler_add_dispatch(&engine->cores, message->core, begin, port->clock);
    pto_virtual_cores_arrive(&engine->cores, message->core, port->clock, has_more);
    return false;
  }
  if (PTO_UNLIKELY(engine->cores.segments != NULL))
    pto_scheduler_add_request(&engine->cores, &engine->port, message, requested_at);
  pto_event_queue_insert(&engine->schedulers[owner].messages, requested_at, 0, message->core);
  if (is_own) return false; /* leave_scheduler updates it, with the clock of then */
  note_message(engine, owner, requested_at, has_more);
  port->quiet_until = pto_min_u64(port->quiet_until, engine->next_at[owner]);
  return false;
}

static bool engine_dispatch(struct pto_port *port, const struct pto_message *message, uint64_t ready_at,
                            struct pto_completion *completion) {
  return dispatch(port, message, ready_at, false);
}
static bool engine_dispatch_with_more(struct pto_port *port, const struct pto_message *message, uint64_t ready_at,
                                      struct pto_completion *completion) {
  return dispatch(port, message, ready_at, true);
}

/* As the chip says; each of the two has its own copy of the loop, and the usual one does not look for optional rules.
 */
static PTO_NOINLINE bool advance_plainly(struct engine_virtual *engine, uint64_t limit) {
  return advance(engine, limit, false);
}
static PTO_NOINLINE bool advance_with_more(struct engine_virtual *engine, uint64_t limit) {
  return advance(engine, limit, true);
}

/* A rank that does nothing before `next_at` lets the others go on.  False: nothing will ever happen. */
static bool sync(struct engine_virtual *engine, uint64_t next_at) {
  return pto_rank_clock_sync(engine->rank, &engine->port, &engine->cores, next_at) ||
         next_time(engine, true) != PTO_VIRTUAL_NEVER;
}

/* Processes all that happens up to `limit`, as `advance`, also what other ranks do until then. */
static bool advance_to(struct engine_virtual *engine, uint64_t limit) {
  bool (*const go_on)(struct engine_virtual *, uint64_t) = engine->has_more ? advance_with_more : advance_plainly;
  for (;;) {
    if (go_on(engine, limit)) return true;
    if (engine->rank == NULL) return false;
    const uint64_t next_at = next_time(engine, true);
    const bool has_limit = limit < PTO_VIRTUAL_NEVER - 1;
    if (has_limit && next_at > limit && limit < engine->rank->horizon) return false;
    if (!sync(engine, has_limit ? pto_min_u64(next_at, limit) : next_at)) return false;
  }
}

/* The core whose completion the scheduler takes in next. */
static PTO_INLINE uint32_t take_first(struct engine_virtual *engine, uint32_t index, bool has_more) {
  const uint32_t core = pto_event_queue_pop(&engine->schedulers[index].completions).core;
  if (!(has_more && engine->has_turns)) return core;
  const struct pto_virtual_core *its = &engine->cores.cores[core];
  if (its->arrived - its->polled == 1) pto_turns_remove(&engine->turns[index], core);
  return core;
}

static PTO_INLINE uint32_t poll(struct pto_port *port, struct pto_completion *completions, uint32_t max,
                                bool has_more) {
  struct engine_virtual *engine = engine_of(port);
  leave_scheduler(engine, has_more);
  port->quiet_until = pto_min_u64(next_time(engine, has_more), horizon(engine, has_more));
  if (port->clock < port->quiet_until || max == 0) return 0;
  if (!(has_more ? PTO_UNLIKELY(engine->rank != NULL) ? advance_to : advance_with_more : advance_plainly)(engine,
                                                                                                          port->clock))
    return 0;
  PTO_INTERNAL(pto_virtual_cores_is_valid(&engine->cores));
  const uint32_t first = engine->first;
  struct scheduler *scheduler = &engine->schedulers[first];
  scheduler->clock = engine->next_at[first] + engine->poll_ps;
  completions[0] = pto_virtual_cores_poll(&engine->cores, take_first(engine, first, has_more));
  if (PTO_UNLIKELY(engine->cores.segments != NULL))
    pto_scheduler_add_poll(&engine->cores, first, completions[0].core, scheduler->clock - engine->poll_ps,
                           scheduler->clock);
  enter_scheduler(engine, first, has_more);
  port->quiet_until = 0;
  return 1;
}
static uint32_t engine_poll(struct pto_port *port, struct pto_completion *completions, uint32_t max) {
  return poll(port, completions, max, false);
}
static uint32_t engine_poll_with_more(struct pto_port *port, struct pto_completion *completions, uint32_t max) {
  return poll(port, completions, max, true);
}

static void engine_wait(struct pto_port *port) {
  struct engine_virtual *engine = engine_of(port);
  leave_scheduler(engine, engine->has_more);
  /* As far as there are events at all; there is one, unless cores wait for ever or the caller broke its word. */
  bool has_completion = advance_to(engine, PTO_VIRTUAL_NEVER - 1);
  while (PTO_UNLIKELY(!has_completion) && pto_virtual_cores_break_deadlock(&engine->cores))
    has_completion = advance_to(engine, PTO_VIRTUAL_NEVER - 1);
  PTO_ASSERT(has_completion);
  if (has_completion) port->clock = pto_max_u64(port->clock, engine->next_at[engine->first]);
  port->quiet_until = 0;
}

/* To the next event, which the next poll takes.  Where there is none, cores that poll memory look once more: the
 * orchestration may have written it, or be about to. */
static bool engine_pause(struct pto_port *port) {
  struct engine_virtual *engine = engine_of(port);
  bool goes_on = true;
  leave_scheduler(engine, engine->has_more);
  const uint64_t next_at = next_time(engine, engine->has_more);
  if (engine->rank && next_at >= engine->rank->horizon)
    goes_on = sync(engine, next_at); /* what came by it may be what is waited for, before that event */
  else if (next_at == PTO_VIRTUAL_NEVER)
    (void)pto_virtual_cores_break_deadlock(&engine->cores);
  else
    port->clock = pto_max_u64(port->clock, next_at);
  if (engine->rank) port->clock = pto_max_u64(port->clock, engine->cores.now); /* no earlier than what came */
  port->quiet_until = 0;
  return goes_on;
}

static void engine_resume(struct pto_port *port, uint64_t not_before) {
  struct engine_virtual *engine = engine_of(port);
  leave_scheduler(engine, engine->has_more);
  port->clock = pto_max_u64(port->clock, not_before);
}

static uint64_t engine_elapsed_ps(const struct pto_port *port) {
  const struct engine_virtual *engine = (const struct engine_virtual *)(const void *)port;
  uint64_t elapsed = pto_max_u64(port->clock, engine->resolver_clock);
  if (port->is_scheduler) elapsed = pto_max_u64(elapsed, port->orchestrator_clock);
  for (uint32_t i = 0; i < engine->scheduler_count; i++) elapsed = pto_max_u64(elapsed, engine->schedulers[i].clock);
  return elapsed;
}

static int engine_begin_run(struct pto_port *port, char *sentence, size_t sentence_size) {
  struct engine_virtual *engine = engine_of(port);
  pto_virtual_cores_reset(&engine->cores, port->trace, port->meter);
  engine->cores.skips_kernels = port->skips_kernels;
  if (engine->cores.segments)
    pto_scheduler_add_segment(&engine->cores, 0, (enum pto_activity)PTO_MARK_BEGIN, 0, engine->handshake_ps,
                              engine->scheduler_count, engine->cores.core_count);
  /* A meter tells calls of the one thread. */
  const bool is_one_thread = port->worker_count == 1 || port->meter;
  engine->cores.calls_at_begin = !port->skips_kernels && is_one_thread && !engine->cores.observed.observer;
  engine->cores.is_special = !engine->cores.calls_at_begin || engine->cores.shares_anew || engine->cores.jitter.ppm > 0;
  for (uint32_t i = 0; i < engine->scheduler_count; i++) {
    struct scheduler *scheduler = &engine->schedulers[i];
    scheduler->clock = engine->handshake_ps;
    engine->last_tasks[i] = UINT64_MAX;
    pto_event_queue_reset(&scheduler->completions);
    pto_event_queue_reset(&scheduler->messages);
    if (engine->has_turns) pto_turns_reset(&engine->turns[i], engine->cores.core_count);
  }
  for (uint32_t i = 0; i < PTO_CHIP_MAX_SCHEDULERS; i++) engine->next_at[i] = PTO_VIRTUAL_NEVER;
  engine->first = 0;
  engine->resolver_clock = engine->handshake_ps;
  engine->wiring = (struct wiring){.at = PTO_VIRTUAL_NEVER};
  port->is_scheduler = false;
  port->clock = port->orchestrator_clock = engine->handshake_ps;
  port->quiet_until = 0;
  if (!engine->rank || engine->rank->begin_run(engine->rank, &engine->cores)) return PTO_OK;
  snprintf(sentence, sentence_size, "another run of this rank goes on: its runs come one after another");
  return PTO_EINVAL;
}

/* The last clocks stay readable through elapsed_ps. */
static void engine_end_run(struct pto_port *port) {
  struct engine_virtual *engine = engine_of(port);
  const struct pto_engine_observer *observer = engine->cores.observed.observer;
  leave_scheduler(engine, engine->has_more);
  if (observer) observer->end_run(observer->context);
  if (engine->rank) engine->rank->end_run(engine->rank, engine_elapsed_ps(port));
}

static void engine_wire(struct pto_port *port, uint64_t edges) {
  struct engine_virtual *engine = engine_of(port);
  PTO_ASSERT(!port->is_scheduler);
  /* What waits already is wired with it, not before it was submitted.  Its time may be later now, and then it is not
   * the first thing to do any more. */
  engine->wiring = (struct wiring){.at = port->clock, .ps = engine->wiring.ps + edges * engine->edge_ps};
  if (engine->has_turns)
    set_next(engine, WIRING_SCHEDULER, next_in_turns(engine, WIRING_SCHEDULER));
  else
    update_scheduler(engine, WIRING_SCHEDULER, true);
  port->quiet_until = pto_min_u64(port->quiet_until, engine->next_at[WIRING_SCHEDULER]);
}

static void engine_settle(struct pto_port *port) { pto_virtual_cores_settle(&engine_of(port)->cores); }

static const char *engine_kernel_message(struct pto_port *port, uint32_t core) {
  return pto_virtual_cores_sentence(&engine_of(port)->cores, core);
}

static void engine_find_waits(struct pto_port *port, struct pto_core_waits *waits) {
  pto_waiting_cores_find_waits(&engine_of(port)->cores.solo.waiting, waits);
}

static void engine_bind_memory(struct pto_port *port, void *addr, uint64_t size_bytes) {
  struct pto_virtual_cores *cores = &engine_of(port)->cores;
  cores->allocated_lo = (uint64_t)(uintptr_t)addr;
  cores->allocated_hi = cores->allocated_lo + size_bytes;
}

static void engine_destroy(struct pto_port *port) {
  struct engine_virtual *engine = engine_of(port);
  pto_virtual_cores_fini(&engine->cores);
  struct pto_reserve memory = engine->memory;
  pto_reserve_fini(&memory);
}

/* ---- with an observer ---- */

static void engine_set_observer(struct pto_port *port, const struct pto_engine_observer *observer) {
  engine_of(port)->cores.observed.observer = observer;
}
static int engine_run_unit(struct pto_port *port, struct pto_observed_fill fill) {
  return pto_virtual_cores_run_observed(&engine_of(port)->cores, fill);
}
static void engine_move_unit(struct pto_port *port, enum pto_observed_core core) {
  engine_of(port)->cores.observed.seen_core = core;
}
static void engine_abandon_unit(struct pto_port *port) {
  struct pto_solo *solo = &engine_of(port)->cores.solo;
  pto_solo_leave(solo);
  pto_solo_limited(solo, false, false);
}
static const struct pto_observed_local *engine_local(struct pto_port *port) {
  struct pto_virtual_cores *cores = &engine_of(port)->cores;
  struct pto_virtual_observed *its = &cores->observed;
  its->local = (struct pto_observed_local){.bytes = {0}};
  pto_observed_call_measure_local(its->message, &cores->views[its->message->core], &its->local);
  return &its->local;
}
static uint32_t engine_siblings(struct pto_port *port, const struct pto_message *message, struct pto_message *all,
                                uint32_t capacity) {
  return pto_virtual_cores_siblings(&engine_of(port)->cores, message, all, capacity);
}
static const struct pto_observed_ops observed = {.set = engine_set_observer,
                                                 .run = engine_run_unit,
                                                 .abandon = engine_abandon_unit,
                                                 .move = engine_move_unit,
                                                 .local = engine_local,
                                                 .siblings = engine_siblings};

/* ---- the port ---- */

#define OPS(dispatch_, poll_, wire_)                                                                                   \
  {                                                                                                                    \
    .begin_run = engine_begin_run, .end_run = engine_end_run, .dispatch = dispatch_, .poll = poll_,                    \
    .resume = engine_resume, .wait = engine_wait, .pause = engine_pause, .wire = wire_, .settle = engine_settle,       \
    .kernel_message = engine_kernel_message, .find_waits = engine_find_waits, .bind_memory = engine_bind_memory,       \
    .destroy = engine_destroy                                                                                          \
  }
static const struct pto_port_ops ops = OPS(engine_dispatch, engine_poll, NULL),
                                 more_ops = OPS(engine_dispatch_with_more, engine_poll_with_more, NULL),
                                 wiring_ops = OPS(engine_dispatch_with_more, engine_poll_with_more, engine_wire);

/* With a NULL base it only adds up. */
static uint64_t lay_out(const struct pto_chip *chip, char *base) {
  uint64_t used = 0, slots = pto_align_up(chip->slots_per_core, 2);
  const uint32_t ring_size = pto_event_queue_ring_size(3 * chip->cluster_count * slots);
  struct engine_virtual *engine = pto_carve(base, &used, sizeof *engine);
  for (uint32_t i = 0; i < 2 * chip->scheduler_count; i++) {
    struct pto_event *ring = pto_carve(base, &used, ring_size * sizeof *ring);
    if (!base) continue;
    struct scheduler *scheduler = &engine->schedulers[i / 2];
    struct pto_event_queue *queue = i % 2 ? &scheduler->messages : &scheduler->completions;
    queue->ring = ring;
    queue->mask = ring_size - 1;
  }
  for (uint32_t i = 0; i < chip->scheduler_count && chip->loop_ps; i++) {
    const uint64_t word_bytes = pto_turns_words(3 * chip->cluster_count) * sizeof(uint64_t);
    uint64_t *is_running = pto_carve(base, &used, word_bytes);
    if (base)
      engine->turns[i] =
          (struct pto_turns){.loop_ps = chip->loop_ps, .look_ps = chip->look_ps, .is_running = is_running};
  }
  return used;
}

static bool has_more_prices(const uint64_t *work_ps) {
  bool has = false;
#define X(kind, name, other)                                                                                           \
  has |= work_ps[kind] != ((other) == PTO_WORK_COUNT ? 0 : work_ps[(other) % PTO_WORK_COUNT]);
  PTO_MORE_WORK_LIST(X)
#undef X
  return has;
}

static void fill_port(struct engine_virtual *engine, const struct pto_chip *chip, bool is_rank) {
  engine->has_more = has_more(chip) || is_rank;
  engine->has_turns = chip->loop_ps > 0;
  const struct pto_port_ops *const its_ops = chip->schedulers_wire && !chip->is_graph_prebuilt ? &wiring_ops
                                             : engine->has_more                                ? &more_ops
                                                                                               : &ops;
  engine->port = pto_solo_port(its_ops, chip, "virtual");
  engine->port.work_ps = engine->work_ps;
  engine->port.is_virtual = true;
  engine->port.elapsed_ps = engine_elapsed_ps;
  engine->port.origin_ps = engine->cores.origin_ps;
  engine->scheduler_count = chip->scheduler_count;
  memcpy(engine->work_ps, chip->work_ps, sizeof engine->work_ps);
  engine->dispatch_ps = chip->work_ps[PTO_WORK_DISPATCH];
  engine->dispatch_more_ps = chip->dispatch_more_ps;
  engine->handshake_ps = chip->handshake_ps;
  engine->poll_ps = chip->work_ps[PTO_WORK_POLL];
  engine->work_ps[PTO_WORK_DISPATCH] = engine->work_ps[PTO_WORK_POLL] = 0;
  engine->edge_ps = chip->work_ps[PTO_WORK_EDGE];
  const bool wires = chip->schedulers_wire && !chip->is_graph_prebuilt;
  if (wires) engine->work_ps[PTO_WORK_EDGE] = 0;
  engine->has_resolver = chip->is_graph_prebuilt != 0;
  if (engine->has_resolver) { /* what is left is done at a completion */
    for (uint32_t kind = 0; kind < PTO_WORK_COUNT; kind++)
      if (kind != PTO_WORK_FANOUT && kind != PTO_WORK_COMPLETE) engine->work_ps[kind] = 0;
  }
  engine->port.has_more_prices = wires || has_more_prices(engine->work_ps);
}

/* Scheduler s owns the clusters from ⌈s · clusters / schedulers⌉ on, or every one whose number is s modulo schedulers.
 */
static void assign_cores(struct engine_virtual *engine, const struct pto_chip *chip) {
  for (uint32_t core = 0; core < engine->cores.core_count; core++) {
    const uint64_t cluster = core / 3, schedulers = chip->scheduler_count;
    engine->cores.cores[core].scheduler =
        (uint8_t)(chip->deals_clusters ? cluster % schedulers : cluster * schedulers / chip->cluster_count);
  }
}

static int create(const struct pto_engine_config *config, bool is_observed, struct pto_port **port_out,
                  struct pto_error *error) {
  const struct pto_chip *chip = config->chip;
  struct pto_reserve memory = {0};
  if (!pto_reserve_init(&memory, lay_out(chip, NULL)))
    return pto_error_set(error, PTO_ENOMEM, "virtual engine of chip %s: no memory for its state", chip->name);
  lay_out(chip, memory.addr);
  struct engine_virtual *engine = memory.addr;
  engine->memory = memory;
  fill_port(engine, chip, config->rank != NULL);
  if (is_observed) {
    engine->observed_ops = *engine->port.ops;
    engine->observed_ops.observed = &observed;
    engine->port.ops = &engine->observed_ops;
    engine->port.looks_at_memory = true;
  }
  const int status = pto_virtual_cores_init(&engine->cores, &engine->port, config, error);
  if (status != PTO_OK) {
    pto_reserve_fini(&memory);
    return status;
  }
  if (engine->cores.kernel_calls.worker_count) engine->port.worker_count = engine->cores.kernel_calls.worker_count;
  assign_cores(engine, chip);
  engine_begin_run(&engine->port, NULL, 0);
  engine->rank = config->rank;
  engine->cores.solo.waiting.rank = config->rank;
  *port_out = &engine->port;
  return PTO_OK;
}

int pto_engine_virtual_create(const struct pto_engine_config *config, struct pto_port **port_out,
                              struct pto_error *error) {
  return create(config, false, port_out, error);
}

int pto_engine_observed_virtual_create(const struct pto_engine_config *config, struct pto_port **port_out,
                                       struct pto_error *error) {
  struct pto_engine_config its = *config;
  its.workers = 1;
  return create(&its, true, port_out, error);
}
