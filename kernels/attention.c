/* SPDX-License-Identifier: MIT */
/*
 * The vector half of paged attention (AIV), for one tile of query rows and one block of the cache; attention_matmul.c
 * has the matrix half:
 *
 *   qk (AIC)               s = q·kᵀ·scale
 *   softmax_prepare (AIV)  m = rowmax(s), p = exp(s − m) rounded to p's dtype, l = rowsum(p)
 *   pv (AIC)               o_new = p·v
 *   online_update (AIV)    merges a block's m_ij, l_ij, o_new into m, l, o; after the last block, out = o / l
 *
 * A block that is not full has a narrower s: the columns of p beyond those of s are masked, that is 0.
 *
 * The rounding of p comes before the sum, so that l sums the weights that pv uses.  Sums of a row go as in
 * kernel_loops.h: their order depends on the number of columns alone.  Any thread.
 */
#include <kernels/kernel_list.h>
#include <kernels/kernel_loops.h>
#include <kernels/kernel_math.h>
#include <kernels/kernel_shape.h>
#include <runtime/base/base.h>

#include <inttypes.h>

#define CHUNK_ELEMS 256 /* columns at a time: buffers of 1 KiB */
_Static_assert(CHUNK_ELEMS % PTO_SUM_LANES == 0, "a row's sum goes on from chunk to chunk");

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
    if (pto_check_same_size(args, what, (struct pto_kernel_size){first, rows}, (struct pto_kernel_size){i, size}) != 0)
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

static float *row_at(const struct pto_kernel_tensor *t, uint64_t row) { return (float *)t->addr + row * t->strides[0]; }

static void load(const struct pto_loops *loops, const struct pto_matrix *m, uint64_t row, uint64_t col, float *buffer,
                 uint64_t count) {
  loops->load[PTO_CLASS_F32][m->dtype](buffer, pto_matrix_at(m, row, col), m->col_stride * pto_dtype_size(m->dtype),
                                       count);
}
static void store(const struct pto_loops *loops, const struct pto_matrix *m, uint64_t row, uint64_t col,
                  const float *buffer, uint64_t count) {
  loops->store[PTO_CLASS_F32][m->dtype](buffer, pto_matrix_at(m, row, col), m->col_stride * pto_dtype_size(m->dtype),
                                        count);
}

/* x = x op y, or x op value. */
static void apply(const struct pto_loops *loops, enum pto_op op, float *x, const float *y, uint64_t count) {
  loops->op[op][PTO_CLASS_F32](&(struct pto_chunk){.count = count, .a = x, .b = y, .out = x});
}
static void apply_scalar(const struct pto_loops *loops, enum pto_op op, float *x, float value, uint64_t count) {
  loops->op[op][PTO_CLASS_F32](&(struct pto_chunk){.count = count, .a = x, .out = x, .scalar = {.f32 = value}});
}

/* ---- softmax_prepare ---- */

static void softmax_row(const struct pto_loops *loops, const struct pto_kernel_args *args, uint64_t row) {
  const struct pto_matrix s = pto_kernel_matrix(&args->tensors[0]), p = pto_kernel_matrix(&args->tensors[1]);
  _Alignas(64) float x[CHUNK_ELEMS];
  float lanes[PTO_SUM_LANES] = {0}, largest = -__builtin_inff();
  for (uint64_t col = 0; col < s.cols; col += CHUNK_ELEMS) {
    const uint64_t count = pto_min_u64(CHUNK_ELEMS, s.cols - col);
    load(loops, &s, row, col, x, count);
    largest = loops->max(largest, x, count);
  }
  for (uint64_t col = 0; col < s.cols; col += CHUNK_ELEMS) {
    const uint64_t count = pto_min_u64(CHUNK_ELEMS, s.cols - col);
    load(loops, &s, row, col, x, count);
    apply_scalar(loops, PTO_OP_add_scalar, x, -largest, count);
    apply(loops, PTO_OP_exp, x, NULL, count);
    store(loops, &p, row, col, x, count);
    load(loops, &p, row, col, x, count);
    loops->sum(lanes, x, count);
  }
  apply_scalar(loops, PTO_OP_fill, x, 0, CHUNK_ELEMS);
  for (uint64_t col = s.cols; col < p.cols; col += CHUNK_ELEMS)
    store(loops, &p, row, col, x, pto_min_u64(CHUNK_ELEMS, p.cols - col));
  *row_at(&args->tensors[2], row) = largest;
  *row_at(&args->tensors[3], row) = pto_sum_lanes(lanes);
}

