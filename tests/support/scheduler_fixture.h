/* SPDX-License-Identifier: MIT */
/*
 * For tests of the scheduler: one scheduler over a port that only keeps what it is sent.
 *
 * A test opens it, makes or pushes tasks, dispatches, looks into `sent`, and completes messages when it likes. Each
 * program that includes this has its own.
 */
#ifndef PTO_SCHEDULER_FIXTURE_H
#define PTO_SCHEDULER_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <runtime/sched/scheduler.h>

#define WINDOW 128u
#define MAX_CLUSTERS 70u
#define MAX_CORES (MAX_CLUSTERS * PTO_LANES)
#define MAX_SENT 100000u

/* ---- the port ---- */

static struct pto_port port;
static struct pto_message sent[MAX_SENT];
static bool is_done[MAX_SENT];
static uint8_t load_then[MAX_SENT]; /* of the core, the message counted */
static uint32_t sent_count, done_count;
static uint64_t last_ready_at;

static inline bool keep(struct pto_port *self, const struct pto_message *message, uint64_t ready_at,
                        struct pto_completion *completion);
static const struct pto_port_ops ops = {.dispatch = keep};

/* ---- a scheduler with tasks ---- */

static struct pto_task_rings rings;
static struct pto_scheduler scheduler;
static _Alignas(PTO_OUTPUT_ALIGN) char arena[PTO_RING_COUNT * PTO_OUTPUT_ALIGN];
static struct pto_payload payloads[WINDOW * PTO_RING_COUNT];

static inline bool keep(struct pto_port *self, const struct pto_message *message, uint64_t ready_at,
                        struct pto_completion *completion) {
  (void)self;
  (void)completion;
  last_ready_at = ready_at;
  assert_true(sent_count < MAX_SENT);
  is_done[sent_count] = false;
  load_then[sent_count] = (uint8_t)(scheduler.cores.load[message->core] + 1);
  sent[sent_count++] = *message;
  return false;
}

static inline int run_nothing(const struct pto_kernel_args *a) {
  (void)a;
  return 0;
}
static const struct pto_kernel kernel = {.name = "nothing", .cores = PTO_AIC | PTO_AIV, .run = run_nothing};

static inline void open_policy(uint32_t clusters, uint32_t slots, enum pto_policy policy, uint64_t seed) {
  port = (struct pto_port){.ops = &ops, .cluster_count = clusters, .slots_per_core = slots, .worker_count = 2};
  sent_count = done_count = 0;
  assert_true(pto_task_rings_init(&rings, WINDOW, arena, PTO_OUTPUT_ALIGN));
  pto_task_rings_reset(&rings, 0);
  assert_true(pto_scheduler_init(&scheduler, &port, &rings, policy, seed));
}
static inline void open_fifo(uint32_t clusters, uint32_t slots) { open_policy(clusters, slots, PTO_POLICY_FIFO, 0); }
static inline void close_all(void) {
  pto_scheduler_fini(&scheduler);
  pto_task_rings_fini(&rings);
}

/* A task that lacks nothing, as submit leaves it; not pushed yet. */
static inline uint32_t make_task(enum pto_shape shape, uint32_t blocks, uint32_t flags) {
  static const bool roles[PTO_SHAPE_COUNT][3] = {
      {true, false, false}, {false, true, false}, {false, true, true}, {true, true, false}, {true, true, true}};
  uint32_t index = pto_task_ring_alloc(&rings, &rings.rings[0]);
  struct pto_task_slot *slot = &rings.slots[index];
  slot->shape = (uint8_t)shape;
  const bool is_single = shape <= PTO_SHAPE_AIV && blocks == 1 && !(flags & (PTO_TASK_SYNC_START | PTO_TASK_WAITS));
  slot->flags = (uint8_t)(flags | (is_single ? PTO_TASK_SINGLE : 0));
  slot->block_count = slot->blocks_left = blocks;
  slot->messages_left = blocks * pto_shape_message_count(shape);
  slot->pending = 0;
  slot->payload = &payloads[index];
  payloads[index] = (struct pto_payload){.block_count = blocks,
                                         .first_role = roles[shape][0]   ? 0
                                                       : roles[shape][1] ? 1
                                                                         : 2};
  for (uint32_t i = 0; i < 3; i++) payloads[index].kernels[i] = roles[shape][i] ? &kernel : NULL;
  return index;
}
static inline uint32_t push(enum pto_shape shape, uint32_t blocks, uint32_t flags) {
  uint32_t slot = make_task(shape, blocks, flags);
  pto_scheduler_enqueue(&scheduler, slot);
  assert_int_equal(rings.slots[slot].state, PTO_TASK_READY);
  return slot;
}
static inline void dispatch(void) {
  pto_scheduler_dispatch(&scheduler);
  assert_true(pto_core_tracker_is_valid(&scheduler.cores));
}

/* What the control thread does with a completion. */
static inline void complete(uint32_t at) {
  struct pto_task_slot *slot = &rings.slots[sent[at].ticket];
  assert_false(is_done[at]);
  is_done[at] = true;
  done_count++;
  pto_core_tracker_pop(&scheduler.cores, sent[at].core);
  if (--slot->messages_left == 0) {
    slot->state = PTO_TASK_COMPLETED;
    rings.rings[0].open_begin = rings.rings[0].released_end = rings.rings[0].head;
    pto_task_ring_retire(&rings, 0);
  } else if (slot->flags & PTO_TASK_SEQUENTIAL_BLOCKS && slot->blocks_left &&
             slot->messages_left == slot->blocks_left * pto_shape_message_count(slot->shape)) {
    pto_scheduler_requeue(&scheduler, sent[at].ticket);
  }
}

static inline uint32_t lane_of(uint32_t at) { return sent[at].core % PTO_LANES; }
static inline uint32_t cluster_of(uint32_t at) { return sent[at].core / PTO_LANES; }

#endif
