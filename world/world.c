/* SPDX-License-Identifier: MIT */
#include <world/world_state.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/sized.h>
#include <runtime/base/thread.h>
#include <sim/chips/chip_files.h>
#include <sim/host/topology.h>

/* ---- running ---- */

/* Not before all threads are there, as parts wait for each other: then the lock is free. */
static void *run_part(void *argument) {
  struct pto_part *part = argument;
  pthread_mutex_lock(&part->world->starting);
  const bool runs = part->world->has_threads;
  pthread_mutex_unlock(&part->world->starting);
  if (runs) pto_part_run(part);
  return NULL;
}

/* All parts of this process, each on a thread of its own, the first on this one. */
int pto_world_run(struct pto_world *world, int (*main)(struct pto_rank *rank, void *context), void *context) {
  pthread_t threads[PTO_MAX_RANKS];
  const uint32_t first = world->exchange->first, end = world->exchange->end;
  int code = 0;
  uint32_t started = first + 1;
  if (world->has_run) return pto_error_set(&world->error, PTO_EINVAL, "a world runs once");
  world->has_run = true;
  world->main = main;
  world->context = context;
  pthread_mutex_lock(&world->starting);
  while (started < end && pto_thread_start(&threads[started], run_part, &world->parts[started], &code)) started++;
  world->has_threads = started == end;
  pthread_mutex_unlock(&world->starting);
  if (world->has_threads) pto_part_run(&world->parts[first]);
  for (uint32_t i = first + 1; i < started; i++) pthread_join(threads[i], NULL);
  if (!world->has_threads)
    return pto_error_set(&world->error, PTO_ESYSTEM, "thread %" PRIu32 " of the world does not start: %s",
                         started - first, strerror(code));
  world->error = world->parts[first].error;
  return world->error.status;
}

struct pto_rank *pto_world_rank(struct pto_world *world, uint32_t index) {
  for (uint32_t i = world->exchange->first; i < world->exchange->end; i++)
    if (pto_part_has(&world->parts[i], index)) return pto_part_rank(&world->parts[i], index);
  return NULL;
}

const char *pto_world_last_error(const struct pto_world *world) { return world->error.sentence; }

/* ---- begin and end ---- */

static int create_parts(struct pto_world *world, uint32_t thread_count, struct pto_error *error) {
  if (!world->exchange) world->exchange = world->threads = pto_exchange_create(thread_count);
  world->part_count = world->exchange ? world->exchange->part_count : thread_count;
  world->parts = calloc(world->part_count, sizeof *world->parts);
  if (!world->exchange || !world->parts)
    return pto_error_set(error, PTO_ENOMEM, "no memory for %" PRIu32 " threads", thread_count);
  for (uint32_t i = world->exchange->first; i < world->exchange->end; i++) {
    const int status = pto_part_init(&world->parts[i], world, i, error);
    if (status) return status;
  }
  world->between_ps = pto_world_between_ps(world, pto_world_part(world)->fabric);
  return PTO_OK;
}

/* On each thread one rank runs at a time, with its workers: all of them are no more than there are CPUs, but for one a
 * thread. */
static void limit_workers(struct pto_world *world) {
  const uint32_t first = world->exchange->first, end = world->exchange->end;
  const uint32_t most = pto_topology_count_cpus() / (end - first);
  for (uint32_t i = first; i < end; i++) {
    struct pto_part *part = &world->parts[i];
    for (uint32_t k = part->first; k < part->end; k++) pto_part_rank(part, k)->clock.most_workers = most ? most : 1;
  }
}

static int create(const struct pto_world_config *given, struct pto_world *world, struct pto_error *error) {
  struct pto_world_config config = {0};
  struct pto_chip_file file;
  int status = pto_sized_take(&config, sizeof config, given, "config", error);
  if (status) return status;
  if (!config.ranks) config.ranks = 1;
  if (!config.threads) config.threads = 1;
  if (!config.chip && pto_chip_file_at(0, &file)) config.chip = file.name;
  if (config.threads > config.ranks)
    return pto_error_set(error, PTO_EINVAL, "%" PRIu32 " threads for %" PRIu32 " ranks: at most one for each",
                         config.threads, config.ranks);
  if (world->exchange && config.threads > 1)
    return pto_error_set(error, PTO_ENOTSUP, "ranks of several processes have no threads: one process for each part");
  if (world->exchange && world->exchange->part_count > config.ranks)
    return pto_error_set(error, PTO_EINVAL, "%" PRIu32 " processes for %" PRIu32 " ranks: at most one for each",
                         world->exchange->part_count, config.ranks);
  world->chip = calloc(1, sizeof *world->chip);
  if (!world->chip) return pto_error_set(error, PTO_ENOMEM, "no memory for a world");
  if (config.made_chip)
    *world->chip = *config.made_chip;
  else if ((status = pto_chip_load(config.chip, world->chip, error)) != PTO_OK)
    return status;
  world->rank_count = config.ranks;
  world->has_rank_threads = config.rank_threads;
  status = create_parts(world, config.threads, error);
  if (status == PTO_OK) limit_workers(world);
  return status;
}

int pto_world_create_across(const struct pto_world_config *config, struct pto_exchange *processes,
                            struct pto_world **world_out, char *sentence, size_t sentence_size) {
  struct pto_error error;
  pto_error_clear(&error);
  struct pto_world *world = calloc(1, sizeof *world);
  if (world) world->exchange = processes;
  if (world) pthread_mutex_init(&world->starting, NULL);
  int status = world ? create(config, world, &error) : pto_error_set(&error, PTO_ENOMEM, "no memory for a world");
  if (status == PTO_OK) {
    *world_out = world;
    return PTO_OK;
  }
  pto_world_destroy(world);
  if (sentence && sentence_size) pto_error_tell(&error, sentence, sentence_size);
  return status;
}

int pto_world_create(const struct pto_world_config *config, struct pto_world **world_out, char *sentence,
                     size_t sentence_size) {
  return pto_world_create_across(config, NULL, world_out, sentence, sentence_size);
}

void pto_world_delay(struct pto_world *world, uint32_t rank, uint64_t delay_ps) {
  struct pto_rank *its = pto_world_rank(world, rank);
  if (its) its->late_ps = delay_ps;
}

void pto_world_delay_cores(struct pto_world *world, uint32_t rank, enum pto_late kind, uint64_t delay_ps) {
  struct pto_rank *its = pto_world_rank(world, rank);
  if (its) its->late_cores_ps[kind] = delay_ps;
}

void pto_world_name_calls(struct pto_world *world, pto_name_call *name_call, void *context) {
  world->name_call = name_call;
  world->name_context = context;
}

void pto_world_destroy(struct pto_world *world) {
  if (!world) return;
  for (uint32_t i = 0; world->parts && i < world->part_count; i++) pto_part_fini(&world->parts[i]);
  free(world->parts);
  pto_exchange_destroy(world->threads);
  free(world->chip);
  pthread_mutex_destroy(&world->starting);
  free(world);
}
