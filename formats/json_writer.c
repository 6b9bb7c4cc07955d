/* SPDX-License-Identifier: MIT */
#include <formats/json_writer.h>

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <runtime/base/base.h>
#include <runtime/base/utf8.h>

void pto_json_init(struct pto_json_writer *w, int fd) {
  /* The buffer is written before it is read. */
  w->fd = fd;
  w->error = 0;
  w->depth = 0;
  w->has_items = 0;
  w->is_after_key = w->wants_newline = false;
  w->used = 0;
}

static void flush(struct pto_json_writer *w) {
  for (size_t at = 0; at < w->used && !w->error;) {
    ssize_t written = write(w->fd, w->buffer + at, w->used - at);
    if (written >= 0)
      at += (size_t)written;
    else if (errno != EINTR)
      w->error = errno;
  }
  w->used = 0;
}

static void put(struct pto_json_writer *w, const char *bytes, size_t count) {
  while (count > 0) {
    if (w->used == sizeof w->buffer) flush(w);
    size_t part = pto_min_u64(count, sizeof w->buffer - w->used);
    memcpy(w->buffer + w->used, bytes, part);
    w->used += part;
    bytes += part;
    count -= part;
  }
}

static void put_char(struct pto_json_writer *w, char c) { put(w, &c, 1); }

int pto_json_finish(struct pto_json_writer *w) {
  put_char(w, '\n');
  flush(w);
  return w->error;
}

/* What stands before an item: the comma that parts it from the one before. */
static void begin_item(struct pto_json_writer *w) {
  if (w->is_after_key) {
    w->is_after_key = false;
    return;
  }
  if (w->depth == 0) return;
  uint64_t bit = UINT64_C(1) << (w->depth - 1);
  if (w->has_items & bit) put_char(w, ',');
  w->has_items |= bit;
  if (w->wants_newline) put_char(w, '\n');
  w->wants_newline = false;
}

static void open_bracket(struct pto_json_writer *w, char bracket) {
  begin_item(w);
  put_char(w, bracket);
  PTO_ASSERT(w->depth < PTO_JSON_MAX_DEPTH);
  w->depth++;
  w->has_items &= ~(UINT64_C(1) << (w->depth - 1));
}

static void close_bracket(struct pto_json_writer *w, char bracket) {
  PTO_ASSERT(w->depth > 0);
  w->depth--;
  put_char(w, bracket);
}

void pto_json_object_begin(struct pto_json_writer *w) { open_bracket(w, '{'); }
void pto_json_object_end(struct pto_json_writer *w) { close_bracket(w, '}'); }
void pto_json_array_begin(struct pto_json_writer *w) { open_bracket(w, '['); }
void pto_json_array_end(struct pto_json_writer *w) { close_bracket(w, ']'); }

static void put_escape(struct pto_json_writer *w, unsigned char c) {
  char text[8];
  const char *const short_forms = "\"\"\\\\\nn\tt\rr";
  for (const char *form = short_forms; *form; form += 2)
    if ((unsigned char)form[0] == c) {
      put_char(w, '\\');
      put_char(w, form[1]);
      return;
    }
  snprintf(text, sizeof text, "\\u%04x", c);
  put(w, text, 6);
}

static void put_quoted(struct pto_json_writer *w, const char *text) {
  const unsigned char *s = (const unsigned char *)text;
  put_char(w, '"');
  while (*s) {
    size_t length =
        *s < 0x80 ? (*s >= 0x20 && *s != '"' && *s != '\\' && *s != 0x7f) : pto_utf8_length((const char *)s);
    if (length)
      put(w, (const char *)s, length);
    else
      put_escape(w, *s);
    s += length ? length : 1;
  }
  put_char(w, '"');
}

void pto_json_key(struct pto_json_writer *w, const char *key) {
  begin_item(w);
  put_quoted(w, key);
  put_char(w, ':');
  w->is_after_key = true;
}

void pto_json_string(struct pto_json_writer *w, const char *text) {
  if (!text) {
    pto_json_null(w);
    return;
  }
  begin_item(w);
  put_quoted(w, text);
}

/* Decimal digits of `value`, at least `least` of them. */
static void put_digits(struct pto_json_writer *w, uint64_t value, uint32_t least) {
  char digits[24];
  size_t at = sizeof digits;
  for (; value || least; value /= 10, least -= least > 0) digits[--at] = (char)('0' + value % 10);
  put(w, digits + at, sizeof digits - at);
}

