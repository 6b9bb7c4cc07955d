/* SPDX-License-Identifier: MIT */
/*
 * The references of kernels with windows, and of resample: each result by the index of what it reads.  Constants; any
 * thread.
 */
#include <kernels/reference/support.h>

/* ---- windows ---- */

enum { PAD, STRIDE = 2, DILATION = 4 };

/* Where element `tap` of the window of output `o` is, in height (0) or width (1); negative or beyond: outside. */
static int64_t read_at(const struct pto_kernel_args *args, uint32_t side, uint64_t o, uint64_t tap) {
  const union pto_scalar *s = args->scalars;
  return (int64_t)(o * s[STRIDE + side].u64 + tap * s[DILATION + side].u64) - (int64_t)s[PAD + side].u64;
}

/* Windows of 1 to 3 by 1 to 3, and the output that they have on an input of `extents`; false where none fits. */
struct windows {
  uint64_t window[2], output[2];
};
static bool draw_windows(const struct pto_reference_sizes *sizes, union pto_scalar *scalars, struct windows *w) {
  uint64_t draw = pto_mix64(sizes->draw + 1);
  if (sizes->rank != 4) return false;
  for (uint32_t side = 0; side < 2; side++, draw = pto_mix64(draw)) {
    const uint64_t input = sizes->extents[2 + side];
    w->window[side] = 1 + draw % 3;
    scalars[PAD + side].u64 = draw / 4 % 3;
    scalars[STRIDE + side].u64 = 1 + draw / 16 % 3;
    scalars[DILATION + side].u64 = 1 + draw / 64 % 2;
    const uint64_t padded = input + scalars[PAD + side].u64 + draw / 128 % 3;
    const uint64_t covered = (w->window[side] - 1) * scalars[DILATION + side].u64 + 1;
    if (padded < covered) return false;
    w->output[side] = (padded - covered) / scalars[STRIDE + side].u64 + 1;
  }
  return true;
}

static bool unfold_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                          union pto_scalar *scalars) {
  struct windows w;
  if (!draw_windows(sizes, scalars, &w)) return false;
  pto_reference_same_shapes(sizes, tensors, 1);
  tensors[1] = (struct pto_reference_shape){(uint32_t)(sizes->draw % 3), {1, 1}};
  tensors[2] = (struct pto_reference_shape){
      6, {sizes->extents[0], w.output[0], w.output[1], w.window[0], w.window[1], sizes->extents[1]}};
  return true;
}
static void unfold_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *y = &args->tensors[2];
  for (uint64_t i = 0; i < pto_reference_numel(y); i++) {
    const struct place to = pto_reference_place(y, i);
    const int64_t h = read_at(args, 0, to.at[1], to.at[3]), w = read_at(args, 1, to.at[2], to.at[4]);
    const struct place from = {{to.at[0], to.at[5], (uint64_t)h, (uint64_t)w}};
    if (h < 0 || w < 0 || from.at[2] >= x->shape[2] || from.at[3] >= x->shape[3])
      pto_reference_take(&golden[2], i, &args->tensors[1], 0);
    else
      pto_reference_take(&golden[2], i, x, pto_reference_number(x, &from));
  }
}
PTO_REFERENCE(unfold, .shapes = unfold_shapes, .golden = unfold_golden, .values = PTO_VALUES_ANY,
              .flags = PTO_REFERENCE_MOVES_LESS);

static bool depthwise_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                             union pto_scalar *scalars) {
  struct windows w;
  if (!draw_windows(sizes, scalars, &w)) return false;
  const uint64_t channels = sizes->extents[1];
  pto_reference_same_shapes(sizes, tensors, 1);
  tensors[1] = (struct pto_reference_shape){3, {channels, w.window[0], w.window[1]}};
  tensors[2] = (struct pto_reference_shape){1, {channels}};
  tensors[3] = (struct pto_reference_shape){4, {sizes->extents[0], channels, w.output[0], w.output[1]}};
  scalars[6].f32 = sizes->draw % 2 != 0 ? -0.5f : -INFINITY;
  scalars[7].f32 = sizes->draw % 2 != 0 ? 2.0f : INFINITY;
  return true;
}

