/* SPDX-License-Identifier: MIT */
#include <formats/protobuf_writer.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <runtime/base/base.h>
#include <runtime/base/utf8.h>

enum wire_type { VARINT = 0, EIGHT_BYTES = 1, LENGTH = 2 };
#define VARINT_BYTES 10     /* of 64 bits, seven a byte */
#define FLUSH_BYTES 1048576 /* what is kept until it is written, but for a message larger than that */

void pto_protobuf_init(struct pto_protobuf_writer *w, int fd) { *w = (struct pto_protobuf_writer){.fd = fd}; }

static void flush(struct pto_protobuf_writer *w) {
  for (size_t at = 0; at < w->used && !w->error;) {
    const ssize_t written = write(w->fd, w->bytes + at, w->used - at);
    if (written >= 0)
      at += (size_t)written;
    else if (errno != EINTR)
      w->error = errno;
  }
  w->used = 0;
}

int pto_protobuf_finish(struct pto_protobuf_writer *w) {
  PTO_ASSERT(w->depth == 0);
  flush(w);
  free(w->bytes);
  w->bytes = NULL;
  w->capacity = 0;
  return w->error;
}

/* Makes room; false where there is none, or where a write has failed. */
static bool reserve(struct pto_protobuf_writer *w, size_t count) {
  if (PTO_LIKELY(w->capacity - w->used >= count)) return !w->error;
  const size_t capacity = pto_max_u64(2 * (w->used + count), 2 * FLUSH_BYTES);
  uint8_t *larger = w->error ? NULL : realloc(w->bytes, capacity);
  if (!larger) {
    if (!w->error) w->error = ENOMEM;
    return false;
  }
  w->bytes = larger;
  w->capacity = capacity;
  return true;
}

static void put_varint(struct pto_protobuf_writer *w, uint64_t value) {
  if (!reserve(w, VARINT_BYTES)) return;
  for (; value >= 0x80; value >>= 7) w->bytes[w->used++] = (uint8_t)(value | 0x80);
  w->bytes[w->used++] = (uint8_t)value;
}

static void put_tag(struct pto_protobuf_writer *w, uint32_t field, enum wire_type type) {
  put_varint(w, (uint64_t)field << 3 | type);
}

void pto_protobuf_put_u64(struct pto_protobuf_writer *w, uint32_t field, uint64_t value) {
  put_tag(w, field, VARINT);
  put_varint(w, value);
}

void pto_protobuf_put_fixed64(struct pto_protobuf_writer *w, uint32_t field, uint64_t value) {
  put_tag(w, field, EIGHT_BYTES);
  if (!reserve(w, sizeof value)) return;
  for (uint32_t i = 0; i < sizeof value; i++) w->bytes[w->used++] = (uint8_t)(value >> 8 * i);
}

void pto_protobuf_put_double(struct pto_protobuf_writer *w, uint32_t field, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  pto_protobuf_put_fixed64(w, field, bits);
}

void pto_protobuf_put_text(struct pto_protobuf_writer *w, uint32_t field, const char *text) {
  const size_t length = strlen(text);
  pto_protobuf_begin(w, field);
  if (reserve(w, 2 * length)) /* a byte of Latin-1 becomes two */
    while (*text) {
      const unsigned char byte = (unsigned char)*text;
      const size_t count = byte < 0x80 ? 1 : pto_utf8_length(text);
      if (count) {
        memcpy(w->bytes + w->used, text, count);
        w->used += count;
      } else {
        w->bytes[w->used++] = (uint8_t)(0xc0 | byte >> 6);
        w->bytes[w->used++] = (uint8_t)(0x80 | (byte & 0x3f));
      }
      text += count ? count : 1;
    }
  pto_protobuf_end(w);
}

/* The length of a message stands before it and is not known before its end: one byte is kept for it, which all but the
 * few messages of 128 bytes and more do with. */
void pto_protobuf_begin_delimited(struct pto_protobuf_writer *w) {
  PTO_ASSERT(w->depth < PTO_PROTOBUF_MAX_DEPTH);
  if (reserve(w, 1)) w->used++;
  w->begins[w->depth++] = w->used;
}

void pto_protobuf_begin(struct pto_protobuf_writer *w, uint32_t field) {
  put_tag(w, field, LENGTH);
  pto_protobuf_begin_delimited(w);
}

void pto_protobuf_end(struct pto_protobuf_writer *w) {
  PTO_ASSERT(w->depth > 0);
  const size_t begin = w->begins[--w->depth], length = w->used - begin;
  if (!reserve(w, VARINT_BYTES)) return;
  size_t more = 0; /* bytes of the length behind its first */
  for (uint64_t rest = length >> 7; rest; rest >>= 7) more++;
  if (more) memmove(w->bytes + begin + more, w->bytes + begin, length);
  w->used = begin - 1;
  put_varint(w, length);
  w->used += length;
  if (w->depth == 0 && w->used >= FLUSH_BYTES) flush(w);
}

void pto_protobuf_put_packed(struct pto_protobuf_writer *w, uint64_t value) { put_varint(w, value); }
