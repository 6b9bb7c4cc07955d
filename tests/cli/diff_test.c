/* SPDX-License-Identifier: MIT */
/* `ptosim diff` from outside: graphs of real runs, changed by hand in one place each, and files that are no graph. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tests/support/ptosim_child.h>

/* Records a run's graph in the folder and returns it. */
static json_t *record(const char *name, const char *run) {
  assert_int_equal(pto_ptosim_run("run %s --quiet --deps-json %s", run, pto_ptosim_path(name)), 0);
  return pto_ptosim_load(pto_ptosim_path(name));
}

static void save(json_t *graph, const char *name) {
  assert_int_equal(json_dump_file(graph, pto_ptosim_path(name), 0), 0);
}

/* The result of comparing two files of the folder. */
static json_t *diff(int exit_code, const char *a, const char *b) {
  int code = pto_ptosim_run("diff %s %s --json -", pto_ptosim_path(a), pto_ptosim_path(b));
  if (code != exit_code) fail_msg("exit %d: %s%s", code, pto_ptosim_last.out, pto_ptosim_last.err);
  return pto_ptosim_parse(pto_ptosim_last.out);
}

static void assert_counts(json_t *result, const char *key, json_int_t count, const char *part) {
  assert_int_equal(pto_json_integer(result, key), count);
  json_t *finding;
  size_t i;
  bool is_said = false;
  json_array_foreach(json_object_get(result, "findings"), i, finding)
    is_said |= strstr(pto_json_text(finding, "sentence"), part) != NULL;
  if (!is_said) fail_msg("no finding says \"%s\": %s", part, pto_ptosim_last.out);
}

static json_t *task_of(json_t *graph, size_t number) { return json_array_get(json_object_get(graph, "tasks"), number); }
static json_t *param_of(json_t *graph, size_t task, size_t param) {
  return json_array_get(json_object_get(task_of(graph, task), "params"), param);
}

#define BGEMM "bgemm --case 256x128x2"

static void test_a_graph_is_the_same_on_every_engine_and_chip(void **state) {
  json_decref(record("a", BGEMM));
  json_decref(record("b", BGEMM " --engine virtual --chip a2a3"));
  json_decref(diff(0, "a", "b"));
  assert_int_equal(pto_ptosim_run("diff %s %s", pto_ptosim_path("a"), pto_ptosim_path("b")), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "512 in A, 512 in B: 0 only in A, 0 only in B, 0 differ\n"));
}

static void test_weaker_rules_lack_edges_and_reasons(void **state) {
  json_decref(record("exact", "war_reuse --case short"));
  /* In virtual time: on threads the missing edges are data races, which end a build that looks for them. */
  assert_int_not_equal(pto_ptosim_run("run war_reuse --case short --deps pto --engine virtual --quiet --deps-json %s",
                                      pto_ptosim_path("pto")),
                       2);
  json_t *result = diff(1, "exact", "pto");
  /* 50 rounds: 3 readers before each writer, and each writer before the next. */
  assert_counts(result, "edges_only_a", 199, "task 2 (reader) to task 3 (writer) is only in A: WAR (params 0 → 0");
  assert_true(pto_json_integer(result, "edges_only_b") > 0); /* a write that has no edge to another replaces nothing */
  assert_int_equal(pto_json_integer(result, "tasks_differ"), 0);
  json_decref(result);
}

static void test_one_inserted_task_is_all_that_differs(void **state) {
  json_t *graph = record("a", BGEMM), *edge;
  json_t *inserted = json_deep_copy(task_of(graph, 100));
  json_object_set_new(json_object_get(inserted, "kernels"), "aic", json_string("extra"));
  json_array_insert_new(json_object_get(graph, "tasks"), 333, inserted);
  for (size_t i = 333; i < json_array_size(json_object_get(graph, "tasks")); i++)
    json_object_set_new(task_of(graph, i), "number", json_integer((json_int_t)i));
  size_t i;
  json_array_foreach(json_object_get(graph, "edges"), i, edge) {
    static const char *const ends[] = {"from", "to"};
    for (int end = 0; end < 2; end++) {
      json_int_t task = pto_json_integer(edge, ends[end]);
      json_object_set_new(edge, ends[end], json_integer(task + (task >= 333)));
    }
  }
  save(graph, "b");
  json_t *result = diff(1, "a", "b");
  assert_counts(result, "tasks_only_b", 1, "task 333 (extra) is only in B");
  assert_int_equal(pto_json_integer(result, "finding_count"), 1);
  json_decref(result);
  result = diff(1, "b", "a");
  assert_counts(result, "tasks_only_a", 1, "task 333 (extra) is only in A");
  assert_int_equal(pto_json_integer(result, "finding_count"), 1);
  json_decref(result);
  json_decref(graph);
}

