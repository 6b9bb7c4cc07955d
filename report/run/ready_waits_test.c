/* SPDX-License-Identifier: MIT */
/* Tests of ready_waits.h on hand-made records. */
#include <report/run/ready_waits.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static int setup(void **state) {
  struct pto_trace *trace = calloc(1, sizeof *trace);
  if (!trace || pto_trace_init(trace, PTO_RECORD_GRAPH | PTO_RECORD_TIMELINE, 2)) return -1;
  pto_trace_begin_run(trace, true);
  *state = trace;
  return 0;
}
static int teardown(void **state) {
  pto_trace_fini(*state);
  free(*state);
  return 0;
}

/* A task, submitted until then, after the tasks before (UINT64_MAX: none). */
static struct pto_trace_task *add_task(struct pto_trace *trace, uint64_t submitted, uint64_t producer) {
  const uint64_t number = trace->tasks.count;
  struct pto_trace_task *task = pto_trace_log_append(&trace->tasks);
  *task = (struct pto_trace_task){
      .number = number, .block_count = 1, .first_edge = trace->edges.count, .edge_count = producer != UINT64_MAX};
  if (producer != UINT64_MAX)
    *(struct pto_trace_edge *)pto_trace_log_append(&trace->edges) =
        (struct pto_trace_edge){.producer = producer, .consumer = number, .is_first = 1};
  *(struct pto_trace_control *)pto_trace_log_append(&trace->control) =
      (struct pto_trace_control){.end = submitted, .activity = PTO_CONTROL_SUBMIT, .task = (uint32_t)number};
  return task;
}
static void add_block(struct pto_trace *trace, uint32_t task, uint32_t block, uint16_t core, uint64_t begin,
                      uint64_t end) {
  *(struct pto_trace_span *)pto_trace_log_append(&trace->spans[task % 2]) =
      (struct pto_trace_span){.begin = begin, .end = end, .task = task, .block_index = block, .core = core};
}
static void add_call(struct pto_trace *trace, uint32_t task, uint16_t core, uint64_t begin, uint64_t end) {
  add_block(trace, task, 0, core, begin, end);
}

static struct pto_ready_waits find(const struct pto_trace *trace, uint32_t aic, uint32_t aiv) {
  struct pto_ready_waits waits;
  struct pto_error error;
  assert_int_equal(pto_ready_waits_find(trace, (const uint32_t[]){aic, aiv}, &waits, &error), PTO_OK);
  return waits;
}
#define NONE UINT64_MAX

/* Task 0 runs from 0 to 100 on AIC core 0; task 1 needs nothing, is submitted at 20 and begins at 100 on the same core,
 * while the AIC of the other cluster, core 3, has nothing to do. */
static void test_a_core_that_idles_beside_a_ready_call_counts_from_the_submit_to_its_begin(void **state) {
  add_task(*state, 0, NONE);
  add_task(*state, 20, NONE);
  add_call(*state, 0, 0, 0, 100);
  add_call(*state, 1, 0, 100, 150);
  const struct pto_ready_waits waits = find(*state, 2, 4);
  assert_int_equal(waits.idle_ready[0], 80);
  assert_int_equal(waits.any_ready[0], 80);
  assert_int_equal(waits.idle_ready[1], 0); /* no work of that kind */
}

static void test_a_call_that_waits_for_the_only_core_leaves_none_idle(void **state) {
  add_task(*state, 0, NONE);
  add_task(*state, 20, NONE);
  add_call(*state, 0, 0, 0, 100);
  add_call(*state, 1, 0, 100, 150);
  assert_int_equal(find(*state, 1, 2).idle_ready[0], 0);
}

static void test_a_task_is_ready_when_its_producer_has_ended(void **state) {
  add_task(*state, 0, NONE);
  add_task(*state, 10, 0);
  add_call(*state, 0, 1, 0, 100);
  add_call(*state, 1, 2, 130, 150);
  const struct pto_ready_waits waits = find(*state, 1, 2);
  assert_int_equal(waits.idle_ready[1], 30); /* one waits, though two are idle */
  assert_int_equal(waits.any_ready[1], 30);
}

static void test_a_task_without_a_call_hands_on_when_it_was_ready(void **state) {
  add_task(*state, 0, NONE);
  add_task(*state, 120, 0); /* a barrier, submitted last of all that it needs */
  add_task(*state, 10, 1);
  add_call(*state, 0, 0, 0, 100);
  add_call(*state, 2, 0, 150, 160);
  assert_int_equal(find(*state, 1, 2).idle_ready[0], 30);
}

static void test_several_idle_cores_count_each_as_long_as_calls_wait(void **state) {
  for (uint32_t i = 0; i < 4; i++) add_task(*state, 0, NONE);
  add_call(*state, 0, 1, 0, 100);
  add_call(*state, 1, 2, 40, 50); /* waits 40 */
  add_call(*state, 2, 4, 60, 70); /* waits 60 */
  add_call(*state, 3, 5, 90, 95); /* waits 90 */
  /* until 40: three wait and three idle; until 50: two wait and two idle; until 60: two, and three idle; until 70: one
   * waits; until 90 as well */
  const struct pto_ready_waits waits = find(*state, 2, 4);
  assert_int_equal(waits.idle_ready[1], 3 * 40 + 2 * 10 + 2 * 10 + 1 * 10 + 1 * 20);
  assert_int_equal(waits.any_ready[1], 90);
}

static void test_blocks_in_turn_are_ready_one_after_another_and_others_all_at_once(void **state) {
  for (int is_sequential = 0; is_sequential < 2; is_sequential++) {
    pto_trace_begin_run(*state, true);
    struct pto_trace_task *task = add_task(*state, 0, NONE);
    task->block_count = 3;
    task->is_sequential = (uint16_t)is_sequential;
    add_block(*state, 0, 2, 1, 80, 100);
    add_block(*state, 0, 0, 1, 0, 30);
    add_block(*state, 0, 1, 2, 35, 80);
    const struct pto_ready_waits waits = find(*state, 1, 2);
    /* not in turn: until 30 one core is idle, and until 35 both while two wait; then one, until 80 */
    assert_int_equal(waits.idle_ready[1], is_sequential ? 5 : 30 + 2 * 5 + 45);
  }
}

static void test_what_passes_before_the_first_call_is_not_of_the_makespan(void **state) {
  add_task(*state, 0, NONE);
  add_task(*state, 500, NONE);
  add_call(*state, 0, 0, 400, 600);
  add_call(*state, 1, 3, 490, 600); /* begins before its submit ends, as another thread's clock has it */
  assert_int_equal(find(*state, 2, 4).idle_ready[0], 0);
}

static void test_a_record_without_tasks_says_nothing(void **state) {
  add_call(*state, 0, 0, 0, 10);
  const struct pto_ready_waits waits = find(*state, 2, 4);
  assert_int_equal(waits.idle_ready[0] + waits.idle_ready[1] + waits.any_ready[0] + waits.any_ready[1], 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(test_a_core_that_idles_beside_a_ready_call_counts_from_the_submit_to_its_begin),
      TEST(test_a_call_that_waits_for_the_only_core_leaves_none_idle),
      TEST(test_a_task_is_ready_when_its_producer_has_ended),
      TEST(test_a_task_without_a_call_hands_on_when_it_was_ready),
      TEST(test_several_idle_cores_count_each_as_long_as_calls_wait),
      TEST(test_blocks_in_turn_are_ready_one_after_another_and_others_all_at_once),
      TEST(test_what_passes_before_the_first_call_is_not_of_the_makespan),
      TEST(test_a_record_without_tasks_says_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
