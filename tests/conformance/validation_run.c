/* SPDX-License-Identifier: MIT */
#include <tests/conformance/validation_run.h>

#include <stdio.h>
#include <string.h>

#include <tests/conformance/case_call.h>
#include <tests/conformance/case_json.h>

/* The builder under test, and the one that foreign operands come from. */
struct builders {
  struct pto_graph_builder *own, *other;
  uint32_t input_count;
};

/* A descriptor stands for an input of it. */
static int input_operand(void *context, const char *parameter, json_t *json, struct pto_graph_operand *operand,
                         struct pto_error *error) {
  struct builders *builders = context;
  struct pto_graph_desc desc;
  char name[64];
  int status = pto_case_json_desc(json, &desc, error);
  if (status) return status;
  snprintf(name, sizeof name, "%.40s%u", parameter, builders->input_count++);
  bool is_foreign = json_is_true(json_object_get(json, "fromOtherBuilder"));
  struct pto_graph_builder *builder = is_foreign ? builders->other : builders->own;
  *operand = pto_graph_builder_input(builder, name, &desc);
  status = pto_graph_builder_status(builder);
  return status ? pto_error_set(error, status, "%s", pto_graph_builder_error(builder)) : PTO_OK;
}

/* The "operation" input: name, dataType and shape are its attributes. */
static int call_input(struct builders *builders, json_t *attrs, struct pto_graph_operand *results,
                      uint32_t *result_count, struct pto_error *error) {
  struct pto_graph_desc desc;
  json_t *name = pto_case_json_member(attrs, "name", JSON_STRING, error);
  if (!name) return PTO_ENOTSUP;
  int status = pto_case_json_desc(attrs, &desc, error);
  if (status) return status;
  results[0] = pto_graph_builder_input(builders->own, json_string_value(name), &desc);
  *result_count = 1;
  status = pto_graph_builder_status(builders->own);
  return status ? pto_error_set(error, status, "%s", pto_graph_builder_error(builders->own)) : PTO_OK;
}

static void desc_text(const struct pto_graph_desc *desc, char text[128]) {
  int used = snprintf(text, 128, "%s[", pto_graph_dtype_name(desc->dtype));
  for (uint32_t d = 0; d < desc->ndims; d++)
    used += snprintf(text + used, 128 - (size_t)used, "%s%llu", d ? "," : "", (unsigned long long)desc->shape[d]);
  snprintf(text + used, 128 - (size_t)used, "]");
}

static bool is_desc(const struct pto_graph_desc *a, const struct pto_graph_desc *b) {
  return a->dtype == b->dtype && a->ndims == b->ndims && memcmp(a->shape, b->shape, a->ndims * sizeof a->shape[0]) == 0;
}

/* Whether the results are the expected descriptors; says so in the report. */
static void check_outputs(struct builders *builders, const char *test, json_t *outputs,
                          const struct pto_graph_operand *results, uint32_t result_count,
                          struct pto_case_report *report) {
  struct pto_error error;
  if (json_array_size(outputs) != result_count) {
    pto_case_report_fail(report, test, "%u results, and %zu are expected", result_count, json_array_size(outputs));
    return;
  }
  for (uint32_t i = 0; i < result_count; i++) {
    struct pto_graph_desc wanted, given = pto_graph_builder_desc(builders->own, results[i]);
    if (pto_case_json_desc(json_array_get(outputs, i), &wanted, &error)) {
      pto_case_report_fail(report, test, "output %u: %s", i, error.sentence);
      return;
    }
    if (is_desc(&wanted, &given)) continue;
    char wanted_text[128], given_text[128];
    desc_text(&wanted, wanted_text);
    desc_text(&given, given_text);
    pto_case_report_fail(report, test, "output %u is %s, not %s", i, given_text, wanted_text);
    return;
  }
  pto_case_report_pass(report);
}

/* The status of a kind of exception, PTO_OK of what is none. */
static int refusal_status(json_t *name) {
  static const struct {
    const char *name;
    int status;
  } kinds[] = {{"TypeError", PTO_EINVAL}, {"InvalidStateError", PTO_ESTALE}};
  for (size_t i = 0; json_is_string(name) && i < sizeof kinds / sizeof kinds[0]; i++)
    if (strcmp(json_string_value(name), kinds[i].name) == 0) return kinds[i].status;
  return PTO_OK;
}

static void run_case(const char *op, json_t *json, struct builders *builders, struct pto_case_report *report) {
  static struct pto_graph_operand results[PTO_GRAPH_MAX_RESULTS];
  struct pto_error error = {0};
  json_t *test_json = json_object_get(json, "test"), *expect = json_object_get(json, "expect");
  json_t *operands = json_object_get(json, "operands"), *attrs = json_object_get(json, "attrs");
  const char *test = json_is_string(test_json) ? json_string_value(test_json) : "(no name)";
  uint32_t result_count = 0;
  int status = strcmp(op, "input") == 0 ? call_input(builders, attrs, results, &result_count, &error)
                                        : pto_case_call(builders->own, op, operands, attrs, input_operand, builders,
                                                        results, PTO_GRAPH_MAX_RESULTS, &result_count, &error);
  json_t *refusal = json_object_get(expect, "error"), *outputs = json_object_get(expect, "outputs");
  int wanted = refusal_status(refusal);
  if (wanted) {
    if (status == wanted)
      pto_case_report_pass(report);
    else if (status)
      pto_case_report_fail(report, test, "%s: %s", pto_status_name(status), error.sentence);
    else
      pto_case_report_fail(report, test, "is accepted");
  } else if (!json_is_array(outputs) && !json_is_true(json_object_get(expect, "ok"))) {
    pto_case_report_fail(report, test, "the case expects nothing that is known");
  } else if (status) {
    pto_case_report_fail(report, test, "%s: %s", pto_status_name(status), error.sentence);
  } else if (outputs) {
    check_outputs(builders, test, outputs, results, result_count, report);
  } else {
    pto_case_report_pass(report);
  }
}

void pto_validation_run(json_t *document, struct pto_case_report *report) {
  struct pto_error error = {0};
  json_t *op = pto_case_json_member(document, "op", JSON_STRING, &error);
  json_t *cases = op ? pto_case_json_member(document, "cases", JSON_ARRAY, &error) : NULL;
  size_t i;
  json_t *json;
  if (!cases) {
    pto_case_report_fail(report, "the file", "%s", error.sentence);
    return;
  }
  json_array_foreach(cases, i, json) {
    struct builders builders = {0};
    if (pto_graph_builder_create(NULL, &builders.own) || pto_graph_builder_create(NULL, &builders.other))
      pto_case_report_fail(report, "a builder", "out of memory");
    else
      run_case(json_string_value(op), json, &builders, report);
    pto_graph_builder_destroy(builders.own);
    pto_graph_builder_destroy(builders.other);
  }
}