/* One place of the graph changed: what the sentence says of it. */
static void assert_told(json_t *graph, json_t *object, const char *key, json_t *value, const char *part) {
  json_t *before = json_incref(json_object_get(object, key));
  json_object_set_new(object, key, value);
  save(graph, "b");
  json_t *result = diff(1, "a", "b");
  assert_counts(result, "tasks_differ", 1, part);
  json_decref(result);
  json_object_set_new(object, key, before);
}

static void test_each_changed_part_of_a_task_is_named(void **state) {
  json_t *graph = record("a", BGEMM);
  json_t *param = param_of(graph, 10, 1), *shape = json_pack("[i,i]", 128, 64), *strides = json_pack("[i,i]", 1, 128);
  assert_told(graph, param, "mode", json_string("INOUT"), "task 10 (matmul) param 1: mode INPUT in A and INOUT in B");
  assert_told(graph, param, "dtype", json_string("bf16"), "param 1: dtype f32 in A and bf16 in B");
  assert_told(graph, param, "shape", shape, "param 1: shape [128, 128] in A and [128, 64] in B");
  assert_told(graph, param, "strides", strides, "in A and [1, 128] in B");
  assert_told(graph, param, "offset", json_integer(7), "in A and 7 in B");
  assert_told(graph, param, "version", json_integer(3), "param 1: version 0 in A and 3 in B");
  assert_told(graph, param, "buffer", json_integer(77), "param 1: buffer 2 in A and 77 in B, which has 2 for it");
  assert_told(graph, task_of(graph, 10), "blocks", json_integer(9), "task 10 (matmul): blocks 1 in A and 9 in B");
  assert_told(graph, task_of(graph, 10), "sync_start", json_true(), "task 10 (matmul): sync_start 0 in A and 1 in B");
  json_t *kernels = json_object_get(task_of(graph, 10), "kernels");
  assert_told(graph, kernels, "aic", json_string("other"), "task 10 (matmul) runs other in B");
  json_decref(graph);
}

static void test_changed_edges_are_named(void **state) {
  json_t *graph = record("a", BGEMM), *edges = json_object_get(graph, "edges");
  json_t *reason = json_array_get(json_object_get(json_array_get(edges, 0), "reasons"), 0);
  json_object_set_new(reason, "end", json_integer(1));
  json_array_remove(edges, 5);
  save(graph, "b");
  json_t *result = diff(1, "a", "b");
  assert_counts(result, "edges_only_a", 1, "is only in A: RAW");
  assert_counts(result, "edges_differ", 1, "[0:1]) in B");
  assert_int_equal(pto_json_integer(result, "tasks_differ"), 0);
  json_decref(result);
  json_decref(graph);
}

static void test_graphs_with_little_in_common_are_matched_by_number(void **state) {
  json_decref(record("a", "task_bench --case stencil_1d"));
  json_decref(record("b", "war_reuse"));
  json_t *result = diff(1, "a", "b");
  assert_string_equal(pto_json_text(result, "matched_by"), "number");
  json_decref(result);
}

/* ---- files that are no graph ---- */

#define TASK                                                                                                           \
  "{\"number\":0,\"kind\":\"kernel\",\"kernels\":{\"aic\":\"k\"},\"blocks\":1,\"sync_start\":false,"                   \
  "\"scope\":{\"depth\":0},\"params\":[]}"

static void write_text(const char *name, const char *text, size_t size) {
  FILE *file = fopen(pto_ptosim_path(name), "w");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, size, file), size);
  fclose(file);
}

