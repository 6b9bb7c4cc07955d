/* SPDX-License-Identifier: MIT */
/*
 * Products of tensors (AIC), rounded as gemm.h says:
 *
 *   matmul                  c = a·b         floats
 *   matmul_accumulate       c += a·b        floats; for an f32 c the bytes of a matmul followed by an add_inplace
 *   matmul_int8             c = a·b         i8 and u8 in any pairing, to i32, modulo 2^32
 *   matmul_int8_accumulate  c += a·b
 *   gemm                    y = alpha · a·b + beta · c, each operation rounded to f32; a bias is a broadcast c
 *   gemm_clamp              the same, brought between two bounds before it is rounded to the dtype of y
 *
 * a [.., m, k], b [.., k, n], c and y [.., m, n].  Leading dimensions are those of a batch, aligned at the innermost as
 * NumPy does: equal, or 1 or missing in an input, which then serves every product.  Where k is 0 a product is 0.  Any
 * thread.
 */
#include <kernels/matmul/gemm.h>
#include <kernels/api/list.h>
#include <runtime/base/base.h>

#include <inttypes.h>

static uint32_t batch_dims(const struct pto_kernel_tensor *t) { return t->ndims - 2; }

/* Extent and stride of `t` in dimension d of the batch of `whole`. */
static uint64_t batch_extent(const struct pto_kernel_tensor *t, const struct pto_kernel_tensor *whole, uint32_t d) {
  const uint32_t missing = whole->ndims - t->ndims;
  return d < missing ? 1 : t->shape[d - missing];
}
static uint64_t batch_stride(const struct pto_kernel_tensor *t, const struct pto_kernel_tensor *whole, uint32_t d) {
  return batch_extent(t, whole, d) == 1 ? 0 : t->strides[d - (whole->ndims - t->ndims)];
}

/* Element offset in `t` of product `index` of the batch. */
static uint64_t batch_offset(const struct pto_kernel_tensor *t, const struct pto_kernel_tensor *whole, uint64_t index) {
  uint64_t at = 0;
  for (uint32_t d = batch_dims(whole); d-- > 0; index /= whole->shape[d])
    at += index % whole->shape[d] * batch_stride(t, whole, d);
  return at;
}

static uint64_t batch_count(const struct pto_kernel_tensor *whole) {
  uint64_t count = 1;
  for (uint32_t d = 0; d < batch_dims(whole); d++) count *= whole->shape[d];
  return count;
}

/* The tensor of the product is the last. */
static const struct pto_kernel_tensor *whole_of(const struct pto_kernel_args *args) {
  return &args->tensors[args->tensor_count - 1];
}

/* The first product of the batch. */
static struct pto_gemm product_of(const struct pto_kernel_args *args, const char *kernel) {
  return (struct pto_gemm){.kernel = kernel,
                           .a = pto_kernel_matrix(&args->tensors[0]),
                           .b = pto_kernel_matrix(&args->tensors[1]),
                           .c = pto_kernel_matrix(whole_of(args)),
                           .alpha = 1,
                           .added = pto_kernel_matrix(&args->tensors[2]),
                           .beta = 1};
}

static void *batch_addr(const struct pto_kernel_tensor *t, const struct pto_kernel_tensor *whole, uint64_t index) {
  return (char *)t->addr + batch_offset(t, whole, index) * pto_dtype_size(t->dtype);
}

/* `gemm` is the first product; it is moved along the batch. */
static int run_batch(const struct pto_kernel_args *args, struct pto_gemm *gemm) {
  const struct pto_kernel_tensor *t = args->tensors, *whole = whole_of(args);
  const uint64_t count = batch_count(whole);
  int status = 0;
  if (pto_kernel_numel(whole) == 0) return 0; /* of however many empty products */
  for (uint64_t index = 0; index < count && status == 0; index++) {
    if (index > 0) {
      gemm->a.addr = batch_addr(&t[0], whole, index);
      gemm->b.addr = batch_addr(&t[1], whole, index);
      gemm->c.addr = batch_addr(whole, whole, index);
      gemm->added.addr = batch_addr(&t[2], whole, index);
    }
    status = pto_gemm_run(args, gemm);
  }
  return status;
}

