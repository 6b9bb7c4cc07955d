/* SPDX-License-Identifier: MIT */
/*
 * Every option of every operation, set in a graph file to whatever values come: of the wrong kind, out of any range, or
 * merely odd.  A value of a kind or range that the table of operations does not allow is refused; whatever is refused
 * says file, node and option; whatever is read runs, on the reference and lowered.
 *
 * The nodes are those of the fuzz corpus's graph of every operation, each alone, with inputs of the shapes that its
 * operands have there.  Operations and options come from the table: a new one is tried without a line here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include <graph/reference/reference.h>
#include <graph/build/op_attributes.h>
#include <tests/fuzz/fuzz_graph_bytes.h>
#include <tests/support/lowered_graph.h>

static const char all_operations[] = "tests/fuzz/corpus/graph_json_fuzz/all_operations.json";
static const char no_option[] = "noSuchOption";
static char path[200], sentence[1024];
static json_t *document;        /* of all operations */
static struct pto_graph *whole; /* the same, read */
static struct pto_context *context;
static uint32_t refused_count, read_count, run_count;

/* ---- one node alone ---- */

static void put_operand(json_t *inputs, const char *name) {
  uint32_t v = 1;
  while (v < whole->value_count && (!whole->values[v].name || strcmp(whole->values[v].name, name) != 0)) v++;
  if (v == whole->value_count) fail_msg("no value is called \"%s\"", name);
  const struct pto_graph_desc *desc = &whole->values[v].desc;
  json_t *shape = json_array();
  for (uint32_t d = 0; d < desc->ndims; d++) json_array_append_new(shape, json_integer((json_int_t)desc->shape[d]));
  json_object_set_new(inputs, name,
                      json_pack("{s:s, s:o}", "dataType", pto_graph_dtype_name(desc->dtype), "shape", shape));
}

/* A document of a copy of the node alone. */
static json_t *document_of(json_t *original) {
  json_t *node = json_deep_copy(original), *inputs = json_object(), *outputs = json_object(), *item;
  const char *key;
  size_t i;
  json_array_foreach(json_object_get(node, "inputs"), i, item) put_operand(inputs, json_string_value(item));
  const struct pto_op_info *info = pto_op_info(pto_op_find(json_string_value(json_object_get(node, "op"))));
  if (!json_object_get(node, "options")) json_object_set_new(node, "options", json_object());
  json_object_foreach(json_object_get(node, "options"), key, item) {
    for (uint32_t p = 0; p < info->parameter_count; p++)
      if (strcmp(info->parameters[p].name, key) == 0) put_operand(inputs, json_string_value(item));
  }
  json_object_set(outputs, json_string_value(json_object_get(node, "id")), json_object_get(node, "id"));
  if (json_object_get(node, "outputs")) {
    json_object_clear(outputs);
    json_array_foreach(json_object_get(node, "outputs"), i, item)
      json_object_set(outputs, json_string_value(item), item);
  }
  return json_pack("{s:s, s:i, s:o, s:[o], s:o}", "format", "webnn-graph-json", "version", 2, "inputs", inputs, "nodes",
                   node, "outputs", outputs);
}

static json_t *find_node(uint32_t op) {
  json_t *node;
  size_t i;
  json_array_foreach(json_object_get(document, "nodes"), i, node) {
    if (strcmp(json_string_value(json_object_get(node, "op")), pto_op_info(op)->name) == 0) return node;
  }
  fail_msg("%s has no node of %s", all_operations, pto_op_info(op)->name);
  return NULL;
}

/* ---- values ---- */

