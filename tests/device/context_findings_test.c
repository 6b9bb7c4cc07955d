/* SPDX-License-Identifier: MIT */
/*
 * Mistakes in the calls on contexts, as ptosim finds them: tests/planted/planted_contexts.c has each with a clean twin.
 * The twin is clean under every verb.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tests/support/ptosim_child.h>

static const char *const verbs[] = {"run", "check", "check --observe", "explore --schedules 3"};
#define VERBS (sizeof verbs / sizeof *verbs)

static int ask(size_t verb, const char *mistake, bool is_buggy) {
  const size_t name = strcspn(verbs[verb], " ");
  return pto_ptosim_run("%.*s %s/planted/planted_contexts.so%s --set mistake=%s --set bug=%s", (int)name, verbs[verb],
                        pto_ptosim_build(), verbs[verb] + name, mistake, is_buggy ? "true" : "false");
}

static void expect_found(size_t verb, const char *mistake, const char *const *parts, size_t part_count) {
  const int code = ask(verb, mistake, true);
  if (strstr(pto_ptosim_last.out, "not compared")) return; /* of a sanitizer's build, which observes nothing */
  for (size_t i = 0; i < part_count; i++)
    if (code != 1 || !strstr(pto_ptosim_last.out, parts[i]))
      fail_msg("%s, %s: exit %d: \"%s%s\" does not say \"%s\"", verbs[verb], mistake, code, pto_ptosim_last.out,
               pto_ptosim_last.err, parts[i]);
}

static void expect_clean(size_t verb, const char *mistake) {
  const int code = ask(verb, mistake, false);
  if (code)
    fail_msg("%s, the twin of %s: exit %d: %s%s", verbs[verb], mistake, code, pto_ptosim_last.out, pto_ptosim_last.err);
}

