/* SPDX-License-Identifier: MIT */
/*
 * How tensors of any strides are walked row by row: which dimensions make up a row, and along which of the two kinds
 * of dimensions the vectors lie.
 *
 * A kernel adds the dimensions of its tensors, outermost first, each either *outer* (rows are counted along it) or
 * *inner* (it is part of a row), with a step for every tensor; 0 where a tensor has the dimension not or repeats.
 * pto_row_plan_finish drops what has extent 1, merges what can be merged in all tensors, and decides.
 *
 * Always true after it: a row is the product of the inner dimensions in row-major order, whatever the strides, so
 * element i of a row is the same element in every layout; outer dimensions come in no particular order but for the
 * last, `vec`, which has a place of its own.  Either a row's elements are taken `length` at a time (along), or one
 * element of `vec.extent` rows at a time (across), whichever lies closer in tensor 0.  A value; any thread.
 */
#ifndef PTO_KERNELS_ROWS_PLAN_H
#define PTO_KERNELS_ROWS_PLAN_H

#include <kernels/levels/loops.h>

#define PTO_ROW_TENSORS 6
#define PTO_ROW_DIMS (PTO_MAX_DIMS + 1) /* a dimension may be added in two parts */

struct pto_row_dim {
  uint64_t extent;
  uint64_t steps[PTO_ROW_TENSORS]; /* bytes */
};

/* The class in which kernels on rows compute: f32, or 64 bits for integers of whatever size. */
static inline enum pto_class pto_row_class(uint32_t dtype) {
  if ((PTO_DTYPE_BIT(dtype) & PTO_DTYPES_FLOAT) != 0) return PTO_CLASS_F32;
  return dtype == PTO_UINT64 ? PTO_CLASS_U64 : PTO_CLASS_I64;
}

struct pto_row_plan {
  struct pto_kernel_tensor tensors[PTO_ROW_TENSORS];
  uint64_t elem_bytes[PTO_ROW_TENSORS];
  uint32_t tensor_count, outer_count, inner_count;
  struct pto_row_dim outer[PTO_ROW_DIMS], inner[PTO_ROW_DIMS];
  struct pto_row_dim vec; /* the outer dimension that lies closest in tensor 0; extent 1 where there is none */
  uint64_t length;        /* elements of a row */
  uint64_t row_count;     /* vec.extent times the product of the outer dimensions that are left */
  bool is_across;
};

/* Empty, of the given tensors. */
void pto_row_plan_init(struct pto_row_plan *plan, const struct pto_kernel_tensor *tensors, uint32_t count);
/* One dimension.  strides[i]: of tensor i, in elements. */
void pto_row_plan_add(struct pto_row_plan *plan, bool is_inner, uint64_t extent, const uint64_t *strides);
void pto_row_plan_finish(struct pto_row_plan *plan);
/* init, all dimensions of tensors of one rank, finish.  Bit d of `inner`: dimension d is part of a row.  Extents are
 * those of tensor 0; a tensor of extent 1 where tensor 0 has another is repeated. */
void pto_row_plan_make(struct pto_row_plan *plan, const struct pto_kernel_tensor *tensors, uint32_t count,
                       uint32_t inner);

/* The place of each tensor at one combination of the outer dimensions other than vec:
 *   for (bool go = pto_row_walk_begin(&walk, &plan); go; go = pto_row_walk_next(&walk, &plan)) … walk.at[i] …
 * begin answers false where there is no row. */
struct pto_row_walk {
  char *at[PTO_ROW_TENSORS];
  uint64_t index[PTO_ROW_DIMS];
};
bool pto_row_walk_begin(struct pto_row_walk *walk, const struct pto_row_plan *plan);
bool pto_row_walk_next(struct pto_row_walk *walk, const struct pto_row_plan *plan);

/* Part of the rows at one place of the walk: elements [first, first + count) of rows [col, col + cols) of vec. */
struct pto_row_part {
  uint64_t first, count, col, cols;
};
/* What a part is in memory, or in the local buffer that it was loaded into, in elements of the class: element i of row
 * j is at data[j · pitch + i] along, at data[i · pitch + j] across. */
struct pto_row_view {
  void *data;
  int64_t pitch;
};

/* Whether the parts of tensor `i` lie as the loops want them: of the class's own dtype, and along: elements next to
 * each other, rows in one pitch; across: the other way round. */
bool pto_row_is_in_place(const struct pto_row_plan *plan, uint32_t i, enum pto_class class_);
/* Loads the part into `buffer` of count · cols elements; of a tensor other than 0 that repeats from row to row
 * along, or from element to element across, one line with a pitch of 0. */
struct pto_row_view pto_row_load(const struct pto_row_plan *plan, uint32_t i, char *at, const struct pto_row_part *part,
                                 enum pto_class class_, void *buffer);
/* Of a tensor that all rows of vec share, the part of one: element i is at data[i · pitch]. */
bool pto_row_is_shared(const struct pto_row_plan *plan, uint32_t i);
struct pto_row_view pto_row_read_shared(const struct pto_row_plan *plan, uint32_t i, char *at,
                                        const struct pto_row_part *part, enum pto_class class_, void *buffer);
/* In place, or loaded. */
struct pto_row_view pto_row_read(const struct pto_row_plan *plan, uint32_t i, char *at, const struct pto_row_part *part,
                                 enum pto_class class_, void *buffer);
/* Where to put the part so that pto_row_write has least to do: in place, or `buffer`. */
struct pto_row_view pto_row_target(const struct pto_row_plan *plan, uint32_t i, char *at,
                                   const struct pto_row_part *part, enum pto_class class_, void *buffer);
/* Stores what `view` holds; nothing where the view is the part itself. */
void pto_row_write(const struct pto_row_plan *plan, uint32_t i, char *at, const struct pto_row_part *part,
                   enum pto_class class_, struct pto_row_view view);

#endif
