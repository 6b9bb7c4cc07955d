/* SPDX-License-Identifier: MIT */
#include <runtime/base/reserve.h>

#include <sys/mman.h>

uint32_t pto_reserve_fail_countdown;

bool pto_reserve_init(struct pto_reserve *reserve, uint64_t size_bytes) {
  if (pto_reserve_fail_countdown && --pto_reserve_fail_countdown == 0) return false;
  if (size_bytes == 0 || size_bytes > UINT64_MAX - 65536) return false;
  uint64_t size = pto_align_up(size_bytes, 4096);
  void *addr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (addr == MAP_FAILED) return false;
  reserve->addr = addr;
  reserve->size_bytes = size;
  return true;
}

#define PAGE_BYTES UINT64_C(4096)
#define LARGE_PAGE_BYTES (UINT64_C(1) << 21) /* of x86-64; where they are larger, fewer fit */

bool pto_reserve_init_large(struct pto_reserve *reserve, uint64_t size_bytes, uint64_t small_bytes) {
  const uint64_t small = pto_align_up(small_bytes, PAGE_BYTES);
  if (size_bytes < small + LARGE_PAGE_BYTES || size_bytes > UINT64_MAX / 2)
    return pto_reserve_init(reserve, size_bytes);
  if (!pto_reserve_init(reserve, size_bytes + LARGE_PAGE_BYTES)) return false;
  /* The first large page begins where the small ones end; what lies before and behind goes back. */
  char *const all = reserve->addr, *const end = all + reserve->size_bytes;
  const uint64_t before = pto_align_up((uintptr_t)all + small, LARGE_PAGE_BYTES) - small - (uintptr_t)all;
  const uint64_t size = pto_align_up(size_bytes, PAGE_BYTES);
  if (before > 0) munmap(all, before);
  if (all + before + size < end) munmap(all + before + size, (size_t)(end - (all + before + size)));
  *reserve = (struct pto_reserve){.addr = all + before, .size_bytes = size};
  madvise(all + before + small, size - small, MADV_HUGEPAGE);
  return true;
}

void pto_ask_for_large_pages(void *addr, uint64_t size_bytes) {
  const uintptr_t begin = pto_align_up((uintptr_t)addr, LARGE_PAGE_BYTES);
  const uintptr_t end = ((uintptr_t)addr + size_bytes) / LARGE_PAGE_BYTES * LARGE_PAGE_BYTES;
  if (begin < end) madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}

void pto_reserve_fini(struct pto_reserve *reserve) {
  if (reserve->addr) munmap(reserve->addr, reserve->size_bytes);
  reserve->addr = NULL;
  reserve->size_bytes = 0;
}

void pto_reserve_discard(struct pto_reserve *reserve) { madvise(reserve->addr, reserve->size_bytes, MADV_DONTNEED); }
