/* SPDX-License-Identifier: MIT */
/*
 * Findings as people read them and as --json has them: the same for every verb.
 *
 * Owns nothing.  One thread.
 */
#ifndef PTO_REPORT_FINDINGS_REPORT_H
#define PTO_REPORT_FINDINGS_REPORT_H

#include <stdio.h>

#include <report/findings/findings.h>
#include <formats/json_writer.h>

/* One line a group, "WAR: task 17 …; add `after` task 17", with how many more there are like it; notes last.  At most
 * `max_lines` (0: all), then how many were left out. */
void pto_findings_print(const struct pto_findings *findings, FILE *stream, uint32_t max_lines);
/* Keys "findings" (an array of kind, note, tasks, params, sentence, remedy, more) and "finding_count" into the object
 * that is open. */
void pto_findings_put_json(const struct pto_findings *findings, struct pto_json_writer *w);

#endif
