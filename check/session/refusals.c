/* SPDX-License-Identifier: MIT */
#include <check/session/refusals.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <report/findings/findings.h>
#include <runtime/base/text.h>
#include <runtime/control/control.h>

static void find_place(const void *call, const void *outer, struct pto_source_call *found) {
  struct pto_source_lines *lines = pto_source_lines_create();
  pto_source_lines_find(lines, call, outer, found);
  pto_source_lines_destroy(lines);
}

static void name_place(const struct pto_source_call *found, char *text, size_t size) {
  pto_source_call_name(found, text, size);
  if (!text[0]) snprintf(text, size, "a place that is not known");
}

/* What stands between the place and the tensors, where the task has any. */
static const char *on_tensors(const struct pto_refusals *refusals) { return refusals->tensors[0] ? ", on " : ""; }

/* The sentence of a call on a context, without the name of the call, which is told already. */
static const char *rest_of_sentence(const struct pto_refusals *refusals) {
  const char *sentence = refusals->error.sentence;
  const size_t name = strcspn(refusals->task, " ");
  return strncmp(sentence, refusals->task, name) == 0 && strncmp(sentence + name, ": ", 2) == 0 ? sentence + name + 2
                                                                                                : sentence;
}

void pto_session_take_refusals(struct pto_session *session, const struct pto_refusals *refusals) {
  struct pto_run_result *result = &session->result;
  struct pto_finding *refusal = &session->refusal;
  char place[PTO_SENTENCE_SIZE / 4];
  if (refusals->count && !result->refused) {
    *refusal = (struct pto_finding){PTO_FINDING_OF_RUN(PTO_FINDING_REFUSED)};
    find_place(refusals->call, refusals->outer_call, &refusal->places[0]);
    result->refused_what = refusals->is_of_context ? "call" : "submit";
    if (!refusals->is_of_context)
      pto_text_append(refusal->kernels[0], sizeof refusal->kernels[0], "%s", refusals->task);
    pto_text_append(refusal->arrays[0], sizeof refusal->arrays[0], "%s", refusals->tensors);
    name_place(&refusal->places[0], place, sizeof place);
    if (refusals->is_of_context)
      snprintf(session->refusal_sentence, sizeof session->refusal_sentence, "%s at %s: %.300s", refusals->task, place,
               rest_of_sentence(refusals));
    else
      snprintf(session->refusal_sentence, sizeof session->refusal_sentence, "task %" PRIu64 " (%s) at %s%s%s: %.300s",
               refusals->task_number, refusals->task, place, on_tensors(refusals), refusals->tensors,
               refusals->error.sentence);
    result->first_refusal = session->refusal_sentence;
  }
  result->refused += refusals->count;
}

void pto_session_add_refusals(const struct pto_session *session, struct pto_findings *findings) {
  if (pto_session_has_bad_refusals(session))
    pto_findings_add(findings, &session->refusal, NULL, "%s", session->result.first_refusal);
}

void pto_session_add_place(const struct pto_session *session, struct pto_error *error) {
  const struct pto_refusals *refusals = session->rt ? pto_runtime_refusals(session->rt) : NULL;
  const void *left_open = session->rt ? pto_runtime_left_open(session->rt) : NULL;
  struct pto_source_call found;
  char place[PTO_SENTENCE_SIZE / 4];
  if (left_open) {
    find_place(left_open, NULL, &found);
    name_place(&found, place, sizeof place);
    pto_error_append(error, ", the innermost opened at %s", place);
  } else if (refusals && refusals->count && strstr(error->sentence, refusals->error.sentence)) {
    find_place(refusals->call, refusals->outer_call, &found);
    name_place(&found, place, sizeof place);
    pto_error_append(error, " (task %" PRIu64 ", %s, at %s%s%s)", refusals->task_number, refusals->task, place,
                     on_tensors(refusals), refusals->tensors);
  }
}

bool pto_session_has_bad_refusals(const struct pto_session *session) {
  return session->result.refused && !session->subject.program->expects_refusals;
}

int pto_session_check_refusals(struct pto_session *session) {
  struct pto_run_result *result = &session->result;
  if (!pto_session_has_bad_refusals(session)) return PTO_EXIT_OK;
  pto_error_set(&result->error, PTO_OK, "%" PRIu64 " %s%s refused, the first: %.900s", result->refused,
                result->refused_what, result->refused == 1 ? " was" : "s were", result->first_refusal);
  return result->exit_code = PTO_EXIT_FINDINGS;
}
