/* SPDX-License-Identifier: MIT */
#include <graph/build/builder_state.h>

#include <string.h>

/* The operands of the options, as the table says where they are, behind `count` required ones. */
static uint32_t gather_operands(const struct pto_op_info *info, const struct pto_graph_operand *required,
                                const void *options, struct pto_graph_operand operands[]) {
  uint32_t next = 0;
  for (uint32_t i = 0; i < info->parameter_count; i++) {
    const struct pto_op_parameter *parameter = &info->parameters[i];
    if (!parameter->is_optional)
      operands[i] = required[next++];
    else if (options)
      memcpy(&operands[i], (const char *)options + parameter->offset, sizeof operands[i]);
    else
      operands[i] = (struct pto_graph_operand){0};
  }
  return info->parameter_count;
}

#define PARAMETERS_MAX 8u

static int call_results(struct pto_graph_builder *builder, uint32_t op, const struct pto_graph_operand *required,
                        const void *options, struct pto_graph_operand *results, uint32_t result_count) {
  struct pto_graph_operand operands[PARAMETERS_MAX];
  uint32_t count = gather_operands(pto_op_info(op), required, options, operands);
  struct pto_graph_call call = {op, operands, count, options, result_count};
  return pto_graph_builder_call(builder, &call, results, result_count, &count);
}

static struct pto_graph_operand call_one(struct pto_graph_builder *builder, uint32_t op,
                                         const struct pto_graph_operand *required, const void *options) {
  struct pto_graph_operand result = {0, builder ? builder->id : 0};
  (void)call_results(builder, op, required, options, &result, 1);
  return result;
}

/* Several results; where the call is refused, they are what a refused call returns. */
static int call_some(struct pto_graph_builder *builder, uint32_t op, const struct pto_graph_operand *required,
                     const void *options, struct pto_graph_operand *outputs, uint32_t output_count) {
  for (uint32_t i = 0; i < output_count; i++) outputs[i] = (struct pto_graph_operand){0, builder ? builder->id : 0};
  if (output_count == 0) {
    int status = pto_builder_begin_call(builder, pto_op_info(op)->name);
    return status ? status
                  : pto_builder_refuse(builder, PTO_EINVAL, "%s: no results are asked for", pto_op_info(op)->name);
  }
  return call_results(builder, op, required, options, outputs, output_count);
}

/* ---- calls by form: what is required, then options ---- */

#define OPERANDS(...) ((const struct pto_graph_operand[]){__VA_ARGS__})
#define ONE(id, options_name)                                                                                          \
  struct pto_graph_operand pto_graph_builder_##id(struct pto_graph_builder *builder, struct pto_graph_operand input,   \
                                                  const struct options_name *options) {                                \
    return call_one(builder, PTO_GRAPH_OP_##id, OPERANDS(input), options);                                             \
  }
#define TWO(id, options_name)                                                                                          \
  struct pto_graph_operand pto_graph_builder_##id(struct pto_graph_builder *builder, struct pto_graph_operand a,       \
                                                  struct pto_graph_operand b, const struct options_name *options) {    \
    return call_one(builder, PTO_GRAPH_OP_##id, OPERANDS(a, b), options);                                              \
  }
#define THREE(id, options_name)                                                                                        \
  struct pto_graph_operand pto_graph_builder_##id(struct pto_graph_builder *builder, struct pto_graph_operand a,       \
                                                  struct pto_graph_operand b, struct pto_graph_operand c,              \
                                                  const struct options_name *options) {                                \
    return call_one(builder, PTO_GRAPH_OP_##id, OPERANDS(a, b, c), options);                                           \
  }

#define OWN(id, options_name)
#define X(id, name, options, call, ...) call(id, pto_##options##_options)
PTO_OP_LIST(X)
#undef X

/* ---- the others ---- */

struct pto_graph_operand pto_graph_builder_gru_cell(struct pto_graph_builder *builder, struct pto_graph_operand input,
                                                    struct pto_graph_operand weight,
                                                    struct pto_graph_operand recurrent_weight,
                                                    struct pto_graph_operand hidden_state,
                                                    const struct pto_gru_cell_options *options) {
  return call_one(builder, PTO_GRAPH_OP_gru_cell, OPERANDS(input, weight, recurrent_weight, hidden_state), options);
}

struct pto_graph_operand pto_graph_builder_concat(struct pto_graph_builder *builder,
                                                  const struct pto_graph_operand *inputs, uint32_t input_count,
                                                  const struct pto_concat_options *options) {
  struct pto_graph_operand result;
  struct pto_graph_call call = {PTO_GRAPH_OP_concat, inputs, input_count, options, 1};
  uint32_t count = 0;
  int status = pto_graph_builder_call(builder, &call, &result, 1, &count);
  return status ? (struct pto_graph_operand){0, builder ? builder->id : 0} : result;
}

int pto_graph_builder_split(struct pto_graph_builder *builder, struct pto_graph_operand input,
                            const struct pto_split_options *options, struct pto_graph_operand *outputs,
                            uint32_t output_count) {
  return call_some(builder, PTO_GRAPH_OP_split, &input, options, outputs, output_count);
}

int pto_graph_builder_gru(struct pto_graph_builder *builder, struct pto_graph_operand input,
                          struct pto_graph_operand weight, struct pto_graph_operand recurrent_weight,
                          const struct pto_gru_options *options, struct pto_graph_operand *outputs,
                          uint32_t output_count) {
  return call_some(builder, PTO_GRAPH_OP_gru, OPERANDS(input, weight, recurrent_weight), options, outputs,
                   output_count);
}

int pto_graph_builder_lstm(struct pto_graph_builder *builder, struct pto_graph_operand input,
                           struct pto_graph_operand weight, struct pto_graph_operand recurrent_weight,
                           const struct pto_lstm_options *options, struct pto_graph_operand *outputs,
                           uint32_t output_count) {
  return call_some(builder, PTO_GRAPH_OP_lstm, OPERANDS(input, weight, recurrent_weight), options, outputs,
                   output_count);
}

int pto_graph_builder_lstm_cell(struct pto_graph_builder *builder, struct pto_graph_operand input,
                                struct pto_graph_operand weight, struct pto_graph_operand recurrent_weight,
                                struct pto_graph_operand hidden_state, struct pto_graph_operand cell_state,
                                const struct pto_lstm_cell_options *options, struct pto_graph_operand *outputs,
                                uint32_t output_count) {
  return call_some(builder, PTO_GRAPH_OP_lstm_cell, OPERANDS(input, weight, recurrent_weight, hidden_state, cell_state),
                   options, outputs, output_count);
}
