/* SPDX-License-Identifier: MIT */
/*
 * Random graphs of every operation, lowered: what tasks compute is what the reference computes, to the same bytes on
 * every engine, chip and number of workers, with and without fusion; small windows and heaps give those bytes or the
 * runtime's own sentence; so do buffers of dead values that others get at once (graph/lower/value_memory.h).
 *
 * PTO_SEED is the first seed, PTO_RANDOM_GRAPHS how many small graphs; a sixteenth as many are large.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <graph/fuse/fusion.h>
#include <runtime/base/base.h>
#include <tests/support/lowered_graph.h>
#include <tests/support/random_graph.h>

static const struct random_graph_form small = {.call_count = 10, .has_views = true, .has_patterns = true};
/* Cut into many tasks each: 16 Ki elements are one. */
static const struct random_graph_form large = {
    .call_count = 6, .numel = 100000, .extent = 300, .has_views = true, .has_patterns = true};

static uint64_t number(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, NULL, 10) : otherwise;
}
static uint64_t first_seed(void) { return number("PTO_SEED", 1); }
static uint64_t seed_count(void) { return number("PTO_RANDOM_GRAPHS", 240); }

/* Ten operations on numbers of magnitude 2: some 16 units in the last place of f32 a hundred summands, of fp16 what
 * ten roundings make. */
static const struct lowered_graph_tolerance tolerance = {.f32 = 0x1p-12, .f16 = 0x1p-5};

/* ---- one graph ---- */

struct wanted {
  void *bytes[RANDOM_GRAPH_OPERANDS];
};

static const struct pto_graph_desc *output_desc(const struct random_graph *g, uint32_t o) {
  return &g->graph->values[g->graph->outputs[o]].desc;
}

static struct wanted reference_of(struct random_graph *g) {
  struct wanted wanted = {{0}};
  struct pto_error error = {0};
  for (uint32_t o = 0; o < g->output_count; o++) {
    wanted.bytes[o] = calloc(1, random_graph_bytes(output_desc(g, o)));
    assert_non_null(wanted.bytes[o]);
  }
  if (pto_graph_reference_run(g->graph, (const void *const *)g->inputs, wanted.bytes, NULL, NULL, &error))
    fail_msg("seed %llu: %s", (unsigned long long)g->seed, error.sentence);
  return wanted;
}

static void forget(struct wanted *wanted) {
  for (uint32_t o = 0; o < RANDOM_GRAPH_OPERANDS; o++) free(wanted->bytes[o]);
}

/* Runs on `context`; what a kernel leaves unwritten shows. */
static void run(struct random_graph *g, struct pto_context *context) {
  for (uint32_t o = 0; o < g->output_count; o++) memset(g->outputs[o], 0xa5, random_graph_bytes(output_desc(g, o)));
  if (lowered_graph_run(g->graph, context, g->inputs, g->outputs))
    fail_msg("seed %llu: %s", (unsigned long long)g->seed, pto_context_error(context));
  pto_graph_forget(g->graph, context);
}

static void expect_right(const struct random_graph *g, const struct wanted *wanted) {
  for (uint32_t o = 0; o < g->output_count; o++) {
    char what[128];
    const struct pto_graph_value *value = &g->graph->values[g->graph->outputs[o]];
    snprintf(what, sizeof what, "seed %llu, output y%u of %s", (unsigned long long)g->seed, o,
             pto_op_info(g->graph->nodes[value->producer - 1].op)->name);
    lowered_graph_expect(output_desc(g, o), g->outputs[o], wanted->bytes[o], g->is_exact[o], &tolerance, what);
  }
}

static void keep(const struct random_graph *g, struct wanted *wanted) {
  for (uint32_t o = 0; o < g->output_count; o++)
    memcpy(wanted->bytes[o], g->outputs[o], random_graph_bytes(output_desc(g, o)));
}

static void expect_same(const struct random_graph *g, const struct wanted *wanted, const char *where) {
  for (uint32_t o = 0; o < g->output_count; o++) {
    if (memcmp(wanted->bytes[o], g->outputs[o], random_graph_bytes(output_desc(g, o))) != 0)
      fail_msg("seed %llu: output y%u has other bytes on %s", (unsigned long long)g->seed, o, where);
  }
}

/* ---- against the reference ---- */

/* Groups that it has, which are then lowered one by one, too. */
static uint32_t run_unfused(struct random_graph *g, struct pto_context *context, const struct wanted *wanted) {
  struct pto_fusion_plan plan;
  assert_int_equal(pto_fusion_plan_init(&plan, g->graph), PTO_OK);
  const uint32_t groups = plan.group_count;
  pto_fusion_plan_fini(&plan);
  assert_int_equal(pto_graph_set_fusion(g->graph, 0), PTO_OK);
  run(g, context);
  expect_right(g, wanted);
  assert_int_equal(pto_graph_set_fusion(g->graph, 1), PTO_OK);
  return groups;
}

