/* SPDX-License-Identifier: MIT */
/* The threads engine runs what a scripted runtime sends it: order, completions, failures, waiting, where cores live. */
#include <sim/threads/engine.h>

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include <runtime/base/thread.h>
#include <sim/host/current.h>
#include <sim/threads/state.h>
#include <tests/support/threads_script.h>

static struct script script;

static void play_on(uint32_t clusters, uint32_t workers, uint32_t messages, uint32_t fail_every) {
  struct pto_port *port = script_engine(clusters, workers);
  script.seed = 20 * clusters + workers;
  script.message_count = messages;
  script.fail_every = fail_every;
  print_message("seed %llu\n", (unsigned long long)script.seed);
  script_play(port, &script);
  port->ops->destroy(port);
}

static void test_every_message_completes_once_and_in_its_cores_order_on_one_worker(void **state) {
  play_on(1, 1, PTO_SCRIPT_MESSAGES, 0);
}
static void test_every_message_completes_once_and_in_its_cores_order_on_two_workers(void **state) {
  play_on(1, 2, PTO_SCRIPT_MESSAGES, 0);
}
static void test_every_message_completes_once_and_in_its_cores_order_on_three_workers(void **state) {
  play_on(4, 3, PTO_SCRIPT_MESSAGES, 0);
}
static void test_every_message_completes_once_and_in_its_cores_order_on_five_workers(void **state) {
  play_on(4, 5, PTO_SCRIPT_MESSAGES / 2, 0);
}
static void test_72_cores_share_two_workers(void **state) { play_on(24, 2, PTO_SCRIPT_MESSAGES, 0); }
static void test_each_of_12_cores_can_have_a_worker(void **state) { play_on(4, 12, PTO_SCRIPT_MESSAGES / 4, 0); }
static void test_failing_kernels_complete_with_their_status(void **state) { play_on(4, 2, PTO_SCRIPT_MESSAGES, 3); }

static void test_an_engine_runs_many_runs_as_it_ran_the_first(void **state) {
  struct pto_port *port = script_engine(1, 2);
  script.seed = 5;
  script.message_count = 40;
  script.fail_every = 7;
  for (uint32_t run = 0; run < 100; run++) script_play(port, &script);
  port->ops->destroy(port);
}

static void test_an_engine_that_never_ran_is_destroyed(void **state) {
  for (uint32_t i = 0; i < 20; i++) {
    struct pto_port *port = script_engine(1, 3);
    port->ops->destroy(port);
  }
}

static void *play_beside(void *argument) {
  struct pto_port *port = script_engine(2, 2);
  script_play(port, argument);
  port->ops->destroy(port);
  return NULL;
}

/* play keeps its expectations in statics, so the second engine plays a plainer tune. */
static int add_kernel(const struct pto_kernel_args *args) {
  *(uint64_t *)args->tensors[0].addr += args->core->block_index;
  return 0;
}

static void test_two_engines_side_by_side_do_not_touch_each_other(void **state) {
  pthread_t other;
  struct pto_port *port = script_engine(1, 2);
  uint64_t sums[3] = {0};
  union script_body bodies[3];
  struct pto_completion done[8];
  int error;
  script.seed = 11;
  script.message_count = 3000;
  script.fail_every = 0;
  assert_true(pto_thread_start(&other, play_beside, &script, &error));
  script_begin(port);
  for (uint32_t c = 0; c < 3; c++) script_fill(&bodies[c], &sums[c], 0, 0);
  for (uint32_t i = 0; i < 3000; i++) {
    struct pto_message message = {.payload = &bodies[i % 3].payload,
                                  .run = add_kernel,
                                  .block_index = i,
                                  .core = (uint16_t)(i % 3),
                                  .tensor_count = 1};
    port->ops->dispatch(port, &message, 0, NULL);
    while (port->ops->poll(port, done, PTO_ARRAY_LENGTH(done)) == 0) port->ops->wait(port);
  }
  port->ops->end_run(port);
  pthread_join(other, NULL);
  for (uint32_t c = 0; c < 3; c++) assert_int_equal(sums[c], 1000 * c + 3 * (999 * 1000 / 2));
  port->ops->destroy(port);
}

/* ---- where cores live ---- */

static void test_the_two_vector_cores_of_tiny_live_on_two_workers(void **state) {
  struct pto_port *port = script_engine(1, 2);
  assert_int_equal(port->worker_count, 2);
  assert_int_not_equal(pto_engine_threads_core_worker(port, 1), pto_engine_threads_core_worker(port, 2));
  port->ops->destroy(port);
}

