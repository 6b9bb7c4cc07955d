/* SPDX-License-Identifier: MIT */
#include <kernels/move/operand.h>

#include <kernels/move/move.h>
#include <kernels/move/strided.h>
#include <kernels/api/shape.h>
#include <runtime/base/base.h>

/* Shorter runs are gathered into a chunk rather than worked on in place: a copy of that many bytes takes as long as the
 * calls for a run. */
#define DIRECT_BYTES 512

static uint64_t class_bytes(enum pto_class class_) { return pto_dtype_size(pto_class_dtype(class_)); }
static uint64_t chunk_elems(uint64_t numel, enum pto_class class_) {
  return pto_min_u64(numel, PTO_OPERAND_BYTES / class_bytes(class_));
}

const uint32_t *pto_operand_order(const struct pto_kernel_args *args, const struct pto_kernel_tensor *y,
                                  uint32_t order[PTO_MAX_DIMS]) {
  for (uint32_t i = 0; i < args->tensor_count; i++)
    if (pto_dtype_is_four_bit(args->tensors[i].dtype)) return NULL;
  pto_cursor_order(y, order);
  return order;
}

uint64_t pto_operand_local_bytes(const struct pto_kernel_tensor *t, enum pto_class class_) {
  const uint64_t elems = chunk_elems(pto_kernel_numel(t), class_), unit = pto_dtype_size(t->dtype);
  return pto_local_bytes(elems * class_bytes(class_)) +
         (unit == class_bytes(class_) ? 0 : pto_local_bytes(elems * unit));
}

void pto_operand_init(struct pto_operand *o, const struct pto_kernel_tensor *t, enum pto_class class_,
                      const uint32_t *order, struct pto_local *local) {
  const uint64_t elems = chunk_elems(pto_kernel_numel(t), class_);
  o->load = pto_loops_best()->load[class_][t->dtype];
  o->store = pto_loops_best()->store[class_][t->dtype];
  PTO_ASSERT(o->load != NULL);
  o->elem_bytes = class_bytes(class_);
  o->unit_bytes = pto_dtype_size(t->dtype);
  o->dtype = t->dtype;
  o->is_nibbles = pto_dtype_is_four_bit(t->dtype);
  o->chunk_elems = elems;
  o->chunk = pto_local_take(local, elems * o->elem_bytes);
  o->stage = o->unit_bytes == o->elem_bytes ? NULL : pto_local_take(local, elems * o->unit_bytes);
  pto_cursor_init(&o->cursor, t, order);
  if (o->is_nibbles) o->cursor.run_step = 0; /* of no meaning: the byte is counted in read and end */
  o->is_direct = !o->is_nibbles && o->unit_bytes == o->elem_bytes &&
                 (class_ != PTO_CLASS_F32 || t->dtype == PTO_FLOAT32) && o->cursor.run_step == o->elem_bytes;
}

/* The longest of the runs that start here and end within `chunk`: chunks of whole ones spare the calls for parts. */
static uint64_t longest_run(const struct pto_operand *operands, uint32_t count, uint64_t chunk) {
  uint64_t longest = 1;
  for (uint32_t i = 0; i < count; i++) {
    const struct pto_cursor *cursor = &operands[i].cursor;
    if (cursor->run_left == cursor->run_elems && cursor->run_elems <= chunk)
      longest = pto_max_u64(longest, cursor->run_elems);
  }
  return longest;
}

uint64_t pto_operands_next(const struct pto_operand *operands, uint32_t count, uint64_t left) {
  uint64_t in_place = left, chunk = left, elem_bytes = 1;
  bool all_direct = true, has_nibbles = false;
  for (uint32_t i = 0; i < count; i++) {
    all_direct = all_direct && operands[i].is_direct;
    has_nibbles = has_nibbles || operands[i].is_nibbles;
    chunk = pto_min_u64(chunk, operands[i].chunk_elems);
    elem_bytes = pto_max_u64(elem_bytes, operands[i].elem_bytes);
    if (operands[i].is_direct) in_place = pto_min_u64(in_place, operands[i].cursor.run_left);
  }
  if (!all_direct) in_place = pto_min_u64(in_place, chunk);
  if (has_nibbles) return chunk;
  if (in_place * elem_bytes >= DIRECT_BYTES) return in_place;
  return chunk == left ? left : chunk - chunk % longest_run(operands, count, chunk);
}

static bool is_in_place(const struct pto_operand *o, uint64_t count) {
  return o->is_direct && o->cursor.run_left >= count;
}

