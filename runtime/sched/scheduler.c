/* SPDX-License-Identifier: MIT */
#include <runtime/sched/scheduler.h>

#include <pto/core.h>

#include <errno.h>
#include <string.h>

#include <runtime/base/probe.h>

static const struct {
  bool needs_aic;
  uint32_t aiv_count;
} shapes[PTO_SHAPE_COUNT] = {
#define X(name, aic, aiv) {aic, aiv},
    PTO_SHAPE_LIST(X)
#undef X
};

static const char *const policies[] = {
#define X(CONSTANT, name, syntax) syntax,
    PTO_POLICY_LIST(X)
#undef X
};

const char *pto_policy_syntax_at(uint32_t index) { return index < PTO_POLICY_COUNT ? policies[index] : NULL; }

bool pto_policy_parse(const char *text, enum pto_policy *policy, uint64_t *seed) {
  for (uint32_t i = 0; i < PTO_POLICY_COUNT; i++) {
    const size_t length = strcspn(policies[i], ":");
    const bool draws = policies[i][length] == ':';
    const char *rest = text + length;
    if (strncmp(text, policies[i], length) != 0 || *rest != (draws ? ':' : '\0')) continue;
    char *end;
    errno = 0;
    *seed = draws ? strtoull(rest + 1, &end, 10) : 0;
    *policy = (enum pto_policy)i;
    return !draws || (rest[1] >= '0' && rest[1] <= '9' && *end == '\0' && errno == 0);
  }
  return false;
}

bool pto_scheduler_init(struct pto_scheduler *scheduler, struct pto_port *port, struct pto_task_rings *rings,
                        enum pto_policy policy, uint64_t seed) {
  *scheduler = (struct pto_scheduler){.port = port, .rings = rings, .policy = policy, .seed = seed};
  uint32_t capacity = rings->window * PTO_RING_COUNT;
  if (!pto_reserve_init(&scheduler->memory, (uint64_t)capacity * PTO_QUEUE_COUNT * sizeof(struct pto_ready_item)))
    return false;
  struct pto_ready_item *at = scheduler->memory.addr;
  for (uint32_t i = 0; i < PTO_QUEUE_COUNT; i++) {
    scheduler->queues[i].items = at + (uint64_t)i * capacity;
    scheduler->queues[i].mask = capacity - 1;
  }
  if (!pto_core_tracker_init(&scheduler->cores, port)) return false;
  pto_scheduler_reset(scheduler);
  return true;
}

void pto_scheduler_fini(struct pto_scheduler *scheduler) {
  pto_core_tracker_fini(&scheduler->cores);
  pto_reserve_fini(&scheduler->memory);
}

void pto_scheduler_abandon(struct pto_scheduler *scheduler) {
  for (uint32_t i = 0; i < PTO_QUEUE_COUNT; i++) {
    scheduler->queues[i].head = scheduler->queues[i].tail = 0;
    scheduler->queues[i].has_chosen = false;
  }
  scheduler->nonempty = scheduler->ready_count = 0;
  scheduler->claimant.slot = PTO_NO_SLOT;
  pto_core_tracker_release_claims(&scheduler->cores);
}

void pto_scheduler_reset(struct pto_scheduler *scheduler) {
  pto_scheduler_abandon(scheduler);
  pto_core_tracker_reset(&scheduler->cores);
  scheduler->next_order = 0;
  scheduler->rng.state = scheduler->seed;
  scheduler->dispatched = 0;
}

uint64_t pto_scheduler_room(const struct pto_scheduler *scheduler, enum pto_shape shape) {
  const uint64_t clusters = pto_port_visible_clusters(scheduler->port);
  return shape == PTO_SHAPE_AIV ? 2 * clusters : clusters;
}

static uint32_t queue_of(const struct pto_task_slot *slot) {
  return slot->shape + (slot->flags & PTO_TASK_SYNC_START ? PTO_SHAPE_COUNT : 0);
}

static inline struct pto_ready_item ready_now(struct pto_scheduler *scheduler, uint32_t slot_index) {
  const uint64_t at = PTO_UNLIKELY(scheduler->port->is_virtual) ? scheduler->port->clock : 0;
  return (struct pto_ready_item){at, slot_index, scheduler->next_order++};
}

