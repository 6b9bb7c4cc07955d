/* SPDX-License-Identifier: MIT */
/*
 * The innermost loops: operations on contiguous elements, and the loads, stores and casts that bring elements of any
 * dtype and stride into that form.
 *
 * Arithmetic is done in a class: f32 for all floats, and for each integer dtype its own type, so that contiguous f32
 * and integers are worked on where they lie.  Each set of loops is compiled for one instruction set of kernel_level.h,
 * in a file of its own.  No multiply and add is fused but where no bit shows it, and conversions by an instruction are
 * those whose every bit, NaN payloads included, equals the portable one's: every set gives the same bytes.  Functions
 * of whole vectors (lanes_math.inc) are one text for all sets as well.
 *
 * To add an operation, see kernel_list.h; to add an instruction set, kernel_level.h and a file beside
 * kernel_loops_avx2.c.  Owns constant tables; any thread.
 */
#ifndef PTO_KERNEL_LOOPS_H
#define PTO_KERNEL_LOOPS_H

#include <kernels/kernel_level.h>
#include <kernels/kernel_list.h>

/* X(constant's suffix, suffix of functions, T, U, smallest, largest, dtype)
 * U is unsigned and at least as wide as int; a bool is 0 or 1. */
#define PTO_INTEGER_CLASS_LIST(X)                                                                                      \
  X(I64, i64, int64_t, uint64_t, INT64_MIN, INT64_MAX, PTO_INT64)                                                      \
  X(U64, u64, uint64_t, uint64_t, 0, UINT64_MAX, PTO_UINT64)                                                           \
  X(I8, i8, int8_t, uint32_t, INT8_MIN, INT8_MAX, PTO_INT8)                                                            \
  X(I16, i16, int16_t, uint32_t, INT16_MIN, INT16_MAX, PTO_INT16)                                                      \
  X(I32, i32, int32_t, uint32_t, INT32_MIN, INT32_MAX, PTO_INT32)                                                      \
  X(U8, u8, uint8_t, uint32_t, 0, UINT8_MAX, PTO_UINT8)                                                                \
  X(U16, u16, uint16_t, uint32_t, 0, UINT16_MAX, PTO_UINT16)                                                           \
  X(U32, u32, uint32_t, uint32_t, 0, UINT32_MAX, PTO_UINT32)                                                           \
  X(BOOL, flag, uint8_t, uint32_t, 0, 1, PTO_BOOL)

/* The dtypes that are computed in each. */
#define PTO_CLASS_DTYPES_I64 PTO_DTYPE_BIT(PTO_INT64)
#define PTO_CLASS_DTYPES_U64 PTO_DTYPE_BIT(PTO_UINT64)
#define PTO_CLASS_DTYPES_I8 (PTO_DTYPE_BIT(PTO_INT8) | PTO_DTYPE_BIT(PTO_INT4))
#define PTO_CLASS_DTYPES_I16 PTO_DTYPE_BIT(PTO_INT16)
#define PTO_CLASS_DTYPES_I32 PTO_DTYPE_BIT(PTO_INT32)
#define PTO_CLASS_DTYPES_U8 (PTO_DTYPE_BIT(PTO_UINT8) | PTO_DTYPE_BIT(PTO_UINT4))
#define PTO_CLASS_DTYPES_U16 PTO_DTYPE_BIT(PTO_UINT16)
#define PTO_CLASS_DTYPES_U32 PTO_DTYPE_BIT(PTO_UINT32)
#define PTO_CLASS_DTYPES_BOOL PTO_DTYPE_BIT(PTO_BOOL)

enum pto_class {
  PTO_CLASS_F32,
#define X(constant, ...) PTO_CLASS_##constant,
  PTO_INTEGER_CLASS_LIST(X)
#undef X
      PTO_CLASS_COUNT,
  /* As a cast's target only: f32 rounded to odd, which a rounding to 16 bits after it makes one rounding. */
  PTO_CLASS_F32_ODD = PTO_CLASS_COUNT,
  PTO_CAST_COUNT
};

/* Contiguous elements of a class.  `out` may be the same address as an input, and else overlaps none.  For SELECT `a`
 * is of class BOOL, for COMPARE and PREDICATE `out`. */
struct pto_chunk {
  uint64_t count;
  const void *a, *b, *c;
  void *out;
  union pto_scalar scalar, scalar2;
  /* `out`, a multiple of 64 bytes, is written past the caches, if the loop is one of half_op; as by `stream`, but for
   * the elements behind the last whole vector. */
  bool is_past_caches;
};

