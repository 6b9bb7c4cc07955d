/* SPDX-License-Identifier: MIT */
#include <kernels/conv/depthwise_plane.h>

#include <kernels/levels/level.h>
#include <kernels/levels/level_sets.h>
#include <kernels/levels/loops.h>
#include <kernels/move/strided.h>
#include <runtime/base/base.h>

#include <math.h>
#include <string.h>

#define MOST_SUMS UINT64_C(2048)  /* of a band: 8 KiB, with its part of x in a first-level cache */
#define MOST_HELD UINT64_C(16384) /* of x: 64 KiB */
#define WIDEST_VECTOR UINT64_C(16)

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

/* Rows of which the elements go to two places by turns: `even_count` to one, and `odd_count` to the other. */
struct split {
  const float *from;
  float *even, *odd;
  uint64_t from_step, to_step, rows, even_count, odd_count;
};

/* Sums of a band, whole vectors of them. */
struct run {
  const float *x, *filter;
  float *sums;
  const uint64_t *taps;
  uint64_t tap_count, count;
  float begin, least, most;
};

struct pto_depthwise_loops {
  void (*split_rows)(const struct split *split);
  void (*add_run)(const struct run *run);
};

#define PTO_LEVEL_LOOPS <kernels/levels/depthwise_plane.inc>
#include <kernels/levels/each_level.inc>

static const struct pto_depthwise_loops *best_loops(void) {
  static const struct pto_depthwise_loops *const sets[PTO_LEVEL_COUNT] = PTO_LEVEL_SETS(loops);
  return sets[pto_level_best()];
}

/* How many steps of a stride it takes to x, rounded up; strides are mostly 1 or 2, and divisions slow. */
static inline uint64_t steps_to(uint64_t x, uint64_t stride) {
  return stride == 1 ? x : stride == 2 ? (x + 1) / 2 : (x + stride - 1) / stride;
}

/* ---- the plan ---- */

static uint64_t phase_elems(const struct pto_depthwise_plane *plane) { return plane->rows * plane->pitch; }

/* Elements of all phases for bands of `rows`, and 0 where they are too many; no size is above MOST_HELD before it is
 * multiplied. */
static uint64_t held_elems(struct pto_depthwise_plane *plane, uint64_t rows) {
  const uint64_t phases = plane->height.stride * plane->width.stride;
  plane->rows = rows + (plane->window_height - 1) * plane->height.dilation / plane->height.stride;
  if (plane->rows > MOST_HELD || plane->height.stride > MOST_HELD || plane->width.stride > MOST_HELD) return 0;
  const uint64_t elems = phase_elems(plane);
  return elems <= MOST_HELD && phases <= MOST_HELD && elems * phases <= MOST_HELD ? elems * phases + WIDEST_VECTOR : 0;
}

void pto_depthwise_plane_plan(struct pto_depthwise_plane *plane, const struct pto_window_axis *height,
                              const struct pto_window_axis *width, uint64_t window_height, uint64_t window_width) {
  *plane = (struct pto_depthwise_plane){
      .height = *height, .width = *width, .window_height = window_height, .window_width = window_width};
  if (window_height == 0 || window_width == 0 || height->output == 0 || width->output == 0) return;
  plane->pitch = width->output + (window_width - 1) * width->dilation / width->stride;
  if (plane->pitch > MOST_SUMS) return;
  const uint64_t bands = (height->output + MOST_SUMS / plane->pitch - 1) / (MOST_SUMS / plane->pitch);
  plane->band_rows = (height->output + bands - 1) / bands;
  plane->elems = held_elems(plane, plane->band_rows);
  while (plane->elems == 0 && plane->band_rows > 1) {
    plane->band_rows = (plane->band_rows + 1) / 2;
    plane->elems = held_elems(plane, plane->band_rows);
  }
  if (plane->elems == 0) return;
  plane->sums_elems = pto_align_up(plane->band_rows * plane->pitch, WIDEST_VECTOR);
}

