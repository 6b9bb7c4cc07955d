/* SPDX-License-Identifier: MIT */
#include <kernels/kernel_windows.h>

#include <runtime/base/base.h>

/* Rows from this length on are worked on one by one, by the loops without a mask. */
#define LONGEST_ROW_BYTES 512
/* From one element to the next: farther apart, a cache line each takes the time. */
#define LONGEST_STEP_BYTES 256
/* Fewer bytes in rows of one step are left to the chunks, which hold more than one plane. */
#define LEAST_BYTES 256

/* Rows of `row` elements that start here at one step, and that step in bytes; 0: there are none. */
static uint64_t rows_here(const struct pto_cursor *cursor, uint64_t row) {
  if (cursor->run_elems > row) return cursor->run_left / row;
  return cursor->run_elems == row ? pto_cursor_rows(cursor, UINT64_MAX) : 0;
}
static uint64_t row_step(const struct pto_cursor *cursor, uint64_t row) {
  return cursor->run_elems > row ? cursor->run_step * row : pto_cursor_row_step(cursor);
}
static void advance(struct pto_cursor *cursor, uint64_t row, uint64_t rows) {
  if (cursor->run_elems > row)
    pto_cursor_advance(cursor, row * rows);
  else
    pto_cursor_advance_rows(cursor, rows);
}

/* The lowest `bytes` of a window. */
static uint64_t first_bytes(uint64_t bytes) {
  return bytes >= PTO_WINDOW_BYTES ? UINT64_MAX : (UINT64_C(1) << bytes) - 1;
}
/* `rows` of them, `step` apart. */
static uint64_t rows_mask(uint64_t row_bytes, uint64_t step, uint64_t rows) {
  uint64_t mask = 0;
  for (uint64_t i = 0; i < rows; i++) mask |= first_bytes(row_bytes) << (i * step);
  return mask;
}

/* How many rows begin and end within a window. */
static uint64_t rows_in_window(uint64_t row_bytes, uint64_t step) {
  return row_bytes < PTO_WINDOW_BYTES ? (PTO_WINDOW_BYTES - row_bytes) / step + 1 : 1;
}

/* Lines of `rows` rows that share windows. */
static void share_windows(struct pto_windows *w, uint64_t row_bytes, uint64_t step, uint64_t rows) {
  const uint64_t in_window = rows_in_window(row_bytes, step);
  w->whole = rows / in_window;
  w->step_bytes = in_window * step;
  w->mask = rows_mask(row_bytes, step, in_window);
  w->last_mask = rows_mask(row_bytes, step, rows % in_window);
}

/* A line a row. */
static void split_rows(struct pto_windows *w, uint64_t row_bytes, uint64_t rows) {
  w->lines = rows;
  w->whole = row_bytes / PTO_WINDOW_BYTES;
  w->step_bytes = PTO_WINDOW_BYTES;
  w->mask = UINT64_MAX;
  w->last_mask = first_bytes(row_bytes % PTO_WINDOW_BYTES);
}

static void set_addresses(struct pto_windows *w, const struct pto_operand *operands, uint32_t count) {
  w->a = operands[0].cursor.at;
  w->b = operands[count - 2].cursor.at;
  w->out = operands[count - 1].cursor.at;
}

/* The row of all operands: the shortest run. */
static uint64_t row_elems(const struct pto_operand *operands, uint32_t count) {
  uint64_t row = UINT64_MAX;
  for (uint32_t i = 0; i < count; i++) row = pto_min_u64(row, operands[i].cursor.run_elems);
  return row;
}

/* Of operands whose runs have no gaps. */
static uint64_t next_of_rows(struct pto_operand *operands, uint32_t count, struct pto_windows *windows) {
  struct pto_operand *out = &operands[count - 1];
  const uint64_t row = row_elems(operands, count), row_bytes = row * out->elem_bytes;
  const uint64_t step = row_step(&out->cursor, row);
  uint64_t rows = UINT64_MAX;
  bool is_one_step = step >= row_bytes;
  if (row_bytes >= LONGEST_ROW_BYTES) return 0;
  for (uint32_t i = 0; i < count; i++) {
    rows = pto_min_u64(rows, rows_here(&operands[i].cursor, row));
    is_one_step = is_one_step && row_step(&operands[i].cursor, row) == step;
  }
  if (rows * row_bytes < LEAST_BYTES) return 0;
  windows->lines = 1;
  if (is_one_step && rows_in_window(row_bytes, step) > 1)
    share_windows(windows, row_bytes, step, rows);
  else
    split_rows(windows, row_bytes, rows);
  set_addresses(windows, operands, count);
  windows->a_line = row_step(&operands[0].cursor, row);
  windows->b_line = row_step(&operands[count - 2].cursor, row);
  windows->out_line = step;
  for (uint32_t i = 0; i < count; i++) advance(&operands[i].cursor, row, rows);
  return rows * row;
}

/* Of operands whose runs are alike and have gaps: each element is a row, and each run a line. */
static uint64_t next_of_elems(struct pto_operand *operands, uint32_t count, struct pto_windows *windows) {
  const struct pto_operand *out = &operands[count - 1];
  const uint64_t run = out->cursor.run_elems, step = out->cursor.run_step;
  uint64_t lines = UINT64_MAX;
  if (step < out->elem_bytes || step > LONGEST_STEP_BYTES) return 0;
  for (uint32_t i = 0; i < count; i++) {
    const struct pto_cursor *cursor = &operands[i].cursor;
    if (cursor->run_elems != run || cursor->run_step != step) return 0;
    lines = pto_min_u64(lines, pto_cursor_rows(cursor, UINT64_MAX));
  }
  if (lines * run * out->elem_bytes < LEAST_BYTES || run < rows_in_window(out->elem_bytes, step)) return 0;
  share_windows(windows, out->elem_bytes, step, run);
  windows->lines = lines;
  set_addresses(windows, operands, count);
  windows->a_line = pto_cursor_row_step(&operands[0].cursor);
  windows->b_line = pto_cursor_row_step(&operands[count - 2].cursor);
  windows->out_line = pto_cursor_row_step(&out->cursor);
  for (uint32_t i = 0; i < count; i++) pto_cursor_advance_rows(&operands[i].cursor, lines);
  return lines * run;
}

uint64_t pto_windows_next(struct pto_operand *operands, uint32_t count, struct pto_windows *windows) {
  bool all_direct = true;
  for (uint32_t i = 0; i < count; i++) {
    if (!operands[i].is_in_class || operands[i].is_streamed) return 0;
    if (operands[i].elem_bytes != operands[0].elem_bytes) return 0;
    all_direct = all_direct && operands[i].is_direct;
  }
  return all_direct ? next_of_rows(operands, count, windows) : next_of_elems(operands, count, windows);
}
