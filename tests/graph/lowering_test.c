/* SPDX-License-Identifier: MIT */
/*
 * Lowered graphs of sizes that are cut into many tasks, against the reference; and that tasks, bytes and storage are
 * what graph/lower/lowering.h promises.
 */
#include <graph/reference/reference.h>
#include <graph/lower/lowering.h>
#include <runtime/base/base.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST 18

typedef struct pto_graph_builder builder;
typedef struct pto_graph_operand operand;

/* ---- making graphs ---- */

struct made {
  struct pto_graph *graph;
  void *inputs[MOST], *expected[MOST], *outputs[MOST];
};

static struct pto_graph_desc desc_of(uint32_t dtype, uint32_t ndims, const uint64_t *shape) {
  struct pto_graph_desc desc = {.dtype = dtype, .ndims = ndims};
  memcpy(desc.shape, shape, ndims * sizeof *shape);
  return desc;
}
#define SHAPE(...)                                                                                                     \
  (uint32_t)(sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)), (const uint64_t[]) { __VA_ARGS__ }

static operand input(builder *b, const char *name, uint32_t dtype, uint32_t ndims, const uint64_t *shape) {
  const struct pto_graph_desc desc = desc_of(dtype, ndims, shape);
  return pto_graph_builder_input(b, name, &desc);
}

static uint64_t bytes_of(const struct pto_operand *o) {
  uint64_t bits = pto_dtype_bits(o->dtype);
  for (uint32_t d = 0; d < o->ndims; d++) bits *= o->shape[d];
  return (bits + 7) / 8;
}

/* Floats in [−1, 1), integers below 64 and, of signed dtypes, some negative. */
static void *random_bytes(const struct pto_operand *o, struct pto_rng *rng) {
  const uint64_t numel = bytes_of(o) / pto_dtype_size(o->dtype);
  char *data = malloc(bytes_of(o));
  assert_non_null(data);
  for (uint64_t i = 0; i < numel; i++) {
    const float x = (float)pto_rng_below(rng, 4096) / 2048 - 1;
    const int64_t whole = (int64_t)pto_rng_below(rng, 64);
    if (o->dtype == PTO_FLOAT32)
      memcpy(data + i * 4, &x, 4);
    else if (o->dtype == PTO_FLOAT16)
      memcpy(data + i * 2, &(uint16_t){pto_fp16_from_f32(x)}, 2);
    else
      memcpy(data + i * pto_dtype_size(o->dtype), &whole, pto_dtype_size(o->dtype));
  }
  return data;
}

typedef uint32_t make_function(builder *b, struct pto_graph_output *outputs);

static struct made make(make_function *function) {
  builder *b;
  struct made made = {0};
  struct pto_graph_output outputs[MOST];
  struct pto_rng rng = {7};
  struct pto_error error;
  assert_int_equal(pto_graph_builder_create(NULL, &b), PTO_OK);
  const uint32_t count = function(b, outputs);
  if (pto_graph_builder_build(b, outputs, count, &made.graph)) fail_msg("%s", pto_graph_builder_error(b));
  pto_graph_builder_destroy(b);
  for (uint32_t i = 0; i < made.graph->input_count; i++)
    made.inputs[i] = random_bytes(&made.graph->input_operands[i], &rng);
  for (uint32_t o = 0; o < count; o++) {
    made.expected[o] = calloc(1, bytes_of(&made.graph->output_operands[o]));
    made.outputs[o] = calloc(1, bytes_of(&made.graph->output_operands[o]));
  }
  const void *inputs[MOST];
  memcpy(inputs, made.inputs, sizeof inputs);
  assert_int_equal(pto_graph_reference_run(made.graph, inputs, made.expected, NULL, NULL, &error), PTO_OK);
  return made;
}

static void unmake(struct made *made) {
  pto_graph_destroy(made->graph);
  for (uint32_t i = 0; i < MOST; i++) {
    free(made->inputs[i]);
    free(made->expected[i]);
    free(made->outputs[i]);
  }
}

/* ---- running them ---- */

static struct pto_context *open_context(const struct pto_config *config) {
  struct pto_context_options options = {.size = sizeof options, .runtime = *config};
  struct pto_context *context;
  char sentence[512];
  if (pto_context_create(&options, &context, sentence, sizeof sentence)) fail_msg("%s", sentence);
  return context;
}

