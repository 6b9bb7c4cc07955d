/* SPDX-License-Identifier: MIT */
#include <graph/file/json.h>

#include <inttypes.h>
#include <stdio.h>

#include <graph/file/manifest.h>
#include <graph/build/operation.h>

/* Inputs, constants, intermediates and outputs, told apart by shape, so that print shows it too. */
static const char input_style[] = "shape=invhouse, style=filled, fillcolor=\"#cfe0f3\"";
static const char constant_style[] = "shape=note, style=filled, fillcolor=\"#eeeeee\"";
static const char intermediate_style[] = "shape=ellipse";
static const char output_style[] = "shape=house, style=filled, fillcolor=\"#d5ecd4\"";
static const char node_style[] = "shape=box, style=\"filled,rounded\", fillcolor=\"#f2e6c8\"";

struct picture {
  FILE *out;
  const struct pto_graph *graph;
  const struct pto_graph_names *names;
};

static void put_text(FILE *out, const char *text) {
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') fputc('\\', out);
    fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
  }
}

static void put_desc(FILE *out, const struct pto_graph_desc *desc) {
  const char *name = pto_graph_dtype_name(desc->dtype);
  fprintf(out, "%s [", name ? name : pto_dtype_name(desc->dtype));
  for (uint32_t d = 0; d < desc->ndims; d++) fprintf(out, "%s%" PRIu64, d ? ", " : "", desc->shape[d]);
  fputc(']', out);
}

/* Values; an output is drawn as one, under the name that it leaves by. */
static void put_value(const struct picture *p, uint32_t value, const char *name, const char *style) {
  fprintf(p->out, "  v%" PRIu32 " [label=\"", value);
  put_text(p->out, name);
  fputs("\\n", p->out);
  put_desc(p->out, &p->graph->values[value].desc);
  fprintf(p->out, "\", %s];\n", style);
}

static void put_values(const struct picture *p) {
  for (uint32_t v = 1; v < p->graph->value_count; v++) {
    const uint32_t kind = p->graph->values[v].kind;
    put_value(p, v, pto_graph_name_of(p->names, v),
              kind == PTO_VALUE_INPUT      ? input_style
              : kind == PTO_VALUE_CONSTANT ? constant_style
                                           : intermediate_style);
  }
  /* A later line of the same node adds to it. */
  for (uint32_t i = 0; i < p->graph->output_count; i++)
    put_value(p, p->graph->outputs[i], pto_graph_output_at(p->graph, i)->name, output_style);
}

static void put_node(const struct picture *p, uint32_t index) {
  const struct pto_graph_node *node = &p->graph->nodes[index];
  const struct pto_op_info *info = pto_op_info(node->op);
  fprintf(p->out, "  n%" PRIu32 " [label=\"%s", index, info->name);
  if (node->label && node->label[0]) {
    fputs("\\n", p->out);
    put_text(p->out, node->label);
  }
  fprintf(p->out, "\", %s];\n", node_style);
  for (uint32_t k = 0; k < node->operand_count; k++) {
    if (!node->operands[k]) continue;
    fprintf(p->out, "  v%" PRIu32 " -> n%" PRIu32, node->operands[k], index);
    /* Which is which matters where there are several. */
    if (info->parameters[0].is_list)
      fprintf(p->out, " [label=\"%" PRIu32 "\"]", k);
    else if (node->operand_count > 1)
      fprintf(p->out, " [label=\"%s\"]", info->parameters[k].name);
    fputs(";\n", p->out);
  }
  for (uint32_t k = 0; k < node->result_count; k++)
    fprintf(p->out, "  n%" PRIu32 " -> v%" PRIu32 ";\n", index, node->first_result + k);
}

int pto_graph_write_dot(const struct pto_graph *graph, FILE *out) {
  struct picture p = {.out = out, .graph = graph};
  struct pto_graph_names *names;
  if (pto_graph_names_create(graph, &names)) return PTO_ENOMEM;
  p.names = names;
  fputs("digraph graph_of_operations {\n  rankdir=TB;\n  node [fontname=\"Helvetica\", fontsize=10];\n"
        "  edge [fontname=\"Helvetica\", fontsize=8];\n",
        out);
  put_values(&p);
  for (uint32_t i = 0; i < graph->node_count; i++) put_node(&p, i);
  fputs("}\n", out);
  pto_graph_names_destroy(names);
  return PTO_OK;
}
