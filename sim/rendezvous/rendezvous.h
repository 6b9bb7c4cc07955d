/* SPDX-License-Identifier: MIT */
/*
 * Rendezvous: what the cores that run one block of a task have told each other, and what they wait for.
 *
 * A rendezvous is one block of a task whose kernels wait.  It has a seat for each role of the task and lives from the
 * dispatch of its first message until all its roles have returned: so what a core is told before it has begun, or by
 * one that has returned, is kept.  A cluster has at most three messages a slot in flight, and each of its live
 * rendezvous has one that has not returned: live rendezvous of a cluster ≤ 3 · slots_per_core = its places in the
 * table.
 *
 * A core that polls memory waits for a change: any call here that another core makes, or pto_rendezvous_change, may be
 * one, and wakes all that poll.  What a core writes between its calls is seen late, but not never: where all wait,
 * pto_rendezvous_look_again wakes those that poll once more.
 *
 * Always true: a seat waits for at most one thing (seat.waits_for), and only while that thing is not there; the
 * call that makes it come true clears waits_for and calls `wake` once, and the core asks again.  Bytes in a FIFO:
 * written − read ≤ PTO_CORE_FIFO_BYTES, both running freely.
 *
 * Nothing here knows time or threads: an engine calls every function under its own lock (the threads engine has one for
 * the table; the virtual one has one thread), but for the copying of elements, which the two ends of a FIFO do
 * between their calls.  Memory is reserved at init, FIFOs are resident only where used.
 */
#ifndef PTO_SIM_RENDEZVOUS_RENDEZVOUS_H
#define PTO_SIM_RENDEZVOUS_RENDEZVOUS_H

#include <runtime/base/reserve.h>
#include <runtime/port/core_port.h>
#include <runtime/port/core_waits.h>
#include <runtime/port/port.h>
#include <sim/rendezvous/core_watch.h>

#define PTO_RENDEZVOUS_NONE UINT32_MAX

enum pto_at_barrier { PTO_AT_NO_BARRIER = 0, PTO_AT_BARRIER, PTO_THROUGH_BARRIER };

/* Signals that a core has tested since anything changed, and it did anything else: the `count`-th before this one. */
struct pto_rendezvous_tests {
  uint64_t changes; /* change_count then */
  uint32_t count, comm, signal, compare;
  int32_t value;
};

struct pto_rendezvous_seat {
  uint16_t core;
  uint8_t state;     /* enum pto_seat_state */
  uint8_t waits_for; /* enum pto_waits_for */
  uint8_t subject;
  bool is_participant;       /* its kernel waits: a barrier counts it */
  uint8_t at_barrier;        /* enum pto_at_barrier */
  uint32_t barriers;         /* it has come to */
  uint64_t room_bytes;       /* that it waits for */
  uint64_t seen;             /* change_count when it looked at memory last */
  bool is_answered;          /* what it asked of another rank is there */
  struct pto_peer_wait peer; /* what that is; or the signal that it tested last */
  struct pto_rendezvous_tests tests;
  uint32_t flags[PTO_CORE_FLAGS];
  uint32_t sent[PTO_CORE_FLAGS];     /* signals that cores of the block have sent to each, */
  uint8_t last_role[PTO_CORE_FLAGS]; /* and who did last */
};

struct pto_rendezvous_piece {
  struct pto_rendezvous_piece *next;
  uint64_t key, size_bytes;
  _Alignas(PTO_CACHE_LINE) char memory[];
};

struct pto_rendezvous_fifo {
  uint64_t written, read; /* bytes */
  char *memory;           /* PTO_CORE_FIFO_BYTES */
};

struct pto_rendezvous {
  const struct pto_payload *payload; /* NULL: free */
  uint32_t block_index;
  uint8_t roles;                       /* sets of PTO_ROLE_BIT: with a kernel, */
  uint8_t returned;                    /* of these, that have returned */
  bool is_together;                    /* sync_start */
  int16_t broken;                      /* PTO_OK; PTO_EDEADLOCK; PTO_EKERNEL: a core of the task has failed */
  uint32_t leader;                     /* the rendezvous that counts the task's barriers: its own, or that of block 0 */
  uint32_t expected;                   /* leader: cores that meet */
  uint32_t arrived;                    /* leader: that have, at the barrier that is being filled */
  bool has_gone;                       /* of a sync_start task: a block has returned, of which this core, */
  struct pto_core_seat gone;           /* which waits, was the last */
  uint32_t gone_barriers;              /* and had come to so many */
  struct pto_rendezvous_piece *pieces; /* memory that its kernels share */
  struct pto_rendezvous_seat seats[PTO_ROLE_COUNT];
  struct pto_rendezvous_fifo fifos[PTO_ROLE_COUNT][PTO_ROLE_COUNT]; /* [from][to] */
};

struct pto_rendezvous_table {
  struct pto_reserve memory, fifo_memory;
  struct pto_rendezvous *items;        /* those of a cluster follow each other */
  const struct pto_payload **payloads; /* items[i].payload side by side, for searching */
  uint32_t cluster_count, per_cluster, live_count;
  uint32_t polling_count; /* seats that wait for a change */
  uint32_t looks;         /* again, since the last change */
  bool has_read_clock;    /* a core has, since the last look */
  uint64_t change_count;
  void (*wake)(void *context, uint32_t core);
  void *context;
};

