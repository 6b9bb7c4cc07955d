/* SPDX-License-Identifier: MIT */
/*
 * The threads engine: simulated cores multiplexed over W threads, in real time.
 *
 * Owns W − 1 worker threads, a pair of mailboxes for each, the cores' descriptions and local memories, and the watchdog.  Worker 0
 * is the control thread: its cores' messages go through a pair of mailboxes as well, which then has both its ends on one
 * thread, so dispatch, poll and the running of kernels are one path for all.
 *
 * Always true: core c lives on worker core_worker[c] for ever, and a worker runs its messages in the order sent; so does a core.
 *     in_flight[w] = dispatched to w − polled from w ≤ slots_per_core · cores of w ≤ capacity of both its mailboxes
 * and therefore no mailbox is ever full.
 *
 * Threads.  The control thread calls every operation of the port.  A worker reads `shared` and its own struct, writes its own lines and
 * records, and sleeps where its inbox is empty; between runs all of them do.  The control thread sleeps on one pto_wait for all
 * outboxes.  What the control thread writes while a run goes on is in `struct engine`'s last part and read by nobody else.
 *
 * Everything is in two reserves made at creation; nothing is allocated afterwards.  See docs/concurrency.md.
 */
#include <sim/engine_threads.h>

#include <stdio.h>
#include <string.h>

#include <runtime/base/reserve.h>
#include <runtime/base/thread.h>
#include <runtime/base/wait.h>
#include <runtime/trace/trace.h>
#include <sim/chip.h>
#include <sim/engine.h>
#include <sim/engine_current.h>
#include <sim/mailbox.h>
#include <sim/place.h>
#include <sim/watchdog.h>

struct core {
  _Alignas(PTO_CACHE_LINE) struct pto_core view; /* written by its worker; what the kernel sees */
  bool has_failed;                               /* worker → control, handed over with the completion */
  char *sentence;                                /* of the first failure in this run; the same */
};

/* All that workers read and never write.  Written by the control thread before the run, while every inbox is empty: the first
 * message hands it over. */
struct shared {
  _Alignas(PTO_CACHE_LINE) struct pto_trace *trace; /* NULL: no timeline */
  bool has_watchdog;
};

struct worker {
  /* Constant from creation on. */
  _Alignas(PTO_CACHE_LINE) const struct shared *shared;
  struct core *cores; /* all of the engine's, by core index */
  struct pto_watchdog_line *line;
  char *sentence; /* where kernels on this thread leave theirs; "" between kernels */
  struct pto_wait *completed;
  const struct pto_place *place;
  uint32_t index;
  bool is_pinned;
  /* The worker's own. */
  _Alignas(PTO_CACHE_LINE) uint64_t last_end_ns; /* of the span before, where nothing lies between; 0: unknown */
  /* control → worker: no message comes any more.  Read only where the inbox is empty. */
  _Alignas(PTO_CACHE_LINE) _Atomic uint32_t is_stopping;
  struct pto_wait wait; /* the worker waits, the control thread notifies */
  struct pto_mailbox inbox;  /* messages, control → worker */
  struct pto_mailbox outbox; /* completions, worker → control */
};

struct engine {
  struct pto_port port;
  struct shared shared;
  struct pto_wait completed; /* the control thread waits, workers notify */

  /* Constant from creation on, the control thread's. */
  _Alignas(PTO_CACHE_LINE) struct worker *workers;
  struct core *cores;
  uint16_t *core_worker;
  uint32_t core_count, thread_count /* of started ones */;
  pthread_t *threads; /* by worker; [0] unused */
  struct pto_reserve memory, local_memory;
  struct pto_watchdog watchdog;
  struct pto_place place;
  struct pto_place_affinity control_affinity; /* of the control thread outside a run */
  char report[256];

  /* The control thread's, while a run goes on. */
  _Alignas(PTO_CACHE_LINE) uint32_t *in_flight; /* by worker */
  uint32_t *unpublished;                        /* by worker: claimed in the inbox and not yet published */
  uint32_t unpublished_total;
  uint32_t next_polled; /* worker to poll first */
};

static struct engine *engine_of(struct pto_port *port) { return (struct engine *)(void *)port; }
static const struct engine *const_engine_of(const struct pto_port *port) {
  return (const struct engine *)(const void *)port;
}

/* ---- running kernels: on workers and on the control thread ---- */

