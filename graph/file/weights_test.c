/* SPDX-License-Identifier: MIT */
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
#include <graph/file/weights.h>
#include <runtime/base/base.h>
#include <tests/support/test_folder.h>

static char sentence[1024];

static void write_file(const char *name, const void *bytes, size_t size) {
  FILE *file = fopen(path_of(name), "w");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  fclose(file);
}
static void write_text(const char *name, const char *text) { write_file(name, text, strlen(text)); }

/* A graph that adds the tensors that `first` and `second` mean. */
static void write_graph(const char *dtype, const char *first, const char *second) {
  char text[1000];
  snprintf(text, sizeof text,
           "{\"format\": \"webnn-graph-json\", \"version\": 2, \"inputs\": {}, \"consts\": {"
           "\"a\": {\"dataType\": \"%s\", \"shape\": [2], \"init\": {\"kind\": \"weights\", \"ref\": \"%s\"}},"
           "\"b\": {\"dataType\": \"%s\", \"shape\": [2], \"init\": {\"kind\": \"weights\", \"ref\": \"%s\"}}},"
           "\"nodes\": [{\"id\": \"y\", \"op\": \"add\", \"inputs\": [\"a\", \"b\"]}], \"outputs\": {\"y\": \"y\"}}",
           dtype, first, dtype, second);
  write_text("g.json", text);
}

/* The first constant of the graph has these floats. */
static void assert_floats(float first, float second) {
  struct pto_graph *graph = NULL;
  if (pto_graph_load(NULL, path_of("g.json"), NULL, &graph, sentence, sizeof sentence)) fail_msg("%s", sentence);
  const struct pto_graph_value *value = &graph->values[graph->nodes[0].operands[0]];
  const float want[] = {first, second};
  assert_int_equal(value->size_bytes, sizeof want);
  assert_memory_equal(value->data, want, sizeof want);
  pto_graph_destroy(graph);
}

static void assert_refused(const char *part) {
  struct pto_graph *graph = NULL;
  assert_int_not_equal(pto_graph_load(NULL, path_of("g.json"), NULL, &graph, sentence, sizeof sentence), PTO_OK);
  if (!strstr(sentence, part)) fail_msg("\"%s\" does not hold \"%s\"", sentence, part);
}

static struct pto_safetensors_tensor tensor(const char *name, int dtype, const void *data, uint64_t size_bytes) {
  return (struct pto_safetensors_tensor){.name = name,
                                         .dtype = dtype,
                                         .dtype_name = "float32",
                                         .ndims = 1,
                                         .shape = {2},
                                         .data = data,
                                         .size_bytes = size_bytes};
}

static void write_safetensors(const char *file, const struct pto_safetensors_tensor *tensors, uint64_t count) {
  struct pto_error error;
  if (pto_safetensors_write(path_of(file), tensors, count, &error)) fail_msg("%s", error.sentence);
}

static const float ones[] = {1, 1}, twos[] = {2, 2}, threes[] = {3, 3};
static const char ones_manifest[] =
    "{\"format\": \"wg-weights-manifest\", \"version\": 1, \"endianness\": \"little\", \"tensors\": {"
    "\"W\": {\"dataType\": \"float32\", \"shape\": [2], \"byteOffset\": 0, \"byteLength\": 8}}}";

static void test_files_of_the_graphs_own_name_come_before_general_ones(void **state) {
  const struct pto_safetensors_tensor two = tensor("W", PTO_FLOAT32, twos, sizeof twos),
                                      three = tensor("W", PTO_FLOAT32, threes, sizeof threes);
  write_graph("float32", "W", "W");
  write_text("manifest.json", ones_manifest);
  write_file("model.weights", ones, sizeof ones);
  assert_floats(1, 1);
  write_safetensors("model.safetensors", &two, 1);
  assert_floats(2, 2);
  write_file("g.weights", ones, sizeof ones);
  assert_floats(1, 1);
  write_safetensors("g.safetensors", &three, 1);
  assert_floats(3, 3);
}

