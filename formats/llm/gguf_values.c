/* SPDX-License-Identifier: MIT */
/* Keys: found by name, their values by the type that the caller wants. */
#include <formats/llm/gguf.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/base.h>

static const char *const type_names[PTO_GGUF_VALUE_TYPE_COUNT] = {
#define X(constant, number, name, bytes) [constant] = (name),
    PTO_GGUF_VALUES(X)
#undef X
};

static int refuse(const char *key, const struct pto_gguf_value *value, const char *wanted, struct pto_error *error) {
  if (value->type == PTO_GGUF_VALUE_ARRAY)
    return pto_error_set(error, PTO_EINVAL, "key \"%.100s\" is an array of %" PRIu64 " %s, not %s", key, value->count,
                         type_names[value->elem_type], wanted);
  return pto_error_set(error, PTO_EINVAL, "key \"%.100s\" is of type %s, not %s", key, type_names[value->type], wanted);
}

/* Keys and tensors begin with their names. */
_Static_assert(offsetof(struct pto_gguf_key, name) == 0 && offsetof(struct pto_gguf_tensor, name) == 0,
               "one order is for both");

int pto_gguf_compare_names(const void *left, const void *right) {
  const struct pto_gguf_string *a = left, *b = right;
  const int order = memcmp(a->bytes, b->bytes, pto_min_u64(a->length, b->length));
  return order ? order : (a->length > b->length) - (a->length < b->length);
}

const struct pto_gguf_value *pto_gguf_find(const struct pto_gguf *gguf, const char *key) {
  const struct pto_gguf_key wanted = {.name = {key, strlen(key)}};
  const struct pto_gguf_key *found =
      gguf->key_count ? bsearch(&wanted, gguf->keys, gguf->key_count, sizeof wanted, pto_gguf_compare_names) : NULL;
  return found ? &found->value : NULL;
}

/* False where the value is no integer, or negative. */
static bool integer_of(const struct pto_gguf_value *value, uint64_t *out) {
  static const uint32_t with_sign =
      1u << PTO_GGUF_VALUE_I8 | 1u << PTO_GGUF_VALUE_I16 | 1u << PTO_GGUF_VALUE_I32 | 1u << PTO_GGUF_VALUE_I64;
  static const uint32_t without =
      1u << PTO_GGUF_VALUE_U8 | 1u << PTO_GGUF_VALUE_U16 | 1u << PTO_GGUF_VALUE_U32 | 1u << PTO_GGUF_VALUE_U64;
  const bool is_signed = with_sign >> value->type & 1;
  *out = 0;
  if (!((with_sign | without) >> value->type & 1)) return false;
  memcpy(out, value->data, value->size_bytes);
  return !is_signed || !(*out >> (8 * value->size_bytes - 1));
}

int pto_gguf_u64(const struct pto_gguf *gguf, const char *key, uint64_t *out, struct pto_error *error) {
  const struct pto_gguf_value *value = pto_gguf_find(gguf, key);
  uint64_t number;
  if (!value) return PTO_OK;
  if (!integer_of(value, &number)) return refuse(key, value, "a whole number from 0", error);
  *out = number;
  return PTO_OK;
}

int pto_gguf_f64(const struct pto_gguf *gguf, const char *key, double *out, struct pto_error *error) {
  const struct pto_gguf_value *value = pto_gguf_find(gguf, key);
  if (!value) return PTO_OK;
  if (value->type == PTO_GGUF_VALUE_F32) {
    float x;
    memcpy(&x, value->data, sizeof x);
    *out = (double)x;
  } else if (value->type == PTO_GGUF_VALUE_F64) {
    memcpy(out, value->data, sizeof *out);
  } else {
    return refuse(key, value, "a float", error);
  }
  return PTO_OK;
}

int pto_gguf_bool(const struct pto_gguf *gguf, const char *key, bool *out, struct pto_error *error) {
  const struct pto_gguf_value *value = pto_gguf_find(gguf, key);
  if (!value) return PTO_OK;
  if (value->type != PTO_GGUF_VALUE_BOOL) return refuse(key, value, "a bool", error);
  *out = value->data[0];
  return PTO_OK;
}

int pto_gguf_string(const struct pto_gguf *gguf, const char *key, struct pto_gguf_string *out,
                    struct pto_error *error) {
  const struct pto_gguf_value *value = pto_gguf_find(gguf, key);
  if (!value) return PTO_OK;
  if (value->type != PTO_GGUF_VALUE_STRING) return refuse(key, value, "a string", error);
  pto_gguf_next_string(value->data, out);
  return PTO_OK;
}

int pto_gguf_array(const struct pto_gguf *gguf, const char *key, uint32_t elem_type, struct pto_gguf_value *out,
                   struct pto_error *error) {
  const struct pto_gguf_value *value = pto_gguf_find(gguf, key);
  if (!value) return PTO_OK;
  if (value->type != PTO_GGUF_VALUE_ARRAY || value->elem_type != elem_type) {
    char wanted[32] = "an array of ";
    strcat(wanted, type_names[elem_type]);
    return refuse(key, value, wanted, error);
  }
  *out = *value;
  return PTO_OK;
}

const unsigned char *pto_gguf_next_string(const unsigned char *at, struct pto_gguf_string *out) {
  memcpy(&out->length, at, sizeof out->length);
  out->bytes = (const char *)at + sizeof out->length;
  return at + sizeof out->length + out->length;
}

bool pto_gguf_string_is(struct pto_gguf_string string, const char *text) {
  return string.length == strlen(text) && memcmp(string.bytes, text, string.length) == 0;
}
