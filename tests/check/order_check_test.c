/* SPDX-License-Identifier: MIT */
/*
 * The findings of check/order/order_check.c, sentence by sentence, on small orchestrations; then the verdict on every
 * case of every example program under both rules.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <check/order/order_check.h>
#include <tests/support/program_record.h>
#include <tests/support/runtime_fixture.h>

/* ---- one orchestration ---- */

static struct fixture fixture;
static struct pto_findings findings;
static struct pto_order_counts counts;

static const char *name_of(void *context, uint64_t base) {
  const struct fixture *f = context;
  return base == (uintptr_t)f->memory ? "memory" : NULL;
}

static struct pto_order_question question_of(enum pto_deps_rules rules) {
  return (struct pto_order_question){
      .trace = pto_runtime_trace(fixture.rt), .rules = rules, .name_of = name_of, .context = &fixture};
}

static void judge(enum pto_deps_rules rules) {
  struct pto_error error;
  const struct pto_order_question question = question_of(rules);
  pto_findings_fini(&findings);
  pto_findings_init(&findings);
  if (pto_order_check(&question, &findings, &counts, &error)) fail_msg("%s", error.sentence);
}

static void run_with(uint64_t window, int (*body)(struct pto_runtime *, struct fixture *)) {
  memset(&fixture, 0, sizeof fixture);
  fixture.config.window = window;
  fixture_open(&fixture);
  fixture_run(&fixture, body, PTO_OK);
}

static void run(int (*body)(struct pto_runtime *, struct fixture *)) { run_with(64, body); }

static void close_run(void) {
  pto_findings_fini(&findings);
  fixture_close(&fixture);
}

/* The text without "; submitted at X and Y", which is told apart. */
static void expect_finding(uint32_t index, uint32_t kind, const char *sentence) {
  assert_true(index < findings.count);
  const struct pto_finding *f = &findings.items[index];
  char text[2048];
  snprintf(text, sizeof text, "%s", f->sentence);
  char *place = strstr(text, "; submitted at ");
  char *end = place ? strstr(place + 2, "; ") : NULL;
  if (end)
    memmove(place, end, strlen(end) + 1);
  else if (place)
    *place = '\0';
  assert_int_equal(f->kind, kind);
  assert_string_equal(text, sentence);
}

static void expect_clean(void) {
  if (!pto_findings_is_clean(&findings)) fail_msg("%s", findings.items[0].sentence);
}

/* ---- conflicts ---- */

static int read_then_write(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor matrix = fixture_matrix(f, 8, 16);
  const struct pto_tensor top = fixture_box(&matrix, 0, 4, 0, 16), left = fixture_box(&matrix, 2, 6, 4, 8);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &top), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &left), PTO_OK);
  return 0;
}

static void test_a_write_after_a_read_is_told_under_pto_alone_with_views_common_bytes_places_and_remedy(void **state) {
  (void)state;
  run(read_then_write);
  judge(PTO_DEPS_EXACT);
  assert_int_equal(findings.total, 0);
  assert_int_equal(counts.tasks, 2);
  assert_int_equal(counts.edges, 1);
  judge(PTO_DEPS_PTO);
  assert_int_equal(findings.total, 1);
  assert_int_equal(counts.edges, 0);
  assert_int_equal(counts.pairs, 1);
  expect_finding(
      0, PTO_FINDING_WAR,
      "task 0 (kernel) param 0 reads buffer 1 (memory) [0:4, 0:16]; task 1 (kernel) param 0 writes it [2:8, 4:12]; "
      "both touch [2:4, 4:12]; no path under rules pto; add `after` task 0 to task 1: `.after = &task_0, .after_count "
      "= 1`");
  const struct pto_finding *f = &findings.items[0];
  assert_true(f->tasks[0] == 0 && f->tasks[1] == 1 && f->params[0] == 0 && f->params[1] == 0);
  assert_string_equal(f->remedy, "add `after` task 0 to task 1: `.after = &task_0, .after_count = 1`");
  assert_non_null(strstr(f->sentence, "; submitted at "));
  close_run();
}

