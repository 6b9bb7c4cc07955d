/* SPDX-License-Identifier: MIT */
#include <check/observe/steps.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <check/observe/observe.h>

static struct { _Alignas(8) uint32_t words[40]; } memory;
static uint32_t other;

static void add_by_one(uint32_t *at) { (void)__atomic_fetch_add(at, 1, __ATOMIC_RELAXED); }
/* Its result is kept: of one without clang makes a store. */
static void exchange(uint32_t *at) { other = __atomic_exchange_n(at, 7, __ATOMIC_RELAXED); }
static void compare(uint32_t *at) {
  uint32_t before = 11; /* which it is not: it changes nothing */
  (void)__atomic_compare_exchange_n(at, &before, 12, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
static void store(uint32_t *at) { __atomic_store_n(at, 5, __ATOMIC_RELEASE); }
static void load(uint32_t *at) { other = __atomic_load_n(at, __ATOMIC_ACQUIRE); }
static void leave(uint32_t *at) { (void)at; }
static void work_long(uint32_t *at) {
  for (uint32_t i = 0; i < PTO_STEPS_MOST; i++) __atomic_store_n(&other, i, __ATOMIC_RELAXED);
  add_by_one(at);
}

/* What is told of one word. */
static struct {
  uint64_t addr;
  uint32_t before, after; /* its value then */
  uint32_t reached, left, kinds[3];
} told;

static bool on_reach(void *context, const struct pto_step *step) {
  if (step->addr != told.addr) return false;
  told.before = *(const uint32_t *)context;
  told.reached++;
  told.kinds[step->kind]++;
  return true;
}
static void on_leave(void *context, const struct pto_step *step) {
  if (step->addr == told.addr) told.left++;
  told.after = *(const uint32_t *)context;
}

static bool step_through(void (*run)(uint32_t *), uint32_t *at) {
  told.addr = (uintptr_t)at;
  told.before = told.after = told.reached = told.left = 0;
  for (int i = 0; i < 3; i++) told.kinds[i] = 0;
  if (!pto_steps_begin((struct pto_steps_watch){on_reach, on_leave, at})) skip();
  pto_steps_go();
  run(at);
  pto_steps_pause();
  add_by_one(&memory.words[2]); /* of no one */
  return pto_steps_end();
}

static void test_operations_are_told_before_and_behind(void **state) {
  (void)state;
  if (pto_observation_is_left_to_tool()) skip();
  static const struct {
    void (*run)(uint32_t *);
    enum pto_step_kind kind;
    uint32_t after;
  } cases[] = {{add_by_one, PTO_STEP_ATOMIC, 4},
               {exchange, PTO_STEP_ATOMIC, 7},
               {compare, PTO_STEP_ATOMIC, 3},
               {store, PTO_STEP_STORES, 5},
               {load, PTO_STEP_LOADS, 3}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    memory.words[2] = 3;
    assert_true(step_through(cases[i].run, &memory.words[2]));
    assert_int_equal(told.kinds[cases[i].kind], 1);
    assert_int_equal(told.reached, 1);
    assert_int_equal(told.left, 1);
    assert_int_equal(told.before, 3);
    assert_int_equal(told.after, cases[i].after);
  }
  assert_int_equal(other, 3); /* so the compiler keeps what was loaded */
  assert_true(step_through(leave, &memory.words[2]));
  assert_int_equal(told.reached, 0);
}

static void test_what_is_behind_the_limit_is_not_told(void **state) {
  (void)state;
  if (pto_observation_is_left_to_tool()) skip();
  assert_false(step_through(work_long, &memory.words[2]));
  assert_int_equal(told.reached, 0);
}

/* The forms of an address, with low registers and high ones. */
#if defined(__x86_64__)
#define ADD_AT(name_, form)                                                                                            \
  static void name_(uint32_t *at) {                                                                                    \
    __asm__ volatile("lock addl $1, " form ::[base] "r"(at - 30), [index] "r"(UINT64_C(30)) : "memory", "cc");         \
  }
ADD_AT(add_far, "120(%[base])")
ADD_AT(add_scaled, "(%[base],%[index],4)")
static void add_indexed(uint32_t *at) {
  register uint64_t index __asm__("r13") = 30;
  register uint64_t base __asm__("r12") = (uintptr_t)at - 120;
  __asm__ volatile("lock addl $1, (%0,%1,4)" ::"r"(base), "r"(index) : "memory", "cc");
}
static void add_high(uint32_t *at) {
  register uint64_t base __asm__("r13") = (uintptr_t)at;
  __asm__ volatile("lock addl $1, (%0)" ::"r"(base) : "memory", "cc");
}
static void add_frame(uint32_t *at) {
  register uint64_t base __asm__("r12") = (uintptr_t)at + 400;
  __asm__ volatile("lock addl $1, -400(%0)" ::"r"(base) : "memory", "cc");
}
static void add_without_base(uint32_t *at) {
  register uint64_t index __asm__("r14") = ((uintptr_t)at - 8) / 4;
  __asm__ volatile("lock addl $1, 8(,%0,4)" ::"r"(index) : "memory", "cc");
}
static void add_wide(uint32_t *at) {
  __asm__ volatile("lock xaddq %0, (%1)" ::"r"(UINT64_C(1)), "r"(at) : "memory", "cc");
}

static void test_addresses_of_all_forms_are_read(void **state) {
  (void)state;
  if (pto_observation_is_left_to_tool()) skip();
  void (*const all[])(uint32_t *) = {add_far, add_scaled, add_indexed, add_high, add_frame, add_wide, add_without_base};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    memory.words[30] = 3;
    assert_true(step_through(all[i], &memory.words[30]));
    if (told.kinds[PTO_STEP_ATOMIC] != 1 || told.after != 4) fail_msg("form %zu", i);
  }
}
#else
static void test_addresses_of_all_forms_are_read(void **state) {
  (void)state;
  skip();
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_operations_are_told_before_and_behind),
      cmocka_unit_test(test_what_is_behind_the_limit_is_not_told),
      cmocka_unit_test(test_addresses_of_all_forms_are_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
