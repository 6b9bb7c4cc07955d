/* SPDX-License-Identifier: MIT */
/*
 * One channel of a depthwise convolution in local memory, with zeros around it: so vectors go over rows and on to the
 * next, and no lane asks whether its tap is inside.
 *
 * A channel is held by bands of output rows, and a band in phases of the strides.  Row r and column q, counted from
 * where the padding of the band begins, are element (r / stride_h, q / stride_w) of phase (r mod stride_h,
 * q mod stride_w), and a phase is rows × pitch.  So tap (i, j) of output (oh, ow) is oh · pitch + ow behind the place
 * of that tap, for all outputs: they are one run of elements, of which those at ow ≥ width are of no row and are not
 * stored.
 *
 * Zeros outside change no bit of a sum, if the filter is finite and the sum does not begin with −0: 0 · f is ±0, and a
 * sum that is not −0 never becomes it.  For other channels the caller does not use this.
 *
 * Owns nothing: memory is the caller's, of a core's local memory.  The core's own thread.
 */
#ifndef PTO_KERNELS_CONV_DEPTHWISE_PLANE_H
#define PTO_KERNELS_CONV_DEPTHWISE_PLANE_H

#include <kernels/conv/window.h>

struct pto_depthwise_loops;
struct pto_depthwise_plane {
  struct pto_window_axis height, width;
  uint64_t window_height, window_width;
  uint64_t band_rows;   /* of y, at a time */
  uint64_t rows, pitch; /* of a phase */
  uint64_t elems;       /* of all phases, and of a vector behind them; 0: not held so */
  uint64_t sums_elems;
  float *x, *sums; /* of `elems` and `sums_elems` */
  const struct pto_depthwise_loops *loops;
  uint64_t *taps; /* by element of the window: where it begins in x */
};

/* Sizes alone.  elems is 0 where a row of y or a band of x is more than local memory is asked for, or there is no tap.
 */
void pto_depthwise_plane_plan(struct pto_depthwise_plane *plane, const struct pto_window_axis *height,
                              const struct pto_window_axis *width, uint64_t window_height, uint64_t window_width);
/* Once its memory is given, before the first channel. */
void pto_depthwise_plane_begin(struct pto_depthwise_plane *plane);

/* y = bias + Σ x · filter within bounds: the channel of x at element x_at, of y at y_at; the window row by row. */
struct pto_depthwise_channel {
  const struct pto_kernel_tensor *x, *y;
  uint64_t x_at, y_at;
  const float *filter;
  float bias, least, most;
};
/* Whether zeros outside change nothing. */
bool pto_depthwise_plane_is_exact(const struct pto_depthwise_plane *plane, const struct pto_depthwise_channel *channel);
void pto_depthwise_plane_run(const struct pto_depthwise_plane *plane, const struct pto_depthwise_channel *channel);

#endif
