/* SPDX-License-Identifier: MIT */
/*
 * Two bytes for the length of a config.json, that text, and any bytes as the safetensors file beside it: read or
 * refused with a sentence; every weight of what was read can be read.
 */
#include <tests/fuzz/fuzz_model.h>

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_file(const char *path, const void *head, size_t head_size, const void *bytes, size_t size) {
  FILE *file = fopen(path, "w");
  FUZZ_HOLDS(file && fwrite(head, 1, head_size, file) == head_size && fwrite(bytes, 1, size, file) == size);
  fclose(file);
}

/* Bytes of the text in front of the first zero. */
static size_t text_length(const uint8_t *data, size_t size) {
  const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
  return zero ? (size_t)(zero - data) : size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char folder[FUZZ_FOLDER_BYTES], config[128], weights[128];
  struct pto_language_model model;
  char sentence[1024] = "";
  if (size == 0) return 0;
  if (!folder[0]) {
    fuzz_folder_open(folder);
    snprintf(config, sizeof config, "%s/config.json", folder);
    snprintf(weights, sizeof weights, "%s/model.safetensors", folder);
  }
  const size_t config_length = text_length(data, size), behind = config_length + (config_length < size);
  const uint64_t header_length = text_length(data + behind, size - behind);
  const uint8_t *rest = data + behind + header_length;
  const size_t zero = behind + header_length < size;
  uint8_t *file = malloc(size + 1);
  FUZZ_HOLDS(file);
  memcpy(file, data + behind, header_length);
  memcpy(file + header_length, rest + zero, size - behind - header_length - zero);
  write_file(config, data, config_length, "", 0);
  write_file(weights, &header_length, sizeof header_length, file, size - behind - zero);
  free(file);
  if (pto_language_model_read(&model, weights, sentence, sizeof sentence) == PTO_OK) {
    fuzz_model_use(&model);
    pto_language_model_fini(&model);
  } else {
    FUZZ_HOLDS(sentence[0] != '\0');
  }
  return 0;
}
