/* SPDX-License-Identifier: MIT */
/* Every test runs on each backend. */
#include <pto/device.h>

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <runtime/base/base.h>
#include <runtime/base/reserve.h>
#include <runtime/base/thread.h>

#define ROWS 2u
#define COLUMNS 2u
#define NUMEL (ROWS * COLUMNS)
#define BYTES (NUMEL * sizeof(float))

/* ---- kernels and programs ---- */

static int scale_run(const struct pto_kernel_args *a) {
  const float *x = a->tensors[0].addr;
  float *z = a->tensors[1].addr;
  for (uint32_t i = 0; i < NUMEL; i++) z[i] = x[i] * a->scalars[0].f32;
  return 0;
}
static int sum_run(const struct pto_kernel_args *a) {
  const float *x = a->tensors[0].addr, *y = a->tensors[1].addr;
  float *z = a->tensors[2].addr;
  for (uint32_t i = 0; i < NUMEL; i++) z[i] = x[i] + y[i];
  return 0;
}
static int fail_run(const struct pto_kernel_args *a) { return -77; }

static const struct pto_kernel_param two[] = {{.mode = PTO_INPUT}, {.mode = PTO_OUTPUT}, {.mode = PTO_SCALAR}};
static const struct pto_kernel_param three[] = {{.mode = PTO_INPUT}, {.mode = PTO_INPUT}, {.mode = PTO_OUTPUT}};
static const struct pto_kernel scale = {
    .name = "scale", .cores = PTO_AIV, .params = two, .param_count = 3, .run = scale_run};
static const struct pto_kernel sum = {
    .name = "sum", .cores = PTO_AIV, .params = three, .param_count = 3, .run = sum_run};
static const struct pto_kernel fail = {
    .name = "fail", .cores = PTO_AIV, .params = two, .param_count = 2, .run = fail_run};

static int submit_scale(struct pto_runtime *rt, const struct pto_bound *bound) {
  const float factor = *(const float *)bound->context;
  const struct pto_param params[] = {pto_input(&bound->inputs[0]), pto_output(&bound->outputs[0]),
                                     pto_scalar_f32(factor)};
  return pto_submit_aiv(rt, &scale, params, 3);
}
static int submit_sum(struct pto_runtime *rt, const struct pto_bound *bound) {
  const struct pto_param params[] = {pto_input(&bound->inputs[0]), pto_input(&bound->inputs[1]),
                                     pto_output(&bound->outputs[0])};
  return pto_submit_aiv(rt, &sum, params, 3);
}
static int submit_sum_constant(struct pto_runtime *rt, const struct pto_bound *bound) {
  const struct pto_param params[] = {pto_input(&bound->inputs[0]), pto_input(&bound->constants[0]),
                                     pto_output(&bound->outputs[0])};
  return pto_submit_aiv(rt, &sum, params, 3);
}
static int submit_fail(struct pto_runtime *rt, const struct pto_bound *bound) {
  const struct pto_param params[] = {pto_input(&bound->inputs[0]), pto_output(&bound->outputs[0])};
  return pto_submit_aiv(rt, &fail, params, 2);
}
static int give_up(struct pto_runtime *rt, const struct pto_bound *bound) { return -1; }

#define MATRIX .dtype = PTO_FLOAT32, .ndims = 2, .shape = {ROWS, COLUMNS}
static const struct pto_operand a_and_b[] = {{.name = "a", MATRIX}, {.name = "b", MATRIX}};
static const struct pto_operand c[] = {{.name = "c", MATRIX}};

static float factor_2 = 2, factor_3 = 3;
static const struct pto_device_program times_2 = {.name = "times 2",
                                                  .inputs = a_and_b,
                                                  .input_count = 1,
                                                  .outputs = c,
                                                  .output_count = 1,
                                                  .orchestrate = submit_scale,
                                                  .context = &factor_2};
static const struct pto_device_program times_3 = {.name = "times 3",
                                                  .inputs = a_and_b,
                                                  .input_count = 1,
                                                  .outputs = c,
                                                  .output_count = 1,
                                                  .orchestrate = submit_scale,
                                                  .context = &factor_3};
static const struct pto_device_program plus = {
    .name = "plus", .inputs = a_and_b, .input_count = 2, .outputs = c, .output_count = 1, .orchestrate = submit_sum};
