/* SPDX-License-Identifier: MIT */
/*
 * Kernels that the control thread runs itself, without a message: failures and time-outs in them, what becomes ready
 * between them and needs several cores, and whole programs on one thread and several.
 *
 * With one thread every kernel that may move is run so.  A kernel knows that it is run without a message when it is on
 * the control thread and nothing is in flight.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include <pto/core.h>
#include <runtime/control/runtime_state.h>
#include <sim/threads/engine.h>
#include <tests/support/runtime_fixture.h>

static struct fixture fixture;
static pthread_t control;
static struct pto_runtime *runtime; /* of the run that goes on, for kernels on the control thread */
static uint32_t own_runs;
static bool is_recorded; /* else what repeats its form takes the short way */

static bool is_own_run(void) {
  return pthread_equal(pthread_self(), control) && runtime->scheduler.cores.in_flight == 0;
}

static void close_threads(void) { fixture_close(&fixture); }
static void open_threads(uint32_t workers, const char *chip, const char *policy) {
  memset(&fixture, 0, sizeof fixture);
  fixture.config = (struct pto_config){
      .engine = "threads", .chip = chip, .workers = workers, .policy = policy, .window = 16384, .heap_bytes = 1 << 20};
  fixture.records_nothing = !is_recorded;
  fixture_open(&fixture);
  runtime = fixture.rt;
  control = pthread_self();
  own_runs = 0;
}

/* ---- kernels ---- */

static uint64_t *number(const struct pto_kernel_args *a, uint32_t tensor, uint32_t at) {
  return (uint64_t *)a->tensors[tensor].addr + at;
}
static uint64_t mixed(uint64_t x, uint64_t salt) { return pto_mix64(x * 3 + salt); }

/* x = mixed(x, salt); scalar 1 says how much idle work goes before. */
static int run_step(const struct pto_kernel_args *a) {
  uint64_t waste = 1;
  for (uint64_t i = 0; i < a->scalars[1].u64; i++) waste = pto_mix64(waste);
  if (pthread_equal(pthread_self(), control)) own_runs += is_own_run();
  *number(a, 0, 0) = mixed(*number(a, 0, 0), a->scalars[0].u64 + (waste == 0));
  return 0;
}
/* Each block its own number. */
static int run_block(const struct pto_kernel_args *a) {
  *number(a, 0, a->core->block_index) =
      mixed(*number(a, 0, a->core->block_index), a->scalars[0].u64 + a->core->block_index);
  return 0;
}
/* Roles 0 and 1 of a MIX task: a number each. */
static int run_first(const struct pto_kernel_args *a) {
  *number(a, 0, 0) = mixed(*number(a, 0, 0), a->scalars[0].u64);
  return 0;
}
static int run_second(const struct pto_kernel_args *a) {
  *number(a, 1, 0) = mixed(*number(a, 1, 0), a->scalars[0].u64);
  return 0;
}
/* The same, and each waits for the other. */
static int run_first_waiting(const struct pto_kernel_args *a) {
  if (pto_core_signal(a, PTO_ROLE_BIT(PTO_ROLE_AIV0), 1) || pto_core_wait(a, 2)) return 1;
  return run_first(a);
}
static int run_second_waiting(const struct pto_kernel_args *a) {
  if (pto_core_wait(a, 1) || pto_core_signal(a, PTO_ROLE_BIT(PTO_ROLE_AIC), 2)) return 1;
  return run_second(a);
}
/* Waits, and for no other core: on a stack of its own even so. */
static int run_alone_waiting(const struct pto_kernel_args *a) {
  if (pto_core_barrier(a)) return 1;
  *number(a, 0, 0) = mixed(*number(a, 0, 0), a->scalars[0].u64);
  return 0;
}
static int run_grumbling(const struct pto_kernel_args *a) {
  (void)!pto_kernel_error(a, "all is well in the end");
  return 0;
}
static int run_silent(const struct pto_kernel_args *a) { return (int)a->scalars[0].u64; }
static bool bad_was_own;
static int run_bad(const struct pto_kernel_args *a) {
  bad_was_own = is_own_run();
  return pto_kernel_error(a, "word %llu is bad", (unsigned long long)a->scalars[0].u64);
}

static const struct pto_kernel_param step_params[] = {{.mode = PTO_INOUT}, {.mode = PTO_SCALAR}, {.mode = PTO_SCALAR}};
static const struct pto_kernel_param first_params[] = {
    {.mode = PTO_INOUT}, {.mode = PTO_UNUSED}, {.mode = PTO_SCALAR}, {.mode = PTO_SCALAR}};
