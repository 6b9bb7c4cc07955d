/* SPDX-License-Identifier: MIT */
#include <orchestration/llm/step.h>

#include <orchestration/llm/kernels.h>
#include <orchestration/support/program.h>

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
  /* Of one layer and share: with tensors that last longer, tiles that are written would have an edge to every reader of
   * the whole in earlier layers, for no write covers what these have read. */
  struct pto_tensor normed, query, key, value, heads, hidden;
  struct pto_tensor added; /* to x, by a rank that is not the first */
  int status;
};

/* A tensor of f32 that gets its memory from the task that writes it, or before it. */
static struct pto_tensor llm_vector(const struct llm_submit *s, uint64_t count) {
  return temporary_vector(s->rt, PTO_FLOAT32, count);
}

static void llm_submit(struct llm_submit *s, const struct pto_kernel *kernel, const struct pto_param *params,
                       uint32_t count) {
  if (s->status == PTO_OK) s->status = pto_submit_aiv(s->rt, kernel, params, count);
}

static uint64_t llm_tile_rows(const struct llm_submit *s, const struct llm_matrix *m, uint64_t rows) {
  const struct pto_tensor *matrix = &s->bound->constants[m->first];
  const uint64_t row_bytes = matrix->shape[1] * pto_dtype_size(matrix->dtype);
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

/* The kernel on tiles of rows: of each of the matrices, with all of x, to the same rows of y. */
static void llm_submit_tiles(struct llm_submit *s, const struct pto_kernel *kernel,
                             const struct llm_matrix *const matrices[2], const struct pto_tensor *x,
                             const struct pto_tensor *y, bool is_added) {
  const uint64_t rows = y->shape[0], step = llm_tile_rows(s, matrices[0], rows);
  if (!is_added) llm_allocate(s, y, step);
  for (uint64_t first = 0; first < rows && s->status == PTO_OK; first += step) {
    const uint64_t tile = first + step < rows ? step : rows - first;
    const struct pto_tensor out = rows_of(y, first, tile);
    struct pto_tensor tiles[4];
    struct pto_param params[6];
    uint32_t count = 0;
    for (int m = 0; m < 2 && matrices[m]; m++)
      for (uint32_t i = 0; i < matrices[m]->count; i++, count++) {
        tiles[count] = rows_of(&s->bound->constants[matrices[m]->first + i], matrices[m]->first_row + first, tile);
        params[count] = pto_input(&tiles[count]);
      }
    params[count++] = pto_input(x);
    params[count++] = is_added ? pto_accumulate(&out) : pto_output(&out);
    llm_submit(s, kernel, params, count);
  }
}

/* y = m·x, or y += m·x. */
static void llm_multiply(struct llm_submit *s, const struct llm_matrix *m, const struct pto_tensor *x,
                         const struct pto_tensor *y, bool is_added) {
  const struct pto_kernel *kernels[2][2] = {{llm_general.matvec, llm_general.matvec_accumulate},
                                            {llm_general.matvec_int8, llm_general.matvec_int8_accumulate}};
  llm_submit_tiles(s, kernels[m->count - 1][is_added], (const struct llm_matrix *const[]){m, NULL}, x, y, is_added);
}

static void llm_multiply_gated(struct llm_submit *s, const struct llm_part *layer, const struct pto_tensor *x,
                               const struct pto_tensor *hidden) {
  static const struct pto_kernel *const kernels[2][2] = {{&llm_gate_and_up, &llm_gate_and_int8_up},
                                                         {&llm_gate_int8_and_up, &llm_gate_and_up_int8}};
  llm_submit_tiles(s, kernels[layer->gate.count - 1][layer->up.count - 1],
                   (const struct llm_matrix *const[]){&layer->gate, &layer->up}, x, hidden, false);
}

static void llm_norm(struct llm_submit *s, uint32_t weight) {
  s->normed = llm_vector(s, s->plan->model->dim);
  llm_submit(s, llm_general.rmsnorm,
             PARAMS(pto_input(&s->x), pto_input(&s->bound->constants[weight]), pto_output(&s->normed),
                    pto_scalar_f32(s->plan->model->norm_epsilon)));
}

static void llm_attention(struct llm_submit *s, uint32_t index, uint32_t share) {
  const struct pto_bound *b = s->bound;
  const struct pto_tensor *o = b->outputs, *q = &s->query, *heads = &s->heads;
  const uint64_t kv_heads = s->plan->shares[share].kv_heads, first_head = share * kv_heads;
  const struct pto_tensor layer_keys = part_of(&o[LLM_K_NEXT], index), layer_values = part_of(&o[LLM_V_NEXT], index);
  const struct pto_tensor keys = rows_of(&layer_keys, first_head, kv_heads);
  const struct pto_tensor values = rows_of(&layer_values, first_head, kv_heads);
  if (s->plan->is_carried) {
    const struct pto_tensor from_layer_keys = part_of(&b->inputs[LLM_K_FROM], index);
    const struct pto_tensor from_layer_values = part_of(&b->inputs[LLM_V_FROM], index);
    const struct pto_tensor from_keys = rows_of(&from_layer_keys, first_head, kv_heads);
    const struct pto_tensor from_values = rows_of(&from_layer_values, first_head, kv_heads);
    llm_submit(s, &llm_carry_row,
               PARAMS(pto_input(&from_keys), pto_input(&from_values), pto_input(&s->position), pto_inout(&keys),
                      pto_inout(&values)));
  }
  llm_submit(s, &llm_rotate_and_store,
             PARAMS(pto_inout(q), pto_input(&s->key), pto_input(&s->value), pto_input(&b->constants[s->plan->cosines]),
                    pto_input(&b->constants[s->plan->sines]), pto_input(&s->position), pto_inout(&keys),
                    pto_inout(&values), pto_scalar_u64(s->plan->model->rope_style == PTO_ROPE_HALVES)));
  const uint64_t group = q->shape[0] / kv_heads;
  const uint64_t head_bytes = 2 * keys.shape[1] * keys.shape[2] * sizeof(float);
  const uint64_t step = (LLM_TILE_BYTES + head_bytes - 1) / head_bytes;
  llm_allocate(s, heads, step * group);
  for (uint64_t first = 0; first < kv_heads; first += step) {
    const uint64_t some = first + step < kv_heads ? step : kv_heads - first;
    const struct pto_tensor part = rows_of(q, first * group, some * group);
    const struct pto_tensor out = rows_of(heads, first * group, some * group);
    const struct pto_tensor some_keys = rows_of(&keys, first, some), some_values = rows_of(&values, first, some);
    llm_submit(s, &llm_attend,
               PARAMS(pto_input(&part), pto_input(&some_keys), pto_input(&some_values), pto_input(&s->position),
                      pto_output(&out)));
  }
}

/* What the share adds to x: m·vector. */
static void llm_add(struct llm_submit *s, uint32_t share, const struct llm_matrix *m, const struct pto_tensor *vector) {
  const bool has_x = s->plan->shares[0].index == 0;
  if (!has_x) s->added = llm_vector(s, s->plan->model->dim);
  llm_multiply(s, m, vector, has_x ? &s->x : &s->added, has_x);
}

/* x is whole again on each rank: one phase has the least latency, and the vector is short. */
static void llm_reduce(struct llm_submit *s) {
  const struct pto_tensor *own = s->plan->shares[0].index == 0 ? &s->x : &s->added;
  if (s->plan->is_rank && s->status == PTO_OK)
    s->status = pto_submit_all_reduce(s->rt, s->plan->comm, own, &s->x, PTO_REDUCE_SUM, PTO_ALL_REDUCE_ONE_PHASE);
}

static void llm_submit_attention(struct llm_submit *s, uint32_t index, uint32_t share) {
  const struct llm_part *part = &s->plan->layers[index].parts[share];
  const struct llm_share *its = &s->plan->shares[share];
  const uint64_t width = pto_model_head_width(s->plan->model);
  s->query = llm_vector(s, its->heads * width);
  s->key = llm_vector(s, its->kv_heads * width);
  s->value = llm_vector(s, its->kv_heads * width);
  s->heads = llm_vector(s, its->heads * width);
  llm_multiply(s, &part->q, &s->normed, &s->query, false);
  llm_multiply(s, &part->k, &s->normed, &s->key, false);
  llm_multiply(s, &part->v, &s->normed, &s->value, false);
  llm_attention(s, index, share);
  llm_add(s, share, &part->o, &s->heads);
}

static void llm_submit_layer(struct llm_submit *s, uint32_t index) {
  const struct llm_layer *layer = &s->plan->layers[index];
  llm_norm(s, layer->attention_norm);
  for (uint32_t i = 0; i < s->plan->share_count; i++) llm_submit_attention(s, index, i);
  llm_reduce(s);
  llm_norm(s, layer->ffn_norm);
  for (uint32_t i = 0; i < s->plan->share_count; i++) {
    s->hidden = llm_vector(s, s->plan->shares[i].hidden);
    llm_multiply_gated(s, &layer->parts[i], &s->normed, &s->hidden);
    llm_add(s, i, &layer->parts[i].down, &s->hidden);
  }
  llm_reduce(s);
}

static void llm_submit_layers(struct llm_submit *s) {
  for (uint32_t i = 0; i < s->plan->model->layer_count && s->status == PTO_OK; i++) {
    s->status = pto_scope_begin(s->rt, PTO_SCOPE_AUTO);
    if (s->status == PTO_OK) llm_submit_layer(s, i);
    if (s->status == PTO_OK) s->status = pto_scope_end(s->rt);
  }
}

static void llm_classify(struct llm_submit *s) {
  const struct llm_plan *plan = s->plan;
  const uint32_t vocab = plan->model->vocab_size, tokens = plan->is_rank ? plan->shares[0].tokens : vocab;
  const struct pto_tensor own = tokens < vocab ? llm_vector(s, tokens) : s->logits;
  llm_multiply(s, &plan->classifier, &s->normed, &own, false);
  if (tokens < vocab && s->status == PTO_OK) s->status = pto_submit_all_gather(s->rt, plan->comm, &own, &s->logits);
}

/* Which all ranks make, in their first step. */
static int llm_make_comm(struct pto_runtime *rt, struct llm_plan *plan) {
  const uint64_t dim = plan->model->dim, vocab = plan->model->vocab_size, most = dim > vocab ? dim : vocab;
  const int status = pto_comm_create_for_collectives(rt, NULL, 0, most * sizeof(float), &plan->comm);
  plan->has_comm = status == PTO_OK;
  return status;
}

int llm_submit_step(struct pto_runtime *rt, const struct pto_bound *bound) {
  struct llm_plan *plan = bound->context;
  const struct pto_tensor *o = bound->outputs, *step = &bound->inputs[LLM_STEP];
  struct llm_submit s = {
      .rt = rt, .plan = plan, .bound = bound, .token = rows_of(step, 0, 1), .position = rows_of(step, 1, 1)};
  if (plan->is_rank && !plan->has_comm) s.status = llm_make_comm(rt, plan);
  s.x = llm_vector(&s, plan->model->dim);
  s.logits = plan->has_logits ? o[LLM_NEXT + plan->has_next] : llm_vector(&s, plan->model->vocab_size);
  const struct pto_tensor *table = &bound->constants[plan->embedding.first];
  struct pto_param embed[4] = {pto_input(table), pto_input(table + 1)};
  embed[plan->embedding.count] = pto_input(&s.token);
  embed[plan->embedding.count + 1] = pto_output(&s.x);
  llm_submit(&s, plan->embedding.count == 2 ? &llm_embed_int8 : &llm_embed, embed, plan->embedding.count + 2);
  llm_submit_layers(&s);
  llm_norm(&s, plan->final_norm);
  llm_classify(&s);
  if (plan->has_next)
    llm_submit(&s, llm_general.arg_max, PARAMS(pto_input(&s.logits), pto_output(&o[LLM_NEXT]), pto_scalar_i64(0)));
  return s.status;
}
