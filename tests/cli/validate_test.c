/* SPDX-License-Identifier: MIT */
/*
 * `ptosim validate` from outside, on rows of our own: pairs of changes (slots of a core, schedulers, wiring, blocks of
 * a task), failures first, warnings, and files that are broken.  The values of the pairs are what the rules of the chip
 * file give, so a change of those rules shows here; measurements of hardware are in docs/fidelity.md.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tests/support/ptosim_child.h>

#define HEAD                                                                                                           \
  "row,program,settings,tasks_submitted,aicore_tasks,wait_edges,metric,value_us,spread_percent,date,era,source,set,"   \
  "base,run,chip\n"

static void put(const char *name, const char *text) {
  FILE *file = fopen(pto_ptosim_path(name), "w");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
  fclose(file);
}

/* The chip file `from` with another line for `key`, in the folder of the rows. */
static void put_chip(const char *name, const char *from, const char *key, const char *line) {
  char *text = pto_ptosim_read_file(from), at_line[64];
  snprintf(at_line, sizeof at_line, "\n%s = ", key);
  char *place = strstr(text, at_line);
  assert_non_null(place);
  char *rest = strchr(place + 1, '\n');
  FILE *file = fopen(pto_ptosim_path(name), "w");
  assert_non_null(file);
  fprintf(file, "%.*s\n%s%s", (int)(place - text), text, line, rest);
  fclose(file);
  free(text);
}
#define PLAIN "tests/regress/plain.ini"

static json_t *validate(int exit_code) {
  const int code = pto_ptosim_run("validate %s --runs 0 --quiet --json -", pto_ptosim_path("rows.csv"));
  if (code != exit_code) fail_msg("exit %d: %s%s", code, pto_ptosim_last.out, pto_ptosim_last.err);
  return pto_ptosim_parse(pto_ptosim_last.out);
}

static json_t *row_at(json_t *root, size_t index) { return json_array_get(json_object_get(root, "rows"), index); }

static double number(json_t *object, const char *key) {
  json_t *value = json_object_get(object, key);
  if (!json_is_number(value)) fail_msg("no number %s", key);
  return json_number_value(value);
}

/* Four changes and what they do under these rules. */
static void test_pairs_of_changes(void **state) {
  char *const path = strdup(pto_ptosim_path("two.ini")); /* schedulers that take nearly no time */
  put_chip("two.ini", PLAIN, "dispatch", "dispatch = 1000");
  put_chip("two.ini", path, "poll", "poll = 1000");
  put_chip("two.ini", path, "kernel_start_ps", "kernel_start_ps = 250000\npending_start_ps = 50000");
  put_chip("one.ini", path, "slots_per_core", "slots_per_core = 1");
  free(path);
  put_chip("four.ini", PLAIN, "schedulers", "schedulers = 4");
  put_chip("wires.ini", PLAIN, "schedulers", "schedulers = 3\nwiring = scheduler");
  put_chip("plain.ini", PLAIN, "schedulers", "schedulers = 3");
  put("rows.csv", HEAD "two slots,,,,,,makespan,4.48,,,,,mine,,spmd --set tasks=aiv:960,two.ini\n"
                       "one slot,,,,,,makespan,8.33,,,,,mine,two slots,spmd --set tasks=aiv:960,one.ini\n"
                       "three,,,,,,makespan,8.77,,,,,mine,,spmd,plain.ini\n"
                       "four,,,,,,makespan,6.76,,,,,mine,three,spmd,four.ini\n"
                       "orchestrator,,,,,,makespan,943.9,,,,,mine,,sliding_window_deps --case C0,plain.ini\n"
                       "scheduler,,,,,,makespan,1176.3,,,,,mine,orchestrator,sliding_window_deps --case C0,wires.ini\n"
                       "narrow,,,,,,makespan,2.34,,,,,mine,,spmd --set tasks=aiv:48,plain.ini\n"
                       "wide,,,,,,makespan,4.42,,,,,mine,narrow,spmd --set tasks=aiv:96,plain.ini\n");
  json_t *root = validate(0);
  for (size_t i = 1; i < 8; i += 2) {
    json_t *change = json_object_get(row_at(root, i), "change");
    assert_true(json_is_true(json_object_get(change, "is_large")));
    assert_true(json_is_true(json_object_get(change, "has_sign")));
    assert_true(json_is_true(json_object_get(change, "has_size")));
    assert_string_equal(pto_json_text(row_at(root, i), "verdict"), "good");
  }
  assert_true(json_is_null(json_object_get(row_at(root, 0), "change")));
  json_decref(root);
}