void pto_depthwise_plane_begin(struct pto_depthwise_plane *plane) {
  const uint64_t sh = plane->height.stride, sw = plane->width.stride;
  plane->loops = best_loops();
  memset(plane->x, 0, plane->elems * sizeof *plane->x);
  uint64_t *tap = plane->taps;
  for (uint64_t i = 0; i < plane->window_height; i++)
    for (uint64_t j = 0; j < plane->window_width; j++) {
      const uint64_t row = i * plane->height.dilation, column = j * plane->width.dilation;
      const uint64_t phase = row % sh * sw + column % sw;
      *tap++ = phase * phase_elems(plane) + row / sh * plane->pitch + column / sw;
    }
}

/* ---- a channel ---- */

static char *address(const struct pto_kernel_tensor *t, uint64_t elems) {
  return (char *)t->addr + elems * pto_dtype_size(t->dtype);
}

/* Rows of x that go to rows of the phases in one row of phases: the first, where in the phases, and how many. */
struct held_rows {
  uint64_t from, to, count;
};
/* What is inside x of phase row `p` of the band that begins at output row `first`. */
static struct held_rows rows_inside(const struct pto_depthwise_plane *plane, uint64_t first, uint64_t p) {
  const uint64_t stride = plane->height.stride, pad = plane->height.pad;
  const uint64_t at = first * stride + p; /* of the first row, below where the padding begins */
  const uint64_t skipped = pto_min_u64(at < pad ? steps_to(pad - at, stride) : 0, plane->rows);
  const uint64_t row = at + skipped * stride - pad; /* if any is inside */
  const uint64_t left =
      skipped < plane->rows && row < plane->height.input ? steps_to(plane->height.input - row, stride) : 0;
  return (struct held_rows){.from = row, .to = skipped, .count = pto_min_u64(left, plane->rows - skipped)};
}

/* Columns of x in phase q: the first of them, where it is in the phase, and how many. */
static struct held_rows columns_inside(const struct pto_depthwise_plane *plane, uint64_t q) {
  const uint64_t stride = plane->width.stride, pad = plane->width.pad;
  const uint64_t to = q < pad ? steps_to(pad - q, stride) : 0, from = to * stride + q - pad;
  if (to >= plane->pitch || from >= plane->width.input) return (struct held_rows){0};
  return (struct held_rows){
      .from = from, .to = to, .count = pto_min_u64(steps_to(plane->width.input - from, stride), plane->pitch - to)};
}

/* `rows` rows of `count` f32. */
static void copy_rows(float *to, uint64_t to_step, const float *from, uint64_t from_step, uint64_t rows,
                      uint64_t count) {
  if (rows == 0 || count == 0) return;
  pto_strided_copy(&(struct pto_strided){.to = (char *)to,
                                         .from = (const char *)from,
                                         .to_step = (int64_t)(to_step * sizeof *to),
                                         .from_step = (int64_t)(from_step * sizeof *from),
                                         .piece_bytes = count * sizeof *to,
                                         .count = rows,
                                         .lines = 1});
}

static void load_columns(const struct pto_depthwise_plane *plane, const struct pto_depthwise_channel *channel,
                         const struct held_rows *rows, float *to) {
  const struct pto_kernel_tensor *x = channel->x;
  const uint64_t stride = plane->width.stride, step_bytes = stride * x->strides[3] * pto_dtype_size(x->dtype);
  for (uint64_t q = 0; q < stride; q++, to += phase_elems(plane)) {
    const struct held_rows columns = columns_inside(plane, q);
    uint64_t at = channel->x_at + rows->from * x->strides[2] + columns.from * x->strides[3];
    if (x->dtype == PTO_FLOAT32 && stride * x->strides[3] == 1) {
      copy_rows(to + rows->to * plane->pitch + columns.to, plane->pitch, (const float *)x->addr + at,
                plane->height.stride * x->strides[2], rows->count, columns.count);
      continue;
    }
    for (uint64_t r = 0; r < rows->count && columns.count > 0; r++, at += plane->height.stride * x->strides[2])
      pto_loops_best()->load[PTO_CLASS_F32][x->dtype](to + (rows->to + r) * plane->pitch + columns.to, address(x, at),
                                                      step_bytes, columns.count);
  }
}

