/* SPDX-License-Identifier: MIT */
/*
 * What the parts of ranks_check.h share: the sides of a finding of ranks, and the checks that need no order of
 * accesses.
 *
 * Borrows the ranks, which have run, and whose `lines` are there.  One thread.
 */
#ifndef PTO_CHECK_RANKS_RANKS_FINDINGS_H
#define PTO_CHECK_RANKS_RANKS_FINDINGS_H

#include <check/ranks/world_order.h>

/* NULL: the rank has not submitted it. */
const struct pto_trace_task *pto_rank_task(const struct pto_ranks *ranks, uint32_t rank, uint64_t number);
/* Side `i` of a finding is that task of that rank, which may not be there. */
void pto_rank_set_side(const struct pto_ranks *ranks, struct pto_finding *finding, int i, uint32_t rank,
                       uint64_t number);
/* The same mistake on all ranks, which have the program loaded once each. */
uint64_t pto_rank_side_key(const struct pto_finding *finding, int i);
/* "rank 3 task 812 (dispatch_meta)"; without the task where it has none.  Returns `text`. */
const char *pto_rank_side_name(const struct pto_finding *finding, int i, char *text, size_t size);

/* Side `i` is that access of a window: of a task, or of the host. */
void pto_rank_set_access(const struct pto_world_order *order, struct pto_finding *finding, int i,
                         const struct pto_window_access *access);
/* "rank 1 task 3 (add) param 0 reads", of a side that is set. */
void pto_rank_name_access(const struct pto_world_order *order, const struct pto_finding *finding, int i,
                          const struct pto_window_access *access, char *text, size_t size);

/* Collectives of a communicator that are not the same on all of its ranks: the first. */
void pto_ranks_check_participation(const struct pto_ranks *ranks, struct pto_findings *findings);
/* Signals that one rank sets, and another one adds to in no order with it. */
void pto_ranks_check_sets(struct pto_world_order *order, struct pto_findings *findings);
/* Notes: notifies that no wait was for, and puts that nothing reads, where what is read beside them nothing has put. */
void pto_ranks_report_left(const struct pto_world_order *order, struct pto_findings *findings);
/* What waits for ever, of a run that did. */
void pto_ranks_report_stuck(const struct pto_world_order *order, struct pto_findings *findings);

#endif
