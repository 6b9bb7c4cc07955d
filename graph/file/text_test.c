/* SPDX-License-Identifier: MIT */
/* Graph files in text form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <graph/file/json.h>
#include <graph/file/text.h>
#include <tests/support/graph_same.h>
#include <tests/support/test_folder.h>

#define ALL "tests/fuzz/corpus/graph_json_fuzz/all_operations.json"

static char sentence[1024];

static void write_bytes(const char *name, const void *bytes, size_t size) {
  FILE *file = fopen(path_of(name), "w");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  fclose(file);
}

static char *read_text(const char *name) {
  FILE *file = fopen(path_of(name), "r");
  assert_non_null(file);
  char *text = calloc(1, 1 << 20);
  assert_non_null(text);
  assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
  fclose(file);
  return text;
}

static int try_load(const char *path, struct pto_graph **graph) {
  sentence[0] = '\0';
  return pto_graph_load(NULL, path, NULL, graph, sentence, sizeof sentence);
}

static struct pto_graph *load(const char *path) {
  struct pto_graph *graph = NULL;
  if (try_load(path, &graph)) fail_msg("%s", sentence);
  return graph;
}

static struct pto_graph *load_text(const char *text) {
  write_bytes("a.webnn", text, strlen(text));
  return load(path_of("a.webnn"));
}

static void save(const struct pto_graph *graph, const char *name, uint32_t weights) {
  const struct pto_graph_file_options options = {.size = sizeof options, .weights = weights};
  if (pto_graph_save(graph, path_of(name), &options, sentence, sizeof sentence)) fail_msg("%s", sentence);
}

static void assert_same(const struct pto_graph *a, const struct pto_graph *b) {
  char why[256];
  if (!pto_graph_is_same(a, b, why)) fail_msg("%s differ", why);
}

static void assert_same_text(const char *name, const char *other) {
  char *a = read_text(name), *b = read_text(other);
  assert_string_equal(a, b);
  free(a);
  free(b);
}

/* ---- the same graph in both forms ---- */

static void test_text_says_what_the_same_graph_in_json_says(void **state) {
  static const char text[] =
      "# a graph\n"
      "webnn_graph \"name\" v1 @quantized {\n"
      "  inputs { x: f32[1, 4]; }  # one row\n"
      "  consts { w: f32[4,3] @scalar(0.25); s: f32[] @scalar(5e-1); t: u8[2] @bytes([1, # one\n"
      "2]); n: i64[1] @scalar(-9007199254740993); q: u4[3] @bytes([33, 3]);\n"
      "    d: f32[3] @scalar(2); }\n"
      "  nodes {\n"
      "    y = gemm(x, w, c=s, alpha=2, bTranspose=false);\n"
      "    [a, \"b c\"] = split(y, splits=[1, 2], axis=1);\n"
      "    \"true\" = cast(t, to=int32, label=\"as int\");\n"
      "    k = abs(n); l = dequantizeLinear(q, d, q); r = reduceSum(x, axes=[], keepDimensions=true);\n"
      "  }\n"
      "  outputs { a, r; z = \"b c\"; \"true\"; k l }\n"
      "}\n";
  static const char json[] =
      "{\"format\": \"webnn-graph-json\", \"version\": 1, \"inputs\": {\"x\": {\"dataType\": \"float32\", \"shape\": "
      "[1, 4]}},"
      "\"consts\": {\"w\": {\"dataType\": \"float32\", \"shape\": [4, 3], \"init\": {\"kind\": \"scalar\", \"value\": "
      "0.25}},"
      "\"s\": {\"dataType\": \"float32\", \"shape\": [], \"init\": {\"kind\": \"scalar\", \"value\": 0.5}},"
      "\"t\": {\"dataType\": \"uint8\", \"shape\": [2], \"init\": {\"kind\": \"inlineBytes\", \"bytes\": [1, 2]}},"
      "\"n\": {\"dataType\": \"int64\", \"shape\": [1], \"init\": {\"kind\": \"scalar\", \"value\": "
      "-9007199254740993}},"
      "\"q\": {\"dataType\": \"uint4\", \"shape\": [3], \"init\": {\"kind\": \"inlineBytes\", \"bytes\": [33, 3]}},"
      "\"d\": {\"dataType\": \"float32\", \"shape\": [3], \"init\": {\"kind\": \"scalar\", \"value\": 2}}},"
      "\"nodes\": [{\"id\": \"y\", \"op\": \"gemm\", \"inputs\": [\"x\", \"w\"], \"options\": {\"c\": \"s\", "
      "\"alpha\": 2, "
      "\"bTranspose\": false}},"
      "{\"id\": \"a\", \"op\": \"split\", \"inputs\": [\"y\"], \"options\": {\"splits\": [1, 2], \"axis\": 1}, "
      "\"outputs\": "
      "[\"a\", \"b c\"]},"
      "{\"id\": \"true\", \"op\": \"cast\", \"inputs\": [\"t\"], \"options\": {\"dataType\": \"int32\", \"label\": "
      "\"as int\"}},"
      "{\"id\": \"k\", \"op\": \"abs\", \"inputs\": [\"n\"]},"
      "{\"id\": \"l\", \"op\": \"dequantizeLinear\", \"inputs\": [\"q\", \"d\", \"q\"]},"
      "{\"id\": \"r\", \"op\": \"reduceSum\", \"inputs\": [\"x\"], \"options\": {\"axes\": [], \"keepDimensions\": "
      "true}}],"
      "\"outputs\": {\"a\": \"a\", \"r\": \"r\", \"z\": \"b c\", \"true\": \"true\", \"k\": \"k\", \"l\": \"l\"}}";
  struct pto_graph *graph = load_text(text);
  write_bytes("b.json", json, sizeof json - 1);
  struct pto_graph *other = load(path_of("b.json"));
  assert_same(graph, other);
  pto_graph_destroy(other);
  write_bytes("plain", text, sizeof text - 1); /* told by its first word where the name says nothing */
  other = load(path_of("plain"));
  assert_same(graph, other);
  pto_graph_destroy(other);
  pto_graph_destroy(graph);
}

