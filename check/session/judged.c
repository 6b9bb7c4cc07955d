/* SPDX-License-Identifier: MIT */
/*
 * What the accesses of a session's tasks say about their order.  Part of check/session/session.h.
 */
#include <check/session/session.h>

#include <stdio.h>
#include <stdlib.h>

/* "…; of node 3 gemm query and node 7 softmax".  Without memory it stays as it is. */
static void name_nodes(struct pto_finding *finding, const struct pto_export_info *info) {
  const char *separator = "; of node ";
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  if (!stream) return;
  fputs(finding->sentence, stream);
  for (uint32_t i = 0; i < 2; i++) {
    const char *name = pto_export_group(info, finding->tasks[i]);
    if (!name) continue;
    fprintf(stream, "%s%s", separator, name);
    separator = " and node ";
  }
  if (fclose(stream) != 0) {
    free(text);
    return;
  }
  free(finding->sentence);
  finding->sentence = text;
}

int pto_session_check_order(const struct pto_session *session, uint32_t rules, struct pto_findings *findings,
                            struct pto_order_counts *counts, struct pto_error *error) {
  const struct pto_trace *trace = pto_session_trace(session);
  const struct pto_export_info info = pto_session_info(session);
  const struct pto_order_question question = {
      .trace = trace, .rules = rules, .name_of = pto_session_array_at, .context = (void *)(uintptr_t)session};
  if (!trace || !(trace->record & PTO_RECORD_GRAPH))
    return pto_error_set(error, PTO_ENOTSUP, "%s: the graph of the run was not recorded", session->result.program);
  const int status = pto_order_check(&question, findings, counts, error);
  for (uint32_t i = 0; info.groups && i < findings->count; i++) name_nodes(&findings->items[i], &info);
  return status;
}