static int write_twice(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor outside = fixture_bytes(f, 64, 32), inside = fixture_managed(rt, 32);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "oo", &outside, &inside), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &inside), PTO_OK);  /* its creator is before it */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &inside), PTO_OK);  /* none is */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &outside), PTO_OK); /* external memory has no creator */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &outside), PTO_OK); /* but INOUT waits for writers */
  return 0;
}

static void
test_under_pto_a_write_waits_for_the_creator_of_its_buffer_and_for_no_other_write_unless_it_reads(void **state) {
  (void)state;
  run(write_twice);
  judge(PTO_DEPS_EXACT);
  expect_clean();
  judge(PTO_DEPS_PTO);
  assert_int_equal(findings.total, 2);
  expect_finding(
      0, PTO_FINDING_WAW,
      "task 1 (kernel) param 0 writes buffer 2 [0:32]; task 2 (kernel) param 0 writes it [0:32]; no path under rules "
      "pto; add `after` task 1 to task 2: `.after = &task_1, .after_count = 1`");
  expect_finding(
      1, PTO_FINDING_WAW,
      "task 0 (kernel) param 0 writes buffer 1 [0:32]; task 3 (kernel) param 0 writes it [0:32]; no path under rules "
      "pto; add `after` task 0 to task 3: `.after = &task_0, .after_count = 1`");
  close_run();
}

static int gated(struct pto_runtime *rt, struct fixture *f) {
  const uint64_t shape[] = {1};
  memset(f->memory, 0, 4);
  const struct pto_tensor gate = pto_external_tensor(rt, f->memory, PTO_INT32, 1, shape), x = fixture_bytes(f, 64, 8);
  const struct pto_tensor bytes = fixture_bytes(f, 0, 4);
  FIXTURE_DO(rt, .modes = "o", .tensors = {&bytes});
  FIXTURE_DO(rt, .modes = "o", .tensors = {&x}, .launch = {.predicate = {&gate, PTO_IF_EQ, 0}});
  return 0;
}

/* Clean under exact; under pto one read is told, with the rule by which nothing orders it. */
static void expect_read_that(const char *rule, const char *words) {
  judge(PTO_DEPS_EXACT);
  expect_clean();
  judge(PTO_DEPS_PTO);
  assert_int_equal(findings.total, 1);
  assert_int_equal(findings.items[0].kind, PTO_FINDING_RAW);
  assert_string_equal(findings.items[0].rule, rule);
  if (!strstr(findings.items[0].sentence, words)) fail_msg("%s", findings.items[0].sentence);
}

static void test_a_predicate_whose_writer_nothing_orders_is_told_with_the_rule_that_looks_away(void **state) {
  (void)state;
  run(gated);
  expect_read_that("predicate-orders-nothing",
                   "no path under rules pto: rule predicate-orders-nothing (pto_orchestrator.cpp); add `after` task 0 "
                   "to task 1: `.after = &task_0, .after_count = 1`");
  close_run();
}

static int two_bases(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor whole = fixture_bytes(f, 0, 64), tail = fixture_bytes(f, 32, 32);
  FIXTURE_DO(rt, .modes = "o", .tensors = {&whole});
  FIXTURE_DO(rt, .modes = "i", .tensors = {&tail});
  uint64_t index = 0;
  uint8_t value;
  fixture_expect(rt, pto_read_element(rt, &whole, &index, &value), PTO_OK);
  return 0;
}

static void test_memory_given_from_two_addresses_is_told_with_the_rule_that_looks_away(void **state) {
  (void)state;
  run(two_bases);
  judge(PTO_DEPS_PTO | PTO_DEPS_SWITCH_BASE_ADDRESS);
  expect_clean();
  expect_read_that("base-address", "no path under rules pto: rule base-address (pto_tensormap.h); add `after` task 0 "
                                   "to task 1: `.after = &task_0, .after_count = 1`, or make both "
                                   "tensors views of one");
  close_run();
}

