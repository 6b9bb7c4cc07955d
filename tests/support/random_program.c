/* SPDX-License-Identifier: MIT */
#include <tests/support/random_program.h>

#include <stdio.h>
#include <string.h>

#include <runtime/deps/rules.h>
#include <runtime/submit/replay.h>
#include <tests/support/template_hits.h>

static const uint32_t dtypes[] = {PTO_FLOAT32, PTO_INT32, PTO_INT16, PTO_INT8, PTO_UINT8, PTO_INT64, PTO_BFLOAT16};

/* ---- making ---- */

static uint32_t below(struct pto_rng *rng, uint32_t bound) { return (uint32_t)pto_rng_below(rng, bound); }

static uint32_t kernel_tensor_count(const struct random_op *op) { return op->param_count - (op->compare ? 1 : 0); }

/* A dense base of at most `bytes`, and a box, stepped or transposed, in it. */
static void make_view(struct pto_rng *rng, struct random_view *view, uint32_t bytes, bool is_whole) {
  memset(view, 0, sizeof *view);
  view->dtype = dtypes[below(rng, PTO_ARRAY_LENGTH(dtypes))];
  uint32_t size = (uint32_t)pto_dtype_size(view->dtype);
  uint32_t count = bytes / size;
  view->ndims = 1 + below(rng, 3);
  static const uint32_t inner[] = {4, 8, 16, 3, 5};
  uint64_t rest = count;
  for (uint32_t d = view->ndims; d-- > 1;) {
    view->root[d] = inner[below(rng, PTO_ARRAY_LENGTH(inner))];
    if (view->root[d] > rest) view->root[d] = rest;
    rest /= view->root[d];
  }
  view->root[0] = rest;
  for (uint32_t d = 0; d < view->ndims; d++) {
    view->shape[d] = view->root[d];
    view->step[d] = 1;
    if (is_whole) continue;
    uint32_t style = below(rng, 8);
    if (style == 0 && view->root[d] > 1) { /* stepped */
      view->step[d] = 1 + below(rng, 3);
      view->offset[d] = below(rng, 2) % view->root[d];
      view->shape[d] = (view->root[d] - view->offset[d] + view->step[d] - 1) / view->step[d];
    } else if (style < 6) { /* a tile of a regular tiling, or any box */
      uint64_t tile =
          style < 4 ? pto_max_u64(view->root[d] / (2 + below(rng, 3)), 1) : 1 + below(rng, (uint32_t)view->root[d]);
      uint64_t tiles = view->root[d] / tile;
      view->offset[d] =
          style < 4 ? below(rng, (uint32_t)tiles) * tile : below(rng, (uint32_t)(view->root[d] - tile + 1));
      view->shape[d] = tile;
    }
  }
  view->transpose = view->ndims > 1 && below(rng, 4) == 0;
  view->fuzzy = !is_whole && below(rng, 40) == 0;
}

static void make_param(struct pto_rng *rng, struct random_param *param, const uint32_t *buffer_bytes,
                       uint32_t buffer_count) {
  memset(param, 0, sizeof *param);
  uint32_t recent = buffer_count > 6 && below(rng, 3) ? buffer_count - 6 : 0;
  uint32_t buffer = recent ? recent + below(rng, 6) : below(rng, buffer_count);
  if (below(rng, 3) == 0) buffer = below(rng, RANDOM_EXTERNALS);
  uint32_t bytes = buffer_bytes[buffer];
  uint64_t skip = 0;
  if (buffer < RANDOM_EXTERNALS) { /* registrations at several bases, of a few sizes */
    skip = below(rng, 3) ? 0 : 64 * below(rng, 8);
    bytes = below(rng, 3) ? bytes - 512 : 256;
  }
  make_view(rng, &param->view, bytes, below(rng, 6) == 0);
  param->view.buffer = buffer;
  param->view.skip_bytes = skip;
  static const uint32_t modes[] = {PTO_INPUT,  PTO_INPUT, PTO_INPUT, PTO_OUTPUT,
                                   PTO_OUTPUT, PTO_INOUT, PTO_HOLD,  PTO_ACCUMULATE};
  param->mode = modes[below(rng, PTO_ARRAY_LENGTH(modes))];
  param->advances = param->mode == PTO_OUTPUT && below(rng, 4) == 0;
}

