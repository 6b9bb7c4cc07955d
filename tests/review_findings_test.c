/* SPDX-License-Identifier: MIT */
/*
 * What a review of the runtime's core found wrong, a test each: room that expired work must give back, order among
 * equals, and what a refusal says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/control/runtime_state.h>
#include <tests/support/runtime_fixture.h>

static struct fixture fixture;

static int setup(void **state) {
  (void)state;
  memset(&fixture, 0, sizeof fixture);
  return 0;
}

/* ---- what has expired takes no room ---- */

static int short_lived_registrations(struct pto_runtime *rt, struct fixture *f) {
  for (uint64_t i = 0; i < 2000; i++) {
    fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
    struct pto_tensor t = fixture_bytes(f, 32 * i, 16); /* a gap between any two: each is a range of its own */
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &t), PTO_OK);
    fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  }
  return 0;
}
static void test_registrations_whose_scopes_have_ended_take_no_room_in_the_smallest_window(void **state) {
  (void)state;
  fixture.config.window = 4;
  fixture_open(&fixture);
  fixture_run(&fixture, short_lived_registrations, PTO_OK);
  assert_int_equal(fixture_tasks(fixture.rt), 2000);
  fixture_close(&fixture);
}

static int buffers_after_registrations(struct pto_runtime *rt, struct fixture *f) {
  (void)short_lived_registrations(rt, f);
  struct pto_tensor t = fixture_managed(rt, 64);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &t), PTO_OK);
  return 0;
}
static void test_buffers_find_room_behind_registrations_whose_scopes_have_ended(void **state) {
  (void)state;
  fixture.config.window = 4;
  fixture_open(&fixture);
  fixture_run(&fixture, buffers_after_registrations, PTO_OK);
  fixture_close(&fixture);
}

static int too_many_registrations(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = {.status = PTO_OK};
  for (uint64_t i = 0; i < 2000 && t.status == PTO_OK; i++) t = fixture_bytes(f, 32 * i, 16);
  assert_int_equal(t.status, PTO_ECAPACITY);
  assert_int_equal(pto_submit_barrier(rt, NULL, 0, NULL), PTO_ECAPACITY);
  return 0;
}
static void test_live_registrations_that_fill_the_registry_end_the_run(void **state) {
  (void)state;
  fixture.config.window = 4;
  fixture_open(&fixture);
  fixture_run(&fixture, too_many_registrations, PTO_ECAPACITY);
  fixture_expect_sentence(fixture.rt, "registrations");
  fixture_run(&fixture, short_lived_registrations, PTO_OK);
  fixture_close(&fixture);
}

static int deep_scopes(struct pto_runtime *rt, struct fixture *f) {
  for (int depth = 1; depth <= 3; depth++) fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  struct pto_tensor t = fixture_bytes(f, 0, 64);
  for (int round = 0; round < 100; round++) {
    fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
    for (int i = 0; i < 5; i++) fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &t), PTO_OK);
    fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  }
  for (int i = 0; i < 7; i++) fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &t), PTO_OK);
  for (int depth = 1; depth <= 3; depth++) fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  return 0;
}
/* Every task before the slot is CONSUMED: the scopes that are open have none in the shared ring. */
static void
test_slots_of_scopes_that_share_the_last_ring_come_back_where_no_open_scope_has_an_older_task(void **state) {
  (void)state;
  fixture.config.window = 8;
  fixture_open(&fixture);
  fixture_run(&fixture, deep_scopes, PTO_OK);
  assert_int_equal(fixture_tasks(fixture.rt), 507);
  fixture_close(&fixture);
}

static int deep_scopes_with_an_older_task(struct pto_runtime *rt, struct fixture *f) {
  for (int depth = 1; depth <= 3; depth++) fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  struct pto_tensor t = fixture_bytes(f, 0, 64);
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  for (int i = 0; i < 5; i++) fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &t), PTO_OK);
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &t), PTO_OK); /* depth 3 */
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  for (int i = 0; i < 6; i++) fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &t), PTO_OK);
  assert_int_equal(FIXTURE_SUBMIT(rt, "b", &t), PTO_EWINDOW);
  return 0;
}
static void test_an_older_task_of_an_open_scope_holds_the_shared_ring(void **state) {
  (void)state;
  fixture.config.window = 8;
  fixture_open(&fixture);
  fixture_run(&fixture, deep_scopes_with_an_older_task, PTO_EWINDOW);
  fixture_expect_sentence(fixture.rt, "open scope 3 (depth 3) holds 1 tasks");
  fixture_expect_sentence(fixture.rt, "open scope 5 (depth 4) holds 6 tasks");
  fixture_close(&fixture);
}

