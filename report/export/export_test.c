/* SPDX-License-Identifier: MIT */
/* Tests of --dot, --deps-json and --trace on hand-made traces; JSON is parsed back by jansson, and compared with the
 * records. */
#include <report/export/export.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include <report/run/trace_view.h>

static const struct pto_kernel matmul = {.name = "matmul"}, add = {.name = "add"}, odd = {.name = "say \"hi\""};
static const struct pto_export_info info = {
    .program = "hand_made", .engine = "virtual", .chip = "tiny", .cluster_count = 2};
static char path[64];

struct fixture {
  struct pto_trace trace;
};

static int setup(void **state) {
  struct fixture *f = calloc(1, sizeof *f);
  snprintf(path, sizeof path, "/tmp/pto_export_test_XXXXXX");
  int fd = mkstemp(path);
  if (!f || fd < 0 || pto_trace_init(&f->trace, PTO_RECORD_GRAPH | PTO_RECORD_TIMELINE, 2)) return -1;
  close(fd);
  pto_trace_begin_run(&f->trace, true);
  *state = f;
  return 0;
}

static int teardown(void **state) {
  struct fixture *f = *state;
  pto_trace_fini(&f->trace);
  free(f);
  return unlink(path);
}

/* ---- records by hand ---- */

static struct pto_trace_task *add_task(struct pto_trace *trace, const struct pto_kernel *aic,
                                       const struct pto_kernel *aiv0, uint32_t scope) {
  uint64_t number = trace->tasks.count;
  struct pto_trace_task *task = pto_trace_log_append(&trace->tasks);
  *task = (struct pto_trace_task){.number = number,
                                  .kernels = {aic, aiv0, NULL},
                                  .block_count = 1,
                                  .scope_depth = scope > 0,
                                  .scope_serial = scope,
                                  .first_param = trace->params.count,
                                  .first_edge = trace->edges.count,
                                  .submit_time = 1000 * number};
  return task;
}

static void add_param(struct pto_trace *trace, uint32_t index, uint32_t mode, uint64_t buffer, uint64_t base) {
  struct pto_trace_task *task = pto_trace_log_at(&trace->tasks, trace->tasks.count - 1);
  struct pto_trace_param *param = pto_trace_log_append(&trace->params);
  *param = (struct pto_trace_param){.index = index, .mode = mode, .buffer_number = buffer};
  param->tensor = (struct pto_tensor){.buffer = {.id = 99, .base = base, .size_bytes = 4096},
                                      .start_offset = 16,
                                      .ndims = 2,
                                      .dtype = PTO_FLOAT32,
                                      .shape = {4, 8},
                                      .strides = {32, 1},
                                      .version = 1};
  task->param_count++;
}

static void add_edge(struct pto_trace *trace, struct pto_trace_edge edge) {
  *(struct pto_trace_edge *)pto_trace_log_append(&trace->edges) = edge;
}

static void add_span(struct pto_trace *trace, uint32_t log, struct pto_trace_span span) {
  *(struct pto_trace_span *)pto_trace_log_append(&trace->spans[log]) = span;
}

/* Two tasks, an edge with three reasons out of order, and where they ran. */
static void make_pair(struct pto_trace *trace) {
  add_task(trace, &matmul, NULL, 0);
  add_param(trace, 0, PTO_INPUT, 1, 0x10000);
  add_param(trace, 2, PTO_OUTPUT, 2, 0x20000);
  add_task(trace, &matmul, &add, 5);
  add_param(trace, 0, PTO_INOUT, 2, 0x20000);
  add_param(trace, UINT32_MAX, PTO_INPUT, 2, 0x20000);
  add_edge(trace, (struct pto_trace_edge){.producer = 0,
                                          .consumer = 1,
                                          .reason = PTO_EDGE_EXPLICIT,
                                          .is_first = 1,
                                          .producer_param = UINT32_MAX,
                                          .consumer_param = UINT32_MAX});
  add_edge(trace, (struct pto_trace_edge){.producer = 0,
                                          .consumer = 1,
                                          .reason = PTO_EDGE_WAW,
                                          .producer_param = 2,
                                          .consumer_param = 0,
                                          .begin = 0x20040,
                                          .end = 0x20100,
                                          .buffer_number = 2});
  add_edge(trace, (struct pto_trace_edge){.producer = 0,
                                          .consumer = 1,
                                          .reason = PTO_EDGE_RAW,
                                          .producer_param = 2,
                                          .consumer_param = UINT32_MAX,
                                          .begin = 0x20080,
                                          .end = 0x20084,
                                          .buffer_number = 2});
}

