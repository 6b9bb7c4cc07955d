/* SPDX-License-Identifier: MIT */
#include <graph/file/json.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <graph/build/name_table.h>

struct pto_graph_names {
  const char **names; /* by value; [0] is "" */
  struct pto_graph_arena arena;
  struct pto_name_table taken;
};

/* Whether the name was free, and is taken now; *status is PTO_ENOMEM where there is no room. */
static bool take(struct pto_graph_names *names, const char *name, uint32_t value, int *status) {
  uint32_t other;
  if (pto_name_table_lookup(&names->taken, name, &other)) return false;
  if (!pto_name_table_insert(&names->taken, name, value)) *status = PTO_ENOMEM;
  names->names[value] = name;
  return *status == PTO_OK;
}

/* "const_3", "value_7"; with as many "_" behind it as make it free. */
static int make_up(struct pto_graph_names *names, const struct pto_graph *graph, uint32_t value) {
  const bool is_constant = graph->values[value].kind == PTO_VALUE_CONSTANT;
  char text[96];
  int length = snprintf(text, sizeof text, "%s_%" PRIu32, is_constant ? "const" : "value", value), status = PTO_OK;
  for (; length + 1 < (int)sizeof text; text[length++] = '_', text[length] = '\0') {
    const char *name = pto_graph_arena_string(&names->arena, text);
    if (!name) return PTO_ENOMEM;
    if (take(names, name, value, &status) || status) return status;
  }
  return PTO_ENOMEM;
}

/* Inputs have theirs first, which they must keep. */
static int fill(struct pto_graph_names *names, const struct pto_graph *graph) {
  int status = PTO_OK;
  names->names[0] = "";
  for (uint32_t i = 0; i < graph->input_count; i++)
    (void)take(names, graph->values[graph->inputs[i]].name, graph->inputs[i], &status);
  for (uint32_t v = 1; v < graph->value_count && status == PTO_OK; v++)
    if (!names->names[v] && graph->values[v].name) (void)take(names, graph->values[v].name, v, &status);
  for (uint32_t v = 1; v < graph->value_count && status == PTO_OK; v++)
    if (!names->names[v]) status = make_up(names, graph, v);
  return status;
}

int pto_graph_names_create(const struct pto_graph *graph, struct pto_graph_names **names_out) {
  struct pto_graph_names *names = calloc(1, sizeof *names);
  if (!names) return PTO_ENOMEM;
  names->names = calloc(graph->value_count + UINT64_C(1), sizeof *names->names);
  if (!names->names || fill(names, graph)) {
    pto_graph_names_destroy(names);
    return PTO_ENOMEM;
  }
  *names_out = names;
  return PTO_OK;
}

void pto_graph_names_destroy(struct pto_graph_names *names) {
  if (!names) return;
  pto_graph_arena_fini(&names->arena);
  pto_name_table_fini(&names->taken);
  free(names->names);
  free(names);
}

const char *pto_graph_name_of(const struct pto_graph_names *names, uint32_t value) { return names->names[value]; }
