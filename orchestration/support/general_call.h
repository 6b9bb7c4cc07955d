/* SPDX-License-Identifier: MIT */
/*
 * Calls of general kernels from a program's own: a kernel that fuses several of them, walks a table of blocks, or picks
 * its part of a task's parameters builds on their arithmetic and on what they say that it costs.
 *
 * The callee runs on the caller's core and has the whole of its local memory, unless the caller keeps something there
 * and leaves it the rest.  A caller's cost has at least the local memory of each callee.
 *
 * A header of static functions, because a program is one shared object with nothing behind it but include/pto.
 */
#ifndef PTO_ORCHESTRATION_SUPPORT_GENERAL_CALL_H
#define PTO_ORCHESTRATION_SUPPORT_GENERAL_CALL_H

#include <pto/pto.h>

struct general_call {
  const char *name; /* of a kernel that there is */
  const struct pto_core *core;
  const struct pto_kernel_tensor *tensors;
  const union pto_scalar *scalars;
  uint32_t tensor_count, scalar_count;
};

static inline struct pto_kernel_args general_args(const struct general_call *call) {
  return (struct pto_kernel_args){.tensors = call->tensors,
                                  .scalars = call->scalars,
                                  .core = call->core,
                                  .tensor_count = call->tensor_count,
                                  .scalar_count = call->scalar_count};
}

/* What of `t` begins `offset` elements behind it and has that shape. */
static inline struct pto_kernel_tensor general_view(const struct pto_kernel_tensor *t, uint64_t offset,
                                                    const uint64_t *shape) {
  struct pto_kernel_tensor view = *t;
  if (offset != 0) view.addr = (char *)t->addr + offset * pto_dtype_size(t->dtype); /* costs are asked without one */
  view.shape = shape;
  return view;
}
/* Index `index` of the outermost dimension, without that dimension. */
static inline struct pto_kernel_tensor general_part(const struct pto_kernel_tensor *t, uint64_t index) {
  struct pto_kernel_tensor part = general_view(t, index * t->strides[0], t->shape + 1);
  part.strides++;
  part.ndims--;
  return part;
}

/* `bytes` of local memory, as what they take up there. */
static inline uint64_t general_line_bytes(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

static inline int general_run(const struct general_call *call) {
  const struct pto_kernel_args args = general_args(call);
  return pto_kernel_find(call->name)->run(&args);
}

/* What of a core's local memory is left behind the first `bytes`, rounded up to whole cache lines: for the callee,
 * while the caller keeps something there. */
static inline struct pto_core general_core_behind(const struct pto_core *core, uint64_t bytes) {
  struct pto_core rest = *core;
  rest.local.addr = (char *)core->local.addr + general_line_bytes(bytes);
  rest.local.size_bytes -= general_line_bytes(bytes);
  return rest;
}

/* From shapes and dtypes alone: the tensors need no address. */
static inline struct pto_cost general_cost(const struct general_call *call) {
  const struct pto_kernel_args args = general_args(call);
  return pto_kernel_find(call->name)->cost(&args);
}

#endif
