/* SPDX-License-Identifier: MIT */
/* Counters of runtimes, read by PAPI while runs go on.  Skips where there is no PAPI, or no libsde. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <cli/measure/event_source.h>
#include <runtime/control/published_counters.h>
#include <runtime/control/runtime_state.h>
#include <tests/support/failing_malloc.h>
#include <tests/support/runtime_fixture.h>

static const char *const names[] = {
#define X(name, is_sum, text) "pto::" #name,
    PTO_PUBLISHED_COUNTER_LIST(X)
#undef X
};
#define COUNT PTO_PUBLISHED_COUNTER_COUNT
#define VALUE(name) values[PTO_PUBLISHED_COUNTER_##name]

static void *events;
static int64_t values[COUNT];
static struct pto_error error;

static void expect_ok(int status) {
  if (status) fail_msg("%s", error.sentence);
}
static void read_all(void) { assert_int_equal(pto_papi_events.read(events, values), PTO_OK); }

/* A runtime that publishes, and PAPI counting its events. */
static void open_published(struct fixture *f) {
  *f = (struct fixture){.config = {.window = 16}};
  fixture_open(f);
  const int status = pto_runtime_publish_counters(f->rt);
  if (status == PTO_ENOTSUP) {
    fixture_close(f);
    skip();
  }
  assert_int_equal(status, PTO_OK);
  const int opened = pto_papi_events.open(names, COUNT, &events, &error);
  if (opened == PTO_ENOTSUP) {
    fixture_close(f);
    skip();
  }
  expect_ok(opened);
}
static void close_published(struct fixture *f) {
  pto_papi_events.close(events);
  fixture_close(f);
}

/* A chain of four tasks on one buffer: three edges.  The serial port completes nothing before it is asked to. */
static int submit_and_read(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor x = fixture_bytes(f, 0, 64), y = fixture_managed(rt, 1024);
  read_all();
  const int64_t tasks = VALUE(tasks), edges = VALUE(edges);
  for (int i = 0; i < 4; i++) {
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &x), PTO_OK);
    read_all();
    assert_int_equal(VALUE(tasks), tasks + i + 1);
    assert_int_equal(VALUE(edges), edges + i);
  }
  assert_int_equal(VALUE(heap_bytes), 0);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &y), PTO_OK);
  read_all();
  assert_int_equal(VALUE(heap_bytes), 1024);
  struct pto_tensor z = fixture_managed(rt, 2048);
  fixture_expect(rt, pto_alloc_tensors(rt, &z, 1, NULL), PTO_OK);
  read_all();
  assert_int_equal(VALUE(heap_bytes), 1024 + 2048);
  return PTO_OK;
}

/* From then on the orchestration's own thread brings them up to date as it reads. */
static int publish_and_read(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor x = fixture_bytes(f, 0, 64);
  if (pto_runtime_publish_counters(rt) != PTO_OK || pto_papi_events.open(names, COUNT, &events, &error) != PTO_OK)
    return PTO_ENOTSUP;
  for (int i = 0; i < 2; i++) {
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &x), PTO_OK);
    read_all();
    assert_int_equal(VALUE(tasks), i + 1);
  }
  pto_papi_events.close(events);
  return PTO_OK;
}
static int publish_of(struct pto_runtime *rt, void *f) { return publish_and_read(rt, f); }
static void test_an_orchestration_publishes_and_reads_at_once(void **state) {
  struct fixture f = {.config = {.window = 16}};
  fixture_open(&f);
  const int status = pto_run(f.rt, publish_of, &f);
  fixture_close(&f);
  if (status == PTO_EUSER) skip();
  assert_int_equal(status, PTO_OK);
}

static void test_the_orchestration_reads_what_is_true_at_that_moment_and_sums_go_on_over_runs(void **state) {
  struct fixture f;
  open_published(&f);
  for (int run = 1; run <= 3; run++) {
    fixture_run(&f, submit_and_read, PTO_OK);
    read_all();
    assert_int_equal(VALUE(tasks), 6 * run);
    assert_int_equal(VALUE(edges), 3 * run);
    assert_int_equal(VALUE(ready), 0);
    assert_int_equal(VALUE(heap_bytes), 0);
    assert_int_equal(VALUE(stalls), 0);
  }
  close_published(&f);
}

