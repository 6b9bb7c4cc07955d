/* SPDX-License-Identifier: MIT */
/*
 * What `ptosim regress` has found out of its cases, as a table of what is not as before, and as JUnit's XML for CI.
 *
 * Owns nothing.  One thread.
 */
#ifndef PTO_CHECK_REGRESS_REPORT_H
#define PTO_CHECK_REGRESS_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include <check/regress/list.h>
#include <check/regress/outcome.h>

enum pto_regress_verdict {
  PTO_REGRESS_NOT_RUN = 0,
  PTO_REGRESS_SAME,
  PTO_REGRESS_NEW,     /* right, and not in the baseline */
  PTO_REGRESS_CHANGED, /* right, and not as in the baseline */
  PTO_REGRESS_FAILED   /* not right: wrong output, failed, crashed, took too long, or did not fail as it must */
};

struct pto_regress_result {
  enum pto_regress_verdict verdict;
  struct pto_regress_outcome outcome;
  double seconds;
  char *sentence; /* why not SAME; NULL: nothing to say */
};

/* "same", "new", … */
const char *pto_regress_verdict_name(enum pto_regress_verdict verdict);

/* One row: verdict, case and sentence, and the command that does it again.  `program` is how ptosim was called. */
void pto_regress_print_row(FILE *to, const char *program, const struct pto_regress_case *c,
                           const struct pto_regress_result *result);

/* One testsuite with a testcase for each case: FAILED and CHANGED are failures, NEW is one where `is_new_wrong`.
 * PTO_OK or PTO_ESYSTEM. */
PTO_MUST_CHECK int pto_regress_write_junit(const char *path, const char *name, const struct pto_regress_list *list,
                                           const struct pto_regress_result *results, bool is_new_wrong,
                                           struct pto_error *error);

#endif
