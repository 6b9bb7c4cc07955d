/* SPDX-License-Identifier: MIT */
/*
 * The matrix product that the AIC kernels share: c = alpha · a·b, or c += alpha · a·b.
 *
 * Any strides, inputs and output f32, fp16 or bf16 each.  An element of c is one chain of f32 multiply-adds over k in
 * ascending order, from 0, then alpha, then the old c, then one rounding to c's dtype: it depends on its row of a and
 * its column of b alone, not on the sizes or on where the tiles fall.  Where the processor has it the multiply-adds are
 * fused, so instruction sets may differ within rounding.
 *
 * About 48 KiB of stack, no other memory.  To add an instruction set, see gemm.c.  Any thread.
 */
#ifndef PTO_GEMM_H
#define PTO_GEMM_H

#include <kernels/kernel_shape.h>

struct pto_gemm {
  struct pto_matrix a, b, c; /* [m, k], [k, n], [m, n] */
  float alpha;
  bool is_added; /* to the old c */
};

void pto_gemm_run(const struct pto_gemm *gemm);

/* For kernels whose tensors 0, 1 and 2 are a, b and c, or transposes of them.  Whether the sizes fit: "matmul: inner
 * sizes 64 and 32 differ (params 0 and 1)"; and the cost of c = a·b. */
int pto_check_product(const struct pto_kernel_args *args, const char *kernel, const struct pto_gemm *gemm);
struct pto_cost pto_gemm_cost(const struct pto_kernel_args *args, const struct pto_gemm *gemm);

/* For tests: the product by each instruction set that this processor has, from the plainest up; false past the end. */
bool pto_gemm_run_at(uint32_t index, const struct pto_gemm *gemm);

#endif
