/* SPDX-License-Identifier: MIT */
/*
 * For scenarios of graphs whose allocations fail (tests/support/memory_scenarios.h): calls on a builder and a context,
 * which keep their refusal, and every operation of pto/graph_operations.h, in four groups.
 *
 * Owns one builder, one context and the operands made last.  One thread.
 */
#ifndef PTO_TESTS_GRAPH_MEMORY_OPERATIONS_H
#define PTO_TESTS_GRAPH_MEMORY_OPERATIONS_H

#include <tests/support/memory_scenarios.h>

#include <graph/build/op_list.h>
#include <pto/pto.h>
#include <tests/support/lowered_graph.h>

/* ---- builders and contexts, which keep a refusal ---- */

static struct pto_graph_builder *b;
static struct pto_context *context;
static const struct pto_graph_operand none;

#define OF_BUILDER(call) CALL_CLEARED(call, pto_graph_builder_error(b), pto_graph_builder_clear_error(b))

static int status_with(struct pto_graph_operand operand, int line) {
  const int status = pto_graph_builder_status(b);
  memory_check((status == PTO_OK) == (operand.index != 0), "an operand or a refusal", line);
  return status;
}
/* The result is none of the operands of the call. */
#define OPERAND(result, call)                                                                                          \
  result = none;                                                                                                       \
  OF_BUILDER(status_with(result = (call), __LINE__))

static void open_builder(struct pto_context *of) {
  b = NULL;
  CALL(pto_graph_builder_create(of, &b), "a builder");
}
static void close_builder(void) {
  pto_graph_builder_destroy(b);
  b = NULL;
}
static void open_context(void) {
  const struct pto_config config = {.engine = "virtual", .chip = "tiny"};
  memory_pause();
  context = lowered_graph_open(&config);
  memory_resume();
}
static void close_context(void) {
  pto_context_destroy(context);
  context = NULL;
}

/* ---- every operation ---- */

enum { MOST_MADE = 128 };
static struct pto_graph_operand made[MOST_MADE];
static char made_names[MOST_MADE][8];
static uint32_t made_count;

#define MAKE(call)                                                                                                     \
  OPERAND(made[made_count], call);                                                                                     \
  made_count++
#define INPUT(name, ...) OPERAND(name, pto_graph_builder_input(b, #name, &(struct pto_graph_desc){__VA_ARGS__}))
#define DO(id, ...) MAKE(pto_graph_builder_##id(b, __VA_ARGS__))

static void make_elementwise(void) {
  struct pto_graph_operand x, y, t, u;
  INPUT(x, PTO_FLOAT32, 2, {2, 3});
  INPUT(y, PTO_FLOAT32, 2, {2, 3});
  INPUT(t, PTO_UINT8, 2, {2, 3});
  INPUT(u, PTO_UINT8, 1, {3});
#define X(id, ...) DO(id, PTO_GRAPH_OP_##id == PTO_GRAPH_OP_logical_not ? t : x, NULL);
  PTO_UNARY_OP_LIST(X)
#undef X
#define X(id, ...) DO(id, x, y, NULL);
  PTO_ARITHMETIC_OP_LIST(X)
  PTO_COMPARISON_OP_LIST(X)
#undef X
#define X(id, ...) DO(id, t, u, NULL);
  PTO_LOGIC_OP_LIST(X)
#undef X
  const struct pto_reduce_options rows = {.label = "rows", .axes = PTO_U32_LIST(1)};
#define X(id, ...) DO(id, x, &rows);
  PTO_REDUCE_OP_LIST(X)
#undef X
  DO(cast, x, &(struct pto_cast_options){.data_type = PTO_INT32});
  DO(clamp, x, &(struct pto_clamp_options){.min_value = pto_number_f64(0.5)});
  DO(where, t, x, y, NULL);
  DO(elu, x, NULL);
  DO(hard_sigmoid, x, NULL);
  DO(leaky_relu, x, NULL);
  DO(linear, x, &(struct pto_linear_options){.alpha = pto_number_f64(2)});
  DO(prelu, x, y, NULL);
  DO(softmax, x, &(struct pto_softmax_options){.axis = 1});
  DO(arg_min, x, &(struct pto_arg_reduce_options){.axis = 1});
  DO(arg_max, x, &(struct pto_arg_reduce_options){.axis = 1});
  DO(cumulative_sum, x, &(struct pto_cumulative_sum_options){.axis = 0});
}

