/* SPDX-License-Identifier: MIT */
/*
 * Rows of floats in a core's local memory: what kernels on rows share between the plan of their tensors and the loops.
 *
 *   pto_row_work_init(&work, &local)                 after work.plan and work.keeps_rows are set
 *   for each place of the walk, for each group of rows (pto_row_group):
 *     pto_rows_begin, then folds, maps and writes
 *
 * Rows come in groups of up to `width`, as many as fit, and a parameter or a result of rows is an array with one for
 * each of the group.  Rows that fit stay in local memory (or where they lie, if the loops can take them there) from
 * begin on; longer ones are read again by each fold and map, in parts.  Always true: how rows are grouped and parted
 * changes no bit.
 *
 * A fold joins its blocks of PTO_FOLD_BLOCK elements pairwise: block 2k with 2k + 1, then pairs of pairs, and what is
 * left at the end from the last to the first.  So a sum of n elements is within
 *   (PTO_FOLD_BLOCK / PTO_SUM_LANES + 4 + ⌈log2 ⌈n / PTO_FOLD_BLOCK⌉⌉) · 2^-24
 * of the sum of magnitudes.  The core's own thread; nothing to free.
 */
#ifndef PTO_KERNELS_ROWS_FOLD_H
#define PTO_KERNELS_ROWS_FOLD_H

#include <kernels/api/local.h>
#include <kernels/rows/loops.h>
#include <kernels/rows/plan.h>

#define PTO_ROW_ELEMS UINT64_C(16384) /* f32 elements of rows in local memory at a time: 64 KiB */
#define PTO_ROW_PART UINT64_C(4096)   /* of each other operand */

#define PTO_ROW_WIDTH 128 /* rows of a group at most: 512 B of each element, eight cache lines */

struct pto_row_work {
  const struct pto_row_plan *plan;
  bool keeps_rows;        /* set by the kernel: it reads rows more than once */
  uint32_t operand_count; /* set by the kernel: tensors with an element for each of a row that maps read, p and q */
  const struct pto_row_loops *loops;
  uint64_t width; /* rows of a group at most, and the size of a and b */
  uint64_t part;  /* elements of each row at a time where they do not fit */
  float *x, *p, *q, *a, *b;
  float *lanes, *nodes;
};

/* Local memory that the work takes; from descriptors alone. */
uint64_t pto_row_work_bytes(const struct pto_row_plan *plan, bool keeps_rows, uint32_t operand_count);
void pto_row_work_init(struct pto_row_work *work, struct pto_local *local);
/* How often rows are read from global memory by a kernel that reads them `pass_count` times. */
uint64_t pto_row_reads(const struct pto_row_plan *plan, uint64_t pass_count);

struct pto_row_group {
  char *const *at; /* of the walk */
  uint64_t col, cols;
  struct pto_row_view x; /* the rows of tensor 0, or data NULL where they come in parts */
};
/* How many rows of vec make up a group from `col` on. */
uint64_t pto_row_group_size(const struct pto_row_work *work, uint64_t col);
struct pto_row_group pto_rows_begin(const struct pto_row_work *work, char *const *at, uint64_t col, uint64_t cols);

/* results[j] = the fold of row j; a[j] is its parameter, for folds that have one. */
void pto_rows_fold(const struct pto_row_work *work, const struct pto_row_group *group, enum pto_fold fold,
                   const float *a, float *results);
/* The same of `count` elements of rows that lie in `x`. */
void pto_view_fold(const struct pto_row_work *work, struct pto_row_view x, uint64_t count, uint64_t cols,
                   enum pto_fold fold, const float *a, float *results);
/* Tensor `out` = the map of tensor 0, of the tensors 1 and 2 as p and q where the kernel has that many operands, and of
 * a[j] and b[j].  `out` may be the bytes of tensor 0. */
void pto_rows_map(const struct pto_row_work *work, const struct pto_row_group *group, enum pto_map map, const float *a,
                  const float *b, uint32_t out);
/* Tensor `out` = tensor 0. */
void pto_rows_copy(const struct pto_row_work *work, const struct pto_row_group *group, uint32_t out);
/* A map of rows in memory, in place or not. */
void pto_view_map(const struct pto_row_work *work, struct pto_row_view x, struct pto_row_view out,
                  const struct pto_row_part *part, enum pto_map map, const float *a, const float *b);
/* values[j] = the map of values[j] and others[j] as x and p, for the first `count` of a group, and of one a. */
void pto_values_map(const struct pto_row_work *work, enum pto_map map, float *values, const float *others, float a,
                    uint64_t count);
/* Tensor `i`, which has one element a row, = values[0 … cols). */
void pto_rows_put(const struct pto_row_work *work, const struct pto_row_group *group, uint32_t i, const float *values);
/* And the other way. */
void pto_rows_get(const struct pto_row_work *work, const struct pto_row_group *group, uint32_t i, float *values);

#endif
