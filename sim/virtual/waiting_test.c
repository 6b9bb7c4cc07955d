/* SPDX-License-Identifier: MIT */
/*
 * Kernels that wait, in virtual time: each rule once, against times worked out on paper.
 *
 * The chip is that of tests/support/virtual_script.h (element and byte 1 ps; dispatch 3, start 10, end 5, poll 2) with
 * signal 4 and 2 ps for each byte at either end of a FIFO.  What a core does is a short script of steps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <tests/support/virtual_script.h>

#include <pto/core.h>
#include <runtime/base/reserve.h>
#include <runtime/trace/segment.h>
#include <runtime/trace/trace.h>

#include <stdio.h>

enum verb { END, WORK, MOVE, SIGNAL, WAIT, PUSH, POP, BARRIER, TURN, YIELD, UNTIL, FAIL };
struct step {
  enum verb verb;
  uint32_t role_or_flag;
  uint64_t amount; /* elements, bytes, a flag, a time in nanoseconds or a status */
};

#define MOST_STEPS 8
#define MOST_BLOCKS 3
static struct step scripts[MOST_BLOCKS][PTO_ROLE_COUNT][MOST_STEPS];
static uint64_t totals[MOST_BLOCKS][PTO_ROLE_COUNT]; /* elements that the cost function states */
static uint64_t total_bytes;                         /* that it states of each core */

/* Looks at the clock again and again. */
static int poll_clock(const struct pto_kernel_args *args, uint64_t until_ns) {
  uint64_t now_ns = 0;
  int status = pto_core_now(args, &now_ns);
  while (status == 0 && now_ns < until_ns) {
    status = pto_core_yield(args, false);
    if (status == 0) status = pto_core_now(args, &now_ns);
  }
  return status;
}

static int follow(const struct pto_kernel_args *args) {
  static uint8_t data[PTO_CORE_FIFO_BYTES];
  int status = 0;
  for (const struct step *step = scripts[args->core->block_index][args->core->role]; step->verb && status == 0;
       step++) {
    switch (step->verb) {
    case WORK:
      status = pto_core_work(args, &(struct pto_cost){.vector_elems = step->amount});
      break;
    case MOVE:
      status = pto_core_work(args, &(struct pto_cost){.bytes_in = step->amount});
      break;
    case SIGNAL:
      status = pto_core_signal(args, PTO_ROLE_BIT(step->role_or_flag), (uint32_t)step->amount);
      break;
    case WAIT:
      status = pto_core_wait(args, step->role_or_flag);
      break;
    case PUSH:
      status = pto_core_push(args, step->role_or_flag, data, step->amount);
      break;
    case POP:
      status = pto_core_pop(args, step->role_or_flag, data, step->amount);
      break;
    case BARRIER:
      status = pto_core_barrier(args);
      break;
    case TURN:
      status = pto_core_turn(args);
      break;
    case YIELD:
      status = pto_core_yield(args, false);
      break;
    case UNTIL:
      status = poll_clock(args, step->amount);
      break;
    case FAIL:
      status = (int)step->amount;
      snprintf(args->core->message, args->core->message_size, "fails with %d", status);
      break;
    case END:
      break;
    }
  }
  return status;
}
static struct pto_cost total_of(const struct pto_kernel_args *args) {
  return (struct pto_cost){.vector_elems = totals[args->core->block_index][args->core->role], .bytes_in = total_bytes};
}
static const struct pto_kernel_param params[] = {{.mode = PTO_INPUT}};
static const struct pto_kernel waits = {.name = "waits",
                                        .cores = PTO_AIC | PTO_AIV,
                                        .flags = PTO_KERNEL_WAITS,
                                        .params = params,
                                        .param_count = PTO_ARRAY_LENGTH(params),
                                        .run = follow,
                                        .cost = total_of};
static const struct pto_kernel turns = {
    .name = "turns", .cores = PTO_AIC | PTO_AIV, .flags = PTO_KERNEL_TURNS, .run = follow, .cost = total_of};

static struct pto_chip chip;
static struct pto_port *port;
static struct pto_trace trace;
static struct pto_trace_log spans;
static union {
  struct pto_payload payload;
  struct {
    char header[sizeof(struct pto_payload)];
    struct pto_kernel_tensor tensor;
  } with_tensor;
} sent;
static char memory[400];     /* of the tensor, where messages have one */
static uint8_t tensor_count; /* 0 or 1 */