static int late(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor t = fixture_managed(rt, 32), other = fixture_managed(rt, 32), out = fixture_bytes(f, 0, 16);
  uint64_t index = 3;
  uint8_t x;
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "oo", &other, &t), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &t), PTO_OK);
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  const struct pto_tensor half = pto_tensor_slice(&t, 0, 8, 24, 1);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "io", &half, &out), PTO_OK);
  fixture_expect(rt, pto_read_element(rt, &t, &index, &x), PTO_OK);
  return 0;
}

static void test_a_use_after_the_end_of_the_scope_is_told_where_the_run_let_it_be(void **state) {
  (void)state;
  memset(&fixture, 0, sizeof fixture);
  fixture.config.keep_released = true;
  fixture_open(&fixture);
  fixture_run(&fixture, late, PTO_OK);
  judge(PTO_DEPS_EXACT);
  assert_int_equal(findings.total, 2);
  expect_finding(
      0, PTO_FINDING_RELEASED,
      "task 2 (kernel) param 0 reads buffer 1 [8:24] after the scope of task 0 (kernel), which allocated it, "
      "has ended; let the scope end behind this use");
  expect_finding(
      1, PTO_FINDING_RELEASED,
      "host access 0 (before task 3) reads buffer 1 [3:4] after the scope of task 0 (kernel), which allocated "
      "it, has ended; let the scope end behind this use");
  assert_true(findings.items[0].tasks[0] == 0 && findings.items[0].tasks[1] == 2);
  assert_true(findings.items[0].params[0] == 1 && findings.items[0].params[1] == 0);
  close_run();
}

static int manual_without_edges(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor a = fixture_bytes(f, 0, 32), b = fixture_bytes(f, 32, 32);
  struct pto_task first;
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_MANUAL), PTO_OK);
  FIXTURE_DO(rt, .modes = "o", .tensors = {&a}, .out = &first);
  FIXTURE_DO(rt, .modes = "io", .tensors = {&a, &b}, .launch = {.after = &first, .after_count = 1});
  FIXTURE_DO(rt, .modes = "i", .tensors = {&b}); /* forgotten */
  FIXTURE_DO(rt, .modes = "a", .tensors = {&a}, .launch = {.after = &first, .after_count = 1});
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  FIXTURE_DO(rt, .modes = "b", .tensors = {&b}); /* automatic: waits for all of them */
  return 0;
}

static void test_in_a_manual_scope_explicit_edges_alone_order_and_what_they_leave_out_is_told(void **state) {
  (void)state;
  run(manual_without_edges);
  judge(PTO_DEPS_EXACT);
  assert_int_equal(findings.by_kind[PTO_FINDING_RAW], 1);
  assert_int_equal(findings.by_kind[PTO_FINDING_WAR], 1);
  assert_int_equal(findings.total, 2);
  assert_true(findings.items[0].tasks[0] == 1 && findings.items[0].tasks[1] == 2);
  assert_true(findings.items[1].tasks[0] == 1 && findings.items[1].tasks[1] == 3);
  close_run();
}

static int far_apart(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor a = fixture_bytes(f, 0, 32), b = fixture_bytes(f, 32, 32);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &a), PTO_OK);
  for (int i = 0; i < 100; i++) {
    fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &b), PTO_OK);
    fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  }
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &a), PTO_OK);
  return 0;
}

static void test_no_access_expires_however_small_the_window_was(void **state) {
  (void)state;
  run_with(16, far_apart);
  judge(PTO_DEPS_EXACT);
  assert_int_equal(counts.edges, 1);
  judge(PTO_DEPS_PTO);
  assert_int_equal(findings.total, 1);
  assert_true(findings.items[0].tasks[0] == 0 && findings.items[0].tasks[1] == 101);
  close_run();
}

