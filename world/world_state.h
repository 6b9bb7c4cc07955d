/* SPDX-License-Identifier: MIT */
/*
 * What the files of world/ share: parts of a world, ranks, and the messages between them.
 *
 *   world.c         creation, the threads of its parts
 *   part.c          whose turn it is, windows of time
 *   exchange.c      what parts tell each other, where they are threads (exchange.h: other kinds)
 *   flows.c         what is on the fabric
 *   rank.c          a rank's stack, its clock against the others', what messages do to it
 *   rank_thread.c   a thread in place of the stack
 *   communicator.c  communicators and groups, for orchestrations
 *   remote.c        puts, gets and signals, for kernels
 *   layout.c        elements of a tensor, in a row and back
 *   record.c        what of all that is recorded (runtime/trace/remote.h)
 *   stuck.c         who waits for whom, where all wait for ever
 *
 * Turns.  A part has some of the ranks, one behind the other, and a thread.  In a part the rank whose next event is the
 * earliest runs, of equals the lowest, up to its horizon: the earliest time at which another rank, or what is on the
 * fabric, could do something to it.  Another rank does so `lookahead_ps` after its own next event at the earliest. What
 * is done to a rank comes to it as a message, which it takes in on its own stack before its own events of that instant.
 * Ranks that no communicator joins, over others or directly, do nothing to each other, and do not wait for each other.
 *
 * Windows.  Ranks of different parts are at least `between_ps` away from each other.  All parts find the earliest event
 * of any of them, and then each goes on by itself up to that much later; what it sends to others until then comes to
 * them in a later window.  A flow that shares links with those of another part is told to all, and each part has a
 * fabric of its own that carries all flows which its ranks' could meet.
 *
 * Order: messages come in order of (time, source rank, the source's sequence), flows likewise.  So nothing depends on
 * how many parts there are, or on when anything happens in real time.
 *
 * Always true: a rank's next_at is at most the time of its first message; no message is earlier than an event that its
 * rank has taken.  Times here are the world's; an engine's begin at 0 with each run, at base_ps here.
 *
 * Threads: all of a part is its thread's, and only the exchange is shared.  Where parts are processes, each has the one
 * that is its own, and of the others nothing.
 */
#ifndef PTO_WORLD_STATE_H
#define PTO_WORLD_STATE_H

#include <pthread.h>

#include <pto/remote.h>
#include <pto/world.h>
#include <runtime/base/error.h>
#include <runtime/base/reserve.h>
#include <runtime/trace/remote.h>
#include <sim/fabric/fabric.h>
#include <sim/host/fiber.h>
#include <sim/virtual/core.h>
#include <sim/virtual/rank_clock.h>
#include <world/exchange.h>

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
  bool computes; /* READ: the reader has memory for the bytes */
  uint64_t comm; /* its uid */
  uint32_t signal;
  int32_t value;
  uint64_t window_bytes;
  uint32_t signal_count;
  struct pto_remote_ticket ticket;
  struct pto_remote_layout layout;  /* where bytes come from (READ) or go to */
  struct pto_remote_layout back;    /* READ: where the answer's go to */
  uint64_t bytes;                   /* of payload */
  bool is_flow;                     /* takes its way over the fabric: */
  uint64_t began_at, flow_bytes;    /* from then on */
  struct pto_world_message *landed; /* what its source is told when it has arrived; NULL in other parts */
  struct pto_world_message *handed; /* of what is told: the message itself, for the part of its target */
  _Alignas(8) unsigned char payload[];
};

/* What a message does to the rank that it comes to. */
struct pto_rank;
typedef void pto_rank_take(struct pto_rank *rank, const struct pto_world_message *message);

/* A predicate that was false. */
struct pto_comm_skip {
  uint16_t compare; /* enum pto_compare; PTO_ALWAYS: it was not */
  bool is_unsigned; /* of 64 bits */
  int64_t value, found;
};

/* A group that a rank has submitted. */
struct pto_comm_group {
  uint64_t run, task_number;
  struct pto_task task;
  const void *call, *outer_call; /* where it was submitted, as in struct pto_trace_task */
  struct pto_comm_skip skip;     /* once its run has ended: pto_comm_skip_of */
};

/* Of the ranks of a communicator, what one has said at its making. */
struct pto_comm_sizes {
  bool is_known;
  uint32_t signal_count;
  uint64_t window_bytes;
};

