/* SPDX-License-Identifier: MIT */
#include <tests/support/graph_case.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/base/base.h>

#define MOST_OPERANDS 16u
#define MOST_RESULTS 16u

/* ---- tensors ---- */

struct graph_case_tensors {
  struct graph_case_tensors *next;
  uint32_t count;
  struct pto_reference_tensor items[];
};

static struct pto_reference_tensor *keep(struct graph_case *c, uint32_t count) {
  struct graph_case_tensors *kept = calloc(1, sizeof *kept + count * sizeof kept->items[0]);
  assert_non_null(kept);
  kept->count = count;
  kept->next = c->tensors;
  c->tensors = kept;
  return kept->items;
}

void graph_case_close(struct graph_case *c) {
  while (c->tensors) {
    struct graph_case_tensors *first = c->tensors;
    c->tensors = first->next;
    for (uint32_t i = 0; i < first->count; i++) pto_reference_tensor_fini(&first->items[i]);
    free(first);
  }
}

static struct pto_graph_desc desc_of(uint32_t dtype, uint32_t ndims, const uint64_t *shape) {
  struct pto_graph_desc desc = {.dtype = dtype, .ndims = ndims};
  for (uint32_t d = 0; d < ndims; d++) desc.shape[d] = shape[d];
  return desc;
}

static struct pto_reference_tensor *zeros(struct graph_case *c, const struct pto_graph_desc *desc) {
  struct pto_reference_tensor *t = keep(c, 1);
  assert_true(pto_reference_tensor_init(t, desc));
  return t;
}

struct pto_reference_tensor *graph_case_tensor(struct graph_case *c, uint32_t dtype, uint32_t ndims,
                                               const uint64_t *shape, const double *numbers) {
  const struct pto_graph_desc desc = desc_of(dtype, ndims, shape);
  struct pto_reference_tensor *t = zeros(c, &desc);
  for (uint64_t i = 0; numbers && i < pto_graph_desc_numel(&desc); i++) {
    if (t->values)
      t->values[i] = numbers[i];
    else
      t->whole[i] = (int64_t)numbers[i];
  }
  pto_reference_tensor_round(t);
  return t;
}

struct pto_reference_tensor *graph_case_floats(struct graph_case *c, uint32_t ndims, const uint64_t *shape,
                                               const double *numbers) {
  return graph_case_tensor(c, PTO_FLOAT32, ndims, shape, numbers);
}

struct pto_reference_tensor *graph_case_whole(struct graph_case *c, uint32_t dtype, uint32_t ndims,
                                              const uint64_t *shape, const int64_t *numbers) {
  const struct pto_graph_desc desc = desc_of(dtype, ndims, shape);
  struct pto_reference_tensor *t = zeros(c, &desc);
  memcpy(t->whole, numbers, pto_graph_desc_numel(&desc) * sizeof *numbers);
  pto_reference_tensor_round(t);
  return t;
}

struct pto_reference_tensor *graph_case_drawn(struct graph_case *c, uint32_t dtype, uint32_t ndims,
                                              const uint64_t *shape, uint64_t seed) {
  const struct pto_graph_desc desc = desc_of(dtype, ndims, shape);
  struct pto_reference_tensor *t = zeros(c, &desc);
  struct pto_rng rng = {seed};
  for (uint64_t i = 0; i < pto_graph_desc_numel(&desc); i++) t->values[i] = (double)pto_rng_below(&rng, 64) / 8 - 4;
  return t;
}

/* ---- a call ---- */

static void *room_for(const struct pto_graph_desc *desc) {
  void *bytes = calloc(1, pto_graph_desc_numel(desc) * pto_max_u64(pto_dtype_size(desc->dtype), 1) + 1);
  assert_non_null(bytes);
  return bytes;
}

