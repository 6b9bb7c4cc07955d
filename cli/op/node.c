/* SPDX-License-Identifier: MIT */
/*
 * A graph of one node: what the options of `ptosim op` ask of an operation of graphs.
 *
 * Operands stand in the order of the operation's parameters and are inputs of the graph, called as these; results are
 * its outputs.
 */
#include <cli/op/op.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <graph/build/op_attributes.h>
#include <runtime/base/base.h>

/* Items of a list in --set. */
#define MOST_ITEMS 64u
#define MOST_OPERANDS 64u

/* ---- options of the operation ---- */

static struct pto_attribute_value value_of(const char *word) {
  struct pto_attribute_value value = {.kind = PTO_VALUE_WORD, .as.word = word};
  char *end;
  if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0)
    return (struct pto_attribute_value){.kind = PTO_VALUE_BOOL, .as.truth = word[0] == 't'};
  if (word[0] == '\0') return value;
  errno = 0;
  const long long whole = strtoll(word, &end, 10);
  if (*end == '\0' && errno == 0) return (struct pto_attribute_value){.as.number = pto_number_i64(whole)};
  const double number = strtod(word, &end);
  if (*end == '\0') return (struct pto_attribute_value){.as.number = pto_number_f64(number)};
  return value;
}

static bool is_list(const struct pto_op_info *info, const char *name) {
  const struct pto_op_attribute *attribute = pto_op_attribute_find(info, name);
  return attribute && (attribute->kind == PTO_ATTRIBUTE_U32_LIST || attribute->kind == PTO_ATTRIBUTE_F32_LIST ||
                       attribute->kind == PTO_ATTRIBUTE_WORD_LIST);
}

/* "strides=2,2": what has a comma is a list, and so is what must be one. */
static int set_attribute(struct pto_op_attributes *attributes, const struct pto_op_info *info, const char *setting,
                         struct pto_error *error) {
  struct pto_attribute_value items[MOST_ITEMS], value;
  char text[512];
  uint32_t count = 0;
  if (strlen(setting) >= sizeof text) return pto_error_set(error, PTO_EINVAL, "--set: \"%.60s…\" is too long", setting);
  memcpy(text, setting, strlen(setting) + 1);
  char *word = strchr(text, '=');
  *word++ = '\0';
  if (strchr(word, ',') == NULL && !is_list(info, text)) {
    value = value_of(word);
  } else {
    while (word != NULL && *word != '\0') {
      if (count == MOST_ITEMS)
        return pto_error_set(error, PTO_EINVAL, "--set: %s has more than %u items", text, MOST_ITEMS);
      char *comma = strchr(word, ',');
      if (comma != NULL) *comma = '\0';
      items[count++] = value_of(word);
      word = comma != NULL ? comma + 1 : NULL;
    }
    value = (struct pto_attribute_value){.kind = PTO_VALUE_LIST, .as.list = {items, count}};
  }
  return pto_op_attributes_set(attributes, text, &value, error);
}

static int set_attributes(const struct pto_op_options *options, const struct pto_op_info *info,
                          struct pto_op_attributes *attributes, struct pto_error *error) {
  int status = PTO_OK;
  const struct pto_string_list *settings = &options->common.settings;
  for (size_t i = 0; i < settings->count && status == PTO_OK; i++)
    status = set_attribute(attributes, info, settings->items[i], error);
  return status == PTO_OK ? pto_op_attributes_finish(attributes, error) : status;
}

/* ---- operands ---- */

struct operands {
  struct pto_graph_desc descs[MOST_OPERANDS];
  uint32_t count;
};

static const struct pto_op_parameter *parameter_of(const struct pto_op_info *info, uint32_t operand) {
  return &info->parameters[info->parameters[0].is_list ? 0 : operand];
}

/* One shape is that of every operand that there must be; several are those of the first operands. */
static int plan_shapes(const struct pto_op_options *options, const struct pto_op_info *info, struct operands *operands,
                       struct pto_error *error) {
  struct pto_reference_shape shapes[PTO_MAX_TENSORS] = {{2, {128, 128}}};
  uint32_t given = 1, required = 0;
  const bool has_list = info->parameters[0].is_list;
  const int status = options->shapes == NULL ? PTO_OK : pto_op_parse_shapes(options->shapes, shapes, &given, error);
  if (status != PTO_OK) return status;
  while (required < info->parameter_count && !info->parameters[required].is_optional) required++;
  operands->count = given > 1 ? given : has_list ? 2 : required;
  if (operands->count < required || (!has_list && operands->count > info->parameter_count))
    return pto_error_set(error, PTO_EINVAL,
                         "%s has %" PRIu32 " to %" PRIu32 " operands, --shape gives %" PRIu32 " shapes", info->name,
                         required, info->parameter_count, given);
  for (uint32_t i = 0; i < operands->count; i++) {
    const struct pto_reference_shape *shape = &shapes[given > 1 ? i : 0];
    operands->descs[i].ndims = shape->ndims;
    memcpy(operands->descs[i].shape, shape->shape, sizeof operands->descs[i].shape);
  }
  return PTO_OK;
}