static const struct pto_device_program failing = {.name = "failing",
                                                  .inputs = a_and_b,
                                                  .input_count = 1,
                                                  .outputs = c,
                                                  .output_count = 1,
                                                  .orchestrate = submit_fail};
static const struct pto_device_program giving_up = {
    .name = "giving up", .inputs = a_and_b, .input_count = 1, .outputs = c, .output_count = 1, .orchestrate = give_up};

/* ---- fixture ---- */

static const struct backend {
  const char *name, *engine;
  uint32_t acceleration, workers;
} backends[] = {{"npu-threads", "threads", PTO_ACCELERATION_DEFAULT, 2},
                {"npu-virtual", "virtual", PTO_ACCELERATION_YES, 0},
                {"host", NULL, PTO_ACCELERATION_NO, 0}};

static struct pto_context *context;
static const struct pto_device_tensor_desc matrix = {MATRIX};

static struct pto_context_options options_of(const struct backend *backend) {
  return (struct pto_context_options){
      .size = sizeof(struct pto_context_options),
      .acceleration = backend->acceleration,
      .memory_bytes = 1 << 20,
      .tensor_count = 256,
      .runtime = {
          .engine = backend->engine, .chip = "tiny", .workers = backend->workers, .window = 64, .heap_bytes = 65536}};
}

static void open_context(const struct backend *backend) {
  char sentence[256] = "";
  const struct pto_context_options options = options_of(backend);
  int status = pto_context_create(&options, &context, sentence, sizeof sentence);
  if (status) fail_msg("%s: %s", backend->name, sentence);
  assert_string_equal(pto_context_info(context).backend, backend->name);
}

static struct pto_context_counters counters(void) {
  struct pto_context_counters all = {.size = sizeof all};
  pto_context_counters(context, &all);
  return all;
}

/* Nothing that a test leaves may be lost. */
static void close_context(void) {
  pto_context_destroy(context);
  context = NULL;
}

/* Runs the body on each backend. */
#define ON_EACH_BACKEND                                                                                                \
  for (const struct backend *backend = backends;                                                                       \
       backend < backends + PTO_ARRAY_LENGTH(backends) && (open_context(backend), true); close_context(), backend++)

static struct pto_device_tensor host_tensor(void) {
  struct pto_device_tensor t;
  assert_int_equal(pto_device_tensor_create_host(context, &matrix, &t), PTO_OK);
  return t;
}
static void write4(struct pto_device_tensor t, float w, float x, float y, float z) {
  const float values[NUMEL] = {w, x, y, z};
  assert_int_equal(pto_device_tensor_write(context, t, values, BYTES), PTO_OK);
}
static void reads4(struct pto_device_tensor t, float w, float x, float y, float z) {
  const float wanted[NUMEL] = {w, x, y, z};
  float values[NUMEL] = {-1, -1, -1, -1};
  assert_int_equal(pto_device_tensor_read(context, t, values, BYTES), PTO_OK);
  assert_memory_equal(values, wanted, BYTES);
}
static int try_dispatch1(const struct pto_device_program *program, struct pto_device_tensor in,
                         struct pto_device_tensor out) {
  const struct pto_binding inputs[] = {{"a", in}}, outputs[] = {{"c", out}};
  return pto_context_dispatch(
      context, program,
      &(struct pto_dispatch_bindings){.inputs = inputs, .outputs = outputs, .input_count = 1, .output_count = 1});
}
static void dispatch1(const struct pto_device_program *program, struct pto_device_tensor in,
                      struct pto_device_tensor out) {
  assert_int_equal(try_dispatch1(program, in, out), PTO_OK);
}
static void dispatch2(const struct pto_device_program *program, struct pto_device_tensor a, struct pto_device_tensor b,
                      struct pto_device_tensor out) {
  const struct pto_binding inputs[] = {{"b", b}, {"a", a}}, outputs[] = {{"c", out}};
  assert_int_equal(pto_context_dispatch(context, program,
                                        &(struct pto_dispatch_bindings){
                                            .inputs = inputs, .outputs = outputs, .input_count = 2, .output_count = 1}),
                   PTO_OK);
}
static void refused(int status, int wanted, const char *part) {
  assert_int_equal(status, wanted);
  if (!strstr(pto_context_error(context), part))
    fail_msg("\"%s\" does not say \"%s\"", pto_context_error(context), part);
}

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

