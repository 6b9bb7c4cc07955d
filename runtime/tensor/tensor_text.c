/* SPDX-License-Identifier: MIT */
/*
 * Tensors as text: the sentence of an invalid one, and the line that stands for a valid one in messages.
 *
 * Always true: pto_tensor_parse of what pto_tensor_format wrote for a valid tensor gives that tensor again, given its
 * buffer. Texts are cut to the caller's size, ended by a 0, and the length returned is that of the whole, as with
 * snprintf. No allocation, any thread.  A new reason needs nothing here; a new kind of value in sentences is a case of
 * add_reason.
 */
#include <pto/tensor.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <runtime/tensor/tensor_make.h>

struct text {
  char *start;
  size_t size;
  size_t length; /* of the whole, whatever fits */
};

static void PTO_PRINTF(2, 3) add(struct text *text, const char *format, ...) {
  bool has_room = text->length < text->size;
  va_list arguments;
  va_start(arguments, format);
  int added = vsnprintf(has_room ? text->start + text->length : NULL, has_room ? text->size - text->length : 0, format,
                        arguments);
  va_end(arguments);
  if (added > 0) text->length += (size_t)added;
}

static void add_list(struct text *text, uint32_t count, const uint64_t *items) {
  add(text, "[");
  for (uint32_t i = 0; i < count; i++) add(text, "%s%" PRIu64, i ? "," : "", items[i]);
  add(text, "]");
}

static const char *const maker_words[] = {
#define X(constant, word) word,
    PTO_TENSOR_MAKER_LIST(X)
#undef X
};

static const char *const sentences[] = {
#define X(constant, status, sentence) sentence,
    PTO_TENSOR_REASON_LIST(X)
#undef X
};

/* The sentence of an invalid tensor with its values in the places of %u, %x, %t and %l. */
static void add_reason(struct text *text, const struct pto_tensor *t) {
  if (t->start_offset >= PTO_REASON_COUNT_OF || (uint32_t)t->version >= PTO_MAKER_COUNT) {
    add(text, "tensor: %s", pto_strerror(t->status));
    return;
  }
  uint64_t values[PTO_TENSOR_REASON_VALUES + 1] = {0}; /* the last one stands for values that are not there */
  memcpy(values, t->shape, sizeof t->shape);
  memcpy(values + PTO_MAX_DIMS, t->strides, sizeof t->strides);
  uint32_t next = 0;
  add(text, "%s: ", maker_words[t->version]);
  for (const char *s = sentences[t->start_offset]; *s != '\0'; s++) {
    if (*s != '%') {
      add(text, "%c", *s);
      continue;
    }
    uint64_t value = values[next];
    if (next < PTO_TENSOR_REASON_VALUES) next++;
    switch (*++s) {
    case 'x':
      add(text, "0x%" PRIx64, value);
      break;
    case 't':
      add(text, "%s", value < PTO_DTYPE_COUNT ? pto_dtype_name((uint32_t)value) : "?");
      break;
    case 'l': {
      uint32_t count = (uint32_t)pto_min_u64(value, PTO_TENSOR_REASON_VALUES - next);
      add_list(text, count, values + next);
      next += count;
      break;
    }
    default:
      add(text, "%" PRIu64, value);
    }
  }
}

int pto_tensor_explain(const struct pto_tensor *t, char *text, size_t size) {
  struct text out = {text, size, 0};
  if (size > 0) text[0] = '\0';
  if (pto_tensor_status(t) == PTO_OK) {
    add(&out, "valid tensor");
  } else {
    struct pto_tensor refused = pto_tensor_refused(t, PTO_MAKER_TENSOR);
    add_reason(&out, &refused);
  }
  return (int)out.length;
}

int pto_tensor_format(const struct pto_tensor *t, char *text, size_t size) {
  struct text out = {text, size, 0};
  if (size > 0) text[0] = '\0';
  if (pto_tensor_status(t) != PTO_OK) {
    struct pto_tensor refused = pto_tensor_refused(t, PTO_MAKER_TENSOR);
    add(&out, "invalid tensor (");
    add_reason(&out, &refused);
    add(&out, ")");
    return (int)out.length;
  }
  add(&out, "buffer %" PRIu64 " %s", t->buffer.id, pto_dtype_name(t->dtype));
  add_list(&out, t->ndims, t->shape);
  add(&out, " strides ");
  add_list(&out, t->ndims, t->strides);
  add(&out, " offset %" PRIu64 " v%" PRId32, t->start_offset, t->version);
  if (t->overlap == PTO_OVERLAP_FUZZY) add(&out, " fuzzy");
  return (int)out.length;
}

/* ---- parsing: each function moves *at past what it read, or answers false ---- */

static bool read_word(const char **at, const char *word) {
  size_t length = strlen(word);
  if (strncmp(*at, word, length) != 0) return false;
  *at += length;
  return true;
}

static bool read_number(const char **at, uint64_t *value) {
  if (**at < '0' || **at > '9') return false;
  for (*value = 0; **at >= '0' && **at <= '9'; ++*at)
    if (__builtin_mul_overflow(*value, UINT64_C(10), value) ||
        __builtin_add_overflow(*value, (uint64_t)(**at - '0'), value))
      return false;
  return true;
}

static bool read_list(const char **at, uint64_t *items, uint32_t *count) {
  *count = 0;
  if (!read_word(at, "[")) return false;
  if (read_word(at, "]")) return true;
  do {
    if (*count == PTO_MAX_DIMS || !read_number(at, &items[*count])) return false;
    ++*count;
  } while (read_word(at, ","));
  return read_word(at, "]");
}

static bool read_dtype(const char **at, uint32_t *dtype) {
  char name[16];
  size_t length = strcspn(*at, "[");
  if (length >= sizeof name) return false;
  memcpy(name, *at, length);
  name[length] = '\0';
  int found = pto_dtype_from_name(name);
  if (found < 0) return false;
  *dtype = (uint32_t)found;
  *at += length;
  return true;
}

static bool read_version(const char **at, int32_t *version) {
  uint64_t magnitude;
  bool is_negative = read_word(at, "-");
  if (!read_number(at, &magnitude) || magnitude > (uint64_t)INT32_MAX + is_negative) return false;
  *version = (int32_t)(is_negative ? -(int64_t)magnitude : (int64_t)magnitude);
  return true;
}

int pto_tensor_parse(const char *text, struct pto_buffer buffer, struct pto_tensor *tensor) {
  struct pto_tensor t = {.buffer = buffer};
  uint64_t id;
  uint32_t stride_count;
  if (text == NULL) return PTO_EINVAL;
  bool is_read = read_word(&text, "buffer ") && read_number(&text, &id) && read_word(&text, " ") &&
                 read_dtype(&text, &t.dtype) && read_list(&text, t.shape, &t.ndims) && read_word(&text, " strides ") &&
                 read_list(&text, t.strides, &stride_count) && stride_count == t.ndims &&
                 read_word(&text, " offset ") && read_number(&text, &t.start_offset) && read_word(&text, " v") &&
                 read_version(&text, &t.version);
  if (!is_read) return PTO_EINVAL;
  if (read_word(&text, " fuzzy")) t.overlap = PTO_OVERLAP_FUZZY;
  if (*text != '\0' || pto_tensor_check(&t) != PTO_OK) return PTO_EINVAL;
  *tensor = t;
  return PTO_OK;
}
