/* SPDX-License-Identifier: MIT */
/*
 * Reference: gru, lstm and their cells.
 *
 * A step is computed for one row of the batch; states stay doubles from step to step and are rounded in the results.
 * Backward means that the steps are taken from the last to the first; results of a step stand at its place in the
 * sequence in both directions.  A run owns its states; any thread.
 */
#include <graph/reference/support.h>

/* ---- gates ---- */

/* Weights of one direction: `gates` blocks of hidden_size rows each.  bias and recurrent_bias may be NULL. */
struct gates {
  const double *weight, *recurrent_weight, *bias, *recurrent_bias, *peephole_weight;
  uint64_t input_size, hidden_size;
};

/* A parameter's elements of one direction, `size` of them. */
static const double *part_of(const struct pto_reference_tensor *t, uint64_t direction, uint64_t size) {
  return t ? t->values + direction * size : NULL;
}

/* input, weight, recurrentWeight, and the two biases at parameter `bias` and the next. */
static struct gates gates_of(const struct pto_reference_tensor *const *operands, uint32_t bias, uint64_t gate_count,
                             uint64_t hidden_size, uint64_t direction) {
  const struct pto_graph_desc *input = &operands[0]->desc;
  const uint64_t input_size = input->shape[input->ndims - 1], rows = gate_count * hidden_size;
  return (struct gates){.weight = part_of(operands[1], direction, rows * input_size),
                        .recurrent_weight = part_of(operands[2], direction, rows * hidden_size),
                        .bias = part_of(operands[bias], direction, rows),
                        .recurrent_bias = part_of(operands[bias + 1], direction, rows),
                        .input_size = input_size,
                        .hidden_size = hidden_size};
}

static double dot(const double *a, const double *b, uint64_t size) {
  double total = 0;
  for (uint64_t k = 0; k < size; k++) total += a[k] * b[k];
  return total;
}

/* Row `unit` of a gate times the input, plus its bias; and of the recurrent weights times the hidden state. */
static double from_input(const struct gates *gates, uint64_t gate, uint64_t unit, const double *x) {
  const uint64_t row = gate * gates->hidden_size + unit;
  return dot(gates->weight + row * gates->input_size, x, gates->input_size) + (gates->bias ? gates->bias[row] : 0);
}
static double from_hidden(const struct gates *gates, uint64_t gate, uint64_t unit, const double *h) {
  const uint64_t row = gate * gates->hidden_size + unit;
  return dot(gates->recurrent_weight + row * gates->hidden_size, h, gates->hidden_size) +
         (gates->recurrent_bias ? gates->recurrent_bias[row] : 0);
}

static double activated(uint32_t activation, double x) {
  switch (activation) {
  case PTO_ACTIVATION_RELU:
    return x < 0 ? 0 : x;
  case PTO_ACTIVATION_SIGMOID:
    return 1 / (1 + exp(-x));
  default:
    return tanh(x);
  }
}

/* ---- gru ---- */

struct gru {
  bool is_reset_after;
  uint32_t layout; /* enum pto_graph_gru_layout */
  struct pto_u32_list activations;
};

/* h becomes z · h + (1 − z) · n; `room` has 2 · hidden_size doubles. */
static void gru_step(const struct gru *gru, const struct gates *gates, const double *x, double *h, double *room) {
  const uint64_t update = gru->layout == PTO_GRU_ZRN ? 0 : 1, reset = 1 - update, fresh = 2;
  const uint32_t gate_activation = pto_option_at(gru->activations, 0, PTO_ACTIVATION_SIGMOID),
                 new_activation = pto_option_at(gru->activations, 1, PTO_ACTIVATION_TANH);
  double *next = room, *reset_h = room + gates->hidden_size;
  for (uint64_t u = 0; u < gates->hidden_size; u++) {
    const double r = activated(gate_activation, from_input(gates, reset, u, x) + from_hidden(gates, reset, u, h));
    next[u] = r;
    reset_h[u] = r * h[u];
  }
  for (uint64_t u = 0; u < gates->hidden_size; u++) {
    const double z = activated(gate_activation, from_input(gates, update, u, x) + from_hidden(gates, update, u, h)),
                 hidden = gru->is_reset_after ? next[u] * from_hidden(gates, fresh, u, h)
                                              : from_hidden(gates, fresh, u, reset_h),
                 n = activated(new_activation, from_input(gates, fresh, u, x) + hidden);
    next[u] = z * h[u] + (1 - z) * n;
  }
  memcpy(h, next, gates->hidden_size * sizeof *h);
}

