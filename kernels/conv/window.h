/* SPDX-License-Identifier: MIT */
/*
 * Windows that slide over the height and width of [n, c, h, w]: where each of their elements reads.
 *
 *   element (i, j) of the window of output (oh, ow) reads (oh·stride + i·dilation − pad, …), or nothing, where that is
 *   outside
 *
 * The window's sizes and the output's are those of the kernel's tensors; what is behind the input follows from them.
 * Values; any thread.
 */
#ifndef PTO_KERNELS_CONV_WINDOW_H
#define PTO_KERNELS_CONV_WINDOW_H

#include <pto/kernel.h>

/* One of the two dimensions. */
struct pto_window_axis {
  uint64_t input, output;
  uint64_t pad, stride, dilation;
};

/* Outputs begin ≤ o < end whose window has its element `tap` inside the input, which is there at `first` for `begin`
 * and goes on by `stride`. */
struct pto_window_range {
  uint64_t begin, end, first;
};
struct pto_window_range pto_window_range(const struct pto_window_axis *axis, uint64_t tap);

/* The scalars of every kernel with windows, in order: pad_top, pad_left, stride_h, stride_w, dilation_h, dilation_w. */
#define PTO_WINDOW_SCALARS 6
struct pto_window_axis pto_window_axis(const struct pto_kernel_args *args, uint32_t is_width, uint64_t input,
                                       uint64_t output);
/* Strides and dilations are at least 1, and nothing overflows: extents are below 2^31, strides and dilations below
 * 2^32, paddings below 2^36. */
int pto_window_check(const struct pto_kernel_args *args, const char *kernel);

#define PTO_WINDOW_SCALAR(name_)                                                                                       \
  { .name = name_, .mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64 }
#define PTO_WINDOW_PARAMS                                                                                              \
  PTO_WINDOW_SCALAR("pad_top"), PTO_WINDOW_SCALAR("pad_left"), PTO_WINDOW_SCALAR("stride_h"),                          \
      PTO_WINDOW_SCALAR("stride_w"), PTO_WINDOW_SCALAR("dilation_h"), PTO_WINDOW_SCALAR("dilation_w")

#endif
