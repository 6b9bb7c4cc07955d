/* SPDX-License-Identifier: MIT */
/* The rows of check/order/order_coverage.c, of an orchestration that has one of each. */
#include <check/order/order_coverage.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/control/runtime_state.h>
#include <tests/support/runtime_fixture.h>

static struct pto_kernel waiting;

static struct pto_param address_of(const void *addr) { return pto_scalar_u64((uintptr_t)addr); }

/* x is [64, 96) of the fixture's memory and `other` [256, 288), which is registered, and no parameter. */
static int one_of_each(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor x = fixture_bytes(f, 64, 32), other = fixture_bytes(f, 256, 32), y = fixture_managed(rt, 32);
  const struct pto_tensor empty = fixture_bytes(f, 64, 0);
  const uint64_t first[] = {0};
  uint64_t value = 1;
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &other), PTO_OK);
  const char *arena = rt->arena.memory.addr;
  const struct pto_param params[] = {pto_input(&x),
                                     address_of(f->memory + 64),  /* x itself */
                                     address_of(f->memory + 95),  /* its last byte */
                                     address_of(f->memory + 256), /* other */
                                     address_of(f->memory + 287), /* its last byte */
                                     address_of(f->memory + 288), /* behind it */
                                     address_of(f->memory + 96),  /* behind x: of neither */
                                     address_of(arena),
                                     address_of(arena + rt->arena.memory.size_bytes - 1),
                                     address_of(arena + rt->arena.memory.size_bytes),
                                     pto_scalar_u64(7)};
  fixture_expect(rt, pto_submit_aiv(rt, fixture_kernel("issssssssss"), params, 11), PTO_OK);
  const struct pto_param number = pto_scalar_u64(1), held[] = {pto_hold(&x), pto_output(&y)};
  fixture_expect(rt, pto_submit_aiv(rt, fixture_kernel("s"), &number, 1), PTO_OK);
  fixture_expect(rt, pto_submit_aiv(rt, fixture_kernel("oo"), held, 2), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "ii", &empty, &y), PTO_OK);
  const struct pto_param input = pto_input(&y);
  fixture_expect(rt, pto_submit_aiv(rt, &waiting, &input, 1), PTO_OK);
  struct pto_task barrier;
  fixture_expect(rt, pto_submit_barrier(rt, NULL, 0, &barrier), PTO_OK);
  fixture_expect(rt, pto_read_element(rt, &x, first, &value), PTO_OK);
  fixture_expect(rt, pto_write_element(rt, &x, first, &value), PTO_OK);
  fixture_expect(rt, pto_write_element(rt, &other, first, &value), PTO_OK);
  return 0;
}

static void expect_row(const struct pto_coverage *coverage, enum pto_coverage_kind kind, uint64_t judged, uint64_t left,
                       const char *command) {
  const struct pto_coverage_row *row = &coverage->rows[kind];
  assert_int_equal(row->judged, judged);
  assert_int_equal(row->not_judged, left);
  assert_true(command ? row->command && strcmp(row->command, command) == 0 : !row->command);
}

static void expect_rows(const struct pto_trace *trace, bool is_rank, uint64_t waiting_tasks, uint64_t talking_tasks) {
  struct pto_coverage coverage = {0};
  const char *observe = "check --observe";
  pto_order_cover(trace, is_rank, &coverage);
  expect_row(&coverage, PTO_COVERAGE_ACCESSES, 5, 0, NULL);
  expect_row(&coverage, PTO_COVERAGE_HOST_READS, 1, 0, NULL);
  expect_row(&coverage, PTO_COVERAGE_HOST_WRITES, 2, 0, NULL);
  expect_row(&coverage, PTO_COVERAGE_TOUCHED, 0, 5, observe);
  expect_row(&coverage, PTO_COVERAGE_WITHOUT_TENSORS, 0, 1, observe);
  expect_row(&coverage, PTO_COVERAGE_ADDRESSES, 0, 4, observe);
  expect_row(&coverage, PTO_COVERAGE_HELD, 0, 1, is_rank ? NULL : "explore");
  expect_row(&coverage, PTO_COVERAGE_WAITING_TASKS, 0, waiting_tasks, waiting_tasks ? observe : NULL);
  expect_row(&coverage, PTO_COVERAGE_BETWEEN_WAITS, 0, talking_tasks, talking_tasks ? "explore" : NULL);
  expect_row(&coverage, PTO_COVERAGE_SEEDS, 1, PTO_COVERAGE_UNCOUNTED, "check --seed N");
}

static void test_each_row_counts_what_the_orchestration_has(void **state) {
  static struct fixture fixture;
  waiting = fixture_kernel_with("i", PTO_KERNEL_WAITS, NULL);
  waiting.run = fixture_kernel("i")->run;
  fixture_open(&fixture);
  fixture_run(&fixture, one_of_each, PTO_OK);
  const struct pto_trace *trace = pto_runtime_trace(fixture.rt);
  expect_rows(trace, false, 1, 0);
  expect_rows(trace, true, 1, 0);
  waiting.flags = PTO_KERNEL_REMOTE; /* it waits for peers, and has one core */
  expect_rows(trace, false, 1, 0);
  expect_rows(trace, true, 0, 1);
  waiting.flags = PTO_KERNEL_TURNS;
  expect_rows(trace, true, 1, 0);
  fixture_close(&fixture);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_row_counts_what_the_orchestration_has)};
  return cmocka_run_group_tests_name("order_coverage", tests, NULL, NULL);
}
