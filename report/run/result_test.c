/* SPDX-License-Identifier: MIT */
/* Tests of the result's JSON: which values are null when, and that every key is there whatever happened. */
#include <report/run/result.h>
#include <formats/units.h>

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

static char path[64];

static int make_path(void **state) {
  snprintf(path, sizeof path, "/tmp/pto_result_test_XXXXXX");
  int fd = mkstemp(path);
  return fd < 0 ? -1 : close(fd);
}
static int remove_path(void **state) { return unlink(path); }

static json_t *write_and_load(const struct pto_run_result *result) {
  struct pto_error error;
  json_error_t parse_error;
  assert_int_equal(pto_run_result_write_json(result, path, &error), PTO_OK);
  json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &parse_error);
  assert_non_null(root);
  return root;
}

static const char *const keys[] = {"format",
                                   "version",
                                   "program",
                                   "case",
                                   "engine",
                                   "chip",
                                   "workers",
                                   "placement",
                                   "deps",
                                   "policy",
                                   "seed",
                                   "rounds",
                                   "jitter_percent",
                                   "tasks",
                                   "edges",
                                   "live_edges",
                                   "wall_seconds",
                                   "virtual_us",
                                   "orchestration_us",
                                   "core_us",
                                   "verified",
                                   "max_abs_error",
                                   "output_digest",
                                   "exact_outputs",
                                   "trace_digest",
                                   "window_high_water",
                                   "heap_high_water_bytes",
                                   "h2d_bytes",
                                   "d2h_bytes",
                                   "d2d_bytes",
                                   "lowering_cache_hits",
                                   "lowering_cache_misses",
                                   "no_compute",
                                   "refused",
                                   "first_refusal",
                                   "stopped",
                                   "status",
                                   "exit",
                                   "error"};

static struct pto_run_result full(void) {
  return (struct pto_run_result){.program = "bgemm",
                                 .case_name = "small",
                                 .engine = "virtual",
                                 .chip = "tiny",
                                 .deps = "exact",
                                 .deps_list = "exact",
                                 .policy = "fifo",
                                 .seed = 7,
                                 .workers = 1,
                                 .rounds = 1,
                                 .has_run = true,
                                 .has_time = true,
                                 .is_virtual = true,
                                 .stats = {.tasks = 10,
                                           .edges = 9,
                                           .virtual_ps = 1234567,
                                           .measured_ps = 4000001,
                                           .modelled_ps = 3000000,
                                           .assumed_ps = 2,
                                           .window_high_water = 4,
                                           .heap_high_water_bytes = UINT64_C(5) << 32},
                                 .wall_seconds = 0.25,
                                 .verified = PTO_VERDICT_TRUE,
                                 .max_abs_error = 0.5,
                                 .has_output_digest = true,
                                 .has_exact_outputs = true,
                                 .has_trace_digest = true,
                                 .output_digest = UINT64_C(0xffeeddccbbaa9988),
                                 .trace_digest = 1,
                                 .h2d_bytes = 3};
}

static void test_a_whole_result_has_every_key_with_its_value(void **state) {
  struct pto_run_result result = full();
  json_t *root = write_and_load(&result);
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
    if (!json_object_get(root, keys[i])) fail_msg("no key %s", keys[i]);
  assert_int_equal(json_object_size(root), sizeof keys / sizeof keys[0]);
  assert_true(json_number_value(json_object_get(root, "virtual_us")) == 1.234567);
  const json_t *times = json_object_get(root, "core_us");
  assert_int_equal(json_object_size(times), 4);
  assert_true(json_number_value(json_object_get(times, "measured")) == 4.000001);
  assert_true(json_number_value(json_object_get(times, "interpolated")) == 0);
  assert_true(json_number_value(json_object_get(times, "modelled")) == 3);
  assert_true(json_number_value(json_object_get(times, "assumed")) == 0.000002);
  assert_true(json_integer_value(json_object_get(root, "heap_high_water_bytes")) == INT64_C(5) << 32);
  assert_string_equal(json_string_value(json_object_get(root, "output_digest")), "ffeeddccbbaa9988");
  assert_true(json_is_true(json_object_get(root, "exact_outputs")));
  assert_string_equal(json_string_value(json_object_get(root, "trace_digest")), "0000000000000001");
  assert_int_equal(json_integer_value(json_object_get(root, "h2d_bytes")), 3);
  assert_string_equal(json_string_value(json_object_get(root, "status")), "PTO_OK");
  json_decref(root);
}

