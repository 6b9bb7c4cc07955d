/* SPDX-License-Identifier: MIT */
/*
 * The seam between the runtime and whatever executes kernels: simulated cores on threads or in virtual time.  The
 * runtime holds a pto_port and calls its operations; an engine embeds a pto_port as its first member and implements
 * them.  Neither side sees more of the other than this header.
 *
 * Numbering: core = cluster · 3 + lane (lane 0 AIC, 1 AIV0, 2 AIV1).  A core runs what it is sent in order: one message
 * runs, up to slots_per_core − 1 wait behind it.  The runtime never sends more.
 *
 * Always true: every message dispatched yields exactly one completion.  in flight = dispatched − polled.
 *
 * The runtime that an engine is handed to owns its port and frees it by `destroy`.
 *
 * Threads: all operations are called by the control thread alone, between begin_run and end_run unless said otherwise.
 * Other threads call `call` alone.  It is not in `ops`, because an observer may replace `ops` in the middle of a run.
 *
 * Time.  `clock` is the virtual time (ps) of what the control thread does now: that of the orchestrator while it
 * submits, of a scheduler while it handles that scheduler's completion.  It stays 0 on engines whose time is real.  The
 * runtime passes the clock at which a task became ready with its messages, so that nothing starts before its cause.
 */
#ifndef PTO_PORT_H
#define PTO_PORT_H

#include <pto/kernel.h>
#include <pto/kernel_meter.h>
#include <runtime/base/base.h>
#include <runtime/base/probe.h>

struct pto_port;
struct pto_trace;
struct pto_core_waits;

/* What the cores need of a task; written by the control thread before the dispatch, read-only until its last
 * completion. In memory: this header, tensor_count tensors, scalar_count scalars, then the shapes and strides that the
 * tensors point to. */
struct pto_payload {
  uint64_t task_number; /* in submission order, for reports and records */
  uint32_t block_count;
  uint32_t size_class; /* the owner's, as is template_id */
  uint32_t template_id;
  /* In the order of struct pto_message, where they are copied to at once. */
  uint8_t first_role; /* the least index into kernels of one that is there */
  uint8_t tensor_count, scalar_count;
  uint8_t no_flags;                    /* 0: those of the message of a kernel alone on one core */
  const struct pto_kernel *kernels[3]; /* by role: aic, aiv0, aiv1; NULL where absent */
  uint32_t *held;                      /* the runtime's: slots whose memory the task holds */
  uint64_t
      held_count_and_guard; /* the runtime's: how many, and above that the kernel guard's address (kernel_guard.h) */
  struct pto_kernel_tensor tensors[];
};
_Static_assert(sizeof(struct pto_payload) == 64, "tensors start on the second cache line");

/* Cache lines behind the header that a kernel's call reads, mostly: to be fetched before. */
#define PTO_PAYLOAD_READ_LINES 3u

static inline union pto_scalar *pto_payload_scalars(struct pto_payload *payload) {
  return (union pto_scalar *)(void *)&payload->tensors[payload->tensor_count];
}

enum pto_message_flags {
  PTO_MESSAGE_BLOCKS = 1,   /* block_count > 1: read it from the payload */
  PTO_MESSAGE_TOGETHER = 2, /* member of a sync_start group: starts with the others */
  PTO_MESSAGE_LAST = 4,     /* the last message of that group */
  PTO_MESSAGE_WAITS = 8,    /* a kernel of its task waits: it runs on a stack of its own */
  PTO_MESSAGE_MAY_MOVE = 16 /* ordered by nothing: the engine may run it on any core of its kind, before or after others
                             * of its core; its completion says the core it was sent to */
};

/* One kernel call for one core.  Two fit a cache line. */
struct pto_message {
  const struct pto_payload *payload;
  int (*run)(const struct pto_kernel_args *);
  uint32_t ticket; /* the runtime's; comes back in the completion */
  uint32_t block_index;
  uint16_t core;
  uint8_t role; /* index into payload->kernels */
  uint8_t tensor_count;
  uint8_t scalar_count;
  uint8_t flags;       /* enum pto_message_flags */
  uint16_t rendezvous; /* the engine's: where cores that wait find each other */
};
_Static_assert(sizeof(struct pto_message) == 32, "two messages a cache line");
_Static_assert(PTO_MAX_TENSORS <= UINT8_MAX && PTO_MAX_SCALARS <= UINT8_MAX, "counts fit the message");

