/* SPDX-License-Identifier: MIT */
/*
 * The scheduler over a port that only keeps what it is sent: which core, which role, which block, in which order.  A
 * test completes messages when it likes.  Random work is checked message by message, and must come to its end.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include <runtime/sched/scheduler.h>

#define WINDOW 128u
#define MAX_CLUSTERS 70u
#define MAX_CORES (MAX_CLUSTERS * PTO_LANES)
#define MAX_SENT 100000u

/* ---- the port ---- */

static struct pto_port port;
static uint16_t core_worker[MAX_CORES];
static struct pto_message sent[MAX_SENT];
static bool is_done[MAX_SENT];
static uint8_t load_then[MAX_SENT]; /* of the core, the message counted */
static uint32_t sent_count, done_count;
static uint64_t last_ready_at;

static void keep(struct pto_port *self, const struct pto_message *message, uint64_t ready_at);
static const struct pto_port_ops ops = {.dispatch = keep};

/* ---- a scheduler with tasks ---- */

static struct pto_task_rings rings;
static struct pto_scheduler scheduler;
static _Alignas(PTO_OUTPUT_ALIGN) char arena[PTO_RING_COUNT * PTO_OUTPUT_ALIGN];
static struct pto_payload payloads[WINDOW * PTO_RING_COUNT];

static void keep(struct pto_port *self, const struct pto_message *message, uint64_t ready_at) {
  (void)self;
  last_ready_at = ready_at;
  assert_true(sent_count < MAX_SENT);
  is_done[sent_count] = false;
  load_then[sent_count] = scheduler.cores.load[message->core];
  sent[sent_count++] = *message;
}

static int run_nothing(const struct pto_kernel_args *a) {
  (void)a;
  return 0;
}
static const struct pto_kernel kernel = {.name = "nothing", .cores = PTO_AIC | PTO_AIV, .run = run_nothing};

static void open_policy(uint32_t clusters, uint32_t slots, enum pto_policy policy, uint64_t seed) {
  for (uint32_t i = 0; i < clusters * PTO_LANES; i++) core_worker[i] = (uint16_t)(i % 2);
  port = (struct pto_port){
      .ops = &ops, .cluster_count = clusters, .slots_per_core = slots, .worker_count = 2, .core_worker = core_worker};
  sent_count = done_count = 0;
  assert_true(pto_task_rings_init(&rings, WINDOW, arena, PTO_OUTPUT_ALIGN));
  pto_task_rings_reset(&rings, 0);
  assert_true(pto_scheduler_init(&scheduler, &port, &rings, policy, seed));
}
static void open_fifo(uint32_t clusters, uint32_t slots) { open_policy(clusters, slots, PTO_POLICY_FIFO, 0); }
static void close_all(void) {
  pto_scheduler_fini(&scheduler);
  pto_task_rings_fini(&rings);
}

/* A task that lacks nothing, as submit leaves it; not pushed yet. */
static uint32_t make_task(enum pto_shape shape, uint32_t blocks, uint32_t flags) {
  static const bool roles[PTO_SHAPE_COUNT][3] = {
      {true, false, false}, {false, true, false}, {false, true, true}, {true, true, false}, {true, true, true}};
  uint32_t index = pto_task_ring_alloc(&rings, 0);
  struct pto_task_slot *slot = &rings.slots[index];
  slot->shape = (uint8_t)shape;
  const bool is_single = shape <= PTO_SHAPE_AIV && blocks == 1 && !(flags & (PTO_TASK_SYNC_START | PTO_TASK_MEETS));
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
static uint32_t push(enum pto_shape shape, uint32_t blocks, uint32_t flags) {
  uint32_t slot = make_task(shape, blocks, flags);
  pto_scheduler_push(&scheduler, slot);
  assert_int_equal(rings.slots[slot].state, PTO_TASK_READY);
  return slot;
}
static void dispatch(void) {
  pto_scheduler_dispatch(&scheduler);
  assert_true(pto_core_tracker_is_valid(&scheduler.cores));
}

/* What the control thread does with a completion. */
static void complete(uint32_t at) {
  struct pto_task_slot *slot = &rings.slots[sent[at].ticket];
  assert_false(is_done[at]);
  is_done[at] = true;
  done_count++;
  pto_core_tracker_pop(&scheduler.cores, sent[at].core);
  if (--slot->messages_left == 0) {
    slot->state = PTO_TASK_COMPLETED;
    rings.rings[0].open_begin = rings.rings[0].head;
    pto_task_ring_retire(&rings, 0);
  } else if (slot->flags & PTO_TASK_SERIAL_BLOCKS && slot->blocks_left &&
             slot->messages_left == slot->blocks_left * pto_shape_message_count(slot->shape)) {
    pto_scheduler_push_again(&scheduler, sent[at].ticket);
  }
}

static uint32_t lane_of(uint32_t at) { return sent[at].core % PTO_LANES; }
static uint32_t cluster_of(uint32_t at) { return sent[at].core / PTO_LANES; }

/* ---- shapes and cores ---- */

static void test_each_shape_goes_to_the_cores_it_needs_in_one_cluster(void **state) {
  (void)state;
  for (uint32_t shape = 0; shape < PTO_SHAPE_COUNT; shape++) {
    open_fifo(2, 2);
    uint32_t slot = push((enum pto_shape)shape, 1, 0);
    dispatch();
    assert_int_equal(sent_count, pto_shape_message_count(shape));
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < sent_count; i++) {
      assert_int_equal(sent[i].ticket, slot);
      assert_int_equal(cluster_of(i), cluster_of(0));
      assert_int_equal(sent[i].role == 0, lane_of(i) == 0);
      assert_false(lanes & (1u << lane_of(i)));
      lanes |= 1u << lane_of(i);
    }
    assert_int_equal(lanes & 1, shape == PTO_SHAPE_AIC || shape >= PTO_SHAPE_MIX_X1);
    assert_int_equal(rings.slots[slot].state, PTO_TASK_RUNNING);
    assert_int_equal(scheduler.ready_count, 0);
    close_all();
  }
}

