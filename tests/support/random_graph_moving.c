/* SPDX-License-Identifier: MIT */
#include <tests/support/random_graph_maker.h>

/* A call with one operand whose elements arrive as they were. */
static void move(struct random_maker *m, uint32_t op, const void *options, const struct random_operand *x,
                 struct pto_graph_desc desc) {
  const struct random_results results = {.descs = {desc}, .count = 1, .is_exact = x->is_exact, .is_tame = true};
  random_call(m, op, options, x, 1, &results);
}

static void list_of(const struct pto_graph_desc *desc, uint32_t *room) {
  for (uint32_t d = 0; d < desc->ndims; d++) room[d] = (uint32_t)desc->shape[d];
}

void random_expand(struct random_maker *m, uint32_t op) {
  const struct random_operand x = random_pick(m, ALL, 0, 4, false);
  struct pto_graph_desc to = x.desc;
  uint32_t room[PTO_MAX_DIMS];
  for (uint32_t d = 0; d < to.ndims; d++) {
    if (to.shape[d] == 1) to.shape[d] = 1 + random_below(m, 3);
  }
  if (random_chance(m)) { /* one dimension more in front */
    for (uint32_t d = to.ndims++; d > 0; d--) to.shape[d] = to.shape[d - 1];
    to.shape[0] = 1 + random_below(m, 2);
  }
  list_of(&to, room);
  const struct pto_new_shape_options options = {.new_shape = {room, to.ndims}};
  move(m, op, &options, &x, to);
}

/* Two dimensions that are neighbours become one, or one of extent 1 comes in. */
void random_reshape(struct random_maker *m, uint32_t op) {
  const struct random_operand x = random_pick(m, ALL, 1, 5, false);
  struct pto_graph_desc to = {.dtype = x.desc.dtype};
  uint32_t room[PTO_MAX_DIMS];
  const uint32_t where = random_below(m, x.desc.ndims);
  for (uint32_t d = 0; d < x.desc.ndims; d++) {
    if (d == where && d > 0)
      to.shape[to.ndims - 1] *= x.desc.shape[d];
    else
      to.shape[to.ndims++] = x.desc.shape[d];
  }
  if (where == 0) to.shape[to.ndims++] = 1;
  list_of(&to, room);
  const struct pto_new_shape_options options = {.new_shape = {room, to.ndims}};
  move(m, op, &options, &x, to);
}

void random_squeeze(struct random_maker *m, uint32_t op) {
  struct pto_graph_desc from = random_shape(m, random_dtype(m, ALL), 1, 5), to = {.dtype = from.dtype};
  uint32_t room[PTO_MAX_DIMS], count = 0;
  const bool is_given = random_chance(m);
  from.shape[random_below(m, from.ndims)] = 1;
  for (uint32_t d = 0; d < from.ndims; d++) {
    if (from.shape[d] == 1 && (!is_given || random_chance(m)))
      room[count++] = d;
    else
      to.shape[to.ndims++] = from.shape[d];
  }
  const struct random_operand x = random_fresh(m, &from);
  const struct pto_axes_options options = {.axes = {is_given ? room : NULL, is_given ? count : 0}};
  move(m, op, &options, &x, to);
}

void random_unsqueeze(struct random_maker *m, uint32_t op) {
  const struct random_operand x = random_pick(m, ALL, 0, 4, false);
  struct pto_graph_desc to = {.dtype = x.desc.dtype};
  const uint32_t axis = random_below(m, x.desc.ndims + 1);
  for (uint32_t d = 0; d < x.desc.ndims; d++) {
    if (d == axis) to.shape[to.ndims++] = 1;
    to.shape[to.ndims++] = x.desc.shape[d];
  }
  if (axis == x.desc.ndims) to.shape[to.ndims++] = 1;
  const struct pto_axes_options options = {.axes = {&axis, 1}};
  move(m, op, &options, &x, to);
}

