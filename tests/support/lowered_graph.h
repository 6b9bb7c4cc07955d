/* SPDX-License-Identifier: MIT */
/*
 * For tests: a graph once on a context, and its outputs against others.
 *
 * Owns nothing; a context that it opens is the caller's.  A context that cannot be opened, and elements that differ,
 * fail the test.  One thread.
 */
#ifndef PTO_LOWERED_GRAPH_H
#define PTO_LOWERED_GRAPH_H

#include <graph/reference/reference.h>
#include <pto/device.h>

/* "threads tiny 2 window 32": for messages. */
void lowered_graph_name(const struct pto_config *config, char *text, size_t size);

struct pto_context *lowered_graph_open(const struct pto_config *config);

/* The status of pto_graph_compute, from and to dense bytes in the order of inputs and outputs. */
int lowered_graph_run(struct pto_graph *graph, struct pto_context *context, void *const *inputs, void *const *outputs);

/* How far an element may be from what is wanted, as parts of the larger of its magnitude and 1. */
struct lowered_graph_tolerance {
  double f32, f16;
};
/* Holds bytes of `desc` against others: integers, and floats where `is_exact`, are the same numbers; both NaN is the
 * same.  Fails with `what`, the element and both numbers. */
void lowered_graph_expect(const struct pto_graph_desc *desc, const void *got, const void *wanted, bool is_exact,
                          const struct lowered_graph_tolerance *tolerance, const char *what);

#endif
