/* SPDX-License-Identifier: MIT */
/*
 * gru and lstm of the reference executor: cells against their formulas made of other operations, sequences against
 * their cells unrolled, layouts and directions against one another.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include <graph/reference/support.h>
#include <tests/support/graph_case.h>

enum { STEPS = 4, BATCH = 2, INPUT = 3, HIDDEN = 2 };

/* States of sequences are not rounded between steps, those of unrolled cells are: a few units of f32. */
#define CLOSE 2e-6

typedef const struct pto_reference_tensor *tensor;

/* ---- small words for operations ---- */

static tensor slice(struct graph_case *c, tensor t, const uint32_t *starts, const uint32_t *sizes) {
  const struct pto_slice_options options = {.starts = {starts, t->desc.ndims}, .sizes = {sizes, t->desc.ndims}};
  return graph_case_call(c, PTO_GRAPH_OP_slice, &options, OPERANDS(t));
}
static tensor reshape(struct graph_case *c, tensor t, struct pto_u32_list shape) {
  const struct pto_new_shape_options options = {.new_shape = shape};
  return graph_case_call(c, PTO_GRAPH_OP_reshape, &options, OPERANDS(t));
}
static tensor reversed(struct graph_case *c, tensor t, uint32_t axis) {
  const struct pto_axes_options options = {.axes = PTO_U32_LIST(axis)};
  return graph_case_call(c, PTO_GRAPH_OP_reverse, &options, OPERANDS(t));
}
static tensor pair(struct graph_case *c, uint32_t op, tensor a, tensor b) {
  return graph_case_call(c, op, NULL, OPERANDS(a, b));
}
static tensor one(struct graph_case *c, uint32_t op, tensor a) { return graph_case_call(c, op, NULL, OPERANDS(a)); }
static tensor add(struct graph_case *c, tensor a, tensor b) { return pair(c, PTO_GRAPH_OP_add, a, b); }
static tensor mul(struct graph_case *c, tensor a, tensor b) { return pair(c, PTO_GRAPH_OP_mul, a, b); }

/* Block `gate` of the rows of a weight, transposed, or of a bias. */
static tensor weight_of(struct graph_case *c, tensor weight, uint32_t gate) {
  const uint32_t starts[] = {gate * HIDDEN, 0}, sizes[] = {HIDDEN, (uint32_t)weight->desc.shape[1]};
  return one(c, PTO_GRAPH_OP_transpose, slice(c, weight, starts, sizes));
}
static tensor bias_of(struct graph_case *c, tensor bias, uint32_t gate) {
  return slice(c, bias, &(uint32_t){gate * HIDDEN}, &(uint32_t){HIDDEN});
}
/* v · W + b for one gate. */
static tensor affine(struct graph_case *c, tensor v, tensor weight, tensor bias, uint32_t gate) {
  return add(c, pair(c, PTO_GRAPH_OP_matmul, v, weight_of(c, weight, gate)), bias_of(c, bias, gate));
}

/* ---- parameters ---- */

struct cell {
  tensor x, weight, recurrent_weight, h, state, bias, recurrent_bias, peephole;
};
static struct cell draw_cell(struct graph_case *c, uint32_t gates, uint64_t seed) {
  return (struct cell){
      .x = graph_case_drawn(c, PTO_FLOAT32, SHAPE(BATCH, INPUT), seed),
      .weight = graph_case_drawn(c, PTO_FLOAT32, SHAPE(gates * HIDDEN, INPUT), seed + 1),
      .recurrent_weight = graph_case_drawn(c, PTO_FLOAT32, SHAPE(gates * HIDDEN, HIDDEN), seed + 2),
      .h = graph_case_drawn(c, PTO_FLOAT32, SHAPE(BATCH, HIDDEN), seed + 3),
      .state = graph_case_drawn(c, PTO_FLOAT32, SHAPE(BATCH, HIDDEN), seed + 4),
      .bias = graph_case_drawn(c, PTO_FLOAT32, SHAPE(gates * HIDDEN), seed + 5),
      .recurrent_bias = graph_case_drawn(c, PTO_FLOAT32, SHAPE(gates * HIDDEN), seed + 6),
      .peephole = graph_case_drawn(c, PTO_FLOAT32, SHAPE(3 * HIDDEN), seed + 7),
  };
}
#define GRU_CELL(k) OPERANDS((k).x, (k).weight, (k).recurrent_weight, (k).h, (k).bias, (k).recurrent_bias)
#define LSTM_CELL(k)                                                                                                   \
  OPERANDS((k).x, (k).weight, (k).recurrent_weight, (k).h, (k).state, (k).bias, (k).recurrent_bias, (k).peephole)

