/* SPDX-License-Identifier: MIT */
/*
 * `ptosim graph --explain`: node → tasks → kernels → local memory, bytes, work, and what bounds it on the chip.
 */
#include <cli/graph/command.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <formats/units.h>
#include <report/run/result.h>
#include <sim/chips/chip.h>

#define NAME_SIZE 64

int pto_graph_command_explain(struct pto_graph_command *command) {
  struct pto_config config = pto_graph_command_config(command);
  struct pto_context *context = NULL;
  struct pto_chip chip;
  config.engine = "virtual";
  int status = pto_chip_load(config.chip, &chip, &command->error);
  if (status == PTO_ESYSTEM) status = command->error.status = PTO_EINVAL; /* it was asked for */
  if (status == PTO_OK) status = pto_graph_open_context(command->graph, &config, &context, &command->error);
  if (status) return status;
  status = pto_graph_explain(command->graph, context, &chip, &command->explanation, &command->error);
  pto_graph_record_take(&command->explained, context);
  pto_graph_forget(command->graph, context);
  pto_context_destroy(context);
  command->has_explained = status == PTO_OK;
  return status;
}

static bool is_inside(const struct pto_graph_command *command, uint32_t n) {
  return n < command->graph->node_count && pto_fusion_is_inside(&command->explanation.plan, n);
}
/* The group that is lowered at node n, or NULL. */
static const struct pto_fused_group *group_at(const struct pto_graph_command *command, uint32_t n) {
  return n < command->graph->node_count ? pto_fusion_group_at(&command->explanation.plan, n) : NULL;
}

/* "view": nothing is done; "kernel": tiles of one; "composed": of several; "inside": a later node does it. */
static const char *form_of(const struct pto_graph_command *command, uint32_t n) {
  const struct pto_explained_node *node = &command->explanation.nodes[n];
  if (is_inside(command, n)) return "inside";
  return node->tasks == 0 ? "view" : node->kernel_count == 1 ? "kernel" : "composed";
}

/* What is done after the last node has no operation of its own. */
static const char *op_of(const struct pto_graph *graph, uint32_t n) {
  return n < graph->node_count ? pto_op_info(graph->nodes[n].op)->name : "outputs";
}
static const char *label_of(const struct pto_graph *graph, uint32_t n) {
  return n < graph->node_count && graph->nodes[n].label ? graph->nodes[n].label : "";
}

/* Tasks with kernels; the others of a run only hold memory. */
static uint64_t kernel_tasks(const struct pto_graph_explanation *e) {
  uint64_t tasks = 0;
  for (uint32_t n = 0; n < e->node_count; n++) tasks += e->nodes[n].tasks;
  return tasks;
}

/* ---- for people ---- */

static void print_kernels(const struct pto_explained_node *node) {
  for (uint32_t k = 0; k < node->kernel_count; k++)
    printf("%s%s %" PRIu64, k ? ", " : "", node->kernels[k].kernel->name, node->kernels[k].tasks);
}

/* "; fused: rms_norm of nodes 8 to 11, 13" */
static void print_group(const struct pto_fused_group *group) {
  printf("; fused: %s of nodes", pto_fusion_name(group->pattern));
  for (uint32_t i = 0; i < group->node_count; i++) {
    const uint32_t first = group->nodes[i];
    while (i + 1 < group->node_count && group->nodes[i + 1] == group->nodes[i] + 1) i++;
    printf("%s %" PRIu32, group->nodes[0] == first ? "" : ",", first);
    if (group->nodes[i] != first) printf(" to %" PRIu32, group->nodes[i]);
  }
}

static void print_what(const struct pto_graph_command *command, uint32_t n) {
  const struct pto_explained_node *node = &command->explanation.nodes[n];
  const struct pto_fused_group *group = group_at(command, n);
  print_kernels(node);
  if (is_inside(command, n))
    printf("(done by node %" PRIu32 ")", pto_fusion_place(&command->explanation.plan, n));
  else if (node->kernel_count == 0)
    printf("(a view)");
  if (group != NULL) print_group(group);
}

static void print_node(const struct pto_graph_command *command, uint32_t n) {
  const struct pto_explained_node *node = &command->explanation.nodes[n];
  char name[NAME_SIZE];
  snprintf(name, sizeof name, "%s%s%.28s", op_of(command->graph, n), label_of(command->graph, n)[0] ? " " : "",
           label_of(command->graph, n));
  if (n < command->graph->node_count)
    printf("%5" PRIu32 " ", n);
  else
    printf("%5s ", "");
  printf("%-44s %5" PRIu64 " %9" PRIu64 " %11" PRIu64 " %11" PRIu64 " %12" PRIu64 " %10.2f %-7s ", name, node->tasks,
         node->local_bytes, node->bytes_in + node->bytes_out, node->vector_elems, node->multiply_adds,
         (double)pto_explained_ps(node) * 1e-6, pto_explained_bound_name(pto_explained_bound(node)));
  print_what(command, n);
  putchar('\n');
}