/* A writer W meets, on its way through the readers of one region: old ones that have expired, P whose list of consumers
 * needs a chunk that only the expired ones can give, and Q behind it. */
static int chunks_run_out_on_the_way(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor shared = fixture_bytes(f, 0, 64), tile = fixture_bytes(f, 1024, 64);
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  for (int i = 0; i < 4; i++) fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &shared), PTO_OK); /* 0 … 3: expire below */
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  for (int i = 0; i < 16; i++) {
    fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
    fixture_expect(rt, pto_submit_barrier(rt, NULL, 0, NULL), PTO_OK); /* 4 … 19 */
    fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  }
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &shared), PTO_OK); /* 20: Q, in the chunk that the others leave behind */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "io", &shared, &tile), PTO_OK);                   /* 21: P */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &shared), PTO_OK);                           /* 22: Q' */
  for (int i = 0; i < 5; i++) fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &tile), PTO_OK); /* 23 … 27 */
  return FIXTURE_SUBMIT(rt, "o", &shared);                                                /* 28: W */
}
static void test_list_chunks_that_run_out_on_the_way_through_a_region_lose_no_edge(void **state) {
  (void)state;
  for (uint64_t chunks = 1; chunks <= 6; chunks++) {
    fixture.config.window = 16;
    fixture.config.list_chunks = chunks;
    fixture_open(&fixture);
    fixture_run(&fixture, chunks_run_out_on_the_way, chunks < 2 ? PTO_ECAPACITY : PTO_OK);
    if (chunks >= 2)
      for (uint64_t reader = 20; reader <= 22; reader++)
        assert_int_equal(fixture_reasons(fixture.rt, reader, 28), PTO_EDGE_WAR);
    fixture_close(&fixture);
  }
}

/* ---- order among equals ---- */

static uint64_t ran[128];
static uint32_t ran_count;
static int note(const struct pto_kernel_args *args) {
  ran[ran_count++] = args->scalars[0].u64;
  return 0;
}

static int forty_readers(struct pto_runtime *rt, struct fixture *f) {
  struct pto_kernel kernel = fixture_kernel_with("is", 0, note);
  struct pto_tensor t = fixture_bytes(f, 0, 64);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &t), PTO_OK);
  for (uint64_t i = 0; i < 40; i++) {
    struct pto_param params[2] = {pto_input(&t), pto_scalar_u64(i)};
    fixture_expect(rt, pto_submit_aic(rt, &kernel, params, 2), PTO_OK);
  }
  uint8_t value = 0;
  static const uint64_t index = 0;
  fixture_expect(rt, pto_write_element(rt, &t, &index, &value),
                 PTO_OK); /* waits for all: the kernel lives until then */
  return 0;
}
static void test_consumers_that_become_ready_at_once_run_in_the_order_of_their_submits(void **state) {
  (void)state;
  ran_count = 0;
  fixture_open(&fixture);
  fixture_run(&fixture, forty_readers, PTO_OK);
  assert_int_equal(ran_count, 40);
  for (uint64_t i = 0; i < 40; i++) assert_int_equal(ran[i], i);
  fixture_close(&fixture);
}

static int readers_behind_barriers(struct pto_runtime *rt, struct fixture *f) {
  struct pto_kernel kernel = fixture_kernel_with("s", 0, note);
  struct pto_tensor t = fixture_bytes(f, 0, 64);
  const struct pto_tensor *const tensors[] = {&t};
  struct pto_task gate, barriers[8];
  fixture_expect(rt, fixture_submit(rt, "o", tensors, &gate), PTO_OK);
  for (int i = 0; i < 8; i++) fixture_expect(rt, pto_submit_barrier(rt, &gate, 1, &barriers[i]), PTO_OK);
  for (uint64_t i = 0; i < 8; i++) {
    struct pto_param param = pto_scalar_u64(i);
    struct pto_launch launch = {.aic = &kernel, .after = &barriers[i], .after_count = 1};
    fixture_expect(rt, pto_submit(rt, &launch, &param, 1, NULL), PTO_OK);
  }
  while (rt->completed_count < rt->task_count) fixture_expect(rt, pto_progress_wait(rt), PTO_OK);
  return 0;
}
static void test_tasks_behind_barriers_that_end_at_once_run_in_the_order_of_their_submits(void **state) {
  (void)state;
  ran_count = 0;
  fixture_open(&fixture);
  fixture_run(&fixture, readers_behind_barriers, PTO_OK);
  assert_int_equal(ran_count, 8);
  for (uint64_t i = 0; i < 8; i++) assert_int_equal(ran[i], i);
  fixture_close(&fixture);
}

