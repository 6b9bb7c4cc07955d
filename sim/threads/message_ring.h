/* SPDX-License-Identifier: MIT */
/*
 * A message ring: from one thread that pushes to any that take, the oldest first.  Lock-free.
 *
 * Owns its counters; the words are memory of the caller's, borrowed until the ring is no longer used.
 *
 * Always true, all counters free-running and compared by difference:
 *
 *     0 ≤ tail − head ≤ written − head ≤ capacity,   capacity a power of two, message i in slot i mod capacity
 *
 * where head = taken, tail = published, written = pushed.  Takers see messages below tail only.
 *
 * A taker copies messages first and claims them afterwards, by one compare-and-swap of head: it has them where head
 * still is what it was, and else drops its copies.  The pusher writes into a slot only after it has seen head go past
 * it; so a copy that was overwritten is always dropped.  Since it may be read while it is written, a message lies here
 * as relaxed atomic words.
 *
 * Threads: one pushes and publishes; any take, the pusher too.  Fields are grouped by writer, a cache line a group.
 *
 * Interleavings are explored by tests/interleave/interleave_test.c; PTO_MUTANT 31 … 37 are orders and bounds
 * weakened, each found there.  It does not show A1 and the release of R1 weakened: loads of stores yet to come are not
 * modelled there.
 */
#ifndef PTO_SIM_THREADS_MESSAGE_RING_H
#define PTO_SIM_THREADS_MESSAGE_RING_H

#include <runtime/base/atomic.h>
#include <runtime/base/base.h>

struct pto_message_ring {
  /* Constant after init; all read. */
  _Alignas(PTO_CACHE_LINE) _Atomic uint32_t *words;
  uint32_t capacity;      /* messages */
  uint32_t message_words; /* of 32 bits */

  /* Pusher alone. */
  _Alignas(PTO_CACHE_LINE) uint32_t written;
  uint32_t cached_head; /* ≤ head */

  /* Pusher → takers: the right to read the messages below it. */
  _Alignas(PTO_CACHE_LINE) _Atomic uint32_t tail;

  /* Takers ⇄ takers: who takes the message; takers → pusher: the right to overwrite the slots below it. */
  _Alignas(PTO_CACHE_LINE) _Atomic uint32_t head;
};

/* Before any thread uses it.  `start` is the first value of the counters: 0, or in tests just below the wrap. */
static inline void pto_message_ring_init(struct pto_message_ring *ring, _Atomic uint32_t *words, uint32_t capacity,
                                         uint32_t message_words, uint32_t start) {
  ring->words = words;
  ring->capacity = capacity;
  ring->message_words = message_words;
  ring->written = ring->cached_head = start;
  pto_atomic_init(&ring->tail, start);
  pto_atomic_init(&ring->head, start);
}

/* While no thread is in a call. */
static inline bool pto_message_ring_is_empty(const struct pto_message_ring *ring) {
  /* Relaxed: the caller has seen the completion of every message. */
  return ring->written == pto_atomic_load(&ring->tail, memory_order_relaxed) &&
         ring->written == pto_atomic_load(&ring->head, memory_order_relaxed);
}

/* ---- the pusher ---- */

