/* SPDX-License-Identifier: MIT */
#include <graph/infer/infer.h>

#include <inttypes.h>

static int refuse_inner(struct pto_inference *inference, uint64_t a, uint64_t b) {
  return PTO_INFER_REFUSE(inference, "inner sizes %" PRIu64 " and %" PRIu64 " differ (a of shape %s, b of shape %s)", a,
                          b, PTO_SHAPE_TEXT(&inference->operands[0]), PTO_SHAPE_TEXT(&inference->operands[1]));
}

int pto_infer_matmul(struct pto_inference *inference) {
  const struct pto_graph_desc *a = &inference->operands[0], *b = &inference->operands[1];
  struct pto_graph_desc a_batch = *a, b_batch = *b, result = {.dtype = a->dtype};
  if (a->shape[a->ndims - 1] != b->shape[b->ndims - 2])
    return refuse_inner(inference, a->shape[a->ndims - 1], b->shape[b->ndims - 2]);
  a_batch.ndims -= 2;
  b_batch.ndims -= 2;
  if (!pto_shape_broadcast(&a_batch, &b_batch, &result)) {
    return PTO_INFER_REFUSE(inference, "the batch dimensions of a of shape %s and b of shape %s cannot be broadcast",
                            PTO_SHAPE_TEXT(a), PTO_SHAPE_TEXT(b));
  }
  result.shape[result.ndims++] = a->shape[a->ndims - 2];
  result.shape[result.ndims++] = b->shape[b->ndims - 1];
  return pto_infer_result(inference, &result);
}

int pto_infer_gemm(struct pto_inference *inference) {
  const struct pto_gemm_options *options = inference->options;
  const struct pto_graph_desc *a = &inference->operands[0], *b = &inference->operands[1], *c = &inference->operands[2];
  uint32_t a_transposed = options->a_transpose == PTO_FLAG_YES, b_transposed = options->b_transpose == PTO_FLAG_YES;
  uint64_t a_inner = a->shape[1 - a_transposed], b_inner = b->shape[b_transposed];
  if (a_inner != b_inner) return refuse_inner(inference, a_inner, b_inner);
  struct pto_graph_desc result = {
      .dtype = a->dtype, .ndims = 2, .shape = {a->shape[a_transposed], b->shape[1 - b_transposed]}};
  if (inference->has_operand[2] && !pto_shape_broadcasts_to(c, &result)) {
    return PTO_INFER_REFUSE(inference, "c of shape %s cannot be broadcast to the result of shape %s", PTO_SHAPE_TEXT(c),
                            PTO_SHAPE_TEXT(&result));
  }
  return pto_infer_result(inference, &result);
}

/* ---- recurrent networks ---- */

/* What gru, lstm and their cells have in common; `gates` is 3 or 4. */
struct recurrent {
  uint64_t directions, batch, input_size, hidden, gates;
};

static int check_hidden(struct pto_inference *inference, const struct recurrent *r, struct pto_u32_list activations,
                        uint32_t activation_count) {
  if (r->hidden == 0) return PTO_INFER_REFUSE(inference, "hiddenSize is 0");
  if (r->hidden * r->gates > PTO_DIM_MAX)
    return PTO_INFER_REFUSE(inference, "%" PRIu64 " times hiddenSize %" PRIu64 " is more than 4294967295", r->gates,
                            r->hidden);
  if (activations.values && activations.count != activation_count)
    return PTO_INFER_REFUSE(inference, "activations has %u values, not %u", activations.count, activation_count);
  return PTO_OK;
}

/* A shape in a loop over directions begins with their number; a cell's has no such dimension. */
static int expect(struct pto_inference *inference, uint32_t parameter, const struct recurrent *r, uint32_t ndims,
                  uint64_t first, uint64_t second) {
  uint64_t shape[3] = {r->directions, first, second};
  return r->directions ? pto_infer_expect_shape(inference, parameter, 1 + ndims, shape)
                       : pto_infer_expect_shape(inference, parameter, ndims, shape + 1);
}

static int expect_weights(struct pto_inference *inference, const struct recurrent *r) {
  int status = expect(inference, 1, r, 2, r->gates * r->hidden, r->input_size);
  return status ? status : expect(inference, 2, r, 2, r->gates * r->hidden, r->hidden);
}

static int expect_vectors(struct pto_inference *inference, const struct recurrent *r, uint32_t first, uint32_t count,
                          uint64_t gates) {
  int status = PTO_OK;
  for (uint32_t i = 0; status == PTO_OK && i < count; i++)
    status = expect(inference, first + i, r, 1, gates * r->hidden, 0);
  return status;
}

