/* SPDX-License-Identifier: MIT */
/* `ptosim check` and `ptosim why` from outside: exit codes, lines, JSON keys, with real programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tests/support/ptosim_child.h>

static void expect_said(const char *part) {
  if (!strstr(pto_ptosim_last.out, part)) fail_msg("\"%s\" does not say \"%s\"", pto_ptosim_last.out, part);
}

/* ---- check ---- */

static void test_war_reuse_is_clean_under_exact_rules_and_has_findings_under_pto(void **state) {
  (void)state;
  assert_int_equal(pto_ptosim_run("check war_reuse --case short --quiet"), 0);
  assert_int_equal(pto_ptosim_run("check war_reuse --case short"), 0);
  expect_said("under rules exact, 0 findings");
  assert_int_equal(pto_ptosim_run("check war_reuse --case short --deps pto"), 1);
  expect_said("WAR: task 2 (reader) param 0 reads buffer 1 (x) [0:16]; task 3 (writer) param 0 writes it [0:16]");
  expect_said("no path under rules pto; add `after` task 2 to task 3: `.after = &task_2, .after_count = 1` (and ");
  assert_string_equal(pto_ptosim_last.err, "");
}

static void test_the_attention_programs_and_layers_are_clean_under_either_rules(void **state) {
  (void)state;
  static const char *const programs[] = {"paged_attention",
                                         "paged_attention_manual",
                                         "paged_attention_ringbuffer",
                                         "paged_attention_unroll",
                                         "batch_paged_attention",
                                         "moe",
                                         "spmd_paged_attention",
                                         "sliding_window_attention",
                                         "qwen3_decode",
                                         "qwen3_decode --case manual24",
                                         "deepseek_decode"};
  for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
    assert_int_equal(pto_ptosim_run("check %s --deps exact", programs[i]), 0);
    assert_int_equal(pto_ptosim_run("check %s --deps pto", programs[i]), 0);
    expect_said("under rules pto, 0 findings");
  }
}

