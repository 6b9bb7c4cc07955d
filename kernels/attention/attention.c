/* SPDX-License-Identifier: MIT */
/*
 * The vector half of paged attention (AIV), for one tile of query rows and one block of the cache;
 * kernels/attention/matmul.c has the matrix half:
 *
 *   qk (AIC)               s = q·kᵀ·scale
 *   softmax_prepare (AIV)  m = rowmax(s), p = exp(s − m) rounded to p's dtype, l = rowsum(p)
 *   pv (AIC)               o_new = p·v
 *   online_update (AIV)    merges a block's m_ij, l_ij, o_new into m, l, o; after the last block, out = o / l
 *
 * A block that is not full has a narrower s: the columns of p beyond those of s are masked, that is 0.
 *
 * The rounding of p comes before the sum, so that l sums the weights that pv uses.  Sums of a row go as in
 * kernels/rows/fold.h: their order depends on the number of columns alone.  Any thread.
 */
#include <kernels/api/list.h>
#include <kernels/api/shape.h>
#include <kernels/rows/fold.h>
#include <runtime/base/base.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PIECE_COLUMNS 128u       /* of a row, that a vector core of hardware loads and stores at a time */
#define MASK_ELEMS 256           /* zeros in local memory */
#define BATCH_ROWS PTO_ROW_WIDTH /* rows that are merged at a time */
#define MERGE_VECTORS 5          /* of struct merge */

#define F32 PTO_DTYPE_BIT(PTO_FLOAT32)
#define MATRIX(name_, mode_, dtypes_)                                                                                  \
  { .name = name_, .mode = mode_, .dtypes = dtypes_, .min_rank = 2 }
#define ROWS(name_, mode_)                                                                                             \
  { .name = name_, .mode = mode_, .dtypes = F32, .min_rank = 1, .max_rank = 1 }

/* ---- shapes ---- */

/* Tensors in `matrices` (bit i: tensor i) are matrices, all other tensors vectors of as many rows as tensor `first`. */
static int check_rows(const struct pto_kernel_args *args, const char *kernel, const char *what, uint32_t matrices,
                      uint32_t first) {
  for (uint32_t i = 0; i < args->tensor_count; i++)
    if ((matrices >> i & 1) != 0 && pto_check_matrix(args, kernel, i) != 0) return PTO_EKERNEL;
  const uint64_t rows = pto_kernel_matrix(&args->tensors[first]).rows;
  for (uint32_t i = 0; i < args->tensor_count; i++) {
    const struct pto_kernel_tensor *t = &args->tensors[i];
    const uint64_t size = (matrices >> i & 1) != 0 ? pto_kernel_matrix(t).rows : t->shape[0];
    if (pto_check_same_size(args, kernel, what, (struct pto_kernel_size){first, rows},
                            (struct pto_kernel_size){i, size}) != 0)
      return PTO_EKERNEL;
  }
  return 0;
}

static uint64_t bytes_of(const struct pto_kernel_args *args, uint32_t first, uint32_t end) {
  uint64_t bytes = 0;
  for (uint32_t i = first; i < end; i++) bytes += pto_kernel_bytes(&args->tensors[i]);
  return bytes;
}

/* ---- rows ---- */

/* Matrices of one size as rows of a plan; tensors[i].addr is that of matrix i. */
static void plan_rows(struct pto_row_plan *plan, const struct pto_matrix *matrices, uint32_t count) {
  struct pto_kernel_tensor tensors[PTO_ROW_TENSORS];
  uint64_t rows[PTO_ROW_TENSORS], cols[PTO_ROW_TENSORS];
  for (uint32_t i = 0; i < count; i++) {
    tensors[i] = (struct pto_kernel_tensor){.addr = matrices[i].addr, .dtype = matrices[i].dtype};
    rows[i] = matrices[i].row_stride;
    cols[i] = matrices[i].col_stride;
  }
  pto_row_plan_init(plan, tensors, count);
  pto_row_plan_add(plan, false, matrices[0].rows, rows);
  pto_row_plan_add(plan, true, matrices[0].cols, cols);
  pto_row_plan_finish(plan);
}