static void compute(struct made *made, struct pto_context *context) {
  struct pto_host_array in[MOST], out[MOST];
  const struct pto_graph *g = made->graph;
  for (uint32_t i = 0; i < g->input_count; i++)
    in[i] = (struct pto_host_array){g->input_operands[i].name, made->inputs[i], bytes_of(&g->input_operands[i])};
  for (uint32_t o = 0; o < g->output_count; o++)
    out[o] = (struct pto_host_array){g->output_operands[o].name, made->outputs[o], bytes_of(&g->output_operands[o])};
  if (pto_graph_compute(made->graph, context, &(struct pto_compute_arrays){in, out, g->input_count, g->output_count}))
    fail_msg("%s", pto_context_error(context));
}

static double element(const struct pto_operand *o, const void *data, uint64_t i) {
  const char *at = (const char *)data + i * pto_dtype_size(o->dtype);
  if (o->dtype == PTO_FLOAT32) return (double)*(const float *)(const void *)at;
  if (o->dtype == PTO_FLOAT16) return (double)pto_fp16_to_f32(*(const uint16_t *)(const void *)at);
  int64_t whole = 0;
  memcpy(&whole, at, pto_dtype_size(o->dtype));
  return (double)whole;
}

/* f32: 2^-18 of the magnitude, or of 1; fp16: two units in the last place; integers: equal. */
static void assert_right(const struct made *made) {
  for (uint32_t o = 0; o < made->graph->output_count; o++) {
    const struct pto_operand *out = &made->graph->output_operands[o];
    const double part = out->dtype == PTO_FLOAT32 ? 0x1p-18 : out->dtype == PTO_FLOAT16 ? 0x1p-9 : 0;
    for (uint64_t i = 0; i < bytes_of(out) / pto_dtype_size(out->dtype); i++) {
      const double got = element(out, made->outputs[o], i), wanted = element(out, made->expected[o], i);
      const bool is_same = got == wanted || (isnan(got) && isnan(wanted));
      if (!is_same && !(fabs(got - wanted) <= part * fmax(1, fabs(wanted))))
        fail_msg("output %s[%llu]: %.9g, not %.9g", out->name, (unsigned long long)i, got, wanted);
    }
  }
}

/* ---- graphs that are cut ---- */

static uint32_t elementwise(builder *b, struct pto_graph_output *outputs) {
  const operand x = input(b, "x", PTO_FLOAT32, SHAPE(300, 257)), row = input(b, "row", PTO_FLOAT32, SHAPE(257));
  const operand column = input(b, "column", PTO_FLOAT16, SHAPE(300, 1));
  const struct pto_cast_options half = {.data_type = PTO_FLOAT16};
  const operand sum = pto_graph_builder_add(b, x, row, NULL), narrow = pto_graph_builder_cast(b, sum, &half);
  outputs[0] = (struct pto_graph_output){"tanh", pto_graph_builder_tanh(b, sum, NULL)};
  outputs[1] = (struct pto_graph_output){"less", pto_graph_builder_lesser(b, narrow, column, NULL)};
  outputs[2] =
      (struct pto_graph_output){"chosen", pto_graph_builder_where(b, outputs[1].operand, narrow, column, NULL)};
  return 3;
}

static uint32_t rows_and_columns(builder *b, struct pto_graph_output *outputs) {
  const operand x = input(b, "x", PTO_FLOAT32, SHAPE(130, 17, 90));
  const struct pto_softmax_options across = {.axis = 1};
  const struct pto_reduce_options outer = {.axes = PTO_U32_LIST(0)}, inner = {.axes = PTO_U32_LIST(1, 2)};
  const struct pto_arg_reduce_options arg = {.axis = 2, .keep_dimensions = PTO_FLAG_YES};
  const struct pto_layer_normalization_options layer = {.axes = PTO_U32_LIST(2, 0)};
  const struct pto_cumulative_sum_options sum = {.axis = 0, .exclusive = PTO_FLAG_YES, .reversed = PTO_FLAG_YES};
  outputs[0] = (struct pto_graph_output){"softmax", pto_graph_builder_softmax(b, x, &across)};
  outputs[1] = (struct pto_graph_output){"outer", pto_graph_builder_reduce_l2(b, x, &outer)};
  outputs[2] = (struct pto_graph_output){"inner", pto_graph_builder_reduce_log_sum_exp(b, x, &inner)};
  outputs[3] = (struct pto_graph_output){"arg", pto_graph_builder_arg_max(b, x, &arg)};
  outputs[4] = (struct pto_graph_output){"layer", pto_graph_builder_layer_normalization(b, x, &layer)};
  outputs[5] = (struct pto_graph_output){"sum", pto_graph_builder_cumulative_sum(b, x, &sum)};
  return 6;
}

