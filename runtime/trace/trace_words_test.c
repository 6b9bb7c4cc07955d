/* SPDX-License-Identifier: MIT */
/* Names of what a trace records, also where it recorded none or there is no room. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/trace/trace_words.h>

static const struct pto_kernel cube = {.name = "matmul"}, vector = {.name = "add"};

static void a_task_is_called_by_its_kernels_or_its_kind_and_its_label(void **state) {
  struct pto_trace_task task = {.kernels = {&cube, &vector, NULL}, .label = "layer 3"};
  char text[64];
  assert_string_equal(pto_trace_task_name(&task, text, sizeof text), "matmul + add \"layer 3\"");
  assert_string_equal(pto_trace_task_name(&task, text, 9), "matmul +");
  assert_string_equal(pto_trace_task_name(&task, text, 4), "mat");
  task = (struct pto_trace_task){.kind = PTO_TASK_BARRIER};
  assert_string_equal(pto_trace_task_name(&task, text, sizeof text), "barrier");
  task.kind = 77;
  assert_string_equal(pto_trace_task_name(&task, text, sizeof text), "?");
}

static void what_is_none_is_a_question_mark(void **state) {
  assert_string_equal(pto_mode_name(PTO_INOUT), "INOUT");
  assert_string_equal(pto_mode_name(99), "?");
  assert_string_equal(pto_edge_reason_name(PTO_EDGE_WAR), "WAR");
  assert_string_equal(pto_edge_reason_name(3), "?");
  assert_string_equal(pto_control_activity_name(PTO_CONTROL_TO_HOST), "to host");
  assert_string_equal(pto_control_activity_name(99), "?");
}

static void records_that_are_not_there_are_null(void **state) {
  struct pto_trace trace;
  assert_int_equal(pto_trace_init(&trace, PTO_RECORD_GRAPH, 1), PTO_OK);
  pto_trace_begin_run(&trace, true);
  struct pto_trace_task *task = pto_trace_log_append(&trace.tasks);
  *task = (struct pto_trace_task){.kernels = {&cube}, .first_param = 0, .param_count = 3}; /* one was dropped */
  for (uint32_t i = 0; i < 2; i++) {
    struct pto_trace_param *param = pto_trace_log_append(&trace.params);
    *param = (struct pto_trace_param){.index = i};
  }
  assert_ptr_equal(pto_trace_task_kernel(&trace, 0, 0), &cube);
  assert_null(pto_trace_task_kernel(&trace, 0, 3));
  assert_null(pto_trace_task_kernel(&trace, 1, 0));
  assert_int_equal(pto_trace_param_of(&trace, task, 1)->index, 1);
  assert_null(pto_trace_param_of(&trace, task, 2));
  task->param_count = 1;
  assert_null(pto_trace_param_of(&trace, task, 1));
  pto_trace_fini(&trace);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_task_is_called_by_its_kernels_or_its_kind_and_its_label),
      cmocka_unit_test(what_is_none_is_a_question_mark),
      cmocka_unit_test(records_that_are_not_there_are_null),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
