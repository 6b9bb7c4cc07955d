/* SPDX-License-Identifier: MIT */
/*
 * Graphs with open sizes: whatever their values, a dispatch gives bit for bit what the graph gives that has numbers in
 * their places; each set of values is made and lowered once.  What is refused: open_sizes_refused_test.c.
 */
#include <pthread.h>

#include <graph/reference/reference.h>
#include <tests/graph/open_templates.h>
#include <tests/support/failing_malloc.h>
#include <tests/support/graph_same.h>

/* ---- running ---- */

static struct pto_context_counters counters_of(struct pto_context *context) {
  struct pto_context_counters all = {.size = sizeof all};
  assert_int_equal(pto_context_sync(context), PTO_OK);
  pto_context_counters(context, &all);
  return all;
}

#define MOST_OPERANDS 3
#define MOST_FLOATS 4096

/* Tensors of a plain graph's inputs and outputs on a context. */
struct tensors {
  struct pto_binding inputs[MOST_OPERANDS], outputs[MOST_OPERANDS];
  struct pto_dispatch_bindings bindings;
  uint64_t output_bytes[MOST_OPERANDS];
};

static void make_tensor(struct pto_context *context, const struct pto_operand *operand, struct pto_binding *binding) {
  struct pto_device_tensor_desc desc = {.dtype = operand->dtype, .ndims = operand->ndims};
  memcpy(desc.shape, operand->shape, sizeof desc.shape);
  binding->name = operand->name;
  assert_int_equal(pto_device_tensor_create_host(context, &desc, &binding->tensor), PTO_OK);
}

static void fill(float *data, uint64_t count, uint32_t seed) {
  for (uint64_t i = 0; i < count; i++) data[i] = (float)((int)((i * 37 + seed * 11) % 29) - 14) / 16;
}

/* Of `plain`, with the same numbers in every input each time. */
static struct tensors make_tensors(struct pto_context *context, const struct pto_graph *plain) {
  struct tensors t = {
      .bindings = {.input_count = pto_graph_input_count(plain), .output_count = pto_graph_output_count(plain)}};
  float data[MOST_FLOATS];
  for (uint32_t i = 0; i < t.bindings.input_count; i++) {
    make_tensor(context, pto_graph_input(plain, i), &t.inputs[i]);
    const uint64_t bytes = pto_device_tensor_size(context, t.inputs[i].tensor);
    assert_true(bytes <= sizeof data);
    fill(data, bytes / sizeof *data, i);
    assert_int_equal(pto_device_tensor_write(context, t.inputs[i].tensor, data, bytes), PTO_OK);
  }
  for (uint32_t i = 0; i < t.bindings.output_count; i++) {
    make_tensor(context, pto_graph_output_at(plain, i), &t.outputs[i]);
    t.output_bytes[i] = pto_device_tensor_size(context, t.outputs[i].tensor);
  }
  return t;
}

static int dispatch(struct pto_graph *graph, struct pto_context *context, struct tensors *t) {
  t->bindings.inputs = t->inputs;
  t->bindings.outputs = t->outputs;
  return pto_graph_dispatch(graph, context, &t->bindings);
}

static void expect_same_outputs(struct pto_context *context, const struct tensors *a, const struct tensors *b) {
  static float x[MOST_FLOATS], y[MOST_FLOATS];
  for (uint32_t i = 0; i < a->bindings.output_count; i++) {
    assert_int_equal(a->output_bytes[i], b->output_bytes[i]);
    memset(x, 0xa5, sizeof x);
    memset(y, 0x5a, sizeof y);
    assert_int_equal(pto_device_tensor_read(context, a->outputs[i].tensor, x, a->output_bytes[i]), PTO_OK);
    assert_int_equal(pto_device_tensor_read(context, b->outputs[i].tensor, y, b->output_bytes[i]), PTO_OK);
    assert_memory_equal(x, y, a->output_bytes[i]);
  }
}

#define EACH_TEMPLATE(t) (const struct template *t = templates; t < templates + PTO_ARRAY_LENGTH(templates); t++)
#define EACH_SET(t, v) (const uint64_t(*v)[MOST_OPEN] = (t)->values; v < (t)->values + 4 && (*v)[0]; v++)

