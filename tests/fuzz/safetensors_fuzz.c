/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a safetensors file: read or refused with a sentence; every byte of what was read can be read, and what
 * is of our dtypes is the same after it was written and read again.
 */
#include <tests/fuzz/fuzz_file.h>

#include <string.h>

#include <formats/safetensors.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned touch(const struct pto_safetensors *list) {
  unsigned sum = 0;
  for (uint64_t i = 0; i < list->tensor_count; i++) {
    const unsigned char *bytes = list->tensors[i].data;
    for (uint64_t b = 0; b < list->tensors[i].size_bytes; b++) sum += bytes[b];
  }
  return sum;
}

static void write_and_read(const struct pto_safetensors *list) {
  struct fuzz_file file;
  struct pto_error error;
  struct pto_safetensors again;
  for (uint64_t i = 0; i < list->tensor_count; i++)
    if (!pto_safetensors_get(list, list->tensors[i].name, &error)) return;
  fuzz_file_open(&file, NULL, 0);
  FUZZ_HOLDS(pto_safetensors_write(file.path, list->tensors, list->tensor_count, &error) == PTO_OK);
  FUZZ_HOLDS(pto_safetensors_init(&again, file.path, &error) == PTO_OK);
  fuzz_file_close(&file);
  FUZZ_HOLDS(again.tensor_count == list->tensor_count);
  for (uint64_t i = 0; i < list->tensor_count; i++) {
    const struct pto_safetensors_tensor *a = &list->tensors[i], *b = &again.tensors[i];
    FUZZ_HOLDS(strcmp(a->name, b->name) == 0 && a->dtype == b->dtype && a->ndims == b->ndims);
    FUZZ_HOLDS(a->size_bytes == b->size_bytes && memcmp(a->shape, b->shape, sizeof a->shape) == 0);
    FUZZ_HOLDS(a->size_bytes == 0 || memcmp(a->data, b->data, a->size_bytes) == 0);
  }
  pto_safetensors_fini(&again);
}

static void read_it(const uint8_t *data, size_t size) {
  struct pto_error error = {0};
  struct pto_safetensors list;
  if (pto_safetensors_init_memory(&list, "input", data, size, &error) == PTO_OK) {
    FUZZ_HOLDS(pto_safetensors_is_one(data, size));
    if (touch(&list) == UINT32_MAX) puts("an odd sum"); /* so that the reads are made */
    write_and_read(&list);
    pto_safetensors_fini(&list);
  } else {
    FUZZ_HOLDS(error.sentence[0] != '\0');
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  read_it(data, size);
  if (size <= sizeof(uint64_t)) return 0;
  const uint8_t *header = data + sizeof(uint64_t), *end = memchr(header, 0, size - sizeof(uint64_t));
  const uint64_t length = end ? (uint64_t)(end - header) : size - sizeof(uint64_t);
  uint8_t *repaired = malloc(size);
  FUZZ_HOLDS(repaired);
  memcpy(repaired, data, size);
  memcpy(repaired, &length, sizeof length);
  read_it(repaired, size);
  free(repaired);
  return 0;
}
