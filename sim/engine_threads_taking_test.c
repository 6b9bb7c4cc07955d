/* SPDX-License-Identifier: MIT */
/* What was sent to another thread is taken back by a control thread that has nothing to run: which messages, how many,
 * and what is told of them.  A kernel that ends when it is told to stands for a worker that is off its CPU. */
#include <sim/engine_threads_state.h>

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include <tests/support/threads_script.h>

static _Atomic uint32_t has_begun, may_end;
static int until_told(const struct pto_kernel_args *args) {
  (void)args;
  atomic_store_explicit(&has_begun, 1, memory_order_release);
  while (!atomic_load_explicit(&may_end, memory_order_acquire)) sched_yield();
  return 0;
}

static _Atomic uint32_t ran[1024]; /* by block index */
static _Atomic uint32_t ran_here;  /* on the control thread */
static pthread_t control;
static int count_kernel(const struct pto_kernel_args *args) {
  atomic_fetch_add_explicit(&ran[args->core->block_index], 1, memory_order_relaxed);
  if (pthread_equal(pthread_self(), control)) atomic_fetch_add_explicit(&ran_here, 1, memory_order_relaxed);
  return 0;
}
static int failing_kernel(const struct pto_kernel_args *args) {
  snprintf(args->core->message, args->core->message_size, "block %u does not like it", args->core->block_index);
  return -7;
}

static struct pto_port *port;
static struct pto_threads_engine *engine;
static union script_body body;

/* An engine of two threads, the second of which is in until_told on `first_core`. */
static void begin(uint32_t clusters, uint16_t first_core) {
  port = script_engine(clusters, 2);
  engine = (struct pto_threads_engine *)(void *)port;
  control = pthread_self();
  script_fill(&body, NULL, 0, 0);
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(ran); i++) atomic_store_explicit(&ran[i], 0, memory_order_relaxed);
  atomic_store_explicit(&ran_here, 0, memory_order_relaxed);
  atomic_store_explicit(&has_begun, 0, memory_order_relaxed);
  atomic_store_explicit(&may_end, 0, memory_order_relaxed);
  script_begin(port);
  assert_int_equal(port->core_worker[first_core], 1);
  const struct pto_message message = {.payload = &body.payload, .run = until_told, .ticket = 99, .core = first_core};
  port->ops->dispatch(port, &message, 0);
  port->ops->flush(port);
  while (!atomic_load_explicit(&has_begun, memory_order_acquire)) sched_yield();
}

static void send(uint32_t number, uint16_t core, uint8_t flags) {
  const struct pto_message message = {.payload = &body.payload,
                                      .run = count_kernel,
                                      .ticket = number,
                                      .block_index = number,
                                      .core = core,
                                      .flags = flags};
  port->ops->dispatch(port, &message, 0);
}

/* The worker goes on; `left` completions are still to come. */
static void end(uint32_t left) {
  struct pto_completion done[8];
  atomic_store_explicit(&may_end, 1, memory_order_release);
  while (left > 0) {
    const uint32_t count = port->ops->poll(port, done, 8);
    if (count == 0) port->ops->wait(port);
    assert_true(count <= left);
    left -= count;
  }
  port->ops->end_run(port);
  assert_true(pto_engine_threads_is_valid(port));
  port->ops->destroy(port);
}

/* Of 4 clusters worker 1 has a core of each kind at least. */
static uint16_t core_of(uint32_t worker, bool is_aic, uint32_t nth) {
  for (uint16_t c = 0; c < 3 * port->cluster_count; c++)
    if (port->core_worker[c] == worker && (c % 3 == 0) == is_aic && nth-- == 0) return c;
  fail();
  return 0;
}

static void test_what_a_thread_off_its_cpu_was_sent_is_run_by_the_control_thread(void **state) {
  (void)state;
  struct pto_completion done[8];
  begin(4, 1);
  const uint16_t cores[] = {core_of(1, false, 0), core_of(1, false, 0), core_of(1, true, 0), core_of(1, false, 1)};
  for (uint32_t i = 0; i < 4; i++) send(i, cores[i], PTO_MESSAGE_MAY_MOVE);
  for (uint32_t i = 0; i < 4; i++) { /* the oldest first, one a wait */
    port->ops->wait(port);
    assert_int_equal(port->ops->poll(port, done, 8), 1);
    assert_int_equal(done[0].ticket, i);
    assert_int_equal(done[0].core, cores[i]); /* where the runtime counts it */
    assert_int_equal(done[0].status, 0);
  }
  assert_int_equal(atomic_load_explicit(&ran_here, memory_order_relaxed), 4);
  end(1);
  for (uint32_t i = 0; i < 4; i++) assert_int_equal(atomic_load_explicit(&ran[i], memory_order_relaxed), 1);
}

static void test_only_what_may_move_is_taken_back(void **state) {
  (void)state;
  begin(4, 1);
  send(0, core_of(1, false, 0), 0);
  send(1, core_of(1, true, 0), PTO_MESSAGE_TOGETHER | PTO_MESSAGE_LAST);
  port->ops->flush(port);
  assert_false(pto_threads_take_back(engine));
  send(2, core_of(1, true, 0), PTO_MESSAGE_MAY_MOVE);
  port->ops->flush(port);
  assert_true(pto_threads_take_back(engine));
  assert_false(pto_threads_take_back(engine)); /* while its completion has not been polled */
  assert_int_equal(atomic_load_explicit(&ran[2], memory_order_relaxed), 1);
  end(4);
}

