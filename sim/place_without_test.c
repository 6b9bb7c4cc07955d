/* SPDX-License-Identifier: MIT */
/* The same module built without hwloc and libnuma, compiled in here: nothing is pinned, everything else holds. */
#undef PTO_HAVE_HWLOC
#undef PTO_HAVE_NUMA
#define PTO_HAVE_HWLOC 0
#define PTO_HAVE_NUMA 0
#include <sim/place.c>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_without_hwloc_cpus_are_counted_and_nothing_is_pinned(void **state) {
  struct pto_place place;
  struct pto_place_affinity affinity = {&place};
  cpu_set_t set;
  assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
  pto_place_init(&place);
  assert_int_equal(place.cpu_count, CPU_COUNT(&set));
  assert_int_equal(place.node_count, 1);
  assert_false(pto_place_can_pin(&place, place.cpu_count));
  assert_false(pto_place_pin(&place, 0, &affinity));
  assert_null(affinity.set);
  pto_place_unpin(&place, &affinity);
  pto_place_memory(&place, 0, &place, sizeof place);
  assert_non_null(strstr(pto_place_report(&place), "built without hwloc, threads are not pinned"));
  pto_place_fini(&place);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_without_hwloc_cpus_are_counted_and_nothing_is_pinned),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
