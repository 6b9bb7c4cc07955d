/* SPDX-License-Identifier: MIT */
/* Shrinking against failures whose smallest cause is known. */
#include <check/explore/shrink.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define TASKS 500u
static struct pto_explore_step reference[TASKS];

/* Fails where each of its pairs is turned round by some hold: of the first, or of one of the eight tasks before it,
 * which it waits for, until the second or later. */
struct cause {
  uint64_t pairs[2][2];
  uint32_t count;
  bool is_either;    /* the pairs or the position, not both */
  uint64_t position; /* or where something is held until the orchestration is there; 0: not */
};

static bool is_met(const struct pto_explore_holds *holds, uint64_t first, uint64_t second) {
  for (uint32_t i = 0; i < holds->count; i++)
    if (holds->items[i].until.kind == PTO_EXPLORE_CALL && holds->items[i].event.task <= first &&
        holds->items[i].event.task + 8 >= first && first < holds->items[i].until.task &&
        holds->items[i].until.task >= second)
      return true;
  return false;
}

static int fails(void *context, const struct pto_explore_holds *holds) {
  const struct cause *cause = context;
  bool is_far = cause->position == 0;
  for (uint32_t i = 0; i < holds->count; i++)
    is_far |= holds->items[i].until.kind == PTO_EXPLORE_GO_ON && holds->items[i].position >= cause->position;
  bool is_met_by_all = true;
  for (uint32_t i = 0; i < cause->count; i++) is_met_by_all &= is_met(holds, cause->pairs[i][0], cause->pairs[i][1]);
  return cause->is_either ? is_met_by_all || is_far : is_met_by_all && is_far;
}

/* A hold for every task, all the way to the end; and for each one of the orchestration. */
static void hold_everything(struct pto_explore_holds *holds) {
  for (uint32_t i = 0; i < TASKS; i++) {
    reference[i] = (struct pto_explore_step){{.task = i}, pto_explore_position(i + 1, 0), NULL};
    const struct pto_explore_hold far = {{.task = i}, {.kind = PTO_EXPLORE_GO_ON}, pto_explore_position(TASKS, 0)};
    const struct pto_explore_hold late = {{.task = i}, {.task = TASKS - 1}, 0};
    assert_true(pto_explore_holds_add(holds, &far));
    if (i + 1 < TASKS) assert_true(pto_explore_holds_add(holds, &late));
  }
  pto_explore_holds_sort(holds);
}

static void shrink(struct cause *cause, uint32_t budget, struct pto_explore_trial *trial,
                   struct pto_explore_holds *holds) {
  *trial = (struct pto_explore_trial){.fails = fails, .context = cause, .budget = budget};
  hold_everything(holds);
  assert_int_equal(pto_explore_shrink(trial, reference, TASKS, holds), PTO_OK);
  assert_int_equal(fails(cause, holds), 1);
  assert_true(trial->run_count <= budget);
}

static void test_one_inversion_is_one_hold_from_the_one_task_to_the_other(void **state) {
  struct cause cause = {.pairs = {{123, 321}}, .count = 1};
  struct pto_explore_trial trial;
  struct pto_explore_holds holds = {0};
  shrink(&cause, 400, &trial, &holds);
  assert_int_equal(holds.count, 1);
  assert_int_equal(holds.items[0].event.task, 123);
  assert_int_equal(holds.items[0].until.task, 321);
  assert_true(trial.run_count < 80);
  pto_explore_holds_fini(&holds);
}

static void test_two_inversions_that_are_both_needed_stay_two(void **state) {
  struct cause cause = {.pairs = {{10, 20}, {400, 444}}, .count = 2};
  struct pto_explore_trial trial;
  struct pto_explore_holds holds = {0};
  shrink(&cause, 400, &trial, &holds);
  assert_int_equal(holds.count, 2);
  assert_int_equal(holds.items[0].event.task, 10);
  assert_int_equal(holds.items[0].until.task, 20);
  assert_int_equal(holds.items[1].event.task, 400);
  assert_int_equal(holds.items[1].until.task, 444);
  pto_explore_holds_fini(&holds);
}

static void test_a_part_of_the_orchestration_is_kept_where_it_is_needed(void **state) {
  struct cause cause = {.position = pto_explore_position(200, 0)};
  struct pto_explore_trial trial;
  struct pto_explore_holds holds = {0};
  shrink(&cause, 400, &trial, &holds);
  assert_int_equal(holds.count, 1);
  assert_int_equal(holds.items[0].until.kind, PTO_EXPLORE_GO_ON);
  assert_int_equal(holds.items[0].position, cause.position);
  pto_explore_holds_fini(&holds);
}

static void test_steps_that_wait_for_steps_are_preferred(void **state) {
  struct cause cause = {.pairs = {{300, 400}}, .count = 1, .is_either = true, .position = pto_explore_position(450, 0)};
  struct pto_explore_trial trial;
  struct pto_explore_holds holds = {0};
  shrink(&cause, 400, &trial, &holds);
  assert_int_equal(holds.count, 1);
  assert_int_equal(holds.items[0].until.kind, PTO_EXPLORE_CALL);
  pto_explore_holds_fini(&holds);
}

static void test_a_spent_budget_leaves_what_still_fails(void **state) {
  for (uint32_t budget = 0; budget < 40; budget += 6) {
    struct cause cause = {.pairs = {{10, 20}, {400, 444}}, .count = 2};
    struct pto_explore_trial trial;
    struct pto_explore_holds holds = {0};
    shrink(&cause, budget, &trial, &holds);
    pto_explore_holds_fini(&holds);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_inversion_is_one_hold_from_the_one_task_to_the_other),
      cmocka_unit_test(test_two_inversions_that_are_both_needed_stay_two),
      cmocka_unit_test(test_a_part_of_the_orchestration_is_kept_where_it_is_needed),
      cmocka_unit_test(test_steps_that_wait_for_steps_are_preferred),
      cmocka_unit_test(test_a_spent_budget_leaves_what_still_fails),
  };
  return cmocka_run_group_tests_name("explore_shrink", tests, NULL, NULL);
}
