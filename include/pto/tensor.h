/* SPDX-License-Identifier: MIT */
/*
 * Tensor descriptors: values that say which bytes of a buffer are meant, and as what.
 *
 * A descriptor denotes the bytes
 *     address + (start_offset + Σ index[i]·strides[i]) · element size + k,
 *     0 ≤ index[i] < shape[i],  0 ≤ k < element size.
 * Shape, strides and offset count elements; the outermost dimension comes first.  The dtypes of 4 bits hold two
 * elements a byte, low nibble first, and may only be dense.
 *
 * Always true of a descriptor with status PTO_OK: ndims ≤ PTO_MAX_DIMS, no product overflows, the byte set lies inside
 * buffer.size_bytes, its address is aligned to the element size, and addresses and sizes are below 2^62.  A constructor
 * or view that is asked for something impossible returns an *invalid* tensor: its status is negative, and it remembers
 * the reason with its values (pto_tensor_explain); views of an invalid tensor stay invalid for the first reason, and
 * every call that takes it refuses it with that reason.
 *
 * Threads: the three calls that take a runtime are for its control thread and may end its run, when a table is full;
 * any thread may call the others.  Nothing here allocates; descriptors are copied by assignment and own nothing.
 * A tensor with a 0 in its shape is empty: legal, touches no byte.
 */
#ifndef PTO_TENSOR_H
#define PTO_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pto/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pto_runtime;

#define PTO_MAX_DIMS 8

/* X(enum constant, value, name, bits, C-like class: 'f' float, 'i' signed, 'u' unsigned, 'b' bool, 's' small float: one
 * that is stored, cast, scaled and multiplied by blocks, and that nothing else computes with).  Those of 4 bits stay
 * last. */
#define PTO_DTYPE_LIST(X)                                                                                              \
  X(PTO_FLOAT32, 0, "f32", 32, 'f')                                                                                    \
  X(PTO_FLOAT16, 1, "fp16", 16, 'f')                                                                                   \
  X(PTO_INT32, 2, "i32", 32, 'i')                                                                                      \
  X(PTO_INT16, 3, "i16", 16, 'i')                                                                                      \
  X(PTO_INT8, 4, "i8", 8, 'i')                                                                                         \
  X(PTO_UINT8, 5, "u8", 8, 'u')                                                                                        \
  X(PTO_BFLOAT16, 6, "bf16", 16, 'f')                                                                                  \
  X(PTO_INT64, 7, "i64", 64, 'i')                                                                                      \
  X(PTO_UINT64, 8, "u64", 64, 'u')                                                                                     \
  X(PTO_UINT32, 9, "u32", 32, 'u')                                                                                     \
  X(PTO_UINT16, 10, "u16", 16, 'u')                                                                                    \
  X(PTO_BOOL, 11, "bool", 8, 'b')                                                                                      \
  X(PTO_FLOAT8_E4M3FN, 12, "f8e4m3fn", 8, 's')                                                                         \
  X(PTO_FLOAT8_E5M2, 13, "f8e5m2", 8, 's')                                                                             \
  X(PTO_FLOAT8_E8M0FNU, 14, "f8e8m0fnu", 8, 's')                                                                       \
  X(PTO_INT4, 15, "i4", 4, 'i')                                                                                        \
  X(PTO_UINT4, 16, "u4", 4, 'u')                                                                                       \
  X(PTO_FLOAT4_E2M1FN, 17, "f4e2m1fn", 4, 's')

enum pto_dtype {
#define X(constant, value, name, bits, class_) constant = value,
  PTO_DTYPE_LIST(X)
#undef X
      PTO_DTYPE_COUNT = 18
};

/* A set of dtypes, one bit each: PTO_DTYPE_BIT(PTO_FLOAT32) | PTO_DTYPE_BIT(PTO_INT32). */
#define PTO_DTYPE_BIT(dtype) (1u << (dtype))
#define PTO_DTYPES_ALL ((1u << PTO_DTYPE_COUNT) - 1u)
#define PTO_DTYPES_FLOAT (PTO_DTYPE_BIT(PTO_FLOAT32) | PTO_DTYPE_BIT(PTO_FLOAT16) | PTO_DTYPE_BIT(PTO_BFLOAT16))
#define PTO_DTYPES_SMALL_FLOAT                                                                                         \
  (PTO_DTYPE_BIT(PTO_FLOAT8_E4M3FN) | PTO_DTYPE_BIT(PTO_FLOAT8_E5M2) | PTO_DTYPE_BIT(PTO_FLOAT8_E8M0FNU) |             \
   PTO_DTYPE_BIT(PTO_FLOAT4_E2M1FN))