void random_transpose(struct random_maker *m, uint32_t op) {
  const struct random_operand x = random_pick(m, ALL, 0, 5, false);
  const uint32_t ndims = x.desc.ndims;
  uint32_t order[PTO_MAX_DIMS];
  const bool is_given = random_chance(m) && ndims > 0;
  for (uint32_t d = 0; d < ndims; d++) order[d] = is_given ? d : ndims - 1 - d;
  for (uint32_t d = ndims; is_given && d > 1; d--) {
    const uint32_t other = random_below(m, d), kept = order[d - 1];
    order[d - 1] = order[other];
    order[other] = kept;
  }
  struct pto_graph_desc to = x.desc;
  for (uint32_t d = 0; d < ndims; d++) to.shape[d] = x.desc.shape[order[d]];
  const struct pto_transpose_options options = {.permutation = {is_given ? order : NULL, is_given ? ndims : 0}};
  move(m, op, &options, &x, to);
}

void random_reverse(struct random_maker *m, uint32_t op) {
  const struct random_operand x = random_pick(m, ALL, 0, 5, false);
  uint32_t room[PTO_MAX_DIMS], count = 0;
  for (uint32_t d = 0; d < x.desc.ndims; d++) {
    if (random_chance(m)) room[count++] = d;
  }
  const struct pto_axes_options given = {.axes = {room, count}};
  move(m, op, random_chance(m) ? &given : NULL, &x, x.desc);
}

void random_slice(struct random_maker *m, uint32_t op) {
  const struct random_operand x = random_pick(m, ALL, 0, 5, false);
  uint32_t starts[PTO_MAX_DIMS], sizes[PTO_MAX_DIMS], strides[PTO_MAX_DIMS];
  struct pto_graph_desc to = x.desc;
  const bool has_strides = random_chance(m);
  for (uint32_t d = 0; d < x.desc.ndims; d++) {
    starts[d] = random_below(m, (uint32_t)x.desc.shape[d]);
    sizes[d] = 1 + random_below(m, (uint32_t)x.desc.shape[d] - starts[d]);
    strides[d] = 1 + random_below(m, 3);
    to.shape[d] = has_strides ? (sizes[d] + strides[d] - 1) / strides[d] : sizes[d];
  }
  struct pto_slice_options options = {.starts = {starts, x.desc.ndims}, .sizes = {sizes, x.desc.ndims}};
  if (has_strides) options.strides = (struct pto_u32_list){strides, x.desc.ndims};
  move(m, op, &options, &x, to);
}

void random_pad(struct random_maker *m, uint32_t op) {
  const struct random_operand x = random_pick(m, ALL, 1, 4, false);
  uint32_t begin[PTO_MAX_DIMS], end[PTO_MAX_DIMS];
  struct pto_pad_options options = {.mode = random_below(m, 4)};
  struct pto_graph_desc to = x.desc;
  for (uint32_t d = 0; d < x.desc.ndims; d++) {
    const uint32_t extent = (uint32_t)x.desc.shape[d], room = options.mode == PTO_PADDING_REFLECTION  ? extent
                                                              : options.mode == PTO_PADDING_SYMMETRIC ? extent + 1
                                                                                                      : 3;
    begin[d] = random_below(m, room > 3 ? 3 : room);
    end[d] = random_below(m, room > 3 ? 3 : room);
    to.shape[d] += begin[d] + end[d];
  }
  if (pto_graph_desc_numel(&to) > 4 * m->form.numel) return;
  options.beginning_padding = (struct pto_u32_list){begin, x.desc.ndims};
  options.ending_padding = (struct pto_u32_list){end, x.desc.ndims};
  if (random_chance(m)) options.value = pto_number_f64(1.25);
  move(m, op, &options, &x, to);
}

void random_tile(struct random_maker *m, uint32_t op) {
  const struct random_operand x = random_pick(m, ALL, 0, 3, false);
  uint32_t repetitions[PTO_MAX_DIMS];
  struct pto_graph_desc to = x.desc;
  for (uint32_t d = 0; d < x.desc.ndims; d++) {
    repetitions[d] = 1 + random_below(m, 2);
    to.shape[d] *= repetitions[d];
  }
  const struct pto_tile_options options = {.repetitions = {repetitions, x.desc.ndims}};
  move(m, op, &options, &x, to);
}

