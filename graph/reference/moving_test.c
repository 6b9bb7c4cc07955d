/* SPDX-License-Identifier: MIT */
/*
 * Operations of the reference executor that move elements, gather, scatter, cast and quantise, on small tensors written
 * out by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include <graph/reference/support.h>
#include <tests/support/graph_case.h>

#define SIX NUMBERS(1, 2, 3, 4, 5, 6)

/* One operand of f32 [2, 3] with the numbers 1 … 6. */
static void expect_moved(uint32_t op, const void *options, uint32_t ndims, const uint64_t *shape, const double *y) {
  struct graph_case c = {0};
  graph_case_expect(graph_case_call(&c, op, options, OPERANDS(graph_case_floats(&c, SHAPE(2, 3), SIX))), ndims, shape,
                    y);
  graph_case_close(&c);
}

static void test_shapes_change_and_elements_keep_their_order(void **state) {
  const struct pto_new_shape_options reshape = {.new_shape = PTO_U32_LIST(3, 1, 2)},
                                     expand = {.new_shape = PTO_U32_LIST(2, 2, 3)};
  const struct pto_axes_options unsqueeze = {.axes = PTO_U32_LIST(1)};
  expect_moved(PTO_GRAPH_OP_reshape, &reshape, SHAPE(3, 1, 2), SIX);
  expect_moved(PTO_GRAPH_OP_unsqueeze, &unsqueeze, SHAPE(2, 1, 3), SIX);
  expect_moved(PTO_GRAPH_OP_squeeze, NULL, SHAPE(2, 3), SIX);
  expect_moved(PTO_GRAPH_OP_expand, &expand, SHAPE(2, 2, 3), NUMBERS(1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6));
}

static void test_transpose_without_a_permutation_reverses_the_dimensions(void **state) {
  struct graph_case c = {0};
  const struct pto_transpose_options cycle = {.permutation = PTO_U32_LIST(2, 0, 1)};
  const struct pto_reference_tensor *x = graph_case_floats(&c, SHAPE(2, 1, 3), SIX);
  expect_moved(PTO_GRAPH_OP_transpose, NULL, SHAPE(3, 2), NUMBERS(1, 4, 2, 5, 3, 6));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_transpose, &cycle, OPERANDS(x)), SHAPE(3, 2, 1),
                    NUMBERS(1, 4, 2, 5, 3, 6));
  graph_case_close(&c);
}

static void test_reverse_takes_all_axes_unless_some_are_given(void **state) {
  static const uint32_t none[1];
  const struct pto_axes_options rows = {.axes = PTO_U32_LIST(0)}, cols = {.axes = PTO_U32_LIST(1)},
                                empty = {.axes = {none, 0}};
  expect_moved(PTO_GRAPH_OP_reverse, NULL, SHAPE(2, 3), NUMBERS(6, 5, 4, 3, 2, 1));
  expect_moved(PTO_GRAPH_OP_reverse, &rows, SHAPE(2, 3), NUMBERS(4, 5, 6, 1, 2, 3));
  expect_moved(PTO_GRAPH_OP_reverse, &cols, SHAPE(2, 3), NUMBERS(3, 2, 1, 6, 5, 4));
  expect_moved(PTO_GRAPH_OP_reverse, &empty, SHAPE(2, 3), SIX);
}

static void test_slices_begin_and_step_as_they_are_told(void **state) {
  const struct pto_slice_options corner = {.starts = PTO_U32_LIST(1, 0), .sizes = PTO_U32_LIST(1, 2)},
                                 stepped = {.starts = PTO_U32_LIST(0, 0),
                                            .sizes = PTO_U32_LIST(2, 3),
                                            .strides = PTO_U32_LIST(2, 2)};
  expect_moved(PTO_GRAPH_OP_slice, &corner, SHAPE(1, 2), NUMBERS(4, 5));
  expect_moved(PTO_GRAPH_OP_slice, &stepped, SHAPE(1, 2), NUMBERS(1, 3));
}

