/* SPDX-License-Identifier: MIT */
/* The graph of a recorded run: which tasks are dependent, and who comes before whom. */
#include <check/explore/graph.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pto/pto.h>

static _Alignas(64) uint8_t memory[4096];
static int run_nothing(const struct pto_kernel_args *args) { return 0; }

#define BYTES(mode_)                                                                                                   \
  { .mode = mode_, .min_rank = 1, .max_rank = 1 }
static const struct pto_kernel_param read_params[] = {BYTES(PTO_INPUT)}, write_params[] = {BYTES(PTO_OUTPUT)},
                                     add_params[] = {BYTES(PTO_ACCUMULATE)};
static const struct pto_kernel reader = {"reader", PTO_AIV, 0, read_params, 1, run_nothing, NULL, NULL, NULL};
static const struct pto_kernel writer = {"writer", PTO_AIV, 0, write_params, 1, run_nothing, NULL, NULL, NULL};
static const struct pto_kernel adder = {"adder", PTO_AIV, 0, add_params, 1, run_nothing, NULL, NULL, NULL};
static const struct pto_kernel turner = {"turner", PTO_AIV, PTO_KERNEL_TURNS, add_params, 1, run_nothing, NULL,
                                         NULL,     NULL};

static const struct pto_kernel_param other_params[] = {{.name = "x", .mode = PTO_UNUSED}};
static const struct pto_kernel other_turner = {
    "other_turner", PTO_AIC, PTO_KERNEL_TURNS, other_params, 1, run_nothing, NULL, NULL, NULL};

static struct pto_tensor bytes(struct pto_runtime *rt, uint64_t offset, uint64_t count) {
  return pto_external_tensor(rt, memory + offset, PTO_UINT8, 1, &count);
}
static int read_of(struct pto_runtime *rt, struct pto_tensor t) {
  return pto_submit_aiv(rt, &reader, (struct pto_param[]){pto_input(&t)}, 1);
}
static int write_of(struct pto_runtime *rt, struct pto_tensor t) {
  return pto_submit_aiv(rt, &writer, (struct pto_param[]){pto_output(&t)}, 1);
}
static int add_in_blocks(struct pto_runtime *rt, const struct pto_kernel *kernel, struct pto_tensor t) {
  const struct pto_launch launch = {.aiv0 = kernel, .block_count = 3};
  return pto_submit(rt, &launch, (struct pto_param[]){pto_accumulate(&t)}, 1, NULL);
}

/* 0 writes the first half of a range, 1 its second half; 2 reads a registration that overlaps both; 3 and 4 write fresh
 * buffers; 5 reads 3's; 6 reads bytes far away, 7 nothing of the first range; 8 is a barrier behind 5 alone; 9 comes
 * after 8; 10 adds in blocks, 11 in turns; 12 in blocks, beside a kernel that takes turns and does not add. */
static int orchestrate(struct pto_runtime *rt, void *context) {
  const uint64_t size = 64;
  const struct pto_tensor whole = bytes(rt, 0, 1024),
                          fresh_a = pto_managed_tensor(rt, pto_create_buffer(rt, 64), PTO_UINT8, 1, &size),
                          fresh_b = pto_managed_tensor(rt, pto_create_buffer(rt, 64), PTO_UINT8, 1, &size);
  struct pto_task fifth, barrier;
  int status = write_of(rt, pto_tensor_slice(&whole, 0, 0, 512, 1));
  if (status == PTO_OK) status = write_of(rt, pto_tensor_slice(&whole, 0, 512, 1024, 1));
  if (status == PTO_OK) status = read_of(rt, bytes(rt, 1000, 100));
  if (status == PTO_OK) status = write_of(rt, fresh_a);
  if (status == PTO_OK) status = write_of(rt, fresh_b);
  const struct pto_launch launch = {.aiv0 = &reader};
  if (status == PTO_OK) status = pto_submit(rt, &launch, (struct pto_param[]){pto_input(&fresh_a)}, 1, &fifth);
  if (status == PTO_OK) status = read_of(rt, bytes(rt, 3000, 10));
  if (status == PTO_OK) status = read_of(rt, pto_tensor_slice(&whole, 0, 7, 7, 1));
  if (status == PTO_OK) status = pto_submit_barrier(rt, &fifth, 1, &barrier);
  const struct pto_launch after = {.aiv0 = &reader, .after = &barrier, .after_count = 1};
  const struct pto_tensor far = bytes(rt, 3000, 10);
  if (status == PTO_OK) status = pto_submit(rt, &after, (struct pto_param[]){pto_input(&far)}, 1, NULL);
  if (status == PTO_OK) status = add_in_blocks(rt, &adder, bytes(rt, 2000, 8));
  if (status == PTO_OK) status = add_in_blocks(rt, &turner, bytes(rt, 2100, 8));
  const struct pto_tensor sum = bytes(rt, 2200, 8);
  const struct pto_launch mix = {.aic = &other_turner, .aiv0 = &adder, .block_count = 3};
  return status ? status : pto_submit(rt, &mix, (struct pto_param[]){pto_accumulate(&sum)}, 1, NULL);
}

