/* SPDX-License-Identifier: MIT */
/* `ptosim explore` from outside: its exit status, what it writes, and that it accuses no program that is right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tests/support/ptosim_child.h>

static void test_no_program_is_accused_under_exact_rules(void **state) {
  uint32_t count = 0;
  assert_int_equal(pto_ptosim_run("list programs"), 0);
  char *list = strdup(pto_ptosim_last.out), *rest = list;
  for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
    line[strcspn(line, " ")] = '\0';
    if (!*line || strncmp(line, "errors/", 7) == 0) continue;
    pto_ptosim_run("explore %s --chip a2a3 --schedules 50 --json -", line);
    if (pto_ptosim_last.exit_code == 2 && strstr(pto_ptosim_last.err, "for several ranks")) continue;
    if (pto_ptosim_last.exit_code != 0) fail_msg("%s: %s%s", line, pto_ptosim_last.out, pto_ptosim_last.err);
    json_t *report = pto_ptosim_parse(pto_ptosim_last.out);
    assert_int_equal(pto_json_integer(report, "schedules"), 50);
    assert_int_equal(pto_json_integer(report, "differing"), 0);
    assert_int_equal(pto_json_integer(report, "finding_count"), 0);
    json_decref(report);
    count++;
  }
  free(list);
  print_message("%u programs, 50 schedules each\n", count);
  assert_true(count >= 20);
}

static void test_a_write_after_read_is_found_under_pto_and_shrunk_to_one_inversion(void **state) {
  assert_int_equal(pto_ptosim_run("explore war_reuse --case short --deps pto --schedules 5 --json -"), 1);
  json_t *report = pto_ptosim_parse(pto_ptosim_last.out);
  json_t *difference = json_array_get(json_object_get(report, "differences"), 0);
  json_t *finding = json_array_get(json_object_get(report, "findings"), 0);
  assert_int_equal(json_array_size(json_object_get(difference, "holds")), 1);
  assert_string_equal(pto_json_text(finding, "kind"), "order");
  assert_non_null(strstr(pto_json_text(finding, "sentence"), "(writer) ran before task"));
  assert_non_null(strstr(pto_json_text(finding, "sentence"), "; submitted at "));
  assert_non_null(strstr(pto_json_text(finding, "sentence"), "no edge between them; both touch buffer"));
  assert_non_null(strstr(pto_json_text(finding, "remedy"), "add `after` task"));
  const json_int_t earlier = json_integer_value(json_array_get(json_object_get(finding, "tasks"), 0));
  const json_int_t later = json_integer_value(json_array_get(json_object_get(finding, "tasks"), 1));
  assert_true(later - earlier <= 3); /* a reader of the round, and its writer */
  json_decref(report);
}

static void test_a_difference_is_saved_and_made_again(void **state) {
  const char *path = pto_ptosim_path("order.txt");
  assert_int_equal(pto_ptosim_run("explore war_reuse --case short --deps pto --replay delay:6 --save %s", path), 1);
  assert_non_null(strstr(pto_ptosim_last.out, "schedule delay:6: output seen[5,0]: 2 instead of 1"));
  char *saved = pto_ptosim_read_file(path);
  assert_non_null(strstr(saved, "\nhold 6.0.1.0 until 7.0.1.0\n"));
  free(saved);
  assert_int_equal(pto_ptosim_run("explore war_reuse --case short --deps pto --replay %s", path), 1);
  assert_non_null(strstr(pto_ptosim_last.out, "schedule file: output seen[5,0]: 2 instead of 1"));
  assert_int_equal(pto_ptosim_run("explore war_reuse --case short --replay %s", path),
                   0); /* exact rules have the edge */
}

static void test_all_orders_say_whether_they_are_all(void **state) {
  assert_int_equal(pto_ptosim_run("explore paged_attention --all"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "65 of 65 orders, all"));
  assert_int_equal(pto_ptosim_run("explore paged_attention --all --schedules 10"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "; 10 of at least "));
  assert_int_equal(pto_ptosim_run("explore inplace_update --deps pto --all --json -"), 1);
  json_t *report = pto_ptosim_parse(pto_ptosim_last.out), *all = json_object_get(report, "all");
  assert_int_equal(pto_json_integer(all, "orders"), 945);
  assert_true(json_is_true(json_object_get(all, "is_complete")));
  json_decref(report);
}