/* The same of f32 columns side by side, every other of which goes to one of two phases. */
static void split_columns(const struct pto_depthwise_plane *plane, const struct pto_depthwise_channel *channel,
                          const struct held_rows *rows, float *to) {
  const struct pto_kernel_tensor *x = channel->x;
  const uint64_t first = plane->width.pad % 2; /* the phase of column 0 */
  const struct held_rows even = columns_inside(plane, first), odd = columns_inside(plane, 1 - first);
  float *row = to + rows->to * plane->pitch;
  plane->loops->split_rows(
      &(struct split){.from = (const float *)x->addr + (channel->x_at + rows->from * x->strides[2] + even.from),
                      .even = row + first * phase_elems(plane) + even.to,
                      .odd = row + (1 - first) * phase_elems(plane) + odd.to,
                      .from_step = plane->height.stride * x->strides[2],
                      .to_step = plane->pitch,
                      .rows = rows->count,
                      .even_count = even.count,
                      .odd_count = odd.count});
}

/* What is inside x of the band; what is outside is zero from the beginning, rows of another band's apart. */
static void hold_band(const struct pto_depthwise_plane *plane, const struct pto_depthwise_channel *channel,
                      uint64_t first) {
  const uint64_t stride = plane->width.stride, row_bytes = plane->pitch * sizeof(float);
  const bool is_one = plane->band_rows >= plane->height.output;
  for (uint64_t p = 0; p < plane->height.stride; p++) {
    float *to = plane->x + p * stride * phase_elems(plane);
    const struct held_rows inside = rows_inside(plane, first, p);
    for (uint64_t q = 0; q < stride && !is_one; q++) {
      float *phase = to + q * phase_elems(plane);
      const uint64_t end = inside.to + inside.count;
      memset(phase, 0, inside.to * row_bytes);
      memset(phase + end * plane->pitch, 0, (plane->rows - end) * row_bytes);
    }
    if (stride == 2 && channel->x->dtype == PTO_FLOAT32 && channel->x->strides[3] == 1)
      split_columns(plane, channel, &inside, to);
    else
      load_columns(plane, channel, &inside, to);
  }
}

static void store_band(const struct pto_depthwise_plane *plane, const struct pto_depthwise_channel *channel,
                       uint64_t first, uint64_t rows) {
  const struct pto_kernel_tensor *y = channel->y;
  const uint64_t at = channel->y_at + first * y->strides[2], count = plane->width.output;
  if (y->dtype == PTO_FLOAT32 && y->strides[3] == 1) {
    copy_rows((float *)y->addr + at, y->strides[2], plane->sums, plane->pitch, rows, count);
    return;
  }
  for (uint64_t r = 0; r < rows; r++)
    pto_loops_best()->store[PTO_CLASS_F32][y->dtype](plane->sums + r * plane->pitch, address(y, at + r * y->strides[2]),
                                                     y->strides[3] * pto_dtype_size(y->dtype), count);
}

bool pto_depthwise_plane_is_exact(const struct pto_depthwise_plane *plane,
                                  const struct pto_depthwise_channel *channel) {
  bool is_exact = channel->bias != 0 || !signbit(channel->bias);
  for (uint64_t t = 0; t < plane->window_height * plane->window_width; t++)
    is_exact = is_exact && isfinite(channel->filter[t]);
  return is_exact;
}

void pto_depthwise_plane_run(const struct pto_depthwise_plane *plane, const struct pto_depthwise_channel *channel) {
  const uint64_t output = plane->height.output;
  struct run run = {.x = plane->x,
                    .filter = channel->filter,
                    .sums = plane->sums,
                    .taps = plane->taps,
                    .tap_count = plane->window_height * plane->window_width,
                    .begin = channel->bias,
                    .least = channel->least,
                    .most = channel->most};
  for (uint64_t first = 0; first < output; first += plane->band_rows) {
    const uint64_t rows = pto_min_u64(plane->band_rows, output - first);
    hold_band(plane, channel, first);
    run.count = (rows - 1) * plane->pitch + plane->width.output;
    plane->loops->add_run(&run);
    store_band(plane, channel, first, rows);
  }
}
