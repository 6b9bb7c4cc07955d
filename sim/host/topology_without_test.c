/* SPDX-License-Identifier: MIT */
/* The same module built without hwloc and libnuma, compiled in here: CPUs are in no order by core, everything else
 * holds. */
#undef PTO_HAVE_HWLOC
#undef PTO_HAVE_NUMA
#define PTO_HAVE_HWLOC 0
#define PTO_HAVE_NUMA 0
#include <sim/host/topology.c>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_without_hwloc_cpus_are_counted_in_their_own_order(void **state) {
  struct pto_topology topology;
  cpu_set_t set;
  assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
  pto_topology_init(&topology);
  assert_int_equal(topology.cpu_count, CPU_COUNT(&set));
  assert_int_equal(pto_topology_count_cpus(), topology.cpu_count);
  assert_int_equal(topology.node_count, 1);
  struct pto_error error;
  assert_int_equal(pto_topology_place(&topology, "spread", topology.cpu_count + 1, &error), PTO_OK);
  assert_false(topology.is_placed);
  pto_topology_memory(&topology, 0, &topology, sizeof topology);
  assert_non_null(strstr(pto_topology_report(&topology), "built without hwloc; "));
  pto_topology_fini(&topology);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_without_hwloc_cpus_are_counted_in_their_own_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
