/* SPDX-License-Identifier: MIT */
#include <world/world_state.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sim/rendezvous/rendezvous.h>

/* ---- turns ---- */

/* Whose turn it is; NULL: none goes on by itself. */
static struct pto_rank *find_first(const struct pto_part *part) {
  struct pto_rank *first = NULL;
  for (uint32_t i = 0; i < part->end - part->first; i++) {
    struct pto_rank *rank = &part->ranks[i];
    if (rank->next_at != PTO_WORLD_NEVER && (!first || rank->next_at < first->next_at)) first = rank;
  }
  return first;
}

static uint64_t next_at(const struct pto_part *part) {
  const struct pto_rank *rank = find_first(part);
  const uint64_t fabric_at = pto_fabric_next_at(part->fabric);
  return pto_min_u64(rank ? rank->next_at : PTO_WORLD_NEVER, pto_min_u64(fabric_at, part->out_at));
}

/* False: there is nothing to do within the window. */
static bool take_turn(struct pto_part *part) {
  struct pto_rank *rank = find_first(part);
  const uint64_t fabric_at = pto_fabric_next_at(part->fabric);
  if (fabric_at < part->window_end && (!rank || fabric_at <= rank->next_at)) {
    part->is_out_of_memory |= !pto_part_advance_fabric(part);
    return true;
  }
  if (!rank || rank->next_at >= part->window_end) return false;
  pto_rank_run(rank, pto_rank_horizon(rank));
  return true;
}

/* ---- where nothing goes on by itself ---- */

/* A core of the rank polls memory and may find something. */
static bool can_look_again(const struct pto_rank *rank) {
  if (rank->is_over || !rank->clock.cores) return false;
  return pto_rendezvous_can_look_again(&rank->clock.cores->solo.waiting.rendezvous);
}

/* The least of what the parts say. */
static uint64_t least_of_parts(struct pto_part *part, uint64_t value) {
  struct pto_exchange_visit visit = {part->index, value, &part->out, &part->in};
  part->has_stopped |= !pto_exchange_meet(part->world->exchange, &visit, !part->is_out_of_memory);
  return visit.value;
}

/* Cores that poll look again, on all ranks; false: there are none. */
static bool look_again(struct pto_part *part) {
  bool can = false;
  for (uint32_t i = 0; i < part->end - part->first; i++) can |= can_look_again(&part->ranks[i]);
  if (least_of_parts(part, !can) != 0) return false;
  for (uint32_t i = 0; i < part->end - part->first; i++) {
    struct pto_rank *rank = &part->ranks[i];
    if (!can_look_again(rank)) continue;
    rank->is_looking_again = true;
    pto_rank_run(rank, 0);
  }
  return true;
}

/* All that wait are told why they do so for ever, and end. */
static void end_ranks(struct pto_part *part, int status, const char *sentence) {
  part->window_end = PTO_WORLD_NEVER;
  for (uint32_t i = 0; i < part->end - part->first; i++) {
    struct pto_rank *rank = &part->ranks[i];
    if (rank->is_over) continue;
    pto_error_set(&rank->error, status, "%s", sentence);
    rank->clock.sentence = rank->error.sentence;
    rank->is_stuck = true;
    while (!rank->is_over) pto_rank_run(rank, PTO_WORLD_NEVER);
  }
}

static void break_deadlock(struct pto_part *part) {
  char sentence[PTO_SENTENCE_SIZE];
  pto_part_describe_stuck(part, sentence, sizeof sentence);
  end_ranks(part, PTO_EDEADLOCK, sentence);
}

static bool is_over(const struct pto_part *part) {
  for (uint32_t i = 0; i < part->end - part->first; i++)
    if (!part->ranks[i].is_over) return false;
  return true;
}

/* ---- what the ranks came to ---- */

struct outcome {
  uint32_t rank;
  int status;
  char sentence[PTO_SENTENCE_SIZE];
};

/* The first of all by rank, what waited for ever last. */
static void find_status(struct pto_part *part) {
  const struct outcome *failed = NULL;
  for (uint32_t i = 0; i < part->end - part->first; i++) {
    const struct pto_rank *rank = &part->ranks[i];
    struct outcome *outcome = rank->status ? pto_exchange_bytes_add(&part->out, sizeof *outcome) : NULL;
    part->is_out_of_memory |= rank->status && !outcome;
    if (!outcome) continue;
    const bool is_of_deadlock = rank->error.status == PTO_EDEADLOCK && rank->status != PTO_EDEADLOCK;
    const char *sentence =
        rank->error.sentence[0] && !is_of_deadlock ? rank->error.sentence : pto_strerror(rank->status);
    *outcome = (struct outcome){.rank = rank->index, .status = rank->status};
    memcpy(outcome->sentence, sentence, strnlen(sentence, sizeof outcome->sentence - 1));
  }
  (void)least_of_parts(part, 0);
  pto_error_clear(&part->error);
  if (part->has_stopped) {
    pto_error_set(&part->error, PTO_ENOMEM, "no memory for what ranks say of their status");
    return;
  }
  for (size_t at = 0; at + sizeof *failed <= part->in.count; at += sizeof *failed) {
    const struct outcome *outcome = (const struct outcome *)(const void *)(part->in.data + at);
    if (!failed || (failed->status == PTO_EDEADLOCK && outcome->status != PTO_EDEADLOCK)) failed = outcome;
  }
  if (failed) pto_error_set(&part->error, failed->status, "rank %" PRIu32 ": %s", failed->rank, failed->sentence);
}

