/* SPDX-License-Identifier: MIT */
#include <formats/llm/llama_weights.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pto/tensor.h>
#include <runtime/base/base.h>

/* Outside the layers, by naming. */
static const char *const embedding_names[PTO_LLAMA_NAMING_COUNT] = {"model.embed_tokens.weight", "token_embd.weight"};
static const char *const classifier_names[PTO_LLAMA_NAMING_COUNT] = {"lm_head.weight", "output.weight"};
static const char *const norm_names[PTO_LLAMA_NAMING_COUNT] = {"model.norm.weight", "output_norm.weight"};
static const char *const layer_formats[PTO_LLAMA_NAMING_COUNT] = {"model.layers.%u.%s.weight", "blk.%u.%s.weight"};

const char *pto_llama_layer_name(char text[PTO_LLAMA_MAX_NAME_BYTES], enum pto_llama_naming naming, uint32_t layer,
                                 const char *name) {
  snprintf(text, PTO_LLAMA_MAX_NAME_BYTES, layer_formats[naming], layer, name);
  return text;
}

static const char *layer_name(char text[PTO_LLAMA_MAX_NAME_BYTES], enum pto_llama_naming naming, uint32_t layer,
                              const char *hugging_face, const char *gguf) {
  return pto_llama_layer_name(text, naming, layer, naming == PTO_LLAMA_GGUF ? gguf : hugging_face);
}

/* Reads tensor after tensor; the first mistake is kept. */
struct reading {
  const struct pto_llama_source *source;
  bool *is_used; /* by tensor */
  int status;
  struct pto_error *error;
};

static void find(struct reading *r, const char *name, struct pto_llama_tensor *out) {
  *out = (struct pto_llama_tensor){0};
  if (r->status) return;
  r->status = r->source->find(r->source->file, name, out, r->error);
  if (r->status) return;
  const uint32_t align = out->format == PTO_WEIGHT_F32 ? sizeof(float) : sizeof(uint16_t);
  r->is_used[out->index] = true;
  if ((uintptr_t)out->data % align)
    r->status =
        pto_error_set(r->error, PTO_EINVAL, "tensor \"%s\" is not aligned to %u bytes in the file", name, align);
}

/* ---- matrices ---- */

static struct pto_model_matrix read_matrix(struct reading *r, const char *name, uint64_t rows, uint64_t columns) {
  struct pto_llama_tensor tensor;
  find(r, name, &tensor);
  if (r->status) return (struct pto_model_matrix){0};
  if (tensor.ndims != 2 || tensor.shape[0] != rows || tensor.shape[1] != columns)
    r->status = pto_error_set(r->error, PTO_EINVAL,
                              "tensor \"%s\" of rank %u is [%" PRIu64 ", %" PRIu64 "], the sizes ask for [%" PRIu64
                              ", %" PRIu64 "]",
                              name, tensor.ndims, tensor.shape[0], tensor.shape[1], rows, columns);
  return (struct pto_model_matrix){.data = tensor.data, .format = tensor.format, .rows = rows, .columns = columns};
}

static void read_matrices(struct reading *r, struct pto_language_model *model) {
  const enum pto_llama_naming naming = r->source->naming;
  const uint64_t dim = model->dim, kv_dim = pto_model_kv_dim(model), hidden = model->hidden_dim;
  char name[PTO_LLAMA_MAX_NAME_BYTES];
  model->embedding = read_matrix(r, embedding_names[naming], model->vocab_size, dim);
  model->classifier =
      r->source->is_tied ? model->embedding : read_matrix(r, classifier_names[naming], model->vocab_size, dim);
  for (uint32_t i = 0; i < model->layer_count && !r->status; i++) {
    struct pto_model_layer *layer = &model->layers[i];
#define X(field, rows, columns, hugging_face, gguf)                                                                    \
  layer->field = read_matrix(r, layer_name(name, naming, i, hugging_face, gguf), rows, columns);
    PTO_LLAMA_MATRIX_LIST(X)
#undef X
  }
}

/* ---- norms ---- */

static float weight_at(const struct pto_llama_tensor *tensor, uint64_t i) {
  if (tensor->format == PTO_WEIGHT_F32) return ((const float *)tensor->data)[i];
  const uint16_t bits = ((const uint16_t *)tensor->data)[i];
  return tensor->format == PTO_WEIGHT_F16 ? pto_fp16_to_f32(bits) : pto_bf16_to_f32(bits);
}

static const float *read_norm(struct reading *r, const char *name, uint32_t dim, float *norm) {
  struct pto_llama_tensor tensor;
  find(r, name, &tensor);
  if (r->status) return NULL;
  if (tensor.ndims != 1 || tensor.shape[0] != dim)
    r->status = pto_error_set(r->error, PTO_EINVAL, "tensor \"%s\" of rank %u is [%" PRIu64 "], the sizes ask for [%u]",
                              name, tensor.ndims, tensor.shape[0], dim);
  else if (tensor.format == PTO_WEIGHT_Q8_0)
    r->status =
        pto_error_set(r->error, PTO_EINVAL, "tensor \"%s\" is a norm in q8_0; f32, f16 and bf16 are read", name);
  for (uint32_t i = 0; !r->status && i < dim; i++) norm[i] = weight_at(&tensor, i);
  return norm;
}

/* After the matrices: these are in the file, and larger than what is asked for here. */
static void read_norms(struct reading *r, struct pto_language_model *model) {
  const enum pto_llama_naming naming = r->source->naming;
#define X(field, hugging_face, gguf) +1
  const uint64_t of_layer = 0 PTO_LLAMA_NORM_LIST(X), count = model->layer_count * of_layer + 1;
#undef X
  char name[PTO_LLAMA_MAX_NAME_BYTES];
  float *norm = model->norms = calloc(count * model->dim, sizeof *model->norms);
  if (!norm) {
    r->status = pto_error_set(r->error, PTO_ENOMEM, "no memory for %" PRIu64 " norms of %u", count, model->dim);
    return;
  }
  for (uint32_t i = 0; i < model->layer_count && !r->status; i++) {
    struct pto_model_layer *layer = &model->layers[i];
#define X(field, hugging_face, gguf)                                                                                   \
  layer->field = read_norm(r, layer_name(name, naming, i, hugging_face, gguf), model->dim, norm);                      \
  norm += model->dim;
    PTO_LLAMA_NORM_LIST(X)
#undef X
  }
  model->final_norm = read_norm(r, norm_names[naming], model->dim, norm);
}

/* ---- all ---- */

static void refuse_others(struct reading *r) {
  const struct pto_llama_source *source = r->source;
  for (uint64_t i = 0; i < source->tensor_count && !r->status; i++) {
    uint32_t length;
    const char *name = source->name_of(source->file, i, &length);
    if (!r->is_used[i] && !source->is_spare(name, length))
      r->status = pto_error_set(r->error, PTO_EINVAL, "tensor \"%.*s\" is none of a Llama model with these sizes",
                                (int)length, name);
  }
}

int pto_llama_weights_read(struct pto_language_model *model, const struct pto_llama_source *source,
                           struct pto_error *error) {
  struct reading r = {.source = source, .error = error};
  r.is_used = calloc(source->tensor_count + 1, sizeof *r.is_used);
  model->layers = calloc(model->layer_count, sizeof *model->layers);
  if (!r.is_used || !model->layers)
    r.status = pto_error_set(error, PTO_ENOMEM, "no memory for %u layers", model->layer_count);
  if (!r.status) read_matrices(&r, model);
  if (!r.status) read_norms(&r, model);
  if (!r.status) refuse_others(&r);
  free(r.is_used);
  return r.status;
}