static void test_a_lone_kernel_in_the_second_AIV_place_keeps_its_role(void **state) {
  (void)state;
  open_fifo(1, 1);
  uint32_t slot = make_task(PTO_SHAPE_AIV, 1, 0);
  payloads[slot].kernels[1] = NULL;
  payloads[slot].kernels[2] = &kernel;
  pto_scheduler_push(&scheduler, slot);
  dispatch();
  assert_int_equal(sent_count, 1);
  assert_int_equal(sent[0].role, 2);
  close_all();
}

static void test_cores_never_get_more_than_their_slots_and_the_rest_waits(void **state) {
  (void)state;
  open_fifo(1, 2);
  for (int i = 0; i < 5; i++) push(PTO_SHAPE_AIC, 1, 0);
  dispatch();
  assert_int_equal(sent_count, 2);
  assert_int_equal(scheduler.ready_count, 3);
  dispatch(); /* nothing has changed */
  assert_int_equal(sent_count, 2);
  complete(0);
  dispatch();
  assert_int_equal(sent_count, 3);
  close_all();
}

static void test_a_full_kind_of_core_does_not_hold_up_the_other(void **state) {
  (void)state;
  open_fifo(1, 1);
  push(PTO_SHAPE_AIC, 1, 0);
  push(PTO_SHAPE_AIC, 1, 0);
  uint32_t vector = push(PTO_SHAPE_AIV, 1, 0);
  dispatch();
  assert_int_equal(sent_count, 2);
  assert_int_equal(sent[1].ticket, vector);
  close_all();
}

static void test_blocks_beyond_the_cores_follow_as_cores_come_free_each_once_in_order(void **state) {
  (void)state;
  open_fifo(1, 1);
  push(PTO_SHAPE_AIV, 7, 0);
  for (uint32_t i = 0; i < 7; i++) {
    dispatch();
    assert_true(sent_count > i);
    assert_int_equal(sent[i].block_index, i);
    assert_true(sent[i].flags & PTO_MESSAGE_BLOCKS);
    complete(i);
  }
  dispatch();
  assert_int_equal(sent_count, 7);
  close_all();
}

static void test_serial_blocks_run_one_after_the_other(void **state) {
  (void)state;
  open_fifo(24, 2);
  push(PTO_SHAPE_AIV, 4, PTO_TASK_SERIAL_BLOCKS);
  for (uint32_t i = 0; i < 4; i++) {
    dispatch();
    assert_int_equal(sent_count, i + 1);
    assert_int_equal(sent[i].block_index, i);
    complete(i);
  }
  dispatch();
  assert_int_equal(sent_count, 4);
  assert_int_equal(scheduler.ready_count, 0);
  close_all();
}

/* ---- order ---- */

static void test_fifo_sends_in_the_order_of_becoming_ready_across_shapes(void **state) {
  (void)state;
  open_fifo(8, 2);
  uint32_t slots[6];
  static const enum pto_shape order[] = {PTO_SHAPE_MIX_X2, PTO_SHAPE_AIC, PTO_SHAPE_AIV,
                                         PTO_SHAPE_AIV_X2, PTO_SHAPE_AIC, PTO_SHAPE_MIX_X1};
  for (int i = 0; i < 6; i++) slots[i] = push(order[i], 1, 0);
  dispatch();
  for (uint32_t i = 0, at = 0; i < 6; at += pto_shape_message_count(order[i]), i++)
    assert_int_equal(sent[at].ticket, slots[i]);
  close_all();
}

