/* SPDX-License-Identifier: MIT */
/*
 * What the rest of the runtime needs of tensors beyond the public header: the constructor behind the public
 * constructors, invalid tensors with their reasons, and the check that every parameter of every submit passes.
 *
 * Always true of a tensor that pto_tensor_check accepts: rank ≤ PTO_MAX_DIMS, a known dtype and overlap mode, the
 * product of the shape and all sums of (extent − 1) · stride fit, base + size_bytes and size_bytes are below
 * PTO_ADDRESS_LIMIT, the base is aligned to the element size, the last byte lies inside the buffer, and 4-bit tensors
 * are contiguous from a byte boundary on.
 *
 * Values only, no allocation, any thread.  A new reason is a line in PTO_TENSOR_REASON_LIST.
 */
#ifndef PTO_TENSOR_MAKE_H
#define PTO_TENSOR_MAKE_H

#include <pto/tensor.h>
#include <runtime/base/base.h>
#include <runtime/base/dtype.h>

/* Bytes are addressed below 2^62, so that sums and differences of two addresses or sizes fit 64 signed bits.  (Linux on
 * 64-bit machines gives programs at most 2^56.) */
#define PTO_ADDRESS_LIMIT (UINT64_C(1) << 62)

/* log2 of each dtype's size, two bits each, in the order of PTO_DTYPE_LIST (dtype.c asserts that they agree). */
#define PTO_DTYPE_SHIFTS UINT64_C(0x1bd066)
#define PTO_DTYPE_SHIFT(dtype) ((uint32_t)(PTO_DTYPE_SHIFTS >> ((dtype)*2u)) & 3u)

/* pto_dtype_size as a shift; `dtype` is a known one. */
static inline uint32_t pto_dtype_shift(uint32_t dtype) { return PTO_DTYPE_SHIFT(dtype); }

/* Who refused: the first word of the sentence.  X(constant, word) */
#define PTO_TENSOR_MAKER_LIST(X)                                                                                       \
  X(PTO_MAKER_TENSOR, "tensor")                                                                                        \
  X(PTO_MAKER_BUFFER, "buffer")                                                                                        \
  X(PTO_MAKER_EXTERNAL, "external tensor")                                                                             \
  X(PTO_MAKER_MANAGED, "managed tensor")                                                                               \
  X(PTO_MAKER_VIEW, "view")                                                                                            \
  X(PTO_MAKER_SLICE, "slice")                                                                                          \
  X(PTO_MAKER_PERMUTE, "permute")                                                                                      \
  X(PTO_MAKER_TRANSPOSE, "transpose")                                                                                  \
  X(PTO_MAKER_RESHAPE, "reshape")                                                                                      \
  X(PTO_MAKER_BROADCAST, "broadcast")                                                                                  \
  X(PTO_MAKER_REINTERPRET, "reinterpret")                                                                              \
  X(PTO_MAKER_WITH_OVERLAP, "with_overlap")                                                                            \
  X(PTO_MAKER_DLPACK, "tensor of DLPack")                                                                              \
  X(PTO_MAKER_COMM, "window")

enum pto_tensor_maker {
#define X(constant, word) constant,
  PTO_TENSOR_MAKER_LIST(X)
#undef X
      PTO_MAKER_COUNT
};

/* Why a tensor is invalid.  X(constant, status, sentence)
 * In the sentence %u takes the next value as a number, %x as an address, %t as a dtype, %l as the length of a list
 * whose items follow. */