static void test_refused_calls_that_a_program_ignores_are_found_by_every_verb(void **state) {
  static const char *const rows[][3] = {
      {"refused_dispatch", "dispatch \"copy\" at planted_contexts.c:", ": x: tensor 1 (rewritten) has been destroyed"},
      {"refused_write", "write at planted_contexts.c:", "tensor 1 (rewritten)"},
      {"refused_copy", "copy at planted_contexts.c:", ": tensor 1 (rewritten) is both source and target"},
      {"refused_call", "compute at planted_contexts.c:", ": no output is called \"y\""},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (size_t verb = 0; verb < VERBS; verb++) {
      const char *const parts[] = {verb ? "refused: " : "refused  1 call; the first, ", rows[i][1], rows[i][2]};
      expect_found(verb, rows[i][0], parts, 3);
      expect_clean(verb, rows[i][0]);
    }
}

static void test_of_several_refused_calls_each_verb_says_how_many_there_were(void **state) {
  (void)state;
  for (size_t verb = 0; verb < VERBS; verb++) {
    const char *const parts[] = {verb ? "refused: 3 calls, the first: copy at planted_contexts.c:"
                                      : "refused  3 calls; the first, copy at planted_contexts.c:"};
    expect_found(verb, "refused_often", parts, 1);
    expect_clean(verb, "refused_often");
  }
}

static void test_a_refused_call_that_ends_the_program_has_its_place(void **state) {
  (void)state;
  for (size_t verb = 0; verb < VERBS; verb++) {
    if (ask(verb, "told_dispatch", true) != 3 ||
        !strstr(pto_ptosim_last.err,
                ": x: tensor 1 (rewritten) has been destroyed (dispatch \"copy\" at planted_contexts.c:"))
      fail_msg("%s: exit %d: %s%s", verbs[verb], pto_ptosim_last.exit_code, pto_ptosim_last.out, pto_ptosim_last.err);
    expect_clean(verb, "told_dispatch");
  }
}

static void test_json_has_a_refused_call_with_its_place_and_without_a_task(void **state) {
  (void)state;
  assert_int_equal(
      pto_ptosim_run("check %s/planted/planted_contexts.so --set mistake=refused_copy --json -", pto_ptosim_build()),
      1);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *finding = json_array_get(json_object_get(root, "findings"), 0);
  json_t *place = json_array_get(json_object_get(finding, "places"), 0);
  assert_string_equal(pto_json_text(finding, "kind"), "refused");
  assert_true(json_is_null(json_array_get(json_object_get(finding, "tasks"), 0)));
  assert_non_null(strstr(pto_json_text(place, "file"), "planted_contexts.c"));
  assert_string_equal(pto_json_text(json_object_get(place, "callee"), "function"), "refused_copy");
  json_decref(root);
}

/* `run` submits what was kept, and has nothing to compare. */
static void test_a_program_that_would_not_repeat_what_it_says_is_found_by_the_verbs_that_judge(void **state) {
  static const char *const rows[][2] = {
      {"repeats_scalar",
       "would submit task 0 of its own (fill) with param 1 value = 1; what was kept of an earlier one "
       "has 0, and by `repeats` that is submitted again; submitted at planted_contexts.c:"},
      {"repeats_kernel",
       "task 0 of its own (refill) with kernel refill; what was kept of an earlier one has kernel fill"},
      {"repeats_tasks",
       "task 1 of its own (fill) with a submit of fill; what was kept of an earlier one has no more calls"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (size_t verb = 0; verb < VERBS; verb++) {
      const char *const parts[] = {"repeats: dispatch 2 of the context, of \"copy\", ", rows[i][1],
                                   "; dispatched at planted_contexts.c:", "say `repeats` = 0"};
      if (verb) expect_found(verb, rows[i][0], parts, 4);
      expect_clean(verb, rows[i][0]);
    }
}

static int check_pto(const char *mistake, bool is_buggy) {
  return pto_ptosim_run("check %s/planted/planted_contexts.so --deps pto --set mistake=%s --set bug=%s",
                        pto_ptosim_build(), mistake, is_buggy ? "true" : "false");
}
/* The number of the line that stands behind `words`. */
static long line_behind(const char *words) {
  const char *at = strstr(pto_ptosim_last.out, words);
  if (!at) fail_msg("\"%s\" does not say \"%s\"", pto_ptosim_last.out, words);
  return strtol(at + strlen(words), NULL, 10);
}

/* Each place is the program's call, and where a function of the program makes that, its line too. */
static void test_moves_and_tasks_of_graphs_stand_where_the_program_called_the_context(void **state) {
  (void)state;
  assert_int_equal(check_pto("graph_write", true), 1);
  assert_non_null(strstr(pto_ptosim_last.out,
                         "WAR: task 0 (relu) param 0 reads buffer 1 (rewritten) [0:16]; host access "
                         "0 (before task 1) writes it bytes 0:64; both touch bytes 0:64;"));
  assert_non_null(strstr(pto_ptosim_last.out, "; sync the context first"));
  const long first = line_behind("; submitted at planted_contexts.c:");
  assert_int_equal(line_behind(" and planted_contexts.c:"), first); /* host()'s call of what makes the mistakes */
  assert_null(strstr(pto_ptosim_last.out, "lower"));
  const char *graph = strstr(pto_ptosim_last.out, " (planted_contexts.c:");
  assert_non_null(graph);
  const char *write = strstr(graph + 1, " (planted_contexts.c:");
  assert_non_null(write);
  const long dispatch_line = strtol(graph + 21, NULL, 10), write_line = strtol(write + 21, NULL, 10);
  assert_true(dispatch_line > 100 && write_line > dispatch_line && write_line < first);
  assert_int_equal(check_pto("graph_write", false), 0);
}

static void test_between_two_dispatches_the_remedy_is_a_sync(void **state) {
  static const char remedy[] = "; sync the context between the two dispatches, or bind another tensor";
  (void)state;
  assert_int_equal(check_pto("graph_twice", true), 1);
  const char *first = strstr(pto_ptosim_last.out, remedy);
  assert_non_null(first);
  assert_non_null(strstr(first + 1, remedy)); /* WAW of task 0 and task 2, WAR of task 1 and task 2 */
  assert_null(strstr(pto_ptosim_last.out, "`after`"));
  assert_int_equal(
      pto_ptosim_run("why %s/planted/planted_contexts.so --deps pto --set mistake=graph_twice 1 2", pto_ptosim_build()),
      0);
  assert_non_null(strstr(pto_ptosim_last.out, remedy));
  assert_int_equal(check_pto("graph_twice", false), 0); /* with the sync */
}

/* A note, which leaves the verdict alone. */
static void test_what_the_host_writes_behind_the_dispatch_that_reads_it_is_noted(void **state) {
  static const char note[] =
      "read early: tensor 3 is the input of a dispatch before anything has written it, so it is zeros there; the host "
      "writes it behind that; written at planted_contexts.c:";
  (void)state;
  for (size_t verb = 0; verb < VERBS; verb++) {
    assert_int_equal(ask(verb, "read_early", true), 0);
    if (strstr(pto_ptosim_last.out, "not compared")) continue;
    assert_true((strstr(pto_ptosim_last.out, note) != NULL) == (verb > 0));
    if (verb) assert_non_null(strstr(pto_ptosim_last.out, "; dispatched at planted_contexts.c:"));
    expect_clean(verb, "read_early");
    assert_null(strstr(pto_ptosim_last.out, "read early"));
  }
}

static void test_what_the_host_reads_before_it_is_written_is_noted(void **state) {
  static const char note[] = "read early: the host reads tensor 2 before anything has written it, so it is zeros; read "
                             "at planted_contexts.c:",
                    remedy[] = "; read it behind the dispatch that has it as an output [this order]\n";
  (void)state;
  for (size_t verb = 0; verb < VERBS; verb++) {
    assert_int_equal(ask(verb, "read_back_early", true), 0);
    if (strstr(pto_ptosim_last.out, "not compared")) continue;
    assert_true((strstr(pto_ptosim_last.out, note) != NULL) == (verb > 0));
    assert_true((strstr(pto_ptosim_last.out, remedy) != NULL) == (verb > 0));
    expect_clean(verb, "read_back_early");
    assert_null(strstr(pto_ptosim_last.out, "read early"));
  }
}

static void test_a_part_of_a_tensor_that_the_host_reads_and_no_task_writes_is_noted(void **state) {
  (void)state;
  assert_int_equal(ask(1, "partly_written", true), 0);
  const char *note = strstr(pto_ptosim_last.out, "read early: the host reads a device tensor, buffer ");
  assert_non_null(note);
  assert_non_null(
      strstr(note, "; no task writes bytes 48:64 of its 64, so these are zeros; read at planted_contexts.c:"));
  assert_null(strstr(note + 1, "read early"));
  expect_clean(1, "partly_written");
  assert_null(strstr(pto_ptosim_last.out, "read early"));
}

/* The tensor has been written before, so its memory is registered a second time for the task. */
static void test_kernels_that_leave_bytes_of_a_device_tensor_are_told_with_its_label_and_element(void **state) {
  (void)state;
  pto_ptosim_run("check %s/planted/planted_contexts.so --observe --observe-tasks 1 --set touch=3 --set output=true",
                 pto_ptosim_build());
  if (strstr(pto_ptosim_last.out, "not compared")) skip();
  assert_non_null(
      strstr(pto_ptosim_last.out,
             "not written: task 1 (copy) does not write bytes [60, 64) of device tensor rewritten (buffer 1) "
             "(element [15] of f32[16]), which param 1 z (output) declares"));
}

static void test_a_local_variable_of_a_dispatch_is_none_of_its_tensors(void **state) {
  (void)state;
  for (size_t verb = 1; verb <= 2; verb++) {
    const char *const parts[] = {"stack: task 0 (copy) param 0 lies over a local variable of the orchestration",
                                 "submitted at planted_contexts.c:", "`pto_program_alloc(run, size_bytes)`"};
    expect_found(verb, "local_array", parts, 3);
  }
  for (size_t verb = 0; verb < VERBS; verb++) expect_clean(verb, "local_array");
}

/* Without a golden: what came out late is held against what comes out at once. */
static void test_what_a_queued_dispatch_borrows_must_not_change_and_explore_finds_where_it_does(void **state) {
  static const char *const mistakes[] = {"borrowed_context --set output=true", "borrowed_program --set output=true"};
  static const char *const parts[] = {"borrowed: dispatch 1 of the run, of \"copy\": carried out before the program "
                                      "goes on, output seen[0]: 1 instead of "
                                      "2; so what it borrows",
                                      "; dispatched at planted_contexts.c:",
                                      "; sync the context before you change it, or give each dispatch memory of "};
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    /* on threads it is a race, which a sanitizer reports */
    if (pto_ptosim_reports_faults) expect_found(VERBS - 1, mistakes[i], parts, 3);
    for (size_t verb = 0; verb < VERBS; verb++) expect_clean(verb, mistakes[i]);
  }
}

static void test_a_failure_that_a_context_keeps_to_its_end_is_one_of_the_run(void **state) {
  (void)state;
  for (size_t verb = 0; verb < VERBS; verb++) {
    if (ask(verb, "failed_dispatch", true) != 3 ||
        !strstr(pto_ptosim_last.err, "ptosim: task 0: kernel copy failed on core") ||
        !strstr(pto_ptosim_last.err, ": planted, status ") ||
        !strstr(pto_ptosim_last.err, verb ? "; submitted at planted_contexts.c:" : "; `ptosim check` says where") ||
        (verb && !strstr(pto_ptosim_last.err, " by dispatch 1, its kernel is ")))
      fail_msg("%s: exit %d: %s%s", verbs[verb], pto_ptosim_last.exit_code, pto_ptosim_last.out, pto_ptosim_last.err);
    expect_clean(verb, "failed_dispatch");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_refused_calls_that_a_program_ignores_are_found_by_every_verb),
      cmocka_unit_test(test_of_several_refused_calls_each_verb_says_how_many_there_were),
      cmocka_unit_test(test_a_refused_call_that_ends_the_program_has_its_place),
      cmocka_unit_test(test_json_has_a_refused_call_with_its_place_and_without_a_task),
      cmocka_unit_test(test_moves_and_tasks_of_graphs_stand_where_the_program_called_the_context),
      cmocka_unit_test(test_between_two_dispatches_the_remedy_is_a_sync),
      cmocka_unit_test(test_what_the_host_writes_behind_the_dispatch_that_reads_it_is_noted),
      cmocka_unit_test(test_what_the_host_reads_before_it_is_written_is_noted),
      cmocka_unit_test(test_a_part_of_a_tensor_that_the_host_reads_and_no_task_writes_is_noted),
      cmocka_unit_test(test_kernels_that_leave_bytes_of_a_device_tensor_are_told_with_its_label_and_element),
      cmocka_unit_test(test_a_local_variable_of_a_dispatch_is_none_of_its_tensors),
      cmocka_unit_test(test_what_a_queued_dispatch_borrows_must_not_change_and_explore_finds_where_it_does),
      cmocka_unit_test(test_a_failure_that_a_context_keeps_to_its_end_is_one_of_the_run),
      cmocka_unit_test(test_a_program_that_would_not_repeat_what_it_says_is_found_by_the_verbs_that_judge),
  };
  return cmocka_run_group_tests_name("context_findings", tests, pto_ptosim_setup, pto_ptosim_teardown);
}
