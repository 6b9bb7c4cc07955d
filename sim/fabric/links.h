/* SPDX-License-Identifier: MIT */
/*
 * Which links a fabric has, and which of them a message takes: numbers only, no flows.
 *
 * A link's number follows from its tier, its topology and its ranks.  All chips of the fabric have their links,
 * whatever the number of ranks that run: the time between two ranks does not depend on others that stay idle.  Always
 * true: the links of a tier follow those of the tier before; a tier of one member has none.  A value; any thread.
 */
#ifndef PTO_SIM_FABRIC_LINKS_H
#define PTO_SIM_FABRIC_LINKS_H

#include <sim/fabric/fabric.h>

/* Rates are in 2⁻³² · 10⁻⁶ bytes a picosecond (MB/s are 10⁻⁶ bytes a picosecond), so that ten million flows may share
 * the slowest link; what is left of a message is in 2⁻³² · 10⁻⁶ bytes and 128 bits. */
#define PTO_FABRIC_UNIT_LOG2 32
#define PTO_FABRIC_UNITS_PER_BYTE ((unsigned __int128)1000000 << PTO_FABRIC_UNIT_LOG2)

struct pto_fabric_links {
  struct pto_chip_fabric chip;
  uint32_t group[PTO_CHIP_TIER_COUNT];             /* chips of what the tier joins */
  uint32_t first[(size_t)PTO_CHIP_TIER_COUNT + 1]; /* link of the tier, and their number */
};

void pto_fabric_links_init(struct pto_fabric_links *links, const struct pto_chip_fabric *chip);
/* Where a link belongs, and the rate that it carries at most. */
enum pto_chip_tier pto_fabric_links_tier(const struct pto_fabric_links *links, uint32_t link);
uint64_t pto_fabric_links_capacity(const struct pto_fabric_links *links, uint32_t link);
/* As of fabric.h. */
uint32_t pto_fabric_links_route(const struct pto_fabric_links *links, uint32_t source, uint32_t target,
                                uint16_t route[PTO_FABRIC_MAX_HOPS]);
uint64_t pto_fabric_links_lookahead_ps(const struct pto_fabric_links *links, uint32_t source, uint32_t target);
const char *pto_fabric_links_name(const struct pto_fabric_links *links, uint32_t link, char name[PTO_FABRIC_LINK_NAME]);

#endif
