/* SPDX-License-Identifier: MIT */
#include <check/observe/steps.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <check/observe/observe.h>

static uint32_t word;
static uint32_t other;

static void add_by_one(uint32_t *at) { (void)__atomic_fetch_add(at, 1, __ATOMIC_RELAXED); }
static void exchange(uint32_t *at) { (void)__atomic_exchange_n(at, *at + 1, __ATOMIC_RELAXED); }
static void compare(uint32_t *at) {
  uint32_t before = *at;
  (void)__atomic_compare_exchange_n(at, &before, before + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
static void store(uint32_t *at) { *at += 1; }
static void store_atomically(uint32_t *at) { __atomic_store_n(at, *at + 1, __ATOMIC_RELEASE); }
static void leave(uint32_t *at) { (void)at; }
static void work_long(uint32_t *at) {
  for (uint32_t i = 0; i < PTO_STEPS_MOST; i++) __atomic_store_n(&other, i, __ATOMIC_RELAXED);
  add_by_one(at);
}

/* Whether it is atomic operations that change the word. */
static bool are_atomic(void (*first)(uint32_t *), void (*second)(uint32_t *)) {
  if (!pto_steps_begin()) skip();
  word = 7;
  pto_steps_go(&word, sizeof word);
  first(&word);
  pto_steps_pause();
  word = 3; /* of no one */
  pto_steps_go(&word, sizeof word);
  second(&word);
  pto_steps_pause();
  return pto_steps_end();
}

static void test_words_that_atomic_operations_alone_change_are_known(void **state) {
  (void)state;
  if (pto_observation_is_left_to_tool()) skip();
  void (*const atomic[])(uint32_t *) = {add_by_one, exchange, compare};
  void (*const plain[])(uint32_t *) = {store, store_atomically};
  for (int i = 0; i < 3; i++) {
    assert_true(are_atomic(atomic[i], leave));
    assert_true(are_atomic(atomic[i], atomic[(i + 1) % 3]));
    for (int k = 0; k < 2; k++) assert_false(are_atomic(atomic[i], plain[k]));
    for (int k = 0; k < 2; k++) assert_false(are_atomic(plain[k], atomic[i]));
  }
  assert_false(are_atomic(leave, leave));
  assert_false(are_atomic(work_long, leave)); /* by the limit */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_words_that_atomic_operations_alone_change_are_known)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
