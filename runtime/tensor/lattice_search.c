/* SPDX-License-Identifier: MIT */
/*
 * Basis reduction and enumeration of lattice points in a ball.
 *
 * Always true: basis vectors are exact integers, each with its Σ coef·x as the last coordinate, and every one that the
 * reduction makes is the old basis times a matrix of determinant ±1.  A point that answers yes is checked in integers.
 * Only lengths are rounded: with 113 bits on a reduced basis they are right to far more than the millionth by which the
 * ball is widened, so that no point of the box is missed.
 *
 * Values only, any thread.
 */
#include <runtime/tensor/lattice_search.h>

typedef __int128 wide;
#if defined(__x86_64__)
typedef __float128 quad;
#else
typedef long double quad; /* 113 bits on AArch64 and RISC-V */
#endif

enum { TERMS = PTO_FORM_TERMS, COORDINATES = PTO_FORM_TERMS + 1 };

struct lattice {
  uint32_t count; /* terms; basis vectors have count + 1 coordinates */
  wide basis[TERMS][COORDINATES];
  quad scale[COORDINATES]; /* of each coordinate, 1 / half the width of the box */
  /* Gram-Schmidt: star[k] = basis[k] − Σ mu[k][j]·star[j], j < k, all scaled; norm[k] = |star[k]|². */
  quad star[TERMS][COORDINATES];
  quad mu[TERMS][TERMS];
  quad norm[TERMS];
  const struct pto_linear_form *form;
};

static wide nearest(quad x) { return (wide)(x < 0 ? x - (quad)0.5 : x + (quad)0.5); }

static void orthogonalise(struct lattice *l, uint32_t k) {
  uint32_t coordinates = l->count + 1;
  for (uint32_t i = 0; i < coordinates; i++) l->star[k][i] = (quad)l->basis[k][i] * l->scale[i];
  for (uint32_t j = 0; j < k; j++) {
    quad product = 0;
    for (uint32_t i = 0; i < coordinates; i++) product += l->star[k][i] * l->star[j][i];
    l->mu[k][j] = product / l->norm[j];
    for (uint32_t i = 0; i < coordinates; i++) l->star[k][i] -= l->mu[k][j] * l->star[j][i];
  }
  l->norm[k] = 0;
  for (uint32_t i = 0; i < coordinates; i++) l->norm[k] += l->star[k][i] * l->star[k][i];
}

/* Subtracts multiples of the earlier vectors from vector k until all |mu[k][j]| are about 1/2 at most. */
static void shorten(struct lattice *l, uint32_t k) {
  enum { ROUNDS = 8 }; /* the first may be inexact where the vectors differ by many orders of magnitude */
  for (uint32_t round = 0; round < ROUNDS; round++) {
    bool is_changed = false;
    orthogonalise(l, k);
    for (uint32_t j = k; j-- > 0;) {
      wide times = nearest(l->mu[k][j]);
      if (times == 0) continue;
      is_changed = true;
      for (uint32_t i = 0; i <= l->count; i++) l->basis[k][i] -= times * l->basis[j][i];
      for (uint32_t i = 0; i < j; i++) l->mu[k][i] -= (quad)times * l->mu[j][i];
      l->mu[k][j] -= (quad)times;
    }
    if (!is_changed) return;
  }
  orthogonalise(l, k);
}

static void swap_with_previous(struct lattice *l, uint32_t k) {
  for (uint32_t i = 0; i <= l->count; i++) {
    wide kept = l->basis[k][i];
    l->basis[k][i] = l->basis[k - 1][i];
    l->basis[k - 1][i] = kept;
  }
}

static bool reduce_basis(struct lattice *l, struct pto_step_budget *budget) {
  const quad lovasz = (quad)0.99;
  orthogonalise(l, 0);
  for (uint32_t k = 1; k < l->count;) {
    if (budget->used++ >= budget->limit) return false;
    shorten(l, k);
    quad mu = l->mu[k][k - 1];
    if (l->norm[k] >= (lovasz - mu * mu) * l->norm[k - 1]) {
      k++;
      continue;
    }
    swap_with_previous(l, k);
    if (k > 1)
      k--;
    else
      orthogonalise(l, 0);
  }
  return true;
}

/* The point Σ z[k]·basis[k], in integers. */
static bool is_in_box(const struct lattice *l, const wide *z) {
  for (uint32_t i = 0; i <= l->count; i++) {
    wide value = 0, first = i < l->count ? 0 : l->form->lo, last = i < l->count ? (wide)l->form->last[i] : l->form->hi;
    for (uint32_t k = 0; k < l->count; k++) value += z[k] * l->basis[k][i];
    if (value < first || value > last) return false;
  }
  return true;
}

struct search {
  const struct lattice *lattice;
  struct pto_step_budget *budget;
  quad middle[TERMS]; /* of the box, in the coordinates of the orthogonal vectors */
  wide z[TERMS];
};

/* Chooses z[k], nearest to the middle first, with z[k + 1 …] chosen; `room` is what is left of the square of the
 * radius. */
static enum pto_answer search_from(struct search *s, uint32_t k, quad room) {
  const struct lattice *l = s->lattice;
  quad centre = s->middle[k];
  for (uint32_t j = k + 1; j < l->count; j++) centre -= (quad)s->z[j] * l->mu[j][k];
  wide z = nearest(centre), step = (quad)z <= centre ? 1 : -1;
  for (;; z += step, step = step > 0 ? -step - 1 : -step + 1) {
    quad away = (quad)z - centre, rest = room - away * away * l->norm[k];
    if (rest < 0) return PTO_ANSWER_NO;
    if (s->budget->used++ >= s->budget->limit) return PTO_ANSWER_UNKNOWN;
    s->z[k] = z;
    if (k == 0) {
      if (is_in_box(l, s->z)) return PTO_ANSWER_YES;
    } else {
      enum pto_answer answer = search_from(s, k - 1, rest);
      if (answer != PTO_ANSWER_NO) return answer;
    }
  }
}

enum pto_answer pto_lattice_search(const struct pto_linear_form *form, struct pto_step_budget *budget) {
  struct lattice l = {.count = form->count, .form = form};
  struct search s = {.lattice = &l, .budget = budget};
  quad target[COORDINATES], room = 0;
  for (uint32_t i = 0; i <= form->count; i++) {
    quad first = i < form->count ? 0 : (quad)form->lo, last = i < form->count ? (quad)form->last[i] : (quad)form->hi;
    quad half = (last - first) / 2, widened = half + (quad)0.5; /* a box of one value has a width too */
    l.scale[i] = 1 / widened;
    target[i] = (first + last) / 2 / widened;
    room += half / widened * (half / widened);
  }
  room = room * (quad)1.000001 + (quad)0.000001;
  for (uint32_t k = 0; k < form->count; k++) {
    l.basis[k][k] = 1;
    l.basis[k][form->count] = (wide)form->coef[k];
  }
  if (!reduce_basis(&l, budget)) return PTO_ANSWER_UNKNOWN;
  /* The middle of the box need not lie in the span of the lattice: what is across goes off the radius. */
  for (uint32_t k = form->count; k-- > 0;) {
    quad product = 0;
    for (uint32_t i = 0; i <= form->count; i++) product += target[i] * l.star[k][i];
    s.middle[k] = product / l.norm[k];
    for (uint32_t i = 0; i <= form->count; i++) target[i] -= s.middle[k] * l.star[k][i];
  }
  for (uint32_t i = 0; i <= form->count; i++) room -= target[i] * target[i];
  return room < 0 ? PTO_ANSWER_NO : search_from(&s, form->count - 1, room);
}
