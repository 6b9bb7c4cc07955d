/* SPDX-License-Identifier: MIT */
/* The turns of a scheduler against a list of its cores: how long one takes, and when the look at each core is over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <runtime/base/base.h>
#include <sim/virtual/turns.h>

enum { CORES = 150, CHANGES = 20000, LOOP_PS = 700, LOOK_PS = 30 };

static void check(const struct pto_turns *turns, const bool is_running[CORES]) {
  uint64_t looks = 0;
  for (uint32_t core = 0; core < CORES; core++)
    if (is_running[core]) assert_int_equal(pto_turns_look_after(turns, core), LOOP_PS + ++looks * LOOK_PS);
  assert_int_equal(turns->length_ps, LOOP_PS + looks * LOOK_PS);
}

static void test_the_look_at_a_core_comes_behind_those_at_running_ones_before_it(void **state) {
  uint64_t words[(CORES + 63) / 64];
  bool is_running[CORES] = {false};
  struct pto_turns turns = {.loop_ps = LOOP_PS, .look_ps = LOOK_PS, .is_running = words};
  (void)state;
  assert_int_equal(pto_turns_words(CORES), 3);
  pto_turns_reset(&turns, CORES);
  for (uint32_t i = 0; i < CHANGES; i++) {
    const uint32_t core = (uint32_t)(pto_mix64(i) % CORES);
    if (is_running[core] && i % 4 == 0)
      pto_turns_remove(&turns, core);
    else
      pto_turns_add(&turns, core); /* one that runs something gets another message: nothing new */
    is_running[core] = !(is_running[core] && i % 4 == 0);
    if (i % 16 == 0) check(&turns, is_running);
  }
  check(&turns, is_running);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_look_at_a_core_comes_behind_those_at_running_ones_before_it),
  };
  return cmocka_run_group_tests_name("turns", tests, NULL, NULL);
}
