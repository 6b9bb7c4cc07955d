/* SPDX-License-Identifier: MIT */
/*
 * The engine "observe" (sim/engine/observed_unit.h): kernels run one unit at a time, in the order in which they were
 * sent.
 *
 * The cores of a unit that waits are fibers, and whichever of them can go on and has the lowest number does, unless a
 * schedule says another way.  Without an observer each unit runs once.  Time is real and not measured.
 *
 * One thread, the control thread, but for the watchdog's.  All memory is reserved at creation.
 */
#include <sim/engine/observed_unit.h>

#include <stdio.h>
#include <string.h>

#include <sim/engine/solo.h>

/* What a core is in the unit that runs. */
struct observed_core {
  bool is_running, can_go_on; /* on a fiber */
  int status;
  char message[PTO_DEADLOCK_SENTENCE_BYTES];  /* that the kernel of this run left */
  char sentence[PTO_DEADLOCK_SENTENCE_BYTES]; /* of the first run of its last unit */
};

struct engine_observe {
  struct pto_port port; /* first: the port's address is the engine's */
  const struct pto_engine_observer *observer;
  const struct pto_observe_schedule *schedule; /* NULL: as usual */
  uint32_t core_count;
  uint64_t steps;            /* of the unit that runs */
  uint32_t last_core, times; /* that ran, of the unit that runs, and how often one after the other */
  struct observed_core *cores;
  struct pto_core *views;
  struct pto_message *queue; /* sent and not run: a ring of capacity messages, first … first + count − 1 */
  uint32_t capacity, first, count;
  struct pto_message *unit_messages; /* of the unit that runs */
  struct pto_observed_unit unit;
  struct pto_observed_local local; /* of that unit */
  uint32_t run_count;
  enum pto_observed_core seen_core; /* of its next runs */
  bool has_asked_time;
  uint64_t now_ns; /* what its cores are told; it stands still */
  struct pto_completion *done;
  uint32_t done_count;
  struct pto_solo solo;
  struct pto_reserve memory; /* holds this struct too */
};

static struct engine_observe *engine_of(struct pto_port *port) { return (struct engine_observe *)(void *)port; }

/* ---- kernels ---- */

static void run_alone(struct engine_observe *engine, const struct pto_message *message, uint8_t value) {
  struct observed_core *core = &engine->cores[message->core];
  struct pto_core *view = &engine->views[message->core];
  struct pto_kernel_args args;
  pto_message_args(message, view, &args);
  const struct pto_core moved = pto_observed_call_move(message, view, engine->core_count, engine->seen_core);
  if (engine->seen_core != PTO_OBSERVED_OWN) args.core = &moved;
  if (engine->run_count > 0) pto_observed_call_dirty_stack(value);
  core->status = pto_solo_run(&engine->solo, view, message, &args);
  memcpy(core->message, engine->solo.message, sizeof core->message);
}

static void wake_core(void *engine, uint32_t core) { ((struct engine_observe *)engine)->cores[core].can_go_on = true; }
static bool has_steps(void *engine) {
  const struct pto_observe_schedule *schedule = ((struct engine_observe *)engine)->schedule;
  return schedule && schedule->steps;
}
static uint64_t tell_time(struct pto_waiting_core *core) {
  struct engine_observe *engine = core->all->engine;
  engine->has_asked_time = true;
  return engine->now_ns;
}
static const struct pto_waiting_hooks hooks = {.wake = wake_core, .steps = has_steps, .now_ns = tell_time};

static void tell(const struct engine_observe *engine, const struct pto_waiting_core *core,
                 enum pto_core_event_kind kind) {
  const struct pto_core_event event = {.message = &core->message, .kind = (uint8_t)kind, .call = core->port.call};
  if (engine->schedule) engine->schedule->watch.told(engine->schedule->watch.context, &event);
}

static void go_on(struct engine_observe *engine, uint32_t index) {
  struct observed_core *core = &engine->cores[index];
  struct pto_waiting_core *waiting = &engine->solo.waiting.cores[index];
  core->can_go_on = false;
  engine->times = index == engine->last_core ? engine->times + 1 : 1;
  engine->last_core = index;
  engine->steps++;
  tell(engine, waiting, PTO_CORE_RESUMED);
  const bool has_returned = pto_solo_resume(&engine->solo, waiting);
  if (!has_returned) tell(engine, waiting, PTO_CORE_SUSPENDED);
  if (!has_returned) return;
  core->is_running = false;
  core->status = waiting->status;
  if (core->status) snprintf(core->message, sizeof core->message, "%s", pto_waiting_core_sentence(waiting));
}

/* How often an eager core goes on before others do: it may have worked, and wait for one of them all the same. */
#define MOST_TIMES 4u

