/* SPDX-License-Identifier: MIT */
#include <graph/file/save.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <formats/new_file.h>
#include <graph/file/json.h>

/* More than this in all goes to a file of its own, unless asked for. */
#define DEFAULT_INLINE_BYTES (UINT64_C(64) << 10)
/* A byte is up to four letters. */
#define MOST_INLINE_BYTES (PTO_GRAPH_FILE_MAX_BYTES / 5)

/* ---- constants ---- */

static void refer(struct pto_graph_saver *s, uint32_t index) {
  const struct pto_graph_value *value = &s->graph->values[index];
  struct pto_safetensors_tensor *tensor = &s->referred[s->referred_count++];
  *tensor = (struct pto_safetensors_tensor){.name = pto_graph_name_of(s->names, index),
                                            .dtype_name = pto_graph_dtype_name(value->desc.dtype),
                                            .dtype = (int)value->desc.dtype,
                                            .ndims = value->desc.ndims,
                                            .data = value->data,
                                            .size_bytes = value->size_bytes};
  memcpy(tensor->shape, value->desc.shape, sizeof tensor->shape);
  s->forms[index] = PTO_FORM_REFERRED;
}

/* Which constant is written how. */
static int choose_forms(struct pto_graph_saver *s, uint32_t weights, struct pto_error *error) {
  uint64_t filled_bytes = 0, other_bytes = 0, inline_bytes = 0;
  for (uint32_t v = 1; v < s->graph->value_count; v++) {
    const struct pto_graph_value *value = &s->graph->values[v];
    if (value->kind != PTO_VALUE_CONSTANT) continue;
    if (!value->data)
      return pto_error_set(error, PTO_ENOTSUP, "constant \"%.60s\" is a tensor of a device, which is not saved",
                           pto_graph_name_of(s->names, v));
    const bool has_room = filled_bytes + value->size_bytes <= PTO_GRAPH_MAX_FILLED_BYTES;
    s->forms[v] = has_room && pto_graph_save_is_filled(value) ? PTO_FORM_FILLED : PTO_FORM_INLINE;
    *(s->forms[v] == PTO_FORM_FILLED ? &filled_bytes : &other_bytes) += value->size_bytes;
  }
  if (weights == PTO_GRAPH_WEIGHTS_DEFAULT)
    weights = other_bytes <= DEFAULT_INLINE_BYTES ? PTO_GRAPH_WEIGHTS_INLINE : PTO_GRAPH_WEIGHTS_SAFETENSORS;
  for (uint32_t v = 1; v < s->graph->value_count; v++) {
    const struct pto_graph_value *value = &s->graph->values[v];
    if (s->forms[v] != PTO_FORM_INLINE) continue;
    const bool is_narrow = pto_dtype_bits(value->desc.dtype) == 4;
    if (weights == PTO_GRAPH_WEIGHTS_MANIFEST || (weights == PTO_GRAPH_WEIGHTS_SAFETENSORS && !is_narrow))
      refer(s, v);
    else
      inline_bytes += value->size_bytes;
  }
  if (inline_bytes > MOST_INLINE_BYTES)
    return pto_error_set(error, PTO_ENOTSUP,
                         "%" PRIu64 " bytes of constants are too many for the file itself; at most %" PRIu64 " are",
                         inline_bytes, MOST_INLINE_BYTES);
  return PTO_OK;
}

/* Paths of the files beside the graph. */
static int choose_paths(struct pto_graph_saver *s, const char *path, const struct pto_graph_file_options *options,
                        struct pto_error *error) {
  s->is_manifest = options->weights == PTO_GRAPH_WEIGHTS_MANIFEST;
  const char *ending = s->is_manifest ? ".weights" : ".safetensors";
  if (!pto_graph_weights_path(path, true, ending, s->paths[0]) ||
      !pto_graph_weights_path(path, true, ".manifest.json", s->paths[1]))
    return pto_error_set(error, PTO_EINVAL, "%.400s: the path is too long", path);
  s->weights_path = options->weights_path ? options->weights_path : s->paths[0];
  s->manifest_path = options->manifest_path ? options->manifest_path : s->paths[1];
  if (s->referred_count > 0 &&
      (strcmp(s->weights_path, path) == 0 || (s->is_manifest && strcmp(s->manifest_path, path) == 0)))
    return pto_error_set(error, PTO_EINVAL, "%.400s: the graph and its weights would be one file", path);
  return PTO_OK;
}