static const char *const values[] = {"null",
                                     "true",
                                     "false",
                                     "{}",
                                     "{\"a\": 1}",
                                     "\"\"",
                                     "\"x\"",
                                     "\"NaN\"",
                                     "\"Infinity\"",
                                     "\"-Infinity\"",
                                     "\"18446744073709551615\"",
                                     "\"-9223372036854775808\"",
                                     "0",
                                     "1",
                                     "-1",
                                     "0.5",
                                     "-0.0",
                                     "7",
                                     "255",
                                     "65536",
                                     "2147483647",
                                     "2147483648",
                                     "-2147483649",
                                     "4294967295",
                                     "4294967296",
                                     "9223372036854775807",
                                     "-9223372036854775808",
                                     "1e300",
                                     "-1e300",
                                     "1e-320",
                                     "3.5e38",
                                     "[]",
                                     "[[]]",
                                     "[{}]",
                                     "[null]",
                                     "[true]",
                                     "[\"x\"]",
                                     "[\"NaN\"]",
                                     "[0]",
                                     "[1]",
                                     "[-1]",
                                     "[0.5]",
                                     "[1e300]",
                                     "[4294967295]",
                                     "[4294967296]",
                                     "[0, 0]",
                                     "[1, 1]",
                                     "[0, 4294967295]",
                                     "[4294967295, 4294967295]",
                                     "[2147483647, 2147483647]",
                                     "[1, 2, 3]",
                                     "[4294967295, 1, 4294967295]",
                                     "[0, 0, 0, 0]",
                                     "[1, 1, 1, 1]",
                                     "[3, 2, 1, 0]",
                                     "[4294967295, 4294967295, 4294967295, 4294967295]",
                                     "[2147483647, 0, 2147483647, 0]",
                                     "[0, 0, 0, 0, 0, 0, 0, 0, 0]",
                                     "[1, -1, 1, -1]"};

/* A value, or with the numbers past the end: a list that is longer than any shape, one longer than is read, a long
 * text. */
enum { VALUE_COUNT = sizeof values / sizeof values[0] + 3 };

