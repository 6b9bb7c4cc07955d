/* SPDX-License-Identifier: MIT */
#include <kernels/conv/window.h>

#include <runtime/base/base.h>

#include <inttypes.h>

/* Positions are an extent times a stride or a dilation, and two of those are added: below 2^64. */
#define EXTENTS (UINT64_C(1) << 31)
#define STEPS (UINT64_C(1) << 32)
#define PADS (UINT64_C(1) << 36)

struct pto_window_range pto_window_range(const struct pto_window_axis *axis, uint64_t tap) {
  const uint64_t at = tap * axis->dilation; /* of the window that begins at 0, before padding */
  struct pto_window_range range = {0};
  if (at < axis->pad) range.begin = (axis->pad - at + axis->stride - 1) / axis->stride;
  const uint64_t behind = axis->input + axis->pad; /* at + o · stride < behind */
  if (at < behind) range.end = (behind - at + axis->stride - 1) / axis->stride;
  range.end = pto_min_u64(range.end, axis->output);
  range.begin = pto_min_u64(range.begin, range.end);
  range.first = range.begin < range.end ? at + range.begin * axis->stride - axis->pad : 0;
  return range;
}

struct pto_window_axis pto_window_axis(const struct pto_kernel_args *args, uint32_t is_width, uint64_t input,
                                       uint64_t output) {
  const union pto_scalar *scalars = args->scalars;
  return (struct pto_window_axis){.input = input,
                                  .output = output,
                                  .pad = scalars[is_width].u64,
                                  .stride = scalars[2 + is_width].u64,
                                  .dilation = scalars[4 + is_width].u64};
}

int pto_window_check(const struct pto_kernel_args *args, const char *kernel) {
  static const char *const names[] = {"pad_top", "pad_left", "stride_h", "stride_w", "dilation_h", "dilation_w"};
  for (uint32_t i = 0; i < PTO_WINDOW_SCALARS; i++) {
    const uint64_t value = args->scalars[i].u64;
    if (value < (i < 2 ? 0u : 1u) || value >= (i < 2 ? PADS : STEPS))
      return pto_kernel_error(args, "%s: %s is %" PRIu64 " (param %" PRIu32 ")", kernel, names[i], value,
                              args->tensor_count + i);
  }
  for (uint32_t i = 0; i < args->tensor_count; i++)
    for (uint32_t d = 0; d < args->tensors[i].ndims; d++)
      if (args->tensors[i].shape[d] >= EXTENTS)
        return pto_kernel_error(args, "%s: an extent of %" PRIu64 " (param %" PRIu32 ")", kernel,
                                args->tensors[i].shape[d], i);
  return 0;
}
