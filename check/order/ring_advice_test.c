/* SPDX-License-Identifier: MIT */
/* The search for rings against models of programs, whose answers are known by definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <check/order/ring_advice.h>
#include <runtime/base/base.h>

#define LARGEST_WINDOW 16384u
#define LARGEST_HEAP (UINT64_C(256) << 20)

/* A program that needs this much, uses that much, and is slowed down below. */
struct model {
  uint64_t needs_slots, needs_bytes; /* to complete */
  uint64_t uses_slots, uses_bytes;   /* given room */
  uint64_t slow_slots, slow_bytes;   /* below: 10 % slower each */
  uint64_t odd_heap, odd_window;     /* sizes that behave the other way */
  bool is_wrong_when_small;
  int ends_with; /* of the third run; 0: no */
  uint32_t runs;
};

static int run_model(void *context, struct pto_ring_trial *trial) {
  struct model *model = context;
  if (++model->runs == 3 && model->ends_with) return model->ends_with;
  const bool has_slots = (trial->window - 1 >= model->needs_slots) != (trial->window == model->odd_window);
  const bool has_bytes = (trial->heap_bytes >= model->needs_bytes) != (trial->heap_bytes == model->odd_heap);
  trial->completes = has_slots && has_bytes;
  trial->status = trial->completes ? PTO_OK : has_slots ? PTO_EHEAP : PTO_ESCOPE;
  trial->is_right = trial->completes && !(model->is_wrong_when_small && trial->window < 64);
  trial->virtual_ps = 1000000;
  if (trial->window <= model->slow_slots) trial->virtual_ps += 100000;
  if (trial->heap_bytes < model->slow_bytes) trial->virtual_ps += 100000;
  trial->window_high_water = pto_min_u64(model->uses_slots, trial->window - 1);
  trial->heap_high_water_bytes = pto_min_u64(model->uses_bytes, trial->heap_bytes);
  return PTO_OK;
}

static struct pto_ring_advice advice;
static int advise(struct model *model) {
  return pto_ring_advise(run_model, model, LARGEST_WINDOW, LARGEST_HEAP, &advice);
}
static const struct pto_ring_trial *recommended(void) { return &advice.trials[advice.recommended]; }

static void test_the_least_rings_are_found_and_rows_go_up_to_what_is_never_full(void **state) {
  struct model model = {.needs_slots = 20, .needs_bytes = 77824, .uses_slots = 100, .uses_bytes = 500000};
  assert_int_equal(advise(&model), PTO_OK);
  assert_int_equal(advice.least_window, 32);
  assert_int_equal(advice.least_heap_bytes, 77824);
  assert_int_equal(advice.window_count, 7); /* 4 … 128, and the largest */
  assert_int_equal(advice.trials[advice.windows[5]].window, 128);
  assert_int_equal(advice.trials[advice.windows[6]].window, LARGEST_WINDOW);
  assert_false(advice.has_window_exception || advice.has_heap_exception);
  for (uint32_t i = 1; i < advice.heap_count; i++)
    assert_true(advice.trials[advice.heaps[i - 1]].heap_bytes < advice.trials[advice.heaps[i]].heap_bytes);
  assert_int_equal(model.runs, advice.trial_count); /* no pair is run twice */
  assert_int_equal(recommended()->window, 32);
  assert_int_equal(recommended()->heap_bytes, 77824);
}

static void test_a_window_that_is_just_never_full_is_the_last_row_but_one(void **state) {
  for (uint64_t uses = 62; uses <= 64; uses++) {
    struct model model = {.uses_slots = uses};
    assert_int_equal(advise(&model), PTO_OK);
    assert_int_equal(advice.trials[advice.windows[advice.window_count - 2]].window, uses <= 63 ? 64 : 128);
  }
}

static void test_every_need_of_a_heap_is_found_to_the_step(void **state) {
  for (uint64_t need = 1; need < 200; need += 3) {
    struct model model = {.needs_bytes = need * 1024, .uses_bytes = need * 1024 + 40000};
    assert_int_equal(advise(&model), PTO_OK);
    assert_int_equal(advice.least_heap_bytes, need * 1024);
    assert_int_equal(advice.least_window, 4);
  }
}

