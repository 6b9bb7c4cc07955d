/* SPDX-License-Identifier: MIT */
/*
 * The memory of a program's array, such that a kernel which runs off it is noticed.
 *
 * Owns the memory.  By the way in which it is made:
 *
 *   - guarded: PTO_GUARD_BYTES without access before and behind.  A small array ends, rounded up to 64 bytes, where the
 *     upper guard begins, and small ones share one reservation, the guard between two as well, with
 *     PTO_POOL_MARGIN_BYTES before the first and behind the last; one of two large pages or more has its own and begins
 *     with a large page.  Bytes between an array and its guards are slack;
 *   - fenced: a block of the heap with 64 bytes of slack in front and behind: for small arrays beyond the first
 *     PTO_GUARDED_ARRAYS of a run, since each guarded one takes a page and a call of the system;
 *   - spaced: whole pages of its own that are open, for the observer of pages that asks for them; zero as the system
 *     makes them;
 *   - plain: not a byte more than the array has, for AddressSanitizer and memcheck, which see who runs off its end;
 *   - priced: address space alone, for runs that compute nothing.
 *
 * Always true: begin ≤ data ≤ data + size_bytes ≤ end, data is at a multiple of 64, and slack holds a pattern until
 * a kernel or the program writes over it.  Read as a float of any width the pattern is no number.
 *
 * Threads: one at a time.  fini frees; a zeroed struct is allowed.
 */
#ifndef PTO_ARRAY_MEMORY_H
#define PTO_ARRAY_MEMORY_H

#include <runtime/base/reserve.h>

#define PTO_GUARDED_ARRAYS 64u
#define PTO_GUARD_BYTES (UINT64_C(256) << 10) /* address space alone, as is the next */
#define PTO_POOL_MARGIN_BYTES (UINT64_C(64) << 20)

/* Where the small guarded arrays of a run lie.  Zeroed: none does.  fini after the arrays' own. */
struct pto_array_pool {
  struct pto_reserve reserve;
  uint64_t used_bytes;
  uint32_t count; /* arrays that asked for a place */
};
void pto_array_pool_fini(struct pto_array_pool *pool);

enum pto_array_way { PTO_ARRAY_GUARDED, PTO_ARRAY_SPACED, PTO_ARRAY_PLAIN, PTO_ARRAY_PRICED };

struct pto_array_memory {
  char *data;
  uint64_t size_bytes;
  char *begin, *end;          /* its slack too */
  uint64_t guard_bytes;       /* of each of the two guards; 0: there are none */
  void *block;                /* of the heap; NULL: none */
  struct pto_reserve reserve; /* of its own; zeroed: none */
};

/* Zeroed memory for `size_bytes`, which may be 0.  Guarded memory is fenced where the system refuses guards, or the
 * pool has had its number of small arrays.  `margin_bytes` is for spaced memory: a power of two, in front and behind.
 * False where there is no memory. */
bool pto_array_memory_init(struct pto_array_memory *memory, enum pto_array_way way, uint64_t size_bytes,
                           uint64_t margin_bytes, struct pto_array_pool *pool);
void pto_array_memory_fini(struct pto_array_memory *memory);

/* Whether slack was written: then [*lo, *hi), counted from the first byte of the array, holds what was, on the side
 * where it begins nearer to the array; and slack is as before again. */
bool pto_array_memory_take_written(struct pto_array_memory *memory, int64_t *lo, int64_t *hi);

/* Zeroed memory at a multiple of `align`, which free() takes; where it is large, it begins with a large page.  NULL
 * where there is none. */
void *pto_program_zeroed(uint64_t align, uint64_t size_bytes);
/* How far the address is from the array's first or last byte, if it is of its slack or its guards; else UINT64_MAX. */
uint64_t pto_array_memory_distance(const struct pto_array_memory *memory, uint64_t address);

#endif
