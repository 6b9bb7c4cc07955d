/* SPDX-License-Identifier: MIT */
/*
 * Counterparts of the web-platform-tests of WebNN about reads into given memory, inputs that are not modified, parallel
 * dispatch, scalars and shared constants, on each backend.  tests/pages/webnn_behaviours.txt says which stands for
 * which; a new one needs its row there.
 */
#include <tests/support/webnn_graphs.h>

#include <pthread.h>

/* ---- byob_readtensor ---- */

static void test_a_read_into_too_few_bytes_is_refused_and_touches_nothing(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor t = holding(1);
    float values[NUMEL] = {-1, -1, -1, -1};
    refused(pto_device_tensor_read(context, t, values, BYTES - 1), PTO_EINVAL, "15 bytes given, tensor 1 has 16");
    refused(pto_device_tensor_read(context, t, values, 0), PTO_EINVAL, "0 bytes given");
    for (uint32_t i = 0; i < NUMEL; i++) assert_true(values[i] == -1);
  }
}

static void test_a_read_into_more_bytes_is_refused_here_and_touches_nothing(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor t = holding(1);
    float values[NUMEL + 1] = {-1, -1, -1, -1, -1};
    refused(pto_device_tensor_read(context, t, values, sizeof values), PTO_EINVAL, "20 bytes given, tensor 1 has 16");
    for (uint32_t i = 0; i <= NUMEL; i++) assert_true(values[i] == -1);
  }
}

static void test_a_read_fills_the_memory_of_the_caller_and_nothing_around_it(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor t = holding(3);
    float values[NUMEL + 2];
    for (uint32_t i = 0; i < NUMEL + 2; i++) values[i] = -1;
    assert_int_equal(pto_device_tensor_read(context, t, values + 1, BYTES), PTO_OK);
    for (uint32_t i = 0; i < NUMEL + 2; i++) assert_true(values[i] == (i == 0 || i == NUMEL + 1 ? -1 : 3));
  }
}

static void test_a_read_may_fill_shared_memory(void **state) {
  float *shared = shared_memory();
  ON_EACH_BACKEND {
    struct pto_device_tensor t = holding(3);
    memset(shared, 0, 4096);
    assert_int_equal(pto_device_tensor_read(context, t, shared, BYTES), PTO_OK);
    assert_int_equal(pto_device_tensor_read(context, t, shared + 100, BYTES), PTO_OK);
    for (uint32_t i = 0; i < NUMEL; i++) assert_true(shared[i] == 3 && shared[100 + i] == 3);
    assert_true(shared[NUMEL] == 0 && shared[99] == 0 && shared[100 + NUMEL] == 0);
  }
  munmap(shared, 4096);
}

static void test_a_destroyed_tensor_cannot_be_read(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor t = holding(1);
    float values[NUMEL];
    destroy(t);
    refused(pto_device_tensor_read(context, t, values, BYTES), PTO_ESTALE, "has been destroyed");
  }
}

struct reader {
  pthread_t thread;
  struct pto_device_tensor tensor;
  int status;
  float values[NUMEL];
};

static void *read_it(void *argument) {
  struct reader *reader = argument;
  reader->status = pto_device_tensor_read(context, reader->tensor, reader->values, BYTES);
  return NULL;
}

static void test_a_read_beside_a_destroy_comes_before_it_or_is_refused(void **state) {
  ON_EACH_BACKEND {
    for (int i = 0; i < 20; i++) {
      struct reader reader = {.tensor = holding((float)i)};
      assert_int_equal(pthread_create(&reader.thread, NULL, read_it, &reader), 0);
      destroy(reader.tensor);
      assert_int_equal(pthread_join(reader.thread, NULL), 0);
      assert_true(reader.status == PTO_OK || reader.status == PTO_ESTALE);
      for (uint32_t k = 0; k < NUMEL && reader.status == PTO_OK; k++) assert_true(reader.values[k] == (float)i);
    }
  }
}

/* ---- inputs-are-not-modified ---- */

static void test_the_input_of_hard_swish_is_not_modified(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor in = host_tensor(), out = host_tensor();
    write4(in, -4, -1, 0, 3);
    dispatch1(&graph_hard_swish, in, out);
    reads4(out, -0.0f, -1.0f / 3.0f, 0, 3);
    reads4(in, -4, -1, 0, 3);
  }
}

