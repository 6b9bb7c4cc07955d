/* SPDX-License-Identifier: MIT */
/*
 * What the checkers say of lowered random graphs: nothing under exact and pto rules that conflicts without an order,
 * and no kernel that touches what its task does not declare.
 *
 * PTO_SEED is the first seed, PTO_RANDOM_GRAPHS how many.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <check/observe/observe.h>
#include <check/order/order_check.h>
#include <graph/run/lower_graph.h>
#include <runtime/base/base.h>
#include <runtime/control/control.h>
#include <tests/support/random_graph.h>

#define PAGE UINT64_C(4096)

static const struct random_graph_form small = {.call_count = 8, .has_views = true, .has_patterns = true};
static const struct random_graph_form large = {
    .call_count = 4, .numel = 60000, .extent = 200, .has_views = true, .has_patterns = true};

static uint64_t number(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, NULL, 10) : otherwise;
}
static uint64_t first_seed(void) { return number("PTO_SEED", 1); }
static uint64_t seed_count(void) { return number("PTO_RANDOM_GRAPHS", 100); }

/* ---- a graph over arrays of its own ---- */

/* Each value that lies outside the runtime in whole pages, inputs and constants with their bytes. */
struct world {
  struct random_graph g;
  void **arrays; /* by value; NULL: a result that is no output */
};

static uint64_t pages_of(const struct pto_graph_desc *desc) {
  return (random_graph_bytes(desc) + PAGE - 1) / PAGE * PAGE;
}

static void add_array(struct world *w, uint32_t value, const void *bytes) {
  const struct pto_graph_desc *desc = &w->g.graph->values[value].desc;
  assert_int_equal(posix_memalign(&w->arrays[value], PAGE, pages_of(desc)), 0);
  memset(w->arrays[value], 0, pages_of(desc));
  if (bytes) memcpy(w->arrays[value], bytes, random_graph_bytes(desc));
}

static void open_world(struct world *w, uint64_t seed, const struct random_graph_form *form) {
  random_graph_open_form(&w->g, seed, form);
  const struct pto_graph *graph = w->g.graph;
  w->arrays = calloc(graph->value_count, sizeof *w->arrays);
  assert_non_null(w->arrays);
  for (uint32_t i = 0; i < graph->input_count; i++) add_array(w, graph->inputs[i], w->g.inputs[i]);
  for (uint32_t v = 1; v < graph->value_count; v++)
    if (graph->values[v].kind == PTO_VALUE_CONSTANT)
      add_array(w, v, pto_graph_constant(&graph->values[v], &(struct pto_graph_desc){0}));
  for (uint32_t o = 0; o < graph->output_count; o++) add_array(w, graph->outputs[o], NULL);
}

static void close_world(struct world *w) {
  for (uint32_t v = 0; v < w->g.graph->value_count; v++) free(w->arrays[v]);
  free(w->arrays);
  random_graph_close(&w->g);
}

static struct pto_tensor tensor_of(struct pto_runtime *rt, const struct world *w, uint32_t value) {
  struct pto_graph_desc desc;
  (void)pto_graph_constant(&w->g.graph->values[value], &desc);
  return pto_external_tensor(rt, w->arrays[value], desc.dtype, desc.ndims, desc.shape);
}

static int orchestrate(struct pto_runtime *rt, void *context) {
  const struct world *w = context;
  const struct pto_graph *graph = w->g.graph;
  static struct pto_tensor inputs[RANDOM_GRAPH_OPERANDS], outputs[RANDOM_GRAPH_OPERANDS],
      constants[RANDOM_GRAPH_OPERANDS];
  uint32_t constant_count = 0;
  for (uint32_t i = 0; i < graph->input_count; i++) inputs[i] = tensor_of(rt, w, graph->inputs[i]);
  for (uint32_t o = 0; o < graph->output_count; o++) outputs[o] = tensor_of(rt, w, graph->outputs[o]);
  for (uint32_t v = 1; v < graph->value_count; v++)
    if (graph->values[v].kind == PTO_VALUE_CONSTANT) constants[constant_count++] = tensor_of(rt, w, v);
  return pto_graph_lower(graph, rt, inputs, outputs, constants);
}

