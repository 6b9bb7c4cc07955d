/* SPDX-License-Identifier: MIT */
/* What can be asked of a session that has run: its trace, what it was about, and the order of its tasks. */
#include <check/session/session.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check/session/bounds.h>
#include <check/session/graph_program.h>
#include <check/session/refusals.h>
#include <check/session/remarks.h>
#include <pto/world.h>
#include <runtime/control/control.h>

const struct pto_trace *pto_session_trace(const struct pto_session *session) {
  if (session->rt) return pto_runtime_trace(session->rt);
  return session->recording.record ? &session->recording : NULL;
}

struct pto_runtime *pto_session_runtime(const struct pto_session *session) {
  return session->rt ? session->rt : session->context_rt;
}

struct pto_export_info pto_session_info(const struct pto_session *session) {
  struct pto_graph_program *graph = session->subject.graph;
  const struct pto_trace *trace = pto_session_trace(session);
  const uint64_t dispatches = session->rt ? 1 : session->dispatches;
  return (struct pto_export_info){
      .program = session->result.program,
      .engine = session->result.engine,
      .chip = session->result.chip,
      .cluster_count = session->chip.cluster_count,
      .stopped = session->result.stopped,
      .result = &session->result,
      .groups = graph && trace ? pto_graph_program_groups(graph, trace->tasks.count,
                                                          dispatches ? trace->tasks.count / dispatches : 0)
                               : NULL};
}

bool pto_session_is_lowered(const struct pto_session *session) { return session->subject.graph != NULL; }
bool pto_session_has_orchestration(const struct pto_session *session) {
  return !session->subject.graph && !session->subject.capture;
}

const char *pto_session_array_at(void *context, uint64_t base) {
  const struct pto_session *session = context;
  const struct pto_array *array;
  for (uint32_t i = 0; (array = pto_program_run_array(session->run, i)) != NULL; i++)
    if ((uintptr_t)array->data == base) return array->name;
  return NULL;
}

void pto_session_cover_seeds(const struct pto_session *session, struct pto_coverage *coverage) {
  if (session->run && !pto_program_run_has_used_seed(session->run))
    coverage->rows[PTO_COVERAGE_SEEDS] = (struct pto_coverage_row){0};
}

/* ---- the order of tasks ---- */

const char *pto_session_node_of(void *session, uint64_t task) {
  const struct pto_export_info info = pto_session_info(session);
  return pto_export_group(&info, task);
}

/* "; of node 3 gemm query and node 7 softmax", or "; both of node 3 gemm query". */
static void say_nodes(const struct pto_finding *finding, const struct pto_export_info *info, char *text, size_t size) {
  const bool is_one = finding->tasks[0] == finding->tasks[1];
  const char *first = pto_export_group(info, finding->tasks[0]);
  const char *second = is_one ? NULL : pto_export_group(info, finding->tasks[1]);
  if (first && second && strcmp(first, second) == 0)
    snprintf(text, size, "; both of node %s", first);
  else if (first || second)
    snprintf(text, size, "; of node %s%s%s", first ? first : second, first && second ? " and node " : "",
             first && second ? second : "");
}

/* The nodes of a graph in the place of lines of its lowering, which is none of who wrote it.  Without memory the
 * finding stays as it is. */
static void name_nodes(struct pto_finding *finding, const struct pto_export_info *info) {
  char places[512], nodes[512] = "", *text;
  if (!pto_export_group(info, finding->tasks[0]) && !pto_export_group(info, finding->tasks[1])) return;
  pto_finding_say_places(finding, places, sizeof places);
  const char *at = places[0] ? strstr(finding->sentence, places) : NULL;
  const size_t before = at ? (size_t)(at - finding->sentence) : strlen(finding->sentence);
  const char *rest = finding->sentence + before + (at ? strlen(places) : 0);
  say_nodes(finding, info, nodes, sizeof nodes);
  if (asprintf(&text, "%.*s%s%s", (int)before, finding->sentence, nodes, rest) < 0) return;
  free(finding->sentence);
  finding->sentence = text;
  memset(finding->places, 0, sizeof finding->places);
}

/* Of ranks, whether it is this one's. */
static bool is_of(const struct pto_session *session, const struct pto_finding *finding) {
  return !finding->has_ranks || !session->config.rank || finding->ranks[0] == pto_rank_index(session->config.rank);
}

void pto_session_name_nodes(const struct pto_session *session, struct pto_findings *findings) {
  const struct pto_export_info info = pto_session_info(session);
  for (uint32_t i = 0; info.groups && i < findings->count; i++)
    if (is_of(session, &findings->items[i])) name_nodes(&findings->items[i], &info);
}

int pto_session_has_graph(const struct pto_session *session, struct pto_error *error) {
  const struct pto_trace *trace = pto_session_trace(session);
  if (trace && trace->record & PTO_RECORD_GRAPH) return PTO_OK;
  return pto_error_set(error, PTO_ENOTSUP, "%s: the graph of the run was not recorded", session->result.program);
}

int pto_session_check_order(const struct pto_session *session, uint32_t rules, struct pto_findings *findings,
                            struct pto_order_counts *counts, struct pto_error *error) {
  const struct pto_order_question question = {.trace = pto_session_trace(session),
                                              .rules = rules,
                                              .name_of = pto_session_array_at,
                                              .context = (void *)(uintptr_t)session};
  int status = pto_session_has_graph(session, error);
  if (status == PTO_OK) status = pto_order_check(&question, findings, counts, error);
  if (status == PTO_OK)
    pto_bounds_check(pto_session_trace(session), session->run, session->result.error.status == PTO_OK, findings);
  if (session->result.priced.given_values || session->result.priced.assumed_values) /* others may submit other tasks */
    for (size_t i = 0; i < findings->count; i++) findings->items[i].decided = PTO_DECIDED_THIS_ORDER;
  if (status == PTO_OK) {
    pto_session_add_refusals(session, findings);
    pto_session_add_remarks(session, findings);
  }
  pto_session_name_nodes(session, findings);
  return status;
}