static int fuzzy_neighbours(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor matrix = fixture_matrix(f, 8, 16);
  const struct pto_tensor left = fixture_box(&matrix, 0, 8, 0, 8), right = fixture_box(&matrix, 0, 8, 8, 8);
  const struct pto_tensor fuzzy = pto_tensor_with_overlap(&right, PTO_OVERLAP_FUZZY);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &left), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &fuzzy), PTO_OK);
  return 0;
}

static void test_a_wish_for_fuzzy_overlap_makes_an_edge_and_never_a_conflict(void **state) {
  (void)state;
  run(fuzzy_neighbours);
  judge(PTO_DEPS_EXACT);
  assert_int_equal(counts.edges, 1);
  judge(PTO_DEPS_PTO);
  assert_int_equal(findings.total + counts.edges, 0);
  close_run();
}

/* ---- the host ---- */

static int host_between(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor a = fixture_bytes(f, 0, 32), b = fixture_bytes(f, 32, 32);
  uint64_t index = 3;
  uint8_t value;
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "io", &a, &b), PTO_OK);
  fixture_expect(rt, pto_read_element(rt, &b, &index, &value), PTO_OK); /* waits for the task */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &a), PTO_OK);              /* so this is after it */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &b), PTO_OK);
  fixture_expect(rt, pto_write_element(rt, &b, &index, &value), PTO_OK); /* waits for a reader by a rule alone */
  return 0;
}

static void test_what_the_host_waits_for_is_ordered_and_its_write_after_a_read_is_told_without_the_rule(void **state) {
  (void)state;
  run(host_between);
  judge(PTO_DEPS_EXACT);
  expect_clean();
  judge(PTO_DEPS_PTO);
  expect_clean();
  judge(PTO_DEPS_PTO | PTO_DEPS_SWITCH_HOST_WAITS_FOR_READERS);
  assert_int_equal(findings.total, 1);
  expect_finding(
      0, PTO_FINDING_WAR,
      "task 2 (kernel) param 0 reads buffer 2 [0:32]; host access 1 (before task 3) writes it [3:4]; both touch "
      "[3:4]; no path under rules pto,no-host-waits-for-readers; read an element that task 2 writes first, which waits "
      "for it: `pto_read_element(rt, &t, index, &value)`");
  assert_true(findings.items[0].tasks[0] == 2 && findings.items[0].tasks[1] == PTO_FINDING_NONE);
  close_run();
}

/* Readers, of which the host's write waits for those behind a writer of its tensor. */
static int host_behind_readers(struct pto_runtime *rt, struct fixture *f) {
  const uint64_t half = 8;
  const struct pto_tensor a = fixture_bytes(f, 0, 8), b = fixture_bytes(f, 8, 8), c = fixture_bytes(f, 16, 16),
                          tail = pto_tensor_view(&c, &half, &half), d = fixture_bytes(f, 32, 8),
                          made = fixture_managed(rt, 8);
  uint64_t index = 0;
  uint8_t value = 1;
  struct pto_task writer, user;
  const struct pto_tensor *const one[] = {&d};
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &a), PTO_OK);               /* 0: nothing wrote a */
  fixture_expect(rt, pto_write_element(rt, &a, &index, &value), PTO_OK); /* does not wait */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &b), PTO_OK);               /* 1 */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &b), PTO_OK);               /* 2: not after 1 */
  fixture_expect(rt, pto_write_element(rt, &b, &index, &value), PTO_OK); /* waits for 2 */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &tail), PTO_OK);            /* 3 */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &c), PTO_OK);               /* 4: after 3, for another byte */
  fixture_expect(rt, pto_write_element(rt, &c, &index, &value), PTO_OK); /* waits for 4 */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &made), PTO_OK);            /* 5 */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &made), PTO_OK);            /* 6 */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &made), PTO_OK);            /* 7: not after 6, which is after 5 */
  fixture_expect(rt, pto_write_element(rt, &made, &index, &value), PTO_OK);
  fixture_expect(rt, fixture_submit(rt, "o", one, &writer), PTO_OK); /* 8 */
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_MANUAL), PTO_OK);
  FIXTURE_DO(rt, .label = 9, .modes = "b", .tensors = {&d}, .launch = {.after = &writer, .after_count = 1},
             .out = &user);
  FIXTURE_DO(rt, .label = 10, .modes = "i", .tensors = {&d}, .launch = {.after = &user, .after_count = 1});
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  fixture_expect(rt, pto_write_element(rt, &d, &index, &value), PTO_OK); /* waits for 8 and 9, which is after 8 */
  return 0;
}

