/* SPDX-License-Identifier: MIT */
/*
 * bgemm: C = A·B in tiles, the product tiles on AIC, their sums on AIV.
 *
 * A group is one tile of C, in a scope of its own; for each k:  P = A[m,k]·B[k,n]  (AIC, P allocated by the task) and
 * C[m,n] += P  (AIV, an INOUT view of the one external C).  Groups share nothing but reads, so they run side by side;
 * within a group the sums form a chain in the order of k.  The groups tile C as near to a square as their number
 * divides.
 *
 * With tiles=n (the benchmark on the hardware, case C0, has 4) a task does n tiles, and nothing is shared: A, B and C
 * are stacks of tiles, C[g,i] = Σk A[g,k,i]·B[g,k,i] for i < n, as a view [n, tile, tile] of each a task.
 *
 * With t = task_num products and g = t / grid_k groups:  tasks = 2·t,  edges = t (product → sum) + g·(grid_k − 1) (sum
 * → sum).
 */
#include <orchestration/matmul/matmul_batch.h>
#include <orchestration/support/program.h>

struct bgemm {
  uint64_t tile, grid_m, grid_n, grid_k;
  uint64_t tiles;     /* 0: A, B and C are matrices */
  uint32_t sum_dtype; /* of products and C */
};

static const struct pto_option options[] = {
    {"task_num", PTO_OPTION_INT, "64", "tile products in all, a multiple of grid_k"},
    {"tile", PTO_OPTION_INT, "128", "rows and columns of a tile"},
    {"grid_k", PTO_OPTION_INT, "2", "products that are summed into one tile of C"},
    {"tiles", PTO_OPTION_INT, "0",
     "0: one product of matrices; else tiles a task, each with an A and B of its own, f32"},
    {"dtype", PTO_OPTION_TEXT, "f32", "of A and B: f32, fp16, bf16, with products and C f32; or i8, with i32"},
    {0},
};

static const struct pto_case cases[] = {
    {"64x128x2", "task_num=64 tile=128 grid_k=2", "32 groups of 2", 128, 96, false},
    {"32x64x4", "task_num=32 tile=64 grid_k=4", "8 groups of 4, small tiles", 64, 56, false},
    {"64x128x4", "task_num=64 tile=128 grid_k=4", "16 groups of 4", 128, 112, false},
    {"256x128x2", "task_num=256 tile=128 grid_k=2", "128 groups of 2", 512, 384, false},
    {"500x128x2", "task_num=500 tile=128 grid_k=2", "250 groups of 2", 1000, 750, false},
    {"fp16", "task_num=64 tile=128 grid_k=2 dtype=fp16", NULL, 128, 96, false},
    {"bf16", "task_num=64 tile=128 grid_k=2 dtype=bf16", NULL, 128, 96, false},
    {"i8", "task_num=64 tile=128 grid_k=2 dtype=i8", "exact, in i32", 128, 96, false},
    {"tiles", "task_num=16 tile=32 grid_k=2 tiles=4", "four tiles a task, nothing shared", 32, 24, false},
    {"C0", "task_num=500 tile=128 grid_k=2 tiles=4", "as measured on the hardware: 0.5 GB of arrays", 1000, 750, true},
    {0},
};

/* The largest divisor of n that is at most its square root. */
static uint64_t near_square_divisor(uint64_t n) {
  uint64_t best = 1;
  for (uint64_t d = 1; d * d <= n; d++) {
    if (n % d == 0) best = d;
  }
  return best;
}

static int prepare(struct pto_program_run *run) {
  struct bgemm *state = pto_program_state(run, sizeof *state);
  if (state == NULL) return PTO_ENOMEM;
  uint64_t task_num;
  const int status = READ_WHOLE_OPTIONS(run, {"tile", 1, 4096, &state->tile}, {"grid_k", 1, 1000000, &state->grid_k},
                                        {"tiles", 0, 4096, &state->tiles}, {"task_num", 1, 1000000, &task_num});
  if (status != PTO_OK) return status;
  if (task_num % state->grid_k != 0)
    return pto_program_fail(run, "bgemm: task_num %llu is no multiple of grid_k %llu", (unsigned long long)task_num,
                            (unsigned long long)state->grid_k);
  int dtype = pto_dtype_from_name(pto_option_text(run, "dtype"));
  if (dtype != PTO_FLOAT32 && dtype != PTO_FLOAT16 && dtype != PTO_BFLOAT16 && dtype != PTO_INT8)
    return pto_program_fail(run, "bgemm: dtype \"%s\" is not f32, fp16, bf16 or i8", pto_option_text(run, "dtype"));
  if (state->tiles && dtype != PTO_FLOAT32)
    return pto_program_fail(run, "bgemm: tiles %llu with dtype \"%s\": stacks of tiles are f32",
                            (unsigned long long)state->tiles, pto_option_text(run, "dtype"));
  const uint64_t groups = task_num / state->grid_k;
  state->sum_dtype = dtype == PTO_INT8 ? PTO_INT32 : PTO_FLOAT32;
  state->grid_m = near_square_divisor(groups);
  state->grid_n = groups / state->grid_m;
  if (state->tiles) {
    const uint64_t tile = state->tile, products = task_num * state->tiles;
    state->grid_m = groups;
    state->grid_n = 1;
    return DECLARE_ARRAYS(run, INPUT("a", PTO_FLOAT32, -1, 1, products, tile, tile),
                          INPUT("b", PTO_FLOAT32, -1, 1, products, tile, tile),
                          OUTPUT("c", PTO_FLOAT32, groups * state->tiles, tile, tile));
  }
  uint64_t m = state->grid_m * state->tile, n = state->grid_n * state->tile, k = state->grid_k * state->tile;
  const double bound = dtype == PTO_INT8 ? 128 : 1;
  if (dtype == PTO_INT8) pto_program_tolerance(run, 0, 0);
  return DECLARE_ARRAYS(run, INPUT("a", (uint32_t)dtype, -bound, bound, m, k),
                        INPUT("b", (uint32_t)dtype, -bound, bound, k, n), OUTPUT("c", state->sum_dtype, m, n));
}

