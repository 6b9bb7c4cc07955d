/* SPDX-License-Identifier: MIT */
/*
 * Many runs of one runtime, several runtimes in one process, creation that fails at each point, and that nothing is
 * allocated while a run goes on.
 *
 * malloc and its kin are this program's own where no sanitizer has its own: they count, and fail on demand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/base/sanitizer.h>
#include <runtime/control/runtime_state.h>
#include <tests/support/runtime_fixture.h>

/* ---- allocation, counted ---- */

#define COUNTS_MALLOC (!PTO_HAS_SANITIZER)

/* Any thread may allocate; relaxed, since only the numbers matter and runs end before they are looked at. */
static atomic_ullong allocations;
static _Thread_local uint32_t malloc_fail_countdown; /* this thread's n-th allocation from now fails; 0: none */

#if COUNTS_MALLOC
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t align, size_t size);
static bool has_room(void) {
  atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
  return !malloc_fail_countdown || --malloc_fail_countdown != 0;
}
void *malloc(size_t size) { return has_room() ? __libc_malloc(size) : NULL; }
void *calloc(size_t count, size_t size) { return has_room() ? __libc_calloc(count, size) : NULL; }
void *realloc(void *old, size_t size) { return has_room() ? __libc_realloc(old, size) : NULL; }
void *aligned_alloc(size_t align, size_t size) { return has_room() ? __libc_memalign(align, size) : NULL; }
#endif

/* ---- a program with everything in it ---- */

enum { BYTES = 4096, MOST_PARAMS = 2000, MOST_EDGES = 8000 };

static int mix_bytes(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *in = &args->tensors[0], *out = &args->tensors[1];
  const uint8_t *from = in->addr;
  uint8_t *to = out->addr;
  for (uint64_t i = 0; i < out->shape[0]; i++)
    to[i] = (uint8_t)(to[i] * 5 + from[i % in->shape[0]] + args->scalars[0].u64);
  return 0;
}
static const struct pto_kernel *mixer(void) {
  static struct pto_kernel kernel;
  if (!kernel.run) kernel = fixture_kernel_with("ibs", 0, mix_bytes);
  return &kernel;
}
static struct pto_tensor bytes_at(struct pto_runtime *rt, uint8_t *memory, uint64_t offset, uint64_t count) {
  return pto_external_tensor(rt, memory + offset, PTO_UINT8, 1, &count);
}
/* Draws from a fixed seed: host reads, scopes, temporaries, explicit edges, predicates. */
static int program(struct pto_runtime *rt, void *context) {
  uint8_t *memory = context;
  struct pto_rng rng = {77};
  for (uint64_t i = 0; i < BYTES; i++) memory[i] = (uint8_t)pto_rng_next(&rng);
  for (int round = 0; round < 40; round++) {
    int status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
    struct pto_tensor temporary = fixture_managed(rt, 64 + pto_rng_below(&rng, 64));
    struct pto_task task = {0, 0};
    if (!status) status = pto_alloc_tensors(rt, &temporary, 1, &task);
    for (uint64_t i = 0; i < 64 && !status; i++) status = pto_write_element(rt, &temporary, &i, &(uint8_t){0});
    for (int k = 0; k < 6 && !status; k++) {
      struct pto_tensor in = bytes_at(rt, memory, pto_rng_below(&rng, 2000), 1 + pto_rng_below(&rng, 64));
      struct pto_tensor out = bytes_at(rt, memory, 2100 + pto_rng_below(&rng, 1800), 1 + pto_rng_below(&rng, 64));
      struct pto_tensor head = pto_tensor_slice(&temporary, 0, 0, 64, 1), flag = bytes_at(rt, memory, 8, 1);
      struct pto_param params[3] = {pto_input(k % 2 ? &head : &in), pto_inout(k % 3 ? &out : &head),
                                    pto_scalar_u64(pto_rng_below(&rng, 99))};
      struct pto_launch launch = {.aiv0 = mixer(), .after = &task, .after_count = k == 4};
      if (k % 2 && k % 3 == 0) params[0] = pto_input(&in);
      if (k == 5) launch.predicate = (struct pto_predicate){&flag, PTO_IF_GE, (int64_t)pto_rng_below(&rng, 256)};
      status = pto_submit(rt, &launch, params, 3, &task);
    }
    if (!status) status = pto_scope_end(rt);
    if (status) return status;
  }
  return 0;
}

