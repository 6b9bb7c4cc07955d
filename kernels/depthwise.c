/* SPDX-License-Identifier: MIT */
/*
 * depthwise (AIV): a convolution of each channel with a window of its own.
 *
 *   y[n, c, oh, ow] = bias[c] + Σ_ij x[n, c, oh·stride_h + i·dilation_h − pad_top, …] · filter[c, i, j]
 *
 * where the window is inside x, brought between `least` and `most`.  A sum begins with the bias and takes the elements
 * of the window in row-major order; each product and each sum is rounded to f32, none is fused, y is rounded once on
 * store: the same bits on every level and in every layout.  Windows have at most 1024 elements.
 *
 * Vectors go along the channels where these lie closer together than the columns do, else along a row of y.  Sums are
 * kept in registers: of four outputs beside each other where f32 channels lie side by side; else of a row, for which
 * the channel of x is brought into local memory, a row for each phase of the stride, so that the elements of a
 * tap lie side by side.  What is too large for that, or lies otherwise, adds tap by tap to sums in local
 * memory.  Any thread.
 */
#include <kernels/kernel_level.h>
#include <kernels/kernel_list.h>
#include <kernels/kernel_local.h>
#include <kernels/kernel_loops.h>
#include <kernels/kernel_math.h>
#include <kernels/kernel_shape.h>
#include <kernels/kernel_window.h>
#include <runtime/base/base.h>

#include <inttypes.h>
#include <string.h>

#define MOST_TAPS UINT64_C(1024)
#define FILTER_ELEMS UINT64_C(8192) /* of the filter in local memory at a time: 32 KiB */
#define LANES_AT_ONCE UINT64_C(1024)

#if defined(__clang__)
#define PTO_LANES_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define PTO_LANES_LOOP _Pragma("GCC ivdep")
#pragma GCC optimize("O3")
#endif

#define HELD_ELEMS UINT64_C(16384) /* of a channel of x in local memory: 64 KiB */
#define WIDEST_VECTOR 16

/* An element of the window: where it is in x and in the filter, relative to what they are read from; and which outputs
 * of the row have it inside x. */
struct tap {
  uint64_t x_at, filter_at, begin, end;
};

/* Outputs x_step and y_step f32 apart, of channels that lie side by side; all taps are inside x. */
struct pixels {
  const float *x, *filter, *begin;
  float *y;
  uint64_t x_at, x_step, y_step, channels, tap_count;
  const struct tap *taps;
  float least, most;
};

/* A row of outputs of one channel, of which x has the elements of a tap side by side from x_at + its x_at on, which
 * may wrap; every tap is inside x in inner_begin … inner_end. */
struct outputs {
  const float *x, *filter;
  float *y;
  uint64_t x_at, count, inner_begin, inner_end, tap_count;
  const struct tap *taps;
  float begin, least, most;
};

struct loops {
  void (*add_products)(float *sums, const float *x, const float *filter, uint64_t count);
  void (*add_scaled)(float *sums, const float *x, float filter, uint64_t count);
  void (*bound)(float *sums, float least, float most, uint64_t count);
  void (*add_pixels)(const struct pixels *pixels, uint64_t count);
  void (*add_outputs)(const struct outputs *outputs);
};

#define PTO_LEVEL(name) name##_plain
#define LANES 4
#include <kernels/depthwise.inc>
#if defined(__x86_64__)
PTO_TARGET_PUSH(PTO_AVX2_TARGET)
#define PTO_LEVEL(name) name##_avx2
#define LANES 8
#include <kernels/depthwise.inc>
PTO_TARGET_POP
PTO_TARGET_PUSH(PTO_AVX512_TARGET)
#define PTO_LEVEL(name) name##_avx512
#define LANES 16
#include <kernels/depthwise.inc>
PTO_TARGET_POP
#endif

static const struct loops *best_loops(void) {
  static const struct loops *const sets[PTO_LEVEL_COUNT] = {
    [PTO_LEVEL_PLAIN] = &loops_plain,
#if defined(__x86_64__)
    [PTO_LEVEL_AVX2] = &loops_avx2,
    [PTO_LEVEL_AVX512] = &loops_avx512,
#endif
  };
  return sets[pto_level_best()];
}

