/* SPDX-License-Identifier: MIT */
/* Beginning and end of the cores' memory, and their state before a run (sim/virtual/core.h). */
#include <sim/virtual/core.h>

#include <string.h>

static uint64_t lay_out(struct pto_virtual_cores *cores, char *base, bool has_lru_l2) {
  uint64_t core_count = cores->core_count, slot_count = core_count * (cores->slot_mask + 1), used = 0;
  const uint64_t ring_size = pto_event_queue_ring_size(cores->core_count);
  struct pto_event_queue *const queues[] = {&cores->ends, &cores->begins};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(queues); i++) {
    queues[i]->ring = pto_carve(base, &used, ring_size * sizeof *queues[i]->ring);
    queues[i]->mask = (uint32_t)ring_size - 1;
  }
  cores->cores = pto_carve(base, &used, core_count * sizeof *cores->cores);
  cores->slots = pto_carve(base, &used, slot_count * sizeof *cores->slots);
  cores->views = pto_carve(base, &used, core_count * sizeof *cores->views);
  cores->instant = pto_carve(base, &used, core_count * sizeof *cores->instant);
  cores->calls = pto_carve(base, &used, core_count * sizeof *cores->calls);
  cores->groups = pto_carve(base, &used, slot_count * sizeof *cores->groups);
  cores->free_groups = pto_carve(base, &used, slot_count * sizeof *cores->free_groups);
  cores->transfers = pto_carve(base, &used, core_count * sizeof *cores->transfers);
  struct pto_streams *const streams[] = {&cores->streams, &cores->l2_streams};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(streams); i++) {
    streams[i]->ring = pto_carve(base, &used, ring_size * sizeof *streams[i]->ring);
    streams[i]->mask = (uint32_t)ring_size - 1;
    streams[i]->shares = pto_carve(base, &used, (core_count + 1) * sizeof *streams[i]->shares);
  }
  cores->sentences = pto_carve(base, &used, slot_count * PTO_VIRTUAL_SENTENCE_SIZE);
  if (has_lru_l2) cores->l2.pieces = pto_carve(base, &used, PTO_L2_PIECES * sizeof *cores->l2.pieces);
  return used;
}
int pto_virtual_cores_init(struct pto_virtual_cores *cores, const struct pto_port *port,
                           const struct pto_engine_config *config, struct pto_error *error) {
  const struct pto_chip *chip = config->chip;
  memset(cores, 0, sizeof *cores);
  cores->port = port;
  pto_timing_init(&cores->timing, chip);
  cores->kernel_start_ps = chip->kernel_start_ps;
  cores->pending_start_ps = chip->pending_start_ps;
  cores->cold_start_ps = chip->cold_start_ps;
  cores->kernel_end_ps = chip->kernel_end_ps;
  cores->signal_ps = chip->signal_ps;
  cores->core_count = 3 * chip->cluster_count;
  cores->slots_per_core = chip->slots_per_core;
  cores->slot_mask = (UINT32_C(1) << pto_log2_floor(2 * (uint64_t)chip->slots_per_core - 1)) - 1;
  cores->group_count = cores->core_count * (cores->slot_mask + 1); /* a group has a member or more, a member a slot */
  if (!pto_reserve_init(&cores->memory, lay_out(cores, NULL, chip->has_lru_l2)))
    return pto_error_set(error, PTO_ENOMEM, "virtual engine of chip %s: no memory for its slots", chip->name);
  lay_out(cores, cores->memory.addr, chip->has_lru_l2);
  cores->shares_anew = chip->shares_anew != 0;
  cores->jitter = (struct pto_jitter){config->jitter_seed, config->jitter_ppm};
  cores->l2_bytes = chip->l2_bytes;
  if (cores->l2_bytes)
    pto_streams_set_rates(&cores->l2_streams, chip->l2_core_bandwidth_mbps, chip->l2_chip_bandwidth_mbps,
                          cores->core_count);
  if (cores->shares_anew)
    pto_streams_set_rates(&cores->streams, chip->core_bandwidth_mbps, chip->chip_bandwidth_mbps, cores->core_count);
  cores->l2_core_bandwidth_mbps = chip->l2_core_bandwidth_mbps;
  cores->l2_chip_bandwidth_mbps = chip->l2_chip_bandwidth_mbps;
  int status = pto_call_times_init(&cores->call_times, chip, &cores->timing, error);
  if (status == PTO_OK)
    status =
        pto_solo_init(&cores->solo, config, chip, cores->views, &pto_virtual_waiting_hooks, cores, cores->port, error);
  if (status != PTO_OK) {
    pto_call_times_fini(&cores->call_times);
    pto_reserve_fini(&cores->memory);
    return status;
  }
  const uint32_t worker_count = pto_kernel_calls_worker_count(config, cores->core_count);
  if (worker_count > 1)
    status = pto_kernel_calls_init(&cores->kernel_calls, config, cores->core_count, worker_count, error);
  if (status != PTO_OK) {
    pto_virtual_cores_fini(cores);
    return status;
  }
  pto_virtual_cores_reset(cores, NULL, NULL);
  return PTO_OK;
}

void pto_virtual_cores_fini(struct pto_virtual_cores *cores) {
  pto_kernel_calls_fini(&cores->kernel_calls);
  pto_solo_fini(&cores->solo);
  pto_call_times_fini(&cores->call_times);
  pto_reserve_fini(&cores->memory);
}

void pto_virtual_cores_reset(struct pto_virtual_cores *cores, struct pto_trace *trace,
                             const struct pto_kernel_meter *meter) {
  pto_kernel_calls_drop(&cores->kernel_calls);
  for (uint32_t i = 0; i < cores->core_count; i++)
    cores->cores[i] = (struct pto_virtual_core){.slots = &cores->slots[(size_t)i * (cores->slot_mask + 1)],
                                                .scheduler = cores->cores[i].scheduler};
  pto_call_times_reset(&cores->call_times);
  memset(cores->origin_ps, 0, sizeof cores->origin_ps);
  pto_waiting_cores_reset(&cores->solo.waiting);
  cores->solo.waiting.meter = meter;
  pto_event_queue_reset(&cores->ends);
  pto_event_queue_reset(&cores->begins);
  pto_streams_reset(&cores->streams);
  pto_streams_reset(&cores->l2_streams);
  cores->streams_next_at = PTO_EVENT_NEVER;
  if (cores->l2.pieces) pto_l2_cache_reset(&cores->l2, cores->l2_bytes);
  cores->spans = pto_trace_has_timeline(trace) ? &trace->spans[0] : NULL;
  cores->segments = pto_trace_has_segments(trace) ? &trace->segments : NULL;
  cores->costs = cores->segments ? &trace->costs : NULL;
  cores->remotes = cores->segments ? &trace->remotes : NULL;
  cores->remote_regions = cores->segments ? &trace->remote_regions : NULL;
  if (cores->segments)
    trace->rates = (struct pto_trace_rates){
        cores->timing.core_bandwidth_mbps.divisor, cores->timing.chip_bandwidth_mbps.divisor,
        cores->l2_bytes ? cores->l2_core_bandwidth_mbps : 0, cores->l2_bytes ? cores->l2_chip_bandwidth_mbps : 0};
  cores->resumed = PTO_VIRTUAL_NO_CORE;
  cores->now = 0;
  cores->sharers = 0;
  cores->open_group = 0;
  cores->free_group_count = cores->group_count;
  for (uint32_t i = 0; i < cores->group_count; i++) cores->free_groups[i] = cores->group_count - 1 - i;
}
