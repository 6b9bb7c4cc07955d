/* SPDX-License-Identifier: MIT */
/*
 * Kernel calls that an observer watches: an engine that can be observed hands over each unit in place of running it,
 * and the observer runs it as often as it likes.
 *
 * A unit is what cannot be taken apart: one kernel call; where kernels wait, the calls of one block, or all of a task
 * that starts together.  What counts is the first run of a unit: its statuses are the completions, its sentences the
 * errors.
 *
 *   observe            (sim/tools/observe.c) one unit after the other, in the order in which they were sent; units that
 *                      wait are observed too
 *   observed virtual   (sim/virtual/observed.c) as engine virtual, also as a rank of several; a unit is one call, which
 *                      takes its time once.  Calls of kernels that wait, or talk to other ranks, go on while others do
 *                      theirs, and what they said cannot be taken back: they are run once, and the observer is told
 *
 * Always true: in a run of a unit local memories are zero at the begin, or filled as that run asks; so two runs over
 * the same global memory differ only where a kernel keeps something of its own.
 *
 * The control thread.  To add an engine: its struct pto_observed_ops in its port's ops.
 */
#ifndef PTO_SIM_ENGINE_OBSERVED_UNIT_H
#define PTO_SIM_ENGINE_OBSERVED_UNIT_H

#include <runtime/port/port.h>
#include <sim/rendezvous/core_watch.h>

struct pto_observed_unit {
  const struct pto_message *messages; /* of one task */
  uint32_t count;
  bool waits; /* its kernels wait for each other */
};

struct pto_engine_observer {
  /* Called for each unit instead of running it; calls pto_observed_unit_run at least once. */
  void (*observe)(void *context, const struct pto_observed_unit *unit);
  /* A call that is not observed is about to begin.  Only of engine observed virtual. */
  void (*pass)(void *context, const struct pto_message *message);
  void (*end_run)(void *context); /* of the runtime's run; its memory is still there */
  void *context;
};

/* How the cores of a unit that waits take turns in the next runs. */
struct pto_observe_schedule {
  bool is_reversed;     /* the highest number first */
  bool steps;           /* also where a kernel only makes a call of pto/core.h */
  const bool *is_eager; /* by core: these before all others; NULL: none */
  struct pto_core_watch watch;
};

/* What such an engine does; the functions below say it. */
struct pto_observed_ops {
  void (*set)(struct pto_port *port, const struct pto_engine_observer *observer);
  int (*run)(struct pto_port *port, uint8_t fill, uint64_t fill_begin, uint64_t fill_end);
  void (*abandon)(struct pto_port *port);
  uint64_t (*local_bytes)(struct pto_port *port);
  void (*schedule)(struct pto_port *port, const struct pto_observe_schedule *schedule); /* NULL: no unit waits */
  uint32_t (*siblings)(struct pto_port *port, const struct pto_message *message, struct pto_message *all,
                       uint32_t capacity); /* NULL: no call passes */
};

/* Whether the port's engine can be observed. */
static inline bool pto_port_is_observed(const struct pto_port *port) { return port->ops->observed != NULL; }
/* Between runs of the runtime; borrowed until the next call, NULL takes it away. */
static inline void pto_port_set_observer(struct pto_port *port, const struct pto_engine_observer *observer) {
  port->ops->observed->set(port, observer);
}
/* Borrowed until the next call; NULL: as usual, and no tool listens. */
static inline void pto_observed_unit_schedule(struct pto_port *port, const struct pto_observe_schedule *schedule) {
  port->ops->observed->schedule(port, schedule);
}
/* Runs the unit that is being observed, with `fill` in bytes [fill_begin, fill_end) of each core's local memory (UB or
 * L1) and zeros in the rest.  The first status that is not 0, in order of messages. */
static inline int pto_observed_unit_run(struct pto_port *port, uint8_t fill, uint64_t fill_begin, uint64_t fill_end) {
  return port->ops->observed->run(port, fill, fill_begin, fill_end);
}
/* After a run that was left by a jump out of its kernel, and was not the first: its cores are idle again. */
static inline void pto_observed_unit_abandon(struct pto_port *port) { port->ops->observed->abandon(port); }
/* In pass: the calls of the message's task that have been sent and have not begun, it among them; how many, of which at
 * most `capacity` are put into `all`. */
static inline uint32_t pto_observed_siblings(struct pto_port *port, const struct pto_message *message,
                                             struct pto_message *all, uint32_t capacity) {
  return port->ops->observed->siblings(port, message, all, capacity);
}
/* How much of their local memory the unit's kernels state to need, or have touched in the run before: the most of them.
 */
static inline uint64_t pto_observed_unit_local_bytes(struct pto_port *port) {
  return port->ops->observed->local_bytes(port);
}

/* ---- for engines ---- */

/* The core's local memory as a run begins with it. */
void pto_observed_call_fill_local(const struct pto_core *view, uint8_t fill, uint64_t begin, uint64_t end);
/* As pto_observed_unit_local_bytes, of one call. */
uint64_t pto_observed_call_local_bytes(const struct pto_message *message, struct pto_core *view);

#endif
