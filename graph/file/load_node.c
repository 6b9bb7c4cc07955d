/* SPDX-License-Identifier: MIT */
#include <graph/file/load.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <graph/build/op_attributes.h>
#include <runtime/base/base.h>
#include <runtime/base/closest.h>

/* One node on its way to the builder. */
struct node {
  struct pto_graph_loader *loader;
  const struct pto_op_info *info;
  json_t *inputs, *options; /* options NULL: none */
  const char *id;
  uint32_t index, op;
  struct pto_graph_operand *operands; /* by parameter, or all of the list */
  uint32_t operand_count;
  struct pto_op_attributes attributes;
};

/* ---- options ---- */

/* Names that converters write and neither state of the specification has. */
static const char *spelling(const struct node *node, const char *key) {
  return node->op == PTO_GRAPH_OP_cast && strcmp(key, "to") == 0 ? "dataType" : key;
}

/* The optional operand called `key`, or the number of parameters. */
static uint32_t find_parameter(const struct node *node, const char *key) {
  uint32_t i = 0;
  while (i < node->info->parameter_count &&
         (!node->info->parameters[i].is_optional || strcmp(node->info->parameters[i].name, key) != 0))
    i++;
  return i;
}

/* What a JSON value is to the table of attributes; a list's items are in scratch. */
static struct pto_attribute_value value_of(struct node *node, const struct pto_op_attribute *attribute, json_t *json) {
  struct pto_attribute_value value = {.kind = PTO_VALUE_WORD, .as.word = "an object"};
  const bool is_number = attribute && attribute->kind == PTO_ATTRIBUTE_NUMBER;
  if (json_is_integer(json) || json_is_real(json) || (is_number && json_is_string(json))) {
    value.kind = PTO_VALUE_NUMBER;
    value.as.number = pto_graph_load_number(node->loader, json, attribute ? attribute->name : "label");
  } else if (json_is_boolean(json)) {
    value = (struct pto_attribute_value){.kind = PTO_VALUE_BOOL, .as.truth = json_is_true(json)};
  } else if (json_is_string(json)) {
    value.as.word = json_string_value(json);
  } else if (json_is_object(json)) {
    uint64_t most;
    if (pto_graph_load_open_size(json, &most))
      value = (struct pto_attribute_value){.kind = PTO_VALUE_NUMBER, .as.number = pto_number_u64(most)};
  }
  return value;
}

static void refuse_attribute(struct node *node, const struct pto_error *error) {
  if (error->status == PTO_ENOMEM)
    pto_graph_load_refuse_memory(node->loader);
  else
    pto_json_read_refuse(&node->loader->reader, "%s: %.300s", node->info->name, error->sentence);
}

static void set_option(struct node *node, const struct pto_op_attribute *attribute, const char *name, json_t *json) {
  struct pto_json_reader *reader = &node->loader->reader;
  const size_t count = json_array_size(json);
  struct pto_attribute_value value, *items;
  struct pto_error error;
  if (count > PTO_GRAPH_MAX_LIST) {
    pto_json_read_refuse(reader, "option \"%.60s\" has %zu items, at most %u are read", name, count,
                         PTO_GRAPH_MAX_LIST);
    return;
  }
  if (json_is_array(json)) {
    if (!(items = pto_graph_load_alloc(node->loader, (count + 1) * sizeof *items))) return;
    for (size_t i = 0; i < count; i++) items[i] = value_of(node, attribute, json_array_get(json, i));
    value = (struct pto_attribute_value){.kind = PTO_VALUE_LIST, .as.list = {items, (uint32_t)count}};
  } else {
    value = value_of(node, attribute, json);
  }
  if (!reader->status && pto_op_attributes_set(&node->attributes, name, &value, &error)) refuse_attribute(node, &error);
}

static void read_options(struct node *node) {
  struct pto_json_reader *reader = &node->loader->reader;
  struct pto_error error;
  const char *key;
  json_t *json;
  bool has_label = false;
  json_object_foreach(node->options, key, json) {
    const char *name = spelling(node, key);
    if (reader->status) return;
    if (json_is_null(json) || find_parameter(node, key) < node->info->parameter_count) continue;
    has_label |= strcmp(key, "label") == 0;
    set_option(node, pto_op_attribute_find(node->info, name), name, json);
  }
  const struct pto_attribute_value label = {.kind = PTO_VALUE_WORD, .as.word = node->id};
  if (reader->status) return;
  if ((!has_label && pto_op_attributes_set(&node->attributes, "label", &label, &error)) ||
      pto_op_attributes_finish(&node->attributes, &error))
    refuse_attribute(node, &error);
}

