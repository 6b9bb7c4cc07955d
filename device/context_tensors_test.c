/* SPDX-License-Identifier: MIT */
/* Tensors of a context: what is in them, who may touch them, when they go; on each backend. */
#include <device/context_watch.h>
#include <tests/support/context_fixture.h>

#include <time.h>

/* ---- tensors ---- */

static void test_a_tensor_is_zeroed_also_where_others_have_been(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor t = host_tensor();
    reads4(t, 0, 0, 0, 0);
    for (int i = 0; i < 300; i++) { /* more than there are records, and bytes */
      write4(t, 1, 2, 3, 4);
      assert_int_equal(pto_device_tensor_destroy(context, t), PTO_OK);
      t = host_tensor();
      reads4(t, 0, 0, 0, 0);
    }
  }
}

static void test_what_is_written_is_read(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor t = host_tensor();
    write4(t, 1, 2, 3, 4);
    reads4(t, 1, 2, 3, 4);
    write4(t, 5, 6, 7, 8);
    write4(t, 9, 10, 11, 12);
    reads4(t, 9, 10, 11, 12);
  }
}

static void test_write_copies_its_source_at_the_call(void **state) {
  ON_EACH_BACKEND {
    float values[NUMEL] = {1, 2, 3, 4};
    struct pto_device_tensor t = host_tensor();
    assert_int_equal(pto_device_tensor_write(context, t, values, BYTES), PTO_OK);
    memset(values, 0xff, sizeof values);
    reads4(t, 1, 2, 3, 4);
  }
}

static void test_a_default_tensor_is_neither_read_nor_written_and_can_be_input_and_output(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor t, in = host_tensor(), out = host_tensor();
    float values[NUMEL] = {0};
    assert_int_equal(pto_device_tensor_create(context, &matrix, &t), PTO_OK);
    refused(pto_device_tensor_write(context, t, values, BYTES), PTO_EINVAL, "is not writable");
    refused(pto_device_tensor_read(context, t, values, BYTES), PTO_EINVAL, "is not readable");
    write4(in, 1, 2, 3, 4);
    dispatch1(&times_2, in, t);
    dispatch1(&times_3, t, out);
    reads4(out, 6, 12, 18, 24);
  }
}

static void test_flags_limit_the_host_one_way_each(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor_desc desc = matrix;
    struct pto_device_tensor readable, writable;
    float values[NUMEL] = {0};
    desc.flags = PTO_TENSOR_READABLE;
    assert_int_equal(pto_device_tensor_create(context, &desc, &readable), PTO_OK);
    desc.flags = PTO_TENSOR_WRITABLE;
    assert_int_equal(pto_device_tensor_create(context, &desc, &writable), PTO_OK);
    refused(pto_device_tensor_write(context, readable, values, BYTES), PTO_EINVAL, "is not writable");
    refused(pto_device_tensor_read(context, writable, values, BYTES), PTO_EINVAL, "is not readable");
    write4(writable, 1, 2, 3, 4);
    dispatch1(&times_2, writable, readable);
    reads4(readable, 2, 4, 6, 8);
    desc.flags = 4;
    refused(pto_device_tensor_create(context, &desc, &readable), PTO_EINVAL, "flags 0x4");
  }
}

static void test_sizes_have_to_match_exactly(void **state) {
  ON_EACH_BACKEND {
    float values[NUMEL + 1] = {0};
    struct pto_device_tensor t = host_tensor();
    assert_int_equal(pto_device_tensor_size(context, t), BYTES);
    refused(pto_device_tensor_write(context, t, values, BYTES - 1), PTO_EINVAL, "15 bytes given, tensor 1 has 16");
    refused(pto_device_tensor_write(context, t, values, BYTES + 1), PTO_EINVAL, "17 bytes given");
    refused(pto_device_tensor_read(context, t, values, BYTES - 1), PTO_EINVAL, "15 bytes given");
    refused(pto_device_tensor_read(context, t, values, BYTES + 4), PTO_EINVAL, "20 bytes given");
    refused(pto_device_tensor_read(context, t, NULL, BYTES), PTO_EINVAL, "no data");
    reads4(t, 0, 0, 0, 0);
  }
}