/* Bytes of one stored unit: 4, 2, 8, 1; the 4-bit types answer 1, the byte that holds two of them.  0 for a value
 * that is no dtype. */
PTO_API uint64_t pto_dtype_size(uint32_t dtype);
PTO_API uint32_t pto_dtype_bits(uint32_t dtype);
/* "f32"; "?" for a value that is no dtype.  A static string. */
PTO_API const char *pto_dtype_name(uint32_t dtype);
/* The dtype called `name` ("f32", also "float32", "int8", "bfloat16", …), or -1. */
PTO_API int pto_dtype_from_name(const char *name);

/* IEEE 754 binary16 and bfloat16 in software.  To the narrow type: round to nearest, ties to even; overflow gives ∞;
 * subnormals are kept; NaN stays NaN (quiet, its upper payload bits kept). */
PTO_API float pto_fp16_to_f32(uint16_t bits);
PTO_API uint16_t pto_fp16_from_f32(float value);
PTO_API float pto_bf16_to_f32(uint16_t bits);
PTO_API uint16_t pto_bf16_from_f32(float value);

/* The same of the dtypes of class 's', an element's code in the low bits.  As the OCP 8-bit floating point and
 * microscaling specifications define them:
 *   f8e4m3fn   sign, 4 bits of exponent, 3 of mantissa: up to 448, no ∞, NaN 0x7f and 0xff
 *   f8e5m2     sign, 5, 2: up to 57344, with ∞ and NaN as IEEE 754 has them
 *   f8e8m0fnu  2^(code − 127), NaN 0xff: no sign, no 0
 *   f4e2m1fn   sign, 2, 1: 0, 0.5, 1, 1.5, 2, 3, 4, 6; neither ∞ nor NaN
 * To the small type: round to nearest, ties to even (f8e8m0fnu: to the larger); what is beyond the largest, ∞ too,
 * gives the largest with its sign, as ONNX's Cast and the hardware's conversion do unless they are asked not to.  NaN
 * stays NaN with its sign, in f4e2m1fn it is 6.  f8e8m0fnu: what is below 2^-127, and 0, is 2^-127; a number below 0 is
 * NaN. 0 for another dtype. */
PTO_API float pto_small_float_to_f32(uint32_t dtype, uint8_t code);
PTO_API uint8_t pto_small_float_from_f32(uint32_t dtype, float value);

/* Which memory.  Made by pto_create_buffer and by the external constructors; never filled in by hand. */
struct pto_buffer {
  uint64_t id;
  uint64_t generation;
  uint64_t base; /* address of external memory; 0: managed by the runtime */
  uint64_t size_bytes;
};

enum pto_overlap_mode { PTO_OVERLAP_EXACT = 0, PTO_OVERLAP_FUZZY = 1 };

struct pto_tensor {
  struct pto_buffer buffer;
  uint64_t start_offset; /* elements from the buffer's first byte */
  uint32_t ndims;
  uint32_t dtype;
  uint64_t shape[PTO_MAX_DIMS];
  uint64_t strides[PTO_MAX_DIMS];
  int32_t version;  /* state of the buffer that is meant; a submit checks it; no part of overlap */
  uint32_t overlap; /* enum pto_overlap_mode */
  int32_t status;   /* PTO_OK, or why the tensor is invalid */
};

/* A buffer identity of `size_bytes` in `rt`; it gets memory at its first write.  It lives in the current scope until a
 * task first writes it, and then in that task's scope.  On failure its tensors are invalid and say why. */
PTO_API struct pto_buffer pto_create_buffer(struct pto_runtime *rt, uint64_t size_bytes);

/* Dense tensor over the caller's memory at `addr`, registered with `rt` until the current scope ends (made outside a
 * run: until the runtime is destroyed).  The memory stays the caller's and must last until the run ends.  Registrations
 * whose ranges intersect are one memory, but under PTO_DEPS_PTO only those that begin at one address are.  Invalid with
 * PTO_EINVAL where addr is NULL (unless the tensor is empty) or misaligned for `dtype`, the size overflows, or the
 * range intersects the runtime's own memory. */
PTO_API struct pto_tensor pto_external_tensor(struct pto_runtime *rt, void *addr, uint32_t dtype, uint32_t ndims,
                                              const uint64_t *shape);

