/* SPDX-License-Identifier: MIT */
/*
 * Which tasks single nodes become: how many, of how many multiply-adds, and that their results are the reference's,
 * also where the window has room for few tasks.
 */
#include <graph/run/explain.h>
#include <graph/reference/reference.h>
#include <runtime/base/base.h>
#include <tests/support/lowered_graph.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST 8
#define SEED UINT64_C(11)

typedef struct pto_graph_builder builder;
typedef struct pto_graph_operand operand;

#define SHAPE(...)                                                                                                     \
  (uint32_t)(sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)), (const uint64_t[]) { __VA_ARGS__ }

static operand input(builder *b, const char *name, uint32_t dtype, uint32_t ndims, const uint64_t *shape) {
  struct pto_graph_desc desc = {.dtype = dtype, .ndims = ndims};
  if (ndims > 0) memcpy(desc.shape, shape, ndims * sizeof *shape); /* of rank 0 there is no shape */
  return pto_graph_builder_input(b, name, &desc);
}

static builder *begin(void) {
  builder *b;
  assert_int_equal(pto_graph_builder_create(NULL, &b), PTO_OK);
  return b;
}

/* The graph of one output; the builder goes. */
static struct pto_graph *built(builder *b, operand y) {
  const struct pto_graph_output output = {"y", y};
  struct pto_graph *graph;
  if (pto_graph_builder_build(b, &output, 1, &graph)) fail_msg("%s", pto_graph_builder_error(b));
  pto_graph_builder_destroy(b);
  return graph;
}

static uint64_t numel_of(const struct pto_operand *o) {
  uint64_t numel = 1;
  for (uint32_t d = 0; d < o->ndims; d++) numel *= o->shape[d];
  return numel;
}

/* Floats in [−1, 1); integers from −`indices` to below it, or below 64 where it is 0. */
static void *random_data(const struct pto_operand *o, struct pto_rng *rng, uint64_t indices) {
  const struct pto_graph_desc desc = {.dtype = o->dtype, .ndims = o->ndims};
  struct pto_graph_desc whole = desc;
  struct pto_reference_tensor t;
  memcpy(whole.shape, o->shape, sizeof whole.shape);
  assert_true(pto_reference_tensor_init(&t, &whole));
  for (uint64_t i = 0; i < numel_of(o); i++) {
    if (t.values)
      t.values[i] = (double)pto_rng_below(rng, 2048) / 1024 - 1;
    else
      t.whole[i] =
          indices ? (int64_t)pto_rng_below(rng, 2 * indices) - (int64_t)indices : (int64_t)pto_rng_below(rng, 64);
  }
  void *data = calloc(numel_of(o), pto_dtype_size(o->dtype));
  assert_non_null(data);
  pto_reference_tensor_store(&t, data);
  pto_reference_tensor_fini(&t);
  return data;
}

/* Runs it on `config` and holds its output against the reference's; `indices` as above. */
static void expect_right_on(struct pto_graph *graph, const struct pto_config *config, uint64_t indices,
                            const char *what) {
  struct pto_rng rng = {SEED};
  void *inputs[MOST], *outputs[2];
  const struct pto_operand *out = &graph->output_operands[0];
  struct pto_graph_desc desc = {.dtype = out->dtype, .ndims = out->ndims};
  struct pto_error error;
  memcpy(desc.shape, out->shape, sizeof desc.shape);
  assert_true(graph->input_count <= MOST);
  for (uint32_t i = 0; i < graph->input_count; i++) inputs[i] = random_data(&graph->input_operands[i], &rng, indices);
  for (uint32_t o = 0; o < 2; o++) outputs[o] = calloc(numel_of(out), pto_dtype_size(out->dtype));
  struct pto_context *context = lowered_graph_open(config);
  if (lowered_graph_run(graph, context, inputs, outputs)) fail_msg("%s: %s", what, pto_context_error(context));
  const void *given[MOST];
  memcpy(given, inputs, sizeof given);
  assert_int_equal(pto_graph_reference_run(graph, given, &outputs[1], NULL, NULL, &error), PTO_OK);
  static const struct lowered_graph_tolerance tolerance = {0x1p-18, 0x1p-9};
  lowered_graph_expect(&desc, outputs[0], outputs[1], false, &tolerance, what);
  pto_graph_forget(graph, context);
  pto_context_destroy(context);
  for (uint32_t i = 0; i < graph->input_count; i++) free(inputs[i]);
  for (uint32_t o = 0; o < 2; o++) free(outputs[o]);
}

