/* SPDX-License-Identifier: MIT */
/*
 * What verbs say that they have judged, and what not: of programs whose numbers of tasks, parameters, calls and reads
 * their sources give.
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

/* Of the commands that are named: each is run in the end. */
static json_t *commands;

/* The command of a row without the program, "check --observe"; NULL where it does not name the program. */
static json_t *short_command(const char *command, const char *program, const char *expected) {
  const size_t verb = expected ? strcspn(expected, " ") : 0, length = strlen(command);
  if (!expected) return json_string(command);
  const char *options = expected + verb;
  if (strncmp(command, "ptosim ", 7) != 0 || strncmp(command + 7, expected, verb) != 0 || !strstr(command, program) ||
      length < strlen(options) || strcmp(command + length - strlen(options), options) != 0)
    return json_string(command);
  return json_string(expected);
}

/* A row that says why nothing judges it, in place of that: whether there has to be a reason. */
static void take_reason(const char *words, json_t *row) {
  json_t *left = json_object_get(row, "not_judged");
  const bool is_left = json_is_null(left) || json_integer_value(left) > 0;
  const bool has_command = json_is_string(json_object_get(row, "command"));
  if (json_is_string(json_object_get(row, "reason")) != (is_left && !has_command)) {
    char *text = json_dumps(row, 0);
    fail_msg("%s: %s", words, text);
  }
  json_object_del(row, "reason");
}

static json_t *row_of(const struct row *row) {
  json_t *left = row->not_judged == SOME ? json_null() : json_integer((json_int_t)row->not_judged);
  return json_pack("{s:I,s:o,s:s?}", "judged", (json_int_t)row->judged, "not_judged", left, "command", row->command);
}

static const char *program_of(const char *words) {
  static char program[64];
  const char *begin = strchr(words, ' ') + 1;
  if (strncmp(begin, "--observe ", 10) == 0) begin += 10;
  snprintf(program, sizeof program, "%.*s", (int)strcspn(begin, " "), begin);
  return program;
}

static void take_commands(const char *words, json_t *coverage, const struct row *rows) {
  const char *key;
  json_t *row;
  json_object_foreach(coverage, key, row) {
    json_t *command = json_object_get(row, "command");
    const struct row *expected = rows;
    take_reason(words, row);
    while (expected->key && strcmp(expected->key, key) != 0) expected++;
    if (!json_is_string(command)) continue;
    json_object_set(commands, json_string_value(command), json_true());
    json_object_set_new(
        row, "command",
        short_command(json_string_value(command), program_of(words), expected->key ? expected->command : NULL));
  }
}

/* Exactly these rows, up to one without a key. */
static void expect_rows(const char *words, json_t *coverage, const struct row *rows) {
  json_t *expected = json_object();
  take_commands(words, coverage, rows);
  for (; rows->key; rows++) assert_int_equal(json_object_set_new(expected, rows->key, row_of(rows)), 0);
  if (!json_equal(coverage, expected)) {
    char *is = json_dumps(coverage, JSON_ENCODE_ANY), *should = json_dumps(expected, 0);
    fail_msg("%s: %s, and not %s", words, is, should);
  }
  json_decref(expected);
}

static void expect(int exit_code, const char *words, const struct row *rows) {
  char planted[512] = "";
  const char *at = strstr(words, "planted_");
  snprintf(planted, sizeof planted, "%.*s%s%s%s --json -", at ? (int)(at - words) : (int)strlen(words), words,
           at ? pto_ptosim_build() : "", at ? "/planted/" : "", at ? at : "");
  assert_int_equal(pto_ptosim_run("%s", planted), exit_code);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  expect_rows(words, json_object_get(root, "coverage"), rows);
  json_decref(root);
}
#define EXPECT(exit_code, words, ...) expect(exit_code, words, (const struct row[]){__VA_ARGS__, {0}})

