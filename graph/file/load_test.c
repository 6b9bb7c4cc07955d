/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <graph/file/json.h>
#include <runtime/base/base.h>

static char path[] = "/tmp/graph_load_XXXXXX";
static char sentence[1024];

static int set_up(void **state) {
  const int fd = mkstemp(path);
  return fd < 0 ? -1 : close(fd);
}
static int tear_down(void **state) { return unlink(path); }

static int load_text(const char *text, struct pto_graph **graph) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_int_equal(fputs(text, file) < 0, 0);
  fclose(file);
  sentence[0] = '\0';
  return pto_graph_load(NULL, path, NULL, graph, sentence, sizeof sentence);
}

/* A whole document from its parts. */
static const char *document(const char *inputs, const char *consts, const char *nodes, const char *outputs) {
  static char text[8192];
  snprintf(text, sizeof text,
           "{\"format\": \"webnn-graph-json\", \"version\": 1, \"inputs\": {%s}, \"consts\": {%s}, \"nodes\": [%s], "
           "\"outputs\": {%s}}",
           inputs, consts, nodes, outputs);
  return text;
}

static void assert_refused(const char *text, const char *part) {
  struct pto_graph *graph = NULL;
  assert_int_not_equal(load_text(text, &graph), PTO_OK);
  if (!strstr(sentence, part) || strncmp(sentence, path, strlen(path)) != 0)
    fail_msg("\"%s\" does not begin with the path, or does not hold \"%s\"", sentence, part);
  assert_null(graph);
}

static struct pto_graph *loaded(const char *text) {
  struct pto_graph *graph = NULL;
  if (load_text(text, &graph) != PTO_OK) fail_msg("%s", sentence);
  return graph;
}

#define X "\"x\": {\"dataType\": \"float32\", \"shape\": [2, 3]}"
#define RELU "{\"id\": \"a\", \"op\": \"relu\", \"inputs\": [\"x\"]}"
#define CONST(name, dtype, shape, init)                                                                                \
  "\"" name "\": {\"dataType\": \"" dtype "\", \"shape\": " shape ", \"init\": {" init "}}"
#define SCALAR(value) "\"kind\": \"scalar\", \"value\": " value

/* ---- what is accepted ---- */

static void test_a_graph_of_both_versions_is_read(void **state) {
  for (int version = 1; version <= 2; version++) {
    char text[400];
    snprintf(text, sizeof text,
             "{\"format\": \"webnn-graph-json\", \"version\": %d, \"name\": \"any\", \"quantized\": false, "
             "\"inputs\": {" X "}, \"nodes\": [" RELU "], \"outputs\": {\"y\": \"a\"}}",
             version);
    struct pto_graph *graph = loaded(text);
    assert_int_equal(graph->node_count, 1);
    assert_int_equal(graph->nodes[0].op, PTO_GRAPH_OP_relu);
    assert_string_equal(graph->nodes[0].label, "a");
    assert_string_equal(pto_graph_input(graph, 0)->name, "x");
    assert_string_equal(pto_graph_output_at(graph, 0)->name, "y");
    pto_graph_destroy(graph);
  }
}

/* The only constant of a graph that adds it to an input. */
static const struct pto_graph_value *constant_of(const struct pto_graph *graph) {
  for (uint32_t v = 1; v < graph->value_count; v++)
    if (graph->values[v].kind == PTO_VALUE_CONSTANT) return &graph->values[v];
  fail();
  return NULL;
}

static void assert_constant(const char *dtype, const char *shape, const char *init, const void *bytes, size_t size) {
  char constant[400];
  snprintf(constant, sizeof constant, "\"c\": {\"dataType\": \"%s\", \"shape\": %s, \"init\": {%s}}", dtype, shape,
           init);
  /* 4-bit constants are operands of few operations. */
  const char *nodes = strchr(dtype, '4') && !strstr(dtype, "64")
                          ? "{\"id\": \"a\", \"op\": \"dequantizeLinear\", \"inputs\": [\"c\", \"s\", \"c\"]}"
                          : "{\"id\": \"a\", \"op\": \"identity\", \"inputs\": [\"c\"]}";
  char all[800];
  snprintf(all, sizeof all, "%s, \"s\": {\"dataType\": \"float32\", \"shape\": %s, \"init\": {" SCALAR("1") "}}",
           constant, shape);
  struct pto_graph *graph = loaded(document("", all, nodes, "\"y\": \"a\""));
  const struct pto_graph_value *value = constant_of(graph);
  assert_int_equal(value->size_bytes, size);
  assert_memory_equal(value->data, bytes, size);
  pto_graph_destroy(graph);
}