#define PTO_TENSOR_REASON_LIST(X)                                                                                      \
  X(PTO_REASON_STATUS, PTO_EINVAL, "status %u is none of a tensor")                                                    \
  X(PTO_REASON_NO_TENSOR, PTO_EINVAL, "no tensor given")                                                               \
  X(PTO_REASON_NO_LIST, PTO_EINVAL, "no list of %u numbers given")                                                     \
  X(PTO_REASON_RANK, PTO_EINVAL, "rank %u exceeds %u")                                                                 \
  X(PTO_REASON_DTYPE, PTO_EINVAL, "%u is no dtype")                                                                    \
  X(PTO_REASON_OVERLAP_MODE, PTO_EINVAL, "%u is no overlap mode")                                                      \
  X(PTO_REASON_COUNT, PTO_EINVAL, "shape %l has more than 2^64 - 1 elements")                                          \
  X(PTO_REASON_BYTES, PTO_EINVAL, "shape %l of %t has 2^62 bytes or more")                                             \
  X(PTO_REASON_EXTENT, PTO_EINVAL, "dimension %u: extent %u with stride %u overflows")                                 \
  X(PTO_REASON_OUTSIDE, PTO_EINVAL, "needs %u bytes, its buffer has %u")                                               \
  X(PTO_REASON_OFFSET, PTO_EINVAL, "offset %u %t lies outside its buffer of %u bytes")                                 \
  X(PTO_REASON_MISALIGNED, PTO_EINVAL, "address %x is not aligned to the %u bytes of %t")                              \
  X(PTO_REASON_ADDRESS, PTO_EINVAL, "%u bytes at address %x reach beyond 2^62")                                        \
  X(PTO_REASON_FOUR_BIT, PTO_EINVAL,                                                                                   \
    "%t holds two elements a byte: shape %l has to be contiguous from a whole byte on")                                \
  X(PTO_REASON_VIEW_RANGE, PTO_EINVAL, "dimension %u: offset %u + extent %u exceeds %u")                               \
  X(PTO_REASON_DIMENSION, PTO_EINVAL, "dimension %u of a tensor of rank %u")                                           \
  X(PTO_REASON_STEP, PTO_EINVAL, "dimension %u: step 0")                                                               \
  X(PTO_REASON_SLICE_RANGE, PTO_EINVAL, "dimension %u: start %u, end %u do not lie in order within 0 … %u")            \
  X(PTO_REASON_ORDER, PTO_EINVAL, "order %l is no permutation")                                                        \
  X(PTO_REASON_RESHAPE_COUNT, PTO_EINVAL, "shape %l has %u elements, the tensor has %u")                               \
  X(PTO_REASON_RESHAPE_GAPS, PTO_EINVAL, "shape %l is not contiguous: dimension %u has stride %u, not %u")             \
  X(PTO_REASON_BROADCAST_RANK, PTO_EINVAL, "rank %u is less than the tensor's %u")                                     \
  X(PTO_REASON_BROADCAST_EXTENT, PTO_EINVAL, "dimension %u: extent %u cannot become %u")                               \
  X(PTO_REASON_SCALAR_SIZE, PTO_EINVAL, "a scalar of %t has %u bits, %t has %u")                                       \
  X(PTO_REASON_INNERMOST, PTO_EINVAL, "innermost stride is %u, not 1")                                                 \
  X(PTO_REASON_INNERMOST_BYTES, PTO_EINVAL, "innermost extent: %u %t are no whole number of %t")                       \
  X(PTO_REASON_STRIDE_BYTES, PTO_EINVAL, "dimension %u: a stride of %u %t is no whole number of %t")                   \
  X(PTO_REASON_OFFSET_BYTES, PTO_EINVAL, "an offset of %u %t is no whole number of %t")                                \
  X(PTO_REASON_NULL_ADDRESS, PTO_EINVAL, "the address is NULL")                                                        \
  X(PTO_REASON_OWN_MEMORY, PTO_EINVAL, "%u bytes at address %x intersect the runtime's own memory")                    \
  X(PTO_REASON_BUFFER_SIZE, PTO_EINVAL, "%u bytes are no size of a buffer")                                            \
  X(PTO_REASON_BUFFER_STALE, PTO_ESTALE, "buffer %u is used after its life")                                           \
  X(PTO_REASON_BUFFER_FOREIGN, PTO_ESTALE, "buffer %u is not of this runtime")                                         \
  X(PTO_REASON_BUFFER_COUNT, PTO_ECAPACITY, "all %u buffers are in use")                                               \
  X(PTO_REASON_DEVICE, PTO_EINVAL, "device type %u is not the CPU, which is 1")                                        \
  X(PTO_REASON_DLPACK_TYPE, PTO_EINVAL, "elements of type code %u, %u bits and %u lanes are no dtype")                 \
  X(PTO_REASON_NEGATIVE_STRIDE, PTO_EINVAL, "dimension %u: a stride of -%u goes backward")                             \
  X(PTO_REASON_NO_COMM, PTO_EINVAL, "this rank has no comm %u")                                                        \
  X(PTO_REASON_PEER, PTO_EINVAL, "peer %u of comm %u, which has %u; a peer is a place in it, not a rank")              \
  X(PTO_REASON_WINDOW, PTO_EINVAL, "%u bytes asked of comm %u, whose windows have %u")