static void test_nothing_is_taken_back_without_a_core_of_its_kind_here_or_while_own_work_is_left(void **state) {
  (void)state;
  begin(4, 1);
  send(0, core_of(1, true, 0), PTO_MESSAGE_MAY_MOVE);
  send(1, core_of(0, false, 0), PTO_MESSAGE_MAY_MOVE);
  port->ops->flush(port);
  assert_false(pto_threads_take_back(engine));
  port->ops->wait(port);
  assert_int_equal(atomic_load_explicit(&ran[1], memory_order_relaxed), 1);
  struct pto_completion done;
  assert_int_equal(port->ops->poll(port, &done, 1), 1);
  engine->home_core[1] = UINT16_MAX;
  assert_false(pto_threads_take_back(engine));
  end(2);
}

/* Of one cluster worker 1 has one core, whose slots come free with each message that is taken back. */
static void test_no_more_is_taken_back_than_the_mailboxes_have_room_for(void **state) {
  (void)state;
  struct pto_completion done[8];
  port = script_engine(1, 2);
  const uint16_t core = port->core_worker[1] == 1 ? 1 : 2;
  port->ops->destroy(port);
  begin(1, core);
  const uint32_t spare = engine->workers[1].spare_count, room = port->slots_per_core - 1;
  uint32_t sent = 0, taken = 0;
  for (; sent < room; sent++) send(sent, core, PTO_MESSAGE_MAY_MOVE);
  port->ops->flush(port);
  while (pto_threads_take_back(engine)) {
    assert_int_equal(port->ops->poll(port, done, 8), 1);
    taken++;
    send(sent++, core, PTO_MESSAGE_MAY_MOVE);
    port->ops->flush(port);
  }
  assert_int_equal(taken, spare);
  assert_true(engine->workers[1].inbox.capacity >= port->slots_per_core + spare);
  end(1 + sent - taken);
  for (uint32_t i = 0; i < sent; i++) assert_int_equal(atomic_load_explicit(&ran[i], memory_order_relaxed), 1);
}

static void test_a_run_ends_after_the_worker_has_passed_over_what_was_taken_back(void **state) {
  (void)state;
  struct pto_completion done[8];
  for (int round = 0; round < 200; round++) {
    begin(4, 1);
    for (uint32_t i = 0; i < 6; i++) send(i, core_of(1, false, i % 2), PTO_MESSAGE_MAY_MOVE);
    for (uint32_t left = 6; left > 0; left -= port->ops->poll(port, done, 8)) port->ops->wait(port);
    assert_int_equal(engine->taken_total, 6);
    end(1); /* which sees to it that nothing is left behind in a mailbox */
  }
}

static void test_a_failure_of_a_kernel_that_was_taken_back_keeps_its_sentence(void **state) {
  (void)state;
  struct pto_completion done[8];
  begin(4, 1);
  const struct pto_message message = {.payload = &body.payload,
                                      .run = failing_kernel,
                                      .ticket = 3,
                                      .block_index = 5,
                                      .core = core_of(1, true, 0),
                                      .flags = PTO_MESSAGE_MAY_MOVE};
  port->ops->dispatch(port, &message, 0);
  port->ops->wait(port);
  assert_int_equal(port->ops->poll(port, done, 8), 1);
  assert_int_equal(done[0].status, -7);
  assert_int_equal(done[0].core, message.core);
  assert_string_equal(port->ops->kernel_message(port, message.core), "block 5 does not like it");
  end(1);
}

/* Both threads come to the same messages at the same time, again and again. */
static void test_of_two_threads_that_come_to_a_message_one_runs_it(void **state) {
  (void)state;
  struct pto_completion done[8];
  uint32_t held[12] = {0}, sent = 0, received = 0;
  const uint32_t count = PTO_ARRAY_LENGTH(ran);
  begin(4, 1);
  atomic_store_explicit(&may_end, 1, memory_order_release);
  held[1] = 1;
  while (received < count + 1) {
    for (uint16_t c = 0; c < 12; c++)
      for (; port->core_worker[c] == 1 && sent < count && held[c] < port->slots_per_core; held[c]++)
        send(sent++, c, PTO_MESSAGE_MAY_MOVE);
    const uint32_t polled = port->ops->poll(port, done, 8);
    for (uint32_t i = 0; i < polled; i++) held[done[i].core]--;
    received += polled;
    if (polled == 0) port->ops->wait(port);
  }
  end(0);
  for (uint32_t i = 0; i < count; i++) assert_int_equal(atomic_load_explicit(&ran[i], memory_order_relaxed), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_a_thread_off_its_cpu_was_sent_is_run_by_the_control_thread),
      cmocka_unit_test(test_only_what_may_move_is_taken_back),
      cmocka_unit_test(test_nothing_is_taken_back_without_a_core_of_its_kind_here_or_while_own_work_is_left),
      cmocka_unit_test(test_no_more_is_taken_back_than_the_mailboxes_have_room_for),
      cmocka_unit_test(test_a_run_ends_after_the_worker_has_passed_over_what_was_taken_back),
      cmocka_unit_test(test_a_failure_of_a_kernel_that_was_taken_back_keeps_its_sentence),
      cmocka_unit_test(test_of_two_threads_that_come_to_a_message_one_runs_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
