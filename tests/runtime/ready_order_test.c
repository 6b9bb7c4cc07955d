/* SPDX-License-Identifier: MIT */
/* Tasks that become ready at once run in the order of their submits, on the cores that are idle. */
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

/* ---- order among equals ---- */

static uint64_t ran[128];
static uint32_t ran_count;
static int note(const struct pto_kernel_args *args) {
  ran[ran_count++] = args->scalars[0].u64;
  return 0;
}

static int forty_readers(struct pto_runtime *rt, struct fixture *f) {
  struct pto_kernel kernel = fixture_kernel_with("is", 0, note);
  struct pto_tensor t = fixture_bytes(f, 0, 64);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &t), PTO_OK);
  for (uint64_t i = 0; i < 40; i++) {
    struct pto_param params[2] = {pto_input(&t), pto_scalar_u64(i)};
    fixture_expect(rt, pto_submit_aic(rt, &kernel, params, 2), PTO_OK);
  }
  uint8_t value = 0;
  static const uint64_t index = 0;
  fixture_expect(rt, pto_write_element(rt, &t, &index, &value),
                 PTO_OK); /* waits for all: the kernel lives until then */
  return 0;
}
static void test_consumers_that_become_ready_at_once_run_in_the_order_of_their_submits(void **state) {
  (void)state;
  ran_count = 0;
  fixture_open(&fixture);
  fixture_run(&fixture, forty_readers, PTO_OK);
  assert_int_equal(ran_count, 40);
  for (uint64_t i = 0; i < 40; i++) assert_int_equal(ran[i], i);
  fixture_close(&fixture);
}

static int readers_behind_barriers(struct pto_runtime *rt, struct fixture *f) {
  struct pto_kernel kernel = fixture_kernel_with("s", 0, note);
  struct pto_tensor t = fixture_bytes(f, 0, 64);
  const struct pto_tensor *const tensors[] = {&t};
  struct pto_task gate, barriers[8];
  fixture_expect(rt, fixture_submit(rt, "o", tensors, &gate), PTO_OK);
  for (int i = 0; i < 8; i++) fixture_expect(rt, pto_submit_barrier(rt, &gate, 1, &barriers[i]), PTO_OK);
  for (uint64_t i = 0; i < 8; i++) {
    struct pto_param param = pto_scalar_u64(i);
    struct pto_launch launch = {.aic = &kernel, .after = &barriers[i], .after_count = 1};
    fixture_expect(rt, pto_submit(rt, &launch, &param, 1, NULL), PTO_OK);
  }
  while (rt->completed_count < rt->task_count) fixture_expect(rt, pto_progress_wait(rt), PTO_OK);
  return 0;
}
static void test_tasks_behind_barriers_that_end_at_once_run_in_the_order_of_their_submits(void **state) {
  (void)state;
  ran_count = 0;
  fixture_open(&fixture);
  fixture_run(&fixture, readers_behind_barriers, PTO_OK);
  assert_int_equal(ran_count, 8);
  for (uint64_t i = 0; i < 8; i++) assert_int_equal(ran[i], i);
  fixture_close(&fixture);
}

static uint32_t mix_lane;
static int note_lane(const struct pto_kernel_args *args) {
  if (args->core->kind == PTO_AIV) mix_lane = args->core->lane;
  return 0;
}
static int mix_beside_a_busy_core(struct pto_runtime *rt, struct fixture *f) {
  struct pto_kernel kernel = fixture_kernel_with("", 0, note_lane);
  (void)f;
  fixture_expect(rt, pto_submit_aic(rt, fixture_kernel(""), NULL, 0),
                 PTO_OK); /* the AIC core is busy: no cluster is idle */
  fixture_expect(rt, pto_submit_aiv(rt, fixture_kernel(""), NULL, 0), PTO_OK); /* AIV0 is busy, AIV1 is not */
  struct pto_launch launch = {.aic = &kernel, .aiv0 = &kernel};
  fixture_expect(rt, pto_submit(rt, &launch, NULL, 0, NULL), PTO_OK);
  while (rt->completed_count < rt->task_count) fixture_expect(rt, pto_progress_wait(rt), PTO_OK);
  return 0;
}
static void test_a_mix_of_two_takes_the_idle_vector_core_of_its_cluster(void **state) {
  (void)state;
  fixture_open(&fixture);
  fixture_run(&fixture, mix_beside_a_busy_core, PTO_OK);
  assert_int_equal(mix_lane, 2);
  fixture_close(&fixture);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_consumers_that_become_ready_at_once_run_in_the_order_of_their_submits),
      TEST(test_tasks_behind_barriers_that_end_at_once_run_in_the_order_of_their_submits),
      TEST(test_a_mix_of_two_takes_the_idle_vector_core_of_its_cluster),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
