/* SPDX-License-Identifier: MIT */
/* What is on the fabric: messages whose bytes take their way and their share of the links. */
#include <world/world_state.h>

#include <stdlib.h>
#include <string.h>

#include <runtime/base/grow.h>

static bool begin_flow(struct pto_part *part, const struct pto_world_message *about, struct pto_world_message *message,
                       struct pto_world_message *landed) {
  /* A core moves the bytes, and is not served faster than one alone is. */
  struct pto_fabric_message flow = {.bytes = about->flow_bytes,
                                    .source = about->source,
                                    .target = about->target,
                                    .cap_mbps = pto_min_u64(part->world->chip->core_bandwidth_mbps, UINT32_MAX)};
  size_t i = 0;
  while (i < part->flow_count && part->flows[i].is_there) i++;
  if (i == part->flow_count &&
      !pto_grow(&part->flows, &part->flow_count, &part->flow_capacity, sizeof(struct pto_world_flow)))
    return false;
  flow.id = i;
  if (pto_fabric_begin(part->fabric, about->began_at, &flow) != PTO_OK) return false;
  part->flows[i] = (struct pto_world_flow){true, message, landed};
  if (part->current) pto_rank_limit(part->current, pto_fabric_next_at(part->fabric));
  return true;
}

/* Whether the part of its target is another thread's, which has the message itself once it is told. */
static bool is_handed(const struct pto_part *part, const struct pto_world_message *message) {
  return part->world->exchange->is_shared && !pto_part_has(part, message->target);
}

/* For other parts; only where the target's has another memory, with what it carries. */
static bool tell(struct pto_part *part, struct pto_world_message *message, uint64_t at) {
  const bool carries = !pto_part_has(part, message->target) && !is_handed(part, message);
  const uint64_t bytes = carries ? message->bytes : 0;
  struct pto_world_message *copy = pto_exchange_bytes_add(&part->out, pto_align_up(sizeof *message + bytes, 8));
  if (!copy) return false;
  memcpy(copy, message, sizeof *message + bytes);
  copy->bytes = bytes;
  copy->landed = NULL;
  copy->handed = is_handed(part, message) ? message : NULL;
  part->out_at = pto_min_u64(part->out_at, at);
  return true;
}

bool pto_part_send(struct pto_part *part, struct pto_world_message *message) {
  if (pto_part_has(part, message->target)) return pto_rank_push_message(pto_part_rank(part, message->target), message);
  const bool is_told = tell(part, message, message->at);
  if (!is_told || !is_handed(part, message)) free(message);
  return is_told;
}

bool pto_part_transfer(struct pto_part *part, struct pto_world_message *message) {
  const uint64_t away_ps = pto_fabric_lookahead_ps(part->fabric, message->source, message->target);
  struct pto_world_message *landed = message->landed;
  const bool is_own = pto_part_has(part, message->target);
  message->is_flow = true;
  const bool is_told = away_ps >= part->world->between_ps;
  bool is_well = !is_told || tell(part, message, pto_world_add(message->began_at, away_ps));
  const bool is_kept = is_own || (is_well && is_handed(part, message));
  is_well = is_well && begin_flow(part, message, is_own ? message : NULL, landed);
  if (!is_kept || (is_own && !is_well)) free(message);
  if (!is_well) free(landed);
  return is_well;
}

bool pto_part_advance_fabric(struct pto_part *part) {
  struct pto_fabric_arrival arrival;
  const uint64_t until = pto_fabric_next_at(part->fabric);
  bool is_well = true;
  while (pto_fabric_advance(part->fabric, until, &arrival)) {
    struct pto_world_flow *flow = &part->flows[arrival.message.id];
    if (flow->message) flow->message->at = arrival.at;
    if (flow->landed) flow->landed->at = arrival.at;
    if (flow->message) is_well &= pto_part_send(part, flow->message);
    if (flow->landed) is_well &= pto_part_send(part, flow->landed);
    *flow = (struct pto_world_flow){0};
  }
  return is_well;
}

/* The message that was told, for its target. */
static struct pto_world_message *message_of(const struct pto_world_message *told) {
  if (told->handed) return told->handed;
  struct pto_world_message *copy = malloc(sizeof *told + told->bytes);
  if (copy) memcpy(copy, told, sizeof *told + told->bytes);
  return copy;
}

void pto_part_free_told(struct pto_part *part) {
  for (size_t at = 0; at < part->out.count;) {
    const struct pto_world_message *told = (const struct pto_world_message *)(const void *)(part->out.data + at);
    at += pto_align_up(sizeof *told + told->bytes, 8);
    free(told->handed);
  }
  part->out.count = 0;
}

bool pto_part_take_told(struct pto_part *part) {
  bool is_well = true;
  for (size_t at = 0; at < part->in.count;) {
    const struct pto_world_message *told = (const struct pto_world_message *)(const void *)(part->in.data + at);
    at += pto_align_up(sizeof *told + told->bytes, 8);
    if (pto_part_has(part, told->source)) continue;
    const bool is_own = pto_part_has(part, told->target);
    if (!is_own && !told->is_flow) continue;
    struct pto_world_message *message = is_own ? message_of(told) : NULL;
    if (is_own && !message) {
      is_well = false;
    } else if (!told->is_flow) {
      is_well &= pto_rank_push_message(pto_part_rank(part, told->target), message);
    } else if (!begin_flow(part, told, message, NULL)) {
      free(message);
      is_well = false;
    }
  }
  return is_well;
}
