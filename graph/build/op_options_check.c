/* SPDX-License-Identifier: MIT */
#include <graph/build/op_attributes.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define LIST_MAX (UINT32_C(1) << 20)

static int check_index(const char *name, uint64_t value, uint64_t count, const char *of, struct pto_error *error) {
  if (value < count) return PTO_OK;
  return pto_error_set(error, PTO_EINVAL, "%s is %" PRIu64 ", which is none of its %" PRIu64 " %s", name, value, count,
                       of);
}

static uint32_t word_count(const char *const *words) {
  uint32_t count = 0;
  while (words[count]) count++;
  return count;
}

/* The whole number that it is, if it is one. */
static bool whole_number(struct pto_number number, int64_t *whole) {
  if (number.kind == PTO_NUMBER_I64) {
    *whole = number.value.i64;
    return true;
  }
  if (number.kind == PTO_NUMBER_U64) {
    *whole = (int64_t)pto_min_u64(number.value.u64, INT64_MAX);
    return true;
  }
  if (!(fabs(number.value.f64) < 0x1p53) || number.value.f64 != trunc(number.value.f64)) return false;
  *whole = (int64_t)number.value.f64;
  return true;
}

const char *pto_number_text(struct pto_number number, char text[64]) {
  if (number.kind == PTO_NUMBER_I64)
    snprintf(text, 64, "%" PRId64, number.value.i64);
  else if (number.kind == PTO_NUMBER_U64)
    snprintf(text, 64, "%" PRIu64, number.value.u64);
  else
    snprintf(text, 64, "%.17g", number.value.f64);
  return text;
}

int pto_number_check(const char *name, uint32_t number_class, struct pto_number number, struct pto_error *error) {
  char text[64];
  if (number.kind == PTO_NUMBER_ABSENT) return PTO_OK;
  int status = check_index(name, number.kind, PTO_NUMBER_U64 + 1, "kinds of number", error);
  if (status || number_class == PTO_NUMBERS_ALL) return status;
  pto_number_text(number, text);
  if (number_class == PTO_NUMBERS_FINITE) {
    if (isfinite(pto_option_f64(number, 0))) return PTO_OK;
    return pto_error_set(error, PTO_EINVAL, "%s is %s, not a finite number", name, text);
  }
  bool is_signed = number_class == PTO_NUMBERS_SIGNED;
  int64_t whole = 0, least = is_signed ? INT32_MIN : 0, most = is_signed ? INT32_MAX : UINT32_MAX;
  if (whole_number(number, &whole) && whole >= least && whole <= most) return PTO_OK;
  return pto_error_set(error, PTO_EINVAL, "%s is %s, not a whole number of %" PRId64 " to %" PRId64, name, text, least,
                       most);
}

struct pto_number pto_number_normalise(uint32_t number_class, struct pto_number number) {
  int64_t whole = 0;
  const bool is_whole = number_class >= PTO_NUMBERS_UNSIGNED && number.kind != PTO_NUMBER_ABSENT;
  return is_whole && whole_number(number, &whole) ? pto_number_i64(whole) : number;
}

static int check_list(const char *name, const void *values, uint32_t count, struct pto_error *error) {
  if (count > LIST_MAX)
    return pto_error_set(error, PTO_EINVAL, "%s has %u values, more than %u", name, count, LIST_MAX);
  if (count && !values) return pto_error_set(error, PTO_EINVAL, "%s has %u values at NULL", name, count);
  return PTO_OK;
}

static int check_words(const struct pto_op_attribute *attribute, const struct pto_u32_list *list,
                       struct pto_error *error) {
  int status = check_list(attribute->name, list->values, list->count, error);
  for (uint32_t i = 0; status == PTO_OK && i < list->count; i++)
    status = check_index(attribute->name, list->values[i], word_count(attribute->words), "words", error);
  return status;
}

static int check_floats(const char *name, const struct pto_f32_list *list, struct pto_error *error) {
  int status = check_list(name, list->values, list->count, error);
  for (uint32_t i = 0; status == PTO_OK && i < list->count; i++)
    if (!isfinite(list->values[i]))
      status = pto_error_set(error, PTO_EINVAL, "%s[%u] is %g, not a finite number", name, i, list->values[i]);
  return status;
}

