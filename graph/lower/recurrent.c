/* SPDX-License-Identifier: MIT */
/*
 * gru, lstm and their cells, composed of general kernels: the product of all steps' inputs with the weights at once,
 * then step by step what depends on the state.  Everything between the operands and the results is f32.
 *
 *   gru    z, r = f(x·Wᵀ + b + h·Rᵀ + rb)     n = g(x·Wnᵀ + bn + r ∘ (h·Rnᵀ + rbn)), or g(… + (r ∘ h)·Rnᵀ + rbn)
 *          h' = n + z ∘ (h − n)
 *   lstm   i, f = f(x·Wᵀ + b + h·Rᵀ + rb + p ∘ c)     g = g(…)     c' = f ∘ c + i ∘ g
 *          o = f(… + p ∘ c)     h' = o ∘ h(c')
 */
#include <graph/lower/lowering.h>
#include <graph/build/op_options.h>
#include <kernels/api/list.h>

/* ---- small steps ---- */

static void apply(struct pto_graph_lowering *l, const struct pto_kernel *kernel, const struct pto_tensor *a,
                  const struct pto_tensor *b, const struct pto_tensor *y) {
  const struct pto_tensor *inputs[] = {a, b};
  pto_graph_lowering_elementwise(l, kernel, inputs, b != NULL ? 2 : 1, y, NULL, 0);
}

static struct pto_tensor matrix(struct pto_graph_lowering *l, uint64_t rows, uint64_t columns) {
  return pto_graph_lowering_temporary(l, PTO_FLOAT32, 2, (const uint64_t[]){rows, columns});
}

/* y = a · bᵀ + bias, which may be NULL; y is new. */
static void product(struct pto_graph_lowering *l, const struct pto_tensor *a, const struct pto_tensor *b,
                    const struct pto_tensor *bias, const struct pto_tensor *y) {
  const struct pto_tensor turned = pto_tensor_transpose(b, 0, 1);
  const struct pto_tensor addend = bias != NULL ? pto_tensor_broadcast(bias, 2, y->shape) : turned;
  pto_graph_lowering_product(l, a, &turned, bias != NULL ? &addend : NULL, 1, 1, y);
}

static const struct pto_kernel *activation(struct pto_u32_list list, uint32_t index, uint32_t absent) {
  switch (pto_option_at(list, index, absent)) {
  case PTO_ACTIVATION_RELU:
    return &pto_general_relu;
  case PTO_ACTIVATION_SIGMOID:
    return &pto_general_sigmoid;
  default:
    return &pto_general_tanh;
  }
}

/* Gate `gate` of a tensor whose last dimension has all gates of one direction side by side. */
static struct pto_tensor gate_of(const struct pto_tensor *t, uint32_t gate, uint64_t hidden) {
  return pto_tensor_slice(t, t->ndims - 1, gate * hidden, (gate + 1) * hidden, 1);
}
/* Rows of a weight [gates · hidden, …] that make it. */
static struct pto_tensor gate_rows(const struct pto_tensor *t, uint32_t gate, uint64_t hidden) {
  return pto_tensor_slice(t, 0, gate * hidden, (gate + 1) * hidden, 1);
}

/* Direction `d` of a tensor whose first dimension is that of directions, without it. */
static struct pto_tensor direction_of(const struct pto_tensor *t, uint32_t d) {
  struct pto_tensor one = pto_tensor_slice(t, 0, d, d + 1, 1);
  if (one.status != PTO_OK) return one;
  one.ndims--; /* operands may be views of any strides, which no reshape takes */
  for (uint32_t i = 0; i < PTO_MAX_DIMS; i++) {
    one.shape[i] = i < one.ndims ? one.shape[i + 1] : 0;
    one.strides[i] = i < one.ndims ? one.strides[i + 1] : 0;
  }
  return one;
}

/* ---- a network of one direction ---- */

#define GATES 4

