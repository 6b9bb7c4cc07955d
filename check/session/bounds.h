/* SPDX-License-Identifier: MIT */
/*
 * Tensors that an orchestration has registered over an array of the program, or a block of it, and that have bytes
 * behind its end; and outputs of the program that its tasks do not fill: elements that no task declares to write, that
 * the host does not write by a call, and that hold the zeros which arrays begin with.
 *
 * By what tasks declare alone: whether a kernel touches these bytes is another question, and in a run it may be where
 * the run ends.  Memory of no array has no known end.  Outputs that no task writes at all are the host's; and programs
 * with an `expect` say there what theirs are to be, zeros too.
 *
 * Also tensors over local variables of the orchestration.
 *
 * Owns nothing.  One thread, after the run.
 */
#ifndef PTO_CHECK_SESSION_BOUNDS_H
#define PTO_CHECK_SESSION_BOUNDS_H

#include <orchestration/loader/program_run.h>
#include <report/findings/findings.h>
#include <runtime/trace/trace.h>

/* Of each task of the record that has one PTO_FINDING_BEYOND; of each output, where the record is that of a whole run,
 * the note PTO_FINDING_UNFILLED.  `trace` NULL: there is no record; `run` NULL: there are no arrays. */
void pto_bounds_check(const struct pto_trace *trace, struct pto_program_run *run, bool is_whole,
                      struct pto_findings *findings);

#endif
