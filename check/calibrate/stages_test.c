/* SPDX-License-Identifier: MIT */
/* The stages against the measured kernels of the shipped table, and the page that tells of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <check/calibrate/stages.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEGIN "<!-- made by check/calibrate/stages_test.c -->\n"
#define END "<!-- end -->"
#define MICROSECOND_PS UINT64_C(1000000)

static struct pto_chip chip;
static struct pto_kernel_table table;

static int load(void **state) {
  struct pto_error error;
  if (pto_chip_load("a2a3", &chip, &error) != PTO_OK) return -1;
  return pto_kernel_table_load("a2a3", &table, &error) == PTO_OK ? 0 : -1;
}
static int unload(void **state) {
  pto_kernel_table_free(&table);
  return 0;
}

static const struct pto_stage_row *row_of(const char *set, const char *name) {
  const struct pto_stage_row *row;
  for (uint32_t i = 0; (row = pto_stage_row_at(i)) != NULL; i++)
    if (strcmp(row->set, set) == 0 && strcmp(row->name, name) == 0) return row;
  fail_msg("no row %s of %s", name, set);
  return NULL;
}

static void test_every_row_of_the_list_is_in_the_shipped_table(void **state) {
  const struct pto_stage_row *row;
  for (uint32_t i = 0; (row = pto_stage_row_at(i)) != NULL; i++)
    if (pto_stages_measured(&table, row) == 0) fail_msg("%s %s", row->kernel, row->key);
}

/* The stages of the chip file are those that the fit gives. */
static void test_the_chip_file_has_the_fitted_stages(void **state) {
  struct pto_stage_fit fit;
  assert_true(chip.has_stages);
  assert_true(pto_stages_fit(&chip, &table, NULL, &fit));
  assert_int_equal(fit.stages.start_ps, chip.stages.start_ps);
  assert_int_equal(fit.stages.trip_ps, chip.stages.trip_ps);
  assert_int_equal(fit.stages.cube_percent, chip.stages.cube_percent);
}

static void test_stages_give_the_mean_of_single_tiles_within_a_tenth(void **state) {
  const struct pto_stage_row *row = row_of("pa-2026", "mean of qk softmax pv update");
  const struct pto_stage_fit fit = {.stages = chip.stages};
  const uint64_t is = pto_stages_measured(&table, row), says = pto_stages_predict(&chip, &fit, row);
  assert_in_range(says, is - is / 10, is + is / 10);
}

static void test_a_fit_gives_back_the_stages_that_times_were_made_with(void **state) {
  struct pto_kernel_table made = {0};
  struct pto_stage_fit fit = {.stages = chip.stages, .launch_ps = 9000000};
  const struct pto_stage_row *row;
  fit.stages.start_ps = 700000;
  fit.stages.trip_ps = 300000;
  fit.stages.cube_percent = 80;
  for (uint32_t i = 0; (row = pto_stage_row_at(i)) != NULL; i++) {
    struct pto_kernel_row of = {.count = 1, .mean_ps = pto_stages_predict(&chip, &fit, row)};
    snprintf(of.kernel, sizeof of.kernel, "%s", row->kernel);
    snprintf(of.core, sizeof of.core, "%s", row->core);
    snprintf(of.key, sizeof of.key, "%s", row->key);
    assert_true(pto_kernel_table_add(&made, &of));
  }
  struct pto_stage_fit found;
  assert_true(pto_stages_fit(&chip, &made, NULL, &found));
  assert_int_equal(found.row_count, made.count);
  assert_in_range(found.stages.start_ps, 690000, 710000);
  assert_in_range(found.stages.trip_ps, 299000, 301000);
  assert_int_equal(found.stages.cube_percent, 80);
  assert_in_range(found.launch_ps, 8950000, 9050000);
  pto_kernel_table_free(&made);
  assert_false(pto_stages_fit(&chip, &made, NULL, &found));
}

static char *read_all(const char *path) {
  FILE *file = fopen(path, "r");
  char *text = calloc(1, 1 << 16);
  assert_non_null(file);
  assert_non_null(text);
  assert_true(fread(text, 1, (1 << 16) - 1, file) > 0);
  fclose(file);
  return text;
}

/* Writes each row, its time, what the stages say that were fitted without it, and the error; and the mean of the
 * absolute errors of rows above 5 µs, which it returns in ten thousandths. */
static uint64_t put_errors(FILE *to) {
  const struct pto_stage_row *row, *before = NULL;
  uint32_t counted = 0;
  uint64_t sum = 0;
  fputs("| set | kernel | measured, µs | fitted without it, µs | error |\n|---|---|---|---|---|\n", to);
  for (uint32_t i = 0; (row = pto_stage_row_at(i)) != NULL; before = row, i++) {
    struct pto_stage_fit fit;
    const uint64_t is = pto_stages_measured(&table, row);
    if (before && strcmp(row->kernel, before->kernel) == 0 && strcmp(row->key, before->key) == 0) continue;
    assert_true(is > 0 && pto_stages_fit(&chip, &table, row, &fit));
    const uint64_t says = pto_stages_predict(&chip, &fit, row);
    const uint64_t apart = (uint64_t)((unsigned __int128)(says > is ? says - is : is - says) * 10000 / is);
    fprintf(to, "| %s | %s | %" PRIu64 ".%02" PRIu64 " | %" PRIu64 ".%02" PRIu64 " | %s%" PRIu64 ".%" PRIu64 " %% |\n",
            row->set, row->name, is / MICROSECOND_PS, is / 10000 % 100, says / MICROSECOND_PS, says / 10000 % 100,
            says < is ? "−" : "+", (apart + 5) / 100, (apart + 5) / 10 % 10);
    if (is < 5 * MICROSECOND_PS) continue;
    sum += apart;
    counted++;
  }
  const uint64_t mean = counted ? sum / counted : 0;
  fprintf(to, "| mean of the %" PRIu32 " above 5 µs | | | | %" PRIu64 ".%" PRIu64 " %% |\n", counted, (mean + 5) / 100,
          (mean + 5) / 10 % 10);
  return mean;
}

static void test_rows_that_were_left_out_are_predicted_as_the_page_says(void **state) {
  char *page = read_all("docs/kernel-times.md"), *made = NULL;
  size_t size = 0;
  FILE *to = open_memstream(&made, &size);
  assert_non_null(to);
  const uint64_t mean = put_errors(to);
  fclose(to);
  assert_in_range(mean, 1, 2000); /* a fifth */
  const char *at = strstr(page, BEGIN);
  assert_non_null(at);
  at += strlen(BEGIN);
  const char *end = strstr(at, END);
  assert_non_null(end);
  if ((size_t)(end - at) != size || memcmp(at, made, size) != 0) fail_msg("docs/kernel-times.md must say:\n%s", made);
  free(made);
  free(page);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_row_of_the_list_is_in_the_shipped_table),
                                     cmocka_unit_test(test_the_chip_file_has_the_fitted_stages),
                                     cmocka_unit_test(test_stages_give_the_mean_of_single_tiles_within_a_tenth),
                                     cmocka_unit_test(test_a_fit_gives_back_the_stages_that_times_were_made_with),
                                     cmocka_unit_test(test_rows_that_were_left_out_are_predicted_as_the_page_says)};
  return cmocka_run_group_tests(tests, load, unload);
}
