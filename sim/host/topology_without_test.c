/* SPDX-License-Identifier: MIT */
/* The same module built without hwloc and libnuma, compiled in here: nothing is pinned, everything else holds. */
#undef PTO_HAVE_HWLOC
#undef PTO_HAVE_NUMA
#define PTO_HAVE_HWLOC 0
#define PTO_HAVE_NUMA 0
#include <sim/host/topology.c>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_without_hwloc_cpus_are_counted_and_nothing_is_pinned(void **state) {
  struct pto_topology topology;
  struct pto_topology_affinity affinity = {&topology};
  cpu_set_t set;
  assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
  pto_topology_init(&topology);
  assert_int_equal(topology.cpu_count, CPU_COUNT(&set));
  assert_int_equal(topology.node_count, 1);
  assert_false(pto_topology_can_pin(&topology, topology.cpu_count));
  assert_false(pto_topology_pin(&topology, 0, &affinity));
  assert_null(affinity.set);
  pto_topology_unpin(&topology, &affinity);
  pto_topology_memory(&topology, 0, &topology, sizeof topology);
  assert_non_null(strstr(pto_topology_report(&topology), "built without hwloc, threads are not pinned"));
  pto_topology_fini(&topology);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_without_hwloc_cpus_are_counted_and_nothing_is_pinned),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
