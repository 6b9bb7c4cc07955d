/* SPDX-License-Identifier: MIT */
/* Explorations of a program that drives contexts: which of the orders of its tasks are tried, and what they are called.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include <check/session/explored.h>

#define NUMEL 4u
#define BYTES (NUMEL * sizeof(float))

static int copy_run(const struct pto_kernel_args *a) {
  memcpy(a->tensors[1].addr, a->tensors[0].addr, BYTES);
  return 0;
}
static const struct pto_kernel_param params[] = {{.mode = PTO_INPUT}, {.mode = PTO_OUTPUT}};
static const struct pto_kernel copy = {
    .name = "copy", .cores = PTO_AIV, .params = params, .param_count = 2, .run = copy_run};

static int submit_copy(struct pto_runtime *rt, const struct pto_bound *bound) {
  return pto_submit_aiv(rt, &copy, (struct pto_param[]){pto_input(&bound->inputs[0]), pto_output(&bound->outputs[0])},
                        2);
}

static const struct pto_operand x = {.name = "x", .dtype = PTO_FLOAT32, .ndims = 1, .shape = {NUMEL}},
                                z = {.name = "z", .dtype = PTO_FLOAT32, .ndims = 1, .shape = {NUMEL}};
static const struct pto_device_program copying = {
    .name = "copy", .inputs = &x, .outputs = &z, .input_count = 1, .output_count = 1, .orchestrate = submit_copy};

/* ---- the program ---- */

/* What a context does between a dispatch that reads tensor 0 and what writes it, which rules pto do not order. */
static struct form {
  bool syncs, peeks;    /* waits for all; waits for tensor 2, which no task writes */
  bool is_host_writing; /* behind a sync of earlier tasks the host writes, else a task */
  uint32_t contexts;
} form;

static int dispatch(struct pto_context *context, struct pto_device_tensor from, struct pto_device_tensor to) {
  const struct pto_binding in = {"x", from}, out = {"z", to};
  const struct pto_dispatch_bindings bindings = {.inputs = &in, .outputs = &out, .input_count = 1, .output_count = 1};
  return pto_context_dispatch(context, &copying, &bindings);
}

static int drive(struct pto_context *context, float *seen) {
  static const struct pto_device_tensor_desc desc = {.dtype = PTO_FLOAT32, .ndims = 1, .shape = {NUMEL}};
  static const float zeros[NUMEL], ones[NUMEL] = {1, 1, 1, 1};
  struct pto_device_tensor t[3];
  int status = PTO_OK;
  for (int i = 0; i < 3 && !status; i++) status = pto_device_tensor_create_host(context, &desc, &t[i]);
  if (!status) status = pto_device_tensor_write(context, t[0], ones, BYTES);
  if (!status && form.is_host_writing) status = dispatch(context, t[2], t[1]);
  if (!status && form.is_host_writing) status = pto_context_sync(context);
  if (!status) status = dispatch(context, t[0], t[1]);
  if (!status && form.syncs) status = pto_context_sync(context);
  if (!status && form.peeks) status = pto_device_tensor_read(context, t[2], seen, BYTES);
  if (!status)
    status =
        form.is_host_writing ? pto_device_tensor_write(context, t[0], zeros, BYTES) : dispatch(context, t[2], t[0]);
  if (!status) status = pto_context_sync(context);
  return status ? status : pto_device_tensor_read(context, t[1], seen, BYTES);
}

static int host(struct pto_program_run *run) {
  float *seen = pto_program_find(run, "seen")->data;
  int status = PTO_OK;
  for (uint32_t i = 0; i < form.contexts && !status; i++) {
    const struct pto_context_options options = {.size = sizeof options, .runtime = *pto_program_config(run)};
    struct pto_context *context;
    status = pto_context_create(&options, &context, NULL, 0);
    if (status) return status;
    status = drive(context, seen + i * NUMEL);
    pto_context_destroy(context); /* without a report */
  }
  return status;
}

static int prepare(struct pto_program_run *run) {
  pto_program_array(run, "seen", PTO_ARRAY_OUTPUT, PTO_FLOAT32, 2, (uint64_t[]){form.contexts, NUMEL});
  return PTO_OK;
}

static const struct pto_program program = {.abi = PTO_PROGRAM_ABI, .name = "test", .prepare = prepare, .host = host};

