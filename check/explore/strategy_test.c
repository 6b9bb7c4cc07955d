/* SPDX-License-Identifier: MIT */
#include <check/explore/strategy.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Tasks 0 … 5 are ready; 3 needs nothing, 5 needs 1. */
static struct pto_explore_task tasks[6];
static uint64_t producers[] = {1};
static const struct pto_explore_graph graph = {.tasks = tasks, .task_count = 6, .producers = producers};
static uint8_t marks[6];

static int setup(void **state) {
  memset(tasks, 0, sizeof tasks);
  for (int i = 0; i < 6; i++) tasks[i].block_count = 1;
  tasks[5].producer_count = 1;
  return 0;
}

/* Calls `first` … `last` − 1, and the orchestration. */
static uint32_t fill(struct pto_explore_event *candidates, uint32_t first, uint32_t last, bool can_go_on) {
  uint32_t count = 0;
  for (uint32_t t = first; t < last; t++) candidates[count++] = (struct pto_explore_event){.task = t};
  if (can_go_on) candidates[count++] = (struct pto_explore_event){.kind = PTO_EXPLORE_GO_ON};
  return count;
}

static uint32_t choose(const char *name, uint32_t first, uint32_t last, bool can_go_on) {
  struct pto_explore_event candidates[8];
  struct pto_strategy strategy;
  struct pto_schedule_name parsed;
  assert_true(pto_schedule_name_parse(name, &parsed));
  pto_strategy_begin(&strategy, parsed, &graph, marks, 10);
  return pto_strategy_choose(&strategy, candidates, fill(candidates, first, last, can_go_on), 0);
}

static void test_each_strategy_takes_what_its_name_says(void **state) {
  assert_int_equal(choose("sequential", 0, 4, true), 0);
  assert_int_equal(choose("ahead", 0, 4, true), 4);
  assert_int_equal(choose("ahead", 0, 4, false), 0);
  assert_int_equal(choose("newest", 0, 4, true), 4);
  assert_int_equal(choose("newest", 0, 4, false), 3);
  assert_int_equal(choose("delay:0", 0, 4, true), 1);
  assert_int_equal(choose("delay:2", 2, 3, true), 1);
  assert_int_equal(choose("delay:2", 2, 3, false), 0);
  assert_int_equal(choose("hurry:3", 0, 4, true), 3);
  assert_int_equal(choose("hurry:5", 0, 4, true), 1);
  assert_int_equal(choose("hurry:5", 2, 4, true), 2);
}

static void test_names_are_read_as_they_are_written(void **state) {
  static const char *const names[] = {
      "sequential", "ahead", "newest", "delay:4", "hurry:0", "random:18446744073709551615", "priority:7"};
  static const char *const bad[] = {"",        "delay",     "delay:",  "delay:x", "random:1x", "ahead:1",
                                    "random:", "random:-1", "all:3",   "file",    "nope",      "18446744073709551616",
                                    "rand:1",  "random 1",  "./random"};
  char text[64];
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    struct pto_schedule_name name;
    assert_true(pto_schedule_name_parse(names[i], &name));
    assert_string_equal(pto_schedule_name_format(name, text, sizeof text), names[i]);
  }
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    struct pto_schedule_name name;
    assert_false(pto_schedule_name_parse(bad[i], &name));
  }
  struct pto_schedule_name name;
  assert_true(pto_schedule_name_parse("12", &name));
  assert_string_equal(pto_schedule_name_format(name, text, sizeof text), "random:12");
}

static void test_a_plan_with_room_delays_and_hurries_every_task_once(void **state) {
  enum { TASKS = 13 };
  uint32_t delayed[TASKS] = {0}, hurried[TASKS] = {0};
  for (uint64_t i = 0; i < 4 * TASKS + 20; i++) {
    const struct pto_schedule_name name = pto_schedule_plan(i, 4 * TASKS + 20, 5, TASKS);
    if (name.kind == PTO_STRATEGY_DELAY) delayed[name.number]++;
    if (name.kind == PTO_STRATEGY_HURRY) hurried[name.number]++;
  }
  for (uint32_t t = 0; t < TASKS; t++) {
    assert_int_equal(delayed[t], 1);
    assert_int_equal(hurried[t], 1);
  }
}

