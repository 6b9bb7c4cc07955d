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
 * the same global memory differ only where a kernel keeps something of its own, in memory of pto_core_private too.
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

/* How much of each local memory a unit's kernels state to need, or have touched: the most of them.  Bytes are numbered
 * through these parts, one behind the other. */
enum { PTO_OBSERVED_UB_OR_L1, PTO_OBSERVED_L0A, PTO_OBSERVED_L0B, PTO_OBSERVED_L0C, PTO_OBSERVED_LOCALS };
struct pto_observed_local {
  uint64_t bytes[PTO_OBSERVED_LOCALS];
  struct {
    uint64_t begin, end; /* of UB or L1; empty: none has */
    uint64_t stated_bytes;
    uint32_t block_index;
    uint8_t role;
  } over; /* what the first kernel that did so has written, and not with zeros, behind what its cost states */
};

/* What local memories begin with: `value` in bytes [begin, end) of each core's, zeros in the rest. */
struct pto_observed_fill {
  uint64_t begin, end;
  uint8_t value;
  uint8_t roles; /* PTO_ROLE_BITs of the cores that are filled so; 0: all */
};

/* Memory that the kernels of a core keep there (pto_core_private). */
struct pto_observed_own {
  uint8_t *bytes; /* NULL: they have none yet */
  uint64_t size_bytes;
  const void *call; /* the last one that asked for it returns to */
  bool has_drop;    /* it holds more than plain bytes */
};

struct pto_engine_observer {
  /* Called for each unit instead of running it; calls pto_observed_unit_run at least once. */
  void (*observe)(void *context, const struct pto_observed_unit *unit);
  /* A call that is not observed is about to begin; it may get another `run`.  Only of engine observed virtual. */
  void (*pass)(void *context, struct pto_message *message);
  void (*end_run)(void *context); /* of the runtime's run; its memory is still there */
  void *context;
};

/* How the cores of a unit that waits take turns in the next runs. */
struct pto_observe_schedule {
  bool is_reversed;     /* the highest number first */
  uint64_t random;      /* not 0: any of those that can go on, by this seed */
  bool steps;           /* also where a kernel only makes a call of pto/core.h */
  const bool *is_eager; /* by core: these before all others; NULL: none */
  struct pto_core_watch watch;
};

/* Where a call that is run again sees itself. */
enum pto_observed_core {
  PTO_OBSERVED_OWN,     /* on its core */
  PTO_OBSERVED_OTHER,   /* on another core of its kind: of another cluster, and in the other lane if it may be there */
  PTO_OBSERVED_ITS_LANE /* in that core's lane, with the cluster and the number of its own: to tell what it looks at */
};

/* What such an engine does; the functions below say it. */
struct pto_observed_ops {
  void (*set)(struct pto_port *port, const struct pto_engine_observer *observer);
  int (*run)(struct pto_port *port, struct pto_observed_fill fill);
  void (*move)(struct pto_port *port, enum pto_observed_core core);
  bool (*later)(struct pto_port *port, bool is_later);              /* NULL: no unit waits */
  uint32_t (*give_up)(struct pto_port *port, const char *sentence); /* NULL: no unit waits */
  void (*abandon)(struct pto_port *port);
  const struct pto_observed_local *(*local)(struct pto_port *port);
  struct pto_observed_own (*own)(struct pto_port *port, uint32_t core);                 /* NULL: no unit waits */
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
/* Runs the unit that is being observed over this, as pto_observed_unit_local numbers bytes.  The first status that is
 * not 0, in order of messages. */
static inline int pto_observed_unit_run(struct pto_port *port, struct pto_observed_fill fill) {
  return port->ops->observed->run(port, fill);
}
/* Where the next runs of a unit that does not wait see themselves, with the same local memory.  Where the chip has no
 * other core, they see the true one. */
static inline void pto_observed_unit_move(struct pto_port *port, enum pto_observed_core core) {
  port->ops->observed->move(port, core);
}
/* Whether the cores of a unit that waits are told another time in its next runs (pto_core_now), which stands still in
 * either case; whether one of them has asked for it in the runs so far. */
static inline bool pto_observed_unit_later(struct pto_port *port, bool is_later) {
  return port->ops->observed->later(port, is_later);
}
/* After a run that was left by a jump out of its kernel, and was not the first: its cores are idle again. */
static inline void pto_observed_unit_abandon(struct pto_port *port) { port->ops->observed->abandon(port); }
/* The same of the first run of a unit that waits: all its calls fail, with PTO_ETIMEOUT and this sentence.  The core
 * that ran. */
static inline uint32_t pto_observed_unit_give_up(struct pto_port *port, const char *sentence) {
  return port->ops->observed->give_up(port, sentence);
}
/* In pass: the calls of the message's task that have been sent and have not begun, it among them; how many, of which at
 * most `capacity` are put into `all`. */
static inline uint32_t pto_observed_siblings(struct pto_port *port, const struct pto_message *message,
                                             struct pto_message *all, uint32_t capacity) {
  return port->ops->observed->siblings(port, message, all, capacity);
}
/* After the first run of a unit: what that has touched.  It holds for the runs behind it. */
static inline const struct pto_observed_local *pto_observed_unit_local(struct pto_port *port) {
  return port->ops->observed->local(port);
}

/* Of a core of a unit that waits, between its runs too: it stays where it is, and as the last run left it. */
static inline struct pto_observed_own pto_observed_unit_own(struct pto_port *port, uint32_t core) {
  return port->ops->observed->own(port, core);
}

/* ---- for engines ---- */

/* The local memory of the message's core as a run begins with it. */
void pto_observed_call_fill_local(const struct pto_message *message, const struct pto_core *view,
                                  const struct pto_observed_local *local, struct pto_observed_fill fill);
/* What local variables begin with that a kernel which does not wait has not set, in runs that are not the first: this
 * value in each byte.  To be called right before it. */
void pto_observed_call_dirty_stack(uint8_t value);
/* What a call sees that sees itself on this core, which is not its own. */
struct pto_core pto_observed_call_move(const struct pto_message *message, const struct pto_core *view,
                                       uint32_t core_count, enum pto_observed_core core);
/* What one call states or has touched, into `local` where that is less. */
void pto_observed_call_measure_local(const struct pto_message *message, struct pto_core *view,
                                     struct pto_observed_local *local);

#endif