static void test_a_dispatch_gives_what_the_graph_with_numbers_gives(void **state) {
  static const char *const engines[] = {"threads", "virtual"};
  for (size_t e = 0; e < PTO_ARRAY_LENGTH(engines); e++) {
    struct pto_context *context = open_context(engines[e]);
    for
      EACH_TEMPLATE(t) {
        struct pto_graph *open = load(t, NULL);
      for
        EACH_SET(t, values) {
          struct pto_graph *plain = load(t, *values);
          struct tensors got = make_tensors(context, plain), expected = make_tensors(context, plain);
          if (dispatch(open, context, &got)) fail_msg("%s", pto_context_error(context));
          assert_int_equal(dispatch(plain, context, &expected), PTO_OK);
          expect_same_outputs(context, &got, &expected);
          pto_graph_destroy(plain);
        }
      pto_graph_destroy(open);
      }
    pto_context_destroy(context);
  }
}

static void test_a_bound_graph_is_the_graph_with_numbers(void **state) {
  char why[256];
  for
    EACH_TEMPLATE(t) {
      struct pto_graph *open = load(t, NULL);
      assert_int_equal(pto_graph_size_count(open), t->free_count);
      for (uint32_t s = 0; s < t->free_count; s++) {
        assert_string_equal(pto_graph_size_at(open, s).name, t->open[s].name);
        assert_int_equal(pto_graph_size_at(open, s).value, t->open[s].value);
      }
      assert_null(pto_graph_size_at(open, t->free_count).name);
    for
      EACH_SET(t, values) {
        struct pto_graph *bound = bind(open, t, *values), *plain = load(t, *values);
        assert_int_equal(pto_graph_size_count(bound), 0);
        if (!pto_graph_is_same(plain, bound, why)) fail_msg("%s differ", why);
        for (uint32_t v = 1; v < open->value_count; v++) {
          assert_ptr_equal(bound->values[v].data, open->values[v].data); /* no copies of constants, */
          assert_ptr_equal(bound->values[v].laid, open->values[v].laid); /* nor of filters for kernels */
          assert_int_equal(!bound->values[v].laid, !plain->values[v].laid);
        }
        pto_graph_destroy(bound);
        pto_graph_destroy(plain);
      }
    pto_graph_destroy(open);
    }
}

static void test_a_bound_graph_outlives_its_template(void **state) {
  const struct template *t = &templates[2];
  struct pto_graph *open = load(t, NULL), *bound = bind(open, t, t->values[1]), *again = NULL;
  char why[256];
  pto_graph_destroy(open);
  assert_int_equal(pto_graph_bind(bound, NULL, 0, &again, NULL, 0), PTO_OK); /* of a plain graph: itself */
  if (!pto_graph_is_same(bound, again, why)) fail_msg("%s differ", why);
  pto_graph_destroy(bound);
  struct pto_context *context = open_context("threads");
  struct pto_graph *plain = load(t, t->values[1]);
  struct tensors got = make_tensors(context, plain), expected = make_tensors(context, plain);
  assert_int_equal(dispatch(again, context, &got), PTO_OK);
  assert_int_equal(dispatch(plain, context, &expected), PTO_OK);
  expect_same_outputs(context, &got, &expected);
  pto_graph_destroy(again);
  pto_graph_destroy(plain);
  pto_context_destroy(context);
}

static void test_both_forms_of_files_keep_open_sizes(void **state) {
  static const char *const forms[] = {"b.json", "b.webnn"};
  char why[256];
  for
    EACH_TEMPLATE(t) {
      struct pto_graph *open = load(t, NULL);
      for (size_t f = 0; f < PTO_ARRAY_LENGTH(forms); f++) {
        struct pto_graph *again = NULL;
        if (pto_graph_save(open, path_of(forms[f]), NULL, sentence, sizeof sentence) ||
            pto_graph_load(NULL, path_of(forms[f]), NULL, &again, sentence, sizeof sentence))
          fail_msg("%s", sentence);
        if (!pto_graph_is_same(open, again, why)) fail_msg("%s differ", why);
        pto_graph_destroy(again);
      }
      pto_graph_destroy(open);
    }
}

/* ---- how often ---- */

