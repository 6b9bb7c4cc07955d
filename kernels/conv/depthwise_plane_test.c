/* SPDX-License-Identifier: MIT */
/*
 * Channels that are held against plain loops that ask of each tap whether it is inside: the same bits, on every level,
 * for windows of any reach, stride and padding, bands that end anywhere, and numbers that are no numbers.
 */
#include <kernels/conv/depthwise_plane.h>
#include <kernels/levels/level.h>
#include <kernels/api/list.h>
#include <tests/support/kernel_call.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SEED UINT64_C(20261122)
#define SHAPES 400

enum { X, FILTER, BIAS, Y };

struct shape {
  uint64_t n, c, h, w, oh, ow, kh, kw;
  uint64_t pad[2], stride[2], dilation[2];
};

/* Sums as the kernel's header says, rounded after each product and each sum. */
static float plain_output(const struct shape *s, const float *x, const float *filter, float bias, uint64_t oh,
                          uint64_t ow) {
  float sum = bias;
  for (uint64_t i = 0; i < s->kh; i++)
    for (uint64_t j = 0; j < s->kw; j++) {
      const int64_t h = (int64_t)(oh * s->stride[0] + i * s->dilation[0]) - (int64_t)s->pad[0];
      const int64_t w = (int64_t)(ow * s->stride[1] + j * s->dilation[1]) - (int64_t)s->pad[1];
      if (h < 0 || w < 0 || h >= (int64_t)s->h || w >= (int64_t)s->w) continue;
      const float product = x[(uint64_t)h * s->w + (uint64_t)w] * filter[i * s->kw + j];
      sum += product;
    }
  return sum;
}

static float *numbers(struct pto_rng *rng, uint64_t count) {
  float *data = malloc(count * sizeof *data);
  assert_non_null(data);
  for (uint64_t i = 0; i < count; i++) data[i] = (float)(pto_rng_unit(rng) * 2 - 1);
  return data;
}

static struct shape random_shape(struct pto_rng *rng, bool is_tall) {
  struct shape s = {.n = 1 + pto_rng_below(rng, 2), .c = 1 + pto_rng_below(rng, 3)};
  s.kh = 1 + pto_rng_below(rng, 5);
  s.kw = 1 + pto_rng_below(rng, 5);
  for (uint32_t d = 0; d < 2; d++) {
    s.pad[d] = pto_rng_below(rng, 5);
    s.stride[d] = 1 + pto_rng_below(rng, 4);
    s.dilation[d] = 1 + pto_rng_below(rng, 3);
  }
  s.oh = 1 + pto_rng_below(rng, is_tall ? 150 : 20);
  s.ow = 1 + pto_rng_below(rng, is_tall ? 70 : 40);
  /* what the windows reach, and up to 3 rows and columns more or less */
  const uint64_t reach_h = (s.oh - 1) * s.stride[0] + (s.kh - 1) * s.dilation[0] + 1 + pto_rng_below(rng, 7);
  const uint64_t reach_w = (s.ow - 1) * s.stride[1] + (s.kw - 1) * s.dilation[1] + 1 + pto_rng_below(rng, 7);
  s.h = reach_h > s.pad[0] + 3 ? reach_h - s.pad[0] - 3 : 1;
  s.w = reach_w > s.pad[1] + 3 ? reach_w - s.pad[1] - 3 : 1;
  return s;
}

static void set_tensor(struct pto_kernel_tensor *t, float *data, uint32_t ndims, const uint64_t *shape,
                       uint64_t *strides) {
  uint64_t stride = 1;
  for (uint32_t d = ndims; d-- > 0; stride *= shape[d]) strides[d] = stride;
  *t = (struct pto_kernel_tensor){
      .addr = data, .dtype = PTO_FLOAT32, .ndims = ndims, .shape = shape, .strides = strides};
}

