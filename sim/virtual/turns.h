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
 * Completions are events of the cores' ranks, and their times say when they are found: PTO_TURN_FOUND where they are
 * found and not taken in; PTO_TURN_NEXT at the end of the next turn, whenever that begins; else when the looks of a
 * later turn end, if nothing is done until then.  Once something is done, the next turn finds all that there is.
 *
 * Owns nothing: the caller lends is_running, and holds the clock and the completions.  One thread.
 */
#ifndef PTO_SIM_VIRTUAL_TURNS_H
#define PTO_SIM_VIRTUAL_TURNS_H

#include <sim/virtual/event_queue.h>

#define PTO_TURN_FOUND UINT64_C(0)
#define PTO_TURN_NEXT UINT64_C(1) /* a later turn ends later: at 2 at the earliest */

struct pto_turns {
  uint64_t loop_ps, look_ps; /* loop_ps > 0 */
  uint64_t length_ps;        /* of a turn now */
  uint64_t *is_running;      /* a bit a core of the chip */
};

static inline uint64_t pto_turns_words(uint32_t core_count) { return (core_count + 63) / 64; }

static inline void pto_turns_reset(struct pto_turns *turns, uint32_t core_count) {
  for (uint32_t i = 0; i < pto_turns_words(core_count); i++) turns->is_running[i] = 0;
  turns->length_ps = turns->loop_ps;
}

/* A message was sent to the core. */
static inline void pto_turns_add(struct pto_turns *turns, uint32_t core) {
  uint64_t *word = &turns->is_running[core / 64];
  const uint64_t bit = UINT64_C(1) << core % 64;
  if (!(*word & bit)) turns->length_ps += turns->look_ps;
  *word |= bit;
}

/* The core's last message is taken in. */
static inline void pto_turns_remove(struct pto_turns *turns, uint32_t core) {
  turns->is_running[core / 64] &= ~(UINT64_C(1) << core % 64);
  turns->length_ps -= turns->look_ps;
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

/* A completion of `core` is visible from `time` on; the turns that nothing was done in began at `clock`.  When it is
 * found. */
static inline uint64_t pto_turns_note(const struct pto_turns *turns, struct pto_event_queue *completions,
                                      uint64_t clock, uint64_t time, uint32_t core) {
  const uint64_t length_ps = turns->length_ps, next_at = clock + length_ps;
  const uint64_t look_at = time > clock + turns->loop_ps ? clock + pto_turns_look_after(turns, core) : time;
  if (time <= look_at) {
    pto_event_queue_insert(completions, PTO_TURN_NEXT, core, core);
    return next_at;
  }
  const uint64_t found_at = next_at + (time - look_at + length_ps - 1) / length_ps * length_ps;
  pto_event_queue_insert(completions, found_at, core, core);
  return found_at;
}

static PTO_NOINLINE void pto_turns_find_all_next(struct pto_event_queue *completions) {
  for (uint32_t i = completions->head; i != completions->tail; i++)
    if (completions->ring[i & completions->mask].time > PTO_TURN_NEXT)
      pto_event_queue_hasten(completions, i, PTO_TURN_NEXT);
}

/* The scheduler has done something. */
static inline void pto_turns_act(struct pto_event_queue *completions) {
  if (PTO_UNLIKELY(pto_event_queue_last(completions) > PTO_TURN_NEXT)) pto_turns_find_all_next(completions);
}

/* When the scheduler does something next, where other work than completions came up at `asked` first. */
static inline uint64_t pto_turns_next(const struct pto_turns *turns, const struct pto_event_queue *completions,
                                      uint64_t clock, uint64_t asked) {
  uint64_t found_at = completions->next_at;
  if (found_at == PTO_TURN_FOUND || asked <= clock) return clock;
  if (found_at == PTO_TURN_NEXT) found_at = clock + turns->length_ps;
  if (asked == PTO_EVENT_NEVER) return found_at;
  const uint64_t turn_count = (asked - clock + turns->length_ps - 1) / turns->length_ps;
  return pto_min_u64(found_at, clock + turn_count * turns->length_ps);
}

/* The looks of the turn that something is done after end at `end`: what they found is to be taken in, in the order of
 * the looks and of one core the oldest first. */
static inline void pto_turns_look(struct pto_event_queue *completions, uint64_t end) {
  const uint64_t found_at = completions->next_at;
  if (found_at != PTO_TURN_NEXT && found_at != end) return;
  for (uint32_t i = completions->head; completions->ring[i & completions->mask].time == found_at; i++)
    completions->ring[i & completions->mask].time = PTO_TURN_FOUND;
  completions->next_at = PTO_TURN_FOUND;
}

#endif
