/* SPDX-License-Identifier: MIT */
/*
 * Counterparts of the web-platform-tests of WebNN in tensor.https.any.js: creation, destruction, reads, writes and what
 * a dispatch may be bound to, on each backend.  tests/pages/webnn_behaviours.txt says which stands for which; a new one
 * needs its row there.
 */
#include <tests/support/webnn_graphs.h>

/* ---- tensor: create and destroy ---- */

static void test_a_tensor_beyond_the_limit_is_refused(void **state) {
  ON_EACH_BACKEND {
    const uint64_t limit = pto_context_info(context).max_tensor_bytes;
    struct pto_device_tensor_desc desc = {.dtype = PTO_UINT8, .ndims = 1, .shape = {limit + 1}};
    struct pto_device_tensor t;
    refused(pto_device_tensor_create(context, &desc, &t), PTO_ENOMEM, "a tensor of 1048577 bytes");
    assert_int_equal(counters().live_bytes, 0);
    desc.shape[0] = limit;
    assert_int_equal(pto_device_tensor_create(context, &desc, &t), PTO_OK);
  }
}

static void test_tensors_of_every_dtype_are_made_written_and_read(void **state) {
  ON_EACH_BACKEND {
    for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++) {
      uint8_t bytes[48], values[48] = {0};
      struct pto_device_tensor t = like(dtype, 2, (const uint64_t[]){2, 3});
      const uint64_t size_bytes = pto_device_tensor_size(context, t);
      assert_int_equal(size_bytes, (6 * pto_dtype_bits(dtype) + 7) / 8);
      for (uint64_t i = 0; i < size_bytes; i++) bytes[i] = (uint8_t)(i + dtype);
      assert_int_equal(pto_device_tensor_write(context, t, bytes, size_bytes), PTO_OK);
      assert_int_equal(pto_device_tensor_read(context, t, values, size_bytes), PTO_OK);
      assert_memory_equal(values, bytes, size_bytes);
    }
  }
}

static void test_an_extent_of_0_is_legal_here(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor t = like(PTO_INT32, 2, (const uint64_t[]){32, 0});
    assert_int_equal(pto_device_tensor_size(context, t), 0);
    assert_int_equal(pto_device_tensor_write(context, t, NULL, 0), PTO_OK);
    assert_int_equal(pto_device_tensor_read(context, t, NULL, 0), PTO_OK);
  }
}

static void test_a_size_that_overflows_is_refused(void **state) {
  ON_EACH_BACKEND {
    const struct pto_device_tensor_desc desc = {
        .dtype = PTO_INT32, .ndims = 2, .shape = {UINT64_C(1) << 61, UINT64_C(1) << 61}};
    struct pto_device_tensor t;
    refused(pto_device_tensor_create(context, &desc, &t), PTO_EINVAL, "more than 2^64");
  }
}

static void test_destroying_twice_is_no_error(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor t = host_tensor();
    destroy(t);
    destroy(t);
    assert_int_equal(pto_context_sync(context), PTO_OK);
    assert_int_equal(counters().frees, 1);
  }
}

/* ---- tensor: read and write ---- */

static void test_a_read_before_the_destroy_has_the_values(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor t = holding(6);
    reads_all(t, 6);
    destroy(t);
    float values[NUMEL];
    refused(pto_device_tensor_read(context, t, values, BYTES), PTO_ESTALE, "has been destroyed");
  }
}

static void test_what_is_not_written_reads_as_zeros(void **state) {
  ON_EACH_BACKEND { reads_all(host_tensor(), 0); }
}

static void test_the_last_write_is_what_is_read(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor t = holding(1);
    write_all(t, 2);
    write4(t, 3, 4, 5, 6);
    reads4(t, 3, 4, 5, 6);
  }
}

/* Calls on `context` with a tensor of another one. */
static void with_foreign_tensor(const struct backend *backend, void (*use)(struct pto_device_tensor foreign)) {
  const struct pto_context_options options = options_of(backend);
  struct pto_context *other;
  struct pto_device_tensor foreign;
  assert_int_equal(pto_context_create(&options, &other, NULL, 0), PTO_OK);
  assert_int_equal(pto_device_tensor_create_host(other, &matrix, &foreign), PTO_OK);
  use(foreign);
  pto_context_destroy(other);
}