static void append_span(struct worker *worker, const struct pto_message *message, uint64_t begin, uint64_t end) {
  struct pto_trace_span *span = pto_trace_log_append(&worker->shared->trace->spans[worker->index]);
  if (!span) return;
  *span = (struct pto_trace_span){.begin = begin,
                                  .end = end,
                                  .task = (uint32_t)message->payload->task_number,
                                  .block_index = message->block_index,
                                  .core = message->core,
                                  .role = message->role,
                                  .worker = (uint8_t)worker->index};
}

/* Runs the kernel with a span around it.  Kernels that follow each other share one reading of the clock. */
static PTO_NOINLINE int run_recorded(struct worker *worker, const struct pto_message *message, struct pto_core *view) {
  uint64_t begin = worker->last_end_ns ? worker->last_end_ns : pto_trace_now_ns(worker->shared->trace);
  int status = pto_message_run(message, view);
  worker->last_end_ns = pto_trace_now_ns(worker->shared->trace);
  append_span(worker, message, begin, worker->last_end_ns);
  return status;
}

/* Keeps the first sentence of each core: a later kernel on the core may fail while the control thread reads it. */
static PTO_COLD int16_t keep_failure(struct worker *worker, struct core *core, int status) {
  if (!core->has_failed) memcpy(core->sentence, worker->sentence, PTO_THREADS_SENTENCE_BYTES);
  core->has_failed = true;
  worker->sentence[0] = '\0';
  return (int16_t)(status > INT16_MAX ? INT16_MAX : status < INT16_MIN ? INT16_MIN : status);
}

/* Runs the inbox's oldest message and claims its completion, without publishing it.  The message is popped before that, so
 * that whoever has seen a completion finds the message's slot free. */
static void run_message(struct worker *worker, const struct pto_message *message) {
  struct core *core = &worker->cores[message->core];
  const struct shared *shared = worker->shared;
  int status;
  if (PTO_UNLIKELY(shared->has_watchdog)) pto_watchdog_begin(worker->line, message);
  pto_engine_current_set(message, &core->view);
  if (PTO_UNLIKELY(shared->trace != NULL))
    status = run_recorded(worker, message, &core->view);
  else
    status = pto_message_run(message, &core->view);
  pto_engine_current_clear();
  if (PTO_UNLIKELY(shared->has_watchdog)) pto_watchdog_end(worker->line);
  struct pto_completion *completion = pto_completion_mailbox_claim(&worker->outbox);
  completion->ticket = message->ticket;
  completion->core = message->core;
  completion->status = 0;
  if (PTO_UNLIKELY(status != 0))
    completion->status = keep_failure(worker, core, status);
  else if (PTO_UNLIKELY(worker->sentence[0] != '\0')) /* left by a kernel that succeeded after all */
    worker->sentence[0] = '\0';
  pto_mailbox_pop(&worker->inbox);
}

static bool worker_is_ready(void *context) {
  const struct worker *worker = context;
  return pto_mailbox_has_element(&worker->inbox) || pto_atomic_load(&worker->is_stopping, memory_order_seq_cst);
}

static void *worker_main(void *argument) {
  struct worker *worker = argument;
  char name[16];
  snprintf(name, sizeof name, "pto-worker-%u", worker->index);
  pthread_setname_np(pthread_self(), name);
  if (worker->is_pinned) pto_place_pin(worker->place, worker->index, NULL);
  for (;;) {
    const struct pto_message *message = pto_message_mailbox_peek(&worker->inbox);
    if (message) {
      run_message(worker, message);
      pto_mailbox_publish_to_sleeper(&worker->outbox);
      pto_wait_notify(worker->completed);
      continue;
    }
    worker->last_end_ns = 0;
    pto_wait_until(&worker->wait, worker_is_ready, worker);
    /* Stopping is asked for only where nothing is in flight. */
    if (pto_atomic_load(&worker->is_stopping, memory_order_acquire)) return NULL;
  }
}

/* ---- the port's operations ---- */

static void publish(struct engine *engine, uint32_t w) {
  struct worker *worker = &engine->workers[w];
  engine->unpublished_total -= engine->unpublished[w];
  engine->unpublished[w] = 0;
  pto_mailbox_publish_to_sleeper(&worker->inbox);
  pto_wait_notify(&worker->wait);
}

static void threads_flush(struct pto_port *port) {
  struct engine *engine = engine_of(port);
  for (uint32_t w = 1; engine->unpublished_total; w++)
    if (engine->unpublished[w]) publish(engine, w);
}

