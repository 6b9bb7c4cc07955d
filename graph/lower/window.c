/* SPDX-License-Identifier: MIT */
#include <graph/lower/window.h>

#include <graph/build/op_options.h>
#include <kernels/api/list.h>

struct pto_slides pto_slides_of(struct pto_u32_list padding, struct pto_u32_list strides, struct pto_u32_list dilations,
                                uint64_t window_height, uint64_t window_width) {
  return (struct pto_slides){.height = {.pad = pto_option_at(padding, 0, 0),
                                        .stride = pto_option_at(strides, 0, 1),
                                        .dilation = pto_option_at(dilations, 0, 1),
                                        .window = window_height},
                             .width = {.pad = pto_option_at(padding, 2, 0),
                                       .stride = pto_option_at(strides, 1, 1),
                                       .dilation = pto_option_at(dilations, 1, 1),
                                       .window = window_width}};
}

struct pto_tensor pto_lower_as_nchw(const struct pto_tensor *t, uint32_t layout) {
  static const uint32_t from_nhwc[] = {0, 3, 1, 2};
  return layout == PTO_LAYOUT_NHWC ? pto_tensor_permute(t, from_nhwc) : *t;
}

struct pto_row_tiles pto_row_tiles_make(const struct pto_tensor *y, uint64_t row_work) {
  const uint64_t height = y->shape[2], samples = y->shape[0];
  const uint64_t fewest =
      (samples * height + PTO_TILE_MOST - 1) / PTO_TILE_MOST; /* rows, for no more tiles than that */
  uint64_t rows = PTO_ROW_TILE_WORK / (row_work > 0 ? row_work : 1);
  if (rows < fewest) rows = fewest;
  rows = pto_min_u64(rows > 0 ? rows : 1, height);
  const uint64_t tiles = (height + rows - 1) / rows;
  return (struct pto_row_tiles){.rows = rows, .tiles_a_sample = tiles, .count = tiles * samples};
}

struct pto_row_tile pto_row_tiles_at(const struct pto_row_tiles *tiles, const struct pto_tensor *y, uint64_t index) {
  const uint64_t first = index % tiles->tiles_a_sample * tiles->rows;
  return (struct pto_row_tile){
      .n = index / tiles->tiles_a_sample, .first = first, .count = pto_min_u64(tiles->rows, y->shape[2] - first)};
}

struct pto_tensor pto_row_tile_of(const struct pto_row_tile *tile, const struct pto_tensor *y) {
  const uint64_t offsets[] = {tile->n, 0, tile->first, 0}, shape[] = {1, y->shape[1], tile->count, y->shape[3]};
  return pto_tensor_view(y, offsets, shape);
}

/* The rows of x that the tile reads, and how far above the first of them its windows begin.  Of windows that all lie
 * below x that is so far that they lie above it: kernels count no other way. */
static struct pto_tensor rows_read(const struct pto_tensor *x, const struct pto_slide *height,
                                   const struct pto_row_tile *tile, uint64_t *pad) {
  const uint64_t at = tile->first * height->stride; /* in rows above which `pad` rows were put */
  const uint64_t extent = (tile->count - 1) * height->stride + (height->window - 1) * height->dilation + 1;
  const bool is_below = at >= height->pad + x->shape[2];
  const uint64_t begin = at > height->pad && !is_below ? at - height->pad : 0, reach = at + extent;
  const uint64_t end = pto_min_u64(reach > height->pad + begin ? reach - height->pad : begin + 1, x->shape[2]);
  *pad = is_below ? extent : height->pad > at ? height->pad - at : 0;
  const struct pto_tensor sample = pto_tensor_slice(x, 0, tile->n, tile->n + 1, 1);
  return pto_tensor_slice(&sample, 2, begin, end, 1);
}

/* The scalars of a kernel with windows; `pad` is what is left of it for the tile. */
static void set_scalars(struct pto_param *params, const struct pto_slides *slides, uint64_t pad) {
  params[0] = pto_scalar_u64(pad);
  params[1] = pto_scalar_u64(slides->width.pad);
  params[2] = pto_scalar_u64(slides->height.stride);
  params[3] = pto_scalar_u64(slides->width.stride);
  params[4] = pto_scalar_u64(slides->height.dilation);
  params[5] = pto_scalar_u64(slides->width.dilation);
}

void pto_lower_unfold(struct pto_graph_lowering *l, const struct pto_tensor *x, const struct pto_slides *slides,
                      const struct pto_row_tile *tile, const struct pto_tensor *value, const struct pto_tensor *to) {
  uint64_t pad;
  const struct pto_tensor rows = rows_read(x, &slides->height, tile, &pad);
  struct pto_param params[9] = {pto_input(&rows), pto_input(value), pto_output(to)};
  set_scalars(params + 3, slides, pad);
  pto_graph_lowering_submit(l, &pto_general_unfold, params, 9);
}

void pto_lower_depthwise(struct pto_graph_lowering *l, const struct pto_tensor *x, const struct pto_tensor *filter,
                         const struct pto_tensor *bias, const struct pto_tensor *y, const struct pto_slides *slides,
                         const struct pto_row_tile *tile, const struct pto_bounds *bounds) {
  uint64_t pad;
  const struct pto_tensor rows = rows_read(x, &slides->height, tile, &pad), written = pto_row_tile_of(tile, y);
  struct pto_param params[12] = {pto_input(&rows), pto_input(filter), pto_input(bias), pto_output(&written)};
  set_scalars(params + 4, slides, pad);
  params[10] = pto_scalar_f32(bounds->least);
  params[11] = pto_scalar_f32(bounds->most);
  pto_graph_lowering_submit(l, &pto_general_depthwise, params, 12);
}
