/* SPDX-License-Identifier: MIT */
#include <sim/place.h>

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct pto_place place;

static uint32_t allowed_cpus(void) {
  cpu_set_t set;
  assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
  return (uint32_t)CPU_COUNT(&set);
}

static void test_every_cpu_that_the_process_may_use_is_listed_once(void **state) {
  cpu_set_t set;
  assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
  pto_place_init(&place);
  assert_int_equal(place.cpu_count, CPU_COUNT(&set));
  for (uint32_t i = 0; i < place.cpu_count; i++) {
    assert_true(CPU_ISSET(place.cpus[i], &set));
    CPU_CLR(place.cpus[i], &set);
  }
  assert_true(place.node_count >= 1);
  pto_place_fini(&place);
}

static void test_a_pinned_thread_stays_on_its_cpu_and_can_be_set_free(void **state) {
  cpu_set_t before, inside, after;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  pto_place_init(&place);
  for (uint32_t i = 0; i < place.cpu_count && i < 8; i++) {
    struct pto_place_affinity affinity = {0};
    if (!pto_place_pin(&place, i, &affinity)) continue; /* the machine does not let us */
    assert_int_equal(sched_getaffinity(0, sizeof inside, &inside), 0);
    assert_int_equal(CPU_COUNT(&inside), 1);
    assert_true(CPU_ISSET(place.cpus[i], &inside));
    pto_place_unpin(&place, &affinity);
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
    pto_place_unpin(&place, &affinity); /* once more is nothing */
  }
  pto_place_fini(&place);
}

static void test_a_cpu_that_is_not_there_is_refused(void **state) {
  struct pto_place_affinity affinity = {0};
  pto_place_init(&place);
  assert_false(pto_place_pin(&place, place.cpu_count, &affinity));
  assert_null(affinity.set);
  pto_place_unpin(&place, &affinity);
  pto_place_fini(&place);
}

static void test_threads_are_pinned_only_where_each_can_have_a_cpu(void **state) {
  pto_place_init(&place);
  assert_false(pto_place_can_pin(&place, 1));
  assert_false(pto_place_can_pin(&place, place.cpu_count + 1));
  if (place.topology && place.cpu_count > 1) assert_true(pto_place_can_pin(&place, place.cpu_count));
  pto_place_fini(&place);
}

static void test_a_process_that_is_bound_to_one_cpu_has_one(void **state) {
  cpu_set_t before, one;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int cpu = CPU_SETSIZE - 1; CPU_COUNT(&one) == 0; cpu--)
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  pto_place_init(&place);
  assert_int_equal(place.cpu_count, allowed_cpus());
  assert_int_equal(place.cpu_count, 1);
  assert_false(pto_place_can_pin(&place, 2));
  pto_place_fini(&place);
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

static void test_memory_can_be_placed_and_the_report_says_where_we_are(void **state) {
  static _Alignas(4096) char pages[2 * 4096];
  char expected[32];
  pto_place_init(&place);
  pto_place_memory(&place, 0, pages, sizeof pages);
  pto_place_memory(&place, place.cpu_count, pages, sizeof pages);
  snprintf(expected, sizeof expected, "%u CPU", place.cpu_count);
  assert_non_null(strstr(pto_place_report(&place), expected));
  pto_place_fini(&place);
  pto_place_fini(&place); /* zeroed again */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_cpu_that_the_process_may_use_is_listed_once),
      cmocka_unit_test(test_a_pinned_thread_stays_on_its_cpu_and_can_be_set_free),
      cmocka_unit_test(test_a_cpu_that_is_not_there_is_refused),
      cmocka_unit_test(test_threads_are_pinned_only_where_each_can_have_a_cpu),
      cmocka_unit_test(test_a_process_that_is_bound_to_one_cpu_has_one),
      cmocka_unit_test(test_memory_can_be_placed_and_the_report_says_where_we_are),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