/* `change` is to the chip; NULL: none. */
static int set_up_with(void (*change)(void), bool has_segments) {
  struct pto_error error;
  memset(scripts, 0, sizeof scripts);
  memset(totals, 0, sizeof totals);
  total_bytes = tensor_count = 0;
  chip = pto_script_chip(MOST_BLOCKS, 1);
  chip.signal_ps = 4;
  chip.fifo_bandwidth_mbps = 500000;
  if (change) change();
  const struct pto_engine_config config = {.chip = &chip};
  if (pto_engine_virtual_create(&config, &port, &error) != PTO_OK) return -1;
  spans = (struct pto_trace_log){.record_bytes = sizeof(struct pto_trace_span), .capacity = 64};
  if (!pto_reserve_init(&spans.memory, 64 * sizeof(struct pto_trace_span))) return -1;
  trace = (struct pto_trace){.record = PTO_RECORD_TIMELINE, .is_virtual = true, .spans = &spans, .span_log_count = 1};
  trace.segments = (struct pto_trace_log){.record_bytes = sizeof(struct pto_trace_segment)};
  if (has_segments) {
    trace.segments.capacity = 1024;
    if (!pto_reserve_init(&trace.segments.memory, 1024 * sizeof(struct pto_trace_segment))) return -1;
  }
  port->trace = &trace;
  return port->ops->begin_run(port, NULL, 0);
}

static int set_up(void **state) {
  (void)state;
  return set_up_with(NULL, false);
}
static void take_half(void) { strcpy(chip.half_kernel, "waits"); }
static int set_up_half(void **state) {
  (void)state;
  return set_up_with(take_half, false);
}
static void signal_at_once(void) { chip.signal_ps = 0; }
static int set_up_recorded(void **state) {
  (void)state;
  return set_up_with(signal_at_once, true);
}
static void share_anew(void) { chip.shares_anew = true; }
static int set_up_shared(void **state) {
  (void)state;
  return set_up_with(share_anew, false);
}
static void use_l2(void) {
  chip.shares_anew = true;
  chip.l2_bytes = 1000;
}
static int set_up_static_l2(void **state) {
  (void)state;
  return set_up_with(use_l2, false);
}
static void use_lru_l2(void) {
  use_l2();
  chip.has_lru_l2 = true;
}
static int set_up_lru_l2(void **state) {
  (void)state;
  return set_up_with(use_lru_l2, false);
}

static int tear_down(void **state) {
  (void)state;
  port->ops->end_run(port);
  port->ops->destroy(port);
  pto_reserve_fini(&spans.memory);
  pto_reserve_fini(&trace.segments.memory);
  return 0;
}

static void give(uint32_t block, uint32_t role, uint64_t total, const struct step *steps, uint32_t count) {
  memcpy(scripts[block][role], steps, count * sizeof *steps);
  totals[block][role] = total;
}
#define GIVE(block, role, total, ...)                                                                                  \
  give(block, role, total, (const struct step[]){__VA_ARGS__},                                                         \
       sizeof((const struct step[]){__VA_ARGS__}) / sizeof(struct step))

/* Sends `blocks` blocks of a task, block b to cluster b; the n-th message arrives at 3 n and begins 10 later. */
static void send(const struct pto_kernel *aic, const struct pto_kernel *aiv0, uint32_t blocks, uint8_t flags) {
  static const uint64_t shape = sizeof memory, stride = 1;
  uint32_t left = blocks * ((aic != NULL) + (aiv0 != NULL));
  sent.payload =
      (struct pto_payload){.block_count = blocks, .tensor_count = tensor_count, .kernels = {aic, aiv0, NULL}};
  sent.with_tensor.tensor =
      (struct pto_kernel_tensor){.addr = memory, .shape = &shape, .strides = &stride, .ndims = 1, .dtype = PTO_UINT8};
  for (uint32_t block = 0; block < blocks; block++)
    for (uint32_t role = 0; role < 2; role++) {
      if (!sent.payload.kernels[role]) continue;
      left--;
      const struct pto_message message = {.payload = &sent.payload,
                                          .run = follow,
                                          .tensor_count = tensor_count,
                                          .ticket = 10 * block + role,
                                          .block_index = block,
                                          .core = (uint16_t)(3 * block + role),
                                          .role = (uint8_t)role,
                                          .flags = (uint8_t)(PTO_MESSAGE_WAITS | (blocks > 1 ? PTO_MESSAGE_BLOCKS : 0) |
                                                             flags | (flags && left == 0 ? PTO_MESSAGE_LAST : 0))};
      port->ops->dispatch(port, &message, 0, NULL);
    }
}

