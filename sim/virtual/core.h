/* SPDX-License-Identifier: MIT */
/*
 * The cores of the virtual-time engine: what they hold, when they begin and end, and the kernels that they really run.
 *
 * Each core has a queue of slots that a message passes in order, counted by free-running numbers:
 *   polled ≤ done ≤ begun ≤ arrived ≤ sent,   sent − polled ≤ slots_per_core,   begun − done ≤ 1.
 * sent: a slot is taken; arrived: its scheduler has written it to the core; begun: its kernel has run and its end is
 * known; done: the end has passed and the scheduler can see it; polled: the runtime has it and the slot is free.
 *
 * Rules of time, for a message that arrives at a on a core that is free from f on:
 *   begins at   max(a, f) + kernel_start_ps, or with its sync_start group at the latest of the members' such times;
 *               alone, and where it waited for the one before it (a < f), f + pending_start_ps;
 *               the first message of a core counts as one that arrived at a + pto_virtual_cold_start_ps;
 *   ends at     begin + work (timing.h), the sharers being those at that instant after all of its ends and begins;
 *   is visible, and the core free again, at   end + kernel_end_ps.
 * Where the chip has a table of kernel times or stages, work is what sim/kernel_times says; where there is jitter
 * (jitter.h), what that makes of it.
 * Where the chip shares anew, the work of a kernel that moves bytes ends when its stream (streams.h) has ended and its
 * compute time is over; until then its end is not known.  Where the chip has an L2 cache, what it moves of that is a
 * second stream, of the L2's rates, after the first: a core has one port.  What the L2 has is decided at the begin.
 * Events are taken in order of time; at one instant streams end first, then ends come before begins, each by core
 * index.  With one worker the kernel runs when its begin is taken, so kernels see memory in the order of their begins.
 *
 * A kernel that waits (waiting_core.h) runs in pieces, each when its time has come.  Work that it states takes what
 * timing.h says of it, the sharers being those at its beginning; an element takes the FIFO's time at either end; having
 * waited, even for what was there already, takes signal_ps.  A core that waits for another one has no event.
 *
 * What happens to every message is inline here: sent, arrived, ended, polled.
 *
 * With several workers (kernel_calls.h) the call is made between the event that begins it and the one that ends it, by
 * any thread, as long as no kernel waits and the orchestration does not poll memory.
 *
 * With an observer (sim/engine/observed_unit.h) it makes the calls that begin, one by one; those that wait are only
 * told to it.
 *
 * Owns its memory (reserved at init, nothing allocated later).  One thread, but for such calls.
 */
#ifndef PTO_SIM_VIRTUAL_CORE_H
#define PTO_SIM_VIRTUAL_CORE_H

#include <runtime/trace/segment.h>
#include <sim/chips/timing.h>
#include <sim/engine/observed_unit.h>
#include <sim/engine/solo.h>
#include <sim/kernel_times/call_times.h>
#include <sim/virtual/event_queue.h>
#include <sim/virtual/jitter.h>
#include <sim/virtual/kernel_calls.h>
#include <sim/virtual/l2_share.h>
#include <sim/virtual/streams.h>

#define PTO_VIRTUAL_SENTENCE_SIZE 512

struct pto_virtual_slot {
  _Alignas(PTO_CACHE_LINE) struct pto_message message;
  uint64_t arrival;
  uint32_t group; /* index of its sync_start group + 1; 0: starts alone */
  int32_t status;
};

/* Where the call of a kernel is that has begun and not ended. */
enum pto_virtual_call {
  PTO_CALL_RETURNED, /* it was made at the begin */
  PTO_CALL_OPEN,     /* another thread may be in it (kernel_calls.h) */
  PTO_CALL_ON_FIBER  /* it waits, or may: its event is its next resume */
};

struct pto_virtual_core {
  _Alignas(PTO_CACHE_LINE) uint32_t polled;
  uint32_t done, begun, arrived, sent;
  uint32_t next_member;           /* of the same group, waiting like this one; core index + 1, 0: last */
  uint64_t free_at;               /* when the last message begun is visible */
  uint64_t requested_at;          /* the engine's: the latest time at which a message to it was requested */
  struct pto_virtual_slot *slots; /* its own */
  uint8_t scheduler;              /* the engine's: the index of the one that owns it; stays at a reset */
  bool moves_bytes;               /* the running kernel has a share of the bandwidth */
  uint8_t call;                   /* the running kernel's: enum pto_virtual_call */
};
_Static_assert(sizeof(struct pto_virtual_slot) == PTO_CACHE_LINE && sizeof(struct pto_virtual_core) == PTO_CACHE_LINE,
               "a message touches one line of each");