struct pto_completion {
  uint32_t ticket;
  uint16_t core;
  int16_t status; /* 0, or what the kernel returned (clamped to int16, never to 0) */
};
_Static_assert(sizeof(struct pto_completion) == 8, "eight completions a cache line");

static inline int16_t pto_completion_status(int status) {
  return (int16_t)(status > INT16_MAX ? INT16_MAX : status < INT16_MIN ? INT16_MIN : status);
}
/* Of the message, whose kernel returned `status`. */
static inline struct pto_completion pto_message_completion(const struct pto_message *message, int status) {
  return (struct pto_completion){message->ticket, message->core, pto_completion_status(status)};
}

/* Work of the control CPU that virtual time prices.  X(kind, name in the chip file). */
#define PTO_WORK_LIST(X)                                                                                               \
  X(PTO_WORK_SUBMIT, "submit")           /* a task's fixed part, on the orchestrator */                                \
  X(PTO_WORK_PARAM, "param")             /* a parameter */                                                             \
  X(PTO_WORK_LOOKUP, "lookup")           /* a region looked up in the map */                                           \
  X(PTO_WORK_EDGE, "edge")               /* an edge found */                                                           \
  X(PTO_WORK_ALLOC, "alloc")             /* an output allocated */                                                     \
  X(PTO_WORK_SCOPE, "scope")             /* a scope begun or ended */                                                  \
  X(PTO_WORK_HOST_ACCESS, "host_access") /* an element read or written by the orchestration */                         \
  X(PTO_WORK_DISPATCH, "dispatch")       /* a message sent, on the scheduler that owns the core; by the engine */      \
  X(PTO_WORK_POLL, "poll")               /* a completion taken in, on the same scheduler; by the engine */             \
  X(PTO_WORK_FANOUT, "fanout")           /* a consumer notified */                                                     \
  X(PTO_WORK_COMPLETE, "complete")       /* a task's completion, fixed part */

/* Prices that a chip file may leave out: X(kind, name, what they are then: another kind of this list or the one above,
 * or PTO_WORK_COUNT for nothing). */
#define PTO_MORE_WORK_LIST(X)                                                                                          \
  X(PTO_WORK_ALLOC_TENSORS, "alloc_tensors", PTO_WORK_SUBMIT) /* the fixed part of a call of alloc_tensors */          \
  X(PTO_WORK_MANUAL_LOOKUP, "manual_lookup", PTO_WORK_LOOKUP) /* a region, where the scope is manual */                \
  X(PTO_WORK_LOOKUP_ENTRY, "lookup_entry", PTO_WORK_COUNT)    /* an entry of the buffer that a lookup is in */         \
  X(PTO_WORK_FIRST_SUBMIT, "first_submit", PTO_WORK_COUNT)    /* of a run, beside what any submit takes */

/* Where the time of a kernel call comes from: X(kind, name in reports). */
#define PTO_ORIGIN_LIST(X)                                                                                             \
  X(PTO_ORIGIN_MEASURED, "measured")         /* a table of kernel times has its key */                                 \
  X(PTO_ORIGIN_INTERPOLATED, "interpolated") /* it has keys on either side */                                          \
  X(PTO_ORIGIN_MODELLED, "modelled")         /* by the stages of the chip file */                                      \
  X(PTO_ORIGIN_ASSUMED, "assumed")           /* by the rates of the chip file alone */

enum pto_origin {
#define X(kind, name) kind,
  PTO_ORIGIN_LIST(X)
#undef X
      PTO_ORIGIN_COUNT
};

enum pto_work {
#define X(kind, ...) kind,
  PTO_WORK_LIST(X) PTO_MORE_WORK_LIST(X)
#undef X
      PTO_WORK_COUNT
};

/* Who does it.  PTO_ACTOR_CURRENT: the scheduler whose completion is being handled, or the orchestrator in a submit. */
enum pto_actor { PTO_ACTOR_ORCHESTRATOR, PTO_ACTOR_CURRENT };