/* ---- cells ---- */

/* The specification's decomposition, in f32 operations; z, r, n are gates 0, 1, 2. */
static tensor gru_by_parts(struct graph_case *c, const struct cell *k, bool is_reset_after) {
  const tensor one_number = graph_case_floats(c, SCALAR, NUMBERS(1)),
               z = one(c, PTO_GRAPH_OP_sigmoid,
                       add(c, affine(c, k->x, k->weight, k->bias, 0),
                           affine(c, k->h, k->recurrent_weight, k->recurrent_bias, 0))),
               r = one(c, PTO_GRAPH_OP_sigmoid,
                       add(c, affine(c, k->x, k->weight, k->bias, 1),
                           affine(c, k->h, k->recurrent_weight, k->recurrent_bias, 1))),
               after = mul(c, r, affine(c, k->h, k->recurrent_weight, k->recurrent_bias, 2)),
               before = affine(c, mul(c, r, k->h), k->recurrent_weight, k->recurrent_bias, 2),
               n = one(c, PTO_GRAPH_OP_tanh,
                       add(c, affine(c, k->x, k->weight, k->bias, 2), is_reset_after ? after : before));
  return add(c, mul(c, z, k->h), mul(c, pair(c, PTO_GRAPH_OP_sub, one_number, z), n));
}

static void expect_near(tensor a, tensor b, double distance) {
  for (uint64_t i = 0; i < pto_reference_numel(a); i++) assert_true(fabs(a->values[i] - b->values[i]) <= distance);
}

static void test_a_gru_cell_is_its_decomposition(void **state) {
  for (uint64_t seed = 0; seed < 20; seed++) {
    struct graph_case c = {0};
    const struct cell k = draw_cell(&c, 3, 100 * seed);
    struct pto_gru_cell_options options = {.hidden_size = HIDDEN};
    expect_near(graph_case_call(&c, PTO_GRAPH_OP_gru_cell, &options, GRU_CELL(k)), gru_by_parts(&c, &k, true), 5e-6);
    options.reset_after = PTO_FLAG_NO;
    expect_near(graph_case_call(&c, PTO_GRAPH_OP_gru_cell, &options, GRU_CELL(k)), gru_by_parts(&c, &k, false), 5e-6);
    graph_case_close(&c);
  }
}

/* The same; i, o, f, g are gates 0 … 3, peepholes i, o, f. */
static tensor lstm_gate(struct graph_case *c, const struct cell *k, uint32_t gate) {
  const tensor sum =
      add(c, affine(c, k->x, k->weight, k->bias, gate), affine(c, k->h, k->recurrent_weight, k->recurrent_bias, gate));
  if (gate == 3) return one(c, PTO_GRAPH_OP_tanh, sum);
  return one(c, PTO_GRAPH_OP_sigmoid, add(c, sum, mul(c, k->state, bias_of(c, k->peephole, gate))));
}

static void test_an_lstm_cell_is_its_decomposition(void **state) {
  for (uint64_t seed = 0; seed < 20; seed++) {
    struct graph_case c = {0};
    const struct cell k = draw_cell(&c, 4, 100 * seed);
    const struct pto_lstm_cell_options options = {.hidden_size = HIDDEN};
    const tensor results = graph_case_call(&c, PTO_GRAPH_OP_lstm_cell, &options, LSTM_CELL(k)),
                 next = add(&c, mul(&c, lstm_gate(&c, &k, 2), k.state),
                            mul(&c, lstm_gate(&c, &k, 0), lstm_gate(&c, &k, 3))),
                 hidden = mul(&c, lstm_gate(&c, &k, 1), one(&c, PTO_GRAPH_OP_tanh, next));
    expect_near(&results[1], next, 5e-6);
    expect_near(&results[0], hidden, 5e-6);
    graph_case_close(&c);
  }
}