static json_t *make_value(size_t index) {
  static const size_t long_lists[] = {PTO_GRAPH_MAX_OPERANDS, 5000};
  const size_t extra = index - PTO_ARRAY_LENGTH(values);
  if (index < PTO_ARRAY_LENGTH(values)) return json_loads(values[index], JSON_DECODE_ANY, NULL);
  if (extra < PTO_ARRAY_LENGTH(long_lists)) {
    json_t *list = json_array();
    for (size_t i = 0; i < long_lists[extra]; i++) json_array_append_new(list, json_integer(1));
    return list;
  }
  char text[5000];
  memset(text, 'a', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  return json_string(text);
}

/* ---- what a kind allows ---- */

static bool is_whole_within(json_t *value, double least, double most) {
  const double x = json_number_value(value);
  return json_is_number(value) && x >= least && x <= most && x == (double)(json_int_t)x;
}

static bool is_number(json_t *value, uint32_t number_class) {
  const char *text = json_string_value(value);
  switch (number_class) {
  case PTO_NUMBERS_UNSIGNED:
    return is_whole_within(value, 0, UINT32_MAX);
  case PTO_NUMBERS_SIGNED:
    return is_whole_within(value, INT32_MIN, INT32_MAX);
  default:
    if (json_is_number(value)) return true;
    if (!text) return false;
    if (strspn(text, "-0123456789") == strlen(text)) return text[0] != '\0';
    return number_class == PTO_NUMBERS_ALL && (strcmp(text, "NaN") == 0 || strstr(text, "Infinity"));
  }
}

static bool is_word(json_t *value, const char *const *words) {
  for (; json_is_string(value) && *words; words++)
    if (strcmp(json_string_value(value), *words) == 0) return true;
  return false;
}

static bool is_item(json_t *value, const struct pto_op_attribute *attribute) {
  switch ((enum pto_attribute_kind)attribute->kind) {
  case PTO_ATTRIBUTE_FLAG:
    return json_is_boolean(value);
  case PTO_ATTRIBUTE_WORD:
  case PTO_ATTRIBUTE_WORD_LIST:
    return is_word(value, attribute->words);
  case PTO_ATTRIBUTE_DTYPE:
  case PTO_ATTRIBUTE_OPTIONAL_DTYPE:
    return json_is_string(value) && pto_graph_dtype_find(json_string_value(value)) >= 0;
  case PTO_ATTRIBUTE_NUMBER:
    return is_number(value, attribute->number_class);
  case PTO_ATTRIBUTE_F32_LIST:
    return json_is_number(value) && json_number_value(value) < 3.5e38 && json_number_value(value) > -3.5e38;
  default:
    return is_whole_within(value, 0, UINT32_MAX);
  }
}

/* Whether the table allows the value; what inference says of it is another matter. */
static bool is_allowed(json_t *value, const struct pto_op_attribute *attribute) {
  const bool wants_list = attribute->kind == PTO_ATTRIBUTE_U32_LIST || attribute->kind == PTO_ATTRIBUTE_F32_LIST ||
                          attribute->kind == PTO_ATTRIBUTE_WORD_LIST;
  json_t *item;
  size_t i;
  if (json_is_null(value)) return !attribute->is_required;
  if (json_is_array(value) != wants_list && !(json_is_array(value) && attribute->kind == PTO_ATTRIBUTE_SPLITS))
    return false;
  if (!json_is_array(value)) return is_item(value, attribute);
  json_array_foreach(value, i, item) {
    if (!is_item(item, attribute)) return false;
  }
  return json_array_size(value) <= 4096;
}

/* ---- trying them ---- */

/* Both ways, to the same bytes where there are integers alone. */
static void run(struct pto_graph *graph) {
  static struct fuzz_graph_bytes reference, lowered;
  const void *inputs[FUZZ_GRAPH_MOST_ELEMENTS];
  struct pto_error error;
  bool is_whole = true;
  if (!fuzz_graph_is_small(graph)) return;
  fuzz_graph_bytes_init(&reference, graph);
  fuzz_graph_bytes_init(&lowered, graph);
  for (uint32_t v = 1; v < graph->value_count; v++)
    is_whole &= (PTO_DTYPES_FLOAT & PTO_DTYPE_BIT(graph->values[v].desc.dtype)) == 0;
  for (uint32_t i = 0; i < reference.input_count; i++) inputs[i] = reference.inputs[i];
  assert_int_equal(pto_graph_reference_run(graph, inputs, reference.outputs, NULL, NULL, &error), PTO_OK);
  if (lowered_graph_run(graph, context, lowered.inputs, lowered.outputs)) fail_msg("%s", pto_context_error(context));
  for (uint32_t i = 0; i < graph->output_count && is_whole; i++)
    assert_memory_equal(lowered.outputs[i], reference.outputs[i], graph->values[graph->outputs[i]].size_bytes);
  fuzz_graph_bytes_fini(&reference);
  fuzz_graph_bytes_fini(&lowered);
  run_count++;
}

/* Whether the sentence is of `option`, or of what comes of it: another option, an operand or the result. */
static bool tells_of(const char *said, const char *option, const struct pto_op_info *info, bool by_name) {
  if (strstr(said, option) || by_name) return strstr(said, option);
  for (uint32_t i = 0; i < info->attribute_count; i++)
    if (strstr(said, info->attributes[i].name)) return true;
  for (uint32_t i = 0; i < info->parameter_count; i++) {
    char name[64];
    snprintf(name, sizeof name, "%s ", info->parameters[i].name);
    if (strstr(said, name)) return true;
  }
  return strstr(said, "result");
}

struct expectation {
  bool is_refused;
  bool by_name; /* where it is refused, the sentence has the option's name */
};

/* Reads the document.  Where it is refused, the sentence has the file, the node and the option. */
static int try_document(json_t *one, const char *what, const char *option, struct expectation expected) {
  struct pto_graph *graph = NULL;
  char place[300];
  json_t *node = json_array_get(json_object_get(one, "nodes"), 0);
  assert_int_equal(json_dump_file(one, path, JSON_COMPACT), 0);
  sentence[0] = '\0';
  const int status = pto_graph_load(NULL, path, NULL, &graph, sentence, sizeof sentence);
  if (status == PTO_OK) {
    if (expected.is_refused) fail_msg("%s is read", what);
    read_count++;
    run(graph);
    pto_graph_destroy(graph);
    return status;
  }
  refused_count++;
  snprintf(place, sizeof place, "%s: nodes[0] \"%s\"", path, json_string_value(json_object_get(node, "id")));
  assert_null(graph);
  const struct pto_op_info *info = pto_op_info(pto_op_find(json_string_value(json_object_get(node, "op"))));
  if (status != PTO_EINVAL || strncmp(sentence, place, strlen(place)) != 0 ||
      !tells_of(sentence + strlen(place), option, info, expected.by_name))
    fail_msg("%s: status %d, \"%s\" does not say %s and \"%s\"", what, status, sentence, place, option);
  return status;
}

/* What must become of the value of an attribute; `attribute` NULL: of an operand, the label or what there is not. */
static struct expectation expectation_of(const char *option, const struct pto_op_attribute *attribute, json_t *value) {
  if (!attribute) return (struct expectation){strcmp(option, no_option) == 0 && !json_is_null(value), true};
  const bool is_refused = !is_allowed(value, attribute);
  return (struct expectation){is_refused, is_refused};
}

static void try_option(json_t *original, const char *option, const struct pto_op_attribute *attribute) {
  char what[256];
  for (size_t i = 0; i < VALUE_COUNT; i++) {
    json_t *one = document_of(original), *value = make_value(i);
    json_t *node = json_array_get(json_object_get(one, "nodes"), 0);
    assert_non_null(value);
    if (attribute && attribute->old_name) json_object_del(json_object_get(node, "options"), attribute->old_name);
    json_object_set(json_object_get(node, "options"), option, value);
    snprintf(what, sizeof what, "%s: %s = %s", json_string_value(json_object_get(node, "op")), option,
             i < PTO_ARRAY_LENGTH(values) ? values[i] : "something long");
    try_document(one, what, option, expectation_of(option, attribute, value));
    json_decref(value);
    json_decref(one);
  }
}

static void test_an_option_is_refused_by_name_or_runs_whatever_its_value(void **state) {
  for (uint32_t op = 0; op < PTO_GRAPH_OP_COUNT; op++) {
    const struct pto_op_info *info = pto_op_info(op);
    json_t *node = find_node(op), *one = document_of(node);
    if (try_document(one, info->name, "", (struct expectation){false, false}))
      fail_msg("%s alone: %s", info->name, sentence);
    json_decref(one);
    for (uint32_t i = 0; i < info->attribute_count; i++)
      try_option(node, info->attributes[i].name, &info->attributes[i]);
    for (uint32_t i = 0; i < info->parameter_count; i++)
      if (info->parameters[i].is_optional) try_option(node, info->parameters[i].name, NULL);
    try_option(node, "label", NULL);
    try_option(node, no_option, NULL);
  }
  print_message("%u refused, %u read, %u of them run\n", refused_count, read_count, run_count);
}

/* Windows that lie as far outside as files can say; the integers are those of the reference. */
static void test_paddings_and_strides_of_any_size_give_what_the_reference_gives(void **state) {
  static const char *const options[] = {
      "\"padding\": [4294967295, 0, 4294967295, 0], \"strides\": [4294967295, 4294967295]",
      "\"padding\": [0, 4294967295, 0, 4294967295], \"strides\": [4294967295, 4294967295]",
      "\"padding\": [4294967295, 4294967295, 0, 0], \"strides\": [4294967295, 1]",
      "\"padding\": [4294967295, 4294967295, 1, 1], \"dilations\": [4294967294, 1], \"strides\": [4294967295, 1]",
      "\"padding\": [2147483648, 2147483647, 3, 3], \"dilations\": [2147483647, 2], \"strides\": [2147483647, 3]"};
  const uint32_t run_before = run_count;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(options); i++) {
    FILE *out = fopen(path, "w");
    struct pto_graph *graph = NULL;
    assert_non_null(out);
    fprintf(out,
            "{\"format\": \"webnn-graph-json\", \"version\": 2, \"inputs\": {\"x\": {\"dataType\": \"int32\","
            " \"shape\": [1, 2, 3, 3]}}, \"nodes\": [{\"id\": \"y\", \"op\": \"maxPool2d\", \"inputs\": [\"x\"],"
            " \"options\": {\"windowDimensions\": [2, 2], %s}}], \"outputs\": {\"y\": \"y\"}}",
            options[i]);
    fclose(out);
    if (pto_graph_load(NULL, path, NULL, &graph, sentence, sizeof sentence)) fail_msg("%s: %s", options[i], sentence);
    run(graph);
    pto_graph_destroy(graph);
  }
  assert_int_equal(run_count, run_before + PTO_ARRAY_LENGTH(options));
}

/* ---- set up ---- */

static int set_up(void **state) {
  static const struct pto_config config = {.size = sizeof config, .engine = "virtual", .chip = "tiny"};
  const char *temporary = getenv("TMPDIR");
  snprintf(path, sizeof path, "%s/hostile_options_test_%d.json", temporary ? temporary : "/tmp", (int)getpid());
  document = json_load_file(all_operations, 0, NULL);
  if (!document || pto_graph_load(NULL, all_operations, NULL, &whole, sentence, sizeof sentence)) return -1;
  context = lowered_graph_open(&config);
  return 0;
}

static int tear_down(void **state) {
  unlink(path);
  pto_context_destroy(context);
  pto_graph_destroy(whole);
  json_decref(document);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_an_option_is_refused_by_name_or_runs_whatever_its_value),
      cmocka_unit_test(test_paddings_and_strides_of_any_size_give_what_the_reference_gives),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