struct pto_port_ops {
  /* Between runs: gets ready, virtual clocks at 0; 0 or a negative status with the reason in `sentence`. */
  int (*begin_run)(struct pto_port *port, char *sentence, size_t sentence_size);
  void (*end_run)(struct pto_port *port); /* after the last completion was polled */
  /* Sends a message.  `ready_at` is the clock at which its task became ready.  May hold it back until flush, poll or
   * wait.  The messages of one block follow each other, and so do the blocks of a sync_start task; of a task whose
   * kernels wait none begins before all of them were sent.
   * True where the message MAY_MOVE and its kernel was run within the call: then *completion is its completion, and no
   * poll gives it. */
  bool (*dispatch)(struct pto_port *port, const struct pto_message *message, uint64_t ready_at,
                   struct pto_completion *completion);
  /* Virtual time: a task with so many edges was submitted, which a scheduler wires.  NULL: the orchestrator does, and
   * they are charged as PTO_WORK_EDGE. */
  void (*wire)(struct pto_port *port, uint64_t edges);
  void (*flush)(struct pto_port *port); /* NULL where nothing is held back */
  /* Takes up to `max` completions, never waiting for one; it may run kernels that this thread is to run.  Virtual time:
   * the one that a scheduler takes in next, where the orchestrator's clock has reached that moment, and the clock is
   * that scheduler's until the next poll, resume or wait. */
  uint32_t (*poll)(struct pto_port *port, struct pto_completion *completions, uint32_t max);
  /* The control thread goes on with the orchestration: `clock` is the orchestrator's again, at least `not_before` if it
   * had to wait for something that was true only then.  NULL: it is at any time. */
  void (*resume)(struct pto_port *port, uint64_t not_before);
  /* Nothing to do until something completes: runs kernels (one, or a few short ones), or blocks, or moves virtual time
   * to the next completion.  Call only with messages in flight.  Afterwards a poll may or may not give completions. */
  void (*wait)(struct pto_port *port);
  /* The same for a caller that looks at memory in between: also returns soon where nothing completes, in virtual time
   * at the next event, or when another rank has done something; then also with no message in flight.  False: nothing
   * will ever happen, on no rank.  NULL: wait does. */
  bool (*pause)(struct pto_port *port);
  /* The orchestration is about to look at memory itself: until the end of the run, what has begun in virtual time has
   * its results there.  NULL: it has, or time is real. */
  void (*settle)(struct pto_port *port);
  /* The sentence that the run's first failed kernel left, of those that the runtime was told of; it ran for `core`.  ""
   * where it left none. */
  const char *(*kernel_message)(struct pto_port *port, uint32_t core);
  /* The core that ran that kernel, as the kernel was told, where it was sent to `core`.  NULL: `core`. */
  uint32_t (*failed_core)(struct pto_port *port, uint32_t core);
  /* Which cores wait for which now; once the run has a completion with PTO_EDEADLOCK of a task that waits, those that
   * waited for ever.  For reports; NULL where no core ever waits. */
  void (*find_waits)(struct pto_port *port, struct pto_core_waits *waits);
  /* Before the first touch: tasks allocate in [addr, addr + size_bytes); asks for its pages where the cores want them.
   * NULL: no wish. */
  void (*bind_memory)(struct pto_port *port, void *addr, uint64_t size_bytes);
  void (*destroy)(struct pto_port *port);
  const struct pto_observed_ops
      *observed; /* how its kernel calls are watched (sim/engine/observed_unit.h); NULL: not */
};

#define PTO_PORT_RESOLVER UINT32_MAX

/* What the runtime may know of the machine under it; constant after creation but for `ops`, `clock` and the
 * four after it. */
