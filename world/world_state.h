/* SPDX-License-Identifier: MIT */
/*
 * What the files of world/ share: ranks, and the messages between them.
 *
 *   world.c         creation, and whose turn it is
 *   flows.c         what is on the fabric
 *   rank.c          a rank's stack, its clock against the others', what messages do to it
 *   communicator.c  communicators and groups, for orchestrations
 *   remote.c        puts, gets and signals, for kernels
 *   layout.c        elements of a tensor, in a row and back
 *   stuck.c         who waits for whom, where all wait for ever
 *
 * Turns.  The rank whose next event is the earliest runs, of equals the lowest, up to its horizon: the earliest time at
 * which another rank, or what is on the fabric, could do something to it.  Another rank does so `lookahead_ps` after
 * its own next event at the earliest.  What is done to a rank comes to it as a message, which it takes in on its own
 * stack before its own events of that instant.
 *
 * Order: messages come in order of (time, source rank, the source's sequence); nothing depends on when they were sent
 * in real time.
 *
 * Always true: a rank's next_at is at most the time of its first message; no message is earlier than an event that its
 * rank has taken.  Times here are the world's; an engine's begin at 0 with each run, at base_ps here.
 *
 * One thread.
 */
#ifndef PTO_WORLD_STATE_H
#define PTO_WORLD_STATE_H

#include <pto/remote.h>
#include <pto/world.h>
#include <runtime/base/error.h>
#include <runtime/base/reserve.h>
#include <sim/fabric/fabric.h>
#include <sim/host/fiber.h>
#include <sim/virtual/core.h>
#include <sim/virtual/rank_clock.h>

#define PTO_WORLD_NEVER PTO_VIRTUAL_NEVER

/* A tensor of a message, without the pointers of its kernel. */
struct pto_remote_layout {
  uint64_t addr; /* of a window: from its begin on */
  uint32_t ndims, dtype;
  uint64_t shape[PTO_MAX_DIMS], strides[PTO_MAX_DIMS];
};

/* A kernel's call that waits, of a run; done: the core may be in another call since, and then nothing comes of it. */
struct pto_remote_ticket {
  uint32_t core;
  uint64_t serial;
};

enum pto_world_message_kind {
  PTO_WORLD_JOIN,   /* the source has come to a communicator's making */
  PTO_WORLD_SIGNAL, /* a notify */
  PTO_WORLD_WRITE,  /* a put's bytes, for the window */
  PTO_WORLD_READ,   /* a get's question */
  PTO_WORLD_ANSWER, /* a get's bytes; a put has landed: of the ticket's core */
  PTO_WORLD_KINDS
};

struct pto_world_message {
  uint64_t at, sequence; /* of its source */
  uint32_t source, target;
  uint8_t kind;  /* enum pto_world_message_kind */
  bool is_set;   /* of a signal */
  uint32_t comm; /* the world's number of it */
  uint32_t signal;
  int32_t value;
  uint64_t window_bytes;
  uint32_t signal_count;
  struct pto_remote_ticket ticket;
  struct pto_remote_layout layout; /* where bytes come from (READ) or go to */
  struct pto_remote_layout back;   /* READ: where the answer's go to */
  uint64_t bytes;
  struct pto_world_message *landed; /* of what is on the fabric: what its source is told then */
  unsigned char payload[];
};

/* What a message does to the rank that it comes to. */
struct pto_rank;
typedef void pto_rank_take(struct pto_rank *rank, const struct pto_world_message *message);

/* A group that a rank has submitted. */
struct pto_comm_group {
  uint64_t run, task_number;
};

/* A rank's part of a communicator. */
struct pto_comm_part {
  bool is_member, is_joined; /* it has come to the making */
  uint32_t place, joined_count;
  uint64_t window_bytes;
  uint32_t signal_count;
  struct pto_reserve window, peers; /* peers: address space, a window a place */
  uint64_t peer_spread;
  int32_t *signals;
  uint64_t *notified;        /* [signal · size + place]: how often that place has notified it */
  uint64_t collective_count; /* submitted */
  struct pto_task last_group;
  uint64_t last_run; /* that last_group is of */
  struct pto_comm_group *groups;
  size_t group_count, group_capacity;
};

/* A communicator: an ordered set of ranks, and how many of the same came before it. */
struct pto_world_comm {
  uint32_t ranks[PTO_MAX_RANKS];
  uint32_t size, number;                     /* in the world */
  struct pto_comm_part parts[PTO_MAX_RANKS]; /* by rank */
};

/* A signal that a core waits for. */
struct pto_signal_wait {
  uint32_t core, comm, signal, compare;
  int32_t value;
};