/* The graph of the one call: its inputs are the operands that are there, its outputs the results. */
static struct pto_graph *build(uint32_t op, const void *options, uint32_t operand_count,
                               const struct pto_reference_tensor *const *operands) {
  static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"};
  static const char *const result_names[] = {"r0", "r1", "r2",  "r3",  "r4",  "r5",  "r6",  "r7",
                                             "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"};
  struct pto_graph_operand inputs[MOST_OPERANDS] = {{0}}, results[MOST_RESULTS];
  struct pto_graph_output outputs[MOST_RESULTS];
  struct pto_graph_builder *builder = NULL;
  struct pto_graph *graph = NULL;
  uint32_t result_count = 0;
  assert_true(operand_count <= MOST_OPERANDS);
  assert_int_equal(pto_graph_builder_create(NULL, &builder), PTO_OK);
  for (uint32_t i = 0; i < operand_count; i++) {
    if (operands[i]) inputs[i] = pto_graph_builder_input(builder, names[i], &operands[i]->desc);
  }
  const struct pto_graph_call call = {.op = op, .operands = inputs, .operand_count = operand_count, .options = options};
  if (pto_graph_builder_call(builder, &call, results, MOST_RESULTS, &result_count))
    fail_msg("%s", pto_graph_builder_error(builder));
  for (uint32_t r = 0; r < result_count; r++) outputs[r] = (struct pto_graph_output){result_names[r], results[r]};
  if (pto_graph_builder_build(builder, outputs, result_count, &graph)) fail_msg("%s", pto_graph_builder_error(builder));
  pto_graph_builder_destroy(builder);
  return graph;
}

const struct pto_reference_tensor *graph_case_call(struct graph_case *c, uint32_t op, const void *options,
                                                   uint32_t operand_count,
                                                   const struct pto_reference_tensor *const *operands) {
  struct pto_graph *graph = build(op, options, operand_count, operands);
  void *inputs[MOST_OPERANDS], *outputs[MOST_RESULTS];
  struct pto_error error = {0};
  uint32_t input_count = 0;
  for (uint32_t i = 0; i < operand_count; i++) {
    if (!operands[i]) continue;
    inputs[input_count] = room_for(&operands[i]->desc);
    pto_reference_tensor_store(operands[i], inputs[input_count++]);
  }
  for (uint32_t r = 0; r < graph->output_count; r++) outputs[r] = room_for(&graph->values[graph->outputs[r]].desc);
  if (pto_graph_reference_run(graph, (const void *const *)inputs, outputs, NULL, NULL, &error))
    fail_msg("%s", error.sentence);
  struct pto_reference_tensor *results = keep(c, graph->output_count);
  for (uint32_t r = 0; r < graph->output_count; r++) {
    assert_true(pto_reference_tensor_init(&results[r], &graph->values[graph->outputs[r]].desc));
    pto_reference_tensor_load(&results[r], outputs[r]);
    free(outputs[r]);
  }
  for (uint32_t i = 0; i < input_count; i++) free(inputs[i]);
  pto_graph_destroy(graph);
  return results;
}

/* ---- what must be ---- */

static void expect_shape(const struct pto_reference_tensor *t, uint32_t ndims, const uint64_t *shape) {
  assert_int_equal(t->desc.ndims, ndims);
  for (uint32_t d = 0; d < ndims; d++) assert_int_equal(t->desc.shape[d], shape[d]);
}

void graph_case_expect(const struct pto_reference_tensor *t, uint32_t ndims, const uint64_t *shape,
                       const double *numbers) {
  expect_shape(t, ndims, shape);
  assert_non_null(t->values);
  for (uint64_t i = 0; i < pto_graph_desc_numel(&t->desc); i++) {
    const double x = t->values[i],
                 expected = pto_dtype_bits(t->desc.dtype) == 32 ? (double)(float)numbers[i] : numbers[i];
    const bool is_same = isnan(expected) ? isnan(x) : x == expected && signbit(x) == signbit(expected);
    if (!is_same) fail_msg("element %llu is %.17g, not %.17g", (unsigned long long)i, x, expected);
  }
}

void graph_case_expect_whole(const struct pto_reference_tensor *t, uint32_t ndims, const uint64_t *shape,
                             const int64_t *numbers) {
  expect_shape(t, ndims, shape);
  assert_non_null(t->whole);
  for (uint64_t i = 0; i < pto_graph_desc_numel(&t->desc); i++) {
    if (t->whole[i] != numbers[i])
      fail_msg("element %llu is %lld, not %lld", (unsigned long long)i, (long long)t->whole[i], (long long)numbers[i]);
  }
}

static bool are_close(double a, double b, double relative) {
  return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= relative * fmax(fabs(a), fabs(b));
}

void graph_case_expect_equal(const struct pto_reference_tensor *a, const struct pto_reference_tensor *b,
                             double relative) {
  assert_int_equal(a->desc.dtype, b->desc.dtype);
  expect_shape(a, b->desc.ndims, b->desc.shape);
  for (uint64_t i = 0; i < pto_graph_desc_numel(&a->desc); i++) {
    if (a->whole)
      assert_int_equal(a->whole[i], b->whole[i]);
    else if (!are_close(a->values[i], b->values[i], relative))
      fail_msg("element %llu is %.17g here and %.17g there", (unsigned long long)i, a->values[i], b->values[i]);
  }
}