struct network {
  struct pto_tensor weight, recurrent; /* [gates · hidden, input], [gates · hidden, hidden] */
  struct pto_tensor bias, recurrent_bias, peephole;
  bool has_bias, has_recurrent_bias, has_peephole;
  uint64_t batch, hidden;
  uint32_t gates;        /* 3 or 4 */
  uint32_t place[GATES]; /* where gates z r n, or i o f g, are */
  bool is_reset_after;
  const struct pto_kernel *activations[3];
  struct pto_tensor inputs;         /* x·Wᵀ + b of all steps, [steps, batch, gates · hidden] */
  struct pto_tensor h, c;           /* states [batch, hidden] */
  struct pto_tensor next_h, next_c; /* where a step writes them, with memory */
};

static const struct pto_tensor *bias_of(const struct network *n) { return n->has_bias ? &n->bias : NULL; }
static const struct pto_tensor *recurrent_bias_of(const struct network *n) {
  return n->has_recurrent_bias ? &n->recurrent_bias : NULL;
}

static void multiply_inputs(struct pto_graph_lowering *l, struct network *n, const struct pto_tensor *x,
                            uint64_t steps) {
  const uint64_t width = n->gates * n->hidden, input = x->shape[x->ndims - 1];
  const struct pto_tensor y = matrix(l, steps * n->batch, width);
  const struct pto_tensor rows = pto_graph_lowering_reshape(l, x, 2, (const uint64_t[]){steps * n->batch, input});
  product(l, &rows, &n->weight, bias_of(n), &y);
  n->inputs = pto_tensor_reshape(&y, 3, (const uint64_t[]){steps, n->batch, width});
}

/* A state in f32: what is given, or zeros. */
static struct pto_tensor begin_state(struct pto_graph_lowering *l, const struct network *n,
                                     const struct pto_tensor *given) {
  const struct pto_tensor state = matrix(l, n->batch, n->hidden);
  if (given != NULL)
    pto_graph_lowering_convert(l, given, &state);
  else
    pto_graph_lowering_fill(l, (struct pto_number){0}, &state);
  return state;
}

enum { Z, R, N };

/* The gate n before its activation, of the input's part and r. */
static struct pto_tensor new_gate(struct pto_graph_lowering *l, const struct network *n,
                                  const struct pto_tensor *inputs, const struct pto_tensor *recurrent,
                                  const struct pto_tensor *r) {
  const struct pto_tensor reset = matrix(l, n->batch, n->hidden), from_input = gate_of(inputs, n->place[N], n->hidden);
  const struct pto_tensor sum = matrix(l, n->batch, n->hidden);
  if (n->is_reset_after) {
    const struct pto_tensor from_state = gate_of(recurrent, n->place[N], n->hidden);
    apply(l, &pto_general_mul, r, &from_state, &reset);
    apply(l, &pto_general_add, &from_input, &reset, &sum);
    return sum;
  }
  const struct pto_tensor rows = gate_rows(&n->recurrent, n->place[N], n->hidden),
                          again = matrix(l, n->batch, n->hidden);
  struct pto_tensor bias = {0};
  if (n->has_recurrent_bias) bias = gate_of(&n->recurrent_bias, n->place[N], n->hidden);
  apply(l, &pto_general_mul, r, &n->h, &reset);
  product(l, &reset, &rows, n->has_recurrent_bias ? &bias : NULL, &again);
  apply(l, &pto_general_add, &from_input, &again, &sum);
  return sum;
}

/* One step of a gru from the input's part [batch, 3 · hidden]; n->h becomes the new state. */
static void gru_step(struct pto_graph_lowering *l, struct network *n, const struct pto_tensor *inputs) {
  const struct pto_tensor recurrent = matrix(l, n->batch, 3 * n->hidden), gates = matrix(l, n->batch, 3 * n->hidden);
  const struct pto_tensor active = matrix(l, n->batch, 3 * n->hidden);
  product(l, &n->h, &n->recurrent, recurrent_bias_of(n), &recurrent);
  apply(l, &pto_general_add, inputs, &recurrent, &gates);
  apply(l, n->activations[0], &gates, NULL, &active);
  const struct pto_tensor z = gate_of(&active, n->place[Z], n->hidden), r = gate_of(&active, n->place[R], n->hidden);
  const struct pto_tensor sum = new_gate(l, n, inputs, &recurrent, &r);
  const struct pto_tensor fresh = matrix(l, n->batch, n->hidden), change = matrix(l, n->batch, n->hidden);
  const struct pto_tensor part = matrix(l, n->batch, n->hidden);
  apply(l, n->activations[1], &sum, NULL, &fresh);
  apply(l, &pto_general_sub, &n->h, &fresh, &change);
  apply(l, &pto_general_mul, &z, &change, &part);
  apply(l, &pto_general_add, &fresh, &part, &n->next_h);
  n->h = n->next_h;
}

