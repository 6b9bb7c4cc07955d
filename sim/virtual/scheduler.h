/* SPDX-License-Identifier: MIT */
/*
 * A scheduler of the chip in virtual time: one clock and the things that it has yet to do, in the order in which they
 * came up.
 *
 * Two queues: completions that its cores made visible, and messages that others asked it to send, equal times in order
 * of asking.  It does one thing at a time, the earliest first, a completion before a message of the same time:
 *   next_at = max(clock, earliest in either queue), PTO_VIRTUAL_NEVER where both are empty.
 *
 * Owns nothing; the engine lends the queues' memory.  One thread.
 */
#ifndef PTO_SIM_VIRTUAL_SCHEDULER_H
#define PTO_SIM_VIRTUAL_SCHEDULER_H

#include <sim/virtual/core.h>

struct pto_virtual_scheduler {
  uint64_t clock;
  struct pto_event_queue completions, messages; /* all of rank 0 */
};

/* next_at, of what it holds now. */
static inline uint64_t pto_virtual_scheduler_next_at(const struct pto_virtual_scheduler *scheduler) {
  return pto_max_u64(scheduler->clock, pto_min_u64(scheduler->completions.next_at, scheduler->messages.next_at));
}

/* What it does next; only where next_at is not NEVER. */
static inline bool pto_virtual_scheduler_has_completion_next(const struct pto_virtual_scheduler *scheduler) {
  return scheduler->completions.next_at <= scheduler->messages.next_at;
}

#endif