/* ---- what came out ---- */

static json_t *load(void) {
  json_error_t error;
  json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
  if (!root) fail_msg("%s at %d:%d", error.text, error.line, error.column);
  return root;
}

static char *read_text(void) {
  static char text[1 << 16];
  FILE *file = fopen(path, "r");
  size_t size = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[size] = '\0';
  return text;
}

static json_t *at(json_t *array, size_t index) { return json_array_get(array, index); }
static json_int_t integer(json_t *object, const char *key) {
  json_t *value = json_object_get(object, key);
  if (!json_is_integer(value)) fail_msg("%s is no integer", key);
  return json_integer_value(value);
}
static const char *text_of(json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "(none)";
}

/* ---- --deps-json ---- */

static void test_deps_hold_tasks_with_their_parameters(void **state) {
  struct fixture *f = *state;
  struct pto_error error;
  make_pair(&f->trace);
  assert_int_equal(pto_export_deps(&f->trace, &info, path, &error), PTO_OK);
  json_t *root = load(), *tasks = json_object_get(root, "tasks");
  assert_int_equal(json_array_size(tasks), 2);
  assert_int_equal(integer(at(tasks, 1), "number"), 1);
  assert_string_equal(text_of(at(tasks, 1), "kind"), "kernel");
  json_t *kernels = json_object_get(at(tasks, 1), "kernels");
  assert_string_equal(text_of(kernels, "aic"), "matmul");
  assert_string_equal(text_of(kernels, "aiv0"), "add");
  assert_int_equal(json_object_size(kernels), 2);
  assert_int_equal(integer(json_object_get(at(tasks, 1), "scope"), "serial"), 5);
  json_t *param = at(json_object_get(at(tasks, 0), "params"), 1);
  assert_int_equal(integer(param, "index"), 2);
  assert_string_equal(text_of(param, "mode"), "OUTPUT");
  assert_string_equal(text_of(param, "dtype"), "f32");
  assert_int_equal(json_integer_value(at(json_object_get(param, "shape"), 1)), 8);
  assert_int_equal(json_integer_value(at(json_object_get(param, "strides"), 0)), 32);
  assert_int_equal(integer(param, "offset"), 16);
  assert_int_equal(integer(param, "buffer"), 2);
  param = at(json_object_get(at(tasks, 1), "params"), 1);
  assert_true(json_is_null(json_object_get(param, "index")));
  assert_true(json_is_true(json_object_get(param, "predicate")));
  json_decref(root);
}

static void test_one_edge_lists_all_its_reasons_in_order_with_bytes_of_the_buffer(void **state) {
  struct fixture *f = *state;
  struct pto_error error;
  make_pair(&f->trace);
  assert_int_equal(pto_export_deps(&f->trace, &info, path, &error), PTO_OK);
  json_t *root = load(), *edges = json_object_get(root, "edges");
  assert_int_equal(json_array_size(edges), 1);
  assert_int_equal(integer(at(edges, 0), "from"), 0);
  assert_int_equal(integer(at(edges, 0), "to"), 1);
  json_t *reasons = json_object_get(at(edges, 0), "reasons");
  assert_int_equal(json_array_size(reasons), 3);
  assert_string_equal(text_of(at(reasons, 0), "kind"), "RAW");
  assert_true(json_is_null(json_object_get(at(reasons, 0), "to_param")));
  assert_int_equal(integer(at(reasons, 0), "begin"), 0x80);
  assert_int_equal(integer(at(reasons, 0), "end"), 0x84);
  assert_string_equal(text_of(at(reasons, 1), "kind"), "WAW");
  assert_int_equal(integer(at(reasons, 1), "from_param"), 2);
  assert_int_equal(integer(at(reasons, 1), "to_param"), 0);
  assert_int_equal(integer(at(reasons, 1), "begin"), 0x40);
  assert_string_equal(text_of(at(reasons, 2), "kind"), "explicit");
  assert_null(json_object_get(at(reasons, 2), "begin"));
  json_decref(root);
}