static void expect_plain_bits(const struct shape *s, const float *x, float *filter, const float *bias) {
  const uint64_t x_shape[] = {s->n, s->c, s->h, s->w}, y_shape[] = {s->n, s->c, s->oh, s->ow};
  const uint64_t filter_shape[] = {s->c, s->kh, s->kw}, bias_shape[] = {s->c};
  uint64_t strides[4][4];
  struct pto_test_call call;
  pto_test_call_init(&call, &pto_general_depthwise);
  float *y = malloc(s->n * s->c * s->oh * s->ow * sizeof *y);
  assert_non_null(y);
  memset(y, 0xa5, s->n * s->c * s->oh * s->ow * sizeof *y);
  set_tensor(&call.tensors[X], (float *)(uintptr_t)x, 4, x_shape, strides[X]);
  set_tensor(&call.tensors[FILTER], filter, 3, filter_shape, strides[FILTER]);
  set_tensor(&call.tensors[BIAS], (float *)(uintptr_t)bias, 1, bias_shape, strides[BIAS]);
  set_tensor(&call.tensors[Y], y, 4, y_shape, strides[Y]);
  for (uint32_t d = 0; d < 2; d++) {
    call.scalars[d].u64 = s->pad[d];
    call.scalars[2 + d].u64 = s->stride[d];
    call.scalars[4 + d].u64 = s->dilation[d];
  }
  call.scalars[6].f32 = -INFINITY;
  call.scalars[7].f32 = INFINITY;
  call.args.core = NULL;
  assert_int_equal(pto_test_call_run(&pto_general_depthwise, &call.args), 0);
  for (uint64_t p = 0; p < s->n * s->c; p++)
    for (uint64_t oh = 0; oh < s->oh; oh++)
      for (uint64_t ow = 0; ow < s->ow; ow++) {
        const float *taps = filter + p % s->c * s->kh * s->kw;
        const float want = plain_output(s, x + p * s->h * s->w, taps, bias[p % s->c], oh, ow);
        const float got = y[(p * s->oh + oh) * s->ow + ow];
        if (memcmp(&want, &got, sizeof got) == 0 || (isnan(want) && isnan(got))) continue;
        fail_msg("%" PRIu64 "x%" PRIu64 " from %" PRIu64 "x%" PRIu64 ", window %" PRIu64 "x%" PRIu64 ", pads %" PRIu64
                 ",%" PRIu64 " strides %" PRIu64 ",%" PRIu64 " dilations %" PRIu64 ",%" PRIu64 ": [%" PRIu64
                 "][%" PRIu64 "][%" PRIu64 "] is %a, not %a",
                 s->oh, s->ow, s->h, s->w, s->kh, s->kw, s->pad[0], s->pad[1], s->stride[0], s->stride[1],
                 s->dilation[0], s->dilation[1], p, oh, ow, (double)got, (double)want);
      }
  free(y);
}

static void expect_on_every_level(const struct shape *s, const float *x, float *filter, const float *bias) {
  for (uint32_t level = 0; level < PTO_LEVEL_COUNT; level++) {
    if (!pto_level_is_supported(level)) continue;
    pto_level_limit(level);
    expect_plain_bits(s, x, filter, bias);
  }
  pto_level_limit(PTO_LEVEL_COUNT - 1);
}

static void test_a_channel_has_the_bits_of_plain_loops_whatever_the_window(void **state) {
  (void)state;
  struct pto_rng rng = {SEED};
  for (uint32_t i = 0; i < SHAPES; i++) {
    const struct shape s = random_shape(&rng, i % 8 == 0);
    float *x = numbers(&rng, s.n * s.c * s.h * s.w), *filter = numbers(&rng, s.c * s.kh * s.kw);
    float *bias = numbers(&rng, s.c);
    expect_on_every_level(&s, x, filter, bias);
    free(x);
    free(filter);
    free(bias);
  }
}

static void test_what_is_outside_adds_nothing_even_to_minus_zero_or_times_infinity(void **state) {
  (void)state;
  const struct shape s = {.n = 1,
                          .c = 4,
                          .h = 5,
                          .w = 5,
                          .oh = 5,
                          .ow = 5,
                          .kh = 3,
                          .kw = 3,
                          .pad = {1, 1},
                          .stride = {1, 1},
                          .dilation = {1, 1}};
  struct pto_rng rng = {SEED};
  float *x = numbers(&rng, 4 * 25), *filter = numbers(&rng, 4 * 9), bias[4] = {-0.0f, 0, 1, -0.0f};
  for (uint32_t i = 0; i < 25; i++) x[i] = 0; /* 0 · f is −0 for some taps: −0 is left as it is where all are */
  for (uint32_t i = 0; i < 9; i++) filter[i] = -1;
  filter[9] = INFINITY;
  filter[18 + 8] = NAN;
  expect_on_every_level(&s, x, filter, bias);
  free(x);
  free(filter);
}

static void test_what_local_memory_has_no_room_for_is_not_held(void **state) {
  (void)state;
  const struct pto_window_axis small = {.input = 7, .output = 7, .pad = 1, .stride = 1, .dilation = 1};
  const struct pto_window_axis wide = {.input = 100000, .output = 100000, .pad = 1, .stride = 1, .dilation = 1};
  const struct pto_window_axis large = {.input = 7, .output = 1, .pad = 0, .stride = (1u << 31) - 1, .dilation = 1};
  struct pto_depthwise_plane plane;
  pto_depthwise_plane_plan(&plane, &small, &small, 3, 3);
  assert_int_equal(plane.elems, 9 * 9 + 16);
  assert_int_equal(plane.band_rows, 7);
  pto_depthwise_plane_plan(&plane, &wide, &small, 3, 3);
  assert_true(plane.elems > 0 && plane.band_rows * plane.pitch <= 2048);
  pto_depthwise_plane_plan(&plane, &small, &wide, 3, 3);
  assert_int_equal(plane.elems, 0);
  pto_depthwise_plane_plan(&plane, &large, &large, 3, 3);
  assert_int_equal(plane.elems, 0);
  pto_depthwise_plane_plan(&plane, &small, &small, 0, 3);
  assert_int_equal(plane.elems, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_channel_has_the_bits_of_plain_loops_whatever_the_window),
      cmocka_unit_test(test_what_is_outside_adds_nothing_even_to_minus_zero_or_times_infinity),
      cmocka_unit_test(test_what_local_memory_has_no_room_for_is_not_held),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
