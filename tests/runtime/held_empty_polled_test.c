/* SPDX-License-Identifier: MIT */
/*
 * Parameters that are held, tasks without kernels, outputs that begin with a value, and orchestrations that poll
 * memory: on threads, in virtual time and, recorded, on the serial port.
 *
 * To add one: an orchestration, and a test that runs it on every engine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/base/atomic.h>
#include <runtime/control/runtime_state.h>
#include <runtime/deps/rules.h>
#include <runtime/trace/trace_words.h>
#include <tests/support/runtime_fixture.h>

static struct fixture fixture;
static const char *const engines[] = {"threads", "virtual", NULL}; /* NULL: the serial port */

static void open_on(const char *engine, uint32_t deps) {
  fixture = (struct fixture){.config = {.engine = engine, .deps = deps, .workers = 2, .record = PTO_RECORD_GRAPH}};
  fixture_open(&fixture);
}
/* On every engine, under both rules; `look` after each. */
static void run_everywhere(int (*body)(struct pto_runtime *, struct fixture *), void (*look)(uint32_t deps)) {
  for (size_t e = 0; e < PTO_ARRAY_LENGTH(engines); e++)
    for (uint32_t deps = PTO_DEPS_EXACT; deps <= PTO_DEPS_PTO; deps++) {
      open_on(engines[e], deps);
      fixture_run(&fixture, body, PTO_OK);
      look(deps);
      fixture_close(&fixture);
    }
}

static int increase(const struct pto_kernel_args *a) {
  for (uint32_t i = 0; i < a->tensor_count; i++)
    for (uint64_t k = 0; k < a->tensors[i].shape[0]; k++) ((uint8_t *)a->tensors[i].addr)[k]++;
  return 0;
}

static uint8_t byte_at(struct pto_runtime *rt, const struct pto_tensor *t, uint64_t index) {
  uint8_t value = 0;
  fixture_expect(rt, pto_read_element(rt, t, &index, &value), PTO_OK);
  return value;
}

/* ---- held ---- */

static int holds_what_others_write(struct pto_runtime *rt, struct fixture *f) {
  (void)f;
  struct pto_tensor t = fixture_managed(rt, 64), other = fixture_bytes(f, 0, 64);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &t), PTO_OK); /* 0 */
  const struct pto_param held[] = {pto_hold(&t), pto_output(&other)};
  const struct pto_launch launch = {.aiv0 = fixture_kernel("io")};
  fixture_expect(rt, pto_submit(rt, &launch, held, 2, NULL), PTO_OK); /* 1: lists say input */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &t), PTO_OK);            /* 2: not after 1 */
  const struct pto_launch empty = {.size = sizeof empty, .no_kernel = true};
  fixture_expect(rt, pto_submit(rt, &empty, held, 1, NULL), PTO_OK); /* 3 */
  const struct pto_param twice[] = {pto_hold(&t), pto_inout(&t)};    /* the same bytes: no conflict */
  const struct pto_launch both = {.aiv0 = fixture_kernel("bb")};
  fixture_expect(rt, pto_submit(rt, &both, twice, 2, NULL), PTO_OK); /* 4 */
  return 0;
}
static void look_at_held(uint32_t deps) {
  const uint32_t creator = deps == PTO_DEPS_PTO ? PTO_EDGE_CREATOR : 0;
  assert_int_equal(fixture_reasons(fixture.rt, 0, 1), creator);
  assert_int_equal(fixture_reasons(fixture.rt, 1, 2), 0);
  assert_int_equal(fixture_reasons(fixture.rt, 0, 3), creator);
  assert_int_equal(fixture_reasons(fixture.rt, 2, 3), 0);
  assert_int_equal(fixture_reasons(fixture.rt, 2, 4), PTO_EDGE_RAW | PTO_EDGE_WAW | (deps ? 0 : PTO_EDGE_WAR));
  assert_int_equal(fixture_reasons(fixture.rt, 3, 4), 0);
  const struct pto_trace *trace = pto_runtime_trace(fixture.rt);
  const struct pto_trace_task *task = pto_trace_log_at(&trace->tasks, 1);
  const struct pto_trace_param *param = pto_trace_param_of(trace, task, 0);
  assert_string_equal(pto_mode_name(param->mode), "HOLD");
}
static void test_a_held_parameter_orders_nothing_but_by_creator_edges(void **state) {
  (void)state;
  run_everywhere(holds_what_others_write, look_at_held);
}