/* False where there is no memory.  wake(context, core): what `core` waits for may be there. */
bool pto_rendezvous_init(struct pto_rendezvous_table *table, uint32_t cluster_count, uint32_t slots_per_core,
                         void (*wake)(void *context, uint32_t core), void *context);
/* A zeroed struct is allowed. */
void pto_rendezvous_fini(struct pto_rendezvous_table *table);
void pto_rendezvous_reset(struct pto_rendezvous_table *table);

/* One core of one rendezvous. */
struct pto_rendezvous_member {
  uint32_t rendezvous, role;
};

/* A message of a task whose kernels wait is on its way; the rendezvous of its block. */
uint32_t pto_rendezvous_join(struct pto_rendezvous_table *table, const struct pto_message *message);
/* Whether a message of each of the block's roles is. */
bool pto_rendezvous_is_complete(const struct pto_rendezvous_table *table, uint32_t rendezvous);
void pto_rendezvous_begin(struct pto_rendezvous_table *table, struct pto_rendezvous_member member);
/* The kernel has returned; `has_failed` breaks all rendezvous of its task. */
void pto_rendezvous_return(struct pto_rendezvous_table *table, struct pto_rendezvous_member member, bool has_failed);

void pto_rendezvous_signal(struct pto_rendezvous_table *table, struct pto_rendezvous_member from, uint32_t block_index,
                           uint32_t roles, uint32_t flag);

/* What a core waits for:
 *   FLAG      `subject` above 0; the answer DONE takes 1 from it
 *   ROOM      room for an element in the FIFO to role `subject`; the producer then copies it in and publishes it
 *   ELEMENT   an element in the FIFO from role `subject`; the consumer then copies it out and releases its room
 *   BARRIER   that all have come; the first question is its own coming
 *   TURN      its turn
 *   CHANGE    that something has changed since it asked last
 *   PEER      that pto_rendezvous_answer_peer was called for it; `peer` says what it waits for */
struct pto_rendezvous_question {
  enum pto_waits_for what;
  uint32_t subject;
  uint64_t size_bytes; /* of the element */
  uint64_t size_found; /* of the oldest element */
  struct pto_peer_wait peer;
};
enum pto_rendezvous_answer {
  PTO_RENDEZVOUS_DONE,
  PTO_RENDEZVOUS_WAIT,   /* the seat waits; ask again when woken */
  PTO_RENDEZVOUS_BROKEN, /* rendezvous.broken says why */
  PTO_RENDEZVOUS_MISTAKE /* ELEMENT: the oldest one has another size */
};
enum pto_rendezvous_answer pto_rendezvous_ask(struct pto_rendezvous_table *table, struct pto_rendezvous_member member,
                                              struct pto_rendezvous_question *question);
/* The core tests a signal.  True: it has asked the same before, and nothing has changed since, nor has it done anything
 * but test; so it is to ask for a CHANGE before it looks. */
bool pto_rendezvous_test(struct pto_rendezvous_table *table, struct pto_rendezvous_member member,
                         const struct pto_peer_wait *test);
void pto_rendezvous_publish(struct pto_rendezvous_table *table, struct pto_rendezvous_member from, uint32_t to,
                            uint64_t size_bytes);
void pto_rendezvous_release(struct pto_rendezvous_table *table, struct pto_rendezvous_member to, uint32_t from,
                            uint64_t size_bytes);
void pto_rendezvous_fifo_copy_in(struct pto_rendezvous_fifo *fifo, const void *data, uint64_t size_bytes);
void pto_rendezvous_fifo_copy_out(const struct pto_rendezvous_fifo *fifo, void *data, uint64_t size_bytes);

/* What the core waits for of another rank is there. */
void pto_rendezvous_answer_peer(struct pto_rendezvous_table *table, struct pto_rendezvous_member member);
/* Something may have changed memory. */
void pto_rendezvous_change(struct pto_rendezvous_table *table);
/* Every seat that waits does so for ever, unless memory has changed unnoticed: true where some poll, and look again. */
bool pto_rendezvous_look_again(struct pto_rendezvous_table *table);
/* Whether that would wake one. */
bool pto_rendezvous_can_look_again(const struct pto_rendezvous_table *table);
/* The memory of that key and size, zeroed where it is new; NULL where there is none to be had, or it has another size.
 */
void *pto_rendezvous_shared(struct pto_rendezvous_table *table, struct pto_rendezvous_member member, uint64_t key,
                            uint64_t size_bytes);

/* Every seat that waits, in order of the table and of roles, and what it waits for. */
void pto_rendezvous_find_waits(const struct pto_rendezvous_table *table, struct pto_core_waits *waits);
/* Where every seat that waits does so for ever: breaks all their rendezvous, so that each wait is answered. */
void pto_rendezvous_break_deadlock(struct pto_rendezvous_table *table);

#endif
