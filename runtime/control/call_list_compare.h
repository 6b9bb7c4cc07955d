/* SPDX-License-Identifier: MIT */
/*
 * Two call lists of one orchestration, held against each other: whether it repeats, as its program says.
 *
 * Owns nothing.  Both lists can be replayed.  What is for people alone counts for nothing: labels, and where a call was
 * made.  Any thread that may read both.
 */
#ifndef PTO_CALL_LIST_COMPARE_H
#define PTO_CALL_LIST_COMPARE_H

#include <runtime/control/call_list.h>

/* The first difference. */
struct pto_call_difference {
  uint64_t submits;   /* that are the same before it */
  const void *call;   /* as in struct pto_trace_task: of the submit that was made; NULL: none was */
  const char *kernel; /* of that; NULL: none */
  char made[96];      /* "param 2 position = 1" */
  char kept[96];      /* "0", or the like of the whole */
  bool is_scalar;
};

/* Whether they differ; *difference_out is written only then. */
bool pto_call_lists_differ(const struct pto_call_list *kept, const struct pto_call_list *made,
                           struct pto_call_difference *difference_out);

#endif
