/* SPDX-License-Identifier: MIT */
/*
 * Linear forms against listing every value; first hits of residues against trying every x.
 *
 * The random forms are of the kinds that regions give (two nested chains) and of any other kind.  Fixed seeds, printed
 * on failure.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include <runtime/tensor/lattice_search.h>
#include <runtime/tensor/linear_form.h>

enum { MOST_VALUES = 4096 };

/* Values of the form, all of them below MOST_VALUES. */
static void list_values(const struct pto_linear_form *f, bool *is_value) {
  uint64_t index[PTO_FORM_TERMS] = {0};
  memset(is_value, 0, MOST_VALUES);
  for (;;) {
    uint64_t value = 0;
    for (uint32_t k = 0; k < f->count; k++) value += f->coef[k] * index[k];
    is_value[value] = true;
    uint32_t k = f->count;
    while (k > 0 && index[k - 1]++ == f->last[k - 1]) index[--k] = 0;
    if (k == 0) return;
  }
}

static void check_intervals(struct pto_linear_form *f, struct pto_rng *rng, uint64_t seed) {
  static bool is_value[MOST_VALUES];
  uint64_t total = 0;
  list_values(f, is_value);
  for (uint32_t k = 0; k < f->count; k++) total += f->coef[k] * f->last[k];
  for (int i = 0; i < 24; i++) {
    struct pto_step_budget budget = {0, 1000000};
    f->lo = (int64_t)pto_rng_below(rng, total + 9) - 4;
    f->hi = f->lo + (int64_t)(i % 3 == 0 ? 0 : pto_rng_below(rng, 12));
    bool expected = false;
    for (int64_t v = f->lo < 0 ? 0 : f->lo; v <= f->hi && v <= (int64_t)total; v++) expected |= is_value[v];
    enum pto_answer answer = pto_linear_form_reaches(f, &budget);
    if (answer == (expected ? PTO_ANSWER_YES : PTO_ANSWER_NO)) continue;
    print_error("seed %" PRIu64 ": answer %d, expected %d; %" PRId64 " … %" PRId64 " from", seed, answer, expected,
                f->lo, f->hi);
    for (uint32_t k = 0; k < f->count; k++) print_error(" %" PRIu64 "·(0…%" PRIu64 ")", f->coef[k], f->last[k]);
    print_error("\n");
    fail();
  }
}

static bool is_small(const struct pto_linear_form *f) {
  uint64_t total = 0, tuples = 1;
  for (uint32_t k = 0; k < f->count; k++) {
    total += f->coef[k] * f->last[k];
    tuples *= f->last[k] + 1;
  }
  return total < MOST_VALUES && tuples < 20000;
}

static void test_forms_of_any_coefficients_agree_with_listing(void **state) {
  for (uint64_t seed = 1, done = 0; done < 20000; seed++) {
    struct pto_rng rng = {seed};
    struct pto_linear_form f = {0};
    uint64_t terms = pto_rng_below(&rng, 6), largest = 3 + pto_rng_below(&rng, 200);
    for (uint64_t k = 0; k < terms; k++) {
      uint64_t coef = 1 + pto_rng_below(&rng, largest);
      pto_linear_form_add(&f, coef, pto_rng_below(&rng, 1 + pto_rng_below(&rng, 20)));
    }
    if (!is_small(&f)) continue;
    check_intervals(&f, &rng, seed);
    done++;
  }
}

static void add_nested_chain(struct pto_linear_form *f, struct pto_rng *rng, uint32_t levels, uint64_t limit) {
  uint64_t stride = 1 + pto_rng_below(rng, 5);
  for (uint32_t k = 0; k < levels && stride < limit; k++) {
    uint64_t last = 1 + pto_rng_below(rng, 9);
    pto_linear_form_add(f, stride, last);
    stride = stride * last + 1 + pto_rng_below(rng, stride * 3);
  }
}

static void test_forms_of_two_nested_chains_agree_with_listing(void **state) {
  for (uint64_t seed = 1, done = 0; done < 20000; seed++) {
    struct pto_rng rng = {~seed};
    struct pto_linear_form f = {0};
    add_nested_chain(&f, &rng, 1 + (uint32_t)pto_rng_below(&rng, 3), 900);
    add_nested_chain(&f, &rng, 1 + (uint32_t)pto_rng_below(&rng, 3), 900);
    if (!is_small(&f)) continue;
    check_intervals(&f, &rng, seed);
    done++;
  }
}

/* Coprime coefficients with narrow intervals and long ranges: the lines of two terms are what settles them. */
static void test_forms_of_three_long_terms_agree_with_listing(void **state) {
  for (uint64_t seed = 1; seed <= 6000; seed++) {
    struct pto_rng rng = {seed << 32};
    struct pto_linear_form f = {0};
    for (int k = 0; k < 3; k++) {
      uint64_t coef = 20 + pto_rng_below(&rng, 60);
      pto_linear_form_add(&f, coef, 5 + pto_rng_below(&rng, 12));
    }
    if (is_small(&f)) check_intervals(&f, &rng, seed);
  }
}

