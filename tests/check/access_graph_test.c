/* SPDX-License-Identifier: MIT */
/*
 * The graph that check/order/access_graph.c makes of a record against the edges that the runtime recorded: two
 * implementations of the rules of dependencies that share the overlap of regions alone.  Programs fit their windows
 * here, so nothing has expired, and both must have the same pairs of tasks with the same reasons.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <check/order/access_graph.h>
#include <runtime/base/sanitizer.h>
#include <runtime/deps/rules.h>
#include <tests/support/program_record.h>
#include <tests/support/random_program.h>
#include <tests/support/runtime_fixture.h>

/* A reason as a number that sorts: producer, consumer and what each side touches with. */
struct reason {
  uint64_t producer, consumer, reason, params;
};

static int order(const void *left, const void *right) { return memcmp(left, right, sizeof(struct reason)); }

static uint32_t param_of(const struct pto_access_graph *graph, uint32_t access) {
  return access == PTO_GRAPH_NONE ? UINT32_MAX : graph->accesses[access].param->index;
}

static uint64_t reasons_of_graph(const struct pto_access_graph *graph, struct reason *out) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < graph->edge_count; i++) {
    const struct pto_graph_edge *e = &graph->edges[i];
    if (graph->nodes[e->consumer].is_host) continue;
    out[count++] =
        (struct reason){graph->nodes[e->producer].index, graph->nodes[e->consumer].index, e->reason,
                        (uint64_t)param_of(graph, e->producer_access) << 32 | param_of(graph, e->consumer_access)};
  }
  return count;
}

static uint64_t reasons_of_trace(const struct pto_trace *trace, struct reason *out) {
  for (uint64_t i = 0; i < trace->edges.count; i++) {
    const struct pto_trace_edge *e = pto_trace_log_at(&trace->edges, i);
    out[i] =
        (struct reason){e->producer, e->consumer, e->reason, (uint64_t)e->producer_param << 32 | e->consumer_param};
  }
  return trace->edges.count;
}

/* Several pieces of one region give the same reason more than once. */
static uint64_t sort_distinct(struct reason *reasons, uint64_t count) {
  uint64_t kept = 0;
  qsort(reasons, count, sizeof *reasons, order);
  for (uint64_t i = 0; i < count; i++)
    if (!kept || memcmp(&reasons[kept - 1], &reasons[i], sizeof *reasons)) reasons[kept++] = reasons[i];
  return kept;
}

/* Returns the number of edges; fails the test where one side has a reason that the other has not. */
static uint64_t expect_same(const struct pto_trace *trace, uint32_t rules, uint64_t runtime_edges, const char *name) {
  struct pto_access_graph graph;
  struct pto_error error;
  if (pto_access_graph_init(&graph, trace, rules, &error)) fail_msg("%s: %s", name, error.sentence);
  struct reason *ours = calloc(graph.edge_count + 1, sizeof *ours),
                *theirs = calloc(trace->edges.count + 1, sizeof *theirs);
  assert_true(ours && theirs);
  const uint64_t count = sort_distinct(ours, reasons_of_graph(&graph, ours));
  const uint64_t expected = sort_distinct(theirs, reasons_of_trace(trace, theirs));
  for (uint64_t i = 0; i < count || i < expected; i++)
    if (i >= count || i >= expected || memcmp(&ours[i], &theirs[i], sizeof *ours)) {
      const struct reason *a = i < count ? &ours[i] : &ours[count], *b = i < expected ? &theirs[i] : &theirs[expected];
      fail_msg("%s: reason %llu of %llu is %llu → %llu (%llu, %llx), the runtime's of %llu is %llu → %llu (%llu, %llx)",
               name, (unsigned long long)i, (unsigned long long)count, (unsigned long long)a->producer,
               (unsigned long long)a->consumer, (unsigned long long)a->reason, (unsigned long long)a->params,
               (unsigned long long)expected, (unsigned long long)b->producer, (unsigned long long)b->consumer,
               (unsigned long long)b->reason, (unsigned long long)b->params);
    }
  if (graph.pair_count != runtime_edges)
    fail_msg("%s: %llu edges, the runtime counts %llu", name, (unsigned long long)graph.pair_count,
             (unsigned long long)runtime_edges);
  const uint64_t edges = graph.pair_count;
  free(ours);
  free(theirs);
  pto_access_graph_fini(&graph);
  return edges;
}

/* ---- random programs ---- */

static void random_programs_have_the_edges_that_the_runtime_records(void **state) {
  static struct random_program program;
  static struct random_plan plan;
  static struct random_result expected, actual;
  const uint64_t count = PTO_HAS_SANITIZER ? 100 : 1000;
  uint64_t edges[2] = {0, 0};
  (void)state;
  for (uint64_t seed = 1; seed <= count; seed++) {
    struct pto_rng rng = {seed};
    const uint32_t rules = seed % 2 ? PTO_DEPS_EXACT : random_program_weak_rules(&rng);
    struct pto_serial_port_config port = {.cluster_count = 2, .slots_per_core = 2, .seed = seed};
    struct pto_config config = {.size = sizeof config,
                                .window = 4096,
                                .heap_bytes = 1 << 20,
                                .policy = "fifo",
                                .deps = rules,
                                .poison = true, /* under weak rules what is read may not be written yet */
                                .record = PTO_RECORD_GRAPH};
    struct pto_runtime *rt = NULL;
    struct pto_error error = {0};
    char name[384];
    snprintf(name, sizeof name, "seed %llu, rules %s", (unsigned long long)seed, pto_deps_rules_name(rules).text);
    random_program_make(&program, seed);
    random_program_interpret(&program, rules, 4096, &plan, &expected);
    assert_int_equal(pto_control_create(&config, pto_serial_port_create(&port), NULL, &rt, &error), PTO_OK);
    random_program_run(&program, &plan, rt, &actual);
    if (actual.status) fail_msg("%s: %s", name, actual.sentence);
    edges[rules != PTO_DEPS_EXACT] += expect_same(pto_runtime_trace(rt), rules, actual.edges, name);
    pto_runtime_destroy(rt);
  }
  printf("%llu programs: %llu edges under exact rules, %llu under pto\n", (unsigned long long)count,
         (unsigned long long)edges[0], (unsigned long long)edges[1]);
  assert_true(edges[0] > count && edges[1] > count);
}

/* ---- example programs ---- */

static uint64_t case_count, edge_count;

static void compare_case(const char *name, const char *case_name) {
  for (uint32_t rules = PTO_DEPS_EXACT; rules <= PTO_DEPS_PTO; rules++) {
    struct program_record record;
    char text[128];
    snprintf(text, sizeof text, "%s %s, rules %s", name, case_name ? case_name : "", rules ? "pto" : "exact");
    program_record_open(&record, name, case_name, rules);
    if (record.trace) {
      edge_count += expect_same(record.trace, rules, fixture_edges(record.rt), text);
      case_count++;
    }
    program_record_close(&record);
  }
}

static void every_case_of_every_example_has_the_edges_that_the_runtime_records_under_both_rules(void **state) {
  (void)state;
  program_record_each(compare_case);
  printf("%llu runs, %llu edges\n", (unsigned long long)case_count, (unsigned long long)edge_count);
  assert_true(case_count > 100 && edge_count > 10000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_programs_have_the_edges_that_the_runtime_records),
      cmocka_unit_test(every_case_of_every_example_has_the_edges_that_the_runtime_records_under_both_rules),
  };
  return cmocka_run_group_tests_name("access graph", tests, NULL, NULL);
}
