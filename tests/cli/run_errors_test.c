/* SPDX-License-Identifier: MIT */
/*
 * Errors that end a run: each has its status and a sentence with its numbers; further calls answer with the first error
 * and do nothing; nothing is leaked, and the runtime runs again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/control/runtime_state.h>
#include <tests/support/runtime_fixture.h>

static void begin(struct pto_runtime *rt) { fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK); }

/* Every call answers with the run's error, its sentence stays, and nothing changes. */
static int expect_over(struct pto_runtime *rt, struct fixture *f, int status) {
  struct fixture_state before;
  char sentence[PTO_SENTENCE_SIZE];
  uint64_t index = 0, count = 8;
  uint8_t x = 0;
  snprintf(sentence, sizeof sentence, "%s", pto_last_error(rt));
  assert_true(strlen(sentence) > 0);
  struct pto_tensor t = fixture_bytes(f, 0, 8), none = fixture_managed(rt, 8);
  assert_true(pto_tensor_status(&none) < 0);
  struct pto_task task = {5, 6};
  fixture_state_take(rt, &before);
  int statuses[] = {FIXTURE_SUBMIT(rt, "i", &t),
                    pto_submit(rt, NULL, NULL, 0, &task),
                    pto_submit_aic(rt, NULL, NULL, 3),
                    pto_submit_aiv(rt, fixture_kernel(""), NULL, 0),
                    pto_submit_barrier(rt, &task, 1, &task),
                    pto_alloc_tensors(rt, &none, 1, NULL),
                    pto_scope_begin(rt, PTO_SCOPE_AUTO),
                    pto_scope_begin(rt, 99),
                    pto_scope_end(rt),
                    pto_read_element(rt, &t, &index, &x),
                    pto_write_element(rt, &t, &index, &x),
                    pto_report_error(rt, "something else"),
                    FIXTURE_SUBMIT(rt, "o", &none)};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(statuses); i++) assert_int_equal(statuses[i], status);
  assert_int_equal(pto_get_buffer_addr(rt, none.buffer), 0);
  assert_int_equal(pto_core_count(rt, PTO_CLUSTER), rt->port->cluster_count);
  assert_int_equal(task.id, 5);
  none = pto_managed_tensor(rt, none.buffer, PTO_UINT8, 1, &count);
  assert_true(pto_tensor_status(&none) < 0);
  fixture_state_expect(rt, &before);
  assert_string_equal(pto_last_error(rt), sentence);
  return status;
}

/* ---- kernels that fail ---- */

static _Atomic uint32_t loud_core;
static int fail_loudly(const struct pto_kernel_args *args) {
  loud_core = args->core->index;
  return pto_kernel_error(args, "index %d is negative", -3);
}
static int fail_silently(const struct pto_kernel_args *args) { return 42; }
static int fail_widely(const struct pto_kernel_args *args) { return 0x10000; }
static int fail_in_block_two(const struct pto_kernel_args *args) { return args->core->block_index == 2 ? -7 : 0; }
static int succeed(const struct pto_kernel_args *args) { return 0; }
static const struct pto_kernel *failing(const char *name, const char *modes,
                                        int (*run)(const struct pto_kernel_args *)) {
  static struct pto_kernel kernels[16];
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(kernels); i++) {
    if (kernels[i].run == run && strcmp(kernels[i].name, name) == 0) return &kernels[i];
    if (kernels[i].run) continue;
    kernels[i] = fixture_kernel_with(modes, 0, run);
    kernels[i].name = name;
    return &kernels[i];
  }
  fail();
  return NULL;
}
static int fails_in_the_drain(struct pto_runtime *rt, struct fixture *f) {
  uint64_t shape[2] = {2, 3};
  struct pto_tensor t = pto_external_tensor(rt, f->memory, PTO_FLOAT32, 2, shape);
  struct pto_param params[2] = {pto_inout(&t), pto_scalar_u64(0x1234)};
  FIXTURE_DO(rt, .label = 0);
  fixture_expect(rt, pto_submit_aiv(rt, failing("loud", "bs", fail_loudly), params, 2), PTO_OK);
  return 0;
}
/* A kernel that moved has run on another core than the one that it was sent to. */
static void the_core_is_the_one_that_the_kernel_was_told(struct fixture *f) {
  char words[64];
  snprintf(words, sizeof words, "failed on core %u (", (unsigned)loud_core);
  fixture_expect_sentence(f->rt, words);
}
/* It keeps the first core busy, so that the other kernel is sent to the second, and is run as the first of its thread.
 */
