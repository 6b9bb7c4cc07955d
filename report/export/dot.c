/* SPDX-License-Identifier: MIT */
/*
 * --dot: the graph of a run for Graphviz.
 *
 * Small graphs are drawn task by task, grouped by scope.  Larger or wider ones by kind of task: tasks that run the same
 * kernels in the same roles are one node, and the edges between two such nodes one edge a set of reasons, with counts
 * within and across scopes.
 */
#include <report/export/export.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <report/file/output_file.h>
#include <report/run/trace_view.h>
#include <runtime/base/base.h>
#include <runtime/base/grow.h>

#define NAME_SIZE 256
#define REASON_SETS 32u /* subsets of the five reasons */

struct dot {
  const struct pto_trace *trace;
  const struct pto_export_info *info;
  FILE *out;
};

void pto_dot_put_lines(FILE *out, const char *text, size_t columns) {
  size_t column = 0;
  for (; *text; text++) {
    const bool is_end = *text == ' ' && column + 1 + strcspn(text + 1, " ") > columns;
    if (is_end || *text == '"' || *text == '\\') fputc('\\', out);
    fputc(is_end ? 'n' : *text == '\n' ? ' ' : *text, out);
    column = is_end ? 0 : column + 1;
  }
}

void pto_dot_put_text(FILE *out, const char *text) { pto_dot_put_lines(out, text, SIZE_MAX); }

void pto_dot_begin(FILE *out, const char *program, const char *what) {
  fputs("digraph \"", out);
  pto_dot_put_text(out, program ? program : "run");
  fprintf(out,
          "%s\" {\n  node [fontname=\"sans-serif\", fontsize=10];\n  edge [fontname=\"sans-serif\", fontsize=8];\n",
          what);
}

/* Cube work, vector work, both, none: a shape for each, so that a print shows it too. */
static const char *node_style(const struct pto_trace_task *task) {
  bool has_aic = task->kernels[0] != NULL, has_aiv = task->kernels[1] || task->kernels[2];
  if (task->kind == PTO_TASK_BARRIER || task->kind == PTO_TASK_EMPTY) return "shape=diamond";
  if (task->kind == PTO_TASK_ALLOC) return "shape=note";
  if (has_aic && has_aiv) return "shape=hexagon, fillcolor=\"#f2e6c8\", style=filled";
  return has_aic ? "shape=box, fillcolor=\"#cfe0f3\", style=filled"
                 : "shape=ellipse, fillcolor=\"#d5ecd4\", style=filled";
}

/* Reasons that carry data are solid, orders of reuse dashed, what the program asked for bold. */
static const char *edge_style(uint32_t reason_bits) {
  if (reason_bits & PTO_EDGE_RAW) return "style=solid";
  if (reason_bits & PTO_EDGE_EXPLICIT) return "style=bold";
  return "style=dashed";
}

static void put_reason_names(FILE *out, uint32_t reason_bits) {
  const char *separator = "";
  for (uint32_t bit = 1; bit < REASON_SETS; bit <<= 1)
    if (reason_bits & bit) {
      fprintf(out, "%s%s", separator, pto_edge_reason_name(bit));
      separator = " ";
    }
}

/* ---- task by task ---- */

static void put_task(const struct dot *dot, const struct pto_trace_task *task) {
  char name[NAME_SIZE];
  fprintf(dot->out, "  t%" PRIu64 " [label=\"%" PRIu64 " ", task->number, task->number);
  pto_dot_put_text(dot->out, pto_trace_task_name(task, name, sizeof name));
  if (task->block_count > 1) fprintf(dot->out, " ×%" PRIu32, task->block_count);
  fprintf(dot->out, "\", %s];\n", node_style(task));
}

/* The box that a task stands in, 0 for none: its group + 1, or without groups its scope + 1. */
static uint64_t box_of(const struct dot *dot, const struct pto_trace_task *task) {
  if (dot->info->groups)
    return pto_export_group(dot->info, task->number) ? dot->info->groups->group_of[task->number] + UINT64_C(1) : 0;
  return task->scope_depth > 0 ? task->scope_serial + UINT64_C(1) : 0;
}

