/* SPDX-License-Identifier: MIT */
/*
 * Building the threads engine: how many workers, which core lives on which, where everything lies in memory, and the
 * start of the threads.
 *
 * Owns nothing after creation.  Called once an engine, by the thread that creates it; on failure everything made so far
 * is given back by pto_threads_destroy.
 */
#include <sim/threads/engine.h>

#include <stdio.h>
#include <string.h>

#include <runtime/base/thread.h>
#include <runtime/base/valgrind_requests.h>
#include <sim/chips/chip.h>
#include <sim/engine/engine.h>
#include <sim/threads/state.h>

/* Where kernels run that do not move.  The cores of one kind follow each other, AIVs before AICs, and go round the
 * workers from the last one down: every worker gets its share of each kind, and the control thread, which has other
 * work, gets the fewest. */
static uint32_t worker_of(uint32_t core, uint32_t cluster_count, uint32_t worker_count) {
  uint32_t cluster = core / 3, lane = core % 3;
  uint32_t position = lane == 0 ? 2 * cluster_count + cluster : 2 * cluster + lane - 1;
  return worker_count - 1 - position % worker_count;
}

/* Messages that the cores of a worker hold. */
static uint32_t message_count(uint32_t w, uint32_t cluster_count, uint32_t worker_count, uint32_t slots_per_core) {
  uint32_t cores = 0;
  for (uint32_t c = 0; c < 3 * cluster_count; c++) cores += worker_of(c, cluster_count, worker_count) == w;
  return cores * slots_per_core;
}

static uint32_t power_of_two_from(uint32_t count) {
  return pto_is_power_of_two(count) ? count : UINT32_C(2) << pto_log2_floor(count);
}

/* Where everything is: the bytes that it takes.  Called twice: with an empty engine and a NULL base it only adds up,
 * and then with the engine at the reserve's start. */
static uint64_t lay_out(char *base, struct pto_threads_engine *engine, uint32_t cluster_count, uint32_t worker_count,
                        uint32_t slots_per_core) {
  const uint32_t core_count = 3 * cluster_count, all = power_of_two_from(core_count * slots_per_core);
  uint64_t used = 0;
  pto_carve(base, &used, sizeof(struct pto_threads_engine));
  engine->workers = pto_carve(base, &used, worker_count * sizeof(struct pto_threads_worker));
  engine->cores = pto_carve(base, &used, core_count * sizeof(struct pto_threads_core));
  engine->core_worker = pto_carve(base, &used, core_count * sizeof(uint16_t));
  engine->threads = pto_carve(base, &used, worker_count * sizeof(pthread_t));
  struct pto_watchdog_line *lines = pto_carve(base, &used, worker_count * sizeof *lines);
  for (uint32_t w = 0; w < worker_count; w++) {
    const uint32_t held = power_of_two_from(message_count(w, cluster_count, worker_count, slots_per_core));
    char *sentence = pto_carve(base, &used, PTO_THREADS_SENTENCE_BYTES);
    char *failure_sentence = pto_carve(base, &used, PTO_THREADS_SENTENCE_BYTES);
    uint16_t *woken = pto_carve(base, &used, core_count * sizeof(uint16_t));
    void *messages = pto_carve(base, &used, held * sizeof(struct pto_message));
    void *completions = pto_carve(base, &used, all * sizeof(struct pto_completion));
    if (!base) continue;
    engine->workers[w].sentence = sentence;
    engine->workers[w].woken = woken;
    engine->workers[w].failure_sentence = failure_sentence;
    engine->workers[w].line = &lines[w];
    pto_mailbox_init(&engine->workers[w].inbox, messages, held, sizeof(struct pto_message), 0);
    pto_mailbox_init(&engine->workers[w].outbox, completions, all, sizeof(struct pto_completion), 0);
  }
  engine->in_flight = pto_carve(base, &used, worker_count * sizeof(uint32_t));
  engine->is_unpublished = pto_carve(base, &used, worker_count * sizeof(bool));
  void *ring = pto_carve(base, &used, pto_threads_ring_capacity(worker_count) * sizeof(struct pto_message));
  if (base) pto_threads_stealing_init(&engine->stealing, ring, worker_count);
  for (uint32_t c = 0; c < core_count; c++) {
    void *deferred = pto_carve(base, &used, slots_per_core * sizeof(struct pto_message));
    if (base) engine->cores[c].deferred = deferred;
  }
  return used;
}

