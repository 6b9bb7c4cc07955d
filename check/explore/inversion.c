/* SPDX-License-Identifier: MIT */
#include <check/explore/inversion.h>

/* Pairs of steps that are looked at. */
#define MOST_PAIRS (UINT64_C(1) << 24)

bool pto_explore_inversion(const struct pto_explore_graph *graph, const struct pto_explore_step *steps, uint64_t count,
                           struct pto_explore_event *late, struct pto_explore_event *early) {
  uint64_t nearest = UINT64_MAX, greatest = 0, pairs = 0;
  for (uint64_t i = 0; i < count; i++) {
    const struct pto_explore_event *event = &steps[i].event;
    if (event->kind != PTO_EXPLORE_CALL) continue;
    for (uint64_t k = i; event->task < greatest && k-- > 0 && pairs < MOST_PAIRS; pairs++) {
      const struct pto_explore_event *before = &steps[k].event;
      const struct pto_explore_touch *a, *b;
      if (before->kind != PTO_EXPLORE_CALL || before->task <= event->task || before->task - event->task >= nearest)
        continue;
      if (!pto_explore_graph_shares_bytes(graph, event->task, before->task, &a, &b)) continue;
      nearest = before->task - event->task;
      *late = *event;
      *early = *before;
    }
    greatest = pto_max_u64(greatest, event->task);
  }
  return nearest != UINT64_MAX;
}
