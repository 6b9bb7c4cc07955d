/* SPDX-License-Identifier: MIT */
/*
 * Llama-style models in safetensors files, by their Hugging Face names.  Heads of q and k have halves as pairs.
 *
 * Sizes come from config.json beside the file, with the defaults of transformers' LlamaConfig.  Where there is none,
 * they are those of the tensors, if the file has the frequencies of the rotation, as older ones do: without them
 * nothing says how wide a head is.
 *
 * What is not read is refused: other kinds of models, biases, scaled rotations, heads of another width than hidden_size
 * / num_attention_heads, quantised weights, models in several files.
 */
#include <formats/llm/llama_weights.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <formats/json_read.h>
#include <formats/safetensors.h>
#include <runtime/base/base.h>

#define MOST_CONFIG_BYTES (UINT64_C(1) << 20)
/* Of transformers' LlamaConfig. */
#define ROPE_BASE 10000.0
#define NORM_EPSILON 1e-6
#define POSITIONS 2048u

#define FREQUENCIES "rotary_emb.inv_freq"

/* ---- tensors ---- */

static int find_tensor(const void *file, const char *name, struct pto_llama_tensor *out, struct pto_error *error) {
  const struct pto_safetensors *list = file;
  const struct pto_safetensors_tensor *tensor = pto_safetensors_get(list, name, error);
  if (!tensor) return PTO_EINVAL;
  *out = (struct pto_llama_tensor){.index = (uint64_t)(tensor - list->tensors),
                                   .data = tensor->data,
                                   .ndims = tensor->ndims,
                                   .shape = {tensor->shape[0], tensor->shape[1]}};
  switch (tensor->dtype) {
  case PTO_FLOAT32:
    out->format = PTO_WEIGHT_F32;
    return PTO_OK;
  case PTO_FLOAT16:
    out->format = PTO_WEIGHT_F16;
    return PTO_OK;
  case PTO_BFLOAT16:
    out->format = PTO_WEIGHT_BF16;
    return PTO_OK;
  default:
    return pto_error_set(error, PTO_EINVAL, "tensor \"%s\" is of %s; F32, F16 and BF16 are read", name,
                         tensor->dtype_name);
  }
}

static const char *name_of(const void *file, uint64_t index, uint32_t *length_out) {
  const char *name = ((const struct pto_safetensors *)file)->tensors[index].name;
  *length_out = (uint32_t)pto_min_u64(strlen(name), PTO_LLAMA_MAX_NAME_BYTES);
  return name;
}

/* Frequencies are computed, not read; a classifier that is left is that of a model whose embedding serves. */
static bool is_spare(const char *name, uint32_t length) {
  return strstr(name, FREQUENCIES) || strcmp(name, "lm_head.weight") == 0;
}

/* ---- config.json ---- */

static uint32_t optional(struct pto_json_reader *reader, json_t *config, const char *key, uint32_t value) {
  return pto_json_has(config, key) ? (uint32_t)pto_json_read_u64(reader, config, key, INT32_MAX) : value;
}

static uint32_t required(struct pto_json_reader *reader, json_t *config, const char *key) {
  return (uint32_t)pto_json_read_u64(reader, config, key, INT32_MAX);
}

static float optional_float(struct pto_json_reader *reader, json_t *config, const char *key, double value) {
  return (float)(pto_json_has(config, key) ? pto_json_read_number(reader, config, key) : value);
}

/* A string, where it is there, has to be `wanted`. */
static void check_string(struct pto_json_reader *reader, json_t *config, const char *key, const char *wanted) {
  if (!pto_json_has(config, key)) return;
  const char *string = pto_json_read_string(reader, config, key);
  if (strcmp(string, wanted) != 0)
    pto_json_read_refuse(reader, "\"%s\" is \"%.60s\", only \"%s\" is read", key, string, wanted);
}

static void check_false(struct pto_json_reader *reader, json_t *config, const char *key) {
  if (pto_json_has(config, key) && pto_json_read_bool(reader, config, key))
    pto_json_read_refuse(reader, "\"%s\" is true, which is not read", key);
}

/* Scaling of rotations: an object whose kind is "default". */
static void check_scaling(struct pto_json_reader *reader, json_t *config, const char *key) {
  if (!pto_json_has(config, key)) return;
  json_t *scaling = pto_json_read_object(reader, config, key);
  pto_json_read_at(reader, "%s", key);
  check_string(reader, scaling, pto_json_has(scaling, "type") ? "type" : "rope_type", "default");
  if (!pto_json_has(scaling, "type") && !pto_json_has(scaling, "rope_type"))
    pto_json_read_refuse(reader, "says neither \"rope_type\" nor \"type\"");
  pto_json_read_at(reader, "%s", "");
}

static void check_kind(struct pto_json_reader *reader, json_t *config) {
  check_string(reader, config, "model_type", "llama");
  check_string(reader, config, "hidden_act", "silu");
  check_false(reader, config, "attention_bias");
  check_false(reader, config, "mlp_bias");
  check_scaling(reader, config, "rope_scaling");
  check_scaling(reader, config, "rope_parameters");
  if (pto_json_has(config, "quantization_config"))
    pto_json_read_refuse(reader, "it has a \"quantization_config\": quantised weights are not read");
}