static inline _Atomic uint32_t *pto_message_ring_slot(const struct pto_message_ring *ring, uint32_t index) {
  return ring->words + (size_t)(index & (ring->capacity - 1)) * ring->message_words;
}
/* Whether `many` messages or more are pushed and not taken; many ≤ capacity. */
static inline bool pto_message_ring_has_many(struct pto_message_ring *ring, uint32_t many) {
  if (PTO_LIKELY(ring->written - ring->cached_head < many)) return false;
  /* A1: pairs with R1 of take.  The takers' reads of the slots come before our writes to them. */
  ring->cached_head = pto_atomic_load(&ring->head, memory_order_acquire);
  return ring->written - ring->cached_head >= many + (PTO_MUTANT == 31);
}
/* Whether a message that was pushed when `written` was `end` − 1 has been taken. */
static inline bool pto_message_ring_is_taken(struct pto_message_ring *ring, uint32_t end) {
  ring->cached_head = pto_atomic_load(&ring->head, memory_order_acquire); /* as A1 */
  return (int32_t)(ring->cached_head - end) >= 0;
}
/* Only after has_many was false for some number of messages. */
static inline void pto_message_ring_push(struct pto_message_ring *ring, const void *message) {
  _Atomic uint32_t *slot = pto_message_ring_slot(ring, ring->written);
  const uint32_t *words = message;
  PTO_INTERNAL(ring->written - ring->cached_head < ring->capacity + (PTO_MUTANT == 31));
  /* Relaxed: tail hands the words over, and a taker that reads them early drops them. */
  for (uint32_t i = 0; i < ring->message_words; i++) pto_atomic_store(&slot[i], words[i], memory_order_relaxed);
  ring->written++;
}
/* Takes the newest message back, which is not published: no taker sees it. */
static inline void pto_message_ring_pop(struct pto_message_ring *ring, void *message) {
  PTO_INTERNAL(ring->written != pto_atomic_load(&ring->tail, memory_order_relaxed)); /* relaxed: the pusher's own */
  const _Atomic uint32_t *slot = pto_message_ring_slot(ring, --ring->written);
  uint32_t *to = message;
  for (uint32_t i = 0; i < ring->message_words; i++) to[i] = pto_atomic_load(&slot[i], memory_order_relaxed); /* own */
}
static inline uint32_t pto_message_ring_unpublished(const struct pto_message_ring *ring) {
  /* Relaxed: the pusher's own store. */
  return ring->written - pto_atomic_load(&ring->tail, memory_order_relaxed);
}
/* R2: pairs with A2 of take; N1 of wait.h: to be followed by pto_wait_notify of each taker that may be asleep. */
static inline void pto_message_ring_publish(struct pto_message_ring *ring) {
  pto_atomic_store(&ring->tail, ring->written,
                   PTO_ORDER(32, PTO_ORDER(33, memory_order_seq_cst, memory_order_release), memory_order_relaxed));
}

/* ---- takers ---- */

/* For the is_ready of a pto_wait: W2 of wait.h.  Head may be older than it is, and then the taker finds nothing. */
static inline bool pto_message_ring_has_message(const struct pto_message_ring *ring) {
  const uint32_t tail = pto_atomic_load(&ring->tail, PTO_ORDER(34, memory_order_seq_cst, memory_order_acquire));
  return tail != pto_atomic_load(&ring->head, memory_order_relaxed);
}
/* Takes a `share`th of what is there, rounded up, and at most `max` messages; returns how many. */
static inline uint32_t pto_message_ring_take(struct pto_message_ring *ring, void *messages, uint32_t max,
                                             uint32_t share) {
  for (;;) {
    /* A3: pairs with R1 of another taker, so that tail is not older than head. */
    const uint32_t head = pto_atomic_load(&ring->head, PTO_ORDER(35, memory_order_acquire, memory_order_relaxed));
    /* A2: pairs with R2 of publish. */
    const uint32_t tail = pto_atomic_load(&ring->tail, PTO_ORDER(36, memory_order_acquire, memory_order_relaxed));
    const uint32_t there = (tail - head + share - 1) / share, count = there < max ? there : max;
    if (count == 0) return 0;
    uint32_t *to = messages;
    for (uint32_t i = 0; i < count; i++) {
      const _Atomic uint32_t *slot = pto_message_ring_slot(ring, head + i);
      /* Relaxed: A2 has handed them over, and the swap tells whether they still count. */
      for (uint32_t k = 0; k < ring->message_words; k++) *to++ = pto_atomic_load(&slot[k], memory_order_relaxed);
    }
    /* R1: pairs with A1 and A3. */
    if (pto_atomic_compare_exchange(&ring->head, head, head + count, memory_order_acq_rel)) return count;
    if (PTO_MUTANT == 37) return count;
  }
}

#endif
