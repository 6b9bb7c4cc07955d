/* SPDX-License-Identifier: MIT */
/* A program made at run time (two_tasks.h), checked, observed, explored and exported through pto/tools.h alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <pto/pto.h>
#include <pto/tools.h>
#include <runtime/base/sanitizer.h>
#include <tests/check/two_tasks.h>

/* Made at run time: on the heap. */
static struct pto_program *make(void) {
  struct pto_program *program = calloc(1, sizeof *program);
  assert_non_null(program);
  *program = made;
  return program;
}

static const char *unordered[] = {"ordered=false"}, *beyond[] = {"beyond=true"};

static struct pto_config config; /* of the options made last */

static struct pto_session_options options_for(const struct pto_program *program, const char *const *setting) {
  config = (struct pto_config){.size = sizeof config, .engine = "virtual", .record = pto_export_record("trace")};
  return (struct pto_session_options){.size = sizeof(struct pto_session_options),
                                      .made = program,
                                      .settings = {setting, setting != NULL},
                                      .config = &config};
}

static struct pto_session *run(const struct pto_program *program, const char *const *setting) {
  const struct pto_session_options options = options_for(program, setting);
  struct pto_session *session = NULL;
  char sentence[256];
  if (pto_session_open(&options, &session, sentence, sizeof sentence)) fail_msg("%s", sentence);
  if (pto_session_run(session)) fail_msg("%s", pto_session_error(session));
  return session;
}

static char *read_all(const char *path) {
  static char text[20000];
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  unlink(path);
  return text;
}

static struct pto_found first_of(const struct pto_findings *findings) {
  struct pto_found found = {.size = sizeof found};
  assert_true(pto_findings_at(findings, 0, &found));
  assert_false(pto_findings_at(findings, pto_findings_count(findings), &found));
  assert_true(pto_findings_at(findings, 0, &found));
  return found;
}

static void test_a_program_made_at_run_time_runs_and_is_verified(void **state) {
  (void)state;
  struct pto_program *program = make();
  struct pto_session *session = run(program, NULL);
  uint64_t size_bytes = 0;
  assert_int_equal(pto_session_verify(session), PTO_OK);
  const float *x = pto_session_array(session, "x", NULL), *z = pto_session_array(session, "z", &size_bytes);
  assert_int_equal(size_bytes, NUMEL * sizeof *z);
  for (uint32_t i = 0; i < NUMEL; i++) assert_true(z[i] == 4 * x[i]);
  assert_null(pto_session_array(session, "q", NULL));
  assert_int_equal(pto_session_write_result(session, "/tmp/pto_tools_result.json", NULL, 0), PTO_OK);
  const char *text = read_all("/tmp/pto_tools_result.json");
  assert_non_null(strstr(text, "\"program\":\"made\""));
  assert_non_null(strstr(text, "\"verified\":true"));
  pto_session_close(session);
  free(program);
}

static void test_what_nothing_orders_is_found_with_the_line_to_add(void **state) {
  (void)state;
  struct pto_program *program = make();
  struct pto_findings *findings = NULL;
  char sentence[256];
  for (int is_ordered = 0; is_ordered < 2; is_ordered++) {
    struct pto_session *session = run(program, is_ordered ? NULL : unordered);
    if (pto_session_check(session, PTO_DEPS_EXACT, &findings, sentence, sizeof sentence)) fail_msg("%s", sentence);
    assert_int_equal(pto_findings_total(findings), is_ordered ? 0 : 1);
    if (!is_ordered) {
      const struct pto_found found = first_of(findings);
      assert_string_equal(found.kind, "RAW");
      assert_false(found.is_note);
      assert_int_equal(found.tasks[0], 0);
      assert_int_equal(found.tasks[1], 1);
      assert_non_null(strstr(found.sentence, "(twice)"));
      assert_string_equal(found.remedy, "add `after` task 0 to task 1: `.after = &task_0, .after_count = 1`");
      assert_string_equal(found.decided, "all orders");
      assert_int_equal(pto_findings_write(findings, "/tmp/pto_tools_findings.json", NULL, 0), PTO_OK);
      assert_non_null(strstr(read_all("/tmp/pto_tools_findings.json"),
                             "\"remedy\":\"add `after` task 0 to task 1: `.after = &task_0, .after_count = 1`\""));
    }
    pto_findings_destroy(findings);
    pto_session_close(session);
  }
  free(program);
}