static void test_all_operations_go_through_text_and_back_in_every_form_of_weights(void **state) {
  struct pto_graph *graph = load(ALL);
  save(graph, "a.json", PTO_GRAPH_WEIGHTS_INLINE);
  for (uint32_t form = PTO_GRAPH_WEIGHTS_DEFAULT; form <= PTO_GRAPH_WEIGHTS_MANIFEST; form++) {
    save(graph, "a.webnn", form);
    struct pto_graph *again = load(path_of("a.webnn"));
    assert_same(graph, again);
    save(again, "b.json", PTO_GRAPH_WEIGHTS_INLINE);
    assert_same_text("a.json", "b.json");
    pto_graph_destroy(again);
  }
  save(graph, "a.webnn", PTO_GRAPH_WEIGHTS_INLINE);
  struct pto_graph *again = load(path_of("a.webnn"));
  save(again, "b.webnn", PTO_GRAPH_WEIGHTS_INLINE);
  assert_same_text("a.webnn", "b.webnn");
  pto_graph_destroy(again);
  pto_graph_destroy(graph);
}

static struct pto_graph *build_of_names(const char *input, const char *result, const char *output, const char *label) {
  const struct pto_graph_desc desc = {PTO_FLOAT32, 0, {0}};
  struct pto_graph_builder *b = NULL;
  struct pto_graph *graph = NULL;
  assert_int_equal(pto_graph_builder_create(NULL, &b), PTO_OK);
  const struct pto_graph_options options = {label};
  const struct pto_graph_operand x = pto_graph_builder_input(b, input, &desc);
  const struct pto_graph_operand y = pto_graph_builder_abs(b, x, &options);
  if (result) assert_int_equal(pto_graph_builder_set_name(b, y, result), PTO_OK);
  const struct pto_graph_output named = {output, y};
  if (pto_graph_builder_build(b, &named, 1, &graph)) fail_msg("%s", pto_graph_builder_error(b));
  pto_graph_builder_destroy(b);
  return graph;
}

static void test_every_name_can_be_written(void **state) {
  static const char *const names[] = {"x",      "a.b/c", "true", "null",     "//x", "/x",  "$x",    "x$", "4", "a b",
                                      "a\"b\\", "é",     "\n",   "\x01\x7f", "v1",  "dyn", "nodes", "#",  "-", "="};
  const size_t count = sizeof names / sizeof names[0];
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < 4; k++) {
      const char *other = names[(i + k + 1) % count];
      struct pto_graph *graph = build_of_names(names[i], k % 2 ? other : NULL, k < 2 ? other : names[(i + 7) % count],
                                               k == 3 ? "" : names[(i + k) % count]);
      save(graph, "a.webnn", PTO_GRAPH_WEIGHTS_DEFAULT);
      struct pto_graph *again = load(path_of("a.webnn"));
      assert_same(graph, again);
      pto_graph_destroy(again);
      pto_graph_destroy(graph);
    }
}

/* ---- weights ---- */

