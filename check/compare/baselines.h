/* SPDX-License-Identifier: MIT */
/*
 * What changed between two baselines of `ptosim regress`, case by case, the largest change of virtual time first.
 *
 * Owns its rows until fini; texts are those of the baselines.  One thread.
 */
#ifndef PTO_CHECK_COMPARE_BASELINES_H
#define PTO_CHECK_COMPARE_BASELINES_H

#include <stdio.h>

#include <check/regress/outcome.h>
#include <formats/json_writer.h>

struct pto_compared_case {
  const char *text;
  char sentence[512]; /* what became of it; "only in A" */
  uint64_t times[2];  /* ps; 0: none */
};

struct pto_compared_baselines {
  struct pto_compared_case *cases; /* that changed */
  size_t count, capacity, same;
};

/* PTO_OK or PTO_ENOMEM; fini is due in any case. */
PTO_MUST_CHECK int pto_compared_baselines_make(const struct pto_baseline *a, const struct pto_baseline *b,
                                               struct pto_compared_baselines *found, struct pto_error *error);
void pto_compared_baselines_fini(struct pto_compared_baselines *found);
void pto_compared_baselines_print(const struct pto_compared_baselines *found, FILE *to);
/* One object. */
void pto_compared_baselines_put(const struct pto_compared_baselines *found, struct pto_json_writer *w);

#endif
