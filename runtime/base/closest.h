/* SPDX-License-Identifier: MIT */
/*
 * The known word that is nearest to one that was mistyped: begin → consider every known word → found.
 *
 * Distance is that of Damerau and Levenshtein, restricted (each letter moved at most once): letters inserted, left out,
 * replaced, and neighbours swapped; capitals count as small letters.  A word counts as near up to a third of the typed
 * word's length, and at least 1.
 *
 * A value; owns a copy of the best word.  One thread.
 */
#ifndef PTO_CLOSEST_H
#define PTO_CLOSEST_H

#include <stddef.h>
#include <stdint.h>

#define PTO_CLOSEST_MAX 63 /* letters; longer words are near to nothing */

struct pto_closest {
  const char *wanted;
  uint32_t distance; /* of `best`; past the limit: there is none */
  char best[PTO_CLOSEST_MAX + 1];
};

/* `wanted` is borrowed until found. */
void pto_closest_begin(struct pto_closest *closest, const char *wanted);
/* Of several equally near the first is kept. */
void pto_closest_consider(struct pto_closest *closest, const char *word);
/* "; did you mean \"bgemm\"?", or "" where nothing is near.  Borrowed: `text` holds at least PTO_CLOSEST_TEXT bytes. */
#define PTO_CLOSEST_TEXT (PTO_CLOSEST_MAX + 24)
const char *pto_closest_question(const struct pto_closest *closest, char *text);
/* The question for wanted[0 … length) and the names that stand `stride` bytes apart from `first` on. */
const char *pto_closest_among(const char *wanted, size_t length, const char *const *first, size_t count, size_t stride,
                              char *text);

#endif
