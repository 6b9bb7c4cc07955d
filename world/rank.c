/* SPDX-License-Identifier: MIT */
#include <world/world_state.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <runtime/base/call_stack.h>
#include <runtime/base/grow.h>
#include <runtime/base/sanitizer.h>
#include <runtime/control/runtime_state.h>
#include <sim/host/current.h>

/* As much as a main thread has; sanitizers put red zones around what lies on a stack. */
#define STACK_BYTES ((PTO_HAS_SANITIZER ? 4 : 1) * (UINT64_C(8) << 20))
#define GUARD_BYTES (UINT64_C(1) << 20) /* as that of a kernel that waits */

/* ---- messages ---- */

struct pto_world_message *pto_rank_message(struct pto_rank *source, uint32_t target, uint8_t kind, uint64_t bytes) {
  struct pto_world_message *message = bytes < PTO_FABRIC_MAX_BYTES ? malloc(sizeof *message + bytes) : NULL;
  if (!message) return NULL;
  *message = (struct pto_world_message){
      .source = source->index, .target = target, .sequence = source->sent_count++, .kind = kind, .bytes = bytes};
  return message;
}

static bool comes_before(const struct pto_world_message *a, const struct pto_world_message *b) {
  if (a->at != b->at) return a->at < b->at;
  return a->source != b->source ? a->source < b->source : a->sequence < b->sequence;
}

bool pto_rank_push_message(struct pto_rank *rank, struct pto_world_message *message) {
  if (!pto_grow(&rank->inbox, &rank->inbox_count, &rank->inbox_capacity, sizeof(struct pto_world_message *))) {
    free(message);
    return false;
  }
  size_t i = rank->inbox_count - 1;
  for (; i > 0 && comes_before(rank->inbox[i - 1], message); i--) rank->inbox[i] = rank->inbox[i - 1];
  rank->inbox[i] = message;
  rank->next_at = pto_min_u64(rank->next_at, message->at);
  return true;
}

uint64_t pto_rank_first_message_at(const struct pto_rank *rank) {
  return rank->inbox_count ? rank->inbox[rank->inbox_count - 1]->at : PTO_WORLD_NEVER;
}

static void take(struct pto_rank *rank, const struct pto_world_message *message) {
  rank->taken_at = message->at;
  if (rank->clock.cores) {
    const uint64_t now = message->at > rank->base_ps ? message->at - rank->base_ps : 0;
    /* A rank that was in no circle yet may have gone past others' coming to a communicator. */
    PTO_ASSERT(message->kind == PTO_WORLD_JOIN || message->at < rank->base_ps || now >= rank->clock.cores->now);
    rank->clock.cores->now = pto_max_u64(rank->clock.cores->now, now);
  }
  rank->part->takes[message->kind](rank, message);
}

/* All of the earliest time. */
static void take_first(struct pto_rank *rank) {
  const uint64_t at = pto_rank_first_message_at(rank);
  while (pto_rank_first_message_at(rank) == at) {
    struct pto_world_message *message = rank->inbox[--rank->inbox_count];
    take(rank, message);
    free(message);
  }
}

/* ---- the clock ---- */

uint64_t pto_rank_now(const struct pto_rank *rank) {
  return rank->base_ps + (rank->clock.cores ? rank->clock.cores->now : 0);
}

uint64_t pto_rank_clock_ps(const struct pto_rank *rank) { return rank->base_ps; }

/* A time of the world on the clock of the engine. */
static uint64_t to_engine(const struct pto_rank *rank, uint64_t at) {
  return at == PTO_WORLD_NEVER ? PTO_VIRTUAL_NEVER : at > rank->base_ps ? at - rank->base_ps : 0;
}

void pto_rank_limit(struct pto_rank *rank, uint64_t horizon) {
  rank->clock.horizon = pto_min_u64(rank->clock.horizon, to_engine(rank, horizon));
}

static void suspend(struct pto_rank *rank) {
  if (rank->thread)
    pto_rank_thread_suspend(rank->thread);
  else
    pto_fiber_suspend(&rank->fiber);
}

static enum pto_rank_verdict let_others_go_on(struct pto_rank_clock *clock, uint64_t next_at) {
  struct pto_rank *rank = (struct pto_rank *)(void *)clock;
  const uint64_t at = pto_world_add(rank->base_ps, next_at);
  rank->next_at = pto_min_u64(at, pto_rank_first_message_at(rank));
  rank->frame = pto_call_stack_begin(NULL);
  suspend(rank);
  (void)pto_call_stack_begin(rank->frame);
  if (rank->is_looking_again) return PTO_RANK_LOOKS_AGAIN;
  if (rank->is_stuck) return PTO_RANK_IS_STUCK;
  if (pto_rank_first_message_at(rank) <= at) take_first(rank);
  pto_rank_limit(rank, pto_rank_first_message_at(rank));
  return PTO_RANK_GOES_ON;
}

static bool begin_run(struct pto_rank_clock *clock, struct pto_virtual_cores *cores) {
  struct pto_rank *rank = (struct pto_rank *)(void *)clock;
  if (clock->cores) return false;
  if (rank->ticket_cores < cores->core_count) {
    free(rank->tickets);
    rank->tickets = calloc(cores->core_count, sizeof *rank->tickets);
    rank->ticket_cores = rank->tickets ? cores->core_count : 0;
  }
  for (uint32_t i = 0; i < rank->ticket_cores; i++) rank->tickets[i].serial = 0;
  rank->wait_count = 0;
  rank->run++;
  clock->cores = cores;
  clock->horizon = 0; /* asks for it before anything happens */
  return true;
}

