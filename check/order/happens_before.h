/* SPDX-License-Identifier: MIT */
/*
 * Conflicting accesses that nothing orders: pairs of nodes of an access graph that touch a byte in common, one of them
 * writing it, without a path from the earlier to the later.  And explicit edges that the graph does not need.
 *
 * Nodes are taken in order, each access held against the live ones of its bytes.  A write makes an earlier access live
 * no more where it covers it and a path leads to it: whatever conflicts with the older one later conflicts with the
 * write too, and if the write is before it, so is the older one.  So:
 *
 *   a pair is told  ⇔  it conflicts, has no path, and no write between the two covers the earlier access and comes
 *                      after it by a path;
 *   none is told    ⇔  no pair at all conflicts without a path;
 *   adding an edge for every pair that is told leaves no conflict without a path.
 *
 * Near-linear while that holds.  Where nothing orders the accesses of some bytes the pairs are as many as their number
 * squared; from PTO_CONFLICTS_MAX told pairs on, a write replaces what it covers and has been told against as well,
 * which keeps the last two lines true and tells each access against the nearest write alone.
 *
 * An allocation conflicts with nothing: it touches no byte, and is over when its submit returns.
 *
 * Bytes are compared exactly here: a wish for fuzzy overlap makes edges, never a conflict.  One thread.
 */
#ifndef PTO_CHECK_ORDER_HAPPENS_BEFORE_H
#define PTO_CHECK_ORDER_HAPPENS_BEFORE_H

#include <check/order/reach.h>

#define PTO_CONFLICTS_MAX 10000u

struct pto_conflict {
  uint32_t earlier, later;               /* nodes */
  uint32_t earlier_access, later_access; /* the first pair of their accesses by kind, then as found */
  uint32_t kind;                         /* PTO_EDGE_RAW, PTO_EDGE_WAW or PTO_EDGE_WAR */
  uint32_t more;                         /* further pairs of accesses of the two */
};

struct pto_happens_before {
  uint64_t pairs;     /* conflicting pairs of accesses looked at */
  uint64_t conflicts; /* pairs of nodes told */
};

/* Calls `tell` for each conflict, by the later node, nearest first.  PTO_OK or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_happens_before_check(struct pto_reach *reach,
                                            void (*tell)(void *context, const struct pto_conflict *conflict),
                                            void *context, struct pto_happens_before *result);

/* Why an explicit edge can go: another reason for the same edge, or a path through another node. */
struct pto_redundancy {
  uint32_t producer, consumer; /* nodes */
  uint32_t reasons;            /* enum pto_edge_reason bits of the same edge; 0: there is a path instead */
  uint32_t through;            /* the last node before the consumer on that path */
};
/* Whether the explicit edge from one node to another is implied by the rest of the graph. */
bool pto_happens_before_implies(struct pto_reach *reach, uint32_t producer, uint32_t consumer,
                                struct pto_redundancy *redundancy);
/* Calls `tell` for each explicit edge that the others of the graph imply.  All such edges may go at once. */
void pto_happens_before_redundant(struct pto_reach *reach,
                                  void (*tell)(void *context, const struct pto_redundancy *redundancy), void *context);

/* The kind of conflict between an earlier and a later access of intersecting bytes; 0: both read, or one only holds. */
static inline uint32_t pto_conflict_kind(const struct pto_graph_access *earlier, const struct pto_graph_access *later) {
  if (earlier->writes) return later->reads ? PTO_EDGE_RAW : later->writes ? PTO_EDGE_WAW : 0;
  return earlier->reads && later->writes ? PTO_EDGE_WAR : 0;
}

#endif
