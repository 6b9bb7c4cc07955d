/* SPDX-License-Identifier: MIT */
/*
 * Named rules of pto, each in a program of a few tasks: with it, without it, and at its edges.  Random programs under
 * all combinations are in random_program_test.c, the rules as a judge sees them in tests/check.
 *
 * To add one: an orchestration, and a test that runs it with the rule and without.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/control/runtime_state.h>
#include <runtime/deps/rules.h>
#include <tests/support/runtime_fixture.h>

static struct fixture fixture;

static void run_under(const char *rules, int (*body)(struct pto_runtime *, struct fixture *)) {
  struct pto_error error = {0};
  fixture = (struct fixture){0};
  if (pto_deps_rules_parse(rules, &fixture.config.deps, &error)) fail_msg("%s", error.sentence);
  fixture_open(&fixture);
  fixture_run(&fixture, body, PTO_OK);
}
static void expect_reasons(uint64_t producer, uint64_t consumer, uint32_t reasons) {
  assert_int_equal(fixture_reasons(fixture.rt, producer, consumer), reasons);
}

/* ---- names ---- */

static void test_lists_of_rules_are_read_and_written(void **state) {
  static const struct {
    const char *text;
    uint32_t deps;
    const char *name, *list;
  } cases[] = {
      {"exact", PTO_DEPS_EXACT, "exact", "exact"},
      {"pto", PTO_DEPS_PTO, "pto",
       "pto,creator-edges,manual-enters-nothing,predicate-orders-nothing,host-waits-for-readers,base-address"},
      {"pto,creator-edges", PTO_DEPS_PTO, "pto",
       "pto,creator-edges,manual-enters-nothing,predicate-orders-nothing,host-waits-for-readers,base-address"},
      {"pto,no-creator-edges", PTO_DEPS_PTO | PTO_DEPS_SWITCH_CREATOR_EDGES, "pto,no-creator-edges",
       "pto,no-creator-edges,manual-enters-nothing,predicate-orders-nothing,host-waits-for-readers,base-address"},
      {"pto,no-creator-edges,creator-edges", PTO_DEPS_PTO, "pto",
       "pto,creator-edges,manual-enters-nothing,predicate-orders-nothing,host-waits-for-readers,base-address"},
      {"pto,reduce-implied,no-predicate-orders-nothing",
       PTO_DEPS_PTO | PTO_DEPS_SWITCH_REDUCE_IMPLIED | PTO_DEPS_SWITCH_PREDICATE_ORDERS_NOTHING,
       "pto,no-predicate-orders-nothing,reduce-implied",
       "pto,creator-edges,manual-enters-nothing,no-predicate-orders-nothing,reduce-implied,host-waits-for-readers,base-"
       "address"},
  };
  (void)state;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) {
    struct pto_error error = {0};
    uint32_t deps = 77, again = 77;
    assert_int_equal(pto_deps_rules_parse(cases[i].text, &deps, &error), PTO_OK);
    assert_int_equal(deps, cases[i].deps);
    assert_string_equal(pto_deps_rules_name(deps).text, cases[i].name);
    assert_string_equal(pto_deps_rules_list(deps).text, cases[i].list);
    assert_int_equal(pto_deps_rules_parse(cases[i].list, &again, &error), PTO_OK);
    assert_int_equal(again, deps);
  }
}

static void test_a_wrong_list_is_refused_by_name(void **state) {
  static const struct {
    const char *text, *sentence;
  } cases[] = {
      {"", "\"\" is none of exact, pto"},
      {"weak", "\"weak\" is none of exact, pto"},
      {"exact,creator-edges", "\"exact,creator-edges\": rules are switched under pto alone"},
      {"pto,", "\"\" is none of creator-edges, manual-enters-nothing, predicate-orders-nothing, reduce-implied, "
               "host-waits-for-readers, base-address, each also with no- before it"},
      {"pto,creator", "\"creator\" is none of creator-edges,"},
      {"pto,no-", "\"no-\" is none of creator-edges,"},
      {"pto,no-no-creator-edges", "\"no-no-creator-edges\" is none of creator-edges,"},
  };
  (void)state;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) {
    struct pto_error error = {0};
    uint32_t deps = 77;
    assert_int_equal(pto_deps_rules_parse(cases[i].text, &deps, &error), PTO_EINVAL);
    if (!strstr(error.sentence, cases[i].sentence)) fail_msg("%s: %s", cases[i].text, error.sentence);
    assert_int_equal(deps, 77);
  }
}

