/* SPDX-License-Identifier: MIT */
#include <check/predict/limits.h>

#include <runtime/base/base.h>

static const struct {
  const char *name;
} limits[PTO_LIMIT_COUNT + 1] = {
#define X(id, name, trial) {name},
    PTO_LIMIT_LIST(X)
#undef X
        {"kernels that follow each other"}};

const char *pto_limit_name(enum pto_limit limit) { return limits[limit].name; }

static void halve(uint64_t *value) { *value /= 2; }

static bool is_orchestrators(const struct pto_chip *chip, uint32_t kind) {
  switch (kind) {
  case PTO_WORK_DISPATCH:
  case PTO_WORK_POLL:
  case PTO_WORK_FANOUT:
  case PTO_WORK_COMPLETE:
    return false;
  case PTO_WORK_EDGE:
    return !chip->schedulers_wire;
  default:
    return true;
  }
}

static void halve_prices(struct pto_chip *chip, bool of_orchestrator) {
  for (uint32_t kind = 0; kind < PTO_WORK_COUNT; kind++)
    if (is_orchestrators(chip, kind) == of_orchestrator) halve(&chip->work_ps[kind]);
  if (of_orchestrator) return;
  halve(&chip->dispatch_more_ps);
  halve(&chip->look_ps);
  if (chip->loop_ps > 1) halve(&chip->loop_ps); /* 0 would be another rule */
}

struct pto_chip pto_limit_chip(const struct pto_chip *chip, enum pto_limit limit) {
  struct pto_chip other = *chip;
  switch (limit) {
  case PTO_LIMIT_submit:
    halve_prices(&other, true);
    break;
  case PTO_LIMIT_schedule:
    halve_prices(&other, false);
    break;
  case PTO_LIMIT_hop:
    halve(&other.kernel_start_ps);
    halve(&other.pending_start_ps);
    halve(&other.cold_start_ps);
    halve(&other.kernel_end_ps);
    halve(&other.signal_ps);
    break;
  case PTO_LIMIT_memory:
    other.core_bandwidth_mbps *= 2;
    other.chip_bandwidth_mbps *= 2;
    other.l2_core_bandwidth_mbps *= 2;
    other.l2_chip_bandwidth_mbps *= 2;
    other.stages.gm_to_l1_mbps *= 2;
    other.stages.l0c_to_gm_mbps *= 2;
    other.stages.gm_to_ub_mbps *= 2;
    other.stages.ub_to_gm_mbps *= 2;
    break;
  case PTO_LIMIT_cores:
    other.cluster_count = (uint32_t)pto_min_u64(2 * (uint64_t)chip->cluster_count, PTO_CHIP_MAX_CLUSTERS);
    break;
  case PTO_LIMIT_links:
    halve(&other.fabric.start_ps);
    for (uint32_t tier = 0; tier < PTO_CHIP_TIER_COUNT; tier++) {
      if (other.fabric.tiers[tier].latency_ps > 1) halve(&other.fabric.tiers[tier].latency_ps); /* 0: no links */
      other.fabric.tiers[tier].bandwidth_mbps *= 2;
    }
    break;
  case PTO_LIMIT_COUNT:
    break;
  }
  return other;
}

enum pto_limit pto_limit_find(const int64_t gain_ppm[PTO_LIMIT_COUNT]) {
  enum pto_limit found = PTO_LIMIT_COUNT;
  for (enum pto_limit limit = 0; limit < PTO_LIMIT_COUNT; limit++)
    if (gain_ppm[limit] >= PTO_LIMIT_LEAST_PPM && (found == PTO_LIMIT_COUNT || gain_ppm[limit] > gain_ppm[found]))
      found = limit;
  return found;
}
