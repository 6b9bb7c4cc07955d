/* SPDX-License-Identifier: MIT */
/*
 * Every verb and export, for every kind of program: an orchestration, one that drives contexts (kv_cache, llm), a graph
 * file, a model.  Each works, or says in one sentence why it cannot.
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

#define MODEL "--model gpt2 --set layers=1 --set width=16 --set heads=2 --set window=4 --set vocabulary=20"

enum kind { TASKS, CONTEXTS, GRAPH };

static char graph_path[400];

static struct program {
  const char *words;
  enum kind kind;
} programs[] = {{"vector_example", TASKS},
                {"kv_cache --set steps=4", CONTEXTS},
                {"llm --set steps=4", CONTEXTS},
                {graph_path, GRAPH},
                {MODEL, GRAPH}};
#define PROGRAMS (sizeof programs / sizeof programs[0])

static int setup(void **state) {
  if (pto_ptosim_setup(state)) return 1;
  snprintf(graph_path, sizeof graph_path, "%s", pto_ptosim_path("small.json"));
  return pto_ptosim_run("graph " MODEL " --save %s", graph_path);
}

static void test_every_verb_takes_every_program_or_says_why_not(void **state) {
  (void)state;
  static const struct {
    const char *before, *behind;
  } verbs[] = {{"run", "--engine virtual --quiet --rounds 2"},
               {"run", "--engine threads --quiet --poison"},
               {"check", "--quiet"},
               {"check", "--deps pto"},
               {"check", "--observe --observe-calls 1"},
               {"check", "--advise --window 1024 --heap 4M"},
               {"why", "0 3"},
               {"explore", "--schedules 5"},
               {"explore", "--schedules 5 --deps pto"},
               {"explore", "--schedules 2 --all"},
               {"explore", "--schedules 2 --engine threads"}};
  for (size_t v = 0; v < sizeof verbs / sizeof verbs[0]; v++)
    for (size_t p = 0; p < PROGRAMS; p++) {
      pto_ptosim_run("%s %s %s", verbs[v].before, programs[p].words, verbs[v].behind);
      if (pto_ptosim_last.exit_code != 0)
        fail_msg("%s %s %s: exit %d: %s", verbs[v].before, programs[p].words, verbs[v].behind,
                 pto_ptosim_last.exit_code, pto_ptosim_last.err);
    }
}

static void test_every_export_is_written_for_every_program(void **state) {
  (void)state;
  char trace[400], dot[400], deps[400], waits[400];
  for (size_t p = 0; p < PROGRAMS; p++) {
    snprintf(trace, sizeof trace, "%s", pto_ptosim_path("trace.json"));
    snprintf(dot, sizeof dot, "%s", pto_ptosim_path("tasks.dot"));
    snprintf(deps, sizeof deps, "%s", pto_ptosim_path("deps.json"));
    snprintf(waits, sizeof waits, "%s", pto_ptosim_path("waits.dot"));
    assert_int_equal(pto_ptosim_run("run %s --engine virtual --stats --quiet --json - --trace %s --dot %s "
                                    "--deps-json %s --waits-dot %s",
                                    programs[p].words, trace, dot, deps, waits),
                     0);
    const char *json = strstr(pto_ptosim_last.out, "{\"format\""); /* behind the program's own text */
    json_t *result = pto_ptosim_parse(json ? json : ""), *root = pto_ptosim_load(trace);
    assert_true(json_array_size(json_object_get(root, "traceEvents")) > 4);
    json_decref(root);
    root = pto_ptosim_load(deps);
    assert_int_equal(json_array_size(json_object_get(root, "tasks")), pto_json_integer(result, "tasks"));
    assert_int_equal(json_array_size(json_object_get(root, "edges")), pto_json_integer(result, "edges"));
    json_t *task = json_array_get(json_object_get(root, "tasks"), 0);
    assert_int_equal(json_is_string(json_object_get(task, "node")), programs[p].kind == GRAPH);
    json_decref(root);
    assert_true(json_is_object(json_object_get(result, "stats")));
    assert_int_equal(json_is_array(json_object_get(result, "node_times")), programs[p].kind == GRAPH);
    assert_true(json_is_string(json_object_get(result, "trace_digest")));
    json_decref(result);
  }
}