static uint32_t mix_lane;
static int note_lane(const struct pto_kernel_args *args) {
  if (args->core->kind == PTO_AIV) mix_lane = args->core->lane;
  return 0;
}
static int mix_beside_a_busy_core(struct pto_runtime *rt, struct fixture *f) {
  struct pto_kernel kernel = fixture_kernel_with("", 0, note_lane);
  (void)f;
  fixture_expect(rt, pto_submit_aic(rt, fixture_kernel(""), NULL, 0),
                 PTO_OK); /* the AIC core is busy: no cluster is idle */
  fixture_expect(rt, pto_submit_aiv(rt, fixture_kernel(""), NULL, 0), PTO_OK); /* AIV0 is busy, AIV1 is not */
  struct pto_launch launch = {.aic = &kernel, .aiv0 = &kernel};
  fixture_expect(rt, pto_submit(rt, &launch, NULL, 0, NULL), PTO_OK);
  while (rt->completed_count < rt->task_count) fixture_expect(rt, pto_progress_wait(rt), PTO_OK);
  return 0;
}
static void test_a_mix_of_two_takes_the_idle_vector_core_of_its_cluster(void **state) {
  (void)state;
  fixture_open(&fixture);
  fixture_run(&fixture, mix_beside_a_busy_core, PTO_OK);
  assert_int_equal(mix_lane, 2);
  fixture_close(&fixture);
}

/* ---- what a refusal says ---- */

static int predicates(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 64), flag = fixture_bytes(f, 1024, 1);
  struct pto_tensor stale = fixture_bytes(f, 2048, 1), fresh = fixture_managed(rt, 1),
                    late = pto_tensor_with_version(&flag, 3);
  stale.buffer.id += 1000;
  const struct pto_tensor *const wrong[] = {&stale, &fresh, &late};
  static const int statuses[] = {PTO_ESTALE, PTO_EINVAL, PTO_EINVAL};
  struct pto_param param = pto_input(&t);
  for (int i = 0; i < 3; i++) {
    struct pto_launch launch = {.aiv0 = fixture_kernel("i"), .predicate = {wrong[i], PTO_IF_EQ, 0}};
    fixture_expect(rt, pto_submit(rt, &launch, &param, 1, NULL), statuses[i]);
    fixture_expect_sentence(rt, "kernel: predicate");
  }
  return 0;
}
static void test_a_refused_predicate_is_called_the_predicate(void **state) {
  (void)state;
  fixture_open(&fixture);
  fixture_run(&fixture, predicates, PTO_OK);
  fixture_close(&fixture);
}

static int nothing_to_run(struct pto_runtime *rt, struct fixture *f) {
  (void)f;
  static const struct pto_kernel empty = {.name = "hollow", .cores = PTO_AIV};
  fixture_expect(rt, pto_submit_aiv(rt, &empty, NULL, 0), PTO_EINVAL);
  fixture_expect_sentence(rt, "hollow");
  assert_int_equal(fixture_tasks(rt), 0);
  return 0;
}
static void test_a_kernel_without_a_function_is_refused(void **state) {
  (void)state;
  fixture_open(&fixture);
  fixture_run(&fixture, nothing_to_run, PTO_OK);
  fixture_close(&fixture);
}

static int heap_that_started_over(struct pto_runtime *rt, struct fixture *f) {
  (void)f;
  uint8_t value;
  static const uint64_t index = 0;
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  struct pto_tensor small = fixture_managed(rt, 1024);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &small), PTO_OK);
  fixture_expect(rt, pto_read_element(rt, &small, &index, &value), PTO_OK);
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO),
                 PTO_OK); /* the ring is empty, with its head behind the small block */
  struct pto_tensor whole = fixture_managed(rt, 4096), more = fixture_managed(rt, 1024);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &whole), PTO_OK);
  return FIXTURE_SUBMIT(rt, "o", &more);
}
static void test_bytes_that_a_new_start_of_the_ring_skipped_are_held_by_nobody(void **state) {
  (void)state;
  fixture.config.heap_bytes = 4096;
  fixture_open(&fixture);
  fixture_run(&fixture, heap_that_started_over, PTO_EHEAP);
  fixture_expect_sentence(fixture.rt, "holds 1 tasks and 4096 bytes");
  fixture_expect_sentence(fixture.rt, "a heap of 5120 bytes");
  fixture_close(&fixture);
}