static void test_a_description_that_is_none_is_refused(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor t;
    struct pto_device_tensor_desc desc = matrix;
    desc.ndims = PTO_MAX_DIMS + 1;
    refused(pto_device_tensor_create(context, &desc, &t), PTO_EINVAL, "rank 9");
    desc = matrix;
    desc.dtype = 99;
    refused(pto_device_tensor_create(context, &desc, &t), PTO_EINVAL, "99 is no dtype");
    desc = matrix;
    desc.shape[0] = UINT64_MAX;
    refused(pto_device_tensor_create(context, &desc, &t), PTO_EINVAL, "more than 2^64");
    desc.shape[0] = 1 << 20;
    refused(pto_device_tensor_create(context, &desc, &t), PTO_ENOMEM, "a tensor of 8388608 bytes");
    refused(pto_device_tensor_create(context, NULL, &t), PTO_EINVAL, "no description");
    assert_int_equal(counters().live_bytes, 0);
  }
}

static void test_scalars_and_empty_tensors_are_tensors(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor scalar, empty;
    const struct pto_device_tensor_desc none = {.dtype = PTO_INT64, .ndims = 2, .shape = {0, 7}};
    const struct pto_device_tensor_desc one = {.dtype = PTO_INT32};
    int32_t value = 42;
    assert_int_equal(pto_device_tensor_create_host(context, &one, &scalar), PTO_OK);
    assert_int_equal(pto_device_tensor_create_host(context, &none, &empty), PTO_OK);
    assert_int_equal(pto_device_tensor_write(context, scalar, &value, 4), PTO_OK);
    value = 0;
    assert_int_equal(pto_device_tensor_read(context, scalar, &value, 4), PTO_OK);
    assert_int_equal(value, 42);
    assert_int_equal(pto_device_tensor_write(context, empty, NULL, 0), PTO_OK);
    assert_int_equal(pto_device_tensor_read(context, empty, NULL, 0), PTO_OK);
  }
}

static void test_memory_that_is_full_says_how_full_and_comes_back(void **state) {
  ON_EACH_BACKEND {
    const struct pto_device_tensor_desc half = {.dtype = PTO_UINT8, .ndims = 1, .shape = {1 << 19}};
    struct pto_device_tensor tensors[2], third;
    assert_int_equal(pto_device_tensor_create(context, &half, &tensors[0]), PTO_OK);
    assert_int_equal(pto_device_tensor_create(context, &half, &tensors[1]), PTO_OK);
    refused(pto_device_tensor_create(context, &half, &third), PTO_ENOMEM,
            "0 of 1048576 bytes of device memory are free");
    assert_int_equal(pto_device_tensor_destroy(context, tensors[0]), PTO_OK);
    assert_int_equal(pto_device_tensor_create(context, &half, &third), PTO_OK); /* waits for the destroy */
    assert_int_equal(counters().peak_bytes, 1 << 20);
  }
}

/* ---- destroy ---- */

static void test_a_destroyed_tensor_is_an_error_everywhere_and_destroying_it_again_is_not(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor t = host_tensor(), other = host_tensor();
    float values[NUMEL] = {0};
    assert_int_equal(pto_device_tensor_destroy(context, t), PTO_OK);
    assert_int_equal(pto_device_tensor_destroy(context, t), PTO_OK);
    refused(pto_device_tensor_write(context, t, values, BYTES), PTO_ESTALE, "has been destroyed");
    refused(pto_device_tensor_read(context, t, values, BYTES), PTO_ESTALE, "has been destroyed");
    refused(pto_device_tensor_copy(context, t, other), PTO_ESTALE, "has been destroyed");
    refused(try_dispatch1(&times_2, t, other), PTO_ESTALE, "has been destroyed");
    refused(try_dispatch1(&times_2, other, t), PTO_ESTALE, "has been destroyed");
    struct pto_device_tensor again = host_tensor(); /* perhaps in the same place */
    refused(pto_device_tensor_read(context, t, values, BYTES), PTO_ESTALE, "has been destroyed");
    reads4(again, 0, 0, 0, 0);
    refused(pto_device_tensor_read(context, (struct pto_device_tensor){0}, values, BYTES), PTO_ESTALE, "no tensor");
  }
}

static void test_a_destroyed_tensor_is_not_the_one_in_its_place(void **state) {
  ON_EACH_BACKEND {
    float values[NUMEL];
    const struct pto_device_tensor gone = host_tensor();
    assert_int_equal(pto_device_tensor_destroy(context, gone), PTO_OK);
    assert_int_equal(pto_context_sync(context), PTO_OK);
    const struct pto_device_tensor there = host_tensor();
    assert_true((uint32_t)there.id == (uint32_t)gone.id && there.id != gone.id);
    refused(pto_device_tensor_read(context, gone, values, BYTES), PTO_ESTALE, "read: tensor 1 has been destroyed");
    reads4(there, 0, 0, 0, 0);
  }
}

