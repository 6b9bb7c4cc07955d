/* SPDX-License-Identifier: MIT */
#include <tests/conformance/case_call.h>

#include <string.h>

#include <tests/conformance/case_json.h>

/* One call on its way. */
struct state {
  const struct pto_op_info *info;
  pto_case_operand *operand;
  void *context;
  struct pto_op_attributes attributes;
  struct pto_graph_operand operands[PTO_GRAPH_MAX_OPERANDS];
  uint32_t operand_count;
  struct pto_error *error;
};

static int read_list(struct state *state, const char *name, json_t *json) {
  if (json_array_size(json) > PTO_GRAPH_MAX_OPERANDS)
    return pto_error_set(state->error, PTO_EINVAL, "%s has %zu operands", name, json_array_size(json));
  state->operand_count = (uint32_t)json_array_size(json);
  int status = PTO_OK;
  for (uint32_t i = 0; status == PTO_OK && i < state->operand_count; i++)
    status = state->operand(state->context, name, json_array_get(json, i), &state->operands[i], state->error);
  return status;
}

static int read_operands(struct state *state, json_t *operands) {
  const struct pto_op_info *info = state->info;
  const char *name;
  json_t *json;
  state->operand_count = info->parameters[0].is_list ? 0 : info->parameter_count;
  json_object_foreach(operands, name, json) {
    uint32_t i = 0;
    while (i < info->parameter_count && strcmp(name, info->parameters[i].name) != 0) i++;
    if (i == info->parameter_count)
      return pto_error_set(state->error, PTO_ENOTSUP, "%s has no operand \"%.60s\"", info->name, name);
    int status = info->parameters[i].is_list
                     ? read_list(state, name, json)
                     : state->operand(state->context, name, json, &state->operands[i], state->error);
    if (status) return status;
  }
  return PTO_OK;
}

static int read_attributes(struct state *state, json_t *attrs) {
  const char *name;
  json_t *json;
  json_object_foreach(attrs, name, json) {
    struct pto_attribute_value value;
    /* An empty list of operands is among the attributes of a file. */
    bool is_operands = state->info->parameters[0].is_list && strcmp(name, state->info->parameters[0].name) == 0;
    if (is_operands && json_array_size(json) == 0) continue;
    int status = pto_case_json_attribute(json, &state->attributes.arena, &value, state->error);
    if (status == PTO_OK) status = pto_op_attributes_set(&state->attributes, name, &value, state->error);
    if (status) return status;
  }
  return pto_op_attributes_finish(&state->attributes, state->error);
}

int pto_case_call(struct pto_graph_builder *builder, const char *op, json_t *operands, json_t *attrs,
                  pto_case_operand *operand, void *context, struct pto_graph_operand *results, uint32_t result_room,
                  uint32_t *result_count_out, struct pto_error *error) {
  uint32_t number = pto_op_find(op);
  if (number == PTO_GRAPH_OP_COUNT) return pto_error_set(error, PTO_ENOTSUP, "there is no operation \"%.60s\"", op);
  struct state state;
  memset(&state, 0, sizeof state);
  state.info = pto_op_info(number);
  state.operand = operand;
  state.context = context;
  state.error = error;
  pto_op_attributes_init(&state.attributes, number);
  int status = read_operands(&state, operands);
  if (status == PTO_OK) status = read_attributes(&state, attrs);
  if (status == PTO_OK) {
    struct pto_graph_call call = {number, state.operands, state.operand_count, state.attributes.options, 0};
    status = pto_graph_builder_call(builder, &call, results, result_room, result_count_out);
    if (status) (void)pto_error_set(error, status, "%s", pto_graph_builder_error(builder));
  }
  pto_op_attributes_fini(&state.attributes);
  return status;
}