/* The specification's own examples, but for symmetric. */
static void test_padding_is_constant_edge_reflection_or_symmetric(void **state) {
  struct pto_pad_options pad = {.beginning_padding = PTO_U32_LIST(1, 2), .ending_padding = PTO_U32_LIST(1, 2)};
  expect_moved(PTO_GRAPH_OP_pad, &pad, SHAPE(4, 7),
               NUMBERS(0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 0, 0, //
                       0, 0, 4, 5, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0));
  pad.mode = PTO_PADDING_EDGE;
  expect_moved(PTO_GRAPH_OP_pad, &pad, SHAPE(4, 7),
               NUMBERS(1, 1, 1, 2, 3, 3, 3, 1, 1, 1, 2, 3, 3, 3, //
                       4, 4, 4, 5, 6, 6, 6, 4, 4, 4, 5, 6, 6, 6));
  pad.mode = PTO_PADDING_REFLECTION;
  expect_moved(PTO_GRAPH_OP_pad, &pad, SHAPE(4, 7),
               NUMBERS(6, 5, 4, 5, 6, 5, 4, 3, 2, 1, 2, 3, 2, 1, //
                       6, 5, 4, 5, 6, 5, 4, 3, 2, 1, 2, 3, 2, 1));
  pad.mode = PTO_PADDING_SYMMETRIC;
  expect_moved(PTO_GRAPH_OP_pad, &pad, SHAPE(4, 7),
               NUMBERS(2, 1, 1, 2, 3, 3, 2, 2, 1, 1, 2, 3, 3, 2, //
                       5, 4, 4, 5, 6, 6, 5, 5, 4, 4, 5, 6, 6, 5));
}

static void test_the_padding_value_is_cast_to_the_dtype(void **state) {
  struct graph_case c = {0};
  const struct pto_pad_options pad = {
      .beginning_padding = PTO_U32_LIST(1), .ending_padding = PTO_U32_LIST(0), .value = pto_number_f64(300.7)};
  const struct pto_reference_tensor *u8 = graph_case_whole(&c, PTO_UINT8, SHAPE(2), WHOLE(1, 2)),
                                    *fp16 = graph_case_tensor(&c, PTO_FLOAT16, SHAPE(2), NUMBERS(1, 2));
  graph_case_expect_whole(graph_case_call(&c, PTO_GRAPH_OP_pad, &pad, OPERANDS(u8)), SHAPE(3), WHOLE(255, 1, 2));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_pad, &pad, OPERANDS(fp16)), SHAPE(3), NUMBERS(300.75, 1, 2));
  graph_case_close(&c);
}

static void test_tile_repeats_and_triangular_cuts(void **state) {
  const struct pto_tile_options tile = {.repetitions = PTO_U32_LIST(2, 2)};
  struct pto_triangular_options part = {0};
  expect_moved(PTO_GRAPH_OP_tile, &tile, SHAPE(4, 6),
               NUMBERS(1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6, //
                       1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6));
  expect_moved(PTO_GRAPH_OP_triangular, NULL, SHAPE(2, 3), NUMBERS(1, 2, 3, 0, 5, 6));
  part.diagonal = pto_number_i64(1);
  expect_moved(PTO_GRAPH_OP_triangular, &part, SHAPE(2, 3), NUMBERS(0, 2, 3, 0, 0, 6));
  part.diagonal = pto_number_i64(-1);
  expect_moved(PTO_GRAPH_OP_triangular, &part, SHAPE(2, 3), SIX);
  part.upper = PTO_FLAG_NO;
  expect_moved(PTO_GRAPH_OP_triangular, &part, SHAPE(2, 3), NUMBERS(0, 0, 0, 4, 0, 0));
  part.diagonal = pto_number_i64(0);
  expect_moved(PTO_GRAPH_OP_triangular, &part, SHAPE(2, 3), NUMBERS(1, 0, 0, 4, 5, 0));
}

static void test_a_concat_of_the_parts_of_a_split_is_the_whole(void **state) {
  struct graph_case c = {0};
  const struct pto_reference_tensor *x = graph_case_drawn(&c, PTO_FLOAT32, SHAPE(2, 6, 3), 1);
  const struct pto_split_options split = {.splits = PTO_U32_LIST(1, 2, 3), .axis = pto_number_u64(1)},
                                 thirds = {.splits = PTO_U32_LIST(3), .axis = pto_number_u64(1)};
  const struct pto_concat_options concat = {.axis = 1};
  for (uint32_t equal = 0; equal < 2; equal++) {
    const struct pto_reference_tensor *part =
        graph_case_call(&c, PTO_GRAPH_OP_split, equal ? &thirds : &split, OPERANDS(x));
    assert_int_equal(part[0].desc.shape[1], equal ? 2 : 1);
    assert_int_equal(part[2].desc.shape[1], equal ? 2 : 3);
    assert_true(part[1].values[0] == x->values[equal ? 6 : 3]);
    graph_case_expect_equal(graph_case_call(&c, PTO_GRAPH_OP_concat, &concat, OPERANDS(&part[0], &part[1], &part[2])),
                            x, 0);
  }
  graph_case_close(&c);
}

