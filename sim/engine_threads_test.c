/* SPDX-License-Identifier: MIT */
/* A scripted runtime on the port: it obeys the contract of port.h and checks the engine's half of it. */
#include <sim/engine_threads.h>

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/base/reserve.h>
#include <runtime/base/thread.h>
#include <runtime/trace/trace.h>
#include <sim/chip.h>
#include <sim/engine.h>
#include <sim/engine_current.h>

/* The trace module has it too; this one serves where that is not built, and ticks deterministically. */
static _Atomic uint64_t ticks;
__attribute__((weak)) uint64_t pto_trace_now_ns(const struct pto_trace *trace) {
  return atomic_fetch_add_explicit(&ticks, 1, memory_order_relaxed) + 1;
}

#define MAX_CORES 108u
#define MAX_MESSAGES 6000u

struct script; /* below */
typedef int (*kernel_run)(const struct pto_kernel_args *);

static struct pto_chip make_chip(uint32_t clusters) {
  return (struct pto_chip){.name = "test",
                           .cluster_count = clusters,
                           .slots_per_core = 2,
                           .ub_bytes = 8192,
                           .l1_bytes = 16384,
                           .l0a_bytes = 1024,
                           .l0b_bytes = 2048,
                           .l0c_bytes = 4096};
}

static struct pto_port *make_engine(uint32_t clusters, uint32_t workers) {
  struct pto_chip chip = make_chip(clusters);
  struct pto_engine_config config = {.chip = &chip, .workers = workers};
  struct pto_port *port = NULL;
  struct pto_error error = {0};
  assert_int_equal(pto_engine_threads_create(&config, &port, &error), PTO_OK);
  return port;
}

static void begin(struct pto_port *port) {
  char sentence[128];
  assert_int_equal(port->ops->begin_run(port, sentence, sizeof sentence), PTO_OK);
}

/* ---- the scripted runtime ---- */

struct script {
  uint64_t seed;
  uint32_t message_count;
  uint32_t fail_every; /* 0: no kernel fails */
  /* Filled by kernels, each core its own row; read after the completions. */
  uint32_t order[MAX_CORES][MAX_MESSAGES];
  uint32_t ran[MAX_CORES];
  pthread_t thread[MAX_CORES];
};

static int script_kernel(const struct pto_kernel_args *args) {
  struct script *script = args->tensors[0].addr;
  uint32_t core = args->core->index, number = args->core->block_index;
  script->order[core][script->ran[core]++] = number;
  script->thread[core] = pthread_self();
  return script->fail_every && number % script->fail_every == 0 ? -(int)(number % 100) - 1 : 0;
}

/* A payload with room for one tensor and two scalars. */
union body {
  struct pto_payload payload;
  uint64_t words[16];
};

static void fill_body(union body *body, void *addr, uint64_t scalar_0, uint64_t scalar_1) {
  memset(body, 0, sizeof *body);
  body->payload.block_count = 1;
  body->payload.scalar_count = 2;
  if (addr) {
    body->payload.tensor_count = 1;
    body->payload.tensors[0] = (struct pto_kernel_tensor){.addr = addr};
  }
  pto_payload_scalars(&body->payload)[0].u64 = scalar_0;
  pto_payload_scalars(&body->payload)[1].u64 = scalar_1;
}