/* A sync_start group between its first message and its start. */
struct pto_virtual_group {
  uint64_t base;         /* latest max(arrival, free) of the members that are ready */
  uint32_t member_count; /* sent so far */
  uint32_t ready_count;  /* at the front of a core that is free */
  uint32_t first_member; /* of those; core index + 1 */
  bool is_closed;        /* the last member was sent */
};

/* Of a core whose stream goes on: what follows when it ends. */
struct pto_virtual_transfer {
  uint64_t l2_bytes;           /* that it moves after those of the global memory */
  uint64_t compute_end;        /* when what its core does beside is done */
  uint64_t serial_ps;          /* what follows after both */
  uint64_t begin;              /* of the kernel; of one that waits, of what it moves now */
  uint64_t compute_ps;         /* that begins with it */
  uint64_t memory_ps;          /* what moving it would take alone; known where segments are recorded */
  uint32_t origin;             /* where its time comes from: enum pto_origin */
  struct pto_trace_span *span; /* whose end is open; NULL: none */
  struct pto_l2_share share;   /* of a kernel that waits, where the L2 goes by use */
};

/* The call that an observer makes. */
struct pto_virtual_observed {
  const struct pto_engine_observer *observer; /* NULL: there is none */
  const struct pto_message *message;
  uint32_t run_count;
  struct pto_observed_local local;
  enum pto_observed_core seen_core;         /* of its next runs */
  int status;                               /* of its first run, */
  char sentence[PTO_VIRTUAL_SENTENCE_SIZE]; /* and what that left */
};

struct pto_virtual_cores {
  struct pto_event_queue ends, begins;    /* by core index; an end is also the next resume of a kernel that waits */
  struct pto_streams streams, l2_streams; /* none where kernels keep the share of their begin */
  uint64_t streams_next_at;               /* the earlier one's */
  struct pto_virtual_core *cores;
  struct pto_virtual_slot *slots;
  struct pto_core *views;
  uint64_t kernel_start_ps, kernel_end_ps;
  uint64_t pending_start_ps, cold_start_ps;
  uint32_t slot_mask; /* a core has slot_mask + 1 slots, a power of two */
  uint32_t sharers;   /* cores whose kernel moves bytes now */
  uint64_t now;       /* of the event being taken */
  bool shares_anew;
  uint64_t l2_bytes;                      /* 0: there is none */
  struct pto_l2_cache l2;                 /* where it goes by use; else it has no pieces */
  uint64_t allocated_lo, allocated_hi;    /* where tasks allocate */
  const struct pto_port *port;            /* knows how much they have now */
  struct pto_virtual_transfer *transfers; /* by core */
  struct pto_trace_log *spans;            /* of the run's timeline; NULL: it has none */
  struct pto_trace_log *segments;         /* what time was spent on; NULL: that is not recorded */
  struct pto_trace_log *costs;            /* there where segments are */
  struct pto_trace_log *remotes;          /* the same, and the next */
  struct pto_trace_log *remote_regions;
  uint32_t resumed; /* the core whose kernel is on its fiber now */
  struct pto_timing timing;
  struct pto_call_times call_times; /* no places: the chip's rates say all */
  uint64_t l2_core_bandwidth_mbps, l2_chip_bandwidth_mbps;
  uint64_t origin_ps[PTO_ORIGIN_COUNT]; /* what calls have taken, by where that comes from */
  uint32_t core_count, slots_per_core;
  uint32_t *instant;           /* cores that begin at one instant */
  struct pto_call_time *calls; /* theirs */
  struct pto_virtual_group *groups;
  uint32_t *free_groups;
  uint32_t free_group_count, group_count;
  bool calls_at_begin; /* kernels are; else an observer calls them, none does, or other threads may be in them */
  bool skips_kernels;  /* they take their time and are not called */
  bool is_special;     /* kernels are skipped, or their times are not known at their begin, or vary */
  struct pto_jitter jitter;
  uint32_t open_group; /* index + 1 of the group being sent; 0: none */
  uint64_t signal_ps;  /* from a signal to the core that waits for it */
  uint64_t idle_since; /* since when nothing runs but cores that poll */
  char *sentences;     /* PTO_VIRTUAL_SENTENCE_SIZE a slot, of the kernels that failed */
  struct pto_reserve memory;
  struct pto_solo solo;
  struct pto_kernel_calls kernel_calls; /* of several threads; zeroed: there is one */
  struct pto_virtual_observed observed;
};

