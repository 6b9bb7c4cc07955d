/* SPDX-License-Identifier: MIT */
#include <graph/file/save.h>

#include <string.h>

#include <graph/file/json.h>

/* Words between the values of a JSON writer, which then puts no comma. */
static void put(struct pto_graph_saver *s, const char *text) {
  s->w.is_after_key = true;
  pto_json_raw(&s->w, text, strlen(text));
  s->w.is_after_key = true;
}

static void put_name(struct pto_graph_saver *s, const char *name) {
  if (pto_graph_text_is_word(name))
    put(s, name);
  else
    pto_json_string(&s->w, name);
}

static void put_value(struct pto_graph_saver *s, uint32_t value) { put_name(s, pto_graph_name_of(s->names, value)); }

/* "    NAME: f32[1,4]": of a dtype the first letter and the bits. */
static void put_declaration(struct pto_graph_saver *s, uint32_t value) {
  const char *dtype = pto_graph_dtype_name(s->graph->values[value].desc.dtype), letter[] = {dtype[0], '\0'};
  put(s, "    ");
  put_value(s, value);
  put(s, ": ");
  put(s, letter);
  put(s, dtype + strcspn(dtype, "0123456789"));
  pto_graph_save_shape(s, value);
}

static void put_constant(struct pto_graph_saver *s, uint32_t value) {
  put_declaration(s, value);
  if (s->forms[value] == PTO_FORM_FILLED) {
    put(s, " @scalar(");
    pto_graph_save_filled(s, value);
  } else if (s->forms[value] == PTO_FORM_REFERRED) {
    put(s, " @weights(");
    pto_json_string(&s->w, pto_graph_name_of(s->names, value));
  } else {
    put(s, " @bytes(");
    pto_graph_save_bytes(s, value);
  }
  put(s, ");\n");
}

static void put_separator(struct pto_graph_saver *s, bool *is_first) {
  if (!*is_first) put(s, ", ");
  *is_first = false;
}

static void put_key(struct pto_graph_saver *s, const char *key, bool *is_first) {
  put_separator(s, is_first);
  put(s, key);
  put(s, "=");
}

/* Operands by their places, then optional ones and options by their names. */
static void put_arguments(struct pto_graph_saver *s, const struct pto_graph_node *node) {
  const struct pto_op_info *info = pto_op_info(node->op);
  const char *label = node->label ? node->label : "";
  bool is_first = true;
  for (uint32_t k = 0; k < node->operand_count; k++) {
    if (k < info->parameter_count && info->parameters[k].is_optional) continue;
    put_separator(s, &is_first);
    put_value(s, node->operands[k]);
  }
  for (uint32_t k = 0; k < info->parameter_count; k++) {
    if (!info->parameters[k].is_optional || !node->operands[k]) continue;
    put_key(s, info->parameters[k].name, &is_first);
    put_value(s, node->operands[k]);
  }
  for (uint32_t i = 0; i < info->attribute_count; i++) {
    const void *value = (const char *)node->options + info->attributes[i].offset;
    if (!pto_graph_save_is_given(&info->attributes[i], value)) continue;
    put_key(s, info->attributes[i].name, &is_first);
    pto_graph_save_option(s, node, i);
  }
  if (strcmp(label, pto_graph_name_of(s->names, node->first_result)) == 0) return;
  put_key(s, "label", &is_first);
  pto_json_string(&s->w, label);
}

static void put_node(struct pto_graph_saver *s, const struct pto_graph_node *node) {
  const bool is_list = node->result_count != 1;
  put(s, is_list ? "    [" : "    ");
  for (uint32_t k = 0; k < node->result_count; k++) {
    if (k > 0) put(s, ", ");
    put_value(s, node->first_result + k);
  }
  put(s, is_list ? "] = " : " = ");
  put(s, pto_op_info(node->op)->name);
  put(s, "(");
  put_arguments(s, node);
  put(s, ");\n");
}

static void put_outputs(struct pto_graph_saver *s) {
  put(s, "  outputs {");
  for (uint32_t i = 0; i < s->graph->output_count; i++) {
    const char *name = s->graph->output_operands[i].name;
    put(s, " ");
    put_name(s, name);
    if (strcmp(name, pto_graph_name_of(s->names, s->graph->outputs[i])) != 0) {
      put(s, " = ");
      put_value(s, s->graph->outputs[i]);
    }
    put(s, ";");
  }
  put(s, " }\n");
}

/* The files beside it, as a comment that this reader heeds, so that others there are not taken for them. */
static void put_weights_names(struct pto_graph_saver *s) {
  const char *data = pto_graph_save_name_beside(s, s->weights_path),
             *manifest = s->is_manifest ? pto_graph_save_name_beside(s, s->manifest_path) : NULL;
  if (s->referred_count == 0 || (!data && !manifest)) return;
  put(s, " #: weights ");
  if (data) {
    put(s, "data=");
    pto_json_string(&s->w, data);
  }
  if (manifest) {
    put(s, data ? ", manifest=" : "manifest=");
    pto_json_string(&s->w, manifest);
  }
}

static void put_header(struct pto_graph_saver *s) {
  put(s, "webnn_graph \"graph\" v");
  pto_json_u64(&s->w, PTO_GRAPH_FILE_VERSION);
  put(s, " {");
  put_weights_names(s);
  put(s, "\n");
}

void pto_graph_save_text(struct pto_graph_saver *s) {
  const struct pto_graph *graph = s->graph;
  put_header(s);
  put(s, "  inputs {\n");
  for (uint32_t i = 0; i < graph->input_count; i++) {
    put_declaration(s, graph->inputs[i]);
    put(s, ";\n");
  }
  put(s, "  }\n  consts {\n");
  for (uint32_t v = 1; v < graph->value_count; v++)
    if (graph->values[v].kind == PTO_VALUE_CONSTANT) put_constant(s, v);
  put(s, "  }\n  nodes {\n");
  for (uint32_t i = 0; i < graph->node_count; i++) put_node(s, &graph->nodes[i]);
  put(s, "  }\n");
  put_outputs(s);
  put(s, "}");
}