enum { I, O, F, G };

/* Gate `gate` of an lstm: its activation of the sum, with the peephole's part of the cell as it is. */
static struct pto_tensor lstm_gate(struct pto_graph_lowering *l, const struct network *n, const struct pto_tensor *sums,
                                   uint32_t gate) {
  struct pto_tensor sum = gate_of(sums, n->place[gate], n->hidden);
  const struct pto_tensor y = matrix(l, n->batch, n->hidden);
  if (n->has_peephole && gate != G) {
    const struct pto_tensor weight = gate_of(&n->peephole, gate, n->hidden); /* always in the order i o f */
    const struct pto_tensor part = matrix(l, n->batch, n->hidden), all = matrix(l, n->batch, n->hidden);
    apply(l, &pto_general_mul, &weight, &n->c, &part);
    apply(l, &pto_general_add, &sum, &part, &all);
    sum = all;
  }
  apply(l, n->activations[gate == G ? 1 : 0], &sum, NULL, &y);
  return y;
}

static void lstm_step(struct pto_graph_lowering *l, struct network *n, const struct pto_tensor *inputs) {
  const struct pto_tensor recurrent = matrix(l, n->batch, 4 * n->hidden), sums = matrix(l, n->batch, 4 * n->hidden);
  product(l, &n->h, &n->recurrent, recurrent_bias_of(n), &recurrent);
  apply(l, &pto_general_add, inputs, &recurrent, &sums);
  const struct pto_tensor i = lstm_gate(l, n, &sums, I), f = lstm_gate(l, n, &sums, F), g = lstm_gate(l, n, &sums, G);
  const struct pto_tensor kept = matrix(l, n->batch, n->hidden), added = matrix(l, n->batch, n->hidden);
  const struct pto_tensor shown = matrix(l, n->batch, n->hidden);
  apply(l, &pto_general_mul, &f, &n->c, &kept);
  apply(l, &pto_general_mul, &i, &g, &added);
  apply(l, &pto_general_add, &kept, &added, &n->next_c);
  const struct pto_tensor o = lstm_gate(l, n, &sums, O);
  apply(l, n->activations[2], &n->next_c, NULL, &shown);
  apply(l, &pto_general_mul, &o, &shown, &n->next_h);
  n->h = n->next_h;
  n->c = n->next_c;
}

typedef void step_function(struct pto_graph_lowering *l, struct network *n, const struct pto_tensor *inputs);

/* ---- operands ---- */

/* Which parameters of an operation are what; 0 where it has none of that. */
struct roles {
  uint32_t bias, recurrent_bias, peephole, hidden, cell;
};

/* The parameter of direction `d`, or as it is for a cell; whether it is there. */
static bool take(const struct pto_graph_lowering *l, const struct pto_graph_node *node, uint32_t parameter,
                 bool is_cell, uint32_t d, struct pto_tensor *out) {
  const struct pto_tensor *t = parameter != 0 ? pto_graph_lowering_operand(l, node, parameter) : NULL;
  if (t != NULL) *out = is_cell ? *t : direction_of(t, d);
  return t != NULL;
}

static void open_network(struct pto_graph_lowering *l, const struct pto_graph_node *node, const struct roles *roles,
                         bool is_cell, uint32_t d, struct network *n) {
  const struct pto_tensor *x = pto_graph_lowering_operand(l, node, 0);
  struct pto_tensor state;
  n->batch = x->shape[x->ndims - 2];
  take(l, node, 1, is_cell, d, &n->weight);
  take(l, node, 2, is_cell, d, &n->recurrent);
  n->has_bias = take(l, node, roles->bias, is_cell, d, &n->bias);
  n->has_recurrent_bias = take(l, node, roles->recurrent_bias, is_cell, d, &n->recurrent_bias);
  n->has_peephole = take(l, node, roles->peephole, is_cell, d, &n->peephole);
  n->h = begin_state(l, n, take(l, node, roles->hidden, is_cell, d, &state) ? &state : NULL);
  if (n->gates == 4) n->c = begin_state(l, n, take(l, node, roles->cell, is_cell, d, &state) ? &state : NULL);
}