static void make_allocation(struct pto_rng *rng, struct random_param *param, uint32_t *buffer_bytes,
                            uint32_t *buffer_count) {
  memset(param, 0, sizeof *param);
  uint32_t bytes = 64 << below(rng, 4);
  make_view(rng, &param->view, bytes, true);
  param->view.transpose = 0;
  uint64_t dense = pto_dtype_size(param->view.dtype);
  for (uint32_t d = 0; d < param->view.ndims; d++) dense *= param->view.root[d];
  param->view.buffer = *buffer_count;
  param->mode = PTO_OUTPUT;
  param->allocates = true;
  buffer_bytes[(*buffer_count)++] = (uint32_t)dense;
}

static void make_predicate(struct pto_rng *rng, struct random_op *op, const uint32_t *buffer_bytes) {
  if (op->param_count == RANDOM_MAX_PARAMS) return;
  struct random_param *param = &op->params[op->param_count++];
  memset(param, 0, sizeof *param);
  param->view.buffer = below(rng, RANDOM_EXTERNALS);
  param->view.dtype = PTO_INT32;
  param->view.ndims = 1;
  param->view.root[0] = buffer_bytes[param->view.buffer] / 4;
  param->view.offset[0] = below(rng, (uint32_t)param->view.root[0]);
  param->view.shape[0] = param->view.step[0] = 1;
  param->mode = PTO_INPUT;
  op->compare = PTO_IF_EQ + below(rng, 6);
  op->compare_value = (int64_t)below(rng, 256) - 128;
}

static void make_task(struct pto_rng *rng, struct random_op *op, uint32_t *buffer_bytes, uint32_t *buffer_count) {
  op->kind = OP_TASK;
  op->shape = below(rng, 3) ? below(rng, 2) : below(rng, 5);
  op->block_count = below(rng, 6) ? 1 : 2 + below(rng, 2);
  op->sync_start = op->shape == 1 && op->block_count == 2 && below(rng, 2);
  op->param_count = 1 + below(rng, RANDOM_MAX_PARAMS - 1);
  for (uint32_t i = 0; i < op->param_count; i++) {
    if (below(rng, 6) == 0 && *buffer_count < RANDOM_MAX_BUFFERS)
      make_allocation(rng, &op->params[i], buffer_bytes, buffer_count);
    else
      make_param(rng, &op->params[i], buffer_bytes, *buffer_count);
  }
  if (op->param_count >= 2 && op->shape < 2 && below(rng, 8) == 0 && op->params[0].mode == PTO_INPUT) {
    op->in_place = 1;
    op->params[1] = op->params[0];
    op->params[1].mode = PTO_OUTPUT;
    op->params[1].advances = below(rng, 2);
  }
  for (uint32_t i = 0; i < op->param_count; i++) op->sync_start &= op->params[i].mode != PTO_ACCUMULATE;
  if (below(rng, 10) == 0) make_predicate(rng, op, buffer_bytes);
  op->after_count = below(rng, 8) == 0 ? 1 + below(rng, 3) : 0;
  for (uint32_t i = 0; i < op->after_count; i++) op->after[i] = 1 + below(rng, 12);
}

/* Another tile of the same size, in the same buffer or in one that is large enough; strides stay. */
static void move_view(struct pto_rng *rng, struct random_view *view, const uint32_t *buffer_bytes,
                      uint32_t buffer_count) {
  uint64_t bytes = pto_dtype_size(view->dtype);
  for (uint32_t d = 0; d < view->ndims; d++) bytes *= view->root[d];
  const uint32_t other = below(rng, 2) ? below(rng, RANDOM_EXTERNALS) : below(rng, buffer_count);
  if (below(rng, 3) == 0 && buffer_bytes[other] >= bytes) {
    view->buffer = other;
    view->skip_bytes = 0;
  }
  if (view->buffer < RANDOM_EXTERNALS && below(rng, 3) == 0) view->skip_bytes = 64 * below(rng, 8);
  for (uint32_t d = 0; d < view->ndims; d++) {
    const uint64_t length = view->shape[d] ? (view->shape[d] - 1) * view->step[d] + 1 : 0;
    if (length < view->root[d] && below(rng, 3))
      view->offset[d] = below(rng, 2) ? below(rng, (uint32_t)(view->root[d] - length + 1))
                                      : length * below(rng, (uint32_t)(view->root[d] / pto_max_u64(length, 1)));
  }
}

