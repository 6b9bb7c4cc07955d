/* SPDX-License-Identifier: MIT */
/*
 * Convolutions, pools and resample2d of the reference executor, against loops over an image with its padding written
 * out, and by what must hold between them.
 *
 * Numbers are small multiples of 1/8, so that every sum is exact.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include <graph/reference/support.h>
#include <tests/support/graph_case.h>

#define ROUNDS 60u

/* One convolution or pool, drawn so that the output has at least one row and column. */
struct drawn {
  uint32_t batch, groups, in_per_group, out_per_group, height, width, filter_height, filter_width;
  uint32_t padding[4], strides[2], dilations[2];
  uint64_t out_height, out_width;
};

static uint32_t between(struct pto_rng *rng, uint32_t low, uint32_t high) {
  return low + (uint32_t)pto_rng_below(rng, high - low + 1);
}

static uint64_t output_size(uint64_t input, uint64_t filter, uint64_t padding, uint64_t stride, uint64_t dilation) {
  return (input + padding - (filter - 1) * dilation - 1) / stride + 1;
}

static struct drawn draw(struct pto_rng *rng) {
  struct drawn d = {.batch = between(rng, 1, 2),
                    .groups = between(rng, 1, 3),
                    .in_per_group = between(rng, 1, 3),
                    .out_per_group = between(rng, 1, 2),
                    .filter_height = between(rng, 1, 3),
                    .filter_width = between(rng, 1, 3)};
  for (uint32_t i = 0; i < 4; i++) d.padding[i] = between(rng, 0, 2);
  for (uint32_t i = 0; i < 2; i++) {
    d.strides[i] = between(rng, 1, 3);
    d.dilations[i] = between(rng, 1, 2);
  }
  d.height = (d.filter_height - 1) * d.dilations[0] + between(rng, 1, 5);
  d.width = (d.filter_width - 1) * d.dilations[1] + between(rng, 1, 5);
  d.out_height = output_size(d.height, d.filter_height, d.padding[0] + d.padding[1], d.strides[0], d.dilations[0]);
  d.out_width = output_size(d.width, d.filter_width, d.padding[2] + d.padding[3], d.strides[1], d.dilations[1]);
  return d;
}

/* The image with its padding as zeros, by the pad operation. */
static const struct pto_reference_tensor *padded(struct graph_case *c, const struct drawn *d,
                                                 const struct pto_reference_tensor *x) {
  const struct pto_pad_options pad = {.beginning_padding = PTO_U32_LIST(0, 0, d->padding[0], d->padding[2]),
                                      .ending_padding = PTO_U32_LIST(0, 0, d->padding[1], d->padding[3])};
  return graph_case_call(c, PTO_GRAPH_OP_pad, &pad, OPERANDS(x));
}

static double at4(const struct pto_reference_tensor *t, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
  const uint64_t *s = t->desc.shape;
  return t->values[((a * s[1] + b) * s[2] + c) * s[3] + d];
}

/* x padded, NCHW; w OIHW. */
static double convolved(const struct drawn *d, const struct pto_reference_tensor *x,
                        const struct pto_reference_tensor *w, uint64_t b, uint64_t o, uint64_t row, uint64_t col) {
  double total = 0;
  for (uint64_t i = 0; i < d->in_per_group; i++) {
    for (uint64_t y = 0; y < d->filter_height; y++) {
      for (uint64_t z = 0; z < d->filter_width; z++)
        total += at4(x, b, o / d->out_per_group * d->in_per_group + i, row * d->strides[0] + y * d->dilations[0],
                     col * d->strides[1] + z * d->dilations[1]) *
                 at4(w, o, i, y, z);
    }
  }
  return total;
}

static struct pto_conv2d_options conv2d_options(const struct drawn *d) {
  return (struct pto_conv2d_options){.padding = {d->padding, 4},
                                     .strides = {d->strides, 2},
                                     .dilations = {d->dilations, 2},
                                     .groups = pto_number_u64(d->groups)};
}

