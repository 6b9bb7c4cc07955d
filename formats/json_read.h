/* SPDX-License-Identifier: MIT */
/*
 * Reading JSON files that are not checked yet: every value is asked for by key and type, and what is not so ends in one
 * sentence that names the file, the place in it and what was wanted.
 *
 * Owns nothing: the document is jansson's and the caller's (json_decref); strings are borrowed from it.
 *
 * Always true: the first mistake is kept in `error`; after it every getter answers 0, "", false or NULL, so that a
 * caller may read a whole object and ask once.  A file that is no regular one, or larger than the caller allows, is
 * refused before it is read; so are duplicate keys.  Depth is limited by jansson (JSON_PARSER_MAX_DEPTH).
 *
 * One thread a reader.
 */
#ifndef PTO_JSON_READ_H
#define PTO_JSON_READ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <runtime/base/error.h>

struct pto_json_reader {
  const char *path;
  char place[96]; /* "tasks[17].params[2]"; "" at the top */
  int status;     /* PTO_OK, or that of the first mistake */
  struct pto_error *error;
};

/* The document of the file at `path`, an object; NULL with the reason in `error`.  `path` and `error` are borrowed for
 * the life of the reader. */
json_t *pto_json_read_file(struct pto_json_reader *reader, const char *path, uint64_t most_bytes,
                           struct pto_error *error);

/* The two halves of it, for files that may be something else: the stream, which the caller closes, and the document in
 * what is left of it. */
FILE *pto_json_read_open(struct pto_json_reader *reader, const char *path, uint64_t most_bytes,
                         struct pto_error *error);
json_t *pto_json_read_stream(struct pto_json_reader *reader, FILE *stream);

/* The same of `size` bytes in memory, which are not needed afterwards; `path` is how sentences name them. */
json_t *pto_json_read_memory(struct pto_json_reader *reader, const char *path, const void *bytes, size_t size,
                             struct pto_error *error);

/* Where the getters are from now on, for sentences. */
void pto_json_read_at(struct pto_json_reader *reader, const char *format, ...) PTO_PRINTF(2, 3);
/* A mistake that no getter knows: "PATH: PLACE: …".  Returns the reader's status. */
int pto_json_read_refuse(struct pto_json_reader *reader, const char *format, ...) PTO_PRINTF(2, 3);

/* Values of `key` in `object`; each must be there and of its type. */
uint64_t pto_json_read_u64(struct pto_json_reader *reader, json_t *object, const char *key, uint64_t most);
int64_t pto_json_read_i64(struct pto_json_reader *reader, json_t *object, const char *key);
bool pto_json_read_bool(struct pto_json_reader *reader, json_t *object, const char *key);
const char *pto_json_read_string(struct pto_json_reader *reader, json_t *object, const char *key);
json_t *pto_json_read_object(struct pto_json_reader *reader, json_t *object, const char *key);
/* Of at most `most` items. */
json_t *pto_json_read_array(struct pto_json_reader *reader, json_t *object, const char *key, size_t most);
/* Item `index` of an array, an object. */
json_t *pto_json_read_item(struct pto_json_reader *reader, json_t *array, size_t index);
/* An array of at most `most` numbers of at most `most_value`; *count_out is how many there are. */
void pto_json_read_u64s(struct pto_json_reader *reader, json_t *object, const char *key, uint32_t most,
                        uint64_t most_value, uint64_t *values, uint32_t *count_out);
/* A finite number, whole or not. */
double pto_json_read_number(struct pto_json_reader *reader, json_t *object, const char *key);
/* Whether the key is there and not null. */
bool pto_json_has(json_t *object, const char *key);

#endif
