/* SPDX-License-Identifier: MIT */
/*
 * The calls of pto/tools.h: sessions and judges as ptosim uses them, with errors as statuses and findings on the heap.
 */
#include <pto/tools.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <check/order/why.h>
#include <check/regress/outcome.h>
#include <check/session/explored.h>
#include <report/file/output_file.h>
#include <report/findings/findings.h>
#include <runtime/base/base.h>
#include <runtime/base/sized.h>

#define DEFAULT_SCHEDULES 200u
#define DEFAULT_ALL 10000u

static int out_of_memory(char *sentence, size_t sentence_size) {
  struct pto_error error;
  pto_error_set(&error, PTO_ENOMEM, "out of memory");
  return pto_error_tell(&error, sentence, sentence_size);
}

/* What a step of the session came to. */
static int status_of(const struct pto_session *session, int code) {
  const int status = session->result.error.status;
  return code == PTO_EXIT_OK ? PTO_OK : status ? status : PTO_EINVAL;
}

/* ---- sessions ---- */

int pto_session_open(const struct pto_session_options *options, struct pto_session **session_out, char *sentence,
                     size_t sentence_size) {
  struct pto_session *session = calloc(1, sizeof *session);
  if (!session) return out_of_memory(sentence, sentence_size);
  const int status = status_of(session, pto_session_init(session, options));
  if (status == PTO_OK) {
    *session_out = session;
    return PTO_OK;
  }
  (void)pto_error_tell(&session->result.error, sentence, sentence_size);
  pto_session_close(session);
  return status;
}

void pto_session_close(struct pto_session *session) {
  if (!session) return;
  pto_session_fini(session);
  free(session);
}

int pto_session_run(struct pto_session *session) { return status_of(session, pto_session_execute(session)); }

int pto_session_verify(struct pto_session *session) { return status_of(session, pto_session_judge(session)); }

const char *pto_session_error(const struct pto_session *session) { return session->result.error.sentence; }

const void *pto_session_array(const struct pto_session *session, const char *name, uint64_t *size_bytes_out) {
  const struct pto_array *array = pto_program_find(session->run, name);
  if (array && size_bytes_out) *size_bytes_out = array->size_bytes;
  return array ? array->data : NULL;
}

int pto_session_write_outputs(struct pto_session *session, char *sentence, size_t sentence_size) {
  struct pto_error error;
  return pto_session_put_outputs(session, &error) ? pto_error_tell(&error, sentence, sentence_size) : PTO_OK;
}

int pto_session_write_result(const struct pto_session *session, const char *path, char *sentence,
                             size_t sentence_size) {
  struct pto_error error;
  return pto_run_result_write_json(&session->result, path, &error) ? pto_error_tell(&error, sentence, sentence_size)
                                                                   : PTO_OK;
}

void pto_session_print_result(const struct pto_session *session, FILE *to) {
  pto_run_result_print(&session->result, to);
}

int pto_session_account(struct pto_session *session, char *sentence, size_t sentence_size) {
  struct pto_error error;
  return pto_session_take_account(session, true, &error) ? pto_error_tell(&error, sentence, sentence_size) : PTO_OK;
}

/* ---- baselines ---- */

/* As pto_regress_outcome_of_run finds it in what the run writes. */
static struct pto_regress_outcome outcome_of(const struct pto_run_result *result) {
  const bool is_judged = result->verified == PTO_VERDICT_TRUE && !result->has_exact_outputs;
  struct pto_regress_outcome outcome = {.has_counts = result->has_run,
                                        .has_virtual_time = result->has_run && result->is_virtual,
                                        .has_memory = result->has_run && result->is_virtual,
                                        .has_digest = result->has_output_digest && !is_judged,
                                        .tasks = result->stats.tasks,
                                        .edges = result->stats.edges,
                                        .virtual_ps = result->stats.virtual_ps,
                                        .window = result->stats.window_high_water,
                                        .heap_bytes = result->stats.heap_high_water_bytes};
  if (result->error.status) outcome = (struct pto_regress_outcome){0}; /* how far it came depends on timing */
  if (outcome.has_digest) snprintf(outcome.digest, sizeof outcome.digest, "%016" PRIx64, result->output_digest);
  snprintf(outcome.status, sizeof outcome.status, "%s", pto_status_name(result->error.status));
  return outcome;
}

int pto_baseline_compare(const struct pto_baseline *baseline, const char *name, const struct pto_session *session,
                         char *sentence, size_t sentence_size) {
  const struct pto_regress_outcome outcome = outcome_of(&session->result);
  struct pto_error error;
  static const struct pto_regress_allowed nothing;
  return pto_regress_compare(baseline, name, &outcome, NULL, &nothing, &error)
             ? pto_error_tell(&error, sentence, sentence_size)
             : PTO_OK;
}

int pto_baseline_put(struct pto_baseline *baseline, const char *name, const struct pto_session *session, char *sentence,
                     size_t sentence_size) {
  const struct pto_regress_outcome outcome = outcome_of(&session->result);
  return pto_regress_put(baseline, name, &outcome, NULL) ? out_of_memory(sentence, sentence_size) : PTO_OK;
}

/* ---- exports ---- */

static const char *const export_names[] = {
#define X(name, option, argument, help, record, write) option,
    PTO_EXPORT_LIST(X)
#undef X
};

/* By name; PTO_EXPORT_COUNT: none. */
static uint32_t find_export(const char *name) {
  uint32_t export = 0;
  while (export < PTO_EXPORT_COUNT && strcmp(export_names[export], name) != 0) export ++;
  return export;
}

