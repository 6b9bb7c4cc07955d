/* SPDX-License-Identifier: MIT */
/*
 * JSON written as it goes: one value after the other into a file descriptor, through a buffer of its own.
 *
 * Owns its buffer, nothing else; the descriptor is the caller's.  Never allocates and never locks, so that a crash
 * report can use it, and memory does not grow with the output.
 *
 * Always true of a finished document, if keys and values were given in an order that makes sense: it is valid JSON in
 * ASCII or UTF-8 (bytes that are no UTF-8 are taken as Latin-1).  Numbers that JSON does not have become null (NaN) or
 * the largest finite one (infinities), but for pto_json_real.  After the first failed write nothing more is written,
 * and finish says so.
 *
 * Threads: one writer, one thread.
 */
#ifndef PTO_JSON_WRITER_H
#define PTO_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PTO_JSON_BUFFER_BYTES 65536
#define PTO_JSON_MAX_DEPTH 64

struct pto_json_writer {
  int fd;
  int error;          /* errno of the write that failed, or 0 */
  uint32_t depth;     /* open objects and arrays, ≤ PTO_JSON_MAX_DEPTH */
  uint64_t has_items; /* by depth, one bit */
  bool is_after_key, wants_newline;
  size_t used;
  char buffer[PTO_JSON_BUFFER_BYTES];
};

void pto_json_init(struct pto_json_writer *w, int fd);
/* Ends the document with a newline and writes what is left; 0, or the errno of the first failure. */
int pto_json_finish(struct pto_json_writer *w);

void pto_json_object_begin(struct pto_json_writer *w);
void pto_json_object_end(struct pto_json_writer *w);
void pto_json_array_begin(struct pto_json_writer *w);
void pto_json_array_end(struct pto_json_writer *w);
void pto_json_key(struct pto_json_writer *w, const char *key);
/* NULL: null. */
void pto_json_string(struct pto_json_writer *w, const char *text);
void pto_json_u64(struct pto_json_writer *w, uint64_t value);
void pto_json_i64(struct pto_json_writer *w, int64_t value);
void pto_json_double(struct pto_json_writer *w, double value);
/* For what reads files back: the shortest that is the same double, or the same float, always with a point or exponent
 * (−0 keeps its sign); "NaN", "Infinity" and "-Infinity" as strings. */
void pto_json_real(struct pto_json_writer *w, double value);
void pto_json_real32(struct pto_json_writer *w, float value);
/* value / 10^digits, exactly: pto_json_decimal(w, 1234567, 6) is 1.234567.  digits ≤ 9. */
void pto_json_decimal(struct pto_json_writer *w, uint64_t value, uint32_t digits);
void pto_json_bool(struct pto_json_writer *w, bool value);
void pto_json_null(struct pto_json_writer *w);
/* An item that another writer has made, as it is. */
void pto_json_raw(struct pto_json_writer *w, const char *text, size_t size);
/* Sixteen hexadecimal digits as a string: JSON's numbers do not hold 64 bits everywhere. */
void pto_json_hex(struct pto_json_writer *w, uint64_t value);
/* The next item of an array or object begins a line, for people. */
void pto_json_newline(struct pto_json_writer *w);

/* A key and its value. */
void pto_json_put_string(struct pto_json_writer *w, const char *key, const char *text);
void pto_json_put_u64(struct pto_json_writer *w, const char *key, uint64_t value);
void pto_json_put_double(struct pto_json_writer *w, const char *key, double value);
void pto_json_put_bool(struct pto_json_writer *w, const char *key, bool value);
void pto_json_put_null(struct pto_json_writer *w, const char *key);
/* "format" and "version", with which a document says what it is; docs/schemas has a file NAME.json for each. */
void pto_json_put_format(struct pto_json_writer *w, const char *name, uint32_t version);
/* The key, for a value that is to follow where this returns `is_known`; else null is written for it. */
bool pto_json_try_key(struct pto_json_writer *w, const char *key, bool is_known);
/* A key and the beginning of its value, which object_end or array_end ends. */
void pto_json_put_object(struct pto_json_writer *w, const char *key);
void pto_json_put_array(struct pto_json_writer *w, const char *key);

#endif
