/* SPDX-License-Identifier: MIT */
/*
 * Tensors from and to other libraries by DLPack (numpy, torch, JAX), without copies.
 *
 * The structs are those of its specification in our names; who includes dlpack.h casts.  Both directions keep strides,
 * in elements.  Dtypes: all of PTO_DTYPE_LIST, those of 4 bits packed, as the protocol has them.
 *
 * Threads: pto_tensor_from_dlpack is for the control thread, as pto_external_tensor; any thread may call the other.
 */
#ifndef PTO_DLPACK_H
#define PTO_DLPACK_H

#include <pto/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* DLTensor. */
struct pto_dlpack_tensor {
  void *data;
  int32_t device_type, device_id; /* type 1: the CPU */
  int32_t ndim;
  uint8_t code, bits; /* DLDataType */
  uint16_t lanes;
  int64_t *shape;
  int64_t *strides; /* in elements; NULL: dense */
  uint64_t byte_offset;
};
/* DLManagedTensor. */
struct pto_dlpack_managed {
  struct pto_dlpack_tensor tensor;
  void *context;
  void (*deleter)(struct pto_dlpack_managed *self);
};
/* DLManagedTensorVersioned, of version 1. */
struct pto_dlpack_versioned {
  uint32_t major, minor;
  void *context;
  void (*deleter)(struct pto_dlpack_versioned *self);
  uint64_t flags; /* 1: read-only */
  struct pto_dlpack_tensor tensor;
};

/* Tensor over the memory that a producer shows, registered as by pto_external_tensor.  It is borrowed: the producer's
 * deleter is the caller's to call, after the run.  Invalid, and says why, where pto_external_tensor's is; for a device
 * that is not the CPU, elements that are no dtype, a negative stride. */
PTO_API struct pto_tensor pto_tensor_from_dlpack(struct pto_runtime *rt, const struct pto_dlpack_tensor *shown);

/* Shows a tensor of external memory.  The consumer calls managed->deleter once, on any thread, which calls
 * release(context) and frees it; the memory must last until then.  PTO_EINVAL for an invalid tensor, or one of a buffer
 * that the runtime manages; PTO_ENOMEM. */
PTO_API PTO_MUST_CHECK int pto_tensor_to_dlpack(const struct pto_tensor *t, void (*release)(void *context),
                                                void *context, struct pto_dlpack_managed **managed_out);

#ifdef __cplusplus
}
#endif
#endif