/* Whether the form has a value in lo … hi, trying every value of all terms but the last, which is then a division. */
static bool has_value_by_trying(const struct pto_linear_form *f) {
  uint64_t index[PTO_FORM_TERMS] = {0};
  uint32_t last = f->count - 1;
  int64_t c = (int64_t)f->coef[last];
  for (;;) {
    int64_t value = 0;
    for (uint32_t k = 0; k < last; k++) value += (int64_t)(f->coef[k] * index[k]);
    int64_t least = f->lo - value <= 0 ? 0 : (f->lo - value - 1) / c + 1;
    if (least <= (int64_t)f->last[last] && value + least * c <= f->hi) return true;
    uint32_t k = last;
    while (k > 0 && index[k - 1]++ == f->last[k - 1]) index[--k] = 0;
    if (k == 0) return false;
  }
}

/* Sparse values, so that both answers are common and one solution among many index pairs has to be found. */
static void test_forms_of_sparse_values_agree_with_trying_each(void **state) {
  uint64_t answers[2] = {0};
  for (uint64_t seed = 1; seed <= 6000; seed++) {
    struct pto_rng rng = {seed * 3};
    struct pto_linear_form f = {0};
    struct pto_step_budget budget = {0, 1000000};
    uint64_t terms = 3 + pto_rng_below(&rng, 2), indices = 1, total = 0;
    for (uint64_t k = 0; k < terms; k++) {
      uint64_t last = 1 + pto_rng_below(&rng, terms == 3 ? 90 : 24);
      uint64_t coef = 1 + pto_rng_below(&rng, UINT64_C(1) << (10 + pto_rng_below(&rng, 11)));
      pto_linear_form_add(&f, coef, last);
      indices *= last + 1;
      total += coef * last;
    }
    f.lo = (int64_t)pto_rng_below(&rng, total);
    f.hi = f.lo + (int64_t)pto_rng_below(&rng, total / indices + 1);
    bool expected = has_value_by_trying(&f);
    enum pto_answer answer = pto_linear_form_reaches(&f, &budget);
    if (answer != (expected ? PTO_ANSWER_YES : PTO_ANSWER_NO)) fail_msg("seed %" PRIu64 ": answer %d", seed, answer);
    if (seed % 2 == 0 && pto_lattice_search(&f, &budget) != answer)
      fail_msg("seed %" PRIu64 ": the lattice search differs", seed);
    answers[expected]++;
  }
  assert_true(answers[0] > 1000 && answers[1] > 1000);
}

/* Found at random, one in a million: a line without an index pair, as x, y or both leave no room for one. */
static void test_a_split_has_lines_that_hold_no_pair(void **state) {
  static const struct pto_linear_form forms[] = {
      {5, 88276312, 88276312, {2, 86763, 4, 28719, 20527}, {29, 1195, 1, 5, 1417}},
      {5, 4261759, 4261759, {76, 5, 283543, 15, 22917}, {48, 5, 13, 1, 114}},
      {7, 1489785, 1489786, {812, 4, 507, 46, 4, 58, 2434}, {94, 34, 3, 2, 2, 4, 1438}}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(forms); i++) {
    struct pto_step_budget budget = {0, 1000000};
    const bool expected = has_value_by_trying(&forms[i]);
    assert_int_equal(pto_linear_form_reaches(&forms[i], &budget), expected ? PTO_ANSWER_YES : PTO_ANSWER_NO);
  }
}

static void test_the_first_hit_of_residues_agrees_with_trying_each(void **state) {
  for (uint64_t m = 1; m <= 34; m++)
    for (uint64_t a = 0; a < m; a++)
      for (uint64_t l = 0; l < m; l++)
        for (uint64_t r = l; r < m; r++) {
          struct pto_step_budget budget = {0, 1000};
          uint64_t expected = UINT64_MAX;
          for (uint64_t x = 0; x < m && expected == UINT64_MAX; x++)
            if (a * x % m >= l && a * x % m <= r) expected = x;
          assert_int_equal(pto_first_in_residues(a, m, l, r, &budget), expected);
        }
}

static void test_the_first_hit_of_large_residues_is_a_hit_and_takes_few_steps(void **state) {
  struct pto_rng rng = {7};
  for (int i = 0; i < 100000; i++) {
    struct pto_step_budget budget = {0, 1000};
    uint64_t m = (UINT64_C(1) << 61) + pto_rng_below(&rng, UINT64_C(1) << 61), a = pto_rng_below(&rng, m);
    uint64_t width = pto_rng_below(&rng, UINT64_C(1) << pto_rng_below(&rng, 60)), l = pto_rng_below(&rng, m - width);
    uint64_t x = pto_first_in_residues(a, m, l, l + width, &budget);
    assert_true(budget.used <= 64);
    if (x == UINT64_MAX) continue;
    uint64_t residue = (uint64_t)((unsigned __int128)a * x % m);
    assert_in_range(residue, l, l + width);
  }
}