static void test_every_worker_gets_its_share_of_each_kind(void **state) {
  for (uint32_t clusters = 1; clusters <= 24; clusters += 7)
    for (uint32_t workers = 1; workers <= 9; workers++) {
      struct pto_port *port = script_engine(clusters, workers);
      uint32_t count[2][PTO_SCRIPT_CORES] = {{0}};
      for (uint32_t c = 0; c < 3 * clusters; c++) {
        assert_true(pto_engine_threads_core_worker(port, c) < port->worker_count);
        count[c % 3 == 0][pto_engine_threads_core_worker(port, c)]++;
      }
      for (uint32_t kind = 0; kind < 2; kind++)
        for (uint32_t w = 1; w < port->worker_count; w++)
          assert_true(count[kind][w] + 1 >= count[kind][0] && count[kind][w] <= count[kind][0] + 1);
      for (uint32_t w = 0; w < port->worker_count; w++) assert_true(count[0][w] + count[1][w] > 0);
      port->ops->destroy(port);
    }
}

static void test_no_more_workers_than_cores_are_made(void **state) {
  struct pto_port *port = script_engine(1, 50);
  assert_int_equal(port->worker_count, 3);
  port->ops->destroy(port);
  port = script_engine(108 / 3, 1000);
  assert_int_equal(port->worker_count, 108);
  port->ops->destroy(port);
}

static void test_a_kernel_runs_on_the_thread_of_its_core(void **state) {
  struct pto_port *port = script_engine(4, 3);
  script.seed = 3;
  script.message_count = 600;
  script.fail_every = 0;
  script_play(port, &script);
  for (uint32_t a = 0; a < 12; a++) {
    assert_int_equal(pthread_equal(script.thread[a], pthread_self()) != 0,
                     pto_engine_threads_core_worker(port, a) == 0);
    for (uint32_t b = 0; b < a; b++)
      assert_int_equal(pthread_equal(script.thread[a], script.thread[b]) != 0,
                       pto_engine_threads_core_worker(port, a) == pto_engine_threads_core_worker(port, b));
  }
  port->ops->destroy(port);
}

/* ---- what a kernel sees ---- */

struct sight {
  struct pto_core core;
  union pto_scalar scalars[2];
  uint32_t tensor_count, scalar_count;
  char current[512];
};

static int look_kernel(const struct pto_kernel_args *args) {
  struct sight *sight = args->tensors[0].addr;
  const struct pto_core *core = args->core;
  sight->core = *core;
  sight->tensor_count = args->tensor_count;
  sight->scalar_count = args->scalar_count;
  memcpy(sight->scalars, args->scalars, sizeof sight->scalars);
  memset(core->local.addr, (int)core->index, core->local.size_bytes);
  if (core->kind == PTO_AIC) {
    memset(core->l0a.addr, 1, core->l0a.size_bytes);
    memset(core->l0b.addr, 2, core->l0b.size_bytes);
    memset(core->l0c.addr, 3, core->l0c.size_bytes);
  }
  return pto_engine_describe_current(sight->current, sizeof sight->current) ? 0 : 1;
}

static void test_a_kernel_sees_its_core_its_block_and_its_parameters(void **state) {
  struct pto_port *port = script_engine(2, 2);
  static const struct pto_kernel kernel = {.name = "look", .run = look_kernel};
  struct sight sights[6];
  memset(sights, 0, sizeof sights);
  script_begin(port);
  for (uint16_t c = 0; c < 6; c++) {
    union script_body body;
    script_fill(&body, &sights[c], 5 + c, UINT64_C(0x3f000000));
    body.payload.task_number = 40 + c;
    body.payload.block_count = 9;
    body.payload.kernels[0] = &kernel;
    struct pto_message message = {.payload = &body.payload,
                                  .run = look_kernel,
                                  .block_index = 4,
                                  .core = c,
                                  .tensor_count = 1,
                                  .scalar_count = 2,
                                  .flags = PTO_MESSAGE_BLOCKS};
    assert_int_equal(script_run_one(port, &message).status, 0);
    const struct sight *sight = &sights[c];
    assert_int_equal(sight->core.index, c);
    assert_int_equal(sight->core.cluster, c / 3);
    assert_int_equal(sight->core.lane, c % 3);
    assert_int_equal(sight->core.kind, c % 3 ? PTO_AIV : PTO_AIC);
    assert_int_equal(sight->core.block_index, 4);
    assert_int_equal(sight->core.block_count, 9);
    assert_int_equal(sight->core.local.size_bytes, c % 3 ? 8192 : 16384);
    assert_int_equal(sight->core.l0c.size_bytes, c % 3 ? 0 : 4096);
    assert_int_equal((uintptr_t)sight->core.local.addr % 64, 0);
    assert_int_equal(sight->tensor_count, 1);
    assert_int_equal(sight->scalar_count, 2);
    assert_int_equal(sight->scalars[0].u64, 5 + c);
    assert_true(sight->scalars[1].f32 == 0.5f);
    char expected[64];
    snprintf(expected, sizeof expected, "task %u (look) block 4 on core %u (cluster %u ", 40 + c, c, c / 3);
    assert_memory_equal(sight->current, expected, strlen(expected));
    message.flags = 0;
    assert_int_equal(script_run_one(port, &message).status, 0);
    assert_int_equal(sight->core.block_count, 1);
  }
  for (uint32_t a = 0; a < 6; a++) { /* none wrote into a neighbour's memory */
    const uint8_t *bytes = sights[a].core.local.addr;
    for (uint32_t i = 0; i < sights[a].core.local.size_bytes; i++) assert_int_equal(bytes[i], a);
  }
  char text[64];
  assert_false(pto_engine_describe_current(text, sizeof text));
  port->ops->end_run(port);
  port->ops->destroy(port);
}