static void test_a_constant_without_data_is_the_weights_of_its_name(void **state) {
  static const char text[] =
      "webnn_graph \"g\" v1 { inputs { x: f32[3]; } consts { w: f32[3]; v: f32[3] @weights(\"w\"); }"
      "nodes { y = add(x, w); z = add(y, v); } outputs { z; } }";
  static const char manifest[] = "{\"format\": \"wg-weights-manifest\", \"version\": 1, \"endianness\": \"little\", "
                                 "\"tensors\": {\"w\": {\"dataType\": "
                                 "\"float32\", \"shape\": [3], \"byteOffset\": 0, \"byteLength\": 12}}}";
  static const float data[] = {1, 2, 4};
  write_bytes("a.weights", data, sizeof data);
  write_bytes("a.manifest.json", manifest, sizeof manifest - 1);
  unlink(path_of("a.safetensors"));
  struct pto_graph *graph = load_text(text);
  uint32_t found = 0;
  for (uint32_t v = 1; v < graph->value_count; v++)
    if (graph->values[v].kind == PTO_VALUE_CONSTANT) {
      assert_memory_equal(graph->values[v].data, data, sizeof data);
      found++;
    }
  assert_int_equal(found, 1); /* one tensor is copied once */
  pto_graph_destroy(graph);
}

/* A file of weights that an earlier save left is found before a manifest, if the text does not say which it means. */
static void test_text_says_which_file_its_weights_are_in(void **state) {
  static const char text[] =
      "webnn_graph \"g\" v1 { inputs { x: u8[2]; } consts { w: u8[2] @bytes([1, 2]); } nodes { y = "
      "equal(x, w); } outputs { y; } }";
  struct pto_graph *graph = load_text(text);
  save(graph, "a.webnn", PTO_GRAPH_WEIGHTS_SAFETENSORS);
  pto_graph_destroy(graph);
  write_bytes("b.webnn", text, sizeof text - 1);
  char *other = strstr(memcpy(calloc(1, sizeof text), text, sizeof text), "[1, 2]");
  other[1] = '7';
  write_bytes("b.webnn", other - (strstr(text, "[1, 2]") - text), sizeof text - 1);
  free(other - (strstr(text, "[1, 2]") - text));
  graph = load(path_of("b.webnn"));
  save(graph, "a.webnn", PTO_GRAPH_WEIGHTS_MANIFEST);
  assert_int_equal(access(path_of("a.safetensors"), F_OK), 0);
  struct pto_graph *again = load(path_of("a.webnn"));
  assert_same(graph, again);
  pto_graph_destroy(again);
  pto_graph_destroy(graph);
}

/* ---- refusals ---- */

