/* SPDX-License-Identifier: MIT */
/*
 * What a review of the runtime's core found wrong, a test each: room that expired work must give back, order among equals,
 * and what a refusal says.
 */
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

/* ---- what has expired takes no room ---- */

static int short_lived_registrations(struct pto_runtime *rt, struct fixture *f) {
  for (uint64_t i = 0; i < 2000; i++) {
    fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
    struct pto_tensor t = fixture_bytes(f, 32 * i, 16); /* a gap between any two: each is a range of its own */
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &t), PTO_OK);
    fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  }
  return 0;
}
static void test_registrations_whose_scopes_have_ended_take_no_room_in_the_smallest_window(void **state) {
  (void)state;
  fixture.config.window = 4;
  fixture_open(&fixture);
  fixture_run(&fixture, short_lived_registrations, PTO_OK);
  assert_int_equal(fixture_tasks(fixture.rt), 2000);
  fixture_close(&fixture);
}

static int buffers_after_registrations(struct pto_runtime *rt, struct fixture *f) {
  (void)short_lived_registrations(rt, f);
  struct pto_tensor t = fixture_managed(rt, 64);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &t), PTO_OK);
  return 0;
}
static void test_buffers_find_room_behind_registrations_whose_scopes_have_ended(void **state) {
  (void)state;
  fixture.config.window = 4;
  fixture_open(&fixture);
  fixture_run(&fixture, buffers_after_registrations, PTO_OK);
  fixture_close(&fixture);
}

static int too_many_registrations(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = {.status = PTO_OK};
  for (uint64_t i = 0; i < 2000 && t.status == PTO_OK; i++) t = fixture_bytes(f, 32 * i, 16);
  assert_int_equal(t.status, PTO_ECAPACITY);
  assert_int_equal(pto_submit_barrier(rt, NULL, 0, NULL), PTO_ECAPACITY);
  return 0;
}
static void test_live_registrations_that_fill_the_registry_end_the_run(void **state) {
  (void)state;
  fixture.config.window = 4;
  fixture_open(&fixture);
  fixture_run(&fixture, too_many_registrations, PTO_ECAPACITY);
  fixture_expect_sentence(fixture.rt, "registrations");
  fixture_run(&fixture, short_lived_registrations, PTO_OK);
  fixture_close(&fixture);
}

/* Every task before the slot is CONSUMED: the scopes that are open have none in the shared ring. */

/* A writer W meets, on its way through the readers of one region: old ones that have expired, P whose list of consumers
 * needs a chunk that only the expired ones can give, and Q behind it. */
static int chunks_run_out_on_the_way(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor shared = fixture_bytes(f, 0, 64), tile = fixture_bytes(f, 1024, 64);
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  for (int i = 0; i < 4; i++) fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &shared), PTO_OK); /* 0 … 3: expire below */
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  for (int i = 0; i < 16; i++) {
    fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
    fixture_expect(rt, pto_submit_barrier(rt, NULL, 0, NULL), PTO_OK); /* 4 … 19 */
    fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  }
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &shared), PTO_OK); /* 20: Q, in the chunk that the others leave behind */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "io", &shared, &tile), PTO_OK);                      /* 21: P */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &shared), PTO_OK);                              /* 22: Q' */
  for (int i = 0; i < 5; i++) fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &tile), PTO_OK);    /* 23 … 27 */
  return FIXTURE_SUBMIT(rt, "o", &shared);                                                   /* 28: W */
}
static void test_list_chunks_that_run_out_on_the_way_through_a_region_lose_no_edge(void **state) {
  (void)state;
  for (uint64_t chunks = 1; chunks <= 6; chunks++) {
    fixture.config.window = 16;
    fixture.config.list_chunks = chunks;
    fixture_open(&fixture);
    fixture_run(&fixture, chunks_run_out_on_the_way, chunks < 2 ? PTO_ECAPACITY : PTO_OK);
    if (chunks >= 2)
      for (uint64_t reader = 20; reader <= 22; reader++) assert_int_equal(fixture_reasons(fixture.rt, reader, 28), PTO_EDGE_WAR);
    fixture_close(&fixture);
  }
}

/* ---- order among equals ---- */

static uint64_t ran[128];
static uint32_t ran_count;
static int note(const struct pto_kernel_args *args) {
  ran[ran_count++] = args->scalars[0].u64;
  return 0;
}

