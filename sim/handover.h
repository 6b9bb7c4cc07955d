/* SPDX-License-Identifier: MIT */
/*
 * Whether handing kernels to other threads pays: the control thread's account of what it waited for them.
 *
 * Had it run them itself, it would have taken sent × (what a kernel takes) longer, and waited not at all.  So over a
 * group of kernels that were sent away,
 *
 *     waited > sent × median of what its own kernels took lately   means that sending them was a loss.
 *
 * That is so of a chain of short kernels, and of any short ones where a worker does not get its CPU: a hand-over then
 * takes as long as other jobs are let run.  After a loss kernels are kept for so many times what was waited, which
 * doubles with each loss in a row: finding out again takes a small part of the time.
 *
 * Owned by an engine, called by its control thread.  Times in nanoseconds; a wrong one costs speed alone.
 */
#ifndef PTO_HANDOVER_H
#define PTO_HANDOVER_H

#include <runtime/base/base.h>

#define PTO_HANDOVER_OWN 8u             /* own kernels whose median is taken; so few follow a change of phase */
#define PTO_HANDOVER_GROUP 32u          /* kernels sent, or */
#define PTO_HANDOVER_WAITED_NS 1000000u /* time waited, that is a group */
/* Kernels are kept for so many times what was waited: at first, and at most.  Finding out takes 1/9 of the time, or
 * 1/257.  Chosen for these shares; other values have not been measured. */
#define PTO_HANDOVER_KEEP 8u
#define PTO_HANDOVER_MOST_KEEP 256u

struct pto_handover {
  uint64_t own_ns[PTO_HANDOVER_OWN]; /* the last ones, by own_count modulo their number */
  uint64_t own_count;
  uint64_t sent, waited_ns; /* of the group at hand */
  uint64_t keep;            /* times what is waited, after the next loss */
  uint64_t kept_until_ns;   /* 0: nothing is kept */
};

void pto_handover_init(struct pto_handover *handover);
/* A kernel of the control thread's own has taken so long. */
void pto_handover_note_own(struct pto_handover *handover, uint64_t took_ns);
/* What most of its last kernels took: their median, the lower one of two; 0 where there was none. */
uint64_t pto_handover_own_ns(const struct pto_handover *handover);
/* It has waited for others, until now.  True where kernels had best be kept from here on. */
bool pto_handover_note_wait(struct pto_handover *handover, uint64_t waited_ns, uint64_t now_ns);
/* Kernels are kept no longer: they are long, or it is time to find out again. */
void pto_handover_release(struct pto_handover *handover);

static inline bool pto_handover_is_keeping(const struct pto_handover *handover) { return handover->kept_until_ns != 0; }
/* Whether it is time to find out again. */
static inline bool pto_handover_is_over(const struct pto_handover *handover, uint64_t now_ns) {
  return handover->kept_until_ns && now_ns >= handover->kept_until_ns;
}

#endif