/* ---- dispatch ---- */

static void test_results_come_in_call_order(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor a = host_tensor(), b = host_tensor(), out = host_tensor();
    write4(a, 1, 2, 3, 4);
    write4(b, 10, 20, 30, 40);
    dispatch2(&plus, a, b, out);
    write4(a, 0, 0, 0, 0); /* does not reach the dispatch before it */
    reads4(out, 11, 22, 33, 44);
    dispatch2(&plus, a, b, out);
    reads4(out, 10, 20, 30, 40);
  }
}

static void test_six_alternating_dispatches_over_two_tensors_leave_216_and_72(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor first = host_tensor(), second = host_tensor();
    write4(first, 1, 1, 1, 1);
    for (int i = 0; i < 3; i++) {
      dispatch1(&times_2, first, second);
      dispatch1(&times_3, second, first);
    }
    reads4(first, 216, 216, 216, 216);
    reads4(second, 72, 72, 72, 72);
  }
}

static void test_writes_dispatches_and_reads_may_be_batched_in_any_way(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor in[2] = {host_tensor(), host_tensor()}, out[2] = {host_tensor(), host_tensor()};
    /* write, write; dispatch, dispatch; read, read */
    write4(in[0], 1, 0, 0, 0);
    write4(in[1], 10, 0, 0, 0);
    dispatch1(&times_2, in[0], out[0]);
    dispatch1(&times_2, in[1], out[1]);
    reads4(out[0], 2, 0, 0, 0);
    reads4(out[1], 20, 0, 0, 0);
    /* the output of one is the input of the next, by another program */
    dispatch1(&times_3, out[0], out[1]);
    dispatch1(&times_2, out[1], in[0]);
    reads4(in[0], 12, 0, 0, 0);
    reads4(out[1], 6, 0, 0, 0);
    /* an input is not modified */
    reads4(out[0], 2, 0, 0, 0);
  }
}

static void test_copies_stay_on_the_device(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor a = host_tensor(), b = host_tensor();
    struct pto_device_tensor_desc row = {.dtype = PTO_FLOAT32, .ndims = 2, .shape = {1, 4}};
    struct pto_device_tensor other;
    assert_int_equal(pto_device_tensor_create(context, &row, &other), PTO_OK);
    write4(a, 1, 2, 3, 4);
    assert_int_equal(pto_device_tensor_copy(context, a, b), PTO_OK);
    write4(a, 0, 0, 0, 0);
    reads4(b, 1, 2, 3, 4);
    assert_int_equal(counters().d2d_bytes, BYTES);
    refused(pto_device_tensor_copy(context, a, a), PTO_EINVAL, "both source and target");
    refused(pto_device_tensor_copy(context, a, other), PTO_EINVAL, "differ in dtype or shape");
  }
}

static void test_constants_are_read_by_dispatches_and_by_nobody_else(void **state) {
  ON_EACH_BACKEND {
    float values[NUMEL] = {100, 200, 300, 400};
    struct pto_device_tensor constant, in = host_tensor(), out = host_tensor();
    assert_int_equal(pto_device_tensor_create_constant(context, &matrix, values, BYTES, &constant), PTO_OK);
    memset(values, 0, sizeof values);
    struct pto_device_program program = plus;
    program.input_count = 1;
    program.orchestrate = submit_sum_constant;
    program.constants = &constant;
    program.constant_count = 1;
    write4(in, 1, 2, 3, 4);
    dispatch1(&program, in, out);
    reads4(out, 101, 202, 303, 404);
    refused(try_dispatch1(&times_2, constant, out), PTO_EINVAL, "is constant");
    refused(try_dispatch1(&times_2, in, constant), PTO_EINVAL, "is constant");
    refused(pto_device_tensor_copy(context, in, constant), PTO_EINVAL, "is constant");
    refused(pto_device_tensor_read(context, constant, values, BYTES), PTO_EINVAL, "is not readable");
    refused(pto_device_tensor_create_constant(context, &matrix, values, BYTES - 4, &constant), PTO_EINVAL, "12 bytes");
    program.constants = &in;
    refused(try_dispatch1(&program, in, out), PTO_EINVAL, "is not constant");
  }
}