/* Dispatches to random cores with room, now and then flushes, polls a random number, or waits; checks everything. */
static void play(struct pto_port *port, struct script *script) {
  static uint32_t expected[MAX_CORES][MAX_MESSAGES];
  static uint8_t seen[MAX_MESSAGES];
  uint32_t core_count = 3 * port->cluster_count, held[MAX_CORES] = {0}, sent_to[MAX_CORES] = {0};
  uint32_t sent = 0, received = 0;
  struct pto_rng rng = {script->seed};
  union body body;
  struct pto_completion done[40];
  fill_body(&body, script, 0, 0);
  memset(seen, 0, sizeof seen);
  memset(script->ran, 0, sizeof script->ran);
  begin(port);
  while (received < script->message_count) {
    uint64_t what = pto_rng_below(&rng, 100);
    uint32_t core = (uint32_t)pto_rng_below(&rng, core_count);
    if (what < 70 && sent < script->message_count && held[core] < port->slots_per_core) {
      struct pto_message message = {.payload = &body.payload,
                                    .run = script_kernel,
                                    .ticket = sent * 7 + 3,
                                    .block_index = sent,
                                    .core = (uint16_t)core,
                                    .tensor_count = 1};
      port->ops->dispatch(port, &message, 0);
      held[core]++;
      expected[core][sent_to[core]++] = sent++;
    } else if (what < 75) {
      port->ops->flush(port);
    } else if (what < 80 && sent > received) {
      port->ops->wait(port);
    } else {
      uint32_t max = 1 + (uint32_t)pto_rng_below(&rng, PTO_ARRAY_LENGTH(done));
      uint32_t got = port->ops->poll(port, done, max);
      assert_true(got <= max);
      for (uint32_t i = 0; i < got; i++) {
        uint32_t number = (done[i].ticket - 3) / 7;
        assert_true(number < sent && !seen[number]);
        seen[number] = 1;
        held[done[i].core]--;
        int status = script->fail_every && number % script->fail_every == 0 ? -(int)(number % 100) - 1 : 0;
        assert_int_equal(done[i].status, status);
      }
      received += got;
    }
  }
  assert_int_equal(port->ops->poll(port, done, PTO_ARRAY_LENGTH(done)), 0);
  assert_true(pto_engine_threads_is_valid(port));
  port->ops->end_run(port);
  for (uint32_t c = 0; c < core_count; c++) {
    assert_int_equal(script->ran[c], sent_to[c]);
    assert_memory_equal(script->order[c], expected[c], sent_to[c] * sizeof(uint32_t));
  }
}

static struct script script;

static void play_on(uint32_t clusters, uint32_t workers, uint32_t messages, uint32_t fail_every) {
  struct pto_port *port = make_engine(clusters, workers);
  script.seed = 20 * clusters + workers;
  script.message_count = messages;
  script.fail_every = fail_every;
  print_message("seed %llu\n", (unsigned long long)script.seed);
  play(port, &script);
  port->ops->destroy(port);
}

static void test_every_message_completes_once_and_in_its_cores_order_on_one_worker(void **state) {
  play_on(1, 1, MAX_MESSAGES, 0);
}
static void test_every_message_completes_once_and_in_its_cores_order_on_two_workers(void **state) {
  play_on(1, 2, MAX_MESSAGES, 0);
}
static void test_every_message_completes_once_and_in_its_cores_order_on_three_workers(void **state) {
  play_on(4, 3, MAX_MESSAGES, 0);
}
static void test_every_message_completes_once_and_in_its_cores_order_on_five_workers(void **state) {
  play_on(4, 5, MAX_MESSAGES / 2, 0);
}
static void test_72_cores_share_two_workers(void **state) { play_on(24, 2, MAX_MESSAGES, 0); }
static void test_each_of_12_cores_can_have_a_worker(void **state) { play_on(4, 12, MAX_MESSAGES / 4, 0); }
static void test_failing_kernels_complete_with_their_status(void **state) { play_on(4, 2, MAX_MESSAGES, 3); }

static void test_an_engine_runs_many_runs_as_it_ran_the_first(void **state) {
  struct pto_port *port = make_engine(1, 2);
  script.seed = 5;
  script.message_count = 40;
  script.fail_every = 7;
  for (uint32_t run = 0; run < 100; run++) play(port, &script);
  port->ops->destroy(port);
}

static void test_an_engine_that_never_ran_is_destroyed(void **state) {
  for (uint32_t i = 0; i < 20; i++) {
    struct pto_port *port = make_engine(1, 3);
    port->ops->destroy(port);
  }
}

