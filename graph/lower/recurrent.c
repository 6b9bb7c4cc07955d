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

static int apply(struct pto_graph_lowering *l, const struct pto_kernel *kernel, const struct pto_tensor *a,
                 const struct pto_tensor *b, const struct pto_tensor *y) {
  const struct pto_tensor *inputs[] = {a, b};
  return pto_graph_lowering_elementwise(l, kernel, inputs, b != NULL ? 2 : 1, y, NULL, 0);
}

static struct pto_tensor matrix(struct pto_graph_lowering *l, uint64_t rows, uint64_t columns) {
  return pto_graph_lowering_temporary(l, PTO_FLOAT32, 2, (const uint64_t[]){rows, columns});
}

/* y = a · bᵀ + bias, which may be NULL; y is new. */
static int product(struct pto_graph_lowering *l, const struct pto_tensor *a, const struct pto_tensor *b,
                   const struct pto_tensor *bias, const struct pto_tensor *y) {
  const struct pto_tensor turned = pto_tensor_transpose(b, 0, 1);
  if (bias == NULL) {
    const struct pto_param params[] = {pto_input(a), pto_input(&turned), pto_output(y)};
    return pto_graph_lowering_submit(l, &pto_general_matmul, params, 3);
  }
  const struct pto_tensor addend = pto_tensor_broadcast(bias, 2, y->shape);
  const struct pto_param params[] = {pto_input(a),  pto_input(&turned), pto_input(&addend),
                                     pto_output(y), pto_scalar_f32(1),  pto_scalar_f32(1)};
  return pto_graph_lowering_submit(l, &pto_general_gemm, params, 6);
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

static int multiply_inputs(struct pto_graph_lowering *l, struct network *n, const struct pto_tensor *x,
                           uint64_t steps) {
  const uint64_t width = n->gates * n->hidden, input = x->shape[x->ndims - 1];
  const struct pto_tensor y = matrix(l, steps * n->batch, width);
  struct pto_tensor rows;
  int status = pto_graph_lowering_reshape(l, x, 2, (const uint64_t[]){steps * n->batch, input}, &rows);
  if (status == PTO_OK) status = product(l, &rows, &n->weight, bias_of(n), &y);
  n->inputs = pto_tensor_reshape(&y, 3, (const uint64_t[]){steps, n->batch, width});
  return status;
}

/* A state in f32: what is given, or zeros. */
static int begin_state(struct pto_graph_lowering *l, const struct network *n, const struct pto_tensor *given,
                       struct pto_tensor *state) {
  *state = matrix(l, n->batch, n->hidden);
  return given != NULL ? pto_graph_lowering_convert(l, given, state)
                       : pto_graph_lowering_fill(l, (struct pto_number){0}, state);
}

enum { Z, R, N };

/* The gate n before its activation, of the input's part and r. */
static int new_gate(struct pto_graph_lowering *l, const struct network *n, const struct pto_tensor *inputs,
                    const struct pto_tensor *recurrent, const struct pto_tensor *r, struct pto_tensor *sum) {
  const struct pto_tensor reset = matrix(l, n->batch, n->hidden), from_input = gate_of(inputs, n->place[N], n->hidden);
  *sum = matrix(l, n->batch, n->hidden);
  if (n->is_reset_after) {
    const struct pto_tensor from_state = gate_of(recurrent, n->place[N], n->hidden);
    const int status = apply(l, &pto_general_mul, r, &from_state, &reset);
    return status ? status : apply(l, &pto_general_add, &from_input, &reset, sum);
  }
  const struct pto_tensor rows = gate_rows(&n->recurrent, n->place[N], n->hidden),
                          again = matrix(l, n->batch, n->hidden);
  struct pto_tensor bias = {0};
  if (n->has_recurrent_bias) bias = gate_of(&n->recurrent_bias, n->place[N], n->hidden);
  int status = apply(l, &pto_general_mul, r, &n->h, &reset);
  if (status == PTO_OK) status = product(l, &reset, &rows, n->has_recurrent_bias ? &bias : NULL, &again);
  return status ? status : apply(l, &pto_general_add, &from_input, &again, sum);
}

/* One step of a gru from the input's part [batch, 3 · hidden]; n->h becomes the new state. */
static int gru_step(struct pto_graph_lowering *l, struct network *n, const struct pto_tensor *inputs) {
  const struct pto_tensor recurrent = matrix(l, n->batch, 3 * n->hidden), gates = matrix(l, n->batch, 3 * n->hidden);
  const struct pto_tensor active = matrix(l, n->batch, 3 * n->hidden);
  int status = product(l, &n->h, &n->recurrent, recurrent_bias_of(n), &recurrent);
  if (status == PTO_OK) status = apply(l, &pto_general_add, inputs, &recurrent, &gates);
  if (status == PTO_OK) status = apply(l, n->activations[0], &gates, NULL, &active);
  const struct pto_tensor z = gate_of(&active, n->place[Z], n->hidden), r = gate_of(&active, n->place[R], n->hidden);
  struct pto_tensor sum = {0};
  if (status == PTO_OK) status = new_gate(l, n, inputs, &recurrent, &r, &sum);
  const struct pto_tensor fresh = matrix(l, n->batch, n->hidden), change = matrix(l, n->batch, n->hidden);
  const struct pto_tensor part = matrix(l, n->batch, n->hidden);
  if (status == PTO_OK) status = apply(l, n->activations[1], &sum, NULL, &fresh);
  if (status == PTO_OK) status = apply(l, &pto_general_sub, &n->h, &fresh, &change);
  if (status == PTO_OK) status = apply(l, &pto_general_mul, &z, &change, &part);
  if (status == PTO_OK) status = apply(l, &pto_general_add, &fresh, &part, &n->next_h);
  n->h = n->next_h;
  return status;
}

enum { I, O, F, G };

/* Gate `gate` of an lstm: its activation of the sum, with the peephole's part of `cell`. */
static int lstm_gate(struct pto_graph_lowering *l, const struct network *n, const struct pto_tensor *sums,
                     uint32_t gate, const struct pto_tensor *cell, struct pto_tensor *y) {
  struct pto_tensor sum = gate_of(sums, n->place[gate], n->hidden);
  *y = matrix(l, n->batch, n->hidden);
  if (n->has_peephole && gate != G) {
    const struct pto_tensor weight = gate_of(&n->peephole, gate, n->hidden); /* always in the order i o f */
    const struct pto_tensor part = matrix(l, n->batch, n->hidden), all = matrix(l, n->batch, n->hidden);
    int status = apply(l, &pto_general_mul, &weight, cell, &part);
    if (status == PTO_OK) status = apply(l, &pto_general_add, &sum, &part, &all);
    if (status != PTO_OK) return status;
    sum = all;
  }
  return apply(l, n->activations[gate == G ? 1 : 0], &sum, NULL, y);
}

static int lstm_step(struct pto_graph_lowering *l, struct network *n, const struct pto_tensor *inputs) {
  const struct pto_tensor recurrent = matrix(l, n->batch, 4 * n->hidden), sums = matrix(l, n->batch, 4 * n->hidden);
  struct pto_tensor i, f, g, o;
  int status = product(l, &n->h, &n->recurrent, recurrent_bias_of(n), &recurrent);
  if (status == PTO_OK) status = apply(l, &pto_general_add, inputs, &recurrent, &sums);
  if (status == PTO_OK) status = lstm_gate(l, n, &sums, I, &n->c, &i);
  if (status == PTO_OK) status = lstm_gate(l, n, &sums, F, &n->c, &f);
  if (status == PTO_OK) status = lstm_gate(l, n, &sums, G, NULL, &g);
  if (status != PTO_OK) return status;
  const struct pto_tensor kept = matrix(l, n->batch, n->hidden), added = matrix(l, n->batch, n->hidden);
  const struct pto_tensor shown = matrix(l, n->batch, n->hidden), cell = n->next_c;
  status = apply(l, &pto_general_mul, &f, &n->c, &kept);
  if (status == PTO_OK) status = apply(l, &pto_general_mul, &i, &g, &added);
  if (status == PTO_OK) status = apply(l, &pto_general_add, &kept, &added, &cell);
  if (status == PTO_OK) status = lstm_gate(l, n, &sums, O, &n->c, &o);
  if (status == PTO_OK) status = apply(l, n->activations[2], &cell, NULL, &shown);
  if (status == PTO_OK) status = apply(l, &pto_general_mul, &o, &shown, &n->next_h);
  n->h = n->next_h;
  n->c = cell;
  return status;
}

typedef int step_function(struct pto_graph_lowering *l, struct network *n, const struct pto_tensor *inputs);

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

static int open_network(struct pto_graph_lowering *l, const struct pto_graph_node *node, const struct roles *roles,
                        bool is_cell, uint32_t d, struct network *n) {
  const struct pto_tensor *x = pto_graph_lowering_operand(l, node, 0);
  struct pto_tensor state;
  n->batch = x->shape[x->ndims - 2];
  take(l, node, 1, is_cell, d, &n->weight);
  take(l, node, 2, is_cell, d, &n->recurrent);
  n->has_bias = take(l, node, roles->bias, is_cell, d, &n->bias);
  n->has_recurrent_bias = take(l, node, roles->recurrent_bias, is_cell, d, &n->recurrent_bias);
  n->has_peephole = take(l, node, roles->peephole, is_cell, d, &n->peephole);
  bool is_given = take(l, node, roles->hidden, is_cell, d, &state);
  int status = begin_state(l, n, is_given ? &state : NULL, &n->h);
  if (status != PTO_OK || n->gates == 3) return status;
  is_given = take(l, node, roles->cell, is_cell, d, &state);
  return begin_state(l, n, is_given ? &state : NULL, &n->c);
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
static int begin_next(struct pto_graph_lowering *l, const struct network *n, const struct pto_tensor *result,
                      struct pto_tensor *next) {
  *next = result->dtype == PTO_FLOAT32 ? *result : matrix(l, n->batch, n->hidden);
  return pto_graph_lowering_allocate(l, next);
}
static int end_next(struct pto_graph_lowering *l, const struct pto_tensor *next, const struct pto_tensor *result) {
  return result->dtype == PTO_FLOAT32 ? PTO_OK : pto_graph_lowering_convert(l, next, result);
}

static int run_cell(struct pto_graph_lowering *l, const struct pto_graph_node *node, const struct roles *roles,
                    struct network *n, step_function *step) {
  const bool has_cell = n->gates == 4;
  const struct pto_tensor h = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  struct pto_tensor c = {0};
  if (has_cell) c = pto_graph_lowering_result(l, node, 1, PTO_IN_PLACE_NONE);
  int status = open_network(l, node, roles, true, 0, n);
  if (status == PTO_OK) status = multiply_inputs(l, n, pto_graph_lowering_operand(l, node, 0), 1);
  const struct pto_tensor inputs = direction_of(&n->inputs, 0);
  if (status == PTO_OK) status = begin_next(l, n, &h, &n->next_h);
  if (status == PTO_OK && has_cell) status = begin_next(l, n, &c, &n->next_c);
  if (status == PTO_OK) status = step(l, n, &inputs);
  if (status == PTO_OK) status = end_next(l, &n->next_h, &h);
  return status == PTO_OK && has_cell ? end_next(l, &n->next_c, &c) : status;
}

int pto_lower_gru_cell(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_gru_cell_options *options = node->options;
  static const struct roles roles = {.bias = 4, .recurrent_bias = 5, .hidden = 3};
  struct network n;
  set_gru(&n, options->layout, options->hidden_size, options->reset_after, options->activations);
  return run_cell(l, node, &roles, &n, gru_step);
}

int pto_lower_lstm_cell(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_lstm_cell_options *options = node->options;
  static const struct roles roles = {.bias = 5, .recurrent_bias = 6, .peephole = 7, .hidden = 3, .cell = 4};
  struct network n;
  set_lstm(&n, options->layout, options->hidden_size, options->activations);
  return run_cell(l, node, &roles, &n, lstm_step);
}

/* ---- networks ---- */

/* Where the states go: [directions, batch, hidden], and of all steps [steps, directions, batch, hidden]. */
struct results {
  struct pto_tensor hidden, cell, sequence;
  bool has_cell, has_sequence;
};

static int store_step(struct pto_graph_lowering *l, const struct results *results, const struct network *n,
                      uint64_t step, uint32_t d) {
  if (!results->has_sequence) return PTO_OK;
  const struct pto_tensor at_step = direction_of(&results->sequence, (uint32_t)step);
  const struct pto_tensor part = direction_of(&at_step, d);
  return pto_graph_lowering_convert(l, &n->h, &part);
}

/* The states of all steps: each step has its own, so that no step waits for readers of an earlier one. */
static int open_states(struct pto_graph_lowering *l, const struct network *n, uint64_t steps,
                       struct pto_tensor *states) {
  *states = pto_graph_lowering_temporary(l, PTO_FLOAT32, 3, (const uint64_t[]){steps, n->batch, n->hidden});
  return pto_graph_lowering_allocate(l, states);
}

static int run_steps(struct pto_graph_lowering *l, struct network *n, step_function *step,
                     const struct results *results, uint64_t steps, uint32_t d, bool is_backward) {
  struct pto_tensor hidden, cells = {0};
  int status = open_states(l, n, steps, &hidden);
  if (status == PTO_OK && results->has_cell) status = open_states(l, n, steps, &cells);
  for (uint64_t s = 0; s < steps && status == PTO_OK; s++) {
    const uint64_t at = is_backward ? steps - 1 - s : s;
    const struct pto_tensor inputs = direction_of(&n->inputs, (uint32_t)at);
    n->next_h = direction_of(&hidden, (uint32_t)s);
    if (results->has_cell) n->next_c = direction_of(&cells, (uint32_t)s);
    status = pto_graph_lowering_tile(l);
    if (status == PTO_OK) status = step(l, n, &inputs);
    if (status == PTO_OK) status = store_step(l, results, n, at, d);
  }
  const int ended = pto_graph_lowering_tiles_end(l);
  return status ? status : ended;
}

static int run_direction(struct pto_graph_lowering *l, struct network *n, step_function *step,
                         const struct results *results, uint64_t steps, uint32_t d, bool is_backward) {
  int status = run_steps(l, n, step, results, steps, d, is_backward);
  if (status != PTO_OK) return status;
  const struct pto_tensor hidden = direction_of(&results->hidden, d);
  status = pto_graph_lowering_convert(l, &n->h, &hidden);
  if (status != PTO_OK || !results->has_cell) return status;
  const struct pto_tensor cell = direction_of(&results->cell, d);
  return pto_graph_lowering_convert(l, &n->c, &cell);
}

static int open_results(struct pto_graph_lowering *l, const struct pto_graph_node *node, bool has_cell,
                        struct results *results) {
  *results = (struct results){.has_cell = has_cell, .has_sequence = node->result_count > (has_cell ? 2u : 1u)};
  results->hidden = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  if (has_cell) results->cell = pto_graph_lowering_result(l, node, 1, PTO_IN_PLACE_NONE);
  if (results->has_sequence)
    results->sequence = pto_graph_lowering_result(l, node, has_cell ? 2 : 1, PTO_IN_PLACE_NONE);
  return pto_graph_lowering_allocate(l, &results->hidden);
}

static int run_network(struct pto_graph_lowering *l, const struct pto_graph_node *node, const struct roles *roles,
                       const struct network *form, uint32_t direction, step_function *step) {
  const struct pto_tensor *x = pto_graph_lowering_operand(l, node, 0);
  struct results results;
  int status = open_results(l, node, form->gates == 4, &results);
  const uint32_t count = direction == PTO_DIRECTION_BOTH ? 2 : 1;
  for (uint32_t d = 0; d < count && status == PTO_OK; d++) {
    struct network n = *form;
    status = open_network(l, node, roles, false, d, &n);
    if (status == PTO_OK) status = multiply_inputs(l, &n, x, x->shape[0]);
    if (status == PTO_OK)
      status = run_direction(l, &n, step, &results, x->shape[0], d, d == 1 || direction == PTO_DIRECTION_BACKWARD);
  }
  return status;
}

int pto_lower_gru(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_gru_options *options = node->options;
  static const struct roles roles = {.bias = 3, .recurrent_bias = 4, .hidden = 5};
  struct network form;
  set_gru(&form, options->layout, options->hidden_size, options->reset_after, options->activations);
  return run_network(l, node, &roles, &form, options->direction, gru_step);
}

int pto_lower_lstm(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_lstm_options *options = node->options;
  static const struct roles roles = {.bias = 3, .recurrent_bias = 4, .peephole = 5, .hidden = 6, .cell = 7};
  struct network form;
  set_lstm(&form, options->layout, options->hidden_size, options->activations);
  return run_network(l, node, &roles, &form, options->direction, lstm_step);
}