static void test_wrong_bindings_are_refused_and_change_nothing(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor a = host_tensor(), b = host_tensor(), out = host_tensor(), row, bits;
    const struct pto_device_tensor_desc shape = {.dtype = PTO_FLOAT32, .ndims = 2, .shape = {1, 4}};
    const struct pto_device_tensor_desc dtype = {.dtype = PTO_INT32, .ndims = 2, .shape = {ROWS, COLUMNS}};
    assert_int_equal(pto_device_tensor_create(context, &shape, &row), PTO_OK);
    assert_int_equal(pto_device_tensor_create(context, &dtype, &bits), PTO_OK);
    write4(out, 7, 7, 7, 7);
    const struct {
      struct pto_binding in[3], out[2];
      uint32_t in_count, out_count;
      const char *part;
    } cases[] = {
        {{{"a", a}, {"b", a}}, {{"c", out}}, 2, 1, "is bound to b and to another"},
        {{{"a", a}, {"b", b}}, {{"c", a}}, 2, 1, "is bound to c and to another"},
        {{{"a", a}, {"a", b}}, {{"c", out}}, 2, 1, "input a is bound twice"},
        {{{"a", a}}, {{"c", out}}, 1, 1, "input b is not bound"},
        {{{"a", a}, {"b", b}}, {{"c", out}}, 2, 0, "output c is not bound"},
        {{{"a", a}, {"x", b}}, {{"c", out}}, 2, 1, "no input is called \"x\""},
        {{{"a", a}, {NULL, b}}, {{"c", out}}, 2, 1, "no input is called \"\""},
        {{{"a", a}, {"b", b}}, {{"b", out}}, 2, 1, "no output is called \"b\""},
        {{{"a", a}, {"b", row}}, {{"c", out}}, 2, 1, "b is f32 [2, 2], tensor 4 is f32 [1, 4]"},
        {{{"a", bits}, {"b", b}}, {{"c", out}}, 2, 1, "a is f32 [2, 2], tensor 5 is i32 [2, 2]"},
    };
    for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) {
      const struct pto_dispatch_bindings bindings = {.inputs = cases[i].in,
                                                     .outputs = cases[i].out,
                                                     .input_count = cases[i].in_count,
                                                     .output_count = cases[i].out_count};
      refused(pto_context_dispatch(context, &plus, &bindings), PTO_EINVAL, cases[i].part);
    }
    refused(pto_context_dispatch(context, NULL, NULL), PTO_EINVAL, "no program");
    reads4(out, 7, 7, 7, 7);
    assert_int_equal(counters().dispatches, 0);
  }
}

/* x → 2 x in place: the kernel may do that. */
static int submit_scale_in_place(struct pto_runtime *rt, const struct pto_bound *bound) {
  static const struct pto_kernel in_place = {.name = "scale in place",
                                             .cores = PTO_AIV,
                                             .flags = PTO_KERNEL_IN_PLACE,
                                             .params = two,
                                             .param_count = 3,
                                             .run = scale_run};
  const struct pto_param params[] = {pto_input(&bound->inputs[0]), pto_output(&bound->outputs[0]), pto_scalar_f32(2)};
  return pto_submit_aiv(rt, &in_place, params, 3);
}

static void test_an_input_that_is_given_up_may_be_the_output_and_else_is_undefined(void **state) {
  static const char *const a[] = {"a"}, *const x[] = {"x"};
  struct pto_device_program doubling = times_2;
  doubling.orchestrate = submit_scale_in_place;
  ON_EACH_BACKEND {
    struct pto_device_tensor t = host_tensor(), out = host_tensor();
    const struct pto_binding inputs[] = {{"a", t}}, same[] = {{"c", t}}, other[] = {{"c", out}};
    struct pto_dispatch_bindings bindings = {
        .inputs = inputs, .outputs = same, .input_count = 1, .output_count = 1, .consumed = a, .consumed_count = 1};
    float values[NUMEL];
    write4(t, 1, 2, 3, 4);
    for (int i = 0; i < 3; i++) assert_int_equal(pto_context_dispatch(context, &doubling, &bindings), PTO_OK);
    reads4(t, 8, 16, 24, 32);
    bindings.outputs = other;
    assert_int_equal(pto_context_dispatch(context, &doubling, &bindings), PTO_OK);
    reads4(out, 16, 32, 48, 64);
    refused(pto_device_tensor_read(context, t, values, BYTES), PTO_EINVAL, "it was consumed");
    write4(t, 1, 1, 1, 1);
    bindings.consumed = x;
    refused(pto_context_dispatch(context, &doubling, &bindings), PTO_EINVAL, "no input is called \"x\"");
    bindings.consumed_count = 0;
    bindings.outputs = same;
    refused(pto_context_dispatch(context, &doubling, &bindings), PTO_EINVAL, "is bound to c and to another");
    reads4(t, 1, 1, 1, 1);
  }
}