/* What a run was, as far as it may not differ from run to run. */
struct account {
  uint64_t tasks, edges, param_count, edge_count;
  struct {
    uint64_t buffer_number, bytes, task_params;
    uint32_t index, mode;
  } params[MOST_PARAMS];
  struct pto_trace_edge edge_list[MOST_EDGES];
  uint8_t memory[BYTES];
};
static void account_of(struct pto_runtime *rt, const uint8_t *memory, struct account *account) {
  const struct pto_trace *trace = pto_runtime_trace(rt);
  memset(account, 0, sizeof *account);
  account->tasks = fixture_tasks(rt);
  account->edges = fixture_edges(rt);
  account->param_count = trace->params.count;
  account->edge_count = trace->edges.count;
  assert_true(account->param_count <= MOST_PARAMS && account->edge_count <= MOST_EDGES);
  for (uint64_t i = 0; i < account->param_count; i++) {
    const struct pto_trace_param *p = pto_trace_log_at(&trace->params, i);
    account->params[i].buffer_number = p->buffer_number;
    account->params[i].bytes = p->tensor.buffer.size_bytes;
    account->params[i].index = p->index;
    account->params[i].mode = p->mode;
  }
  for (uint64_t i = 0; i < account->edge_count; i++) {
    account->edge_list[i] = *(const struct pto_trace_edge *)pto_trace_log_at(&trace->edges, i);
    account->edge_list[i].begin = account->edge_list[i].end = 0; /* addresses are the process's */
  }
  memcpy(account->memory, memory, BYTES);
}
static uint8_t memory[2][BYTES];
static struct account first, later;
static void expect_same(struct pto_runtime *rt, const uint8_t *bytes) {
  account_of(rt, bytes, &later);
  assert_int_equal(later.tasks, first.tasks);
  assert_int_equal(later.edges, first.edges);
  assert_memory_equal(&later, &first, sizeof first);
}

static struct pto_runtime *open_on(const char *engine, uint64_t seed) {
  static struct fixture f;
  memset(&f, 0, sizeof f);
  f.config.engine = engine;
  f.port.seed = seed;
  f.port.cluster_count = 2;
  fixture_open(&f);
  return f.rt;
}
static void run_program(struct pto_runtime *rt, uint8_t *bytes) {
  fixture_expect(rt, pto_run(rt, program, bytes), PTO_OK);
}

/* ---- run after run ---- */

static void ten_runs(const char *engine, uint64_t seed) {
  struct pto_runtime *rt = open_on(engine, seed);
  run_program(rt, memory[0]);
  account_of(rt, memory[0], &first);
  assert_true(first.edges > 200 && first.tasks == 40 * 7);
  for (int i = 2; i <= 10; i++) {
    run_program(rt, memory[0]);
    expect_same(rt, memory[0]);
  }
  pto_runtime_destroy(rt);
}
static void test_the_tenth_run_equals_the_first(void **state) { ten_runs(NULL, 0); }
static void test_the_tenth_run_equals_the_first_whatever_the_cores_order(void **state) { ten_runs(NULL, 9); }
static void test_the_tenth_run_equals_the_first_on_the_threads_engine(void **state) { ten_runs("threads", 0); }
static void test_the_tenth_run_equals_the_first_in_virtual_time(void **state) { ten_runs("virtual", 0); }