static int heap_that_wraps(struct pto_runtime *rt, struct fixture *f) {
  (void)f;
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  struct pto_tensor first = fixture_managed(rt, 1024);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &first), PTO_OK);
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO),
                 PTO_OK); /* the first task has not run: its block stays for now */
  for (int i = 0; i < 2; i++) {
    struct pto_tensor t = fixture_managed(rt, 2048);
    int status = FIXTURE_SUBMIT(rt, "o", &t);
    if (status) return status;
  }
  return pto_scope_end(rt);
}
static void test_the_heap_that_an_error_says_is_enough_is_enough(void **state) {
  (void)state;
  fixture.config.heap_bytes = 4096;
  fixture_open(&fixture);
  fixture_run(&fixture, heap_that_wraps, PTO_EHEAP);
  const char *named = strstr(pto_last_error(fixture.rt), "a heap of ");
  assert_non_null(named);
  uint64_t enough = strtoull(named + strlen("a heap of "), NULL, 10);
  fixture_close(&fixture);
  fixture.config.heap_bytes = enough;
  fixture_open(&fixture);
  fixture_run(&fixture, heap_that_wraps, PTO_OK);
  fixture_close(&fixture);
}

static int two_in_a_row(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 64);
  rt->trace.tasks.capacity = 1;
  for (int i = 0; i < 3; i++) fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &t), PTO_OK);
  return 0;
}
static void test_edges_of_a_task_that_the_full_log_drops_are_not_given_to_another(void **state) {
  (void)state;
  fixture_open(&fixture);
  fixture_run(&fixture, two_in_a_row, PTO_OK);
  const struct pto_trace *trace = pto_runtime_trace(fixture.rt);
  assert_int_equal(trace->tasks.count, 1);
  assert_int_equal(((const struct pto_trace_task *)pto_trace_log_at(&trace->tasks, 0))->edge_count, 0);
  fixture_close(&fixture);
}

static int immense_output(struct pto_runtime *rt, struct fixture *f) {
  (void)f;
  uint64_t count = UINT64_C(1) << 59; /* of f32: 2^61 bytes, 2^64 bits */
  struct pto_tensor t = pto_managed_tensor(rt, pto_create_buffer(rt, 4 * count), PTO_FLOAT32, 1, &count);
  fixture_expect(rt, pto_tensor_status(&t), PTO_OK);
  return FIXTURE_SUBMIT(rt, "o", &t);
}
static void test_an_output_of_2_to_the_61_bytes_is_too_large_for_the_heap_and_nothing_else(void **state) {
  (void)state;
  fixture_open(&fixture);
  fixture_run(&fixture, immense_output, PTO_EHEAP);
  fixture_expect_sentence(fixture.rt, "2305843009213693952 bytes");
  fixture_close(&fixture);
}

static int nowhere_to_put_it(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 64);
  static const uint64_t index = 0;
  fixture_expect(rt, pto_read_element(rt, &t, &index, NULL), PTO_EINVAL);
  fixture_expect_sentence(rt, "read_element");
  fixture_expect(rt, pto_write_element(rt, &t, &index, NULL), PTO_EINVAL);
  fixture_expect_sentence(rt, "write_element");
  return 0;
}
static void test_an_element_needs_a_value_to_go_to_or_to_come_from(void **state) {
  (void)state;
  fixture_open(&fixture);
  fixture_run(&fixture, nowhere_to_put_it, PTO_OK);
  fixture_close(&fixture);
}

/* ---- counters that wrap ---- */

static int scopes_over_the_wrap(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 64), inner = t;
  rt->scope_serial = UINT32_MAX - 2;
  for (int i = 0; i < 6; i++) {
    fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
    inner = fixture_bytes(f, 1024, 64);
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "io", &t, &inner), PTO_OK);
    assert_int_equal(rt->scope_depth, 1);
    fixture_expect(rt, pto_scope_end(rt), PTO_OK);
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &inner), PTO_ESTALE);
  }
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &t), PTO_OK); /* the run's own scope is as it was */
  return 0;
}
static void test_scopes_nest_rightly_when_the_count_of_scopes_wraps(void **state) {
  (void)state;
  fixture_open(&fixture);
  fixture_run(&fixture, scopes_over_the_wrap, PTO_OK);
  fixture_close(&fixture);
}

