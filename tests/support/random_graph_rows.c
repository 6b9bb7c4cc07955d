/* SPDX-License-Identifier: MIT */
#include <tests/support/random_graph_maker.h>

/* Some axes, drawn; as a list in `room`, which may be empty, or not given. */
static struct pto_u32_list draw_axes(struct random_maker *m, uint32_t ndims, uint32_t *room) {
  struct pto_u32_list axes = {room, 0};
  if (random_below(m, 3) == 0) return (struct pto_u32_list){0};
  for (uint32_t d = 0; d < ndims; d++) {
    if (random_chance(m)) room[axes.count++] = d;
  }
  return axes;
}
static bool has_axis(struct pto_u32_list axes, uint32_t d) {
  for (uint32_t i = 0; i < axes.count; i++) {
    if (axes.values[i] == d) return true;
  }
  return !axes.values;
}
static struct pto_graph_desc reduced(const struct pto_graph_desc *desc, struct pto_u32_list axes, bool keeps,
                                     uint32_t dtype) {
  struct pto_graph_desc left = {.dtype = dtype};
  for (uint32_t d = 0; d < desc->ndims; d++) {
    if (!has_axis(axes, d))
      left.shape[left.ndims++] = desc->shape[d];
    else if (keeps)
      left.shape[left.ndims++] = 1;
  }
  return left;
}

void random_reduce(struct random_maker *m, uint32_t op) {
  const bool is_log = op == PTO_GRAPH_OP_reduce_log_sum,
             is_float_only = is_log || op == PTO_GRAPH_OP_reduce_l2 || op == PTO_GRAPH_OP_reduce_log_sum_exp ||
                             op == PTO_GRAPH_OP_reduce_mean,
             is_order = op == PTO_GRAPH_OP_reduce_max || op == PTO_GRAPH_OP_reduce_min,
             is_product = op == PTO_GRAPH_OP_reduce_product;
  uint32_t room[PTO_MAX_DIMS];
  struct random_operand x = random_pick(m,
                                        is_float_only ? FLOATS
                                        : is_order    ? ALL
                                                      : FLOATS | WIDE,
                                        is_product ? 1 : 0, 5, false);
  if (is_log) x = random_positive(m, x);
  struct pto_reduce_options options = {.axes = draw_axes(m, x.desc.ndims, room), .keep_dimensions = random_flag(m)};
  if (is_product) { /* of the factors of one dimension, four where graphs are small */
    room[0] = random_below(m, x.desc.ndims);
    options.axes = (struct pto_u32_list){room, 1};
  }
  const bool keeps = random_flag_is(options.keep_dimensions, false);
  random_call_one(m, op, &options, &x, 1, reduced(&x.desc, options.axes, keeps, x.desc.dtype), x.is_exact && is_order);
}

void random_arg(struct random_maker *m, uint32_t op) {
  const struct random_operand x = random_pick(m, ALL, 1, 5, true);
  const uint32_t axis = random_below(m, x.desc.ndims), is_long = random_chance(m);
  struct pto_arg_reduce_options options = {.axis = axis, .keep_dimensions = random_flag(m)};
  if (is_long) options.output_data_type = pto_number_i64(PTO_INT64);
  random_call_one(m, op, &options, &x, 1,
                  reduced(&x.desc, (struct pto_u32_list){&axis, 1}, random_flag_is(options.keep_dimensions, false),
                          is_long ? PTO_INT64 : PTO_INT32),
                  true);
}

void random_cumulative_sum(struct random_maker *m, uint32_t op) {
  const struct random_operand x = random_pick(m, FLOATS | WIDE, 1, 5, false);
  const struct pto_cumulative_sum_options options = {
      .axis = random_below(m, x.desc.ndims), .exclusive = random_flag(m), .reversed = random_flag(m)};
  random_call_one(m, op, &options, &x, 1, x.desc, false);
}

void random_softmax(struct random_maker *m, uint32_t op) {
  const struct random_operand x = random_pick(m, FLOATS, 1, 5, false);
  const struct pto_softmax_options options = {.axis = random_below(m, x.desc.ndims), .is_last = random_flag(m)};
  random_call_one(m, op, &options, &x, 1, x.desc, false);
}

