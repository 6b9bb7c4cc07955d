/* SPDX-License-Identifier: MIT */
#include <orchestration/llm/kernels.h>

#include <math.h>
#include <string.h>

#include <orchestration/support/general_call.h>

#define LLM_POSITIONS 256 /* whose scores an attend has in local memory at a time */
#define LLM_LANES 8       /* elements of a value that are summed side by side */

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O3")
#endif

struct llm_general llm_general;

__attribute__((constructor)) static void llm_find_general(void) {
  llm_general.matvec = pto_kernel_find("matvec");
  llm_general.matvec_accumulate = pto_kernel_find("matvec_accumulate");
  llm_general.matvec_int8 = pto_kernel_find("matvec_int8");
  llm_general.matvec_int8_accumulate = pto_kernel_find("matvec_int8_accumulate");
  llm_general.rmsnorm = pto_kernel_find("rmsnorm");
  llm_general.arg_max = pto_kernel_find("arg_max");
  llm_general.exp = pto_kernel_find("exp");
  llm_general.silu = pto_kernel_find("silu");
}

/* Run and cost are those of `of`. */
#define LLM_KERNEL(name_, params_, of)                                                                                 \
  const struct pto_kernel llm_##name_ = {.name = #name_,                                                               \
                                         .cores = PTO_AIV,                                                             \
                                         .params = params_,                                                            \
                                         .param_count = LENGTH(params_),                                               \
                                         .run = llm_##of##_run,                                                        \
                                         .cost = llm_##of##_cost}

/* ---- embed ---- */

_Static_assert(PTO_DTYPES_FLOAT ==
                   (PTO_DTYPE_BIT(PTO_FLOAT32) | PTO_DTYPE_BIT(PTO_FLOAT16) | PTO_DTYPE_BIT(PTO_BFLOAT16)),
               "a float more: how it is read goes here");
static float llm_element(const struct pto_kernel_tensor *t, uint64_t index) {
  if (t->dtype == PTO_FLOAT16) return pto_fp16_to_f32(((const uint16_t *)t->addr)[index]);
  if (t->dtype == PTO_BFLOAT16) return pto_bf16_to_f32(((const uint16_t *)t->addr)[index]);
  if (t->dtype == PTO_INT8) return ((const int8_t *)t->addr)[index];
  return ((const float *)t->addr)[index];
}

static int llm_embed_run(const struct pto_kernel_args *a) {
  const struct pto_kernel_tensor *table = &a->tensors[0], *scale = a->tensor_count == 4 ? &a->tensors[1] : NULL;
  const uint64_t cols = table->shape[1];
  const int32_t token = *(const int32_t *)a->tensors[a->tensor_count - 2].addr;
  float *x = a->tensors[a->tensor_count - 1].addr;
  if (token < 0 || (uint64_t)token >= table->shape[0])
    return pto_kernel_error(a, "embed: token %d of %llu", token, (unsigned long long)table->shape[0]);
  const uint64_t first = (uint64_t)token * cols;
  for (uint64_t i = 0; i < cols; i++) {
    x[i] = llm_element(table, first + i);
    if (scale) x[i] *= llm_element(scale, (first + i) / LLM_BLOCK);
  }
  return 0;
}

/* A row of the table. */
static struct pto_cost llm_embed_cost(const struct pto_kernel_args *a) {
  const uint64_t cols = a->tensors[0].shape[1];
  struct pto_cost cost = {.bytes_in = cols * pto_dtype_size(a->tensors[0].dtype) + sizeof(int32_t),
                          .bytes_out = cols * sizeof(float),
                          .vector_elems = cols};
  if (a->tensor_count == 4) cost.bytes_in += cols / LLM_BLOCK * pto_dtype_size(a->tensors[1].dtype);
  return cost;
}

static const struct pto_kernel_param llm_embed_params[] = {TENSOR("table", PTO_INPUT, PTO_DTYPES_FLOAT, 2),
                                                           TENSOR("token", PTO_INPUT, I32, 1),
                                                           TENSOR("x", PTO_OUTPUT, F32, 1)};
static const struct pto_kernel_param llm_embed_int8_params[] = {
    TENSOR("table", PTO_INPUT, I8, 2), TENSOR("scale", PTO_INPUT, PTO_DTYPES_FLOAT, 2),
    TENSOR("token", PTO_INPUT, I32, 1), TENSOR("x", PTO_OUTPUT, F32, 1)};
