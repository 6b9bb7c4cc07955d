/* SPDX-License-Identifier: MIT */
/*
 * What PTO_RECORD_GRAPH keeps beside tasks and edges: scopes, elements that the host reads and writes, whose memory a
 * parameter is in, and where in the program each public call was made; which part of it PTO_RECORD_TASKS keeps; and
 * what parts of submits took, kept with the timeline.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/control/runtime_state.h>
#include <runtime/submit/replay.h>
#include <runtime/trace/place.h>
#include <tests/support/runtime_fixture.h>

static struct fixture fixture;

static const struct pto_trace *record_of(int (*body)(struct pto_runtime *, struct fixture *), uint32_t record) {
  memset(&fixture, 0, sizeof fixture);
  fixture.config.record = record;
  fixture_open(&fixture);
  fixture_run(&fixture, body, PTO_OK);
  return pto_runtime_trace(fixture.rt);
}
static const struct pto_trace_task *task_at(const struct pto_trace *trace, uint64_t i) {
  return pto_trace_log_at(&trace->tasks, i);
}

/* ---- scopes ---- */

static int nested_scopes(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 64);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &t), PTO_OK); /* task 0, run */
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_MANUAL), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &t), PTO_OK); /* task 1, manual */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &t), PTO_OK); /* task 2, manual */
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &t), PTO_OK); /* task 3, run */
  return 0;
}

static void test_scopes_are_kept_with_kind_parent_and_the_tasks_submitted_while_they_were_open(void **state) {
  (void)state;
  const struct pto_trace *trace = record_of(nested_scopes, PTO_RECORD_GRAPH);
  static const struct pto_trace_scope expected[] = {{0, UINT32_MAX, PTO_SCOPE_AUTO, 0, 0, 4, NULL},
                                                    {1, 0, PTO_SCOPE_AUTO, 1, 1, 3, NULL},
                                                    {2, 1, PTO_SCOPE_MANUAL, 2, 1, 3, NULL}};
  assert_int_equal(trace->scopes.count, PTO_ARRAY_LENGTH(expected));
  for (uint64_t i = 0; i < PTO_ARRAY_LENGTH(expected); i++)
    assert_memory_equal(pto_trace_log_at(&trace->scopes, i), &expected[i], sizeof expected[i]);
  static const uint32_t scope_of_task[] = {0, 2, 2, 0};
  for (uint64_t i = 0; i < 4; i++) assert_int_equal(task_at(trace, i)->scope_serial, scope_of_task[i]);
  fixture_close(&fixture);
}

/* ---- addresses in scalars ---- */

static const uint32_t address_at[] = {0, 63, 64, 127};

static int addresses(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor declared = fixture_bytes(f, 0, 64);
  fixture_bytes(f, 64, 64); /* registered too */
  const struct pto_launch launch = {.aiv0 = fixture_kernel("is")};
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(address_at); i++) {
    const struct pto_param params[] = {pto_input(&declared), pto_scalar_u64((uintptr_t)f->memory + address_at[i])};
    fixture_expect(rt, pto_submit(rt, &launch, params, 2, NULL), PTO_OK);
  }
  return 0;
}

static void test_a_scalar_that_is_an_address_counts_where_no_parameter_declares_the_byte(void **state) {
  (void)state;
  const struct pto_trace *trace = record_of(addresses, PTO_RECORD_GRAPH);
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(address_at); i++) {
    const struct pto_trace_task *task = pto_trace_log_at(&trace->tasks, i);
    assert_int_equal(task->address_count, address_at[i] >= 64);
  }
  fixture_close(&fixture);
}