void random_triangular(struct random_maker *m, uint32_t op) {
  const struct random_operand x = random_pick(m, ALL, 2, 5, false);
  struct pto_triangular_options options = {.upper = random_flag(m)};
  if (random_chance(m)) options.diagonal = pto_number_i64((int64_t)random_below(m, 7) - 3);
  move(m, op, &options, &x, x.desc);
}

/* ---- parts ---- */

void random_concat(struct random_maker *m, uint32_t op) {
  struct random_operand x[3];
  x[0] = random_pick(m, ALL, 1, 4, false);
  const uint32_t count = 1 + random_below(m, 3);
  const struct pto_concat_options options = {.axis = random_below(m, x[0].desc.ndims)};
  struct pto_graph_desc to = x[0].desc;
  bool is_exact = x[0].is_exact;
  for (uint32_t i = 1; i < count; i++) {
    struct pto_graph_desc desc = x[0].desc;
    desc.shape[options.axis] = 1 + random_below(m, 3);
    x[i] = random_chance(m) ? random_fresh(m, &desc) : x[0];
    to.shape[options.axis] += x[i].desc.shape[options.axis];
    is_exact = is_exact && x[i].is_exact;
  }
  const struct random_results results = {.descs = {to}, .count = 1, .is_exact = is_exact, .is_tame = true};
  random_call(m, op, &options, x, count, &results);
}

void random_split(struct random_maker *m, uint32_t op) {
  const struct random_operand x = random_pick(m, ALL, 1, 5, false);
  const uint32_t axis = random_below(m, x.desc.ndims), extent = (uint32_t)x.desc.shape[axis];
  uint32_t room[8], left = extent;
  struct pto_split_options options = {.splits = {room, 0}, .axis = pto_number_u64(axis)};
  struct random_results results = {.is_exact = x.is_exact, .is_tame = true};
  if (extent <= 8 && random_chance(m)) { /* as many parts as it has indices */
    room[options.splits.count++] = extent;
    results.count = extent;
  } else {
    options.has_sizes = PTO_FLAG_YES;
    while (left > 0) {
      const uint32_t size = options.splits.count == 7 ? left : 1 + random_below(m, left);
      room[options.splits.count++] = size;
      left -= size;
    }
    results.count = options.splits.count;
  }
  for (uint32_t r = 0; r < results.count; r++) {
    results.descs[r] = x.desc;
    results.descs[r].shape[axis] = options.has_sizes ? room[r] : 1;
  }
  random_call(m, op, &options, &x, 1, &results);
}

/* ---- gathers and scatters ---- */

/* From −n − 1 to n: beyond what is valid by one on both sides; of uint32 only what is not negative. */
static struct random_operand draw_indices(struct random_maker *m, struct pto_graph_desc desc, uint64_t extent) {
  const uint32_t dtypes[] = {PTO_INT32, PTO_INT64, PTO_UINT32};
  const int64_t n = (int64_t)extent;
  desc.dtype = dtypes[random_below(m, 3)];
  return random_fresh_whole(m, &desc, desc.dtype == PTO_UINT32 ? 0 : -n - 1, n);
}

static void index_call(struct random_maker *m, uint32_t op, const void *options, const struct random_operand *x,
                       uint32_t count, struct pto_graph_desc desc) {
  const struct random_results results = {
      .descs = {desc}, .count = 1, .is_exact = x[0].is_exact && (count < 3 || x[2].is_exact), .is_tame = true};
  random_call(m, op, options, x, count, &results);
}

/* The axis 0 is sometimes not given. */
static struct pto_axis_options draw_axis(struct random_maker *m, uint32_t ndims) {
  const uint32_t axis = random_below(m, ndims);
  return (struct pto_axis_options){.axis =
                                       axis == 0 && random_chance(m) ? (struct pto_number){0} : pto_number_u64(axis)};
}
static uint32_t axis_of(const struct pto_axis_options *options) {
  return options->axis.kind == PTO_NUMBER_ABSENT ? 0 : (uint32_t)options->axis.value.u64;
}