/* Whether a schedule has core `a` run before core `b`. */
static bool is_sooner(const struct engine_observe *engine, uint32_t a, uint32_t b) {
  const struct pto_observe_schedule *schedule = engine->schedule;
  if (!schedule) return a < b;
  if (schedule->random) {
    const uint64_t step = pto_mix64(schedule->random << 32 | engine->steps);
    return pto_mix64(step ^ a) < pto_mix64(step ^ b);
  }
  const bool *eager = schedule->is_eager;
  const bool a_eager = eager && eager[a], b_eager = eager && eager[b];
  const uint32_t tired = engine->times >= MOST_TIMES ? engine->last_core : engine->core_count;
  if (a_eager && a == tired) return false;
  if (b_eager && b == tired) return true;
  if (a_eager != b_eager) return a_eager;
  return (a < b) != schedule->is_reversed;
}

/* The core of the unit that is to go on; the core count where none can. */
static uint32_t next_core(const struct engine_observe *engine, bool *any_runs) {
  uint32_t next = engine->core_count;
  *any_runs = false;
  for (uint32_t i = 0; i < engine->unit.count; i++) {
    const uint32_t core = engine->unit.messages[i].core;
    *any_runs |= engine->cores[core].is_running;
    if (!engine->cores[core].is_running || !engine->cores[core].can_go_on) continue;
    if (next == engine->core_count || is_sooner(engine, core, next)) next = core;
  }
  return next;
}

/* Where each core of the unit sees itself from now on: `core`, or again where it is. */
static void see(struct engine_observe *engine, enum pto_observed_core core) {
  for (uint32_t i = 0; i < engine->unit.count; i++) {
    const struct pto_message *message = &engine->unit.messages[i];
    struct pto_core *view = &engine->views[message->core];
    if (core != PTO_OBSERVED_OWN) {
      *view = pto_observed_call_move(message, view, engine->core_count, core);
      continue;
    }
    view->index = message->core;
    view->cluster = message->core / 3;
    view->lane = message->core % 3;
  }
}

static void run_together(struct engine_observe *engine) {
  engine->last_core = engine->core_count;
  engine->steps = 0;
  engine->solo.waiting.deadlock[0] = '\0'; /* of a run before */
  for (uint32_t i = 0; i < engine->unit.count; i++) {
    struct pto_message *message = &engine->unit_messages[i];
    message->rendezvous = (uint16_t)pto_rendezvous_join(&engine->solo.waiting.rendezvous, message);
  }
  for (uint32_t i = 0; i < engine->unit.count; i++) {
    const struct pto_message *message = &engine->unit.messages[i];
    struct observed_core *core = &engine->cores[message->core];
    core->is_running = core->can_go_on = true;
    (void)pto_solo_start(&engine->solo, message, &engine->views[message->core]);
  }
  for (;;) {
    bool any_runs;
    const uint32_t core = next_core(engine, &any_runs);
    if (!any_runs) return;
    if (core == engine->core_count)
      pto_waiting_cores_break_deadlock(&engine->solo.waiting);
    else
      go_on(engine, core);
  }
}

static int engine_run(struct pto_port *port, struct pto_observed_fill fill) {
  struct engine_observe *engine = engine_of(port);
  int first_status = 0;
  for (uint32_t i = 0; i < engine->unit.count; i++) {
    const struct pto_message *message = &engine->unit.messages[i];
    const uint32_t core = message->core;
    pto_observed_call_fill_local(message, &engine->views[core], &engine->local, fill);
    engine->cores[core].message[0] = '\0';
    engine->cores[core].status = 0;
  }
  const bool is_again = engine->run_count > 0;
  pto_solo_limited(&engine->solo, engine->observer && (is_again || engine->unit.waits), is_again);
  if (engine->unit.waits) {
    see(engine, engine->seen_core);
    run_together(engine);
    see(engine, PTO_OBSERVED_OWN);
  } else
    run_alone(engine, &engine->unit.messages[0], fill.value);
  pto_solo_limited(&engine->solo, false, false);
  for (uint32_t i = 0; i < engine->unit.count; i++) {
    const struct pto_message *message = &engine->unit.messages[i];
    struct observed_core *core = &engine->cores[message->core];
    if (first_status == 0) first_status = core->status;
    if (engine->run_count > 0) continue;
    memcpy(core->sentence, core->message, sizeof core->message);
    engine->done[engine->done_count++] = pto_message_completion(message, core->status);
  }
  engine->run_count++;
  return first_status;
}

static void engine_move(struct pto_port *port, enum pto_observed_core core) { engine_of(port)->seen_core = core; }

