/* SPDX-License-Identifier: MIT */
/*
 * What becomes of each node of a graph when it is lowered: which kernels, how many tasks, what they cost and what
 * bounds them on a chip.
 *
 * Owns the list of nodes of an explanation, until fini.
 *
 * Always true: the figures are sums of pto_cost over the very tasks that a dispatch submits, which depend on the graph
 * alone; bounds are those of sim/chips/timing.h, each task by itself on a core that has the memory to itself.
 *
 * One thread.
 */
#ifndef PTO_GRAPH_RUN_EXPLAIN_H
#define PTO_GRAPH_RUN_EXPLAIN_H

#include <graph/fuse/fusion.h>
#include <sim/chips/chip.h>

#define PTO_EXPLAINED_KERNELS 12u

enum pto_explained_bound { PTO_BOUND_MEMORY, PTO_BOUND_VECTOR, PTO_BOUND_CUBE, PTO_BOUND_COUNT };
/* "memory", "vector", "cube"; of what is none of them, "nothing". */
const char *pto_explained_bound_name(uint32_t bound);

struct pto_explained_node {
  uint64_t tasks; /* 0: its results are views of what exists, or constants, or it is inside a fused group */
  struct {
    const struct pto_kernel *kernel;
    uint64_t tasks;
  } kernels[PTO_EXPLAINED_KERNELS]; /* in the order of their first tasks; what has no room is in `tasks` alone */
  uint32_t kernel_count;
  uint64_t bytes_in, bytes_out; /* of global memory */
  uint64_t vector_elems, multiply_adds;
  uint64_t local_bytes;               /* the most of any of its tasks */
  uint64_t bound_ps[PTO_BOUND_COUNT]; /* time of the tasks that each resource bounds, on one core */
};

struct pto_graph_explanation {
  struct pto_fusion_plan plan;      /* a group's tasks are its last node's */
  struct pto_explained_node *nodes; /* by node; the last are copies to outputs that no node could write in place */
  uint32_t node_count;              /* with that one */
};

/* What bounds most of the node's time; PTO_BOUND_COUNT where it has none. */
uint32_t pto_explained_bound(const struct pto_explained_node *node);
/* The node's time on one core, in picoseconds. */
uint64_t pto_explained_ps(const struct pto_explained_node *node);

/* Lowers and runs the graph, which nothing watches, on `context` once, with inputs of zero; `chip` is the context's.
 * The graph keeps its constants on the context until pto_graph_forget.  PTO_OK, or the status of the run, whose
 * sentence goes to `error`. */
PTO_MUST_CHECK int pto_graph_explain(struct pto_graph *graph, struct pto_context *context, const struct pto_chip *chip,
                                     struct pto_graph_explanation *explanation_out, struct pto_error *error);
void pto_graph_explanation_fini(struct pto_graph_explanation *explanation);

#endif
