/* SPDX-License-Identifier: MIT */
/*
 * spmd: tasks of many blocks, of one AIV each and of whole clusters, on any chip: what does not fit at once waits its
 * turn. How the tasks are written down, and what their blocks write: spmd_slots.h.
 *
 * tasks = as listed, edges = 0.
 */
#include <orchestration/spmd/spmd_slots.h>

static const struct pto_option options[] = {
    {"tasks", PTO_OPTION_TEXT, "aiv:4,aiv:16,aiv:24,aiv:48,aiv:96",
     "what is submitted: aiv:N, mix:N, sync:N, separated by commas"},
    {0},
};

static const struct pto_case cases[] = {
    {"aiv", "tasks=aiv:4,aiv:16,aiv:24,aiv:48,aiv:96", "blocks of one AIV, fewer and more than cores", 5, 0, false},
    {"mix", "tasks=mix:2,mix:8,mix:9,mix:24,mix:48", "blocks of whole clusters", 5, 0, false},
    {"interleaved", "tasks=aiv:16,mix:9,aiv:96,mix:2,aiv:4,mix:48,aiv:48", "both shapes at once", 7, 0, false},
    {0},
};

PROGRAM("spmd", "tasks of many blocks, on single AIVs and on whole clusters: each core writes its slot");
