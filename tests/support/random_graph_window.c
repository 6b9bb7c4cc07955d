/* SPDX-License-Identifier: MIT */
#include <tests/support/random_graph_maker.h>

/* A window along one side of an image. */
struct side {
  uint32_t extent, window, begin, end, stride, dilation, output;
};

/* The image is at least as large as the window. */
static struct side draw_side(struct random_maker *m) {
  struct side s = {.window = 1 + random_below(m, 3),
                   .begin = random_below(m, 2),
                   .end = random_below(m, 2),
                   .stride = 1 + random_below(m, 2),
                   .dilation = 1 + random_below(m, 2)};
  if (m->form.extent > RANDOM_GRAPH_EXTENT) { /* more than windows have */
    s.begin += random_below(m, 4);
    s.end += random_below(m, 4);
  }
  const uint32_t reach = (s.window - 1) * s.dilation + 1;
  s.extent = reach + random_side(m, 3) - 1;
  s.output = (s.extent + s.begin + s.end - reach) / s.stride + 1;
  return s;
}

/* One or two, or where graphs are large, up to a dozen. */
static uint32_t channels_of(struct random_maker *m) {
  return 1 + random_below(m, m->form.extent > RANDOM_GRAPH_EXTENT ? 12 : 2);
}

/* [batch, channels, height, width] in the order of a layout. */
static struct pto_graph_desc image(uint32_t dtype, uint32_t layout, uint64_t batch, uint64_t channels, uint64_t height,
                                   uint64_t width) {
  const uint64_t nchw[] = {batch, channels, height, width}, nhwc[] = {batch, height, width, channels};
  return random_desc(dtype, 4, layout == PTO_LAYOUT_NCHW ? nchw : nhwc);
}

struct window_lists {
  uint32_t padding[4], strides[2], dilations[2];
};
static struct window_lists lists_of(const struct side *rows, const struct side *cols) {
  return (struct window_lists){
      {rows->begin, rows->end, cols->begin, cols->end}, {rows->stride, cols->stride}, {rows->dilation, cols->dilation}};
}

static struct random_operand bias_or_none(struct random_maker *m, uint32_t dtype, uint64_t channels) {
  const struct pto_graph_desc desc = random_desc(dtype, 1, &channels);
  return random_chance(m) ? random_fresh(m, &desc) : random_absent();
}

void random_conv2d(struct random_maker *m, uint32_t op) {
  const struct side rows = draw_side(m), cols = draw_side(m);
  const struct window_lists lists = lists_of(&rows, &cols);
  const uint32_t dtype = random_dtype(m, FLOATS), batch = 1 + random_below(m, 2), groups = 1 + random_below(m, 2),
                 in = channels_of(m), outs = groups * channels_of(m);
  const struct pto_conv2d_options options = {.padding = {lists.padding, 4},
                                             .strides = {lists.strides, 2},
                                             .dilations = {lists.dilations, 2},
                                             .groups = pto_number_u64(groups),
                                             .input_layout = random_below(m, 2),
                                             .filter_layout = random_below(m, 4)};
  const uint64_t h = rows.window, w = cols.window,
                 filters[4][4] = {{outs, in, h, w}, {h, w, in, outs}, {outs, h, w, in}, {in, h, w, outs}};
  const struct pto_graph_desc x_desc = image(dtype, options.input_layout, batch, (uint64_t)groups * in, rows.extent,
                                             cols.extent),
                              filter = random_desc(dtype, 4, filters[options.filter_layout]);
  struct random_operand x[3];
  x[0] = random_fresh(m, &x_desc);
  x[1] = random_fresh(m, &filter);
  x[2] = bias_or_none(m, dtype, outs);
  random_call_one(m, op, &options, x, 3, image(dtype, options.input_layout, batch, outs, rows.output, cols.output),
                  false);
}

/* The output of a transposed convolution: what a convolution would have come from. */
static uint64_t spread(const struct side *s, uint32_t more) {
  return (uint64_t)(s->extent - 1) * s->stride + (s->window - 1) * s->dilation + 1 + more - s->begin - s->end;
}
static bool is_possible(const struct side *s) {
  return (s->extent - 1) * s->stride + (s->window - 1) * s->dilation + 1 > s->begin + s->end;
}

