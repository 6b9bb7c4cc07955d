/* SPDX-License-Identifier: MIT */
/*
 * All case files of a folder: each run, and a line printed an operation.
 *
 * Owns nothing.  Files are taken in the order of their names; one that cannot be read is a failed case.
 */
#ifndef PTO_CASE_FOLDER_H
#define PTO_CASE_FOLDER_H

#include <jansson.h>

#include <tests/conformance/case_report.h>

typedef void pto_case_run(json_t *document, struct pto_case_report *report);

/* Runs every *.json of `folder` but index.json.  `total` is added to; a folder that cannot be read, or has no such
 * file, is a failed case. */
void pto_case_folder_run(const char *folder, const char *title, pto_case_run *run, struct pto_case_counts *total);

#endif