static void test_a_configuration_with_unknown_rules_is_refused(void **state) {
  static const uint32_t wrong[] = {2, PTO_DEPS_EXACT | PTO_DEPS_SWITCH_CREATOR_EDGES,
                                   PTO_DEPS_PTO | 1u << (PTO_DEPS_SWITCH_SHIFT + PTO_DEPS_NAMED_COUNT), UINT32_MAX};
  (void)state;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(wrong); i++) {
    struct pto_config config = {.size = sizeof config, .deps = wrong[i]};
    struct pto_runtime *rt = NULL;
    char sentence[256];
    assert_int_equal(pto_runtime_create_explained(&config, &rt, sentence, sizeof sentence), PTO_EINVAL);
    assert_non_null(strstr(sentence, "deps "));
  }
}

/* ---- creator-edges ---- */

static int written_twice(struct pto_runtime *rt, struct fixture *f) {
  (void)f;
  struct pto_tensor t = fixture_managed(rt, 64), other = fixture_managed(rt, 64);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &t), PTO_OK);          /* 0: allocates */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &t), PTO_OK);          /* 1: covers it */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "io", &t, &other), PTO_OK); /* 2: reads what 1 left */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &other), PTO_OK);      /* 3 */
  return 0;
}
static void test_creator_edges_go_past_a_later_writer(void **state) {
  (void)state;
  run_under("pto", written_twice);
  expect_reasons(0, 1, PTO_EDGE_RAW | PTO_EDGE_WAW | PTO_EDGE_CREATOR);
  expect_reasons(0, 2, PTO_EDGE_CREATOR);
  expect_reasons(2, 3, PTO_EDGE_RAW | PTO_EDGE_CREATOR);
  expect_reasons(0, 3, 0);
  assert_int_equal(fixture_edges(fixture.rt), 4);
  fixture_close(&fixture);
  run_under("pto,no-creator-edges", written_twice);
  expect_reasons(0, 1, PTO_EDGE_RAW | PTO_EDGE_WAW);
  expect_reasons(0, 2, 0);
  assert_int_equal(fixture_edges(fixture.rt), 3);
  fixture_close(&fixture);
}

/* The same kernel again and again: what template.c takes its short way for. */
static int many_tiles(struct pto_runtime *rt, struct fixture *f) {
  (void)f;
  struct pto_tensor t = fixture_managed(rt, 64);
  fixture_expect(rt, pto_alloc_tensors(rt, &t, 1, NULL), PTO_OK); /* 0 */
  const uint64_t count = 8;
  for (uint64_t i = 0; i < 16; i++) {
    const uint64_t offset = i % 8 * 8;
    struct pto_tensor tile = pto_tensor_view(&t, &offset, &count);
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &tile), PTO_OK);
  }
  return 0;
}
static void test_creator_edges_hold_for_submits_that_repeat_a_form(void **state) {
  (void)state;
  run_under("pto", many_tiles);
  for (uint64_t i = 1; i <= 16; i++) assert_true(fixture_reasons(fixture.rt, 0, i) & PTO_EDGE_CREATOR);
  assert_int_equal(fixture_edges(fixture.rt), 24);
  fixture_close(&fixture);
  run_under("pto,no-creator-edges", many_tiles); /* no tile covers what the allocation has entered */
  for (uint64_t i = 1; i <= 16; i++) assert_int_equal(fixture_reasons(fixture.rt, 0, i), PTO_EDGE_RAW | PTO_EDGE_WAW);
  fixture_close(&fixture);
}

static int reads_what_a_manual_task_made(struct pto_runtime *rt, struct fixture *f) {
  (void)f;
  struct pto_tensor t = fixture_managed(rt, 64);
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_MANUAL), PTO_OK);
  FIXTURE_DO(rt, .label = 1, .modes = "o", .tensors = {&t}); /* 0 */
  FIXTURE_DO(rt, .label = 2, .modes = "b", .tensors = {&t}); /* 1: unordered */
  uint64_t index = 0;
  uint8_t value;
  fixture_expect(rt, pto_read_element(rt, &t, &index, &value), PTO_OK);
  assert_true(fixture_position(1) < FIXTURE_MAX_CALLS); /* the host has waited for the creator */
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  return 0;
}
static void test_the_host_waits_for_the_creator(void **state) {
  (void)state;
  fixture_call_count = 0;
  run_under("pto", reads_what_a_manual_task_made);
  expect_reasons(0, 1, 0);
  fixture_close(&fixture);
}

