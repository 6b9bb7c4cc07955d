/* SPDX-License-Identifier: MIT */
/*
 * Structs of callers that begin with their size, and may be shorter or longer than this library's (pto/version.h).
 *
 * Pure functions; any thread.
 */
#ifndef PTO_SIZED_H
#define PTO_SIZED_H

#include <runtime/base/error.h>

/* Copies to `to`, of `size` bytes, what the caller's struct has of them; the rest of `to` stays as it is, and its own
 * size is `size`.  `given` may be NULL.  `name` is what the sentence calls it.  PTO_OK, or PTO_EINVAL: its size is not
 * set, or it has something set behind what this library knows. */
PTO_MUST_CHECK int pto_sized_take(void *to, size_t size, const void *given, const char *name, struct pto_error *error);
/* Fills the caller's struct from `from`, of `size` bytes, as far as it has room; its size stays. */
void pto_sized_give(void *given, const void *from, size_t size);

#endif