static void test_lifo_sends_what_became_ready_last(void **state) {
  (void)state;
  open_policy(8, 2, PTO_POLICY_LIFO, 0);
  uint32_t slots[4];
  for (int i = 0; i < 4; i++) slots[i] = push(i % 2 ? PTO_SHAPE_AIC : PTO_SHAPE_AIV, 1, 0);
  dispatch();
  for (uint32_t i = 0; i < 4; i++) assert_int_equal(sent[i].ticket, slots[3 - i]);
  close_all();
}

static void first_tickets(uint64_t seed, uint32_t tickets[8]) {
  open_policy(8, 2, PTO_POLICY_RANDOM, seed);
  for (int i = 0; i < 8; i++) push(PTO_SHAPE_AIC, 1, 0);
  dispatch();
  for (uint32_t i = 0; i < 8; i++) tickets[i] = sent[i].ticket;
  close_all();
}

static void test_a_random_order_is_that_of_its_seed(void **state) {
  (void)state;
  uint32_t one[8], again[8], others = 0;
  first_tickets(1, one);
  first_tickets(1, again);
  assert_memory_equal(one, again, sizeof one);
  for (uint64_t seed = 2; seed < 12; seed++) {
    first_tickets(seed, again);
    others += memcmp(one, again, sizeof one) != 0;
  }
  assert_true(others >= 9);
}

static void test_a_reset_starts_the_random_order_again(void **state) {
  (void)state;
  open_policy(8, 2, PTO_POLICY_RANDOM, 5);
  uint32_t first[8];
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < 8; i++) push(PTO_SHAPE_AIC, 1, 0);
    dispatch();
    for (uint32_t i = 0; i < 8; i++) {
      if (round == 0)
        first[i] = sent[i].ticket % WINDOW;
      else
        assert_int_equal(sent[sent_count - 8 + i].ticket % WINDOW, first[i] + 8);
      complete(sent_count - 8 + i);
    }
    pto_scheduler_reset(&scheduler);
    assert_int_equal(scheduler.dispatched, 0);
  }
  close_all();
}

/* ---- several cores at once ---- */

static void test_sync_start_waits_until_all_its_blocks_have_idle_cores_and_marks_the_last(void **state) {
  (void)state;
  open_fifo(2, 2);
  push(PTO_SHAPE_AIC, 1, 0);
  dispatch();
  uint32_t together = push(PTO_SHAPE_MIX_X2, 2, PTO_TASK_SYNC_START);
  dispatch();
  assert_int_equal(sent_count, 1); /* cluster 0's AIC is busy, though it has room */
  complete(0);
  dispatch();
  assert_int_equal(sent_count, 1 + 6);
  for (uint32_t i = 1; i < 7; i++) {
    assert_int_equal(sent[i].ticket, together);
    assert_true(sent[i].flags & PTO_MESSAGE_TOGETHER);
    assert_int_equal((sent[i].flags & PTO_MESSAGE_LAST) != 0, i == 6);
  }
  close_all();
}

static void test_a_waiting_sync_start_lets_older_tasks_have_its_cores(void **state) {
  (void)state;
  open_fifo(1, 1);
  uint32_t older = push(PTO_SHAPE_AIV, 3, 0);
  dispatch(); /* two of its blocks are on their cores */
  uint32_t together = push(PTO_SHAPE_AIV, 2, PTO_TASK_SYNC_START);
  dispatch();
  assert_int_equal(scheduler.cores.claim_count, 2);
  complete(0);
  dispatch();
  assert_int_equal(sent_count, 3);
  assert_int_equal(sent[2].ticket, older);
  complete(1);
  complete(2);
  dispatch();
  assert_int_equal(sent_count, 5);
  assert_int_equal(sent[3].ticket, together);
  close_all();
}

static void test_a_waiting_sync_start_keeps_its_cores_from_younger_tasks_and_nothing_else(void **state) {
  (void)state;
  open_fifo(1, 1);
  push(PTO_SHAPE_AIV, 1, 0);
  dispatch(); /* one AIV is busy */
  uint32_t together = push(PTO_SHAPE_AIV, 2, PTO_TASK_SYNC_START);
  dispatch();
  assert_int_equal(sent_count, 1);
  push(PTO_SHAPE_AIV, 1, 0); /* fits the idle AIV, which is claimed */
  uint32_t cube = push(PTO_SHAPE_AIC, 1, 0);
  dispatch();
  assert_int_equal(sent_count, 2);
  assert_int_equal(sent[1].ticket, cube);
  complete(0);
  dispatch();
  assert_int_equal(sent_count, 4);
  assert_int_equal(sent[2].ticket, together);
  assert_int_equal(sent[3].ticket, together);
  close_all();
}

