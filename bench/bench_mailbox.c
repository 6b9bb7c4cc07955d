/* SPDX-License-Identifier: MIT */
/*
 * One question: what does it cost to send a message to another thread, and to hear of its completion?
 *
 * One JSON line a result, nanoseconds, of RUNS runs.  Peer: the same exchange through a mutex and a condition variable,
 * measured in the same run.  Needs two CPUs to mean anything.
 *
 *   ring                one thread fills and empties a mailbox in batches: the instructions alone
 *   ring_two_threads    the same across two threads, per message
 *   round_trip_spin     one message and its completion, the worker spinning
 *   round_trip_asleep   the same, the worker asleep in the kernel; of the system condvar: the peer
 *   current             pto_engine_current_set and _clear
 *   watchdog            pto_watchdog_begin and _end
 *   engine              dispatch to completion through the threads engine, empty kernels, per message, by workers
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include <bench/support/bench_clock.h>
#include <bench/support/bench_line.h>
#include <runtime/base/thread.h>
#include <runtime/base/wait.h>
#include <sim/chips/chip.h>
#include <sim/engine/engine.h>
#include <sim/host/current.h>
#include <sim/threads/engine.h>
#include <sim/threads/mailbox.h>
#include <sim/host/watchdog.h>

#define RUNS 7
#define CAPACITY 1024u

/* Nanoseconds of each run of `measure`, in a line that begins with what was measured. */
static void report_line(struct pto_bench_line *line, double (*measure)(void)) {
  struct pto_samples ns = {.count = 0};
  for (uint32_t i = 0; i < pto_bench_repeats(RUNS); i++) pto_samples_add(&ns, measure());
  pto_bench_line_real(line, "ns", pto_samples_median(&ns));
  pto_bench_line_print(line, &ns);
}

static struct pto_bench_line *line_of(const char *what, bool is_peer) {
  struct pto_bench_line *line = pto_bench_line_begin("mailbox", is_peer ? "condvar" : PTO_BENCH_SYSTEM);
  pto_bench_line_text(line, "what", what);
  return line;
}

static void report(const char *what, double (*measure)(void)) { report_line(line_of(what, false), measure); }

static struct pto_mailbox there, back;
static struct pto_message messages[CAPACITY];
static struct pto_completion completions[CAPACITY];
static struct pto_wait worker_wait, control_wait;

static void init_mailboxes(void) {
  pto_mailbox_init(&there, messages, CAPACITY, sizeof messages[0], 0);
  pto_mailbox_init(&back, completions, CAPACITY, sizeof completions[0], 0);
}

static double measure_ring(void) {
  const uint32_t count = 1000000, batch = 32;
  uint64_t sum = 0;
  init_mailboxes();
  double begin = pto_bench_now_ns();
  for (uint32_t i = 0; i < count; i += batch) {
    for (uint32_t k = 0; k < batch; k++) *pto_message_mailbox_claim(&there) = (struct pto_message){.ticket = i + k};
    pto_mailbox_publish(&there);
    for (const struct pto_message *m; (m = pto_message_mailbox_peek(&there)); pto_mailbox_pop(&there)) sum += m->ticket;
  }
  double ns = (pto_bench_now_ns() - begin) / count;
  return sum == (uint64_t)count * (count - 1) / 2 ? ns : -1;
}

static bool there_is_ready(void *context) { return pto_mailbox_has_element(&there); }
static bool back_is_ready(void *context) { return pto_mailbox_has_element(&back); }

#define STREAM 500000u
static void *stream_consumer(void *argument) {
  uint64_t *sum = argument;
  for (uint32_t i = 0; i < STREAM;) {
    const struct pto_message *m = pto_message_mailbox_peek(&there);
    if (!m) {
      pto_wait_until(&worker_wait, there_is_ready, NULL);
      continue;
    }
    *sum += m->ticket;
    pto_mailbox_pop(&there);
    i++;
  }
  return NULL;
}
static double measure_ring_two_threads(void) {
  pthread_t thread;
  uint64_t sum = 0;
  int error;
  init_mailboxes();
  pto_wait_init(&worker_wait, PTO_WAIT_SPIN_ROUNDS);
  if (!pto_thread_start(&thread, stream_consumer, &sum, &error)) return -1;
  double begin = pto_bench_now_ns();
  for (uint32_t i = 0; i < STREAM;) {
    struct pto_message *m = pto_message_mailbox_claim(&there);
    if (m) *m = (struct pto_message){.ticket = i++};
    if (!m || i % 32 == 0 || i == STREAM) {
      pto_mailbox_publish_to_sleeper(&there);
      pto_wait_notify(&worker_wait);
    }
    if (!m) sched_yield();
  }
  pthread_join(thread, NULL);
  double ns = (pto_bench_now_ns() - begin) / STREAM;
  return sum == (uint64_t)STREAM * (STREAM - 1) / 2 ? ns : -1;
}