/* What the report prints and what it writes. */
static void read_report(const struct pto_report *report, char *text, size_t size, const char **json) {
  FILE *stream = fmemopen(text, size, "w");
  char sentence[256];
  assert_non_null(stream);
  pto_report_print(report, stream);
  fclose(stream);
  if (pto_report_write(report, "/tmp/pto_tools_report.json", sentence, sizeof sentence)) fail_msg("%s", sentence);
  *json = read_all("/tmp/pto_tools_report.json");
}

static void test_why_tells_what_orders_two_tasks(void **state) {
  (void)state;
  struct pto_program *program = make();
  struct pto_why_request request = {.size = sizeof request, .tasks = {1, 0}};
  struct pto_report *report = NULL;
  char sentence[256], text[2000];
  const char *json;
  for (int is_ordered = 0; is_ordered < 2; is_ordered++) {
    struct pto_session *session = run(program, is_ordered ? NULL : unordered);
    if (pto_session_why(session, &request, &report, sentence, sizeof sentence)) fail_msg("%s", sentence);
    assert_int_equal(pto_report_is_clean(report), is_ordered);
    read_report(report, text, sizeof text, &json);
    assert_non_null(strstr(text, is_ordered ? "submitted with `after`" : "add `after` task 0"));
    assert_non_null(strstr(json, is_ordered ? "\"answer\":\"edge\"" : "\"answer\":\"none\""));
    pto_report_destroy(report);
    request.has_rules = true;
    if (is_ordered) {
      request.tasks[0] = 7;
      assert_int_equal(pto_session_why(session, &request, &report, sentence, sizeof sentence), PTO_EINVAL);
      assert_string_equal(sentence, "there is no task 7: the program's are 0 to 1");
      request.rules = 9;
      assert_int_equal(pto_session_why(session, &request, &report, NULL, 0), PTO_EINVAL);
    }
    pto_session_close(session);
  }
  free(program);
}

static void test_where_the_time_went_is_part_of_the_result(void **state) {
  (void)state;
  struct pto_program *program = make();
  struct pto_session *session = run(program, NULL);
  char sentence[256], text[8000] = "";
  FILE *stream = fmemopen(text, sizeof text, "w");
  for (int i = 0; i < 2; i++) /* the second takes the place of the first */
    if (pto_session_account(session, sentence, sizeof sentence)) fail_msg("%s", sentence);
  pto_session_print_result(session, stream);
  fclose(stream);
  assert_non_null(strstr(text, "of which %"));
  assert_int_equal(pto_session_write_result(session, "/tmp/pto_tools_result.json", NULL, 0), PTO_OK);
  const char *json = read_all("/tmp/pto_tools_result.json");
  assert_non_null(strstr(json, "\"stats\":{"));
  assert_non_null(strstr(json, "\"twice\""));
  pto_session_close(session);
  free(program);
}

