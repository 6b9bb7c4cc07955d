/* SPDX-License-Identifier: MIT */
#include <orchestration/llm/pass.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <formats/llm/llama_weights.h>
#include <orchestration/llm/kernels.h>

/* ---- weights ----
 *
 * A model's weights as constant tensors of a context, and the plan that names them.
 *
 * Floats go over as they are.  q8_0, whose blocks hold a scale and 32 weights, becomes two tensors: int8 weights
 * [rows, columns] and f16 scales [rows, columns / 32].  Cosines and sines of each position are tables [positions,
 * width / 2], computed in double.  Memory here is the program run's; the tensors are the context's.
 */
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
  const struct llm_matrix result = {w->count, 2, 0};
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
  return (struct llm_matrix){llm_add_constant(w, dtypes[m->format], m->rows, m->columns, m->data), 1, 0};
}

static struct llm_matrix llm_add_rows(struct llm_weights *w, const struct pto_model_matrix *m, uint64_t first,
                                      uint64_t count) {
  const struct pto_model_matrix rows = llm_rows(m, first, count);
  return llm_add_matrix(w, &rows);
}

static struct llm_matrix llm_add_columns(struct llm_weights *w, const struct pto_model_matrix *m, uint64_t first,
                                         uint64_t count) {
  if (count == m->columns) return llm_add_matrix(w, m);
  const struct pto_model_matrix columns = llm_columns(m, first, count);
  if (!columns.data) w->status = w->status ? w->status : PTO_ENOMEM;
  const struct llm_matrix result = columns.data ? llm_add_matrix(w, &columns) : (struct llm_matrix){0};
  free((void *)(uintptr_t)columns.data);
  return result;
}

/* A share's part of a layer. */
static struct llm_part llm_add_part(struct llm_weights *w, const struct pto_model_layer *layer,
                                    const struct llm_share *share, uint64_t width) {
  const uint64_t first = share->first_head * width, rows = share->heads * width;
  const uint64_t kv_first = share->first_kv_head * width, kv_rows = share->kv_heads * width;
  return (struct llm_part){.q = llm_add_rows(w, &layer->q, first, rows),
                           .k = llm_add_rows(w, &layer->k, kv_first, kv_rows),
                           .v = llm_add_rows(w, &layer->v, kv_first, kv_rows),
                           .o = llm_add_columns(w, &layer->o, first, rows),
                           .gate = llm_add_rows(w, &layer->gate, share->first_hidden, share->hidden),
                           .up = llm_add_rows(w, &layer->up, share->first_hidden, share->hidden),
                           .down = llm_add_columns(w, &layer->down, share->first_hidden, share->hidden)};
}

