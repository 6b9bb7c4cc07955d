/* SPDX-License-Identifier: MIT */
/*
 * rope, rope_positions (AIV): rotary position embedding.  x and y are [tokens…, heads, dim]; a token at position p has
 * in each head its pairs (a, b) turned by the angle whose cosine and sine are in row p of the tables [positions,
 * pairs]:
 *
 *     a' = a·cos − b·sin        b' = a·sin + b·cos
 *
 *   layout 0   pair i is (2i, 2i + 1): neighbours
 *   layout 1   pair i is (i, i + pairs): halves, as in NeoX
 *
 * What lies behind the pairs, dim − 2·pairs elements, goes through as it is.  In rope the position is the index of the
 * innermost dimension of tokens (0 if there is none) + `first`; in rope_positions it is an element of `positions`, of
 * the shape of the tokens, and an index of the tables' rows as in gather.  Each product and sum is rounded to f32, the
 * result to y's dtype.  y may be x.  Any thread.
 */
#include <kernels/move/index.h>
#include <kernels/api/list.h>
#include <kernels/levels/loops.h>
#include <kernels/api/shape.h>

#include <inttypes.h>

enum { X, COS, SIN, POSITIONS };
enum { LAYOUT_NEIGHBOURS, LAYOUT_HALVES, LAYOUT_COUNT };

/* What both kernels mean by their parameters. */
struct rope {
  const struct pto_kernel_tensor *x, *cos, *sin, *y;
  uint32_t token_dims; /* of x, outside of heads and dim */
  uint64_t dim, pairs, layout;
};

static struct rope rope_of(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *x = &args->tensors[X], *cos = &args->tensors[COS];
  return (struct rope){.x = x,
                       .cos = cos,
                       .sin = &args->tensors[SIN],
                       .y = &args->tensors[args->tensor_count - 1],
                       .token_dims = x->ndims - 2,
                       .dim = x->shape[x->ndims - 1],
                       .pairs = cos->shape[1],
                       .layout = args->scalars[args->scalar_count - 1].u64};
}

/* ---- checks and costs ---- */

static int check_tables(const struct pto_kernel_args *args, const char *kernel) {
  const struct rope rope = rope_of(args);
  const int status = pto_check_same_shape(args, kernel, X, args->tensor_count - 1);
  if (status != 0) return status;
  if (rope.layout >= LAYOUT_COUNT)
    return pto_kernel_error(args, "%s: layout %" PRIu64 " is not 0 (neighbours) or 1 (halves) (param %" PRIu32 ")",
                            kernel, rope.layout, args->tensor_count + args->scalar_count - 1);
  if (rope.pairs > rope.dim / 2)
    return pto_kernel_error(args, "%s: %" PRIu64 " pairs in %" PRIu64 " elements (params 1 and 0)", kernel, rope.pairs,
                            rope.dim);
  return pto_check_same_shape(args, kernel, COS, SIN);
}

static int rope_check(const struct pto_kernel_args *args) {
  const int status = check_tables(args, "rope");
  if (status != 0) return status;
  const struct rope rope = rope_of(args);
  const uint64_t first = args->scalars[0].u64, positions = rope.cos->shape[0];
  const uint64_t tokens = rope.token_dims == 0 ? 1 : rope.x->shape[rope.token_dims - 1];
  if (first <= positions && tokens <= positions - first) return 0;
  return pto_kernel_error(args, "rope: %" PRIu64 " tokens from position %" PRIu64 " of %" PRIu64 " (params 0, 4 and 1)",
                          tokens, first, positions);
}

static int rope_positions_check(const struct pto_kernel_args *args) {
  const int status = check_tables(args, "rope_positions");
  if (status != 0) return status;
  const struct rope rope = rope_of(args);
  const struct pto_kernel_tensor *positions = &args->tensors[POSITIONS];
  bool is_same = positions->ndims == rope.token_dims;
  for (uint32_t d = 0; is_same && d < rope.token_dims; d++) is_same = positions->shape[d] == rope.x->shape[d];
  if (is_same) return 0;
  char text[192], x_text[192];
  pto_format_shape(positions, text, sizeof text);
  pto_format_shape(rope.x, x_text, sizeof x_text);
  return pto_kernel_error(args, "rope_positions: positions %s are not the tokens of %s (params 3 and 0)", text, x_text);
}