/* ---- errors of kernels ---- */

/* scalars[0]: what to return; scalars[1]: the digit to leave in a sentence, or 0. */
static int fail_kernel(const struct pto_kernel_args *args) {
  if (args->scalars[1].u64)
    snprintf(args->core->message, args->core->message_size, "sentence %u", (unsigned)args->scalars[1].u64);
  return (int)args->scalars[0].i64;
}

static int16_t fail_on(struct pto_port *port, uint16_t core, int status, uint64_t digit) {
  union script_body body;
  script_fill(&body, NULL, (uint64_t)(int64_t)status, digit);
  struct pto_message message = {.payload = &body.payload, .run = fail_kernel, .core = core, .scalar_count = 2};
  return script_run_one(port, &message).status;
}

static void test_a_failed_kernels_sentence_reaches_the_control_thread(void **state) {
  struct pto_port *port = script_engine(1, 2);
  script_begin(port);
  for (uint16_t c = 0; c < 3; c++) {
    if (c == 0) assert_string_equal(port->ops->kernel_message(port, c), "");
    assert_int_equal(fail_on(port, c, PTO_EKERNEL, 10 + c), PTO_EKERNEL);
  }
  assert_string_equal(port->ops->kernel_message(port, 0), "sentence 10"); /* the first failure is the run's */
  port->ops->end_run(port);
  script_begin(port);
  assert_string_equal(port->ops->kernel_message(port, 1), "");
  assert_int_equal(fail_on(port, 1, 5, 7), 5);
  assert_string_equal(port->ops->kernel_message(port, 1), "sentence 7");
  port->ops->end_run(port);
  port->ops->destroy(port);
}

static void test_a_sentence_of_a_kernel_that_succeeded_is_of_no_other(void **state) {
  struct pto_port *port = script_engine(1, 2);
  script_begin(port);
  for (uint16_t c = 0; c < 3; c++) {
    assert_int_equal(fail_on(port, c, 0, 4), 0);
    assert_int_equal(fail_on(port, c, -1, 0), -1);
    assert_string_equal(port->ops->kernel_message(port, c), "");
  }
  port->ops->end_run(port);
  port->ops->destroy(port);
}

static void test_a_status_that_does_not_fit_is_clamped_and_never_becomes_success(void **state) {
  struct pto_port *port = script_engine(1, 2);
  script_begin(port);
  for (uint16_t c = 0; c < 3; c++) {
    assert_int_equal(fail_on(port, c, 65536, 0), INT16_MAX);
    assert_int_equal(fail_on(port, c, -65536, 0), INT16_MIN);
    assert_int_equal(fail_on(port, c, INT32_MIN, 0), INT16_MIN);
    assert_int_equal(fail_on(port, c, 1, 0), 1);
  }
  port->ops->end_run(port);
  port->ops->destroy(port);
}

/* ---- waiting ---- */

/* Runs until the control thread has gone to sleep: were it to spin without bound, this test would never end. */
static int until_control_sleeps(const struct pto_kernel_args *args) {
  const struct pto_port *port = args->tensors[0].addr;
  while (pto_engine_threads_sleeps(port, 0) == 0) sched_yield();
  return 0;
}

static void test_the_control_thread_sleeps_while_a_kernel_takes_long(void **state) {
  struct pto_port *port = script_engine(1, 2);
  union script_body body;
  script_fill(&body, port, 0, 0);
  struct pto_message message = {.payload = &body.payload, .run = until_control_sleeps, .core = 1, .tensor_count = 1};
  assert_int_equal(pto_engine_threads_core_worker(port, 1), 1);
  script_begin(port);
  assert_int_equal(script_run_one(port, &message).status, 0);
  assert_true(pto_engine_threads_sleeps(port, 0) >= 1);
  port->ops->end_run(port);
  port->ops->destroy(port);
}