static void expect_completion(uint32_t ticket, int status) {
  struct pto_completion completion;
  port->ops->wait(port);
  assert_int_equal(port->ops->poll(port, &completion, 1), 1);
  assert_int_equal(completion.ticket, ticket);
  assert_int_equal(completion.status, status);
}

static void expect_span(uint32_t index, uint32_t core, uint64_t begin, uint64_t end) {
  const struct pto_trace_span *span = pto_trace_log_at(&spans, index);
  assert_int_equal(span->core, core);
  assert_int_equal(span->begin, begin);
  assert_int_equal(span->end, end);
}

static void test_an_element_takes_its_way_in_its_wait_and_its_way_out(void **state) {
  (void)state;
  /* 13 begins; 113 worked; 133 pushed; the last 30 of 130 elements until 163. */
  GIVE(0, 0, 130, {WORK, 0, 100}, {PUSH, PTO_ROLE_AIV0, 10});
  /* 16 begins, waits; 133 + 4 + 20 popped; 50 elements at the end. */
  GIVE(0, 1, 50, {POP, PTO_ROLE_AIC, 10});
  send(&waits, &waits, 1, 0);
  expect_completion(0, 0);
  expect_completion(1, 0);
  expect_span(0, 0, 13, 163);
  expect_span(1, 1, 16, 207);
}

static void test_what_it_states_while_it_runs_takes_half_too(void **state) {
  (void)state;
  GIVE(0, 0, 130, {WORK, 0, 100}, {PUSH, PTO_ROLE_AIV0, 10}); /* 13 begins; 63 worked; 83 pushed; 15 at the end */
  GIVE(0, 1, 0, {POP, PTO_ROLE_AIC, 10});
  send(&waits, &waits, 1, 0);
  expect_completion(0, 0);
  expect_completion(1, 0);
  expect_span(0, 0, 13, 98);
}

static void test_bytes_that_it_moves_while_it_runs_are_half_too(void **state) {
  (void)state;
  GIVE(0, 0, 0, {MOVE, 0, 1000}); /* 1 ps a byte */
  send(&waits, NULL, 1, 0);
  expect_completion(0, 0);
  expect_span(0, 0, 13, 513);
}

static void test_a_signal_that_is_there_costs_what_one_that_comes_costs(void **state) {
  (void)state;
  GIVE(0, 0, 0, {SIGNAL, PTO_ROLE_AIV0, 1}, {WORK, 0, 40}, {SIGNAL, PTO_ROLE_AIV0, 1});
  GIVE(0, 1, 0, {WAIT, 1, 0}, {WAIT, 1, 0}); /* from 16: 20; then 53 + 4 */
  send(&waits, &waits, 1, 0);
  expect_completion(0, 0);
  expect_completion(1, 0);
  expect_span(0, 0, 13, 53);
  expect_span(1, 1, 16, 57);
}

static void test_room_in_a_fifo_is_waited_for(void **state) {
  (void)state;
  enum { MOST = PTO_CORE_FIFO_BYTES - 8 };
  GIVE(0, 0, 0, {PUSH, PTO_ROLE_AIV0, MOST}, {PUSH, PTO_ROLE_AIV0, 8});
  GIVE(0, 1, 0, {WORK, 0, 1000000}, {POP, PTO_ROLE_AIC, MOST}, {POP, PTO_ROLE_AIC, 8});
  send(&waits, &waits, 1, 0);
  expect_completion(0, 0);
  expect_completion(1, 0);
  /* The first pop ends at 16 + 1 000 000 + 4 + 2 MOST; then the second push takes 16, its pop 4 + 16. */
  expect_span(0, 0, 13, 1000020 + 2 * MOST + 16);
  expect_span(1, 1, 16, 1000020 + 2 * MOST + 16 + 20);
}

static void test_all_go_on_from_a_barrier_when_the_last_has_come(void **state) {
  (void)state;
  for (uint32_t block = 0; block < 3; block++) GIVE(block, 1, 0, {WORK, 0, 100}, {BARRIER, 0, 0}, {WORK, 0, 1});
  scripts[1][1][0].amount = 300;
  send(NULL, &waits, 3, PTO_MESSAGE_TOGETHER);
  /* Messages arrive at 3, 6 and 9, all begin at 19; the last comes to the barrier at 319. */
  expect_completion(1, 0);
  expect_completion(11, 0);
  expect_completion(21, 0);
  for (uint32_t i = 0; i < 3; i++)
    assert_int_equal(((const struct pto_trace_span *)pto_trace_log_at(&spans, i))->end, 324);
}