/* Kernels of the shipped table by the stages of a chip file: one that starts slower is off.  A chip file without stages
 * tells of none. */
static void test_kernels_by_their_stages(void **state) {
  put_chip("fitted.ini", "sim/chips/a2a3.ini", "era", "era = mine");
  put_chip("slow.ini", "sim/chips/a2a3.ini", "start_ps", "start_ps = 9000000");
  put("rows.csv", HEAD "bgemm C0,,,1000,1000,750,edges,,,,,mine,calibrate,,,fitted.ini\n");
  json_t *root = validate(0), *kernels = json_object_get(root, "kernels");
  assert_int_equal(pto_json_integer(root, "kernels_failed"), 0);
  assert_int_equal(json_array_size(kernels), 15);
  size_t limited = 0;
  for (size_t i = 0; i < json_array_size(kernels); i++) {
    json_t *kernel = json_array_get(kernels, i), *limit = json_object_get(kernel, "limit_percent");
    const double error = (number(kernel, "predicted_us") / number(kernel, "measured_us") - 1) * 100;
    assert_true(fabs(error - number(kernel, "error_percent")) < 1e-6);
    limited += json_is_number(limit);
    if (json_is_number(limit)) assert_true(fabs(error) <= json_number_value(limit));
  }
  assert_int_equal(limited, 5);
  json_decref(root);

  put("rows.csv", HEAD "bgemm C0,,,1000,1000,750,edges,,,,,mine,calibrate,,,slow.ini\n");
  root = validate(1);
  assert_int_equal(pto_json_integer(root, "failed"), 0);
  assert_int_equal(pto_json_integer(root, "kernels_failed"), 5);
  json_decref(root);
  pto_ptosim_run("validate %s --runs 0", pto_ptosim_path("rows.csv"));
  assert_non_null(strstr(pto_ptosim_last.out, "## Failures\n\n- Kernel qk of bpa-2026-03, by its stages: +"));
  assert_non_null(strstr(pto_ptosim_last.out, "| bpa-2026-03 | qk | 17.70 | "));

  put("rows.csv", HEAD "bgemm C0,,,1000,1000,750,edges,,,,,mine,calibrate,,,tests/regress/plain.ini\n");
  root = validate(0);
  assert_int_equal(json_array_size(json_object_get(root, "kernels")), 0);
  json_decref(root);
}