static void set_gru(struct network *n, uint32_t layout, uint64_t hidden, uint32_t reset_after,
                    struct pto_u32_list activations) {
  *n = (struct network){.gates = 3, .hidden = hidden, .is_reset_after = pto_option_flag(reset_after, true)};
  n->place[Z] = layout == PTO_GRU_ZRN ? 0 : 1;
  n->place[R] = layout == PTO_GRU_ZRN ? 1 : 0;
  n->place[N] = 2;
  n->activations[0] = activation(activations, 0, PTO_ACTIVATION_SIGMOID);
  n->activations[1] = activation(activations, 1, PTO_ACTIVATION_TANH);
}

static void set_lstm(struct network *n, uint32_t layout, uint64_t hidden, struct pto_u32_list activations) {
  *n = (struct network){.gates = 4, .hidden = hidden};
  n->place[I] = 0;
  n->place[O] = layout == PTO_LSTM_IOFG ? 1 : 3;
  n->place[F] = layout == PTO_LSTM_IOFG ? 2 : 1;
  n->place[G] = layout == PTO_LSTM_IOFG ? 3 : 2;
  n->activations[0] = activation(activations, 0, PTO_ACTIVATION_SIGMOID);
  n->activations[1] = activation(activations, 1, PTO_ACTIVATION_TANH);
  n->activations[2] = activation(activations, 2, PTO_ACTIVATION_TANH);
}

/* ---- cells ---- */

/* New states in f32: where they belong, or in a temporary that is converted. */
static void begin_next(struct pto_graph_lowering *l, const struct network *n, const struct pto_tensor *result,
                       struct pto_tensor *next) {
  *next = result->dtype == PTO_FLOAT32 ? *result : matrix(l, n->batch, n->hidden);
  pto_graph_lowering_allocate(l, next);
}
static void end_next(struct pto_graph_lowering *l, const struct pto_tensor *next, const struct pto_tensor *result) {
  if (result->dtype != PTO_FLOAT32) pto_graph_lowering_convert(l, next, result);
}

static void run_cell(struct pto_graph_lowering *l, const struct pto_graph_node *node, const struct roles *roles,
                     struct network *n, step_function *step) {
  const bool has_cell = n->gates == 4;
  const struct pto_tensor h = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  struct pto_tensor c = {0};
  if (has_cell) c = pto_graph_lowering_result(l, node, 1, PTO_IN_PLACE_NONE);
  open_network(l, node, roles, true, 0, n);
  multiply_inputs(l, n, pto_graph_lowering_operand(l, node, 0), 1);
  const struct pto_tensor inputs = direction_of(&n->inputs, 0);
  begin_next(l, n, &h, &n->next_h);
  if (has_cell) begin_next(l, n, &c, &n->next_c);
  step(l, n, &inputs);
  end_next(l, &n->next_h, &h);
  if (has_cell) end_next(l, &n->next_c, &c);
}

void pto_lower_gru_cell(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_gru_cell_options *options = node->options;
  static const struct roles roles = {.bias = 4, .recurrent_bias = 5, .hidden = 3};
  struct network n;
  set_gru(&n, options->layout, options->hidden_size, options->reset_after, options->activations);
  run_cell(l, node, &roles, &n, gru_step);
}

void pto_lower_lstm_cell(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_lstm_cell_options *options = node->options;
  static const struct roles roles = {.bias = 5, .recurrent_bias = 6, .peephole = 7, .hidden = 3, .cell = 4};
  struct network n;
  set_lstm(&n, options->layout, options->hidden_size, options->activations);
  run_cell(l, node, &roles, &n, lstm_step);
}

/* ---- networks ---- */

/* Where the states go: [directions, batch, hidden], and of all steps [steps, directions, batch, hidden]. */
struct results {
  struct pto_tensor hidden, cell, sequence;
  bool has_cell, has_sequence;
};

