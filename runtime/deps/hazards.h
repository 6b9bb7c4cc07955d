/* SPDX-License-Identifier: MIT */
/*
 * Hazards: from the accesses of a new task to its edges, by the rules of the run, and the wiring of fan-in and fan-out.
 *
 * A submit goes  begin → explicit… → enter → end.  Entering looks up what each access overlaps, wires the task behind
 * those tasks, and puts the access into the map.  Which pairs of accesses are edges stands in rules.h, as a table.
 *
 * Named rules (rules.h): a task that uses a buffer comes after the one that allocated it (pto_hazards_creator); tasks
 * of a manual scope look nothing up and enter nothing; edges that others imply are dropped, once all of a task are
 * found.
 *
 * A write replaces the accesses that it covers and has an edge to.  Where the rules give it an edge to all that it
 * overlaps, and no access of the task is fuzzy, each access is entered as soon as it is wired: accesses of one task
 * share no byte of which one is written, so what one of them enters changes nothing that later ones find.  Elsewhere,
 * and in manual scopes, whose tasks have explicit edges alone, all are wired before the first is entered.
 *
 * Edges are distinct pairs of tasks, whether the producer has finished or not; an edge to a finished one costs nothing
 * at run time.  A producer's mark is the serial of the submit that last found it, which makes pairs distinct
 * without a set; the new task's own mark is that too.
 *
 * A recorded run listens: it gets each edge and its reasons (runtime/submit/record.h), and changes nothing that
 * is done.
 *
 * Owns nothing but counts: map, rings and chunks are borrowed from the runtime, which has it as a part.  Control thread
 * only.
 */
#ifndef PTO_HAZARDS_H
#define PTO_HAZARDS_H

#include <runtime/deps/access_map.h>
#include <runtime/deps/rules.h>

/* What a new task does to one region. */
struct pto_access {
  struct pto_region region;
  uint64_t geometry_hash; /* pto_access_map_geometry_hash of the region */
  uint64_t buffer_number; /* for records */
  uint32_t space;
  uint16_t tag; /* PTO_TAG_… */
  uint8_t kind; /* pto_access_kind of the region */
};

/* What follows from the access's region, once that is set. */
static inline void pto_access_set_region(struct pto_access *access) {
  access->geometry_hash = pto_access_map_geometry_hash(&access->region);
  access->kind = pto_access_kind(&access->region);
}

/* Why a task comes after another: two accesses to the same bytes, or the orchestration said so. */
struct pto_edge {
  uint32_t producer, consumer;         /* slots */
  uint32_t reasons;                    /* enum pto_edge_reason bits */
  uint16_t producer_tag, consumer_tag; /* nothing where explicit, and the producer's of a creator */
  uint64_t begin, end;                 /* bounding addresses of the bytes both touch; 0, 0 where explicit */
  uint64_t buffer_number;
};

struct pto_hazards {
  struct pto_access_map *map;
  struct pto_task_rings *rings;
  struct pto_list_chunks *chunks;
  /* Told of each pair of accesses that is an edge, the edge's first or not; NULL: no listener. */
  void (*listener)(void *context, const struct pto_edge *edge);
  void *listener_context;
  struct pto_deps_table table;
  struct pto_task_slot *slots; /* of `rings`, as are the next two */
  uint32_t *marks;
  uint32_t slot_mask;
  bool is_manual;
  bool enters;            /* accesses of tasks stay in the map */
  bool replaces_all;      /* of what it covers: table.orders_writes, in no manual scope */
  bool has_creator_edges; /* the rule, in no manual scope */
  bool is_reduced;        /* the rule reduce-implied */
  uint32_t *found;        /* is_reduced: slots of the task's producers; borrowed, pto_hazards_found_capacity */
  uint32_t found_count;
  uint64_t dropped;      /* of the last task's edges: bit i, to the task i + 1 before it */
  uint64_t next_number;  /* is_reduced: of the task that is submitted next */
  bool is_out_of_chunks; /* in this run, which has failed by it: live work has them all */
  uint32_t serial;
  struct pto_task_ref consumer; /* the task being submitted */
  uint32_t task_live_edges;     /* of that: whose producers have not finished */
  uint64_t edges, live_edges;   /* of the run; live: but for those */
};