static int wait_for_the_loud(const struct pto_kernel_args *args) {
  int status = 0;
  while (status == 0 && loud_core == 0) status = pto_core_yield(args, false);
  return status;
}
static int fails_where_it_has_moved_to(struct pto_runtime *rt, struct fixture *f) {
  static const struct pto_kernel waits = {
      .name = "waits", .cores = PTO_AIV, .flags = PTO_KERNEL_WAITS, .run = wait_for_the_loud};
  loud_core = 0;
  fixture_expect(rt, pto_submit_aiv(rt, &waits, NULL, 0), PTO_OK);
  return fails_in_the_drain(rt, f);
}
static int nothing_dependent_runs(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 8), u = fixture_bytes(f, 8, 8);
  struct pto_param param = pto_inout(&t);
  FIXTURE_DO(rt, .label = 1, .modes = "o", .tensors = {&t});
  fixture_expect(rt, pto_submit_aiv(rt, failing("silent", "b", fail_silently), &param, 1), PTO_OK);
  for (uint64_t i = 2; i < 40; i++) { /* and what depends on those */
    int status = FIXTURE_TRY(rt, .label = i, .modes = "ib", .tensors = {&t, &u});
    if (status) return status; /* in virtual time the failure may come between two submits */
  }
  return 0;
}
static void only_the_producer_ran(struct fixture *f) {
  assert_int_equal(fixture_call_count, 1);
  assert_int_equal(fixture_calls[0].label, 1);
}
static int fails_while_a_submit_waits(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 8);
  struct pto_param param = pto_inout(&t);
  begin(rt);
  fixture_expect(rt, pto_submit_aiv(rt, failing("silent", "b", fail_silently), &param, 1), PTO_OK);
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  begin(rt);
  for (uint64_t i = 0; i < 6; i++) FIXTURE_DO(rt, .label = i, .modes = "i", .tensors = {&t});
  fixture_expect(rt, FIXTURE_TRY(rt, .label = 9), PTO_EKERNEL); /* needs the failing task's slot */
  expect_over(rt, f, PTO_EKERNEL);
  return 0;
}
static int fails_while_the_host_reads(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 8);
  struct pto_param param = pto_inout(&t);
  uint64_t index = 3;
  uint8_t x = 77;
  fixture_expect(rt, pto_submit_aiv(rt, failing("silent", "b", fail_silently), &param, 1), PTO_OK);
  fixture_expect(rt, pto_read_element(rt, &t, &index, &x), PTO_EKERNEL);
  assert_int_equal(x, 77);
  return expect_over(rt, f, PTO_EKERNEL);
}
static int fails_with_a_wide_status(struct pto_runtime *rt, struct fixture *f) {
  return pto_submit_aiv(rt, failing("wide", "", fail_widely), NULL, 0);
}
static int fails_in_one_block(struct pto_runtime *rt, struct fixture *f) {
  struct pto_task task;
  struct pto_launch launch = {.aiv0 = failing("third", "", fail_in_block_two), .block_count = 5};
  fixture_expect(rt, pto_submit(rt, &launch, NULL, 0, &task), PTO_OK);
  FIXTURE_DO(rt, .label = 1, .launch = {.after = &task, .after_count = 1});
  return 0;
}
static void no_task_ran(struct fixture *f) { assert_int_equal(fixture_call_count, 0); }
static int one_kernel_of_a_mix_fails(struct pto_runtime *rt, struct fixture *f) {
  struct pto_launch launch = {.aic = failing("cube", "", succeed),
                              .aiv0 = failing("first", "", succeed),
                              .aiv1 = failing("second", "", fail_silently)};
  return pto_submit(rt, &launch, NULL, 0, NULL);
}
static int two_kernels_fail(struct pto_runtime *rt, struct fixture *f) {
  fixture_expect(rt, pto_submit_aiv(rt, failing("loud first", "", fail_loudly), NULL, 0), PTO_OK);
  return pto_submit_aiv(rt, failing("silent later", "", fail_silently), NULL, 0);
}
static int a_payload_of_32_tensors(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 8);
  struct pto_param params[32];
  for (int i = 0; i < 32; i++) params[i] = pto_input(&t);
  return pto_submit_aiv(rt, failing("many", "iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii", fail_silently), params, 32);
}
static int memory_comes_back(struct pto_runtime *rt, struct fixture *f) {
  begin(rt);
  begin(rt);
  struct pto_tensor t = fixture_managed(rt, 65536);
  FIXTURE_DO(rt, .modes = "o", .tensors = {&t});
  fixture_expect(rt, pto_submit_aiv(rt, failing("plain", "", fail_silently), NULL, 0), PTO_OK);
  for (uint64_t i = 0; i < 30; i++) FIXTURE_DO(rt, .modes = "i", .tensors = {&t}, .launch = {.block_count = 4});
  while (!rt->has_failed) pto_progress_wait(rt);
  return 0;
}

