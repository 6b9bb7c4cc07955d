/* SPDX-License-Identifier: MIT */
/* Random orchestrations through the runtime: submitted, kept and submitted again, recorded and launched. */
#include <tests/support/random_program.h>

#include <stdio.h>
#include <string.h>

#include <runtime/submit/replay.h>
#include <tests/support/template_hits.h>

/* ---- what a task does to bytes ---- */

static uint64_t fold(uint64_t hash, uint8_t byte) { return (hash ^ byte) * UINT64_C(0x100000001b3); }

static uint8_t written(uint32_t mode, uint8_t old, uint64_t hash, uint64_t element, uint32_t k, uint32_t block) {
  uint8_t value = (uint8_t)pto_mix64(hash + element * 31 + k);
  if (mode == PTO_INOUT) return (uint8_t)(old * 5 + value);
  if (mode == PTO_ACCUMULATE) return (uint8_t)(old * 3 + value + block);
  return value;
}

/* Whether block `block` of `blocks` writes this element; accumulating blocks all write all. */
static bool is_of_block(uint32_t mode, uint64_t element, uint32_t block, uint32_t blocks) {
  return mode == PTO_ACCUMULATE || element % blocks == block;
}

static uint32_t role_count(uint32_t shape) { return shape < 2 ? 1 : shape == 4 ? 3 : 2; }

/* ---- through the runtime ---- */

struct kernel_view {
  const struct pto_kernel_tensor *tensor;
  uint64_t index[PTO_MAX_DIMS], numel;
};

static uint64_t tensor_numel(const struct pto_kernel_tensor *t) {
  uint64_t n = 1;
  for (uint32_t d = 0; d < t->ndims; d++) n *= t->shape[d];
  return n;
}
static uint8_t *element_at(const struct pto_kernel_tensor *t, uint64_t linear) {
  uint64_t offset = 0;
  for (uint32_t d = t->ndims; d-- > 0;) {
    offset += linear % t->shape[d] * t->strides[d];
    linear /= t->shape[d];
  }
  return (uint8_t *)t->addr + offset * pto_dtype_size(t->dtype);
}

/* scalars: salt, modes (4 bits each), roles, in place. */
static int run_role(const struct pto_kernel_args *a, uint32_t role) {
  uint64_t hash = a->scalars[0].u64, modes = a->scalars[1].u64;
  uint32_t roles = (uint32_t)a->scalars[2].u64;
  bool in_place = a->scalars[3].u64;
  for (uint32_t i = 0; i < a->tensor_count; i++) {
    const struct pto_kernel_tensor *t = &a->tensors[i];
    if ((modes >> (4 * i) & 15) != PTO_INPUT || (in_place && i == 0)) continue;
    for (uint64_t e = 0, n = tensor_numel(t); e < n; e++)
      for (uint32_t k = 0; k < pto_dtype_size(t->dtype); k++) hash = fold(hash, element_at(t, e)[k]);
  }
  for (uint32_t i = 0; i < a->tensor_count; i++) {
    const struct pto_kernel_tensor *t = &a->tensors[i];
    uint32_t mode = modes >> (4 * i) & 15;
    if (!(mode & PTO_OUTPUT) || i % roles != role) continue;
    if (in_place && i == 1) mode = PTO_INOUT;
    for (uint64_t e = 0, n = tensor_numel(t); e < n; e++) {
      if (!is_of_block(mode, e, a->core->block_index, a->core->block_count)) continue;
      uint8_t *at = element_at(t, e);
      const uint8_t *from = /* right where they lie apart, too */
          in_place && i == 1 ? element_at(&a->tensors[0], e) : at;
      for (uint32_t k = 0; k < pto_dtype_size(t->dtype); k++)
        at[k] = written(mode, from[k], hash + i, e, k, a->core->block_index);
    }
  }
  return 0;
}
static int run_role0(const struct pto_kernel_args *a) { return run_role(a, 0); }
static int run_role1(const struct pto_kernel_args *a) { return run_role(a, 1); }
static int run_role2(const struct pto_kernel_args *a) { return run_role(a, 2); }

struct op_kernels {
  struct pto_kernel kernels[3];
  struct pto_kernel_param params[3][RANDOM_MAX_PARAMS + 4];
};

struct run_state {
  const struct random_program *program;
  const struct random_plan *plan;
  struct random_result *result;
  struct op_kernels *kernels;
  struct pto_buffer buffers[RANDOM_MAX_BUFFERS + RANDOM_MAX_PARAMS];
  struct pto_task tasks[RANDOM_MAX_OPS];
  bool has_given; /* external memory has been registered, all of it */
  struct pto_tensor given[RANDOM_EXTERNALS];
};

