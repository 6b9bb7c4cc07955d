/* SPDX-License-Identifier: MIT */
#include <orchestration/loader/array_memory.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ARRAY_ALIGN 64u
#define FENCE_BYTES 64u

/* ---- slack ---- */

/* Every element of two or four bytes of it is NaN as a float, and none that integer kernels like to write. */
static char pattern_at(const char *at) { return (char)((uintptr_t)at & 1 ? 0xff : 0xa5); }

static void paint(struct pto_array_memory *m) {
  for (char *at = m->begin; at < m->data; at++) *at = pattern_at(at);
  for (char *at = m->data + m->size_bytes; at < m->end; at++) *at = pattern_at(at);
}

static bool find_written(const struct pto_array_memory *m, const char *from, const char *to, int64_t *lo, int64_t *hi) {
  while (from < to && *from == pattern_at(from)) from++;
  while (from < to && to[-1] == pattern_at(to - 1)) to--;
  *lo = from - m->data;
  *hi = to - m->data;
  return from < to;
}

bool pto_array_memory_take_written(struct pto_array_memory *m, int64_t *lo, int64_t *hi) {
  int64_t front_lo, front_hi;
  const bool is_behind = find_written(m, m->data + m->size_bytes, m->end, lo, hi);
  const bool is_in_front = find_written(m, m->begin, m->data, &front_lo, &front_hi);
  if (!is_behind && !is_in_front) return false;
  if (!is_behind || (is_in_front && -front_hi < *lo - (int64_t)m->size_bytes)) {
    *lo = front_lo;
    *hi = front_hi;
  }
  paint(m);
  return true;
}

/* ---- life ---- */

void *pto_program_zeroed(uint64_t align, uint64_t size_bytes) {
  void *block;
  if (posix_memalign(&block, size_bytes < 2 * PTO_LARGE_PAGE_BYTES ? align : PTO_LARGE_PAGE_BYTES, size_bytes) != 0)
    return NULL;
  pto_ask_for_large_pages(block, size_bytes);
  return memset(block, 0, size_bytes);
}

static bool init_on_heap(struct pto_array_memory *m, uint64_t align, uint64_t front_bytes, uint64_t all_bytes) {
  m->block = pto_program_zeroed(align, all_bytes);
  m->data = (char *)m->block + front_bytes;
  return m->block != NULL;
}

static bool init_fenced(struct pto_array_memory *m) {
  const uint64_t all = pto_align_up(m->size_bytes, ARRAY_ALIGN) + 2 * FENCE_BYTES;
  if (!init_on_heap(m, ARRAY_ALIGN, FENCE_BYTES, all)) return false;
  m->begin = m->block;
  m->end = m->begin + all;
  paint(m);
  return true;
}

static void set_between(struct pto_array_memory *m, char *begin, uint64_t bytes) {
  m->begin = begin;
  m->end = begin + bytes;
  m->guard_bytes = PTO_GUARD_BYTES;
}

static bool close_memory(char *begin, uint64_t bytes) { return mprotect(begin, bytes, PROT_NONE) == 0; }
/* Mapped anew: of memory that is opened again helgrind sees no access. */
static bool open_memory(char *begin, uint64_t bytes) {
  const int flags = MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  return mmap(begin, bytes, PROT_READ | PROT_WRITE, flags, -1, 0) == begin;
}

static bool init_large(struct pto_array_memory *m, uint64_t bytes) {
  if (!pto_reserve_init_aligned(&m->reserve, bytes + 2 * PTO_GUARD_BYTES, PTO_GUARD_BYTES)) return false;
  char *const begin = (char *)m->reserve.addr + PTO_GUARD_BYTES;
  if (!close_memory(m->reserve.addr, PTO_GUARD_BYTES) || !close_memory(begin + bytes, PTO_GUARD_BYTES)) {
    pto_reserve_fini(&m->reserve);
    return false;
  }
  set_between(m, begin, bytes);
  m->data = m->begin;
  pto_ask_for_large_pages(m->data, m->size_bytes);
  return true;
}

/* A place in the pool, all of which has no access but the arrays. */
static bool init_small(struct pto_array_memory *m, uint64_t bytes, struct pto_array_pool *pool) {
  const uint64_t most = PTO_GUARDED_ARRAYS * (2 * PTO_LARGE_PAGE_BYTES + PTO_GUARD_BYTES) + 2 * PTO_POOL_MARGIN_BYTES;
  if (pool->count >= PTO_GUARDED_ARRAYS) return false;
  pool->count++;
  if (!pool->reserve.addr) {
    if (!pto_reserve_init(&pool->reserve, most)) return false;
    if (!close_memory(pool->reserve.addr, pool->reserve.size_bytes)) {
      pto_reserve_fini(&pool->reserve);
      return false;
    }
    pool->used_bytes = PTO_POOL_MARGIN_BYTES;
  }
  char *const begin = (char *)pool->reserve.addr + pool->used_bytes;
  if (!open_memory(begin, bytes)) return false;
  set_between(m, begin, bytes);
  pool->used_bytes += bytes + PTO_GUARD_BYTES;
  m->data = m->end - pto_align_up(m->size_bytes, ARRAY_ALIGN);
  return true;
}

static bool init_guarded(struct pto_array_memory *m, struct pto_array_pool *pool) {
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), bytes = pto_align_up(pto_max_u64(m->size_bytes, 1), page);
  const bool is_large = m->size_bytes >= 2 * PTO_LARGE_PAGE_BYTES;
  if (!(is_large ? init_large(m, bytes) : init_small(m, bytes, pool))) return false;
  memset(m->data, 0, m->size_bytes); /* else the run would wait for its pages */
  paint(m);
  return true;
}

bool pto_array_memory_init(struct pto_array_memory *m, enum pto_array_way way, uint64_t size_bytes,
                           uint64_t margin_bytes, struct pto_array_pool *pool) {
  *m = (struct pto_array_memory){.size_bytes = size_bytes};
  if (way == PTO_ARRAY_GUARDED) return init_guarded(m, pool) || init_fenced(m);
  bool is_there;
  if (way == PTO_ARRAY_PRICED) {
    is_there = pto_reserve_init(&m->reserve, pto_max_u64(size_bytes, 1));
    m->data = m->reserve.addr;
  } else if (way == PTO_ARRAY_SPACED) {
    is_there = pto_reserve_init(&m->reserve, pto_align_up(size_bytes, margin_bytes) + 2 * margin_bytes);
    m->data = (char *)m->reserve.addr + margin_bytes;
  } else {
    is_there = init_on_heap(m, ARRAY_ALIGN, 0, pto_max_u64(size_bytes, 1));
  }
  m->begin = m->data;
  m->end = m->data + size_bytes;
  return is_there;
}

void pto_array_memory_fini(struct pto_array_memory *m) {
  free(m->block);
  pto_reserve_fini(&m->reserve);
}

void pto_array_pool_fini(struct pto_array_pool *pool) { pto_reserve_fini(&pool->reserve); }

uint64_t pto_array_memory_distance(const struct pto_array_memory *m, uint64_t address) {
  const uint64_t data = (uintptr_t)m->data, behind = data + m->size_bytes;
  if (address >= (uintptr_t)m->begin - m->guard_bytes && address < data) return data - 1 - address;
  return address >= behind && address < (uintptr_t)m->end + m->guard_bytes ? address - behind : UINT64_MAX;
}
