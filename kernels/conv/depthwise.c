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
 * Vectors go along the channels where these lie closer together than the columns do, else along rows of y.  Sums are
 * kept in registers: of four outputs beside each other where f32 channels lie side by side; else of many outputs of a
 * channel, which is brought into local memory with zeros around it (depthwise_plane.h).  What is too large for that, or
 * would differ by it, or lies otherwise, adds tap by tap to sums in local memory.  Any thread.
 */
#include <kernels/conv/depthwise_plane.h>
#include <kernels/levels/level.h>
#include <kernels/levels/level_sets.h>
#include <kernels/api/list.h>
#include <kernels/api/local.h>
#include <kernels/levels/loops.h>
#include <kernels/api/math.h>
#include <kernels/api/shape.h>
#include <kernels/conv/window.h>
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

/* An element of the window: where it is in x and in the filter, relative to what they are read from. */
struct tap {
  uint64_t x_at, filter_at;
};

/* Outputs x_step and y_step f32 apart, of channels that lie side by side; all taps are inside x. */
struct pixels {
  const float *x, *filter, *begin;
  float *y;
  uint64_t x_at, x_step, y_step, channels, tap_count;
  const struct tap *taps;
  float least, most;
};

struct loops {
  void (*add_products)(float *sums, const float *x, const float *filter, uint64_t count);
  void (*add_scaled)(float *sums, const float *x, float filter, uint64_t count);
  void (*bound)(float *sums, float least, float most, uint64_t count);
  void (*add_pixels)(const struct pixels *pixels, uint64_t count);
};

#define PTO_LEVEL_LOOPS <kernels/levels/depthwise.inc>
#include <kernels/levels/each_level.inc>

static const struct loops *best_loops(void) {
  static const struct loops *const sets[PTO_LEVEL_COUNT] = PTO_LEVEL_SETS(loops);
  return sets[pto_level_best()];
}

enum { X, FILTER, BIAS, Y };

/* ---- checks and costs ---- */

static uint64_t taps_of(const struct pto_kernel_args *args) {
  return args->tensors[FILTER].shape[1] * args->tensors[FILTER].shape[2];
}

static int depthwise_check(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *t = args->tensors;
  int status = pto_check_same_size(args, "depthwise", "samples", (struct pto_kernel_size){X, t[X].shape[0]},
                                   (struct pto_kernel_size){Y, t[Y].shape[0]});
  for (uint32_t i = FILTER; i <= Y && status == 0; i++)
    status = pto_check_same_size(args, "depthwise", "channels", (struct pto_kernel_size){X, t[X].shape[1]},
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

/* How a channel of x is held, if it is. */
static struct pto_depthwise_plane plane_of(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *x = &args->tensors[X], *y = &args->tensors[Y], *filter = &args->tensors[FILTER];
  const struct pto_window_axis height = pto_window_axis(args, 0, x->shape[2], y->shape[2]);
  const struct pto_window_axis width = pto_window_axis(args, 1, x->shape[3], y->shape[3]);
  struct pto_depthwise_plane plane = {0};
  if (!is_by_channels(args)) pto_depthwise_plane_plan(&plane, &height, &width, filter->shape[1], filter->shape[2]);
  return plane;
}

static uint64_t work_bytes(const struct pto_kernel_args *args) {
  const struct pto_depthwise_plane plane = plane_of(args);
  return 3 * pto_local_bytes(lanes_of(args) * sizeof(float)) + pto_local_bytes(filter_elems(args) * sizeof(float)) +
         pto_local_bytes(taps_of(args) * sizeof(struct tap)) + pto_local_bytes(taps_of(args) * sizeof *plane.taps) +
         pto_local_bytes(plane.elems * sizeof *plane.x) + pto_local_bytes(plane.sums_elems * sizeof *plane.sums);
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
  struct tap *taps;              /* of the current row */
  struct pto_window_range inner; /* outputs of a row all of whose taps are inside x */
  struct pto_depthwise_plane plane;
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

/* Which outputs of every row have all columns of the window. */
static void find_inner(struct work *work) {
  work->inner = (struct pto_window_range){.begin = 0, .end = work->width.output};
  for (uint64_t j = 0; j < work->args->tensors[FILTER].shape[2]; j++) {
    const struct pto_window_range range = pto_window_range(&work->width, j);
    work->inner.begin = pto_max_u64(work->inner.begin, range.begin);
    work->inner.end = pto_min_u64(work->inner.end, range.end);
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

/* Whether channel c of sample n, whose filter is in local memory, could be done held. */
static bool run_held(const struct work *work, uint64_t n, uint64_t c) {
  const struct pto_kernel_tensor *x = &work->args->tensors[X], *y = &work->args->tensors[Y];
  const struct pto_depthwise_channel channel = {.x = x,
                                                .y = y,
                                                .x_at = n * x->strides[0] + c * x->strides[1],
                                                .y_at = n * y->strides[0] + c * y->strides[1],
                                                .filter = work->filter,
                                                .bias = work->begin[0],
                                                .least = work->least,
                                                .most = work->most};
  if (work->plane.elems == 0 || !pto_depthwise_plane_is_exact(&work->plane, &channel)) return false;
  pto_depthwise_plane_run(&work->plane, &channel);
  return true;
}

static void run_by_rows(const struct work *work) {
  const struct pto_kernel_tensor *y = &work->args->tensors[Y];
  for (uint64_t c = 0; c < y->shape[1]; c++) {
    load_channels(work, c, 1);
    for (uint64_t n = 0; n < y->shape[0]; n++) {
      if (run_held(work, n, c)) continue;
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
  work.plane = plane_of(args);
  work.plane.taps = pto_local_take(&local, taps_of(args) * sizeof *work.plane.taps);
  work.plane.x = pto_local_take(&local, work.plane.elems * sizeof *work.plane.x);
  work.plane.sums = pto_local_take(&local, work.plane.sums_elems * sizeof *work.plane.sums);
  work.least = args->scalars[PTO_WINDOW_SCALARS].f32;
  work.most = args->scalars[PTO_WINDOW_SCALARS + 1].f32;
  find_inner(&work);
  if (work.plane.elems > 0) pto_depthwise_plane_begin(&work.plane);
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

PTO_GENERAL_KERNEL(depthwise, depthwise_params, .cores = PTO_AIV, .flags = PTO_KERNEL_ONE_BLOCK, .run = depthwise_run,
                   .cost = depthwise_cost, .check = depthwise_check);