struct pto_port {
  const struct pto_port_ops *ops;
  uint64_t clock;              /* ps; see above */
  uint64_t orchestrator_clock; /* while `clock` is a scheduler's */
  bool is_scheduler;           /* whose `clock` it is */
  uint32_t actor;              /* then: which one, or PTO_PORT_RESOLVER */
  uint64_t quiet_until;        /* a poll is known to give nothing, and to change nothing, while clock < quiet_until */
  const uint64_t *work_ps;     /* by enum pto_work: what pto_port_charge charges; NULL where time is real */
  bool is_virtual;             /* charges count and clock moves */
  bool has_more_prices;        /* some of PTO_MORE_WORK_LIST are not what they are where a chip file leaves them out */
  bool skips_kernels;          /* the runtime's wish: messages take their time, and nothing is called */
  bool looks_at_memory;        /* outputs lie apart, so that what runs off one is in unowned bytes (gm_arena.h) */
  bool asks_behind;            /* polls come behind submits and accesses by the host as well */
  uint32_t run_ahead;     /* unfinished tasks beyond which a submit waits for some of them; 0: the window decides */
  uint32_t cluster_count; /* cores = 3 · clusters */
  uint32_t visible_cluster_count; /* what programs see, where that is less than what tasks run on; 0: the same */
  uint32_t slots_per_core;        /* messages a core holds, the running one counted */
  uint32_t worker_count;          /* threads that run kernels, the control thread counted */
  const char *placement;          /* which CPUs they are bound to, in words; NULL: time is not real */
  uint64_t aiv_local_bytes;       /* UB */
  uint64_t aic_local_bytes;       /* L1 */
  uint64_t (*allocated_bytes)(const void *context); /* what tasks have allocated now; set by the runtime */
  const void *allocated_context;
  struct pto_trace *trace;                             /* where to record spans; NULL: nowhere */
  const struct pto_kernel_meter *meter;                /* told of kernel calls from the next run on; NULL: none is */
  uint64_t (*elapsed_ps)(const struct pto_port *port); /* virtual time of the run so far; NULL on real-time engines */
  const uint64_t *origin_ps; /* core time of the run so far by enum pto_origin; NULL where time is real */
  /* From any other thread, also between runs: a wait that goes on, or the next one, returns.  NULL on engines whose
   * time is virtual. */
  void (*call)(struct pto_port *port);
  /* Control thread → watchdog, while pto_run calls an orchestration: how many tasks it has submitted, and behind that
   * how many have completed.  Release and acquire hand over the pointer; the counts are sampled on purpose. */
  _Atomic(const uint64_t *) orchestration;
  const char *name;      /* "threads", "virtual" */
  const char *chip_name; /* for sentences */
};

/* How large the chip is for a program: for pto_core_count, and for what can ever fit. */
static inline uint32_t pto_port_visible_clusters(const struct pto_port *port) {
  return port->visible_cluster_count ? port->visible_cluster_count : port->cluster_count;
}

/* `count` pieces of work on an actor's clock, where is_virtual; but DISPATCH and POLL, which the engine charges in its
 * dispatch and poll: it knows the scheduler. */
static inline void pto_port_charge(struct pto_port *port, enum pto_actor actor, enum pto_work kind, uint32_t count) {
  uint64_t *clock = actor == PTO_ACTOR_CURRENT || !port->is_scheduler ? &port->clock : &port->orchestrator_clock;
  *clock += port->work_ps[kind] * count;
}

/* Fills the core's view and the arguments that point to it, for the call and for its cost. */
static inline void pto_message_args(const struct pto_message *message, struct pto_core *core,
                                    struct pto_kernel_args *args) {
  const struct pto_payload *payload = message->payload;
  core->block_index = message->block_index;
  core->role = message->role;
  core->block_count = (message->flags & PTO_MESSAGE_BLOCKS) ? payload->block_count : 1;
  args->tensors = payload->tensors;
  args->scalars = (const union pto_scalar *)(const void *)&payload->tensors[message->tensor_count];
  args->core = core;
  args->tensor_count = message->tensor_count;
  args->scalar_count = message->scalar_count;
}

/* Calls the kernel with what pto_message_args has filled in: the one place where a message becomes a call, for every
 * engine. */
static inline int pto_message_call(const struct pto_message *message, const struct pto_kernel_args *args) {
  PTO_PROBE3(kernel_begin, message->payload, message->core, message->run);
  const int status = message->run(args);
  PTO_PROBE3(kernel_end, message->payload, message->core, status);
  return status;
}
static inline int pto_message_run(const struct pto_message *message, struct pto_core *core) {
  struct pto_kernel_args args;
  pto_message_args(message, core, &args);
  return pto_message_call(message, &args);
}

/* Around a stretch in which a message's kernel runs; `meter` may be NULL. */
static inline void pto_meter_begin(const struct pto_kernel_meter *meter) {
  if (meter) meter->begin(meter->context);
}
static inline void pto_meter_end(const struct pto_kernel_meter *meter, const struct pto_message *message,
                                 const struct pto_core *core, bool has_returned) {
  if (meter)
    meter->end(meter->context, message->payload->kernels[message->role], (enum pto_core_kind)core->kind, has_returned);
}

#endif
