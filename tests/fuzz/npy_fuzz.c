/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as an .npy file: read or refused with a sentence, nothing else; what was read can be written and is the
 * same when it is read again.
 */
#include <tests/fuzz/fuzz_file.h>

#include <string.h>

#include <formats/npy.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_and_read(const struct pto_npy *npy, uint32_t dtype, const void *elements, uint64_t bytes) {
  struct fuzz_file file;
  struct pto_error error = {0};
  struct pto_npy again = {0};
  fuzz_file_open(&file, NULL, 0);
  FUZZ_HOLDS(pto_npy_write(file.path, dtype, npy->ndims, npy->shape, elements, &error) == PTO_OK);
  FUZZ_HOLDS(pto_npy_read(file.path, &again, &error) == PTO_OK);
  FUZZ_HOLDS(again.ndims == npy->ndims && again.numel == npy->numel);
  FUZZ_HOLDS(memcmp(again.shape, npy->shape, npy->ndims * sizeof npy->shape[0]) == 0);
  void *copy = malloc(bytes ? bytes : 1);
  FUZZ_HOLDS(copy && pto_npy_copy(&again, dtype, copy, &error) == PTO_OK);
  FUZZ_HOLDS(bytes == 0 || memcmp(copy, elements, bytes) == 0);
  free(copy);
  pto_npy_fini(&again);
  fuzz_file_close(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_file file;
  struct pto_error error = {0};
  struct pto_npy npy = {0}, header = {0};
  size_t header_bytes = 0;
  if (pto_npy_parse_header(data, size, &header, &header_bytes, &error) == PTO_OK) FUZZ_HOLDS(header_bytes <= size);

  fuzz_file_open(&file, data, size);
  int status = pto_npy_read(file.path, &npy, &error);
  fuzz_file_close(&file);
  if (status != PTO_OK) {
    FUZZ_HOLDS(error.sentence[0] != '\0');
    pto_npy_fini(&npy);
    return 0;
  }
  FUZZ_HOLDS(npy.size_bytes == npy.numel * npy.item_bytes && npy.size_bytes <= size && npy.ndims <= PTO_MAX_DIMS);
  for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++) {
    if (!pto_npy_holds(&npy, dtype)) continue;
    uint64_t bytes = (npy.numel * pto_dtype_bits(dtype) + 7) / 8;
    void *elements = calloc(bytes ? bytes : 1, 1);
    FUZZ_HOLDS(elements);
    if (pto_npy_copy(&npy, dtype, elements, &error) == PTO_OK) write_and_read(&npy, dtype, elements, bytes);
    if (npy.numel) (void)pto_npy_get(&npy, dtype, npy.numel - 1);
    free(elements);
  }
  pto_npy_fini(&npy);
  return 0;
}
