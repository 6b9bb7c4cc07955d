/* SPDX-License-Identifier: MIT */
#include <tests/conformance/case_json.h>

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <graph/build/data.h>
#include <graph/build/operand_graph.h>

/* No file of cases is as large. */
#define FILE_MAX (UINT64_C(1) << 28)
/* Nor one of their tensors: a reference in double precision has several times its bytes. */
#define ELEMENTS_MAX (UINT64_C(1) << 26)

/* ---- numbers that jansson would change ---- */

/* The length of the number at `text`, and whether it is an integer. */
static size_t number_length(const char *text, size_t size, bool *is_integer) {
  size_t n = text[0] == '-' ? 1 : 0;
  *is_integer = true;
  for (; n < size && (isdigit((unsigned char)text[n]) || strchr("+-.eE", text[n])) && text[n]; n++)
    if (!isdigit((unsigned char)text[n])) *is_integer = false;
  return n;
}

static bool fits_int64(const char *number, size_t length) {
  char digits[24];
  if (length >= sizeof digits) return false;
  memcpy(digits, number, length);
  digits[length] = '\0';
  errno = 0;
  (void)strtoll(digits, NULL, 10);
  return errno == 0;
}

/* Copies the text with such numbers written so that they stay what they are; at most 2 bytes more for each number, and
 * no number is shorter than a byte. */
static size_t protect_numbers(const char *text, size_t size, char *out) {
  size_t used = 0;
  bool in_string = false;
  for (size_t i = 0; i < size;) {
    bool is_number = !in_string && (text[i] == '-' || isdigit((unsigned char)text[i])), is_integer = false;
    size_t length = is_number ? number_length(text + i, size - i, &is_integer) : 1;
    bool quotes = is_number && is_integer && !fits_int64(text + i, length);
    bool is_minus_zero = is_number && length == 2 && memcmp(text + i, "-0", 2) == 0;
    if (in_string && text[i] == '\\' && i + 1 < size)
      length = 2;
    else if (text[i] == '"')
      in_string = !in_string;
    if (quotes) out[used++] = '"';
    memcpy(out + used, text + i, length);
    used += length;
    if (quotes) out[used++] = '"';
    if (is_minus_zero) {
      memcpy(out + used, ".0", 2);
      used += 2;
    }
    i += length;
  }
  return used;
}

json_t *pto_case_json_parse(const char *text, size_t size, struct pto_error *error) {
  char *protected_text = malloc(3 * size + 1);
  if (!protected_text) {
    (void)pto_error_set(error, PTO_ENOMEM, "no memory for %zu bytes of text", size);
    return NULL;
  }
  size_t used = protect_numbers(text, size, protected_text);
  json_error_t reason;
  json_t *json = json_loadb(protected_text, used, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &reason);
  free(protected_text);
  if (!json) (void)pto_error_set(error, PTO_EINVAL, "line %d: %s", reason.line, reason.text);
  return json;
}

json_t *pto_case_json_load(const char *path, struct pto_error *error) {
  FILE *file = fopen(path, "rb");
  char *text = NULL;
  json_t *json = NULL;
  size_t size = 0, room = 0;
  if (!file) {
    (void)pto_error_set(error, PTO_ESYSTEM, "cannot be opened: %s", strerror(errno));
    return NULL;
  }
  do {
    room = room ? 2 * room : 1 << 16;
    char *larger = room <= FILE_MAX ? realloc(text, room) : NULL;
    if (!larger) {
      (void)pto_error_set(error, PTO_EINVAL, "is larger than %llu bytes", (unsigned long long)FILE_MAX);
      goto out;
    }
    text = larger;
    size += fread(text + size, 1, room - size, file);
  } while (size == room);
  if (ferror(file))
    (void)pto_error_set(error, PTO_ESYSTEM, "cannot be read");
  else
    json = pto_case_json_parse(text, size, error);
out:
  free(text);
  fclose(file);
  return json;
}

json_t *pto_case_json_member(json_t *object, const char *key, json_type type, struct pto_error *error) {
  static const char *const names[] = {"an object", "a list", "a text", "an integer",
                                      "a number",  "true",   "false",  "null"};
  json_t *value = json_object_get(object, key);
  if (value && json_typeof(value) == type) return value;
  (void)pto_error_set(error, PTO_EINVAL, value ? "\"%s\" is not %s" : "\"%s\" is missing; it is %s", key, names[type]);
  return NULL;
}

/* ---- values ---- */

/* Integers beyond int64, which protect_numbers has written so, and words; beyond uint64 the nearest double. */
static bool number_of_text(const char *text, struct pto_number *number) {
  const char *digits = text + (text[0] == '-');
  if (pto_graph_data_parse_number(text, number)) return true;
  if (digits[0] == '\0' || strspn(digits, "0123456789") != strlen(digits)) return false;
  *number = pto_number_f64(strtod(text, NULL));
  return true;
}

bool pto_case_json_number(json_t *json, struct pto_number *number) {
  if (json_is_integer(json))
    *number = pto_number_i64(json_integer_value(json));
  else if (json_is_real(json))
    *number = pto_number_f64(json_real_value(json));
  else if (json_is_boolean(json))
    *number = pto_number_i64(json_is_true(json));
  else
    return json_is_string(json) && number_of_text(json_string_value(json), number);
  return true;
}

