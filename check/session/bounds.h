/* SPDX-License-Identifier: MIT */
/*
 * Tensors that an orchestration has registered over an array of the program, or a block of it, and that have bytes
 * behind its end.
 *
 * By what tasks declare alone: whether a kernel touches these bytes is another question, and in a run it may be where
 * the run ends.  Memory of no array has no known end.
 *
 * Owns nothing.  One thread, after the run.
 */
#ifndef PTO_CHECK_SESSION_BOUNDS_H
#define PTO_CHECK_SESSION_BOUNDS_H

#include <orchestration/loader/program_run.h>
#include <report/findings/findings.h>
#include <runtime/trace/trace.h>

/* Of each task of the record that has one: PTO_FINDING_BEYOND.  `trace` NULL: there is no record; `run` NULL: there are
 * no arrays. */
void pto_bounds_check(const struct pto_trace *trace, struct pto_program_run *run, struct pto_findings *findings);

#endif
