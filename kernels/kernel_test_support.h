/* SPDX-License-Identifier: MIT */
/*
 * For tests: kernel arguments made by hand, without a runtime.
 *
 * A test tensor owns memory that holds its elements in a given layout and nothing else but gaps, which are filled with
 * a pattern so that a write outside the tensor is seen; the memory ends where the layout's last element may, so that a
 * sanitizer sees a read outside it.  A test call has all that a kernel is called with.  One thread; fini frees.
 */
#ifndef PTO_KERNEL_TEST_SUPPORT_H
#define PTO_KERNEL_TEST_SUPPORT_H

#include <kernels/reference.h>
#include <runtime/base/base.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PTO_TEST_GAP 0xa5
#define PTO_TEST_GAPS_BELOW                                                                                            \
  2000 /* elements of the inner dimensions, beyond which outer ones get no gaps: eight would be huge */

/* X(constant, name) */
#define PTO_TEST_LAYOUT_LIST(X)                                                                                        \
  X(PTO_TEST_CONTIGUOUS, "contiguous")                                                                                 \
  X(PTO_TEST_TRANSPOSED, "transposed")                                                                                 \
  X(PTO_TEST_STEPPED, "stepped")                                                                                       \
  X(PTO_TEST_SUB_BOX, "sub-box")                                                                                       \
  X(PTO_TEST_BROADCAST, "broadcast") /* inputs; outputs are contiguous */                                              \
  X(PTO_TEST_MIXED, "permuted, stepped and boxed at random")
enum pto_test_layout {
#define X(constant, name) constant,
  PTO_TEST_LAYOUT_LIST(X)
#undef X
      PTO_TEST_LAYOUT_COUNT
};
static inline const char *pto_test_layout_name(uint32_t layout) {
  static const char *const names[] = {
#define X(constant, name) name,
      PTO_TEST_LAYOUT_LIST(X)
#undef X
  };
  return names[layout];
}

struct pto_test_tensor {
  struct pto_kernel_tensor t; /* its shape and strides point into this struct, which must not move */
  uint64_t shape[PTO_MAX_DIMS], strides[PTO_MAX_DIMS];
  unsigned char *memory, *before; /* before: the memory as it was at pto_test_tensor_keep */
  uint64_t memory_bytes;
};

static inline bool pto_test_is_float(uint32_t dtype) { return (PTO_DTYPE_BIT(dtype) & PTO_DTYPES_FLOAT) != 0; }

static inline uint64_t pto_test_numel(const struct pto_test_tensor *tensor) {
  uint64_t numel = 1;
  for (uint32_t d = 0; d < tensor->t.ndims; d++) numel *= tensor->shape[d];
  return numel;
}

/* Makes memory and strides; elements and gaps hold the pattern.  `is_written`: no broadcast. */
static inline void pto_test_tensor_init(struct pto_test_tensor *tensor, uint32_t dtype,
                                        const struct pto_reference_shape *shape, uint32_t layout, bool is_written,
                                        struct pto_rng *rng) {
  uint32_t order[PTO_MAX_DIMS]; /* dimension d is the order[d]-th from outside in memory */
  uint64_t offset = 0, elems = 1;
  const bool is_dense = pto_dtype_bits(dtype) < 8 || (layout == PTO_TEST_BROADCAST && is_written);
  const uint32_t n = shape->ndims;
  memset(tensor, 0, sizeof *tensor);
  tensor->t =
      (struct pto_kernel_tensor){.shape = tensor->shape, .strides = tensor->strides, .ndims = n, .dtype = dtype};
  for (uint32_t d = 0; d < n; d++) {
    tensor->shape[d] = shape->shape[d];
    order[d] = layout == PTO_TEST_TRANSPOSED && !is_dense ? n - 1 - d : d;
  }
  for (uint32_t d = n; d > 1 && layout == PTO_TEST_MIXED && !is_dense; d--) {
    const uint64_t other = pto_rng_below(rng, d);
    const uint32_t swapped = order[d - 1];
    order[d - 1] = order[other];
    order[other] = swapped;
  }
  for (uint32_t i = n; i-- > 0;) {
    uint32_t d = 0;
    while (order[d] != i) d++;
    uint64_t step = 1, before = 0, after = 0;
    const bool has_gaps = !is_dense && elems < PTO_TEST_GAPS_BELOW, is_random = layout == PTO_TEST_MIXED;
    if (has_gaps && (layout == PTO_TEST_STEPPED || is_random))
      step = 1 + pto_rng_below(rng, 3) + (layout == PTO_TEST_STEPPED && i + 1 == n);
    if (has_gaps && (layout == PTO_TEST_SUB_BOX || is_random)) {
      before = pto_rng_below(rng, 4);
      after = pto_rng_below(rng, 4);
    }
    if (layout == PTO_TEST_BROADCAST && !is_dense && pto_rng_below(rng, 2) == 0) {
      tensor->strides[d] = 0;
      continue;
    }
    tensor->strides[d] = elems * step;
    offset += before * elems;
    const uint64_t extent = tensor->shape[d];
    elems *= before + (extent == 0 ? 0 : (extent - 1) * step + 1) + after;
  }
  tensor->memory_bytes = (elems * pto_dtype_bits(dtype) + 7) / 8;
  tensor->memory = malloc(tensor->memory_bytes + 1);
  tensor->before = malloc(tensor->memory_bytes + 1);
  if (tensor->memory == NULL || tensor->before == NULL) abort();
  memset(tensor->memory, PTO_TEST_GAP, tensor->memory_bytes + 1);
  tensor->t.addr = tensor->memory + offset * pto_dtype_size(dtype);
}

