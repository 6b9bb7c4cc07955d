/* SPDX-License-Identifier: MIT */
#include <runtime/sched/core_tracker.h>

#include <string.h>

bool pto_core_tracker_init(struct pto_core_tracker *tracker, const struct pto_port *port) {
  *tracker = (struct pto_core_tracker){.cluster_count = port->cluster_count,
                                       .word_count = (port->cluster_count + 63) / 64,
                                       .slots_per_core = port->slots_per_core,
                                       .worker_count = port->worker_count,
                                       .core_worker = port->core_worker};
  PTO_ASSERT(port->slots_per_core > 0 && port->slots_per_core <= PTO_CORE_TICKETS && port->worker_count > 0);
  uint64_t words = tracker->word_count;
  uint64_t cores = (uint64_t)port->cluster_count * PTO_LANES;
  uint64_t bytes = 8 * words * PTO_LANES * (3 + port->worker_count) +
                   pto_align_up(4 * (uint64_t)port->worker_count, 8) + 4 * cores * PTO_CORE_TICKETS + 2 * cores;
  if (!pto_reserve_init(&tracker->memory, bytes)) return false;
  uint64_t *at = tracker->memory.addr;
  for (uint32_t lane = 0; lane < PTO_LANES; lane++) {
    tracker->idle[lane] = at;
    tracker->room[lane] = at + words;
    tracker->claimed[lane] = at + 2 * words;
    at += 3 * words;
  }
  tracker->lives_on = at;
  at += words * PTO_LANES * port->worker_count;
  tracker->worker_load = (uint32_t *)(void *)at;
  tracker->tickets = (uint32_t *)(void *)((char *)at + pto_align_up(4 * (uint64_t)port->worker_count, 8));
  tracker->load = (uint8_t *)(tracker->tickets + cores * PTO_CORE_TICKETS);
  tracker->next_ticket = tracker->load + cores;
  uint32_t home_kinds = 0;
  for (uint32_t core = 0; core < cores; core++) {
    uint32_t cluster = core / PTO_LANES;
    tracker->lives_on[(port->core_worker[core] * PTO_LANES + core % PTO_LANES) * words + cluster / 64] |=
        UINT64_C(1) << (cluster & 63);
    home_kinds |= port->core_worker[core] ? 0 : core % PTO_LANES ? PTO_AIV : PTO_AIC;
  }
  tracker->has_home = home_kinds == (PTO_AIC | PTO_AIV);
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
    tracker->lane_room[lane] = tracker->lane_idle[lane] = tracker->cluster_count;
  }
  memset(tracker->load, 0, (size_t)tracker->cluster_count * PTO_LANES);
  memset(tracker->worker_load, 0, sizeof *tracker->worker_load * tracker->worker_count);
  tracker->in_flight = tracker->claim_count = 0;
}

/* The lowest core of `worker` among `set`: the AIC of a cluster, or its first AIV that is there. */
static inline uint32_t first_of_worker(const struct pto_core_tracker *tracker, uint64_t *const set[PTO_LANES],
                                       uint32_t worker, bool is_aic, bool may_use_claimed) {
  uint32_t words = tracker->word_count;
  const uint64_t *home = tracker->lives_on + (uint64_t)worker * PTO_LANES * words;
  uint64_t shown = may_use_claimed ? UINT64_MAX : 0;
  for (uint32_t word = 0; word < words; word++) {
    if (is_aic) {
      uint64_t aic = set[0][word] & home[word] & (~tracker->claimed[0][word] | shown);
      if (aic) return (word * 64 + (uint32_t)__builtin_ctzll(aic)) * PTO_LANES;
      continue;
    }
    uint64_t aiv0 = set[1][word] & home[words + word] & (~tracker->claimed[1][word] | shown);
    uint64_t aiv1 = set[2][word] & home[2 * words + word] & (~tracker->claimed[2][word] | shown);
    if (!(aiv0 | aiv1)) continue;
    uint32_t cluster = (uint32_t)__builtin_ctzll(aiv0 | aiv1);
    return (word * 64 + cluster) * PTO_LANES + (aiv0 >> cluster & 1 ? 1 : 2);
  }
  return UINT32_MAX;
}

