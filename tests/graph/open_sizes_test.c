/* SPDX-License-Identifier: MIT */
/*
 * Graphs with open sizes: whatever their values, a dispatch gives bit for bit what the graph gives that has numbers in
 * their places; each set of values is made and lowered once; what does not fit is refused by name and value.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <graph/build/sizes.h>
#include <graph/reference/reference.h>
#include <graph/run/open_dispatch.h>
#include <runtime/base/base.h>
#include <tests/support/failing_malloc.h>
#include <tests/support/graph_same.h>
#include <tests/support/test_folder.h>

static char sentence[1024];

/* ---- templates ---- */

#define MOST_OPEN 3

/* $N is the size of index N, by its number or as dyn("NAME", MOST). */
struct template {
  const char *text;
  struct pto_graph_size open[MOST_OPEN]; /* free ones first */
  uint32_t open_count, free_count;
  uint64_t values[4][MOST_OPEN]; /* sets; of those that follow too */
};

#define HEAD "webnn_graph \"t\" v2 { "
static const struct template templates[] = {
    {HEAD "inputs { x: f32[$0,4]; } consts { w: f32[4,3] @scalar(0.5); } nodes { h = sigmoid(x); s = mul(x, h);"
          " y = matmul(s, w); } outputs { y; } }", /* a silu */
     {{"batch", 8}},
     1,
     1,
     {{1}, {3}, {7}, {8}}},
    /* Products of two sizes, a position table, a broadcast. */
    {HEAD "inputs { x: f32[$0,$1,4]; mask: f32[1,$1,1]; } consts { w: f32[4,3] @scalar(0.25); t: f32[6,3] @scalar(2); }"
          " nodes { flat = reshape(x, newShape=[$2,4]); h = gemm(flat, w); back = reshape(h, newShape=[$0,$1,3]);"
          " part = slice(t, starts=[0,0], sizes=[$1,3]); sum = add(back, part); m = mul(sum, mask);"
          " y = softmax(m, axis=2); wide = expand(mask, newShape=[$0,$1,2]); } outputs { y; wide; } }",
     {{"batch", 4}, {"length", 6}, {"rows", 24}},
     3,
     2,
     {{1, 1, 1}, {2, 5, 10}, {4, 6, 24}, {3, 2, 6}}},
    /* A filter that the kernels read in another order; images of any height and width. */
    {HEAD
     "inputs { x: f32[$0,2,$1,$1]; } consts { f: f32[3,2,3,3] @bytes([" /* 54 floats follow */ "%s]); }"
     " nodes { c = conv2d(x, f, padding=[1,1,1,1], label=\"stem\"); p = averagePool2d(c); y = clamp(p, minValue=0); }"
     " outputs { y; } }",
     {{"images", 3}, {"side", 7}},
     2,
     2,
     {{1, 5}, {2, 7}, {3, 3}, {2, 4}}},
    /* A number of steps; parts of a split; padding and repetitions. */
    {HEAD "inputs { x: f32[$0,2,3]; z: f32[$1,2]; } consts { w: f32[1,6,3] @scalar(0.125); r: f32[1,6,2] @scalar(0.25);"
          " c: f32[1,2] @scalar(3); } nodes { [last, all] = gru(x, w, r, steps=$0, hiddenSize=2, returnSequence=true);"
          " both = concat(z, c, axis=0); [front, end] = split(both, splits=[$1,1], axis=0);"
          " y = pad(front, beginningPadding=[$1,0], endingPadding=[0,1]); t = tile(end, repetitions=[$1,2]); }"
          " outputs { all; y; t; } }",
     {{"steps", 6}, {"parts", 5}},
     2,
     2,
     {{1, 1}, {6, 5}, {2, 3}, {5, 4}}},
};

static float filter_value(uint32_t i) { return (float)((int)(i * 7 % 11) - 5) / 8; }