static void test_the_host_waits_for_readers_behind_a_writer_of_its_tensor(void **state) {
  (void)state;
  run(host_behind_readers);
  static const uint64_t pairs[][2] = {
      {0, PTO_FINDING_NONE}, {1, 2}, {1, PTO_FINDING_NONE}, {6, 7}, {10, PTO_FINDING_NONE}};
  judge(PTO_DEPS_EXACT);
  expect_clean();
  judge(PTO_DEPS_PTO);
  assert_int_equal(findings.total, PTO_ARRAY_LENGTH(pairs));
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(pairs); i++) {
    const struct pto_finding *finding = &findings.items[i];
    if (finding->tasks[0] != pairs[i][0] || finding->tasks[1] != pairs[i][1] || finding->kind != PTO_FINDING_WAR)
      fail_msg("%s", finding->sentence);
  }
  close_run();
}

static int alloc_in_a_manual_scope(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor made = fixture_managed(rt, 8), other = fixture_bytes(f, 0, 8);
  struct pto_task task;
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_MANUAL), PTO_OK);
  fixture_expect(rt, pto_alloc_tensors(rt, &made, 1, &task), PTO_OK); /* 0 */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &made), PTO_OK);         /* 1: not after 0, no edge */
  FIXTURE_DO(rt, .modes = "io", .tensors = {&made, &other},
             .launch = {.after = &task, .after_count = 1}); /* 2: not after 1 */
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  return 0;
}

static void test_an_allocation_conflicts_with_nothing(void **state) {
  (void)state;
  run(alloc_in_a_manual_scope);
  for (uint32_t rules = PTO_DEPS_EXACT; rules <= PTO_DEPS_PTO; rules++) {
    judge(rules);
    assert_int_equal(findings.total, 1);
    assert_true(findings.items[0].tasks[0] == 1 && findings.items[0].tasks[1] == 2);
  }
  close_run();
}

/* ---- views ---- */

static int odd_views(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor matrix = fixture_matrix(f, 8, 16);
  const struct pto_tensor odd = pto_tensor_slice(&matrix, 1, 1, 16, 3);
  const struct pto_tensor turned = pto_tensor_transpose(&matrix, 0, 1);
  const struct pto_tensor part = fixture_box(&turned, 4, 8, 2, 3);
  const uint64_t flat[] = {128};
  const struct pto_tensor line = pto_tensor_reshape(&matrix, 1, flat);
  const struct pto_tensor middle = pto_tensor_slice(&line, 0, 20, 40, 1);
  const struct pto_tensor words = pto_tensor_reinterpret(&matrix, PTO_INT32);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &matrix), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &odd), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &part), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &middle), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &words), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &matrix), PTO_OK);
  return 0;
}

static void test_views_are_told_in_the_indices_of_the_whole_buffer_or_else_in_its_bytes(void **state) {
  (void)state;
  run(odd_views);
  judge(PTO_DEPS_PTO);
  assert_int_equal(findings.total, 5);
  static const char *const views[5] = {"[0:8, 0:16]", "[0:8, 1:14:3]", "[2:5, 4:12]", "bytes 20:40", "bytes 0:128"};
  for (uint32_t i = 0; i < 5; i++) {
    char part[96];
    const struct pto_finding *f = &findings.items[i];
    snprintf(part, sizeof part, "reads buffer 1 (memory) %s;", views[f->tasks[0]]);
    if (!strstr(f->sentence, part)) fail_msg("\"%s\" does not say \"%s\"", f->sentence, part);
  }
  close_run();
}

