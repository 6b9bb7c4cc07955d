/* SPDX-License-Identifier: MIT */
/*
 * tensor_parallel_mlp: y = gelu(x·W1)·W2 on several ranks (Shoeybi et al., "Megatron-LM", 2019, section 3).
 *
 * A rank has columns of W1 and the rows of W2 that belong to them: hidden · r / n up to hidden · (r + 1) / n of rank r
 * of n.  So gelu needs nothing of another rank, and what each has at the end is an addend of y: an all-reduce gives all
 * of them the sum.  Tasks are tiles of columns.
 *
 * The golden has whole products up to W2, then an addend a rank, and adds them in the order of the all-reduce: to the
 * last bit.
 */
#include <orchestration/ranks/reduction.h>
#include <orchestration/ranks/sequential.h>
#include <orchestration/support/program.h>

static const struct pto_option options[] = {
    {"tokens", PTO_OPTION_INT, "32", "rows of x and y"},
    {"dim", PTO_OPTION_INT, "128", "columns of x and y"},
    {"hidden", PTO_OPTION_INT, "512", "columns of W1, at least as many as there are ranks"},
    {"tile", PTO_OPTION_INT, "64", "columns of a product that are a task"},
    ALGORITHM_OPTION("two_phase"),
    {0}};
static const struct pto_case cases[] = {
    {.name = "512"},
    {.name = "uneven", .settings = "tokens=7 dim=50 hidden=101 tile=24", .summary = "what no number of ranks divides"},
    {.name = "8192", .settings = "tokens=128 dim=2048 hidden=8192 tile=128", .is_long = true},
    {0}};

struct mlp {
  uint64_t tokens, dim, hidden, tile;
  enum pto_all_reduce algorithm;
};

/* Where the columns of W1 begin that are the rank's. */
static uint64_t first_of(struct pto_program_run *run, const struct mlp *mlp, uint32_t rank) {
  return mlp->hidden * rank / pto_program_rank_count(run);
}

static int prepare(struct pto_program_run *run) {
  enum { MOST = 65536 };
  struct mlp *mlp = pto_program_state(run, sizeof *mlp);
  if (!mlp) return PTO_ENOMEM;
  int status =
      READ_WHOLE_OPTIONS(run, {"tokens", 1, MOST, &mlp->tokens}, {"dim", 1, MOST, &mlp->dim},
                         {"hidden", pto_program_rank_count(run), MOST, &mlp->hidden}, {"tile", 1, MOST, &mlp->tile});
  if (!status) status = read_algorithm(run, &mlp->algorithm);
  if (status) return status;
  /* Weights keep the variance of a product's columns. */
  const double of_dim = sqrt(3.0 / (double)mlp->dim), of_hidden = sqrt(3.0 / (double)mlp->hidden);
  return DECLARE_ARRAYS(run, INPUT("x", PTO_FLOAT32, -1, 1, mlp->tokens, mlp->dim),
                        INPUT("w1", PTO_FLOAT32, -of_dim, of_dim, mlp->dim, mlp->hidden),
                        INPUT("w2", PTO_FLOAT32, -of_hidden, of_hidden, mlp->hidden, mlp->dim),
                        OUTPUT("y", PTO_FLOAT32, mlp->tokens, mlp->dim));
}

/* ---- the orchestration ---- */

static int multiply(struct pto_runtime *rt, const struct pto_tensor *a, const struct pto_tensor *b,
                    const struct pto_tensor *c) {
  return pto_submit_aic(rt, pto_kernel_find("matmul"), PARAMS(pto_input(a), pto_input(b), pto_output(c)));
}

/* active = gelu(x·w1) */
static int submit_up(struct pto_runtime *rt, const struct mlp *mlp, const struct pto_tensor *x,
                     const struct pto_tensor *w1, const struct pto_tensor *active) {
  int status = PTO_OK;
  for (uint64_t at = 0, columns = active->shape[1]; at < columns && !status; at += mlp->tile) {
    const uint64_t end = at + mlp->tile < columns ? at + mlp->tile : columns;
    const struct pto_tensor w = pto_tensor_slice(w1, 1, at, end, 1), to = pto_tensor_slice(active, 1, at, end, 1);
    const struct pto_tensor product = temporary_matrix(rt, PTO_FLOAT32, mlp->tokens, end - at);
    status = multiply(rt, x, &w, &product);
    if (!status) status = pto_submit_aiv(rt, pto_kernel_find("gelu"), PARAMS(pto_input(&product), pto_output(&to)));
  }
  return status;
}