static void test_constants_have_the_bytes_that_the_file_says(void **state) {
  const float fives[] = {5, 5, 5};
  const int64_t large = INT64_C(9007199254740993);
  const uint64_t largest = UINT64_MAX;
  const uint16_t tie = 0x3c00, infinity = 0xfc00; /* 1 + 2^-11 is between two halves, and the even one is 1 */
  assert_constant("float32", "[3]", SCALAR("5"), fives, sizeof fives);
  assert_constant("int64", "[]", SCALAR("9007199254740993"), &large, sizeof large);
  assert_constant("uint64", "[1]", SCALAR("\"18446744073709551615\""), &largest, sizeof largest);
  assert_constant("float16", "[1]", SCALAR("1.00048828125"), &tie, sizeof tie);
  assert_constant("float16", "[1]", SCALAR("\"-Infinity\""), &infinity, sizeof infinity);
  assert_constant("int8", "[2]", "\"kind\": \"inlineBytes\", \"bytes\": [255, 7]", "\xff\x07", 2);
  assert_constant("int4", "[3]", SCALAR("-2"), "\xee\x0e", 2);
  assert_constant("uint4", "[3]", "\"kind\": \"inlineBytes\", \"bytes\": [33, 3]", "\x21\x03", 2);
  assert_constant("uint4", "[3]", "\"kind\": \"inlineBytes\", \"bytes\": [1, 2, 3]", "\x21\x03", 2);
  assert_constant("int4", "[3]", "\"kind\": \"inlineBytes\", \"bytes\": [255, 7, 248]", "\x7f\x08", 2);
}

#define IMAGE "\"x\": {\"dataType\": \"float32\", \"shape\": [1, 2, 4, 4]}"
#define FILTER_AND_BIAS                                                                                                \
  CONST("f", "float32", "[2, 2, 1, 1]", SCALAR("1")) ", " CONST("b", "float32", "[2]", SCALAR("2"))

static void assert_bias(const char *inputs, const char *options) {
  char node[400];
  snprintf(node, sizeof node, "{\"id\": \"a\", \"op\": \"conv2d\", \"inputs\": [%s], \"options\": {%s}}", inputs,
           options);
  struct pto_graph *graph = loaded(document(IMAGE, FILTER_AND_BIAS, node, "\"y\": \"a\""));
  assert_int_equal(graph->nodes[0].operand_count, 3);
  assert_string_equal(graph->values[graph->nodes[0].operands[2]].name, "b");
  pto_graph_destroy(graph);
}

static void test_an_optional_operand_is_named_listed_or_numbered(void **state) {
  assert_bias("\"x\", \"f\"", "\"bias\": \"b\"");
  assert_bias("\"x\", \"f\", \"b\"", "");
  assert_bias("\"x\", \"f\"", "\"bias\": 1");         /* inputs by name, then constants by name: x, b, f */
  assert_bias("\"x\", \"f\", \"b\"", "\"bias\": 77"); /* both, as rustnn writes it */
}

static void test_listed_operands_are_those_that_the_options_number(void **state) {
  struct pto_graph *graph = loaded(document(
      IMAGE, FILTER_AND_BIAS,
      "{\"id\": \"a\", \"op\": \"instanceNormalization\", \"inputs\": [\"x\", \"b\"], \"options\": {\"bias\": 1}}",
      "\"y\": \"a\""));
  assert_int_equal(graph->nodes[0].operands[1], 0);
  assert_int_not_equal(graph->nodes[0].operands[2], 0);
  pto_graph_destroy(graph);
}

