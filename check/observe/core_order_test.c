/* SPDX-License-Identifier: MIT */
#include <check/observe/core_order.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pto/core.h>
#include <runtime/base/base.h>

/* A unit of one block: AIC, AIV0 and AIV1 are members 0, 1 and 2. */
static struct pto_core_member members[PTO_ROLE_COUNT];
static struct pto_core_order order;

static void begin(void) {
  for (uint32_t role = 0; role < PTO_ROLE_COUNT; role++)
    members[role] = (struct pto_core_member){.core = (uint16_t)role, .role = (uint8_t)role, .waits = true};
  pto_core_order_reset(&order, members, PTO_ROLE_COUNT);
}
static uint32_t add(uint32_t role, struct pto_core_event event) {
  const struct pto_message message = {.core = (uint16_t)role, .role = (uint8_t)role};
  event.message = &message;
  return pto_core_order_add(&order, &event);
}
#define ADD(role, ...) add(role, (struct pto_core_event){__VA_ARGS__})
#define BEGIN(role) ADD(role, .kind = PTO_CORE_BEGUN)
#define SIGNAL(role, to, flag) ADD(role, .kind = PTO_CORE_SIGNALS, .roles = (uint8_t)PTO_ROLE_BIT(to), .subject = flag)
#define TAKE(role, flag) ADD(role, .kind = PTO_CORE_TOOK, .subject = flag)

static void solve(void) { assert_true(pto_core_order_solve(&order)); }
static int teardown(void **state) {
  (void)state;
  pto_core_order_fini(&order);
  return 0;
}

static void test_a_wait_is_after_the_signal_of_its_number(void **state) {
  (void)state;
  begin();
  const uint32_t before = BEGIN(0), between = SIGNAL(0, 1, 2), after = SIGNAL(0, 1, 2);
  BEGIN(1);
  const uint32_t first = TAKE(1, 2), second = TAKE(1, 2);
  solve();
  assert_true(pto_core_order_is_before(&order, before, first));
  assert_false(pto_core_order_is_before(&order, between, first)); /* what lies between the two signals */
  assert_true(pto_core_order_is_before(&order, between, second));
  assert_false(pto_core_order_is_before(&order, after, second));
  assert_false(pto_core_order_is_before(&order, first, after));
}

/* Both signals have come before the first wait, in this run. */
static void test_a_wait_is_after_a_signal_only_where_the_others_are_too_few(void **state) {
  (void)state;
  begin();
  const uint32_t of_aic = BEGIN(0), of_aiv0 = BEGIN(1);
  SIGNAL(0, 2, 0);
  SIGNAL(1, 2, 0);
  BEGIN(2);
  const uint32_t first = TAKE(2, 0), second = TAKE(2, 0);
  solve();
  assert_false(pto_core_order_is_before(&order, of_aic, first));
  assert_false(pto_core_order_is_before(&order, of_aiv0, first));
  assert_true(pto_core_order_is_before(&order, of_aic, second));
  assert_true(pto_core_order_is_before(&order, of_aiv0, second));
}

/* AIV0's signal answers the first wait, so that wait is after the AIC's. */
static void test_a_signal_that_follows_the_wait_is_none_of_the_others(void **state) {
  (void)state;
  begin();
  const uint32_t of_aic = BEGIN(0);
  SIGNAL(0, 2, 0);
  BEGIN(2);
  const uint32_t first = TAKE(2, 0);
  SIGNAL(2, 1, 5);
  BEGIN(1);
  TAKE(1, 5);
  SIGNAL(1, 2, 0);
  TAKE(2, 0);
  solve();
  assert_true(pto_core_order_is_before(&order, of_aic, first));
}

static void test_a_push_is_after_the_pops_that_make_its_room(void **state) {
  (void)state;
  const uint64_t half = PTO_CORE_FIFO_BYTES / 2;
  begin();
  BEGIN(1);
  for (int i = 0; i < 2; i++) {
    ADD(0, .kind = PTO_CORE_HAS_ROOM, .subject = PTO_ROLE_AIV0, .size_bytes = half - 8);
    ADD(0, .kind = PTO_CORE_PUSHES, .subject = PTO_ROLE_AIV0, .size_bytes = half - 8);
  }
  const uint32_t popped = ADD(1, .kind = PTO_CORE_POPPED, .subject = PTO_ROLE_AIC, .size_bytes = half - 8);
  ADD(1, .kind = PTO_CORE_RELEASES, .subject = PTO_ROLE_AIC, .size_bytes = half - 8);
  const uint32_t room = ADD(0, .kind = PTO_CORE_HAS_ROOM, .subject = PTO_ROLE_AIV0, .size_bytes = 1);
  solve();
  assert_true(pto_core_order_is_before(&order, popped, room));
  assert_int_equal(order.records[popped].partner, 2);
}

static void test_who_gave_what_was_taken(void **state) {
  (void)state;
  uint32_t number = 0;
  begin();
  SIGNAL(0, 1, 2);
  const uint32_t second_signal = SIGNAL(0, 1, 2);
  SIGNAL(0, 1, 4);
  SIGNAL(2, 1, 4);
  ADD(2, .kind = PTO_CORE_PUSHES, .subject = PTO_ROLE_AIV0, .size_bytes = 4);
  const uint32_t second_push = ADD(2, .kind = PTO_CORE_PUSHES, .subject = PTO_ROLE_AIV0, .size_bytes = 4);
  TAKE(1, 2);
  ADD(1, .kind = PTO_CORE_POPPED, .subject = PTO_ROLE_AIV1, .size_bytes = 4);
  const uint32_t took = TAKE(1, 2), of_two = TAKE(1, 4);
  const uint32_t popped = ADD(1, .kind = PTO_CORE_POPPED, .subject = PTO_ROLE_AIV1, .size_bytes = 4);
  solve();
  assert_int_equal(pto_core_order_giver(&order, took, &number), second_signal);
  assert_int_equal(number, 2);
  assert_int_equal(pto_core_order_giver(&order, of_two, &number), PTO_CORE_NO_RECORD); /* several signal it */
  assert_int_equal(number, 1);
  assert_int_equal(pto_core_order_giver(&order, popped, &number), second_push);
  assert_int_equal(number, 2);
}

