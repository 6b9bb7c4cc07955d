/* SPDX-License-Identifier: MIT */
#include <device/device_backend.h>

#include <inttypes.h>
#include <string.h>

#include <runtime/control/control.h>

#define PS_PER_BYTE_AT_1_MBPS UINT64_C(1000000)

uint64_t pto_device_transfer_ps(const struct pto_chip *chip, uint64_t size_bytes) {
  return chip->host_latency_ps +
         (uint64_t)((unsigned __int128)size_bytes * PS_PER_BYTE_AT_1_MBPS / pto_max_u64(chip->host_bandwidth_mbps, 1));
}

/* ---- the simulated NPU: its memory is this process's ---- */

static int host_to_device(struct pto_runtime *rt, const struct pto_chip *chip, const struct pto_tensor *device,
                          const void *host, uint64_t size_bytes) {
  int status = pto_host_acquire(rt, device, true);
  if (status || size_bytes == 0) return status;
  pto_host_move(rt, &(struct pto_host_move){.to = (void *)(uintptr_t)device->buffer.base,
                                            .from = host,
                                            .size_bytes = size_bytes,
                                            .ps = pto_device_transfer_ps(chip, size_bytes),
                                            .activity = PTO_CONTROL_TO_DEVICE});
  return PTO_OK;
}

static int device_to_host(struct pto_runtime *rt, const struct pto_chip *chip, const struct pto_tensor *device,
                          void *host, uint64_t size_bytes) {
  int status = pto_host_acquire(rt, device, false);
  if (status || size_bytes == 0) return status;
  pto_host_move(rt, &(struct pto_host_move){.to = host,
                                            .from = (const void *)(uintptr_t)device->buffer.base,
                                            .size_bytes = size_bytes,
                                            .ps = pto_device_transfer_ps(chip, size_bytes),
                                            .activity = PTO_CONTROL_TO_HOST});
  return PTO_OK;
}

/* Through the chip's memory twice: read and written. */
static int device_to_device(struct pto_runtime *rt, const struct pto_chip *chip, const struct pto_tensor *from,
                            const struct pto_tensor *to, uint64_t size_bytes) {
  int status = pto_host_acquire(rt, from, false);
  if (status == PTO_OK) status = pto_host_acquire(rt, to, true);
  if (status || size_bytes == 0) return status;
  pto_host_move(rt, &(struct pto_host_move){.to = (void *)(uintptr_t)to->buffer.base,
                                            .from = (const void *)(uintptr_t)from->buffer.base,
                                            .size_bytes = size_bytes,
                                            .ps = (uint64_t)((unsigned __int128)size_bytes * 2 * PS_PER_BYTE_AT_1_MBPS /
                                                             pto_max_u64(chip->chip_bandwidth_mbps, 1)),
                                            .activity = PTO_CONTROL_ON_DEVICE});
  return PTO_OK;
}

static int release(struct pto_runtime *rt, const struct pto_tensor *device) { return pto_host_release(rt, device); }

static int run(struct pto_runtime *rt, const struct pto_device_program *program, const struct pto_bound *bound) {
  return program->orchestrate(rt, bound);
}

enum backend { NPU_THREADS, NPU_VIRTUAL, NPU_OBSERVED, HOST };

/* What the three have in common: the memory is this process's, and tasks work on it. */
#define COMMON                                                                                                         \
  .dtypes = PTO_DTYPES_ALL, .max_rank = PTO_MAX_DIMS, .allocate = pto_device_memory_alloc,                             \
  .free = pto_device_memory_free, .host_to_device = host_to_device, .device_to_host = device_to_host,                  \
  .device_to_device = device_to_device, .release = release, .bind = pto_external_tensor, .run = run

static const struct pto_device_backend backends[] = {
    [NPU_THREADS] = {.name = "npu-threads", .is_accelerated = true, .has_thread = true, .engine = "threads", COMMON},
    [NPU_VIRTUAL] = {.name = "npu-virtual", .is_accelerated = true, .has_clock = true, .engine = "virtual", COMMON},
    /* For tools: kernels run one at a time, on the waiting thread. */
    [NPU_OBSERVED] = {.name = "npu-observed", .is_accelerated = true, .engine = "observe", COMMON},
    /* One cluster on one thread: tasks run one at a time. */
    [HOST] = {.name = "host", .has_thread = true, .engine = "threads", COMMON},
};

/* ---- choice ---- */

static int use_host(const struct pto_context_options *options, struct pto_config *config, struct pto_error *error) {
  if (config->engine && strcmp(config->engine, "threads") != 0)
    return pto_error_set(error, PTO_EINVAL, "context: the host reference has no engine \"%s\"", config->engine);
  config->engine = "threads";
  if (!config->chip) config->chip = "tiny";
  config->workers = 1;
  config->clusters = 1;
  return PTO_OK;
}

/* A quarter of the clusters, one at least. */
static int use_few_clusters(struct pto_config *config, struct pto_error *error) {
  struct pto_chip chip;
  int status = pto_chip_load(config->chip, &chip, error);
  if (status == PTO_OK && config->clusters == 0) config->clusters = (chip.cluster_count + 3) / 4;
  return status;
}

int pto_device_backend_choose(const struct pto_context_options *options, struct pto_config *config,
                              const struct pto_device_backend **backend_out, struct pto_error *error) {
  if (options->acceleration > PTO_ACCELERATION_NO)
    return pto_error_set(error, PTO_EINVAL, "context: acceleration %" PRIu32 " is none", options->acceleration);
  if (options->power_preference > PTO_POWER_LOW_POWER)
    return pto_error_set(error, PTO_EINVAL, "context: power preference %" PRIu32 " is none", options->power_preference);
  if (options->acceleration == PTO_ACCELERATION_NO) {
    *backend_out = &backends[HOST];
    return use_host(options, config, error);
  }
  if (!config->engine) config->engine = "threads";
  uint32_t backend = NPU_THREADS;
  for (uint32_t b = NPU_VIRTUAL; b <= NPU_OBSERVED; b++)
    if (strcmp(config->engine, backends[b].engine) == 0) backend = b;
  *backend_out = &backends[backend];
  if (config->chip) return PTO_OK; /* said by name: all of it */
  config->chip = "a2a3";
  return options->power_preference == PTO_POWER_LOW_POWER ? use_few_clusters(config, error) : PTO_OK;
}
