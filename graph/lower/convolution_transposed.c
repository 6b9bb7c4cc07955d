/* SPDX-License-Identifier: MIT */
/*
 * convTranspose2d as ordinary convolutions, one for each phase of its strides.
 *
 *   y[o] = bias + Σ x[m] · filter[i] over all m · stride + i · dilation = o + pad
 *
 * Outputs o, o + stride … have the same taps i, every (stride / gcd)-th of them, and read x at distances of
 * dilation / gcd, gcd being that of stride and dilation: a convolution of stride 1 with the filters backwards, whose
 * results are every stride-th element of y.  So no product is with a zero that was put between elements of x.  Phases
 * are those of rows times those of columns; one without taps is the bias alone.  Each element of y is written once.
 */
#include <graph/lower/window.h>

#include <graph/build/op_options.h>
#include <kernels/api/list.h>

/* Outputs first, first + stride … of one dimension. */
struct phase {
  uint64_t taps;            /* 0: none is inside x */
  uint64_t first_tap, step; /* of the filters as they are given */
  uint64_t dilation, pad;   /* in x, of which rows before `begin` are read by none */
  uint64_t begin;
};

static uint64_t greatest_divisor(uint64_t a, uint64_t b) {
  while (b != 0) {
    const uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

static struct phase phase_of(const struct pto_slide *slide, uint64_t input, uint64_t first) {
  const uint64_t common = greatest_divisor(slide->stride, slide->dilation);
  const uint64_t residue = (first + slide->pad) % slide->stride, at = (first + slide->pad) / slide->stride;
  struct phase phase = {.step = slide->stride / common, .dilation = slide->dilation / common};
  const uint64_t most = pto_min_u64(phase.step, slide->window);
  uint64_t tap = 0; /* the first of the phase */
  while (tap < most && tap * slide->dilation % slide->stride != residue) tap++;
  if (tap == most) return phase;
  phase.taps = (slide->window - 1 - tap) / phase.step + 1;
  phase.first_tap = tap;
  const uint64_t reach = tap * slide->dilation / slide->stride + (phase.taps - 1) * phase.dilation;
  phase.pad = reach > at ? reach - at : 0;
  phase.begin = at > reach ? at - reach : 0;
  if (phase.begin >= input) phase.taps = 0;
  return phase;
}

/* y is the bias alone, or zero. */
static void fill_with_bias(struct pto_graph_lowering *l, const struct pto_convolution *conv) {
  const struct pto_tensor *y = &conv->y;
  pto_graph_lowering_tile(l);
  if (conv->has_bias) {
    const struct pto_tensor last = pto_tensor_broadcast(&conv->bias, 4, (const uint64_t[]){1, 1, 1, y->shape[1]});
    const struct pto_tensor bias = pto_lower_permuted(&last, 0, 3, 1, 2);
    pto_graph_lowering_convert(l, &bias, y);
  } else {
    pto_graph_lowering_fill(l, (struct pto_number){0}, y);
  }
  pto_graph_lowering_tiles_end(l);
}

static struct pto_tensor from_begin(const struct pto_tensor *t, uint32_t dim, uint64_t begin, uint64_t step) {
  return pto_tensor_slice(t, dim, begin, t->shape[dim], step);
}

/* What the convolution of a phase is of it in one dimension. */
static void take_phase(struct pto_convolution *conv, uint32_t dim, struct pto_slide *slide, const struct phase *phase) {
  conv->x = from_begin(&conv->x, dim, phase->begin, 1);
  conv->filter = pto_tensor_slice(&conv->filter, dim, phase->first_tap,
                                  phase->first_tap + (phase->taps - 1) * phase->step + 1, phase->step);
  *slide = (struct pto_slide){.pad = phase->pad, .stride = 1, .dilation = phase->dilation, .window = phase->taps};
}

/* Every phase of dimension `dim`, 2 and then 3: those of the height are rows of y, each cut into those of the width. */
static void convolve_phases(struct pto_graph_lowering *l, const struct pto_convolution *whole, uint32_t dim,
                            uint64_t groups) {
  const struct pto_slide *slide = dim == 2 ? &whole->slides.height : &whole->slides.width;
  for (uint64_t first = 0; first < pto_min_u64(slide->stride, whole->y.shape[dim]) && l->status == PTO_OK; first++) {
    const struct phase phase = phase_of(slide, whole->x.shape[dim], first);
    struct pto_convolution conv = *whole;
    conv.y = from_begin(&whole->y, dim, first, slide->stride);
    if (phase.taps > 0) take_phase(&conv, dim, dim == 2 ? &conv.slides.height : &conv.slides.width, &phase);
    if (phase.taps == 0)
      fill_with_bias(l, &conv);
    else if (dim == 2)
      convolve_phases(l, &conv, 3, groups);
    else
      pto_lower_convolve(l, &conv, groups);
  }
}

void pto_lower_conv_transpose2d(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_conv_transpose2d_options *options = node->options;
  const struct pto_tensor result = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  struct pto_convolution conv = pto_lower_convolution(l, node, &result, options->input_layout,
                                                      pto_conv_transpose2d_filter_places[options->filter_layout]);
  conv.is_turned = true;
  conv.slides =
      pto_slides_of(options->padding, options->strides, options->dilations, conv.filter.shape[2], conv.filter.shape[3]);
  pto_graph_lowering_allocate(l, &result);
  convolve_phases(l, &conv, 2, pto_option_u32(options->groups, 1));
}