enum { X, FILTER, BIAS, Y };

/* ---- checks and costs ---- */

static uint64_t taps_of(const struct pto_kernel_args *args) {
  return args->tensors[FILTER].shape[1] * args->tensors[FILTER].shape[2];
}

static int depthwise_check(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *t = args->tensors;
  int status = pto_check_same_size(args, "depthwise: samples", (struct pto_kernel_size){X, t[X].shape[0]},
                                   (struct pto_kernel_size){Y, t[Y].shape[0]});
  for (uint32_t i = FILTER; i <= Y && status == 0; i++)
    status = pto_check_same_size(args, "depthwise: channels", (struct pto_kernel_size){X, t[X].shape[1]},
                                 (struct pto_kernel_size){i, t[i].shape[i == Y ? 1 : 0]});
  if (status == 0) status = pto_window_check(args, "depthwise");
  if (status == 0 && taps_of(args) > MOST_TAPS)
    return pto_kernel_error(args, "depthwise: a window of %" PRIu64 " elements, at most %" PRIu64 " (param 1)",
                            taps_of(args), MOST_TAPS);
  return status;
}

/* Vectors along the channels, not along a row: wherever that is a shorter step. */
static bool is_by_channels(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *x = &args->tensors[X];
  return x->shape[1] > 1 && (x->strides[1] < x->strides[3] || x->shape[3] == 1);
}

/* How many lanes are worked on together: channels of one output, or outputs of one row. */
static uint64_t lanes_of(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *y = &args->tensors[Y];
  if (!is_by_channels(args)) return pto_min_u64(y->shape[3], LANES_AT_ONCE);
  const uint64_t taps = taps_of(args) > 0 ? taps_of(args) : 1;
  return pto_min_u64(y->shape[1], pto_min_u64(FILTER_ELEMS / taps, LANES_AT_ONCE));
}
static uint64_t filter_elems(const struct pto_kernel_args *args) {
  return taps_of(args) * (is_by_channels(args) ? lanes_of(args) : 1);
}

/* How a channel of x is held: each row in phases of the stride.  `elems` is 0 where that is too much, or vectors do not
 * go along a row. */
struct held {
  uint64_t phases, phase_elems, elems;
};
static struct held held_of(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *filter = &args->tensors[FILTER], *y = &args->tensors[Y];
  const struct pto_window_axis width = pto_window_axis(args, 1, 0, 0);
  struct held held = {0};
  if (is_by_channels(args) || y->shape[3] > LANES_AT_ONCE || taps_of(args) == 0) return held;
  const uint64_t rows = args->tensors[X].shape[2];
  held.phases = width.stride;
  held.phase_elems = pto_align_up(y->shape[3], WIDEST_VECTOR) + (filter->shape[2] - 1) * width.dilation / width.stride;
  if (rows > HELD_ELEMS || held.phases > HELD_ELEMS || held.phase_elems > HELD_ELEMS) return held;
  const uint64_t elems = rows * held.phases * held.phase_elems;
  held.elems = elems <= HELD_ELEMS ? elems : 0;
  return held;
}

static uint64_t work_bytes(const struct pto_kernel_args *args) {
  const struct held held = held_of(args);
  return 3 * pto_local_bytes(lanes_of(args) * sizeof(float)) + pto_local_bytes(filter_elems(args) * sizeof(float)) +
         pto_local_bytes(taps_of(args) * sizeof(struct tap)) +
         pto_local_bytes(args->tensors[FILTER].shape[2] * sizeof(struct tap)) +
         pto_local_bytes(held.elems * sizeof(float));
}

static struct pto_cost depthwise_cost(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *t = args->tensors;
  const uint64_t numel = pto_kernel_numel(&t[Y]);
  struct pto_cost cost = {.bytes_out = pto_kernel_bytes(&t[Y]), .vector_elems = numel * (2 * taps_of(args) + 1)};
  for (uint32_t i = X; i < Y; i++) cost.bytes_in += pto_kernel_bytes(&t[i]);
  if (numel > 0) cost.local_bytes = work_bytes(args);
  return cost;
}

/* ---- the run ---- */

