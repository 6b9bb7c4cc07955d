/* SPDX-License-Identifier: MIT */
/*
 * Tells the tools that watch memory about memory that the runtime hands out itself: AddressSanitizer, where it is
 * compiled in, and valgrind's memcheck, where the process runs under it.
 *
 * A byte is free, fresh (allocated and not written yet) or written.  An access to a free byte is reported, at
 * the line that does it.  A fresh byte may be written, and reading it is reported: AddressSanitizer knows no such
 * state, so for it fresh bytes are closed until pto_memory_mark_written says that a writer begins; memcheck sees the
 * writes itself and reports what depends on a fresh byte, or the read itself where the byte is hidden.
 *
 * Hiding closes bytes for a while, to be shown again as they were: what a kernel must not touch while it runs.  The
 * list of what is hidden is the caller's; each is shown by who hid it.
 *
 * Owns nothing.  Any thread; calls about the same bytes are ordered by the callers.  Without a checker nothing happens,
 * and callers ask pto_memory_is_checked once, when they set up.  The one user of sanitizer/asan_interface.h.
 */
#ifndef PTO_MEMORY_CHECKER_H
#define PTO_MEMORY_CHECKER_H

#include <runtime/base/base.h>

/* Whether anything listens in this process. */
bool pto_memory_is_checked(void);

/* AddressSanitizer keeps account of 8 bytes at a time, of which the first few may be open: `addr` of a free, fresh or
 * forgotten range is a multiple of 8. */
void pto_memory_mark_free(void *addr, uint64_t size_bytes);
void pto_memory_mark_fresh(void *addr, uint64_t size_bytes);
/* A thread begins to write them; ranges of several threads may lie next to each other within 8 bytes. */
void pto_memory_mark_written(void *addr, uint64_t size_bytes);
/* A large range is free as a whole, before anything else is said of it.  For memcheck; AddressSanitizer would write an
 * eighth of its size, so there it stays open except where something is marked. */
void pto_memory_mark_reserved(void *addr, uint64_t size_bytes);
/* Before memory that was marked is given back to the system. */
void pto_memory_forget(void *addr, uint64_t size_bytes);

/* What of a range was hidden, and what it was before: a byte a byte for memcheck, a byte a granule for
 * AddressSanitizer. */
#define PTO_HIDDEN_PIECE_BYTES 64u
struct pto_hidden_piece {
  char *addr;
  uint64_t size_bytes;
  bool is_fresh; /* as long as it is, all fresh: `before` says nothing */
  uint8_t before[PTO_HIDDEN_PIECE_BYTES];
};
struct pto_hidden_list {
  struct pto_hidden_piece *pieces; /* the caller's */
  uint32_t count, capacity;
};

/* Hides what of [addr, addr + size_bytes) is open; pieces that the list has no room for stay open. */
void pto_memory_hide(struct pto_hidden_list *list, void *addr, uint64_t size_bytes);
/* The same of its fresh bytes alone.  For memcheck; to AddressSanitizer they are closed already. */
void pto_memory_hide_fresh(struct pto_hidden_list *list, void *addr, uint64_t size_bytes);
/* Shows all of the list, last hidden first, and empties it. */
void pto_memory_show(struct pto_hidden_list *list);

#endif
