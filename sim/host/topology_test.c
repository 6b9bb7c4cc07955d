/* SPDX-License-Identifier: MIT */
#include <sim/host/topology.h>

#include <link.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct pto_topology topology;

static uint32_t allowed_cpus(void) {
  cpu_set_t set;
  assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
  return (uint32_t)CPU_COUNT(&set);
}

static void test_every_cpu_that_the_process_may_use_is_listed_once(void **state) {
  cpu_set_t set;
  assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
  pto_topology_init(&topology);
  assert_int_equal(topology.cpu_count, CPU_COUNT(&set));
  assert_int_equal(pto_topology_count_cpus(), topology.cpu_count);
  for (uint32_t i = 0; i < topology.cpu_count; i++) {
    assert_true(CPU_ISSET(topology.cpus[i], &set));
    CPU_CLR(topology.cpus[i], &set);
  }
  assert_true(topology.node_count >= 1);
  pto_topology_fini(&topology);
}

static int note_loads(struct dl_phdr_info *info, size_t size, void *loads) {
  *(unsigned long long *)loads = info->dlpi_adds;
  return 1;
}
static void test_the_second_topology_loads_no_library(void **state) {
  unsigned long long first = 0, second = 0;
  pto_topology_init(&topology);
  pto_topology_fini(&topology);
  dl_iterate_phdr(note_loads, &first);
  pto_topology_init(&topology);
  pto_topology_fini(&topology);
  dl_iterate_phdr(note_loads, &second);
  assert_true(first > 0);
  assert_int_equal(second, first);
}

static void test_a_pinned_thread_stays_on_its_cpu_and_can_be_set_free(void **state) {
  cpu_set_t before, inside, after;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  pto_topology_init(&topology);
  for (uint32_t i = 0; i < topology.cpu_count && i < 8; i++) {
    struct pto_topology_affinity affinity = {0};
    if (!pto_topology_pin(&topology, i, &affinity)) continue; /* the machine does not let us */
    assert_int_equal(sched_getaffinity(0, sizeof inside, &inside), 0);
    assert_int_equal(CPU_COUNT(&inside), 1);
    assert_true(CPU_ISSET(topology.cpus[i], &inside));
    pto_topology_unpin(&affinity);
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
    pto_topology_unpin(&affinity); /* once more is nothing */
  }
  pto_topology_fini(&topology);
}

static void test_a_cpu_that_is_not_there_is_refused(void **state) {
  struct pto_topology_affinity affinity = {0};
  pto_topology_init(&topology);
  assert_false(pto_topology_pin(&topology, topology.cpu_count, &affinity));
  assert_false(affinity.is_pinned);
  pto_topology_unpin(&affinity);
  pto_topology_fini(&topology);
}

static void check_place(const char *placement, uint32_t threads, bool is_placed, const char *said) {
  struct pto_error error;
  pto_topology_init(&topology);
  assert_int_equal(pto_topology_place(&topology, placement, threads, &error), PTO_OK);
  assert_int_equal(topology.is_placed, is_placed);
  if (!strstr(pto_topology_report(&topology), said)) fail_msg("%s: %s", said, pto_topology_report(&topology));
  pto_topology_fini(&topology);
}

static void test_threads_are_pinned_only_where_it_is_asked_for_and_each_can_have_a_cpu(void **state) {
  pto_topology_init(&topology);
  const uint32_t cpus = topology.cpu_count;
  pto_topology_fini(&topology);
  check_place(NULL, 1, false, "; threads on no CPU in particular");
  check_place("none", cpus, false, "; threads on no CPU in particular");
  check_place("spread", cpus + 1, false, "threads are more than the CPUs");
}

/* Of two topologies at a time, as of two runs.  Tests beside this one claim CPUs too; not so in a network of its own,
 * which claims belong to, where that may be had. */
static void test_two_runs_spread_to_other_cpus(void **state) {
  static struct pto_topology second;
  struct pto_error error;
  const bool is_alone = unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
  pto_topology_init(&topology);
  assert_int_equal(pto_topology_place(&topology, "spread", 1, &error), PTO_OK);
  if (topology.is_placed) {
    pto_topology_init(&second);
    assert_int_equal(pto_topology_place(&second, "spread", 1, &error), PTO_OK);
    if (second.is_placed) assert_int_not_equal(second.cpus[0], topology.cpus[0]);
    pto_topology_fini(&second);
    pto_topology_init(&second);
    assert_int_equal(pto_topology_place(&second, "spread", topology.cpu_count, &error), PTO_OK);
    assert_false(second.is_placed);
    if (!strstr(pto_topology_report(&second), "quota"))
      assert_non_null(strstr(pto_topology_report(&second), "other runs have too many of the CPUs"));
    pto_topology_fini(&second);
    const uint16_t first = topology.cpus[0];
    pto_topology_fini(&topology);
    pto_topology_init(&topology); /* what was claimed is free again */
    assert_int_equal(pto_topology_place(&topology, "spread", 1, &error), PTO_OK);
    if (is_alone) assert_int_equal(topology.cpus[0], first);
  }
  pto_topology_fini(&topology);
}