/* A communicator, as one of its ranks has it.  Made by the first that this rank hears of it, or makes. */
struct pto_rank_comm {
  uint64_t uid;         /* of these ranks, and how many communicators of the same came before: the same everywhere */
  uint32_t size, place; /* its own */
  uint32_t ranks[PTO_MAX_RANKS];
  struct pto_comm_sizes sizes[PTO_MAX_RANKS]; /* by place */
  bool is_usable;                             /* all have come, with the same sizes */
  bool is_created; /* this rank has come to the making, and `number` is what its kernels call it: */
  uint32_t number;
  uint32_t joined_count; /* others that have come */
  uint32_t last_joined;  /* the rank that came last */
  uint64_t window_bytes;
  uint32_t signal_count;
  struct pto_reserve window, peers; /* peers: address space, a window a place */
  uint64_t peer_spread;
  int32_t *signals;
  uint64_t *notified;           /* [signal · size + place]: how often that place has notified it */
  uint32_t *last_notified;      /* [signal]: by whom, a place, where anyone has */
  uint64_t *ended_waits;        /* [signal]: how many for it are over */
  uint64_t puts[PTO_MAX_RANKS]; /* by place: that have landed here */
  uint64_t collective_count;    /* submitted */
  uint64_t forgotten_groups;    /* those before groups[0], which are done, and so is groups[0] where there are any */
  struct pto_comm_group *groups;
  size_t group_count, group_capacity;
};

/* What a rank's kernels do late, for who asks what comes of that. */
enum pto_late {
  PTO_LATE_OTHER_PUTS, /* before a put of a core but the first of its task */
  PTO_LATE_FIRST_PUTS, /* of the first one */
  PTO_LATE_WAITS,      /* behind a wait, or a test that holds */
  PTO_LATE_KINDS
};

/* The message that let a core, or an orchestration, go on. */
struct pto_remote_cause {
  uint32_t source;
  uint64_t sequence;
  uint64_t sent_at; /* of a signal: when it was on its way, or the put that had landed as it was sent */
};

/* When puts of a rank, one behind the other without a gap, were on their way. */
struct pto_rank_put {
  uint64_t began_at, landed_at;
};

/* A signal that a core waits for. */
struct pto_signal_wait {
  uint32_t core, signal, compare;
  const struct pto_rank_comm *comm;
  struct pto_remote_cause *cause; /* where it is told to the waiter */
  int32_t value;
};

struct pto_rank {
  struct pto_rank_clock clock; /* first: what the engine sees of it */
  struct pto_part *part;
  struct pto_runtime *rt;         /* of this run, once it has called pto_comm_create or pto_submit_group; else NULL */
  uint64_t last_task_count;       /* of the run before */
  struct pto_rank_thread *thread; /* that it runs on; NULL: it has a fiber */
  struct pto_fiber fiber;
  struct pto_reserve stack;
  const void *frame; /* of call_stack.h, while others run */
  uint32_t index;
  uint32_t circle; /* ranks of one part that communicators join, over others too, have one number */
  bool is_over, is_looking_again, is_stuck;
  bool has_returned; /* of one that is stuck: its orchestration has */
  int status;
  uint64_t next_at; /* what it may do next, or have done to it; PTO_WORLD_NEVER: nothing */
  uint64_t base_ps, run;
  uint64_t late_ps;                        /* pto_world_delay */
  uint64_t late_cores_ps[PTO_LATE_KINDS];  /* pto_world_delay_cores */
  uint64_t taken_at;                       /* of the last message */
  struct pto_rank_put puts[PTO_MAX_RANKS]; /* the last that came, by source */
  uint64_t sent_count, ticket_count;
  struct pto_world_message **inbox; /* the first one last */
  size_t inbox_count, inbox_capacity;
  struct pto_remote_ticket *tickets; /* by core: the call that waits; serial 0: none does */
  uint32_t ticket_cores;
  struct pto_rank_comm **comms, **by_number; /* all that it knows of; those that it has made */
  size_t comm_count, comm_capacity, number_count, number_capacity;
  struct pto_signal_wait *waits; /* those of kernels that wait for a signal, in the order of their calls */
  size_t wait_count, wait_capacity;
  struct pto_error error;
};

#define PTO_STUCK_PLACE 96u

/* What keeps a rank waiting. */
enum pto_stuck_why {
  PTO_STUCK_OTHERWISE,     /* ranks wait for each other, or it is not known */
  PTO_STUCK_NOT_CREATED,   /* the blamed rank will not come to pto_comm_create */
  PTO_STUCK_OTHER_RANKS,   /* it is there for another list of ranks */
  PTO_STUCK_NOT_SUBMITTED, /* its orchestration has ended without its task of the group */
  PTO_STUCK_NOT_BEGUN,     /* its task of the group waits for others of the rank */
  PTO_STUCK_NEXT_GROUP,    /* its task waits itself, and what may notify is of the group behind it */
  PTO_STUCK_SKIPPED,       /* a predicate */
  PTO_STUCK_NOT_NOTIFIED,  /* its task has returned */
  PTO_STUCK_NOTIFIED_LESS, /* the same, and it did notify the signal */
  PTO_STUCK_PASSED         /* the value is above the one that is waited for */
};

