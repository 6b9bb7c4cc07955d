/* SPDX-License-Identifier: MIT */
#include <sim/fabric/links.h>

#include <stdio.h>

void pto_fabric_links_init(struct pto_fabric_links *links, const struct pto_chip_fabric *chip) {
  const uint32_t chips = chip->nodes * chip->chips_per_node;
  *links = (struct pto_fabric_links){.chip = *chip, .group = {chip->dies_per_package, chip->chips_per_node, chips}};
  for (uint32_t tier = 0; tier < PTO_CHIP_TIER_COUNT; tier++) {
    const uint32_t members = links->group[tier] / (tier == 0 ? 1 : links->group[tier - 1]);
    const uint32_t of_a_chip = chip->tiers[tier].topology == PTO_CHIP_MESH ? links->group[tier] : 2;
    links->first[tier + 1] = links->first[tier] + (members > 1 ? chips * of_a_chip : 0);
  }
  PTO_ASSERT(links->first[PTO_CHIP_TIER_COUNT] <= UINT16_MAX);
}

enum pto_chip_tier pto_fabric_links_tier(const struct pto_fabric_links *links, uint32_t link) {
  enum pto_chip_tier tier = PTO_CHIP_PACKAGE;
  while (tier < PTO_CHIP_NODES && link >= links->first[tier + 1]) tier++;
  return tier;
}

uint64_t pto_fabric_links_capacity(const struct pto_fabric_links *links, uint32_t link) {
  const uint64_t bandwidth_mbps = links->chip.tiers[pto_fabric_links_tier(links, link)].bandwidth_mbps;
  return (uint64_t)(((unsigned __int128)bandwidth_mbps << PTO_FABRIC_UNIT_LOG2) * links->chip.link_percent / 100);
}

/* The smallest that both are in. */
static enum pto_chip_tier tier_of(const struct pto_fabric_links *links, uint32_t source, uint32_t target) {
  enum pto_chip_tier tier = PTO_CHIP_PACKAGE;
  while (tier < PTO_CHIP_NODES && source / links->group[tier] != target / links->group[tier]) tier++;
  return tier;
}

/* How far it is from source to target in a ring's own direction. */
static uint32_t steps_forward(const struct pto_fabric_links *links, enum pto_chip_tier tier, uint32_t source,
                              uint32_t target) {
  return (target + links->group[tier] - source) % links->group[tier];
}

/* The links of a ring: each chip has one to the next, and one to the chip before. */
static uint32_t ring_route(const struct pto_fabric_links *links, enum pto_chip_tier tier, uint32_t source,
                           uint32_t target, uint16_t *route) {
  const uint32_t size = links->group[tier], begin = source / size * size;
  const uint32_t forward = steps_forward(links, tier, source, target);
  const bool is_back = forward > size - forward;
  const uint32_t hops = is_back ? size - forward : forward;
  for (uint32_t hop = 0; hop < hops; hop++) {
    const uint32_t at = (source - begin + (is_back ? size - hop : hop)) % size;
    route[hop] = (uint16_t)(links->first[tier] + 2 * (begin + at) + is_back);
  }
  return hops;
}

uint32_t pto_fabric_links_route(const struct pto_fabric_links *links, uint32_t source, uint32_t target,
                                uint16_t route[PTO_FABRIC_MAX_HOPS]) {
  const enum pto_chip_tier tier = tier_of(links, source, target);
  const uint32_t first = links->first[tier], size = links->group[tier];
  switch ((enum pto_chip_topology)links->chip.tiers[tier].topology) {
  case PTO_CHIP_MESH:
    route[0] = (uint16_t)(first + source * size + target % size);
    return 1;
  case PTO_CHIP_SWITCH:
    route[0] = (uint16_t)(first + 2 * source);
    route[1] = (uint16_t)(first + 2 * target + 1);
    return 2;
  case PTO_CHIP_RING:
    break;
  }
  return ring_route(links, tier, source, target, route);
}

uint64_t pto_fabric_links_lookahead_ps(const struct pto_fabric_links *links, uint32_t source, uint32_t target) {
  const enum pto_chip_tier tier = tier_of(links, source, target);
  uint64_t hops = 1;
  if (links->chip.tiers[tier].topology == PTO_CHIP_RING) {
    const uint32_t forward = steps_forward(links, tier, source, target);
    hops = pto_min_u64(forward, links->group[tier] - forward);
  }
  return links->chip.start_ps + links->chip.tiers[tier].latency_ps * hops;
}

const char *pto_fabric_links_name(const struct pto_fabric_links *links, uint32_t link,
                                  char name[PTO_FABRIC_LINK_NAME]) {
  static const char *const tier_names[PTO_CHIP_TIER_COUNT] = {"package", "node", "nodes"};
  const enum pto_chip_tier tier = pto_fabric_links_tier(links, link);
  const uint32_t number = link - links->first[tier], size = links->group[tier];
  const enum pto_chip_topology topology = (enum pto_chip_topology)links->chip.tiers[tier].topology;
  if (topology == PTO_CHIP_SWITCH) {
    snprintf(name, PTO_FABRIC_LINK_NAME, "%s %u %s", tier_names[tier], number / 2, number % 2 ? "down" : "up");
    return name;
  }
  const bool is_mesh = topology == PTO_CHIP_MESH;
  const uint32_t from = is_mesh ? number / size : number / 2;
  const uint32_t place = is_mesh ? number % size : (from + (number % 2 ? size - 1 : 1)) % size;
  snprintf(name, PTO_FABRIC_LINK_NAME, "%s %u -> %u", tier_names[tier], from, from / size * size + place);
  return name;
}
