/* SPDX-License-Identifier: MIT */
/*
 * The run of the reference executor: bytes to numbers and back, rounding, the order of nodes, observers, and memory
 * that is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include <graph/reference/support.h>
#include <tests/support/failing_malloc.h>
#include <tests/support/graph_case.h>

/* ---- numbers of a dtype ---- */

static double half_at(uint32_t dtype, uint32_t bits) {
  const uint16_t narrow = (uint16_t)bits;
  struct pto_reference_tensor t;
  assert_true(pto_reference_tensor_init(&t, &(struct pto_graph_desc){.dtype = dtype}));
  pto_reference_tensor_load(&t, &narrow);
  const double value = t.values[0];
  pto_reference_tensor_fini(&t);
  return value;
}

/* The bits are ordered as the positive numbers are, so the neighbours of a number are those of its bits. */
static void expect_rounding(uint32_t dtype, uint32_t infinity_bits) {
  for (uint32_t bits = 0; bits + 1 < infinity_bits; bits++) {
    const double low = half_at(dtype, bits), high = half_at(dtype, bits + 1), middle = low + (high - low) / 2,
                 even = bits % 2 ? high : low;
    assert_true(low < high);
    for (int sign = -1; sign <= 1; sign += 2) {
      assert_true(pto_reference_round_to(dtype, sign * low) == sign * low);
      assert_true(pto_reference_round_to(dtype, sign * middle) == sign * even);
      assert_true(pto_reference_round_to(dtype, sign * nextafter(middle, 0)) == sign * low);
      assert_true(pto_reference_round_to(dtype, sign * nextafter(middle, INFINITY)) == sign * high);
    }
  }
}

static void test_every_16_bit_float_has_its_half_way_to_the_next_rounded_to_even(void **state) {
  expect_rounding(PTO_FLOAT16, 0x7c00);
  expect_rounding(PTO_BFLOAT16, 0x7f80);
}

static void test_what_is_beyond_the_largest_is_infinite_and_half_way_too(void **state) {
  assert_true(pto_reference_round_to(PTO_FLOAT16, 65519.999) == 65504);
  assert_true(isinf(pto_reference_round_to(PTO_FLOAT16, 65520)));
  assert_true(pto_reference_round_to(PTO_BFLOAT16, 0x1.feffp127) == 0x1.fep127);
  assert_true(isinf(pto_reference_round_to(PTO_BFLOAT16, 0x1.ffp127)));
  assert_true(pto_reference_round_to(PTO_FLOAT32, 0x1.fffffefp127) == 0x1.fffffep127);
  assert_true(pto_reference_round_to(PTO_FLOAT32, -0x1.ffffffp127) == -INFINITY);
  for (uint32_t dtype = PTO_FLOAT32; dtype <= PTO_BFLOAT16; dtype++) {
    if (!(PTO_DTYPE_BIT(dtype) & PTO_DTYPES_FLOAT)) continue;
    assert_true(isnan(pto_reference_round_to(dtype, NAN)));
    assert_true(pto_reference_round_to(dtype, -INFINITY) == -INFINITY);
    assert_true(signbit(pto_reference_round_to(dtype, -0.0)));
    assert_true(signbit(pto_reference_round_to(dtype, -1e-300)));
  }
}

/* Through f32 this would be halfway, and then 1. */
static void test_a_double_is_rounded_to_16_bits_in_one_step(void **state) {
  assert_true(pto_reference_round_to(PTO_FLOAT16, 1 + 0x1p-11 + 0x1p-40) == 1 + 0x1p-10);
  assert_true(pto_reference_round_to(PTO_BFLOAT16, 1 + 0x1p-8 + 0x1p-40) == 1 + 0x1p-7);
}

static void test_integers_are_kept_modulo_their_width(void **state) {
  assert_int_equal(pto_reference_wrap_to(PTO_INT4, 9), -7);
  assert_int_equal(pto_reference_wrap_to(PTO_UINT4, -1), 15);
  assert_int_equal(pto_reference_wrap_to(PTO_INT8, 128), -128);
  assert_int_equal(pto_reference_wrap_to(PTO_UINT16, -1), 65535);
  assert_int_equal(pto_reference_wrap_to(PTO_INT32, INT64_C(1) << 31), INT32_MIN);
  assert_int_equal(pto_reference_wrap_to(PTO_UINT64, -1), -1);
  assert_int_equal(pto_reference_wrap_to(PTO_BOOL, 256), 1);
  assert_int_equal(pto_reference_saturate_to(PTO_INT4, 8), 7);
  assert_int_equal(pto_reference_saturate_to(PTO_UINT4, -1), 0);
  assert_int_equal(pto_reference_saturate_to(PTO_BOOL, 2), 1);
  assert_int_equal(pto_reference_saturate_to(PTO_INT64, 0x1p63), INT64_MAX);
  assert_int_equal(pto_reference_saturate_to(PTO_INT64, -INFINITY), INT64_MIN);
  assert_int_equal(pto_reference_saturate_to(PTO_UINT64, 0x1p63), INT64_MIN);
  assert_int_equal(pto_reference_saturate_to(PTO_UINT64, 0x1p64), -1);
}

