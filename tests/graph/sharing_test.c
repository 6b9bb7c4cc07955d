/* SPDX-License-Identifier: MIT */
/*
 * Outputs in the storage of inputs that are given up, a case a rule of pto_graph_lowering_result and
 * pto_graph_lowering_alias: the bytes are those of the reference, which shares nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <graph/reference/reference.h>
#include <runtime/base/base.h>
#include <tests/support/lowered_graph.h>

#define MOST 6
typedef struct pto_graph_builder builder;
typedef struct pto_graph_operand operand;

/* ---- a case ---- */

/* A graph, and for each output the input whose storage it takes; −1: its own. */
struct sharing {
  uint32_t (*make)(builder *b, struct pto_graph_output *outputs);
  int input_of[MOST];
};

#define SHAPE(...)                                                                                                     \
  (uint32_t)(sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)), (const uint64_t[]) { __VA_ARGS__ }

static operand input(builder *b, const char *name, uint32_t dtype, uint32_t ndims, const uint64_t *shape) {
  struct pto_graph_desc desc = {.dtype = dtype, .ndims = ndims};
  memcpy(desc.shape, shape, ndims * sizeof *shape);
  return pto_graph_builder_input(b, name, &desc);
}

static uint64_t bytes_of(const struct pto_graph_desc *desc) {
  return pto_graph_desc_numel(desc) * pto_dtype_size(desc->dtype);
}

/* Multiples of 1/16 in [1/2, 2], and whole numbers below 4. */
static void *numbers(const struct pto_graph_desc *desc, struct pto_rng *rng) {
  struct pto_reference_tensor t;
  void *bytes = malloc(bytes_of(desc));
  assert_non_null(bytes);
  assert_true(pto_reference_tensor_init(&t, desc));
  for (uint64_t i = 0; i < pto_graph_desc_numel(desc); i++) {
    if (t.values)
      t.values[i] = 0.5 + (double)pto_rng_below(rng, 25) / 16;
    else
      t.whole[i] = (int64_t)pto_rng_below(rng, 4);
  }
  pto_reference_tensor_store(&t, bytes);
  pto_reference_tensor_fini(&t);
  return bytes;
}

struct device {
  struct pto_context *context;
  struct pto_device_tensor inputs[MOST], outputs[MOST];
};

static struct pto_device_tensor tensor_of(struct pto_context *context, const struct pto_graph_desc *from) {
  struct pto_device_tensor_desc desc = {.dtype = from->dtype, .ndims = from->ndims};
  struct pto_device_tensor tensor;
  memcpy(desc.shape, from->shape, sizeof desc.shape);
  assert_int_equal(pto_device_tensor_create_host(context, &desc, &tensor), PTO_OK);
  return tensor;
}

static const struct pto_graph_desc *desc_of(const struct pto_graph *graph, const uint32_t *values, uint32_t i) {
  return &graph->values[values[i]].desc;
}

static void dispatch(struct device *device, struct pto_graph *graph, const struct sharing *sharing, void **inputs) {
  struct pto_binding in[MOST], out[MOST];
  const char *consumed[MOST];
  struct pto_dispatch_bindings bindings = {in, out, graph->input_count, graph->output_count, consumed, 0};
  for (uint32_t i = 0; i < graph->input_count; i++) {
    const struct pto_graph_desc *desc = desc_of(graph, graph->inputs, i);
    device->inputs[i] = tensor_of(device->context, desc);
    in[i] = (struct pto_binding){graph->input_operands[i].name, device->inputs[i]};
    assert_int_equal(pto_device_tensor_write(device->context, device->inputs[i], inputs[i], bytes_of(desc)), PTO_OK);
  }
  for (uint32_t o = 0; o < graph->output_count; o++) {
    const int shared = sharing->input_of[o];
    device->outputs[o] =
        shared >= 0 ? device->inputs[shared] : tensor_of(device->context, desc_of(graph, graph->outputs, o));
    out[o] = (struct pto_binding){graph->output_operands[o].name, device->outputs[o]};
    if (shared >= 0) consumed[bindings.consumed_count++] = in[shared].name;
  }
  if (pto_graph_dispatch(graph, device->context, &bindings)) fail_msg("%s", pto_context_error(device->context));
}