/* A vector with an element a row, as a matrix of one column that repeats. */
static struct pto_matrix rows_vector(const struct pto_kernel_tensor *t) {
  return (struct pto_matrix){.addr = t->addr, .rows = t->shape[0], .row_stride = t->strides[0], .dtype = t->dtype};
}

/* ---- softmax_prepare ---- */

/* The columns of p that s has. */
static struct pto_matrix valid_part(const struct pto_kernel_args *args) {
  struct pto_matrix p = pto_kernel_matrix(&args->tensors[1]);
  p.cols = pto_kernel_matrix(&args->tensors[0]).cols;
  return p;
}

/* First m and p of all rows, then, with the rows of p, l. */
static void softmax_plan(struct pto_row_plan *plan, const struct pto_kernel_args *args) {
  const struct pto_matrix matrices[] = {pto_kernel_matrix(&args->tensors[0]), valid_part(args),
                                        rows_vector(&args->tensors[2])};
  plan_rows(plan, matrices, 3);
}
static void row_sum_plan(struct pto_row_plan *plan, const struct pto_kernel_args *args) {
  const struct pto_matrix matrices[] = {valid_part(args), rows_vector(&args->tensors[3])};
  plan_rows(plan, matrices, 2);
}

/* results[j] = the fold of row j; with `exponentials`, these go to tensor 1 of the plan. */
static void run_softmax(const struct pto_kernel_args *args, const struct pto_row_plan *plan, enum pto_fold fold,
                        bool has_exponentials) {
  struct pto_row_walk walk;
  struct pto_row_work work = {.plan = plan, .keeps_rows = has_exponentials};
  struct pto_local local = pto_local_begin(&args->core->local);
  pto_row_work_init(&work, &local);
  if (!pto_row_walk_begin(&walk, plan)) return;
  for (uint64_t row = 0, rows; row < plan->vec.extent; row += rows) {
    rows = pto_row_group_size(&work, row);
    const struct pto_row_group group = pto_rows_begin(&work, walk.at, row, rows);
    pto_rows_fold(&work, &group, fold, NULL, work.a);
    if (has_exponentials) pto_rows_map(&work, &group, PTO_MAP_exp_less, work.a, NULL, 1);
    pto_rows_put(&work, &group, has_exponentials ? 2 : 1, work.a);
  }
}

/* Zeros in the columns of p that s has not, MASK_ELEMS at a time. */
static void mask_rest(const struct pto_kernel_args *args) {
  const struct pto_matrix p = pto_kernel_matrix(&args->tensors[1]);
  struct pto_local local = pto_local_begin(&args->core->local);
  float *zeros = pto_local_take(&local, MASK_ELEMS * sizeof(float));
  pto_store_loop *store = pto_loops_best()->store[PTO_CLASS_F32][p.dtype];
  memset(zeros, 0, MASK_ELEMS * sizeof(float));
  for (uint64_t row = 0; row < p.rows; row++)
    for (uint64_t col = pto_kernel_matrix(&args->tensors[0]).cols; col < p.cols; col += MASK_ELEMS)
      store(zeros, pto_matrix_at(&p, row, col), p.col_stride * pto_dtype_size(p.dtype),
            pto_min_u64(MASK_ELEMS, p.cols - col));
}

static int softmax_prepare_run(const struct pto_kernel_args *args) {
  struct pto_row_plan plan;
  softmax_plan(&plan, args);
  run_softmax(args, &plan, PTO_FOLD_max, true);
  row_sum_plan(&plan, args);
  run_softmax(args, &plan, PTO_FOLD_sum, false);
  mask_rest(args);
  return 0;
}

static int softmax_prepare_check(const struct pto_kernel_args *args) {
  const int status = check_rows(args, "softmax_prepare", "rows", 3, 0);
  if (status != 0) return status;
  const uint64_t valid = pto_kernel_matrix(&args->tensors[0]).cols, cols = pto_kernel_matrix(&args->tensors[1]).cols;
  if (valid == 0) return pto_kernel_error(args, "softmax_prepare: s has no columns (param 0)");
  if (valid > cols)
    return pto_kernel_error(args, "softmax_prepare: %" PRIu64 " columns of s exceed %" PRIu64 " of p (params 0 and 1)",
                            valid, cols);
  return 0;
}