static void begin(struct pto_explored *explored, struct form of) {
  const struct pto_config config = {.size = sizeof config, .chip = "tiny", .deps = PTO_DEPS_PTO};
  const struct pto_session_options options = {
      .size = sizeof options, .made = &program, .config = &config, .has_deps = true};
  form = of;
  *explored = (struct pto_explored){0};
  if (pto_explored_open(explored, &options, false) || pto_explored_begin(explored, NULL))
    fail_msg("%s", explored->error.sentence);
  assert_int_equal(explored->explore.counts.contexts, of.contexts);
  assert_true(pto_findings_is_clean(&explored->findings));
}

/* ---- the tests ---- */

static void test_what_no_wait_orders_is_tried_in_both_orders(void **state) {
  for (int peeks = 0; peeks < 2; peeks++) {
    struct pto_explored explored;
    begin(&explored, (struct form){.peeks = peeks, .contexts = 1});
    assert_int_equal(pto_explore_all(&explored.explore, 100, &explored.error), PTO_OK);
    assert_int_equal(explored.explore.counts.orders, 2 + peeks); /* the first task, or both, behind what is read */
    assert_true(explored.explore.counts.is_complete);
    const struct pto_finding *found = explored.findings.items;
    if (peeks) found++; /* the first one is a note: what the host peeks at has no values */
    assert_int_equal(explored.findings.count, 1 + peeks);
    assert_int_equal(found->tasks[0], 0);
    assert_int_equal(found->tasks[1], 1);
    pto_explored_close(&explored);
  }
}

static void test_a_sync_is_a_path(void **state) {
  struct pto_explored explored;
  begin(&explored, (struct form){.syncs = true, .contexts = 1});
  assert_true(pto_explore_graph_is_before(&explored.explore.graph, 0, 1));
  assert_int_equal(pto_explore_all(&explored.explore, 100, &explored.error), PTO_OK);
  assert_int_equal(explored.explore.counts.orders, 1);
  assert_true(pto_findings_is_clean(&explored.findings));
  pto_explored_close(&explored);
}

/* Each context has two orders, in any combination. */
static void test_tasks_of_contexts_are_numbered_on(void **state) {
  struct pto_explored explored;
  uint64_t second = 0;
  begin(&explored, (struct form){.contexts = 2});
  const struct pto_explore_graph *graph = &explored.explore.graph;
  assert_int_equal(graph->task_count, 4);
  assert_true(pto_explore_graph_is_before(graph, 0, 2) && pto_explore_graph_is_before(graph, 1, 3));
  assert_false(pto_explore_graph_is_before(graph, 0, 1) || pto_explore_graph_is_before(graph, 2, 3));
  assert_int_equal(pto_explore_all(&explored.explore, 100, &explored.error), PTO_OK);
  assert_int_equal(explored.explore.counts.orders, 4);
  const struct pto_schedule_name hurry = {PTO_STRATEGY_HURRY, 3};
  assert_int_equal(pto_explore_replay(&explored.explore, &hurry, NULL, &explored.error), PTO_OK);
  for (uint32_t i = 0; i < explored.findings.count; i++)
    second += explored.findings.items[i].tasks[0] == 2 && explored.findings.items[i].tasks[1] == 3;
  assert_true(second > 0);
  pto_explored_close(&explored);
}

static void test_after_a_sync_the_host_and_tasks_have_orders_again(void **state) {
  struct pto_explored explored;
  begin(&explored, (struct form){.is_host_writing = true, .contexts = 1});
  /* With task 0 delayed the sync has to wait for it; then all is sequential. */
  const struct pto_schedule_name names[] = {{PTO_STRATEGY_DELAY, 0}, {PTO_STRATEGY_AHEAD, 0}};
  for (int i = 0; i < 2; i++) {
    assert_int_equal(pto_explore_replay(&explored.explore, &names[i], NULL, &explored.error), PTO_OK);
    assert_int_equal(explored.explore.counts.differing, i);
  }
  assert_memory_equal(explored.explore.outputs[0], (float[]){1}, sizeof(float)); /* in sequence the task came first */
  pto_explored_close(&explored);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_no_wait_orders_is_tried_in_both_orders),
      cmocka_unit_test(test_a_sync_is_a_path),
      cmocka_unit_test(test_tasks_of_contexts_are_numbered_on),
      cmocka_unit_test(test_after_a_sync_the_host_and_tasks_have_orders_again),
  };
  return cmocka_run_group_tests_name("explored_contexts", tests, NULL, NULL);
}
