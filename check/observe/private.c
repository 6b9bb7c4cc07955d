/* SPDX-License-Identifier: MIT */
/*
 * What a call finds in memory that its cores keep (pto_core_private).
 *
 * Which core runs a task is left to the scheduler, so a call must come out the same whichever calls have been on its
 * core: none, so that the memory is zero; or those of this run that were on another core, as the last one has left it
 * there.  A cache that a call can rebuild passes, and what one call leaves for another does not.
 *
 * The memory may hold pointers.  So the parent's is never set, as thread-local variables are not (thread.c): a child
 * process runs the call over it, and that which frees what it holds (`drop`) is given no other core's.
 */
#include <check/observe/state.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/grow.h>

/* Of all cores of a unit together; what would be more is not looked at. */
#define MOST_BYTES (UINT64_C(1) << 20)
#define WORD sizeof(uint32_t) /* as fine as it is searched */

static struct pto_observe_left_own *left_of(struct pto_observation *o, const struct pto_observe_own *own) {
  return &o->own_memory.left[own->role != PTO_ROLE_AIC];
}

/* Room for the core's bytes behind those of the others; false: it has none, or is not looked at. */
static bool add_bytes(struct pto_observation *o, struct pto_observe_own *own) {
  struct pto_observe_private *all = &o->own_memory;
  const uint64_t bytes = all->begun_bytes + pto_align_up(own->now.size_bytes, WORD);
  if (own->now.bytes && bytes > MOST_BYTES) own->now.bytes = NULL;
  if (!own->now.bytes) return false;
  if (bytes > all->begun_capacity) {
    uint8_t *grown = realloc(all->begun, bytes);
    uint8_t *other = grown ? realloc(all->other, bytes) : NULL;
    if (grown) all->begun = grown;
    if (other) all->other = other;
    o->summary.is_short |= !other;
    if (!other) own->now.bytes = NULL;
    if (!other) return false;
    all->begun_capacity = bytes;
  }
  own->at = all->begun_bytes;
  memset(all->begun + own->at, 0, bytes - own->at);
  all->begun_bytes = bytes;
  return true;
}

void pto_observe_private_begin(struct pto_observation *o) {
  struct pto_observe_private *all = &o->own_memory;
  all->count = 0;
  all->begun_bytes = 0;
  for (uint32_t i = 0; o->call.unit->waits && i < o->call.unit->count; i++) {
    const struct pto_message *message = &o->call.unit->messages[i];
    struct pto_observe_own *own = pto_grow(&all->cores, &all->count, &all->capacity, sizeof *own);
    o->summary.is_short |= !own;
    if (!own) return;
    *own = (struct pto_observe_own){.now = pto_observed_unit_own(o->port, message->core),
                                    .core = message->core,
                                    .role = message->role,
                                    .block_index = message->block_index};
    if (add_bytes(o, own)) memcpy(all->begun + own->at, own->now.bytes, own->now.size_bytes);
  }
}

void pto_observe_private_end_first(struct pto_observation *o) {
  for (size_t i = 0; i < o->own_memory.count; i++) {
    struct pto_observe_own *own = &o->own_memory.cores[i];
    const bool is_new = !own->now.bytes && !own->now.size_bytes;
    const struct pto_observed_own now = pto_observed_unit_own(o->port, own->core);
    if (own->now.bytes || is_new) own->now = now;
    if (is_new) (void)add_bytes(o, own);
  }
}

void pto_observe_private_leave(struct pto_observation *o) {
  for (size_t i = 0; i < o->own_memory.count; i++) {
    const struct pto_observe_own *own = &o->own_memory.cores[i];
    struct pto_observe_left_own *left = left_of(o, own);
    if (!own->now.bytes || own->now.has_drop) continue;
    uint8_t *bytes = left->size_bytes == own->now.size_bytes ? left->bytes : realloc(left->bytes, own->now.size_bytes);
    o->summary.is_short |= !bytes;
    if (!bytes) continue;
    memcpy(bytes, own->now.bytes, own->now.size_bytes);
    *left = (struct pto_observe_left_own){bytes, own->now.size_bytes, o->call.task.number};
  }
}