/* Where nothing goes on: a core that waits for another rank, or an orchestration that makes a communicator. */
struct pto_stuck_wait {
  uint32_t rank, blamed;       /* blamed: that keeps it waiting; UINT32_MAX: none is known, as of the next */
  uint64_t task, its_task;     /* that waits, UINT64_MAX: the orchestration does; of the blamed rank */
  const void *call, *its_call; /* where they were submitted; of this process, NULL: not known */
  uint64_t comm;
  uint32_t signal;      /* of comm; UINT32_MAX: it is no signal that it waits for */
  uint32_t compare;     /* PTO_IF_GE or PTO_IF_EQ, with the next */
  int32_t value, found; /* that it waits for; that the signal has */
  uint8_t why;          /* enum pto_stuck_why */
  uint32_t alike;       /* of these that have returned: how many, of which the blamed one is the first */
  bool is_cause;        /* the blamed rank will not do it, whatever others do */
  bool has_put;         /* the blamed rank has, into the window */
  char kernel[64];
  char text[PTO_SENTENCE_SIZE];
};

/* What is on the fabric of a part. */
struct pto_world_flow {
  bool is_there;
  struct pto_world_message *message, *landed; /* for ranks of this part; NULL: they are another one's */
};

struct pto_part {
  struct pto_world *world;
  uint32_t index, first, end; /* its ranks: first to end - 1 */
  struct pto_rank *ranks;     /* the first one's on */
  struct pto_fabric *fabric;
  pto_rank_take *const *takes; /* by kind of message */
  uint64_t lookahead_ps;       /* the least between two of its ranks; PTO_WORLD_NEVER of one */
  uint64_t window_end;
  struct pto_rank *current; /* that runs now */
  struct pto_world_flow *flows;
  size_t flow_count, flow_capacity;
  struct pto_exchange_bytes out, in;  /* to all parts, and from all */
  uint64_t out_at;                    /* the earliest that another part has to do for what is in `out` */
  bool is_out_of_memory, has_stopped; /* some part is */
  struct pto_exchange_bytes stuck; /* where none goes on: struct pto_stuck_wait of all parts, the first cause first */
  struct pto_error error;          /* of the world, the same in each part */
};

/* Where in the program a call stands, "moe.c:110 (moe.c:57)", `outer` as in struct pto_trace_task; "" where it is not
 * known.  Any thread. */
typedef void pto_name_call(void *context, const void *call, const void *outer, char *text, size_t size);

struct pto_world {
  struct pto_chip *chip;
  uint32_t rank_count, part_count;
  bool has_rank_threads;
  uint64_t between_ps;    /* the least between two ranks of different parts; PTO_WORLD_NEVER of one part */
  struct pto_part *parts; /* by index; zeroed: those of other processes */
  struct pto_exchange *exchange, *threads; /* threads: its own; NULL: it was given */
  int (*main)(struct pto_rank *rank, void *context);
  void *context;
  struct pto_error error;
  bool has_run;
  pthread_mutex_t starting; /* held until has_threads is known */
  bool has_threads;         /* one for each part */
  pto_name_call *name_call; /* NULL: sentences have no places */
  void *name_context;
};

static inline uint64_t pto_world_add(uint64_t time, uint64_t duration) {
  return duration >= PTO_WORLD_NEVER - time ? PTO_WORLD_NEVER : time + duration;
}

/* The first part of this process: of all that parts know alike. */
static inline const struct pto_part *pto_world_part(const struct pto_world *world) {
  return &world->parts[world->exchange->first];
}
static inline bool pto_part_has(const struct pto_part *part, uint32_t rank) {
  return rank >= part->first && rank < part->end;
}
static inline struct pto_rank *pto_part_rank(const struct pto_part *part, uint32_t rank) {
  return &part->ranks[rank - part->first];
}

/* ---- world.c ---- */

/* As pto_world_create, with parts in several processes; borrowed until the world is destroyed.  NULL: in this one.
 * Ranks of other processes are not there: pto_world_rank is NULL. */
