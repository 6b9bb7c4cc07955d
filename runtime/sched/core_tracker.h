/* SPDX-License-Identifier: MIT */
/*
 * Core tracker: how many messages each core holds, and which core takes the next one.
 *
 *     load(core) = messages sent to it − completions polled from it,   0 ≤ load ≤ slots_per_core
 * A core is idle at load 0 and has room below slots_per_core.  Idle cores come before merely free ones; among equals
 * the lowest cluster.  Cores claimed for a task that needs several at once are hidden from all others until it has
 * them. The tickets of the last messages sent to a core say what it holds, for reports.
 *
 * Owns its counts and bits; the scheduler owns it.  Control thread only.  Sees of the machine what the port says of it.
 */
#ifndef PTO_CORE_TRACKER_H
#define PTO_CORE_TRACKER_H

#include <runtime/base/reserve.h>
#include <runtime/port/port.h>

#define PTO_LANES 3u         /* of a cluster: AIC, AIV0, AIV1 */
#define PTO_CORE_TICKETS 16u /* slots_per_core is at most that (sim/chips/chip.h) */

struct pto_core_tracker {
  struct pto_reserve memory;
  uint32_t cluster_count, word_count, slots_per_core;
  uint64_t *idle[PTO_LANES]; /* bits by cluster */
  uint64_t *room[PTO_LANES];
  uint64_t *claimed[PTO_LANES];
  uint8_t *load;        /* by core */
  uint32_t *tickets;    /* by core, a ring of PTO_CORE_TICKETS: of the last messages sent to it; for reports */
  uint8_t *next_ticket; /* by core: where the next one goes, running free */
  uint32_t in_flight;   /* sum of all loads */
  uint32_t claim_count; /* claimed cores */
};

bool pto_core_tracker_init(struct pto_core_tracker *tracker, const struct pto_port *port);
void pto_core_tracker_fini(struct pto_core_tracker *tracker);
void pto_core_tracker_reset(struct pto_core_tracker *tracker);

/* The AIC, or the AIV, for one message; UINT32_MAX where none has room.  `may_use_claimed`: for the claimant. */
uint32_t pto_core_tracker_pick(const struct pto_core_tracker *tracker, bool is_aic, bool may_use_claimed,
                               bool only_idle);
/* The same for one that may not use claimed cores, where the first 64 clusters have an idle one and nothing is claimed:
 * nearly always.  15 instead of 54 instructions a task. */
static inline uint32_t pto_core_tracker_pick_fast(const struct pto_core_tracker *tracker, bool is_aic) {
  uint64_t first = *tracker->idle[is_aic ? 0 : 1], all = first;
  if (!is_aic) all |= *tracker->idle[2];
  if (PTO_UNLIKELY(!all || tracker->claim_count)) return pto_core_tracker_pick(tracker, is_aic, false, false);
  const uint32_t cluster = (uint32_t)__builtin_ctzll(all);
  return cluster * PTO_LANES + (is_aic ? 0 : first >> cluster & 1 ? 1 : 2);
}
/* A cluster with room (idle ones first) on lane 0 where needs_aic, and on `aiv_count` AIV lanes; its AIV lanes are
 * chosen too. UINT32_MAX where there is none. */
uint32_t pto_core_tracker_pick_cluster(struct pto_core_tracker *tracker, bool needs_aic, uint32_t aiv_count,
                                       bool may_use_claimed, bool only_idle, uint32_t aiv_lanes[2]);
void pto_core_tracker_claim(struct pto_core_tracker *tracker, uint32_t core);
void pto_core_tracker_release_claims(struct pto_core_tracker *tracker);
bool pto_core_tracker_is_valid(const struct pto_core_tracker *tracker);

static inline void pto_core_tracker_push(struct pto_core_tracker *tracker, uint32_t core, uint32_t ticket) {
  uint32_t cluster = core / PTO_LANES, lane = core % PTO_LANES;
  uint64_t bit = UINT64_C(1) << (cluster & 63);
  PTO_ASSERT(tracker->load[core] < tracker->slots_per_core);
  tracker->tickets[core * PTO_CORE_TICKETS + tracker->next_ticket[core]++ % PTO_CORE_TICKETS] = ticket;
  if (tracker->load[core] == 0) tracker->idle[lane][cluster >> 6] &= ~bit;
  if (++tracker->load[core] == tracker->slots_per_core) tracker->room[lane][cluster >> 6] &= ~bit;
  tracker->in_flight++;
}
/* The ticket of the `nth` oldest message that a core holds; nth < load. */
static inline uint32_t pto_core_tracker_ticket(const struct pto_core_tracker *tracker, uint32_t core, uint32_t nth) {
  const uint32_t position = (uint32_t)tracker->next_ticket[core] - tracker->load[core] + nth;
  return tracker->tickets[core * PTO_CORE_TICKETS + position % PTO_CORE_TICKETS];
}
static inline void pto_core_tracker_pop(struct pto_core_tracker *tracker, uint32_t core) {
  uint32_t cluster = core / PTO_LANES, lane = core % PTO_LANES;
  uint64_t bit = UINT64_C(1) << (cluster & 63);
  PTO_ASSERT(tracker->load[core] > 0);
  if (tracker->load[core]-- == tracker->slots_per_core) tracker->room[lane][cluster >> 6] |= bit;
  if (tracker->load[core] == 0) tracker->idle[lane][cluster >> 6] |= bit;
  tracker->in_flight--;
}

#endif
