/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a manifest of 256 bytes of weights: read or refused with a sentence; every tensor lies within them, no
 * two overlap; what is read is written, read again, and has the same tensors.
 */
#include <tests/fuzz/fuzz_file.h>

#include <string.h>

#include <graph/file/manifest.h>
#include <tests/fuzz/fuzz_json.h>

static const char *const words[] = {"wg-weights-manifest",
                                    "endianness",
                                    "little",
                                    "tensors",
                                    "dataType",
                                    "float32",
                                    "float16",
                                    "int4",
                                    "uint4",
                                    "int64",
                                    "uint8",
                                    "shape",
                                    "byteOffset",
                                    "byteLength",
                                    "layout",
                                    "row-major",
                                    "version",
                                    "format",
                                    NULL};
static const struct fuzz_json_format fuzz_format = {.words = words};

static unsigned char blob[256] = {'W', 'G', 'W', 'T', 1};

static void check_tensors(const struct pto_graph_manifest *manifest) {
  unsigned char seen[sizeof blob] = {0};
  for (uint64_t i = 0; i < manifest->tensor_count; i++) {
    const struct pto_safetensors_tensor *tensor = &manifest->tensors[i];
    const unsigned char *begin = tensor->data;
    bool is_wide;
    FUZZ_HOLDS(begin >= blob && begin + tensor->size_bytes <= blob + sizeof blob);
    FUZZ_HOLDS(
        pto_graph_tensor_holds((uint32_t)tensor->dtype, tensor->ndims, tensor->shape, tensor->size_bytes, &is_wide));
    for (uint64_t k = 0; k < tensor->size_bytes; k++) FUZZ_HOLDS(seen[begin - blob + (ptrdiff_t)k]++ == 0);
  }
}

static void write_and_compare(const struct pto_graph_manifest *manifest) {
  static char folder[FUZZ_FOLDER_BYTES], path[64], blob_path[64];
  struct pto_graph_manifest again;
  struct pto_mapped_file file;
  struct pto_error error = {0};
  if (!folder[0]) {
    fuzz_folder_open(folder);
    snprintf(path, sizeof path, "%s/manifest", folder);
    snprintf(blob_path, sizeof blob_path, "%s/weights", folder);
  }
  FUZZ_HOLDS(pto_graph_manifest_write(path, blob_path, manifest->tensors, manifest->tensor_count, &error) == PTO_OK);
  FUZZ_HOLDS(pto_mapped_file_init(&file, blob_path, &error) == PTO_OK);
  if (pto_graph_manifest_init(&again, path, file.data, file.size_bytes, &error) != PTO_OK) {
    fputs(error.sentence, stderr);
    FUZZ_HOLDS(!"what was written is read");
  }
  FUZZ_HOLDS(again.tensor_count == manifest->tensor_count);
  for (uint64_t i = 0; i < again.tensor_count; i++) {
    const struct pto_safetensors_tensor *a = &manifest->tensors[i], *b = NULL;
    for (uint64_t k = 0; k < again.tensor_count && !b; k++)
      if (strcmp(again.tensors[k].name, a->name) == 0) b = &again.tensors[k];
    FUZZ_HOLDS(b && a->dtype == b->dtype && a->size_bytes == b->size_bytes);
    FUZZ_HOLDS(a->size_bytes == 0 || memcmp(a->data, b->data, a->size_bytes) == 0);
  }
  pto_graph_manifest_fini(&again);
  pto_mapped_file_fini(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_file file;
  struct pto_graph_manifest manifest;
  struct pto_error error = {0};
  for (size_t i = 8; i < sizeof blob; i++) blob[i] = (unsigned char)i;
  fuzz_file_open(&file, data, size);
  const int status = pto_graph_manifest_init(&manifest, file.path, blob, sizeof blob, &error);
  fuzz_file_close(&file);
  if (status != PTO_OK) {
    FUZZ_HOLDS(error.sentence[0] != '\0');
    return 0;
  }
  check_tensors(&manifest);
  write_and_compare(&manifest);
  pto_graph_manifest_fini(&manifest);
  return 0;
}
