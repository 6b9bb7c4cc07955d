/* SPDX-License-Identifier: MIT */
#include <orchestration/loader/operation_file.h>

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <runtime/base/text.h>

int pto_operation_file_load(const char *path, const struct pto_operation *const **operations_out,
                            struct pto_error *error) {
  char file[PATH_MAX];
  /* dlopen looks a name without a slash up in the library path; a slash makes it the file that was meant. */
  const int length = snprintf(file, sizeof file, "%s%s", strchr(path, '/') ? "" : "./", path);
  if (length >= (int)sizeof file) return pto_error_set(error, PTO_EINVAL, "the path of an operation file is too long");
  struct pto_error reason;
  if (pto_regular_file_check(file, &reason))
    return pto_error_set(error, PTO_EINVAL, "operations of %.900s", reason.sentence);
  void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!handle) return pto_error_set(error, PTO_EINVAL, "operations of %s: %s", path, dlerror());
  const struct pto_operation *const *operations = dlsym(handle, "pto_operations");
  if (!operations) {
    dlclose(handle);
    return pto_error_set(error, PTO_EINVAL, "%s has no symbol pto_operations", path);
  }
  *operations_out = operations; /* the mapping stays */
  return PTO_OK;
}
