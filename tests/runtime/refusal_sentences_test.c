/* SPDX-License-Identifier: MIT */
/* What a refused or failed submit says: which parameter, how many bytes are enough, what is too large. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/control/runtime_state.h>
#include <tests/support/runtime_fixture.h>

static struct fixture fixture;

static int setup(void **state) {
  (void)state;
  memset(&fixture, 0, sizeof fixture);
  return 0;
}

/* ---- what a refusal says ---- */

static int predicates(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 64), flag = fixture_bytes(f, 1024, 1);
  struct pto_tensor stale = fixture_bytes(f, 2048, 1), fresh = fixture_managed(rt, 1),
                    late = pto_tensor_with_version(&flag, 3);
  stale.buffer.id += 1000;
  const struct pto_tensor *const wrong[] = {&stale, &fresh, &late};
  static const int statuses[] = {PTO_ESTALE, PTO_EINVAL, PTO_EINVAL};
  struct pto_param param = pto_input(&t);
  for (int i = 0; i < 3; i++) {
    struct pto_launch launch = {.aiv0 = fixture_kernel("i"), .predicate = {wrong[i], PTO_IF_EQ, 0}};
    fixture_expect(rt, pto_submit(rt, &launch, &param, 1, NULL), statuses[i]);
    fixture_expect_sentence(rt, "kernel: predicate");
  }
  return 0;
}
static void test_a_refused_predicate_is_called_the_predicate(void **state) {
  (void)state;
  fixture_open(&fixture);
  fixture_run(&fixture, predicates, PTO_OK);
  fixture_close(&fixture);
}

static int nothing_to_run(struct pto_runtime *rt, struct fixture *f) {
  (void)f;
  static const struct pto_kernel empty = {.name = "hollow", .cores = PTO_AIV};
  fixture_expect(rt, pto_submit_aiv(rt, &empty, NULL, 0), PTO_EINVAL);
  fixture_expect_sentence(rt, "hollow");
  assert_int_equal(fixture_tasks(rt), 0);
  return 0;
}
static void test_a_kernel_without_a_function_is_refused(void **state) {
  (void)state;
  fixture_open(&fixture);
  fixture_run(&fixture, nothing_to_run, PTO_OK);
  fixture_close(&fixture);
}

static int heap_that_started_over(struct pto_runtime *rt, struct fixture *f) {
  (void)f;
  uint8_t value;
  static const uint64_t index = 0;
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  struct pto_tensor small = fixture_managed(rt, 1024);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &small), PTO_OK);
  fixture_expect(rt, pto_read_element(rt, &small, &index, &value), PTO_OK);
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO),
                 PTO_OK); /* the ring is empty, with its head behind the small block */
  struct pto_tensor whole = fixture_managed(rt, 4096), more = fixture_managed(rt, 1024);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &whole), PTO_OK);
  return FIXTURE_SUBMIT(rt, "o", &more);
}
static void test_bytes_that_a_new_start_of_the_ring_skipped_are_held_by_no_task(void **state) {
  (void)state;
  fixture.config.heap_bytes = 4096;
  fixture_open(&fixture);
  fixture_run(&fixture, heap_that_started_over, PTO_EHEAP);
  fixture_expect_sentence(fixture.rt, "holds 1 tasks and 4096 bytes");
  fixture_expect_sentence(fixture.rt, "a heap of at least 5120 bytes");
  fixture_close(&fixture);
}

static int heap_that_wraps(struct pto_runtime *rt, struct fixture *f) {
  (void)f;
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  struct pto_tensor first = fixture_managed(rt, 1024);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &first), PTO_OK);
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO),
                 PTO_OK); /* the first task has not run: its block stays for now */
  for (int i = 0; i < 2; i++) {
    struct pto_tensor t = fixture_managed(rt, 2048);
    int status = FIXTURE_SUBMIT(rt, "o", &t);
    if (status) return status;
  }
  return pto_scope_end(rt);
}
static void test_the_heap_that_an_error_says_is_enough_is_enough(void **state) {
  (void)state;
  fixture.config.heap_bytes = 4096;
  fixture_open(&fixture);
  fixture_run(&fixture, heap_that_wraps, PTO_EHEAP);
  const char *named = strstr(pto_last_error(fixture.rt), "a heap of ");
  assert_non_null(named);
  uint64_t enough = strtoull(named + strlen("a heap of "), NULL, 10);
  fixture_close(&fixture);
  fixture.config.heap_bytes = enough;
  fixture_open(&fixture);
  fixture_run(&fixture, heap_that_wraps, PTO_OK);
  fixture_close(&fixture);
}

