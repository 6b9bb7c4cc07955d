/* SPDX-License-Identifier: MIT */
/*
 * One step of a Llama-style decoder: H. Touvron et al., "LLaMA: Open and Efficient Foundation Language Models", 2023
 * (RMS norm before each part, SwiGLU), with rotary positions (J. Su et al., "RoFormer", 2021) and heads that share keys
 * and values (J. Ainslie et al., "GQA", 2023).
 *
 * Weights come from the seed, or from a file that pto_language_model_read reads, which then has the sizes too; what is
 * not float32 there becomes it.  Matrices are [rows, columns], as such files have them: y = x · Wᵀ.
 *
 * Inputs: "token" and "position", int32 [1], and for each layer its cache, "past_key0" and "past_value0" …, float32
 * [kv_heads, window, width / heads].  Outputs: "logits" [1, vocabulary], and the caches, "key0", "value0" ….
 */
#include <graph/models/decoder_parts.h>

#include <stdlib.h>
#include <string.h>

#include <formats/llm/language_model.h>

const struct pto_graph_model_option pto_graph_model_options_llama[] = {
    {"layers", "blocks", 1, 128, 4, NULL},
    {"width", "of a token's vector", 2, 16384, 512, NULL},
    {"hidden", "width within the second part of a block", 1, 65536, 1376, NULL},
    {"heads", "of attention; the width is an even multiple", 1, 256, 8, NULL},
    {"kv_heads", "of keys and values; the heads are a multiple", 1, 256, 4, NULL},
    {"window", "positions that the cache holds; of a file, at most its own", 1, 65536, 256, NULL},
    {"vocabulary", "tokens", 1, 1000000, 4096, NULL},
    {"halves", "1: elements i and i + width / 2 of a head turn together, 0: 2i and 2i + 1", 0, 1, 0, NULL},
    {"file", "a language model whose sizes and weights these are", 0, 0, 0, ""},
    {0}};

struct llama {
  struct pto_graph_model *model;
  struct pto_graph_builder *builder;
  const struct pto_language_model *file; /* NULL: weights from the seed */
  uint64_t width, hidden, layers, vocabulary;
  double rope_base, epsilon;
  struct pto_model_attention attention;
  struct pto_model_rotation rotation;
};

/* ---- weights ---- */

static struct pto_graph_operand matrix_of(struct llama *m, const char *name, const struct pto_model_matrix *matrix,
                                          uint64_t rows, uint64_t columns, double scale) {
  const uint64_t shape[] = {rows, columns};
  const struct pto_graph_operand none = {0, 0};
  if (!m->file) return pto_graph_model_weights(m->model, name, 2, shape, scale);
  if (m->model->error.status) return none;
  float *data = malloc(rows * columns * sizeof *data);
  if (!data) {
    pto_graph_model_refuse(m->model, PTO_ENOMEM, "out of memory");
    return none;
  }
  for (uint64_t i = 0; i < rows * columns; i++) data[i] = pto_model_element(matrix, i);
  const struct pto_graph_operand operand = pto_graph_model_constant(m->model, name, PTO_FLOAT32, 2, shape, data);
  free(data);
  return operand;
}

/* x · weightᵀ. */
static struct pto_graph_operand project(struct llama *m, const char *name, struct pto_graph_operand x,
                                        const struct pto_model_matrix *matrix, uint64_t rows, uint64_t columns) {
  const struct pto_gemm_options options = {.label = name, .b_transpose = PTO_FLAG_YES};
  const struct pto_graph_operand weight = matrix_of(m, pto_graph_model_name(m->model, "%s.weight", name), matrix, rows,
                                                    columns, pto_graph_model_scale(columns, 1));
  return pto_graph_builder_gemm(m->builder, x, weight, &options);
}

static struct pto_graph_operand normalize(struct llama *m, const char *name, struct pto_graph_operand x,
                                          const float *weights) {
  const char *weight_name = pto_graph_model_name(m->model, "%s.weight", name);
  const struct pto_graph_operand weight =
      m->file ? pto_graph_model_constant(m->model, weight_name, PTO_FLOAT32, 1, &m->width, weights)
              : pto_graph_model_vector(m->model, weight_name, m->width, 1, 0.1);
  return pto_model_rms_norm(m->model, name, x, weight, m->epsilon);
}

/* ---- blocks ---- */

static struct pto_graph_operand attend(struct llama *m, uint32_t layer, const struct pto_model_layer *weights,
                                       struct pto_graph_operand x) {
  const struct pto_model_attention *a = &m->attention;
  const uint64_t kv_width = a->kv_heads * a->head_width;
  struct pto_graph_operand query =
      project(m, pto_graph_model_name(m->model, "block%u.query", layer), x, &weights->q, m->width, m->width);
  struct pto_graph_operand key =
      project(m, pto_graph_model_name(m->model, "block%u.key", layer), x, &weights->k, kv_width, m->width);
  const struct pto_graph_operand value =
      project(m, pto_graph_model_name(m->model, "block%u.value", layer), x, &weights->v, kv_width, m->width);
  query = pto_model_rotate(&m->rotation, m->model, query, a->heads);
  key = pto_model_rotate(&m->rotation, m->model, key, a->kv_heads);
  const struct pto_graph_operand keys = pto_model_cache(a, "key", layer, key);
  const struct pto_graph_operand values = pto_model_cache(a, "value", layer, value);
  x = pto_model_attend(a, layer, query, keys, values);
  return project(m, pto_graph_model_name(m->model, "block%u.attention", layer), x, &weights->o, m->width, m->width);
}