static void test_a_plan_without_room_spreads_over_the_tasks(void **state) {
  uint64_t least = UINT64_MAX, most = 0, before = 0;
  for (uint64_t i = 0; i < 100; i++) {
    const struct pto_schedule_name name = pto_schedule_plan(i, 100, 0, 100000);
    if (name.kind != PTO_STRATEGY_DELAY) continue;
    assert_true(name.number < 100000 && (least == UINT64_MAX || name.number > before));
    before = name.number;
    if (name.number < least) least = name.number;
    if (name.number > most) most = name.number;
  }
  assert_true(least < 10000 && most > 90000);
}

static void test_no_two_schedules_of_a_plan_have_one_name(void **state) {
  static struct pto_schedule_name names[400];
  for (uint64_t i = 0; i < 400; i++) {
    names[i] = pto_schedule_plan(i, 400, 3, 20);
    for (uint64_t k = 0; k < i; k++) assert_false(names[k].kind == names[i].kind && names[k].number == names[i].number);
  }
}

/* 40 000 draws among five: each within 5 % of its fifth, ten times what chance leaves. */
static void test_random_is_uniform_and_its_seed_repeats_it(void **state) {
  struct pto_explore_event candidates[8];
  struct pto_strategy strategy, again;
  uint32_t seen[5] = {0};
  const uint32_t count = fill(candidates, 0, 4, true);
  pto_strategy_begin(&strategy, (struct pto_schedule_name){PTO_STRATEGY_RANDOM, 9}, &graph, marks, 10);
  pto_strategy_begin(&again, (struct pto_schedule_name){PTO_STRATEGY_RANDOM, 9}, &graph, marks, 10);
  for (int i = 0; i < 40000; i++) {
    const uint32_t choice = pto_strategy_choose(&strategy, candidates, count, 0);
    assert_int_equal(choice, pto_strategy_choose(&again, candidates, count, 0));
    seen[choice]++;
  }
  for (int i = 0; i < 5; i++) assert_in_range(seen[i], 7600, 8400);
}

static void test_priorities_stay_and_differ_by_seed(void **state) {
  uint32_t seen[4] = {0};
  for (uint64_t seed = 0; seed < 400; seed += 4) { /* multiples of 4: no change points */
    struct pto_explore_event candidates[8];
    struct pto_strategy strategy;
    const uint32_t count = fill(candidates, 0, 4, false);
    pto_strategy_begin(&strategy, (struct pto_schedule_name){PTO_STRATEGY_PRIORITY, seed}, &graph, marks, 10);
    const uint32_t first = pto_strategy_choose(&strategy, candidates, count, 0);
    for (int i = 0; i < 20; i++) assert_int_equal(pto_strategy_choose(&strategy, candidates, count, 0), first);
    seen[first]++;
  }
  for (int i = 0; i < 4; i++) assert_true(seen[i] > 10);
}

static void test_a_change_point_lowers_what_was_highest(void **state) {
  uint32_t changed = 0;
  for (uint64_t seed = 1; seed < 400; seed += 4) { /* one change point, within the first 10 steps */
    struct pto_explore_event candidates[8];
    struct pto_strategy strategy;
    const uint32_t count = fill(candidates, 0, 4, false);
    pto_strategy_begin(&strategy, (struct pto_schedule_name){PTO_STRATEGY_PRIORITY, seed}, &graph, marks, 10);
    uint32_t before = pto_strategy_choose(&strategy, candidates, count, 0), changes = 0;
    for (int i = 0; i < 20; i++) {
      const uint32_t now = pto_strategy_choose(&strategy, candidates, count, 0);
      changes += now != before;
      before = now;
    }
    assert_true(changes <= 1);
    changed += changes;
  }
  assert_true(changed > 80); /* of 100; at step 0 it is not seen */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_strategy_takes_what_its_name_says),
      cmocka_unit_test(test_names_are_read_as_they_are_written),
      cmocka_unit_test(test_a_plan_with_room_delays_and_hurries_every_task_once),
      cmocka_unit_test(test_a_plan_without_room_spreads_over_the_tasks),
      cmocka_unit_test(test_no_two_schedules_of_a_plan_have_one_name),
      cmocka_unit_test(test_random_is_uniform_and_its_seed_repeats_it),
      cmocka_unit_test(test_priorities_stay_and_differ_by_seed),
      cmocka_unit_test(test_a_change_point_lowers_what_was_highest),
  };
  return cmocka_run_group_tests_name("explore_strategy", tests, setup, NULL);
}