struct work {
  const struct pto_kernel_args *args;
  const struct loops *loops;
  const struct pto_loops *moves;
  struct pto_window_axis height, width;
  float *sums, *row, *begin, *filter; /* local; begin: the bias of each lane; filter: [taps, lanes], or [taps] */
  uint64_t lanes;
  float least, most;
  struct tap *taps;    /* of the row at hand */
  struct tap *columns; /* by column of the window */
  struct held held;
  float *plane;                  /* held */
  uint64_t column_count;         /* of the window that are inside x for any output */
  struct pto_window_range inner; /* outputs of a row all of whose taps are inside x */
};

static char *address(const struct pto_kernel_tensor *t, uint64_t elems) {
  return (char *)t->addr + elems * pto_dtype_size(t->dtype);
}
static void load(const struct work *work, const struct pto_kernel_tensor *t, uint64_t elems, uint64_t step,
                 uint64_t count, float *to) {
  work->moves->load[PTO_CLASS_F32][t->dtype](to, address(t, elems), step * pto_dtype_size(t->dtype), count);
}
/* `count` elements of x as f32 side by side: where they lie, or brought into `row`. */
static const float *read_row(const struct work *work, uint64_t elems, uint64_t step, uint64_t count) {
  const struct pto_kernel_tensor *x = &work->args->tensors[X];
  if (x->dtype == PTO_FLOAT32 && (step == 1 || count == 1)) return (const float *)(const void *)address(x, elems);
  load(work, x, elems, step, count, work->row);
  return work->row;
}
static void store(const struct work *work, uint64_t elems, uint64_t step, uint64_t count) {
  work->loops->bound(work->sums, work->least, work->most, count);
  const struct pto_kernel_tensor *y = &work->args->tensors[Y];
  work->moves->store[PTO_CLASS_F32][y->dtype](work->sums, address(y, elems), step * pto_dtype_size(y->dtype), count);
}

/* Filter and bias of channels `c` … `c + count`. */
static void load_channels(const struct work *work, uint64_t c, uint64_t count) {
  const struct pto_kernel_tensor *filter = &work->args->tensors[FILTER], *bias = &work->args->tensors[BIAS];
  float *to = work->filter;
  load(work, bias, c * bias->strides[0], bias->strides[0], count, work->begin);
  if (count == 1 && filter->strides[1] == filter->shape[2] * filter->strides[2]) { /* the taps are one row */
    load(work, filter, c * filter->strides[0], filter->strides[2], taps_of(work->args), to);
    return;
  }
  for (uint64_t i = 0; i < filter->shape[1]; i++)
    for (uint64_t j = 0; j < filter->shape[2]; j++, to += count)
      load(work, filter, c * filter->strides[0] + i * filter->strides[1] + j * filter->strides[2], filter->strides[0],
           count, to);
}

/* One output of `count` channels from `c`, which the filter in local memory is of. */
static void add_channels(const struct work *work, uint64_t n, uint64_t c, uint64_t count, uint64_t oh, uint64_t ow) {
  const struct pto_kernel_tensor *x = &work->args->tensors[X], *filter = &work->args->tensors[FILTER];
  memcpy(work->sums, work->begin, count * sizeof *work->sums);
  for (uint64_t i = 0; i < filter->shape[1]; i++) {
    const uint64_t h = oh * work->height.stride + i * work->height.dilation - work->height.pad;
    if (h >= work->height.input) continue; /* above it too: then it has wrapped */
    for (uint64_t j = 0; j < filter->shape[2]; j++) {
      const uint64_t w = ow * work->width.stride + j * work->width.dilation - work->width.pad;
      if (w >= work->width.input) continue;
      const uint64_t at = n * x->strides[0] + c * x->strides[1] + h * x->strides[2] + w * x->strides[3];
      work->loops->add_products(work->sums, read_row(work, at, x->strides[1], count),
                                work->filter + (i * filter->shape[2] + j) * count, count);
    }
  }
}

/* ---- sums in registers ---- */

static bool are_pixels(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *x = &args->tensors[X], *y = &args->tensors[Y];
  return is_by_channels(args) && x->dtype == PTO_FLOAT32 && y->dtype == PTO_FLOAT32 && x->strides[1] == 1 &&
         y->strides[1] == 1;
}