static int write_weights(const struct pto_graph_saver *s, struct pto_error *error) {
  if (s->referred_count == 0) return PTO_OK;
  if (!s->is_manifest) return pto_safetensors_write(s->weights_path, s->referred, s->referred_count, error);
  return pto_graph_manifest_write(s->manifest_path, s->weights_path, s->referred, s->referred_count, error);
}

/* ---- values ---- */

static void put_desc(struct pto_graph_saver *s, uint32_t value) {
  pto_json_put_string(&s->w, "dataType", pto_graph_dtype_name(s->graph->values[value].desc.dtype));
  pto_json_key(&s->w, "shape");
  pto_graph_save_shape(s, value);
}

static void put_init(struct pto_graph_saver *s, uint32_t index) {
  struct pto_json_writer *w = &s->w;
  pto_json_put_object(w, "init");
  if (s->forms[index] == PTO_FORM_FILLED) {
    pto_json_put_string(w, "kind", "scalar");
    pto_json_key(w, "value");
    pto_graph_save_filled(s, index);
  } else if (s->forms[index] == PTO_FORM_REFERRED) {
    pto_json_put_string(w, "kind", "weights");
    pto_json_put_string(w, "ref", pto_graph_name_of(s->names, index));
  } else {
    pto_json_put_string(w, "kind", "inlineBytes");
    pto_json_key(w, "bytes");
    pto_graph_save_bytes(s, index);
  }
  pto_json_object_end(w);
}

static void put_values(struct pto_graph_saver *s) {
  struct pto_json_writer *w = &s->w;
  pto_json_put_object(w, "inputs");
  for (uint32_t i = 0; i < s->graph->input_count; i++) {
    pto_json_newline(w);
    pto_json_put_object(w, pto_graph_name_of(s->names, s->graph->inputs[i]));
    put_desc(s, s->graph->inputs[i]);
    pto_json_object_end(w);
  }
  pto_json_object_end(w);
  pto_json_newline(w);
  pto_json_put_object(w, "consts");
  for (uint32_t v = 1; v < s->graph->value_count; v++) {
    if (s->graph->values[v].kind != PTO_VALUE_CONSTANT) continue;
    pto_json_newline(w);
    pto_json_put_object(w, pto_graph_name_of(s->names, v));
    put_desc(s, v);
    put_init(s, v);
    pto_json_object_end(w);
  }
  pto_json_object_end(w);
}

/* ---- nodes ---- */

/* The label, where it is one that no node before has; else one that is made up.  NULL where there is no memory. */
static const char *choose_id(struct pto_graph_saver *s, const struct pto_graph_node *node, uint32_t index,
                             char text[32]) {
  const char *id = node->label && node->label[0] ? node->label : NULL;
  if (!id || json_object_get(s->ids, id)) {
    snprintf(text, 32, "op_%" PRIu32, index);
    for (uint32_t i = 0; json_object_get(s->ids, text); i++) snprintf(text, 32, "op_%" PRIu32 "_%" PRIu32, index, i);
    id = text;
  }
  return json_object_set_new_nocheck(s->ids, id, json_true()) == 0 ? id : NULL;
}

static void put_options(struct pto_graph_saver *s, const struct pto_graph_node *node, bool is_label_id) {
  const struct pto_op_info *info = pto_op_info(node->op);
  struct pto_json_writer *w = &s->w;
  pto_json_put_object(w, "options");
  if (!is_label_id) pto_json_put_string(w, "label", node->label ? node->label : "");
  for (uint32_t i = 0; i < info->parameter_count; i++)
    if (info->parameters[i].is_optional && node->operands[i])
      pto_json_put_string(w, info->parameters[i].name, pto_graph_name_of(s->names, node->operands[i]));
  for (uint32_t i = 0; i < info->attribute_count; i++) {
    const void *value = (const char *)node->options + info->attributes[i].offset;
    if (!pto_graph_save_is_given(&info->attributes[i], value)) continue;
    pto_json_key(w, info->attributes[i].name);
    pto_graph_save_option(s, node, i);
  }
  pto_json_object_end(w);
}

