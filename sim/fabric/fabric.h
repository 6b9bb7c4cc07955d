/* SPDX-License-Identifier: MIT */
/*
 * The links between chips, in virtual time: messages between ranks, and how they share what carries them.
 *
 * A rank is a chip (a die).  Ranks are dealt in order: rank r is in package r / dies_per_package and in node
 * r / chips_per_node.  The tier of two ranks is the smallest thing that holds both: their package, their node, or all
 * nodes.  Every tier joins its ranks by directed links of its bandwidth ([fabric] of the chip file):
 *   mesh    a link for each ordered pair; one hop
 *   switch  each rank has a link up and a link down; a message takes the sender's up and the receiver's down
 *   ring    each rank has a link to the next and to the one before, in rank order; the shorter way round, forward where
 *           both are equal
 * A tier's links carry what goes between ranks of that tier and nothing else.
 *
 *   join   = begin + start_ps + latency · hops     a switch counts as one hop
 *   arrive = join + what it takes to serve all bytes; a message without bytes arrives when it joins
 *
 * From join to arrival a message is a flow.  Flows are served at the max–min fair rates: all rates grow together until
 * a link is full or a flow has its own cap, which fixes the rates of these, and so on.  Rates are found anew at each
 * time when a flow joins or arrives, as whole numbers of 2⁻³² · 10⁻⁶ bytes a picosecond, rounded down; between two
 * changes a flow gets exactly rate · time.  So nothing drifts: no link carries more than its bandwidth, a flow gets
 * exactly its bytes, and it arrives in the first picosecond in which it has all of them.
 *
 * Order: what arrives in one picosecond comes in order of sender, and of one sender in the order in which it began
 * them.  What is served depends on the set of messages (time, sender, its order, receiver, bytes, cap) and on nothing
 * else: not on the order of calls for different senders, and not on when the clock is advanced.  So each of several
 * processes may hold the whole fabric, if each is told of every message before its clock is at that message's join.
 * Since join ≥ begin + lookahead of its ranks, the clock may always go to the least clock of all senders + the least
 * lookahead − 1.
 *
 * Owned by who creates it.  One thread.  Memory grows only in begin, which reports it; nothing is floating-point.
 * To add a topology: its word in chip_keys.c, and its case in links.c.
 */
#ifndef PTO_SIM_FABRIC_FABRIC_H
#define PTO_SIM_FABRIC_FABRIC_H

#include <runtime/base/error.h>
#include <sim/chips/chip.h>

#define PTO_FABRIC_MAX_RANKS PTO_CHIP_MAX_JOINED
#define PTO_FABRIC_MAX_HOPS (PTO_FABRIC_MAX_RANKS / 2) /* half a ring */
#define PTO_FABRIC_NEVER UINT64_MAX
#define PTO_FABRIC_LINK_NAME 48 /* characters of a link's name, its end too */

struct pto_fabric;

struct pto_fabric_message {
  uint64_t id;       /* the caller's, given back */
  uint64_t bytes;    /* at most PTO_FABRIC_MAX_BYTES */
  uint64_t cap_mbps; /* its rate is never above that, as where one core moves the bytes; 0: no cap */
  uint32_t source, target;
};
#define PTO_FABRIC_MAX_BYTES (UINT64_C(1) << 48)

struct pto_fabric_arrival {
  uint64_t at, began_at;
  struct pto_fabric_message message;
};

/* How many ranks the chip's fabric holds: nodes · chips_per_node, at most PTO_FABRIC_MAX_RANKS; 1 where the chip file
 * has no [fabric]. */
uint32_t pto_fabric_capacity(const struct pto_chip *chip);

/* A fabric with nothing on it, at time 0, for ranks 0 to rank_count - 1.  PTO_EINVAL: the chip's fabric does not hold
 * so many; PTO_ENOMEM. */
PTO_MUST_CHECK int pto_fabric_create(const struct pto_chip *chip, uint32_t rank_count, struct pto_fabric **fabric,
                                     struct pto_error *error);
void pto_fabric_destroy(struct pto_fabric *fabric); /* NULL is allowed */

/* What lies between a begin on one rank and all that another rank may see of it, at least: start_ps + latency · hops.
 * Two different ranks. */
uint64_t pto_fabric_lookahead_ps(const struct pto_fabric *fabric, uint32_t source, uint32_t target);

/* A message begins at `now`, which may be before the clock, but its join is after it (asserted).  Source and target are
 * two ranks of the fabric.  PTO_ENOMEM: nothing has changed. */
PTO_MUST_CHECK int pto_fabric_begin(struct pto_fabric *fabric, uint64_t now, const struct pto_fabric_message *message);
/* When something happens next: a message joins, or arrives; PTO_FABRIC_NEVER where none is under way. */
uint64_t pto_fabric_next_at(const struct pto_fabric *fabric);
/* The next message that arrives at `until` or before: true, and which.  False: there is none, and the clock is at
 * `until`.  Call it until it says false. */
bool pto_fabric_advance(struct pto_fabric *fabric, uint64_t until, struct pto_fabric_arrival *arrival);

/* For tests: no link carries more than it can, each flow has all that the max–min rule gives, all counts agree. */
bool pto_fabric_is_valid(const struct pto_fabric *fabric);

/* ---- links: for statistics and traces ---- */

struct pto_fabric_link {
  uint64_t bytes;   /* of the flows that it carried to their arrival */
  uint64_t busy_ps; /* while it carried one flow or more, up to the clock */
  uint64_t flows;   /* that joined it */
  uint64_t bandwidth_mbps;
  uint32_t flows_now;
};

uint32_t pto_fabric_link_count(const struct pto_fabric *fabric);
struct pto_fabric_link pto_fabric_link(const struct pto_fabric *fabric, uint32_t link);
/* "node 3 -> 5" of a mesh or a ring, "node 3 up" and "node 3 down" of a switch; ranks, after the tier's name. */
const char *pto_fabric_link_name(const struct pto_fabric *fabric, uint32_t link, char name[PTO_FABRIC_LINK_NAME]);
/* The links from source to target, in order; how many. */
uint32_t pto_fabric_route(const struct pto_fabric *fabric, uint32_t source, uint32_t target,
                          uint16_t links[PTO_FABRIC_MAX_HOPS]);

#endif
