/* SPDX-License-Identifier: MIT */
/*
 * The matrix product that the AIC kernels share: c = alpha · a·b, or c = alpha · a·b + beta · added.
 *
 * Any strides.  Floats: a, b, c and added are f32, fp16 or bf16 each.  An element of c is one chain of f32
 * multiply-adds over k in ascending order, from 0; then alpha; then beta · added is added; then it is clamped where
 * that is asked for; then one rounding to c's dtype.  It depends on its row of a and its column of b alone, not on the
 * sizes or on where the tiles fall.  Where the processor has it the multiply-adds are fused, so instruction sets may
 * differ within rounding.  Integers: a and b are i8 or u8 each, c and added i32, alpha and beta 1; exact modulo 2^32,
 * so every instruction set gives the same bytes.
 *
 * Works in the core's L0A (a strip of a), L0B (panels of b) and L0C (sums), whatever their sizes are from
 * PTO_GEMM_LEAST_BYTES each; any thread that owns the core.  Allocates nothing.  To add an instruction set, see
 * gemm_float.c and gemm_int8.c; gemm_block.h is the seam between them and the blocks of gemm.c.
 */
#ifndef PTO_KERNELS_MATMUL_GEMM_H
#define PTO_KERNELS_MATMUL_GEMM_H

#include <kernels/levels/level.h>
#include <kernels/api/shape.h>

struct pto_gemm {
  const char *kernel;        /* for sentences */
  struct pto_matrix a, b, c; /* [m, k], [k, n], [m, n] */
  float alpha;
  bool is_added;
  struct pto_matrix added; /* [m, n], may be c; looked at where is_added, as beta */
  float beta;
  bool is_clamped; /* floats alone: an element is brought between least and most before it is rounded to c's dtype */
  float least, most;
};

/* The least that L0A, L0B and L0C must have. */
#define PTO_GEMM_LEAST_BYTES 8192

/* 0, or the error of a core whose L0 memories are too small. */
int pto_gemm_run(const struct pto_kernel_args *args, const struct pto_gemm *gemm);

/* For kernels whose tensors 0, 1 and `c` are a, b and the product, or transposes of them.  Whether the sizes fit:
 * "matmul: inner sizes 64 and 32 differ (params 0 and 1)". */
int pto_check_product(const struct pto_kernel_args *args, const struct pto_gemm *gemm, uint32_t c);
/* `count` products; every tensor but the last is read, and the last is written. */
struct pto_cost pto_gemm_cost(const struct pto_kernel_args *args, const struct pto_gemm *gemm, uint64_t count);

/* For tests and benches: the product by one instruction set.  Whether this processor has it; sets are enum
 * pto_level, and PTO_LEVEL_COUNT the one of integers beyond these. */
bool pto_gemm_has_set(uint32_t set, uint32_t dtype);
int pto_gemm_run_set(uint32_t set, const struct pto_kernel_args *args, const struct pto_gemm *gemm);

#endif
