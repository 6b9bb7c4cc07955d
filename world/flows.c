/* SPDX-License-Identifier: MIT */
/* What is on the fabric: messages whose bytes take their way and their share of the links. */
#include <world/world_state.h>

#include <stdlib.h>

#include <runtime/base/grow.h>

static bool put_flow(struct pto_world *world, struct pto_world_message *message, uint64_t *id) {
  size_t i = 0;
  while (i < world->flow_count && world->flows[i]) i++;
  if (i == world->flow_count &&
      !pto_grow(&world->flows, &world->flow_count, &world->flow_capacity, sizeof(struct pto_world_message *)))
    return false;
  world->flows[i] = message;
  *id = i;
  return true;
}

bool pto_world_transfer(struct pto_world *world, uint64_t now, uint32_t source, uint64_t bytes,
                        struct pto_world_message *message) {
  struct pto_fabric_message flow = {.bytes = bytes, .source = source, .target = message->target};
  if (put_flow(world, message, &flow.id)) {
    if (pto_fabric_begin(world->fabric, now, &flow) == PTO_OK) {
      if (world->current) pto_rank_limit(world->current, pto_fabric_next_at(world->fabric));
      return true;
    }
    world->flows[flow.id] = NULL;
  }
  free(message->landed);
  free(message);
  return false;
}

bool pto_world_advance_fabric(struct pto_world *world) {
  struct pto_fabric_arrival arrival;
  const uint64_t until = pto_fabric_next_at(world->fabric);
  bool is_well = true;
  while (pto_fabric_advance(world->fabric, until, &arrival)) {
    struct pto_world_message *message = world->flows[arrival.message.id], *landed = message->landed;
    world->flows[arrival.message.id] = NULL;
    message->at = arrival.at;
    message->landed = NULL;
    if (landed) landed->at = arrival.at;
    is_well &= pto_world_send(world, message);
    if (landed) is_well &= pto_world_send(world, landed);
  }
  return is_well;
}