static void test_a_mix_task_is_not_starved_by_a_stream_of_single_core_tasks(void **state) {
  (void)state;
  static const enum pto_policy policies[] = {PTO_POLICY_FIFO, PTO_POLICY_LIFO, PTO_POLICY_RANDOM};
  for (size_t p = 0; p < PTO_ARRAY_LENGTH(policies); p++) {
    open_policy(1, 1, policies[p], 3);
    for (uint32_t i = 0; i < 4; i++) push(i % 2 ? PTO_SHAPE_AIC : PTO_SHAPE_AIV, 1, 0);
    dispatch();
    uint32_t mix = push(PTO_SHAPE_MIX_X2, 1, 0), steps = 0, at = 0;
    dispatch();
    while (rings.slots[mix].state != PTO_TASK_RUNNING) { /* one completes, one more of each kind becomes ready */
      assert_true(++steps < 20);
      complete(at++);
      push(PTO_SHAPE_AIC, 1, 0);
      push(PTO_SHAPE_AIV, 1, 0);
      dispatch();
    }
    close_all();
  }
}

/* Cluster 1 does, whether its AIC counts or not. */
static void test_a_task_of_several_cores_claims_the_cluster_that_holds_least(void **state) {
  (void)state;
  static const uint32_t busy[] = {1, 2, 3, 6, 7, 8};
  for (int needs_aic = 0; needs_aic < 2; needs_aic++) {
    open_fifo(3, 1);
    for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(busy); i++) pto_core_tracker_push(&scheduler.cores, busy[i], 0);
    if (!needs_aic) pto_core_tracker_push(&scheduler.cores, 5, 0); /* or it would be sent at once */
    push(needs_aic ? PTO_SHAPE_MIX_X2 : PTO_SHAPE_AIV_X2, 1, 0);
    dispatch();
    assert_int_equal(sent_count, 0);
    const uint64_t cluster = 1u << 1;
    assert_int_equal(scheduler.cores.claimed[0][0], needs_aic ? cluster : 0);
    assert_int_equal(scheduler.cores.claimed[1][0], cluster);
    assert_int_equal(scheduler.cores.claimed[2][0], cluster);
    close_all();
  }
}

static void test_a_sync_start_task_of_one_block_needs_no_idle_core(void **state) {
  (void)state;
  open_fifo(1, 2);
  pto_core_tracker_push(&scheduler.cores, 0, 0);
  pto_scheduler_offer(&scheduler, make_task(PTO_SHAPE_AIC, 1, PTO_TASK_SYNC_START));
  assert_int_equal(sent_count, 1);
  assert_int_equal(load_then[0], 2);
  assert_int_equal(sent[0].flags, PTO_MESSAGE_TOGETHER | PTO_MESSAGE_LAST);
  close_all();
}

static void test_in_virtual_time_a_message_says_when_its_task_became_ready(void **state) {
  (void)state;
  for (int is_virtual = 0; is_virtual < 2; is_virtual++) {
    open_fifo(1, 1);
    port.is_virtual = is_virtual;
    port.clock = 5;
    push(PTO_SHAPE_AIC, 1, 0);
    port.clock = 9;
    dispatch();
    assert_int_equal(sent_count, 1);
    assert_int_equal(last_ready_at, is_virtual ? 5 : 0);
    close_all();
  }
}

static void test_a_random_order_draws_the_first_task_too(void **state) {
  (void)state;
  uint32_t others = 0;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    open_policy(1, 1, PTO_POLICY_RANDOM, seed);
    const uint32_t first = push(PTO_SHAPE_AIC, 1, 0);
    for (int i = 0; i < 7; i++) push(PTO_SHAPE_AIC, 1, 0);
    dispatch();
    assert_int_equal(sent_count, 1);
    others += sent[0].ticket != first;
    close_all();
  }
  assert_true(others > 10);
}

static void test_what_can_never_start_together_is_known(void **state) {
  (void)state;
  open_fifo(12, 2);
  assert_true(pto_scheduler_can_ever_fit(&scheduler, PTO_SHAPE_AIV, 24));
  assert_false(pto_scheduler_can_ever_fit(&scheduler, PTO_SHAPE_AIV, 25));
  for (uint32_t shape = 0; shape < PTO_SHAPE_COUNT; shape++) {
    if (shape == PTO_SHAPE_AIV) continue;
    assert_true(pto_scheduler_can_ever_fit(&scheduler, (enum pto_shape)shape, 12));
    assert_false(pto_scheduler_can_ever_fit(&scheduler, (enum pto_shape)shape, 13));
  }
  close_all();
}

static void test_what_is_abandoned_is_not_sent_and_cores_drain(void **state) {
  (void)state;
  open_fifo(1, 1);
  push(PTO_SHAPE_AIV, 1, 0);
  dispatch();
  push(PTO_SHAPE_AIV, 2, PTO_TASK_SYNC_START);
  push(PTO_SHAPE_AIC, 3, 0);
  dispatch();
  uint32_t before = sent_count;
  pto_scheduler_abandon(&scheduler);
  for (uint32_t i = 0; i < before; i++) pto_core_tracker_pop(&scheduler.cores, sent[i].core);
  dispatch();
  assert_int_equal(sent_count, before);
  assert_int_equal(scheduler.ready_count, 0);
  assert_int_equal(scheduler.cores.in_flight, 0);
  assert_int_equal(scheduler.cores.claim_count, 0);
  close_all();
}