static void test_the_graphs_of_two_runs_are_compared(void **state) {
  (void)state;
  static const char *const paths[] = {"/tmp/pto_tools_a.json", "/tmp/pto_tools_b.json"};
  struct pto_program *program = make();
  struct pto_report *report = NULL;
  char sentence[256], text[2000];
  const char *json;
  for (int i = 0; i < 2; i++) {
    struct pto_session *session = run(program, i ? unordered : NULL);
    assert_int_equal(pto_session_export(session, "deps-json", paths[i], NULL, 0), PTO_OK);
    pto_session_close(session);
  }
  for (int i = 0; i < 2; i++) {
    if (pto_tools_diff(paths[0], paths[i], &report, sentence, sizeof sentence)) fail_msg("%s", sentence);
    assert_int_equal(pto_report_is_clean(report), i == 0);
    if (i) assert_string_equal(first_of(pto_report_findings(report)).kind, "difference");
    read_report(report, text, sizeof text, &json);
    assert_non_null(strstr(text, "tasks  2 in A, 2 in B"));
    assert_non_null(strstr(json, i ? "\"edges_only_a\":1" : "\"edges_only_a\":0"));
    pto_report_destroy(report);
  }
  unlink(paths[0]);
  unlink(paths[1]);
  assert_int_equal(pto_tools_diff(paths[0], paths[1], &report, sentence, sizeof sentence), PTO_ESYSTEM);
  assert_non_null(strstr(sentence, paths[0]));
  free(program);
}

static void test_a_run_is_held_against_a_baseline(void **state) {
  (void)state;
  static const char path[] = "/tmp/pto_tools_baseline.json";
  struct pto_program *program = make();
  struct pto_baseline *baseline = NULL;
  char sentence[256];
  unlink(path);
  assert_int_equal(pto_baseline_open(path, false, &baseline, sentence, sizeof sentence), PTO_ESYSTEM);
  assert_non_null(strstr(sentence, path));
  for (int is_ordered = 1; is_ordered >= 0; is_ordered--) {
    struct pto_session *session = run(program, is_ordered ? NULL : unordered);
    const int verified = pto_session_verify(session);
    if (pto_baseline_open(path, true, &baseline, sentence, sizeof sentence)) fail_msg("%s", sentence);
    if (is_ordered) {
      assert_int_equal(verified, PTO_OK);
      assert_int_equal(pto_baseline_compare(baseline, "made", session, sentence, sizeof sentence), PTO_ENOTSUP);
      assert_string_equal(sentence, "not in the baseline");
      assert_int_equal(pto_baseline_put(baseline, "made", session, NULL, 0), PTO_OK);
      assert_int_equal(pto_baseline_compare(baseline, "made", session, NULL, 0), PTO_OK);
      if (pto_baseline_write(baseline, path, sentence, sizeof sentence)) fail_msg("%s", sentence);
    } else {
      assert_int_equal(pto_baseline_compare(baseline, "made", session, sentence, sizeof sentence), PTO_EINVAL);
      assert_non_null(strstr(sentence, "0 edges instead of 1"));
    }
    pto_baseline_close(baseline);
    pto_session_close(session);
  }
  unlink(path);
  free(program);
}

/* Keeps task 0 of a run of the program. */
static int capture(const struct pto_program *program, uint64_t *count, char *sentence, size_t sentence_size) {
  const struct pto_session_options options = options_for(program, NULL);
  struct pto_session *session = NULL;
  assert_int_equal(pto_session_open(&options, &session, NULL, 0), PTO_OK);
  assert_int_equal(pto_session_capture(session, "one,two", "/tmp/pto_tools_kept", NULL, 0), PTO_OK);
  if (pto_session_capture(session, "0", "/tmp/pto_tools_kept", sentence, sentence_size)) fail_msg("%s", sentence);
  assert_int_equal(pto_session_run(session), PTO_OK);
  const int status = pto_session_captured(session, count, sentence, sentence_size);
  pto_session_close(session);
  return status;
}

