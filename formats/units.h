/* SPDX-License-Identifier: MIT */
/* Times and sizes as people read them.  Owns nothing; any thread. */
#ifndef PTO_UNITS_H
#define PTO_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* What stands behind a noun of which there are so many. */
static inline const char *pto_plural(uint64_t count) { return count == 1 ? "" : "s"; }

/* "12.3 ms" for seconds.  Returns `text`. */
const char *pto_format_seconds(double seconds, char *text, size_t size);
/* "4.0 MiB" for bytes.  Returns `text`. */
const char *pto_format_bytes(uint64_t bytes, char *text, size_t size);

#endif
