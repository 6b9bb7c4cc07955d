/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a file of --deps-json: read or refused with a sentence, nothing else; what was read is the same as
 * itself.
 */
#include <tests/fuzz/fuzz_file.h>

#include <check/graph_diff.h>
#include <tests/fuzz/fuzz_json.h>

static const char *const words[] = {
    "version", "tasks",      "edges", "program",    "kernels",  "aic",    "aiv0",         "aiv1",
    "blocks",  "sync_start", "depth", "params",     "mode",     "INPUT",  "OUTPUT",       "INOUT",
    "dtype",   "f32",        "shape", "strides",    "offset",   "buffer", "buffer_bytes", "from",
    "to",      "reasons",    "kind",  "from_param", "to_param", "begin",  "end",          "dropped",
    "number",  "RAW",        "WAR",   "WAW",        NULL};
static const struct fuzz_json_format fuzz_format = {.words = words};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_file file;
  struct pto_error error = {0};
  struct pto_graph_file graph;
  struct pto_graph_diff diff;
  struct pto_findings findings;
  fuzz_file_open(&file, data, size);
  int status = pto_graph_file_read(file.path, &graph, &error);
  fuzz_file_close(&file);
  if (status != PTO_OK) {
    FUZZ_HOLDS(error.sentence[0] != '\0');
    return 0;
  }
  pto_findings_init(&findings);
  FUZZ_HOLDS(pto_graph_diff(&graph, &graph, &diff, &findings, &error) == PTO_OK);
  FUZZ_HOLDS(pto_findings_is_clean(&findings));
  pto_findings_fini(&findings);
  pto_graph_file_fini(&graph);
  return 0;
}
