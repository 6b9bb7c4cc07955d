/* SPDX-License-Identifier: MIT */
/*
 * The innermost loops of kernels that reduce, normalise or scan, along rows or across them.
 *
 * Both take a panel of rows and one result or parameter a row.  A loop *along* has the elements of a row next to each
 * other: element i of row j is at data[j · pitch + i]; a loop *across* the rows: it is at data[i · pitch + j].  The two
 * are the same arithmetic in the same order for every row, so a layout decides about speed and never about a bit.  No
 * multiplication and addition is fused, so every instruction set gives the same bytes.
 *
 * Order of a float fold (sum, product, maximum …) of n elements: blocks of PTO_FOLD_BLOCK elements; in a block, element
 * i goes to lane i mod PTO_SUM_LANES in order of i, starting from the fold's neutral value, and the lanes are joined as
 * a balanced tree; kernels/rows/fold.h joins the blocks.  Integers wrap, so theirs has no order.
 *
 * To add a fold or a map, add a line to a list.  Owns constant tables; any thread.
 */
#ifndef PTO_KERNELS_ROWS_LOOPS_H
#define PTO_KERNELS_ROWS_LOOPS_H

#include <kernels/levels/level.h>
#include <kernels/levels/loops.h>
#include <runtime/base/base.h>

#define PTO_SUM_LANES 16
#define PTO_FOLD_BLOCK 1024

/* clang-format off */
/* X(name, neutral value, join of l and r, element from x and the row's a) */
#define PTO_FOLD_LIST(X)                                                                                               \
  X(sum, 0, l + r, x)                                                                                                  \
  X(sum_square, 0, l + r, x * x)                                                                                       \
  X(sum_abs, 0, l + r, __builtin_fabsf(x))                                                                             \
  X(sum_exp, 0, l + r, exp_f32(x - a))                                                                                 \
  X(sum_square_about, 0, l + r, (x - a) * (x - a))                                                                     \
  X(product, 1, l * r, x)                                                                                              \
  X(max, -__builtin_inff(), maximum_f32(l, r), x)                                                                      \
  X(min, __builtin_inff(), minimum_f32(l, r), x)

/* X(name, operands of an element: ONE, TWO or THREE; result from these as x, p, q and from the row's a, b) */
#define PTO_MAP_LIST(X)                                                                                                \
  X(exp_less, ONE, exp_f32(x - a))                                                                                       \
  X(exp_minus, TWO, exp_f32(x - p))                                                                                    \
  X(exp_less_times, ONE, exp_f32(x - a) * b)                                                                             \
  X(times, ONE, x * a)                                                                                                   \
  X(over, ONE, x / a)                                                                                                    \
  X(less_less, ONE, (x - a) - b)                                                                                         \
  X(normal_scaled_shifted, THREE, ((x - a) * b) * p + q)                                                                 \
  X(times_scaled, TWO, (x * b) * p)                                                                                     \
  X(blend, TWO, p * a + x * b)                                                                                          \
  X(log, ONE, log_f32(x))                                                                                                \
  X(log_plus, TWO, log_f32(x) + p)                                                                                      \
  X(sqrt, ONE, __builtin_sqrtf(x))                                                                                       \
  X(reciprocal, ONE, 1 / x)

/* X(name, join of l and r, element from x); in T, which is int64_t or uint64_t */
#define PTO_WHOLE_FOLD_LIST(X)                                                                                         \
  X(sum, (T)((uint64_t)l + (uint64_t)r), x)                                                                                         \
  X(sum_square, (T)((uint64_t)l + (uint64_t)r), (T)((uint64_t)x * (uint64_t)x))                                                                  \
  X(sum_abs, (T)((uint64_t)l + (uint64_t)r), (T)(x > 0 ? (uint64_t)x : 0 - (uint64_t)x))                                            \
  X(product, (T)((uint64_t)l * (uint64_t)r), x)                                                                                     \
  X(max, l > r ? l : r, x)                                                                                             \
  X(min, l < r ? l : r, x)

/* Running folds.  X(name, operator, what changes nothing) */
#define PTO_SCAN_LIST(X)                                                                                               \
  X(sum, +, 0)                                                                                                         \
  X(product, *, 1)
/* clang-format on */

enum pto_fold {
#define X(name, ...) PTO_FOLD_##name,
  PTO_FOLD_LIST(X)
#undef X
      PTO_FOLD_COUNT
};
enum pto_map {
#define X(name, ...) PTO_MAP_##name,
  PTO_MAP_LIST(X)
#undef X
      PTO_MAP_COUNT
};
enum pto_scan {
#define X(name, ...) PTO_SCAN_##name,
  PTO_SCAN_LIST(X)
#undef X
      PTO_SCAN_COUNT
};

