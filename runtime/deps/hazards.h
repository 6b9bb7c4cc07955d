/* SPDX-License-Identifier: MIT */
/*
 * Hazards: from the accesses of a new task to its edges, by the rules of the run, and the wiring of fan-in and fan-out.
 *
 * A submit goes  begin → explicit… → find (every access) → commit (every access) → end.  Find looks up and wires,
 * commit enters the accesses; in between nothing of the map changes.
 *
 *   exact:  RAW, WAW, WAR.   pto: RAW; WAW only where the later one is INOUT, or the earlier task allocated the buffer;
 * no WAR. A write replaces the accesses that it covers and has an edge to; so in a manual scope, whose tasks have
 * explicit edges alone, and under pto rules, it replaces only those.
 *
 * Edges are distinct pairs of tasks, whether the producer has finished or not; an edge to a finished one costs nothing
 * at run time.  A producer's slot carries the serial of the submit that last found it, which makes pairs distinct
 * without a set.
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
  uint64_t hash;
  uint64_t buffer_number; /* for records */
  uint32_t space;
  uint32_t entry; /* its own entry in the map; 0: none yet */
  uint32_t hit_begin, hit_end;
  uint16_t tag; /* PTO_TAG_… */
  bool was_searched;
  bool is_new; /* its entry was made by this submit */
};

struct pto_hazards {
  struct pto_access_map *map;
  struct pto_task_rings *rings;
  struct pto_list_chunks *chunks;
  struct pto_trace *trace; /* NULL or without the graph bit: edges are not recorded */
  enum pto_deps_rules rules;
  uint32_t serial;
  uint32_t consumer; /* slot of the task being submitted */
  bool is_manual;
  bool is_short;              /* a list chunk was wanted and there was none */
  bool has_released;          /* chunks of expired accesses, in this submit */
  bool is_out_of_chunks;      /* wanted again after that: live work has them all */
  uint32_t task_edges;        /* of the task being submitted */
  uint64_t edges, live_edges; /* of the run */
};

void pto_hazards_begin(struct pto_hazards *hazards, uint32_t consumer_slot, bool is_manual);
/* An edge that the orchestration asked for; the reference is visible. */
void pto_hazards_explicit(struct pto_hazards *hazards, struct pto_task_ref producer);
void pto_hazards_find(struct pto_hazards *hazards, struct pto_access *access);
/* Enters all accesses of the task. */
void pto_hazards_commit(struct pto_hazards *hazards, struct pto_access *accesses, uint32_t count);
/* False where list chunks ran out on the way: the run cannot go on. */
bool pto_hazards_end(struct pto_hazards *hazards);

/* A task that the host has to wait for before it reads (or writes) these bytes; UINT32_MAX where all have finished. */
uint32_t pto_hazards_find_unfinished(struct pto_hazards *hazards, uint32_t space, const struct pto_region *region,
                                     bool is_write);

#endif