static void test_names_of_earlier_states_are_read(void **state) {
  struct pto_graph *graph = loaded(
      document(X, "", "{\"id\": \"a\", \"op\": \"cast\", \"inputs\": [\"x\"], \"options\": {\"type\": \"int8\"}}",
               "\"y\": \"a\""));
  assert_int_equal(((const struct pto_cast_options *)graph->nodes[0].options)->data_type, PTO_INT8);
  pto_graph_destroy(graph);
}

static void test_names_of_values_and_labels_are_kept(void **state) {
  struct pto_graph *graph =
      loaded(document(X, "",
                      RELU ", {\"id\": \"b\", \"op\": \"abs\", \"inputs\": [\"a\"], \"outputs\": [\"z\"], "
                           "\"options\": {\"label\": \"other\"}}",
                      "\"y\": \"z\""));
  assert_string_equal(graph->values[graph->nodes[0].first_result].name, "a");
  assert_string_equal(graph->values[graph->nodes[1].first_result].name, "z");
  assert_string_equal(graph->nodes[1].label, "other");
  pto_graph_destroy(graph);
}

/* ---- what is refused ---- */

static void test_documents_that_are_none_are_refused(void **state) {
  static const struct {
    const char *text, *part;
  } rows[] = {
      {"", "line 1"},
      {"[]", "holds no JSON object"},
      {"{}", "\"format\" is missing"},
      {"{\"format\": \"onnx\", \"version\": 1}", "\"format\" is \"onnx\""},
      {"{\"format\": \"webnn-graph-json\", \"version\": 3}", "\"version\" is 3"},
      {"{\"format\": \"webnn-graph-json\", \"version\": 1}", "\"inputs\" is missing"},
      {"{\"format\": \"webnn-graph-json\", \"version\": 1, \"inputs\": {\"x\": 1}, \"nodes\": [], \"outputs\": {}}",
       "inputs \"x\""},
      {"{\"format\": \"webnn-graph-json\", \"version\": 1, \"inputs\": {\"x\": 1, \"x\": 2}}", "duplicate"},
  };
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(rows); i++) assert_refused(rows[i].text, rows[i].part);
}