static void lay_out_core(char *base, uint64_t *used, struct pto_core *view, const struct pto_chip *chip) {
  const bool is_aic = view->kind == PTO_AIC;
  const struct {
    struct pto_local_memory *memory;
    uint64_t size_bytes;
  } pieces[] = {{&view->local, is_aic ? chip->l1_bytes : chip->ub_bytes},
                {&view->l0a, is_aic ? chip->l0a_bytes : 0},
                {&view->l0b, is_aic ? chip->l0b_bytes : 0},
                {&view->l0c, is_aic ? chip->l0c_bytes : 0}};
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(pieces); i++) {
    pieces[i].memory->size_bytes = pieces[i].size_bytes;
    pieces[i].memory->addr = pieces[i].size_bytes ? pto_carve(base, used, pieces[i].size_bytes) : NULL;
  }
}

/* The local memories of worker w's cores and movers, from a page boundary on, near the worker; the end. */
static uint64_t lay_out_local(char *base, uint64_t used, struct pto_threads_engine *engine, const struct pto_chip *chip,
                              uint32_t w) {
  const uint64_t begin = used = pto_align_up(used, 4096);
  for (uint32_t c = 0; c < engine->core_count; c++)
    if (engine->core_worker[c] == w) lay_out_core(base, &used, &engine->cores[c].view, chip);
  for (uint32_t i = 0; i < 2; i++) lay_out_core(base, &used, &engine->workers[w].movers[i], chip);
  if (base && engine->workers[w].is_pinned) /* each worker has movers, whose memories are alike */
    pto_topology_memory(&engine->topology, w, base + begin, used - begin);
  return used;
}

static uint64_t lay_out_locals(char *base, struct pto_threads_engine *engine, const struct pto_chip *chip) {
  uint64_t used = 0;
  for (uint32_t w = 0; w < engine->port.worker_count; w++) used = lay_out_local(base, used, engine, chip, w);
  return used;
}

static bool init_local_memory(struct pto_threads_engine *engine, const struct pto_chip *chip) {
  const uint64_t size_bytes = lay_out_locals(NULL, engine, chip);
  if (size_bytes == 0) return true;
  if (!pto_reserve_init(&engine->local_memory, size_bytes)) return false;
  lay_out_locals(engine->local_memory.addr, engine, chip);
  return true;
}

