/* SPDX-License-Identifier: MIT */
/*
 * What became of cases: counts and the worst difference, an operation at a time, and the lines about them.
 *
 * Owns the sentences of the first failures.  Always true: cases = passed + failed + skipped.
 */
#ifndef PTO_CASE_REPORT_H
#define PTO_CASE_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <pto/status.h>

#define PTO_CASE_FAILURES_TOLD 5u

/* The worst of the differences of one metric, by its part of what is allowed. */
struct pto_case_worst {
  double difference, allowed, part;
  bool is_known;
};

/* Paths of conformance cases (tests/conformance/conformance_paths.c). */
#define PTO_CASE_PATHS 6u

struct pto_case_counts {
  uint32_t cases, passed, failed, skipped;
  uint32_t on_path[PTO_CASE_PATHS]; /* conformance cases that passed on each */
};

struct pto_case_report {
  char operation[64];
  struct pto_case_counts counts;
  struct pto_case_worst ulp, atol;
  char skip_reason[160];
  char failures[PTO_CASE_FAILURES_TOLD][512];
};

void pto_case_report_pass(struct pto_case_report *report);
void pto_case_report_skip(struct pto_case_report *report, const char *name, const char *reason);
void pto_case_report_fail(struct pto_case_report *report, const char *name, const char *format, ...) PTO_PRINTF(3, 4);
/* A difference that was found, and the one allowed. */
void pto_case_report_difference(struct pto_case_worst *worst, double difference, double allowed);
/* Prints the line and the failures to `to`, and adds the counts to `total`. */
void pto_case_report_print(const struct pto_case_report *report, FILE *to, struct pto_case_counts *total);

#endif
