/* SPDX-License-Identifier: MIT */
/*
 * Calls on contexts that lack what they need, or are too much: each refusal with its values, on each backend, and the
 * context is as it was.
 */
#include <device/context_state.h>
#include <device/context_watch.h>
#include <tests/support/context_fixture.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include <runtime/base/atomic.h>
#include <runtime/base/reserve.h>
#include <tests/support/failing_malloc.h>

/* ---- what is missing ---- */

static void test_a_call_without_what_it_is_about_is_refused(void **state) {
  const float values[NUMEL] = {1, 2, 3, 4};
  const struct pto_device_program no_program = {.name = "none"};
  ON_EACH_BACKEND {
    struct pto_device_tensor t;
    struct pto_device_tensor_desc readable = {MATRIX, .flags = PTO_TENSOR_READABLE};
    const struct pto_call call = {.size = sizeof call};
    const struct pto_compute_arrays arrays = {0};
    const struct pto_dispatch_bindings bindings = {0};
    refused(pto_device_tensor_create(context, NULL, &t), PTO_EINVAL, "tensor: no description");
    refused(pto_device_tensor_create(context, &matrix, NULL), PTO_EINVAL, "tensor: no description");
    refused(pto_device_tensor_create_constant(context, NULL, values, BYTES, &t), PTO_EINVAL, "constant: no desc");
    refused(pto_device_tensor_create_constant(context, &matrix, values, BYTES, NULL), PTO_EINVAL, "constant: no desc");
    refused(pto_device_tensor_create_constant(context, &readable, values, BYTES, &t), PTO_EINVAL,
            "constant: flags 0x1; the host neither reads nor writes it");
    refused(pto_context_dispatch(context, NULL, &bindings), PTO_EINVAL, "dispatch: no program");
    refused(pto_context_dispatch(context, &no_program, &bindings), PTO_EINVAL, "dispatch: no program");
    refused(pto_context_dispatch(context, &times_2, NULL), PTO_EINVAL, "or no bindings");
    refused(pto_context_call(context, NULL, &call), PTO_EINVAL, "call: no program");
    refused(pto_context_call(context, &no_program, &call), PTO_EINVAL, "call: no program");
    refused(pto_context_call(context, &times_2, NULL), PTO_EINVAL, "or no arguments");
    refused(pto_context_compute(context, &no_program, &arrays), PTO_EINVAL, "compute: no program");
    const struct pto_context_counters all = counters();
    assert_int_equal(all.live_bytes + all.dispatches + all.h2d_calls, 0);
  }
}

static void test_a_constant_does_without_memory_that_is_not_there(void **state) {
  ON_EACH_BACKEND {
    const struct pto_device_tensor_desc huge = {.dtype = PTO_UINT8, .ndims = 1, .shape = {2 << 20}};
    struct pto_device_tensor t;
    refused(pto_device_tensor_create_constant(context, &huge, backends, 2 << 20, &t), PTO_ENOMEM, "bytes");
    assert_int_equal(counters().live_bytes, 0);
  }
}

static void test_a_copy_is_of_one_dtype_and_shape(void **state) {
  static const struct pto_device_tensor_desc others[] = {
      {.dtype = PTO_INT32, .ndims = 2, .shape = {ROWS, COLUMNS}},
      {.dtype = PTO_FLOAT32, .ndims = 1, .shape = {ROWS * COLUMNS}},
      {.dtype = PTO_FLOAT32, .ndims = 2, .shape = {COLUMNS * ROWS, 1}},
      {.dtype = PTO_FLOAT32, .ndims = 3, .shape = {ROWS, COLUMNS, 1}},
  };
  ON_EACH_BACKEND {
    const struct pto_device_tensor from = host_tensor();
    for (size_t i = 0; i < PTO_ARRAY_LENGTH(others); i++) {
      struct pto_device_tensor to;
      assert_int_equal(pto_device_tensor_create_host(context, &others[i], &to), PTO_OK);
      refused(pto_device_tensor_copy(context, from, to), PTO_EINVAL, "differ in dtype or shape");
      refused(pto_device_tensor_copy(context, to, from), PTO_EINVAL, "differ in dtype or shape");
    }
    assert_int_equal(pto_context_sync(context), PTO_OK);
    assert_int_equal(counters().d2d_calls, 0);
  }
}

