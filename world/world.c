/* SPDX-License-Identifier: MIT */
#include <world/world_state.h>

#include <inttypes.h>
#include <stdlib.h>

#include <runtime/base/sized.h>
#include <sim/chips/chip_files.h>
#include <sim/rendezvous/rendezvous.h>

/* ---- turns ---- */

/* Whose turn it is; NULL: none goes on by itself.  *others_at: when another one has its turn next. */
static struct pto_rank *find_first(const struct pto_world *world, uint64_t *others_at) {
  struct pto_rank *first = NULL;
  *others_at = PTO_WORLD_NEVER;
  for (uint32_t i = 0; i < world->rank_count; i++) {
    struct pto_rank *rank = &world->ranks[i];
    if (rank->next_at == PTO_WORLD_NEVER) continue;
    if (first && rank->next_at >= first->next_at) {
      *others_at = pto_min_u64(*others_at, rank->next_at);
      continue;
    }
    if (first) *others_at = first->next_at;
    first = rank;
  }
  return first;
}

/* A core of the rank polls memory and may find something. */
static bool can_look_again(const struct pto_rank *rank) {
  if (rank->is_over || !rank->clock.cores) return false;
  return pto_rendezvous_can_look_again(&rank->clock.cores->solo.waiting.rendezvous);
}

/* No rank goes on by itself: those whose cores poll look again, or all are told that they wait for ever. */
static void break_deadlock(struct pto_world *world) {
  char sentence[PTO_SENTENCE_SIZE];
  bool looks = false;
  for (uint32_t i = 0; i < world->rank_count; i++) {
    struct pto_rank *rank = &world->ranks[i];
    if (!can_look_again(rank)) continue;
    looks = rank->is_looking_again = true;
    pto_rank_run(rank, 0);
  }
  if (looks) return;
  pto_world_describe_stuck(world, sentence, sizeof sentence);
  for (uint32_t i = 0; i < world->rank_count; i++) {
    struct pto_rank *rank = &world->ranks[i];
    if (rank->is_over) continue;
    pto_error_set(&rank->error, PTO_EDEADLOCK, "%s", sentence);
    rank->clock.sentence = rank->error.sentence;
    rank->is_stuck = true;
  }
  for (uint32_t i = 0; i < world->rank_count; i++)
    while (!world->ranks[i].is_over) pto_rank_run(&world->ranks[i], PTO_WORLD_NEVER);
}

static bool is_over(const struct pto_world *world) {
  for (uint32_t i = 0; i < world->rank_count; i++)
    if (!world->ranks[i].is_over) return false;
  return true;
}

static bool take_turn(struct pto_world *world) {
  uint64_t others_at;
  struct pto_rank *rank = find_first(world, &others_at);
  const uint64_t fabric_at = pto_fabric_next_at(world->fabric);
  if (fabric_at != PTO_FABRIC_NEVER && (!rank || fabric_at <= rank->next_at)) return pto_world_advance_fabric(world);
  if (rank)
    pto_rank_run(rank, pto_min_u64(pto_world_add(others_at, world->lookahead_ps), fabric_at));
  else
    break_deadlock(world);
  return true;
}

/* The first of all by rank, what waited for ever last. */
static int find_status(struct pto_world *world) {
  const struct pto_rank *failed = NULL;
  for (uint32_t i = 0; i < world->rank_count; i++) {
    const struct pto_rank *rank = &world->ranks[i];
    if (rank->status == PTO_OK) continue;
    if (!failed || (failed->status == PTO_EDEADLOCK && rank->status != PTO_EDEADLOCK)) failed = rank;
  }
  if (!failed) return PTO_OK;
  const char *sentence = failed->error.sentence;
  return pto_error_set(&world->error, failed->status, "rank %" PRIu32 ": %s", failed->index,
                       sentence[0] ? sentence : pto_strerror(failed->status));
}

