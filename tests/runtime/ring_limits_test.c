/* SPDX-License-Identifier: MIT */
/* Counters that wrap, and the smallest rings: no edge is lost and none is false. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/control/runtime_state.h>
#include <tests/support/runtime_fixture.h>

static struct fixture fixture;

static int setup(void **state) {
  (void)state;
  memset(&fixture, 0, sizeof fixture);
  return 0;
}

/* ---- counters that wrap ---- */

static int scopes_over_the_wrap(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 64), inner = t;
  rt->scope_serial = UINT32_MAX - 2;
  for (int i = 0; i < 6; i++) {
    fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
    inner = fixture_bytes(f, 1024, 64);
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "io", &t, &inner), PTO_OK);
    assert_int_equal(rt->scope_depth, 1);
    fixture_expect(rt, pto_scope_end(rt), PTO_OK);
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &inner), PTO_ESTALE);
  }
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &t), PTO_OK); /* the run's own scope is as it was */
  return 0;
}
static void test_scopes_nest_rightly_when_the_count_of_scopes_wraps(void **state) {
  (void)state;
  fixture_open(&fixture);
  fixture_run(&fixture, scopes_over_the_wrap, PTO_OK);
  fixture_close(&fixture);
}

static int chain_with_readers(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 64), half = fixture_bytes(f, 16, 16);
  rt->hazards.serial = UINT32_MAX - 4;
  rt->map.visit = UINT32_MAX - 4;
  rt->scheduler.next_order = UINT32_MAX - 4;
  for (int i = 0; i < 10; i++) {
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &t), PTO_OK);
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &half), PTO_OK);
  }
  return 0;
}
static void test_marks_visits_and_orders_wrap_without_a_lost_or_a_false_edge(void **state) {
  (void)state;
  fixture_open(&fixture);
  fixture_run(&fixture, chain_with_readers, PTO_OK);
  assert_int_equal(fixture_edges(fixture.rt),
                   10 + 2 * 9); /* RAW to each reader; WAW and WAR to each write but the first */
  fixture_close(&fixture);
}

/* ---- the smallest rings ---- */

static int window_at_a_time(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 64);
  for (int i = 0; i < 10; i++) {
    fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
    for (uint64_t k = 0; k < PTO_MIN_WINDOW - 1; k++) fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &t), PTO_OK);
    fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  }
  return 0;
}
static void test_both_ways_to_a_runtime_take_the_smallest_window_and_refuse_the_next_smaller(void **state) {
  (void)state;
  fixture.config.window = PTO_MIN_WINDOW;
  fixture_open(&fixture);
  fixture_run(&fixture, window_at_a_time, PTO_OK);
  assert_int_equal(fixture_edges(fixture.rt), 10 * (PTO_MIN_WINDOW - 1) - 1);
  struct pto_config config = fixture.config;
  config.window = PTO_MIN_WINDOW / 2;
  struct pto_runtime *rt = NULL;
  struct pto_error error = {0};
  char sentence[PTO_SENTENCE_SIZE];
  assert_int_equal(pto_control_create(&config, pto_serial_port_create(&fixture.port), NULL, &rt, &error), PTO_EINVAL);
  assert_int_equal(pto_runtime_create_explained(&config, &rt, sentence, sizeof sentence), PTO_EINVAL);
  assert_string_equal(sentence, error.sentence);
  assert_null(rt);
  fixture_close(&fixture);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_scopes_nest_rightly_when_the_count_of_scopes_wraps),
      TEST(test_marks_visits_and_orders_wrap_without_a_lost_or_a_false_edge),
      TEST(test_both_ways_to_a_runtime_take_the_smallest_window_and_refuse_the_next_smaller),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
