/* SPDX-License-Identifier: MIT */
/*
 * Why a task of one rank comes before a task of another, or why nothing orders the two: a shortest way through the
 * tasks of all ranks (world_order.h), each step an edge of a rank, a notify and the wait that it is for, or
 * pto_comm_create.  Both directions are looked at, since numbers of two ranks say nothing of each other, and a task
 * that waits or notifies may have parts on both sides of the other.
 *
 * Of two tasks of one rank it is what check/order/why.h says of that rank, and the ways through other ranks where one
 * of the rules has none within it.
 *
 * The ranks have run, and were opened with pto_ranks_init_judged.  The report borrows them until it is destroyed.  One
 * thread.
 */
#ifndef PTO_CHECK_RANKS_WORLD_WHY_H
#define PTO_CHECK_RANKS_WORLD_WHY_H

#include <check/ranks/ranks.h>

struct pto_world_why_request {
  uint32_t ranks[2];
  uint64_t tasks[2]; /* of each rank, in order of submission */
  bool has_rules;    /* of two tasks of one rank: only these, else all.  Between ranks those of the run count. */
  uint32_t rules;
};

/* PTO_OK; PTO_EINVAL for ranks or tasks that there are not; PTO_ENOTSUP where a record lacks something; PTO_ENOMEM.
 * With the sentence. */
PTO_MUST_CHECK int pto_world_why(struct pto_ranks *ranks, const struct pto_world_why_request *request,
                                 struct pto_report **report_out, struct pto_error *error);

#endif
