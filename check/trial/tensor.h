/* SPDX-License-Identifier: MIT */
/*
 * Tensors made by hand, without a runtime, to try kernels on: any dtype in any layout that views can make.
 *
 * A trial tensor owns memory that holds its elements in a given layout and nothing else but gaps, which are filled with
 * a pattern so that a write outside the tensor is seen; the memory ends where the layout's last element may, so that a
 * sanitizer sees a read outside it.  Its descriptor points into it: it must not be moved.
 *
 * One thread a tensor; fini frees, and accepts a zeroed one.  To add a layout: a line in PTO_LAYOUT_LIST, and what
 * makes it so in pto_trial_tensor_init.
 */
#ifndef PTO_CHECK_TRIAL_TENSOR_H
#define PTO_CHECK_TRIAL_TENSOR_H

#include <kernels/reference/reference.h>
#include <runtime/base/base.h>

/* X(constant, name) */
#define PTO_LAYOUT_LIST(X)                                                                                             \
  X(PTO_LAYOUT_CONTIGUOUS, "contiguous")                                                                               \
  X(PTO_LAYOUT_TRANSPOSED, "transposed") /* dimensions in reverse */                                                   \
  X(PTO_LAYOUT_PERMUTED, "permuted")     /* dimensions in an order drawn at random */                                  \
  X(PTO_LAYOUT_STEPPED, "stepped")       /* every second to fourth element, other dimensions up to every third */      \
  X(PTO_LAYOUT_SUB_BOX, "sub-box")       /* a view of a larger tensor */                                               \
  X(PTO_LAYOUT_BROADCAST, "broadcast")   /* inputs repeat along some dimensions; outputs are contiguous */             \
  X(PTO_LAYOUT_MIXED, "mixed")           /* permuted, stepped and boxed at random */
enum pto_layout {
#define X(constant, name) constant,
  PTO_LAYOUT_LIST(X)
#undef X
      PTO_LAYOUT_COUNT
};
/* "?" for what is no layout. */
const char *pto_layout_name(uint32_t layout);
/* -1 for what is no name of one. */
int pto_layout_from_name(const char *name);

struct pto_trial_tensor {
  struct pto_kernel_tensor t; /* its shape and strides point into this struct */
  uint64_t shape[PTO_MAX_DIMS], strides[PTO_MAX_DIMS];
  unsigned char *memory, *before; /* before: the memory as it was at pto_trial_tensor_snapshot */
  uint64_t memory_bytes;
};

static inline bool pto_trial_is_float(uint32_t dtype) { return pto_dtype_is_real(dtype); }
uint64_t pto_trial_numel(const struct pto_trial_tensor *tensor);

/* Makes memory and strides; elements and gaps hold the pattern.  `is_written`: no broadcast.  4-bit dtypes are dense in
 * any layout.  PTO_OK or PTO_ENOMEM. */
int pto_trial_tensor_init(struct pto_trial_tensor *tensor, uint32_t dtype, const struct pto_reference_shape *shape,
                          uint32_t layout, bool is_written, struct pto_rng *rng);
void pto_trial_tensor_fini(struct pto_trial_tensor *tensor);

/* Random elements.  Floats in [−4, 4), where `has_specials` a quarter of them NaN, ∞, ±0, subnormal or at some limit.
 * Integers in [−100, 100), where `has_specials` a quarter of any size and a quarter close to a limit of some width;
 * what the dtype keeps of them.  Bools are 0 or 1. */
void pto_trial_fill(const struct pto_trial_tensor *tensor, bool has_specials, struct pto_rng *rng);

/* Remembers the memory as it is; PTO_OK or PTO_ENOMEM. */
int pto_trial_tensor_snapshot(struct pto_trial_tensor *tensor);
/* Whether no byte outside the elements (or, where not `is_written`, no byte at all) has changed since the keep. */
bool pto_trial_tensor_is_unchanged(const struct pto_trial_tensor *tensor, bool is_written);

#endif