/* ---- the whole ---- */

void pto_part_run(struct pto_part *part) {
  const struct pto_world *world = part->world;
  for (;;) {
    const size_t told = part->out.count;
    const uint64_t at = least_of_parts(part, next_at(part));
    if (part->has_stopped) {
      part->out.count = told; /* no part takes anything: what was to be handed over is still this one's */
      pto_error_set(&part->error, PTO_ENOMEM, "no memory for messages between ranks");
      end_ranks(part, PTO_ENOMEM, part->error.sentence);
      return;
    }
    part->is_out_of_memory |= !pto_part_take_told(part);
    part->out_at = PTO_WORLD_NEVER;
    if (at == PTO_WORLD_NEVER) {
      if (least_of_parts(part, is_over(part)) != 0) break;
      if (!look_again(part)) break_deadlock(part);
      continue;
    }
    part->window_end = pto_world_add(at, world->between_ps);
    while (!part->is_out_of_memory && take_turn(part)) {
    }
  }
  find_status(part);
}

/* Of a part: its first rank. */
static uint32_t first_of(const struct pto_world *world, uint32_t part) {
  return (uint32_t)((uint64_t)world->rank_count * part / world->part_count);
}

static uint64_t least_within(const struct pto_part *part) {
  uint64_t least = PTO_WORLD_NEVER;
  for (uint32_t i = part->first; i < part->end; i++)
    for (uint32_t k = part->first; k < part->end; k++)
      if (i != k) least = pto_min_u64(least, pto_fabric_lookahead_ps(part->fabric, i, k));
  return least;
}

uint64_t pto_world_between_ps(const struct pto_world *world, const struct pto_fabric *fabric) {
  uint64_t least = PTO_WORLD_NEVER;
  for (uint32_t part = 0; part < world->part_count; part++)
    for (uint32_t i = first_of(world, part); i < first_of(world, part + 1); i++)
      for (uint32_t k = 0; k < world->rank_count; k++)
        if (k < first_of(world, part) || k >= first_of(world, part + 1))
          least = pto_min_u64(least, pto_fabric_lookahead_ps(fabric, i, k));
  return least;
}

int pto_part_init(struct pto_part *part, struct pto_world *world, uint32_t index, struct pto_error *error) {
  /* Who takes what kind of message. */
  static pto_rank_take *const takes[PTO_WORLD_KINDS] = {[PTO_WORLD_JOIN] = pto_rank_take_join,
                                                        [PTO_WORLD_SIGNAL] = pto_rank_take_signal,
                                                        [PTO_WORLD_WRITE] = pto_rank_take_write,
                                                        [PTO_WORLD_READ] = pto_rank_take_read,
                                                        [PTO_WORLD_ANSWER] = pto_rank_take_answer};
  const uint32_t count = world->rank_count;
  *part = (struct pto_part){.world = world,
                            .index = index,
                            .first = first_of(world, index),
                            .end = first_of(world, index + 1),
                            .takes = takes,
                            .out_at = PTO_WORLD_NEVER};
  const int status = pto_fabric_create(world->chip, count, &part->fabric, error);
  if (status) return status;
  part->lookahead_ps = least_within(part);
  part->ranks = calloc(part->end - part->first, sizeof *part->ranks);
  for (uint32_t i = 0; part->ranks && i < part->end - part->first; i++)
    if (!pto_rank_init(&part->ranks[i], part, part->first + i))
      return pto_error_set(error, PTO_ENOMEM, "no memory for the stacks of %" PRIu32 " ranks", count);
  return part->ranks ? PTO_OK : pto_error_set(error, PTO_ENOMEM, "no memory for %" PRIu32 " ranks", count);
}

void pto_part_fini(struct pto_part *part) {
  for (uint32_t i = 0; part->ranks && i < part->end - part->first; i++) {
    struct pto_rank *rank = &part->ranks[i];
    pto_rank_fini(rank);
    for (size_t k = 0; k < rank->comm_count; k++) pto_rank_comm_destroy(rank->comms[k]);
    free(rank->comms);
    free(rank->by_number);
  }
  for (size_t i = 0; i < part->flow_count; i++) {
    free(part->flows[i].message);
    free(part->flows[i].landed);
  }
  free(part->flows);
  free(part->ranks);
  pto_part_free_told(part);
  pto_exchange_bytes_fini(&part->out);
  pto_exchange_bytes_fini(&part->in);
  pto_exchange_bytes_fini(&part->stuck);
  pto_fabric_destroy(part->fabric);
}
