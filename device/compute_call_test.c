/* SPDX-License-Identifier: MIT */
/* A program computed from host arrays to host arrays, on each backend. */
#include <tests/support/context_fixture.h>

static struct pto_host_array array(const char *name, float *values) {
  return (struct pto_host_array){name, values, BYTES};
}

static int compute(const struct pto_device_program *program, const struct pto_host_array *inputs, uint32_t input_count,
                   const struct pto_host_array *outputs, uint32_t output_count) {
  const struct pto_compute_arrays arrays = {inputs, outputs, input_count, output_count};
  return pto_context_compute(context, program, &arrays);
}

static void test_arrays_go_in_and_come_out_and_nothing_is_left_behind(void **state) {
  ON_EACH_BACKEND {
    float x[NUMEL] = {1, 2, 3, 4}, y[NUMEL] = {10, 20, 30, 40}, z[NUMEL] = {0};
    const float wanted[NUMEL] = {11, 22, 33, 44};
    const struct pto_host_array inputs[] = {array("b", y), array("a", x)}, outputs[] = {array("c", z)};
    for (int i = 0; i < 3; i++) {
      memset(z, 0, sizeof z);
      assert_int_equal(compute(&plus, inputs, 2, outputs, 1), PTO_OK);
      assert_memory_equal(z, wanted, BYTES);
    }
    assert_int_equal(pto_context_sync(context), PTO_OK);
    const struct pto_context_counters all = counters();
    assert_int_equal(all.live_bytes, 0);
    assert_int_equal(all.dispatches, 3);
    assert_int_equal(all.h2d_bytes, 3 * 2 * BYTES);
    assert_int_equal(all.d2h_bytes, 3 * BYTES);
  }
}

static void test_it_comes_between_other_calls_like_any_dispatch(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor t = host_tensor(), u = host_tensor();
    float x[NUMEL] = {1, 1, 1, 1}, z[NUMEL];
    const struct pto_host_array inputs[] = {array("a", x)}, outputs[] = {array("c", z)};
    write4(t, 5, 6, 7, 8);
    dispatch1(&times_2, t, u);
    assert_int_equal(compute(&times_3, inputs, 1, outputs, 1), PTO_OK);
    for (int i = 0; i < 4; i++) assert_true(z[i] == 3);
    reads4(u, 10, 12, 14, 16);
  }
}

static void test_a_program_that_repeats_leaves_nothing_in_the_cache(void **state) {
  struct pto_device_program program = times_2;
  program.repeats = 1;
  ON_EACH_BACKEND {
    float x[NUMEL] = {1, 1, 1, 1}, z[NUMEL];
    const struct pto_host_array inputs[] = {array("a", x)}, outputs[] = {array("c", z)};
    assert_int_equal(compute(&program, inputs, 1, outputs, 1), PTO_OK);
    assert_int_equal(counters().lowering_cache_entries, 0);
  }
}

static void test_wrong_arrays_are_refused_by_name_and_leave_nothing_behind(void **state) {
  ON_EACH_BACKEND {
    float x[NUMEL] = {0}, z[NUMEL] = {7, 7, 7, 7};
    const struct pto_host_array right[] = {array("a", x), array("b", x)}, out[] = {array("c", z)};
    struct pto_host_array wrong[] = {array("a", x), array("x", x)}, more[] = {array("c", z), array("d", z)};
    refused(compute(&plus, wrong, 2, out, 1), PTO_EINVAL, "no input is called \"x\"");
    wrong[1].name = NULL;
    refused(compute(&plus, wrong, 2, out, 1), PTO_EINVAL, "no input is called \"\"");
    wrong[1] = array("b", NULL);
    refused(compute(&plus, wrong, 2, out, 1), PTO_EINVAL, "compute: the array b");
    wrong[1] = array("b", x);
    wrong[1].size_bytes--;
    refused(compute(&plus, wrong, 2, out, 1), PTO_EINVAL, "compute: the array b has not the bytes of its operand");
    wrong[1] = array("a", x);
    refused(compute(&plus, wrong, 2, out, 1), PTO_EINVAL, "input a is bound twice");
    refused(compute(&plus, right, 1, out, 1), PTO_EINVAL, "input b is not bound");
    refused(compute(&plus, right, 2, more, 2), PTO_EINVAL, "no output is called \"d\"");
    refused(compute(&plus, right, 2, out, 0), PTO_EINVAL, "output c is not bound");
    refused(pto_context_compute(context, &plus, NULL), PTO_EINVAL, "no arrays");
    refused(compute(NULL, right, 2, out, 1), PTO_EINVAL, "no program");
    for (int i = 0; i < 4; i++) assert_true(z[i] == 7);
    assert_int_equal(pto_context_sync(context), PTO_OK);
    assert_int_equal(counters().live_bytes, 0);
    assert_int_equal(counters().dispatches, 0);
  }
}

static void test_a_failure_is_kept_as_of_any_dispatch(void **state) {
  ON_EACH_BACKEND {
    float x[NUMEL] = {0}, z[NUMEL];
    const struct pto_host_array inputs[] = {array("a", x)}, outputs[] = {array("c", z)};
    refused(compute(&failing, inputs, 1, outputs, 1), PTO_EKERNEL, "fail");
    refused(compute(&times_2, inputs, 1, outputs, 1), PTO_EKERNEL, "fail");
    assert_int_equal(counters().live_bytes, 0);
    assert_int_equal(pto_context_clear_error(context), PTO_OK);
    assert_int_equal(compute(&times_2, inputs, 1, outputs, 1), PTO_OK);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_arrays_go_in_and_come_out_and_nothing_is_left_behind),
      cmocka_unit_test(test_it_comes_between_other_calls_like_any_dispatch),
      cmocka_unit_test(test_a_program_that_repeats_leaves_nothing_in_the_cache),
      cmocka_unit_test(test_wrong_arrays_are_refused_by_name_and_leave_nothing_behind),
      cmocka_unit_test(test_a_failure_is_kept_as_of_any_dispatch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