/* Four multiplications and two additions a pair; of the tables, no more than `rows` rows. */
static struct pto_cost cost_of(const struct pto_kernel_args *args, uint64_t rows) {
  const struct rope rope = rope_of(args);
  const uint64_t numel = pto_kernel_numel(rope.x);
  struct pto_cost cost = {.bytes_in = pto_kernel_bytes(rope.x), .bytes_out = pto_kernel_bytes(rope.y)};
  if (numel == 0) return (struct pto_cost){0};
  cost.bytes_in += pto_min_u64(rows * rope.pairs * pto_dtype_size(rope.cos->dtype), pto_kernel_bytes(rope.cos)) +
                   pto_min_u64(rows * rope.pairs * pto_dtype_size(rope.sin->dtype), pto_kernel_bytes(rope.sin));
  cost.vector_elems = numel / rope.dim * rope.pairs * 6;
  cost.local_bytes = pto_local_bytes(rope.dim * sizeof(float)) + 2 * pto_local_bytes(rope.pairs * sizeof(float));
  return cost;
}

static struct pto_cost rope_cost(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *x = &args->tensors[X];
  return cost_of(args, x->ndims == 2 ? 1 : x->shape[x->ndims - 3]);
}

static struct pto_cost rope_positions_cost(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *positions = &args->tensors[POSITIONS];
  struct pto_cost cost = cost_of(args, pto_kernel_numel(positions));
  if (cost.bytes_in == 0) return cost;
  cost.bytes_in += pto_kernel_bytes(positions);
  cost.local_bytes += pto_local_bytes(pto_index_pair_bytes(pto_kernel_numel(positions)));
  return cost;
}

/* ---- runs ---- */

struct buffers {
  float *row, *cos, *sin;
  pto_load_loop *load_x, *load_cos, *load_sin;
  pto_store_loop *store_y;
};

