/* SPDX-License-Identifier: MIT */
#include <pto/dlpack.h>

#include <stdlib.h>

#include <runtime/tensor/tensor_make.h>

#define CPU 1 /* kDLCPU */

/* X(dtype, code of DLDataType): kDLInt 0, kDLUInt 1, kDLFloat 2, kDLBfloat 4, kDLBool 6, kDLFloat8_e4m3fn 10,
 * kDLFloat8_e5m2 12, kDLFloat8_e8m0fnu 14, kDLFloat4_e2m1fn 17 (dlpack.h, version 1.1) */
#define CODES(X)                                                                                                       \
  X(PTO_FLOAT32, 2)                                                                                                    \
  X(PTO_FLOAT16, 2)                                                                                                    \
  X(PTO_INT32, 0)                                                                                                      \
  X(PTO_INT16, 0)                                                                                                      \
  X(PTO_INT8, 0)                                                                                                       \
  X(PTO_UINT8, 1)                                                                                                      \
  X(PTO_BFLOAT16, 4)                                                                                                   \
  X(PTO_INT64, 0)                                                                                                      \
  X(PTO_UINT64, 1)                                                                                                     \
  X(PTO_UINT32, 1)                                                                                                     \
  X(PTO_UINT16, 1)                                                                                                     \
  X(PTO_BOOL, 6)                                                                                                       \
  X(PTO_FLOAT8_E4M3FN, 10)                                                                                             \
  X(PTO_FLOAT8_E5M2, 12)                                                                                               \
  X(PTO_FLOAT8_E8M0FNU, 14)                                                                                            \
  X(PTO_INT4, 0)                                                                                                       \
  X(PTO_UINT4, 1)                                                                                                      \
  X(PTO_FLOAT4_E2M1FN, 17)
static const uint8_t codes[PTO_DTYPE_COUNT] = {
#define X(dtype, code) [dtype] = code,
    CODES(X)
#undef X
};
#define X(dtype, code) | PTO_DTYPE_BIT(dtype)
_Static_assert((0u CODES(X)) == PTO_DTYPES_ALL, "a dtype more: its code goes here");
#undef X

/* PTO_DTYPE_COUNT: none. */
static uint32_t dtype_of(const struct pto_dlpack_tensor *shown) {
  uint32_t dtype = 0;
  while (dtype < PTO_DTYPE_COUNT && (codes[dtype] != shown->code || pto_dtype_bits(dtype) != shown->bits)) dtype++;
  return shown->lanes == 1 ? dtype : PTO_DTYPE_COUNT;
}

/* Elements from the first to the last, both counted; saturates. */
static uint64_t span_of(const struct pto_tensor *t) {
  uint64_t span = 1, step;
  for (uint32_t i = 0; i < t->ndims; i++) {
    if (t->shape[i] == 0) return 0;
    if (__builtin_mul_overflow(t->shape[i] - 1, t->strides[i], &step) || __builtin_add_overflow(span, step, &span))
      return UINT64_MAX;
  }
  return span;
}

struct pto_tensor pto_tensor_from_dlpack(struct pto_runtime *rt, const struct pto_dlpack_tensor *shown) {
  if (shown->device_type != CPU)
    return pto_tensor_invalid(PTO_MAKER_DLPACK, PTO_REASON_DEVICE, (uint32_t)shown->device_type);
  const uint32_t dtype = dtype_of(shown), ndims = (uint32_t)shown->ndim;
  if (dtype == PTO_DTYPE_COUNT)
    return pto_tensor_invalid(PTO_MAKER_DLPACK, PTO_REASON_DLPACK_TYPE, shown->code, shown->bits, shown->lanes);
  if (ndims > PTO_MAX_DIMS) return pto_tensor_invalid(PTO_MAKER_DLPACK, PTO_REASON_RANK, ndims, PTO_MAX_DIMS);
  if (ndims && !shown->shape) return pto_tensor_invalid(PTO_MAKER_DLPACK, PTO_REASON_NO_LIST, ndims);
  struct pto_tensor asked = {.ndims = ndims, .dtype = dtype};
  bool is_dense = true;
  uint64_t dense = 1;
  for (uint32_t i = ndims; i-- > 0;) {
    asked.shape[i] = (uint64_t)shown->shape[i];
    asked.strides[i] = shown->strides && shown->shape[i] != 1 ? (uint64_t)shown->strides[i] : dense;
    if (asked.strides[i] >> 63)
      return pto_tensor_invalid(PTO_MAKER_DLPACK, PTO_REASON_NEGATIVE_STRIDE, i, 0 - asked.strides[i]);
    is_dense = is_dense && asked.strides[i] == dense;
    dense *= asked.shape[i]; /* what overflows is refused below, dense or not */
  }
  void *addr = (void *)((uintptr_t)shown->data + shown->byte_offset);
  const uint64_t span = span_of(&asked);
  if (is_dense || !span) return pto_external_tensor(rt, addr, dtype, ndims, asked.shape);
  struct pto_tensor t = pto_external_tensor(rt, addr, dtype, 1, &span);
  if (t.status) return t;
  asked.buffer = t.buffer;
  return pto_tensor_refused(&asked, PTO_MAKER_DLPACK);
}

/* ---- shown to others ---- */

struct shown {
  struct pto_dlpack_managed managed;
  void (*release)(void *context);
  int64_t shape[PTO_MAX_DIMS], strides[PTO_MAX_DIMS];
};

static void delete_shown(struct pto_dlpack_managed *self) {
  struct shown *shown = (struct shown *)self;
  if (shown->release) shown->release(self->context);
  free(shown);
}
_Static_assert(offsetof(struct shown, managed) == 0, "one is found by the other's address");

int pto_tensor_to_dlpack(const struct pto_tensor *t, void (*release)(void *context), void *context,
                         struct pto_dlpack_managed **managed_out) {
  if (pto_tensor_check(t) || !t->buffer.base) return PTO_EINVAL;
  struct shown *shown = calloc(1, sizeof *shown);
  if (!shown) return PTO_ENOMEM;
  for (uint32_t i = 0; i < t->ndims; i++) {
    shown->shape[i] = (int64_t)t->shape[i];
    shown->strides[i] = (int64_t)t->strides[i];
  }
  const uint32_t bits = pto_dtype_bits(t->dtype);
  shown->release = release;
  shown->managed = (struct pto_dlpack_managed){.tensor = {.data = (void *)(uintptr_t)t->buffer.base,
                                                          .device_type = CPU,
                                                          .ndim = (int32_t)t->ndims,
                                                          .code = codes[t->dtype],
                                                          .bits = (uint8_t)bits,
                                                          .lanes = 1,
                                                          .shape = shown->shape,
                                                          .strides = shown->strides,
                                                          .byte_offset = t->start_offset * bits / 8},
                                               .context = context,
                                               .deleter = delete_shown};
  *managed_out = &shown->managed;
  return PTO_OK;
}
