/* SPDX-License-Identifier: MIT */
#include <tests/support/random_graph.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <tests/support/random_graph_maker.h>

uint64_t random_graph_bytes(const struct pto_graph_desc *desc) {
  return (pto_graph_desc_numel(desc) * pto_dtype_bits(desc->dtype) + 7) / 8;
}

/* ---- operands ---- */

uint32_t random_dtype(struct random_maker *m, uint32_t dtypes) {
  for (;;) {
    const uint32_t dtype = random_below(m, PTO_DTYPE_COUNT);
    if (dtypes & PTO_DTYPE_BIT(dtype)) return dtype;
  }
}

struct pto_graph_desc random_desc(uint32_t dtype, uint32_t ndims, const uint64_t *shape) {
  struct pto_graph_desc desc = {.dtype = dtype, .ndims = ndims};
  for (uint32_t d = 0; d < ndims; d++) desc.shape[d] = shape[d];
  return desc;
}

struct pto_graph_desc random_as(const struct pto_graph_desc *desc, uint32_t dtype) {
  return random_desc(dtype, desc->ndims, desc->shape);
}

struct pto_graph_desc random_shape(struct random_maker *m, uint32_t dtype, uint32_t min_rank, uint32_t max_rank) {
  for (;;) {
    struct pto_graph_desc desc = {.dtype = dtype, .ndims = min_rank + random_below(m, max_rank - min_rank + 1)};
    for (uint32_t d = 0; d < desc.ndims; d++) desc.shape[d] = 1 + random_below(m, 4);
    if (pto_graph_desc_numel(&desc) <= RANDOM_GRAPH_NUMEL) return desc;
  }
}

static struct random_operand keep(struct random_maker *m, struct random_operand operand) {
  assert_true(m->count < RANDOM_GRAPH_OPERANDS);
  m->operands[m->count++] = operand;
  return operand;
}

/* As an input or as a constant. */
static struct random_operand bring_in(struct random_maker *m, const struct pto_reference_tensor *t) {
  struct random_graph *g = m->g;
  const uint64_t size = random_graph_bytes(&t->desc);
  void *bytes = calloc(1, size);
  struct random_operand x = {.desc = t->desc, .is_exact = true, .is_tame = true};
  char name[32];
  assert_non_null(bytes);
  pto_reference_tensor_store(t, bytes);
  if (random_chance(m)) {
    x.operand = pto_graph_builder_constant(m->builder, &t->desc, bytes, size);
    free(bytes);
  } else {
    snprintf(name, sizeof name, "x%u", g->input_count);
    x.operand = pto_graph_builder_input(m->builder, name, &t->desc);
    g->inputs[g->input_count++] = bytes;
  }
  return keep(m, x);
}

struct random_operand random_fresh_whole(struct random_maker *m, const struct pto_graph_desc *desc, int64_t low,
                                         int64_t high) {
  struct pto_reference_tensor t;
  assert_true(pto_reference_tensor_init(&t, desc));
  for (uint64_t i = 0; i < pto_graph_desc_numel(desc); i++) {
    if (t.values)
      t.values[i] = (double)pto_rng_below(&m->rng, 65) / 16 - 2;
    else
      t.whole[i] = low + (int64_t)pto_rng_below(&m->rng, (uint64_t)(high - low) + 1);
  }
  pto_reference_tensor_round(&t);
  const struct random_operand x = bring_in(m, &t);
  pto_reference_tensor_fini(&t);
  return x;
}

struct random_operand random_fresh(struct random_maker *m, const struct pto_graph_desc *desc) {
  const int64_t reach = random_chance(m) ? 5 : INT32_MAX;
  return random_fresh_whole(m, desc, -reach, reach);
}

struct random_operand random_within(struct random_maker *m, struct random_operand x, double low, double high) {
  if (!random_is_float(x.desc.dtype)) return x;
  const struct pto_clamp_options options = {.min_value = pto_number_f64(low), .max_value = pto_number_f64(high)};
  const struct random_results results = {.descs = {x.desc}, .count = 1, .is_exact = x.is_exact, .is_tame = true};
  random_call(m, PTO_GRAPH_OP_clamp, &options, &x, 1, &results);
  return m->operands[m->count - 1];
}

struct random_operand random_pick(struct random_maker *m, uint32_t dtypes, uint32_t min_rank, uint32_t max_rank,
                                  bool exact) {
  for (uint32_t tries = 0; tries < 8 && m->count > 0; tries++) {
    const struct random_operand *x = &m->operands[random_below(m, m->count)];
    const bool fits = (dtypes & PTO_DTYPE_BIT(x->desc.dtype)) && x->desc.ndims >= min_rank &&
                      x->desc.ndims <= max_rank && pto_graph_desc_numel(&x->desc) <= RANDOM_GRAPH_NUMEL &&
                      (x->is_exact || !exact);
    if (fits) return x->is_tame ? *x : random_within(m, *x, -2, 2);
  }
  const struct pto_graph_desc desc = random_shape(m, random_dtype(m, dtypes), min_rank, max_rank);
  return random_fresh(m, &desc);
}

struct random_operand random_broadcastable(struct random_maker *m, const struct random_operand *x) {
  if (random_below(m, 4) == 0) return *x;
  const uint32_t dropped = random_below(m, x->desc.ndims + 1);
  struct pto_graph_desc desc = random_desc(x->desc.dtype, x->desc.ndims - dropped, x->desc.shape + dropped);
  for (uint32_t d = 0; d < desc.ndims; d++) {
    if (random_chance(m)) desc.shape[d] = x->desc.shape[d + dropped] == 1 ? 1 + random_below(m, 3) : 1;
  }
  if (pto_graph_desc_numel(&desc) > RANDOM_GRAPH_NUMEL) return *x;
  return random_fresh(m, &desc);
}

