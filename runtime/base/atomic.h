/* SPDX-License-Identifier: MIT */
/*
 * The atomic operations of the lock-free modules (wait, mailbox), in one place so that the interleaving tests can take
 * them over.
 *
 * A normal build gets C11 atomics on 32-bit words and nothing else.  With PTO_INTERLEAVE defined the same calls go to
 * tests/interleave, which runs every interleaving and every value that the memory model allows a load to return.  The
 * notes on plain accesses are empty in a normal build; under the checker they are what finds data races.
 *
 * With PTO_ANNOTATE defined (make ANNOTATE=1, for `make valgrind TOOL=helgrind`) they also tell helgrind and drd what
 * they hand over: these see a plain store and a plain load in an x86 release and acquire, and a race on the word
 * itself.
 *
 * PTO_MUTANT is 0 in every build that is used.  The interleaving tests set it to show that each order and bound
 * matters.
 */
#ifndef PTO_ATOMIC_H
#define PTO_ATOMIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef PTO_MUTANT
#define PTO_MUTANT 0
#endif
/* `strong`, or `weak` in the mutant of that number. */
#define PTO_ORDER(mutant, strong, weak) (PTO_MUTANT == (mutant) ? (weak) : (strong))

#ifdef PTO_ANNOTATE
#include <runtime/base/valgrind_requests.h>
#endif

/* The word's first value, before any other thread sees it. */
static inline void pto_atomic_init(_Atomic uint32_t *word, uint32_t value) {
  atomic_init(word, value);
#ifdef PTO_ANNOTATE
  pto_valgrind_races_on_purpose((const void *)word, sizeof *word);
#endif
}

#ifdef PTO_INTERLEAVE

uint32_t pto_atomic_load(const _Atomic uint32_t *word, memory_order order);
void pto_atomic_store(_Atomic uint32_t *word, uint32_t value, memory_order order);
uint32_t pto_atomic_exchange(_Atomic uint32_t *word, uint32_t value, memory_order order);
bool pto_atomic_compare_exchange(_Atomic uint32_t *word, uint32_t expected, uint32_t value, memory_order order);
void pto_atomic_note_read(const void *plain);
void pto_atomic_note_write(const void *plain);

#elif defined(PTO_ANNOTATE)

/* Announced before the store, which may be seen at once. */
static inline uint32_t pto_atomic_load(const _Atomic uint32_t *word, memory_order order) {
  uint32_t value = atomic_load_explicit(word, order);
  if (order != memory_order_relaxed) pto_valgrind_happens_after((const void *)word);
  return value;
}
static inline void pto_atomic_store(_Atomic uint32_t *word, uint32_t value, memory_order order) {
  if (order != memory_order_relaxed) pto_valgrind_happens_before((const void *)word);
  atomic_store_explicit(word, value, order);
}
static inline uint32_t pto_atomic_exchange(_Atomic uint32_t *word, uint32_t value, memory_order order) {
  if (order != memory_order_relaxed) pto_valgrind_happens_before((const void *)word);
  uint32_t before = atomic_exchange_explicit(word, value, order);
  if (order != memory_order_relaxed) pto_valgrind_happens_after((const void *)word);
  return before;
}
static inline bool pto_atomic_compare_exchange(_Atomic uint32_t *word, uint32_t expected, uint32_t value,
                                               memory_order order) {
  if (order != memory_order_relaxed) pto_valgrind_happens_before((const void *)word);
  const bool has_swapped = atomic_compare_exchange_strong_explicit(word, &expected, value, order, memory_order_relaxed);
  if (order != memory_order_relaxed) pto_valgrind_happens_after((const void *)word);
  return has_swapped;
}
static inline void pto_atomic_note_read(const void *plain) { (void)plain; }
static inline void pto_atomic_note_write(const void *plain) { (void)plain; }

#else

static inline uint32_t pto_atomic_load(const _Atomic uint32_t *word, memory_order order) {
  return atomic_load_explicit(word, order);
}
static inline void pto_atomic_store(_Atomic uint32_t *word, uint32_t value, memory_order order) {
  atomic_store_explicit(word, value, order);
}
static inline uint32_t pto_atomic_exchange(_Atomic uint32_t *word, uint32_t value, memory_order order) {
  return atomic_exchange_explicit(word, value, order);
}
/* Whether the word held `expected`, and now has `value`; a failure orders nothing. */
static inline bool pto_atomic_compare_exchange(_Atomic uint32_t *word, uint32_t expected, uint32_t value,
                                               memory_order order) {
  return atomic_compare_exchange_strong_explicit(word, &expected, value, order, memory_order_relaxed);
}
static inline void pto_atomic_note_read(const void *plain) { (void)plain; }
static inline void pto_atomic_note_write(const void *plain) { (void)plain; }

#endif
#endif
