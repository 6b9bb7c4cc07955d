/* SPDX-License-Identifier: MIT */
/*
 * Changes that only graph files know: nodes of other operations, options of every kind of the table of operations,
 * other descriptors.  A new operation is drawn without a line here.
 *
 * Owns nothing.  What is drawn is mostly of the kind that the table asks for, so that inference sees it and not the
 * reader alone.
 */
#ifndef PTO_FUZZ_GRAPH_JSON_H
#define PTO_FUZZ_GRAPH_JSON_H

#include <stdio.h>

#include <graph/build/operation.h>
#include <tests/fuzz/fuzz_json.h>

/* ---- values of options and descriptors ---- */

static inline json_t *fuzz_graph_size(struct pto_rng *rng) {
  return fuzz_json_below(rng, 12) ? json_integer((json_int_t)fuzz_json_below(rng, 6)) : fuzz_json_number(rng);
}

static inline json_t *fuzz_graph_sizes(struct pto_rng *rng) {
  json_t *list = json_array();
  for (size_t i = fuzz_json_below(rng, 6); i > 0; i--) json_array_append_new(list, fuzz_graph_size(rng));
  return list;
}

static inline json_t *fuzz_graph_dtype(struct pto_rng *rng) {
  const char *name = pto_graph_dtype_name((uint32_t)fuzz_json_below(rng, PTO_DTYPE_COUNT));
  return json_string(name ? name : "float32");
}

static inline json_t *fuzz_graph_word(const char *const *words, struct pto_rng *rng) {
  size_t count = 0;
  while (words[count]) count++;
  return json_string(words[fuzz_json_below(rng, count)]);
}

static inline json_t *fuzz_graph_option(const struct pto_op_attribute *attribute, struct pto_rng *rng) {
  json_t *list;
  switch ((enum pto_attribute_kind)attribute->kind) {
  case PTO_ATTRIBUTE_U32:
  case PTO_ATTRIBUTE_AXIS:
    return fuzz_graph_size(rng);
  case PTO_ATTRIBUTE_FLAG:
    return json_boolean((int)fuzz_json_below(rng, 2));
  case PTO_ATTRIBUTE_WORD:
    return fuzz_graph_word(attribute->words, rng);
  case PTO_ATTRIBUTE_DTYPE:
  case PTO_ATTRIBUTE_OPTIONAL_DTYPE:
    return fuzz_graph_dtype(rng);
  case PTO_ATTRIBUTE_NUMBER:
    return attribute->number_class == PTO_NUMBERS_UNSIGNED ? fuzz_graph_size(rng) : fuzz_json_number(rng);
  case PTO_ATTRIBUTE_U32_LIST:
    return fuzz_graph_sizes(rng);
  case PTO_ATTRIBUTE_F32_LIST:
    list = fuzz_graph_sizes(rng);
    json_array_append_new(list, fuzz_json_number(rng));
    return list;
  case PTO_ATTRIBUTE_WORD_LIST:
    list = json_array();
    for (size_t i = fuzz_json_below(rng, 4); i > 0; i--)
      json_array_append_new(list, fuzz_graph_word(attribute->words, rng));
    return list;
  case PTO_ATTRIBUTE_SPLITS:
    return fuzz_json_below(rng, 2) ? fuzz_graph_sizes(rng) : fuzz_graph_size(rng);
  }
  return json_null();
}

/* ---- names of a document ---- */

/* A name of an input, a constant or a result; what is drawn may be one that comes later. */
static inline json_t *fuzz_graph_name(json_t *document, struct pto_rng *rng) {
  static const char *const lists[] = {"inputs", "consts"};
  json_t *nodes = json_object_get(document, "nodes"), *list, *value;
  const size_t which = fuzz_json_below(rng, 4), count = json_array_size(nodes);
  const char *name;
  if (which >= PTO_ARRAY_LENGTH(lists) && count > 0) {
    json_t *node = json_array_get(nodes, fuzz_json_below(rng, count)), *outputs = json_object_get(node, "outputs");
    json_t *found = json_array_size(outputs) > 0
                        ? json_array_get(outputs, fuzz_json_below(rng, json_array_size(outputs)))
                        : json_object_get(node, "id");
    if (found) return json_incref(found);
  }
  list = json_object_get(document, lists[which % 2]);
  if (json_object_size(list) == 0) list = json_object_get(document, "inputs");
  if (json_object_size(list) == 0) return json_string("x");
  size_t skip = fuzz_json_below(rng, json_object_size(list));
  json_object_foreach(list, name, value) {
    if (skip-- == 0) return json_string(name);
  }
  return json_string("x");
}

/* ---- changes ---- */

