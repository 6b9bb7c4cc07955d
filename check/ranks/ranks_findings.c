/* SPDX-License-Identifier: MIT */
#include <check/ranks/ranks_findings.h>

#include <inttypes.h>
#include <string.h>

#include <runtime/trace/trace_words.h>

const struct pto_trace_task *pto_rank_task(const struct pto_ranks *ranks, uint32_t rank, uint64_t number) {
  const struct pto_trace *trace = rank < ranks->rank_count ? pto_ranks_trace(ranks, rank) : NULL;
  return trace && number < trace->tasks.count ? pto_trace_log_at(&trace->tasks, number) : NULL;
}

void pto_rank_set_side(const struct pto_ranks *ranks, struct pto_finding *finding, int i, uint32_t rank,
                       uint64_t number) {
  const struct pto_trace_task *task = pto_rank_task(ranks, rank, number);
  finding->ranks[i] = rank;
  if (!task) return;
  finding->tasks[i] = number;
  pto_source_lines_find(ranks->lines, task->call, task->outer_call, &finding->places[i]);
  pto_trace_task_name(task, finding->kernels[i], sizeof finding->kernels[i]);
}

uint64_t pto_rank_side_key(const struct pto_finding *finding, int i) {
  const struct pto_source_call *place = &finding->places[i];
  uint64_t key = pto_xxh64(finding->kernels[i], strlen(finding->kernels[i]), place->own.line);
  key = pto_xxh64(place->own.file, strlen(place->own.file), key ^ place->callee.line << 32);
  return pto_mix64(key ^ finding->params[i]);
}

const char *pto_rank_side_name(const struct pto_finding *finding, int i, char *text, size_t size) {
  if (finding->tasks[i] == PTO_FINDING_NONE)
    snprintf(text, size, "rank %" PRIu64, finding->ranks[i]);
  else
    snprintf(text, size, "rank %" PRIu64 " task %" PRIu64 " (%s)", finding->ranks[i], finding->tasks[i],
             finding->kernels[i]);
  return text;
}

/* ---- accesses of windows ---- */

static uint64_t param_of(const struct pto_world_order *order, const struct pto_window_access *access) {
  if (access->local == PTO_GRAPH_NONE) return PTO_FINDING_NONE;
  const struct pto_trace_param *param = order->graphs[access->rank].accesses[access->local].param;
  return param && param->index != UINT32_MAX ? param->index : PTO_FINDING_NONE;
}

static uint64_t task_of(const struct pto_world_order *order, const struct pto_window_access *access) {
  const struct pto_graph_node *node = &order->graphs[access->rank].nodes[access->its_node];
  return node->is_host ? PTO_FINDING_NONE : node->index;
}

/* The host's place, or the task's. */
void pto_rank_set_access(const struct pto_world_order *order, struct pto_finding *finding, int i,
                         const struct pto_window_access *access) {
  const struct pto_access_graph *graph = &order->graphs[access->rank];
  pto_rank_set_side(order->ranks, finding, i, access->rank, task_of(order, access));
  if (graph->nodes[access->its_node].is_host)
    pto_source_lines_find(order->ranks->lines, pto_graph_host(graph, access->its_node)->call, NULL,
                          &finding->places[i]);
  finding->params[i] = param_of(order, access);
}

/* "rank 1 task 3 (add) param 0 reads". */
void pto_rank_name_access(const struct pto_world_order *order, const struct pto_finding *finding, int i,
                          const struct pto_window_access *access, char *text, size_t size) {
  char side[160], param[32] = "";
  const bool is_host = order->graphs[access->rank].nodes[access->its_node].is_host;
  if (finding->params[i] != PTO_FINDING_NONE) snprintf(param, sizeof param, "param %" PRIu64 " ", finding->params[i]);
  snprintf(text, size, "%s %s%s%s", pto_rank_side_name(finding, i, side, sizeof side), is_host ? "host " : "", param,
           pto_window_verb_name(access->verb));
}
