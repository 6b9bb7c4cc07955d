/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tests/conformance/case_compare.h>
#include <tests/conformance/case_folder.h>
#include <tests/conformance/case_json.h>
#include <tests/conformance/conformance_run.h>
#include <tests/conformance/validation_run.h>

static json_t *parse(const char *text) {
  struct pto_error error = {0};
  json_t *json = pto_case_json_parse(text, strlen(text), &error);
  assert_non_null(json);
  return json;
}

static struct pto_case_report run(pto_case_run *runner, const char *text) {
  struct pto_case_report report = {0};
  json_t *json = parse(text);
  runner(json, &report);
  json_decref(json);
  assert_int_equal(report.counts.cases, report.counts.passed + report.counts.failed + report.counts.skipped);
  return report;
}

/* A case of one operation on x [3] of float32, with this expectation and tolerance. */
#define ABS_CASE(op, expected, tolerance)                                                                              \
  "{\"op\":\"abs\",\"cases\":[{\"name\":\"c\",\"inputs\":{\"x\":{\"dataType\":\"float32\",\"shape\":[3],\"data\":["    \
  "-1,2,-0.0]}},\"operators\":[{\"op\":\"" op "\",\"operands\":{\"input\":\"x\"},\"outputs\":[\"y\"]}],\"expected\":{" \
  "\"y\":" expected "},\"tolerance\":{\"metric\":\"ULP\",\"value\":" tolerance "}}]}"

static void test_a_case_passes_where_all_is_as_expected_and_fails_where_it_is_not(void **state) {
  assert_int_equal(
      run(pto_conformance_run, ABS_CASE("abs", "{\"dataType\":\"float32\",\"shape\":[3],\"data\":[1,2,0]}", "0"))
          .counts.passed,
      1);
  const struct pto_case_report right =
      run(pto_conformance_run, ABS_CASE("abs", "{\"dataType\":\"float32\",\"shape\":[3],\"data\":[1,2,0]}", "0"));
  for (uint32_t i = 0; i < PTO_CASE_PATHS; i++) assert_int_equal(right.counts.on_path[i], 1);
  struct pto_case_report wrong =
      run(pto_conformance_run,
          ABS_CASE("abs", "{\"dataType\":\"float32\",\"shape\":[3],\"data\":[1,2.0000002384185791,0]}", "0"));
  assert_int_equal(wrong.counts.failed, 1);
  assert_true(wrong.ulp.difference == 1 && wrong.ulp.allowed == 0);
  assert_non_null(strstr(wrong.failures[0], "\"y\"[1]"));
  assert_int_equal(
      run(pto_conformance_run,
          ABS_CASE("abs", "{\"dataType\":\"float32\",\"shape\":[3],\"data\":[1,2.0000002384185791,0]}", "1"))
          .counts.passed,
      1);
}