/* A tensor is read by one dispatch and written by the next, which rules pto do not order. */
static void explore_contexts(int exit_code, const char *words) {
  const char *const format = "explore %s/planted/planted_contexts.so --set output=true %s";
  pto_ptosim_run(format, pto_ptosim_build(), words);
  if (pto_ptosim_last.exit_code != exit_code)
    fail_msg("%s: exit %d: %s%s", words, pto_ptosim_last.exit_code, pto_ptosim_last.out, pto_ptosim_last.err);
}

static void test_orders_of_a_contexts_tasks_are_explored(void **state) {
  static const char found[] = "output seen[0]: 0 instead of 1; shrunk from 3 decisions to 1: task 1 (copy) ran before "
                              "task 0 (copy); submitted at planted_contexts.c:";
  explore_contexts(1, "--deps pto --schedules 5");
  assert_non_null(strstr(pto_ptosim_last.out, found));
  assert_non_null(strstr(pto_ptosim_last.out, "sync the context between the two dispatches, or bind another tensor"));
  explore_contexts(1, "--deps pto --schedules 5 --set peek=true"); /* the read in between waits for no task */
  assert_non_null(strstr(pto_ptosim_last.out, found));
  explore_contexts(1, "--deps pto --schedules 5 --set write=true");
  assert_non_null(strstr(pto_ptosim_last.out, "task 1 (copy) ran after host access 1 of the orchestration"));
  assert_non_null(strstr(pto_ptosim_last.out, "; let the orchestration first read an element that task 1 writes, "
                                              "`pto_read_element(rt, &t, index, &value)`, or"));
  assert_non_null(strstr(pto_ptosim_last.out, "5 schedules, 1 distinct order, 35 decisions, 3 differ"));
  explore_contexts(1, "--deps pto --all");
  assert_non_null(strstr(pto_ptosim_last.out, "2 of 2 orders, all ("));
  explore_contexts(0, "--all");
  assert_non_null(strstr(pto_ptosim_last.out, "1 of 1 orders, all ("));
  explore_contexts(0, "--deps pto --all --set sync=true");
  assert_non_null(strstr(pto_ptosim_last.out, "1 of 1 orders, all"));
}

static void test_cores_that_race_are_told_as_cores(void **state) {
  (void)state;
  assert_int_equal(pto_ptosim_run("explore %s/planted/planted_pipeline.so --case slot_given_early --schedules 60",
                                  getenv("PTO_BUILD_DIR")),
                   1);
  assert_non_null(strstr(pto_ptosim_last.out, "nothing orders these cores there"));
  assert_non_null(strstr(pto_ptosim_last.out, "; `ptosim check --observe` says whether anything orders these cores"));
  assert_null(strstr(pto_ptosim_last.out, "memory by itself"));
}

/* Blocks that wait for each other are cores as those of one block; those that add up have their turns. */
static void test_blocks_that_wait_are_told_as_cores(void **state) {
  (void)state;
  const char *const format = "explore %s/planted/planted_cores.so --case %s --schedules 12";
  assert_int_equal(pto_ptosim_run(format, pto_ptosim_build(), "stencil"), 1);
  assert_non_null(strstr(pto_ptosim_last.out, " of AIV0 of block 1 "));
  assert_non_null(
      strstr(pto_ptosim_last.out, "; order these cores with `pto_core_signal` and `pto_core_wait`, or with"));
  assert_null(strstr(pto_ptosim_last.out, "PTO_ACCUMULATE"));
  assert_int_equal(pto_ptosim_run(format, pto_ptosim_build(), "next_block"), 1); /* which calls nothing of pto/core.h */
  assert_non_null(
      strstr(pto_ptosim_last.out, "; order these cores with `pto_core_signal` and `pto_core_wait`, or with"));
  assert_null(strstr(pto_ptosim_last.out, "PTO_ACCUMULATE"));
  assert_int_equal(pto_ptosim_run(format, pto_ptosim_build(), "early_look"), 1);
  assert_non_null(strstr(pto_ptosim_last.out, "; before their turns nothing orders blocks; "));
  assert_non_null(strstr(pto_ptosim_last.out, "; let each block call `pto_core_turn(args)` before it touches what"));
}