/* Of the workers from `first` on that hold less than `limit`. */
static inline uint32_t least_loaded(const struct pto_core_tracker *tracker, uint64_t *const set[PTO_LANES], bool is_aic,
                                    bool may_use_claimed, uint32_t first, uint32_t limit) {
  uint32_t best = UINT32_MAX, best_load = limit;
  for (uint32_t worker = first; worker < tracker->worker_count; worker++) {
    if (tracker->worker_load[worker] >= best_load) continue;
    uint32_t core = first_of_worker(tracker, set, worker, is_aic, may_use_claimed);
    if (core == UINT32_MAX) continue;
    best = core;
    best_load = tracker->worker_load[worker];
  }
  return best;
}

/* The same choice for a chip of up to 64 clusters, without a loop over words. */
static inline uint32_t pick_in_word(const struct pto_core_tracker *tracker, bool is_aic, bool may_use_claimed,
                                    bool only_idle) {
  const uint32_t first = is_aic ? 0 : 1, second = is_aic ? 0 : 2;
  uint64_t hidden_a = 0, hidden_b = 0;
  if (PTO_UNLIKELY(tracker->claim_count) && !may_use_claimed) {
    hidden_a = *tracker->claimed[first];
    hidden_b = *tracker->claimed[second];
  }
  uint64_t a = *tracker->idle[first] & ~hidden_a, b = *tracker->idle[second] & ~hidden_b;
  if (!(a | b)) {
    if (only_idle) return UINT32_MAX;
    a = *tracker->room[first] & ~hidden_a;
    b = *tracker->room[second] & ~hidden_b;
    if (!(a | b)) return UINT32_MAX;
  }
  if (tracker->worker_count > 1) {
    uint64_t best_a = 0, best_b = 0;
    uint32_t best_load = UINT32_MAX;
    const uint64_t *home = tracker->lives_on;
    for (uint32_t worker = 0; worker < tracker->worker_count; worker++, home += PTO_LANES) {
      if (tracker->worker_load[worker] >= best_load || !((a & home[first]) | (b & home[second]))) continue;
      best_load = tracker->worker_load[worker];
      best_a = a & home[first];
      best_b = b & home[second];
    }
    a = best_a;
    b = best_b;
  }
  const uint32_t cluster = (uint32_t)__builtin_ctzll(a | b);
  return cluster * PTO_LANES + (a >> cluster & 1 ? first : second);
}

uint32_t pto_core_tracker_pick_away(const struct pto_core_tracker *tracker, bool is_aic, uint32_t limit) {
  const uint32_t core = least_loaded(tracker, tracker->idle, is_aic, false, 1, limit);
  return core != UINT32_MAX ? core : least_loaded(tracker, tracker->room, is_aic, false, 1, limit);
}

uint32_t pto_core_tracker_pick_home(const struct pto_core_tracker *tracker, bool is_aic) {
  return first_of_worker(tracker, tracker->idle, 0, is_aic, false);
}

uint32_t pto_core_tracker_pick_home_after(const struct pto_core_tracker *tracker, bool is_aic, uint32_t last) {
  const uint32_t core_count = tracker->cluster_count * PTO_LANES;
  for (uint32_t i = 1, core = last; i <= core_count; i++) {
    core = core + 1 < core_count ? core + 1 : 0;
    const uint32_t cluster = core / PTO_LANES, lane = core % PTO_LANES;
    if ((lane == 0) != is_aic || tracker->core_worker[core] != 0 || tracker->load[core]) continue;
    if (!(tracker->claimed[lane][cluster / 64] >> (cluster & 63) & 1)) return core;
  }
  return UINT32_MAX;
}

uint32_t pto_core_tracker_pick(struct pto_core_tracker *tracker, bool is_aic, bool may_use_claimed, bool only_idle) {
  if (PTO_LIKELY(tracker->word_count == 1)) return pick_in_word(tracker, is_aic, may_use_claimed, only_idle);
  const uint32_t *idle = tracker->lane_idle, *room = tracker->lane_room;
  uint32_t core = UINT32_MAX;
  if (is_aic ? idle[0] : idle[1] + idle[2])
    core = least_loaded(tracker, tracker->idle, is_aic, may_use_claimed, 0, UINT32_MAX);
  if (core == UINT32_MAX && !only_idle && (is_aic ? room[0] : room[1] + room[2]))
    core = least_loaded(tracker, tracker->room, is_aic, may_use_claimed, 0, UINT32_MAX);
  return core;
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