/* The text with numbers or names in place of its $. */
static char *spell(const struct template *t, const uint64_t *values) {
  char *text = calloc(1, 8192), bytes[2048] = "";
  size_t used = 0;
  assert_non_null(text);
  for (uint32_t i = 0, at = 0; i < 54; i++) {
    const float x = filter_value(i);
    unsigned char b[4];
    memcpy(b, &x, 4);
    at += (uint32_t)snprintf(bytes + at, sizeof bytes - at, "%s%u,%u,%u,%u", i ? "," : "", b[0], b[1], b[2], b[3]);
  }
  for (const char *c = t->text; *c; c++) {
    if (c[0] == '$') {
      const uint32_t s = (uint32_t)(*++c - '0');
      if (values)
        used += (size_t)sprintf(text + used, "%llu", (unsigned long long)values[s]);
      else
        used +=
            (size_t)sprintf(text + used, "dyn(\"%s\", %llu)", t->open[s].name, (unsigned long long)t->open[s].value);
    } else if (c[0] == '%') {
      used += (size_t)sprintf(text + used, "%s", bytes);
      c++;
    } else {
      text[used++] = *c;
    }
  }
  return text;
}

static int try_load(const char *text, struct pto_graph **graph_out) {
  FILE *file = fopen(path_of("a.webnn"), "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
  sentence[0] = '\0';
  return pto_graph_load(NULL, path_of("a.webnn"), NULL, graph_out, sentence, sizeof sentence);
}

static struct pto_graph *load(const struct template *t, const uint64_t *values) {
  struct pto_graph *graph = NULL;
  char *text = spell(t, values);
  if (try_load(text, &graph)) fail_msg("%s\n%s", text, sentence);
  free(text);
  return graph;
}

static struct pto_graph *bind(struct pto_graph *graph, const struct template *t, const uint64_t *values) {
  struct pto_graph_size sizes[MOST_OPEN];
  struct pto_graph *bound = NULL;
  for (uint32_t s = 0; s < t->free_count; s++) sizes[s] = (struct pto_graph_size){t->open[s].name, values[s]};
  if (pto_graph_bind(graph, sizes, t->free_count, &bound, sentence, sizeof sentence)) fail_msg("%s", sentence);
  return bound;
}

/* ---- running ---- */

static struct pto_context *open_context(const char *engine) {
  const struct pto_context_options options = {.size = sizeof options, .runtime = {.engine = engine, .chip = "tiny"}};
  struct pto_context *context = NULL;
  if (pto_context_create(&options, &context, sentence, sizeof sentence)) fail_msg("%s", sentence);
  return context;
}

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

/* ---- refusals ---- */

static void expect(const char *got, const char *expected) {
  if (!strstr(got, expected)) fail_msg("\"%s\" does not say \"%s\"", got, expected);
}

static void test_values_that_do_not_fit_are_refused_by_name(void **state) {
  static const struct {
    struct pto_graph_size sizes[3];
    uint32_t count;
    const char *expected;
  } cases[] = {
      {{{"batch", 2}}, 1, "size \"length\" is not given; it is 1 to 6"},
      {{{"batch", 2}, {"length", 7}}, 2, "size \"length\" is 7, not 1 to 6"},
      {{{"batch", 0}, {"length", 6}}, 2, "size \"batch\" is 0, not 1 to 4"},
      {{{"batch", 2}, {"length", 6}, {"batch", 2}}, 3, "size \"batch\" is given twice"},
      {{{"batch", 2}, {"length", 6}, {"width", 2}}, 3, "the graph has no size \"width\""},
      {{{"batch", 2}, {"length", 6}, {"rows", 12}},
       3,
       "size \"rows\" is not given: a reshape decides it, or no output needs it"},
      {{{NULL, 2}}, 1, "the graph has no size \"\""},
  };
  struct pto_graph *open = load(&templates[1], NULL), *bound = NULL;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) {
    assert_int_equal(pto_graph_bind(open, cases[i].sizes, cases[i].count, &bound, sentence, sizeof sentence),
                     PTO_EINVAL);
    expect(sentence, cases[i].expected);
    assert_null(bound);
  }
  pto_graph_destroy(open);
  /* A call that is right with the largest values alone. */
  const struct template odd = {
      HEAD "inputs { x: f32[$0,4]; } nodes { r = reshape(x, newShape=[8,2]); y = abs(r); } outputs { y; } }",
      {{"n", 4}},
      1,
      1,
      {{0}}};
  open = load(&odd, NULL);
  assert_int_equal(pto_graph_bind(open, &(struct pto_graph_size){"n", 3}, 1, &bound, sentence, sizeof sentence),
                   PTO_EINVAL);
  assert_string_equal(sentence, "reshape \"r\": input of shape [3, 4] has another number of elements than newShape "
                                "[8, 2] (with n = 3)");
  pto_graph_destroy(open);
}

