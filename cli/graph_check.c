/* SPDX-License-Identifier: MIT */
#include <cli/graph_check.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <cli/findings_report.h>

/* Lines of findings for people; --json has all. */
#define MAX_LINES 20u

/* "…; of node 3 gemm query and node 7 softmax".  Without memory it stays as it is. */
static void name_nodes(struct pto_finding *finding, const struct pto_graph_task_nodes *nodes) {
  const char *separator = "; of node ";
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  if (!stream) return;
  fputs(finding->sentence, stream);
  for (uint32_t i = 0; i < 2; i++) {
    if (finding->tasks[i] >= nodes->task_count) continue; /* or there is none */
    fprintf(stream, "%s%s", separator, nodes->names[nodes->node_of[finding->tasks[i]]]);
    separator = " and node ";
  }
  if (fclose(stream) != 0) {
    free(text);
    return;
  }
  free(finding->sentence);
  finding->sentence = text;
}

int pto_graph_check_judge(struct pto_graph_check *check, const struct pto_trace *trace,
                          const struct pto_graph_task_nodes *nodes, struct pto_error *error) {
  const struct pto_order_question question = {.trace = trace, .rules = check->rules};
  pto_findings_init(&check->findings);
  check->has_judged = true;
  const int status = pto_order_check(&question, &check->findings, &check->counts, error);
  for (uint32_t i = 0; i < check->findings.count; i++) name_nodes(&check->findings.items[i], nodes);
  return status;
}

void pto_graph_check_print(const struct pto_graph_check *check) {
  if (!check->has_judged) return;
  pto_findings_print(&check->findings, stdout, MAX_LINES);
  printf("checked    %" PRIu64 " tasks, %" PRIu64 " edges and %" PRIu64 " pairs under rules %s, %" PRIu64 " findings\n",
         check->counts.tasks, check->counts.edges, check->counts.pairs, pto_deps_rules_name(check->rules),
         check->findings.total);
}

void pto_graph_check_put(struct pto_json_writer *w, const struct pto_graph_check *check) {
  if (!check->has_judged) {
    pto_json_put_null(w, "check");
    return;
  }
  pto_json_key(w, "check");
  pto_json_object_begin(w);
  pto_json_put_string(w, "deps", pto_deps_rules_name(check->rules));
  pto_json_put_u64(w, "tasks", check->counts.tasks);
  pto_json_put_u64(w, "edges", check->counts.edges);
  pto_json_put_u64(w, "pairs", check->counts.pairs);
  pto_findings_put_json(&check->findings, w);
  pto_json_object_end(w);
}

void pto_graph_check_fini(struct pto_graph_check *check) {
  if (check->has_judged) pto_findings_fini(&check->findings);
  *check = (struct pto_graph_check){0};
}
