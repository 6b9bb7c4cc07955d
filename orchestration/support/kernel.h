/* SPDX-License-Identifier: MIT */
/*
 * How programs write down their kernels: a parameter in a line, and a kernel with its parameters.
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

#endif
