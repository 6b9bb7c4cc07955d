/* SPDX-License-Identifier: MIT */
/*
 * For tests of the virtual engine: an engine with a timeline, driven by hand through its port.
 *
 * The chip (virtual_script.h): element 1 ps, byte 1 ps alone, two cores at the memory without loss; start 10, end 5,
 * dispatch 3, poll 2, complete 7, submit 20.
 */
#ifndef PTO_TESTS_VIRTUAL_BENCH_H
#define PTO_TESTS_VIRTUAL_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <tests/support/virtual_script.h>

#include <runtime/base/reserve.h>
#include <runtime/trace/segment.h>
#include <runtime/trace/trace.h>

/* An engine with its trace, whose logs are made by hand: its spans are used, and segments where they are asked for. */
struct bench {
  struct pto_chip chip;
  struct pto_port *port;
  struct pto_trace trace;
  struct pto_trace_log spans;
};

static inline void bench_add_log(struct pto_trace_log *log, uint32_t record_bytes) {
  assert_true(pto_reserve_init(&log->memory, 1 << 20));
  log->record_bytes = record_bytes;
  log->capacity = (1 << 20) / record_bytes;
}

static inline void bench_begin_as(struct bench *bench, struct pto_chip chip, uint32_t jitter_ppm, bool has_segments) {
  struct pto_error error;
  memset(bench, 0, sizeof *bench);
  pto_script_reset();
  bench->chip = chip;
  const struct pto_engine_config config = {.chip = &bench->chip, .jitter_ppm = jitter_ppm, .jitter_seed = 1};
  assert_int_equal(pto_engine_virtual_create(&config, &bench->port, &error), PTO_OK);
  bench_add_log(&bench->spans, sizeof(struct pto_trace_span));
  bench->trace = (struct pto_trace){
      .record = PTO_RECORD_TIMELINE, .is_virtual = true, .spans = &bench->spans, .span_log_count = 1};
  if (has_segments) {
    bench_add_log(&bench->trace.segments, sizeof(struct pto_trace_segment));
    bench_add_log(&bench->trace.costs, sizeof(struct pto_trace_cost));
  }
  bench->port->trace = &bench->trace;
  char sentence[64];
  assert_int_equal(bench->port->ops->begin_run(bench->port, sentence, sizeof sentence), PTO_OK);
}

static inline void bench_begin(struct bench *bench, struct pto_chip chip) { bench_begin_as(bench, chip, 0, false); }

static inline void bench_end(struct bench *bench) {
  bench->port->ops->end_run(bench->port);
  bench->port->ops->destroy(bench->port);
  pto_reserve_fini(&bench->spans.memory);
  pto_reserve_fini(&bench->trace.segments.memory);
  pto_reserve_fini(&bench->trace.costs.memory);
}

static inline void dispatch(struct bench *bench, struct pto_message message, uint64_t ready_at) {
  bench->port->ops->dispatch(bench->port, &message, ready_at, NULL);
}

static inline void submit(struct bench *bench, struct pto_message message) {
  pto_port_charge(bench->port, PTO_ACTOR_ORCHESTRATOR, PTO_WORK_SUBMIT, 1);
  dispatch(bench, message, bench->port->clock);
}

static inline void expect_nothing(struct bench *bench) {
  struct pto_completion completion;
  assert_int_equal(bench->port->ops->poll(bench->port, &completion, 1), 0);
}

static inline void expect_completion(struct bench *bench, uint32_t ticket, uint64_t clock) {
  struct pto_completion completions[8];
  assert_int_equal(bench->port->ops->poll(bench->port, completions, 8), 1);
  assert_int_equal(completions[0].ticket, ticket);
  assert_int_equal(bench->port->clock, clock);
}

static inline void wait_until(struct bench *bench, uint64_t clock) {
  bench->port->ops->wait(bench->port);
  assert_int_equal(bench->port->clock, clock);
}

static inline void expect_span(const struct bench *bench, uint32_t index, uint32_t task, uint64_t begin, uint64_t end) {
  const struct pto_trace_span *span = pto_trace_log_at(&bench->spans, index);
  assert_int_equal(span->task, task);
  assert_int_equal(span->begin, begin);
  assert_int_equal(span->end, end);
}

#endif
