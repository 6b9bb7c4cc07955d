/* SPDX-License-Identifier: MIT */
/*
 * What differs between the graphs of two runs, as a report; and pto_tools_diff of pto/tools.h.
 */
#include <check/diff/graph_report.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <check/diff/edge_diff.h>
#include <report/findings/report.h>

#define MOST_LINES 50u

struct diff {
  struct pto_report report;
  const char *paths[2];
  struct pto_graph_file a, b;
  bool has_capture;
  struct pto_graph_diff counts;
};

static void print(const struct pto_report *report, FILE *to) {
  const struct diff *d = (const struct diff *)report;
  const struct pto_graph_diff *c = &d->counts;
  pto_findings_print(&report->findings, to, MOST_LINES);
  if (d->a.dropped || d->b.dropped)
    fprintf(to, "not all was recorded: %" PRIu64 " records are missing in A, %" PRIu64 " in B\n", d->a.dropped,
            d->b.dropped);
  if (d->has_capture)
    fputs("a capture: tasks are matched by number, without allocations\n", to);
  else if (c->is_by_number)
    fputs("the graphs have little in common: tasks are matched by number\n", to);
  fprintf(to,
          "tasks  %" PRIu64 " in A, %" PRIu64 " in B: %" PRIu64 " only in A, %" PRIu64 " only in B, %" PRIu64
          " differ\n",
          d->a.task_count, d->b.task_count, c->tasks_only_a, c->tasks_only_b, c->tasks_differ);
  fprintf(to,
          "edges  %" PRIu64 " in A, %" PRIu64 " in B: %" PRIu64 " only in A, %" PRIu64 " only in B, %" PRIu64
          " differ in reasons (between tasks that both have)\n",
          d->a.edge_count, d->b.edge_count, c->edges_only_a, c->edges_only_b, c->edges_differ);
}

static void put_graph(struct pto_json_writer *w, const char *key, const char *path,
                      const struct pto_graph_file *graph) {
  pto_json_put_object(w, key);
  pto_json_put_string(w, "file", path);
  pto_json_put_string(w, "program", graph->program);
  pto_json_put_u64(w, "tasks", graph->task_count);
  pto_json_put_u64(w, "edges", graph->edge_count);
  pto_json_put_u64(w, "dropped", graph->dropped);
  pto_json_object_end(w);
}

static void put_report(struct pto_json_writer *w, const void *context) {
  const struct diff *d = context;
  pto_json_put_format(w, "pto-diff", 1);
  put_graph(w, "a", d->paths[0], &d->a);
  put_graph(w, "b", d->paths[1], &d->b);
  pto_json_put_string(w, "matched_by", d->counts.is_by_number ? "number" : "sequence");
  pto_json_put_u64(w, "tasks_only_a", d->counts.tasks_only_a);
  pto_json_put_u64(w, "tasks_only_b", d->counts.tasks_only_b);
  pto_json_put_u64(w, "tasks_differ", d->counts.tasks_differ);
  pto_json_put_u64(w, "edges_only_a", d->counts.edges_only_a);
  pto_json_put_u64(w, "edges_only_b", d->counts.edges_only_b);
  pto_json_put_u64(w, "edges_differ", d->counts.edges_differ);
  pto_findings_put_json(&d->report.findings, w);
  pto_json_put_u64(w, "exit", !d->report.is_clean);
}

/* What a graph says is compared, and it says nothing of when and what was computed. */
static void cover(struct diff *d) {
  struct pto_coverage *coverage = &d->report.coverage;
  coverage->subject = "A B";
  pto_coverage_add(coverage, PTO_COVERAGE_TASKS, d->counts.tasks_compared);
  if (d->has_capture)
    pto_coverage_leave_because(coverage, PTO_COVERAGE_TASKS, d->a.task_count, "of a capture edges alone are compared");
  pto_coverage_add(coverage, PTO_COVERAGE_EDGES, d->counts.edges_compared);
  pto_coverage_leave_because(coverage, PTO_COVERAGE_EDGES, d->counts.edges_left, "their tasks are not in both graphs");
  pto_coverage_leave_because(coverage, PTO_COVERAGE_RECORDS, d->a.dropped + d->b.dropped, "there was no room for them");
  pto_coverage_leave(coverage, PTO_COVERAGE_TIMES, PTO_COVERAGE_UNCOUNTED, "compare");
  pto_coverage_leave_because(coverage, PTO_COVERAGE_VALUES, PTO_COVERAGE_UNCOUNTED, "graphs have none");
}

static void fini(struct pto_report *report) {
  struct diff *d = (struct diff *)report;
  pto_graph_file_fini(&d->a);
  pto_graph_file_fini(&d->b);
}

int pto_graph_report(struct pto_graph_side sides[2], struct pto_report **report_out, struct pto_error *error) {
  struct diff *d = calloc(1, sizeof *d);
  if (!d) {
    pto_graph_file_fini(&sides[0].graph);
    pto_graph_file_fini(&sides[1].graph);
    return pto_error_set(error, PTO_ENOMEM, "out of memory");
  }
  *d = (struct diff){.report = {.print = print, .put = put_report, .fini = fini},
                     .paths = {sides[0].name, sides[1].name},
                     .a = sides[0].graph,
                     .b = sides[1].graph,
                     .has_capture = sides[0].is_capture || sides[1].is_capture};
  /* a capture has a launch as one task */
  int status = sides[1].is_capture && !sides[0].is_capture ? pto_graph_file_drop_parts(&d->a) : PTO_OK;
  if (!status && sides[0].is_capture && !sides[1].is_capture) status = pto_graph_file_drop_parts(&d->b);
  if (!status)
    status = d->has_capture ? pto_edge_diff(&d->a, &d->b, &d->counts, &d->report.findings, error)
                            : pto_graph_diff(&d->a, &d->b, &d->counts, &d->report.findings, error);
  cover(d);
  d->report.is_clean = pto_findings_is_clean(&d->report.findings);
  return pto_report_give(&d->report, status, report_out, error);
}

int pto_tools_diff(const char *path_a, const char *path_b, struct pto_report **report_out, char *sentence,
                   size_t sentence_size) {
  struct pto_graph_side sides[2] = {{.name = path_a}, {.name = path_b}};
  struct pto_error error;
  int status = pto_graph_file_read(path_a, &sides[0].graph, &error);
  if (status) return pto_error_tell(&error, sentence, sentence_size);
  status = pto_graph_file_read(path_b, &sides[1].graph, &error);
  if (status)
    pto_graph_file_fini(&sides[0].graph);
  else
    status = pto_graph_report(sides, report_out, &error);
  return status ? pto_error_tell(&error, sentence, sentence_size) : PTO_OK;
}
