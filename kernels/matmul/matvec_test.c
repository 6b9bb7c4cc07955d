/* SPDX-License-Identifier: MIT */
/*
 * matvec_int4 gives the bits of matvec_int8 of the same numbers: all sixteen of them in every place of a block, rows
 * that no level works on in whole groups, and blocks of several lengths.
 */
#include <kernels/api/list.h>
#include <kernels/levels/level.h>
#include <tests/support/kernel_call.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define ROWS UINT64_C(7)

static void run(const char *name, uint32_t dtype, const int8_t *q, uint64_t cols, uint64_t block, float *y) {
  const struct pto_kernel *kernel = pto_kernel_find(name);
  const struct pto_reference_shape shapes[] = {{2, {ROWS, cols}}, {2, {ROWS, cols / block}}, {1, {cols}}, {1, {ROWS}}};
  const uint32_t dtypes[] = {dtype, PTO_FLOAT32, PTO_FLOAT32, PTO_FLOAT32};
  struct pto_test_tensor tensors[4];
  struct pto_test_call call;
  struct pto_rng rng = {3};
  pto_test_call_init(&call, kernel);
  for (uint32_t i = 0; i < 4; i++) {
    pto_test_tensor_init(&tensors[i], dtypes[i], &shapes[i], PTO_TEST_CONTIGUOUS, i == 3, NULL);
    if (i > 0) pto_test_fill(&tensors[i], false, &rng);
    call.tensors[i] = tensors[i].t;
  }
  for (uint64_t i = 0; i < ROWS * cols; i++) pto_reference_set_whole(&tensors[0].t, i, (uint64_t)q[i]);
  if (kernel->check(&call.args) != 0) fail_msg("%s", call.message);
  assert_int_equal(pto_test_call_run(kernel, &call.args), 0);
  memcpy(y, tensors[3].t.addr, ROWS * sizeof *y);
  for (uint32_t i = 0; i < 4; i++) pto_test_tensor_fini(&tensors[i]);
}

static void test_four_bits_give_the_bits_of_eight(void **state) {
  (void)state;
  static int8_t q[ROWS * 1024];
  static const uint64_t sizes[][2] = {{32, 32}, {64, 32}, {96, 96}, {1024, 32}, {1024, 128}};
  struct pto_rng rng = {4};
  for (uint32_t s = 0; s < PTO_ARRAY_LENGTH(sizes); s++)
    for (uint32_t is_accumulated = 0; is_accumulated < 2; is_accumulated++) {
      float four[ROWS], eight[ROWS];
      for (uint64_t i = 0; i < PTO_ARRAY_LENGTH(q); i++) q[i] = (int8_t)((int)pto_rng_below(&rng, 16) - 8);
      run(is_accumulated ? "matvec_int8_accumulate" : "matvec_int8", PTO_INT8, q, sizes[s][0], sizes[s][1], eight);
      for (uint32_t level = 0; level < PTO_LEVEL_COUNT; level++) {
        pto_level_limit(level);
        run(is_accumulated ? "matvec_int4_accumulate" : "matvec_int4", PTO_INT4, q, sizes[s][0], sizes[s][1], four);
        assert_memory_equal(four, eight, sizeof four);
      }
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_four_bits_give_the_bits_of_eight)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