/* What is the same in every row: where the taps of a column of the window are, and which outputs have all of them. */
static void set_columns(struct work *work) {
  work->inner = (struct pto_window_range){.begin = 0, .end = work->width.output};
  for (uint64_t j = 0; j < work->args->tensors[FILTER].shape[2]; j++) {
    const struct pto_window_range range = pto_window_range(&work->width, j);
    const uint64_t at = j * work->width.dilation;
    work->inner.begin = pto_max_u64(work->inner.begin, range.begin);
    work->inner.end = pto_min_u64(work->inner.end, range.end);
    work->columns[j] = (struct tap){.x_at = at % work->width.stride * work->held.phase_elems + at / work->width.stride,
                                    .begin = range.begin,
                                    .end = range.end};
  }
  if (work->inner.begin > work->inner.end) work->inner.begin = work->inner.end;
}

/* The taps of row `oh` that are inside x for output `ow`, and for the outputs that have the same. */
static uint64_t set_pixel_taps(const struct work *work, uint64_t oh, uint64_t ow, uint64_t channels) {
  const struct pto_kernel_tensor *x = &work->args->tensors[X], *filter = &work->args->tensors[FILTER];
  uint64_t count = 0;
  for (uint64_t i = 0; i < filter->shape[1]; i++) {
    const uint64_t h = oh * work->height.stride + i * work->height.dilation - work->height.pad;
    if (h >= work->height.input) continue;
    for (uint64_t j = 0; j < filter->shape[2]; j++) {
      if (ow * work->width.stride + j * work->width.dilation - work->width.pad >= work->width.input) continue;
      work->taps[count++] = (struct tap){.x_at = h * x->strides[2] + j * work->width.dilation * x->strides[3],
                                         .filter_at = (i * filter->shape[2] + j) * channels};
    }
  }
  return count;
}

static void run_row_of_pixels(const struct work *work, uint64_t n, uint64_t c, uint64_t channels, uint64_t oh) {
  const struct pto_kernel_tensor *x = &work->args->tensors[X], *y = &work->args->tensors[Y];
  struct pixels pixels = {.x = x->addr,
                          .filter = work->filter,
                          .begin = work->begin,
                          .x_step = work->width.stride * x->strides[3],
                          .y_step = y->strides[3],
                          .channels = channels,
                          .taps = work->taps,
                          .least = work->least,
                          .most = work->most};
  for (uint64_t ow = 0, count = 0; ow < y->shape[3]; ow += count) {
    count = ow >= work->inner.begin && ow < work->inner.end ? work->inner.end - ow : 1;
    pixels.tap_count = set_pixel_taps(work, oh, ow, channels);
    /* wraps where the window begins before the row; a tap that is inside does not */
    pixels.x_at = n * x->strides[0] + c * x->strides[1] + (ow * work->width.stride - work->width.pad) * x->strides[3];
    pixels.y = (float *)y->addr + (n * y->strides[0] + c + oh * y->strides[2] + ow * y->strides[3]);
    work->loops->add_pixels(&pixels, count);
  }
}

/* Channel c, as phase_elems elements a phase of a row: element q of phase p is column q · stride + p − pad. */
static void hold_channel(const struct work *work, uint64_t n, uint64_t c) {
  const struct pto_kernel_tensor *x = &work->args->tensors[X];
  const uint64_t stride = work->width.stride, pad = work->width.pad, phase_elems = work->held.phase_elems;
  const uint64_t step = stride * x->strides[3];
  const bool is_dense = x->dtype == PTO_FLOAT32 && step == 1;
  for (uint64_t p = 0; p < stride; p++) {
    const uint64_t first = p < pad ? (pad - p + stride - 1) / stride : 0, column = first * stride + p - pad;
    if (column >= work->width.input || first >= phase_elems) continue;
    const uint64_t count = pto_min_u64((work->width.input - column + stride - 1) / stride, phase_elems - first);
    uint64_t at = n * x->strides[0] + c * x->strides[1] + column * x->strides[3];
    float *to = work->plane + p * phase_elems + first;
    for (uint64_t h = 0; h < work->height.input; h++, at += x->strides[2], to += stride * phase_elems) {
      if (is_dense)
        memcpy(to, address(x, at), count * sizeof *to);
      else
        load(work, x, at, step, count, to);
    }
  }
}