static void expect_right(struct pto_graph *graph, uint64_t indices, const char *what) {
  expect_right_on(graph, &(struct pto_config){.chip = "a2a3", .workers = 2}, indices, what);
  expect_right_on(graph, &(struct pto_config){.engine = "virtual", .chip = "tiny", .window = 64}, indices, what);
}

/* What a node becomes. */
static struct pto_explained_node explained_node(struct pto_graph *graph, uint32_t index) {
  struct pto_context *context = lowered_graph_open(&(struct pto_config){.chip = "a2a3", .workers = 2});
  struct pto_chip chip;
  struct pto_graph_explanation explanation;
  struct pto_error error = {0};
  assert_int_equal(pto_chip_load("a2a3", &chip, &error), PTO_OK);
  if (pto_graph_explain(graph, context, &chip, &explanation, &error)) fail_msg("%s", error.sentence);
  const struct pto_explained_node node = explanation.nodes[index];
  pto_graph_explanation_fini(&explanation);
  pto_graph_forget(graph, context);
  pto_context_destroy(context);
  return node;
}

/* The same of a graph's one node. */
static struct pto_explained_node explained(struct pto_graph *graph) { return explained_node(graph, 0); }

static uint64_t tasks_of(const struct pto_explained_node *node, const char *kernel) {
  for (uint32_t k = 0; k < node->kernel_count; k++)
    if (strcmp(node->kernels[k].kernel->name, kernel) == 0) return node->kernels[k].tasks;
  return 0;
}

/* ---- depthwise ---- */

static struct pto_graph *depthwise(uint32_t layout, uint64_t n, uint64_t c, uint64_t side) {
  builder *b = begin();
  const bool is_last = layout == PTO_LAYOUT_NHWC;
  const operand x = is_last ? input(b, "x", PTO_FLOAT32, SHAPE(n, side, side, c))
                            : input(b, "x", PTO_FLOAT32, SHAPE(n, c, side, side));
  const operand f = input(b, "f", PTO_FLOAT32, SHAPE(c, 1, 3, 3));
  const struct pto_conv2d_options options = {
      .padding = PTO_U32_LIST(1, 1, 1, 1), .groups = pto_number_u64(c), .input_layout = layout};
  return built(b, pto_graph_builder_conv2d(b, x, f, &options));
}

static void test_a_depthwise_tile_is_all_rows_of_some_channels_first_and_some_rows_of_all_last(void **state) {
  (void)state;
  static const struct {
    uint64_t n, c, side, first, last;
  } cases[] = {
      {1, 960, 7, 2, 2},       /* 1024 rows of 7 · 9 products: 65536 fourths of them, 585 channels */
      {1, 33, 56, 4, 4},       /* 9 channels; 15 rows */
      {2, 33, 56, 8, 8},       /* each sample by itself */
      {1, 3, 300, 12, 10},     /* 97 rows of a channel; 32 of three */
      {1, 512, 100, 128, 100}, /* as many as there may be: 4 channels; 1 row */
  };
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++)
    for (uint32_t layout = PTO_LAYOUT_NCHW; layout <= PTO_LAYOUT_NHWC; layout++) {
      struct pto_graph *graph = depthwise(layout, cases[i].n, cases[i].c, cases[i].side);
      const struct pto_explained_node node = explained(graph);
      const uint64_t wanted = layout == PTO_LAYOUT_NHWC ? cases[i].last : cases[i].first;
      assert_int_equal(tasks_of(&node, "depthwise"), wanted);
      expect_right(graph, 0, "depthwise");
      pto_graph_destroy(graph);
    }
}

/* ---- products of pixels ---- */

static struct pto_graph *pointwise(uint32_t layout, uint64_t n, uint64_t c, uint64_t oc, uint64_t side) {
  builder *b = begin();
  const operand x = layout == PTO_LAYOUT_NHWC ? input(b, "x", PTO_FLOAT32, SHAPE(n, side, side, c))
                                              : input(b, "x", PTO_FLOAT32, SHAPE(n, c, side, side));
  const operand f = input(b, "f", PTO_FLOAT32, SHAPE(oc, c, 1, 1));
  const struct pto_conv2d_options options = {.bias = input(b, "bias", PTO_FLOAT32, SHAPE(oc)), .input_layout = layout};
  return built(b, pto_graph_builder_conv2d(b, x, f, &options));
}

