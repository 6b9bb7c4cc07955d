/* SPDX-License-Identifier: MIT */
/* Tests of the trace's logs: what is reserved for which record bits, full logs, further runs, refused memory. */
#include <runtime/trace/trace.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_nothing_is_reserved_where_nothing_is_recorded(void **state) {
  struct pto_trace trace;
  assert_int_equal(pto_trace_init(&trace, 0, 4), PTO_OK);
  assert_null(trace.tasks.memory.addr);
  assert_null(trace.spans);
  assert_null(pto_trace_log_append(&trace.tasks));
  assert_int_equal(pto_trace_dropped(&trace), 1);
  pto_trace_fini(&trace);
}

static void test_a_graph_has_tasks_params_edges_scopes_and_host_accesses_but_no_spans(void **state) {
  struct pto_trace trace;
  assert_int_equal(pto_trace_init(&trace, PTO_RECORD_GRAPH, 4), PTO_OK);
  assert_true(trace.tasks.capacity && trace.params.capacity && trace.edges.capacity);
  assert_int_equal(trace.samples.capacity + trace.control.capacity + trace.span_log_count, 0);
  assert_int_equal(trace.tasks.record_bytes, sizeof(struct pto_trace_task));
  assert_int_equal(trace.params.record_bytes, sizeof(struct pto_trace_param));
  assert_int_equal(trace.edges.record_bytes, sizeof(struct pto_trace_edge));
  assert_int_equal(trace.scopes.record_bytes, sizeof(struct pto_trace_scope));
  assert_int_equal(trace.host_accesses.record_bytes, sizeof(struct pto_trace_host_access));
  assert_true(pto_trace_has_graph(&trace));
  assert_false(pto_trace_has_timeline(&trace));
  pto_trace_fini(&trace);
}

static void test_a_timeline_has_a_span_log_for_each_worker_on_lines_of_their_own(void **state) {
  struct pto_trace trace;
  assert_int_equal(pto_trace_init(&trace, PTO_RECORD_TIMELINE, 73), PTO_OK);
  assert_int_equal(trace.span_log_count, 73);
  assert_int_equal((uintptr_t)trace.spans % PTO_CACHE_LINE, 0);
  for (uint32_t i = 0; i < 73; i++) {
    struct pto_trace_span *span = pto_trace_log_append(&trace.spans[i]);
    assert_non_null(span);
    span->task = i;
  }
  for (uint32_t i = 0; i < 73; i++)
    assert_int_equal(((struct pto_trace_span *)pto_trace_log_at(&trace.spans[i], 0))->task, i);
  assert_int_equal(trace.tasks.capacity + trace.edges.capacity, 0);
  pto_trace_fini(&trace);
}

static void test_records_keep_their_place_and_a_full_log_counts_what_it_drops(void **state) {
  struct pto_trace trace;
  assert_int_equal(pto_trace_init(&trace, PTO_RECORD_GRAPH, 1), PTO_OK);
  trace.edges.capacity = 3;
  for (uint64_t i = 0; i < 5; i++) {
    struct pto_trace_edge *edge = pto_trace_log_append(&trace.edges);
    assert_int_equal(edge == NULL, i >= 3);
    if (edge) edge->producer = 100 + i;
  }
  assert_int_equal(trace.edges.count, 3);
  assert_int_equal(trace.edges.dropped, 2);
  assert_int_equal(pto_trace_dropped(&trace), 2);
  for (uint64_t i = 0; i < 3; i++)
    assert_int_equal(((struct pto_trace_edge *)pto_trace_log_at(&trace.edges, i))->producer, 100 + i);
  pto_trace_fini(&trace);
}

static void test_the_last_record_of_each_log_lies_inside_its_memory(void **state) {
  struct pto_trace trace;
  assert_int_equal(pto_trace_init(&trace, PTO_RECORD_GRAPH | PTO_RECORD_TIMELINE, 1), PTO_OK);
  struct pto_trace_log *logs[] = {&trace.tasks,         &trace.params,  &trace.edges,   &trace.scopes,
                                  &trace.host_accesses, &trace.samples, &trace.control, trace.spans};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(logs); i++) {
    assert_true(logs[i]->capacity * logs[i]->record_bytes <= logs[i]->memory.size_bytes);
    logs[i]->count = logs[i]->capacity - 1;
    char *last = pto_trace_log_append(logs[i]);
    assert_non_null(last);
    last[logs[i]->record_bytes - 1] = 1;
  }
  pto_trace_fini(&trace);
}