static int run(const struct pto_kernel_args *args, const char *kernel) {
  struct pto_gemm gemm = product_of(args, kernel);
  return run_batch(args, &gemm);
}
static int run_added(const struct pto_kernel_args *args, const char *kernel) {
  struct pto_gemm gemm = product_of(args, kernel);
  gemm.is_added = true;
  return run_batch(args, &gemm);
}

/* The product's extent is the larger of those of a and b; an input has that extent or 1. */
static int check_batch(const struct pto_kernel_args *args, const char *kernel) {
  const struct pto_kernel_tensor *whole = whole_of(args);
  const uint32_t last = args->tensor_count - 1;
  for (uint32_t i = 0; i < last; i++) {
    const struct pto_kernel_tensor *t = &args->tensors[i];
    if (t->ndims > whole->ndims)
      return pto_kernel_error(
          args, "%s: rank %" PRIu32 " exceeds rank %" PRIu32 " of the product (params %" PRIu32 " and %" PRIu32 ")",
          kernel, t->ndims, whole->ndims, i, last);
  }
  for (uint32_t d = 0; d < batch_dims(whole); d++) {
    const uint64_t wanted = whole->shape[d];
    bool is_given = wanted == 1;
    for (uint32_t i = 0; i < last; i++) {
      const uint64_t extent = batch_extent(&args->tensors[i], whole, d);
      if (extent != wanted && extent != 1)
        return pto_kernel_error(
            args, "%s: batch sizes %" PRIu64 " and %" PRIu64 " differ (params %" PRIu32 " and %" PRIu32 ")", kernel,
            extent, wanted, i, last);
      is_given = is_given || (i < 2 && extent == wanted);
    }
    if (!is_given)
      return pto_kernel_error(
          args, "%s: batch size %" PRIu64 " of the product is neither that of a nor of b (param %" PRIu32 ")", kernel,
          wanted, last);
  }
  return 0;
}

static int check(const struct pto_kernel_args *args, const char *kernel) {
  const struct pto_gemm gemm = product_of(args, kernel);
  const int status = pto_check_product(args, &gemm, args->tensor_count - 1);
  return status != 0 ? status : check_batch(args, kernel);
}

static struct pto_cost cost(const struct pto_kernel_args *args) {
  const struct pto_gemm gemm = product_of(args, NULL);
  return pto_gemm_cost(args, &gemm, batch_count(whole_of(args)));
}

static struct pto_cost accumulate_cost(const struct pto_kernel_args *args) {
  struct pto_cost result = cost(args);
  result.bytes_in += result.bytes_out;
  return result;
}

#define INT8S (PTO_DTYPE_BIT(PTO_INT8) | PTO_DTYPE_BIT(PTO_UINT8))
#define PARAM(name_, mode_, dtypes_)                                                                                   \
  { .name = name_, .mode = mode_, .dtypes = dtypes_, .min_rank = 2 }

static int matmul_run(const struct pto_kernel_args *args) { return run(args, "matmul"); }
static int matmul_check(const struct pto_kernel_args *args) { return check(args, "matmul"); }

static int matmul_accumulate_run(const struct pto_kernel_args *args) { return run_added(args, "matmul_accumulate"); }
static int matmul_accumulate_check(const struct pto_kernel_args *args) { return check(args, "matmul_accumulate"); }

static int matmul_int8_run(const struct pto_kernel_args *args) { return run(args, "matmul_int8"); }
static int matmul_int8_check(const struct pto_kernel_args *args) { return check(args, "matmul_int8"); }

static int matmul_int8_accumulate_run(const struct pto_kernel_args *args) {
  return run_added(args, "matmul_int8_accumulate");
}
static int matmul_int8_accumulate_check(const struct pto_kernel_args *args) {
  return check(args, "matmul_int8_accumulate");
}