static uint32_t products(builder *b, struct pto_graph_output *outputs) {
  const operand a = input(b, "a", PTO_FLOAT32, SHAPE(3, 1, 150, 70)), c = input(b, "c", PTO_FLOAT32, SHAPE(2, 70, 300));
  const operand t = input(b, "t", PTO_FLOAT16, SHAPE(90, 200)), u = input(b, "u", PTO_FLOAT16, SHAPE(180, 90));
  const operand bias = input(b, "bias", PTO_FLOAT16, SHAPE(180));
  const struct pto_gemm_options options = {.c = bias,
                                           .alpha = pto_number_f64(0.5),
                                           .beta = pto_number_f64(-2),
                                           .a_transpose = PTO_FLAG_YES,
                                           .b_transpose = PTO_FLAG_YES};
  outputs[0] = (struct pto_graph_output){"matmul", pto_graph_builder_matmul(b, a, c, NULL)};
  outputs[1] = (struct pto_graph_output){"gemm", pto_graph_builder_gemm(b, t, u, &options)};
  return 2;
}

static uint32_t convolutions(builder *b, struct pto_graph_output *outputs) {
  const operand x = input(b, "x", PTO_FLOAT32, SHAPE(2, 12, 41, 37)),
                y = input(b, "y", PTO_FLOAT32, SHAPE(1, 30, 33, 16));
  const operand f = input(b, "f", PTO_FLOAT32, SHAPE(20, 6, 3, 5)), g = input(b, "g", PTO_FLOAT32, SHAPE(3, 3, 16, 24));
  const operand bias = input(b, "bias", PTO_FLOAT32, SHAPE(20)), d = input(b, "d", PTO_FLOAT32, SHAPE(1, 3, 3, 16));
  const operand t = input(b, "t", PTO_FLOAT32, SHAPE(12, 4, 3, 2)), p = input(b, "p", PTO_FLOAT32, SHAPE(40, 12, 1, 1));
  const struct pto_conv2d_options grouped = {.bias = bias,
                                             .padding = PTO_U32_LIST(2, 1, 3, 0),
                                             .strides = PTO_U32_LIST(2, 1),
                                             .dilations = PTO_U32_LIST(1, 2),
                                             .groups = pto_number_u64(2)};
  const struct pto_conv2d_options last = {
      .padding = PTO_U32_LIST(1, 1, 1, 1), .input_layout = PTO_LAYOUT_NHWC, .filter_layout = PTO_CONV2D_HWIO};
  const struct pto_conv2d_options depthwise = {.padding = PTO_U32_LIST(1, 1, 1, 1),
                                               .strides = PTO_U32_LIST(2, 2),
                                               .groups = pto_number_u64(16),
                                               .input_layout = PTO_LAYOUT_NHWC,
                                               .filter_layout = PTO_CONV2D_IHWO};
  const struct pto_conv_transpose2d_options turned = {.padding = PTO_U32_LIST(1, 0, 2, 1),
                                                      .strides = PTO_U32_LIST(3, 2),
                                                      .output_padding = PTO_U32_LIST(2, 1),
                                                      .groups = pto_number_u64(3)};
  outputs[0] = (struct pto_graph_output){"grouped", pto_graph_builder_conv2d(b, x, f, &grouped)};
  outputs[1] = (struct pto_graph_output){"last", pto_graph_builder_conv2d(b, y, g, &last)};
  outputs[2] = (struct pto_graph_output){"depthwise", pto_graph_builder_conv2d(b, y, d, &depthwise)};
  outputs[3] = (struct pto_graph_output){"turned", pto_graph_builder_conv_transpose2d(b, x, t, &turned)};
  outputs[4] = (struct pto_graph_output){"pointwise", pto_graph_builder_conv2d(b, x, p, NULL)};
  return 5;
}