struct pto_graph_desc random_broadcast(const struct pto_graph_desc *a, const struct pto_graph_desc *b, uint32_t dtype) {
  const uint32_t ndims = a->ndims > b->ndims ? a->ndims : b->ndims;
  struct pto_graph_desc desc = {.dtype = dtype, .ndims = ndims};
  for (uint32_t d = 0; d < ndims; d++) {
    const uint64_t from_a = d + a->ndims < ndims ? 1 : a->shape[d + a->ndims - ndims],
                   from_b = d + b->ndims < ndims ? 1 : b->shape[d + b->ndims - ndims];
    desc.shape[d] = pto_max_u64(from_a, from_b);
  }
  return desc;
}

/* ---- calls ---- */

static void expect_desc(const struct random_maker *m, uint32_t op, const struct pto_graph_desc *is,
                        const struct pto_graph_desc *must) {
  bool is_same = is->dtype == must->dtype && is->ndims == must->ndims;
  for (uint32_t d = 0; is_same && d < is->ndims; d++) is_same = is->shape[d] == must->shape[d];
  if (!is_same)
    fail_msg("seed %llu: %s infers %s of rank %u, and %s of rank %u was expected, or other extents",
             (unsigned long long)m->g->seed, pto_op_info(op)->name, pto_dtype_name(is->dtype), is->ndims,
             pto_dtype_name(must->dtype), must->ndims);
}

static void mark_used(struct random_maker *m, struct pto_graph_operand operand) {
  for (uint32_t i = 0; i < m->count; i++) {
    if (m->operands[i].operand.index == operand.index) m->operands[i].is_used = true;
  }
}

void random_call(struct random_maker *m, uint32_t op, const void *options, const struct random_operand *operands,
                 uint32_t operand_count, const struct random_results *results) {
  struct pto_graph_operand given[16] = {{0}}, made[8];
  uint32_t made_count = 0;
  assert_true(operand_count <= PTO_ARRAY_LENGTH(given));
  for (uint32_t i = 0; i < operand_count; i++) {
    if (operands[i].desc.ndims == UINT32_MAX) continue;
    given[i] = operands[i].operand;
    mark_used(m, given[i]);
  }
  const struct pto_graph_call call = {.op = op, .operands = given, .operand_count = operand_count, .options = options};
  if (pto_graph_builder_call(m->builder, &call, made, PTO_ARRAY_LENGTH(made), &made_count))
    fail_msg("seed %llu: %s", (unsigned long long)m->g->seed, pto_graph_builder_error(m->builder));
  assert_int_equal(made_count, results->count);
  for (uint32_t r = 0; r < made_count; r++) {
    const struct pto_graph_desc desc = pto_graph_builder_desc(m->builder, made[r]);
    expect_desc(m, op, &desc, &results->descs[r]);
    keep(m, (struct random_operand){.operand = made[r],
                                    .desc = desc,
                                    .is_exact = results->is_exact || !random_is_float(desc.dtype),
                                    .is_tame = results->is_tame || !random_is_float(desc.dtype),
                                    .is_result = true});
  }
  m->g->calls[op]++;
}

/* ---- a graph ---- */

static void build(struct random_maker *m) {
  struct pto_graph_output outputs[RANDOM_GRAPH_OPERANDS];
  char names[RANDOM_GRAPH_OPERANDS][8];
  struct random_graph *g = m->g;
  for (uint32_t i = 0; i < m->count; i++) {
    const struct random_operand *x = &m->operands[i];
    if (!x->is_result || (x->is_used && random_below(m, 4) != 0)) continue;
    const uint32_t k = g->output_count++;
    snprintf(names[k], sizeof names[k], "y%u", k);
    outputs[k] = (struct pto_graph_output){names[k], x->operand};
    g->outputs[k] = calloc(1, random_graph_bytes(&x->desc));
    assert_non_null(g->outputs[k]);
  }
  if (pto_graph_builder_build(m->builder, outputs, g->output_count, &g->graph))
    fail_msg("seed %llu: %s", (unsigned long long)g->seed, pto_graph_builder_error(m->builder));
}

void random_graph_open(struct random_graph *g, uint64_t seed, uint32_t call_count) {
  struct random_maker *m = calloc(1, sizeof *m);
  assert_non_null(m);
  *g = (struct random_graph){.seed = seed};
  m->g = g;
  m->rng.state = seed;
  assert_int_equal(pto_graph_builder_create(NULL, &m->builder), PTO_OK);
  for (uint32_t i = 0; i < call_count && m->count + 32 < RANDOM_GRAPH_OPERANDS; i++) {
    const uint32_t op = random_below(m, PTO_GRAPH_OP_COUNT);
    random_graph_makers[op](m, op);
  }
  build(m);
  pto_graph_builder_destroy(m->builder);
  free(m);
}

void random_graph_close(struct random_graph *g) {
  pto_graph_destroy(g->graph);
  for (uint32_t i = 0; i < g->input_count; i++) free(g->inputs[i]);
  for (uint32_t i = 0; i < g->output_count; i++) free(g->outputs[i]);
  *g = (struct random_graph){0};
}
