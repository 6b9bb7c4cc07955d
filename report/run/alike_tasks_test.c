/* SPDX-License-Identifier: MIT */
/* Tests of tasks that are alike, on hand-made traces: what makes a group, and that the order is what was submitted. */
#include <report/run/alike_tasks.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include <report/run/label_groups.h>
#include <runtime/base/base.h>

static const struct pto_kernel kernels[] = {{.name = "a"}, {.name = "b"}, {.name = "c"}, {.name = "d"}};

static int setup(void **state) {
  struct pto_trace *trace = calloc(1, sizeof *trace);
  if (!trace || pto_trace_init(trace, PTO_RECORD_GRAPH | PTO_RECORD_TIMELINE, 1)) return -1;
  pto_trace_begin_run(trace, true);
  *state = trace;
  return 0;
}
static int teardown(void **state) {
  pto_trace_fini(*state);
  free(*state);
  return 0;
}

static void add_task(struct pto_trace *trace, size_t kernel, const char *label, uint64_t rows) {
  struct pto_trace_param param = {.mode = PTO_OUTPUT, .tensor = {.ndims = 1, .shape = {rows}, .dtype = PTO_FLOAT32}};
  const struct pto_trace_task task = {.number = trace->tasks.count,
                                      .kernels = {&kernels[kernel]},
                                      .label = label,
                                      .first_param = trace->params.count,
                                      .param_count = 1};
  *(struct pto_trace_param *)pto_trace_log_append(&trace->params) = param;
  *(struct pto_trace_task *)pto_trace_log_append(&trace->tasks) = task;
}

static json_t *write_and_load(const struct pto_trace *trace) {
  struct pto_label_groups labels;
  struct pto_alike_tasks alike;
  struct pto_error error;
  struct pto_json_writer *writer = calloc(1, sizeof *writer);
  FILE *file = tmpfile();
  assert_non_null(writer);
  assert_non_null(file);
  assert_int_equal(pto_label_groups_init(&labels, trace, &error), PTO_OK);
  assert_int_equal(pto_alike_tasks_init(&alike, trace, &labels.groups, &error), PTO_OK);
  pto_json_init(writer, fileno(file));
  pto_json_object_begin(writer);
  pto_alike_tasks_put(&alike, writer);
  pto_json_object_end(writer);
  assert_int_equal(pto_json_finish(writer), 0);
  rewind(file);
  json_t *root = json_loadf(file, 0, NULL), *found = json_incref(json_object_get(root, "alike_tasks"));
  assert_non_null(found);
  json_decref(root);
  fclose(file);
  free(writer);
  pto_alike_tasks_fini(&alike);
  pto_label_groups_fini(&labels);
  return found;
}

/* Calls `visit` with the group of each task, as the order says. */
static uint64_t each_task(json_t *found, void (*visit)(uint64_t task, json_t *group, void *context), void *context) {
  uint64_t task = 0;
  size_t i, k;
  json_t *repeat, *group;
  json_array_foreach(json_object_get(found, "order"), i, repeat) {
    for (json_int_t times = json_integer_value(json_array_get(repeat, 0)); times > 0; times--)
      json_array_foreach(json_array_get(repeat, 1), k, group)
        visit(task++, json_array_get(json_object_get(found, "groups"), (size_t)json_integer_value(group)), context);
  }
  return task;
}

static void is_kernel_of(uint64_t task, json_t *group, void *context) {
  const struct pto_trace_task *recorded = pto_trace_log_at(&((struct pto_trace *)context)->tasks, task);
  assert_string_equal(json_string_value(json_object_get(group, "kernels")), recorded->kernels[0]->name);
}

static const char *text_of(json_t *found, size_t group, const char *key) {
  return json_string_value(json_object_get(json_array_get(json_object_get(found, "groups"), group), key));
}

static void test_kernel_label_and_shape_make_a_group(void **state) {
  struct pto_trace *trace = *state;
  static char same[] = "row"; /* another address of an equal text */
  add_task(trace, 0, "row", 8);
  add_task(trace, 0, same, 8);
  add_task(trace, 0, "row", 9);
  add_task(trace, 0, NULL, 8);
  add_task(trace, 1, "row", 8);
  *(struct pto_trace_span *)pto_trace_log_append(&trace->spans[0]) = (struct pto_trace_span){2, 7, .task = 1};
  *(struct pto_trace_span *)pto_trace_log_append(&trace->spans[0]) = (struct pto_trace_span){9, 12, .task = 0};
  json_t *found = write_and_load(trace);
  assert_int_equal(json_array_size(json_object_get(found, "groups")), 4);
  assert_string_equal(text_of(found, 0, "kernels"), "a");
  assert_string_equal(text_of(found, 0, "label"), "row");
  assert_string_equal(text_of(found, 0, "tensors"), "OUTPUT f32 [8]");
  assert_null(text_of(found, 2, "label"));
  json_t *first = json_array_get(json_object_get(found, "groups"), 0);
  assert_int_equal(json_integer_value(json_object_get(first, "tasks")), 2);
  assert_int_equal(json_integer_value(json_object_get(first, "calls")), 2);
  assert_float_equal(json_number_value(json_object_get(first, "us")), 8e-6, 1e-9);
  json_decref(found);
}

