/* SPDX-License-Identifier: MIT */
/*
 * matmul: c = a·b, and matmul_accumulate: c += a·b (AIC).  a [m, k], b [k, n], c [m, n]; leading extents of 1 are
 * allowed, so a tile of a batch needs no reshape.  The product is rounded as gemm.h says; matmul_accumulate adds the
 * whole sum to the old c, so for an f32 c it gives the bytes of a matmul followed by an add_inplace.  Any thread.
 */
#include <kernels/gemm.h>
#include <kernels/kernel_list.h>
#include <runtime/base/base.h>

static struct pto_gemm product_of(const struct pto_kernel_args *args, bool is_added) {
  return (struct pto_gemm){.a = pto_kernel_matrix(&args->tensors[0]),
                           .b = pto_kernel_matrix(&args->tensors[1]),
                           .c = pto_kernel_matrix(&args->tensors[2]),
                           .alpha = 1,
                           .is_added = is_added};
}

static int multiply(const struct pto_kernel_args *args, bool is_added) {
  const struct pto_gemm gemm = product_of(args, is_added);
  pto_gemm_run(&gemm);
  return 0;
}

static int check(const struct pto_kernel_args *args, const char *kernel) {
  for (uint32_t i = 0; i < 3; i++) {
    const int status = pto_check_matrix(args, kernel, i);
    if (status != 0) return status;
  }
  const struct pto_gemm gemm = product_of(args, false);
  return pto_check_product(args, kernel, &gemm);
}

static struct pto_cost cost(const struct pto_kernel_args *args, bool is_added) {
  const struct pto_gemm gemm = product_of(args, is_added);
  return pto_gemm_cost(args, &gemm);
}

static int matmul_run(const struct pto_kernel_args *args) { return multiply(args, false); }
static int matmul_check(const struct pto_kernel_args *args) { return check(args, "matmul"); }
static struct pto_cost matmul_cost(const struct pto_kernel_args *args) { return cost(args, false); }

static int matmul_accumulate_run(const struct pto_kernel_args *args) { return multiply(args, true); }
static int matmul_accumulate_check(const struct pto_kernel_args *args) { return check(args, "matmul_accumulate"); }
static struct pto_cost matmul_accumulate_cost(const struct pto_kernel_args *args) { return cost(args, true); }

static const struct pto_kernel_param matmul_params[] = {
    {.name = "a", .mode = PTO_INPUT, .dtypes = PTO_DTYPES_FLOAT, .min_rank = 2},
    {.name = "b", .mode = PTO_INPUT, .dtypes = PTO_DTYPES_FLOAT, .min_rank = 2},
    {.name = "c", .mode = PTO_OUTPUT, .dtypes = PTO_DTYPES_FLOAT, .min_rank = 2},
};
const struct pto_kernel pto_general_matmul = {.name = "matmul",
                                              .cores = PTO_AIC,
                                              .params = matmul_params,
                                              .param_count = PTO_ARRAY_LENGTH(matmul_params),
                                              .run = matmul_run,
                                              .cost = matmul_cost,
                                              .check = matmul_check};

static const struct pto_kernel_param matmul_accumulate_params[] = {
    {.name = "a", .mode = PTO_INPUT, .dtypes = PTO_DTYPES_FLOAT, .min_rank = 2},
    {.name = "b", .mode = PTO_INPUT, .dtypes = PTO_DTYPES_FLOAT, .min_rank = 2},
    {.name = "c", .mode = PTO_ACCUMULATE, .dtypes = PTO_DTYPES_FLOAT, .min_rank = 2},
};
const struct pto_kernel pto_general_matmul_accumulate = {.name = "matmul_accumulate",
                                                         .cores = PTO_AIC,
                                                         .params = matmul_accumulate_params,
                                                         .param_count = PTO_ARRAY_LENGTH(matmul_accumulate_params),
                                                         .run = matmul_accumulate_run,
                                                         .cost = matmul_accumulate_cost,
                                                         .check = matmul_accumulate_check};