/* `cols` rows of `count` elements of a class. */
struct pto_panel {
  const void *data;
  int64_t pitch; /* elements; 0 and less are legal */
  uint64_t count, cols;
};

/* results[j] = the lanes of row j, joined: one block, or the whole of a row that is no longer. */
typedef void pto_fold_along(float *results, const struct pto_panel *x, const float *a);
/* How far apart the lanes of `cols` rows are: whole vectors. */
static inline uint64_t pto_fold_pitch(uint64_t cols) { return pto_align_up(cols, PTO_SUM_LANES); }
/* A block, or a part of one, of rows across; parts but the last are a multiple of PTO_SUM_LANES elements. */
struct pto_fold_part {
  struct pto_panel x;
  const float *a; /* a[j]: the row's parameter */
  bool begins, ends;
  float *lanes;   /* [PTO_SUM_LANES][pto_fold_pitch(cols)], kept from a part to the next */
  float *results; /* where it ends: results[j] = the lanes of row j, joined */
};
typedef void pto_fold_across(const struct pto_fold_part *part);
/* out[j] = l[j] joined with r[j], j < count; out may be l or r. */
typedef void pto_fold_join(float *out, const float *l, const float *r, uint64_t count);

/* A map over a panel: out from x, and p and q where it names them.  `out` may be any of the three in the same places,
 * and else overlaps none. */
struct pto_map_panel {
  struct pto_panel x;
  const float *p, *q, *a, *b; /* a[j], b[j] */
  float *out;
  int64_t p_pitch, q_pitch, out_pitch;
};
typedef void pto_map_loop(const struct pto_map_panel *panel);

/* One row: what `start` and the elements join to. */
typedef int64_t pto_whole_along(const int64_t *x, uint64_t count, int64_t start);
/* results[j] = its join with the elements of row j. */
typedef void pto_whole_across(int64_t *results, const struct pto_panel *x);

/* One row: the first i with x[i] == value, or NaN where value is; count where there is none. */
typedef uint64_t pto_find_along(const void *x, uint64_t count, union pto_scalar value);
/* at[j] = the first i at which row j equals values[j], where there is one and at[j] is no smaller. */
typedef void pto_find_across(uint32_t *at, const struct pto_panel *x, const void *values);

/* Running sums, and products by the same steps with · for +.  Floats: elements in groups of PTO_SUM_LANES; in a group
 * four steps s = 1, 2, 4, 8 of p[i] += p[i − s], then carry + p; the group's last is the next carry.  Integers: one
 * after another.  Parts but the last are a multiple of PTO_SUM_LANES elements; `out` overlaps no input. */
typedef void pto_scan_along(void *out, const void *x, uint64_t count, void *carry);
typedef void pto_scan_across(void *out, const struct pto_panel *x, void *carry); /* out's pitch is cols */

struct pto_row_loops {
  pto_fold_along *fold_along[PTO_FOLD_COUNT];
  pto_fold_across *fold_across[PTO_FOLD_COUNT];
  pto_fold_join *fold_join[PTO_FOLD_COUNT];
  pto_map_loop *map_along[PTO_MAP_COUNT];
  pto_map_loop *map_across[PTO_MAP_COUNT];
  pto_map_loop *map_lines[PTO_MAP_COUNT]; /* across, of operands that rows share: p[i · p_pitch] for all of them */
  /* values[j] = values[j] / divisor, and 1 / √(values[j] / divisor + eps), in double; the quotient in the latter, and
   * results, are rounded to f32. */
  void (*divide_values)(float *values, uint64_t count, double divisor);
  void (*invert_roots)(float *values, uint64_t count, double divisor, double eps);
  /* By class; NULL for floats and for folds that integers have not. */
  pto_whole_along *whole_along[PTO_CLASS_COUNT][PTO_FOLD_COUNT];
  pto_whole_across *whole_across[PTO_CLASS_COUNT][PTO_FOLD_COUNT];
  pto_find_along *find_along[PTO_CLASS_COUNT];
  pto_find_across *find_across[PTO_CLASS_COUNT];
  pto_scan_along *scan_along[PTO_SCAN_COUNT][PTO_CLASS_COUNT];
  pto_scan_across *scan_across[PTO_SCAN_COUNT][PTO_CLASS_COUNT];
};

/* The loops of pto_level_best(). */
const struct pto_row_loops *pto_row_loops_best(void);
/* For tests: those of a level, or NULL where this machine cannot run them. */
const struct pto_row_loops *pto_row_loops_at(enum pto_level level);
/* A fold of nothing. */
float pto_fold_neutral(enum pto_fold fold);

#endif