void pto_json_u64(struct pto_json_writer *w, uint64_t value) {
  begin_item(w);
  put_digits(w, value, 1);
}

void pto_json_i64(struct pto_json_writer *w, int64_t value) {
  begin_item(w);
  if (value < 0) put_char(w, '-');
  put_digits(w, value < 0 ? UINT64_C(0) - (uint64_t)value : (uint64_t)value, 1);
}

/* The first that reads back as the same number; 17 digits always do, and 9 for a float. */
static void format_number(char *text, size_t size, double value, bool is_float) {
  const int most = is_float ? 9 : 17;
  for (int digits = is_float ? 6 : 15; digits <= most; digits++) {
    snprintf(text, size, "%.*g", digits, value);
    const double back = strtod(text, NULL);
    if ((is_float ? (double)(float)back : back) == value) return;
  }
}

void pto_json_double(struct pto_json_writer *w, double value) {
  char text[40];
  if (isnan(value)) {
    pto_json_null(w);
    return;
  }
  if (isinf(value)) value = value > 0 ? DBL_MAX : -DBL_MAX;
  begin_item(w);
  format_number(text, sizeof text, value, false);
  put(w, text, strlen(text));
}

static void put_real(struct pto_json_writer *w, double value, bool is_float) {
  char text[40];
  if (!isfinite(value)) {
    pto_json_string(w, isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
    return;
  }
  begin_item(w);
  format_number(text, sizeof text, value, is_float);
  put(w, text, strlen(text));
  if (!strpbrk(text, ".e")) put(w, ".0", 2);
}
void pto_json_real(struct pto_json_writer *w, double value) { put_real(w, value, false); }
void pto_json_real32(struct pto_json_writer *w, float value) { put_real(w, (double)value, true); }

void pto_json_decimal(struct pto_json_writer *w, uint64_t value, uint32_t digits) {
  uint64_t unit = 1;
  for (uint32_t i = 0; i < digits; i++) unit *= 10;
  begin_item(w);
  put_digits(w, value / unit, 1);
  if (value % unit == 0) return;
  put_char(w, '.');
  put_digits(w, value % unit, digits);
}

void pto_json_bool(struct pto_json_writer *w, bool value) {
  begin_item(w);
  put(w, value ? "true" : "false", value ? 4 : 5);
}

void pto_json_raw(struct pto_json_writer *w, const char *text, size_t size) {
  begin_item(w);
  put(w, text, size);
}

void pto_json_null(struct pto_json_writer *w) {
  begin_item(w);
  put(w, "null", 4);
}

void pto_json_hex(struct pto_json_writer *w, uint64_t value) {
  char text[20];
  snprintf(text, sizeof text, "%016llx", (unsigned long long)value);
  pto_json_string(w, text);
}

void pto_json_newline(struct pto_json_writer *w) { w->wants_newline = true; }

void pto_json_put_string(struct pto_json_writer *w, const char *key, const char *text) {
  pto_json_key(w, key);
  pto_json_string(w, text);
}
void pto_json_put_u64(struct pto_json_writer *w, const char *key, uint64_t value) {
  pto_json_key(w, key);
  pto_json_u64(w, value);
}
void pto_json_put_double(struct pto_json_writer *w, const char *key, double value) {
  pto_json_key(w, key);
  pto_json_double(w, value);
}
void pto_json_put_bool(struct pto_json_writer *w, const char *key, bool value) {
  pto_json_key(w, key);
  pto_json_bool(w, value);
}
void pto_json_put_null(struct pto_json_writer *w, const char *key) {
  pto_json_key(w, key);
  pto_json_null(w);
}
bool pto_json_try_key(struct pto_json_writer *w, const char *key, bool is_known) {
  pto_json_key(w, key);
  if (!is_known) pto_json_null(w);
  return is_known;
}
void pto_json_put_object(struct pto_json_writer *w, const char *key) {
  pto_json_key(w, key);
  pto_json_object_begin(w);
}
void pto_json_put_format(struct pto_json_writer *w, const char *name, uint32_t version) {
  pto_json_put_string(w, "format", name);
  pto_json_put_u64(w, "version", version);
}

void pto_json_put_array(struct pto_json_writer *w, const char *key) {
  pto_json_key(w, key);
  pto_json_array_begin(w);
}
