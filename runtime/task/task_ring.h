/* SPDX-License-Identifier: MIT */
/*
 * Task rings: the slots that tasks live in, from submit to retirement.
 *
 * PTO_RING_COUNT rings of `window` slots each, kept apart by scope depth; depths beyond share the last.  Sequence
 * numbers run free; slot = ring · window + sequence mod window.
 *     tail ≤ released_end ≤ open_begin ≤ head
 *     tail ≤ done_end ≤ head
 *     head − tail ≤ capacity ≤ window − 1
 * Tasks before open_begin belong to scopes that have ended; the task at open_begin, if any, is of an open scope.  So a
 * task can be RETIRABLE when it is completed, nothing holds its memory and its sequence is below released_end, and the
 * end of a scope costs O(1).  released_end is open_begin, but where the runtime keeps the memory of scopes that have
 * ended until it needs it (config.keep_released): then it is tail whenever no submit waits for room.  Only the
 * innermost scope submits, so a ring that one open scope uses holds its tasks as one run; in the last ring, which deep
 * scopes share, tasks of ended scopes behind the first one of an open scope wait for that scope, as retirement in order
 * makes them do anyway.
 *
 * Tasks before done_end have completed, and have no memory that anybody could hold: they are retired at once, unseen.
 * The slot of a retired task is FREE, or COMPLETED if it was before done_end.
 *
 * A task reference is 32 bits: the slot, and above it the low bits of how often the ring had gone round, which together
 * are the ring and the low 30 bits of the sequence.  It is *visible* while its slot has not come round again:
 * head − sequence ≤ window.  References are compared by difference only; their keeper drops
 * invisible ones before 2^29 further submits have gone by.
 *
 * Control thread only.  Owns the slots; payloads belong to the payload pool, list chunks to the chunk pool.
 */
#ifndef PTO_TASK_RING_H
#define PTO_TASK_RING_H

#include <runtime/base/reserve.h>
#include <runtime/memory/heap_ring.h>
#include <runtime/port/port.h>

#define PTO_RING_COUNT 4u
#define PTO_RING_BITS 2u
#define PTO_SEQUENCE_BITS (32u - PTO_RING_BITS) /* of a reference */
#define PTO_SEQUENCE_MASK ((1u << PTO_SEQUENCE_BITS) - 1u)
#define PTO_MIN_WINDOW UINT64_C(4) /* one slot stays free; fewer than three tasks alive: none runs beside another */
#define PTO_MAX_WINDOW (UINT64_C(1) << 24) /* so the accesses of four full rings, 33 a task, are counted in 32 bits */

/* FREE → WAITING → READY → RUNNING → COMPLETED → (RETIRABLE) → FREE; in an order that makes "has finished" one
 * comparison. RETIRABLE is not stored: it is COMPLETED, no holders, and below released_end. */
enum pto_task_state { PTO_TASK_FREE = 0, PTO_TASK_COMPLETED, PTO_TASK_WAITING, PTO_TASK_READY, PTO_TASK_RUNNING };
static inline bool pto_task_state_has_finished(uint8_t state) { return state <= PTO_TASK_COMPLETED; }

struct pto_task_ref {
  uint32_t bits;
};

enum pto_task_flags {
  PTO_TASK_HAS_PREDICATE = 1,
  PTO_TASK_SYNC_START = 2,
  PTO_TASK_SEQUENTIAL_BLOCKS = 4, /* ACCUMULATE: a block starts when the one before has completed */
  PTO_TASK_HAS_HELD = 8,          /* holds memory of other tasks */
  PTO_TASK_HAS_HEAP = 16,         /* has a piece of the heap ring */
  PTO_TASK_WAITS = 32,            /* a kernel of it waits for other cores */
  PTO_TASK_NO_KERNEL = 64,        /* a barrier, an allocation, or launched without */
  PTO_TASK_SINGLE = 128           /* one kernel, once, on one core, in no group, and it does not wait */
};

#define PTO_INLINE_CONSUMERS 6u

