/* SPDX-License-Identifier: MIT */
#include <graph/build/op_attributes.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <runtime/base/closest.h>

#define LABEL PTO_ATTRIBUTES_MAX

/* "3", "true", "\"nchw\"", "a list": for sentences. */
static const char *value_text(const struct pto_attribute_value *value, char text[64]) {
  switch (value->kind) {
  case PTO_VALUE_NUMBER:
    return pto_number_text(value->as.number, text);
  case PTO_VALUE_BOOL:
    return value->as.truth ? "true" : "false";
  case PTO_VALUE_WORD:
    snprintf(text, 64, "\"%.50s\"", value->as.word);
    break;
  default:
    snprintf(text, 64, "a list of %u", value->as.list.count);
    break;
  }
  return text;
}

static int refuse(const char *name, const struct pto_attribute_value *value, const char *wanted,
                  struct pto_error *error) {
  char text[64];
  return pto_error_set(error, PTO_EINVAL, "%s is %s, not %s", name, value_text(value, text), wanted);
}

/* ---- single values ---- */

static int set_number(const char *name, uint32_t number_class, const struct pto_attribute_value *value,
                      struct pto_number *field, struct pto_error *error) {
  static const char *const wanted[] = {[PTO_NUMBERS_ALL] = "a number",
                                       [PTO_NUMBERS_FINITE] = "a number",
                                       [PTO_NUMBERS_UNSIGNED] = "a whole number of 0 to 4294967295",
                                       [PTO_NUMBERS_SIGNED] = "a whole number of -2147483648 to 2147483647"};
  if (value->kind != PTO_VALUE_NUMBER) return refuse(name, value, wanted[number_class], error);
  const int status = pto_number_check(name, number_class, value->as.number, error);
  if (status == PTO_OK) *field = pto_number_normalise(number_class, value->as.number);
  return status;
}

static int set_u32(const char *name, const struct pto_attribute_value *value, uint32_t *field,
                   struct pto_error *error) {
  struct pto_number number = {0};
  const int status = set_number(name, PTO_NUMBERS_UNSIGNED, value, &number, error);
  if (status == PTO_OK) *field = (uint32_t)number.value.i64;
  return status;
}

static int set_word(const char *name, const char *const *words, const struct pto_attribute_value *value,
                    uint32_t *field, struct pto_error *error) {
  char wanted[128] = "one of";
  for (uint32_t i = 0; words[i]; i++) {
    if (value->kind == PTO_VALUE_WORD && strcmp(value->as.word, words[i]) == 0) {
      *field = i;
      return PTO_OK;
    }
    size_t used = strlen(wanted);
    snprintf(wanted + used, sizeof wanted - used, "%s %s", i ? "," : "", words[i]);
  }
  return refuse(name, value, wanted, error);
}

/* The long names alone ("float32"), which are those of the specification and of files. */
static int set_dtype(const char *name, const struct pto_attribute_value *value, uint32_t *field,
                     struct pto_error *error) {
  int dtype = value->kind == PTO_VALUE_WORD ? pto_graph_dtype_find(value->as.word) : -1;
  if (dtype < 0) return refuse(name, value, "a data type", error);
  *field = (uint32_t)dtype;
  return PTO_OK;
}

/* ---- lists ---- */

static int set_f32(const char *name, const struct pto_attribute_value *value, float *field, struct pto_error *error) {
  struct pto_number number = {0};
  const int status = set_number(name, PTO_NUMBERS_FINITE, value, &number, error);
  *field = (float)pto_option_f64(number, 0);
  return status || isfinite(*field) ? status : refuse(name, value, "a number of float32", error);
}

/* A list of 32-bit items of whatever kind. */
static int set_list(struct pto_op_attributes *attributes, const struct pto_op_attribute *attribute,
                    const struct pto_attribute_value *value, void *field, struct pto_error *error) {
  if (value->kind != PTO_VALUE_LIST) return refuse(attribute->name, value, "a list", error);
  const uint32_t count = value->as.list.count;
  const bool is_f32 = attribute->kind == PTO_ATTRIBUTE_F32_LIST;
  void *items = pto_graph_arena_alloc(&attributes->arena, (uint64_t)count * sizeof(uint32_t));
  uint32_t *values = items;
  float *floats = items;
  if (!items) return pto_error_set(error, PTO_ENOMEM, "no memory for %u values of %s", count, attribute->name);
  for (uint32_t i = 0; i < count; i++) {
    char name[64];
    snprintf(name, sizeof name, "%s[%u]", attribute->name, i);
    const struct pto_attribute_value *item = &value->as.list.items[i];
    const int status = is_f32 ? set_f32(name, item, &floats[i], error)
                       : attribute->kind == PTO_ATTRIBUTE_WORD_LIST
                           ? set_word(name, attribute->words, item, &values[i], error)
                           : set_u32(name, item, &values[i], error);
    if (status) return status;
  }
  if (is_f32)
    *(struct pto_f32_list *)field = (struct pto_f32_list){floats, count};
  else
    *(struct pto_u32_list *)field = (struct pto_u32_list){values, count};
  return PTO_OK;
}