static inline json_t *fuzz_graph_options(uint32_t op, json_t *document, struct pto_rng *rng) {
  const struct pto_op_info *info = pto_op_info(op);
  json_t *options = json_object();
  for (uint32_t i = 0; i < info->attribute_count; i++)
    if (info->attributes[i].is_required || fuzz_json_below(rng, 2))
      json_object_set_new(options, info->attributes[i].name, fuzz_graph_option(&info->attributes[i], rng));
  for (uint32_t i = 0; i < info->parameter_count; i++)
    if (info->parameters[i].is_optional && fuzz_json_below(rng, 2))
      json_object_set_new(options, info->parameters[i].name, fuzz_graph_name(document, rng));
  return options;
}

/* A node behind the others whose results are outputs. */
static inline void fuzz_graph_add_node(json_t *document, struct pto_rng *rng) {
  const uint32_t op = (uint32_t)fuzz_json_below(rng, PTO_GRAPH_OP_COUNT);
  const struct pto_op_info *info = pto_op_info(op);
  json_t *inputs = json_array(), *nodes = json_object_get(document, "nodes"), *results = json_array();
  size_t required = 0;
  char id[32];
  for (uint32_t i = 0; i < info->parameter_count; i++) required += !info->parameters[i].is_optional;
  if (info->parameters[0].is_list) required += fuzz_json_below(rng, 3);
  for (size_t i = 0; i < required; i++) json_array_append_new(inputs, fuzz_graph_name(document, rng));
  snprintf(id, sizeof id, "n%zu", fuzz_json_below(rng, 10000));
  json_array_append_new(results, json_string(id));
  json_object_set_new(json_object_get(document, "outputs"), id, json_string(id));
  for (size_t i = 1; fuzz_json_below(rng, 4) == 0; i++) {
    char name[64];
    snprintf(name, sizeof name, "%s_%zu", id, i);
    json_array_append_new(results, json_string(name));
  }
  json_array_append_new(nodes, json_pack("{s:s, s:s, s:o, s:o, s:o}", "id", id, "op", info->name, "inputs", inputs,
                                         "options", fuzz_graph_options(op, document, rng), "outputs", results));
}

/* Another operation, other options or one other option. */
static inline void fuzz_graph_change_node(json_t *document, struct pto_rng *rng) {
  json_t *nodes = json_object_get(document, "nodes");
  if (json_array_size(nodes) == 0) return;
  json_t *node = json_array_get(nodes, fuzz_json_below(rng, json_array_size(nodes)));
  const char *name = json_string_value(json_object_get(node, "op"));
  uint32_t op = name ? pto_op_find(name) : PTO_GRAPH_OP_COUNT;
  const size_t what = fuzz_json_below(rng, 4);
  if (what == 0 || op == PTO_GRAPH_OP_COUNT) {
    op = (uint32_t)fuzz_json_below(rng, PTO_GRAPH_OP_COUNT);
    json_object_set_new(node, "op", json_string(pto_op_info(op)->name));
  }
  const struct pto_op_info *info = pto_op_info(op);
  if (what <= 1) {
    json_object_set_new(node, "options", fuzz_graph_options(op, document, rng));
  } else if (what == 2 || info->attribute_count == 0) {
    json_t *inputs = json_object_get(node, "inputs");
    if (json_array_size(inputs) > 0)
      json_array_set_new(inputs, fuzz_json_below(rng, json_array_size(inputs)), fuzz_graph_name(document, rng));
  } else {
    const struct pto_op_attribute *attribute = &info->attributes[fuzz_json_below(rng, info->attribute_count)];
    if (!json_is_object(json_object_get(node, "options"))) json_object_set_new(node, "options", json_object());
    json_object_set_new(json_object_get(node, "options"), attribute->name, fuzz_graph_option(attribute, rng));
  }
}

static inline void fuzz_graph_change_desc(json_t *document, struct pto_rng *rng) {
  json_t *list = json_object_get(document, fuzz_json_below(rng, 3) ? "inputs" : "consts"), *value;
  const char *name;
  if (json_object_size(list) == 0) return;
  size_t skip = fuzz_json_below(rng, json_object_size(list));
  json_object_foreach(list, name, value) {
    if (skip-- > 0) continue;
    if (fuzz_json_below(rng, 2))
      json_object_set_new(value, "dataType", fuzz_graph_dtype(rng));
    else
      json_object_set_new(value, "shape", fuzz_graph_sizes(rng));
    return;
  }
}

static inline void fuzz_graph_change(json_t *document, struct pto_rng *rng) {
  switch (fuzz_json_below(rng, 4)) {
  case 0:
    fuzz_graph_add_node(document, rng);
    break;
  case 1:
    fuzz_graph_change_desc(document, rng);
    break;
  default:
    fuzz_graph_change_node(document, rng);
  }
}

#endif
