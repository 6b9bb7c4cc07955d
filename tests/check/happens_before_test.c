/* SPDX-License-Identifier: MIT */
/*
 * Conflicts without a path, and explicit edges that can go, against brute force over the transitive closure of the
 * graph: random orchestrations under both rules, with explicit edges left out at random, which is what makes conflicts
 * in manual scopes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <check/order/happens_before.h>
#include <runtime/base/sanitizer.h>
#include <tests/support/random_program.h>
#include <tests/support/runtime_fixture.h>

#define MAX_NODES (2 * RANDOM_MAX_OPS)

static struct pto_access_graph graph;
static struct pto_reach reach;
static bool has_path[MAX_NODES][MAX_NODES]; /* [earlier][later] */
static bool is_told[MAX_NODES][MAX_NODES];
static char label[96];

/* ---- the closure ---- */

static void close_paths(void) {
  memset(has_path, 0, sizeof has_path);
  for (uint32_t b = 0; b < graph.node_count; b++) {
    const struct pto_graph_node *node = &graph.nodes[b];
    has_path[b][b] = true;
    for (uint32_t k = 0; k < node->before_count; k++)
      for (uint32_t a = 0; a < b; a++) has_path[a][b] |= has_path[a][graph.before[node->first_before + k]];
  }
}

static void expect_paths(void) {
  static uint32_t path[MAX_NODES];
  for (uint32_t a = 0; a < graph.node_count; a++)
    for (uint32_t b = 0; b < graph.node_count; b++) {
      if (pto_reach_has_path(&reach, a, b) != has_path[a][b])
        fail_msg("%s: path from node %u to %u: %d expected", label, a, b, has_path[a][b]);
      if ((a + b) % 7) continue;
      const uint32_t length = pto_reach_shortest_path(&reach, a, b, path);
      assert_int_equal(length != 0, has_path[a][b]);
      for (uint32_t i = 1; i < length; i++) {
        const struct pto_graph_node *node = &graph.nodes[path[i]];
        bool is_edge = false;
        for (uint32_t k = 0; k < node->before_count; k++)
          is_edge |= graph.before[node->first_before + k] == path[i - 1];
        assert_true(is_edge);
      }
      if (length) assert_true(path[0] == a && path[length - 1] == b);
    }
}

/* ---- conflicts ---- */

static enum pto_overlap overlap_of(const struct pto_graph_access *a, const struct pto_graph_access *b) {
  struct pto_region x, y;
  if (a->space != b->space) return PTO_DISJOINT;
  pto_graph_region(&graph, a, &x);
  pto_graph_region(&graph, b, &y);
  x.is_fuzzy = y.is_fuzzy = 0;
  return pto_region_overlap(&x, &y, NULL);
}

static bool comes_before(uint32_t earlier, uint32_t later) {
  const bool is_task = !graph.nodes[earlier].is_host;
  return has_path[earlier][later] || (is_task && pto_graph_task(&graph, earlier)->kind == PTO_TASK_ALLOC);
}

/* Whether a write after `earlier`'s node and before node `later` covers the access and comes after it by a path. */
static bool is_shadowed(const struct pto_graph_access *earlier, uint32_t later) {
  for (uint64_t i = 0; i < graph.access_count; i++) {
    const struct pto_graph_access *write = &graph.accesses[i];
    if (!write->writes || write->node <= earlier->node || write->node >= later || !has_path[earlier->node][write->node])
      continue;
    const enum pto_overlap relation = overlap_of(write, earlier);
    if (relation == PTO_EQUAL || relation == PTO_COVERS) return true;
  }
  return false;
}

static uint64_t conflict_count, told_count, by_kind[8];

static void take(void *context, const struct pto_conflict *conflict) {
  (void)context;
  assert_true(conflict->earlier < conflict->later);
  if (is_told[conflict->earlier][conflict->later]) fail_msg("%s: told twice", label);
  is_told[conflict->earlier][conflict->later] = true;
  assert_int_equal(graph.accesses[conflict->earlier_access].node, conflict->earlier);
  assert_int_equal(graph.accesses[conflict->later_access].node, conflict->later);
  assert_int_equal(conflict->kind, pto_conflict_kind(&graph.accesses[conflict->earlier_access],
                                                     &graph.accesses[conflict->later_access]));
  assert_true(overlap_of(&graph.accesses[conflict->earlier_access], &graph.accesses[conflict->later_access]));
  by_kind[conflict->kind]++;
  told_count++;
}