/* Consumer 3 has three producers, recorded in an order that addresses may have made. */
static void record_fan_in(struct pto_trace *trace, const uint64_t producers[3], uint64_t base) {
  pto_trace_begin_run(trace, true);
  for (int i = 0; i < 4; i++) {
    add_task(trace, &matmul, NULL, 0);
    add_param(trace, 0, PTO_INOUT, 1, base);
  }
  for (int i = 0; i < 3; i++)
    add_edge(trace, (struct pto_trace_edge){.producer = producers[i],
                                            .consumer = 3,
                                            .reason = PTO_EDGE_RAW,
                                            .is_first = 1,
                                            .begin = base,
                                            .end = base + 4,
                                            .buffer_number = 1});
}

static void test_order_of_recording_and_addresses_do_not_show(void **state) {
  struct fixture *f = *state;
  struct pto_error error;
  char *texts[2];
  for (int round = 0; round < 2; round++) {
    record_fan_in(&f->trace, round ? (const uint64_t[]){2, 0, 1} : (const uint64_t[]){1, 2, 0},
                  round ? 0x7f0000000000 : 0x1000);
    assert_int_equal(pto_export_deps(&f->trace, &info, path, &error), PTO_OK);
    texts[round] = strdup(read_text());
  }
  assert_string_equal(texts[0], texts[1]);
  free(texts[0]);
  free(texts[1]);
}

static void test_an_empty_run_is_a_valid_document_everywhere(void **state) {
  struct fixture *f = *state;
  struct pto_error error;
  assert_int_equal(pto_export_deps(&f->trace, &info, path, &error), PTO_OK);
  json_t *root = load();
  assert_int_equal(json_array_size(json_object_get(root, "edges")), 0);
  json_decref(root);
  assert_int_equal(pto_export_trace(&f->trace, &info, path, &error), PTO_OK);
  json_decref(load());
  assert_int_equal(pto_export_dot(&f->trace, &info, path, &error), PTO_OK);
  assert_non_null(strstr(read_text(), "digraph \"hand_made\" {"));
}

static void test_a_file_that_cannot_be_written_is_named(void **state) {
  struct fixture *f = *state;
  struct pto_error error;
  int (*const exports[])(const struct pto_trace *, const struct pto_export_info *, const char *,
                         struct pto_error *) = {pto_export_deps, pto_export_dot, pto_export_trace};
  make_pair(&f->trace);
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(exports[i](&f->trace, &info, "/nonexistent/x", &error), PTO_ESYSTEM);
    assert_non_null(strstr(error.sentence, "/nonexistent/x"));
    if (access("/dev/full", W_OK) == 0)
      assert_int_equal(exports[i](&f->trace, &info, "/dev/full", &error), PTO_ESYSTEM);
  }
}

/* ---- --dot ---- */

