/* SPDX-License-Identifier: MIT */
/* The tree is a splay tree: what is looked for becomes its root, and what is used again soon is found near it. */
#include <sim/virtual/l2_cache.h>

#include <string.h>

#define NONE 0u

void pto_l2_cache_reset(struct pto_l2_cache *cache, uint64_t bytes) {
  cache->bytes = bytes;
  cache->used_bytes = 0;
  cache->root = cache->free = NONE;
  cache->touched = 1;
  cache->in_tree = 0;
  cache->pieces[NONE] = (struct pto_l2_piece){.lo = 1};
  memset(cache->known, 0, sizeof cache->known);
}

/* ---- the tree ---- */

/* The piece with the byte `key` becomes the root; where there is none, the one before or after it. */
static void splay(struct pto_l2_cache *cache, uint64_t key) {
  struct pto_l2_piece *p = cache->pieces;
  uint32_t root = cache->root, less = NONE, more = NONE; /* where the next piece below, and above, the key goes */
  if (root == NONE) return;
  p[NONE].left = p[NONE].right = NONE;
  for (;;) {
    if (key < p[root].lo) {
      uint32_t next = p[root].left;
      if (next != NONE && key < p[next].lo) {
        p[root].left = p[next].right;
        p[next].right = root;
        root = next;
        next = p[root].left;
      }
      if (next == NONE) break;
      p[more].left = root;
      more = root;
      root = next;
    } else if (key >= p[root].hi) {
      uint32_t next = p[root].right;
      if (next != NONE && key >= p[next].hi) {
        p[root].right = p[next].left;
        p[next].left = root;
        root = next;
        next = p[root].right;
      }
      if (next == NONE) break;
      p[less].right = root;
      less = root;
      root = next;
    } else {
      break;
    }
  }
  p[less].right = p[root].left;
  p[more].left = p[root].right;
  p[root].left = p[NONE].right;
  p[root].right = p[NONE].left;
  cache->root = root;
}

static void remove_from_tree(struct pto_l2_cache *cache, uint32_t piece) {
  struct pto_l2_piece *p = cache->pieces;
  splay(cache, p[piece].lo);
  PTO_ASSERT(cache->root == piece);
  const uint32_t left = p[piece].left, right = p[piece].right;
  cache->root = left;
  if (left == NONE) {
    cache->root = right;
    return;
  }
  splay(cache, p[piece].lo); /* the last one before it, which has none on its right */
  p[cache->root].right = right;
}

/* The first piece that ends after `at`, which was splayed for; NONE where there is none. */
static uint32_t first_after(const struct pto_l2_cache *cache, uint64_t at) {
  const struct pto_l2_piece *p = cache->pieces;
  if (cache->root == NONE || p[cache->root].hi > at) return cache->root;
  uint32_t piece = p[cache->root].right;
  while (piece != NONE && p[piece].left != NONE) piece = p[piece].left;
  return piece;
}

/* ---- pieces ---- */

static uint32_t take_piece(struct pto_l2_cache *cache, uint64_t lo, uint64_t hi, bool is_written) {
  uint32_t piece = cache->free;
  if (piece != NONE)
    cache->free = cache->pieces[piece].left;
  else
    piece = cache->touched++;
  PTO_ASSERT(piece < PTO_L2_PIECES);
  cache->pieces[piece] = (struct pto_l2_piece){.lo = lo, .hi = hi, .is_written = is_written};
  cache->in_tree++;
  return piece;
}

static void drop_piece(struct pto_l2_cache *cache, uint32_t piece) {
  remove_from_tree(cache, piece);
  pto_l2_unlink(cache->pieces, piece);
  cache->pieces[piece] = (struct pto_l2_piece){.lo = 1, .left = cache->free};
  cache->free = piece;
  cache->in_tree--;
}

/* The oldest piece, or so many of its bytes. */
static void evict_oldest(struct pto_l2_cache *cache, uint64_t at_most, struct pto_l2_traffic *traffic) {
  const uint32_t oldest = cache->pieces[NONE].newer;
  struct pto_l2_piece *piece = &cache->pieces[oldest];
  const uint64_t bytes = pto_min_u64(piece->hi - piece->lo, at_most);
  PTO_ASSERT(oldest != NONE);
  if (piece->is_written) traffic->written_back += bytes;
  cache->used_bytes -= bytes;
  if (bytes == piece->hi - piece->lo)
    drop_piece(cache, oldest);
  else
    piece->lo += bytes;
}