/* ---- gathers and scatters ---- */

static void test_gather_takes_whole_slices_along_its_axis(void **state) {
  struct graph_case c = {0};
  const struct pto_reference_tensor *x = graph_case_floats(&c, SHAPE(2, 3), SIX),
                                    *scalar = graph_case_whole(&c, PTO_INT32, SCALAR, WHOLE(-1)),
                                    *square = graph_case_whole(&c, PTO_INT64, SHAPE(2, 2), WHOLE(2, 0, -3, 1));
  const struct pto_axis_options cols = {.axis = pto_number_u64(1)};
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_gather, NULL, OPERANDS(x, scalar)), SHAPE(3), NUMBERS(4, 5, 6));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_gather, &cols, OPERANDS(x, square)), SHAPE(2, 2, 2),
                    NUMBERS(3, 1, 1, 2, 6, 4, 4, 5));
  graph_case_close(&c);
}

static void test_indices_out_of_range_are_clamped(void **state) {
  struct graph_case c = {0};
  const struct pto_reference_tensor *x = graph_case_floats(&c, SHAPE(3), NUMBERS(10, 20, 30)),
                                    *indices = graph_case_whole(&c, PTO_INT64, SHAPE(5),
                                                                WHOLE(INT64_MIN, -4, -3, 3, INT64_MAX)),
                                    *unsigned_ones = graph_case_whole(&c, PTO_UINT32, SHAPE(2), WHOLE(UINT32_MAX, 1)),
                                    *tuples = graph_case_whole(&c, PTO_INT32, SHAPE(2, 1), WHOLE(-9, 9)),
                                    *pair = graph_case_whole(&c, PTO_INT32, SHAPE(2), WHOLE(-9, 9)),
                                    *news = graph_case_floats(&c, SHAPE(2), NUMBERS(1, 2));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_gather, NULL, OPERANDS(x, indices)), SHAPE(5),
                    NUMBERS(10, 10, 10, 30, 30));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_gather_elements, NULL, OPERANDS(x, indices)), SHAPE(5),
                    NUMBERS(10, 10, 10, 30, 30));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_gather, NULL, OPERANDS(x, unsigned_ones)), SHAPE(2),
                    NUMBERS(30, 20));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_gather_nd, NULL, OPERANDS(x, tuples)), SHAPE(2), NUMBERS(10, 30));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_scatter_nd, NULL, OPERANDS(x, tuples, news)), SHAPE(3),
                    NUMBERS(1, 20, 2));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_scatter_elements, NULL, OPERANDS(x, pair, news)), SHAPE(3),
                    NUMBERS(1, 20, 2));
  graph_case_close(&c);
}

static void test_of_updates_to_one_element_the_last_stays(void **state) {
  struct graph_case c = {0};
  const struct pto_reference_tensor *x = graph_case_floats(&c, SHAPE(2, 3), SIX),
                                    *indices = graph_case_whole(&c, PTO_INT32, SHAPE(2, 2), WHOLE(0, 0, -1, 2)),
                                    *updates = graph_case_floats(&c, SHAPE(2, 2), NUMBERS(10, 20, 30, 40)),
                                    *rows = graph_case_whole(&c, PTO_INT32, SHAPE(3, 1), WHOLE(1, 0, 1)),
                                    *new_rows =
                                        graph_case_floats(&c, SHAPE(3, 3), NUMBERS(10, 11, 12, 20, 21, 22, 30, 31, 32));
  const struct pto_axis_options cols = {.axis = pto_number_u64(1)};
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_scatter_elements, &cols, OPERANDS(x, indices, updates)),
                    SHAPE(2, 3), NUMBERS(20, 2, 3, 4, 5, 40));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_scatter_nd, NULL, OPERANDS(x, rows, new_rows)), SHAPE(2, 3),
                    NUMBERS(20, 21, 22, 30, 31, 32));
  graph_case_close(&c);
}

