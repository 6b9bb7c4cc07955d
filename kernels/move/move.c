/* SPDX-License-Identifier: MIT */
/*
 * The plan sorts, merges and widens dimensions until the two innermost say how the bytes go: as rows, as a
 * transposition or as single elements at steps; the run walks over the others and does one such plane after the other.
 */
#include <kernels/move/move.h>

#include <kernels/move/strided.h>
#include <kernels/api/shape.h>
#include <runtime/base/base.h>

#include <string.h>

#define LINE PTO_CACHE_LINE
#define PIECE_COLS 128     /* elements of a row of a piece: long enough runs for `to`, few enough pages of `from` */
#define LONG_ROW_BYTES 512 /* longer ones are left to the C library */
#define THIN_ELEMS 4096    /* elements at a time of a plane that is thin */

/* ---- the plan ---- */

enum { KIND_ROWS, KIND_TRANSPOSE, KIND_STEPS, KIND_NIBBLES };

void pto_move_init(struct pto_move *move, uint32_t dtype) {
  move->ndims = 0;
  move->bits = pto_dtype_bits(dtype);
  move->kind = KIND_ROWS;
  move->is_empty = false;
  move->elem_bytes = 0;
}

void pto_move_dim(struct pto_move *move, uint64_t extent, int64_t to_step, int64_t from_step) {
  PTO_ASSERT(move->ndims < PTO_MOVE_DIMS);
  if (extent == 0) move->is_empty = true;
  if (extent <= 1) return;
  uint32_t at = move->ndims++; /* the longest steps of `to` outermost: its lines are written in their order */
  for (; at > 0 && move->to_step[at - 1] < to_step; at--) {
    move->extent[at] = move->extent[at - 1];
    move->to_step[at] = move->to_step[at - 1];
    move->from_step[at] = move->from_step[at - 1];
  }
  move->extent[at] = extent;
  move->to_step[at] = to_step;
  move->from_step[at] = from_step;
}

static void merge_dims(struct pto_move *move) {
  uint32_t count = 0;
  for (uint32_t d = 0; d < move->ndims; d++) {
    const int64_t extent = (int64_t)move->extent[d];
    const uint32_t last = count - 1;
    if (count > 0 && move->to_step[last] == move->to_step[d] * extent &&
        move->from_step[last] == move->from_step[d] * extent) {
      move->extent[last] *= move->extent[d];
    } else {
      move->extent[count++] = move->extent[d];
    }
    move->to_step[count - 1] = move->to_step[d];
    move->from_step[count - 1] = move->from_step[d];
  }
  move->ndims = count;
}

/* Dimension d becomes the `to`-th from outside; those between move up. */
static void raise_dim(struct pto_move *move, uint32_t d, uint32_t to) {
  const uint64_t extent = move->extent[d];
  const int64_t to_step = move->to_step[d], from_step = move->from_step[d];
  for (; d < to; d++) {
    move->extent[d] = move->extent[d + 1];
    move->to_step[d] = move->to_step[d + 1];
    move->from_step[d] = move->from_step[d + 1];
  }
  move->extent[to] = extent;
  move->to_step[to] = to_step;
  move->from_step[to] = from_step;
}

static int64_t magnitude(int64_t step) { return step < 0 ? -step : step; }

/* A row of a few bytes that is dense on both sides is one element. */
static void widen(struct pto_move *move) {
  const int64_t size = (int64_t)move->elem_bytes;
  const uint32_t last = move->ndims - 1;
  if (move->ndims < 2 || move->to_step[last] != size || move->from_step[last] != size) return;
  const uint64_t row_bytes = move->extent[last] * move->elem_bytes;
  if (row_bytes > 16 || !pto_is_power_of_two(row_bytes)) return;
  move->elem_bytes = row_bytes;
  move->ndims--;
}

/* The dimension in which `from` has its shortest step becomes the last but one, where it is not the last. */
static uint32_t kind_of_plane(struct pto_move *move) {
  const int64_t size = (int64_t)move->elem_bytes;
  const uint32_t last = move->ndims - 1;
  if (move->ndims == 0 || (move->to_step[last] == size && move->from_step[last] == size)) return KIND_ROWS;
  uint32_t dense = last;
  for (uint32_t d = 0; d < move->ndims; d++)
    if (move->from_step[d] != 0 &&
        (move->from_step[dense] == 0 || magnitude(move->from_step[d]) < magnitude(move->from_step[dense])))
      dense = d;
  if (dense == last || move->from_step[last] == 0) return KIND_STEPS;
  raise_dim(move, dense, last - 1);
  return KIND_TRANSPOSE;
}

