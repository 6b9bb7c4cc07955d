/* SPDX-License-Identifier: MIT */
#include <graph/file/json.h>

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <formats/json_writer.h>
#include <formats/new_file.h>
#include <graph/build/data.h>
#include <graph/build/op_options.h>
#include <graph/file/load.h>

#define VERSION 2u
/* More than this in all goes to a file of its own, unless asked for. */
#define DEFAULT_INLINE_BYTES (UINT64_C(64) << 10)
/* A byte is up to four letters. */
#define MOST_INLINE_BYTES (PTO_GRAPH_FILE_MAX_BYTES / 5)
/* Constants of one value alone are written as it up to this size. */
#define MOST_FILLED_BYTES (UINT64_C(1) << 20)

enum form { FORM_NONE, FORM_FILLED, FORM_INLINE, FORM_REFERRED };

struct saver {
  struct pto_json_writer w;
  const struct pto_graph *graph;
  const char *path;
  struct pto_graph_names *names;
  unsigned char *forms;                    /* of constants, by value: enum form */
  struct pto_safetensors_tensor *referred; /* those that are in a file of their own */
  uint64_t referred_count;
  json_t *ids;
  bool is_manifest;
  const char *weights_path, *manifest_path;
  char paths[2][PATH_MAX];
};

/* ---- constants ---- */

/* Element `index`, of a 4-bit dtype in the low half. */
static void take_element(const struct pto_graph_value *value, uint64_t index, unsigned char element[8]) {
  const unsigned char *data = value->data;
  const uint64_t size = pto_dtype_size(value->desc.dtype);
  memset(element, 0, 8);
  if (pto_dtype_bits(value->desc.dtype) == 4)
    element[0] = data[index / 2] >> (index % 2 * 4) & 15;
  else
    memcpy(element, data + index * size, size);
}

_Static_assert(PTO_DTYPE_COUNT == 14, "a dtype more: the number that an element is goes here");

/* The number that an element is. */
static struct pto_number number_of(uint32_t dtype, const unsigned char element[8]) {
  uint64_t bits;
  float single;
  memcpy(&bits, element, sizeof bits);
  memcpy(&single, element, sizeof single);
  const uint32_t unused = 64 - pto_dtype_bits(dtype);
  if (dtype == PTO_FLOAT32) return pto_number_f64((double)single);
  if (dtype == PTO_FLOAT16) return pto_number_f64((double)pto_fp16_to_f32((uint16_t)bits));
  return pto_dtype_is_signed(dtype) ? pto_number_i64((int64_t)(bits << unused) >> unused) : pto_number_u64(bits);
}

/* Whether all elements are one value, which reads back bit by bit. */
static bool is_filled(const struct pto_graph_value *value) {
  unsigned char first[8], other[8] = {0};
  const uint64_t numel = pto_graph_desc_numel(&value->desc);
  if (numel == 0 || value->size_bytes > MOST_FILLED_BYTES) return false;
  take_element(value, 0, first);
  struct pto_number number = number_of(value->desc.dtype, first);
  if (number.kind == PTO_NUMBER_F64 && isnan(number.value.f64)) number.value.f64 = NAN; /* what "NaN" is read as */
  if (!pto_graph_data_from_number(value->desc.dtype, number, other)) return false;
  if (pto_dtype_bits(value->desc.dtype) == 4) other[0] &= 15;
  if (memcmp(first, other, sizeof first) != 0) return false;
  for (uint64_t i = 1; i < numel; i++) {
    take_element(value, i, other);
    if (memcmp(first, other, sizeof first) != 0) return false;
  }
  return true;
}

static void refer(struct saver *s, uint32_t index) {
  const struct pto_graph_value *value = &s->graph->values[index];
  struct pto_safetensors_tensor *tensor = &s->referred[s->referred_count++];
  *tensor = (struct pto_safetensors_tensor){.name = pto_graph_name_of(s->names, index),
                                            .dtype_name = pto_graph_dtype_name(value->desc.dtype),
                                            .dtype = (int)value->desc.dtype,
                                            .ndims = value->desc.ndims,
                                            .data = value->data,
                                            .size_bytes = value->size_bytes};
  memcpy(tensor->shape, value->desc.shape, sizeof tensor->shape);
  s->forms[index] = FORM_REFERRED;
}

