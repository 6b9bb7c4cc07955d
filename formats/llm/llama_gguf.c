/* SPDX-License-Identifier: MIT */
/*
 * Llama-style models in GGUF files: general.architecture "llama", its keys "llama.…", tensors "blk.N.…".  Heads of q
 * and k have neighbours as pairs: the writer of such a file puts the rows so.
 *
 * What is not read is refused: other architectures, several experts, scaled rotations, heads of another width than dim
 * / heads, files in parts, other formats of weights than f32, f16, bf16 and q8_0.
 */
#include <formats/llm/llama_weights.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <formats/llm/gguf.h>
#include <runtime/base/base.h>

#define ROPE_BASE 10000.0

/* ---- tensors ---- */

static int find_tensor(const void *file, const char *name, struct pto_llama_tensor *out, struct pto_error *error) {
  static const struct {
    uint32_t type, format;
  } formats[] = {{PTO_GGUF_F32, PTO_WEIGHT_F32},
                 {PTO_GGUF_F16, PTO_WEIGHT_F16},
                 {PTO_GGUF_BF16, PTO_WEIGHT_BF16},
                 {PTO_GGUF_Q8_0, PTO_WEIGHT_Q8_0}};
  const struct pto_gguf *gguf = file;
  const struct pto_gguf_tensor *tensor = pto_gguf_find_tensor(gguf, name);
  char text[32];
  if (!tensor) return pto_error_set(error, PTO_EINVAL, "there is no tensor \"%s\"", name);
  *out = (struct pto_llama_tensor){.index = (uint64_t)(tensor - gguf->tensors),
                                   .data = tensor->data,
                                   .ndims = tensor->ndims,
                                   .shape = {tensor->shape[0], tensor->shape[1]}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(formats); i++)
    if (formats[i].type == tensor->type) {
      out->format = formats[i].format;
      return PTO_OK;
    }
  return pto_error_set(error, PTO_EINVAL, "tensor \"%s\" is of %s; F32, F16, BF16 and Q8_0 are read", name,
                       pto_gguf_type_name(tensor->type, text, sizeof text));
}

static const char *name_of(const void *file, uint64_t index, uint32_t *length_out) {
  const struct pto_gguf_string name = ((const struct pto_gguf *)file)->tensors[index].name;
  *length_out = (uint32_t)name.length;
  return name.bytes;
}

static bool is_spare(const char *name, uint32_t length) { return false; }

/* ---- keys ---- */

/* Reads key after key; the first mistake is kept. */
struct keys {
  const struct pto_gguf *gguf;
  int status;
  struct pto_error *error;
};

static void require(struct keys *k, const char *key) {
  if (!k->status && !pto_gguf_find(k->gguf, key))
    k->status = pto_error_set(k->error, PTO_EINVAL, "there is no key \"%s\"", key);
}

/* `value` where the key is not there. */
static uint32_t optional(struct keys *k, const char *key, uint32_t value) {
  uint64_t number = value;
  if (!k->status) k->status = pto_gguf_u64(k->gguf, key, &number, k->error);
  if (!k->status && number > INT32_MAX)
    k->status =
        pto_error_set(k->error, PTO_EINVAL, "key \"%s\" is %" PRIu64 ", at most %d is read", key, number, INT32_MAX);
  return k->status ? 0 : (uint32_t)number;
}

static uint32_t required(struct keys *k, const char *key) {
  require(k, key);
  return optional(k, key, 0);
}

static float optional_float(struct keys *k, const char *key, double value) {
  if (!k->status) k->status = pto_gguf_f64(k->gguf, key, &value, k->error);
  return (float)value;
}

/* A string, where it is there, has to be `wanted`. */
static void check_string(struct keys *k, const char *key, const char *wanted) {
  struct pto_gguf_string string = {wanted, strlen(wanted)};
  if (!k->status) k->status = pto_gguf_string(k->gguf, key, &string, k->error);
  if (!k->status && !pto_gguf_string_is(string, wanted))
    k->status = pto_error_set(k->error, PTO_EINVAL, "key \"%s\" is \"%.*s\", only \"%s\" is read", key,
                              (int)pto_min_u64(string.length, 60), string.bytes, wanted);
}

/* A number, where it is there, has to be `wanted`. */
static void check_number(struct keys *k, const char *key, uint32_t wanted) {
  const uint32_t number = optional(k, key, wanted);
  if (!k->status && number != wanted)
    k->status = pto_error_set(k->error, PTO_EINVAL, "key \"%s\" is %u, only %u is read", key, number, wanted);
}

static void read_sizes(struct keys *k, struct pto_language_model *model) {
  const struct pto_gguf_tensor *embedding = pto_gguf_find_tensor(k->gguf, "token_embd.weight");
  const uint32_t rows = embedding && embedding->ndims == 2 ? (uint32_t)pto_min_u64(embedding->shape[0], INT32_MAX) : 0;
  require(k, "general.architecture");
  check_string(k, "general.architecture", "llama");
  check_number(k, "split.count", 1);
  model->dim = required(k, "llama.embedding_length");
  model->hidden_dim = required(k, "llama.feed_forward_length");
  model->layer_count = required(k, "llama.block_count");
  model->head_count = required(k, "llama.attention.head_count");
  model->kv_head_count = optional(k, "llama.attention.head_count_kv", model->head_count);
  model->vocab_size = optional(k, "llama.vocab_size", rows);
  model->sequence_length = required(k, "llama.context_length");
  model->rope_base = optional_float(k, "llama.rope.freq_base", ROPE_BASE);
  require(k, "llama.attention.layer_norm_rms_epsilon");
  model->norm_epsilon = optional_float(k, "llama.attention.layer_norm_rms_epsilon", 0);
  model->rope_style = PTO_ROPE_NEIGHBOURS;
}

/* Of a model whose sizes are good. */
static void check_kind(struct keys *k, const struct pto_language_model *model) {
  check_number(k, "llama.rope.dimension_count", pto_model_head_width(model));
  check_number(k, "llama.attention.key_length", pto_model_head_width(model));
  check_number(k, "llama.attention.value_length", pto_model_head_width(model));
  check_number(k, "llama.expert_count", 0);
  check_string(k, "llama.rope.scaling.type", "none");
  if (!k->status && optional_float(k, "llama.rope.scale_linear", 1) != 1.0f && !k->status)
    k->status =
        pto_error_set(k->error, PTO_EINVAL, "key \"llama.rope.scale_linear\" is not 1: scaled rotations are not read");
}

static int read_model(struct pto_language_model *model, const struct pto_gguf *gguf, struct pto_error *error) {
  struct keys k = {.gguf = gguf, .error = error};
  const struct pto_llama_source source = {.file = gguf,
                                          .naming = PTO_LLAMA_GGUF,
                                          .is_tied = !pto_gguf_find_tensor(gguf, "output.weight"),
                                          .tensor_count = gguf->tensor_count,
                                          .find = find_tensor,
                                          .name_of = name_of,
                                          .is_spare = is_spare};
  read_sizes(&k, model);
  if (!k.status) k.status = pto_model_check_sizes(model, error);
  if (!k.status) check_kind(&k, model);
  return k.status ? k.status : pto_llama_weights_read(model, &source, error);
}

int pto_llama_gguf_read(struct pto_language_model *model, const char *path, struct pto_error *error) {
  struct pto_gguf gguf;
  int status = pto_gguf_init_memory(&gguf, "GGUF", model->file.data, model->file.size_bytes, error);
  if (status) return status;
  status = read_model(model, &gguf, error);
  pto_gguf_fini(&gguf);
  return status;
}