static void test_products_of_small_planes_are_cut_by_channels(void **state) {
  (void)state;
  static const struct {
    uint64_t n, c, oc, side, wanted;
  } cases[] = {
      {1, 320, 1280, 7, 5}, /* 4194304 multiply-adds: 267 channels of all pixels */
      {2, 96, 500, 14, 6},  /* 222 channels, evened out to 167, whole vectors of which are 176 */
      {1, 16, 30, 23, 1},   /* a plane of 529 pixels is none of the small */
      {1, 100, 300, 24, 5},
  };
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++)
    for (uint32_t layout = PTO_LAYOUT_NCHW; layout <= PTO_LAYOUT_NHWC; layout++) {
      char what[32];
      snprintf(what, sizeof what, "case %zu, layout %u", i, layout);
      struct pto_graph *graph = pointwise(layout, cases[i].n, cases[i].c, cases[i].oc, cases[i].side);
      const struct pto_explained_node node = explained(graph);
      if (tasks_of(&node, "gemm") != cases[i].wanted)
        fail_msg("%s: %llu tasks", what, (unsigned long long)tasks_of(&node, "gemm"));
      expect_right(graph, 0, what);
      pto_graph_destroy(graph);
    }
}

/* ---- images between nodes ---- */

/* Two convolutions with filters that are constants, the second of them depthwise; `add_one` between them. */
static struct pto_graph *two_convolutions(uint64_t c, uint64_t side, uint32_t filter_layout, bool add_one) {
  builder *b = begin();
  static float weights[512 * 16];
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(weights); i++) weights[i] = (float)(i % 17) / 16 - 0.5f;
  static const uint8_t orders[][4] = {[PTO_CONV2D_OIHW] = {0, 1, 2, 3},
                                      [PTO_CONV2D_HWIO] = {2, 3, 1, 0},
                                      [PTO_CONV2D_OHWI] = {0, 2, 3, 1},
                                      [PTO_CONV2D_IHWO] = {1, 2, 3, 0}};
  const uint64_t oihw[2][4] = {{c, 4, 2, 2}, {c, 1, 3, 3}};
  struct pto_graph_desc filters[2] = {{PTO_FLOAT32, 4, {0}}, {PTO_FLOAT32, 4, {0}}};
  for (uint32_t f = 0; f < 2; f++)
    for (uint32_t d = 0; d < 4; d++) filters[f].shape[d] = oihw[f][orders[filter_layout][d]];
  const struct pto_conv2d_options first = {.padding = PTO_U32_LIST(1, 0, 1, 0), .filter_layout = filter_layout};
  const struct pto_conv2d_options second = {
      .padding = PTO_U32_LIST(1, 1, 1, 1), .filter_layout = filter_layout, .groups = pto_number_u64(c)};
  operand x = input(b, "x", PTO_FLOAT32, SHAPE(1, 4, side, side));
  x = pto_graph_builder_conv2d(b, x, pto_graph_builder_constant(b, &filters[0], weights, 4 * c * 16), &first);
  if (add_one) x = pto_graph_builder_add(b, x, x, NULL);
  return built(b,
               pto_graph_builder_conv2d(b, x, pto_graph_builder_constant(b, &filters[1], weights, 4 * c * 9), &second));
}

static void test_a_convolution_leaves_its_channels_side_by_side_for_the_next(void **state) {
  (void)state;
  for (uint32_t layout = PTO_CONV2D_OIHW; layout <= PTO_CONV2D_IHWO; layout++)
    for (int add_one = 0; add_one < 2; add_one++) {
      struct pto_graph *graph = two_convolutions(512, 100, layout, add_one);
      const uint32_t last = graph->node_count - 1;
      const struct pto_explained_node node = explained_node(graph, last);
      assert_int_equal(tasks_of(&node, "depthwise"), 100); /* rows of all channels; 128 of four channels else */
      for (uint32_t n = 0; n < last; n++) {
        const struct pto_explained_node before = explained_node(graph, n);
        assert_int_equal(tasks_of(&before, "copy"), 0);
      }
      pto_graph_destroy(graph);
      graph = two_convolutions(40, 9, layout, add_one); /* vectors and a rest */
      expect_right(graph, 0, "two convolutions");
      pto_graph_destroy(graph);
    }
}