LLM_KERNEL(embed, llm_embed_params, embed);
LLM_KERNEL(embed_int8, llm_embed_int8_params, embed);

/* ---- rotate_and_store ---- */

/* How the pairs of a head lie in it, and the angles of one position. */
struct llm_rotation {
  const float *cosines, *sines;
  uint64_t width;
  bool is_halves; /* pair i is (i, i + width / 2), else (2i, 2i + 1) */
};

/* The pairs of each head of a row of `count` elements turn. */
static void llm_turn(float *restrict to, const float *restrict from, uint64_t count, const struct llm_rotation *r) {
  const uint64_t pairs = r->width / 2, step = r->is_halves ? 1 : 2, apart = r->is_halves ? pairs : 1;
  for (uint64_t head = 0; head < count; head += r->width)
    for (uint64_t i = 0; i < pairs; i++) {
      const uint64_t first = head + i * step, second = first + apart;
      to[first] = from[first] * r->cosines[i] - from[second] * r->sines[i];
      to[second] = from[first] * r->sines[i] + from[second] * r->cosines[i];
    }
}

/* The position, or an error where the tables end before it. */
static int llm_position(const struct pto_kernel_args *a, const struct pto_kernel_tensor *t, uint64_t positions,
                        uint64_t *position_out) {
  const int32_t position = *(const int32_t *)t->addr;
  if (position < 0 || (uint64_t)position >= positions)
    return pto_kernel_error(a, "position %d of %llu", position, (unsigned long long)positions);
  *position_out = (uint64_t)position;
  return 0;
}

enum { LLM_Q, LLM_KEY, LLM_VALUE, LLM_COS, LLM_SIN, LLM_AT, LLM_KEYS, LLM_VALUES };

static int llm_rotate_and_store_run(const struct pto_kernel_args *a) {
  const struct pto_kernel_tensor *t = a->tensors, *keys = &t[LLM_KEYS], *values = &t[LLM_VALUES];
  const uint64_t width = values->shape[2], positions = values->shape[1];
  float *q = t[LLM_Q].addr, *turned = a->core->local.addr, *to = keys->addr;
  uint64_t at = 0;
  int status = llm_position(a, &t[LLM_AT], positions, &at);
  if (status) return status;
  const struct llm_rotation rotation = {.cosines = (const float *)t[LLM_COS].addr + at * (width / 2),
                                        .sines = (const float *)t[LLM_SIN].addr + at * (width / 2),
                                        .width = width,
                                        .is_halves = a->scalars[0].u64 != 0};
  llm_turn(turned, q, t[LLM_Q].shape[0], &rotation);
  memcpy(q, turned, t[LLM_Q].shape[0] * sizeof *q);
  llm_turn(turned, t[LLM_KEY].addr, t[LLM_KEY].shape[0], &rotation);
  for (uint64_t i = 0; i < t[LLM_KEY].shape[0]; i++) to[i * positions + at] = turned[i];
  for (uint64_t h = 0; h < values->shape[0]; h++)
    memcpy((float *)values->addr + (h * positions + at) * width, (const float *)t[LLM_VALUE].addr + h * width,
           width * sizeof(float));
  return 0;
}

/* Six operations a pair; of the tables and the caches, a row. */
static struct pto_cost llm_rotate_and_store_cost(const struct pto_kernel_args *a) {
  const uint64_t q = a->tensors[LLM_Q].shape[0], key = a->tensors[LLM_KEY].shape[0];
  const uint64_t width = a->tensors[LLM_VALUES].shape[2];
  return (struct pto_cost){.bytes_in = (q + 2 * key + width + 1) * sizeof(float),
                           .bytes_out = (q + 2 * key) * sizeof(float),
                           .vector_elems = 3 * (q + key),
                           .local_bytes = general_line_bytes(q * sizeof(float))};
}

static const struct pto_kernel_param llm_rotate_params[] = {
    TENSOR("q", PTO_INOUT, F32, 1),    TENSOR("key", PTO_INPUT, F32, 1),    TENSOR("value", PTO_INPUT, F32, 1),
    TENSOR("cos", PTO_INPUT, F32, 2),  TENSOR("sin", PTO_INPUT, F32, 2),    TENSOR("position", PTO_INPUT, I32, 1),
    TENSOR("keys", PTO_INOUT, F32, 3), TENSOR("values", PTO_INOUT, F32, 3), SCALAR("is_halves", PTO_SCALAR_U64)};
