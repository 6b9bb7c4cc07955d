/* SPDX-License-Identifier: MIT */
/*
 * Cores of one unit that touch the same bytes with nothing to order them.
 *
 * The unit runs again with its cores in two orders of their own: the lowest that can go on first, and the highest, with
 * a change at each call of pto/core.h.  In each run
 *
 *   written   what differs in memory at the end of a stretch (check/observe/core_order.h) was written in it
 *   races     for each stretch, all that stretches of other cores write which neither come before it nor after it
 *
 * Then the same order again: a stretch begins with other values in the bytes of its races, and gets the true ones back
 * when it ends.  A byte that it changes there it writes too; and where the unit's results differ from those of the run
 * before, it reads one.  Which, halving finds.  So what is clean costs five runs, and is never accused: other values
 * where it neither reads nor writes change nothing.
 *
 * A core that polls memory (pto_core_yield) reads what others write by intent.  Its looks that find nothing are left
 * out, it runs as early as it can, and it is given values that others write later instead of noise.
 *
 * Before something is told, the run is traced again by the instruction (check/observe/steps.h): cores may order each
 * other by atomic operations on a word.  A stretch has several parts then, with a race each.
 *
 * What is left in flags and FIFOs at the end is told too, and cores that wait for ever.
 *
 * Owns its copies of what the unit writes, kept from unit to unit.  One thread.
 */
#ifndef PTO_CHECK_OBSERVE_CORES_H
#define PTO_CHECK_OBSERVE_CORES_H

#include <check/observe/core_order.h>
#include <check/observe/state.h>
#include <pto/core.h>

/* Races that are reported of one unit; more of it would say the same. */
#define PTO_CORES_MOST_REPORTED 4u

/* Memory that is copied: a page of the unit, or memory that the kernels of a block share. */
struct pto_cores_copy {
  uint8_t *live; /* NULL: the block is over, or has not asked for it */
  uint64_t base; /* where its bytes are in the copies */
  uint64_t size_bytes;
  uint32_t slot; /* PTO_OBSERVE_NO_SLOT: shared memory, of */
  uint32_t block_index;
  uint64_t key;
};

/* Bytes of the copies that a stretch wrote. */
struct pto_cores_write {
  uint64_t lo, hi;
  uint64_t values; /* where they are */
  uint32_t record;
};

/* Bytes that stretch `of` must not begin to depend on: stretch `by` writes them, in no order with it. */
struct pto_cores_race {
  uint64_t lo, hi, values;
  uint32_t by;
};

struct pto_cores_reported {
  uint32_t cores[2], param; /* UINT32_MAX: shared memory */
};

/* Which values a stretch begins with in bytes that others write: none of theirs, or those of the last or the first of
 * these, for one that looks for a certain value.  Cores that poll get what was written in any case. */
enum pto_cores_values { PTO_CORES_OTHERS, PTO_CORES_LAST_WRITTEN, PTO_CORES_FIRST_WRITTEN, PTO_CORES_VALUES };

struct pto_observe_cores {
  struct pto_observation *o;
  struct pto_core_order order;
  struct pto_core_member *members;
  size_t member_count, member_capacity;
  bool *is_eager; /* by core */
  struct pto_observe_schedule schedule;
  struct pto_cores_copy *copies;
  size_t copy_count, copy_capacity, page_copies;
  uint64_t total_bytes, copy_bytes, compared_bytes;
  uint8_t *now, *end, *applied; /* copies: as it was last seen; as the traced run left it; what was put there */
  uint8_t *values;
  size_t value_count, value_capacity;
  struct pto_cores_write *writes;
  size_t write_count, write_capacity;
  struct pto_cores_race *races;
  size_t race_count, race_capacity;
  size_t *first_race; /* by record, and one more */
  struct pto_cores_reported reported[PTO_CORES_MOST_REPORTED];
  uint32_t reported_count, stuck_count;
  uint32_t spinning; /* the member that ran when a traced run took too long; PTO_CORE_NO_RECORD: none did */
  bool is_too_large, has_begun;
  uint32_t running; /* the stretch; PTO_CORE_NO_RECORD: none */
  /* A run over other values: */
  bool is_trial, has_strayed;
  enum pto_observe_pattern pattern;
  enum pto_cores_values gives;
  size_t next_record, strayed_at;
  uint32_t first, end_record;        /* stretches that get them, */
  struct pto_observe_range selected; /* and bytes of the copies */
  uint32_t overwriting, overwritten_by;
  struct pto_observe_range overwritten; /* bytes that a stretch wrote over them; empty: none */
  /* A trial in which one stretch begins with `count_more` more in a whole number, and what it adds to that: */
  bool is_counting;
  struct pto_observe_range counted;
  uint64_t count_begun, count_more, count_added;
  /* Words that atomic operations change: */
  uint32_t word_records; /* of the traced run */
  bool is_stepping;      /* they are looked for, in a run that is traced; */
  bool are_words_known;  /* they have been, in this order of cores; */
  bool are_words_partly; /* and not in all of it, as that is too long */
  /* Looks of a core that polls, which end in a poll and write nothing: */
  bool takes_looks; /* they count as stretches that may read what they should not; */
  bool is_asking;   /* one begins with values in its races that none wrote: whether it reads them; */
  bool *is_idle;    /* by record: it is one, and reads nothing of what the finding is of */
};

/* What was found of two stretches. */
struct pto_cores_finding {
  uint32_t writer, other; /* stretches */
  struct pto_observe_range bytes;
  bool is_read;   /* by the other one */
  bool is_count;  /* both add to a whole number that the bytes are of, each what it adds to any, */
  uint64_t added; /* which is this; 0: one adds more than the other */
  bool is_turn;   /* `other` touches a sum before its turn; the writer is any block before */
};

/* check/observe/core_findings.c */
void pto_cores_report(struct pto_observe_cores *cores, const struct pto_cores_finding *finding);
void pto_cores_report_left(struct pto_observe_cores *cores, const struct pto_core_left *left);
/* The unit's results are others where its cores run in another order, and no race was found. */
void pto_cores_report_order(struct pto_observe_cores *cores, const struct pto_observe_outcome *outcome);

/* Where a byte of the copies lies. */
static inline const struct pto_cores_copy *pto_cores_copy_at(const struct pto_observe_cores *cores, uint64_t at) {
  size_t lo = 0, hi = cores->copy_count;
  while (hi - lo > 1) {
    const size_t mid = (lo + hi) / 2;
    if (cores->copies[mid].base <= at)
      lo = mid;
    else
      hi = mid;
  }
  return &cores->copies[lo];
}
/* Its address; its copy through *copy. */
static inline uint64_t pto_cores_address(const struct pto_observe_cores *cores, uint64_t at,
                                         const struct pto_cores_copy **copy) {
  *copy = pto_cores_copy_at(cores, at);
  return (uint64_t)(uintptr_t)(*copy)->live + (at - (*copy)->base);
}

#endif
