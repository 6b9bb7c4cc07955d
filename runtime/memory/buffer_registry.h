/* SPDX-License-Identifier: MIT */
/*
 * Buffer registry: which buffers exist, where their memory is, and how long their handles live.
 *
 * Owns the buffer records and the sorted list of external memory ranges.  A record is live while its scope is open:
 *     live  ⇔  record.id = handle.id and record.generation = handle.generation
 * (the end of a scope frees its records, so a stale handle finds another id or none), or, where the runtime keeps what
 * scopes release, while the memory has not been given back.  Registrations of external memory
 * whose ranges intersect share one range, and a range outlives its registrations, because accesses to that memory stay
 * visible.  A managed buffer has memory from its first write on (addr ≠ 0).
 *
 * Under the rule base-address (by_base) a range is instead the memory of all registrations with the same first byte,
 * and ranges may overlap.
 *
 * Records are numbered from 1 in each run, in order of creation, for people and dumps; registrations made outside a run
 * keep the numbers below.  Control thread only; capacity fixed at creation.
 */
#ifndef PTO_BUFFER_REGISTRY_H
#define PTO_BUFFER_REGISTRY_H

#include <pto/tensor.h>
#include <runtime/base/reserve.h>

#define PTO_NONE UINT32_MAX

enum pto_buffer_kind { PTO_BUFFER_FREE = 0, PTO_BUFFER_MANAGED, PTO_BUFFER_EXTERNAL };

struct pto_buffer_record {
  uint64_t id;         /* unique in the runtime's run; 0 where free */
  uint64_t generation; /* runtime, run and index, as in the handle */
  uint64_t addr;       /* of the first byte; 0: no memory yet */
  uint64_t size_bytes;
  uint32_t kind;       /* enum pto_buffer_kind */
  uint32_t space;      /* the address space of its accesses (access map); PTO_NONE before it has memory */
  uint32_t owner_slot; /* managed: slot of the task that allocated it */
  int32_t version;
  uint32_t scope_depth;
  uint32_t next_in_scope; /* next older record of the same scope; PTO_NONE at the end */
  uint32_t previous_in_scope;
  uint16_t is_released; /* managed: its scope has ended, and its memory is kept for now */
  uint16_t has_label;   /* in `labels` of the registry */
};
_Static_assert(sizeof(struct pto_buffer_record) == 64, "one cache line a buffer");

/* A maximal run of external memory: registrations that intersect share one; by_base: those that begin with lo. */
struct pto_external_range {
  uint64_t lo, hi; /* [lo, hi) */
  uint32_t space;
};

struct pto_buffer_registry {
  struct pto_reserve memory;
  struct pto_buffer_record *records;
  const char **labels;               /* by index, of records that have one */
  struct pto_external_range *ranges; /* sorted by lo, disjoint; by_base: each with another lo */
  bool by_base;                      /* the rule base-address */
  uint32_t range_count;
  uint32_t capacity;
  uint32_t used;      /* records ever touched */
  uint32_t free_head; /* free list through next_in_scope */
  uint32_t live_count;
  uint64_t next_id;
  uint64_t outside_ids; /* ids given to registrations made outside runs */
  uint64_t tag;         /* runtime and run, the upper half of every generation */
  uint64_t changes;     /* how often a record went, or got another version or space while it had memory: what was read
                         * of a record with memory stays true while this stays */
};

bool pto_buffer_registry_init(struct pto_buffer_registry *registry, uint32_t capacity, uint16_t runtime_tag);
void pto_buffer_registry_fini(struct pto_buffer_registry *registry);
/* A record with memory has another version or space now. */
static inline void pto_buffer_registry_note_change(struct pto_buffer_registry *registry) { registry->changes++; }
/* At the begin and at the end of a run: ids restart behind those of outside registrations, and a handle of the time
 * before can never meet a record of the time after. */
void pto_buffer_registry_new_epoch(struct pto_buffer_registry *registry);

/* A fresh record; NULL where all are live.  `*list_head` is the scope's list, which the record joins. */
struct pto_buffer_record *pto_buffer_registry_insert(struct pto_buffer_registry *registry, uint32_t kind,
                                                     uint32_t scope_depth, uint32_t *list_head);
void pto_buffer_registry_remove(struct pto_buffer_registry *registry, struct pto_buffer_record *record);
/* Moves a record to another scope's list: a buffer lives in the scope of the task that allocates it. */
void pto_buffer_registry_move(struct pto_buffer_registry *registry, struct pto_buffer_record *record,
                              uint32_t *from_head, uint32_t *to_head, uint32_t scope_depth);

static inline uint32_t pto_buffer_registry_index(const struct pto_buffer_registry *registry,
                                                 const struct pto_buffer_record *record) {
  return (uint32_t)(record - registry->records);
}

/* NULL where it has none. */
static inline const char *pto_buffer_registry_label(const struct pto_buffer_registry *registry,
                                                    const struct pto_buffer_record *record) {
  return record->has_label ? registry->labels[pto_buffer_registry_index(registry, record)] : NULL;
}

/* The live record of a handle; NULL where it is stale, foreign or no handle at all. */
static inline struct pto_buffer_record *pto_buffer_registry_lookup(const struct pto_buffer_registry *registry,
                                                                   const struct pto_buffer *buffer) {
  uint32_t index = (uint32_t)buffer->generation;
  if (PTO_UNLIKELY(index >= registry->used)) return NULL;
  struct pto_buffer_record *record = &registry->records[index];
  if (PTO_UNLIKELY(record->id != buffer->id || record->generation != buffer->generation || record->id == 0))
    return NULL;
  return record;
}
static inline struct pto_buffer pto_buffer_registry_handle(const struct pto_buffer_record *record) {
  struct pto_buffer buffer = {record->id, record->generation, record->kind == PTO_BUFFER_EXTERNAL ? record->addr : 0,
                              record->size_bytes};
  return buffer;
}

/* The ranges [first, last) that a registration of [lo, hi) is of: those that it intersects; by_base the one that begins
 * with lo.  Where there is none both are the place for a new one. */
void pto_buffer_registry_find_ranges(const struct pto_buffer_registry *registry, uint64_t lo, uint64_t hi,
                                     uint32_t *first_out, uint32_t *last_out);
/* How far external memory goes that this byte is in; false where it is in none. */
bool pto_buffer_registry_find_extent(const struct pto_buffer_registry *registry, uint64_t addr, uint64_t *lo_out,
                                     uint64_t *hi_out);
/* Puts [lo, hi) in place of the ranges [first, first + count), which it must contain.  False where the list is full. */
bool pto_buffer_registry_replace_ranges(struct pto_buffer_registry *registry, uint32_t first, uint32_t count,
                                        uint64_t lo, uint64_t hi, uint32_t space);
bool pto_buffer_registry_is_valid(const struct pto_buffer_registry *registry);

#endif