static void test_idle_workers_sleep_and_wake_for_the_next_message(void **state) {
  struct pto_port *port = script_engine(1, 3);
  uint64_t sums[3] = {0};
  for (uint32_t round = 1; round <= 5; round++) {
    for (uint32_t w = 1; w < 3; w++)
      while (pto_engine_threads_sleeps(port, w) < round) sched_yield();
    script_begin(port);
    for (uint16_t c = 0; c < 3; c++) {
      union script_body body;
      script_fill(&body, &sums[c], 0, 0);
      struct pto_message message = {
          .payload = &body.payload, .run = add_kernel, .block_index = c + 1, .core = c, .tensor_count = 1};
      script_run_one(port, &message);
    }
    port->ops->end_run(port);
  }
  for (uint32_t c = 0; c < 3; c++) assert_int_equal(sums[c], 5 * (c + 1));
  port->ops->destroy(port);
}

static void test_a_poll_runs_one_kernel_of_the_control_threads_own_cores(void **state) {
  struct pto_port *port = script_engine(1, 1);
  uint64_t sum = 0;
  union script_body body;
  script_fill(&body, &sum, 0, 0);
  struct pto_message message = {.payload = &body.payload, .run = add_kernel, .block_index = 1, .tensor_count = 1};
  struct pto_completion done[8];
  script_begin(port);
  for (uint32_t i = 0; i < 5; i++) assert_false(port->ops->dispatch(port, &message, 0, NULL));
  port->ops->flush(port);
  assert_int_equal(sum, 0); /* neither dispatch nor flush runs a kernel that does not move */
  for (uint32_t i = 1; i <= 5; i++) {
    assert_int_equal(port->ops->poll(port, done, 8), 1);
    assert_int_equal(sum, i);
  }
  port->ops->end_run(port);
  port->ops->destroy(port);
}

/* A kernel that is told to end by the control thread, which has to come back from waiting for that. */
static _Atomic uint32_t may_end;
static int until_told(const struct pto_kernel_args *args) {
  while (!atomic_load_explicit(&may_end, memory_order_acquire)) sched_yield();
  return 0;
}
static void *call_once(void *port) {
  ((struct pto_port *)port)->call(port);
  return NULL;
}
static void *call_once_asleep(void *port) {
  while (!pto_engine_threads_is_asleep(port, 0)) sched_yield();
  return call_once(port);
}

/* Were a call lost the wait would not end, for the kernel ends after it alone. */
static void test_a_call_from_another_thread_ends_the_wait_that_goes_on_or_the_next_one(void **state) {
  struct pto_port *port = script_engine(1, 2);
  union script_body body;
  struct pto_completion done[8];
  script_fill(&body, NULL, 0, 0);
  const struct pto_message message = {.payload = &body.payload, .run = until_told, .core = 1};
  script_begin(port);
  for (int round = 0; round < 20; round++) {
    pthread_t other;
    int error;
    atomic_store_explicit(&may_end, 0, memory_order_relaxed);
    port->ops->dispatch(port, &message, 0, NULL);
    assert_true(pto_thread_start(&other, round % 2 ? call_once : call_once_asleep, port, &error));
    if (round % 2) pthread_join(other, NULL);
    port->ops->wait(port);
    if (round % 2 == 0) pthread_join(other, NULL);
    assert_int_equal(port->ops->poll(port, done, 8), 0);
    atomic_store_explicit(&may_end, 1, memory_order_release);
    while (port->ops->poll(port, done, 8) == 0) port->ops->wait(port);
  }
  port->ops->end_run(port);
  port->ops->destroy(port);
}

static _Atomic uint32_t counted;
static int count_kernel(const struct pto_kernel_args *args) {
  atomic_fetch_add_explicit(&counted, 1, memory_order_release);
  return 0;
}