/* down · (silu(gate · x) · (up · x)), silu(z) = z · sigmoid(z). */
static struct pto_graph_operand feed_forward(struct llama *m, uint32_t layer, const struct pto_model_layer *weights,
                                             struct pto_graph_operand x) {
  struct pto_graph_builder *b = m->builder;
  struct pto_graph_operand gate =
      project(m, pto_graph_model_name(m->model, "block%u.gate", layer), x, &weights->gate, m->hidden, m->width);
  const struct pto_graph_operand up =
      project(m, pto_graph_model_name(m->model, "block%u.up", layer), x, &weights->up, m->hidden, m->width);
  gate = pto_graph_builder_mul(b, gate, pto_graph_builder_sigmoid(b, gate, NULL), NULL);
  x = pto_graph_builder_mul(b, gate, up, NULL);
  return project(m, pto_graph_model_name(m->model, "block%u.down", layer), x, &weights->down, m->width, m->hidden);
}

static struct pto_graph_operand block(struct llama *m, uint32_t layer, struct pto_graph_operand x) {
  static const struct pto_model_layer none;
  const struct pto_model_layer *weights = m->file ? &m->file->layers[layer] : &none;
  struct pto_graph_operand h =
      normalize(m, pto_graph_model_name(m->model, "block%u.norm1", layer), x, weights->attention_norm);
  x = pto_graph_builder_add(m->builder, x, attend(m, layer, weights, h), NULL);
  h = normalize(m, pto_graph_model_name(m->model, "block%u.norm2", layer), x, weights->ffn_norm);
  return pto_graph_builder_add(m->builder, x, feed_forward(m, layer, weights, h), NULL);
}

/* ---- the model ---- */

static void take_options(struct llama *m) {
  struct pto_model_attention *a = &m->attention;
  m->width = pto_graph_model_option(m->model, "width");
  m->hidden = pto_graph_model_option(m->model, "hidden");
  m->layers = pto_graph_model_option(m->model, "layers");
  m->vocabulary = pto_graph_model_option(m->model, "vocabulary");
  m->rotation.is_halves = pto_graph_model_option(m->model, "halves") != 0;
  m->rope_base = 10000;
  m->epsilon = 1e-5;
  a->heads = pto_graph_model_option(m->model, "heads");
  a->kv_heads = pto_graph_model_option(m->model, "kv_heads");
  a->window = pto_graph_model_option(m->model, "window");
}

static void take_sizes(struct llama *m, const struct pto_language_model *file) {
  struct pto_model_attention *a = &m->attention;
  m->width = file->dim;
  m->hidden = file->hidden_dim;
  m->layers = file->layer_count;
  m->vocabulary = file->vocab_size;
  m->rotation.is_halves = file->rope_style == PTO_ROPE_HALVES;
  m->rope_base = (double)file->rope_base;
  m->epsilon = (double)file->norm_epsilon;
  a->heads = file->head_count;
  a->kv_heads = file->kv_head_count;
  if (a->window > file->sequence_length) a->window = file->sequence_length;
  m->file = file;
}

static void build(struct llama *m) {
  const struct pto_graph_desc one = {PTO_INT32, 1, {1}};
  const struct pto_language_model *file = m->file;
  m->attention.head_width = m->rotation.head_width = m->width / m->attention.heads;
  if (m->width % (2 * m->attention.heads) != 0 || m->attention.heads % m->attention.kv_heads != 0) {
    pto_graph_model_refuse(m->model, PTO_EINVAL,
                           "the width is no even multiple of the heads, or these are none of the kv_heads");
    return;
  }
  const struct pto_graph_operand token = pto_graph_builder_input(m->builder, "token", &one);
  const struct pto_graph_operand position = pto_graph_builder_input(m->builder, "position", &one);
  const struct pto_graph_operand embedding =
      matrix_of(m, "tokens.weight", file ? &file->embedding : NULL, m->vocabulary, m->width, 1);
  pto_model_attention_init(&m->attention, position);
  pto_model_rotation_init(&m->rotation, m->model, position, m->attention.window, m->rope_base);
  struct pto_graph_operand x = pto_graph_builder_gather(m->builder, embedding, token, NULL);
  for (uint32_t layer = 0; layer < m->layers && !m->model->error.status; layer++) x = block(m, layer, x);
  x = normalize(m, "norm", x, file ? file->final_norm : NULL);
  x = project(m, "logits", x, file ? &file->classifier : NULL, m->vocabulary, m->width);
  pto_graph_model_output(m->model, x, "logits");
}

void pto_graph_model_build_llama(struct pto_graph_model *model) {
  struct llama m = {.model = model, .builder = model->builder};
  struct pto_language_model file = {0};
  static const struct pto_model_attention nothing;
  const char *path = pto_graph_model_text(model, "file");
  m.attention = nothing;
  m.attention.model = model;
  take_options(&m);
  if (path[0]) {
    model->error.status = pto_language_model_read(&file, path, model->error.sentence, sizeof model->error.sentence);
    if (model->error.status) return;
  }
  if (path[0]) take_sizes(&m, &file);
  if (m.layers > PTO_GRAPH_MODEL_MAX_LAYERS)
    pto_graph_model_refuse(model, PTO_EINVAL, "it has more layers than are made");
  else
    build(&m);
  pto_language_model_fini(&file);
}