static void test_destroy_takes_effect_after_the_work_that_is_queued(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor out = host_tensor();
    for (uint32_t i = 1; i <= 200; i++) {
      struct pto_device_tensor in = host_tensor();
      write4(in, (float)i, 0, 0, 0);
      dispatch1(&times_2, in, out);
      assert_int_equal(pto_device_tensor_destroy(context, in), PTO_OK);
      struct pto_device_tensor reused = host_tensor();
      write4(reused, -1, -1, -1, -1);
      assert_int_equal(pto_device_tensor_destroy(context, reused), PTO_OK);
      if (i % 50 == 0) reads4(out, 2 * (float)i, 0, 0, 0);
    }
    assert_int_equal(pto_device_tensor_destroy(context, out), PTO_OK);
    assert_int_equal(pto_context_sync(context), PTO_OK);
    assert_int_equal(counters().live_bytes, 0);
    assert_int_equal(counters().allocations, counters().frees);
  }
}

/* Reads its input late: by then a caller that does not wait for it has changed the memory. */
static int scale_late(const struct pto_kernel_args *a) {
  const struct timespec a_while = {.tv_nsec = 3000000};
  nanosleep(&a_while, NULL);
  return scale_run(a);
}
static const struct pto_kernel late = {
    .name = "late", .cores = PTO_AIV, .params = two, .param_count = 3, .run = scale_late};
static int submit_late(struct pto_runtime *rt, const struct pto_bound *bound) {
  const struct pto_param params[] = {pto_input(&bound->inputs[0]), pto_output(&bound->outputs[0]), pto_scalar_f32(2)};
  return pto_submit_aiv(rt, &late, params, 3);
}

static void test_memory_comes_back_only_when_the_tasks_that_use_it_are_done(void **state) {
  struct pto_device_program slow = times_2;
  slow.orchestrate = submit_late;
  for (const struct backend *backend = backends; backend < backends + PTO_ARRAY_LENGTH(backends); backend++) {
    struct pto_context_options options = options_of(backend);
    options.memory_bytes = 4 * 512; /* two inputs and two outputs */
    assert_int_equal(pto_context_create(&options, &context, NULL, 0), PTO_OK);
    struct pto_device_tensor in[2] = {host_tensor(), host_tensor()}, out[2] = {host_tensor(), host_tensor()};
    for (int i = 0; i < 10; i++) {
      for (int k = 0; k < 2; k++) { /* two cores are busy, of which one at least has a thread of its own */
        write4(in[k], 1, 2, 3, (float)i);
        dispatch1(&slow, in[k], out[k]);
      }
      for (int k = 0; k < 2; k++) {
        assert_int_equal(pto_device_tensor_destroy(context, in[k]), PTO_OK);
        in[k] = host_tensor(); /* zeroed, in the same place */
      }
      for (int k = 0; k < 2; k++) reads4(out[k], 2, 4, 6, (float)(2 * i));
    }
    close_context();
  }
}

static void test_a_create_that_waits_for_a_queued_destroy_is_no_refusal(void **state) {
  struct pto_device_tensor_desc half = {.dtype = PTO_UINT8, .ndims = 1, .shape = {(1 << 20) / 2 + 512}};
  ON_EACH_BACKEND {
    struct pto_device_tensor tensor;
    for (int i = 0; i < 4; i++) {
      assert_int_equal(pto_device_tensor_create(context, &half, &tensor), PTO_OK);
      assert_string_equal(pto_context_error(context), "");
      assert_int_equal(pto_device_tensor_destroy(context, tensor), PTO_OK); /* in virtual time it is not done yet */
    }
  }
}

/* ---- labels ---- */

static struct pto_device_tensor labelled(const char *label, uint32_t flags) {
  struct pto_device_tensor_desc desc = matrix;
  struct pto_device_tensor t;
  desc.label = label;
  desc.flags = flags;
  assert_int_equal(pto_device_tensor_create(context, &desc, &t), PTO_OK);
  return t;
}