/* An element takes one vector operation each for maximum, difference, exponential and sum; a masked element one.  Where
 * weights are rounded it takes three more, as in the kernels of the hardware: the scale, the rounding, and the way back
 * for the sum, which is of rounded weights. */
static struct pto_cost softmax_prepare_cost(const struct pto_kernel_args *args) {
  const struct pto_matrix s = pto_kernel_matrix(&args->tensors[0]), p = pto_kernel_matrix(&args->tensors[1]);
  struct pto_row_plan plan, sums;
  softmax_plan(&plan, args);
  row_sum_plan(&sums, args);
  const uint64_t local = pto_max_u64(pto_row_work_bytes(&plan, true, 0), pto_row_work_bytes(&sums, false, 0));
  const uint64_t pieces = (p.cols + PIECE_COLUMNS - 1) / PIECE_COLUMNS; /* read for the maximum, and again */
  return (struct pto_cost){.bytes_in = bytes_of(args, 0, 1) * pto_row_reads(&plan, 2),
                           .bytes_out = bytes_of(args, 1, 4),
                           .vector_elems = s.rows * (s.cols * (p.dtype == PTO_FLOAT32 ? 4 : 7) + (p.cols - s.cols)),
                           .local_bytes = pto_max_u64(local, pto_local_bytes(MASK_ELEMS * sizeof(float))),
                           .trips = (uint32_t)pto_min_u64(pieces > 1 ? 3 * pieces : 2, UINT32_MAX)};
}

/* "16x8192 bf16": rows and columns of p. */
static int softmax_prepare_key(const struct pto_kernel_args *args, char *text, uint32_t size) {
  const struct pto_matrix p = pto_kernel_matrix(&args->tensors[1]);
  return snprintf(text, size, "%" PRIu64 "x%" PRIu64 " %s", p.rows, p.cols, pto_dtype_name(p.dtype));
}

static const struct pto_kernel_param softmax_prepare_params[] = {
    MATRIX("s", PTO_INPUT, F32),               /* [q_tile, valid_len] */
    MATRIX("p", PTO_OUTPUT, PTO_DTYPES_FLOAT), /* [q_tile, block], block ≥ valid_len */
    ROWS("m", PTO_OUTPUT),                     /* [q_tile] */
    ROWS("l", PTO_OUTPUT),                     /* [q_tile] */
};
PTO_GENERAL_KERNEL(softmax_prepare, softmax_prepare_params, .cores = PTO_AIV, .flags = PTO_KERNEL_ONE_BLOCK,
                   .run = softmax_prepare_run, .cost = softmax_prepare_cost, .check = softmax_prepare_check,
                   .key = softmax_prepare_key);

/* ---- online_update ---- */

enum { M_IJ, L_IJ, O_NEW, M, L, O, OUT };

/* What the current rows of o are scaled by. */
struct merge {
  float *old_scale, *new_scale, *m, *m_ij, *largest; /* BATCH_ROWS each, in local memory */
};

static void load_rows(const struct pto_kernel_tensor *t, uint64_t row, float *values, uint64_t count) {
  const uint64_t step = t->strides[0] * sizeof(float);
  pto_loops_best()->load[PTO_CLASS_F32][PTO_FLOAT32](values, (const char *)t->addr + row * step, step, count);
}
static void store_rows(const struct pto_kernel_tensor *t, uint64_t row, const float *values, uint64_t count) {
  const uint64_t step = t->strides[0] * sizeof(float);
  pto_loops_best()->store[PTO_CLASS_F32][PTO_FLOAT32](values, (char *)t->addr + row * step, step, count);
}

