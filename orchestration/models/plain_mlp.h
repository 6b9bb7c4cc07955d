/* SPDX-License-Identifier: MIT */
/*
 * What train_mlp trains, as plain loops on one thread: forward, loss, backward and update of a multilayer perceptron.
 *
 *   a₀ = x    z = a·w + b    a = relu z, after the last layer z    loss = mean of log Σexp z − z at the label
 *
 * Floats are added in the order that docs/numerics.md gives for the kernels, so the results are those of the device to
 * the last bit.  Softmax and log Σexp are taken from the kernels themselves: their functions are the library's own.
 *
 * Each value may carry a bound of its distance to the exact one, which follows it through the loops ("running error
 * analysis", Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.3).  Which units are on is that
 * of the floats: where they are, the exact loss is a smooth function of the weights, and plain_mlp_loss is that
 * function in double precision.
 *
 * Memory is the program run's.  A header of static functions, because a program is one shared object with nothing
 * behind it but include/pto.
 */
#ifndef PTO_ORCHESTRATION_MODELS_PLAIN_MLP_H
#define PTO_ORCHESTRATION_MODELS_PLAIN_MLP_H

#include <float.h>
#include <math.h>

#include <orchestration/support/general_call.h>
#include <orchestration/support/program.h>

#define MLP_LAYERS 8 /* at most */
#define MLP_INPUTS 2 /* coordinates of a point */

struct mlp_sizes {
  uint64_t steps, batches, batch, classes, width, layers;
};
/* Elements of a row of a₀ … a_layers. */
static inline uint64_t mlp_columns(const struct mlp_sizes *s, uint64_t l) {
  return l == 0 ? MLP_INPUTS : l == s->layers ? s->classes : s->width;
}

/* A dense matrix; `bounds` is NULL where none are wanted. */
struct grid {
  uint64_t rows, columns;
  float *at;
  double *bounds;
};

struct plain_mlp {
  struct mlp_sizes sizes;
  bool is_fused;        /* this machine's products add with one rounding */
  struct pto_core core; /* for softmax and log Σexp */
  struct grid w[MLP_LAYERS], b[MLP_LAYERS], dw[MLP_LAYERS], db[MLP_LAYERS];
  struct grid a[MLP_LAYERS + 1], dz[MLP_LAYERS]; /* of a batch; a[0] is the batch itself */
  double *exact[MLP_LAYERS + 1];                 /* a₀ … in double precision */
};

#define ROUNDING 0x1p-24 /* the most that rounding to f32 changes, of the result */
static inline double gamma_of(double roundings) { return roundings * ROUNDING / (1 - roundings * ROUNDING); }

/* ---- kernels on the host ---- */

#define CORE_MEMORY_BYTES (UINT64_C(1) << 18) /* each of the core's */

static inline int run_kernel(const struct pto_core *core, const char *name, const struct grid *grids, uint32_t count,
                             int64_t scalar) {
  uint64_t shapes[3][2], strides[3][2];
  struct pto_kernel_tensor tensors[3];
  const union pto_scalar scalars[] = {{.i64 = scalar}};
  for (uint32_t i = 0; i < count; i++) {
    shapes[i][0] = grids[i].rows;
    shapes[i][1] = strides[i][0] = grids[i].columns;
    strides[i][1] = 1;
    tensors[i] = (struct pto_kernel_tensor){grids[i].at, shapes[i], strides[i], 2, PTO_FLOAT32};
  }
  return general_run(&(struct general_call){
      .name = name, .core = core, .tensors = tensors, .scalars = scalars, .tensor_count = count, .scalar_count = 1});
}

/* −round(xy) + xy is 0 where the product is rounded before it is added. */
static inline int ask_whether_fused(struct plain_mlp *m) {
  float x = 1 + 0x1p-12f, left[2] = {0, x}, right[2] = {1, x}, sum = 0;
  left[0] = -(x * x);
  const struct grid grids[] = {{1, 2, left, NULL}, {2, 1, right, NULL}, {1, 1, &sum, NULL}};
  const int status = run_kernel(&m->core, "matmul", grids, 3, 0);
  m->is_fused = sum != 0;
  return status;
}