static void test_conv2d_is_a_sum_over_the_padded_image(void **state) {
  struct pto_rng rng = {11};
  for (uint32_t round = 0; round < ROUNDS; round++) {
    struct graph_case c = {0};
    const struct drawn d = draw(&rng);
    const uint64_t inputs = d.groups * d.in_per_group, outputs = d.groups * d.out_per_group;
    const struct pto_reference_tensor *x = graph_case_drawn(&c, PTO_FLOAT32, SHAPE(d.batch, inputs, d.height, d.width),
                                                            round),
                                      *w = graph_case_drawn(
                                          &c, PTO_FLOAT32,
                                          SHAPE(outputs, d.in_per_group, d.filter_height, d.filter_width), round + 500),
                                      *bias = round % 2 ? graph_case_drawn(&c, PTO_FLOAT32, SHAPE(outputs), round + 900)
                                                        : NULL;
    const struct pto_conv2d_options options = conv2d_options(&d);
    const struct pto_reference_tensor *y = graph_case_call(&c, PTO_GRAPH_OP_conv2d, &options, OPERANDS(x, w, bias)),
                                      *wide = padded(&c, &d, x);
    assert_int_equal(y->desc.shape[2], d.out_height);
    assert_int_equal(y->desc.shape[3], d.out_width);
    for (uint64_t i = 0; i < pto_reference_numel(y); i++) {
      uint64_t at[4];
      pto_reference_locate(&y->desc, i, at);
      const double expected = convolved(&d, wide, w, at[0], at[1], at[2], at[3]) + (bias ? bias->values[at[1]] : 0);
      assert_true(y->values[i] == expected);
    }
    graph_case_close(&c);
  }
}

static const struct pto_reference_tensor *permuted(struct graph_case *c, const struct pto_reference_tensor *t,
                                                   uint32_t a, uint32_t b, uint32_t d, uint32_t e) {
  const struct pto_transpose_options options = {.permutation = PTO_U32_LIST(a, b, d, e)};
  return graph_case_call(c, PTO_GRAPH_OP_transpose, &options, OPERANDS(t));
}

static void test_layouts_of_conv2d_say_the_same_in_another_order(void **state) {
  struct pto_rng rng = {12};
  for (uint32_t round = 0; round < ROUNDS; round++) {
    struct graph_case c = {0};
    const struct drawn d = draw(&rng);
    const struct pto_reference_tensor *x = graph_case_drawn(
                                          &c, PTO_FLOAT32, SHAPE(d.batch, d.groups * d.in_per_group, d.height, d.width),
                                          round),
                                      *w = graph_case_drawn(&c, PTO_FLOAT32,
                                                            SHAPE(d.groups * d.out_per_group, d.in_per_group,
                                                                  d.filter_height, d.filter_width),
                                                            round + 70);
    struct pto_conv2d_options options = conv2d_options(&d);
    const struct pto_reference_tensor *y = graph_case_call(&c, PTO_GRAPH_OP_conv2d, &options, OPERANDS(x, w)),
                                      *filters[] = {w, permuted(&c, w, 2, 3, 1, 0), permuted(&c, w, 0, 2, 3, 1),
                                                    permuted(&c, w, 1, 2, 3, 0)};
    options.input_layout = PTO_LAYOUT_NHWC;
    for (uint32_t layout = PTO_CONV2D_OIHW; layout <= PTO_CONV2D_IHWO; layout++) {
      options.filter_layout = layout;
      const struct pto_reference_tensor *other =
          graph_case_call(&c, PTO_GRAPH_OP_conv2d, &options, OPERANDS(permuted(&c, x, 0, 2, 3, 1), filters[layout]));
      graph_case_expect_equal(permuted(&c, other, 0, 3, 1, 2), y, 0);
    }
    graph_case_close(&c);
  }
}

static double inner_product(const struct pto_reference_tensor *a, const struct pto_reference_tensor *b) {
  double total = 0;
  assert_int_equal(pto_reference_numel(a), pto_reference_numel(b));
  for (uint64_t i = 0; i < pto_reference_numel(a); i++) total += a->values[i] * b->values[i];
  return total;
}

