/* SPDX-License-Identifier: MIT */
#include <kernels/move/cursor.h>

#include <runtime/base/base.h>

void pto_cursor_order(const struct pto_kernel_tensor *t, uint32_t order[PTO_MAX_DIMS]) {
  for (uint32_t d = 0; d < t->ndims; d++) {
    uint32_t at = d;
    for (; at > 0 && t->strides[order[at - 1]] < t->strides[d]; at--) order[at] = order[at - 1];
    order[at] = d;
  }
}

void pto_cursor_init(struct pto_cursor *cursor, const struct pto_kernel_tensor *t, const uint32_t *order) {
  const uint64_t elem_bytes = pto_dtype_size(t->dtype);
  uint32_t count = 0; /* dimensions so far, the innermost of them last */
  for (uint32_t i = 0; i < t->ndims; i++) {
    const uint32_t d = order == NULL ? i : order[i];
    const uint64_t extent = t->shape[d], step = t->strides[d] * elem_bytes;
    if (extent == 1) continue;
    if (count > 0 && cursor->steps[count - 1] == step * extent) {
      cursor->shape[count - 1] *= extent;
      cursor->steps[count - 1] = step;
    } else {
      cursor->shape[count] = extent;
      cursor->steps[count] = step;
      count++;
    }
  }
  cursor->at = t->addr;
  cursor->run_elems = count == 0 ? 1 : cursor->shape[count - 1];
  cursor->run_step = count == 0 ? elem_bytes : cursor->steps[count - 1];
  cursor->run_left = cursor->run_elems;
  cursor->ndims = count == 0 ? 0 : count - 1;
  for (uint32_t d = 0; d < cursor->ndims; d++) cursor->index[d] = 0;
}

/* Past a whole run, of which `at` is the start: to the next index of the outer dimensions, of which the innermost goes
 * on by `rows`. */
static void next_row(struct pto_cursor *cursor, uint64_t rows) {
  for (uint32_t d = cursor->ndims; d-- > 0; rows = 1) {
    cursor->at += rows * cursor->steps[d];
    cursor->index[d] += rows;
    if (cursor->index[d] < cursor->shape[d]) {
      cursor->run_left = cursor->run_elems;
      return;
    }
    cursor->at -= cursor->shape[d] * cursor->steps[d];
    cursor->index[d] = 0;
  }
  cursor->run_left = 0;
}

void pto_cursor_advance(struct pto_cursor *cursor, uint64_t count) {
  PTO_INTERNAL(count <= cursor->run_left);
  cursor->at += count * cursor->run_step;
  cursor->run_left -= count;
  if (cursor->run_left > 0) return;
  cursor->at -= cursor->run_elems * cursor->run_step;
  next_row(cursor, 1);
}

uint64_t pto_cursor_rows(const struct pto_cursor *cursor, uint64_t count) {
  if (cursor->run_left < cursor->run_elems || cursor->run_left == 0) return 0;
  const uint64_t left = cursor->ndims == 0 ? 1 : cursor->shape[cursor->ndims - 1] - cursor->index[cursor->ndims - 1];
  return pto_min_u64(count / cursor->run_elems, left);
}

void pto_cursor_advance_rows(struct pto_cursor *cursor, uint64_t rows) {
  PTO_INTERNAL(rows > 0 && rows <= pto_cursor_rows(cursor, UINT64_MAX));
  next_row(cursor, rows);
}

void pto_cursor_load(struct pto_cursor *cursor, pto_load_loop *load, void *buffer, uint64_t elem_bytes,
                     uint64_t count) {
  char *to = buffer;
  while (count > 0) {
    const uint64_t n = pto_min_u64(count, cursor->run_left);
    load(to, cursor->at, cursor->run_step, n);
    pto_cursor_advance(cursor, n);
    to += n * elem_bytes;
    count -= n;
  }
}

void pto_cursor_store(struct pto_cursor *cursor, pto_store_loop *store, const void *buffer, uint64_t elem_bytes,
                      uint64_t count) {
  const char *from = buffer;
  while (count > 0) {
    const uint64_t n = pto_min_u64(count, cursor->run_left);
    store(from, cursor->at, cursor->run_step, n);
    pto_cursor_advance(cursor, n);
    from += n * elem_bytes;
    count -= n;
  }
}