LLM_KERNEL(rotate_and_store, llm_rotate_params, rotate_and_store);

/* ---- carry_row ---- */

/* keys and values of the position before this one; nothing at the first. */
static int llm_carry_row_run(const struct pto_kernel_args *a) {
  const struct pto_kernel_tensor *keys = &a->tensors[0], *values = &a->tensors[1];
  const uint64_t positions = values->shape[1], width = values->shape[2], heads = values->shape[0];
  uint64_t at = 0;
  int status = llm_position(a, &a->tensors[2], positions, &at);
  if (status || at == 0) return status;
  float *to_keys = a->tensors[3].addr, *to_values = a->tensors[4].addr;
  for (uint64_t i = 0; i < heads * width; i++)
    to_keys[i * positions + at - 1] = ((const float *)keys->addr)[i * positions + at - 1];
  for (uint64_t h = 0; h < heads; h++)
    memcpy(to_values + (h * positions + at - 1) * width, (const float *)values->addr + (h * positions + at - 1) * width,
           width * sizeof(float));
  return 0;
}

static struct pto_cost llm_carry_row_cost(const struct pto_kernel_args *a) {
  const uint64_t row = a->tensors[1].shape[0] * a->tensors[1].shape[2];
  return (struct pto_cost){
      .bytes_in = (2 * row + 1) * sizeof(float), .bytes_out = 2 * row * sizeof(float), .vector_elems = 2 * row};
}

static const struct pto_kernel_param llm_carry_params[] = {
    TENSOR("keys", PTO_INPUT, F32, 3), TENSOR("values", PTO_INPUT, F32, 3), TENSOR("position", PTO_INPUT, I32, 1),
    TENSOR("to_keys", PTO_INOUT, F32, 3), TENSOR("to_values", PTO_INOUT, F32, 3)};
LLM_KERNEL(carry_row, llm_carry_params, carry_row);

/* ---- attend ---- */

/* A group of heads that share keys and values, on its way through the positions: softmax with the running maximum and
 * sum of Milakov and Gimelshein ("Online normalizer calculation for softmax", 2018), a block of positions at a time. */
struct llm_group {
  const float *q, *keys, *values;
  uint64_t heads, width, positions;
  float *scores, *most, *sum; /* local: [heads, positions of the block], a number a head */
  float *out;
};

typedef float llm_lanes __attribute__((vector_size(LLM_LANES * 4), aligned(4)));

/* scores[h, t] = q[h] · key[t] / √width, less the largest so far; out and sum fade by what that has grown. */
static void llm_score(const struct llm_group *g, uint64_t first, uint64_t count) {
  const float scale = 1.0f / sqrtf((float)g->width);
  for (uint64_t h = 0; h < g->heads; h++) {
    const float *q = g->q + h * g->width;
    float *restrict scores = g->scores + h * count, most = g->most[h];
    memset(scores, 0, count * sizeof *scores);
    for (uint64_t i = 0; i < g->width; i++) {
      const float *restrict keys = g->keys + i * g->positions + first;
      for (uint64_t t = 0; t < count; t++) scores[t] += q[i] * keys[t];
    }
    for (uint64_t t = 0; t < count; t++) {
      scores[t] *= scale;
      most = scores[t] > most ? scores[t] : most;
    }
    for (uint64_t t = 0; t < count; t++) scores[t] -= most;
    const float fade = first ? expf(g->most[h] - most) : 0;
    g->most[h] = most;
    g->sum[h] *= fade;
    for (uint64_t i = 0; i < g->width; i++) g->out[h * g->width + i] *= fade;
  }
}

/* out[h] += Σ weight[t] · value[t], and the sum of the weights, each in order of t. */
static void llm_add_values(const struct llm_group *g, uint64_t first, uint64_t count) {
  const uint64_t width = g->width;
  for (uint64_t h = 0; h < g->heads; h++) {
    const float *weights = g->scores + h * count, *values = g->values + first * width;
    float *out = g->out + h * width, sum = 0;
    uint64_t i = 0;
    for (; i + LLM_LANES <= width; i += LLM_LANES) {
      llm_lanes all = {0};
      for (uint64_t t = 0; t < count; t++)
        all += weights[t] * *(const llm_lanes *)(const void *)(values + t * width + i);
      *(llm_lanes *)(void *)(out + i) += all;
    }
    for (; i < width; i++) {
      float one = 0;
      for (uint64_t t = 0; t < count; t++) one += weights[t] * values[t * width + i];
      out[i] += one;
    }
    for (uint64_t t = 0; t < count; t++) sum += weights[t];
    g->sum[h] += sum;
  }
}