static void test_what_is_no_tensor_has_no_size_and_is_not_destroyed(void **state) {
  ON_EACH_BACKEND {
    const struct pto_device_tensor none = {0};
    struct pto_device_tensor foreign = host_tensor();
    assert_int_equal(pto_device_tensor_size(context, none), 0);
    assert_true(pto_device_tensor_destroy(context, none) < 0);
    foreign.context++;
    assert_int_equal(pto_device_tensor_size(context, foreign), 0);
    assert_true(pto_device_tensor_destroy(context, foreign) < 0);
  }
}

static void test_what_is_consumed_has_to_be_an_input(void **state) {
  static const char *const names[] = {"zz", "a"};
  ON_EACH_BACKEND {
    const struct pto_binding inputs[] = {{"a", host_tensor()}}, outputs[] = {{"c", host_tensor()}};
    refused(pto_context_dispatch(context, &times_2,
                                 &(struct pto_dispatch_bindings){.inputs = inputs,
                                                                 .outputs = outputs,
                                                                 .input_count = 1,
                                                                 .output_count = 1,
                                                                 .consumed = names,
                                                                 .consumed_count = 2}),
            PTO_EINVAL, "\"zz\"");
    reads4(inputs[0].tensor, 0, 0, 0, 0); /* it has not been given up */
  }
}

static void test_a_constant_of_a_program_has_to_be_one(void **state) {
  const float values[NUMEL] = {1, 2, 3, 4};
  ON_EACH_BACKEND {
    struct pto_device_tensor constant, in = host_tensor(), out = host_tensor();
    struct pto_device_program program = plus;
    program.input_count = 1;
    program.orchestrate = submit_sum_constant;
    program.constants = &constant;
    program.constant_count = 1;
    assert_int_equal(pto_device_tensor_create_constant(context, &matrix, values, BYTES, &constant), PTO_OK);
    dispatch1(&program, in, out);
    reads4(out, 1, 2, 3, 4);
    assert_int_equal(pto_device_tensor_destroy(context, constant), PTO_OK);
    refused(try_dispatch1(&program, in, out), PTO_ESTALE, "dispatch: constant");
    constant = in;
    refused(try_dispatch1(&program, in, out), PTO_EINVAL, "is not constant");
  }
}

static int begin_a_scope(struct pto_runtime *rt, const struct pto_bound *bound) {
  return pto_scope_begin(rt, PTO_SCOPE_AUTO);
}

static void test_a_program_without_a_name_fails_too(void **state) {
  struct pto_device_program program = times_2;
  program.orchestrate = begin_a_scope;
  program.name = NULL;
  ON_EACH_BACKEND {
    struct pto_device_tensor in = host_tensor(), out = host_tensor();
    dispatch1(&program, in, out);
    refused(pto_context_sync(context), PTO_EUSER, "dispatch: the program  leaves a scope open");
    assert_int_equal(pto_context_clear_error(context), PTO_OK);
  }
}

/* ---- without memory ---- */

static void test_a_recording_without_memory_is_none_and_the_run_is_right(void **state) {
  struct pto_context_options options = options_of(&backends[1]);
  const struct pto_trace *recording;
  options.runtime.record = PTO_RECORD_GRAPH;
  for (int has_memory = 0; has_memory < 2; has_memory++) {
    assert_int_equal(pto_context_create(&options, &context, NULL, 0), PTO_OK);
    struct pto_device_tensor in = host_tensor(), out = host_tensor();
    write4(in, 1, 2, 3, 4);
    dispatch1(&times_2, in, out);
    reads4(out, 2, 4, 6, 8);
    pto_reserve_fail_stays = !has_memory;
    pto_reserve_fail_countdown = !has_memory;
    assert_int_equal(pto_context_recording(context, &recording), has_memory ? PTO_OK : PTO_ENOMEM);
    pto_reserve_fail_stays = false;
    pto_reserve_fail_countdown = 0;
    assert_int_equal(recording != NULL, has_memory);
    reads4(out, 2, 4, 6, 8);
    close_context();
  }
}

static bool has_recording;
static int take_created(void *argument, struct pto_runtime *rt, void *memory, uint64_t memory_bytes,
                        struct pto_error *error) {
  return PTO_OK;
}
static void take_destroyed(void *argument, struct pto_runtime *rt, const struct pto_context_end *end) {
  has_recording = end->recording != NULL;
  assert_int_equal(end->counters->tasks, 1);
}

