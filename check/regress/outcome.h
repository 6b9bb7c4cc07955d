/* SPDX-License-Identifier: MIT */
/*
 * What a case of `ptosim regress` came to, and what a baseline says that it came to before.
 *
 * Outcomes hold what is the same on every machine: the counts of tasks and edges, virtual time in picoseconds, with it
 * the high-water marks of window and heap, the status of a run that fails (and no more of that), and a digest of the
 * outputs; time on a clock is not part of it.  A
 * run whose outputs have a golden and are not all of integer types is judged by the run itself, within the program's
 * tolerance; of all others the digest must be the same.
 *
 * A baseline (pto_baseline_… of pto/tools.h) is a JSON file for git: {"cases": {TEXT: {…}, …}}, a line a case, in the
 * order of the keys, so that git sees what changed.
 *
 * Plain values; a baseline owns its document until close.
 */
#ifndef PTO_CHECK_REGRESS_OUTCOME_H
#define PTO_CHECK_REGRESS_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <check/regress/list.h>
#include <pto/tools.h>
#include <runtime/base/error.h>

struct pto_regress_outcome {
  bool has_counts, has_virtual_time, has_memory, has_digest; /* of what follows */
  uint64_t tasks, edges, virtual_ps;
  uint64_t window, heap_bytes; /* high-water marks */
  char digest[20];
  char status[32]; /* "PTO_OK" */
};

/* What a run wrote with --json; of a graph that was compared (`is_compared`) the comparison is what judges outputs. */
void pto_regress_outcome_of_run(json_t *result, bool is_compared, struct pto_regress_outcome *outcome);

struct pto_baseline {
  json_t *cases;
};

/* What the baseline says of a case; false: it has none of that text. */
bool pto_regress_find(const struct pto_baseline *baseline, const char *text, struct pto_regress_outcome *outcome);
/* What of a change of virtual time, of a kernel's, or of memory is none.  Zeroed: nothing.  Counts, digests and status
 * always count. */
struct pto_regress_allowed {
  double percent;    /* so much, up or down */
  bool is_less_fine; /* any that is faster, or needs less */
};
/* Whether the baseline knows what the case's virtual time was spent on. */
bool pto_regress_has_parts(const struct pto_baseline *baseline, const char *text);
/* Whether it came to what the baseline says, each kernel too where both know the parts; `parts` may be NULL.  PTO_OK;
 * PTO_EINVAL with what became of it, "97 edges instead of 96; 51.2 us on the chip instead of 50.9 us (+0.5 %, slower)";
 * PTO_ENOTSUP where the case is not in the baseline. */
PTO_MUST_CHECK int pto_regress_compare(const struct pto_baseline *baseline, const char *text,
                                       const struct pto_regress_outcome *outcome, json_t *parts,
                                       const struct pto_regress_allowed *allowed, struct pto_error *error);

/* What virtual time was spent on, of a result with --stats: an object of picoseconds by name: kernels summed over calls
 * ("kernel matmul"), and what the orchestrator, the schedulers and the host link did ("orchestrator submit", "scheduler
 * dispatch", "link to_device").  NULL where it has none. */
json_t *pto_regress_parts_of_run(json_t *result);
/* Which kernel and which activity of each resource changed most since the baseline: "; kernel matmul +7.12 us (+3.0 %);
 * orchestrator, submits +1.9 us (+3.0 %)".  "" where it knows no parts of the case. */
void pto_regress_say_parts(const struct pto_baseline *baseline, const char *text, json_t *parts, char *sentence,
                           size_t size);

/* Puts or replaces; `parts` may be NULL.  PTO_OK or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_regress_put(struct pto_baseline *baseline, const char *text,
                                   const struct pto_regress_outcome *outcome, json_t *parts);
/* Drops the cases that are not in the list; how many. */
size_t pto_regress_keep(struct pto_baseline *baseline, const struct pto_regress_list *list);

#endif