static void test_dot_names_tasks_reasons_and_scopes(void **state) {
  struct fixture *f = *state;
  struct pto_error error;
  make_pair(&f->trace);
  add_task(&f->trace, NULL, &odd, 0);
  struct pto_trace_task *barrier = add_task(&f->trace, NULL, NULL, 0);
  barrier->kind = PTO_TASK_BARRIER;
  assert_int_equal(pto_export_dot(&f->trace, &info, path, &error), PTO_OK);
  const char *text = read_text();
  assert_non_null(strstr(text, "t0 [label=\"0 matmul\", shape=box"));
  assert_non_null(strstr(text, "subgraph cluster_scope5"));
  assert_non_null(strstr(text, "t1 [label=\"1 matmul + add\", shape=hexagon"));
  assert_non_null(strstr(text, "t2 [label=\"2 say \\\"hi\\\"\", shape=ellipse"));
  assert_non_null(strstr(text, "t3 [label=\"3 barrier\", shape=diamond"));
  assert_non_null(strstr(text, "t0 -> t1 [label=\"RAW 2→predicate b2\\nWAW 2→0 b2\\nexplicit\", style=solid];"));
}

static void test_a_large_graph_is_summed_up_by_kernel_with_counts(void **state) {
  struct fixture *f = *state;
  struct pto_error error;
  for (uint32_t i = 0; i < 300; i++) {
    add_task(&f->trace, &matmul, NULL, 1 + i);
    add_task(&f->trace, NULL, &add, 1 + i);
    add_edge(&f->trace,
             (struct pto_trace_edge){.producer = 2 * i, .consumer = 2 * i + 1, .reason = PTO_EDGE_RAW, .is_first = 1});
    if (i) /* across scopes, from add to add */
      add_edge(&f->trace, (struct pto_trace_edge){
                              .producer = 2 * i - 1, .consumer = 2 * i + 1, .reason = PTO_EDGE_WAR, .is_first = 1});
  }
  assert_int_equal(pto_export_dot(&f->trace, &info, path, &error), PTO_OK);
  const char *text = read_text();
  assert_non_null(strstr(text, "k0 [label=\"matmul\\n300 tasks\""));
  assert_non_null(strstr(text, "k1 [label=\"add\\n300 tasks\""));
  assert_non_null(strstr(text, "k0 -> k1 [label=\"RAW\\n300 in one scope\", style=solid];"));
  assert_non_null(strstr(text, "k1 -> k1 [label=\"WAR\\n299 across scopes\", style=dashed];"));
  assert_null(strstr(text, "t0"));
}

/* Chains side by side: few enough to see are drawn task by task. */
static void test_a_wide_graph_is_summed_up_and_a_long_one_is_not(void **state) {
  struct fixture *f = *state;
  struct pto_error error;
  for (uint32_t i = 0; i < PTO_EXPORT_DOT_MAX_WIDTH; i++) add_task(&f->trace, &matmul, NULL, 1);
  for (uint32_t i = 0; i < 2 * PTO_EXPORT_DOT_MAX_WIDTH; i++) {
    const uint64_t before = f->trace.tasks.count - PTO_EXPORT_DOT_MAX_WIDTH;
    add_task(&f->trace, &matmul, NULL, 1);
    add_edge(&f->trace,
             (struct pto_trace_edge){
                 .producer = before, .consumer = f->trace.tasks.count - 1, .reason = PTO_EDGE_RAW, .is_first = 1});
  }
  assert_int_equal(pto_export_dot(&f->trace, &info, path, &error), PTO_OK);
  assert_non_null(strstr(read_text(), "t71 [label=\"71 matmul\""));
  add_task(&f->trace, &matmul, NULL, 1); /* one more without an edge */
  assert_int_equal(pto_export_dot(&f->trace, &info, path, &error), PTO_OK);
  assert_non_null(strstr(read_text(), "k0 [label=\"matmul\\n73 tasks\""));
}

/* ---- --trace ---- */

/* The events with this phase, as a new array. */
static json_t *events_of(json_t *root, const char *phase) {
  json_t *events = json_object_get(root, "traceEvents"), *found = json_array(), *event;
  size_t index;
  json_array_foreach(events, index, event)
    if (strcmp(text_of(event, "ph"), phase) == 0) json_array_append(found, event);
  return found;
}

static double number(json_t *object, const char *key) {
  json_t *value = json_object_get(object, key);
  if (!json_is_number(value)) fail_msg("%s is no number", key);
  return json_number_value(value);
}