static uint64_t root_bytes(const struct random_view *view) {
  uint64_t bytes = pto_dtype_size(view->dtype);
  for (uint32_t d = 0; d < view->ndims; d++) bytes *= view->root[d];
  return bytes;
}

static struct pto_tensor external_tensor(struct pto_runtime *rt, struct run_state *state,
                                         const struct random_view *view) {
  if (!state->has_given)
    return pto_external_tensor(rt, state->result->externals[view->buffer] + view->skip_bytes, view->dtype, view->ndims,
                               view->root);
  struct pto_tensor t =
      pto_tensor_slice(&state->given[view->buffer], 0, view->skip_bytes, view->skip_bytes + root_bytes(view), 1);
  t = pto_tensor_reinterpret(&t, view->dtype);
  return pto_tensor_reshape(&t, view->ndims, view->root);
}

static struct pto_tensor tensor_of(struct pto_runtime *rt, struct run_state *state, const struct random_param *param,
                                   int32_t version) {
  const struct random_view *view = &param->view;
  struct pto_tensor t;
  if (view->buffer < RANDOM_EXTERNALS) {
    t = external_tensor(rt, state, view);
  } else {
    if (param->allocates) state->buffers[view->buffer] = pto_create_buffer(rt, root_bytes(view));
    t = pto_managed_tensor(rt, state->buffers[view->buffer], view->dtype, view->ndims, view->root);
  }
  for (uint32_t d = 0; d < view->ndims; d++)
    t = pto_tensor_slice(&t, d, view->offset[d],
                         pto_min_u64(view->offset[d] + view->shape[d] * view->step[d], view->root[d]), view->step[d]);
  if (view->transpose) t = pto_tensor_transpose(&t, 0, 1);
  if (view->fuzzy) t = pto_tensor_with_overlap(&t, PTO_OVERLAP_FUZZY);
  return pto_tensor_with_version(&t, version);
}

static void describe_kernels(const struct random_op *op, struct op_kernels *out) {
  static int (*const runs[3])(const struct pto_kernel_args *) = {run_role0, run_role1, run_role2};
  uint32_t count = random_op_tensor_count(op), roles = role_count(op->shape);
  for (uint32_t r = 0; r < roles; r++) {
    for (uint32_t i = 0; i < count; i++) {
      uint32_t mode = op->params[i].mode;
      out->params[r][i] = (struct pto_kernel_param){.mode = !(mode & PTO_OUTPUT) || i % roles == r ? mode : PTO_UNUSED};
    }
    for (uint32_t i = 0; i < 4; i++)
      out->params[r][count + i] = (struct pto_kernel_param){.mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64};
    out->kernels[r] = (struct pto_kernel){.name = "fold",
                                          .cores = PTO_AIC | PTO_AIV,
                                          .flags = op->in_place ? PTO_KERNEL_IN_PLACE : 0,
                                          .params = out->params[r],
                                          .param_count = count + 4,
                                          .run = runs[r]};
  }
}

static int submit_op(struct pto_runtime *rt, struct run_state *state, uint32_t at) {
  const struct random_op *op = &state->program->ops[at];
  struct pto_tensor tensors[RANDOM_MAX_PARAMS];
  struct pto_param params[RANDOM_MAX_PARAMS + 4];
  struct pto_task after[RANDOM_MAX_OPS];
  uint64_t modes = 0;
  for (uint32_t i = 0; i < op->param_count; i++) {
    tensors[i] = tensor_of(rt, state, &op->params[i], state->plan->versions[at][i]);
    params[i] = pto_param_tensor(op->params[i].mode, &tensors[i]);
    modes |= (uint64_t)op->params[i].mode << (4 * i);
  }
  for (uint32_t i = 0; i < state->plan->after_count[at]; i++) after[i] = state->tasks[state->plan->after[at][i]];
  if (op->kind == OP_ALLOC) return pto_alloc_tensors(rt, tensors, op->param_count, &state->tasks[at]);
  if (op->kind == OP_BARRIER) return pto_submit_barrier(rt, after, state->plan->after_count[at], &state->tasks[at]);
  struct op_kernels *k = &state->kernels[op->kernel];
  if (!k->kernels[0].run) describe_kernels(op, k); /* later ones that repeat it would say the same */
  uint32_t count = random_op_tensor_count(op);
  struct pto_launch launch = {.block_count = op->block_count,
                              .sync_start = op->sync_start,
                              .after = after,
                              .after_count = state->plan->after_count[at]};
  if (op->compare) launch.predicate = (struct pto_predicate){&tensors[count], op->compare, op->compare_value};
  const struct pto_kernel **roles[5][3] = {{&launch.aic},
                                           {&launch.aiv0},
                                           {&launch.aiv0, &launch.aiv1},
                                           {&launch.aic, &launch.aiv0},
                                           {&launch.aic, &launch.aiv0, &launch.aiv1}};
  for (uint32_t r = 0; r < role_count(op->shape); r++) *roles[op->shape][r] = &k->kernels[r];
  params[count] = pto_scalar_u64(op->salt);
  params[count + 1] = pto_scalar_u64(modes);
  params[count + 2] = pto_scalar_u64(role_count(op->shape));
  params[count + 3] = pto_scalar_u64(op->in_place);
  const struct template_mark mark = template_mark_take(rt);
  const int status = pto_submit(rt, &launch, params, count + 4, &state->tasks[at]);
  if (!status && template_was_hit(rt, mark)) {
    state->result->form_hits++;
    state->result->manual_form_hits += rt->scopes[rt->scope_depth].kind == PTO_SCOPE_MANUAL;
  }
  return status;
}

