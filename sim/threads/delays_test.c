/* SPDX-License-Identifier: MIT */
/* Threads with delays planted: they are had where a seed is set, by every thread that runs kernels, and change nothing.
 */
#include <sim/threads/delays.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include <pto/pto.h>
#include <runtime/control/control.h>

#define TASKS 200u
static _Alignas(64) uint64_t sums[TASKS];

static int add_run(const struct pto_kernel_args *args) {
  *(uint64_t *)args->tensors[0].addr += args->scalars[0].u64;
  return 0;
}
static const struct pto_kernel_param params[] = {{.mode = PTO_INOUT}, {.mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64}};
static const struct pto_kernel add = {"add", PTO_AIV, 0, params, 2, add_run, NULL, NULL, NULL};

/* Ten tasks a cell, so that order within a cell does not matter, and their number does. */
static int orchestrate(struct pto_runtime *rt, void *context) {
  const uint64_t shape[] = {1};
  int status = PTO_OK;
  for (uint64_t i = 0; i < TASKS && status == PTO_OK; i++) {
    const struct pto_tensor cell = pto_external_tensor(rt, &sums[i / 10], PTO_UINT64, 1, shape);
    status = pto_submit_aiv(rt, &add, (struct pto_param[]){pto_inout(&cell), pto_scalar_u64(i % 10)}, 2);
  }
  return status;
}

static void test_a_seed_plants_delays_and_results_stay(void **state) {
  const struct pto_config config = {.size = sizeof config, .engine = "delayed threads", .workers = 3};
  struct pto_runtime *rt;
  assert_int_equal(pto_runtime_create(&config, &rt), PTO_OK);
  struct pto_port *port = pto_runtime_port(rt);
  for (uint64_t seed = 0; seed < 20; seed++) {
    const uint64_t before = pto_engine_delays_had(port);
    for (uint32_t i = 0; i < TASKS; i++) sums[i] = 0;
    pto_engine_delays_set(port, seed);
    assert_int_equal(pto_run(rt, orchestrate, NULL), PTO_OK);
    for (uint32_t i = 0; i < TASKS / 10; i++) assert_int_equal(sums[i], 45);
    const uint64_t had = pto_engine_delays_had(port) - before;
    if (seed == 0)
      assert_int_equal(had, 0);
    else
      assert_true(had >= 2 * TASKS); /* before and after each call, and those of the port's operations */
  }
  pto_runtime_destroy(rt);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_seed_plants_delays_and_results_stay)};
  return cmocka_run_group_tests_name("engine_delays", tests, NULL, NULL);
}