static struct pto_runtime *open_runtime(const struct pto_config *config) {
  struct pto_runtime *rt = NULL;
  char sentence[PTO_SENTENCE_SIZE] = "";
  if (pto_runtime_create_explained(config, &rt, sentence, sizeof sentence)) fail_msg("%s", sentence);
  return rt;
}

static void run(struct world *w, struct pto_runtime *rt) {
  if (pto_run(rt, orchestrate, w)) fail_msg("seed %llu: %s", (unsigned long long)w->g.seed, pto_last_error(rt));
}

static void expect_nothing(const struct world *w, const struct pto_findings *findings, const char *what) {
  if (findings->total != 0)
    fail_msg("seed %llu, %s: %s: %s", (unsigned long long)w->g.seed, what,
             pto_finding_kind_name(findings->items[0].kind), findings->items[0].sentence);
}

/* ---- order ---- */

static void check_order(struct world *w, const struct pto_runtime *rt, uint32_t rules) {
  const struct pto_order_question question = {.trace = pto_runtime_trace(rt), .rules = rules};
  struct pto_findings findings;
  struct pto_order_counts counts;
  struct pto_error error;
  pto_findings_init(&findings);
  if (pto_order_check(&question, &findings, &counts, &error)) fail_msg("%s", error.sentence);
  expect_nothing(w, &findings, pto_deps_rules_name(rules).text);
  pto_findings_fini(&findings);
}

/* Buffers of dead values are handed on, but where rules order no write after reads: what was lowered under those is
 * ordered under both. */
static void check_orders(const struct random_graph_form *form, uint64_t count) {
  for (uint64_t seed = first_seed(); seed < first_seed() + count; seed++)
    for (uint32_t rules = PTO_DEPS_EXACT; rules <= PTO_DEPS_PTO; rules++) {
      struct world w;
      const struct pto_config config = {
          .size = sizeof config, .engine = "virtual", .chip = "a2a3", .record = PTO_RECORD_GRAPH, .deps = rules};
      open_world(&w, seed, form);
      w.g.graph->reuses_at_once = true;
      struct pto_runtime *rt = open_runtime(&config);
      run(&w, rt);
      for (uint32_t checked = PTO_DEPS_EXACT; checked <= rules; checked++) check_order(&w, rt, checked);
      pto_runtime_destroy(rt);
      close_world(&w);
    }
}

static void test_conflicting_accesses_of_lowered_graphs_are_ordered_under_both_rules(void **state) {
  check_orders(&small, seed_count());
  check_orders(&large, seed_count() / 8);
}

/* ---- what kernels touch ---- */

static void observe(const struct random_graph_form *form, uint64_t count) {
  for (uint64_t seed = first_seed(); seed < first_seed() + count; seed++) {
    const struct pto_observe_options options = {.calls_a_form = 2};
    const struct pto_config config = {.size = sizeof config, .engine = "observe", .chip = "a2a3"};
    struct world w;
    struct pto_observation *observation;
    struct pto_findings findings;
    struct pto_error error;
    open_world(&w, seed, form);
    w.g.graph->reuses_at_once = true;
    struct pto_runtime *rt = open_runtime(&config);
    pto_findings_init(&findings);
    if (pto_observation_create(rt, &options, &findings, &observation, &error)) fail_msg("%s", error.sentence);
    for (uint32_t v = 1; v < w.g.graph->value_count; v++)
      if (w.arrays[v]) pto_observation_add_device(observation, w.arrays[v], pages_of(&w.g.graph->values[v].desc));
    run(&w, rt);
    expect_nothing(&w, &findings, "observed");
    pto_observation_destroy(observation);
    pto_runtime_destroy(rt);
    pto_findings_fini(&findings);
    close_world(&w);
  }
}

static void test_kernels_of_lowered_graphs_touch_what_their_tasks_declare(void **state) {
  observe(&small, seed_count() / 2);
  observe(&large, seed_count() / 25);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_conflicting_accesses_of_lowered_graphs_are_ordered_under_both_rules),
      cmocka_unit_test(test_kernels_of_lowered_graphs_touch_what_their_tasks_declare),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