static const struct pto_kernel_param second_params[] = {
    {.mode = PTO_UNUSED}, {.mode = PTO_INOUT}, {.mode = PTO_SCALAR}, {.mode = PTO_SCALAR}};
#define KERNEL(name_, params_, run_, flags_)                                                                           \
  {                                                                                                                    \
    .name = name_, .cores = PTO_AIC | PTO_AIV, .params = params_, .param_count = PTO_ARRAY_LENGTH(params_),            \
    .run = run_, .flags = flags_                                                                                       \
  }
static const struct pto_kernel step = KERNEL("step", step_params, run_step, 0);
static const struct pto_kernel block = KERNEL("block", step_params, run_block, 0);
static const struct pto_kernel alone_waiting = KERNEL("alone", step_params, run_alone_waiting, PTO_KERNEL_WAITS);
static const struct pto_kernel grumbling = KERNEL("grumbling", step_params, run_grumbling, 0);
static const struct pto_kernel silent = KERNEL("silent", step_params, run_silent, 0);
static const struct pto_kernel bad = KERNEL("bad", step_params, run_bad, 0);
static const struct pto_kernel first = KERNEL("first", first_params, run_first, 0);
static const struct pto_kernel second = KERNEL("second", second_params, run_second, 0);
static const struct pto_kernel first_waiting = KERNEL("first", first_params, run_first_waiting, PTO_KERNEL_WAITS);
static const struct pto_kernel second_waiting = KERNEL("second", second_params, run_second_waiting, PTO_KERNEL_WAITS);

static struct pto_tensor numbers_at(struct fixture *f, uint32_t at, uint64_t count) {
  return pto_external_tensor(f->rt, f->memory + 8 * (uint64_t)at, PTO_UINT64, 1, &count);
}
static int submit_step(struct fixture *f, const struct pto_kernel *kernel, bool is_aic, uint32_t at, uint64_t salt,
                       uint64_t waste) {
  struct pto_tensor t = numbers_at(f, at, 1);
  struct pto_param params[] = {pto_inout(&t), pto_scalar_u64(salt), pto_scalar_u64(waste)};
  return is_aic ? pto_submit_aic(f->rt, kernel, params, 3) : pto_submit_aiv(f->rt, kernel, params, 3);
}
static int submit_pair(struct fixture *f, bool waits, uint32_t x, uint32_t y, uint64_t salt) {
  struct pto_tensor a = numbers_at(f, x, 1), b = numbers_at(f, y, 1);
  struct pto_param params[] = {pto_inout(&a), pto_inout(&b), pto_scalar_u64(salt), pto_scalar_u64(0)};
  struct pto_launch launch = {.aic = waits ? &first_waiting : &first, .aiv0 = waits ? &second_waiting : &second};
  return pto_submit(f->rt, &launch, params, 4, NULL);
}
static int submit_blocks(struct fixture *f, bool is_aic, uint32_t at, uint32_t count, bool is_sync, uint64_t salt) {
  struct pto_tensor t = numbers_at(f, at, count);
  struct pto_param params[] = {pto_inout(&t), pto_scalar_u64(salt), pto_scalar_u64(0)};
  struct pto_launch launch = {.block_count = count, .sync_start = is_sync};
  *(is_aic ? &launch.aic : &launch.aiv0) = &block;
  return pto_submit(f->rt, &launch, params, 3, NULL);
}

/* ---- failures ---- */

/* A task that needs nothing runs at its submit.  Behind one for two cores, which needs messages, all the others wait,
 * and run in a row later: with one thread, not before a thread polls or waits. */
enum { AT_ITS_SUBMIT, AT_THE_END, IN_A_POLL, IN_A_READ, IN_A_READ_OF_OTHERS, FAILURES };
static uint32_t fails_when;