static void test_a_task_is_kept_and_run_again(void **state) {
  (void)state;
  static const char task[] = "/tmp/pto_tools_kept/0";
  struct pto_replay_request request = {.size = sizeof request, .folder = task, .runs = 2};
  struct pto_program *program = make();
  struct pto_report *report = NULL;
  char sentence[256], text[2000];
  const char *json;
  uint64_t count = 7;
  assert_int_equal(capture(program, &count, sentence, sizeof sentence), PTO_ENOTSUP); /* its own kernel, of no file */
  assert_int_equal(count, 0);
  program->orchestrate = orchestrate_copy;
  if (capture(program, &count, sentence, sizeof sentence)) fail_msg("%s", sentence);
  assert_int_equal(count, 1);
  if (pto_tools_replay(&request, &report, sentence, sizeof sentence)) fail_msg("%s", sentence);
  assert_true(pto_report_is_clean(report));
  read_report(report, text, sizeof text, &json);
  assert_non_null(strstr(text, "the same, bit by bit"));
  assert_non_null(strstr(json, "\"runs\":2"));
  pto_report_destroy(report);
  request.folder = "/tmp/pto_tools_kept/1";
  assert_int_equal(pto_tools_replay(&request, &report, sentence, sizeof sentence), PTO_ESYSTEM);
  assert_false(pto_report_is_clean(report));
  pto_report_destroy(report);
  assert_int_equal(system("rm -r /tmp/pto_tools_kept"), 0);
  free(program);
}

static void test_it_is_explored(void **state) {
  (void)state;
  struct pto_program *program = make();
  struct pto_findings *findings = NULL;
  char sentence[256];
  for (int is_all = 0; is_all < 2; is_all++)
    for (int is_ordered = 0; is_ordered < 2; is_ordered++) {
      const struct pto_session_options options = options_for(program, is_ordered ? NULL : unordered);
      const struct pto_explore_request request = {.size = sizeof request, .schedules = 20, .is_all = is_all};
      if (pto_tools_explore(&options, &request, &findings, sentence, sizeof sentence)) fail_msg("%s", sentence);
      assert_int_equal(pto_findings_total(findings) > 0, !is_ordered);
      if (!is_ordered) assert_string_equal(first_of(findings).kind, "order");
      pto_findings_destroy(findings);
    }
  free(program);
}

static void test_it_is_observed(void **state) {
  (void)state;
  struct pto_program *program = make();
  struct pto_findings *findings = NULL;
  char sentence[256];
  const int cases = PTO_HAS_SANITIZER ? 1 : 2; /* a sanitizer ends the process at the write itself */
  for (int is_beyond = 0; is_beyond < cases; is_beyond++) {
    const struct pto_session_options options = options_for(program, is_beyond ? beyond : NULL);
    if (pto_tools_observe(&options, NULL, &findings, sentence, sizeof sentence)) fail_msg("%s", sentence);
    assert_int_equal(pto_findings_total(findings) > 0, is_beyond);
    if (is_beyond) assert_string_equal(first_of(findings).kind, "write outside");
    pto_findings_destroy(findings);
  }
  free(program);
}

/* Each rank has a thread; all write beyond, and each is told. */
static void test_it_is_observed_on_ranks(void **state) {
  (void)state;
  struct pto_program *program = make();
  struct pto_findings *findings = NULL;
  char sentence[256];
  const struct pto_observe_request three = {.size = sizeof three, .ranks = 3},
                                   many = {.size = sizeof many, .ranks = 65};
  for (int is_beyond = 0; is_beyond < (PTO_HAS_SANITIZER ? 1 : 2); is_beyond++) {
    const struct pto_session_options options = options_for(program, is_beyond ? beyond : NULL);
    if (pto_tools_observe(&options, NULL, &findings, sentence, sizeof sentence)) fail_msg("%s", sentence);
    const uint64_t of_one = pto_findings_total(findings);
    pto_findings_destroy(findings);
    if (pto_tools_observe(&options, &three, &findings, sentence, sizeof sentence)) fail_msg("%s", sentence);
    uint64_t told[3] = {0};
    for (uint32_t i = 0; i < pto_findings_count(findings); i++) {
      struct pto_found found = {.size = sizeof found};
      unsigned rank = 3;
      assert_true(pto_findings_at(findings, i, &found));
      assert_int_equal(sscanf(found.sentence, "rank %u task", &rank), 1);
      assert_true(rank < 3);
      told[rank] += !found.is_note;
    }
    assert_true(is_beyond == (of_one > 0));
    for (int rank = 0; rank < 3; rank++) assert_int_equal(told[rank], of_one);
    pto_findings_destroy(findings);
  }
  const struct pto_session_options options = options_for(program, NULL);
  assert_int_equal(pto_tools_observe(&options, &many, &findings, sentence, sizeof sentence), PTO_EINVAL);
  assert_non_null(strstr(sentence, "65"));
  free(program);
}

