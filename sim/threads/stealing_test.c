/* SPDX-License-Identifier: MIT */
/* Kernels that may move: run at once, shared, stolen; each once, on any thread. */
#include <sim/threads/stealing.h>

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include <runtime/trace/trace.h>
#include <sim/threads/state.h>
#include <tests/support/threads_script.h>

#define MESSAGES 4000u

static _Atomic uint32_t runs[MESSAGES];
static _Atomic uint32_t away_count;
static atomic_bool is_here; /* the control thread is in fail_away */
static pthread_t control;
static union script_body bodies[2];

static int note_run(const struct pto_kernel_args *args) {
  uint64_t waste = 1;
  for (uint64_t i = 0; i < args->scalars[0].u64; i++) waste = pto_mix64(waste);
  memset(args->core->local.addr, 1, 64);
  atomic_fetch_add_explicit(&runs[args->core->block_index], 1, memory_order_relaxed);
  if (!pthread_equal(pthread_self(), control)) atomic_fetch_add_explicit(&away_count, 1, memory_order_relaxed);
  return waste == 0;
}

static struct pto_port *begin(uint32_t clusters, uint32_t workers, uint64_t work) {
  struct pto_port *port = script_engine(clusters, workers);
  memset(runs, 0, sizeof runs);
  atomic_store(&away_count, 0);
  atomic_store(&is_here, false);
  control = pthread_self();
  for (uint32_t i = 0; i < 2; i++) script_fill(&bodies[i], NULL, i ? work : 0, 0);
  script_begin(port);
  return port;
}

static struct pto_message message_of(uint32_t number, uint16_t core, bool may_move, bool is_long) {
  return (struct pto_message){.payload = &bodies[is_long].payload,
                              .run = note_run,
                              .ticket = number,
                              .block_index = number,
                              .core = core,
                              .role = core % 3 != 0,
                              .scalar_count = 2,
                              .flags = may_move ? PTO_MESSAGE_MAY_MOVE : 0};
}

static void end(struct pto_port *port) {
  assert_true(pto_engine_threads_is_valid(port));
  port->ops->end_run(port);
  port->ops->destroy(port);
}

static struct pto_threads_stealing *stealing_of(struct pto_port *port) {
  return &((struct pto_threads_engine *)(void *)port)->stealing;
}
/* As if the control thread had measured it, of every kernel. */
static void know(struct pto_threads_stealing *stealing, uint32_t ticks) {
  stealing->mean_ticks = ticks;
  pto_threads_stealing_begin_run(stealing, stealing->long_ticks);
  for (uint32_t i = 0; i < PTO_THREADS_KERNELS; i++)
    pto_atomic_store(&stealing->kernel_ticks[i], ticks, memory_order_relaxed);
}

static void test_a_kernel_is_run_within_its_dispatch_where_no_other_thread_is(void **state) {
  (void)state;
  struct pto_port *port = begin(1, 1, 0);
  for (uint32_t i = 0; i < 10; i++) {
    struct pto_completion done = {0};
    const struct pto_message message = message_of(i, i % 3, true, false);
    assert_true(port->ops->dispatch(port, &message, 0, &done));
    assert_int_equal(atomic_load(&runs[i]), 1);
    assert_int_equal(done.ticket, i);
    assert_int_equal(done.core, i % 3);
    assert_int_equal(done.status, 0);
  }
  end(port);
}

static uint32_t poll_all(struct pto_port *port, uint32_t count) {
  struct pto_completion done[16];
  uint32_t received = 0;
  while (received < count) {
    const uint32_t polled = port->ops->poll(port, done, PTO_ARRAY_LENGTH(done));
    received += polled;
    if (!polled && received < count) port->ops->wait(port);
  }
  return received;
}

static void test_a_kernel_that_is_alone_stays_with_the_control_thread(void **state) {
  (void)state;
  struct pto_port *port = begin(4, 2, 0);
  struct pto_completion done;
  know(stealing_of(port), 1);
  for (uint32_t i = 0; i < 4; i++) {
    const struct pto_message message = message_of(i, 1, true, false);
    assert_false(port->ops->dispatch(port, &message, 0, &done));
    port->ops->flush(port);
    assert_int_equal(poll_all(port, 1), 1);
  }
  assert_int_equal(atomic_load(&away_count), 0);
  end(port);
}