/* Its memory stays: heaps have room for one buffer. */
static int held_memory_stays(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor outer = fixture_bytes(f, 0, 8);
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  struct pto_tensor t = fixture_managed(rt, 64);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &t), PTO_OK);
  const struct pto_param params[] = {pto_hold(&t), pto_inout(&outer)};
  const struct pto_launch launch = {.aiv0 = fixture_kernel("bb")};
  fixture_expect(rt, pto_submit(rt, &launch, params, 2, NULL), PTO_OK);
  const uint32_t owner = pto_buffer_registry_lookup(&rt->buffers, &t.buffer)->owner_slot;
  assert_int_equal(rt->rings.slots[owner].holders, 1);
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  assert_int_equal(rt->rings.slots[owner].holders, 1);
  fixture_drain(rt);
  assert_int_equal(rt->rings.slots[owner].holders, 0);
  return 0;
}
static void test_held_memory_stays_until_the_task_is_done(void **state) {
  (void)state;
  open_on(NULL, PTO_DEPS_EXACT);
  fixture_run(&fixture, held_memory_stays, PTO_OK);
  fixture_close(&fixture);
}

static int holds_nothing(struct pto_runtime *rt, struct fixture *f) {
  (void)f;
  struct pto_tensor t = fixture_managed(rt, 64);
  const struct pto_param param = pto_hold(&t);
  const struct pto_launch launch = {.aiv0 = fixture_kernel("i")};
  fixture_expect(rt, pto_submit(rt, &launch, &param, 1, NULL), PTO_EINVAL);
  fixture_expect_sentence(rt, "param 0 (hold) uses buffer 1, which nothing has written yet");
  return 0;
}
static void test_what_has_no_memory_cannot_be_held(void **state) {
  (void)state;
  open_on(NULL, PTO_DEPS_EXACT);
  fixture_run(&fixture, holds_nothing, PTO_OK);
  fixture_close(&fixture);
}

/* ---- without a kernel ---- */

static int empty_between(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor x = fixture_bytes(f, 0, 64), y = fixture_bytes(f, 64, 64), made = fixture_managed(rt, 32);
  struct pto_kernel add = fixture_kernel_with("b", 0, increase);
  memset(f->memory, 3, 128);
  fixture_expect(rt, pto_submit_aiv(rt, &add, (struct pto_param[]){pto_inout(&x)}, 1), PTO_OK); /* 0 */
  struct pto_task empty;
  const struct pto_launch launch = {.size = sizeof launch, .no_kernel = true};
  const struct pto_param params[] = {pto_input(&x), pto_inout(&y), pto_output(&made), pto_scalar_u64(7)};
  fixture_expect(rt, pto_submit(rt, &launch, params, 4, &empty), PTO_OK);                       /* 1 */
  fixture_expect(rt, pto_submit_aiv(rt, &add, (struct pto_param[]){pto_inout(&y)}, 1), PTO_OK); /* 2 */
  const struct pto_launch after = {.aiv0 = fixture_kernel("o"), .after = &empty, .after_count = 1};
  fixture_expect(rt, pto_submit(rt, &after, (struct pto_param[]){pto_output(&made)}, 1, NULL), PTO_OK); /* 3 */
  assert_int_not_equal(pto_get_buffer_addr(rt, made.buffer), 0);
  assert_int_equal(byte_at(rt, &x, 5), 4);
  assert_int_equal(byte_at(rt, &y, 5), 4);
  return 0;
}
static void look_at_empty(uint32_t deps) {
  const uint32_t creator = deps == PTO_DEPS_PTO ? PTO_EDGE_CREATOR : 0;
  assert_int_equal(fixture_reasons(fixture.rt, 0, 1), PTO_EDGE_RAW);
  assert_int_equal(fixture_reasons(fixture.rt, 1, 2), PTO_EDGE_RAW | PTO_EDGE_WAW | (deps ? 0 : PTO_EDGE_WAR));
  assert_int_equal(fixture_reasons(fixture.rt, 1, 3), PTO_EDGE_EXPLICIT | PTO_EDGE_WAW | creator);
  const struct pto_trace_task *task = pto_trace_log_at(&pto_runtime_trace(fixture.rt)->tasks, 1);
  char name[32];
  assert_int_equal(task->kind, PTO_TASK_EMPTY);
  assert_string_equal(pto_trace_task_name(task, name, sizeof name), "empty");
}
static void test_a_task_without_kernels_has_edges_and_outputs_as_any(void **state) {
  (void)state;
  run_everywhere(empty_between, look_at_empty);
}

