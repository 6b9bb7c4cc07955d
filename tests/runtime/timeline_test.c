/* SPDX-License-Identifier: MIT */
/*
 * The timeline of a run on threads: whose time a moment of the control thread is.
 *
 * Kernels that it runs within submits and in rows between them, graphs of bench/support, empty tasks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include <bench/support/graph_run.h>
#include <runtime/control/control.h>
#include <runtime/trace/trace.h>

#define TASKS 8192u

static struct pto_runtime *run_recorded(const char *pattern, uint32_t workers) {
  /* No submit waits for a slot: what is run in such a wait is within the submit. */
  const struct pto_config config = {.size = sizeof config,
                                    .engine = "threads",
                                    .chip = "a2a3",
                                    .workers = workers,
                                    .window = 2 * TASKS,
                                    .record = PTO_RECORD_TIMELINE};
  struct pto_runtime *rt = NULL;
  struct pto_task_graph *graph = pto_task_graph_create(pattern, TASKS);
  assert_non_null(graph);
  assert_int_equal(pto_runtime_create(&config, &rt), PTO_OK);
  assert_true(pto_graph_run_ns(rt, graph, PTO_GRAPH_SCOPE_TASKS) > 0);
  pto_task_graph_destroy(graph);
  return rt;
}

static const struct pto_trace_control *submit_after(const struct pto_trace *trace, uint64_t *i) {
  for (; *i < trace->control.count; ++*i) {
    const struct pto_trace_control *control = pto_trace_log_at(&trace->control, *i);
    if (control->activity == PTO_CONTROL_SUBMIT) return control;
  }
  return NULL;
}

/* Spans and submits stand in the order of their times; none of the one may have time in common with one of the other.
 */
static void expect_apart(const struct pto_trace *trace) {
  const struct pto_trace_log *spans = &trace->spans[0];
  uint64_t s = 0, c = 0, last = 0;
  const struct pto_trace_control *submit = submit_after(trace, &c);
  while (s < spans->count || submit) {
    const struct pto_trace_span *span = s < spans->count ? pto_trace_log_at(spans, s) : NULL;
    const bool is_submit = submit && (!span || submit->end <= span->begin);
    const uint64_t begin = is_submit ? submit->begin : span->begin, end = is_submit ? submit->end : span->end;
    if (begin < last || end < begin)
      fail_msg("a span and a submit overlap: %s %llu", is_submit ? "submit" : "span",
               (unsigned long long)(is_submit ? c : s));
    last = end;
    if (is_submit) {
      c++;
      submit = submit_after(trace, &c);
    } else {
      s++;
    }
  }
}

static void test_no_moment_of_the_control_thread_is_both_of_a_submit_and_of_a_kernel(void **state) {
  static const char *const patterns[] = {"independent", "chain", "stencil_1d", "fork_join"};
  (void)state;
  for (uint32_t workers = 1; workers <= 2; workers++)
    for (size_t p = 0; p < PTO_ARRAY_LENGTH(patterns); p++) {
      struct pto_runtime *rt = run_recorded(patterns[p], workers);
      const struct pto_trace *trace = pto_runtime_trace(rt);
      assert_int_equal(pto_trace_dropped(trace), 0);
      if (workers == 1) assert_int_equal(trace->spans[0].count, TASKS);
      for (uint32_t w = 0; w < workers; w++) { /* 0 is the control thread, which this one is */
        assert_int_equal(trace->spans[w].writer_tid == (uint32_t)gettid(), w == 0);
        if (trace->spans[w].count) assert_int_not_equal(trace->spans[w].writer_tid, 0);
      }
      expect_apart(trace);
      pto_runtime_destroy(rt);
    }
}

static void test_a_run_with_one_thread_has_its_kernels_within_the_time_of_the_run(void **state) {
  (void)state;
  struct pto_runtime *rt = run_recorded("stencil_1d", 1);
  const struct pto_trace *trace = pto_runtime_trace(rt);
  const struct pto_trace_control *drain = pto_trace_log_at(&trace->control, trace->control.count - 1);
  const struct pto_trace_span *last = pto_trace_log_at(&trace->spans[0], TASKS - 1);
  assert_int_equal(drain->activity, PTO_CONTROL_WAIT);
  assert_true(last->end <= drain->end);
  assert_true(drain->end <= pto_trace_now_ns(trace)); /* the clock, now */
  pto_runtime_destroy(rt);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_moment_of_the_control_thread_is_both_of_a_submit_and_of_a_kernel),
      cmocka_unit_test(test_a_run_with_one_thread_has_its_kernels_within_the_time_of_the_run),
  };
  return cmocka_run_group_tests_name("timeline", tests, NULL, NULL);
}
