/* SPDX-License-Identifier: MIT */
/* Tests of the JSON writer: what it writes is parsed back by jansson. */
#include <formats/json_writer.h>

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

static struct pto_json_writer writer;
static FILE *file;

static struct pto_json_writer *start(void) {
  file = tmpfile();
  assert_non_null(file);
  pto_json_init(&writer, fileno(file));
  return &writer;
}

static json_t *parse(void) {
  json_error_t error;
  assert_int_equal(pto_json_finish(&writer), 0);
  rewind(file);
  json_t *root = json_loadf(file, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
  if (!root) fail_msg("%s at %d:%d", error.text, error.line, error.column);
  fclose(file);
  return root;
}

static void test_nested_values_have_commas_where_they_belong(void **state) {
  struct pto_json_writer *w = start();
  pto_json_object_begin(w);
  pto_json_put_u64(w, "a", UINT64_C(9007199254740991));
  pto_json_key(w, "b");
  pto_json_array_begin(w);
  pto_json_array_begin(w);
  pto_json_array_end(w);
  pto_json_newline(w);
  pto_json_i64(w, INT64_MIN);
  pto_json_bool(w, true);
  pto_json_object_begin(w);
  pto_json_object_end(w);
  pto_json_null(w);
  pto_json_array_end(w);
  pto_json_put_null(w, "c");
  pto_json_object_end(w);
  json_t *root = parse();
  assert_int_equal(json_integer_value(json_object_get(root, "a")), 9007199254740991);
  json_t *b = json_object_get(root, "b");
  assert_int_equal(json_array_size(b), 5);
  assert_true(json_integer_value(json_array_get(b, 1)) == INT64_MIN);
  assert_true(json_is_true(json_array_get(b, 2)));
  assert_true(json_is_object(json_array_get(b, 3)));
  assert_true(json_is_null(json_object_get(root, "c")));
  json_decref(root);
}

static void test_strings_of_any_bytes_are_valid_json(void **state) {
  static const char *const rows[][2] = {
      {"plain", "plain"},
      {"quote \" backslash \\ newline \n bell \a delete \x7f", "quote \" backslash \\ newline \n bell \a delete \x7f"},
      {"µs → ✓ 𝄞", "µs → ✓ 𝄞"},
      {"latin \xe4 alone", "latin ä alone"},
      {"cut \xe2\x86", "cut â\xc2\x86"},
      {"overlong \xc0\x80", "overlong À\xc2\x80"},
      {"surrogate \xed\xa0\x80", "surrogate í\xc2\xa0\xc2\x80"},
      {"", ""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    pto_json_string(start(), rows[i][0]);
    json_t *root = parse();
    assert_string_equal(json_string_value(root), rows[i][1]);
    json_decref(root);
  }
}

static void test_doubles_read_back_as_the_same_number(void **state) {
  const double values[] = {0, 1, -2.5, 0.1, 1.0 / 3, DBL_MAX, DBL_MIN, 5e-324, 1e21, 123456789.123456789};
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
    pto_json_double(start(), values[i]);
    json_t *root = parse();
    assert_true(json_number_value(root) == values[i]);
    json_decref(root);
  }
}

static void test_reals_are_the_shortest_that_read_back_and_stay_reals(void **state) {
  static const struct {
    double value;
    bool is_float;
    const char *text;
  } rows[] = {{0.1, false, "0.1\n"},
              {(double)0.1f, true, "0.1\n"},
              {3, false, "3.0\n"},
              {-0.0, true, "-0.0\n"},
              {1e300, false, "1e+300\n"},
              {(double)16777216.0f, true, "16777216.0\n"},
              {1.0 / 3, false, "0.3333333333333333\n"},
              {(double)NAN, false, "\"NaN\"\n"},
              {-(double)INFINITY, true, "\"-Infinity\"\n"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char text[64];
    if (rows[i].is_float)
      pto_json_real32(start(), (float)rows[i].value);
    else
      pto_json_real(start(), rows[i].value);
    assert_int_equal(pto_json_finish(&writer), 0);
    rewind(file);
    assert_non_null(fgets(text, sizeof text, file));
    assert_string_equal(text, rows[i].text);
    fclose(file);
  }
}

static void test_every_kind_of_float_reads_back_through_a_double(void **state) {
  uint32_t bits = 1;
  for (int i = 0; i < 20000; i++, bits = bits * 1664525u + 1013904223u) {
    float value;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value)) continue;
    pto_json_real32(start(), value);
    json_t *root = parse();
    assert_true(json_is_real(root));
    const float back = (float)json_real_value(root);
    assert_memory_equal(&back, &value, sizeof value);
    json_decref(root);
  }
}

