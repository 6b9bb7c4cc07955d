/* SPDX-License-Identifier: MIT */
/*
 * Pools: windows unfolded, tile by tile of output rows, and reduced.  A pool of everything is a reduction.
 */
#include <graph/lower/window.h>
#include <graph/build/op_options.h>
#include <kernels/api/list.h>
#include <math.h>

struct pool {
  struct pto_tensor x, y; /* [n, c, h, w] */
  struct pto_slides slides;
  const struct pto_kernel *reduce;
  struct pto_number outside; /* what padding counts as */
};

/* Whether a window reaches beyond x in the dimension of `slide`. */
static bool reaches_out(const struct pto_slide *slide, uint64_t input, uint64_t output) {
  const uint64_t reach = (output - 1) * slide->stride + (slide->window - 1) * slide->dilation + 1;
  return slide->pad > 0 || reach > input;
}

/* y [.., c, oh, ow] of x, each tile's windows reduced over dimensions 3 and 4; y has memory. */
static void reduce_windows(struct pto_graph_lowering *l, const struct pool *pool) {
  const uint64_t kh = pool->slides.height.window, kw = pool->slides.width.window;
  const struct pto_tensor value = pto_graph_lowering_temporary(l, pool->x.dtype, 0, NULL);
  const struct pto_row_tiles tiles = pto_row_tiles_make(&pool->y, pool->y.shape[1] * pool->y.shape[3] * kh * kw);
  pto_graph_lowering_fill(l, pool->outside, &value);
  for (uint64_t i = 0; i < tiles.count && l->status == PTO_OK; i++) {
    const struct pto_row_tile tile = pto_row_tiles_at(&tiles, &pool->y, i);
    pto_graph_lowering_tile(l);
    const uint64_t shape[] = {1, tile.count, pool->y.shape[3], kh, kw, pool->x.shape[1]};
    const struct pto_tensor windows = pto_graph_lowering_temporary(l, pool->x.dtype, 6, shape);
    const struct pto_tensor rows = pto_row_tile_of(&tile, &pool->y);
    const struct pto_tensor pixels = pto_tensor_permute(&rows, (const uint32_t[]){0, 2, 3, 1});
    struct pto_tensor reduced = pixels; /* with extents of 1 where the windows were: [1, rows, ow, 1, 1, c] */
    reduced.ndims = 6;
    reduced.shape[5] = pixels.shape[3];
    reduced.strides[5] = pixels.strides[3];
    for (uint32_t d = 3; d < 5; d++) {
      reduced.shape[d] = 1;
      reduced.strides[d] = pixels.strides[3];
    }
    pto_lower_unfold(l, &pool->x, &pool->slides, &tile, &value, &windows);
    PTO_LOWER_TASK(l, pool->reduce, pto_input(&windows), pto_output(&reduced));
  }
  pto_graph_lowering_tiles_end(l);
}

/* Everything: y [n, c, 1, 1] is x reduced over height and width. */
static void reduce_all(struct pto_graph_lowering *l, const struct pto_kernel *kernel, const struct pto_tensor *x,
                       const struct pto_tensor *y) {
  const struct pto_cut cut = {.is_of_x = true, .whole = 12, .weight = 1};
  pto_graph_lowering_apply(l, kernel, x, y, &cut, NULL, 0);
}

static bool is_everything(const struct pool *pool) {
  const struct pto_slide *h = &pool->slides.height, *w = &pool->slides.width;
  return h->window == pool->x.shape[2] && w->window == pool->x.shape[3] && h->dilation == 1 && w->dilation == 1 &&
         h->pad == 0 && w->pad == 0 && pool->y.shape[2] == 1 && pool->y.shape[3] == 1;
}

static struct pool pool_of(struct pto_graph_lowering *l, const struct pto_graph_node *node,
                           const struct pto_tensor *result) {
  const struct pto_pool2d_options *options = node->options;
  struct pool pool = {.x = pto_lower_as_nchw(pto_graph_lowering_operand(l, node, 0), options->layout),
                      .y = pto_lower_as_nchw(result, options->layout)};
  const struct pto_u32_list window = options->window_dimensions;
  pool.slides = pto_slides_of(options->padding, options->strides, options->dilations,
                              pto_option_at(window, 0, (uint32_t)pool.x.shape[2]),
                              pto_option_at(window, 1, (uint32_t)pool.x.shape[3]));
  return pool;
}

static void run_pool(struct pto_graph_lowering *l, const struct pool *pool, const struct pto_tensor *result) {
  pto_graph_lowering_allocate(l, result);
  if (is_everything(pool))
    reduce_all(l, pool->reduce, &pool->x, &pool->y);
  else
    reduce_windows(l, pool);
}

void pto_lower_l2_pool2d(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_tensor result = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  struct pool pool = pool_of(l, node, &result);
  pool.reduce = &pto_general_reduce_l2;
  run_pool(l, &pool, &result);
}

void pto_lower_max_pool2d(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_tensor result = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  struct pool pool = pool_of(l, node, &result);
  pool.reduce = &pto_general_reduce_max;
  pool.outside = pto_number_f64(-(double)INFINITY); /* of integers the least */
  run_pool(l, &pool, &result);
}

/* How many elements of each window are inside: the same pool, adding up, of ones.  [1, 1, oh, ow]. */
static struct pto_tensor count_inside(struct pto_graph_lowering *l, const struct pool *pool) {
  const uint64_t input[] = {1, 1, pool->x.shape[2], pool->x.shape[3]};
  const uint64_t output[] = {1, 1, pool->y.shape[2], pool->y.shape[3]};
  struct pool counting = *pool;
  counting.x = pto_graph_lowering_temporary(l, PTO_FLOAT32, 4, input);
  counting.y = pto_graph_lowering_temporary(l, PTO_FLOAT32, 4, output);
  pto_graph_lowering_fill(l, pto_number_f64(1), &counting.x);
  pto_graph_lowering_allocate(l, &counting.y);
  reduce_windows(l, &counting);
  return counting.y;
}

/* Padding does not count: where a window reaches out the sum is divided by the number of elements inside. */
void pto_lower_average_pool2d(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_tensor result = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  struct pool pool = pool_of(l, node, &result);
  pool.reduce = &pto_general_reduce_mean;
  if (!reaches_out(&pool.slides.height, pool.x.shape[2], pool.y.shape[2]) &&
      !reaches_out(&pool.slides.width, pool.x.shape[3], pool.y.shape[3])) {
    run_pool(l, &pool, &result);
    return;
  }
  const struct pto_tensor y = pool.y, sums = pto_graph_lowering_temporary(l, PTO_FLOAT32, 4, y.shape);
  pool.reduce = &pto_general_reduce_sum;
  pool.y = sums;
  pto_graph_lowering_allocate(l, &sums);
  reduce_windows(l, &pool);
  const struct pto_tensor counts = count_inside(l, &pool), *quotient[] = {&sums, &counts};
  pto_graph_lowering_allocate(l, &result);
  pto_graph_lowering_elementwise(l, &pto_general_div, quotient, 2, &y, NULL, 0);
}

static void global_pool(struct pto_graph_lowering *l, const struct pto_graph_node *node,
                        const struct pto_kernel *kernel) {
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  pto_graph_lowering_allocate(l, &y);
  reduce_all(l, kernel, pto_graph_lowering_operand(l, node, 0), &y);
}

void pto_lower_global_average_pool(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  global_pool(l, node, &pto_general_reduce_mean);
}

void pto_lower_global_max_pool(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  global_pool(l, node, &pto_general_reduce_max);
}
