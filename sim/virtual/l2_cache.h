/* SPDX-License-Identifier: MIT */
/*
 * An L2 cache by use: which bytes of the global memory are in it, which of them were written and are not in the global
 * memory yet.
 *
 * Kept as pieces: ranges of bytes that were used last at the same time and are all written or all not.  A use of a
 * range makes its bytes the newest, in order of their addresses.  What was not there and is read was missed; what is
 * written is not fetched.  Where there is more than fits, the oldest bytes go, one by one; those that were written are
 * written back.  So what happens is that of single bytes: how they lie in pieces decides nothing, and of addresses only
 * which ranges have bytes in common.  (At most PTO_L2_PIECES − 3 pieces: before there are more, the oldest piece goes.)
 *
 * Always true: pieces are disjoint, a search tree by address and a list by age; used_bytes is their sum, at most
 * `bytes` after each use.  Owns nothing: the caller lends the pieces.  One thread.
 */
#ifndef PTO_SIM_VIRTUAL_L2_CACHE_H
#define PTO_SIM_VIRTUAL_L2_CACHE_H

#include <runtime/base/base.h>

#define PTO_L2_PIECES (UINT32_C(1) << 18)
#define PTO_L2_KNOWN_LOG2 12

struct pto_l2_piece {
  uint64_t lo, hi;      /* lo > hi: it is not in use */
  uint32_t left, right; /* in the tree, 0: none */
  uint32_t older, newer;
  bool is_written;
};

struct pto_l2_cache {
  uint64_t bytes, used_bytes;
  struct pto_l2_piece *pieces; /* the first is none: the list's two ends */
  uint32_t root;
  uint32_t free;             /* a list through `left` */
  uint32_t touched, in_tree; /* pieces that were ever used; that are now */
  uint32_t
      known[1u << PTO_L2_KNOWN_LOG2]; /* by address: a piece that was used there not long ago, if it is still that */
};

/* What uses have moved between the cache and the global memory. */
struct pto_l2_traffic {
  uint64_t missed, written_back;
};

void pto_l2_cache_reset(struct pto_l2_cache *cache, uint64_t bytes);
bool pto_l2_cache_is_valid(const struct pto_l2_cache *cache);

/* A piece leaves the list. */
static inline void pto_l2_unlink(struct pto_l2_piece *p, uint32_t piece) {
  p[p[piece].older].newer = p[piece].newer;
  p[p[piece].newer].older = p[piece].older;
}

/* `piece` becomes the next newer one than `older`. */
static inline void pto_l2_link(struct pto_l2_piece *p, uint32_t piece, uint32_t older) {
  p[piece].older = older;
  p[piece].newer = p[older].newer;
  p[p[older].newer].older = piece;
  p[older].newer = piece;
}

static inline void pto_l2_link_newest(struct pto_l2_piece *p, uint32_t piece) {
  const uint32_t older = p[0].older;
  p[piece].older = older;
  p[piece].newer = 0;
  p[older].newer = p[0].older = piece;
}

static inline uint32_t *pto_l2_cache_known(struct pto_l2_cache *cache, uint64_t lo) {
  return &cache->known[lo * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PTO_L2_KNOWN_LOG2)]; /* spread over the places */
}

/* A range of 1 to cache->bytes bytes is read, written or both (then first read); adds to *traffic. */
void pto_l2_cache_use(struct pto_l2_cache *cache, uint64_t lo, uint64_t hi, bool is_read, bool is_written,
                      struct pto_l2_traffic *traffic);

/* A shortcut for a range that is one piece, as most are that are used again: the same as pto_l2_cache_use, which takes
 * 200 instructions more and adds nothing to the traffic then.  False where it is none, and nothing has happened. */
static inline bool pto_l2_cache_touch(struct pto_l2_cache *cache, uint64_t lo, uint64_t hi, bool is_written) {
  struct pto_l2_piece *p = cache->pieces;
  const uint32_t piece = *pto_l2_cache_known(cache, lo);
  if (PTO_UNLIKELY(p[piece].lo != lo || p[piece].hi != hi)) return false;
  p[piece].is_written |= is_written;
  if (p[piece].newer == 0) return true; /* it is the newest */
  pto_l2_unlink(p, piece);
  pto_l2_link_newest(p, piece);
  return true;
}

#endif
