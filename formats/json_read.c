/* SPDX-License-Identifier: MIT */
#include <formats/json_read.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <formats/json_text.h>

/* ---- the file ---- */

static int refuse_file(struct pto_json_reader *reader, int status, const char *what) {
  return reader->status = pto_error_set(reader->error, status, "%.400s: %s", reader->path, what);
}

static int check_file(struct pto_json_reader *reader, int fd, uint64_t most_bytes) {
  struct stat about;
  if (fstat(fd, &about) != 0) return refuse_file(reader, PTO_ESYSTEM, strerror(errno));
  if (!S_ISREG(about.st_mode)) return refuse_file(reader, PTO_EINVAL, "no regular file");
  if ((uint64_t)about.st_size > most_bytes)
    return reader->status = pto_error_set(reader->error, PTO_EINVAL, "%.400s: %jd bytes, at most %" PRIu64 " are read",
                                          reader->path, (intmax_t)about.st_size, most_bytes);
  return PTO_OK;
}

/* What was made of the text, if it is an object; NULL, refused, otherwise. */
static json_t *keep_object(struct pto_json_reader *reader, json_t *root, const json_error_t *reason) {
  if (!root && errno == ENOMEM)
    refuse_file(reader, PTO_ENOMEM, "out of memory");
  else if (!root)
    reader->status = pto_error_set(reader->error, PTO_EINVAL, "%.400s: line %d, column %d: %s", reader->path,
                                   reason->line, reason->column, reason->text);
  else if (!json_is_object(root))
    refuse_file(reader, PTO_EINVAL, "holds no JSON object");
  if (!reader->status) return root;
  json_decref(root);
  return NULL;
}

FILE *pto_json_read_open(struct pto_json_reader *reader, const char *path, uint64_t most_bytes,
                         struct pto_error *error) {
  *reader = (struct pto_json_reader){.path = path, .error = error};
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    refuse_file(reader, PTO_ESYSTEM, strerror(errno));
    return NULL;
  }
  FILE *stream = check_file(reader, fd, most_bytes) ? NULL : fdopen(fd, "r"); /* json_loadfd reads byte by byte */
  if (!stream && !reader->status) refuse_file(reader, PTO_ESYSTEM, strerror(errno));
  if (!stream) close(fd);
  return stream;
}

json_t *pto_json_read_stream(struct pto_json_reader *reader, FILE *stream) {
  json_error_t reason;
  json_t *root = pto_json_load_stream(stream, JSON_REJECT_DUPLICATES, &reason);
  return keep_object(reader, root, &reason);
}

json_t *pto_json_read_file(struct pto_json_reader *reader, const char *path, uint64_t most_bytes,
                           struct pto_error *error) {
  FILE *stream = pto_json_read_open(reader, path, most_bytes, error);
  json_t *root = stream ? pto_json_read_stream(reader, stream) : NULL;
  if (stream) fclose(stream);
  return root;
}

json_t *pto_json_read_memory(struct pto_json_reader *reader, const char *path, const void *bytes, size_t size,
                             struct pto_error *error) {
  json_error_t reason;
  *reader = (struct pto_json_reader){.path = path, .error = error};
  json_t *root = pto_json_load(bytes, size, JSON_REJECT_DUPLICATES, &reason);
  return keep_object(reader, root, &reason);
}

/* ---- mistakes ---- */

void pto_json_read_at(struct pto_json_reader *reader, const char *format, ...) {
  va_list arguments;
  if (reader->status) return;
  va_start(arguments, format);
  vsnprintf(reader->place, sizeof reader->place, format, arguments);
  va_end(arguments);
}

int pto_json_read_refuse(struct pto_json_reader *reader, const char *format, ...) {
  char what[400];
  va_list arguments;
  if (reader->status) return reader->status;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  return reader->status = pto_error_set(reader->error, PTO_EINVAL, "%.400s: %s%s%s", reader->path, reader->place,
                                        reader->place[0] ? ": " : "", what);
}

