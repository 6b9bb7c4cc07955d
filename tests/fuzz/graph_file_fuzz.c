/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a file of --deps-json: read or refused with a sentence, nothing else; what was read is the same as
 * itself; beside another graph, either way round, there are findings where differences are counted, and no others.
 */
#include <tests/fuzz/fuzz_file.h>

#include <check/diff/graph_diff.h>
#include <tests/fuzz/fuzz_json.h>

static const char *const words[] = {
    "version", "tasks",      "edges", "program",    "kernels",  "aic",    "aiv0",         "aiv1",
    "blocks",  "sync_start", "depth", "params",     "mode",     "INPUT",  "OUTPUT",       "INOUT",
    "dtype",   "f32",        "shape", "strides",    "offset",   "buffer", "buffer_bytes", "from",
    "to",      "reasons",    "kind",  "from_param", "to_param", "begin",  "end",          "dropped",
    "number",  "RAW",        "WAR",   "WAW",        NULL};
static const struct fuzz_json_format fuzz_format = {.words = words};

static const char other_text[] =
    "{\"program\":\"other\",\"dropped\":0,\"tasks\":["
    "{\"number\":0,\"kind\":\"kernel\",\"kernels\":{\"aiv0\":\"fill\"},\"blocks\":1,\"sync_start\":false,\"scope\":{"
    "\"serial\":1,\"depth\":1},\"params\":[{\"index\":0,\"predicate\":false,\"mode\":\"OUTPUT\",\"dtype\":\"u32\","
    "\"shape\":[16],\"strides\":[1],\"offset\":0,\"buffer\":1,\"buffer_bytes\":64,\"version\":0}]},"
    "{\"number\":1,\"kind\":\"kernel\",\"kernels\":{\"aic\":\"reader\"},\"blocks\":2,\"sync_start\":true,\"scope\":{"
    "\"serial\":1,\"depth\":1},\"params\":[{\"index\":0,\"predicate\":false,\"mode\":\"INPUT\",\"dtype\":\"u32\","
    "\"shape\":[16],\"strides\":[1],\"offset\":0,\"buffer\":1,\"buffer_bytes\":64,\"version\":0}]},"
    "{\"number\":2,\"kind\":\"barrier\",\"kernels\":{},\"blocks\":0,\"sync_start\":false,\"scope\":{\"serial\":1,"
    "\"depth\":1},\"params\":[]}],\"edges\":["
    "{\"from\":0,\"to\":1,\"reasons\":[{\"kind\":\"RAW\",\"from_param\":0,\"to_param\":0,\"buffer\":1,\"begin\":0,"
    "\"end\":64},{\"kind\":\"explicit\"}]},"
    "{\"from\":1,\"to\":2,\"reasons\":[{\"kind\":\"explicit\"}]}]}";

static int read_graph(const void *data, size_t size, struct pto_graph_file *graph, struct pto_error *error) {
  struct fuzz_file file;
  fuzz_file_open(&file, data, size);
  const int status = pto_graph_file_read(file.path, graph, error);
  fuzz_file_close(&file);
  return status;
}

static bool is_same(const struct pto_graph_file *a, const struct pto_graph_file *b) {
  struct pto_graph_diff diff;
  struct pto_findings findings;
  struct pto_error error;
  pto_findings_init(&findings);
  FUZZ_HOLDS(pto_graph_diff(a, b, &diff, &findings, &error) == PTO_OK);
  const bool is_clean = pto_findings_is_clean(&findings);
  const uint64_t counted = diff.tasks_only_a + diff.tasks_only_b + diff.tasks_differ + diff.edges_only_a +
                           diff.edges_only_b + diff.edges_differ;
  pto_findings_fini(&findings);
  FUZZ_HOLDS(is_clean == (counted == 0));
  return is_clean;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct pto_error error = {0};
  struct pto_graph_file graph, other;
  if (read_graph(data, size, &graph, &error)) {
    FUZZ_HOLDS(error.sentence[0] != '\0');
    return 0;
  }
  FUZZ_HOLDS(read_graph(other_text, sizeof other_text - 1, &other, &error) == PTO_OK);
  FUZZ_HOLDS(is_same(&graph, &graph));
  FUZZ_HOLDS(is_same(&graph, &other) == is_same(&other, &graph));
  pto_graph_file_fini(&other);
  pto_graph_file_fini(&graph);
  return 0;
}
