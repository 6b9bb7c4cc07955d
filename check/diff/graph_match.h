/* SPDX-License-Identifier: MIT */
/*
 * Which task, and which buffer, of one graph is which of another.
 *
 * Tasks: first the longest common subsequence of what a task says of itself (kernels, blocks, parameters with their
 * views); then, between those, of kernels, modes, dtypes and shapes; then, in what is left between, tasks of the same
 * kernels in order, or all where they are as many on both sides.  Where the graphs have too little in common tasks are
 * matched by number.  Buffers: the first matched parameters that name a buffer decide what it is called in the other
 * graph.
 *
 * Owns its arrays until fini; the graphs are borrowed for the call.  Always true: to_b and to_a are inverse to each
 * other and strictly increasing where they are not PTO_GRAPH_NONE.
 *
 * One thread.
 */
#ifndef PTO_CHECK_DIFF_GRAPH_MATCH_H
#define PTO_CHECK_DIFF_GRAPH_MATCH_H

#include <check/diff/graph_file.h>

struct pto_graph_match {
  uint64_t *to_b, *to_a; /* by task number */
  bool is_by_number;
  uint64_t buffer_count;
  uint64_t *buffers, *buffers_of_b; /* of A, sorted; what each is in B, or PTO_GRAPH_NONE */
};

/* PTO_OK or PTO_ENOMEM; fini is due in either case. */
PTO_MUST_CHECK int pto_graph_match_init(const struct pto_graph_file *a, const struct pto_graph_file *b,
                                        struct pto_graph_match *match, struct pto_error *error);
void pto_graph_match_fini(struct pto_graph_match *match);

/* What a buffer of A is in B; its own number where no matched parameters say. */
uint64_t pto_graph_match_buffer(const struct pto_graph_match *match, uint64_t buffer);
/* Whether two tasks run the same kernels in the same roles. */
bool pto_graph_task_is_alike(const struct pto_graph_task *a, const struct pto_graph_task *b);

#endif