/* The race is one of each rank; what is late makes no other outputs. */
static void test_it_is_checked_and_explored_on_ranks(void **state) {
  (void)state;
  struct pto_program *program = make();
  struct pto_findings *findings = NULL;
  char sentence[256];
  for (int is_ordered = 0; is_ordered < 2; is_ordered++) {
    const struct pto_session_options options = options_for(program, is_ordered ? NULL : unordered);
    if (pto_tools_check_ranks(&options, 3, &findings, sentence, sizeof sentence)) fail_msg("%s", sentence);
    assert_int_equal(pto_findings_total(findings), is_ordered ? 0 : 3);
    for (uint32_t i = 0; i < pto_findings_count(findings); i++) {
      struct pto_found found = {.size = sizeof found};
      unsigned rank = 3;
      assert_true(pto_findings_at(findings, i, &found));
      assert_int_equal(sscanf(found.sentence, "rank %u: task", &rank), 1);
      assert_int_equal(rank, i);
    }
    pto_findings_destroy(findings);
  }
  const struct pto_session_options options = options_for(program, NULL);
  if (pto_tools_explore_ranks(&options, 2, 3, &findings, sentence, sizeof sentence)) fail_msg("%s", sentence);
  assert_int_equal(pto_findings_total(findings), 0);
  pto_findings_destroy(findings);
  findings = NULL;
  assert_int_equal(pto_tools_check_ranks(&options, 65, &findings, sentence, sizeof sentence), PTO_EINVAL);
  assert_non_null(strstr(sentence, "65"));
  sentence[0] = '\0';
  assert_int_equal(pto_tools_explore_ranks(&options, 65, 0, &findings, sentence, sizeof sentence), PTO_EINVAL);
  assert_non_null(strstr(sentence, "65"));
  assert_null(findings);
  free(program);
}

static void test_exports_go_by_name(void **state) {
  (void)state;
  static const char *const names[] = {"trace", "dot", "deps-json", "waits-dot"}, *const parts[] = {
                                                                                     "traceEvents", "digraph",
                                                                                     "\"tasks\"", "digraph"};
  struct pto_program *program = make();
  struct pto_session *session = run(program, NULL);
  char sentence[256];
  for (size_t i = 0; i < 4; i++) {
    assert_int_equal(pto_session_export(session, names[i], "/tmp/pto_tools_export", sentence, sizeof sentence), PTO_OK);
    assert_non_null(strstr(read_all("/tmp/pto_tools_export"), parts[i]));
  }
  assert_int_equal(pto_session_export(session, "png", "/tmp/pto_tools_export", sentence, sizeof sentence), PTO_EINVAL);
  assert_string_equal(sentence, "there is no export \"png\"");
  assert_int_equal(pto_export_record("png"), UINT32_MAX);
  assert_int_equal(pto_export_record("waits-dot"), 0);
  pto_session_close(session);
  free(program);
}