/* ---- manual-enters-nothing ---- */

static int manual_then_automatic(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor x = fixture_bytes(f, 0, 64), made = fixture_managed(rt, 64);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &x), PTO_OK);    /* 0 */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &made), PTO_OK); /* 1 */
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_MANUAL), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "bb", &x, &made), PTO_OK); /* 2: no edge */
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "ii", &x, &made), PTO_OK); /* 3: sees 0 and 1, not 2 */
  return 0;
}
static void test_what_a_manual_scope_writes_is_unseen(void **state) {
  (void)state;
  run_under("pto", manual_then_automatic);
  assert_int_equal(fixture_edges(fixture.rt), 2);
  expect_reasons(0, 3, PTO_EDGE_RAW);
  expect_reasons(1, 3, PTO_EDGE_RAW | PTO_EDGE_CREATOR);
  fixture_close(&fixture);
  run_under("pto,no-manual-enters-nothing", manual_then_automatic);
  expect_reasons(2, 3, PTO_EDGE_RAW);
  fixture_close(&fixture);
  run_under("exact", manual_then_automatic);
  expect_reasons(2, 3, PTO_EDGE_RAW);
  expect_reasons(0, 2, 0);
  fixture_close(&fixture);
}

/* ---- predicate-orders-nothing ---- */

static int gated(struct pto_runtime *rt, struct fixture *f) {
  const uint64_t shape[] = {1};
  memset(f->memory, 0, 4);
  struct pto_tensor gate = pto_external_tensor(rt, f->memory, PTO_INT32, 1, shape), x = fixture_bytes(f, 64, 8);
  struct pto_tensor bytes = fixture_bytes(f, 0, 4);
  FIXTURE_DO(rt, .label = 1, .modes = "o", .tensors = {&bytes});                                             /* 0 */
  FIXTURE_DO(rt, .label = 2, .modes = "o", .tensors = {&x}, .launch = {.predicate = {&gate, PTO_IF_EQ, 0}}); /* 1 */
  FIXTURE_DO(rt, .label = 3, .modes = "b", .tensors = {&bytes}); /* 2: not after the predicate's read in any case */
  return 0;
}
static void test_a_predicate_orders_nothing(void **state) {
  (void)state;
  run_under("pto", gated);
  expect_reasons(0, 1, 0);
  expect_reasons(1, 2, 0);
  fixture_close(&fixture);
  run_under("pto,no-predicate-orders-nothing", gated);
  expect_reasons(0, 1, PTO_EDGE_RAW);
  fixture_close(&fixture);
  run_under("exact", gated);
  expect_reasons(0, 1, PTO_EDGE_RAW);
  expect_reasons(1, 2, PTO_EDGE_WAR);
  fixture_close(&fixture);
}

/* ---- reduce-implied ---- */

static uint64_t distance; /* between the first and the last task of the next */

static int far_reader(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor a = fixture_bytes(f, 0, 8), b = fixture_bytes(f, 8, 8), other = fixture_bytes(f, 16, 8);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &a), PTO_OK);      /* 0 */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "io", &a, &b), PTO_OK); /* 1 */
  for (uint64_t i = 2; i < distance; i++) fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &other), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "ii", &a, &b), PTO_OK); /* after 1, and so after 0 */
  return 0;
}
static void test_an_edge_that_another_implies_goes_if_it_is_not_far(void **state) {
  (void)state;
  for (distance = 2; distance <= 70; distance++) {
    struct pto_error error = {0};
    fixture = (struct fixture){.config = {.window = 128}};
    assert_int_equal(pto_deps_rules_parse("pto,reduce-implied", &fixture.config.deps, &error), PTO_OK);
    fixture_open(&fixture);
    fixture_run(&fixture, far_reader, PTO_OK);
    expect_reasons(0, 1, PTO_EDGE_RAW);
    expect_reasons(1, distance, PTO_EDGE_RAW);
    expect_reasons(0, distance, distance <= 64 ? 0 : PTO_EDGE_RAW);
    assert_int_equal(fixture_edges(fixture.rt), distance <= 64 ? 2 : 3);
    fixture_close(&fixture);
  }
}

