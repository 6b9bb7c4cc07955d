/* SPDX-License-Identifier: MIT */
/*
 * The virtual-time engine: the port over simulated cores whose time is counted, not measured.
 *
 * One orchestrator clock, a clock for each scheduler, events of the cores.  Everything that happens has a time, and is
 * processed in order of it: first what cores do at that instant (virtual_core.h), then what schedulers do
 * (virtual_scheduler.h), the lowest scheduler first.  A scheduler does either of two things: sends a message that
 * another actor asked for:  clock = max(clock, asked at) + dispatch price; it arrives then; takes in a completion:
 * clock = max(clock, visible at) + poll price; the runtime handles it then. While the runtime handles a completion the
 * scheduler's clock is port.clock and grows by what is charged; messages that it then sends to its own cores go out at
 * once.  Submits only ask, at the orchestrator's clock.
 *
 * Nothing is processed past the orchestrator's clock unless it waits; so a completion whose turn comes later than that
 * is one that it cannot know of yet.  No wall time, address, or hash decides anything: same calls, same times.
 *
 * One thread, but for the watchdog's, which looks at one line.  All memory is reserved at creation.
 */
#include <sim/engine.h>

#include <sim/chip.h>
#include <sim/virtual_scheduler.h>

#include <string.h>

#define ORCHESTRATOR PTO_CHIP_MAX_SCHEDULERS /* the actor's number beyond those of the schedulers */

struct engine_virtual {
  struct pto_port port; /* first: the port's address is the engine's */
  uint32_t scheduler_count;
  uint32_t actor;              /* whose clock port.clock is: a scheduler's index, or ORCHESTRATOR */
  uint64_t orchestrator_clock; /* stale while actor is ORCHESTRATOR */
  uint64_t work_ps[PTO_WORK_COUNT];
  struct pto_virtual_scheduler schedulers[PTO_CHIP_MAX_SCHEDULERS];
  uint16_t *core_worker;
  uint8_t *core_scheduler;
  uint64_t
      *core_asked_at; /* latest time at which a message to the core was asked for: a core's messages keep their order */
  struct pto_virtual_cores cores;
  struct pto_watchdog watchdog;
  struct pto_watchdog_line line;
  struct pto_reserve memory; /* holds this struct too */
};

static struct engine_virtual *engine_of(struct pto_port *port) { return (struct engine_virtual *)(void *)port; }

/* port.clock becomes the orchestrator's. */
static void leave_actor(struct engine_virtual *engine) {
  if (engine->actor == ORCHESTRATOR) return;
  struct pto_virtual_scheduler *scheduler = &engine->schedulers[engine->actor];
  scheduler->clock = engine->port.clock;
  pto_virtual_scheduler_update(scheduler);
  engine->actor = ORCHESTRATOR;
  engine->port.clock = engine->orchestrator_clock;
}

static void enter_actor(struct engine_virtual *engine, uint32_t actor) {
  engine->orchestrator_clock = engine->port.clock;
  engine->actor = actor;
  engine->port.clock = engine->schedulers[actor].clock;
}

/* The scheduler that acts first; the lowest of equals. */
static struct pto_virtual_scheduler *first_scheduler(struct engine_virtual *engine) {
  struct pto_virtual_scheduler *first = &engine->schedulers[0];
  for (uint32_t i = 1; i < engine->scheduler_count; i++) {
    if (engine->schedulers[i].next_at < first->next_at) first = &engine->schedulers[i];
  }
  return first;
}

/* Processes all that happens up to `limit` and before the next completion is taken in; the scheduler whose turn that
 * is, or NULL where there is none up to then.  limit < PTO_VIRTUAL_NEVER. */
static struct pto_virtual_scheduler *advance(struct engine_virtual *engine, uint64_t limit) {
  for (;;) {
    struct pto_virtual_scheduler *scheduler = first_scheduler(engine);
    uint64_t core_time = pto_virtual_cores_next_time(&engine->cores);
    if (pto_min_u64(core_time, scheduler->next_at) > limit) return NULL;
    if (core_time <= scheduler->next_at) {
      uint32_t core = pto_virtual_cores_step(&engine->cores);
      if (core == PTO_VIRTUAL_NO_CORE) continue;
      struct pto_virtual_scheduler *owner = &engine->schedulers[engine->core_scheduler[core]];
      pto_virtual_queue_insert(&owner->completions, core_time, core);
      pto_virtual_scheduler_update(owner);
    } else if (pto_virtual_scheduler_has_completion_next(scheduler)) {
      return scheduler;
    } else {
      struct pto_virtual_notice asked = pto_virtual_queue_pop(&scheduler->messages);
      scheduler->clock = scheduler->next_at + engine->work_ps[PTO_WORK_DISPATCH];
      pto_virtual_cores_arrive(&engine->cores, asked.core, scheduler->clock);
      pto_virtual_scheduler_update(scheduler);
    }
  }
}

