/* SPDX-License-Identifier: MIT */
/*
 * The words of a command line as values: numbers, sizes, times, and lists of words.
 *
 * Each function returns PTO_OK and sets the value, or PTO_EINVAL with a sentence that has the word, and sets nothing.
 * Any thread.
 */
#ifndef PTO_CLI_RUN_VALUES_H
#define PTO_CLI_RUN_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include <runtime/base/error.h>

/* "4M" is 4194304; K, M and G stand for 2^10, 2^20 and 2^30.  PTO_OK, or PTO_EINVAL. */
PTO_MUST_CHECK int pto_parse_bytes(const char *text, uint64_t *bytes, struct pto_error *error);
/* A decimal number from `least` to `most`. */
PTO_MUST_CHECK int pto_parse_u64(const char *text, uint64_t least, uint64_t most, uint64_t *value,
                                 struct pto_error *error);
/* A finite number ≥ 0. */
PTO_MUST_CHECK int pto_parse_double(const char *text, double *value, struct pto_error *error);
/* "5%" is 50000 and "0.5%" is 5000 millionths; at most PTO_JITTER_MOST_PPM. */
PTO_MUST_CHECK int pto_parse_jitter(const char *text, uint32_t *ppm, struct pto_error *error);

/* A list of strings that grows.  Its owner frees `items`; the strings are not the list's. */
struct pto_string_list {
  const char **items;
  size_t count, capacity;
};
/* PTO_ENOMEM without memory. */
PTO_MUST_CHECK int pto_string_list_add(struct pto_string_list *list, const char *text, struct pto_error *error);

#endif