static void run(const struct sharing *sharing) {
  static const struct lowered_graph_tolerance tolerance = {.f32 = 0x1p-20, .f16 = 0x1p-9};
  struct device device = {.context = lowered_graph_open(&(struct pto_config){.chip = "a2a3", .workers = 2})};
  struct pto_graph_output outputs[MOST];
  struct pto_graph *graph;
  struct pto_rng rng = {3};
  struct pto_error error = {0};
  void *inputs[MOST] = {0}, *wanted[MOST] = {0};
  builder *b;
  assert_int_equal(pto_graph_builder_create(NULL, &b), PTO_OK);
  const uint32_t count = sharing->make(b, outputs);
  if (pto_graph_builder_build(b, outputs, count, &graph)) fail_msg("%s", pto_graph_builder_error(b));
  pto_graph_builder_destroy(b);
  for (uint32_t i = 0; i < graph->input_count; i++) inputs[i] = numbers(desc_of(graph, graph->inputs, i), &rng);
  for (uint32_t o = 0; o < count; o++) wanted[o] = calloc(1, bytes_of(desc_of(graph, graph->outputs, o)));
  assert_int_equal(pto_graph_reference_run(graph, (const void *const *)inputs, wanted, NULL, NULL, &error), PTO_OK);
  dispatch(&device, graph, sharing, inputs);
  for (uint32_t o = 0; o < count; o++) {
    const struct pto_graph_desc *desc = desc_of(graph, graph->outputs, o);
    void *got = malloc(bytes_of(desc));
    if (pto_device_tensor_read(device.context, device.outputs[o], got, bytes_of(desc)))
      fail_msg("%s", pto_context_error(device.context));
    lowered_graph_expect(desc, got, wanted[o], false, &tolerance, graph->output_operands[o].name);
    free(got);
    free(wanted[o]);
  }
  for (uint32_t i = 0; i < graph->input_count; i++) free(inputs[i]);
  pto_graph_destroy(graph);
  pto_context_destroy(device.context);
}
#define RUN(make_, ...) run(&(const struct sharing){make_, {__VA_ARGS__}})

/* ---- views ---- */

static uint32_t swapped(builder *b, struct pto_graph_output *outputs) {
  const operand x = input(b, "x", PTO_FLOAT32, SHAPE(150, 150)), y = input(b, "y", PTO_FLOAT32, SHAPE(150, 150));
  outputs[0] = (struct pto_graph_output){"a", pto_graph_builder_identity(b, x, NULL)};
  outputs[1] = (struct pto_graph_output){"b", pto_graph_builder_identity(b, y, NULL)};
  return 2;
}
static void test_two_inputs_change_places(void **state) {
  RUN(swapped, 1, 0);
  RUN(swapped, 0, 1); /* and stay where they are */
  RUN(swapped, 1, -1);
}

static uint32_t turned(builder *b, struct pto_graph_output *outputs) {
  const operand x = input(b, "x", PTO_FLOAT32, SHAPE(150, 150));
  outputs[0] = (struct pto_graph_output){"turned", pto_graph_builder_transpose(b, x, NULL)};
  return 1;
}
static void test_an_input_is_transposed_in_its_place(void **state) { RUN(turned, 0); }

static uint32_t sum_with_turned(builder *b, struct pto_graph_output *outputs) {
  const operand x = input(b, "x", PTO_FLOAT32, SHAPE(150, 150));
  outputs[0] =
      (struct pto_graph_output){"sum", pto_graph_builder_add(b, x, pto_graph_builder_transpose(b, x, NULL), NULL)};
  return 1;
}
static void test_a_sum_with_its_transpose_is_not_made_in_place(void **state) { RUN(sum_with_turned, 0); }