/* What is scattered to places that differ is found there again. */
static void test_gathers_undo_scatters(void **state) {
  struct graph_case c = {0};
  const struct pto_reference_tensor *x = graph_case_drawn(&c, PTO_FLOAT32, SHAPE(4, 3, 2), 2),
                                    *pairs = graph_case_whole(&c, PTO_INT32, SHAPE(2, 1, 2), WHOLE(0, 2, 3, -2)),
                                    *rows = graph_case_drawn(&c, PTO_FLOAT32, SHAPE(2, 1, 2), 5),
                                    *along = graph_case_whole(&c, PTO_INT32, SHAPE(4, 2, 2),
                                                              WHOLE(0, 1, 2, 2, -1, 0, 1, 2, 1, 1, 0, 0, 2, -2, 0, 2)),
                                    *news_along = graph_case_drawn(&c, PTO_FLOAT32, SHAPE(4, 2, 2), 4);
  const struct pto_axis_options axis = {.axis = pto_number_u64(1)};
  const struct pto_reference_tensor *scattered =
      graph_case_call(&c, PTO_GRAPH_OP_scatter_nd, NULL, OPERANDS(x, pairs, rows));
  graph_case_expect_equal(graph_case_call(&c, PTO_GRAPH_OP_gather_nd, NULL, OPERANDS(scattered, pairs)), rows, 0);
  scattered = graph_case_call(&c, PTO_GRAPH_OP_scatter_elements, &axis, OPERANDS(x, along, news_along));
  graph_case_expect_equal(graph_case_call(&c, PTO_GRAPH_OP_gather_elements, &axis, OPERANDS(scattered, along)),
                          news_along, 0);
  graph_case_close(&c);
}

/* ---- casts and quantisation ---- */

static void test_floats_cast_to_integers_are_truncated_and_saturated(void **state) {
  struct graph_case c = {0};
  struct pto_cast_options to = {.data_type = PTO_INT8};
  const struct pto_reference_tensor *x =
      graph_case_floats(&c, SHAPE(7), NUMBERS(-1.9, 1.9, -129, 300, NAN, INFINITY, -0.5));
  graph_case_expect_whole(graph_case_call(&c, PTO_GRAPH_OP_cast, &to, OPERANDS(x)), SHAPE(7),
                          WHOLE(-1, 1, -128, 127, 0, 127, 0));
  to.data_type = PTO_UINT64;
  graph_case_expect_whole(graph_case_call(&c, PTO_GRAPH_OP_cast, &to, OPERANDS(x)), SHAPE(7),
                          WHOLE(0, 1, 0, 300, 0, -1, 0));
  to.data_type = PTO_INT64;
  graph_case_expect_whole(graph_case_call(&c, PTO_GRAPH_OP_cast, &to, OPERANDS(x)), SHAPE(7),
                          WHOLE(-1, 1, -129, 300, 0, INT64_MAX, 0));
  graph_case_close(&c);
}

static void test_integers_cast_to_integers_keep_their_low_bits(void **state) {
  struct graph_case c = {0};
  const struct pto_cast_options u8 = {.data_type = PTO_UINT8}, i8 = {.data_type = PTO_INT8},
                                u64 = {.data_type = PTO_UINT64};
  const struct pto_reference_tensor *x = graph_case_whole(&c, PTO_INT32, SHAPE(4), WHOLE(-1, 200, 256, -129));
  graph_case_expect_whole(graph_case_call(&c, PTO_GRAPH_OP_cast, &u8, OPERANDS(x)), SHAPE(4), WHOLE(255, 200, 0, 127));
  graph_case_expect_whole(graph_case_call(&c, PTO_GRAPH_OP_cast, &i8, OPERANDS(x)), SHAPE(4), WHOLE(-1, -56, 0, 127));
  graph_case_expect_whole(graph_case_call(&c, PTO_GRAPH_OP_cast, &u64, OPERANDS(x)), SHAPE(4),
                          WHOLE(-1, 200, 256, -129));
  graph_case_close(&c);
}

/* 2^60 + 2^36 is halfway between two f32; with 1 more it is not, and a double does not see that. */
static void test_64_bit_integers_are_rounded_once(void **state) {
  struct graph_case c = {0};
  const int64_t half = (INT64_C(1) << 60) + (INT64_C(1) << 36);
  const struct pto_cast_options f32 = {.data_type = PTO_FLOAT32}, fp16 = {.data_type = PTO_FLOAT16};
  const struct pto_reference_tensor *x =
      graph_case_whole(&c, PTO_INT64, SHAPE(4), WHOLE(half, half + 1, -half - 1, INT64_MIN));
  const struct pto_reference_tensor *u = graph_case_whole(&c, PTO_UINT64, SHAPE(3), WHOLE(-1, 65519, 65520));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_cast, &f32, OPERANDS(x)), SHAPE(4),
                    NUMBERS(0x1p60, 0x1p60 + 0x1p37, -0x1p60 - 0x1p37, -0x1p63));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_cast, &f32, OPERANDS(u)), SHAPE(3), NUMBERS(0x1p64, 65519, 65520));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_cast, &fp16, OPERANDS(u)), SHAPE(3),
                    NUMBERS(INFINITY, 65504, INFINITY));
  graph_case_close(&c);
}