/* ---- room that is not there ---- */

static int scope_too_large(struct pto_runtime *rt, struct fixture *f) {
  begin(rt);
  for (uint64_t i = 0; i < 7; i++) FIXTURE_DO(rt, .label = i);
  assert_int_equal(FIXTURE_TRY(rt, .label = 7), PTO_ESCOPE);
  return expect_over(rt, f, PTO_ESCOPE);
}
static int window_too_small(struct pto_runtime *rt, struct fixture *f) {
  for (int i = 0; i < 3; i++) begin(rt);
  FIXTURE_DO(rt, .label = 0);
  begin(rt);
  for (uint64_t i = 1; i < 7; i++) FIXTURE_DO(rt, .label = i);
  assert_int_equal(FIXTURE_TRY(rt, .label = 7), PTO_EWINDOW);
  return expect_over(rt, f, PTO_EWINDOW);
}
static int heap_too_small(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_managed(rt, 70000);
  assert_int_equal(FIXTURE_TRY(rt, .modes = "o", .tensors = {&t}), PTO_EHEAP);
  return expect_over(rt, f, PTO_EHEAP);
}
static int heap_held(struct pto_runtime *rt, struct fixture *f) {
  begin(rt);
  struct pto_tensor a = fixture_managed(rt, 40000), b = fixture_managed(rt, 40000);
  FIXTURE_DO(rt, .modes = "o", .tensors = {&a});
  assert_int_equal(pto_alloc_tensors(rt, &b, 1, NULL), PTO_EHEAP);
  return expect_over(rt, f, PTO_EHEAP);
}
static int too_few_chunks(struct pto_runtime *rt, struct fixture *f) {
  struct pto_task task;
  int status = PTO_OK;
  FIXTURE_DO(rt, .label = 0, .out = &task);
  for (uint64_t i = 1; i < 60 && !status; i++)
    status = FIXTURE_TRY(rt, .label = i, .launch = {.after = &task, .after_count = 1});
  assert_int_equal(status, PTO_ECAPACITY);
  return expect_over(rt, f, status);
}
static int just_enough_chunks(struct pto_runtime *rt, struct fixture *f) {
  struct pto_task task;
  FIXTURE_DO(rt, .label = 0, .out = &task);
  for (uint64_t i = 1; i <= PTO_INLINE_CONSUMERS + PTO_CHUNK_SLOTS; i++)
    FIXTURE_DO(rt, .label = i, .launch = {.after = &task, .after_count = 1});
  return 0;
}
static int too_many_regions(struct pto_runtime *rt, struct fixture *f) {
  int status = PTO_OK;
  for (uint64_t i = 0; i < 60 && !status; i++) {
    struct pto_tensor t = fixture_bytes(f, 16 * i, 16);
    status = FIXTURE_TRY(rt, .label = i, .modes = "b", .tensors = {&t});
  }
  assert_int_equal(status, PTO_ECAPACITY);
  return expect_over(rt, f, status);
}
static int expired_regions_make_room(struct pto_runtime *rt, struct fixture *f) {
  for (uint64_t i = 0; i < 2000; i++) {
    begin(rt);
    struct pto_tensor t = fixture_bytes(f, 16 * i % FIXTURE_MEMORY_BYTES, 16);
    FIXTURE_DO(rt, .label = i, .modes = "b", .tensors = {&t});
    fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  }
  return 0;
}
static int too_many_buffers(struct pto_runtime *rt, struct fixture *f) {
  struct pto_buffer buffer = {0, 0, 0, 0};
  uint64_t live = 0;
  while ((buffer = pto_create_buffer(rt, 8)).id) live++;
  assert_int_equal(live, rt->buffers.capacity);
  return expect_over(rt, f, PTO_ECAPACITY);
}
static int too_many_registrations(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t;
  uint64_t live = 0;
  while (t = fixture_bytes(f, live % 1000, 8), pto_tensor_status(&t) == PTO_OK) live++;
  assert_int_equal(live, rt->buffers.capacity);
  assert_int_equal(pto_tensor_status(&t), PTO_ECAPACITY);
  return expect_over(rt, f, PTO_ECAPACITY);
}
static int buffers_of_ended_scopes_come_back(struct pto_runtime *rt, struct fixture *f) {
  for (uint32_t i = 0; i < 5; i++) {
    begin(rt);
    for (uint32_t k = 0; k < rt->buffers.capacity / 2; k++) {
      struct pto_tensor t = fixture_bytes(f, k, 8);
      assert_int_equal(pto_tensor_status(&t), PTO_OK);
      assert_true(pto_create_buffer(rt, 8).id != 0);
    }
    fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  }
  return 0;
}
/* No public call makes one without waiting kernels: a task that lacks a producer which does not exist. */
static int nothing_can_go_on(struct pto_runtime *rt, struct fixture *f) {
  struct pto_task first;
  FIXTURE_DO(rt, .label = 0, .out = &first);
  FIXTURE_DO(rt, .label = 1, .launch = {.after = &first, .after_count = 1});
  rt->rings.slots[1].pending++;
  return 0;
}