/* m = m_ij and l = l_ij. */
static void take_over(const struct pto_kernel_tensor *t, const struct merge *merge, uint64_t row, uint64_t count) {
  load_rows(&t[M_IJ], row, merge->m_ij, count);
  store_rows(&t[M], row, merge->m_ij, count);
  load_rows(&t[L_IJ], row, merge->m_ij, count);
  store_rows(&t[L], row, merge->m_ij, count);
}

/* m, l and both scales of rows [row, row + count). */
static void merge_rows(const struct pto_row_work *work, const struct pto_kernel_tensor *t, const struct merge *merge,
                       const struct pto_row_group *group) {
  const uint64_t row = group->col, count = group->cols;
  load_rows(&t[M], row, merge->m, count);
  load_rows(&t[M_IJ], row, merge->m_ij, count);
  work->loops->fold_join[PTO_FOLD_max](merge->largest, merge->m, merge->m_ij, count);
  store_rows(&t[M], row, merge->largest, count);
  memcpy(merge->old_scale, merge->m, count * sizeof(float));
  memcpy(merge->new_scale, merge->m_ij, count * sizeof(float));
  pto_values_map(work, PTO_MAP_exp_minus, merge->old_scale, merge->largest, 0, count);
  pto_values_map(work, PTO_MAP_exp_minus, merge->new_scale, merge->largest, 0, count);
  load_rows(&t[L], row, merge->m, count);
  load_rows(&t[L_IJ], row, merge->m_ij, count);
  for (uint64_t j = 0; j < count; j++)
    merge->m[j] = merge->old_scale[j] * merge->m[j] + merge->new_scale[j] * merge->m_ij[j];
  store_rows(&t[L], row, merge->m, count);
}

static void update_plan(struct pto_row_plan *plan, const struct pto_kernel_args *args) {
  const struct pto_matrix matrices[] = {pto_kernel_matrix(&args->tensors[O_NEW]), pto_kernel_matrix(&args->tensors[O])};
  plan_rows(plan, matrices, 2);
}
static void output_plan(struct pto_row_plan *plan, const struct pto_kernel_args *args) {
  const struct pto_matrix matrices[] = {pto_kernel_matrix(&args->tensors[O]), pto_kernel_matrix(&args->tensors[OUT]),
                                        rows_vector(&args->tensors[L])};
  plan_rows(plan, matrices, 3);
}

/* o = o_new, or both scaled and added. */
static void update_rows(const struct pto_kernel_args *args, bool is_first) {
  struct pto_row_plan plan;
  struct pto_row_walk walk;
  struct pto_local local = pto_local_begin(&args->core->local);
  update_plan(&plan, args);
  struct pto_row_work work = {.plan = &plan, .operand_count = 1};
  pto_row_work_init(&work, &local);
  float *scales = pto_local_take(&local, MERGE_VECTORS * BATCH_ROWS * sizeof(float));
  const struct merge merge = {scales, scales + BATCH_ROWS, scales + 2 * BATCH_ROWS, scales + 3 * BATCH_ROWS,
                              scales + 4 * BATCH_ROWS};
  if (!pto_row_walk_begin(&walk, &plan)) return;
  for (uint64_t row = 0, rows; row < plan.vec.extent; row += rows) {
    rows = pto_row_group_size(&work, row);
    const struct pto_row_group group = pto_rows_begin(&work, walk.at, row, rows);
    if (is_first) {
      take_over(args->tensors, &merge, row, rows);
      pto_rows_copy(&work, &group, 1);
    } else {
      merge_rows(&work, args->tensors, &merge, &group);
      pto_rows_map(&work, &group, PTO_MAP_blend, merge.old_scale, merge.new_scale, 1);
    }
  }
}

/* out = o / l. */
static void put_out(const struct pto_kernel_args *args) {
  struct pto_row_plan plan;
  struct pto_row_walk walk;
  struct pto_local local = pto_local_begin(&args->core->local);
  output_plan(&plan, args);
  struct pto_row_work work = {.plan = &plan};
  pto_row_work_init(&work, &local);
  if (!pto_row_walk_begin(&walk, &plan)) return;
  for (uint64_t row = 0, step; row < plan.vec.extent; row += step) {
    step = pto_row_group_size(&work, row);
    const struct pto_row_group group = pto_rows_begin(&work, walk.at, row, step);
    pto_rows_get(&work, &group, 2, work.a);
    pto_rows_map(&work, &group, PTO_MAP_over, work.a, NULL, 1);
  }
}

