/* SPDX-License-Identifier: MIT */
#include <runtime/base/reserve.h>

#include <sys/mman.h>

uint32_t pto_reserve_fail_countdown;
bool pto_reserve_fail_stays;

/* Memory at `addr`, or where the system likes. */
static void *map(void *addr, uint64_t size_bytes) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (addr ? MAP_FIXED : 0);
  return mmap(addr, size_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
}

bool pto_reserve_init(struct pto_reserve *reserve, uint64_t size_bytes) {
  if (pto_reserve_fail_countdown && --pto_reserve_fail_countdown == 0) {
    pto_reserve_fail_countdown = pto_reserve_fail_stays;
    return false;
  }
  if (size_bytes == 0 || size_bytes > UINT64_MAX - 65536) return false;
  uint64_t size = pto_align_up(size_bytes, 4096);
  void *addr = map(NULL, size);
  if (addr == MAP_FAILED) return false;
  reserve->addr = addr;
  reserve->size_bytes = size;
  return true;
}

#define PAGE_BYTES UINT64_C(4096)

bool pto_reserve_init_aligned(struct pto_reserve *reserve, uint64_t size_bytes, uint64_t small_bytes) {
  const uint64_t small = pto_align_up(small_bytes, PAGE_BYTES);
  if (size_bytes < small + PTO_LARGE_PAGE_BYTES || size_bytes > UINT64_MAX / 2)
    return pto_reserve_init(reserve, size_bytes);
  if (!pto_reserve_init(reserve, size_bytes + PTO_LARGE_PAGE_BYTES)) return false;
  /* The first large page begins where the small ones end; what lies before and behind goes back. */
  char *const all = reserve->addr, *const end = all + reserve->size_bytes;
  const uint64_t before = pto_align_up((uintptr_t)all + small, PTO_LARGE_PAGE_BYTES) - small - (uintptr_t)all;
  const uint64_t size = pto_align_up(size_bytes, PAGE_BYTES);
  if (before > 0) munmap(all, before);
  if (all + before + size < end) munmap(all + before + size, (size_t)(end - (all + before + size)));
  *reserve = (struct pto_reserve){.addr = all + before, .size_bytes = size};
  return true;
}

bool pto_reserve_init_large(struct pto_reserve *reserve, uint64_t size_bytes, uint64_t small_bytes) {
  if (!pto_reserve_init_aligned(reserve, size_bytes, small_bytes)) return false;
  if (small_bytes < size_bytes) pto_ask_for_large_pages((char *)reserve->addr + small_bytes, size_bytes - small_bytes);
  return true;
}

void pto_ask_for_large_pages(void *addr, uint64_t size_bytes) {
  const uintptr_t begin = pto_align_up((uintptr_t)addr, PTO_LARGE_PAGE_BYTES);
  const uintptr_t end = ((uintptr_t)addr + size_bytes) / PTO_LARGE_PAGE_BYTES * PTO_LARGE_PAGE_BYTES;
  if (begin < end) madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}

bool pto_reserve_move(void *to, void *from, uint64_t size_bytes) {
#ifdef MREMAP_DONTUNMAP
  if (mremap(from, size_bytes, size_bytes, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to) == to) return true;
#endif
  /* A system may take what is at `to` first, and then not move. */
  if (msync(to, size_bytes, MS_ASYNC) != 0) {
    const void *again = map(to, size_bytes);
    PTO_ASSERT(again == to);
    (void)again;
  }
  return false;
}

void pto_reserve_fini(struct pto_reserve *reserve) {
  if (reserve->addr) munmap(reserve->addr, reserve->size_bytes);
  reserve->addr = NULL;
  reserve->size_bytes = 0;
}

void pto_reserve_discard(struct pto_reserve *reserve) { madvise(reserve->addr, reserve->size_bytes, MADV_DONTNEED); }