static void test_bytes_of_every_dtype_come_back_as_they_were(void **state) {
  for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++) {
    struct pto_reference_tensor t;
    unsigned char bytes[40], back[40] = {0};
    if (pto_dtype_is_small_float(dtype)) continue; /* no dtype of graphs, whatever is asked */
    struct pto_rng rng = {dtype};
    const uint32_t count = 4, size = (count * pto_dtype_bits(dtype) + 7) / 8;
    for (uint32_t i = 0; i < size; i++)
      bytes[i] = (unsigned char)(pto_rng_below(&rng, 256) & (dtype == PTO_BOOL ? 1 : 191));
    assert_true(pto_reference_tensor_init(&t, &(struct pto_graph_desc){.dtype = dtype, .ndims = 1, .shape = {count}}));
    pto_reference_tensor_load(&t, bytes);
    pto_reference_tensor_round(&t);
    pto_reference_tensor_store(&t, back);
    assert_memory_equal(bytes, back, size);
    pto_reference_tensor_fini(&t);
  }
}

static void test_half_a_byte_behind_an_odd_number_of_nibbles_is_zero(void **state) {
  const unsigned char bytes[] = {0x8f, 0xf7};
  unsigned char back[] = {0xff, 0xff, 0xff};
  struct pto_reference_tensor t;
  assert_true(pto_reference_tensor_init(&t, &(struct pto_graph_desc){.dtype = PTO_INT4, .ndims = 1, .shape = {3}}));
  pto_reference_tensor_load(&t, bytes);
  graph_case_expect_whole(&t, SHAPE(3), WHOLE(-1, -8, 7));
  pto_reference_tensor_store(&t, back);
  assert_memory_equal(back, ((const unsigned char[]){0x8f, 0x07, 0xff}), 3);
  pto_reference_tensor_fini(&t);
}

/* ---- runs ---- */

/* y = relu(x + k), z = k · y, s = split(z): y is used twice and is an output, one part is not used; u is not used. */
struct small {
  struct pto_graph *graph;
  float x[4], u[1], y[4], first[2];
  const void *inputs[2];
  void *outputs[2];
};

static void small_open(struct small *s) {
  *s = (struct small){.x = {-5, 1, 2, 3}};
  const struct pto_graph_desc desc = {.dtype = PTO_FLOAT32, .ndims = 1, .shape = {4}}, scalar = {.dtype = PTO_FLOAT32};
  const struct pto_split_options halves = {.splits = PTO_U32_LIST(2)};
  struct pto_graph_builder *b = NULL;
  struct pto_graph_operand parts[2];
  assert_int_equal(pto_graph_builder_create(NULL, &b), PTO_OK);
  const struct pto_graph_operand x = pto_graph_builder_input(b, "x", &desc),
                                 u = pto_graph_builder_input(b, "u", &scalar),
                                 k = pto_graph_builder_scalar(b, PTO_FLOAT32, pto_number_f64(10)),
                                 y = pto_graph_builder_relu(b, pto_graph_builder_add(b, x, k, NULL), NULL),
                                 z = pto_graph_builder_mul(b, k, y, NULL);
  assert_int_equal(pto_graph_builder_split(b, z, &halves, parts, 2), PTO_OK);
  const struct pto_graph_output outputs[] = {{"first", parts[0]}, {"y", y}};
  assert_true(u.index != 0);
  if (pto_graph_builder_build(b, outputs, 2, &s->graph)) fail_msg("%s", pto_graph_builder_error(b));
  pto_graph_builder_destroy(b);
  s->inputs[0] = s->x;
  s->inputs[1] = s->u;
  s->outputs[0] = s->first;
  s->outputs[1] = s->y;
}

static void test_nodes_run_in_order_and_outputs_are_filled(void **state) {
  struct small s;
  struct pto_error error = {0};
  small_open(&s);
  assert_int_equal(pto_graph_reference_run(s.graph, s.inputs, s.outputs, NULL, NULL, &error), PTO_OK);
  assert_memory_equal(s.y, ((const float[]){5, 11, 12, 13}), sizeof s.y);
  assert_memory_equal(s.first, ((const float[]){50, 110}), sizeof s.first);
  pto_graph_destroy(s.graph);
}

