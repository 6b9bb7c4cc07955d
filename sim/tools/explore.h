/* SPDX-License-Identifier: MIT */
/*
 * The explore engine: one thread that does one thing after the other, and asks a chooser what comes next.
 *
 * A step is a kernel call, or the orchestration going on behind its next submit or host access.  Of a kernel that waits
 * a step is the piece up to its next call of pto/core.h, to where that waits, or to where it has handed over a signal
 * or an element: what a piece does is not taken apart.  Behind each submit and each host access, before the
 * orchestration's own code that follows it, and whenever it waits, the chooser is given all that may happen now, and
 * names one.  Every ready task has a core of its own as long as there are any (PTO_EXPLORE_CLUSTERS clusters, one slot
 * a core, whatever the chip has), so dispatch restricts the order no further than the program and the rules do;
 * programs are told of the chip's own clusters.  The same choices give the same run, to the byte.
 *
 * Always true: candidates stand in natural order: calls by task, block, role and piece, and last the orchestration,
 * where it can go on.  Choosing the first of them always is sequential execution, the reference of every comparison: a
 * task runs within its submit, and what the orchestration does next by pointers sees what it wrote.
 *
 * Position: how far the orchestration has come: submits, host accesses, and whether it has done its own code behind the
 * last of them and waits now, for the next one or for the end.  It goes up only.  Where the orchestration had to wait,
 * it goes on by itself as soon as it can: that is no choice, and no step.
 *
 * A log says what comes next, and keeps the steps.  Runs that share one, on one engine or on several, one behind the
 * other, are as one run: tasks and positions are numbered on.  Without a log the first candidate is made, always.
 *
 * Threads: all on the control thread.  Local memories hold what the last kernel left, those of kernels that wait their
 * own.  Made by pto_runtime_create for the engine "explore", which is for tools: the many cores are no good for
 * anything else.
 */
#ifndef PTO_SIM_TOOLS_EXPLORE_H
#define PTO_SIM_TOOLS_EXPLORE_H

#include <runtime/base/reserve.h>
#include <runtime/port/port.h>
#include <sim/chips/chip.h>

#define PTO_EXPLORE_CLUSTERS PTO_CHIP_MAX_CLUSTERS
/* Steps of a run that are kept; further ones are made and not kept. */
#define PTO_EXPLORE_MAX_STEPS (UINT64_C(1) << 24)

enum pto_explore_kind {
  PTO_EXPLORE_CALL = 0,
  PTO_EXPLORE_GO_ON /* the orchestration */
};

/* One step.  Compared as a value: no padding. */
struct pto_explore_event {
  uint64_t task; /* of a call: in submission order; else 0 */
  uint32_t block_index;
  uint16_t piece; /* of a kernel that waits: how often it was interrupted before */
  uint8_t role;
  uint8_t kind; /* enum pto_explore_kind */
};
_Static_assert(sizeof(struct pto_explore_event) == 16, "no padding");

/* A step that was made, and where the orchestration stood then. */
struct pto_explore_step {
  struct pto_explore_event event;
  uint64_t position;
  const void *call; /* what a later piece is behind returns to; NULL: not known, or it is none */
};

#define PTO_EXPLORE_WAITS UINT64_C(1)
static inline uint64_t pto_explore_position(uint64_t submits, uint64_t accesses) {
  return submits << 1 | accesses << 32;
}
static inline uint64_t pto_explore_submits(uint64_t position) { return (position & UINT32_MAX) >> 1; }
static inline uint64_t pto_explore_accesses(uint64_t position) { return position >> 32; }

/* Natural order: < 0, 0, > 0. */
int pto_explore_event_compare(const struct pto_explore_event *a, const struct pto_explore_event *b);

struct pto_explore_chooser {
  /* An index below `count` > 0. */
  uint32_t (*choose)(void *context, const struct pto_explore_event *candidates, uint32_t count, uint64_t position);
  void *context;
};

/* The caller that asks for the runs owns it; the engine writes to it during runs alone. */
struct pto_explore_log {
  struct pto_explore_chooser chooser; /* zeroed: the first candidate, always */
  struct pto_explore_step *steps;     /* step_count ≤ PTO_EXPLORE_MAX_STEPS of them */
  uint64_t step_count;
  uint64_t decisions; /* how often it was asked what comes next */
  uint64_t position;  /* of the orchestration at the end of the last run */
  struct pto_reserve memory;
};
/* False where there is no address space.  fini of a zeroed one is allowed. */
PTO_MUST_CHECK bool pto_explore_log_init(struct pto_explore_log *log);
void pto_explore_log_fini(struct pto_explore_log *log);
/* Between runs: forgets what was made; numbers begin at 0.  `chooser` is copied; NULL: the first candidate, always. */
void pto_explore_log_begin(struct pto_explore_log *log, const struct pto_explore_chooser *chooser);

/* Between runs: those that come write to `log`, which is borrowed; NULL: to none.  False where the port is of another
 * engine. */
bool pto_engine_explore_set_log(struct pto_port *port, struct pto_explore_log *log);

#endif