/* ---- random work ---- */

/* The messages [from, sent_count) of one dispatch. */
static void check_sent(uint32_t from) {
  for (uint32_t i = from; i < sent_count; i++) {
    const struct pto_message *m = &sent[i];
    const struct pto_task_slot *slot = &rings.slots[m->ticket];
    assert_true(m->block_index < slot->block_count);
    assert_non_null(slot->payload->kernels[m->role]);
    assert_ptr_equal(m->payload, slot->payload);
    assert_int_equal(m->role == 0, m->core % PTO_LANES == 0);
    assert_true(scheduler.cores.load[m->core] <= port.slots_per_core);
    if (i > from && sent[i - 1].ticket == m->ticket && sent[i - 1].block_index == m->block_index)
      assert_int_equal(cluster_of(i - 1), cluster_of(i));
    if (slot->flags & PTO_TASK_SYNC_START) {
      assert_int_equal(slot->blocks_left, 0); /* all or none */
      assert_int_equal(load_then[i], 1);
      assert_true(m->flags & PTO_MESSAGE_TOGETHER);
    }
  }
}

/* No single-core task that is ready could be sent: every core of its kind is full, or claimed. */
static void check_nothing_idles(void) {
  for (uint32_t shape = PTO_SHAPE_AIC; shape <= PTO_SHAPE_AIV; shape++) {
    if (!pto_ready_queue_count(&scheduler.queues[shape])) continue;
    assert_int_equal(pto_core_tracker_pick(&scheduler.cores, shape == PTO_SHAPE_AIC, false, false), UINT32_MAX);
  }
}

static void push_random(struct pto_rng *rng) {
  enum pto_shape shape = (enum pto_shape)pto_rng_below(rng, PTO_SHAPE_COUNT);
  uint32_t most = shape == PTO_SHAPE_AIV ? 2 * port.cluster_count : port.cluster_count;
  uint32_t kind = (uint32_t)pto_rng_below(rng, 8);
  if (kind == 0)
    push(shape, 1 + (uint32_t)pto_rng_below(rng, most), PTO_TASK_SYNC_START);
  else if (kind == 1)
    push(shape, 1 + (uint32_t)pto_rng_below(rng, 4), PTO_TASK_SERIAL_BLOCKS);
  else
    push(shape, kind == 2 ? 1 + (uint32_t)pto_rng_below(rng, 2 * most) : 1, 0);
}

static void complete_random(struct pto_rng *rng) {
  uint32_t skip = (uint32_t)pto_rng_below(rng, sent_count - done_count);
  for (uint32_t i = 0; i < sent_count; i++)
    if (!is_done[i] && skip-- == 0) {
      complete(i);
      return;
    }
}

static void test_random_work_is_sent_whole_to_the_right_cores_and_comes_to_its_end(void **state) {
  (void)state;
  static const uint32_t clusters[] = {1, 2, 3, 8, MAX_CLUSTERS};
  for (uint64_t seed = 1; seed <= 60; seed++) {
    struct pto_rng rng = {seed};
    uint64_t messages = 0;
    open_policy(clusters[seed % PTO_ARRAY_LENGTH(clusters)], 1 + (uint32_t)pto_rng_below(&rng, 3),
                (enum pto_policy)(seed % 3), seed);
    for (uint32_t left = 150; left || done_count < sent_count || scheduler.ready_count;) {
      if (left && !pto_task_ring_is_full(&rings, 0) && pto_rng_below(&rng, 2)) {
        push_random(&rng);
        const struct pto_task_slot *slot = &rings.slots[pto_task_slot_index(&rings, 0, rings.rings[0].head - 1)];
        messages += slot->messages_left;
        left--;
      } else if (done_count < sent_count) {
        complete_random(&rng);
      }
      uint32_t from = sent_count;
      dispatch();
      check_sent(from);
      check_nothing_idles();
      assert_int_equal(scheduler.cores.in_flight, sent_count - done_count);
      /* What is ready and cannot be sent waits for something that runs. */
      if (scheduler.ready_count) assert_true(sent_count > done_count);
    }
    assert_int_equal(sent_count, messages);
    assert_int_equal(scheduler.dispatched, messages);
    assert_int_equal(rings.rings[0].head, rings.rings[0].tail);
    close_all();
  }
}

/* ---- the rest ---- */

