/* SPDX-License-Identifier: MIT */
/*
 * Why one task of a program comes before another, under either rules, or why nothing orders them, as a report.
 *
 * The report borrows record and names until it is destroyed.  One thread.
 */
#ifndef PTO_CHECK_ORDER_WHY_H
#define PTO_CHECK_ORDER_WHY_H

#include <pto/tools.h>
#include <runtime/base/error.h>
#include <runtime/trace/trace.h>

struct pto_why_question {
  struct pto_why_request asked;
  uint32_t recorded_deps;                               /* by which recordings were ordered in that run */
  const struct pto_trace *trace;                        /* the program that ran is still loaded */
  const char *(*name_of)(void *context, uint64_t base); /* of external memory */
  const char *(*node_of)(void *context, uint64_t task); /* of a graph; NULL: the task is of none */
  void *context;
  const char *program, *case_name; /* NULL: null */
};

/* PTO_OK; PTO_EINVAL for tasks or rules that there are not; PTO_ENOTSUP where the record lacks something; PTO_ENOMEM.
 */
PTO_MUST_CHECK int pto_why(const struct pto_why_question *question, struct pto_report **report_out,
                           struct pto_error *error);

#endif