static void init_cores(struct pto_threads_engine *engine) {
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

/* A mover is called like the worker's first core of its kind; where it has none, like the chip's first. */
static void init_movers(struct pto_threads_engine *engine, uint32_t w) {
  for (uint32_t lane = 0; lane < 2; lane++) {
    uint32_t like = lane;
    for (uint32_t c = engine->core_count; c-- > 0;)
      if ((c % 3 == 0) == (lane == 0) && engine->core_worker[c] == w) like = c;
    struct pto_core *mover = &engine->workers[w].movers[lane];
    *mover = engine->cores[like].view;
    mover->message = engine->workers[w].sentence;
  }
}

static void init_workers(struct pto_threads_engine *engine) {
  /* valgrind runs one thread at a time, whatever CPUs there are. */
  bool has_cpus = engine->port.worker_count <= engine->topology.cpu_count && !pto_is_under_valgrind();
  uint32_t spin_rounds = has_cpus ? PTO_WAIT_SPIN_ROUNDS : 0;
  pto_wait_init(&engine->completed, spin_rounds);
  pto_atomic_init(&engine->is_called, 0);
  pto_atomic_init(&engine->rendezvous.has_stalled, 0);
  for (uint32_t w = 0; w < engine->port.worker_count; w++) {
    struct pto_threads_worker *worker = &engine->workers[w];
    worker->shared = &engine->shared;
    worker->cores = engine->cores;
    worker->completed = &engine->completed;
    worker->topology = &engine->topology;
    worker->rendezvous = &engine->rendezvous;
    worker->engine = engine;
    worker->index = w;
    worker->is_pinned = engine->topology.is_placed;
    pto_wait_init(&worker->wait, spin_rounds);
    pto_atomic_init(&worker->has_woken, 0);
    pto_atomic_init(&worker->is_stopping, 0);
  }
  engine->port.placement = pto_topology_report(&engine->topology);
}

static int start_threads(struct pto_threads_engine *engine, const struct pto_engine_config *config,
                         struct pto_error *error) {
  struct pto_watchdog_config watchdog = {config->timeout_ms,      config->on_timeout,        config->on_timeout_context,
                                         engine->workers[0].line, engine->port.worker_count, &engine->port};
  if (pto_watchdog_init(&engine->watchdog, &watchdog) != PTO_OK)
    return pto_error_set(error, PTO_ESYSTEM, "threads: cannot start the watchdog");
  engine->shared.has_watchdog = engine->shared.is_observed = engine->watchdog.is_running;
  for (uint32_t w = 1; w < engine->port.worker_count; w++) {
    int code = 0;
    if (!pto_thread_start(&engine->threads[w], pto_threads_worker_main, &engine->workers[w], &code))
      return pto_error_set(error, PTO_ESYSTEM, "threads: cannot start worker %u of %u: %s", w,
                           engine->port.worker_count, strerror(code));
    pto_thread_name_worker(engine->threads[w], w);
    engine->thread_count = w;
  }
  return PTO_OK;
}

static uint32_t choose_worker_count(const struct pto_topology *topology, const struct pto_engine_config *config) {
  uint32_t count = config->workers ? config->workers : topology->cpu_count;
  if (count > 3 * config->chip->cluster_count) count = 3 * config->chip->cluster_count;
  return count > PTO_THREADS_MAX_WORKERS ? PTO_THREADS_MAX_WORKERS : count;
}

int pto_engine_threads_create(const struct pto_engine_config *config, struct pto_port **port_out,
                              struct pto_error *error) {
  const struct pto_chip *chip = config->chip;
  struct pto_topology topology;
  struct pto_threads_engine sizes; /* only for counting */
  struct pto_reserve memory = {0};
  if (chip->cluster_count == 0 || chip->cluster_count > PTO_CHIP_MAX_CLUSTERS)
    return pto_error_set(error, PTO_EINVAL, "threads: a chip of %u clusters; 1 to %u are possible", chip->cluster_count,
                         PTO_CHIP_MAX_CLUSTERS);
  pto_topology_init(&topology);
  uint32_t worker_count = choose_worker_count(&topology, config);
  const int placed = pto_topology_place(&topology, config->placement, worker_count, error);
  if (placed) {
    pto_topology_fini(&topology);
    return placed;
  }
  /* While the control thread is in a kernel no thread dispatches, and workers live on what they were offered. */
  uint32_t slots_per_core = chip->slots_per_core > PTO_THREADS_BATCH ? chip->slots_per_core : PTO_THREADS_BATCH;
  const uint64_t size_bytes = lay_out(NULL, &sizes, chip->cluster_count, worker_count, slots_per_core);
  if (!pto_reserve_init(&memory, size_bytes)) {
    pto_topology_fini(&topology);
    return pto_error_set(error, PTO_ENOMEM, "threads: no memory for %u cores on %u workers (%llu bytes)",
                         3 * chip->cluster_count, worker_count, (unsigned long long)size_bytes);
  }
  struct pto_threads_engine *engine = memory.addr;
  engine->memory = memory;
  engine->topology = topology;
  engine->core_count = 3 * chip->cluster_count;
  pto_ticks_begin(&engine->ticks);
  lay_out(memory.addr, engine, chip->cluster_count, worker_count, slots_per_core);
  engine->port = (struct pto_port){.ops = &pto_threads_ops,
                                   .cluster_count = chip->cluster_count,
                                   .slots_per_core = slots_per_core,
                                   .worker_count = worker_count,
                                   .run_ahead = PTO_THREADS_RUN_AHEAD,
                                   .aiv_local_bytes = chip->ub_bytes,
                                   .aic_local_bytes = chip->l1_bytes,
                                   .name = "threads",
                                   .chip_name = config->chip->name,
                                   .call = pto_threads_call};
  init_workers(engine);
  init_cores(engine);
  for (uint32_t w = 0; w < worker_count; w++) init_movers(engine, w);
  int status = PTO_OK;
  if (!init_local_memory(engine, chip))
    status =
        pto_error_set(error, PTO_ENOMEM, "threads: no memory for the local memories of %u cores", engine->core_count);
  if (status == PTO_OK && !pto_threads_rendezvous_init(engine))
    status = pto_error_set(error, PTO_ENOMEM, "threads: no memory for %u cores that wait", engine->core_count);
  if (status == PTO_OK) status = start_threads(engine, config, error);
  if (status != PTO_OK) {
    pto_threads_destroy(&engine->port);
    return status;
  }
  *port_out = &engine->port;
  return PTO_OK;
}
