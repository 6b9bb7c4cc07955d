/* SPDX-License-Identifier: MIT */
/* What fails while it runs: who is told, what is lost, what works again; on each backend. */
#include <device/context_state.h>
#include <tests/support/context_fixture.h>

#include <sched.h>
#include <time.h>

#include <runtime/base/atomic.h>

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

static int leave_a_scope_open(struct pto_runtime *rt, const struct pto_bound *bound) {
  const int status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
  return status ? status : submit_scale(rt, bound);
}
static int end_the_scope_of_the_dispatch(struct pto_runtime *rt, const struct pto_bound *bound) {
  const int status = submit_scale(rt, bound);
  return status ? status : pto_scope_end(rt);
}
static void test_a_program_that_leaves_other_scopes_than_it_found_fails_by_name_and_is_not_kept(void **state) {
  for (uint64_t repeats = 0; repeats < 2; repeats++) {
    struct pto_device_program program = times_2;
    program.repeats = repeats;
    ON_EACH_BACKEND {
      struct pto_device_tensor in = host_tensor(), out = host_tensor();
      float values[NUMEL];
      write4(in, 1, 2, 3, 4);
      for (int i = 0; i < 2; i++) {
        program.orchestrate = leave_a_scope_open;
        dispatch1(&program, in, out);
        refused(pto_context_sync(context), PTO_EUSER, "times 2 leaves a scope open");
        assert_int_equal(pto_context_clear_error(context), PTO_OK);
        program.orchestrate = end_the_scope_of_the_dispatch;
        dispatch1(&program, in, out);
        refused(pto_context_sync(context), PTO_EUSER, "times 2 ends a scope that it did not begin");
        assert_int_equal(pto_context_clear_error(context), PTO_OK);
        refused(pto_device_tensor_read(context, out, values, BYTES), PTO_EINVAL, "is undefined");
      }
      assert_int_equal(counters().lowering_cache_entries, 0);
      dispatch1(&times_2, in, out);
      reads4(out, 2, 4, 6, 8);
    }
  }
}