void random_matmul(struct random_maker *m, uint32_t op) {
  struct random_operand x[2];
  x[0] = random_pick(m, FLOATS, 2, 5, false);
  const uint32_t dropped = random_below(m, x[0].desc.ndims - 1), ndims = x[0].desc.ndims;
  struct pto_graph_desc b = random_desc(x[0].desc.dtype, ndims - dropped, x[0].desc.shape + dropped);
  for (uint32_t d = 0; d + 2 < b.ndims; d++) {
    if (random_chance(m)) b.shape[d] = 1;
  }
  b.shape[b.ndims - 2] = x[0].desc.shape[ndims - 1];
  b.shape[b.ndims - 1] = random_extent(m, 4);
  x[1] = random_fresh(m, &b);
  struct pto_graph_desc y = x[0].desc;
  y.shape[ndims - 1] = b.shape[b.ndims - 1];
  random_call_one(m, op, NULL, x, 2, y, false);
}

void random_gemm(struct random_maker *m, uint32_t op) {
  struct random_operand x[3];
  const struct pto_gemm_options options = {.alpha = random_chance(m) ? pto_number_f64(0.5) : (struct pto_number){0},
                                           .beta = random_chance(m) ? pto_number_f64(-0.25) : (struct pto_number){0},
                                           .a_transpose = random_flag(m),
                                           .b_transpose = random_flag(m)};
  x[0] = random_pick(m, FLOATS, 2, 2, false);
  const bool a_turns = random_flag_is(options.a_transpose, false), b_turns = random_flag_is(options.b_transpose, false);
  const uint64_t rows = x[0].desc.shape[a_turns ? 1 : 0], inner = x[0].desc.shape[a_turns ? 0 : 1],
                 cols = random_extent(m, 4), b_shape[] = {b_turns ? cols : inner, b_turns ? inner : cols},
                 y_shape[] = {rows, cols}, c_shape[] = {random_chance(m) ? rows : 1, random_chance(m) ? cols : 1};
  const uint32_t dtype = x[0].desc.dtype, c_drops = random_below(m, 3);
  const struct pto_graph_desc b = random_desc(dtype, 2, b_shape),
                              c = random_desc(dtype, 2 - c_drops, c_shape + c_drops);
  x[1] = random_fresh(m, &b);
  x[2] = random_chance(m) ? random_fresh(m, &c) : random_absent();
  random_call_one(m, op, &options, x, 3, random_desc(dtype, 2, y_shape), false);
}

/* ---- normalisations ---- */

static struct random_operand vector_or_none(struct random_maker *m, uint32_t dtype, uint64_t size) {
  const struct pto_graph_desc desc = random_desc(dtype, 1, &size);
  return random_chance(m) ? random_fresh(m, &desc) : random_absent();
}

void random_batch_normalization(struct random_maker *m, uint32_t op) {
  struct random_operand x[5];
  x[0] = random_pick(m, FLOATS, 1, 5, false);
  const uint32_t axis = x[0].desc.ndims > 1 && random_chance(m) ? 1 : random_below(m, x[0].desc.ndims);
  struct pto_batch_normalization_options options = {.axis = pto_number_u64(axis)};
  if (axis == 1 && random_chance(m)) options.axis = (struct pto_number){0};
  const struct pto_graph_desc features = random_desc(x[0].desc.dtype, 1, &x[0].desc.shape[axis]);
  x[1] = random_fresh(m, &features);
  x[2] = random_positive(m, random_fresh(m, &features));
  x[3] = vector_or_none(m, features.dtype, features.shape[0]);
  x[4] = vector_or_none(m, features.dtype, features.shape[0]);
  random_call_one(m, op, &options, x, 5, x[0].desc, false);
}

