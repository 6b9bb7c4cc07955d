/* SPDX-License-Identifier: MIT */
/* A run whose logs are full goes on, and each log counts what it drops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/control/runtime_state.h>
#include <tests/support/runtime_fixture.h>

static struct fixture fixture;

static int all_kinds(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor t = fixture_bytes(f, 0, 64);
  const uint64_t index = 3;
  uint8_t value = 9;
  for (int i = 0; i < 3; i++) {
    fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
    pto_scope_label(rt, "a scope");
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &t), PTO_OK);
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &t), PTO_OK);
    fixture_expect(rt, pto_write_element(rt, &t, &index, &value), PTO_OK);
    fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  }
  fixture_expect(rt, pto_read_element(rt, &t, &index, &value), PTO_OK);
  assert_int_equal(value, 9);
  return 0;
}

static void a_run_with_full_logs_is_as_one_with_room(void **state) {
  static const char *const engines[] = {"virtual", "threads"};
  for (size_t e = 0; e < PTO_ARRAY_LENGTH(engines); e++) {
    memset(&fixture, 0, sizeof fixture);
    fixture.config = (struct pto_config){
        .engine = engines[e], .chip = "tiny", .record = PTO_RECORD_GRAPH | PTO_RECORD_TIMELINE | PTO_RECORD_SEGMENTS};
    fixture_open(&fixture);
    struct pto_trace *trace = &fixture.rt->trace;
    struct pto_trace_log *const logs[] = {&trace->tasks,   &trace->params,  &trace->edges,         &trace->scopes,
                                          &trace->samples, &trace->control, &trace->host_accesses, &trace->segments};
    const bool is_virtual = e == 0; /* which alone has segments */
    fixture_run(&fixture, all_kinds, PTO_OK);
    for (size_t i = 0; i < PTO_ARRAY_LENGTH(logs) - !is_virtual; i++) {
      assert_true(logs[i]->count > 0);
      assert_int_equal(logs[i]->dropped, 0);
    }
    const uint64_t tasks = trace->tasks.count;
    for (size_t full = 0; full < PTO_ARRAY_LENGTH(logs) - !is_virtual; full++) {
      const uint64_t capacity = logs[full]->capacity;
      logs[full]->capacity = 1; /* a log of segments without room is none */
      fixture_run(&fixture, all_kinds, PTO_OK);
      logs[full]->capacity = capacity;
      assert_int_equal(logs[full]->count, 1);
      if (!logs[full]->dropped) fail_msg("%s: log %zu dropped nothing", engines[e], full);
      assert_int_equal(pto_trace_dropped(trace), logs[full]->dropped);
    }
    if (is_virtual) {
      const uint64_t capacity = trace->costs.capacity;
      trace->costs.capacity = 0;
      fixture_run(&fixture, all_kinds, PTO_OK);
      trace->costs.capacity = capacity;
      assert_true(trace->costs.count == 0 && trace->costs.dropped > 0);
    }
    for (uint32_t i = 0; i < trace->span_log_count; i++) trace->spans[i].capacity = 0;
    fixture_run(&fixture, all_kinds, PTO_OK);
    assert_int_equal(pto_trace_dropped(trace), tasks);
    fixture_close(&fixture);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_run_with_full_logs_is_as_one_with_room),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
