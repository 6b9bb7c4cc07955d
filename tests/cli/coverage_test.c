/* SPDX-License-Identifier: MIT */
/*
 * What check, check --observe and explore say that they have judged, and what not: of programs whose numbers of tasks,
 * parameters, calls and reads their sources give.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tests/support/ptosim_child.h>

#define SOME UINT64_MAX /* not judged, and it is not known how many */

struct row {
  const char *key;
  uint64_t judged, not_judged;
  const char *command;
};

static json_t *row_of(const struct row *row) {
  json_t *left = row->not_judged == SOME ? json_null() : json_integer((json_int_t)row->not_judged);
  return json_pack("{s:I,s:o,s:s?}", "judged", (json_int_t)row->judged, "not_judged", left, "command", row->command);
}

/* Exactly these rows, up to one without a key. */
static void expect(int exit_code, const char *words, const struct row *rows) {
  char planted[512] = "";
  const char *at = strstr(words, "planted_");
  snprintf(planted, sizeof planted, "%.*s%s%s%s --json -", at ? (int)(at - words) : (int)strlen(words), words,
           at ? pto_ptosim_build() : "", at ? "/planted/" : "", at ? at : "");
  assert_int_equal(pto_ptosim_run("%s", planted), exit_code);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *expected = json_object();
  for (; rows->key; rows++) assert_int_equal(json_object_set_new(expected, rows->key, row_of(rows)), 0);
  json_t *coverage = json_object_get(root, "coverage");
  if (!json_equal(coverage, expected)) {
    char *is = json_dumps(coverage, JSON_ENCODE_ANY), *should = json_dumps(expected, 0);
    fail_msg("%s: %s, and not %s", words, is, should);
  }
  json_decref(expected);
  json_decref(root);
}
#define EXPECT(exit_code, words, ...) expect(exit_code, words, (const struct row[]){__VA_ARGS__, {0}})

/* Five tasks of 3, 2, 2, 3 and 3 tensors. */
static void test_check_counts_what_tasks_declare_and_leaves_what_kernels_touch(void **state) {
  EXPECT(0, "check vector_example", {"accesses", 13, 0, NULL}, {"touched_by_tasks", 0, 5, "check --observe"});
  assert_int_equal(pto_ptosim_run("check vector_example"), 0);
  assert_non_null(strstr(pto_ptosim_last.out,
                         " s\n  judged: 13 accesses that tasks declare\n  not judged: what 5 tasks "
                         "touch beside what they declare (check --observe)\n"));
}

/* Two fills that hold x, a barrier, and a task that reads x and writes z. */
static void test_check_leaves_what_tasks_hold(void **state) {
  EXPECT(0, "check planted_held.so --case written_twice", {"accesses", 2, 0, NULL},
         {"touched_by_tasks", 0, 3, "check --observe"}, {"held_params", 0, 2, "explore"});
}

static void test_observe_leaves_what_tasks_hold_and_seeds_where_they_are_used(void **state) {
  if (!pto_ptosim_reports_faults) skip();
  EXPECT(0, "check --observe planted_held.so --case written_twice --set bug=0", {"calls", 3, 0, NULL},
         {"held_params", 0, 2, "explore"}, {"task_order", 0, 4, "check"}, {"seeds", 1, SOME, "--seed N"});
}

/* The buggy one passes an address for the tensor that its clean twin passes. */
static void test_check_leaves_addresses_in_scalars(void **state) {
  EXPECT(0, "check planted_kernels.so --case undeclared", {"accesses", 1, 0, NULL},
         {"touched_by_tasks", 0, 1, "check --observe"}, {"addresses", 0, 1, "check --observe"});
  EXPECT(0, "check planted_kernels.so --case undeclared --set bug=0", {"accesses", 2, 0, NULL},
         {"touched_by_tasks", 0, 1, "check --observe"});
}

/* One task of a MIX of three kernels, of x and z. */
static void test_the_order_between_cores_is_left_by_check_and_judged_by_observe(void **state) {
  EXPECT(0, "check planted_cores.so --case no_answer", {"accesses", 2, 0, NULL},
         {"touched_by_tasks", 0, 1, "check --observe"}, {"waiting_tasks", 0, 1, "check --observe"});
  if (!pto_ptosim_reports_faults) skip(); /* a sanitizer's build compares nothing */
  EXPECT(1, "check --observe planted_cores.so --case no_answer", {"calls", 1, 0, NULL}, {"waiting_calls", 1, 0, NULL},
         {"task_order", 0, 1, "check"}, {"seeds", 1, SOME, "--seed N"});
  EXPECT(0, "check --observe planted_cores.so --case early_ready --set bug=0", {"calls", 1, 0, NULL},
         {"waiting_calls", 1, 0, NULL}, {"polls", 0, 1, NULL}, {"task_order", 0, 1, "check"},
         {"seeds", 1, SOME, "--seed N"});
}

/* Each of 4 steps moves two rows to the device and the output from it, and has 4 tasks for each of 4 heads, of 13
 * tensors together.  The pass that checks makes a context of its own, which the program does not report. */