/* Five tasks of 3, 2, 2, 3 and 3 tensors. */
static void test_check_counts_what_tasks_declare_and_leaves_what_kernels_touch(void **state) {
  EXPECT(0, "check vector_example", {"accesses", 13, 0, NULL}, {"touched_by_tasks", 0, 5, "check --observe"});
  assert_int_equal(pto_ptosim_run("check vector_example"), 0);
  assert_non_null(strstr(pto_ptosim_last.out,
                         " s\n  judged: 13 accesses that tasks declare\n  not judged: what 5 tasks "
                         "touch beside what they declare (ptosim check vector_example --observe)\n"));
}

/* Two fills that hold x, a barrier, and a task that reads x and writes z. */
static void test_check_leaves_what_tasks_hold(void **state) {
  EXPECT(0, "check planted_held.so --case written_twice", {"accesses", 2, 0, NULL},
         {"touched_by_tasks", 0, 3, "check --observe"}, {"held_params", 0, 2, "explore"});
}

static void test_observe_leaves_what_tasks_hold_and_seeds_where_they_are_used(void **state) {
  if (!pto_ptosim_reports_faults) skip();
  EXPECT(0, "check --observe planted_held.so --case written_twice --set bug=0", {"calls", 3, 0, NULL},
         {"held_params", 0, 2, "explore"}, {"task_order", 0, 4, "check"},
         {"seeds", 1, SOME, "check --observe --seed N"});
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
         {"task_order", 0, 1, "check"}, {"seeds", 1, SOME, "check --observe --seed N"});
  EXPECT(0, "check --observe planted_cores.so --case early_ready --set bug=0", {"calls", 1, 0, NULL},
         {"waiting_calls", 1, 0, NULL}, {"polls", 0, 1, NULL}, {"task_order", 0, 1, "check"},
         {"seeds", 1, SOME, "check --observe --seed N"});
}

/* Each of 4 steps moves two rows to the device and the output from it, and has 4 tasks for each of 4 heads, of 13
 * tensors together.  The pass that checks makes a context of its own, which the program does not report. */
static void test_moves_of_the_host_and_contexts_are_counted(void **state) {
  EXPECT(0, "check kv_cache --set steps=4", {"accesses", 208, 0, NULL}, {"host_reads", 4, 0, NULL},
         {"host_writes", 8, 0, NULL}, {"touched_by_tasks", 0, 64, "check --observe"}, {"contexts", 1, 1, "explore"},
         {"borrowed_by_dispatches", 0, 4, "explore"}, {"seeds", 1, SOME, "check --seed N"});
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
    EXPECT(0, "check --observe vector_example", {"calls", 0, SOME, NULL}, {"task_order", 0, 5, "check"});
    return;
  }
  EXPECT(0, "check --observe war_reuse --case short --observe-tasks 3-7", {"calls", 5, 0, NULL},
         {"task_order", 0, 200, "check"}, {"calls_left_out", 0, 195, "check --observe"});
}

static void test_explore_tells_the_orders_and_whether_there_are_more(void **state) {
  EXPECT(0, "explore paged_attention --all", {"orders", 65, 0, NULL}, {"outputs", 1, 0, NULL},
         {"external_buffers", 0, 4, NULL}, {"calls", 0, 12, "check --observe"}, {"seeds", 1, SOME, "explore --seed N"});
  EXPECT(0, "explore paged_attention --all --schedules 10", {"orders", 10, SOME, "explore --all --schedules N"},
         {"outputs", 1, 0, NULL}, {"external_buffers", 0, 4, NULL}, {"calls", 0, 12, "check --observe"},
         {"seeds", 1, SOME, "explore --seed N"});
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
         {"seeds", 1, SOME, "explore --seed N"});
  pto_ptosim_run("check bgemm --set x=1 --observe --json -");
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  assert_true(json_is_null(json_object_get(root, "coverage")));
  json_decref(root);
}

