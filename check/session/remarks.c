/* SPDX-License-Identifier: MIT */
#include <check/session/remarks.h>

#include <stdio.h>

#include <report/findings/findings.h>
#include <runtime/base/text.h>

static const uint32_t finding_kinds[PTO_REMARK_COUNT] = {[PTO_REMARK_REPEATS] = PTO_FINDING_REPEATS};

void pto_session_take_remarks(struct pto_session *session, const struct pto_context_remark *remarks) {
  for (int kind = 0; kind < PTO_REMARK_COUNT; kind++) {
    struct pto_context_remark *kept = &session->remarks[kind];
    if (kept->count || !remarks[kind].count) continue;
    *kept = remarks[kind];
    /* its number is one of the run's where no other context has tasks */
    if (session->context_count > 1) kept->task = PTO_FINDING_NONE;
  }
}

static void add(const struct pto_context_remark *remark, uint32_t kind, struct pto_source_lines *lines,
                struct pto_findings *findings) {
  struct pto_finding finding = {PTO_FINDING_OF_RUN(kind)};
  struct pto_source_call called;
  char text[2 * PTO_SOURCE_FILE_SIZE], places[4 * PTO_SOURCE_FILE_SIZE] = "";
  finding.tasks[0] = remark->task;
  snprintf(finding.kernels[0], sizeof finding.kernels[0], "%s", remark->kernel);
  pto_source_lines_find(lines, remark->calls[0][0], remark->calls[0][1], &finding.places[0]);
  pto_source_lines_find(lines, remark->calls[1][0], remark->calls[1][1], &called);
  if (finding.places[0].own.file[0])
    pto_text_append(places, sizeof places, "; submitted at %s",
                    pto_source_call_name(&finding.places[0], text, sizeof text));
  if (called.own.file[0])
    pto_text_append(places, sizeof places, "; dispatched at %s", pto_source_call_name(&called, text, sizeof text));
  if (!finding.places[0].own.file[0]) finding.places[0] = called;
  pto_findings_add(findings, &finding, remark->remedy[0] ? remark->remedy : NULL, "%s%s", remark->sentence, places);
}

void pto_session_add_remarks(const struct pto_session *session, struct pto_findings *findings) {
  struct pto_source_lines *lines = pto_source_lines_create();
  for (int kind = 0; kind < PTO_REMARK_COUNT; kind++)
    if (session->remarks[kind].count) add(&session->remarks[kind], finding_kinds[kind], lines, findings);
  pto_source_lines_destroy(lines);
}
