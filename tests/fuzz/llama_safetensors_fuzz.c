/* SPDX-License-Identifier: MIT */
/*
 * Two bytes for the length of a config.json, that text, and any bytes as the safetensors file beside it: read or
 * refused with a sentence; every weight of what was read can be read.
 */
#include <tests/fuzz/fuzz_model.h>

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_file(const char *path, const void *bytes, size_t size) {
  FILE *file = fopen(path, "w");
  FUZZ_HOLDS(file && (size == 0 || fwrite(bytes, 1, size, file) == size));
  fclose(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char folder[64], config[128], weights[128];
  struct pto_language_model model;
  char sentence[1024] = "";
  if (!folder[0]) {
    strcpy(folder, "/dev/shm/model_fuzz_XXXXXX");
    FUZZ_HOLDS(mkdtemp(folder));
    snprintf(config, sizeof config, "%s/config.json", folder);
    snprintf(weights, sizeof weights, "%s/model.safetensors", folder);
  }
  if (size < 2) return 0;
  const size_t length = data[0] + 256u * data[1];
  if (size - 2 < length) return 0;
  write_file(config, data + 2, length);
  write_file(weights, data + 2 + length, size - 2 - length);
  if (pto_language_model_read(&model, weights, sentence, sizeof sentence) == PTO_OK) {
    fuzz_model_use(&model);
    pto_language_model_fini(&model);
  } else {
    FUZZ_HOLDS(sentence[0] != '\0');
  }
  return 0;
}