static const struct pto_config configs[] = {{.engine = "threads", .chip = "tiny", .workers = 2},
                                            {.engine = "threads", .chip = "tiny", .workers = 1},
                                            {.engine = "threads", .chip = "a2a3", .workers = 2},
                                            {.engine = "virtual", .chip = "a2a3"},
                                            {.engine = "virtual", .chip = "tiny"},
                                            {.engine = "threads", .chip = "tiny", .workers = 2, .window = 64}};

static void run_everywhere(const struct random_graph_form *form, uint64_t count) {
  struct pto_context *contexts[PTO_ARRAY_LENGTH(configs)];
  char where[128];
  uint32_t groups = 0;
  for (size_t c = 0; c < PTO_ARRAY_LENGTH(configs); c++) contexts[c] = lowered_graph_open(&configs[c]);
  for (uint64_t seed = first_seed(); seed < first_seed() + count; seed++) {
    struct random_graph g;
    random_graph_open_form(&g, seed, form);
    struct wanted wanted = reference_of(&g);
    groups += run_unfused(&g, contexts[0], &wanted);
    run(&g, contexts[0]);
    expect_right(&g, &wanted);
    keep(&g, &wanted);
    for (size_t c = 1; c < PTO_ARRAY_LENGTH(configs); c++) {
      g.graph->reuses_at_once = c % 2;
      run(&g, contexts[c]);
      lowered_graph_name(&configs[c], where, sizeof where);
      expect_same(&g, &wanted, where);
    }
    forget(&wanted);
    random_graph_close(&g);
  }
  for (size_t c = 0; c < PTO_ARRAY_LENGTH(configs); c++) pto_context_destroy(contexts[c]);
  printf("| %u fused groups in %llu graphs\n", groups, (unsigned long long)count);
  assert_true(count < 15 || groups > count / 4);
}

static void test_small_graphs_give_what_the_reference_does_and_the_same_bytes_everywhere(void **state) {
  run_everywhere(&small, seed_count());
}

static void test_large_graphs_give_what_the_reference_does_and_the_same_bytes_everywhere(void **state) {
  run_everywhere(&large, seed_count() / 16);
}

/* ---- every dtype of every operation ---- */

#define MOST_PARAMETERS 8

/* What the table of operations allows, bit d of a parameter: dtype d. */
static uint32_t allowed(uint32_t op, uint32_t parameter) {
  const struct pto_op_info *info = pto_op_info(op);
  return parameter < info->parameter_count && info->parameters[parameter].same_dtype == 0
             ? info->parameters[parameter].dtypes
             : 0;
}

static void add_seen(const struct random_graph *g, uint32_t op, uint32_t seen[MOST_PARAMETERS]) {
  for (uint32_t n = 0; n < g->graph->node_count; n++) {
    const struct pto_graph_node *node = &g->graph->nodes[n];
    for (uint32_t p = 0; node->op == op && p < node->operand_count && p < MOST_PARAMETERS; p++)
      if (node->operands[p]) seen[p] |= PTO_DTYPE_BIT(g->graph->values[node->operands[p]].desc.dtype);
  }
}

static bool is_all_seen(uint32_t op, const uint32_t seen[MOST_PARAMETERS]) {
  for (uint32_t p = 0; p < MOST_PARAMETERS; p++)
    if ((allowed(op, p) & ~seen[p]) != 0) return false;
  return true;
}

static void run_op(uint32_t op, struct pto_context *context) {
  const struct random_graph_form form = {.call_count = 2, .has_views = true, .is_one_op = true, .op = op};
  uint32_t seen[MOST_PARAMETERS] = {0};
  for (uint64_t seed = 1; seed <= 200 && !is_all_seen(op, seen); seed++) {
    struct random_graph g;
    random_graph_open_form(&g, seed, &form);
    struct wanted wanted = reference_of(&g);
    run(&g, context);
    expect_right(&g, &wanted);
    add_seen(&g, op, seen);
    forget(&wanted);
    random_graph_close(&g);
  }
  for (uint32_t p = 0; p < MOST_PARAMETERS; p++)
    if ((allowed(op, p) & ~seen[p]) != 0)
      fail_msg("%s, parameter %u: dtypes 0x%x of 0x%x were never drawn", pto_op_info(op)->name, p,
               allowed(op, p) & ~seen[p], allowed(op, p));
}