/* input, weight, recurrentWeight, hiddenState, bias, recurrentBias. */
PTO_REFERENCE_OPERATION(gru_cell) {
  const struct pto_gru_cell_options *options = node->options;
  const struct gru gru = {pto_option_flag(options->reset_after, true), options->layout, options->activations};
  const struct gates gates = gates_of(operands, 4, 3, options->hidden_size, 0);
  double *room = calloc(2 * gates.hidden_size, sizeof *room);
  if (!room) return PTO_ENOMEM;
  for (uint64_t b = 0; b < results->desc.shape[0]; b++) {
    double *h = results->values + b * gates.hidden_size;
    memcpy(h, operands[3]->values + b * gates.hidden_size, gates.hidden_size * sizeof *h);
    gru_step(&gru, &gates, operands[0]->values + b * gates.input_size, h, room);
  }
  free(room);
  return PTO_OK;
}

/* Of step number `taken` in direction `d` of `direction`: which step of the sequence it is. */
static uint64_t step_at(uint32_t direction, uint64_t d, uint64_t taken, uint64_t steps) {
  return direction == PTO_DIRECTION_BACKWARD || d == 1 ? steps - 1 - taken : taken;
}

/* Keeps the hidden state of a step: sequence is [steps, directions, batch, hidden]. */
static void keep(struct pto_reference_tensor *sequence, uint64_t step, uint64_t direction, uint64_t row,
                 const double *h) {
  const uint64_t *shape = sequence->desc.shape;
  memcpy(sequence->values + ((step * shape[1] + direction) * shape[2] + row) * shape[3], h, shape[3] * sizeof *h);
}

/* input, weight, recurrentWeight, bias, recurrentBias, initialHiddenState. */
PTO_REFERENCE_OPERATION(gru) {
  const struct pto_gru_options *options = node->options;
  const struct gru gru = {pto_option_flag(options->reset_after, true), options->layout, options->activations};
  const uint64_t batch = results->desc.shape[1], hidden = options->hidden_size;
  double *room = calloc(2 * hidden, sizeof *room);
  if (!room) return PTO_ENOMEM;
  for (uint64_t line = 0; line < results->desc.shape[0] * batch; line++) {
    const uint64_t direction = line / batch, row = line % batch;
    const struct gates gates = gates_of(operands, 3, 3, hidden, direction);
    double *h = results->values + line * hidden;
    if (operands[5]) memcpy(h, operands[5]->values + line * hidden, hidden * sizeof *h);
    for (uint64_t taken = 0; taken < options->steps; taken++) {
      const uint64_t step = step_at(options->direction, direction, taken, options->steps);
      gru_step(&gru, &gates, operands[0]->values + (step * batch + row) * gates.input_size, h, room);
      if (node->result_count > 1) keep(&results[1], step, direction, row, h);
    }
  }
  free(room);
  return PTO_OK;
}

/* ---- lstm ---- */

struct lstm {
  uint32_t layout; /* enum pto_graph_lstm_layout */
  struct pto_u32_list activations;
};

/* c becomes f · c + i · g, h becomes o · activation(c).  Peepholes see the cell state before the step, their weights
 * are in the order i, o, f in both layouts.  `room` has 2 · hidden_size doubles. */