static void test_what_is_wrong_with_a_case_is_a_failure_with_a_sentence(void **state) {
  static const struct {
    const char *text, *sentence;
  } wrong[] = {
      {ABS_CASE("absolute", "{\"dataType\":\"float32\",\"shape\":[3],\"data\":[1,2,0]}", "0"),
       "no operation \"absolute\""},
      {ABS_CASE("abs", "{\"dataType\":\"float16\",\"shape\":[3],\"data\":[1,2,0]}", "0"), "another data type or shape"},
      {ABS_CASE("abs", "{\"dataType\":\"float32\",\"shape\":[2],\"data\":[1,2]}", "0"), "another data type or shape"},
      {ABS_CASE("abs", "{\"dataType\":\"float32\",\"shape\":[3],\"data\":[1,2]}", "0"), "2 values of data"},
      {ABS_CASE("abs", "{\"dataType\":\"float32\",\"shape\":[3],\"data\":[1,2,\"x\"]}", "0"),
       "element 2 is no float32"},
      {ABS_CASE("abs", "{\"dataType\":\"float64\",\"shape\":[3],\"data\":[1,2,0]}", "0"), "no data type \"float64\""},
      {ABS_CASE("abs", "{\"dataType\":\"float32\",\"shape\":[3],\"data\":[1,2,0]}", "null"), "neither ULP nor ATOL"},
      {"{\"op\":\"abs\",\"cases\":[{\"name\":\"c\"}]}", "\"inputs\" is missing"},
      {"{\"op\":\"abs\",\"cases\":[17]}", "\"inputs\" is missing"},
      {"{\"op\":\"abs\",\"cases\":{}}", "\"cases\" is not a list"},
      {"{\"cases\":[]}", "\"op\" is missing"},
      {"[]", "\"op\" is missing"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    struct pto_case_report report = run(pto_conformance_run, wrong[i].text);
    assert_int_equal(report.counts.failed, 1);
    if (!strstr(report.failures[0], wrong[i].sentence)) fail_msg("%s", report.failures[0]);
  }
}

static void test_a_validation_case_fails_where_the_builder_thinks_otherwise(void **state) {
#define VALIDATION(shape, expect)                                                                                      \
  "{\"op\":\"relu\",\"cases\":[{\"test\":\"t\",\"operands\":{\"input\":{\"dataType\":\"float32\",\"shape\":" shape     \
  "}},\"expect\":" expect "}]}"
  assert_int_equal(
      run(pto_validation_run, VALIDATION("[2]", "{\"outputs\":[{\"dataType\":\"float32\",\"shape\":[2]}]}"))
          .counts.passed,
      1);
  static const char *const wrong[] = {
      VALIDATION("[2]", "{\"outputs\":[{\"dataType\":\"float32\",\"shape\":[3]}]}"),
      VALIDATION("[2]", "{\"outputs\":[{\"dataType\":\"float16\",\"shape\":[2]}]}"),
      VALIDATION("[2]", "{\"outputs\":[]}"),
      VALIDATION("[2]", "{\"error\":\"TypeError\"}"),
      VALIDATION("[0]", "{\"ok\":true}"),
      VALIDATION("[2]", "{}"),
      "{\"op\":\"nothing\",\"cases\":[{\"test\":\"t\",\"expect\":{\"error\":\"TypeError\"}}]}",
  };
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    struct pto_case_report report = run(pto_validation_run, wrong[i]);
    if (report.counts.failed != 1) fail_msg("case %zu passes", i);
  }
}

/* ---- numbers ---- */

/* The bytes of {"data": …}. */
static void read_data(uint32_t dtype, const char *text, uint32_t count, void *bytes, size_t size) {
  struct pto_error error = {0};
  struct pto_graph_desc desc = {.dtype = dtype, .ndims = 1, .shape = {count}};
  json_t *json = parse(text);
  void *data = NULL;
  uint64_t given = 0;
  if (pto_case_json_data(json, &desc, &data, &given, &error)) fail_msg("%s", error.sentence);
  assert_int_equal(given, size);
  memcpy(bytes, data, size);
  free(data);
  json_decref(json);
}

static void test_integers_of_64_bits_are_exact(void **state) {
  uint64_t u[3];
  int64_t i[3];
  read_data(PTO_UINT64, "{\"data\":[18446744073709551615,9223372036854775809,9007199254740993]}", 3, u, sizeof u);
  assert_true(u[0] == UINT64_MAX && u[1] == UINT64_C(9223372036854775809) && u[2] == UINT64_C(9007199254740993));
  read_data(PTO_INT64, "{\"data\":[-9223372036854775808,9223372036854775807,-9007199254740993]}", 3, i, sizeof i);
  assert_true(i[0] == INT64_MIN && i[1] == INT64_MAX && i[2] == INT64_C(-9007199254740993));
}

