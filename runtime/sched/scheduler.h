/* SPDX-License-Identifier: MIT */
/*
 * Scheduler: gives ready tasks to cores.
 *
 * A queue for each shape (which cores a block needs), and a second one for sync_start tasks of that shape, so that a
 * task that has to wait for many cores at once holds up no others of its shape.  Between queues the policy's order
 * decides (fifo: the task that became ready first).  A task that needs several cores at once and cannot have them
 * *claims* cores: tasks that became ready later do not get those any more, all others go on.  One claimant at a time;
 * so nothing starves, and nothing waits for more than the tasks before it.
 *
 * sync_start: all blocks are sent when, and only when, as many idle cores as it needs stand claimed.  One block on one
 * core waits for room alone.
 *
 * Always true: a task is in at most one queue, once, or is the claimant; ready_count = tasks in queues, and 1 for the
 * claimant; a queue's bit in `nonempty` says whether it has a task.
 *
 * Owns queues and core tracker; the runtime owns it, and it borrows port and rings.  Control thread only.  Sends
 * messages through the port; a slot's state goes READY → RUNNING with its first message.
 */
#ifndef PTO_SCHEDULER_H
#define PTO_SCHEDULER_H

#include <runtime/sched/core_tracker.h>
#include <runtime/sched/policy.h>
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
/* Kernels that may run within one call before the caller looks at what else has completed. */
#define PTO_SCHEDULER_DONE 16u

/* helgrind and drd see a race between threads alone: for them each core keeps to its own thread. */
#ifdef PTO_ANNOTATE
#define PTO_SCHEDULER_MAY_MOVE 0
#else
#define PTO_SCHEDULER_MAY_MOVE PTO_MESSAGE_MAY_MOVE
#endif

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
  uint64_t dispatched;            /* kernel calls of the run */
  const uint16_t *core_of_task;   /* by task number, below placed_count: where it goes; NULL: anywhere */
  uint64_t placed_count;
  /* Of kernels that the port ran within their dispatch.  The caller takes them after each call that may send, and sets
   * the count to 0; while it is full nothing more is sent. */
  struct pto_completion done[PTO_SCHEDULER_DONE];
  uint32_t done_count;
};
#define PTO_NO_SLOT UINT32_MAX

/* Of a text of PTO_POLICY_LIST, with a number for SEED; false where it is none. */
bool pto_policy_parse(const char *text, enum pto_policy *policy, uint64_t *seed);
/* Syntax of the policies by index, for lists; NULL past the end. */
const char *pto_policy_syntax_at(uint32_t index);

bool pto_scheduler_init(struct pto_scheduler *scheduler, struct pto_port *port, struct pto_task_rings *rings,
                        enum pto_policy policy, uint64_t seed);
void pto_scheduler_fini(struct pto_scheduler *scheduler);
void pto_scheduler_reset(struct pto_scheduler *scheduler);

/* A task whose producers have completed and that has a kernel; payload, shape, flags and block counts are set. */
void pto_scheduler_enqueue(struct pto_scheduler *scheduler, uint32_t slot);
/* A block of a task with SEQUENTIAL_BLOCKS has completed and more are left. */
void pto_scheduler_requeue(struct pto_scheduler *scheduler, uint32_t slot);
/* Sends what can be sent. */
void pto_scheduler_dispatch(struct pto_scheduler *scheduler);
/* Drops everything that has not been sent: the run has failed. */
void pto_scheduler_abandon(struct pto_scheduler *scheduler);

/* ---- a task of one kernel, once, on one core ---- */

/* Whether the task is that, and nothing waits before it. */
static inline bool pto_scheduler_takes_single(const struct pto_scheduler *scheduler, const struct pto_task_slot *slot) {
  const uint8_t mask = PTO_TASK_SINGLE | PTO_TASK_NO_KERNEL | PTO_TASK_HAS_PREDICATE;
  return (slot->flags & mask) == PTO_TASK_SINGLE && !scheduler->ready_count;
}

/* The one place where a message is filled. */
static inline struct pto_message pto_scheduler_message(const struct pto_payload *payload, uint32_t slot_index,
                                                       uint32_t core, uint32_t role, uint32_t block_index,
                                                       uint8_t flags) {
  return (struct pto_message){.payload = payload,
                              .run = payload->kernels[role]->run,
                              .ticket = slot_index,
                              .block_index = block_index,
                              .core = (uint16_t)core,
                              .role = (uint8_t)role,
                              .tensor_count = payload->tensor_count,
                              .scalar_count = payload->scalar_count,
                              .flags = flags};
}

/* True where its kernel was run by it: *completion says how. */
static inline bool pto_scheduler_send(struct pto_scheduler *scheduler, const struct pto_message *message,
                                      uint64_t ready_at, struct pto_completion *completion) {
  struct pto_port *port = scheduler->port;
  scheduler->dispatched++;
  PTO_PROBE2(dispatch, message->payload->task_number, message->core);
  if (port->ops->dispatch(port, message, ready_at, completion)) return true;
  pto_core_tracker_push(&scheduler->cores, message->core, message->ticket);
  return false;
}

enum pto_placed { PTO_NOT_PLACED, PTO_PLACED, PTO_PLACED_AND_RUN };

/* The core that a caller wants this task on, where it has room; UINT32_MAX: it has none. */
uint32_t pto_scheduler_placed_core(const struct pto_scheduler *scheduler, const struct pto_task_slot *slot);

/* Sends it where it finds a core that no task has claimed; where it was run by that, *completion says how. */
static inline enum pto_placed pto_scheduler_place_single(struct pto_scheduler *scheduler, struct pto_task_slot *slot,
                                                         uint32_t slot_index, uint64_t ready_at,
                                                         struct pto_completion *completion) {
  const uint32_t core = PTO_UNLIKELY(scheduler->core_of_task)
                            ? pto_scheduler_placed_core(scheduler, slot)
                            : pto_core_tracker_pick_fast(&scheduler->cores, slot->shape == PTO_SHAPE_AIC);
  if (PTO_UNLIKELY(core == UINT32_MAX)) return PTO_NOT_PLACED;
  slot->state = PTO_TASK_RUNNING;
  slot->blocks_left = 0;
  const struct pto_payload *payload = slot->payload;
  const struct pto_message message =
      pto_scheduler_message(payload, slot_index, core, payload->first_role, 0, PTO_SCHEDULER_MAY_MOVE);
  return pto_scheduler_send(scheduler, &message, ready_at, completion) ? PTO_PLACED_AND_RUN : PTO_PLACED;
}

/* Blocks of this shape that a sync_start task can have on the chip. */
uint64_t pto_scheduler_room(const struct pto_scheduler *scheduler, enum pto_shape shape);
static inline uint32_t pto_shape_message_count(uint32_t shape) {
  static const uint8_t counts[] = {
#define X(name, aic, aiv) aic + aiv,
      PTO_SHAPE_LIST(X)
#undef X
  };
  return counts[shape];
}

#endif
