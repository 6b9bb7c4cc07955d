/* SPDX-License-Identifier: MIT */
/* Tests of groups by label on hand-made graphs. */
#include <report/run/label_groups.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static int setup(void **state) {
  struct pto_trace *trace = calloc(1, sizeof *trace);
  if (!trace || pto_trace_init(trace, PTO_RECORD_GRAPH, 1)) return -1;
  pto_trace_begin_run(trace, false);
  *state = trace;
  return 0;
}
static int teardown(void **state) {
  pto_trace_fini(*state);
  free(*state);
  return 0;
}

static void add_scope(struct pto_trace *trace, uint32_t parent, const char *label) {
  const uint32_t serial = (uint32_t)trace->scopes.count;
  *(struct pto_trace_scope *)pto_trace_log_append(&trace->scopes) =
      (struct pto_trace_scope){.serial = serial, .parent = parent, .label = label};
}
static void add_task(struct pto_trace *trace, uint32_t scope, const char *label) {
  const uint64_t number = trace->tasks.count;
  *(struct pto_trace_task *)pto_trace_log_append(&trace->tasks) =
      (struct pto_trace_task){.number = number, .scope_serial = scope, .label = label};
}
static const char *name_of(const struct pto_label_groups *labels, uint64_t task) {
  return labels->groups.names[labels->groups.group_of[task]];
}

static void test_without_labels_there_are_no_groups(void **state) {
  struct pto_label_groups labels;
  struct pto_error error;
  add_scope(*state, UINT32_MAX, NULL);
  add_task(*state, 0, NULL);
  assert_int_equal(pto_label_groups_init(&labels, *state, &error), PTO_OK);
  assert_int_equal(labels.groups.count, 0);
  pto_label_groups_fini(&labels);
}

static void test_a_task_has_its_own_label_or_that_of_the_nearest_scope(void **state) {
  static char same[] = "row"; /* another address of an equal text */
  struct pto_label_groups labels;
  struct pto_error error;
  add_scope(*state, UINT32_MAX, NULL);
  add_scope(*state, 0, "sweep");
  add_scope(*state, 1, NULL);
  add_scope(*state, 1, "inner");
  add_task(*state, 0, NULL);
  add_task(*state, 2, NULL);
  add_task(*state, 3, NULL);
  add_task(*state, 3, "row");
  add_task(*state, 0, same);
  add_task(*state, 77, NULL); /* its scope did not fit into the log */
  assert_int_equal(pto_label_groups_init(&labels, *state, &error), PTO_OK);
  assert_int_equal(labels.groups.count, 4);
  assert_int_equal(labels.groups.task_count, 6);
  assert_string_equal(name_of(&labels, 1), "sweep");
  assert_string_equal(name_of(&labels, 2), "inner");
  assert_string_equal(name_of(&labels, 3), "row");
  assert_int_equal(labels.group_of[4], labels.group_of[3]);
  assert_int_equal(labels.group_of[0], 3);
  assert_int_equal(labels.group_of[5], 3);
  pto_label_groups_fini(&labels);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_without_labels_there_are_no_groups, setup, teardown),
      cmocka_unit_test_setup_teardown(test_a_task_has_its_own_label_or_that_of_the_nearest_scope, setup, teardown)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
