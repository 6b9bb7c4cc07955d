/* SPDX-License-Identifier: MIT */
/*
 * What of an orchestration can be kept and what cannot, a case a reason; tests/runtime/call_list_random_test.c
 * holds what is kept against the orchestration itself.
 *
 * Each case asks for something between begin and end, with one given tensor, and says whether what was kept is usable;
 * a usable one is submitted again, and must make as many tasks and edges as the orchestration did.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/submit/replay.h>
#include <tests/support/failing_malloc.h>
#include <tests/support/runtime_fixture.h>

struct kept_case {
  const char *name;
  int (*ask)(struct pto_runtime *rt, struct fixture *f, const struct pto_tensor *given);
  bool is_usable;
};
static const struct kept_case *current;
static struct pto_tensor from_before; /* a buffer with memory, and a task, that were there before */
static struct pto_tensor between;     /* registered between the two given ones */
static struct pto_task task_before;
static struct pto_recorded *nothing_recorded;

/* ---- what is asked for ---- */

static int submit_write(struct pto_runtime *rt, const struct pto_tensor *t, struct pto_task *task_out) {
  const struct pto_tensor *const tensors[] = {t};
  return fixture_submit(rt, "o", tensors, task_out);
}

static int ask_nothing(struct pto_runtime *rt, struct fixture *f, const struct pto_tensor *given) { return PTO_OK; }
static int ask_tasks(struct pto_runtime *rt, struct fixture *f, const struct pto_tensor *given) {
  const struct pto_tensor t = fixture_managed(rt, 256);
  struct pto_task first, second;
  fixture_expect(rt, submit_write(rt, &t, &first), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "io", &t, given), PTO_OK);
  fixture_expect(rt, pto_submit_barrier(rt, &first, 1, &second), PTO_OK);
  return FIXTURE_TRY(rt, .modes = "i", .tensors = {given}, .launch = {.after = &second, .after_count = 1});
}
static int ask_scopes(struct pto_runtime *rt, struct fixture *f, const struct pto_tensor *given) {
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_MANUAL), PTO_OK);
  for (int i = 0; i < 2; i++) fixture_expect(rt, submit_write(rt, given, NULL), PTO_OK); /* no edge between them */
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  return submit_write(rt, given, NULL);
}
static int ask_for_what_is_refused(struct pto_runtime *rt, struct fixture *f, const struct pto_tensor *given) {
  const struct pto_tensor invalid = pto_tensor_slice(given, 0, 5, 1, 1), never_written = fixture_managed(rt, 64);
  fixture_expect(rt, submit_write(rt, &invalid, NULL), PTO_EINVAL);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &never_written), PTO_EINVAL);
  fixture_expect(rt, pto_scope_begin(rt, 77), PTO_EINVAL);
  return submit_write(rt, given, NULL);
}
static int ask_for_initial_values(struct pto_runtime *rt, struct fixture *f, const struct pto_tensor *given) {
  const struct pto_tensor t = fixture_managed(rt, 64);
  const struct pto_initial initial = {.param = 0, .bits = 7};
  const struct pto_param fills = pto_output(&t);
  const struct pto_launch launch = {.no_kernel = true, .initial = &initial, .initial_count = 1};
  fixture_expect(rt, pto_submit(rt, &launch, &fills, 1, NULL), PTO_OK);
  return FIXTURE_SUBMIT(rt, "io", &t, given);
}
static int ask_to_poll(struct pto_runtime *rt, struct fixture *f, const struct pto_tensor *given) {
  return pto_poll(rt);
}
static int ask_for_a_recording(struct pto_runtime *rt, struct fixture *f, const struct pto_tensor *given) {
  const struct pto_param boundary = pto_input(given);
  struct pto_recorded *recorded;
  fixture_expect(rt, pto_recorded_begin(rt, &boundary, 1), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", given), PTO_OK);
  fixture_expect(rt, pto_recorded_end(rt, &recorded), PTO_OK);
  pto_recorded_destroy(recorded);
  return PTO_OK;
}
static int ask_for_a_launch(struct pto_runtime *rt, struct fixture *f, const struct pto_tensor *given) {
  const struct pto_recorded_launch launch = {.size = sizeof launch};
  return pto_submit_recorded(rt, nothing_recorded, &launch, NULL);
}
static int ask_to_read(struct pto_runtime *rt, struct fixture *f, const struct pto_tensor *given) {
  uint8_t value;
  return pto_read_element(rt, given, (uint64_t[]){3}, &value);
}
static int ask_to_write(struct pto_runtime *rt, struct fixture *f, const struct pto_tensor *given) {
  const uint8_t value = 1;
  return pto_write_element(rt, given, (uint64_t[]){3}, &value);
}
static int ask_for_the_address(struct pto_runtime *rt, struct fixture *f, const struct pto_tensor *given) {
  assert_true(pto_get_buffer_addr(rt, given->buffer) != 0);
  return PTO_OK;
}
static int ask_for_host_memory(struct pto_runtime *rt, struct fixture *f, const struct pto_tensor *given) {
  const struct pto_tensor t = fixture_bytes(f, 4096, 64);
  return submit_write(rt, &t, NULL);
}
static int ask_for_a_buffer_from_before(struct pto_runtime *rt, struct fixture *f, const struct pto_tensor *given) {
  return FIXTURE_SUBMIT(rt, "io", &from_before, given);
}
static int ask_for_a_buffer_between_given_ones(struct pto_runtime *rt, struct fixture *f,
                                               const struct pto_tensor *given) {
  return FIXTURE_SUBMIT(rt, "io", &between, given);
}
static int ask_for_a_predicate_from_before(struct pto_runtime *rt, struct fixture *f, const struct pto_tensor *given) {
  const struct pto_tensor element = pto_tensor_slice(&from_before, 0, 0, 1, 1);
  return FIXTURE_TRY(rt, .modes = "o", .tensors = {given}, .launch = {.predicate = {&element, PTO_IF_EQ, 0}});
}
static int ask_for_a_task_from_before(struct pto_runtime *rt, struct fixture *f, const struct pto_tensor *given) {
  return pto_submit_barrier(rt, &task_before, 1, NULL);
}
static int ask_for_too_much(struct pto_runtime *rt, struct fixture *f, const struct pto_tensor *given) {
  const uint64_t least_bytes = sizeof(struct pto_tensor) + sizeof(struct pto_param);
  for (uint64_t i = 0; i < PTO_CALL_LIST_BYTES / least_bytes;
       i += 16) { /* so many at a time as the window has room for */
    fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
    for (int k = 0; k < 16; k++) fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", given), PTO_OK);
    fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  }
  return PTO_OK;
}

/* ---- one case ---- */

static int keep(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor given[2] = {fixture_bytes(f, 0, 256)};
  between = fixture_bytes(f, 1024, 64);
  given[1] = fixture_bytes(f, 2048, 64);
  from_before = fixture_managed(rt, 64);
  fixture_expect(rt, submit_write(rt, &from_before, &task_before), PTO_OK);
  fixture_expect(rt, pto_recorded_begin(rt, NULL, 0), PTO_OK);
  fixture_expect(rt, pto_recorded_end(rt, &nothing_recorded), PTO_OK);
  uint64_t tasks = fixture_tasks(rt), edges = fixture_edges(rt);
  struct pto_call_list *submits = pto_call_list_begin(rt, given, 2);
  assert_non_null(submits);
  fixture_expect(rt, current->ask(rt, f, given), PTO_OK);
  assert_int_equal(pto_call_list_end(rt, submits), current->is_usable);
  assert_true(pto_call_list_bytes(submits) <= PTO_CALL_LIST_BYTES);
  tasks = fixture_tasks(rt) - tasks;
  edges = fixture_edges(rt) - edges;
  fixture_drain(rt);
  fixture_expect(rt, submit_write(rt, given, NULL), PTO_OK); /* so that rings and edges begin elsewhere */
  fixture_drain(rt);
  const uint64_t tasks_then = fixture_tasks(rt), edges_then = fixture_edges(rt);
  given[0] = fixture_bytes(f, 8192, 256);
  if (current->is_usable) {
    fixture_expect(rt, pto_call_list_replay(rt, submits, given, 2), PTO_OK);
    assert_int_equal(fixture_tasks(rt) - tasks_then, tasks);
    assert_int_equal(fixture_edges(rt) - edges_then, edges);
  }
  pto_call_list_destroy(submits);
  pto_recorded_destroy(nothing_recorded);
  return PTO_OK;
}

static void run_case(void **state) {
  struct fixture *f = calloc(1, sizeof *f);
  current = *state;
  fixture_open(f);
  fixture_run(f, keep, PTO_OK);
  fixture_close(f);
  free(f);
}

/* ---- without memory ---- */

static int (*const all_kinds[])(struct pto_runtime *, struct fixture *,
                                const struct pto_tensor *) = {ask_tasks, ask_scopes, ask_for_initial_values};
static bool is_usable_now;

static int keep_all_kinds(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor given = fixture_bytes(f, 0, 256);
  struct pto_call_list *submits = pto_call_list_begin(rt, &given, 1);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(all_kinds); i++) fixture_expect(rt, all_kinds[i](rt, f, &given), PTO_OK);
  is_usable_now = pto_call_list_end(rt, submits);
  const uint64_t tasks = fixture_tasks(rt);
  assert_int_equal(tasks, 4 + 3 + 2); /* the run is as it would be without a list */
  if (is_usable_now) fixture_expect(rt, pto_call_list_replay(rt, submits, &given, 1), PTO_OK);
  assert_int_equal(fixture_tasks(rt), is_usable_now ? 2 * tasks : tasks);
  fixture_drain(rt);
  pto_call_list_destroy(submits);
  return PTO_OK;
}