static void test_who_watches_is_told_that_there_was_no_memory_for_a_recording(void **state) {
  const struct pto_context_watch watch = {take_created, take_destroyed, NULL, false, NULL};
  struct pto_context_options options = options_of(&backends[1]);
  options.runtime.record = PTO_RECORD_GRAPH;
  options.runtime.context_watch = &watch;
  for (int has_memory = 0; has_memory < 2; has_memory++) {
    assert_int_equal(pto_context_create(&options, &context, NULL, 0), PTO_OK);
    struct pto_device_tensor in = host_tensor(), out = host_tensor();
    dispatch1(&times_2, in, out);
    assert_int_equal(pto_context_sync(context), PTO_OK);
    pto_reserve_fail_stays = !has_memory;
    pto_reserve_fail_countdown = !has_memory;
    close_context();
    pto_reserve_fail_stays = false;
    pto_reserve_fail_countdown = 0;
    assert_int_equal(has_recording, has_memory);
  }
}

/* One thread alone allocates: the backend without a thread of its own. */
static void test_each_allocation_of_a_call_may_fail(void **state) {
  if (!PTO_HAS_FAILING_MALLOC) skip();
  const struct pto_context_options options = options_of(&backends[1]);
  const float values[NUMEL] = {5, 5, 5, 5};
  struct pto_device_program repeating = times_2;
  char sentence[256];
  fail_countdown = 1;
  assert_int_equal(pto_context_create(&options, &context, sentence, sizeof sentence), PTO_ENOMEM);
  assert_string_equal(sentence, "no memory for a context");
  assert_int_equal(pto_context_create(&options, &context, NULL, 0), PTO_OK);
  uint32_t refusals = 0;
  bool is_over = false;
  for (uint32_t n = 1; !is_over; n++) {
    struct pto_device_tensor in = host_tensor(), out = host_tensor(), constant = {0};
    float computed[NUMEL];
    const struct pto_host_array from = {"a", (void *)(uintptr_t)values, BYTES}, to = {"c", computed, BYTES};
    const struct pto_compute_arrays arrays = {&from, &to, 1, 1};
    assert_true(n < 100);
    repeating.repeats = n;
    fail_countdown = n;
    int statuses[] = {pto_device_tensor_write(context, in, values, BYTES),
                      try_dispatch1(&repeating, in, out),
                      pto_context_sync(context),
                      pto_context_compute(context, &times_3, &arrays),
                      pto_device_tensor_create_constant(context, &matrix, values, BYTES, &constant),
                      pto_device_tensor_destroy(context, in)};
    is_over = fail_countdown != 0;
    fail_countdown = 0;
    snprintf(sentence, sizeof sentence, "%s", pto_context_error(context));
    (void)pto_context_clear_error(context);
    for (size_t i = 0; i < PTO_ARRAY_LENGTH(statuses); i++) {
      if (statuses[i] != PTO_OK && statuses[i] != PTO_EINVAL && statuses[i] != PTO_ENOMEM)
        fail_msg("call %zu: %d: %s", i, statuses[i], sentence);
      refusals += statuses[i] != PTO_OK;
      if (is_over) assert_int_equal(statuses[i], PTO_OK);
    }
    if (statuses[3] == PTO_OK) assert_true(computed[0] == 15);
    if (constant.id) assert_int_equal(pto_device_tensor_destroy(context, constant), PTO_OK);
    assert_int_equal(pto_device_tensor_destroy(context, in), PTO_OK);
    assert_int_equal(pto_device_tensor_destroy(context, out), PTO_OK);
    assert_int_equal(pto_context_sync(context), PTO_OK);
    assert_int_equal(counters().live_bytes, 0);
  }
  assert_true(refusals >= 5);
  close_context();
}

/* With the chip that is chosen, of which a part is used. */
static void test_each_allocation_of_a_creation_may_fail(void **state) {
  if (!PTO_HAS_FAILING_MALLOC) skip();
  const struct pto_context_options options = {.size = sizeof options,
                                              .memory_bytes = 1 << 20,
                                              .power_preference = PTO_POWER_LOW_POWER,
                                              .runtime = {.engine = "virtual"}};
  bool is_over = false;
  for (uint32_t n = 1; !is_over; n++) {
    char sentence[256] = "";
    assert_true(n < 1000);
    context = NULL;
    fail_countdown = n;
    const int status = pto_context_create(&options, &context, sentence, sizeof sentence);
    is_over = fail_countdown != 0;
    fail_countdown = 0;
    assert_true((status == PTO_OK) == (context != NULL));
    if (is_over) assert_int_equal(status, PTO_OK);
    if (status != PTO_OK) assert_true(sentence[0] != '\0');
    if (n == 2) assert_int_equal(status, PTO_ENOMEM); /* of the chip file, behind the context itself */
    close_context();
  }
}

/* ---- options ---- */

