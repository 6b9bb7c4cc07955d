/* SPDX-License-Identifier: MIT */
#include <kernels/api/shape.h>

#include <runtime/base/base.h>

#include <inttypes.h>
#include <stdio.h>

#define SHAPE_TEXT 192 /* eight 20-digit extents, commas, brackets */

uint64_t pto_kernel_numel(const struct pto_kernel_tensor *t) {
  uint64_t numel = 1;
  for (uint32_t d = 0; d < t->ndims; d++) numel *= t->shape[d];
  return numel;
}

uint64_t pto_kernel_bytes(const struct pto_kernel_tensor *t) {
  uint64_t numel = 1;
  for (uint32_t d = 0; d < t->ndims; d++) numel *= t->strides[d] == 0 && t->shape[d] != 0 ? 1 : t->shape[d];
  return (numel * pto_dtype_bits(t->dtype) + 7) / 8;
}

bool pto_kernel_is_dense(const struct pto_kernel_tensor *t) {
  uint64_t stride = 1;
  for (uint32_t d = t->ndims; d-- > 0;) {
    if (t->shape[d] != 1 && t->strides[d] != stride) return false;
    stride *= t->shape[d];
  }
  return true;
}

uint64_t pto_tile_bytes(uint64_t total_bytes, uint64_t least_bytes) {
  return pto_max_u64(pto_min_u64(total_bytes, PTO_TILE_BYTES), least_bytes);
}

void pto_format_shape(const struct pto_kernel_tensor *t, char *text, size_t size) {
  size_t used = (size_t)snprintf(text, size, "[");
  for (uint32_t d = 0; d < t->ndims && used < size; d++)
    used += (size_t)snprintf(text + used, size - used, d == 0 ? "%" PRIu64 : ",%" PRIu64, t->shape[d]);
  if (used < size) snprintf(text + used, size - used, "]");
}

int pto_check_same_shape(const struct pto_kernel_args *args, const char *kernel, uint32_t i, uint32_t j) {
  const struct pto_kernel_tensor *a = &args->tensors[i], *b = &args->tensors[j];
  bool is_same = a->ndims == b->ndims;
  for (uint32_t d = 0; is_same && d < a->ndims; d++) is_same = a->shape[d] == b->shape[d];
  if (is_same) return 0;
  char a_text[SHAPE_TEXT], b_text[SHAPE_TEXT];
  pto_format_shape(a, a_text, sizeof a_text);
  pto_format_shape(b, b_text, sizeof b_text);
  return pto_kernel_error(args, "%s: shapes %s and %s differ (params %" PRIu32 " and %" PRIu32 ")", kernel, a_text,
                          b_text, i, j);
}

int pto_check_same_dtype(const struct pto_kernel_args *args, const char *kernel, uint32_t i, uint32_t j) {
  const uint32_t a = args->tensors[i].dtype, b = args->tensors[j].dtype;
  if (a == b) return 0;
  return pto_kernel_error(args, "%s: dtypes %s and %s differ (params %" PRIu32 " and %" PRIu32 ")", kernel,
                          pto_dtype_name(a), pto_dtype_name(b), i, j);
}

int pto_check_same_size(const struct pto_kernel_args *args, const char *kernel, const char *what,
                        struct pto_kernel_size a, struct pto_kernel_size b) {
  if (a.size == b.size) return 0;
  return pto_kernel_error(args, "%s: %s %" PRIu64 " and %" PRIu64 " differ (params %" PRIu32 " and %" PRIu32 ")",
                          kernel, what, a.size, b.size, a.param, b.param);
}

int pto_check_rank(const struct pto_kernel_args *args, const char *kernel, uint32_t param, uint32_t rank) {
  const uint32_t found = args->tensors[param].ndims;
  if (found == rank) return 0;
  return pto_kernel_error(args, "%s: rank %" PRIu32 " is not %" PRIu32 " (param %" PRIu32 ")", kernel, found, rank,
                          param);
}

int pto_check_axis(const struct pto_kernel_args *args, const char *kernel, uint32_t param) {
  const uint64_t axis = args->scalars[0].u64;
  const uint32_t rank = args->tensors[param].ndims;
  if (axis < rank) return 0;
  return pto_kernel_error(args, "%s: axis %" PRIu64 " of rank %" PRIu32 " (params %" PRIu32 " and %" PRIu32 ")", kernel,
                          axis, rank, args->tensor_count, param);
}

int pto_check_matrix(const struct pto_kernel_args *args, const char *kernel, uint32_t i) {
  const struct pto_kernel_tensor *t = &args->tensors[i];
  bool is_matrix = t->ndims >= 2;
  for (uint32_t d = 0; is_matrix && d + 2 < t->ndims; d++) is_matrix = t->shape[d] == 1;
  if (is_matrix) return 0;
  char text[SHAPE_TEXT];
  pto_format_shape(t, text, sizeof text);
  return pto_kernel_error(args, "%s: shape %s is no matrix (param %" PRIu32 ")", kernel, text, i);
}

struct pto_matrix pto_kernel_matrix(const struct pto_kernel_tensor *t) {
  const uint32_t row = t->ndims - 2, col = t->ndims - 1;
  return (struct pto_matrix){.addr = t->addr,
                             .rows = t->shape[row],
                             .cols = t->shape[col],
                             .row_stride = t->strides[row],
                             .col_stride = t->strides[col],
                             .dtype = t->dtype};
}

struct pto_matrix pto_matrix_transpose(struct pto_matrix m) {
  return (struct pto_matrix){.addr = m.addr,
                             .rows = m.cols,
                             .cols = m.rows,
                             .row_stride = m.col_stride,
                             .col_stride = m.row_stride,
                             .dtype = m.dtype};
}