static int llm_exponentials(const struct pto_kernel_args *a, float *x, uint64_t count) {
  const uint64_t stride = 1;
  const struct pto_kernel_tensor t = {.addr = x, .shape = &count, .strides = &stride, .ndims = 1, .dtype = PTO_FLOAT32};
  const struct pto_kernel_tensor both[] = {t, t};
  const struct pto_kernel_args args = {.tensors = both, .core = a->core, .tensor_count = 2};
  return llm_general.exp->run(&args);
}

static int llm_attend_group(const struct pto_kernel_args *a, const struct llm_group *g, uint64_t at) {
  int status = 0;
  memset(g->sum, 0, g->heads * sizeof *g->sum);
  memset(g->out, 0, g->heads * g->width * sizeof *g->out);
  for (uint64_t h = 0; h < g->heads; h++) g->most[h] = -INFINITY;
  for (uint64_t first = 0; status == 0 && first <= at; first += LLM_POSITIONS) {
    const uint64_t count = at + 1 - first < LLM_POSITIONS ? at + 1 - first : LLM_POSITIONS;
    llm_score(g, first, count);
    status = llm_exponentials(a, g->scores, g->heads * count);
    llm_add_values(g, first, count);
  }
  for (uint64_t h = 0; h < g->heads; h++)
    for (uint64_t i = 0; i < g->width; i++) g->out[h * g->width + i] /= g->sum[h];
  return status;
}

/* q and heads [kv_heads · group · width], keys [kv_heads, width, positions], values [kv_heads, positions, width]. */
static int llm_attend_run(const struct pto_kernel_args *a) {
  const struct pto_kernel_tensor *t = a->tensors;
  const uint64_t kv_heads = t[1].shape[0], width = t[1].shape[1], positions = t[1].shape[2];
  const uint64_t group = t[0].shape[0] / kv_heads;
  float *local = a->core->local.addr;
  uint64_t at = 0;
  int status = llm_position(a, &t[3], positions, &at);
  for (uint64_t h = 0; status == 0 && h < kv_heads; h++) {
    struct llm_group g = {.q = (const float *)t[0].addr + h * group,
                          .keys = (const float *)t[1].addr + h * width * positions,
                          .values = (const float *)t[2].addr + h * width * positions,
                          .heads = group / width,
                          .width = width,
                          .positions = positions,
                          .out = (float *)t[4].addr + h * group,
                          .most = local};
    g.sum = g.most + g.heads;
    g.scores = g.sum + g.heads;
    status = llm_attend_group(a, &g, at);
  }
  return status;
}

/* All positions, since the one is known on the device alone: a product for the score and one for the sum, a maximum and
 * an exponential. */
static struct pto_cost llm_attend_cost(const struct pto_kernel_args *a) {
  const struct pto_kernel_tensor *keys = &a->tensors[1];
  const uint64_t q = a->tensors[0].shape[0], kv_heads = keys->shape[0], width = keys->shape[1];
  const uint64_t positions = keys->shape[2], heads = q / width;
  return (struct pto_cost){.bytes_in = (q + 2 * kv_heads * width * positions + 1) * sizeof(float),
                           .bytes_out = q * sizeof(float),
                           .vector_elems = positions * (4 * q + 8 * heads),
                           .local_bytes = general_line_bytes(heads / kv_heads * (2 + LLM_POSITIONS) * sizeof(float))};
}

static const struct pto_kernel_param llm_attend_params[] = {
    TENSOR("q", PTO_INPUT, F32, 1), TENSOR("keys", PTO_INPUT, F32, 3), TENSOR("values", PTO_INPUT, F32, 3),
    TENSOR("position", PTO_INPUT, I32, 1), TENSOR("heads", PTO_OUTPUT, F32, 1)};
LLM_KERNEL(attend, llm_attend_params, attend);

/* ---- gate_and_up ---- */

/* A matrix among a task's tensors: one or two of them. */
static uint32_t llm_matrix_tensors(const struct pto_kernel_tensor *matrix) { return matrix->dtype == PTO_INT8 ? 2 : 1; }