/* What another thread is told, while kernels run, of those that are ready: the most. */
static const struct pto_published_counters *looked_at;
static uint64_t most_ready;
static int look(const struct pto_kernel_args *args) {
  const uint64_t ready = atomic_load_explicit(&looked_at->values[PTO_PUBLISHED_COUNTER_ready], memory_order_relaxed);
  most_ready = pto_max_u64(most_ready, ready);
  return 0;
}
static int wait_for_looks(struct pto_runtime *rt, struct fixture *f) {
  static const struct pto_kernel_param params[] = {{.mode = PTO_INPUT}};
  static const struct pto_kernel looks = {
      .name = "looks", .cores = PTO_AIV, .params = params, .param_count = 1, .run = look};
  const struct pto_launch launch = {.aiv0 = &looks};
  const struct pto_tensor x = fixture_bytes(f, 0, 64);
  const struct pto_param param = pto_input(&x);
  looked_at = rt->published;
  most_ready = 0;
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &x), PTO_OK);
  for (uint32_t i = 0; i < 14; i++) fixture_expect(rt, pto_submit(rt, &launch, &param, 1, NULL), PTO_OK);
  return PTO_OK;
}
static void test_others_are_told_what_is_ready_while_the_runtime_waits(void **state) {
  struct fixture f;
  open_published(&f);
  fixture_run(&f, wait_for_looks, PTO_OK);
  assert_true(most_ready > 0);
  close_published(&f);
}

static int submit_and_read_nothing(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor x = fixture_bytes(f, 0, 64);
  for (int i = 0; i < 5; i++) fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &x), PTO_OK);
  return PTO_OK;
}

static int submit_many(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor x = fixture_bytes(f, 0, 64);
  for (int i = 0; i < 40; i++) {
    fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &x), PTO_OK);
    fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  }
  const uint64_t first[] = {0};
  uint8_t value;
  fixture_expect(rt, pto_read_element(rt, &x, first, &value), PTO_OK);
  return PTO_OK;
}

static void test_waits_for_task_slots_and_by_the_host_are_stalls(void **state) {
  struct fixture f;
  open_published(&f);
  fixture_run(&f, submit_many, PTO_OK);
  struct pto_stats stats = {.size = sizeof stats};
  pto_runtime_stats(f.rt, &stats);
  read_all();
  assert_true(stats.submit_waits > 0);
  assert_int_equal(VALUE(stalls), stats.submit_waits + 1);
  close_published(&f);
}

static void test_what_was_counted_before_the_start_is_left_out(void **state) {
  struct fixture f;
  open_published(&f);
  fixture_run(&f, submit_and_read, PTO_OK);
  pto_papi_events.close(events);
  expect_ok(pto_papi_events.open(names, COUNT, &events, &error));
  fixture_run(&f, submit_and_read, PTO_OK);
  read_all();
  assert_int_equal(VALUE(tasks), 6);
  close_published(&f);
}

static void test_runtimes_at_the_same_time_have_names_of_their_own_and_give_them_back(void **state) {
  struct fixture f, other = {.config = {.window = 16}};
  const char *const both[] = {"pto::tasks", "sde:::pto2::tasks"};
  int64_t tasks[2];
  open_published(&f);
  pto_papi_events.close(events); /* a thread counts with one set of a component at a time */
  fixture_open(&other);
  assert_int_equal(pto_runtime_publish_counters(other.rt), PTO_OK);
  assert_int_equal(pto_runtime_publish_counters(other.rt), PTO_OK); /* again */
  expect_ok(pto_papi_events.open(both, 2, &events, &error));
  fixture_run(&other, submit_many, PTO_OK);
  assert_int_equal(pto_papi_events.read(events, tasks), PTO_OK);
  assert_int_equal(tasks[0], 0);
  assert_int_equal(tasks[1], 40);
  fixture_run(&f, submit_and_read_nothing, PTO_OK);
  fixture_close(&other);
  assert_int_equal(pto_papi_events.read(events, tasks), PTO_OK);
  assert_int_equal(tasks[0], 5);
  assert_int_equal(tasks[1], 40); /* stands still */
  close_published(&f);
  open_published(&f); /* as pto again */
  fixture_run(&f, submit_many, PTO_OK);
  read_all();
  assert_int_equal(VALUE(tasks), 40);
  close_published(&f);
}

/* ---- another thread ---- */

static _Atomic bool is_looking, is_over;
static struct {
  int64_t last;
  bool has_failed;
} seen;