/* Rank 0 has a gather and 3 digests, each other one a task that gives. */
static void test_calls_that_talk_to_other_ranks_are_left_by_observe(void **state) {
  if (!pto_ptosim_reports_faults) skip();
  EXPECT(0, "check --observe planted_windows.so --case set_for_add --set bug=0", {"calls", 3, 0, NULL},
         {"remote_calls", 0, 4, "check"}, {"task_order", 0, 7, "check"},
         {"seeds", 1, SOME, "check --observe --seed N"});
  assert_int_equal(pto_ptosim_run("check --observe all_reduce --ranks 3 --no-compute"), 2);
  assert_non_null(strstr(pto_ptosim_last.err, "it compares what kernels touch, and then none is run"));
  assert_int_equal(pto_ptosim_run("check --observe all_reduce --ranks 3 --observe-tasks 0-1"), 2);
  assert_non_null(strstr(pto_ptosim_last.err, "there is no task 1: no rank has more than 1"));
}

/* ---- other verbs ---- */

/* Task 2 reads x and writes a row, task 3 writes x. */
static void test_why_tells_what_the_two_tasks_declare(void **state) {
  EXPECT(0, "why war_reuse 2 3 --case short", {"accesses", 3, 0, NULL}, {"touched_by_tasks", 0, 2, "check --observe"});
  EXPECT(0, "why all_reduce 0.0 1.0 --ranks 3", {"accesses", 6, 0, NULL}, {"touched_by_tasks", 0, 2, NULL},
         {"tasks_between_waits", 0, 2, "explore"});
  EXPECT(0, "why all_reduce 1.0 0.0 --ranks 3", {"accesses", 6, 0, NULL}, {"touched_by_tasks", 0, 2, NULL},
         {"tasks_between_waits", 0, 2, "explore"});
  assert_int_equal(pto_ptosim_run("why war_reuse 2 3 --case short"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "(ptosim check war_reuse --case short --observe)\n"));
}

static void expect_of(const char *words, const char *name, const struct row *rows) {
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  json_t *coverage =
      name ? json_object_get(json_object_get(root, name), "coverage") : json_object_get(root, "coverage");
  expect_rows(words, coverage, rows);
  json_decref(root);
}
#define EXPECT_OF(words, name, ...) expect_of(words, name, (const struct row[]){__VA_ARGS__, {0}})

/* Five tasks and six edges, beside one with a task and its edge less. */
static void test_diff_tells_tasks_and_edges_and_those_that_have_no_partner(void **state) {
  char a[256], b[256];
  snprintf(a, sizeof a, "%s", pto_ptosim_path("a.deps"));
  snprintf(b, sizeof b, "%s", pto_ptosim_path("b.deps"));
  assert_int_equal(pto_ptosim_run("run vector_example --quiet --deps-json %s", a), 0);
  json_t *graph = pto_ptosim_load(a), *edges = json_object_get(graph, "edges");
  json_array_remove(json_object_get(graph, "tasks"), 4);
  uint64_t left = 0;
  for (size_t i = json_array_size(edges); i-- > 0;)
    if (pto_json_integer(json_array_get(edges, i), "to") == 4) {
      json_array_remove(edges, i);
      left++;
    }
  assert_int_equal(json_dump_file(graph, b, 0), 0);
  json_decref(graph);
  assert_int_equal(pto_ptosim_run("diff %s %s --json -", a, a), 0);
  EXPECT_OF("diff A", NULL, {"tasks", 5, 0, NULL}, {"edges", 6, 0, NULL}, {"times", 0, SOME, "compare"},
            {"values", 0, SOME, NULL});
  assert_int_equal(pto_ptosim_run("diff %s %s --json -", a, b), 1);
  EXPECT_OF("diff A", NULL, {"tasks", 4, 0, NULL}, {"edges", 6 - left, left, NULL}, {"times", 0, SOME, "compare"},
            {"values", 0, SOME, NULL});
}

static void test_task_tells_the_outputs_that_were_compared(void **state) {
  assert_int_equal(pto_ptosim_run("run vector_example --quiet --dump 1 %s", pto_ptosim_path("kept")), 0);
  assert_int_equal(pto_ptosim_run("task %s/1 --json -", pto_ptosim_path("kept")), 0);
  EXPECT_OF("task PROGRAM", NULL, {"outputs", 1, 0, NULL}, {"touched_by_tasks", 0, 1, "check --observe"});
}