static void test_each_set_of_values_is_made_and_lowered_once(void **state) {
  enum { ROUNDS = 5, SETS = 4 };
  const struct template *t = &templates[1];
  struct pto_context *context = open_context("threads");
  struct pto_graph *open = load(t, NULL);
  struct tensors tensors[SETS];
  for (uint32_t s = 0; s < SETS; s++) {
    struct pto_graph *plain = load(t, t->values[s]);
    tensors[s] = make_tensors(context, plain);
    /* Names are the graph's. */
    for (uint32_t i = 0; i < tensors[s].bindings.input_count; i++)
      tensors[s].inputs[i].name = pto_graph_input(open, i)->name;
    for (uint32_t i = 0; i < tensors[s].bindings.output_count; i++)
      tensors[s].outputs[i].name = pto_graph_output_at(open, i)->name;
    pto_graph_destroy(plain);
  }
  const uint64_t written = counters_of(context).h2d_bytes;
  for (uint32_t round = 0; round < ROUNDS; round++)
    for (uint32_t s = 0; s < SETS; s++) assert_int_equal(dispatch(open, context, &tensors[s]), PTO_OK);
  const struct pto_context_counters all = counters_of(context);
  assert_int_equal(all.dispatches, ROUNDS * SETS);
  assert_int_equal(open->instances->bound_made, SETS);
  assert_int_equal(all.lowering_cache_misses, SETS);
  assert_int_equal(all.lowering_cache_hits, (ROUNDS - 1) * SETS);
  assert_int_equal(all.h2d_bytes - written, (12 + 18) * sizeof(float)); /* the two constants, once */
  /* Forgotten, constants are moved again, the graphs are not made again. */
  pto_graph_forget(open, context);
  assert_int_equal(counters_of(context).lowering_cache_entries, 0);
  assert_int_equal(dispatch(open, context, &tensors[2]), PTO_OK);
  assert_int_equal(counters_of(context).h2d_bytes - written, 2 * (12 + 18) * sizeof(float));
  assert_int_equal(open->instances->bound_made, SETS);
  pto_graph_destroy(open);
  pto_context_destroy(context);
}

/* A vector and itself, added. */
static void double_ones(struct pto_graph *open, struct pto_context *context, uint64_t count) {
  static float in[MOST_FLOATS], out[MOST_FLOATS];
  for (uint64_t i = 0; i < count; i++) in[i] = (float)(i + count);
  const struct pto_host_array x = {"x", in, count * sizeof *in}, y = {"y", out, count * sizeof *out};
  if (pto_graph_compute(open, context, &(struct pto_compute_arrays){&x, &y, 1, 1}))
    fail_msg("%s", pto_context_error(context));
  for (uint64_t i = 0; i < count; i++) assert_true(out[i] == 2 * in[i]);
}

static const struct template doubling = {
    HEAD "inputs { x: f32[$0]; } nodes { y = add(x, x); } outputs { y; } }", {{"count", 100}}, 1, 1, {{0}}};

static void test_the_graphs_used_least_recently_go(void **state) {
  struct pto_context *context = open_context("threads");
  struct pto_graph *open = load(&doubling, NULL);
  for (uint64_t count = 1; count <= 100; count++) double_ones(open, context, count);
  assert_int_equal(open->instances->bound_made, 100);
  assert_int_equal(open->instances->bound_count, PTO_OPEN_GRAPHS);
  double_ones(open, context, 37); /* the oldest that is left, and now the youngest */
  double_ones(open, context, 1);
  double_ones(open, context, 37);
  assert_int_equal(open->instances->bound_made, 101);
  double_ones(open, context, 38); /* went for that of 1 */
  assert_int_equal(open->instances->bound_made, 102);
  pto_graph_destroy(open);
  pto_context_destroy(context);
}

struct doubler {
  pthread_t thread;
  struct pto_graph *open;
  struct pto_context *context;
  uint32_t index;
};

static void *double_many(void *argument) {
  const struct doubler *d = argument;
  float in[100], out[100];
  for (uint64_t i = 0; i < 100; i++) in[i] = (float)i;
  for (uint32_t k = 0; k < 90; k++) {
    const uint64_t count = 1 + (k * 37 + d->index * 11) % 90; /* more values than are kept */
    const struct pto_host_array x = {"x", in, count * sizeof *in}, y = {"y", out, count * sizeof *out};
    if (pto_graph_compute(d->open, d->context, &(struct pto_compute_arrays){&x, &y, 1, 1})) return argument;
    for (uint64_t i = 0; i < count; i++)
      if (out[i] != 2 * in[i]) return argument;
  }
  return NULL;
}

static void test_threads_share_a_template(void **state) {
  struct pto_context *context = open_context("threads");
  struct pto_graph *open = load(&doubling, NULL);
  struct doubler doublers[3];
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(doublers); i++) {
    doublers[i] = (struct doubler){.open = open, .context = context, .index = i};
    assert_int_equal(pthread_create(&doublers[i].thread, NULL, double_many, &doublers[i]), 0);
  }
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(doublers); i++) {
    void *failed;
    assert_int_equal(pthread_join(doublers[i].thread, &failed), 0);
    assert_null(failed);
  }
  assert_true(open->instances->bound_count <= PTO_OPEN_GRAPHS);
  for (size_t i = 0; i < open->instances->bound_count; i++) assert_int_equal(open->instances->bound[i].users, 0);
  pto_graph_destroy(open);
  pto_context_destroy(context);
}