static void test_engines_and_ports_give_the_same_bytes_edges_and_numbers(void **state) {
  static const char *const engines[] = {"threads", "virtual", "observe", NULL};
  struct pto_runtime *rt = open_on(NULL, 0);
  run_program(rt, memory[0]);
  account_of(rt, memory[0], &first);
  pto_runtime_destroy(rt);
  for (int i = 0; i < 4; i++) {
    rt = open_on(engines[i], 5);
    run_program(rt, memory[0]);
    expect_same(rt, memory[0]);
    pto_runtime_destroy(rt);
  }
}
static void test_virtual_time_is_the_same_in_every_run(void **state) {
  struct pto_runtime *rt = open_on("virtual", 0);
  struct pto_stats stats = {.size = sizeof stats};
  run_program(rt, memory[0]);
  pto_runtime_stats(rt, &stats);
  uint64_t picoseconds = stats.virtual_ps;
  assert_true(picoseconds > 0);
  for (int i = 0; i < 5; i++) {
    run_program(rt, memory[0]);
    pto_runtime_stats(rt, &stats);
    assert_true(stats.virtual_ps == picoseconds);
  }
  pto_runtime_destroy(rt);
}

static int failing_program(struct pto_runtime *rt, void *context) {
  int status = program(rt, context);
  return status ? status : pto_report_error(rt, "at the end");
}
static int failing_early(struct pto_runtime *rt, void *context) {
  struct pto_tensor t = fixture_managed(rt, 1 << 20);
  return pto_alloc_tensors(rt, &t, 1, NULL);
}
static void test_failed_runs_between_change_nothing(void **state) {
  struct pto_runtime *rt = open_on(NULL, 3);
  run_program(rt, memory[0]);
  account_of(rt, memory[0], &first);
  for (int i = 0; i < 10; i++) {
    fixture_expect(rt, pto_run(rt, failing_program, memory[0]), PTO_EUSER);
    fixture_expect(rt, pto_run(rt, failing_early, NULL), PTO_EHEAP);
    run_program(rt, memory[0]);
    expect_same(rt, memory[0]);
  }
  pto_runtime_destroy(rt);
}

/* Handles say which run they are of in 16 bits; explicit dependencies and staleness must survive their wrap. */
static struct pto_task old_task;
static struct pto_tensor old_tensor;
static int one_explicit_edge(struct pto_runtime *rt, void *context) {
  struct pto_task task;
  struct pto_param input = pto_input(&old_tensor);
  if (old_tensor.buffer.id && pto_submit_aiv(rt, fixture_kernel("i"), &input, 1) != PTO_ESTALE) return 100;
  if (old_task.generation && pto_submit_barrier(rt, &old_task, 1, NULL) != PTO_ESTALE) return 101;
  int status = pto_submit_barrier(rt, NULL, 0, &task);
  if (!status) status = pto_submit_barrier(rt, &task, 1, NULL);
  old_task = task;
  old_tensor = fixture_managed(rt, 8);
  return status;
}
static void test_forty_thousand_runs_keep_their_handles_apart(void **state) {
  struct pto_runtime *rt = open_on(NULL, 0);
  uint16_t tag = rt->tag;
  memset(&old_task, 0, sizeof old_task);
  memset(&old_tensor, 0, sizeof old_tensor);
  for (int i = 0; i < 40000; i++) {
    fixture_expect(rt, pto_run(rt, one_explicit_edge, NULL), PTO_OK);
    assert_int_equal((uint16_t)(old_tensor.buffer.generation >> 48), tag);
    assert_int_equal(old_tensor.buffer.id, 1);
  }
  pto_runtime_destroy(rt);
}

static int ask_for_ids(struct pto_runtime *rt, void *context) {
  struct pto_buffer a = pto_create_buffer(rt, 8), b = pto_create_buffer(rt, 8);
  assert_int_equal(a.id, *(const uint64_t *)context);
  assert_int_equal(b.id, a.id + 1);
  return 0;
}
static void test_buffers_are_numbered_from_one_behind_those_registered_outside(void **state) {
  struct pto_runtime *rt = open_on(NULL, 0);
  for (uint64_t expected = 1; expected < 20; expected++) {
    for (int i = 0; i < 3; i++) fixture_expect(rt, pto_run(rt, ask_for_ids, &expected), PTO_OK);
    bytes_at(rt, memory[0], expected, 8);
  }
  pto_runtime_destroy(rt);
}
static void test_statistics_are_those_of_the_last_run(void **state) {
  struct pto_runtime *rt = open_on(NULL, 0);
  struct pto_stats stats = {.size = sizeof stats};
  run_program(rt, memory[0]);
  pto_runtime_stats(rt, &stats);
  assert_int_equal(stats.tasks, 280);
  assert_true(stats.heap_high_water_bytes >= 1024 && stats.window_high_water >= 7);
  fixture_expect(rt, pto_run(rt, one_explicit_edge, NULL), PTO_OK);
  pto_runtime_stats(rt, &stats);
  assert_int_equal(stats.tasks, 2);
  assert_int_equal(stats.edges, 1);
  assert_int_equal(stats.heap_high_water_bytes, 0);
  assert_int_equal(stats.window_high_water, 2);
  struct pto_stats small = {.size = offsetof(struct pto_stats, edges)};
  small.edges = 99;
  pto_runtime_stats(rt, &small);
  assert_int_equal(small.tasks, 2);
  assert_int_equal(small.edges, 99);
  pto_runtime_destroy(rt);
}

