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
 *   ends at     begin + work (timing.h), the sharers being those at that instant after all of its ends and begins;
 *   is visible, and the core free again, at   end + kernel_end_ps.
 * Events are taken in order of time; at one instant ends come before begins, each by core index.  The kernel runs when
 * its begin is taken, so kernels see memory in the order of their begins.
 *
 * A kernel that waits (waiting_core.h) runs in pieces, each when its time has come.  Work that it states takes what
 * timing.h says of it, the sharers being those at its beginning; an element takes the FIFO's time at either end; having
 * waited, even for what was there already, takes signal_ps.  A core that waits for another one has no event.
 *
 * Owns its memory (reserved at init, nothing allocated later).  One thread.
 */
#ifndef PTO_VIRTUAL_CORE_H
#define PTO_VIRTUAL_CORE_H

#include <runtime/trace/trace.h>
#include <sim/event_heap.h>
#include <sim/local_memory.h>
#include <sim/timing.h>
#include <sim/waiting_core.h>
#include <sim/watchdog.h>

#define PTO_VIRTUAL_SENTENCE_SIZE 512

struct pto_virtual_slot {
  struct pto_message message;
  uint64_t arrival;
  uint32_t group; /* index of its sync_start group + 1; 0: starts alone */
  int16_t status;
};

struct pto_virtual_core {
  uint32_t polled, done, begun, arrived, sent;
  uint32_t next_member; /* of the same group, waiting like this one; core index + 1, 0: last */
  uint64_t free_at;     /* when the last message begun is visible */
  bool moves_bytes;     /* the running kernel has a share of the bandwidth */
  bool is_on_fiber;     /* the running kernel waits, or may: its event is its next resume */
};

/* A sync_start group between its first message and its start. */
struct pto_virtual_group {
  uint64_t base;         /* latest max(arrival, free) of the members that are ready */
  uint32_t member_count; /* sent so far */
  uint32_t ready_count;  /* at the front of a core that is free */
  uint32_t first_member; /* of those; core index + 1 */
  bool is_closed;        /* the last member was sent */
};

struct pto_virtual_cores {
  const struct pto_port *port;             /* where the trace is found; borrowed */
  struct pto_watchdog_line *watchdog_line; /* NULL: nobody watches */
  struct pto_watchdog *watchdog;           /* the same */
  struct pto_timing timing;
  uint64_t kernel_start_ps, kernel_end_ps;
  uint32_t core_count, slots_per_core, slot_shift; /* 1 << slot_shift slots a core, a power of two */
  uint32_t sharers;                                /* cores whose kernel moves bytes now */
  struct pto_event_heap heap;
  struct pto_virtual_core *cores;
  struct pto_virtual_slot *slots;
  struct pto_core *views;
  uint32_t *instant;             /* cores that begin at one instant */
  struct pto_timing_load *loads; /* theirs */
  struct pto_virtual_group *groups;
  uint32_t *free_groups;
  uint32_t free_group_count, group_count;
  uint64_t now;       /* of the event being taken */
  uint64_t signal_ps; /* from a signal to the core that waits for it */
  struct pto_waiting_cores waiting;
  uint32_t open_group;                     /* index + 1 of the group being sent; 0: none */
  char *sentences;                         /* PTO_VIRTUAL_SENTENCE_SIZE a slot, of the kernels that failed */
  char message[PTO_VIRTUAL_SENTENCE_SIZE]; /* of the kernel that runs now */
  struct pto_reserve memory;
  struct pto_local_memories local;
};

#define PTO_VIRTUAL_NEVER UINT64_MAX
#define PTO_VIRTUAL_NO_CORE UINT32_MAX

/* PTO_OK or PTO_ENOMEM, half-made parts freed.  `port` and `chip` are borrowed, the chip for the call. */
PTO_MUST_CHECK int pto_virtual_cores_init(struct pto_virtual_cores *cores, const struct pto_chip *chip,
                                          const struct pto_port *port);
void pto_virtual_cores_fini(struct pto_virtual_cores *cores);
/* Forgets everything, messages in flight too. */
void pto_virtual_cores_reset(struct pto_virtual_cores *cores);

/* Takes a slot of message->core, which has one free. */
void pto_virtual_cores_send(struct pto_virtual_cores *cores, const struct pto_message *message);
/* The oldest message of `core` that was sent and has not arrived does so at `time`. */
void pto_virtual_cores_arrive(struct pto_virtual_cores *cores, uint32_t core, uint64_t time);
/* Takes the earliest event, at its time; returns the core that has a completion to be seen from then on, or
 * PTO_VIRTUAL_NO_CORE.  Call only where there is one. */
uint32_t pto_virtual_cores_step(struct pto_virtual_cores *cores);
/* Takes the oldest completion of a core that has one. */
struct pto_completion pto_virtual_cores_poll(struct pto_virtual_cores *cores, uint32_t core);
/* What the kernel of the completion polled last on `core` left; "" where it left nothing or did not fail. */
const char *pto_virtual_cores_sentence(const struct pto_virtual_cores *cores, uint32_t core);

/* PTO_VIRTUAL_NEVER where there is no event. */
static inline uint64_t pto_virtual_cores_next_time(const struct pto_virtual_cores *cores) {
  return cores->heap.count ? cores->heap.events[0].time : PTO_VIRTUAL_NEVER;
}

/* Where there is no event, and cores wait for each other: answers each of them that it does so for ever. */
bool pto_virtual_cores_break_deadlock(struct pto_virtual_cores *cores);

bool pto_virtual_cores_is_valid(const struct pto_virtual_cores *cores);

#endif
