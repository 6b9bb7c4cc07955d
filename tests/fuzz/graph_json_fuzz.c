/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a graph file: read or refused with a sentence; what is read is saved, read again, and is the same graph;
 * where it is small, the reference runs it, on whatever bits.
 */
#include <tests/fuzz/fuzz_graph_bytes.h>

#include <string.h>

#include <graph/file/json.h>
#include <graph/file/manifest.h>
#include <graph/reference/reference.h>
#include <tests/fuzz/fuzz_graph_json.h>
#include <tests/support/graph_same.h>

static const char *const words[] = {"format",   "webnn-graph-json",
                                    "version",  "name",
                                    "inputs",   "consts",
                                    "nodes",    "outputs",
                                    "dataType", "shape",
                                    "init",     "kind",
                                    "scalar",   "value",
                                    "weights",  "inlineBytes",
                                    "bytes",    "ref",
                                    "id",       "op",
                                    "options",  "data",
                                    "manifest", "label",
                                    "maxSize",  "float32",
                                    "float16",  "int4",
                                    "uint4",    "int64",
                                    "uint64",   "axis",
                                    "axes",     "add",
                                    "concat",   "W",
                                    "a.b",      "a::b",
                                    "a_b",      NULL};
static const struct fuzz_json_format fuzz_format = {.words = words, .change = fuzz_graph_change};

/* ---- files beside ---- */

/* By the size of an input: no weights and saved in one file; weights of a safetensors file; of a manifest. */
enum { WEIGHTS_NONE, WEIGHTS_SAFETENSORS, WEIGHTS_MANIFEST, WEIGHTS_FORMS };

static char folder[FUZZ_FOLDER_BYTES], saved_path[64], safetensors_path[64], blob_path[64], manifest_path[64];

/* References of any input find these; of two of them, plain names are the same. */
static void write_weights(void) {
  static const float data[] = {1, -2.5f, 3e38f, 0.1f};
  struct pto_safetensors_tensor tensors[] = {
      {.name = "W", .dtype_name = "F32", .dtype = PTO_FLOAT32, .ndims = 1, .shape = {2}, .data = data, .size_bytes = 8},
      {.name = "a.b",
       .dtype_name = "BF16",
       .dtype = PTO_BFLOAT16,
       .ndims = 1,
       .shape = {2},
       .data = data,
       .size_bytes = 4},
      {.name = "a:b", .dtype_name = "F16", .dtype = PTO_FLOAT16, .ndims = 0, .data = data, .size_bytes = 2},
      {.name = "a_b", .dtype_name = "U8", .dtype = PTO_UINT8, .ndims = 1, .shape = {4}, .data = data, .size_bytes = 4}};
  struct pto_error error;
  fuzz_folder_open(folder);
  snprintf(saved_path, sizeof saved_path, "%s/graph.json", folder);
  snprintf(safetensors_path, sizeof safetensors_path, "%s/w.safetensors", folder);
  snprintf(blob_path, sizeof blob_path, "%s/w.weights", folder);
  snprintf(manifest_path, sizeof manifest_path, "%s/w.manifest.json", folder);
  FUZZ_HOLDS(pto_safetensors_write(safetensors_path, tensors, PTO_ARRAY_LENGTH(tensors), &error) == PTO_OK);
  tensors[1].dtype = PTO_INT8; /* graphs have no bfloat16 */
  tensors[1].size_bytes = 2;
  FUZZ_HOLDS(pto_graph_manifest_write(manifest_path, blob_path, tensors, PTO_ARRAY_LENGTH(tensors), &error) == PTO_OK);
}

static struct pto_graph_file_options options_of(size_t size) {
  struct pto_graph_file_options options = {.size = sizeof options};
  if (size % WEIGHTS_FORMS == WEIGHTS_SAFETENSORS) options.weights_path = safetensors_path;
  if (size % WEIGHTS_FORMS == WEIGHTS_MANIFEST) {
    options.weights_path = blob_path;
    options.manifest_path = manifest_path;
  }
  return options;
}

static void save_and_compare(const struct pto_graph *graph, size_t input_size) {
  static const uint32_t forms[] = {PTO_GRAPH_WEIGHTS_INLINE, PTO_GRAPH_WEIGHTS_SAFETENSORS, PTO_GRAPH_WEIGHTS_MANIFEST};
  const struct pto_graph_file_options options = {.size = sizeof options, .weights = forms[input_size % WEIGHTS_FORMS]};
  struct pto_graph *again = NULL;
  char sentence[1024] = "", why[256];
  if (pto_graph_save(graph, saved_path, &options, sentence, sizeof sentence) != PTO_OK) {
    FUZZ_HOLDS(sentence[0] != '\0');
    return;
  }
  if (pto_graph_load(NULL, saved_path, NULL, &again, sentence, sizeof sentence) != PTO_OK) fputs(sentence, stderr);
  FUZZ_HOLDS(again);
  if (!pto_graph_is_same(graph, again, why)) {
    fputs(why, stderr);
    FUZZ_HOLDS(!"the same graph");
  }
  pto_graph_destroy(again);
}

/* ---- the target ---- */

static void run(const struct pto_graph *graph) {
  static struct fuzz_graph_bytes bytes;
  const void *inputs[FUZZ_GRAPH_MOST_ELEMENTS];
  struct pto_error error;
  if (!fuzz_graph_is_small(graph)) return;
  fuzz_graph_bytes_init(&bytes, graph);
  for (uint32_t i = 0; i < bytes.input_count; i++) inputs[i] = bytes.inputs[i];
  FUZZ_HOLDS(pto_graph_reference_run(graph, inputs, bytes.outputs, NULL, NULL, &error) == PTO_OK);
  fuzz_graph_bytes_fini(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_file file;
  struct pto_graph *graph = NULL;
  char sentence[1024] = "";
  if (!folder[0]) write_weights();
  const struct pto_graph_file_options options = options_of(size);
  fuzz_file_open(&file, data, size);
  const int status = pto_graph_load(NULL, file.path, &options, &graph, sentence, sizeof sentence);
  fuzz_file_close(&file);
  FUZZ_HOLDS((status == PTO_OK) == (graph != NULL));
  FUZZ_HOLDS((status == PTO_OK) == (sentence[0] == '\0'));
  if (!graph) return 0;
  FUZZ_HOLDS(graph->output_count > 0);
  save_and_compare(graph, size);
  run(graph);
  pto_graph_destroy(graph);
  return 0;
}