static int explicit_and_many(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor a = fixture_bytes(f, 0, 8);
  const struct pto_tensor *const tensors[] = {&a};
  struct pto_task tasks[40];
  for (int i = 0; i < 40; i++) fixture_expect(rt, fixture_submit(rt, "b", tensors, &tasks[i]), PTO_OK);
  fixture_expect(rt, pto_submit_barrier(rt, tasks, 40, NULL), PTO_OK); /* after a chain: its last task is enough */
  return 0;
}
static void test_explicit_edges_are_reduced_too_and_the_task_still_waits(void **state) {
  (void)state;
  run_under("pto,reduce-implied", explicit_and_many);
  assert_int_equal(fixture_edges(fixture.rt), 40);
  expect_reasons(39, 40, PTO_EDGE_EXPLICIT);
  expect_reasons(38, 40, 0);
  fixture_close(&fixture);
  run_under("pto", explicit_and_many);
  assert_int_equal(fixture_edges(fixture.rt), 79);
  fixture_close(&fixture);
}

/* All that fits into the four rings of a small window: found by `after`, and once more by bytes. */
enum { SMALL_WINDOW = 16, MOST_TASKS = PTO_RING_COUNT * (SMALL_WINDOW - 1) - 1 };

static int after_all(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor a = fixture_bytes(f, 0, 8);
  struct pto_task tasks[MOST_TASKS];
  for (uint32_t i = 0; i < MOST_TASKS; i++) {
    if (i && i % (SMALL_WINDOW - 1) == 0) fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
    FIXTURE_DO(rt, .modes = "o", .tensors = {&a}, .out = &tasks[i]);
  }
  FIXTURE_DO(rt, .label = 1, .modes = "b", .tensors = {&a}, .launch = {.after = tasks, .after_count = MOST_TASKS});
  for (uint32_t i = 1; i < PTO_RING_COUNT; i++) fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  return 0;
}
static void test_a_task_may_come_after_all_others_of_a_small_window_twice(void **state) {
  static const char *const rules[] = {"pto,reduce-implied", "pto"};
  (void)state;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(rules); i++) {
    struct pto_error error = {0};
    fixture = (struct fixture){.config = {.window = SMALL_WINDOW}};
    assert_int_equal(pto_deps_rules_parse(rules[i], &fixture.config.deps, &error), PTO_OK);
    fixture_open(&fixture);
    fixture_call_count = 0;
    fixture_run(&fixture, after_all, PTO_OK);
    assert_int_equal(fixture_edges(fixture.rt), MOST_TASKS);
    for (uint32_t k = 0; k < MOST_TASKS; k++)
      expect_reasons(k, MOST_TASKS, PTO_EDGE_EXPLICIT | PTO_EDGE_RAW | PTO_EDGE_WAW);
    assert_int_equal(fixture_position(1), MOST_TASKS);
    fixture_close(&fixture);
  }
}

/* ---- base-address ---- */

static int two_bases(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor whole = fixture_bytes(f, 0, 64), tail = fixture_bytes(f, 32, 32), longer = fixture_bytes(f, 32, 64);
  const uint64_t offset = 32, count = 32;
  struct pto_tensor view = pto_tensor_view(&whole, &offset, &count);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &view), PTO_OK);   /* 0 */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &tail), PTO_OK);   /* 1: the same bytes, from another first one */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &view), PTO_OK);   /* 2: 1 has replaced nothing of the whole */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &tail), PTO_OK);   /* 3 */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &longer), PTO_OK); /* 4: begins as the tail does */
  return 0;
}
static void test_a_buffer_is_known_by_its_first_byte(void **state) {
  static const char *const without[] = {"pto,no-base-address", "exact"};
  (void)state;
  run_under("pto", two_bases);
  expect_reasons(0, 1, 0);
  expect_reasons(0, 2, PTO_EDGE_RAW);
  expect_reasons(1, 2, 0);
  expect_reasons(1, 3, PTO_EDGE_RAW);
  expect_reasons(0, 3, 0);
  expect_reasons(1, 4, PTO_EDGE_RAW);
  assert_int_equal(fixture_edges(fixture.rt), 3);
  fixture_close(&fixture);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(without); i++) {
    run_under(without[i], two_bases);
    expect_reasons(0, 1, PTO_EDGE_RAW | PTO_EDGE_WAW);
    expect_reasons(0, 2, 0);
    expect_reasons(1, 2, PTO_EDGE_RAW);
    assert_int_equal(fixture_edges(fixture.rt), 4);
    fixture_close(&fixture);
  }
}