/* ---- operands ---- */

/* Converters number operands: inputs by name, constants by name, then the results of the nodes in their order. */
static int compare_values(const void *a, const void *b, void *context) {
  const struct pto_graph_file_value *values = context;
  return strcmp(values[*(const uint32_t *)a].name, values[*(const uint32_t *)b].name);
}

static bool number_values(struct pto_graph_loader *loader) {
  if (loader->numbered) return true;
  const size_t inputs = json_object_size(loader->inputs), consts = json_object_size(loader->consts);
  uint32_t *numbered = malloc((loader->value_count + UINT64_C(1)) * sizeof *numbered);
  if (!numbered) {
    pto_graph_load_refuse_memory(loader);
    return false;
  }
  for (uint32_t i = 0; i < loader->value_count; i++) numbered[i] = i;
  qsort_r(numbered, inputs, sizeof *numbered, compare_values, loader->values);
  qsort_r(numbered + inputs, consts, sizeof *numbered, compare_values, loader->values);
  loader->numbered = numbered;
  return true;
}

static void set_operand(struct node *node, uint32_t parameter, const char *name) {
  struct pto_graph_file_value *value = pto_graph_load_use(node->loader, name, node->index);
  if (value) node->operands[parameter] = value->operand;
}

/* Optional operands that the options name, or number. */
static void read_option_operands(struct node *node, bool is_numbered_in_inputs) {
  struct pto_json_reader *reader = &node->loader->reader;
  for (uint32_t i = 0; i < node->info->parameter_count && !reader->status; i++) {
    const char *name = node->info->parameters[i].name;
    json_t *value = node->info->parameters[i].is_optional ? json_object_get(node->options, name) : NULL;
    if (!value || json_is_null(value) || (is_numbered_in_inputs && json_is_integer(value))) continue;
    pto_graph_load_at(node->loader, PTO_GRAPH_FILE_NODES, node->index, node->id, name);
    if (node->operands[i].index) {
      pto_json_read_refuse(reader, "the operand is given twice: in inputs and in options");
    } else if (json_is_string(value)) {
      set_operand(node, i, json_string_value(value));
    } else if (!json_is_integer(value) || json_integer_value(value) < 0 ||
               json_integer_value(value) >= node->loader->value_count) {
      pto_json_read_refuse(reader, "names no operand");
    } else if (number_values(node->loader)) {
      set_operand(node, i, node->loader->values[node->loader->numbered[json_integer_value(value)]].name);
    }
  }
  pto_graph_load_at(node->loader, PTO_GRAPH_FILE_NODES, node->index, node->id, NULL);
}

/* How many operands the options give by number. */
static uint32_t count_numbered(const struct node *node) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < node->info->parameter_count; i++)
    count += node->info->parameters[i].is_optional &&
             json_is_integer(json_object_get(node->options, node->info->parameters[i].name));
  return count;
}

/* Operands of `inputs` go to the parameters in their order.  Where optional ones are there and the options number as
 * many, they are those, written a second time. */
static void read_parameters(struct node *node) {
  struct pto_json_reader *reader = &node->loader->reader;
  const size_t given = json_array_size(node->inputs);
  uint32_t required = 0, next = 0;
  for (uint32_t i = 0; i < node->info->parameter_count; i++) required += !node->info->parameters[i].is_optional;
  if (given < required || given > node->info->parameter_count) {
    pto_json_read_refuse(reader, "%s takes %" PRIu32 "%s operands, \"inputs\" has %zu", node->info->name, required,
                         required < node->info->parameter_count ? " or more" : "", given);
    return;
  }
  const bool is_numbered = given > required && count_numbered(node) == given - required;
  for (size_t i = 0; i < given && !reader->status; i++, next++) {
    while (is_numbered && i >= required && next < node->info->parameter_count &&
           !json_is_integer(json_object_get(node->options, node->info->parameters[next].name)))
      next++;
    set_operand(node, next, json_string_value(json_array_get(node->inputs, i)));
  }
  node->operand_count = node->info->parameter_count;
  read_option_operands(node, is_numbered);
}