static void open_box(const struct dot *dot, uint64_t number) {
  if (dot->info->groups) {
    fprintf(dot->out, "  subgraph cluster_node%" PRIu64 " { label=\"", number);
    pto_dot_put_text(dot->out, dot->info->groups->names[number]);
    fputs("\"; color=gray;\n", dot->out);
  } else {
    const struct pto_trace_log *scopes = &dot->trace->scopes;
    const struct pto_trace_scope *scope = number < scopes->count ? pto_trace_log_at(scopes, number) : NULL;
    fprintf(dot->out, "  subgraph cluster_scope%" PRIu64 " { label=\"scope %" PRIu64 "%s", number, number,
            scope && scope->label ? " " : "");
    pto_dot_put_text(dot->out, scope && scope->label ? scope->label : "");
    fputs("\"; color=gray;\n", dot->out);
  }
}

/* Graphviz joins subgraphs of one name, so a scope that goes on after an inner one is opened again. */
static void put_tasks(const struct dot *dot) {
  uint64_t open = 0;
  for (uint64_t i = 0; i < dot->trace->tasks.count; i++) {
    const struct pto_trace_task *task = pto_trace_log_at(&dot->trace->tasks, i);
    const uint64_t box = box_of(dot, task);
    if (box != open) {
      if (open) fputs("  }\n", dot->out);
      if (box) open_box(dot, box - 1);
      open = box;
    }
    put_task(dot, task);
  }
  if (open) fputs("  }\n", dot->out);
}

static void put_param_index(FILE *out, uint32_t index) {
  if (index == UINT32_MAX)
    fputs("predicate", out);
  else
    fprintf(out, "%" PRIu32, index);
}

static int put_edge(void *context, const struct pto_trace_edge_view *edge) {
  const struct dot *dot = context;
  fprintf(dot->out, "  t%" PRIu64 " -> t%" PRIu64 " [label=\"", edge->producer, edge->consumer);
  for (uint32_t i = 0; i < edge->reason_count; i++) {
    const struct pto_trace_edge *reason = edge->reasons[i];
    if (i) fputs("\\n", dot->out);
    fputs(pto_edge_reason_name(reason->reason), dot->out);
    if (reason->reason == PTO_EDGE_EXPLICIT) continue;
    fputc(' ', dot->out);
    if (reason->reason != PTO_EDGE_CREATOR) put_param_index(dot->out, reason->producer_param);
    fputs("→", dot->out);
    put_param_index(dot->out, reason->consumer_param);
    fprintf(dot->out, " b%" PRIu64, reason->buffer_number);
  }
  fprintf(dot->out, "\", %s];\n", edge_style(edge->reason_bits));
  return PTO_OK;
}

/* ---- kind by kind ---- */

struct kind {
  const struct pto_trace_task *example;
  uint64_t task_count;
};

struct edge_group {
  uint32_t from, to, reason_bits;
  uint64_t within, across; /* edges within one scope, and between two */
};

struct summary {
  struct dot dot;
  struct kind *kinds;
  struct edge_group *groups;
  uint32_t *kind_of; /* by task */
  size_t kind_count, group_count, kind_capacity, group_capacity;
};

static bool is_same_kind(const struct pto_trace_task *a, const struct pto_trace_task *b) {
  return a->kind == b->kind && memcmp(a->kernels, b->kernels, sizeof a->kernels) == 0;
}

static int classify_tasks(struct summary *summary) {
  const struct pto_trace *trace = summary->dot.trace;
  summary->kind_of = malloc((trace->tasks.count + 1) * sizeof *summary->kind_of);
  if (!summary->kind_of) return PTO_ENOMEM;
  for (uint64_t i = 0; i < trace->tasks.count; i++) {
    const struct pto_trace_task *task = pto_trace_log_at(&trace->tasks, i);
    size_t at = 0;
    while (at < summary->kind_count && !is_same_kind(summary->kinds[at].example, task)) at++;
    if (at == summary->kind_count) {
      struct kind *kind = pto_grow(&summary->kinds, &summary->kind_count, &summary->kind_capacity, sizeof *kind);
      if (!kind) return PTO_ENOMEM;
      kind->example = task;
    }
    summary->kinds[at].task_count++;
    summary->kind_of[i] = (uint32_t)at;
  }
  return PTO_OK;
}

static int count_edge(void *context, const struct pto_trace_edge_view *edge) {
  struct summary *summary = context;
  const struct pto_trace_task *producer = pto_trace_task_at(summary->dot.trace, edge->producer);
  const struct pto_trace_task *consumer = pto_trace_task_at(summary->dot.trace, edge->consumer);
  if (!producer || !consumer) return PTO_OK; /* a full log dropped it */
  uint32_t from = summary->kind_of[edge->producer], to = summary->kind_of[edge->consumer];
  struct edge_group *group = NULL;
  for (size_t i = 0; i < summary->group_count && !group; i++) {
    struct edge_group *candidate = &summary->groups[i];
    if (candidate->from == from && candidate->to == to && candidate->reason_bits == edge->reason_bits)
      group = candidate;
  }
  if (!group) {
    group = pto_grow(&summary->groups, &summary->group_count, &summary->group_capacity, sizeof *group);
    if (!group) return PTO_ENOMEM;
    *group = (struct edge_group){.from = from, .to = to, .reason_bits = edge->reason_bits};
  }
  if (producer->scope_serial == consumer->scope_serial)
    group->within++;
  else
    group->across++;
  return PTO_OK;
}

