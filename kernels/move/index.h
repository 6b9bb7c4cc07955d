/* SPDX-License-Identifier: MIT */
/*
 * Tensors of indices: where gather and scatter read and write.
 *
 * A walk goes over the positions of an index tensor in row-major order; at each it finds the coordinates of one place
 * of an indexed tensor, and the place in a dense counterpart (what is gathered into, or scattered from) that has the
 * same position.  Both are elements from the tensor's first.
 *
 * Indices are int32, int64 or uint32.  Of an extent n, −n … n − 1 are valid, and negative ones count from the end, as
 * in WebNN and ONNX.  pto_index_check has to have accepted a walk before anything is written: then a task that fails
 * has written nothing.  A value; one thread; allocates nothing.
 */
#ifndef PTO_KERNELS_MOVE_INDEX_H
#define PTO_KERNELS_MOVE_INDEX_H

#include <kernels/api/local.h>
#include <kernels/move/move.h>

#define PTO_DTYPES_INDEX (PTO_DTYPE_BIT(PTO_INT32) | PTO_DTYPE_BIT(PTO_INT64) | PTO_DTYPE_BIT(PTO_UINT32))

struct pto_index_walk {
  const struct pto_kernel_tensor *indices;
  uint32_t ndims;                             /* of the positions: the first dimensions of `indices` */
  int64_t indexed_steps[PTO_MAX_DIMS];        /* what a position adds in the indexed tensor besides its coordinates */
  int64_t dense_steps[PTO_MAX_DIMS];          /* what it adds in the counterpart */
  uint32_t coordinate_count;                  /* 1, or the extent of the last dimension of `indices` */
  int64_t coordinate_step;                    /* from one coordinate to the next, in `indices` */
  uint64_t coordinate_extents[PTO_MAX_DIMS];  /* of the indexed tensor */
  int64_t coordinate_strides[PTO_MAX_DIMS];   /* of the indexed tensor */
  uint64_t at[PTO_MAX_DIMS], positions, done; /* the walk's own: next position, how many there are, how many are done */
};

struct pto_index_pair {
  int64_t indexed, dense;
};

/* Local memory of pto_index_pairs for `positions` positions: a piece of them at a time. */
#define PTO_INDEX_PIECE 512
static inline uint64_t pto_index_pair_bytes(uint64_t positions) {
  return pto_min_u64(positions, PTO_INDEX_PIECE) * sizeof(struct pto_index_pair);
}

/* Of all positions of `indices`, whose last dimension is the coordinates where they are tuples. */
static inline uint64_t pto_index_local_bytes(const struct pto_kernel_tensor *indices, bool is_tuples) {
  uint64_t positions = 1;
  for (uint32_t d = 0; d + (is_tuples ? 1 : 0) < indices->ndims; d++) positions *= indices->shape[d];
  return pto_local_bytes(pto_index_pair_bytes(positions));
}

/* One coordinate at each element of `indices`, of dimension `axis` of `indexed`; steps are zero and the caller's to
 * set. Without memory too. */
void pto_index_walk_axis(struct pto_index_walk *walk, const struct pto_kernel_tensor *indices,
                         const struct pto_kernel_tensor *indexed, uint32_t axis);
/* The last dimension of `indices` holds the coordinates of the first dimensions of `indexed`. */
void pto_index_walk_tuples(struct pto_index_walk *walk, const struct pto_kernel_tensor *indices,
                           const struct pto_kernel_tensor *indexed);

/* Which tensor parameter is which. */
struct pto_index_roles {
  uint32_t indexed, indices, dense;
};
/* The checks of a walk along an axis, the scalar 0: the indexed tensor and the indices have one rank and, but for the
 * axis, the same extents; the counterpart has the shape and of the indexed tensor the dtype.  And of a walk over
 * tuples: the counterpart has the extents of the positions and then those of the indexed tensor that no coordinate
 * chooses. */
int pto_index_check_axis(const struct pto_kernel_args *args, const char *kernel, struct pto_index_roles roles);
int pto_index_check_tuples(const struct pto_kernel_args *args, const char *kernel, struct pto_index_roles roles);

/* 0, or an error like "gather: index 9 at [0,3] is not in -5 … 4 (param 1)". */
int pto_index_check(const struct pto_kernel_args *args, const char *kernel, const struct pto_index_walk *walk,
                    uint32_t param);
/* The next positions, at most PTO_INDEX_PIECE; 0 at the end. */
uint64_t pto_index_pairs(struct pto_index_walk *walk, struct pto_index_pair *pairs);

/* Moves the box of `move` from each pair's one place to its other, in order. */
struct pto_index_sides {
  void *indexed, *dense; /* first elements */
  bool is_scatter;       /* to the indexed side */
};
void pto_index_move(const struct pto_move *move, const struct pto_index_sides *sides,
                    const struct pto_index_pair *pairs, uint64_t count);

#endif