/* out[i] = the operation on a[i], b[i], c[i] and the scalars. */
typedef void pto_op_loop(const struct pto_chunk *chunk);
/* buffer[i] = the element at addr + i · step_bytes, for i < count. */
typedef void pto_load_loop(void *buffer, const char *addr, uint64_t step_bytes, uint64_t count);
/* The element at addr + i · step_bytes = buffer[i], rounded to nearest even, integers modulo 2 to their bits. */
typedef void pto_store_loop(const void *buffer, char *addr, uint64_t step_bytes, uint64_t count);
/* to[i] = from[i] as docs/numerics.md says of casts; different memory. */
typedef void pto_cast_loop(void *to, const void *from, uint64_t count);
/* Copies past the caches to `to`, of any alignment; different memory.  Other threads may see it after stream_end. */
typedef void pto_stream_loop(void *to, const void *from, uint64_t size_bytes);

/* Partial sums of a row: element i goes to lane i mod 16, in order of i; a row may come in several calls, each but the
 * last of a multiple of 16 elements. */
#define PTO_SUM_LANES 16
typedef void pto_sum_loop(float lanes[PTO_SUM_LANES], const float *x, uint64_t count);
/* The largest of `x` and `start`; NaN where one of them is. */
typedef float pto_max_loop(float start, const float *x, uint64_t count);

/* Rows longer than this go the way of row_fold.h, which is as fast from here on. */
#define PTO_DENSE_ROW_LONGEST 128
/* `count` rows of `length` elements, 0 < length ≤ PTO_DENSE_ROW_LONGEST, one after the other; scale and bias are one
 * row each.  y may be x. */
struct pto_dense_rows {
  const float *x, *scale, *bias;
  float *y;
  uint64_t count, length;
  float eps;
};
/* A whole kernel on such rows, with the operations and the order of row_loops.h.  x, y and count are used up: a copy
 * would wait until `rows`, just written, is stored. */
typedef void pto_dense_rows_loop(struct pto_dense_rows *rows);

struct pto_loops {
  const char *name;
  pto_op_loop *op[PTO_OP_COUNT][PTO_CLASS_COUNT]; /* NULL: the operation takes no dtype of that class */
  /* On fp16 [0] and bf16 [1] as they are stored, or NULL, in every set alike: the same bits as through f32. */
  pto_op_loop *half_op[PTO_OP_COUNT][2];
  pto_op_loop *lookup; /* out[i] = b[a[i]], all uint16_t; b has 65536 elements */
  /* The same where b has the results of that operation of fp16 [0] and bf16 [1]: mostly computed.  NULL: no faster. */
  pto_op_loop *quick_lookup[PTO_OP_COUNT][2];
  /* NULL: that class does not hold that dtype.  F32 holds the floats, I64 and U64 all integers of whole bytes, each
   * class its own dtypes, and the unsigned ones whatever has their size, as bits.  The 4-bit ones lie two a byte, the
   * low bits first, from addr on; step_bytes has no meaning there, and of the last byte only the bits of elements are
   * written. */
  pto_load_loop *load[PTO_CLASS_COUNT][PTO_DTYPE_COUNT];
  pto_store_loop *store[PTO_CLASS_COUNT][PTO_DTYPE_COUNT];
  pto_cast_loop *cast[PTO_CLASS_COUNT][PTO_CAST_COUNT];
  pto_store_loop *stream_half[2]; /* as the stores of F32 to fp16 [0] and bf16 [1], side by side, past the caches */
  pto_stream_loop *stream;
  void (*stream_end)(void);
  pto_sum_loop *sum;
  pto_max_loop *max;
  pto_dense_rows_loop *softmax_rows, *layernorm_rows, *rmsnorm_rows; /* dense_rows.h says who calls them */
};

/* The fastest loops that this processor can run. */
const struct pto_loops *pto_loops_best(void);
/* For tests: each set that this processor can run, from the plainest up; NULL past the end. */
const struct pto_loops *pto_loops_at(uint32_t index);

/* The lanes added up, as a balanced tree. */
float pto_sum_lanes(const float lanes[PTO_SUM_LANES]);
/* The class that a dtype is computed in, and which holds all its values. */
enum pto_class pto_class_of(uint32_t dtype);
/* The dtype that has the class's own representation. */
uint32_t pto_class_dtype(enum pto_class class_);

#endif
