/* SPDX-License-Identifier: MIT */
/*
 * Fibers by themselves: who runs when, what is kept across switches.  fiber_ucontext_test.c is the same for the other
 * switch.
 */
#include <sim/host/fiber.h>

#include <fenv.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define STACK_BYTES (UINT64_C(256) << 10)

struct subject {
  struct pto_fiber fiber;
  void *stack;
  uint32_t steps, wanted;
  double sum;
  unsigned char *frame;
};

static void subject_init(struct subject *subject) {
  memset(subject, 0, sizeof *subject);
  subject->stack = aligned_alloc(4096, STACK_BYTES);
  assert_non_null(subject->stack);
  pto_fiber_init(&subject->fiber, subject->stack, STACK_BYTES);
}
static void subject_fini(struct subject *subject) {
  pto_fiber_fini(&subject->fiber);
  free(subject->stack);
}

static void count_to_wanted(void *context) {
  struct subject *subject = context;
  double local = 0.5;
  for (uint32_t i = 0; i < subject->wanted; i++) {
    subject->steps++;
    local += 1.0;
    pto_fiber_suspend(&subject->fiber);
  }
  subject->sum = local;
}

static void test_a_fiber_goes_on_where_it_suspended_and_is_idle_when_it_returns(void **state) {
  (void)state;
  struct subject subject;
  subject_init(&subject);
  for (uint32_t round = 0; round < 3; round++) {
    subject.steps = 0;
    subject.wanted = 5 * round;
    pto_fiber_give(&subject.fiber, count_to_wanted, &subject);
    for (uint32_t i = 0; i < subject.wanted; i++) {
      assert_false(pto_fiber_resume(&subject.fiber));
      assert_int_equal(subject.steps, i + 1);
    }
    assert_true(pto_fiber_resume(&subject.fiber));
    assert_true(subject.sum == 0.5 + subject.wanted);
    assert_false(subject.fiber.is_active);
  }
  subject_fini(&subject);
}

static void test_many_fibers_take_turns(void **state) {
  (void)state;
  enum { COUNT = 100 };
  static struct subject subjects[COUNT];
  uint32_t left = COUNT;
  for (uint32_t i = 0; i < COUNT; i++) {
    subject_init(&subjects[i]);
    subjects[i].wanted = i % 7;
    pto_fiber_give(&subjects[i].fiber, count_to_wanted, &subjects[i]);
  }
  while (left > 0)
    for (uint32_t i = 0; i < COUNT; i++)
      if (subjects[i].fiber.is_active && pto_fiber_resume(&subjects[i].fiber)) left--;
  for (uint32_t i = 0; i < COUNT; i++) {
    assert_int_equal(subjects[i].steps, i % 7);
    subject_fini(&subjects[i]);
  }
}

/* Fills `depth` frames of 1 KiB and suspends in the deepest. */
static uint64_t dig(struct subject *subject, uint32_t depth) {
  unsigned char frame[1024];
  subject->frame = frame; /* others may look at it, so it lies in memory */
  for (uint32_t i = 0; i < sizeof frame; i++) frame[i] = (unsigned char)(depth + i);
  uint64_t sum = 0;
  if (depth > 0)
    sum = dig(subject, depth - 1);
  else
    pto_fiber_suspend(&subject->fiber);
  for (uint32_t i = 0; i < sizeof frame; i++) sum += frame[i] == (unsigned char)(depth + i);
  return sum;
}
static void dig_deep(void *context) {
  struct subject *subject = context;
  subject->steps = (uint32_t)dig(subject, subject->wanted);
}

static void test_the_stack_holds_what_is_on_it_while_others_run(void **state) {
  (void)state;
  struct subject a, b;
  subject_init(&a);
  subject_init(&b);
  a.wanted = 100;
  b.wanted = 60;
  pto_fiber_give(&a.fiber, dig_deep, &a);
  pto_fiber_give(&b.fiber, dig_deep, &b);
  assert_false(pto_fiber_resume(&a.fiber));
  assert_false(pto_fiber_resume(&b.fiber));
  assert_true(pto_fiber_resume(&a.fiber));
  assert_true(pto_fiber_resume(&b.fiber));
  assert_int_equal(a.steps, 101 * 1024);
  assert_int_equal(b.steps, 61 * 1024);
  subject_fini(&a);
  subject_fini(&b);
}

static void change_rounding(void *context) {
  struct subject *subject = context;
  fesetround(FE_UPWARD);
  pto_fiber_suspend(&subject->fiber);
  subject->wanted = fegetround() == FE_UPWARD;
  fesetround(FE_TONEAREST);
}

static void test_rounding_modes_are_kept_apart(void **state) {
  (void)state;
  struct subject subject;
  subject_init(&subject);
  pto_fiber_give(&subject.fiber, change_rounding, &subject);
  assert_false(pto_fiber_resume(&subject.fiber));
#if defined(__x86_64__) && !defined(PTO_FIBER_UCONTEXT)
  assert_int_equal(fegetround(), FE_TONEAREST);
#endif
  fesetround(FE_TONEAREST);
  assert_true(pto_fiber_resume(&subject.fiber));
  subject_fini(&subject);
}

/* A fiber may resume another one: an engine does not, a kernel's own code might. */
static void resume_other(void *context) {
  struct subject *subject = context;
  struct subject inner;
  subject_init(&inner);
  inner.wanted = 2;
  pto_fiber_give(&inner.fiber, count_to_wanted, &inner);
  while (!pto_fiber_resume(&inner.fiber)) pto_fiber_suspend(&subject->fiber);
  subject->steps = inner.steps;
  subject_fini(&inner);
}

static void test_fibers_nest(void **state) {
  (void)state;
  struct subject subject;
  subject_init(&subject);
  pto_fiber_give(&subject.fiber, resume_other, &subject);
  assert_false(pto_fiber_resume(&subject.fiber));
  assert_false(pto_fiber_resume(&subject.fiber));
  assert_true(pto_fiber_resume(&subject.fiber));
  assert_int_equal(subject.steps, 2);
  subject_fini(&subject);
}

static void test_a_zeroed_and_an_unused_fiber_can_be_given_up(void **state) {
  (void)state;
  struct pto_fiber zeroed = {0};
  pto_fiber_fini(&zeroed);
  struct subject subject;
  subject_init(&subject);
  subject_fini(&subject);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_fiber_goes_on_where_it_suspended_and_is_idle_when_it_returns),
      cmocka_unit_test(test_many_fibers_take_turns),
      cmocka_unit_test(test_the_stack_holds_what_is_on_it_while_others_run),
      cmocka_unit_test(test_rounding_modes_are_kept_apart),
      cmocka_unit_test(test_fibers_nest),
      cmocka_unit_test(test_a_zeroed_and_an_unused_fiber_can_be_given_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
