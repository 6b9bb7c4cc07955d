/* SPDX-License-Identifier: MIT */
/*
 * What a recorded program's declared accesses say about its order: the findings of `ptosim check`.
 *
 *   record → access graph under the rules → conflicts without a path (RAW, WAW, WAR) → findings with the line to add
 *                                         → explicit edges that can go → notes
 *          → uses of a tensor after the end of its scope, where the run let them be → findings
 *          → device tensors that tasks write in part, and the host reads (partial.h) → notes
 *
 * Independent of the order that happened, of windows and of the rules that the run was made under.
 *
 * Owns nothing after the call but what it puts into the findings.  One thread.
 */
#ifndef PTO_CHECK_ORDER_ORDER_CHECK_H
#define PTO_CHECK_ORDER_ORDER_CHECK_H

#include <report/findings/findings.h>
#include <runtime/deps/rules.h>
#include <runtime/trace/trace.h>

struct pto_order_question {
  const struct pto_trace *trace;                        /* the program that ran is still loaded */
  uint32_t rules;                                       /* as config.deps */
  const char *(*name_of)(void *context, uint64_t base); /* of external memory; may be NULL */
  void *context;
};

struct pto_order_counts {
  uint64_t tasks, edges; /* edges between tasks, with none expired */
  uint64_t pairs;        /* conflicting pairs of accesses looked at */
};

/* Adds to `findings`, which the caller owns.  PTO_OK, or PTO_ENOMEM or PTO_EINVAL (the record lacks something) with the
 * sentence. */
PTO_MUST_CHECK int pto_order_check(const struct pto_order_question *question, struct pto_findings *findings,
                                   struct pto_order_counts *counts, struct pto_error *error);

#endif
