/* SPDX-License-Identifier: MIT */
/*
 * What kernels of a timed case of `ptosim regress` take on the clock, now and by its baseline.
 *
 * Times are an object of lists by kernel, what a call takes in each run: {"matmul": [ns…]}; all lists are as long, 0
 * where a run had no such kernel.  A baseline keeps them as "clock_ns" of the case.  They are taken and judged as
 * `compare` does on threads: by the median of calls that are alike (rows.h), a change by its interval (shift.h), with a
 * chance of PTO_COMPARE_CHANCE that any counts where all runs were made under the same conditions.  Those of the
 * baseline may have been others: so a change is more than PTO_CLOCK_SLACK_NS a call, and the time of the whole run is
 * not judged, as much of it may be waiting for threads of a busy machine.
 *
 * Plain functions; one thread.
 */
#ifndef PTO_CHECK_COMPARE_CLOCK_H
#define PTO_CHECK_COMPARE_CLOCK_H

#include <jansson.h>

#include <check/regress/outcome.h>

/* What cold caches make of a short call: kernels of 256 elements took 0.2 to 1.6 us from one minute to the next, on a
 * machine with a load of 8 on 2 CPUs. */
#define PTO_CLOCK_SLACK_NS 1000

/* Adds those of a result of `ptosim run --stats --json` on threads to `times`, an object.  PTO_OK; PTO_EINVAL where it
 * is none; PTO_ENOMEM. */
PTO_MUST_CHECK int pto_clock_add(json_t *times, json_t *result, struct pto_error *error);
/* Whether `times` are those of the baseline, as far as intervals tell; a change counts where all of its interval is
 * beyond what is allowed.  PTO_OK; PTO_EINVAL with what changed, "kernel second +4.27 us a call (+15.1 %) on the
 * clock, from +3.68 to +5.63"; PTO_ENOTSUP where the baseline has none, or the runs are too few to tell. */
PTO_MUST_CHECK int pto_clock_compare(const struct pto_baseline *baseline, const char *text, json_t *times,
                                     const struct pto_regress_allowed *allowed, struct pto_error *error);
/* Of a case that was put there (pto_regress_put).  PTO_OK or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_clock_put(const struct pto_baseline *baseline, const char *text, json_t *times);
/* What the baseline has; NULL: nothing. */
json_t *pto_clock_of(const struct pto_baseline *baseline, const char *text);

#endif