static void test_what_the_library_does_not_know_is_refused(void **state) {
  char sentence[256];
  struct pto_context_options options = {.size = sizeof options};
  options.reserved[1] = 1;
  assert_int_equal(pto_context_create(&options, &context, sentence, sizeof sentence), PTO_EINVAL);
  assert_string_equal(sentence, "options.reserved[1] is set and this library does not know it");
  sentence[0] = 'x';
  assert_int_equal(pto_context_create(&options, &context, sentence, 0), PTO_EINVAL); /* no room for a word */
  assert_int_equal(sentence[0], 'x');
  options = (struct pto_context_options){
      .size = sizeof options, .acceleration = PTO_ACCELERATION_NO, .runtime = {.engine = "virtual"}};
  assert_int_equal(pto_context_create(&options, &context, sentence, sizeof sentence), PTO_EINVAL);
  assert_string_equal(sentence, "context: the host reference has no engine \"virtual\"");
  options.runtime.engine = "threads";
  assert_int_equal(pto_context_create(&options, &context, sentence, sizeof sentence), PTO_OK);
  assert_false(pto_context_info(context).accelerated);
  close_context();
  /* Clusters that are asked for stand above the hint. */
  options = (struct pto_context_options){
      .size = sizeof options, .power_preference = PTO_POWER_LOW_POWER, .runtime = {.workers = 1, .clusters = 2}};
  assert_int_equal(pto_context_create(&options, &context, sentence, sizeof sentence), PTO_OK);
  assert_int_equal(pto_context_info(context).clusters, 2);
  close_context();
  options.runtime = (struct pto_config){.chip = "a3"};
  assert_int_equal(pto_context_create(&options, &context, sentence, sizeof sentence), PTO_ESYSTEM);
  assert_non_null(strstr(sentence, "a3"));
}

/* ---- empty arguments ---- */

static int submit_empty(struct pto_runtime *rt, const struct pto_bound *bound) { return PTO_OK; }

static void test_arrays_without_bytes_may_be_null_and_others_not(void **state) {
  static const struct pto_operand empty[] = {{.name = "e", .dtype = PTO_FLOAT32, .ndims = 2, .shape = {0, 4}}};
  const struct pto_device_program program = {.inputs = empty,
                                             .input_count = 1,
                                             .outputs = empty,
                                             .output_count = 1,
                                             .orchestrate = submit_empty},
                                  alone = {.inputs = empty, .input_count = 1, .orchestrate = submit_empty};
  ON_EACH_BACKEND {
    const struct pto_host_array nothing = {"e", NULL, 0};
    struct pto_argument input = {.name = "e"}, output = {.name = "e"};
    struct pto_compute_arrays arrays = {.inputs = &nothing, .outputs = &nothing, .input_count = 1, .output_count = 1};
    assert_int_equal(pto_context_compute(context, &program, &arrays), PTO_OK);
    arrays.output_count = 0; /* nothing to read: it waits all the same */
    assert_int_equal(pto_context_compute(context, &alone, &arrays), PTO_OK);
    assert_int_equal(counters().dispatches, 2);
    const struct pto_call call = {
        .size = sizeof call, .inputs = &input, .outputs = &output, .input_count = 1, .output_count = 1};
    assert_int_equal(pto_context_call(context, &program, &call), PTO_OK);
    assert_int_equal(pto_device_tensor_size(context, output.tensor), 0);
    input.size_bytes = 4;
    output.tensor = (struct pto_device_tensor){0};
    refused(pto_context_call(context, &program, &call), PTO_EINVAL, "the array e has not the bytes of its operand");
    /* an output that is there already, beside one that is made */
    input.size_bytes = 0;
    output.tensor = host_tensor();
    refused(pto_context_call(context, &program, &call), PTO_EINVAL, "e");
  }
}

/* ---- more dispatches in flight than a context remembers ---- */

/* The test → the kernel that holds the run: it may go on.  Kernels → the test: so many ran, and one holds. */
static atomic_bool may_go_on, is_holding;
static atomic_uint hold_count;

/* Not on the thread that sees to the run. */
static int wait_and_scale(const struct pto_kernel_args *a) {
  const bool holds = !pthread_equal(pthread_self(), context->thread);
  if (holds) atomic_store(&is_holding, true);
  atomic_fetch_add(&hold_count, 1);
  /* Acquire: pairs with the test's. */
  while (holds && !atomic_load_explicit(&may_go_on, memory_order_acquire)) sched_yield();
  return scale_run(a);
}
static const struct pto_kernel holding = {
    .name = "hold", .cores = PTO_AIV, .params = two, .param_count = 3, .run = wait_and_scale};