void pto_graph_explain_print(const struct pto_graph_command *command) {
  const struct pto_graph_explanation *e = &command->explanation;
  const struct pto_context_counters *c = &command->explained.counters;
  char text[32], more[32];
  printf("\n%5s %-44s %5s %9s %11s %11s %12s %10s %-7s %s\n", "node", "operation", "tiles", "local", "bytes",
         "elements", "macs", "core us", "bound", "kernels");
  for (uint32_t n = 0; n < e->node_count; n++)
    if (n < command->graph->node_count || e->nodes[n].tasks) print_node(command, n);
  printf("on %s: %" PRIu64 " tasks and %" PRIu64 " that hold memory, %" PRIu64 " edges, %s, %s of it transfers\n",
         command->explained.chip, kernel_tasks(e), c->tasks - kernel_tasks(e), c->edges,
         pto_format_seconds((double)c->virtual_ps * 1e-12, text, sizeof text),
         pto_format_seconds((double)c->transfer_ps * 1e-12, more, sizeof more));
}

/* ---- JSON ---- */

/* Of the last node of a group its pattern and nodes; of others inside it that node. */
static void put_fusion(struct pto_json_writer *w, const struct pto_graph_command *command, uint32_t n) {
  const struct pto_fused_group *group = group_at(command, n);
  if (is_inside(command, n)) pto_json_put_u64(w, "done_by", pto_fusion_place(&command->explanation.plan, n));
  if (group == NULL) return;
  pto_json_put_string(w, "fused", pto_fusion_name(group->pattern));
  pto_json_put_array(w, "fused_nodes");
  for (uint32_t i = 0; i < group->node_count; i++) pto_json_u64(w, group->nodes[i]);
  pto_json_array_end(w);
}

static void put_node(struct pto_json_writer *w, const struct pto_graph_command *command, uint32_t n) {
  const struct pto_explained_node *node = &command->explanation.nodes[n];
  pto_json_newline(w);
  pto_json_object_begin(w);
  pto_json_put_u64(w, "node", n);
  pto_json_put_string(w, "op", op_of(command->graph, n));
  pto_json_put_string(w, "label", label_of(command->graph, n));
  pto_json_put_string(w, "form", form_of(command, n));
  put_fusion(w, command, n);
  pto_json_put_u64(w, "tasks", node->tasks);
  pto_json_put_array(w, "kernels");
  for (uint32_t k = 0; k < node->kernel_count; k++) {
    pto_json_object_begin(w);
    pto_json_put_string(w, "name", node->kernels[k].kernel->name);
    pto_json_put_u64(w, "tasks", node->kernels[k].tasks);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
  pto_json_put_u64(w, "local_bytes", node->local_bytes);
  pto_json_put_u64(w, "bytes_in", node->bytes_in);
  pto_json_put_u64(w, "bytes_out", node->bytes_out);
  pto_json_put_u64(w, "vector_elems", node->vector_elems);
  pto_json_put_u64(w, "multiply_adds", node->multiply_adds);
  pto_json_key(w, "core_us");
  pto_json_decimal(w, pto_explained_ps(node), 6);
  pto_json_put_string(w, "bound", pto_explained_bound_name(pto_explained_bound(node)));
  pto_json_object_end(w);
}

void pto_graph_explain_put(struct pto_json_writer *w, const struct pto_graph_command *command) {
  const struct pto_context_counters *c = &command->explained.counters;
  if (!pto_json_try_key(w, "explained", command->has_explained)) return;
  pto_json_object_begin(w);
  pto_json_put_string(w, "chip", command->explained.chip);
  pto_json_put_u64(w, "tasks", kernel_tasks(&command->explanation));
  pto_json_put_u64(w, "memory_tasks", c->tasks - kernel_tasks(&command->explanation));
  pto_json_put_u64(w, "edges", c->edges);
  pto_json_key(w, "virtual_us");
  pto_json_decimal(w, c->virtual_ps, 6);
  pto_json_key(w, "transfer_us");
  pto_json_decimal(w, c->transfer_ps, 6);
  pto_json_put_array(w, "nodes");
  for (uint32_t n = 0; n < command->explanation.node_count; n++)
    if (n < command->graph->node_count || command->explanation.nodes[n].tasks) put_node(w, command, n);
  pto_json_array_end(w);
  pto_json_object_end(w);
}
