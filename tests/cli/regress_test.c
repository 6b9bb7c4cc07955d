/* SPDX-License-Identifier: MIT */
/* `ptosim regress` from outside: lists, baselines, what has changed, its exit status. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/base/base.h>
#include <tests/support/ptosim_child.h>

static void write_file(const char *name, const char *text) {
  FILE *file = fopen(pto_ptosim_path(name), "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

/* Runs the list in the folder, with these options. */
static int regress(const char *options) {
  return pto_ptosim_run("regress %s%s%s", pto_ptosim_path("a.list"), options[0] ? " " : "", options);
}
static void expect_said(const char *part) {
  if (!strstr(pto_ptosim_last.out, part)) fail_msg("\"%s\" is not in:\n%s", part, pto_ptosim_last.out);
}
static void expect_not_said(const char *part) {
  if (strstr(pto_ptosim_last.out, part)) fail_msg("\"%s\" is in:\n%s", part, pto_ptosim_last.out);
}

static json_t *baseline_case(json_t *root, const char *text) {
  json_t *found = json_object_get(json_object_get(root, "cases"), text);
  if (!found) fail_msg("the baseline has no case \"%s\"", text);
  return found;
}
static void change(const char *text, const char *key, json_t *value) {
  json_t *root = pto_ptosim_load(pto_ptosim_path("a.list.baseline")), *object = baseline_case(root, text);
  assert_non_null(json_object_get(object, key));
  json_object_set_new(object, key, value);
  assert_int_equal(json_dump_file(root, pto_ptosim_path("a.list.baseline"), 0), 0);
  json_decref(root);
}

#define BGEMM "bgemm --case 32x64x4 --engine virtual --chip a2a3"
#define WAR "war_reuse --engine virtual --set rounds=20"
static const char usual[] = "# two that are right and one that fails\n"
                            "\n" BGEMM "\n"
                            "  war_reuse\t--engine virtual   --set rounds=20\n"
                            "errors/heap => PTO_EHEAP\n";

/* A fresh list with its baseline. */
static void make_usual(void) {
  write_file("a.list", usual);
  remove(pto_ptosim_path("a.list.baseline"));
  assert_int_equal(regress("--update"), 0);
  expect_said("3 cases written");
}

static void test_what_is_as_the_baseline_says_leaves_with_0(void **state) {
  (void)state;
  make_usual();
  assert_int_equal(regress(""), 0);
  expect_said("3 cases: 3 as in ");
  assert_int_equal(regress("--jobs 3"), 0);
  expect_said("3 cases: 3 as in ");
}

static void test_each_thing_that_changed_is_told_with_the_command_that_shows_it(void **state) {
  (void)state;
  make_usual();
  change(BGEMM, "edges", json_integer(55));
  change(BGEMM, "tasks", json_integer(1));
  assert_int_equal(regress(""), 1);
  expect_said("changed  " BGEMM "\n         64 tasks instead of 1; 56 edges instead of 55\n         ptosim run " BGEMM
              "\n");
  expect_said("2 as in ");
  make_usual();
  change(BGEMM, "virtual_ps", json_integer(1000000));
  assert_int_equal(regress(""), 1);
  expect_said(" us on the chip instead of 1.000000 us (+");
  make_usual();
  change(WAR, "digest", json_string("0123456789abcdef"));
  assert_int_equal(regress(""), 1);
  expect_said("instead of 0123456789abcdef");
  make_usual();
  change("errors/heap", "status", json_string("PTO_EWINDOW"));
  assert_int_equal(regress(""), 1);
  expect_said("status PTO_EHEAP instead of PTO_EWINDOW");
}

static void test_a_picosecond_is_a_change(void **state) {
  (void)state;
  make_usual();
  json_t *root = pto_ptosim_load(pto_ptosim_path("a.list.baseline"));
  const json_int_t ps = pto_json_integer(baseline_case(root, WAR), "virtual_ps");
  json_decref(root);
  change(WAR, "virtual_ps", json_integer(ps + 1));
  assert_int_equal(regress(""), 1);
  expect_said("changed  " WAR);
}

/* The digest of floats may differ where both are within tolerance; integers have no tolerance. */
static void test_outputs_of_floats_are_judged_by_tolerance_and_others_by_digest(void **state) {
  (void)state;
  make_usual();
  json_t *root = pto_ptosim_load(pto_ptosim_path("a.list.baseline"));
  assert_null(json_object_get(baseline_case(root, BGEMM), "digest"));
  assert_int_equal(strlen(pto_json_text(baseline_case(root, WAR), "digest")), 16);
  json_decref(root);
}

