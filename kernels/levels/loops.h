/* SPDX-License-Identifier: MIT */
/*
 * The innermost loops: operations on contiguous elements, and the loads, stores and casts that bring elements of any
 * dtype and stride into that form.
 *
 * Arithmetic is done in a class: f32 for all floats, and for each integer dtype its own type, so that contiguous f32
 * and integers are worked on where they lie.  Each set of loops is compiled for one instruction set of
 * kernels/levels/level.h, in a file of its own.  No multiply and add is fused but where no bit shows it, and
 * conversions by an instruction are those whose every bit, NaN payloads included, equals the portable one's: every set
 * gives the same bytes.  Functions of whole vectors (kernels/levels/math.inc) are one text for all sets as well.
 *
 * To add an operation, see kernels/api/list.h; to add an instruction set, kernels/levels/level.h and a file beside
 * kernels/levels/loops_avx2.c.  Owns constant tables; any thread.
 */
#ifndef PTO_KERNELS_LEVELS_LOOPS_H
#define PTO_KERNELS_LEVELS_LOOPS_H

#include <kernels/levels/level.h>
#include <kernels/api/list.h>

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

/* The dtypes that are computed in each; a dtype that is in none does not compile. */
#define PTO_CLASS_DTYPES_F32 (PTO_DTYPES_FLOAT | PTO_DTYPES_SMALL_FLOAT)
#define PTO_CLASS_DTYPES_I64 PTO_DTYPE_BIT(PTO_INT64)
#define PTO_CLASS_DTYPES_U64 PTO_DTYPE_BIT(PTO_UINT64)
#define PTO_CLASS_DTYPES_I8 (PTO_DTYPE_BIT(PTO_INT8) | PTO_DTYPE_BIT(PTO_INT4))
#define PTO_CLASS_DTYPES_I16 PTO_DTYPE_BIT(PTO_INT16)
#define PTO_CLASS_DTYPES_I32 PTO_DTYPE_BIT(PTO_INT32)
#define PTO_CLASS_DTYPES_U8 (PTO_DTYPE_BIT(PTO_UINT8) | PTO_DTYPE_BIT(PTO_UINT4))
#define PTO_CLASS_DTYPES_U16 PTO_DTYPE_BIT(PTO_UINT16)
#define PTO_CLASS_DTYPES_U32 PTO_DTYPE_BIT(PTO_UINT32)
#define PTO_CLASS_DTYPES_BOOL PTO_DTYPE_BIT(PTO_BOOL)

#define X(constant, ...) | PTO_CLASS_DTYPES_##constant
_Static_assert((PTO_CLASS_DTYPES_F32 PTO_INTEGER_CLASS_LIST(X)) == PTO_DTYPES_ALL, "every dtype has a class");
#undef X

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

/* Which class holds elements of which dtype, and the suffix of the loops that load and store them so.
 * X(class, dtype, suffix) */
#define PTO_MOVE_LIST(X)                                                                                               \
  X(F32, FLOAT32, 4)                                                                                                   \
  X(F32, FLOAT16, fp16)                                                                                                \
  X(F32, BFLOAT16, bf16)                                                                                               \
  X(F32, FLOAT8_E4M3FN, e4m3)                                                                                          \
  X(F32, FLOAT8_E5M2, e5m2)                                                                                            \
  X(F32, FLOAT8_E8M0FNU, e8m0)                                                                                         \
  X(F32, FLOAT4_E2M1FN, e2m1)                                                                                          \
  PTO_MOVES_OF_ALL_INTEGERS(X, I64)                                                                                    \
  PTO_MOVES_OF_ALL_INTEGERS(X, U64)                                                                                    \
  X(I8, INT8, 1)                                                                                                       \
  X(I8, INT4, i4)                                                                                                      \
  X(I16, INT16, 2)                                                                                                     \
  X(I32, INT32, 4)                                                                                                     \
  X(BOOL, BOOL, 1)                                                                                                     \
  X(U8, UINT8, 1)                                                                                                      \
  X(U8, INT8, 1)                                                                                                       \
  X(U8, BOOL, 1)                                                                                                       \
  X(U8, UINT4, u4)                                                                                                     \
  X(U8, FLOAT8_E4M3FN, 1)                                                                                              \
  X(U8, FLOAT8_E5M2, 1)                                                                                                \
  X(U8, FLOAT8_E8M0FNU, 1)                                                                                             \
  X(U8, FLOAT4_E2M1FN, u4)                                                                                             \
  X(U16, UINT16, 2)                                                                                                    \
  X(U16, INT16, 2)                                                                                                     \
  X(U16, FLOAT16, 2)                                                                                                   \
  X(U16, BFLOAT16, 2)                                                                                                  \
  X(U32, UINT32, 4)                                                                                                    \
  X(U32, INT32, 4)                                                                                                     \
  X(U32, FLOAT32, 4)
