/* SPDX-License-Identifier: MIT */
/*
 * Address space reserved at creation, resident only where touched.
 *
 * Owns the mapping that a pto_reserve describes.  The bytes read as zero until written.  Reserving is the only way in
 * which the runtime gets memory for a run, so capacity is fixed at creation and a run never calls malloc.
 */
#ifndef PTO_RESERVE_H
#define PTO_RESERVE_H

#include <runtime/base/base.h>

#define PTO_LARGE_PAGE_BYTES (UINT64_C(1) << 21) /* of x86-64; where they are larger, fewer fit */

struct pto_reserve {
  void *addr;
  uint64_t size_bytes;
};

/* Maps `size_bytes` (rounded up to pages; > 0) of zeroed memory without committing it.  False where the system refuses.
 */
bool pto_reserve_init(struct pto_reserve *reserve, uint64_t size_bytes);
/* The same, and the first large page begins where the first `small_bytes` end, if one fits there. */
bool pto_reserve_init_aligned(struct pto_reserve *reserve, uint64_t size_bytes, uint64_t small_bytes);
/* The same for what is filled from its beginning on: large pages, where the system has them, but for the
 * first `small_bytes`, so that what stays small takes no more memory than it needs. */
bool pto_reserve_init_large(struct pto_reserve *reserve, uint64_t size_bytes, uint64_t small_bytes);
/* Asks for large pages, where the system has them, for the part of a reservation or of an allocation in which they fit.
 * It is for what is filled from end to end: a page that is touched becomes resident whole. */
void pto_ask_for_large_pages(void *addr, uint64_t size_bytes);
/* Moves the pages at `from` to `to`, whose own go back.  Both are of reservations, at the beginning of a page, and
 * apart. What was at `from` is at `to` then, and `from` reads as zero.  False where the system does not: `from` is as
 * it was, and what is at `to` is as it was or reads as zero. */
bool pto_reserve_move(void *to, void *from, uint64_t size_bytes);
/* A zeroed struct is allowed. */
void pto_reserve_fini(struct pto_reserve *reserve);
/* Gives the resident pages back; the bytes read as zero again. */
void pto_reserve_discard(struct pto_reserve *reserve);

/* The next piece of one reservation, at the beginning of a cache line: `size_bytes` from base + *used_bytes on.  With a
 * NULL base it only adds up, and so says how much to reserve. */
static inline void *pto_carve(char *base, uint64_t *used_bytes, uint64_t size_bytes) {
  void *piece = base ? base + *used_bytes : NULL;
  *used_bytes += pto_align_up(size_bytes, PTO_CACHE_LINE);
  return piece;
}

/* For tests of creation: the n-th reserve from now on fails (0: none), and where it stays so do all that follow.  Per
 * process, set by tests alone. */
extern uint32_t pto_reserve_fail_countdown;
extern bool pto_reserve_fail_stays;

#endif
