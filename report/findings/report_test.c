/* SPDX-License-Identifier: MIT */
#include <report/findings/findings.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include <report/findings/sarif.h>
#include <runtime/base/base.h>
#include <tests/support/failing_malloc.h>
#include <tests/support/temporary_path.h>

static const struct pto_finding war = {
    .kind = PTO_FINDING_WAR, .tasks = {17, 18}, .params = {0, 2}, .rule = "base-address", .group = 7};
static const struct pto_finding note = {.kind = PTO_FINDING_REDUNDANT,
                                        .tasks = {1, PTO_FINDING_NONE},
                                        .params = {PTO_FINDING_NONE, PTO_FINDING_NONE},
                                        .group = 9,
                                        .decided = PTO_DECIDED_THIS_ORDER};

static void add_some(struct pto_findings *findings) {
  pto_findings_init(findings);
  pto_findings_add(findings, &note, NULL, "task %d says after task 0", 1);
  pto_findings_add(findings, &war, "add `after` task 17", "task %d reads, task %d writes", 17, 18);
  pto_findings_add(findings, &war, NULL, "task 19 reads, task 20 writes");
}

static void test_notes_come_last_and_a_group_is_one_line(void **state) {
  struct pto_findings findings;
  char *text = NULL;
  size_t size = 0;
  add_some(&findings);
  FILE *stream = open_memstream(&text, &size);
  pto_findings_print(&findings, stream, 0);
  fclose(stream);
  assert_string_equal(text,
                      "WAR: task 17 reads, task 18 writes; add `after` task 17 (and 1 more like it) [all orders]\n"
                      "redundant: task 1 says after task 0; take it out of `after` [this order]\n");
  free(text);
  pto_findings_fini(&findings);
}

static void test_lines_beyond_the_most_are_counted(void **state) {
  struct pto_findings findings;
  char *text = NULL;
  size_t size = 0;
  add_some(&findings);
  FILE *stream = open_memstream(&text, &size);
  pto_findings_print(&findings, stream, 1);
  fclose(stream);
  assert_non_null(strstr(text, "and 1 more lines"));
  assert_null(strstr(text, "redundant"));
  free(text);
  pto_findings_fini(&findings);
}

static json_t *json_of(const struct pto_findings *findings) {
  static struct pto_json_writer w;
  FILE *file = tmpfile();
  pto_json_init(&w, fileno(file));
  pto_json_object_begin(&w);
  pto_findings_put_json(findings, &w);
  pto_json_object_end(&w);
  assert_int_equal(pto_json_finish(&w), 0);
  rewind(file);
  json_t *root = json_loadf(file, 0, NULL);
  assert_non_null(root);
  fclose(file);
  return root;
}

static void test_json_has_every_finding_with_nulls_where_there_is_nothing(void **state) {
  struct pto_findings findings;
  add_some(&findings);
  json_t *root = json_of(&findings);
  assert_int_equal(json_integer_value(json_object_get(root, "finding_count")), 2);
  json_t *items = json_object_get(root, "findings");
  assert_int_equal(json_array_size(items), 3);
  json_t *first = json_array_get(items, 0), *second = json_array_get(items, 1);
  assert_true(json_is_true(json_object_get(first, "note")));
  assert_true(json_is_null(json_array_get(json_object_get(first, "tasks"), 1)));
  assert_string_equal(json_string_value(json_object_get(first, "remedy")), "take it out of `after`"); /* its kind's */
  assert_string_equal(json_string_value(json_object_get(first, "decided")), "this order");            /* its own */
  assert_true(json_is_null(json_object_get(first, "rule")));
  assert_string_equal(json_string_value(json_object_get(second, "decided")), "all orders");
  assert_string_equal(json_string_value(json_object_get(second, "rule")), "base-address");
  assert_string_equal(json_string_value(json_object_get(second, "remedy")), "add `after` task 17");
  assert_int_equal(json_integer_value(json_array_get(json_object_get(second, "params"), 1)), 2);
  json_decref(root);
  pto_findings_fini(&findings);
}

/* The first of the notifications of a SARIF file; NULL: it has none. */
static json_t *notification_of(json_t *sarif) {
  json_t *run = json_array_get(json_object_get(sarif, "runs"), 0);
  json_t *invocation = json_array_get(json_object_get(run, "invocations"), 0);
  return json_array_get(json_object_get(invocation, "toolExecutionNotifications"), 0);
}

