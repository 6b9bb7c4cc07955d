/* SPDX-License-Identifier: MIT */
/*
 * The worst graph files and manifests of 1 MB, tried as tests/support/hostile_file.h says; a graph that is read is also
 * saved and drawn.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <graph/file/json.h>
#include <graph/file/load.h>
#include <graph/file/manifest.h>
#include <runtime/base/base.h>
#include <tests/support/hostile_file.h>

static struct pto_gguf_bytes file;

/* ---- text ---- */

PTO_PRINTF(1, 2) static void put(const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  assert_true(length >= 0 && (size_t)length < sizeof text);
  pto_gguf_put(&file, text, (size_t)length);
}
static bool has_room(uint64_t bytes) { return file.size + bytes <= HOSTILE_FILE_BYTES; }
static void put_times(const char *text, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) put("%s%s", i ? "," : "", text);
}

#define VECTOR "\"x\":{\"dataType\":\"float32\",\"shape\":[2]}"
#define BYTE "\"x\":{\"dataType\":\"int8\",\"shape\":[1]}"

/* The rest of the file is put behind one of these. */
static void begin_inputs(void) { put("{\"format\":\"webnn-graph-json\",\"version\":2,\"inputs\":{"); }
static void begin_nodes(const char *inputs) {
  begin_inputs();
  put("%s},\"nodes\":[", inputs);
}
static void begin_consts(void) {
  begin_inputs();
  put(VECTOR "},\"nodes\":[{\"id\":\"y\",\"op\":\"abs\",\"inputs\":[\"x\"]}],\"outputs\":{\"y\":\"y\"},\"consts\":{");
}
/* Nodes n0, n1, … are there: all of them are outputs, or the last. */
static void end_nodes(uint32_t count, bool all) {
  put("],\"outputs\":{");
  for (uint32_t i = all ? 0 : count - 1; i < count; i++)
    put("%s\"n%u\":\"n%u\"", i > (all ? 0 : count - 1) ? "," : "", i, i);
  put("}}");
}

/* ---- nodes ---- */

