/* SPDX-License-Identifier: MIT */
/*
 * Findings as SARIF 2.1.0 (OASIS, 27 March 2020), which forges and editors show beside the code.
 *
 * A rule is a kind of finding.  A result stands where its later task was submitted, the place of the earlier one is
 * related; a finding without a place stands at the program.  Findings of one group have one fingerprint.  Owns
 * nothing; one thread.
 */
#ifndef PTO_REPORT_FINDINGS_SARIF_H
#define PTO_REPORT_FINDINGS_SARIF_H

#include <report/findings/findings.h>

/* `has_run`: whether the verb came to an end of its own.  PTO_OK, or PTO_ESYSTEM with the sentence. */
PTO_MUST_CHECK int pto_sarif_write(const char *path, const struct pto_findings *findings, const char *program,
                                   bool has_run, struct pto_error *error);

#endif
