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
    for (uint32_t d = 0; d < desc.ndims; d++) desc.shape[d] = random_extent(m, RANDOM_GRAPH_EXTENT);
    if (pto_graph_desc_numel(&desc) <= m->form.numel) return desc;
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

static struct random_operand fresh_dense(struct random_maker *m, const struct pto_graph_desc *desc, int64_t low,
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

/* The call that makes a view of shape `desc` of `x`, which is fresh: elements are what they were. */
static struct random_operand view_call(struct random_maker *m, uint32_t op, const void *options,
                                       const struct random_operand *x, const struct pto_graph_desc *desc) {
  const struct random_results results = {.descs = {*desc}, .count = 1, .is_exact = true, .is_tame = true};
  random_call(m, op, options, x, 1, &results);
  return m->operands[m->count - 1];
}

static struct random_operand fresh_transposed(struct random_maker *m, const struct pto_graph_desc *desc, int64_t low,
                                              int64_t high) {
  uint32_t order[PTO_MAX_DIMS];
  struct pto_graph_desc from = *desc;
  for (uint32_t d = 0; d < desc->ndims; d++) order[d] = d;
  for (uint32_t d = desc->ndims; d > 1; d--) {
    const uint32_t other = random_below(m, d), kept = order[d - 1];
    order[d - 1] = order[other];
    order[other] = kept;
  }
  for (uint32_t d = 0; d < desc->ndims; d++) from.shape[order[d]] = desc->shape[d];
  const struct pto_transpose_options options = {.permutation = {order, desc->ndims}};
  const struct random_operand x = fresh_dense(m, &from, low, high);
  return view_call(m, PTO_GRAPH_OP_transpose, &options, &x, desc);
}

static struct random_operand fresh_sliced(struct random_maker *m, const struct pto_graph_desc *desc, int64_t low,
                                          int64_t high) {
  uint32_t starts[PTO_MAX_DIMS], sizes[PTO_MAX_DIMS], strides[PTO_MAX_DIMS];
  struct pto_graph_desc from = *desc;
  for (uint32_t d = 0; d < desc->ndims; d++) {
    starts[d] = random_below(m, 3);
    strides[d] = random_below(m, 3) == 0 ? 2 : 1;
    sizes[d] = (uint32_t)(desc->shape[d] - 1) * strides[d] + 1;
    from.shape[d] = starts[d] + sizes[d] + random_below(m, 2);
  }
  const struct pto_slice_options options = {
      .starts = {starts, desc->ndims}, .sizes = {sizes, desc->ndims}, .strides = {strides, desc->ndims}};
  const struct random_operand x = fresh_dense(m, &from, low, high);
  return view_call(m, PTO_GRAPH_OP_slice, &options, &x, desc);
}

static struct random_operand fresh_expanded(struct random_maker *m, const struct pto_graph_desc *desc, int64_t low,
                                            int64_t high) {
  uint32_t shape[PTO_MAX_DIMS];
  struct pto_graph_desc from = *desc;
  for (uint32_t d = 0; d < desc->ndims; d++) {
    shape[d] = (uint32_t)desc->shape[d];
    if (random_chance(m)) from.shape[d] = 1;
  }
  const struct pto_new_shape_options options = {.new_shape = {shape, desc->ndims}};
  const struct random_operand x = fresh_dense(m, &from, low, high);
  return view_call(m, PTO_GRAPH_OP_expand, &options, &x, desc);
}

struct random_operand random_fresh_whole(struct random_maker *m, const struct pto_graph_desc *desc, int64_t low,
                                         int64_t high) {
  const bool is_view = m->form.has_views && pto_dtype_bits(desc->dtype) >= 8 && m->count + 16 < RANDOM_GRAPH_OPERANDS;
  switch (is_view ? random_below(m, 6) : 5) {
  case 0:
    return fresh_transposed(m, desc, low, high);
  case 1:
    return fresh_sliced(m, desc, low, high);
  case 2:
    return fresh_expanded(m, desc, low, high);
  default:
    return fresh_dense(m, desc, low, high);
  }
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
                      x->desc.ndims <= max_rank && pto_graph_desc_numel(&x->desc) <= m->form.numel &&
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
  if (pto_graph_desc_numel(&desc) > m->form.numel) return *x;
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

void random_made(struct random_maker *m, const struct random_operand *operands, uint32_t operand_count,
                 struct pto_graph_operand result) {
  if (result.index == 0) fail_msg("seed %llu: %s", (unsigned long long)m->g->seed, pto_graph_builder_error(m->builder));
  for (uint32_t i = 0; i < operand_count; i++) mark_used(m, operands[i].operand);
  keep(m, (struct random_operand){
              .operand = result, .desc = pto_graph_builder_desc(m->builder, result), .is_result = true});
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
    g->is_exact[k] = x->is_exact;
    outputs[k] = (struct pto_graph_output){names[k], x->operand};
    g->outputs[k] = calloc(1, random_graph_bytes(&x->desc));
    assert_non_null(g->outputs[k]);
  }
  if (pto_graph_builder_build(m->builder, outputs, g->output_count, &g->graph))
    fail_msg("seed %llu: %s", (unsigned long long)g->seed, pto_graph_builder_error(m->builder));
}

void random_graph_open(struct random_graph *g, uint64_t seed, uint32_t call_count) {
  const struct random_graph_form form = {.call_count = call_count};
  random_graph_open_form(g, seed, &form);
}

void random_graph_open_form(struct random_graph *g, uint64_t seed, const struct random_graph_form *form) {
  struct random_maker *m = calloc(1, sizeof *m);
  assert_non_null(m);
  *g = (struct random_graph){.seed = seed};
  m->g = g;
  m->form = *form;
  if (m->form.numel == 0) m->form.numel = RANDOM_GRAPH_NUMEL;
  if (m->form.extent == 0) m->form.extent = RANDOM_GRAPH_EXTENT;
  m->rng.state = seed;
  assert_int_equal(pto_graph_builder_create(NULL, &m->builder), PTO_OK);
  for (uint32_t i = 0; i < form->call_count && m->count + 32 < RANDOM_GRAPH_OPERANDS; i++) {
    if (form->has_patterns && random_below(m, 4) == 0) {
      random_pattern(m);
      continue;
    }
    const uint32_t op = form->is_one_op ? form->op : random_below(m, PTO_GRAPH_OP_COUNT);
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