static void test_a_heap_of_the_high_water_may_be_too_small(void **state) {
  struct model model = {.needs_bytes = 90112, .uses_bytes = 65536};
  assert_int_equal(advise(&model), PTO_OK);
  assert_int_equal(advice.least_heap_bytes, 90112);
}

static void test_a_program_without_outputs_gets_one_step(void **state) {
  struct model model = {0};
  assert_int_equal(advise(&model), PTO_OK);
  assert_int_equal(advice.least_heap_bytes, 1024);
}

static void test_what_costs_more_than_a_little_is_not_advised(void **state) {
  struct model model = {.needs_slots = 5,
                        .needs_bytes = 10240,
                        .uses_slots = 1000,
                        .uses_bytes = 1 << 20,
                        .slow_slots = 64,
                        .slow_bytes = 100000};
  assert_int_equal(advise(&model), PTO_OK);
  assert_int_equal(advice.least_window, 8);
  assert_int_equal(advice.least_heap_bytes, 10240);
  assert_int_equal(recommended()->window, 128);
  assert_int_equal(recommended()->heap_bytes, 131072);
  assert_true(pto_ring_advice_slower(&advice, recommended()) < 5);
  assert_true(pto_ring_advice_slower(&advice, &advice.trials[advice.windows[1]]) > 9.9);
}

/* 3 % each is cheap, 6 % together is not. */
static int run_together(void *context, struct pto_ring_trial *trial) {
  *trial = (struct pto_ring_trial){.window = trial->window, .heap_bytes = trial->heap_bytes, .completes = true};
  trial->is_right = true;
  trial->virtual_ps = 1000 + (trial->window < 64 ? 30 : 0) + (trial->heap_bytes < 65536 ? 30 : 0);
  trial->window_high_water = 63;
  trial->heap_high_water_bytes = 65536;
  (void)context;
  return PTO_OK;
}
static void test_a_pair_is_run_before_it_is_advised(void **state) {
  assert_int_equal(pto_ring_advise(run_together, NULL, LARGEST_WINDOW, LARGEST_HEAP, &advice), PTO_OK);
  assert_int_equal(recommended()->virtual_ps, 1030);
  assert_true((recommended()->window < 64) != (recommended()->heap_bytes < 65536));
}

static void test_a_hole_is_told_and_the_least_is_above_it(void **state) {
  /* a heap of 46 steps completes, though 47 … 49 do not */
  struct model model = {.needs_bytes = 50 * 1024, .uses_bytes = 100 * 1024, .odd_heap = 46 * 1024, .needs_slots = 1};
  assert_int_equal(advise(&model), PTO_OK);
  assert_int_equal(advice.least_heap_bytes, 50 * 1024);
  assert_true(advice.has_heap_exception);
  assert_int_equal(advice.heap_exception_bytes, 46 * 1024);
  /* a power of two above the bisected least does not complete */
  model = (struct model){.needs_bytes = 5 * 1024, .uses_bytes = 50 * 1024, .odd_heap = 32 * 1024};
  assert_int_equal(advise(&model), PTO_OK);
  assert_int_equal(advice.least_heap_bytes, 64 * 1024);
  assert_true(advice.has_heap_exception);
  /* a window of 8 completes, 16 does not */
  model = (struct model){.needs_slots = 3, .uses_slots = 200, .odd_window = 16};
  assert_int_equal(advise(&model), PTO_OK);
  assert_int_equal(advice.least_window, 32);
  assert_int_equal(advice.window_exception, 8);
  assert_true(recommended()->window >= 32);
}

static void test_wrong_results_are_counted_and_never_advised(void **state) {
  struct model model = {.needs_slots = 3, .uses_slots = 200, .is_wrong_when_small = true};
  assert_int_equal(advise(&model), PTO_OK);
  assert_true(advice.wrong_count >= 4);
  assert_true(recommended()->is_right);
  assert_int_equal(recommended()->window, 64);
}

