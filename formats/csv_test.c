/* SPDX-License-Identifier: MIT */
/* Tables of comma-separated values: cells, quotes, line ends, and what is no table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <formats/csv.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_text(const char *text, struct pto_csv *csv, struct pto_error *error) {
  char path[] = "/tmp/pto-csv-XXXXXX";
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, text, strlen(text)), strlen(text));
  close(fd);
  const int status = pto_csv_read(path, csv, error);
  unlink(path);
  return status;
}

static void test_cells_are_found_by_column(void **state) {
  static const char *const texts[] = {"a,b\n1,\"x, \"\"y\"\"\"\n,last\n", "a,b\r\n1,\"x, \"\"y\"\"\"\r\n\r\n,last"};
  (void)state;
  for (uint32_t i = 0; i < 2; i++) {
    struct pto_csv csv;
    struct pto_error error = {0};
    assert_int_equal(read_text(texts[i], &csv, &error), PTO_OK);
    assert_int_equal(csv.row_count, 2);
    const uint32_t a = pto_csv_column(&csv, "a"), b = pto_csv_column(&csv, "b"), c = pto_csv_column(&csv, "c");
    assert_int_equal(c, UINT32_MAX);
    assert_string_equal(pto_csv_cell(&csv, 0, a), "1");
    assert_string_equal(pto_csv_cell(&csv, 0, b), "x, \"y\"");
    assert_string_equal(pto_csv_cell(&csv, 1, a), "");
    assert_string_equal(pto_csv_cell(&csv, 1, b), "last");
    assert_string_equal(pto_csv_cell(&csv, 1, c), "");
    assert_int_equal(csv.lines[0], 1);
    assert_int_equal(csv.lines[2], 3 + i);
    pto_csv_fini(&csv);
  }
}

static void test_what_is_no_table_is_refused(void **state) {
  static const struct {
    const char *text, *sentence;
  } cases[] = {{"", ":1: has no line of column names"},
               {"a,b\n1\n", ":2: 1 columns, and 2 were expected"},
               {"a,b\n1,\"2\n", ":2: a quoted cell has no end"},
               {"a\n\"1\"2\n", ":2: more behind a quoted cell"}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct pto_csv csv;
    struct pto_error error = {0};
    assert_int_equal(read_text(cases[i].text, &csv, &error), PTO_EINVAL);
    assert_non_null(strstr(error.sentence, cases[i].sentence));
    pto_csv_fini(&csv);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cells_are_found_by_column),
      cmocka_unit_test(test_what_is_no_table_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