static void test_polls_that_run_out_of_room_take_turns_among_the_workers(void **state) {
  struct pto_port *port = script_engine(1, 3);
  union script_body body;
  struct pto_completion done[2];
  uint32_t counts[3] = {0};
  script_fill(&body, NULL, 0, 0);
  atomic_store_explicit(&counted, 0, memory_order_relaxed);
  script_begin(port);
  for (uint16_t c = 0; c < 3; c++) {
    for (uint32_t i = 0; i < 4; i++) {
      struct pto_message message = {.payload = &body.payload, .run = count_kernel, .core = c};
      port->ops->dispatch(port, &message, 0, NULL);
    }
  }
  port->ops->flush(port);
  /* A worker that sleeps after its last kernel has published all its completions. */
  while (atomic_load_explicit(&counted, memory_order_acquire) < 8) sched_yield();
  for (uint32_t w = 1; w < 3; w++)
    while (!pto_engine_threads_is_asleep(port, w)) sched_yield();
  for (uint32_t i = 1; i <= 8; i++) {
    assert_int_equal(port->ops->poll(port, done, 1), 1);
    counts[pto_engine_threads_core_worker(port, done[0].core)]++;
    assert_true(counts[1] <= counts[2] + 1 && counts[2] <= counts[1] + 1);
  }
  assert_int_equal(counts[0], 0); /* the control thread's own kernels run where there are no completions */
  for (uint32_t i = 0; i < 4;) {
    port->ops->wait(port);
    i += port->ops->poll(port, done, 2);
  }
  assert_int_equal(atomic_load_explicit(&counted, memory_order_relaxed), 12);
  port->ops->end_run(port);
  port->ops->destroy(port);
}

static void test_every_core_takes_all_its_slots_before_the_first_poll(void **state) {
  struct pto_port *port = script_engine(4, 5);
  uint64_t sums[12] = {0};
  union script_body bodies[12];
  struct pto_completion done[256];
  uint32_t total = 12 * port->slots_per_core, received = 0;
  assert_true(port->slots_per_core >= 2);
  for (uint32_t c = 0; c < 12; c++) script_fill(&bodies[c], &sums[c], 0, 0);
  for (uint32_t round = 0; round < 50; round++) { /* several times round each ring */
    script_begin(port);
    for (uint32_t i = 0; i < total; i++) {
      struct pto_message message = {.payload = &bodies[i % 12].payload,
                                    .run = add_kernel,
                                    .block_index = 1,
                                    .core = (uint16_t)(i % 12),
                                    .tensor_count = 1};
      port->ops->dispatch(port, &message, 0, NULL);
    }
    for (received = 0; received < total;) {
      uint32_t got = port->ops->poll(port, done, 256);
      received += got;
      if (got == 0) port->ops->wait(port);
    }
    port->ops->end_run(port);
  }
  for (uint32_t c = 0; c < 12; c++) assert_int_equal(sums[c], 50 * port->slots_per_core);
  port->ops->destroy(port);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_message_completes_once_and_in_its_cores_order_on_one_worker),
      cmocka_unit_test(test_every_message_completes_once_and_in_its_cores_order_on_two_workers),
      cmocka_unit_test(test_every_message_completes_once_and_in_its_cores_order_on_three_workers),
      cmocka_unit_test(test_every_message_completes_once_and_in_its_cores_order_on_five_workers),
      cmocka_unit_test(test_72_cores_share_two_workers),
      cmocka_unit_test(test_each_of_12_cores_can_have_a_worker),
      cmocka_unit_test(test_failing_kernels_complete_with_their_status),
      cmocka_unit_test(test_an_engine_runs_many_runs_as_it_ran_the_first),
      cmocka_unit_test(test_an_engine_that_never_ran_is_destroyed),
      cmocka_unit_test(test_two_engines_side_by_side_do_not_touch_each_other),
      cmocka_unit_test(test_the_two_vector_cores_of_tiny_live_on_two_workers),
      cmocka_unit_test(test_every_worker_gets_its_share_of_each_kind),
      cmocka_unit_test(test_no_more_workers_than_cores_are_made),
      cmocka_unit_test(test_a_kernel_runs_on_the_thread_of_its_core),
      cmocka_unit_test(test_a_kernel_sees_its_core_its_block_and_its_parameters),
      cmocka_unit_test(test_a_failed_kernels_sentence_reaches_the_control_thread),
      cmocka_unit_test(test_a_sentence_of_a_kernel_that_succeeded_is_of_no_other),
      cmocka_unit_test(test_a_status_that_does_not_fit_is_clamped_and_never_becomes_success),
      cmocka_unit_test(test_the_control_thread_sleeps_while_a_kernel_takes_long),
      cmocka_unit_test(test_idle_workers_sleep_and_wake_for_the_next_message),
      cmocka_unit_test(test_a_poll_runs_one_kernel_of_the_control_threads_own_cores),
      cmocka_unit_test(test_a_call_from_another_thread_ends_the_wait_that_goes_on_or_the_next_one),
      cmocka_unit_test(test_polls_that_run_out_of_room_take_turns_among_the_workers),
      cmocka_unit_test(test_every_core_takes_all_its_slots_before_the_first_poll),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
