/* SPDX-License-Identifier: MIT */
#include <world/world_state.h>

#include <string.h>

#include <runtime/base/dtype.h>

/* Bytes of one step of an index, of elements that are not of 4 bits: those lie side by side, two in a byte. */
static uint64_t element_bytes(const struct pto_remote_layout *layout) { return pto_dtype_size(layout->dtype); }

static uint64_t numel(const struct pto_remote_layout *layout) {
  uint64_t count = 1;
  for (uint32_t i = 0; i < layout->ndims; i++) count *= layout->shape[i];
  return count;
}

/* In bytes, of elements of `bits`. */
static uint64_t bytes_of(uint64_t elements, uint32_t dtype) {
  return pto_dtype_is_four_bit(dtype) ? (elements + 1) / 2 : elements * pto_dtype_size(dtype);
}

uint64_t pto_remote_bytes(const struct pto_remote_layout *layout) { return bytes_of(numel(layout), layout->dtype); }

uint64_t pto_remote_span(const struct pto_remote_layout *layout) {
  uint64_t last = 0;
  if (numel(layout) == 0) return 0;
  for (uint32_t i = 0; i < layout->ndims; i++) last += (layout->shape[i] - 1) * layout->strides[i];
  return bytes_of(last + 1, layout->dtype);
}

/* How many elements from each start on lie side by side, and how many dimensions are outside of them. */
static uint64_t run_of(const struct pto_remote_layout *layout, uint32_t *outer) {
  uint64_t run = 1;
  uint32_t dim = layout->ndims;
  while (dim > 0 && (layout->shape[dim - 1] == 1 || layout->strides[dim - 1] == run)) run *= layout->shape[--dim];
  *outer = dim;
  return run;
}

bool pto_remote_is_dense(const struct pto_remote_layout *layout) {
  uint32_t outer;
  (void)run_of(layout, &outer);
  return outer == 0;
}

/* Moves each run of elements between `memory` and `packed`. */
static void move_runs(const struct pto_remote_layout *layout, unsigned char *memory, unsigned char *packed,
                      bool is_gather) {
  uint64_t index[PTO_MAX_DIMS] = {0};
  uint32_t outer;
  const uint64_t run_bytes = bytes_of(run_of(layout, &outer), layout->dtype);
  if (numel(layout) == 0) return;
  for (;;) {
    uint64_t offset = 0;
    for (uint32_t i = 0; i < outer; i++) offset += index[i] * layout->strides[i];
    unsigned char *at = memory + layout->addr + offset * element_bytes(layout);
    if (is_gather)
      memcpy(packed, at, run_bytes);
    else
      memcpy(at, packed, run_bytes);
    packed += run_bytes;
    uint32_t dim = outer;
    while (dim > 0 && ++index[dim - 1] == layout->shape[dim - 1]) index[--dim] = 0;
    if (dim == 0) return;
  }
}

void pto_remote_gather(const struct pto_remote_layout *layout, const unsigned char *base, unsigned char *packed) {
  move_runs(layout, (unsigned char *)(uintptr_t)base, packed, true);
}

void pto_remote_scatter(const struct pto_remote_layout *layout, unsigned char *base, const unsigned char *packed) {
  move_runs(layout, base, (unsigned char *)(uintptr_t)packed, false);
}
