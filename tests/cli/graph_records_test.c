/* SPDX-License-Identifier: MIT */
/* `ptosim graph --run` with --trace, --stats, --dot-tasks and --deps-json: tasks are told with their nodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <tests/support/ptosim_child.h>

#define SMALL_GPT2 "--model gpt2 --set layers=2 --set width=32 --set heads=4 --set window=8 --set vocabulary=50"

static char trace[400], deps[400], dot[400];

/* The JSON of a run that writes all three. */
static json_t *run(const char *more) {
  snprintf(trace, sizeof trace, "%s", pto_ptosim_path("trace.json"));
  snprintf(deps, sizeof deps, "%s", pto_ptosim_path("deps.json"));
  snprintf(dot, sizeof dot, "%s", pto_ptosim_path("tasks.dot"));
  assert_int_equal(pto_ptosim_run("graph " SMALL_GPT2
                                  " --run --json - --stats --trace %s --deps-json %s --dot-tasks %s %s",
                                  trace, deps, dot, more),
                   0);
  return pto_ptosim_parse(pto_ptosim_last.out);
}

static json_t *read_json(const char *path) {
  json_error_t error;
  json_t *root = json_load_file(path, 0, &error);
  if (!root) fail_msg("%s: %s", path, error.text);
  return root;
}

/* Tasks that --explain has of each node; how many nodes there are. */
static size_t explained_tasks(int64_t *tasks, size_t most) {
  assert_int_equal(pto_ptosim_run("graph " SMALL_GPT2 " --explain --json -"), 0);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out),
         *nodes = json_object_get(json_object_get(root, "explained"), "nodes");
  const size_t count = json_array_size(nodes);
  assert_true(count <= most);
  for (size_t n = 0; n < count; n++) tasks[n] = pto_json_integer(json_array_get(nodes, n), "tasks");
  json_decref(root);
  return count;
}

/* A node's number from "12 gemm block0.query"; `outputs` where it is none. */
static size_t number_of(const char *name, size_t outputs) {
  unsigned number;
  if (sscanf(name, "%u ", &number) == 1) return number;
  assert_string_equal(name, "outputs");
  return outputs;
}

static void check_stats(json_t *root, const int64_t *tasks, size_t nodes, int64_t dispatches) {
  json_t *time;
  size_t i;
  int64_t calls = 0, last = -1;
  double before = 1e9;
  json_array_foreach(json_object_get(root, "node_times"), i, time) {
    const size_t node = number_of(pto_json_text(time, "name"), nodes);
    if (node < nodes) {
      assert_int_equal(pto_json_integer(time, "node"), node);
      assert_int_equal(pto_json_integer(time, "calls"), tasks[node] * dispatches);
    }
    const double seconds = json_number_value(json_object_get(time, "seconds"));
    assert_true(seconds <= before && (int64_t)node != last);
    before = seconds;
    last = (int64_t)node;
    calls += pto_json_integer(time, "calls");
  }
  assert_int_equal(pto_json_integer(json_object_get(root, "stats"), "calls"), calls);
}

static void check_trace(const int64_t *tasks, size_t nodes, int64_t dispatches) {
  json_t *root = read_json(trace), *event;
  size_t i;
  int64_t calls[200] = {0}, begun[200] = {0}, ended[200] = {0};
  json_array_foreach(json_object_get(root, "traceEvents"), i, event) {
    const char *phase = pto_json_text(event, "ph"), *category = json_string_value(json_object_get(event, "cat"));
    if (!category || (strcmp(category, "kernel") && strcmp(category, "node"))) continue;
    const size_t node = number_of(pto_json_text(event, "name"), nodes);
    if (phase[0] == 'X') {
      calls[node]++;
      assert_non_null(json_string_value(json_object_get(json_object_get(event, "args"), "kernel")));
    }
    begun[node] += phase[0] == 'b';
    ended[node] += phase[0] == 'e';
  }
  for (size_t n = 0; n < nodes; n++) {
    assert_int_equal(calls[n], tasks[n] * dispatches);
    assert_int_equal(begun[n], tasks[n] ? dispatches : 0);
    assert_int_equal(ended[n], begun[n]);
  }
  json_decref(root);
}

static void check_deps(json_t *result, size_t nodes, int64_t wanted_dispatches) {
  json_t *root = read_json(deps), *task;
  size_t i, last = 0;
  int64_t dispatches = 1;
  json_array_foreach(json_object_get(root, "tasks"), i, task) {
    const size_t node = number_of(pto_json_text(task, "node"), nodes);
    dispatches += node < last; /* nodes come in their order, and begin anew with each dispatch */
    last = node;
  }
  assert_int_equal(dispatches, wanted_dispatches);
  assert_int_equal(json_array_size(json_object_get(root, "tasks")), pto_json_integer(result, "tasks"));
  assert_int_equal(json_array_size(json_object_get(root, "edges")), pto_json_integer(result, "edges"));
  json_decref(root);
}