static void test_a_tensor_of_another_context_is_refused(void **state) {
  ON_EACH_BACKEND {
    struct pto_context *other;
    const struct pto_context_options options = options_of(backend);
    struct pto_device_tensor theirs, out = host_tensor();
    float values[NUMEL] = {0};
    assert_int_equal(pto_context_create(&options, &other, NULL, 0), PTO_OK);
    assert_int_equal(pto_device_tensor_create_host(other, &matrix, &theirs), PTO_OK);
    refused(try_dispatch1(&times_2, theirs, out), PTO_ESTALE, "of another context");
    refused(pto_device_tensor_read(context, theirs, values, BYTES), PTO_ESTALE, "of another context");
    refused(pto_device_tensor_destroy(context, theirs), PTO_ESTALE, "of another context");
    pto_context_destroy(other);
  }
}

/* ---- failure ---- */

static void test_a_failure_is_kept_until_it_is_cleared_and_leaves_its_outputs_undefined(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor in = host_tensor(), good = host_tensor(), bad = host_tensor();
    float values[NUMEL];
    write4(in, 1, 2, 3, 4);
    dispatch1(&times_2, in, good);
    assert_int_equal(pto_context_sync(context), PTO_OK);
    dispatch1(&failing, in, bad);
    refused(pto_context_sync(context), PTO_EKERNEL, "fail");
    refused(pto_device_tensor_read(context, good, values, BYTES), PTO_EKERNEL, "fail");
    refused(try_dispatch1(&times_2, in, good), PTO_EKERNEL, "fail");
    assert_int_equal(pto_context_clear_error(context), PTO_OK);
    assert_string_equal(pto_context_error(context), "");
    reads4(good, 2, 4, 6, 8);
    reads4(in, 1, 2, 3, 4);
    refused(pto_device_tensor_read(context, bad, values, BYTES), PTO_EINVAL, "is undefined");
    refused(try_dispatch1(&times_2, bad, good), PTO_EINVAL, "is undefined");
    refused(pto_device_tensor_copy(context, bad, good), PTO_EINVAL, "is undefined");
    dispatch1(&times_3, in, bad); /* written again */
    reads4(bad, 3, 6, 9, 12);
  }
}

static void test_what_is_queued_behind_a_failure_is_dropped(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor in = host_tensor(), bad = host_tensor(), later = host_tensor();
    float values[NUMEL];
    dispatch1(&failing, in, bad);
    /* These may come before or after the failure is known: either way they have no effect that could be mistaken. */
    int status = try_dispatch1(&times_2, bad, later);
    assert_true(status == PTO_OK || status == PTO_EKERNEL);
    assert_int_equal(pto_context_sync(context), PTO_EKERNEL);
    assert_int_equal(pto_context_clear_error(context), PTO_OK);
    if (status == PTO_OK)
      refused(pto_device_tensor_read(context, later, values, BYTES), PTO_EINVAL, "is undefined");
    else
      reads4(later, 0, 0, 0, 0);
  }
}

static void test_an_orchestration_that_gives_up_is_a_failure_and_others_complete(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor in = host_tensor(), good = host_tensor(), bad = host_tensor();
    float values[NUMEL];
    write4(in, 1, 2, 3, 4);
    dispatch1(&times_2, in, good);
    int status = try_dispatch1(&giving_up, in, bad);
    assert_int_equal(status, PTO_OK);
    refused(pto_context_sync(context), PTO_EUSER, "returned -1");
    assert_int_equal(pto_context_clear_error(context), PTO_OK);
    reads4(good, 2, 4, 6, 8);
    refused(pto_device_tensor_read(context, bad, values, BYTES), PTO_EINVAL, "is undefined");
  }
}