static uint64_t expected_before_failure(void) {
  uint64_t x = mixed(0, 0);
  for (uint32_t i = 1; i < 5; i++) x = mixed(x, i);
  return x;
}
static int fail_in_a_row(struct pto_runtime *rt, struct fixture *f) {
  uint64_t x, at[1] = {0};
  const bool is_first = fails_when == AT_ITS_SUBMIT, is_alone = rt->port->worker_count == 1;
  fixture_expect(rt, is_first ? submit_step(f, &step, false, 0, 0, 0) : submit_pair(f, false, 0, 1, 0), PTO_OK);
  for (uint32_t i = 1; i < 5; i++) fixture_expect(rt, submit_step(f, &step, i % 2, 0, i, 0), PTO_OK);
  fixture_expect(rt, submit_step(f, &bad, false, 0, 77, 1), PTO_OK);
  const int next = submit_step(f, &bad, true, 0, 78, 1); /* never runs */
  if (is_alone) assert_int_equal(next, is_first ? PTO_EKERNEL : PTO_OK);
  if (fails_when == IN_A_POLL) {
    uint32_t i = 0;
    while (submit_step(f, &step, i % 2, 8 + i % 64, i, 0) == PTO_OK) i++;
    if (is_alone) assert_in_range(i, 1, PTO_POLL_INTERVAL);
  }
  if (fails_when == IN_A_READ || fails_when == IN_A_READ_OF_OTHERS) {
    struct pto_tensor t = numbers_at(f, fails_when == IN_A_READ ? 0 : 100, 1); /* no task touches the latter */
    fixture_expect(rt, pto_read_element(rt, &t, at, &x), PTO_EKERNEL);
  }
  if (fails_when != AT_THE_END) fixture_expect(rt, submit_step(f, &step, false, 0, 1, 0), PTO_EKERNEL);
  return 0;
}
static int fine_after_that(struct pto_runtime *rt, struct fixture *f) {
  f->memory[0] = 0;
  for (uint32_t i = 0; i < 100; i++) fixture_expect(rt, submit_step(f, &step, i % 2, 0, i, 0), PTO_OK);
  return 0;
}
static void test_a_kernel_that_fails_without_a_message_ends_the_run_with_its_sentence(void **state) {
  (void)state;
  for (uint32_t workers = 1; workers <= 3; workers++)
    for (fails_when = AT_ITS_SUBMIT; fails_when < FAILURES; fails_when++)
      for (int kind = 0; kind < 4; kind++) {
        const bool is_large = kind % 2;
        is_recorded = kind / 2;
        if (fails_when == AT_ITS_SUBMIT && workers > 1) continue; /* another thread may run it */
        /* Quick submits fill the window before another thread gets a CPU. */
        if ((fails_when == IN_A_POLL || fails_when == IN_A_READ_OF_OTHERS) && workers > 1) continue;
        open_threads(workers, is_large ? "a2a3" : "tiny", "fifo");
        for (int again = 0; again < 2; again++) {
          memset(fixture.memory, 0, sizeof fixture.memory);
          fixture_run(&fixture, fail_in_a_row, PTO_EKERNEL);
          if (workers == 1) assert_true(bad_was_own);
          fixture_expect_sentence(fixture.rt, "task 5: kernel bad failed on core ");
          fixture_expect_sentence(fixture.rt, " AIV");
          fixture_expect_sentence(fixture.rt, "): word 77 is bad, status ");
          fixture_expect_sentence(fixture.rt, "; tensor 0 u64[1], scalar 0 0x4d, scalar 1 0x1");
          assert_int_equal(fixture.rt->scheduler.cores.in_flight, 0);
          assert_true(pto_core_tracker_is_valid(&fixture.rt->scheduler.cores));
          assert_true(*(uint64_t *)(void *)fixture.memory == expected_before_failure());
          memset(fixture.memory, 0, sizeof fixture.memory);
          fixture_run(&fixture, fine_after_that, PTO_OK);
          assert_string_equal(pto_last_error(fixture.rt), "");
          uint64_t expected = 0;
          for (uint32_t i = 0; i < 100; i++) expected = mixed(expected, i);
          assert_true(*(uint64_t *)(void *)fixture.memory == expected);
        }
        if (workers == 1) assert_true(own_runs > 0);
        close_threads();
      }
}

static int fail_silently(struct pto_runtime *rt, struct fixture *f) {
  fixture_expect(rt, submit_step(f, &grumbling, false, 0, 1, 0), PTO_OK);
  return submit_step(f, &silent, false, 0, 40000, 0);
}
static void test_the_sentence_of_a_kernel_that_succeeded_is_not_that_of_the_next(void **state) {
  (void)state;
  for (uint32_t workers = 1; workers <= 2; workers++) {
    open_threads(workers, "a2a3", "fifo");
    fixture_run(&fixture, fail_silently, PTO_EKERNEL);
    fixture_expect_sentence(fixture.rt, "task 1: kernel silent failed on core ");
    fixture_expect_sentence(fixture.rt, "), status 32767; tensor 0 u64[1]");
    close_threads();
  }
}

/* ---- time-outs ---- */

