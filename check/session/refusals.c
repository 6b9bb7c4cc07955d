/* SPDX-License-Identifier: MIT */
#include <check/session/refusals.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <pto/core.h>
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
  char *sentence = session->refusal_sentence;
  const size_t size = sizeof session->refusal_sentence;
  char place[PTO_SENTENCE_SIZE / 4];
  if (refusals->count && !result->refused) {
    *refusal = (struct pto_finding){PTO_FINDING_OF_RUN(PTO_FINDING_REFUSED)};
    find_place(refusals->call, refusals->outer_call, &refusal->places[0]);
    sentence[0] = '\0';
    result->refused_what = refusals->is_of_context ? "call" : "submit";
    if (!refusals->is_of_context)
      pto_text_append(refusal->kernels[0], sizeof refusal->kernels[0], "%s", refusals->task);
    pto_text_append(refusal->arrays[0], sizeof refusal->arrays[0], "%s", refusals->tensors);
    name_place(&refusal->places[0], place, sizeof place);
    if (refusals->is_of_context)
      pto_text_append(sentence, size, "%s at %s: ", refusals->task, place);
    else
      pto_text_append(sentence, size, "task %" PRIu64 " (%s) at %s%s%s: ", refusals->task_number, refusals->task, place,
                      on_tensors(refusals), refusals->tensors);
    session->refusal_reason = strlen(sentence);
    pto_text_append(sentence, size, "%.300s",
                    refusals->is_of_context ? rest_of_sentence(refusals) : refusals->error.sentence);
    result->first_refusal = session->refusal_sentence;
  }
  result->refused += refusals->count;
}

void pto_session_add_refusals(const struct pto_session *session, struct pto_findings *findings) {
  const struct pto_run_result *result = &session->result;
  char how_many[80] = "";
  if (!pto_session_has_bad_refusals(session)) return;
  if (result->refused > 1)
    snprintf(how_many, sizeof how_many, "%" PRIu64 " %ss, the first: ", result->refused, result->refused_what);
  pto_findings_add(findings, &session->refusal, NULL, "%s%s", how_many, result->first_refusal);
}

/* Where the task of a kernel that failed was submitted, and what the kernel did then; the library's own kernels are no
 * place of the user's. */
static void add_failed_kernel(const struct pto_failed_kernel *failed, struct pto_error *error) {
  const void *function = (const void *)(uintptr_t)failed->kernel->run,
             *library = (const void *)(uintptr_t)pto_core_signal;
  struct pto_source_lines *lines = pto_source_lines_create();
  struct pto_source_call found;
  char submitted[PTO_SENTENCE_SIZE / 4] = "", line[PTO_SENTENCE_SIZE / 4] = "";
  const char *what = "its kernel is ";
  pto_source_lines_find(lines, failed->call, failed->outer_call, &found);
  found.dispatch = failed->dispatch;
  pto_source_call_name(&found, submitted, sizeof submitted);
  if (failed->refused_call && pto_source_lines_share_file(failed->refused_call, function)) {
    what = "the call is at ";
    pto_source_lines_name(lines, failed->refused_call, NULL, line, sizeof line);
  } else if (function && !pto_source_lines_share_file(function, library)) {
    pto_source_lines_function(lines, function, line, sizeof line);
  }
  pto_source_lines_destroy(lines);
  pto_error_append(error, submitted[0] ? "; submitted at %s" : "; `ptosim check` says where it was submitted",
                   submitted);
  if (line[0]) pto_error_append(error, ", %s%s", what, line);
}

void pto_session_add_place(const struct pto_session *session, struct pto_error *error) {
  const struct pto_refusals *refusals = session->rt ? pto_runtime_refusals(session->rt) : NULL;
  const void *left_open = session->rt ? pto_runtime_left_open(session->rt) : NULL;
  const struct pto_failed_kernel *failed =
      session->rt ? pto_runtime_failed_kernel(session->rt) : &session->failed_kernel;
  struct pto_source_call found;
  char place[PTO_SENTENCE_SIZE / 4], task[40];
  snprintf(task, sizeof task, "task %" PRIu64 ": kernel ", failed->task_number);
  if (failed->kernel && strstr(error->sentence, task)) {
    add_failed_kernel(failed, error);
  } else if (left_open) {
    find_place(left_open, NULL, &found);
    name_place(&found, place, sizeof place);
    pto_error_append(error, ", the innermost opened at %s", place);
  } else if (refusals && refusals->count && strstr(error->sentence, refusals->error.sentence)) {
    find_place(refusals->call, refusals->outer_call, &found);
    name_place(&found, place, sizeof place);
    pto_error_append(error, " (task %" PRIu64 ", %s, at %s%s%s)", refusals->task_number, refusals->task, place,
                     on_tensors(refusals), refusals->tensors);
  } else if (!session->rt && session->result.refused &&
             strstr(error->sentence, session->refusal_sentence + session->refusal_reason)) {
    pto_error_append(error, " (%.*s)", (int)session->refusal_reason - 2, session->refusal_sentence);
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