static int softmax_prepare_run(const struct pto_kernel_args *args) {
  const struct pto_loops *loops = pto_loops_best();
  const uint64_t rows = pto_kernel_matrix(&args->tensors[0]).rows;
  for (uint64_t row = 0; row < rows; row++) softmax_row(loops, args, row);
  return 0;
}

static int softmax_prepare_check(const struct pto_kernel_args *args) {
  const int status = check_rows(args, "softmax_prepare", "softmax_prepare: rows", 3, 0);
  if (status != 0) return status;
  const uint64_t valid = pto_kernel_matrix(&args->tensors[0]).cols, cols = pto_kernel_matrix(&args->tensors[1]).cols;
  if (valid == 0) return pto_kernel_error(args, "softmax_prepare: s has no columns (param 0)");
  if (valid > cols)
    return pto_kernel_error(args, "softmax_prepare: %" PRIu64 " columns of s exceed %" PRIu64 " of p (params 0 and 1)",
                            valid, cols);
  return 0;
}

/* An element takes one vector operation each for maximum, difference, exponential and sum, and one for the rounding
 * where there is one; a masked element one. */
static struct pto_cost softmax_prepare_cost(const struct pto_kernel_args *args) {
  const struct pto_matrix s = pto_kernel_matrix(&args->tensors[0]), p = pto_kernel_matrix(&args->tensors[1]);
  const uint64_t row_bytes = s.cols * sizeof(float) + p.cols * pto_dtype_size(p.dtype) + 2 * sizeof(float);
  return (struct pto_cost){.bytes_in = bytes_of(args, 0, 1),
                           .bytes_out = bytes_of(args, 1, 4),
                           .vector_elems = s.rows * (s.cols * (p.dtype == PTO_FLOAT32 ? 4 : 5) + (p.cols - s.cols)),
                           .local_bytes = pto_tile_bytes(s.rows * row_bytes, s.rows == 0 ? 0 : row_bytes)};
}

static const struct pto_kernel_param softmax_prepare_params[] = {
    MATRIX("s", PTO_INPUT, F32),               /* [q_tile, valid_len] */
    MATRIX("p", PTO_OUTPUT, PTO_DTYPES_FLOAT), /* [q_tile, block], block ≥ valid_len */
    ROWS("m", PTO_OUTPUT),                     /* [q_tile] */
    ROWS("l", PTO_OUTPUT),                     /* [q_tile] */
};
const struct pto_kernel pto_general_softmax_prepare = {.name = "softmax_prepare",
                                                       .cores = PTO_AIV,
                                                       .params = softmax_prepare_params,
                                                       .param_count = PTO_ARRAY_LENGTH(softmax_prepare_params),
                                                       .run = softmax_prepare_run,
                                                       .cost = softmax_prepare_cost,
                                                       .check = softmax_prepare_check};

/* ---- online_update ---- */

enum { M_IJ, L_IJ, O_NEW, M, L, O, OUT };

/* What one row of o is scaled and divided by. */
struct merge {
  bool is_first, is_last;
  float old_scale, new_scale, sum;
};

static struct merge merge_row(const struct pto_kernel_args *args, uint64_t row) {
  const struct pto_kernel_tensor *t = args->tensors;
  struct merge merge = {.is_first = args->scalars[0].i64 != 0, .is_last = args->scalars[1].i64 != 0};
  const float m_ij = *row_at(&t[M_IJ], row), l_ij = *row_at(&t[L_IJ], row);
  float *m = row_at(&t[M], row), *l = row_at(&t[L], row);
  if (merge.is_first) {
    *m = m_ij;
    *l = l_ij;
  } else {
    const float largest = maximum_f32(*m, m_ij);
    merge.old_scale = exp_f32(*m - largest);
    merge.new_scale = exp_f32(m_ij - largest);
    *l = merge.old_scale * *l + merge.new_scale * l_ij;
    *m = largest;
  }
  merge.sum = *l;
  return merge;
}

