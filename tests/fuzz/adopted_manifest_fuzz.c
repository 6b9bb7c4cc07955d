/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the manifest of an adopted program: read, with names, sizes and a judge that agree, or refused with a
 * sentence.
 */
#include <tests/fuzz/fuzz_file.h>

#include <string.h>

#include <check/adopt/manifest.h>
#include <tests/fuzz/fuzz_json.h>

static const char *const words[] = {"format",
                                    "pto-adopted",
                                    "version",
                                    "name",
                                    "scene",
                                    "architecture",
                                    "a2a3",
                                    "a5",
                                    "mode",
                                    "judge",
                                    "golden",
                                    "test",
                                    "nobody",
                                    "source",
                                    "entry",
                                    "includes",
                                    "kernels",
                                    "func_id",
                                    "core",
                                    "aic",
                                    "aiv",
                                    "tensors",
                                    "direction",
                                    "in",
                                    "out",
                                    "inout",
                                    "dtype",
                                    "float32",
                                    "fp8e4m3fn",
                                    "i4",
                                    "shape",
                                    "bytes",
                                    "scalars",
                                    "bits",
                                    "0x1",
                                    "0xffffffffffffffff",
                                    "rtol",
                                    "atol",
                                    "window",
                                    "heap_bytes",
                                    "list_chunks",
                                    "workers",
                                    "host_build_graph",
                                    "tensormap_and_ringbuffer",
                                    "orchestration",
                                    NULL};
static const struct fuzz_json_format fuzz_format = {.words = words};

static void check(const struct pto_adopted *adopted) {
  uint64_t goldens = 0;
  FUZZ_HOLDS(adopted->name[0] && adopted->entry[0]);
  FUZZ_HOLDS(adopted->kernel_count <= PTO_ADOPTED_MOST_KERNELS && adopted->tensor_count <= PTO_ADOPTED_MOST_TENSORS);
  for (uint32_t i = 0; i < adopted->tensor_count; i++) {
    const struct pto_adopted_tensor *tensor = &adopted->tensors[i];
    uint64_t bytes = pto_dtype_size(tensor->dtype);
    FUZZ_HOLDS(tensor->ndims >= 1 && tensor->ndims <= PTO_ADOPTED_MOST_DIMS);
    for (uint32_t d = 0; d < tensor->ndims; d++) bytes *= tensor->shape[d];
    FUZZ_HOLDS(bytes == tensor->size_bytes);
    goldens += tensor->golden_path != NULL;
  }
  FUZZ_HOLDS((goldens > 0) == (adopted->judge == PTO_ADOPTED_BY_GOLDEN));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct pto_adopted adopted;
  struct pto_error error = {0};
  const int status = pto_adopted_read_memory("fuzz", data, size, &adopted, &error);
  FUZZ_HOLDS((status == PTO_OK) == (error.sentence[0] == '\0'));
  FUZZ_HOLDS((status == PTO_OK) == (adopted.root != NULL));
  if (status == PTO_OK) check(&adopted);
  pto_adopted_fini(&adopted);
  return 0;
}