static void test_stealing_closes_where_kernels_are_alone_again_and_again(void **state) {
  (void)state;
  struct pto_port *port = begin(4, 2, 0);
  struct pto_completion done;
  know(stealing_of(port), 1);
  uint32_t sent = 0;
  for (bool has_run = false; !has_run; sent++) {
    const struct pto_message message = message_of(sent, 1, true, false);
    has_run = port->ops->dispatch(port, &message, 0, &done);
    if (!has_run) poll_all(port, 1);
  }
  assert_in_range(sent, PTO_THREADS_BATCH, PTO_THREADS_SAMPLE - 1);
  end(port);
}

static void test_a_kernel_that_is_alone_goes_to_a_worker_where_kernels_are_long(void **state) {
  (void)state;
  struct pto_port *port = begin(4, 2, 0);
  struct pto_completion done;
  const struct pto_message message = message_of(0, 1, true, false);
  know(stealing_of(port), UINT32_MAX);
  assert_false(port->ops->dispatch(port, &message, 0, &done));
  assert_int_equal(poll_all(port, 1), 1);
  assert_int_equal(atomic_load(&away_count), 1);
  end(port);
}

static void test_the_span_of_a_kernel_on_a_worker_begins_after_it_was_sent(void **state) {
  (void)state;
  static struct pto_trace_log logs[2];
  struct pto_trace trace = {.record = PTO_RECORD_TIMELINE, .spans = logs, .span_log_count = PTO_ARRAY_LENGTH(logs)};
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(logs); i++) {
    logs[i] = (struct pto_trace_log){.record_bytes = sizeof(struct pto_trace_span), .capacity = 4};
    assert_true(pto_reserve_init(&logs[i].memory, 4 * sizeof(struct pto_trace_span)));
  }
  struct pto_port *port = begin(4, 2, 0);
  struct pto_completion done;
  const struct pto_message message = message_of(0, 1, true, false);
  port->ops->end_run(port);
  port->trace = &trace;
  script_begin(port);
  know(stealing_of(port), UINT32_MAX);
  const uint64_t sent_at = pto_trace_now(&trace);
  assert_false(port->ops->dispatch(port, &message, 0, &done));
  assert_int_equal(poll_all(port, 1), 1);
  assert_int_equal(logs[1].count, 1);
  const struct pto_trace_span *span = pto_trace_log_at(&logs[1], 0);
  assert_true(sent_at <= span->begin && span->begin <= span->end && span->end <= pto_trace_now(&trace));
  end(port);
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(logs); i++) pto_reserve_fini(&logs[i].memory);
}

static int wait_for_other(const struct pto_kernel_args *args) {
  atomic_fetch_add(&runs[args->core->block_index], 1);
  while (!atomic_load(&runs[0]) || !atomic_load(&runs[1])) sched_yield();
  return 0;
}
static void test_two_kernels_are_shared_by_two_threads(void **state) {
  (void)state;
  struct pto_port *port = begin(4, 2, 0);
  struct pto_completion done;
  for (uint32_t i = 0; i < 2; i++) {
    struct pto_message message = message_of(i, 1 + i, true, false);
    message.run = wait_for_other;
    assert_false(port->ops->dispatch(port, &message, 0, &done));
  }
  assert_int_equal(poll_all(port, 2), 2);
  end(port);
}

/* The workers are in kernels that end when this thread says so. */
static _Atomic uint32_t is_let_go;
static int wait_until_let_go(const struct pto_kernel_args *args) {
  (void)args;
  atomic_fetch_add(&away_count, 1);
  while (!atomic_load(&is_let_go)) sched_yield();
  return 0;
}
static void test_the_control_thread_runs_a_kernel_where_the_workers_have_enough(void **state) {
  (void)state;
  struct pto_port *port = begin(4, 2, 0);
  struct pto_completion done;
  uint32_t sent = 2;
  atomic_store(&is_let_go, 0);
  for (uint32_t i = 0; i < 2; i++) {
    struct pto_message message = message_of(i, 1, true, false);
    message.run = wait_until_let_go;
    assert_false(port->ops->dispatch(port, &message, 0, &done));
  }
  port->ops->flush(port);
  while (!atomic_load(&away_count)) sched_yield();
  struct pto_message message = message_of(sent, 2, true, false);
  for (; !port->ops->dispatch(port, &message, 0, &done); message = message_of(++sent, 2, true, false)) {
  }
  assert_int_equal(atomic_load(&runs[sent]), 1);
  assert_in_range(sent, 2 * PTO_THREADS_BATCH, 2 * PTO_THREADS_BATCH + 2);
  atomic_store(&is_let_go, 1);
  assert_int_equal(poll_all(port, sent), sent);
  end(port);
}

