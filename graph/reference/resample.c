/* SPDX-License-Identifier: MIT */
/*
 * Reference: resample2d.
 *
 * Output coordinate o of an axis stands at (o + 1/2) · input / output − 1/2, held within [0, input − 1].  As a fraction
 * of whole numbers that is ((2 o + 1) · input − output) / (2 · output), so that nothing is rounded before it is decided
 * which neighbour is nearer; halfway is the lower one.  Integers interpolated are rounded to nearest, ties to even.
 * Constants; any thread.
 */
#include <graph/reference/support.h>

/* Where an output coordinate stands between two input ones. */
struct position {
  uint64_t below, above, nearest;
  double weight; /* of `above` */
};

static struct position position_of(uint64_t o, uint64_t input, uint64_t output) {
  const uint64_t doubled = 2 * output, reach = (2 * o + 1) * input;
  uint64_t numerator = reach > output ? reach - output : 0;
  if (numerator > (input - 1) * doubled) numerator = (input - 1) * doubled;
  const uint64_t below = numerator / doubled, rest = numerator % doubled;
  return (struct position){.below = below,
                           .above = rest ? below + 1 : below,
                           .nearest = rest > output ? below + 1 : below,
                           .weight = (double)rest / (double)doubled};
}

static double number_at(const struct pto_reference_tensor *t, uint64_t i) {
  return pto_reference_is_float(t) ? t->values[i] : (double)t->whole[i];
}

/* The weights of a pair are w and 1 − w; a weight of 0 takes no part, so that an infinity beside a pixel is not seen.
 */
static double between(double below, double above, double weight) {
  return weight == 0 ? below : below * (1 - weight) + above * weight;
}

PTO_REFERENCE_OPERATION(resample2d) {
  const struct pto_resample2d_options *options = node->options;
  const struct pto_reference_tensor *input = operands[0];
  const uint32_t axes[2] = {pto_option_at(options->axes, 0, 2), pto_option_at(options->axes, 1, 3)};
  for (uint64_t i = 0; i < pto_reference_numel(results); i++) {
    uint64_t at[PTO_MAX_DIMS], corner[2][2];
    struct position p[2];
    pto_reference_locate(&results->desc, i, at);
    for (uint32_t a = 0; a < 2; a++)
      p[a] = position_of(at[axes[a]], input->desc.shape[axes[a]], results->desc.shape[axes[a]]);
    if (options->mode == PTO_INTERPOLATION_NEAREST_NEIGHBOR) {
      for (uint32_t a = 0; a < 2; a++) at[axes[a]] = p[a].nearest;
      pto_reference_take(results, i, input, pto_reference_index(&input->desc, at));
      continue;
    }
    for (uint32_t y = 0; y < 2; y++) {
      for (uint32_t x = 0; x < 2; x++) {
        at[axes[0]] = y ? p[0].above : p[0].below;
        at[axes[1]] = x ? p[1].above : p[1].below;
        corner[y][x] = pto_reference_index(&input->desc, at);
      }
    }
    const double above = between(number_at(input, corner[0][0]), number_at(input, corner[0][1]), p[1].weight),
                 below = between(number_at(input, corner[1][0]), number_at(input, corner[1][1]), p[1].weight),
                 value = between(above, below, p[0].weight);
    if (pto_reference_is_float(results))
      results->values[i] = value;
    else
      results->whole[i] = (int64_t)nearbyint(value);
  }
  return PTO_OK;
}
