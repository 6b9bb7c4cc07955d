/* SPDX-License-Identifier: MIT */
/*
 * Hazards: from the accesses of a new task to its edges, by the rules of the run, and the wiring of fan-in and fan-out.
 *
 * A submit goes  begin → explicit… → enter → end.  Entering looks up what each access meets, wires the task behind
 * those tasks, and puts the access into the map.  Under exact rules that is done access by access: what one of them
 * enters, later ones may find there, but pass over, and as accesses of one task share no byte of which one is written,
 * nothing else that they find has changed; a fuzzy one may miss what a write has replaced, but never an edge, since the
 * write has one to all of that: where reasons are recorded, and where what a write replaces depends on the edges of all
 * accesses, all are wired before the first is entered.
 *
 *   exact:  RAW, WAW, WAR.   pto: RAW; WAW only where the later one is INOUT, or the earlier task allocated the buffer;
 * no WAR. A write replaces the accesses that it covers and has an edge to; so in a manual scope, whose tasks have
 * explicit edges alone, and under pto rules, it replaces only those.
 *
 * Edges are distinct pairs of tasks, whether the producer has finished or not; an edge to a finished one costs nothing
 * at run time.  A producer's slot carries the serial of the submit that last found it, which makes pairs distinct
 * without a set; the new task's own slot carries it too.
 *
 * Control thread only.
 */
#ifndef PTO_HAZARDS_H
#define PTO_HAZARDS_H

#include <runtime/deps/access_map.h>
#include <runtime/trace/trace.h>

/* What a new task does to one region. */
struct pto_access {
  struct pto_region region;
  uint64_t geometry_hash; /* pto_access_map_geometry_hash of the region */
  uint64_t buffer_number; /* for records */
  uint32_t bucket;        /* of the region, once it has been looked for in the table */
  uint32_t space;
  uint16_t tag;                /* PTO_TAG_… */
  uint8_t kind;                /* pto_access_kind of the region */
  struct pto_access_hint hint; /* from the same parameter of earlier submits, where there were any */
};

/* What follows from the access's region, once that is set. */
static inline void pto_access_set_region(struct pto_access *access) {
  access->geometry_hash = pto_access_map_geometry_hash(&access->region);
  access->kind = pto_access_kind(&access->region);
}

struct pto_hazards {
  struct pto_access_map *map;
  struct pto_task_rings *rings;
  struct pto_list_chunks *chunks;
  struct pto_trace *trace; /* NULL or without the graph bit: edges are not recorded */
  enum pto_deps_rules rules;
  struct pto_task_slot *slots; /* of `rings`, as is the next */
  uint32_t slot_mask;
  uint32_t serial;
  uint32_t consumer; /* slot of the task being submitted */
  struct pto_task_ref consumer_ref;
  bool is_manual;
  bool is_direct;   /* exact rules, not manual, nothing recorded: every conflict is an edge, and no more */
  uint8_t shortage; /* enum pto_hazards_shortage of this submit */
  /* Of the run, and of it before the submit that goes on.  In this order: a wide load of two numbers of which one has
   * just been written waits for the store. */
  uint64_t edges, edges_before;
  uint64_t live_edges, live_edges_before; /* whose producers have not finished */
};

enum pto_hazards_shortage {
  PTO_HAZARDS_SHORT = 1,        /* a list chunk was wanted and there was none */
  PTO_HAZARDS_RELEASED = 2,     /* so chunks of expired accesses were released */
  PTO_HAZARDS_OUT_OF_CHUNKS = 4 /* wanted again after that: live work has them all */
};

/* The serials have come round. */
PTO_COLD void pto_hazards_clear_marks(struct pto_hazards *hazards);
/* The reasons of an edge follow each other, producers in the order of their submits. */
PTO_COLD void pto_hazards_group_records(struct pto_hazards *hazards);

/* What the tasks of the innermost scope depend on, from its begin, or the end of one within it, on. */
static inline void pto_hazards_set_scope(struct pto_hazards *hazards, bool is_manual) {
  hazards->is_manual = is_manual;
  hazards->is_direct = hazards->rules == PTO_DEPS_EXACT && !is_manual && !pto_trace_has_graph(hazards->trace);
}

static inline void pto_hazards_begin(struct pto_hazards *hazards, uint32_t consumer_slot) {
  if (PTO_UNLIKELY(++hazards->serial == 0)) pto_hazards_clear_marks(hazards);
  struct pto_task_slot *slot = &hazards->rings->slots[consumer_slot];
  slot->mark = hazards->serial;
  hazards->edges_before = hazards->edges;
  hazards->live_edges_before = hazards->live_edges;
  hazards->consumer_ref = slot->ref;
  hazards->consumer = consumer_slot;
}
/* An edge that the orchestration asked for; the reference is visible. */
void pto_hazards_explicit(struct pto_hazards *hazards, struct pto_task_ref producer);
/* All accesses of the task, in the order of its parameters; pto_access_map_make_room has been called. */
void pto_hazards_enter(struct pto_hazards *hazards, struct pto_access *accesses, uint32_t count);
/* Forgets the submit's shortage; false where it was one of live work. */
static inline bool pto_hazards_overcome_shortage(struct pto_hazards *hazards) {
  const uint8_t shortage = hazards->shortage;
  hazards->shortage = 0;
  return !(shortage & (PTO_HAZARDS_SHORT | PTO_HAZARDS_OUT_OF_CHUNKS));
}
/* Edges of the submit so far. */
static inline uint64_t pto_hazards_task_edges(const struct pto_hazards *hazards) {
  return hazards->edges - hazards->edges_before;
}
/* The task waits for its producers.  False where list chunks ran out on the way: the run cannot go on. */
static inline bool pto_hazards_end(struct pto_hazards *hazards, struct pto_task_slot *consumer) {
  consumer->pending += (uint32_t)(hazards->live_edges - hazards->live_edges_before);
  return PTO_LIKELY(!hazards->shortage) || pto_hazards_overcome_shortage(hazards);
}

/* Forgets all accesses to these bytes, which go: what is in their place later is other memory.  All whose regions meet
 * them lie within them, and their tasks have finished. */
void pto_hazards_forget(struct pto_hazards *hazards, uint32_t space, const struct pto_region *region);
/* A task that the host has to wait for before it reads (or writes) these bytes; UINT32_MAX where all have finished. */
uint32_t pto_hazards_find_unfinished(struct pto_hazards *hazards, uint32_t space, const struct pto_region *region,
                                     bool is_write);

#endif
