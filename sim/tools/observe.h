/* SPDX-License-Identifier: MIT */
/*
 * The engine of an observer: kernels run one unit at a time, in the order in which they were sent, and an observer
 * may run each as often as it likes.
 *
 * A unit is what cannot be taken apart: one kernel call; where kernels wait, the calls of one block, or all of a task
 * that starts together.  The cores of a unit that waits are fibers, and whichever of them can go on and has the lowest
 * number does, unless a schedule says another way.  What counts is the first run of a unit: its statuses are the
 * completions, its sentences the errors. Without an observer each unit runs once.
 *
 * Always true: local memories are zero when a run begins, or filled as that run asks; so two runs over the same global
 * memory differ only where a kernel keeps something of its own.  Time is real and not measured.
 *
 * One thread, the control thread, but for the watchdog's.  All memory is reserved at creation.  Known to
 * pto_runtime_create as "observe".
 */
#ifndef PTO_SIM_TOOLS_OBSERVE_H
#define PTO_SIM_TOOLS_OBSERVE_H

#include <sim/engine/engine.h>
#include <sim/rendezvous/core_watch.h>

struct pto_observed_unit {
  const struct pto_message *messages; /* of one task */
  uint32_t count;
  bool waits; /* its kernels wait for each other */
};

struct pto_engine_observer {
  /* Called for each unit instead of running it; calls pto_engine_observe_run at least once. */
  void (*observe)(void *context, const struct pto_observed_unit *unit);
  void (*end_run)(void *context); /* of the runtime's run; its memory is still there */
  void *context;
};

/* Whether the port is of this engine. */
bool pto_port_is_observed(const struct pto_port *port);
/* Between runs of the runtime; borrowed until the next call, NULL takes it away. */
void pto_engine_observe_set(struct pto_port *port, const struct pto_engine_observer *observer);

/* How the cores of a unit that waits take turns in the next runs. */
struct pto_observe_schedule {
  bool is_reversed;     /* the highest number first */
  bool steps;           /* also where a kernel only makes a call of pto/core.h */
  const bool *is_eager; /* by core: these before all others; NULL: none */
  struct pto_core_watch watch;
};
/* Borrowed until the next call; NULL: as usual, and no tool listens. */
void pto_engine_observe_schedule(struct pto_port *port, const struct pto_observe_schedule *schedule);

/* Runs the unit that is being observed, with `fill` in bytes [fill_begin, fill_end) of each core's local memory (UB or
 * L1) and zeros in the rest.  The first status that is not 0, in order of messages. */
int pto_engine_observe_run(struct pto_port *port, uint8_t fill, uint64_t fill_begin, uint64_t fill_end);
/* After a run that was left by a jump out of its kernel, and was not the first: its cores are idle again. */
void pto_engine_observe_abandon(struct pto_port *port);
/* How much of their local memory the unit's kernels state to need, or have touched in the run before: the most of them.
 */
uint64_t pto_engine_observe_local_bytes(struct pto_port *port);

#endif
