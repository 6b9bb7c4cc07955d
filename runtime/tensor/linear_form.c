/* SPDX-License-Identifier: MIT */
/*
 * Decides whether a linear form takes a value in an interval: reduce, then answer or split, recursively.
 *
 * Always true inside: coefficients descend; after `reduce` has not answered, 0 < lo ≤ hi < total, the coefficients have
 * no common divisor, each is larger than hi − lo + 1, and every remaining index value may occur in a solution as far as
 * the bounds of the others tell.  Each part of a split has one term less, so the recursion is at most PTO_FORM_TERMS
 * deep.
 *
 * Values only, any thread.  Another way to split is a candidate in `choose_split` and a function beside fix_line.
 */
#include <runtime/tensor/linear_form.h>

#include <runtime/tensor/lattice_search.h>

typedef __int128 wide;

static int64_t floor_div(wide x, int64_t d) {
  wide q = x / d;
  return (int64_t)(q - (x % d < 0));
}
static int64_t ceil_div(wide x, int64_t d) { return -floor_div(-x, d); }
static int64_t min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max_i64(int64_t a, int64_t b) { return a > b ? a : b; }

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b) {
  while (b != 0) {
    uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* Euclid's algorithm on (a, m): where no multiple of `a` below m hits l … r, the first hit lies after y wraps round m,
 * and y is the first hit of the same question modulo a. */
uint64_t pto_first_in_residues(uint64_t a, uint64_t m, uint64_t l, uint64_t r, struct pto_step_budget *budget) {
  budget->used++;
  if (l == 0) return 0;
  if (a == 0) return UINT64_MAX;
  if (a > m - a) {
    uint64_t mirrored = m - r;
    a = m - a;
    r = m - l;
    l = mirrored;
  }
  uint64_t first = (l - 1) / a + 1;
  if (first * a <= r) return first;
  uint64_t rest = m % a;
  uint64_t y = pto_first_in_residues(rest ? a - rest : 0, a, l % a, r % a, budget);
  if (y == UINT64_MAX) return UINT64_MAX;
  return (uint64_t)(((unsigned __int128)m * y + l - 1) / a) + 1;
}

/* ---- reduction ---- */

static void remove_term(struct pto_linear_form *f, uint32_t k) {
  f->count--;
  for (; k < f->count; k++) {
    f->coef[k] = f->coef[k + 1];
    f->last[k] = f->last[k + 1];
  }
}

/* Adds a term at its place in the descending order. */
static void insert_term(struct pto_linear_form *f, uint64_t coef, uint64_t last) {
  if (coef == 0 || last == 0) return;
  uint32_t k = f->count++;
  for (; k > 0 && f->coef[k - 1] < coef; k--) {
    f->coef[k] = f->coef[k - 1];
    f->last[k] = f->last[k - 1];
  }
  f->coef[k] = coef;
  f->last[k] = last;
}

/* m·c·x + c·y takes the multiples of c from 0 to m·c·X + c·Y, all of them where m ≤ Y + 1: one term instead of two. */
static void merge_multiples(struct pto_linear_form *f) {
  for (uint32_t l = f->count; l-- > 1;)
    for (uint32_t k = l; k-- > 0;) {
      uint64_t c = f->coef[l];
      if (f->coef[k] - c > c * f->last[l] || f->coef[k] % c != 0) continue;
      f->last[l] += f->coef[k] / c * f->last[k];
      remove_term(f, k);
      l--;
    }
}

static bool divide_by_common_divisor(struct pto_linear_form *f) {
  uint64_t g = f->coef[f->count - 1];
  for (uint32_t k = f->count - 1; k-- > 0 && g != 1;) g = greatest_common_divisor(f->coef[k], g);
  if (g == 1) return false;
  for (uint32_t k = 0; k < f->count; k++) f->coef[k] /= g;
  f->lo = ceil_div(f->lo, (int64_t)g);
  f->hi = floor_div(f->hi, (int64_t)g);
  return true;
}

static int64_t total_of(const struct pto_linear_form *f) {
  uint64_t total = 0;
  for (uint32_t k = 0; k < f->count; k++) total += f->coef[k] * f->last[k];
  return (int64_t)total;
}

/* Cuts off index values that no solution has: those above hi / coef, and those with which all the others together stay
 * below lo.  True where something was cut. */
static bool tighten(struct pto_linear_form *f, int64_t total) {
  bool is_changed = false;
  for (uint32_t k = f->count; k-- > 0;) {
    int64_t c = (int64_t)f->coef[k], reach = c * (int64_t)f->last[k];
    PTO_INTERNAL(f->hi >= 0 && f->lo <= total); /* what is cut below takes neither away, or returns */
    if (reach > f->hi) {
      f->last[k] = (uint64_t)(f->hi / c);
      total -= reach - c * (int64_t)f->last[k];
      reach = c * (int64_t)f->last[k];
      is_changed = true;
      if (f->lo > total) return true; /* no solution is left; the caller sees it */
    }
    int64_t missing = f->lo - (total - reach);
    if (missing > 0) {
      int64_t first = (missing - 1) / c + 1;
      f->last[k] -= (uint64_t)first;
      f->lo -= first * c;
      f->hi -= first * c;
      total -= first * c;
      is_changed = true;
    }
    if (f->last[k] == 0) remove_term(f, k);
  }
  return is_changed;
}

static enum pto_answer reduce(struct pto_linear_form *f) {
  enum { TIGHTEN_ROUNDS = 8 }; /* one round is nearly always all; the rest would be tiny cuts */
  merge_multiples(f);
  for (uint32_t round = 0;;) {
    int64_t total = total_of(f);
    if (f->lo > f->hi || f->hi < 0 || f->lo > total) return PTO_ANSWER_NO;
    if (f->lo <= 0 || f->hi >= total) return PTO_ANSWER_YES; /* all indices 0, or all at their last */
    uint64_t least = f->coef[f->count - 1];
    if (least - 1 <= (uint64_t)(f->hi - f->lo)) {
      /* Steps no wider than the interval: together they widen it without a gap. */
      f->lo -= (int64_t)(least * f->last[f->count - 1]);
      f->count--;
      continue;
    }
    if (divide_by_common_divisor(f)) continue;
    if (round++ == TIGHTEN_ROUNDS || !tighten(f, total)) return PTO_ANSWER_UNKNOWN;
  }
}

/* ---- one and two terms ---- */

/* x·a + y·b in lo … hi.  For a given x some y in 0 … last fits where a multiple of b lies in lo − x·a … hi − x·a, which
 * is as much as (hi − x·a) mod b ≤ hi − lo, as long as that interval overlaps 0 … b·last: true of x within first … end.
 */
static enum pto_answer decide_two(const struct pto_linear_form *f, struct pto_step_budget *budget) {
  int64_t a = (int64_t)f->coef[0], b = (int64_t)f->coef[1];
  int64_t first = max_i64(0, ceil_div(f->lo - b * (int64_t)f->last[1], a));
  int64_t end = min_i64((int64_t)f->last[0], f->hi / a);
  if (first > end) return PTO_ANSWER_NO;
  uint64_t width = (uint64_t)(f->hi - f->lo), modulus = (uint64_t)b, step = (uint64_t)(a % b);
  uint64_t residue = (uint64_t)((f->hi - first * a) % b);
  if (residue <= width) return PTO_ANSWER_YES;
  /* (residue − x·step) mod b ≤ width, that is residue − width ≤ x·step mod b ≤ residue. */
  uint64_t x = pto_first_in_residues(step, modulus, residue - width, residue, budget);
  return x <= (uint64_t)(end - first) ? PTO_ANSWER_YES : PTO_ANSWER_NO;
}

/* ---- splits ---- */

/* The index pairs (x, y) of two terms lie on lines p·x + q·y = l.  Along a line x grows by q, y falls by p, and the
 * value a·x + b·y changes by δ = q·a − p·b.  p/q is a convergent of a/b, q_before the denominator of the one before. */
struct lines {
  int64_t p, q, q_before;
  int64_t delta;
  int64_t first, end; /* l */
  bool is_odd;        /* p·q_before − p_before·q = is_odd ? 1 : −1 */
};

/* What a form splits over: the values of one term, or the lines of two. */
struct split {
  uint64_t parts;
  uint32_t term, second; /* second == term: the values of one */
  struct lines lines;
};

/* Values of a·x + b·y that the other terms can bring into lo … hi, and the bounds of l on them:
 * l = p·x + q·y = (q·t − δ·x) / b with t = a·x + b·y. */
static void bound_lines(struct lines *lines, const struct pto_linear_form *f, const struct split *s, int64_t rest) {
  int64_t b = (int64_t)f->coef[s->second];
  int64_t x_last = (int64_t)f->last[s->term], y_last = (int64_t)f->last[s->second];
  int64_t reach = (int64_t)f->coef[s->term] * x_last + b * y_last;
  int64_t t_first = max_i64(0, f->lo - rest), t_end = min_i64(f->hi, reach);
  wide drift = (wide)lines->delta * x_last;
  int64_t first = ceil_div((wide)lines->q * t_first - (drift > 0 ? drift : 0), b);
  int64_t end = floor_div((wide)lines->q * t_end - (drift < 0 ? drift : 0), b);
  wide corner = (wide)lines->p * x_last + (wide)lines->q * y_last;
  lines->first = max_i64(0, first);
  lines->end = corner < end ? (int64_t)corner : end;
}

/* Improves *best where the lines of terms k and l in some direction are fewer.  The directions to try are the
 * convergents of coef[k] / coef[l]: the longer the step, the less the value changes, and both count. */
static void try_lines(const struct pto_linear_form *f, uint32_t k, uint32_t l, int64_t total, struct split *best) {
  int64_t a = (int64_t)f->coef[k], b = (int64_t)f->coef[l];
  int64_t rest = total - a * (int64_t)f->last[k] - b * (int64_t)f->last[l];
  struct split s = {.term = k, .second = l};
  int64_t high = a, low = b, p = 1, q = 0, p_before = 0, q_before = 1;
  for (bool is_odd = false; low != 0; is_odd = !is_odd) {
    int64_t quotient = high / low, remainder = high % low;
    int64_t p_next = quotient * p + p_before, q_next = quotient * q + q_before; /* at most a and b */
    p_before = p, q_before = q;
    p = p_next, q = q_next;
    high = low, low = remainder;
    s.lines = (struct lines){
        .p = p, .q = q, .q_before = q_before, .delta = is_odd ? -remainder : remainder, .is_odd = is_odd};
    bound_lines(&s.lines, f, &s, rest);
    s.parts = s.lines.end < s.lines.first ? 0 : (uint64_t)(s.lines.end - s.lines.first) + 1;
    if (s.parts < best->parts)
      *best = s;
    else if (q > 1 && s.parts / 2 > best->parts)
      break;
  }
}

static struct split choose_split(const struct pto_linear_form *f) {
  enum { FEW = 4 };
  struct split best = {.parts = UINT64_MAX};
  for (uint32_t k = 0; k < f->count; k++)
    if (f->last[k] + 1 < best.parts) {
      best = (struct split){.parts = f->last[k] + 1, .term = k, .second = k};
      if (best.parts <= FEW) return best;
    }
  int64_t total = total_of(f);
  for (uint32_t k = 0; k + 1 < f->count; k++)
    for (uint32_t l = k + 1; l < f->count; l++) try_lines(f, k, l, total, &best);
  return best;
}

static enum pto_answer solve(struct pto_linear_form *f, struct pto_step_budget *budget);

/* The form that is left of `f` when x[k] is `value`. */
static void fix_value(const struct pto_linear_form *f, const struct split *s, int64_t value,
                      struct pto_linear_form *part) {
  *part = *f;
  remove_term(part, s->term);
  part->lo -= (int64_t)f->coef[s->term] * value;
  part->hi -= (int64_t)f->coef[s->term] * value;
}

/* The form that is left of `f` on line l: the two terms become one that runs along the line.  False where the line has
 * no index pair. */
static bool fix_line(const struct pto_linear_form *f, const struct split *s, int64_t l, struct pto_linear_form *part) {
  const struct lines *n = &s->lines;
  int64_t a = (int64_t)f->coef[s->term], b = (int64_t)f->coef[s->second];
  int64_t x_last = (int64_t)f->last[s->term], y_last = (int64_t)f->last[s->second];
  /* x ≡ l · p⁻¹ (mod q), with p⁻¹ = ±q_before. */
  int64_t x = (int64_t)((wide)(l % n->q) * n->q_before % n->q);
  if (!n->is_odd && x != 0) x = n->q - x;
  int64_t y = (int64_t)((l - (wide)n->p * x) / n->q);
  /* Steps along the line (x + i·q, y − i·p) that stay inside. */
  int64_t first = y > y_last ? (y - y_last - 1) / n->p + 1 : 0;
  if (x > x_last || y < 0) return false;
  int64_t end = min_i64((x_last - x) / n->q, y / n->p);
  if (first > end) return false;
  int64_t from = n->delta < 0 ? end : first; /* where the value is least */
  int64_t value = a * (x + from * n->q) + b * (y - from * n->p);
  *part = *f;
  remove_term(part, s->second);
  remove_term(part, s->term);
  part->lo -= value;
  part->hi -= value;
  insert_term(part, (uint64_t)(n->delta < 0 ? -n->delta : n->delta), (uint64_t)(end - first));
  return true;
}

/* Looks at the parts from the middle outwards: that is where most solutions are, if there are any. */
static enum pto_answer split(const struct pto_linear_form *f, struct pto_step_budget *budget) {
  struct split s = choose_split(f);
  bool is_values = s.term == s.second;
  int64_t first = is_values ? 0 : s.lines.first;
  int64_t middle = first + (int64_t)(s.parts / 2);
  for (uint64_t i = 0; i < s.parts; i++) {
    struct pto_linear_form part;
    int64_t away = (int64_t)(i / 2 + i % 2);
    int64_t at = i % 2 ? middle - away : middle + away;
    if (budget->used >= budget->limit) return PTO_ANSWER_UNKNOWN;
    budget->used++;
    if (is_values)
      fix_value(f, &s, at, &part);
    else if (!fix_line(f, &s, at, &part))
      continue;
    enum pto_answer answer = solve(&part, budget);
    if (answer != PTO_ANSWER_NO) return answer;
  }
  return PTO_ANSWER_NO;
}

static enum pto_answer solve(struct pto_linear_form *f, struct pto_step_budget *budget) {
  enum pto_answer answer = reduce(f);
  if (answer != PTO_ANSWER_UNKNOWN) return answer;
  /* One term is a multiple of its own divisor, so reduce has answered it. */
  PTO_INTERNAL(f->count >= 2);
  return f->count == 2 ? decide_two(f, budget) : split(f, budget);
}

/* Splitting settles nearly everything in a few steps; what it does not goes to the lattice search, reduced as far as it
 * is. */
enum pto_answer pto_linear_form_reaches(const struct pto_linear_form *form, struct pto_step_budget *budget) {
  enum { QUICK_STEPS = 1000 }; /* about as long as the reduction of a basis takes */
  struct pto_linear_form f = {.lo = form->lo, .hi = form->hi};
  for (uint32_t k = 0; k < form->count; k++) insert_term(&f, form->coef[k], form->last[k]);
  struct pto_step_budget quick = {0,
                                  pto_min_u64(QUICK_STEPS, budget->limit - pto_min_u64(budget->used, budget->limit))};
  enum pto_answer answer = reduce(&f);
  if (answer == PTO_ANSWER_UNKNOWN) answer = f.count == 2 ? decide_two(&f, &quick) : split(&f, &quick);
  budget->used += quick.used + 1;
  return answer == PTO_ANSWER_UNKNOWN && budget->used < budget->limit ? pto_lattice_search(&f, budget) : answer;
}
