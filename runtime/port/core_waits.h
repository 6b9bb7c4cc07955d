/* SPDX-License-Identifier: MIT */
/*
 * Cores that wait for each other at one moment, as data: what an engine tells of them, and the sentence that says it.
 *
 * A value of bounded size: of more than PTO_CORE_WAITS_MAX cores that wait the others are counted.  Kernel names are
 * borrowed from the kernels.  Always true: one entry a core, in the order in which the engine keeps its rendezvous.
 *
 * Any thread.
 */
#ifndef PTO_CORE_WAITS_H
#define PTO_CORE_WAITS_H

#include <runtime/base/base.h>

#define PTO_CORE_WAITS_MAX 128u

enum pto_seat_state { PTO_SEAT_ABSENT = 0, PTO_SEAT_SENT, PTO_SEAT_BEGUN, PTO_SEAT_RETURNED };
enum pto_waits_for {
  PTO_WAITS_FOR_NOTHING = 0,
  PTO_WAITS_FOR_FLAG,    /* subject: the flag */
  PTO_WAITS_FOR_ROOM,    /* subject: the role at the other end */
  PTO_WAITS_FOR_ELEMENT, /* the same */
  PTO_WAITS_FOR_BARRIER,
  PTO_WAITS_FOR_TURN,
  PTO_WAITS_FOR_CHANGE, /* of memory that it polls; where peer.call is PTO_PEER_TEST, of a signal */
  PTO_WAITS_FOR_PEER    /* what a call of pto/remote.h waits for */
};

/* What a core waits for that another rank of the world is to do. */
enum pto_peer_call {
  PTO_PEER_PUT,
  PTO_PEER_GET,
  PTO_PEER_SIGNAL,
  PTO_PEER_TEST /* of a signal, which it polls */
};
struct pto_peer_wait {
  uint32_t call; /* enum pto_peer_call */
  uint32_t peer; /* put, get: the rank at the other end */
  uint64_t bytes;
  uint32_t comm, signal; /* a signal of the own rank: */
  uint32_t compare;      /* PTO_IF_GE or PTO_IF_EQ */
  int32_t value, found;  /* that it is compared with, and that it has */
};

/* A kernel call of a task. */
struct pto_core_seat {
  uint32_t block_index;
  uint16_t core;
  uint8_t role;  /* enum pto_role */
  uint8_t state; /* enum pto_seat_state */
};

struct pto_core_wait {
  uint64_t task_number;
  const char *kernel;
  struct pto_core_seat who;
  struct pto_core_seat
      other; /* where has_other: the first of those that keep it waiting; of a flag or memory none is known */
  uint64_t room_bytes;
  uint32_t barrier, arrived, expected; /* of barriers: its number, who has come; expected 0: who counts is gone; */
  uint32_t other_barriers;             /* and how many `other` has come to */
  struct pto_peer_wait peer;
  const void *call;  /* what it waits in returns to; NULL: not known */
  uint8_t waits_for; /* enum pto_waits_for */
  uint8_t flag;
  uint8_t
      lying_at; /* where has_lying: the first other flag with signals, or other role with elements, for it to take */
  bool has_lying;
  bool has_other;
  bool is_together; /* of a sync_start task: other blocks may be what it waits for */
  /* Of a flag: how often cores of the block have signalled it, and who did last; where none has, the first other core
   * of the block at whose flag of that number one lies. */
  uint32_t sent;
  bool has_astray;
  struct pto_core_seat sender; /* of either */
};

struct pto_core_waits {
  uint32_t count, more; /* in waits, and beyond */
  struct pto_core_wait waits[PTO_CORE_WAITS_MAX];
  const void *refused_call; /* of the first kernel of the run that ended because a call was refused: what that returns
                             * to; NULL: none did, or it is not known */
  uint64_t refused_task;
};

/* "task 0 (add_rows) block 0 AIV1 on core 2 waits for an element from AIV0 on core 1, which has returned".  Returns how
 * many characters that is, cut to `size` > 0. */
size_t pto_core_wait_describe(const struct pto_core_wait *wait, char *text, size_t size);
/* Adds where a wait's call stands, " (it waits at a.c:41)"; nothing where that is not known. */
typedef void pto_core_wait_place(void *context, const struct pto_core_wait *wait, char *text, size_t size);
/* "cores wait for ever: …; …; and 5 more", as many as there is room for.  Cores of one kernel that wait at one
 * barrier for the same core are one entry.  `place` NULL: without places. */
void pto_core_waits_describe(const struct pto_core_waits *waits, pto_core_wait_place *place, void *context, char *text,
                             size_t size);

#endif