static struct {
  atomic_uint count;
  char sentence[PTO_SENTENCE_SIZE];
  bool was_own;
} timeout;

static void on_timeout(void *context, const char *sentence) {
  (void)context;
  snprintf(timeout.sentence, sizeof timeout.sentence, "%s", sentence);
  atomic_fetch_add_explicit(&timeout.count, 1, memory_order_release);
}
static int run_until_timeout(const struct pto_kernel_args *a) {
  (void)a;
  timeout.was_own = is_own_run();
  while (atomic_load_explicit(&timeout.count, memory_order_acquire) == 0) sched_yield();
  return 0;
}
static int outlive(struct pto_runtime *rt, struct fixture *f) {
  static const struct pto_kernel endless = KERNEL("endless", step_params, run_until_timeout, 0);
  for (uint32_t i = 0; i < 3; i++) fixture_expect(rt, submit_step(f, &step, true, 0, i, 0), PTO_OK);
  return submit_step(f, &endless, true, 0, 1, 0);
}
static void test_the_watchdog_reports_an_endless_kernel_run_without_a_message(void **state) {
  (void)state;
  for (uint32_t workers = 1; workers <= 2; workers++) {
    memset(&fixture, 0, sizeof fixture);
    memset(&timeout, 0, sizeof timeout);
    fixture.config = (struct pto_config){
        .engine = "threads", .chip = "a2a3", .workers = workers, .timeout_ms = 5, .on_timeout = on_timeout};
    fixture_open(&fixture);
    runtime = fixture.rt;
    control = pthread_self();
    fixture_run(&fixture, outlive, PTO_OK); /* of the test's kernel: a process would have left */
    if (workers == 1) assert_true(timeout.was_own);
    assert_int_equal(atomic_load(&timeout.count), 1);
    assert_non_null(strstr(timeout.sentence, "time-out of 5 ms: task 3 (endless) block 0 on core "));
    fixture_close(&fixture);
  }
}

/* ---- what ends a row ---- */

static void expect_not_far_ahead(struct pto_runtime *rt) {
  const uint64_t unfinished = rt->task_count - rt->completed_count;
  if (unfinished > rt->port->run_ahead + 2 * PTO_POLL_INTERVAL)
    fail_msg("%llu tasks are unfinished", (unsigned long long)unfinished);
}

/* A task for two cores becomes ready between short ones, none of which waits for it. */
static int pair_between(struct pto_runtime *rt, struct fixture *f) {
  fixture_expect(rt, submit_step(f, &step, true, 0, 1, 0), PTO_OK);
  fixture_expect(rt, submit_pair(f, false, 0, 1, 2), PTO_OK);
  for (uint32_t i = 0; i < 4000; i++) {
    fixture_expect(rt, submit_step(f, &step, i % 2, 8 + i % 64, i, 0), PTO_OK);
    expect_not_far_ahead(rt);
  }
  return 0;
}
static int sync_start_between(struct pto_runtime *rt, struct fixture *f) {
  fixture_expect(rt, submit_step(f, &step, true, 0, 1, 0), PTO_OK);
  fixture_expect(rt, submit_blocks(f, false, 0, 2, true, 5), PTO_OK);
  for (uint32_t i = 0; i < 4000; i++) {
    fixture_expect(rt, submit_step(f, &step, i % 2, 8 + i % 64, i, 0), PTO_OK);
    expect_not_far_ahead(rt);
  }
  return 0;
}
static int blocks_between(struct pto_runtime *rt, struct fixture *f) {
  for (uint32_t i = 0; i < 4000; i++) {
    if (i % 100 == 50) fixture_expect(rt, submit_blocks(f, i % 200 == 50, 0, 5, false, 5), PTO_OK);
    fixture_expect(rt, submit_step(f, &step, i % 2, 8 + i % 64, i, 0), PTO_OK);
    expect_not_far_ahead(rt);
  }
  return 0;
}
static int waiting_between(struct pto_runtime *rt, struct fixture *f) {
  for (uint32_t i = 0; i < 4000; i++) {
    if (i % 100 == 50) fixture_expect(rt, submit_pair(f, true, 8 + i % 64, 1, 2), PTO_OK);
    fixture_expect(rt, submit_step(f, &step, i % 2, 8 + i % 64, i, 0), PTO_OK);
    expect_not_far_ahead(rt);
  }
  return 0;
}
static void test_what_needs_more_than_a_core_does_not_hold_up_short_kernels(void **state) {
  (void)state;
  int (*const bodies[])(struct pto_runtime *, struct fixture *) = {pair_between, sync_start_between, blocks_between,
                                                                   waiting_between};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(bodies); i++)
    for (int is_large = 0; is_large <= 1; is_large++) {
      open_threads(1, is_large ? "a2a3" : "tiny", "fifo");
      for (int again = 0; again < 2; again++) fixture_run(&fixture, bodies[i], PTO_OK);
      close_threads();
    }
}