static void test_every_task_is_told_with_its_node_on_both_engines(void **state) {
  static const char *const engines[] = {"--engine threads --workers 2", "--engine virtual --chip a2a3"};
  int64_t tasks[200];
  const size_t nodes = explained_tasks(tasks, 200);
  for (size_t e = 0; e < sizeof engines / sizeof engines[0]; e++) {
    json_t *root = run(engines[e]);
    check_stats(root, tasks, nodes, 1);
    check_trace(tasks, nodes, 1);
    check_deps(root, nodes, 1);
    json_decref(root);
  }
}

/* Two sets of tensors: the first two dispatches are lowered, the others repeat them. */
static void test_dispatches_that_lower_nothing_have_the_nodes_of_those_before(void **state) {
  int64_t tasks[200];
  const size_t nodes = explained_tasks(tasks, 200);
  json_t *root = run("--steps 5 --engine virtual");
  assert_int_equal(pto_json_integer(root, "lowering_cache_hits"), 3);
  check_stats(root, tasks, nodes, 5);
  check_trace(tasks, nodes, 5);
  check_deps(root, nodes, 5);
  json_decref(root);
}

static void test_recording_changes_no_byte_and_no_time(void **state) {
  json_t *root = run("--engine virtual");
  char digest[20], microseconds[40];
  snprintf(digest, sizeof digest, "%s", pto_json_text(root, "output_digest"));
  snprintf(microseconds, sizeof microseconds, "%.9g", json_number_value(json_object_get(root, "virtual_us")));
  json_decref(root);
  assert_int_equal(pto_ptosim_run("graph " SMALL_GPT2 " --run --json - --engine virtual"), 0);
  root = pto_ptosim_parse(pto_ptosim_last.out);
  char plain[40];
  snprintf(plain, sizeof plain, "%.9g", json_number_value(json_object_get(root, "virtual_us")));
  assert_string_equal(pto_json_text(root, "output_digest"), digest);
  assert_string_equal(plain, microseconds);
  assert_null(json_object_get(root, "node_times"));
  json_decref(root);
}

static void test_the_tables_name_kernels_and_nodes(void **state) {
  assert_int_equal(pto_ptosim_run("graph " SMALL_GPT2 " --run --stats"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "  kernels "));
  assert_non_null(strstr(pto_ptosim_last.out, "  nodes "));
  assert_non_null(strstr(pto_ptosim_last.out, " gemm block"));
}

static void test_tasks_are_drawn_in_boxes_by_node(void **state) {
  char line[512];
  int boxes = 0, open = 0, tasks = 0;
  json_t *root = run("--workers 2");
  FILE *file = fopen(dot, "r");
  assert_non_null(file);
  while (fgets(line, sizeof line, file)) {
    if (strstr(line, "subgraph cluster_node")) boxes++, open++;
    if (strcmp(line, "  }\n") == 0) open--;
    if (strncmp(line, "  t", 3) == 0 && !strstr(line, "->")) {
      tasks++;
      assert_int_equal(open, 1);
    }
  }
  fclose(file);
  assert_int_equal(open, 0);
  assert_int_equal(tasks, pto_json_integer(root, "tasks"));
  assert_true(boxes > 20);
  json_decref(root);
}

static void test_what_is_not_recorded_is_refused(void **state) {
  static const struct {
    const char *words, *part;
    int code;
  } rows[] = {
      {"--stats", "are for --run on a chip", 2},
      {"--compare reference --trace t.json", "are for --run on a chip", 2},
      {"--run --engine reference --dot-tasks t.dot", "are for --run on a chip", 2},
      {"--run --trace /nowhere/t.json", "/nowhere/t.json", 2},
      {"--run --dot-tasks /nowhere/t.dot", "/nowhere/t.dot", 2},
      {"--run --deps-json /nowhere/t", "/nowhere/t", 2},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    pto_ptosim_run("graph " SMALL_GPT2 " %s", rows[i].words);
    pto_ptosim_assert_complaint(rows[i].code, rows[i].part);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_task_is_told_with_its_node_on_both_engines),
      cmocka_unit_test(test_dispatches_that_lower_nothing_have_the_nodes_of_those_before),
      cmocka_unit_test(test_recording_changes_no_byte_and_no_time),
      cmocka_unit_test(test_the_tables_name_kernels_and_nodes),
      cmocka_unit_test(test_tasks_are_drawn_in_boxes_by_node),
      cmocka_unit_test(test_what_is_not_recorded_is_refused),
  };
  return cmocka_run_group_tests(tests, pto_ptosim_setup, pto_ptosim_teardown);
}