static int forty_readers(struct pto_runtime *rt, struct fixture *f) {
  struct pto_kernel kernel = fixture_kernel_with("is", 0, note);
  struct pto_tensor t = fixture_bytes(f, 0, 64);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &t), PTO_OK);
  for (uint64_t i = 0; i < 40; i++) {
    struct pto_param params[2] = {pto_input(&t), pto_scalar_u64(i)};
    fixture_expect(rt, pto_submit_aic(rt, &kernel, params, 2), PTO_OK);
  }
  uint8_t value = 0;
  static const uint64_t index = 0;
  fixture_expect(rt, pto_write_element(rt, &t, &index, &value), PTO_OK); /* waits for all: the kernel lives until then */
  free((void *)(uintptr_t)kernel.params);
  return 0;
}
static void test_consumers_that_become_ready_at_once_run_in_the_order_of_their_submits(void **state) {
  (void)state;
  ran_count = 0;
  fixture_open(&fixture);
  fixture_run(&fixture, forty_readers, PTO_OK);
  assert_int_equal(ran_count, 40);
  for (uint64_t i = 0; i < 40; i++) assert_int_equal(ran[i], i);
  fixture_close(&fixture);
}

/* ---- what a refusal says ---- */

static int predicates(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 64), flag = fixture_bytes(f, 1024, 1);
  struct pto_tensor stale = fixture_bytes(f, 2048, 1), fresh = fixture_managed(rt, 1), late = pto_tensor_with_version(&flag, 3);
  stale.buffer.id += 1000;
  const struct pto_tensor *const wrong[] = {&stale, &fresh, &late};
  static const int statuses[] = {PTO_ESTALE, PTO_EINVAL, PTO_EINVAL};
  struct pto_param param = pto_input(&t);
  for (int i = 0; i < 3; i++) {
    struct pto_launch launch = {.aiv0 = fixture_kernel("i"), .predicate = {wrong[i], PTO_IF_EQ, 0}};
    fixture_expect(rt, pto_submit(rt, &launch, &param, 1, NULL), statuses[i]);
    fixture_expect_sentence(rt, "kernel: predicate");
  }
  return 0;
}
static void test_a_refused_predicate_is_called_the_predicate(void **state) {
  (void)state;
  fixture_open(&fixture);
  fixture_run(&fixture, predicates, PTO_OK);
  fixture_close(&fixture);
}

static int nothing_to_run(struct pto_runtime *rt, struct fixture *f) {
  (void)f;
  static const struct pto_kernel empty = {.name = "hollow", .cores = PTO_AIV};
  fixture_expect(rt, pto_submit_aiv(rt, &empty, NULL, 0), PTO_EINVAL);
  fixture_expect_sentence(rt, "hollow");
  assert_int_equal(fixture_tasks(rt), 0);
  return 0;
}
static void test_a_kernel_without_a_function_is_refused(void **state) {
  (void)state;
  fixture_open(&fixture);
  fixture_run(&fixture, nothing_to_run, PTO_OK);
  fixture_close(&fixture);
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
  assert_int_equal(fixture_edges(fixture.rt), 10 + 2 * 9); /* RAW to each reader; WAW and WAR to each write but the first */
  fixture_close(&fixture);
}

/* ---- the smallest rings ---- */

static int one_at_a_time(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 64);
  for (int i = 0; i < 10; i++) {
    fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &t), PTO_OK);
    fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  }
  return 0;
}
static void test_a_window_of_two_slots_has_room_for_one_task(void **state) {
  (void)state;
  fixture.config.window = 2;
  fixture_open(&fixture);
  fixture_run(&fixture, one_at_a_time, PTO_OK);
  assert_int_equal(fixture_edges(fixture.rt), 9);
  fixture_close(&fixture);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_registrations_whose_scopes_have_ended_take_no_room_in_the_smallest_window),
      TEST(test_buffers_find_room_behind_registrations_whose_scopes_have_ended),
      TEST(test_live_registrations_that_fill_the_registry_end_the_run),
      TEST(test_list_chunks_that_run_out_on_the_way_through_a_region_lose_no_edge),
      TEST(test_consumers_that_become_ready_at_once_run_in_the_order_of_their_submits),
      TEST(test_a_refused_predicate_is_called_the_predicate),
      TEST(test_a_kernel_without_a_function_is_refused),
      TEST(test_scopes_nest_rightly_when_the_count_of_scopes_wraps),
      TEST(test_marks_visits_and_orders_wrap_without_a_lost_or_a_false_edge),
      TEST(test_a_window_of_two_slots_has_room_for_one_task),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
