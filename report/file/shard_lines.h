/* SPDX-License-Identifier: MIT */
/*
 * The lines of all shards of one list (report/file/shard.h), read back.
 *
 * Always true after a read: every item of the list is there once, and all shards are of one program, build, command and
 * list.  Lines may stand in any order and in any of the files, those of several shards in one.
 *
 * Owns the document of each line until fini; paths are the caller's.  Any thread may read what is there.
 */
#ifndef PTO_REPORT_FILE_SHARD_LINES_H
#define PTO_REPORT_FILE_SHARD_LINES_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include <runtime/base/error.h>

/* Where a line stands, and what is in it. */
struct pto_shard_line {
  const char *path;
  uint64_t number; /* from 1 */
  uint32_t shard, of;
  json_t *document;
};

struct pto_shard_item {
  const char *path;
  uint64_t line, item;
  double seconds;
  json_t *result; /* of `document` */
  json_t *document;
};

struct pto_shard_lines {
  const char *program, *build; /* of the first head */
  json_t *command;             /* an array of strings, likewise */
  uint64_t items, digest;
  uint32_t of;
  struct pto_shard_item *items_found; /* items of them, in order */
  size_t item_count, item_capacity;
  struct pto_shard_line *heads;
  size_t head_count, head_capacity;
};

/* PTO_OK; PTO_EINVAL, PTO_ESYSTEM or PTO_ENOMEM with a sentence that names files and lines.  fini is due in either
 * case. */
PTO_MUST_CHECK int pto_shard_lines_read(const char *const *paths, size_t count, struct pto_shard_lines *lines,
                                        struct pto_error *error);
void pto_shard_lines_fini(struct pto_shard_lines *lines);

#endif