static void test_whoever_comes_upon_a_failure_is_told_that_failure(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor in = host_tensor(), bad = host_tensor();
    float values[NUMEL];
    for (int i = 0; i < 50; i++) {
      dispatch1(&failing, in, bad);
      refused(pto_device_tensor_read(context, bad, values, BYTES), PTO_EKERNEL, "fail");
      assert_int_equal(pto_context_clear_error(context), PTO_OK);
      write4(bad, 0, 0, 0, 0);
    }
  }
}

static int fail_slowly(struct pto_runtime *rt, const struct pto_bound *bound) {
  const struct timespec while_others_wait = {.tv_nsec = 20000000}; /* for a full queue; right without it too */
  nanosleep(&while_others_wait, NULL);
  return -1;
}

static void test_a_call_that_is_refused_for_a_failure_defines_nothing(void **state) {
  static const char *const a[] = {"a"};
  struct pto_device_program slow = giving_up;
  slow.orchestrate = fail_slowly;
  ON_EACH_BACKEND {
    struct pto_device_tensor t = host_tensor(), u = host_tensor(), out = host_tensor();
    const struct pto_binding inputs[] = {{"a", u}}, outputs[] = {{"c", out}};
    const struct pto_dispatch_bindings bindings = {
        .inputs = inputs, .outputs = outputs, .input_count = 1, .output_count = 1, .consumed = a, .consumed_count = 1};
    float values[NUMEL] = {0};
    assert_int_equal(pto_context_dispatch(context, &times_2, &bindings), PTO_OK);
    refused(pto_device_tensor_read(context, u, values, BYTES), PTO_EINVAL, "it was consumed");
    dispatch1(&slow, t, out);
    int status = PTO_OK; /* as many as it takes to fill the queue: one of them meets the failure */
    for (int i = 0; i < 600 && status == PTO_OK; i++) status = pto_device_tensor_write(context, t, values, BYTES);
    if (status == PTO_OK) status = pto_device_tensor_write(context, u, values, BYTES);
    assert_int_equal(pto_device_tensor_write(context, u, values, BYTES), PTO_EUSER);
    assert_int_equal(pto_context_clear_error(context), PTO_OK);
    refused(pto_device_tensor_read(context, u, values, BYTES), PTO_EINVAL, "is undefined");
  }
}

static void test_tensors_can_be_destroyed_while_a_failure_is_kept(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor in = host_tensor(), bad = host_tensor();
    dispatch1(&failing, in, bad);
    assert_int_equal(pto_context_sync(context), PTO_EKERNEL);
    assert_int_equal(pto_device_tensor_destroy(context, in), PTO_OK);
    assert_int_equal(pto_device_tensor_destroy(context, bad), PTO_OK);
    assert_int_equal(counters().live_bytes, 0);
    assert_int_equal(pto_context_clear_error(context), PTO_OK);
    reads4(host_tensor(), 0, 0, 0, 0);
  }
}

/* ---- counters ---- */

static void test_counters_say_exactly_what_moved(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor a = host_tensor(), b = host_tensor();
    write4(a, 1, 1, 1, 1);
    for (int i = 0; i < 10; i++) dispatch1(&times_2, i % 2 ? b : a, i % 2 ? a : b);
    reads4(a, 1024, 1024, 1024, 1024);
    struct pto_context_counters all = counters();
    assert_int_equal(all.h2d_bytes, BYTES);
    assert_int_equal(all.h2d_calls, 1);
    assert_int_equal(all.d2h_bytes, BYTES);
    assert_int_equal(all.d2h_calls, 1);
    assert_int_equal(all.d2d_bytes, 0);
    assert_int_equal(all.bindings, 20);
    assert_int_equal(all.binding_copied_bytes, 0);
    assert_int_equal(all.dispatches, 10);
    assert_int_equal(all.tasks, 10);
    assert_int_equal(all.allocations, 2);
    assert_int_equal(all.live_bytes, 1024);
    assert_int_equal(all.virtual_ps != 0, strcmp(backend->name, "npu-virtual") == 0);
  }
}

