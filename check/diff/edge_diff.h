/* SPDX-License-Identifier: MIT */
/*
 * Which edges only one of two graphs has, where one is a capture: its kernels and buffers have other names, so that
 * tasks are matched by their place alone, allocations left out on both sides (captures have not all of them).
 *
 * Owns nothing.  Always true: nothing is found ⇔ both have as many tasks, and the same pairs of them.
 *
 * One thread.
 */
#ifndef PTO_CHECK_DIFF_EDGE_DIFF_H
#define PTO_CHECK_DIFF_EDGE_DIFF_H

#include <check/diff/graph_diff.h>

/* As pto_graph_diff; reasons are not compared. */
PTO_MUST_CHECK int pto_edge_diff(const struct pto_graph_file *a, const struct pto_graph_file *b,
                                 struct pto_graph_diff *diff, struct pto_findings *findings, struct pto_error *error);

#endif