static void test_sentences_have_the_label_of_a_tensor_beside_its_number(void **state) {
  static const char long_label[] = "a label that is so long that a sentence has only the beginning of it, which says "
                                   "enough of any label that a person has thought of";
  ON_EACH_BACKEND {
    const struct pto_device_tensor halo = labelled("halo", 0), plain = labelled(NULL, 0);
    const struct pto_device_tensor longer = labelled(long_label, PTO_TENSOR_WRITABLE);
    float values[NUMEL] = {0};
    struct pto_device_tensor_info info = {.size = sizeof info};
    assert_int_equal(pto_device_tensor_describe(context, halo, &info), PTO_OK);
    assert_string_equal(info.label, "halo");
    assert_int_equal(pto_device_tensor_describe(context, plain, &info), PTO_OK);
    assert_null(info.label);
    refused(pto_device_tensor_write(context, halo, values, BYTES), PTO_EINVAL,
            "write: tensor 1 (halo) is not writable");
    refused(pto_device_tensor_read(context, plain, values, BYTES), PTO_EINVAL, "read: tensor 2 is not readable");
    refused(pto_device_tensor_write(context, longer, values, 3), PTO_EINVAL, "tensor 3 (a label that is so long");
    refused(pto_device_tensor_copy(context, halo, halo), PTO_EINVAL, "copy: tensor 1 (halo) is both");
    refused(try_dispatch1(&times_2, halo, halo), PTO_EINVAL, "dispatch: tensor 1 (halo) is bound to c and to another");
    assert_int_equal(pto_device_tensor_destroy(context, halo), PTO_OK);
    refused(pto_device_tensor_read(context, halo, values, BYTES), PTO_ESTALE, "tensor 1 (halo) has been destroyed");
    assert_int_equal(pto_context_sync(context), PTO_OK);
    refused(pto_device_tensor_read(context, halo, values, BYTES), PTO_ESTALE, "tensor 1 (halo) has been destroyed");
  }
}

/* Submitted by the orchestration, and again from the cache. */
static void test_what_is_recorded_has_the_labels_of_tensors(void **state) {
  for (uint32_t i = 0; i < 2; i++) {
    const struct pto_trace *recording = NULL;
    struct pto_context_options options = options_of(&backends[i]);
    struct pto_device_program program = times_2;
    char sentence[256];
    program.repeats = 1;
    options.runtime.record = PTO_RECORD_GRAPH;
    assert_int_equal(pto_context_create(&options, &context, sentence, sizeof sentence), PTO_OK);
    const struct pto_device_tensor halo = labelled("halo", PTO_TENSOR_WRITABLE), plain = host_tensor();
    write4(halo, 1, 2, 3, 4);
    for (int times = 0; times < 2; times++) dispatch1(&program, halo, plain);
    assert_int_equal(pto_context_recording(context, &recording), PTO_OK);
    assert_int_equal(counters().lowering_cache_hits, 1);
    assert_int_equal(recording->params.count, 4);
    for (uint64_t p = 0; p < recording->params.count; p++) {
      const struct pto_trace_param *param = pto_trace_log_at(&recording->params, p);
      if (param->mode == PTO_INPUT)
        assert_string_equal(param->buffer_label, "halo");
      else
        assert_null(param->buffer_label);
    }
    const struct pto_trace_host_access *write = pto_trace_log_at(&recording->host_accesses, 0);
    assert_string_equal(write->buffer_label, "halo");
    close_context();
  }
}

static void test_a_context_can_end_with_work_queued(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor a = host_tensor(), b = host_tensor();
    write4(a, 1, 1, 1, 1);
    for (int i = 0; i < 100; i++) {
      dispatch1(&times_2, a, b);
      dispatch1(&times_3, b, a);
    }
    assert_int_equal(pto_device_tensor_destroy(context, a), PTO_OK);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_tensor_is_zeroed_also_where_others_have_been),
      cmocka_unit_test(test_what_is_written_is_read),
      cmocka_unit_test(test_write_copies_its_source_at_the_call),
      cmocka_unit_test(test_a_default_tensor_is_neither_read_nor_written_and_can_be_input_and_output),
      cmocka_unit_test(test_flags_limit_the_host_one_way_each),
      cmocka_unit_test(test_sizes_have_to_match_exactly),
      cmocka_unit_test(test_a_description_that_is_none_is_refused),
      cmocka_unit_test(test_scalars_and_empty_tensors_are_tensors),
      cmocka_unit_test(test_memory_that_is_full_says_how_full_and_comes_back),
      cmocka_unit_test(test_a_destroyed_tensor_is_an_error_everywhere_and_destroying_it_again_is_not),
      cmocka_unit_test(test_a_destroyed_tensor_is_not_the_one_in_its_place),
      cmocka_unit_test(test_destroy_takes_effect_after_the_work_that_is_queued),
      cmocka_unit_test(test_memory_comes_back_only_when_the_tasks_that_use_it_are_done),
      cmocka_unit_test(test_a_create_that_waits_for_a_queued_destroy_is_no_refusal),
      cmocka_unit_test(test_sentences_have_the_label_of_a_tensor_beside_its_number),
      cmocka_unit_test(test_what_is_recorded_has_the_labels_of_tensors),
      cmocka_unit_test(test_a_context_can_end_with_work_queued),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
