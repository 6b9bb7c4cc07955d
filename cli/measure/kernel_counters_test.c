/* SPDX-License-Identifier: MIT */
/*
 * Events by kernel, on runtimes of both engines, with a source of events in which each kernel counts what it was told
 * to: so what must come out is known to the digit, whatever the machine counts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <cli/measure/kernel_counters.h>
#include <pto/pto.h>
#include <runtime/base/base.h>

/* ---- the source ---- */

enum { WORK, READINGS, EVENTS };
#define READING 3 /* what a reading of READINGS adds to it */

static _Thread_local int64_t counted[EVENTS];
static _Thread_local int64_t sets_of_thread;
static atomic_int opened, closed, left, open_at_most;

static int open_planted(const char *const *names, uint32_t count, void **set_out, struct pto_error *error) {
  assert_int_equal(count, EVENTS);
  assert_string_equal(names[WORK], "work");
  if (atomic_fetch_add(&opened, 1) >= open_at_most) {
    atomic_fetch_sub(&opened, 1);
    return pto_error_set(error, PTO_EINVAL, "no more sets");
  }
  *set_out = &sets_of_thread;
  return PTO_OK;
}
static int read_planted(void *set, int64_t *values) {
  assert_ptr_equal(set, &sets_of_thread); /* a set is read by its own thread */
  values[WORK] = counted[WORK];
  values[READINGS] = counted[READINGS] += READING;
  return PTO_OK;
}
static void close_planted(void *set) {
  assert_ptr_equal(set, &sets_of_thread);
  atomic_fetch_add(&closed, 1);
}
static void leave_planted(void) { atomic_fetch_add(&left, 1); }

static const struct pto_event_source planted = {
    .open = open_planted, .read = read_planted, .close = close_planted, .leave_thread = leave_planted};
static const char *const names[] = {"work", "readings"};

/* ---- kernels ---- */

#define DEAR 1000
#define CHEAP 10
#define BEFORE_WAITING 7
#define AFTER_WAITING 5

static int run_dear(const struct pto_kernel_args *args) {
  counted[WORK] += DEAR;
  return 0;
}
static int run_cheap(const struct pto_kernel_args *args) {
  counted[WORK] += CHEAP;
  return 0;
}
/* Its partner is dear, and signals at its end: on one thread it runs while this one waits. */
static int run_waiter(const struct pto_kernel_args *args) {
  counted[WORK] += BEFORE_WAITING;
  const int status = pto_core_wait(args, 0);
  counted[WORK] += AFTER_WAITING;
  return status;
}
static int run_signaller(const struct pto_kernel_args *args) {
  counted[WORK] += DEAR;
  return pto_core_signal(args, PTO_ROLE_BIT(PTO_ROLE_AIC), 0);
}

static const struct pto_kernel dear = {.name = "dear", .cores = PTO_AIC | PTO_AIV, .run = run_dear};
static const struct pto_kernel cheap = {.name = "cheap", .cores = PTO_AIV, .run = run_cheap};
static const struct pto_kernel waiter = {
    .name = "waiter", .cores = PTO_AIC, .flags = PTO_KERNEL_WAITS, .run = run_waiter};
static const struct pto_kernel signaller = {
    .name = "signaller", .cores = PTO_AIV, .flags = PTO_KERNEL_WAITS, .run = run_signaller};

/* ---- runs ---- */

#define TASKS 300u

static struct pto_kernel_counters *counters;
static struct pto_kernel_counters_table table;

static int setup(void **state) {
  struct pto_error error;
  opened = closed = left = 0;
  open_at_most = 1000;
  return pto_kernel_counters_create(&planted, &counters, &error);
}
static int teardown(void **state) {
  pto_kernel_counters_destroy(counters);
  assert_int_equal(opened, closed);
  return 0;
}

static void expect_ok(int status, const char *sentence) {
  if (status) fail_msg("%s", sentence);
}

static void begin_counting(void) {
  struct pto_error error;
  expect_ok(pto_kernel_counters_events(counters, names, EVENTS, &error), error.sentence);
}