/* Of a program that drives contexts of its own. */
static void test_a_sync_and_the_end_of_a_context_order_what_rules_pto_do_not(void **state) {
  (void)state;
  static const struct {
    const char *settings, *found;
  } rows[] = {{"--set sync=true", NULL},
              {"--set contexts=true", NULL},
              {"--set sync=true --set recreate=true", NULL},
              {"--set sync=false",
               "WAR: task 0 (copy) param 0 reads buffer 1 (rewritten) [0:16]; task 1 (copy) param 1 writes"},
              {"--set recreate=true",
               "WAR: task 0 (copy) param 0 reads buffer 1 (rewritten) [0:16]; host access 0 (before task 1) writes"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    for (int threads = 0; threads < 2; threads++) {
      const char *engine = threads ? "threads" : "virtual";
      const char *const format = "check %s/planted/planted_contexts.so --deps %s --engine %s %s";
      assert_int_equal(pto_ptosim_run(format, pto_ptosim_build(), "exact", engine, rows[i].settings), 0);
      assert_int_equal(pto_ptosim_run(format, pto_ptosim_build(), "pto", engine, rows[i].settings),
                       rows[i].found ? 1 : 0);
      expect_said(rows[i].found ? rows[i].found : "under rules pto, 0 findings");
    }
  expect_said("sync the context first");
  assert_int_equal(pto_ptosim_run("check %s/planted/planted_contexts.so --deps pto", pto_ptosim_build()), 1);
  expect_said(" by dispatch 1 and planted_contexts.c:");
  expect_said(" by dispatch 2; no path under rules pto");
}

/* The program has a handle of a launch of recorded tasks, and none of the tasks in it. */
static void test_what_orders_launches_is_given_to_the_launch(void **state) {
  (void)state;
  const char *const format = "%s %s/planted/planted_pto.so --deps pto --case %s%s";
  static const char *const options[] = {"", " --schedules 20"};
  for (int i = 0; i < 2; i++) {
    const char *verb = i ? "explore" : "check";
    assert_int_equal(pto_ptosim_run(format, verb, pto_ptosim_build(), "recorded_reuse", options[i]), 1);
    expect_said("add `after` task 2 to task 3 in the recording");
    assert_int_equal(pto_ptosim_run(format, verb, pto_ptosim_build(), "recorded_again", options[i]), 1);
    expect_said("add `after` task 3 to the launch of the recording, which is task 7");
  }
  assert_int_equal(
      pto_ptosim_run("why %s/planted/planted_pto.so --deps pto --case recorded_again 3 5", pto_ptosim_build()), 0);
  expect_said("; add `after` task 3 to the launch of the recording, which is task 7");
}

/* Taken out, the edge would leave the host without a reason to wait. */
static void test_an_edge_by_which_the_host_waits_is_not_redundant(void **state) {
  (void)state;
  const char *const format = "check %s/planted/planted_pto.so --case manual_reader --set bug=0 --deps %s";
  assert_int_equal(pto_ptosim_run(format, pto_ptosim_build(), "pto"), 0);
  assert_null(strstr(pto_ptosim_last.out, "redundant"));
  assert_int_equal(pto_ptosim_run(format, pto_ptosim_build(), "exact"), 0);
  expect_said("(rules pto need it)");
  assert_null(strstr(strstr(pto_ptosim_last.out, "redundant") + 1, "redundant"));
}

static void test_the_programs_that_drive_contexts_are_clean_under_either_rules(void **state) {
  (void)state;
  static const char *const modes[] = {"host", "pingpong", "inplace"};
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
    assert_int_equal(pto_ptosim_run("check kv_cache --case %s --set steps=8 --deps exact", modes[i]), 0);
    assert_int_equal(pto_ptosim_run("check kv_cache --case %s --set steps=8 --deps pto", modes[i]), 0);
    expect_said("128 tasks");
  }
  assert_int_equal(pto_ptosim_run("why kv_cache 0 100 --set steps=8"), 0);
  expect_said("host access");
}

static void test_json_has_the_counts_and_each_finding_with_tasks_params_and_the_line_to_add(void **state) {
  (void)state;
  assert_int_equal(pto_ptosim_run("check inplace_update --deps pto --json -"), 1);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  assert_string_equal(pto_json_text(root, "program"), "inplace_update");
  assert_string_equal(
      pto_json_text(root, "deps"),
      "pto,creator-edges,manual-enters-nothing,predicate-orders-nothing,host-waits-for-readers,base-address");
  assert_true(json_is_null(json_object_get(root, "case")));
  assert_true(json_is_null(json_object_get(root, "error")));
  assert_int_equal(pto_json_integer(root, "tasks"), 9);
  assert_int_equal(pto_json_integer(root, "exit"), 1);
  assert_true(pto_json_integer(root, "edges") > 0 && pto_json_integer(root, "pairs") > 0);
  json_t *findings = json_object_get(root, "findings");
  assert_int_equal(json_array_size(findings), pto_json_integer(root, "finding_count"));
  json_t *first = json_array_get(findings, 0);
  assert_string_equal(pto_json_text(first, "kind"), "WAR");
  assert_string_equal(pto_json_text(first, "remedy"),
                      "add `after` task 0 to task 1: `.after = &task_0, .after_count = 1`");
  assert_int_equal(json_integer_value(json_array_get(json_object_get(first, "tasks"), 1)), 1);
  assert_int_equal(json_integer_value(json_array_get(json_object_get(first, "params"), 1)), 1);
  assert_string_equal(json_string_value(json_array_get(json_object_get(first, "extents"), 0)), "[0:4096]");
  json_decref(root);
}

static void test_a_run_that_fails_leaves_with_3_and_what_it_had_submitted_is_checked(void **state) {
  (void)state;
  assert_int_equal(pto_ptosim_run("check errors/kernel"), 3);
  expect_said("check: errors/kernel: 2 tasks, 1 edge and 1 pair under");
  expect_said("the run failed; until then nothing was found");
  assert_null(strstr(pto_ptosim_last.out, "0 findings"));
  assert_non_null(strstr(pto_ptosim_last.err, "check_positive failed"));
  assert_int_equal(pto_ptosim_run("check errors/kernel --json -"), 3);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  assert_non_null(strstr(pto_json_text(root, "error"), "check_positive failed"));
  assert_int_equal(pto_json_integer(root, "exit"), 3);
  json_decref(root);
}

static void test_a_run_that_stops_has_its_picture(void **state) {
  static const char *const commands[] = {"check errors/window", "why errors/window 0 1"};
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
    assert_int_equal(pto_ptosim_run("%s", commands[i]), 3);
    assert_non_null(strstr(pto_ptosim_last.err, "  who waits for whom:\n"));
    assert_int_equal(pto_ptosim_run("%s --quiet", commands[i]), 3);
    assert_null(strstr(pto_ptosim_last.err, "who waits"));
  }
}

static void test_an_output_that_is_wrong_is_a_finding_too(void **state) {
  (void)state;
  assert_int_equal(pto_ptosim_run("run bgemm --seed 3 --output c=%s", pto_ptosim_path("c.npy")), 0);
  assert_int_equal(pto_ptosim_run("check bgemm --expect c=%s --seed 4", pto_ptosim_path("c.npy")), 1);
  expect_said("wrong: output c[");
}