static void test_moves_of_the_host_and_contexts_are_counted(void **state) {
  EXPECT(0, "check kv_cache --set steps=4", {"accesses", 208, 0, NULL}, {"host_reads", 4, 0, NULL},
         {"host_writes", 8, 0, NULL}, {"touched_by_tasks", 0, 64, "check --observe"}, {"contexts", 1, 1, "explore"},
         {"borrowed_by_dispatches", 0, 4, "explore"}, {"seeds", 1, SOME, "--seed N"});
  EXPECT(0, "check planted_contexts.so --set contexts=true", {"accesses", 4, 0, NULL},
         {"touched_by_tasks", 0, 2, "check --observe"}, {"contexts", 2, 0, NULL},
         {"borrowed_by_dispatches", 0, 2, "explore"});
  EXPECT(0, "explore planted_contexts.so --schedules 5 --set both=true", {"contexts", 1, 1, NULL},
         {"borrowed_by_dispatches", 0, 2, NULL}, {"orders", 1, SOME, "explore --all"});
  EXPECT(0, "explore planted_contexts.so --schedules 5 --set output=true", {"contexts", 1, 0, NULL},
         {"borrowed_by_dispatches", 2, 0, NULL}, {"orders", 1, SOME, "explore --all"}, {"outputs", 1, 0, NULL});
}

static void test_observe_tells_the_calls_that_it_was_not_to_look_at(void **state) {
  if (!pto_ptosim_reports_faults) { /* a sanitizer looks instead, and nothing is compared */
    EXPECT(0, "check --observe vector_example", {"calls", 0, SOME, "check --observe, without that tool"},
           {"task_order", 0, 5, "check"});
    return;
  }
  EXPECT(0, "check --observe war_reuse --case short --observe-tasks 3-7", {"calls", 5, 0, NULL},
         {"task_order", 0, 200, "check"}, {"calls_left_out", 0, 195, "check --observe"});
}

static void test_explore_tells_the_orders_and_whether_there_are_more(void **state) {
  EXPECT(0, "explore paged_attention --all", {"orders", 65, 0, NULL}, {"outputs", 1, 0, NULL},
         {"external_buffers", 0, 4, NULL}, {"calls", 0, 12, "check --observe"}, {"seeds", 1, SOME, "--seed N"});
  EXPECT(0, "explore paged_attention --all --schedules 10", {"orders", 10, SOME, "explore --all --schedules N"},
         {"outputs", 1, 0, NULL}, {"external_buffers", 0, 4, NULL}, {"calls", 0, 12, "check --observe"},
         {"seeds", 1, SOME, "--seed N"});
  EXPECT(0, "explore vector_example --replay newest", {"orders", 2, SOME, "explore --all"}, {"outputs", 1, 0, NULL});
  EXPECT(0, "explore vector_example --engine threads --schedules 3", {"runs", 3, 0, NULL},
         {"orders", 0, SOME, "explore --all"}, {"outputs", 1, 0, NULL});
}

static void test_ranks_have_the_sum_and_nothing_is_known_of_a_run_that_does_not_begin(void **state) {
  EXPECT(0, "check all_reduce --ranks 3", {"accesses", 9, 0, NULL}, {"touched_by_tasks", 0, 3, NULL},
         {"tasks_between_waits", 0, 3, "explore"});
  EXPECT(0, "check planted_windows.so --case set_for_add --set bug=0", {"accesses", 14, 0, NULL},
         {"touched_by_tasks", 0, 7, "check --observe"}, {"tasks_between_waits", 0, 4, "explore"});
  EXPECT(0, "explore all_reduce --ranks 3 --schedules 3", {"runs", 3, 0, NULL}, {"orders", 0, SOME, NULL},
         {"seeds", 1, SOME, "--seed N"});
  pto_ptosim_run("check bgemm --set x=1 --observe --json -");
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  assert_true(json_is_null(json_object_get(root, "coverage")));
  json_decref(root);
}

/* Rank 0 has a gather and 3 digests, each other one a task that gives. */
static void test_calls_that_talk_to_other_ranks_are_left_by_observe(void **state) {
  if (!pto_ptosim_reports_faults) skip();
  EXPECT(0, "check --observe planted_windows.so --case set_for_add --set bug=0", {"calls", 3, 0, NULL},
         {"remote_calls", 0, 4, "check"}, {"task_order", 0, 7, "check"}, {"seeds", 1, SOME, "--seed N"});
  assert_int_equal(pto_ptosim_run("check --observe all_reduce --ranks 3 --no-compute"), 2);
  assert_non_null(strstr(pto_ptosim_last.err, "it compares what kernels touch, and then none is run"));
  assert_int_equal(pto_ptosim_run("check --observe all_reduce --ranks 3 --observe-tasks 0-1"), 2);
  assert_non_null(strstr(pto_ptosim_last.err, "there is no task 1: no rank has more than 1"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_check_counts_what_tasks_declare_and_leaves_what_kernels_touch),
      cmocka_unit_test(test_check_leaves_what_tasks_hold),
      cmocka_unit_test(test_observe_leaves_what_tasks_hold_and_seeds_where_they_are_used),
      cmocka_unit_test(test_check_leaves_addresses_in_scalars),
      cmocka_unit_test(test_the_order_between_cores_is_left_by_check_and_judged_by_observe),
      cmocka_unit_test(test_moves_of_the_host_and_contexts_are_counted),
      cmocka_unit_test(test_observe_tells_the_calls_that_it_was_not_to_look_at),
      cmocka_unit_test(test_explore_tells_the_orders_and_whether_there_are_more),
      cmocka_unit_test(test_calls_that_talk_to_other_ranks_are_left_by_observe),
      cmocka_unit_test(test_ranks_have_the_sum_and_nothing_is_known_of_a_run_that_does_not_begin),
  };
  return cmocka_run_group_tests_name("cli_coverage", tests, pto_ptosim_setup, pto_ptosim_teardown);
}