/* Every slot once by `after` or as a creator, and once by bytes. */
static inline uint64_t pto_hazards_found_capacity(uint64_t window) { return 2 * window * PTO_RING_COUNT; }

/* The kind of the scope that later tasks are of. */
static inline void pto_hazards_set_manual(struct pto_hazards *hazards, bool is_manual) {
  hazards->is_manual = is_manual;
  hazards->enters = !(is_manual && (hazards->table.named & PTO_DEPS_NAMED_MANUAL_ENTERS_NOTHING));
  hazards->replaces_all = hazards->table.orders_writes && !is_manual;
  hazards->has_creator_edges = (hazards->table.named & PTO_DEPS_NAMED_CREATOR_EDGES) && !is_manual;
}
/* Later tasks of the scope enter nothing; `is_manual`: nor do they look anything up.  Until the scope is set again. */
static inline void pto_hazards_set_entering_nothing(struct pto_hazards *hazards, bool is_manual) {
  pto_hazards_set_manual(hazards, is_manual);
  hazards->enters = hazards->replaces_all = false;
}
/* Whether tasks of the scope have no part in the map at all. */
static inline bool pto_hazards_looks_nothing_up(const struct pto_hazards *hazards) {
  return hazards->is_manual && !hazards->enters;
}
static inline bool pto_hazards_ignores_predicates(const struct pto_hazards *hazards) {
  return hazards->table.named & PTO_DEPS_NAMED_PREDICATE_ORDERS_NOTHING;
}
/* The serials have come round. */
PTO_COLD void pto_hazards_clear_marks(struct pto_hazards *hazards);

static inline void pto_hazards_begin(struct pto_hazards *hazards, struct pto_task_slot *consumer) {
  if (PTO_UNLIKELY(++hazards->serial == 0)) pto_hazards_clear_marks(hazards);
  hazards->consumer = consumer->ref;
  hazards->task_live_edges = 0;
}
/* An edge that the orchestration asked for; the reference is visible. */
void pto_hazards_explicit(struct pto_hazards *hazards, struct pto_task_ref producer);
/* has_creator_edges: the task accesses a buffer, through this parameter and these bytes, that `creator` allocated; both
 * slots. */
void pto_hazards_creator(struct pto_hazards *hazards, uint32_t creator, const struct pto_access *access);
/* All accesses of the task, in the order of its parameters; pto_access_map_make_room has been called. */
void pto_hazards_enter(struct pto_hazards *hazards, const struct pto_access *accesses, uint32_t count, bool has_fuzzy);
/* Whether the last task lost its edge to this one, both by number, because others imply it. */
static inline bool pto_hazards_has_dropped(const struct pto_hazards *hazards, uint64_t producer, uint64_t consumer) {
  return consumer - producer <= 64 && (hazards->dropped >> (consumer - producer - 1) & 1);
}
/* The task waits for its producers.  False where list chunks ran out on the way: the run cannot go on. */
static inline bool pto_hazards_end(struct pto_hazards *hazards, struct pto_task_slot *consumer) {
  consumer->pending += hazards->task_live_edges;
  hazards->live_edges += hazards->task_live_edges;
  return PTO_LIKELY(!hazards->is_out_of_chunks);
}

/* Forgets all accesses to these bytes, which go: what is in their place later is other memory.  All whose regions meet
 * them lie within them, and their tasks have finished. */
void pto_hazards_forget(struct pto_hazards *hazards, uint32_t space, const struct pto_region *region);
/* A task that the host has to wait for before it reads (or writes) these bytes; UINT32_MAX where all have finished. */
uint32_t pto_hazards_find_unfinished(struct pto_hazards *hazards, uint32_t space, const struct pto_region *region,
                                     bool is_write);
/* Of the tasks that write these bytes, finished or not, and that no later one has replaced: the slot of the one that
 * was submitted first; UINT32_MAX where there is none.  For rules that enter writers alone. */
uint32_t pto_hazards_first_writer(struct pto_hazards *hazards, uint32_t space, const struct pto_region *region);

#endif