/* Cores of even numbers live on the control thread: of the first two clusters 0, an AIC, and 2 and 4, AIVs. */
static bool take_new(enum pto_shape shape, struct pto_message *message) {
  const uint32_t index = make_task(shape, 1, 0);
  struct pto_task_slot *slot = &rings.slots[index];
  const uint64_t dispatched = scheduler.dispatched;
  const bool is_taken = pto_scheduler_take_new(&scheduler, index, slot, slot->payload, message);
  assert_int_equal(slot->state, is_taken ? PTO_TASK_RUNNING : PTO_TASK_WAITING);
  assert_int_equal(scheduler.dispatched - dispatched, is_taken);
  if (!is_taken) return false;
  assert_int_equal(message->ticket, index);
  assert_ptr_equal(message->payload, slot->payload);
  assert_int_equal(message->core % 2, 0);
  assert_int_equal(message->core % PTO_LANES == 0, shape == PTO_SHAPE_AIC);
  assert_int_equal(scheduler.cores.load[message->core], 0);
  return true;
}
static void test_short_work_is_taken_as_it_comes_on_an_idle_core_of_the_control_thread(void **state) {
  (void)state;
  struct pto_message message;
  open_fifo(2, 1);
  assert_false(take_new(PTO_SHAPE_AIV, &message)); /* it is not known to be short */
  port.is_fine_grained = true;
  assert_true(take_new(PTO_SHAPE_AIV, &message));
  assert_int_equal(message.core, 2);
  assert_true(take_new(PTO_SHAPE_AIV, &message)); /* the same core again, which is warm */
  assert_int_equal(message.core, 2);
  assert_true(take_new(PTO_SHAPE_AIC, &message));
  assert_int_equal(message.core, 0);
  pto_core_tracker_push(&scheduler.cores, 2, 0); /* somebody has sent it something */
  assert_true(take_new(PTO_SHAPE_AIV, &message));
  assert_int_equal(message.core, 4);
  pto_core_tracker_push(&scheduler.cores, 4, 0);
  assert_false(take_new(PTO_SHAPE_AIV, &message));
  pto_core_tracker_pop(&scheduler.cores, 4);
  assert_true(take_new(PTO_SHAPE_AIV, &message));
  close_all();
}
static void test_short_work_is_not_taken_before_what_waits_nor_out_of_the_order_asked_for(void **state) {
  (void)state;
  struct pto_message message;
  open_fifo(2, 1);
  port.is_fine_grained = true;
  push(PTO_SHAPE_AIC, 1, 0);
  assert_false(take_new(PTO_SHAPE_AIV, &message));
  assert_true(pto_scheduler_begin_row(&scheduler));
  assert_true(pto_scheduler_take_own(&scheduler, &message));
  assert_true(take_new(PTO_SHAPE_AIV, &message));
  close_all();
  for (enum pto_policy policy = PTO_POLICY_FIFO; policy <= PTO_POLICY_RANDOM; policy++) {
    open_policy(2, 1, policy, 1);
    port.is_fine_grained = true;
    assert_int_equal(take_new(PTO_SHAPE_AIV, &message), policy == PTO_POLICY_FIFO);
    close_all();
  }
  open_fifo(1, 1); /* of whose AICs and AIVs the control thread has none or both */
  port.is_fine_grained = true;
  scheduler.cores.has_home = false;
  assert_false(take_new(PTO_SHAPE_AIV, &message));
  close_all();
}

