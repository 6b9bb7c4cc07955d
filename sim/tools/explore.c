/* SPDX-License-Identifier: MIT */
#include <sim/tools/explore.h>

#include <stdio.h>
#include <string.h>

#include <sim/engine/solo.h>

#define CORES (3u * PTO_EXPLORE_CLUSTERS)
/* Work that moves the clock, which is the position; all other work costs nothing. */
#define A_SUBMIT pto_explore_position(1, 0)
#define AN_ACCESS pto_explore_position(0, 1)

struct explore_core {
  struct pto_message message;
  bool is_on_fiber; /* in a kernel that waits */
  uint16_t piece;
};

struct engine_explore {
  struct pto_port port;
  struct pto_explore_log *log; /* NULL: none */
  uint64_t first_task;         /* of this run, as the log counts */
  /* Calls that can run, in natural order; one place more for the orchestration. */
  struct pto_explore_event candidates[CORES + 1];
  uint16_t candidate_cores[CORES];
  uint32_t candidate_count;
  bool orchestration_waits; /* from a wait on, until it resumes */
  bool has_completion;      /* of a call that a wait has run */
  struct pto_completion completion;
  struct explore_core cores[CORES];
  uint64_t work_ps[PTO_WORK_COUNT];
  struct pto_core views[CORES + 3]; /* the last three: whose local memories all kernels use that do not wait */
  char sentence[PTO_DEADLOCK_SENTENCE_BYTES];
  struct pto_solo solo;
  struct pto_reserve memory;
};

static const char engine_name[] = "explore";

static struct engine_explore *engine_of(struct pto_port *port) { return (struct engine_explore *)(void *)port; }

/* ---- candidates ---- */

static int compare_u64(uint64_t a, uint64_t b) { return (a > b) - (a < b); }

int pto_explore_event_compare(const struct pto_explore_event *a, const struct pto_explore_event *b) {
  if (a->kind != b->kind) return compare_u64(a->kind, b->kind);
  if (a->task != b->task) return compare_u64(a->task, b->task);
  if (a->block_index != b->block_index) return compare_u64(a->block_index, b->block_index);
  if (a->role != b->role) return compare_u64(a->role, b->role);
  return compare_u64(a->piece, b->piece);
}

