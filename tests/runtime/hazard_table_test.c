/* SPDX-License-Identifier: MIT */
/*
 * Hazards of two accesses: mode × mode × relation of the bytes × rules, each with the reasons that the edge must state,
 * by the table of the semantics written out here once more as a plain function.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/control/runtime_state.h>
#include <tests/support/runtime_fixture.h>

enum relation {
  RELATION_EQUAL,
  RELATION_COVERS,
  RELATION_COVERED,
  RELATION_PARTIAL,
  RELATION_TOUCHING,
  RELATION_COLUMNS,
  RELATION_EMPTY,
  RELATION_COUNT
};

static const struct {
  const char *words;
  uint64_t earlier[4], later[4]; /* row, rows, column, columns of an 8×16 matrix */
  bool overlaps;
} relations[RELATION_COUNT] = {
    {"equal bytes", {0, 4, 0, 8}, {0, 4, 0, 8}, true},
    {"a later region that covers the earlier", {2, 2, 4, 4}, {0, 8, 0, 16}, true},
    {"a later region within the earlier", {0, 8, 0, 16}, {2, 2, 4, 4}, true},
    {"regions that overlap in part", {0, 4, 0, 8}, {2, 4, 4, 8}, true},
    {"regions that only touch", {0, 4, 0, 16}, {4, 4, 0, 16}, false},
    {"disjoint columns of the same rows", {0, 8, 0, 8}, {0, 8, 8, 8}, false},
    {"an empty later region", {0, 8, 0, 16}, {2, 0, 4, 4}, false},
};

static const struct {
  char letter;
  const char *words;
  bool reads, writes;
} modes[] = {{'i', "input", true, false},
             {'o', "output", false, true},
             {'b', "inout", true, true},
             {'a', "accumulate", true, true}};

struct hazard_case {
  uint32_t earlier, later, relation, rules;
  char name[160];
};

static uint32_t expected_reasons(const struct hazard_case *c) {
  uint32_t reasons = 0;
  if (!relations[c->relation].overlaps) return 0;
  bool exact = c->rules == PTO_DEPS_EXACT;
  if (modes[c->earlier].writes && modes[c->later].reads) reasons |= PTO_EDGE_RAW;
  if (modes[c->earlier].writes && modes[c->later].writes && (exact || modes[c->later].reads)) reasons |= PTO_EDGE_WAW;
  if (modes[c->earlier].reads && modes[c->later].writes && exact) reasons |= PTO_EDGE_WAR;
  return reasons;
}

static const struct hazard_case *current_case;

static int two_accesses(struct pto_runtime *rt, struct fixture *f) {
  const uint64_t *a = relations[current_case->relation].earlier, *b = relations[current_case->relation].later;
  struct pto_tensor matrix = fixture_matrix(f, 8, 16);
  struct pto_tensor first = fixture_box(&matrix, a[0], a[1], a[2], a[3]),
                    second = fixture_box(&matrix, b[0], b[1], b[2], b[3]);
  char earlier[2] = {modes[current_case->earlier].letter, 0}, later[2] = {modes[current_case->later].letter, 0};
  fixture_expect(rt, FIXTURE_SUBMIT(rt, earlier, &first), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, later, &second), PTO_OK);
  return 0;
}

static void hazard(void **state) {
  static struct fixture f;
  memset(&f, 0, sizeof f);
  current_case = *state;
  f.config.deps = current_case->rules;
  fixture_open(&f);
  fixture_run(&f, two_accesses, PTO_OK);
  uint32_t expected = expected_reasons(current_case);
  assert_int_equal(fixture_reasons(f.rt, 0, 1), expected);
  assert_int_equal(fixture_edges(f.rt), expected ? 1 : 0);
  fixture_close(&f);
}

int main(void) {
  _Static_assert(PTO_DEPS_SET_COUNT == 2, "what a set more has as edges is to be said here");
  enum { MODES = PTO_ARRAY_LENGTH(modes), PAIRS = MODES * MODES, CASES = 2 * PAIRS * RELATION_COUNT };
  static struct hazard_case cases[CASES];
  static struct CMUnitTest tests[CASES];
  for (uint32_t i = 0; i < CASES; i++) {
    struct hazard_case *c = &cases[i];
    *c = (struct hazard_case){.earlier = i % MODES,
                              .later = i / MODES % MODES,
                              .relation = i / PAIRS % RELATION_COUNT,
                              .rules = i / PAIRS / RELATION_COUNT};
    uint32_t reasons = expected_reasons(c);
    snprintf(c->name, sizeof c->name, "under %s rules %s after %s with %s: %s%s%s%s",
             c->rules == PTO_DEPS_EXACT ? "exact" : "pto", modes[c->later].words, modes[c->earlier].words,
             relations[c->relation].words, reasons ? "" : "no edge", reasons & PTO_EDGE_RAW ? "RAW " : "",
             reasons & PTO_EDGE_WAW ? "WAW " : "", reasons & PTO_EDGE_WAR ? "WAR" : "");
    tests[i] = (struct CMUnitTest){.name = c->name, .test_func = hazard, .initial_state = c};
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