static void llm_add_angles(struct llm_weights *w, uint64_t positions, struct llm_plan *plan) {
  const struct pto_language_model *model = plan->model;
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
static uint64_t llm_most_constants(const struct llm_plan *plan) {
  return (2 + UINT64_C(14) * plan->share_count) * plan->model->layer_count + 8;
}

/* Device memory that they take, more or less, for the size of a context's. */
static uint64_t llm_weight_bytes(const struct pto_language_model *model) {
  const struct pto_model_matrix *shared[] = {&model->embedding, &model->classifier};
  uint64_t bytes = 0;
  for (int i = 0; i < 2; i++) bytes += shared[i]->rows * pto_model_row_bytes(shared[i]);
#define X(field, ...) bytes += model->layers[l].field.rows * pto_model_row_bytes(&model->layers[l].field);
  for (uint32_t l = 0; l < model->layer_count; l++) {
    PTO_LLAMA_MATRIX_LIST(X)
  }
#undef X
  return bytes;
}

/* A rank's share of it, a chip's all; of the embedding where that is the classifier. */
static struct llm_matrix llm_add_classifier(struct llm_weights *w, const struct llm_plan *plan) {
  const struct pto_language_model *model = plan->model;
  const uint32_t first = plan->is_rank ? plan->shares[0].first_token : 0;
  if (model->classifier.data != model->embedding.data)
    return llm_add_rows(w, &model->classifier, first, plan->is_rank ? plan->shares[0].tokens : model->vocab_size);
  struct llm_matrix rows = plan->embedding;
  rows.first_row = first;
  return rows;
}

/* PTO_OK, or why not, with the context's sentence where it is one of its refusals.  Fills what of the plan comes from
 * the model; plan->layers is memory for layer_count of them, and of their parts. */
static int llm_add_model(struct llm_weights *w, uint64_t positions, struct llm_plan *plan) {
  const struct pto_language_model *model = plan->model;
  plan->embedding = llm_add_matrix(w, &model->embedding);
  plan->classifier = llm_add_classifier(w, plan);
  plan->final_norm = llm_add_constant(w, PTO_FLOAT32, 0, model->dim, model->final_norm);
  llm_add_angles(w, positions, plan);
  for (uint32_t i = 0; i < model->layer_count; i++) {
    const struct pto_model_layer *layer = &model->layers[i];
    struct llm_layer *to = &plan->layers[i];
    to->attention_norm = llm_add_constant(w, PTO_FLOAT32, 0, model->dim, layer->attention_norm);
    to->ffn_norm = llm_add_constant(w, PTO_FLOAT32, 0, model->dim, layer->ffn_norm);
    for (uint32_t k = 0; k < plan->share_count; k++)
      to->parts[k] = llm_add_part(w, layer, &plan->shares[k], pto_model_head_width(model));
  }
  return w->status;
}

/* ---- the context ---- */

static int llm_fail(struct llm_pass *pass, const char *what, int status) {
  const char *reason = pto_context_error(pass->context);
  return pto_program_fail_as(pass->run, status, "%s: %s", what, reason[0] ? reason : pto_strerror(status));
}

static struct pto_operand llm_operand(const char *name, uint32_t dtype, uint64_t elements) {
  return (struct pto_operand){.name = name, .dtype = dtype, .ndims = 1, .shape = {elements}};
}

static void llm_describe(struct llm_pass *pass) {
  const struct pto_language_model *m = pass->plan.model;
  const uint64_t width = pto_model_head_width(m);
  const uint64_t kv_heads = (uint64_t)pass->plan.share_count * pass->plan.shares[0].kv_heads;
  const struct pto_operand keys = {
      .dtype = PTO_FLOAT32, .ndims = 4, .shape = {m->layer_count, kv_heads, width, pass->positions}};
  const struct pto_operand values = {
      .dtype = PTO_FLOAT32, .ndims = 4, .shape = {m->layer_count, kv_heads, pass->positions, width}};
  static const char *const key_names[] = {"k", "k_from"}, *const value_names[] = {"v", "v_from"};
  pass->inputs[LLM_STEP] = llm_operand("step", PTO_INT32, 2);
  for (int i = 0; i < 2; i++) {
    pass->inputs[LLM_K + 2 * i] = keys;
    pass->inputs[LLM_K + 2 * i].name = key_names[i];
    pass->inputs[LLM_V + 2 * i] = values;
    pass->inputs[LLM_V + 2 * i].name = value_names[i];
  }
  pass->outputs[LLM_K_NEXT] = keys;
  pass->outputs[LLM_K_NEXT].name = "k_next";
  pass->outputs[LLM_V_NEXT] = values;
  pass->outputs[LLM_V_NEXT].name = "v_next";
  uint32_t last = LLM_NEXT;
  if (pass->plan.has_next) pass->outputs[last++] = llm_operand("next", PTO_INT32, 1);
  if (pass->plan.has_logits) pass->outputs[last++] = llm_operand("logits", PTO_FLOAT32, m->vocab_size);
  pass->output_count = last;
  pass->cache_bytes = m->layer_count * kv_heads * width * pass->positions * sizeof(float);
}

static int llm_create(struct llm_pass *pass, const struct pto_operand *operand, uint32_t flags,
                      struct pto_device_tensor *tensor_out) {
  struct pto_device_tensor_desc desc = {.dtype = operand->dtype, .ndims = operand->ndims, .flags = flags};
  memcpy(desc.shape, operand->shape, sizeof desc.shape);
  return pto_device_tensor_create(pass->context, &desc, tensor_out);
}

static int llm_create_tensors(struct llm_pass *pass) {
  const uint32_t cache_flags = pass->kv == LLM_KV_HOST ? PTO_TENSOR_READABLE | PTO_TENSOR_WRITABLE : 0;
  const int sets = pass->kv == LLM_KV_PINGPONG ? 2 : 1;
  int status = llm_create(pass, &pass->inputs[LLM_STEP], PTO_TENSOR_WRITABLE, &pass->step);
  for (int i = 0; i < 2 * sets && status == PTO_OK; i++)
    status = llm_create(pass, &pass->inputs[i % 2 ? LLM_V : LLM_K], cache_flags, &pass->caches[i / 2][i % 2]);
  if (sets == 1) memcpy(pass->caches[1], pass->caches[0], sizeof pass->caches[0]);
  for (uint32_t i = LLM_NEXT; i < pass->output_count && status == PTO_OK; i++)
    status = llm_create(pass, &pass->outputs[i], PTO_TENSOR_READABLE, &pass->results[i]);
  return status ? llm_fail(pass, "tensors", status) : PTO_OK;
}

/* Memory of the plan, and the shares of this chip. */
static int llm_plan_shares(struct llm_pass *pass) {
  struct llm_plan *plan = &pass->plan;
  const uint32_t all = pto_program_rank_count(pass->run), layers = plan->model->layer_count;
  plan->is_rank = all > 1 && !pass->is_alone;
  plan->share_count = pass->is_alone ? all : 1;
  plan->shares = pto_program_alloc(pass->run, plan->share_count * sizeof *plan->shares);
  plan->layers = pto_program_alloc(pass->run, layers * sizeof *plan->layers);
  struct llm_part *parts = pto_program_alloc(pass->run, (uint64_t)layers * plan->share_count * sizeof *parts);
  if (!plan->shares || !plan->layers || !parts) return PTO_ENOMEM;
  for (uint32_t i = 0; i < plan->share_count; i++)
    plan->shares[i] = llm_share_of(plan->model, plan->is_rank ? pto_program_rank(pass->run) : i, all);
  for (uint32_t i = 0; i < layers; i++) plan->layers[i].parts = parts + (uint64_t)i * plan->share_count;
  return PTO_OK;
}

static int llm_create_context(struct llm_pass *pass) {
  const uint64_t smallest = UINT64_C(64) << 20, constants = llm_most_constants(&pass->plan);
  struct pto_context_options options = {.size = sizeof options, .runtime = *pto_program_config(pass->run)};
  char sentence[512] = "";
  if (pass->is_alone) options.runtime.rank = NULL;
  /* What is not counted are vectors, and what each tensor is rounded up by. */
  options.memory_bytes = llm_weight_bytes(pass->plan.model) + 4 * pass->cache_bytes + 4096 * constants + smallest;
  int status = pto_context_create(&options, &pass->context, sentence, sizeof sentence);
  if (status) return pto_program_fail_as(pass->run, status, "context: %s", sentence);
  struct llm_weights weights = {.run = pass->run, .context = pass->context};
  weights.tensors = pass->constants = pto_program_alloc(pass->run, constants * sizeof *pass->constants);
  if (!weights.tensors) return PTO_ENOMEM;
  status = llm_add_model(&weights, pass->positions, &pass->plan);
  if (status) return llm_fail(pass, "weights", status);
  pass->program = (struct pto_device_program){.name = "llm step",
                                              .inputs = pass->inputs,
                                              .outputs = pass->outputs,
                                              .input_count = pass->kv == LLM_KV_PINGPONG ? LLM_INPUTS : LLM_V + 1,
                                              .output_count = pass->output_count,
                                              .constants = pass->constants,
                                              .constant_count = weights.count,
                                              .orchestrate = llm_submit_step,
                                              .context = &pass->plan,
                                              .repeats = pto_device_program_serial()};
  return PTO_OK;
}

int llm_pass_init(struct llm_pass *pass) {
  pass->plan.is_carried = pass->kv == LLM_KV_PINGPONG;
  int status = llm_plan_shares(pass);
  if (status) return status;
  llm_describe(pass);
  for (int i = 0; i < 2; i++) {
    const uint64_t bytes = pass->kv == LLM_KV_HOST ? pass->cache_bytes : 1;
    if (!(pass->host_caches[i] = pto_program_alloc(pass->run, bytes))) return PTO_ENOMEM;
  }
  status = llm_create_context(pass);
  if (status == PTO_OK) status = llm_create_tensors(pass);
  if (status) return status;
  status = pto_context_sync(pass->context);
  return status ? llm_fail(pass, "weights", status) : PTO_OK;
}

void llm_pass_release(struct llm_pass *pass) {
  if (!pass->context) return;
  for (uint32_t i = 0; i < pass->program.constant_count; i++)
    (void)pto_device_tensor_destroy(pass->context, pass->constants[i]);
  (void)pto_device_tensor_destroy(pass->context, pass->step);
  for (int i = 0; i < (pass->kv == LLM_KV_PINGPONG ? 4 : 2); i++)
    (void)pto_device_tensor_destroy(pass->context, pass->caches[i / 2][i % 2]);
  for (uint32_t i = LLM_NEXT; i < pass->output_count; i++)
    (void)pto_device_tensor_destroy(pass->context, pass->results[i]);
}

void llm_pass_fini(struct llm_pass *pass) { pto_context_destroy(pass->context); }

/* ---- a step ---- */

/* Of the caches: set `to` is written, `from` is the one that is newer. */
static int llm_dispatch(struct llm_pass *pass, const struct pto_device_tensor from[2],
                        const struct pto_device_tensor to[2]) {
  static const char *const consumed[] = {"k", "v"};
  struct pto_binding inputs[LLM_INPUTS], outputs[LLM_OUTPUTS];
  const struct pto_device_tensor of_inputs[LLM_INPUTS] = {pass->step, to[0], to[1], from[0], from[1]};
  for (uint32_t i = 0; i < LLM_INPUTS; i++) inputs[i] = (struct pto_binding){pass->inputs[i].name, of_inputs[i]};
  for (uint32_t i = 0; i < pass->output_count; i++)
    outputs[i] = (struct pto_binding){pass->outputs[i].name, i < LLM_NEXT ? to[i] : pass->results[i]};
  const struct pto_dispatch_bindings bindings = {.inputs = inputs,
                                                 .outputs = outputs,
                                                 .input_count = pass->program.input_count,
                                                 .output_count = pass->program.output_count,
                                                 .consumed = consumed,
                                                 .consumed_count = 2};
  const int status = pto_context_dispatch(pass->context, &pass->program, &bindings);
  return status ? llm_fail(pass, "dispatch", status) : PTO_OK;
}

static int llm_move_caches(struct llm_pass *pass, bool is_to_device) {
  for (int i = 0; i < 2 && pass->kv == LLM_KV_HOST; i++) {
    const struct pto_device_tensor cache = pass->caches[0][i];
    const int status = is_to_device
                           ? pto_device_tensor_write(pass->context, cache, pass->host_caches[i], pass->cache_bytes)
                           : pto_device_tensor_read(pass->context, cache, pass->host_caches[i], pass->cache_bytes);
    if (status) return llm_fail(pass, "caches", status);
  }
  return PTO_OK;
}

int llm_pass_step(struct llm_pass *pass, uint32_t token, uint64_t position, int32_t *next_out, float *logits) {
  const int32_t step[] = {(int32_t)token, (int32_t)position};
  const struct pto_device_tensor *results = pass->results;
  int status = pto_device_tensor_write(pass->context, pass->step, step, sizeof step);
  if (status) return llm_fail(pass, "token", status);
  status = llm_move_caches(pass, true);
  if (status == PTO_OK) status = llm_dispatch(pass, pass->caches[(position + 1) % 2], pass->caches[position % 2]);
  if (status == PTO_OK) status = llm_move_caches(pass, false);
  if (status) return status;
  if (next_out) status = pto_device_tensor_read(pass->context, results[LLM_NEXT], next_out, sizeof *next_out);
  if (status == PTO_OK && logits)
    status = pto_device_tensor_read(pass->context, results[LLM_NEXT + pass->plan.has_next], logits,
                                    pass->plan.model->vocab_size * sizeof *logits);
  return status ? llm_fail(pass, "step", status) : PTO_OK;
}