static int empty_and_addresses(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor declared = fixture_bytes(f, 0, 64), empty = pto_tensor_slice(&declared, 0, 8, 8, 1);
  const struct pto_launch launch = {.aiv0 = fixture_kernel("is")};
  const struct pto_param params[] = {pto_input(&empty), pto_scalar_u64((uintptr_t)f->memory + 8)};
  fixture_expect(rt, pto_submit(rt, &launch, params, 2, NULL), PTO_OK);
  return 0;
}
static void test_an_empty_tensor_declares_no_byte(void **state) {
  (void)state;
  const struct pto_trace *trace = record_of(empty_and_addresses, PTO_RECORD_GRAPH);
  assert_int_equal(task_at(trace, 0)->address_count, 1);
  fixture_close(&fixture);
}

/* ---- places of a binding ---- */

static const struct pto_place of_call = {"a.py", 3}, of_all = {"b.py", 7};

static int from_places(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor given = fixture_bytes(f, 0, 64);
  const struct pto_launch launch = {.no_kernel = true};
  struct pto_submission submission = {.rt = rt, .launch = &launch, .place = &of_call};
  pto_call_from(rt, &of_all);
  fixture_expect(rt, pto_submit_barrier(rt, NULL, 0, NULL), PTO_OK);
  (void)pto_submit_from(&submission);
  fixture_expect(rt, submission.status, PTO_OK);
  fixture_expect(rt, pto_submit_barrier(rt, NULL, 0, NULL), PTO_OK);
  pto_call_from(rt, NULL);
  struct pto_call_list *list = pto_call_list_begin(rt, &given, 1);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &given), PTO_OK);
  assert_true(pto_call_list_end(rt, list));
  pto_call_from(rt, &of_all);
  fixture_expect(rt, pto_call_list_replay(rt, list, &given, 1), PTO_OK);
  pto_call_list_destroy(list);
  return 0;
}
static void test_calls_of_a_binding_have_its_places_and_no_callers(void **state) {
  (void)state;
  const struct pto_trace *trace = record_of(from_places, PTO_RECORD_GRAPH | PTO_RECORD_CALLERS);
  const struct pto_place *const places[] = {&of_all, &of_call, &of_all, NULL, &of_all};
  assert_int_equal(trace->tasks.count, PTO_ARRAY_LENGTH(places));
  for (uint64_t i = 0; i < PTO_ARRAY_LENGTH(places); i++) {
    assert_ptr_equal(pto_place_of(task_at(trace, i)->call), places[i]);
    if (places[i]) assert_null(task_at(trace, i)->outer_call);
  }
  fixture_close(&fixture);
}

/* ---- runs that are not recorded ---- */

static void test_a_recording_is_off_for_some_runs_and_on_again(void **state) {
  (void)state;
  const struct pto_trace *trace = record_of(addresses, PTO_RECORD_GRAPH);
  pto_runtime_set_recording(fixture.rt, false);
  fixture_run(&fixture, addresses, PTO_OK);
  assert_int_equal(trace->tasks.count, 0);
  pto_runtime_set_recording(fixture.rt, true);
  fixture_run(&fixture, addresses, PTO_OK);
  assert_int_equal(trace->tasks.count, PTO_ARRAY_LENGTH(address_at));
  fixture_close(&fixture);
}

/* ---- the host ---- */

static int host_accesses(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor outside = fixture_bytes(f, 64, 32), inside = fixture_managed(rt, 16);
  uint64_t index = 5;
  uint8_t value = 7;
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "oo", &outside, &inside), PTO_OK);
  fixture_expect(rt, pto_read_element(rt, &outside, &index, &value), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &inside), PTO_OK);
  fixture_expect(rt, pto_write_element(rt, &inside, &index, &value), PTO_OK);
  index = 32;
  fixture_expect(rt, pto_read_element(rt, &outside, &index, &value), PTO_EINVAL);
  return 0;
}