static void put_summary(const struct summary *summary) {
  FILE *out = summary->dot.out;
  fprintf(out, "  label=\"%" PRIu64 " tasks, by the kernels that they run\";\n", summary->dot.trace->tasks.count);
  for (size_t i = 0; i < summary->kind_count; i++) {
    char name[NAME_SIZE];
    fprintf(out, "  k%zu [label=\"", i);
    struct pto_trace_task kind = *summary->kinds[i].example;
    kind.label = NULL;
    pto_dot_put_text(out, pto_trace_task_name(&kind, name, sizeof name));
    fprintf(out, "\\n%" PRIu64 " tasks\", %s];\n", summary->kinds[i].task_count, node_style(summary->kinds[i].example));
  }
  for (size_t i = 0; i < summary->group_count; i++) {
    const struct edge_group *group = &summary->groups[i];
    fprintf(out, "  k%" PRIu32 " -> k%" PRIu32 " [label=\"", group->from, group->to);
    put_reason_names(out, group->reason_bits);
    if (group->within) fprintf(out, "\\n%" PRIu64 " in one scope", group->within);
    if (group->across) fprintf(out, "\\n%" PRIu64 " across scopes", group->across);
    fprintf(out, "\", %s];\n", edge_style(group->reason_bits));
  }
}

static int summarise(const struct dot *dot) {
  struct summary summary = {.dot = *dot};
  int status = classify_tasks(&summary);
  if (status == PTO_OK) status = pto_trace_each_edge(dot->trace, count_edge, &summary);
  if (status == PTO_OK) put_summary(&summary);
  free(summary.kinds);
  free(summary.groups);
  free(summary.kind_of);
  return status;
}

/* ---- how wide a picture of all tasks would be ---- */

static int deepen(void *depths, const struct pto_trace_edge_view *edge) {
  uint32_t *depth = depths;
  depth[edge->consumer] = pto_max_u32(depth[edge->consumer], depth[edge->producer] + 1);
  return PTO_OK;
}

/* Tasks side by side: the most whose longest ways from a first task are of one length. */
static int find_width(const struct pto_trace *trace, uint64_t *width_out) {
  const uint64_t count = trace->tasks.count;
  uint32_t *depth = calloc(count + 1, sizeof *depth);
  uint64_t *at_depth = calloc(count + 1, sizeof *at_depth);
  int status = depth && at_depth ? pto_trace_each_edge(trace, deepen, depth) : PTO_ENOMEM;
  *width_out = 0;
  for (uint64_t i = 0; status == PTO_OK && i < count; i++) *width_out = pto_max_u64(*width_out, ++at_depth[depth[i]]);
  free(depth);
  free(at_depth);
  return status;
}

/* A node a task, edges with all their reasons; of more tasks than PTO_EXPORT_DOT_MAX_TASKS, or more of them side by
 * side than PTO_EXPORT_DOT_MAX_WIDTH, a node for each set of kernels and an edge for each pair of them, with counts. */
int pto_export_dot(const struct pto_trace *trace, const struct pto_export_info *info, const char *path,
                   struct pto_error *error) {
  struct dot dot = {.trace = trace, .info = info};
  const int status = pto_output_open_stream(path, &dot.out, error);
  if (status) return status;
  pto_dot_begin(dot.out, info->program, "");
  uint64_t width = 0;
  int walked = trace->tasks.count <= PTO_EXPORT_DOT_MAX_TASKS ? find_width(trace, &width) : PTO_OK;
  if (walked == PTO_OK && (trace->tasks.count > PTO_EXPORT_DOT_MAX_TASKS || width > PTO_EXPORT_DOT_MAX_WIDTH))
    walked = summarise(&dot);
  else if (walked == PTO_OK) {
    put_tasks(&dot);
    walked = pto_trace_each_edge(trace, put_edge, &dot);
  }
  fputs("}\n", dot.out);
  return pto_output_close_stream(path, dot.out, walked, error);
}
