/* SPDX-License-Identifier: MIT */
/*
 * What a case of `ptosim regress` came to, and what a baseline says that it came to before.
 *
 * Outcomes hold what is the same on every machine: the counts of tasks and edges, virtual time in picoseconds, the
 * status of a run that fails (and no more of that), and a digest of the outputs; time on a clock is not part of it.  A
 * run whose outputs have a golden and are not all of integer types is judged by the run itself, within the program's
 * tolerance; of all others the digest must be the same.
 *
 * A baseline is a JSON file for git: {"cases": {TEXT: {…}, …}}, a line a case.
 *
 * Plain values; a baseline owns its document until fini.
 */
#ifndef PTO_CHECK_REGRESS_OUTCOME_H
#define PTO_CHECK_REGRESS_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <check/regress/list.h>
#include <runtime/base/error.h>

struct pto_regress_outcome {
  bool has_counts, has_virtual_time, has_digest; /* of what follows */
  uint64_t tasks, edges, virtual_ps;
  char digest[20];
  char status[32]; /* "PTO_OK" */
};

/* What a run wrote with --json; of a graph that was compared (`is_compared`) the comparison is what judges outputs. */
void pto_regress_outcome_of_run(json_t *result, bool is_compared, struct pto_regress_outcome *outcome);

/* What became of `then`, in words: "97 edges instead of 96; 51.2 us on the chip instead of 50.9 us (+0.5 %)".  False,
 * with "", where nothing did. */
bool pto_regress_outcome_differs(const struct pto_regress_outcome *now, const struct pto_regress_outcome *then,
                                 char *text, size_t size);

struct pto_regress_baseline {
  json_t *cases;
};

/* PTO_OK, also with an empty baseline where `path` does not exist and `may_be_missing`; or PTO_EINVAL. */
PTO_MUST_CHECK int pto_regress_baseline_read(const char *path, bool may_be_missing,
                                             struct pto_regress_baseline *baseline, struct pto_error *error);
void pto_regress_baseline_fini(struct pto_regress_baseline *baseline);
/* False where the case is not in it. */
bool pto_regress_baseline_find(const struct pto_regress_baseline *baseline, const char *text,
                               struct pto_regress_outcome *outcome);
/* Puts or replaces; PTO_OK or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_regress_baseline_put(struct pto_regress_baseline *baseline, const char *text,
                                            const struct pto_regress_outcome *outcome);
/* Drops the cases that are not in the list; how many. */
size_t pto_regress_baseline_keep(struct pto_regress_baseline *baseline, const struct pto_regress_list *list);
/* Writes a new file, which then replaces the old one.  In the order of the keys, so that git sees what changed. */
PTO_MUST_CHECK int pto_regress_baseline_write(const struct pto_regress_baseline *baseline, const char *path,
                                              struct pto_error *error);

#endif
