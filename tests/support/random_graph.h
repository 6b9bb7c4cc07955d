/* SPDX-License-Identifier: MIT */
/*
 * Random graphs for tests: valid calls of every operation, drawn from a seed, on small tensors.
 *
 * Owns a graph, the bytes of its inputs and room for its outputs, until random_graph_close.
 *
 * Always true: the same seed gives the same graph and bytes.  Every call is one that the builder has to take, and the
 * maker states dtype and shape of each result from what it has drawn, so that inference is held against them; whatever
 * is refused or differs fails the test with seed and operation.  Floats stay tame: what a computation takes lies in
 * [−2, 2], and where it must be positive in [1/2, 2], by clamps in between, so that results are finite and errors do
 * not grow.  What jumps (comparisons, roundings, casts to integers, arg…) is given elements that no computation of
 * floats has touched: a right implementation has them to the bit.  Indices may be out of range by one, and are then
 * clamped.
 *
 * One thread.  To add an operation: a function in random_graph_*.c and its line in
 * random_graph_makers.c.
 */
#ifndef PTO_RANDOM_GRAPH_H
#define PTO_RANDOM_GRAPH_H

#include <graph/build/operand_graph.h>

#define RANDOM_GRAPH_OPERANDS 256u
#define RANDOM_GRAPH_NUMEL 128u /* of operands that are drawn; results may have a few times as many */
#define RANDOM_GRAPH_EXTENT 4u  /* of their dimensions, at most */
#define RANDOM_GRAPH_SIDE 40u   /* of images, and of the states of networks, where graphs are large */

struct random_graph {
  struct pto_graph *graph;
  uint64_t seed;
  void *inputs[RANDOM_GRAPH_OPERANDS];
  void *outputs[RANDOM_GRAPH_OPERANDS];
  uint32_t input_count, output_count;
  uint32_t calls[PTO_GRAPH_OP_COUNT];   /* how often each operation was called */
  bool is_exact[RANDOM_GRAPH_OPERANDS]; /* outputs that no computation of floats has touched */
};

/* What graphs are drawn. */
struct random_graph_form {
  uint32_t call_count;
  uint64_t numel;    /* of operands that are drawn [RANDOM_GRAPH_NUMEL] */
  uint32_t extent;   /* of their dimensions, at most [RANDOM_GRAPH_EXTENT] */
  bool has_views;    /* operands that are drawn are often transposed, sliced or expanded ones */
  bool has_patterns; /* a fourth of the calls is several, written out as graph/fuse/fusion.h looks for them */
  bool is_one_op;    /* every call is of `op` */
  uint32_t op;       /* enum pto_graph_op */
};

/* About `call_count` calls of operations that are drawn, and the clamps between them.  Results that nothing uses, and
 * some others, are outputs. */
void random_graph_open(struct random_graph *g, uint64_t seed, uint32_t call_count);
void random_graph_open_form(struct random_graph *g, uint64_t seed, const struct random_graph_form *form);
void random_graph_close(struct random_graph *g);

/* Bytes of a dense tensor. */
uint64_t random_graph_bytes(const struct pto_graph_desc *desc);

#endif