static void expect_conflicts(void) {
  struct pto_happens_before result;
  uint64_t before = told_count, unordered = 0;
  memset(is_told, 0, sizeof is_told);
  assert_int_equal(pto_happens_before_check(&reach, take, NULL, &result), PTO_OK);
  assert_int_equal(result.conflicts, told_count - before);
  static bool expected[MAX_NODES][MAX_NODES];
  memset(expected, 0, sizeof expected);
  for (uint64_t j = 0; j < graph.access_count; j++)
    for (uint64_t i = 0; i < graph.access_count; i++) {
      const struct pto_graph_access *a = &graph.accesses[i], *b = &graph.accesses[j];
      if (a->node >= b->node || !pto_conflict_kind(a, b) || comes_before(a->node, b->node)) continue;
      if (overlap_of(a, b) == PTO_DISJOINT) continue;
      unordered++;
      if (!is_shadowed(a, b->node)) expected[a->node][b->node] = true;
    }
  for (uint32_t a = 0; a < graph.node_count; a++)
    for (uint32_t b = 0; b < graph.node_count; b++)
      if (expected[a][b] != is_told[a][b])
        fail_msg("%s: nodes %u and %u: %s", label, a, b, expected[a][b] ? "not told" : "told for nothing");
  conflict_count += unordered;
  assert_int_equal(unordered == 0, result.conflicts == 0);
}

/* ---- what is told is enough ---- */

/* With an edge for every pair told, no conflict lacks a path. */
static void expect_repaired(void) {
  memset(has_path, 0, sizeof has_path);
  for (uint32_t b = 0; b < graph.node_count; b++) {
    const struct pto_graph_node *node = &graph.nodes[b];
    has_path[b][b] = true;
    for (uint32_t k = 0; k < node->before_count; k++) is_told[graph.before[node->first_before + k]][b] = true;
    for (uint32_t p = 0; p < b; p++)
      for (uint32_t a = 0; is_told[p][b] && a <= p; a++) has_path[a][b] |= has_path[a][p];
  }
  for (uint64_t j = 0; j < graph.access_count; j++)
    for (uint64_t i = 0; i < graph.access_count; i++) {
      const struct pto_graph_access *a = &graph.accesses[i], *b = &graph.accesses[j];
      if (a->node < b->node && pto_conflict_kind(a, b) && !comes_before(a->node, b->node) && overlap_of(a, b))
        fail_msg("%s: nodes %u and %u are in conflict although all that was told is mended", label, a->node, b->node);
    }
}

/* ---- explicit edges that can go ---- */

static bool is_redundant[MAX_NODES][MAX_NODES];
static uint64_t redundant_count;

static void take_redundancy(void *context, const struct pto_redundancy *redundancy) {
  (void)context;
  is_redundant[redundancy->producer][redundancy->consumer] = true;
  redundant_count++;
}

/* Paths of the graph without the explicit edges that were told, and whose pair has no other reason. */
static void expect_redundancies(void) {
  memset(is_redundant, 0, sizeof is_redundant);
  pto_happens_before_redundant(&reach, take_redundancy, NULL);
  static bool without[MAX_NODES][MAX_NODES];
  memset(without, 0, sizeof without);
  for (uint32_t b = 0; b < graph.node_count; b++) {
    const struct pto_graph_node *node = &graph.nodes[b];
    without[b][b] = true;
    for (uint32_t k = 0; k < node->before_count; k++) {
      const uint32_t p = graph.before[node->first_before + k];
      uint64_t count;
      const struct pto_graph_edge *edges = pto_graph_edges_between(&graph, p, b, &count);
      bool is_needed = count == 0; /* the host's */
      for (uint64_t e = 0; e < count; e++) is_needed |= edges[e].reason != PTO_EDGE_EXPLICIT;
      if (!is_needed && is_redundant[p][b]) continue;
      for (uint32_t a = 0; a < b; a++) without[a][b] |= without[a][p];
    }
  }
  for (uint32_t a = 0; a < graph.node_count; a++)
    for (uint32_t b = 0; b < graph.node_count; b++)
      if (without[a][b] != has_path[a][b]) fail_msg("%s: node %u no more before %u", label, a, b);
  /* and no other explicit edge could have gone */
  for (uint64_t i = 0; i < graph.edge_count; i++) {
    const struct pto_graph_edge *e = &graph.edges[i];
    if (e->reason != PTO_EDGE_EXPLICIT || is_redundant[e->producer][e->consumer]) continue;
    for (uint32_t k = 0; k < graph.nodes[e->consumer].before_count; k++) {
      const uint32_t p = graph.before[graph.nodes[e->consumer].first_before + k];
      assert_false(p != e->producer && has_path[e->producer][p]);
    }
  }
}

