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
#include <tests/support/runtime_fixture.h>

struct kept_case {
  const char *name;
  int (*ask)(struct pto_runtime *rt, struct fixture *f, const struct pto_tensor *given);
  bool is_usable;
};
static const struct kept_case *current;
static struct pto_tensor from_before; /* a buffer with memory, and a task, that were there before */
static struct pto_task task_before;

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
  struct pto_tensor given = fixture_bytes(f, 0, 256);
  from_before = fixture_managed(rt, 64);
  fixture_expect(rt, submit_write(rt, &from_before, &task_before), PTO_OK);
  uint64_t tasks = fixture_tasks(rt), edges = fixture_edges(rt);
  struct pto_call_list *submits = pto_call_list_begin(rt, &given, 1);
  assert_non_null(submits);
  fixture_expect(rt, current->ask(rt, f, &given), PTO_OK);
  assert_int_equal(pto_call_list_end(rt, submits), current->is_usable);
  assert_true(pto_call_list_bytes(submits) <= PTO_CALL_LIST_BYTES);
  tasks = fixture_tasks(rt) - tasks;
  edges = fixture_edges(rt) - edges;
  fixture_drain(rt);
  fixture_expect(rt, submit_write(rt, &given, NULL), PTO_OK); /* so that rings and edges begin elsewhere */
  fixture_drain(rt);
  const uint64_t tasks_then = fixture_tasks(rt), edges_then = fixture_edges(rt);
  given = fixture_bytes(f, 8192, 256);
  if (current->is_usable) {
    fixture_expect(rt, pto_call_list_replay(rt, submits, &given, 1), PTO_OK);
    assert_int_equal(fixture_tasks(rt) - tasks_then, tasks);
    assert_int_equal(fixture_edges(rt) - edges_then, edges);
  }
  pto_call_list_destroy(submits);
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

static const struct kept_case cases[] = {
    {"nothing can be kept", ask_nothing, true},
    {"tasks, buffers and explicit dependencies can be kept", ask_tasks, true},
    {"scopes can be kept, with their kind", ask_scopes, true},
    {"calls that are refused are not kept, and the rest is", ask_for_what_is_refused, true},
    {"an element that is read cannot be kept", ask_to_read, false},
    {"an element that is written cannot be kept", ask_to_write, false},
    {"an address that is asked for cannot be kept", ask_for_the_address, false},
    {"host memory that is registered cannot be kept", ask_for_host_memory, false},
    {"a buffer from before cannot be kept", ask_for_a_buffer_from_before, false},
    {"a predicate on a buffer from before cannot be kept", ask_for_a_predicate_from_before, false},
    {"a task from before cannot be kept", ask_for_a_task_from_before, false},
    {"more than the limit cannot be kept", ask_for_too_much, false},
};

int main(void) {
  struct CMUnitTest tests[PTO_ARRAY_LENGTH(cases)];
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++)
    tests[i] = (struct CMUnitTest){
        .name = cases[i].name, .test_func = run_case, .initial_state = (void *)(uintptr_t)&cases[i]};
  pto_call_list_destroy(NULL);
  return _cmocka_run_group_tests("call_list_test", tests, PTO_ARRAY_LENGTH(cases), NULL, NULL);
}
