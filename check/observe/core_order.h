/* SPDX-License-Identifier: MIT */
/*
 * What is ordered between the cores of one unit: vector clocks over the calls of pto/core.h that one run of it made.
 *
 * A record is an event of sim/rendezvous/core_watch.h, and the stretch of its core that begins there: all that the core
 * does until its next record.  Stretch a is before stretch b where a has ended when b begins in every order of cores in
 * which each makes the same calls:
 *
 *   flag      a wait is after a signal without which it would have too few; where one core alone signals the flag, that
 *             is the signal of the same number
 *   FIFO      a pop is after its element's push; a push after the pops without which it has no room
 *   barrier   who has passed it is after what all did before they came to it
 *   turn      after what those did that have returned before it
 *   word      an operation on a word of memory that atomic operations change is after those on it before, in this run,
 * but for loads: an atomic operation is taken to acquire and to release, a load to acquire, a store to release poll a
 * core that ever polls is after all that ran before it in this run: what its looks at memory say is not known, so an
 * order is believed to be meant
 *
 * An operation on a word has two records, and between them the operation alone.
 *
 * Always true: records of a core have epochs 1, 2, … in order; clocks[r · core_count + c] is the last epoch of core c
 * that is over before stretch r; solve leaves what is before the same whatever order the records of different cores
 * were made in, but for polls and words.
 *
 * Owns the records and the clocks until fini.  One thread.
 */
#ifndef PTO_CHECK_OBSERVE_CORE_ORDER_H
#define PTO_CHECK_OBSERVE_CORE_ORDER_H

#include <check/observe/steps.h>
#include <sim/rendezvous/core_watch.h>

#define PTO_CORE_NO_RECORD UINT32_MAX

/* Kinds of records besides those of enum pto_core_event_kind: an operation on a word is about to be done, and is done.
 */
enum { PTO_CORE_REACHES_WORD = 64, PTO_CORE_LEAVES_WORD };
static inline bool pto_core_is_of_word(uint8_t kind) {
  return kind == PTO_CORE_REACHES_WORD || kind == PTO_CORE_LEAVES_WORD;
}

struct pto_core_record {
  uint8_t kind;           /* enum pto_core_event_kind, or of a word */
  uint8_t subject, roles; /* of a word the first is an enum pto_step_kind */
  uint16_t core;          /* its number in the unit */
  uint32_t block_index, epoch;
  uint32_t previous; /* record of the core; NO_RECORD: none */
  uint32_t partner;  /* of a pop its push, of room the pop that made it, of a barrier how many the core came to before,
                      * of  a word the operation on it before */
  uint64_t size_bytes;
  uint64_t word; /* which */
  const void *call;
};

/* A core of the unit, as the caller fills it. */
struct pto_core_member {
  uint16_t core;
  uint8_t role;
  bool waits, takes_turns; /* as its kernel declares */
  bool polls;              /* has polled, in this run or another */
  bool has_returned;       /* in this run */
  uint32_t block_index;
  uint32_t last;      /* record */
  uint64_t calls_key; /* of what it has called in a run, but for polls */
};

struct pto_core_order {
  struct pto_core_member *members; /* borrowed */
  uint32_t member_count;
  struct pto_core_record *records;
  size_t count, capacity;
  uint32_t *clocks;
  bool is_short; /* of memory */
};

/* No record is there; the members are borrowed until the next reset or fini. */
void pto_core_order_reset(struct pto_core_order *order, struct pto_core_member *members, uint32_t member_count);
/* Takes zeroed structs too. */
void pto_core_order_fini(struct pto_core_order *order);
/* The number of the record; NO_RECORD where there is no memory, or the event is no member's. */
uint32_t pto_core_order_add(struct pto_core_order *order, const struct pto_core_event *event);
/* After the run.  False where there is no memory. */
PTO_MUST_CHECK bool pto_core_order_solve(struct pto_core_order *order);
/* Whether stretch a is over before stretch b begins.  After solve. */
bool pto_core_order_is_before(const struct pto_core_order *order, uint32_t a, uint32_t b);

/* What a record TOOK or POPPED took: the element's push, or the signal of the same number where one core alone signals
 * the flag; the number, from 1, through *number.  NO_RECORD where that is not known.  After solve. */
uint32_t pto_core_order_giver(const struct pto_core_order *order, uint32_t taken, uint32_t *number);

/* Signals of a flag, or elements of a FIFO, that were left when the run was over. */
struct pto_core_left {
  uint32_t count, last; /* the last record that sent one; */
  uint16_t to;          /* whom: its number in the unit */
  bool is_element;
  uint8_t subject; /* the flag */
};
/* The next from *at on, which begins with 0; false where there is none. */
bool pto_core_order_next_left(const struct pto_core_order *order, uint32_t *at, struct pto_core_left *left);
/* The lowest flag of member `to` that no core signals; PTO_CORE_FLAGS where there is none. */
uint32_t pto_core_order_free_flag(const struct pto_core_order *order, uint32_t to);

#endif