struct pto_rank {
  struct pto_rank_clock clock; /* first: what the engine sees of it */
  struct pto_world *world;
  struct pto_runtime *rt;   /* of this run, once it has called pto_comm_create or pto_submit_group; else NULL */
  uint64_t last_task_count; /* of the run before */
  struct pto_fiber fiber;
  struct pto_reserve stack;
  const void *frame; /* of call_stack.h, while others run */
  uint32_t index;
  bool is_over, is_looking_again, is_stuck;
  int status;
  uint64_t next_at; /* what it may do next, or have done to it; PTO_WORLD_NEVER: nothing */
  uint64_t base_ps, run;
  uint64_t taken_at; /* of the last message */
  uint64_t sent_count, ticket_count;
  struct pto_world_message **inbox; /* the first one last */
  size_t inbox_count, inbox_capacity;
  struct pto_remote_ticket *tickets; /* by core: the call that waits; serial 0: none does */
  uint32_t ticket_cores;
  struct pto_signal_wait *waits; /* those of kernels that wait for a signal, in the order of their calls */
  size_t wait_count, wait_capacity;
  struct pto_error error;
};

struct pto_world {
  struct pto_chip *chip;
  struct pto_fabric *fabric;
  pto_rank_take *const *takes; /* by kind of message */
  uint32_t rank_count;
  uint64_t lookahead_ps; /* the least; PTO_WORLD_NEVER of one rank */
  struct pto_rank *ranks;
  struct pto_rank *current; /* that runs now */
  struct pto_world_comm **comms;
  size_t comm_count, comm_capacity;
  struct pto_world_message **flows; /* on the fabric, by id; NULL: free */
  size_t flow_count, flow_capacity;
  int (*main)(struct pto_rank *rank, void *context);
  void *context;
  struct pto_error error;
  bool has_run;
};

static inline uint64_t pto_world_add(uint64_t time, uint64_t duration) {
  return duration >= PTO_WORLD_NEVER - time ? PTO_WORLD_NEVER : time + duration;
}

/* ---- rank.c ---- */

bool pto_rank_init(struct pto_rank *rank, struct pto_world *world, uint32_t index);
void pto_rank_fini(struct pto_rank *rank);
/* What the rank's engine does now, on the world's clock. */
uint64_t pto_rank_now(const struct pto_rank *rank);
/* A message of the rank `source`, with room for `bytes`; NULL: no memory. */
struct pto_world_message *pto_rank_message(struct pto_rank *source, uint32_t target, uint8_t kind, uint64_t bytes);
/* Takes the message, which comes to its target at message->at.  False: no memory, and it is freed. */
bool pto_world_send(struct pto_world *world, struct pto_world_message *message);
/* Lets the rank run, up to `horizon`; one that is over takes what comes first. */
void pto_rank_run(struct pto_rank *rank, uint64_t horizon);
/* From now on the horizon of the running rank is at most that. */
void pto_rank_limit(struct pto_rank *rank, uint64_t horizon);

/* ---- flows.c ---- */

/* Takes the message, whose bytes go over the fabric from `source` on from `now` on; what it and message->landed say of
 * their time is set then. */
bool pto_world_transfer(struct pto_world *world, uint64_t now, uint32_t source, uint64_t bytes,
                        struct pto_world_message *message);
/* Sends what arrives next, all of one picosecond; false where memory is short. */
bool pto_world_advance_fabric(struct pto_world *world);

/* ---- communicator.c ---- */

struct pto_world_comm *pto_world_comm_at(const struct pto_world *world, uint64_t id);
/* The part of a rank; NULL: it is no member, or there is no such communicator. */
struct pto_comm_part *pto_comm_part_of(const struct pto_rank *rank, uint64_t id, struct pto_world_comm **comm);
/* Where the window of the rank at that place is, for this rank: only its own has memory. */
void *pto_comm_window_addr(const struct pto_comm_part *part, uint32_t place);
pto_rank_take pto_rank_take_join;
void pto_world_comm_destroy(struct pto_world_comm *comm);
/* Which group of the rank the task is of, from 0 on; UINT64_MAX: none. */
uint64_t pto_comm_group_of(const struct pto_rank *rank, const struct pto_comm_part *part, uint64_t task_number);

/* ---- remote.c ---- */

pto_rank_take pto_rank_take_signal;
pto_rank_take pto_rank_take_write;
pto_rank_take pto_rank_take_read;
pto_rank_take pto_rank_take_answer;

/* ---- layout.c ---- */

uint64_t pto_remote_bytes(const struct pto_remote_layout *layout);
/* How many bytes from the first on it reaches. */
uint64_t pto_remote_span(const struct pto_remote_layout *layout);
/* Elements in row-major order; `base` is what layout->addr counts from. */
void pto_remote_gather(const struct pto_remote_layout *layout, const unsigned char *base, unsigned char *packed);
void pto_remote_scatter(const struct pto_remote_layout *layout, unsigned char *base, const unsigned char *packed);

/* ---- stuck.c ---- */

/* Why no rank goes on, of those that are not over. */
void pto_world_describe_stuck(const struct pto_world *world, char *text, size_t size);

#endif