static void chain(void) {
  uint32_t i = 0;
  begin_nodes(VECTOR);
  put("{\"id\":\"n0\",\"op\":\"abs\",\"inputs\":[\"x\"]}");
  for (i = 1; has_room(100); i++) put(",{\"id\":\"n%u\",\"op\":\"abs\",\"inputs\":[\"n%u\"]}", i, i - 1);
  end_nodes(i, false);
}
static void chain_of_pairs(void) {
  uint32_t i = 0;
  begin_nodes(VECTOR);
  put("{\"id\":\"n0\",\"op\":\"abs\",\"inputs\":[\"x\"]}");
  for (i = 1; has_room(100); i++)
    put(",{\"id\":\"n%u\",\"op\":\"add\",\"inputs\":[\"n%u\",\"n%u\"]}", i, i - 1, i > 1 ? i - 2 : 0);
  end_nodes(i, false);
}
static void wide(void) {
  uint32_t i;
  begin_nodes(VECTOR);
  for (i = 0; i < 18000; i++) put("%s{\"id\":\"n%u\",\"op\":\"abs\",\"inputs\":[\"x\"]}", i ? "," : "", i);
  end_nodes(i, true);
}
static void unused(void) {
  uint32_t i;
  begin_nodes(VECTOR);
  for (i = 0; has_room(120); i++) put("%s{\"id\":\"n%u\",\"op\":\"abs\",\"inputs\":[\"x\"]}", i ? "," : "", i);
  end_nodes(i, false);
}
static void circle(void) {
  enum { COUNT = 20000 };
  begin_nodes(VECTOR);
  for (uint32_t i = 0; i < COUNT; i++)
    put("%s{\"id\":\"n%u\",\"op\":\"abs\",\"inputs\":[\"n%u\"]}", i ? "," : "", i, (i + COUNT - 1) % COUNT);
  end_nodes(COUNT, false);
}
/* Each uses many that come later, and none its own. */
static void later(void) {
  enum { COUNT = 1400, REACH = 80 };
  begin_nodes(VECTOR);
  for (uint32_t i = 0; i < COUNT; i++) {
    put("%s{\"id\":\"n%u\",\"op\":\"concat\",\"options\":{\"axis\":0},\"inputs\":[\"x\"", i ? "," : "", i);
    for (uint32_t k = i + 1; k < COUNT && k < i + REACH; k++) put(",\"n%u\"", k);
    put("]}");
  }
  end_nodes(COUNT, false);
}
static void empty_nodes(void) {
  begin_nodes(VECTOR);
  put_times("{}", 340000);
  put("],\"outputs\":{\"y\":\"n\"}}");
}
static void numbers_for_nodes(void) {
  begin_nodes(VECTOR);
  put_times("0", 500000);
  put("],\"outputs\":{\"y\":\"n\"}}");
}
static void one_name(void) {
  begin_nodes(VECTOR);
  put_times("{\"id\":\"n0\",\"op\":\"abs\",\"inputs\":[\"x\"]}", 20000);
  end_nodes(1, false);
}
static void long_concats(void) {
  enum { COUNT = 240 };
  begin_nodes(VECTOR);
  for (uint32_t i = 0; i < COUNT; i++) {
    put("%s{\"id\":\"n%u\",\"op\":\"concat\",\"options\":{\"axis\":0},\"inputs\":[", i ? "," : "", i);
    put_times("\"x\"", PTO_GRAPH_MAX_OPERANDS);
    put("]}");
  }
  end_nodes(COUNT, true);
}
/* 2 GB a result, 20 TB in all. */
static void huge_results(void) {
  uint32_t i;
  begin_nodes(BYTE);
  for (i = 0; i < 9500; i++)
    put("%s{\"id\":\"n%u\",\"op\":\"tile\",\"inputs\":[\"x\"],\"options\":{\"repetitions\":[2147483643]}}",
        i ? "," : "", i);
  end_nodes(i, true);
}
static void splits(void) {
  enum { COUNT = 110, PARTS = 1024 };
  begin_nodes("\"x\":{\"dataType\":\"int8\",\"shape\":[1024]}");
  for (uint32_t i = 0; i < COUNT; i++) {
    put("%s{\"id\":\"n%u\",\"op\":\"split\",\"inputs\":[\"x\"],\"options\":{\"splits\":%u},\"outputs\":[\"n%u\"",
        i ? "," : "", i, PARTS, i);
    for (uint32_t k = 1; k < PARTS; k++) put(",\"%u_%u\"", i, k);
    put("]}");
  }
  end_nodes(COUNT, true);
}
static void long_lists(void) {
  enum { COUNT = 120 };
  begin_nodes(VECTOR);
  for (uint32_t i = 0; i < COUNT; i++) {
    put("%s{\"id\":\"n%u\",\"op\":\"reshape\",\"inputs\":[\"x\"],\"options\":{\"newShape\":[", i ? "," : "", i);
    put_times("1", PTO_GRAPH_MAX_LIST);
    put("]}}");
  }
  end_nodes(COUNT, true);
}
static void numbered_operands(void) {
  uint32_t i;
  begin_nodes("\"x\":{\"dataType\":\"float32\",\"shape\":[2,2]}");
  for (i = 0; i < 11000; i++)
    put("%s{\"id\":\"n%u\",\"op\":\"gemm\",\"inputs\":[\"x\",\"x\",\"x\"],\"options\":{\"c\":0}}", i ? "," : "", i);
  end_nodes(i, true);
}