/* ---- the network ---- */

static inline struct grid make_grid(struct pto_program_run *run, uint64_t rows, uint64_t columns, bool has_bounds) {
  return (struct grid){rows, columns, pto_program_alloc(run, rows * columns * sizeof(float)),
                       has_bounds ? pto_program_alloc(run, rows * columns * sizeof(double)) : NULL};
}
static inline bool is_whole(const struct grid *g, bool has_bounds) { return g->at && (!has_bounds || g->bounds); }

static inline int plain_mlp_init(struct plain_mlp *m, struct pto_program_run *run, const struct mlp_sizes *sizes,
                                 bool has_bounds) {
  struct pto_local_memory *const memories[] = {&m->core.local, &m->core.l0a, &m->core.l0b, &m->core.l0c};
  *m = (struct plain_mlp){.sizes = *sizes, .core.block_count = 1};
  for (size_t i = 0; i < LENGTH(memories); i++) {
    *memories[i] = (struct pto_local_memory){pto_program_alloc(run, CORE_MEMORY_BYTES), CORE_MEMORY_BYTES};
    if (!memories[i]->addr) return PTO_ENOMEM;
  }
  m->a[0] = make_grid(run, sizes->batch, MLP_INPUTS, has_bounds);
  m->exact[0] = pto_program_alloc(run, sizes->batch * MLP_INPUTS * sizeof(double));
  if (!is_whole(&m->a[0], has_bounds) || !m->exact[0]) return PTO_ENOMEM;
  for (uint64_t l = 0; l < sizes->layers; l++) {
    const uint64_t in = mlp_columns(sizes, l), out = mlp_columns(sizes, l + 1);
    struct grid *const matrices[] = {&m->w[l], &m->dw[l]}, *const rows[] = {&m->b[l], &m->db[l]},
                       *const batches[] = {&m->a[l + 1], &m->dz[l]};
    for (int i = 0; i < 2; i++) {
      *matrices[i] = make_grid(run, in, out, has_bounds);
      *rows[i] = make_grid(run, 1, out, has_bounds);
      *batches[i] = make_grid(run, sizes->batch, out, has_bounds);
      if (!is_whole(matrices[i], has_bounds) || !is_whole(rows[i], has_bounds) || !is_whole(batches[i], has_bounds))
        return PTO_ENOMEM;
    }
    m->exact[l + 1] = pto_program_alloc(run, sizes->batch * out * sizeof(double));
    if (!m->exact[l + 1]) return PTO_ENOMEM;
  }
  return ask_whether_fused(m);
}

/* Element (row, column) of a grid or of its transpose. */
static inline uint64_t index_in(const struct grid *g, bool is_transposed, uint64_t row, uint64_t column) {
  return is_transposed ? column * g->columns + row : row * g->columns + column;
}

/* One element of a·b + bias: a chain of multiply-adds from 0, then the bias. */
static inline void multiply_element(const struct plain_mlp *m, const struct grid *a, bool is_a_transposed,
                                    const struct grid *b, bool is_b_transposed, const struct grid *bias, uint64_t row,
                                    uint64_t column, const struct grid *y) {
  const uint64_t inner = is_a_transposed ? a->rows : a->columns;
  float sum = 0;
  double size = 0, off = 0;
  for (uint64_t k = 0; k < inner; k++) {
    const uint64_t i = index_in(a, is_a_transposed, row, k), j = index_in(b, is_b_transposed, k, column);
    const float product = a->at[i] * b->at[j];
    sum = m->is_fused ? fmaf(a->at[i], b->at[j], sum) : sum + product;
    if (!y->bounds) continue;
    const double x = fabs((double)a->at[i]), z = fabs((double)b->at[j]);
    size += x * z;
    off += x * b->bounds[j] + a->bounds[i] * z + a->bounds[i] * b->bounds[j];
  }
  if (bias) sum = sum + bias->at[column];
  y->at[row * y->columns + column] = sum;
  if (!y->bounds) return;
  if (bias) size += fabs((double)bias->at[column]);
  y->bounds[row * y->columns + column] = off + gamma_of((double)inner + 3) * size;
}

