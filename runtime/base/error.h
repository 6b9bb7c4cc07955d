/* SPDX-License-Identifier: MIT */
/*
 * One stored sentence: the status of what went wrong and the values that say why.
 *
 * Owned by the struct that embeds it (a runtime, a loader).  A later set replaces an earlier one; "first error of a
 * run" is the caller's rule.  One thread.  Never prints.
 *
 * Always true: a sentence is one line of UTF-8 without anything that a terminal obeys (pto_utf8_make_printable),
 * whatever was quoted in it from a file or a caller, and wherever that was cut.
 */
#ifndef PTO_ERROR_H
#define PTO_ERROR_H

#include <stdbool.h>
#include <stddef.h>

#include <pto/status.h>

#define PTO_SENTENCE_SIZE 1024

struct pto_error {
  int status;
  char sentence[PTO_SENTENCE_SIZE];
};

/* Whether the machine had no more of something, which says nothing of what was run. */
static inline bool pto_status_is_shortage(int status) { return status == PTO_ENOMEM || status == PTO_ESYSTEM; }

/* Stores the sentence (truncated to fit) and returns `status`: `return pto_error_set(e, PTO_EINVAL, "…", …);`. */
int pto_error_set(struct pto_error *error, int status, const char *format, ...) PTO_PRINTF(3, 4);
/* Adds to the stored sentence. */
void pto_error_append(struct pto_error *error, const char *format, ...) PTO_PRINTF(2, 3);
/* Copies the sentence to a caller's buffer (cut to `size` bytes; may be NULL) and returns the stored status. */
int pto_error_tell(const struct pto_error *error, char *sentence, size_t size);
void pto_error_clear(struct pto_error *error);

#endif