static int list_attribute(json_t *json, struct pto_graph_arena *arena, struct pto_attribute_value *value,
                          struct pto_error *error) {
  size_t count = json_array_size(json);
  struct pto_attribute_value *items = pto_graph_arena_alloc(arena, count * sizeof *items);
  if (!items) return pto_error_set(error, PTO_ENOMEM, "no memory for a list of %zu", count);
  for (size_t i = 0; i < count; i++) {
    json_t *item = json_array_get(json, i);
    if (json_is_array(item)) return pto_error_set(error, PTO_EINVAL, "a list in a list");
    int status = pto_case_json_attribute(item, arena, &items[i], error);
    if (status) return status;
  }
  value->kind = PTO_VALUE_LIST;
  value->as.list.items = items;
  value->as.list.count = (uint32_t)count;
  return PTO_OK;
}

int pto_case_json_attribute(json_t *json, struct pto_graph_arena *arena, struct pto_attribute_value *value,
                            struct pto_error *error) {
  struct pto_number number;
  if (json_is_array(json)) return list_attribute(json, arena, value, error);
  if (json_is_boolean(json)) {
    *value = (struct pto_attribute_value){.kind = PTO_VALUE_BOOL, .as.truth = json_is_true(json)};
  } else if (pto_case_json_number(json, &number)) {
    *value = (struct pto_attribute_value){.as.number = number};
  } else if (json_is_string(json)) {
    *value = (struct pto_attribute_value){.kind = PTO_VALUE_WORD, .as.word = json_string_value(json)};
  } else {
    return pto_error_set(error, PTO_EINVAL, "is neither a number nor a text, a truth value or a list");
  }
  return PTO_OK;
}

int pto_case_json_desc(json_t *json, struct pto_graph_desc *desc, struct pto_error *error) {
  json_t *dtype = pto_case_json_member(json, "dataType", JSON_STRING, error);
  json_t *shape = dtype ? pto_case_json_member(json, "shape", JSON_ARRAY, error) : NULL;
  if (!shape) return PTO_EINVAL;
  int found = pto_graph_dtype_find(json_string_value(dtype));
  if (found < 0) return pto_error_set(error, PTO_EINVAL, "there is no data type \"%.40s\"", json_string_value(dtype));
  if (json_array_size(shape) > PTO_MAX_DIMS)
    return pto_error_set(error, PTO_EINVAL, "a shape of %zu dimensions", json_array_size(shape));
  *desc = (struct pto_graph_desc){.dtype = (uint32_t)found, .ndims = (uint32_t)json_array_size(shape)};
  for (uint32_t d = 0; d < desc->ndims; d++) {
    json_t *size = json_array_get(shape, d);
    if (!json_is_integer(size) || json_integer_value(size) < 0)
      return pto_error_set(error, PTO_EINVAL, "dimension %u of a shape is no size", d);
    desc->shape[d] = (uint64_t)json_integer_value(size);
  }
  return PTO_OK;
}

/* ---- data ---- */

/* A float beyond its dtype's range is infinite, as where the tests come from. */
static bool element_from_number(uint32_t dtype, struct pto_number number, void *element) {
  if (pto_graph_data_from_number(dtype, number, element)) return true;
  double value = pto_option_f64(number, 0);
  return pto_graph_data_from_number(dtype, pto_number_f64(value > 0 ? INFINITY : -INFINITY), element);
}

/* Puts one element at `index` of dense data; false where the dtype cannot hold it. */
static bool put_element(const struct pto_graph_desc *desc, uint64_t index, struct pto_number number, char *data) {
  unsigned char element[8] = {0};
  if (!element_from_number(desc->dtype, number, element)) return false;
  if (pto_dtype_bits(desc->dtype) == 4) {
    data[index / 2] = (char)(data[index / 2] | element[0] << (index % 2 * 4));
    return true;
  }
  uint64_t size = pto_dtype_size(desc->dtype);
  memcpy(data + index * size, element, size);
  return true;
}

static int put_all(json_t *json, const struct pto_graph_desc *desc, uint64_t count, char *data,
                   struct pto_error *error) {
  json_t *fill = json_object_get(json, "fill"), *items = json_object_get(json, "data");
  if (!fill && (!json_is_array(items) || json_array_size(items) != count))
    return pto_error_set(error, PTO_EINVAL, "has %zu values of data, and %llu elements", json_array_size(items),
                         (unsigned long long)count);
  for (uint64_t i = 0; i < count; i++) {
    struct pto_number number;
    if (!pto_case_json_number(fill ? fill : json_array_get(items, i), &number) || !put_element(desc, i, number, data))
      return pto_error_set(error, PTO_EINVAL, "element %llu is no %s", (unsigned long long)i,
                           pto_graph_dtype_name(desc->dtype));
  }
  return PTO_OK;
}

int pto_case_json_data(json_t *json, const struct pto_graph_desc *desc, void **data_out, uint64_t *size_out,
                       struct pto_error *error) {
  uint64_t count = 1;
  for (uint32_t d = 0; d < desc->ndims; d++)
    if (__builtin_mul_overflow(count, desc->shape[d], &count) || count > ELEMENTS_MAX)
      return pto_error_set(error, PTO_EINVAL, "has more elements than %llu", (unsigned long long)ELEMENTS_MAX);
  uint64_t size = (count * pto_dtype_bits(desc->dtype) + 7) / 8;
  char *data = calloc(1, size + 1);
  if (!data) return pto_error_set(error, PTO_ENOMEM, "no memory for %llu bytes", (unsigned long long)size);
  int status = put_all(json, desc, count, data, error);
  if (status) {
    free(data);
    return status;
  }
  *data_out = data;
  *size_out = size;
  return PTO_OK;
}