static void test_tensors_that_do_not_fit_are_refused_by_name(void **state) {
  struct pto_context *context = open_context("threads");
  struct pto_graph *open = load(&templates[1], NULL);
  const struct pto_device_tensor_desc descs[] = {
      {.dtype = PTO_FLOAT32, .ndims = 3, .shape = {2, 5, 4}}, {.dtype = PTO_FLOAT32, .ndims = 3, .shape = {1, 3, 1}},
      {.dtype = PTO_FLOAT32, .ndims = 2, .shape = {2, 20}},   {.dtype = PTO_FLOAT32, .ndims = 3, .shape = {5, 5, 4}},
      {.dtype = PTO_FLOAT32, .ndims = 3, .shape = {1, 5, 1}}, {.dtype = PTO_FLOAT32, .ndims = 3, .shape = {2, 5, 8}}};
  enum { X, SHORT_MASK, FLAT, LARGE, MASK, WIDE, TENSORS };
  struct pto_device_tensor tensors[TENSORS];
  for (uint32_t i = 0; i < TENSORS; i++)
    assert_int_equal(pto_device_tensor_create_host(context, &descs[i], &tensors[i]), PTO_OK);
  static const struct {
    uint32_t x, mask, count;
    const char *expected;
  } cases[] = {
      {X, SHORT_MASK, 2, "dispatch: size \"length\" is 5 in input \"x\" and 3 in input \"mask\""},
      {FLAT, MASK, 2, "dispatch: input \"x\" has 3 dimensions, and 2 are bound to it"},
      {LARGE, MASK, 2, "dispatch: size \"batch\" is 5, not 1 to 4"},
      {WIDE, MASK, 2, "x"}, /* of the plain graph */
      {X, MASK, 1, "mask"}, /* of the plain graph */
      {X, MASK, 0, "dispatch: size \"batch\" is not known, as nothing is bound to input \"x\""},
  };
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) {
    const struct pto_binding inputs[] = {{"x", tensors[cases[i].x]}, {"mask", tensors[cases[i].mask]}};
    const struct pto_dispatch_bindings bindings = {.inputs = inputs, .input_count = cases[i].count};
    assert_int_equal(pto_graph_dispatch(open, context, &bindings), PTO_EINVAL);
    expect(pto_context_error(context), cases[i].expected);
  }
  /* Bytes tell one size of an input, once another input has told the other. */
  float data[40] = {0}, wide[20], y[30];
  const struct pto_argument made[] = {{.name = "x", .data = data, .size_bytes = sizeof data},
                                      {.name = "mask", .tensor = tensors[MASK]}};
  struct pto_argument outputs[] = {{.name = "y", .data = y, .size_bytes = sizeof y},
                                   {.name = "wide", .data = wide, .size_bytes = sizeof wide}};
  struct pto_call call = {.size = sizeof call, .inputs = made, .outputs = outputs, .input_count = 2, .output_count = 2};
  if (pto_graph_call(open, context, &call)) fail_msg("%s", pto_context_error(context));
  call.input_count = 1;
  assert_int_equal(pto_graph_call(open, context, &call), PTO_EINVAL);
  expect(pto_context_error(context), "call: size \"batch\" cannot be told from the 160 bytes of input \"x\"");
  const struct pto_binding stale = {"x", {77, 78}};
  assert_int_equal(
      pto_graph_dispatch(open, context, &(struct pto_dispatch_bindings){.inputs = &stale, .input_count = 1}),
      PTO_ESTALE);
  pto_graph_destroy(open);
  pto_context_destroy(context);
}