/* Sums never go back; what is read when all runs are over is all of it. */
static void *look_on(void *argument) {
  void *mine = NULL;
  struct pto_error own;
  bool is_last = false;
  seen.last = 0;
  seen.has_failed = pto_papi_events.open(names, 1, &mine, &own) != PTO_OK;
  atomic_store_explicit(&is_looking, true, memory_order_release);
  while (!is_last && !seen.has_failed) {
    int64_t tasks = 0;
    is_last = atomic_load_explicit(&is_over, memory_order_acquire);
    seen.has_failed |= pto_papi_events.read(mine, &tasks) || tasks < seen.last || tasks > 4000;
    seen.last = tasks;
  }
  if (mine) pto_papi_events.close(mine);
  return NULL;
}

static void test_another_thread_reads_while_runs_go_on(void **state) {
  struct fixture f;
  pthread_t thread;
  open_published(&f);
  atomic_store_explicit(&is_looking, false, memory_order_relaxed);
  atomic_store_explicit(&is_over, false, memory_order_relaxed);
  assert_int_equal(pthread_create(&thread, NULL, look_on, NULL), 0);
  while (!atomic_load_explicit(&is_looking, memory_order_acquire)) sched_yield();
  for (int run = 0; run < 100; run++) fixture_run(&f, submit_many, PTO_OK);
  atomic_store_explicit(&is_over, true, memory_order_release);
  pthread_join(thread, NULL);
  assert_false(seen.has_failed);
  assert_int_equal(seen.last, 4000);
  close_published(&f);
}

static void test_an_event_that_there_is_not_is_refused_by_name(void **state) {
  const char *const none[] = {"NO_SUCH_EVENT"};
  void *opened;
  assert_true(pto_papi_events.open(none, 1, &opened, &error) != PTO_OK);
  assert_non_null(strstr(error.sentence, "PAPI"));
}

/* PAPI answers for an event that is in the set already as for one that has no counter left. */
static void test_an_event_beside_which_there_is_no_room_is_refused_by_name_and_limit(void **state) {
  struct fixture f;
  open_published(&f);
  const char *const twice[] = {"pto::tasks", "pto::edges", "pto::tasks"};
  void *opened;
  assert_int_equal(pto_papi_events.open(twice, 3, &opened, &error), PTO_EINVAL);
  assert_non_null(strstr(error.sentence, "pto::tasks cannot be counted beside the 2 of its kind before it"));
  assert_non_null(strstr(error.sentence, "at once"));
  close_published(&f);
}

/* There are eight names, and one that is given back is taken again. */
static void test_more_runtimes_than_names_do_without(void **state) {
  enum { NAMES = 8 };
  static struct fixture many[NAMES + 1];
  for (uint32_t i = 0; i <= NAMES; i++) {
    many[i] = (struct fixture){.config = {.window = 16}};
    fixture_open(&many[i]);
  }
  uint32_t published = 0;
  for (; published <= NAMES; published++)
    if (pto_runtime_publish_counters(many[published].rt) != PTO_OK) break;
  const bool has_any = published > 0;
  if (has_any) {
    assert_int_equal(published, NAMES);
    assert_int_equal(pto_runtime_publish_counters(many[NAMES].rt), PTO_ENOTSUP);
    fixture_close(&many[0]);
#if PTO_HAS_FAILING_MALLOC
    fail_countdown = 1;
    assert_int_equal(pto_runtime_publish_counters(many[NAMES].rt), PTO_ENOMEM);
#endif
    assert_int_equal(pto_runtime_publish_counters(many[NAMES].rt), PTO_OK);
  }
  for (uint32_t i = has_any; i <= NAMES; i++) fixture_close(&many[i]);
  if (!has_any) skip();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_more_runtimes_than_names_do_without),
      cmocka_unit_test(test_an_orchestration_publishes_and_reads_at_once),
      cmocka_unit_test(test_the_orchestration_reads_what_is_true_at_that_moment_and_sums_go_on_over_runs),
      cmocka_unit_test(test_others_are_told_what_is_ready_while_the_runtime_waits),
      cmocka_unit_test(test_waits_for_task_slots_and_by_the_host_are_stalls),
      cmocka_unit_test(test_what_was_counted_before_the_start_is_left_out),
      cmocka_unit_test(test_runtimes_at_the_same_time_have_names_of_their_own_and_give_them_back),
      cmocka_unit_test(test_another_thread_reads_while_runs_go_on),
      cmocka_unit_test(test_an_event_that_there_is_not_is_refused_by_name),
      cmocka_unit_test(test_an_event_beside_which_there_is_no_room_is_refused_by_name_and_limit),
  };
  return cmocka_run_group_tests_name("published counters", tests, NULL, NULL);
}
