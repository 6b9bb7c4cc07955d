/* SPDX-License-Identifier: MIT */
/*
 * For tests of overlap: a short word for each view, and one question, asked both ways and of the regions too.
 */
#ifndef PTO_OVERLAP_CHECKS_H
#define PTO_OVERLAP_CHECKS_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <runtime/tensor/region.h>
#include <runtime/tensor/tensor_make.h>
#include <tests/support/shape_list.h>

#define BASE UINT64_C(0x100000)

/* Dense memory of the caller at `address`, with room behind it. */
static inline struct pto_tensor external(uint64_t address, uint32_t dtype, uint32_t ndims, const uint64_t *shape) {
  return pto_tensor_dense((struct pto_buffer){.id = address, .generation = 1, .base = address, .size_bytes = 1 << 20},
                          dtype, ndims, shape);
}

static inline struct pto_tensor f32(uint32_t ndims, const uint64_t *shape) {
  return external(BASE, PTO_FLOAT32, ndims, shape);
}

static inline struct pto_tensor managed(uint64_t id, uint64_t generation, uint64_t size_bytes, uint32_t dtype,
                                        uint32_t ndims, const uint64_t *shape) {
  return pto_tensor_dense((struct pto_buffer){.id = id, .generation = generation, .size_bytes = size_bytes}, dtype,
                          ndims, shape);
}

/* t[first : first + count] */
static inline struct pto_tensor part(struct pto_tensor t, uint64_t first, uint64_t count) {
  return pto_tensor_slice(&t, 0, first, first + count, 1);
}

/* t[top : bottom, left : right] */
static inline struct pto_tensor tile(struct pto_tensor t, uint64_t top, uint64_t bottom, uint64_t left,
                                     uint64_t right) {
  return pto_tensor_view(&t, LIST(top, left), LIST(bottom - top, right - left));
}

static inline struct pto_tensor step(struct pto_tensor t, uint32_t dim, uint64_t start, uint64_t by) {
  return pto_tensor_slice(&t, dim, start, t.shape[dim], by);
}

static inline struct pto_tensor turned(struct pto_tensor t) { return pto_tensor_transpose(&t, 0, 1); }
static inline struct pto_tensor as(struct pto_tensor t, uint32_t dtype) { return pto_tensor_reinterpret(&t, dtype); }
static inline struct pto_tensor reshaped(struct pto_tensor t, uint32_t ndims, const uint64_t *shape) {
  return pto_tensor_reshape(&t, ndims, shape);
}
static inline struct pto_tensor fuzzy(struct pto_tensor t) { return pto_tensor_with_overlap(&t, PTO_OVERLAP_FUZZY); }
static inline struct pto_tensor version(struct pto_tensor t, int32_t v) { return pto_tensor_with_version(&t, v); }

static inline void expect(enum pto_overlap expected, struct pto_tensor a, struct pto_tensor b) {
  static const enum pto_overlap mirror[] = {PTO_DISJOINT, PTO_EQUAL, PTO_COVERED, PTO_COVERS, PTO_PARTIAL};
  struct pto_region ra, rb;
  uint64_t exhausted = 0;
  assert_int_equal(pto_tensor_status(&a), PTO_OK);
  assert_int_equal(pto_tensor_status(&b), PTO_OK);
  assert_int_equal(pto_tensor_overlap(&a, &b), expected);
  assert_int_equal(pto_tensor_overlap(&b, &a), mirror[expected]);
  if ((a.buffer.base == 0) != (b.buffer.base == 0) || (a.buffer.base == 0 && a.buffer.id != b.buffer.id)) return;
  if (a.buffer.generation != b.buffer.generation) return;
  pto_region_from_tensor(&a, a.buffer.base, &ra);
  pto_region_from_tensor(&b, b.buffer.base, &rb);
  assert_int_equal(pto_region_overlap(&ra, &rb, &exhausted), expected);
  assert_int_equal(pto_region_intersects(&ra, &rb, NULL), expected != PTO_DISJOINT);
  assert_int_equal(pto_region_intersects(&rb, &ra, NULL), expected != PTO_DISJOINT);
  assert_int_equal(exhausted, 0);
}

#endif
