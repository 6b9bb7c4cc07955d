/* SPDX-License-Identifier: MIT */
/*
 * Findings between ranks: `ptosim check --ranks N`, once the ranks have run.
 *
 *   each rank's own order (check/order/order_check.h), as of one chip; explicit edges that can go are not told, as
 *     pto_submit_group adds some itself
 *   accesses of two ranks to the same bytes of a window that nothing orders (world_order.h)
 *   collectives of a communicator that are not the same on all ranks: which, reduction, root, dtype, elements
 *   what waits for ever, where the run did
 *   signals that were notified and not waited for: notes
 *
 * The ranks were opened with pto_ranks_init_judged, in one process and one thread.  Owns nothing after the call but
 * what it puts into the findings.
 */
#ifndef PTO_CHECK_RANKS_RANKS_CHECK_H
#define PTO_CHECK_RANKS_RANKS_CHECK_H

#include <check/ranks/ranks.h>

/* Adds to `findings`; counts are sums over ranks.  PTO_OK, or PTO_ENOMEM, PTO_EINVAL, PTO_ENOTSUP with the sentence. */
PTO_MUST_CHECK int pto_ranks_check(struct pto_ranks *ranks, struct pto_findings *findings,
                                   struct pto_order_counts *counts, struct pto_error *error);

/* Adds what was found of this rank by itself, with the rank in front; notes, too, where `has_notes`. */
void pto_ranks_add_findings(struct pto_findings *all, uint32_t rank, const struct pto_findings *own, bool has_notes);

#endif