static void lstm_step(const struct lstm *lstm, const struct gates *gates, const double *x, double *h, double *c,
                      double *room) {
  const bool is_iofg = lstm->layout == PTO_LSTM_IOFG;
  const uint64_t size = gates->hidden_size, input = 0, output = is_iofg ? 1 : 3, forget = is_iofg ? 2 : 1,
                 cell = is_iofg ? 3 : 2;
  const uint32_t gate_activation = pto_option_at(lstm->activations, 0, PTO_ACTIVATION_SIGMOID),
                 cell_activation = pto_option_at(lstm->activations, 1, PTO_ACTIVATION_TANH),
                 hidden_activation = pto_option_at(lstm->activations, 2, PTO_ACTIVATION_TANH);
  const double *peephole = gates->peephole_weight;
  for (uint64_t u = 0; u < size; u++) {
    const double to_i = peephole ? peephole[u] * c[u] : 0, to_o = peephole ? peephole[size + u] * c[u] : 0,
                 to_f = peephole ? peephole[2 * size + u] * c[u] : 0,
                 i = activated(gate_activation,
                               to_i + from_input(gates, input, u, x) + from_hidden(gates, input, u, h)),
                 o = activated(gate_activation,
                               to_o + from_input(gates, output, u, x) + from_hidden(gates, output, u, h)),
                 f = activated(gate_activation,
                               to_f + from_input(gates, forget, u, x) + from_hidden(gates, forget, u, h)),
                 g = activated(cell_activation, from_input(gates, cell, u, x) + from_hidden(gates, cell, u, h));
    room[size + u] = f * c[u] + i * g;
    room[u] = o * activated(hidden_activation, room[size + u]);
  }
  memcpy(h, room, size * sizeof *h);
  memcpy(c, room + size, size * sizeof *c);
}

/* input, weight, recurrentWeight, hiddenState, cellState, bias, recurrentBias, peepholeWeight. */
PTO_REFERENCE_OPERATION(lstm_cell) {
  const struct pto_lstm_cell_options *options = node->options;
  const struct lstm lstm = {options->layout, options->activations};
  struct gates gates = gates_of(operands, 5, 4, options->hidden_size, 0);
  gates.peephole_weight = part_of(operands[7], 0, 0);
  double *room = calloc(2 * gates.hidden_size, sizeof *room);
  if (!room) return PTO_ENOMEM;
  for (uint64_t b = 0; b < results->desc.shape[0]; b++) {
    double *h = results[0].values + b * gates.hidden_size, *c = results[1].values + b * gates.hidden_size;
    memcpy(h, operands[3]->values + b * gates.hidden_size, gates.hidden_size * sizeof *h);
    memcpy(c, operands[4]->values + b * gates.hidden_size, gates.hidden_size * sizeof *c);
    lstm_step(&lstm, &gates, operands[0]->values + b * gates.input_size, h, c, room);
  }
  free(room);
  return PTO_OK;
}

/* input, weight, recurrentWeight, bias, recurrentBias, peepholeWeight, initialHiddenState, initialCellState. */
PTO_REFERENCE_OPERATION(lstm) {
  const struct pto_lstm_options *options = node->options;
  const struct lstm lstm = {options->layout, options->activations};
  const uint64_t batch = results->desc.shape[1], hidden = options->hidden_size;
  double *room = calloc(2 * hidden, sizeof *room);
  if (!room) return PTO_ENOMEM;
  for (uint64_t line = 0; line < results->desc.shape[0] * batch; line++) {
    const uint64_t direction = line / batch, row = line % batch;
    struct gates gates = gates_of(operands, 3, 4, hidden, direction);
    gates.peephole_weight = part_of(operands[5], direction, 3 * hidden);
    double *h = results[0].values + line * hidden, *c = results[1].values + line * hidden;
    if (operands[6]) memcpy(h, operands[6]->values + line * hidden, hidden * sizeof *h);
    if (operands[7]) memcpy(c, operands[7]->values + line * hidden, hidden * sizeof *c);
    for (uint64_t taken = 0; taken < options->steps; taken++) {
      const uint64_t step = step_at(options->direction, direction, taken, options->steps);
      lstm_step(&lstm, &gates, operands[0]->values + (step * batch + row) * gates.input_size, h, c, room);
      if (node->result_count > 2) keep(&results[2], step, direction, row, h);
    }
  }
  free(room);
  return PTO_OK;
}