struct pto_comm_skip pto_comm_skip_of(const struct pto_rank *rank, const struct pto_comm_group *group) {
  if (!rank->rt || group->run != rank->run) return group->skip;
  const struct pto_task_rings *rings = &rank->rt->rings;
  const uint32_t ring = (uint32_t)(group->task.id >> 62);
  const uint64_t sequence = group->task.id & (UINT64_MAX >> 2);
  const uint32_t slot = pto_task_slot_index(rings, ring, sequence);
  const struct pto_task_cold *cold = &rings->cold[slot];
  if (rings->rings[ring].head - sequence > rings->window) return (struct pto_comm_skip){0}; /* it is another's */
  if (!(rings->slots[slot].flags & PTO_TASK_HAS_PREDICATE) || !(cold->predicate_compare & PTO_PREDICATE_SKIPPED))
    return (struct pto_comm_skip){0};
  return (struct pto_comm_skip){.compare = cold->predicate_compare & ~PTO_PREDICATE_SKIPPED,
                                .is_unsigned = cold->predicate_dtype == PTO_UINT64,
                                .value = cold->predicate_value,
                                .found = cold->predicate_found};
}

/* For ranks that go on to wait for the last groups of this one. */
static void keep_skips(struct pto_rank *rank) {
  for (size_t i = 0; i < rank->comm_count; i++) {
    const struct pto_rank_comm *comm = rank->comms[i];
    struct pto_comm_group *last = comm->group_count ? &comm->groups[comm->group_count - 1] : NULL;
    if (last) last->skip = pto_comm_skip_of(rank, last);
  }
}

static void end_run(struct pto_rank_clock *clock, uint64_t elapsed_ps) {
  struct pto_rank *rank = (struct pto_rank *)(void *)clock;
  keep_skips(rank);
  rank->base_ps += elapsed_ps;
  if (rank->rt) rank->last_task_count = rank->rt->task_count;
  rank->rt = NULL;
  clock->cores = NULL;
}

uint64_t pto_rank_horizon(const struct pto_rank *rank) {
  const struct pto_part *part = rank->part;
  uint64_t others_at = PTO_WORLD_NEVER;
  for (uint32_t i = 0; i < part->end - part->first; i++) {
    const struct pto_rank *other = &part->ranks[i];
    if (other == rank || other->circle != rank->circle) continue;
    others_at = pto_min_u64(others_at, other->next_at);
  }
  const uint64_t horizon = pto_min_u64(pto_world_add(others_at, part->lookahead_ps), pto_fabric_next_at(part->fabric));
  /* One without a communicator only hears that others come to one, and may have gone past that. */
  return rank->number_count ? pto_min_u64(horizon, part->window_end) : horizon;
}

/* ---- running ---- */

static void run_main(void *context) {
  struct pto_rank *rank = context;
  pto_engine_current.rank_number = rank->index + 1; /* of a thread that is its own */
  rank->status = rank->part->world->main(rank, rank->part->world->context);
  rank->is_over = true;
}

static void resume(struct pto_rank *rank) {
  if (rank->thread) {
    pto_rank_thread_resume(rank->thread);
    return;
  }
  if (!rank->fiber.is_active) pto_fiber_give(&rank->fiber, run_main, rank);
  (void)pto_fiber_resume(&rank->fiber);
}

void pto_rank_run(struct pto_rank *rank, uint64_t horizon) {
  if (rank->is_over) { /* its windows are there all the same */
    take_first(rank);
    rank->next_at = pto_rank_first_message_at(rank);
    return;
  }
  rank->clock.horizon = to_engine(rank, horizon);
  rank->part->current = rank;
  pto_engine_current.rank_number = rank->index + 1;
  resume(rank);
  pto_engine_current.rank_number = 0;
  rank->part->current = NULL;
  rank->is_looking_again = false;
  if (rank->is_over) rank->next_at = pto_rank_first_message_at(rank);
}

/* ---- begin and end ---- */

bool pto_rank_init(struct pto_rank *rank, struct pto_part *part, uint32_t index) {
  *rank = (struct pto_rank){
      .clock = {.chip = part->world->chip, .sync = let_others_go_on, .begin_run = begin_run, .end_run = end_run},
      .part = part,
      .index = index,
      .circle = index};
  if (part->world->has_rank_threads) return (rank->thread = pto_rank_thread_create(run_main, rank)) != NULL;
  if (!pto_reserve_init(&rank->stack, GUARD_BYTES + STACK_BYTES)) return false;
  if (mprotect(rank->stack.addr, GUARD_BYTES, PROT_NONE) != 0) return false;
  pto_fiber_init(&rank->fiber, (char *)rank->stack.addr + GUARD_BYTES, STACK_BYTES);
  return true;
}

void pto_rank_fini(struct pto_rank *rank) {
  pto_rank_thread_destroy(rank->thread, rank->is_over);
  pto_fiber_fini(&rank->fiber);
  pto_reserve_fini(&rank->stack);
  while (rank->inbox_count) free(rank->inbox[--rank->inbox_count]);
  free(rank->inbox);
  free(rank->tickets);
  free(rank->waits);
}

uint32_t pto_rank_index(const struct pto_rank *rank) { return rank->index; }
uint32_t pto_rank_count(const struct pto_rank *rank) { return rank->part->world->rank_count; }

void pto_rank_set_error(struct pto_rank *rank, const char *sentence) {
  pto_error_set(&rank->error, PTO_EUSER, "%s", sentence);
}
