/* SPDX-License-Identifier: MIT */
#include <orchestration/llm/share.h>

#include <stdlib.h>
#include <string.h>

#include <orchestration/llm/kernels.h>

/* Columns of the matrix that stay together. */
static uint32_t block_of(const struct pto_model_matrix *m) { return m->format == PTO_WEIGHT_Q8_0 ? LLM_BLOCK : 1; }

/* Elements of the hidden vector that stay together: those of a block in any layer. */
static uint32_t hidden_block(const struct pto_language_model *model) {
  uint32_t block = 1;
  for (uint32_t i = 0; i < model->layer_count; i++)
    if (block_of(&model->layers[i].down) > block) block = block_of(&model->layers[i].down);
  return block;
}

int llm_check_shares(struct pto_program_run *run, const struct pto_language_model *model, uint32_t count) {
  const uint32_t heads = model->head_count, kv_heads = model->kv_head_count;
  if (heads % count) return pto_program_fail(run, "%u heads cannot be shared equally by %u ranks", heads, count);
  if (kv_heads % count && count % kv_heads)
    return pto_program_fail(run, "%u heads of keys and values on %u ranks: one number has to divide the other",
                            kv_heads, count);
  const uint32_t columns = heads / count * pto_model_head_width(model), block = hidden_block(model);
  for (uint32_t i = 0; i < model->layer_count; i++)
    if (columns % block_of(&model->layers[i].o))
      return pto_program_fail(run,
                              "layer %u has q8_0 weights, and the heads of one of %u ranks are %u columns: "
                              "a block is %d",
                              i, count, columns, LLM_BLOCK);
  if (model->hidden_dim / block < count)
    return pto_program_fail(run, "a hidden vector of %u elements, in blocks of %u, cannot be shared by %u ranks",
                            model->hidden_dim, block, count);
  return PTO_OK;
}

struct llm_share llm_share_of(const struct pto_language_model *model, uint32_t index, uint32_t count) {
  const uint32_t block = hidden_block(model), kv_heads = model->kv_head_count;
  const uint64_t blocks = model->hidden_dim / block;
  const uint32_t first = (uint32_t)(blocks * index / count) * block;
  const uint32_t end = (uint32_t)(blocks * (index + 1) / count) * block;
  const uint32_t tokens = model->vocab_size % count == 0 ? model->vocab_size / count : model->vocab_size;
  return (struct llm_share){.index = index,
                            .first_head = model->head_count / count * index,
                            .heads = model->head_count / count,
                            .first_kv_head = (uint32_t)((uint64_t)kv_heads * index / count),
                            .kv_heads = kv_heads > count ? kv_heads / count : 1,
                            .first_hidden = first,
                            .hidden = end - first,
                            .first_token = tokens < model->vocab_size ? tokens * index : 0,
                            .tokens = tokens};
}

struct pto_model_matrix llm_rows(const struct pto_model_matrix *m, uint64_t first, uint64_t count) {
  struct pto_model_matrix rows = *m;
  rows.data = (const char *)m->data + first * pto_model_row_bytes(m);
  rows.rows = count;
  return rows;
}

struct pto_model_matrix llm_columns(const struct pto_model_matrix *m, uint64_t first, uint64_t count) {
  struct pto_model_matrix columns = *m, before = *m;
  columns.columns = count;
  before.columns = first;
  const uint64_t bytes = pto_model_row_bytes(&columns);
  char *data = malloc(m->rows * bytes);
  const char *from = (const char *)m->data + pto_model_row_bytes(&before);
  for (uint64_t r = 0; data && r < m->rows; r++) memcpy(data + r * bytes, from + r * pto_model_row_bytes(m), bytes);
  columns.data = data;
  return columns;
}