void random_conv_transpose2d(struct random_maker *m, uint32_t op) {
  struct side rows, cols;
  do rows = draw_side(m);
  while (!is_possible(&rows));
  do cols = draw_side(m);
  while (!is_possible(&cols));
  const struct window_lists lists = lists_of(&rows, &cols);
  const uint32_t dtype = random_dtype(m, FLOATS), groups = 1 + random_below(m, 2), ins = groups * channels_of(m),
                 out = channels_of(m), more[] = {random_below(m, rows.stride), random_below(m, cols.stride)},
                 sizes[] = {(uint32_t)spread(&rows, more[0]), (uint32_t)spread(&cols, more[1])};
  struct pto_conv_transpose2d_options options = {.padding = {lists.padding, 4},
                                                 .strides = {lists.strides, 2},
                                                 .dilations = {lists.dilations, 2},
                                                 .groups = pto_number_u64(groups),
                                                 .input_layout = random_below(m, 2),
                                                 .filter_layout = random_below(m, 3)};
  if (random_chance(m))
    options.output_sizes = (struct pto_u32_list){sizes, 2};
  else
    options.output_padding = (struct pto_u32_list){more, 2};
  const uint64_t h = rows.window, w = cols.window,
                 filters[3][4] = {{ins, out, h, w}, {h, w, out, ins}, {out, h, w, ins}};
  const struct pto_graph_desc x_desc = image(dtype, options.input_layout, 1, ins, rows.extent, cols.extent),
                              filter = random_desc(dtype, 4, filters[options.filter_layout]);
  struct random_operand x[3];
  x[0] = random_fresh(m, &x_desc);
  x[1] = random_fresh(m, &filter);
  x[2] = bias_or_none(m, dtype, (uint64_t)groups * out);
  random_call_one(m, op, &options, x, 3,
                  image(dtype, options.input_layout, 1, (uint64_t)groups * out, sizes[0], sizes[1]), false);
}

/* Rounded up without end padding, the last window may be cut, but is not empty: strides are no more than windows. */
static uint32_t rounded_up(const struct side *s) {
  const uint32_t rest = s->extent + s->begin - ((s->window - 1) * s->dilation + 1);
  return (rest + s->stride - 1) / s->stride + 1;
}

void random_pool(struct random_maker *m, uint32_t op) {
  struct side sides[2];
  for (uint32_t i = 0; i < 2; i++) {
    sides[i] = draw_side(m);
    sides[i].window++; /* more than the padding, so that no window is empty */
    sides[i].dilation = 1;
    sides[i].begin = sides[i].begin % 2;
    sides[i].end = 0;
    sides[i].extent += 2;
    sides[i].output = (sides[i].extent + sides[i].begin - sides[i].window) / sides[i].stride + 1;
  }
  const struct window_lists lists = lists_of(&sides[0], &sides[1]);
  const uint32_t window[] = {sides[0].window, sides[1].window},
                 dtype = random_dtype(m, op == PTO_GRAPH_OP_max_pool2d ? ALL : FLOATS);
  const struct pto_pool2d_options options = {.window_dimensions = {window, 2},
                                             .padding = {lists.padding, 4},
                                             .strides = {lists.strides, 2},
                                             .layout = random_below(m, 2),
                                             .output_shape_rounding = random_below(m, 2)};
  const bool is_up = options.output_shape_rounding == PTO_ROUNDING_CEIL;
  const uint32_t channels = channels_of(m), height = is_up ? rounded_up(&sides[0]) : sides[0].output,
                 width = is_up ? rounded_up(&sides[1]) : sides[1].output;
  const struct pto_graph_desc desc = image(dtype, options.layout, 1, channels, sides[0].extent, sides[1].extent);
  const struct random_operand x = random_fresh(m, &desc);
  random_call_one(m, op, &options, &x, 1, image(dtype, options.layout, 1, channels, height, width),
                  op == PTO_GRAPH_OP_max_pool2d);
}

void random_global_pool(struct random_maker *m, uint32_t op) {
  const struct random_operand x = random_pick(m, op == PTO_GRAPH_OP_global_max_pool ? ALL : FLOATS, 4, 4, false);
  random_call_one(m, op, NULL, &x, 1, image(x.desc.dtype, PTO_LAYOUT_NCHW, x.desc.shape[0], x.desc.shape[1], 1, 1),
                  false);
}

/* Floats, and integers where nothing is interpolated. */
void random_resample2d(struct random_maker *m, uint32_t op) {
  struct pto_resample2d_options options = {.mode = random_below(m, 2)};
  const bool is_linear = options.mode == PTO_INTERPOLATION_LINEAR;
  const struct random_operand x =
      random_pick(m, is_linear ? FLOATS : FLOATS | BYTE | PTO_DTYPE_BIT(PTO_INT8), 4, 4, false);
  const uint32_t first = random_chance(m) ? 2 : 1, axes[] = {first, first + 1};
  uint32_t sizes[2];
  struct pto_graph_desc to = x.desc;
  for (uint32_t i = 0; i < 2; i++) to.shape[axes[i]] = sizes[i] = 1 + random_below(m, 6);
  options.sizes = (struct pto_u32_list){sizes, 2};
  if (first != 2 || random_chance(m)) options.axes = (struct pto_u32_list){axes, 2};
  random_call_one(m, op, &options, &x, 1, to, x.is_exact && !is_linear);
}