/* How many candidates come before `event`. */
static uint32_t place_of(const struct engine_explore *engine, const struct pto_explore_event *event) {
  uint32_t low = 0, high = engine->candidate_count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (pto_explore_event_compare(&engine->candidates[middle], event) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void add_candidate(struct engine_explore *engine, uint32_t core) {
  const struct pto_message *message = &engine->cores[core].message;
  const struct pto_explore_event event = {.task = engine->first_task + message->payload->task_number,
                                          .block_index = message->block_index,
                                          .role = message->role,
                                          .piece = engine->cores[core].piece};
  const uint32_t at = place_of(engine, &event), behind = engine->candidate_count - at;
  PTO_ASSERT(engine->candidate_count < CORES);
  memmove(&engine->candidates[at + 1], &engine->candidates[at], behind * sizeof event);
  memmove(&engine->candidate_cores[at + 1], &engine->candidate_cores[at], behind * sizeof(uint16_t));
  engine->candidates[at] = event;
  engine->candidate_cores[at] = (uint16_t)core;
  engine->candidate_count++;
}

static uint32_t take_candidate(struct engine_explore *engine, uint32_t at) {
  const uint32_t core = engine->candidate_cores[at], behind = --engine->candidate_count - at;
  memmove(&engine->candidates[at], &engine->candidates[at + 1], behind * sizeof engine->candidates[0]);
  memmove(&engine->candidate_cores[at], &engine->candidate_cores[at + 1], behind * sizeof(uint16_t));
  return core;
}

static void log_step(struct pto_explore_log *log, struct pto_explore_step step) {
  log->decisions++;
  if (log->step_count < PTO_EXPLORE_MAX_STEPS) log->steps[log->step_count++] = step;
}

/* The kernel's call that the candidate goes on behind. */
static const void *call_of(const struct engine_explore *engine, uint32_t candidate) {
  if (candidate >= engine->candidate_count || engine->candidates[candidate].piece == 0) return NULL;
  return engine->solo.waiting.cores[engine->candidate_cores[candidate]].port.call;
}

static uint32_t choose(struct engine_explore *engine) {
  const bool can_go_on = !engine->orchestration_waits;
  const uint64_t position = engine->port.clock | (can_go_on ? 0 : PTO_EXPLORE_WAITS);
  struct pto_explore_log *log = engine->log;
  const uint32_t count = engine->candidate_count + can_go_on;
  if (!log) return 0;
  if (can_go_on) engine->candidates[engine->candidate_count] = (struct pto_explore_event){.kind = PTO_EXPLORE_GO_ON};
  const struct pto_explore_chooser *chooser = &log->chooser;
  const uint32_t index = chooser->choose ? chooser->choose(chooser->context, engine->candidates, count, position) : 0;
  PTO_ASSERT(index < count);
  log_step(log, (struct pto_explore_step){engine->candidates[index], position, call_of(engine, index)});
  return index;
}

/* ---- kernels ---- */

static void wake(void *context, uint32_t core) { add_candidate(context, core); }
static bool has_steps(void *engine) {
  (void)engine;
  return true;
}
static const struct pto_waiting_hooks hooks = {.wake = wake, .steps = has_steps};

static void complete(struct engine_explore *engine, const struct pto_message *message, int status,
                     const char *sentence) {
  if (status != 0) snprintf(engine->sentence, sizeof engine->sentence, "%s", sentence);
  engine->completion = pto_message_completion(message, status);
  engine->has_completion = true;
}

static void run_plain(struct engine_explore *engine, const struct pto_message *message) {
  const struct pto_core *shared = &engine->views[CORES + message->core % 3];
  struct pto_core view = engine->views[message->core];
  view.local = shared->local;
  view.l0a = shared->l0a;
  view.l0b = shared->l0b;
  view.l0c = shared->l0c;
  struct pto_kernel_args args;
  pto_message_args(message, &view, &args);
  const int status = pto_solo_run(&engine->solo, shared, message, &args);
  complete(engine, message, status, engine->solo.message);
}

/* A piece of a kernel that waits: to its next call of pto/core.h, to where it waits, or to its end. */
static void run_piece(struct engine_explore *engine, uint32_t index) {
  struct explore_core *core = &engine->cores[index];
  struct pto_waiting_core *waiting = &engine->solo.waiting.cores[index];
  core->piece++; /* of the next one: a wake within this one makes it a candidate */
  if (!core->is_on_fiber) (void)pto_solo_start(&engine->solo, &core->message, &engine->views[index]);
  core->is_on_fiber = true;
  if (!pto_solo_resume(&engine->solo, waiting)) return;
  core->is_on_fiber = false;
  complete(engine, &waiting->message, waiting->status, pto_waiting_core_sentence(waiting));
}

static void run_candidate(struct engine_explore *engine, uint32_t at) {
  const uint32_t index = take_candidate(engine, at);
  if (engine->cores[index].message.flags & PTO_MESSAGE_WAITS) {
    run_piece(engine, index);
    return;
  }
  const struct pto_message message = engine->cores[index].message;
  run_plain(engine, &message);
}

/* ---- the port's operations ---- */

static int explore_begin_run(struct pto_port *port, char *sentence, size_t sentence_size) {
  struct engine_explore *engine = engine_of(port);
  engine->candidate_count = 0;
  engine->orchestration_waits = engine->has_completion = false;
  engine->sentence[0] = '\0';
  port->clock = engine->log ? engine->log->position : 0;
  port->quiet_until = port->clock + 1;
  engine->first_task = pto_explore_submits(port->clock);
  pto_waiting_cores_reset(&engine->solo.waiting);
  return PTO_OK;
}
static void explore_end_run(struct pto_port *port) {
  struct engine_explore *engine = engine_of(port);
  PTO_ASSERT(engine->candidate_count == 0);
  if (engine->log) engine->log->position = port->clock;
}

static bool explore_dispatch(struct pto_port *port, const struct pto_message *message, uint64_t ready_at,
                             struct pto_completion *completion) {
  struct engine_explore *engine = engine_of(port);
  struct explore_core *core = &engine->cores[message->core];
  core->message = *message;
  core->is_on_fiber = false;
  core->piece = 0;
  if (message->flags & PTO_MESSAGE_WAITS)
    core->message.rendezvous = (uint16_t)pto_rendezvous_join(&engine->solo.waiting.rendezvous, message);
  add_candidate(engine, message->core);
  return false;
}

static uint32_t deliver(struct engine_explore *engine, struct pto_completion *completions) {
  if (!engine->has_completion) return 0;
  engine->has_completion = false;
  completions[0] = engine->completion;
  return 1;
}

/* Runs calls until one completes, or the orchestration is to go on.  One that waits already goes on by itself as soon
 * as it can, so it is not asked about. */
static uint32_t explore_poll(struct pto_port *port, struct pto_completion *completions, uint32_t max) {
  struct engine_explore *engine = engine_of(port);
  if (max == 0) return 0;
  while (!engine->has_completion && !engine->orchestration_waits && port->clock >= port->quiet_until) {
    const uint32_t index = choose(engine);
    if (index < engine->candidate_count)
      run_candidate(engine, index);
    else
      port->quiet_until = port->clock + 1; /* asked once behind each submit and access, and not before the next */
  }
  return deliver(engine, completions);
}

static void explore_wait(struct pto_port *port) {
  struct engine_explore *engine = engine_of(port);
  engine->orchestration_waits = true;
  while (!engine->has_completion) {
    if (engine->candidate_count == 0) pto_waiting_cores_break_deadlock(&engine->solo.waiting);
    PTO_ASSERT(engine->candidate_count > 0); /* messages are in flight, so cores waited, and for ever */
    run_candidate(engine, choose(engine));
  }
}

static void explore_resume(struct pto_port *port, uint64_t not_before) {
  struct engine_explore *engine = engine_of(port);
  engine->orchestration_waits = false;
}

static const char *explore_kernel_message(struct pto_port *port, uint32_t core) {
  (void)core; /* a completion is taken in before the next call runs */
  return engine_of(port)->sentence;
}

static void explore_find_waits(struct pto_port *port, struct pto_core_waits *waits) {
  pto_waiting_cores_find_waits(&engine_of(port)->solo.waiting, waits);
}

static void explore_destroy(struct pto_port *port) {
  struct engine_explore *engine = engine_of(port);
  struct pto_reserve memory = engine->memory;
  pto_solo_fini(&engine->solo);
  pto_reserve_fini(&memory); /* the engine is in it */
}

static const struct pto_port_ops ops = {.begin_run = explore_begin_run,
                                        .end_run = explore_end_run,
                                        .dispatch = explore_dispatch,
                                        .poll = explore_poll,
                                        .resume = explore_resume,
                                        .wait = explore_wait,
                                        .kernel_message = explore_kernel_message,
                                        .find_waits = explore_find_waits,
                                        .destroy = explore_destroy};

/* ---- creation ---- */

static void fill_port(struct engine_explore *engine, const struct pto_chip *chip) {
  engine->work_ps[PTO_WORK_SUBMIT] = A_SUBMIT;
  engine->work_ps[PTO_WORK_HOST_ACCESS] = AN_ACCESS;
  engine->port = pto_solo_port(&ops, chip, engine_name);
  engine->port.work_ps = engine->work_ps;
  engine->port.is_virtual = engine->port.asks_behind = true;
  engine->port.cluster_count = PTO_EXPLORE_CLUSTERS;
  engine->port.visible_cluster_count = chip->cluster_count;
  engine->port.slots_per_core = 1;
}

int pto_engine_explore_create(const struct pto_engine_config *config, struct pto_port **port_out,
                              struct pto_error *error) {
  struct pto_reserve memory = {0};
  if (!pto_reserve_init(&memory, sizeof(struct engine_explore)))
    return pto_error_set(error, PTO_ENOMEM, "explore: no memory for its state");
  struct engine_explore *engine = memory.addr;
  engine->memory = memory;
  fill_port(engine, config->chip);
  struct pto_chip with_shared = *config->chip;
  with_shared.cluster_count = PTO_EXPLORE_CLUSTERS + 1;
  with_shared.slots_per_core = 1;
  const int status =
      pto_solo_init(&engine->solo, config, &with_shared, engine->views, &hooks, engine, &engine->port, error);
  if (status != PTO_OK) {
    explore_destroy(&engine->port);
    return status;
  }
  *port_out = &engine->port;
  return PTO_OK;
}

/* ---- for tools ---- */

bool pto_explore_log_init(struct pto_explore_log *log) {
  *log = (struct pto_explore_log){0};
  if (!pto_reserve_init(&log->memory, PTO_EXPLORE_MAX_STEPS * sizeof *log->steps)) return false;
  log->steps = log->memory.addr;
  return true;
}

void pto_explore_log_fini(struct pto_explore_log *log) {
  pto_reserve_fini(&log->memory);
  *log = (struct pto_explore_log){0};
}

void pto_explore_log_begin(struct pto_explore_log *log, const struct pto_explore_chooser *chooser) {
  log->chooser = chooser ? *chooser : (struct pto_explore_chooser){0};
  log->step_count = log->decisions = log->position = 0;
}

bool pto_engine_explore_set_log(struct pto_port *port, struct pto_explore_log *log) {
  if (strcmp(port->name, engine_name) != 0) return false;
  engine_of(port)->log = log;
  return true;
}