/* A parameter that must have another's dtype has it; one that may not have the one dtype that is given, its first. */
static int plan_dtypes(const struct pto_op_info *info, const uint32_t *dtypes, uint32_t count,
                       struct operands *operands, struct pto_error *error) {
  bool is_used = false;
  if (count != 1 && count != operands->count)
    return pto_error_set(error, PTO_EINVAL, "%s has %" PRIu32 " operands here, --dtype gives %" PRIu32, info->name,
                         operands->count, count);
  for (uint32_t i = 0; i < operands->count; i++) {
    const struct pto_op_parameter *parameter = parameter_of(info, i);
    uint32_t *dtype = &operands->descs[i].dtype;
    *dtype = dtypes[count == 1 ? 0 : i];
    if (count > 1) {
      is_used = true;
    } else if (parameter->same_dtype) {
      *dtype = operands->descs[parameter->same_dtype - 1].dtype;
    } else if ((parameter->dtypes & PTO_DTYPE_BIT(*dtype)) != 0) {
      is_used = true;
    } else {
      *dtype = (uint32_t)__builtin_ctz(parameter->dtypes);
    }
  }
  if (is_used) return PTO_OK;
  return pto_error_set(error, PTO_EINVAL, "%s does not take %s; `ptosim op support %s` shows what it takes", info->name,
                       pto_dtype_name(dtypes[0]), info->name);
}

/* ---- the graph ---- */

static int call(struct pto_graph_builder *builder, uint32_t op, const struct operands *operands,
                const struct pto_op_attributes *attributes, struct pto_graph **graph_out) {
  static struct pto_graph_operand results[PTO_GRAPH_MAX_RESULTS];
  static struct pto_graph_output outputs[PTO_GRAPH_MAX_RESULTS];
  static char names[PTO_GRAPH_MAX_RESULTS][24];
  struct pto_graph_operand inputs[MOST_OPERANDS] = {{0}};
  const struct pto_op_info *info = pto_op_info(op);
  const bool has_list = info->parameters[0].is_list;
  uint32_t result_count;
  for (uint32_t i = 0; i < operands->count; i++) {
    char name[64];
    snprintf(name, sizeof name, has_list ? "%s%" PRIu32 : "%s", parameter_of(info, i)->name, i);
    inputs[i] = pto_graph_builder_input(builder, name, &operands->descs[i]);
  }
  const struct pto_graph_call node = {.op = op,
                                      .operands = inputs,
                                      .operand_count = has_list ? operands->count : info->parameter_count,
                                      .options = attributes->options};
  const int status = pto_graph_builder_call(builder, &node, results, PTO_GRAPH_MAX_RESULTS, &result_count);
  if (status != PTO_OK) return status;
  for (uint32_t i = 0; i < result_count; i++) {
    snprintf(names[i], sizeof names[i], "result%" PRIu32, i);
    outputs[i] = (struct pto_graph_output){names[i], results[i]};
  }
  return pto_graph_builder_build(builder, outputs, result_count, graph_out);
}

int pto_op_node_create(const struct pto_op_options *options, uint32_t op, uint32_t dtype, struct pto_graph **graph_out,
                       struct pto_error *error) {
  const struct pto_op_info *info = pto_op_info(op);
  struct pto_op_attributes attributes;
  struct pto_graph_builder *builder = NULL;
  struct operands operands = {.count = 0};
  uint32_t dtypes[PTO_MAX_TENSORS] = {dtype}, dtype_count = 1;
  int status = plan_shapes(options, info, &operands, error);
  if (status == PTO_OK && options->dtypes != NULL)
    status = pto_op_parse_dtypes(options->dtypes, dtypes, &dtype_count, error);
  if (status == PTO_OK) status = plan_dtypes(info, dtypes, dtype_count, &operands, error);
  if (status != PTO_OK) return status;
  pto_op_attributes_init(&attributes, op);
  status = set_attributes(options, info, &attributes, error);
  if (status != PTO_OK) {
    char reason[sizeof error->sentence];
    snprintf(reason, sizeof reason, "%s", error->sentence);
    status = pto_error_set(error, status, "%s: %.300s", info->name, reason);
  } else if ((status = pto_graph_builder_create(NULL, &builder)) != PTO_OK) {
    (void)pto_error_set(error, status, "out of memory");
  } else if ((status = call(builder, op, &operands, &attributes, graph_out)) != PTO_OK) {
    (void)pto_error_set(error, status, "%s", pto_graph_builder_error(builder));
  }
  pto_graph_builder_destroy(builder);
  pto_op_attributes_fini(&attributes);
  return status;
}