static void test_a_case_that_is_wrong_fails_whatever_the_baseline_says(void **state) {
  (void)state;
  write_file("a.list", "war_reuse --case short --engine virtual --deps pto --policy lifo\nerrors/heap\n"
                       "vector_example => PTO_EHEAP\nno_such_program\n");
  remove(pto_ptosim_path("a.list.baseline"));
  assert_int_equal(regress(""), 1);
  expect_said("failed   war_reuse --case short --engine virtual --deps pto --policy lifo\n         wrong: ");
  expect_said("failed   errors/heap\n         failed: ");
  expect_said("failed   vector_example\n         did not fail with PTO_EHEAP but PTO_OK");
  expect_said("failed   no_such_program\n         failed: ");
  expect_said("4 cases: 0 right, 4 failed");
  assert_int_equal(regress("--update"), 1);
  expect_said("0 cases written");
}

/* A wrong result can be what a case is there for; one that becomes right, or fails, is told.  Wrong in another way is a
 * change. */
static void test_a_case_may_be_there_to_be_wrong(void **state) {
#define LIFO "war_reuse --case short --engine virtual --deps pto --policy lifo"
  (void)state;
  write_file("a.list", LIFO " => wrong\nvector_example => wrong\nerrors/heap => wrong\n");
  remove(pto_ptosim_path("a.list.baseline"));
  assert_int_equal(regress("--update"), 1);
  expect_not_said("failed   war_reuse");
  expect_said("failed   vector_example\n         did not give a wrong result but left with 0\n");
  expect_said("failed   errors/heap\n         did not give a wrong result but left with 3: ");
  expect_said("1 case written");
  change(LIFO, "digest", json_string("0123456789abcdef"));
  assert_int_equal(regress("--filter war"), 1);
  expect_said("changed  " LIFO "\n         outputs with digest ");
}

static void test_a_case_that_takes_too_long_has_failed(void **state) {
  (void)state;
  write_file("a.list", "errors/timeout --timeout 0\nvector_example\n");
  remove(pto_ptosim_path("a.list.baseline"));
  assert_int_equal(regress("--row-timeout 1 --filter timeout"), 1);
  expect_said("failed   errors/timeout --timeout 0\n         took too long");
  expect_not_said("vector_example");
}

static void test_a_new_case_is_told_and_one_that_left_the_list_leaves_the_baseline(void **state) {
  (void)state;
  make_usual();
  write_file("a.list", BGEMM "\nvector_example\n");
  assert_int_equal(regress(""), 1);
  expect_said("new      vector_example");
  assert_int_equal(regress("--update --filter vector"), 0);
  expect_said("1 case written, 0 dropped"); /* a filter says nothing of the others */
  assert_int_equal(regress("--update"), 0);
  expect_said("2 cases written, 2 dropped");
  assert_int_equal(regress(""), 0);
}

static void test_an_update_keeps_what_was_said_of_a_case_that_fails(void **state) {
  (void)state;
  make_usual();
  write_file("a.list", BGEMM "\nerrors/heap\n");
  assert_int_equal(regress("--update"), 1);
  json_t *root = pto_ptosim_load(pto_ptosim_path("a.list.baseline"));
  assert_string_equal(pto_json_text(baseline_case(root, "errors/heap"), "status"), "PTO_EHEAP");
  json_decref(root);
}

static void test_graphs_are_cases_too(void **state) {
  (void)state;
  write_file("a.list", "graph --model gpt2 --set layers=1 --set width=32 --set heads=4 --set window=8 --set "
                       "vocabulary=50 --run --engine virtual\n");
  remove(pto_ptosim_path("a.list.baseline"));
  assert_int_equal(regress("--update"), 0);
  json_t *root = pto_ptosim_load(pto_ptosim_path("a.list.baseline"));
  const void *iterator = json_object_iter(json_object_get(root, "cases"));
  json_t *object = json_object_iter_value((void *)(uintptr_t)iterator);
  assert_true(pto_json_integer(object, "tasks") > 0);
  assert_true(pto_json_integer(object, "virtual_ps") > 0);
  json_decref(root);
  assert_int_equal(regress(""), 0);
}