/* A new piece in a gap that was splayed for. */
static uint32_t fill_gap(struct pto_l2_cache *cache, uint64_t lo, uint64_t hi, bool is_written) {
  const uint32_t piece = take_piece(cache, lo, hi, is_written), root = cache->root;
  struct pto_l2_piece *p = cache->pieces;
  if (root != NONE && p[root].hi <= lo) {
    p[piece].left = root;
    p[piece].right = p[root].right;
    p[root].right = NONE;
  } else if (root != NONE) {
    p[piece].right = root;
    p[piece].left = p[root].left;
    p[root].left = NONE;
  }
  cache->root = piece;
  cache->used_bytes += hi - lo;
  return piece;
}

/* The root ends at `at` from now on; what it had from there on is a piece of the same age. */
static uint32_t split_root(struct pto_l2_cache *cache, uint64_t at) {
  const uint32_t root = cache->root;
  struct pto_l2_piece *p = cache->pieces;
  const uint32_t rest = take_piece(cache, at, p[root].hi, p[root].is_written);
  p[root].hi = at;
  p[rest].right = p[root].right;
  p[root].right = rest;
  pto_l2_link(p, rest, root);
  return rest;
}

/* The piece that begins at `at` and ends at `hi` at the latest, as the newest one; what was not there is new in it. */
static uint32_t use_from(struct pto_l2_cache *cache, uint64_t at, uint64_t hi, bool is_written, uint64_t *missed) {
  struct pto_l2_piece *p = cache->pieces;
  splay(cache, at);
  uint32_t piece = first_after(cache, at);
  if (piece == NONE || p[piece].lo > at) {
    const uint64_t end = piece == NONE ? hi : pto_min_u64(hi, p[piece].lo);
    piece = fill_gap(cache, at, end, is_written);
    *missed += end - at;
  } else {
    if (p[piece].lo < at) {
      piece = split_root(cache, at);
      splay(cache, at);
    }
    if (p[piece].hi > hi) split_root(cache, hi);
    pto_l2_unlink(p, piece);
    p[piece].is_written |= is_written;
  }
  pto_l2_link_newest(p, piece);
  return piece;
}

void pto_l2_cache_use(struct pto_l2_cache *cache, uint64_t lo, uint64_t hi, bool is_read, bool is_written,
                      struct pto_l2_traffic *traffic) {
  struct pto_l2_piece *p = cache->pieces;
  uint64_t missed = 0;
  uint32_t before = NONE; /* the piece of this use that ends at `at` */
  PTO_ASSERT(lo < hi && hi - lo <= cache->bytes);
  for (uint64_t at = lo; at < hi; at = p[before].hi) {
    while (PTO_UNLIKELY(cache->in_tree + 4 > PTO_L2_PIECES)) {
      PTO_ASSERT(p[NONE].newer != before); /* which is the newest but for what was split from it */
      evict_oldest(cache, UINT64_MAX, traffic);
    }
    const uint32_t piece = use_from(cache, at, hi, is_written, &missed);
    if (before != NONE && p[before].is_written == p[piece].is_written) {
      const uint64_t end = p[piece].hi;
      drop_piece(cache, piece);
      p[before].hi = end;
    } else {
      before = piece;
    }
  }
  if (is_read) traffic->missed += missed;
  *pto_l2_cache_known(cache, lo) = before;
  while (cache->used_bytes > cache->bytes) evict_oldest(cache, cache->used_bytes - cache->bytes, traffic);
}

bool pto_l2_cache_is_valid(const struct pto_l2_cache *cache) {
  const struct pto_l2_piece *p = cache->pieces;
  uint64_t bytes = 0;
  uint32_t count = 0;
  for (uint32_t i = p[NONE].newer; i != NONE; i = p[i].newer) {
    if (p[i].lo >= p[i].hi || p[p[i].newer].older != i) return false;
    if (p[i].left != NONE && p[p[i].left].hi > p[i].lo) return false;
    if (p[i].right != NONE && p[p[i].right].lo < p[i].hi) return false;
    bytes += p[i].hi - p[i].lo;
    count++;
  }
  return bytes == cache->used_bytes && bytes <= cache->bytes && count == cache->in_tree;
}
