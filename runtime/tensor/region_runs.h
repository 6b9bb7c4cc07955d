/* SPDX-License-Identifier: MIT */
/*
 * The runs of a region, one after another: for code that has to say something of its bytes.
 *
 * A value over a borrowed region; no allocation; any thread.  Runs come in row-major order of the canonical dimensions,
 * each run_bytes long.
 */
#ifndef PTO_REGION_RUNS_H
#define PTO_REGION_RUNS_H

#include <pto/kernel.h>
#include <runtime/tensor/region.h>

struct pto_region_runs {
  const struct pto_region *region;
  uint64_t start; /* of the next run */
  uint64_t index[PTO_MAX_DIMS];
  bool is_over;
};

static inline struct pto_region_runs pto_region_runs(const struct pto_region *region) {
  return (struct pto_region_runs){.region = region, .start = region->start, .is_over = pto_region_is_empty(region)};
}

/* Writes the first byte of the next run; false where there is none. */
static inline bool pto_region_runs_next(struct pto_region_runs *runs, uint64_t *start) {
  const struct pto_region *region = runs->region;
  if (runs->is_over) return false;
  *start = runs->start;
  uint32_t d = region->ndims;
  for (; d > 0; d--) {
    runs->start += region->strides[d - 1];
    if (++runs->index[d - 1] < region->extents[d - 1]) break;
    runs->start -= region->extents[d - 1] * region->strides[d - 1];
    runs->index[d - 1] = 0;
  }
  runs->is_over = d == 0;
  return true;
}

/* The region of a tensor as a kernel sees it; empty where it has no address. */
static inline void pto_region_from_kernel_tensor(const struct pto_kernel_tensor *tensor, struct pto_region *region) {
  struct pto_tensor t = {.ndims = tensor->ndims, .dtype = tensor->dtype};
  for (uint32_t d = 0; d < tensor->ndims; d++) {
    t.shape[d] = tensor->shape[d];
    t.strides[d] = tensor->strides[d];
  }
  pto_region_from_tensor(&t, (uint64_t)(uintptr_t)tensor->addr, region);
  if (!tensor->addr) region->run_bytes = region->ndims = 0;
}

#endif