static uint32_t trips;
static void *echo(void *context) {
  for (uint32_t i = 0; i < trips; i++) {
    pto_wait_until(&worker_wait, there_is_ready, NULL);
    uint32_t ticket = pto_message_mailbox_peek(&there)->ticket;
    pto_mailbox_pop(&there);
    *pto_completion_mailbox_claim(&back) = (struct pto_completion){.ticket = ticket};
    pto_mailbox_publish_to_sleeper(&back);
    pto_wait_notify(&control_wait);
  }
  return NULL;
}
/* `is_asleep`: sends only once the worker sleeps. */
static double measure_round_trips(uint32_t spin_rounds, uint32_t count, bool is_asleep) {
  pthread_t thread;
  int error;
  init_mailboxes();
  pto_wait_init(&worker_wait, spin_rounds);
  pto_wait_init(&control_wait, spin_rounds);
  trips = count;
  if (!pto_thread_start(&thread, echo, NULL, &error)) return -1;
  double ns = 0;
  for (uint32_t i = 0; i < trips; i++) {
    while (is_asleep && pto_wait_sleep_count(&worker_wait) <= i) sched_yield();
    double begin = is_asleep || i == 0 ? pto_bench_now_ns() : 0;
    *pto_message_mailbox_claim(&there) = (struct pto_message){.ticket = i};
    pto_mailbox_publish_to_sleeper(&there);
    pto_wait_notify(&worker_wait);
    pto_wait_until(&control_wait, back_is_ready, NULL);
    (void)pto_completion_mailbox_peek(&back);
    pto_mailbox_pop(&back);
    ns -= begin;
    if (is_asleep || i == trips - 1) ns += pto_bench_now_ns();
  }
  pthread_join(thread, NULL);
  return ns / trips;
}
static double measure_spin(void) { return measure_round_trips(1000000, 20000, false); }
static double measure_asleep(void) { return measure_round_trips(0, 500, true); }

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static uint32_t turn;
static void *condvar_echo(void *context) {
  pthread_mutex_lock(&mutex);
  for (uint32_t i = 0; i < trips; i++) {
    while (turn % 2 == 0) pthread_cond_wait(&condition, &mutex);
    turn++;
    pthread_cond_signal(&condition);
  }
  pthread_mutex_unlock(&mutex);
  return NULL;
}
static double measure_condvar(void) {
  pthread_t thread;
  int error;
  trips = 500;
  turn = 0;
  if (!pto_thread_start(&thread, condvar_echo, NULL, &error)) return -1;
  double begin = pto_bench_now_ns();
  pthread_mutex_lock(&mutex);
  for (uint32_t i = 0; i < trips; i++) {
    turn++;
    pthread_cond_signal(&condition);
    while (turn % 2 == 1) pthread_cond_wait(&condition, &mutex);
  }
  pthread_mutex_unlock(&mutex);
  double ns = (pto_bench_now_ns() - begin) / trips;
  pthread_join(thread, NULL);
  return ns;
}

static PTO_NOINLINE void nothing(void) { __asm__ volatile(""); }
static double measure_current(void) {
  const uint32_t count = 4000000;
  static struct pto_core core;
  double begin = pto_bench_now_ns();
  for (uint32_t i = 0; i < count; i++) {
    pto_engine_current_set(&messages[0], &core);
    nothing();
    pto_engine_current_clear();
  }
  double with = pto_bench_now_ns() - begin;
  begin = pto_bench_now_ns();
  for (uint32_t i = 0; i < count; i++) nothing();
  return (with - (pto_bench_now_ns() - begin)) / count;
}
static double measure_watchdog(void) {
  const uint32_t count = 4000000;
  static struct pto_watchdog_line line;
  double begin = pto_bench_now_ns();
  for (uint32_t i = 0; i < count; i++) {
    pto_watchdog_begin(&line, &messages[0]);
    nothing();
    pto_watchdog_end(&line);
  }
  return (pto_bench_now_ns() - begin) / count;
}