/* ---- explicit edges that can go ---- */

static int needless_edges(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor a = fixture_bytes(f, 0, 32), b = fixture_bytes(f, 32, 32);
  struct pto_task first, second, third;
  FIXTURE_DO(rt, .modes = "o", .tensors = {&a}, .out = &first);
  FIXTURE_DO(rt, .modes = "io", .tensors = {&a, &b}, .out = &second, .launch = {.after = &first, .after_count = 1});
  FIXTURE_DO(rt, .modes = "o", .tensors = {&a}, .out = &third, .launch = {.after = &second, .after_count = 1});
  FIXTURE_DO(rt, .launch = {.after = (struct pto_task[]){first, third}, .after_count = 2});
  return 0;
}

static void test_explicit_edges_that_others_imply_are_notes_which_say_whether_the_other_rules_need_them(void **state) {
  (void)state;
  run(needless_edges);
  judge(PTO_DEPS_EXACT);
  expect_clean();
  assert_int_equal(findings.by_kind[PTO_FINDING_REDUNDANT], 3);
  expect_finding(0, PTO_FINDING_REDUNDANT,
                 "task 1 (logged) is `after` task 0 (logged), but RAW gives the same edge under rules exact; take it "
                 "out of `after`");
  expect_finding(1, PTO_FINDING_REDUNDANT,
                 "task 2 (logged) is `after` task 1 (logged), but WAR gives the same edge under rules exact (rules pto "
                 "need it); keep it for rules pto, or take it out of `after`");
  judge(PTO_DEPS_PTO);
  expect_clean();
  assert_int_equal(findings.by_kind[PTO_FINDING_REDUNDANT], 2);
  expect_finding(1, PTO_FINDING_REDUNDANT,
                 "task 3 (logged) is `after` task 0 (logged), but a path through task 2 (logged) does the same under "
                 "rules pto; take it out of `after`");
  close_run();
}

/* ---- groups and limits ---- */

static int many_conflicts(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor a = fixture_bytes(f, 0, 32);
  for (int i = 0; i < 60; i++) fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &a), PTO_OK);
  return 0;
}

static void test_conflicts_of_the_same_kernels_params_and_places_are_one_group(void **state) {
  (void)state;
  run(many_conflicts);
  judge(PTO_DEPS_PTO);
  assert_int_equal(findings.total, 60 * 59 / 2);
  assert_int_equal(findings.items[0].more, 60 * 59 / 2 - 1);
  for (uint32_t i = 1; i < findings.count; i++) assert_int_equal(findings.items[i].group, findings.items[0].group);
  close_run();
}

/* ---- records ---- */

static void test_a_record_that_lacks_something_is_refused(void **state) {
  (void)state;
  struct pto_error error;
  run(needless_edges);
  struct pto_trace copy = *pto_runtime_trace(fixture.rt);
  struct pto_order_question question = question_of(PTO_DEPS_EXACT);
  question.trace = &copy;
  copy.params.dropped = 3;
  assert_int_equal(pto_order_check(&question, &findings, &counts, &error), PTO_EINVAL);
  assert_non_null(strstr(error.sentence, "lacks 3"));
  copy.params.dropped = 0;
  copy.record = PTO_RECORD_TIMELINE;
  assert_int_equal(pto_order_check(&question, &findings, &counts, &error), PTO_EINVAL);
  assert_non_null(strstr(error.sentence, "not recorded"));
  close_run();
}

/* ---- the examples ---- */

/* What the existing runtime's rules leave out in our own programs: each writes in place what others still read, or
 * writes external memory that is not created anew. */
static const struct {
  const char *program, *case_name; /* NULL: every case */
  uint32_t kinds;                  /* 1 << enum pto_finding_kind */
} under_pto[] = {{"inplace_update", NULL, 1u << PTO_FINDING_WAR},
                 {"task_bench", "random_dag", 1u << PTO_FINDING_WAR},
                 {"task_bench", "bgemm", 1u << PTO_FINDING_WAR | 1u << PTO_FINDING_WAW},
                 {"war_reuse", NULL, 1u << PTO_FINDING_WAR | 1u << PTO_FINDING_WAW}};