PTO_MUST_CHECK int pto_world_create_across(const struct pto_world_config *config, struct pto_exchange *processes,
                                           struct pto_world **world_out, char *sentence, size_t sentence_size);

/* Before it runs. */
void pto_world_name_calls(struct pto_world *world, pto_name_call *name_call, void *context);
/* The rank goes on so much later from each communicator that it makes: where all have come, and before it does anything
 * that others could see. */
void pto_world_delay(struct pto_world *world, uint32_t rank, uint64_t delay_ps);
/* Each of these of the rank's kernels takes so much longer. */
void pto_world_delay_cores(struct pto_world *world, uint32_t rank, enum pto_late kind, uint64_t delay_ps);

/* ---- part.c ---- */

/* The least between two ranks of different parts. */
uint64_t pto_world_between_ps(const struct pto_world *world, const struct pto_fabric *fabric);
/* The part of that index, of a world that is complete but for its parts. */
PTO_MUST_CHECK int pto_part_init(struct pto_part *part, struct pto_world *world, uint32_t index,
                                 struct pto_error *error);
void pto_part_fini(struct pto_part *part);
/* All of its ranks, from begin to end, on the calling thread; their status is in part->error then. */
void pto_part_run(struct pto_part *part);

/* ---- rank.c ---- */

bool pto_rank_init(struct pto_rank *rank, struct pto_part *part, uint32_t index);
void pto_rank_fini(struct pto_rank *rank);
/* What the rank's engine does now, on the world's clock. */
uint64_t pto_rank_now(const struct pto_rank *rank);
/* A message of the rank `source`, with room for `bytes`; NULL: no memory. */
struct pto_world_message *pto_rank_message(struct pto_rank *source, uint32_t target, uint8_t kind, uint64_t bytes);
/* Takes the message, which comes to the rank at message->at.  False: no memory, and it is freed. */
bool pto_rank_push_message(struct pto_rank *rank, struct pto_world_message *message);
/* The same for the rank that is its target, perhaps of another part. */
bool pto_part_send(struct pto_part *part, struct pto_world_message *message);
/* Lets the rank run, up to `horizon`; one that is over takes what comes first. */
void pto_rank_run(struct pto_rank *rank, uint64_t horizon);
/* PTO_WORLD_NEVER: there is none. */
uint64_t pto_rank_first_message_at(const struct pto_rank *rank);
/* Up to when the rank can go on, if it is the one whose turn it is. */
uint64_t pto_rank_horizon(const struct pto_rank *rank);
/* Whether the task of the group was skipped, as far as that is known. */
struct pto_comm_skip pto_comm_skip_of(const struct pto_rank *rank, const struct pto_comm_group *group);
/* From now on the horizon of the running rank is at most that. */
void pto_rank_limit(struct pto_rank *rank, uint64_t horizon);

/* ---- rank_thread.c ---- */

/* One that calls `its` at its first turn; NULL: no memory, or no thread. */
struct pto_rank_thread *pto_rank_thread_create(void (*its)(void *context), void *context);
/* After `its` has returned, or without it having begun.  NULL is allowed. */
void pto_rank_thread_destroy(struct pto_rank_thread *thread, bool has_ended);
/* Its turn: until it suspends, or `its` returns. */
void pto_rank_thread_resume(struct pto_rank_thread *thread);
/* On the thread: until its next turn. */
void pto_rank_thread_suspend(struct pto_rank_thread *thread);

/* ---- flows.c ---- */

/* Takes the message, which begins its way over the fabric at message->began_at; what it and message->landed say of
 * their time is set then.  False: no memory. */
bool pto_part_transfer(struct pto_part *part, struct pto_world_message *message);
/* Sends what arrives next, all of one picosecond. */
bool pto_part_advance_fabric(struct pto_part *part);
/* Takes in what other parts have told. */
bool pto_part_take_told(struct pto_part *part);
/* Frees what it was to hand over to other parts, where all have stopped. */
void pto_part_free_told(struct pto_part *part);

/* ---- communicator.c ---- */