static void test_transfers_take_the_virtual_time_of_the_host_link(void **state) {
  const struct pto_device_tensor_desc large = {.dtype = PTO_UINT8, .ndims = 1, .shape = {260000}};
  static uint8_t bytes[260000];
  struct pto_device_tensor t;
  open_context(&backends[1]);
  assert_int_equal(pto_device_tensor_create_host(context, &large, &t), PTO_OK);
  assert_int_equal(pto_device_tensor_write(context, t, bytes, sizeof bytes), PTO_OK);
  assert_int_equal(pto_context_sync(context), PTO_OK);
  struct pto_context_counters all = counters();
  assert_true(all.transfer_ps > 0);
  assert_true(all.virtual_ps >= all.transfer_ps);
  assert_int_equal(pto_device_tensor_read(context, t, bytes, sizeof bytes), PTO_OK);
  assert_int_equal(counters().transfer_ps, 2 * all.transfer_ps);
  close_context();
}

/* ---- threads ---- */

static void *use_context(void *argument) {
  const float factor = *(const float *)argument;
  struct pto_device_tensor a, b;
  float values[NUMEL] = {1, 1, 1, 1};
  bool is_right = pto_device_tensor_create_host(context, &matrix, &a) == PTO_OK &&
                  pto_device_tensor_create_host(context, &matrix, &b) == PTO_OK;
  for (int i = 0; i < 50 && is_right; i++) {
    const struct pto_binding inputs[] = {{"a", a}}, outputs[] = {{"c", b}};
    const struct pto_dispatch_bindings bindings = {
        .inputs = inputs, .outputs = outputs, .input_count = 1, .output_count = 1};
    values[0] = (float)i;
    is_right = pto_device_tensor_write(context, a, values, BYTES) == PTO_OK &&
               pto_context_dispatch(context, factor == 2 ? &times_2 : &times_3, &bindings) == PTO_OK &&
               pto_device_tensor_read(context, b, values, BYTES) == PTO_OK && values[0] == factor * (float)i;
  }
  is_right = is_right && pto_device_tensor_destroy(context, a) == PTO_OK;
  return is_right && pto_device_tensor_destroy(context, b) == PTO_OK ? argument : NULL;
}

static void test_threads_may_share_a_context(void **state) {
  ON_EACH_BACKEND {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
      assert_int_equal(pthread_create(&threads[i], NULL, use_context, i % 2 ? &factor_2 : &factor_3), 0);
    for (int i = 0; i < 4; i++) {
      void *answer;
      assert_int_equal(pthread_join(threads[i], &answer), 0);
      assert_non_null(answer);
    }
    assert_int_equal(pto_context_sync(context), PTO_OK);
    assert_int_equal(counters().live_bytes, 0);
  }
}

/* ---- contexts ---- */

static void test_hints_choose_the_device_and_the_context_says_what_came_of_them(void **state) {
  struct pto_context_options options = {.size = sizeof options, .runtime = {.workers = 1}};
  assert_int_equal(pto_context_create(&options, &context, NULL, 0), PTO_OK);
  struct pto_context_info info = pto_context_info(context);
  assert_true(info.accelerated);
  assert_string_equal(info.chip, "a2a3");
  assert_int_equal(info.clusters, 24);
  assert_int_equal(info.max_rank, 8);
  close_context();
  options.power_preference = PTO_POWER_LOW_POWER;
  assert_int_equal(pto_context_create(&options, &context, NULL, 0), PTO_OK);
  assert_int_equal(pto_context_info(context).clusters, 6);
  close_context();
  options.runtime.chip = "a5"; /* an explicit chip stands above hints */
  assert_int_equal(pto_context_create(&options, &context, NULL, 0), PTO_OK);
  assert_string_equal(pto_context_info(context).chip, "a5");
  assert_true(pto_context_info(context).clusters > 6);
  close_context();
  options = (struct pto_context_options){.size = sizeof options, .acceleration = PTO_ACCELERATION_NO};
  assert_int_equal(pto_context_create(&options, &context, NULL, 0), PTO_OK);
  assert_false(pto_context_info(context).accelerated);
  close_context();
}

