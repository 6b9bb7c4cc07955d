/* SPDX-License-Identifier: MIT */
/*
 * For tests of descriptors: tensors over memory that is never touched, and what is asked of each: valid with this
 * layout, or refused with this sentence.
 */
#ifndef PTO_TENSOR_CHECKS_H
#define PTO_TENSOR_CHECKS_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include <runtime/tensor/tensor_make.h>
#include <tests/support/shape_list.h>

static inline struct pto_buffer memory(uint64_t base, uint64_t size_bytes) {
  return (struct pto_buffer){.id = 5, .generation = 1, .base = base, .size_bytes = size_bytes};
}

static inline struct pto_tensor dense(uint32_t dtype, uint32_t ndims, const uint64_t *shape) {
  return pto_tensor_dense(memory(0x10000, 1 << 20), dtype, ndims, shape);
}

static inline struct pto_tensor f32(uint32_t ndims, const uint64_t *shape) { return dense(PTO_FLOAT32, ndims, shape); }

static inline void expect_invalid(struct pto_tensor t, const char *sentence) {
  char text[512];
  int length = pto_tensor_explain(&t, text, sizeof text);
  assert_string_equal(text, sentence);
  assert_int_equal(length, strlen(sentence));
  assert_int_equal(pto_tensor_status(&t), PTO_EINVAL);
  assert_int_equal(pto_tensor_numel(&t), 0);
  assert_false(pto_tensor_is_contiguous(&t));
}

static inline void expect_valid(struct pto_tensor t) {
  char text[512];
  if (pto_tensor_status(&t) == PTO_OK) return;
  pto_tensor_explain(&t, text, sizeof text);
  fail_msg("%s", text);
}

static inline void expect_layout(struct pto_tensor t, uint64_t offset, uint32_t ndims, const uint64_t *shape,
                                 const uint64_t *strides) {
  expect_valid(t);
  assert_int_equal(t.start_offset, offset);
  assert_int_equal(t.ndims, ndims);
  for (uint32_t i = 0; i < ndims; i++) {
    assert_int_equal(t.shape[i], shape[i]);
    assert_int_equal(t.strides[i], strides[i]);
  }
}

/* Offset of the element at `index`. */
static inline uint64_t at(const struct pto_tensor *t, const uint64_t *index) {
  uint64_t offset = t->start_offset;
  for (uint32_t i = 0; i < t->ndims; i++) offset += index[i] * t->strides[i];
  return offset;
}

#endif
