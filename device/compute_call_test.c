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

/* ---- tensors, host memory and outputs that are made ---- */

static struct pto_argument of_tensor(const char *name, struct pto_device_tensor t) {
  return (struct pto_argument){.name = name, .tensor = t};
}
static struct pto_argument of_memory(const char *name, float *values) {
  return (struct pto_argument){.name = name, .data = values, .size_bytes = BYTES};
}
static int call(const struct pto_device_program *program, const struct pto_argument *inputs, uint32_t input_count,
                struct pto_argument *outputs, uint32_t output_count) {
  const struct pto_call made = {.size = sizeof made,
                                .inputs = inputs,
                                .outputs = outputs,
                                .input_count = input_count,
                                .output_count = output_count};
  return pto_context_call(context, program, &made);
}

static void test_a_call_takes_tensors_and_memory_and_makes_what_is_not_given(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor t = host_tensor();
    float x[NUMEL] = {1, 2, 3, 4}, z[NUMEL] = {0};
    const float wanted[NUMEL] = {11, 22, 33, 44};
    const struct pto_argument inputs[] = {of_tensor("b", t), of_memory("a", x)};
    struct pto_argument made[] = {{.name = "c"}}, memory[] = {of_memory("c", z)};
    write4(t, 10, 20, 30, 40);
    assert_int_equal(call(&plus, inputs, 2, made, 1), PTO_OK);
    x[0] = 100; /* it was copied at the call */
    assert_true(made[0].tensor.id != 0);
    reads4(made[0].tensor, 11, 22, 33, 44);
    x[0] = 1;
    write4(t, 0, 0, 0, 0);
    const uint64_t id = made[0].tensor.id;
    assert_int_equal(call(&plus, inputs, 2, made, 1), PTO_OK); /* into the tensor that is there by now */
    assert_true(made[0].tensor.id == id);
    reads4(made[0].tensor, 1, 2, 3, 4);
    write4(t, 10, 20, 30, 40);
    assert_int_equal(call(&plus, inputs, 2, memory, 1), PTO_OK);
    assert_memory_equal(z, wanted, BYTES);
    assert_int_equal(pto_context_sync(context), PTO_OK);
    assert_int_equal(counters().allocations - counters().frees, 2); /* t, and what was made */
    struct pto_device_tensor_info info = {.size = sizeof info};
    assert_int_equal(pto_device_tensor_describe(context, made[0].tensor, &info), PTO_OK);
    assert_true(info.is_readable && info.is_writable && !info.is_constant && info.size_bytes == BYTES);
    assert_int_equal(pto_device_tensor_destroy(context, made[0].tensor), PTO_OK);
    refused(pto_device_tensor_describe(context, made[0].tensor, &info), PTO_ESTALE, "describe");
  }
}

static void test_a_call_that_is_refused_makes_nothing(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor t = host_tensor();
    float x[NUMEL] = {0};
    struct pto_argument inputs[] = {of_tensor("a", t), of_memory("b", x)}, made[] = {{.name = "c"}},
                        none[] = {{.name = "d"}};
    const struct pto_call old = {.size = 4};
    inputs[1].tensor = t;
    refused(call(&plus, inputs, 2, made, 1), PTO_EINVAL, "call: b is a tensor and host memory");
    inputs[1] = of_memory("b", NULL);
    refused(call(&plus, inputs, 2, made, 1), PTO_EINVAL, "call: the array b has not the bytes of its operand");
    inputs[1] = of_tensor("b", t);
    refused(call(&plus, inputs, 2, made, 1), PTO_EINVAL, "is bound to b and to another operand");
    refused(call(&plus, inputs, 1, made, 1), PTO_EINVAL, "input b is not bound");
    refused(call(&plus, inputs, 1, none, 1), PTO_EINVAL, "call: no output is called \"d\"");
    refused(pto_context_call(context, &plus, &old), PTO_EINVAL, "call: call.size is 4");
    assert_true(made[0].tensor.id == 0);
    assert_int_equal(pto_context_sync(context), PTO_OK);
    assert_int_equal(counters().allocations - counters().frees, 1);
    assert_int_equal(counters().dispatches, 0);
  }
}

static void test_a_tensor_tells_what_it_is(void **state) {
  ON_EACH_BACKEND {
    const struct pto_device_tensor_desc desc = {
        .dtype = PTO_INT16, .ndims = 2, .shape = {2, 3}, .flags = PTO_TENSOR_READABLE};
    struct pto_device_tensor_desc constant = desc;
    struct pto_device_tensor tensors[2];
    int16_t data[6] = {0};
    constant.flags = 0;
    assert_int_equal(pto_device_tensor_create(context, &desc, &tensors[0]), PTO_OK);
    assert_int_equal(pto_device_tensor_create_constant(context, &constant, data, sizeof data, &tensors[1]), PTO_OK);
    for (int i = 0; i < 2; i++) {
      struct pto_device_tensor_info info = {.size = sizeof info};
      assert_int_equal(pto_device_tensor_describe(context, tensors[i], &info), PTO_OK);
      assert_true(info.dtype == PTO_INT16 && info.ndims == 2 && info.shape[0] == 2 && info.shape[1] == 3);
      assert_true(info.size_bytes == 12 && info.is_constant == i && info.is_readable == !i && !info.is_writable);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_arrays_go_in_and_come_out_and_nothing_is_left_behind),
      cmocka_unit_test(test_it_comes_between_other_calls_like_any_dispatch),
      cmocka_unit_test(test_a_program_that_repeats_leaves_nothing_in_the_cache),
      cmocka_unit_test(test_wrong_arrays_are_refused_by_name_and_leave_nothing_behind),
      cmocka_unit_test(test_a_failure_is_kept_as_of_any_dispatch),
      cmocka_unit_test(test_a_call_takes_tensors_and_memory_and_makes_what_is_not_given),
      cmocka_unit_test(test_a_call_that_is_refused_makes_nothing),
      cmocka_unit_test(test_a_tensor_tells_what_it_is),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