static void read_operands(struct node *node) {
  struct pto_json_reader *reader = &node->loader->reader;
  const size_t given = json_array_size(node->inputs);
  json_t *item;
  size_t i;
  json_array_foreach(node->inputs, i, item)
    if (!json_is_string(item)) pto_json_read_refuse(reader, "\"inputs\" item %zu is no string", i);
  if (given > PTO_GRAPH_MAX_OPERANDS)
    pto_json_read_refuse(reader, "\"inputs\" has %zu items, at most %u are read", given, PTO_GRAPH_MAX_OPERANDS);
  if (reader->status) return;
  const size_t room = pto_max_u64(given, node->info->parameter_count);
  node->operands = pto_graph_load_alloc(node->loader, (room + 1) * sizeof *node->operands);
  if (!node->operands) return;
  if (!node->info->parameters[0].is_list) {
    read_parameters(node);
    return;
  }
  for (i = 0; i < given; i++) set_operand(node, (uint32_t)i, json_string_value(json_array_get(node->inputs, i)));
  node->operand_count = (uint32_t)given;
}

/* ---- the call ---- */

/* Sizes with names among the options. */
static void set_sizes(struct node *node, struct pto_graph_operand result) {
  const char *key;
  json_t *json;
  json_object_foreach(node->options, key, json)
    if (json_is_array(json) || json_is_object(json)) pto_graph_load_set_sizes(node->loader, result, key, json);
}

static void call(struct node *node, uint32_t first_value, uint32_t named) {
  struct pto_graph_loader *loader = node->loader;
  struct pto_graph_operand *results = pto_graph_load_alloc(loader, PTO_GRAPH_MAX_RESULTS * sizeof *results);
  const struct pto_graph_call call = {.op = node->op,
                                      .operands = node->operands,
                                      .operand_count = node->operand_count,
                                      .options = node->attributes.options};
  uint32_t count = 0;
  if (!results) return;
  if (pto_graph_builder_call(loader->builder, &call, results, PTO_GRAPH_MAX_RESULTS, &count)) {
    pto_graph_load_refuse_as_builder(loader);
    return;
  }
  if (count != named) {
    pto_json_read_refuse(&loader->reader, "%s gives %" PRIu32 " results, \"outputs\" names %" PRIu32, node->info->name,
                         count, named);
    return;
  }
  if (count) set_sizes(node, results[0]);
  for (uint32_t i = 0; i < count; i++) {
    struct pto_graph_file_value *value = &loader->values[first_value + i];
    value->operand = results[i];
    if (pto_graph_builder_set_name(loader->builder, results[i], value->name)) {
      pto_graph_load_refuse_as_builder(loader);
      return;
    }
  }
}

static void refuse_op(struct pto_graph_loader *loader, const char *name) {
  char question[PTO_CLOSEST_TEXT];
  struct pto_closest closest;
  pto_closest_begin(&closest, name);
  for (uint32_t i = 0; i < pto_graph_operation_count(); i++)
    pto_closest_consider(&closest, pto_graph_operation_name(i));
  pto_json_read_refuse(&loader->reader, "there is no operation \"%.60s\"%s", name,
                       pto_closest_question(&closest, question));
}

void pto_graph_load_node(struct pto_graph_loader *loader, json_t *object, uint32_t index, uint32_t first_value) {
  const struct pto_graph_arena_mark mark = pto_graph_arena_mark(&loader->scratch);
  struct node node = {.loader = loader, .index = index};
  const char *name = pto_json_read_string(&loader->reader, object, "op");
  if (loader->reader.status) return;
  node.op = pto_op_find(name);
  if (node.op == PTO_GRAPH_OP_COUNT) {
    refuse_op(loader, name);
    return;
  }
  node.info = pto_op_info(node.op);
  pto_op_attributes_init(&node.attributes, node.op);
  node.inputs = pto_json_read_array(&loader->reader, object, "inputs", SIZE_MAX);
  if (pto_json_has(object, "options")) node.options = pto_json_read_object(&loader->reader, object, "options");
  node.id = pto_json_read_string(&loader->reader, object, "id");
  if (!loader->reader.status) read_options(&node);
  if (!loader->reader.status) read_operands(&node);
  if (!loader->reader.status) call(&node, first_value, pto_graph_load_result_count(object));
  pto_op_attributes_fini(&node.attributes);
  pto_graph_arena_release(&loader->scratch, mark);
}