/* Padding that is larger than windows: some lie in it altogether, above and below, and rows are cut there. */
static uint32_t in_padding(builder *b, struct pto_graph_output *outputs) {
  const operand x = input(b, "x", PTO_FLOAT32, SHAPE(1, 16, 12, 400)),
                f = input(b, "f", PTO_FLOAT32, SHAPE(8, 16, 2, 3));
  const operand each = input(b, "each", PTO_FLOAT32, SHAPE(16, 1, 2, 2)),
                bias = input(b, "bias", PTO_FLOAT32, SHAPE(16));
  const operand one = input(b, "one", PTO_FLOAT32, SHAPE(8, 16, 1, 1));
  const struct pto_conv2d_options wide = {.padding = PTO_U32_LIST(5, 6, 2, 9), .strides = PTO_U32_LIST(1, 2)};
  const struct pto_conv2d_options apart = {.padding = PTO_U32_LIST(4, 11, 0, 0), .strides = PTO_U32_LIST(3, 1)};
  const struct pto_conv2d_options depthwise = {
      .bias = bias, .padding = PTO_U32_LIST(7, 20, 3, 3), .groups = pto_number_u64(16)};
  const struct pto_pool2d_options pool = {.window_dimensions = PTO_U32_LIST(2, 2), .padding = PTO_U32_LIST(4, 9, 3, 0)};
  outputs[0] = (struct pto_graph_output){"wide", pto_graph_builder_conv2d(b, x, f, &wide)};
  outputs[1] = (struct pto_graph_output){"apart", pto_graph_builder_conv2d(b, x, one, &apart)};
  outputs[2] = (struct pto_graph_output){"depthwise", pto_graph_builder_conv2d(b, x, each, &depthwise)};
  outputs[3] = (struct pto_graph_output){"l2", pto_graph_builder_l2_pool2d(b, x, &pool)};
  outputs[4] = (struct pto_graph_output){"max", pto_graph_builder_max_pool2d(b, x, &pool)};
  outputs[5] = (struct pto_graph_output){"average", pto_graph_builder_average_pool2d(b, x, &pool)};
  return 6;
}

static uint32_t pools(builder *b, struct pto_graph_output *outputs) {
  const operand x = input(b, "x", PTO_FLOAT32, SHAPE(2, 13, 40, 44)), i = input(b, "i", PTO_INT32, SHAPE(1, 50, 60, 9));
  const struct pto_pool2d_options padded = {.window_dimensions = PTO_U32_LIST(3, 5),
                                            .padding = PTO_U32_LIST(1, 2, 2, 3),
                                            .strides = PTO_U32_LIST(2, 3),
                                            .output_shape_rounding = PTO_ROUNDING_CEIL};
  const struct pto_pool2d_options last = {.window_dimensions = PTO_U32_LIST(2, 2),
                                          .padding = PTO_U32_LIST(1, 1, 0, 1),
                                          .dilations = PTO_U32_LIST(3, 2),
                                          .layout = PTO_LAYOUT_NHWC};
  const struct pto_resample2d_options bigger = {
      .mode = PTO_INTERPOLATION_LINEAR, .sizes = PTO_U32_LIST(67, 31), .axes = PTO_U32_LIST(2, 3)};
  const struct pto_resample2d_options nearest = {.scales = PTO_F32_LIST(1.5f, 0.4f), .axes = PTO_U32_LIST(1, 2)};
  outputs[0] = (struct pto_graph_output){"average", pto_graph_builder_average_pool2d(b, x, &padded)};
  outputs[1] = (struct pto_graph_output){"l2", pto_graph_builder_l2_pool2d(b, x, &padded)};
  outputs[2] = (struct pto_graph_output){"max", pto_graph_builder_max_pool2d(b, i, &last)};
  outputs[3] = (struct pto_graph_output){"all", pto_graph_builder_average_pool2d(b, x, NULL)};
  outputs[4] = (struct pto_graph_output){"global", pto_graph_builder_global_max_pool(b, x, NULL)};
  outputs[5] = (struct pto_graph_output){"bigger", pto_graph_builder_resample2d(b, x, &bigger)};
  outputs[6] = (struct pto_graph_output){"nearest",
                                         pto_graph_builder_resample2d(b, pto_graph_builder_tanh(b, x, NULL), &nearest)};
  return 7;
}