static void threads_dispatch(struct pto_port *port, const struct pto_message *message, uint64_t ready_at) {
  struct engine *engine = engine_of(port);
  uint32_t w = engine->core_worker[message->core];
  struct worker *worker = &engine->workers[w];
  struct pto_message *slot = pto_message_mailbox_claim(&worker->inbox);
  PTO_ASSERT(slot); /* else the runtime has sent a core more than slots_per_core */
  *slot = *message;
  engine->in_flight[w]++;
  if (w == 0) {
    pto_mailbox_publish(&worker->inbox); /* to ourselves */
    return;
  }
  engine->unpublished[w]++;
  engine->unpublished_total++;
  if (engine->unpublished[w] >= PTO_THREADS_BATCH || engine->in_flight[w] <= PTO_THREADS_NEARLY_IDLE + 1)
    publish(engine, w);
}

static uint32_t poll_worker(struct engine *engine, uint32_t w, struct pto_completion *completions, uint32_t max) {
  struct pto_mailbox *outbox = &engine->workers[w].outbox;
  const struct pto_completion *completion;
  uint32_t count = 0;
  while (count < max && (completion = pto_completion_mailbox_peek(outbox))) {
    completions[count++] = *completion;
    pto_mailbox_pop(outbox);
  }
  engine->in_flight[w] -= count;
  return count;
}

static uint32_t threads_poll(struct pto_port *port, struct pto_completion *completions, uint32_t max) {
  struct engine *engine = engine_of(port);
  uint32_t worker_count = port->worker_count, count = 0, w = engine->next_polled;
  threads_flush(port);
  /* Starts where the last poll ran out of room, so that no worker's completions wait for ever. */
  for (uint32_t i = 0; i < worker_count && count < max; i++) {
    if (engine->in_flight[w]) count += poll_worker(engine, w, completions + count, max - count);
    if (count < max) w = w + 1 == worker_count ? 0 : w + 1;
  }
  engine->next_polled = w;
  return count;
}

/* W2 of wait.h for the control thread. */
static bool control_is_ready(void *context) {
  const struct engine *engine = context;
  for (uint32_t w = 0; w < engine->port.worker_count; w++)
    if (engine->in_flight[w] && pto_mailbox_has_element(&engine->workers[w].outbox)) return true;
  return false;
}

static void threads_wait(struct pto_port *port) {
  struct engine *engine = engine_of(port);
  struct worker *self = &engine->workers[0];
  threads_flush(port);
  if (control_is_ready(engine)) return;
  const struct pto_message *message = pto_message_mailbox_peek(&self->inbox);
  if (message) {
    self->last_end_ns = 0;
    run_message(self, message);
    pto_mailbox_publish(&self->outbox); /* to ourselves */
    return;
  }
  pto_wait_until(&engine->completed, control_is_ready, engine);
}

static int threads_begin_run(struct pto_port *port, char *sentence, size_t sentence_size) {
  struct engine *engine = engine_of(port);
  engine->shared.trace = pto_trace_has_timeline(port->trace) ? port->trace : NULL;
  if (engine->shared.trace && engine->shared.trace->span_log_count < port->worker_count) {
    snprintf(sentence, sentence_size, "the trace has %u span logs for %u workers",
             engine->shared.trace->span_log_count, port->worker_count);
    return PTO_EINVAL;
  }
  for (uint32_t c = 0; c < engine->core_count; c++) {
    if (!engine->cores[c].has_failed) continue;
    engine->cores[c].has_failed = false;
    engine->cores[c].sentence[0] = '\0';
  }
  /* A control thread that cannot be pinned runs all the same. */
  if (engine->workers[0].is_pinned) (void)pto_place_pin(&engine->place, 0, &engine->control_affinity);
  return PTO_OK;
}

static void threads_end_run(struct pto_port *port) {
  struct engine *engine = engine_of(port);
  PTO_INTERNAL(pto_engine_threads_is_valid(port));
  pto_place_unpin(&engine->place, &engine->control_affinity);
}

static void threads_resume(struct pto_port *port, uint64_t not_before) {}
static void threads_charge(struct pto_port *port, enum pto_actor actor, enum pto_work kind, uint32_t count) {}

static const char *threads_kernel_message(struct pto_port *port, uint32_t core) {
  const struct engine *engine = engine_of(port);
  return engine->cores[core].has_failed ? engine->cores[core].sentence : "";
}

