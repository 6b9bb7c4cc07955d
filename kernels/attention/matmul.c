/* SPDX-License-Identifier: MIT */
/*
 * The matrix half of paged attention (AIC), for one tile of query rows and one block of the cache: qk, s = q·kᵀ·scale,
 * and pv, o_new = p·v.  What is between and after them: kernels/attention/attention.c.
 *
 * k and v are [block, d], or views [1, block, 1, d] of a pool [total_blocks, block, kv_heads, d].  Columns of p that
 * are masked are 0; they meet rows of v that no token wrote.  Where those may hold NaN or ∞, pass pv narrower views of
 * p and v.  Rounded as gemm.h says.  Any thread.
 */
#include <kernels/matmul/gemm.h>
#include <kernels/api/list.h>
#include <runtime/base/base.h>

#include <inttypes.h>
#include <stdio.h>

#define F32 PTO_DTYPE_BIT(PTO_FLOAT32)
#define MATRIX(name_, mode_, dtypes_)                                                                                  \
  { .name = name_, .mode = mode_, .dtypes = dtypes_, .min_rank = 2 }
#define POOL(name_)                                                                                                    \
  { .name = name_, .mode = PTO_INPUT, .dtypes = PTO_DTYPES_FLOAT, .min_rank = 2, .max_rank = 4 }

/* [block, d], or [1, block, 1, d]. */
static int check_block(const struct pto_kernel_args *args, const char *kernel, uint32_t i) {
  const struct pto_kernel_tensor *t = &args->tensors[i];
  if (t->ndims == 2 || (t->ndims == 4 && t->shape[0] == 1 && t->shape[2] == 1)) return 0;
  char text[192];
  pto_format_shape(t, text, sizeof text);
  return pto_kernel_error(args, "%s: shape %s is neither [block, d] nor [1, block, 1, d] (param %" PRIu32 ")", kernel,
                          text, i);
}

static struct pto_matrix block_matrix(const struct pto_kernel_tensor *t) {
  struct pto_matrix m = pto_kernel_matrix(t);
  if (t->ndims == 4) {
    m.rows = t->shape[1];
    m.row_stride = t->strides[1];
  }
  return m;
}

/* ---- qk ---- */

static struct pto_gemm qk_product(const struct pto_kernel_args *args) {
  return (struct pto_gemm){.kernel = "qk",
                           .a = pto_kernel_matrix(&args->tensors[0]),
                           .b = pto_matrix_transpose(block_matrix(&args->tensors[1])),
                           .c = pto_kernel_matrix(&args->tensors[2]),
                           .alpha = 1};
}

static int qk_run(const struct pto_kernel_args *args) {
  struct pto_gemm gemm = qk_product(args);
  gemm.alpha = args->scalars[0].f32;
  return pto_gemm_run(args, &gemm);
}

static int qk_check(const struct pto_kernel_args *args) {
  int status = check_block(args, "qk", 1);
  for (uint32_t i = 0; status == 0 && i < 3; i += 2) status = pto_check_matrix(args, "qk", i);
  if (status != 0) return status;
  const struct pto_gemm gemm = qk_product(args);
  return pto_check_product(args, &gemm, 2);
}

static struct pto_cost qk_cost(const struct pto_kernel_args *args) {
  const struct pto_gemm gemm = qk_product(args);
  return pto_gemm_cost(args, &gemm, 1);
}

/* "16x128x128 bf16": query rows, tokens of the block, elements of a head. */
static int qk_key(const struct pto_kernel_args *args, char *text, uint32_t size) {
  const struct pto_gemm gemm = qk_product(args);
  return snprintf(text, size, "%" PRIu64 "x%" PRIu64 "x%" PRIu64 " %s", gemm.c.rows, gemm.c.cols, gemm.a.cols,
                  pto_dtype_name(gemm.b.dtype));
}

static const struct pto_kernel_param qk_params[] = {
    MATRIX("q", PTO_INPUT, PTO_DTYPES_FLOAT), /* [q_tile, d] */
    POOL("k"),                                /* [block, d] or [1, block, 1, d] */
    MATRIX("s", PTO_OUTPUT, F32),             /* [q_tile, block] */
    {.name = "scale", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_F32},
};
PTO_GENERAL_KERNEL(qk, qk_params, .cores = PTO_AIC, .flags = PTO_KERNEL_ONE_BLOCK, .run = qk_run, .cost = qk_cost,
                   .check = qk_check, .key = qk_key);

/* ---- pv ---- */

static struct pto_gemm pv_product(const struct pto_kernel_args *args) {
  return (struct pto_gemm){.kernel = "pv",
                           .a = pto_kernel_matrix(&args->tensors[0]),
                           .b = block_matrix(&args->tensors[1]),
                           .c = pto_kernel_matrix(&args->tensors[2]),
                           .alpha = 1};
}

static int pv_run(const struct pto_kernel_args *args) {
  const struct pto_gemm gemm = pv_product(args);
  return pto_gemm_run(args, &gemm);
}

static int pv_check(const struct pto_kernel_args *args) {
  int status = check_block(args, "pv", 1);
  for (uint32_t i = 0; status == 0 && i < 3; i += 2) status = pto_check_matrix(args, "pv", i);
  if (status != 0) return status;
  const struct pto_gemm gemm = pv_product(args);
  return pto_check_product(args, &gemm, 2);
}

static struct pto_cost pv_cost(const struct pto_kernel_args *args) {
  const struct pto_gemm gemm = pv_product(args);
  return pto_gemm_cost(args, &gemm, 1);
}

/* The same numbers. */
static int pv_key(const struct pto_kernel_args *args, char *text, uint32_t size) {
  const struct pto_gemm gemm = pv_product(args);
  return snprintf(text, size, "%" PRIu64 "x%" PRIu64 "x%" PRIu64 " %s", gemm.c.rows, gemm.a.cols, gemm.c.cols,
                  pto_dtype_name(gemm.b.dtype));
}

static const struct pto_kernel_param pv_params[] = {
    MATRIX("p", PTO_INPUT, PTO_DTYPES_FLOAT), /* [q_tile, block] */
    POOL("v"),                                /* [block, d] or [1, block, 1, d] */
    MATRIX("o_new", PTO_OUTPUT, F32),         /* [q_tile, d] */
};
PTO_GENERAL_KERNEL(pv, pv_params, .cores = PTO_AIC, .flags = PTO_KERNEL_ONE_BLOCK, .run = pv_run, .cost = pv_cost,
                   .check = pv_check, .key = pv_key);
