/* SPDX-License-Identifier: MIT */
/*
 * alternating_matmul_add: independent matrix products on AIC between independent sums on AIV.
 *
 * `batch` times m products C = A·B and n sums Z = X + Y of square tiles.  A task takes matmul_batch tiles, or
 * add_batch: a view [count, tile, tile] of the one array of all of them.  The submits take turns, a product task and a
 * sum task, so both kinds of cores have work from the first moment; nothing depends on anything.  With scope=turn
 * each turn has a scope of its own: it orders nothing, but lets the slots of finished tasks come round again while the
 * run goes on.  The benchmark on the hardware (case C1) has none.
 *
 * tasks = batch·m / matmul_batch + batch·n / add_batch,  edges = 0.
 */
#include <orchestration/matmul/matmul_batch.h>
#include <orchestration/support/program.h>

struct alternating {
  uint64_t matmul_count, add_count; /* tasks */
  uint64_t matmul_batch, add_batch; /* tiles a task */
  bool is_flat;                     /* no scope a turn */
};

static const struct pto_option options[] = {
    {"batch", PTO_OPTION_INT, "500", "how often m products and n sums are asked for"},
    {"m", PTO_OPTION_INT, "4", "products a batch"},
    {"n", PTO_OPTION_INT, "4", "sums a batch"},
    {"matmul_batch", PTO_OPTION_INT, "4", "products a task, a divisor of batch·m"},
    {"add_batch", PTO_OPTION_INT, "4", "sums a task, a divisor of batch·n"},
    {"tile", PTO_OPTION_INT, "32", "rows and columns of a tile"},
    {"scope", PTO_OPTION_TEXT, "turn", "what has a scope of its own: each turn, or only the run"},
    {0},
};

static const struct pto_case cases[] = {
    {"500x4x4", "batch=500 m=4 n=4 matmul_batch=4 add_batch=4 tile=32", "four tiles a task", 1000, 0, false},
    {"1x1x1", "batch=1 m=1 n=1 matmul_batch=1 add_batch=1 tile=128", "one of each", 2, 0, false},
    {"single", "batch=100 m=4 n=4 matmul_batch=1 add_batch=1 tile=32", "a tile a task", 800, 0, false},
    {"uneven", "batch=60 m=6 n=2 matmul_batch=2 add_batch=1 tile=64", "more products than sums", 300, 0, false},
    {"500x4x4x128", "batch=500 m=4 n=4 matmul_batch=4 add_batch=4 tile=128",
     "the first at full tile size: 1.3 GB of arrays and goldens", 1000, 0, true},
    {"flat", "batch=60 m=4 n=4 matmul_batch=4 add_batch=4 tile=32 scope=run", "no scope a turn", 120, 0, false},
    {"C1", "batch=500 m=4 n=4 matmul_batch=4 add_batch=4 tile=128 scope=run", "as measured on the hardware", 1000, 0,
     true},
    {0},
};

static int prepare(struct pto_program_run *run) {
  uint64_t batch, m, n, matmul_batch, add_batch, tile;
  const int status = READ_WHOLE_OPTIONS(run, {"batch", 1, 100000, &batch}, {"m", 1, 100000, &m}, {"n", 1, 100000, &n},
                                        {"matmul_batch", 1, 100000, &matmul_batch},
                                        {"add_batch", 1, 100000, &add_batch}, {"tile", 1, 100000, &tile});
  if (status != PTO_OK) return status;
  const uint64_t products = batch * m, sums = batch * n;
  if (products % matmul_batch != 0 || sums % add_batch != 0)
    return pto_program_fail(run, "%llu products and %llu sums do not divide into tasks of %llu and %llu",
                            (unsigned long long)products, (unsigned long long)sums, (unsigned long long)matmul_batch,
                            (unsigned long long)add_batch);
  bool is_flat;
  if (read_choice(run, "scope", "turn", "run", &is_flat)) return PTO_EINVAL;
  struct alternating *state = pto_program_state(run, sizeof *state);
  if (state == NULL) return PTO_ENOMEM;
  *state = (struct alternating){products / matmul_batch, sums / add_batch, matmul_batch, add_batch, is_flat};
  const struct array_line arrays[] = {
      INPUT("a", PTO_FLOAT32, -1, 1, products, tile, tile), INPUT("b", PTO_FLOAT32, -1, 1, products, tile, tile),
      OUTPUT("c", PTO_FLOAT32, products, tile, tile),       INPUT("x", PTO_FLOAT32, -1, 1, sums, tile, tile),
      INPUT("y", PTO_FLOAT32, -1, 1, sums, tile, tile),     OUTPUT("z", PTO_FLOAT32, sums, tile, tile),
  };
  return declare_arrays(run, arrays, LENGTH(arrays));
}

/* Tiles index·count … of three stacks, as the parameters of one task. */
static int submit_tiles(struct pto_runtime *rt, const struct pto_kernel *kernel, const struct pto_tensor stacks[3],
                        uint64_t index, uint64_t count) {
  struct pto_tensor t[3];
  for (int i = 0; i < 3; i++) t[i] = rows_of(&stacks[i], index * count, count);
  return submit_kernel(rt, kernel, PARAMS(pto_input(&t[0]), pto_input(&t[1]), pto_output(&t[2])));
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct alternating *state = pto_program_state(run, sizeof *state);
  const struct pto_kernel *matmul = &kernel_matmul_batch, *add = pto_kernel_find("add");
  struct pto_tensor abc[] = {tensor_of(rt, run, "a"), tensor_of(rt, run, "b"), tensor_of(rt, run, "c")};
  struct pto_tensor xyz[] = {tensor_of(rt, run, "x"), tensor_of(rt, run, "y"), tensor_of(rt, run, "z")};
  uint64_t turns = state->matmul_count > state->add_count ? state->matmul_count : state->add_count;
  int status = PTO_OK;
  for (uint64_t i = 0; status == PTO_OK && i < turns; i++) {
    if (!state->is_flat) status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
    if (status == PTO_OK && i < state->matmul_count) status = submit_tiles(rt, matmul, abc, i, state->matmul_batch);
    if (status == PTO_OK && i < state->add_count) status = submit_tiles(rt, add, xyz, i, state->add_batch);
    if (status == PTO_OK && !state->is_flat) status = pto_scope_end(rt);
  }
  return status;
}

static int expect(struct pto_program_run *run) {
  const struct pto_array *products = pto_program_find(run, "c"), *sums = pto_program_find(run, "z");
  double *c = golden_of(run, "c"), *z = golden_of(run, "z");
  if (c == NULL || z == NULL) return PTO_ENOMEM;
  const float *a = data_of(run, "a"), *b = data_of(run, "b"), *x = data_of(run, "x"), *y = data_of(run, "y");
  uint64_t tile = products->shape[1], rows = products->shape[0] * tile;
  for (uint64_t row = 0; row < rows; row++) {
    const float *b_tile = b + row / tile * tile * tile;
    for (uint64_t k = 0; k < tile; k++) {
      double value = (double)a[row * tile + k];
      for (uint64_t j = 0; j < tile; j++) c[row * tile + j] += value * (double)b_tile[k * tile + j];
    }
  }
  for (uint64_t i = 0; i < sums->numel; i++) z[i] = (double)x[i] + (double)y[i];
  return PTO_OK;
}

PROGRAM("alternating_matmul_add", "independent AIC products between independent AIV sums, several tiles a task",
        .rtol = 1e-3, .atol = 1e-3);