/* Without output_sizes, does the transpose make an image at all? */
static bool has_transpose(const struct drawn *d) {
  const uint64_t height = (d->out_height - 1) * d->strides[0] + (d->filter_height - 1) * d->dilations[0] + 1,
                 width = (d->out_width - 1) * d->strides[1] + (d->filter_width - 1) * d->dilations[1] + 1;
  return height > d->padding[0] + d->padding[1] && width > d->padding[2] + d->padding[3];
}

/* ⟨conv(x), y⟩ = ⟨x, convT(y)⟩, with one filter; output_sizes says which of the images it is that conv2d makes y of. */
static void test_conv_transpose2d_is_the_transpose_of_conv2d(void **state) {
  struct pto_rng rng = {13};
  for (uint32_t round = 0; round < ROUNDS; round++) {
    struct graph_case c = {0};
    const struct drawn d = draw(&rng);
    if (!has_transpose(&d)) continue;
    const uint32_t sizes[] = {d.height, d.width};
    const struct pto_reference_tensor
        *x = graph_case_drawn(&c, PTO_FLOAT32, SHAPE(d.batch, d.groups * d.in_per_group, d.height, d.width), round),
        *w = graph_case_drawn(&c, PTO_FLOAT32,
                              SHAPE(d.groups * d.out_per_group, d.in_per_group, d.filter_height, d.filter_width),
                              round + 7),
        *y = graph_case_drawn(&c, PTO_FLOAT32, SHAPE(d.batch, d.groups * d.out_per_group, d.out_height, d.out_width),
                              round + 99);
    const struct pto_conv2d_options forward = conv2d_options(&d);
    struct pto_conv_transpose2d_options backward = {.padding = forward.padding,
                                                    .strides = forward.strides,
                                                    .dilations = forward.dilations,
                                                    .output_sizes = {sizes, 2},
                                                    .groups = forward.groups};
    const struct pto_reference_tensor *there = graph_case_call(&c, PTO_GRAPH_OP_conv2d, &forward, OPERANDS(x, w)),
                                      *back =
                                          graph_case_call(&c, PTO_GRAPH_OP_conv_transpose2d, &backward, OPERANDS(y, w));
    assert_true(inner_product(there, y) == inner_product(x, back));

    backward.input_layout = PTO_LAYOUT_NHWC;
    backward.filter_layout = PTO_CONV_TRANSPOSE2D_HWOI;
    const struct pto_reference_tensor *other =
        graph_case_call(&c, PTO_GRAPH_OP_conv_transpose2d, &backward,
                        OPERANDS(permuted(&c, y, 0, 2, 3, 1), permuted(&c, w, 2, 3, 1, 0)));
    graph_case_expect_equal(permuted(&c, other, 0, 3, 1, 2), back, 0);
    backward.filter_layout = PTO_CONV_TRANSPOSE2D_OHWI;
    other = graph_case_call(&c, PTO_GRAPH_OP_conv_transpose2d, &backward,
                            OPERANDS(permuted(&c, y, 0, 2, 3, 1), permuted(&c, w, 1, 2, 3, 0)));
    graph_case_expect_equal(permuted(&c, other, 0, 3, 1, 2), back, 0);
    graph_case_close(&c);
  }
}

static void test_conv_transpose2d_spreads_pixels_and_adds_the_bias(void **state) {
  struct graph_case c = {0};
  const struct pto_conv_transpose2d_options options = {.strides = PTO_U32_LIST(2, 2),
                                                       .output_padding = PTO_U32_LIST(1, 0)};
  const struct pto_reference_tensor *x = graph_case_floats(&c, SHAPE(1, 1, 1, 2), NUMBERS(1, 10)),
                                    *w = graph_case_floats(&c, SHAPE(1, 1, 1, 3), NUMBERS(1, 2, 3)),
                                    *bias = graph_case_floats(&c, SHAPE(1), NUMBERS(0.5));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_conv_transpose2d, &options, OPERANDS(x, w, bias)),
                    SHAPE(1, 1, 2, 5), NUMBERS(1.5, 2.5, 13.5, 20.5, 30.5, 0.5, 0.5, 0.5, 0.5, 0.5));
  graph_case_close(&c);
}