/* Blocks of rows in another order. */
static tensor blocks(struct graph_case *c, tensor t, const uint32_t *order, uint32_t count) {
  tensor parts[4] = {NULL};
  const struct pto_concat_options options = {.axis = 0};
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t starts[] = {order[i] * HIDDEN, 0},
                   sizes[] = {HIDDEN, t->desc.ndims > 1 ? (uint32_t)t->desc.shape[1] : 0};
    parts[i] = slice(c, t, starts, sizes);
  }
  return graph_case_call(c, PTO_GRAPH_OP_concat, &options, count, parts);
}

static struct cell reordered(struct graph_case *c, const struct cell *k, const uint32_t *order, uint32_t count) {
  struct cell other = *k;
  other.weight = blocks(c, k->weight, order, count);
  other.recurrent_weight = blocks(c, k->recurrent_weight, order, count);
  other.bias = blocks(c, k->bias, order, count);
  other.recurrent_bias = blocks(c, k->recurrent_bias, order, count);
  return other;
}

static void test_layouts_name_the_order_of_the_gates(void **state) {
  struct graph_case c = {0};
  const struct cell gru = draw_cell(&c, 3, 1), rzn = reordered(&c, &gru, (const uint32_t[]){1, 0, 2}, 3),
                    lstm = draw_cell(&c, 4, 2), ifgo = reordered(&c, &lstm, (const uint32_t[]){0, 2, 3, 1}, 4);
  const struct pto_gru_cell_options zrn_options = {.hidden_size = HIDDEN},
                                    rzn_options = {.hidden_size = HIDDEN, .layout = PTO_GRU_RZN};
  const struct pto_lstm_cell_options iofg_options = {.hidden_size = HIDDEN},
                                     ifgo_options = {.hidden_size = HIDDEN, .layout = PTO_LSTM_IFGO};
  graph_case_expect_equal(graph_case_call(&c, PTO_GRAPH_OP_gru_cell, &zrn_options, GRU_CELL(gru)),
                          graph_case_call(&c, PTO_GRAPH_OP_gru_cell, &rzn_options, GRU_CELL(rzn)), 0);
  const tensor a = graph_case_call(&c, PTO_GRAPH_OP_lstm_cell, &iofg_options, LSTM_CELL(lstm)),
               b = graph_case_call(&c, PTO_GRAPH_OP_lstm_cell, &ifgo_options, LSTM_CELL(ifgo));
  graph_case_expect_equal(&a[0], &b[0], 0);
  graph_case_expect_equal(&a[1], &b[1], 0);
  graph_case_close(&c);
}

/* With weights of 0 every gate is activation(bias): h' = z · h + (1 − z) · n, by hand. */
static void test_activations_are_those_that_are_named(void **state) {
  struct graph_case c = {0};
  const struct pto_gru_cell_options gru = {.hidden_size = 1,
                                           .activations = PTO_U32_LIST(PTO_ACTIVATION_RELU, PTO_ACTIVATION_SIGMOID)};
  const struct pto_lstm_cell_options lstm = {
      .hidden_size = 1, .activations = PTO_U32_LIST(PTO_ACTIVATION_RELU, PTO_ACTIVATION_RELU, PTO_ACTIVATION_SIGMOID)};
  const tensor x = graph_case_floats(&c, SHAPE(1, 1), NUMBERS(5)), h = graph_case_floats(&c, SHAPE(1, 1), NUMBERS(4)),
               w3 = graph_case_floats(&c, SHAPE(3, 1), NUMBERS(0, 0, 0)),
               w4 = graph_case_floats(&c, SHAPE(4, 1), NUMBERS(0, 0, 0, 0)),
               b3 = graph_case_floats(&c, SHAPE(3), NUMBERS(0.5, -1, 0)),
               b4 = graph_case_floats(&c, SHAPE(4), NUMBERS(2, 0.5, 0.25, 3));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_gru_cell, &gru, OPERANDS(x, w3, w3, h, b3, NULL)), SHAPE(1, 1),
                    NUMBERS(0.5 * 4 + 0.5 * 0.5));
  const tensor r = graph_case_call(&c, PTO_GRAPH_OP_lstm_cell, &lstm, OPERANDS(x, w4, w4, h, h, b4, NULL, NULL));
  graph_case_expect(&r[1], SHAPE(1, 1), NUMBERS(0.25 * 4 + 2 * 3));
  graph_case_expect(&r[0], SHAPE(1, 1), NUMBERS(0.5 / (1 + exp(-7))));
  graph_case_close(&c);
}