static uint32_t moves(builder *b, struct pto_graph_output *outputs) {
  const operand x = input(b, "x", PTO_FLOAT32, SHAPE(120, 33, 30)), i = input(b, "i", PTO_INT64, SHAPE(70, 50));
  const struct pto_transpose_options turn = {.permutation = PTO_U32_LIST(2, 0, 1)};
  const struct pto_slice_options slice = {
      .starts = PTO_U32_LIST(3, 1, 0), .sizes = PTO_U32_LIST(100, 31, 30), .strides = PTO_U32_LIST(3, 1, 2)};
  const struct pto_axes_options back = {.axes = PTO_U32_LIST(1, 2)};
  const struct pto_concat_options join = {.axis = 1};
  const struct pto_tile_options tile = {.repetitions = PTO_U32_LIST(1, 3, 2)};
  const struct pto_pad_options pad = {.beginning_padding = PTO_U32_LIST(1, 2, 3),
                                      .ending_padding = PTO_U32_LIST(4, 0, 5),
                                      .mode = PTO_PADDING_REFLECTION};
  const struct pto_axis_options along = {.axis = pto_number_u64(1)};
  const operand parts[] = {x, pto_graph_builder_neg(b, x, NULL), x};
  outputs[0] = (struct pto_graph_output){"turned", pto_graph_builder_transpose(b, x, &turn)};
  outputs[1] = (struct pto_graph_output){"slice", pto_graph_builder_slice(b, x, &slice)};
  outputs[2] = (struct pto_graph_output){"back", pto_graph_builder_reverse(b, x, &back)};
  outputs[3] = (struct pto_graph_output){"join", pto_graph_builder_concat(b, parts, 3, &join)};
  outputs[4] = (struct pto_graph_output){"tile", pto_graph_builder_tile(b, x, &tile)};
  outputs[5] = (struct pto_graph_output){"pad", pto_graph_builder_pad(b, x, &pad)};
  outputs[6] = (struct pto_graph_output){"gather", pto_graph_builder_gather(b, x, i, &along)};
  return 7;
}

static uint32_t recurrent(builder *b, struct pto_graph_output *outputs) {
  const operand x = input(b, "x", PTO_FLOAT32, SHAPE(5, 40, 30)), w = input(b, "w", PTO_FLOAT32, SHAPE(2, 60, 30));
  const operand r = input(b, "r", PTO_FLOAT32, SHAPE(2, 60, 20)), bias = input(b, "bias", PTO_FLOAT32, SHAPE(2, 60));
  const struct pto_gru_options options = {
      .bias = bias, .steps = 5, .hidden_size = 20, .return_sequence = PTO_FLAG_YES, .direction = PTO_DIRECTION_BOTH};
  operand results[2] = {{0}};
  pto_graph_builder_gru(b, x, w, r, &options, results, 2);
  outputs[0] = (struct pto_graph_output){"state", results[0]};
  outputs[1] = (struct pto_graph_output){"sequence", results[1]};
  return 2;
}

static make_function *const functions[] = {elementwise, rows_and_columns, products, convolutions, in_padding, pools,
                                           moves,       recurrent};

static void test_what_is_cut_into_many_tasks_is_what_the_reference_computes(void **state) {
  (void)state;
  struct pto_context *context = open_context(&(struct pto_config){.chip = "a2a3", .workers = 2});
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(functions); i++) {
    struct made made = make(functions[i]);
    struct pto_context_counters before = {.size = sizeof before}, after = before;
    pto_context_counters(context, &before);
    compute(&made, context);
    pto_context_counters(context, &after);
    assert_true(after.tasks - before.tasks > 3 * made.graph->node_count);
    assert_right(&made);
    unmake(&made);
  }
  pto_context_destroy(context);
}

