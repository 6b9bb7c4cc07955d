/* SPDX-License-Identifier: MIT */
#include <orchestration/llm/step.h>

#include <orchestration/llm/kernels.h>

#define LLM_TILES                                                                                                      \
  12 /* of a matrix at most: as many cores as share the memory of a chip; more keep its control CPU busy */
#define LLM_TILE_BYTES (64u << 10) /* of a tile at least, but for the last, and of the caches of an attend */

/* One orchestration; the first error stays. */
struct llm_submit {
  struct pto_runtime *rt;
  const struct llm_plan *plan;
  const struct pto_bound *bound;
  struct pto_tensor token, position;
  struct pto_tensor x, logits;
  /* Of one layer: with tensors that last longer, tiles that are written would have an edge to every reader of the whole
   * in earlier layers, for no write covers what these have read. */
  struct pto_tensor normed, query, key, value, heads, hidden;
  int status;
};

/* A tensor of f32 that gets its memory from the task that writes it, or before it. */
static struct pto_tensor llm_vector(const struct llm_submit *s, uint64_t count) {
  return pto_managed_tensor(s->rt, pto_create_buffer(s->rt, count * sizeof(float)), PTO_FLOAT32, 1, &count);
}

static void llm_submit(struct llm_submit *s, const struct pto_kernel *kernel, const struct pto_param *params,
                       uint32_t count) {
  if (s->status == PTO_OK) s->status = pto_submit_aiv(s->rt, kernel, params, count);
}

static uint64_t llm_tile_rows(const struct llm_submit *s, const struct llm_matrix *m) {
  const struct pto_tensor *matrix = &s->bound->constants[m->first];
  const uint64_t rows = matrix->shape[0], row_bytes = matrix->shape[1] * pto_dtype_size(matrix->dtype);
  const uint64_t fair = (rows + LLM_TILES - 1) / LLM_TILES, least = (LLM_TILE_BYTES + row_bytes - 1) / row_bytes;
  if (s->plan->tile_rows) return s->plan->tile_rows;
  return ((fair > least ? fair : least) + 3) / 4 * 4; /* matvec takes four rows at a time */
}

/* A tensor that several tasks write a part of has its memory before them. */
static void llm_allocate(struct llm_submit *s, const struct pto_tensor *tensor, uint64_t part) {
  struct pto_task task;
  const bool is_managed = tensor->buffer.base == 0;
  if (s->status == PTO_OK && is_managed && part < tensor->shape[0])
    s->status = pto_alloc_tensors(s->rt, tensor, 1, &task);
}

/* Rows first … end of each tensor of a matrix. */
static void llm_tile(const struct llm_submit *s, const struct llm_matrix *m, uint64_t first, uint64_t end,
                     struct pto_tensor *tiles) {
  for (uint32_t i = 0; i < m->count; i++)
    tiles[i] = pto_tensor_slice(&s->bound->constants[m->first + i], 0, first, end, 1);
}

/* y = m·x, or y += m·x. */
static void llm_multiply(struct llm_submit *s, const struct llm_matrix *m, const struct pto_tensor *x,
                         const struct pto_tensor *y, bool is_added) {
  const struct pto_kernel *kernels[2][2] = {{llm_general.matvec, llm_general.matvec_accumulate},
                                            {llm_general.matvec_int8, llm_general.matvec_int8_accumulate}};
  const uint64_t rows = y->shape[0], step = llm_tile_rows(s, m);
  if (!is_added) llm_allocate(s, y, step);
  for (uint64_t first = 0; first < rows && s->status == PTO_OK; first += step) {
    const uint64_t end = first + step < rows ? first + step : rows;
    struct pto_tensor tiles[2];
    const struct pto_tensor out = pto_tensor_slice(y, 0, first, end, 1);
    struct pto_param params[4];
    llm_tile(s, m, first, end, tiles);
    for (uint32_t i = 0; i < m->count; i++) params[i] = pto_input(&tiles[i]);
    params[m->count] = pto_input(x);
    params[m->count + 1] = is_added ? pto_accumulate(&out) : pto_output(&out);
    llm_submit(s, kernels[m->count - 1][is_added], params, m->count + 2);
  }
}