static int submit_holding(struct pto_runtime *rt, const struct pto_bound *bound) {
  const struct pto_param params[] = {pto_input(&bound->inputs[0]), pto_output(&bound->outputs[0]), pto_scalar_f32(2)};
  return pto_submit_aiv(rt, &holding, params, 3);
}

static void test_of_more_dispatches_than_a_context_remembers_the_oldest_is_waited_for(void **state) {
  enum { MORE = 100 };
  uint32_t held = 0;
  struct pto_context_options options = options_of(&backends[0]);
  struct pto_device_program first = times_2;
  first.orchestrate = submit_holding;
  options.runtime.window = 1024;
  options.runtime.workers = 3;                                    /* one holds the run */
  atomic_store_explicit(&may_go_on, false, memory_order_release); /* release: nothing runs yet */
  assert_int_equal(pto_context_create(&options, &context, NULL, 0), PTO_OK);
  struct pto_device_tensor t[2] = {host_tensor(), host_tensor()};
  write4(t[0], 1, 0, 0, 0);
  for (; !atomic_load(&is_holding); held++) { /* until a worker has one */
    const unsigned before = atomic_load(&hold_count);
    dispatch1(&first, t[0], t[1]);
    while (atomic_load(&hold_count) == before) sched_yield();
  }
  for (uint32_t i = 1; i < PTO_CONTEXT_FLIGHTS + MORE; i++) /* all wait for that one */
    dispatch1(&times_2, t[i % 2], t[1 - i % 2]);
  const uint64_t most = held - 1 + PTO_CONTEXT_FLIGHTS; /* those before the one that holds are done */
  while (counters().dispatches < most) sched_yield();
  for (int i = 0; i < 100; i++) {
    sched_yield();
    assert_int_equal(counters().dispatches, most);
  }
  atomic_store_explicit(&may_go_on, true, memory_order_release); /* release: pairs with the kernel's */
  assert_int_equal(pto_context_sync(context), PTO_OK);
  assert_int_equal(counters().dispatches, held + PTO_CONTEXT_FLIGHTS + MORE - 1);
  close_context();
}

/* ---- a copy behind a failure ---- */

static void test_a_copy_that_is_queued_behind_a_failure_leaves_its_target_undefined(void **state) {
  int reached = 0;
  ON_EACH_BACKEND {
    for (int i = 0; i < 20; i++) {
      struct pto_device_tensor in = host_tensor(), bad = host_tensor(), target = host_tensor();
      float values[NUMEL];
      dispatch1(&giving_up, in, bad);
      const int status = pto_device_tensor_copy(context, in, target);
      assert_int_equal(pto_context_sync(context), PTO_EUSER);
      assert_int_equal(pto_context_clear_error(context), PTO_OK);
      if (status == PTO_OK) {
        refused(pto_device_tensor_read(context, target, values, BYTES), PTO_EINVAL, "is undefined");
        reached++;
      } else {
        reads4(target, 0, 0, 0, 0);
      }
      for (int k = 0; k < 3; k++)
        assert_int_equal(pto_device_tensor_destroy(context, k == 0 ? in : k == 1 ? bad : target), PTO_OK);
    }
  }
  assert_true(reached > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_call_without_what_it_is_about_is_refused),
      cmocka_unit_test(test_a_constant_does_without_memory_that_is_not_there),
      cmocka_unit_test(test_a_copy_is_of_one_dtype_and_shape),
      cmocka_unit_test(test_what_is_no_tensor_has_no_size_and_is_not_destroyed),
      cmocka_unit_test(test_what_is_consumed_has_to_be_an_input),
      cmocka_unit_test(test_a_constant_of_a_program_has_to_be_one),
      cmocka_unit_test(test_a_program_without_a_name_fails_too),
      cmocka_unit_test(test_a_recording_without_memory_is_none_and_the_run_is_right),
      cmocka_unit_test(test_who_watches_is_told_that_there_was_no_memory_for_a_recording),
      cmocka_unit_test(test_each_allocation_of_a_call_may_fail),
      cmocka_unit_test(test_each_allocation_of_a_creation_may_fail),
      cmocka_unit_test(test_what_the_library_does_not_know_is_refused),
      cmocka_unit_test(test_arrays_without_bytes_may_be_null_and_others_not),
      cmocka_unit_test(test_of_more_dispatches_than_a_context_remembers_the_oldest_is_waited_for),
      cmocka_unit_test(test_a_copy_that_is_queued_behind_a_failure_leaves_its_target_undefined),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