/* ---- pools ---- */

struct seen {
  double sum, squares, largest;
  uint32_t count;
};

/* Plain signed coordinates. */
static struct seen look(const struct drawn *d, const struct pto_reference_tensor *x, const uint64_t *at) {
  struct seen seen = {.largest = -INFINITY};
  for (uint32_t i = 0; i < d->filter_height * d->filter_width; i++) {
    const int64_t row = (int64_t)(at[2] * d->strides[0] + i / d->filter_width * d->dilations[0]) - d->padding[0],
                  col = (int64_t)(at[3] * d->strides[1] + i % d->filter_width * d->dilations[1]) - d->padding[2];
    if (row < 0 || col < 0 || row >= d->height || col >= d->width) continue;
    const double value = at4(x, at[0], at[1], (uint64_t)row, (uint64_t)col);
    seen.sum += value;
    seen.squares += value * value;
    seen.largest = fmax(seen.largest, value);
    seen.count++;
  }
  return seen;
}

static void expect_pools(struct graph_case *c, const struct drawn *d, const struct pto_pool2d_options *options,
                         const struct pto_reference_tensor *x) {
  const struct pto_reference_tensor *average = graph_case_call(c, PTO_GRAPH_OP_average_pool2d, options, OPERANDS(x)),
                                    *norm = graph_case_call(c, PTO_GRAPH_OP_l2_pool2d, options, OPERANDS(x)),
                                    *largest = graph_case_call(c, PTO_GRAPH_OP_max_pool2d, options, OPERANDS(x));
  for (uint64_t i = 0; i < pto_reference_numel(average); i++) {
    uint64_t at[4];
    pto_reference_locate(&average->desc, i, at);
    const struct seen seen = look(d, x, at);
    const float mean = (float)(seen.sum / seen.count), root = (float)sqrt(seen.squares);
    assert_true(seen.count ? (float)average->values[i] == mean : isnan(average->values[i]));
    assert_true((float)norm->values[i] == root);
    assert_true(largest->values[i] == seen.largest);
  }
}

static void test_pools_see_what_is_not_padding(void **state) {
  struct pto_rng rng = {14};
  for (uint32_t round = 0; round < ROUNDS; round++) {
    struct graph_case c = {0};
    const struct drawn d = draw(&rng);
    const uint32_t window[] = {d.filter_height, d.filter_width};
    const struct pto_reference_tensor *x =
        graph_case_drawn(&c, PTO_FLOAT32, SHAPE(d.batch, d.groups, d.height, d.width), round);
    struct pto_pool2d_options options = {.window_dimensions = {window, 2},
                                         .padding = {d.padding, 4},
                                         .strides = {d.strides, 2},
                                         .dilations = {d.dilations, 2},
                                         .output_shape_rounding = round % 2};
    expect_pools(&c, &d, &options, x);
    const struct pto_reference_tensor *y = graph_case_call(&c, PTO_GRAPH_OP_max_pool2d, &options, OPERANDS(x));
    options.layout = PTO_LAYOUT_NHWC;
    const struct pto_reference_tensor *other =
        graph_case_call(&c, PTO_GRAPH_OP_max_pool2d, &options, OPERANDS(permuted(&c, x, 0, 2, 3, 1)));
    graph_case_expect_equal(permuted(&c, other, 0, 3, 1, 2), y, 0);
    graph_case_close(&c);
  }
}

