/* SPDX-License-Identifier: MIT */
/*
 * split_k: C += A·B with the inner dimension cut into blocks.  Each block of a task multiplies its columns of A with
 * its rows of B and adds the product to the one C: an ACCUMULATE parameter.
 *
 * f32 sums depend on their order, and the contract says which: that of the blocks.  So a kernel makes its product in
 * local memory, at the same time as all others, then waits for its turn (pto_core_turn), then adds.  With add=aiv the
 * AIC hands the product to an AIV of its cluster, which adds it in its turn while the AIC goes on with other blocks.
 *
 * tasks = as the option says, all into one C; edges = tasks − 1, since successive sums have an order too.
 */
#include <orchestration/support/program.h>

#include <string.h>

struct state {
  uint64_t m, n, k, blocks, tasks;
  bool adds_on_aiv;
};

/* ---- kernels: a[m, blocks · k], b[blocks · k, n], c[m, n] ---- */

static const struct pto_kernel_param all_params[] = {MATRIX("a", PTO_INPUT), MATRIX("b", PTO_INPUT),
                                                     MATRIX("c", PTO_ACCUMULATE)};
static const struct pto_kernel_param factor_params[] = {MATRIX("a", PTO_INPUT), MATRIX("b", PTO_INPUT), ABSENT};
static const struct pto_kernel_param sum_params[] = {ABSENT, ABSENT, MATRIX("c", PTO_ACCUMULATE)};

struct block_shape {
  uint64_t m, n, k, product_bytes;
};
static struct block_shape shape_of(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *a = &args->tensors[0], *c = &args->tensors[2];
  struct block_shape s = {c->shape[0], c->shape[1], a->shape[1] / args->core->block_count, 0};
  s.product_bytes = s.m * s.n * sizeof(float);
  return s;
}

static struct pto_cost multiply_work(const struct pto_kernel_args *args) {
  struct block_shape s = shape_of(args);
  return (struct pto_cost){
      .bytes_in = (s.m + s.n) * s.k * sizeof(float), .multiply_adds = s.m * s.n * s.k, .local_bytes = s.product_bytes};
}
static struct pto_cost add_cost(const struct pto_kernel_args *args) {
  struct block_shape s = shape_of(args);
  return (struct pto_cost){.bytes_in = s.product_bytes,
                           .bytes_out = s.product_bytes,
                           .vector_elems = s.m * s.n,
                           .local_bytes = s.product_bytes};
}
static struct pto_cost whole_cost(const struct pto_kernel_args *args) {
  struct pto_cost product = multiply_work(args), sum = add_cost(args);
  product.bytes_in += sum.bytes_in;
  product.bytes_out += sum.bytes_out;
  product.vector_elems += sum.vector_elems;
  return product;
}

/* product = the block's columns of a · its rows of b, each element summed in order of k. */
static int multiply(const struct pto_kernel_args *args, float *product) {
  const struct pto_kernel_tensor *a = &args->tensors[0], *b = &args->tensors[1];
  struct block_shape s = shape_of(args);
  uint64_t first = args->core->block_index * s.k;
  for (uint64_t i = 0; i < s.m; i++) {
    float *row = product + i * s.n;
    for (uint64_t j = 0; j < s.n; j++) row[j] = 0;
    for (uint64_t k = first; k < first + s.k; k++) {
      float x = ((const float *)a->addr)[i * a->strides[0] + k * a->strides[1]];
      const float *from = (const float *)b->addr + k * b->strides[0];
      for (uint64_t j = 0; j < s.n; j++) row[j] += x * from[j * b->strides[1]];
    }
  }
  const struct pto_cost work = multiply_work(args);
  return pto_core_work(args, &work);
}

/* In its turn: c += product. */
static int add(const struct pto_kernel_args *args, const float *product) {
  const struct pto_kernel_tensor *c = &args->tensors[2];
  int status = pto_core_turn(args);
  if (status != 0) return status;
  for (uint64_t i = 0; i < c->shape[0]; i++) {
    for (uint64_t j = 0; j < c->shape[1]; j++)
      ((float *)c->addr)[i * c->strides[0] + j * c->strides[1]] += product[i * c->shape[1] + j];
  }
  return 0;
}

static int multiply_and_add(const struct pto_kernel_args *args) {
  int status = multiply(args, args->core->local.addr);
  return status != 0 ? status : add(args, args->core->local.addr);
}
static int multiply_and_push(const struct pto_kernel_args *args) {
  int status = multiply(args, args->core->local.addr);
  return status != 0 ? status
                     : pto_core_push(args, PTO_ROLE_AIV0, args->core->local.addr, shape_of(args).product_bytes);
}
static int pop_and_add(const struct pto_kernel_args *args) {
  int status = pto_core_pop(args, PTO_ROLE_AIC, args->core->local.addr, shape_of(args).product_bytes);
  return status != 0 ? status : add(args, args->core->local.addr);
}

KERNEL(whole, all_params, .name = "multiply_and_add", .cores = PTO_AIC, .flags = PTO_KERNEL_TURNS,
       .run = multiply_and_add, .cost = whole_cost);
KERNEL(factor, factor_params, .name = "multiply_and_push", .cores = PTO_AIC, .flags = PTO_KERNEL_WAITS,
       .run = multiply_and_push, .cost = multiply_work);
KERNEL(sum, sum_params, .name = "pop_and_add", .cores = PTO_AIV, .flags = PTO_KERNEL_TURNS, .run = pop_and_add,
       .cost = add_cost);

