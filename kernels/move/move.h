/* SPDX-License-Identifier: MIT */
/*
 * Moves: a box of elements from one layout to another, the engine of every kernel that only moves data.
 *
 *     to[Σ i_k · to_step_k] = from[Σ i_k · from_step_k]      for all 0 ≤ i_k < extent_k
 *
 * Steps count elements.  One of `from` may be 0 (the element repeats) or negative (it runs backwards); those of `to`
 * are positive, and no two indices give the same element there.  Elements move as bits, the dense 4-bit types too, of
 * which a half byte behind the last element stays as it was.
 *
 *   struct pto_move move;
 *   pto_move_init(&move, dtype);
 *   pto_move_dim(&move, extent, to_step, from_step);   once a dimension, in any order
 *   pto_move_plan(&move);
 *   pto_move_run(&move, to, from);                     as often as wanted, at any place
 *
 * Always true: after the plan dimensions of extent 1 are gone, those that lie behind each other on both sides are one,
 * and rows of 2, 4, 8 or 16 bytes are elements of that size.  A value; one thread; allocates nothing.
 */
#ifndef PTO_KERNELS_MOVE_MOVE_H
#define PTO_KERNELS_MOVE_MOVE_H

#include <pto/kernel.h>

#define PTO_MOVE_DIMS (2 * PTO_MAX_DIMS) /* a repeated dimension is two */

struct pto_move {
  uint32_t ndims;
  uint32_t bits;       /* of an element */
  uint32_t kind;       /* how the two innermost dimensions go */
  bool is_empty;       /* an extent is 0 */
  uint64_t elem_bytes; /* after the plan; 4-bit elements: 0, and their steps count elements */
  /* Before the plan in elements, then in bytes; outermost first. */
  uint64_t extent[PTO_MOVE_DIMS];
  int64_t to_step[PTO_MOVE_DIMS], from_step[PTO_MOVE_DIMS];
};

/* Where a tensor's element is: `elems` elements of the move's dtype from `addr`. */
struct pto_place {
  void *addr;
  int64_t elems;
};

void pto_move_init(struct pto_move *move, uint32_t dtype);
void pto_move_dim(struct pto_move *move, uint64_t extent, int64_t to_step, int64_t from_step);
void pto_move_plan(struct pto_move *move);
void pto_move_run(const struct pto_move *move, struct pto_place to, struct pto_place from);

/* Of a planned move of whole bytes that is one dense run on both sides: how many; else 0. */
uint64_t pto_move_run_bytes(const struct pto_move *move);

/* The whole of `x` to `y`, of one shape and dtype; dimension order[d] of x becomes dimension d of y, NULL: d. */
void pto_move_tensor(const struct pto_kernel_tensor *y, const struct pto_kernel_tensor *x, const uint32_t *order);
/* What it costs to make `y` of elements of `x`, each moved once. */
struct pto_cost pto_move_cost(const struct pto_kernel_tensor *x, const struct pto_kernel_tensor *y);

#endif