static int run_op(struct pto_runtime *rt, struct run_state *state, uint32_t at) {
  const struct random_op *op = &state->program->ops[at];
  if (op->kind == OP_SCOPE_BEGIN) return pto_scope_begin(rt, op->scope_kind);
  if (op->kind == OP_SCOPE_END) return pto_scope_end(rt);
  if (op->kind != OP_READ && op->kind != OP_WRITE) return submit_op(rt, state, at);
  struct pto_tensor t = tensor_of(rt, state, &op->params[0], 0);
  uint64_t index[PTO_MAX_DIMS] = {0}, value = op->salt;
  for (uint32_t d = 0; d < t.ndims; d++) index[d] = t.shape[d] ? op->salt % t.shape[d] : 0;
  if (op->kind == OP_WRITE) return pto_write_element(rt, &t, index, &value);
  value = 0;
  int status = pto_read_element(rt, &t, index, &value);
  for (uint32_t k = 0; k < 8; k++) state->result->reads = fold(state->result->reads, (uint8_t)(value >> (8 * k)));
  return status;
}

static int orchestrate(struct pto_runtime *rt, void *context) {
  struct run_state *state = context;
  uint32_t depth = 0;
  for (uint32_t i = 0; i < state->program->op_count; i++) {
    if (!state->plan->runs[i]) continue;
    int status = run_op(rt, state, i);
    if (status) return status;
    if (state->program->ops[i].kind == OP_SCOPE_BEGIN) depth++;
    if (state->program->ops[i].kind == OP_SCOPE_END) depth--;
  }
  while (depth--) {
    int status = pto_scope_end(rt);
    if (status) return status;
  }
  return 0;
}

static void fill_externals(struct random_result *result, uint64_t seed) {
  struct pto_rng rng = {~seed};
  for (uint32_t i = 0; i < RANDOM_EXTERNALS; i++)
    for (uint32_t k = 0; k < RANDOM_EXTERNAL_BYTES; k++) result->externals[i][k] = (uint8_t)pto_rng_next(&rng);
}

static struct run_state *state_of(const struct random_program *program, const struct random_plan *plan) {
  struct run_state *state = calloc(1, sizeof *state);
  state->kernels = calloc(RANDOM_MAX_OPS, sizeof *state->kernels);
  state->program = program;
  state->plan = plan;
  return state;
}

static void take_result(struct pto_runtime *rt, struct random_result *result) {
  snprintf(result->sentence, sizeof result->sentence, "%s", pto_last_error(rt));
  struct pto_stats stats = {.size = sizeof stats};
  pto_runtime_stats(rt, &stats);
  result->tasks = stats.tasks;
  result->edges = stats.edges;
}

static void begin_result(struct run_state *state, struct random_result *result) {
  memset(result, 0, sizeof *result);
  fill_externals(result, state->program->seed);
  state->result = result;
}

void random_program_run(const struct random_program *program, const struct random_plan *plan, struct pto_runtime *rt,
                        struct random_result *result) {
  struct run_state *state = state_of(program, plan);
  begin_result(state, result);
  result->status = pto_run(rt, orchestrate, state);
  take_result(rt, result);
  free(state->kernels);
  free(state);
}

/* ---- kept, and submitted again ---- */

struct random_kept {
  struct run_state *state;
  struct pto_call_list *calls;
  struct pto_recorded *recorded;
  bool is_usable, is_launch;
  uint32_t before, times;
};

