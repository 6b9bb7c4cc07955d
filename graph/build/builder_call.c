/* SPDX-License-Identifier: MIT */
#include <graph/build/builder_state.h>

#include <stdio.h>
#include <string.h>

#include <graph/infer/infer.h>
#include <graph/build/op_attributes.h>
#include <runtime/base/utf8.h>

/* One call on its way: what it is about, and what inference says of it. */
struct call_state {
  const struct pto_op_info *info;
  const struct pto_graph_call *call;
  uint32_t *values;             /* by operand; 0: absent */
  struct pto_graph_desc *descs; /* by operand */
  bool *has_operand;            /* by operand */
  struct pto_graph_desc *results;
  uint64_t *result_bytes;
  struct pto_inference inference;
  struct pto_error error;
  _Alignas(16) char options[PTO_OPTIONS_BYTES];
};

/* ---- operands ---- */

static const struct pto_op_parameter *parameter_of(const struct pto_op_info *info, uint32_t operand) {
  return info->parameters[0].is_list ? &info->parameters[0] : &info->parameters[operand];
}

/* "inputs[3]" or "scale". */
static const char *operand_name(const struct pto_op_info *info, uint32_t operand, char room[48]) {
  if (!info->parameters[0].is_list) return info->parameters[operand].name;
  snprintf(room, 48, "%s[%u]", info->parameters[0].name, operand);
  return room;
}

static int check_operand_count(struct call_state *state) {
  const struct pto_op_info *info = state->info;
  uint32_t count = state->call->operand_count;
  uint32_t most = info->parameters[0].is_list ? PTO_GRAPH_MAX_OPERANDS : info->parameter_count;
  if (count <= most && count && state->call->operands) return PTO_OK;
  return pto_error_set(&state->error, PTO_EINVAL, "%u operands, not 1 to %u", count, most);
}

/* Dtypes as a list for a sentence: "float32, float16". */
static const char *dtypes_text(uint32_t dtypes, char text[160]) {
  size_t used = 0;
  text[0] = '\0';
  for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++)
    if (dtypes & PTO_DTYPE_BIT(dtype))
      used += (size_t)snprintf(text + used, 160 - used, "%s%s", used ? ", " : "", pto_graph_dtype_name(dtype));
  return text;
}

static int check_dtype_and_rank(struct call_state *state, uint32_t operand, const char *name) {
  const struct pto_op_parameter *parameter = parameter_of(state->info, operand);
  const struct pto_graph_desc *desc = &state->descs[operand];
  char text[160];
  if (parameter->same_dtype && desc->dtype != state->descs[parameter->same_dtype - 1].dtype)
    return pto_error_set(&state->error, PTO_EINVAL, "%s is %s, and %s is %s", name, pto_graph_dtype_name(desc->dtype),
                         state->info->parameters[parameter->same_dtype - 1].name,
                         pto_graph_dtype_name(state->descs[parameter->same_dtype - 1].dtype));
  if (!(parameter->dtypes & PTO_DTYPE_BIT(desc->dtype)))
    return pto_error_set(&state->error, PTO_EINVAL, "%s is %s, not %s", name, pto_graph_dtype_name(desc->dtype),
                         dtypes_text(parameter->dtypes, text));
  if (desc->ndims >= parameter->min_rank && desc->ndims <= parameter->max_rank) return PTO_OK;
  return pto_error_set(&state->error, PTO_EINVAL, "%s of shape %s has %u dimensions, not %u%s%.0u", name,
                       PTO_SHAPE_TEXT(desc), desc->ndims, parameter->min_rank,
                       parameter->max_rank == parameter->min_rank ? "" : " to ",
                       parameter->max_rank == parameter->min_rank ? 0 : parameter->max_rank);
}

