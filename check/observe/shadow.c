/* SPDX-License-Identifier: MIT */
#include <check/observe/shadow.h>

#include <string.h>

#include <runtime/memory/heap_ring.h>

#define MAX_BUFFERS (UINT32_C(1) << 26)
/* Pages outside the arena: a table with room to spare; what it has no room for counts as the host's. */
#define PAGE_BYTES 4096u
#define PAGE_SLOTS (UINT32_C(1) << 20)
#define MAX_PAGES (PAGE_SLOTS / 2)

struct outer_page {
  uint64_t number; /* address / PAGE_BYTES; 0: free */
  uint8_t left[PAGE_BYTES / 8], ever[PAGE_BYTES / 8];
};

bool pto_observe_shadow_init(struct pto_observe_shadow *shadow, uint64_t arena_addr, uint64_t arena_bytes) {
  memset(shadow, 0, sizeof *shadow);
  shadow->lo = arena_addr;
  shadow->hi = arena_addr + arena_bytes;
  if (pto_reserve_init(&shadow->bits_memory, arena_bytes / 8 + 8) &&
      pto_reserve_init(&shadow->cells_memory, (arena_bytes / PTO_OUTPUT_ALIGN + 1) * sizeof(uint32_t)) &&
      pto_reserve_init(&shadow->buffers_memory, MAX_BUFFERS * sizeof(struct pto_observe_buffer)) &&
      pto_reserve_init(&shadow->pages_memory, PAGE_SLOTS * sizeof(struct outer_page)))
    return true;
  pto_observe_shadow_fini(shadow);
  return false;
}

void pto_observe_shadow_fini(struct pto_observe_shadow *shadow) {
  pto_reserve_fini(&shadow->bits_memory);
  pto_reserve_fini(&shadow->cells_memory);
  pto_reserve_fini(&shadow->buffers_memory);
  pto_reserve_fini(&shadow->pages_memory);
  memset(shadow, 0, sizeof *shadow);
}

void pto_observe_shadow_reset(struct pto_observe_shadow *shadow) {
  pto_reserve_discard(&shadow->bits_memory);
  pto_reserve_discard(&shadow->cells_memory);
  if (shadow->page_count) pto_reserve_discard(&shadow->pages_memory);
  shadow->buffer_count = shadow->page_count = 0;
  shadow->has_left = false;
}

/* ---- bits ---- */

/* A byte of the shadow, and which of its bits stand for [lo, hi). */
static uint8_t bits_of(uint64_t byte, uint64_t lo, uint64_t hi) {
  const uint64_t first = pto_max_u64(lo, byte * 8) - byte * 8, end = pto_min_u64(hi, byte * 8 + 8) - byte * 8;
  return (uint8_t)((0xffu << first) & (0xffu >> (8 - end)));
}

/* Offsets into the arena; false where nothing of [lo, hi) is in it. */
static bool clip(const struct pto_observe_shadow *shadow, uint64_t *lo, uint64_t *hi) {
  *lo = pto_max_u64(*lo, shadow->lo) - shadow->lo;
  *hi = pto_max_u64(pto_min_u64(*hi, shadow->hi), shadow->lo) - shadow->lo;
  return *lo < *hi;
}

/* lo < hi */
static void set_bits(uint8_t *bits, uint64_t lo, uint64_t hi, bool value) {
  const uint64_t first = lo / 8, last = (hi - 1) / 8;
  for (uint64_t byte = first; byte <= last; byte++) {
    if (byte > first && byte < last) {
      memset(bits + byte, value ? 0xff : 0, last - byte);
      byte = last;
    }
    const uint8_t mask = bits_of(byte, lo, hi);
    bits[byte] = (uint8_t)(value ? bits[byte] | mask : bits[byte] & ~mask);
  }
}

/* Whether bits lo … hi − 1 all have this value; lo < hi. */
static bool are_all(const uint8_t *bits, uint64_t lo, uint64_t hi, bool value) {
  for (uint64_t byte = lo / 8; byte <= (hi - 1) / 8; byte++) {
    const uint8_t mask = bits_of(byte, lo, hi);
    if ((bits[byte] & mask) != (value ? mask : 0)) return false;
  }
  return true;
}