static inline void multiply(const struct plain_mlp *m, const struct grid *a, bool is_a_transposed, const struct grid *b,
                            bool is_b_transposed, const struct grid *bias, const struct grid *y) {
  for (uint64_t i = 0; i < y->rows; i++)
    for (uint64_t j = 0; j < y->columns; j++)
      multiply_element(m, a, is_a_transposed, b, is_b_transposed, bias, i, j, y);
}

#define PARTIAL_SUMS 16
#define MOST_SUMMED 1024 /* a block of the order of sums; more are cut into several */

/* `count` ≤ MOST_SUMMED elements: sixteen partial sums, then a balanced tree. */
static inline float sum_of(const float *x, uint64_t count, uint64_t stride) {
  float sums[PARTIAL_SUMS] = {0};
  for (uint64_t i = 0; i < count; i++) sums[i % PARTIAL_SUMS] += x[i * stride];
  for (int half = PARTIAL_SUMS / 2; half > 0; half /= 2)
    for (int i = 0; i < half; i++) sums[i] += sums[i + half];
  return sums[0];
}
static inline double roundings_of_sum(uint64_t count) {
  return (double)((count + PARTIAL_SUMS - 1) / PARTIAL_SUMS) + 4;
}

/* Of a batch, a₀, to the logits. */
static inline void plain_mlp_forward(struct plain_mlp *m) {
  for (uint64_t l = 0; l < m->sizes.layers; l++) {
    struct grid *y = &m->a[l + 1];
    multiply(m, &m->a[l], false, &m->w[l], false, &m->b[l], y);
    for (uint64_t i = 0; l + 1 < m->sizes.layers && i < y->rows * y->columns; i++) {
      if (y->at[i] < 0) y->at[i] = 0;                     /* NaN and −0 stay, as relu keeps them */
      if (y->bounds && !(y->at[i] > 0)) y->bounds[i] = 0; /* a unit that is off is off */
    }
  }
}

/* The mean loss of the batch, of logits and labels. */
static inline int plain_mlp_loss_of_batch(const struct plain_mlp *m, const float *labels, float *loss_out) {
  const struct grid *z = &m->a[m->sizes.layers];
  float losses[MOST_SUMMED], products[MOST_SUMMED];
  const struct grid grids[] = {*z, {z->rows, 1, losses, NULL}};
  const int status = run_kernel(&m->core, "reduce_log_sum_exp", grids, 2, 0);
  for (uint64_t i = 0; i < z->rows; i++) {
    for (uint64_t j = 0; j < z->columns; j++) products[j] = z->at[i * z->columns + j] * labels[i * z->columns + j];
    losses[i] = losses[i] - sum_of(products, z->columns, 1);
  }
  *loss_out = sum_of(losses, z->rows, 1) / (float)z->rows;
  return status;
}

/* What softmax of a row of logits may be off by: the exact p is p · e^t with |t| ≤ this.  Twice what the logits are
 * off, and the roundings of the kernel (exp, sum, reciprocal, product; more of weights far below the largest). */
static inline double off_of_softmax(const struct grid *z, uint64_t row) {
  double off = 0, least = INFINITY, most = -INFINITY;
  for (uint64_t i = row * z->columns; i < (row + 1) * z->columns; i++) {
    off = fmax(off, z->bounds[i]);
    least = fmin(least, (double)z->at[i]);
    most = fmax(most, (double)z->at[i]);
  }
  return 2 * off + gamma_of(2 * (most - least) + roundings_of_sum(z->columns) + 8);
}

/* dz of the last layer: (softmax z − label) / batch. */
static inline int begin_backward(struct plain_mlp *m, const float *labels) {
  const struct grid *z = &m->a[m->sizes.layers], *dz = &m->dz[m->sizes.layers - 1];
  const struct grid grids[] = {*z, *dz};
  const float share = 1.0f / (float)z->rows;
  const int status = run_kernel(&m->core, "softmax", grids, 2, 1);
  for (uint64_t row = 0; row < z->rows; row++) {
    const double off = dz->bounds ? off_of_softmax(z, row) : 0;
    for (uint64_t i = row * z->columns; i < (row + 1) * z->columns; i++) {
      const float p = dz->at[i], difference = p - labels[i];
      dz->at[i] = difference * share;
      if (dz->bounds)
        dz->bounds[i] = (fmin((double)p * expm1(off), 1) + 3 * ROUNDING * fabs((double)difference) + (double)FLT_MIN) *
                        (double)share; /* p is of 0 to 1, so it is never off by more */
    }
  }
  return status;
}

