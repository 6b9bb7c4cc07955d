/* SPDX-License-Identifier: MIT */
/*
 * A core's local memory, given out in pieces: how kernels really work through memory of the device's size.
 *
 *   struct pto_local local = pto_local_begin(&args->core->local);
 *   float *tile = pto_local_take(&local, elems * sizeof(float));
 *
 * Always true: a kernel takes no more than its cost says (cost.local_bytes ≥ Σ pto_local_bytes(piece)), which the
 * runtime has compared with the chip's core before the submit; the registry test runs every kernel with exactly that
 * much.  Pieces start on a cache line.  Contents are whatever was there.  The core's own thread; nothing to free.
 */
#ifndef PTO_KERNELS_API_LOCAL_H
#define PTO_KERNELS_API_LOCAL_H

#include <pto/kernel.h>
#include <runtime/base/base.h>

struct pto_local {
  char *at, *end;
};

static inline struct pto_local pto_local_begin(const struct pto_local_memory *memory) {
  char *addr = memory->addr;
  return (struct pto_local){addr, addr + memory->size_bytes};
}

/* What a piece of `size_bytes` takes up. */
static inline uint64_t pto_local_bytes(uint64_t size_bytes) { return pto_align_up(size_bytes, PTO_CACHE_LINE); }

static inline void *pto_local_take(struct pto_local *local, uint64_t size_bytes) {
  char *piece = local->at;
  PTO_ASSERT(pto_local_bytes(size_bytes) <= (uint64_t)(local->end - local->at)); /* the kernel's cost says too little */
  local->at += pto_local_bytes(size_bytes);
  return piece;
}

#endif
