/* SPDX-License-Identifier: MIT */
/* Random orchestrations: made from a seed, printed, shrunk. */
#include <tests/support/random_program.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/sanitizer.h>
#include <runtime/deps/rules.h>

static const uint32_t dtypes[] = {PTO_FLOAT32, PTO_INT32, PTO_INT16, PTO_INT8, PTO_UINT8, PTO_INT64, PTO_BFLOAT16};

struct random_seeds random_program_seeds(uint64_t usual, uint64_t in_long) {
  const char *first = getenv("PTO_SEED"), *count = getenv("PTO_RANDOM_PROGRAMS");
  if (PTO_HAS_SANITIZER) usual /= 5;
  return (struct random_seeds){first ? strtoull(first, NULL, 10) : 1, count ? strtoull(count, NULL, 10)
                                                                      : getenv("PTO_TEST_LONG") ? in_long
                                                                                                : usual};
}

/* ---- making ---- */

static uint32_t below(struct pto_rng *rng, uint32_t bound) { return (uint32_t)pto_rng_below(rng, bound); }

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
    if (below(rng, 30) == 0 && !op->in_place && i < random_op_tensor_count(op)) { /* nothing like before but its mode */
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

/* ---- telling, and making less of it ---- */

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