/* Everything that every group uses. */
struct plan {
  const struct bgemm *state;
  const struct pto_kernel *matmul, *add_in_place;
  struct pto_tensor a, b, c;
};

/* What one task has of A, B or C: tile (i, j) of a matrix of tiles; of a stack the tiles of place i·columns + j. */
static struct pto_tensor part_of_task(const struct plan *plan, const struct pto_tensor *matrix, uint64_t i, uint64_t j,
                                      uint64_t columns) {
  const uint64_t tile = plan->state->tile, tiles = plan->state->tiles;
  if (tiles) return rows_of(matrix, (i * columns + j) * tiles, tiles);
  return pto_tensor_view(matrix, (uint64_t[]){i * tile, j * tile}, (uint64_t[]){tile, tile});
}

static struct pto_tensor make_product(struct pto_runtime *rt, const struct bgemm *state) {
  const uint64_t shape[] = {state->tiles, state->tile, state->tile};
  return state->tiles ? temporary(rt, state->sum_dtype, 3, shape) : temporary(rt, state->sum_dtype, 2, shape + 1);
}

static int submit_group(struct pto_runtime *rt, const struct plan *plan, uint64_t m, uint64_t n) {
  const struct bgemm *state = plan->state;
  struct pto_tensor c = part_of_task(plan, &plan->c, m, n, 1);
  int status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
  for (uint64_t k = 0; status == PTO_OK && k < state->grid_k; k++) {
    struct pto_tensor a = part_of_task(plan, &plan->a, m, k, state->grid_k);
    struct pto_tensor b =
        state->tiles ? part_of_task(plan, &plan->b, m, k, state->grid_k) : part_of_task(plan, &plan->b, k, n, 1);
    struct pto_tensor p = make_product(rt, state);
    status = pto_submit_aic(rt, plan->matmul, PARAMS(pto_input(&a), pto_input(&b), pto_output(&p)));
    if (status == PTO_OK) status = pto_submit_aiv(rt, plan->add_in_place, PARAMS(pto_input(&p), pto_inout(&c)));
  }
  return status == PTO_OK ? pto_scope_end(rt) : status;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct bgemm *state = pto_program_state(run, sizeof *state);
  struct plan plan = {
      .state = state,
      .matmul = state->tiles ? &kernel_matmul_batch
                             : pto_kernel_find(state->sum_dtype == PTO_INT32 ? "matmul_int8" : "matmul"),
      .add_in_place = pto_kernel_find("add_inplace"),
      .a = tensor_of(rt, run, "a"),
      .b = tensor_of(rt, run, "b"),
      .c = tensor_of(rt, run, "c"),
  };
  int status = PTO_OK;
  for (uint64_t m = 0; status == PTO_OK && m < state->grid_m; m++) {
    for (uint64_t n = 0; status == PTO_OK && n < state->grid_n; n++) status = submit_group(rt, &plan, m, n);
  }
  return status;
}

/* c += a·b of rows·inner·columns elements: the inner loop runs along rows of B and C. */
static void add_product(const double *a, const double *b, double *c, uint64_t rows, uint64_t inner, uint64_t columns) {
  for (uint64_t i = 0; i < rows; i++)
    for (uint64_t l = 0; l < inner; l++)
      for (uint64_t j = 0; j < columns; j++) c[i * columns + j] += a[i * inner + l] * b[l * columns + j];
}

/* In double precision: of matrices as a whole, without tiles; of stacks tile by tile. */
static int expect(struct pto_program_run *run) {
  const struct bgemm *state = pto_program_state(run, sizeof *state);
  double *c = golden_of(run, "c"), *a = exact_copy(run, "a"), *b = exact_copy(run, "b");
  if (c == NULL || a == NULL || b == NULL) return PTO_ENOMEM;
  const uint64_t tile = state->tile, k = state->grid_k;
  if (!state->tiles) {
    add_product(a, b, c, state->grid_m * tile, k * tile, state->grid_n * tile);
    return PTO_OK;
  }
  const uint64_t elements = tile * tile;
  for (uint64_t product = 0; product < state->grid_m * k * state->tiles; product++) {
    const uint64_t group = product / (k * state->tiles), i = product % state->tiles;
    add_product(a + product * elements, b + product * elements, c + (group * state->tiles + i) * elements, tile, tile,
                tile);
  }
  return PTO_OK;
}

PROGRAM("bgemm", "matrix product in tiles: AIC products, AIV sums into views of one matrix", .rtol = 1e-3,
        .atol = 1e-3);