static int nothing_to_poll_for(struct pto_runtime *rt, struct fixture *f) {
  (void)nothing_can_go_on(rt, f);
  int status = PTO_OK;
  while (status == PTO_OK) status = pto_poll(rt);
  return status;
}

/* What a task without a kernel holds is told of no task. */
static int nothing_can_go_on_to_a_holder(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor t = fixture_managed(rt, 64);
  const struct pto_param param = pto_input(&t);
  struct pto_task first, second;
  FIXTURE_DO(rt, .label = 0, .modes = "o", .tensors = {&t}, .out = &first);
  FIXTURE_DO(rt, .label = 1, .launch = {.after = &first, .after_count = 1}, .out = &second);
  rt->rings.slots[1].pending++;
  const struct pto_launch launch = {.no_kernel = true, .after = &second, .after_count = 1};
  fixture_expect(rt, pto_submit(rt, &launch, &param, 1, NULL), PTO_OK);
  return 0;
}

/* A submit that is far ahead waits as long as something runs, and nothing has failed. */
static int far_ahead_of_nothing(struct pto_runtime *rt, struct fixture *f) {
  struct pto_task first, second;
  FIXTURE_DO(rt, .label = 0, .out = &first);
  FIXTURE_DO(rt, .label = 1, .launch = {.after = &first, .after_count = 1}, .out = &second);
  FIXTURE_DO(rt, .label = 2, .launch = {.after = &second, .after_count = 1});
  rt->rings.slots[1].pending++;
  rt->port->run_ahead = 1;
  pto_progress_poll(rt);
  rt->port->run_ahead = 0;
  assert_int_equal(rt->scheduler.cores.in_flight, 0);
  return 0;
}
static int fails_at_once(const struct pto_kernel_args *args) { return pto_kernel_error(args, "it fails"); }
static int far_ahead_of_a_failure(struct pto_runtime *rt, struct fixture *f) {
  static struct pto_kernel kernel;
  kernel = fixture_kernel_with("", 0, fails_at_once);
  for (int i = 0; i < 4; i++) fixture_expect(rt, pto_submit_aiv(rt, &kernel, NULL, 0), PTO_OK);
  rt->port->run_ahead = 1;
  pto_progress_poll(rt);
  rt->port->run_ahead = 0;
  assert_true(rt->has_failed && rt->completed_count < 2);
  return 0;
}

/* ---- the orchestration's own ---- */