static void test_files_of_the_run_are_written_too(void **state) {
  (void)state;
  assert_int_equal(pto_ptosim_run("check bgemm --output c=%s --deps-json %s --quiet", pto_ptosim_path("out.npy"),
                                  pto_ptosim_path("deps.json")),
                   0);
  json_t *root = pto_ptosim_load(pto_ptosim_path("deps.json"));
  assert_int_equal(json_array_size(json_object_get(root, "tasks")), 128);
  json_decref(root);
  char *text = pto_ptosim_read_file(pto_ptosim_path("out.npy"));
  assert_non_null(text);
  free(text);
  pto_ptosim_run("check bgemm --stats");
  pto_ptosim_assert_complaint(2, "--stats is for `ptosim run`");
}

static void test_bad_arguments_leave_with_2_and_a_sentence(void **state) {
  (void)state;
  pto_ptosim_run("check");
  pto_ptosim_assert_complaint(2, "check: which program?");
  pto_ptosim_run("check bgemm moe");
  pto_ptosim_assert_complaint(2, "one program at a time");
  pto_ptosim_run("check nothing_like_it");
  pto_ptosim_assert_complaint(2, "nothing_like_it");
  pto_ptosim_run("check bgemm --deps fuzzy");
  pto_ptosim_assert_complaint(2, "is none of exact, pto");
  pto_ptosim_run("why bgemm 3");
  pto_ptosim_assert_complaint(2, "takes a program and two task numbers");
  pto_ptosim_run("why bgemm 3 next");
  pto_ptosim_assert_complaint(2, "\"next\" is no task number");
  pto_ptosim_run("why bgemm 3 128");
  pto_ptosim_assert_complaint(2, "there is no task 128: the program's are 0 to 127");
  pto_ptosim_run("why bgemm 3 3");
  pto_ptosim_assert_complaint(2, "both are task 3");
}

/* ---- why ---- */

static void test_why_tells_an_edge_with_its_reasons_once_where_the_rules_agree(void **state) {
  (void)state;
  assert_int_equal(pto_ptosim_run("why bgemm 0 1"), 0);
  expect_said("under either rules: an edge");
  expect_said("RAW: param 2 writes buffer 4 [0:128, 0:128]; param 0 reads buffer 4 [0:128, 0:128]\n");
  assert_int_equal(pto_ptosim_run("why bgemm 1 0"), 0); /* the order of the two does not matter */
  expect_said("under either rules: an edge");
}

static void test_why_names_the_rule_that_made_an_edge_or_dropped_it(void **state) {
  (void)state;
  assert_int_equal(pto_ptosim_run("why paged_attention 0 8"), 0);
  expect_said("under rules exact: no edge, but a path");
  expect_said("under rules pto: an edge");
  expect_said("    creator: it allocated buffer ");
  expect_said("rule creator-edges (pto_dep_compute.h)");
  assert_int_equal(pto_ptosim_run("why paged_attention 0 8 --deps pto,reduce-implied"), 0);
  expect_said("under rules pto,reduce-implied: no edge, but a path");
  expect_said("the edge is dropped, which the path implies: rule reduce-implied (pull request 2009)");
}

/* No rule orders a write after a read. */
static void test_no_named_rule_is_blamed_where_none_would_order(void **state) {
  (void)state;
  assert_int_equal(pto_ptosim_run("check %s/planted/planted_manual.so --case war --deps pto", getenv("PTO_BUILD_DIR")),
                   1);
  expect_said(
      "no path under rules pto; add `after` task 0 to task 1: `.after = &task_0, .after_count = 1` [all orders]\n");
}

/* The lines of its lowering are none of who wrote the graph. */
static void test_why_names_the_nodes_of_a_graph(void **state) {
  (void)state;
  assert_int_equal(pto_ptosim_run("why tests/fuzz/corpus/graph_text_fuzz/all_operations.webnn 0 1"), 0);
  expect_said("task 0 (abs), node 0 abs the abs → task 1 (ceil), node 1 ceil the ceil\n");
}

static void test_why_tells_two_tasks_of_a_recording_by_the_rules_that_ordered_it(void **state) {
  (void)state;
  assert_int_equal(pto_ptosim_run("why %s/planted/planted_pto.so 2 3 --case recorded_reuse", getenv("PTO_BUILD_DIR")),
                   0);
  expect_said("under rules exact: an edge\n");
  expect_said("explicit: of the recording, which found it by these rules or was given it as `after`");
  assert_int_equal(
      pto_ptosim_run("why %s/planted/planted_pto.so 2 3 --case recorded_reuse --deps pto", getenv("PTO_BUILD_DIR")), 0);
  expect_said("under rules pto: neither edge nor path");
  expect_said(": rules pto have no edge from a read to a later write\n");
}