/* ---- side by side ---- */

static struct pto_runtime *second;
static int with_another_inside(struct pto_runtime *rt, void *context) {
  uint8_t x = 3;
  uint64_t index = 0;
  struct pto_tensor own = fixture_managed(rt, 16);
  int status = pto_alloc_tensors(rt, &own, 1, NULL);
  if (!status) status = pto_write_element(rt, &own, &index, &x);
  run_program(second, memory[1]);
  expect_same(second, memory[1]);
  x = 0;
  if (!status) status = pto_read_element(rt, &own, &index, &x);
  assert_int_equal(x, 3);
  return status;
}
static void side_by_side(const char *engine) {
  struct pto_runtime *rt = open_on(engine, 0);
  run_program(rt, memory[0]);
  account_of(rt, memory[0], &first);
  second = open_on(engine, 0);
  for (int i = 0; i < 3; i++) {
    fixture_expect(rt, pto_run(rt, with_another_inside, NULL), PTO_OK);
    run_program(rt, memory[0]);
    expect_same(rt, memory[0]);
  }
  pto_runtime_destroy(second);
  run_program(rt, memory[0]);
  expect_same(rt, memory[0]);
  pto_runtime_destroy(rt);
}
static void test_two_runtimes_side_by_side_do_not_touch_each_other(void **state) { side_by_side(NULL); }
static void test_nor_on_threads(void **state) { side_by_side("threads"); }
static void test_nor_in_virtual_time(void **state) { side_by_side("virtual"); }
static void test_a_failure_in_one_runtime_leaves_the_other_alone(void **state) {
  struct pto_runtime *a = open_on(NULL, 0), *b = open_on(NULL, 0);
  run_program(a, memory[0]);
  account_of(a, memory[0], &first);
  fixture_expect(b, pto_run(b, failing_early, NULL), PTO_EHEAP);
  assert_string_equal(pto_last_error(a), "");
  run_program(a, memory[0]);
  expect_same(a, memory[0]);
  assert_true(strlen(pto_last_error(b)) > 0);
  pto_runtime_destroy(a);
  run_program(b, memory[1]);
  expect_same(b, memory[1]);
  pto_runtime_destroy(b);
}
static void test_a_hundred_runtimes_come_and_go(void **state) {
  for (int i = 0; i < 100; i++) {
    struct pto_runtime *rt = open_on(i % 10 ? NULL : "virtual", 0);
    fixture_expect(rt, pto_run(rt, one_explicit_edge, NULL), PTO_OK); /* the last one's handles are foreign */
    pto_runtime_destroy(rt);
  }
}

/* ---- creation that fails ---- */

static int create_serial(struct pto_runtime **rt) {
  struct pto_config config = {
      .size = sizeof config, .window = 16, .heap_bytes = 4096, .policy = "fifo", .record = PTO_RECORD_GRAPH};
  struct pto_error error = {0};
  struct pto_serial_port_config port = {0};
  int status = pto_control_create(&config, pto_serial_port_create(&port), NULL, rt, &error);
  if (status) assert_true(strlen(error.sentence) > 0);
  return status;
}
static int create_on(const char *engine, struct pto_runtime **rt) {
  struct pto_config config = {.size = sizeof config, .engine = engine, .window = 16, .heap_bytes = 4096, .record = 3};
  char sentence[256] = "";
  int status = pto_runtime_create_explained(&config, rt, sentence, sizeof sentence);
  if (status) assert_true(strlen(sentence) > 0);
  return status;
}
static int create_threads(struct pto_runtime **rt) { return create_on("threads", rt); }
static int create_virtual(struct pto_runtime **rt) { return create_on("virtual", rt); }