int pto_world_run(struct pto_world *world, int (*main)(struct pto_rank *rank, void *context), void *context) {
  if (world->has_run) return pto_error_set(&world->error, PTO_EINVAL, "a world runs once");
  world->has_run = true;
  world->main = main;
  world->context = context;
  while (!is_over(world))
    if (!take_turn(world)) return pto_error_set(&world->error, PTO_ENOMEM, "no memory for messages between ranks");
  return find_status(world);
}

struct pto_rank *pto_world_rank(struct pto_world *world, uint32_t index) {
  return index < world->rank_count ? &world->ranks[index] : NULL;
}

const char *pto_world_last_error(const struct pto_world *world) { return world->error.sentence; }

/* ---- begin and end ---- */

/* Who takes what kind of message. */
static pto_rank_take *const takes[PTO_WORLD_KINDS] = {[PTO_WORLD_JOIN] = pto_rank_take_join,
                                                      [PTO_WORLD_SIGNAL] = pto_rank_take_signal,
                                                      [PTO_WORLD_WRITE] = pto_rank_take_write,
                                                      [PTO_WORLD_READ] = pto_rank_take_read,
                                                      [PTO_WORLD_ANSWER] = pto_rank_take_answer};

static int create(const struct pto_world_config *given, struct pto_world *world, struct pto_error *error) {
  struct pto_world_config config = {0};
  struct pto_chip_file file;
  int status = pto_sized_take(&config, sizeof config, given, "config", error);
  if (status) return status;
  if (!config.ranks) config.ranks = 1;
  if (!config.chip && pto_chip_file_at(0, &file)) config.chip = file.name;
  world->chip = calloc(1, sizeof *world->chip);
  world->ranks = calloc(config.ranks <= PTO_MAX_RANKS ? config.ranks : 1, sizeof *world->ranks);
  if (!world->chip || !world->ranks) return pto_error_set(error, PTO_ENOMEM, "no memory for a world");
  if (config.made_chip)
    *world->chip = *config.made_chip;
  else if ((status = pto_chip_load(config.chip, world->chip, error)) != PTO_OK)
    return status;
  status = pto_fabric_create(world->chip, config.ranks, &world->fabric, error);
  if (status) return status;
  world->takes = takes;
  world->lookahead_ps = pto_fabric_least_lookahead_ps(world->fabric);
  for (; world->rank_count < config.ranks; world->rank_count++)
    if (!pto_rank_init(&world->ranks[world->rank_count], world, world->rank_count)) {
      pto_rank_fini(&world->ranks[world->rank_count]);
      return pto_error_set(error, PTO_ENOMEM, "no memory for the stacks of %" PRIu32 " ranks", config.ranks);
    }
  return PTO_OK;
}

int pto_world_create(const struct pto_world_config *config, struct pto_world **world_out, char *sentence,
                     size_t sentence_size) {
  struct pto_error error;
  pto_error_clear(&error);
  struct pto_world *world = calloc(1, sizeof *world);
  int status = world ? create(config, world, &error) : pto_error_set(&error, PTO_ENOMEM, "no memory for a world");
  if (status == PTO_OK) {
    *world_out = world;
    return PTO_OK;
  }
  pto_world_destroy(world);
  if (sentence && sentence_size) pto_error_tell(&error, sentence, sentence_size);
  return status;
}

void pto_world_destroy(struct pto_world *world) {
  if (!world) return;
  for (uint32_t i = 0; i < world->rank_count; i++) pto_rank_fini(&world->ranks[i]);
  for (size_t i = 0; i < world->comm_count; i++) pto_world_comm_destroy(world->comms[i]);
  for (size_t i = 0; i < world->flow_count; i++) {
    if (world->flows[i]) free(world->flows[i]->landed);
    free(world->flows[i]);
  }
  free(world->flows);
  free(world->comms);
  pto_fabric_destroy(world->fabric);
  free(world->ranks);
  free(world->chip);
  free(world);
}
