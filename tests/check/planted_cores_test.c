/* SPDX-License-Identifier: MIT */
/*
 * The planted bugs between cores of one task (tests/planted/planted_cores.c, planted_protocols.c and planted_words.c):
 * `check --observe` finds each, says what it is, which cores and bytes, and what to add, and says nothing else; of the
 * clean twin it says nothing.
 *
 * All in one process.  A word as argument runs the bugs that contain it, and prints what is said of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <check/session/explored.h>
#include <check/session/observed.h>
#include <runtime/base/base.h>
#include <tests/planted/planted_list.h>

struct planted_row {
  const char *program, *bug, *kind;
  int64_t param;
  const char *words[2], *remedy;
};
static struct planted_row rows[] = {
#define X(bug, kind, param, who, whom, remedy) {NULL, #bug, kind, param, {who, whom}, remedy},
    PLANTED_CORES_LIST(X)
#undef X
#define X(bug, kind, param, who, whom, remedy) {"planted_protocols", #bug, kind, param, {who, whom}, remedy},
        PLANTED_PROTOCOLS_LIST(X)
#undef X
#ifdef __x86_64__ /* elsewhere atomic operations are not seen */
#define X(bug, kind, param, who, whom, remedy) {"planted_words", #bug, kind, param, {who, whom}, remedy},
            PLANTED_WORDS_LIST(X)
#undef X
#endif
};

static char folder[2048]; /* of the build */
static char program[4096];
static bool is_printing;

static void find_folder(void) {
  const char *build = getenv("PTO_BUILD_DIR");
  if (build) {
    snprintf(folder, sizeof folder, "%s", build);
  } else {
    const ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    assert_true(length > 0);
    folder[length] = '\0';
    for (int up = 0; up < 4; up++) *strrchr(folder, '/') = '\0';
  }
}

/* NULL: planted_cores. */
static void name_program(const char *name) {
  snprintf(program, sizeof program, "%s/planted/%s.so", folder, name ? name : "planted_cores");
}

static struct pto_observed observed;

static void judge(const struct planted_row *row, bool is_buggy) {
  const char *settings[] = {is_buggy ? "bug=1" : "bug=0"};
  name_program(row->program);
  /* What a core may take that polls for ever. */
  const struct pto_config config = {.size = sizeof config, .timeout_ms = strncmp(row->bug, "poll_", 5) ? 0 : 500};
  const struct pto_session_options options = {.size = sizeof options,
                                              .program = program,
                                              .case_name = row->bug,
                                              .settings = {.items = settings, .count = 1},
                                              .config = &config};
  const struct pto_observe_options all = {0};
  if (pto_observed_open(&observed, &options, &all) != PTO_EXIT_OK)
    fail_msg("%s", observed.session.result.error.sentence);
  (void)pto_observed_run(&observed);
  if (is_printing) pto_findings_print(&observed.findings, stdout, 0);
}

static void skip_where_watched(void) {
  if (pto_observation_is_left_to_tool()) skip();
}

/* The task of the mistake, of one or of eight. */
static uint64_t task_of(const struct planted_row *row) { return strcmp(row->bug, "last_tile") ? 0 : 7; }

static void test_found(void **state) {
  const struct planted_row *row = *state;
  skip_where_watched();
  judge(row, true);
  const struct pto_findings *findings = &observed.findings;
  if (findings->count == 0) fail_msg("%s: nothing is found", row->bug);
  for (size_t i = 0; i < findings->count; i++) {
    const struct pto_finding *finding = &findings->items[i];
    const bool is_here = row->param == PLANTED_ANY || finding->params[0] == (uint64_t)row->param;
    if (strcmp(pto_finding_kind_name(finding->kind), row->kind) != 0 || finding->tasks[0] != task_of(row) || !is_here)
      fail_msg("%s: something else is told: %s: %s", row->bug, pto_finding_kind_name(finding->kind), finding->sentence);
    if (!finding->remedy || !finding->kernels[0][0] || !finding->places[0].own.file[0])
      fail_msg("%s: no remedy, kernel or place: %s", row->bug, finding->sentence);
    if (strstr(finding->sentence, "nothing orders the two") &&
        (finding->tasks[1] != task_of(row) || !finding->extents[1][0]))
      fail_msg("%s: one access alone: %s", row->bug, finding->sentence);
  }
  const struct pto_finding *first = &findings->items[0];
  if (!strstr(first->sentence, row->words[0]) || !strstr(first->sentence, row->words[1]))
    fail_msg("%s: the cause is not told: %s", row->bug, first->sentence);
  if (row->remedy[0] && !strstr(first->remedy, row->remedy)) fail_msg("%s: remedy: %s", row->bug, first->remedy);
  pto_observed_close(&observed);
}

static void test_twin_is_clean(void **state) {
  const struct planted_row *row = *state;
  skip_where_watched();
  judge(row, false);
  const struct pto_findings *findings = &observed.findings;
  if (findings->count > 0) fail_msg("%s: the clean twin is accused: %s", row->bug, findings->items[0].sentence);
  assert_int_equal(pto_observed_exit(&observed), PTO_EXIT_OK);
  const struct pto_observe_summary summary = pto_observed_summary(&observed);
  /* Of eight calls that make the same calls those with the first six values of the scalar, or the first four. */
  assert_int_equal(summary.units_judged, task_of(row) ? 6 : summary.waiting_units);
  pto_observed_close(&observed);
}