/* All chunks but the last, being even, keep the halves of a byte together. */
static char *next_nibbles(struct pto_operand *o, uint64_t count) {
  char *at = o->cursor.at;
  o->cursor.at += count / 2;
  return at;
}

/* Whether runs have no gaps, so that whole ones move as bytes. */
static bool has_dense_runs(const struct pto_operand *o) { return o->cursor.run_step == o->unit_bytes; }

/* `rows` runs of `run` elements as they are: to `bits`, where they lie without gaps, or out of it where `is_stored`. */
static void move_dense_runs(const struct pto_operand *o, char *bits, uint64_t rows, uint64_t run, bool is_stored) {
  const uint64_t run_bytes = run * o->unit_bytes;
  const int64_t dense = (int64_t)run_bytes, step = (int64_t)pto_cursor_row_step(&o->cursor);
  if (is_stored)
    pto_strided_copy(&(struct pto_strided){o->cursor.at, bits, step, dense, run_bytes, rows, .lines = 1});
  else
    pto_strided_copy(&(struct pto_strided){bits, o->cursor.at, dense, step, run_bytes, rows, .lines = 1});
}

/* The same of runs with gaps, or backwards and forwards: a plane that kernels/move/move.h transposes, repeats or steps
 * through. */
static void move_plane(const struct pto_operand *o, char *bits, uint64_t rows, uint64_t run, bool is_stored) {
  const int64_t unit = (int64_t)o->unit_bytes, run_step = (int64_t)o->cursor.run_step / unit;
  const int64_t row_step = (int64_t)pto_cursor_row_step(&o->cursor) / unit;
  const struct pto_place dense = {bits, 0}, view = {o->cursor.at, 0};
  struct pto_move move;
  pto_move_init(&move, o->dtype);
  pto_move_dim(&move, rows, is_stored ? row_step : (int64_t)run, is_stored ? (int64_t)run : row_step);
  pto_move_dim(&move, run, is_stored ? run_step : 1, is_stored ? 1 : run_step);
  pto_move_plan(&move);
  pto_move_run(&move, is_stored ? view : dense, is_stored ? dense : view);
}

/* The next `count` elements as they are: to `bits`, or out of it where `is_stored`. */
static void move_bits(struct pto_operand *o, char *bits, uint64_t count, bool is_stored) {
  struct pto_cursor *cursor = &o->cursor;
  while (count > 0) {
    const uint64_t whole = pto_cursor_rows(cursor, count), rows = pto_max_u64(whole, 1);
    const uint64_t run = whole > 0 ? cursor->run_elems : pto_min_u64(count, cursor->run_left);
    if (has_dense_runs(o))
      move_dense_runs(o, bits, rows, run, is_stored);
    else
      move_plane(o, bits, rows, run, is_stored);
    if (whole > 0)
      pto_cursor_advance_rows(cursor, whole);
    else
      pto_cursor_advance(cursor, run);
    bits += rows * run * o->unit_bytes;
    count -= rows * run;
  }
}

const void *pto_operand_read(struct pto_operand *o, uint64_t count) {
  if (is_in_place(o, count)) {
    const void *elements = o->cursor.at;
    pto_cursor_advance(&o->cursor, count);
    return elements;
  }
  if (o->is_nibbles) {
    o->load(o->chunk, next_nibbles(o, count), 0, count);
  } else if (o->stage != NULL && has_dense_runs(o) && o->cursor.run_left >= count) {
    pto_cursor_load(&o->cursor, o->load, o->chunk, o->elem_bytes, count);
  } else if (o->stage != NULL) {
    move_bits(o, o->stage, count, false);
    o->load(o->chunk, o->stage, o->unit_bytes, count);
  } else {
    move_bits(o, o->chunk, count, false);
  }
  return o->chunk;
}

void *pto_operand_begin(struct pto_operand *o, uint64_t count) {
  return is_in_place(o, count) ? (void *)o->cursor.at : o->chunk;
}

void pto_operand_end(struct pto_operand *o, uint64_t count) {
  if (is_in_place(o, count)) {
    pto_cursor_advance(&o->cursor, count);
  } else if (o->is_nibbles) {
    o->store(o->chunk, next_nibbles(o, count), 0, count);
  } else if (o->stage != NULL && has_dense_runs(o) && o->cursor.run_left >= count) {
    pto_cursor_store(&o->cursor, o->store, o->chunk, o->elem_bytes, count);
  } else if (o->stage != NULL) {
    o->store(o->chunk, o->stage, o->unit_bytes, count);
    move_bits(o, o->stage, count, true);
  } else {
    move_bits(o, o->chunk, count, true);
  }
}
