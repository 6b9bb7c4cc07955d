/* SPDX-License-Identifier: MIT */
/*
 * Cores whose kernels wait: a stack each, and the calls of pto/core.h made of rendezvous and of what an engine knows
 * about threads and time.  Both engines use it; they differ in the hooks.
 *
 * Owned by the engine, made at its creation; memory is reserved then, and touched from a core's first kernel on, as
 * most cores of most runs have none.  Always true: a core runs at most one kernel that waits, start to return;
 * pto_waiting_core_resume is called by one thread alone, that of the core, after its start and after each wake that the
 * engine was told of.  What the fiber does it does on that thread.
 *
 * A kernel's end: it has taken its turn if it takes turns at all, so blocks return in that order; what its cost
 * function states beyond what it said with pto_core_work is spent; then its rendezvous hears of it.
 */
#ifndef PTO_SIM_RENDEZVOUS_WAITING_CORE_H
#define PTO_SIM_RENDEZVOUS_WAITING_CORE_H

#include <sim/host/fiber.h>
#include <sim/rendezvous/core_watch.h>
#include <sim/rendezvous/rendezvous.h>

#define PTO_WAITING_SENTENCE_BYTES 512u
#define PTO_DEADLOCK_SENTENCE_BYTES                                                                                    \
  1024u /* PTO_SENTENCE_SIZE of runtime/base/error.h: the run's error is this sentence */

struct pto_waiting_core;

/* What the engines do differently; called on the fiber.  NULL: nothing. */
struct pto_waiting_hooks {
  void (*lock)(void *engine); /* around every call of rendezvous.h, and what `wake` does */
  void (*unlock)(void *engine);
  void (*wake)(void *engine, uint32_t core);                       /* under the lock: that core is to be resumed */
  void (*latency)(struct pto_waiting_core *core);                  /* of having waited */
  void (*transfer)(struct pto_waiting_core *core, uint64_t bytes); /* an element's way into or out of a FIFO */
  void (*work)(struct pto_waiting_core *core, const struct pto_cost *cost);
  void (*delay)(struct pto_waiting_core *core, uint64_t duration_ps); /* lets time pass, without work */
  /* Whether a kernel that makes a call is suspended first, and after what it has handed over, and woken at once: for
   * engines of one thread. */
  bool (*steps)(void *engine);
  uint64_t (*now_ns)(struct pto_waiting_core *core); /* NULL: time stands still */
};

struct pto_waiting_core {
  struct pto_core_port port; /* first: what the kernel's calls arrive at */
  struct pto_fiber fiber;
  struct pto_waiting_cores *all;
  struct pto_core *view; /* the engine's description of the core */
  struct pto_message message;
  struct pto_cost stated; /* by pto_core_work */
  int status;             /* of the kernel, once it has returned; what its completion is to say */
  uint64_t begin;         /* the engine's: when it began */
  uint64_t ran_ns;        /* the engine's, for the watchdog: what its pieces took so far */
  void *stack;            /* with its guard; NULL until its first kernel */
  const char *refusal;    /* why the kernel cannot run; NULL: it can */
  void *own;              /* memory that its kernels keep (pto_core_private) */
  const void *own_call;   /* the last call that asked for that memory returns to */
  uint64_t own_bytes;
  void (*drop_own)(void *memory);
  char *usual_message; /* view->message of kernels that do not wait */
  char sentence[PTO_WAITING_SENTENCE_BYTES];
};

struct pto_waiting_cores {
  struct pto_waiting_core *cores; /* by core index */
  bool *is_used;                  /* by core: it has had a kernel; before that all of it is 0 */
  uint32_t core_count;
  const struct pto_waiting_hooks *hooks;
  void *engine;
  void *rank;                           /* for the cores' ports */
  const struct pto_kernel_meter *meter; /* told of each stretch of a kernel; NULL: none.  Set between runs */
  const struct pto_core_watch *watch;   /* NULL: none.  Set between runs */
  struct pto_rendezvous_table rendezvous;
  char deadlock[PTO_DEADLOCK_SENTENCE_BYTES]; /* who waited for whom when it was broken; "": it was not */
  struct pto_core_waits deadlock_waits;       /* the same as data */
  const void *refused_call;                   /* as in struct pto_core_waits, as is refused_task */
  uint64_t refused_task;
  struct pto_reserve memory, stacks;
};

/* False where there is no memory, with nothing left behind. */
bool pto_waiting_cores_init(struct pto_waiting_cores *cores, uint32_t cluster_count, uint32_t slots_per_core,
                            const struct pto_waiting_hooks *hooks, void *engine);
/* A zeroed struct is allowed. */
void pto_waiting_cores_fini(struct pto_waiting_cores *cores);
/* Before a run: no rendezvous is left. */
void pto_waiting_cores_reset(struct pto_waiting_cores *cores);

/* Gives the message's core, which is idle, the message, which it copies; nothing runs yet.  The core. */
struct pto_waiting_core *pto_waiting_core_start(struct pto_waiting_cores *cores, const struct pto_message *message,
                                                struct pto_core *view);
/* Runs it until it waits or returns; true where it has returned, with `status`. */
bool pto_waiting_core_resume(struct pto_waiting_core *core);
/* What the kernel left, or who waited for whom; "" where it did not fail. */
const char *pto_waiting_core_sentence(const struct pto_waiting_core *core);

/* Whether the calling thread is in a kernel that waits, and `address` lies in the guard below its stack: it has none
 * left.  Async-signal-safe. */
bool pto_waiting_core_is_beyond_stack(uintptr_t address);

/* On the fiber: until pto_rendezvous_answer_peer is called for it.  What the kernel's call answers. */
int pto_waiting_core_wait_for_peer(struct pto_waiting_core *core, const struct pto_peer_wait *wait);

/* Nothing runs, and cores wait.  Under the lock: wakes those that poll once more; where that has led to nothing, all
 * wait for ever: writes `deadlock` and answers each of them PTO_EDEADLOCK. */
void pto_waiting_cores_break_deadlock(struct pto_waiting_cores *cores);
/* The second half of that, for a rank of several: all wait for ever, by `sentence`. */
void pto_waiting_cores_end_waits(struct pto_waiting_cores *cores, const char *sentence);
/* Under the lock: who waits for whom now, or did when a deadlock of this run was broken. */
void pto_waiting_cores_find_waits(const struct pto_waiting_cores *cores, struct pto_core_waits *waits);

#endif
