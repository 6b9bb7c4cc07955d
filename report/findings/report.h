/* SPDX-License-Identifier: MIT */
/*
 * The answer of a judge that has more to tell than findings: text for people, and members of a JSON object.
 *
 * What a judge keeps begins with a pto_report, and is one allocation of malloc; pto_report_destroy (pto/tools.h) frees
 * it.  Zeroed findings are an empty list.  One thread.  To add a kind of report: these three functions.
 */
#ifndef PTO_REPORT_FINDINGS_REPORT_H
#define PTO_REPORT_FINDINGS_REPORT_H

#include <report/findings/coverage.h>
#include <report/findings/findings.h>

struct pto_report {
  void (*print)(const struct pto_report *report, FILE *to);
  void (*put)(struct pto_json_writer *w, const void *report);
  void (*fini)(struct pto_report *report); /* of what the judge keeps; findings are the report's own */
  struct pto_findings findings;
  struct pto_coverage coverage; /* told behind the rest */
  bool is_clean;
  int exit_code; /* enum pto_exit of the verb, where the judge decides it */
};

/* Gives the report where `status` is PTO_OK and it has all findings, else destroys it.  Returns `status`, or PTO_ENOMEM
 * with a sentence where memory was refused to a finding. */
int pto_report_give(struct pto_report *report, int status, struct pto_report **report_out, struct pto_error *error);

#endif