static void test_turns_let_blocks_overlap_up_to_the_addition(void **state) {
  (void)state;
  for (uint32_t block = 0; block < 3; block++) GIVE(block, 1, 110, {WORK, 0, 100}, {TURN, 0, 0});
  send(NULL, &turns, 3, 0);
  expect_completion(1, 0);
  expect_completion(11, 0);
  expect_completion(21, 0);
  /* The product from 13, 16, 19; then 4 and the addition of 10 each, one after another. */
  expect_span(0, 1, 13, 127);
  expect_span(1, 4, 16, 141);
  expect_span(2, 7, 19, 155);
}

static void test_work_shares_the_memory_with_what_works_then(void **state) {
  (void)state;
  /* Two bytes a ps for the chip: three movers get two thirds of a byte a ps each.  A core that waits moves nothing. */
  for (uint32_t block = 0; block < 3; block++) GIVE(block, 1, 0, {BARRIER, 0, 0}, {MOVE, 0, 100}, {BARRIER, 0, 0});
  scripts[2][1][1].verb = WORK;
  send(NULL, &waits, 3, PTO_MESSAGE_TOGETHER);
  for (uint32_t i = 0; i < 3; i++) {
    struct pto_completion completion;
    port->ops->wait(port);
    assert_int_equal(port->ops->poll(port, &completion, 1), 1);
  }
  /* 19, barrier 23, 100 ps each as two share, barrier 127. */
  for (uint32_t i = 0; i < 3; i++)
    assert_int_equal(((const struct pto_trace_span *)pto_trace_log_at(&spans, i))->end, 127);
}

static void test_who_looks_again_after_another_core_has_failed_is_told_at_once(void **state) {
  (void)state;
  GIVE(0, 0, 0, {FAIL, 0, 7});
  GIVE(0, 1, 0, {WORK, 0, 100}, {YIELD, 0, 0});
  send(&waits, &waits, 1, 0);
  expect_completion(0, 7);
  expect_completion(1, 0);    /* what follows from that is no error of its own */
  expect_span(1, 1, 16, 116); /* it waits for nothing */
}

static void test_a_signal_that_takes_no_time_is_no_segment(void **state) {
  (void)state;
  GIVE(0, 0, 0, {WORK, 0, 100}, {SIGNAL, 1, 2});
  GIVE(0, 1, 0, {WAIT, 2, 0});
  send(&waits, &waits, 1, 0);
  expect_completion(0, 0);
  expect_completion(1, 0);
  assert_true(trace.segments.count > 0);
  for (uint64_t s = 0; s < trace.segments.count; s++)
    assert_true(((const struct pto_trace_segment *)pto_trace_log_at(&trace.segments, s))->activity !=
                PTO_ACTIVITY_signal);
}

/* The L2 moves 4 bytes a ps, the global memory 1. */
static void test_of_what_it_states_a_part_is_in_an_l2_that_has_its_tensor(void **state) {
  (void)state;
  port->ops->bind_memory(port, memory, sizeof memory);
  tensor_count = 1;
  total_bytes = 1000; /* 400 of them are the tensor's */
  GIVE(0, 1, 0, {MOVE, 0, 500});
  send(NULL, &waits, 1, 0);
  expect_completion(1, 0);
  expect_span(0, 1, 13, 713); /* twice 300 and 200 / 4 */
}

static void test_of_what_it_states_a_part_is_in_an_l2_by_use_as_at_its_begin(void **state) {
  (void)state;
  tensor_count = 1;
  total_bytes = 1000;
  GIVE(0, 1, 0, {MOVE, 0, 500});
  send(NULL, &waits, 1, 0);
  expect_completion(1, 0);
  expect_span(0, 1, 13, 563); /* 400 of 1000 are missed: twice 200 and 300 / 4 */
  send(NULL, &waits, 1, 0);
  expect_completion(1, 0);
  expect_span(1, 1, 583, 833); /* 563, 5, 2, 3 and 10; nothing is missed */
}

static void test_a_wait_for_a_time_ends_a_sixteenth_of_the_wait_late_at_most(void **state) {
  (void)state;
  GIVE(0, 1, 0, {WORK, 0, 1000000000}, {UNTIL, 0, 1001000}); /* 1 ms, then 1 us */
  send(NULL, &waits, 1, 0);
  expect_completion(1, 0);
  const struct pto_trace_span *span = pto_trace_log_at(&spans, 0);
  assert_in_range(span->end, 1001000000, 1001000000 + 1000000 / 16);
}

