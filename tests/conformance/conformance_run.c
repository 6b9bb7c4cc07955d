/* SPDX-License-Identifier: MIT */
#include <tests/conformance/conformance_run.h>

#include <stdio.h>
#include <string.h>

#include <graph/build/name_table.h>
#include <tests/conformance/case_call.h>
#include <tests/conformance/case_compare.h>
#include <tests/conformance/case_json.h>

/* ---- cases that are not run ---- */

static const struct {
  const char *op, *name, *reason;
} odd_cases[] = {
    {"layerNormalization", "layerNormalization float32 2D tensor axes=[] and options.bias",
     "odd: the baseline refuses it"},
    {"subgraph", "add + sub + mul + gather default", "odd: expects [1] of a scalar"},
    {"subgraph", "batchNormalization options.axis=0 + gelu", "odd: an ATOL is meant"},
};

static const char *odd_reason(const char *op, const char *name) {
  for (size_t i = 0; i < sizeof odd_cases / sizeof odd_cases[0]; i++)
    if (strcmp(op, odd_cases[i].op) == 0 && strcmp(name, odd_cases[i].name) == 0) return odd_cases[i].reason;
  return NULL;
}

/* ---- the graph of a case ---- */

/* One case on its way. */
struct conformance_case {
  const char *name;
  json_t *json;
  struct pto_graph_builder *builder;
  struct pto_name_table names; /* → index into operands */
  struct pto_graph_operand *operands;
  uint32_t operand_count, operand_room;
  struct pto_graph *graph;
  void **inputs; /* dense bytes, in the graph's order */
  uint32_t input_count;
  void **outputs, **expected;
  uint32_t output_count;
  struct pto_case_tolerance tolerance;
  struct pto_error error;
};

static int name_operand(struct conformance_case *c, const char *name, struct pto_graph_operand operand) {
  uint32_t other;
  if (pto_name_table_lookup(&c->names, name, &other))
    return pto_error_set(&c->error, PTO_EINVAL, "\"%.60s\" is made twice", name);
  if (!pto_name_table_insert(&c->names, name, c->operand_count))
    return pto_error_set(&c->error, PTO_ENOMEM, "out of memory");
  c->operands[c->operand_count++] = operand;
  return PTO_OK;
}

static int make_input(struct conformance_case *c, const char *name, json_t *json) {
  struct pto_graph_desc desc;
  void *data = NULL;
  uint64_t size = 0;
  int status = pto_case_json_desc(json, &desc, &c->error);
  if (status == PTO_OK) status = pto_case_json_data(json, &desc, &data, &size, &c->error);
  if (status) {
    pto_error_append(&c->error, " (input \"%.60s\")", name);
    return status;
  }
  struct pto_graph_operand operand;
  if (json_is_true(json_object_get(json, "constant"))) {
    operand = pto_graph_builder_constant(c->builder, &desc, data, size);
    free(data);
  } else {
    operand = pto_graph_builder_input(c->builder, name, &desc);
    c->inputs[c->input_count++] = data;
  }
  status = pto_graph_builder_status(c->builder);
  if (status) return pto_error_set(&c->error, status, "%s", pto_graph_builder_error(c->builder));
  return name_operand(c, name, operand);
}

/* A name stands for an input or an earlier result. */
static int named_operand(void *context, const char *parameter, json_t *json, struct pto_graph_operand *operand,
                         struct pto_error *error) {
  struct conformance_case *c = context;
  uint32_t index;
  if (!json_is_string(json)) return pto_error_set(error, PTO_EINVAL, "operand %s is no name", parameter);
  if (!pto_name_table_lookup(&c->names, json_string_value(json), &index))
    return pto_error_set(error, PTO_EINVAL, "operand %s is \"%.60s\", which nothing has made", parameter,
                         json_string_value(json));
  *operand = c->operands[index];
  return PTO_OK;
}

static int make_operator(struct conformance_case *c, json_t *json) {
  static struct pto_graph_operand results[PTO_GRAPH_MAX_RESULTS];
  uint32_t count = 0;
  json_t *op = pto_case_json_member(json, "op", JSON_STRING, &c->error);
  json_t *names = op ? pto_case_json_member(json, "outputs", JSON_ARRAY, &c->error) : NULL;
  if (!names) return PTO_EINVAL;
  int status = pto_case_call(c->builder, json_string_value(op), json_object_get(json, "operands"),
                             json_object_get(json, "attrs"), named_operand, c, results, PTO_GRAPH_MAX_RESULTS, &count,
                             &c->error);
  if (status) return status;
  if (json_array_size(names) != count)
    return pto_error_set(&c->error, PTO_EINVAL, "%s has %u results, and %zu are named", json_string_value(op), count,
                         json_array_size(names));
  for (uint32_t i = 0; status == PTO_OK && i < count; i++) {
    json_t *name = json_array_get(names, i);
    status = json_is_string(name) ? name_operand(c, json_string_value(name), results[i])
                                  : pto_error_set(&c->error, PTO_EINVAL, "result %u has no name", i);
  }
  return status;
}