/* All taps that are inside x for any output of a row, relative to the first row of a window. */
static void set_held_taps(struct work *work) {
  const struct pto_kernel_tensor *filter = &work->args->tensors[FILTER];
  const uint64_t row_elems = work->held.phases * work->held.phase_elems;
  uint64_t count = 0;
  for (uint64_t i = 0; i < filter->shape[1]; i++)
    for (uint64_t j = 0; j < filter->shape[2]; j++) {
      if (work->columns[j].begin >= work->columns[j].end) continue;
      struct tap *tap = &work->taps[count++];
      *tap = work->columns[j];
      tap->x_at += i * work->height.dilation * row_elems;
      tap->filter_at = i * filter->shape[2] + j;
    }
  work->column_count = count / filter->shape[1];
}

/* Row `oh` of channel c, which is held, and whose filter is in local memory. */
static void run_held_row(const struct work *work, uint64_t n, uint64_t c, uint64_t oh) {
  const struct pto_kernel_tensor *y = &work->args->tensors[Y];
  const struct pto_window_axis *height = &work->height;
  const uint64_t above = oh * height->stride, row_elems = work->held.phases * work->held.phase_elems;
  uint64_t i = 0, end = work->args->tensors[FILTER].shape[1]; /* rows of the window that are inside x */
  while (i < end && above + i * height->dilation < height->pad) i++;
  while (end > i && above + (end - 1) * height->dilation - height->pad >= height->input) end--;
  const uint64_t to = n * y->strides[0] + c * y->strides[1] + oh * y->strides[2];
  const bool is_direct = y->dtype == PTO_FLOAT32 && y->strides[3] == 1;
  work->loops->add_outputs(&(struct outputs){.x = work->plane,
                                             .x_at = (above - height->pad) * row_elems,
                                             .filter = work->filter,
                                             .y = is_direct ? (float *)y->addr + to : work->sums,
                                             .count = y->shape[3],
                                             .inner_begin = work->inner.begin,
                                             .inner_end = work->inner.end,
                                             .taps = work->taps + i * work->column_count,
                                             .tap_count = (end - i) * work->column_count,
                                             .begin = work->begin[0],
                                             .least = work->least,
                                             .most = work->most});
  if (!is_direct)
    work->moves->store[PTO_CLASS_F32][y->dtype](work->sums, address(y, to), y->strides[3] * pto_dtype_size(y->dtype),
                                                y->shape[3]);
}

static void run_by_channels(const struct work *work) {
  const bool is_fast = are_pixels(work->args);
  const struct pto_kernel_tensor *y = &work->args->tensors[Y];
  for (uint64_t c = 0; c < y->shape[1]; c += work->lanes) {
    const uint64_t count = pto_min_u64(work->lanes, y->shape[1] - c);
    load_channels(work, c, count);
    for (uint64_t n = 0; n < y->shape[0]; n++)
      for (uint64_t oh = 0; oh < y->shape[2]; oh++)
        for (uint64_t ow = 0; ow < y->shape[3]; ow++) {
          if (is_fast) {
            run_row_of_pixels(work, n, c, count, oh);
            break;
          }
          add_channels(work, n, c, count, oh, ow);
          store(work, n * y->strides[0] + c * y->strides[1] + oh * y->strides[2] + ow * y->strides[3], y->strides[1],
                count);
        }
  }
}

/* Outputs first … first + count of row `oh` of one channel, whose filter is in local memory. */
static void add_row(const struct work *work, uint64_t n, uint64_t c, uint64_t oh, uint64_t first, uint64_t count) {
  const struct pto_kernel_tensor *x = &work->args->tensors[X], *filter = &work->args->tensors[FILTER];
  for (uint64_t k = 0; k < count; k++) work->sums[k] = work->begin[0];
  for (uint64_t i = 0; i < filter->shape[1]; i++) {
    const uint64_t h = oh * work->height.stride + i * work->height.dilation - work->height.pad;
    if (h >= work->height.input) continue;
    for (uint64_t j = 0; j < filter->shape[2]; j++) {
      const struct pto_window_range range = pto_window_range(&work->width, j);
      const uint64_t begin = range.begin > first ? range.begin : first, end = pto_min_u64(range.end, first + count);
      if (begin >= end) continue;
      const uint64_t w = range.first + (begin - range.begin) * work->width.stride;
      const uint64_t at = n * x->strides[0] + c * x->strides[1] + h * x->strides[2] + w * x->strides[3];
      work->loops->add_scaled(work->sums + (begin - first),
                              read_row(work, at, x->strides[3] * work->width.stride, end - begin),
                              work->filter[i * filter->shape[2] + j], end - begin);
    }
  }
}

