/* SPDX-License-Identifier: MIT */
/*
 * `ptosim graph --check`: what the accesses of a graph's tasks say about their order (check/order_check.h), by node.
 *
 * Owns its findings until fini; zeroed it is not wanted, and nothing is done, printed or freed.
 *
 * A graph is lowered under rules, and judged by them: under rules pto, which order no write behind a read, the lowering
 * hands no memory of dead values on.  So a finding is a mistake of a lowering, or of what lowered it: of ours.
 *
 * The thread of the command, once the run has ended.
 */
#ifndef PTO_GRAPH_CHECK_H
#define PTO_GRAPH_CHECK_H

#include <check/order_check.h>
#include <formats/json_writer.h>

struct pto_graph_check {
  bool is_wanted;
  uint32_t rules; /* enum pto_deps_rules */
  bool has_judged;
  struct pto_order_counts counts;
  struct pto_findings findings;
};

/* Which node each task is of, and its name. */
struct pto_graph_task_nodes {
  const uint32_t *node_of; /* by task */
  uint64_t task_count;
  const char *const *names; /* by node */
};

/* Judges what was recorded; sentences end with the nodes of their tasks.  PTO_OK, or PTO_ENOMEM or PTO_EINVAL with the
 * sentence. */
PTO_MUST_CHECK int pto_graph_check_judge(struct pto_graph_check *check, const struct pto_trace *trace,
                                         const struct pto_graph_task_nodes *nodes, struct pto_error *error);
/* Whether something was found. */
static inline bool pto_graph_check_has_found(const struct pto_graph_check *check) {
  return check->has_judged && !pto_findings_is_clean(&check->findings);
}
/* The findings, a line each, and a line that counts; the member "check". */
void pto_graph_check_print(const struct pto_graph_check *check);
void pto_graph_check_put(struct pto_json_writer *w, const struct pto_graph_check *check);
void pto_graph_check_fini(struct pto_graph_check *check);

#endif