/* What kernels that wait do to the cores. */
extern const struct pto_waiting_hooks pto_virtual_waiting_hooks;

#define PTO_VIRTUAL_NEVER PTO_EVENT_NEVER
#define PTO_VIRTUAL_NO_CORE UINT32_MAX

/* `port` is the engine's, complete.  PTO_OK, or a negative status with the sentence in `error`, half-made parts freed.
 */
PTO_MUST_CHECK int pto_virtual_cores_init(struct pto_virtual_cores *cores, const struct pto_port *port,
                                          const struct pto_engine_config *config, struct pto_error *error);
void pto_virtual_cores_fini(struct pto_virtual_cores *cores);
/* Forgets everything, messages in flight too.  Spans go into `trace` from then on, where that has a timeline; `meter`,
 * which may be NULL, is told of kernel calls. */
void pto_virtual_cores_reset(struct pto_virtual_cores *cores, struct pto_trace *trace,
                             const struct pto_kernel_meter *meter);

/* What the kernel of the completion polled last on `core` left; "" where it left nothing or did not fail. */
const char *pto_virtual_cores_sentence(const struct pto_virtual_cores *cores, uint32_t core);

/* Where there is no event, and cores wait for each other: answers each of them that it does so for ever. */
bool pto_virtual_cores_break_deadlock(struct pto_virtual_cores *cores);
/* Of a rank of several: cores that poll memory look again. */
void pto_virtual_cores_look_again(struct pto_virtual_cores *cores);

bool pto_virtual_cores_is_valid(const struct pto_virtual_cores *cores);

/* ---- what a message may be besides ---- */

/* A message just sent that is part of a sync_start group, or whose task's kernels wait. */
void pto_virtual_cores_send_special(struct pto_virtual_cores *cores, struct pto_virtual_slot *slot);
/* The front message of `core` could begin from `base` on but belongs to the group `joined` (index + 1): the last member
 * that comes so far starts all. */
void pto_virtual_cores_wait_for_group(struct pto_virtual_cores *cores, uint32_t core, uint32_t joined, uint64_t base);
/* An event of `core`, whose call has not returned: runs its kernel until it waits or has returned.  True where the
 * event is the kernel's end; of a kernel that waits that is another one. */
bool pto_virtual_cores_go_on(struct pto_virtual_cores *cores, uint32_t core);
/* From now on, until the next reset, calls are made at their begin; those that are open have returned. */
void pto_virtual_cores_settle(struct pto_virtual_cores *cores);
/* With an observer: it makes the call; the status of the first run, whose sentence is in solo.message. */
int pto_virtual_cores_observe(struct pto_virtual_cores *cores, const struct pto_message *message);
/* For the observer: a run of that call, as pto_observed_unit_run. */
int pto_virtual_cores_run_observed(struct pto_virtual_cores *cores, struct pto_observed_fill fill);
/* As pto_observed_siblings. */
uint32_t pto_virtual_cores_siblings(const struct pto_virtual_cores *cores, const struct pto_message *message,
                                    struct pto_message *all, uint32_t capacity);
/* Ends the streams that end first, of one instant those of the L2 cache; their kernels' ends are known then. */
void pto_virtual_cores_end_streams(struct pto_virtual_cores *cores);
/* Takes the earliest begin, and all others of that instant. */
void pto_virtual_cores_begin(struct pto_virtual_cores *cores);

/* What the first message of a core takes besides: so much in the mean over any 12 cores that follow each other. */
uint64_t pto_virtual_cold_start_ps(uint64_t mean_ps, uint32_t core);

/* ---- what every message is ---- */

static inline struct pto_virtual_slot *pto_virtual_slot_at(const struct pto_virtual_cores *cores, uint32_t core,
                                                           uint32_t number) {
  return &cores->cores[core].slots[number & cores->slot_mask];
}

