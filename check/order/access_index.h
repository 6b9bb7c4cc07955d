/* SPDX-License-Identifier: MIT */
/*
 * Access index: who has read or written which bytes, for analyses after a run.  Shares no code with the map of
 * runtime/deps but the exact overlap of two regions, so each can be held against the other.
 *
 * Spaces are numbered from 0: bytes of different spaces never overlap.  A *region* of the index is one byte set with
 * the accesses made to exactly it, newest first, reads and writes apart.  The regions of a space stand in a treap
 * ordered by their first byte, each node with the last end of its subtree: an interval tree (Cormen et al.,
 * Introduction to Algorithms, "interval trees"; Seidel and Aragon, "Randomized search trees", 1996), so a lookup costs
 * the logarithm of their number and the regions whose bounding ranges overlap its own.
 *
 * Regions of many columns of one matrix have bounding ranges that all overlap: there a lookup costs as many overlaps as
 * there are columns.
 *
 * Always true: a region in a treap has at least one access; the priorities are a hash of the region's number, so the
 * same program gives the same trees.  Nothing expires: what is to go is filtered out.
 *
 * Owns all its memory until fini.  One thread.
 */
#ifndef PTO_CHECK_ORDER_ACCESS_INDEX_H
#define PTO_CHECK_ORDER_ACCESS_INDEX_H

#include <runtime/base/base.h>
#include <runtime/tensor/region.h>

#define PTO_INDEX_NONE UINT32_MAX

struct pto_index_access {
  uint32_t node, access; /* what the caller calls them */
  uint32_t next;         /* older one of the same region; PTO_INDEX_NONE */
};

struct pto_index_region {
  struct pto_region region;
  uint64_t last_end; /* of the subtree */
  uint32_t left, right, priority;
  uint32_t space;
  uint32_t writes, reads; /* lists of accesses */
  bool is_live;
};

/* A region that shares a byte with the one that was looked for. */
struct pto_index_hit {
  uint32_t region;
  uint32_t relation; /* enum pto_overlap, of the one looked for to this one */
};

struct pto_access_index {
  uint32_t *roots; /* by space */
  uint64_t space_count;
  struct pto_index_region *regions;
  size_t region_count, region_capacity;
  uint32_t free_regions;
  struct pto_index_access *accesses;
  size_t access_count, access_capacity;
  uint32_t free_accesses;
  struct pto_index_hit *hits; /* of the last lookup */
  size_t hit_count, hit_capacity;
  uint32_t own; /* the region of exactly these fields that the last lookup met; PTO_INDEX_NONE */
};

/* PTO_OK or PTO_ENOMEM; fini of one that is zeroed or half made is allowed. */
PTO_MUST_CHECK int pto_access_index_init(struct pto_access_index *index, uint64_t space_count);
void pto_access_index_fini(struct pto_access_index *index);

/* Leaves in hits every region of the space that shares a byte with this one (fuzzy ones by their bounding ranges), in
 * the order of their first bytes.  PTO_OK or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_access_index_find(struct pto_access_index *index, uint32_t space,
                                         const struct pto_region *region);
/* Drops the accesses of a hit that `keep` does not want, and the region where none is left. */
void pto_access_index_filter(struct pto_access_index *index, uint32_t region,
                             bool (*keep)(void *context, const struct pto_index_access *access), void *context);
/* Adds an access to the region of the last lookup.  PTO_OK or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_access_index_add(struct pto_access_index *index, uint32_t space, const struct pto_region *region,
                                        bool is_write, uint32_t node, uint32_t access);

#endif