/* ---- what is expected ---- */

static int read_expected(struct conformance_case *c, const char *name, json_t *json, struct pto_graph_output *output) {
  struct pto_graph_desc desc, given;
  uint64_t size;
  uint32_t index;
  int status = pto_case_json_desc(json, &desc, &c->error);
  if (status == PTO_OK && !pto_name_table_lookup(&c->names, name, &index))
    status = pto_error_set(&c->error, PTO_EINVAL, "nothing has made it");
  if (status == PTO_OK) {
    *output = (struct pto_graph_output){name, c->operands[index]};
    given = pto_graph_builder_desc(c->builder, output->operand);
    bool is_same = given.dtype == desc.dtype && given.ndims == desc.ndims &&
                   memcmp(given.shape, desc.shape, desc.ndims * sizeof desc.shape[0]) == 0;
    if (!is_same) status = pto_error_set(&c->error, PTO_EINVAL, "it has another data type or shape");
  }
  if (status == PTO_OK) status = pto_case_json_data(json, &desc, &c->expected[c->output_count], &size, &c->error);
  if (status) {
    pto_error_append(&c->error, " (expected \"%.60s\")", name);
    return status;
  }
  c->outputs[c->output_count] = calloc(1, size + 1);
  if (!c->outputs[c->output_count++]) return pto_error_set(&c->error, PTO_ENOMEM, "out of memory");
  return PTO_OK;
}

static int read_tolerance(struct conformance_case *c) {
  struct pto_number value;
  json_t *tolerance = pto_case_json_member(c->json, "tolerance", JSON_OBJECT, &c->error);
  json_t *metric = tolerance ? pto_case_json_member(tolerance, "metric", JSON_STRING, &c->error) : NULL;
  if (!metric) return PTO_EINVAL;
  c->tolerance.is_atol = strcmp(json_string_value(metric), "ATOL") == 0;
  if ((!c->tolerance.is_atol && strcmp(json_string_value(metric), "ULP") != 0) ||
      !pto_case_json_number(json_object_get(tolerance, "value"), &value))
    return pto_error_set(&c->error, PTO_EINVAL, "the tolerance is neither ULP nor ATOL with a value");
  c->tolerance.value = pto_option_f64(value, 0);
  return PTO_OK;
}

/* ---- from the file to a graph with data ---- */

static int alloc_arrays(struct conformance_case *c, json_t *inputs, json_t *operators, json_t *expected) {
  size_t input_room = json_object_size(inputs) + 1, output_room = json_object_size(expected) + 1, room = input_room;
  size_t i;
  json_t *operator_json;
  json_array_foreach(operators, i, operator_json) room += json_array_size(json_object_get(operator_json, "outputs"));
  c->operands = calloc(room, sizeof *c->operands);
  c->inputs = calloc(input_room, sizeof *c->inputs);
  c->outputs = calloc(output_room, sizeof *c->outputs);
  c->expected = calloc(output_room, sizeof *c->expected);
  if (c->operands && c->inputs && c->outputs && c->expected) return PTO_OK;
  return pto_error_set(&c->error, PTO_ENOMEM, "out of memory");
}

static int make_graph(struct conformance_case *c) {
  json_t *inputs = pto_case_json_member(c->json, "inputs", JSON_OBJECT, &c->error);
  json_t *operators = inputs ? pto_case_json_member(c->json, "operators", JSON_ARRAY, &c->error) : NULL;
  json_t *expected = operators ? pto_case_json_member(c->json, "expected", JSON_OBJECT, &c->error) : NULL;
  if (!expected) return PTO_EINVAL;
  int status = alloc_arrays(c, inputs, operators, expected);
  if (status == PTO_OK) status = pto_graph_builder_create(NULL, &c->builder);
  const char *name;
  json_t *json;
  size_t i;
  json_object_foreach(inputs, name, json)
    if (status == PTO_OK) status = make_input(c, name, json);
  json_array_foreach(operators, i, json)
    if (status == PTO_OK) status = make_operator(c, json);
  struct pto_graph_output *outputs = calloc(json_object_size(expected) + 1, sizeof *outputs);
  if (!outputs) return pto_error_set(&c->error, PTO_ENOMEM, "out of memory");
  json_object_foreach(expected, name, json)
    if (status == PTO_OK) status = read_expected(c, name, json, &outputs[c->output_count]);
  if (status == PTO_OK) {
    status = pto_graph_builder_build(c->builder, outputs, c->output_count, &c->graph);
    if (status) (void)pto_error_set(&c->error, status, "%s", pto_graph_builder_error(c->builder));
  }
  free(outputs);
  return status ? status : read_tolerance(c);
}

