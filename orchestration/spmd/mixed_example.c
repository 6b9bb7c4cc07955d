/* SPDX-License-Identifier: MIT */
/*
 * mixed_example: every shape a task can have on a cluster, four times over:
 *   AIC + AIV0 + AIV1 · AIC · one AIV · AIV0 + AIV1 · AIC + AIV0
 * The AIC multiplies two matrices, AIV0 adds two, AIV1 multiplies two element by element; each task writes views of its
 * own.
 *
 * A MIX task is one task: one parameter list, seen by each of its kernels from the first entry to the last.  A kernel
 * says PTO_UNUSED for what it leaves to the others, and finds its own tensors at the position where the task has them.
 * So there is one small kernel for each position that a general one is used at.
 *
 * tasks = 5 · iterations, edges = 0.
 */
#include <orchestration/support/general_call.h>
#include <orchestration/support/program.h>

enum task_shape { AIC_AIV0_AIV1, AIC_ONLY, AIV_ONLY, AIV0_AIV1, AIC_AIV0, TASK_SHAPES };

/* ---- kernels ---- */

/* Two inputs and an output from position 0, 3 or 6; a task of fewer parameters uses the first 3 or 6 entries. */
#define OWN MATRIX("left", PTO_INPUT), MATRIX("right", PTO_INPUT), MATRIX("out", PTO_OUTPUT)
#define OTHERS ABSENT, ABSENT, ABSENT
static const struct pto_kernel_param params_at_0[] = {OWN, OTHERS, OTHERS};
static const struct pto_kernel_param params_at_3[] = {OTHERS, OWN, OTHERS};
static const struct pto_kernel_param params_at_6[] = {OTHERS, OTHERS, OWN};

/* The general kernel `name` on the three tensors from position `first`. */
static struct general_call call_at(const struct pto_kernel_args *args, const char *name, uint32_t first) {
  return (struct general_call){.name = name, .core = args->core, .tensors = &args->tensors[first], .tensor_count = 3};
}

static int run_at(const struct pto_kernel_args *args, const char *name, uint32_t first) {
  const struct general_call call = call_at(args, name, first);
  return general_run(&call);
}
static struct pto_cost cost_at(const struct pto_kernel_args *args, const char *name, uint32_t first) {
  const struct general_call call = call_at(args, name, first);
  return general_cost(&call);
}

static int matmul_at_0_run(const struct pto_kernel_args *args) { return run_at(args, "matmul", 0); }
static int add_at_0_run(const struct pto_kernel_args *args) { return run_at(args, "add", 0); }
static int add_at_3_run(const struct pto_kernel_args *args) { return run_at(args, "add", 3); }
static int scale_at_3_run(const struct pto_kernel_args *args) { return run_at(args, "mul", 3); }
static int scale_at_6_run(const struct pto_kernel_args *args) { return run_at(args, "mul", 6); }
static struct pto_cost matmul_at_0_cost(const struct pto_kernel_args *args) { return cost_at(args, "matmul", 0); }
static struct pto_cost add_at_0_cost(const struct pto_kernel_args *args) { return cost_at(args, "add", 0); }
static struct pto_cost add_at_3_cost(const struct pto_kernel_args *args) { return cost_at(args, "add", 3); }
static struct pto_cost scale_at_3_cost(const struct pto_kernel_args *args) { return cost_at(args, "mul", 3); }
static struct pto_cost scale_at_6_cost(const struct pto_kernel_args *args) { return cost_at(args, "mul", 6); }

#define OF(cores_, name_, position, count, at)                                                                         \
  {                                                                                                                    \
    .name = name_, .cores = cores_, .params = params_at_##position, .param_count = count, .run = at##_run,             \
    .cost = at##_cost                                                                                                  \
  }