/* X(name, dtypes of a and b, dtypes of c, c's mode, cost) */
#define PRODUCT_LIST(X)                                                                                                \
  X(matmul, PTO_DTYPES_FLOAT, PTO_DTYPES_FLOAT, PTO_OUTPUT, cost)                                                      \
  X(matmul_accumulate, PTO_DTYPES_FLOAT, PTO_DTYPES_FLOAT, PTO_ACCUMULATE, accumulate_cost)                            \
  X(matmul_int8, INT8S, PTO_DTYPE_BIT(PTO_INT32), PTO_OUTPUT, cost)                                                    \
  X(matmul_int8_accumulate, INT8S, PTO_DTYPE_BIT(PTO_INT32), PTO_ACCUMULATE, accumulate_cost)

#define X(name_, inputs, outputs, mode_, cost_)                                                                        \
  static const struct pto_kernel_param name_##_params[] = {PARAM("a", PTO_INPUT, inputs),                              \
                                                           PARAM("b", PTO_INPUT, inputs), PARAM("c", mode_, outputs)}; \
  PTO_GENERAL_KERNEL(name_, name_##_params, .cores = PTO_AIC, .flags = PTO_KERNEL_ONE_BLOCK, .run = name_##_run,       \
                     .cost = cost_, .check = name_##_check);
PRODUCT_LIST(X)
#undef X

/* ---- gemm ---- */

static int gemm_run(const struct pto_kernel_args *args) {
  struct pto_gemm gemm = product_of(args, "gemm");
  gemm.alpha = args->scalars[0].f32;
  gemm.beta = args->scalars[1].f32;
  gemm.is_added = true;
  return run_batch(args, &gemm);
}

static int gemm_clamp_run(const struct pto_kernel_args *args) {
  struct pto_gemm gemm = product_of(args, "gemm_clamp");
  gemm.alpha = args->scalars[0].f32;
  gemm.beta = args->scalars[1].f32;
  gemm.is_added = gemm.is_clamped = true;
  gemm.least = args->scalars[2].f32;
  gemm.most = args->scalars[3].f32;
  return run_batch(args, &gemm);
}

static int gemm_check(const struct pto_kernel_args *args) {
  const char *kernel = args->scalar_count > 2 ? "gemm_clamp" : "gemm";
  const int status = check(args, kernel);
  if (status != 0) return status;
  const struct pto_matrix c = pto_kernel_matrix(&args->tensors[2]), y = pto_kernel_matrix(&args->tensors[3]);
  if (pto_check_same_size(args, kernel, "rows", (struct pto_kernel_size){2, c.rows},
                          (struct pto_kernel_size){3, y.rows}) != 0)
    return PTO_EKERNEL;
  return pto_check_same_size(args, kernel, "columns", (struct pto_kernel_size){2, c.cols},
                             (struct pto_kernel_size){3, y.cols});
}

#define FACTOR(name_)                                                                                                  \
  { .name = name_, .mode = PTO_SCALAR, .scalar = PTO_SCALAR_F32 }
#define GEMM_PARAMS                                                                                                    \
  PARAM("a", PTO_INPUT, PTO_DTYPES_FLOAT), PARAM("b", PTO_INPUT, PTO_DTYPES_FLOAT),                                    \
      PARAM("c", PTO_INPUT, PTO_DTYPES_FLOAT), PARAM("y", PTO_OUTPUT, PTO_DTYPES_FLOAT), FACTOR("alpha"),              \
      FACTOR("beta")
static const struct pto_kernel_param gemm_params[] = {GEMM_PARAMS};
static const struct pto_kernel_param gemm_clamp_params[] = {GEMM_PARAMS, FACTOR("least"), FACTOR("most")};
PTO_GENERAL_KERNEL(gemm, gemm_params, .cores = PTO_AIC, .flags = PTO_KERNEL_ONE_BLOCK, .run = gemm_run, .cost = cost,
                   .check = gemm_check);
PTO_GENERAL_KERNEL(gemm_clamp, gemm_clamp_params, .cores = PTO_AIC, .flags = PTO_KERNEL_ONE_BLOCK,
                   .run = gemm_clamp_run, .cost = cost, .check = gemm_check);