/* Each result under three names, the names of all in turn: chains of outputs that interleave. */
static void test_a_result_is_stored_for_every_output_that_it_is(void **state) {
  enum { COUNT = 5, TIMES = 3 };
  const struct pto_graph_desc scalar = {.dtype = PTO_FLOAT32};
  struct pto_graph_builder *b = NULL;
  struct pto_graph *graph = NULL;
  struct pto_graph_output outputs[TIMES * COUNT];
  struct pto_error error = {0};
  char names[TIMES * COUNT][8];
  float x = 1, results[TIMES * COUNT] = {0};
  void *places[TIMES * COUNT];
  assert_int_equal(pto_graph_builder_create(NULL, &b), PTO_OK);
  struct pto_graph_operand y = pto_graph_builder_input(b, "x", &scalar);
  for (uint32_t i = 0; i < COUNT; i++) {
    y = pto_graph_builder_add(b, y, y, NULL);
    for (uint32_t k = 0; k < TIMES; k++) outputs[k * COUNT + i].operand = y;
  }
  for (uint32_t i = 0; i < TIMES * COUNT; i++) {
    snprintf(names[i], sizeof names[i], "y%u", i);
    outputs[i].name = names[i];
    places[i] = &results[i];
  }
  assert_int_equal(pto_graph_builder_build(b, outputs, TIMES * COUNT, &graph), PTO_OK);
  pto_graph_builder_destroy(b);
  assert_int_equal(pto_graph_reference_run(graph, (const void *[]){&x}, places, NULL, NULL, &error), PTO_OK);
  for (uint32_t i = 0; i < TIMES * COUNT; i++) assert_true(results[i] == (float)(2u << i % COUNT));
  pto_graph_destroy(graph);
}

struct watcher {
  uint32_t seen, stop_at;
  double sum;
};
static int watch(void *context, uint32_t node_index, const struct pto_reference_tensor *results) {
  struct watcher *w = context;
  assert_int_equal(node_index, w->seen);
  w->seen++;
  w->sum += results[0].values[0];
  return node_index == w->stop_at ? 77 : 0;
}

static void test_an_observer_sees_each_node_and_may_stop_the_run(void **state) {
  struct small s;
  struct pto_error error = {0};
  struct watcher all = {.stop_at = 99}, some = {.stop_at = 1};
  small_open(&s);
  assert_int_equal(pto_graph_reference_run(s.graph, s.inputs, s.outputs, watch, &all, &error), PTO_OK);
  assert_int_equal(all.seen, s.graph->node_count);
  assert_true(all.sum == 5 + 5 + 50 + 50);
  s.first[0] = -1;
  s.y[0] = -1;
  assert_int_equal(pto_graph_reference_run(s.graph, s.inputs, s.outputs, watch, &some, &error), 77);
  assert_int_equal(some.seen, 2);
  assert_true(s.y[0] == 5);      /* made by the node that was seen last */
  assert_true(s.first[0] == -1); /* not made */
  pto_graph_destroy(s.graph);
}

/* fp16 has 2048 and 2050: 2048 + 1 − 2048 is 0, and 1 only if nothing is rounded in between. */
static void test_values_between_nodes_are_rounded_to_their_dtype(void **state) {
  const struct pto_graph_desc scalar = {.dtype = PTO_FLOAT16};
  const uint16_t x = 0x6800, one = 0x3c00;
  uint16_t y = 1;
  const void *inputs[] = {&x, &one};
  void *outputs[] = {&y};
  struct pto_graph_builder *b = NULL;
  struct pto_graph *graph = NULL;
  struct pto_error error = {0};
  assert_int_equal(pto_graph_builder_create(NULL, &b), PTO_OK);
  const struct pto_graph_operand from = pto_graph_builder_input(b, "x", &scalar),
                                 by = pto_graph_builder_input(b, "one", &scalar),
                                 sum = pto_graph_builder_add(b, from, by, NULL);
  const struct pto_graph_output output = {"y", pto_graph_builder_sub(b, sum, from, NULL)};
  assert_int_equal(pto_graph_builder_build(b, &output, 1, &graph), PTO_OK);
  pto_graph_builder_destroy(b);
  assert_int_equal(pto_graph_reference_run(graph, inputs, outputs, NULL, NULL, &error), PTO_OK);
  assert_int_equal(y, 0);
  pto_graph_destroy(graph);
}

static void test_a_constant_that_a_device_keeps_is_not_supported(void **state) {
  struct small s;
  struct pto_error error = {0};
  uint32_t constant = 1;
  small_open(&s);
  while (s.graph->values[constant].kind != PTO_VALUE_CONSTANT) constant++;
  const void *data = s.graph->values[constant].data;
  s.graph->values[constant].data = NULL;
  assert_int_equal(pto_graph_reference_run(s.graph, s.inputs, s.outputs, NULL, NULL, &error), PTO_ENOTSUP);
  assert_non_null(strstr(error.sentence, "device"));
  s.graph->values[constant].data = data;
  pto_graph_destroy(s.graph);
}

