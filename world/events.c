/* SPDX-License-Identifier: MIT */
#include <world/events.h>

#include <runtime/base/grow.h>
#include <world/world_state.h>

void pto_world_keep_events(struct pto_world *world) { world->keeps_events = true; }

void pto_rank_note(struct pto_rank *rank, const struct pto_rank_event *event) {
  if (!rank->part->world->keeps_events) return;
  struct pto_rank_event *kept = pto_grow(&rank->events, &rank->event_count, &rank->event_capacity, sizeof *kept);
  rank->part->is_out_of_memory |= !kept;
  if (!kept) return;
  *kept = *event;
  kept->at = pto_rank_now(rank);
}

void pto_rank_note_access(struct pto_rank *rank, const struct pto_rank_event *event,
                          const struct pto_remote_layout *layout) {
  struct pto_rank_event access = *event;
  if (!rank->part->world->keeps_events) return;
  struct pto_remote_layout *kept = pto_grow(&rank->layouts, &rank->layout_count, &rank->layout_capacity, sizeof *kept);
  rank->part->is_out_of_memory |= !kept;
  if (!kept) return;
  *kept = *layout;
  access.layout = rank->layout_count - 1;
  pto_rank_note(rank, &access);
}