/* Which constant is written how. */
static int choose_forms(struct saver *s, uint32_t weights, struct pto_error *error) {
  uint64_t filled_bytes = 0, other_bytes = 0, inline_bytes = 0;
  for (uint32_t v = 1; v < s->graph->value_count; v++) {
    const struct pto_graph_value *value = &s->graph->values[v];
    if (value->kind != PTO_VALUE_CONSTANT) continue;
    if (!value->data)
      return pto_error_set(error, PTO_ENOTSUP, "constant \"%.60s\" is a tensor of a device, which is not saved",
                           pto_graph_name_of(s->names, v));
    const bool has_room = filled_bytes + value->size_bytes <= PTO_GRAPH_MAX_FILLED_BYTES;
    s->forms[v] = has_room && is_filled(value) ? FORM_FILLED : FORM_INLINE;
    *(s->forms[v] == FORM_FILLED ? &filled_bytes : &other_bytes) += value->size_bytes;
  }
  if (weights == PTO_GRAPH_WEIGHTS_DEFAULT)
    weights = other_bytes <= DEFAULT_INLINE_BYTES ? PTO_GRAPH_WEIGHTS_INLINE : PTO_GRAPH_WEIGHTS_SAFETENSORS;
  for (uint32_t v = 1; v < s->graph->value_count; v++) {
    const struct pto_graph_value *value = &s->graph->values[v];
    if (s->forms[v] != FORM_INLINE) continue;
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
static int choose_paths(struct saver *s, const char *path, const struct pto_graph_file_options *options,
                        struct pto_error *error) {
  s->is_manifest = options->weights == PTO_GRAPH_WEIGHTS_MANIFEST;
  const char *ending = s->is_manifest ? ".weights" : ".safetensors";
  if (!pto_graph_weights_path(path, true, ending, s->paths[0]) ||
      !pto_graph_weights_path(path, true, ".manifest.json", s->paths[1]))
    return pto_error_set(error, PTO_EINVAL, "%.400s: the path is too long", path);
  s->weights_path = options->weights_path ? options->weights_path : s->paths[0];
  s->manifest_path = options->manifest_path ? options->manifest_path : s->paths[1];
  return PTO_OK;
}

static int write_weights(const struct saver *s, struct pto_error *error) {
  if (s->referred_count == 0) return PTO_OK;
  if (!s->is_manifest) return pto_safetensors_write(s->weights_path, s->referred, s->referred_count, error);
  return pto_graph_manifest_write(s->manifest_path, s->weights_path, s->referred, s->referred_count, error);
}

/* ---- values ---- */

static void put_number(struct pto_json_writer *w, struct pto_number number) {
  char text[24];
  if (number.kind == PTO_NUMBER_F64) {
    pto_json_real(w, number.value.f64);
  } else if (number.kind == PTO_NUMBER_I64) {
    pto_json_i64(w, number.value.i64);
  } else if (number.value.u64 <= INT64_MAX) {
    pto_json_u64(w, number.value.u64);
  } else { /* more than JSON's integers hold where they are read */
    snprintf(text, sizeof text, "%" PRIu64, number.value.u64);
    pto_json_string(w, text);
  }
}

static void put_desc(struct pto_json_writer *w, const struct pto_graph_desc *desc) {
  pto_json_put_string(w, "dataType", pto_graph_dtype_name(desc->dtype));
  pto_json_put_array(w, "shape");
  for (uint32_t d = 0; d < desc->ndims; d++) pto_json_u64(w, desc->shape[d]);
  pto_json_array_end(w);
}

static void put_init(struct saver *s, uint32_t index) {
  const struct pto_graph_value *value = &s->graph->values[index];
  struct pto_json_writer *w = &s->w;
  unsigned char element[8];
  pto_json_put_object(w, "init");
  if (s->forms[index] == FORM_FILLED) {
    pto_json_put_string(w, "kind", "scalar");
    pto_json_key(w, "value");
    take_element(value, 0, element);
    const struct pto_number number = number_of(value->desc.dtype, element);
    if (number.kind == PTO_NUMBER_F64)
      pto_json_real32(w, (float)number.value.f64);
    else
      put_number(w, number);
  } else if (s->forms[index] == FORM_REFERRED) {
    pto_json_put_string(w, "kind", "weights");
    pto_json_put_string(w, "ref", pto_graph_name_of(s->names, index));
  } else {
    pto_json_put_string(w, "kind", "inlineBytes");
    pto_json_put_array(w, "bytes");
    for (uint64_t i = 0; i < value->size_bytes; i++) pto_json_u64(w, ((const unsigned char *)value->data)[i]);
    pto_json_array_end(w);
  }
  pto_json_object_end(w);
}

static void put_values(struct saver *s) {
  struct pto_json_writer *w = &s->w;
  pto_json_put_object(w, "inputs");
  for (uint32_t i = 0; i < s->graph->input_count; i++) {
    pto_json_newline(w);
    pto_json_put_object(w, pto_graph_name_of(s->names, s->graph->inputs[i]));
    put_desc(w, &s->graph->values[s->graph->inputs[i]].desc);
    pto_json_object_end(w);
  }
  pto_json_object_end(w);
  pto_json_newline(w);
  pto_json_put_object(w, "consts");
  for (uint32_t v = 1; v < s->graph->value_count; v++) {
    if (s->graph->values[v].kind != PTO_VALUE_CONSTANT) continue;
    pto_json_newline(w);
    pto_json_put_object(w, pto_graph_name_of(s->names, v));
    put_desc(w, &s->graph->values[v].desc);
    put_init(s, v);
    pto_json_object_end(w);
  }
  pto_json_object_end(w);
}

/* ---- nodes ---- */

static void put_u32_list(struct pto_json_writer *w, const struct pto_u32_list *list) {
  pto_json_array_begin(w);
  for (uint32_t i = 0; i < list->count; i++) pto_json_u64(w, list->values[i]);
  pto_json_array_end(w);
}

static void put_word_list(struct pto_json_writer *w, const struct pto_u32_list *list, const char *const *words) {
  pto_json_array_begin(w);
  for (uint32_t i = 0; i < list->count; i++) pto_json_string(w, words[list->values[i]]);
  pto_json_array_end(w);
}

static void put_f32_list(struct pto_json_writer *w, const struct pto_f32_list *list) {
  pto_json_array_begin(w);
  for (uint32_t i = 0; i < list->count; i++) pto_json_real32(w, list->values[i]);
  pto_json_array_end(w);
}

static void put_splits(struct pto_json_writer *w, const struct pto_u32_list *list) {
  const uint32_t has_sizes = *(const uint32_t *)(list + 1);
  if (list->count == 1 && has_sizes != PTO_FLAG_YES)
    pto_json_u64(w, list->values[0]);
  else
    put_u32_list(w, list);
}

/* Whether it was given: what is not is the default also when it is read. */
static bool is_given(const struct pto_op_attribute *attribute, const void *value) {
  switch (attribute->kind) {
  case PTO_ATTRIBUTE_AXIS:
    return true;
  case PTO_ATTRIBUTE_NUMBER:
  case PTO_ATTRIBUTE_OPTIONAL_DTYPE:
    return ((const struct pto_number *)value)->kind != PTO_NUMBER_ABSENT;
  case PTO_ATTRIBUTE_U32_LIST:
  case PTO_ATTRIBUTE_WORD_LIST:
  case PTO_ATTRIBUTE_SPLITS:
    return ((const struct pto_u32_list *)value)->values != NULL;
  case PTO_ATTRIBUTE_F32_LIST:
    return ((const struct pto_f32_list *)value)->values != NULL;
  default:
    return attribute->is_required || *(const uint32_t *)value != 0;
  }
}

static void put_attribute(struct pto_json_writer *w, const struct pto_op_attribute *attribute, const void *value) {
  if (!is_given(attribute, value)) return;
  pto_json_key(w, attribute->name);
  switch (attribute->kind) {
  case PTO_ATTRIBUTE_U32:
  case PTO_ATTRIBUTE_AXIS:
    pto_json_u64(w, *(const uint32_t *)value);
    break;
  case PTO_ATTRIBUTE_FLAG:
    pto_json_bool(w, *(const uint32_t *)value == PTO_FLAG_YES);
    break;
  case PTO_ATTRIBUTE_WORD:
    pto_json_string(w, attribute->words[*(const uint32_t *)value]);
    break;
  case PTO_ATTRIBUTE_DTYPE:
    pto_json_string(w, pto_graph_dtype_name(*(const uint32_t *)value));
    break;
  case PTO_ATTRIBUTE_OPTIONAL_DTYPE:
    pto_json_string(w, pto_graph_dtype_name((uint32_t)((const struct pto_number *)value)->value.u64));
    break;
  case PTO_ATTRIBUTE_NUMBER:
    put_number(w, *(const struct pto_number *)value);
    break;
  case PTO_ATTRIBUTE_U32_LIST:
    put_u32_list(w, value);
    break;
  case PTO_ATTRIBUTE_F32_LIST:
    put_f32_list(w, value);
    break;
  case PTO_ATTRIBUTE_WORD_LIST:
    put_word_list(w, value, attribute->words);
    break;
  default:
    put_splits(w, value);
  }
}

/* The label, where it is one that no node before has; else one that is made up.  NULL where there is no memory. */
static const char *choose_id(struct saver *s, const struct pto_graph_node *node, uint32_t index, char text[32]) {
  const char *id = node->label && node->label[0] ? node->label : NULL;
  if (!id || json_object_get(s->ids, id)) {
    snprintf(text, 32, "op_%" PRIu32, index);
    for (uint32_t i = 0; json_object_get(s->ids, text); i++) snprintf(text, 32, "op_%" PRIu32 "_%" PRIu32, index, i);
    id = text;
  }
  return json_object_set_new_nocheck(s->ids, id, json_true()) == 0 ? id : NULL;
}

static void put_options(struct saver *s, const struct pto_graph_node *node, bool is_label_id) {
  const struct pto_op_info *info = pto_op_info(node->op);
  struct pto_json_writer *w = &s->w;
  pto_json_put_object(w, "options");
  if (!is_label_id) pto_json_put_string(w, "label", node->label ? node->label : "");
  for (uint32_t i = 0; i < info->parameter_count; i++)
    if (info->parameters[i].is_optional && node->operands[i])
      pto_json_put_string(w, info->parameters[i].name, pto_graph_name_of(s->names, node->operands[i]));
  for (uint32_t i = 0; i < info->attribute_count; i++)
    put_attribute(w, &info->attributes[i], (const char *)node->options + info->attributes[i].offset);
  pto_json_object_end(w);
}

static int put_node(struct saver *s, uint32_t index) {
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

static void put_name_beside(struct saver *s, const char *key, const char *path) {
  char folder[PATH_MAX];
  const char *slash = strrchr(path, '/');
  const size_t length = slash ? (size_t)(slash + 1 - path) : 0;
  if (pto_graph_weights_path(s->path, false, "", folder) && strlen(folder) == length &&
      strncmp(folder, path, length) == 0)
    pto_json_put_string(&s->w, key, path + length);
}

/* The names of the files beside it, so that others there are not taken for them. */
static void put_weights_names(struct saver *s) {
  if (s->referred_count == 0) return;
  pto_json_newline(&s->w);
  pto_json_put_object(&s->w, "weights");
  put_name_beside(s, "data", s->weights_path);
  if (s->is_manifest) put_name_beside(s, "manifest", s->manifest_path);
  pto_json_object_end(&s->w);
}

static int put_document(struct saver *s) {
  struct pto_json_writer *w = &s->w;
  int status = PTO_OK;
  pto_json_object_begin(w);
  pto_json_put_string(w, "format", "webnn-graph-json");
  pto_json_put_u64(w, "version", VERSION);
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

static int write_document(struct saver *s, const char *path, struct pto_error *error) {
  FILE *file = pto_new_file_create(path, error);
  if (!file) return PTO_ESYSTEM;
  pto_json_init(&s->w, fileno(file));
  const bool has_room = put_document(s) == PTO_OK;
  const int status = pto_new_file_finish(path, file, pto_json_finish(&s->w), error);
  if (has_room) return status;
  pto_new_file_remove(path);
  return pto_error_set(error, PTO_ENOMEM, "%.400s: %s", path, pto_strerror(PTO_ENOMEM));
}

int pto_graph_json_save(const struct pto_graph *graph, const char *path, const struct pto_graph_file_options *options,
                        struct pto_error *error) {
  struct saver *s = calloc(1, sizeof *s);
  int status = PTO_ENOMEM;
  if (s) {
    s->graph = graph;
    s->path = path;
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