/* That its kernels call so; NULL: there is none. */
struct pto_rank_comm *pto_rank_comm_at(const struct pto_rank *rank, uint64_t number);
/* Of a message; the rank knows it. */
struct pto_rank_comm *pto_rank_comm_of(const struct pto_rank *rank, uint64_t uid);
/* What its kernels call that; 0: the rank does not know it. */
uint32_t pto_rank_comm_number(const struct pto_rank *rank, uint64_t uid);
/* The place of one of its ranks. */
static inline uint32_t pto_comm_place_of(const struct pto_rank_comm *comm, uint32_t rank) {
  uint32_t place = 0;
  while (place < comm->size && comm->ranks[place] != rank) place++;
  PTO_ASSERT(place < comm->size);
  return place;
}
/* Where the window of the rank at that place is, for this rank: only its own has memory. */
void *pto_comm_window_addr(const struct pto_rank_comm *comm, uint32_t place);
pto_rank_take pto_rank_take_join;
/* What a rank asks of a group, and its parameters do not say. */
struct pto_comm_request {
  const void *call;         /* where the program asks for it */
  uint32_t reduction, root; /* of a collective: enum pto_reduction, a place; else 0 */
};
/* As pto_submit_group. */
PTO_MUST_CHECK int pto_comm_submit(struct pto_runtime *rt, struct pto_comm comm, const struct pto_launch *launch,
                                   const struct pto_param *params, uint32_t count,
                                   const struct pto_comm_request *request, struct pto_task *task_out);
void pto_rank_comm_destroy(struct pto_rank_comm *comm);
/* The n-th of the rank, which is not forgotten. */
static inline const struct pto_comm_group *pto_comm_group_at(const struct pto_rank_comm *comm, uint64_t n) {
  return &comm->groups[n - comm->forgotten_groups];
}
/* Which group of the rank the task is of, from 0 on; UINT64_MAX: none, or it is done. */
uint64_t pto_comm_group_of(const struct pto_rank *rank, const struct pto_rank_comm *comm, uint64_t task_number);

/* ---- remote.c ---- */

pto_rank_take pto_rank_take_signal;
pto_rank_take pto_rank_take_write;
pto_rank_take pto_rank_take_read;
pto_rank_take pto_rank_take_answer;

/* ---- record.c: runtime/trace/remote.h, where the rank's run records segments ---- */

/* A call of the core's kernel that began at `begin`, of the engine's time, and of which all but begin, end, task, core
 * and segment is in `call`.  `activity`: what it was from `begin` to now; PTO_ACTIVITY_COUNT: nothing, it ends later.
 */
void pto_rank_record_call(const struct pto_rank *rank, const struct pto_waiting_core *core, uint64_t begin,
                          uint32_t activity, struct pto_trace_remote call);
/* A wait for a signal, which was on its way from `sent_at` of the world's time on. */
void pto_rank_record_wait(const struct pto_rank *rank, const struct pto_waiting_core *core, uint64_t begin,
                          uint64_t sent_at, struct pto_trace_remote call);
/* One that takes no time. */
void pto_rank_record_now(const struct pto_rank *rank, const struct pto_waiting_core *core,
                         struct pto_trace_remote call);
/* A READ or a WRITE of `owner`'s window; layout->addr counts from its begin. */
void pto_rank_record_access(const struct pto_rank *rank, const struct pto_waiting_core *core, uint8_t kind,
                            uint64_t comm, uint32_t owner, const struct pto_remote_layout *layout);
/* What its orchestration did. */
void pto_rank_record(const struct pto_rank *rank, struct pto_trace_remote remote);

/* ---- layout.c ---- */

uint64_t pto_remote_bytes(const struct pto_remote_layout *layout);
/* Whether its elements lie side by side, in row-major order. */
bool pto_remote_is_dense(const struct pto_remote_layout *layout);
/* How many bytes from the first on it reaches. */
uint64_t pto_remote_span(const struct pto_remote_layout *layout);
/* Elements in row-major order; `base` is what layout->addr counts from. */
void pto_remote_gather(const struct pto_remote_layout *layout, const unsigned char *base, unsigned char *packed);
void pto_remote_scatter(const struct pto_remote_layout *layout, unsigned char *base, const unsigned char *packed);

/* ---- stuck.c ---- */

/* Why no rank of the world goes on.  All parts call it at once, and get the same sentence. */
void pto_part_describe_stuck(struct pto_part *part, char *text, size_t size);
/* What it has found, of all parts. */
static inline const struct pto_stuck_wait *pto_stuck_waits(const struct pto_part *part, size_t *count_out) {
  *count_out = part->stuck.count / sizeof(struct pto_stuck_wait);
  return (const struct pto_stuck_wait *)(const void *)part->stuck.data;
}
/* The first wait of the rank that this one blames; `count`: it does not wait. */
size_t pto_stuck_next(const struct pto_stuck_wait *waits, size_t count, size_t at);
/* The wait that this one comes down to: the first one on along who is blamed that is a cause, or whose blamed rank does
 * not wait; `from` where they go round. */
size_t pto_stuck_cause(const struct pto_stuck_wait *waits, size_t count, size_t from);

#endif