/* ---- to and fro ---- */

#define PLACES 48u
static uint64_t expected_numbers[PLACES];
static uint64_t mixture_seed;

static int mixture(struct pto_runtime *rt, struct fixture *f) {
  struct pto_rng rng = {mixture_seed};
  const uint32_t most_blocks = rt->port->cluster_count > 1 ? 4 : 2;
  for (uint32_t i = 0; i < 1500; i++) {
    const uint32_t kind = (uint32_t)pto_rng_below(&rng, 24), at = (uint32_t)pto_rng_below(&rng, PLACES - 8);
    const uint64_t salt = pto_rng_next(&rng);
    const bool is_aic = pto_rng_below(&rng, 2);
    int status;
    if (kind == 0 || kind == 1) {
      const uint32_t other = at + 1 + (uint32_t)pto_rng_below(&rng, 7);
      status = submit_pair(f, kind, at, other, salt);
      expected_numbers[at] = mixed(expected_numbers[at], salt);
      expected_numbers[other] = mixed(expected_numbers[other], salt);
    } else if (kind == 2 || kind == 3) {
      const uint32_t count = kind == 2 ? (is_aic ? most_blocks / 2 : most_blocks) : 6;
      status = submit_blocks(f, is_aic, at, count, kind == 2, salt);
      for (uint32_t b = 0; b < count; b++) expected_numbers[at + b] = mixed(expected_numbers[at + b], salt + b);
    } else {
      status = submit_step(f, kind == 7 ? &alone_waiting : &step, is_aic, at, salt,
                           kind < 6    ? 3000
                           : kind == 6 ? 30000
                                       : 0);
      expected_numbers[at] = mixed(expected_numbers[at], salt);
    }
    fixture_expect(rt, status, PTO_OK);
    if (pto_rng_below(&rng, 100) == 0) {
      uint64_t x, zero[1] = {0};
      struct pto_tensor t = numbers_at(f, at, 1);
      fixture_expect(rt, pto_read_element(rt, &t, zero, &x), PTO_OK);
      assert_true(x == expected_numbers[at]);
    }
  }
  return 0;
}
static void
test_short_and_long_kernels_and_those_of_several_cores_in_any_order_give_what_one_after_another_gives(void **state) {
  (void)state;
  static const char *const policies[] = {"fifo", "lifo", "random:7"};
  uint64_t all_own_runs = 0;
  for (uint32_t workers = 1; workers <= 3; workers++)
    for (uint32_t p = 0; p < PTO_ARRAY_LENGTH(policies); p++)
      for (int kind = 0; kind < 4; kind++) {
        const bool is_large = kind % 2;
        is_recorded = kind / 2;
        open_threads(workers, is_large ? "a2a3" : "tiny", policies[p]);
        for (int again = 0; again < 2; again++) {
          mixture_seed++;
          memset(fixture.memory, 0, sizeof fixture.memory);
          memset(expected_numbers, 0, sizeof expected_numbers);
          fixture_run(&fixture, mixture, PTO_OK);
          if (memcmp(fixture.memory, expected_numbers, sizeof expected_numbers))
            fail_msg("seed %llu, %u workers, %s, %s: other numbers", (unsigned long long)mixture_seed, workers,
                     policies[p], is_large ? "a2a3" : "tiny");
        }
        all_own_runs += own_runs;
        close_threads();
      }
  printf("%llu seeds, %llu kernels run without a message while nothing else was in flight\n",
         (unsigned long long)mixture_seed, (unsigned long long)all_own_runs);
  assert_true(all_own_runs > 1000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_kernel_that_fails_without_a_message_ends_the_run_with_its_sentence),
      cmocka_unit_test(test_the_sentence_of_a_kernel_that_succeeded_is_not_that_of_the_next),
      cmocka_unit_test(test_the_watchdog_reports_an_endless_kernel_run_without_a_message),
      cmocka_unit_test(test_what_needs_more_than_a_core_does_not_hold_up_short_kernels),
      cmocka_unit_test(
          test_short_and_long_kernels_and_those_of_several_cores_in_any_order_give_what_one_after_another_gives),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
