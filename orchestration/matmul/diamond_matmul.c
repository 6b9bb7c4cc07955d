/* SPDX-License-Identifier: MIT */
/*
 * diamond_matmul: one producer, two products side by side, one sum.
 *
 *                     ┌→ p = t·W1 (AIC) ┐
 *     t = √(log A) ───┤                 ├→ s = p + q (AIV) → f = exp(s) (AIV)
 *        (AIV)        └→ q = t·W2 (AIC) ┘
 *
 * A, W1, W2 and t are fp16, products and results f32.  With A = e⁴ and W = 1/256 of size 128, t = 2, p = q = 1, f = e².
 *
 * tasks = 5, edges = 5.
 */
#include <orchestration/support/general_call.h>
#include <orchestration/support/program.h>

#include <math.h>

/* ---- kernel: y = √(log x), row by row through local memory in f32, so that it is rounded to fp16 once ---- */

static const uint64_t dense[] = {1};

/* The two calls for one row, between them the logarithms at `logs`. */
struct row_calls {
  struct pto_kernel_tensor tensors[3]; /* x, log x, y */
  struct general_call log, sqrt;
};

static void make_calls(struct row_calls *calls, const struct pto_kernel_args *args, uint64_t row, float *logs) {
  calls->tensors[0] = general_part(&args->tensors[0], row);
  calls->tensors[1] = (struct pto_kernel_tensor){logs, args->tensors[0].shape + 1, dense, 1, PTO_FLOAT32};
  calls->tensors[2] = general_part(&args->tensors[1], row);
  calls->log = (struct general_call){"log", args->core, &calls->tensors[0], NULL, 2, 0};
  calls->sqrt = (struct general_call){"sqrt", args->core, &calls->tensors[1], NULL, 2, 0};
}

static int run_sqrt_log(const struct pto_kernel_args *args) {
  const uint64_t *shape = args->tensors[0].shape;
  const struct pto_core rest = general_core_behind(args->core, shape[1] * sizeof(float));
  int status = 0;
  for (uint64_t row = 0; status == 0 && row < shape[0]; row++) {
    struct row_calls calls;
    make_calls(&calls, args, row, args->core->local.addr);
    calls.log.core = calls.sqrt.core = &rest;
    status = general_run(&calls.log);
    if (status == 0) status = general_run(&calls.sqrt);
  }
  return status;
}

static struct pto_cost sqrt_log_cost(const struct pto_kernel_args *args) {
  const uint64_t *shape = args->tensors[0].shape;
  struct row_calls calls;
  make_calls(&calls, args, 0, NULL);
  const struct pto_cost log = general_cost(&calls.log), sqrt = general_cost(&calls.sqrt);
  return (struct pto_cost){
      .bytes_in = shape[0] * log.bytes_in,
      .bytes_out = shape[0] * sqrt.bytes_out,
      .vector_elems = shape[0] * (log.vector_elems + sqrt.vector_elems),
      .local_bytes = general_line_bytes(shape[1] * sizeof(float)) +
                     (log.local_bytes > sqrt.local_bytes ? log.local_bytes : sqrt.local_bytes),
  };
}

static const struct pto_kernel_param sqrt_log_params[] = {TENSOR("x", PTO_INPUT, F16, 2),
                                                          TENSOR("y", PTO_OUTPUT, F16, 2)};
KERNEL(sqrt_log, sqrt_log_params, .name = "sqrt_log", .cores = PTO_AIV, .run = run_sqrt_log, .cost = sqrt_log_cost);

/* ---- the program ---- */

static const struct pto_option options[] = {
    {"size", PTO_OPTION_INT, "128", "rows and columns of every matrix"},
    {"constant", PTO_OPTION_BOOL, "true", "A = e⁴ and W = 1/256; else drawn from the seed"},
    {0},
};

static const struct pto_case cases[] = {
    {"128", "size=128", NULL, 5, 5, false},
    {"random", "size=48 constant=false", "W1 and W2 differ; no power of two", 5, 5, false},
    {0},
};

static int prepare(struct pto_program_run *run) {
  uint64_t size = 0;
  int status = READ_WHOLE_OPTIONS(run, {"size", 1, 1024, &size});
  if (status != PTO_OK) return status;
  /* Keeps the sums of a row of products near 1. */
  const double bound = 0.7 / sqrt((double)size);
  status = DECLARE_ARRAYS(run, INPUT("a", PTO_FLOAT16, 2, 60, size, size),
                          INPUT("w1", PTO_FLOAT16, -bound, bound, size, size),
                          INPUT("w2", PTO_FLOAT16, -bound, bound, size, size), OUTPUT("f", PTO_FLOAT32, size, size));
  if (status == PTO_OK && pto_option_bool(run, "constant")) {
    pto_array_fill(pto_program_find(run, "a"), exp(4));
    pto_array_fill(pto_program_find(run, "w1"), 1.0 / 256);
    pto_array_fill(pto_program_find(run, "w2"), 1.0 / 256);
  }
  return status;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct pto_kernel *matmul = pto_kernel_find("matmul"), *add = pto_kernel_find("add");
  struct pto_tensor a = tensor_of(rt, run, "a"), f = tensor_of(rt, run, "f");
  struct pto_tensor w1 = tensor_of(rt, run, "w1"), w2 = tensor_of(rt, run, "w2");
  struct pto_tensor t = temporary(rt, PTO_FLOAT16, 2, a.shape), p = temporary(rt, PTO_FLOAT32, 2, a.shape);
  struct pto_tensor q = temporary(rt, PTO_FLOAT32, 2, a.shape), s = temporary(rt, PTO_FLOAT32, 2, a.shape);
  int status = pto_submit_aiv(rt, &sqrt_log, PARAMS(pto_input(&a), pto_output(&t)));
  if (!status) status = pto_submit_aic(rt, matmul, PARAMS(pto_input(&t), pto_input(&w1), pto_output(&p)));
  if (!status) status = pto_submit_aic(rt, matmul, PARAMS(pto_input(&t), pto_input(&w2), pto_output(&q)));
  if (!status) status = pto_submit_aiv(rt, add, PARAMS(pto_input(&p), pto_input(&q), pto_output(&s)));
  return status ? status : pto_submit_aiv(rt, pto_kernel_find("exp"), PARAMS(pto_input(&s), pto_output(&f)));
}

/* f = exp(√(log A)·(W1 + W2)), nothing rounded in between. */
static int expect(struct pto_program_run *run) {
  const struct pto_array *a = pto_program_find(run, "a");
  const double *w1 = exact_copy(run, "w1"), *w2 = exact_copy(run, "w2");
  double *f = golden_of(run, "f");
  if (w1 == NULL || w2 == NULL || f == NULL) return PTO_ENOMEM;
  uint64_t n = a->shape[0];
  for (uint64_t i = 0; i < n; i++) {
    for (uint64_t k = 0; k < n; k++) {
      double t = sqrt(log(pto_array_get(a, i * n + k)));
      for (uint64_t j = 0; j < n; j++) f[i * n + j] += t * (w1[k * n + j] + w2[k * n + j]);
    }
  }
  for (uint64_t i = 0; i < n * n; i++) f[i] = exp(f[i]);
  return PTO_OK;
}

PROGRAM("diamond_matmul", "a diamond: two AIC products of one AIV result, summed; fp16 in, f32 out", .rtol = 1e-2,
        .atol = 1e-2);