static void test_a_window_in_the_padding_alone_finds_nothing(void **state) {
  struct graph_case c = {0};
  const struct pto_pool2d_options options = {.window_dimensions = PTO_U32_LIST(1, 1),
                                             .strides = PTO_U32_LIST(1, 3),
                                             .output_shape_rounding = PTO_ROUNDING_CEIL};
  const struct pto_reference_tensor *x = graph_case_floats(&c, SHAPE(1, 1, 1, 2), NUMBERS(-5, 7)),
                                    *n = graph_case_whole(&c, PTO_INT8, SHAPE(1, 1, 1, 2), WHOLE(-5, 7));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_average_pool2d, &options, OPERANDS(x)), SHAPE(1, 1, 1, 2),
                    NUMBERS(-5, NAN));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_l2_pool2d, &options, OPERANDS(x)), SHAPE(1, 1, 1, 2),
                    NUMBERS(5, 0));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_max_pool2d, &options, OPERANDS(x)), SHAPE(1, 1, 1, 2),
                    NUMBERS(-5, -INFINITY));
  graph_case_expect_whole(graph_case_call(&c, PTO_GRAPH_OP_max_pool2d, &options, OPERANDS(n)), SHAPE(1, 1, 1, 2),
                          WHOLE(-5, -128));
  graph_case_close(&c);
}

/* 2^64 places, of which two are no padding. */
static void test_a_window_of_padding_takes_no_longer_than_the_image_in_it(void **state) {
  struct graph_case c = {0};
  const struct pto_pool2d_options options = {
      .window_dimensions = PTO_U32_LIST(UINT32_MAX, UINT32_MAX),
      .padding = PTO_U32_LIST(UINT32_C(1) << 31, (UINT32_C(1) << 31) - 2, UINT32_C(1) << 31, (UINT32_C(1) << 31) - 3)};
  const struct pto_reference_tensor *x = graph_case_floats(&c, SHAPE(1, 1, 1, 2), NUMBERS(-5, 7));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_average_pool2d, &options, OPERANDS(x)), SHAPE(1, 1, 1, 1),
                    NUMBERS(1));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_max_pool2d, &options, OPERANDS(x)), SHAPE(1, 1, 1, 1), NUMBERS(7));
  graph_case_close(&c);
}

static void test_global_pools_are_pools_of_the_whole_image(void **state) {
  struct graph_case c = {0};
  const struct pto_reference_tensor *x = graph_case_drawn(&c, PTO_FLOAT32, SHAPE(2, 3, 4, 5), 15);
  graph_case_expect_equal(graph_case_call(&c, PTO_GRAPH_OP_global_average_pool, NULL, OPERANDS(x)),
                          graph_case_call(&c, PTO_GRAPH_OP_average_pool2d, NULL, OPERANDS(x)), 0);
  graph_case_expect_equal(graph_case_call(&c, PTO_GRAPH_OP_global_max_pool, NULL, OPERANDS(x)),
                          graph_case_call(&c, PTO_GRAPH_OP_max_pool2d, NULL, OPERANDS(x)), 0);
  graph_case_close(&c);
}

/* ---- resample2d ---- */

/* Where output coordinate o stands in the input. */
static double coordinate(uint64_t o, uint64_t input, uint64_t output) {
  const double x = ((double)o + 0.5) * (double)input / (double)output - 0.5;
  return fmin(fmax(x, 0), (double)(input - 1));
}

static void test_linear_resampling_of_a_plane_is_the_plane(void **state) {
  struct graph_case c = {0};
  const uint32_t sizes[][2] = {{4, 5}, {7, 3}, {1, 1}, {9, 10}, {2, 8}};
  const struct pto_reference_tensor *empty = graph_case_drawn(&c, PTO_FLOAT32, SHAPE(4, 1, 5, 2), 16);
  struct pto_reference_tensor *x = graph_case_tensor(&c, PTO_FLOAT32, 4, empty->desc.shape, NULL);
  for (uint64_t i = 0; i < 40; i++)
    x->values[i] = 3 * (double)(i / 10) - 2 * (double)(i / 2 % 5) + 16 * (double)(i % 2);
  for (uint32_t k = 0; k < PTO_ARRAY_LENGTH(sizes); k++) {
    const struct pto_resample2d_options options = {
        .mode = PTO_INTERPOLATION_LINEAR, .sizes = {sizes[k], 2}, .axes = PTO_U32_LIST(0, 2)};
    const struct pto_reference_tensor *y = graph_case_call(&c, PTO_GRAPH_OP_resample2d, &options, OPERANDS(x));
    for (uint64_t i = 0; i < pto_reference_numel(y); i++) {
      uint64_t at[4];
      pto_reference_locate(&y->desc, i, at);
      const double plane =
          3 * coordinate(at[0], 4, sizes[k][0]) - 2 * coordinate(at[2], 5, sizes[k][1]) + 16 * (double)at[3];
      assert_true(fabs(y->values[i] - plane) < 1e-5);
    }
  }
  graph_case_close(&c);
}