/* Levels are those of this processor. */
static void test_op_tells_elements_shapes_and_layouts(void **state) {
  assert_int_equal(pto_ptosim_run("op test add --dtype f32 --shape 16 --layout contiguous --level plain --json -"), 0);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *coverage = json_object_get(root, "coverage");
  json_object_del(coverage, "levels");
  expect_rows("op test", coverage,
              (const struct row[]){{"elements", 16, 0, NULL},
                                   {"dtypes", 1, 0, NULL},
                                   {"shapes", 1, SOME, "op --shape SHAPES"},
                                   {"layouts", 1, 6, "op --layout all"},
                                   {"seeds", 1, SOME, "op --seed N"},
                                   {0}});
  json_decref(root);
  assert_int_equal(pto_ptosim_run("op test graph:relu --dtype f32 --shape 16 --json -"), 0);
  EXPECT_OF("op test", NULL, {"elements", 16, 0, NULL}, {"dtypes", 1, 0, NULL},
            {"shapes", 1, SOME, "op --shape SHAPES"}, {"seeds", 1, SOME, "op --seed N"});
  assert_int_equal(pto_ptosim_run("op support add --json -"), 0);
  root = pto_ptosim_parse(pto_ptosim_last.out);
  assert_null(json_object_get(root, "coverage"));
  json_decref(root);
}

/* The kernels of vector_example state no cost. */
static void test_predict_tells_prices_that_are_guessed_and_seeds_of_jitter(void **state) {
  EXPECT(0, "predict vector_example --runs 2", {"prices", 0, 5, NULL}, {"jitters", 2, SOME, "predict --runs N"});
  pto_ptosim_run("predict no_such_program --json -");
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  assert_true(json_is_null(json_object_get(root, "coverage")));
  json_decref(root);
}

static void test_advise_tells_the_sizes_and_that_each_ran_in_one_order(void **state) {
  assert_int_equal(pto_ptosim_run("check vector_example --advise --json -"), 0);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  const uint64_t runs = (uint64_t)pto_json_integer(root, "runs");
  json_decref(root);
  EXPECT_OF("check vector_example", NULL, {"orders", 1, SOME, "explore --window N --heap BYTES"},
            {"rings", runs, SOME, "run --window N --heap BYTES"});
}