/* ---- the program ---- */

static const struct pto_option options[] = {
    {"m", PTO_OPTION_INT, "32", "rows of C"},
    {"n", PTO_OPTION_INT, "32", "columns of C"},
    {"k", PTO_OPTION_INT, "16", "inner size of a block"},
    {"blocks", PTO_OPTION_INT, "8", "blocks of a task"},
    {"tasks", PTO_OPTION_INT, "1", "tasks that add into the one C"},
    {"add", PTO_OPTION_TEXT, "aic", "who adds: aic, the core that multiplied; aiv, another one of its cluster"},
    {0},
};

static const struct pto_case cases[] = {
    {"1", "blocks=1", NULL, 1, 0, false},
    {"2", "blocks=2", NULL, 1, 0, false},
    {"7", "blocks=7 m=13 n=17 k=5", "odd sizes", 1, 0, false},
    {"24", "blocks=24", NULL, 1, 0, false},
    {"48", "blocks=48", NULL, 1, 0, false},
    {"48x20", "blocks=48 tasks=20 m=8 n=8 k=4", "successive sums", 20, 19, false},
    {"aiv48", "blocks=48 add=aiv", NULL, 1, 0, false},
    {"aiv7x20", "blocks=7 tasks=20 m=8 n=8 k=4 add=aiv", NULL, 20, 19, false},
    {0},
};

/* Numbers of 11 bits, so that their products are exact in f32, and of sizes 2^-9 … 2^9 by their place in the inner
 * dimension, so that hardly any sum is: another order gives other bits. */
static void scale(struct pto_array *x, uint64_t inner, uint64_t stride) {
  for (uint64_t i = 0; i < x->numel; i++) {
    uint64_t place = i / stride % inner;
    double scale = 1 << (place * 7 % 19);
    pto_array_set(x, i, (double)(int)(pto_array_get(x, i) * 1024) * scale / (1024 * 512));
  }
}

static int prepare(struct pto_program_run *run) {
  struct state *state = pto_program_state(run, sizeof *state);
  if (state == NULL) return PTO_ENOMEM;
  int status = READ_WHOLE_OPTIONS(run, {"m", 1, 4096, &state->m}, {"n", 1, 4096, &state->n}, {"k", 1, 4096, &state->k},
                                  {"blocks", 1, 4096, &state->blocks}, {"tasks", 1, 4096, &state->tasks});
  if (status != PTO_OK) return status;
  const char *add_on = pto_option_text(run, "add");
  state->adds_on_aiv = strcmp(add_on, "aiv") == 0;
  if (!state->adds_on_aiv && strcmp(add_on, "aic") != 0)
    return pto_program_fail(run, "split_k: add \"%s\" is neither aic nor aiv", add_on);
  uint64_t inner = state->blocks * state->k;
  status = DECLARE_ARRAYS(run, INPUT("a", PTO_FLOAT32, -1, 1, state->tasks, state->m, inner),
                          INPUT("b", PTO_FLOAT32, -1, 1, state->tasks, inner, state->n),
                          OUTPUT("c", PTO_FLOAT32, state->m, state->n));
  if (status != PTO_OK) return status;
  scale(pto_program_find(run, "a"), inner, 1);
  scale(pto_program_find(run, "b"), inner, state->n);
  return PTO_OK;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct state *state = pto_program_state(run, sizeof *state);
  struct pto_tensor a = tensor_of(rt, run, "a"), b = tensor_of(rt, run, "b"), c = tensor_of(rt, run, "c");
  struct pto_launch launch = {.block_count = (uint32_t)state->blocks};
  launch.aic = state->adds_on_aiv ? &factor : &whole;
  launch.aiv0 = state->adds_on_aiv ? &sum : NULL;
  int status = PTO_OK;
  for (uint64_t i = 0; i < state->tasks && status == PTO_OK; i++) {
    struct pto_tensor left = part_of(&a, i), right = part_of(&b, i);
    status = pto_submit(rt, &launch, PARAMS(pto_input(&left), pto_input(&right), pto_accumulate(&c)), NULL);
  }
  return status;
}

/* f32 sums, element by element in the order of tasks, blocks and k.  A product of two inputs is exact, and the sum of
 * two floats is the double sum rounded to float, so no compiler's choices show here. */
static int expect(struct pto_program_run *run) {
  const struct state *state = pto_program_state(run, sizeof *state);
  double *golden = golden_of(run, "c");
  if (golden == NULL) return PTO_ENOMEM;
  const float *a = data_of(run, "a"), *b = data_of(run, "b");
  uint64_t inner = state->blocks * state->k;
  for (uint64_t task = 0; task < state->tasks; task++) {
    for (uint64_t at = 0; at < state->m * state->n; at++) {
      const float *row = a + (task * state->m + at / state->n) * inner;
      const float *column = b + task * inner * state->n + at % state->n;
      for (uint64_t block = 0; block < state->blocks; block++) {
        double product = 0;
        for (uint64_t k = block * state->k; k < (block + 1) * state->k; k++)
          product = (double)(float)(product + (double)row[k] * (double)column[k * state->n]);
        golden[at] = (double)(float)(golden[at] + product);
      }
    }
  }
  return PTO_OK;
}

PROGRAM("split_k", "a product cut along its inner dimension: blocks add into one output, with the bits of block order");