static int two_in_a_row(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 64);
  rt->trace.tasks.capacity = 1;
  for (int i = 0; i < 3; i++) fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &t), PTO_OK);
  return 0;
}
static void test_edges_of_a_task_that_the_full_log_drops_are_not_given_to_another(void **state) {
  (void)state;
  fixture_open(&fixture);
  fixture_run(&fixture, two_in_a_row, PTO_OK);
  const struct pto_trace *trace = pto_runtime_trace(fixture.rt);
  assert_int_equal(trace->tasks.count, 1);
  assert_int_equal(((const struct pto_trace_task *)pto_trace_log_at(&trace->tasks, 0))->edge_count, 0);
  fixture_close(&fixture);
}

static int immense_output(struct pto_runtime *rt, struct fixture *f) {
  (void)f;
  uint64_t count = UINT64_C(1) << 59; /* of f32: 2^61 bytes, 2^64 bits */
  struct pto_tensor t = pto_managed_tensor(rt, pto_create_buffer(rt, 4 * count), PTO_FLOAT32, 1, &count);
  fixture_expect(rt, pto_tensor_status(&t), PTO_OK);
  return FIXTURE_SUBMIT(rt, "o", &t);
}
static void test_an_output_of_2_to_the_61_bytes_is_too_large_for_the_heap_and_nothing_else(void **state) {
  (void)state;
  fixture_open(&fixture);
  fixture_run(&fixture, immense_output, PTO_EHEAP);
  fixture_expect_sentence(fixture.rt, "2305843009213693952 bytes");
  fixture_close(&fixture);
}

static int nowhere_to_put_it(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 64);
  static const uint64_t index = 0;
  fixture_expect(rt, pto_read_element(rt, &t, &index, NULL), PTO_EINVAL);
  fixture_expect_sentence(rt, "read_element");
  fixture_expect(rt, pto_write_element(rt, &t, &index, NULL), PTO_EINVAL);
  fixture_expect_sentence(rt, "write_element");
  return 0;
}
static void test_an_element_needs_a_value_to_go_to_or_to_come_from(void **state) {
  (void)state;
  fixture_open(&fixture);
  fixture_run(&fixture, nowhere_to_put_it, PTO_OK);
  fixture_close(&fixture);
}

static int two_accumulate(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 64);
  struct pto_param param = pto_accumulate(&t);
  struct pto_launch launch = {.aic = fixture_kernel("a"), .aiv0 = fixture_kernel("a")};
  fixture_expect(rt, pto_submit(rt, &launch, &param, 1, NULL), PTO_EINVAL);
  fixture_expect_sentence(rt, "both accumulate");
  assert_int_equal(fixture_tasks(rt), 0);
  return 0;
}
static void test_two_kernels_of_a_mix_that_accumulate_into_one_parameter_are_refused(void **state) {
  (void)state;
  fixture_open(&fixture);
  fixture_run(&fixture, two_accumulate, PTO_OK);
  fixture_close(&fixture);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_two_kernels_of_a_mix_that_accumulate_into_one_parameter_are_refused),
      TEST(test_a_refused_predicate_is_called_the_predicate),
      TEST(test_a_kernel_without_a_function_is_refused),
      TEST(test_bytes_that_a_new_start_of_the_ring_skipped_are_held_by_no_task),
      TEST(test_the_heap_that_an_error_says_is_enough_is_enough),
      TEST(test_edges_of_a_task_that_the_full_log_drops_are_not_given_to_another),
      TEST(test_an_output_of_2_to_the_61_bytes_is_too_large_for_the_heap_and_nothing_else),
      TEST(test_an_element_needs_a_value_to_go_to_or_to_come_from),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