/* Takes half-built engines too. */
static void threads_destroy(struct pto_port *port) {
  struct engine *engine = engine_of(port);
  struct pto_reserve memory = engine->memory;
  pto_watchdog_fini(&engine->watchdog);
  for (uint32_t w = 1; w <= engine->thread_count; w++) {
    pto_atomic_store(&engine->workers[w].is_stopping, 1, memory_order_seq_cst); /* N1 of wait.h */
    pto_wait_notify(&engine->workers[w].wait);
  }
  for (uint32_t w = 1; w <= engine->thread_count; w++) pthread_join(engine->threads[w], NULL);
  pto_place_unpin(&engine->place, &engine->control_affinity); /* a run that ended without end_run */
  pto_place_fini(&engine->place);
  pto_reserve_fini(&engine->local_memory);
  pto_reserve_fini(&memory); /* the engine is in it */
}

static const struct pto_port_ops threads_ops = {.begin_run = threads_begin_run,
                                                .end_run = threads_end_run,
                                                .dispatch = threads_dispatch,
                                                .flush = threads_flush,
                                                .poll = threads_poll,
                                                .resume = threads_resume,
                                                .wait = threads_wait,
                                                .charge = threads_charge,
                                                .kernel_message = threads_kernel_message,
                                                .destroy = threads_destroy};

/* ---- creation ---- */

/* Cuts pieces from a reserve; with base 0 it only counts. */
struct layout {
  uintptr_t base;
  uint64_t used;
};

static void *layout_take(struct layout *layout, uint64_t size_bytes, uint64_t align) {
  layout->used = pto_align_up(layout->used, align);
  void *piece = layout->base ? (void *)(layout->base + layout->used) : NULL; /* NOLINT: an address of the reserve */
  layout->used += size_bytes;
  return piece;
}

/* The cores of one kind follow each other, AIVs before AICs, and go round the workers from the last one down: every worker gets its
 * share of each kind, and the control thread, which has other work, gets the fewest. */
static uint32_t worker_of(uint32_t core, uint32_t cluster_count, uint32_t worker_count) {
  uint32_t cluster = core / 3, lane = core % 3;
  uint32_t position = lane == 0 ? 2 * cluster_count + cluster : 2 * cluster + lane - 1;
  return worker_count - 1 - position % worker_count;
}

/* Capacity of both mailboxes of a worker. */
static uint32_t mailbox_capacity(uint32_t w, uint32_t cluster_count, uint32_t worker_count, uint32_t slots_per_core) {
  uint32_t cores = 0;
  for (uint32_t c = 0; c < 3 * cluster_count; c++) cores += worker_of(c, cluster_count, worker_count) == w;
  uint32_t messages = cores * slots_per_core;
  return pto_is_power_of_two(messages) ? messages : UINT32_C(2) << pto_log2_floor(messages);
}

/* Where everything is.  Called twice: with an empty engine to learn the size, and with the one at the reserve's start. */
static void lay_out(struct layout *layout, struct engine *engine, uint32_t cluster_count, uint32_t worker_count,
                    uint32_t slots_per_core) {
  bool is_real = layout->base != 0;
  uint32_t core_count = 3 * cluster_count;
  layout_take(layout, sizeof(struct engine), PTO_CACHE_LINE);
  engine->workers = layout_take(layout, worker_count * sizeof(struct worker), PTO_CACHE_LINE);
  engine->cores = layout_take(layout, core_count * sizeof(struct core), PTO_CACHE_LINE);
  engine->core_worker = layout_take(layout, core_count * sizeof(uint16_t), PTO_CACHE_LINE);
  engine->threads = layout_take(layout, worker_count * sizeof(pthread_t), PTO_CACHE_LINE);
  struct pto_watchdog_line *lines = layout_take(layout, worker_count * sizeof *lines, PTO_CACHE_LINE);
  for (uint32_t w = 0; w < worker_count; w++) {
    uint32_t capacity = mailbox_capacity(w, cluster_count, worker_count, slots_per_core);
    char *sentence = layout_take(layout, PTO_THREADS_SENTENCE_BYTES, PTO_CACHE_LINE);
    void *messages = layout_take(layout, capacity * sizeof(struct pto_message), PTO_CACHE_LINE);
    void *completions = layout_take(layout, capacity * sizeof(struct pto_completion), PTO_CACHE_LINE);
    if (!is_real) continue;
    engine->workers[w].sentence = sentence;
    engine->workers[w].line = &lines[w];
    pto_mailbox_init(&engine->workers[w].inbox, messages, capacity, sizeof(struct pto_message), 0);
    pto_mailbox_init(&engine->workers[w].outbox, completions, capacity, sizeof(struct pto_completion), 0);
  }
  engine->in_flight = layout_take(layout, worker_count * sizeof(uint32_t), PTO_CACHE_LINE);
  engine->unpublished = layout_take(layout, worker_count * sizeof(uint32_t), PTO_CACHE_LINE);
  for (uint32_t c = 0; c < core_count; c++) {
    char *sentence = layout_take(layout, PTO_THREADS_SENTENCE_BYTES, PTO_CACHE_LINE);
    if (is_real) engine->cores[c].sentence = sentence;
  }
}

