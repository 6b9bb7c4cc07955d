/* SPDX-License-Identifier: MIT */
/*
 * Calls of the references of kernels (kernels/reference): an operation that a kernel does has the kernel's reference.
 *
 * A view is the tensor of a call: elements of a tensor of the graph as they lie there, doubles or 64-bit integers,
 * repeated, in another order or in part.  What a kernel's reference finds is rounded neither to the dtype of the
 * kernel nor otherwise.  Owns nothing; any thread.
 */
#ifndef PTO_GRAPH_REFERENCE_CALL_H
#define PTO_GRAPH_REFERENCE_CALL_H

#include <graph/reference/support.h>
#include <kernels/api/shape.h>
#include <kernels/reference/reference.h>

struct pto_reference_view {
  void *elements;
  uint32_t dtype, ndims;
  uint64_t shape[PTO_MAX_DIMS], strides[PTO_MAX_DIMS]; /* strides of 0 repeat */
};

/* All of a tensor. */
struct pto_reference_view pto_reference_view(const struct pto_reference_tensor *t);
/* The same with other extents of the same product; 0 dimensions: one element. */
struct pto_reference_view pto_reference_view_shaped(const struct pto_reference_tensor *t, uint32_t ndims,
                                                    const uint64_t *shape);
/* A tensor broadcast to the shape of another. */
struct pto_reference_view pto_reference_view_broadcast(const struct pto_reference_tensor *t,
                                                       const struct pto_graph_desc *to);
/* One number at every element of a shape; it is borrowed, and the view is read alone. */
struct pto_reference_view pto_reference_view_number(const double *number, uint32_t ndims, const uint64_t *shape);
/* Dimension d of the result is dimension order[d] of the view. */
struct pto_reference_view pto_reference_view_permuted(struct pto_reference_view view, const uint32_t *order);
/* From element `start` of a dimension on. */
void pto_reference_view_start(struct pto_reference_view *view, uint32_t dimension, uint64_t start);

/* The parameters of a kernel in order.  The last view is what it writes; a kernel's scalars. */
struct pto_reference_call {
  struct pto_reference_view views[6];
  union pto_scalar scalars[1 + PTO_MAX_DIMS];
  uint32_t view_count, scalar_count;
};
/* Writes the elements of the last view.  PTO_OK or PTO_ENOMEM. */
int pto_reference_call(const struct pto_kernel_reference *reference, const struct pto_reference_call *call);
/* The elements of one view to another of its shape. */
int pto_reference_copy_view(const struct pto_reference_view *to, const struct pto_reference_view *from);

#endif