static void test_a_convolution_of_few_channels_leaves_planes(void **state) {
  (void)state;
  struct pto_graph *graph = two_convolutions(15, 300, PTO_CONV2D_OIHW, false);
  const struct pto_explained_node node = explained_node(graph, 1);
  assert_int_equal(tasks_of(&node, "depthwise"), 60); /* four tiles of rows of each channel */
  pto_graph_destroy(graph);
}

/* ---- convolutions turned round ---- */

struct turned {
  uint64_t c, oc, groups, h, w, window[2];
  uint32_t stride[2], dilation[2], padding[4], output_padding[2];
  bool has_bias, is_last;
};

static struct pto_graph *turned_round(const struct turned *t, uint32_t dtype) {
  builder *b = begin();
  const uint64_t each = t->oc / t->groups;
  const operand x =
      t->is_last ? input(b, "x", dtype, SHAPE(2, t->h, t->w, t->c)) : input(b, "x", dtype, SHAPE(2, t->c, t->h, t->w));
  const operand f = input(b, "f", dtype, SHAPE(t->c, each, t->window[0], t->window[1]));
  const struct pto_conv_transpose2d_options options = {.bias = t->has_bias ? input(b, "bias", dtype, SHAPE(t->oc))
                                                                           : (operand){0},
                                                       .padding = {t->padding, 4},
                                                       .strides = {t->stride, 2},
                                                       .dilations = {t->dilation, 2},
                                                       .output_padding = {t->output_padding, 2},
                                                       .groups = pto_number_u64(t->groups),
                                                       .input_layout = t->is_last ? PTO_LAYOUT_NHWC : PTO_LAYOUT_NCHW};
  return built(b, pto_graph_builder_conv_transpose2d(b, x, f, &options));
}

static void test_a_transposed_convolution_multiplies_each_element_with_each_tap_once(void **state) {
  (void)state;
  for (uint32_t stride = 1; stride <= 8; stride *= 2) {
    const struct turned t = {.c = 8,
                             .oc = 6,
                             .groups = 1,
                             .h = 9,
                             .w = 10,
                             .window = {stride, 2 * stride},
                             .stride = {stride, stride},
                             .dilation = {1, 1}};
    struct pto_graph *graph = turned_round(&t, PTO_FLOAT32);
    const struct pto_explained_node node = explained(graph);
    /* columns: of two taps apart by a stride, windows reach one beyond x on each side, which is padding */
    assert_int_equal(node.multiply_adds, 2 * 9 * 11 * 8 * 6 * stride * 2 * stride);
    pto_graph_destroy(graph);
  }
}

static void test_transposed_convolutions_of_any_stride_and_padding_are_the_references(void **state) {
  (void)state;
  static const struct turned cases[] = {
      /* windows smaller than the stride: outputs of no tap are the bias, or zero */
      {4, 6, 1, 5, 7, {2, 3}, {5, 4}, {1, 1}, {0, 0, 0, 0}, {4, 3}, true, false},
      {4, 6, 1, 5, 7, {2, 3}, {5, 4}, {1, 1}, {1, 0, 2, 1}, {0, 0}, false, true},
      /* taps of a dilation that has a divisor with the stride, or is a multiple of it */
      {4, 6, 2, 6, 5, {3, 4}, {4, 6}, {2, 4}, {0, 0, 0, 0}, {1, 2}, true, false},
      {4, 6, 2, 6, 5, {3, 4}, {3, 2}, {6, 2}, {1, 2, 3, 1}, {0, 0}, false, true},
      /* padding beyond the window's reach cuts x off */
      {3, 2, 1, 9, 9, {2, 2}, {2, 3}, {1, 1}, {7, 6, 9, 4}, {0, 1}, true, false},
      {3, 2, 1, 9, 9, {1, 1}, {2, 3}, {1, 1}, {4, 5, 3, 6}, {1, 2}, false, false},
      /* one channel a group, and two */
      {6, 6, 6, 8, 7, {4, 3}, {2, 3}, {1, 1}, {1, 1, 1, 1}, {0, 0}, true, false},
      {6, 6, 6, 8, 7, {4, 3}, {3, 2}, {1, 2}, {1, 0, 2, 1}, {1, 0}, false, true},
      {6, 12, 6, 4, 4, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, {1, 1}, true, false},
      /* as an ordinary one turned round */
      {5, 4, 1, 8, 8, {3, 5}, {1, 1}, {1, 2}, {1, 1, 4, 3}, {0, 0}, true, true},
      /* more phases than the window has slots */
      {2, 3, 1, 3, 3, {12, 12}, {12, 12}, {1, 1}, {0, 0, 0, 0}, {0, 0}, true, false},
      {2, 3, 1, 3, 3, {2, 2}, {90, 80}, {1, 1}, {0, 0, 0, 0}, {0, 0}, true, false},
  };
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++)
    for (uint32_t is_half = 0; is_half < 2; is_half++) {
      char what[32];
      snprintf(what, sizeof what, "case %zu%s", i, is_half ? ", fp16" : "");
      struct pto_graph *graph = turned_round(&cases[i], is_half ? PTO_FLOAT16 : PTO_FLOAT32);
      expect_right(graph, 0, what);
      pto_graph_destroy(graph);
    }
}