/* Dense tensor at the start of a buffer of pto_create_buffer.  Invalid where it does not fit the buffer. */
PTO_API struct pto_tensor pto_managed_tensor(struct pto_runtime *rt, struct pto_buffer buffer, uint32_t dtype,
                                             uint32_t ndims, const uint64_t *shape);

/* The sub-box offsets[i] ≤ index[i] < offsets[i] + shape[i]; strides are kept, the rank too. */
PTO_API struct pto_tensor pto_tensor_view(const struct pto_tensor *t, const uint64_t *offsets, const uint64_t *shape);
/* Indices start, start + step, … below `end` of dimension `dim`; step ≥ 1, start ≤ end ≤ shape[dim]. */
PTO_API struct pto_tensor pto_tensor_slice(const struct pto_tensor *t, uint32_t dim, uint64_t start, uint64_t end,
                                           uint64_t step);
/* Dimension i of the result is dimension order[i] of `t`; `order` is a permutation of 0 … ndims − 1. */
PTO_API struct pto_tensor pto_tensor_permute(const struct pto_tensor *t, const uint32_t *order);
PTO_API struct pto_tensor pto_tensor_transpose(const struct pto_tensor *t, uint32_t dim_a, uint32_t dim_b);
/* The same elements in row-major order under another shape; contiguous tensors of equal element count only. */
PTO_API struct pto_tensor pto_tensor_reshape(const struct pto_tensor *t, uint32_t ndims, const uint64_t *shape);
/* NumPy's rule, aligned at the innermost dimension: an extent of 1, or a missing one, repeats with stride 0.  Elements
 * then share bytes: such a tensor may be read, not written. */
PTO_API struct pto_tensor pto_tensor_broadcast(const struct pto_tensor *t, uint32_t ndims, const uint64_t *shape);
/* The same bytes as another dtype: innermost dimension contiguous, its bytes and every other stride and the offset
 * divisible by the new size.  A rank-0 tensor keeps its rank and needs equal sizes. */
PTO_API struct pto_tensor pto_tensor_reinterpret(const struct pto_tensor *t, uint32_t dtype);
PTO_API struct pto_tensor pto_tensor_with_version(const struct pto_tensor *t, int32_t version);
PTO_API struct pto_tensor pto_tensor_with_overlap(const struct pto_tensor *t, uint32_t overlap_mode);

/* PTO_OK where every rule above holds (fields filled in by hand included), else the negative reason. */
PTO_API int pto_tensor_status(const struct pto_tensor *t);
/* Writes the sentence for an invalid tensor ("view: dimension 1: 8 + 8 exceeds 12"), "valid tensor" otherwise.
 * Truncates to `size`; returns the length that the whole sentence has, as snprintf does. */
PTO_API int pto_tensor_explain(const struct pto_tensor *t, char *text, size_t size);
/* "buffer 5 f32[64,512] strides [512,1] offset 0 v0": for messages; parsed back by pto_tensor_parse. */
PTO_API int pto_tensor_format(const struct pto_tensor *t, char *text, size_t size);
/* Reads what pto_tensor_format wrote, but for the buffer, which the caller supplies.  PTO_OK or PTO_EINVAL. */
PTO_API int pto_tensor_parse(const char *text, struct pto_buffer buffer, struct pto_tensor *tensor);

PTO_API bool pto_tensor_is_contiguous(const struct pto_tensor *t); /* row-major without gaps; empty: true */
PTO_API uint64_t pto_tensor_numel(const struct pto_tensor *t);     /* product of the shape; rank 0: 1; invalid: 0 */

/* Relation of the two byte sets, whatever their dtype, rank or base address.  Exact for every descriptor that the
 * constructors and views can make.  Strides filled in by hand may exhaust a bounded budget: then PTO_PARTIAL, never
 * a wrong DISJOINT, EQUAL or COVERS.  If either side asks for PTO_OVERLAP_FUZZY, bounding ranges decide between
 * PTO_DISJOINT and PTO_PARTIAL.  Empty or invalid on either side: PTO_DISJOINT. */
enum pto_overlap { PTO_DISJOINT = 0, PTO_EQUAL, PTO_COVERS /* a ⊇ b */, PTO_COVERED /* a ⊆ b */, PTO_PARTIAL };
PTO_API enum pto_overlap pto_tensor_overlap(const struct pto_tensor *a, const struct pto_tensor *b);

#ifdef __cplusplus
}
#endif
#endif