static void test_what_the_host_reads_and_writes_is_kept_with_its_bytes_buffer_and_place_among_the_tasks(void **state) {
  (void)state;
  const struct pto_trace *trace = record_of(host_accesses, PTO_RECORD_GRAPH);
  assert_int_equal(trace->host_accesses.count, 2); /* the refused one is none */
  const struct pto_trace_host_access *read = pto_trace_log_at(&trace->host_accesses, 0);
  const struct pto_trace_host_access *write = pto_trace_log_at(&trace->host_accesses, 1);
  const struct pto_trace_param *outside = pto_trace_log_at(&trace->params, 0);
  const struct pto_trace_param *inside = pto_trace_log_at(&trace->params, 1);
  assert_false(read->is_write || read->is_managed || outside->is_managed);
  assert_true(write->is_write && write->is_managed && inside->is_managed);
  assert_int_equal(read->task_count, 1);
  assert_int_equal(write->task_count, 2);
  assert_int_equal(read->begin, (uintptr_t)fixture.memory + 64 + 5);
  assert_int_equal(read->end, read->begin + 1);
  assert_int_equal(read->tensor_begin, read->buffer_base);
  assert_int_equal(read->tensor_end, read->buffer_base + 32);
  assert_int_equal(read->buffer_base, (uintptr_t)fixture.memory + 64);
  assert_int_equal(read->buffer_number, outside->buffer_number);
  assert_int_equal(write->buffer_number, inside->buffer_number);
  assert_int_equal(write->begin, inside->tensor.buffer.base + 5);
  assert_ptr_not_equal(read->call, write->call);
  fixture_close(&fixture);
}

static int host_moves(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor matrix = fixture_matrix(f, 8, 16), left = fixture_box(&matrix, 0, 8, 0, 4);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &matrix), PTO_OK);
  fixture_expect(rt, pto_host_acquire(rt, &matrix, false), PTO_OK);
  fixture_expect(rt, pto_host_acquire(rt, &left, true), PTO_OK); /* has gaps: its range would order too much */
  return 0;
}

static void test_a_tensor_without_gaps_that_the_host_moves_is_an_access_of_all_its_bytes(void **state) {
  (void)state;
  const struct pto_trace *trace = record_of(host_moves, PTO_RECORD_GRAPH);
  assert_int_equal(trace->host_accesses.count, 1);
  const struct pto_trace_host_access *move = pto_trace_log_at(&trace->host_accesses, 0);
  assert_int_equal(move->end - move->begin, 8 * 16);
  assert_false(move->is_write);
  assert_int_equal(move->task_count, 1);
  assert_null(move->call);
  fixture_close(&fixture);
}

/* ---- where it was asked for ---- */

static PTO_NOINLINE int calls(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 64), fresh = fixture_managed(rt, 16);
  const struct pto_kernel *kernel = fixture_kernel("i");
  const struct pto_param params[] = {pto_input(&t)};
  const struct pto_launch launch = {.aiv0 = kernel};
  struct pto_kernel cube = *kernel;
  cube.cores = PTO_AIC;
  int status = PTO_OK;
  const uint64_t twice = f->config.window / 32; /* what the compiler does not know it does not unroll */
  for (uint64_t i = 0; i < twice; i++) status |= pto_submit(rt, &launch, params, 1, NULL);
  status |= pto_submit_aiv(rt, kernel, params, 1);
  status |= pto_submit_aic(rt, &cube, params, 1);
  status |= pto_submit_barrier(rt, NULL, 0, NULL);
  status |= pto_alloc_tensors(rt, &fresh, 1, NULL);
  fixture_drain(rt);
  return status;
}

static void
test_each_kind_of_submit_is_kept_with_the_place_of_its_call_and_the_same_place_twice_in_a_loop(void **state) {
  (void)state;
  const struct pto_trace *trace = record_of(calls, PTO_RECORD_GRAPH);
  assert_int_equal(trace->tasks.count, 6);
  assert_ptr_equal(task_at(trace, 0)->call, task_at(trace, 1)->call);
  for (uint64_t i = 1; i < 6; i++) {
    /* within the few hundred bytes of the function that calls */
    const uintptr_t call = (uintptr_t)task_at(trace, i)->call, begin = (uintptr_t)calls;
    assert_in_range(call, begin, begin + 4096);
    for (uint64_t k = 1; k < i; k++) assert_ptr_not_equal(task_at(trace, i)->call, task_at(trace, k)->call);
  }
  fixture_close(&fixture);
}