/* ---- the engine ---- */

static int empty(const struct pto_kernel_args *args) { return 0; }
/* One dependent chain, so that bodies do not overlap. */
static uint32_t body_steps;
static int busy(const struct pto_kernel_args *args) {
  uint64_t x = args->core->index + 1;
  for (uint32_t i = 0; i < body_steps; i++) __asm__ volatile("imul %0, %0" : "+r"(x));
  return 0;
}

static const struct pto_kernel kernel = {.name = "bench", .cores = PTO_AIC | PTO_AIV, .run = empty};
static const struct pto_payload payload = {.block_count = 1, .kernels = {&kernel, &kernel, &kernel}};
static uint32_t engine_workers, engine_clusters, chained;

/* Keeps every core's queue filled, as the scheduler does, until `count` messages have completed; a chain keeps one
 * message on a core of the last worker. */
static double measure_engine(void) {
  const uint32_t count = body_steps ? 50000 : 250000;
  struct pto_chip chip = {.name = "bench", .cluster_count = engine_clusters, .slots_per_core = 2};
  struct pto_engine_config config = {.chip = &chip, .workers = engine_workers};
  struct pto_port *port;
  struct pto_error error;
  char sentence[64];
  struct pto_completion done[64];
  if (pto_engine_threads_create(&config, &port, &error) != PTO_OK) return -1;
  struct pto_message message = {.payload = &payload, .run = body_steps ? busy : empty};
  uint32_t core_count = chained ? 1 : 3 * port->cluster_count, slots = chained ? 1 : port->slots_per_core;
  uint32_t sent = 0, received = 0;
  if (port->ops->begin_run(port, sentence, sizeof sentence) != PTO_OK) return -1;
  double begin = pto_bench_now_ns();
  for (uint32_t i = 0; i < slots * core_count; i++, sent++) {
    message.core = (uint16_t)(chained ? 1 : i % core_count); /* core 1 lives on the last worker */
    port->ops->dispatch(port, &message, 0, NULL);
  }
  while (received < sent) {
    uint32_t got = port->ops->poll(port, done, PTO_ARRAY_LENGTH(done));
    for (uint32_t i = 0; i < got && sent < count; i++, sent++) {
      message.core = done[i].core;
      port->ops->dispatch(port, &message, 0, NULL);
    }
    received += got;
    if (got == 0) port->ops->wait(port);
  }
  double ns = (pto_bench_now_ns() - begin) / count;
  port->ops->end_run(port);
  port->ops->destroy(port);
  return ns;
}

static void report_engine(uint32_t clusters, uint32_t workers, uint32_t steps, uint32_t is_chain) {
  struct pto_bench_line *line = line_of("engine", false);
  engine_clusters = clusters;
  engine_workers = workers;
  body_steps = steps;
  chained = is_chain;
  pto_bench_line_count(line, "cores", 3 * clusters);
  pto_bench_line_count(line, "workers", workers);
  pto_bench_line_count(line, "body_multiplies", steps);
  pto_bench_line_text(line, "order", is_chain ? "chain" : "independent");
  report_line(line, measure_engine);
}

int main(void) {
  report("ring", measure_ring);
  report("ring_two_threads", measure_ring_two_threads);
  report("round_trip_spin", measure_spin);
  report("round_trip_asleep", measure_asleep);
  report_line(line_of("round_trip_asleep", true), measure_condvar);
  report("current", measure_current);
  report("watchdog", measure_watchdog);
  report_engine(1, 1, 0, 0);
  report_engine(1, 2, 0, 0);
  report_engine(24, 1, 0, 0);
  report_engine(24, 2, 0, 0);
  report_engine(1, 2, 0, 1);
  report_engine(1, 1, 900, 0);
  report_engine(1, 2, 900, 0);
  report_engine(24, 2, 900, 0);
  return 0;
}
