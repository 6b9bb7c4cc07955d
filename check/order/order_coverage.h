/* SPDX-License-Identifier: MIT */
/*
 * What the order of a recorded program's tasks was judged by, and what its record cannot tell: the coverage of `ptosim
 * check`, from the record that order_check.h judges.
 *
 * Judged are accesses that tasks declare, and those of the host.  Not judged are what kernels touch besides, by
 * addresses in scalars too; tensors that a task holds, whose order is the program's; and what cores of one task do to
 * each other, where its kernels wait for other cores.  A record that lacks something is judged by neither.
 *
 * Owns nothing.  One thread.
 */
#ifndef PTO_CHECK_ORDER_ORDER_COVERAGE_H
#define PTO_CHECK_ORDER_ORDER_COVERAGE_H

#include <report/findings/coverage.h>
#include <runtime/trace/trace.h>

/* Adds to `coverage`.  `is_rank`: one of several, where no other verb looks at what kernels touch, and where what
 * kernels wait for from other ranks is judged with these.  Of one task: */
void pto_order_cover_task(const struct pto_trace *trace, const struct pto_trace_task *task, bool is_rank,
                          struct pto_coverage *coverage);
/* All of them, and the host's accesses. */
void pto_order_cover(const struct pto_trace *trace, bool is_rank, struct pto_coverage *coverage);

#endif