static void test_mistakes_of_inputs_and_constants_say_where(void **state) {
  static const struct {
    const char *inputs, *consts, *part;
  } rows[] = {
      {"\"x\": {\"dataType\": \"float8\", \"shape\": []}", "", "inputs \"x\": \"float8\" is no data type"},
      {"\"x\": {\"dataType\": \"f32\", \"shape\": []}", "",
       "\"f32\" is no data type of graphs, which have float32, float16, int32, uint32"},
      {"\"x\": {\"dataType\": \"float32\", \"shape\": [-1]}", "", "inputs \"x\""},
      {"\"x\": {\"dataType\": \"float32\", \"shape\": [1,1,1,1,1,1,1,1,1]}", "", "at most 8"},
      {"\"x\": {\"dataType\": \"float32\", \"shape\": [{\"name\": \"n\"}]}", "",
       "size 0 is no {\"name\": TEXT, \"maxSize\": NUMBER}"},
      {"\"x\": {\"dataType\": \"float32\", \"shape\": [4, {\"name\": \"n\", \"maxSize\": 4294967296}]}", "",
       "item 1 is 4294967296, more than 4294967295"},
      {"\"x\": {\"dataType\": \"float32\", \"shape\": [{\"maxSize\": 4}]}", "", "size 0 is no"},
      {"\"x\": {\"dataType\": \"float32\", \"shape\": [\"n\", 4]}", "",
       "size 0 has a name (n), but not the most that it may be"},
      {"\"x\": {\"dataType\": \"float32\", \"shape\": [4]}",
       CONST("c", "float32", "[{\"name\": \"n\", \"maxSize\": 4}]", SCALAR("1")),
       "size 0 has a name (n), and is a number only later"},
      {"\"x\": {\"dataType\": \"float32\", \"shape\": [65536, 65536, 65536, 65536]}", "", "inputs \"x\""},
      {"\"x\": {\"dataType\": \"float32\", \"shape\": [0]}", "", "inputs \"x\""},
      {"\"\": {\"dataType\": \"float32\", \"shape\": []}", "", "empty"},
      {X, CONST("x", "float32", "[]", SCALAR("1")), "consts \"x\": \"x\" is an input already"},
      {X, CONST("c", "float32", "[2]", "\"kind\": \"inlineBytes\", \"bytes\": [1, 2, 3]"),
       "consts \"c\": 3 bytes are given, its shape of float32 has 8"},
      {X, CONST("c", "int8", "[1]", "\"kind\": \"inlineBytes\", \"bytes\": [256]"), "item 0"},
      {X, CONST("c", "int8", "[1]", "\"kind\": \"inlineBytes\", \"bytes\": \"AA==\""), "no array"},
      {X, CONST("c", "uint4", "[3]", "\"kind\": \"inlineBytes\", \"bytes\": [1, 2, 16]"), "none of 4 bits"},
      {X, CONST("c", "int8", "[]", SCALAR("128")), "\"value\" is no int8"},
      {X, CONST("c", "uint32", "[]", SCALAR("-1")), "\"value\" is no uint32"},
      {X, CONST("c", "int32", "[]", SCALAR("1.5")), "\"value\" is no int32"},
      {X, CONST("c", "float16", "[]", SCALAR("1e6")), "\"value\" is no float16"},
      {X, CONST("c", "float32", "[]", SCALAR("\"one\"")), "\"value\" is no number"},
      {X, CONST("c", "float32", "[]", "\"kind\": \"scalar\""), "\"value\" is no number"},
      {X, CONST("c", "float32", "[]", "\"kind\": \"zeros\""), "\"zeros\" is none of"},
      {X, CONST("c", "float32", "[65536, 65536, 65536, 65536]", SCALAR("1")), "more than the"},
      {X, CONST("c", "int8", "[100000000]", SCALAR("1")) ", " CONST("d", "int8", "[100000000]", SCALAR("1")),
       "consts \"d\": constants of one value have more than"},
      {X, CONST("c", "float32", "[]", "\"kind\": \"weights\", \"ref\": \"W\""), "no file of weights"},
  };
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(rows); i++)
    assert_refused(document(rows[i].inputs, rows[i].consts, RELU, "\"y\": \"a\""), rows[i].part);
}

#define NODE(id, op, inputs, options)                                                                                  \
  "{\"id\": \"" id "\", \"op\": \"" op "\", \"inputs\": [" inputs "], \"options\": {" options "}}"

static void test_mistakes_of_nodes_say_where(void **state) {
  static const struct {
    const char *nodes, *part;
  } rows[] = {
      {"1", "nodes[0]"},
      {"{\"op\": \"relu\"}", "\"id\" is missing"},
      {RELU ", " RELU, "nodes[1] \"a\": nodes[0] has the same id"},
      {RELU ", {\"id\": \"b\", \"op\": \"abs\", \"inputs\": [\"x\"], \"outputs\": [\"a\"]}",
       "nodes[1] \"b\": \"a\" is a result of nodes[0] \"a\" already"},
      {"{\"id\": \"b\", \"op\": \"abs\", \"inputs\": [\"x\"], \"outputs\": [\"x\"]}", "\"x\" is an input already"},
      {"{\"id\": \"b\", \"op\": \"abs\", \"inputs\": [\"x\"], \"outputs\": [1]}", "item 0 is no string"},
      {NODE("a", "rleu", "\"x\"", ""), "no operation \"rleu\"; did you mean \"relu\"?"},
      {NODE("a", "relu", "\"q\"", ""), "nodes[0] \"a\": there is no \"q\""},
      {NODE("a", "relu", "1", ""), "item 0 is no string"},
      {NODE("a", "relu", "", ""), "relu takes 1 operands, \"inputs\" has 0"},
      {NODE("a", "add", "\"x\", \"x\", \"x\"", ""), "add takes 2 operands, \"inputs\" has 3"},
      {NODE("a", "relu", "\"x\"", "\"alpha\": 1"), "alpha"},
      {NODE("a", "argMin", "\"x\"", ""), "axis"},
      {NODE("a", "softmax", "\"x\"", "\"axis\": -1"), "axis is -1"},
      {NODE("a", "softmax", "\"x\"", "\"axis\": 2"), "axis"},
      {NODE("a", "softmax", "\"x\"", "\"axis\": {}"), "axis"},
      {NODE("a", "elu", "\"x\"", "\"alpha\": \"Infinity\""), "alpha"},
      {NODE("a", "transpose", "\"x\"", "\"permutation\": [[1], 0]"), "permutation"},
      {NODE("a", "reshape", "\"x\"", "\"newShape\": [7]"), "nodes[0] \"a\": reshape"},
      {NODE("a", "matmul", "\"x\", \"x\"", ""), "nodes[0] \"a\": matmul"},
      {NODE("a", "gemm", "\"x\", \"x\"", "\"bTranspose\": true, \"c\": 1.5"), "option \"c\": names no operand"},
      {NODE("a", "gemm", "\"x\", \"x\"", "\"bTranspose\": true, \"c\": 9"), "option \"c\": names no operand"},
      {NODE("a", "gemm", "\"x\", \"x\", \"x\"", "\"bTranspose\": true, \"c\": \"x\""), "given twice"},
      {"{\"id\": \"a\", \"op\": \"relu\", \"inputs\": [\"x\"], \"outputs\": [\"a\", \"b\"]}", "results"},
      {RELU ", " NODE("b", "relu", "\"x\"", ""), "nodes[1] \"b\": nothing uses its result \"b\""},
  };
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(rows); i++)
    assert_refused(document(X, "", rows[i].nodes, "\"y\": \"a\""), rows[i].part);
}