/* The page's place: its own, or a free one. */
static struct outer_page *page_at(const struct pto_observe_shadow *shadow, uint64_t addr) {
  struct outer_page *pages = shadow->pages_memory.addr;
  const uint64_t number = addr / PAGE_BYTES;
  uint32_t at = (uint32_t)pto_mix64(number) % PAGE_SLOTS;
  while (pages[at].number && pages[at].number != number) at = (at + 1) % PAGE_SLOTS;
  return &pages[at];
}

/* The part of [*lo, hi) in one page, as bits of that page; the rest begins at the new *lo. */
static struct outer_page *next_page(const struct pto_observe_shadow *shadow, uint64_t *lo, uint64_t hi, uint64_t *first,
                                    uint64_t *end) {
  struct outer_page *page = page_at(shadow, *lo);
  const uint64_t begin = *lo / PAGE_BYTES * PAGE_BYTES;
  *first = *lo - begin;
  *end = pto_min_u64(hi - begin, PAGE_BYTES);
  *lo = begin + *end;
  return page;
}

/* What a kernel or the orchestration wrote, or left. */
static void mark(struct pto_observe_shadow *shadow, uint64_t lo, uint64_t hi, bool is_left) {
  uint64_t arena_lo = lo, arena_hi = hi, first, end;
  if (clip(shadow, &arena_lo, &arena_hi)) {
    set_bits(shadow->bits_memory.addr, arena_lo, arena_hi, !is_left);
    return;
  }
  while (lo < hi) {
    const uint64_t number = lo / PAGE_BYTES;
    struct outer_page *page = next_page(shadow, &lo, hi, &first, &end);
    if (page->number == 0) {
      if (shadow->page_count == MAX_PAGES) return;
      shadow->page_count++;
      page->number = number;
    }
    set_bits(page->left, first, end, is_left);
    if (!is_left) set_bits(page->ever, first, end, true);
  }
  shadow->has_left |= is_left;
}

void pto_observe_shadow_write(struct pto_observe_shadow *shadow, uint64_t lo, uint64_t hi) {
  mark(shadow, lo, hi, false);
}
void pto_observe_shadow_leave(struct pto_observe_shadow *shadow, uint64_t lo, uint64_t hi) {
  mark(shadow, lo, hi, true);
}

bool pto_observe_shadow_was_written(const struct pto_observe_shadow *shadow, uint64_t addr) {
  const uint64_t bit = addr % PAGE_BYTES;
  const struct outer_page *page = page_at(shadow, addr);
  return page->number && are_all(page->ever, bit, bit + 1, true);
}

bool pto_observe_shadow_is_written(const struct pto_observe_shadow *shadow, uint64_t lo, uint64_t hi) {
  uint64_t arena_lo = lo, arena_hi = hi, first, end;
  if (clip(shadow, &arena_lo, &arena_hi)) return are_all(shadow->bits_memory.addr, arena_lo, arena_hi, true);
  while (shadow->has_left && lo < hi) {
    const struct outer_page *page = next_page(shadow, &lo, hi, &first, &end);
    if (page->number && !are_all(page->left, first, end, false)) return false;
  }
  return true;
}

/* ---- buffers ---- */

void pto_observe_shadow_allocate(struct pto_observe_shadow *shadow, uint64_t number, uint64_t lo, uint64_t size_bytes) {
  uint32_t *cells = shadow->cells_memory.addr;
  struct pto_observe_buffer *buffers = shadow->buffers_memory.addr;
  uint64_t begin = lo, end = lo + size_bytes;
  if (!clip(shadow, &begin, &end)) return;
  set_bits(shadow->bits_memory.addr, begin, end, false);
  uint32_t name = 0;
  if (shadow->buffer_count < MAX_BUFFERS) {
    buffers[shadow->buffer_count++] = (struct pto_observe_buffer){number, lo, lo + size_bytes};
    name = shadow->buffer_count;
  }
  for (uint64_t cell = begin / PTO_OUTPUT_ALIGN; cell <= (end - 1) / PTO_OUTPUT_ALIGN; cell++) cells[cell] = name;
}

const struct pto_observe_buffer *pto_observe_shadow_find(const struct pto_observe_shadow *shadow, uint64_t addr) {
  const uint32_t *cells = shadow->cells_memory.addr;
  const struct pto_observe_buffer *buffers = shadow->buffers_memory.addr;
  if (addr < shadow->lo || addr >= shadow->hi) return NULL;
  const uint32_t name = cells[(addr - shadow->lo) / PTO_OUTPUT_ALIGN];
  return name ? &buffers[name - 1] : NULL;
}