static void test_the_trace_digest_is_the_same_in_every_run(void **state) {
  (void)state;
  for (size_t p = 0; p < PROGRAMS; p++) {
    char digests[2][32] = {"", ""};
    for (int i = 0; i < 2; i++) {
      pto_ptosim_run("run %s --engine virtual --workers %d --quiet --json -", programs[p].words, i + 1);
      const char *at = strstr(pto_ptosim_last.out, "\"trace_digest\":\"");
      if (!at) fail_msg("%s: %s", programs[p].words, pto_ptosim_last.out);
      snprintf(digests[i], sizeof digests[i], "%.16s", at + strlen("\"trace_digest\":\""));
    }
    assert_string_equal(digests[0], digests[1]);
  }
}

static void test_a_task_of_every_program_is_kept_and_runs_again(void **state) {
  (void)state;
  char dir[400];
  for (size_t p = 0; p < PROGRAMS; p++) {
    char name[32];
    snprintf(name, sizeof name, "kept%zu", p);
    snprintf(dir, sizeof dir, "%s", pto_ptosim_path(name));
    assert_int_equal(pto_ptosim_run("run %s --quiet --dump 3 %s", programs[p].words, dir), 0);
    if (pto_ptosim_run("task %s/3", dir)) fail_msg("%s: %s", programs[p].words, pto_ptosim_last.err);
    assert_non_null(strstr(pto_ptosim_last.out, "the same, bit by bit"));
  }
}

static void test_a_task_of_a_later_context_is_found_by_its_number_among_all(void **state) {
  (void)state;
  char dir[400];
  snprintf(dir, sizeof dir, "%s", pto_ptosim_path("later"));
  /* Three modes, a context each, of 16 tasks. */
  pto_ptosim_run("run kv_cache --set steps=4 --quiet --json -");
  const char *at = strstr(pto_ptosim_last.out, "\"tasks\":");
  unsigned tasks = 0;
  assert_true(at && sscanf(at, "\"tasks\":%u", &tasks) == 1);
  assert_int_equal(pto_ptosim_run("run kv_cache --set steps=4 --quiet --dump %u %s", tasks - 1, dir), 0);
  assert_int_equal(pto_ptosim_run("task %s/%u", dir, tasks - 1), 0);
}

static void test_who_waited_for_whom_is_told_of_a_context_that_stopped(void **state) {
  (void)state;
  static const char *const rows[] = {"kv_cache --set steps=4 --window 4", "llm --set steps=4 --window 4"};
  for (size_t i = 0; i < 2; i++) {
    char waits[400], json[400];
    snprintf(waits, sizeof waits, "%s", pto_ptosim_path("waits.dot"));
    snprintf(json, sizeof json, "%s", pto_ptosim_path("result.json"));
    if (pto_ptosim_run("run %s --json %s --waits-dot %s", rows[i], json, waits) != 3) continue; /* it fits */
    json_t *root = pto_ptosim_load(json);
    assert_true(json_is_object(json_object_get(root, "stopped")));
    json_decref(root);
    char *dot = pto_ptosim_read_file(waits);
    assert_non_null(strstr(dot, "->"));
    free(dot);
  }
}