static void read_foreign(struct pto_device_tensor foreign) {
  float values[NUMEL];
  refused(pto_device_tensor_read(context, foreign, values, BYTES), PTO_ESTALE, "of another context");
}
static void test_a_tensor_of_another_context_cannot_be_read(void **state) {
  ON_EACH_BACKEND { with_foreign_tensor(backend, read_foreign); }
}

static void test_writes_come_from_any_memory(void **state) {
  float *shared = shared_memory(), *heap = malloc(BYTES + 4);
  assert_non_null(heap);
  ON_EACH_BACKEND {
    struct pto_device_tensor t = host_tensor();
    assert_int_equal(pto_device_tensor_write(context, t, ones, BYTES), PTO_OK); /* constant */
    reads_all(t, 1);
    for (uint32_t i = 0; i < NUMEL; i++) shared[5 + i] = 2;
    assert_int_equal(pto_device_tensor_write(context, t, shared + 5, BYTES), PTO_OK); /* shared, within a larger one */
    reads_all(t, 2);
    memcpy((char *)heap + 1, ones, BYTES);
    assert_int_equal(pto_device_tensor_write(context, t, (char *)heap + 1, BYTES), PTO_OK); /* not aligned */
    reads_all(t, 1);
  }
  free(heap);
  munmap(shared, 4096);
}

static void test_writes_of_another_size_are_refused(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor t = holding(1);
    const float values[NUMEL + 1] = {0};
    refused(pto_device_tensor_write(context, t, values, BYTES - 4), PTO_EINVAL, "12 bytes given, tensor 1 has 16");
    refused(pto_device_tensor_write(context, t, values, BYTES + 4), PTO_EINVAL, "20 bytes given, tensor 1 has 16");
    reads_all(t, 1);
  }
}

static void test_a_destroyed_tensor_cannot_be_written(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor t = host_tensor();
    destroy(t);
    refused(pto_device_tensor_write(context, t, ones, BYTES), PTO_ESTALE, "has been destroyed");
  }
}

static void write_foreign(struct pto_device_tensor foreign) {
  refused(pto_device_tensor_write(context, foreign, ones, BYTES), PTO_ESTALE, "of another context");
}
static void test_a_tensor_of_another_context_cannot_be_written(void **state) {
  ON_EACH_BACKEND { with_foreign_tensor(backend, write_foreign); }
}

static void test_a_scalar_is_written_and_read(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor t = like(PTO_INT32, 0, NULL);
    int32_t value = 42;
    assert_int_equal(pto_device_tensor_write(context, t, &value, sizeof value), PTO_OK);
    value = 0;
    assert_int_equal(pto_device_tensor_read(context, t, &value, sizeof value), PTO_OK);
    assert_int_equal(value, 42);
  }
}

/* ---- tensor: dispatch ---- */

static int try_two(const struct pto_device_tensor in[2], const struct pto_device_tensor out[2]) {
  const struct pto_binding inputs[] = {{"a", in[0]}, {"b", in[1]}}, outputs[] = {{"c", out[0]}, {"d", out[1]}};
  return pto_context_dispatch(
      context, &graph_two,
      &(struct pto_dispatch_bindings){.inputs = inputs, .outputs = outputs, .input_count = 2, .output_count = 2});
}

/* A dispatch of graph_two is refused with this word, and has changed nothing. */
static void two_refused(const struct pto_device_tensor in[2], const struct pto_device_tensor out[2], int status,
                        const char *part) {
  refused(try_two(in, out), status, part);
  assert_int_equal(pto_context_sync(context), PTO_OK);
  assert_int_equal(counters().dispatches, 0);
}

#define FOUR_TENSORS struct pto_device_tensor in[2] = {holding(1), holding(2)}, out[2] = {host_tensor(), host_tensor()}
#define PAIR(x, y)                                                                                                     \
  (const struct pto_device_tensor[]) { x, y }

static void dispatch_foreign(struct pto_device_tensor foreign) {
  FOUR_TENSORS;
  two_refused(PAIR(foreign, in[1]), out, PTO_ESTALE, "a: the tensor is of another context");
  two_refused(in, PAIR(out[0], foreign), PTO_ESTALE, "d: the tensor is of another context");
}
static void test_a_tensor_of_another_context_cannot_be_bound(void **state) {
  ON_EACH_BACKEND { with_foreign_tensor(backend, dispatch_foreign); }
}

