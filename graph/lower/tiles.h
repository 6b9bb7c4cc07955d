/* SPDX-License-Identifier: MIT */
/*
 * How one node's elements are cut into tasks: equal boxes of an index space.
 *
 * Owns nothing: plans are values.
 *
 * Always true: boxes are disjoint and cover the shape; which there are depends on shape and dtype alone, never on chip,
 * engine or workers, so that a graph lowers to the same tasks everywhere.  Dimensions in `whole` are never cut.
 *
 * Any thread.
 */
#ifndef PTO_GRAPH_LOWER_TILES_H
#define PTO_GRAPH_LOWER_TILES_H

#include <runtime/base/base.h>
#include <stdint.h>

#include <pto/tensor.h>

/* Elements of a task, about: 64 KiB of f32 take a simulated vector core 1 µs and a host core some 5, a multiple of what
 * a task costs. */
#define PTO_TILE_ELEMS UINT64_C(16384)
/* No node is more tasks than this, however large: twice the vector cores of the largest chip, rounded. */
#define PTO_TILE_MOST UINT64_C(128)

/* Rows and columns of a product's tile, where there are more: a panel of each fits the device's L1, and 64 Ki
 * multiply-adds an element of depth 64 are several times what a task costs. */
#define PTO_TILE_ROWS UINT64_C(64)
#define PTO_TILE_COLUMNS UINT64_C(128)
/* Multiply-adds of a tile of whole products, where these are small: some µs of a host core, and cores of a simulated
 * chip enough for the heads of a decoder (gpt2, a2a3: 658 µs one by one, 647 so, 683 with eight times as many). */
#define PTO_TILE_WORK UINT64_C(65536)

struct pto_tiles {
  uint32_t ndims;
  uint64_t shape[PTO_MAX_DIMS];
  uint64_t step[PTO_MAX_DIMS];   /* extents of a box, but for the last of a dimension */
  uint64_t counts[PTO_MAX_DIMS]; /* boxes along a dimension; 1: not cut */
  uint64_t count;                /* of boxes */
};

/* Boxes of about PTO_TILE_ELEMS elements, cut from the outermost dimension inwards.  Bit d of `whole`: dimension d
 * stays whole. `weight` is the work of an element, in elements of one: 1 for elementwise work. */
void pto_tiles_make(struct pto_tiles *tiles, uint32_t ndims, const uint64_t *shape, uint32_t whole, uint64_t weight);
/* One box, the whole. */
void pto_tiles_make_one(struct pto_tiles *tiles, uint32_t ndims, const uint64_t *shape);

/* Cuts dimension d, which is whole so far, into as few boxes of at most `most` ≥ 1 as there can be, evenly. */
void pto_tiles_cut(struct pto_tiles *tiles, uint32_t d, uint64_t most);
/* Of a product whose result has this shape, two dimensions or more, and `depth` multiply-adds an element: rows and
 * columns in panels; of leading dimensions the innermost stay together as far as that is little work. */
void pto_tiles_make_product(struct pto_tiles *tiles, uint32_t ndims, const uint64_t *shape, uint64_t depth);

/* Where box `index` begins in dimension `d`. */
uint64_t pto_tiles_offset(const struct pto_tiles *tiles, uint64_t index, uint32_t d);
/* What box `index` is of `t`, a tensor of as many dimensions: in those of another extent than the plan's, all of it. */
struct pto_tensor pto_tiles_view(const struct pto_tiles *tiles, uint64_t index, const struct pto_tensor *t);
/* The same, and all of the dimensions d whose bit d of `whole` is set, of whatever extent: of an operand of a product,
 * that which the result has not. */
struct pto_tensor pto_tiles_part(const struct pto_tiles *tiles, uint64_t index, const struct pto_tensor *t,
                                 uint32_t whole);
/* `t` with leading extents of 1, up to `ndims` dimensions. */
struct pto_tensor pto_tiles_in_rank(const struct pto_tensor *t, uint32_t ndims);

#endif