static void test_a_tensor_is_found_by_the_name_that_converters_make_of_it(void **state) {
  const struct pto_safetensors_tensor both[] = {tensor("onnx::a.b", PTO_FLOAT32, ones, sizeof ones),
                                                tensor("layer.0.bias", PTO_FLOAT32, twos, sizeof twos)};
  write_safetensors("g.safetensors", both, 2);
  write_graph("float32", "onnx__a_b", "layer_0_bias");
  assert_floats(1, 1);
  write_graph("float32", "layer.0.bias", "onnx::a.b");
  assert_floats(2, 2);
  write_graph("float32", "onnx_a_b", "layer_0_bias");
  assert_refused("has no tensor \"onnx_a_b\"");
  const struct pto_safetensors_tensor alike[] = {
      tensor("a.b", PTO_FLOAT32, ones, sizeof ones), tensor("a_.b", PTO_FLOAT32, twos, sizeof twos),
      tensor("a__b", PTO_FLOAT32, twos, sizeof twos), tensor("a::b", PTO_FLOAT32, twos, sizeof twos)};
  write_safetensors("g.safetensors", alike, 4);
  write_graph("float32", "a_b", "a__b");
  assert_floats(1, 1);
  write_safetensors("g.safetensors", alike + 1, 1);
  write_graph("float32", "a__b", "a__b");
  assert_floats(2, 2);
  write_safetensors("g.safetensors", (const struct pto_safetensors_tensor[]){alike[1], alike[3]}, 2);
  assert_refused("may be");
}

static void test_bfloat16_widens_to_float32(void **state) {
  const uint16_t bits[] = {0x3fc0, 0xc000};
  const struct pto_safetensors_tensor one = tensor("W", PTO_BFLOAT16, bits, sizeof bits);
  write_safetensors("g.safetensors", &one, 1);
  write_graph("float32", "W", "W");
  assert_floats(1.5f, -2);
  write_graph("float16", "W", "W");
  assert_refused("consts \"a\": tensor \"W\" is of BF16");
}

static void test_a_tensor_of_another_shape_or_dtype_is_refused(void **state) {
  const int32_t numbers[] = {1, 2, 3};
  struct pto_safetensors_tensor one = tensor("W", PTO_INT32, numbers, 8);
  write_safetensors("g.safetensors", &one, 1);
  write_graph("float32", "W", "W");
  assert_refused("tensor \"W\" is of I32");
  one.dtype = PTO_FLOAT32;
  one.shape[0] = 3;
  write_safetensors("g.safetensors", &one, 1);
  assert_refused("consts \"a\": tensor \"W\" has another shape");
}

static void test_one_tensor_is_one_constant_however_often_it_is_named(void **state) {
  const struct pto_safetensors_tensor one = tensor("W", PTO_FLOAT32, ones, sizeof ones);
  struct pto_graph *graph = NULL;
  write_safetensors("g.safetensors", &one, 1);
  write_graph("float32", "W", "W");
  assert_int_equal(pto_graph_load(NULL, path_of("g.json"), NULL, &graph, sentence, sizeof sentence), PTO_OK);
  assert_int_equal(graph->nodes[0].operands[0], graph->nodes[0].operands[1]);
  pto_graph_destroy(graph);
}

static void test_names_in_the_graph_are_of_files_beside_it(void **state) {
  write_text("g.json", "{\"format\": \"webnn-graph-json\", \"version\": 2, \"weights\": {\"data\": \"../x\"}, "
                       "\"inputs\": {}, \"nodes\": [], \"outputs\": {}}");
  assert_refused("\"data\" is no name of a file beside it");
}