/* ---- random orchestrations ---- */

/* One in `one_in` explicit edges goes; as the log has no holes, it becomes a reason that the graph does not read. */
static void drop_explicit(const struct pto_trace *trace, struct pto_rng *rng, uint32_t one_in) {
  for (uint64_t i = 0; i < trace->edges.count; i++) {
    struct pto_trace_edge *edge = pto_trace_log_at(&trace->edges, i);
    if (edge->reason == PTO_EDGE_EXPLICIT && pto_rng_below(rng, one_in) == 0) edge->reason = PTO_EDGE_RAW;
  }
}

static void check_graph(const struct pto_trace *trace, uint32_t rules) {
  struct pto_error error;
  assert_int_equal(pto_access_graph_init(&graph, trace, rules, &error), PTO_OK);
  assert_true(graph.node_count <= MAX_NODES);
  assert_int_equal(pto_reach_init(&reach, &graph), PTO_OK);
  close_paths();
  expect_paths();
  expect_redundancies();
  expect_conflicts();
  expect_repaired();
  pto_reach_fini(&reach);
  pto_access_graph_fini(&graph);
}

static void conflicts_without_a_path_are_those_of_the_transitive_closure(void **state) {
  static struct random_program program;
  static struct random_plan plan;
  static struct random_result expected, actual;
  const uint64_t count = PTO_HAS_SANITIZER ? 20 : 150;
  (void)state;
  for (uint64_t seed = 1; seed <= count; seed++) {
    struct pto_rng rng = {seed};
    struct pto_serial_port_config port = {.cluster_count = 2, .slots_per_core = 2, .seed = seed};
    struct pto_config config = {
        .size = sizeof config, .window = 4096, .heap_bytes = 1 << 20, .policy = "fifo", .record = PTO_RECORD_GRAPH};
    struct pto_runtime *rt = NULL;
    struct pto_error error = {0};
    random_program_make(&program, seed);
    random_program_interpret(&program, PTO_DEPS_EXACT, 4096, &plan, &expected);
    assert_int_equal(pto_control_create(&config, pto_serial_port_create(&port), NULL, &rt, &error), PTO_OK);
    random_program_run(&program, &plan, rt, &actual);
    if (actual.status) fail_msg("seed %llu: %s", (unsigned long long)seed, actual.sentence);
    const struct pto_trace *trace = pto_runtime_trace(rt);
    const uint64_t before = told_count;
    for (uint32_t rules = PTO_DEPS_EXACT; rules <= PTO_DEPS_PTO; rules++) {
      snprintf(label, sizeof label, "seed %llu, rules %u", (unsigned long long)seed, rules);
      check_graph(trace, rules);
      if (rules == PTO_DEPS_EXACT) assert_int_equal(told_count, before); /* it was right, and exact rules say so */
    }
    drop_explicit(trace, &rng, 1 + (uint32_t)pto_rng_below(&rng, 4));
    for (uint32_t rules = PTO_DEPS_EXACT; rules <= PTO_DEPS_PTO; rules++) {
      snprintf(label, sizeof label, "seed %llu with edges left out, rules %u", (unsigned long long)seed, rules);
      check_graph(trace, rules);
    }
    pto_runtime_destroy(rt);
  }
  printf("%llu orchestrations: %llu pairs of accesses without a path, %llu pairs of nodes told (%llu RAW, %llu WAW, "
         "%llu WAR), %llu explicit edges that can go\n",
         (unsigned long long)count, (unsigned long long)conflict_count, (unsigned long long)told_count,
         (unsigned long long)by_kind[PTO_EDGE_RAW], (unsigned long long)by_kind[PTO_EDGE_WAW],
         (unsigned long long)by_kind[PTO_EDGE_WAR], (unsigned long long)redundant_count);
  assert_true(by_kind[PTO_EDGE_RAW] && by_kind[PTO_EDGE_WAW] && by_kind[PTO_EDGE_WAR] && redundant_count);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(conflicts_without_a_path_are_those_of_the_transitive_closure),
  };
  return cmocka_run_group_tests_name("happens before", tests, NULL, NULL);
}