static void free_case(struct conformance_case *c) {
  for (uint32_t i = 0; i < c->input_count; i++) free(c->inputs[i]);
  for (uint32_t i = 0; i < c->output_count; i++) free(c->outputs[i]);
  for (uint32_t i = 0; c->expected && i < c->output_count; i++) free(c->expected[i]);
  free(c->operands);
  free(c->inputs);
  free(c->outputs);
  free(c->expected);
  pto_name_table_fini(&c->names);
  pto_graph_destroy(c->graph);
  pto_graph_builder_destroy(c->builder);
}

/* ---- running ---- */

/* Whether the outputs of one path are as expected; if not, what the report says. */
static bool compare_outputs(struct conformance_case *c, const char *path, struct pto_case_report *report,
                            struct pto_case_worst *worst) {
  for (uint32_t i = 0; i < c->output_count; i++) {
    const struct pto_graph_desc *desc = &c->graph->values[c->graph->outputs[i]].desc;
    struct pto_case_difference difference;
    bool is_within = pto_case_compare(desc, c->outputs[i], c->expected[i], c->tolerance, &difference);
    pto_case_report_difference(worst, difference.worst, c->tolerance.value);
    if (is_within) continue;
    pto_case_report_fail(report, c->name, "%s: \"%.60s\"[%llu] is %.9g, not %.9g: %g, and %g %s is allowed", path,
                         c->graph->output_operands[i].name, (unsigned long long)difference.index,
                         pto_case_element(desc, c->outputs[i], difference.index),
                         pto_case_element(desc, c->expected[i], difference.index), difference.worst, c->tolerance.value,
                         c->tolerance.is_atol ? "absolute" : "ULP");
    return false;
  }
  return true;
}

/* What a path does not write is nothing that is expected, and nothing that another path has left. */
static void poison_outputs(struct conformance_case *c) {
  for (uint32_t i = 0; i < c->output_count; i++)
    memset(c->outputs[i], 0xa5, c->graph->values[c->graph->outputs[i]].size_bytes);
}

static void run_paths(struct conformance_case *c, struct pto_case_report *report) {
  for (uint32_t p = 0; p < pto_conformance_path_count; p++) {
    const struct pto_conformance_path *path = &pto_conformance_paths[p];
    poison_outputs(c);
    int status = path->run(c->graph, (const void *const *)c->inputs, c->outputs, &c->error);
    if (status == PTO_CONFORMANCE_SKIPPED) continue;
    if (status) {
      pto_case_report_fail(report, c->name, "%s: %s: %s", path->name, pto_status_name(status), c->error.sentence);
      return;
    }
    if (!compare_outputs(c, path->name, report, c->tolerance.is_atol ? &report->atol : &report->ulp)) return;
    report->counts.on_path[p]++;
  }
  pto_case_report_pass(report);
}

static void run_case(const char *op, json_t *json, struct pto_case_report *report) {
  json_t *name = json_object_get(json, "name");
  struct conformance_case c = {.name = json_is_string(name) ? json_string_value(name) : "(no name)", .json = json};
  const char *odd = odd_reason(op, c.name);
  if (odd) {
    pto_case_report_skip(report, c.name, odd);
    return;
  }
  int status = make_graph(&c);
  if (status)
    pto_case_report_fail(report, c.name, "%s: %s", pto_status_name(status), c.error.sentence);
  else
    run_paths(&c, report);
  free_case(&c);
}

void pto_conformance_run(json_t *document, struct pto_case_report *report) {
  struct pto_error error = {0};
  json_t *op = pto_case_json_member(document, "op", JSON_STRING, &error);
  json_t *cases = op ? pto_case_json_member(document, "cases", JSON_ARRAY, &error) : NULL;
  size_t i;
  json_t *json;
  if (!cases) pto_case_report_fail(report, "the file", "%s", error.sentence);
  json_array_foreach(cases, i, json) run_case(json_string_value(op), json, report);
}
