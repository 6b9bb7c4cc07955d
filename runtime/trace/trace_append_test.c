/* SPDX-License-Identifier: MIT */
/* Recordings of several runs as one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <runtime/trace/trace_append.h>
#include <string.h>

#include <runtime/tensor/region.h>
#include <runtime/trace/remote.h>
#include <runtime/trace/segment.h>

#define ADD(log, type, ...) (*(type *)pto_trace_log_append(log) = (type){__VA_ARGS__})

/* A run of two tasks, the second after the first, with one of every other record. */
static void make_run(struct pto_trace *trace) {
  assert_int_equal(pto_trace_init(trace, PTO_RECORD_GRAPH | PTO_RECORD_TIMELINE, 2), PTO_OK);
  pto_trace_begin_run(trace, true);
  ADD(&trace->scopes, struct pto_trace_scope, .serial = 0, .parent = UINT32_MAX, .end_task = UINT64_MAX);
  ADD(&trace->scopes, struct pto_trace_scope, .serial = 1, .parent = 0, .first_task = 0, .end_task = 2);
  ADD(&trace->tasks, struct pto_trace_task, .number = 0, .scope_serial = 1, .param_count = 1, .submit_time = 5);
  ADD(&trace->tasks, struct pto_trace_task, .number = 1, .scope_serial = 1, .param_count = 1, .first_param = 1,
      .edge_count = 1, .submit_time = 6);
  ADD(&trace->params, struct pto_trace_param, .buffer_number = 3);
  ADD(&trace->params, struct pto_trace_param, .buffer_number = 3);
  ADD(&trace->edges, struct pto_trace_edge, .producer = 0, .consumer = 1, .end = 64, .buffer_number = 3);
  ADD(&trace->host_accesses, struct pto_trace_host_access, .buffer_number = 4, .task_count = 2);
  ADD(&trace->samples, struct pto_trace_sample, .time = 7);
  ADD(&trace->control, struct pto_trace_control, .begin = 1, .end = 4, .task = 1);
  ADD(&trace->spans[0], struct pto_trace_span, .begin = 10, .end = 12, .task = 0);
  ADD(&trace->spans[1], struct pto_trace_span, .begin = 13, .end = 15, .task = 1, .worker = 1);
}

static void test_numbers_and_times_of_a_further_run_go_on(void **state) {
  struct pto_trace part, sum = {0};
  make_run(&part);
  assert_int_equal(pto_trace_append(&sum, &part, 0), PTO_OK);
  assert_int_equal(pto_trace_append(&sum, &part, 100), PTO_OK);
  assert_true(sum.is_virtual);
  assert_int_equal(sum.tasks.count, 4);
  const struct pto_trace_task *task = pto_trace_log_at(&sum.tasks, 3);
  assert_int_equal(task->number, 3);
  assert_int_equal(task->scope_serial, 3);
  assert_int_equal(task->first_param, 3);
  assert_int_equal(task->first_edge, 1);
  assert_int_equal(task->submit_time, 106);
  const struct pto_trace_scope *own = pto_trace_log_at(&sum.scopes, 2), *inner = pto_trace_log_at(&sum.scopes, 3);
  assert_int_equal(own->parent, UINT32_MAX);
  assert_int_equal(own->end_task, UINT64_MAX);
  assert_int_equal(inner->serial, 3);
  assert_int_equal(inner->parent, 2);
  assert_int_equal(inner->first_task, 2);
  assert_int_equal(inner->end_task, 4);
  const struct pto_trace_edge *edge = pto_trace_log_at(&sum.edges, 1);
  const struct pto_trace_param *param = pto_trace_log_at(&sum.params, 3);
  const struct pto_trace_host_access *access = pto_trace_log_at(&sum.host_accesses, 1);
  assert_int_equal(edge->producer, 2);
  assert_int_equal(edge->consumer, 3);
  assert_int_equal(param->buffer_number, 8); /* 0 to 4 are those of the first run */
  assert_int_equal(edge->buffer_number, 8);
  assert_int_equal(access->buffer_number, 9);
  assert_int_equal(access->task_count, 4);
  const struct pto_trace_control *control = pto_trace_log_at(&sum.control, 1);
  const struct pto_trace_span *span = pto_trace_log_at(&sum.spans[1], 1);
  assert_int_equal(((struct pto_trace_sample *)pto_trace_log_at(&sum.samples, 1))->time, 107);
  assert_int_equal(control->begin, 101);
  assert_int_equal(control->end, 104);
  assert_int_equal(control->task, 3);
  assert_int_equal(span->begin, 113);
  assert_int_equal(span->end, 115);
  assert_int_equal(span->task, 3);
  pto_trace_fini(&sum);
  pto_trace_fini(&part);
}