static void llm_multiply_gated(struct llm_submit *s, const struct llm_layer *layer, const struct pto_tensor *x,
                               const struct pto_tensor *hidden) {
  static const struct pto_kernel *const kernels[2][2] = {{&llm_gate_and_up, &llm_gate_and_int8_up},
                                                         {&llm_gate_int8_and_up, &llm_gate_and_up_int8}};
  const struct pto_kernel *kernel = kernels[layer->gate.count - 1][layer->up.count - 1];
  const uint64_t rows = hidden->shape[0], step = llm_tile_rows(s, &layer->gate);
  llm_allocate(s, hidden, step);
  for (uint64_t first = 0; first < rows && s->status == PTO_OK; first += step) {
    const uint64_t end = first + step < rows ? first + step : rows;
    struct pto_tensor tiles[4];
    const struct pto_tensor out = pto_tensor_slice(hidden, 0, first, end, 1);
    const uint32_t count = layer->gate.count + layer->up.count;
    struct pto_param params[6];
    llm_tile(s, &layer->gate, first, end, tiles);
    llm_tile(s, &layer->up, first, end, tiles + layer->gate.count);
    for (uint32_t i = 0; i < count; i++) params[i] = pto_input(&tiles[i]);
    params[count] = pto_input(x);
    params[count + 1] = pto_output(&out);
    llm_submit(s, kernel, params, count + 2);
  }
}

static void llm_norm(struct llm_submit *s, uint32_t weight) {
  s->normed = llm_vector(s, s->plan->dim);
  const struct pto_param params[] = {pto_input(&s->x), pto_input(&s->bound->constants[weight]), pto_output(&s->normed),
                                     pto_scalar_f32(s->plan->epsilon)};
  llm_submit(s, llm_general.rmsnorm, params, 4);
}

/* Element `index` of the outermost dimension, without that dimension. */
static struct pto_tensor llm_part(const struct pto_tensor *t, uint64_t index) {
  const struct pto_tensor slice = pto_tensor_slice(t, 0, index, index + 1, 1);
  return pto_tensor_reshape(&slice, t->ndims - 1, t->shape + 1);
}

static void llm_attention(struct llm_submit *s, uint32_t index) {
  const struct pto_bound *b = s->bound;
  const struct pto_tensor *o = b->outputs, *q = &s->query, *heads = &s->heads;
  const struct pto_tensor keys = llm_part(&o[LLM_K_NEXT], index), values = llm_part(&o[LLM_V_NEXT], index);
  if (s->plan->is_carried) {
    const struct pto_tensor from_keys = llm_part(&b->inputs[LLM_K_FROM], index);
    const struct pto_tensor from_values = llm_part(&b->inputs[LLM_V_FROM], index);
    const struct pto_param carry[] = {pto_input(&from_keys), pto_input(&from_values), pto_input(&s->position),
                                      pto_inout(&keys), pto_inout(&values)};
    llm_submit(s, &llm_carry_row, carry, 5);
  }
  const struct pto_param rotate[] = {pto_inout(q),
                                     pto_input(&s->key),
                                     pto_input(&s->value),
                                     pto_input(&b->constants[s->plan->cosines]),
                                     pto_input(&b->constants[s->plan->sines]),
                                     pto_input(&s->position),
                                     pto_inout(&keys),
                                     pto_inout(&values),
                                     pto_scalar_u64(s->plan->is_halves)};
  llm_submit(s, &llm_rotate_and_store, rotate, 9);
  const uint64_t kv_heads = s->plan->kv_heads, group = q->shape[0] / kv_heads;
  const uint64_t head_bytes = 2 * keys.shape[1] * keys.shape[2] * sizeof(float);
  const uint64_t step = (LLM_TILE_BYTES + head_bytes - 1) / head_bytes;
  llm_allocate(s, heads, step * group);
  for (uint64_t first = 0; first < kv_heads; first += step) {
    const uint64_t end = first + step < kv_heads ? first + step : kv_heads;
    const struct pto_tensor part = pto_tensor_slice(q, 0, first * group, end * group, 1);
    const struct pto_tensor out = pto_tensor_slice(heads, 0, first * group, end * group, 1);
    const struct pto_tensor some_keys = pto_tensor_slice(&keys, 0, first, end, 1);
    const struct pto_tensor some_values = pto_tensor_slice(&values, 0, first, end, 1);
    const struct pto_param attend[] = {pto_input(&part), pto_input(&some_keys), pto_input(&some_values),
                                       pto_input(&s->position), pto_output(&out)};
    llm_submit(s, &llm_attend, attend, 5);
  }
}