static int expect_states(struct pto_inference *inference, const struct recurrent *r, uint32_t first, uint32_t count) {
  int status = PTO_OK;
  for (uint32_t i = 0; status == PTO_OK && i < count; i++)
    status = expect(inference, first + i, r, 2, r->batch, r->hidden);
  return status;
}

static int add_states(struct pto_inference *inference, const struct recurrent *r, uint32_t count) {
  struct pto_graph_desc state = {.dtype = inference->operands[0].dtype};
  if (r->directions) state.shape[state.ndims++] = r->directions;
  state.shape[state.ndims++] = r->batch;
  state.shape[state.ndims++] = r->hidden;
  for (uint32_t i = 0; i < count; i++) (void)pto_infer_result(inference, &state);
  return PTO_OK;
}

static int add_sequence(struct pto_inference *inference, const struct recurrent *r, uint64_t steps) {
  struct pto_graph_desc sequence = {
      .dtype = inference->operands[0].dtype, .ndims = 4, .shape = {steps, r->directions, r->batch, r->hidden}};
  return pto_infer_result(inference, &sequence);
}

static int check_steps(struct pto_inference *inference, uint32_t steps) {
  uint64_t given = inference->operands[0].shape[0];
  if (steps == 0) return PTO_INFER_REFUSE(inference, "steps is 0");
  if (steps == given) return PTO_OK;
  return PTO_INFER_REFUSE(inference, "steps is %u, and input has %" PRIu64, steps, given);
}

/* Operands of a loop: input, weights, biases, of an lstm a peephole, which has no cell gate, then the states. */
static int infer_loop(struct pto_inference *inference, uint64_t gates, uint32_t direction, uint32_t hidden,
                      uint32_t steps, struct pto_u32_list activations, bool has_sequence) {
  const uint64_t *shape = inference->operands[0].shape;
  const struct recurrent r = {direction == PTO_DIRECTION_BOTH ? 2 : 1, shape[1], shape[2], hidden, gates};
  const uint32_t states = gates == 4 ? 2 : 1;
  int status = check_hidden(inference, &r, activations, states + 1);
  if (status == PTO_OK) status = check_steps(inference, steps);
  if (status == PTO_OK) status = expect_weights(inference, &r);
  if (status == PTO_OK) status = expect_vectors(inference, &r, 3, 2, gates);
  if (status == PTO_OK && gates == 4) status = expect_vectors(inference, &r, 5, 1, 3);
  if (status == PTO_OK) status = expect_states(inference, &r, gates == 4 ? 6 : 5, states);
  if (status == PTO_OK) status = add_states(inference, &r, states);
  return status || !has_sequence ? status : add_sequence(inference, &r, steps);
}

/* Those of a cell: input, weights, states, biases, of an lstm a peephole. */
static int infer_cell(struct pto_inference *inference, uint64_t gates, uint32_t hidden,
                      struct pto_u32_list activations) {
  const uint64_t *shape = inference->operands[0].shape;
  const struct recurrent r = {0, shape[0], shape[1], hidden, gates};
  const uint32_t states = gates == 4 ? 2 : 1;
  int status = check_hidden(inference, &r, activations, states + 1);
  if (status == PTO_OK) status = expect_weights(inference, &r);
  if (status == PTO_OK) status = expect_states(inference, &r, 3, states);
  if (status == PTO_OK) status = expect_vectors(inference, &r, 3 + states, 2, gates);
  if (status == PTO_OK && gates == 4) status = expect_vectors(inference, &r, 7, 1, 3);
  return status ? status : add_states(inference, &r, states);
}

int pto_infer_gru(struct pto_inference *inference) {
  const struct pto_gru_options *options = inference->options;
  return infer_loop(inference, 3, options->direction, options->hidden_size, options->steps, options->activations,
                    options->return_sequence == PTO_FLAG_YES);
}
int pto_infer_gru_cell(struct pto_inference *inference) {
  const struct pto_gru_cell_options *options = inference->options;
  return infer_cell(inference, 3, options->hidden_size, options->activations);
}
int pto_infer_lstm(struct pto_inference *inference) {
  const struct pto_lstm_options *options = inference->options;
  return infer_loop(inference, 4, options->direction, options->hidden_size, options->steps, options->activations,
                    options->return_sequence == PTO_FLAG_YES);
}
int pto_infer_lstm_cell(struct pto_inference *inference) {
  const struct pto_lstm_cell_options *options = inference->options;
  return infer_cell(inference, 4, options->hidden_size, options->activations);
}
