/* SPDX-License-Identifier: MIT */
/*
 * Steps: which operations a thread does on words of memory, by looking at each of its instructions before it runs.
 *
 * For words by which cores order each other: what is done to them by atomic read-modify-writes, and loads and stores of
 * the same words, as an atomic load or store is an instruction like any other.  On x86-64 alone, where a program can
 * ask for a trap behind each instruction; elsewhere nothing is known.  A step costs some microseconds, and much more
 * where a sandbox handles the trap, so there is a limit.
 *
 *   begin → (go → … → pause)* → end
 *
 * The watch is told on the thread, in the midst of what it does: of an operation before it, and, where `reaches`
 * answers with true, behind it.
 *
 * One thread of the process at a time: the signal SIGTRAP is this module's between begin and end.
 */
#ifndef PTO_CHECK_OBSERVE_STEPS_H
#define PTO_CHECK_OBSERVE_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#define PTO_STEPS_MOST 100000u /* instructions */

enum pto_step_kind { PTO_STEP_LOADS, PTO_STEP_STORES, PTO_STEP_ATOMIC }; /* the last: a read-modify-write */

struct pto_step {
  const void *instruction;
  uint64_t addr; /* of the word */
  enum pto_step_kind kind;
};

struct pto_steps_watch {
  bool (*reaches)(void *context, const struct pto_step *step);
  void (*leaves)(void *context, const struct pto_step *step);
  void *context;
};

/* False where nothing can be known; then no end is due. */
bool pto_steps_begin(struct pto_steps_watch watch);
/* From now on instructions are looked at. */
void pto_steps_go(void);
void pto_steps_pause(void);
/* Whether all were, within the limit. */
bool pto_steps_end(void);

#endif
