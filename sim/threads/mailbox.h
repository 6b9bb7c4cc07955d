/* SPDX-License-Identifier: MIT */
/*
 * A mailbox: a ring of fixed-size elements from one producer thread to one consumer thread, lock-free.
 *
 * Owns its counters; the slots are memory of the caller's, handed over at init and borrowed until the mailbox is no
 * longer used.
 *
 * Always true, all counters free-running and compared by difference:
 *
 *     0 ≤ tail − head ≤ written − head ≤ capacity,   capacity a power of two, element i in slot i mod capacity
 *
 * where head = taken out, tail = published, written = filled in by the producer; the consumer sees elements below tail
 * only.
 *
 * The producer claims slots, fills them in, and publishes all of them with one store: consumers pay for a cache line
 * that moves once a batch instead of once an element.  Each side keeps a copy of the other's counter and looks at the
 * original only where the copy says full or empty.  Fields are grouped by writer, a cache line a group, and what one
 * side alone uses is kept off the lines that the other one polls.
 *
 * Elements are the caller's types: pto_message_mailbox_* and pto_completion_mailbox_* at the end are the two that
 * exist; another one is five more lines.
 *
 * Interleavings are explored by tests/interleave/interleave_test.c; PTO_MUTANT 1 … 9 are the orders and bounds
 * weakened, each found there.
 */
#ifndef PTO_SIM_THREADS_MAILBOX_H
#define PTO_SIM_THREADS_MAILBOX_H

#include <runtime/base/atomic.h>
#include <runtime/base/base.h>
#include <runtime/port/port.h>

struct pto_mailbox {
  /* Constant after init; both sides read. */
  _Alignas(PTO_CACHE_LINE) char *slots;
  uint32_t capacity;
  uint32_t element_bytes;

  /* Producer alone. */
  _Alignas(PTO_CACHE_LINE) uint32_t written;
  uint32_t cached_head; /* ≤ head */

  /* Producer → consumer: the right to read the elements below it, and their bytes. */
  _Alignas(PTO_CACHE_LINE) _Atomic uint32_t tail;

  /* Consumer alone. */
  _Alignas(PTO_CACHE_LINE) uint32_t taken; /* = head, without an atomic load */
  uint32_t cached_tail;                    /* ≤ tail */

  /* Consumer → producer: the right to overwrite the slots below it. */
  _Alignas(PTO_CACHE_LINE) _Atomic uint32_t head;
};
_Static_assert(offsetof(struct pto_mailbox, written) == 1 * PTO_CACHE_LINE, "producer's own line");
_Static_assert(offsetof(struct pto_mailbox, tail) == 2 * PTO_CACHE_LINE, "the line the consumer polls");
_Static_assert(offsetof(struct pto_mailbox, taken) == 3 * PTO_CACHE_LINE, "consumer's own line");
_Static_assert(offsetof(struct pto_mailbox, head) == 4 * PTO_CACHE_LINE, "the line the producer reads when full");
_Static_assert(sizeof(struct pto_mailbox) == 5 * PTO_CACHE_LINE, "nothing shares them");

/* Before either thread uses it.  `slots`: capacity · element_bytes bytes.  `start` is the first value of the counters:
 * 0, or in tests just below the wrap. */
void pto_mailbox_init(struct pto_mailbox *mailbox, void *slots, uint32_t capacity, uint32_t element_bytes,
                      uint32_t start);
/* Every invariant of the header; while neither thread is in a call. */
bool pto_mailbox_is_valid(const struct pto_mailbox *mailbox);

/* ---- producer ---- */

/* The slot for the next element, which is the caller's to fill before its next call here; NULL while the ring is full.
 */