static void create_with_failures(int (*create)(struct pto_runtime **), uint32_t *countdown) {
  uint32_t failures = 0;
  for (;;) {
    struct pto_runtime *const untouched = (struct pto_runtime *)(void *)memory, *rt = untouched;
    *countdown = failures + 1;
    int status = create(&rt);
    bool was_reached = *countdown == 0;
    *countdown = 0;
    if (status == PTO_OK) {
      fixture_expect(rt, pto_run(rt, one_explicit_edge, NULL), PTO_OK);
      pto_runtime_destroy(rt);
      if (!was_reached) break; /* went through, and the failure did not happen */
    } else {
      assert_int_equal(status, PTO_ENOMEM);
      assert_ptr_equal(rt, untouched);
    }
    assert_true(++failures < 2000);
  }
  print_message("%u points of failure\n", failures);
  assert_true(failures > 0);
}
static void test_creation_fails_cleanly_at_each_reserve(void **state) {
  create_with_failures(create_serial, &pto_reserve_fail_countdown);
}
static void test_creation_on_threads_fails_cleanly_at_each_reserve(void **state) {
  create_with_failures(create_threads, &pto_reserve_fail_countdown);
}
static void test_creation_in_virtual_time_fails_cleanly_at_each_reserve(void **state) {
  create_with_failures(create_virtual, &pto_reserve_fail_countdown);
}
static void test_creation_in_virtual_time_fails_cleanly_at_each_malloc(void **state) {
  if (!COUNTS_MALLOC) skip();
  create_with_failures(create_virtual, &malloc_fail_countdown);
}

static void expect_config_refused(struct pto_config config, const char *part) {
  struct pto_serial_port_config port = {0};
  struct pto_runtime *rt = NULL;
  struct pto_error error = {0};
  config.size = sizeof config;
  if (!config.window) config.window = 16;
  if (!config.heap_bytes) config.heap_bytes = 4096;
  if (!config.policy) config.policy = "fifo";
  assert_int_equal(pto_control_create(&config, pto_serial_port_create(&port), NULL, &rt, &error), PTO_EINVAL);
  assert_null(rt);
  if (!strstr(error.sentence, part)) fail_msg("\"%s\" does not say \"%s\"", error.sentence, part);
}
static void test_configurations_out_of_range_are_refused_with_the_value(void **state) {
  expect_config_refused((struct pto_config){.window = 1}, "window 1 ");
  expect_config_refused((struct pto_config){.recorded_deps = UINT32_MAX}, "switches a rule that there is not");
  expect_config_refused((struct pto_config){.window = 24}, "window 24 ");
  expect_config_refused((struct pto_config){.window = UINT64_C(1) << 40}, "window 1099511627776");
  expect_config_refused((struct pto_config){.heap_bytes = 1025}, "heap of 1025 bytes");
  expect_config_refused((struct pto_config){.heap_bytes = UINT64_C(1) << 50}, "heap of 1125899906842624 bytes");
  expect_config_refused((struct pto_config){.policy = "best"}, "policy \"best\"");
  expect_config_refused((struct pto_config){.policy = "random:"}, "policy \"random:\"");
  expect_config_refused((struct pto_config){.policy = "random:12x"}, "policy \"random:12x\"");
  expect_config_refused((struct pto_config){.policy = "random:99999999999999999999999"}, "policy \"random:9");
  expect_config_refused((struct pto_config){.policy = ""}, "policy \"\"");
  expect_config_refused((struct pto_config){.deps = 2}, "deps 2 ");
  expect_config_refused((struct pto_config){.map_entries = UINT64_C(1) << 32}, "map_entries");
  expect_config_refused((struct pto_config){.list_chunks = UINT64_C(1) << 32}, "list_chunks");
}
static void test_the_configuration_is_needed_for_the_creation_alone(void **state) {
  char policy[16] = "random:3", engine[16] = "virtual", chip[16] = "tiny";
  struct pto_config config = {
      .size = sizeof config, .policy = policy, .engine = engine, .chip = chip, .record = PTO_RECORD_GRAPH};
  struct pto_runtime *rt = NULL;
  assert_int_equal(pto_runtime_create(&config, &rt), PTO_OK);
  memset(policy, 'x', sizeof policy);
  memset(engine, 'x', sizeof engine);
  memset(chip, 'x', sizeof chip);
  memset(&config, 0xee, sizeof config);
  run_program(rt, memory[0]);
  account_of(rt, memory[0], &first);
  run_program(rt, memory[0]);
  expect_same(rt, memory[0]);
  pto_runtime_destroy(rt);
}
static void test_destroying_nothing_is_allowed(void **state) { pto_runtime_destroy(NULL); }