static void test_a_further_run_starts_empty_in_its_own_unit_of_time(void **state) {
  struct pto_trace trace;
  assert_int_equal(pto_trace_init(&trace, PTO_RECORD_GRAPH | PTO_RECORD_TIMELINE, 2), PTO_OK);
  pto_trace_begin_run(&trace, true);
  assert_true(trace.is_virtual);
  assert_non_null(pto_trace_log_append(&trace.tasks));
  assert_non_null(pto_trace_log_append(&trace.spans[1]));
  assert_non_null(pto_trace_log_append(&trace.scopes));
  assert_non_null(pto_trace_log_append(&trace.host_accesses));
  trace.samples.capacity = 0;
  assert_null(pto_trace_log_append(&trace.samples));
  pto_trace_begin_run(&trace, false);
  assert_false(trace.is_virtual);
  assert_int_equal(trace.tasks.count + trace.spans[1].count + pto_trace_dropped(&trace), 0);
  assert_int_equal(trace.scopes.count + trace.host_accesses.count, 0);
  pto_trace_fini(&trace);
}

static void test_the_clock_counts_from_the_begin_of_the_run_and_never_goes_back(void **state) {
  struct pto_trace trace;
  assert_int_equal(pto_trace_init(&trace, PTO_RECORD_TIMELINE, 1), PTO_OK);
  pto_trace_begin_run(&trace, false);
  uint64_t before = pto_trace_now_ns(&trace);
  for (int i = 0; i < 1000; i++) {
    uint64_t now = pto_trace_now_ns(&trace);
    assert_true(now >= before);
    before = now;
  }
  /* Counted from the begin, not from the machine's boot: an hour would be a very slow test. */
  assert_true(before < UINT64_C(3600000000000));
  pto_trace_fini(&trace);
}

/* A reading between two of the clock is between them in nanoseconds, too; 2 ms is what the two may be off where the
 * system takes the processor away between readings of both clocks. */
static void test_times_in_ticks_become_nanoseconds_of_the_clock(void **state) {
  enum { READINGS = 64, OFF_NS = 2000000, LEAST_NS = 20000000 };
  uint64_t before[READINGS], after[READINGS];
  struct pto_trace trace;
  assert_int_equal(pto_trace_init(&trace, PTO_RECORD_TIMELINE | PTO_RECORD_GRAPH, 1), PTO_OK);
  pto_trace_begin_run(&trace, false);
  for (uint64_t i = 0; i < READINGS; i++) {
    while (pto_trace_now_ns(&trace) < i * LEAST_NS / READINGS) {
    }
    before[i] = pto_trace_now_ns(&trace);
    const uint64_t now = pto_trace_now(&trace);
    *(struct pto_trace_span *)pto_trace_log_append(&trace.spans[0]) = (struct pto_trace_span){.begin = now, .end = now};
    *(struct pto_trace_control *)pto_trace_log_append(&trace.control) =
        (struct pto_trace_control){.begin = now, .end = now};
    *(struct pto_trace_sample *)pto_trace_log_append(&trace.samples) = (struct pto_trace_sample){.time = now};
    *(struct pto_trace_task *)pto_trace_log_append(&trace.tasks) = (struct pto_trace_task){.submit_time = now};
    after[i] = pto_trace_now_ns(&trace);
  }
  for (int again = 0; again < 2; again++) pto_trace_end_run(&trace); /* the second changes nothing */
  for (uint64_t i = 0; i < READINGS; i++) {
    const struct pto_trace_span *span = pto_trace_log_at(&trace.spans[0], i);
    const struct pto_trace_control *control = pto_trace_log_at(&trace.control, i);
    assert_in_range(span->begin + OFF_NS, before[i], after[i] + 2 * OFF_NS);
    assert_int_equal(span->end, span->begin);
    assert_int_equal(control->begin, span->begin);
    assert_int_equal(control->end, span->begin);
    assert_int_equal(((struct pto_trace_sample *)pto_trace_log_at(&trace.samples, i))->time, span->begin);
    assert_int_equal(((struct pto_trace_task *)pto_trace_log_at(&trace.tasks, i))->submit_time, span->begin);
  }
  pto_trace_fini(&trace);
}