static const struct pto_kernel matmul_of_9 = OF(PTO_AIC, "mixed_matmul", 0, 9, matmul_at_0);
static const struct pto_kernel matmul_of_6 = OF(PTO_AIC, "mixed_matmul", 0, 6, matmul_at_0);
static const struct pto_kernel matmul_of_3 = OF(PTO_AIC, "mixed_matmul", 0, 3, matmul_at_0);
static const struct pto_kernel add_of_9 = OF(PTO_AIV, "mixed_add", 3, 9, add_at_3);
static const struct pto_kernel add_of_6 = OF(PTO_AIV, "mixed_add", 3, 6, add_at_3);
static const struct pto_kernel add_first_of_6 = OF(PTO_AIV, "mixed_add", 0, 6, add_at_0);
static const struct pto_kernel add_of_3 = OF(PTO_AIV, "mixed_add", 0, 3, add_at_0);
static const struct pto_kernel scale_of_9 = OF(PTO_AIV, "mixed_mul", 6, 9, scale_at_6);
static const struct pto_kernel scale_of_6 = OF(PTO_AIV, "mixed_mul", 3, 6, scale_at_3);

/* ---- the program ---- */

/* The shapes, and which of a product, a sum and a scaled matrix each writes. */
static const struct {
  struct pto_launch launch;
  bool has_product, has_sum, has_scaled;
} shapes[TASK_SHAPES] = {
    [AIC_AIV0_AIV1] = {{.aic = &matmul_of_9, .aiv0 = &add_of_9, .aiv1 = &scale_of_9}, true, true, true},
    [AIC_ONLY] = {{.aic = &matmul_of_3}, true, false, false},
    [AIV_ONLY] = {{.aiv0 = &add_of_3}, false, true, false},
    [AIV0_AIV1] = {{.aiv0 = &add_first_of_6, .aiv1 = &scale_of_6}, false, true, true},
    [AIC_AIV0] = {{.aic = &matmul_of_6, .aiv0 = &add_of_6}, true, true, false},
};
enum { PRODUCTS = 3, SUMS = 4, SCALED = 2 }; /* shapes that write each */

static const struct pto_option options[] = {
    {"iterations", PTO_OPTION_INT, "4", "times that each of the five shapes is submitted"},
    {"tile", PTO_OPTION_INT, "64", "rows and columns of every matrix"},
    {0},
};

static const struct pto_case cases[] = {
    {"4x64", "iterations=4 tile=64", NULL, 20, 0, false},
    {"4x128", "iterations=4 tile=128", NULL, 20, 0, false},
    {"64x16", "iterations=64 tile=16", "many small tasks of every shape", 320, 0, false},
    {0},
};

static int prepare(struct pto_program_run *run) {
  uint64_t iterations, tile;
  const int status = READ_WHOLE_OPTIONS(run, {"iterations", 1, 100000, &iterations}, {"tile", 1, 1024, &tile});
  if (status != PTO_OK) return status;
  const uint64_t rows = iterations * tile;
  const struct array_line arrays[] = {
      INPUT("a", PTO_FLOAT32, -1, 1, rows, tile),
      INPUT("b", PTO_FLOAT32, -1, 1, rows, tile),
      INPUT("d", PTO_FLOAT32, -1, 1, rows, tile),
      INPUT("e", PTO_FLOAT32, -1, 1, rows, tile),
      INPUT("g", PTO_FLOAT32, -1, 1, rows, tile),
      INPUT("h", PTO_FLOAT32, -1, 1, rows, tile),
      OUTPUT("products", PTO_FLOAT32, PRODUCTS * rows, tile),
      OUTPUT("sums", PTO_FLOAT32, SUMS * rows, tile),
      OUTPUT("scaled", PTO_FLOAT32, SCALED * rows, tile),
  };
  return declare_arrays(run, arrays, LENGTH(arrays));
}

/* The index-th square of a stack of squares. */
static struct pto_tensor square(const struct pto_tensor *stack, uint64_t index) {
  uint64_t tile = stack->shape[1];
  return rows_of(stack, index * tile, tile);
}

