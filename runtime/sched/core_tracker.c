/* SPDX-License-Identifier: MIT */
#include <runtime/sched/core_tracker.h>

#include <string.h>

bool pto_core_tracker_init(struct pto_core_tracker *tracker, const struct pto_port *port) {
  *tracker = (struct pto_core_tracker){.cluster_count = port->cluster_count,
                                       .word_count = (port->cluster_count + 63) / 64,
                                       .slots_per_core = port->slots_per_core};
  PTO_ASSERT(port->slots_per_core > 0 && port->slots_per_core <= PTO_CORE_TICKETS);
  const uint64_t words = tracker->word_count, cores = (uint64_t)port->cluster_count * PTO_LANES;
  if (!pto_reserve_init(&tracker->memory, 8 * words * PTO_LANES * 3 + 4 * cores * PTO_CORE_TICKETS + 2 * cores))
    return false;
  uint64_t *at = tracker->memory.addr;
  for (uint32_t lane = 0; lane < PTO_LANES; lane++) {
    tracker->idle[lane] = at;
    tracker->room[lane] = at + words;
    tracker->claimed[lane] = at + 2 * words;
    at += 3 * words;
  }
  tracker->tickets = (uint32_t *)(void *)at;
  tracker->load = (uint8_t *)(tracker->tickets + cores * PTO_CORE_TICKETS);
  tracker->next_ticket = tracker->load + cores;
  pto_core_tracker_reset(tracker);
  return true;
}

void pto_core_tracker_fini(struct pto_core_tracker *tracker) { pto_reserve_fini(&tracker->memory); }

void pto_core_tracker_reset(struct pto_core_tracker *tracker) {
  for (uint32_t lane = 0; lane < PTO_LANES; lane++) {
    for (uint32_t word = 0; word < tracker->word_count; word++) {
      uint32_t left = tracker->cluster_count - word * 64;
      uint64_t all = left >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << left) - 1;
      tracker->idle[lane][word] = tracker->room[lane][word] = all;
      tracker->claimed[lane][word] = 0;
    }
  }
  memset(tracker->load, 0, (size_t)tracker->cluster_count * PTO_LANES);
  tracker->in_flight = tracker->claim_count = 0;
}

/* The lowest core among `set`: the AIC of a cluster, or its first AIV that is there. */
static inline uint32_t lowest(const struct pto_core_tracker *tracker, uint64_t *const set[PTO_LANES], bool is_aic,
                              bool may_use_claimed) {
  const uint32_t first = is_aic ? 0 : 1, second = is_aic ? 0 : 2;
  const uint64_t shown = may_use_claimed ? UINT64_MAX : 0;
  for (uint32_t word = 0; word < tracker->word_count; word++) {
    const uint64_t a = set[first][word] & (~tracker->claimed[first][word] | shown);
    const uint64_t b = set[second][word] & (~tracker->claimed[second][word] | shown);
    if (!(a | b)) continue;
    const uint32_t bit = (uint32_t)__builtin_ctzll(a | b);
    return (word * 64 + bit) * PTO_LANES + (a >> bit & 1 ? first : second);
  }
  return UINT32_MAX;
}

uint32_t pto_core_tracker_pick(const struct pto_core_tracker *tracker, bool is_aic, bool may_use_claimed,
                               bool only_idle) {
  const uint32_t core = lowest(tracker, tracker->idle, is_aic, may_use_claimed);
  return core != UINT32_MAX || only_idle ? core : lowest(tracker, tracker->room, is_aic, may_use_claimed);
}

static uint32_t cluster_in(const struct pto_core_tracker *tracker, uint64_t *const set[PTO_LANES], bool needs_aic,
                           uint32_t aiv_count, bool may_use_claimed) {
  for (uint32_t word = 0; word < tracker->word_count; word++) {
    uint64_t lane[PTO_LANES];
    for (uint32_t i = 0; i < PTO_LANES; i++)
      lane[i] = may_use_claimed ? set[i][word] : set[i][word] & ~tracker->claimed[i][word];
    uint64_t bits = aiv_count == 2 ? lane[1] & lane[2] : lane[1] | lane[2];
    if (needs_aic) bits &= lane[0];
    if (bits) return word * 64 + (uint32_t)__builtin_ctzll(bits);
  }
  return UINT32_MAX;
}

uint32_t pto_core_tracker_pick_cluster(struct pto_core_tracker *tracker, bool needs_aic, uint32_t aiv_count,
                                       bool may_use_claimed, bool only_idle, uint32_t aiv_lanes[2]) {
  uint64_t *const *set = tracker->idle;
  uint32_t cluster = cluster_in(tracker, set, needs_aic, aiv_count, may_use_claimed);
  if (cluster == UINT32_MAX && !only_idle) {
    set = tracker->room;
    cluster = cluster_in(tracker, set, needs_aic, aiv_count, may_use_claimed);
  }
  if (cluster == UINT32_MAX) return cluster;
  uint32_t word = cluster / 64;
  uint64_t bit = UINT64_C(1) << (cluster & 63), free1 = set[1][word], free2 = set[2][word];
  if (!may_use_claimed) {
    free1 &= ~tracker->claimed[1][word];
    free2 &= ~tracker->claimed[2][word];
  }
  bool is_second_better =
      aiv_count == 1 && (free2 & bit) && (tracker->idle[2][word] & bit) && !(tracker->idle[1][word] & bit);
  aiv_lanes[0] = (free1 & bit) && !is_second_better ? 1 : 2;
  aiv_lanes[1] = 2;
  return cluster;
}

void pto_core_tracker_claim(struct pto_core_tracker *tracker, uint32_t core) {
  uint64_t *word = &tracker->claimed[core % PTO_LANES][core / PTO_LANES / 64];
  uint64_t bit = UINT64_C(1) << (core / PTO_LANES & 63);
  if (*word & bit) return;
  *word |= bit;
  tracker->claim_count++;
}

void pto_core_tracker_release_claims(struct pto_core_tracker *tracker) {
  if (!tracker->claim_count) return;
  for (uint32_t lane = 0; lane < PTO_LANES; lane++)
    memset(tracker->claimed[lane], 0, sizeof(uint64_t) * tracker->word_count);
  tracker->claim_count = 0;
}

bool pto_core_tracker_is_valid(const struct pto_core_tracker *tracker) {
  uint32_t sum = 0, claims = 0;
  for (uint32_t core = 0; core < tracker->cluster_count * PTO_LANES; core++) {
    uint32_t lane = core % PTO_LANES, word = core / PTO_LANES / 64;
    uint64_t bit = UINT64_C(1) << (core / PTO_LANES & 63);
    uint32_t load = tracker->load[core];
    sum += load;
    claims += (tracker->claimed[lane][word] & bit) != 0;
    if (load > tracker->slots_per_core) return false;
    if (((tracker->idle[lane][word] & bit) != 0) != (load == 0)) return false;
    if (((tracker->room[lane][word] & bit) != 0) != (load < tracker->slots_per_core)) return false;
  }
  return sum == tracker->in_flight && claims == tracker->claim_count;
}
