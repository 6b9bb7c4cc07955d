/* SPDX-License-Identifier: MIT */
#include <graph/infer/infer.h>

#include <inttypes.h>
#include <stdio.h>

#include <runtime/base/base.h>

const char *pto_shape_text(const struct pto_graph_desc *desc, char *text) {
  size_t used = (size_t)snprintf(text, PTO_SHAPE_TEXT_BYTES, "[");
  for (uint32_t d = 0; d < desc->ndims && d < PTO_MAX_DIMS && used < PTO_SHAPE_TEXT_BYTES; d++)
    used += (size_t)snprintf(text + used, PTO_SHAPE_TEXT_BYTES - used, "%s%" PRIu64, d ? ", " : "", desc->shape[d]);
  if (used < PTO_SHAPE_TEXT_BYTES) snprintf(text + used, PTO_SHAPE_TEXT_BYTES - used, "]");
  return text;
}

const char *pto_infer_parameter(const struct pto_inference *inference, uint32_t parameter) {
  return pto_op_info(inference->op)->parameters[parameter].name;
}

int pto_infer_same_shape(struct pto_inference *inference, uint32_t a, uint32_t b) {
  const struct pto_graph_desc *desc = &inference->operands[b];
  return pto_infer_expect_shape(inference, a, desc->ndims, desc->shape);
}

static bool has_shape(const struct pto_graph_desc *desc, uint32_t ndims, const uint64_t *shape) {
  if (desc->ndims != ndims) return false;
  for (uint32_t d = 0; d < ndims; d++)
    if (desc->shape[d] != shape[d]) return false;
  return true;
}

int pto_infer_expect_shape(struct pto_inference *inference, uint32_t parameter, uint32_t ndims, const uint64_t *shape) {
  const struct pto_graph_desc *desc = &inference->operands[parameter];
  if (!inference->has_operand[parameter] || has_shape(desc, ndims, shape)) return PTO_OK;
  struct pto_graph_desc wanted = {.ndims = ndims};
  for (uint32_t d = 0; d < ndims; d++) wanted.shape[d] = shape[d];
  return PTO_INFER_REFUSE(inference, "%s has the shape %s, not %s", pto_infer_parameter(inference, parameter),
                          PTO_SHAPE_TEXT(desc), PTO_SHAPE_TEXT(&wanted));
}

int pto_infer_check_axis(struct pto_inference *inference, const char *name, uint64_t axis, uint32_t ndims) {
  if (axis < ndims) return PTO_OK;
  return PTO_INFER_REFUSE(inference, "%s %" PRIu64 " is not below the %u dimensions", name, axis, ndims);
}

int pto_infer_check_axes(struct pto_inference *inference, const char *name, struct pto_u32_list axes, uint32_t ndims,
                         uint32_t *chosen) {
  *chosen = 0;
  for (uint32_t i = 0; i < axes.count; i++) {
    int status = pto_infer_check_axis(inference, name, axes.values[i], ndims);
    if (status) return status;
    if (*chosen & 1u << axes.values[i]) return PTO_INFER_REFUSE(inference, "%s has %u twice", name, axes.values[i]);
    *chosen |= 1u << axes.values[i];
  }
  return PTO_OK;
}

bool pto_shape_broadcast(const struct pto_graph_desc *a, const struct pto_graph_desc *b, struct pto_graph_desc *out) {
  uint32_t ndims = a->ndims > b->ndims ? a->ndims : b->ndims;
  for (uint32_t i = 1; i <= ndims; i++) {
    uint64_t x = i <= a->ndims ? a->shape[a->ndims - i] : 1, y = i <= b->ndims ? b->shape[b->ndims - i] : 1;
    if (x != y && x != 1 && y != 1) return false;
    out->shape[ndims - i] = x == 1 ? y : x;
  }
  out->ndims = ndims;
  return true;
}

bool pto_shape_broadcasts_to(const struct pto_graph_desc *from, const struct pto_graph_desc *to) {
  struct pto_graph_desc both;
  return pto_shape_broadcast(from, to, &both) && has_shape(to, both.ndims, both.shape);
}

int pto_infer_result(struct pto_inference *inference, const struct pto_graph_desc *desc) {
  struct pto_graph_desc *result = &inference->results[inference->result_count++];
  *result = *desc;
  for (uint32_t d = desc->ndims; d < PTO_MAX_DIMS; d++) result->shape[d] = 0;
  return PTO_OK;
}