static void test_the_inputs_of_mul_are_not_modified(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor x = host_tensor(), y = host_tensor(), out = host_tensor();
    write4(x, 1, 2, 3, 4);
    write4(y, 5, 6, 7, 8);
    dispatch2(&graph_mul, x, y, out);
    reads4(out, 5, 12, 21, 32);
    reads4(x, 1, 2, 3, 4);
    reads4(y, 5, 6, 7, 8);
  }
}

/* ---- parallel-dispatch ---- */

static void test_a_dispatch_does_not_reach_the_read_before_it(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor in = holding(10), out = holding(1);
    float values[NUMEL];
    assert_int_equal(pto_device_tensor_read(context, out, values, BYTES), PTO_OK);
    dispatch1(&graph_twice, in, out);
    assert_memory_equal(values, ones, BYTES);
    reads_all(out, 20);
  }
}

static void test_one_graph_written_dispatched_and_read_in_turn_gives_2_and_20(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor in = host_tensor(), out = host_tensor();
    write_all(in, 1);
    dispatch1(&graph_twice, in, out);
    reads_all(out, 2);
    write_all(in, 10);
    dispatch1(&graph_twice, in, out);
    reads_all(out, 20);
  }
}

static void test_one_graph_written_first_then_dispatched_and_read_in_turn_gives_2_and_20(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor in[2] = {holding(1), holding(10)}, out = host_tensor();
    dispatch1(&graph_twice, in[0], out);
    reads_all(out, 2);
    dispatch1(&graph_twice, in[1], out);
    reads_all(out, 20);
  }
}

static void test_one_graph_written_then_dispatched_then_read_gives_2_and_20(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor in[2] = {holding(1), holding(10)}, out[2] = {host_tensor(), host_tensor()};
    for (int i = 0; i < 2; i++) dispatch1(&graph_twice, in[i], out[i]);
    reads_all(out[0], 2);
    reads_all(out[1], 20);
  }
}

static void test_one_graph_on_its_own_output_doubles_each_time(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor t[4] = {holding(1), host_tensor(), host_tensor(), host_tensor()};
    for (int i = 0; i < 3; i++) dispatch1(&graph_twice, t[i], t[i + 1]);
    for (int i = 0; i < 4; i++) reads_all(t[i], (float)(1 << i));
  }
}

static void test_two_graphs_written_first_then_dispatched_and_read_in_turn(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor in[2] = {holding(1), holding(10)}, out[2] = {host_tensor(), host_tensor()};
    dispatch1(&graph_twice, in[0], out[0]);
    reads_all(out[0], 2);
    dispatch1(&graph_thrice, in[1], out[1]);
    reads_all(out[1], 30);
  }
}

static void test_two_graphs_written_then_dispatched_then_read(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor in[2] = {holding(1), holding(10)}, out[2] = {host_tensor(), host_tensor()};
    dispatch1(&graph_twice, in[0], out[0]);
    dispatch1(&graph_thrice, in[1], out[1]);
    reads_all(out[0], 2);
    reads_all(out[1], 30);
  }
}

static void test_two_graphs_on_each_others_outputs(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor t[5] = {holding(1), host_tensor(), host_tensor(), host_tensor(), host_tensor()};
    static const float wanted[] = {1, 2, 6, 12, 36};
    for (int i = 0; i < 4; i++) dispatch1(i % 2 ? &graph_thrice : &graph_twice, t[i], t[i + 1]);
    for (int i = 0; i < 5; i++) reads_all(t[i], wanted[i]);
  }
}

static void test_two_graphs_six_times_over_the_same_two_tensors_leave_216_and_72(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor first = holding(1), second = host_tensor();
    for (int i = 0; i < 3; i++) {
      dispatch1(&graph_twice, first, second);
      dispatch1(&graph_thrice, second, first);
    }
    reads_all(first, 216);
    reads_all(second, 72);
  }
}

/* ---- scalars ---- */

static void test_a_scalar_is_an_input_beside_a_matrix(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor scalar = like(PTO_FLOAT32, 0, NULL), y = host_tensor(), out = host_tensor();
    const float value = 10;
    write4(y, 1, 2, 3, 4);
    assert_int_equal(pto_device_tensor_write(context, scalar, &value, sizeof value), PTO_OK);
    dispatch2(&graph_scalar, scalar, y, out);
    reads4(out, 11, 12, 13, 14);
  }
}

