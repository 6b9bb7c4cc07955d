/* SPDX-License-Identifier: MIT */
#include <kernels/move/strided.h>

#include <string.h>

/* Of a size that is one load and one store; four in turn. */
static inline __attribute__((always_inline)) void copy_pieces(const struct pto_strided *pieces, size_t size) {
  const int64_t to_step = pieces->to_step, from_step = pieces->from_step;
  char *to = pieces->to;
  const char *from = pieces->from;
  uint64_t i = 0;
  for (; i + 4 <= pieces->count; i += 4, to += 4 * to_step, from += 4 * from_step) {
    memcpy(to, from, size);
    memcpy(to + to_step, from + from_step, size);
    memcpy(to + 2 * to_step, from + 2 * from_step, size);
    memcpy(to + 3 * to_step, from + 3 * from_step, size);
  }
  for (; i < pieces->count; i++, to += to_step, from += from_step) memcpy(to, from, size);
}

/* Of at least `size` bytes, in parts of it of which the last two may overlap. */
static inline __attribute__((always_inline)) void copy_overlapping(const struct pto_strided *pieces, size_t size) {
  const uint64_t last = pieces->piece_bytes - size;
  char *to = pieces->to;
  const char *from = pieces->from;
  for (uint64_t i = 0; i < pieces->count; i++, to += pieces->to_step, from += pieces->from_step) {
    for (uint64_t j = 0; j < last; j += size) memcpy(to + j, from + j, size);
    memcpy(to + last, from + last, size);
  }
}

/* Of a size that is no power of two up to 32. */
static void copy_odd_sizes(const struct pto_strided *pieces) {
  const uint64_t size = pieces->piece_bytes;
  if (size > 32)
    copy_overlapping(pieces, 32);
  else if (size > 16)
    copy_overlapping(pieces, 16);
  else if (size > 8)
    copy_overlapping(pieces, 8);
  else if (size > 4)
    copy_overlapping(pieces, 4);
  else
    copy_overlapping(pieces, 2);
}

static void copy_line(const struct pto_strided *pieces) {
  switch (pieces->piece_bytes) {
  case 1:
    copy_pieces(pieces, 1);
    break;
  case 2:
    copy_pieces(pieces, 2);
    break;
  case 4:
    copy_pieces(pieces, 4);
    break;
  case 8:
    copy_pieces(pieces, 8);
    break;
  case 16:
    copy_pieces(pieces, 16);
    break;
  case 32:
    copy_pieces(pieces, 32);
    break;
  default:
    copy_odd_sizes(pieces);
    break;
  }
}

void pto_strided_copy(const struct pto_strided *pieces) {
  struct pto_strided line = *pieces;
  for (uint64_t i = 0; i < pieces->lines; i++, line.to += pieces->to_line, line.from += pieces->from_line)
    copy_line(&line);
}