static void test_findings_that_memory_was_refused_to_are_told_as_lost_in_text_json_and_sarif(void **state) {
  if (!PTO_HAS_FAILING_MALLOC) skip();
  char path[TEMPORARY_PATH_BYTES];
  temporary_path(path, "lost_sarif");
  for (uint32_t refused = 0; refused <= 3; refused++) { /* sentence, remedy, list; none */
    struct pto_findings findings;
    struct pto_error error;
    char *text = NULL;
    size_t size = 0;
    pto_findings_init(&findings);
    fail_countdown = refused;
    pto_findings_add(&findings, &war, "add `after` task 17", "task 17 reads, task 18 writes");
    assert_int_equal(fail_countdown, 0);
    FILE *stream = open_memstream(&text, &size);
    pto_findings_print(&findings, stream, 0);
    fclose(stream);
    assert_int_equal(strstr(text, "memory ran out: there are more than are told here\n") != NULL, refused > 0);
    free(text);
    json_t *root = json_of(&findings);
    assert_int_equal(json_integer_value(json_object_get(root, "finding_count")), 1);
    assert_int_equal(json_array_size(json_object_get(root, "findings")), refused == 0);
    assert_int_equal(json_is_true(json_object_get(root, "findings_lost")), refused > 0);
    assert_int_equal(json_is_false(json_object_get(root, "findings_lost")), refused == 0);
    json_decref(root);
    assert_int_equal(pto_sarif_write(path, &findings, "p", true, &error), PTO_OK);
    root = json_load_file(path, 0, NULL);
    json_t *notification = notification_of(root);
    assert_int_equal(notification != NULL, refused > 0);
    if (refused)
      assert_string_equal(json_string_value(json_object_get(json_object_get(notification, "message"), "text")),
                          PTO_FINDINGS_LOST);
    json_decref(root);
    pto_findings_fini(&findings);
  }
  unlink(path);
}

static void test_notes_leave_the_verdict_clean(void **state) {
  struct pto_findings findings;
  pto_findings_init(&findings);
  pto_findings_add(&findings, &note, NULL, "a note");
  assert_true(pto_findings_is_clean(&findings));
  pto_findings_add(&findings, &war, NULL, "a finding");
  assert_false(pto_findings_is_clean(&findings));
  assert_int_equal(findings.by_kind[PTO_FINDING_WAR], 1);
  pto_findings_fini(&findings);
}

static void test_beyond_what_is_kept_findings_are_counted(void **state) {
  struct pto_findings findings;
  pto_findings_init(&findings);
  for (uint32_t i = 0; i < PTO_FINDINGS_MAX + 5; i++) pto_findings_add(&findings, &war, NULL, "number %u", i);
  assert_int_equal(findings.count, PTO_FINDINGS_MAX);
  assert_int_equal(findings.total, PTO_FINDINGS_MAX + 5);
  assert_int_equal(findings.items[0].more, PTO_FINDINGS_MAX + 4);
  const struct pto_finding other = {.kind = PTO_FINDING_WAR, .group = war.group + 1, .is_manual = true};
  assert_true(pto_findings_counts_alone(&findings, &war));
  assert_false(pto_findings_counts_alone(&findings, &other));
  pto_findings_add(&findings, &other, NULL, "the first of another group");
  assert_int_equal(findings.count, PTO_FINDINGS_MAX + 1);
  assert_true(pto_findings_is_first(&findings, PTO_FINDINGS_MAX));
  assert_int_equal(findings.of_manual, 1);
  pto_findings_fini(&findings);
}

/* As the source has it; with what the program gives already; of recorded tasks only where that is known. */
static void test_an_after_is_a_line_of_the_language_of_its_source(void **state) {
  (void)state;
  static const struct {
    struct pto_finding_after after;
    const char *said;
  } cases[] = {
      {{.tasks = {5, 6}, .file = "a.c"}, "add `after` task 5 to task 6: `.after = &task_5, .after_count = 1`"},
      {{.tasks = {5, 6}, .file = ""}, "add `after` task 5 to task 6: `.after = &task_5, .after_count = 1`"},
      {{.tasks = {5, 6}, .file = "a.c", .given = {2, 4}, .given_count = 2},
       "add `after` task 5 to task 6: `.after = (const struct pto_task[]){task_2, task_4, task_5}, .after_count = 3`"},
      {{.tasks = {5, 6}, .file = "a.py", .given = {2}, .given_count = 1},
       "add `after` task 5 to task 6: `after=[task_2, task_5]`"},
      {{.tasks = {5, 6}, .file = "<cell 3>"}, "add `after` task 5 to task 6: `after=[task_5]`"},
      {{.tasks = {5, 6}, .file = "a.cpp"}, "add `after` task 5 to task 6"},
      {{.tasks = {5, 6}, .file = "a.c", .given_count = PTO_FINDING_GIVEN + 1}, "add `after` task 5 to task 6"},
      {{.tasks = {5, 6}, .launches = {8, 8}, .file = "a.c", .given_count = 1},
       "add `after` task 5 to task 6 in the recording"},
      {{.tasks = {2, 6}, .launches = {3, 8}, .file = "a.c"},
       "add `after` task 3 to the launch of the recording, which is task 8: `.after = &task_3, .after_count = 1`"},
  };
  char text[PTO_FINDING_AFTER];
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++)
    assert_string_equal(pto_finding_say_after(&cases[i].after, text, sizeof text), cases[i].said);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_notes_come_last_and_a_group_is_one_line),
      cmocka_unit_test(test_lines_beyond_the_most_are_counted),
      cmocka_unit_test(test_json_has_every_finding_with_nulls_where_there_is_nothing),
      cmocka_unit_test(test_findings_that_memory_was_refused_to_are_told_as_lost_in_text_json_and_sarif),
      cmocka_unit_test(test_notes_leave_the_verdict_clean),
      cmocka_unit_test(test_an_after_is_a_line_of_the_language_of_its_source),
      cmocka_unit_test(test_beyond_what_is_kept_findings_are_counted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