static void run(const struct pto_config *given, int (*orchestration)(struct pto_runtime *, void *)) {
  struct pto_config config = *given;
  struct pto_runtime *rt;
  char sentence[PTO_SENTENCE_SIZE] = "";
  config.size = sizeof config;
  config.meter = pto_kernel_counters_meter(counters);
  expect_ok(pto_runtime_create_explained(&config, &rt, sentence, sizeof sentence), sentence);
  expect_ok(pto_run(rt, orchestration, NULL), pto_last_error(rt));
  pto_kernel_counters_take(counters, &table);
  pto_runtime_destroy(rt);
}

static const struct pto_kernel_counters_row *row_of(const struct pto_kernel *kernel, enum pto_core_kind kind) {
  for (uint32_t i = 0; i < table.row_count; i++)
    if (table.rows[i].kernel == kernel && table.rows[i].kind == kind) return &table.rows[i];
  fail_msg("%s has no row", kernel->name);
  return NULL;
}

static const struct {
  const char *name;
  struct pto_config config;
  uint32_t most_threads;
} kinds[] = {{"one thread", {.workers = 1}, 1},
             {"three threads", {.workers = 3, .chip = "a2a3"}, 3},
             {"a timeline too", {.workers = 2, .record = PTO_RECORD_TIMELINE}, 2},
             {"a watchdog too", {.workers = 2, .timeout_ms = 60000}, 2},
             {"virtual time", {.engine = "virtual"}, 1},
             {"virtual time and a watchdog", {.engine = "virtual", .timeout_ms = 60000}, 1}};

/* ---- tests ---- */

/* What the orchestration counts between submits is no kernel's. */
static int submit_plain(struct pto_runtime *rt, void *context) {
  for (uint32_t i = 0; i < TASKS; i++) {
    counted[WORK] += 1000000;
    if (pto_submit_aiv(rt, &dear, NULL, 0) || pto_submit_aic(rt, &dear, NULL, 0) || pto_submit_aiv(rt, &cheap, NULL, 0))
      return 1;
  }
  return 0;
}

static void test_each_kernel_has_what_was_counted_while_it_ran_and_nothing_else(void **state) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(kinds); i++) {
    if (i > 0) setup(state);
    begin_counting();
    run(&kinds[i].config, submit_plain);
    assert_int_equal(table.row_count, 3);
    assert_int_equal(row_of(&dear, PTO_AIC)->counts[WORK], (int64_t)TASKS * DEAR);
    assert_int_equal(row_of(&dear, PTO_AIV)->counts[WORK], (int64_t)TASKS * DEAR);
    assert_int_equal(row_of(&cheap, PTO_AIV)->counts[WORK], (int64_t)TASKS * CHEAP);
    for (uint32_t r = 0; r < table.row_count; r++) {
      assert_int_equal(table.rows[r].calls, TASKS);
      assert_int_equal(table.rows[r].stretches, TASKS);
      /* one reading lies between the begin and the end of a stretch */
      assert_int_equal(table.rows[r].counts[READINGS], (int64_t)TASKS * table.reading[READINGS]);
    }
    assert_int_equal(table.reading[WORK], 0);
    assert_int_equal(table.reading[READINGS], READING);
    assert_ptr_equal(table.rows[2].kernel, &cheap); /* the one with least comes last */
    assert_in_range(table.thread_count, 1, kinds[i].most_threads);
    assert_int_equal(table.uncounted_calls, 0);
    if (i + 1 < PTO_ARRAY_LENGTH(kinds)) teardown(state);
  }
}

static int submit_waiting(struct pto_runtime *rt, void *context) {
  const struct pto_launch launch = {.aic = &waiter, .aiv0 = &signaller, .aiv1 = &cheap};
  for (uint32_t i = 0; i < TASKS; i++)
    if (pto_submit(rt, &launch, NULL, 0, NULL) || pto_submit_aiv(rt, &dear, NULL, 0)) return 1;
  return 0;
}