/* An unsigned value below 2^63 is the same bits in both classes of 64 bits, and so is what is stored of it. */
#define PTO_MOVES_OF_ALL_INTEGERS(X, class_)                                                                           \
  X(class_, INT8, wide_i8)                                                                                             \
  X(class_, INT16, wide_i16)                                                                                           \
  X(class_, INT32, wide_i32)                                                                                           \
  X(class_, INT64, 8)                                                                                                  \
  X(class_, UINT8, wide_u8)                                                                                            \
  X(class_, UINT16, wide_u16)                                                                                          \
  X(class_, UINT32, wide_u32)                                                                                          \
  X(class_, UINT64, 8)

#define X(class_, dtype, suffix) | (PTO_DTYPE_BIT(PTO_##dtype) & (PTO_CLASS_DTYPES_##class_))
_Static_assert((0 PTO_MOVE_LIST(X)) == PTO_DTYPES_ALL, "the class of every dtype holds it");
#undef X

/* Contiguous elements of a class.  `out` may be the same address as an input, and else overlaps none.  For SELECT `a`
 * is of class BOOL, for COMPARE and PREDICATE `out`. */
struct pto_chunk {
  uint64_t count;
  const void *a, *b, *c;
  void *out;
  union pto_scalar scalar, scalar2;
};

/* out[i] = the operation on a[i], b[i], c[i] and the scalars. */
typedef void pto_op_loop(const struct pto_chunk *chunk);
/* buffer[i] = the element at addr + i · step_bytes, for i < count. */
typedef void pto_load_loop(void *buffer, const char *addr, uint64_t step_bytes, uint64_t count);
/* The element at addr + i · step_bytes = buffer[i], rounded to nearest even, integers modulo 2 to their bits; small
 * floats saturate. */
typedef void pto_store_loop(const void *buffer, char *addr, uint64_t step_bytes, uint64_t count);
/* to[i] = from[i] as docs/numerics.md says of casts; different memory. */
typedef void pto_cast_loop(void *to, const void *from, uint64_t count);
struct pto_loops {
  const char *name;
  pto_op_loop *op[PTO_OP_COUNT][PTO_CLASS_COUNT]; /* NULL: the operation takes no dtype of that class */
  /* NULL: that class does not hold that dtype.  F32 holds the floats, I64 and U64 all integers of whole bytes, each
   * class its own dtypes, and the unsigned ones whatever has their size, as bits.  The 4-bit ones lie two a byte, the
   * low bits first, from addr on; step_bytes has no meaning there, and of the last byte only the bits of elements are
   * written. */
  pto_load_loop *load[PTO_CLASS_COUNT][PTO_DTYPE_COUNT];
  pto_store_loop *store[PTO_CLASS_COUNT][PTO_DTYPE_COUNT];
  pto_cast_loop *cast[PTO_CLASS_COUNT][PTO_CAST_COUNT];
};

/* The fastest loops that this processor can run. */
const struct pto_loops *pto_loops_best(void);
/* For tests: each set that this processor can run, from the plainest up; NULL past the end. */
const struct pto_loops *pto_loops_at(uint32_t index);

/* The class that a dtype is computed in, and which holds all its values. */
enum pto_class pto_class_of(uint32_t dtype);
/* The dtype that has the class's own representation. */
uint32_t pto_class_dtype(enum pto_class class_);

#endif