/* The view is read after the storage that it lies in could have been taken. */
static uint32_t late_view(builder *b, struct pto_graph_output *outputs) {
  const operand x = input(b, "x", PTO_FLOAT32, SHAPE(150, 150)), y = input(b, "y", PTO_FLOAT32, SHAPE(150, 150));
  const operand one[] = {x}, same = pto_graph_builder_concat(b, one, 1, &(struct pto_concat_options){.axis = 0});
  outputs[0] = (struct pto_graph_output){"next", pto_graph_builder_exp(b, y, NULL)};
  outputs[1] = (struct pto_graph_output){"seen", pto_graph_builder_neg(b, same, NULL)};
  return 2;
}
static void test_a_view_keeps_the_storage_of_its_input_until_it_is_read(void **state) { RUN(late_view, 0, -1); }

/* More parts than a node has results elsewhere; all are kept until the end, as their places are still read. */
static uint32_t parts(builder *b, struct pto_graph_output *outputs) {
  static const char *const names[] = {"a", "b", "c", "d", "e"};
  const operand x = input(b, "x", PTO_FLOAT32, SHAPE(5, 100)), y = input(b, "y", PTO_FLOAT32, SHAPE(1, 100));
  operand made[5];
  const struct pto_split_options options = {.splits = PTO_U32_LIST(5)};
  pto_graph_builder_split(b, x, &options, made, 5);
  for (uint32_t i = 0; i < 5; i++) outputs[i] = (struct pto_graph_output){names[i], made[i]};
  outputs[5] = (struct pto_graph_output){"last", pto_graph_builder_add(b, x, y, NULL)};
  return 6;
}
static void test_parts_of_an_input_given_up_are_taken_before_it_is_written(void **state) {
  RUN(parts, 1, -1, -1, -1, -1, 0);
  RUN(parts, -1, -1, -1, -1, 1, 0);
}

/* ---- operands of other roles ---- */

static uint32_t normalized(builder *b, struct pto_graph_output *outputs) {
  const operand x = input(b, "x", PTO_FLOAT32, SHAPE(40)), mean = input(b, "mean", PTO_FLOAT32, SHAPE(40));
  const operand variance = input(b, "variance", PTO_FLOAT32, SHAPE(40));
  const struct pto_batch_normalization_options options = {.axis = pto_number_u64(0)};
  outputs[0] = (struct pto_graph_output){"y", pto_graph_builder_batch_normalization(b, x, mean, variance, &options)};
  return 1;
}
static uint32_t layer(builder *b, struct pto_graph_output *outputs) {
  const operand x = input(b, "x", PTO_FLOAT32, SHAPE(30, 40)), scale = input(b, "scale", PTO_FLOAT32, SHAPE(30, 40));
  const struct pto_layer_normalization_options options = {.scale = scale, .axes = PTO_U32_LIST(0, 1)};
  outputs[0] = (struct pto_graph_output){"y", pto_graph_builder_layer_normalization(b, x, &options)};
  return 1;
}
static void test_what_is_normalised_may_be_written_over_and_its_scales_may_not(void **state) {
  for (int i = 0; i < 3; i++) RUN(normalized, i);
  for (int i = 0; i < 2; i++) RUN(layer, i);
}

