/* SPDX-License-Identifier: MIT */
/*
 * What differs between two graphs, as a report.
 *
 * The report owns both graphs, which it takes also where there is none for want of memory; names are borrowed until it
 * is destroyed.  One thread.
 */
#ifndef PTO_CHECK_DIFF_GRAPH_REPORT_H
#define PTO_CHECK_DIFF_GRAPH_REPORT_H

#include <check/diff/graph_file.h>
#include <pto/tools.h>

struct pto_graph_side {
  const char *name; /* of its file or program */
  struct pto_graph_file graph;
  bool is_capture; /* what its tasks are called says nothing: edges alone are compared */
};

PTO_MUST_CHECK int pto_graph_report(struct pto_graph_side sides[2], struct pto_report **report_out,
                                    struct pto_error *error);

#endif
