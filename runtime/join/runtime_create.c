/* SPDX-License-Identifier: MIT */
/*
 * Joins the runtime and the simulated chip: makes what a configuration names and hands it to the control thread's
 * module.
 *
 * The only place that knows both sides; below it the runtime knows no engine and the engine no runtime.  The chip
 * description that an engine borrows is the runtime's, which frees it after the engine.
 *
 * Always true: what reaches pto_control_create is complete (no NULL but for callbacks, size as compiled).
 *
 * To add a field to pto_config: its default in complete(), its limits there, or in runtime/join/runtime.c where the
 * control thread's module has them.
 */
#include <runtime/join/defaults.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <runtime/base/error.h>
#include <runtime/base/sized.h>
#include <runtime/control/control.h>
#include <runtime/sched/scheduler.h>
#include <runtime/task/ring_defaults.h>
#include <sim/chips/chip.h>
#include <sim/chips/chip_files.h>
#include <sim/engine/engine.h>
#include <sim/virtual/jitter.h>
#include <sim/virtual/rank_clock.h>

static const struct engine {
  const char *name;
  pto_engine_create *create;
} engines[] = {
#define X(id, name, is_virtual, meaning) {name, pto_engine_##id##_create},
    PTO_ENGINE_LIST(X) PTO_TOOL_ENGINE_LIST(X)
#undef X
};

static const struct engine *engine_find(const char *name) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(engines); i++)
    if (strcmp(engines[i].name, name) == 0) return &engines[i];
  return NULL;
}

void pto_config_set_defaults(struct pto_config *config) {
  struct pto_chip_file chip;
  if (!config->engine) config->engine = engines[0].name;
  if (!config->chip && pto_chip_file_at(0, &chip)) config->chip = chip.name;
  if (!config->policy) config->policy = pto_policy_syntax_at(0);
}

static int complete(const struct pto_config *given, struct pto_config *config, struct pto_error *error) {
  memset(config, 0, sizeof *config);
  const int status = pto_sized_take(config, sizeof *config, given, "config", error);
  if (status) return status;
  pto_config_set_defaults(config);
  if (!config->window) config->window = PTO_DEFAULT_WINDOW;
  if (!config->heap_bytes) config->heap_bytes = PTO_DEFAULT_HEAP_BYTES;
  if (!engine_find(config->engine))
    return pto_error_set(error, PTO_EINVAL, "no engine is called \"%s\"; there are %s", config->engine,
                         &PTO_ENGINE_NAMES[2]);
  if (config->no_compute && !pto_engine_is_virtual(config->engine))
    return pto_error_set(error, PTO_EINVAL, "no_compute is for engine virtual: on %s time is what kernels take",
                         config->engine);
  if (config->no_compute && config->poison)
    return pto_error_set(error, PTO_EINVAL, "poison fills memory, and with no_compute there is none");
  if (config->jitter_ppm && !pto_engine_is_virtual(config->engine))
    return pto_error_set(error, PTO_EINVAL, "jitter is for engine virtual: on %s times vary by themselves",
                         config->engine);
  if (config->jitter_ppm > PTO_JITTER_MOST_PPM)
    return pto_error_set(error, PTO_EINVAL, "jitter of %" PRIu32 " millionths: at most %u", config->jitter_ppm,
                         PTO_JITTER_MOST_PPM);
  if (config->placement && strcmp(config->placement, "none") != 0 && pto_engine_is_virtual(config->engine))
    return pto_error_set(error, PTO_EINVAL, "placement is for engine threads: virtual time binds nothing");
  if (config->workers > PTO_MAX_WORKERS)
    return pto_error_set(error, PTO_EINVAL, "%" PRIu32 " workers: at most %u", config->workers, PTO_MAX_WORKERS);
  if (config->rank && !pto_engine_is_virtual(config->engine))
    return pto_error_set(error, PTO_EINVAL, "several ranks are for engine virtual: on %s they have no common time",
                         config->engine);
  const uint32_t known =
      PTO_RECORD_GRAPH | PTO_RECORD_TIMELINE | PTO_RECORD_SEGMENTS | PTO_RECORD_CALLERS | PTO_RECORD_TASKS;
  if (config->record & ~known)
    return pto_error_set(error, PTO_EINVAL, "record 0x%" PRIx32 " has bits that mean nothing", config->record);
  return PTO_OK;
}

/* The chips of a world are alike; its links are what the world's says. */
static int check_chip(const struct pto_rank_clock *rank, const struct pto_chip *chip, struct pto_error *error) {
  if (!rank) return PTO_OK;
  struct pto_chip joined = *chip;
  joined.fabric = rank->chip->fabric;
  const char *key = pto_chip_find_difference(rank->chip, &joined);
  if (!key) return PTO_OK;
  return pto_error_set(error, PTO_EINVAL, "chip %s of a rank, and its world is of %s: %s differs", chip->name,
                       rank->chip->name, key);
}

static int make_engine(const struct pto_config *config, struct pto_chip *chip, struct pto_port **port_out,
                       struct pto_error *error) {
  struct pto_rank_clock *rank = (struct pto_rank_clock *)config->rank;
  int status = config->made_chip ? PTO_OK : pto_chip_load(config->chip, chip, error);
  if (status) return status;
  if (config->made_chip) *chip = *config->made_chip;
  status = check_chip(rank, chip, error);
  if (status) return status;
  if (config->clusters > chip->cluster_count)
    return pto_error_set(error, PTO_EINVAL, "%" PRIu32 " clusters: %s has %" PRIu32, config->clusters, chip->name,
                         chip->cluster_count);
  if (config->clusters) chip->cluster_count = config->clusters;
  const struct pto_engine_config engine_config = {.chip = chip,
                                                  .workers = config->workers,
                                                  .placement = config->placement,
                                                  .orders_conflicts = config->deps == PTO_DEPS_EXACT &&
                                                                      config->recorded_deps == PTO_DEPS_EXACT,
                                                  .timeout_ms = config->timeout_ms,
                                                  .on_timeout = config->on_timeout,
                                                  .on_timeout_context = config->on_timeout_context,
                                                  .jitter_ppm = config->jitter_ppm,
                                                  .jitter_seed = config->jitter_seed,
                                                  .rank = rank};
  return engine_find(config->engine)->create(&engine_config, port_out, error);
}

static int create(const struct pto_config *given, struct pto_runtime **rt_out, struct pto_error *error) {
  struct pto_config config;
  struct pto_port *port = NULL;
  int status = complete(given, &config, error);
  if (status) return status;
  struct pto_chip *chip = calloc(1, sizeof *chip);
  if (!chip) return pto_error_set(error, PTO_ENOMEM, "no memory for a chip description");
  status = make_engine(&config, chip, &port, error);
  if (!status) return pto_control_create(&config, port, chip, rt_out, error);
  free(chip);
  return status;
}

int pto_runtime_create_explained(const struct pto_config *config, struct pto_runtime **rt_out, char *sentence,
                                 size_t sentence_size) {
  struct pto_error error;
  pto_error_clear(&error);
  int status =
      rt_out ? create(config, rt_out, &error) : pto_error_set(&error, PTO_EINVAL, "nowhere to put the runtime");
  if (status && sentence && sentence_size)
    snprintf(sentence, sentence_size, "%s", error.sentence[0] ? error.sentence : pto_strerror(status));
  return status;
}

int pto_runtime_create(const struct pto_config *config, struct pto_runtime **rt_out) {
  return pto_runtime_create_explained(config, rt_out, NULL, 0);
}