static void test_stealing_closes_where_a_kernel_takes_much_longer_on_a_worker_and_opens_again(void **state) {
  (void)state;
  struct pto_port *port = begin(4, 2, 4000);
  struct pto_threads_stealing *stealing = stealing_of(port);
  struct pto_completion done;
  bool has_closed = false;
  know(stealing, 1); /* so all are much longer */
  for (uint32_t sent = 0; !has_closed; sent %= MESSAGES) {
    uint32_t shared = 0;
    for (uint32_t i = 0; i < 8; i++, sent++) {
      const struct pto_message message = message_of(sent, 1 + (sent & 1), true, true);
      shared += !port->ops->dispatch(port, &message, 0, &done);
    }
    has_closed = !pto_atomic_load(&stealing->is_open, memory_order_relaxed);
    know(stealing, 1);
    poll_all(port, shared);
  }
  assert_true(has_closed);
  while (!pto_atomic_load(&stealing->is_open, memory_order_relaxed)) sched_yield();
  end(port);
}

/* How many of eight are shared; the worker runs those alone, as a poll helps with none. */
static uint32_t share_eight(struct pto_port *port, uint32_t *sent) {
  struct pto_completion done;
  uint32_t shared = 0;
  for (uint32_t i = 0; i < 8; i++, ++*sent) {
    const struct pto_message message = message_of(*sent, 1 + (*sent & 1), true, true);
    shared += !port->ops->dispatch(port, &message, 0, &done);
  }
  for (uint32_t received = 0; received < shared;) {
    const uint32_t count = port->ops->poll(port, &done, 1);
    received += count;
    if (!count) sched_yield();
  }
  return shared;
}

/* The mean of all kernels says nothing of the one that is shared, nor does its first run. */
static void test_a_kernel_on_a_worker_is_compared_with_the_same_one(void **state) {
  (void)state;
  struct pto_port *port = begin(4, 2, 4000);
  struct pto_threads_stealing *stealing = stealing_of(port);
  uint32_t sent = 0;
  while (sent + 8 < PTO_THREADS_SAMPLE) assert_int_equal(share_eight(port, &sent), 8);
  while (sent < 800) {
    know(stealing, UINT32_MAX);
    stealing->mean_ticks = 1;
    share_eight(port, &sent);
    assert_true(pto_atomic_load(&stealing->is_open, memory_order_relaxed));
  }
  end(port);
}

/* What the control thread runs of three messages in one wait, while the worker is in a kernel. */
static uint32_t helped_with(uint32_t kernel_ticks) {
  struct pto_port *port = begin(4, 2, 0);
  struct pto_completion done;
  struct pto_message message = message_of(0, 1, true, false);
  message.run = wait_until_let_go;
  atomic_store(&is_let_go, 0);
  know(stealing_of(port), UINT32_MAX); /* so it goes to the worker */
  assert_false(port->ops->dispatch(port, &message, 0, &done));
  port->ops->flush(port);
  while (!atomic_load(&away_count)) sched_yield();
  know(stealing_of(port), kernel_ticks);
  for (uint32_t i = 1; i < 4; i++) {
    message = message_of(i, 1, true, false);
    assert_false(port->ops->dispatch(port, &message, 0, &done));
  }
  port->ops->wait(port);
  const uint32_t helped = atomic_load(&runs[1]) + atomic_load(&runs[2]) + atomic_load(&runs[3]);
  atomic_store(&is_let_go, 1);
  assert_int_equal(poll_all(port, 4), 4);
  end(port);
  return helped;
}
static void test_long_kernels_are_taken_one_at_a_time(void **state) {
  (void)state;
  assert_int_equal(helped_with(1), 2);
  assert_int_equal(helped_with(UINT32_MAX), 1);
}