static void test_use_before_production_is_told_from_a_circle(void **state) {
  assert_refused(document(X, "", NODE("a", "abs", "\"b\"", "") ", " NODE("b", "abs", "\"x\"", ""), "\"y\": \"a\""),
                 "nodes[0] \"a\": uses \"b\" before nodes[1] \"b\" makes it");
  assert_null(strstr(sentence, "circle"));
  assert_refused(document(X, "", NODE("a", "abs", "\"a\"", ""), "\"y\": \"a\""),
                 "it is a circle: \"a\", which is used by the first");
  assert_refused(document(X, "",
                          NODE("a", "add", "\"x\", \"c\"", "") ", " NODE("b", "abs", "\"a\"",
                                                                         "") ", " NODE("c", "add", "\"b\", \"x\"", ""),
                          "\"y\": \"c\""),
                 "it is a circle: \"a\", which is used by \"b\", which is used by \"c\", which is used by the first");
}

static void test_outputs_that_are_none_are_refused(void **state) {
  assert_refused(document(X, "", RELU, ""), "nothing uses its result");
  assert_refused(document(X, "", "", ""), "no outputs");
  assert_refused(document(X, "", RELU, "\"y\": \"b\""), "outputs \"y\": there is no \"b\"");
  assert_refused(document(X, "", RELU, "\"y\": 1"), "outputs \"y\": is no string");
  assert_refused(document(X, "", RELU, "\"y\": \"a\", \"z\": \"x\""), "an input");
}

static void test_a_file_that_is_not_there_is_no_mistake_of_its_text(void **state) {
  struct pto_graph *graph = NULL;
  assert_int_equal(pto_graph_load(NULL, "/nowhere/g.json", NULL, &graph, sentence, sizeof sentence), PTO_ESYSTEM);
  assert_string_equal(sentence, "/nowhere/g.json: No such file or directory");
  assert_null(graph);
}

/* ---- hostile files ---- */

/* So many items, parted by commas but where they nest, that the file has so many bytes. */
static void write_many(const char *head, const char *item, const char *tail, size_t bytes) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(head, file);
  for (size_t i = 0; (size_t)ftell(file) + strlen(tail) < bytes; i++) {
    if (i > 0 && tail[0]) fputs(",\n", file);
    fprintf(file, item, i, i, i);
  }
  fputs(tail, file);
  fclose(file);
}

/* Processor time, which a busy machine does not change; the limit is that of a megabyte in the specification of the
 * layer. */
