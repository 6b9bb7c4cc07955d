/* SPDX-License-Identifier: MIT */
/*
 * Submit: the one way of a task from what a public call asks for to its edges, and to progress where it lacks nothing.
 *
 *   check → poll → template or params → slot and memory → record → edges → settle → start
 *
 * Everything is checked before anything changes, but for space: a run whose space is used up ends.  Owns nothing: what
 * it makes is in the runtime's state.  Control thread only.
 */
#ifndef PTO_RUNTIME_SUBMIT_SUBMIT_H
#define PTO_RUNTIME_SUBMIT_SUBMIT_H

#include <runtime/submit/params.h>

int pto_submit_request(struct pto_runtime *rt, const struct pto_submit_request *request, struct pto_task *task_out);

#endif
