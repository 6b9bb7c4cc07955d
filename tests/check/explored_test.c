/* SPDX-License-Identifier: MIT */
/* What an exploration says before its first schedule, and of real threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include <check/session/explored.h>
#include <runtime/base/memory_checker.h>

static const uint64_t shape[] = {1};

static int copy_run(const struct pto_kernel_args *a) {
  memcpy(a->tensors[1].addr, a->tensors[0].addr, sizeof(int32_t));
  return 0;
}
/* 1 for as often as the reference and its twin need it. */
static int32_t calls_so_far;
static int tiring_run(const struct pto_kernel_args *a) {
  *(int32_t *)a->tensors[1].addr = calls_so_far++ < 2;
  return 0;
}

static const struct pto_kernel_param params[] = {{.mode = PTO_INPUT}, {.mode = PTO_OUTPUT}};
static const struct pto_kernel copy = {
    .name = "copy", .cores = PTO_AIV, .params = params, .param_count = 2, .run = copy_run};
static const struct pto_kernel tiring = {
    .name = "tiring", .cores = PTO_AIV, .params = params, .param_count = 2, .run = tiring_run};

static int prepare(struct pto_program_run *run) {
  pto_program_array(run, "y", PTO_ARRAY_OUTPUT, PTO_INT32, 1, shape);
  return PTO_OK;
}
/* y is made of memory that no task writes. */
static int of_unwritten(struct pto_runtime *rt, struct pto_program_run *run, const struct pto_kernel *kernel) {
  const struct pto_tensor y = pto_array_tensor(rt, pto_program_find(run, "y"));
  const struct pto_tensor fresh = pto_managed_tensor(rt, pto_create_buffer(rt, sizeof(int32_t)), PTO_INT32, 1, shape);
  const int status = pto_alloc_tensors(rt, &fresh, 1, NULL);
  if (status) return status;
  return pto_submit_aiv(rt, kernel, (struct pto_param[]){pto_input(&fresh), pto_output(&y)}, 2);
}
static int copying(struct pto_runtime *rt, struct pto_program_run *run) { return of_unwritten(rt, run, &copy); }
static int tiring_soon(struct pto_runtime *rt, struct pto_program_run *run) { return of_unwritten(rt, run, &tiring); }

static int expect(struct pto_program_run *run, double value) {
  *pto_array_golden(run, pto_program_find(run, "y")) = value;
  return PTO_OK;
}
static int expect_0(struct pto_program_run *run) { return expect(run, 0); }
static int expect_9(struct pto_program_run *run) { return expect(run, 9); }

static void begin(struct pto_explored *explored, const struct pto_program *program, bool has_threads) {
  const struct pto_session_options options = {.size = sizeof options, .made = program};
  *explored = (struct pto_explored){0};
  assert_int_equal(pto_explored_open(explored, &options, has_threads), PTO_EXIT_OK);
  assert_int_equal(pto_explored_begin(explored, NULL), PTO_EXIT_OK);
}

/* New memory is zeros, that of explore begins as a pattern: the first golden is right without it, the second never. */
static void test_what_the_pattern_alone_makes_wrong_is_told_so(void **state) {
  int (*const expects[])(struct pto_program_run *) = {expect_0, expect_9};
  (void)state;
  if (pto_memory_is_checked()) skip(); /* AddressSanitizer ends a read of memory that no task has written */
  for (int i = 0; i < 2; i++) {
    const struct pto_program program = {
        .abi = PTO_PROGRAM_ABI, .name = "test", .prepare = prepare, .orchestrate = copying, .expect = expects[i]};
    struct pto_explored explored;
    begin(&explored, &program, false);
    assert_int_equal(explored.findings.count, 1);
    const char *sentence = explored.findings.items[0].sentence;
    assert_non_null(strstr(sentence, "the sequential run already: output y[0]: -1 instead of "));
    assert_int_equal(strstr(sentence, "; only here, where memory begins as a pattern") != NULL, i == 0);
    pto_explored_close(&explored);
  }
}

/* This one differs by how often it was called, so no order of calls is to be found. */
static void test_threads_that_differ_promise_no_order(void **state) {
  const struct pto_program program = {
      .abi = PTO_PROGRAM_ABI, .name = "test", .prepare = prepare, .orchestrate = tiring_soon};
  struct pto_explored explored;
  (void)state;
  begin(&explored, &program, true);
  assert_true(pto_findings_is_clean(&explored.findings));
  assert_int_equal(pto_explore_threads(&explored.explore, explored.threads, 1, 0, &explored.error), PTO_OK);
  assert_int_equal(explored.findings.count, 1);
  const char *sentence = explored.findings.items[0].sentence;
  assert_non_null(strstr(sentence, "threads with the delays of seed 0: output y[0]: 0 instead of 1; "));
  assert_non_null(strstr(sentence, "; if an order of whole kernel calls gives this too, explore without --engine "));
  pto_explored_close(&explored);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_the_pattern_alone_makes_wrong_is_told_so),
      cmocka_unit_test(test_threads_that_differ_promise_no_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