/* What fan-out and dispatch touch: one line. */
struct pto_task_slot {
  struct pto_task_ref ref;
  uint32_t pending;                         /* producers not completed; one more while the submit goes on */
  uint32_t holders;                         /* live tasks' parameters that hold memory of this task */
  uint8_t state;                            /* enum pto_task_state */
  uint8_t shape;                            /* enum pto_shape of the scheduler */
  uint8_t flags;                            /* enum pto_task_flags */
  uint8_t consumer_count;                   /* of the inline ones */
  uint32_t consumers[PTO_INLINE_CONSUMERS]; /* slots */
  uint32_t more_consumers;                  /* chunk list; 0: none */
  union {
    uint32_t messages_left; /* kernel calls not completed */
    uint32_t number;        /* for reports, once COMPLETED, and of tasks without a kernel: the task's, modulo 2^32 */
  };
  union {
    struct pto_payload *payload;     /* NULL without a kernel */
    const struct pto_kernel *kernel; /* for reports, once COMPLETED: its first one */
  };
  uint32_t blocks_left; /* blocks not dispatched */
  uint32_t block_count;
};
_Static_assert(sizeof(struct pto_task_slot) == PTO_CACHE_LINE, "one line a task");
_Static_assert(PTO_RING_COUNT == 1u << PTO_RING_BITS, "a ring is so many bits of a reference");

#define PTO_PREDICATE_SKIPPED 0x8000u

/* What only rare kinds of tasks, a recorded graph, and retirement touch.  Each field means something only
 * where its comment says so; the rest may be of an older task. */
struct pto_task_cold {
  uint64_t
      number; /* where the graph is recorded, or edges are reduced: in submission order, over all rings of the run */
  uint64_t heap_end; /* with PTO_TASK_HAS_HEAP: position behind the task's piece */
  union {
    const void *predicate_addr; /* with PTO_TASK_HAS_PREDICATE, and the next three */
    int64_t predicate_found;    /* where it has skipped the task: PTO_PREDICATE_SKIPPED is in predicate_compare then */
  };
  int64_t predicate_value;
  uint16_t predicate_dtype, predicate_compare;
  uint32_t kept; /* with PTO_TASK_HAS_HEAP: list of the records that outlive their scope; through next_in_scope */
  uint64_t
      ancestors;     /* where edges are reduced: of the 64 tasks before it, bit 0 the last, those that it comes after */
  const char *label; /* where label_number is the task's number, modulo 2^32, and label_run the run's generation above
                      * its lower half: so no submit without a label writes here */
  uint32_t label_number, label_run;
};
_Static_assert(sizeof(struct pto_task_cold) == PTO_CACHE_LINE, "one line a task");

struct pto_task_ring {
  uint64_t head, tail;   /* sequences: next to be given, oldest in use */
  uint64_t open_begin;   /* sequences from here on belong to open scopes */
  uint64_t released_end; /* sequences before here may be retired */
  uint64_t done_end;     /* sequences before here need not be looked at to be retired */
  uint64_t high_water;   /* most slots in use before the last retirement: pto_task_ring_high_water */
  uint32_t first_slot;   /* ring · window */
  uint32_t capacity;     /* slots that may be in use: at most window − 1 */
  struct pto_heap_ring heap;
};

struct pto_task_rings {
  struct pto_reserve memory;
  struct pto_task_slot *slots;
  struct pto_task_cold *cold;
  uint32_t *marks; /* serial of the last submit that found the slot's task as its producer, or an older one: dense, as a
                    * submit may find many old ones */
  uint32_t window; /* a power of two */
  uint32_t window_log2;
  uint32_t slot_mask; /* of all rings: what of a reference is the slot */
  struct pto_task_ring rings[PTO_RING_COUNT];
};

/* Rings of `window` slots and heaps of `heap_bytes` in the arena at `arena` (PTO_RING_COUNT · heap_bytes). */
bool pto_task_rings_init(struct pto_task_rings *rings, uint32_t window, void *arena, uint64_t heap_bytes);
void pto_task_rings_fini(struct pto_task_rings *rings);
/* A new run; sequences start at `first_sequence` (0; tests start just below a wrap). */
void pto_task_rings_reset(struct pto_task_rings *rings, uint64_t first_sequence);

