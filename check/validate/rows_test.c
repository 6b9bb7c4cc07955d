/* SPDX-License-Identifier: MIT */
/* Files of measurements: what is read, and what is said of one that is broken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <check/validate/rows.h>
#include <check/validate/verdict.h>

#define HEAD                                                                                                           \
  "row,program,settings,tasks_submitted,aicore_tasks,wait_edges,metric,value_us,spread_percent,date,era,source,set,"   \
  "base,run,chip\n"

static char path[64];
static struct pto_error error;

static int read_text(const char *text, struct pto_rows *rows) {
  snprintf(path, sizeof path, "/tmp/pto_rows_test_XXXXXX");
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, text, strlen(text)), strlen(text));
  close(fd);
  pto_error_clear(&error);
  const int status = pto_rows_read(path, rows, &error);
  unlink(path);
  return status;
}

static void refuses(const char *text, uint32_t line, const char *part) {
  struct pto_rows rows;
  char place[96];
  assert_int_equal(read_text(text, &rows), PTO_EINVAL);
  snprintf(place, sizeof place, "%s:%u: ", path, line);
  if (strncmp(error.sentence, place, strlen(place)) != 0 || !strstr(error.sentence, part))
    fail_msg("\"%s\" is not said of line %u: %s", part, line, error.sentence);
  assert_int_equal(rows.count, 0);
}

static void test_rows_are_read(void **state) {
  struct pto_rows rows;
  assert_int_equal(
      read_text(HEAD "a,p,\"one, \"\"two\"\"\",10,,5,makespan,1.5,2,2026-04-28,e f,s,check,,\"x --set k=1,2\",\r\n"
                     "\n"
                     "b,p,,,,,makespan,3,,,,,,a,,c.ini\n"
                     "c,p,,1,,7,edges,,,,,,,,,\n",
                &rows),
      PTO_OK);
  assert_int_equal(rows.count, 3);
  const struct pto_row *a = &rows.rows[0], *b = &rows.rows[1], *c = &rows.rows[2];
  assert_string_equal(a->row, "a");
  assert_string_equal(a->settings, "one, \"two\"");
  assert_string_equal(a->run, "x --set k=1,2");
  assert_true(a->has_tasks && a->tasks == 10 && !a->has_kernel_tasks && a->has_edges && a->edges == 5);
  assert_true(a->value_us == 1.5 && a->has_spread && a->spread_percent == 2 && a->metric == PTO_ROW_makespan);
  assert_string_equal(a->era, "e f");
  assert_ptr_equal(b->base_row, a);
  assert_int_equal(b->line, 4);
  assert_false(b->has_tasks || b->has_edges || b->has_spread);
  assert_string_equal(b->chip, "c.ini");
  assert_int_equal(c->metric, PTO_ROW_edges);
  assert_int_equal(c->edges, 7);
  pto_rows_fini(&rows);
}

static void test_columns_in_any_order(void **state) {
  struct pto_rows rows;
  assert_int_equal(read_text("chip,run,base,set,source,era,date,spread_percent,value_us,metric,wait_edges,aicore_tasks,"
                             "tasks_submitted,settings,program,row,more\n"
                             ",,,check,,,,,9,makespan,,,,,,a,b\n",
                             &rows),
                   PTO_OK);
  assert_string_equal(rows.rows[0].row, "a");
  assert_true(rows.rows[0].value_us == 9);
  pto_rows_fini(&rows);
}

static void test_columns_that_may_be_empty_may_be_missing(void **state) {
  struct pto_rows rows;
  assert_int_equal(read_text("metric,row,value_us,colour\nmakespan,a,9,red\n", &rows), PTO_OK);
  assert_string_equal(rows.rows[0].row, "a");
  assert_string_equal(rows.rows[0].chip, "");
  assert_false(rows.rows[0].has_tasks || rows.rows[0].has_spread);
  pto_rows_fini(&rows);
}

static void test_broken_files_are_told_by_line(void **state) {
  refuses("", 1, "has no line of column names");
  refuses(HEAD, 1, "a row behind the names");
  refuses("row,program\n", 1, "there is no column \"metric\"");
  refuses("row,metric\n", 1, "there is no column \"value_us\"");
  refuses("row,metric,value_us,chips\n", 1, "there is no column \"chips\"; did you mean \"chip\"?");
  refuses("row,row,program,settings,tasks_submitted,aicore_tasks,wait_edges,metric,value_us,spread_percent,date,era,"
          "source,set,base,run,chip\n",
          1, "the column \"row\" is there 2 times");
  refuses(HEAD "a,b\n", 2, "2 columns, and 16 were expected");
  refuses(HEAD "\n\na,p,\"open,,,,makespan,1,,,,,,,,\n", 4, "a quoted cell has no end");
  refuses(HEAD "a,p,\"x\"y,,,,makespan,1,,,,,,,,\n", 2, "more behind a quoted cell");
  refuses(HEAD "a,p,,ten,,,makespan,1,,,,,,,,\n", 2, "tasks_submitted: a whole number was expected, not \"ten\"");
  refuses(HEAD "a,p,,-1,,,makespan,1,,,,,,,,\n", 2, "tasks_submitted: a whole number");
  refuses(HEAD "a,p,,,,,speed,1,,,,,,,,\n", 2, "makespan, orchestrator or edges was expected, not \"speed\"");
  refuses(HEAD "a,p,,,,,makespan,,,,,,,,,\n", 2, "value_us: a number above 0");
  refuses(HEAD "a,p,,,,,makespan,nan,,,,,,,,\n", 2, "value_us: a number of at least 0");
  refuses(HEAD "a,p,,,,,edges,,,,,,,,,\n", 2, "wait_edges: a whole number was expected");
  refuses(HEAD ",p,,,,,makespan,1,,,,,,,,\n", 2, "row: a name was expected");
  refuses(HEAD "a,p,,,,,makespan,1,,,,,,none,,\n", 2, "base: the name of another row of metric makespan");
  refuses(HEAD "a,p,,,,,makespan,1,,,,,,a,,\n", 2, "base: the name of another row");
  refuses(HEAD "a,p,,,,,makespan,1,,,,,,b,,\nb,p,,,,,orchestrator,1,,,,,,,,\n", 2, "of metric makespan");
  struct pto_rows rows;
  assert_int_equal(pto_rows_read("/nothing/there.csv", &rows, &error), PTO_ESYSTEM);
  assert_non_null(strstr(error.sentence, "/nothing/there.csv: "));
}

/* Cut anywhere, and with any byte flipped, a file is read or refused, and nothing else. */
static void test_any_bytes_are_read_or_refused(void **state) {
  static const char whole[] =
      HEAD "a,p,\"s, t\",10,9,5,makespan,1.5,2,d,e,s,check,,\"x y\",\nb,p,,,,,makespan,3,,,,,,a,,c\n";
  char text[sizeof whole];
  struct pto_rows rows;
  for (size_t at = 0; at < sizeof whole - 1; at++) {
    memcpy(text, whole, sizeof whole);
    text[at] = '\0';
    if (read_text(text, &rows) == PTO_OK) pto_rows_fini(&rows);
    memcpy(text, whole, sizeof whole);
    text[at] = (char)(text[at] ^ (1 << at % 7));
    if (read_text(text, &rows) == PTO_OK) pto_rows_fini(&rows);
  }
}