static int empty_with_kernel(struct pto_runtime *rt, struct fixture *f) {
  (void)f;
  const struct pto_launch launches[] = {
      {.size = sizeof launches[0], .no_kernel = true, .aiv0 = fixture_kernel("i")},
      {.size = sizeof launches[0], .no_kernel = true, .block_count = 2},
      {.size = sizeof launches[0], .no_kernel = true, .sync_start = true},
  };
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(launches); i++) {
    fixture_expect(rt, pto_submit(rt, &launches[i], NULL, 0, NULL), PTO_EINVAL);
    fixture_expect_sentence(rt, "no_kernel: the launch has a kernel, or blocks, or sync_start");
  }
  return 0;
}
static void test_a_launch_without_kernels_has_none_and_no_blocks(void **state) {
  (void)state;
  open_on(NULL, PTO_DEPS_EXACT);
  fixture_run(&fixture, empty_with_kernel, PTO_OK);
  fixture_close(&fixture);
}

/* ---- initial values ---- */

static int begins_with(struct pto_runtime *rt, struct fixture *f) {
  (void)f;
  struct pto_tensor sum = fixture_managed(rt, 64), out = fixture_managed(rt, 32);
  const uint64_t shape[] = {5};
  struct pto_tensor words = pto_managed_tensor(rt, pto_create_buffer(rt, 20), PTO_INT32, 1, shape);
  struct pto_kernel add = fixture_kernel_with("b", 0, increase);
  const struct pto_initial first = {.param = 0, .bits = 41}, third = {.param = 1, .bits = UINT64_C(0xfffffffe)};
  const struct pto_launch launch = {.size = sizeof launch, .aiv0 = &add, .initial = &first, .initial_count = 1};
  fixture_expect(rt, pto_submit(rt, &launch, (struct pto_param[]){pto_inout(&sum)}, 1, NULL), PTO_OK);
  const struct pto_launch empty = {.size = sizeof empty, .no_kernel = true, .initial = &third, .initial_count = 1};
  fixture_expect(rt, pto_submit(rt, &empty, (struct pto_param[]){pto_output(&out), pto_output(&words)}, 2, NULL),
                 PTO_OK);
  for (uint64_t i = 0; i < 64; i++) assert_int_equal(byte_at(rt, &sum, i), 42);
  for (uint64_t i = 0; i < 5; i++) {
    int32_t value = 0;
    fixture_expect(rt, pto_read_element(rt, &words, &i, &value), PTO_OK);
    assert_int_equal(value, -2);
  }
  return 0;
}
static void look_at_initial(uint32_t deps) {
  (void)deps;
  const struct pto_trace *trace = pto_runtime_trace(fixture.rt);
  const struct pto_trace_param *param = pto_trace_param_of(trace, pto_trace_log_at(&trace->tasks, 0), 0);
  assert_true(param->has_initial && param->initial_bits == 41);
  assert_false(pto_trace_param_of(trace, pto_trace_log_at(&trace->tasks, 1), 0)->has_initial);
}
static void test_an_output_begins_with_its_value(void **state) {
  (void)state;
  run_everywhere(begins_with, look_at_initial);
}