static void llm_submit_layer(struct llm_submit *s, uint32_t index) {
  const struct llm_plan *plan = s->plan;
  const struct llm_layer *layer = &plan->layers[index];
  s->query = llm_vector(s, plan->dim);
  s->key = llm_vector(s, plan->kv_dim);
  s->value = llm_vector(s, plan->kv_dim);
  s->heads = llm_vector(s, plan->dim);
  s->hidden = llm_vector(s, plan->hidden_dim);
  llm_norm(s, layer->attention_norm);
  llm_multiply(s, &layer->q, &s->normed, &s->query, false);
  llm_multiply(s, &layer->k, &s->normed, &s->key, false);
  llm_multiply(s, &layer->v, &s->normed, &s->value, false);
  llm_attention(s, index);
  llm_multiply(s, &layer->o, &s->heads, &s->x, true);
  llm_norm(s, layer->ffn_norm);
  llm_multiply_gated(s, layer, &s->normed, &s->hidden);
  llm_multiply(s, &layer->down, &s->hidden, &s->x, true);
}

static void llm_submit_layers(struct llm_submit *s) {
  for (uint32_t i = 0; i < s->plan->layer_count && s->status == PTO_OK; i++) {
    s->status = pto_scope_begin(s->rt, PTO_SCOPE_AUTO);
    if (s->status == PTO_OK) llm_submit_layer(s, i);
    if (s->status == PTO_OK) s->status = pto_scope_end(s->rt);
  }
}

int llm_submit_step(struct pto_runtime *rt, const struct pto_bound *bound) {
  const struct llm_plan *plan = bound->context;
  const struct pto_tensor *o = bound->outputs, *step = &bound->inputs[LLM_STEP];
  struct llm_submit s = {.rt = rt,
                         .plan = plan,
                         .bound = bound,
                         .token = pto_tensor_slice(step, 0, 0, 1, 1),
                         .position = pto_tensor_slice(step, 0, 1, 2, 1)};
  s.x = llm_vector(&s, plan->dim);
  s.logits = plan->has_logits ? o[LLM_NEXT + plan->has_next] : llm_vector(&s, plan->vocab);
  const struct pto_tensor *table = &bound->constants[plan->embedding.first];
  struct pto_param embed[4] = {pto_input(table), pto_input(table + 1)};
  embed[plan->embedding.count] = pto_input(&s.token);
  embed[plan->embedding.count + 1] = pto_output(&s.x);
  llm_submit(&s, plan->embedding.count == 2 ? &llm_embed_int8 : &llm_embed, embed, plan->embedding.count + 2);
  llm_submit_layers(&s);
  llm_norm(&s, plan->final_norm);
  llm_multiply(&s, &plan->classifier, &s.normed, &s.logits, false);
  if (plan->has_next) {
    const struct pto_param most[] = {pto_input(&s.logits), pto_output(&o[LLM_NEXT]), pto_scalar_i64(0)};
    llm_submit(&s, llm_general.arg_max, most, 3);
  }
  return s.status;
}