static void test_every_engine_chip_and_number_of_workers_gives_the_same_bytes(void **state) {
  (void)state;
  static const struct pto_config configs[] = {{.engine = "threads", .chip = "tiny", .workers = 1},
                                              {.engine = "threads", .chip = "a2a3", .workers = 2},
                                              {.engine = "virtual", .chip = "a5"},
                                              {.engine = "threads", .chip = "tiny", .workers = 2, .window = 64}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(functions); i++) {
    struct made made = make(functions[i]);
    void *first[MOST] = {0};
    for (size_t c = 0; c < PTO_ARRAY_LENGTH(configs); c++) {
      struct pto_context *context = open_context(&configs[c]);
      compute(&made, context);
      for (uint32_t o = 0; o < made.graph->output_count; o++) {
        const uint64_t bytes = bytes_of(&made.graph->output_operands[o]);
        if (c == 0) memcpy(first[o] = malloc(bytes), made.outputs[o], bytes);
        assert_memory_equal(first[o], made.outputs[o], bytes);
        memset(made.outputs[o], 0xa5, bytes);
      }
      pto_graph_forget(made.graph, context);
      pto_context_destroy(context);
    }
    for (uint32_t o = 0; o < MOST; o++) free(first[o]);
    unmake(&made);
  }
}

/* ---- storage shared by inputs and outputs ---- */

/* next = 2 · cache, seen = cache + 1 of the old cache, submitted after next: in place it must not see the new one. */
static uint32_t two_readers(builder *b, struct pto_graph_output *outputs) {
  const operand cache = input(b, "cache", PTO_FLOAT32, SHAPE(200, 200));
  outputs[0] = (struct pto_graph_output){"next", pto_graph_builder_add(b, cache, cache, NULL)};
  outputs[1] =
      (struct pto_graph_output){"seen", pto_graph_builder_sqrt(b, pto_graph_builder_abs(b, cache, NULL), NULL)};
  return 2;
}

/* next = cache turned round: every task reads what another one writes. */
static uint32_t turned_round(builder *b, struct pto_graph_output *outputs) {
  const operand cache = input(b, "cache", PTO_FLOAT32, SHAPE(200, 200));
  const struct pto_axes_options back = {.axes = PTO_U32_LIST(0)};
  outputs[0] = (struct pto_graph_output){"next", pto_graph_builder_reverse(b, cache, &back)};
  outputs[1] = (struct pto_graph_output){"seen", pto_graph_builder_neg(b, outputs[0].operand, NULL)};
  return 2;
}

/* next = row 3 of the cache replaced, of which nothing else is read. */
static uint32_t one_row(builder *b, struct pto_graph_output *outputs) {
  const operand cache = input(b, "cache", PTO_FLOAT32, SHAPE(200, 200));
  const struct pto_graph_desc place = desc_of(PTO_INT32, 2, (const uint64_t[]){1, 1});
  const int32_t row = 3;
  const operand index = pto_graph_builder_constant(b, &place, &row, sizeof row);
  const struct pto_slice_options first = {.starts = PTO_U32_LIST(9, 0), .sizes = PTO_U32_LIST(1, 200)};
  const operand update = pto_graph_builder_tanh(b, pto_graph_builder_slice(b, cache, &first), NULL);
  outputs[0] = (struct pto_graph_output){"next", pto_graph_builder_scatter_nd(b, cache, index, update, NULL)};
  outputs[1] = (struct pto_graph_output){"seen", pto_graph_builder_neg(b, outputs[0].operand, NULL)};
  return 2;
}

static struct pto_device_tensor tensor_like(struct pto_context *context, const struct pto_operand *o) {
  struct pto_device_tensor_desc desc = {.dtype = o->dtype, .ndims = o->ndims};
  struct pto_device_tensor tensor;
  memcpy(desc.shape, o->shape, sizeof desc.shape);
  assert_int_equal(pto_device_tensor_create_host(context, &desc, &tensor), PTO_OK);
  return tensor;
}