static void test_what_is_no_graph_is_refused_with_a_sentence(void **state) {
  static const struct {
    const char *text, *part;
  } broken[] = {
      {"", "line 1"},
      {"[]", "holds no JSON object"},
      {"{\"program\":1}", "\"program\" is no string"},
      {"{\"program\":\"p\",\"dropped\":0,\"tasks\":{},\"edges\":[]}", "\"tasks\" is no array"},
      {"{\"program\":\"p\",\"dropped\":0,\"tasks\":[7],\"edges\":[]}", "tasks[0]: item 0 is no object"},
      {"{\"program\":\"p\",\"dropped\":-1,\"tasks\":[],\"edges\":[]}", "\"dropped\" holds no whole number"},
      {"{\"program\":\"p\",\"dropped\":0,\"tasks\":[],\"edges\":[],\"edges\":[]}", "duplicate"},
      {"{\"program\":\"p\",\"dropped\":0,\"tasks\":[{\"number\":5}],\"edges\":[]}", "tasks[0]: its number is 5"},
      {"{\"program\":\"p\",\"dropped\":0,\"tasks\":[" TASK "],\"edges\":[{\"from\":0,\"to\":1,\"reasons\":[]}]}",
       "edges[0]: from 0 to 1 of 1 tasks"},
      {"{\"program\":\"p\",\"dropped\":0,\"tasks\":[" TASK "],\"edges\":[{\"from\":0,\"to\":0,\"reasons\":[]}]}",
       "edges[0]: from 0 to 0 of 1 tasks"},
      {"{\"program\":\"p\",\"dropped\":0,\"tasks\":[],\"edges\":[{\"from\":0,\"to\":99999999999999999999}]}", "line 1"},
  };
  static const char good[] = "{\"program\":\"p\",\"dropped\":0,\"tasks\":[" TASK "],\"edges\":[]}";
  write_text("good", good, sizeof good - 1);
  json_decref(diff(0, "good", "good"));
  for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
    write_text("broken", broken[i].text, strlen(broken[i].text));
    pto_ptosim_run("diff %s %s", pto_ptosim_path("broken"), pto_ptosim_path("broken"));
    pto_ptosim_assert_complaint(2, broken[i].part);
  }
  static char deep[200000];
  memset(deep, '[', sizeof deep);
  write_text("deep", deep, sizeof deep);
  pto_ptosim_run("diff %s x", pto_ptosim_path("deep"));
  pto_ptosim_assert_complaint(2, "maximum parsing depth");
  pto_ptosim_run("diff %s /dev/zero", pto_ptosim_path("deep"));
  pto_ptosim_assert_complaint(2, "maximum parsing depth");
  pto_ptosim_run("diff /dev/zero x");
  pto_ptosim_assert_complaint(2, "no regular file");
  pto_ptosim_run("diff %s x", pto_ptosim_path("not_there"));
  pto_ptosim_assert_complaint(2, "No such file");
}

static void test_bad_arguments_are_refused(void **state) {
  pto_ptosim_run("diff a");
  pto_ptosim_assert_complaint(2, "two files");
  pto_ptosim_run("diff a b --engine virtual");
  pto_ptosim_assert_complaint(2, "--engine is for `ptosim run`");
  assert_int_equal(pto_ptosim_run("diff --help"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "A.json B.json"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_graph_is_the_same_on_every_engine_and_chip),
      cmocka_unit_test(test_weaker_rules_lack_edges_and_reasons),
      cmocka_unit_test(test_one_inserted_task_is_all_that_differs),
      cmocka_unit_test(test_each_changed_part_of_a_task_is_named),
      cmocka_unit_test(test_changed_edges_are_named),
      cmocka_unit_test(test_graphs_with_little_in_common_are_matched_by_number),
      cmocka_unit_test(test_what_is_no_graph_is_refused_with_a_sentence),
      cmocka_unit_test(test_bad_arguments_are_refused),
  };
  return cmocka_run_group_tests(tests, pto_ptosim_setup, pto_ptosim_teardown);
}