/* A text as long as the file where a short one is meant. */
static void long_text(const char *head, const char *tail) {
  begin_nodes(VECTOR);
  put("%s", head);
  while (has_room(200)) put("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
  put("%s],\"outputs\":{\"y\":\"n\"}}", tail);
}
static void long_id(void) { long_text("{\"id\":\"", "\",\"op\":\"abs\",\"inputs\":[\"x\"]}"); }
static void long_operation(void) { long_text("{\"id\":\"n\",\"inputs\":[\"x\"],\"op\":\"", "\"}"); }
static void long_operand(void) { long_text("{\"id\":\"n\",\"op\":\"abs\",\"inputs\":[\"", "\"]}"); }
static void long_option(void) {
  long_text("{\"id\":\"n\",\"op\":\"abs\",\"inputs\":[\"x\"],\"options\":{\"", "\":1}}");
}
static void long_label(void) {
  long_text("{\"id\":\"n\",\"op\":\"abs\",\"inputs\":[\"x\"],\"options\":{\"label\":\"", "\"}}");
}
static void long_word(void) {
  long_text("{\"id\":\"n\",\"op\":\"cast\",\"inputs\":[\"x\"],\"options\":{\"dataType\":\"", "\"}}");
}

/* ---- inputs, outputs, constants ---- */

static void inputs(void) {
  begin_inputs();
  put(VECTOR);
  for (uint32_t i = 0; has_room(120); i++) put(",\"i%u\":{\"dataType\":\"int8\",\"shape\":[]}", i);
  put("},\"nodes\":[{\"id\":\"n0\",\"op\":\"abs\",\"inputs\":[\"x\"]}");
  end_nodes(1, false);
}
static void huge_input(void) {
  begin_inputs();
  put("\"x\":{\"dataType\":\"uint4\",\"shape\":[4294967295,4294967295,4294967295,4294967295]}},\"nodes\":[");
  end_nodes(1, false);
}
static void outputs(void) {
  begin_nodes(VECTOR);
  put("{\"id\":\"n0\",\"op\":\"abs\",\"inputs\":[\"x\"]}],\"outputs\":{\"y\":\"n0\"");
  for (uint32_t i = 0; has_room(40); i++) put(",\"%x\":\"n0\"", i);
  put("}}");
}
static void filled_constants(void) {
  begin_consts();
  for (uint32_t i = 0; i < 12000; i++)
    put("%s\"c%u\":{\"dataType\":\"int8\",\"shape\":[11000],\"init\":{\"kind\":\"scalar\",\"value\":1}}", i ? "," : "",
        i);
  put("}}");
}
static void one_filled_constant_too_many(void) {
  begin_consts();
  for (uint32_t i = 0; i < 2; i++)
    put("%s\"c%u\":{\"dataType\":\"int8\",\"shape\":[100000000],\"init\":{\"kind\":\"scalar\",\"value\":1}}",
        i ? "," : "", i);
  put("}}");
}
static void listed_bytes(void) {
  begin_consts();
  put("\"c\":{\"dataType\":\"int8\",\"shape\":[500000],\"init\":{\"kind\":\"inlineBytes\",\"bytes\":[");
  put_times("0", 500000);
  put("]}}}}");
}
static void references(void) {
  begin_consts();
  for (uint32_t i = 0; has_room(120); i++)
    put("%s\"c%u\":{\"dataType\":\"int8\",\"shape\":[65536],\"init\":{\"kind\":\"weights\",\"ref\":\"w\"}}",
        i ? "," : "", i);
  put("}}");
}

/* ---- manifests ---- */

static void manifest(const char *format, uint32_t period) {
  put("{\"format\":\"wg-weights-manifest\",\"version\":1,\"endianness\":\"little\",\"tensors\":{");
  for (uint32_t i = 0; has_room(200); i++) {
    put("%s\"", i ? "," : "");
    for (uint32_t bit = 0; bit < 16; bit++) put("%c", i >> bit & 1 ? '.' : '_');
    put("%u", i / 65536);
    put(format, i % period);
  }
  put("}}");
}
static void overlapping_tensors(void) {
  manifest("\":{\"dataType\":\"int8\",\"shape\":[64],\"byteLength\":64,\"byteOffset\":%u}", 65536 - 64);
}
/* Names that differ in what references need not tell apart. */
static void empty_tensors(void) {
  manifest("\":{\"dataType\":\"int8\",\"shape\":[0],\"byteLength\":0,\"byteOffset\":%u}", 65536);
}
static void huge_tensors(void) {
  manifest("\":{\"dataType\":\"uint4\",\"shape\":[4294967295,4294967295],\"byteLength\":%u,\"byteOffset\":0}", 65536);
}

/* ---- reading ---- */

static const char weights[65536] = "W";

static void write_beside(const char *path, const void *bytes, size_t size) {
  FILE *stream = fopen(path, "wb");
  if (!stream || fwrite(bytes, 1, size, stream) != size || fclose(stream)) _exit(4);
}

/* A graph that is read is saved, and drawn. */
static int read_graph_with(const char *path, const struct pto_graph_file_options *options, char *sentence,
                           size_t size) {
  struct pto_graph *graph = NULL;
  char saved[600];
  const int status = pto_graph_load(NULL, path, options, &graph, sentence, size);
  if (status) return status;
  snprintf(saved, sizeof saved, "%s.saved.json", path);
  FILE *drawn = fopen("/dev/null", "w");
  if (pto_graph_save(graph, saved, NULL, sentence, size) || !drawn || pto_graph_write_dot(graph, drawn)) _exit(5);
  fclose(drawn);
  unlink(saved);
  pto_graph_destroy(graph);
  return PTO_OK;
}
static int read_graph(const char *path, char *sentence, size_t size) {
  return read_graph_with(path, NULL, sentence, size);
}

static int read_referring_graph(const char *path, char *sentence, size_t size) {
  static const char text[] =
      "{\"format\":\"wg-weights-manifest\",\"version\":1,\"endianness\":\"little\",\"tensors\":{\"w\":{"
      "\"dataType\":\"int8\",\"shape\":[65536],\"byteLength\":65536,\"byteOffset\":0}}}";
  char weights_path[600], manifest_path[600];
  snprintf(weights_path, sizeof weights_path, "%s.weights", path);
  snprintf(manifest_path, sizeof manifest_path, "%s.manifest.json", path);
  const struct pto_graph_file_options options = {
      .size = sizeof options, .weights_path = weights_path, .manifest_path = manifest_path};
  write_beside(weights_path, weights, sizeof weights);
  write_beside(manifest_path, text, sizeof text - 1);
  const int status = read_graph_with(path, &options, sentence, size);
  unlink(weights_path);
  unlink(manifest_path);
  return status;
}

static int read_manifest(const char *path, char *sentence, size_t size) {
  struct pto_graph_manifest read;
  struct pto_error error;
  const int status = pto_graph_manifest_init(&read, path, weights, sizeof weights, &error);
  if (status)
    snprintf(sentence, size, "%s", error.sentence);
  else
    pto_graph_manifest_fini(&read);
  return status;
}

static const struct hostile_file files[] = {
    {"chain", chain, read_graph, PTO_OK, NULL},
    {"chain of pairs", chain_of_pairs, read_graph, PTO_OK, NULL},
    {"wide", wide, read_graph, PTO_OK, NULL},
    {"unused", unused, read_graph, PTO_EINVAL, "nothing uses its result \"n0\""},
    {"circle", circle, read_graph, PTO_EINVAL, "it is a circle: \"n0\", which is used by \"n1\""},
    {"later", later, read_graph, PTO_EINVAL, "uses \"n1\" before nodes[1] \"n1\" makes it"},
    {"empty nodes", empty_nodes, read_graph, PTO_EINVAL, "nodes[0]: \"id\" is missing"},
    {"numbers for nodes", numbers_for_nodes, read_graph, PTO_EINVAL, "item 0 is no object"},
    {"one name", one_name, read_graph, PTO_EINVAL, "nodes[0] has the same id"},
    {"long concats", long_concats, read_graph, PTO_OK, NULL},
    {"huge results", huge_results, read_graph, PTO_OK, NULL},
    {"splits", splits, read_graph, PTO_OK, NULL},
    {"long lists", long_lists, read_graph, PTO_EINVAL, "newShape gives 4096 dimensions"},
    {"numbered operands", numbered_operands, read_graph, PTO_OK, NULL},
    {"long id", long_id, read_graph, PTO_EINVAL, "there is no \"n\""},
    {"long operation", long_operation, read_graph, PTO_EINVAL, "there is no operation \"aaa"},
    {"long operand", long_operand, read_graph, PTO_EINVAL, "there is no \"aaa"},
    {"long option", long_option, read_graph, PTO_EINVAL, "there is no attribute \"aaa"},
    {"long label", long_label, read_graph, PTO_OK, NULL},
    {"long word", long_word, read_graph, PTO_EINVAL, "dataType is \"aaa"},
    {"inputs", inputs, read_graph, PTO_OK, NULL},
    {"huge input", huge_input, read_graph, PTO_EINVAL, "inputs \"x\""},
    {"outputs", outputs, read_graph, PTO_OK, NULL},
    {"filled constants", filled_constants, read_graph, PTO_OK, NULL},
    {"one filled constant too many", one_filled_constant_too_many, read_graph, PTO_EINVAL, "consts \"c1\""},
    {"listed bytes", listed_bytes, read_graph, PTO_OK, NULL},
    {"references", references, read_referring_graph, PTO_OK, NULL},
    {"manifest: overlapping tensors", overlapping_tensors, read_manifest, PTO_EINVAL, "overlaps"},
    {"manifest: empty tensors", empty_tensors, read_manifest, PTO_OK, NULL},
    {"manifest: huge tensors", huge_tensors, read_manifest, PTO_EINVAL, "is not what its dataType and shape have"},
};

static void test_the_worst_graphs_cost_no_more_than_their_size(void **state) {
  hostile_files_try(files, PTO_ARRAY_LENGTH(files), &file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_worst_graphs_cost_no_more_than_their_size),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
