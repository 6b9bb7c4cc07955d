/* SPDX-License-Identifier: MIT */
/*
 * The one list of the general kernels.
 *
 * Always true: registry, loops, parameter lists, references and tests are all made from these lines, so a part that is
 * forgotten does not compile or does not link, and a new line is tested on every layout without being named in a test.
 *
 * To add an elementwise operation, add a line to PTO_ELEMENTWISE_LIST: it needs no function where an expression will
 * do. To add any other kernel, add a line to PTO_OTHER_LIST, define `const struct pto_kernel pto_general_NAME`, and in
 * the reference_AREA.c of its subject `const struct pto_kernel_reference pto_reference_NAME`.
 *
 * A general kernel takes the whole of its tensors in every block: a task of one runs as one block, and SPMD work is cut
 * up by views.  Its `run` trusts that `check` has accepted the arguments.  Constants; any thread.
 */
#ifndef PTO_KERNEL_LIST_H
#define PTO_KERNEL_LIST_H

#include <pto/kernel.h>

#define PTO_DTYPES_INTEGER                                                                                             \
  (PTO_DTYPE_BIT(PTO_INT8) | PTO_DTYPE_BIT(PTO_INT16) | PTO_DTYPE_BIT(PTO_INT32) | PTO_DTYPE_BIT(PTO_INT64) |          \
   PTO_DTYPE_BIT(PTO_UINT8) | PTO_DTYPE_BIT(PTO_UINT16) | PTO_DTYPE_BIT(PTO_UINT32) | PTO_DTYPE_BIT(PTO_UINT64))
#define PTO_DTYPES_NUMBER (PTO_DTYPES_FLOAT | PTO_DTYPES_INTEGER)

/*
 * Elementwise operations: every element of the output is a function of the elements at the same index.
 *
 * X(name, form, dtypes, ulps, of floats, of integers, reference)
 *   form        which parameters: FILL (y, value) · FILL_INT · UNARY (x, y) · BINARY (a, b, y) · SCALED (x, y, value) ·
 *               SCALED_INT · INPLACE (x, y): y is read and written
 *   ulps        how far a float result may be from the exact one, in units of the last place of f32
 *   of floats   in f32, from a, b (inputs; for INPLACE b is the old y) and s (the scalar)
 *   of integers in T, which is int64_t, or uint64_t for u64 tensors; stored modulo 2 to the output's bits
 *   reference   the same in double; `whole` says that the tensors are integers
 */
/* clang-format off */
#define PTO_ELEMENTWISE_LIST(X)                                                                                        \
  X(fill, FILL, PTO_DTYPES_FLOAT, 0.5, s, 0, s)                                                                        \
  X(fill_int, FILL_INT, PTO_DTYPES_INTEGER, 0, 0, s, s)                                                                \
  X(add, BINARY, PTO_DTYPES_NUMBER, 0.5, a + b, PTO_WRAP(a, +, b), a + b)                                              \
  X(sub, BINARY, PTO_DTYPES_NUMBER, 0.5, a - b, PTO_WRAP(a, -, b), a - b)                                              \
  X(mul, BINARY, PTO_DTYPES_NUMBER, 0.5, a * b, PTO_WRAP(a, *, b), a * b)                                              \
  X(div, BINARY, PTO_DTYPES_NUMBER, 0.5, a / b, PTO_DIVIDE(a, b), divide(a, b, whole))                                 \
  X(maximum, BINARY, PTO_DTYPES_NUMBER, 0.5, maximum_f32(a, b), a > b ? a : b, maximum(a, b))                          \
  X(minimum, BINARY, PTO_DTYPES_NUMBER, 0.5, minimum_f32(a, b), a < b ? a : b, minimum(a, b))                          \
  X(add_scalar, SCALED, PTO_DTYPES_FLOAT, 0.5, a + s, 0, a + s)                                                        \
  X(mul_scalar, SCALED, PTO_DTYPES_FLOAT, 0.5, a * s, 0, a * s)                                                        \
  X(add_scalar_int, SCALED_INT, PTO_DTYPES_INTEGER, 0, 0, PTO_WRAP(a, +, s), a + s)                                    \
  X(mul_scalar_int, SCALED_INT, PTO_DTYPES_INTEGER, 0, 0, PTO_WRAP(a, *, s), a * s)                                    \
  X(add_inplace, INPLACE, PTO_DTYPES_NUMBER, 0.5, b + a, PTO_WRAP(b, +, a), b + a)                                     \
  X(cast, UNARY, PTO_DTYPES_FLOAT, 0.5, a, 0, a)                                                                       \
  X(neg, UNARY, PTO_DTYPES_NUMBER, 0.5, -a, PTO_WRAP(0, -, a), -a)                                                     \
  X(relu, UNARY, PTO_DTYPES_NUMBER, 0.5, a < 0 ? 0 : a, a > 0 ? a : 0, a < 0 ? 0 : a)                                  \
  X(exp, UNARY, PTO_DTYPES_FLOAT, 0.51, exp_f32(a), 0, exp(a))                                                         \
  X(log, UNARY, PTO_DTYPES_FLOAT, 0.51, log_f32(a), 0, log(a))                                                         \
  X(sqrt, UNARY, PTO_DTYPES_FLOAT, 0.5, __builtin_sqrtf(a), 0, sqrt(a))
/* clang-format on */

/* X(name) */
#define PTO_OTHER_LIST(X)                                                                                              \
  X(copy)                                                                                                              \
  X(transpose)                                                                                                         \
  X(gather)                                                                                                            \
  X(gather_elements)                                                                                                   \
  X(gather_nd)                                                                                                         \
  X(scatter_elements)                                                                                                  \
  X(scatter_elements_inplace)                                                                                          \
  X(scatter_nd)                                                                                                        \
  X(scatter_nd_inplace)                                                                                                \
  X(pad)                                                                                                               \
  X(tile)                                                                                                              \
  X(reverse)                                                                                                           \
  X(triangular)                                                                                                        \
  X(rope)                                                                                                              \
  X(rope_positions)                                                                                                    \
  X(quantize_linear)                                                                                                   \
  X(dequantize_linear)                                                                                                 \
  X(matmul)                                                                                                            \
  X(matmul_accumulate)                                                                                                 \
  X(qk)                                                                                                                \
  X(softmax_prepare)                                                                                                   \
  X(pv)                                                                                                                \
  X(online_update)

/* Every kernel, in the order of pto_kernel_at. */
#define PTO_KERNEL_LIST(X) PTO_ELEMENTWISE_LIST(X) PTO_OTHER_LIST(X)

#define X(name, ...) extern const struct pto_kernel pto_general_##name;
PTO_KERNEL_LIST(X)
#undef X

/* The elementwise operations by number: PTO_OP_add … */
enum pto_op {
#define X(name, ...) PTO_OP_##name,
  PTO_ELEMENTWISE_LIST(X)
#undef X
      PTO_OP_COUNT
};

#endif