static void test_junit_counts_what_failed_and_escapes_what_xml_reserves(void **state) {
  (void)state;
  make_usual();
  write_file("a.list", BGEMM "\n\"no<such>&program\" --seed 1\n");
  change(BGEMM, "edges", json_integer(55));
  assert_int_equal(pto_ptosim_run("regress %s --junit %s --quiet", pto_ptosim_path("a.list"), pto_ptosim_path("j.xml")),
                   1);
  assert_string_equal(pto_ptosim_last.out, "");
  char *xml = pto_ptosim_read_file(pto_ptosim_path("j.xml"));
  static const char *const parts[] = {"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"",
                                      "tests=\"2\" failures=\"2\" errors=\"0\"",
                                      "<testcase classname=\"bgemm\" name=\"" BGEMM "\" time=\"",
                                      "<failure type=\"changed\" message=\"56 edges instead of 55\">ptosim run " BGEMM
                                      "</failure>",
                                      "name=\"&quot;no&lt;such&gt;&amp;program&quot; --seed 1\"",
                                      "<failure type=\"failed\"",
                                      "</testsuite>\n"};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(parts); i++)
    if (!strstr(xml, parts[i])) fail_msg("\"%s\" is not in:\n%s", parts[i], xml);
  assert_null(strstr(xml, "no<such>"));
  free(xml);
}

static void test_mistakes_in_lists_and_options_leave_with_2(void **state) {
  static const struct {
    const char *list, *options, *part;
  } mistakes[] = {
      {"vector_example\nbgemm\nvector_example\n", "", ":3: the same case as line 1"},
      {"vector_example \"--seed\n", "", ":1: a quotation mark is not closed"},
      {"vector_example --json x\n", "", ":1: --json is not for a case"},
      {"vector_example => heap\n", "", ":1: \"heap\" behind => is neither wrong nor timed nor a status"},
      {" => PTO_EHEAP\n", "", ":1: no program"},
      {"# nothing\n", "", "has no case"},
      {"vector_example\n\nbgemm --nosuch\n", "", ".list:3: run: there is no option --nosuch"},
      {"This is a text.\n", "", ".list:1: run: one program at a time"},
      {"vector_example\n", "--filter bgemm", "has no case that matches bgemm"},
      {"vector_example\n", "--filter [", "--filter \"[\""},
      {"vector_example\n", "--jobs 0", "--jobs"},
      {"vector_example\n", "--baseline /nowhere/b", "/nowhere/b"},
      {"vector_example\n", "--sideways", "there is no option --sideways"},
      {"vector_example\n", "--junit", "--junit needs a value"},
      {"vector_example\n", "more.list", "one list of cases is wanted, not 2"},
  };
  (void)state;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(mistakes); i++) {
    write_file("a.list", mistakes[i].list);
    remove(pto_ptosim_path("a.list.baseline"));
    regress(mistakes[i].options);
    pto_ptosim_assert_complaint(2, mistakes[i].part);
  }
  pto_ptosim_run("regress /nowhere/a.list");
  pto_ptosim_assert_complaint(2, "/nowhere/a.list");
}

static void test_a_baseline_that_is_none_is_refused_and_not_written_over(void **state) {
  static const char *const broken[] = {"{\"cases\": {", "[]", "{\"cases\": {\"vector_example\": 7}}", "{}"};
  (void)state;
  write_file("a.list", "vector_example\n");
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(broken); i++) {
    write_file("a.list.baseline", broken[i]);
    regress("--update");
    pto_ptosim_assert_complaint(2, "a.list.baseline");
    char *text = pto_ptosim_read_file(pto_ptosim_path("a.list.baseline"));
    assert_string_equal(text, broken[i]);
    free(text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_is_as_the_baseline_says_leaves_with_0),
      cmocka_unit_test(test_each_thing_that_changed_is_told_with_the_command_that_shows_it),
      cmocka_unit_test(test_a_picosecond_is_a_change),
      cmocka_unit_test(test_outputs_of_floats_are_judged_by_tolerance_and_others_by_digest),
      cmocka_unit_test(test_a_case_that_is_wrong_fails_whatever_the_baseline_says),
      cmocka_unit_test(test_a_case_may_be_there_to_be_wrong),
      cmocka_unit_test(test_a_case_that_takes_too_long_has_failed),
      cmocka_unit_test(test_a_new_case_is_told_and_one_that_left_the_list_leaves_the_baseline),
      cmocka_unit_test(test_an_update_keeps_what_was_said_of_a_case_that_fails),
      cmocka_unit_test(test_graphs_are_cases_too),
      cmocka_unit_test(test_junit_counts_what_failed_and_escapes_what_xml_reserves),
      cmocka_unit_test(test_mistakes_in_lists_and_options_leave_with_2),
      cmocka_unit_test(test_a_baseline_that_is_none_is_refused_and_not_written_over),
  };
  return cmocka_run_group_tests_name("cli_regress", tests, pto_ptosim_setup, pto_ptosim_teardown);
}