/* ---- verdicts ---- */

static struct pto_row row_of(double us, enum pto_row_metric metric, char *set) {
  static char empty[] = "";
  return (struct pto_row){
      .row = empty, .era = empty, .set = set, .base = empty, .chip = empty, .metric = metric, .value_us = us};
}

static void check_verdict(double measured_us, uint64_t predicted_us, enum pto_row_metric metric, char *set,
                          enum pto_row_verdict expected) {
  const struct pto_row row = row_of(measured_us, metric, set);
  struct pto_prediction prediction = {
      .plain = {.makespan_ps = predicted_us * 1000000, .window_ps = predicted_us * 1000000}};
  const struct pto_validated validated = {.row = &row, .prediction = &prediction};
  assert_int_equal(pto_validated_verdict(&validated), expected);
  prediction.runs = 3; /* then the median counts */
  prediction.makespan.median_ps = prediction.window.median_ps = prediction.plain.makespan_ps;
  prediction.plain.makespan_ps = prediction.plain.window_ps = 1;
  assert_int_equal(pto_validated_verdict(&validated), expected);
}

static void test_limits_by_set_and_metric(void **state) {
  char calibrate[] = "calibrate", check[] = "check", other[] = "mine";
  check_verdict(1000, 1020, PTO_ROW_makespan, calibrate, PTO_ROW_GOOD);
  check_verdict(1000, 1021, PTO_ROW_makespan, calibrate, PTO_ROW_FAILED);
  check_verdict(1000, 970, PTO_ROW_orchestrator, calibrate, PTO_ROW_GOOD);
  check_verdict(1000, 969, PTO_ROW_orchestrator, calibrate, PTO_ROW_FAILED);
  check_verdict(1000, 850, PTO_ROW_makespan, check, PTO_ROW_GOOD);
  check_verdict(1000, 1151, PTO_ROW_makespan, check, PTO_ROW_FAILED);
  check_verdict(1000, 1149, PTO_ROW_orchestrator, other, PTO_ROW_GOOD);
  struct pto_row edges = row_of(0, PTO_ROW_edges, calibrate);
  struct pto_prediction prediction = {.plain = {.edges = 750, .tasks = 1000}};
  const struct pto_validated validated = {.row = &edges, .prediction = &prediction};
  edges.has_edges = true;
  edges.edges = 750;
  assert_int_equal(pto_validated_verdict(&validated), PTO_ROW_GOOD);
  edges.has_tasks = true;
  edges.tasks = 1001;
  assert_int_equal(pto_validated_verdict(&validated), PTO_ROW_FAILED);
  edges.tasks = 1000;
  edges.edges = 751;
  assert_int_equal(pto_validated_verdict(&validated), PTO_ROW_FAILED);
  const struct pto_validated unknown = {.row = &edges};
  assert_int_equal(pto_validated_verdict(&unknown), PTO_ROW_UNKNOWN);
}