static void write_list(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_true(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void test_regress_tells_cases_that_have_no_baseline(void **state) {
  const char *list = pto_ptosim_path("two.list");
  write_list(list, "vector_example --engine virtual\ninplace_update --engine virtual\n");
  assert_int_equal(pto_ptosim_run("regress %s --json -", list), 0);
  EXPECT_OF("regress two.list", NULL, {"cases", 2, 0, NULL}, {"baselines", 0, 2, "regress --update"});
  assert_int_equal(pto_ptosim_run("regress %s --update --filter vector --quiet --json -", list), 0);
  EXPECT_OF("regress two.list", NULL, {"cases", 1, 0, NULL});
  assert_int_equal(pto_ptosim_run("regress %s --json -", list), 1);
  EXPECT_OF("regress two.list", NULL, {"cases", 2, 0, NULL}, {"baselines", 1, 1, "regress --update"});
}

static void test_suite_tells_cases_without_a_golden_and_those_left_out(void **state) {
  const char *file = pto_ptosim_path("suite.json");
  assert_int_equal(
      pto_ptosim_run("suite vector_example spmd_sync_start %s/planted/planted_contexts.so --engine virtual "
                     "--json %s",
                     pto_ptosim_build(), file),
      0);
  json_t *root = pto_ptosim_load(file);
  expect_rows("suite spmd", json_object_get(root, "coverage"),
              (const struct row[]){
                  {"cases", 2, 0, NULL}, {"cases_without_golden", 0, 1, NULL}, {"cases_skipped", 0, 3, NULL}, {0}});
  json_decref(root);
}

static void test_compare_tells_times_alone(void **state) {
  const char *words[] = {
      "ptosim", "compare", "vector_example --engine virtual", "vector_example --engine virtual", "--json", "-", NULL};
  assert_int_equal(pto_ptosim_run_words((char *const *)(uintptr_t)words), 0);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *coverage = json_object_get(root, "coverage");
  assert_true(pto_json_integer(json_object_get(coverage, "times"), "judged") > 1);
  json_object_del(coverage, "times");
  expect_rows("compare A", coverage, (const struct row[]){{"values", 0, SOME, NULL}, {0}});
  json_decref(root);
}

static void test_graph_tells_nodes_that_are_compared_with_the_group_they_are_in(void **state) {
  assert_int_equal(pto_ptosim_run("graph --model llama --compare reference --engine virtual --json -"), 0);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *compared = json_object_get(root, "compared");
  const uint64_t nodes = (uint64_t)pto_json_integer(compared, "nodes"),
                 fused = (uint64_t)pto_json_integer(compared, "fused_nodes");
  json_decref(root);
  assert_true(fused > 0);
  EXPECT_OF("graph llama", "compared", {"nodes", nodes, fused, "graph --compare reference --no-fusion"},
            {"seeds", 1, SOME, "graph --compare reference --seed N"});
}

/* What stands for something that the user chooses. */
static void fill_in(const char *command, char *filled, size_t size) {
  static const struct {
    const char *word, *value;
  } words[] = {{" N", " 64"}, {" BYTES", " 1048576"}, {" SHAPES", " 8"}, {" LEVEL", " plain"}, {" NAME", " add"}};
  size_t used = 0;
  for (const char *at = command + strlen("ptosim "); *at; at++) {
    const char *value = NULL;
    for (size_t i = 0; !value && i < sizeof words / sizeof *words; i++) {
      const size_t length = strlen(words[i].word);
      if (strncmp(at, words[i].word, length) != 0 || (at[length] && at[length] != ' ')) continue;
      value = words[i].value;
      at += length - 1;
    }
    used += (size_t)(value ? snprintf(filled + used, size - used, "%s", value)
                           : snprintf(filled + used, size - used, "%c", *at));
  }
}

/* All that the tests before have met, but those of "A B" and PROGRAM, which the user has. */
static void test_each_command_that_is_named_is_one(void **state) {
  const char *command;
  char filled[1024];
  json_t *value;
  uint32_t count = 0;
  json_object_foreach(commands, command, value) {
    if (strstr(command, " A B") || strstr(command, "PROGRAM") || strstr(command, "FILE") || strstr(command, "two.list"))
      continue;
    fill_in(command, filled, sizeof filled);
    const bool is_long = strncmp(filled, "explore", strlen("explore")) == 0 && !strstr(filled, "--schedules");
    const int code = pto_ptosim_run("%s%s", filled, is_long ? " --schedules 4" : "");
    if (code > 1) fail_msg("%s: exit %d: %s", filled, code, pto_ptosim_last.err);
    count++;
  }
  assert_true(count >= 20);
}

static int setup(void **state) {
  commands = json_object();
  return pto_ptosim_setup(state);
}

static int teardown(void **state) {
  json_decref(commands);
  return pto_ptosim_teardown(state);
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
      cmocka_unit_test(test_why_tells_what_the_two_tasks_declare),
      cmocka_unit_test(test_diff_tells_tasks_and_edges_and_those_that_have_no_partner),
      cmocka_unit_test(test_task_tells_the_outputs_that_were_compared),
      cmocka_unit_test(test_op_tells_elements_shapes_and_layouts),
      cmocka_unit_test(test_predict_tells_prices_that_are_guessed_and_seeds_of_jitter),
      cmocka_unit_test(test_advise_tells_the_sizes_and_that_each_ran_in_one_order),
      cmocka_unit_test(test_regress_tells_cases_that_have_no_baseline),
      cmocka_unit_test(test_suite_tells_cases_without_a_golden_and_those_left_out),
      cmocka_unit_test(test_compare_tells_times_alone),
      cmocka_unit_test(test_graph_tells_nodes_that_are_compared_with_the_group_they_are_in),
      cmocka_unit_test(test_ranks_have_the_sum_and_nothing_is_known_of_a_run_that_does_not_begin),
      cmocka_unit_test(test_each_command_that_is_named_is_one),
  };
  return cmocka_run_group_tests_name("cli_coverage", tests, setup, teardown);
}