static void test_what_json_has_no_number_for_is_still_json(void **state) {
  struct pto_json_writer *w = start();
  pto_json_array_begin(w);
  pto_json_double(w, (double)NAN);
  pto_json_double(w, (double)INFINITY);
  pto_json_string(w, NULL);
  pto_json_hex(w, UINT64_C(0xfedcba9876543210));
  pto_json_array_end(w);
  json_t *root = parse();
  assert_true(json_is_null(json_array_get(root, 0)));
  assert_true(json_number_value(json_array_get(root, 1)) == DBL_MAX);
  assert_true(json_is_null(json_array_get(root, 2)));
  assert_string_equal(json_string_value(json_array_get(root, 3)), "fedcba9876543210");
  json_decref(root);
}

static void test_decimals_are_exact(void **state) {
  static const struct {
    uint64_t value;
    uint32_t digits;
    const char *text;
  } rows[] = {{1234567, 6, "1.234567\n"},
              {1, 6, "0.000001\n"},
              {5000000, 6, "5\n"},
              {0, 6, "0\n"},
              {1020, 3, "1.020\n"},
              {UINT64_MAX, 6, "18446744073709.551615\n"},
              {7, 0, "7\n"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char text[64];
    pto_json_decimal(start(), rows[i].value, rows[i].digits);
    assert_int_equal(pto_json_finish(&writer), 0);
    rewind(file);
    assert_non_null(fgets(text, sizeof text, file));
    assert_string_equal(text, rows[i].text);
    fclose(file);
  }
}

static void test_output_larger_than_the_buffer_arrives_whole(void **state) {
  struct pto_json_writer *w = start();
  pto_json_array_begin(w);
  for (uint64_t i = 0; i < 50000; i++) pto_json_u64(w, i);
  pto_json_array_end(w);
  json_t *root = parse();
  assert_int_equal(json_array_size(root), 50000);
  for (size_t i = 0; i < 50000; i++) assert_int_equal(json_integer_value(json_array_get(root, i)), i);
  json_decref(root);
}

static void test_a_failed_write_is_kept_until_the_end(void **state) {
  int fd = open("/dev/full", O_WRONLY);
  if (fd < 0) skip();
  pto_json_init(&writer, fd);
  pto_json_array_begin(&writer);
  for (uint64_t i = 0; i < 50000; i++) pto_json_u64(&writer, i);
  pto_json_array_end(&writer);
  assert_int_equal(pto_json_finish(&writer), ENOSPC);
  close(fd);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_nested_values_have_commas_where_they_belong),
      cmocka_unit_test(test_strings_of_any_bytes_are_valid_json),
      cmocka_unit_test(test_doubles_read_back_as_the_same_number),
      cmocka_unit_test(test_reals_are_the_shortest_that_read_back_and_stay_reals),
      cmocka_unit_test(test_every_kind_of_float_reads_back_through_a_double),
      cmocka_unit_test(test_what_json_has_no_number_for_is_still_json),
      cmocka_unit_test(test_decimals_are_exact),
      cmocka_unit_test(test_output_larger_than_the_buffer_arrives_whole),
      cmocka_unit_test(test_a_failed_write_is_kept_until_the_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