static int says_so(struct pto_runtime *rt, struct fixture *f) {
  FIXTURE_DO(rt, .label = 1);
  assert_int_equal(pto_report_error(rt, "the weights have 3 layers, 4 were asked for"), PTO_EUSER);
  expect_over(rt, f, PTO_EUSER);
  return 0; /* what it returns then does not matter */
}
static int says_nothing(struct pto_runtime *rt, struct fixture *f) { return pto_report_error(rt, NULL); }
static int says_it_with_percents(struct pto_runtime *rt, struct fixture *f) {
  return pto_report_error(rt, "100%s %n %d");
}
static int returns_no_memory(struct pto_runtime *rt, struct fixture *f) { return PTO_ENOMEM; }
static int returns_five(struct pto_runtime *rt, struct fixture *f) {
  FIXTURE_DO(rt, .label = 1);
  return 5;
}
static int returns_a_refusal(struct pto_runtime *rt, struct fixture *f) { return pto_submit_aiv(rt, NULL, NULL, 0); }
static int leaves_scopes_open(struct pto_runtime *rt, struct fixture *f) {
  for (uint64_t i = 0; i < 5; i++) {
    begin(rt);
    struct pto_tensor t = fixture_managed(rt, 1000);
    FIXTURE_DO(rt, .label = i, .modes = "o", .tensors = {&t});
  }
  return 0;
}
static int first_of_several(struct pto_runtime *rt, struct fixture *f) {
  begin(rt);
  struct pto_tensor t = fixture_managed(rt, 70000);
  assert_int_equal(FIXTURE_TRY(rt, .modes = "o", .tensors = {&t}), PTO_EHEAP);
  pto_report_error(rt, "later");
  return 7; /* with a scope open, and a non-zero return */
}
static int refusals_before_do_not_count(struct pto_runtime *rt, struct fixture *f) {
  assert_int_equal(pto_submit_aiv(rt, NULL, NULL, 0), PTO_EINVAL);
  assert_int_equal(pto_scope_end(rt), PTO_EINVAL);
  return pto_report_error(rt, "this one");
}
static int work_in_flight_at_the_error(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 8);
  for (uint64_t i = 0; i < 20; i++) FIXTURE_DO(rt, .label = i, .modes = i % 2 ? "b" : "", .tensors = {&t});
  return pto_report_error(rt, "enough");
}
static void only_what_was_on_cores_ran(struct fixture *f) { assert_int_equal(fixture_call_count, 4); }

/* ---- between runs ---- */

static int fine(struct pto_runtime *rt, struct fixture *f) { return 0; }
static int fails(struct pto_runtime *rt, struct fixture *f) { return pto_report_error(rt, "again"); }
static void error_stays_until_the_next_run(struct fixture *f) {
  fixture_run(f, fails, PTO_EUSER);
  assert_string_equal(pto_last_error(f->rt), "again");
  assert_int_equal(pto_submit_aiv(f->rt, fixture_kernel(""), NULL, 0), PTO_EUSER);
  assert_string_equal(pto_last_error(f->rt), "again");
  uint64_t count = 8;
  struct pto_tensor t = pto_external_tensor(f->rt, f->memory, PTO_UINT8, 1, &count); /* between runs as ever */
  assert_int_equal(pto_tensor_status(&t), PTO_OK);
  fixture_run(f, fine, PTO_OK);
  assert_string_equal(pto_last_error(f->rt), "");
}
static void fifty_failed_runs(struct fixture *f) {
  for (int i = 0; i < 50; i++) {
    fixture_run(f, memory_comes_back, PTO_EKERNEL);
    fixture_run(f, nothing_dependent_runs, PTO_EKERNEL);
    fixture_run(f, leaves_scopes_open, PTO_EUSER);
  }
}
/* A program that asks why there is no runtime does not crash on the answer. */
static void no_runtime_has_no_error(struct fixture *f) { assert_string_equal(pto_last_error(NULL), ""); }

static void names_have_numbers(struct fixture *f) {
  static const struct {
    int status, number;
  } numbers[] = {{PTO_ESCOPE, 1}, {PTO_EHEAP, 2}, {PTO_EWINDOW, 3}, {PTO_EUSER, 9}, {PTO_EDEADLOCK, 100}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(numbers); i++) {
    char part[32];
    snprintf(part, sizeof part, "(runtime error %d)", numbers[i].number);
    assert_non_null(strstr(pto_strerror(numbers[i].status), part));
  }
  assert_non_null(strstr(pto_strerror(PTO_ECAPACITY), "(runtime errors 4 and 11)"));
}