static int recorded_bases(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor whole = fixture_bytes(f, 0, 64), tail = fixture_bytes(f, 32, 32);
  const struct pto_param boundary[] = {pto_inout(&whole), pto_hold(&tail)};
  struct pto_recorded *recorded;
  fixture_expect(rt, pto_recorded_begin(rt, boundary, 2), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &whole), PTO_OK); /* 1: the launch's begin is task 0 */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &tail), PTO_OK);  /* 2 */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &whole), PTO_OK); /* 3: task 2 has replaced nothing of the whole */
  fixture_expect(rt, pto_recorded_end(rt, &recorded), PTO_OK);
  const struct pto_recorded_launch launch = {.size = sizeof launch, .params = boundary, .count = 2};
  fixture_expect(rt, pto_submit_recorded(rt, recorded, &launch, NULL), PTO_OK);
  pto_recorded_destroy(recorded);
  return 0;
}
static void test_a_buffer_is_known_by_its_first_byte_in_a_recording_too(void **state) {
  static const char *const rules[] = {"pto", "pto,no-base-address"};
  (void)state;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(rules); i++) {
    run_under(rules[i], recorded_bases);
    expect_reasons(1, 2, i ? PTO_EDGE_EXPLICIT : 0);
    expect_reasons(1, 3, PTO_EDGE_EXPLICIT);
    expect_reasons(2, 3, i ? PTO_EDGE_EXPLICIT : 0);
    fixture_close(&fixture);
  }
}

/* ---- creator-edges ---- */

/* No bytes, no edge: the third task orders the second and nothing else. */
static int recorded_empty(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor in = fixture_bytes(f, 0, 64);
  const struct pto_param boundary = pto_input(&in);
  struct pto_recorded *recorded;
  fixture_expect(rt, pto_recorded_begin(rt, &boundary, 1), PTO_OK);
  const struct pto_tensor made = fixture_managed(rt, 64), empty = fixture_managed(rt, 0);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &empty), PTO_OK);         /* 1: the launch's begin is task 0 */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &made), PTO_OK);          /* 2 */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "ii", &made, &empty), PTO_OK); /* 3 */
  fixture_expect(rt, pto_recorded_end(rt, &recorded), PTO_OK);
  const struct pto_recorded_launch launch = {.size = sizeof launch, .params = &boundary, .count = 1};
  fixture_expect(rt, pto_submit_recorded(rt, recorded, &launch, NULL), PTO_OK);
  pto_recorded_destroy(recorded);
  return 0;
}
static void test_a_recorded_tensor_without_elements_has_no_creator(void **state) {
  (void)state;
  run_under("pto", recorded_empty);
  expect_reasons(1, 3, 0);
  expect_reasons(2, 3, PTO_EDGE_EXPLICIT);
  fixture_close(&fixture);
}

/* ---- host-waits-for-readers ---- */

static uint64_t stalls; /* of the host, for its write alone */

static void write_first_byte(struct pto_runtime *rt, const struct pto_tensor *t) {
  const uint64_t index = 0, before = rt->stall_count;
  const uint8_t value = 9;
  fixture_expect(rt, pto_write_element(rt, t, &index, &value), PTO_OK);
  stalls = rt->stall_count - before;
}

/* Waits for the tasks so far that write `t`, which the readers of the next tests are not. */
static void wait_for(struct pto_runtime *rt, const struct pto_tensor *t) {
  const uint64_t index = 0;
  uint8_t value;
  fixture_expect(rt, pto_read_element(rt, t, &index, &value), PTO_OK);
}

static int reader_of_what_was_written(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor a = fixture_bytes(f, 0, 8);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &a), PTO_OK);
  wait_for(rt, &a);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &a), PTO_OK);
  write_first_byte(rt, &a);
  return 0;
}
static int reader_alone(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor a = fixture_bytes(f, 0, 8);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &a), PTO_OK); /* nothing has entered a: no task comes before it */
  write_first_byte(rt, &a);
  return 0;
}
static int reader_before_the_writer(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor a = fixture_bytes(f, 0, 8), b = fixture_bytes(f, 8, 8);
  for (int i = 0; i < 2; i++) fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &b), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "ib", &a, &b), PTO_OK); /* the third of a chain */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &a), PTO_OK);      /* WAR: no edge */
  wait_for(rt, &a);
  write_first_byte(rt, &a);
  return 0;
}
static int reader_of_what_was_allocated(struct pto_runtime *rt, struct fixture *f) {
  (void)f;
  struct pto_tensor a = fixture_managed(rt, 8);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &a), PTO_OK);
  wait_for(rt, &a);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &a), PTO_OK);
  write_first_byte(rt, &a);
  return 0;
}
/* Its writer's buffer begins elsewhere: the host does not find it. */
static int writer_of_another_base(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor a = fixture_bytes(f, 0, 16), tail = fixture_bytes(f, 8, 8);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &a), PTO_OK);
  write_first_byte(rt, &tail);
  return 0;
}
static int reader_of_other_bytes(struct pto_runtime *rt, struct fixture *f) {
  const uint64_t half = 8;
  struct pto_tensor a = fixture_bytes(f, 0, 16), tail = pto_tensor_view(&a, &half, &half);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &a), PTO_OK);
  wait_for(rt, &a);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &tail), PTO_OK);
  write_first_byte(rt, &a);
  return 0;
}
/* Another byte of the tensor has been written: its writer's readers read the first byte too. */
static int reader_behind_a_writer_of_another_byte(struct pto_runtime *rt, struct fixture *f) {
  const uint64_t half = 8;
  struct pto_tensor a = fixture_bytes(f, 0, 16), tail = pto_tensor_view(&a, &half, &half);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &tail), PTO_OK);
  wait_for(rt, &tail);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &a), PTO_OK);
  write_first_byte(rt, &a);
  return 0;
}