/* An epsilon of 1/4: a variance near 0 would show the operand's errors many times. */
void random_instance_normalization(struct random_maker *m, uint32_t op) {
  struct random_operand x[3];
  x[0] = random_pick(m, FLOATS, 4, 4, false);
  const struct pto_instance_normalization_options options = {.epsilon = pto_number_f64(0.25),
                                                             .layout = random_below(m, 2)};
  const uint64_t channels = x[0].desc.shape[options.layout == PTO_LAYOUT_NCHW ? 1 : 3];
  x[1] = vector_or_none(m, x[0].desc.dtype, channels);
  x[2] = vector_or_none(m, x[0].desc.dtype, channels);
  random_call_one(m, op, &options, x, 3, x[0].desc, false);
}

void random_layer_normalization(struct random_maker *m, uint32_t op) {
  struct random_operand x[3];
  uint32_t room[PTO_MAX_DIMS];
  x[0] = random_pick(m, FLOATS, 1, 5, false);
  struct pto_layer_normalization_options options = {.axes = draw_axes(m, x[0].desc.ndims, room),
                                                    .epsilon = pto_number_f64(0.25)};
  struct pto_graph_desc layer = {.dtype = x[0].desc.dtype};
  for (uint32_t d = 0; d < x[0].desc.ndims; d++) {
    if (options.axes.values ? has_axis(options.axes, d) : d > 0) layer.shape[layer.ndims++] = x[0].desc.shape[d];
  }
  x[1] = random_chance(m) ? random_fresh(m, &layer) : random_absent();
  x[2] = random_chance(m) ? random_fresh(m, &layer) : random_absent();
  random_call_one(m, op, &options, x, 3, x[0].desc, false);
}

/* ---- gru, lstm ---- */

struct sizes {
  uint32_t dtype, steps, directions, direction, batch, input, hidden, gates;
};
static struct sizes draw_sizes(struct random_maker *m, uint32_t gates) {
  struct sizes s = {.dtype = random_dtype(m, FLOATS),
                    .steps = 1 + random_below(m, 3),
                    .direction = random_below(m, 3),
                    .batch = random_side(m, 2),
                    .input = random_side(m, 3),
                    .hidden = random_side(m, 3),
                    .gates = gates};
  s.directions = s.direction == PTO_DIRECTION_BOTH ? 2 : 1;
  return s;
}
static struct random_operand fresh3(struct random_maker *m, uint32_t dtype, uint64_t a, uint64_t b, uint64_t c) {
  const uint64_t shape[] = {a, b, c};
  const struct pto_graph_desc desc = random_desc(dtype, 3, shape);
  return random_fresh(m, &desc);
}
static struct random_operand fresh2(struct random_maker *m, uint32_t dtype, uint64_t a, uint64_t b) {
  const uint64_t shape[] = {a, b};
  const struct pto_graph_desc desc = random_desc(dtype, 2, shape);
  return random_fresh(m, &desc);
}
/* x, weight and recurrent weight, of a cell or of a sequence. */
static void draw_weights(struct random_maker *m, const struct sizes *s, bool is_cell, struct random_operand *x) {
  const uint32_t rows = s->gates * s->hidden;
  x[0] = is_cell ? fresh2(m, s->dtype, s->batch, s->input) : fresh3(m, s->dtype, s->steps, s->batch, s->input);
  x[1] = is_cell ? fresh2(m, s->dtype, rows, s->input) : fresh3(m, s->dtype, s->directions, rows, s->input);
  x[2] = is_cell ? fresh2(m, s->dtype, rows, s->hidden) : fresh3(m, s->dtype, s->directions, rows, s->hidden);
}
static struct random_operand bias_or_none(struct random_maker *m, const struct sizes *s, bool is_cell, uint32_t rows) {
  if (is_cell) return vector_or_none(m, s->dtype, (uint64_t)rows * s->hidden);
  return random_chance(m) ? fresh2(m, s->dtype, s->directions, (uint64_t)rows * s->hidden) : random_absent();
}
static struct random_operand state_or_none(struct random_maker *m, const struct sizes *s) {
  return random_chance(m) ? fresh3(m, s->dtype, s->directions, s->batch, s->hidden) : random_absent();
}
/* Not relu, which lets states grow. */
static struct pto_u32_list draw_activations(struct random_maker *m, uint32_t count, uint32_t *room) {
  for (uint32_t i = 0; i < count; i++) room[i] = random_chance(m) ? PTO_ACTIVATION_SIGMOID : PTO_ACTIVATION_TANH;
  return random_chance(m) ? (struct pto_u32_list){room, count} : (struct pto_u32_list){0};
}
/* `states` states, and the sequence of all steps where it is asked for. */
static struct random_results states_of(const struct sizes *s, uint32_t states, bool returns_sequence) {
  const uint64_t sequence[] = {s->steps, s->directions, s->batch, s->hidden};
  struct random_results results = {.count = states + (returns_sequence ? 1 : 0)};
  for (uint32_t r = 0; r < states; r++) results.descs[r] = random_desc(s->dtype, 3, sequence + 1);
  results.descs[states] = random_desc(s->dtype, 4, sequence);
  return results;
}