/* ---- sequences ---- */

struct sequence {
  tensor x, weight, recurrent_weight, bias, recurrent_bias, peephole, h, state;
};
static struct sequence draw_sequence(struct graph_case *c, uint32_t gates, uint32_t directions, uint64_t seed) {
  return (struct sequence){
      .x = graph_case_drawn(c, PTO_FLOAT32, SHAPE(STEPS, BATCH, INPUT), seed),
      .weight = graph_case_drawn(c, PTO_FLOAT32, SHAPE(directions, gates * HIDDEN, INPUT), seed + 1),
      .recurrent_weight = graph_case_drawn(c, PTO_FLOAT32, SHAPE(directions, gates * HIDDEN, HIDDEN), seed + 2),
      .bias = graph_case_drawn(c, PTO_FLOAT32, SHAPE(directions, gates * HIDDEN), seed + 3),
      .recurrent_bias = graph_case_drawn(c, PTO_FLOAT32, SHAPE(directions, gates * HIDDEN), seed + 4),
      .peephole = graph_case_drawn(c, PTO_FLOAT32, SHAPE(directions, 3 * HIDDEN), seed + 5),
      .h = graph_case_drawn(c, PTO_FLOAT32, SHAPE(directions, BATCH, HIDDEN), seed + 6),
      .state = graph_case_drawn(c, PTO_FLOAT32, SHAPE(directions, BATCH, HIDDEN), seed + 7),
  };
}
#define GRU(s) OPERANDS((s).x, (s).weight, (s).recurrent_weight, (s).bias, (s).recurrent_bias, (s).h)
#define LSTM(s)                                                                                                        \
  OPERANDS((s).x, (s).weight, (s).recurrent_weight, (s).bias, (s).recurrent_bias, (s).peephole, (s).h, (s).state)

/* Index k of the first dimension, without it. */
static tensor part(struct graph_case *c, tensor t, uint32_t k) {
  uint32_t starts[4] = {k}, sizes[4] = {1}, shape[3];
  for (uint32_t d = 1; d < t->desc.ndims; d++) shape[d - 1] = sizes[d] = (uint32_t)t->desc.shape[d];
  return reshape(c, slice(c, t, starts, sizes), (struct pto_u32_list){shape, t->desc.ndims - 1});
}

static struct cell cell_of(struct graph_case *c, const struct sequence *s, uint32_t direction) {
  return (struct cell){.weight = part(c, s->weight, direction),
                       .recurrent_weight = part(c, s->recurrent_weight, direction),
                       .h = part(c, s->h, direction),
                       .state = part(c, s->state, direction),
                       .bias = part(c, s->bias, direction),
                       .recurrent_bias = part(c, s->recurrent_bias, direction),
                       .peephole = part(c, s->peephole, direction)};
}

/* sequence is [steps, directions, batch, hidden]: that of one step and direction. */
static tensor kept(struct graph_case *c, tensor sequence, uint32_t step, uint32_t direction) {
  return part(c, part(c, sequence, step), direction);
}

static void test_a_gru_is_its_cells_one_after_the_other(void **state) {
  for (uint32_t direction = PTO_DIRECTION_FORWARD; direction <= PTO_DIRECTION_BOTH; direction++) {
    struct graph_case c = {0};
    const uint32_t directions = direction == PTO_DIRECTION_BOTH ? 2 : 1;
    const struct sequence s = draw_sequence(&c, 3, directions, 40 + direction);
    const struct pto_gru_options options = {
        .steps = STEPS, .hidden_size = HIDDEN, .return_sequence = PTO_FLAG_YES, .direction = direction};
    const struct pto_gru_cell_options cell_options = {.hidden_size = HIDDEN};
    const tensor results = graph_case_call(&c, PTO_GRAPH_OP_gru, &options, GRU(s));
    for (uint32_t d = 0; d < directions; d++) {
      struct cell k = cell_of(&c, &s, d);
      for (uint32_t taken = 0; taken < STEPS; taken++) {
        const uint32_t step = direction == PTO_DIRECTION_BACKWARD || d == 1 ? STEPS - 1 - taken : taken;
        k.x = part(&c, s.x, step);
        k.h = graph_case_call(&c, PTO_GRAPH_OP_gru_cell, &cell_options, GRU_CELL(k));
        expect_near(kept(&c, &results[1], step, d), k.h, CLOSE);
      }
      expect_near(part(&c, &results[0], d), k.h, CLOSE);
    }
    graph_case_close(&c);
  }
}

