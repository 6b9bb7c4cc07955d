/* SPDX-License-Identifier: MIT */
/*
 * What the files of the reference executor share: elements by coordinates, broadcasting, and numbers as a dtype has
 * them.
 *
 * Owns nothing; functions of their arguments alone, any thread.  For the files of this folder and their tests.
 */
#ifndef PTO_GRAPH_REFERENCE_SUPPORT_H
#define PTO_GRAPH_REFERENCE_SUPPORT_H

#include <graph/reference/reference.h>
#include <graph/build/op_options.h>
#include <runtime/base/base.h>

#include <math.h>
#include <string.h>

/* The head of an operation's function. */
#define PTO_REFERENCE_OPERATION(id)                                                                                    \
  int pto_graph_reference_##id(const struct pto_graph_node *node, const struct pto_reference_tensor *const *operands,  \
                               struct pto_reference_tensor *results)

/* ---- numbers ---- */

/* To nearest, ties to even, in one step from double; beyond the largest ±∞.  `dtype` is one of floats. */
double pto_reference_round_to(uint32_t dtype, double x);
/* Modulo 2 to the number of bits, sign- or zero-extended. */
int64_t pto_reference_wrap_to(uint32_t dtype, int64_t x);
/* The nearest number that the integer dtype has; NaN is 0.  x is whole. */
int64_t pto_reference_saturate_to(uint32_t dtype, double x);
/* The smallest and largest number of an integer dtype (uint64 by its bits). */
int64_t pto_reference_smallest(uint32_t dtype);
int64_t pto_reference_largest(uint32_t dtype);
/* A number given as an option that becomes an element of a float dtype, as the specification casts it: rounded.  Of an
 * integer dtype that is pto_option_whole. */
double pto_reference_option(uint32_t dtype, struct pto_number number, double default_value);

/* A number given as an option that elements are computed with.  It is rounded to f32 for every float dtype: so have it
 * the published results, of fp16 too, where the specification casts it to the operand's dtype. */
static inline double pto_reference_factor(struct pto_number number, double default_value) {
  return (double)(float)pto_option_f64(number, default_value);
}

static inline bool pto_reference_is_float(const struct pto_reference_tensor *t) { return t->values != NULL; }
static inline bool pto_reference_is_less(uint32_t dtype, int64_t a, int64_t b) {
  return dtype == PTO_UINT64 ? (uint64_t)a < (uint64_t)b : a < b;
}
static inline int64_t pto_reference_whole_max(uint32_t dtype, int64_t a, int64_t b) {
  return pto_reference_is_less(dtype, a, b) ? b : a;
}

/* ---- elements ---- */

static inline uint64_t pto_reference_numel(const struct pto_reference_tensor *t) {
  return pto_graph_desc_numel(&t->desc);
}
static inline void pto_reference_take(struct pto_reference_tensor *to, uint64_t i,
                                      const struct pto_reference_tensor *from, uint64_t j) {
  if (pto_reference_is_float(from))
    to->values[i] = from->values[j];
  else
    to->whole[i] = from->whole[j];
}

/* The coordinates of an element by its row-major index, and back. */
static inline void pto_reference_locate(const struct pto_graph_desc *desc, uint64_t index, uint64_t *at) {
  for (uint32_t d = desc->ndims; d-- > 0;) {
    at[d] = index % desc->shape[d];
    index /= desc->shape[d];
  }
}
static inline uint64_t pto_reference_index(const struct pto_graph_desc *desc, const uint64_t *at) {
  uint64_t index = 0;
  for (uint32_t d = 0; d < desc->ndims; d++) index = index * desc->shape[d] + at[d];
  return index;
}
/* Elements from one index of a dimension to the next. */
static inline uint64_t pto_reference_stride(const struct pto_graph_desc *desc, uint32_t dimension) {
  uint64_t stride = 1;
  for (uint32_t d = dimension + 1; d < desc->ndims; d++) stride *= desc->shape[d];
  return stride;
}
/* The element of a tensor of `from` that stands at element `index` of `to`, which it is broadcast to: dimensions are
 * aligned at the innermost, an extent of 1 or a missing one repeats. */
static inline uint64_t pto_reference_broadcast(const struct pto_graph_desc *from, const struct pto_graph_desc *to,
                                               uint64_t index) {
  uint64_t element = 0, stride = 1;
  for (uint32_t d = to->ndims, f = from->ndims; f > 0;) {
    d--, f--;
    if (from->shape[f] != 1) element += index % to->shape[d] * stride;
    index /= to->shape[d];
    stride *= from->shape[f];
  }
  return element;
}

#endif
