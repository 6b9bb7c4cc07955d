/* SPDX-License-Identifier: MIT */
#include <graph/build/builder_state.h>

#include <string.h>

#include <device/context_state.h>

int pto_builder_tensor_desc(struct pto_context *context, struct pto_device_tensor tensor,
                            struct pto_graph_desc *desc_out, bool *is_constant_out, struct pto_error *error) {
  struct pto_device_record *record = NULL;
  pto_context_lock(context);
  int status = pto_device_tensors_lookup(&context->tensors, tensor, "tensor", &record, error);
  if (status == PTO_OK) {
    *desc_out = (struct pto_graph_desc){.dtype = record->dtype, .ndims = record->ndims};
    memcpy(desc_out->shape, record->shape, sizeof record->shape);
    *is_constant_out = record->is_constant;
  }
  pto_context_unlock(context);
  return status;
}
