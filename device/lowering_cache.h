/* SPDX-License-Identifier: MIT */
/*
 * Lowering cache: the submits of programs that repeat, kept for each set of tensors.
 *
 * Owns its entries and their submits.  An entry belongs to a key: what the program is (orchestrate, context, repeats)
 * and the ids of the tensors bound to it, in order.  Ids of tensors never come again, so an entry whose tensors are
 * destroyed is never found; it is dropped for its memory's sake.  An entry may say that the program cannot be repeated
 * with these tensors: its submits are NULL.
 *
 * Always true: entries ≤ PTO_LOWERING_ENTRIES, their bytes ≤ PTO_CALL_LIST_BYTES; the entry used least recently
 * goes first.
 *
 * The executor looks up; the thread that changes entries holds the context's lock, and is the executor or finds it
 * idle.
 */
#ifndef PTO_LOWERING_CACHE_H
#define PTO_LOWERING_CACHE_H

#include <pto/device.h>
#include <runtime/submit/replay.h>

#define PTO_LOWERING_ENTRIES 64u

struct pto_lowering_key {
  const struct pto_device_program *program; /* of an entry: nothing but orchestrate, context, repeats and counts */
  const uint64_t *ids;                      /* inputs, outputs, constants */
};

struct pto_lowering_entry {
  uint64_t last_use, bytes;
  struct pto_device_program program; /* what the key names of it */
  uint64_t *ids;
  struct pto_call_list *submits; /* NULL: cannot be repeated */
};

struct pto_lowering_cache {
  struct pto_lowering_entry entries[PTO_LOWERING_ENTRIES]; /* the first `count` */
  uint32_t count;
  uint64_t bytes, uses;
};

/* Zeroed, a cache is empty. */
void pto_lowering_cache_fini(struct pto_lowering_cache *cache);
/* The entry of a key; NULL.  Borrowed until the cache changes. */
const struct pto_lowering_entry *pto_lowering_cache_find(struct pto_lowering_cache *cache,
                                                         const struct pto_lowering_key *key);
/* Takes `submits` (NULL: the key cannot be repeated), and keeps it under the key, which it does not have yet; or
 * destroys it where there is no memory. */
void pto_lowering_cache_insert(struct pto_lowering_cache *cache, const struct pto_lowering_key *key,
                               struct pto_call_list *submits);
/* Drops what belongs to a tensor; to a program, by what keys name of it. */
void pto_lowering_cache_drop_tensor(struct pto_lowering_cache *cache, uint64_t id);
void pto_lowering_cache_drop_program(struct pto_lowering_cache *cache, const struct pto_device_program *program);

#endif
