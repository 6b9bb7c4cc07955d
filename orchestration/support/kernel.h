/* SPDX-License-Identifier: MIT */
/*
 * How programs write down their kernels: a parameter in a line, a kernel with its parameters; and what a task gives it.
 *
 *   static const struct pto_kernel_param params[] = {TENSOR("x", PTO_INPUT, F32, 2), SCALAR("s", PTO_SCALAR_F32)};
 *   KERNEL(scale, params, .name = "scale", .cores = PTO_AIV, .run = scale_run);
 */
#ifndef PTO_ORCHESTRATION_SUPPORT_KERNEL_H
#define PTO_ORCHESTRATION_SUPPORT_KERNEL_H

#include <pto/pto.h>

#define F32 PTO_DTYPE_BIT(PTO_FLOAT32)
#define F16 PTO_DTYPE_BIT(PTO_FLOAT16)
#define I64 PTO_DTYPE_BIT(PTO_INT64)
#define I32 PTO_DTYPE_BIT(PTO_INT32)
#define I8 PTO_DTYPE_BIT(PTO_INT8)
#define U32 PTO_DTYPE_BIT(PTO_UINT32)

/* A tensor of one rank; an f32 matrix; a scalar; and what is another kernel's of the same task. */
#define TENSOR(name_, mode_, dtypes_, rank)                                                                            \
  { .name = name_, .mode = mode_, .dtypes = dtypes_, .min_rank = rank, .max_rank = rank }
#define MATRIX(name_, mode_) TENSOR(name_, mode_, F32, 2)
#define SCALAR(name_, type)                                                                                            \
  { .name = name_, .mode = PTO_SCALAR, .scalar = type }
#define ABSENT                                                                                                         \
  { .name = "other", .mode = PTO_UNUSED }

/* Defines a kernel of an array of parameters; the members behind are named.  LENGTH: elements of an array. */
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define KERNEL(variable, params_, ...)                                                                                 \
  static const struct pto_kernel variable = {.params = params_, .param_count = LENGTH(params_), __VA_ARGS__}

/* The parameters of a task and their count: pto_submit_aiv(rt, &scale, PARAMS(pto_input(&x), pto_scalar_f32(2))). */
#define PARAMS(...) (const struct pto_param[]){__VA_ARGS__}, (uint32_t)LENGTH(((const struct pto_param[]){__VA_ARGS__}))

/* A task of one kernel on the core that it is for. */
static inline int submit_kernel(struct pto_runtime *rt, const struct pto_kernel *kernel, const struct pto_param *params,
                                uint32_t count) {
  return kernel->cores & PTO_AIC ? pto_submit_aic(rt, kernel, params, count)
                                 : pto_submit_aiv(rt, kernel, params, count);
}

#endif