static void *play_beside(void *argument) {
  struct pto_port *port = make_engine(2, 2);
  play(port, argument);
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
  struct pto_port *port = make_engine(1, 2);
  uint64_t sums[3] = {0};
  union body bodies[3];
  struct pto_completion done[8];
  int error;
  script.seed = 11;
  script.message_count = 3000;
  script.fail_every = 0;
  assert_true(pto_thread_start(&other, play_beside, &script, &error));
  begin(port);
  for (uint32_t c = 0; c < 3; c++) fill_body(&bodies[c], &sums[c], 0, 0);
  for (uint32_t i = 0; i < 3000; i++) {
    struct pto_message message = {.payload = &bodies[i % 3].payload,
                                  .run = add_kernel,
                                  .block_index = i,
                                  .core = (uint16_t)(i % 3),
                                  .tensor_count = 1};
    port->ops->dispatch(port, &message, 0);
    while (port->ops->poll(port, done, PTO_ARRAY_LENGTH(done)) == 0) port->ops->wait(port);
  }
  port->ops->end_run(port);
  pthread_join(other, NULL);
  for (uint32_t c = 0; c < 3; c++) assert_int_equal(sums[c], 1000 * c + 3 * (999 * 1000 / 2));
  port->ops->destroy(port);
}

/* ---- where cores live ---- */

static void test_the_two_vector_cores_of_tiny_live_on_two_workers(void **state) {
  struct pto_port *port = make_engine(1, 2);
  assert_int_equal(port->worker_count, 2);
  assert_int_not_equal(port->core_worker[1], port->core_worker[2]);
  port->ops->destroy(port);
}

static void test_every_worker_gets_its_share_of_each_kind(void **state) {
  for (uint32_t clusters = 1; clusters <= 24; clusters += 7)
    for (uint32_t workers = 1; workers <= 9; workers++) {
      struct pto_port *port = make_engine(clusters, workers);
      uint32_t count[2][MAX_CORES] = {{0}};
      for (uint32_t c = 0; c < 3 * clusters; c++) {
        assert_true(port->core_worker[c] < port->worker_count);
        count[c % 3 == 0][port->core_worker[c]]++;
      }
      for (uint32_t kind = 0; kind < 2; kind++)
        for (uint32_t w = 1; w < port->worker_count; w++)
          assert_true(count[kind][w] + 1 >= count[kind][0] && count[kind][w] <= count[kind][0] + 1);
      for (uint32_t w = 0; w < port->worker_count; w++) assert_true(count[0][w] + count[1][w] > 0);
      port->ops->destroy(port);
    }
}

static void test_no_more_workers_than_cores_are_made(void **state) {
  struct pto_port *port = make_engine(1, 50);
  assert_int_equal(port->worker_count, 3);
  port->ops->destroy(port);
  port = make_engine(108 / 3, 1000);
  assert_int_equal(port->worker_count, 108);
  port->ops->destroy(port);
}

