/* SPDX-License-Identifier: MIT */
/*
 * bgemm: C = A·B in tiles, the product tiles on AIC, their sums on AIV.
 *
 * A group is one tile of C, in a scope of its own; for each k:  P = A[m,k]·B[k,n]  (AIC, P allocated by the task) and
 * C[m,n] += P  (AIV, an INOUT view of the one external C).  Groups share nothing but reads, so they run side by side;
 * within a group the sums form a chain in the order of k.  The groups tile C as near to a square as their number
 * divides.
 *
 * With t = task_num products and g = t / grid_k groups:  tasks = 2·t,  edges = t (product → sum) + g·(grid_k − 1) (sum
 * → sum).
 */
#include <orchestration/support/program.h>

struct bgemm {
  uint64_t tile, grid_m, grid_n, grid_k;
  uint32_t sum_dtype; /* of products and C */
};

static const struct pto_option options[] = {
    {"task_num", PTO_OPTION_INT, "64", "tile products in all, a multiple of grid_k"},
    {"tile", PTO_OPTION_INT, "128", "rows and columns of a tile"},
    {"grid_k", PTO_OPTION_INT, "2", "products that are summed into one tile of C"},
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
                                        {"task_num", 1, 1000000, &task_num});
  if (status != PTO_OK) return status;
  if (task_num % state->grid_k != 0)
    return pto_program_fail(run, "bgemm: task_num %llu is no multiple of grid_k %llu", (unsigned long long)task_num,
                            (unsigned long long)state->grid_k);
  int dtype = pto_dtype_from_name(pto_option_text(run, "dtype"));
  if (dtype != PTO_FLOAT32 && dtype != PTO_FLOAT16 && dtype != PTO_BFLOAT16 && dtype != PTO_INT8)
    return pto_program_fail(run, "bgemm: dtype \"%s\" is not f32, fp16, bf16 or i8", pto_option_text(run, "dtype"));
  const uint64_t groups = task_num / state->grid_k;
  state->sum_dtype = dtype == PTO_INT8 ? PTO_INT32 : PTO_FLOAT32;
  state->grid_m = near_square_divisor(groups);
  state->grid_n = groups / state->grid_m;
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

/* Tile (i, j) of a matrix of tiles. */
static struct pto_tensor tile_of(const struct plan *plan, const struct pto_tensor *matrix, uint64_t i, uint64_t j) {
  uint64_t tile = plan->state->tile;
  return pto_tensor_view(matrix, (uint64_t[]){i * tile, j * tile}, (uint64_t[]){tile, tile});
}

static int submit_group(struct pto_runtime *rt, const struct plan *plan, uint64_t m, uint64_t n) {
  uint64_t tile = plan->state->tile;
  struct pto_tensor c = tile_of(plan, &plan->c, m, n);
  int status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
  for (uint64_t k = 0; status == PTO_OK && k < plan->state->grid_k; k++) {
    struct pto_tensor a = tile_of(plan, &plan->a, m, k), b = tile_of(plan, &plan->b, k, n);
    struct pto_tensor p = temporary_matrix(rt, plan->state->sum_dtype, tile, tile);
    status = pto_submit_aic(rt, plan->matmul, PARAMS(pto_input(&a), pto_input(&b), pto_output(&p)));
    if (status == PTO_OK) status = pto_submit_aiv(rt, plan->add_in_place, PARAMS(pto_input(&p), pto_inout(&c)));
  }
  return status == PTO_OK ? pto_scope_end(rt) : status;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct bgemm *state = pto_program_state(run, sizeof *state);
  struct plan plan = {
      .state = state,
      .matmul = pto_kernel_find(state->sum_dtype == PTO_INT32 ? "matmul_int8" : "matmul"),
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

/* Row by row, without tiles, in double precision; the inner loop runs along rows of B and C. */
static int expect(struct pto_program_run *run) {
  const struct pto_array *a = pto_program_find(run, "a");
  double *c = golden_of(run, "c"), *b = exact_copy(run, "b");
  if (c == NULL || b == NULL) return PTO_ENOMEM;
  uint64_t m = a->shape[0], k = a->shape[1], n = pto_program_find(run, "c")->shape[1];
  for (uint64_t i = 0; i < m; i++) {
    for (uint64_t l = 0; l < k; l++) {
      double x = pto_array_get(a, i * k + l);
      for (uint64_t j = 0; j < n; j++) c[i * n + j] += x * b[l * n + j];
    }
  }
  return PTO_OK;
}

PROGRAM("bgemm", "matrix product in tiles: AIC products, AIV sums into views of one matrix", .rtol = 1e-3,
        .atol = 1e-3);
