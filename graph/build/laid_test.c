/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include <graph/build/builder_state.h>
#include <pto/graph_operations.h>

typedef struct pto_graph_builder builder;
typedef struct pto_graph_operand operand;

#define OUT 3
#define IN 2
#define HEIGHT 2
#define WIDTH 4
#define COUNT (OUT * IN * HEIGHT * WIDTH)

static builder *begin(void) {
  builder *b;
  assert_int_equal(pto_graph_builder_create(NULL, &b), PTO_OK);
  return b;
}

static operand constant(builder *b, uint32_t ndims, const uint64_t *shape) {
  struct pto_graph_desc desc = {.dtype = PTO_FLOAT32, .ndims = ndims};
  float data[COUNT];
  for (uint32_t i = 0; i < COUNT; i++) data[i] = (float)i;
  memcpy(desc.shape, shape, ndims * sizeof *shape);
  return pto_graph_builder_constant(b, &desc, data, sizeof data);
}

static struct pto_graph *built(builder *b, operand y, operand z) {
  const struct pto_graph_output outputs[] = {{"y", y}, {"z", z}};
  struct pto_graph *graph;
  if (pto_graph_builder_build(b, outputs, z.index ? 2 : 1, &graph)) fail_msg("%s", pto_graph_builder_error(b));
  pto_graph_builder_destroy(b);
  return graph;
}

/* The one constant of the graph; `desc` as dispatches have it. */
static const float *constant_of(const struct pto_graph *graph, struct pto_graph_desc *desc) {
  for (uint32_t v = 1; v < graph->value_count; v++)
    if (graph->values[v].kind == PTO_VALUE_CONSTANT) return pto_graph_constant(&graph->values[v], desc);
  return NULL;
}

static operand image(builder *b) {
  return pto_graph_builder_input(b, "x", &(struct pto_graph_desc){PTO_FLOAT32, 4, {1, IN, 8, 8}});
}

static operand convolve(builder *b, operand filter, uint32_t layout) {
  const struct pto_conv2d_options options = {.filter_layout = layout};
  return pto_graph_builder_conv2d(b, image(b), filter, &options);
}

static void expect_as_given(struct pto_graph *graph) {
  struct pto_graph_desc desc;
  const float *data = constant_of(graph, &desc);
  for (uint32_t i = 0; i < COUNT; i++) assert_true(data[i] == (float)i);
  pto_graph_destroy(graph);
}

static void test_a_filter_has_its_output_channels_side_by_side(void **state) {
  (void)state;
  static const struct {
    uint32_t layout;
    uint64_t shape[4];
    uint32_t step[4]; /* of height, width, input and output channels in the data that is given */
  } cases[] = {{PTO_CONV2D_OIHW, {OUT, IN, HEIGHT, WIDTH}, {WIDTH, 1, HEIGHT * WIDTH, IN * HEIGHT * WIDTH}},
               {PTO_CONV2D_HWIO, {HEIGHT, WIDTH, IN, OUT}, {WIDTH * IN * OUT, IN * OUT, OUT, 1}},
               {PTO_CONV2D_OHWI, {OUT, HEIGHT, WIDTH, IN}, {WIDTH * IN, IN, 1, HEIGHT * WIDTH * IN}},
               {PTO_CONV2D_IHWO, {IN, HEIGHT, WIDTH, OUT}, {WIDTH * OUT, OUT, HEIGHT * WIDTH * OUT, 1}}};
  for (size_t c = 0; c < PTO_ARRAY_LENGTH(cases); c++) {
    builder *b = begin();
    struct pto_graph *graph = built(b, convolve(b, constant(b, 4, cases[c].shape), cases[c].layout), (operand){0});
    struct pto_graph_desc desc;
    const float *data = constant_of(graph, &desc);
    const uint64_t laid[] = {HEIGHT, WIDTH, IN, OUT};
    const uint32_t *step = cases[c].step;
    assert_memory_equal(desc.shape, laid, sizeof laid);
    for (uint32_t i = 0; i < COUNT; i++) {
      const uint32_t o = i % OUT, in = i / OUT % IN, w = i / OUT / IN % WIDTH, h = i / OUT / IN / WIDTH;
      assert_true(data[i] == (float)(h * step[0] + w * step[1] + in * step[2] + o * step[3]));
    }
    pto_graph_destroy(graph);
  }
}

static void test_a_constant_that_is_read_in_two_orders_stays_as_it_is(void **state) {
  (void)state;
  const uint64_t filters[] = {OUT, IN, HEIGHT, WIDTH};
  builder *b = begin();
  const operand filter = constant(b, 4, filters);
  const operand y = convolve(b, filter, PTO_CONV2D_OIHW), z = pto_graph_builder_neg(b, filter, NULL);
  expect_as_given(built(b, y, z));
  b = begin();
  const operand other = constant(b, 4, filters);
  const operand unused = pto_graph_builder_neg(b, other, NULL); /* is not in the graph */
  (void)unused;
  struct pto_graph *graph = built(b, convolve(b, other, PTO_CONV2D_OIHW), (operand){0});
  struct pto_graph_desc desc;
  (void)constant_of(graph, &desc);
  assert_int_equal(desc.shape[3], OUT);
  pto_graph_destroy(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_filter_has_its_output_channels_side_by_side),
      cmocka_unit_test(test_a_constant_that_is_read_in_two_orders_stays_as_it_is),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