static int check_attribute(const struct pto_op_attribute *attribute, const void *field, struct pto_error *error) {
  const char *name = attribute->name;
  const uint32_t *value = field;
  const struct pto_number *number = field;
  const struct pto_u32_list *list = field;
  switch ((enum pto_attribute_kind)attribute->kind) {
  case PTO_ATTRIBUTE_U32:
    return PTO_OK;
  case PTO_ATTRIBUTE_AXIS:
    return check_index(name, value[1], PTO_FLAG_YES + 1, "flags", error);
  case PTO_ATTRIBUTE_FLAG:
    return check_index(name, *value, PTO_FLAG_YES + 1, "flags", error);
  case PTO_ATTRIBUTE_WORD:
    return check_index(name, *value, word_count(attribute->words), "words", error);
  case PTO_ATTRIBUTE_DTYPE:
    return check_index(name, *value, PTO_DTYPE_COUNT, "data types", error);
  case PTO_ATTRIBUTE_OPTIONAL_DTYPE: {
    int status = pto_number_check(name, PTO_NUMBERS_UNSIGNED, *number, error);
    return status ? status
                  : check_index(name, (uint64_t)pto_option_f64(*number, 0), PTO_DTYPE_COUNT, "data types", error);
  }
  case PTO_ATTRIBUTE_NUMBER:
    return pto_number_check(name, attribute->number_class, *number, error);
  case PTO_ATTRIBUTE_U32_LIST:
    return check_list(name, list->values, list->count, error);
  case PTO_ATTRIBUTE_WORD_LIST:
    return check_words(attribute, list, error);
  case PTO_ATTRIBUTE_F32_LIST:
    return check_floats(name, field, error);
  case PTO_ATTRIBUTE_SPLITS: {
    int status = check_list(name, list->values, list->count, error);
    return status ? status : check_index(name, *(const uint32_t *)(list + 1), PTO_FLAG_YES + 1, "flags", error);
  }
  }
  return PTO_EINVAL;
}

int pto_op_options_check(uint32_t op, const void *options, struct pto_error *error) {
  const struct pto_op_info *info = pto_op_info(op);
  int status = PTO_OK;
  for (uint32_t i = 0; status == PTO_OK && i < info->attribute_count; i++)
    status = check_attribute(&info->attributes[i], (const char *)options + info->attributes[i].offset, error);
  return status;
}

void pto_op_options_normalise(uint32_t op, const void *options, uint32_t ndims, void *into) {
  const struct pto_op_info *info = pto_op_info(op);
  char *copy = into;
  memset(copy, 0, PTO_OPTIONS_BYTES);
  if (!options) return;
  memcpy(copy, options, info->options_size);
  memset(copy, 0, sizeof(const char *)); /* the label */
  for (uint32_t i = 0; i < info->parameter_count; i++)
    if (info->parameters[i].is_optional) memset(copy + info->parameters[i].offset, 0, sizeof(struct pto_graph_operand));
  for (uint32_t i = 0; i < info->attribute_count; i++) {
    const struct pto_op_attribute *attribute = &info->attributes[i];
    struct pto_number *number = (struct pto_number *)(void *)(copy + attribute->offset);
    if (attribute->kind == PTO_ATTRIBUTE_NUMBER || attribute->kind == PTO_ATTRIBUTE_OPTIONAL_DTYPE)
      *number = pto_number_normalise(attribute->number_class, *number);
    uint32_t *axis = (uint32_t *)(void *)(copy + attribute->offset);
    if (attribute->kind == PTO_ATTRIBUTE_AXIS && axis[1] == PTO_FLAG_YES) axis[0] = ndims ? ndims - 1 : 0;
    if (attribute->kind == PTO_ATTRIBUTE_AXIS) axis[1] = PTO_FLAG_DEFAULT;
  }
}

/* Of an attribute that has a list: its values are copied. */
static bool copy_list(const struct pto_op_attribute *attribute, void *field, struct pto_graph_arena *arena) {
  if (attribute->kind == PTO_ATTRIBUTE_F32_LIST) {
    struct pto_f32_list *list = field;
    if (!list->values) return true;
    list->values = pto_graph_arena_copy(arena, list->values, list->count, sizeof *list->values);
    return list->values;
  }
  struct pto_u32_list *list = field;
  if (!list->values) return true;
  list->values = pto_graph_arena_copy(arena, list->values, list->count, sizeof *list->values);
  return list->values;
}

void *pto_op_options_copy(uint32_t op, const void *options, struct pto_graph_arena *arena) {
  const struct pto_op_info *info = pto_op_info(op);
  char *copy = pto_graph_arena_copy(arena, options, 1, info->options_size);
  for (uint32_t i = 0; copy && i < info->attribute_count; i++) {
    uint32_t kind = info->attributes[i].kind;
    bool has_list = kind == PTO_ATTRIBUTE_U32_LIST || kind == PTO_ATTRIBUTE_WORD_LIST ||
                    kind == PTO_ATTRIBUTE_F32_LIST || kind == PTO_ATTRIBUTE_SPLITS;
    if (has_list && !copy_list(&info->attributes[i], copy + info->attributes[i].offset, arena)) return NULL;
  }
  return copy;
}
