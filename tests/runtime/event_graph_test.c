/* SPDX-License-Identifier: MIT */
/*
 * The event graph of random programs in virtual time, on every shipped chip: it explains each moment of the run, its
 * path adds up, and it says what a longer segment does to the end.  The oracle is a plain forward and a plain backward
 * pass here, and the engine itself, run again with one kernel call that takes longer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <pto/pto.h>

#include <report/run/accounts.h>
#include <report/run/run_path.h>
#include <runtime/control/control.h>
#include <sim/chips/chip.h>

#define TILES 24u
#define TILE_ELEMS 16u
#define TASKS 160u
#define SEEDS 8u

/* Vector elements of each task, so that nothing else decides how long it takes; blocks take the same. */
static uint64_t elems[TASKS];
static uint32_t memory[TILES][TILE_ELEMS];
static struct pto_rng rng;

static int run_nothing(const struct pto_kernel_args *args) { return 0; }
static struct pto_cost cost(const struct pto_kernel_args *args) {
  return (struct pto_cost){.vector_elems = elems[args->scalars[0].u64]};
}
static const struct pto_kernel_param params[] = {
    {.mode = PTO_INPUT}, {.mode = PTO_INOUT}, {.mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64}};
static const struct pto_kernel kernel = {
    .name = "some", .cores = PTO_AIC | PTO_AIV, .params = params, .param_count = 3, .run = run_nothing, .cost = cost};

struct step {
  uint32_t in, out, blocks, shape;
  bool is_sync, ends_scope, reads;
} steps[TASKS];

static uint32_t below(uint32_t bound) { return (uint32_t)pto_rng_below(&rng, bound); }

static void make_program(uint64_t seed) {
  rng = (struct pto_rng){seed};
  const uint32_t spread = 3 + below(TILES - 3), longest = 1u << (4 + below(16));
  for (uint32_t i = 0; i < TASKS; i++) {
    const uint32_t out = below(spread);
    steps[i] = (struct step){.in = (out + 1 + below(spread - 1)) % spread,
                             .out = out,
                             .blocks = below(8) ? 1 : 1 + below(3),
                             .shape = below(4),
                             .is_sync = below(10) == 0,
                             .ends_scope = below(30) == 0 || i % 40 == 39,
                             .reads = below(40) == 0};
    elems[i] = below(longest);
  }
}

static int orchestrate(struct pto_runtime *rt, void *context) {
  const uint64_t shape[] = {TILES, TILE_ELEMS}, tile[] = {1, TILE_ELEMS};
  struct pto_tensor whole = pto_external_tensor(rt, memory, PTO_UINT32, 2, shape);
  if (pto_scope_begin(rt, PTO_SCOPE_AUTO)) return 1;
  for (uint32_t i = 0; i < TASKS; i++) {
    const struct step *step = &steps[i];
    struct pto_tensor in = pto_tensor_view(&whole, (uint64_t[]){step->in, 0}, tile);
    struct pto_tensor out = pto_tensor_view(&whole, (uint64_t[]){step->out, 0}, tile);
    const struct pto_param its[] = {pto_input(&in), pto_inout(&out), pto_scalar_u64(i)};
    struct pto_launch launch = {
        .size = sizeof launch, .block_count = step->blocks, .sync_start = step->is_sync && step->blocks == 1};
    if (step->shape != 1) launch.aiv0 = &kernel;
    if (step->shape == 1 || step->shape == 2) launch.aic = &kernel;
    int status = pto_submit(rt, &launch, its, 3, NULL);
    if (status) return status;
    uint32_t value;
    if (step->reads && (status = pto_read_element(rt, &out, (uint64_t[]){0, 0}, &value))) return status;
    if (step->ends_scope && (pto_scope_end(rt) || pto_scope_begin(rt, PTO_SCOPE_AUTO))) return 1;
  }
  return pto_scope_end(rt);
}

static struct pto_runtime *make_runtime(const char *chip) {
  const struct pto_config config = {.size = sizeof config,
                                    .engine = "virtual",
                                    .chip = chip,
                                    .window = 64,
                                    .heap_bytes = 1 << 20,
                                    .record = PTO_RECORD_GRAPH | PTO_RECORD_TIMELINE | PTO_RECORD_SEGMENTS};
  struct pto_runtime *rt = NULL;
  char sentence[1024] = "";
  if (pto_runtime_create_explained(&config, &rt, sentence, sizeof sentence)) fail_msg("%s", sentence);
  return rt;
}

