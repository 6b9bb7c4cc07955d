/* SPDX-License-Identifier: MIT */
/*
 * For tests of fusion: graphs of one written out pattern (fused_forms.h), and their plans.
 *
 * Owns nothing; graphs are the caller's.  What goes wrong fails the test.  One thread.
 */
#ifndef PTO_FORM_GRAPH_H
#define PTO_FORM_GRAPH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <graph/fuse/fusion.h>
#include <tests/support/fused_forms.h>

static inline form_operand form_input(struct form_maker *f, const char *name, uint32_t dtype, uint32_t ndims,
                                      const uint64_t *shape) {
  struct pto_graph_desc desc = {.dtype = dtype, .ndims = ndims};
  memcpy(desc.shape, shape, ndims * sizeof *shape);
  return pto_graph_builder_input(f->builder, name, &desc);
}
#define SHAPE(...)                                                                                                     \
  (uint32_t)(sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)), (const uint64_t[]) { __VA_ARGS__ }
#define IN(name, ...) form_input(f, name, f->dtype, SHAPE(__VA_ARGS__))

#define AXES(...) ((struct pto_u32_list)PTO_U32_LIST(__VA_ARGS__))

/* Makes its inputs and a result. */
typedef form_operand make_form(struct form_maker *f);

static inline struct form_maker open_maker(uint64_t seed, uint32_t dtype) {
  struct form_maker f = {.rng = {seed}, .dtype = dtype, .epsilon = 1e-5, .scale = 0.5};
  assert_int_equal(pto_graph_builder_create(NULL, &f.builder), PTO_OK);
  return f;
}

static inline struct pto_graph *close_maker(struct form_maker *f, const struct pto_graph_output *outputs,
                                            uint32_t count) {
  struct pto_graph *graph;
  if (pto_graph_builder_build(f->builder, outputs, count, &graph)) fail_msg("%s", pto_graph_builder_error(f->builder));
  pto_graph_builder_destroy(f->builder);
  return graph;
}

static inline struct pto_graph *build(make_form *make, uint64_t seed, uint32_t dtype) {
  struct form_maker f = open_maker(seed, dtype);
  const struct pto_graph_output y = {"y", make(&f)};
  return close_maker(&f, &y, 1);
}

static inline struct pto_fusion_plan plan_of(const struct pto_graph *graph) {
  struct pto_fusion_plan plan;
  assert_int_equal(pto_fusion_plan_init(&plan, graph), PTO_OK);
  return plan;
}

#endif