/* Inputs and outputs of one task: positions 0 … 2 are the product's where there is one, then the sum's, then the scaled
 * matrix's. */
struct operands {
  struct pto_tensor t[9];
  uint32_t count;
};

static void add_operands(struct operands *operands, const struct pto_tensor *left, const struct pto_tensor *right,
                         uint64_t in, const struct pto_tensor *out, uint64_t out_index) {
  operands->t[operands->count++] = square(left, in);
  operands->t[operands->count++] = square(right, in);
  operands->t[operands->count++] = square(out, out_index);
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  struct pto_tensor a = tensor_of(rt, run, "a"), b = tensor_of(rt, run, "b"), d = tensor_of(rt, run, "d");
  struct pto_tensor e = tensor_of(rt, run, "e"), g = tensor_of(rt, run, "g"), h = tensor_of(rt, run, "h");
  struct pto_tensor products = tensor_of(rt, run, "products"), sums = tensor_of(rt, run, "sums");
  struct pto_tensor scaled = tensor_of(rt, run, "scaled");
  uint64_t iterations = a.shape[0] / a.shape[1], product = 0, sum = 0, scale = 0;
  int status = PTO_OK;
  for (uint64_t i = 0; status == PTO_OK && i < iterations; i++) {
    status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
    for (int shape = 0; status == PTO_OK && shape < TASK_SHAPES; shape++) {
      struct operands operands = {.count = 0};
      if (shapes[shape].has_product) add_operands(&operands, &a, &b, i, &products, product++);
      if (shapes[shape].has_sum) add_operands(&operands, &d, &e, i, &sums, sum++);
      if (shapes[shape].has_scaled) add_operands(&operands, &g, &h, i, &scaled, scale++);
      struct pto_param params[9];
      for (uint32_t k = 0; k < operands.count; k++)
        params[k] = k % 3 == 2 ? pto_output(&operands.t[k]) : pto_input(&operands.t[k]);
      status = pto_submit(rt, &shapes[shape].launch, params, operands.count, NULL);
    }
    if (status == PTO_OK) status = pto_scope_end(rt);
  }
  return status;
}

static int expect(struct pto_program_run *run) {
  const uint64_t *shape = pto_program_find(run, "a")->shape, tile = shape[1], square_elems = tile * tile;
  double *products = golden_of(run, "products"), *sums = golden_of(run, "sums"), *scaled = golden_of(run, "scaled");
  if (products == NULL || sums == NULL || scaled == NULL) return PTO_ENOMEM;
  const float *a = data_of(run, "a"), *b = data_of(run, "b"), *d = data_of(run, "d");
  const float *e = data_of(run, "e"), *g = data_of(run, "g"), *h = data_of(run, "h");
  for (uint64_t i = 0; i < shape[0] / tile; i++) {
    for (uint64_t row = 0; row < tile; row++) {
      for (uint64_t column = 0; column < tile; column++) {
        uint64_t at = row * tile + column, in = i * square_elems + at;
        double dot = 0;
        for (uint64_t k = 0; k < tile; k++)
          dot += (double)a[i * square_elems + row * tile + k] * (double)b[i * square_elems + k * tile + column];
        for (uint64_t n = 0; n < PRODUCTS; n++) products[(i * PRODUCTS + n) * square_elems + at] = dot;
        for (uint64_t n = 0; n < SUMS; n++) sums[(i * SUMS + n) * square_elems + at] = (double)d[in] + (double)e[in];
        for (uint64_t n = 0; n < SCALED; n++)
          scaled[(i * SCALED + n) * square_elems + at] = (double)g[in] * (double)h[in];
      }
    }
  }
  return PTO_OK;
}

PROGRAM("mixed_example",
        "tasks of all five shapes a cluster allows, each kernel picking its own of the task's parameters", .rtol = 1e-3,
        .atol = 1e-3);
