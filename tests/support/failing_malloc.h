/* SPDX-License-Identifier: MIT */
/*
 * An allocator whose n-th allocation from now on fails, alone or with all that follow, and that counts live blocks and
 * allocations: for the one source of a test program that includes this.  Any thread may allocate.
 *
 * Where a sanitizer owns malloc there is none: PTO_HAS_FAILING_MALLOC is 0, and tests that need it skip.
 */
#ifndef PTO_FAILING_MALLOC_H
#define PTO_FAILING_MALLOC_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <pto/status.h>
#include <runtime/base/sanitizer.h>

#define PTO_HAS_FAILING_MALLOC (!PTO_HAS_SANITIZER)

#define UNUSED                                                                                                         \
  __attribute__((unused)) /* not every test looks at all of them, and none where there is no such allocator */
static UNUSED uint32_t fail_countdown; /* the n-th allocation from now on fails; 0: none */
static UNUSED bool fail_stays;         /* and so do all that follow */
static UNUSED int64_t live_blocks;
static UNUSED uint64_t allocation_count;
static UNUSED void (*allocation_seen)(uint64_t n); /* is told of each, where it is set */
#undef UNUSED

#if PTO_HAS_FAILING_MALLOC
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *block);

/* Relaxed: counts, which the test reads where no other thread allocates. */
static void note_allocation(bool is_new) {
  __atomic_fetch_add(&live_blocks, is_new, __ATOMIC_RELAXED);
  __atomic_fetch_add(&allocation_count, 1, __ATOMIC_RELAXED);
}
static void *counted(void *block) {
  note_allocation(block != NULL);
  return block;
}
static bool is_failing(void) {
  if (allocation_seen) allocation_seen(allocation_count + 1);
  uint32_t left = __atomic_load_n(&fail_countdown, __ATOMIC_RELAXED);
  while (left > 0 && !__atomic_compare_exchange_n(&fail_countdown, &left, left > 1 ? left - 1 : fail_stays, true,
                                                  __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  if (left != 1) return false;
  errno = ENOMEM;
  return true;
}
/* Exported, so that libc uses them as well. */
PTO_API void *malloc(size_t size) { return is_failing() ? NULL : counted(__libc_malloc(size)); }
PTO_API void *calloc(size_t count, size_t size) { return is_failing() ? NULL : counted(__libc_calloc(count, size)); }
PTO_API void *realloc(void *block, size_t size) {
  if (is_failing()) return NULL;
  void *moved = __libc_realloc(block, size);
  note_allocation(!block && moved);
  return moved;
}
PTO_API void *aligned_alloc(size_t align, size_t size) {
  return is_failing() ? NULL : counted(__libc_memalign(align, size));
}
PTO_API int posix_memalign(void **block, size_t align, size_t size) {
  *block = is_failing() ? NULL : counted(__libc_memalign(align, size));
  return *block ? 0 : ENOMEM;
}
PTO_API void free(void *block) {
  __atomic_fetch_sub(&live_blocks, block != NULL, __ATOMIC_RELAXED);
  __libc_free(block);
}
#endif

#endif
