/* SPDX-License-Identifier: MIT */
/*
 * Scheduler: gives ready tasks to cores.
 *
 * A queue for each shape (which cores a block needs), and a second one for sync_start tasks of that shape, so that a
 * task that has to wait for many cores at once holds up nobody of its shape.  Between queues the policy's order decides
 * (fifo: whoever became ready first).  A task that needs several cores at once and cannot have them *claims* cores:
 * tasks that became ready later do not get those any more, all others go on.  One claimant at a time; so nothing
 * starves, and nothing waits for more than the tasks before it.
 *
 * sync_start: all blocks are sent when, and only when, as many idle cores as it needs stand claimed.
 *
 * Control thread only.  Sends messages through the port; a slot's state goes READY → RUNNING with its first message.
 */
#ifndef PTO_SCHEDULER_H
#define PTO_SCHEDULER_H

#include <runtime/sched/core_tracker.h>
#include <runtime/sched/ready_queue.h>
#include <runtime/task/task_ring.h>

/* Which cores a block needs.  X(name, needs AIC, AIV cores) */
#define PTO_SHAPE_LIST(X)                                                                                              \
  X(PTO_SHAPE_AIC, 1, 0)                                                                                               \
  X(PTO_SHAPE_AIV, 0, 1)                                                                                               \
  X(PTO_SHAPE_AIV_X2, 0, 2)                                                                                            \
  X(PTO_SHAPE_MIX_X1, 1, 1)                                                                                            \
  X(PTO_SHAPE_MIX_X2, 1, 2)
enum pto_shape {
#define X(name, aic, aiv) name,
  PTO_SHAPE_LIST(X)
#undef X
      PTO_SHAPE_COUNT
};
#define PTO_QUEUE_COUNT (2 * PTO_SHAPE_COUNT) /* shapes, then the same for sync_start */

struct pto_scheduler {
  struct pto_reserve memory;
  struct pto_port *port;
  struct pto_task_rings *rings;
  struct pto_core_tracker cores;
  struct pto_ready_queue queues[PTO_QUEUE_COUNT];
  uint32_t nonempty;    /* bits by queue */
  uint32_t ready_count; /* in queues, and the claimant */
  uint32_t next_order;
  enum pto_policy policy;
  struct pto_rng rng;
  uint64_t seed;
  struct pto_ready_item claimant; /* out of its queue, tried before all others; slot PTO_NO_SLOT: none */
  uint32_t last_own[2];           /* the AIV and the AIC of the control thread's own tasks; UINT32_MAX: none chosen */
  uint32_t last_new[2];           /* the same, of those that it took when they were new */
  uint64_t dispatched;            /* kernel calls of the run */
  uint64_t *ready_at;             /* by slot, once ready, in virtual time: the port's clock then */
};
#define PTO_NO_SLOT UINT32_MAX

/* "fifo", "lifo", "random:SEED"; false where the text is none of these. */
bool pto_policy_parse(const char *text, enum pto_policy *policy, uint64_t *seed);
/* Syntax of the policies by index, for lists; NULL past the end. */
const char *pto_policy_syntax_at(uint32_t index);

bool pto_scheduler_init(struct pto_scheduler *scheduler, struct pto_port *port, struct pto_task_rings *rings,
                        enum pto_policy policy, uint64_t seed);
void pto_scheduler_fini(struct pto_scheduler *scheduler);
void pto_scheduler_reset(struct pto_scheduler *scheduler);

/* A task whose producers have completed and that has a kernel; payload, shape, flags and block counts are set. */
void pto_scheduler_push(struct pto_scheduler *scheduler, uint32_t slot);
/* The same, and may send it at once where nobody else waits and time is real; a dispatch is to follow. */
void pto_scheduler_ready(struct pto_scheduler *scheduler, uint32_t slot);
/* The same, and sends it at once where nobody of its shape waits before it. */
void pto_scheduler_offer(struct pto_scheduler *scheduler, uint32_t slot);
/* A block of a task with SERIAL_BLOCKS has completed and more are left. */
void pto_scheduler_push_again(struct pto_scheduler *scheduler, uint32_t slot);
/* Before a row of tasks that the control thread runs itself, with no dispatch in between; false where there is none, or
 * a dispatch comes first. */
bool pto_scheduler_begin_row(struct pto_scheduler *scheduler);
/* Takes the next task of the row, while work is fine grained or short, and fills in its message; false where the row
 * ends. */
bool pto_scheduler_take_own(struct pto_scheduler *scheduler, struct pto_message *message);
/* A core for pto_scheduler_take_new; UINT32_MAX where none is idle. */
uint32_t pto_scheduler_pick_new(struct pto_scheduler *scheduler, bool is_aic);
/* Sends what can be sent. */
void pto_scheduler_dispatch(struct pto_scheduler *scheduler);
/* Drops everything that has not been sent: the run has failed. */
void pto_scheduler_abandon(struct pto_scheduler *scheduler);

/* The message of a task that is SINGLE. */
static inline void pto_scheduler_fill_single(uint32_t slot_index, const struct pto_payload *payload, uint32_t core,
                                             struct pto_message *message) {
  message->payload = payload;
  message->run = payload->kernels[payload->first_role]->run;
  message->ticket = slot_index;
  message->block_index = 0;
  message->core = (uint16_t)core;
  message->role = payload->first_role;
  message->tensor_count = payload->tensor_count;
  message->scalar_count = payload->scalar_count;
  message->flags = payload->no_flags;
  message->meeting = 0;
}

/* Takes a SINGLE task that has become ready but is in no queue, where work is fine grained and nobody waits before it,
 * and fills in its message: the control thread is to run it at once.  False where it is to be offered.  Where nobody
 * waits, nobody has claimed anything: of the core that the last one ran on it is asked only whether it has been sent
 * something since. */
static inline bool pto_scheduler_take_new(struct pto_scheduler *scheduler, uint32_t slot_index,
                                          struct pto_task_slot *slot, const struct pto_payload *payload,
                                          struct pto_message *message) {
  if (PTO_UNLIKELY(!scheduler->port->is_fine_grained || scheduler->ready_count || !scheduler->cores.has_home ||
                   scheduler->policy != PTO_POLICY_FIFO))
    return false;
  const bool is_aic = slot->shape == PTO_SHAPE_AIC;
  uint32_t core = scheduler->last_new[is_aic];
  if (PTO_UNLIKELY(core == UINT32_MAX || scheduler->cores.load[core] || scheduler->port->trace)) {
    core = pto_scheduler_pick_new(scheduler, is_aic);
    if (core == UINT32_MAX) return false;
  }
  slot->state = PTO_TASK_RUNNING;
  scheduler->dispatched++;
  pto_scheduler_fill_single(slot_index, payload, core, message);
  return true;
}

/* Whether a sync_start task of this shape and block count can ever start on the chip. */
bool pto_scheduler_can_ever_fit(const struct pto_scheduler *scheduler, enum pto_shape shape, uint32_t block_count);
static inline uint32_t pto_shape_message_count(uint32_t shape) {
  static const uint8_t counts[] = {
#define X(name, aic, aiv) aic + aiv,
      PTO_SHAPE_LIST(X)
#undef X
  };
  return counts[shape];
}

#endif
