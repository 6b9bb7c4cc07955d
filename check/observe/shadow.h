/* SPDX-License-Identifier: MIT */
/*
 * The shadow of memory: which bytes have been written, and whose they are.
 *
 * Bytes of the arena are unwritten when they are allocated; others are the host's, who wrote them.  Any byte is
 * unwritten again when a task declared to write it and left it out: what it holds is nothing to rely on.
 *
 * Owns a bit a byte of the arena, two bits a byte of those pages elsewhere that kernels write or leave, and the buffers
 * of the run by where they lie.  Outputs are allocated in whole cells of PTO_OUTPUT_ALIGN bytes, so a cell has one
 * owner: the last buffer that was given it.
 *
 * Control thread.  Address space alone, resident where the arena is used.
 */
#ifndef PTO_CHECK_OBSERVE_SHADOW_H
#define PTO_CHECK_OBSERVE_SHADOW_H

#include <runtime/base/reserve.h>

struct pto_observe_buffer {
  uint64_t number, lo, hi;
};

struct pto_observe_shadow {
  uint64_t lo, hi; /* the arena */
  struct pto_reserve bits_memory, cells_memory, buffers_memory, pages_memory;
  uint32_t buffer_count;
  uint32_t page_count; /* elsewhere */
  bool has_left;       /* one of these has a byte that was left */
};

/* False where the system refuses memory.  fini takes zeroed structs and half-made ones. */
bool pto_observe_shadow_init(struct pto_observe_shadow *shadow, uint64_t arena_addr, uint64_t arena_bytes);
void pto_observe_shadow_fini(struct pto_observe_shadow *shadow);
/* A run begins. */
void pto_observe_shadow_reset(struct pto_observe_shadow *shadow);

/* A buffer has got memory, which is not written yet. */
void pto_observe_shadow_allocate(struct pto_observe_shadow *shadow, uint64_t number, uint64_t lo, uint64_t size_bytes);
/* [lo, hi) is written. */
void pto_observe_shadow_write(struct pto_observe_shadow *shadow, uint64_t lo, uint64_t hi);
/* A task declared to write [lo, hi) and did not. */
void pto_observe_shadow_leave(struct pto_observe_shadow *shadow, uint64_t lo, uint64_t hi);
bool pto_observe_shadow_is_written(const struct pto_observe_shadow *shadow, uint64_t lo, uint64_t hi);
/* Whether a kernel or the orchestration has ever written this byte, which is not of the arena, in the run. */
bool pto_observe_shadow_was_written(const struct pto_observe_shadow *shadow, uint64_t addr);

/* The last buffer that had the cell of this byte, which may lie behind its end; NULL where none had it. */
const struct pto_observe_buffer *pto_observe_shadow_find(const struct pto_observe_shadow *shadow, uint64_t addr);

#endif