uint32_t pto_export_record(const char *name) {
  const char *paths[PTO_EXPORT_COUNT + 1] = {NULL};
  const uint32_t export = find_export(name);
  paths[export] = name;
  return export < PTO_EXPORT_COUNT ? pto_exports_record(paths) : UINT32_MAX;
}

static int export(const struct pto_session *session, const char *name, const char *path, struct pto_error *error) {
  const struct pto_trace *trace = pto_session_trace(session);
  const struct pto_export_info info = pto_session_info(session);
  const char *paths[PTO_EXPORT_COUNT + 1] = {NULL};
  const uint32_t record = pto_export_record(name);
  if (record == UINT32_MAX) return pto_error_set(error, PTO_EINVAL, "there is no export \"%s\"", name);
  if (record && (!trace || (trace->record & record) != record))
    return pto_error_set(error, PTO_ENOTSUP, "%s: nothing was recorded for it", name);
  paths[find_export(name)] = path;
  return pto_exports_write(paths, trace, &info, error);
}

int pto_session_export(const struct pto_session *session, const char *name, const char *path, char *sentence,
                       size_t sentence_size) {
  struct pto_error error;
  return export(session, name, path, &error) ? pto_error_tell(&error, sentence, sentence_size) : PTO_OK;
}

/* ---- findings ---- */

uint32_t pto_findings_count(const struct pto_findings *findings) { return findings->count; }

uint64_t pto_findings_total(const struct pto_findings *findings) { return findings->total; }

bool pto_findings_at(const struct pto_findings *findings, uint32_t index, struct pto_found *found) {
  if (index >= findings->count) return false;
  const struct pto_finding *finding = &findings->items[index];
  struct pto_found all = {.kind = pto_finding_kind_name(finding->kind),
                          .is_note = pto_finding_kind_is_note(finding->kind),
                          .tasks = {finding->tasks[0], finding->tasks[1]},
                          .params = {finding->params[0], finding->params[1]},
                          .sentence = finding->sentence,
                          .remedy = finding->remedy,
                          .decided = pto_decided_name(pto_finding_decided(finding))};
  pto_sized_give(found, &all, sizeof all);
  return true;
}

static void put_findings(struct pto_json_writer *w, const void *findings) { pto_findings_put_json(findings, w); }

int pto_findings_write(const struct pto_findings *findings, const char *path, char *sentence, size_t sentence_size) {
  struct pto_error error;
  return pto_output_json(path, put_findings, findings, &error) ? pto_error_tell(&error, sentence, sentence_size)
                                                               : PTO_OK;
}

/* ---- judges ---- */

int pto_session_check(const struct pto_session *session, uint32_t rules, struct pto_findings **findings_out,
                      char *sentence, size_t sentence_size) {
  struct pto_findings *findings = calloc(1, sizeof *findings);
  struct pto_order_counts counts;
  struct pto_error error;
  if (!findings) return out_of_memory(sentence, sentence_size);
  pto_findings_init(findings);
  int status = pto_session_check_order(session, rules, findings, &counts, &error);
  if (status == PTO_OK && findings->is_short) status = pto_error_set(&error, PTO_ENOMEM, "no memory for a finding");
  if (status == PTO_OK) {
    *findings_out = findings;
    return PTO_OK;
  }
  pto_findings_destroy(findings);
  return pto_error_tell(&error, sentence, sentence_size);
}

int pto_session_why(const struct pto_session *session, const struct pto_why_request *request,
                    struct pto_report **report_out, char *sentence, size_t sentence_size) {
  struct pto_why_question question = {.recorded_deps = session->rules,
                                      .trace = pto_session_trace(session),
                                      .name_of = pto_session_array_at,
                                      .node_of = pto_session_node_of,
                                      .context = (void *)(uintptr_t)session,
                                      .program = session->result.program,
                                      .case_name = session->result.case_name};
  struct pto_error error;
  int status = pto_sized_take(&question.asked, sizeof question.asked, request, "request", &error);
  if (!status) status = pto_session_has_graph(session, &error);
  if (!status) status = pto_why(&question, report_out, &error);
  return status ? pto_error_tell(&error, sentence, sentence_size) : PTO_OK;
}

int pto_tools_explore(const struct pto_session_options *options, const struct pto_explore_request *request,
                      struct pto_findings **findings_out, char *sentence, size_t sentence_size) {
  struct pto_explore_request asked = {0};
  struct pto_error error;
  if (pto_sized_take(&asked, sizeof asked, request, "request", &error))
    return pto_error_tell(&error, sentence, sentence_size);
  const uint64_t count = asked.schedules ? asked.schedules : asked.is_all ? DEFAULT_ALL : DEFAULT_SCHEDULES;
  struct pto_explored *explored = calloc(1, sizeof *explored);
  if (!explored) return out_of_memory(sentence, sentence_size);
  int code = pto_explored_open(explored, options, false), status = PTO_OK;
  if (code == PTO_EXIT_OK) code = pto_explored_begin(explored, NULL);
  if (code == PTO_EXIT_OK)
    status = asked.is_all ? pto_explore_all(&explored->explore, count, &explored->error)
                          : pto_explore_schedules(&explored->explore, count, options->seed, &explored->error);
  else
    status = explored->error.status ? explored->error.status : PTO_EINVAL;
  if (status) (void)pto_error_tell(&explored->error, sentence, sentence_size);
  if (status == PTO_OK) pto_session_name_nodes(&explored->session, &explored->findings);
  if (status == PTO_OK && !pto_findings_give(&explored->findings, findings_out))
    status = out_of_memory(sentence, sentence_size);
  pto_explored_close(explored);
  free(explored);
  return status;
}