static void with_graph(void (*look)(const struct pto_explore_graph *graph)) {
  const struct pto_config config = {
      .size = sizeof config, .engine = "explore", .window = 64, .record = PTO_RECORD_GRAPH};
  struct pto_runtime *rt;
  struct pto_explore_graph graph;
  assert_int_equal(pto_runtime_create(&config, &rt), PTO_OK);
  if (pto_run(rt, orchestrate, NULL)) fail_msg("%s", pto_last_error(rt));
  assert_int_equal(pto_explore_graph_init(&graph, pto_runtime_trace(rt)), PTO_OK);
  pto_runtime_destroy(rt); /* the graph is a copy */
  look(&graph);
  pto_explore_graph_fini(&graph);
}

static bool depend(const struct pto_explore_graph *graph, uint64_t a, uint64_t b) {
  const bool one = pto_explore_graph_is_dependent(graph, a, b);
  assert_int_equal(one, pto_explore_graph_is_dependent(graph, b, a));
  return one;
}

static void look_at_dependence(const struct pto_explore_graph *graph) {
  const struct pto_explore_touch *a, *b;
  uint64_t external;
  assert_int_equal(pto_explore_graph_external(graph, &external), PTO_OK);
  assert_int_equal(external, 6); /* from bytes 0, 1000, 2000, 2100, 2200 and 3000 on, the last for two tasks */
  assert_int_equal(graph->task_count, 13);
  assert_true(depend(graph, 0, 1));  /* one buffer, whatever the bytes */
  assert_true(depend(graph, 0, 2));  /* ranges that meet are one memory */
  assert_false(depend(graph, 3, 4)); /* managed buffers are each their own */
  assert_true(depend(graph, 3, 5));
  assert_false(depend(graph, 2, 6)); /* other memory */
  assert_false(depend(graph, 6, 9)); /* two reads */
  assert_false(depend(graph, 0, 7)); /* an empty tensor touches nothing */
  assert_false(depend(graph, 8, 5));
  assert_true(pto_explore_graph_shares_bytes(graph, 1, 2, &a, &b));
  assert_int_equal(a->mode, PTO_OUTPUT);
  assert_int_equal(b->mode, PTO_INPUT);
  assert_int_equal(a->param, 0);
  assert_true(a->buffer_number != b->buffer_number);
}

static void look_at_order(const struct pto_explore_graph *graph) {
  static const uint8_t needed[] = {0, 0, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0};
  uint8_t marks[13];
  assert_true(pto_explore_graph_is_before(graph, 3, 5));
  assert_true(pto_explore_graph_is_before(graph, 3, 9)); /* through the barrier */
  assert_false(pto_explore_graph_is_before(graph, 9, 3));
  assert_false(pto_explore_graph_is_before(graph, 4, 9));
  assert_true(pto_explore_graph_is_before(graph, 1, 2));
  assert_false(pto_explore_graph_is_before(graph, 0, 2)); /* other bytes: an edge is about bytes */
  pto_explore_graph_mark_producers(graph, 9, marks);
  assert_memory_equal(marks, needed, sizeof needed);
  assert_string_equal(graph->tasks[8].name, "barrier");
  assert_string_equal(graph->tasks[5].name, "reader");
  assert_int_equal(graph->tasks[5].producer_count, 1);
  assert_int_equal(graph->tasks[5].given_count, 0); /* found by bytes */
  assert_int_equal(graph->tasks[9].given_count, 1);
  assert_true(graph->tasks[10].is_sequential);
  assert_false(graph->tasks[11].is_sequential);
  assert_true(graph->tasks[12].is_sequential);
}

static void test_tasks_are_dependent_by_memory_and_mode_and_not_by_bytes(void **state) {
  with_graph(look_at_dependence);
}
static void test_paths_of_edges_are_known(void **state) { with_graph(look_at_order); }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tasks_are_dependent_by_memory_and_mode_and_not_by_bytes),
      cmocka_unit_test(test_paths_of_edges_are_known),
  };
  return cmocka_run_group_tests_name("explore_graph", tests, NULL, NULL);
}
