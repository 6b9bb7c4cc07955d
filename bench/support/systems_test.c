/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <bench/support/systems.h>

static char folder[] = "/tmp/pto-systems-XXXXXX";

/* A program that writes down how it was called, and then does as the script says. */
static void make_program(const char *name, const char *script) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file, "#!/bin/sh\necho \"$@\" >%s/called\n%s\n", folder, script);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(chmod(path, 0700), 0);
}

static void was_called_with(const char *words) {
  char path[256], line[256] = "";
  snprintf(path, sizeof path, "%s/called", folder);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  assert_non_null(fgets(line, sizeof line, file));
  fclose(file);
  line[strcspn(line, "\n")] = '\0';
  assert_string_equal(line, words);
}

static int setup(void **state) {
  (void)state;
  if (mkdtemp(folder) == NULL || setenv("PTO_BENCH_PEERS", folder, 1) != 0) return -1;
  make_program("pto", "echo 5 50; echo 9 90; echo 7 70");
  make_program("tbb", "echo 100; echo 60 120");
  make_program("starpu", "echo 5 50; exit 1");
  make_program("openmp-gcc", "echo 5 50");
  return pto_systems_find("systems_test") ? 0 : -1;
}

static int teardown(void **state) {
  char command[64];
  (void)state;
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command);
}

static void programs_that_are_not_there_are_known(void **state) {
  assert_true(pto_system_is_there(pto_system_find("tbb-inline", 1)));
  assert_false(pto_system_is_there(pto_system_find("openmp-llvm", 2)));
}

static void systems_are_found_by_name_and_threads(void **state) {
  assert_int_equal(pto_system_find("pto", 1)->workers, 1);
  assert_int_equal(pto_system_find("openmp-gcc-w256", 2)->window, 256);
  assert_null(pto_system_find("openmp-llvm", 1));
  assert_null(pto_system_find("openmp", 2));
}

static void a_repeat_is_the_median_of_the_rounds(void **state) {
  const struct pto_system_job job = {.pattern = "chain", .tasks = 1000, .rounds = 3};
  struct pto_system_times times;
  assert_true(pto_system_repeat(pto_system_find("pto", 2), &job, &times));
  assert_true(times.wall_ns == 7 && times.cpu_ns == 70 && times.serial_ns == 0);
  was_called_with("chain 1000 2 0 0 3 0");
}

static void tasks_with_a_body_tell_how_long_it_is(void **state) {
  const struct pto_system_job job = {.pattern = "stencil_1d", .tasks = 10, .rounds = 1, .body_steps = 4000};
  struct pto_system_times times;
  assert_true(pto_system_repeat(pto_system_find("tbb-inline", 2), &job, &times));
  assert_true(times.wall_ns == 60 && times.serial_ns == 100);
  was_called_with("stencil_1d 10 2 0 1 1 4000");
}

static void a_program_that_fails_or_leaves_rounds_out_has_no_times(void **state) {
  const struct pto_system_job one = {.pattern = "chain", .tasks = 10, .rounds = 1};
  const struct pto_system_job two = {.pattern = "chain", .tasks = 10, .rounds = 2};
  struct pto_system_times times;
  assert_false(pto_system_repeat(pto_system_find("starpu", 2), &one, &times));
  assert_true(pto_system_repeat(pto_system_find("openmp-gcc", 2), &one, &times));
  assert_false(pto_system_repeat(pto_system_find("openmp-gcc", 2), &two, &times));
  assert_false(pto_system_repeat(pto_system_find("openmp-llvm", 2), &one, &times));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(programs_that_are_not_there_are_known),
      cmocka_unit_test(systems_are_found_by_name_and_threads),
      cmocka_unit_test(a_repeat_is_the_median_of_the_rounds),
      cmocka_unit_test(tasks_with_a_body_tell_how_long_it_is),
      cmocka_unit_test(a_program_that_fails_or_leaves_rounds_out_has_no_times),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