/* Runs with the cache given up for `next`; the tasks that this took. */
static uint64_t run_in_place(struct made *made, struct pto_context *context) {
  const struct pto_graph *g = made->graph;
  const struct pto_device_tensor cache = tensor_like(context, &g->input_operands[0]);
  const struct pto_device_tensor seen = tensor_like(context, &g->output_operands[1]);
  const uint64_t bytes = bytes_of(&g->input_operands[0]);
  const struct pto_binding in[] = {{"cache", cache}}, out[] = {{"next", cache}, {"seen", seen}};
  static const char *const consumed[] = {"cache"};
  struct pto_context_counters before = {.size = sizeof before}, after = before;
  assert_int_equal(pto_device_tensor_write(context, cache, made->inputs[0], bytes), PTO_OK);
  pto_context_sync(context) == PTO_OK ? (void)0 : fail();
  pto_context_counters(context, &before);
  const struct pto_dispatch_bindings bindings = {in, out, 1, 2, consumed, 1};
  if (pto_graph_dispatch(made->graph, context, &bindings)) fail_msg("%s", pto_context_error(context));
  assert_int_equal(pto_device_tensor_read(context, cache, made->outputs[0], bytes), PTO_OK);
  assert_int_equal(pto_device_tensor_read(context, seen, made->outputs[1], bytes), PTO_OK);
  pto_context_counters(context, &after);
  return after.tasks - before.tasks;
}

static void test_an_input_given_up_for_an_output_is_read_before_it_is_written(void **state) {
  (void)state;
  static make_function *const sharing[] = {two_readers, turned_round, one_row};
  struct pto_context *context = open_context(&(struct pto_config){.chip = "a2a3", .workers = 2});
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(sharing); i++) {
    struct made made = make(sharing[i]);
    run_in_place(&made, context);
    assert_right(&made);
    unmake(&made);
  }
  pto_context_destroy(context);
}

/* A row and its index, written where they belong; the cache itself is not copied: tasks of 2 · 200 elements, then neg.
 */
static void test_a_row_of_a_cache_given_up_is_written_where_it_lies(void **state) {
  (void)state;
  struct pto_context *context = open_context(&(struct pto_config){.chip = "a2a3", .workers = 2});
  struct made made = make(one_row);
  const uint64_t in_place = run_in_place(&made, context);
  struct pto_context_counters before = {.size = sizeof before}, after = before;
  pto_context_counters(context, &before);
  compute(&made, context);
  pto_context_counters(context, &after);
  assert_true(in_place < after.tasks - before.tasks); /* without the tiles of the copy */
  unmake(&made);
  pto_context_destroy(context);
}

/* ---- a clamp done by the convolution before it ---- */

/* Products, windows and channels by themselves, in both layouts and dtypes, with bounds that cut and one that fp16 has
 * not. */
static uint32_t clamped_convolutions(builder *b, struct pto_graph_output *outputs) {
  static const char *const names[] = {"f0", "f1", "f2", "f3", "h0", "h1"};
  const struct pto_clamp_options bounds = {.min_value = pto_number_f64(-0.1), .max_value = pto_number_f64(0.3)};
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(names); i++) {
    const uint32_t dtype = names[i][0] == 'f' ? PTO_FLOAT32 : PTO_FLOAT16;
    const bool is_last = i % 2 == 1, is_depthwise = i == 2 || i == 3 || i == 5;
    char text[3][8];
    for (int t = 0; t < 3; t++) snprintf(text[t], sizeof text[t], "%c%s", "xwb"[t], names[i]);
    const operand x =
        is_last ? input(b, text[0], dtype, SHAPE(1, 33, 29, 12)) : input(b, text[0], dtype, SHAPE(1, 12, 33, 29));
    const operand w =
        is_depthwise ? input(b, text[1], dtype, SHAPE(12, 1, 3, 3)) : input(b, text[1], dtype, SHAPE(20, 12, 3, 3));
    const operand bias = is_depthwise ? input(b, text[2], dtype, SHAPE(12)) : input(b, text[2], dtype, SHAPE(20));
    const struct pto_conv2d_options options = {.bias = bias,
                                               .padding = PTO_U32_LIST(1, 1, 1, 1),
                                               .groups = pto_number_u64(is_depthwise ? 12 : 1),
                                               .input_layout = is_last ? PTO_LAYOUT_NHWC : PTO_LAYOUT_NCHW};
    outputs[i] = (struct pto_graph_output){
        names[i], pto_graph_builder_clamp(b, pto_graph_builder_conv2d(b, x, w, &options), &bounds)};
  }
  return PTO_ARRAY_LENGTH(names);
}