static void test_why_tells_a_path_link_by_link_or_what_keeps_the_rules_from_one(void **state) {
  (void)state;
  assert_int_equal(pto_ptosim_run("why war_reuse 1 8 --case short"), 0);
  expect_said("under rules exact: no edge, but a path");
  expect_said("  task 1 (reader) → task 3 (writer)\n    WAR: ");
  expect_said("  task 7 (writer) → task 8 (reader)\n    RAW: ");
  expect_said("under rules pto: neither edge nor path");
  assert_int_equal(pto_ptosim_run("why war_reuse 2 3 --case short --deps pto"), 0);
  expect_said("rules pto have no edge from a read to a later write");
  expect_said("the result depends on which of them comes first; add `after` task 2 to task 3: `.after = &task_2, "
              ".after_count = 1`");
  assert_int_equal(pto_ptosim_run("why war_reuse 0 1 --case short"), 0);
  expect_said("both read");
  expect_said("no byte is the same");
  expect_said("either may come first");
  assert_int_equal(pto_ptosim_run("why scalar_data 2 4 --deps exact"), 0);
  expect_said("task 2 (copy) → host access 2 (before task 3)");
  expect_said("the host goes on when its access is over");
}

static void test_why_has_the_same_as_json(void **state) {
  (void)state;
  assert_int_equal(pto_ptosim_run("why war_reuse 2 3 --case short --json -"), 0);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  json_t *rules = json_object_get(root, "rules");
  assert_int_equal(json_array_size(rules), 2);
  json_t *exact = json_array_get(rules, 0), *pto = json_array_get(rules, 1);
  assert_string_equal(pto_json_text(exact, "deps"), "exact");
  assert_string_equal(pto_json_text(exact, "answer"), "edge");
  json_t *link = json_array_get(json_object_get(exact, "links"), 0);
  assert_int_equal(pto_json_integer(json_object_get(link, "from"), "task"), 2);
  json_t *reason = json_array_get(json_object_get(link, "reasons"), 0);
  assert_string_equal(pto_json_text(reason, "kind"), "WAR");
  assert_string_equal(pto_json_text(json_object_get(reason, "to"), "verb"), "writes");
  assert_string_equal(pto_json_text(pto, "answer"), "none");
  json_t *common = json_array_get(json_object_get(pto, "common"), 0);
  assert_string_equal(pto_json_text(common, "kind"), "WAR");
  assert_string_equal(pto_json_text(common, "conflict"), "WAR");
  json_decref(root);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_war_reuse_is_clean_under_exact_rules_and_has_findings_under_pto),
      cmocka_unit_test(test_the_attention_programs_and_layers_are_clean_under_either_rules),
      cmocka_unit_test(test_a_sync_and_the_end_of_a_context_order_what_rules_pto_do_not),
      cmocka_unit_test(test_what_orders_launches_is_given_to_the_launch),
      cmocka_unit_test(test_the_programs_that_drive_contexts_are_clean_under_either_rules),
      cmocka_unit_test(test_json_has_the_counts_and_each_finding_with_tasks_params_and_the_line_to_add),
      cmocka_unit_test(test_a_run_that_fails_leaves_with_3_and_what_it_had_submitted_is_checked),
      cmocka_unit_test(test_a_run_that_stops_has_its_picture),
      cmocka_unit_test(test_an_output_that_is_wrong_is_a_finding_too),
      cmocka_unit_test(test_files_of_the_run_are_written_too),
      cmocka_unit_test(test_bad_arguments_leave_with_2_and_a_sentence),
      cmocka_unit_test(test_why_tells_an_edge_with_its_reasons_once_where_the_rules_agree),
      cmocka_unit_test(test_why_names_the_rule_that_made_an_edge_or_dropped_it),
      cmocka_unit_test(test_an_edge_by_which_the_host_waits_is_not_redundant),
      cmocka_unit_test(test_no_named_rule_is_blamed_where_none_would_order),
      cmocka_unit_test(test_why_names_the_nodes_of_a_graph),
      cmocka_unit_test(test_why_tells_two_tasks_of_a_recording_by_the_rules_that_ordered_it),
      cmocka_unit_test(test_why_tells_a_path_link_by_link_or_what_keeps_the_rules_from_one),
      cmocka_unit_test(test_why_has_the_same_as_json),
  };
  return cmocka_run_group_tests_name("check", tests, pto_ptosim_setup, pto_ptosim_teardown);
}
