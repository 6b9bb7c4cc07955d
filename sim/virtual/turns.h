/* SPDX-License-Identifier: MIT */
/*
 * The turns of a scheduler that goes round in a loop: when it looks at which core, and what it finds.
 *
 * A turn takes loop_ps + n · look_ps, where n is the number of its cores that run something: those with a message that
 * it has sent and not taken in.  It looks at them in order of their index, at the core of rank i until
 *     begin + loop_ps + (i + 1) · look_ps,
 * and finds what is visible at that moment.  After the looks it takes in what it has found, wires, and sends what was
 * asked for by then; the next turn begins when that is done.  n changes only by what it does itself, so turns in which
 * it does nothing are all alike, and none of them is gone through: the scheduler's clock stays where the first of them
 * began, and when something later is found is arithmetic.
 *
 * Always true: found_at is the end of the looks of the first turn that finds one of the completions that there are,
 * PTO_EVENT_NEVER where there are none; all that was found and not taken in is in found[found_next, found_count).
 * Owns nothing: the caller lends is_running and found, and holds the clock and the completions.  One thread.
 */
#ifndef PTO_SIM_VIRTUAL_TURNS_H
#define PTO_SIM_VIRTUAL_TURNS_H

#include <sim/virtual/event_queue.h>

struct pto_turns {
  uint64_t loop_ps, look_ps; /* loop_ps > 0 */
  uint64_t length_ps;        /* of a turn now */
  uint64_t found_at;
  uint64_t *is_running; /* a bit a core of the chip */
  uint32_t *found;      /* cores whose oldest completions were found, in the order in which they are taken in */
  uint32_t found_next, found_count;
  uint32_t running_count;
};

static inline uint64_t pto_turns_words(uint32_t core_count) { return (core_count + 63) / 64; }

static inline void pto_turns_set_count(struct pto_turns *turns, uint32_t count) {
  turns->running_count = count;
  turns->length_ps = turns->loop_ps + count * turns->look_ps;
}

static inline void pto_turns_reset(struct pto_turns *turns, uint32_t core_count) {
  for (uint32_t i = 0; i < pto_turns_words(core_count); i++) turns->is_running[i] = 0;
  turns->found_next = turns->found_count = 0;
  turns->found_at = PTO_EVENT_NEVER;
  pto_turns_set_count(turns, 0);
}

/* A message was sent to the core. */
static inline void pto_turns_add(struct pto_turns *turns, uint32_t core) {
  uint64_t *word = &turns->is_running[core / 64];
  const uint64_t bit = UINT64_C(1) << core % 64;
  if (!(*word & bit)) pto_turns_set_count(turns, turns->running_count + 1);
  *word |= bit;
}

/* The core's last message is taken in. */
static inline void pto_turns_remove(struct pto_turns *turns, uint32_t core) {
  turns->is_running[core / 64] &= ~(UINT64_C(1) << core % 64);
  pto_turns_set_count(turns, turns->running_count - 1);
}

/* Set bits; the machine's own instruction is not on every machine. */
static inline uint64_t pto_turns_count(uint64_t word) {
  word -= word >> 1 & UINT64_C(0x5555555555555555);
  word = (word & UINT64_C(0x3333333333333333)) + (word >> 2 & UINT64_C(0x3333333333333333));
  return ((word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f)) * UINT64_C(0x0101010101010101) >> 56;
}

/* How long after the begin of a turn the look at the core ends. */
static inline uint64_t pto_turns_look_after(const struct pto_turns *turns, uint32_t core) {
  uint64_t rank = 1 + pto_turns_count(turns->is_running[core / 64] & ((UINT64_C(1) << core % 64) - 1));
  for (uint32_t i = 0; i < core / 64; i++) rank += pto_turns_count(turns->is_running[i]);
  return turns->loop_ps + rank * turns->look_ps;
}

/* The scheduler has done something, which ended at `clock`: what is visible by now is found in the next turn. */
static inline void pto_turns_act(struct pto_turns *turns, uint64_t clock, bool has_completions) {
  turns->found_at = has_completions ? clock + turns->length_ps : PTO_EVENT_NEVER;
}

/* A completion of `core` is visible from `time` on; the turns that nothing was done in began at `clock`. */
static inline void pto_turns_note(struct pto_turns *turns, uint64_t clock, uint64_t time, uint32_t core) {
  const uint64_t look_at = clock + pto_turns_look_after(turns, core);
  uint64_t found_at = clock + turns->length_ps;
  if (time > look_at) found_at += (time - look_at + turns->length_ps - 1) / turns->length_ps * turns->length_ps;
  turns->found_at = pto_min_u64(turns->found_at, found_at);
}

static inline bool pto_turns_has_found(const struct pto_turns *turns) {
  return turns->found_next != turns->found_count;
}

/* When the scheduler does something next, where other work than completions came up at `asked` first. */
static inline uint64_t pto_turns_next(const struct pto_turns *turns, uint64_t clock, uint64_t asked) {
  if (pto_turns_has_found(turns) || asked <= clock) return clock;
  if (asked == PTO_EVENT_NEVER) return turns->found_at;
  const uint64_t turn_count = (asked - clock + turns->length_ps - 1) / turns->length_ps;
  return pto_min_u64(turns->found_at, clock + turn_count * turns->length_ps);
}

/* The looks of a turn end at `end`: what they found is to be taken in, in the order of the looks and of one core the
 * oldest first.  What was visible too late for its look stays among the completions. */
static inline void pto_turns_look(struct pto_turns *turns, struct pto_event_queue *completions, uint64_t end) {
  const uint64_t begin = end - turns->length_ps;
  uint32_t kept = completions->head;
  turns->found_next = turns->found_count = 0;
  for (uint32_t i = completions->head; i != completions->tail; i++) {
    const struct pto_event event = completions->ring[i & completions->mask];
    if (event.time > begin + turns->loop_ps && event.time > begin + pto_turns_look_after(turns, event.core)) {
      completions->ring[kept++ & completions->mask] = event;
      continue;
    }
    uint32_t at = turns->found_count++;
    for (; at > 0 && turns->found[at - 1] > event.core; at--) turns->found[at] = turns->found[at - 1];
    turns->found[at] = event.core;
  }
  pto_event_queue_cut(completions, kept);
}

/* The core of the first completion that was found, where there is one. */
static inline uint32_t pto_turns_take(struct pto_turns *turns) { return turns->found[turns->found_next++]; }

#endif
