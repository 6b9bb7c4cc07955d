/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include <report/export/export.h>
#include <report/file/output_file.h>
#include <report/stopped/stopped.h>

#define NODE_TEXT 160u

static const char *const node_styles[] = {
    [PTO_NODE_NONE] = "shape=plaintext", [PTO_NODE_ORCHESTRATION] = "shape=house", [PTO_NODE_RING] = "shape=cylinder",
    [PTO_NODE_HEAP] = "shape=cylinder",  [PTO_NODE_TABLE] = "shape=cylinder",      [PTO_NODE_TASK] = "shape=box",
    [PTO_NODE_SCOPE] = "shape=folder",   [PTO_NODE_CORE] = "shape=component",
};

/* A node is written when the first link names it. */
struct graph {
  const struct pto_wait_picture *picture;
  FILE *out;
  bool is_written[PTO_NODE_KIND_COUNT][PTO_CORE_WAITS_MAX];
};

static void put_node(struct graph *graph, struct pto_picture_node node) {
  char name[NODE_TEXT], text[NODE_TEXT];
  bool *is_written = &graph->is_written[node.kind][node.index];
  if (*is_written) return;
  *is_written = true;
  fprintf(graph->out, "  %s [label=\"", pto_picture_node_name(graph->picture, node, name, sizeof name));
  pto_dot_put_text(graph->out, pto_stopped_node_text(graph->picture, node, true, text, sizeof text));
  fprintf(graph->out, "\", %s];\n", node_styles[node.kind]);
}

const char *pto_dot_wait_style(bool is_marked, bool is_in_circle) {
  return is_in_circle ? ", color=red, penwidth=2" : is_marked ? ", penwidth=2" : "";
}

static void put_link(struct graph *graph, const struct pto_picture_link *link) {
  char from[NODE_TEXT], to[NODE_TEXT];
  put_node(graph, link->from);
  put_node(graph, link->to);
  fprintf(graph->out, "  %s -> %s [label=\"%s\"%s];\n",
          pto_picture_node_name(graph->picture, link->from, from, sizeof from),
          pto_picture_node_name(graph->picture, link->to, to, sizeof to), pto_picture_reason_name(link->reason),
          pto_dot_wait_style(link->is_marked, link->is_in_circle));
}

/* The wait picture; an empty graph where the run did not stop. */
int pto_export_waits(const struct pto_trace *trace, const struct pto_export_info *info, const char *path,
                     struct pto_error *error) {
  const struct pto_wait_picture *picture = info->stopped;
  struct graph graph = {.picture = picture};
  int status = pto_output_open_stream(path, &graph.out, error);
  if (status) return status;
  pto_dot_begin(graph.out, info->program, " stopped");
  for (uint32_t i = 0; picture && i < picture->link_count; i++) put_link(&graph, &picture->links[i]);
  fputs("}\n", graph.out);
  return pto_output_close_stream(path, graph.out, PTO_OK, error);
}