static void test_what_a_run_has_dropped_is_not_forgotten(void **state) {
  struct pto_trace part, sum = {0};
  make_run(&part);
  part.tasks.dropped = 1;
  part.edges.dropped = 2;
  part.spans[1].dropped = 4;
  assert_int_equal(pto_trace_append(&sum, &part, 0), PTO_OK);
  assert_int_equal(pto_trace_append(&sum, &part, 0), PTO_OK);
  assert_int_equal(pto_trace_dropped(&sum), 14);
  pto_trace_fini(&sum);
  pto_trace_fini(&part);
}

/* As that of a context with more workers than the one before it. */
static void test_spans_of_more_workers_share_the_logs_that_there_are(void **state) {
  struct pto_trace one, two, sum = {0};
  assert_int_equal(pto_trace_init(&one, PTO_RECORD_TIMELINE, 1), PTO_OK);
  pto_trace_begin_run(&one, true);
  make_run(&two);
  assert_int_equal(pto_trace_append(&sum, &one, 0), PTO_OK);
  two.record = PTO_RECORD_TIMELINE;
  two.tasks.count = two.params.count = two.edges.count = two.scopes.count = two.host_accesses.count = 0;
  assert_int_equal(pto_trace_append(&sum, &two, 0), PTO_OK);
  assert_int_equal(sum.span_log_count, 1);
  assert_int_equal(sum.spans[0].count, 2);
  pto_trace_fini(&sum);
  pto_trace_fini(&one);
  pto_trace_fini(&two);
}

/* As a context that is reported after another one and began before it. */
static void test_a_run_that_began_before_the_sum_moves_what_is_there_already(void **state) {
  struct pto_trace part, sum = {0};
  make_run(&part);
  part.start_ns = 1000;
  assert_int_equal(pto_trace_append(&sum, &part, 0), PTO_OK);
  assert_int_equal(pto_trace_append_shift(&sum, 1000), 0);
  assert_int_equal(pto_trace_append_shift(&sum, 1050), 50);
  assert_int_equal(((struct pto_trace_task *)pto_trace_log_at(&sum.tasks, 0))->submit_time, 5);
  assert_int_equal(pto_trace_append_shift(&sum, 900), 0);
  assert_int_equal(sum.start_ns, 900);
  assert_int_equal(pto_trace_append(&sum, &part, 0), PTO_OK);
  for (uint64_t i = 0; i < 2; i++) { /* 100 ns apart, the one that began first behind */
    const uint64_t begin = i ? 0 : 100;
    const struct pto_trace_control *control = pto_trace_log_at(&sum.control, i);
    const struct pto_trace_span *span = pto_trace_log_at(&sum.spans[1], i);
    assert_int_equal(((struct pto_trace_task *)pto_trace_log_at(&sum.tasks, 2 * i))->submit_time, begin + 5);
    assert_int_equal(((struct pto_trace_sample *)pto_trace_log_at(&sum.samples, i))->time, begin + 7);
    assert_true(control->begin == begin + 1 && control->end == begin + 4);
    assert_true(span->begin == begin + 13 && span->end == begin + 15);
  }
  assert_int_equal(pto_trace_append_shift(&sum, 1000), 100);
  pto_trace_fini(&sum);
  pto_trace_fini(&part);
}

