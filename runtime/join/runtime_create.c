/* SPDX-License-Identifier: MIT */
/*
 * Joins the runtime and the simulated chip: makes what a configuration names and hands it to the control thread's
 * module.
 *
 * Owns the chip description that an engine borrows: it lives as long as the engine, whose destroy operation is wrapped
 * for that.  The only place that knows both sides; below it the runtime knows no engine and the engine no runtime.
 *
 * Always true: what reaches pto_control_create is complete and within range (no NULL but for callbacks, size as
 * compiled).
 *
 * To add a field to pto_config: its default and its limits in complete().
 */
#include <runtime/join/defaults.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <runtime/base/error.h>
#include <runtime/base/sized.h>
#include <runtime/control/control.h>
#include <runtime/deps/rules.h>
#include <runtime/sched/scheduler.h>
#include <runtime/task/ring_defaults.h>
#include <runtime/task/task_ring.h>
#include <sim/chips/chip.h>
#include <sim/chips/chip_files.h>
#include <sim/engine/engine.h>

#define MOST_WORKERS                                                                                                   \
  (3u * PTO_CHIP_MAX_CLUSTERS + 1u) /* a thread a core of the largest chip, and the control thread                     \
                                     */

static const struct engine {
  const char *name;
  pto_engine_create *create;
} engines[] = {
#define X(id, name, is_virtual, meaning) {name, pto_engine_##id##_create},
    PTO_ENGINE_LIST(X) PTO_TOOL_ENGINE_LIST(X)
#undef X
};

/* An engine's operations with a destroy that also frees the chip. */
struct owned_chip {
  struct pto_port_ops ops; /* what port->ops points to */
  const struct pto_port_ops *engine_ops;
  struct pto_chip chip;
};

static void destroy_with_chip(struct pto_port *port) {
  /* ops is the first member. */
  struct owned_chip *owned = (struct owned_chip *)(uintptr_t)port->ops;
  port->ops = owned->engine_ops;
  port->ops->destroy(port);
  free(owned);
}

static void own_chip(struct pto_port *port, struct owned_chip *owned) {
  owned->engine_ops = port->ops;
  owned->ops = *port->ops;
  owned->ops.destroy = destroy_with_chip;
  port->ops = &owned->ops;
}

static const struct engine *engine_find(const char *name) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(engines); i++)
    if (strcmp(engines[i].name, name) == 0) return &engines[i];
  return NULL;
}

static int check_rings(const struct pto_config *config, struct pto_error *error) {
  if (!pto_is_power_of_two(config->window) || config->window < PTO_MIN_WINDOW || config->window > PTO_MAX_WINDOW)
    return pto_error_set(error, PTO_EINVAL, "window %" PRIu64 " is not a power of two from %" PRIu64 " to %" PRIu64,
                         config->window, PTO_MIN_WINDOW, PTO_MAX_WINDOW);
  if (config->heap_bytes % PTO_OUTPUT_ALIGN)
    return pto_error_set(error, PTO_EINVAL, "heap of %" PRIu64 " bytes is not a multiple of %u", config->heap_bytes,
                         PTO_OUTPUT_ALIGN);
  return PTO_OK;
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
  if (config->workers > MOST_WORKERS)
    return pto_error_set(error, PTO_EINVAL, "%" PRIu32 " workers: at most %u", config->workers, MOST_WORKERS);
  if (config->deps >= PTO_DEPS_SET_COUNT)
    return pto_error_set(error, PTO_EINVAL, "deps %" PRIu32 " is none of %s, counted from 0", config->deps,
                         &PTO_DEPS_NAMES[2]);
  if (config->record & ~(uint32_t)(PTO_RECORD_GRAPH | PTO_RECORD_TIMELINE))
    return pto_error_set(error, PTO_EINVAL, "record 0x%" PRIx32 " has bits that mean nothing", config->record);
  return check_rings(config, error);
}

static int make_engine(const struct pto_config *config, struct pto_port **port_out, struct pto_error *error) {
  struct owned_chip *owned = calloc(1, sizeof *owned);
  if (!owned) return pto_error_set(error, PTO_ENOMEM, "no memory for a chip description");
  int status = pto_chip_load(config->chip, &owned->chip, error);
  if (status == PTO_OK && config->clusters > owned->chip.cluster_count)
    status = pto_error_set(error, PTO_EINVAL, "%" PRIu32 " clusters: %s has %" PRIu32, config->clusters,
                           owned->chip.name, owned->chip.cluster_count);
  if (status) goto fail;
  if (config->clusters) owned->chip.cluster_count = config->clusters;
  const struct pto_engine_config engine_config = {.chip = &owned->chip,
                                                  .workers = config->workers,
                                                  .timeout_ms = config->timeout_ms,
                                                  .on_timeout = config->on_timeout,
                                                  .on_timeout_context = config->on_timeout_context};
  status = engine_find(config->engine)->create(&engine_config, port_out, error);
  if (status) goto fail;
  own_chip(*port_out, owned);
  return PTO_OK;
fail:
  free(owned);
  return status;
}

static int create(const struct pto_config *given, struct pto_runtime **rt_out, struct pto_error *error) {
  struct pto_config config;
  struct pto_port *port = NULL;
  struct pto_runtime *rt = NULL;
  int status = complete(given, &config, error);
  if (status == PTO_OK) status = make_engine(&config, &port, error);
  if (status == PTO_OK) status = pto_control_create(&config, port, &rt, error);
  if (status == PTO_OK) *rt_out = rt;
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