/* The nearest by trying all: |2 · output · i − ((2 o + 1) · input − output)| is smallest, the first of equals. */
static uint64_t nearest(uint64_t o, uint64_t input, uint64_t output) {
  uint64_t best = 0, best_distance = UINT64_MAX;
  for (uint64_t i = 0; i < input; i++) {
    const int64_t difference = (int64_t)(2 * output * i + output) - (int64_t)((2 * o + 1) * input);
    const uint64_t distance = (uint64_t)(difference < 0 ? -difference : difference);
    if (distance < best_distance) {
      best = i;
      best_distance = distance;
    }
  }
  return best;
}

static void test_nearest_neighbours_are_nearest_and_halfway_the_lower(void **state) {
  for (uint32_t input = 1; input <= 6; input++) {
    for (uint32_t output = 1; output <= 13; output++) {
      struct graph_case c = {0};
      const uint32_t sizes[] = {1, output};
      const struct pto_resample2d_options options = {.sizes = {sizes, 2}};
      const struct pto_reference_tensor *x =
          graph_case_whole(&c, PTO_UINT8, SHAPE(1, 1, 1, input), WHOLE(0, 1, 2, 3, 4, 5));
      const struct pto_reference_tensor *y = graph_case_call(&c, PTO_GRAPH_OP_resample2d, &options, OPERANDS(x));
      for (uint64_t o = 0; o < output; o++) assert_int_equal(y->whole[o], nearest(o, input, output));
      graph_case_close(&c);
    }
  }
}

static void test_integers_are_interpolated_and_rounded_to_even(void **state) {
  struct graph_case c = {0};
  const struct pto_resample2d_options options = {.mode = PTO_INTERPOLATION_LINEAR, .scales = PTO_F32_LIST(1, 2)};
  const struct pto_reference_tensor *x = graph_case_whole(&c, PTO_INT8, SHAPE(1, 1, 1, 3), WHOLE(-2, 0, 127));
  graph_case_expect_whole(graph_case_call(&c, PTO_GRAPH_OP_resample2d, &options, OPERANDS(x)), SHAPE(1, 1, 1, 6),
                          WHOLE(-2, -2, 0, 32, 95, 127));
  graph_case_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_conv2d_is_a_sum_over_the_padded_image),
      cmocka_unit_test(test_layouts_of_conv2d_say_the_same_in_another_order),
      cmocka_unit_test(test_conv_transpose2d_is_the_transpose_of_conv2d),
      cmocka_unit_test(test_conv_transpose2d_spreads_pixels_and_adds_the_bias),
      cmocka_unit_test(test_pools_see_what_is_not_padding),
      cmocka_unit_test(test_a_window_in_the_padding_alone_finds_nothing),
      cmocka_unit_test(test_a_window_of_padding_takes_no_longer_than_the_image_in_it),
      cmocka_unit_test(test_global_pools_are_pools_of_the_whole_image),
      cmocka_unit_test(test_linear_resampling_of_a_plane_is_the_plane),
      cmocka_unit_test(test_nearest_neighbours_are_nearest_and_halfway_the_lower),
      cmocka_unit_test(test_integers_are_interpolated_and_rounded_to_even),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
