/* SPDX-License-Identifier: MIT */
#include <check/session/outside_operations.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <orchestration/loader/operation_file.h>

static int load_file(const char *path, struct pto_error *error) {
  const struct pto_operation *const *operations;
  char sentence[PTO_SENTENCE_SIZE];
  int status = pto_operation_file_load(path, &operations, error);
  for (; status == PTO_OK && *operations; operations++) {
    status = pto_operation_register(*operations, sentence, sizeof sentence);
    if (status) pto_error_set(error, status, "operations of %.300s: %.500s", path, sentence);
  }
  return status;
}

int pto_outside_operations_load(struct pto_error *error) {
  const char *list = getenv("PTO_OPERATIONS");
  int status = PTO_OK;
  while (list && *list && status == PTO_OK) {
    const size_t length = strcspn(list, ":");
    char path[PATH_MAX];
    if (length >= sizeof path) return pto_error_set(error, PTO_EINVAL, "PTO_OPERATIONS: a path is too long");
    snprintf(path, sizeof path, "%.*s", (int)length, list);
    if (length) status = load_file(path, error);
    list += length + (list[length] == ':');
  }
  return status;
}
