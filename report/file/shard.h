/* SPDX-License-Identifier: MIT */
/*
 * A list of independent items, shared by several processes: which items are this one's, and what it found as lines.
 *
 *   pto_share_begin                    the list is known: how many items it has, and a digest of them
 *   for each item: pto_share_has       is it done here?
 *                  pto_share_result    what a shard found of it, where lines are merged; else NULL: do it
 *                  pto_share_put       writes it, where this is a shard
 *   pto_share_end
 *
 * Three cases, told apart by who fills in a pto_share: all is done here (zeroed), this is shard I of N (`shard`), or
 * nothing is done and lines are merged (`lines`).  A verb walks its list the same way in all three; what it prints it
 * prints of all items, so a shard prints nothing.
 *
 * Always true: shard I of N has the items i with i mod N = I − 1, counted from 0, so that shards differ by one item at
 * most, and every item is in one of them.  A line is one JSON object (docs/schemas/pto-shard.json), the first one of a
 * shard says whose list it is of, and each later one has one item.
 *
 * Owns the stream between begin and end.  One thread at a time; pto_share_has and pto_share_result: any.
 */
#ifndef PTO_REPORT_FILE_SHARD_H
#define PTO_REPORT_FILE_SHARD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <report/file/shard_lines.h>
#include <runtime/base/error.h>

#define PTO_SHARDS_MOST 1000000u

struct pto_shard {
  uint32_t number, count; /* 1 … count; count 0: nothing is shared */
  char from[96];          /* the variables that say so; "" where an option does */
};

/* "2/8".  PTO_OK, or PTO_EINVAL with the sentence. */
PTO_MUST_CHECK int pto_shard_parse(const char *text, struct pto_shard *shard, struct pto_error *error);
/* What a launcher says: OpenMPI, PMI or Slurm the rank, and Slurm the task of an array, each of which runs all ranks.
 * PTO_OK, also where none does or the process is the only one: count is 0 then; PTO_EINVAL with variable and value. */
PTO_MUST_CHECK int pto_shard_from_environment(struct pto_shard *shard, struct pto_error *error);

/* Takes these variables out of the environment: the processes that this one starts are no ranks. */
void pto_shard_clear_environment(void);

static inline bool pto_shard_has(const struct pto_shard *shard, uint64_t item) {
  return shard->count == 0 || item % shard->count == shard->number - 1;
}
/* How many of so many items. */
static inline uint64_t pto_shard_size(const struct pto_shard *shard, uint64_t items) {
  return shard->count == 0 ? items : (items + shard->count - shard->number) / shard->count;
}

struct pto_share {
  struct pto_shard shard;
  const struct pto_shard_lines *lines; /* NULL: items are done here */
  const char *path;                    /* of the lines; "-" is standard output */
  FILE *stream;
  int written; /* PTO_OK, or why a line is not whole */
};

/* Whose list it is.  `command` is an array of words, borrowed for the call. */
struct pto_share_list {
  const char *program; /* "ptosim" */
  json_t *command;
  uint64_t items;
  uint64_t digest; /* of what the items are */
};

/* PTO_OK; PTO_EINVAL where the lines are of another list than this; PTO_ESYSTEM; with the sentence. */
PTO_MUST_CHECK int pto_share_begin(struct pto_share *share, const struct pto_share_list *list, struct pto_error *error);
/* One that has not begun is allowed. */
PTO_MUST_CHECK int pto_share_end(struct pto_share *share, struct pto_error *error);

/* NULL is a share of its own to these: all is done here. */
static inline bool pto_share_is_part(const struct pto_share *share) { return share && share->shard.count > 0; }
static inline bool pto_share_has(const struct pto_share *share, uint64_t item) {
  return !share || pto_shard_has(&share->shard, item);
}
/* What was put of the item, and in *seconds (NULL: of no matter) how long it took; borrowed.  NULL: it is to be done.
 */
json_t *pto_share_result(const struct pto_share *share, uint64_t item, double *seconds);
/* Of a shard.  NaN seconds: not measured.  `result` is taken, and NULL where there was no memory for it. */
void pto_share_put(struct pto_share *share, uint64_t item, double seconds, json_t *result);

/* A string of JSON, with '?' for all that is no ASCII where the text is no UTF-8. */
json_t *pto_shard_text(const char *text);
/* "0.1.0 89abcdef01234567": version, and digest of the executable, which is what has to be the same in all shards; NULL
 * where that cannot be read. */
const char *pto_shard_build(char text[64]);

#endif