static inline void pto_test_tensor_fini(struct pto_test_tensor *tensor) {
  free(tensor->memory);
  free(tensor->before);
}

static inline char *pto_test_addr(const struct pto_test_tensor *tensor, uint64_t index) {
  uint64_t at = 0;
  for (uint32_t d = tensor->t.ndims; d-- > 0; index /= tensor->shape[d])
    at += index % tensor->shape[d] * tensor->strides[d];
  return (char *)tensor->t.addr + at * pto_dtype_size(tensor->t.dtype);
}

/* Sets element `index` (row-major): floats rounded, integers modulo 2 to their bits. */
static inline void pto_test_set(const struct pto_test_tensor *tensor, uint64_t index, double value) {
  pto_reference_set(&tensor->t, index, value);
}

/* Floats in [−4, 4), a quarter of them special where `has_specials`. */
static inline double pto_test_random_float(bool has_specials, struct pto_rng *rng) {
  static const double specials[] = {NAN,     INFINITY, -INFINITY, 0.0,      -0.0,    1.0,     -1.0,   0x1p-149,
                                    0x1p-24, 1e-40,    -1e-40,    3.4e38,   -3.4e38, 65504.0, 88.75,  -103.5,
                                    1e-5,    -87.5,    0x1p-126,  0.999999, 1.00001, 4097.0,  -1e-30, 65519.996};
  const double value = pto_rng_unit(rng) * 8 - 4;
  if (!has_specials || pto_rng_below(rng, 4) != 0) return value;
  return specials[pto_rng_below(rng, PTO_ARRAY_LENGTH(specials))];
}

/* Integers of small size; where `has_specials`, a quarter of any size and a quarter within 2 of a limit of some width
 * or of 0. */
static inline uint64_t pto_test_random_whole(bool has_specials, struct pto_rng *rng) {
  const uint64_t choice = has_specials ? pto_rng_below(rng, 4) : 0;
  if (choice == 2) return pto_rng_next(rng);
  if (choice == 3) return (pto_rng_below(rng, 2) << (8 * (1 + pto_rng_below(rng, 8)) - 1)) + pto_rng_below(rng, 5) - 2;
  return pto_rng_below(rng, 200) - 100;
}

/* Random elements, of what the dtype holds; bools are 0 or 1. */
static inline void pto_test_fill(const struct pto_test_tensor *tensor, bool has_specials, struct pto_rng *rng) {
  for (uint64_t i = 0; i < pto_test_numel(tensor); i++)
    if (pto_test_is_float(tensor->t.dtype))
      pto_reference_set(&tensor->t, i, pto_test_random_float(has_specials, rng));
    else
      pto_reference_set_whole(
          &tensor->t, i, pto_test_random_whole(has_specials, rng) & (tensor->t.dtype == PTO_BOOL ? 1 : UINT64_MAX));
}

static inline void pto_test_tensor_keep(struct pto_test_tensor *tensor) {
  memcpy(tensor->before, tensor->memory, tensor->memory_bytes + 1);
}

/* Whether no byte outside the elements (or, where not `is_written`, no byte at all) has changed since the keep. */
static inline bool pto_test_tensor_is_kept(const struct pto_test_tensor *tensor, bool is_written) {
  if (is_written && pto_dtype_bits(tensor->t.dtype) >= 8) {
    const uint64_t size = pto_dtype_size(tensor->t.dtype);
    for (uint64_t i = 0; i < pto_test_numel(tensor); i++) {
      const char *addr = pto_test_addr(tensor, i);
      memcpy(tensor->before + (addr - (const char *)tensor->memory), addr, size);
    }
  } else if (is_written) {
    return true;
  }
  return memcmp(tensor->before, tensor->memory, tensor->memory_bytes + 1) == 0;
}