void pto_scheduler_enqueue(struct pto_scheduler *scheduler, uint32_t slot_index) {
  struct pto_task_slot *slot = &scheduler->rings->slots[slot_index];
  PTO_ASSERT(slot->state == PTO_TASK_WAITING);
  slot->state = PTO_TASK_READY;
  uint32_t queue = queue_of(slot);
  pto_ready_queue_push(&scheduler->queues[queue], ready_now(scheduler, slot_index));
  scheduler->nonempty |= 1u << queue;
  scheduler->ready_count++;
}

void pto_scheduler_requeue(struct pto_scheduler *scheduler, uint32_t slot_index) {
  uint32_t queue = queue_of(&scheduler->rings->slots[slot_index]);
  pto_ready_queue_push_front(&scheduler->queues[queue], ready_now(scheduler, slot_index));
  scheduler->nonempty |= 1u << queue;
  scheduler->ready_count++;
}

static inline void pop(struct pto_scheduler *scheduler, uint32_t queue) {
  pto_policy_pop(&scheduler->queues[queue]);
  if (!pto_ready_queue_count(&scheduler->queues[queue])) scheduler->nonempty &= ~(1u << queue);
  scheduler->ready_count--;
}

/* Whether the kernels of a task that waits are: where kernels are priced alone, only those that tell other ranks. */
static bool is_called(const struct pto_scheduler *scheduler, const struct pto_payload *payload) {
  bool is_remote = true;
  for (uint32_t role = 0; role < PTO_ROLE_COUNT; role++)
    is_remote &= !payload->kernels[role] || payload->kernels[role]->flags & PTO_KERNEL_REMOTE;
  return is_remote || !scheduler->port->skips_kernels;
}

static void send(struct pto_scheduler *scheduler, struct pto_ready_item item, uint32_t core, uint32_t role,
                 uint8_t flags) {
  const struct pto_task_slot *slot = &scheduler->rings->slots[item.slot];
  flags |= (uint8_t)((slot->block_count > 1 ? PTO_MESSAGE_BLOCKS : 0) |
                     (slot->flags & PTO_TASK_WAITS && is_called(scheduler, slot->payload) ? PTO_MESSAGE_WAITS : 0));
  const struct pto_message message =
      pto_scheduler_message(slot->payload, item.slot, core, role, slot->block_count - slot->blocks_left, flags);
  PTO_ASSERT(scheduler->done_count < PTO_SCHEDULER_DONE);
  scheduler->done_count +=
      pto_scheduler_send(scheduler, &message, item.ready_at, &scheduler->done[scheduler->done_count]);
}

uint32_t pto_scheduler_placed_core(const struct pto_scheduler *scheduler, const struct pto_task_slot *slot) {
  const struct pto_core_tracker *cores = &scheduler->cores;
  const uint64_t number = slot->payload->task_number;
  if (number >= scheduler->placed_count) return pto_core_tracker_pick_fast(cores, slot->shape == PTO_SHAPE_AIC);
  const uint32_t core = scheduler->core_of_task[number];
  PTO_ASSERT(core < cores->cluster_count * PTO_LANES && (core % PTO_LANES == 0) == (slot->shape == PTO_SHAPE_AIC));
  return cores->load[core] < cores->slots_per_core ? core : UINT32_MAX;
}

/* The roles that a task of this shape has kernels in: a lone AIV kernel may stand in either AIV role. */
static uint32_t aiv_role(const struct pto_payload *payload, uint32_t nth) { return payload->kernels[1] ? 1 + nth : 2; }

/* Sends one block where it finds cores; false where there are none now. */
static bool place_block(struct pto_scheduler *scheduler, struct pto_ready_item item, bool is_claimant, bool only_idle,
                        uint8_t group_flags) {
  struct pto_task_slot *slot = &scheduler->rings->slots[item.slot];
  enum pto_shape shape = slot->shape;
  if (shape == PTO_SHAPE_AIC || shape == PTO_SHAPE_AIV) {
    if (scheduler->done_count == PTO_SCHEDULER_DONE) return false;
    uint32_t core = pto_core_tracker_pick(&scheduler->cores, shape == PTO_SHAPE_AIC, is_claimant, only_idle);
    if (core == UINT32_MAX) return false;
    slot->state = PTO_TASK_RUNNING;
    const uint8_t flags = group_flags || slot->flags & PTO_TASK_WAITS ? group_flags : PTO_SCHEDULER_MAY_MOVE;
    send(scheduler, item, core, shape == PTO_SHAPE_AIC ? 0 : aiv_role(slot->payload, 0), flags);
  } else {
    uint32_t aiv_lanes[2];
    uint32_t cluster = pto_core_tracker_pick_cluster(&scheduler->cores, shapes[shape].needs_aic,
                                                     shapes[shape].aiv_count, is_claimant, only_idle, aiv_lanes);
    if (cluster == UINT32_MAX) return false;
    slot->state = PTO_TASK_RUNNING;
    uint8_t inner = group_flags & (uint8_t)~PTO_MESSAGE_LAST;
    if (shapes[shape].needs_aic) send(scheduler, item, cluster * PTO_LANES, 0, inner);
    for (uint32_t i = 0; i < shapes[shape].aiv_count; i++)
      send(scheduler, item, cluster * PTO_LANES + aiv_lanes[i], aiv_role(slot->payload, i),
           i + 1 == shapes[shape].aiv_count ? group_flags : inner);
  }
  slot->blocks_left--;
  return true;
}

