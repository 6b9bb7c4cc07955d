/* SPDX-License-Identifier: MIT */
/*
 * Protocol Buffers' wire format, written message by message into a file descriptor.
 *
 * A field is its number and a type in one varint, then a varint, eight bytes, or a length and so many bytes; a message
 * in a message is such bytes.  That is all that a writer has to know: who reads has the schema.  So no library is
 * needed, and none whose code would be generated.
 *
 * Owns a buffer, which grows to the largest message on the outermost level, until finish.  The descriptor is the
 * caller's.  Always true of what has been written, if each begin has its end: it parses, and text in it is UTF-8 (bytes
 * that are none are taken as Latin-1).  After the first failure nothing more is written, and finish says so.
 *
 * Threads: one writer, one thread.
 */
#ifndef PTO_PROTOBUF_WRITER_H
#define PTO_PROTOBUF_WRITER_H

#include <stddef.h>
#include <stdint.h>

#define PTO_PROTOBUF_MAX_DEPTH 8

struct pto_protobuf_writer {
  int fd;
  int error;                             /* errno of what failed first, or 0 */
  uint32_t depth;                        /* open messages, ≤ PTO_PROTOBUF_MAX_DEPTH */
  size_t begins[PTO_PROTOBUF_MAX_DEPTH]; /* where each one's first byte is */
  size_t used, capacity;
  uint8_t *bytes;
};

void pto_protobuf_init(struct pto_protobuf_writer *w, int fd);
/* Writes what is left and frees the buffer; 0, or the errno of the first failure. */
int pto_protobuf_finish(struct pto_protobuf_writer *w);

/* Fields.  A schema calls the first one uint64, int64, uint32, int32, bool or an enum. */
void pto_protobuf_put_u64(struct pto_protobuf_writer *w, uint32_t field, uint64_t value);
void pto_protobuf_put_fixed64(struct pto_protobuf_writer *w, uint32_t field, uint64_t value);
void pto_protobuf_put_double(struct pto_protobuf_writer *w, uint32_t field, double value);
void pto_protobuf_put_text(struct pto_protobuf_writer *w, uint32_t field, const char *text);

/* A message in the open one, or on the outermost level; also a repeated field in packed form. */
void pto_protobuf_begin(struct pto_protobuf_writer *w, uint32_t field);
/* On the outermost level, in files that are messages with their lengths: a message that is no field. */
void pto_protobuf_begin_delimited(struct pto_protobuf_writer *w);
void pto_protobuf_end(struct pto_protobuf_writer *w);
/* An item of a packed field, between its begin and end. */
void pto_protobuf_put_packed(struct pto_protobuf_writer *w, uint64_t value);

#endif