static void test_sizes_that_cannot_be_are_refused_where_they_stand(void **state) {
  static const struct {
    const char *text, *expected;
  } cases[] = {
      {"inputs { x: f32[dyn(\"n\", 8),dyn(\"n\", 4)]; } nodes { y = abs(x); } outputs { y; } }",
       "column 31: \"x\": set_size: size \"n\" is at most 8 at one place and 4 at another"},
      {"inputs { x: f32[4]; } nodes { y = expand(x, newShape=[dyn(\"n\", 8),4]); } outputs { y; } }",
       "build: size \"n\" is in no input's shape, and does not follow from a reshape"},
      {"inputs { x: f32[6]; } nodes { y = reshape(x, newShape=[dyn(\"n\", 2),dyn(\"m\", 3)]); } outputs { y; } }",
       "build: size \"m\" is in no input's shape, and its reshape has another such size"},
      {"inputs { x: f32[dyn(\"n\", 8),8]; } nodes { y = reshape(x, newShape=[dyn(\"s\", 8),dyn(\"s\", 8)]); } "
       "outputs { y; } }",
       "build: size \"s\" is in no input's shape, and stands twice in its reshape"},
      {"inputs { x: f32[4]; } nodes { y = softmax(x, axis=dyn(\"n\", 0)); } outputs { y; } }",
       "set_size: option axis of softmax has no sizes"},
      {"inputs { x: f32[4]; } nodes { y = abs(x, label=dyn(\"n\", 1)); } outputs { y; } }", "label is 1, not a text"},
      {"inputs { x: f32[4]; } consts { c: f32[dyn(\"n\", 8)] @scalar(1); } nodes { y = abs(x); } outputs { y; } }",
       "\"c\": size 0 has a name (n), and is a number only later: it has to be one now"},
      {"inputs { x: f32[dyn(\"n\", 0)]; } nodes { y = abs(x); } outputs { y; } }", "dimension 0 of [0]"},
      {"inputs { x: f32[dyn(\"\", 2)]; } nodes { y = abs(x); } outputs { y; } }", "set_size: the name is empty"},
      {"inputs { x: f32[dyn(\"n\")]; } nodes { y = abs(x); } outputs { y; } }", "\",\" is expected"},
      {"inputs { x: f32[dyn(\"n\", 4)]; } nodes { y = matmul(x, x); } outputs { y; } }", "matmul"},
      {"inputs { x: f32[4]; } nodes { y = slice(x, starts=[dyn(\"n\", 0)], sizes=[4]); } outputs { y; } }",
       "set_size: size \"n\" is at most 0"},
  };
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) {
    struct pto_graph *graph = NULL;
    char text[1024];
    snprintf(text, sizeof text, HEAD "%s", cases[i].text);
    assert_int_equal(try_load(text, &graph), PTO_EINVAL);
    expect(sentence, cases[i].expected);
  }
}