/* ---- what indices choose ---- */

static operand gathered(builder *b, uint32_t which) {
  const struct pto_axis_options axis = {.axis = pto_number_u64(1)};
  const operand x = input(b, "x", PTO_FLOAT32, SHAPE(40, 50, 60));
  switch (which) {
  case 0:
    return pto_graph_builder_gather_elements(b, x, input(b, "i", PTO_INT32, SHAPE(40, 70, 60)), &axis);
  case 8: /* along the axis too: data is whole along it */
    return pto_graph_builder_gather_elements(b, input(b, "short", PTO_FLOAT32, SHAPE(2, 50, 60)),
                                             input(b, "i", PTO_INT32, SHAPE(2, 1400, 60)), &axis);
  case 9: /* and here it stays whole, though the others are short */
    return pto_graph_builder_scatter_elements(b, input(b, "short", PTO_FLOAT32, SHAPE(2, 1400, 60)),
                                              input(b, "i", PTO_INT32, SHAPE(2, 1400, 60)),
                                              input(b, "updates", PTO_FLOAT32, SHAPE(2, 1400, 60)), &axis);
  case 1: /* few positions of long rows */
    return pto_graph_builder_gather_nd(b, x, input(b, "i", PTO_INT64, SHAPE(3, 1)), NULL);
  case 2: /* many positions of one element */
    return pto_graph_builder_gather_nd(b, x, input(b, "i", PTO_INT32, SHAPE(300, 200, 3)), NULL);
  case 3: /* one position of long rows */
    return pto_graph_builder_gather(b, x, input(b, "i", PTO_INT32, 0, NULL), &axis);
  case 4:
    return pto_graph_builder_gather(b, x, input(b, "i", PTO_INT32, SHAPE(5, 7)), &axis);
  default: { /* several updates to one element, of which the last stays */
    const operand updates = input(b, "updates", PTO_FLOAT32, SHAPE(40, 70, 60));
    const operand i = input(b, "i", PTO_INT32, SHAPE(40, 70, 60));
    const operand rows = input(b, "rows", PTO_FLOAT32, SHAPE(90, 50, 60));
    const operand places = input(b, "places", PTO_INT32, SHAPE(90, 1));
    if (which == 5) return pto_graph_builder_scatter_elements(b, x, i, updates, &axis);
    if (which == 6) return pto_graph_builder_scatter_nd(b, x, places, rows, NULL);
    return pto_graph_builder_scatter_nd(b, x, input(b, "all", PTO_INT32, SHAPE(20000, 3)),
                                        input(b, "each", PTO_FLOAT32, SHAPE(20000)), NULL);
  }
  }
}