static void test_a_graph_is_verified_beside_the_reference_where_that_is_asked(void **state) {
  (void)state;
  for (size_t p = 0; p < PROGRAMS; p++) {
    if (programs[p].kind != GRAPH) continue;
    assert_int_equal(pto_ptosim_run("run %s --quiet --json -", programs[p].words), 0);
    assert_non_null(strstr(pto_ptosim_last.out, "\"verified\":null"));
    assert_int_equal(pto_ptosim_run("run %s --set compare=reference --quiet --json -", programs[p].words), 0);
    assert_non_null(strstr(pto_ptosim_last.out, "\"verified\":true"));
    assert_int_equal(pto_ptosim_run("run %s --set compare=reference --rtol 0 --atol 0 --quiet", programs[p].words), 1);
    assert_int_equal(pto_ptosim_run("run %s --set fusion=false --set compare=reference", programs[p].words), 0);
  }
  pto_ptosim_run("run %s --set compare=golden", graph_path);
  pto_ptosim_assert_complaint(2, "\"golden\" is not reference");
  pto_ptosim_run("run --model gpt3");
  pto_ptosim_assert_complaint(2, "did you mean \"gpt2\"?");
  pto_ptosim_run("run nowhere.json");
  pto_ptosim_assert_complaint(2, "nowhere.json: No such file");
}

static void test_a_graph_as_a_program_gives_what_graph_run_gives(void **state) {
  (void)state;
  static const char *const engines[] = {"threads", "virtual"};
  for (size_t e = 0; e < 2; e++) {
    char outputs[2][400];
    snprintf(outputs[0], sizeof outputs[0], "%s", pto_ptosim_path("logits.npy"));
    assert_int_equal(pto_ptosim_run("run %s --engine %s --output logits=%s", graph_path, engines[e], outputs[0]), 0);
    snprintf(outputs[1], sizeof outputs[1], "%s", pto_ptosim_path("dir"));
    assert_int_equal(pto_ptosim_run("graph %s --run --engine %s --output-dir %s", graph_path, engines[e], outputs[1]),
                     0);
    snprintf(outputs[1], sizeof outputs[1], "%s", pto_ptosim_path("dir/logits.npy"));
    assert_int_equal(
        pto_ptosim_run("run %s --engine %s --expect logits=%s --rtol 0 --atol 0", graph_path, engines[e], outputs[1]),
        0);
  }
}

static void test_lists_of_programs_take_graphs(void **state) {
  (void)state;
  assert_int_equal(pto_ptosim_run("suite %s", graph_path), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "small"));
  const char *list = pto_ptosim_path("rows.list");
  FILE *file = fopen(list, "w");
  assert_non_null(file);
  fprintf(file, "%s --engine virtual --set compare=reference\n" MODEL " --engine virtual\n", graph_path);
  fclose(file);
  assert_int_equal(pto_ptosim_run("regress %s --update", list), 0);
  assert_int_equal(pto_ptosim_run("regress %s", list), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "2 cases: 2 as in"));
}

static void test_graphs_of_two_runs_are_compared(void **state) {
  (void)state;
  for (size_t p = 0; p < PROGRAMS; p++) {
    char a[400], b[400];
    snprintf(a, sizeof a, "%s", pto_ptosim_path("a.json"));
    snprintf(b, sizeof b, "%s", pto_ptosim_path("b.json"));
    assert_int_equal(pto_ptosim_run("run %s --quiet --engine threads --deps-json %s", programs[p].words, a), 0);
    assert_int_equal(pto_ptosim_run("run %s --quiet --engine virtual --deps-json %s", programs[p].words, b), 0);
    assert_int_equal(pto_ptosim_run("diff %s %s", a, b), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_verb_takes_every_program_or_says_why_not),
      cmocka_unit_test(test_every_export_is_written_for_every_program),
      cmocka_unit_test(test_the_trace_digest_is_the_same_in_every_run),
      cmocka_unit_test(test_a_task_of_every_program_is_kept_and_runs_again),
      cmocka_unit_test(test_a_task_of_a_later_context_is_found_by_its_number_among_all),
      cmocka_unit_test(test_who_waited_for_whom_is_told_of_a_context_that_stopped),
      cmocka_unit_test(test_a_graph_is_verified_beside_the_reference_where_that_is_asked),
      cmocka_unit_test(test_a_graph_as_a_program_gives_what_graph_run_gives),
      cmocka_unit_test(test_lists_of_programs_take_graphs),
      cmocka_unit_test(test_graphs_of_two_runs_are_compared),
  };
  return cmocka_run_group_tests_name("cli_programs", tests, setup, pto_ptosim_teardown);
}