/* dw and db of every layer, after forward. */
static inline int plain_mlp_backward(struct plain_mlp *m, const float *labels) {
  const int status = begin_backward(m, labels);
  for (uint64_t l = m->sizes.layers; l-- > 0;) {
    const struct grid *dz = &m->dz[l], *db = &m->db[l];
    multiply(m, &m->a[l], true, dz, false, NULL, &m->dw[l]);
    for (uint64_t j = 0; j < dz->columns; j++) {
      db->at[j] = sum_of(dz->at + j, dz->rows, dz->columns);
      double size = 0, off = 0;
      for (uint64_t i = 0; db->bounds && i < dz->rows; i++) {
        size += fabs((double)dz->at[i * dz->columns + j]);
        off += dz->bounds[i * dz->columns + j];
      }
      if (db->bounds) db->bounds[j] = off + gamma_of(roundings_of_sum(dz->rows)) * size;
    }
    if (l == 0) break;
    const struct grid *below = &m->dz[l - 1];
    multiply(m, dz, false, &m->w[l], true, NULL, below);
    for (uint64_t i = 0; i < below->rows * below->columns; i++)
      if (!(m->a[l].at[i] > 0)) {
        below->at[i] = 0;
        if (below->bounds) below->bounds[i] = 0;
      }
  }
  return status;
}

static inline void update_grid(const struct grid *x, const struct grid *gradient, float rate) {
  for (uint64_t i = 0; i < x->rows * x->columns; i++) {
    const float change = gradient->at[i] * rate;
    x->at[i] = x->at[i] - change;
  }
}
static inline void plain_mlp_update(struct plain_mlp *m, float rate) {
  for (uint64_t l = 0; l < m->sizes.layers; l++) {
    update_grid(&m->w[l], &m->dw[l], rate);
    update_grid(&m->b[l], &m->db[l], rate);
  }
}

/* ---- in double precision ---- */

/* The loss where one parameter, element `index` of `moved`, is `by` larger; units are on that are on in a₁ …. */
static inline double plain_mlp_loss(const struct plain_mlp *m, const float *labels, const struct grid *moved,
                                    uint64_t index, double by) {
  const uint64_t layers = m->sizes.layers, batch = m->sizes.batch, classes = m->sizes.classes;
  for (uint64_t i = 0; i < batch * MLP_INPUTS; i++) m->exact[0][i] = (double)m->a[0].at[i];
  for (uint64_t l = 0; l < layers; l++) {
    const struct grid *w = &m->w[l], *b = &m->b[l];
    for (uint64_t i = 0; i < batch * w->columns; i++) {
      const uint64_t row = i / w->columns, j = i % w->columns;
      double sum = (double)b->at[j];
      for (uint64_t k = 0; k < w->rows; k++) sum += m->exact[l][row * w->rows + k] * (double)w->at[k * w->columns + j];
      if (moved == b && index == j) sum += by;
      if (moved == w && index % w->columns == j) sum += by * m->exact[l][row * w->rows + index / w->columns];
      m->exact[l + 1][i] = l + 1 < layers && !(m->a[l + 1].at[i] > 0) ? 0 : sum;
    }
  }
  double loss = 0;
  for (uint64_t i = 0; i < batch; i++) {
    const double *z = m->exact[layers] + i * classes;
    double most = -INFINITY, sum = 0, at_label = 0;
    for (uint64_t j = 0; j < classes; j++) most = fmax(most, z[j]);
    for (uint64_t j = 0; j < classes; j++) {
      sum += exp(z[j] - most);
      at_label += z[j] * (double)labels[i * classes + j];
    }
    loss += most + log(sum) - at_label;
  }
  return loss / (double)batch;
}

#endif
