/* SPDX-License-Identifier: MIT */
/*
 * `ptosim diff A.json B.json`: what differs between the graphs of two runs, from the files of --deps-json.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <check/diff/graph_diff.h>
#include <report/findings/findings.h>
#include <cli/run/options.h>

#define MOST_LINES 50u

struct diff {
  struct pto_run_options options;
  const char *const *paths;
  struct pto_graph_file a, b;
  struct pto_graph_diff counts;
  struct pto_findings findings;
};

static void help(const struct pto_run_options *options) {
  puts("ptosim diff A.json B.json [OPTION...]\n\n"
       "What differs between the task graphs of two runs, each a file of `ptosim run --deps-json`.\n");
  pto_run_options_help(PTO_VERB_diff, NULL);
  puts("\nLeaves with 0 where the graphs are the same, 1 where they differ, 2 for bad arguments or files.");
}

static void print(const struct diff *d) {
  const struct pto_graph_diff *c = &d->counts;
  pto_findings_print(&d->findings, stdout, MOST_LINES);
  if (d->a.dropped || d->b.dropped)
    printf("not all was recorded: %" PRIu64 " records are missing in A, %" PRIu64 " in B\n", d->a.dropped,
           d->b.dropped);
  if (c->is_by_number) puts("the graphs have little in common: tasks are matched by number");
  printf("tasks  %" PRIu64 " in A, %" PRIu64 " in B: %" PRIu64 " only in A, %" PRIu64 " only in B, %" PRIu64
         " differ\n",
         d->a.task_count, d->b.task_count, c->tasks_only_a, c->tasks_only_b, c->tasks_differ);
  printf("edges  %" PRIu64 " in A, %" PRIu64 " in B: %" PRIu64 " only in A, %" PRIu64 " only in B, %" PRIu64
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
  put_graph(w, "a", d->paths[0], &d->a);
  put_graph(w, "b", d->paths[1], &d->b);
  pto_json_put_string(w, "matched_by", d->counts.is_by_number ? "number" : "sequence");
  pto_json_put_u64(w, "tasks_only_a", d->counts.tasks_only_a);
  pto_json_put_u64(w, "tasks_only_b", d->counts.tasks_only_b);
  pto_json_put_u64(w, "tasks_differ", d->counts.tasks_differ);
  pto_json_put_u64(w, "edges_only_a", d->counts.edges_only_a);
  pto_json_put_u64(w, "edges_only_b", d->counts.edges_only_b);
  pto_json_put_u64(w, "edges_differ", d->counts.edges_differ);
  pto_findings_put_json(&d->findings, w);
  pto_json_put_u64(w, "exit", pto_findings_is_clean(&d->findings) ? PTO_EXIT_OK : PTO_EXIT_FINDINGS);
}

static int report(struct diff *d) {
  if (!d->options.quiet && !pto_json_takes_stdout(d->options.json_path)) print(d);
  return pto_write_report(d->options.json_path, put_report, d,
                          pto_findings_is_clean(&d->findings) ? PTO_EXIT_OK : PTO_EXIT_FINDINGS);
}

static int compare(struct diff *d) {
  struct pto_error error;
  int status = pto_graph_file_read(d->paths[0], &d->a, &error);
  if (!status) status = pto_graph_file_read(d->paths[1], &d->b, &error);
  pto_findings_init(&d->findings);
  if (!status) status = pto_graph_diff(&d->a, &d->b, &d->counts, &d->findings, &error);
  int code = status == PTO_OK
                 ? report(d)
                 : pto_complain(status == PTO_ENOMEM ? PTO_EXIT_FAILED : PTO_EXIT_USAGE, "diff: %s", error.sentence);
  pto_findings_fini(&d->findings);
  pto_graph_file_fini(&d->a);
  pto_graph_file_fini(&d->b);
  return code;
}

int pto_cmd_diff(int argc, char **argv) {
  static const struct pto_verb_form form = {PTO_VERB_diff, NULL, help, false};
  struct diff d = {0};
  int code;
  if (pto_run_options_begin(&form, argc, argv, NULL, &d.options, &code)) {
    d.paths = d.options.programs.items;
    if (d.options.programs.count != 2)
      code = pto_complain(PTO_EXIT_USAGE, "diff: two files of --deps-json are compared, not %zu",
                          d.options.programs.count);
    else if ((code = pto_complain_unwritable(d.options.json_path)) == PTO_EXIT_OK)
      code = compare(&d);
  }
  pto_run_options_fini(&d.options);
  return code;
}