static void test_mistakes_of_manifests_say_where(void **state) {
  static const struct {
    const char *head, *tensors, *part;
  } rows[] = {
      {"\"format\": \"x\", \"version\": 1, \"endianness\": \"little\"", "", "\"format\" is not wg-weights-manifest"},
      {"\"format\": \"wg-weights-manifest\", \"version\": 2, \"endianness\": \"little\"", "", "\"version\" is not 1"},
      {"\"format\": \"wg-weights-manifest\", \"version\": 1, \"endianness\": \"big\"", "", "\"endianness\""},
      {NULL, "\"W\": 1", "tensors \"W\": is no object"},
      {NULL, "\"W\": {\"dataType\": \"f32\", \"shape\": [], \"byteOffset\": 0, \"byteLength\": 4}", "no data type"},
      {NULL, "\"W\": {\"dataType\": \"int8\", \"shape\": [4], \"byteOffset\": 0, \"byteLength\": 5}",
       "byteLength 5 is not what"},
      {NULL, "\"W\": {\"dataType\": \"int8\", \"shape\": [4], \"byteOffset\": 5, \"byteLength\": 4}",
       "bytes 5 to 9 are beyond the 8 bytes"},
      {NULL, "\"W\": {\"dataType\": \"int8\", \"shape\": [4], \"byteOffset\": 0, \"byteLength\": 4, \"layout\": \"x\"}",
       "layout"},
      {NULL,
       "\"W\": {\"dataType\": \"int8\", \"shape\": [4], \"byteOffset\": 0, \"byteLength\": 4}, "
       "\"V\": {\"dataType\": \"int8\", \"shape\": [4], \"byteOffset\": 3, \"byteLength\": 4}",
       "tensors \"V\": overlaps \"W\""},
  };
  write_graph("float32", "W", "W");
  write_file("g.weights", ones, sizeof ones);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(rows); i++) {
    char text[600];
    snprintf(text, sizeof text, "{%s, \"tensors\": {%s}}",
             rows[i].head ? rows[i].head
                          : "\"format\": \"wg-weights-manifest\", \"version\": 1, \"endianness\": \"little\"",
             rows[i].tensors);
    write_text("g.manifest.json", text);
    assert_refused(rows[i].part);
    assert_non_null(strstr(sentence, "g.manifest.json"));
  }
}

static void test_a_header_of_the_weights_has_version_1(void **state) {
  write_graph("float32", "W", "W");
  write_text("g.manifest.json",
             "{\"format\": \"wg-weights-manifest\", \"version\": 1, \"endianness\": \"little\", \"tensors\": {\"W\": "
             "{\"dataType\": \"float32\", \"shape\": [2], \"byteOffset\": 8, \"byteLength\": 8}}}");
  write_file("g.weights", "WGWT\1\0\0\0\0\0\200\77\0\0\200\77", 16);
  assert_floats(1, 1);
  write_file("g.weights", "WGWT\2\0\0\0\0\0\200\77\0\0\200\77", 16);
  assert_refused("their version is 2");
}

static void test_weights_that_are_missing_are_said(void **state) {
  write_graph("float32", "W", "W");
  assert_refused("no file of weights beside it");
  write_file("g.weights", ones, sizeof ones);
  assert_refused("g.weights has no manifest");
  write_text("manifest.json", ones_manifest);
  assert_floats(1, 1);
  write_graph("float32", "V", "W");
  assert_refused("g.weights has no tensor \"V\"");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(test_files_of_the_graphs_own_name_come_before_general_ones, test_folder_clear),
      cmocka_unit_test_teardown(test_a_tensor_is_found_by_the_name_that_converters_make_of_it, test_folder_clear),
      cmocka_unit_test_teardown(test_bfloat16_widens_to_float32, test_folder_clear),
      cmocka_unit_test_teardown(test_a_tensor_of_another_shape_or_dtype_is_refused, test_folder_clear),
      cmocka_unit_test_teardown(test_one_tensor_is_one_constant_however_often_it_is_named, test_folder_clear),
      cmocka_unit_test_teardown(test_names_in_the_graph_are_of_files_beside_it, test_folder_clear),
      cmocka_unit_test_teardown(test_mistakes_of_manifests_say_where, test_folder_clear),
      cmocka_unit_test_teardown(test_a_header_of_the_weights_has_version_1, test_folder_clear),
      cmocka_unit_test_teardown(test_weights_that_are_missing_are_said, test_folder_clear),
  };
  return cmocka_run_group_tests(tests, test_folder_open, test_folder_close);
}