static void test_spans_are_complete_events_on_the_track_of_their_core(void **state) {
  struct fixture *f = *state;
  struct pto_error error;
  make_pair(&f->trace);
  ((struct pto_trace_task *)pto_trace_log_at(&f->trace.tasks, 1))->block_count = 4;
  add_span(&f->trace, 0, (struct pto_trace_span){.begin = 1500000, .end = 2500001, .task = 0, .core = 0});
  add_span(
      &f->trace, 1,
      (struct pto_trace_span){.begin = 3000000, .end = 3000000, .task = 1, .core = 4, .role = 1, .block_index = 3});
  assert_int_equal(pto_export_trace(&f->trace, &info, path, &error), PTO_OK);
  json_t *root = load(), *spans = events_of(root, "X");
  assert_int_equal(json_array_size(spans), 2);
  assert_string_equal(text_of(at(spans, 0), "name"), "matmul");
  assert_true(number(at(spans, 0), "ts") == 1.5);
  assert_true(number(at(spans, 0), "dur") == 1.000001);
  assert_int_equal(integer(at(spans, 0), "pid"), 1);
  assert_int_equal(integer(at(spans, 0), "tid"), 0);
  assert_string_equal(text_of(at(spans, 1), "name"), "add");
  assert_int_equal(integer(at(spans, 1), "pid"), 2);
  assert_int_equal(integer(at(spans, 1), "tid"), 4);
  json_t *args = json_object_get(at(spans, 1), "args");
  assert_int_equal(integer(args, "task"), 1);
  assert_int_equal(integer(args, "block"), 3);
  json_decref(spans);
  json_decref(root);
}

static void test_every_core_has_a_named_track_in_the_process_of_its_cluster(void **state) {
  struct fixture *f = *state;
  struct pto_error error;
  assert_int_equal(pto_export_trace(&f->trace, &info, path, &error), PTO_OK);
  json_t *root = load(), *names = events_of(root, "M"), *event;
  size_t index;
  int processes = 0, threads = 0, last_core = 0;
  json_array_foreach(names, index, event) {
    const char *name = text_of(json_object_get(event, "args"), "name");
    processes += strcmp(text_of(event, "name"), "process_name") == 0;
    threads += strcmp(text_of(event, "name"), "thread_name") == 0;
    if (strcmp(name, "AIV1 (core 5)") == 0) last_core = integer(event, "tid") == 5 && integer(event, "pid") == 2;
  }
  assert_int_equal(processes, 3); /* the control CPU and two clusters */
  assert_int_equal(threads, 7);
  assert_true(last_core);
  json_decref(names);
  json_decref(root);
}

static void test_arrows_run_from_the_producers_last_call_to_the_consumers_first(void **state) {
  struct fixture *f = *state;
  struct pto_error error;
  make_pair(&f->trace);
  add_span(&f->trace, 0, (struct pto_trace_span){.begin = 1000000, .end = 5000000, .task = 0, .core = 0});
  add_span(&f->trace, 1, (struct pto_trace_span){.begin = 2000000, .end = 9000000, .task = 0, .core = 3});
  add_span(&f->trace, 0, (struct pto_trace_span){.begin = 20000000, .end = 30000000, .task = 1, .core = 3});
  add_span(&f->trace, 0, (struct pto_trace_span){.begin = 12000000, .end = 13000000, .task = 1, .core = 1, .role = 1});
  assert_int_equal(pto_export_trace(&f->trace, &info, path, &error), PTO_OK);
  json_t *root = load(), *starts = events_of(root, "s"), *ends = events_of(root, "f");
  assert_int_equal(json_array_size(starts), 1);
  assert_int_equal(json_array_size(ends), 1);
  assert_int_equal(integer(at(starts, 0), "tid"), 3);
  assert_true(number(at(starts, 0), "ts") > 2 && number(at(starts, 0), "ts") < 9); /* inside the slice */
  assert_int_equal(integer(at(ends, 0), "tid"), 1);
  assert_true(number(at(ends, 0), "ts") == 12);
  assert_int_equal(integer(at(starts, 0), "id"), integer(at(ends, 0), "id"));
  assert_string_equal(text_of(at(starts, 0), "name"), text_of(at(ends, 0), "name"));
  assert_string_equal(text_of(at(starts, 0), "cat"), text_of(at(ends, 0), "cat"));
  assert_string_equal(text_of(at(ends, 0), "bp"), "e");
  json_decref(starts);
  json_decref(ends);
  json_decref(root);
}

