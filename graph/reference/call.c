/* SPDX-License-Identifier: MIT */
#include <graph/reference/call.h>

#include <stdlib.h>

struct pto_reference_view pto_reference_view_shaped(const struct pto_reference_tensor *t, uint32_t ndims,
                                                    const uint64_t *shape) {
  struct pto_reference_view view = {.elements = t->values ? (void *)t->values : (void *)t->whole, .ndims = ndims};
  view.dtype = t->values ? PTO_REFERENCE_DOUBLE : t->desc.dtype == PTO_UINT64 ? PTO_UINT64 : PTO_INT64;
  uint64_t stride = 1;
  for (uint32_t d = ndims; d-- > 0; stride *= shape[d]) {
    view.shape[d] = shape[d];
    view.strides[d] = stride;
  }
  return view;
}

struct pto_reference_view pto_reference_view(const struct pto_reference_tensor *t) {
  return pto_reference_view_shaped(t, t->desc.ndims, t->desc.shape);
}

struct pto_reference_view pto_reference_view_broadcast(const struct pto_reference_tensor *t,
                                                       const struct pto_graph_desc *to) {
  const struct pto_reference_view from = pto_reference_view(t);
  struct pto_reference_view view = from;
  const uint32_t missing = to->ndims - from.ndims;
  view.ndims = to->ndims;
  for (uint32_t d = 0; d < to->ndims; d++) {
    view.shape[d] = to->shape[d];
    view.strides[d] = d < missing || from.shape[d - missing] == 1 ? 0 : from.strides[d - missing];
  }
  return view;
}

struct pto_reference_view pto_reference_view_number(const double *number, uint32_t ndims, const uint64_t *shape) {
  struct pto_reference_view view = {
      .elements = (void *)(uintptr_t)number, .dtype = PTO_REFERENCE_DOUBLE, .ndims = ndims};
  for (uint32_t d = 0; d < ndims; d++) view.shape[d] = shape[d];
  return view;
}

struct pto_reference_view pto_reference_view_permuted(struct pto_reference_view view, const uint32_t *order) {
  struct pto_reference_view permuted = view;
  for (uint32_t d = 0; d < view.ndims; d++) {
    permuted.shape[d] = view.shape[order[d]];
    permuted.strides[d] = view.strides[order[d]];
  }
  return permuted;
}

void pto_reference_view_start(struct pto_reference_view *view, uint32_t dimension, uint64_t start) {
  view->elements = (char *)view->elements + start * view->strides[dimension] * sizeof(double);
}

/* Element i of what was found to where it stands. */
static void store(const struct pto_kernel_tensor *to, const struct pto_golden *found) {
  const uint64_t count = pto_kernel_numel(to);
  for (uint64_t i = 0; i < count; i++) {
    if (to->dtype == PTO_REFERENCE_DOUBLE)
      pto_reference_set(to, i, found->value[i]);
    else
      pto_reference_set_whole(to, i, found->whole[i] + pto_reference_modulo(found->value[i]));
  }
}

int pto_reference_call(const struct pto_kernel_reference *reference, const struct pto_reference_call *call) {
  struct pto_kernel_tensor tensors[PTO_ARRAY_LENGTH(call->views)];
  for (uint32_t i = 0; i < call->view_count; i++) {
    const struct pto_reference_view *view = &call->views[i];
    tensors[i] = (struct pto_kernel_tensor){view->elements, view->shape, view->strides, view->ndims, view->dtype};
  }
  const struct pto_kernel_tensor *to = &tensors[call->view_count - 1];
  const struct pto_kernel_args args = {.tensors = tensors,
                                       .scalars = call->scalars,
                                       .tensor_count = call->view_count,
                                       .scalar_count = call->scalar_count};
  const uint64_t room = pto_max_u64(pto_kernel_numel(to), 1);
  struct pto_golden golden[PTO_ARRAY_LENGTH(call->views)] = {{0}}, *found = &golden[call->view_count - 1];
  *found = (struct pto_golden){.value = calloc(room, sizeof *found->value),
                               .slack = calloc(room, sizeof *found->slack),
                               .whole = calloc(room, sizeof *found->whole)};
  const bool has_room = found->value && found->slack && found->whole;
  if (has_room) {
    reference->golden(&args, golden);
    store(to, found);
  }
  free(found->value);
  free(found->slack);
  free(found->whole);
  return has_room ? PTO_OK : PTO_ENOMEM;
}

int pto_reference_copy_view(const struct pto_reference_view *to, const struct pto_reference_view *from) {
  return pto_reference_call(&pto_reference_copy, &(struct pto_reference_call){.views = {*from, *to}, .view_count = 2});
}
