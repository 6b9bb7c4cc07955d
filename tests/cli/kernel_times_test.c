/* SPDX-License-Identifier: MIT */
/* The example programs on a chip with a table of kernel times and stages: which of their kernels are known to it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <runtime/base/base.h>
#include <tests/support/ptosim_child.h>

#define STAGES                                                                                                         \
  "[stages]\nstart_ps = 853000\ntrip_ps = 208000\ngm_to_l1_mbps = 144955\nl1_to_l0a_mbps = 473520\n"                   \
  "l1_to_l0b_mbps = 236760\nl0c_to_gm_mbps = 75161\ngm_to_ub_mbps = 108340\nub_to_gm_mbps = 202400\n"                  \
  "cube_percent = 85\n"

static char chip[] = "/tmp/pto_kernel_times_XXXXXX";

/* plain.ini with a table and stages. */
static int write_chip(void **state) {
  char line[512];
  const int fd = mkstemp(chip);
  FILE *to = fd < 0 ? NULL : fdopen(fd, "w"), *from = fopen("tests/regress/plain.ini", "r");
  if (!to || !from) return -1;
  while (fgets(line, sizeof line, from)) {
    fputs(line, to);
    if (strcmp(line, "[chip]\n") == 0) fputs("kernel_times = a2a3\n", to);
  }
  fputs(STAGES, to);
  fclose(from);
  if (fclose(to) != 0) return -1;
  return pto_ptosim_setup(state);
}
static int remove_chip(void **state) {
  unlink(chip);
  return pto_ptosim_teardown(state);
}

/* Microseconds by origin: measured, interpolated, modelled, assumed. */
static void run(const char *program, const char *chip_file, double *us) {
  static const char *const origins[] = {"measured", "interpolated", "modelled", "assumed"};
  assert_int_equal(pto_ptosim_run("run %s --engine virtual --chip %s --json -", program, chip_file), 0);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  const json_t *times = json_object_get(root, "core_us");
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(origins); i++) us[i] = json_number_value(json_object_get(times, origins[i]));
  json_decref(root);
}

#define UNROLLED "paged_attention_unroll --set batch=1 --set heads=16 --set dim=128 --set block=128 --set dtype=bf16"

static void test_unrolled_attention_at_the_measured_size_is_measured(void **state) {
  double us[4];
  run(UNROLLED " --set ctx=8192", chip, us);
  /* softmax and update as in the table, the products a stream that is alone here: 51.63 and 52.61 µs at a 24th of 1.6
   * TB/s */
  assert_true(us[0] > 58.82 + 2.56 + (51.63 + 52.61) / 2 && us[0] < 58.82 + 2.56 + 51.63 + 52.61);
  assert_true(us[1] == 0 && us[2] == 0 && us[3] == 0);
}

static void test_other_sizes_are_modelled(void **state) {
  double us[4];
  run(UNROLLED " --set ctx=4096", chip, us);
  assert_true(us[0] == 0 || us[0] == 2.56); /* the update has the same key */
  assert_true(us[1] == 0 && us[2] > 10 && us[3] == 0);
  run("paged_attention --case 4x16x128x128x1024 --set dtype=bf16", chip, us);
  assert_true(us[0] == 0 && us[1] == 0 && us[2] > 100 && us[3] == 0);
}

static void test_batched_attention_has_rows_but_for_its_newer_update(void **state) {
  double us[4];
  run("batch_paged_attention --case 16x16x128x128x512 --set dtype=bf16 --set blocks=one", chip, us);
  assert_true(us[0] > 4 * 12.7 && us[0] <= 4 * (17.7 + 12.7 + 16.9) + 1e-6);
  assert_true(us[1] == 0 && us[2] > 4 * 5 && us[2] < 4 * 15.0 && us[3] == 0);
  /* a block a request: no row, and none below it */
  run("batch_paged_attention --case 16x16x128x128x512 --set dtype=bf16", chip, us);
  assert_true(us[0] == 0 && us[1] == 0 && us[2] > 0 && us[3] == 0);
}

static void test_without_table_and_stages_all_is_assumed(void **state) {
  double us[4];
  run(UNROLLED " --set ctx=8192", "tests/regress/plain.ini", us);
  assert_true(us[0] == 0 && us[1] == 0 && us[2] == 0 && us[3] > 0);
}

static void test_stats_say_what_the_time_is_worth(void **state) {
  assert_int_equal(pto_ptosim_run("run " UNROLLED " --set ctx=8192 --engine virtual --chip %s --stats", chip), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "of core time 100.0 % measured, 0.0 % interpolated, 0.0 % modelled, "
                                              "0.0 % assumed\n"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_unrolled_attention_at_the_measured_size_is_measured),
                                     cmocka_unit_test(test_other_sizes_are_modelled),
                                     cmocka_unit_test(test_batched_attention_has_rows_but_for_its_newer_update),
                                     cmocka_unit_test(test_without_table_and_stages_all_is_assumed),
                                     cmocka_unit_test(test_stats_say_what_the_time_is_worth)};
  return cmocka_run_group_tests(tests, write_chip, remove_chip);
}