static void test_fusion_is_turned_off_for_every_value(void **state) {
  const struct template *t = &templates[0];
  struct pto_context *context = open_context("threads");
  struct pto_graph *open = load(t, NULL), *plain = load(t, t->values[1]);
  struct tensors tensors = make_tensors(context, plain);
  uint64_t tasks[3];
  for (uint32_t i = 0; i < 3; i++) {
    const uint64_t before = counters_of(context).tasks;
    assert_int_equal(dispatch(open, context, &tensors), PTO_OK);
    tasks[i] = counters_of(context).tasks - before;
    assert_int_equal(pto_graph_set_fusion(open, 0), PTO_ESTALE);
    pto_graph_forget(open, context);
    assert_int_equal(pto_graph_set_fusion(open, i == 1), PTO_OK);
  }
  assert_true(tasks[1] > tasks[0]);
  assert_int_equal(tasks[2], tasks[0]);
  pto_graph_destroy(open);
  pto_graph_destroy(plain);
  pto_context_destroy(context);
}

static void test_what_is_not_needed_leaves_no_size(void **state) {
  const struct template t = {
      HEAD
      "inputs { x: f32[$0,4]; } nodes { u = reshape(x, newShape=[$1]); v = abs(u); y = abs(x); } outputs { y; v; } }",
      {{"n", 4}, {"all", 16}},
      2,
      1,
      {{0}}};
  struct pto_graph *graph = load(&t, NULL);
  assert_int_equal(graph->sizes.place_count, 2);
  pto_graph_destroy(graph);
  struct pto_graph_builder *b = NULL;
  assert_int_equal(pto_graph_builder_create(NULL, &b), PTO_OK);
  const struct pto_graph_operand x = pto_graph_builder_input(b, "x", &(struct pto_graph_desc){PTO_FLOAT32, 2, {4, 4}});
  const struct pto_new_shape_options shape = {.new_shape = PTO_U32_LIST(16)};
  const struct pto_graph_operand unused = pto_graph_builder_reshape(b, x, &shape);
  const struct pto_graph_output output = {"y", pto_graph_builder_abs(b, x, NULL)};
  assert_int_equal(pto_graph_builder_set_size(b, unused, "newShape", 0, "all"), PTO_OK);
  assert_int_equal(pto_graph_builder_build(b, &output, 1, &graph), PTO_OK);
  assert_int_equal(pto_graph_size_count(graph), 0);
  pto_graph_destroy(graph);
  pto_graph_builder_destroy(b);
}

static void test_binding_survives_each_allocation_that_fails(void **state) {
#if PTO_HAS_FAILING_MALLOC
  const struct template *t = &templates[1];
  struct pto_graph *open = load(t, NULL), *bound = NULL;
  const struct pto_graph_size sizes[] = {{"batch", 2}, {"length", 5}};
  uint32_t failures = 0;
  for (bool is_done = false; !is_done; failures++) {
    const int64_t before = live_blocks;
    fail_countdown = failures + 1;
    const int status = pto_graph_bind(open, sizes, 2, &bound, sentence, sizeof sentence);
    is_done = fail_countdown != 0; /* it was never reached */
    fail_countdown = 0;
    assert_int_equal(status, is_done ? PTO_OK : PTO_ENOMEM);
    if (!is_done) assert_int_equal(live_blocks, before);
  }
  assert_true(failures > 5);
  pto_graph_destroy(bound);
  pto_graph_destroy(open);
#else
  skip();
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_dispatch_gives_what_the_graph_with_numbers_gives),
      cmocka_unit_test(test_a_bound_graph_is_the_graph_with_numbers),
      cmocka_unit_test(test_a_bound_graph_outlives_its_template),
      cmocka_unit_test(test_both_forms_of_files_keep_open_sizes),
      cmocka_unit_test(test_each_set_of_values_is_made_and_lowered_once),
      cmocka_unit_test(test_the_graphs_used_least_recently_go),
      cmocka_unit_test(test_threads_share_a_template),
      cmocka_unit_test(test_fusion_is_turned_off_for_every_value),
      cmocka_unit_test(test_what_is_not_needed_leaves_no_size),
      cmocka_unit_test(test_binding_survives_each_allocation_that_fails),
  };
  return cmocka_run_group_tests(tests, test_folder_open, test_folder_close);
}
