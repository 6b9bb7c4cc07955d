/* SPDX-License-Identifier: MIT */
/*
 * Pieces of bytes at one step copied to another, the innermost loop of all that moves strided data.
 *
 *     to[k · to_line + i · to_step + j] = from[k · from_line + i · from_step + j]
 *
 * for k < lines, i < count, j < piece_bytes.
 *
 * Always true: no byte outside the pieces is read or written, since what lies between them may be another core's, which
 * writes it at this moment.  Sizes of one to 32 bytes are constants where they are copied, so that a piece is a load
 * and a store; a piece of another size is two or more parts that overlap.
 *
 * Owns nothing and allocates nothing; any thread.
 */
#ifndef PTO_KERNELS_MOVE_STRIDED_H
#define PTO_KERNELS_MOVE_STRIDED_H

#include <stdint.h>

/* Different memory, of any alignment, and no two pieces of `to` share a byte.  Steps are in bytes, and may be 0 and
 * negative in `from`. */
struct pto_strided {
  char *to;
  const char *from;
  int64_t to_step, from_step;  /* from a piece to the next */
  uint64_t piece_bytes, count; /* not 0 */
  uint64_t lines;              /* so often all of it */
  int64_t to_line, from_line;
};
void pto_strided_copy(const struct pto_strided *pieces);

#endif
