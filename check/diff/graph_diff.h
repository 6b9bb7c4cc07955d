/* SPDX-License-Identifier: MIT */
/*
 * What differs between the graphs of two runs, as findings of kind PTO_FINDING_DIFFERENCE: tasks that only one has,
 * kernels, blocks, parameters and views of tasks that both have, edges between these that only one has, and edges with
 * other reasons.
 *
 * Owns nothing.  Always true: nothing is found ⇔ the graphs are equal but for the numbers of their buffers and the name
 * of the program.  A finding's tasks are the task in A and the task in B; of an edge, its producer and consumer in the
 * graph that the sentence names first.
 *
 * One thread.
 */
#ifndef PTO_CHECK_DIFF_GRAPH_DIFF_H
#define PTO_CHECK_DIFF_GRAPH_DIFF_H

#include <report/findings/findings.h>
#include <check/diff/graph_file.h>

/* A count of each kind of difference. */
struct pto_graph_diff {
  uint64_t tasks_only_a, tasks_only_b, tasks_differ;
  uint64_t edges_only_a, edges_only_b, edges_differ; /* between tasks that both have */
  uint64_t tasks_compared, edges_compared;           /* an edge that both have counts once */
  uint64_t edges_left;                               /* of both graphs: not between tasks that both have */
  bool is_by_number;                                 /* too little in common to match tasks by what they are */
};

/* PTO_OK or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_graph_diff(const struct pto_graph_file *a, const struct pto_graph_file *b,
                                  struct pto_graph_diff *diff, struct pto_findings *findings, struct pto_error *error);

#endif