static void test_the_host_waits_for_readers_behind_a_writer(void **state) {
  static const struct {
    const char *what;
    int (*body)(struct pto_runtime *, struct fixture *);
    bool waits;
  } rows[] = {
      {"of what was written", reader_of_what_was_written, true},
      {"alone", reader_alone, false},
      {"before the writer", reader_before_the_writer, false},
      {"of what was allocated", reader_of_what_was_allocated, true},
      {"of other bytes", reader_of_other_bytes, false},
      {"behind a writer of another byte", reader_behind_a_writer_of_another_byte, true},
  };
  static const char *const rules[] = {"pto", "pto,no-creator-edges", "pto,no-host-waits-for-readers"};
  (void)state;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(rows); i++)
    for (size_t k = 0; k < PTO_ARRAY_LENGTH(rules); k++) {
      struct pto_error error = {0};
      fixture = (struct fixture){.config = {.engine = "virtual"}};
      assert_int_equal(pto_deps_rules_parse(rules[k], &fixture.config.deps, &error), PTO_OK);
      fixture_open(&fixture);
      fixture_run(&fixture, rows[i].body, PTO_OK);
      if ((stalls > 0) != (rows[i].waits && k < 2)) fail_msg("a reader %s, under %s", rows[i].what, rules[k]);
      fixture_close(&fixture);
    }
}

static void test_the_host_finds_a_buffer_by_its_first_byte(void **state) {
  static const char *const rules[] = {"pto", "pto,no-base-address", "exact"};
  (void)state;
  for (size_t k = 0; k < PTO_ARRAY_LENGTH(rules); k++) {
    struct pto_error error = {0};
    fixture = (struct fixture){.config = {.engine = "virtual"}};
    assert_int_equal(pto_deps_rules_parse(rules[k], &fixture.config.deps, &error), PTO_OK);
    fixture_open(&fixture);
    fixture_run(&fixture, writer_of_another_base, PTO_OK);
    assert_int_equal(stalls > 0, k > 0);
    fixture_close(&fixture);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lists_of_rules_are_read_and_written),
      cmocka_unit_test(test_a_wrong_list_is_refused_by_name),
      cmocka_unit_test(test_a_configuration_with_unknown_rules_is_refused),
      cmocka_unit_test(test_creator_edges_go_past_a_later_writer),
      cmocka_unit_test(test_creator_edges_hold_for_submits_that_repeat_a_form),
      cmocka_unit_test(test_the_host_waits_for_the_creator),
      cmocka_unit_test(test_what_a_manual_scope_writes_is_unseen),
      cmocka_unit_test(test_a_predicate_orders_nothing),
      cmocka_unit_test(test_an_edge_that_another_implies_goes_if_it_is_not_far),
      cmocka_unit_test(test_explicit_edges_are_reduced_too_and_the_task_still_waits),
      cmocka_unit_test(test_a_task_may_come_after_all_others_of_a_small_window_twice),
      cmocka_unit_test(test_a_buffer_is_known_by_its_first_byte),
      cmocka_unit_test(test_a_buffer_is_known_by_its_first_byte_in_a_recording_too),
      cmocka_unit_test(test_a_recorded_tensor_without_elements_has_no_creator),
      cmocka_unit_test(test_the_host_finds_a_buffer_by_its_first_byte),
      cmocka_unit_test(test_the_host_waits_for_readers_behind_a_writer),
  };
  return cmocka_run_group_tests_name("dependency rules", tests, NULL, NULL);
}
