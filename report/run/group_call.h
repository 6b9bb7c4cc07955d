/* SPDX-License-Identifier: MIT */
/* What the task of a group is (PTO_REMOTE_GROUP of runtime/trace/remote.h).  Reads the trace only. */
#ifndef PTO_REPORT_RUN_GROUP_CALL_H
#define PTO_REPORT_RUN_GROUP_CALL_H

#include <runtime/trace/remote.h>

struct pto_group_call {
  const struct pto_kernel *kernel; /* the first that the task has; NULL: the task was not recorded */
  uint32_t collective;             /* enum pto_collective; PTO_COLLECTIVE_COUNT: it is none */
  bool is_moe;                     /* one of the three of MoE, which are no enum pto_collective */
  uint64_t bytes;                  /* of a collective's larger tensor; else 0 */
};
struct pto_group_call pto_group_call_of(const struct pto_trace *trace, const struct pto_trace_remote *group);

#endif