/* Slack: a rounded product and a rounded sum for each of `taps` elements. */
static void depthwise_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *filter = &args->tensors[1], *y = &args->tensors[3];
  const uint64_t taps = filter->shape[1] * filter->shape[2];
  for (uint64_t o = 0; o < pto_reference_numel(y); o++) {
    const struct place to = pto_reference_place(y, o);
    double sum = pto_reference_element(&args->tensors[2], to.at[1]), magnitude = fabs(sum);
    for (uint64_t t = 0; t < taps; t++) {
      const uint64_t i = t / filter->shape[2], j = t % filter->shape[2];
      const int64_t h = read_at(args, 0, to.at[2], i), w = read_at(args, 1, to.at[3], j);
      const struct place from = {{to.at[0], to.at[1], (uint64_t)h, (uint64_t)w}}, tap = {{to.at[1], i, j}};
      if (h < 0 || w < 0 || from.at[2] >= x->shape[2] || from.at[3] >= x->shape[3]) continue;
      const double term = pto_reference_element(x, pto_reference_number(x, &from)) *
                          pto_reference_element(filter, pto_reference_number(filter, &tap));
      sum += term;
      magnitude += fabs(term);
    }
    golden[3].value[o] = fmin(fmax(sum, (double)args->scalars[6].f32), (double)args->scalars[7].f32);
    golden[3].slack[o] = (double)(taps + 2) * 0x1p-24 * magnitude;
  }
}
PTO_REFERENCE(depthwise, .shapes = depthwise_shapes, .golden = depthwise_golden, .ulps = 0.51,
              .values = PTO_VALUES_FINITE, .flags = PTO_REFERENCE_ANY_ZERO | PTO_REFERENCE_MOVES_LESS,
              .slack = "(taps + 2)·2⁻²⁴ of the sum of magnitudes");

/* ---- resample ---- */

static bool resample_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                            union pto_scalar *scalars) {
  if (sizes->rank == 0) return false;
  const uint64_t axis = sizes->draw % sizes->rank, draw = pto_mix64(sizes->draw);
  pto_reference_same_shapes(sizes, tensors, 2);
  scalars[0].u64 = axis;
  if (sizes->extents[axis] > 0) tensors[1].shape[axis] = 1 + draw / 2 % (2 * sizes->extents[axis]);
  return true;
}

/* Result `o` is between element `below` of the axis, whose number is *low, and the one after it, *high. */
static double place_of(const struct pto_kernel_args *args, uint64_t o, uint64_t *low, uint64_t *high) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *y = &args->tensors[1];
  const uint64_t axis = args->scalars[0].u64;
  struct place element = pto_reference_place(y, o);
  uint64_t *at = &element.at[axis];
  const double scale = (double)x->shape[axis] / (double)y->shape[axis], last = (double)x->shape[axis] - 1;
  const double place = fmin(fmax(((double)*at + 0.5) * scale - 0.5, 0), last), below = floor(place + 1e-9);
  *at = (uint64_t)below;
  *low = pto_reference_number(x, &element);
  *at += below < last ? 1 : 0;
  *high = pto_reference_number(x, &element);
  return place - below < 1e-9 ? 0 : place - below;
}

/* Halfway between two the lower one is nearest. */
static void nearest_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  for (uint64_t o = 0; o < pto_reference_numel(&args->tensors[1]); o++) {
    uint64_t low, high;
    const double weight = place_of(args, o, &low, &high);
    pto_reference_take(&golden[1], o, &args->tensors[0], weight > 0.5 + 1e-9 ? high : low);
  }
}
PTO_REFERENCE(resample_nearest, .shapes = resample_shapes, .golden = nearest_golden, .values = PTO_VALUES_ANY,
              .flags = PTO_REFERENCE_MOVES_LESS);

static void linear_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  const struct pto_kernel_tensor *x = &args->tensors[0];
  for (uint64_t o = 0; o < pto_reference_numel(&args->tensors[1]); o++) {
    uint64_t at[2];
    const double weight = place_of(args, o, &at[0], &at[1]);
    const double low = pto_reference_element(x, at[0]), high = pto_reference_element(x, at[1]);
    golden[1].value[o] = low * (1 - weight) + high * weight;
    golden[1].slack[o] = 4 * 0x1p-24 * (fabs(low) + fabs(high));
  }
}
PTO_REFERENCE(resample_linear, .shapes = resample_shapes, .golden = linear_golden, .ulps = 0.51,
              .values = PTO_VALUES_FINITE, .flags = PTO_REFERENCE_ANY_ZERO | PTO_REFERENCE_MOVES_LESS,
              .slack = "4·2⁻²⁴·(|below| + |above|)");
