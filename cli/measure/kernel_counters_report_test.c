/* SPDX-License-Identifier: MIT */
/* What is said of counts made by hand: ratios, shares, sums of core kinds. */
#include <cli/measure/kernel_counters.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include <runtime/base/base.h>

static const struct pto_kernel matmul = {.name = "matmul"}, add = {.name = "add"};
static const char *const papi_names[] = {"PAPI_TOT_CYC", "PAPI_TOT_INS", "PAPI_L1_DCM", "PAPI_LST_INS"};

/* matmul: 2.5 instructions a cycle, 4 misses in 1000; add, which waits: 0.5, and 20. */
static const struct pto_kernel_counters_table two_kernels = {
    .event_count = 4,
    .row_count = 2,
    .thread_count = 2,
    .reading = {100, 50, 0, 0},
    .rows = {{.kernel = &matmul, .kind = PTO_AIC, .calls = 10, .stretches = 10, .counts = {1000, 2500, 10, 700}},
             {.kernel = &add, .kind = PTO_AIV, .calls = 5, .stretches = 15, .counts = {200, 100, 2, 0}}}};

static char *print(const struct pto_kernel_counters_table *table, const char *const *names) {
  char *text;
  size_t size;
  FILE *to = open_memstream(&text, &size);
  assert_non_null(to);
  pto_kernel_counters_print(table, names, to);
  fclose(to);
  return text;
}

static json_t *write_json(const struct pto_kernel_counters_table *table, const char *const *names) {
  static struct pto_json_writer writer;
  FILE *file = tmpfile();
  assert_non_null(file);
  pto_json_init(&writer, fileno(file));
  pto_json_object_begin(&writer);
  pto_kernel_counters_write_json(table, names, &writer);
  pto_json_object_end(&writer);
  assert_int_equal(pto_json_finish(&writer), 0);
  rewind(file);
  json_t *root = json_loadf(file, JSON_REJECT_DUPLICATES, NULL);
  fclose(file);
  assert_non_null(root);
  json_t *counted = json_incref(json_object_get(root, "kernel_counters"));
  json_decref(root);
  return counted;
}

static double real_of(json_t *object, const char *key) { return json_number_value(json_object_get(object, key)); }

static void test_the_json_has_counts_calls_and_ratios_of_each_kernel(void **state) {
  json_t *counted = write_json(&two_kernels, papi_names), *kernels = json_object_get(counted, "kernels");
  json_t *first = json_array_get(kernels, 0), *second = json_array_get(kernels, 1);
  assert_int_equal(json_array_size(kernels), 2);
  assert_string_equal(json_string_value(json_object_get(first, "kernel")), "matmul");
  assert_true(real_of(first, "instructions_per_cycle") == 2.5);
  assert_true(real_of(json_object_get(first, "events_per_call"), "PAPI_TOT_INS") == 250);
  json_t *misses = json_object_get(first, "misses_per_1000_instructions");
  assert_int_equal(json_object_size(misses), 1); /* loads and stores are no misses */
  assert_true(real_of(misses, "PAPI_L1_DCM") == 4);
  assert_true(real_of(second, "instructions_per_cycle") == 0.5);
  assert_true(real_of(json_object_get(second, "misses_per_1000_instructions"), "PAPI_L1_DCM") == 20);
  assert_int_equal(real_of(second, "stretches"), 15);
  assert_int_equal(real_of(json_object_get(counted, "reading"), "PAPI_TOT_CYC"), 100);
  json_t *aic = json_array_get(json_object_get(counted, "core_kinds"), 0);
  assert_string_equal(json_string_value(json_object_get(aic, "core_kind")), "aic");
  assert_int_equal(real_of(json_object_get(aic, "events"), "PAPI_TOT_CYC"), 1000);
  json_decref(counted);
}

static void test_the_text_has_them_too(void **state) {
  char *text = print(&two_kernels, papi_names);
  static const char *const parts[] = {"matmul (AIC), 10 calls\n",
                                      "add (AIV), 5 calls in 15 stretches",
                                      "instructions a cycle",
                                      "2.50",
                                      "0.50",
                                      "PAPI_L1_DCM",
                                      "83.3%",
                                      "16.7%",
                                      "PAPI_TOT_CYC about 100"};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(parts); i++)
    if (!strstr(text, parts[i])) fail_msg("no \"%s\" in\n%s", parts[i], text);
  assert_null(strstr(text, "not counted"));
  free(text);
}

static void test_ratios_are_there_only_where_both_events_were_counted(void **state) {
  static const char *const without_cycles[] = {"PAPI_L1_DCM", "perf::INSTRUCTIONS", "perf::CACHE-MISSES",
                                               "perf::FAULTS"};
  static const char *const without_instructions[] = {"PAPI_TOT_CYC", "PAPI_L2_TCM", "PAPI_BR_MSP", "x"};
  json_t *counted = write_json(&two_kernels, without_cycles);
  json_t *first = json_array_get(json_object_get(counted, "kernels"), 0);
  assert_null(json_object_get(first, "instructions_per_cycle"));
  json_t *misses = json_object_get(first, "misses_per_1000_instructions");
  assert_int_equal(json_object_size(misses), 2);
  assert_true(real_of(misses, "perf::CACHE-MISSES") == 4);
  json_decref(counted);
  counted = write_json(&two_kernels, without_instructions);
  first = json_array_get(json_object_get(counted, "kernels"), 0);
  assert_null(json_object_get(first, "instructions_per_cycle"));
  assert_null(json_object_get(first, "misses_per_1000_instructions"));
  json_decref(counted);
}

static void test_calls_that_were_not_counted_are_told_with_the_reason(void **state) {
  struct pto_kernel_counters_table table = two_kernels;
  table.uncounted_calls = 7;
  strcpy(table.sentence, "no more sets");
  char *text = print(&table, papi_names);
  assert_non_null(strstr(text, "7 calls are not counted: no more sets"));
  free(text);
}

static void test_a_kernel_without_a_call_that_has_ended_divides_by_nothing(void **state) {
  struct pto_kernel_counters_table table = two_kernels;
  table.rows[0].calls = 0;
  memset(table.rows[0].counts, 0, sizeof table.rows[0].counts);
  json_t *counted = write_json(&table, papi_names), *first = json_array_get(json_object_get(counted, "kernels"), 0);
  assert_true(real_of(json_object_get(first, "events_per_call"), "PAPI_TOT_CYC") == 0);
  assert_null(json_object_get(first, "instructions_per_cycle"));
  json_decref(counted);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_json_has_counts_calls_and_ratios_of_each_kernel),
      cmocka_unit_test(test_the_text_has_them_too),
      cmocka_unit_test(test_ratios_are_there_only_where_both_events_were_counted),
      cmocka_unit_test(test_calls_that_were_not_counted_are_told_with_the_reason),
      cmocka_unit_test(test_a_kernel_without_a_call_that_has_ended_divides_by_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