static int put_node(struct pto_graph_saver *s, uint32_t index) {
  const struct pto_graph_node *node = &s->graph->nodes[index];
  const struct pto_op_info *info = pto_op_info(node->op);
  struct pto_json_writer *w = &s->w;
  char text[32];
  const char *id = choose_id(s, node, index, text);
  if (!id) return PTO_ENOMEM;
  pto_json_newline(w);
  pto_json_object_begin(w);
  pto_json_put_string(w, "id", id);
  pto_json_put_string(w, "op", info->name);
  pto_json_put_array(w, "inputs");
  for (uint32_t k = 0; k < node->operand_count; k++)
    if (k >= info->parameter_count || !info->parameters[k].is_optional)
      pto_json_string(w, pto_graph_name_of(s->names, node->operands[k]));
  pto_json_array_end(w);
  put_options(s, node, id == node->label);
  pto_json_put_array(w, "outputs");
  for (uint32_t k = 0; k < node->result_count; k++)
    pto_json_string(w, pto_graph_name_of(s->names, node->first_result + k));
  pto_json_array_end(w);
  pto_json_object_end(w);
  return PTO_OK;
}

/* ---- the document ---- */

static void put_name_beside(struct pto_graph_saver *s, const char *key, const char *path) {
  const char *name = pto_graph_save_name_beside(s, path);
  if (name) pto_json_put_string(&s->w, key, name);
}

/* The names of the files beside it, so that others there are not taken for them. */
static void put_weights_names(struct pto_graph_saver *s) {
  if (s->referred_count == 0) return;
  pto_json_newline(&s->w);
  pto_json_put_object(&s->w, "weights");
  put_name_beside(s, "data", s->weights_path);
  if (s->is_manifest) put_name_beside(s, "manifest", s->manifest_path);
  pto_json_object_end(&s->w);
}

static int put_json(struct pto_graph_saver *s) {
  struct pto_json_writer *w = &s->w;
  int status = PTO_OK;
  pto_json_object_begin(w);
  pto_json_put_string(w, "format", PTO_GRAPH_FORMAT);
  pto_json_put_u64(w, "version", PTO_GRAPH_FILE_VERSION);
  put_weights_names(s);
  pto_json_newline(w);
  put_values(s);
  pto_json_newline(w);
  pto_json_put_array(w, "nodes");
  for (uint32_t i = 0; i < s->graph->node_count && status == PTO_OK; i++) status = put_node(s, i);
  pto_json_array_end(w);
  pto_json_newline(w);
  pto_json_put_object(w, "outputs");
  for (uint32_t i = 0; i < s->graph->output_count; i++)
    pto_json_put_string(w, s->graph->output_operands[i].name, pto_graph_name_of(s->names, s->graph->outputs[i]));
  pto_json_object_end(w);
  pto_json_object_end(w);
  return status;
}

static int write_document(struct pto_graph_saver *s, const char *path, struct pto_error *error) {
  FILE *file = pto_new_file_create(path, error);
  if (!file) return PTO_ESYSTEM;
  pto_json_init(&s->w, fileno(file));
  bool has_room = true;
  if (s->is_text)
    pto_graph_save_text(s);
  else
    has_room = put_json(s) == PTO_OK;
  const int status = pto_new_file_finish(path, file, pto_json_finish(&s->w), error);
  if (has_room) return status;
  pto_new_file_remove(path);
  return pto_error_set(error, PTO_ENOMEM, "%.400s: %s", path, pto_strerror(PTO_ENOMEM));
}

int pto_graph_json_save(const struct pto_graph *graph, const char *path, const struct pto_graph_file_options *options,
                        struct pto_error *error) {
  struct pto_graph_saver *s = calloc(1, sizeof *s);
  int status = PTO_ENOMEM;
  if (s) {
    s->graph = graph;
    s->path = path;
    s->is_text = pto_graph_text_is_name(path);
    s->forms = calloc(graph->value_count, sizeof *s->forms);
    s->referred = calloc(graph->value_count, sizeof *s->referred);
    s->ids = json_object();
    if (s->forms && s->referred && s->ids) status = pto_graph_names_create(graph, &s->names);
  }
  if (status)
    (void)pto_error_set(error, status, "%.400s: out of memory", path);
  else
    status = choose_forms(s, options->weights, error);
  if (status == PTO_OK) status = choose_paths(s, path, options, error);
  if (status == PTO_OK) status = write_weights(s, error);
  if (status == PTO_OK) status = write_document(s, path, error);
  if (s) {
    pto_graph_names_destroy(s->names);
    json_decref(s->ids);
    free(s->referred);
    free(s->forms);
    free(s);
  }
  return status;
}