/* By pointers: the reference is the sequential run, in which a task runs within its submit. */
static void expect_by_itself(const char *name, const char *difference, const char *when) {
  const char *path = pto_ptosim_path("by_itself.txt");
  const char *const format = "explore %s/planted/planted_blocks.so --case %s --schedules 12 --save %s";
  assert_int_equal(pto_ptosim_run(format, pto_ptosim_build(), name, path), 1);
  assert_non_null(strstr(pto_ptosim_last.out, difference));
  assert_non_null(strstr(pto_ptosim_last.out, when));
  assert_non_null(strstr(pto_ptosim_last.out, "the orchestration changes, frees or reads memory by itself, without"));
  const char *const again = "explore %s/planted/planted_blocks.so --case %s --replay %s";
  assert_int_equal(pto_ptosim_run(again, pto_ptosim_build(), name, path), 1);
  assert_non_null(strstr(pto_ptosim_last.out, difference));
}
static void test_what_the_host_does_by_pointers_behind_a_submit_is_found(void **state) {
  (void)state;
  expect_by_itself("peek_behind", "output z[1]: 9 instead of 5", "task 0 (fill) ran after task 1 was submitted, and");
  expect_by_itself("peek_last", "output z[1]: 9 instead of 5",
                   "task 0 (fill) ran after task 0 was submitted and the orchestration had gone on from there, and");
  expect_by_itself("filled_again", "output z[0]: ", "task 0 (digest) ran after task 1 was submitted, and");
}

static void test_a_difference_in_a_context_is_saved_and_made_again(void **state) {
  char words[4200];
  const char *path = pto_ptosim_path("contexts.txt");
  snprintf(words, sizeof words, "--deps pto --replay hurry:1 --save %.4000s", path);
  explore_contexts(1, words);
  char *saved = pto_ptosim_read_file(path);
  assert_non_null(strstr(saved, "\nhold 0.0.1.0 until 1.0.1.0\n"));
  free(saved);
  snprintf(words, sizeof words, "--deps pto --replay %.4000s", path);
  explore_contexts(1, words);
  assert_non_null(strstr(pto_ptosim_last.out, "schedule file: output seen[0]: 0 instead of 1"));
  snprintf(words, sizeof words, "--replay %.4000s", path);
  explore_contexts(0, words); /* exact rules have the edge */
}

static void test_contexts_are_numbered_on_and_one_beside_another_is_told(void **state) {
  explore_contexts(0, "--deps pto --all --set contexts=true --json -");
  json_t *report = pto_ptosim_parse(pto_ptosim_last.out);
  assert_int_equal(pto_json_integer(report, "contexts"), 2);
  assert_int_equal(pto_json_integer(report, "tasks"), 2);
  assert_int_equal(pto_json_integer(json_object_get(report, "all"), "orders"),
                   1); /* the first ends before the second */
  json_decref(report);
  explore_contexts(0, "--schedules 5 --set both=true --set output=false");
  assert_non_null(strstr(pto_ptosim_last.out, ": 1 task, 1 call; "));
  assert_non_null(strstr(pto_ptosim_last.out,
                         "\n  not judged: 1 context (made while another one lived, or with an engine of their own); "));
  assert_non_null(strstr(pto_ptosim_last.out, "declares no output, so nothing was compared but how a run ends"));
  explore_contexts(0, "--engine threads --schedules 3 --set both=true");
  assert_non_null(strstr(pto_ptosim_last.out, "3 runs on threads with delays, 0 differ"));
  assert_null(strstr(pto_ptosim_last.out, "not judged: 1 context"));
}

static void test_threads_with_delays_agree_with_the_sequential_run(void **state) {
  static const char *const programs[] = {"vector_example", "bgemm", "mixed_example", "spmd_barrier --chip a2a3",
                                         "split_k"};
  for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
    pto_ptosim_run("explore %s --engine threads --schedules 10", programs[i]);
    if (pto_ptosim_last.exit_code != 0) fail_msg("%s: %s%s", programs[i], pto_ptosim_last.out, pto_ptosim_last.err);
    assert_non_null(strstr(pto_ptosim_last.out, "10 runs on threads with delays, 0 differ"));
  }
}