static void test_who_polls_is_after_all_that_ran(void **state) {
  (void)state;
  for (int polls = 0; polls <= 1; polls++) {
    begin();
    const uint32_t ran = BEGIN(0);
    ADD(0, .kind = PTO_CORE_SUSPENDED);
    if (polls) ADD(1, .kind = PTO_CORE_POLLED);
    const uint32_t goes_on = ADD(1, .kind = PTO_CORE_GOES_ON), later = ADD(0, .kind = PTO_CORE_RESUMED);
    solve();
    assert_int_equal(pto_core_order_is_before(&order, ran, goes_on), polls);
    assert_false(pto_core_order_is_before(&order, later, goes_on));
  }
}

static void test_what_is_left_is_counted(void **state) {
  (void)state;
  struct pto_core_left left;
  uint32_t at = 0;
  begin();
  SIGNAL(0, 1, 3);
  const uint32_t last = SIGNAL(0, 1, 3);
  TAKE(1, 3);
  ADD(2, .kind = PTO_CORE_PUSHES, .subject = PTO_ROLE_AIC, .size_bytes = 4);
  solve();
  assert_true(pto_core_order_next_left(&order, &at, &left));
  assert_true(left.is_element && left.to == 0 && left.count == 1);
  assert_true(pto_core_order_next_left(&order, &at, &left));
  assert_true(!left.is_element && left.to == 1 && left.subject == 3 && left.count == 1 && left.last == last);
  assert_false(pto_core_order_next_left(&order, &at, &left));
  assert_int_equal(pto_core_order_free_flag(&order, 1), 0);
}

#define REACH(role, at, does) ADD(role, .kind = PTO_CORE_REACHES_WORD, .subject = does, .key = at)
#define LEAVE(role, at, does) ADD(role, .kind = PTO_CORE_LEAVES_WORD, .subject = does, .key = at)

static void test_an_atomic_operation_is_after_those_on_its_word(void **state) {
  (void)state;
  begin();
  const uint32_t before = BEGIN(0), own = REACH(0, 8, PTO_STEP_ATOMIC), after = LEAVE(0, 8, PTO_STEP_ATOMIC);
  BEGIN(1);
  const uint32_t other = REACH(1, 16, PTO_STEP_ATOMIC), behind = LEAVE(1, 16, PTO_STEP_ATOMIC);
  const uint32_t early = BEGIN(2), second = REACH(2, 8, PTO_STEP_ATOMIC), last = LEAVE(2, 8, PTO_STEP_ATOMIC);
  solve();
  assert_true(pto_core_order_is_before(&order, before, second));
  assert_true(pto_core_order_is_before(&order, own, second));
  assert_true(pto_core_order_is_before(&order, before, last));
  assert_false(pto_core_order_is_before(&order, after, last));
  assert_false(pto_core_order_is_before(&order, before, early));
  assert_false(pto_core_order_is_before(&order, before, other)); /* another word */
  assert_false(pto_core_order_is_before(&order, before, behind));
}

static void test_a_load_of_a_word_acquires_and_a_store_releases(void **state) {
  (void)state;
  begin();
  const uint32_t before = BEGIN(0);
  REACH(0, 8, PTO_STEP_ATOMIC);
  const uint32_t under = LEAVE(0, 8, PTO_STEP_ATOMIC);
  REACH(0, 8, PTO_STEP_STORES);
  LEAVE(0, 8, PTO_STEP_STORES);
  const uint32_t unseen = BEGIN(1), load = REACH(1, 8, PTO_STEP_LOADS);
  LEAVE(1, 8, PTO_STEP_LOADS);
  BEGIN(2);
  const uint32_t store = REACH(2, 8, PTO_STEP_STORES);
  LEAVE(2, 8, PTO_STEP_STORES);
  const uint32_t taken = REACH(2, 8, PTO_STEP_ATOMIC);
  REACH(1, 24, PTO_STEP_LOADS);
  LEAVE(1, 24, PTO_STEP_LOADS);
  const uint32_t loaded = REACH(2, 24, PTO_STEP_ATOMIC);
  solve();
  assert_true(pto_core_order_is_before(&order, before, load));
  assert_true(pto_core_order_is_before(&order, under, load));
  assert_false(pto_core_order_is_before(&order, before, store));
  assert_false(pto_core_order_is_before(&order, unseen, taken));
  assert_false(pto_core_order_is_before(&order, unseen, loaded)); /* a load gives nothing */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(test_an_atomic_operation_is_after_those_on_its_word, teardown),
      cmocka_unit_test_teardown(test_a_load_of_a_word_acquires_and_a_store_releases, teardown),
      cmocka_unit_test(test_a_wait_is_after_the_signal_of_its_number),
      cmocka_unit_test(test_a_wait_is_after_a_signal_only_where_the_others_are_too_few),
      cmocka_unit_test(test_a_signal_that_follows_the_wait_is_none_of_the_others),
      cmocka_unit_test(test_a_push_is_after_the_pops_that_make_its_room),
      cmocka_unit_test(test_who_gave_what_was_taken),
      cmocka_unit_test(test_who_polls_is_after_all_that_ran),
      cmocka_unit_test(test_what_is_left_is_counted),
  };
  return cmocka_run_group_tests(tests, NULL, teardown);
}