static uint32_t expected_kinds(const char *program, const char *case_name, uint32_t rules) {
  for (size_t i = 0; rules == PTO_DEPS_PTO && i < PTO_ARRAY_LENGTH(under_pto); i++)
    if (strcmp(under_pto[i].program, program) == 0 &&
        (!under_pto[i].case_name || (case_name && strcmp(under_pto[i].case_name, case_name) == 0)))
      return under_pto[i].kinds;
  return 0;
}

static uint32_t case_count;

static void judge_case(const char *name, const char *case_name) {
  struct program_record record;
  program_record_open(&record, name, case_name, PTO_DEPS_EXACT);
  for (uint32_t rules = PTO_DEPS_EXACT; record.trace && rules <= PTO_DEPS_PTO; rules++) {
    const struct pto_order_question question = {.trace = record.trace, .rules = rules};
    struct pto_error error;
    uint32_t kinds = 0;
    pto_findings_init(&findings);
    assert_int_equal(pto_order_check(&question, &findings, &counts, &error), PTO_OK);
    for (uint32_t kind = 0; kind < PTO_FINDING_COUNT; kind++)
      if (findings.by_kind[kind] && !pto_finding_kind_is_note(kind)) kinds |= 1u << kind;
    if (kinds != expected_kinds(name, case_name, rules))
      fail_msg("%s %s under rules %s: %s", name, case_name ? case_name : "", pto_deps_rules_name(rules).text,
               findings.total ? findings.items[0].sentence : "nothing was found");
    pto_findings_fini(&findings);
    case_count++;
  }
  program_record_close(&record);
}

static void test_every_case_of_every_example_is_clean_under_exact_and_all_but_those_listed_under_pto(void **state) {
  (void)state;
  program_record_each(judge_case);
  print_message("%u verdicts\n", case_count);
  assert_true(case_count > 200);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_write_after_a_read_is_told_under_pto_alone_with_views_common_bytes_places_and_remedy),
      cmocka_unit_test(
          test_under_pto_a_write_waits_for_the_creator_of_its_buffer_and_for_no_other_write_unless_it_reads),
      cmocka_unit_test(test_a_predicate_whose_writer_nothing_orders_is_told_with_the_rule_that_looks_away),
      cmocka_unit_test(test_memory_given_from_two_addresses_is_told_with_the_rule_that_looks_away),
      cmocka_unit_test(test_a_use_after_the_end_of_the_scope_is_told_where_the_run_let_it_be),
      cmocka_unit_test(test_in_a_manual_scope_explicit_edges_alone_order_and_what_they_leave_out_is_told),
      cmocka_unit_test(test_no_access_expires_however_small_the_window_was),
      cmocka_unit_test(test_a_wish_for_fuzzy_overlap_makes_an_edge_and_never_a_conflict),
      cmocka_unit_test(test_what_the_host_waits_for_is_ordered_and_its_write_after_a_read_is_told_without_the_rule),
      cmocka_unit_test(test_the_host_waits_for_readers_behind_a_writer_of_its_tensor),
      cmocka_unit_test(test_an_allocation_conflicts_with_nothing),
      cmocka_unit_test(test_views_are_told_in_the_indices_of_the_whole_buffer_or_else_in_its_bytes),
      cmocka_unit_test(test_explicit_edges_that_others_imply_are_notes_which_say_whether_the_other_rules_need_them),
      cmocka_unit_test(test_conflicts_of_the_same_kernels_params_and_places_are_one_group),
      cmocka_unit_test(test_a_record_that_lacks_something_is_refused),
      cmocka_unit_test(test_every_case_of_every_example_is_clean_under_exact_and_all_but_those_listed_under_pto),
  };
  return cmocka_run_group_tests_name("order check", tests, NULL, NULL);
}
