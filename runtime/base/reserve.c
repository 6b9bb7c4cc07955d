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

void pto_reserve_fini(struct pto_reserve *reserve) {
  if (reserve->addr) munmap(reserve->addr, reserve->size_bytes);
  reserve->addr = NULL;
  reserve->size_bytes = 0;
}

void pto_reserve_discard(struct pto_reserve *reserve) { madvise(reserve->addr, reserve->size_bytes, MADV_DONTNEED); }
