/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the task.json of a captured task, beside a memory of 64 bytes: read or refused with a sentence, nothing
 * else.
 */
#include <tests/fuzz/fuzz_file.h>

#include <string.h>

#include <check/task/folder.h>
#include <tests/fuzz/fuzz_json.h>

static const char *const words[] = {
    "pto-task", "INPUT",   "OUTPUT", "INOUT", "SCALAR", "ACCUMULATE", "threads",
    "virtual",  "tiny",    "exact",  "pto",   "f32",    "i4",         "u64",
    "i64",      "aiv0",    "aiv1",   "aic",   "bits",   "type",       "00000000000000ff",
    "memory",   "strides", "shape",  "null",  NULL};
static const struct fuzz_json_format fuzz_format = {.words = words};

static void write_file(const char *folder, const char *name, const void *bytes, size_t size) {
  char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "w");
  FUZZ_HOLDS(file && (size == 0 || fwrite(bytes, 1, size, file) == size));
  fclose(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char folder[FUZZ_FOLDER_BYTES];
  static const char memory[64];
  struct pto_error error = {0};
  struct pto_task_folder task;
  if (!folder[0]) {
    fuzz_folder_open(folder);
    write_file(folder, "memory0.before.bin", memory, sizeof memory);
  }
  write_file(folder, "task.json", data, size);
  if (pto_task_folder_read(folder, &task, &error) != PTO_OK) {
    FUZZ_HOLDS(error.sentence[0] != '\0');
    return 0;
  }
  FUZZ_HOLDS(task.param_count <= PTO_MAX_PARAMS && task.memory_count <= 1);
  for (uint32_t i = 0; i < task.param_count; i++)
    FUZZ_HOLDS(task.params[i].memory == PTO_TASK_NO_MEMORY || task.params[i].memory < task.memory_count);
  pto_task_folder_fini(&task);
  return 0;
}