static int online_update_run(const struct pto_kernel_args *args) {
  update_rows(args, args->scalars[0].i64 != 0);
  if (args->scalars[1].i64 != 0) put_out(args);
  return 0;
}

static int online_update_check(const struct pto_kernel_args *args) {
  const int status = check_rows(args, "online_update", "rows", 1u << O_NEW | 1u << O | 1u << OUT, O);
  if (status != 0) return status;
  const uint64_t cols = pto_kernel_matrix(&args->tensors[O]).cols;
  const struct pto_kernel_size o = {O, cols}, o_new = {O_NEW, pto_kernel_matrix(&args->tensors[O_NEW]).cols},
                               out = {OUT, pto_kernel_matrix(&args->tensors[OUT]).cols};
  if (pto_check_same_size(args, "online_update", "columns", o, o_new) != 0) return PTO_EKERNEL;
  return pto_check_same_size(args, "online_update", "columns", o, out);
}

/* An element of o takes two multiplications and an addition where it is merged, and a division where it is put out; a
 * row takes a maximum, two differences, two exponentials and the merge of l. */
static struct pto_cost online_update_cost(const struct pto_kernel_args *args) {
  const struct pto_matrix o = pto_kernel_matrix(&args->tensors[O]);
  const bool is_first = args->scalars[0].i64 != 0, is_last = args->scalars[1].i64 != 0;
  struct pto_row_plan update, output;
  update_plan(&update, args);
  output_plan(&output, args);
  const uint64_t merging =
      pto_row_work_bytes(&update, false, 1) + pto_local_bytes(MERGE_VECTORS * BATCH_ROWS * sizeof(float));
  const uint64_t carried = bytes_of(args, M, OUT), written = is_last ? bytes_of(args, OUT, OUT + 1) : 0;
  return (struct pto_cost){.bytes_in = bytes_of(args, M_IJ, M) + (is_first ? 0 : carried),
                           .bytes_out = carried + written,
                           .vector_elems = o.rows * ((is_first ? 0 : 3 * o.cols + 8) + (is_last ? o.cols : 0)),
                           .local_bytes = pto_max_u64(merging, is_last ? pto_row_work_bytes(&output, false, 0) : 0)};
}

/* "16x128 first last": rows and columns of o, and which of the chain it is. */
static int online_update_key(const struct pto_kernel_args *args, char *text, uint32_t size) {
  const struct pto_matrix o = pto_kernel_matrix(&args->tensors[O]);
  return snprintf(text, size, "%" PRIu64 "x%" PRIu64 "%s%s", o.rows, o.cols, args->scalars[0].i64 != 0 ? " first" : "",
                  args->scalars[1].i64 != 0 ? " last" : "");
}

static const struct pto_kernel_param online_update_params[] = {
    ROWS("m_ij", PTO_INPUT),                     /* [q_tile] */
    ROWS("l_ij", PTO_INPUT),                     /* [q_tile] */
    MATRIX("o_new", PTO_INPUT, F32),             /* [q_tile, d] */
    ROWS("m", PTO_INOUT),                        /* [q_tile]; not read where is_first, as l and o */
    ROWS("l", PTO_INOUT),                        /* [q_tile] */
    MATRIX("o", PTO_INOUT, F32),                 /* [q_tile, d] */
    MATRIX("out", PTO_OUTPUT, PTO_DTYPES_FLOAT), /* [q_tile, d]; written where is_last */
    {.name = "is_first", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_I64},
    {.name = "is_last", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_I64},
};
PTO_GENERAL_KERNEL(online_update, online_update_params, .cores = PTO_AIV, .flags = PTO_KERNEL_ONE_BLOCK,
                   .run = online_update_run, .cost = online_update_cost, .check = online_update_check,
                   .key = online_update_key);