static void test_a_kernel_runs_on_the_thread_of_its_core(void **state) {
  struct pto_port *port = make_engine(4, 3);
  script.seed = 3;
  script.message_count = 600;
  script.fail_every = 0;
  play(port, &script);
  for (uint32_t a = 0; a < 12; a++) {
    assert_int_equal(pthread_equal(script.thread[a], pthread_self()) != 0, port->core_worker[a] == 0);
    for (uint32_t b = 0; b < a; b++)
      assert_int_equal(pthread_equal(script.thread[a], script.thread[b]) != 0,
                       port->core_worker[a] == port->core_worker[b]);
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

/* Runs one message to its completion. */
static struct pto_completion run_one(struct pto_port *port, const struct pto_message *message) {
  struct pto_completion done;
  port->ops->dispatch(port, message, 0);
  while (port->ops->poll(port, &done, 1) == 0) port->ops->wait(port);
  return done;
}

static void test_a_kernel_sees_its_core_its_block_and_its_parameters(void **state) {
  struct pto_port *port = make_engine(2, 2);
  static const struct pto_kernel kernel = {.name = "look", .run = look_kernel};
  struct sight sights[6];
  memset(sights, 0, sizeof sights);
  begin(port);
  for (uint16_t c = 0; c < 6; c++) {
    union body body;
    fill_body(&body, &sights[c], 5 + c, UINT64_C(0x3f000000));
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
    assert_int_equal(run_one(port, &message).status, 0);
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
    assert_int_equal(run_one(port, &message).status, 0);
    assert_int_equal(sight->core.block_count, 1);
  }
  for (uint32_t a = 0; a < 6; a++) { /* nobody wrote into a neighbour's memory */
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
  union body body;
  fill_body(&body, NULL, (uint64_t)(int64_t)status, digit);
  struct pto_message message = {.payload = &body.payload, .run = fail_kernel, .core = core, .scalar_count = 2};
  return run_one(port, &message).status;
}

static void test_a_failed_kernels_sentence_reaches_the_control_thread(void **state) {
  struct pto_port *port = make_engine(1, 2);
  begin(port);
  for (uint16_t c = 0; c < 3; c++) {
    assert_string_equal(port->ops->kernel_message(port, c), "");
    assert_int_equal(fail_on(port, c, PTO_EKERNEL, 10 + c), PTO_EKERNEL);
  }
  assert_string_equal(port->ops->kernel_message(port, 0), "sentence 10");
  assert_string_equal(port->ops->kernel_message(port, 1), "sentence 11");
  assert_string_equal(port->ops->kernel_message(port, 2), "sentence 12");
  assert_int_equal(fail_on(port, 1, -3, 99), -3);
  assert_string_equal(port->ops->kernel_message(port, 1), "sentence 11");
  port->ops->end_run(port);
  begin(port);
  assert_string_equal(port->ops->kernel_message(port, 1), "");
  assert_int_equal(fail_on(port, 1, 5, 7), 5);
  assert_string_equal(port->ops->kernel_message(port, 1), "sentence 7");
  port->ops->end_run(port);
  port->ops->destroy(port);
}

static void test_a_sentence_of_a_kernel_that_succeeded_is_nobody_elses(void **state) {
  struct pto_port *port = make_engine(1, 2);
  begin(port);
  for (uint16_t c = 0; c < 3; c++) {
    assert_int_equal(fail_on(port, c, 0, 4), 0);
    assert_int_equal(fail_on(port, c, -1, 0), -1);
    assert_string_equal(port->ops->kernel_message(port, c), "");
  }
  port->ops->end_run(port);
  port->ops->destroy(port);
}

static void test_a_status_that_does_not_fit_is_clamped_and_never_becomes_success(void **state) {
  struct pto_port *port = make_engine(1, 2);
  begin(port);
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
  struct pto_port *port = make_engine(1, 2);
  union body body;
  fill_body(&body, port, 0, 0);
  struct pto_message message = {.payload = &body.payload, .run = until_control_sleeps, .core = 1, .tensor_count = 1};
  assert_int_equal(port->core_worker[1], 1);
  begin(port);
  assert_int_equal(run_one(port, &message).status, 0);
  assert_true(pto_engine_threads_sleeps(port, 0) >= 1);
  port->ops->end_run(port);
  port->ops->destroy(port);
}

static void test_idle_workers_sleep_and_wake_for_the_next_message(void **state) {
  struct pto_port *port = make_engine(1, 3);
  uint64_t sums[3] = {0};
  for (uint32_t round = 1; round <= 5; round++) {
    for (uint32_t w = 1; w < 3; w++)
      while (pto_engine_threads_sleeps(port, w) < round) sched_yield();
    begin(port);
    for (uint16_t c = 0; c < 3; c++) {
      union body body;
      fill_body(&body, &sums[c], 0, 0);
      struct pto_message message = {
          .payload = &body.payload, .run = add_kernel, .block_index = c + 1, .core = c, .tensor_count = 1};
      run_one(port, &message);
    }
    port->ops->end_run(port);
  }
  for (uint32_t c = 0; c < 3; c++) assert_int_equal(sums[c], 5 * (c + 1));
  port->ops->destroy(port);
}

static void test_a_wait_runs_one_kernel_of_the_control_threads_own_cores(void **state) {
  struct pto_port *port = make_engine(1, 1);
  uint64_t sum = 0;
  union body body;
  fill_body(&body, &sum, 0, 0);
  struct pto_message message = {.payload = &body.payload, .run = add_kernel, .block_index = 1, .tensor_count = 1};
  struct pto_completion done[8];
  begin(port);
  for (uint32_t i = 0; i < 5; i++) port->ops->dispatch(port, &message, 0);
  port->ops->flush(port);
  assert_int_equal(port->ops->poll(port, done, 8), 0);
  assert_int_equal(sum, 0); /* neither dispatch, flush nor poll runs a kernel */
  for (uint32_t i = 1; i <= 5; i++) {
    port->ops->wait(port);
    assert_int_equal(sum, i);
    port->ops->wait(port); /* a completion is there: nothing runs */
    assert_int_equal(sum, i);
    assert_int_equal(port->ops->poll(port, done, 8), 1);
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
  struct pto_port *port = make_engine(1, 3);
  union body body;
  struct pto_completion done[2];
  uint32_t counts[3] = {0};
  fill_body(&body, NULL, 0, 0);
  atomic_store_explicit(&counted, 0, memory_order_relaxed);
  begin(port);
  for (uint16_t c = 0; c < 3; c++) {
    for (uint32_t i = 0; i < 4; i++) {
      struct pto_message message = {.payload = &body.payload, .run = count_kernel, .core = c};
      port->ops->dispatch(port, &message, 0);
    }
  }
  port->ops->flush(port);
  /* A worker that sleeps after its last kernel has published all its completions. */
  while (atomic_load_explicit(&counted, memory_order_acquire) < 8) sched_yield();
  for (uint32_t w = 1; w < 3; w++)
    while (!pto_engine_threads_is_asleep(port, w)) sched_yield();
  for (uint32_t i = 1; i <= 8; i++) {
    assert_int_equal(port->ops->poll(port, done, 1), 1);
    counts[port->core_worker[done[0].core]]++;
    assert_true(counts[1] <= counts[2] + 1 && counts[2] <= counts[1] + 1);
  }
  assert_int_equal(counts[0], 0); /* the control thread's own kernels run in wait alone */
  for (uint32_t i = 0; i < 4;) {
    port->ops->wait(port);
    i += port->ops->poll(port, done, 2);
  }
  assert_int_equal(atomic_load_explicit(&counted, memory_order_relaxed), 12);
  port->ops->end_run(port);
  port->ops->destroy(port);
}

static void test_every_core_takes_all_its_slots_before_the_first_poll(void **state) {
  struct pto_port *port = make_engine(4, 5);
  uint64_t sums[12] = {0};
  union body bodies[12];
  struct pto_completion done[256];
  uint32_t total = 12 * port->slots_per_core, received = 0;
  assert_true(port->slots_per_core >= 2);
  for (uint32_t c = 0; c < 12; c++) fill_body(&bodies[c], &sums[c], 0, 0);
  for (uint32_t round = 0; round < 50; round++) { /* several times round each ring */
    begin(port);
    for (uint32_t i = 0; i < total; i++) {
      struct pto_message message = {.payload = &bodies[i % 12].payload,
                                    .run = add_kernel,
                                    .block_index = 1,
                                    .core = (uint16_t)(i % 12),
                                    .tensor_count = 1};
      port->ops->dispatch(port, &message, 0);
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

/* ---- trace, time-out, creation ---- */

static void test_each_kernel_leaves_a_span_with_its_worker(void **state) {
  struct pto_port *port = make_engine(2, 2);
  struct pto_trace_log spans[2] = {{.record_bytes = sizeof(struct pto_trace_span), .capacity = 400},
                                   {.record_bytes = sizeof(struct pto_trace_span), .capacity = 400}};
  struct pto_trace trace = {.record = PTO_RECORD_TIMELINE, .spans = spans, .span_log_count = 2};
  for (uint32_t w = 0; w < 2; w++) assert_true(pto_reserve_init(&spans[w].memory, 400 * spans[w].record_bytes));
  port->trace = &trace;
  script.seed = 8;
  script.message_count = 300;
  script.fail_every = 0;
  play(port, &script);
  uint32_t per_core[6] = {0};
  for (uint32_t w = 0; w < 2; w++) {
    uint64_t end = 0;
    for (uint64_t i = 0; i < spans[w].count; i++) {
      const struct pto_trace_span *span = pto_trace_log_at(&spans[w], i);
      assert_int_equal(span->worker, w);
      assert_int_equal(port->core_worker[span->core], w);
      assert_int_equal(span->block_index, script.order[span->core][per_core[span->core]++]);
      assert_true(end <= span->begin && span->begin <= span->end);
      end = span->end;
    }
  }
  assert_int_equal(spans[0].count + spans[1].count, 300);
  trace.span_log_count = 1;
  char sentence[128];
  assert_int_equal(port->ops->begin_run(port, sentence, sizeof sentence), PTO_EINVAL);
  assert_string_equal(sentence, "the trace has 1 span logs for 2 workers");
  port->ops->destroy(port);
  for (uint32_t w = 0; w < 2; w++) pto_reserve_fini(&spans[w].memory);
}

static struct {
  _Atomic uint32_t count;
  char sentence[1024];
} timeout;

static void on_timeout(void *context, const char *sentence) {
  snprintf(timeout.sentence, sizeof timeout.sentence, "%s", sentence);
  atomic_fetch_add_explicit(&timeout.count, 1, memory_order_release);
}
static int until_timeout(const struct pto_kernel_args *args) {
  while (atomic_load_explicit(&timeout.count, memory_order_acquire) == 0) sched_yield();
  return 0;
}

static void check_timeout_on_core(uint16_t core) {
  struct pto_chip chip = make_chip(1);
  struct pto_engine_config config = {.chip = &chip, .workers = 2, .timeout_ms = 5, .on_timeout = on_timeout};
  static const struct pto_kernel kernel = {.name = "endless", .run = until_timeout};
  struct pto_payload payload = {.task_number = 17, .block_count = 1, .kernels = {&kernel}};
  struct pto_message message = {.payload = &payload, .run = until_timeout, .core = core};
  struct pto_port *port;
  struct pto_error error;
  char expected[64];
  atomic_store_explicit(&timeout.count, 0, memory_order_relaxed);
  assert_int_equal(pto_engine_threads_create(&config, &port, &error), PTO_OK);
  begin(port);
  run_one(port, &message);
  port->ops->end_run(port);
  port->ops->destroy(port);
  assert_int_equal(atomic_load_explicit(&timeout.count, memory_order_relaxed), 1);
  snprintf(expected, sizeof expected, "time-out of 5 ms: task 17 (endless) block 0 on core %u ", core);
  assert_non_null(strstr(timeout.sentence, expected));
}
static void test_the_watchdog_reports_an_endless_kernel_on_a_worker(void **state) { check_timeout_on_core(1); }
static void test_the_watchdog_reports_an_endless_kernel_on_the_control_thread(void **state) {
  check_timeout_on_core(2);
}

static void test_creation_survives_the_failure_of_each_reserve(void **state) {
  struct pto_chip chip = make_chip(2);
  struct pto_engine_config config = {.chip = &chip, .workers = 3};
  uint32_t n = 0;
  int status;
  do {
    struct pto_port *port = NULL;
    struct pto_error error = {0};
    pto_reserve_fail_countdown = ++n;
    status = pto_engine_threads_create(&config, &port, &error);
    pto_reserve_fail_countdown = 0;
    if (status == PTO_OK) {
      port->ops->destroy(port);
    } else {
      assert_int_equal(status, PTO_ENOMEM);
      assert_int_equal(error.status, PTO_ENOMEM);
      assert_null(port);
      assert_non_null(strstr(error.sentence, "no memory for"));
    }
  } while (status != PTO_OK);
  assert_int_equal(n, 3);
}

static void test_creation_survives_the_failure_of_each_thread(void **state) {
  struct pto_chip chip = make_chip(2);
  struct pto_engine_config config = {.chip = &chip, .workers = 4, .timeout_ms = 60000, .on_timeout = on_timeout};
  uint32_t n = 0;
  int status;
  do {
    struct pto_port *port = NULL;
    struct pto_error error = {0};
    pto_thread_fail_countdown = ++n;
    status = pto_engine_threads_create(&config, &port, &error);
    pto_thread_fail_countdown = 0;
    if (status == PTO_OK) {
      port->ops->destroy(port);
    } else {
      assert_int_equal(status, PTO_ESYSTEM);
      assert_null(port);
      assert_non_null(strstr(error.sentence, "cannot start"));
    }
  } while (status != PTO_OK);
  assert_int_equal(n, 5); /* the watchdog and three workers */
}

static void test_a_chip_without_clusters_is_refused(void **state) {
  struct pto_chip chip = make_chip(0);
  struct pto_engine_config config = {.chip = &chip};
  struct pto_port *port = NULL;
  struct pto_error error = {0};
  assert_int_equal(pto_engine_threads_create(&config, &port, &error), PTO_EINVAL);
  assert_string_equal(error.sentence, "threads: a chip of 0 clusters; 1 to 1024 are possible");
}

/* One CPU for three threads: nobody is pinned, nobody spins, and the work gets done. */
static void test_more_workers_than_cpus_are_not_pinned_and_work_all_the_same(void **state) {
  cpu_set_t before, one;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++)
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  struct pto_port *port = make_engine(4, 3);
  assert_non_null(strstr(pto_engine_threads_report(port), "1 CPU on"));
  assert_non_null(strstr(pto_engine_threads_report(port), "3 workers not pinned"));
  script.seed = 13;
  script.message_count = 1000;
  script.fail_every = 0;
  play(port, &script);
  port->ops->destroy(port);
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

/* What the process may use, before any engine was made. */
static cpu_set_t at_start;

static void check_affinity(const cpu_set_t *expected) {
  cpu_set_t now;
  assert_int_equal(sched_getaffinity(0, sizeof now, &now), 0);
  assert_true(CPU_EQUAL(expected, &now));
}

static void test_the_control_thread_gets_its_affinity_back(void **state) {
  struct pto_port *port = make_engine(1, 2);
  bool is_pinned = strstr(pto_engine_threads_report(port), "2 workers pinned") != NULL;
  cpu_set_t inside;
  check_affinity(&at_start);
  for (uint32_t run = 0; run < 3; run++) {
    begin(port);
    assert_int_equal(sched_getaffinity(0, sizeof inside, &inside), 0);
    if (is_pinned) assert_int_equal(CPU_COUNT(&inside), 1);
    port->ops->end_run(port);
    check_affinity(&at_start);
  }
  begin(port);
  port->ops->destroy(port); /* in the middle of a run */
  check_affinity(&at_start);
}

static void test_the_control_thread_of_too_many_workers_stays_free(void **state) {
  struct pto_port *port = make_engine(24, (uint32_t)CPU_COUNT(&at_start) + 1);
  begin(port);
  if (CPU_COUNT(&at_start) < 72) check_affinity(&at_start);
  port->ops->end_run(port);
  port->ops->destroy(port);
}

int main(void) {
  sched_getaffinity(0, sizeof at_start, &at_start);
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
      cmocka_unit_test(test_a_sentence_of_a_kernel_that_succeeded_is_nobody_elses),
      cmocka_unit_test(test_a_status_that_does_not_fit_is_clamped_and_never_becomes_success),
      cmocka_unit_test(test_the_control_thread_sleeps_while_a_kernel_takes_long),
      cmocka_unit_test(test_idle_workers_sleep_and_wake_for_the_next_message),
      cmocka_unit_test(test_a_wait_runs_one_kernel_of_the_control_threads_own_cores),
      cmocka_unit_test(test_polls_that_run_out_of_room_take_turns_among_the_workers),
      cmocka_unit_test(test_every_core_takes_all_its_slots_before_the_first_poll),
      cmocka_unit_test(test_each_kernel_leaves_a_span_with_its_worker),
      cmocka_unit_test(test_the_watchdog_reports_an_endless_kernel_on_a_worker),
      cmocka_unit_test(test_the_watchdog_reports_an_endless_kernel_on_the_control_thread),
      cmocka_unit_test(test_creation_survives_the_failure_of_each_reserve),
      cmocka_unit_test(test_creation_survives_the_failure_of_each_thread),
      cmocka_unit_test(test_a_chip_without_clusters_is_refused),
      cmocka_unit_test(test_more_workers_than_cpus_are_not_pinned_and_work_all_the_same),
      cmocka_unit_test(test_the_control_thread_gets_its_affinity_back),
      cmocka_unit_test(test_the_control_thread_of_too_many_workers_stays_free),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
