/* SPDX-License-Identifier: MIT */
/*
 * What a run on several ranks wrote with --json, as one result: for those who compare results.
 *
 * Counts of tasks and edges are sums over ranks, high-water marks the highest of any.  Kernels and accounts of all
 * ranks stand side by side, so who adds up by name has the sums; the path is the one over all ranks.  Tasks are not
 * matched: alike_tasks are of one chip, and are left out.
 */
#ifndef PTO_CHECK_REGRESS_RANKS_RESULT_H
#define PTO_CHECK_REGRESS_RANKS_RESULT_H

#include <stdbool.h>

#include <jansson.h>

bool pto_ranks_result_is(json_t *result);
/* Takes the reference and gives one: of `result` itself where it is no such object.  NULL: no memory; or NULL. */
json_t *pto_ranks_result_fold(json_t *result);

#endif