static void run_by_rows(const struct work *work) {
  const struct pto_kernel_tensor *y = &work->args->tensors[Y];
  for (uint64_t c = 0; c < y->shape[1]; c++) {
    load_channels(work, c, 1);
    for (uint64_t n = 0; n < y->shape[0]; n++) {
      if (work->held.elems > 0) {
        hold_channel(work, n, c);
        for (uint64_t oh = 0; oh < y->shape[2]; oh++) run_held_row(work, n, c, oh);
        continue;
      }
      for (uint64_t oh = 0; oh < y->shape[2]; oh++)
        for (uint64_t first = 0; first < y->shape[3]; first += work->lanes) {
          const uint64_t count = pto_min_u64(work->lanes, y->shape[3] - first);
          add_row(work, n, c, oh, first, count);
          store(work, n * y->strides[0] + c * y->strides[1] + oh * y->strides[2] + first * y->strides[3], y->strides[3],
                count);
        }
    }
  }
}

static int depthwise_run(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *t = args->tensors;
  if (pto_kernel_numel(&t[Y]) == 0) return 0;
  struct pto_local local = pto_local_begin(&args->core->local);
  struct work work = {.args = args, .loops = best_loops(), .moves = pto_loops_best(), .lanes = lanes_of(args)};
  work.height = pto_window_axis(args, 0, t[X].shape[2], t[Y].shape[2]);
  work.width = pto_window_axis(args, 1, t[X].shape[3], t[Y].shape[3]);
  work.sums = pto_local_take(&local, work.lanes * sizeof(float));
  work.row = pto_local_take(&local, work.lanes * sizeof(float));
  work.begin = pto_local_take(&local, work.lanes * sizeof(float));
  work.filter = pto_local_take(&local, filter_elems(args) * sizeof(float));
  work.taps = pto_local_take(&local, taps_of(args) * sizeof(struct tap));
  work.columns = pto_local_take(&local, t[FILTER].shape[2] * sizeof(struct tap));
  work.held = held_of(args);
  work.plane = pto_local_take(&local, work.held.elems * sizeof(float));
  work.least = args->scalars[PTO_WINDOW_SCALARS].f32;
  work.most = args->scalars[PTO_WINDOW_SCALARS + 1].f32;
  set_columns(&work);
  if (work.held.elems > 0) set_held_taps(&work);
  if (is_by_channels(args))
    run_by_channels(&work);
  else
    run_by_rows(&work);
  return 0;
}

#define PARAM(name_, mode_, rank)                                                                                      \
  { .name = name_, .mode = mode_, .dtypes = PTO_DTYPES_FLOAT, .min_rank = rank, .max_rank = rank }
#define BOUND(name_)                                                                                                   \
  { .name = name_, .mode = PTO_SCALAR, .scalar = PTO_SCALAR_F32 }
static const struct pto_kernel_param depthwise_params[] = {PARAM("x", PTO_INPUT, 4),
                                                           PARAM("filter", PTO_INPUT, 3),
                                                           PARAM("bias", PTO_INPUT, 1),
                                                           PARAM("y", PTO_OUTPUT, 4),
                                                           PTO_WINDOW_PARAMS,
                                                           BOUND("least"),
                                                           BOUND("most")};

const struct pto_kernel pto_general_depthwise = {.name = "depthwise",
                                                 .cores = PTO_AIV,
                                                 .params = depthwise_params,
                                                 .param_count = PTO_ARRAY_LENGTH(depthwise_params),
                                                 .run = depthwise_run,
                                                 .cost = depthwise_cost,
                                                 .check = depthwise_check};
