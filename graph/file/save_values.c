/* SPDX-License-Identifier: MIT */
#include <graph/file/save.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <graph/build/data.h>
#include <graph/build/sizes.h>

/* Constants of one value alone are written as it up to this size. */
#define MOST_FILLED_BYTES (UINT64_C(1) << 20)

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

_Static_assert(PTO_DTYPE_COUNT == 18, "a dtype more: the number that an element is goes here");

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

bool pto_graph_save_is_filled(const struct pto_graph_value *value) {
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

void pto_graph_save_filled(struct pto_graph_saver *s, uint32_t index) {
  unsigned char element[8];
  take_element(&s->graph->values[index], 0, element);
  const struct pto_number number = number_of(s->graph->values[index].desc.dtype, element);
  if (number.kind == PTO_NUMBER_F64)
    pto_json_real32(&s->w, (float)number.value.f64);
  else
    put_number(&s->w, number);
}

void pto_graph_save_bytes(struct pto_graph_saver *s, uint32_t index) {
  const struct pto_graph_value *value = &s->graph->values[index];
  pto_json_array_begin(&s->w);
  for (uint64_t i = 0; i < value->size_bytes; i++) pto_json_u64(&s->w, ((const unsigned char *)value->data)[i]);
  pto_json_array_end(&s->w);
}

/* ---- options ---- */

/* dyn("NAME", MOST), or {"name": …, "maxSize": …}. */
static void put_open_size(struct pto_graph_saver *s, const struct pto_graph_open_size *size) {
  struct pto_json_writer *w = &s->w;
  char most[32];
  if (!s->is_text) {
    pto_json_object_begin(w);
    pto_json_put_string(w, "name", size->name);
    pto_json_put_u64(w, "maxSize", size->most);
    pto_json_object_end(w);
    return;
  }
  pto_json_raw(w, "dyn(", strlen("dyn("));
  w->is_after_key = true; /* no comma */
  pto_json_string(w, size->name);
  w->is_after_key = true;
  snprintf(most, sizeof most, ", %" PRIu64 ")", size->most);
  pto_json_raw(w, most, strlen(most));
}

/* A number, or the size that stands at its place. */
static void put_size(struct pto_graph_saver *s, const struct pto_graph_size_place *place, uint64_t number) {
  const struct pto_graph_open_size *size = pto_graph_size_in(s->graph, place->value, place->attribute, place->item);
  if (size)
    put_open_size(s, size);
  else
    pto_json_u64(&s->w, number);
}

void pto_graph_save_shape(struct pto_graph_saver *s, uint32_t value) {
  const struct pto_graph_desc *desc = &s->graph->values[value].desc;
  struct pto_graph_size_place place = {value, PTO_SIZE_IN_SHAPE, 0, 0};
  pto_json_array_begin(&s->w);
  for (; place.item < desc->ndims; place.item++) put_size(s, &place, desc->shape[place.item]);
  pto_json_array_end(&s->w);
}

static void put_u32_list(struct pto_graph_saver *s, struct pto_graph_size_place place,
                         const struct pto_u32_list *list) {
  pto_json_array_begin(&s->w);
  for (; place.item < list->count; place.item++) put_size(s, &place, list->values[place.item]);
  pto_json_array_end(&s->w);
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

static void put_splits(struct pto_graph_saver *s, const struct pto_graph_size_place *place,
                       const struct pto_u32_list *list) {
  const uint32_t has_sizes = *(const uint32_t *)(list + 1);
  if (list->count == 1 && has_sizes != PTO_FLAG_YES)
    put_size(s, place, list->values[0]);
  else
    put_u32_list(s, *place, list);
}

bool pto_graph_save_is_given(const struct pto_op_attribute *attribute, const void *value) {
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

void pto_graph_save_option(struct pto_graph_saver *s, const struct pto_graph_node *node, uint32_t index) {
  const struct pto_op_attribute *attribute = &pto_op_info(node->op)->attributes[index];
  const struct pto_graph_size_place place = {node->first_result, index + 1, 0, 0};
  const void *value = (const char *)node->options + attribute->offset;
  struct pto_json_writer *w = &s->w;
  switch (attribute->kind) {
  case PTO_ATTRIBUTE_U32:
    put_size(s, &place, *(const uint32_t *)value);
    break;
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
    put_u32_list(s, place, value);
    break;
  case PTO_ATTRIBUTE_F32_LIST:
    put_f32_list(w, value);
    break;
  case PTO_ATTRIBUTE_WORD_LIST:
    put_word_list(w, value, attribute->words);
    break;
  default:
    put_splits(s, &place, value);
  }
}

/* ---- files beside it ---- */

const char *pto_graph_save_name_beside(const struct pto_graph_saver *s, const char *path) {
  char folder[PATH_MAX];
  const char *slash = strrchr(path, '/');
  const size_t length = slash ? (size_t)(slash + 1 - path) : 0;
  const bool is_beside = pto_graph_weights_path(s->path, false, "", folder) && strlen(folder) == length &&
                         strncmp(folder, path, length) == 0;
  return is_beside ? path + length : NULL;
}