static void test_a_tensor_of_another_shape_cannot_be_bound(void **state) {
  ON_EACH_BACKEND {
    FOUR_TENSORS;
    struct pto_device_tensor row = like(PTO_FLOAT32, 2, (const uint64_t[]){1, 4});
    struct pto_device_tensor flat = like(PTO_FLOAT32, 1, (const uint64_t[]){4});
    two_refused(PAIR(row, in[1]), out, PTO_EINVAL, "a is f32 [2, 2], tensor 5 is f32 [1, 4]");
    two_refused(in, PAIR(out[0], flat), PTO_EINVAL, "d is f32 [2, 2], tensor 6 is f32 [4]");
  }
}

static void test_a_tensor_of_another_dtype_cannot_be_bound(void **state) {
  ON_EACH_BACKEND {
    FOUR_TENSORS;
    struct pto_device_tensor bits = like(PTO_INT32, 2, (const uint64_t[]){2, 2});
    two_refused(PAIR(in[0], bits), out, PTO_EINVAL, "b is f32 [2, 2], tensor 5 is i32 [2, 2]");
    two_refused(in, PAIR(bits, out[1]), PTO_EINVAL, "c is f32 [2, 2], tensor 5 is i32 [2, 2]");
  }
}

static void test_names_that_are_unknown_or_missing_are_refused(void **state) {
  ON_EACH_BACKEND {
    FOUR_TENSORS;
    const struct pto_binding right_in[] = {{"a", in[0]}, {"b", in[1]}}, right_out[] = {{"c", out[0]}, {"d", out[1]}};
    const struct pto_binding wrong_in[] = {{"a", in[0]}, {"1", in[1]}}, wrong_out[] = {{"1", out[0]}, {"d", out[1]}};
    struct pto_dispatch_bindings bindings = {
        .inputs = wrong_in, .outputs = right_out, .input_count = 2, .output_count = 2};
    refused(pto_context_dispatch(context, &graph_two, &bindings), PTO_EINVAL, "no input is called \"1\"");
    bindings.inputs = right_in;
    bindings.outputs = wrong_out;
    refused(pto_context_dispatch(context, &graph_two, &bindings), PTO_EINVAL, "no output is called \"1\"");
    bindings.outputs = right_out;
    bindings.input_count = 1;
    refused(pto_context_dispatch(context, &graph_two, &bindings), PTO_EINVAL, "input b is not bound");
    bindings.input_count = 2;
    bindings.output_count = 0;
    refused(pto_context_dispatch(context, &graph_two, &bindings), PTO_EINVAL, "output c is not bound");
  }
}

static void test_what_is_no_tensor_cannot_be_bound(void **state) {
  ON_EACH_BACKEND {
    FOUR_TENSORS;
    const struct pto_device_tensor none = {0}, invented = {.id = UINT64_C(77) << 32 | 99, .context = in[0].context};
    two_refused(PAIR(in[0], none), out, PTO_ESTALE, "b: no tensor");
    two_refused(in, PAIR(invented, out[1]), PTO_ESTALE, "c: tensor 99 has been destroyed");
  }
}

static void test_a_tensor_cannot_be_two_inputs(void **state) {
  ON_EACH_BACKEND {
    FOUR_TENSORS;
    two_refused(PAIR(in[0], in[0]), out, PTO_EINVAL, "tensor 1 is bound to b and to another operand");
  }
}

static void test_a_tensor_cannot_be_two_outputs(void **state) {
  ON_EACH_BACKEND {
    FOUR_TENSORS;
    two_refused(in, PAIR(out[0], out[0]), PTO_EINVAL, "tensor 3 is bound to d and to another operand");
  }
}

static void test_the_inputs_cannot_be_the_outputs(void **state) {
  ON_EACH_BACKEND {
    FOUR_TENSORS;
    two_refused(in, in, PTO_EINVAL, "tensor 1 is bound to c and to another operand; only an input that is `consumed`");
    (void)out;
  }
}

static void test_an_output_cannot_be_an_input_too(void **state) {
  ON_EACH_BACKEND {
    FOUR_TENSORS;
    two_refused(PAIR(in[0], out[0]), out, PTO_EINVAL, "tensor 3 is bound to c and to another operand");
    two_refused(in, PAIR(out[0], in[0]), PTO_EINVAL, "tensor 1 is bound to d and to another operand");
  }
}

