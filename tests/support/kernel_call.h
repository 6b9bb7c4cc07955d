/* SPDX-License-Identifier: MIT */
/*
 * For tests of kernels: arguments made by hand, without a runtime, where no memory left ends the test.
 *
 * A test tensor is a trial tensor (check/trial/tensor.h); a test call has all that a kernel is called with.  A whole
 * call made from a kernel's reference is a trial (check/trial/trial.h).  One thread; fini frees.
 */
#ifndef PTO_TEST_KERNEL_CALL_H
#define PTO_TEST_KERNEL_CALL_H

#include <check/trial/trial.h>
#include <tests/support/trial_help.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PTO_TEST_CONTIGUOUS PTO_LAYOUT_CONTIGUOUS
#define PTO_TEST_TRANSPOSED PTO_LAYOUT_TRANSPOSED
#define PTO_TEST_STEPPED PTO_LAYOUT_STEPPED
#define PTO_TEST_SUB_BOX PTO_LAYOUT_SUB_BOX
#define PTO_TEST_BROADCAST PTO_LAYOUT_BROADCAST
#define PTO_TEST_MIXED PTO_LAYOUT_MIXED
#define PTO_TEST_LAYOUT_COUNT PTO_LAYOUT_COUNT
#define pto_test_tensor pto_trial_tensor
#define pto_test_layout_name pto_layout_name
#define pto_test_is_float pto_trial_is_float
#define pto_test_numel pto_trial_numel
#define pto_test_addr pto_trial_addr
#define pto_test_fill pto_trial_fill
#define pto_test_tensor_fini pto_trial_tensor_fini
#define pto_test_tensor_is_unchanged pto_trial_tensor_is_unchanged

static inline void pto_test_tensor_init(struct pto_trial_tensor *tensor, uint32_t dtype,
                                        const struct pto_reference_shape *shape, uint32_t layout, bool is_written,
                                        struct pto_rng *rng) {
  if (pto_trial_tensor_init(tensor, dtype, shape, layout, is_written, rng) != PTO_OK) abort();
}

static inline void pto_test_tensor_snapshot(struct pto_trial_tensor *tensor) {
  if (pto_trial_tensor_snapshot(tensor) != PTO_OK) abort();
}

/* Sets element `index` (row-major): floats rounded, integers modulo 2 to their bits. */
static inline void pto_test_set(const struct pto_trial_tensor *tensor, uint64_t index, double value) {
  pto_reference_set(&tensor->t, index, value);
}

/* Whether `got`, an element of a float dtype, is right; see kernels/reference/reference.h.  Zeros of either sign are
 * equal. */
static inline bool pto_test_is_right_float(uint32_t dtype, double got, double value, double slack, double ulps) {
  const struct pto_kernel_reference reference = {.ulps = ulps, .flags = PTO_REFERENCE_ANY_ZERO};
  struct pto_trial_error e = {.got = got, .value = value};
  return pto_trial_judge_float(&reference, dtype, slack, &e);
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
 * chip has; a byte written beyond any of them ends the test, as does a heap overrun under AddressSanitizer. */
static inline int pto_test_call_run(const struct pto_kernel *kernel, const struct pto_kernel_args *args) {
  const struct pto_core plain = {.kind = kernel->cores == PTO_AIC ? PTO_AIC : PTO_AIV, .block_count = 1};
  struct pto_kernel_args with_core = *args;
  struct pto_trial_core core;
  if (with_core.core == NULL) with_core.core = &plain;
  if (pto_trial_core_init(&core, kernel, &with_core) != PTO_OK) abort();
  with_core.core = &core.core;
  const int status = kernel->run(&with_core);
  if (!pto_trial_core_fini(&core)) {
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
