/* SPDX-License-Identifier: MIT */
#include <check/calibrate/least_squares.h>

#include <math.h>
#include <string.h>

#include <runtime/base/base.h>

/* What a price as it usually is counts beside an equation that is off by its tolerance: little. */
#define SIZE_WEIGHT 1e-2

static double size_weight(const struct pto_equations *e, uint32_t unknown) {
  return SIZE_WEIGHT * SIZE_WEIGHT / (e->usual[unknown] * e->usual[unknown]);
}

/* Gauss with the largest pivot; false where the matrix is singular. */
static bool solve_square(uint32_t n, double a[PTO_MAX_UNKNOWNS][PTO_MAX_UNKNOWNS + 1], double *x) {
  for (uint32_t c = 0; c < n; c++) {
    uint32_t pivot = c;
    for (uint32_t r = c + 1; r < n; r++)
      if (fabs(a[r][c]) > fabs(a[pivot][c])) pivot = r;
    if (fabs(a[pivot][c]) < 1e-30) return false;
    for (uint32_t k = 0; k <= n; k++) {
      const double moved = a[c][k];
      a[c][k] = a[pivot][k];
      a[pivot][k] = moved;
    }
    for (uint32_t r = c + 1; r < n; r++) {
      const double factor = a[r][c] / a[c][c];
      for (uint32_t k = c; k <= n; k++) a[r][k] -= factor * a[c][k];
    }
  }
  for (uint32_t r = n; r-- > 0;) {
    x[r] = a[r][n];
    for (uint32_t k = r + 1; k < n; k++) x[r] -= a[r][k] * x[k];
    x[r] /= a[r][r];
  }
  return true;
}

static double badness(const struct pto_equations *e, const double *prices) {
  double sum = 0;
  for (uint32_t r = 0; r < e->count; r++) {
    double off = -e->rows[r].value;
    for (uint32_t k = 0; k < e->unknown_count; k++) off += e->rows[r].counts[k] * prices[k];
    sum += off * off / (e->rows[r].tolerance * e->rows[r].tolerance);
  }
  for (uint32_t k = 0; k < e->unknown_count; k++) sum += size_weight(e, k) * prices[k] * prices[k];
  return sum;
}

/* The best prices where those outside of `set` are 0; false where one of them would be negative. */
static bool solve_set(const struct pto_equations *e, uint32_t set, double *prices) {
  double a[PTO_MAX_UNKNOWNS][PTO_MAX_UNKNOWNS + 1] = {{0}}, x[PTO_MAX_UNKNOWNS];
  uint32_t members[PTO_MAX_UNKNOWNS], n = 0;
  for (uint32_t k = 0; k < e->unknown_count; k++)
    if (set >> k & 1) members[n++] = k;
  for (uint32_t i = 0; i < n; i++) {
    a[i][i] = size_weight(e, members[i]);
    for (uint32_t r = 0; r < e->count; r++) {
      const double weight = e->rows[r].counts[members[i]] / (e->rows[r].tolerance * e->rows[r].tolerance);
      for (uint32_t k = 0; k < n; k++) a[i][k] += weight * e->rows[r].counts[members[k]];
      a[i][n] += weight * e->rows[r].value;
    }
  }
  if (!solve_square(n, a, x)) return false;
  memset(prices, 0, e->unknown_count * sizeof *prices);
  for (uint32_t i = 0; i < n; i++) {
    if (x[i] < 0) return false;
    prices[members[i]] = x[i];
  }
  return true;
}

bool pto_equations_solve(const struct pto_equations *equations, double *prices) {
  double best = INFINITY;
  PTO_ASSERT(equations->unknown_count <= PTO_MAX_UNKNOWNS && equations->count <= PTO_MAX_EQUATIONS);
  for (uint32_t set = 1; set < 1u << equations->unknown_count; set++) {
    double tried[PTO_MAX_UNKNOWNS];
    if (!solve_set(equations, set, tried)) continue;
    const double bad = badness(equations, tried);
    if (bad >= best) continue;
    best = bad;
    memcpy(prices, tried, equations->unknown_count * sizeof *prices);
  }
  return equations->count > 0 && best < INFINITY;
}

bool pto_equations_identify(const struct pto_equations *e, uint32_t unknown) {
  /* Orthogonalise the columns of the others, and see whether anything of this one is left. */
  double columns[PTO_MAX_UNKNOWNS][PTO_MAX_EQUATIONS];
  uint32_t n = 0;
  for (uint32_t i = 0; i <= e->unknown_count; i++) {
    const uint32_t k = i == e->unknown_count ? unknown : i;
    if (i == unknown) continue;
    double *const column = columns[n], whole = 0, left = 0;
    for (uint32_t r = 0; r < e->count; r++) {
      column[r] = e->rows[r].counts[k] / e->rows[r].tolerance;
      whole += column[r] * column[r];
    }
    for (uint32_t j = 0; j < n; j++) {
      double along = 0;
      for (uint32_t r = 0; r < e->count; r++) along += columns[j][r] * column[r];
      for (uint32_t r = 0; r < e->count; r++) column[r] -= along * columns[j][r];
    }
    for (uint32_t r = 0; r < e->count; r++) left += column[r] * column[r];
    const bool is_new = left > 1e-12 * whole && whole > 0;
    if (i == e->unknown_count) return is_new;
    for (uint32_t r = 0; is_new && r < e->count; r++) column[r] /= sqrt(left);
    n += is_new;
  }
  return false;
}