static int chain_with_readers(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 64), half = fixture_bytes(f, 16, 16);
  rt->hazards.serial = UINT32_MAX - 4;
  rt->map.visit = UINT32_MAX - 4;
  rt->scheduler.next_order = UINT32_MAX - 4;
  for (int i = 0; i < 10; i++) {
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &t), PTO_OK);
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &half), PTO_OK);
  }
  return 0;
}
static void test_marks_visits_and_orders_wrap_without_a_lost_or_a_false_edge(void **state) {
  (void)state;
  fixture_open(&fixture);
  fixture_run(&fixture, chain_with_readers, PTO_OK);
  assert_int_equal(fixture_edges(fixture.rt),
                   10 + 2 * 9); /* RAW to each reader; WAW and WAR to each write but the first */
  fixture_close(&fixture);
}

/* ---- the smallest rings ---- */

static int window_at_a_time(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 64);
  for (int i = 0; i < 10; i++) {
    fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
    for (uint64_t k = 0; k < PTO_MIN_WINDOW - 1; k++) fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &t), PTO_OK);
    fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  }
  return 0;
}
static void test_both_ways_to_a_runtime_take_the_smallest_window_and_refuse_the_next_smaller(void **state) {
  (void)state;
  fixture.config.window = PTO_MIN_WINDOW;
  fixture_open(&fixture);
  fixture_run(&fixture, window_at_a_time, PTO_OK);
  assert_int_equal(fixture_edges(fixture.rt), 10 * (PTO_MIN_WINDOW - 1) - 1);
  struct pto_config config = fixture.config;
  config.window = PTO_MIN_WINDOW / 2;
  struct pto_runtime *rt = NULL;
  struct pto_error error = {0};
  char sentence[PTO_SENTENCE_SIZE];
  assert_int_equal(pto_control_create(&config, pto_serial_port_create(&fixture.port), &rt, &error), PTO_EINVAL);
  assert_int_equal(pto_runtime_create_explained(&config, &rt, sentence, sizeof sentence), PTO_EINVAL);
  assert_string_equal(sentence, error.sentence);
  assert_null(rt);
  fixture_close(&fixture);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

static int two_accumulate(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 64);
  struct pto_param param = pto_accumulate(&t);
  struct pto_launch launch = {.aic = fixture_kernel("a"), .aiv0 = fixture_kernel("a")};
  fixture_expect(rt, pto_submit(rt, &launch, &param, 1, NULL), PTO_EINVAL);
  fixture_expect_sentence(rt, "both accumulate");
  assert_int_equal(fixture_tasks(rt), 0);
  return 0;
}
static void test_two_kernels_of_a_mix_that_accumulate_into_one_parameter_are_refused(void **state) {
  (void)state;
  fixture_open(&fixture);
  fixture_run(&fixture, two_accumulate, PTO_OK);
  fixture_close(&fixture);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_two_kernels_of_a_mix_that_accumulate_into_one_parameter_are_refused),
      TEST(test_registrations_whose_scopes_have_ended_take_no_room_in_the_smallest_window),
      TEST(test_buffers_find_room_behind_registrations_whose_scopes_have_ended),
      TEST(test_live_registrations_that_fill_the_registry_end_the_run),
      TEST(test_slots_of_scopes_that_share_the_last_ring_come_back_where_no_open_scope_has_an_older_task),
      TEST(test_an_older_task_of_an_open_scope_holds_the_shared_ring),
      TEST(test_list_chunks_that_run_out_on_the_way_through_a_region_lose_no_edge),
      TEST(test_consumers_that_become_ready_at_once_run_in_the_order_of_their_submits),
      TEST(test_tasks_behind_barriers_that_end_at_once_run_in_the_order_of_their_submits),
      TEST(test_a_mix_of_two_takes_the_idle_vector_core_of_its_cluster),
      TEST(test_a_refused_predicate_is_called_the_predicate),
      TEST(test_a_kernel_without_a_function_is_refused),
      TEST(test_bytes_that_a_new_start_of_the_ring_skipped_are_held_by_nobody),
      TEST(test_the_heap_that_an_error_says_is_enough_is_enough),
      TEST(test_edges_of_a_task_that_the_full_log_drops_are_not_given_to_another),
      TEST(test_an_output_of_2_to_the_61_bytes_is_too_large_for_the_heap_and_nothing_else),
      TEST(test_an_element_needs_a_value_to_go_to_or_to_come_from),
      TEST(test_scopes_nest_rightly_when_the_count_of_scopes_wraps),
      TEST(test_marks_visits_and_orders_wrap_without_a_lost_or_a_false_edge),
      TEST(test_both_ways_to_a_runtime_take_the_smallest_window_and_refuse_the_next_smaller),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