static void test_nothing_of_it_is_kept_where_no_graph_is_recorded(void **state) {
  (void)state;
  const struct pto_trace *trace = record_of(calls, PTO_RECORD_TIMELINE);
  assert_int_equal(trace->tasks.count + trace->scopes.count + trace->host_accesses.count, 0);
  assert_int_equal(pto_trace_dropped(trace), 0);
  fixture_close(&fixture);
}

static int reads_and_writes(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor x = fixture_bytes(f, 0, 32), y = fixture_bytes(f, 64, 32), z = fixture_bytes(f, 128, 32);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &x), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "ibo", &x, &y, &z), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &z), PTO_OK);
  return 0;
}

static void test_of_the_tasks_alone_what_they_write_is_kept_and_no_edge(void **state) {
  (void)state;
  const struct pto_trace *trace = record_of(reads_and_writes, PTO_RECORD_TASKS);
  static const uint32_t counts[] = {1, 2, 0}, indices[] = {0, 1, 2}, modes[] = {PTO_OUTPUT, PTO_INOUT, PTO_OUTPUT};
  assert_int_equal(trace->tasks.count, 3);
  assert_int_equal(trace->params.count, 3);
  assert_int_equal(trace->edges.count, 0);
  for (uint64_t i = 0; i < 3; i++) {
    const struct pto_trace_param *param = pto_trace_log_at(&trace->params, i);
    assert_int_equal(task_at(trace, i)->param_count, counts[i]);
    assert_int_equal(param->index, indices[i]);
    assert_int_equal(param->mode, modes[i]);
  }
  assert_int_equal(task_at(trace, 1)->first_param, 1);
  assert_int_equal(trace->scopes.count, 1);
  fixture_close(&fixture);
}

/* ---- where the time of submits goes ---- */

static int ready_tasks(struct pto_runtime *rt, struct fixture *f) {
  for (uint64_t i = 0; i < 16; i++) {
    struct pto_tensor t = fixture_bytes(f, 64 * i, 64);
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &t), PTO_OK);
  }
  return PTO_OK;
}

static void test_graph_and_timeline_have_the_parts_of_submits_in_real_time(void **state) {
  (void)state;
  const struct pto_trace *trace = record_of(ready_tasks, PTO_RECORD_GRAPH | PTO_RECORD_TIMELINE);
  for (int part = 0; part <= PTO_SUBMIT_DISPATCH; part++) assert_true(trace->submit_parts[part] > 0);
  fixture_close(&fixture);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_scopes_are_kept_with_kind_parent_and_the_tasks_submitted_while_they_were_open),
      cmocka_unit_test(test_a_scalar_that_is_an_address_counts_where_no_parameter_declares_the_byte),
      cmocka_unit_test(test_what_the_host_reads_and_writes_is_kept_with_its_bytes_buffer_and_place_among_the_tasks),
      cmocka_unit_test(test_a_tensor_without_gaps_that_the_host_moves_is_an_access_of_all_its_bytes),
      cmocka_unit_test(test_each_kind_of_submit_is_kept_with_the_place_of_its_call_and_the_same_place_twice_in_a_loop),
      cmocka_unit_test(test_an_empty_tensor_declares_no_byte),
      cmocka_unit_test(test_calls_of_a_binding_have_its_places_and_no_callers),
      cmocka_unit_test(test_a_recording_is_off_for_some_runs_and_on_again),
      cmocka_unit_test(test_nothing_of_it_is_kept_where_no_graph_is_recorded),
      cmocka_unit_test(test_of_the_tasks_alone_what_they_write_is_kept_and_no_edge),
      cmocka_unit_test(test_graph_and_timeline_have_the_parts_of_submits_in_real_time),
  };
  return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
