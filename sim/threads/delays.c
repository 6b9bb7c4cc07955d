/* SPDX-License-Identifier: MIT */
#include <sim/threads/delays.h>

#include <sched.h>
#include <string.h>
#include <time.h>

#include <runtime/base/clock.h>
#include <sim/engine/engine.h>
#include <sim/threads/state.h>

#define SPIN_NS 3000u   /* at most; a message takes about a tenth of it from thread to thread */
#define SLEEP_NS 50000u /* at most, and the system adds as much */

static void spin(uint64_t duration_ns) {
  const uint64_t begin_ns = pto_clock_ns();
  while (pto_clock_ns() - begin_ns < duration_ns) {
  }
}

/* Half of them nothing, most others short. */
static void delay_worker(struct pto_threads_worker *worker) {
  struct pto_rng rng = {pto_mix64(worker->shared->delay_seed) ^
                        pto_mix64((uint64_t)worker->index << 32 | worker->delay_count)};
  worker->delay_count++;
  const uint64_t kind = pto_rng_below(&rng, 64);
  if (kind < 32) return;
  if (kind < 62) {
    spin(pto_rng_below(&rng, kind < 48 ? SPIN_NS / 8 : SPIN_NS));
  } else if (kind < 63) { /* on a loaded machine others then run for milliseconds */
    sched_yield();
  } else {
    const struct timespec pause = {.tv_nsec = (long)pto_rng_below(&rng, SLEEP_NS)};
    nanosleep(&pause, NULL);
  }
}

/* ---- the port's operations, a delay before each and after those that hand over ---- */

static struct pto_threads_engine *engine_of(struct pto_port *port) { return (struct pto_threads_engine *)(void *)port; }

static void delay(struct pto_port *port) {
  struct pto_threads_worker *control = &engine_of(port)->workers[0];
  if (control->shared->delay) control->shared->delay(control);
}

static bool delayed_dispatch(struct pto_port *port, const struct pto_message *message, uint64_t ready_at,
                             struct pto_completion *completion) {
  delay(port);
  const bool has_run = pto_threads_ops.dispatch(port, message, ready_at, completion);
  delay(port);
  return has_run;
}
static void delayed_flush(struct pto_port *port) {
  delay(port);
  pto_threads_ops.flush(port);
  delay(port);
}
static uint32_t delayed_poll(struct pto_port *port, struct pto_completion *completions, uint32_t max) {
  delay(port);
  return pto_threads_ops.poll(port, completions, max);
}
static void delayed_wait(struct pto_port *port) {
  delay(port);
  pto_threads_ops.wait(port);
}

static struct pto_port_ops delayed_ops(void) {
  struct pto_port_ops ops = pto_threads_ops;
  ops.dispatch = delayed_dispatch;
  ops.flush = delayed_flush;
  ops.poll = delayed_poll;
  ops.wait = delayed_wait;
  return ops;
}

int pto_engine_delayed_threads_create(const struct pto_engine_config *config, struct pto_port **port_out,
                                      struct pto_error *error) {
  int status = pto_engine_threads_create(config, port_out, error);
  if (status) return status;
  struct pto_threads_engine *engine = engine_of(*port_out);
  engine->own_ops = delayed_ops();
  (*port_out)->ops = &engine->own_ops;
  return PTO_OK;
}

/* The first message of the next run hands it to the workers, as all of `shared`. */
bool pto_engine_delays_set(struct pto_port *port, uint64_t seed) {
  if (strcmp(port->name, "threads") != 0) return false;
  struct pto_threads_engine *engine = engine_of(port);
  if (engine->own_ops.dispatch != delayed_dispatch) return false; /* port->ops may stand in front of it */
  engine->shared.delay_seed = seed;
  engine->shared.delay = seed ? delay_worker : NULL;
  return true;
}

uint64_t pto_engine_delays_had(const struct pto_port *port) {
  const struct pto_threads_engine *engine = (const struct pto_threads_engine *)(const void *)port;
  uint64_t count = 0;
  for (uint32_t w = 0; w < port->worker_count; w++) count += engine->workers[w].delay_count;
  return count;
}