static void give_externals(struct pto_runtime *rt, struct run_state *state) {
  const uint64_t shape[] = {RANDOM_EXTERNAL_BYTES};
  for (uint32_t i = 0; i < RANDOM_EXTERNALS; i++)
    state->given[i] = pto_external_tensor(rt, state->result->externals[i], PTO_UINT8, 1, shape);
  state->has_given = true;
}

static int keep(struct pto_runtime *rt, void *context) {
  struct random_kept *kept = context;
  give_externals(rt, kept->state);
  kept->calls = pto_call_list_begin(rt, kept->state->given, RANDOM_EXTERNALS);
  const int status = orchestrate(rt, kept->state);
  kept->is_usable = pto_call_list_end(rt, kept->calls);
  return status;
}

static int repeat_kept(struct pto_runtime *rt, void *context) {
  struct random_kept *kept = context;
  for (uint32_t i = 0; i < kept->before; i++)
    if (pto_submit_barrier(rt, NULL, 0, NULL)) return -1;
  give_externals(rt, kept->state);
  return pto_call_list_replay(rt, kept->calls, kept->state->given, RANDOM_EXTERNALS);
}

struct random_kept *random_program_keep(const struct random_program *program, const struct random_plan *plan,
                                        struct pto_runtime *rt, struct random_result *result) {
  struct random_kept *kept = calloc(1, sizeof *kept);
  kept->state = state_of(program, plan);
  begin_result(kept->state, result);
  result->status = pto_run(rt, keep, kept);
  take_result(rt, result);
  if (result->status == PTO_OK && kept->is_usable) return kept;
  random_kept_destroy(kept);
  return NULL;
}

void random_kept_run(struct random_kept *kept, struct pto_runtime *rt, uint32_t before, struct random_result *result) {
  begin_result(kept->state, result);
  kept->before = before;
  result->status = pto_run(rt, repeat_kept, kept);
  take_result(rt, result);
}

/* ---- recorded, and launched ---- */

static int launch(struct pto_runtime *rt, const struct random_kept *kept) {
  struct pto_param boundary[RANDOM_EXTERNALS];
  for (uint32_t i = 0; i < RANDOM_EXTERNALS; i++) boundary[i] = pto_inout(&kept->state->given[i]);
  const struct pto_recorded_launch what = {.size = sizeof what, .params = boundary, .count = RANDOM_EXTERNALS};
  return pto_submit_recorded(rt, kept->recorded, &what, NULL);
}

static int record(struct pto_runtime *rt, void *context) {
  struct random_kept *kept = context;
  struct pto_param boundary[RANDOM_EXTERNALS];
  give_externals(rt, kept->state);
  for (uint32_t i = 0; i < RANDOM_EXTERNALS; i++) boundary[i] = pto_inout(&kept->state->given[i]);
  int status = pto_recorded_begin(rt, boundary, RANDOM_EXTERNALS);
  if (!status) status = orchestrate(rt, kept->state);
  if (!status) status = pto_recorded_end(rt, &kept->recorded);
  return status ? status : launch(rt, kept);
}

static int run_recorded(struct pto_runtime *rt, void *context) {
  const struct random_kept *kept = context;
  int status = PTO_OK;
  give_externals(rt, kept->state);
  if (!kept->is_launch) return orchestrate(rt, kept->state);
  for (uint32_t i = 0; i < kept->times && !status; i++) status = launch(rt, kept);
  return status;
}

struct random_kept *random_program_record(const struct random_program *program, const struct random_plan *plan,
                                          struct pto_runtime *rt, struct random_result *result) {
  struct random_kept *kept = calloc(1, sizeof *kept);
  kept->state = state_of(program, plan);
  begin_result(kept->state, result);
  result->status = pto_run(rt, record, kept);
  take_result(rt, result);
  if (result->status == PTO_OK) return kept;
  random_kept_destroy(kept);
  return NULL;
}

void random_recorded_run(struct random_kept *kept, struct pto_runtime *rt, uint32_t times, bool is_launch,
                         struct random_result *result) {
  begin_result(kept->state, result);
  kept->times = times;
  kept->is_launch = is_launch;
  result->status = pto_run(rt, run_recorded, kept);
  for (uint32_t i = 1; i < times && !is_launch && !result->status; i++)
    result->status = pto_run(rt, run_recorded, kept);
  take_result(rt, result);
}

void random_kept_destroy(struct random_kept *kept) {
  pto_recorded_destroy(kept->recorded);
  pto_call_list_destroy(kept->calls);
  free(kept->state->kernels);
  free(kept->state);
  free(kept);
}