static inline void *pto_mailbox_claim(struct pto_mailbox *mailbox, uint32_t element_bytes) {
  const uint32_t capacity = mailbox->capacity;
  PTO_INTERNAL(element_bytes == mailbox->element_bytes);
  if (PTO_UNLIKELY(mailbox->written - mailbox->cached_head >= capacity + (PTO_MUTANT == 1))) {
    /* A1: pairs with R1 of pop.  The consumer's reads of the slot come before our writes to it. */
    mailbox->cached_head = pto_atomic_load(&mailbox->head, PTO_ORDER(2, memory_order_acquire, memory_order_relaxed));
    if (mailbox->written - mailbox->cached_head >= capacity + (PTO_MUTANT == 3)) return NULL;
  }
  void *slot = mailbox->slots + (size_t)(mailbox->written & (capacity - 1)) * element_bytes;
  mailbox->written++;
  return slot;
}
static inline bool pto_mailbox_has_unpublished(const struct pto_mailbox *mailbox) {
  /* Relaxed: the producer's own store. */
  return mailbox->written != pto_atomic_load(&mailbox->tail, memory_order_relaxed);
}
/* Hands every filled slot to the consumer, once it looks. */
static inline void pto_mailbox_publish(struct pto_mailbox *mailbox) {
  /* R2: pairs with A2 of peek. */
  pto_atomic_store(&mailbox->tail, mailbox->written + (PTO_MUTANT == 4),
                   PTO_ORDER(5, memory_order_release, memory_order_relaxed));
}
/* The same for a consumer that may be asleep: to be followed by pto_wait_notify.  seq_cst: this is N1 of wait.h. */
static inline void pto_mailbox_publish_to_sleeper(struct pto_mailbox *mailbox) {
  pto_atomic_store(&mailbox->tail, mailbox->written, PTO_ORDER(26, memory_order_seq_cst, memory_order_release));
}

/* Whether every element so far has been taken out: pairs with R1 of pop, so all that the consumer read is read. */
static inline bool pto_mailbox_is_taken(const struct pto_mailbox *mailbox) {
  return pto_atomic_load(&mailbox->head, memory_order_acquire) == mailbox->written;
}

/* ---- consumer ---- */

/* The oldest element, borrowed until the pop; NULL where there is none. */
static inline const void *pto_mailbox_peek(struct pto_mailbox *mailbox, uint32_t element_bytes) {
  PTO_INTERNAL(element_bytes == mailbox->element_bytes);
  if (mailbox->taken == mailbox->cached_tail) {
    /* A2: pairs with R2 of publish. */
    mailbox->cached_tail = pto_atomic_load(&mailbox->tail, PTO_ORDER(6, memory_order_acquire, memory_order_relaxed));
    if (mailbox->taken == mailbox->cached_tail + (PTO_MUTANT == 7)) return NULL;
  }
  return mailbox->slots + (size_t)(mailbox->taken & (mailbox->capacity - 1)) * element_bytes;
}
/* The element behind the one peeked, where it is known to be there; for looking ahead. */
static inline const void *pto_mailbox_peek_next(const struct pto_mailbox *mailbox, uint32_t element_bytes) {
  if (mailbox->taken + 1 == mailbox->cached_tail) return NULL;
  return mailbox->slots + (size_t)((mailbox->taken + 1) & (mailbox->capacity - 1)) * element_bytes;
}
/* Gives the peeked element's slot back. */
static inline void pto_mailbox_pop(struct pto_mailbox *mailbox) {
  mailbox->taken++;
  /* R1: pairs with A1 of claim. */
  pto_atomic_store(&mailbox->head, mailbox->taken + (PTO_MUTANT == 8),
                   PTO_ORDER(9, memory_order_release, memory_order_relaxed));
}
/* For the is_ready of a pto_wait: W2 of wait.h. */
static inline bool pto_mailbox_has_element(const struct pto_mailbox *mailbox) {
  return pto_atomic_load(&mailbox->tail, PTO_ORDER(27, memory_order_seq_cst, memory_order_acquire)) != mailbox->taken;
}

/* ---- the two element types ---- */

/* control → worker */
static inline struct pto_message *pto_message_mailbox_claim(struct pto_mailbox *mailbox) {
  return pto_mailbox_claim(mailbox, sizeof(struct pto_message));
}
static inline const struct pto_message *pto_message_mailbox_peek(struct pto_mailbox *mailbox) {
  return pto_mailbox_peek(mailbox, sizeof(struct pto_message));
}
/* worker → control */
static inline struct pto_completion *pto_completion_mailbox_claim(struct pto_mailbox *mailbox) {
  return pto_mailbox_claim(mailbox, sizeof(struct pto_completion));
}
static inline const struct pto_completion *pto_completion_mailbox_peek(struct pto_mailbox *mailbox) {
  return pto_mailbox_peek(mailbox, sizeof(struct pto_completion));
}

#endif
