/* SPDX-License-Identifier: MIT */
/*
 * Any text as a tensor: refused, or a descriptor that is written and read again as the same.
 */
#include <tests/fuzz/fuzz_file.h>

#include <string.h>

#include <pto/tensor.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct pto_buffer buffer = {.id = 5, .generation = 1, .base = 4096, .size_bytes = 1 << 20};
  struct pto_tensor first, second;
  char *text = malloc(size + 1), written[1024];
  FUZZ_HOLDS(text);
  if (size) memcpy(text, data, size);
  text[size] = '\0';
  if (pto_tensor_parse(text, buffer, &first) == PTO_OK) {
    int length = pto_tensor_format(&first, written, sizeof written);
    FUZZ_HOLDS(length > 0 && (size_t)length < sizeof written && strlen(written) == (size_t)length);
    FUZZ_HOLDS(pto_tensor_parse(written, buffer, &second) == PTO_OK);
    FUZZ_HOLDS(first.ndims == second.ndims && first.dtype == second.dtype && first.version == second.version);
    FUZZ_HOLDS(first.start_offset == second.start_offset && first.status == second.status);
    FUZZ_HOLDS(memcmp(first.shape, second.shape, first.ndims * sizeof first.shape[0]) == 0);
    FUZZ_HOLDS(memcmp(first.strides, second.strides, first.ndims * sizeof first.strides[0]) == 0);
    FUZZ_HOLDS(pto_tensor_status(&first) == pto_tensor_status(&second));
  }
  free(text);
  return 0;
}
