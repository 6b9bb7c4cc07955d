/* SPDX-License-Identifier: MIT */
#include <runtime/base/memory_checker.h>

#include <runtime/base/sanitizer.h>
#include <runtime/base/valgrind_requests.h>

static struct pto_hidden_piece *next_piece(struct pto_hidden_list *list, char *addr, uint64_t size_bytes) {
  if (list->count == list->capacity) return NULL;
  struct pto_hidden_piece *piece = &list->pieces[list->count++];
  piece->addr = addr;
  piece->size_bytes = size_bytes;
  piece->is_fresh = false;
  return piece;
}

#if PTO_HAS_ASAN
#include <pthread.h>
#include <sanitizer/asan_interface.h>

#define GRANULE 8u

bool pto_memory_is_checked(void) { return true; }
void pto_memory_mark_reserved(void *addr, uint64_t size_bytes) {}
void pto_memory_mark_free(void *addr, uint64_t size_bytes) { ASAN_POISON_MEMORY_REGION(addr, size_bytes); }
void pto_memory_mark_fresh(void *addr, uint64_t size_bytes) { ASAN_POISON_MEMORY_REGION(addr, size_bytes); }
void pto_memory_forget(void *addr, uint64_t size_bytes) { ASAN_UNPOISON_MEMORY_REGION(addr, size_bytes); }

/* Two writers may have a half each of one granule, whose state is read and then written: one at a time. */
void pto_memory_mark_written(void *addr, uint64_t size_bytes) {
  static pthread_mutex_t shared_granules = PTHREAD_MUTEX_INITIALIZER;
  const bool is_whole = ((uintptr_t)addr | size_bytes) % GRANULE == 0;
  if (!is_whole) pthread_mutex_lock(&shared_granules);
  ASAN_UNPOISON_MEMORY_REGION(addr, size_bytes);
  if (!is_whole) pthread_mutex_unlock(&shared_granules);
}

/* How many bytes from a granule's first on are open. */
static uint32_t open_bytes(const char *granule) {
  for (uint32_t i = 0; i < GRANULE; i++)
    if (__asan_address_is_poisoned(granule + i)) return i;
  return GRANULE;
}

/* Whole granules but for the first, whose beginning may belong to another range. */
void pto_memory_hide(struct pto_hidden_list *list, void *addr, uint64_t size_bytes) {
  char *end = (char *)addr + size_bytes;
  for (char *at = addr; at < end;) {
    char *granule = (char *)((uintptr_t)at & ~(uintptr_t)(GRANULE - 1));
    uint32_t open = open_bytes(granule);
    bool reaches_end = granule + open <= end; /* else open bytes behind `end` keep it open */
    if (granule + open > at && reaches_end) {
      struct pto_hidden_piece *piece = next_piece(list, granule, GRANULE);
      if (!piece) return;
      piece->before[0] = (uint8_t)open;
      ASAN_POISON_MEMORY_REGION(at, (size_t)(granule + GRANULE - at));
    }
    at = granule + GRANULE;
  }
}

void pto_memory_hide_fresh(struct pto_hidden_list *list, void *addr, uint64_t size_bytes) {}

static void show_piece(const struct pto_hidden_piece *piece) {
  ASAN_UNPOISON_MEMORY_REGION(piece->addr, piece->before[0]);
}

#else

bool pto_memory_is_checked(void) { return pto_is_under_memcheck(); }
void pto_memory_mark_reserved(void *addr, uint64_t size_bytes) { pto_memcheck_no_access(addr, size_bytes); }
void pto_memory_mark_free(void *addr, uint64_t size_bytes) { pto_memcheck_no_access(addr, size_bytes); }
void pto_memory_mark_fresh(void *addr, uint64_t size_bytes) { pto_memcheck_undefined(addr, size_bytes); }
void pto_memory_mark_written(void *addr, uint64_t size_bytes) {}
void pto_memory_forget(void *addr, uint64_t size_bytes) {} /* unmapping tells it */

void pto_memory_hide(struct pto_hidden_list *list, void *addr, uint64_t size_bytes) {
  uint8_t bits[PTO_HIDDEN_PIECE_BYTES];
  for (char *at = addr, *end = at + size_bytes; at < end;) {
    uint64_t size = pto_min_u64((uint64_t)(end - at), sizeof bits);
    if (!pto_memcheck_get_bits(at, bits, size)) {
      /* a closed byte among them: one at a time */
      size = 1;
      if (!pto_memcheck_get_bits(at, bits, 1)) {
        at++;
        continue;
      }
    }
    struct pto_hidden_piece *piece = next_piece(list, at, size);
    if (!piece) return;
    for (uint64_t i = 0; i < size; i++) piece->before[i] = bits[i];
    pto_memcheck_no_access(at, size);
    at += size;
  }
}

/* How many bytes from `at` on are fresh, or, with `is_fresh` false, are not; within what one look shows. */
static uint64_t stretch(const char *at, uint64_t size_bytes, bool *is_fresh) {
  uint8_t bits[256];
  uint64_t size = pto_min_u64(size_bytes, sizeof bits), count = 1;
  if (!pto_memcheck_get_bits(at, bits, size)) {
    *is_fresh = false;
    return size;
  }
  *is_fresh = bits[0] == 0xff;
  while (count < size && (bits[count] == 0xff) == *is_fresh) count++;
  return count;
}

void pto_memory_hide_fresh(struct pto_hidden_list *list, void *addr, uint64_t size_bytes) {
  char *at = addr, *end = at + size_bytes;
  while (at < end) {
    const char *first = pto_memcheck_first_undefined(at, (uint64_t)(end - at));
    if (!first) return;
    at += first - at;
    bool is_fresh;
    uint64_t size = stretch(at, (uint64_t)(end - at), &is_fresh);
    if (is_fresh) {
      struct pto_hidden_piece *last = list->count ? &list->pieces[list->count - 1] : NULL;
      if (last && last->is_fresh && last->addr + last->size_bytes == at) {
        last->size_bytes += size;
      } else {
        last = next_piece(list, at, size);
        if (!last) return;
        last->is_fresh = true;
      }
      pto_memcheck_no_access(at, size);
    }
    at += size;
  }
}

static void show_piece(const struct pto_hidden_piece *piece) {
  if (piece->is_fresh)
    pto_memcheck_undefined(piece->addr, piece->size_bytes);
  else
    pto_memcheck_set_bits(piece->addr, piece->before, piece->size_bytes);
}

#endif

void pto_memory_show(struct pto_hidden_list *list) {
  while (list->count) show_piece(&list->pieces[--list->count]);
}