/* Worker 1 has AIVs 1 and 5 of two clusters, and AIC 3. */
static void test_another_thread_is_given_short_work_up_to_a_limit_and_the_rest_is_left_to_be_taken(void **state) {
  (void)state;
  struct pto_message message;
  open_fifo(2, 8);
  port.away_limit = 8;
  for (uint32_t i = 0; i < 20; i++) push(PTO_SHAPE_AIV, 1, 0);
  dispatch();
  assert_int_equal(sent_count, 8);
  for (uint32_t i = 0; i < sent_count; i++) assert_int_equal(core_worker[sent[i].core], 1);
  assert_true(pto_scheduler_begin_row(&scheduler));
  for (uint32_t i = 0; i < 12; i++) {
    assert_true(pto_scheduler_take_own(&scheduler, &message));
    assert_int_equal(core_worker[message.core], 0);
    assert_int_equal(message.ticket, sent[7].ticket + 1 + i); /* the oldest first */
  }
  assert_false(pto_scheduler_take_own(&scheduler, &message));
  close_all();
}
static void test_of_few_short_tasks_another_thread_is_given_half_and_of_one_alone_nothing(void **state) {
  (void)state;
  for (uint32_t limit = 2; limit <= 32; limit += 5)
    for (uint32_t count = 1; count <= limit; count++) {
      open_fifo(20, 8);
      port.away_limit = limit;
      for (uint32_t i = 0; i < count; i++) push(PTO_SHAPE_AIV, 1, 0);
      dispatch();
      assert_int_equal(sent_count + scheduler.ready_count, count);
      assert_int_equal(sent_count, count == 1 ? 0 : (count + 1) / 2);
      close_all();
    }
}
static void test_short_tasks_that_others_made_ready_are_shared_before_a_row_of_them_begins(void **state) {
  (void)state;
  struct pto_message message;
  open_fifo(2, 8);
  port.away_limit = 8;
  for (uint32_t i = 0; i < 6; i++) pto_scheduler_ready(&scheduler, make_task(PTO_SHAPE_AIV, 1, 0));
  assert_int_equal(sent_count, 0);
  assert_true(pto_scheduler_begin_row(&scheduler));
  assert_int_equal(sent_count, 3);
  for (uint32_t i = 0; i < 3; i++) assert_true(pto_scheduler_take_own(&scheduler, &message));
  assert_false(pto_scheduler_take_own(&scheduler, &message));
  push(PTO_SHAPE_MIX_X2, 1, 0);
  push(PTO_SHAPE_MIX_X2, 1, 0);
  push(PTO_SHAPE_MIX_X2, 1, 0); /* for which cores are claimed */
  for (uint32_t core = 0; core < 6; core++)
    while (scheduler.cores.load[core] < 8) pto_core_tracker_push(&scheduler.cores, core, 0);
  assert_false(pto_scheduler_begin_row(&scheduler));
  assert_true(scheduler.claimant.slot != PTO_NO_SLOT);
  close_all();
}
static void test_a_short_task_that_is_new_goes_to_another_thread_that_has_nothing(void **state) {
  (void)state;
  open_fifo(2, 8);
  port.away_limit = 8;
  pto_scheduler_offer(&scheduler, make_task(PTO_SHAPE_AIV, 1, 0));
  assert_int_equal(sent_count, 1);
  assert_int_equal(core_worker[sent[0].core], 1);
  pto_scheduler_offer(&scheduler, make_task(PTO_SHAPE_AIV, 1, 0));
  assert_int_equal(sent_count, 1);
  close_all();
}
static void test_what_has_more_than_one_kernel_goes_to_all_threads_while_work_is_short(void **state) {
  (void)state;
  bool has_home_core = false;
  open_fifo(2, 8);
  port.away_limit = 8;
  push(PTO_SHAPE_AIV, 4, 0);
  dispatch();
  assert_int_equal(sent_count, 4);
  for (uint32_t i = 0; i < sent_count; i++) has_home_core |= core_worker[sent[i].core] == 0;
  assert_true(has_home_core);
  close_all();
  open_fifo(2, 8); /* nor is anything left to a control thread that cannot run it */
  port.away_limit = 1;
  scheduler.cores.has_home = false;
  for (uint32_t i = 0; i < 20; i++) push(PTO_SHAPE_AIV, 1, 0);
  dispatch();
  assert_int_equal(sent_count, 20);
  assert_false(pto_scheduler_begin_row(&scheduler));
  close_all();
}

static void test_long_tasks_go_to_other_threads_as_long_as_these_have_room(void **state) {
  (void)state;
  open_fifo(2, 2);
  port.is_long = true;
  for (uint32_t i = 0; i < 8; i++) push(PTO_SHAPE_AIV, 1, 0);
  dispatch();
  assert_int_equal(sent_count, 8);
  for (uint32_t i = 0; i < sent_count; i++) {
    assert_int_equal(core_worker[sent[i].core], i < 4 ? 1 : 0); /* which has two AIVs of two places */
    assert_true(sent[i].flags & PTO_MESSAGE_MAY_MOVE);
  }
  close_all();
  open_fifo(2, 2); /* where nothing could be taken back, they are spread */
  port.is_long = true;
  scheduler.cores.has_home = false;
  push(PTO_SHAPE_AIV, 1, 0);
  push(PTO_SHAPE_AIV, 1, 0);
  dispatch();
  assert_int_not_equal(core_worker[sent[0].core], core_worker[sent[1].core]);
  close_all();
}
static void test_only_what_is_alone_and_not_short_may_move(void **state) {
  (void)state;
  open_fifo(2, 8);
  push(PTO_SHAPE_AIV, 1, 0);
  dispatch();
  assert_int_equal(sent[0].flags, PTO_MESSAGE_MAY_MOVE);
  push(PTO_SHAPE_AIV, 2, 0);
  push(PTO_SHAPE_AIV, 1, PTO_TASK_SYNC_START);
  push(PTO_SHAPE_MIX_X2, 1, 0);
  port.away_limit = 8;
  push(PTO_SHAPE_AIV, 1, 0);
  push(PTO_SHAPE_AIV, 1, 0);
  dispatch();
  assert_true(sent_count > 5);
  for (uint32_t i = 1; i < sent_count; i++) assert_false(sent[i].flags & PTO_MESSAGE_MAY_MOVE);
  close_all();
}

