/* SPDX-License-Identifier: MIT */
/*
 * A cursor: a tensor of any rank and strides as a stream of elements.
 *
 * Several cursors over tensors of one shape, made with one order, give the same index at the same step; each merges the
 * dimensions that its own layout lets it merge, so a contiguous tensor is one run whatever the others look like.
 * Always true: run_left elements of run_step bytes apart start at `at`; 0 only at the end.  A value; one thread.
 */
#ifndef PTO_KERNELS_MOVE_CURSOR_H
#define PTO_KERNELS_MOVE_CURSOR_H

#include <kernels/levels/loops.h>

struct pto_cursor {
  char *at;
  uint64_t run_left, run_step;
  uint64_t run_elems;
  uint32_t ndims; /* dimensions outside the run, outermost first */
  uint64_t shape[PTO_MAX_DIMS], steps[PTO_MAX_DIMS], index[PTO_MAX_DIMS];
};

/* A permutation of the dimensions that visits `t` with its longest strides outermost: for whole-byte dtypes, the order
 * in which its elements lie in memory. */
void pto_cursor_order(const struct pto_kernel_tensor *t, uint32_t order[PTO_MAX_DIMS]);
/* At the first element of `t`, which is not empty, and of whole-byte elements.  order[i] is the dimension that becomes
 * dimension i; NULL: row-major. */
void pto_cursor_init(struct pto_cursor *cursor, const struct pto_kernel_tensor *t, const uint32_t *order);
/* Past `count` elements, which are in the run. */
void pto_cursor_advance(struct pto_cursor *cursor, uint64_t count);

/* Whole runs that start here, one step of the innermost outer dimension apart, within `count` elements; 0 inside a
 * run.  And past that many. */
uint64_t pto_cursor_rows(const struct pto_cursor *cursor, uint64_t count);
void pto_cursor_advance_rows(struct pto_cursor *cursor, uint64_t rows);
/* From one of them to the next. */
static inline uint64_t pto_cursor_row_step(const struct pto_cursor *cursor) {
  return cursor->ndims == 0 ? 0 : cursor->steps[cursor->ndims - 1];
}

/* The next `count` elements, through `load` into `buffer` of elem_bytes a value; and out of it, through `store`. */
void pto_cursor_load(struct pto_cursor *cursor, pto_load_loop *load, void *buffer, uint64_t elem_bytes, uint64_t count);
void pto_cursor_store(struct pto_cursor *cursor, pto_store_loop *store, const void *buffer, uint64_t elem_bytes,
                      uint64_t count);

#endif