/* A day. */
#define LATER_NS UINT64_C(86400000000007)
static bool engine_later(struct pto_port *port, bool is_later) {
  engine_of(port)->now_ns = is_later ? LATER_NS : 0;
  return engine_of(port)->has_asked_time;
}

static void engine_abandon(struct pto_port *port) {
  struct engine_observe *engine = engine_of(port);
  pto_solo_leave(&engine->solo);
  pto_solo_limited(&engine->solo, false, false);
  if (!engine->unit.waits) return;
  see(engine, PTO_OBSERVED_OWN);
  for (uint32_t i = 0; i < engine->unit.count; i++) {
    const uint32_t index = engine->unit.messages[i].core;
    struct pto_waiting_core *waiting = &engine->solo.waiting.cores[index];
    if (!engine->cores[index].is_running) continue;
    engine->cores[index].is_running = false;
    waiting->fiber.is_active = false; /* nothing goes on there */
    pto_fiber_fini(&waiting->fiber);
    waiting->view->message = waiting->usual_message;
    waiting->view->port = NULL;
  }
  pto_waiting_cores_reset(&engine->solo.waiting);
}

static const struct pto_observed_local *engine_local(struct pto_port *port) {
  struct engine_observe *engine = engine_of(port);
  engine->local = (struct pto_observed_local){.bytes = {0}};
  for (uint32_t i = 0; i < engine->unit.count; i++) {
    const struct pto_message *message = &engine->unit.messages[i];
    pto_observed_call_measure_local(message, &engine->views[message->core], &engine->local);
  }
  return &engine->local;
}

static struct pto_observed_own engine_own(struct pto_port *port, uint32_t core) {
  const struct pto_waiting_core *waiting = &engine_of(port)->solo.waiting.cores[core];
  return (struct pto_observed_own){waiting->own, waiting->own_bytes, waiting->own_call, waiting->drop_own != NULL};
}

/* ---- units ---- */

static const struct pto_message *queued(const struct engine_observe *engine, uint32_t nth) {
  return &engine->queue[(engine->first + nth) % engine->capacity];
}

/* How many messages from the front on are one unit: all of it has been sent when the control thread waits. */
static uint32_t unit_size(const struct engine_observe *engine) {
  const struct pto_message *front = queued(engine, 0);
  if (!(front->flags & PTO_MESSAGE_WAITS)) return 1;
  uint32_t size = 1;
  while (size < engine->count) {
    const struct pto_message *next = queued(engine, size), *last = queued(engine, size - 1);
    if (front->flags & PTO_MESSAGE_TOGETHER
            ? (last->flags & PTO_MESSAGE_LAST) != 0
            : next->payload != front->payload || next->block_index != front->block_index)
      break;
    size++;
  }
  return size;
}

static void run_unit(struct engine_observe *engine) {
  const uint32_t size = unit_size(engine);
  for (uint32_t i = 0; i < size; i++) engine->unit_messages[i] = *queued(engine, i);
  engine->first = (engine->first + size) % engine->capacity;
  engine->count -= size;
  engine->run_count = 0;
  engine->has_asked_time = false;
  engine->unit = (struct pto_observed_unit){.messages = engine->unit_messages,
                                            .count = size,
                                            .waits = (engine->unit_messages[0].flags & PTO_MESSAGE_WAITS) != 0};
  if (engine->observer)
    engine->observer->observe(engine->observer->context, &engine->unit);
  else
    engine_run(&engine->port, (struct pto_observed_fill){0});
  PTO_ASSERT(engine->run_count > 0);
}

/* ---- the port ---- */

static int engine_begin_run(struct pto_port *port, char *sentence, size_t sentence_size) {
  struct engine_observe *engine = engine_of(port);
  engine->first = engine->count = engine->done_count = 0;
  pto_waiting_cores_reset(&engine->solo.waiting);
  return PTO_OK;
}
static void engine_end_run(struct pto_port *port) {
  const struct pto_engine_observer *observer = engine_of(port)->observer;
  if (observer) observer->end_run(observer->context);
}

static bool engine_dispatch(struct pto_port *port, const struct pto_message *message, uint64_t ready_at,
                            struct pto_completion *completion) {
  struct engine_observe *engine = engine_of(port);
  PTO_ASSERT(engine->count < engine->capacity);
  engine->queue[(engine->first + engine->count++) % engine->capacity] = *message;
  return false;
}

/* A task runs within its submit, as in the sequential run: what the orchestration then frees or changes by itself is no
 * longer used. */