static void engine_dispatch(struct pto_port *port, const struct pto_message *message, uint64_t ready_at) {
  struct engine_virtual *engine = engine_of(port);
  uint32_t owner = engine->core_scheduler[message->core], core = message->core;
  struct pto_virtual_scheduler *scheduler = &engine->schedulers[owner];
  uint64_t asked_at = pto_max_u64(pto_max_u64(ready_at, port->clock), engine->core_asked_at[core]);
  engine->core_asked_at[core] = asked_at;
  pto_virtual_cores_send(&engine->cores, message);
  /* Its own scheduler sends it now, unless an earlier message to that core is still to be sent: cores run in order. */
  const struct pto_virtual_core *state = &engine->cores.cores[core];
  if (engine->actor == owner && asked_at == port->clock && state->sent - state->arrived == 1) {
    port->clock += engine->work_ps[PTO_WORK_DISPATCH];
    pto_virtual_cores_arrive(&engine->cores, core, port->clock);
    return;
  }
  pto_virtual_queue_insert(&scheduler->messages, asked_at, core);
  pto_virtual_scheduler_update(scheduler); /* leave_actor does it again with the clock of then */
}

static uint32_t engine_poll(struct pto_port *port, struct pto_completion *completions, uint32_t max) {
  struct engine_virtual *engine = engine_of(port);
  leave_actor(engine);
  if (max == 0) return 0;
  struct pto_virtual_scheduler *scheduler = advance(engine, port->clock);
  if (!scheduler) return 0;
  PTO_INTERNAL(pto_virtual_cores_is_valid(&engine->cores));
  struct pto_virtual_notice notice = pto_virtual_queue_pop(&scheduler->completions);
  scheduler->clock = scheduler->next_at + engine->work_ps[PTO_WORK_POLL];
  completions[0] = pto_virtual_cores_poll(&engine->cores, notice.core);
  enter_actor(engine, (uint32_t)(scheduler - engine->schedulers));
  return 1;
}

static void engine_wait(struct pto_port *port) {
  struct engine_virtual *engine = engine_of(port);
  leave_actor(engine);
  /* As far as there are events at all; there is one, unless cores wait for ever or the caller broke its word. */
  struct pto_virtual_scheduler *scheduler = advance(engine, PTO_VIRTUAL_NEVER - 1);
  while (PTO_UNLIKELY(!scheduler) && pto_virtual_cores_break_deadlock(&engine->cores))
    scheduler = advance(engine, PTO_VIRTUAL_NEVER - 1);
  PTO_ASSERT(scheduler);
  if (scheduler) port->clock = pto_max_u64(port->clock, scheduler->next_at);
}

static void engine_resume(struct pto_port *port, uint64_t not_before) {
  leave_actor(engine_of(port));
  port->clock = pto_max_u64(port->clock, not_before);
}

static void engine_charge(struct pto_port *port, enum pto_actor actor, enum pto_work kind, uint32_t count) {
  struct engine_virtual *engine = engine_of(port);
  if (kind == PTO_WORK_DISPATCH || kind == PTO_WORK_POLL) return;
  uint64_t price = engine->work_ps[kind] * count;
  if (actor == PTO_ACTOR_CURRENT || engine->actor == ORCHESTRATOR)
    port->clock += price;
  else
    engine->orchestrator_clock += price;
}

static uint64_t engine_elapsed_ps(const struct pto_port *port) {
  const struct engine_virtual *engine = (const struct engine_virtual *)(const void *)port;
  uint64_t elapsed = port->clock;
  if (engine->actor != ORCHESTRATOR) elapsed = pto_max_u64(elapsed, engine->orchestrator_clock);
  for (uint32_t i = 0; i < engine->scheduler_count; i++) elapsed = pto_max_u64(elapsed, engine->schedulers[i].clock);
  return elapsed;
}

static int engine_begin_run(struct pto_port *port, char *sentence, size_t sentence_size) {
  struct engine_virtual *engine = engine_of(port);
  pto_virtual_cores_reset(&engine->cores);
  for (uint32_t i = 0; i < engine->scheduler_count; i++) {
    struct pto_virtual_scheduler *scheduler = &engine->schedulers[i];
    scheduler->clock = 0;
    scheduler->completions.head = scheduler->completions.tail = 0;
    scheduler->messages.head = scheduler->messages.tail = 0;
    pto_virtual_scheduler_update(scheduler);
  }
  memset(engine->core_asked_at, 0, engine->cores.core_count * sizeof *engine->core_asked_at);
  engine->actor = ORCHESTRATOR;
  port->clock = engine->orchestrator_clock = 0;
  return PTO_OK;
}

/* The last clocks stay readable through elapsed_ps. */
static void engine_end_run(struct pto_port *port) { leave_actor(engine_of(port)); }

static void engine_flush(struct pto_port *port) { (void)port; }

static const char *engine_kernel_message(struct pto_port *port, uint32_t core) {
  return pto_virtual_cores_sentence(&engine_of(port)->cores, core);
}

