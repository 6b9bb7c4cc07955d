/* SPDX-License-Identifier: MIT */
/*
 * What a run wrote with --json as the result of one `ptosim run`: for those who compare results.
 *
 * Of `ptosim graph --run` it has the keys of a run already; the program is the graph.  Of a run on several ranks counts
 * of tasks and edges are sums over ranks, high-water marks the highest of any.  Kernels and accounts of all ranks stand
 * side by side, so who adds up by name has the sums; the path is the one over all ranks.  Tasks are not matched:
 * alike_tasks are of one chip, and are left out.
 */
#ifndef PTO_CHECK_REGRESS_ONE_RESULT_H
#define PTO_CHECK_REGRESS_ONE_RESULT_H

#include <jansson.h>

/* Takes the reference and gives one: of `result` itself where there is nothing to do.  NULL: no memory; or NULL. */
json_t *pto_one_result(json_t *result);

#endif