/* y = matrix · x, by the general kernel: run on a core, or its cost without one. */
static int llm_product(const struct pto_core *core, const struct pto_kernel_tensor *matrix,
                       const struct pto_kernel_tensor *x, const struct pto_kernel_tensor *y, struct pto_cost *cost) {
  const uint32_t count = llm_matrix_tensors(matrix);
  const struct pto_kernel *kernel = count == 2 ? llm_general.matvec_int8 : llm_general.matvec;
  struct pto_kernel_tensor tensors[4] = {matrix[0], matrix[count - 1]};
  tensors[count] = *x;
  tensors[count + 1] = *y;
  const struct pto_kernel_args args = {.tensors = tensors, .core = core, .tensor_count = count + 2};
  if (core) return kernel->run(&args);
  *cost = kernel->cost(&args);
  return 0;
}

/* silu(gate · x) goes to the output, up · x to local memory. */
static int llm_gate_and_up_run(const struct pto_kernel_args *a) {
  const struct pto_kernel_tensor *gate = a->tensors, *up = gate + llm_matrix_tensors(gate);
  const struct pto_kernel_tensor *x = up + llm_matrix_tensors(up), *out = x + 1;
  const uint64_t stride = 1, rows = out->shape[0], bytes = rows * sizeof(float);
  const struct pto_core core = general_core_behind(a->core, bytes);
  const struct pto_kernel_tensor other = {
      .addr = a->core->local.addr, .shape = out->shape, .strides = &stride, .ndims = 1, .dtype = PTO_FLOAT32};
  float *gated = out->addr;
  const float *plain = other.addr;
  int status = llm_product(&core, gate, x, out, NULL);
  if (status == 0) status = llm_product(&core, up, x, &other, NULL);
  const struct pto_kernel_tensor both[] = {*out, *out};
  const struct pto_kernel_args silu = {.tensors = both, .core = &core, .tensor_count = 2};
  if (status == 0) status = llm_general.silu->run(&silu);
  for (uint64_t i = 0; i < rows; i++) gated[i] *= plain[i];
  return status;
}

static struct pto_cost llm_gate_and_up_cost(const struct pto_kernel_args *a) {
  const struct pto_kernel_tensor *gate = a->tensors, *up = gate + llm_matrix_tensors(gate);
  const struct pto_kernel_tensor *x = up + llm_matrix_tensors(up), *out = x + 1;
  const uint64_t rows = out->shape[0], bytes = rows * sizeof(float);
  struct pto_cost one, two;
  (void)llm_product(NULL, gate, x, out, &one);
  (void)llm_product(NULL, up, x, out, &two);
  const uint64_t local = one.local_bytes > two.local_bytes ? one.local_bytes : two.local_bytes;
  return (struct pto_cost){.bytes_in = one.bytes_in + two.bytes_in - x->shape[0] * sizeof(float),
                           .bytes_out = bytes,
                           .vector_elems = one.vector_elems + two.vector_elems + 8 * rows,
                           .local_bytes = general_line_bytes(bytes) + local};
}

#define LLM_FLOATS(name_) TENSOR(name_, PTO_INPUT, PTO_DTYPES_FLOAT, 2)
#define LLM_INT8(name_) TENSOR(name_, PTO_INPUT, I8, 2)
#define LLM_GATED TENSOR("x", PTO_INPUT, F32, 1), TENSOR("hidden", PTO_OUTPUT, F32, 1)
static const struct pto_kernel_param llm_gate_params[] = {LLM_FLOATS("gate"), LLM_FLOATS("up"), LLM_GATED};
static const struct pto_kernel_param llm_gate_int8_params[] = {LLM_INT8("gate"), LLM_FLOATS("gate_scale"),
                                                               LLM_FLOATS("up"), LLM_GATED};
static const struct pto_kernel_param llm_up_int8_params[] = {LLM_FLOATS("gate"), LLM_INT8("up"), LLM_FLOATS("up_scale"),
                                                             LLM_GATED};
static const struct pto_kernel_param llm_both_int8_params[] = {LLM_INT8("gate"), LLM_FLOATS("gate_scale"),
                                                               LLM_INT8("up"), LLM_FLOATS("up_scale"), LLM_GATED};
LLM_KERNEL(gate_and_up, llm_gate_params, gate_and_up);
LLM_KERNEL(gate_int8_and_up, llm_gate_int8_params, gate_and_up);
LLM_KERNEL(gate_and_int8_up, llm_up_int8_params, gate_and_up);
LLM_KERNEL(gate_and_up_int8, llm_both_int8_params, gate_and_up);

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
