/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a model, of whatever format: read or refused with a sentence; every weight of what was read can be read.
 */
#include <tests/fuzz/fuzz_model.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_file file;
  struct pto_language_model model;
  char sentence[1024] = "";
  fuzz_file_open(&file, data, size);
  if (pto_language_model_read(&model, file.path, sentence, sizeof sentence) == PTO_OK) {
    fuzz_model_use(&model);
    pto_language_model_fini(&model);
  } else {
    FUZZ_HOLDS(sentence[0] != '\0');
  }
  fuzz_file_close(&file);
  return 0;
}