/* The value of `key`; NULL, refused, where there is none of `object`'s. */
static json_t *value_of(struct pto_json_reader *reader, json_t *object, const char *key) {
  json_t *value = reader->status ? NULL : json_object_get(object, key);
  if (!value && !reader->status) pto_json_read_refuse(reader, "\"%s\" is missing", key);
  return value;
}

/* ---- values ---- */

static uint64_t number_of(struct pto_json_reader *reader, const json_t *value, const char *key, uint64_t most) {
  if (!json_is_integer(value) || json_integer_value(value) < 0 || (uint64_t)json_integer_value(value) > most) {
    pto_json_read_refuse(reader, "\"%s\" holds no whole number from 0 to %" PRIu64, key, most);
    return 0;
  }
  return (uint64_t)json_integer_value(value);
}

uint64_t pto_json_read_u64(struct pto_json_reader *reader, json_t *object, const char *key, uint64_t most) {
  json_t *value = value_of(reader, object, key);
  return value ? number_of(reader, value, key, most) : 0;
}

int64_t pto_json_read_i64(struct pto_json_reader *reader, json_t *object, const char *key) {
  json_t *value = value_of(reader, object, key);
  if (value && !json_is_integer(value)) pto_json_read_refuse(reader, "\"%s\" is no whole number", key);
  return reader->status ? 0 : json_integer_value(value);
}

double pto_json_read_number(struct pto_json_reader *reader, json_t *object, const char *key) {
  json_t *value = value_of(reader, object, key);
  if (value && !json_is_number(value)) pto_json_read_refuse(reader, "\"%s\" is no number", key);
  return reader->status ? 0 : json_number_value(value);
}

bool pto_json_read_bool(struct pto_json_reader *reader, json_t *object, const char *key) {
  json_t *value = value_of(reader, object, key);
  if (value && !json_is_boolean(value)) pto_json_read_refuse(reader, "\"%s\" is neither true nor false", key);
  return !reader->status && json_is_true(value);
}

const char *pto_json_read_string(struct pto_json_reader *reader, json_t *object, const char *key) {
  json_t *value = value_of(reader, object, key);
  if (value && !json_is_string(value)) pto_json_read_refuse(reader, "\"%s\" is no string", key);
  return reader->status ? "" : json_string_value(value);
}

json_t *pto_json_read_object(struct pto_json_reader *reader, json_t *object, const char *key) {
  json_t *value = value_of(reader, object, key);
  if (value && !json_is_object(value)) pto_json_read_refuse(reader, "\"%s\" is no object", key);
  return reader->status ? NULL : value;
}

json_t *pto_json_read_array(struct pto_json_reader *reader, json_t *object, const char *key, size_t most) {
  json_t *value = value_of(reader, object, key);
  if (value && !json_is_array(value)) pto_json_read_refuse(reader, "\"%s\" is no array", key);
  if (!reader->status && json_array_size(value) > most)
    pto_json_read_refuse(reader, "\"%s\" has %zu items, at most %zu are read", key, json_array_size(value), most);
  return reader->status ? NULL : value;
}

json_t *pto_json_read_item(struct pto_json_reader *reader, json_t *array, size_t index) {
  json_t *item = reader->status ? NULL : json_array_get(array, index);
  if (!json_is_object(item)) pto_json_read_refuse(reader, "item %zu is no object", index);
  return reader->status ? NULL : item;
}

void pto_json_read_u64s(struct pto_json_reader *reader, json_t *object, const char *key, uint32_t most,
                        uint64_t most_value, uint64_t *values, uint32_t *count_out) {
  json_t *array = pto_json_read_array(reader, object, key, most), *item;
  size_t i;
  *count_out = 0;
  json_array_foreach(array, i, item) values[i] = number_of(reader, item, key, most_value);
  if (!reader->status) *count_out = (uint32_t)json_array_size(array);
}

bool pto_json_has(json_t *object, const char *key) {
  json_t *value = json_object_get(object, key);
  return value && !json_is_null(value);
}