/* The local memories of worker w's cores, from a page boundary on. */
static void lay_out_local(struct layout *layout, struct engine *engine, const struct pto_chip *chip, uint32_t w) {
  layout_take(layout, 0, 4096);
  for (uint32_t c = 0; c < engine->core_count; c++) {
    struct pto_core *view = &engine->cores[c].view;
    if (engine->core_worker[c] != w) continue;
    bool is_aic = view->kind == PTO_AIC;
    const struct {
      struct pto_local_memory *memory;
      uint64_t size_bytes;
    } pieces[] = {{&view->local, is_aic ? chip->l1_bytes : chip->ub_bytes},
                  {&view->l0a, is_aic ? chip->l0a_bytes : 0},
                  {&view->l0b, is_aic ? chip->l0b_bytes : 0},
                  {&view->l0c, is_aic ? chip->l0c_bytes : 0}};
    for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(pieces); i++) {
      pieces[i].memory->size_bytes = pieces[i].size_bytes;
      pieces[i].memory->addr =
          pieces[i].size_bytes ? layout_take(layout, pieces[i].size_bytes, PTO_CACHE_LINE) : NULL;
    }
  }
}

static bool init_local_memory(struct engine *engine, const struct pto_chip *chip) {
  struct layout layout = {0, 0};
  for (uint32_t w = 0; w < engine->port.worker_count; w++) lay_out_local(&layout, engine, chip, w);
  if (layout.used == 0) return true;
  if (!pto_reserve_init(&engine->local_memory, layout.used)) return false;
  layout = (struct layout){(uintptr_t)engine->local_memory.addr, 0};
  for (uint32_t w = 0; w < engine->port.worker_count; w++) {
    uint64_t begin = pto_align_up(layout.used, 4096);
    lay_out_local(&layout, engine, chip, w);
    if (engine->workers[w].is_pinned && layout.used > begin)
      pto_place_memory(&engine->place, w, (char *)engine->local_memory.addr + begin, layout.used - begin);
  }
  return true;
}

static void init_cores(struct engine *engine) {
  for (uint32_t c = 0; c < engine->core_count; c++) {
    struct pto_core *view = &engine->cores[c].view;
    uint32_t w = worker_of(c, engine->port.cluster_count, engine->port.worker_count);
    engine->core_worker[c] = (uint16_t)w;
    view->kind = c % 3 == 0 ? PTO_AIC : PTO_AIV;
    view->index = c;
    view->cluster = c / 3;
    view->lane = c % 3;
    view->message = engine->workers[w].sentence;
    view->message_size = PTO_THREADS_SENTENCE_BYTES;
  }
}

static void init_workers(struct engine *engine) {
  bool can_pin = pto_place_can_pin(&engine->place, engine->port.worker_count);
  uint32_t spin_rounds = engine->port.worker_count <= engine->place.cpu_count ? PTO_WAIT_SPIN_ROUNDS : 0;
  pto_wait_init(&engine->completed, spin_rounds);
  for (uint32_t w = 0; w < engine->port.worker_count; w++) {
    struct worker *worker = &engine->workers[w];
    worker->shared = &engine->shared;
    worker->cores = engine->cores;
    worker->completed = &engine->completed;
    worker->place = &engine->place;
    worker->index = w;
    worker->is_pinned = can_pin;
    pto_wait_init(&worker->wait, spin_rounds);
  }
  snprintf(engine->report, sizeof engine->report, "%s; %u worker%s %s", pto_place_report(&engine->place),
           engine->port.worker_count, engine->port.worker_count == 1 ? "" : "s", can_pin ? "pinned" : "not pinned");
}