static void test_options_that_mean_nothing_are_refused_with_a_sentence(void **state) {
  char sentence[256];
  struct pto_context_options options = {.size = 1};
  assert_int_equal(pto_context_create(&options, &context, sentence, sizeof sentence), PTO_EINVAL);
  assert_non_null(strstr(sentence, "options.size is 1"));
  options = (struct pto_context_options){.size = sizeof options, .acceleration = 9};
  assert_int_equal(pto_context_create(&options, &context, sentence, sizeof sentence), PTO_EINVAL);
  assert_non_null(strstr(sentence, "acceleration 9"));
  options = (struct pto_context_options){.size = sizeof options, .power_preference = 9};
  assert_int_equal(pto_context_create(&options, &context, sentence, sizeof sentence), PTO_EINVAL);
  assert_non_null(strstr(sentence, "power preference 9"));
  options = (struct pto_context_options){.size = sizeof options, .runtime = {.chip = "no such chip"}};
  assert_true(pto_context_create(&options, &context, sentence, sizeof sentence) < 0);
  assert_non_null(strstr(sentence, "no such chip"));
  options = (struct pto_context_options){.size = sizeof options, .runtime = {.chip = "tiny", .clusters = 2}};
  assert_int_equal(pto_context_create(&options, &context, sentence, sizeof sentence), PTO_EINVAL);
  assert_non_null(strstr(sentence, "2 clusters: tiny has 1"));
  assert_int_equal(pto_context_create(NULL, NULL, sentence, sizeof sentence), PTO_EINVAL);
  pto_context_destroy(NULL);
}

static void test_creation_gives_everything_back_whichever_part_fails(void **state) {
  for (size_t b = 0; b < PTO_ARRAY_LENGTH(backends); b++) {
    const struct pto_context_options options = options_of(&backends[b]);
    int status = PTO_ENOMEM;
    uint32_t nth = 0;
    while (status) {
      pto_reserve_fail_countdown = ++nth;
      status = pto_context_create(&options, &context, NULL, 0);
      assert_true(status == PTO_OK || status == PTO_ENOMEM);
      assert_in_range(nth, 1, 100);
    }
    pto_reserve_fail_countdown = 0;
    assert_in_range(nth, 5, 100);
    close_context();
    if (!backends[b].engine || strcmp(backends[b].engine, "threads") == 0) {
      pto_thread_fail_countdown = 1;
      assert_true(pto_context_create(&options, &context, NULL, 0) < 0);
      pto_thread_fail_countdown = 0;
    }
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test(name)
  const struct CMUnitTest tests[] = {
      TEST(test_a_tensor_is_zeroed_also_where_others_have_been),
      TEST(test_what_is_written_is_read),
      TEST(test_write_copies_its_source_at_the_call),
      TEST(test_a_default_tensor_is_neither_read_nor_written_and_can_be_input_and_output),
      TEST(test_flags_limit_the_host_one_way_each),
      TEST(test_sizes_have_to_match_exactly),
      TEST(test_a_description_that_is_none_is_refused),
      TEST(test_scalars_and_empty_tensors_are_tensors),
      TEST(test_memory_that_is_full_says_how_full_and_comes_back),
      TEST(test_a_destroyed_tensor_is_an_error_everywhere_and_destroying_it_again_is_not),
      TEST(test_destroy_takes_effect_after_the_work_that_is_queued),
      TEST(test_a_context_can_end_with_work_queued),
      TEST(test_results_come_in_call_order),
      TEST(test_six_alternating_dispatches_over_two_tensors_leave_216_and_72),
      TEST(test_writes_dispatches_and_reads_may_be_batched_in_any_way),
      TEST(test_copies_stay_on_the_device),
      TEST(test_constants_are_read_by_dispatches_and_by_nobody_else),
      TEST(test_wrong_bindings_are_refused_and_change_nothing),
      TEST(test_an_input_that_is_given_up_may_be_the_output_and_else_is_undefined),
      TEST(test_a_tensor_of_another_context_is_refused),
      TEST(test_a_failure_is_kept_until_it_is_cleared_and_leaves_its_outputs_undefined),
      TEST(test_what_is_queued_behind_a_failure_is_dropped),
      TEST(test_an_orchestration_that_gives_up_is_a_failure_and_others_complete),
      TEST(test_whoever_comes_upon_a_failure_is_told_that_failure),
      TEST(test_a_call_that_is_refused_for_a_failure_defines_nothing),
      TEST(test_tensors_can_be_destroyed_while_a_failure_is_kept),
      TEST(test_counters_say_exactly_what_moved),
      TEST(test_threads_may_share_a_context),
      TEST(test_transfers_take_the_virtual_time_of_the_host_link),
      TEST(test_hints_choose_the_device_and_the_context_says_what_came_of_them),
      TEST(test_options_that_mean_nothing_are_refused_with_a_sentence),
      TEST(test_creation_gives_everything_back_whichever_part_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
