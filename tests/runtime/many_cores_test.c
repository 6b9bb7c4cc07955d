/* SPDX-License-Identifier: MIT */
/*
 * 3, 72 and 108 simulated cores on two threads, and a thread for each of 72 cores, from outside: the same bytes, and it
 * comes to an end whatever the machine has.  Prints the times beside each other; nothing depends on them
 * (scripts/measure_overhead measures).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/base/base.h>
#include <tests/support/ptosim_child.h>

/* Runs a pattern of task_bench; its wall time in µs.  All digests of a pattern must be `digest`, "" before the first.
 */
static double run_pattern(const char *pattern, uint32_t grain_ns, const char *chip, uint32_t workers, char digest[32]) {
  int code =
      pto_ptosim_run("run task_bench --set pattern=%s --set grain_ns=%u --chip %s --workers %u --rounds 3 --json -",
                     pattern, grain_ns, chip, workers);
  if (code) fail_msg("%s on %s with %u workers left with %d: %s", pattern, chip, workers, code, pto_ptosim_last.err);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  if (!*digest) snprintf(digest, 32, "%s", pto_json_text(root, "output_digest"));
  assert_string_equal(pto_json_text(root, "output_digest"), digest);
  double us = 1e6 * json_number_value(json_object_get(root, "wall_seconds"));
  json_decref(root);
  return us;
}

static void test_two_workers_carry_3_72_or_108_cores_to_the_same_end(void **state) {
  static const char *const patterns[] = {"independent", "chain", "stencil_1d", "fork_join", "random_dag", "bgemm"};
  printf("10000 empty tasks, 2 workers, us on\n%-12s %10s %10s %10s\n", "", "tiny", "a2a3", "a5");
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(patterns); i++) {
    char digest[32] = "";
    double tiny = run_pattern(patterns[i], 0, "tiny", 2, digest), a2a3 = run_pattern(patterns[i], 0, "a2a3", 2, digest);
    printf("%-12s %10.0f %10.0f %10.0f\n", patterns[i], tiny, a2a3, run_pattern(patterns[i], 0, "a5", 2, digest));
  }
}

static void test_a_thread_for_each_of_72_cores_comes_to_its_end_on_a_small_machine(void **state) {
  static const uint32_t worker_counts[] = {2, 16, 73};
  char empty[32] = "", short_tasks[32] = "";
  printf("10000 tasks of stencil_1d on a2a3, us with\n%-12s %10s %10s\n", "workers", "0 ns", "1000 ns");
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(worker_counts); i++) {
    double us = run_pattern("stencil_1d", 0, "a2a3", worker_counts[i], empty);
    printf("%-12u %10.0f %10.0f\n", worker_counts[i], us,
           run_pattern("stencil_1d", 1000, "a2a3", worker_counts[i], short_tasks));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_two_workers_carry_3_72_or_108_cores_to_the_same_end),
      cmocka_unit_test(test_a_thread_for_each_of_72_cores_comes_to_its_end_on_a_small_machine),
  };
  return cmocka_run_group_tests(tests, pto_ptosim_setup, pto_ptosim_teardown);
}