/* Everything that allocates: the run itself, loads, results, and the functions of gru and lstm and their cells. */
static struct pto_graph *graph_of_states(void) {
  const struct pto_graph_desc x = {.dtype = PTO_FLOAT32, .ndims = 3, .shape = {1, 1, 1}},
                              w3 = {.dtype = PTO_FLOAT32, .ndims = 3, .shape = {1, 3, 1}},
                              w4 = {.dtype = PTO_FLOAT32, .ndims = 3, .shape = {1, 4, 1}};
  const struct pto_gru_options gru = {.steps = 1, .hidden_size = 1};
  const struct pto_lstm_options lstm = {.steps = 1, .hidden_size = 1};
  const struct pto_gru_cell_options gru_cell = {.hidden_size = 1};
  const struct pto_lstm_cell_options lstm_cell = {.hidden_size = 1};
  const struct pto_new_shape_options row = {.new_shape = PTO_U32_LIST(1, 1)}, rows3 = {.new_shape = PTO_U32_LIST(3, 1)},
                                     rows4 = {.new_shape = PTO_U32_LIST(4, 1)};
  struct pto_graph_builder *b = NULL;
  struct pto_graph *graph = NULL;
  struct pto_graph_operand g, l[2], m[2];
  assert_int_equal(pto_graph_builder_create(NULL, &b), PTO_OK);
  const struct pto_graph_operand in = pto_graph_builder_input(b, "x", &x), a = pto_graph_builder_input(b, "a", &w3),
                                 d = pto_graph_builder_input(b, "b", &w4);
  assert_int_equal(pto_graph_builder_gru(b, in, a, a, &gru, &g, 1), PTO_OK);
  assert_int_equal(pto_graph_builder_lstm(b, g, d, d, &lstm, l, 2), PTO_OK);
  const struct pto_graph_operand flat = pto_graph_builder_reshape(b, l[0], &row),
                                 a2 = pto_graph_builder_reshape(b, a, &rows3),
                                 d2 = pto_graph_builder_reshape(b, d, &rows4),
                                 h = pto_graph_builder_gru_cell(b, flat, a2, a2, flat, &gru_cell);
  assert_int_equal(pto_graph_builder_lstm_cell(b, h, d2, d2, flat, flat, &lstm_cell, m, 2), PTO_OK);
  const struct pto_graph_output output = {"y", m[0]};
  if (pto_graph_builder_build(b, &output, 1, &graph)) fail_msg("%s", pto_graph_builder_error(b));
  pto_graph_builder_destroy(b);
  return graph;
}

static void test_memory_that_is_refused_is_told_and_nothing_leaks(void **state) {
  struct pto_graph *graph = graph_of_states();
  const float x = 1, w[4] = {1, 2, 3, 4};
  float y = 0;
  const void *inputs[] = {&x, w, w};
  void *outputs[] = {&y};
  uint32_t refused = 0;
  for (uint32_t n = 1; PTO_HAS_FAILING_MALLOC && n < 200; n++) {
    struct pto_error error = {0};
    const int64_t before = live_blocks;
    fail_countdown = n;
    const int status = pto_graph_reference_run(graph, inputs, outputs, NULL, NULL, &error);
    const bool was_refused = fail_countdown == 0;
    fail_countdown = 0;
    assert_int_equal(live_blocks, before);
    assert_int_equal(status, was_refused ? PTO_ENOMEM : PTO_OK);
    if (!was_refused) break;
    assert_true(strstr(error.sentence, "no memory") != NULL);
    refused++;
  }
  assert_true(!PTO_HAS_FAILING_MALLOC || refused > 15);
  pto_graph_destroy(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_16_bit_float_has_its_half_way_to_the_next_rounded_to_even),
      cmocka_unit_test(test_what_is_beyond_the_largest_is_infinite_and_half_way_too),
      cmocka_unit_test(test_a_double_is_rounded_to_16_bits_in_one_step),
      cmocka_unit_test(test_integers_are_kept_modulo_their_width),
      cmocka_unit_test(test_bytes_of_every_dtype_come_back_as_they_were),
      cmocka_unit_test(test_half_a_byte_behind_an_odd_number_of_nibbles_is_zero),
      cmocka_unit_test(test_nodes_run_in_order_and_outputs_are_filled),
      cmocka_unit_test(test_a_result_is_stored_for_every_output_that_it_is),
      cmocka_unit_test(test_an_observer_sees_each_node_and_may_stop_the_run),
      cmocka_unit_test(test_values_between_nodes_are_rounded_to_their_dtype),
      cmocka_unit_test(test_a_constant_that_a_device_keeps_is_not_supported),
      cmocka_unit_test(test_memory_that_is_refused_is_told_and_nothing_leaks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
