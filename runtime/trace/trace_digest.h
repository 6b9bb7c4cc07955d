/* SPDX-License-Identifier: MIT */
/*
 * One number for a timeline, to compare runs by: equal where the same calls ran on the same cores at the same virtual
 * times.
 *
 * Made of the spans' integer times and ids (task, block, core, role) alone: no address, no wall time, nothing of the
 * number of workers or of the log that a span is in; and of the number of dropped spans.  Meaningful for virtual time;
 * real times never repeat.  Reads the trace after the run.
 */
#ifndef PTO_TRACE_DIGEST_H
#define PTO_TRACE_DIGEST_H

#include <runtime/trace/trace.h>

uint64_t pto_trace_digest(const struct pto_trace *trace);

#endif