static void test_calls_of_the_builder_name_places(void **state) {
  struct pto_graph_builder *b = NULL;
  assert_int_equal(pto_graph_builder_create(NULL, &b), PTO_OK);
  const struct pto_graph_operand x = pto_graph_builder_input(b, "x", &(struct pto_graph_desc){PTO_FLOAT32, 2, {8, 4}});
  const struct pto_new_shape_options shape = {.new_shape = PTO_U32_LIST(8, 2, 2)};
  const struct pto_graph_operand r = pto_graph_builder_reshape(b, x, &shape);
  const struct {
    struct pto_graph_operand operand;
    const char *attribute;
    uint32_t item;
    const char *name, *expected;
  } wrong[] = {
      {x, NULL, 2, "n", "set_size: input \"x\" has 2 dimensions, and none is 2"},
      {r, NULL, 0, "n", "set_size: the operand is no input: shapes of others follow from inputs"},
      {x, "newShape", 0, "n", "set_size: the operand is no result, and has no \"newShape\""},
      {r, "axes", 0, "n", "set_size: reshape has no option \"axes\""},
      {r, "newShape", 3, "n", "set_size: newShape of reshape has 3 items, and no item 3"},
      {x, NULL, 0, NULL, "set_size: the name is empty"},
      {x, NULL, 0, "\xff", "is no UTF-8"},
      {{0, 0}, NULL, 0, "n", "set_size: the operand is missing"},
  };
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(wrong); i++) {
    assert_int_equal(pto_graph_builder_set_size(b, wrong[i].operand, wrong[i].attribute, wrong[i].item, wrong[i].name),
                     PTO_EINVAL);
    expect(pto_graph_builder_error(b), wrong[i].expected);
    pto_graph_builder_clear_error(b);
  }
  assert_int_equal(pto_graph_builder_set_size(b, x, NULL, 0, "n"), PTO_OK);
  assert_int_equal(pto_graph_builder_set_size(b, r, "newShape", 0, "n"), PTO_OK);
  assert_int_equal(pto_graph_builder_set_size(b, x, NULL, 1, "n"), PTO_EINVAL); /* 4, not 8 */
  pto_graph_builder_clear_error(b);
  struct pto_graph *graph = NULL, *bound = NULL;
  const struct pto_graph_output output = {"y", r};
  assert_int_equal(pto_graph_builder_build(b, &output, 1, &graph), PTO_OK);
  assert_int_equal(pto_graph_bind(graph, &(struct pto_graph_size){"n", 5}, 1, &bound, NULL, 0), PTO_OK);
  assert_int_equal(pto_graph_output_at(bound, 0)->shape[0], 5);
  assert_int_equal(pto_graph_output_at(graph, 0)->shape[0], 8);
  pto_graph_destroy(bound);
  pto_graph_destroy(graph);
  pto_graph_builder_destroy(b);
}

static void test_a_place_has_one_size(void **state) {
  struct pto_graph_builder *b = NULL;
  struct pto_graph *graph = NULL;
  assert_int_equal(pto_graph_builder_create(NULL, &b), PTO_OK);
  const struct pto_graph_operand x = pto_graph_builder_input(b, "x", &(struct pto_graph_desc){PTO_FLOAT32, 1, {8}});
  const struct pto_graph_output output = {"y", pto_graph_builder_abs(b, x, NULL)};
  assert_int_equal(pto_graph_builder_set_size(b, x, NULL, 0, "n"), PTO_OK);
  assert_int_equal(pto_graph_builder_set_size(b, x, NULL, 0, "m"), PTO_OK);
  assert_int_equal(pto_graph_builder_build(b, &output, 1, &graph), PTO_EINVAL);
  expect(pto_graph_builder_error(b), "build: one place has two sizes, \"n\" and \"m\"");
  pto_graph_builder_destroy(b);
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
      cmocka_unit_test(test_values_that_do_not_fit_are_refused_by_name),
      cmocka_unit_test(test_tensors_that_do_not_fit_are_refused_by_name),
      cmocka_unit_test(test_sizes_that_cannot_be_are_refused_where_they_stand),
      cmocka_unit_test(test_calls_of_the_builder_name_places),
      cmocka_unit_test(test_a_place_has_one_size),
      cmocka_unit_test(test_what_is_not_needed_leaves_no_size),
      cmocka_unit_test(test_binding_survives_each_allocation_that_fails),
  };
  return cmocka_run_group_tests(tests, test_folder_open, test_folder_close);
}