static void test_gathers_and_scatters_are_cut_wherever_tiles_cannot_write_one_element(void **state) {
  (void)state;
  static const struct {
    const char *kernel;
    uint64_t tasks;
  } wanted[] = {{"gather_elements", 10},
                {"gather_nd", 1},
                {"gather_nd", 3},
                {"gather", 1},
                {"gather", 5},
                {"scatter_elements_inplace", 10},
                {"scatter_nd_inplace", 13},
                {"scatter_nd_inplace", 1},
                {"gather_elements", 10},
                {"scatter_elements_inplace", 10}};
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(wanted); i++) {
    char what[32];
    snprintf(what, sizeof what, "case %u", i);
    builder *b = begin();
    struct pto_graph *graph = built(b, gathered(b, i));
    const struct pto_explained_node node = explained(graph);
    if (tasks_of(&node, wanted[i].kernel) != wanted[i].tasks)
      fail_msg("%s: %llu tasks", what, (unsigned long long)tasks_of(&node, wanted[i].kernel));
    expect_right(graph, 90, what);
    pto_graph_destroy(graph);
  }
}

/* ---- pad ---- */

static void test_a_pad_of_any_mode_is_cut_into_boxes_that_have_what_they_mirror(void **state) {
  (void)state;
  static const struct {
    uint64_t shape[3];
    uint32_t before[3], behind[3];
    uint64_t tasks[4]; /* by mode */
  } cases[] = {
      {{60, 40, 50}, {2, 3, 1}, {1, 0, 4}, {12, 12, 12, 12}}, {{60, 40, 50}, {9, 0, 0}, {0, 0, 0}, {12, 12, 6, 6}},
      {{60, 40, 50}, {30, 0, 7}, {8, 5, 0}, {20, 20, 5, 5}}, /* mirrored: cut along dimension 1 alone */
      {{9, 70, 80}, {0, 69, 0}, {5, 0, 0}, {9, 9, 12, 12}},   {{200000, 1, 1}, {5, 0, 0}, {0, 0, 0}, {24, 24, 24, 24}},
      {{3, 1, 1}, {200, 0, 0}, {300000, 0, 0}, {3, 3, 0, 0}}, /* more than could be mirrored */
  };
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++)
    for (uint32_t mode = 0; mode < 4; mode++) {
      char what[32];
      snprintf(what, sizeof what, "case %zu, mode %u", i, mode);
      if (cases[i].tasks[mode] == 0) continue;
      const struct pto_pad_options options = {.value = pto_number_f64(0.5),
                                              .beginning_padding = {cases[i].before, 3},
                                              .ending_padding = {cases[i].behind, 3},
                                              .mode = mode};
      builder *b = begin();
      struct pto_graph *graph =
          built(b, pto_graph_builder_pad(b, input(b, "x", PTO_FLOAT32, 3, cases[i].shape), &options));
      const struct pto_explained_node node = explained(graph);
      if (tasks_of(&node, "pad") != cases[i].tasks[mode])
        fail_msg("%s: %llu tasks", what, (unsigned long long)tasks_of(&node, "pad"));
      expect_right(graph, 0, what);
      pto_graph_destroy(graph);
    }
}

/* ---- many parts ---- */

static operand many_parts(builder *b, uint32_t which) {
  operand parts[200];
  const operand x = input(b, "x", PTO_FLOAT32, SHAPE(1, 400, 5, 5));
  const struct pto_concat_options join = {.axis = 1};
  if (which == 0) { /* a group's filters lie apart, and are made dense */
    const struct pto_conv2d_options options = {.groups = pto_number_u64(200), .filter_layout = PTO_CONV2D_HWIO};
    return pto_graph_builder_conv2d(b, x, input(b, "f", PTO_FLOAT32, SHAPE(2, 2, 2, 200)), &options);
  }
  if (which == 1) {
    const struct pto_conv_transpose2d_options options = {.groups = pto_number_u64(100), .strides = PTO_U32_LIST(2, 2)};
    return pto_graph_builder_conv_transpose2d(b, x, input(b, "f", PTO_FLOAT32, SHAPE(400, 1, 3, 3)), &options);
  }
  if (which == 2) {
    const struct pto_lstm_options options = {.steps = 90, .hidden_size = 3};
    operand results[3];
    pto_graph_builder_lstm(b, input(b, "s", PTO_FLOAT32, SHAPE(90, 2, 3)), input(b, "w", PTO_FLOAT32, SHAPE(1, 12, 3)),
                           input(b, "r", PTO_FLOAT32, SHAPE(1, 12, 3)), &options, results, 2);
    return results[0];
  }
  for (uint32_t i = 0; i < 200; i++) parts[i] = x;
  return pto_graph_builder_concat(b, parts, 200, &join);
}