/* A number of equal parts, or a list of their sizes. */
static int set_splits(struct pto_op_attributes *attributes, const struct pto_op_attribute *attribute,
                      const struct pto_attribute_value *value, struct pto_u32_list *field, struct pto_error *error) {
  uint32_t *has_sizes = (uint32_t *)(field + 1);
  *has_sizes = value->kind == PTO_VALUE_LIST ? PTO_FLAG_YES : PTO_FLAG_NO;
  if (value->kind == PTO_VALUE_LIST) return set_list(attributes, attribute, value, field, error);
  uint32_t *parts = pto_graph_arena_alloc(&attributes->arena, sizeof *parts);
  if (!parts) return pto_error_set(error, PTO_ENOMEM, "no memory for %s", attribute->name);
  *field = (struct pto_u32_list){parts, 1};
  return set_u32(attribute->name, value, parts, error);
}

/* ---- setting by name ---- */

void pto_op_attributes_init(struct pto_op_attributes *attributes, uint32_t op) {
  memset(attributes, 0, sizeof *attributes);
  attributes->op = op;
}

void pto_op_attributes_fini(struct pto_op_attributes *attributes) { pto_graph_arena_fini(&attributes->arena); }

static int set_label(struct pto_op_attributes *attributes, const struct pto_attribute_value *value,
                     struct pto_error *error) {
  if (value->kind != PTO_VALUE_WORD) return refuse("label", value, "a text", error);
  const char **label = (const char **)(void *)attributes->options;
  *label = pto_graph_arena_string(&attributes->arena, value->as.word);
  return *label ? PTO_OK : pto_error_set(error, PTO_ENOMEM, "no memory for a label");
}

static int set_attribute(struct pto_op_attributes *attributes, const struct pto_op_attribute *attribute,
                         const struct pto_attribute_value *value, struct pto_error *error) {
  void *field = attributes->options + attribute->offset;
  uint32_t *number = field;
  switch ((enum pto_attribute_kind)attribute->kind) {
  case PTO_ATTRIBUTE_U32:
  case PTO_ATTRIBUTE_AXIS:
    return set_u32(attribute->name, value, number, error);
  case PTO_ATTRIBUTE_FLAG:
    if (value->kind != PTO_VALUE_BOOL) return refuse(attribute->name, value, "true or false", error);
    *number = value->as.truth ? PTO_FLAG_YES : PTO_FLAG_NO;
    return PTO_OK;
  case PTO_ATTRIBUTE_WORD:
    return set_word(attribute->name, attribute->words, value, number, error);
  case PTO_ATTRIBUTE_DTYPE:
    return set_dtype(attribute->name, value, number, error);
  case PTO_ATTRIBUTE_OPTIONAL_DTYPE: {
    uint32_t dtype = 0;
    int status = set_dtype(attribute->name, value, &dtype, error);
    if (status == PTO_OK) *(struct pto_number *)field = pto_number_i64(dtype);
    return status;
  }
  case PTO_ATTRIBUTE_NUMBER:
    return set_number(attribute->name, attribute->number_class, value, field, error);
  case PTO_ATTRIBUTE_U32_LIST:
  case PTO_ATTRIBUTE_WORD_LIST:
  case PTO_ATTRIBUTE_F32_LIST:
    return set_list(attributes, attribute, value, field, error);
  case PTO_ATTRIBUTE_SPLITS:
    return set_splits(attributes, attribute, value, field, error);
  }
  return PTO_EINVAL;
}

static int refuse_unknown(const struct pto_op_info *info, const char *name, struct pto_error *error) {
  struct pto_closest closest;
  pto_closest_begin(&closest, name);
  for (uint32_t i = 0; i < info->attribute_count; i++) pto_closest_consider(&closest, info->attributes[i].name);
  pto_closest_consider(&closest, "label");
  char text[PTO_CLOSEST_TEXT];
  return pto_error_set(error, PTO_EINVAL, "there is no attribute \"%.60s\"%s", name,
                       pto_closest_question(&closest, text));
}

int pto_op_attributes_set(struct pto_op_attributes *attributes, const char *name,
                          const struct pto_attribute_value *value, struct pto_error *error) {
  const struct pto_op_info *info = pto_op_info(attributes->op);
  bool is_label = strcmp(name, "label") == 0;
  uint32_t i = is_label ? LABEL : 0;
  while (!is_label && i < info->attribute_count && strcmp(name, info->attributes[i].name) != 0 &&
         !(info->attributes[i].old_name && strcmp(name, info->attributes[i].old_name) == 0))
    i++;
  if (!is_label && i == info->attribute_count) return refuse_unknown(info, name, error);
  if (attributes->is_set[i])
    return pto_error_set(error, PTO_EINVAL, "%s is set twice", is_label ? "label" : info->attributes[i].name);
  int status =
      is_label ? set_label(attributes, value, error) : set_attribute(attributes, &info->attributes[i], value, error);
  if (status == PTO_OK) attributes->is_set[i] = true;
  return status;
}

int pto_op_attributes_finish(struct pto_op_attributes *attributes, struct pto_error *error) {
  const struct pto_op_info *info = pto_op_info(attributes->op);
  for (uint32_t i = 0; i < info->attribute_count; i++) {
    const struct pto_op_attribute *attribute = &info->attributes[i];
    if (attributes->is_set[i]) continue;
    if (attribute->is_required) return pto_error_set(error, PTO_EINVAL, "%s is missing", attribute->name);
    uint32_t *axis = (uint32_t *)(void *)(attributes->options + attribute->offset);
    if (attribute->kind == PTO_ATTRIBUTE_AXIS) axis[1] = PTO_FLAG_YES;
  }
  return PTO_OK;
}