/* The kernel of an earlier task again.  What its list of parameters says stays: their number and modes, what is in
 * place, and the roles. */
static void make_repetition(struct pto_rng *rng, struct random_op *op, const struct random_op *earlier,
                            uint32_t *buffer_bytes, uint32_t *buffer_count) {
  const uint64_t salt = op->salt;
  *op = *earlier;
  op->salt = salt;
  for (uint32_t i = 0; i < op->param_count; i++) {
    struct random_param *param = &op->params[i];
    if (param->allocates) {
      if (below(rng, 3) == 0 && *buffer_count < RANDOM_MAX_BUFFERS) {
        buffer_bytes[*buffer_count] = buffer_bytes[param->view.buffer];
        param->view.buffer = (*buffer_count)++;
        continue;
      }
      param->allocates = false; /* in place */
    }
    if (op->in_place && i == 1)
      param->view = op->params[0].view;
    else
      move_view(rng, &param->view, buffer_bytes, *buffer_count);
    param->advances = param->mode == PTO_OUTPUT && below(rng, 8) == 0;
    if (below(rng, 30) == 0 && !op->in_place && i < kernel_tensor_count(op)) { /* nothing like before but its mode */
      const uint32_t mode = param->mode;
      make_param(rng, param, buffer_bytes, *buffer_count);
      param->mode = mode;
      param->advances = false;
    }
  }
  if (op->shape < 2 && !op->sync_start && below(rng, 12) == 0) op->shape = !op->shape;
  if (!op->sync_start && below(rng, 12) == 0) op->block_count = 1 + below(rng, 3);
  op->after_count = below(rng, 8) == 0 ? 1 + below(rng, 3) : 0;
  for (uint32_t i = 0; i < op->after_count; i++) op->after[i] = 1 + below(rng, 12);
}

static bool is_plain(const struct random_op *op) {
  return op->shape < 2 && op->block_count == 1 && !op->compare && !op->in_place;
}

/* One of the last tasks before `at`, or of all, mostly of a single core; `at` where none was found. */
static uint32_t draw_earlier_task(struct pto_rng *rng, const struct random_program *program, uint32_t at) {
  for (uint32_t attempt = 0; at && attempt < 12; attempt++) {
    const uint32_t i = at - 1 - below(rng, below(rng, 4) ? (uint32_t)pto_min_u64(at, 6) : at);
    if (program->ops[i].kind == OP_TASK && (is_plain(&program->ops[i]) || below(rng, 8) == 0)) return i;
  }
  return at;
}

uint32_t random_program_weak_rules(struct pto_rng *rng) {
  return PTO_DEPS_PTO | below(rng, 1 << PTO_DEPS_NAMED_COUNT) << PTO_DEPS_SWITCH_SHIFT;
}

void random_program_make(struct random_program *program, uint64_t seed) {
  struct pto_rng rng = {seed};
  uint32_t buffer_bytes[RANDOM_MAX_BUFFERS + RANDOM_MAX_PARAMS], buffer_count = RANDOM_EXTERNALS;
  for (uint32_t i = 0; i < RANDOM_EXTERNALS; i++) buffer_bytes[i] = 1024;
  program->kept_heap_bytes = 0;
  program->seed = seed;
  program->op_count = 10 + below(&rng, below(&rng, 4) ? 60 : RANDOM_MAX_OPS - 10);
  uint32_t scope_rate = 4 + below(&rng, 20);
  const uint32_t repeat_rate = below(&rng, 9); /* of eight tasks */
  for (uint32_t i = 0; i < program->op_count; i++) {
    struct random_op *op = &program->ops[i];
    memset(op, 0, sizeof *op);
    op->salt = pto_rng_next(&rng);
    op->kernel = i;
    uint32_t draw = below(&rng, 100);
    if (below(&rng, scope_rate) == 0) {
      op->kind = below(&rng, 2) ? OP_SCOPE_BEGIN : OP_SCOPE_END;
      op->scope_kind = below(&rng, 4) == 0;
    } else if (draw < 4) {
      op->kind = OP_BARRIER;
      op->after_count = below(&rng, 4);
      for (uint32_t k = 0; k < op->after_count; k++) op->after[k] = 1 + below(&rng, 12);
    } else if (draw < 8 && buffer_count + RANDOM_MAX_PARAMS < RANDOM_MAX_BUFFERS) {
      op->kind = OP_ALLOC;
      op->param_count = 1 + below(&rng, 3);
      for (uint32_t k = 0; k < op->param_count; k++) make_allocation(&rng, &op->params[k], buffer_bytes, &buffer_count);
    } else if (draw < 14) {
      op->kind = draw < 11 ? OP_READ : OP_WRITE;
      op->param_count = 1;
      make_param(&rng, &op->params[0], buffer_bytes, buffer_count);
    } else {
      const uint32_t earlier = below(&rng, 8) < repeat_rate ? draw_earlier_task(&rng, program, i) : i;
      if (earlier != i)
        make_repetition(&rng, op, &program->ops[earlier], buffer_bytes, &buffer_count);
      else
        make_task(&rng, op, buffer_bytes, &buffer_count);
    }
  }
}

