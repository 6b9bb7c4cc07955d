/* SPDX-License-Identifier: MIT */
/*
 * How stretches of cores are told: whose they are, and between which calls of the kernel, as their lines.
 *
 * Owns nothing.  After the unit's order is solved.  One thread.
 */
#ifndef PTO_CHECK_OBSERVE_CORE_STRETCHES_H
#define PTO_CHECK_OBSERVE_CORE_STRETCHES_H

#include <check/observe/cores.h>

static inline const struct pto_core_member *pto_cores_member_of(const struct pto_observe_cores *cores,
                                                                uint32_t record) {
  return &cores->members[cores->order.records[record].core];
}
/* "AIV1", "AIV1 of block 3" where the unit has several. */
void pto_cores_say_core(struct pto_observe_text *text, const struct pto_observe_cores *cores,
                        const struct pto_core_member *member);
/* "a.c:41"; "" where it is not known.  Both give `text`. */
const char *pto_cores_name_call(struct pto_observation *o, const void *call, char *text, size_t size);
const char *pto_cores_line_of(const struct pto_observe_cores *cores, const void *call, char *text, size_t size);
/* The core's next record after a stretch begins, but for operations on words; NO_RECORD: none. */
uint32_t pto_cores_next_of(const struct pto_observe_cores *cores, uint32_t record);
/* The call that a stretch ends with; NULL: the kernel's return, or none. */
const void *pto_cores_end_call(const struct pto_observe_cores *cores, uint32_t record);

static inline bool pto_cores_is_given(uint8_t kind) { return kind == PTO_CORE_SIGNALS || kind == PTO_CORE_PUSHES; }
/* Whether the stretch is a part of the call itself: a copy into a FIFO or out of one, or before what it waits for is
 * there. */
bool pto_cores_is_in_call(const struct pto_observe_cores *cores, uint32_t record);

/* Two stretches of which the first is to be over before the second, and whether that is for what they read. */
struct pto_cores_wanted {
  uint32_t first, second;
  bool is_read[2];
};

/* The operations on a word by which the core that reaches it in a record knows of another: the latest of that core
 * from `lo` up to `hi`; NO_RECORD: none. */
uint32_t pto_cores_find_word_of(const struct pto_observe_cores *cores, uint32_t reached, uint32_t core, uint32_t lo,
                                uint32_t hi);
/* The operation that let the second core know of the first one, which did its own before what is to come first: both
 * through *taken, the later one first.  False where there is none. */
bool pto_cores_find_word_taken(const struct pto_observe_cores *cores, const struct pto_cores_wanted *wanted,
                               uint32_t taken[2]);
/* "the atomic operation of AIV0 at a.c:4". */
void pto_cores_say_word(struct pto_observe_text *text, const struct pto_observe_cores *cores, uint32_t record);

#endif
