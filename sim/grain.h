/* SPDX-License-Identifier: MIT */
/*
 * Grain: how long kernels lately are, and so which of them other threads are given.
 *
 *     fine    shorter than handing one over costs: all stay with the control thread      (port: is_fine_grained)
 *     short   up to some microseconds: the others are given enough to last while the control thread does other things,
 *             and it runs the rest itself, without messages, a few between two looks      (port: away_limit > 0)
 *     long    everything is spread over all threads, by how many each holds, and the control thread takes back from
 *             others what these have not begun when it has nothing left                   (port: away_limit = 0)
 *             From 40 µs on, by the median of its last kernels, others are given all      (port: is_long besides)
 *
 * Judged from kernels of the control thread's own, of which some are timed: over a group their least, and their mean
 * without the longest, which may have met an interrupt.
 * Whether work is fine shows only while it stays, since a kernel that comes to a tile from another CPU waits for it:
 * that is tried where the mean allows it, ever more seldom where it fails.  A long kernel shows at once.  Besides, all
 * stay where waiting for others takes longer than their kernels would have taken here (handover.h).
 *
 * Owns its counts, writes is_fine_grained, away_limit and is_long of the port that it is made for.  Called by the
 * engine's control thread.  Nothing but speed depends on what is judged here.  Times in nanoseconds, without what a
 * reading of time adds to them.
 */
#ifndef PTO_GRAIN_H
#define PTO_GRAIN_H

#include <runtime/port/port.h>
#include <sim/handover.h>

/* Of so many kernels on the control thread, one is timed; groups of so many timed ones decide. */
#define PTO_GRAIN_TIMED 64u
#define PTO_GRAIN_GROUP 8u
/* Of the first ones more, so that there is soon something to judge by. */
#define PTO_GRAIN_FIRST 24u
/* The same while it is tried whether work is fine, so that a trial that fails costs little; and so many before the
 * first, in which tiles come home. */
#define PTO_GRAIN_TRIAL_TIMED 8u
#define PTO_GRAIN_TRIAL_SKIP 128u
/* Work is fine where the least is below the first of these and the mean below the second.  From 40 ns on sharing is as
 * fast or faster (docs/decisions/short-kernels-stay.md). */
#define PTO_GRAIN_FINE_NS 40u
#define PTO_GRAIN_COARSE_NS 300u
/* Work is short where the mean is below this. */
#define PTO_GRAIN_SHORT_NS 4000u
/* A kernel that takes so long is not fine; */
#define PTO_GRAIN_NOT_FINE_NS 2000u
/* and one that takes so long has met no interrupt: it is long. */
#define PTO_GRAIN_LONG_NS 40000u
/* Groups between two trials, at most. */
#define PTO_GRAIN_TRIAL_WAIT 64u
/* What another thread is given while work is short: so much time's worth by the mean, and from so many to so many
 * messages.  It has to last while the control thread submits and runs a few itself. */
#define PTO_GRAIN_AWAY_NS 6400u
#define PTO_GRAIN_LEAST_AWAY 2u
#define PTO_GRAIN_MOST_AWAY 64u
struct pto_grain {
  struct pto_port *port;
  uint32_t until_timed;                                              /* kernels, the next timed one counted */
  uint32_t own_count;                                                /* timed so far, up to PTO_GRAIN_FIRST */
  uint32_t timed_count, timed_sum_ns, timed_least_ns, timed_most_ns; /* of the group at hand */
  bool was_long;                                                     /* the last one was */
  bool judges_nothing;                                               /* a test decides */
  bool is_trial;                                                     /* is_fine_grained is set only to find out */
  uint32_t trial_wait, trial_groups; /* groups until the next trial, and since the last */
  struct pto_handover handover;
};

void pto_grain_init(struct pto_grain *grain, struct pto_port *port);
/* A run begins as the last one ended: a program that goes round often need not find out each time.  Kernels that have
 * become long are noticed as within a run. */
void pto_grain_begin_run(struct pto_grain *grain);

/* Whether the control thread's next kernel is to be timed; to be asked before each. */
static inline bool pto_grain_is_due(struct pto_grain *grain) { return --grain->until_timed == 0; }
/* That one took so long.  `now_ns`: the clock, where is_keeping of the handover; else any. */
void pto_grain_note_timed(struct pto_grain *grain, uint64_t took_ns, uint64_t now_ns);
/* Some kernel took that long, which was noticed on the way: PTO_GRAIN_NOT_FINE_NS or more, or in the
 * mean of a row. */
void pto_grain_note_long(struct pto_grain *grain, uint64_t took_ns, uint64_t now_ns);
/* One did not. */
static inline void pto_grain_note_not_long(struct pto_grain *grain) { grain->was_long = false; }
/* The control thread has waited for others, until now. */
void pto_grain_note_wait(struct pto_grain *grain, uint64_t waited_ns, uint64_t now_ns);

/* Kernels that the control thread runs between two looks at others, while work is short: a quarter of what these hold.
 */
static inline uint32_t pto_grain_row(const struct pto_port *port) {
  return port->away_limit < 8 ? 1 : port->away_limit / 4;
}

#endif
