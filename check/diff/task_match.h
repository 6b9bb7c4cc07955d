/* SPDX-License-Identifier: MIT */
/*
 * Which task of one run is which of another, by what tasks say of themselves.
 *
 * First the longest common subsequence of all that they say; then, between those, of their form; then, in what is left
 * between, tasks of the same kernels in order, or all where they are as many on both sides.  Where the runs have too
 * little in common tasks are matched by number.
 *
 * Owns to_b and to_a until fini.  Always true: the two are inverse to each other, and strictly increasing where they
 * are not PTO_TASK_UNMATCHED.  Any thread.
 */
#ifndef PTO_CHECK_DIFF_TASK_MATCH_H
#define PTO_CHECK_DIFF_TASK_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include <runtime/base/base.h>
#include <runtime/base/error.h>

#define PTO_TASK_UNMATCHED UINT64_MAX

/* What a task says of itself, as numbers that are equal where it says the same. */
struct pto_task_signature {
  uint64_t whole;   /* all of it */
  uint64_t form;    /* its kernels, and modes, dtypes and shapes of its tensors */
  uint64_t kernels; /* by role */
};

static inline uint64_t pto_signature_add_number(uint64_t hash, uint64_t number) {
  return pto_mix64(hash ^ pto_mix64(number + 1));
}
/* NULL: nothing. */
static inline uint64_t pto_signature_add_text(uint64_t hash, const char *text) {
  for (; text && *text; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3); /* FNV-1a */
  return pto_mix64(hash);
}

/* The tasks of a run in the order of their submits; borrowed. */
struct pto_task_list {
  const struct pto_task_signature *items;
  uint64_t count;
};

struct pto_task_match {
  uint64_t *to_b, *to_a; /* by task number */
  bool is_by_number;
};

/* PTO_OK or PTO_ENOMEM; fini is due in either case. */
PTO_MUST_CHECK int pto_task_match_make(struct pto_task_list a, struct pto_task_list b, struct pto_task_match *match,
                                       struct pto_error *error);
void pto_task_match_fini(struct pto_task_match *match);

#endif
