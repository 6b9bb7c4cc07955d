/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a safetensors file: read or refused with a sentence; every byte of what was read can be read, and what
 * is of our dtypes is the same after it was written and read again.
 */
#include <tests/fuzz/fuzz_file.h>

#include <string.h>

#include <formats/safetensors.h>
#include <tests/fuzz/fuzz_json.h>

/* The tensors' data one behind the other, as their dtypes and shapes ask for. */
static size_t lay_out(json_t *header) {
  const char *name;
  json_t *entry, *extent;
  uint64_t end = 0;
  size_t d;
  json_object_foreach(header, name, entry) {
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    const char *digits = dtype ? strpbrk(dtype, "123468") : NULL;
    uint64_t size_bytes = digits ? strtoull(digits, NULL, 10) / 8 : 1;
    if (!json_is_object(entry) || strcmp(name, "__metadata__") == 0) continue;
    json_array_foreach(json_object_get(entry, "shape"), d, extent)
      size_bytes *= (uint64_t)json_integer_value(extent) % 16;
    json_object_set_new(entry, "data_offsets",
                        json_pack("[I, I]", (json_int_t)end, (json_int_t)(end + size_bytes % 1024)));
    end += size_bytes % 1024;
  }
  return end;
}

static const char *const words[] = {"dtype", "shape", "data_offsets", "__metadata__", "F64", "F32",
                                    "F16",   "BF16",  "I64",          "I32",          "I16", "I8",
                                    "U8",    "U64",   "BOOL",         "F8_E4M3",      "F4",  NULL};
static const struct fuzz_json_format fuzz_format = {
    .words = words, .repair = lay_out, .length_bytes = sizeof(uint64_t)};

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
