/* SPDX-License-Identifier: MIT */
/* Dispatches: their order, what may be bound, what becomes of it; on each backend. */
#include <device/context_state.h>
#include <runtime/base/clock.h>
#include <tests/support/context_fixture.h>

#include <sched.h>

#include <runtime/base/atomic.h>

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

/* Kernels ↔ test: the first one runs, on a thread that does not see to the run; the second one has begun. */
static atomic_bool has_begun, is_own, has_second;

/* Ends when the second kernel has begun; at once on the thread that sees to the run; gives up after ten seconds. */
static int wait_for_second(const struct pto_kernel_args *a) {
  const uint64_t begin_ns = pto_clock_ns();
  atomic_store_explicit(&is_own, pthread_equal(pthread_self(), context->thread), memory_order_relaxed);
  atomic_store_explicit(&has_begun, true, memory_order_release); /* release: is_own, for the test */
  if (atomic_load_explicit(&is_own, memory_order_relaxed)) return 0;
  while (!atomic_load_explicit(&has_second, memory_order_relaxed) && pto_clock_ns() - begin_ns < UINT64_C(10000000000))
    sched_yield();
  return atomic_load_explicit(&has_second, memory_order_relaxed) ? 0 : -1;
}
static int be_second(const struct pto_kernel_args *a) {
  atomic_store_explicit(&has_second, true, memory_order_relaxed);
  return 0;
}

static const struct pto_kernel rendezvous[] = {
    {.name = "cube waits", .cores = PTO_AIC, .params = two, .param_count = 2, .run = wait_for_second},
    {.name = "vector waits", .cores = PTO_AIV, .params = two, .param_count = 2, .run = wait_for_second},
    {.name = "second", .cores = PTO_AIV, .params = two, .param_count = 2, .run = be_second}};

static int submit_rendezvous(struct pto_runtime *rt, const struct pto_bound *bound) {
  const struct pto_kernel *kernel = bound->context;
  const struct pto_param params[] = {pto_input(&bound->inputs[0]), pto_output(&bound->outputs[0])};
  return kernel->cores == PTO_AIC ? pto_submit_aic(rt, kernel, params, 2) : pto_submit_aiv(rt, kernel, params, 2);
}

static void test_a_dispatch_begins_while_the_tasks_of_another_run(void **state) {
  struct pto_context_options options = options_of(&backends[0]);
  struct pto_device_program programs[3];
  int reached = 0;
  options.runtime.workers = 3; /* so that cores of one of the two kinds have threads of their own */
  assert_int_equal(pto_context_create(&options, &context, NULL, 0), PTO_OK);
  struct pto_device_tensor in = host_tensor(), out[2] = {host_tensor(), host_tensor()};
  for (int i = 0; i < 3; i++) {
    programs[i] = times_2;
    programs[i].orchestrate = submit_rendezvous;
    programs[i].context = (void *)(uintptr_t)&rendezvous[i];
  }
  for (int i = 0; i < 4; i++) {
    atomic_store_explicit(&has_begun, false, memory_order_relaxed); /* nothing runs */
    atomic_store_explicit(&has_second, false, memory_order_relaxed);
    dispatch1(&programs[i % 2], in, out[0]);
    while (!atomic_load_explicit(&has_begun, memory_order_acquire)) sched_yield(); /* acquire: is_own */
    reached += !atomic_load_explicit(&is_own, memory_order_relaxed);
    dispatch1(&programs[2], in, out[1]); /* shares nothing but an input with the first */
    assert_int_equal(pto_context_sync(context), PTO_OK);
  }
  assert_true(reached > 0);
  close_context();
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

static void test_constants_are_read_by_dispatches_and_by_none_else(void **state) {
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_results_come_in_call_order),
      cmocka_unit_test(test_six_alternating_dispatches_over_two_tensors_leave_216_and_72),
      cmocka_unit_test(test_writes_dispatches_and_reads_may_be_batched_in_any_way),
      cmocka_unit_test(test_a_dispatch_begins_while_the_tasks_of_another_run),
      cmocka_unit_test(test_copies_stay_on_the_device),
      cmocka_unit_test(test_constants_are_read_by_dispatches_and_by_none_else),
      cmocka_unit_test(test_wrong_bindings_are_refused_and_change_nothing),
      cmocka_unit_test(test_an_input_that_is_given_up_may_be_the_output_and_else_is_undefined),
      cmocka_unit_test(test_a_tensor_of_another_context_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
