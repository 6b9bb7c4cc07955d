/* SPDX-License-Identifier: MIT */
/*
 * One operation on small tensors, through the builder and the reference executor: for tests that know what must come
 * out.
 *
 * A case owns its tensors until graph_case_close; what it returns is borrowed from it.  Everything that goes wrong
 * fails the test that runs, with the sentence.  One thread.
 *
 *   struct graph_case c = {0};
 *   const struct pto_reference_tensor *x = graph_case_floats(&c, SHAPE(2, 2), NUMBERS(1, 2, 3, 4));
 *   graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_reduce_sum, NULL, OPERANDS(x)), SHAPE(), NUMBERS(10));
 *   graph_case_close(&c);
 */
#ifndef PTO_GRAPH_CASE_H
#define PTO_GRAPH_CASE_H

#include <graph/reference/reference.h>

struct graph_case_tensors; /* some that were made together */
struct graph_case {
  struct graph_case_tensors *tensors;
};

#define SCALAR 0, NULL
#define SHAPE(...)                                                                                                     \
  (uint32_t)(sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)), (const uint64_t[]) { __VA_ARGS__ }
#define NUMBERS(...)                                                                                                   \
  (const double[]) { __VA_ARGS__ }
#define WHOLE(...)                                                                                                     \
  (const int64_t[]) { __VA_ARGS__ }
/* Up to 8, NULL where absent. */
#define OPERANDS(...)                                                                                                  \
  (uint32_t)(sizeof((const struct pto_reference_tensor *const[]){__VA_ARGS__}) / sizeof(void *)),                      \
      (const struct pto_reference_tensor *const[]) {                                                                   \
    __VA_ARGS__                                                                                                        \
  }

void graph_case_close(struct graph_case *c);

/* A tensor of the dtype with these elements, rounded or wrapped to it; NULL: zeros. */
struct pto_reference_tensor *graph_case_tensor(struct graph_case *c, uint32_t dtype, uint32_t ndims,
                                               const uint64_t *shape, const double *numbers);
struct pto_reference_tensor *graph_case_floats(struct graph_case *c, uint32_t ndims, const uint64_t *shape,
                                               const double *numbers); /* f32 */
struct pto_reference_tensor *graph_case_whole(struct graph_case *c, uint32_t dtype, uint32_t ndims,
                                              const uint64_t *shape, const int64_t *numbers);
/* f32 (or fp16) drawn from seed: multiples of 1/8 in [−4, 4). */
struct pto_reference_tensor *graph_case_drawn(struct graph_case *c, uint32_t dtype, uint32_t ndims,
                                              const uint64_t *shape, uint64_t seed);

/* The results of one call, an array. */
const struct pto_reference_tensor *graph_case_call(struct graph_case *c, uint32_t op, const void *options,
                                                   uint32_t operand_count,
                                                   const struct pto_reference_tensor *const *operands);

/* Shape and elements exactly; NaN is NaN, and zeros have their sign. */
void graph_case_expect(const struct pto_reference_tensor *t, uint32_t ndims, const uint64_t *shape,
                       const double *numbers);
void graph_case_expect_whole(const struct pto_reference_tensor *t, uint32_t ndims, const uint64_t *shape,
                             const int64_t *numbers);
/* The same shape and dtype, floats within `relative` of the larger magnitude. */
void graph_case_expect_equal(const struct pto_reference_tensor *a, const struct pto_reference_tensor *b,
                             double relative);

#endif