/* What let the core pass that comes too early; and where it stands. */
static void test_what_was_taken_is_told_and_where(void **state) {
  static const struct {
    const char *bug, *words[2];
  } cases[] = {
      {"early_signal", {"the wait of AIV1 at planted_cores.c:", "took signal 1 at its flag 0, which AIV0 sent at"}},
      {"early_signal", {"which AIV0 sent at planted_cores.c:", " before it wrote them"}},
      {"early_signal", {"(inout)) after its call at planted_cores.c:", "AIV1 reads them after its call at"}},
      {"early_relay", {"(inout)) before its call at ", "AIV1 reads them after its call at planted_cores.c:"}},
      {"early_relay", {"took signal 1 at its flag 0, which AIV0 sent at planted_cores.c:", "AIC writes bytes"}},
      {"surplus", {"took signal 3 at its flag 0, which AIV0 sent at planted_cores.c:", " before it wrote them"}},
      {"credits", {"the wait of AIV0 at planted_cores.c:", "took signal 3 at its flag 1, which AIV1 sent at"}},
      {"credits", {"which AIV1 sent at planted_cores.c:", " before it read them"}},
      {"freed_early", {"the wait of AIC at planted_cores.c:", "took signal 1 at its flag 0, which AIV0 sent at"}},
      {"one_of_two", {"took signal 1 at its flag 0, which several cores signal", "AIC writes bytes"}},
      {"three_ahead", {"AIV1 reads them", "nothing orders the two; submitted at"}},
  };
  (void)state;
  skip_where_watched();
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) {
    const struct planted_row row = {.bug = cases[i].bug};
    judge(&row, true);
    const char *sentence = observed.findings.items[0].sentence;
    if (!strstr(sentence, cases[i].words[0]) || !strstr(sentence, cases[i].words[1]))
      fail_msg("%s: %s", row.bug, sentence);
    pto_observed_close(&observed);
  }
}

/* Who has waited for the write before the one that comes too early is not to read that. */
static void test_a_way_that_is_known_is_told_alone(void **state) {
  static const char *const bugs[][2] = {{NULL, "credits"},      {NULL, "freed_early"},          {NULL, "no_answer"},
                                        {NULL, "slot_number"},  {NULL, "three_ahead"},          {NULL, "late_wait"},
                                        {NULL, "early_signal"}, {"planted_words", "unanswered"}};
  (void)state;
  skip_where_watched();
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(bugs); i++) {
    const struct planted_row row = {.program = bugs[i][0], .bug = bugs[i][1]};
    judge(&row, true);
    if (strstr(observed.findings.items[0].remedy, " is to read what ")) fail_msg("%s: both ways", row.bug);
    pto_observed_close(&observed);
  }
}

/* All orders of the cores' steps: the two calls of the mistake are in different ones. */
static void explore(const char *bug, bool is_buggy, struct pto_explored *explored) {
  name_program(NULL);
  const char *settings[] = {is_buggy ? "bug=1" : "bug=0"};
  const struct pto_session_options options = {
      .size = sizeof options, .program = program, .case_name = bug, .settings = {.items = settings, .count = 1}};
  struct pto_error error;
  *explored = (struct pto_explored){0};
  assert_int_equal(pto_explored_open(explored, &options, false), PTO_EXIT_OK);
  assert_int_equal(pto_explored_begin(explored, NULL), PTO_EXIT_OK);
  assert_int_equal(pto_explore_all(&explored->explore, 1000, &error), PTO_OK);
  assert_true(explored->explore.counts.is_complete);
  assert_true(explored->explore.counts.later_pieces > 0);
}

static void test_explored_at_each_call(void **state) {
  struct pto_explored explored;
  (void)state;
  explore("early_signal", true, &explored);
  assert_true(explored.explore.counts.differing > 0);
  for (size_t i = 0; i < explored.findings.count; i++) {
    assert_non_null(
        strstr(explored.findings.items[i].sentence, "of AIV1 of block 0 (behind its call at planted_cores.c:"));
    assert_null(strstr(explored.findings.items[i].sentence, "orchestration"));
    assert_int_equal(pto_finding_decided(&explored.findings.items[i]), PTO_DECIDED_ALL_ORDERS);
  }
  pto_explored_close(&explored);
  explore("early_signal", false, &explored);
  assert_int_equal(explored.explore.counts.differing, 0);
  pto_explored_close(&explored);
}

static struct CMUnitTest tests[3 + 2 * PTO_ARRAY_LENGTH(rows)];
static char names[PTO_ARRAY_LENGTH(tests)][96];

int main(int argc, char **argv) {
  size_t count = 0;
  find_folder();
  is_printing = argc > 1;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(rows); i++)
    for (int is_twin = 0; is_twin <= 1; is_twin++) {
      if (argc > 1 && !strstr(rows[i].bug, argv[1])) continue;
      snprintf(names[count], sizeof names[0], is_twin ? "%s: its clean twin is not accused" : "%s is found",
               rows[i].bug);
      tests[count] = (struct CMUnitTest){
          .name = names[count], .test_func = is_twin ? test_twin_is_clean : test_found, .initial_state = &rows[i]};
      count++;
    }
  if (argc == 1) {
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_what_was_taken_is_told_and_where);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_a_way_that_is_known_is_told_alone);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_explored_at_each_call);
  }
  return _cmocka_run_group_tests("planted bugs between cores", tests, count, NULL, NULL);
}
