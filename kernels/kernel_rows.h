/* SPDX-License-Identifier: MIT */
/*
 * Rows: short pieces of bytes at one step copied to another, the innermost loop of all that moves strided data.
 *
 *     to[k · to_line + i · to_step + j] = from[k · from_line + i · from_step + j]   for k < lines, i < count, j <
 * row_bytes
 *
 * Always true: no byte outside the rows is read or written, on any set.  What lies between rows may be another core's,
 * which writes it at this moment.  A vector that spans several rows therefore loads and stores under a mask, and a row
 * that is no power of two goes as two pieces that overlap, or under a mask.
 *
 * Several sets, one an instruction set of kernel_level.h and one more, give the same bytes.  Allocates nothing, owns
 * constant tables; any thread.  To add a set: kernel_rows.inc once more in kernel_rows.c, and its line in `sets`.
 */
#ifndef PTO_KERNEL_ROWS_H
#define PTO_KERNEL_ROWS_H

#include <kernels/kernel_level.h>

/* Different memory, of any alignment, and no two rows of `to` share a byte.  Steps are in bytes, and may be 0 and
 * negative in `from`. */
struct pto_rows {
  char *to;
  const char *from;
  int64_t to_step, from_step; /* from a row to the next */
  uint64_t row_bytes, count;  /* not 0 */
  uint64_t lines;             /* so often all of it */
  int64_t to_line, from_line;
};
/* With steps up to this on both sides, several rows go at a time where the set can. */
#define PTO_ROWS_CLOSE_BYTES 32
typedef void pto_rows_loop(const struct pto_rows *rows);

/* The fastest set that this processor can run, under the limit of kernel_level.h. */
pto_rows_loop *pto_rows_best(void);

/* For tests: each set that this processor can run, from the plainest up; NULL past the end. */
struct pto_rows_set {
  const char *name;
  pto_rows_loop *copy;
};
const struct pto_rows_set *pto_rows_at(uint32_t index);

#endif