/* Random messages that move and that do not, some long, on random cores with room. */
static void play(uint32_t clusters, uint32_t workers, uint64_t seed, uint64_t work) {
  struct pto_port *port = begin(clusters, workers, work);
  struct pto_rng rng = {seed};
  uint32_t held[PTO_SCRIPT_CORES] = {0}, sent = 0, received = 0;
  struct pto_completion done[40];
  print_message("seed %llu\n", (unsigned long long)seed);
  while (received < MESSAGES) {
    const uint16_t core = (uint16_t)pto_rng_below(&rng, 3 * clusters);
    const uint64_t what = pto_rng_below(&rng, 100);
    if (what < 80 && sent < MESSAGES && held[core] < port->slots_per_core) {
      const struct pto_message message =
          message_of(sent++, core, pto_rng_below(&rng, 8) != 0, pto_rng_below(&rng, 32) == 0);
      if (port->ops->dispatch(port, &message, 0, done))
        received++;
      else
        held[core]++;
    } else if (what < 85) {
      port->ops->flush(port);
    } else {
      const uint32_t count = port->ops->poll(port, done, 1 + (uint32_t)pto_rng_below(&rng, PTO_ARRAY_LENGTH(done)));
      for (uint32_t i = 0; i < count; i++) held[done[i].core]--;
      received += count;
      if (count == 0 && sent > received) port->ops->wait(port);
    }
  }
  for (uint32_t i = 0; i < MESSAGES; i++) assert_int_equal(atomic_load(&runs[i]), 1);
  end(port);
}
static void test_each_message_is_run_once_on_any_thread(void **state) {
  (void)state;
  static const uint32_t workers[] = {1, 2, 3, 5};
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(workers); i++)
    for (uint32_t work = 0; work <= 4000; work += 2000) play(1 + i, workers[i], 7 * i + work + 1, work);
}

/* One on each thread: neither ends before the other has begun. */
static int fail_away(const struct pto_kernel_args *args) {
  if (pthread_equal(pthread_self(), control)) {
    atomic_store(&is_here, true);
    while (!atomic_load(&away_count)) sched_yield();
    return 0;
  }
  atomic_fetch_add(&away_count, 1);
  while (!atomic_load(&is_here)) sched_yield();
  snprintf(args->core->message, args->core->message_size, "far away on core %u", args->core->index);
  return -5;
}
static void test_the_sentence_of_a_stolen_kernel_reaches_the_control_thread(void **state) {
  (void)state;
  struct pto_port *port = begin(4, 2, 0);
  struct pto_completion done[4];
  uint32_t failed = 0;
  for (uint32_t i = 0; i < 2; i++) {
    struct pto_message message = message_of(i, 5, true, false);
    message.run = fail_away;
    assert_false(port->ops->dispatch(port, &message, 0, done));
  }
  for (uint32_t got = 0; got < 2;) {
    const uint32_t count = port->ops->poll(port, done, 4);
    for (uint32_t i = 0; i < count; i++)
      if (done[i].status) {
        failed++;
        assert_int_equal(done[i].status, -5);
        const uint32_t core = port->ops->failed_core(port, done[i].core);
        char sentence[64];
        snprintf(sentence, sizeof sentence, "far away on core %u", core);
        assert_string_equal(port->ops->kernel_message(port, done[i].core), sentence);
        assert_int_not_equal(core, done[i].core); /* kernels that move have the first core of their thread */
      }
    got += count;
    if (got < 2 && !count) port->ops->wait(port);
  }
  assert_int_equal(failed, 1);
  end(port);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_kernel_is_run_within_its_dispatch_where_no_other_thread_is),
      cmocka_unit_test(test_a_kernel_that_is_alone_stays_with_the_control_thread),
      cmocka_unit_test(test_stealing_closes_where_kernels_are_alone_again_and_again),
      cmocka_unit_test(test_a_kernel_that_is_alone_goes_to_a_worker_where_kernels_are_long),
      cmocka_unit_test(test_the_span_of_a_kernel_on_a_worker_begins_after_it_was_sent),
      cmocka_unit_test(test_two_kernels_are_shared_by_two_threads),
      cmocka_unit_test(test_the_control_thread_runs_a_kernel_where_the_workers_have_enough),
      cmocka_unit_test(test_stealing_closes_where_a_kernel_takes_much_longer_on_a_worker_and_opens_again),
      cmocka_unit_test(test_a_kernel_on_a_worker_is_compared_with_the_same_one),
      cmocka_unit_test(test_long_kernels_are_taken_one_at_a_time),
      cmocka_unit_test(test_each_message_is_run_once_on_any_thread),
      cmocka_unit_test(test_the_sentence_of_a_stolen_kernel_reaches_the_control_thread),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