/* As of a rank whose program drives contexts. */
static void test_what_went_to_other_ranks_refers_to_what_it_did_before(void **state) {
  struct pto_trace part, sum = {0};
  assert_int_equal(pto_trace_init(&part, PTO_RECORD_GRAPH | PTO_RECORD_TIMELINE | PTO_RECORD_SEGMENTS, 1), PTO_OK);
  pto_trace_begin_run(&part, true);
  memset(pto_trace_log_append(&part.tasks), 0, sizeof(struct pto_trace_task));
  for (uint64_t i = 0; i < 2; i++)
    *(struct pto_region *)pto_trace_log_append(&part.remote_regions) = (struct pto_region){.start = 10 + i};
  const struct pto_trace_remote records[] = {
      {.kind = PTO_REMOTE_MAKE, .sequence = 0, .task = PTO_SEGMENT_NO_TASK},
      {.kind = PTO_REMOTE_READ, .sequence = 0, .end = 3},
      {.kind = PTO_REMOTE_WRITE, .sequence = 1, .end = 4},
      {.kind = PTO_REMOTE_NOTIFY, .sequence = 7, .end = 5},
  };
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(records); i++)
    *(struct pto_trace_remote *)pto_trace_log_append(&part.remotes) = records[i];
  assert_int_equal(pto_trace_append(&sum, &part, 0), PTO_OK);
  assert_int_equal(pto_trace_append(&sum, &part, 100), PTO_OK);
  assert_int_equal(sum.remote_regions.count, 4);
  const uint64_t sequences[] = {1, 2, 3, 7}; /* tasks before; regions, which stand behind the first two; a message */
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(records); i++) {
    const struct pto_trace_remote *second = pto_trace_log_at(&sum.remotes, PTO_ARRAY_LENGTH(records) + i);
    assert_int_equal(second->sequence, sequences[i]);
    assert_int_equal(second->end, 100 + records[i].end);
  }
  pto_trace_fini(&sum);
  pto_trace_fini(&part);
}

static void test_without_logs_for_spans_there_are_none(void **state) {
  struct pto_trace part, sum;
  assert_int_equal(pto_trace_init(&sum, PTO_RECORD_GRAPH, 1), PTO_OK);
  assert_int_equal(pto_trace_init(&part, PTO_RECORD_GRAPH | PTO_RECORD_TIMELINE, 2), PTO_OK);
  pto_trace_begin_run(&part, true);
  *(struct pto_trace_span *)pto_trace_log_append(&part.spans[1]) = (struct pto_trace_span){.begin = 3, .end = 5};
  assert_int_equal(pto_trace_append(&sum, &part, 0), PTO_OK);
  assert_int_equal(sum.span_log_count, 0);
  pto_trace_fini(&sum);
  pto_trace_fini(&part);
}

/* The clock is the orchestrator's, a scheduler's with its number, or the resolver's. */
static void test_the_actor_of_a_segment_is_whose_clock_it_is(void **state) {
  assert_int_equal(pto_segment_actor(false, 3).kind, PTO_RESOURCE_ORCHESTRATOR);
  assert_int_equal(pto_segment_actor(false, 3).index, 0);
  assert_int_equal(pto_segment_actor(true, 3).kind, PTO_RESOURCE_SCHEDULER);
  assert_int_equal(pto_segment_actor(true, 3).index, 3);
  assert_int_equal(pto_segment_actor(true, UINT32_MAX).kind, PTO_RESOURCE_RESOLVER);
  assert_int_equal(pto_segment_actor(true, UINT32_MAX).index, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_went_to_other_ranks_refers_to_what_it_did_before),
      cmocka_unit_test(test_numbers_and_times_of_a_further_run_go_on),
      cmocka_unit_test(test_without_logs_for_spans_there_are_none),
      cmocka_unit_test(test_the_actor_of_a_segment_is_whose_clock_it_is),
      cmocka_unit_test(test_what_a_run_has_dropped_is_not_forgotten),
      cmocka_unit_test(test_spans_of_more_workers_share_the_logs_that_there_are),
      cmocka_unit_test(test_a_run_that_began_before_the_sum_moves_what_is_there_already),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