void pto_move_plan(struct pto_move *move) {
  if (move->is_empty) return;
  merge_dims(move);
  if (move->bits < 8) {
    move->kind = KIND_NIBBLES;
    return;
  }
  move->elem_bytes = move->bits / 8;
  for (uint32_t d = 0; d < move->ndims; d++) {
    move->to_step[d] *= (int64_t)move->elem_bytes;
    move->from_step[d] *= (int64_t)move->elem_bytes;
  }
  widen(move);
  move->kind = kind_of_plane(move);
}

uint64_t pto_move_run_bytes(const struct pto_move *move) {
  if (move->is_empty || move->kind != KIND_ROWS || move->ndims > 1) return 0;
  return move->ndims == 0 ? move->elem_bytes : move->extent[0] * move->elem_bytes;
}

/* ---- planes of two dimensions ---- */

/* to[i · to_row + j · to_step] = from[i · from_row + j · from_step], i < rows, j < cols; in bytes. */
struct plane {
  uint64_t rows, cols;
  int64_t to_row, to_step, from_row, from_step;
  uint64_t elem_bytes;
};

/* Single elements as rows of one; the longer dimension is the inner loop. */
static void move_elems(const struct plane *p, char *to, const char *from) {
  struct pto_strided rows = {to,      from,    p->to_step, p->from_step, p->elem_bytes,
                             p->cols, p->rows, p->to_row,  p->from_row};
  if (p->rows > p->cols)
    rows = (struct pto_strided){to,      from,    p->to_row,  p->from_row, p->elem_bytes,
                                p->rows, p->cols, p->to_step, p->from_step};
  pto_strided_copy(&rows);
}

/* Rows of bytes; long ones as the C library does it best. */
static void move_rows(const struct plane *p, char *to, const char *from) {
  const uint64_t row_bytes = p->cols * p->elem_bytes;
  if (p->rows > 1 && row_bytes <= LONG_ROW_BYTES) {
    pto_strided_copy(&(struct pto_strided){to, from, p->to_row, p->from_row, row_bytes, p->rows, .lines = 1});
    return;
  }
  for (uint64_t i = 0; i < p->rows; i++, to += p->to_row, from += p->from_row) memmove(to, from, row_bytes);
}

/* Neither side is dense where the other is.  Elements go one by one, in pieces that touch no more lines than the first
 * cache holds; the longer dimension is the inner loop. */
static void move_transposed(const struct plane *p, char *to, const char *from) {
  const uint64_t rows = p->cols < 16 ? pto_max_u64(THIN_ELEMS / p->cols, 1) : LINE / p->elem_bytes;
  const uint64_t cols = p->rows < 16 ? pto_max_u64(THIN_ELEMS / p->rows, 1) : PIECE_COLS;
  struct plane piece = *p;
  for (uint64_t j = 0; j < p->cols; j += cols)
    for (uint64_t i = 0; i < p->rows; i += rows) {
      char *at = to + (int64_t)i * p->to_row + (int64_t)j * p->to_step;
      const char *source = from + (int64_t)i * p->from_row + (int64_t)j * p->from_step;
      piece.rows = pto_min_u64(rows, p->rows - i);
      piece.cols = pto_min_u64(cols, p->cols - j);
      move_elems(&piece, at, source);
    }
}

/* ---- 4-bit elements ---- */

static unsigned nibble_at(const unsigned char *bytes, int64_t index) {
  return bytes[index / 2] >> (index % 2 * 4) & 15;
}
static void set_nibble(unsigned char *bytes, int64_t index, unsigned value) {
  const unsigned shift = (unsigned)(index % 2) * 4;
  bytes[index / 2] = (unsigned char)((bytes[index / 2] & (0xf0u >> shift)) | value << shift);
}