static void test_threads_have_the_median_of_calls_that_are_alike(void **state) {
  const uint64_t ends[] = {3, 900, 5}; /* ns; the second one was interrupted */
  struct pto_trace *trace = *state;
  trace->is_virtual = false;
  for (uint64_t i = 0; i < 3; i++) {
    add_task(trace, 0, NULL, 8);
    *(struct pto_trace_span *)pto_trace_log_append(&trace->spans[0]) = (struct pto_trace_span){1, ends[i], .task = i};
  }
  add_task(trace, 1, NULL, 8); /* has no call */
  json_t *found = write_and_load(trace), *groups = json_object_get(found, "groups");
  assert_float_equal(json_number_value(json_object_get(json_array_get(groups, 0), "us")), 0.905, 1e-9);
  assert_float_equal(json_number_value(json_object_get(json_array_get(groups, 0), "median_us")), 0.004, 1e-9);
  assert_float_equal(json_number_value(json_object_get(json_array_get(groups, 1), "median_us")), 0, 1e-9);
  json_decref(found);
}

static void test_loops_in_loops_are_short(void **state) {
  struct pto_trace *trace = *state;
  for (int outer = 0; outer < 50; outer++) {
    add_task(trace, 1, NULL, 8);
    for (int inner = 0; inner < 20; inner++) add_task(trace, 0, NULL, 8);
  }
  add_task(trace, 2, NULL, 8);
  json_t *found = write_and_load(trace);
  assert_int_equal(json_array_size(json_object_get(found, "order")), 2);
  assert_int_equal(each_task(found, is_kernel_of, trace), trace->tasks.count);
  json_decref(found);
}

static void test_the_order_is_what_was_submitted(void **state) {
  struct pto_trace *trace = *state;
  struct pto_rng rng = {3};
  for (int round = 0; round < 60; round++) { /* stretches with a period, and without one */
    const uint64_t length = 1 + pto_rng_below(&rng, 30), period = 1 + pto_rng_below(&rng, 9);
    uint64_t kinds[9];
    for (uint64_t i = 0; i < period; i++) kinds[i] = pto_rng_below(&rng, 4);
    for (uint64_t i = 0; i < length; i++) add_task(trace, kinds[i % period], NULL, 8);
  }
  json_t *found = write_and_load(trace);
  assert_int_equal(each_task(found, is_kernel_of, trace), trace->tasks.count);
  assert_true(json_array_size(json_object_get(found, "order")) < trace->tasks.count / 3);
  json_decref(found);
}

static void test_where_each_task_has_a_label_and_shape_of_its_own_kernels_alone_count(void **state) {
  static char labels[PTO_ALIKE_MOST + 1][16];
  struct pto_trace *trace = *state;
  for (uint32_t i = 0; i <= PTO_ALIKE_MOST; i++) {
    snprintf(labels[i], sizeof labels[i], "task %u", i);
    add_task(trace, i % 2, labels[i], 8);
  }
  json_t *found = write_and_load(trace);
  assert_int_equal(json_array_size(json_object_get(found, "groups")), 2);
  assert_false(json_is_true(json_object_get(found, "has_labels")));
  assert_true(json_is_true(json_object_get(found, "has_tensors")));
  assert_null(text_of(found, 0, "label"));
  json_decref(found);
  for (uint32_t i = 0; i <= PTO_ALIKE_MOST; i++) add_task(trace, i % 2, labels[i], i + 9);
  found = write_and_load(trace);
  assert_int_equal(json_array_size(json_object_get(found, "groups")), 2);
  assert_false(json_is_true(json_object_get(found, "has_tensors")));
  assert_null(text_of(found, 0, "tensors"));
  assert_int_equal(each_task(found, is_kernel_of, trace), trace->tasks.count);
  json_decref(found);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_kernel_label_and_shape_make_a_group, setup, teardown),
      cmocka_unit_test_setup_teardown(test_threads_have_the_median_of_calls_that_are_alike, setup, teardown),
      cmocka_unit_test_setup_teardown(test_loops_in_loops_are_short, setup, teardown),
      cmocka_unit_test_setup_teardown(test_the_order_is_what_was_submitted, setup, teardown),
      cmocka_unit_test_setup_teardown(test_where_each_task_has_a_label_and_shape_of_its_own_kernels_alone_count, setup,
                                      teardown)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
