/* SPDX-License-Identifier: MIT */
/*
 * What kernels of a rank did to windows and signals, and what it heard of others: kept for who judges a run
 * (check/ranks), where the world was told to before it ran.
 *
 * Always true: events of a rank stand in the order in which they happened there; a put or a get stands where it was
 * called.  HEARD names its NOTIFY by the rank and the place among that one's events, so two logs tell what came before
 * what.
 *
 * The thread of the rank's part.  Owned by the rank.
 */
#ifndef PTO_WORLD_EVENTS_H
#define PTO_WORLD_EVENTS_H

#include <pto/core.h>
#include <runtime/base/base.h>

enum pto_rank_event_kind {
  PTO_RANK_READS,    /* bytes of a window: a get of a peer's, the own side of a put */
  PTO_RANK_WRITES,   /* bytes of a window: a put to a peer's, the own side of a get */
  PTO_RANK_NOTIFIES, /* a signal */
  PTO_RANK_HEARS,    /* a notify has come */
  PTO_RANK_WAITED,   /* for a signal, and it was so */
  PTO_RANK_TESTED,   /* a signal */
  PTO_RANK_CREATED   /* a communicator: all of its ranks have come */
};

struct pto_rank_event {
  uint8_t kind;  /* enum pto_rank_event_kind */
  bool is_set;   /* NOTIFIES, HEARS: not added */
  bool is_equal; /* WAITED: PTO_IF_EQ */
  uint32_t peer; /* rank: whose window or signal it is; HEARS: who notified */
  uint32_t signal;
  int32_t value;   /* of the notify, that was waited for, that was found */
  uint64_t comm;   /* its uid */
  uint64_t task;   /* number in its run; CREATED: tasks that were submitted before; HEARS: the place of the NOTIFY */
  uint64_t at;     /* world's time */
  uint64_t layout; /* READS, WRITES: place among the layouts, its address counted from the window's begin */
};

#endif