static void test_the_caller_that_comes_upon_a_failure_is_told_that_failure(void **state) {
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

/* ---- while a failure is about to be known ---- */

static const struct timespec a_while = {.tv_nsec = 5000000};

/* The test → kernels that hold the run: it asks now.  Kernels → the test: so many ran, and one holds. */
static atomic_bool is_asking, is_holding;
static atomic_uint hold_count;

/* Ends once the test has been in its call for a while; at once on the thread that sees to the run. */
static int hold_run(const struct pto_kernel_args *a) {
  const bool holds = !pthread_equal(pthread_self(), context->thread);
  if (holds) atomic_store(&is_holding, true);
  atomic_fetch_add(&hold_count, 1);
  /* Acquire: pairs with the test's. */
  while (holds && !atomic_load_explicit(&is_asking, memory_order_acquire)) sched_yield();
  if (holds) nanosleep(&a_while, NULL);
  return 0;
}
static const struct pto_kernel holding = {
    .name = "hold", .cores = PTO_AIV, .params = two, .param_count = 2, .run = hold_run};
static const struct pto_kernel failing_cube = {
    .name = "fail", .cores = PTO_AIC, .params = two, .param_count = 2, .run = fail_run};

static int submit_holding(struct pto_runtime *rt, const struct pto_bound *bound) {
  const struct pto_param params[] = {pto_input(&bound->inputs[0]), pto_output(&bound->outputs[0])};
  return pto_submit_aiv(rt, &holding, params, 2);
}
static int submit_failing_cube(struct pto_runtime *rt, const struct pto_bound *bound) {
  const struct pto_param params[] = {pto_input(&bound->inputs[0]), pto_output(&bound->outputs[0])};
  return pto_submit_aic(rt, &failing_cube, params, 2);
}

/* Tensors have been given up, and the run that failed has not ended: one of its kernels goes on. */
static void wait_until_failing(void) {
  bool is_failing = false;
  while (!is_failing) {
    sched_yield();
    pto_context_lock(context);
    is_failing = context->is_failing;
    assert_false(context->has_failed);
    pto_context_unlock(context);
  }
}

static void test_a_caller_that_asks_before_a_failure_is_known_waits_for_it(void **state) {
  struct pto_context_options options = options_of(&backends[0]);
  struct pto_device_program slow = times_2, wrong = times_2;
  slow.orchestrate = submit_holding;
  wrong.orchestrate = submit_failing_cube;
  options.runtime.workers = 3; /* one holds the run, another or the control thread fails */
  assert_int_equal(pto_context_create(&options, &context, NULL, 0), PTO_OK);
  for (int i = 0; i < 3; i++) {
    struct pto_device_tensor in = host_tensor(), bad = host_tensor(), out = host_tensor();
    float values[NUMEL];
    atomic_store_explicit(&is_asking, false, memory_order_release); /* release: nothing runs yet */
    atomic_store(&is_holding, false);
    do { /* until a worker has one; the others ran on the thread that sees to the run */
      const unsigned before = atomic_load(&hold_count);
      dispatch1(&slow, in, out);
      while (atomic_load(&hold_count) == before) sched_yield();
    } while (!atomic_load(&is_holding));
    dispatch1(&wrong, in, bad);
    wait_until_failing();
    atomic_store_explicit(&is_asking, true, memory_order_release); /* release: pairs with the kernels' */
    refused(pto_device_tensor_read(context, bad, values, BYTES), PTO_EKERNEL, "fail");
    assert_int_equal(pto_context_clear_error(context), PTO_OK);
    refused(pto_device_tensor_read(context, bad, values, BYTES), PTO_EINVAL, "is undefined");
  }
  close_context();
}

static int fail_when_asked(const struct pto_kernel_args *a) {
  if (pthread_equal(pthread_self(), context->thread)) return -77;
  while (!atomic_load_explicit(&is_asking, memory_order_acquire)) sched_yield(); /* acquire: pairs with the test's */
  return -77;
}

/* d fails when it is asked to, on a core of the kind that the context says; c is done before.  d is the older one,
 * which another thread is given. */
static int submit_one_of_two_failing(struct pto_runtime *rt, const struct pto_bound *bound) {
  static const struct pto_kernel kernels[] = {
      {.name = "cube", .cores = PTO_AIC, .params = two, .param_count = 2, .run = fail_when_asked},
      {.name = "vector", .cores = PTO_AIV, .params = two, .param_count = 2, .run = fail_when_asked}};
  const bool is_vector = *(const bool *)bound->context;
  const struct pto_param to_c[] = {pto_input(&bound->inputs[0]), pto_output(&bound->outputs[0]), pto_scalar_f32(2)};
  const struct pto_param to_d[] = {pto_input(&bound->inputs[0]), pto_output(&bound->outputs[1])};
  const int status = is_vector ? pto_submit_aiv(rt, &kernels[1], to_d, 2) : pto_submit_aic(rt, &kernels[0], to_d, 2);
  if (status) return status;
  return pto_submit_aiv(rt, &scale, to_c, 3);
}

static void test_a_tensor_made_in_the_place_of_a_failed_output_is_defined(void **state) {
  static const struct pto_operand c_and_d[] = {{.name = "c", MATRIX}, {.name = "d", MATRIX}};
  static bool is_vector;
  struct pto_context_options options = options_of(&backends[0]);
  struct pto_device_program program = times_2;
  int reached = 0;
  program.outputs = c_and_d;
  program.output_count = 2;
  program.orchestrate = submit_one_of_two_failing;
  program.context = &is_vector;
  options.runtime.workers = 3; /* so that cores of one of the two kinds have threads of their own */
  options.tensor_count = 3;    /* so that a fourth waits for the destruction of one of them, and takes its place */
  for (int i = 0; i < 4 || (i < 1000 && !reached); i++) { /* another thread comes to d now and then */
    is_vector = i % 2;
    assert_int_equal(pto_context_create(&options, &context, NULL, 0), PTO_OK);
    atomic_store_explicit(&is_asking, false, memory_order_release); /* release: nothing runs yet */
    struct pto_device_tensor in = host_tensor(), out[2] = {host_tensor(), host_tensor()}, fourth;
    const struct pto_binding inputs[] = {{"a", in}}, outputs[] = {{"c", out[0]}, {"d", out[1]}};
    assert_int_equal(
        pto_context_dispatch(
            context, &program,
            &(struct pto_dispatch_bindings){.inputs = inputs, .outputs = outputs, .input_count = 1, .output_count = 2}),
        PTO_OK);
    int status = pto_device_tensor_destroy(context, out[0]);
    if (status == PTO_OK) status = pto_device_tensor_create_host(context, &matrix, &fourth);
    atomic_store_explicit(&is_asking, true, memory_order_release); /* release: pairs with the kernel's */
    assert_int_equal(pto_context_sync(context), PTO_EKERNEL);
    assert_int_equal(pto_context_clear_error(context), PTO_OK);
    if (status == PTO_OK) {
      float values[NUMEL];
      reads4(fourth, 0, 0, 0, 0);
      refused(pto_device_tensor_read(context, out[1], values, BYTES), PTO_EINVAL, "is undefined");
      reached++;
    }
    close_context();
  }
  assert_true(reached > 0);
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
    int status = PTO_OK; /* as many as it takes to fill the queue: one of them comes after the failure */
    for (int i = 0; i < 600 && status == PTO_OK; i++) status = pto_device_tensor_write(context, t, values, BYTES);
    if (status == PTO_OK) status = pto_device_tensor_write(context, u, values, BYTES);
    assert_int_equal(pto_device_tensor_write(context, u, values, BYTES), PTO_EUSER);
    assert_int_equal(pto_context_clear_error(context), PTO_OK);
    refused(pto_device_tensor_read(context, u, values, BYTES), PTO_EINVAL, "is undefined");
  }
}

