/* SPDX-License-Identifier: MIT */
/* Work that has expired gives its room back: registrations, slots of shared rings, chunks of lists of accesses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/control/runtime_state.h>
#include <runtime/task/task_ring.h>
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

static int registrations_that_fill_the_map_and_expire(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor buffer = fixture_managed(rt, 64); /* has a space too, so there are fewer ranges than spaces */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &buffer), PTO_OK);
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  uint64_t count = 0;
  for (; pto_access_map_has_space(&rt->map); count++) assert_int_equal(fixture_bytes(f, 32 * count, 16).status, PTO_OK);
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  assert_int_equal(fixture_bytes(f, 32 * count, 16).status, PTO_OK);
  return 0;
}
static void test_registrations_that_have_expired_make_room_for_the_next(void **state) {
  (void)state;
  fixture.config.window = 4;
  fixture_open(&fixture);
  fixture_run(&fixture, registrations_that_fill_the_map_and_expire, PTO_OK);
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

/* Three tasks that have not run, with 32 registrations each whose scope has ended: each keeps an address space. */
static void expire_spaces(struct pto_runtime *rt, struct fixture *f) {
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  for (uint64_t task = 0; task < 3; task++) {
    struct pto_tensor tensors[PTO_MAX_TENSORS];
    struct pto_param params[PTO_MAX_TENSORS];
    char modes[PTO_MAX_TENSORS + 1] = "";
    for (uint64_t i = 0; i < PTO_MAX_TENSORS; i++) {
      tensors[i] = fixture_bytes(f, 32 * (PTO_MAX_TENSORS * task + i), 16);
      params[i] = pto_inout(&tensors[i]);
      modes[i] = 'b';
    }
    const struct pto_launch launch = {.aiv0 = fixture_kernel(modes)};
    fixture_expect(rt, pto_submit(rt, &launch, params, PTO_MAX_TENSORS, NULL), PTO_OK);
  }
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
}
static int registrations_beside_expired_ones(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor buffer = fixture_managed(rt, 64); /* has a space too, and is no range */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &buffer), PTO_OK);
  expire_spaces(rt, f);
  struct pto_tensor t = {.status = PTO_OK};
  for (uint64_t i = 3 * PTO_MAX_TENSORS; t.status == PTO_OK; i++) t = fixture_bytes(f, 32 * i, 16);
  assert_int_equal(t.status, PTO_ECAPACITY);
  return 0;
}
static int buffers_beside_expired_registrations(struct pto_runtime *rt, struct fixture *f) {
  expire_spaces(rt, f);
  for (uint64_t i = 3 * PTO_MAX_TENSORS; pto_access_map_has_space(&rt->map); i++)
    assert_int_equal(fixture_bytes(f, 32 * i, 16).status, PTO_OK);
  struct pto_tensor t = fixture_managed(rt, 64);
  assert_int_equal(FIXTURE_SUBMIT(rt, "o", &t), PTO_ECAPACITY);
  return 0;
}
static int allocation_beside_expired_registrations(struct pto_runtime *rt, struct fixture *f) {
  expire_spaces(rt, f);
  for (uint64_t i = 3 * PTO_MAX_TENSORS; pto_access_map_has_space(&rt->map); i++)
    assert_int_equal(fixture_bytes(f, 32 * i, 16).status, PTO_OK);
  struct pto_tensor t = fixture_managed(rt, 64);
  assert_int_equal(pto_alloc_tensors(rt, &t, 1, NULL), PTO_ECAPACITY);
  return 0;
}
static void test_address_spaces_that_unfinished_work_keeps_end_the_run_where_they_are_all(void **state) {
  (void)state;
  fixture.config.window = 4;
  fixture_open(&fixture);
  fixture_run(&fixture, registrations_beside_expired_ones, PTO_ECAPACITY);
  fixture_expect_sentence(fixture.rt, "registrations");
  fixture_run(&fixture, buffers_beside_expired_registrations, PTO_ECAPACITY);
  fixture_expect_sentence(fixture.rt, "address spaces");
  fixture_run(&fixture, allocation_beside_expired_registrations, PTO_ECAPACITY);
  fixture_expect_sentence(fixture.rt, "address spaces");
  fixture_run(&fixture, short_lived_registrations, PTO_OK);
  fixture_close(&fixture);
}