void random_gather(struct random_maker *m, uint32_t op) {
  struct random_operand x[2];
  x[0] = random_pick(m, ALL, 1, 3, false);
  const struct pto_axis_options options = draw_axis(m, x[0].desc.ndims);
  const uint32_t axis = axis_of(&options);
  struct pto_graph_desc indices = {.ndims = random_below(m, 3)}, to = {.dtype = x[0].desc.dtype};
  for (uint32_t d = 0; d < indices.ndims; d++) indices.shape[d] = 1 + random_below(m, 3);
  x[1] = draw_indices(m, indices, x[0].desc.shape[axis]);
  for (uint32_t d = 0; d < x[0].desc.ndims; d++) {
    for (uint32_t k = 0; d == axis && k < indices.ndims; k++) to.shape[to.ndims++] = indices.shape[k];
    if (d != axis) to.shape[to.ndims++] = x[0].desc.shape[d];
  }
  index_call(m, op, &options, x, 2, to);
}

void random_gather_elements(struct random_maker *m, uint32_t op) {
  struct random_operand x[2];
  x[0] = random_pick(m, ALL, 1, 5, false);
  const struct pto_axis_options options = draw_axis(m, x[0].desc.ndims);
  struct pto_graph_desc indices = x[0].desc;
  indices.shape[axis_of(&options)] = random_extent(m, 4);
  x[1] = draw_indices(m, indices, x[0].desc.shape[axis_of(&options)]);
  index_call(m, op, &options, x, 2, random_as(&indices, x[0].desc.dtype));
}

void random_scatter_elements(struct random_maker *m, uint32_t op) {
  struct random_operand x[3];
  x[0] = random_pick(m, ALL, 1, 5, false);
  const struct pto_axis_options options = draw_axis(m, x[0].desc.ndims);
  struct pto_graph_desc updates = x[0].desc;
  updates.shape[axis_of(&options)] = random_extent(m, 3);
  x[1] = draw_indices(m, updates, x[0].desc.shape[axis_of(&options)]);
  x[2] = random_fresh(m, &updates);
  index_call(m, op, &options, x, 3, x[0].desc);
}

/* Indices [a few …, coordinates], and the shape of what they choose: their own without the last, and the dimensions
 * that no coordinate chooses. */
static struct random_operand draw_tuples(struct random_maker *m, const struct pto_graph_desc *desc,
                                         struct pto_graph_desc *chosen) {
  const uint32_t coordinates = 1 + random_below(m, desc->ndims), positions = random_below(m, 3);
  struct pto_graph_desc indices = {.ndims = positions + 1};
  uint64_t smallest = UINT64_MAX;
  *chosen = (struct pto_graph_desc){.dtype = desc->dtype};
  for (uint32_t d = 0; d < positions; d++) indices.shape[d] = chosen->shape[chosen->ndims++] = 1 + random_below(m, 3);
  indices.shape[positions] = coordinates;
  for (uint32_t d = 0; d < desc->ndims; d++) {
    if (d < coordinates)
      smallest = pto_min_u64(smallest, desc->shape[d]);
    else
      chosen->shape[chosen->ndims++] = desc->shape[d];
  }
  return draw_indices(m, indices, smallest);
}

void random_gather_nd(struct random_maker *m, uint32_t op) {
  struct random_operand x[2];
  struct pto_graph_desc chosen;
  x[0] = random_pick(m, ALL, 1, 4, false);
  x[1] = draw_tuples(m, &x[0].desc, &chosen);
  index_call(m, op, NULL, x, 2, chosen);
}

void random_scatter_nd(struct random_maker *m, uint32_t op) {
  struct random_operand x[3];
  struct pto_graph_desc chosen;
  x[0] = random_pick(m, ALL, 1, 4, false);
  x[1] = draw_tuples(m, &x[0].desc, &chosen);
  x[2] = random_fresh(m, &chosen);
  index_call(m, op, NULL, x, 3, x[0].desc);
}