static void test_a_kernel_that_waits_is_not_charged_with_what_others_do_meanwhile(void **state) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(kinds); i++) {
    if (i > 0) setup(state);
    begin_counting();
    run(&kinds[i].config, submit_waiting);
    const struct pto_kernel_counters_row *waiting = row_of(&waiter, PTO_AIC);
    assert_int_equal(waiting->calls, TASKS);
    assert_int_equal(waiting->counts[WORK], (int64_t)TASKS * (BEFORE_WAITING + AFTER_WAITING));
    assert_in_range(waiting->stretches, TASKS, 10 * TASKS);
    assert_int_equal(row_of(&signaller, PTO_AIV)->counts[WORK], (int64_t)TASKS * DEAR);
    assert_int_equal(row_of(&cheap, PTO_AIV)->counts[WORK], (int64_t)TASKS * CHEAP);
    assert_int_equal(row_of(&dear, PTO_AIV)->counts[WORK], (int64_t)TASKS * DEAR);
    if (strcmp(kinds[i].name, "one thread") == 0) /* the waiter comes first, and cannot go on by itself */
      assert_true(waiting->stretches > TASKS);
    if (i + 1 < PTO_ARRAY_LENGTH(kinds)) teardown(state);
  }
}

static void test_runs_and_runtimes_add_up_and_each_thread_closes_its_own_set(void **state) {
  begin_counting();
  for (uint32_t i = 1; i <= 4; i++) {
    run(&kinds[i % 2].config, submit_plain);
    assert_int_equal(row_of(&cheap, PTO_AIV)->calls, (uint64_t)i * TASKS);
    assert_int_equal(closed, opened - 1); /* of threads that have ended; this one's is still open */
    assert_int_equal(left, closed);
  }
}

static void test_calls_on_a_thread_that_cannot_count_are_told_of(void **state) {
  open_at_most = 1; /* this thread's */
  begin_counting();
  run(&kinds[1].config, submit_plain);
  uint64_t calls = table.uncounted_calls;
  for (uint32_t i = 0; i < table.row_count; i++) {
    calls += table.rows[i].calls;
    assert_int_equal(table.rows[i].counts[WORK],
                     (int64_t)table.rows[i].calls * (table.rows[i].kernel == &dear ? DEAR : CHEAP));
  }
  assert_int_equal(calls, 3 * TASKS);
  assert_true(table.uncounted_calls == 0 || strcmp(table.sentence, "no more sets") == 0);
}

static void test_a_source_that_has_not_these_events_says_so_and_nothing_is_counted(void **state) {
  struct pto_error error;
  open_at_most = 0;
  assert_int_equal(pto_kernel_counters_events(counters, names, EVENTS, &error), PTO_EINVAL);
  assert_string_equal(error.sentence, "no more sets");
  run(&kinds[0].config, submit_plain);
  assert_int_equal(table.row_count, 0);
  assert_int_equal(table.event_count, 0);
}

#define MANY (PTO_KERNEL_COUNTERS_ROWS + 45u)
static struct pto_kernel many[MANY];

static int submit_many(struct pto_runtime *rt, void *context) {
  for (uint32_t round = 0; round < 2; round++)
    for (uint32_t i = 0; i < MANY; i++)
      if (pto_submit_aiv(rt, &many[i], NULL, 0)) return 1;
  return 0;
}

static void test_kernels_beyond_the_table_are_uncounted_and_those_within_are_right(void **state) {
  for (uint32_t i = 0; i < MANY; i++) many[i] = cheap;
  begin_counting();
  run(&kinds[0].config, submit_many);
  assert_int_equal(table.row_count, PTO_KERNEL_COUNTERS_ROWS);
  assert_int_equal(table.uncounted_calls, 2 * (MANY - PTO_KERNEL_COUNTERS_ROWS));
  for (uint32_t i = 0; i < table.row_count; i++) assert_int_equal(table.rows[i].counts[WORK], 2 * CHEAP);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(each_kernel_has_what_was_counted_while_it_ran_and_nothing_else),
      TEST(a_kernel_that_waits_is_not_charged_with_what_others_do_meanwhile),
      TEST(runs_and_runtimes_add_up_and_each_thread_closes_its_own_set),
      TEST(calls_on_a_thread_that_cannot_count_are_told_of),
      TEST(a_source_that_has_not_these_events_says_so_and_nothing_is_counted),
      TEST(kernels_beyond_the_table_are_uncounted_and_those_within_are_right),
  };
#undef TEST
  return cmocka_run_group_tests(tests, NULL, NULL);
}
