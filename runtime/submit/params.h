/* SPDX-License-Identifier: MIT */
/*
 * What a submit asks for, from the public call to a work that is ready for its slot: params.c, and launch_checks.c for
 * the part that needs no tensors.
 *
 * Nothing outside the work, and a payload of its own, is changed by it, so a refusal leaves nothing behind.
 *
 * Control thread only.
 */
#ifndef PTO_RUNTIME_SUBMIT_PARAMS_H
#define PTO_RUNTIME_SUBMIT_PARAMS_H

#include <runtime/control/runtime_state.h>
#include <runtime/control/submit_request.h>
#include <runtime/tensor/tensor_make.h>

/* Fills in the work; a refusal leaves nothing behind. */
int pto_params_prepare(struct pto_runtime *rt, struct pto_submit_work *submit,
                       const struct pto_submit_request *request);
/* What the launch and its kernels' lists say of the parameters: fills in the counts, what the slot will say,
 * accumulates, has_waiting.  *what_out: what sentences call the task. */
int pto_launch_check(struct pto_runtime *rt, struct pto_submit_work *submit, const struct pto_submit_request *request,
                     const char **what_out);
/* The kernels' checks and the local memory that they need, once the payload is built: only where the work says that one
 * asks.  Where one refuses, the submit is dropped. */
int pto_params_query_kernels(struct pto_runtime *rt, struct pto_submit_work *submit, const struct pto_launch *launch);
/* Gives back what a prepared submit holds that is given up.  The status. */
PTO_COLD int pto_params_drop(struct pto_runtime *rt, struct pto_submit_work *submit, int status);
/* Fills addresses that were not known before, and the list of held memory. */
void pto_params_settle(struct pto_runtime *rt, struct pto_submit_work *submit, uint32_t slot);

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
  payload->held_count_and_guard = 0;
}

#endif