static void test_every_operation_takes_every_dtype_of_its_table(void **state) {
  struct pto_context *context = lowered_graph_open(&configs[0]);
  for (uint32_t op = 0; op < PTO_GRAPH_OP_COUNT; op++) run_op(op, context);
  pto_context_destroy(context);
}

/* ---- small rings ---- */

/* Where a graph does not fit, the context says so in a sentence and works again once that is cleared. */
static bool run_or_refuse(struct random_graph *g, struct pto_context *context, const char *where) {
  const int status = lowered_graph_run(g->graph, context, g->inputs, g->outputs);
  if (status != PTO_OK) {
    const bool is_of_rings = status == PTO_ESCOPE || status == PTO_EHEAP || status == PTO_EWINDOW;
    if (!is_of_rings || pto_context_error(context)[0] == '\0')
      fail_msg("seed %llu: on %s status %d: %s", (unsigned long long)g->seed, where, status,
               pto_context_error(context));
    assert_int_equal(pto_context_clear_error(context), PTO_OK);
  }
  pto_graph_forget(g->graph, context);
  return status == PTO_OK;
}

static const struct pto_config tight[] = {{.engine = "threads", .chip = "tiny", .workers = 2, .window = 32},
                                          {.engine = "virtual", .chip = "a2a3", .window = 32},
                                          {.engine = "threads", .chip = "a2a3", .workers = 2, .window = 64},
                                          {.engine = "threads", .chip = "tiny", .workers = 1, .heap_bytes = 65536},
                                          {.engine = "virtual", .chip = "tiny", .heap_bytes = 1 << 20},
                                          {.engine = "virtual", .chip = "tiny", .window = 16, .heap_bytes = 4096}};

static void run_tight(const struct random_graph_form *form, uint64_t count) {
  struct pto_context *contexts[PTO_ARRAY_LENGTH(tight)];
  uint64_t ran[PTO_ARRAY_LENGTH(tight)] = {0};
  char where[128];
  for (size_t c = 0; c < PTO_ARRAY_LENGTH(tight); c++) contexts[c] = lowered_graph_open(&tight[c]);
  struct pto_context *wide = lowered_graph_open(&configs[0]);
  for (uint64_t seed = first_seed(); seed < first_seed() + count; seed++) {
    struct random_graph g;
    random_graph_open_form(&g, seed, form);
    struct wanted wanted = reference_of(&g);
    run(&g, wide);
    keep(&g, &wanted);
    g.graph->reuses_at_once = true;
    for (size_t c = 0; c < PTO_ARRAY_LENGTH(tight); c++) {
      lowered_graph_name(&tight[c], where, sizeof where);
      if (!run_or_refuse(&g, contexts[c], where)) continue;
      expect_same(&g, &wanted, where);
      ran[c]++;
    }
    forget(&wanted);
    random_graph_close(&g);
  }
  pto_context_destroy(wide);
  for (size_t c = 0; c < PTO_ARRAY_LENGTH(tight); c++) {
    lowered_graph_name(&tight[c], where, sizeof where);
    printf("| %s: %llu of %llu graphs fit\n", where, (unsigned long long)ran[c], (unsigned long long)count);
    pto_context_destroy(contexts[c]);
  }
}

static void test_small_windows_and_heaps_give_the_same_bytes_or_a_sentence(void **state) {
  run_tight(&small, seed_count() / 4);
  run_tight(&large, seed_count() / 16);
}

/* ---- inputs given up ---- */

static struct pto_device_tensor tensor_of(struct pto_context *context, const struct pto_graph_desc *from) {
  struct pto_device_tensor_desc desc = {.dtype = from->dtype, .ndims = from->ndims};
  struct pto_device_tensor tensor;
  memcpy(desc.shape, from->shape, sizeof desc.shape);
  if (pto_device_tensor_create_host(context, &desc, &tensor)) fail_msg("%s", pto_context_error(context));
  return tensor;
}

static bool is_like(const struct pto_graph_desc *a, const struct pto_graph_desc *b) {
  bool is_same = a->dtype == b->dtype && a->ndims == b->ndims;
  for (uint32_t d = 0; is_same && d < a->ndims; d++) is_same = a->shape[d] == b->shape[d];
  return is_same;
}

