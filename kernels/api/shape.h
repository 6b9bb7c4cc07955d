/* SPDX-License-Identifier: MIT */
/*
 * What checks and costs of kernels are made of: comparisons of shapes with their sentences, bytes and tiles.
 *
 * Functions of descriptors alone; tensors need no address.  A check function answers 0, or PTO_EKERNEL through
 * pto_kernel_error with the kernel's name, the values and the parameters' indices.  The general kernels list their
 * tensors before their scalars, so tensor i is parameter i.  Any thread.
 */
#ifndef PTO_KERNELS_API_SHAPE_H
#define PTO_KERNELS_API_SHAPE_H

#include <pto/kernel.h>

/* Elements: the product of the shape. */
uint64_t pto_kernel_numel(const struct pto_kernel_tensor *t);
/* Bytes of the distinct elements: a dimension of stride 0 counts once. */
uint64_t pto_kernel_bytes(const struct pto_kernel_tensor *t);
/* Whether all elements lie in row-major order without gaps.  The stride of an extent of 1 has no meaning. */
bool pto_kernel_is_dense(const struct pto_kernel_tensor *t);

/* Local memory that a kernel asks for when it works through `total_bytes` in pieces of no less than `least_bytes`: all
 * of it, or a tile of PTO_TILE_BYTES. */
#define PTO_TILE_BYTES (UINT64_C(64) << 10)
uint64_t pto_tile_bytes(uint64_t total_bytes, uint64_t least_bytes);

/* Same rank and extents: "add: shapes [4,8] and [4,9] differ (params 0 and 2)". */
int pto_check_same_shape(const struct pto_kernel_args *args, const char *kernel, uint32_t i, uint32_t j);
/* "copy: dtypes f32 and i32 differ (params 0 and 1)". */
int pto_check_same_dtype(const struct pto_kernel_args *args, const char *kernel, uint32_t i, uint32_t j);
/* One size of a parameter, for comparison with one of another. */
struct pto_kernel_size {
  uint32_t param;
  uint64_t size;
};
/* "matmul: inner sizes 64 and 32 differ (params 0 and 1)", where `what` is "inner sizes". */
int pto_check_same_size(const struct pto_kernel_args *args, const char *kernel, const char *what,
                        struct pto_kernel_size a, struct pto_kernel_size b);

/* "gather: rank 3 is not 2 (param 1)". */
int pto_check_rank(const struct pto_kernel_args *args, const char *kernel, uint32_t param, uint32_t rank);
/* "gather: axis 2 of rank 2 (params 3 and 0)": the first scalar, behind the tensors, is no dimension of `param`. */
int pto_check_axis(const struct pto_kernel_args *args, const char *kernel, uint32_t param);

/* A tensor as a matrix.  Strides in elements. */
struct pto_matrix {
  void *addr;
  uint64_t rows, cols;
  uint64_t row_stride, col_stride;
  uint32_t dtype;
};
/* The last two dimensions, all before them of extent 1: [n, d], [1, n, d].  Refused otherwise, or below rank 2. */
int pto_check_matrix(const struct pto_kernel_args *args, const char *kernel, uint32_t i);
struct pto_matrix pto_kernel_matrix(const struct pto_kernel_tensor *t);
struct pto_matrix pto_matrix_transpose(struct pto_matrix m);
static inline char *pto_matrix_at(const struct pto_matrix *m, uint64_t row, uint64_t col) {
  return (char *)m->addr + (row * m->row_stride + col * m->col_stride) * pto_dtype_size(m->dtype);
}

/* "[4,8]".  Truncates to `size`. */
void pto_format_shape(const struct pto_kernel_tensor *t, char *text, size_t size);

#endif
