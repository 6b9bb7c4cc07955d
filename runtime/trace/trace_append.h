/* SPDX-License-Identifier: MIT */
/*
 * One recording behind another: what several runs did, as if it were one run.
 *
 * Tasks, scopes and buffers of the second are numbered on from those of the first, and so all that refers to them.
 * Times go on from `shift`.  The caller owns `sum`; no writer may be at either trace.
 */
#ifndef PTO_TRACE_APPEND_H
#define PTO_TRACE_APPEND_H

#include <runtime/trace/trace.h>

/* Adds copies of all records of `part` to `sum`.  A zeroed `sum` becomes a recording of the same kind and the same
 * number of span logs.  `shift` is added to all times of the part, in its unit.  Records that find a log full are
 * counted as dropped; what a part has dropped counts as well.  Writers' threads are those of the part.  PTO_OK, or
 * PTO_ENOMEM with `sum` still zeroed. */
PTO_MUST_CHECK int pto_trace_append(struct pto_trace *sum, const struct pto_trace *part, uint64_t shift);

/* All that is in `sum` is over before what will be appended begins: who judges the order of tasks is told by a record
 * of a sync.  Nothing where the sum has no graph. */
void pto_trace_append_sync(struct pto_trace *sum);

/* The `shift`, in nanoseconds, of a part that began at `start_ns` of the clock by which the sum began at its own.  One
 * that began before the sum moves the sum's begin, and with it all times in it, to a later place: then it is 0. */
uint64_t pto_trace_append_shift(struct pto_trace *sum, uint64_t start_ns);

#endif