static void read_sizes(struct pto_json_reader *reader, json_t *config, struct pto_language_model *model) {
  model->dim = required(reader, config, "hidden_size");
  model->hidden_dim = required(reader, config, "intermediate_size");
  model->layer_count = required(reader, config, "num_hidden_layers");
  model->head_count = required(reader, config, "num_attention_heads");
  model->kv_head_count = optional(reader, config, "num_key_value_heads", model->head_count);
  model->vocab_size = required(reader, config, "vocab_size");
  model->sequence_length = optional(reader, config, "max_position_embeddings", POSITIONS);
  model->norm_epsilon = optional_float(reader, config, "rms_norm_eps", NORM_EPSILON);
  json_t *rotation = json_object_get(config, "rope_parameters");
  model->rope_base = optional_float(reader, rotation && pto_json_has(rotation, "rope_theta") ? rotation : config,
                                    "rope_theta", ROPE_BASE);
  const uint32_t width = optional(reader, config, "head_dim", 0);
  if (width && (uint64_t)width * model->head_count != model->dim)
    pto_json_read_refuse(reader, "\"head_dim\" %u times %u heads is not \"hidden_size\" %u", width, model->head_count,
                         model->dim);
}

static int read_config(struct pto_language_model *model, const char *path, bool *is_tied, struct pto_error *error) {
  struct pto_json_reader reader;
  json_t *config = pto_json_read_file(&reader, path, MOST_CONFIG_BYTES, error);
  if (!config) return reader.status;
  check_kind(&reader, config);
  read_sizes(&reader, config, model);
  *is_tied = pto_json_has(config, "tie_word_embeddings") && pto_json_read_bool(&reader, config, "tie_word_embeddings");
  json_decref(config);
  return reader.status;
}

/* ---- without it ---- */

/* 0 where there is no such tensor. */
static uint32_t extent(const struct pto_safetensors *list, const char *name, uint32_t dimension) {
  const struct pto_safetensors_tensor *tensor = pto_safetensors_find(list, name);
  return tensor && tensor->ndims > dimension ? (uint32_t)pto_min_u64(tensor->shape[dimension], INT32_MAX) : 0;
}

static uint32_t count_layers(const struct pto_safetensors *list) {
  char name[PTO_LLAMA_MAX_NAME_BYTES];
  uint32_t count = 0;
  while (count <= PTO_MODEL_MAX_LAYERS &&
         pto_safetensors_find(list, pto_llama_layer_name(name, PTO_LLAMA_HUGGING_FACE, count, "self_attn.q_proj")))
    count++;
  return count;
}

/* Element 1 is base^(−2 / width), so base = (1 / element)^(width / 2), a whole number. */
static float base_of(const struct pto_safetensors_tensor *frequencies, uint32_t width) {
  float element = 0;
  if (width < 4) return ROPE_BASE;
  memcpy(&element, (const char *)frequencies->data + sizeof element, sizeof element);
  return (float)round(pow(1.0 / (double)element, width / 2));
}

static int infer_sizes(struct pto_language_model *model, const struct pto_safetensors *list, bool *is_tied,
                       struct pto_error *error) {
  const char *name = "model.layers.0.self_attn." FREQUENCIES;
  const struct pto_safetensors_tensor *frequencies = pto_safetensors_find(list, name);
  if (!frequencies || frequencies->dtype != PTO_FLOAT32 || frequencies->ndims != 1 || frequencies->shape[0] == 0 ||
      frequencies->shape[0] > PTO_MODEL_MAX_WIDTH)
    return pto_error_set(error, PTO_EINVAL,
                         "there is no config.json beside it, and no tensor \"%s\" that says how wide a head is", name);
  const uint32_t width = 2 * (uint32_t)frequencies->shape[0];
  model->vocab_size = extent(list, "model.embed_tokens.weight", 0);
  model->dim = extent(list, "model.embed_tokens.weight", 1);
  model->hidden_dim = extent(list, "model.layers.0.mlp.gate_proj.weight", 0);
  model->layer_count = count_layers(list);
  model->head_count = model->dim / width;
  model->kv_head_count = extent(list, "model.layers.0.self_attn.k_proj.weight", 0) / width;
  model->sequence_length = POSITIONS;
  model->norm_epsilon = (float)NORM_EPSILON;
  model->rope_base = base_of(frequencies, width);
  *is_tied = !pto_safetensors_find(list, "lm_head.weight");
  return PTO_OK;
}

/* ---- all ---- */

/* config.json in the folder of `path`; PTO_EINVAL where that is too long. */
static int find_config(const char *path, char *config, size_t size, struct pto_error *error) {
  const char *slash = strrchr(path, '/');
  const int length = slash ? (int)(slash - path) + 1 : 0;
  if (snprintf(config, size, "%.*sconfig.json", length, path) < (int)size) return PTO_OK;
  return pto_error_set(error, PTO_EINVAL, "its path is too long for a config.json beside it");
}

static int read_model(struct pto_language_model *model, const struct pto_safetensors *list, const char *path,
                      struct pto_error *error) {
  struct pto_llama_source source = {.file = list,
                                    .naming = PTO_LLAMA_HUGGING_FACE,
                                    .tensor_count = list->tensor_count,
                                    .find = find_tensor,
                                    .name_of = name_of,
                                    .is_spare = is_spare};
  char config[4096];
  int status = find_config(path, config, sizeof config, error);
  if (status) return status;
  status = access(config, F_OK) == 0 ? read_config(model, config, &source.is_tied, error)
                                     : infer_sizes(model, list, &source.is_tied, error);
  model->rope_style = PTO_ROPE_HALVES;
  if (!status) status = pto_model_check_sizes(model, error);
  return status ? status : pto_llama_weights_read(model, &source, error);
}

int pto_llama_safetensors_read(struct pto_language_model *model, const char *path, struct pto_error *error) {
  struct pto_safetensors list;
  int status = pto_safetensors_init_memory(&list, "header", model->file.data, model->file.size_bytes, error);
  if (status) return status;
  status = read_model(model, &list, path, error);
  pto_safetensors_fini(&list);
  return status;
}
