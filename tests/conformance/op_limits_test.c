/* SPDX-License-Identifier: MIT */
/*
 * The table of operations against op_limits.json of the folder that WEBNN_DATA names: the dtypes and ranks that the
 * specification allows of every operand of its 95 operations.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tests/conformance/case_json.h>

/* Ours is wider or narrower on purpose, as the cases of the same data want it. */
static const struct {
  const char *op, *parameter, *why;
} exceptions[] = {{"quantizeLinear", "zeroPoint", "4-bit values"},
                  {"dequantizeLinear", "input", "4-bit values"},
                  {"pad", "input", "the method steps refuse a scalar"}};

static bool is_exception(const char *op, const char *parameter) {
  for (size_t i = 0; i < sizeof exceptions / sizeof exceptions[0]; i++)
    if (strcmp(op, exceptions[i].op) == 0 && strcmp(parameter, exceptions[i].parameter) == 0) return true;
  return false;
}

static const struct pto_op_parameter *find_parameter(const struct pto_op_info *info, const char *name) {
  for (uint32_t i = 0; i < info->parameter_count; i++)
    if (strcmp(info->parameters[i].name, name) == 0) return &info->parameters[i];
  return NULL;
}

/* "1 to N", "4", "N", "same rank as input": any of the last two. */
static void read_ranks(const char *text, uint32_t *least, uint32_t *most) {
  char last[8] = "N";
  *least = 0;
  *most = PTO_MAX_DIMS;
  if (text[0] < '0' || text[0] > '9') return;
  if (sscanf(text, "%u to %7s", least, last) == 1)
    *most = *least;
  else if (last[0] != 'N')
    *most = (uint32_t)strtoul(last, NULL, 10);
}

static bool dtypes_agree(const struct pto_op_info *info, const struct pto_op_parameter *parameter, json_t *allowed) {
  if (json_is_string(allowed)) {
    const char *text = json_string_value(allowed);
    return strncmp(text, "same:", 5) == 0 && parameter->same_dtype &&
           strcmp(info->parameters[parameter->same_dtype - 1].name, text + 5) == 0;
  }
  uint32_t dtypes = 0;
  size_t i;
  json_t *name;
  json_array_foreach(allowed, i, name) dtypes |= PTO_DTYPE_BIT(pto_graph_dtype_find(json_string_value(name)));
  return !parameter->same_dtype && dtypes == parameter->dtypes;
}

static void check_operation(const char *name, json_t *operands) {
  uint32_t op = pto_op_find(name), found = 0;
  if (op == PTO_GRAPH_OP_COUNT) fail_msg("there is no %s", name);
  const struct pto_op_info *info = pto_op_info(op);
  const char *parameter_name;
  json_t *limits;
  json_object_foreach(operands, parameter_name, limits) {
    uint32_t least, most;
    if (strncmp(parameter_name, "output", 6) == 0) continue;
    const struct pto_op_parameter *parameter = find_parameter(info, parameter_name);
    if (!parameter) fail_msg("%s has no operand %s", name, parameter_name);
    found++;
    if (is_exception(name, parameter_name)) continue;
    if (!dtypes_agree(info, parameter, json_object_get(limits, "allowedDataTypes")))
      fail_msg("%s: %s has other dtypes", name, parameter_name);
    const char *ranks = json_string_value(json_object_get(limits, "allowedRanks"));
    if (!ranks) fail_msg("%s: %s has no ranks", name, parameter_name);
    read_ranks(ranks, &least, &most);
    bool is_same_rank = strncmp(ranks, "same", 4) == 0;
    if (!is_same_rank && (parameter->min_rank != least || parameter->max_rank != most))
      fail_msg("%s: %s has ranks %u to %u, not %u to %u", name, parameter_name, parameter->min_rank,
               parameter->max_rank, least, most);
  }
  if (found != info->parameter_count) fail_msg("%s has %u operands, not %u", name, info->parameter_count, found);
}

static void test_operands_have_the_dtypes_and_ranks_of_the_specification(void **state) {
  const char *data = getenv("WEBNN_DATA"), *name;
  char path[4096];
  struct pto_error error = {0};
  uint32_t count = 0;
  if (!data || !data[0]) skip();
  snprintf(path, sizeof path, "%s/op_limits.json", data);
  if (access(path, R_OK) != 0) skip();
  json_t *document = pto_case_json_load(path, &error), *operands;
  if (!document) fail_msg("%s: %s", path, error.sentence);
  json_object_foreach(json_object_get(document, "ops"), name, operands) {
    check_operation(name, operands);
    count++;
  }
  assert_int_equal(count, PTO_GRAPH_OP_COUNT - 4); /* four are of exchange formats */
  json_decref(document);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_operands_have_the_dtypes_and_ranks_of_the_specification),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