void pto_observe_private_fini(struct pto_observe_private *all) {
  free(all->cores);
  free(all->begun);
  free(all->other);
  for (uint32_t i = 0; i < 2; i++) free(all->left[i].bytes);
  *all = (struct pto_observe_private){0};
}

/* ---- in a child ---- */

static void set(struct pto_observation *o, const void *context) {
  const struct pto_observe_private *all = &o->own_memory;
  const struct pto_observe_range *others = context;
  for (size_t i = 0; i < all->count; i++) {
    const struct pto_observe_own *own = &all->cores[i];
    for (uint64_t b = 0; own->now.bytes && b < own->now.size_bytes; b++) {
      const uint64_t at = own->at + b;
      own->now.bytes[b] = at >= others->lo && at < others->hi ? all->other[at] : all->begun[at];
    }
  }
}

/* With what other calls leave in words [first, end), and what the unit began with in the rest. */
static struct pto_observe_outcome run_with(struct pto_observation *o, uint64_t first, uint64_t end) {
  const struct pto_observe_range others = {first * WORD, end * WORD};
  return pto_observe_run_in_child(o, set, &others);
}

static bool words_matter(void *o, uint64_t first, uint64_t end) { return run_with(o, first, end).differs; }

/* The first word that matters, to the last one. */
static struct pto_observe_range search(struct pto_observation *o) {
  const uint64_t count = o->own_memory.begun_bytes / WORD;
  const struct pto_observe_range words = pto_observe_find_ends(0, count, words_matter, o);
  return (struct pto_observe_range){words.lo * WORD, words.hi * WORD};
}

/* Whether what is in `other` makes a difference; then it is told, as `words` say what it is. */
static bool ask(struct pto_observation *o, const char *words) {
  const struct pto_observe_private *all = &o->own_memory;
  const uint64_t count = all->begun_bytes / WORD;
  if (memcmp(all->begun, all->other, all->begun_bytes) == 0) return false;
  const struct pto_observe_outcome outcome = run_with(o, 0, count);
  if (!outcome.differs) return false;
  /* A pointer in what it began with may be one that a repeated run has freed: then the rest is not asked. */
  const struct pto_observe_outcome same = run_with(o, 0, 0);
  if (same.differs && !same.caught) return false;
  const bool is_searched = !outcome.caught && !same.caught;
  const struct pto_observe_range found = is_searched ? search(o) : (struct pto_observe_range){0, all->begun_bytes};
  const struct pto_observe_own *own = NULL; /* the first that has some of it */
  for (size_t i = 0; i < all->count; i++) {
    const struct pto_observe_own *core = &all->cores[i];
    if (core->now.bytes && core->at < found.hi && found.lo < core->at + core->now.size_bytes)
      if (!own || core->at < own->at) own = core;
  }
  if (own) pto_observe_report_private(o, own, found, words, &outcome);
  return true;
}

bool pto_observe_blame_private(struct pto_observation *o) {
  const struct pto_observe_private *all = &o->own_memory;
  if (!all->begun_bytes) return false;
  memset(all->other, 0, all->begun_bytes);
  for (size_t i = 0; i < all->count; i++)
    if (all->cores[i].now.bytes)
      memcpy(all->other + all->cores[i].at, all->cores[i].now.bytes, all->cores[i].now.size_bytes);
  return ask(o, "where the same call has been there before");
}

void pto_observe_judge_private(struct pto_observation *o) {
  const struct pto_observe_private *all = &o->own_memory;
  char words[96];
  if (!all->begun_bytes) return;
  memset(all->other, 0, all->begun_bytes);
  if (ask(o, "where no call has been there before")) return;
  bool any = false;
  memcpy(all->other, all->begun, all->begun_bytes);
  for (size_t i = 0; i < all->count; i++) {
    const struct pto_observe_own *own = &all->cores[i];
    const struct pto_observe_left_own *left = left_of(o, own);
    if (!own->now.bytes || own->now.has_drop || !left->bytes || left->size_bytes != own->now.size_bytes) continue;
    memcpy(all->other + own->at, left->bytes, left->size_bytes);
    if (!any)
      snprintf(words, sizeof words, "where it is as task %llu leaves it", (unsigned long long)left->task_number);
    any = true;
  }
  if (any) (void)ask(o, words);
}