static void test_virtual_times_are_left_as_they_are(void **state) {
  struct pto_trace trace;
  assert_int_equal(pto_trace_init(&trace, PTO_RECORD_TIMELINE, 1), PTO_OK);
  pto_trace_begin_run(&trace, true);
  *(struct pto_trace_span *)pto_trace_log_append(&trace.spans[0]) = (struct pto_trace_span){.begin = 7, .end = 70001};
  pto_trace_end_run(&trace);
  const struct pto_trace_span *span = pto_trace_log_at(&trace.spans[0], 0);
  assert_int_equal(span->begin, 7);
  assert_int_equal(span->end, 70001);
  pto_trace_fini(&trace);
}

static void test_a_reserve_that_is_refused_once_gives_half_a_log(void **state) {
  struct pto_trace whole, half;
  assert_int_equal(pto_trace_init(&whole, PTO_RECORD_GRAPH, 1), PTO_OK);
  pto_reserve_fail_countdown = 1;
  assert_int_equal(pto_trace_init(&half, PTO_RECORD_GRAPH, 1), PTO_OK);
  assert_int_equal(half.tasks.capacity, whole.tasks.capacity / 2);
  assert_int_equal(half.params.capacity, whole.params.capacity);
  pto_trace_fini(&half);
  pto_trace_fini(&whole);
}

static void test_no_memory_for_the_span_logs_leaves_a_zeroed_trace(void **state) {
  struct pto_trace trace, zero;
  memset(&zero, 0, sizeof zero);
  pto_reserve_fail_countdown = 3; /* samples, control, the array of logs */
  assert_int_equal(pto_trace_init(&trace, PTO_RECORD_TIMELINE, 3), PTO_ENOMEM);
  assert_memory_equal(&trace, &zero, sizeof zero);
  pto_trace_fini(&trace);
}

static void test_no_memory_for_any_log_leaves_a_zeroed_trace(void **state) {
  const uint32_t all = PTO_RECORD_GRAPH | PTO_RECORD_TIMELINE | PTO_RECORD_SEGMENTS;
  struct pto_trace trace, zero;
  int status = PTO_ENOMEM;
  uint32_t refused = 0;
  memset(&zero, 0, sizeof zero);
  pto_reserve_fail_stays = true;
  for (uint32_t n = 1; status != PTO_OK; n++) {
    pto_reserve_fail_countdown = n;
    status = pto_trace_init(&trace, all, 2);
    pto_reserve_fail_countdown = 0;
    refused += status != PTO_OK;
    if (status == PTO_OK) continue;
    assert_int_equal(status, PTO_ENOMEM);
    assert_memory_equal(&trace, &zero, sizeof zero);
  }
  pto_reserve_fail_stays = false;
  assert_int_equal(refused, 5 + 2 + 4 + 1 + 2); /* graph, samples and control, segments, logs of spans */
  pto_trace_fini(&trace);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_nothing_is_reserved_where_nothing_is_recorded),
      cmocka_unit_test(test_a_graph_has_tasks_params_edges_scopes_and_host_accesses_but_no_spans),
      cmocka_unit_test(test_a_timeline_has_a_span_log_for_each_worker_on_lines_of_their_own),
      cmocka_unit_test(test_records_keep_their_place_and_a_full_log_counts_what_it_drops),
      cmocka_unit_test(test_the_last_record_of_each_log_lies_inside_its_memory),
      cmocka_unit_test(test_a_further_run_starts_empty_in_its_own_unit_of_time),
      cmocka_unit_test(test_the_clock_counts_from_the_begin_of_the_run_and_never_goes_back),
      cmocka_unit_test(test_times_in_ticks_become_nanoseconds_of_the_clock),
      cmocka_unit_test(test_virtual_times_are_left_as_they_are),
      cmocka_unit_test(test_a_reserve_that_is_refused_once_gives_half_a_log),
      cmocka_unit_test(test_no_memory_for_the_span_logs_leaves_a_zeroed_trace),
      cmocka_unit_test(test_no_memory_for_any_log_leaves_a_zeroed_trace),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
