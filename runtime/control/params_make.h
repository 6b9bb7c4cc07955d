/* SPDX-License-Identifier: MIT */
/*
 * What params.c and submit_form.c share: the access of a resolved tensor, and the payload of a resolved task.
 *
 * Control thread only; everything lies in rt->work->
 */
#ifndef PTO_PARAMS_MAKE_H
#define PTO_PARAMS_MAKE_H

#include <runtime/control/runtime_state.h>
#include <runtime/tensor/tensor_make.h>

static inline void pto_params_begin(struct pto_submit_work *submit) {
  submit->access_count = submit->held_count = 0;
  submit->block_bytes = 0;
  submit->allocates = submit->accumulates = submit->advances = submit->is_serial = submit->has_waiting = false;
  submit->payload = NULL;
}

/* The rest of an access whose region is set. */
static inline void pto_params_set_access(struct pto_access *access, const struct pto_buffer_record *record,
                                         uint32_t index, uint32_t mode) {
  pto_access_set_region(access);
  access->space = record->space;
  access->buffer_number = record->id;
  access->tag = (uint16_t)(index | (mode & PTO_INOUT) * PTO_TAG_READ);
}
_Static_assert(PTO_INPUT *PTO_TAG_READ == PTO_TAG_READ && PTO_OUTPUT * PTO_TAG_READ == PTO_TAG_WRITE,
               "the two low bits of a mode are those of a tag");

static inline uint64_t *pto_params_fill_tensor(struct pto_kernel_tensor *out, const struct pto_tensor *t, uint64_t base,
                                               uint64_t *shape) {
  uint64_t offset =
      pto_dtype_is_four_bit(t->dtype) ? t->start_offset / 2 : t->start_offset << pto_dtype_shift(t->dtype);
  const uint32_t ndims = t->ndims;
  uint64_t *strides = shape + ndims;
  out->addr = base ? (char *)(uintptr_t)base + offset : NULL;
  out->shape = shape;
  out->strides = strides;
  out->ndims = ndims;
  out->dtype = t->dtype;
  for (uint32_t i = 0; i < ndims; i++) {
    shape[i] = t->shape[i];
    strides[i] = t->strides[i];
  }
  return strides + ndims;
}

static inline uint32_t pto_params_payload_bytes(uint32_t tensor_count, uint32_t scalar_count, uint32_t dim_count) {
  const uint32_t held_count = tensor_count + 1; /* with the predicate's */
  return (uint32_t)(sizeof(struct pto_payload) + tensor_count * sizeof(struct pto_kernel_tensor) + scalar_count * 8 +
                    dim_count * 16 + held_count * sizeof(uint32_t));
}

static inline void pto_params_begin_payload(struct pto_payload *payload, const struct pto_launch *launch,
                                            uint32_t tensor_count, uint32_t scalar_count) {
  payload->block_count = launch->block_count ? launch->block_count : 1;
  payload->first_role = launch->aic ? 0 : launch->aiv0 ? 1 : 2;
  payload->tensor_count = (uint8_t)tensor_count;
  payload->scalar_count = (uint8_t)scalar_count;
  payload->no_flags = 0;
  payload->kernels[0] = launch->aic;
  payload->kernels[1] = launch->aiv0;
  payload->kernels[2] = launch->aiv1;
  payload->reserved[1] = 0;
}

/* From the counts and tensors in rt->work and the scalars of `params`. */
static inline int pto_params_build_payload(struct pto_runtime *rt, const struct pto_launch *launch,
                                           const struct pto_param *params, uint32_t count) {
  struct pto_submit_work *submit = rt->work;
  const uint32_t tensor_count = submit->tensor_count, scalar_count = submit->scalar_count;
  struct pto_payload *payload =
      pto_payload_pool_alloc(&rt->payloads, pto_params_payload_bytes(tensor_count, scalar_count, submit->dim_count));
  if (PTO_UNLIKELY(!payload)) {
    pto_space_note_table(rt, PTO_DOING_SUBMIT, "payload pool", rt->payloads.unit_capacity);
    return pto_runtime_fail(rt, PTO_ECAPACITY, "the payloads of live tasks fill their pool");
  }
  submit->payload = payload;
  pto_params_begin_payload(payload, launch, tensor_count, scalar_count);
  union pto_scalar *scalars = pto_payload_scalars(payload);
  uint64_t *at = (uint64_t *)(void *)(scalars + scalar_count);
  for (uint32_t i = 0; i < tensor_count; i++)
    at = pto_params_fill_tensor(&payload->tensors[i], submit->params[i].tensor, submit->params[i].record->addr, at);
  for (uint32_t i = 0; i < count; i++)
    if (params[i].mode == PTO_SCALAR) *scalars++ = params[i].value.scalar;
  payload->reserved[0] = (uint64_t)(uintptr_t)at;
  return PTO_OK;
}

#endif