static void engine_destroy(struct pto_port *port) {
  struct engine_virtual *engine = engine_of(port);
  pto_watchdog_fini(&engine->watchdog);
  pto_virtual_cores_fini(&engine->cores);
  struct pto_reserve memory = engine->memory;
  pto_reserve_fini(&memory);
}

static const struct pto_port_ops ops = {
    .begin_run = engine_begin_run,
    .end_run = engine_end_run,
    .dispatch = engine_dispatch,
    .flush = engine_flush,
    .poll = engine_poll,
    .resume = engine_resume,
    .wait = engine_wait,
    .charge = engine_charge,
    .kernel_message = engine_kernel_message,
    .destroy = engine_destroy,
};

static void *carve(char *base, uint64_t *used_bytes, uint64_t size_bytes) {
  void *piece = base ? base + *used_bytes : NULL;
  *used_bytes += pto_align_up(size_bytes, PTO_CACHE_LINE);
  return piece;
}

/* With a NULL base it only adds up. */
static uint64_t lay_out(const struct pto_chip *chip, char *base) {
  uint64_t used = 0, core_count = 3 * (uint64_t)chip->cluster_count;
  uint64_t slots = pto_align_up(chip->slots_per_core, 2), notices = UINT64_C(1)
                                                                    << pto_log2_floor(2 * core_count * slots - 1);
  struct engine_virtual *engine = carve(base, &used, sizeof *engine);
  uint16_t *core_worker = carve(base, &used, core_count * sizeof *core_worker);
  uint8_t *core_scheduler = carve(base, &used, core_count * sizeof *core_scheduler);
  uint64_t *core_asked_at = carve(base, &used, core_count * sizeof *core_asked_at);
  for (uint32_t i = 0; i < 2 * chip->scheduler_count; i++) {
    struct pto_virtual_notice *ring = carve(base, &used, notices * sizeof *ring);
    if (!base) continue;
    struct pto_virtual_scheduler *scheduler = &engine->schedulers[i / 2];
    struct pto_virtual_queue *queue = i % 2 ? &scheduler->messages : &scheduler->completions;
    queue->notices = ring;
    queue->mask = (uint32_t)(notices - 1);
  }
  if (base) {
    engine->core_worker = core_worker;
    engine->core_scheduler = core_scheduler;
    engine->core_asked_at = core_asked_at;
  }
  return used;
}

static void fill_port(struct engine_virtual *engine, const struct pto_chip *chip) {
  engine->port = (struct pto_port){
      .ops = &ops,
      .is_virtual = true,
      .cluster_count = chip->cluster_count,
      .slots_per_core = chip->slots_per_core,
      .worker_count = 1,
      .core_worker = engine->core_worker,
      .aiv_local_bytes = chip->ub_bytes,
      .aic_local_bytes = chip->l1_bytes,
      .elapsed_ps = engine_elapsed_ps,
      .name = "virtual",
      .chip_name = chip->name,
  };
  engine->scheduler_count = chip->scheduler_count;
  memcpy(engine->work_ps, chip->work_ps, sizeof engine->work_ps);
  /* Scheduler s owns the clusters from ⌈s · clusters / schedulers⌉ on. */
  for (uint32_t core = 0; core < 3 * chip->cluster_count; core++)
    engine->core_scheduler[core] = (uint8_t)((uint64_t)(core / 3) * chip->scheduler_count / chip->cluster_count);
}

int pto_engine_virtual_create(const struct pto_engine_config *config, struct pto_port **port_out,
                              struct pto_error *error) {
  const struct pto_chip *chip = config->chip;
  struct pto_reserve memory = {0};
  if (!pto_reserve_init(&memory, lay_out(chip, NULL)))
    return pto_error_set(error, PTO_ENOMEM, "virtual engine of chip %s: no memory for its state", chip->name);
  lay_out(chip, memory.addr);
  struct engine_virtual *engine = memory.addr;
  engine->memory = memory;
  fill_port(engine, chip);
  if (pto_virtual_cores_init(&engine->cores, chip, &engine->port) != PTO_OK) {
    pto_reserve_fini(&memory);
    return pto_error_set(error, PTO_ENOMEM, "virtual engine of chip %s: no memory for %u cores", chip->name,
                         3 * chip->cluster_count);
  }
  engine_begin_run(&engine->port, NULL, 0);
  const struct pto_watchdog_config watch = {.timeout_ms = config->timeout_ms,
                                            .on_timeout = config->on_timeout,
                                            .context = config->on_timeout_context,
                                            .lines = &engine->line,
                                            .line_count = 1};
  int status = pto_watchdog_init(&engine->watchdog, &watch);
  if (status != PTO_OK) {
    engine_destroy(&engine->port);
    return pto_error_set(error, status, "virtual engine of chip %s: the watchdog's thread does not start", chip->name);
  }
  if (engine->watchdog.is_running) {
    engine->cores.watchdog_line = &engine->line;
    engine->cores.watchdog = &engine->watchdog;
  }
  *port_out = &engine->port;
  return PTO_OK;
}