/* ---- no allocation while a run goes on ---- */

static void runs_without_allocation(const char *engine) {
  if (!COUNTS_MALLOC) skip();
  struct pto_runtime *rt = open_on(engine, 0);
  mixer();
  for (int i = 0; i < 3; i++) {
    uint64_t before = atomic_load_explicit(&allocations, memory_order_relaxed);
    int status = pto_run(rt, i == 1 ? failing_program : program, memory[0]);
    uint64_t after = atomic_load_explicit(&allocations, memory_order_relaxed);
    fixture_expect(rt, status, i == 1 ? PTO_EUSER : PTO_OK);
    assert_int_equal(after - before, 0); /* the first run too, and one that fails */
  }
  pto_runtime_destroy(rt);
}
static void test_nothing_is_allocated_while_a_run_goes_on_on_threads(void **state) {
  runs_without_allocation("threads");
}
static void test_nothing_is_allocated_while_a_run_goes_on_in_virtual_time(void **state) {
  runs_without_allocation("virtual");
}
static void test_the_count_of_allocations_counts(void **state) {
  if (!COUNTS_MALLOC) skip();
  uint64_t before = atomic_load_explicit(&allocations, memory_order_relaxed);
  pto_runtime_destroy(open_on("virtual", 0));
  assert_true(atomic_load_explicit(&allocations, memory_order_relaxed) > before);
}

#define TEST(name) cmocka_unit_test(name)
int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_the_tenth_run_equals_the_first),
      TEST(test_the_tenth_run_equals_the_first_whatever_the_cores_order),
      TEST(test_the_tenth_run_equals_the_first_on_the_threads_engine),
      TEST(test_the_tenth_run_equals_the_first_in_virtual_time),
      TEST(test_engines_and_ports_give_the_same_bytes_edges_and_numbers),
      TEST(test_virtual_time_is_the_same_in_every_run),
      TEST(test_failed_runs_between_change_nothing),
      TEST(test_forty_thousand_runs_keep_their_handles_apart),
      TEST(test_buffers_are_numbered_from_one_behind_those_registered_outside),
      TEST(test_statistics_are_those_of_the_last_run),
      TEST(test_two_runtimes_side_by_side_do_not_touch_each_other),
      TEST(test_nor_on_threads),
      TEST(test_nor_in_virtual_time),
      TEST(test_a_failure_in_one_runtime_leaves_the_other_alone),
      TEST(test_a_hundred_runtimes_come_and_go),
      TEST(test_creation_fails_cleanly_at_each_reserve),
      TEST(test_creation_on_threads_fails_cleanly_at_each_reserve),
      TEST(test_creation_in_virtual_time_fails_cleanly_at_each_reserve),
      TEST(test_creation_in_virtual_time_fails_cleanly_at_each_malloc),
      TEST(test_configurations_out_of_range_are_refused_with_the_value),
      TEST(test_the_configuration_is_needed_for_the_creation_alone),
      TEST(test_destroying_nothing_is_allowed),
      TEST(test_nothing_is_allocated_while_a_run_goes_on_on_threads),
      TEST(test_nothing_is_allocated_while_a_run_goes_on_in_virtual_time),
      TEST(test_the_count_of_allocations_counts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