static void test_a_form_without_terms_has_the_value_0(void **state) {
  struct pto_step_budget budget = {0, 10};
  struct pto_linear_form f = {.lo = 0, .hi = 0};
  assert_int_equal(pto_linear_form_reaches(&f, &budget), PTO_ANSWER_YES);
  f.lo = f.hi = 1;
  assert_int_equal(pto_linear_form_reaches(&f, &budget), PTO_ANSWER_NO);
  f.lo = f.hi = -1;
  assert_int_equal(pto_linear_form_reaches(&f, &budget), PTO_ANSWER_NO);
}

static void test_an_exhausted_budget_is_unknown_and_nothing_else(void **state) {
  uint64_t unknown = 0;
  for (uint64_t seed = 1; seed <= 2000; seed++) {
    struct pto_rng rng = {seed};
    struct pto_linear_form f = {0};
    struct pto_step_budget small = {0, 3}, large = {0, 1000000};
    for (int k = 0; k < 6; k++) {
      uint64_t coef = 1000 + pto_rng_below(&rng, 9000);
      pto_linear_form_add(&f, coef, 3 + pto_rng_below(&rng, 9));
    }
    f.lo = f.hi = (int64_t)(2000 + pto_rng_below(&rng, 40000));
    enum pto_answer few = pto_linear_form_reaches(&f, &small), many = pto_linear_form_reaches(&f, &large);
    assert_int_not_equal(many, PTO_ANSWER_UNKNOWN);
    if (few == PTO_ANSWER_UNKNOWN) {
      assert_true(small.used >= small.limit);
      unknown++;
    } else {
      assert_int_equal(few, many);
    }
  }
  assert_true(unknown > 100);
}

/* A form of five terms and an interval of one value, which may or may not be there. */
static void make_sparse(struct pto_linear_form *f, struct pto_rng *rng) {
  f->count = 0;
  for (int k = 0; k < 5; k++) {
    uint64_t coef = 1000 + pto_rng_below(rng, 9000);
    pto_linear_form_add(f, coef, 3 + pto_rng_below(rng, 9));
  }
  f->lo = f->hi = (int64_t)(2000 + pto_rng_below(rng, 40000));
}

static void test_a_search_with_any_budget_answers_right_or_not_at_all(void **state) {
  uint64_t unknown = 0;
  for (uint64_t seed = 1; seed <= 200; seed++) {
    struct pto_rng rng = {seed};
    struct pto_linear_form f;
    struct pto_step_budget large = {0, 1000000};
    make_sparse(&f, &rng);
    const enum pto_answer right = pto_lattice_search(&f, &large);
    assert_int_not_equal(right, PTO_ANSWER_UNKNOWN);
    for (uint64_t limit = 0; limit <= large.used; limit += limit < 40 ? 1 : limit) {
      struct pto_step_budget budget = {0, limit};
      const enum pto_answer answer = pto_lattice_search(&f, &budget);
      if (answer != PTO_ANSWER_UNKNOWN) assert_int_equal(answer, right);
      unknown += answer == PTO_ANSWER_UNKNOWN;
    }
  }
  assert_true(unknown > 2000);
}

/* Its distance from the middle is the radius itself, where lengths that are rounded may say either. */
static void test_a_search_finds_what_lies_in_a_corner_of_its_box(void **state) {
  for (uint64_t seed = 1; seed <= 500; seed++) {
    struct pto_rng rng = {seed};
    struct pto_linear_form f;
    make_sparse(&f, &rng);
    int64_t total = 0;
    for (uint32_t k = 0; k < f.count; k++) total += (int64_t)(f.coef[k] * f.last[k]);
    for (int corner = 0; corner < 2; corner++) {
      struct pto_step_budget budget = {0, 1000000};
      f.lo = f.hi = corner ? total : 0;
      if (pto_lattice_search(&f, &budget) != PTO_ANSWER_YES) fail_msg("seed %" PRIu64 ", value %" PRId64, seed, f.lo);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_forms_of_any_coefficients_agree_with_listing),
      cmocka_unit_test(test_forms_of_two_nested_chains_agree_with_listing),
      cmocka_unit_test(test_forms_of_three_long_terms_agree_with_listing),
      cmocka_unit_test(test_forms_of_sparse_values_agree_with_trying_each),
      cmocka_unit_test(test_a_split_has_lines_that_hold_no_pair),
      cmocka_unit_test(test_the_first_hit_of_residues_agrees_with_trying_each),
      cmocka_unit_test(test_the_first_hit_of_large_residues_is_a_hit_and_takes_few_steps),
      cmocka_unit_test(test_a_form_without_terms_has_the_value_0),
      cmocka_unit_test(test_an_exhausted_budget_is_unknown_and_nothing_else),
      cmocka_unit_test(test_a_search_with_any_budget_answers_right_or_not_at_all),
      cmocka_unit_test(test_a_search_finds_what_lies_in_a_corner_of_its_box),
  };
  return cmocka_run_group_tests_name("linear_form", tests, NULL, NULL);
}