static void make_windows(void) {
  static const float weights[2 * 2 * 3 * 3] = {0.5f, 1, -1, 0.25f};
  const struct pto_graph_desc of_filter = {PTO_FLOAT32, 4, {2, 2, 3, 3}};
  struct pto_graph_operand image, filter, two, a, c, d, e;
  INPUT(image, PTO_FLOAT32, 4, {1, 2, 4, 4});
  INPUT(a, PTO_FLOAT32, 2, {3, 4});
  INPUT(c, PTO_FLOAT32, 2, {4, 2});
  INPUT(two, PTO_FLOAT32, 1, {2});
  OPERAND(filter, pto_graph_builder_constant(b, &of_filter, weights, sizeof weights));
  OF_BUILDER(pto_graph_builder_set_name(b, filter, "filter"));
  OPERAND(d, pto_graph_builder_scalar(b, PTO_FLOAT32, pto_number_f64(0.125)));
  OPERAND(e, pto_graph_builder_scalar(b, PTO_INT8, pto_number_i64(3)));
  const struct pto_pool2d_options window = {.label = "pool", .window_dimensions = PTO_U32_LIST(2, 2)};
  DO(matmul, a, c, NULL);
  DO(gemm, a, c, &(struct pto_gemm_options){.c = d, .alpha = pto_number_f64(2)});
  DO(conv2d, image, filter, &(struct pto_conv2d_options){.bias = two, .padding = PTO_U32_LIST(1, 1, 1, 1)});
  DO(conv_transpose2d, image, filter, &(struct pto_conv_transpose2d_options){.strides = PTO_U32_LIST(2, 2)});
  DO(average_pool2d, image, &window);
  DO(l2_pool2d, image, &window);
  DO(max_pool2d, image, &window);
  DO(global_average_pool, image, NULL);
  DO(global_max_pool, image, NULL);
  DO(resample2d, image,
     &(struct pto_resample2d_options){.mode = PTO_INTERPOLATION_LINEAR, .sizes = PTO_U32_LIST(6, 6)});
  DO(batch_normalization, image, two, two, &(struct pto_batch_normalization_options){.scale = two});
  DO(instance_normalization, image, &(struct pto_instance_normalization_options){.bias = two});
  DO(layer_normalization, image, NULL);
  DO(quantize_linear, a, d, e, NULL);
  const struct pto_graph_operand quantized = made[made_count - 1];
  DO(dequantize_linear, quantized, d, e, NULL);
}

