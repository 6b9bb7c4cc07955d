/* SPDX-License-Identifier: MIT */
/*
 * Meetings: what the cores that run one block of a task have told each other, and what they wait for.
 *
 * A meeting is one block of a task whose kernels wait.  It has a seat for each role of the task and lives from the
 * dispatch of its first message until all its roles have returned: so what a core is told before it has begun, or by
 * one that has returned, is kept.  A cluster has at most three messages a slot in flight, each live meeting of it one
 * that has not returned:
 *   live meetings of a cluster ≤ 3 · slots_per_core = meetings of a cluster.
 *
 * Always true: a seat waits for at most one thing (seat.waits_for), and only while that thing is not there; whoever
 * makes it come true clears waits_for and calls `wake` once, and the core asks again.  Bytes in a FIFO: written − read
 * ≤ PTO_CORE_FIFO_BYTES, both running freely.
 *
 * Nothing here knows time or threads: an engine calls every function under its own lock (the threads engine has one for
 * all meetings; the virtual one has one thread), but for the copying of elements, which the two ends of a FIFO do
 * between their calls.  Memory is reserved at init, FIFOs are resident only where used.
 */
#ifndef PTO_MEETING_H
#define PTO_MEETING_H

#include <runtime/base/reserve.h>
#include <runtime/port/core_port.h>
#include <runtime/port/core_waits.h>
#include <runtime/port/port.h>

#define PTO_MEETING_NONE UINT32_MAX
#define PTO_ELEMENT_HEADER_BYTES 8u /* an element's length, in front of it */

enum pto_at_barrier { PTO_AT_NO_BARRIER = 0, PTO_AT_BARRIER, PTO_THROUGH_BARRIER };

struct pto_meeting_seat {
  uint16_t core;
  uint8_t state;     /* enum pto_seat_state */
  uint8_t waits_for; /* enum pto_waits_for */
  uint8_t subject;
  bool is_participant; /* its kernel waits: a barrier counts it */
  uint8_t at_barrier;  /* enum pto_at_barrier */
  uint32_t barriers;   /* it has come to */
  uint64_t room_bytes; /* that it waits for */
  uint32_t flags[PTO_CORE_FLAGS];
};

struct pto_meeting_fifo {
  uint64_t written, read; /* bytes */
  char *memory;           /* PTO_CORE_FIFO_BYTES */
};

struct pto_meeting {
  const struct pto_payload *payload; /* NULL: free */
  uint32_t block_index;
  uint8_t roles;     /* sets of PTO_ROLE_BIT: with a kernel, */
  uint8_t returned;  /* of these, that have returned */
  bool is_together;  /* sync_start */
  int16_t broken;    /* PTO_OK; PTO_EDEADLOCK; PTO_EKERNEL: a core of the task has failed */
  uint32_t leader;   /* the meeting that counts the task's barriers: its own, or that of block 0 */
  uint32_t expected; /* leader: cores that meet */
  uint32_t arrived;  /* leader: that have, at the barrier that is being filled */
  struct pto_meeting_seat seats[PTO_ROLE_COUNT];
  struct pto_meeting_fifo fifos[PTO_ROLE_COUNT][PTO_ROLE_COUNT]; /* [from][to] */
};

struct pto_meetings {
  struct pto_reserve memory, fifo_memory;
  struct pto_meeting *meetings;        /* those of a cluster follow each other */
  const struct pto_payload **payloads; /* meetings[i].payload side by side, for searching */
  uint32_t cluster_count, per_cluster, live_count;
  void (*wake)(void *context, uint32_t core);
  void *context;
};

/* False where there is no memory.  wake(context, core): what `core` waits for may be there. */
bool pto_meetings_init(struct pto_meetings *meetings, uint32_t cluster_count, uint32_t slots_per_core,
                       void (*wake)(void *context, uint32_t core), void *context);
/* Takes zeroed structs too. */
void pto_meetings_fini(struct pto_meetings *meetings);
void pto_meetings_reset(struct pto_meetings *meetings);

/* One core's place. */
struct pto_meeting_place {
  uint32_t meeting, role;
};

/* A message of a task whose kernels wait is on its way; the meeting of its block. */
uint32_t pto_meetings_sit(struct pto_meetings *meetings, const struct pto_message *message);
/* Whether a message of each of the block's roles is. */
bool pto_meetings_all_sit(const struct pto_meetings *meetings, uint32_t meeting);
void pto_meetings_begin(struct pto_meetings *meetings, struct pto_meeting_place place);
/* The kernel has returned; `has_failed` breaks all meetings of its task. */
void pto_meetings_return(struct pto_meetings *meetings, struct pto_meeting_place place, bool has_failed);

/* What a call came to. */
enum pto_meeting_answer {
  PTO_MEETING_DONE,
  PTO_MEETING_WAIT,   /* the seat waits; call again when woken */
  PTO_MEETING_BROKEN, /* meeting.broken says why */
  PTO_MEETING_MISTAKE /* pop: the oldest element has *size_found bytes */
};
void pto_meetings_signal(struct pto_meetings *meetings, struct pto_meeting_place from, uint32_t block_index,
                         uint32_t roles, uint32_t flag);
enum pto_meeting_answer pto_meetings_wait(struct pto_meetings *meetings, struct pto_meeting_place place, uint32_t flag);
/* Arrives, and when asked again after a wait says whether all have. */
enum pto_meeting_answer pto_meetings_barrier(struct pto_meetings *meetings, struct pto_meeting_place place);
enum pto_meeting_answer pto_meetings_turn(struct pto_meetings *meetings, struct pto_meeting_place place);
/* Whether there is room for an element; the producer then copies it (pto_meeting_fifo_copy_in) and publishes it. */
enum pto_meeting_answer pto_meetings_room(struct pto_meetings *meetings, struct pto_meeting_place from, uint32_t to,
                                          uint64_t size_bytes);
void pto_meetings_publish(struct pto_meetings *meetings, struct pto_meeting_place from, uint32_t to,
                          uint64_t size_bytes);
/* Whether there is an element of that size; the consumer then copies it out and releases its room. */
enum pto_meeting_answer pto_meetings_element(struct pto_meetings *meetings, struct pto_meeting_place to, uint32_t from,
                                             uint64_t size_bytes, uint64_t *size_found);
void pto_meetings_release(struct pto_meetings *meetings, struct pto_meeting_place to, uint32_t from,
                          uint64_t size_bytes);
void pto_meeting_fifo_copy_in(struct pto_meeting_fifo *fifo, const void *data, uint64_t size_bytes);
void pto_meeting_fifo_copy_out(const struct pto_meeting_fifo *fifo, void *data, uint64_t size_bytes);

/* Every seat that waits, in order of meetings and roles, and what it waits for. */
void pto_meetings_find_waits(const struct pto_meetings *meetings, struct pto_core_waits *waits);
/* Where every seat that waits does so for ever: breaks all their meetings, so that each wait is answered. */
void pto_meetings_break_deadlock(struct pto_meetings *meetings);

#endif