static void test_input_constant_and_output_may_be_scalars_of_f32(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor in = like(PTO_FLOAT32, 0, NULL), out = like(PTO_FLOAT32, 0, NULL), constant;
    const struct pto_device_tensor_desc desc = {.dtype = PTO_FLOAT32};
    float value = 1.5f;
    assert_int_equal(pto_device_tensor_create_constant(context, &desc, &value, sizeof value, &constant), PTO_OK);
    value = 40;
    assert_int_equal(pto_device_tensor_write(context, in, &value, sizeof value), PTO_OK);
    graph_f32.constants = &constant;
    graph_f32.constant_count = 1;
    dispatch1(&graph_f32, in, out);
    assert_int_equal(pto_device_tensor_read(context, out, &value, sizeof value), PTO_OK);
    assert_true(value == 41.5f);
  }
}

static void test_input_constant_and_output_may_be_scalars_of_i32(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor in = like(PTO_INT32, 0, NULL), out = like(PTO_INT32, 0, NULL), constant;
    const struct pto_device_tensor_desc desc = {.dtype = PTO_INT32};
    int32_t value = -7;
    assert_int_equal(pto_device_tensor_create_constant(context, &desc, &value, sizeof value, &constant), PTO_OK);
    value = INT32_C(1) << 30;
    assert_int_equal(pto_device_tensor_write(context, in, &value, sizeof value), PTO_OK);
    graph_i32.constants = &constant;
    graph_i32.constant_count = 1;
    dispatch1(&graph_i32, in, out);
    assert_int_equal(pto_device_tensor_read(context, out, &value, sizeof value), PTO_OK);
    assert_int_equal(value, (INT32_C(1) << 30) - 7);
  }
}

/* ---- shared_arraybuffer_constant ---- */

static void test_a_constant_may_come_from_shared_memory_and_keeps_its_values(void **state) {
  float *shared = shared_memory();
  ON_EACH_BACKEND {
    for (int offset = 0; offset <= 100; offset += 100) {
      struct pto_device_tensor constant, in = holding(1), out = host_tensor();
      struct pto_device_program program = graph_add;
      memcpy(shared + offset, ones, BYTES);
      assert_int_equal(pto_device_tensor_create_constant(context, &matrix, shared + offset, BYTES, &constant), PTO_OK);
      memset(shared, 0, 4096);
      program.input_count = 1;
      program.orchestrate = submit_with_constant;
      program.constants = &constant;
      program.constant_count = 1;
      dispatch1(&program, in, out);
      reads_all(out, 2);
    }
  }
  munmap(shared, 4096);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_read_into_too_few_bytes_is_refused_and_touches_nothing),
      cmocka_unit_test(test_a_read_into_more_bytes_is_refused_here_and_touches_nothing),
      cmocka_unit_test(test_a_read_fills_the_memory_of_the_caller_and_nothing_around_it),
      cmocka_unit_test(test_a_read_may_fill_shared_memory),
      cmocka_unit_test(test_a_destroyed_tensor_cannot_be_read),
      cmocka_unit_test(test_a_read_beside_a_destroy_comes_before_it_or_is_refused),
      cmocka_unit_test(test_the_input_of_hard_swish_is_not_modified),
      cmocka_unit_test(test_the_inputs_of_mul_are_not_modified),
      cmocka_unit_test(test_a_dispatch_does_not_reach_the_read_before_it),
      cmocka_unit_test(test_one_graph_written_dispatched_and_read_in_turn_gives_2_and_20),
      cmocka_unit_test(test_one_graph_written_first_then_dispatched_and_read_in_turn_gives_2_and_20),
      cmocka_unit_test(test_one_graph_written_then_dispatched_then_read_gives_2_and_20),
      cmocka_unit_test(test_one_graph_on_its_own_output_doubles_each_time),
      cmocka_unit_test(test_two_graphs_written_first_then_dispatched_and_read_in_turn),
      cmocka_unit_test(test_two_graphs_written_then_dispatched_then_read),
      cmocka_unit_test(test_two_graphs_on_each_others_outputs),
      cmocka_unit_test(test_two_graphs_six_times_over_the_same_two_tensors_leave_216_and_72),
      cmocka_unit_test(test_a_scalar_is_an_input_beside_a_matrix),
      cmocka_unit_test(test_input_constant_and_output_may_be_scalars_of_f32),
      cmocka_unit_test(test_input_constant_and_output_may_be_scalars_of_i32),
      cmocka_unit_test(test_a_constant_may_come_from_shared_memory_and_keeps_its_values),
  };
  return WEBNN_GROUPS(tests);
}