void random_gru(struct random_maker *m, uint32_t op) {
  struct random_operand x[6];
  uint32_t room[2];
  const struct sizes s = draw_sizes(m, 3);
  const struct pto_gru_options options = {.steps = s.steps,
                                          .hidden_size = s.hidden,
                                          .reset_after = random_flag(m),
                                          .return_sequence = random_flag(m),
                                          .direction = s.direction,
                                          .layout = random_below(m, 2),
                                          .activations = draw_activations(m, 2, room)};
  draw_weights(m, &s, false, x);
  x[3] = bias_or_none(m, &s, false, 3);
  x[4] = bias_or_none(m, &s, false, 3);
  x[5] = state_or_none(m, &s);
  const struct random_results results = states_of(&s, 1, random_flag_is(options.return_sequence, false));
  random_call(m, op, &options, x, 6, &results);
}

void random_gru_cell(struct random_maker *m, uint32_t op) {
  struct random_operand x[6];
  uint32_t room[2];
  const struct sizes s = draw_sizes(m, 3);
  const struct pto_gru_cell_options options = {.hidden_size = s.hidden,
                                               .reset_after = random_flag(m),
                                               .layout = random_below(m, 2),
                                               .activations = draw_activations(m, 2, room)};
  draw_weights(m, &s, true, x);
  x[3] = fresh2(m, s.dtype, s.batch, s.hidden);
  x[4] = bias_or_none(m, &s, true, 3);
  x[5] = bias_or_none(m, &s, true, 3);
  random_call_one(m, op, &options, x, 6, x[3].desc, false);
}

void random_lstm(struct random_maker *m, uint32_t op) {
  struct random_operand x[8];
  uint32_t room[3];
  const struct sizes s = draw_sizes(m, 4);
  const struct pto_lstm_options options = {.steps = s.steps,
                                           .hidden_size = s.hidden,
                                           .return_sequence = random_flag(m),
                                           .direction = s.direction,
                                           .layout = random_below(m, 2),
                                           .activations = draw_activations(m, 3, room)};
  draw_weights(m, &s, false, x);
  x[3] = bias_or_none(m, &s, false, 4);
  x[4] = bias_or_none(m, &s, false, 4);
  x[5] = bias_or_none(m, &s, false, 3);
  x[6] = state_or_none(m, &s);
  x[7] = state_or_none(m, &s);
  const struct random_results results = states_of(&s, 2, random_flag_is(options.return_sequence, false));
  random_call(m, op, &options, x, 8, &results);
}

void random_lstm_cell(struct random_maker *m, uint32_t op) {
  struct random_operand x[8];
  uint32_t room[3];
  const struct sizes s = draw_sizes(m, 4);
  const struct pto_lstm_cell_options options = {
      .hidden_size = s.hidden, .layout = random_below(m, 2), .activations = draw_activations(m, 3, room)};
  draw_weights(m, &s, true, x);
  x[3] = fresh2(m, s.dtype, s.batch, s.hidden);
  x[4] = fresh2(m, s.dtype, s.batch, s.hidden);
  x[5] = bias_or_none(m, &s, true, 4);
  x[6] = bias_or_none(m, &s, true, 4);
  x[7] = bias_or_none(m, &s, true, 3);
  const struct random_results results = {.descs = {x[3].desc, x[3].desc}, .count = 2};
  random_call(m, op, &options, x, 8, &results);
}