static void test_a_reference_that_fails_is_exit_3_and_bad_arguments_are_exit_2(void **state) {
  pto_ptosim_run("explore errors/kernel");
  pto_ptosim_assert_complaint(3, "element 11 is -3, not positive");
  pto_ptosim_run("explore errors/deadlock");
  pto_ptosim_assert_complaint(3, "cores wait for ever");
  pto_ptosim_run("explore");
  pto_ptosim_assert_complaint(2, "one program, please");
  pto_ptosim_run("explore vector_example --engine virtual");
  pto_ptosim_assert_complaint(2, "--engine \"virtual\"");
  pto_ptosim_run("explore vector_example --all --replay 3");
  pto_ptosim_assert_complaint(2, "one of --engine threads, --all and --replay at a time");
  pto_ptosim_run("explore vector_example --trace t.json");
  pto_ptosim_assert_complaint(2, "--trace is for one run");
  pto_ptosim_run("explore vector_example --schedules 0");
  pto_ptosim_assert_complaint(2, "is no number from 1 to");
  pto_ptosim_run("explore vector_example --replay no/such/file");
  pto_ptosim_assert_complaint(2, "is no schedule and no file that can be read");
  pto_ptosim_run("explore vector_example --save no/such/folder/file");
  pto_ptosim_assert_complaint(2, "no/such/folder/file");
  pto_ptosim_run("explore vector_example --replay delay:99");
  pto_ptosim_assert_complaint(2, "delay:99: there is no task 99: the run has ");
  pto_ptosim_run("explore vector_example --replay hurry:99");
  pto_ptosim_assert_complaint(2, "hurry:99: there is no task 99: the run has ");
  pto_ptosim_run("explore task_bench --all");
  pto_ptosim_assert_complaint(2, "--all is for up to 4096 tasks");
}

static void write_file(const char *path, const char *text) {
  FILE *stream = fopen(path, "w");
  assert_non_null(stream);
  fputs(text, stream);
  assert_int_equal(fclose(stream), 0);
}

static void test_a_replay_of_what_is_no_schedule_of_the_program_is_exit_2(void **state) {
  static const struct {
    const char *text, *complaint;
  } bad[] = {{"hold 4611686018427387903.0.0.0 until 1.0.0.0\n", "a hold names task 4611686018427387903, and this run"},
             {"hold 18446744073709551615.0.0.0 until 1+0\n", "a hold names task 18446744073709551615, and this run"},
             {"hold 1.0.1.0 until 5.0.1.0\n", "a hold names task 5, and this run has 5"},
             {"", "it has no line \"hold"},
             {"# a comment\n", "it has no line \"hold"}};
  const char *path = pto_ptosim_path("bad.txt");
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    write_file(path, bad[i].text);
    pto_ptosim_run("explore vector_example --replay %s", path);
    pto_ptosim_assert_complaint(2, bad[i].complaint);
  }
  write_file(path, "hold 1.0.1.0 until 4.0.1.0\n"); /* never, for 4 needs 1: it gives way */
  assert_int_equal(pto_ptosim_run("explore vector_example --replay %s", path), 0);
  pto_ptosim_run("explore vector_example --replay .");
  pto_ptosim_assert_complaint(
      2, "explore: --replay: \".\" is no schedule and no file that can be read: .: Is a directory");
}

static void test_a_sequential_run_that_is_wrong_is_a_finding(void **state) {
  assert_int_equal(pto_ptosim_run("explore bgemm --set task_num=4 --rtol 0 --atol 0 --schedules 4"), 1);
  assert_non_null(strstr(pto_ptosim_last.out, "wrong: the sequential run already: output c["));
  assert_non_null(strstr(pto_ptosim_last.out, ", 0 differ"));
}

static void test_help_names_the_schedules(void **state) {
  assert_int_equal(pto_ptosim_run("explore --help"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "delay "));
  assert_non_null(strstr(pto_ptosim_last.out, "--replay NAME|FILE"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_program_is_accused_under_exact_rules),
      cmocka_unit_test(test_a_write_after_read_is_found_under_pto_and_shrunk_to_one_inversion),
      cmocka_unit_test(test_a_difference_is_saved_and_made_again),
      cmocka_unit_test(test_all_orders_say_whether_they_are_all),
      cmocka_unit_test(test_orders_of_a_contexts_tasks_are_explored),
      cmocka_unit_test(test_cores_that_race_are_told_as_cores),
      cmocka_unit_test(test_blocks_that_wait_are_told_as_cores),
      cmocka_unit_test(test_what_the_host_does_by_pointers_behind_a_submit_is_found),
      cmocka_unit_test(test_a_difference_in_a_context_is_saved_and_made_again),
      cmocka_unit_test(test_contexts_are_numbered_on_and_one_beside_another_is_told),
      cmocka_unit_test(test_threads_with_delays_agree_with_the_sequential_run),
      cmocka_unit_test(test_a_reference_that_fails_is_exit_3_and_bad_arguments_are_exit_2),
      cmocka_unit_test(test_a_replay_of_what_is_no_schedule_of_the_program_is_exit_2),
      cmocka_unit_test(test_a_sequential_run_that_is_wrong_is_a_finding),
      cmocka_unit_test(test_help_names_the_schedules),
  };
  return cmocka_run_group_tests_name("cli_explore", tests, pto_ptosim_setup, pto_ptosim_teardown);
}