static void test_a_program_that_never_completes_has_no_least(void **state) {
  struct model model = {.needs_bytes = LARGEST_HEAP + 1};
  assert_int_equal(advise(&model), PTO_OK);
  assert_int_equal(advice.trial_count, 1);
  assert_int_equal(advice.least_window, 0);
}

static void test_a_run_can_end_the_search(void **state) {
  struct model model = {.needs_slots = 3, .uses_slots = 200, .ends_with = PTO_ENOMEM};
  assert_int_equal(advise(&model), PTO_ENOMEM);
  assert_int_equal(model.runs, 3);
}

/* ---- what is enough ---- */

static bool find_enough(struct model *model, struct pto_ring_trial *sizes) {
  const struct pto_ring_trial largest = {.window = LARGEST_WINDOW, .heap_bytes = LARGEST_HEAP};
  model->runs = 0;
  assert_int_equal(run_model(model, sizes), PTO_OK); /* it fails */
  return pto_ring_enough(run_model, model, &largest, sizes);
}

static void test_what_is_enough_completes_the_whole_run_and_is_no_more_than_it_had_in_use(void **state) {
  for (uint64_t need = 9; need < 3000; need += 97) {
    struct model model = {.needs_slots = need, .needs_bytes = need * 1024, .uses_bytes = need * 1024 + 512};
    struct pto_ring_trial sizes = {.window = 8, .heap_bytes = 1024};
    assert_true(find_enough(&model, &sizes));
    assert_true(sizes.completes);
    assert_true(sizes.window - 1 >= need && sizes.window / 2 - 1 < need);
    assert_true(sizes.heap_bytes >= need * 1024 && sizes.heap_bytes <= (need + 1) * 1024);
  }
}

static void test_the_need_without_limits_is_no_end_where_it_is_not_enough(void **state) {
  struct model model = {.needs_bytes = 9 * 1024, .uses_bytes = 8 * 1024};
  struct pto_ring_trial sizes = {.window = 8, .heap_bytes = 5 * 1024};
  assert_true(find_enough(&model, &sizes));
  assert_int_equal(sizes.heap_bytes, 16 * 1024);
}

static void test_nothing_is_enough_where_the_run_fails_with_any_rings(void **state) {
  struct model too_large = {.needs_bytes = LARGEST_HEAP + 1};
  struct model lost = {.needs_bytes = 9 * 1024, .uses_bytes = 9 * 1024, .ends_with = PTO_ENOMEM};
  struct pto_ring_trial sizes = {.window = 8, .heap_bytes = 1024};
  assert_false(find_enough(&too_large, &sizes));
  assert_int_equal(too_large.runs, 2);
  assert_false(find_enough(&lost, &sizes));
  assert_int_equal(sizes.heap_bytes, 1024);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_least_rings_are_found_and_rows_go_up_to_what_is_never_full),
      cmocka_unit_test(test_a_window_that_is_just_never_full_is_the_last_row_but_one),
      cmocka_unit_test(test_every_need_of_a_heap_is_found_to_the_step),
      cmocka_unit_test(test_a_heap_of_the_high_water_may_be_too_small),
      cmocka_unit_test(test_a_program_without_outputs_gets_one_step),
      cmocka_unit_test(test_what_costs_more_than_a_little_is_not_advised),
      cmocka_unit_test(test_a_pair_is_run_before_it_is_advised),
      cmocka_unit_test(test_a_hole_is_told_and_the_least_is_above_it),
      cmocka_unit_test(test_wrong_results_are_counted_and_never_advised),
      cmocka_unit_test(test_a_program_that_never_completes_has_no_least),
      cmocka_unit_test(test_a_run_can_end_the_search),
      cmocka_unit_test(test_what_is_enough_completes_the_whole_run_and_is_no_more_than_it_had_in_use),
      cmocka_unit_test(test_the_need_without_limits_is_no_end_where_it_is_not_enough),
      cmocka_unit_test(test_nothing_is_enough_where_the_run_fails_with_any_rings),
  };
  return cmocka_run_group_tests_name("ring_advice", tests, NULL, NULL);
}
