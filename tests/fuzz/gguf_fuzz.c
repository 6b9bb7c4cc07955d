/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a GGUF file: read or refused with a sentence; every string, value and byte of data of what was read can
 * be read, and each name is found.
 */
#include <tests/fuzz/fuzz_file.h>

#include <string.h>

#include <formats/llm/gguf.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned sum_bytes(const void *data, uint64_t size) {
  const unsigned char *bytes = data;
  unsigned sum = 0;
  for (uint64_t i = 0; i < size; i++) sum += bytes[i];
  return sum;
}

static unsigned use_key(const struct pto_gguf *gguf, const struct pto_gguf_key *key) {
  char name[256];
  struct pto_error error;
  struct pto_gguf_string string = {0};
  struct pto_gguf_value array = {0};
  uint64_t u64;
  double f64;
  bool flag;
  unsigned sum = sum_bytes(key->value.data, key->value.size_bytes);
  if (key->name.length >= sizeof name) return sum;
  memcpy(name, key->name.bytes, key->name.length);
  name[key->name.length] = '\0';
  FUZZ_HOLDS(pto_gguf_find(gguf, name) == &key->value);
  const int statuses[] = {pto_gguf_u64(gguf, name, &u64, &error), pto_gguf_f64(gguf, name, &f64, &error),
                          pto_gguf_bool(gguf, name, &flag, &error), pto_gguf_string(gguf, name, &string, &error)};
  int fits = 0;
  for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) fits += statuses[i] == PTO_OK;
  FUZZ_HOLDS(fits <= 1);
  sum += sum_bytes(string.bytes, string.length);
  if (pto_gguf_array(gguf, name, PTO_GGUF_VALUE_STRING, &array, &error) == PTO_OK) {
    const unsigned char *at = array.data;
    for (uint64_t i = 0; i < array.count; i++) {
      at = pto_gguf_next_string(at, &string);
      sum += sum_bytes(string.bytes, string.length);
    }
    FUZZ_HOLDS(at == array.data + array.size_bytes);
  }
  return sum;
}

static unsigned use_tensor(const struct pto_gguf *gguf, const struct pto_gguf_tensor *tensor) {
  char name[256], text[32];
  if (tensor->name.length < sizeof name) {
    memcpy(name, tensor->name.bytes, tensor->name.length);
    name[tensor->name.length] = '\0';
    FUZZ_HOLDS(pto_gguf_find_tensor(gguf, name) == tensor);
  }
  FUZZ_HOLDS(tensor->ndims <= PTO_GGUF_MAX_DIMS && pto_gguf_type_name(tensor->type, text, sizeof text)[0] != '\0');
  return tensor->data ? sum_bytes(tensor->data, tensor->size_bytes) : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct pto_error error = {0};
  struct pto_gguf gguf;
  unsigned sum = 0;
  if (pto_gguf_init_memory(&gguf, "input", data, size, &error) == PTO_OK) {
    for (uint64_t i = 0; i < gguf.key_count; i++) sum += use_key(&gguf, &gguf.keys[i]);
    for (uint64_t i = 0; i < gguf.tensor_count; i++) sum += use_tensor(&gguf, &gguf.tensors[i]);
    if (sum == UINT32_MAX) puts("an odd sum"); /* so that the reads are made */
    pto_gguf_fini(&gguf);
  } else {
    FUZZ_HOLDS(error.sentence[0] != '\0');
  }
  return 0;
}
