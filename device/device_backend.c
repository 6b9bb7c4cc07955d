/* SPDX-License-Identifier: MIT */
#include <device/device_backend.h>

#include <inttypes.h>
#include <string.h>

#define PS_PER_BYTE_AT_1_MBPS UINT64_C(1000000)

uint64_t pto_device_transfer_ps(const struct pto_chip *chip, uint64_t size_bytes) {
  return chip->host_latency_ps +
         (uint64_t)((unsigned __int128)size_bytes * PS_PER_BYTE_AT_1_MBPS / pto_max_u64(chip->host_bandwidth_mbps, 1));
}

/* Through the chip's memory twice: read and written. */
uint64_t pto_device_copy_ps(const struct pto_chip *chip, uint64_t size_bytes) {
  return (uint64_t)((unsigned __int128)size_bytes * 2 * PS_PER_BYTE_AT_1_MBPS /
                    pto_max_u64(chip->chip_bandwidth_mbps, 1));
}

enum backend { NPU_THREADS, NPU_VIRTUAL, NPU_OBSERVED, NPU_OBSERVED_VIRTUAL, NPU_EXPLORED, HOST };

static const struct pto_device_backend backends[] = {
    [NPU_THREADS] = {.name = "npu-threads", .is_accelerated = true, .has_thread = true, .engine = "threads"},
    [NPU_VIRTUAL] = {.name = "npu-virtual", .is_accelerated = true, .has_clock = true, .engine = "virtual"},
    /* For tools: kernels run one at a time, on the waiting thread. */
    [NPU_OBSERVED] = {.name = "npu-observed", .is_accelerated = true, .engine = "observe"},
    /* The same, of a rank of several. */
    [NPU_OBSERVED_VIRTUAL] = {.name = "npu-observed-virtual",
                              .is_accelerated = true,
                              .has_clock = true,
                              .engine = "observed virtual"},
    /* For tools: the order of its tasks is chosen, so the program's own waits alone may take some of it away. */
    [NPU_EXPLORED] = {.name = "npu-explored", .is_accelerated = true, .leaves_tasks = true, .engine = "explore"},
    /* One cluster on one thread: tasks run one at a time. */
    [HOST] = {.name = "host", .has_thread = true, .engine = "threads"},
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
  for (uint32_t b = NPU_VIRTUAL; b <= NPU_EXPLORED; b++)
    if (strcmp(config->engine, backends[b].engine) == 0) backend = b;
  *backend_out = &backends[backend];
  if (config->chip) return PTO_OK; /* said by name: all of it */
  config->chip = "a2a3";
  return options->power_preference == PTO_POWER_LOW_POWER ? use_few_clusters(config, error) : PTO_OK;
}