static void test_nodes_of_more_parts_than_the_window_has_slots_fit_it(void **state) {
  (void)state;
  for (uint32_t i = 0; i < 4; i++) {
    char what[32];
    snprintf(what, sizeof what, "case %u", i);
    builder *b = begin();
    struct pto_graph *graph = built(b, many_parts(b, i));
    expect_right(graph, 0, what);
    pto_graph_destroy(graph);
  }
}

/* ---- products ---- */

static void test_small_products_of_a_batch_are_one_task_as_far_as_they_are_little_work(void **state) {
  (void)state;
  static const struct {
    uint64_t a[4], b[4], tasks;
  } cases[] = {
      {{1, 100000, 2, 3}, {1, 100000, 3, 4}, 37}, /* 24 multiply-adds each: 2730 a task, evened out to 2703 */
      {{50, 9, 20, 30}, {1, 9, 30, 4}, 17},       /* 2400 each: 27 a task, which are 3 rows of 9 */
      {{7, 30, 40, 50}, {7, 1, 50, 6}, 42},       /* 12000 each: 5 a task */
      {{3, 4, 65, 2}, {3, 4, 2, 2}, 24},          /* cut in rows: each by itself */
      {{3, 1, 64, 64}, {1, 5, 64, 128}, 15},      /* as large as a tile */
  };
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) {
    char what[32];
    snprintf(what, sizeof what, "case %zu", i);
    builder *b = begin();
    const operand left = input(b, "a", PTO_FLOAT32, 4, cases[i].a), right = input(b, "b", PTO_FLOAT32, 4, cases[i].b);
    struct pto_graph *graph = built(b, pto_graph_builder_matmul(b, left, right, NULL));
    const struct pto_explained_node node = explained(graph);
    if (node.tasks != cases[i].tasks) fail_msg("%s: %llu tasks", what, (unsigned long long)node.tasks);
    expect_right(graph, 0, what);
    pto_graph_destroy(graph);
  }
}

/* ---- ranks ---- */

static void test_batch_normalizations_of_every_rank_and_axis_are_the_references(void **state) {
  (void)state;
  for (uint32_t ndims = 1; ndims <= PTO_MAX_DIMS; ndims++)
    for (uint32_t axis = 0; axis < ndims; axis++) {
      const uint64_t shape[PTO_MAX_DIMS] = {3, 4, 1, 5, 2, 1, 3, 40}, channels[] = {shape[axis]};
      const struct pto_batch_normalization_options options = {.axis = pto_number_u64(axis),
                                                              .epsilon = pto_number_f64(2)};
      char what[32];
      snprintf(what, sizeof what, "axis %u of rank %u", axis, ndims);
      builder *b = begin();
      const operand x = input(b, "x", PTO_FLOAT32, ndims, shape);
      const operand mean = input(b, "m", PTO_FLOAT32, 1, channels), variance = input(b, "v", PTO_FLOAT32, 1, channels);
      struct pto_graph *graph = built(b, pto_graph_builder_batch_normalization(b, x, mean, variance, &options));
      expect_right(graph, 0, what);
      pto_graph_destroy(graph);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_depthwise_tile_is_all_rows_of_some_channels_first_and_some_rows_of_all_last),
      cmocka_unit_test(test_a_convolution_leaves_its_channels_side_by_side_for_the_next),
      cmocka_unit_test(test_a_convolution_of_few_channels_leaves_planes),
      cmocka_unit_test(test_products_of_small_planes_are_cut_by_channels),
      cmocka_unit_test(test_a_transposed_convolution_multiplies_each_element_with_each_tap_once),
      cmocka_unit_test(test_transposed_convolutions_of_any_stride_and_padding_are_the_references),
      cmocka_unit_test(test_gathers_and_scatters_are_cut_wherever_tiles_cannot_write_one_element),
      cmocka_unit_test(test_a_pad_of_any_mode_is_cut_into_boxes_that_have_what_they_mirror),
      cmocka_unit_test(test_nodes_of_more_parts_than_the_window_has_slots_fit_it),
      cmocka_unit_test(test_small_products_of_a_batch_are_one_task_as_far_as_they_are_little_work),
      cmocka_unit_test(test_batch_normalizations_of_every_rank_and_axis_are_the_references),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