static void test_registrations_outside_a_run_that_fill_the_registry_are_invalid(void **state) {
  (void)state;
  fixture.config.window = 4;
  fixture_open(&fixture);
  struct pto_tensor t = {.status = PTO_OK};
  for (uint64_t i = 0; i < 2000 && t.status == PTO_OK; i++) t = fixture_bytes(&fixture, 32 * i, 16);
  assert_int_equal(t.status, PTO_ECAPACITY);
  fixture_close(&fixture);
}

static int deep_scopes(struct pto_runtime *rt, struct fixture *f) {
  for (int depth = 1; depth <= 3; depth++) fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  struct pto_tensor t = fixture_bytes(f, 0, 64);
  for (int round = 0; round < 100; round++) {
    fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
    for (int i = 0; i < 5; i++) fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &t), PTO_OK);
    fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  }
  for (int i = 0; i < 7; i++) fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &t), PTO_OK);
  for (int depth = 1; depth <= 3; depth++) fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  return 0;
}
/* Every task before the slot is RETIRABLE: the scopes that are open have none in the shared ring. */
static void
test_slots_of_scopes_that_share_the_last_ring_come_back_where_no_open_scope_has_an_older_task(void **state) {
  (void)state;
  fixture.config.window = 8;
  fixture_open(&fixture);
  fixture_run(&fixture, deep_scopes, PTO_OK);
  assert_int_equal(fixture_tasks(fixture.rt), 507);
  fixture_close(&fixture);
}

static int deep_scopes_with_an_older_task(struct pto_runtime *rt, struct fixture *f) {
  for (int depth = 1; depth <= 3; depth++) fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  struct pto_tensor t = fixture_bytes(f, 0, 64);
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  for (int i = 0; i < 5; i++) fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &t), PTO_OK);
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &t), PTO_OK); /* depth 3 */
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  for (int i = 0; i < 6; i++) fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &t), PTO_OK);
  assert_int_equal(FIXTURE_SUBMIT(rt, "b", &t), PTO_EWINDOW);
  return 0;
}
static void test_an_older_task_of_an_open_scope_holds_the_shared_ring(void **state) {
  (void)state;
  fixture.config.window = 8;
  fixture_open(&fixture);
  fixture_run(&fixture, deep_scopes_with_an_older_task, PTO_EWINDOW);
  fixture_expect_sentence(fixture.rt, "open scope 3 (depth 3) holds 1 tasks");
  fixture_expect_sentence(fixture.rt, "open scope 5 (depth 4) holds 6 tasks");
  fixture_close(&fixture);
}

/* A writer W finds, on its way through the readers of one region: old ones that have expired, P whose list of consumers
 * needs a chunk that only the expired ones can give, and Q behind it. */
#define WRITER (UINT64_C(23) + PTO_INLINE_CONSUMERS)
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
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "io", &shared, &tile), PTO_OK); /* 21: P */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &shared), PTO_OK);         /* 22: Q' */
  for (uint64_t i = 23; i < WRITER; i++) fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &tile), PTO_OK);
  return FIXTURE_SUBMIT(rt, "o", &shared); /* W */
}
static void test_list_chunks_that_run_out_on_the_way_through_a_region_lose_no_edge(void **state) {
  (void)state;
  for (uint64_t chunks = 1; chunks <= 6; chunks++) {
    fixture.config.window = 16;
    fixture.config.list_chunks = chunks;
    fixture_open(&fixture);
    fixture_run(&fixture, chunks_run_out_on_the_way, chunks < 2 ? PTO_ECAPACITY : PTO_OK);
    if (chunks >= 2)
      for (uint64_t reader = 20; reader <= 22; reader++)
        assert_int_equal(fixture_reasons(fixture.rt, reader, WRITER), PTO_EDGE_WAR);
    fixture_close(&fixture);
  }
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_registrations_whose_scopes_have_ended_take_no_room_in_the_smallest_window),
      TEST(test_buffers_find_room_behind_registrations_whose_scopes_have_ended),
      TEST(test_registrations_that_have_expired_make_room_for_the_next),
      TEST(test_live_registrations_that_fill_the_registry_end_the_run),
      TEST(test_address_spaces_that_unfinished_work_keeps_end_the_run_where_they_are_all),
      TEST(test_registrations_outside_a_run_that_fill_the_registry_are_invalid),
      TEST(test_slots_of_scopes_that_share_the_last_ring_come_back_where_no_open_scope_has_an_older_task),
      TEST(test_an_older_task_of_an_open_scope_holds_the_shared_ring),
      TEST(test_list_chunks_that_run_out_on_the_way_through_a_region_lose_no_edge),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