static const struct fixture_case cases[] = {
    {.name = "a failed kernel names task, core, its own words, status and parameters",
     .body = fails_in_the_drain,
     .status = PTO_EKERNEL,
     .sentence = "task 1: kernel loud failed on core 2 (cluster 0 AIV1): index -3 is negative, status -9; tensor 0 "
                 "f32[2,3], scalar 0 0x1234"},
    {.name = "on the threads engine too",
     .body = fails_where_it_has_moved_to,
     .status = PTO_EKERNEL,
     .engine = "threads",
     .after = the_core_is_the_one_that_the_kernel_was_told,
     .sentence = "index -3 is negative, status -9; tensor 0 f32[2,3], scalar 0 0x1234"},
    {.name = "and in virtual time",
     .body = fails_in_the_drain,
     .status = PTO_EKERNEL,
     .engine = "virtual",
     .sentence = "task 1: kernel loud failed on core"},
    {.name = "nothing runs that depends on a failed task",
     .body = nothing_dependent_runs,
     .status = PTO_EKERNEL,
     .after = only_the_producer_ran,
     .sentence = "task 1: kernel silent failed on core 1 (cluster 0 AIV0), status 42; tensor 0 u8[8]"},
    {.name = "nothing dependent runs on the threads engine",
     .body = nothing_dependent_runs,
     .status = PTO_EKERNEL,
     .engine = "threads",
     .after = only_the_producer_ran},
    {.name = "nothing dependent runs in virtual time",
     .body = nothing_dependent_runs,
     .status = PTO_EKERNEL,
     .engine = "virtual",
     .after = only_the_producer_ran},
    {.name = "a submit that waits for space answers with the kernel's failure",
     .body = fails_while_a_submit_waits,
     .status = PTO_EKERNEL,
     .window = 8},
    {.name = "a host that waits for an element answers with the kernel's failure",
     .body = fails_while_the_host_reads,
     .status = PTO_EKERNEL},
    {.name = "a status that has no low bits is a failure all the same",
     .body = fails_with_a_wide_status,
     .status = PTO_EKERNEL,
     .engine = "virtual",
     .sentence = "kernel wide failed"},
    {.name = "also on the threads engine",
     .body = fails_with_a_wide_status,
     .status = PTO_EKERNEL,
     .engine = "threads",
     .sentence = "kernel wide failed"},
    {.name = "one failed block fails the task",
     .body = fails_in_one_block,
     .status = PTO_EKERNEL,
     .after = no_task_ran,
     .sentence = "kernel third failed on core"},
    {.name = "the kernel of a MIX that failed is the one that is named",
     .body = one_kernel_of_a_mix_fails,
     .status = PTO_EKERNEL,
     .sentence = "kernel second failed on core 2 (cluster 0 AIV1), status 42"},
    {.name = "of two kernels that fail the first is reported",
     .body = two_kernels_fail,
     .status = PTO_EKERNEL,
     .sentence = "task 0: kernel loud first"},
    {.name = "thirty two parameters fit the sentence or are cut",
     .body = a_payload_of_32_tensors,
     .status = PTO_EKERNEL,
     .sentence = "tensor 31 u8[8]"},
    {.name = "memory, slots and queues come back after a failure in the middle",
     .body = memory_comes_back,
     .status = PTO_EKERNEL},
    {.name = "a scope with more tasks than the window is an error with its numbers",
     .body = scope_too_large,
     .status = PTO_ESCOPE,
     .window = 8,
     .sentence = "ring 1: the scope holds 7 tasks, all that a window of 8 has room for; its tasks are retired only "
                 "when it ends: end it "
                 "earlier, or use a window of at least 16; open scope 1 (depth 1) holds 7 tasks and 0 bytes"},
    {.name = "nested scopes that hold the window are an error with their numbers",
     .body = window_too_small,
     .status = PTO_EWINDOW,
     .window = 8,
     .sentence = "ring 3: nested scopes hold 7 tasks, all that a window of 8 has room for; one task more needs a "
                 "window of at least 16"},
    {.name = "outputs larger than the heap are an error with both sizes",
     .body = heap_too_small,
     .status = PTO_EHEAP,
     .sentence =
         "heap ring 0: the task's outputs take 70656 bytes, the whole heap has 65536; this task needs a heap of at "
         "least 70656 bytes"},
    {.name = "a heap held by open scopes is an error that names them",
     .body = heap_held,
     .status = PTO_EHEAP,
     .sentence =
         "heap ring 1: 40960 bytes wanted, 40960 of 65536 used, all held by open scopes; this task needs a heap of "
         "at least 81920 bytes; open scope 1 (depth 1) holds 1 tasks and 40960 bytes"},
    {.name = "lists full of live edges are an error with their capacity",
     .body = too_few_chunks,
     .status = PTO_ECAPACITY,
     .list_chunks = 1,
     .sentence = "edges and accesses of live tasks fill the 1 list chunks"},
    {.name = "the last list entry is usable", .body = just_enough_chunks, .list_chunks = 1},
    {.name = "a map full of live accesses is an error with its capacity",
     .body = too_many_regions,
     .status = PTO_ECAPACITY,
     .map_entries = 32,
     .sentence = "accesses of live tasks fill the region map of 32 entries"},
    {.name = "expired accesses never fill a small map",
     .body = expired_regions_make_room,
     .map_entries = 64,
     .window = 8},
    {.name = "more buffers than the registry holds are an error with their number",
     .body = too_many_buffers,
     .status = PTO_ECAPACITY,
     .window = 4,
     .sentence = "592 live buffers fill the registry"},
    {.name = "more registrations than the registry holds are the same error",
     .body = too_many_registrations,
     .status = PTO_ECAPACITY,
     .window = 4,
     .sentence = "592 live buffers and registrations fill the registry"},
    {.name = "buffers and registrations of ended scopes come back",
     .body = buffers_of_ended_scopes_come_back,
     .window = 4},
    {.name = "a run that cannot go on is known at once",
     .body = nothing_can_go_on,
     .status = PTO_EDEADLOCK,
     .sentence = "nothing runs and nothing is ready, but 1 of 2 tasks have not completed"},
    {.name = "a poll of a run that cannot go on says so",
     .body = nothing_to_poll_for,
     .status = PTO_EDEADLOCK,
     .sentence = "nothing runs and nothing is ready, but 1 of 2 tasks have not completed"},
    {.name = "nor can one with a task that holds memory and has no kernel",
     .body = nothing_can_go_on_to_a_holder,
     .status = PTO_EDEADLOCK,
     .sentence = "nothing runs and nothing is ready, but 2 of 3 tasks have not completed"},
    {.name = "a submit waits for nothing where nothing runs",
     .body = far_ahead_of_nothing,
     .status = PTO_EDEADLOCK,
     .sentence = "nothing runs and nothing is ready"},
    {.name = "a submit that waits ends with what has failed",
     .body = far_ahead_of_a_failure,
     .status = PTO_EKERNEL,
     .sentence = "it fails"},
    {.name = "the orchestration may end its run with a sentence",
     .body = says_so,
     .status = PTO_EUSER,
     .sentence = "the weights have 3 layers, 4 were asked for"},
    {.name = "a reported error without a sentence has one",
     .body = says_nothing,
     .status = PTO_EUSER,
     .sentence = "reported an error"},
    {.name = "a reported sentence is not a format",
     .body = says_it_with_percents,
     .status = PTO_EUSER,
     .sentence = "100%s %n %d"},
    {.name = "an orchestration that returns non-zero has failed",
     .body = returns_five,
     .status = PTO_EUSER,
     .sentence = "the orchestration returned 5"},
    {.name = "an orchestration that has no memory has made no mistake",
     .body = returns_no_memory,
     .status = PTO_ENOMEM,
     .sentence = "there is no memory for what the orchestration asks for"},
    {.name = "an orchestration that returns a refusal says which",
     .body = returns_a_refusal,
     .status = PTO_EUSER,
     .sentence = "the orchestration returned -1 (PTO_EINVAL): a task needs a kernel"},
    {.name = "scopes left open are an error with their number",
     .body = leaves_scopes_open,
     .status = PTO_EUSER,
     .sentence = "returned with 5 scopes open"},
    {.name = "of several errors the first is reported",
     .body = first_of_several,
     .status = PTO_EHEAP,
     .sentence = "the whole heap has 65536"},
    {.name = "refusals before an error are not the error",
     .body = refusals_before_do_not_count,
     .status = PTO_EUSER,
     .sentence = "this one"},
    {.name = "work on cores ends, work in queues does not begin",
     .body = work_in_flight_at_the_error,
     .status = PTO_EUSER,
     .after = only_what_was_on_cores_ran},
    {.name = "a run's error stays until the next run begins", .body = fine, .after = error_stays_until_the_next_run},
    {.name = "a hundred and fifty failed runs leave nothing behind", .body = fine, .after = fifty_failed_runs},
    {.name = "the last error of no runtime is empty", .body = fine, .after = no_runtime_has_no_error},
    {.name = "errors that the existing runtime knows have its numbers", .body = fine, .after = names_have_numbers},
};

int main(void) { return fixture_run_cases("run_errors", cases, PTO_ARRAY_LENGTH(cases)); }
