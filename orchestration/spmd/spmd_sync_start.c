/* SPDX-License-Identifier: MIT */
/*
 * spmd_sync_start: tasks whose blocks start together, among tasks whose blocks need not.  A sync_start task waits
 * until as many clusters are free at once as it has blocks; the others must not keep it waiting for ever, nor it them.
 * How the tasks are written down, and what their blocks write: spmd_slots.h.
 *
 * tasks = as listed, edges = 0.  Twelve blocks together need twelve clusters: smaller chips are refused.
 */
#include <orchestration/spmd/spmd_slots.h>

#define ROUND "mix:4,mix:4,mix:4,mix:4,mix:4,mix:4"

static const struct pto_option options[] = {
    {"tasks", PTO_OPTION_TEXT, "sync:2,sync:8,mix:2,sync:12",
     "what is submitted: aiv:N, mix:N, sync:N, separated by commas"},
    {0},
};

static const struct pto_case cases[] = {
    {"sync", "tasks=sync:2,sync:8,mix:2,sync:12", "three that start together, one that does not", 4, 0, false},
    {"starvation", "tasks=" ROUND ",sync:6," ROUND ",sync:6," ROUND, "two among eighteen that keep every cluster busy",
     20, 0, false},
    {"stress", "tasks=" ROUND ",sync:12,aiv:96," ROUND ",sync:11,sync:12,aiv:48,mix:48,sync:1,aiv:96,sync:12",
     "every shape, close to the width of twelve clusters", 21, 0, false},
    {0},
};

PROGRAM("spmd_sync_start", "tasks whose blocks start together, among others that keep the clusters busy",
        .min_clusters = 12);
