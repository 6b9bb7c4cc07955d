/* SPDX-License-Identifier: MIT */
#include <orchestration/llm/oracle.h>

#include <math.h>

#include <orchestration/llm/kernels.h>

bool llm_oracle_init(struct llm_oracle *o, struct pto_program_run *run, const struct pto_language_model *model,
                     uint64_t positions) {
  const uint64_t dim = model->dim, hidden = model->hidden_dim;
  const uint64_t cache = model->layer_count * positions * pto_model_kv_dim(model);
  const uint64_t sizes[] = {dim, dim, dim, dim, hidden, hidden, positions, dim + hidden, cache, cache};
  double **const all[] = {&o->x,  &o->normed, &o->q,   &o->heads, &o->gate,
                          &o->up, &o->scores, &o->row, &o->keys,  &o->values};
  o->model = model;
  o->positions = positions;
  for (size_t i = 0; i < LENGTH(sizes); i++)
    if (!(*all[i] = pto_program_alloc(run, sizes[i] * sizeof(double)))) return false;
  return true;
}

static void llm_exact_row(const struct pto_model_matrix *m, uint64_t row, double *to) {
  for (uint64_t c = 0; c < m->columns; c++) to[c] = (double)pto_model_element(m, row * m->columns + c);
}

static void llm_exact_product(struct llm_oracle *o, double *y, const struct pto_model_matrix *w, const double *x) {
  for (uint64_t r = 0; r < w->rows; r++) {
    double sum = 0;
    llm_exact_row(w, r, o->row);
    for (uint64_t c = 0; c < w->columns; c++) sum += o->row[c] * x[c];
    y[r] = sum;
  }
}

static void llm_exact_norm(const struct llm_oracle *o, const float *weight) {
  const uint32_t n = o->model->dim;
  double sum = 0;
  for (uint32_t i = 0; i < n; i++) sum += o->x[i] * o->x[i];
  for (uint32_t i = 0; i < n; i++)
    o->normed[i] = o->x[i] / sqrt(sum / n + (double)o->model->norm_epsilon) * (double)weight[i];
}

static void llm_exact_turn(const struct llm_oracle *o, double *vector, uint64_t count, uint64_t position) {
  const uint64_t width = pto_model_head_width(o->model), pairs = width / 2;
  const bool is_halves = o->model->rope_style == PTO_ROPE_HALVES;
  for (uint64_t i = 0; i < count / 2; i++) {
    const uint64_t pair = i % pairs, head = i / pairs * width;
    double *a = &vector[head + (is_halves ? pair : 2 * pair)], *b = a + (is_halves ? pairs : 1);
    const double angle = (double)position / pow((double)o->model->rope_base, 2 * (double)pair / (double)width);
    const double c = cos(angle), s = sin(angle), old = *a;
    *a = old * c - *b * s;
    *b = old * s + *b * c;
  }
}

static void llm_exact_attend(const struct llm_oracle *o, const double *keys, const double *values, uint64_t position) {
  const struct pto_language_model *m = o->model;
  const uint64_t width = pto_model_head_width(m), kv_dim = pto_model_kv_dim(m);
  for (uint64_t h = 0; h < m->head_count; h++) {
    const uint64_t shared = h / (m->head_count / m->kv_head_count) * width;
    double most = -INFINITY, sum = 0, *out = o->heads + h * width;
    for (uint64_t t = 0; t <= position; t++) {
      o->scores[t] = 0;
      for (uint64_t i = 0; i < width; i++) o->scores[t] += o->q[h * width + i] * keys[t * kv_dim + shared + i];
      o->scores[t] /= sqrt((double)width);
      most = fmax(most, o->scores[t]);
    }
    for (uint64_t i = 0; i < width; i++) out[i] = 0;
    for (uint64_t t = 0; t <= position; t++) {
      const double weight = exp(o->scores[t] - most);
      sum += weight;
      for (uint64_t i = 0; i < width; i++) out[i] += weight * values[t * kv_dim + shared + i];
    }
    for (uint64_t i = 0; i < width; i++) out[i] /= sum;
  }
}

static void llm_exact_layer(struct llm_oracle *o, uint64_t index, uint64_t position) {
  const struct pto_language_model *m = o->model;
  const struct pto_model_layer *l = &m->layers[index];
  const uint64_t kv_dim = pto_model_kv_dim(m), first = index * o->positions * kv_dim;
  double *keys = o->keys + first, *values = o->values + first;
  llm_exact_norm(o, l->attention_norm);
  llm_exact_product(o, o->q, &l->q, o->normed);
  llm_exact_product(o, keys + position * kv_dim, &l->k, o->normed);
  llm_exact_product(o, values + position * kv_dim, &l->v, o->normed);
  llm_exact_turn(o, o->q, m->dim, position);
  llm_exact_turn(o, keys + position * kv_dim, kv_dim, position);
  llm_exact_attend(o, keys, values, position);
  llm_exact_product(o, o->normed, &l->o, o->heads);
  for (uint32_t i = 0; i < m->dim; i++) o->x[i] += o->normed[i];
  llm_exact_norm(o, l->ffn_norm);
  llm_exact_product(o, o->gate, &l->gate, o->normed);
  llm_exact_product(o, o->up, &l->up, o->normed);
  for (uint32_t i = 0; i < m->hidden_dim; i++) o->gate[i] *= o->up[i] / (1 + exp(-o->gate[i]));
  llm_exact_product(o, o->normed, &l->down, o->gate);
  for (uint32_t i = 0; i < m->dim; i++) o->x[i] += o->normed[i];
}

void llm_oracle_step(struct llm_oracle *o, uint32_t token, uint64_t position, double *logits) {
  llm_exact_row(&o->model->embedding, token, o->x);
  for (uint64_t i = 0; i < o->model->layer_count; i++) llm_exact_layer(o, i, position);
  llm_exact_norm(o, o->model->final_norm);
  llm_exact_product(o, logits, &o->model->classifier, o->normed);
}
