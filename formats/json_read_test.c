/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include <formats/json_read.h>

static struct pto_json_reader reader;
static struct pto_error error;
static int memory_fd;
static char path[64];

static json_t *read_text(const char *text, uint64_t most_bytes) {
  memory_fd = memfd_create("json", 0);
  assert_true(write(memory_fd, text, strlen(text)) == (ssize_t)strlen(text));
  snprintf(path, sizeof path, "/proc/self/fd/%d", memory_fd);
  json_t *root = pto_json_read_file(&reader, path, most_bytes, &error);
  close(memory_fd);
  return root;
}

static void assert_says(const char *part) {
  assert_int_equal(reader.status, PTO_EINVAL);
  assert_int_equal(error.status, PTO_EINVAL);
  if (!strstr(error.sentence, part)) fail_msg("\"%s\" does not say \"%s\"", error.sentence, part);
}

static void test_values_are_read_by_key_and_type(void **state) {
  uint64_t numbers[3];
  uint32_t count;
  json_t *root =
      read_text("{\"n\":7,\"i\":-7,\"b\":true,\"s\":\"x\",\"o\":{},\"a\":[{},{}],\"l\":[1,2,3],\"z\":null}", 1000);
  assert_non_null(root);
  assert_int_equal(pto_json_read_u64(&reader, root, "n", 7), 7);
  assert_int_equal(pto_json_read_i64(&reader, root, "i"), -7);
  assert_float_equal(pto_json_read_number(&reader, root, "i"), -7.0, 0);
  assert_true(pto_json_read_bool(&reader, root, "b"));
  assert_string_equal(pto_json_read_string(&reader, root, "s"), "x");
  assert_non_null(pto_json_read_object(&reader, root, "o"));
  assert_non_null(pto_json_read_item(&reader, pto_json_read_array(&reader, root, "a", 2), 1));
  pto_json_read_u64s(&reader, root, "l", 3, 3, numbers, &count);
  assert_true(count == 3 && numbers[0] == 1 && numbers[2] == 3);
  assert_true(pto_json_has(root, "n") && !pto_json_has(root, "z") && !pto_json_has(root, "q"));
  assert_int_equal(reader.status, PTO_OK);
  json_decref(root);
}

static void test_the_first_mistake_is_kept_with_its_place(void **state) {
  json_t *root = read_text("{\"n\":-1,\"s\":7}", 1000);
  pto_json_read_at(&reader, "tasks[%d]", 3);
  assert_int_equal(pto_json_read_u64(&reader, root, "n", 9), 0);
  assert_says(": tasks[3]: \"n\" holds no whole number from 0 to 9");
  pto_json_read_at(&reader, "elsewhere");
  assert_string_equal(pto_json_read_string(&reader, root, "s"), "");
  assert_null(pto_json_read_array(&reader, root, "s", 1));
  assert_says("tasks[3]");
  json_decref(root);
}

static void test_each_wrong_type_is_refused(void **state) {
  uint64_t numbers[3];
  uint32_t count;
#define REFUSED(what, part)                                                                                            \
  do {                                                                                                                 \
    json_t *root = read_text("{\"n\":1.5,\"l\":[1,\"2\"],\"long\":[1,2,3,4]}", 1000);                                  \
    (void)(what);                                                                                                      \
    assert_says(part);                                                                                                 \
    json_decref(root);                                                                                                 \
  } while (0)
  REFUSED(pto_json_read_u64(&reader, root, "n", 9), "\"n\" holds no whole number");
  REFUSED(pto_json_read_i64(&reader, root, "n"), "\"n\" is no whole number");
  REFUSED(pto_json_read_number(&reader, root, "l"), "\"l\" is no number");
  REFUSED(pto_json_read_bool(&reader, root, "n"), "neither true nor false");
  REFUSED(pto_json_read_string(&reader, root, "n"), "\"n\" is no string");
  REFUSED(pto_json_read_object(&reader, root, "n"), "\"n\" is no object");
  REFUSED(pto_json_read_array(&reader, root, "n", 1), "\"n\" is no array");
  REFUSED(pto_json_read_array(&reader, root, "long", 3), "\"long\" has 4 items, at most 3");
  REFUSED(pto_json_read_item(&reader, pto_json_read_array(&reader, root, "l", 2), 0), "item 0 is no object");
  REFUSED((pto_json_read_u64s(&reader, root, "l", 3, 9, numbers, &count), 0), "\"l\" holds no whole number");
  REFUSED((pto_json_read_u64s(&reader, root, "long", 3, 9, numbers, &count), 0), "at most 3");
  REFUSED(pto_json_read_u64(&reader, root, "missing", 9), "\"missing\" is missing");
}

static void test_bytes_in_memory_are_read_without_a_zero_behind_them(void **state) {
  json_t *root = pto_json_read_memory(&reader, "there", "{\"n\":7}8", 7, &error);
  assert_int_equal(pto_json_read_u64(&reader, root, "n", 9), 7);
  json_decref(root);
  assert_null(pto_json_read_memory(&reader, "there", "{\"n\":7}8", 8, &error));
  assert_says("there: line 1, column 8: ");
  assert_null(pto_json_read_memory(&reader, "there", "[]", 2, &error));
  assert_says("there: holds no JSON object");
}

static void test_what_a_file_says_reaches_no_terminal_raw(void **state) {
  static const char *const texts[] = {"{\x1b[2J", "{\"\x1b\": 1}",
                                      "{\"\\u001b[2J\\u202e\": 1, \"\\u001b[2J\\u202e\": 2}"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    assert_null(pto_json_read_memory(&reader, "there", texts[i], strlen(texts[i]), &error));
    for (const char *c = error.sentence; *c; c++) assert_true(*c >= ' ' && *c < 0x7f);
  }
  json_t *root = read_text("{\"n\\u001b\\n\":{}}", 1000);
  const char *key = json_object_iter_key(json_object_iter(root));
  pto_json_read_at(&reader, "tensors \"%s\"", key);
  pto_json_read_refuse(&reader, "there is no \"%s\"", key);
  assert_says("tensors \"n??\": there is no \"n??\"");
  json_decref(root);
}

static void test_files_that_are_too_large_or_no_objects_are_refused(void **state) {
  assert_null(read_text("{\"n\":1}", 6));
  assert_says("7 bytes, at most 6 are read");
  assert_null(read_text("[]", 6));
  assert_says("holds no JSON object");
  assert_null(read_text("{\"n\":1,\"n\":1}", 60));
  assert_says("duplicate");
  assert_null(pto_json_read_file(&reader, "/dev/zero", 60, &error));
  assert_says("no regular file");
  assert_null(pto_json_read_file(&reader, "/nowhere/at/all", 60, &error));
  assert_int_equal(reader.status, PTO_ESYSTEM);
  assert_non_null(strstr(error.sentence, "/nowhere/at/all: No such file"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_values_are_read_by_key_and_type),
      cmocka_unit_test(test_the_first_mistake_is_kept_with_its_place),
      cmocka_unit_test(test_each_wrong_type_is_refused),
      cmocka_unit_test(test_bytes_in_memory_are_read_without_a_zero_behind_them),
      cmocka_unit_test(test_what_a_file_says_reaches_no_terminal_raw),
      cmocka_unit_test(test_files_that_are_too_large_or_no_objects_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
