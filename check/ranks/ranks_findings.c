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
