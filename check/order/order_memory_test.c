/* SPDX-License-Identifier: MIT */
/*
 * The order check where memory is refused: each of its allocations fails once, and nothing is left behind.  On a record
 * made by hand, and without libdw, whose own allocations are not ours to refuse.
 */
#include <check/order/order_check.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tests/support/failing_malloc.h>
#include <tests/support/no_source_lines.h>

/* ---- a record with something of everything ---- */

static struct pto_trace trace;

/* Task i does this to bytes [begin, end) of one external memory, after the task before it where `is_after`. */
static void add_task(uint32_t mode, uint64_t begin, uint64_t end, bool is_after) {
  const uint64_t number = trace.tasks.count;
  struct pto_trace_task *task = pto_trace_log_append(&trace.tasks);
  struct pto_trace_param *param = pto_trace_log_append(&trace.params);
  *task = (struct pto_trace_task){.number = number,
                                  .block_count = 1,
                                  .param_count = 1,
                                  .first_param = trace.params.count - 1,
                                  .first_edge = trace.edges.count,
                                  .edge_count = is_after};
  *param = (struct pto_trace_param){.mode = mode, .buffer_number = 1};
  param->tensor = (struct pto_tensor){.buffer = {.base = 4096, .size_bytes = 4096},
                                      .start_offset = begin,
                                      .ndims = 1,
                                      .dtype = PTO_UINT8,
                                      .shape = {end - begin},
                                      .strides = {1}};
  if (!is_after) return;
  struct pto_trace_edge *edge = pto_trace_log_append(&trace.edges);
  *edge = (struct pto_trace_edge){.producer = number - 1, .consumer = number, .reason = PTO_EDGE_EXPLICIT};
}

static void make_record(void) {
  assert_int_equal(pto_trace_init(&trace, PTO_RECORD_GRAPH, 1), PTO_OK);
  struct pto_trace_scope *scope = pto_trace_log_append(&trace.scopes);
  *scope = (struct pto_trace_scope){.parent = UINT32_MAX, .end_task = UINT64_MAX};
  for (uint64_t i = 0; i < 40; i++) {
    add_task(PTO_INPUT, 0, 64, false);
    add_task(PTO_OUTPUT, i, i + 64, i % 2);
    add_task(PTO_INOUT, 0, 4096, i % 3 == 0);
  }
}

static void test_each_allocation_may_fail_and_leaves_nothing_behind(void **state) {
  (void)state;
  if (!PTO_HAS_FAILING_MALLOC) skip();
  make_record();
  const struct pto_order_question question = {.trace = &trace, .rules = PTO_DEPS_EXACT};
  const struct pto_order_question weaker = {.trace = &trace, .rules = PTO_DEPS_PTO};
  uint32_t failures = 0;
  uint64_t found = 0;
  for (bool is_reached = true; is_reached;) {
    struct pto_findings findings;
    struct pto_order_counts counts;
    struct pto_error error;
    const int64_t before = live_blocks;
    pto_findings_init(&findings);
    fail_countdown = failures + 1;
    int status = pto_order_check(&weaker, &findings, &counts, &error);
    if (status == PTO_OK) status = pto_order_check(&question, &findings, &counts, &error);
    is_reached = fail_countdown == 0;
    fail_countdown = 0;
    /* a sentence that could not be kept is counted, and findings say so */
    assert_true(status == PTO_OK || (is_reached && status == PTO_ENOMEM));
    assert_true(status || !is_reached || findings.is_short || findings.total);
    found = findings.total;
    pto_findings_fini(&findings);
    assert_int_equal(live_blocks, before);
    assert_true(++failures < 100000);
  }
  print_message("%u points of failure, %llu findings\n", failures - 1, (unsigned long long)found);
  assert_true(failures > 30 && found > 0);
  pto_trace_fini(&trace);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_allocation_may_fail_and_leaves_nothing_behind),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