static void test_policies_are_read_with_their_seed_and_nothing_else_is(void **state) {
  (void)state;
  enum pto_policy policy;
  uint64_t seed;
  seed = 7;
  assert_true(pto_policy_parse("fifo", &policy, &seed) && policy == PTO_POLICY_FIFO && seed == 0);
  seed = 7;
  assert_true(pto_policy_parse("lifo", &policy, &seed) && policy == PTO_POLICY_LIFO && seed == 0);
  assert_true(pto_policy_parse("random:18446744073709551615", &policy, &seed) && policy == PTO_POLICY_RANDOM);
  assert_int_equal(seed, UINT64_MAX);
  static const char *const wrong[] = {"",         "FIFO",      "fifo ",      "random",
                                      "random:",  "random:-1", "random: 1",  "random:1x",
                                      "random:x", "rand:1",    "random:+17", "random:18446744073709551616"};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(wrong); i++) assert_false(pto_policy_parse(wrong[i], &policy, &seed));
  uint32_t count = 0;
  while (pto_policy_syntax_at(count)) count++;
  assert_int_equal(count, 3);
}

static void test_each_refused_reservation_is_reported_and_leaves_nothing(void **state) {
  (void)state;
  open_fifo(24, 2);
  pto_scheduler_fini(&scheduler);
  uint32_t failures = 0;
  for (uint32_t n = 1;; n++, failures++) {
    pto_reserve_fail_countdown = n;
    bool is_made = pto_scheduler_init(&scheduler, &port, &rings, PTO_POLICY_FIFO, 0);
    pto_reserve_fail_countdown = 0;
    pto_scheduler_fini(&scheduler);
    assert_null(scheduler.memory.addr);
    assert_null(scheduler.cores.memory.addr);
    if (is_made) break;
  }
  assert_int_equal(failures, 2);
  pto_task_rings_fini(&rings);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_shape_goes_to_the_cores_it_needs_in_one_cluster),
      cmocka_unit_test(test_a_lone_kernel_in_the_second_AIV_place_keeps_its_role),
      cmocka_unit_test(test_cores_never_get_more_than_their_slots_and_the_rest_waits),
      cmocka_unit_test(test_a_full_kind_of_core_does_not_hold_up_the_other),
      cmocka_unit_test(test_blocks_beyond_the_cores_follow_as_cores_come_free_each_once_in_order),
      cmocka_unit_test(test_serial_blocks_run_one_after_the_other),
      cmocka_unit_test(test_fifo_sends_in_the_order_of_becoming_ready_across_shapes),
      cmocka_unit_test(test_lifo_sends_what_became_ready_last),
      cmocka_unit_test(test_a_random_order_is_that_of_its_seed),
      cmocka_unit_test(test_a_reset_starts_the_random_order_again),
      cmocka_unit_test(test_sync_start_waits_until_all_its_blocks_have_idle_cores_and_marks_the_last),
      cmocka_unit_test(test_a_waiting_sync_start_lets_older_tasks_have_its_cores),
      cmocka_unit_test(test_a_waiting_sync_start_keeps_its_cores_from_younger_tasks_and_nothing_else),
      cmocka_unit_test(test_a_mix_task_is_not_starved_by_a_stream_of_single_core_tasks),
      cmocka_unit_test(test_a_task_of_several_cores_claims_the_cluster_that_holds_least),
      cmocka_unit_test(test_a_sync_start_task_of_one_block_needs_no_idle_core),
      cmocka_unit_test(test_in_virtual_time_a_message_says_when_its_task_became_ready),
      cmocka_unit_test(test_a_random_order_draws_the_first_task_too),
      cmocka_unit_test(test_what_can_never_start_together_is_known),
      cmocka_unit_test(test_what_is_abandoned_is_not_sent_and_cores_drain),
      cmocka_unit_test(test_random_work_is_sent_whole_to_the_right_cores_and_comes_to_its_end),
      cmocka_unit_test(test_short_work_is_taken_as_it_comes_on_an_idle_core_of_the_control_thread),
      cmocka_unit_test(test_short_work_is_not_taken_before_what_waits_nor_out_of_the_order_asked_for),
      cmocka_unit_test(test_another_thread_is_given_short_work_up_to_a_limit_and_the_rest_is_left_to_be_taken),
      cmocka_unit_test(test_of_few_short_tasks_another_thread_is_given_half_and_of_one_alone_nothing),
      cmocka_unit_test(test_short_tasks_that_others_made_ready_are_shared_before_a_row_of_them_begins),
      cmocka_unit_test(test_a_short_task_that_is_new_goes_to_another_thread_that_has_nothing),
      cmocka_unit_test(test_what_has_more_than_one_kernel_goes_to_all_threads_while_work_is_short),
      cmocka_unit_test(test_long_tasks_go_to_other_threads_as_long_as_these_have_room),
      cmocka_unit_test(test_only_what_is_alone_and_not_short_may_move),
      cmocka_unit_test(test_policies_are_read_with_their_seed_and_nothing_else_is),
      cmocka_unit_test(test_each_refused_reservation_is_reported_and_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