static int start_threads(struct engine *engine, const struct pto_engine_config *config, struct pto_error *error) {
  struct pto_watchdog_config watchdog = {config->timeout_ms, config->on_timeout, config->on_timeout_context,
                                         engine->workers[0].line, engine->port.worker_count};
  if (pto_watchdog_init(&engine->watchdog, &watchdog) != PTO_OK)
    return pto_error_set(error, PTO_ESYSTEM, "threads: cannot start the watchdog");
  engine->shared.has_watchdog = engine->watchdog.is_running;
  for (uint32_t w = 1; w < engine->port.worker_count; w++) {
    int code = 0;
    if (!pto_thread_start(&engine->threads[w], worker_main, &engine->workers[w], &code))
      return pto_error_set(error, PTO_ESYSTEM, "threads: cannot start worker %u of %u: %s", w,
                           engine->port.worker_count, strerror(code));
    engine->thread_count = w;
  }
  return PTO_OK;
}

static uint32_t choose_worker_count(const struct pto_place *place, const struct pto_engine_config *config) {
  uint32_t count = config->workers ? config->workers : place->cpu_count;
  if (count > 3 * config->chip->cluster_count) count = 3 * config->chip->cluster_count;
  return count > PTO_THREADS_MAX_WORKERS ? PTO_THREADS_MAX_WORKERS : count;
}

int pto_engine_threads_create(const struct pto_engine_config *config, struct pto_port **port_out,
                              struct pto_error *error) {
  const struct pto_chip *chip = config->chip;
  struct pto_place place;
  struct engine sizes; /* only for counting */
  struct layout layout = {0, 0};
  struct pto_reserve memory = {0};
  if (chip->cluster_count == 0 || chip->cluster_count > PTO_CHIP_MAX_CLUSTERS)
    return pto_error_set(error, PTO_EINVAL, "threads: a chip of %u clusters; 1 to %u are possible",
                         chip->cluster_count, PTO_CHIP_MAX_CLUSTERS);
  pto_place_init(&place);
  uint32_t worker_count = choose_worker_count(&place, config);
  uint32_t slots_per_core =
      chip->slots_per_core > PTO_THREADS_SLOTS_PER_CORE ? chip->slots_per_core : PTO_THREADS_SLOTS_PER_CORE;
  lay_out(&layout, &sizes, chip->cluster_count, worker_count, slots_per_core);
  if (!pto_reserve_init(&memory, layout.used)) {
    pto_place_fini(&place);
    return pto_error_set(error, PTO_ENOMEM, "threads: no memory for %u cores on %u workers (%llu bytes)",
                         3 * chip->cluster_count, worker_count, (unsigned long long)layout.used);
  }
  struct engine *engine = memory.addr;
  engine->memory = memory;
  engine->place = place;
  engine->core_count = 3 * chip->cluster_count;
  layout = (struct layout){(uintptr_t)memory.addr, 0};
  lay_out(&layout, engine, chip->cluster_count, worker_count, slots_per_core);
  engine->port = (struct pto_port){.ops = &threads_ops,
                                   .cluster_count = chip->cluster_count,
                                   .slots_per_core = slots_per_core,
                                   .worker_count = worker_count,
                                   .core_worker = engine->core_worker,
                                   .aiv_local_bytes = chip->ub_bytes,
                                   .aic_local_bytes = chip->l1_bytes,
                                   .name = "threads"};
  init_workers(engine);
  init_cores(engine);
  int status = PTO_OK;
  if (!init_local_memory(engine, chip))
    status = pto_error_set(error, PTO_ENOMEM, "threads: no memory for the local memories of %u cores",
                           engine->core_count);
  if (status == PTO_OK) status = start_threads(engine, config, error);
  if (status != PTO_OK) {
    threads_destroy(&engine->port);
    return status;
  }
  *port_out = &engine->port;
  return PTO_OK;
}

/* ---- what tests and reports look at ---- */

const char *pto_engine_threads_report(const struct pto_port *port) { return const_engine_of(port)->report; }

uint32_t pto_engine_threads_sleeps(const struct pto_port *port, uint32_t worker) {
  const struct engine *engine = const_engine_of(port);
  return pto_wait_sleep_count(worker ? &engine->workers[worker].wait : &engine->completed);
}

bool pto_engine_threads_is_valid(const struct pto_port *port) {
  const struct engine *engine = const_engine_of(port);
  bool is_valid = engine->unpublished_total == 0;
  for (uint32_t w = 0; w < port->worker_count; w++) {
    const struct worker *worker = &engine->workers[w];
    /* The control thread's ends only: an idle worker still looks at its own. */
    is_valid = is_valid && engine->in_flight[w] == 0 && engine->unpublished[w] == 0 &&
               pto_mailbox_is_taken(&worker->inbox) && !pto_mailbox_has_element(&worker->outbox);
  }
  return is_valid;
}