static void test_an_lstm_is_its_cells_one_after_the_other(void **state) {
  for (uint32_t direction = PTO_DIRECTION_FORWARD; direction <= PTO_DIRECTION_BOTH; direction++) {
    struct graph_case c = {0};
    const uint32_t directions = direction == PTO_DIRECTION_BOTH ? 2 : 1;
    const struct sequence s = draw_sequence(&c, 4, directions, 50 + direction);
    const struct pto_lstm_options options = {
        .steps = STEPS, .hidden_size = HIDDEN, .return_sequence = PTO_FLAG_YES, .direction = direction};
    const struct pto_lstm_cell_options cell_options = {.hidden_size = HIDDEN};
    const tensor results = graph_case_call(&c, PTO_GRAPH_OP_lstm, &options, LSTM(s));
    for (uint32_t d = 0; d < directions; d++) {
      struct cell k = cell_of(&c, &s, d);
      for (uint32_t taken = 0; taken < STEPS; taken++) {
        const uint32_t step = direction == PTO_DIRECTION_BACKWARD || d == 1 ? STEPS - 1 - taken : taken;
        k.x = part(&c, s.x, step);
        const tensor next = graph_case_call(&c, PTO_GRAPH_OP_lstm_cell, &cell_options, LSTM_CELL(k));
        k.h = &next[0];
        k.state = &next[1];
        expect_near(kept(&c, &results[2], step, d), k.h, CLOSE);
      }
      expect_near(part(&c, &results[0], d), k.h, CLOSE);
      expect_near(part(&c, &results[1], d), k.state, CLOSE);
    }
    graph_case_close(&c);
  }
}

static void test_backward_is_forward_on_the_reversed_sequence(void **state) {
  struct graph_case c = {0};
  const struct sequence s = draw_sequence(&c, 4, 1, 60);
  struct sequence turned = s;
  turned.x = reversed(&c, s.x, 0);
  struct pto_lstm_options options = {.steps = STEPS, .hidden_size = HIDDEN, .return_sequence = PTO_FLAG_YES};
  const tensor forward = graph_case_call(&c, PTO_GRAPH_OP_lstm, &options, LSTM(turned));
  options.direction = PTO_DIRECTION_BACKWARD;
  const tensor backward = graph_case_call(&c, PTO_GRAPH_OP_lstm, &options, LSTM(s));
  graph_case_expect_equal(&backward[0], &forward[0], 0);
  graph_case_expect_equal(&backward[1], &forward[1], 0);
  graph_case_expect_equal(&backward[2], reversed(&c, &forward[2], 0), 0);
  graph_case_close(&c);
}

static void test_states_that_are_not_given_are_zero(void **state) {
  struct graph_case c = {0};
  struct sequence s = draw_sequence(&c, 4, 1, 70);
  const struct pto_lstm_options options = {.steps = STEPS, .hidden_size = HIDDEN};
  s.h = s.state = graph_case_tensor(&c, PTO_FLOAT32, SHAPE(1, BATCH, HIDDEN), NULL);
  const tensor zeros = graph_case_call(&c, PTO_GRAPH_OP_lstm, &options, LSTM(s));
  s.h = s.state = NULL;
  const tensor absent = graph_case_call(&c, PTO_GRAPH_OP_lstm, &options, LSTM(s));
  graph_case_expect_equal(&zeros[0], &absent[0], 0);
  graph_case_expect_equal(&zeros[1], &absent[1], 0);
  graph_case_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_gru_cell_is_its_decomposition),
      cmocka_unit_test(test_an_lstm_cell_is_its_decomposition),
      cmocka_unit_test(test_layouts_name_the_order_of_the_gates),
      cmocka_unit_test(test_activations_are_those_that_are_named),
      cmocka_unit_test(test_a_gru_is_its_cells_one_after_the_other),
      cmocka_unit_test(test_an_lstm_is_its_cells_one_after_the_other),
      cmocka_unit_test(test_backward_is_forward_on_the_reversed_sequence),
      cmocka_unit_test(test_states_that_are_not_given_are_zero),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