static void test_the_same_names_may_have_other_inputs_each_time(void **state) {
  ON_EACH_BACKEND {
    FOUR_TENSORS;
    assert_int_equal(try_two(in, out), PTO_OK);
    reads_all(out[0], 3);
    struct pto_device_tensor other = holding(10);
    assert_int_equal(try_two(PAIR(other, in[1]), out), PTO_OK);
    reads_all(out[0], 12);
    assert_int_equal(try_two(PAIR(in[0], other), out), PTO_OK);
    reads_all(out[1], 11);
  }
}

static void test_the_same_names_may_have_other_outputs_each_time(void **state) {
  ON_EACH_BACKEND {
    FOUR_TENSORS;
    struct pto_device_tensor other = holding(-1);
    assert_int_equal(try_two(in, out), PTO_OK);
    write_all(in[0], 5);
    assert_int_equal(try_two(in, PAIR(other, out[1])), PTO_OK);
    reads_all(out[0], 3);
    reads_all(out[1], 7);
    reads_all(other, 7);
  }
}

static void test_inputs_may_be_destroyed_and_others_take_their_names(void **state) {
  ON_EACH_BACKEND {
    FOUR_TENSORS;
    assert_int_equal(try_two(in, out), PTO_OK);
    destroy(in[0]); /* while the dispatch is queued */
    struct pto_device_tensor other = holding(10);
    assert_int_equal(try_two(PAIR(other, in[1]), out), PTO_OK);
    refused(try_two(in, out), PTO_ESTALE, "a: tensor 1 has been destroyed");
    reads_all(out[0], 12);
    reads_all(out[1], 12);
  }
}

static void test_outputs_may_be_destroyed_and_others_take_their_names(void **state) {
  ON_EACH_BACKEND {
    FOUR_TENSORS;
    assert_int_equal(try_two(in, out), PTO_OK);
    destroy(out[0]);
    struct pto_device_tensor other = holding(10);
    assert_int_equal(try_two(in, PAIR(other, out[1])), PTO_OK);
    refused(try_two(in, out), PTO_ESTALE, "c: tensor 3 has been destroyed");
    reads_all(other, 3);
    reads_all(out[1], 3);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_tensor_beyond_the_limit_is_refused),
      cmocka_unit_test(test_tensors_of_every_dtype_are_made_written_and_read),
      cmocka_unit_test(test_an_extent_of_0_is_legal_here),
      cmocka_unit_test(test_a_size_that_overflows_is_refused),
      cmocka_unit_test(test_destroying_twice_is_no_error),
      cmocka_unit_test(test_a_read_before_the_destroy_has_the_values),
      cmocka_unit_test(test_what_is_not_written_reads_as_zeros),
      cmocka_unit_test(test_the_last_write_is_what_is_read),
      cmocka_unit_test(test_a_tensor_of_another_context_cannot_be_read),
      cmocka_unit_test(test_writes_come_from_any_memory),
      cmocka_unit_test(test_writes_of_another_size_are_refused),
      cmocka_unit_test(test_a_destroyed_tensor_cannot_be_written),
      cmocka_unit_test(test_a_tensor_of_another_context_cannot_be_written),
      cmocka_unit_test(test_a_scalar_is_written_and_read),
      cmocka_unit_test(test_a_tensor_of_another_context_cannot_be_bound),
      cmocka_unit_test(test_a_tensor_of_another_shape_cannot_be_bound),
      cmocka_unit_test(test_a_tensor_of_another_dtype_cannot_be_bound),
      cmocka_unit_test(test_names_that_are_unknown_or_missing_are_refused),
      cmocka_unit_test(test_what_is_no_tensor_cannot_be_bound),
      cmocka_unit_test(test_a_tensor_cannot_be_two_inputs),
      cmocka_unit_test(test_a_tensor_cannot_be_two_outputs),
      cmocka_unit_test(test_the_inputs_cannot_be_the_outputs),
      cmocka_unit_test(test_an_output_cannot_be_an_input_too),
      cmocka_unit_test(test_the_same_names_may_have_other_inputs_each_time),
      cmocka_unit_test(test_the_same_names_may_have_other_outputs_each_time),
      cmocka_unit_test(test_inputs_may_be_destroyed_and_others_take_their_names),
      cmocka_unit_test(test_outputs_may_be_destroyed_and_others_take_their_names),
  };
  return WEBNN_GROUPS(tests);
}