/* Some outputs get the tensor of an input like them, drawn; each input is given up once.  Returns how many. */
static uint32_t draw_shared(const struct random_graph *g, struct pto_rng *rng, uint32_t *input_of) {
  bool is_taken[RANDOM_GRAPH_OPERANDS] = {false};
  uint32_t count = 0;
  for (uint32_t o = 0; o < g->output_count; o++) {
    input_of[o] = UINT32_MAX;
    for (uint32_t i = 0; i < g->input_count; i++) {
      const struct pto_graph_desc *input = &g->graph->values[g->graph->inputs[i]].desc;
      if (is_taken[i] || !is_like(input, output_desc(g, o)) || pto_rng_below(rng, 4) == 0) continue;
      input_of[o] = i;
      is_taken[i] = true;
      count++;
      break;
    }
  }
  return count;
}

static void run_shared(struct random_graph *g, struct pto_context *context, const uint32_t *input_of) {
  static struct pto_binding in[RANDOM_GRAPH_OPERANDS], out[RANDOM_GRAPH_OPERANDS];
  static const char *consumed[RANDOM_GRAPH_OPERANDS];
  struct pto_dispatch_bindings bindings = {in, out, g->input_count, g->output_count, consumed, 0};
  for (uint32_t i = 0; i < g->input_count; i++) {
    const struct pto_graph_desc *desc = &g->graph->values[g->graph->inputs[i]].desc;
    in[i] = (struct pto_binding){g->graph->input_operands[i].name, tensor_of(context, desc)};
    assert_int_equal(pto_device_tensor_write(context, in[i].tensor, g->inputs[i], random_graph_bytes(desc)), PTO_OK);
  }
  for (uint32_t o = 0; o < g->output_count; o++) {
    const bool is_shared = input_of[o] != UINT32_MAX;
    out[o] = (struct pto_binding){g->graph->output_operands[o].name,
                                  is_shared ? in[input_of[o]].tensor : tensor_of(context, output_desc(g, o))};
    if (is_shared) consumed[bindings.consumed_count++] = in[input_of[o]].name;
  }
  if (pto_graph_dispatch(g->graph, context, &bindings)) fail_msg("%s", pto_context_error(context));
  for (uint32_t o = 0; o < g->output_count; o++)
    if (pto_device_tensor_read(context, out[o].tensor, g->outputs[o], random_graph_bytes(output_desc(g, o))))
      fail_msg("seed %llu: %s", (unsigned long long)g->seed, pto_context_error(context));
  for (uint32_t i = 0; i < g->input_count; i++) pto_device_tensor_destroy(context, in[i].tensor);
  for (uint32_t o = 0; o < g->output_count; o++)
    if (input_of[o] == UINT32_MAX) pto_device_tensor_destroy(context, out[o].tensor);
  pto_graph_forget(g->graph, context);
}

static uint32_t run_in_place(const struct random_graph_form *form, uint64_t count) {
  static const struct pto_config config = {.engine = "threads", .chip = "a2a3", .workers = 2};
  struct pto_context *context = lowered_graph_open(&config);
  struct pto_rng rng = {first_seed()};
  uint32_t shared = 0, input_of[RANDOM_GRAPH_OPERANDS];
  for (uint64_t seed = first_seed(); seed < first_seed() + count; seed++) {
    struct random_graph g;
    random_graph_open_form(&g, seed, form);
    struct wanted wanted = reference_of(&g);
    run(&g, context);
    keep(&g, &wanted);
    const uint32_t given_up = draw_shared(&g, &rng, input_of);
    g.graph->reuses_at_once = true;
    if (given_up != 0) {
      run_shared(&g, context, input_of);
      expect_same(&g, &wanted, "inputs given up");
    }
    shared += given_up;
    forget(&wanted);
    random_graph_close(&g);
  }
  pto_context_destroy(context);
  return shared;
}

static void test_outputs_in_the_storage_of_inputs_given_up_have_the_same_bytes(void **state) {
  const struct random_graph_form few = {.call_count = 12, .numel = 8, .extent = 2, .has_patterns = true};
  struct random_graph_form cut = large;
  cut.has_views = false;
  const uint32_t shared = run_in_place(&few, 2 * seed_count()), large_ones = run_in_place(&cut, seed_count() / 8);
  printf("| %u outputs of small graphs and %u of large ones took the storage of inputs\n", shared, large_ones);
  assert_true(seed_count() < 100 || (shared > seed_count() && large_ones > 0));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_small_graphs_give_what_the_reference_does_and_the_same_bytes_everywhere),
      cmocka_unit_test(test_large_graphs_give_what_the_reference_does_and_the_same_bytes_everywhere),
      cmocka_unit_test(test_every_operation_takes_every_dtype_of_its_table),
      cmocka_unit_test(test_outputs_in_the_storage_of_inputs_given_up_have_the_same_bytes),
      cmocka_unit_test(test_small_windows_and_heaps_give_the_same_bytes_or_a_sentence),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