/* The operands' values and descriptors; absent ones stay zero. */
static int resolve_operands(struct pto_graph_builder *builder, struct call_state *state) {
  const struct pto_op_info *info = state->info;
  for (uint32_t i = 0; i < state->inference.operand_count; i++) {
    struct pto_graph_operand given =
        i < state->call->operand_count ? state->call->operands[i] : (struct pto_graph_operand){0};
    char room[48];
    const char *name = operand_name(info, i, room);
    if (parameter_of(info, i)->is_optional && !given.index && !given.builder) continue;
    struct pto_error error;
    int status = pto_builder_value(builder, given, &state->values[i], &error);
    if (status) return pto_error_set(&state->error, status, "%s %s", name, error.sentence);
    state->descs[i] = builder->values[given.index].desc;
    state->has_operand[i] = true;
    status = check_dtype_and_rank(state, i, name);
    if (status) return status;
  }
  return PTO_OK;
}

/* ---- inference ---- */

static int infer(struct pto_graph_builder *builder, struct call_state *state) {
  struct pto_inference *inference = &state->inference;
  int status =
      state->call->options ? pto_op_options_check(state->call->op, state->call->options, &state->error) : PTO_OK;
  if (status) return status;
  pto_op_options_normalise(state->call->op, state->call->options, state->descs[0].ndims, state->options);
  status = state->info->infer(inference);
  if (status) return status;
  uint32_t wanted = state->call->result_count;
  if (wanted && inference->result_count != wanted)
    return pto_error_set(&state->error, PTO_EINVAL, "it has %u results, and %u are asked for", inference->result_count,
                         wanted);
  for (uint32_t i = 0; i < inference->result_count; i++) {
    struct pto_error error;
    status = pto_builder_check_desc(builder, &state->results[i], &state->result_bytes[i], &error);
    if (status) return pto_error_set(&state->error, status, "result: %s", error.sentence);
  }
  return PTO_OK;
}

/* ---- keeping ---- */

static int out_of_memory(struct call_state *state) { return pto_error_set(&state->error, PTO_ENOMEM, "out of memory"); }

static const char *label_of(const struct pto_graph_call *call) {
  const char *label = call->options ? *(const char *const *)call->options : NULL;
  return label && label[0] ? label : NULL;
}

static bool copy_node(struct pto_graph_builder *builder, struct call_state *state, struct pto_graph_node *node) {
  const char *label = label_of(state->call);
  if (label && !(node->label = pto_graph_arena_string(&builder->arena, label))) return false;
  node->operands = pto_graph_arena_copy(&builder->arena, state->values, node->operand_count, sizeof *state->values);
  node->options = pto_op_options_copy(state->call->op, state->options, &builder->arena);
  return node->operands && node->options;
}

/* Nodes and values that inference accepted. */
static int keep(struct pto_graph_builder *builder, struct call_state *state, struct pto_graph_operand *results) {
  uint32_t count = state->inference.result_count;
  struct pto_graph_node node = {.op = state->call->op,
                                .operand_count = state->inference.operand_count,
                                .first_result = builder->value_count,
                                .result_count = count};
  if (builder->value_count + (uint64_t)count > PTO_GRAPH_MAX_VALUES)
    return pto_error_set(&state->error, PTO_EINVAL, "a graph has at most %u operands", PTO_GRAPH_MAX_VALUES);
  if (!pto_builder_grow((void **)&builder->values, &builder->value_capacity, builder->value_count, count,
                        sizeof *builder->values) ||
      !pto_builder_grow((void **)&builder->nodes, &builder->node_capacity, builder->node_count, 1,
                        sizeof *builder->nodes))
    return out_of_memory(state);
  struct pto_graph_arena_mark mark = pto_graph_arena_mark(&builder->arena);
  if (!copy_node(builder, state, &node)) {
    pto_graph_arena_release(&builder->arena, mark);
    return out_of_memory(state);
  }
  builder->nodes[builder->node_count++] = node;
  for (uint32_t i = 0; i < count; i++) {
    builder->values[builder->value_count] = (struct pto_graph_value){.desc = state->results[i],
                                                                     .kind = PTO_VALUE_RESULT,
                                                                     .producer = builder->node_count,
                                                                     .size_bytes = state->result_bytes[i]};
    results[i] = (struct pto_graph_operand){builder->value_count++, builder->id};
  }
  return PTO_OK;
}

/* ---- the call ---- */

/* Room for operands and results of all but concat and split. */
#define FEW 16u