static void buffers_init(struct buffers *b, const struct rope *rope, struct pto_local *local) {
  const struct pto_loops *loops = pto_loops_best();
  b->row = pto_local_take(local, rope->dim * sizeof(float));
  b->cos = pto_local_take(local, rope->pairs * sizeof(float));
  b->sin = pto_local_take(local, rope->pairs * sizeof(float));
  b->load_x = loops->load[PTO_CLASS_F32][rope->x->dtype];
  b->load_cos = loops->load[PTO_CLASS_F32][rope->cos->dtype];
  b->load_sin = loops->load[PTO_CLASS_F32][rope->sin->dtype];
  b->store_y = loops->store[PTO_CLASS_F32][rope->y->dtype];
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

static void turn_neighbours(float *restrict row, const float *restrict cos, const float *restrict sin, uint64_t pairs) {
  for (uint64_t i = 0; i < pairs; i++) {
    const float a = row[2 * i], b = row[2 * i + 1];
    row[2 * i] = a * cos[i] - b * sin[i];
    row[2 * i + 1] = a * sin[i] + b * cos[i];
  }
}

static void turn_halves(float *restrict low, float *restrict high, const float *restrict cos, const float *restrict sin,
                        uint64_t pairs) {
  for (uint64_t i = 0; i < pairs; i++) {
    const float a = low[i], b = high[i];
    low[i] = a * cos[i] - b * sin[i];
    high[i] = a * sin[i] + b * cos[i];
  }
}

static char *element(const struct pto_kernel_tensor *t, uint64_t elems) {
  return (char *)t->addr + elems * pto_dtype_size(t->dtype);
}

/* All heads of the token that is `x_at` and `y_at` elements from the first. */
static void turn_token(const struct rope *rope, const struct buffers *b, uint64_t position, uint64_t x_at,
                       uint64_t y_at) {
  const struct pto_kernel_tensor *x = rope->x, *y = rope->y;
  const uint32_t heads = rope->token_dims, last = heads + 1;
  if (rope->pairs > 0) { /* strides of an empty table may be anything */
    b->load_cos(b->cos, element(rope->cos, position * rope->cos->strides[0]),
                rope->cos->strides[1] * pto_dtype_size(rope->cos->dtype), rope->pairs);
    b->load_sin(b->sin, element(rope->sin, position * rope->sin->strides[0]),
                rope->sin->strides[1] * pto_dtype_size(rope->sin->dtype), rope->pairs);
  }
  for (uint64_t head = 0; head < x->shape[heads]; head++) {
    b->load_x(b->row, element(x, x_at + head * x->strides[heads]), x->strides[last] * pto_dtype_size(x->dtype),
              rope->dim);
    if (rope->layout == LAYOUT_NEIGHBOURS)
      turn_neighbours(b->row, b->cos, b->sin, rope->pairs);
    else
      turn_halves(b->row, b->row + rope->pairs, b->cos, b->sin, rope->pairs);
    b->store_y(b->row, element(y, y_at + head * y->strides[heads]), y->strides[last] * pto_dtype_size(y->dtype),
               rope->dim);
  }
}

/* A place among the tokens, in row-major order. */
struct token {
  uint64_t at[PTO_MAX_DIMS];
};

static void turn_at(const struct rope *rope, const struct buffers *b, uint64_t position, const struct token *token) {
  uint64_t x_at = 0, y_at = 0;
  for (uint32_t d = 0; d < rope->token_dims; d++) {
    x_at += token->at[d] * rope->x->strides[d];
    y_at += token->at[d] * rope->y->strides[d];
  }
  turn_token(rope, b, position, x_at, y_at);
}

/* False behind the last token. */
static bool next_token(const struct rope *rope, struct token *token) {
  for (uint32_t d = rope->token_dims; d-- > 0;) {
    if (++token->at[d] < rope->x->shape[d]) return true;
    token->at[d] = 0;
  }
  return false;
}

static int rope_run(const struct pto_kernel_args *args) {
  const struct rope rope = rope_of(args);
  if (pto_kernel_numel(rope.x) == 0) return 0;
  struct pto_local local = pto_local_begin(&args->core->local);
  struct buffers b;
  struct token token = {{0}};
  buffers_init(&b, &rope, &local);
  do {
    const uint64_t index = rope.token_dims == 0 ? 0 : token.at[rope.token_dims - 1];
    turn_at(&rope, &b, args->scalars[0].u64 + index, &token);
  } while (next_token(&rope, &token));
  return 0;
}

static int rope_positions_run(const struct pto_kernel_args *args) {
  const struct rope rope = rope_of(args);
  /* A position is an index of rows: what it finds are rows of a column of the table. */
  const uint64_t one = 1;
  const struct pto_kernel_tensor rows = {.shape = rope.cos->shape, .strides = &one, .ndims = 1};
  struct pto_index_walk walk;
  pto_index_walk_axis(&walk, &args->tensors[POSITIONS], &rows, 0);
  const int status = pto_index_check(args, "rope_positions", &walk, POSITIONS);
  if (status != 0 || pto_kernel_numel(rope.x) == 0) return status;
  struct pto_local local = pto_local_begin(&args->core->local);
  struct buffers b;
  struct token token = {{0}};
  buffers_init(&b, &rope, &local);
  struct pto_index_pair *pairs = pto_local_take(&local, pto_index_pair_bytes(walk.positions));
  for (uint64_t count; (count = pto_index_pairs(&walk, pairs)) > 0;)
    for (uint64_t i = 0; i < count; i++) {
      turn_at(&rope, &b, (uint64_t)pairs[i].indexed, &token);
      (void)next_token(&rope, &token);
    }
  return 0;
}

/* ---- the kernels ---- */

#define TENSOR(name_, mode_, rank, most)                                                                               \
  { .name = name_, .mode = mode_, .dtypes = PTO_DTYPES_FLOAT, .min_rank = rank, .max_rank = most }
#define COUNT(name_)                                                                                                   \
  { .name = name_, .mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64 }
static const struct pto_kernel_param rope_params[] = {TENSOR("x", PTO_INPUT, 2, 0),
                                                      TENSOR("cos", PTO_INPUT, 2, 2),
                                                      TENSOR("sin", PTO_INPUT, 2, 2),
                                                      TENSOR("y", PTO_OUTPUT, 2, 0),
                                                      COUNT("first"),
                                                      COUNT("layout")};
static const struct pto_kernel_param rope_positions_params[] = {
    TENSOR("x", PTO_INPUT, 2, 0),   TENSOR("cos", PTO_INPUT, 2, 2),
    TENSOR("sin", PTO_INPUT, 2, 2), {.name = "positions", .mode = PTO_INPUT, .dtypes = PTO_DTYPES_INDEX},
    TENSOR("y", PTO_OUTPUT, 2, 0),  COUNT("layout")};

PTO_GENERAL_KERNEL(rope, rope_params, .cores = PTO_AIV, .flags = PTO_KERNEL_IN_PLACE | PTO_KERNEL_ONE_BLOCK,
                   .run = rope_run, .cost = rope_cost, .check = rope_check);
PTO_GENERAL_KERNEL(rope_positions, rope_positions_params, .cores = PTO_AIV,
                   .flags = PTO_KERNEL_IN_PLACE | PTO_KERNEL_ONE_BLOCK, .run = rope_positions_run,
                   .cost = rope_positions_cost, .check = rope_positions_check);