static void test_what_was_not_recorded_is_refused(void **state) {
  (void)state;
  struct pto_program *program = make();
  struct pto_session_options options = options_for(program, NULL);
  struct pto_session *session = NULL;
  struct pto_findings *findings = NULL;
  char sentence[256];
  config.record = 0;
  assert_int_equal(pto_session_open(&options, &session, NULL, 0), PTO_OK);
  assert_int_equal(pto_session_run(session), PTO_OK);
  assert_int_equal(pto_session_check(session, PTO_DEPS_EXACT, &findings, sentence, sizeof sentence), PTO_ENOTSUP);
  assert_int_equal(pto_session_export(session, "deps-json", "/tmp/pto_tools_export", sentence, sizeof sentence),
                   PTO_ENOTSUP);
  struct pto_report *report = NULL;
  const struct pto_why_request request = {.size = sizeof request, .tasks = {0, 1}};
  assert_int_equal(pto_session_why(session, &request, &report, sentence, sizeof sentence), PTO_ENOTSUP);
  assert_null(report);
  pto_session_close(session);
  free(program);
}

static void test_what_is_wrong_is_said_in_a_sentence(void **state) {
  (void)state;
  static const char *wrong[] = {"orderd=true"};
  struct pto_program *program = make();
  struct pto_session_options options = options_for(program, wrong);
  struct pto_session *session = NULL;
  char sentence[256];
  assert_int_equal(pto_session_open(&options, &session, sentence, sizeof sentence), PTO_EINVAL);
  assert_non_null(strstr(sentence, "orderd"));
  options = (struct pto_session_options){.size = sizeof options};
  assert_int_equal(pto_session_open(&options, &session, sentence, sizeof sentence), PTO_EINVAL);
  assert_string_equal(sentence, "no program is named");
  options.program = "nowhere.json";
  assert_int_equal(pto_session_open(&options, &session, sentence, sizeof sentence), PTO_EINVAL);
  options = options_for(program, NULL);
  options.size = 0;
  assert_int_equal(pto_session_open(&options, &session, sentence, sizeof sentence), PTO_EINVAL);
  assert_string_equal(sentence, "options.size is 0; start with {.size = sizeof options}");
  program->abi = 99;
  options = options_for(program, NULL);
  assert_int_equal(pto_session_open(&options, &session, sentence, sizeof sentence), PTO_EINVAL);
  assert_non_null(strstr(sentence, "99"));
  assert_null(session);
  free(program);
}

static void test_a_model_is_opened_by_name(void **state) {
  (void)state;
  static const char *const settings[] = {"layers=1", "width=16",      "heads=2",
                                         "window=4", "vocabulary=20", "compare=reference"};
  const struct pto_session_options options = {
      .size = sizeof options, .program = "model:gpt2", .settings = {settings, 6}, .rounds = 2};
  struct pto_session *session = NULL;
  char sentence[256];
  if (pto_session_open(&options, &session, sentence, sizeof sentence)) fail_msg("%s", sentence);
  if (pto_session_run(session) || pto_session_verify(session)) fail_msg("%s", pto_session_error(session));
  pto_session_close(session);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_program_made_at_run_time_runs_and_is_verified),
      cmocka_unit_test(test_what_nothing_orders_is_found_with_the_line_to_add),
      cmocka_unit_test(test_why_tells_what_orders_two_tasks),
      cmocka_unit_test(test_where_the_time_went_is_part_of_the_result),
      cmocka_unit_test(test_the_graphs_of_two_runs_are_compared),
      cmocka_unit_test(test_a_run_is_held_against_a_baseline),
      cmocka_unit_test(test_a_task_is_kept_and_run_again),
      cmocka_unit_test(test_it_is_explored),
      cmocka_unit_test(test_it_is_observed),
      cmocka_unit_test(test_it_is_observed_on_ranks),
      cmocka_unit_test(test_it_is_checked_and_explored_on_ranks),
      cmocka_unit_test(test_exports_go_by_name),
      cmocka_unit_test(test_what_was_not_recorded_is_refused),
      cmocka_unit_test(test_what_is_wrong_is_said_in_a_sentence),
      cmocka_unit_test(test_a_model_is_opened_by_name),
  };
  return cmocka_run_group_tests_name("check_tools", tests, NULL, NULL);
}