static uint32_t engine_poll(struct pto_port *port, struct pto_completion *completions, uint32_t max) {
  struct engine_observe *engine = engine_of(port);
  if (engine->done_count == 0 && engine->count > 0) run_unit(engine);
  const uint32_t count = engine->done_count < max ? engine->done_count : max;
  memcpy(completions, engine->done, count * sizeof *completions);
  memmove(engine->done, engine->done + count, (engine->done_count - count) * sizeof *completions);
  engine->done_count -= count;
  return count;
}
static void engine_wait(struct pto_port *port) {
  if (engine_of(port)->count > 0) run_unit(engine_of(port));
}
static const char *engine_kernel_message(struct pto_port *port, uint32_t core) {
  return engine_of(port)->cores[core].sentence;
}

static void engine_find_waits(struct pto_port *port, struct pto_core_waits *waits) {
  pto_waiting_cores_find_waits(&engine_of(port)->solo.waiting, waits);
}

static void engine_destroy(struct pto_port *port) {
  struct engine_observe *engine = engine_of(port);
  pto_solo_fini(&engine->solo);
  struct pto_reserve memory = engine->memory;
  pto_reserve_fini(&memory);
}

static void engine_set(struct pto_port *port, const struct pto_engine_observer *observer) {
  engine_of(port)->observer = observer;
}

static void engine_schedule(struct pto_port *port, const struct pto_observe_schedule *schedule) {
  engine_of(port)->schedule = schedule;
  engine_of(port)->solo.waiting.watch = schedule ? &schedule->watch : NULL;
}

static uint32_t engine_give_up(struct pto_port *port, const char *sentence) {
  struct engine_observe *engine = engine_of(port);
  PTO_ASSERT(engine->run_count == 0 && engine->unit.waits);
  engine_abandon(port);
  for (uint32_t i = 0; i < engine->unit.count; i++) {
    const struct pto_message *message = &engine->unit.messages[i];
    struct observed_core *core = &engine->cores[message->core];
    core->status = PTO_ETIMEOUT;
    snprintf(core->sentence, sizeof core->sentence, "%s", sentence);
    engine->done[engine->done_count++] = pto_message_completion(message, core->status);
  }
  engine->run_count++;
  return engine->last_core;
}

static const struct pto_observed_ops observed = {.set = engine_set,
                                                 .run = engine_run,
                                                 .abandon = engine_abandon,
                                                 .move = engine_move,
                                                 .give_up = engine_give_up,
                                                 .later = engine_later,
                                                 .local = engine_local,
                                                 .own = engine_own,
                                                 .schedule = engine_schedule};
static const struct pto_port_ops ops = {.begin_run = engine_begin_run,
                                        .end_run = engine_end_run,
                                        .dispatch = engine_dispatch,
                                        .poll = engine_poll,
                                        .wait = engine_wait,
                                        .kernel_message = engine_kernel_message,
                                        .find_waits = engine_find_waits,
                                        .destroy = engine_destroy,
                                        .observed = &observed};

/* With a NULL base it only adds up. */
static uint64_t lay_out(const struct pto_chip *chip, char *base) {
  uint64_t used = 0;
  const uint64_t cores = 3 * (uint64_t)chip->cluster_count, messages = cores * chip->slots_per_core;
  struct engine_observe own = {.core_count = (uint32_t)cores, .capacity = (uint32_t)messages};
  struct engine_observe *engine = pto_carve(base, &used, sizeof own);
  own.cores = pto_carve(base, &used, cores * sizeof *own.cores);
  own.views = pto_carve(base, &used, cores * sizeof *own.views);
  own.queue = pto_carve(base, &used, messages * sizeof *own.queue);
  own.unit_messages = pto_carve(base, &used, messages * sizeof *own.unit_messages);
  own.done = pto_carve(base, &used, messages * sizeof *own.done);
  if (base) *engine = own;
  return used;
}

int pto_engine_observe_create(const struct pto_engine_config *config, struct pto_port **port_out,
                              struct pto_error *error) {
  const struct pto_chip *chip = config->chip;
  struct pto_reserve memory = {0};
  if (!pto_reserve_init(&memory, lay_out(chip, NULL)))
    return pto_error_set(error, PTO_ENOMEM, "observe engine of chip %s: no memory for its state", chip->name);
  lay_out(chip, memory.addr);
  struct engine_observe *engine = memory.addr;
  engine->memory = memory;
  engine->port = pto_solo_port(&ops, chip, "observe");
  engine->port.asks_behind = true;
  engine->port.looks_at_memory = true;
  const int status = pto_solo_init(&engine->solo, config, chip, engine->views, &hooks, engine, &engine->port, error);
  if (status != PTO_OK) {
    pto_reserve_fini(&memory);
    return status;
  }
  *port_out = &engine->port;
  return PTO_OK;
}