/* Messages of the cores that a block of this shape takes in a cluster, or on one core where that is all it takes. */
static uint32_t load_at(const struct pto_core_tracker *cores, enum pto_shape shape, uint32_t core) {
  const uint8_t *load = &cores->load[core];
  if (shape <= PTO_SHAPE_AIV) return load[0];
  return (shapes[shape].needs_aic ? load[0] : 0u) + load[1] + load[2];
}

/* Claims the clusters, or single cores, of least load, which will have room soonest, until there are enough for so many
 * blocks. */
static void claim_least_loaded(struct pto_scheduler *scheduler, enum pto_shape shape, uint32_t block_count) {
  struct pto_core_tracker *cores = &scheduler->cores;
  const bool by_core = shape <= PTO_SHAPE_AIV;
  for (uint32_t wanted = 0; block_count && wanted <= PTO_LANES * cores->slots_per_core; wanted++)
    for (uint32_t core = 0; block_count && core < PTO_LANES * cores->cluster_count; core += by_core ? 1 : PTO_LANES) {
      const bool is_aic = core % PTO_LANES == 0;
      if (load_at(cores, shape, core) != wanted || (by_core && is_aic != (shape == PTO_SHAPE_AIC))) continue;
      if (by_core || shapes[shape].needs_aic) pto_core_tracker_claim(cores, core);
      for (uint32_t lane = 1; !by_core && lane < PTO_LANES; lane++) pto_core_tracker_claim(cores, core + lane);
      block_count--;
    }
}

/* How often idle cores have room for a block of this shape, counted up to `needed`. */
static uint32_t count_idle(const struct pto_scheduler *scheduler, enum pto_shape shape, uint32_t needed,
                           bool is_claimant) {
  const struct pto_core_tracker *cores = &scheduler->cores;
  uint32_t count = 0;
  for (uint32_t word = 0; word < cores->word_count && count < needed; word++) {
    uint64_t idle[PTO_LANES];
    for (uint32_t lane = 0; lane < PTO_LANES; lane++)
      idle[lane] = is_claimant ? cores->idle[lane][word] : cores->idle[lane][word] & ~cores->claimed[lane][word];
    if (shape == PTO_SHAPE_AIC)
      count += (uint32_t)__builtin_popcountll(idle[0]);
    else if (shape == PTO_SHAPE_AIV)
      count += (uint32_t)(__builtin_popcountll(idle[1]) + __builtin_popcountll(idle[2]));
    else
      count += (uint32_t)__builtin_popcountll((shapes[shape].needs_aic ? idle[0] : ~UINT64_C(0)) &
                                              (shapes[shape].aiv_count == 2 ? idle[1] & idle[2] : idle[1] | idle[2]));
  }
  return count;
}

static bool place_sync(struct pto_scheduler *scheduler, struct pto_ready_item item, bool is_claimant) {
  struct pto_task_slot *slot = &scheduler->rings->slots[item.slot];
  if (count_idle(scheduler, slot->shape, slot->blocks_left, is_claimant) < slot->blocks_left) return false;
  while (slot->blocks_left) {
    uint8_t group_flags = slot->blocks_left == 1 ? PTO_MESSAGE_TOGETHER | PTO_MESSAGE_LAST : PTO_MESSAGE_TOGETHER;
    bool placed = place_block(scheduler, item, is_claimant, true, group_flags);
    PTO_ASSERT(placed);
    (void)placed;
  }
  return true;
}