static void test_quantisation_rounds_half_to_even_and_saturates(void **state) {
  struct graph_case c = {0};
  const double x[] = {0.5, 1.5, -2.5, 1000, -1000, INFINITY, NAN, 126.5};
  const struct pto_reference_tensor *input = graph_case_floats(&c, SHAPE(8), x),
                                    *one = graph_case_floats(&c, SHAPE(1), NUMBERS(1)),
                                    *zero = graph_case_floats(&c, SHAPE(1), NUMBERS(0)),
                                    *i8 = graph_case_whole(&c, PTO_INT8, SHAPE(1), WHOLE(1)),
                                    *u4 = graph_case_whole(&c, PTO_UINT4, SHAPE(1), WHOLE(3)),
                                    *i32 = graph_case_whole(&c, PTO_INT32, SHAPE(1), WHOLE(-1));
  graph_case_expect_whole(graph_case_call(&c, PTO_GRAPH_OP_quantize_linear, NULL, OPERANDS(input, one, i8)), SHAPE(8),
                          WHOLE(1, 3, -1, 127, -128, 127, 1, 127));
  graph_case_expect_whole(graph_case_call(&c, PTO_GRAPH_OP_quantize_linear, NULL, OPERANDS(input, one, u4)), SHAPE(8),
                          WHOLE(3, 5, 1, 15, 0, 15, 3, 15));
  graph_case_expect_whole(graph_case_call(&c, PTO_GRAPH_OP_quantize_linear, NULL, OPERANDS(input, zero, i32)), SHAPE(8),
                          WHOLE(INT32_MAX, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, INT32_MAX, -1, INT32_MAX));
  graph_case_close(&c);
}

static void test_scales_count_for_blocks(void **state) {
  struct graph_case c = {0};
  const struct pto_reference_tensor *x = graph_case_whole(&c, PTO_INT4, SHAPE(2, 4), WHOLE(-8, -7, -6, -5, 4, 5, 6, 7)),
                                    *scale = graph_case_floats(&c, SHAPE(2, 2), NUMBERS(1, 10, 100, 1000)),
                                    *zero_point = graph_case_whole(&c, PTO_INT4, SHAPE(2, 2), WHOLE(-8, 7, 0, 1));
  const struct pto_reference_tensor *y =
      graph_case_call(&c, PTO_GRAPH_OP_dequantize_linear, NULL, OPERANDS(x, scale, zero_point));
  graph_case_expect(y, SHAPE(2, 4), NUMBERS(0, 1, -130, -120, 400, 500, 5000, 6000));
  graph_case_expect_equal(graph_case_call(&c, PTO_GRAPH_OP_quantize_linear, NULL, OPERANDS(y, scale, zero_point)), x,
                          0);
  graph_case_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_shapes_change_and_elements_keep_their_order),
      cmocka_unit_test(test_transpose_without_a_permutation_reverses_the_dimensions),
      cmocka_unit_test(test_reverse_takes_all_axes_unless_some_are_given),
      cmocka_unit_test(test_slices_begin_and_step_as_they_are_told),
      cmocka_unit_test(test_padding_is_constant_edge_reflection_or_symmetric),
      cmocka_unit_test(test_the_padding_value_is_cast_to_the_dtype),
      cmocka_unit_test(test_tile_repeats_and_triangular_cuts),
      cmocka_unit_test(test_a_concat_of_the_parts_of_a_split_is_the_whole),
      cmocka_unit_test(test_gather_takes_whole_slices_along_its_axis),
      cmocka_unit_test(test_indices_out_of_range_are_clamped),
      cmocka_unit_test(test_of_updates_to_one_element_the_last_stays),
      cmocka_unit_test(test_gathers_undo_scatters),
      cmocka_unit_test(test_floats_cast_to_integers_are_truncated_and_saturated),
      cmocka_unit_test(test_integers_cast_to_integers_keep_their_low_bits),
      cmocka_unit_test(test_64_bit_integers_are_rounded_once),
      cmocka_unit_test(test_quantisation_rounds_half_to_even_and_saturates),
      cmocka_unit_test(test_scales_count_for_blocks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