/* Takes a slot of message->core, which has one free. */
static inline void pto_virtual_cores_send(struct pto_virtual_cores *cores, const struct pto_message *message) {
  PTO_ASSERT(message->core < cores->core_count);
  struct pto_virtual_core *core = &cores->cores[message->core];
  PTO_ASSERT(core->sent - core->polled < cores->slots_per_core);
  struct pto_virtual_slot *slot = pto_virtual_slot_at(cores, message->core, core->sent++);
  slot->message = *message;
  slot->group = 0;
  if (PTO_UNLIKELY(message->flags & (PTO_MESSAGE_TOGETHER | PTO_MESSAGE_LAST | PTO_MESSAGE_WAITS)))
    pto_virtual_cores_send_special(cores, slot);
}

/* The message in `slot`, the first of `core` that has not begun, may do so from `base` on, if alone after `start_ps`.
 */
static inline void pto_virtual_cores_follow(struct pto_virtual_cores *cores, uint32_t core,
                                            const struct pto_virtual_slot *slot, uint64_t base, uint64_t start_ps) {
  if (PTO_UNLIKELY(slot->group))
    pto_virtual_cores_wait_for_group(cores, core, slot->group, base);
  else
    pto_event_queue_insert(&cores->begins, base + start_ps, core, core);
}

/* The oldest message of core `index` that was sent and has not arrived does so at `time`. */
static inline void pto_virtual_cores_arrive(struct pto_virtual_cores *cores, uint32_t index, uint64_t time,
                                            bool has_more) {
  struct pto_virtual_core *core = &cores->cores[index];
  struct pto_virtual_slot *slot = pto_virtual_slot_at(cores, index, core->arrived);
  PTO_ASSERT(core->arrived != core->sent);
  if (has_more && core->arrived == 0) time += pto_virtual_cold_start_ps(cores->cold_start_ps, index);
  slot->arrival = time;
  if (core->done != core->arrived++) return; /* waits behind others */
  PTO_ASSERT(time >= core->free_at);         /* its last end was taken, and nothing arrives in the past */
  pto_virtual_cores_follow(cores, index, slot, time, cores->kernel_start_ps);
}

/* The time of the earliest event; PTO_VIRTUAL_NEVER where there is none.  `has_more` here and below is a
 * constant where it is called: without it the chip has none of the optional rules. */
static inline uint64_t pto_virtual_cores_next_time(const struct pto_virtual_cores *cores, bool has_more) {
  const uint64_t next_at = pto_min_u64(cores->ends.next_at, cores->begins.next_at);
  return has_more ? pto_min_u64(next_at, cores->streams_next_at) : next_at;
}

/* Takes the earliest event, at its time; returns the core that has a completion to be seen from then on, or
 * PTO_VIRTUAL_NO_CORE.  Call only where there is one. */
static PTO_INLINE uint32_t pto_virtual_cores_step(struct pto_virtual_cores *cores, bool has_more) {
  if (has_more && cores->streams_next_at <= pto_virtual_cores_next_time(cores, false)) {
    pto_virtual_cores_end_streams(cores);
    return PTO_VIRTUAL_NO_CORE;
  }
  if (cores->begins.next_at < cores->ends.next_at) {
    pto_virtual_cores_begin(cores);
    return PTO_VIRTUAL_NO_CORE;
  }
  const struct pto_event event = pto_event_queue_pop(&cores->ends);
  struct pto_virtual_core *core = &cores->cores[event.core];
  cores->now = event.time;
  if (PTO_UNLIKELY(core->call != PTO_CALL_RETURNED) && !pto_virtual_cores_go_on(cores, event.core))
    return PTO_VIRTUAL_NO_CORE;
  cores->sharers -= core->moves_bytes;
  if (++core->done != core->arrived) { /* the next one follows at once */
    const struct pto_virtual_slot *slot = pto_virtual_slot_at(cores, event.core, core->done);
    const bool has_waited = has_more && slot->arrival < core->free_at;
    pto_virtual_cores_follow(cores, event.core, slot, pto_max_u64(slot->arrival, core->free_at),
                             has_waited ? cores->pending_start_ps : cores->kernel_start_ps);
  }
  return event.core;
}

/* Takes the oldest completion of core `index`, which has one. */
static inline struct pto_completion pto_virtual_cores_poll(struct pto_virtual_cores *cores, uint32_t index) {
  struct pto_virtual_core *core = &cores->cores[index];
  PTO_ASSERT(core->polled != core->done);
  const struct pto_virtual_slot *slot = pto_virtual_slot_at(cores, index, core->polled++);
  return pto_message_completion(&slot->message, slot->status);
}

#endif