static void test_a_destroy_that_is_queued_behind_a_failure_gives_the_memory_back(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor in = host_tensor(), bad = host_tensor(), other = host_tensor();
    dispatch1(&failing, in, bad);
    assert_int_equal(pto_device_tensor_destroy(context, in), PTO_OK);
    assert_int_equal(pto_device_tensor_destroy(context, other), PTO_OK);
    assert_int_equal(pto_device_tensor_destroy(context, bad), PTO_OK);
    assert_int_equal(pto_context_sync(context), PTO_EKERNEL);
    assert_int_equal(counters().live_bytes, 0);
    assert_int_equal(pto_context_clear_error(context), PTO_OK);
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_failure_is_kept_until_it_is_cleared_and_leaves_its_outputs_undefined),
      cmocka_unit_test(test_what_is_queued_behind_a_failure_is_dropped),
      cmocka_unit_test(test_an_orchestration_that_gives_up_is_a_failure_and_others_complete),
      cmocka_unit_test(test_a_program_that_leaves_other_scopes_than_it_found_fails_by_name_and_is_not_kept),
      cmocka_unit_test(test_the_caller_that_comes_upon_a_failure_is_told_that_failure),
      cmocka_unit_test(test_a_caller_that_asks_before_a_failure_is_known_waits_for_it),
      cmocka_unit_test(test_a_tensor_made_in_the_place_of_a_failed_output_is_defined),
      cmocka_unit_test(test_a_destroy_that_is_queued_behind_a_failure_gives_the_memory_back),
      cmocka_unit_test(test_a_call_that_is_refused_for_a_failure_defines_nothing),
      cmocka_unit_test(test_tensors_can_be_destroyed_while_a_failure_is_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
