/* SPDX-License-Identifier: MIT */
/*
 * Validation cases: calls of the builder, and the descriptors or the refusal that must come out.
 *
 * Owns nothing.  Always true: every case of the document is counted once, whatever is wrong with it.
 */
#ifndef PTO_VALIDATION_RUN_H
#define PTO_VALIDATION_RUN_H

#include <jansson.h>

#include <tests/conformance/case_report.h>

/* Runs the cases of one file's document. */
void pto_validation_run(json_t *document, struct pto_case_report *report);

#endif