static void test_lists_are_taken_in_their_order_and_wrong_ones_refused(void **state) {
  static const char *const wrong[] = {"x", "", "0,", ",0", "1-0", "-1", "0-", "0-a", "9999", "0,0", "spreads"};
  struct pto_error error;
  char list[64], said[64];
  pto_topology_init(&topology);
  const uint16_t last = topology.cpus[topology.cpu_count - 1], first = topology.cpus[0];
  const uint32_t cpus = topology.cpu_count;
  pto_topology_fini(&topology);
  snprintf(list, sizeof list, cpus > 1 ? "%u,%u" : "%u", last, first);
  pto_topology_init(&topology);
  assert_int_equal(pto_topology_place(&topology, list, 1, &error), PTO_OK);
  assert_true(topology.is_placed);
  assert_int_equal(topology.cpus[0], last);
  assert_int_equal(pto_topology_place(&topology, list, cpus + 1, &error), PTO_EINVAL);
  pto_topology_fini(&topology);
  snprintf(list, sizeof list, "%u", first);
  pto_topology_init(&topology);
  assert_int_equal(pto_topology_place(&topology, list, 2, &error), PTO_EINVAL);
  assert_non_null(strstr(error.sentence, "placement: 1 CPU in '"));
  pto_topology_fini(&topology);
  snprintf(list, sizeof list, "%u,%u", first, first);
  pto_topology_init(&topology);
  assert_int_equal(pto_topology_place(&topology, list, 2, &error), PTO_EINVAL);
  pto_topology_fini(&topology);
  snprintf(said, sizeof said, "placement: CPU %u is there twice", first);
  assert_string_equal(error.sentence, said);
  pto_topology_init(&topology);
  assert_int_equal(pto_topology_place(&topology, "9999", 1, &error), PTO_EINVAL);
  pto_topology_fini(&topology);
  assert_string_equal(error.sentence, "placement: CPU 9999 is none that this process may use");
  snprintf(list, sizeof list, "%u,9999", first);
  pto_topology_init(&topology);
  assert_int_equal(pto_topology_place(&topology, list, 2, &error), PTO_EINVAL);
  pto_topology_fini(&topology);
  assert_string_equal(error.sentence, "placement: CPU 9999 is none that this process may use");
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    pto_topology_init(&topology);
    if (pto_topology_place(&topology, wrong[i], 1, &error) != PTO_EINVAL) fail_msg("'%s' is taken", wrong[i]);
    pto_topology_fini(&topology);
  }
}

static void test_a_process_that_is_bound_to_one_cpu_has_one(void **state) {
  cpu_set_t before, one;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int cpu = CPU_SETSIZE - 1; CPU_COUNT(&one) == 0; cpu--)
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  pto_topology_init(&topology);
  assert_int_equal(topology.cpu_count, allowed_cpus());
  assert_int_equal(topology.cpu_count, 1);
  struct pto_error error;
  assert_int_equal(pto_topology_place(&topology, "spread", 2, &error), PTO_OK);
  assert_false(topology.is_placed);
  pto_topology_fini(&topology);
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

static void test_memory_can_be_placed_and_the_report_says_where_we_are(void **state) {
  static _Alignas(4096) char pages[2 * 4096];
  char expected[32];
  pto_topology_init(&topology);
  pto_topology_memory(&topology, 0, pages, sizeof pages);
  pto_topology_memory(&topology, topology.cpu_count, pages, sizeof pages);
  snprintf(expected, sizeof expected, "%u CPU", topology.cpu_count);
  assert_non_null(strstr(pto_topology_report(&topology), expected));
  pto_topology_fini(&topology);
  pto_topology_fini(&topology); /* zeroed again */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_cpu_that_the_process_may_use_is_listed_once),
      cmocka_unit_test(test_the_second_topology_loads_no_library),
      cmocka_unit_test(test_a_pinned_thread_stays_on_its_cpu_and_can_be_set_free),
      cmocka_unit_test(test_a_cpu_that_is_not_there_is_refused),
      cmocka_unit_test(test_threads_are_pinned_only_where_it_is_asked_for_and_each_can_have_a_cpu),
      cmocka_unit_test(test_two_runs_spread_to_other_cpus),
      cmocka_unit_test(test_lists_are_taken_in_their_order_and_wrong_ones_refused),
      cmocka_unit_test(test_a_process_that_is_bound_to_one_cpu_has_one),
      cmocka_unit_test(test_memory_can_be_placed_and_the_report_says_where_we_are),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
