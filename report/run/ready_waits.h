/* SPDX-License-Identifier: MIT */
/*
 * Cores that stood idle while work was ready for them, from the record of a run.
 *
 * A call is ready when its task has been submitted and all producers of the task have ended; of an accumulating task
 * whose blocks run one after another, when the block before has ended too.  It waits from then until it begins.  At any
 * moment as many cores of a kind are idle for no good reason as are idle and have a waiting call of their kind:
 *
 *   min(idle cores of the kind, waiting calls of the kind), summed over time.
 *
 * What is left of cores · makespan after this and the busy time is idle for want of work.
 *
 * Always true: busy time + idle_ready ≤ makespan · cores, by kind; any_ready ≤ makespan.
 *
 * Owns nothing.  Reads a trace with a graph and a timeline, after the run.  Time n log n, for n calls.
 */
#ifndef PTO_REPORT_RUN_READY_WAITS_H
#define PTO_REPORT_RUN_READY_WAITS_H

#include <runtime/base/error.h>
#include <runtime/trace/trace.h>

/* By kind of core (AIC, AIV), in the trace's unit of time. */
struct pto_ready_waits {
  uint64_t idle_ready[2]; /* of cores, summed over them */
  uint64_t any_ready[2];  /* while there was at least one such core */
};

/* `core_count`: of the chip, by kind.  All 0 where no graph was recorded.  PTO_OK or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_ready_waits_find(const struct pto_trace *trace, const uint32_t core_count[2],
                                        struct pto_ready_waits *waits, struct pto_error *error);

#endif