/* Whether `got`, an element of a float dtype, is right; see reference.h. */
static inline bool pto_test_is_right_float(uint32_t dtype, double got, double value, double slack, double ulps) {
  if (isnan(value) || isnan(got)) return isnan(value) && isnan(got);
  if (got == pto_reference_round(dtype, value)) return true;
  /* A result computed in f32 and then rounded: half a unit of the dtype and the f32 error. */
  double allowed = ulps * pto_reference_ulp(PTO_FLOAT32, value) + slack;
  if (dtype != PTO_FLOAT32) allowed += 0.5 * pto_reference_ulp(dtype, value);
  return fabs(got - value) <= allowed;
}

/* Whether element `index` is right; integers modulo 2 to their bits. */
static inline bool pto_test_is_right(const struct pto_test_tensor *tensor, uint64_t index,
                                     const struct pto_golden *golden, double ulps) {
  const uint32_t dtype = tensor->t.dtype, bits = pto_dtype_bits(dtype);
  if (pto_test_is_float(dtype))
    return pto_test_is_right_float(dtype, pto_reference_element(&tensor->t, index), golden->value[index],
                                   golden->slack[index], ulps);
  const uint64_t wanted = golden->whole[index] + pto_reference_modulo(golden->value[index]);
  return ((wanted ^ pto_reference_whole(&tensor->t, index)) & (UINT64_MAX >> (64 - bits))) == 0;
}

/* Everything that a kernel is called with. */
struct pto_test_call {
  struct pto_kernel_args args;
  struct pto_core core;
  struct pto_kernel_tensor tensors[PTO_MAX_TENSORS];
  union pto_scalar scalars[PTO_MAX_SCALARS];
  char message[256];
};

/* Runs the kernel with exactly the local memory that its cost asks for, and as much of L0A, L0B and L0C as the smallest
 * chip has; a byte written beyond any of them fails the test, as does a heap overrun under AddressSanitizer. */
static inline int pto_test_call_run(const struct pto_kernel *kernel, const struct pto_kernel_args *args) {
  const uint64_t sizes[4] = {kernel->cost == NULL ? 0 : kernel->cost(args).local_bytes, UINT64_C(64) << 10,
                             UINT64_C(64) << 10, UINT64_C(128) << 10};
  struct pto_core core = args->core == NULL ? (struct pto_core){.kind = kernel->cores, .block_count = 1} : *args->core;
  struct pto_kernel_args with_core = *args;
  struct pto_local_memory *const memories[4] = {&core.local, &core.l0a, &core.l0b, &core.l0c};
  unsigned char *blocks[4];
  const uint64_t guard = 256;
  bool is_kept = true;
  for (uint32_t i = 0; i < 4; i++) {
    if (i > 0 && kernel->cores != PTO_AIC) continue;
    blocks[i] = aligned_alloc(PTO_CACHE_LINE, pto_align_up(sizes[i] + guard, PTO_CACHE_LINE));
    if (blocks[i] == NULL) abort();
    memset(blocks[i], PTO_TEST_GAP, sizes[i] + guard);
    *memories[i] = (struct pto_local_memory){.addr = blocks[i], .size_bytes = sizes[i]};
  }
  with_core.core = &core;
  const int status = kernel->run(&with_core);
  for (uint32_t i = 0; i < 4; i++) {
    if (i > 0 && kernel->cores != PTO_AIC) continue;
    for (uint64_t j = 0; j < guard; j++) is_kept = is_kept && blocks[i][sizes[i] + j] == PTO_TEST_GAP;
    free(blocks[i]);
  }
  if (!is_kept) {
    printf("%s writes beyond the local memory that its cost states\n", kernel->name);
    abort();
  }
  return status;
}

/* For `kernel`, with tensors to be set in call->tensors and scalars in call->scalars. */
static inline void pto_test_call_init(struct pto_test_call *call, const struct pto_kernel *kernel) {
  memset(call, 0, sizeof *call);
  call->core = (struct pto_core){
      .kind = kernel->cores, .block_count = 1, .message = call->message, .message_size = sizeof call->message};
  call->args = (struct pto_kernel_args){.tensors = call->tensors, .scalars = call->scalars, .core = &call->core};
  for (uint32_t i = 0; i < kernel->param_count; i++) {
    if (kernel->params[i].mode == PTO_SCALAR)
      call->args.scalar_count++;
    else
      call->args.tensor_count++;
  }
}

#endif
