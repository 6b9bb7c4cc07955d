/* SPDX-License-Identifier: MIT */
/*
 * Linear resample2d of integers, on the chip: interpolated in float32 and rounded once, ties to even.
 *
 * Truth is the formula in whole numbers: coordinate o of an axis stands at ((2·o + 1)·in − out) / (2·out), held within
 * the axis, so an element is a fraction over 4·out₀·out₁.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/base/base.h>
#include <tests/support/lowered_graph.h>

#define MOST 4096

struct size {
  uint32_t in[2], out[2];
};

static uint8_t in_bytes[MOST], got[MOST], reference[MOST];

static int64_t pixel(uint32_t dtype, uint64_t i) {
  return dtype == PTO_INT8 ? (int64_t)(int8_t)in_bytes[i] : (int64_t)in_bytes[i];
}

/* In units of 1 / (2·out): where the coordinate stands. */
static int64_t place(uint32_t o, uint32_t in, uint32_t out) {
  const int64_t at = (2 * (int64_t)o + 1) * in - out, last = ((int64_t)in - 1) * 2 * out;
  return at < 0 ? 0 : at > last ? last : at;
}

/* The numerator over 4·out₀·out₁. */
static int64_t exact(uint32_t dtype, const struct size *s, uint32_t row, uint32_t col) {
  const int64_t y = place(row, s->in[0], s->out[0]), x = place(col, s->in[1], s->out[1]), dy = 2 * (int64_t)s->out[0],
                dx = 2 * (int64_t)s->out[1];
  int64_t sum = 0;
  for (int j = 0; j < 2; j++)
    for (int i = 0; i < 2; i++) {
      const int64_t wy = j ? y % dy : dy - y % dy, wx = i ? x % dx : dx - x % dx;
      if (wy && wx) sum += wy * wx * pixel(dtype, (uint64_t)(y / dy + j) * s->in[1] + (uint64_t)(x / dx + i));
    }
  return sum;
}

/* To nearest, ties to even; *distance_out is how far the fraction is from a tie, in parts of 1. */
static int64_t rounded(int64_t numerator, int64_t denominator, double *distance_out) {
  int64_t floor = numerator / denominator, rest = numerator % denominator;
  if (rest < 0) {
    rest += denominator;
    floor--;
  }
  *distance_out = (double)llabs(2 * rest - denominator) / (2 * (double)denominator);
  if (2 * rest == denominator) return floor + (floor & 1);
  return 2 * rest > denominator ? floor + 1 : floor;
}

static void run(uint32_t dtype, const struct size *s, struct pto_context *context) {
  struct pto_graph_builder *b;
  struct pto_graph *graph;
  struct pto_error error = {0};
  const struct pto_graph_desc desc = {dtype, 4, {1, 1, s->in[0], s->in[1]}};
  const struct pto_resample2d_options options = {.mode = PTO_INTERPOLATION_LINEAR, .sizes = {s->out, 2}};
  assert_int_equal(pto_graph_builder_create(NULL, &b), PTO_OK);
  const struct pto_graph_output y = {"y",
                                     pto_graph_builder_resample2d(b, pto_graph_builder_input(b, "x", &desc), &options)};
  if (pto_graph_builder_build(b, &y, 1, &graph)) fail_msg("%s", pto_graph_builder_error(b));
  pto_graph_builder_destroy(b);
  void *inputs[] = {in_bytes}, *outputs[] = {got}, *expected[] = {reference};
  const void *same[] = {in_bytes};
  if (lowered_graph_run(graph, context, inputs, outputs)) fail_msg("%s", pto_context_error(context));
  assert_int_equal(pto_graph_reference_run(graph, same, expected, NULL, NULL, &error), PTO_OK);
  pto_graph_destroy(graph);
}

/* On a tie float32 may fall to either side where the weights have no float32; nowhere else. */
static uint64_t check(uint32_t dtype, const struct size *s, bool has_exact_weights) {
  const int64_t denominator = 4 * (int64_t)s->out[0] * s->out[1];
  uint64_t ties = 0;
  for (uint32_t row = 0; row < s->out[0]; row++)
    for (uint32_t col = 0; col < s->out[1]; col++) {
      const uint64_t i = (uint64_t)row * s->out[1] + col;
      double distance;
      const int64_t wanted = rounded(exact(dtype, s, row, col), denominator, &distance);
      const int64_t on_chip = dtype == PTO_INT8 ? (int64_t)(int8_t)got[i] : (int64_t)got[i],
                    by_reference = dtype == PTO_INT8 ? (int64_t)(int8_t)reference[i] : (int64_t)reference[i];
      ties += distance == 0;
      const int64_t allowed = has_exact_weights || distance > 0 ? 0 : 1;
      if (llabs(on_chip - wanted) > allowed || llabs(by_reference - wanted) > allowed)
        fail_msg("%u × %u to %u × %u, %s, row %u, column %u: %lld on the chip, %lld by the reference, not %lld",
                 s->in[0], s->in[1], s->out[0], s->out[1], pto_dtype_name(dtype), row, col, (long long)on_chip,
                 (long long)by_reference, (long long)wanted);
    }
  return ties;
}

static uint64_t run_sizes(const struct size *sizes, size_t count, bool has_exact_weights) {
  static const uint32_t dtypes[] = {PTO_UINT8, PTO_INT8};
  static const struct pto_config configs[] = {{.engine = "threads", .workers = 2},
                                              {.engine = "virtual", .chip = "a2a3"}};
  struct pto_rng rng = {11};
  uint64_t ties = 0;
  for (size_t c = 0; c < PTO_ARRAY_LENGTH(configs); c++) {
    struct pto_context *context = lowered_graph_open(&configs[c]);
    for (size_t k = 0; k < count; k++)
      for (size_t d = 0; d < PTO_ARRAY_LENGTH(dtypes); d++) {
        for (uint32_t i = 0; i < MOST; i++) {
          static const uint8_t ends[] = {0, 255, 127, 128, 1};
          in_bytes[i] = pto_rng_below(&rng, 4) ? (uint8_t)pto_rng_below(&rng, 256) : ends[pto_rng_below(&rng, 5)];
        }
        run(dtypes[d], &sizes[k], context);
        ties += check(dtypes[d], &sizes[k], has_exact_weights);
      }
    pto_context_destroy(context);
  }
  return ties;
}

static void test_powers_of_two_are_rounded_to_nearest_and_ties_to_even(void **state) {
  static const struct size sizes[] = {{{4, 8}, {8, 16}}, {{5, 3}, {20, 6}}, {{16, 16}, {8, 4}}, {{32, 64}, {64, 64}},
                                      {{1, 1}, {7, 9}},  {{1, 6}, {4, 6}},  {{9, 9}, {9, 9}},   {{64, 3}, {2, 24}}};
  const uint64_t ties = run_sizes(sizes, PTO_ARRAY_LENGTH(sizes), true);
  printf("| %llu ties\n", (unsigned long long)ties);
  assert_true(ties > 200);
}

static void test_other_scales_are_off_by_one_on_ties_alone(void **state) {
  static const struct size sizes[] = {{{3, 5}, {7, 11}},    {{10, 7}, {3, 2}}, {{6, 6}, {9, 10}},
                                      {{13, 31}, {50, 47}}, {{2, 2}, {3, 3}},  {{7, 12}, {5, 36}}};
  (void)run_sizes(sizes, PTO_ARRAY_LENGTH(sizes), false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_powers_of_two_are_rounded_to_nearest_and_ties_to_even),
      cmocka_unit_test(test_other_scales_are_off_by_one_on_ties_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