/* Sends what can be sent of a task; true where nothing of it is left to send. */
static bool place(struct pto_scheduler *scheduler, struct pto_ready_item item, bool may_use_claimed) {
  struct pto_task_slot *slot = &scheduler->rings->slots[item.slot];
  const bool is_for_one = slot->block_count == 1 && slot->shape <= PTO_SHAPE_AIV; /* which needs no idle core */
  const bool is_group = slot->flags & PTO_TASK_SYNC_START;
  if (is_group && !is_for_one) return place_sync(scheduler, item, may_use_claimed);
  if (slot->flags & PTO_TASK_SEQUENTIAL_BLOCKS) return place_block(scheduler, item, may_use_claimed, false, 0);
  const uint8_t group_flags = is_group ? PTO_MESSAGE_TOGETHER | PTO_MESSAGE_LAST : 0;
  while (slot->blocks_left && place_block(scheduler, item, may_use_claimed, false, group_flags)) {
  }
  return slot->blocks_left == 0;
}

/* A claim holds only against tasks that became ready after the claimant. */
static bool comes_before_claimant(const struct pto_scheduler *scheduler, struct pto_ready_item item) {
  return scheduler->claimant.slot != PTO_NO_SLOT && scheduler->policy == PTO_POLICY_FIFO &&
         (int32_t)(item.order - scheduler->claimant.order) < 0;
}

static void claim_for(struct pto_scheduler *scheduler, struct pto_ready_item item) {
  const struct pto_task_slot *slot = &scheduler->rings->slots[item.slot];
  scheduler->claimant = item;
  claim_least_loaded(scheduler, slot->shape, slot->flags & PTO_TASK_SYNC_START ? slot->blocks_left : 1);
}

static void place_claimant(struct pto_scheduler *scheduler) {
  if (!place(scheduler, scheduler->claimant, true)) return;
  scheduler->claimant.slot = PTO_NO_SLOT;
  scheduler->ready_count--;
  pto_core_tracker_release_claims(&scheduler->cores);
}

/* The queue whose next task comes first by policy, among `candidates`. */
static inline uint32_t next_queue(struct pto_scheduler *scheduler, uint32_t candidates) {
  uint32_t best = (uint32_t)__builtin_ctz(candidates);
  candidates &= candidates - 1;
  if (PTO_LIKELY(!candidates)) return best;
  uint32_t best_order = pto_policy_peek(&scheduler->queues[best], scheduler->policy, &scheduler->rng).order;
  for (; candidates; candidates &= candidates - 1) {
    uint32_t queue = (uint32_t)__builtin_ctz(candidates);
    uint32_t order = pto_policy_peek(&scheduler->queues[queue], scheduler->policy, &scheduler->rng).order;
    bool is_older = (int32_t)(order - best_order) < 0;
    if (scheduler->queues[queue].is_at_back ? !is_older : is_older) {
      best = queue;
      best_order = order;
    }
  }
  return best;
}

void pto_scheduler_dispatch(struct pto_scheduler *scheduler) {
  uint32_t blocked = 0;
  if (PTO_UNLIKELY(scheduler->claimant.slot != PTO_NO_SLOT)) place_claimant(scheduler);
  while ((scheduler->nonempty & ~blocked) && scheduler->done_count < PTO_SCHEDULER_DONE) {
    uint32_t queue = next_queue(scheduler, scheduler->nonempty & ~blocked);
    struct pto_ready_item item = pto_policy_peek(&scheduler->queues[queue], scheduler->policy, &scheduler->rng);
    if (PTO_LIKELY((scheduler->rings->slots[item.slot].flags & PTO_TASK_SINGLE) &&
                   scheduler->claimant.slot == PTO_NO_SLOT)) {
      const enum pto_placed placed =
          pto_scheduler_place_single(scheduler, &scheduler->rings->slots[item.slot], item.slot, item.ready_at,
                                     &scheduler->done[scheduler->done_count]);
      if (placed == PTO_NOT_PLACED)
        blocked |= 1u << queue;
      else
        pop(scheduler, queue);
      scheduler->done_count += placed == PTO_PLACED_AND_RUN;
      continue;
    }
    if (place(scheduler, item, comes_before_claimant(scheduler, item))) {
      pop(scheduler, queue);
      continue;
    }
    uint32_t shape = queue % PTO_SHAPE_COUNT;
    if (scheduler->claimant.slot == PTO_NO_SLOT && (queue >= PTO_SHAPE_COUNT || shape >= PTO_SHAPE_AIV_X2)) {
      pop(scheduler, queue);
      scheduler->ready_count++;
      claim_for(scheduler, item);
    } else {
      blocked |= 1u << queue;
    }
  }
}