static void make_moved(void) {
  static const int32_t places[4] = {1, 0, 1, 1};
  const struct pto_graph_desc of_rows = {PTO_INT32, 1, {2}}, of_table = {PTO_INT32, 2, {1, 2}},
                              of_row = {PTO_INT32, 2, {1, 4}};
  struct pto_graph_operand z, rows, table, around, update;
  INPUT(z, PTO_FLOAT32, 2, {2, 4});
  OPERAND(rows, pto_graph_builder_constant(b, &of_rows, places, 8));
  OPERAND(table, pto_graph_builder_constant(b, &of_table, places, 8));
  OPERAND(around, pto_graph_builder_constant(b, &of_row, places, 16));
  OPERAND(update, pto_graph_builder_constant(b, &(struct pto_graph_desc){PTO_FLOAT32, 1, {1}}, &(float){9}, 4));
  DO(expand, z, &(struct pto_new_shape_options){.new_shape = PTO_U32_LIST(3, 2, 4)});
  DO(reshape, z, &(struct pto_new_shape_options){.new_shape = PTO_U32_LIST(8, 1)});
  const struct pto_graph_operand column = made[made_count - 1];
  DO(squeeze, column, NULL);
  DO(unsqueeze, z, &(struct pto_axes_options){.axes = PTO_U32_LIST(0)});
  DO(transpose, z, NULL);
  DO(reverse, z, NULL);
  DO(slice, z, &(struct pto_slice_options){.starts = PTO_U32_LIST(0, 1), .sizes = PTO_U32_LIST(2, 2)});
  DO(pad, z, &(struct pto_pad_options){.beginning_padding = PTO_U32_LIST(1, 0), .ending_padding = PTO_U32_LIST(0, 2)});
  DO(tile, z, &(struct pto_tile_options){.repetitions = PTO_U32_LIST(2, 1)});
  DO(triangular, z, NULL);
  DO(gather, z, rows, NULL);
  DO(gather_elements, z, around, NULL);
  DO(gather_nd, z, table, NULL);
  DO(scatter_nd, z, table, update, NULL);
  OPERAND(update,
          pto_graph_builder_constant(b, &(struct pto_graph_desc){PTO_FLOAT32, 2, {1, 4}}, (float[]){7, 8, 6, 5}, 16));
  DO(scatter_elements, z, around, update, NULL);
  const struct pto_graph_operand both[2] = {z, z};
  DO(concat, both, 2, &(struct pto_concat_options){.axis = 1});
  const struct pto_split_options halves = {.label = "halves", .splits = PTO_U32_LIST(2)};
  OF_BUILDER(pto_graph_builder_split(b, z, &halves, &made[made_count], 2));
  made_count += 2;
}

static void make_recurrent(void) {
  struct pto_graph_operand s, w, r, w4, r4, h, v;
  INPUT(s, PTO_FLOAT32, 3, {2, 1, 3});
  INPUT(h, PTO_FLOAT32, 2, {1, 2});
  INPUT(v, PTO_FLOAT32, 2, {1, 3});
  INPUT(w, PTO_FLOAT32, 3, {1, 6, 3});
  INPUT(r, PTO_FLOAT32, 3, {1, 6, 2});
  INPUT(w4, PTO_FLOAT32, 3, {1, 8, 3});
  INPUT(r4, PTO_FLOAT32, 3, {1, 8, 2});
  const struct pto_gru_options gru = {.steps = 2, .hidden_size = 2, .return_sequence = PTO_FLAG_YES};
  OF_BUILDER(pto_graph_builder_gru(b, s, w, r, &gru, &made[made_count], 2));
  made_count += 2;
  const struct pto_lstm_options lstm = {.steps = 2, .hidden_size = 2, .return_sequence = PTO_FLAG_YES};
  OF_BUILDER(pto_graph_builder_lstm(b, s, w4, r4, &lstm, &made[made_count], 3));
  made_count += 3;
  struct pto_graph_operand weights[4] = {w, r, w4, r4}, flat[4];
  for (uint32_t i = 0; i < 4; i++) {
    OPERAND(flat[i], pto_graph_builder_squeeze(b, weights[i], NULL));
  }
  DO(gru_cell, v, flat[0], flat[1], h, &(struct pto_gru_cell_options){.hidden_size = 2});
  const struct pto_lstm_cell_options cell = {.hidden_size = 2};
  OF_BUILDER(pto_graph_builder_lstm_cell(b, v, flat[2], flat[3], h, h, &cell, &made[made_count], 2));
  made_count += 2;
}

/* The graph whose outputs are all that was made. */
static struct pto_graph *build_made(void) {
  struct pto_graph_output outputs[MOST_MADE];
  struct pto_graph *graph = NULL;
  for (uint32_t i = 0; i < made_count; i++) {
    snprintf(made_names[i], sizeof made_names[i], "o%u", i);
    outputs[i] = (struct pto_graph_output){made_names[i], made[i]};
  }
  OF_BUILDER(pto_graph_builder_build(b, outputs, made_count, &graph));
  CHECK(pto_graph_output_count(graph) == made_count);
  return graph;
}

#endif