/* A row from element `from` to element `to`: as bytes where both are the low halves of theirs. */
static void move_nibbles(const struct plane *p, struct pto_place to, struct pto_place from) {
  unsigned char *bytes = to.addr;
  const unsigned char *source = from.addr;
  uint64_t j = 0;
  if (p->to_step == 1 && p->from_step == 1 && to.elems % 2 == 0 && from.elems % 2 == 0) {
    j = p->cols & ~UINT64_C(1);
    memmove(bytes + to.elems / 2, source + from.elems / 2, j / 2);
  }
  for (; j < p->cols; j++)
    set_nibble(bytes, to.elems + (int64_t)j * p->to_step, nibble_at(source, from.elems + (int64_t)j * p->from_step));
}

/* ---- the run ---- */

static void move_plane(const struct pto_move *move, const struct plane *p, struct pto_place to, struct pto_place from) {
  switch (move->kind) {
  case KIND_ROWS:
    move_rows(p, (char *)to.addr + to.elems, (const char *)from.addr + from.elems);
    break;
  case KIND_TRANSPOSE:
    move_transposed(p, (char *)to.addr + to.elems, (const char *)from.addr + from.elems);
    break;
  case KIND_STEPS:
    move_elems(p, (char *)to.addr + to.elems, (const char *)from.addr + from.elems);
    break;
  default:
    for (uint64_t i = 0; i < p->rows; i++, to.elems += p->to_row, from.elems += p->from_row) move_nibbles(p, to, from);
    break;
  }
}

/* Whether every element is already where it should be. */
static bool is_in_place(const struct pto_move *move, const struct pto_place *to, const struct pto_place *from) {
  if (to->addr != from->addr || to->elems != from->elems) return false;
  for (uint32_t d = 0; d < move->ndims; d++)
    if (move->to_step[d] != move->from_step[d]) return false;
  return true;
}

void pto_move_run(const struct pto_move *move, struct pto_place to, struct pto_place from) {
  if (move->is_empty || is_in_place(move, &to, &from)) return;
  /* From here on `elems` counts what the plan's steps count: bytes, or 4-bit elements. */
  const int64_t unit = move->kind == KIND_NIBBLES ? 1 : (int64_t)(move->bits / 8);
  to.elems *= unit;
  from.elems *= unit;
  const uint32_t n = move->ndims, outer = n < 2 ? 0 : n - 2;
  const int64_t dense = move->kind == KIND_NIBBLES ? 1 : (int64_t)move->elem_bytes;
  const struct plane plane = {.rows = n < 2 ? 1 : move->extent[n - 2],
                              .cols = n < 1 ? 1 : move->extent[n - 1],
                              .to_row = n < 2 ? 0 : move->to_step[n - 2],
                              .to_step = n < 1 ? dense : move->to_step[n - 1],
                              .from_row = n < 2 ? 0 : move->from_step[n - 2],
                              .from_step = n < 1 ? dense : move->from_step[n - 1],
                              .elem_bytes = move->elem_bytes};
  uint64_t index[PTO_MOVE_DIMS] = {0};
  uint32_t d;
  do {
    move_plane(move, &plane, to, from);
    for (d = outer; d-- > 0;) {
      to.elems += move->to_step[d];
      from.elems += move->from_step[d];
      if (++index[d] < move->extent[d]) break;
      to.elems -= (int64_t)move->extent[d] * move->to_step[d];
      from.elems -= (int64_t)move->extent[d] * move->from_step[d];
      index[d] = 0;
    }
  } while (d != UINT32_MAX);
}

/* ---- whole tensors ---- */

void pto_move_tensor(const struct pto_kernel_tensor *y, const struct pto_kernel_tensor *x, const uint32_t *order) {
  struct pto_move move;
  pto_move_init(&move, y->dtype);
  for (uint32_t d = 0; d < y->ndims; d++)
    pto_move_dim(&move, y->shape[d], (int64_t)y->strides[d], (int64_t)x->strides[order == NULL ? d : order[d]]);
  pto_move_plan(&move);
  pto_move_run(&move, (struct pto_place){y->addr, 0}, (struct pto_place){x->addr, 0});
}

struct pto_cost pto_move_cost(const struct pto_kernel_tensor *x, const struct pto_kernel_tensor *y) {
  return (struct pto_cost){.bytes_in = pto_kernel_bytes(x),
                           .bytes_out = pto_kernel_bytes(y),
                           .vector_elems = pto_kernel_numel(y),
                           .dtype = y->dtype};
}