/* The end of the run; its graph. */
static uint64_t run(struct pto_runtime *rt, struct pto_event_graph *graph) {
  struct pto_stats stats = {.size = sizeof stats};
  struct pto_error error;
  if (pto_run(rt, orchestrate, NULL)) fail_msg("%s", pto_last_error(rt));
  pto_runtime_stats(rt, &stats);
  assert_int_equal(pto_event_graph_init(pto_runtime_trace(rt), graph, &error), PTO_OK);
  return stats.virtual_ps;
}

/* ---- the oracle ---- */

static uint64_t later(const uint64_t *ends, uint32_t node, uint64_t time) {
  return node == PTO_NO_NODE ? time : pto_max_u64(time, ends[node]);
}

/* With one node longer: where each ends, and the run. */
static uint64_t forward(const struct pto_event_graph *graph, uint32_t longer, uint64_t by, uint64_t *ends) {
  uint64_t last = 0;
  for (uint32_t i = 0; i < graph->node_count; i++) {
    const struct pto_event_node *node = &graph->nodes[i];
    uint64_t begin = later(ends, node->before, later(ends, node->cause, 0));
    for (uint32_t k = 0; k < node->link_count; k++) begin = later(ends, graph->links[node->first_link + k], begin);
    ends[i] = begin + node->duration + (i == longer ? by : 0);
    last = pto_max_u64(last, ends[i]);
  }
  return last;
}

static void lower(uint64_t *latest, uint32_t node, uint64_t time) {
  if (node != PTO_NO_NODE) latest[node] = pto_min_u64(latest[node], time);
}

/* When each has to end at the latest. */
static void backward(const struct pto_event_graph *graph, uint64_t *latest) {
  for (size_t i = 0; i < graph->node_count; i++) latest[i] = graph->end;
  for (size_t i = graph->node_count; i-- > 0;) {
    const struct pto_event_node *node = &graph->nodes[i];
    const uint64_t begin = latest[i] - node->duration;
    lower(latest, node->before, begin);
    lower(latest, node->cause, begin);
    for (uint32_t k = 0; k < node->link_count; k++) lower(latest, graph->links[node->first_link + k], begin);
  }
}

static void check_sums(const struct pto_event_graph *graph, const struct pto_chip *chip) {
  struct pto_run_path path;
  struct pto_accounts accounts;
  struct pto_error error;
  uint64_t sum = 0, at = 0;
  assert_int_equal(pto_run_path_init(graph, &path, &error), PTO_OK);
  for (uint32_t i = 0; i < PTO_ACTIVITY_COUNT; i++) sum += path.times[i];
  assert_int_equal(sum, graph->end);
  for (size_t i = 0; i < path.step_count; i++) {
    assert_int_equal(path.steps[i].begin, at);
    at = path.steps[i].end;
  }
  assert_int_equal(at, graph->end);
  pto_run_path_fini(&path);
  assert_int_equal(pto_accounts_init(graph, chip->cluster_count, &accounts, &error), PTO_OK);
  assert_int_equal(accounts.makespan, graph->end);
  assert_true(accounts.count >= 4 + chip->scheduler_count);
  for (uint32_t i = 0; i < accounts.count; i++) {
    for (uint32_t k = sum = 0; k < PTO_ACTIVITY_COUNT; k++) sum += accounts.items[i].times[k];
    assert_int_equal(sum, accounts.makespan * accounts.items[i].count);
    assert_int_equal(accounts.items[i].times[PTO_ACTIVITY_other], 0);
  }
  pto_accounts_fini(&accounts);
}

/* ---- tests ---- */