static void test_a_task_that_never_ran_has_no_arrow(void **state) {
  struct fixture *f = *state;
  struct pto_error error;
  make_pair(&f->trace);
  add_span(&f->trace, 0, (struct pto_trace_span){.begin = 0, .end = 0, .task = 0, .core = 0});
  assert_int_equal(pto_export_trace(&f->trace, &info, path, &error), PTO_OK);
  json_t *root = load(), *starts = events_of(root, "s");
  assert_int_equal(json_array_size(starts), 0);
  json_decref(starts);
  json_decref(root);
}

static void test_counters_have_a_point_at_each_change_and_control_work_a_slice(void **state) {
  struct fixture *f = *state;
  struct pto_error error;
  f->trace.is_virtual = false;
  const uint32_t ready[] = {0, 3, 3, 1};
  for (uint32_t i = 0; i < 4; i++)
    *(struct pto_trace_sample *)pto_trace_log_append(&f->trace.samples) = (struct pto_trace_sample){
        .time = 1000 * i, .ready = ready[i], .in_flight = 2, .heap_used_bytes = UINT64_C(1) << 40};
  *(struct pto_trace_control *)pto_trace_log_append(&f->trace.control) =
      (struct pto_trace_control){.begin = 10, .end = 2010, .activity = PTO_CONTROL_SUBMIT, .task = 7};
  assert_int_equal(pto_export_trace(&f->trace, &info, path, &error), PTO_OK);
  json_t *root = load(), *points = events_of(root, "C"), *slices = events_of(root, "X");
  assert_int_equal(json_array_size(points), 4 + 2); /* four first points, then two changes of the first counter */
  assert_string_equal(text_of(at(points, 5), "name"), "ready tasks");
  assert_true(number(at(points, 5), "ts") == 3);
  assert_int_equal(integer(json_object_get(at(points, 5), "args"), "tasks"), 1);
  assert_int_equal(integer(json_object_get(at(points, 3), "args"), "bytes"), INT64_C(1) << 40);
  assert_string_equal(text_of(at(slices, 0), "name"), "submits");
  assert_true(number(at(slices, 0), "ts") == 0.01 && number(at(slices, 0), "dur") == 2);
  assert_int_equal(integer(json_object_get(at(slices, 0), "args"), "task"), 7);
  json_decref(points);
  json_decref(slices);
  json_decref(root);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(test_deps_hold_tasks_with_their_parameters),
      TEST(test_one_edge_lists_all_its_reasons_in_order_with_bytes_of_the_buffer),
      TEST(test_order_of_recording_and_addresses_do_not_show),
      TEST(test_an_empty_run_is_a_valid_document_everywhere),
      TEST(test_a_file_that_cannot_be_written_is_named),
      TEST(test_dot_names_tasks_reasons_and_scopes),
      TEST(test_a_large_graph_is_summed_up_by_kernel_with_counts),
      TEST(test_a_wide_graph_is_summed_up_and_a_long_one_is_not),
      TEST(test_spans_are_complete_events_on_the_track_of_their_core),
      TEST(test_every_core_has_a_named_track_in_the_process_of_its_cluster),
      TEST(test_arrows_run_from_the_producers_last_call_to_the_consumers_first),
      TEST(test_a_task_that_never_ran_has_no_arrow),
      TEST(test_counters_have_a_point_at_each_change_and_control_work_a_slice),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
