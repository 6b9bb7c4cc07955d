/* SPDX-License-Identifier: MIT */
#include <formats/json_text.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- from text ---- */

/* What jansson reads: the stream, or bytes. */
struct source {
  FILE *stream;
  const char *at, *end;
  bool lacks_memory;
};

/* One at a time, so that a failure is seen before jansson sets errno again, as it does for each number. */
static size_t next_byte(void *buffer, size_t size, void *context) {
  struct source *source = context;
  source->lacks_memory |= errno == ENOMEM;
  const int byte = source->stream             ? getc_unlocked(source->stream)
                   : source->at < source->end ? (unsigned char)*source->at++
                                              : EOF;
  if (byte == EOF || size == 0) return 0;
  *(char *)buffer = (char)byte;
  return 1;
}

static json_t *load(struct source *source, size_t flags, json_error_t *reason) {
  errno = 0;
  json_t *document = json_load_callback(next_byte, source, flags, reason);
  source->lacks_memory |= errno == ENOMEM;
  if (source->lacks_memory) {
    json_decref(document);
    document = NULL;
  }
  errno = source->lacks_memory ? ENOMEM : 0;
  return document;
}

json_t *pto_json_load(const void *bytes, size_t size, size_t flags, json_error_t *reason) {
  struct source source = {.at = bytes, .end = (const char *)bytes + size};
  return load(&source, flags, reason);
}

json_t *pto_json_load_stream(FILE *stream, size_t flags, json_error_t *reason) {
  struct source source = {.stream = stream};
  return load(&source, flags, reason);
}

/* ---- to text ---- */

struct written {
  char *text;
  size_t length, capacity;
  bool lacks_memory;
};

static int append(const char *bytes, size_t size, void *context) {
  struct written *w = context;
  if (!w->lacks_memory && w->capacity - w->length <= size) {
    const size_t capacity = 2 * (w->length + size) + 64;
    char *larger = realloc(w->text, capacity);
    w->lacks_memory = larger == NULL;
    if (larger) {
      w->text = larger;
      w->capacity = capacity;
    }
  }
  if (w->lacks_memory) return -1;
  memcpy(w->text + w->length, bytes, size);
  w->length += size;
  w->text[w->length] = '\0';
  return 0;
}

char *pto_json_dump(const json_t *document, size_t flags) {
  struct written w = {0};
  errno = 0;
  const int status = json_dump_callback(document, append, &w, flags);
  const bool lacks_memory = w.lacks_memory || errno == ENOMEM;
  if (status == 0 && !lacks_memory) return w.text;
  free(w.text);
  errno = lacks_memory ? ENOMEM : 0;
  return NULL;
}