static int wrong_initials(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor x = fixture_bytes(f, 0, 8), fresh = fixture_managed(rt, 8);
  const struct pto_initial first = {.param = 0}, second = {.param = 1}, third = {.param = 2};
  struct pto_launch launch = {
      .size = sizeof launch, .aiv0 = fixture_kernel("os"), .initial = &first, .initial_count = 1};
  const struct pto_param has_memory[] = {pto_output(&x), pto_scalar_u64(1)};
  fixture_expect(rt, pto_submit(rt, &launch, has_memory, 2, NULL), PTO_EINVAL);
  fixture_expect_sentence(rt, "param 0 has an initial value, but it does not get its memory now");
  const struct pto_param gets[] = {pto_output(&fresh), pto_scalar_u64(1)};
  launch.initial = &second;
  fixture_expect(rt, pto_submit(rt, &launch, gets, 2, NULL), PTO_EINVAL);
  fixture_expect_sentence(rt, "initial 0 is for param 1, which is no tensor");
  launch.initial = &third;
  fixture_expect(rt, pto_submit(rt, &launch, gets, 2, NULL), PTO_EINVAL);
  launch.initial = NULL;
  fixture_expect(rt, pto_submit(rt, &launch, gets, 2, NULL), PTO_EINVAL);
  fixture_expect_sentence(rt, "initial values at a null pointer");
  assert_int_equal(pto_get_buffer_addr(rt, fresh.buffer), 0);
  return 0;
}
static void test_initial_values_are_for_what_gets_its_memory(void **state) {
  (void)state;
  open_on(NULL, PTO_DEPS_EXACT);
  fixture_run(&fixture, wrong_initials, PTO_OK);
  fixture_close(&fixture);
}

/* ---- polling ---- */

static int set_flag(const struct pto_kernel_args *a) {
  pto_atomic_store((_Atomic uint32_t *)a->tensors[0].addr, 1, memory_order_release);
  return 0;
}

static uint32_t flag_of(struct fixture *f) {
  return pto_atomic_load((_Atomic uint32_t *)(void *)f->memory, memory_order_acquire);
}

static int polls(struct pto_runtime *rt, struct fixture *f) {
  const uint64_t shape[] = {1};
  static struct pto_kernel set; /* the last tasks of a round may run when this has returned */
  uint32_t calls = 0;
  set = fixture_kernel_with("o", 0, set_flag);
  for (int round = 0; round < 3; round++) {
    /* atomic: tasks of the round before may run still */
    pto_atomic_store((_Atomic uint32_t *)(void *)f->memory, 0, memory_order_relaxed);
    struct pto_tensor t = pto_external_tensor(rt, f->memory, PTO_INT32, 1, shape);
    fixture_expect(rt, pto_poll(rt), PTO_OK); /* nothing runs: once that is no error */
    for (int i = 0; i < 3; i++)
      fixture_expect(rt, pto_submit_aiv(rt, &set, (struct pto_param[]){pto_output(&t)}, 1), PTO_OK);
    for (; !flag_of(f); calls++) fixture_expect(rt, pto_poll(rt), PTO_OK);
  }
  assert_true(calls < 1000000);
  return 0;
}
static void look_at_nothing(uint32_t deps) { (void)deps; }
static void test_an_orchestration_polls_until_a_task_has_written(void **state) {
  (void)state;
  run_everywhere(polls, look_at_nothing);
}