/* One element of each image is NaN, one ∞. */
static void plant_specials(struct made *made) {
  for (uint32_t i = 0; i < made->graph->input_count; i++) {
    const struct pto_operand *o = &made->graph->input_operands[i];
    if (o->name[0] != 'x') continue;
    if (o->dtype == PTO_FLOAT32)
      memcpy(made->inputs[i], (const float[]){NAN, 1, 1, INFINITY}, 16);
    else
      memcpy(made->inputs[i], (const uint16_t[]){0x7e00, 0, 0, 0x7c00}, 8);
  }
}

static void test_a_clamp_that_the_convolution_does_gives_the_bits_of_one_of_its_own(void **state) {
  (void)state;
  struct pto_context *context = open_context(&(struct pto_config){.chip = "a2a3", .workers = 2});
  for (int has_specials = 0; has_specials < 2; has_specials++) {
    struct made made = make(clamped_convolutions);
    void *apart[MOST] = {0};
    uint64_t tasks[2];
    if (has_specials) plant_specials(&made);
    for (int is_fused = 0; is_fused < 2; is_fused++) {
      struct pto_context_counters before = {.size = sizeof before}, after = before;
      pto_context_counters(context, &before);
      pto_graph_forget(made.graph, context);
      assert_int_equal(pto_graph_set_fusion(made.graph, is_fused), PTO_OK);
      compute(&made, context);
      pto_context_counters(context, &after);
      tasks[is_fused] = after.tasks - before.tasks;
      for (uint32_t o = 0; o < made.graph->output_count; o++) {
        const uint64_t bytes = bytes_of(&made.graph->output_operands[o]);
        if (!is_fused) memcpy(apart[o] = malloc(bytes), made.outputs[o], bytes);
        assert_memory_equal(apart[o], made.outputs[o], bytes);
      }
    }
    assert_true(tasks[1] < tasks[0]);
    if (!has_specials) assert_right(&made);
    for (uint32_t o = 0; o < MOST; o++) free(apart[o]);
    unmake(&made);
  }
  pto_context_destroy(context);
}

/* ---- once a set of bindings ---- */

static void test_a_dispatch_on_the_same_tensors_lowers_nothing(void **state) {
  (void)state;
  struct pto_context *context = open_context(&(struct pto_config){.chip = "a2a3", .workers = 2});
  struct made made = make(two_readers);
  const struct pto_graph *g = made.graph;
  const struct pto_device_tensor cache = tensor_like(context, &g->input_operands[0]);
  const struct pto_device_tensor a = tensor_like(context, &g->output_operands[0]);
  const struct pto_device_tensor c = tensor_like(context, &g->output_operands[1]);
  const struct pto_binding in[] = {{"cache", cache}}, out[] = {{"next", a}, {"seen", c}};
  const struct pto_dispatch_bindings bindings = {.inputs = in, .outputs = out, .input_count = 1, .output_count = 2};
  for (int i = 0; i < 5; i++) assert_int_equal(pto_graph_dispatch(made.graph, context, &bindings), PTO_OK);
  assert_int_equal(pto_context_sync(context), PTO_OK);
  struct pto_context_counters counters = {.size = sizeof counters};
  pto_context_counters(context, &counters);
  assert_int_equal(counters.lowering_cache_misses, 1);
  assert_int_equal(counters.lowering_cache_hits, 4);
  unmake(&made);
  pto_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_is_cut_into_many_tasks_is_what_the_reference_computes),
      cmocka_unit_test(test_every_engine_chip_and_number_of_workers_gives_the_same_bytes),
      cmocka_unit_test(test_an_input_given_up_for_an_output_is_read_before_it_is_written),
      cmocka_unit_test(test_a_row_of_a_cache_given_up_is_written_where_it_lies),
      cmocka_unit_test(test_a_clamp_that_the_convolution_does_gives_the_bits_of_one_of_its_own),
      cmocka_unit_test(test_a_dispatch_on_the_same_tensors_lowers_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