static void online_update_row(const struct pto_loops *loops, const struct pto_kernel_args *args, uint64_t row) {
  const struct pto_matrix o_new = pto_kernel_matrix(&args->tensors[O_NEW]), o = pto_kernel_matrix(&args->tensors[O]),
                          out = pto_kernel_matrix(&args->tensors[OUT]);
  const struct merge merge = merge_row(args, row);
  _Alignas(64) float x[CHUNK_ELEMS], y[CHUNK_ELEMS];
  for (uint64_t col = 0; col < o.cols; col += CHUNK_ELEMS) {
    const uint64_t count = pto_min_u64(CHUNK_ELEMS, o.cols - col);
    load(loops, &o_new, row, col, x, count);
    if (!merge.is_first) {
      load(loops, &o, row, col, y, count);
      apply_scalar(loops, PTO_OP_mul_scalar, y, merge.old_scale, count);
      apply_scalar(loops, PTO_OP_mul_scalar, x, merge.new_scale, count);
      apply(loops, PTO_OP_add, x, y, count);
    }
    store(loops, &o, row, col, x, count);
    if (merge.is_last) {
      apply_scalar(loops, PTO_OP_fill, y, merge.sum, count);
      apply(loops, PTO_OP_div, x, y, count);
      store(loops, &out, row, col, x, count);
    }
  }
}

static int online_update_run(const struct pto_kernel_args *args) {
  const struct pto_loops *loops = pto_loops_best();
  const uint64_t rows = pto_kernel_matrix(&args->tensors[O]).rows;
  for (uint64_t row = 0; row < rows; row++) online_update_row(loops, args, row);
  return 0;
}

static int online_update_check(const struct pto_kernel_args *args) {
  const int status = check_rows(args, "online_update", "online_update: rows", 1u << O_NEW | 1u << O | 1u << OUT, O);
  if (status != 0) return status;
  const uint64_t cols = pto_kernel_matrix(&args->tensors[O]).cols;
  const struct pto_kernel_size o = {O, cols}, o_new = {O_NEW, pto_kernel_matrix(&args->tensors[O_NEW]).cols},
                               out = {OUT, pto_kernel_matrix(&args->tensors[OUT]).cols};
  if (pto_check_same_size(args, "online_update: columns", o, o_new) != 0) return PTO_EKERNEL;
  return pto_check_same_size(args, "online_update: columns", o, out);
}

/* An element of o takes two multiplications and an addition where it is merged, and a division where it is put out; a
 * row takes a maximum, two differences, two exponentials and the merge of l. */
static struct pto_cost online_update_cost(const struct pto_kernel_args *args) {
  const struct pto_matrix o = pto_kernel_matrix(&args->tensors[O]);
  const bool is_first = args->scalars[0].i64 != 0, is_last = args->scalars[1].i64 != 0;
  const uint64_t row_bytes = (2 * o.cols + 4) * sizeof(float);
  const uint64_t carried = bytes_of(args, M, OUT), written = is_last ? bytes_of(args, OUT, OUT + 1) : 0;
  return (struct pto_cost){.bytes_in = bytes_of(args, M_IJ, M) + (is_first ? 0 : carried),
                           .bytes_out = carried + written,
                           .vector_elems = o.rows * ((is_first ? 0 : 3 * o.cols + 8) + (is_last ? o.cols : 0)),
                           .local_bytes = pto_tile_bytes(o.rows * row_bytes, o.rows == 0 ? 0 : row_bytes)};
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
const struct pto_kernel pto_general_online_update = {.name = "online_update",
                                                     .cores = PTO_AIV,
                                                     .params = online_update_params,
                                                     .param_count = PTO_ARRAY_LENGTH(online_update_params),
                                                     .run = online_update_run,
                                                     .cost = online_update_cost,
                                                     .check = online_update_check};