static int call_with_room(struct pto_graph_builder *builder, struct call_state *state,
                          struct pto_graph_operand *results, uint32_t result_room) {
  state->inference.options = state->options;
  state->inference.operands = state->descs;
  state->inference.has_operand = state->has_operand;
  state->inference.results = state->results;
  state->inference.error = &state->error;
  int status = resolve_operands(builder, state);
  if (status == PTO_OK) status = infer(builder, state);
  if (status == PTO_OK && state->inference.result_count > result_room)
    status = pto_error_set(&state->error, PTO_EINVAL, "it has %u results, and there is room for %u",
                           state->inference.result_count, result_room);
  if (status == PTO_OK) status = keep(builder, state, results);
  return status;
}

/* Operands and results on the stack where they are few, as they nearly always are. */
static int call_with_few(struct pto_graph_builder *builder, struct call_state *state, struct pto_graph_operand *results,
                         uint32_t result_room) {
  uint32_t values[FEW] = {0};
  bool has_operand[FEW] = {false};
  struct pto_graph_desc descs[FEW] = {0}, result_descs[FEW];
  uint64_t result_bytes[FEW];
  state->values = values;
  state->has_operand = has_operand;
  state->descs = descs;
  state->results = result_descs;
  state->result_bytes = result_bytes;
  return call_with_room(builder, state, results, result_room);
}

static int call_with_many(struct pto_graph_builder *builder, struct call_state *state,
                          struct pto_graph_operand *results, uint32_t result_room) {
  struct pto_graph_arena arena = {0};
  uint32_t count = state->inference.operand_count;
  int status = PTO_OK;
  state->values = pto_graph_arena_alloc(&arena, count * sizeof *state->values);
  state->has_operand = pto_graph_arena_alloc(&arena, count * sizeof *state->has_operand);
  state->descs = pto_graph_arena_alloc(&arena, count * sizeof *state->descs);
  state->results = pto_graph_arena_alloc(&arena, PTO_GRAPH_MAX_RESULTS * sizeof *state->results);
  state->result_bytes = pto_graph_arena_alloc(&arena, PTO_GRAPH_MAX_RESULTS * sizeof *state->result_bytes);
  if (state->values && state->has_operand && state->descs && state->results && state->result_bytes)
    status = call_with_room(builder, state, results, result_room);
  else
    status = out_of_memory(state);
  pto_graph_arena_fini(&arena);
  return status;
}

/* Puts operation and label in front of the sentence. */
static int refuse_call(struct pto_graph_builder *builder, const struct call_state *state, int status) {
  const char *label = label_of(state->call);
  if (!label) return pto_builder_refuse(builder, status, "%s: %s", state->info->name, state->error.sentence);
  return pto_builder_refuse(builder, status, "%s \"%.90s\": %s", state->info->name, label, state->error.sentence);
}

int pto_graph_builder_call(struct pto_graph_builder *builder, const struct pto_graph_call *call,
                           struct pto_graph_operand *results, uint32_t result_room, uint32_t *result_count_out) {
  bool is_known = pto_op_is_known(call->op);
  int status = pto_builder_begin_call(builder, is_known ? pto_op_info(call->op)->name : "call");
  if (status) return status;
  if (!is_known) return pto_builder_refuse(builder, PTO_EINVAL, "call: there is no operation %u", call->op);
  struct call_state state = {.info = pto_op_info(call->op), .call = call, .inference = {.op = call->op}};
  bool is_list = state.info->parameters[0].is_list;
  state.inference.operand_count = is_list ? call->operand_count : state.info->parameter_count;
  const char *label = label_of(call);
  status = !label || pto_utf8_is_valid(label) ? check_operand_count(&state)
                                              : pto_error_set(&state.error, PTO_EINVAL, "the label is no UTF-8");
  if (status == PTO_OK) {
    bool has_few = state.inference.operand_count <= FEW && call->op != PTO_GRAPH_OP_split;
    status = has_few ? call_with_few(builder, &state, results, result_room)
                     : call_with_many(builder, &state, results, result_room);
  }
  if (status) return refuse_call(builder, &state, status);
  *result_count_out = state.inference.result_count;
  return PTO_OK;
}