static void test_floats_are_rounded_once_to_nearest_even(void **state) {
  uint16_t h[8];
  /* Just above a tie, which a float would have rounded to the tie; the tie itself; overflow; the least subnormal. */
  read_data(PTO_FLOAT16,
            "{\"data\":[1.00048828125000001,1.00048828126,1.00048828125,1.00146484375,65520,65519.99,-0,3e-8]}", 8, h,
            sizeof h);
  assert_int_equal(h[0], 0x3c00);
  assert_int_equal(h[1], 0x3c01);
  assert_int_equal(h[2], 0x3c00);
  assert_int_equal(h[3], 0x3c02);
  assert_int_equal(h[4], 0x7c00);
  assert_int_equal(h[5], 0x7bff);
  assert_int_equal(h[6], 0x8000);
  assert_int_equal(h[7], 0x0001);
  float f[4];
  read_data(PTO_FLOAT32, "{\"data\":[\"NaN\",\"-Infinity\",1e39,0.1]}", 4, f, sizeof f);
  assert_true(isnan(f[0]) && f[1] == -INFINITY && f[2] == INFINITY && f[3] == 0.1f);
}

static void test_two_4_bit_values_share_a_byte_the_low_half_first(void **state) {
  unsigned char bytes[2];
  read_data(PTO_INT4, "{\"data\":[-8,7,-1]}", 3, bytes, 2);
  assert_int_equal(bytes[0], 0x78);
  assert_int_equal(bytes[1], 0x0f);
  read_data(PTO_UINT4, "{\"fill\":15}", 3, bytes, 2);
  assert_int_equal(bytes[0], 0xff);
  assert_int_equal(bytes[1], 0x0f);
}

/* ---- the rule of comparison ---- */

static double difference(uint32_t dtype, const void *a, const void *b, bool is_atol) {
  struct pto_graph_desc desc = {.dtype = dtype};
  struct pto_case_difference found;
  (void)pto_case_compare(&desc, a, b, (struct pto_case_tolerance){is_atol, 0}, &found);
  return found.worst;
}
#define DIFFERENCE(dtype, type, a, b) difference(dtype, &(type){a}, &(type){b}, false)

static void test_ulps_count_values_of_the_dtype_between_the_two(void **state) {
  assert_true(DIFFERENCE(PTO_FLOAT32, float, 1.0f, 1.0f) == 0);
  assert_true(DIFFERENCE(PTO_FLOAT32, float, 0.0f, -0.0f) == 0);
  assert_true(DIFFERENCE(PTO_FLOAT32, float, NAN, NAN) == 0);
  assert_true(isinf(DIFFERENCE(PTO_FLOAT32, float, NAN, 1.0f)) && isinf(DIFFERENCE(PTO_FLOAT32, float, 1.0f, NAN)));
  assert_true(DIFFERENCE(PTO_FLOAT32, float, 1.0f, 1.00000012f) == 1);
  assert_true(DIFFERENCE(PTO_FLOAT32, float, 0x1p-149f, -0x1p-149f) == 2);
  assert_true(DIFFERENCE(PTO_FLOAT32, float, 1.0f, 2.0f) == 0x1p23);
  assert_true(DIFFERENCE(PTO_FLOAT16, uint16_t, 0x3c00, 0x3c07) == 7);
  assert_true(DIFFERENCE(PTO_FLOAT16, uint16_t, 0x8003, 0x0002) == 5);
  assert_true(DIFFERENCE(PTO_INT8, int8_t, -128, 127) == 255);
  assert_true(DIFFERENCE(PTO_INT32, int32_t, INT32_MIN, INT32_MIN + 3) == 3);
  assert_true(DIFFERENCE(PTO_UINT64, uint64_t, UINT64_MAX, UINT64_MAX - 2) == 2);
  assert_true(DIFFERENCE(PTO_INT64, int64_t, -1, 1) == 2);
  assert_true(DIFFERENCE(PTO_INT4, uint8_t, 0x08, 0x07) == 15);
  assert_true(difference(PTO_FLOAT32, &(float){1.5f}, &(float){-1.0f}, true) == 2.5);
  assert_true(difference(PTO_INT64, &(int64_t){INT64_MAX}, &(int64_t){INT64_MAX - 1}, true) == 1);
  assert_true(difference(PTO_INT32, &(int32_t){INT32_MIN}, &(int32_t){INT32_MAX}, true) == 0x1p32 - 1);
}