static void test_a_sentence_goes_with_its_call(void **state) {
  (void)state;
  GIVE(0, 1, 0, {FAIL, 0, 7});
  send(NULL, &waits, 1, 0);
  expect_completion(1, 7);
  assert_string_equal(port->ops->kernel_message(port, 1), "fails with 7");
  GIVE(0, 1, 0, {WORK, 0, 1});
  for (uint32_t i = 0; i < 2; i++) { /* the second is where the one that failed was */
    send(NULL, &waits, 1, 0);
    expect_completion(1, 0);
    assert_string_equal(port->ops->kernel_message(port, 1), "");
  }
}

/* Without an L2 cache, and with one that a call without tensors uses nothing of: all of it is of the global memory. */
static void test_bytes_that_only_the_kernel_states_are_of_the_global_memory(void **state) {
  (void)state;
  GIVE(0, 1, 0, {MOVE, 0, 100});
  send(NULL, &waits, 1, 0);
  expect_completion(1, 0);
  expect_span(0, 1, 13, 113);
}

static void test_what_comes_for_a_core_that_waits_follows_when_it_has_returned(void **state) {
  (void)state;
  GIVE(0, 0, 0, {WORK, 0, 200}, {SIGNAL, PTO_ROLE_AIV0, 0});
  GIVE(0, 1, 0, {WAIT, 0, 0});
  send(&waits, &waits, 1, 0);
  pto_script_reset();
  struct pto_message behind = pto_script_message(1, 30, 0, 0);
  behind.ticket = 77;
  port->ops->dispatch(port, &behind, 0, NULL);
  expect_completion(0, 0);
  expect_completion(1, 0);
  expect_completion(77, 0);
  expect_span(1, 1, 16, 217);
  expect_span(2, 1, 232, 262); /* 217 + 5 + 10 */
}

static void test_waiting_for_ever_is_answered_at_once_and_says_who(void **state) {
  (void)state;
  GIVE(0, 0, 0, {WAIT, 3, 0}, {SIGNAL, PTO_ROLE_AIV0, 2});
  GIVE(0, 1, 0, {WAIT, 2, 0}, {SIGNAL, PTO_ROLE_AIC, 3});
  send(&waits, &waits, 1, 0);
  expect_completion(0, PTO_EDEADLOCK);
  expect_completion(1, PTO_EDEADLOCK);
  assert_string_equal(port->ops->kernel_message(port, 0),
                      "cores wait for ever: task 0 (waits) block 0 AIC on core 0 waits for a signal at flag 3; task 0 "
                      "(waits) block 0 AIV0 on core 1 waits for a signal at flag 2");
  assert_string_equal(port->ops->kernel_message(port, 0), port->ops->kernel_message(port, 1));
  /* The engine goes on. */
  memset(scripts, 0, sizeof scripts);
  send(&waits, &waits, 1, 0);
  expect_completion(0, 0);
  expect_completion(1, 0);
}

int main(void) {
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      CASE(test_an_element_takes_its_way_in_its_wait_and_its_way_out),
      cmocka_unit_test_setup_teardown(test_what_it_states_while_it_runs_takes_half_too, set_up_half, tear_down),
      cmocka_unit_test_setup_teardown(test_bytes_that_it_moves_while_it_runs_are_half_too, set_up_half, tear_down),
      CASE(test_a_signal_that_is_there_costs_what_one_that_comes_costs),
      CASE(test_room_in_a_fifo_is_waited_for),
      CASE(test_all_go_on_from_a_barrier_when_the_last_has_come),
      CASE(test_turns_let_blocks_overlap_up_to_the_addition),
      CASE(test_work_shares_the_memory_with_what_works_then),
      CASE(test_who_looks_again_after_another_core_has_failed_is_told_at_once),
      cmocka_unit_test_setup_teardown(test_a_signal_that_takes_no_time_is_no_segment, set_up_recorded, tear_down),
      cmocka_unit_test_setup_teardown(test_bytes_that_only_the_kernel_states_are_of_the_global_memory, set_up_shared,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_bytes_that_only_the_kernel_states_are_of_the_global_memory, set_up_lru_l2,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_of_what_it_states_a_part_is_in_an_l2_that_has_its_tensor, set_up_static_l2,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_of_what_it_states_a_part_is_in_an_l2_by_use_as_at_its_begin, set_up_lru_l2,
                                      tear_down),
      CASE(test_a_wait_for_a_time_ends_a_sixteenth_of_the_wait_late_at_most),
      CASE(test_a_sentence_goes_with_its_call),
      CASE(test_what_comes_for_a_core_that_waits_follows_when_it_has_returned),
      CASE(test_waiting_for_ever_is_answered_at_once_and_says_who),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