/* addend = active·w2 */
static int submit_down(struct pto_runtime *rt, const struct mlp *mlp, const struct pto_tensor *active,
                       const struct pto_tensor *w2, const struct pto_tensor *addend) {
  int status = PTO_OK;
  for (uint64_t at = 0; at < mlp->dim && !status; at += mlp->tile) {
    const uint64_t end = at + mlp->tile < mlp->dim ? at + mlp->tile : mlp->dim;
    const struct pto_tensor w = pto_tensor_slice(w2, 1, at, end, 1), to = pto_tensor_slice(addend, 1, at, end, 1);
    status = multiply(rt, active, &w, &to);
  }
  return status;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct mlp *mlp = pto_program_state(run, sizeof *mlp);
  const uint32_t rank = pto_program_rank(run);
  const uint64_t first = first_of(run, mlp, rank), end = first_of(run, mlp, rank + 1);
  const struct pto_tensor x = tensor_of(rt, run, "x"), y = tensor_of(rt, run, "y");
  const struct pto_tensor w1 = tensor_of(rt, run, "w1"), w2 = tensor_of(rt, run, "w2");
  const struct pto_tensor own_w1 = pto_tensor_slice(&w1, 1, first, end, 1), own_w2 = rows_of(&w2, first, end - first);
  const struct pto_tensor active = temporary_matrix(rt, PTO_FLOAT32, mlp->tokens, end - first);
  const struct pto_tensor addend = temporary_matrix(rt, PTO_FLOAT32, mlp->tokens, mlp->dim);
  struct pto_comm comm;
  int status = pto_comm_create_for_collectives(rt, NULL, 0, mlp->tokens * mlp->dim * sizeof(float), &comm);
  if (!status) status = pto_alloc_tensors(rt, (const struct pto_tensor[]){active, addend}, 2, NULL);
  if (!status) status = submit_up(rt, mlp, &x, &own_w1, &active);
  if (!status) status = submit_down(rt, mlp, &active, &own_w2, &addend);
  return status ? status : pto_submit_all_reduce(rt, comm, &addend, &y, PTO_REDUCE_SUM, mlp->algorithm);
}

/* ---- golden ---- */

/* In double precision, without ranks; NULL where there is no memory. */
static double *compute_exactly(struct pto_program_run *run, const struct mlp *mlp) {
  const float *x = data_of(run, "x"), *w1 = data_of(run, "w1"), *w2 = data_of(run, "w2");
  double *active = pto_program_alloc(run, mlp->hidden * sizeof *active);
  double *y = pto_program_alloc(run, mlp->tokens * mlp->dim * sizeof *y);
  for (uint64_t row = 0; row < mlp->tokens && active && y; row++) {
    memset(active, 0, mlp->hidden * sizeof *active);
    for (uint64_t i = 0; i < mlp->dim; i++)
      for (uint64_t j = 0; j < mlp->hidden; j++)
        active[j] += (double)x[row * mlp->dim + i] * (double)w1[i * mlp->hidden + j];
    for (uint64_t j = 0; j < mlp->hidden; j++) active[j] *= 0.5 * (1 + erf(active[j] / sqrt(2)));
    for (uint64_t j = 0; j < mlp->hidden; j++)
      for (uint64_t i = 0; i < mlp->dim; i++) y[row * mlp->dim + i] += active[j] * (double)w2[j * mlp->dim + i];
  }
  return active ? y : NULL;
}

static int expect(struct pto_program_run *run) {
  const struct mlp *mlp = pto_program_state(run, sizeof *mlp);
  const uint32_t rank_count = pto_program_rank_count(run);
  const struct pto_core core = make_core(run);
  const struct matrix x = matrix_of(pto_program_find(run, "x"), 0), w1 = matrix_of(pto_program_find(run, "w1"), 0);
  const struct matrix w2 = matrix_of(pto_program_find(run, "w2"), 0);
  const struct matrix active = make_matrix(run, mlp->tokens, mlp->hidden), y = make_matrix(run, mlp->tokens, mlp->dim);
  const float *addends[PTO_MAX_RANKS];
  int status = compute(&core, "matmul", MATRICES(x, w1, active), NO_SCALAR);
  if (!status) status = compute(&core, "gelu", MATRICES(active, active), NO_SCALAR);
  for (uint32_t rank = 0; rank < rank_count && !status; rank++) {
    const uint64_t first = first_of(run, mlp, rank), end = first_of(run, mlp, rank + 1);
    const struct matrix addend = make_matrix(run, mlp->tokens, mlp->dim);
    addends[rank] = addend.at;
    status = compute(&core, "matmul", MATRICES(matrix_columns(active, first, end), matrix_rows(w2, first, end), addend),
                     NO_SCALAR);
  }
  if (status || !y.at) return status ? status : PTO_ENOMEM;
  add_ranks(&(struct addends){addends, rank_count}, mlp->algorithm, mlp->tokens * mlp->dim, y.at);
  return give_golden(run, "y", y, compute_exactly(run, mlp));
}

PROGRAM("tensor_parallel_mlp", "a feed-forward layer, its weights split over the ranks", .ranks = 4);