/* Each row backwards. */
static operand backwards(builder *b) {
  const struct pto_graph_desc desc = {.dtype = PTO_INT32, .ndims = 2, .shape = {4, 9}};
  int32_t places[4 * 9];
  for (int i = 0; i < 4 * 9; i++) places[i] = 8 - i % 9;
  return pto_graph_builder_constant(b, &desc, places, sizeof places);
}
static uint32_t scattered(builder *b, struct pto_graph_output *outputs) {
  const operand data = input(b, "data", PTO_INT32, SHAPE(4, 9)), updates = input(b, "updates", PTO_INT32, SHAPE(4, 9));
  const struct pto_axis_options options = {.axis = pto_number_u64(1)};
  outputs[0] =
      (struct pto_graph_output){"y", pto_graph_builder_scatter_elements(b, data, backwards(b), updates, &options)};
  return 1;
}
static uint32_t scattered_in_itself(builder *b, struct pto_graph_output *outputs) {
  const operand x = input(b, "x", PTO_INT32, SHAPE(4, 9));
  const struct pto_axis_options options = {.axis = pto_number_u64(1)};
  outputs[0] = (struct pto_graph_output){"y", pto_graph_builder_scatter_elements(b, x, backwards(b), x, &options)};
  return 1;
}
static void test_data_is_scattered_into_where_it_lies_and_updates_are_not_written_over(void **state) {
  for (int i = 0; i < 2; i++) RUN(scattered, i);
  RUN(scattered_in_itself, 0);
}

static uint32_t chosen(builder *b, struct pto_graph_output *outputs) {
  const operand c = input(b, "c", PTO_UINT8, SHAPE(200, 200)), x = input(b, "x", PTO_UINT8, SHAPE(200, 200));
  const operand y = input(b, "y", PTO_UINT8, SHAPE(200, 200));
  outputs[0] = (struct pto_graph_output){"chosen", pto_graph_builder_where(b, c, x, y, NULL)};
  return 1;
}
static uint32_t compared(builder *b, struct pto_graph_output *outputs) {
  const operand x = input(b, "x", PTO_UINT8, SHAPE(200, 200)), y = input(b, "y", PTO_UINT8, SHAPE(200, 200));
  outputs[0] = (struct pto_graph_output){"less", pto_graph_builder_lesser(b, x, y, NULL)};
  return 1;
}
static uint32_t twice(builder *b, struct pto_graph_output *outputs) {
  const operand x = input(b, "x", PTO_FLOAT32, SHAPE(200, 200));
  outputs[0] = (struct pto_graph_output){"twice", pto_graph_builder_add(b, x, x, NULL)};
  return 1;
}
static void test_any_operand_of_what_is_elementwise_may_be_written_over(void **state) {
  for (int i = 0; i < 3; i++) RUN(chosen, i);
  for (int i = 0; i < 2; i++) RUN(compared, i);
  RUN(twice, 0);
}

/* The value is an output twice, each time in the storage of an input that is read. */
static uint32_t two_names(builder *b, struct pto_graph_output *outputs) {
  const operand x = input(b, "x", PTO_FLOAT32, SHAPE(150, 150)), y = input(b, "y", PTO_FLOAT32, SHAPE(150, 150));
  const operand sum = pto_graph_builder_add(b, x, y, NULL);
  outputs[0] = (struct pto_graph_output){"one", sum};
  outputs[1] = (struct pto_graph_output){"two", sum};
  return 2;
}
static void test_a_value_with_two_names_is_written_to_both(void **state) {
  RUN(two_names, 0, 1);
  RUN(two_names, 1, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_two_inputs_change_places),
      cmocka_unit_test(test_an_input_is_transposed_in_its_place),
      cmocka_unit_test(test_a_sum_with_its_transpose_is_not_made_in_place),
      cmocka_unit_test(test_a_view_keeps_the_storage_of_its_input_until_it_is_read),
      cmocka_unit_test(test_parts_of_an_input_given_up_are_taken_before_it_is_written),
      cmocka_unit_test(test_what_is_normalised_may_be_written_over_and_its_scales_may_not),
      cmocka_unit_test(test_data_is_scattered_into_where_it_lies_and_updates_are_not_written_over),
      cmocka_unit_test(test_any_operand_of_what_is_elementwise_may_be_written_over),
      cmocka_unit_test(test_a_value_with_two_names_is_written_to_both),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
