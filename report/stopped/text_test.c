/* SPDX-License-Identifier: MIT */
/* Tests of the text of a run that stopped. */
#include <report/stopped/stopped.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct pto_wait_picture picture;

static void test_text_of_any_length_ends_where_its_room_does(void **state) {
  char text[160 + 8];
  const struct pto_picture_node nodes[] = {{PTO_NODE_ORCHESTRATION, 0}, {PTO_NODE_TASK, 0}};
  struct pto_picture_task *task = &picture.tasks[0];
  picture.listed_task_count = 1;
  picture.doing.kind = PTO_DOING_SUBMIT;
  picture.doing.task_number = task->number = UINT64_MAX;
  picture.doing.heap_bytes = task->heap_bytes = UINT64_MAX;
  task->block_count = task->calls_left = UINT32_MAX;
  memset(task->kernels, 'k', sizeof task->kernels - 1);
  memset(picture.doing_kernels, 'k', sizeof picture.doing_kernels - 1);
  for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++)
    for (size_t size = 1; size <= 160; size++) {
      memset(text, '#', sizeof text);
      pto_stopped_node_text(&picture, nodes[i], true, text, size);
      assert_true(strlen(text) < size);
      for (size_t k = size; k < sizeof text; k++) assert_int_equal(text[k], '#');
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_text_of_any_length_ends_where_its_room_does)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