static inline uint32_t pto_task_ring_of_depth(uint32_t depth) {
  return depth < PTO_RING_COUNT - 1 ? depth : PTO_RING_COUNT - 1;
}
static inline uint32_t pto_task_slot_index(const struct pto_task_rings *rings, uint32_t ring, uint64_t sequence) {
  return (ring << rings->window_log2) | ((uint32_t)sequence & (rings->window - 1));
}
static inline struct pto_task_ref pto_task_ref_in(const struct pto_task_rings *rings, const struct pto_task_ring *ring,
                                                  uint64_t sequence) {
  /* the laps stand PTO_RING_BITS higher than in the sequence: as many times more of them */
  const uint32_t laps = (uint32_t)sequence & ~(rings->window - 1);
  return (struct pto_task_ref){(uint32_t)sequence + (PTO_RING_COUNT - 1) * laps + ring->first_slot};
}
static inline struct pto_task_ref pto_task_ref_make(const struct pto_task_rings *rings, uint32_t ring,
                                                    uint64_t sequence) {
  return pto_task_ref_in(rings, &rings->rings[ring], sequence);
}
static inline uint32_t pto_task_ref_slot(const struct pto_task_rings *rings, struct pto_task_ref ref) {
  return ref.bits & rings->slot_mask;
}
static inline const struct pto_task_ring *pto_task_ref_ring(const struct pto_task_rings *rings,
                                                            struct pto_task_ref ref) {
  return &rings->rings[ref.bits >> rings->window_log2 & (PTO_RING_COUNT - 1)];
}
/* How many tasks its ring has had from this one on. */
static inline uint32_t pto_task_ref_age(const struct pto_task_rings *rings, struct pto_task_ref ref) {
  const uint32_t laps = ref.bits >> (rings->window_log2 + PTO_RING_BITS);
  const uint32_t sequence = laps << rings->window_log2 | (ref.bits & (rings->window - 1));
  return ((uint32_t)pto_task_ref_ring(rings, ref)->head - sequence) & PTO_SEQUENCE_MASK;
}
/* Whether the slot still is this task's: fewer than `window` later submits to its ring. */
static inline bool pto_task_ref_is_visible(const struct pto_task_rings *rings, struct pto_task_ref ref) {
  return pto_task_ref_age(rings, ref) <= rings->window;
}
/* The same, asked of the slot itself, once the newest task of the ring has its own. */
static inline bool pto_task_slot_is_of(const struct pto_task_slot *slot, struct pto_task_ref ref) {
  return slot->ref.bits == ref.bits;
}
/* Whether the task has kernels and has not finished. */
static inline bool pto_task_slot_has_payload(const struct pto_task_slot *slot) {
  return !pto_task_state_has_finished(slot->state) && !(slot->flags & PTO_TASK_NO_KERNEL) && slot->payload;
}
/* Its number in order of submission, modulo 2^32. */
static inline uint32_t pto_task_slot_number(const struct pto_task_slot *slot) {
  return pto_task_slot_has_payload(slot) ? (uint32_t)slot->payload->task_number : slot->number;
}
static inline bool pto_task_ring_is_full(const struct pto_task_ring *ring) {
  return ring->head - ring->tail >= ring->capacity;
}

static inline uint64_t pto_task_ring_high_water(const struct pto_task_ring *ring) {
  return pto_max_u64(ring->high_water, ring->head - ring->tail);
}

/* Takes the next slot of a ring that is not full: WAITING, with one pending for the submit, and nothing of the task
 * before.  The cold half is left as it is. */
static inline uint32_t pto_task_ring_alloc(struct pto_task_rings *rings, struct pto_task_ring *ring) {
  PTO_ASSERT(!pto_task_ring_is_full(ring));
  const struct pto_task_ref ref = pto_task_ref_in(rings, ring, ring->head);
  const uint32_t index = pto_task_ref_slot(rings, ref);
  struct pto_task_slot *slot = &rings->slots[index];
  PTO_ASSERT(pto_task_state_has_finished(slot->state));
  slot->ref = ref;
  slot->pending = 1;
  slot->holders = 0;
  slot->state = PTO_TASK_WAITING;
  slot->shape = 0;
  slot->flags = 0;
  slot->consumer_count = 0;
  slot->more_consumers = 0;
  slot->messages_left = 0;
  slot->payload = NULL;
  ring->head++;
  return index;
}
/* The newest task of the ring has completed, before any other was submitted to it, and has no heap piece. */
static inline void pto_task_ring_note_done(struct pto_task_ring *ring) {
  if (PTO_LIKELY(ring->done_end == ring->head - 1)) ring->done_end = ring->head;
}
/* Retires tasks from the tail on, as long as they are RETIRABLE, and gives their heap back.  True where any was
 * retired. */
bool pto_task_ring_retire(struct pto_task_rings *rings, uint32_t ring);
bool pto_task_rings_is_valid(const struct pto_task_rings *rings);

#endif