static void assert_quick(void) {
  struct pto_graph *graph = NULL;
  const clock_t begin = clock();
  const int status = pto_graph_load(NULL, path, NULL, &graph, sentence, sizeof sentence);
  const double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
  pto_graph_destroy(graph);
  printf("%.2f s: %.80s\n", seconds, status ? sentence : "read");
  if (PTO_ASSERT_LEVEL == 0 && seconds > 1) fail_msg("%.2f seconds", seconds);
}

#define HEAD "{\"format\":\"webnn-graph-json\",\"version\":2,\"inputs\":{" X "},"
#define FOOT "],\"outputs\":{\"y\":\"n0\"}}"

static void test_a_megabyte_of_anything_takes_no_second(void **state) {
  static const struct {
    const char *head, *item, *tail;
  } rows[] = {
      {"", "[", ""},
      {"{\"a\":", "{\"a\":", ""},
      {HEAD "\"nodes\":[", "{\"id\":\"n%zu\",\"op\":\"abs\",\"inputs\":[\"x\"]}", FOOT},
      {HEAD "\"nodes\":[", "{\"id\":\"n%zu\",\"op\":\"add\",\"inputs\":[\"n%zu\",\"n0\"]}", FOOT},
      {HEAD "\"nodes\":[{\"id\":\"n0\",\"op\":\"concat\",\"inputs\":[", "\"x\"", "],\"options\":{\"axis\":0}}" FOOT},
      {HEAD "\"nodes\":[{\"id\":\"n0\",\"op\":\"reshape\",\"inputs\":[\"x\"],\"options\":{\"newShape\":[", "1",
       "]}}" FOOT},
      {HEAD "\"nodes\":[{\"id\":\"n0\",\"op\":\"abs\",\"inputs\":[\"x\"],\"options\":{", "\"o%zu\":null", "}}" FOOT},
      {HEAD "\"nodes\":[{\"id\":\"n0\",\"op\":\"abs\",\"inputs\":[\"x\"],\"outputs\":[", "\"o%zu\"", "]}" FOOT},
      {HEAD "\"nodes\":[],\"consts\":{",
       "\"c%zu\":{\"dataType\":\"int8\",\"shape\":[1000000],\"init\":{\"kind\":\"scalar\",\"value\":1}}",
       "},\"outputs\":{}}"},
      {HEAD "\"nodes\":[],\"consts\":{\"c\":{\"dataType\":\"int8\",\"shape\":[3],\"init\":{\"kind\":\"inlineBytes\","
            "\"bytes\":[",
       "0", "]}}},\"outputs\":{}}"},
      {"{\"format\":\"webnn-graph-json\",\"version\":2,\"nodes\":[],\"outputs\":{},\"inputs\":{",
       "\"i%zu\":{\"dataType\":\"int8\",\"shape\":[]}", "}}"},
      {HEAD "\"nodes\":[{\"id\":\"n0\",\"op\":\"abs\",\"inputs\":[\"x\"]}],\"outputs\":{", "\"o%zu\":\"n0\"", "}}"},
  };
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(rows); i++) {
    write_many(rows[i].head, rows[i].item, rows[i].tail, 1u << 20);
    assert_quick();
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_graph_of_both_versions_is_read),
      cmocka_unit_test(test_a_file_that_is_not_there_is_no_mistake_of_its_text),
      cmocka_unit_test(test_constants_have_the_bytes_that_the_file_says),
      cmocka_unit_test(test_an_optional_operand_is_named_listed_or_numbered),
      cmocka_unit_test(test_listed_operands_are_those_that_the_options_number),
      cmocka_unit_test(test_names_of_earlier_states_are_read),
      cmocka_unit_test(test_names_of_values_and_labels_are_kept),
      cmocka_unit_test(test_documents_that_are_none_are_refused),
      cmocka_unit_test(test_mistakes_of_inputs_and_constants_say_where),
      cmocka_unit_test(test_mistakes_of_nodes_say_where),
      cmocka_unit_test(test_use_before_production_is_told_from_a_circle),
      cmocka_unit_test(test_outputs_that_are_none_are_refused),
      cmocka_unit_test(test_a_megabyte_of_anything_takes_no_second),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
