/* SPDX-License-Identifier: MIT */
#include <formats/llm/language_model.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <formats/llm/gguf.h>
#include <formats/mapped_file.h>
#include <formats/llm/model_reader.h>
#include <formats/safetensors.h>
#include <pto/tensor.h>
#include <runtime/base/base.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "weights are used as the file has them");

static bool is_any(const void *bytes, uint64_t size_bytes) { return true; }

/* Those that can be told by their first bytes first; the last takes what is left. */
static const struct reader {
  bool (*is_one)(const void *bytes, uint64_t size_bytes);
  int (*read)(struct pto_language_model *model, const char *path, struct pto_error *error);
} readers[] = {{pto_gguf_is_one, pto_llama_gguf_read},
               {pto_safetensors_is_one, pto_llama_safetensors_read},
               {is_any, pto_llama2c_read}};

int pto_model_check_sizes(const struct pto_language_model *model, struct pto_error *error) {
  const struct {
    const char *name;
    uint32_t value, most;
  } sizes[] = {{"dim", model->dim, PTO_MODEL_MAX_WIDTH},
               {"hidden_dim", model->hidden_dim, PTO_MODEL_MAX_WIDTH},
               {"n_layers", model->layer_count, PTO_MODEL_MAX_LAYERS},
               {"n_heads", model->head_count, PTO_MODEL_MAX_WIDTH},
               {"n_kv_heads", model->kv_head_count, PTO_MODEL_MAX_WIDTH},
               {"vocab_size", model->vocab_size, PTO_MODEL_MAX_COUNT},
               {"seq_len", model->sequence_length, PTO_MODEL_MAX_COUNT}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(sizes); i++)
    if (sizes[i].value == 0 || sizes[i].value > sizes[i].most)
      return pto_error_set(error, PTO_EINVAL, "%s is %d, not 1 to %u", sizes[i].name, (int)sizes[i].value,
                           sizes[i].most);
  if (model->dim % model->head_count || model->dim / model->head_count % 2)
    return pto_error_set(error, PTO_EINVAL, "dim %u in %u heads: the width of a head has to be an even number",
                         model->dim, model->head_count);
  if (model->head_count % model->kv_head_count)
    return pto_error_set(error, PTO_EINVAL, "%u heads cannot share %u key and value heads", model->head_count,
                         model->kv_head_count);
  if (!(model->rope_base > 0 && model->rope_base < INFINITY))
    return pto_error_set(error, PTO_EINVAL, "rotations have base %g, no positive number", (double)model->rope_base);
  if (!(model->norm_epsilon >= 0 && model->norm_epsilon < 1))
    return pto_error_set(error, PTO_EINVAL, "the epsilon of norms is %g, not 0 to 1", (double)model->norm_epsilon);
  return PTO_OK;
}

static int read_file(struct pto_language_model *model, const char *path, struct pto_error *error) {
  struct pto_error reason;
  struct pto_mapped_file file;
  int status = pto_mapped_file_init(&file, path, error);
  if (status) return status;
  model->file = (struct pto_model_file){file.data, file.size_bytes};
  const struct reader *reader = readers;
  while (!reader->is_one(file.data, file.size_bytes)) reader++;
  status = reader->read(model, path, &reason);
  if (status == PTO_OK) return status;
  pto_language_model_fini(model);
  return pto_error_set(error, status, "model %.400s: %.500s", path, reason.sentence);
}

int pto_language_model_read(struct pto_language_model *model, const char *path, char *sentence, size_t sentence_size) {
  struct pto_error error;
  memset(model, 0, sizeof *model);
  int status = read_file(model, path, &error);
  return status ? pto_error_tell(&error, sentence, sentence_size) : PTO_OK;
}

void pto_language_model_fini(struct pto_language_model *model) {
  struct pto_mapped_file file = {model->file.data, model->file.size_bytes};
  free(model->layers);
  free(model->norms);
  pto_mapped_file_fini(&file);
  memset(model, 0, sizeof *model);
}

uint64_t pto_model_row_bytes(const struct pto_model_matrix *matrix) {
  if (matrix->format == PTO_WEIGHT_Q8_0) return matrix->columns / 32 * 34;
  return matrix->columns * (matrix->format == PTO_WEIGHT_F32 ? sizeof(float) : sizeof(uint16_t));
}

float pto_model_element(const struct pto_model_matrix *matrix, uint64_t i) {
  const unsigned char *data = matrix->data;
  uint16_t half;
  float single;
  if (matrix->format == PTO_WEIGHT_F32) {
    memcpy(&single, data + 4 * i, sizeof single);
    return single;
  }
  if (matrix->format == PTO_WEIGHT_Q8_0) {
    memcpy(&half, data + i / 32 * 34, sizeof half);
    return pto_fp16_to_f32(half) * (float)(signed char)data[i / 32 * 34 + 2 + i % 32];
  }
  memcpy(&half, data + 2 * i, sizeof half);
  return matrix->format == PTO_WEIGHT_F16 ? pto_fp16_to_f32(half) : pto_bf16_to_f32(half);
}
