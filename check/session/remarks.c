/* SPDX-License-Identifier: MIT */
#include <check/session/remarks.h>

#include <stdio.h>

#include <report/findings/findings.h>
#include <runtime/base/text.h>

static const struct {
  uint32_t kind;        /* of the finding */
  const char *words[2]; /* of its places */
} words_of[PTO_REMARK_COUNT] = {
    [PTO_REMARK_REPEATS] = {PTO_FINDING_REPEATS, {"submitted", "dispatched"}},
    [PTO_REMARK_READ_EARLY] = {PTO_FINDING_READ_EARLY, {"written", "dispatched"}},
    [PTO_REMARK_READ_BACK] = {PTO_FINDING_READ_EARLY, {NULL, "read"}},
};

void pto_session_take_remarks(struct pto_session *session, const struct pto_context_remark *remarks) {
  for (int kind = 0; kind < PTO_REMARK_COUNT; kind++) {
    struct pto_context_remark *first = &session->remarks[kind];
    if (first->count || !remarks[kind].count) continue;
    *first = remarks[kind];
    /* the number is one of the run's where no other context has tasks */
    if (session->context_count > 1) first->task = PTO_FINDING_NONE;
  }
}

static void add(const struct pto_context_remark *remark, int kind, struct pto_source_lines *lines,
                struct pto_findings *findings) {
  struct pto_finding finding = {PTO_FINDING_OF_RUN(words_of[kind].kind)};
  struct pto_source_call found[2];
  char text[2 * PTO_SOURCE_FILE_SIZE], places[4 * PTO_SOURCE_FILE_SIZE] = "";
  finding.tasks[0] = remark->task;
  snprintf(finding.kernels[0], sizeof finding.kernels[0], "%s", remark->kernel);
  for (int i = 0; i < 2; i++) {
    pto_source_lines_find(lines, remark->calls[i][0], remark->calls[i][1], &found[i]);
    if (found[i].own.file[0])
      pto_text_append(places, sizeof places, "; %s at %s", words_of[kind].words[i],
                      pto_source_call_name(&found[i], text, sizeof text));
  }
  finding.places[0] = found[found[0].own.file[0] ? 0 : 1];
  pto_findings_add(findings, &finding, remark->remedy[0] ? remark->remedy : NULL, "%s%s", remark->sentence, places);
}

void pto_session_add_remarks(const struct pto_session *session, struct pto_findings *findings) {
  struct pto_source_lines *lines = pto_source_lines_create();
  for (int kind = 0; kind < PTO_REMARK_COUNT; kind++)
    if (session->remarks[kind].count) add(&session->remarks[kind], kind, lines, findings);
  pto_source_lines_destroy(lines);
}
