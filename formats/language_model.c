/* SPDX-License-Identifier: MIT */
#include <pto/language_model.h>

#include <stdlib.h>
#include <string.h>

#include <formats/mapped_file.h>
#include <formats/model_reader.h>
#include <runtime/base/base.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "weights are used as the file has them");

/* Those with a magic number first; the last takes what is left. */
static const struct reader {
  const char *magic;
  size_t magic_bytes;
  int (*read)(struct pto_language_model *model, struct pto_error *error);
} readers[] = {{"", 0, pto_llama2c_read}};

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
  return PTO_OK;
}

static int read_file(struct pto_language_model *model, const char *path, struct pto_error *error) {
  struct pto_error reason;
  struct pto_mapped_file file;
  int status = pto_mapped_file_init(&file, path, error);
  if (status) return status;
  model->file = (struct pto_model_file){file.data, file.size_bytes};
  const struct reader *reader = readers;
  while (reader->magic_bytes > file.size_bytes ||
         (reader->magic_bytes && memcmp(file.data, reader->magic, reader->magic_bytes)))
    reader++;
  status = reader->read(model, &reason);
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