enum pto_tensor_reason {
#define X(constant, status, sentence) constant,
  PTO_TENSOR_REASON_LIST(X)
#undef X
      PTO_REASON_COUNT_OF
};

/* An invalid tensor keeps what it was refused for in the fields that it has no other use for:
 *   start_offset  enum pto_tensor_reason      version  enum pto_tensor_maker      shape, strides  the values, in order
 *   ndims 0, dtype 0, status of the reason. */
#define PTO_TENSOR_REASON_VALUES (2 * PTO_MAX_DIMS)

struct pto_tensor pto_tensor_invalid_values(enum pto_tensor_maker maker, enum pto_tensor_reason reason, uint32_t count,
                                            const uint64_t *values);
/* pto_tensor_invalid(PTO_MAKER_VIEW, PTO_REASON_VIEW_RANGE, dim, offset, extent, shape): the values that the sentence
 * takes; a 0 where it takes none. */
#define pto_tensor_invalid(maker, reason, ...)                                                                         \
  pto_tensor_invalid_values((maker), (reason), (uint32_t)PTO_ARRAY_LENGTH(((const uint64_t[]){__VA_ARGS__})),          \
                            (const uint64_t[]){__VA_ARGS__})

/* Row-major tensor at the first byte of `buffer`, or an invalid one (rank, dtype, overflow, larger than the buffer,
 * misaligned base, addresses beyond the limit).  `shape` may be NULL for ndims 0. */
struct pto_tensor pto_tensor_dense(struct pto_buffer buffer, uint32_t dtype, uint32_t ndims, const uint64_t *shape);

/* Bytes of a dense tensor of that shape; false where it is none (rank, dtype, overflow, PTO_ADDRESS_LIMIT).  For
 * constructors that make the buffer from the shape; pto_tensor_dense says in words what was wrong. */
bool pto_tensor_dense_bytes(uint32_t dtype, uint32_t ndims, const uint64_t *shape, uint64_t *bytes);

/* The invalid tensor that says why pto_tensor_check refuses `t` (may be NULL): `t` itself where it was made invalid,
 * else a new one for the fields that were filled in by hand.  A valid tensor comes back as it is. */
struct pto_tensor pto_tensor_refused(const struct pto_tensor *t, enum pto_tensor_maker maker);

/* No element: touches no byte, whatever else it says.  For tensors that pto_tensor_check accepts. */
static inline bool pto_tensor_is_empty(const struct pto_tensor *t) {
  for (uint32_t i = 0; i < t->ndims; i++)
    if (t->shape[i] == 0) return true;
  return false;
}

/* The rest of pto_tensor_check: empty, 4-bit and very large tensors, and whatever is about to be refused. */
int pto_tensor_check_rare(const struct pto_tensor *t);

/* True for a tensor that is valid and neither empty, 4-bit nor very large.  The submit path's check.
 * Extents, strides and offset below 2^30 and counts below 2^34 cannot overflow here, with up to 8 dimensions; larger
 * ones take the long way.  An extent of 0 wraps round to a huge one, and its count is 0. */
static inline bool pto_tensor_is_usual(const struct pto_tensor *t) {
  if (PTO_UNLIKELY(t->status != PTO_OK || t->dtype >= PTO_INT4 || t->ndims > PTO_MAX_DIMS ||
                   t->overlap > PTO_OVERLAP_FUZZY))
    return false;
  const struct pto_buffer *b = &t->buffer;
  uint32_t shift = pto_dtype_shift(t->dtype);
  uint64_t last = t->start_offset, count = 1, any = last, large = 0;
  for (uint32_t i = 0; i < t->ndims; i++) {
    uint64_t extent = t->shape[i], stride = t->strides[i];
    any |= extent | stride;
    count *= extent;
    large |= count >> 34;
    last += (extent - 1) * stride;
  }
  uint64_t misaligned = b->base & ((UINT64_C(1) << shift) - 1);
  uint64_t beyond = (b->base | b->size_bytes) & ~(PTO_ADDRESS_LIMIT - 1);
  bool is_rare = (any >> 30 | large | misaligned | beyond) != 0;
  return !(is_rare | (count == 0) | (last >= b->size_bytes >> shift));
}

/* PTO_OK, or the status for which the tensor is refused: pto_tensor_status, inlined. */
static inline int pto_tensor_check(const struct pto_tensor *t) {
  return PTO_LIKELY(pto_tensor_is_usual(t)) ? PTO_OK : pto_tensor_check_rare(t);
}

#endif