static void test_a_list_without_memory_is_none_and_the_run_goes_on(void **state) {
  if (!PTO_HAS_FAILING_MALLOC) skip();
  struct fixture *f = calloc(1, sizeof *f);
  uint32_t failures = 0, still_usable = 0;
  fixture_open(f);
  fixture_run(f, keep_all_kinds, PTO_OK); /* fixture kernels are made */
  for (bool is_over = false; !is_over; failures++) {
    const int64_t before = live_blocks;
    fail_countdown = failures + 1;
    fixture_run(f, keep_all_kinds, PTO_OK);
    is_over = fail_countdown != 0;
    fail_countdown = 0;
    assert_int_equal(live_blocks, before);
    if (is_over) assert_true(is_usable_now);
    still_usable += !is_over && is_usable_now; /* what could not be made smaller is as good */
  }
  assert_in_range(failures, 10, 60);
  assert_in_range(still_usable, 1, 7);
  fixture_close(f);
  free(f);
}

static const struct kept_case cases[] = {
    {"nothing can be kept", ask_nothing, true},
    {"tasks, buffers and explicit dependencies can be kept", ask_tasks, true},
    {"scopes can be kept, with their kind", ask_scopes, true},
    {"calls that are refused are not kept, and the rest is", ask_for_what_is_refused, true},
    {"values that memory begins with can be kept", ask_for_initial_values, true},
    {"a look for what has ended cannot be kept", ask_to_poll, false},
    {"a recording cannot be kept", ask_for_a_recording, false},
    {"a launch of a recording cannot be kept", ask_for_a_launch, false},
    {"an element that is read cannot be kept", ask_to_read, false},
    {"an element that is written cannot be kept", ask_to_write, false},
    {"an address that is asked for cannot be kept", ask_for_the_address, false},
    {"host memory that is registered cannot be kept", ask_for_host_memory, false},
    {"a buffer from before cannot be kept", ask_for_a_buffer_from_before, false},
    {"a buffer from between the given ones cannot be kept", ask_for_a_buffer_between_given_ones, false},
    {"a predicate on a buffer from before cannot be kept", ask_for_a_predicate_from_before, false},
    {"a task from before cannot be kept", ask_for_a_task_from_before, false},
    {"more than the limit cannot be kept", ask_for_too_much, false},
};

int main(void) {
  struct CMUnitTest tests[PTO_ARRAY_LENGTH(cases) + 1] = {
      [PTO_ARRAY_LENGTH(cases)] = cmocka_unit_test(test_a_list_without_memory_is_none_and_the_run_goes_on)};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++)
    tests[i] = (struct CMUnitTest){
        .name = cases[i].name, .test_func = run_case, .initial_state = (void *)(uintptr_t)&cases[i]};
  pto_call_list_destroy(NULL);
  return _cmocka_run_group_tests("call_list_test", tests, PTO_ARRAY_LENGTH(tests), NULL, NULL);
}