/* ---- hostile files ---- */

static char *read_text(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  char *text = malloc(1 << 20);
  *size = fread(text, 1, 1 << 20, file);
  fclose(file);
  return text;
}

/* Every case counts once, whatever the file has become. */
static void run_text(pto_case_run *runner, const char *text, size_t size) {
  struct pto_error error = {0};
  struct pto_case_report report = {0};
  json_t *json = pto_case_json_parse(text, size, &error);
  if (json)
    runner(json, &report);
  else
    assert_true(error.sentence[0]);
  assert_int_equal(report.counts.cases, report.counts.passed + report.counts.failed + report.counts.skipped);
  json_decref(json);
}

static void play_changed_files(pto_case_run *runner, const char *pattern) {
  static const char bytes[] = "0123456789-.eE[]{}\",:x";
  struct pto_rng rng = {20};
  glob_t found;
  assert_int_equal(glob(pattern, 0, NULL, &found), 0);
  for (size_t f = 0; f < found.gl_pathc; f++) {
    size_t size;
    char *text = read_text(found.gl_pathv[f], &size);
    for (int round = 0; round < 40; round++) {
      size_t place = pto_rng_below(&rng, size);
      char kept = text[place];
      text[place] = bytes[pto_rng_below(&rng, sizeof bytes - 1)];
      run_text(runner, text, round % 8 ? size : place);
      text[place] = kept;
    }
    free(text);
  }
  globfree(&found);
}

static void test_a_changed_or_truncated_file_crashes_nothing(void **state) {
  play_changed_files(pto_conformance_run, "tests/conformance/cases/conformance/*.json");
  play_changed_files(pto_validation_run, "tests/conformance/cases/validation/*.json");
}

static void run_folder(const char *folder, struct pto_case_counts *total) {
  struct pto_case_list list = {0};
  assert_int_equal(pto_case_list_add(&list, folder, "folder", pto_conformance_run), PTO_OK);
  assert_int_equal(list.count, 1);
  pto_case_file_run(&list.files[0], stdout, total);
  pto_case_list_fini(&list);
}

static void test_a_file_that_cannot_be_read_and_an_empty_folder_are_failed_cases(void **state) {
  char folder[] = "/tmp/pto-cases-XXXXXX", path[64];
  struct pto_case_counts total = {0};
  assert_non_null(mkdtemp(folder));
  run_folder(folder, &total);
  assert_int_equal(total.failed, 1);
  snprintf(path, sizeof path, "%s/a.json", folder);
  FILE *file = fopen(path, "w");
  fputs("{\"op\":", file);
  fclose(file);
  snprintf(path, sizeof path, "%s/index.json", folder);
  file = fopen(path, "w");
  fclose(file);
  run_folder(folder, &total);
  assert_int_equal(total.failed, 2);
  assert_int_equal(total.cases, 2);
  unlink(path);
  snprintf(path, sizeof path, "%s/a.json", folder);
  unlink(path);
  rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_case_passes_where_all_is_as_expected_and_fails_where_it_is_not),
      cmocka_unit_test(test_what_is_wrong_with_a_case_is_a_failure_with_a_sentence),
      cmocka_unit_test(test_a_validation_case_fails_where_the_builder_thinks_otherwise),
      cmocka_unit_test(test_integers_of_64_bits_are_exact),
      cmocka_unit_test(test_floats_are_rounded_once_to_nearest_even),
      cmocka_unit_test(test_two_4_bit_values_share_a_byte_the_low_half_first),
      cmocka_unit_test(test_ulps_count_values_of_the_dtype_between_the_two),
      cmocka_unit_test(test_a_changed_or_truncated_file_crashes_nothing),
      cmocka_unit_test(test_a_file_that_cannot_be_read_and_an_empty_folder_are_failed_cases),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