/* ---- what a task does to bytes: the one definition, used by kernels and by the interpreter ---- */

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
      for (uint32_t k = 0; k < pto_dtype_size(t->dtype); k++)
        at[k] = written(mode, at[k], hash + i, e, k, a->core->block_index);
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
  uint32_t count = kernel_tensor_count(op), roles = role_count(op->shape);
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
  uint32_t count = kernel_tensor_count(op);
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
  struct pto_recording *recording;
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
  kept->recording = pto_recording_begin(rt, kept->state->given, RANDOM_EXTERNALS);
  const int status = orchestrate(rt, kept->state);
  kept->is_usable = pto_recording_end(rt, kept->recording);
  return status;
}

static int repeat_kept(struct pto_runtime *rt, void *context) {
  struct random_kept *kept = context;
  for (uint32_t i = 0; i < kept->before; i++)
    if (pto_submit_barrier(rt, NULL, 0, NULL)) return -1;
  give_externals(rt, kept->state);
  return pto_recording_replay(rt, kept->recording, kept->state->given, RANDOM_EXTERNALS);
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
  pto_recording_destroy(kept->recording);
  free(kept->state->kernels);
  free(kept->state);
  free(kept);
}

void random_program_print(const struct random_program *program) {
  static const char *const kinds[] = {"task", "alloc", "barrier", "scope_begin", "scope_end", "read", "write"};
  for (uint32_t i = 0; i < program->op_count; i++) {
    const struct random_op *op = &program->ops[i];
    if (op->is_dropped) continue;
    printf("  op %u %s kernel %u shape %u blocks %u%s%s kind %u compare %u after", i, kinds[op->kind], op->kernel,
           op->shape, op->block_count, op->sync_start ? " sync" : "", op->in_place ? " in-place" : "", op->scope_kind,
           op->compare);
    for (uint32_t k = 0; k < op->after_count; k++) printf(" -%u", op->after[k]);
    printf("\n");
    for (uint32_t p = 0; p < op->param_count; p++) {
      const struct random_view *v = &op->params[p].view;
      printf("    mode %u%s%s buffer %u %s skip %llu%s%s", op->params[p].mode,
             op->params[p].allocates ? " allocates" : "", op->params[p].advances ? " advances" : "", v->buffer,
             pto_dtype_name(v->dtype), (unsigned long long)v->skip_bytes, v->transpose ? " transposed" : "",
             v->fuzzy ? " fuzzy" : "");
      for (uint32_t d = 0; d < v->ndims; d++)
        printf(" [%llu+%llu×%llu of %llu]", (unsigned long long)v->offset[d], (unsigned long long)v->shape[d],
               (unsigned long long)v->step[d], (unsigned long long)v->root[d]);
      printf("\n");
    }
  }
}

void random_program_shrink(struct random_program *program, bool (*still_fails)(void *context), void *context) {
  for (uint32_t step = program->op_count / 2; step; step /= 2)
    for (uint32_t at = 0; at < program->op_count; at += step) {
      bool was[RANDOM_MAX_OPS];
      for (uint32_t i = 0; i < program->op_count; i++) was[i] = program->ops[i].is_dropped;
      for (uint32_t i = at; i < at + step && i < program->op_count; i++) program->ops[i].is_dropped = true;
      if (still_fails(context)) continue;
      for (uint32_t i = 0; i < program->op_count; i++) program->ops[i].is_dropped = was[i];
    }
}
