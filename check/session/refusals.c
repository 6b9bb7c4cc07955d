/* SPDX-License-Identifier: MIT */
#include <check/session/refusals.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <report/findings/source_lines.h>
#include <runtime/control/control.h>

/* "moe.c:52 (moe.c:39)". */
static void name_place(const void *call, const void *outer, char *text, size_t size) {
  struct pto_source_lines *lines = pto_source_lines_create();
  pto_source_lines_name(lines, call, outer, text, size);
  pto_source_lines_destroy(lines);
}

void pto_session_take_refusals(struct pto_session *session, const struct pto_runtime *rt) {
  const struct pto_refusals *refusals = pto_runtime_refusals(rt);
  struct pto_run_result *result = &session->result;
  char place[PTO_SENTENCE_SIZE / 4];
  if (refusals->count && !result->refused) {
    name_place(refusals->call, refusals->outer_call, place, sizeof place);
    snprintf(session->refusal, sizeof session->refusal, "task %" PRIu64 " (%s) at %s, on %s: %.300s",
             refusals->task_number, refusals->task, place[0] ? place : "a place that is not known",
             refusals->tensors[0] ? refusals->tensors : "nothing", refusals->error.sentence);
    result->first_refusal = session->refusal;
  }
  result->refused += refusals->count;
}

void pto_session_add_place(struct pto_session *session) {
  struct pto_error *error = &session->result.error;
  const struct pto_refusals *refusals = session->rt ? pto_runtime_refusals(session->rt) : NULL;
  const void *left_open = session->rt ? pto_runtime_left_open(session->rt) : NULL;
  char place[PTO_SENTENCE_SIZE / 4];
  if (left_open) {
    name_place(left_open, NULL, place, sizeof place);
    pto_error_append(error, ", the innermost opened at %s", place);
  } else if (refusals && refusals->count && strstr(error->sentence, refusals->error.sentence)) {
    name_place(refusals->call, refusals->outer_call, place, sizeof place);
    pto_error_append(error, " (task %" PRIu64 ", %s, at %s, on %s)", refusals->task_number, refusals->task, place,
                     refusals->tensors);
  }
}

bool pto_session_has_bad_refusals(const struct pto_session *session) {
  return session->result.refused && !session->subject.program->expects_refusals;
}

int pto_session_check_refusals(struct pto_session *session) {
  struct pto_run_result *result = &session->result;
  if (!pto_session_has_bad_refusals(session)) return PTO_EXIT_OK;
  pto_error_set(&result->error, PTO_OK, "%" PRIu64 " submit%s refused, the first: %.900s", result->refused,
                result->refused == 1 ? " was" : "s were", result->first_refusal);
  return result->exit_code = PTO_EXIT_FINDINGS;
}