/* The same pair with the change measured the other way round, and one that is too small to count. */
static void test_a_change_of_the_wrong_sign_or_size_is_a_failure(void **state) {
  put_chip("four.ini", PLAIN, "schedulers", "schedulers = 4");
  put_chip("plain.ini", PLAIN, "schedulers", "schedulers = 3");
  put("rows.csv", HEAD "three,,,,,,makespan,8.2,,,,,mine,,spmd,plain.ini\n"
                       "sign,,,,,,makespan,7.5,,,,,mine,three,spmd,plain.ini\n"
                       "size,,,,,,makespan,7.6,,,,,mine,three,spmd,four.ini\n"
                       "small,,,,,,makespan,8,,,,,mine,three,spmd,plain.ini\n");
  json_t *root = validate(1);
  assert_int_equal(pto_json_integer(root, "changes_failed"), 2);
  json_t *sign = json_object_get(row_at(root, 1), "change"), *size = json_object_get(row_at(root, 2), "change");
  assert_true(json_is_false(json_object_get(sign, "has_sign")));
  assert_true(json_is_true(json_object_get(size, "has_sign")) && json_is_false(json_object_get(size, "has_size")));
  assert_true(json_is_false(json_object_get(json_object_get(row_at(root, 3), "change"), "is_large")));
  json_decref(root);
  pto_ptosim_run("validate %s --runs 0", pto_ptosim_path("rows.csv"));
  static const char *const parts[] = {"- Changes: 2 of another sign or size", "Of 3 changes 2 are of 5 % or more",
                                      "| **wrong** | **off** |", "| as measured | **off** |",
                                      "| too small | too small |"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (!strstr(pto_ptosim_last.out, parts[i])) fail_msg("no \"%s\" in: %s", parts[i], pto_ptosim_last.out);
}

static void test_the_page_has_failures_first_and_each_set_apart(void **state) {
  put("rows.csv", HEAD "good,,,,,,makespan,8.6,2,,,mine | too,check,,spmd,tests/regress/plain.ini\n"
                       "bad,,,9,,,makespan,80,,,,mine,check,,spmd,tests/regress/plain.ini\n"
                       "odd,,,,,,orchestrator,1,,,,mine,other,,spmd,tests/regress/plain.ini\n"
                       "bgemm C0,,,1000,1000,750,edges,,,,,mine,calibrate,,,tests/regress/plain.ini\n"
                       "none such,,,,,,makespan,1,,,,mine,check,,,\n");
  assert_int_equal(
      pto_ptosim_run("validate %s --runs 3 --jobs 2 -o %s", pto_ptosim_path("rows.csv"), pto_ptosim_path("page.md")),
      1);
  char *page = pto_ptosim_read_file(pto_ptosim_path("page.md")), *at = page;
  static const char *const parts[] = {"1 failed, 1 have no",
                                      "## Failures",
                                      "- bad, makespan: -8",
                                      "tasks instead of 9.",
                                      "- none such, makespan: neither its column run nor the list",
                                      "## Rows of set check",
                                      "| bad | makespan |",
                                      "| none such | makespan | 1.0 | none |",
                                      "| good | makespan | 8.6 ± 2 % |",
                                      "mine / too",
                                      "## Rows of set calibrate",
                                      "| bgemm C0 | edges | 750 edges | 750 edges |",
                                      "## Rows of set other",
                                      "## Changes",
                                      "No row is a change of another",
                                      "| bgemm C0 | `bgemm --case C0` | 1000 (1000) | 1000 (1000) | 750 (750) |",
                                      "## Parameters",
                                      "| plain.ini | `",
                                      "## What is not modelled",
                                      "ptosim calibrate"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    char *found = strstr(at, parts[i]);
    if (!found) fail_msg("no \"%s\" after \"%s\" in: %s", parts[i], i ? parts[i - 1] : "the begin", page);
    at = found;
  }
  /* The same bytes with another count of processes. */
  assert_int_equal(pto_ptosim_run("validate %s --runs 3 --jobs 1", pto_ptosim_path("rows.csv")), 1);
  assert_string_equal(pto_ptosim_last.out, page);
  free(page);
}

static void test_rows_of_another_era_are_warned_of(void **state) {
  put_chip("mine.ini", PLAIN, "clusters", "clusters = 24\nera = here and now");
  put("rows.csv", HEAD "same,,,,,,makespan,8.7,,,here and now,,mine,,spmd,mine.ini\n"
                       "other,,,,,,makespan,8.7,,,elsewhere,,mine,,spmd,mine.ini\n"
                       "none,,,,,,makespan,8.7,,,,,mine,,spmd,mine.ini\n");
  json_t *root = validate(0);
  assert_true(json_is_null(json_object_get(row_at(root, 0), "warning")));
  assert_string_equal(pto_json_text(row_at(root, 1), "warning"),
                      "measured in era \"elsewhere\", predicted with chip plain of era \"here and now\"");
  assert_true(json_is_null(json_object_get(row_at(root, 2), "warning")));
  json_decref(root);
}

/* Nothing of a submit takes time there, and tasks that allocate are not in the graph. */
static void test_a_prebuilt_graph(void **state) {
  put("rows.csv", HEAD "hbg,,,16,16,20,edges,,,,host built graph,,calibrate,,"
                       "\"paged_attention --set batch=4 --set ctx=16\",\n");
  pto_ptosim_run("validate %s --runs 0 --quiet --json -", pto_ptosim_path("rows.csv"));
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *p = json_object_get(row_at(root, 0), "prediction");
  assert_true(number(p, "window_us") == 0);
  assert_true(number(p, "makespan_us") > 0);
  json_decref(root);
}

static void test_broken_files_and_runs_are_told_by_line(void **state) {
  static const struct {
    const char *text, *part;
  } cases[] = {
      {"", "rows.csv:1: has no line of column names"},
      {HEAD "a,p,,,,,speed,1,,,,,,,,\n", "rows.csv:2: metric: makespan, orchestrator or edges was expected"},
      {HEAD "a,p,,,,,makespan,1,,,,,,,spmd --bogus,\n", "rows.csv:2: run: there is no option --bogus"},
      {HEAD "a,p,,,,,makespan,1,,,,,,,spmd --chip-set submit=1,\n", "rows.csv:2: run: --chip-set goes with --chip"},
      {HEAD "a,p,,,,,makespan,1,,,,,,,spmd bgemm,\n", "rows.csv:2: run: one program was expected, not 2"},
      {HEAD "a,p,,,,,makespan,1,,,,,,,\"spmd --set \"\"open\",\n", "rows.csv:2: run: a quotation mark"},
      {HEAD "\na,p,,,,,makespan,1,,,,,,,spmd,nothing.ini\n", "rows.csv:3: chip 'nothing.ini' is neither shipped"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    put("rows.csv", cases[i].text);
    pto_ptosim_run("validate %s --runs 0", pto_ptosim_path("rows.csv"));
    pto_ptosim_assert_complaint(2, cases[i].part);
  }
  pto_ptosim_run("validate");
  pto_ptosim_assert_complaint(2, "one file of rows is wanted");
  pto_ptosim_run("validate /nothing/there.csv");
  pto_ptosim_assert_complaint(2, "/nothing/there.csv");
  pto_ptosim_run("validate %s -o /nothing/page.md", pto_ptosim_path("rows.csv"));
  pto_ptosim_assert_complaint(2, "/nothing/page.md");
  /* A program that is not there, or fails, is a row without a prediction. */
  put("rows.csv", HEAD "a,p,,,,,makespan,1,,,,,,,nothing_such,\nb,p,,,,,makespan,1,,,,,,,errors/heap,tiny\n");
  json_t *root = validate(1);
  assert_int_equal(pto_json_integer(root, "unknown"), 2);
  assert_non_null(strstr(pto_json_text(row_at(root, 0), "problem"), "nothing_such"));
  json_decref(root);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pairs_of_changes),
      cmocka_unit_test(test_kernels_by_their_stages),
      cmocka_unit_test(test_a_change_of_the_wrong_sign_or_size_is_a_failure),
      cmocka_unit_test(test_the_page_has_failures_first_and_each_set_apart),
      cmocka_unit_test(test_rows_of_another_era_are_warned_of),
      cmocka_unit_test(test_a_prebuilt_graph),
      cmocka_unit_test(test_broken_files_and_runs_are_told_by_line),
  };
  return cmocka_run_group_tests(tests, pto_ptosim_setup, pto_ptosim_teardown);
}
