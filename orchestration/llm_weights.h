/* SPDX-License-Identifier: MIT */
/*
 * A model's weights as constant tensors of a context, and the plan that names them.
 *
 * Floats go over as they are.  q8_0, whose blocks hold a scale and 32 weights, becomes two tensors: int8 weights
 * [rows, columns] and f16 scales [rows, columns / 32].  Cosines and sines of each position are tables [positions,
 * width / 2], computed in double.  Memory here is the program run's; the tensors are the context's.
 */
#ifndef PTO_ORCHESTRATION_LLM_WEIGHTS_H
#define PTO_ORCHESTRATION_LLM_WEIGHTS_H

#include <orchestration/llm_model.h>
#include <orchestration/llm_step.h>

struct llm_weights {
  struct pto_program_run *run;
  struct pto_context *context;
  struct pto_device_tensor *tensors;
  uint32_t count;
  int status; /* of the first failure; the context has the sentence */
};

static uint32_t llm_add_constant(struct llm_weights *w, uint32_t dtype, uint64_t rows, uint64_t columns,
                                 const void *data) {
  const struct pto_device_tensor_desc desc = {
      .dtype = dtype, .ndims = rows ? 2 : 1, .shape = {rows ? rows : columns, rows ? columns : 0}};
  const uint64_t bytes = (rows ? rows : 1) * columns * pto_dtype_size(dtype);
  if (w->status == PTO_OK)
    w->status = pto_device_tensor_create_constant(w->context, &desc, data, bytes, &w->tensors[w->count]);
  return w->count++;
}

/* Blocks of a scale and 32 weights, taken apart. */
static struct llm_matrix llm_add_blocks(struct llm_weights *w, const struct pto_model_matrix *m) {
  const struct llm_matrix result = {w->count, 2};
  const uint64_t blocks = m->rows * m->columns / LLM_BLOCK, block_bytes = LLM_BLOCK + sizeof(uint16_t);
  signed char *weights = malloc(blocks * LLM_BLOCK + 1);
  uint16_t *scales = malloc(blocks * sizeof *scales + 1);
  const unsigned char *from = m->data;
  for (uint64_t b = 0; weights && scales && b < blocks; b++, from += block_bytes) {
    memcpy(&scales[b], from, sizeof *scales);
    memcpy(weights + b * LLM_BLOCK, from + sizeof *scales, LLM_BLOCK);
  }
  if (!weights || !scales) w->status = w->status ? w->status : PTO_ENOMEM;
  (void)llm_add_constant(w, PTO_INT8, m->rows, m->columns, weights);
  (void)llm_add_constant(w, PTO_FLOAT16, m->rows, m->columns / LLM_BLOCK, scales);
  free(weights);
  free(scales);
  return result;
}

static struct llm_matrix llm_add_matrix(struct llm_weights *w, const struct pto_model_matrix *m) {
  static const uint32_t dtypes[] = {
      [PTO_WEIGHT_F32] = PTO_FLOAT32, [PTO_WEIGHT_F16] = PTO_FLOAT16, [PTO_WEIGHT_BF16] = PTO_BFLOAT16};
  if (m->format == PTO_WEIGHT_Q8_0) return llm_add_blocks(w, m);
  return (struct llm_matrix){llm_add_constant(w, dtypes[m->format], m->rows, m->columns, m->data), 1};
}

static void llm_add_angles(struct llm_weights *w, const struct pto_language_model *model, uint64_t positions,
                           struct llm_plan *plan) {
  const uint64_t width = pto_model_head_width(model), pairs = width / 2;
  float *cosines = pto_program_alloc(w->run, positions * pairs * sizeof *cosines);
  float *sines = pto_program_alloc(w->run, positions * pairs * sizeof *sines);
  for (uint64_t i = 0; cosines && sines && i < positions * pairs; i++) {
    const double exponent = 2 * (double)(i % pairs) / (double)width;
    const double angle = (double)(i / pairs) / pow((double)model->rope_base, exponent);
    cosines[i] = (float)cos(angle);
    sines[i] = (float)sin(angle);
  }
  if (!cosines || !sines) w->status = w->status ? w->status : PTO_ENOMEM;
  plan->cosines = llm_add_constant(w, PTO_FLOAT32, positions, pairs, cosines);
  plan->sines = llm_add_constant(w, PTO_FLOAT32, positions, pairs, sines);
}

/* How many tensors llm_add_model makes at most. */
static uint32_t llm_most_constants(const struct pto_language_model *model) { return 16 * model->layer_count + 8; }

/* Device memory that they take, more or less, for the size of a context's. */
static uint64_t llm_weight_bytes(const struct pto_language_model *model) {
  const struct pto_model_matrix *shared[] = {&model->embedding, &model->classifier};
  uint64_t bytes = 0;
  for (int i = 0; i < 2; i++) bytes += shared[i]->rows * llm_row_bytes(shared[i]);
  for (uint32_t l = 0; l < model->layer_count; l++) {
    const struct pto_model_layer *layer = &model->layers[l];
    const struct pto_model_matrix *of_layer[] = {&layer->q,    &layer->k,  &layer->v,   &layer->o,
                                                 &layer->gate, &layer->up, &layer->down};
    for (size_t i = 0; i < LLM_COUNT(of_layer); i++) bytes += of_layer[i]->rows * llm_row_bytes(of_layer[i]);
  }
  return bytes;
}

/* PTO_OK, or why not, with the context's sentence where it is one of its refusals.  Fills what of the plan comes from
 * the model; plan->layers is memory for layer_count of them. */
static int llm_add_model(struct llm_weights *w, const struct pto_language_model *model, uint64_t positions,
                         struct llm_plan *plan) {
  plan->layer_count = model->layer_count;
  plan->kv_heads = model->kv_head_count;
  plan->dim = model->dim;
  plan->hidden_dim = model->hidden_dim;
  plan->kv_dim = pto_model_kv_dim(model);
  plan->vocab = model->vocab_size;
  plan->epsilon = model->norm_epsilon;
  plan->is_halves = model->rope_style == PTO_ROPE_HALVES;
  plan->embedding = llm_add_matrix(w, &model->embedding);
  plan->classifier =
      model->classifier.data == model->embedding.data ? plan->embedding : llm_add_matrix(w, &model->classifier);
  plan->final_norm = llm_add_constant(w, PTO_FLOAT32, 0, model->dim, model->final_norm);
  llm_add_angles(w, model, positions, plan);
  for (uint32_t i = 0; i < model->layer_count; i++) {
    const struct pto_model_layer *layer = &model->layers[i];
    struct llm_layer *to = &plan->layers[i];
    to->attention_norm = llm_add_constant(w, PTO_FLOAT32, 0, model->dim, layer->attention_norm);
    to->ffn_norm = llm_add_constant(w, PTO_FLOAT32, 0, model->dim, layer->ffn_norm);
    to->q = llm_add_matrix(w, &layer->q);
    to->k = llm_add_matrix(w, &layer->k);
    to->v = llm_add_matrix(w, &layer->v);
    to->o = llm_add_matrix(w, &layer->o);
    to->gate = llm_add_matrix(w, &layer->gate);
    to->up = llm_add_matrix(w, &layer->up);
    to->down = llm_add_matrix(w, &layer->down);
  }
  return w->status;
}

#endif
