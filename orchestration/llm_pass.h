/* SPDX-License-Identifier: MIT */
/*
 * A decoder in a context: its tensors, and a step at a time with token and position in, logits or the next token out.
 *
 *   kv=inplace   a set of caches that a step consumes and writes a row of
 *   kv=pingpong  two sets: a step writes the one that is older by a step, which lacks one row; the device copies it
 *   kv=host      as inplace, but the set comes from the host before each step and goes back after it
 *
 * Owns the context and its tensors until fini.  Each step moves 8 bytes to the device, and back the logits (f32) or 4
 * bytes; with kv=host the caches as well, both ways.  One thread.
 */
#ifndef PTO_ORCHESTRATION_LLM_PASS_H
#define PTO_ORCHESTRATION_LLM_PASS_H

#include <orchestration/llm_weights.h>

/* Below so many multiply-adds a step, which then takes some 100 us, threads have more to tell each other than to do:
 * one it is, unless --workers says otherwise (bench_llm: 260K with one and with two). */
#define LLM_SMALL_PRODUCTS 2000000u

enum llm_kv { LLM_KV_INPLACE, LLM_KV_PINGPONG, LLM_KV_HOST };

struct llm_pass {
  struct pto_program_run *run;
  const struct pto_language_model *model;
  enum llm_kv kv;
  uint64_t positions;
  struct pto_context *context;
  struct llm_plan plan;
  struct pto_operand inputs[LLM_INPUTS], outputs[LLM_OUTPUTS];
  uint32_t output_count;
  struct pto_device_program program;
  struct pto_device_tensor *constants;
  struct pto_device_tensor step, caches[2][2], results[LLM_OUTPUTS]; /* caches[set][keys or values] */
  char *host_caches[2];
  uint64_t cache_bytes;
};

static int llm_fail(struct llm_pass *pass, const char *what, int status) {
  const char *reason = pto_context_error(pass->context);
  return pto_program_fail_as(pass->run, status, "%s: %s", what, reason[0] ? reason : pto_strerror(status));
}

static struct pto_operand llm_operand(const char *name, uint32_t dtype, uint64_t elements) {
  return (struct pto_operand){.name = name, .dtype = dtype, .ndims = 1, .shape = {elements}};
}

static void llm_describe(struct llm_pass *pass) {
  const struct pto_language_model *m = pass->model;
  const uint64_t width = pto_model_head_width(m), kv_dim = pto_model_kv_dim(m);
  const struct pto_operand keys = {
      .dtype = PTO_FLOAT32, .ndims = 4, .shape = {m->layer_count, m->kv_head_count, width, pass->positions}};
  const struct pto_operand values = {
      .dtype = PTO_FLOAT32, .ndims = 4, .shape = {m->layer_count, m->kv_head_count, pass->positions, width}};
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
  pass->cache_bytes = (uint64_t)m->layer_count * kv_dim * pass->positions * sizeof(float);
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

static int llm_create_context(struct llm_pass *pass) {
  const uint64_t smallest = UINT64_C(64) << 20, constants = llm_most_constants(pass->model);
  struct pto_context_options options = {.size = sizeof options, .runtime = *pto_program_config(pass->run)};
  char sentence[512] = "";
  if (options.runtime.workers == 0 && llm_product_count(pass->model) < LLM_SMALL_PRODUCTS) options.runtime.workers = 1;
  /* What is not counted are vectors, and what each tensor is rounded up by. */
  options.memory_bytes = llm_weight_bytes(pass->model) + 4 * pass->cache_bytes + 4096 * constants + smallest;
  int status = pto_context_create(&options, &pass->context, sentence, sizeof sentence);
  if (status) return pto_program_fail_as(pass->run, status, "context: %s", sentence);
  struct llm_weights weights = {.run = pass->run, .context = pass->context};
  weights.tensors = pass->constants = pto_program_alloc(pass->run, constants * sizeof *pass->constants);
  pass->plan.layers = pto_program_alloc(pass->run, pass->model->layer_count * sizeof *pass->plan.layers);
  if (!weights.tensors || !pass->plan.layers) return PTO_ENOMEM;
  status = llm_add_model(&weights, pass->model, pass->positions, &pass->plan);
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

/* The caller has filled run, model, kv, positions, plan.has_next, plan.has_logits and plan.tile_rows.  After a failure,
 * which the run keeps, fini too. */
static int llm_pass_init(struct llm_pass *pass) {
  pass->plan.is_carried = pass->kv == LLM_KV_PINGPONG;
  llm_describe(pass);
  for (int i = 0; i < 2; i++) {
    const uint64_t bytes = pass->kv == LLM_KV_HOST ? pass->cache_bytes : 1;
    if (!(pass->host_caches[i] = pto_program_alloc(pass->run, bytes))) return PTO_ENOMEM;
  }
  int status = llm_create_context(pass);
  if (status == PTO_OK) status = llm_create_tensors(pass);
  if (status) return status;
  status = pto_context_sync(pass->context);
  return status ? llm_fail(pass, "weights", status) : PTO_OK;
}

/* Gives every tensor back; what is then still live is a leak.  The context stays, for its counters. */
static void llm_pass_release(struct llm_pass *pass) {
  if (!pass->context) return;
  for (uint32_t i = 0; i < pass->program.constant_count; i++)
    (void)pto_device_tensor_destroy(pass->context, pass->constants[i]);
  (void)pto_device_tensor_destroy(pass->context, pass->step);
  for (int i = 0; i < (pass->kv == LLM_KV_PINGPONG ? 4 : 2); i++)
    (void)pto_device_tensor_destroy(pass->context, pass->caches[i / 2][i % 2]);
  for (uint32_t i = LLM_NEXT; i < pass->output_count; i++)
    (void)pto_device_tensor_destroy(pass->context, pass->results[i]);
}

static void llm_pass_fini(struct llm_pass *pass) { pto_context_destroy(pass->context); }

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

/* The step of `position`, which follows the one before.  Fills what is not NULL: the next token where the pass is
 * greedy, and vocab_size logits where it has them. */
static int llm_pass_step(struct llm_pass *pass, uint32_t token, uint64_t position, int32_t *next_out, float *logits) {
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
                                    pass->model->vocab_size * sizeof *logits);
  return status ? llm_fail(pass, "step", status) : PTO_OK;
}

#endif