static struct pto_change change_of(double base_us, double us, uint64_t predicted_base_us, uint64_t predicted_us) {
  char check[] = "check";
  const struct pto_row rows[2] = {row_of(base_us, PTO_ROW_makespan, check), row_of(us, PTO_ROW_makespan, check)};
  struct pto_prediction predictions[2] = {{.plain = {.makespan_ps = predicted_base_us * 1000000}},
                                          {.plain = {.makespan_ps = predicted_us * 1000000}}};
  const struct pto_validated base = {.row = &rows[0], .prediction = &predictions[0]};
  const struct pto_validated other = {.row = &rows[1], .prediction = &predictions[1]};
  return pto_change_of(&base, &other);
}

static void test_changes(void **state) {
  struct pto_change change = change_of(1000, 800, 500, 400);
  assert_true(change.is_large && change.has_sign && change.has_size);
  change = change_of(1000, 800, 500, 420); /* −16 % instead of −20 %: within a fifth */
  assert_true(change.has_sign && change.has_size);
  change = change_of(1000, 800, 500, 421);
  assert_true(change.has_sign && !change.has_size);
  change = change_of(1000, 800, 500, 520);
  assert_true(!change.has_sign && !change.has_size);
  change = change_of(1000, 951, 500, 600);
  assert_false(change.is_large);
  change = change_of(1000, 1100, 500, 500);
  assert_true(change.is_large && !change.has_sign);
}

static void test_the_chip_of_a_row(void **state) {
  char set[] = "check", hbg[] = "host built graph", odd[] = "of none", tiny[] = "tiny";
  struct pto_row row = row_of(1, PTO_ROW_makespan, set);
  struct pto_row_place place;
  pto_row_place_find(&row, "rows.csv", NULL, &place);
  assert_string_equal(place.chip, "a2a3");
  assert_false(place.is_prebuilt || *place.warning);
  row.era = hbg;
  pto_row_place_find(&row, "rows.csv", NULL, &place);
  assert_string_equal(place.chip, "a2a3");
  assert_true(place.is_prebuilt && !*place.warning);
  row.era = odd;
  pto_row_place_find(&row, "rows.csv", NULL, &place);
  assert_string_equal(place.chip, "a2a3");
  assert_non_null(strstr(place.warning, "no chip file is of era \"of none\""));
  row.chip = tiny;
  pto_row_place_find(&row, "rows.csv", "a5", &place);
  assert_string_equal(place.chip, "tiny");
  assert_non_null(strstr(place.warning, "measured in era \"of none\""));
  row.chip = "plain.ini";
  pto_row_place_find(&row, "tests/regress/rows.csv", NULL, &place);
  assert_string_equal(place.chip, "tests/regress/plain.ini");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows_are_read),
                                     cmocka_unit_test(test_columns_in_any_order),
                                     cmocka_unit_test(test_columns_that_may_be_empty_may_be_missing),
                                     cmocka_unit_test(test_broken_files_are_told_by_line),
                                     cmocka_unit_test(test_any_bytes_are_read_or_refused),
                                     cmocka_unit_test(test_limits_by_set_and_metric),
                                     cmocka_unit_test(test_changes),
                                     cmocka_unit_test(test_the_chip_of_a_row)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