/* A kernel tells the orchestration that it runs, and returns when it is told to. */
static int meet_orchestration(const struct pto_kernel_args *a) {
  _Atomic uint32_t *cells = a->tensors[0].addr;
  int status = 0;
  pto_atomic_store(&cells[0], 1, memory_order_release);
  while (!status && !pto_atomic_load(&cells[1], memory_order_acquire)) status = pto_core_yield(a, false);
  return status;
}
static int polls_for_a_poll(struct pto_runtime *rt, struct fixture *f) {
  const uint64_t shape[] = {2};
  static struct pto_kernel meet; /* it may go on when this has returned */
  meet = fixture_kernel_with("o", PTO_KERNEL_WAITS, meet_orchestration);
  _Atomic uint32_t *cells = (void *)f->memory;
  uint32_t calls = 0;
  memset(f->memory, 0, 8);
  struct pto_tensor t = pto_external_tensor(rt, f->memory, PTO_INT32, 1, shape);
  fixture_expect(rt, pto_submit_aiv(rt, &meet, (struct pto_param[]){pto_output(&t)}, 1), PTO_OK);
  for (; !pto_atomic_load(&cells[0], memory_order_acquire); calls++) fixture_expect(rt, pto_poll(rt), PTO_OK);
  /* Once more, so that the kernel has looked in vain before its word comes. */
  fixture_expect(rt, pto_poll(rt), PTO_OK);
  fixture_expect(rt, pto_poll(rt), PTO_OK);
  pto_atomic_store(&cells[1], 1, memory_order_release);
  assert_true(calls < 1000000);
  return 0;
}
static void test_an_orchestration_and_a_kernel_poll_for_each_other(void **state) {
  (void)state;
  for (size_t e = 0; e < PTO_ARRAY_LENGTH(engines); e++) {
    open_on(engines[e], PTO_DEPS_EXACT);
    fixture_run(&fixture, polls_for_a_poll, PTO_OK);
    fixture_close(&fixture);
  }
}

static int polls_for_ever(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 8);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &t), PTO_OK);
  for (uint32_t i = 0; i < 1000000; i++) {
    const int status = pto_poll(rt);
    if (status) return status;
  }
  return 0;
}
static void test_an_endless_poll_is_told(void **state) {
  (void)state;
  for (size_t e = 0; e < PTO_ARRAY_LENGTH(engines); e++) {
    open_on(engines[e], PTO_DEPS_EXACT);
    fixture_run(&fixture, polls_for_ever, PTO_EDEADLOCK);
    fixture_expect_sentence(fixture.rt, "the orchestration polls memory, and all of its 1 tasks have completed");
    fixture_close(&fixture);
  }
}

static int time_goes_on(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 64);
  const uint64_t begin = rt->port->clock;
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &t), PTO_OK);
  const uint64_t submitted = rt->port->clock;
  while (rt->completed_count < rt->task_count) fixture_expect(rt, pto_poll(rt), PTO_OK);
  assert_true(submitted > begin && rt->port->clock > submitted);
  return 0;
}
static void test_in_virtual_time_a_poll_goes_to_the_next_event(void **state) {
  (void)state;
  open_on("virtual", PTO_DEPS_EXACT);
  fixture_run(&fixture, time_goes_on, PTO_OK);
  fixture_close(&fixture);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_held_parameter_orders_nothing_but_by_creator_edges),
      cmocka_unit_test(test_held_memory_stays_until_the_task_is_done),
      cmocka_unit_test(test_what_has_no_memory_cannot_be_held),
      cmocka_unit_test(test_a_task_without_kernels_has_edges_and_outputs_as_any),
      cmocka_unit_test(test_a_launch_without_kernels_has_none_and_no_blocks),
      cmocka_unit_test(test_an_output_begins_with_its_value),
      cmocka_unit_test(test_initial_values_are_for_what_gets_its_memory),
      cmocka_unit_test(test_an_orchestration_polls_until_a_task_has_written),
      cmocka_unit_test(test_an_orchestration_and_a_kernel_poll_for_each_other),
      cmocka_unit_test(test_an_endless_poll_is_told),
      cmocka_unit_test(test_in_virtual_time_a_poll_goes_to_the_next_event),
  };
  return cmocka_run_group_tests_name("held, empty, polled", tests, NULL, NULL);
}