static void test_what_is_not_known_is_null_and_still_there(void **state) {
  struct pto_run_result result = {
      .program = "x", .exit_code = 2, .error = {.status = PTO_EINVAL, .sentence = "no \"x\"\n"}};
  json_t *root = write_and_load(&result);
  static const char *const nulls[] = {
      "case",          "engine",        "chip",          "tasks",        "edges",
      "wall_seconds",  "virtual_us",    "core_us",       "no_compute",   "verified",
      "max_abs_error", "output_digest", "exact_outputs", "trace_digest", "window_high_water",
      "stopped"};
  for (size_t i = 0; i < sizeof nulls / sizeof nulls[0]; i++)
    assert_true(json_is_null(json_object_get(root, nulls[i])));
  assert_int_equal(json_object_size(root), sizeof keys / sizeof keys[0]);
  assert_string_equal(json_string_value(json_object_get(root, "status")), "PTO_EINVAL");
  assert_string_equal(json_string_value(json_object_get(root, "error")), "no \"x\"\n");
  assert_int_equal(json_integer_value(json_object_get(root, "exit")), 2);
  json_decref(root);
}

static void test_threads_have_no_virtual_time(void **state) {
  struct pto_run_result result = full();
  result.is_virtual = result.has_trace_digest = false;
  json_t *root = write_and_load(&result);
  assert_true(json_is_null(json_object_get(root, "virtual_us")));
  assert_true(json_is_null(json_object_get(root, "core_us")));
  assert_true(json_is_null(json_object_get(root, "trace_digest")));
  json_decref(root);
}

static void test_an_infinite_error_is_the_largest_number(void **state) {
  struct pto_run_result result = full();
  result.verified = PTO_VERDICT_FALSE;
  result.max_abs_error = (double)INFINITY;
  json_t *root = write_and_load(&result);
  assert_true(json_is_false(json_object_get(root, "verified")));
  assert_true(json_number_value(json_object_get(root, "max_abs_error")) == DBL_MAX);
  json_decref(root);
}

/* Which often is a mistake of both, as of a row that is masked as a whole. */
static void test_elements_that_are_nan_as_expected_are_told(void **state) {
  struct pto_run_result result = full();
  for (result.nans = 0; result.nans <= 2; result.nans++) {
    static const char *const told[] = {"largest error 0.5\n",
                                       "largest error 0.5; 1 element is NaN, as the program expects\n",
                                       "largest error 0.5; 2 elements are NaN, as the program expects\n"};
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    assert_non_null(to);
    pto_run_result_print(&result, to);
    fclose(to);
    if (!strstr(text, told[result.nans])) fail_msg("%s", text);
    free(text);
  }
}

static void test_people_get_units(void **state) {
  char text[32];
  assert_string_equal(pto_format_seconds(2.5e-9, text, sizeof text), "2 ns");
  assert_string_equal(pto_format_seconds(12.34e-6, text, sizeof text), "12.3 us");
  assert_string_equal(pto_format_seconds(0.0125, text, sizeof text), "12.50 ms");
  assert_string_equal(pto_format_seconds(75, text, sizeof text), "75.00 s");
  assert_string_equal(pto_format_bytes(1023, text, sizeof text), "1023 bytes");
  assert_string_equal(pto_format_bytes(1536, text, sizeof text), "1.5 KiB");
  assert_string_equal(pto_format_bytes(UINT64_C(3) << 50, text, sizeof text), "3072.0 TiB");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_whole_result_has_every_key_with_its_value),
      cmocka_unit_test(test_what_is_not_known_is_null_and_still_there),
      cmocka_unit_test(test_threads_have_no_virtual_time),
      cmocka_unit_test(test_an_infinite_error_is_the_largest_number),
      cmocka_unit_test(test_elements_that_are_nan_as_expected_are_told),
      cmocka_unit_test(test_people_get_units),
  };
  return cmocka_run_group_tests(tests, make_path, remove_path);
}