static void store_step(struct pto_graph_lowering *l, const struct results *results, const struct network *n,
                       uint64_t step, uint32_t d) {
  if (!results->has_sequence) return;
  const struct pto_tensor at_step = direction_of(&results->sequence, (uint32_t)step);
  const struct pto_tensor part = direction_of(&at_step, d);
  pto_graph_lowering_convert(l, &n->h, &part);
}

/* The states of all steps: each step has its own, so that no step waits for readers of an earlier one. */
static struct pto_tensor open_states(struct pto_graph_lowering *l, const struct network *n, uint64_t steps) {
  const struct pto_tensor states =
      pto_graph_lowering_temporary(l, PTO_FLOAT32, 3, (const uint64_t[]){steps, n->batch, n->hidden});
  pto_graph_lowering_allocate(l, &states);
  return states;
}

static void run_direction(struct pto_graph_lowering *l, struct network *n, step_function *step,
                          const struct results *results, uint64_t steps, uint32_t d, bool is_backward) {
  const struct pto_tensor states = open_states(l, n, steps);
  struct pto_tensor cells = {0};
  if (results->has_cell) cells = open_states(l, n, steps);
  for (uint64_t s = 0; s < steps && l->status == PTO_OK; s++) {
    const uint64_t at = is_backward ? steps - 1 - s : s;
    const struct pto_tensor inputs = direction_of(&n->inputs, (uint32_t)at);
    n->next_h = direction_of(&states, (uint32_t)s);
    if (results->has_cell) n->next_c = direction_of(&cells, (uint32_t)s);
    pto_graph_lowering_tile(l);
    step(l, n, &inputs);
    store_step(l, results, n, at, d);
  }
  pto_graph_lowering_tiles_end(l);
  const struct pto_tensor hidden = direction_of(&results->hidden, d);
  pto_graph_lowering_convert(l, &n->h, &hidden);
  if (!results->has_cell) return;
  const struct pto_tensor cell = direction_of(&results->cell, d);
  pto_graph_lowering_convert(l, &n->c, &cell);
}

static struct results open_results(struct pto_graph_lowering *l, const struct pto_graph_node *node, bool has_cell) {
  struct results results = {.has_cell = has_cell, .has_sequence = node->result_count > (has_cell ? 2u : 1u)};
  results.hidden = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  if (has_cell) results.cell = pto_graph_lowering_result(l, node, 1, PTO_IN_PLACE_NONE);
  if (results.has_sequence) results.sequence = pto_graph_lowering_result(l, node, has_cell ? 2 : 1, PTO_IN_PLACE_NONE);
  pto_graph_lowering_allocate(l, &results.hidden);
  return results;
}

static void run_network(struct pto_graph_lowering *l, const struct pto_graph_node *node, const struct roles *roles,
                        const struct network *form, uint32_t direction, step_function *step) {
  const struct pto_tensor *x = pto_graph_lowering_operand(l, node, 0);
  const struct results results = open_results(l, node, form->gates == 4);
  const uint32_t count = direction == PTO_DIRECTION_BOTH ? 2 : 1;
  for (uint32_t d = 0; d < count && l->status == PTO_OK; d++) {
    struct network n = *form;
    open_network(l, node, roles, false, d, &n);
    multiply_inputs(l, &n, x, x->shape[0]);
    run_direction(l, &n, step, &results, x->shape[0], d, d == 1 || direction == PTO_DIRECTION_BACKWARD);
  }
}

void pto_lower_gru(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_gru_options *options = node->options;
  static const struct roles roles = {.bias = 3, .recurrent_bias = 4, .hidden = 5};
  struct network form;
  set_gru(&form, options->layout, options->hidden_size, options->reset_after, options->activations);
  run_network(l, node, &roles, &form, options->direction, gru_step);
}

void pto_lower_lstm(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_lstm_options *options = node->options;
  static const struct roles roles = {.bias = 3, .recurrent_bias = 4, .peephole = 5, .hidden = 6, .cell = 7};
  struct network form;
  set_lstm(&form, options->layout, options->hidden_size, options->activations);
  run_network(l, node, &roles, &form, options->direction, lstm_step);
}