static void check_slacks(const char *name) {
  struct pto_runtime *rt = make_runtime(name);
  struct pto_chip chip;
  struct pto_error error;
  assert_int_equal(pto_chip_load(name, &chip, &error), PTO_OK);
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    struct pto_event_graph graph;
    make_program(seed);
    const uint64_t end = run(rt, &graph);
    assert_int_equal(graph.end, end);
    assert_int_equal(graph.unexplained, 0);
    uint64_t *ends = calloc(graph.node_count, sizeof *ends), *latest = calloc(graph.node_count, sizeof *latest);
    assert_int_equal(forward(&graph, 0, 0, ends), end);
    for (size_t i = 0; i < graph.node_count; i++) assert_int_equal(ends[i], graph.nodes[i].end);
    backward(&graph, latest);
    for (uint32_t i = pto_event_graph_last(&graph); i != PTO_NO_NODE; i = pto_event_graph_binding(&graph, i))
      assert_int_equal(latest[i], graph.nodes[i].end);
    for (uint32_t i = 0; i < 40; i++) {
      const uint32_t node = below((uint32_t)graph.node_count);
      const uint64_t slack = latest[node] - graph.nodes[node].end, by = 1 + pto_rng_below(&rng, 2 * slack + 1000);
      assert_int_equal(forward(&graph, node, by, ends), end + (by > slack ? by - slack : 0));
    }
    check_sums(&graph, &chip);
    free(ends);
    free(latest);
    pto_event_graph_fini(&graph);
  }
  pto_runtime_destroy(rt);
}
static void test_a_longer_segment_moves_the_end_by_what_is_over_its_slack(void **state) {
  for (uint32_t c = 0; pto_chip_name_at(c); c++) check_slacks(pto_chip_name_at(c));
}
static void test_so_it_does_beside_a_resolver(void **state) { check_slacks("tiny,graph=prebuilt"); }

/* Whether both runs did the same things in the same order. */
static bool is_same_order(const struct pto_trace_segment *a, uint64_t a_count, const struct pto_trace *b) {
  if (a_count != b->segments.count) return false;
  for (uint64_t i = 0; i < a_count; i++) {
    const struct pto_trace_segment *other = pto_trace_log_at(&b->segments, i);
    if (a[i].activity != other->activity || a[i].task != other->task || a[i].core != other->core ||
        memcmp(&a[i].resource, &other->resource, sizeof other->resource) != 0)
      return false;
  }
  return true;
}

static uint32_t node_of_task(const struct pto_event_graph *graph, uint32_t task) {
  for (uint32_t i = 0; i < graph->node_count; i++) {
    const struct pto_trace_segment *segment = pto_event_segment(graph, i);
    if (segment && segment->activity == PTO_ACTIVITY_compute && segment->task == task) return i;
  }
  return PTO_NO_NODE;
}

/* On chips without turns, whose looks are as long as it happens. */
static void test_the_engine_agrees_where_its_order_stays(void **state) {
  uint32_t same = 0, other = 0, replayed = 0;
  for (uint32_t c = 0; pto_chip_name_at(c); c++) {
    struct pto_chip chip;
    struct pto_error error;
    assert_int_equal(pto_chip_load(pto_chip_name_at(c), &chip, &error), PTO_OK);
    if (chip.loop_ps) continue;
    struct pto_runtime *rt = make_runtime(chip.name), *again = make_runtime(chip.name);
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
      for (uint32_t trial = 0; trial < 30; trial++) {
        struct pto_event_graph graph, longer;
        make_program(seed);
        rng = (struct pto_rng){seed * 100 + trial};
        const uint64_t end = run(rt, &graph);
        const uint32_t task = below(TASKS), node = node_of_task(&graph, task);
        if (node == PTO_NO_NODE || steps[task].blocks > 1 || steps[task].shape == 2) {
          pto_event_graph_fini(&graph);
          continue;
        }
        elems[task] += 1 + below(2000);
        const uint64_t then = run(again, &longer);
        if (is_same_order(graph.trace->segments.memory.addr, graph.trace->segments.count, longer.trace)) {
          uint64_t *ends = calloc(graph.node_count, sizeof *ends);
          const uint64_t by = longer.nodes[node].duration - graph.nodes[node].duration;
          assert_int_equal(forward(&graph, node, by, ends), then);
          free(ends);
          same++;
          replayed += then > end;
        } else {
          other++;
        }
        pto_event_graph_fini(&graph);
        pto_event_graph_fini(&longer);
      }
    pto_runtime_destroy(rt);
    pto_runtime_destroy(again);
  }
  print_message("%u runs in the same order, %u of them longer; %u in another one\n", same, replayed, other);
  assert_true(same > 100 && replayed > 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_longer_segment_moves_the_end_by_what_is_over_its_slack),
      cmocka_unit_test(test_so_it_does_beside_a_resolver),
      cmocka_unit_test(test_the_engine_agrees_where_its_order_stays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