static void test_what_is_wrong_is_said_with_its_line_and_column(void **state) {
  static const struct {
    const char *text, *expected;
  } cases[] = {
      {"", "line 1, column 1: the file ends where webnn_graph"},
      {"{}", "line 1, column 1: webnn_graph \"NAME\" v1 { is expected, not {}"},
      {"webnn_graph \"g\" v3 {}", "\"version\" is 3"},
      {"webnn_graph \"g\" 1 {}", "line 1, column 17: the version v1 or v2 is expected, not 1"},
      {"webnn_graph \"g\" v1 @fast {}", "line 1, column 21: quantized is expected, not fast"},
      {"webnn_graph \"g\" v1 {\n", "line 2, column 1: the file ends where inputs, consts"},
      {"webnn_graph \"g\" v1 {\n\n nods {} }", "line 3, column 2: inputs, consts, nodes, outputs or \"}\""},
      {"webnn_graph \"g\" v1 { inputs { x: f32; } }", "line 1, column 37: \"[\" is expected, not ;"},
      {"webnn_graph \"g\" v1 { inputs { x: bf16[2]; } }", "line 1, column 34: a type, f32, f16"},
      {"webnn_graph \"g\" v1 { inputs { x: f32[-2]; } }", "line 1, column 38: a whole number is expected, not -2];"},
      {"webnn_graph \"g\" v1 { inputs { x: f32[99999999999999999999]; } }",
       "line 1, column 38: a whole number of up to 63 bits is expected"},
      {"webnn_graph \"g\" v1.5 { }", "line 1, column 18: a whole number of up to 63 bits is expected"},
      {"webnn_graph \"g\" v1 { #: weights are elsewhere\n inputs { x: f32[] } }",
       "line 2, column 20: \";\" is expected"},
      {"webnn_graph \"g\" v1 { inputs { x: f32[2]; } nodes { a = abs(x);\n a = abs(x); } outputs { a; } }",
       "line 2, column 2: \"a\": the node of line 1, column 52 has the same id"},
      {"webnn_graph \"g\" v1 { inputs { x: f32[2]; # x\n  x: f32[2]; } }", "line 2, column 3: \"x\" is given twice"},
      {"webnn_graph \"g\" v1 { consts { x: f32[dyn(\"batch\", 8), 4] @scalar(1); } nodes { y = abs(x); } outputs { y; "
       "} }",
       "line 1, column 31: \"x\": size 0 has a name (batch), and is a number only later: it has to be one now"},
      {"webnn_graph \"g\" v1 { consts { w: f32[1] @zeros(1); } }", "line 1, column 42: weights, scalar or bytes"},
      {"webnn_graph \"g\" v1 { consts { w: f32[1] @scalar(1) @scalar(2); } }", "column 52: \";\" is expected, not @"},
      {"webnn_graph \"g\" v1 { consts { w: f32[1] @scalar(1e999); } }", "line 1, column 49: real number overflow"},
      {"webnn_graph \"g\" v1 { consts { w: u8[2] @bytes([1, 256]); } nodes { y = abs(w); } outputs { y; } }",
       "line 1, column 31: \"w\": \"bytes\" item 1 is no number from 0 to 255"},
      {"webnn_graph \"g\" v1 { nodes { y = x; } }", "line 1, column 35: the \"(\" of a call is expected, not ;"},
      {"webnn_graph \"g\" v1 { nodes { [] = split(x); } }", "line 1, column 30: no result is named"},
      {"webnn_graph \"g\" v1 { nodes { y = clamp(x,\n 0, 6); } }",
       "line 2, column 2: an operand is the name of a value"},
      {"webnn_graph \"g\" v1 { nodes { y = clamp(x, minValue=0, minValue=1); } }",
       "line 1, column 55: \"minValue\" is given twice"},
      {"webnn_graph \"g\" v1 { nodes { y = abs(x, axes=[[1]]); } }", "a value is expected, not [1]"},
      {"webnn_graph \"g\" v1 { nodes { y = abs(x, label=\"a\n\"); } }", "line 1, column 47: "},
      {"webnn_graph \"g\" v1 { nodes { y = abs(x) } }", "line 1, column 41: \";\" is expected, not }"},
      {"webnn_graph \"g\" v1 { outputs { y = 1; } }", "line 1, column 36: the name of a value is expected, not 1;"},
      {"webnn_graph \"g\" v1 { outputs { y; y; } }", "line 1, column 35: \"y\" is given twice"},
      {"webnn_graph \"g\" v1 { inputs { x: f32[4]; } nodes { y = softmax(x, axis=3); } outputs { y; } }",
       "line 1, column 52: \"y\": softmax \"y\": axis 3 is not below the 1 dimensions"},
      {"webnn_graph \"g\" v1 { inputs { x: f32[4]; } nodes {\n y = gemm(x, x, c=q); } outputs { y; } }",
       "line 2, column 2: \"y\", option \"c\": there is no \"q\" among"},
      {"webnn_graph \"g\" v1 { inputs { x: f32[4]; } nodes { y = abs(x); } outputs { z = w; } }",
       "line 1, column 76: \"z\": there is no \"w\" among"},
      {"webnn_graph \"g\" v1 { inputs { x: f32[4]; } nodes { y = abs(x); } outputs { y; } } more",
       "line 1, column 83: the end of the file is expected, not more"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct pto_graph *graph = NULL;
    write_bytes("a.webnn", cases[i].text, strlen(cases[i].text));
    assert_int_equal(try_load(path_of("a.webnn"), &graph), PTO_EINVAL);
    assert_null(graph);
    if (!strstr(sentence, cases[i].expected))
      fail_msg("%s\n  gives %s\n  not %s", cases[i].text, sentence, cases[i].expected);
  }
}

static void test_text_that_ends_anywhere_is_refused(void **state) {
  struct pto_graph *graph = load(ALL);
  save(graph, "b.webnn", PTO_GRAPH_WEIGHTS_INLINE);
  pto_graph_destroy(graph);
  char *text = read_text("b.webnn");
  const size_t size = strlen(text);
  assert_string_equal(text + size - 2, "}\n");
  for (size_t cut = 1; cut < size - 1; cut += cut < 3000 ? 7 : 97) {
    struct pto_graph_places places = {0};
    struct pto_json_reader reader;
    struct pto_error error;
    char *exact = malloc(cut); /* a byte behind it is found by AddressSanitizer */
    assert_non_null(exact);
    memcpy(exact, text, cut);
    assert_null(pto_graph_text_read(&reader, "cut", exact, cut, &places, &error));
    assert_int_equal(reader.status, PTO_EINVAL);
    assert_non_null(strstr(error.sentence, "cut: line "));
    pto_graph_places_fini(&places);
    free(exact);
  }
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_text_says_what_the_same_graph_in_json_says),
      cmocka_unit_test(test_all_operations_go_through_text_and_back_in_every_form_of_weights),
      cmocka_unit_test(test_every_name_can_be_written),
      cmocka_unit_test(test_a_constant_without_data_is_the_weights_of_its_name),
      cmocka_unit_test(test_text_says_which_file_its_weights_are_in),
      cmocka_unit_test(test_what_is_wrong_is_said_with_its_line_and_column),
      cmocka_unit_test(test_text_that_ends_anywhere_is_refused),
  };
  return cmocka_run_group_tests(tests, test_folder_open, test_folder_close);
}
